"""Run notebooks alone: an empty folder, an environment without costlib, no repository in sight.

`make colab-check` does it with what Colab ships, in fresh environments, one for each Python that
this machine has. In Colab's own image (`--here`) nothing is made: what is there is what is tested.
"""

from __future__ import annotations

import argparse
import functools
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import nbformat

#: What Colab shipped when this was written; its image is tested every week (see colab.yml).
COLAB = (
    "numpy==2.0.2",
    "pandas==2.2.2",
    "matplotlib==3.10.0",
    "sympy==1.13.1",
    "jax==0.5.3",
    "dask[array]==2025.5.0",
    "distributed==2025.5.0",
)
PYTHONS = ("3.12", "3.13")
IGNORED = "nbval-ignore-output"
PORT = 8765  # where copies that are made in one place and run in another look for the wheel

#: Runs in the environment under test, with no argument that names the repository.
RUN = """
import sys, nbformat
from nbclient import NotebookClient
notebook = nbformat.read(sys.argv[1], as_version=4)
client = NotebookClient(notebook, timeout=600, kernel_name="python3", record_timing=False)
try:
    client.execute(cwd=sys.argv[2])
finally:
    nbformat.write(notebook, sys.argv[1])
"""


class Quiet(SimpleHTTPRequestHandler):
    """Serves files without a log line for each."""

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@contextmanager
def served(folder: Path, port: int = 0) -> Iterator[str]:
    """A folder on a port of the loopback: the published site, as notebooks will see it."""
    handler = functools.partial(Quiet, directory=str(folder))
    server = ThreadingHTTPServer(("127.0.0.1", port), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


def run_alone(notebook: Path, python: str) -> Any:
    """The notebook, executed by this Python in an empty folder."""
    with tempfile.TemporaryDirectory(prefix="alone-") as folder:
        empty = Path(folder) / "empty"
        empty.mkdir()
        copied = shutil.copy(notebook, folder)
        command = [python, "-c", RUN, copied, str(empty)]
        alone = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
        done = subprocess.run(
            command, cwd=empty, env=alone, capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise RuntimeError(f"{notebook.name} failed when run alone:\n{done.stderr[-3000:]}")
        assert list(empty.iterdir()) == [], f"{notebook.name} leaves files behind"
        return nbformat.read(copied, as_version=4)


def differences(committed: Any, executed: Any) -> list[str]:
    """Where the outputs are not those that were published, in words."""
    found = []
    for before, after in zip(committed.cells, executed.cells, strict=True):
        if before.cell_type != "code" or IGNORED in before.metadata.get("tags", []):
            continue
        was, now = said(before), said(after)
        for kind in sorted(set(was) | set(now)):
            if was.get(kind) != now.get(kind):
                one, other = was.get(kind, ""), now.get(kind, "")
                at = next(
                    (i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), 0
                )
                at = max(0, at - 30)
                code = before.source.strip().splitlines()[-1:] or [""]
                found.append(
                    f"{code[0]}\n  {kind} was …{one[at : at + 90]!r}\n"
                    f"  and is …{other[at : at + 90]!r}"
                )
    return found


def said(cell: Any) -> dict[str, str]:
    """Everything that a cell shows, by kind."""
    shown: dict[str, str] = {}
    for output in cell.outputs:
        parts = dict(output.get("data", {}))
        if output.output_type == "stream":
            parts = {output.name: output.text}
        for kind, text in parts.items():
            shown[kind] = shown.get(kind, "") + "".join(text)
    return shown


def packages(python: str) -> dict[str, str]:
    """What is installed in an environment: name and version."""
    command = [python, "-m", "pip", "list", "--format=json", "--disable-pip-version-check"]
    listed = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
    return {each["name"].lower(): each["version"] for each in listed}


def find_python(version: str) -> str | None:
    """A Python of this version: on the path, or one that pyenv has; None without one."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"), "versions")
    found = [shutil.which(f"python{version}"), *map(str, pyenv.glob(f"{version}.*/bin/python"))]
    ask = "import sys; print('{}.{}'.format(*sys.version_info))"
    for python in filter(None, found):
        done = subprocess.run([python, "-c", ask], capture_output=True, text=True, check=False)
        if done.stdout.strip() == version:
            return python
    return None


def environment(folder: Path, python: str, wanted: tuple[str, ...]) -> str:
    """A fresh environment with these packages; the path of its Python."""
    uv = [sys.executable, "-m", "uv"]
    subprocess.run([*uv, "venv", "-q", "--python", python, str(folder)], check=True)
    inside = next(p for p in (folder / "bin/python", folder / "Scripts/python.exe") if p.exists())
    install = [*uv, "pip", "install", "-q", "--python", str(inside), *wanted]
    subprocess.run([*install, "pip", "ipykernel", "nbclient"], check=True)
    return str(inside)


def check(published: Path, python: str, *, compare: bool = True) -> list[str]:
    """Run every published notebook with this Python; what went wrong."""
    wrong = []
    before = packages(python)
    for path in sorted(published.glob("colab/**/*.ipynb")):
        print(f"  {path.name}: ", end="", flush=True)
        try:
            executed = run_alone(path, python)
        except RuntimeError as failure:
            wrong.append(str(failure))
            print("fails", flush=True)
            continue
        found = differences(nbformat.read(path, as_version=4), executed) if compare else []
        wrong += [f"{path.name}: {each}" for each in found]
        print(f"{len(found)} differences" if found else "the same", flush=True)
    after = {name: v for name, v in packages(python).items() if name != "costlib"}
    if after != {name: v for name, v in before.items() if name != "costlib"}:
        wrong.append(f"other packages changed: {set(before.items()) ^ set(after.items())}")
    return wrong


def local_copies(out: Path, site: str) -> None:
    """The published notebooks, as they would be if this address were the site's."""
    from tools import ROOT
    from tools.pages import colab_copies
    from tools.site.extras import build_wheel
    from tools.site.identity import of

    wheel = build_wheel(ROOT, out / "wheels")
    address = f"{site}/{wheel.relative_to(out).as_posix()}"
    colab_copies.write(out, of("ada/book", site=site), address)


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--make", type=Path, metavar="FOLDER", help="only make copies, for --here")
    parser.add_argument("--here", metavar="PYTHON", help="test this Python, as it is")
    parser.add_argument("--published", type=Path, metavar="FOLDER", help="copies of --make")
    options = parser.parse_args()
    if options.make:
        return local_copies(options.make, f"http://127.0.0.1:{PORT}")
    if options.here:
        with served(options.published, PORT):
            return sys.exit("\n".join(check(options.published, options.here)) or 0)
    wrong = []
    with tempfile.TemporaryDirectory(prefix="colab-") as folder:
        site = Path(folder) / "site"
        site.mkdir()
        with served(site) as address:
            local_copies(site, address)
            pythons = {version: find_python(version) for version in PYTHONS}
            for version, python in pythons.items():
                there = ", ".join(COLAB) if python else "not on this machine: NOT CHECKED"
                print(f"Python {version}, {there}", flush=True)
                if python:
                    wrong += check(site, environment(Path(folder) / version, python, COLAB))
            wrong += [] if any(pythons.values()) else ["no Python that Colab could have is here"]
    return sys.exit("\n".join(wrong) or 0)


if __name__ == "__main__":
    main()
