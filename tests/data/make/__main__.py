"""Make the oracles again: python tests/data/make [FILE [NAME ...]], as README.md says.

Without a word: all of them. Uses an environment of its own under _build/oracles, made the first
time, because torch and transformers are no part of the book's.
"""

import subprocess
import sys
import venv
from pathlib import Path

HERE = Path(__file__).resolve().parent
HOME = HERE.parents[2] / "_build" / "oracles"
PYTHON = HOME / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
MAKERS = {  # file made: module that makes it
    "pebbles": "pebbles",
    "collectives": "collectives",
    "io_counts": "io_counts",
    "models": "catalogue",
    "released": "released",
    "extra_models": "small",
    "flops": "flops",
    "families": "rows",
    "mutants": "mutants",
    "saved_tensors": "saved_tensors",
}


def main(words: list[str]) -> None:
    chosen, names = words[:1] or list(MAKERS), words[1:]
    unknown = set(chosen) - set(MAKERS)
    if unknown:
        sys.exit(f"no oracle {unknown.pop()!r}: there are {', '.join(MAKERS)}")
    if Path(sys.prefix).resolve() != HOME.resolve():
        ready()
        sys.exit(subprocess.run([PYTHON, HERE, *words], check=False).returncode)
    for oracle in chosen:
        maker = __import__(MAKERS[oracle])
        maker.make(names)


def ready() -> None:
    """The environment, as requirements.txt says, made or brought up to date."""
    wanted = (HERE / "requirements.txt").read_text("utf-8")
    stamp = HOME / "installed.txt"
    if stamp.exists() and stamp.read_text("utf-8") == wanted:
        return
    venv.create(HOME, with_pip=True, clear=True)
    pip = [PYTHON, "-m", "pip", "install", "--quiet", "--requirement", HERE / "requirements.txt"]
    subprocess.run(pip, check=True)
    stamp.write_text(wanted, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
