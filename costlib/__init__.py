"""costlib: what transformers cost, to the FLOP and to the byte.

Every cost is a formula written once as plain arithmetic and read many ways: pass ints for an exact
int, NumPy arrays for a sweep, SymPy symbols for the formula itself.

>>> import costlib
>>> costlib.matmul(4096, 4096, 4096).flops
137438953472
"""

from importlib import import_module
from typing import Any

from costlib.attention import attention
from costlib.ledger import Elements, Ledger, Op
from costlib.matmul import einsum, linear, matmul
from costlib.numbers import symbols
from costlib.precision import Precision

__all__ = [
    "Elements",
    "Ledger",
    "Op",
    "Precision",
    "attention",
    "einsum",
    "linear",
    "matmul",
    "symbols",
]

__version__ = "0.1.0"

#: Names that are imported when they are first asked for, and the room each lives in.
_LAZY = {
    "Device": "costlib.roofline",
    "Transformer": "costlib.transformer",
    "devices": "costlib.catalog",
    "models": "costlib.catalog",
}
_ROOMS = (
    "calibration",
    "catalog",
    "families",
    "figures",
    "iomodel",
    "kvcache",
    "measure",
    "measured",
    "parallel",
    "roofline",
    "sources",
    "transformer",
)


def __getattr__(name: str) -> Any:
    if name in _ROOMS:
        return import_module(f"costlib.{name}")
    if name in _LAZY:
        return getattr(import_module(_LAZY[name]), name)
    raise AttributeError(f"module 'costlib' has no attribute {name!r}")
