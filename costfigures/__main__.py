"""Measure this machine and draw its roofline: ``python -m costfigures roofline.svg``."""

from __future__ import annotations

import argparse
from pathlib import Path

from costfigures.measured import own_roofline
from costlib.measured.timing import measure, report


def main(words: list[str] | None = None) -> None:
    """The command line: where to draw to, and what `costlib measure` takes."""
    parser = argparse.ArgumentParser(prog="python -m costfigures", description=__doc__)
    parser.add_argument("file", type=Path, metavar="FILE.svg", help="where to draw to")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu", help="default: cpu")
    parser.add_argument("--quick", action="store_true", help="measure once instead of 7 times")
    given = parser.parse_args(words)
    with given.file.open("w", encoding="utf-8") as file:  # before minutes are spent
        rows = measure(device=given.device, repeats=1 if given.quick else 7)
        print(report(rows))
        file.write(own_roofline(rows).svg)
    print(f"drawn to {given.file}")


if __name__ == "__main__":
    main()
