"""The library as others install it: one wheel or sdist of its packages."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Literal

#: What is in the wheel: the library, and the pictures that the book draws of it.
PACKAGES = ("costlib", "costfigures")


def build(kind: Literal["wheel", "sdist"], root: Path, out: Path, seconds: str) -> Path:
    """Build one file of the project in ``root``; every file in it has the same date."""
    from hatchling.builders.sdist import SdistBuilder
    from hatchling.builders.wheel import WheelBuilder

    builder = (WheelBuilder if kind == "wheel" else SdistBuilder)(str(root))
    before = os.environ.get("SOURCE_DATE_EPOCH")
    os.environ["SOURCE_DATE_EPOCH"] = seconds
    try:
        [path] = builder.build(directory=str(out), versions=["standard"])
    finally:
        del os.environ["SOURCE_DATE_EPOCH"]
        if before is not None:
            os.environ["SOURCE_DATE_EPOCH"] = before
    return Path(path)
