"""The explorers: figures that the reader can move on the book's site, and what stands in elsewhere.

On the site a script puts the explorer in the place of these figures and tables. In Colab, on
GitHub, in print and without JavaScript the figure and the table are what there is. A chapter's
explorers are in the module of its name, imported when one is asked for: a page depends on its own.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from costfigures.explorers.page import Explorer

_CHAPTERS = {
    "budget": "training",
    "calculator": "serving",
    "film": "iomodel",
    "frontier": "serving",
    "io": "iomodel",
    "memory": "kvcache",
    "mesh": "parallel",
    "pebbles": "lowerbounds",
    "prefill": "sources",
    "serving_film": "serving",
    "speculative": "sources",
    "step": "roofline",
    "token_film": "kvcache",
}

__all__ = ["Explorer", *_CHAPTERS]


def __getattr__(name: str) -> Any:
    if name not in _CHAPTERS:
        raise AttributeError(
            f"there is no explorer {name!r}; those there are: {', '.join(_CHAPTERS)}"
        )
    return getattr(import_module(f"{__name__}.{_CHAPTERS[name]}"), name)


def __dir__() -> list[str]:
    return __all__
