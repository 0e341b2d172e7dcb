"""One function per figure, which returns a `Figure`; a chapter has one or more modules of them.

A page imports what it needs: ``from costfigures import matmul as figures``. Matplotlib
is imported when a figure is drawn, not before.
"""

from importlib import import_module
from typing import Any

from costfigures.canvas import COLOURS, Figure, canvas

__all__ = ["COLOURS", "Figure", "canvas"]


def __getattr__(name: str) -> Any:
    try:
        return import_module(f"costfigures.{name}")
    except ModuleNotFoundError:
        raise AttributeError(f"module 'costfigures' has no attribute {name!r}") from None
