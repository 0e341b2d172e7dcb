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

from costlib.layers.attention import attention
from costlib.layers.matmul import einsum, linear, matmul
from costlib.units.ledger import Elements, Ledger, Op
from costlib.units.numbers import symbols
from costlib.units.precision import Precision

if TYPE_CHECKING:
    from costlib import iomodel, layers, measured, parallel, serving, sources, training
    from costlib.measured import calibrate
    from costlib.model import catalog, families, kvcache, transformer
    from costlib.model.catalog import devices, models, nodes
    from costlib.model.transformer import Transformer
    from costlib.serving.answers import answer
    from costlib.timing import roofline
    from costlib.timing.roofline import fits, time
    from costlib.timing.sweeps import sweep
    from costlib.units import precision
    from costlib.units.device import Device

__version__ = "0.2.0"

#: What is imported when it is first asked for, and where each name lives.
_LATER = {
    "Device": "costlib.units.device",
    "Transformer": "costlib.model.transformer",
    "answer": "costlib.serving.answers",
    "calibrate": "costlib.measured",
    "devices": "costlib.model.catalog",
    "fits": "costlib.timing.roofline",
    "models": "costlib.model.catalog",
    "nodes": "costlib.model.catalog",
    "sweep": "costlib.timing.sweeps",
    "time": "costlib.timing.roofline",
}

#: Modules for those who want more of a chapter, such as `costlib.model.kvcache.largest_batch`.
_MODULES = {
    **dict.fromkeys(("iomodel", "layers", "measured", "parallel", "serving"), "costlib"),
    **dict.fromkeys(("sources", "training"), "costlib"),
    **dict.fromkeys(("catalog", "families", "kvcache", "transformer"), "costlib.model"),
    "precision": "costlib.units",
    "roofline": "costlib.timing",
}

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
    "precision",
    "roofline",
    "serving",
    "sources",
    "sweep",
    "symbols",
    "time",
    "training",
    "transformer",
]


if not TYPE_CHECKING:  # a type checker reads the imports above, and finds a name that is none

    def __getattr__(name: str) -> Any:
        if name in _MODULES:
            return import_module(f"{_MODULES[name]}.{name}")
        if name in _LATER:
            return getattr(import_module(_LATER[name]), name)
        raise AttributeError(f"module 'costlib' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
