"""What every counted algorithm shares: its inputs in slow memory, and the result of a run."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from costlib.iomodel.counting.block_sizes import best_blocks
from costlib.iomodel.memory import Event, HeldBlock, SlowArray, TwoLevelMemory

__all__ = ["Run", "Workplace", "block_size", "reference_attention"]

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True, eq=False)
class Run:
    """What an algorithm computed and what it moved, in entries."""

    output: Any  #: the result, a matrix; a tuple of matrices where there are several
    reads: int
    writes: int
    peak: int
    capacity: int | None
    blocks: Mapping[str, Any] = field(default_factory=dict)  #: the block sizes it ran with
    extras: Mapping[str, Array] = field(
        default_factory=dict
    )  #: other arrays it left in slow memory
    trace: tuple[Event, ...] = ()

    @property
    def total(self) -> int:
        """Reads and writes together."""
        return self.reads + self.writes

    def __repr__(self) -> str:
        sizes = ", ".join(f"{name}={value}" for name, value in self.blocks.items())
        return f"Run({sizes}: {self.reads} reads, {self.writes} writes, peak {self.peak})"


class Workplace:
    """One run on a counted memory: inputs placed, counters read before and after.

    >>> work = Workplace(100, A=np.ones((2, 3)), B=np.ones((3, 2)))
    >>> work.arrays["A"], work.memory.capacity
    (SlowArray(A, 2×3), 100)
    """

    def __init__(self, memory: int | TwoLevelMemory | None, **inputs: Any) -> None:
        self.memory = memory if isinstance(memory, TwoLevelMemory) else TwoLevelMemory(memory)
        if self.memory.resident:
            raise ValueError(f"the memory must be empty when a run starts, got {self.memory!r}")
        arrays = {name: _matrix(name, values) for name, values in inputs.items()}
        self.memory.dtype = np.result_type(*arrays.values())
        self.arrays = {
            name: self.memory.place(name, values.astype(self.memory.dtype, copy=False))
            for name, values in arrays.items()
        }
        self._reads, self._writes = self.memory.reads, self.memory.writes
        self._peak_before, self._events = self.memory.peak, len(self.memory.trace)
        self.memory.peak = 0

    def finish(
        self,
        *outputs: SlowArray,
        blocks: Mapping[str, Any],
        extras: tuple[SlowArray, ...] = (),
    ) -> Run:
        """Read the results out, after the run, at no cost."""
        results = tuple(self.memory.contents(array) for array in outputs)
        peak = self.memory.peak
        self.memory.peak = max(peak, self._peak_before)
        return Run(
            output=results[0] if len(results) == 1 else results,
            reads=self.memory.reads - self._reads,
            writes=self.memory.writes - self._writes,
            peak=peak,
            capacity=self.memory.capacity,
            blocks=dict(blocks),
            extras={array.name: self.memory.contents(array) for array in extras},
            trace=tuple(self.memory.trace[self._events :]),
        )


def reference_attention(
    Q: Any, K: Any, V: Any, *, causal: bool = False, scale: float = 1.0
) -> Array:
    """softmax(scale · Q Kᵀ) V in float64 in one piece, uncounted: what every run must give.

    >>> reference_attention([[1.0]], [[2.0]], [[3.0]])
    array([[3.]])
    """
    queries, keys, values = (np.asarray(array, dtype=np.float64) for array in (Q, K, V))
    scores = scale * (queries @ keys.T)
    if causal:
        scores[np.triu_indices(len(queries), 1)] = -np.inf
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    output: Array = (weights / weights.sum(axis=1, keepdims=True)) @ values
    return output


def attention_inputs(memory: int | TwoLevelMemory | None, Q: Any, K: Any, V: Any) -> Workplace:
    """The workplace of an attention run: Q, K and V of one shape, N×d."""
    shapes = [np.shape(array) for array in (Q, K, V)]
    if len(set(shapes)) != 1 or len(shapes[0]) != 2:
        raise ValueError(f"Q, K and V must be three N×d matrices of one shape, got {shapes}")
    return Workplace(memory, Q=Q, K=K, V=V)


def block_size(name: str, value: Any, most: int) -> int:
    """A block size as an int between 1 and ``most``; a larger one is cut to ``most``.

    >>> block_size("block_rows", 16, most=10)
    10
    """
    if isinstance(value, (bool, np.bool_)) or int(value) != value or value < 1:
        raise ValueError(f"{name} must be a whole number of at least 1, got {value!r}")
    return min(int(value), most)


def resolved_blocks(
    algorithm: str,
    work: Workplace,
    given: Mapping[str, int | None],
    *,
    causal: bool,
    **options: Any,
) -> dict[str, int]:
    """The block sizes of a run: those given, cut to the matrices, or the best that fit."""
    N, d = work.arrays["Q"].shape
    missing = [name for name, value in given.items() if value is None]
    if not missing:
        most = {
            "value_cols": d,
            "grad_cols": d,
            "inner": N if algorithm in ("naive", "small_cache") else d,
        }
        if algorithm == "naive":  # its tile cuts the width of V too
            most["tile"] = max(N, d)
        return {name: block_size(name, value, most.get(name, N)) for name, value in given.items()}
    if len(missing) < len(given):
        raise ValueError(f"give all of {', '.join(given)} or none: {', '.join(missing)} missing")
    M = math.inf if work.memory.capacity is None else work.memory.capacity
    return dict(best_blocks(algorithm, N, d, M, causal=causal, **options).blocks)


@contextmanager
def temporaries(memory: TwoLevelMemory, **shapes: tuple[int, int]) -> Iterator[list[HeldBlock]]:
    """Several blocks for the length of a ``with``."""
    blocks = [memory.allocate(name, *shape) for name, shape in shapes.items()]
    try:
        yield blocks
    finally:
        for block in blocks:
            block.__exit__()


@contextmanager
def row_state(memory: TwoLevelMemory, **shapes: tuple[int, int]) -> Iterator[list[HeldBlock]]:
    """What is carried from tile to tile, before the first: maxima m at −∞, all else at zero."""
    with temporaries(memory, **shapes) as blocks:
        for block in blocks:
            block.fill(-np.inf if block.name == "m" else 0.0)
        yield blocks


def _matrix(name: str, values: Any) -> Array:
    array = np.asarray(values)
    if array.ndim != 2 or 0 in array.shape:
        raise ValueError(f"{name} must be a matrix with entries, got shape {array.shape}")
    if array.dtype.kind in "iub":
        array = array.astype(np.float64)
    if array.dtype.kind != "f":
        raise TypeError(f"{name} must hold real numbers, got {array.dtype}")
    return array
