"""The block sizes that move the least within M, and where one algorithm overtakes another.

A block size matters only through how many blocks there are, so of all sizes that give the same
number of blocks the smallest needs the least room. Trying those alone is an exhaustive search: for
each algorithm the result is a staircase, the transfers that its best blocks reach as M grows. Best
blocks are looked up on it, and two staircases are compared step by step, so crossovers are exact.

Under a causal mask the number of blocks no longer decides, and every size is tried.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache, reduce
from typing import Any

import numpy as np

from costlib.iomodel.counting import counts
from costlib.iomodel.counting.counts import Count
from costlib.iomodel.memory import CapacityError
from costlib.units.numbers import Number, choose, square_root

__all__ = [
    "ALGORITHMS",
    "Choice",
    "Crossover",
    "Staircase",
    "best_blocks",
    "crossovers",
    "plain_blocks",
    "published_blocks",
    "shrunk_blocks",
    "staircase",
]

Array = np.ndarray[Any, Any]

#: The block sizes of each algorithm, in the order of its closed form.
ALGORITHMS: dict[str, tuple[str, ...]] = {
    "naive": ("tile", "inner"),
    "flash": ("block_rows", "block_cols"),
    "flash2": ("block_rows", "block_cols"),
    "flash_backward": ("block_rows", "block_cols"),
    "flash2_backward": ("block_rows", "block_cols"),
    "two_pass_backward": ("block_rows", "block_cols", "stream"),
    "small_cache": ("tile", "inner", "value_rows", "value_cols"),
    "fused": ("tile_rows", "tile_cols", "inner"),
    "stored_scores": ("block_rows", "value_rows", "value_cols"),
    "stored_backward": ("block_cols", "grad_rows", "grad_cols"),
    "four_pass_backward": ("block_rows", "block_cols", "grad_rows", "grad_cols"),
}

#: Phases that share nothing but M, each with the sizes that are its own; all others stay 1.
_PHASES: dict[str, tuple[tuple[str, ...], ...]] = {
    "small_cache": (("tile",), ("value_rows", "value_cols")),
    "two_pass_backward": (("block_rows",), ("block_cols",)),
    "stored_scores": (("block_rows",), ("value_rows", "value_cols")),
    "stored_backward": (("block_cols",), ("grad_rows", "grad_cols")),
    "four_pass_backward": (("block_rows",), ("block_cols",), ("grad_rows", "grad_cols")),
}

#: Size that can grow without moving more, once the others are chosen; some algorithms have none.
_FREE = {
    "naive": "inner",
    "flash": "block_rows",
    "flash2": "block_cols",
    "flash_backward": "block_rows",
    "flash2_backward": "block_rows",
    "two_pass_backward": "stream",
    "small_cache": "inner",
    "fused": "inner",
}

#: Two sizes are searched together under a causal mask, so the number of pairs is bounded.
LONGEST_CAUSAL_PAIR_SEARCH = 2048


@dataclass(frozen=True, slots=True)
class Choice:
    """Block sizes and what they cost: pass ``**choice.blocks`` to the algorithm."""

    algorithm: str
    blocks: Mapping[str, int]
    count: Count


@dataclass(frozen=True, slots=True, eq=False)
class Staircase:
    """The least transfers for every capacity: a step wherever better blocks begin to fit."""

    capacities: Array
    totals: Array
    blocks: Array  #: one row of block sizes for each step
    names: tuple[str, ...]

    def step_at(self, M: float) -> int:
        """The index of the last step that fits in M; −1 if none does."""
        return int(np.searchsorted(self.capacities, M, side="right")) - 1

    def total_at(self, M: float) -> float:
        """The least transfers within M; infinite where nothing fits."""
        step = self.step_at(M)
        return float(self.totals[step]) if step >= 0 else math.inf


@dataclass(frozen=True, slots=True)
class Crossover:
    """From this capacity on, until the next crossover, one of two algorithms moves less."""

    M: int
    cheaper: str | None  #: None where both move the same
    totals: tuple[float, float]


def best_blocks(
    algorithm: str, N: int, d: int, M: float, *, causal: bool = False, **options: Any
) -> Choice:
    """The block sizes that move the fewest entries within M; of those the fewest steps.

    ``options`` are those of the closed form: ``lean``, ``log_sum_exp``, ``lazy_init``, ``stable``,
    ``softmax``.

    >>> choice = best_blocks("flash2", N=8192, d=64, M=98304)
    >>> choice.blocks, choice.count.total
    ({'block_rows': 683, 'block_cols': 10}, 13631488)
    >>> best_blocks("flash2", N=64, d=8, M=20)
    Traceback (most recent call last):
        ...
    costlib.iomodel.memory.blocks.CapacityError: flash2 needs at least 29 entries for d = 8, \
got M = 20
    """
    steps = staircase(algorithm, N, d, causal=causal, **options)
    step = steps.step_at(M)
    if step < 0:
        raise CapacityError(
            f"{algorithm} needs at least {int(steps.capacities[0])} entries for d = {d}, "
            f"got M = {M}"
        )
    chosen = {name: int(value) for name, value in zip(steps.names, steps.blocks[step], strict=True)}
    blocks = _fill_up(algorithm, N, d, M, chosen, causal, options)
    return Choice(algorithm, blocks, _count(algorithm, N, d, blocks, causal, options))


def published_blocks(algorithm: str, d: int, M: int) -> dict[str, int]:
    """The block sizes that the papers print, whether or not they fit in M.

    FlashAttention-1: B_c = ⌈M/4d⌉, B_r = min(⌈M/4d⌉, d), for its backward pass too. Small cache:
    B = ⌊√(M/4)⌋ in every direction.

    >>> published_blocks("flash", d=64, M=98304)
    {'block_rows': 64, 'block_cols': 384}
    >>> published_blocks("small_cache", d=64, M=1024)["tile"]
    16
    """
    if algorithm in ("flash", "flash_backward"):
        cols = -(-M // (4 * d))
        return {"block_rows": min(cols, d), "block_cols": cols}
    if algorithm == "small_cache":
        return dict.fromkeys(ALGORITHMS["small_cache"], max(1, math.isqrt(M // 4)))
    raise ValueError(
        f"algorithm must be 'flash', 'flash_backward' or 'small_cache', got {algorithm!r}: "
        "no other has published sizes"
    )


def plain_blocks(algorithm: str, d: Number, M: Number) -> dict[str, Any]:
    """The largest blocks of the plainest shape within M, in closed form; below 1 none fits.

    They are square tiles, or whole rows beside a single row of what streams past. A phase that
    shares nothing but M has sizes of its own. `best_blocks` searches further.

    >>> plain_blocks("flash2", d=64, M=98304)
    {'block_rows': 738, 'block_cols': 1}
    >>> from costlib.units.numbers import symbols
    >>> plain_blocks("two_pass_backward", *symbols("d M"))["block_cols"]
    floor((M - 2*d - 2)/(4*d + 2))
    """
    tiles = (M - d) // (d + 1)  # of a gradient, as wide as a row
    columns = (M - 2 * d - 2) // (4 * d + 2)  # K, V and their gradients, a query beside them
    side, rows = (square_root(4 * M + 9) - 3) // 2, (M - d) // (d + 4)
    found: dict[str, tuple[Any, ...]] = {
        "naive": (square_root(M + 1) // 1 - 1, 1),
        "flash": (1, (M - 2 * d - 6) // (2 * d + 1)),
        "flash2": ((M - d) // (2 * d + 5), 1),
        "small_cache": (side, 1, side, side),
        "stored_scores": (rows, rows, d),
        "flash_backward": (1, (M - 4 * d - 3) // (4 * d + 2)),
        "flash2_backward": (1, (M - 3 * d - 2) // (4 * d + 2)),
        "two_pass_backward": ((M - 2 * d) // (3 * d + 4), columns, 1),
        "stored_backward": (columns, tiles, d),
        "four_pass_backward": (
            (M - d) // (d + 2),
            (M - d - 1) // (2 * d + 2),
            tiles,
            d,
        ),
    }
    choose("algorithm", algorithm, tuple(found))
    return dict(zip(ALGORITHMS[algorithm], found[algorithm], strict=True))


def shrunk_blocks(algorithm: str, N: int, d: int, M: int) -> dict[str, int]:
    """FlashAttention-1's published shape, B_r = min(B_c, d), with B_c shrunk until it fits in M.

    >>> shrunk_blocks("flash", N=64, d=8, M=512)
    {'block_rows': 8, 'block_cols': 14}
    """

    def shape(cols: int) -> dict[str, int]:
        return {"block_rows": min(cols, d), "block_cols": cols}

    published = min(N, published_blocks(algorithm, d, M)["block_cols"])
    return shape(
        _largest(published, lambda cols: _count(algorithm, N, d, shape(cols), False, {}).peak <= M)
    )


def crossovers(
    first: str, second: str, N: int, d: int, *, causal: bool = False
) -> tuple[Crossover, ...]:
    """Every capacity at which the cheaper of two algorithms changes, each with its best blocks.

    The staircases of the two can cross more than once, since both have steps. Where only one of
    them fits, that one is the cheaper.

    >>> for crossing in crossovers("flash2", "small_cache", N=64, d=8)[:2]:
    ...     print(crossing.M, crossing.cheaper, crossing.totals)
    4 small_cache (inf, 135808.0)
    71 flash2 (23552.0, 24704.0)
    """
    one, two = (staircase(name, N, d, causal=causal) for name in (first, second))
    found: list[Crossover] = []
    for M in np.union1d(one.capacities, two.capacities):
        totals = one.total_at(M), two.total_at(M)
        cheaper = None if totals[0] == totals[1] else (first if totals[0] < totals[1] else second)
        if not found or found[-1].cheaper != cheaper:
            found.append(Crossover(int(M), cheaper, totals))
    return tuple(found)


def staircase(algorithm: str, N: int, d: int, *, causal: bool = False, **options: Any) -> Staircase:
    """The least transfers of an algorithm for every M, as the steps where better blocks fit.

    >>> steps = staircase("flash2", N=4, d=1)
    >>> steps.capacities, steps.totals
    (array([ 8., 15., 29.]), array([40., 24., 16.]))
    """
    if algorithm not in ALGORITHMS:
        raise ValueError(f"algorithm must be one of {list(ALGORITHMS)}, got {algorithm!r}")
    return _staircase(algorithm, N, d, causal, tuple(sorted(options.items())))


@lru_cache(maxsize=256)
def _staircase(
    algorithm: str, N: int, d: int, causal: bool, options: tuple[tuple[str, Any], ...]
) -> Staircase:
    settings = dict(options)
    if algorithm in _PHASES and not (algorithm == "small_cache" and causal):
        return _phased_staircase(algorithm, N, d, causal, settings)
    sizes = _candidates(algorithm, N, d, causal)
    named = dict(zip(ALGORITHMS[algorithm], sizes, strict=True))
    count: Any = _count(algorithm, N, d, named, causal, settings)
    return _steps(count.peak, count.total, np.stack(sizes, axis=1), ALGORITHMS[algorithm])


def _candidates(algorithm: str, N: int, d: int, causal: bool) -> list[Array]:
    """Block sizes that no other set of sizes beats in both transfers and room.

    One column at a time (one row for FlashAttention-1) needs the least room and, under a mask,
    covers the least above the diagonal. The width of a slice never changes the transfers.
    """
    side = np.arange(1.0, N + 1) if causal else _fewest(N)
    one = np.ones_like(side)
    if algorithm in ("flash", "flash_backward", "flash2_backward"):
        return [one, side]
    if algorithm == "flash2":
        return [side, one]
    if algorithm == "naive":
        tile = np.arange(1.0, max(N, d) + 1) if causal else np.union1d(side, _fewest(d))
        return [tile, np.ones_like(tile)]
    if algorithm == "fused":
        if causal and N > LONGEST_CAUSAL_PAIR_SEARCH:
            raise ValueError(
                f"N must be at most {LONGEST_CAUSAL_PAIR_SEARCH} to search the causal pairs of "
                f"block sizes, got {N}: give the block sizes"
            )
        rows, cols = _grid(side, side)
        return [rows, cols, np.ones_like(rows)]
    tile, value_cols = _grid(side, _fewest(d))
    return [tile, np.ones_like(tile), tile, value_cols]


def _phased_staircase(
    algorithm: str, N: int, d: int, causal: bool, options: Mapping[str, Any]
) -> Staircase:
    """Each phase gets its own best blocks: it is asked with the least that the others can have."""
    side = np.arange(1.0, N + 1) if causal else _fewest(N)
    ones: dict[str, Any] = dict.fromkeys(ALGORITHMS[algorithm], 1)
    least = _count(algorithm, N, d, ones, causal, options).total
    phases = []
    for names in _PHASES[algorithm]:
        sizes = [side] if len(names) == 1 else _grid(side, _fewest(d))
        named = {**ones, **dict(zip(names, sizes, strict=True))}
        count: Any = _count(algorithm, N, d, named, causal, options)
        phases.append(_steps(count.peak, count.total - least, np.stack(sizes, axis=1), names))
    found = reduce(_both, phases)
    blocks = np.ones((len(found.totals), len(ones)))
    for name, column in zip(found.names, found.blocks.T, strict=True):
        blocks[:, list(ones).index(name)] = column
    return Staircase(found.capacities, found.totals + least, blocks, tuple(ones))


def _both(first: Staircase, second: Staircase) -> Staircase:
    """Two phases in one memory: each at the step that it reaches where both fit."""
    capacities = np.union1d(first.capacities, second.capacities)
    capacities = capacities[capacities >= max(first.capacities[0], second.capacities[0])]
    i, j = (
        np.searchsorted(each.capacities, capacities, side="right") - 1 for each in (first, second)
    )
    blocks = np.concatenate([first.blocks[i], second.blocks[j]], axis=1)
    totals = first.totals[i] + second.totals[j]
    return _steps(capacities, totals, blocks, first.names + second.names)


def _steps(peaks: Array, totals: Array, blocks: Array, names: tuple[str, ...]) -> Staircase:
    """Only what moves less than everything that needs no more room."""
    order = np.argsort(peaks, kind="stable")
    least_before = np.concatenate(([np.inf], np.minimum.accumulate(totals[order])[:-1]))
    kept = order[totals[order] < least_before]
    last = np.append(np.diff(peaks[kept]) > 0, True)  # the best of those that need as much room
    kept = kept[last]
    return Staircase(peaks[kept], totals[kept], blocks[kept], names)


def _fill_up(
    algorithm: str,
    N: int,
    d: int,
    M: float,
    chosen: dict[str, int],
    causal: bool,
    options: Mapping[str, Any],
) -> dict[str, int]:
    """Spend the room that is left on the one size that moves nothing more: fewer, larger steps."""
    if algorithm not in _FREE:
        return chosen
    free = _FREE[algorithm]
    most = chosen.get("tile", d) if free == "inner" else N

    def fits(size: int) -> bool:
        return bool(_count(algorithm, N, d, {**chosen, free: size}, causal, options).peak <= M)

    if causal and free == "stream":  # it would cover more above the diagonal
        return chosen
    if causal and free != "inner":  # only a divisor of the other size covers nothing more
        other = chosen["block_cols" if free == "block_rows" else "block_rows"]
        divisors = [size for size in range(1, other + 1) if other % size == 0 and fits(size)]
        return {**chosen, free: divisors[-1]}
    return {**chosen, free: _largest(most, fits)}


def _largest(most: int, fits: Callable[[int], bool]) -> int:
    """The largest size up to ``most`` that fits, where larger ones need more room; at least 1."""
    low, high = 1, most
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if fits(middle) else (low, middle - 1)
    return low


def _fewest(length: int) -> Array:
    """For each number of blocks that can cover ``length``, the smallest block that gives it.

    >>> _fewest(10)
    array([ 1.,  2.,  3.,  4.,  5., 10.])
    """
    small = np.arange(1, math.isqrt(length) + 2)
    sizes = np.union1d(small, -(-length // small)).astype(float)
    return sizes[sizes <= length]


def _grid(first: Array, second: Array) -> tuple[Array, Array]:
    rows, cols = np.meshgrid(first, second, indexing="ij")
    return rows.ravel(), cols.ravel()


def _count(
    algorithm: str,
    N: Number,
    d: Number,
    blocks: Mapping[str, Any],
    causal: bool,
    options: Mapping[str, Any],
) -> Count:
    count: Count = getattr(counts, algorithm)(N, d, **blocks, causal=causal, **options)
    return count
