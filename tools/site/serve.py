"""`make serve`: the site on localhost; an edit to a page or to costlib rebuilds and reloads it."""

from __future__ import annotations

import subprocess
import sys

from jupyter_book.config import get_final_config

from tools import ROOT

CONF = ROOT / "_build" / "serve"


def write_conf() -> None:
    """The conf.py that jupyter-book makes of _config.yml; sphinx-autobuild wants it as a file."""
    config, _ = get_final_config(
        user_yaml=ROOT / "_config.yml",
        sourcedir=ROOT,
        cli_config={"latex_individualpages": False},
    )
    for name in ("html_static_path", "html_favicon"):  # relative to conf.py, which lies elsewhere
        paths = config[name] if isinstance(config[name], list) else [config[name]]
        absolute = [str(ROOT / path) for path in paths]
        config[name] = absolute if isinstance(config[name], list) else absolute[0]
    lines = [f"import sys; sys.path.insert(0, {str(ROOT)!r})"]
    lines += [f"{name} = {value!r}" for name, value in config.items()]
    CONF.mkdir(parents=True, exist_ok=True)
    (CONF / "conf.py").write_text("\n".join(lines) + "\n", "utf-8")


def main() -> None:
    """Serve until interrupted."""
    write_conf()
    python = sys.executable
    command = [python, "-m", "sphinx_autobuild", ".", "_build/html", "-c", str(CONF)]
    command += ["-d", "_build/.doctrees"]
    for tool in ("pairs", "made"):
        command += ["--pre-build", f'"{python}" -m tools.pages.{tool}']
    command += ["--re-ignore", r"(_build|\.venv|\.git|__pycache__|_cache)", *sys.argv[1:]]
    sys.exit(subprocess.run(command, cwd=ROOT).returncode)


if __name__ == "__main__":
    main()
