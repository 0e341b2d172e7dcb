"""The command line: ``costlib`` or ``python -m costlib``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from costlib.figures.measured import own_roofline
from costlib.measured.timing import measure, report


def main(arguments: Sequence[str] | None = None) -> int:
    """``costlib measure [--device cuda] [--quick] [--figure FILE.svg]``: the exit code.

    >>> main(["measure", "--quick"])  # doctest: +SKIP
    """
    parser = argparse.ArgumentParser(prog="costlib", description="What transformers cost.")
    commands = parser.add_subparsers(dest="command", required=True)
    command = commands.add_parser("measure", help="time this machine and draw its roofline")
    command.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    command.add_argument("--quick", action="store_true", help="fewer repeats")
    command.add_argument("--figure", type=Path, metavar="FILE.svg", help="where to draw to")
    chosen = parser.parse_args(arguments)
    try:
        rows = measure(device=chosen.device, repeats=1 if chosen.quick else 7)
    except RuntimeError as problem:
        parser.exit(2, f"costlib: {problem}\n")
    print(report(rows))
    if chosen.figure:
        chosen.figure.write_text(own_roofline(rows).svg, encoding="utf-8")
        print(f"drawn to {chosen.figure}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
