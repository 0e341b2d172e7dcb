"""costlib: what transformers cost, to the FLOP and to the byte.

Every cost is a formula written once as plain arithmetic and read many ways: pass ints for an exact
int, NumPy arrays for a sweep, SymPy symbols for the formula itself.

>>> import costlib
>>> costlib.matmul(4096, 4096, 4096).flops
137438953472
>>> step = costlib.models["llama-3-8b"].decode(batch=8, context=8192)
>>> costlib.time(step, "A100-80GB") < costlib.time(step, "A100-80GB", overlap="none")
True
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from costlib.attention import attention
from costlib.ledger import Elements, Ledger, Op
from costlib.matmul import einsum, linear, matmul
from costlib.numbers import symbols
from costlib.precision import Precision

if TYPE_CHECKING:
    from costlib.answers import answer
    from costlib.catalog import devices, models, nodes
    from costlib.device import Device
    from costlib.measured import calibrate
    from costlib.roofline import fits, time
    from costlib.sweeps import sweep
    from costlib.transformer import Transformer

__version__ = "0.1.0"

#: Names that are imported when they are first asked for, and where each of them lives.
_LATER = {
    "Device": "costlib.device",
    "Transformer": "costlib.transformer",
    "answer": "costlib.answers",
    "calibrate": "costlib.measured",
    "devices": "costlib.catalog",
    "fits": "costlib.roofline",
    "models": "costlib.catalog",
    "nodes": "costlib.catalog",
    "sweep": "costlib.sweeps",
    "time": "costlib.roofline",
}

#: Modules for those who want more of a chapter: `costlib.kvcache.largest_batch`.
_MODULES = (
    "catalog",
    "families",
    "figures",
    "iomodel",
    "kvcache",
    "layers",
    "measured",
    "parallel",
    "roofline",
    "serving",
    "sources",
    "training",
    "transformer",
)

__all__ = [
    "Device",
    "Elements",
    "Ledger",
    "Op",
    "Precision",
    "Transformer",
    "answer",
    "attention",
    "calibrate",
    "catalog",
    "devices",
    "einsum",
    "families",
    "figures",
    "fits",
    "iomodel",
    "kvcache",
    "layers",
    "linear",
    "matmul",
    "measured",
    "models",
    "nodes",
    "parallel",
    "roofline",
    "serving",
    "sources",
    "sweep",
    "symbols",
    "time",
    "training",
    "transformer",
]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"costlib.{name}")
    if name in _LATER:
        return getattr(import_module(_LATER[name]), name)
    raise AttributeError(f"module 'costlib' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
