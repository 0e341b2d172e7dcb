"""In how many bits: what an element of each kind takes, and the rate at which a device computes.

A precision is one thing. It sets the bytes that every kind of tensor takes, scales of groups
included, and the number format whose peak rate counts. It is given as a recipe's name ("bf16",
"fp8", "int4", …), or as a `Precision` of one's own.

Left out: numbers that a recipe keeps for a whole tensor or channel, a few bytes in a million; and
layers that a checkpoint leaves in 16 bits, which `Transformer.weight_bytes` knows.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from costlib.units.numbers import Number, is_lazy, is_symbolic, suggests

__all__ = ["FORMATS", "KINDS", "RECIPES", "Precision", "grouped", "precision_of"]


def grouped(bits: float, group: int, *, scale_bits: float, zero_bits: float = 0) -> float:
    """Bytes an element where each ``group`` of elements shares a scale, and perhaps a zero point.

    >>> grouped(4, 32, scale_bits=8), grouped(4, 16, scale_bits=8)  # MXFP4, NVFP4
    (0.53125, 0.5625)
    """
    return (bits + (scale_bits + zero_bits) / group) / 8


#: Bytes that one element takes in each format, scales of groups included.
FORMATS: dict[str, float] = {
    "fp64": 8,
    "fp32": 4,
    "tf32": 4,  # stored in 32 bits, multiplied with 10 bits of mantissa
    "bf16": 2,
    "fp16": 2,
    "fp8": 1,  # E4M3 or E5M2; a scale for each tensor or channel
    "int8": 1,
    "fp6": 0.75,
    "fp4": 0.5,
    "int4": grouped(4, 128, scale_bits=16),  # as GPTQ and AWQ store it, less their zero points
    "nf4": grouped(4, 64, scale_bits=8 + 32 / 256),  # QLoRA: the scales are quantised again
    "mxfp8": grouped(8, 32, scale_bits=8),  # OCP microscaling: a power of two for each 32
    "mxfp6": grouped(6, 32, scale_bits=8),
    "mxfp4": grouped(4, 32, scale_bits=8),
    "nvfp4": grouped(4, 16, scale_bits=8),  # an fp8 scale for each 16
}

#: The formats in which 16-bit work is done, best first, and what is taken where there is neither.
SIXTEEN_BITS = ("bf16", "fp16", "tf32", "fp32")

#: The kinds of tensor. Each has its own precision: a cache can be 8-bit where weights are 4-bit.
KINDS = ("weights", "activations", "kv", "scores")


@suggests
@dataclass(frozen=True, slots=True, kw_only=True)
class Precision:
    """Bytes per element of each kind of tensor, and the format whose rate counts.

    A kind is a number of bytes or the name of a format. ``compute`` is the format that products are
    computed in; None stands for 16 bits, in whichever of bf16 and fp16 the device is best at.
    Unless said otherwise everything takes 16 bits. ``by_step`` is of checkpoints that pack some
    matrices and leave others: bytes of a weight in each step that is a product in the layers, by
    name, and under "" those of all others; ``weights`` is then what a weight takes on average.

    >>> Precision(weights="int4").weights  # 4 bits, and a 16-bit scale for each 128
    0.515625
    >>> Precision(weights=0.5, compute="bf16")
    Precision(weights=0.5, activations=2, kv=2, scores=2, compute='bf16')
    >>> Precision(kv="fp9")
    Traceback (most recent call last):
        ...
    ValueError: kv must be bytes per element or one of fp64, fp32, tf32, bf16, fp16, fp8, int8, \
fp6, fp4, int4, nf4, mxfp8, mxfp6, mxfp4, nvfp4, got 'fp9'
    """

    weights: Any = 2  # these four: a Number of bytes, or while it is made the name of a format
    activations: Any = 2
    kv: Any = 2
    scores: Any = 2
    compute: str | None = None
    by_step: tuple[tuple[str, Any], ...] = field(default=(), repr=False)
    _weights_in: dict[str, Any] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        for kind in KINDS:
            object.__setattr__(self, kind, _bytes(kind, getattr(self, kind)))
        if not (
            isinstance(self.by_step, tuple)
            and all(isinstance(each, tuple) and len(each) == 2 for each in self.by_step)
        ):
            text = f"by_step must be pairs of a step's name and bytes, got {self.by_step!r:.200}"
            raise TypeError(text)
        object.__setattr__(self, "_weights_in", {"": self.weights, **dict(self.by_step)})
        if not (self.compute is None or isinstance(self.compute, str)):
            text = f"compute must be a number format such as 'fp8', got {self.compute!r}"
            raise TypeError(text)

    @classmethod
    def uniform(cls, bytes_per_element: Number, compute: str | None = None) -> Precision:
        """The same number of bytes for every element.

        >>> Precision.uniform(4)
        Precision(weights=4, activations=4, kv=4, scores=4, compute=None)
        """
        each: dict[str, Any] = dict.fromkeys(KINDS, bytes_per_element)
        return cls(**each, compute=compute)

    def with_(self, **changes: Any) -> Precision:
        """The same precision with some of it changed.

        >>> precision_of("fp8").with_(kv=2).kv
        2
        """
        changes = {"by_step": (), **changes} if "weights" in changes else changes
        return replace(self, **changes)

    def weights_in(self, step: str) -> Any:
        """Bytes of a weight in one step of a pass.

        >>> packed = Precision(weights=0.75, by_step=(("experts.up", 0.5), ("", 2)))
        >>> packed.weights_in("experts.up"), packed.weights_in("unembedding")
        (0.5, 2)
        """
        return self._weights_in.get(step, self._weights_in[""]) if self.by_step else self.weights


def _bytes(kind: str, value: Any) -> Any:
    if isinstance(value, str):
        if spelt(value) not in FORMATS:
            known = ", ".join(FORMATS)
            raise ValueError(
                f"{kind} must be bytes per element or one of {known}, got {value!r:.200}"
            )
        return FORMATS[spelt(value)]
    if is_symbolic(value) or is_lazy(value):
        return value
    is_array = isinstance(value, np.ndarray) and value.dtype.kind in "iuf"
    if isinstance(value, (bool, np.bool_)) or not (
        is_array or isinstance(value, (int, float, np.integer, np.floating))
    ):
        raise TypeError(f"{kind} must be a number of bytes per element, got {value!r}")
    if not np.all((np.asarray(value) > 0) & np.isfinite(value)):
        raise ValueError(f"{kind} must be a positive number of bytes per element, got {value}")
    return value if type(value) in (int, float) else value * 1.0


def _both(name: str, compute: str) -> Precision:
    """Weights, activations and cache in a format, which is computed in; scores stay in 16 bits,
    as the softmax between them is not done in fewer."""
    return Precision(weights=name, activations=name, kv=name, compute=compute)


def spelt(name: str) -> str:
    """A format as it is spelt here, whatever else it is called.

    >>> spelt("FP8"), spelt("bfloat16"), spelt("Float32")
    ('fp8', 'bf16', 'fp32')
    """
    return name[:200].casefold().replace("bfloat", "bf").replace("float", "fp")


#: Ways that models are run, by name.
RECIPES: dict[str, Precision] = {
    "fp32": Precision.uniform(4, "fp32"),
    "tf32": Precision.uniform(4, "tf32"),
    "bf16": Precision(compute="bf16"),
    "fp16": Precision(compute="fp16"),
    "fp8": _both("fp8", "fp8"),
    "int8": _both("int8", "int8"),
    "mxfp8": _both("mxfp8", "fp8"),
    "mxfp6": _both("mxfp6", "fp6"),
    "nvfp4": Precision(weights="nvfp4", activations="nvfp4", kv="fp8", compute="fp4"),
    # weights alone: they are unpacked on the way in and multiplied in 16 bits
    "int4": Precision(weights="int4"),
    "nf4": Precision(weights="nf4"),
    "mxfp4": Precision(weights="mxfp4"),
}

#: 16 bits throughout, in whichever 16-bit format the device is best at.
DEFAULT = Precision()


def precision_of(value: Precision | str | None) -> Precision:
    """A precision, a recipe's name or None (16 bits), as a `Precision`.

    >>> precision_of("fp8")
    Precision(weights=1, activations=1, kv=1, scores=2, compute='fp8')
    >>> precision_of("mxfp4").compute is None  # the weights alone are in 4 bits
    True
    >>> precision_of("FP8") == precision_of("fp8"), precision_of("bfloat16").compute
    (True, 'bf16')
    >>> precision_of("q4")
    Traceback (most recent call last):
        ...
    ValueError: precision must be a Precision or one of fp32, tf32, bf16, fp16, fp8, int8, mxfp8, \
mxfp6, nvfp4, int4, nf4, mxfp4, got 'q4'
    """
    if type(value) is Precision:
        return value
    if value is None:
        return DEFAULT
    if isinstance(value, str) and spelt(value) in RECIPES:
        return RECIPES[spelt(value)]
    kind = ValueError if isinstance(value, str) else TypeError
    known = ", ".join(RECIPES)
    raise kind(f"precision must be a Precision or one of {known}, got {value!r:.200}")
