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
from functools import lru_cache, partial, reduce
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

#: What is searched: phases that share nothing but M, each with the sizes that are its own. All
#: other sizes stay 1. One column at a time (one row for FlashAttention-1) needs the least room and,
#: under a mask, covers the least above the diagonal. The width of a slice changes no transfers.
_PHASES: dict[str, tuple[tuple[str, ...], ...]] = {
    "naive": (("tile",),),
    "flash": (("block_cols",),),
    "flash2": (("block_rows",),),
    "flash_backward": (("block_cols",),),
    "flash2_backward": (("block_cols",),),
    "two_pass_backward": (("block_rows",), ("block_cols",)),
    "small_cache": (("tile",), ("value_rows", "value_cols")),
    "fused": (("tile_rows", "tile_cols"),),
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
    counted = partial(getattr(counts, algorithm), N, d, causal=causal, **options)

    def fits(**blocks: int) -> bool:
        return bool(counted(**{**chosen, **blocks}).peak <= M)

    blocks = {**chosen, **_filled(algorithm, N, d, chosen, causal, fits)}
    return Choice(algorithm, blocks, counted(**blocks))


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

    counted, published = getattr(counts, algorithm), published_blocks(algorithm, d, M)

    def shape(cols: int) -> dict[str, int]:
        return {"block_rows": min(cols, d), "block_cols": cols}

    most = min(N, published["block_cols"])
    return shape(_largest(most, lambda cols: counted(N, d, **shape(cols)).peak <= M))


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
    """Each phase gets its own best blocks: it is asked with the least that the others can have."""
    names, phases = ALGORITHMS[algorithm], _PHASES[algorithm]
    if causal and algorithm == "small_cache":  # the tiles of O have the rows of the others
        phases = (("tile", "value_rows", "value_cols"),)
    counted = partial(getattr(counts, algorithm), N, d, causal=causal, **dict(options))
    ones: dict[str, Any] = dict.fromkeys(names, 1)
    least = counted(**ones).total if len(phases) > 1 else 0
    steps = []
    for own in phases:
        sizes = _candidates(algorithm, own, N, d, causal)
        count = counted(**{**ones, **dict(zip(own, sizes, strict=True))})
        steps.append(_steps(count.peak, count.total - least, np.stack(sizes, axis=1), own))
    found = reduce(_both, steps)
    blocks = np.ones((len(found.totals), len(names)))
    blocks[:, [names.index(name) for name in found.names]] = found.blocks
    return Staircase(found.capacities, found.totals + least, blocks, names)


def _candidates(
    algorithm: str, names: tuple[str, ...], N: int, d: int, causal: bool
) -> list[Array]:
    """Sizes of a phase that no others beat in both transfers and room."""
    if causal and algorithm == "fused" and N > LONGEST_CAUSAL_PAIR_SEARCH:
        raise ValueError(
            f"N must be at most {LONGEST_CAUSAL_PAIR_SEARCH} to search the causal pairs of "
            f"block sizes, got {N}: give the block sizes"
        )
    side = np.arange(1.0, N + 1) if causal else _fewest(N)
    if algorithm == "naive":  # its tile cuts the width of V too
        side = np.arange(1.0, max(N, d) + 1) if causal else np.union1d(side, _fewest(d))
    every = [_fewest(d) if name in ("value_cols", "grad_cols") else side for name in names]
    if "tile" in names and "value_rows" in names:
        tile, value_cols = _grid(side, every[-1])
        return [tile, tile, value_cols]
    return _grid(*every)


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


def _filled(
    algorithm: str,
    N: int,
    d: int,
    chosen: Mapping[str, int],
    causal: bool,
    fits: Callable[..., bool],
) -> dict[str, int]:
    """Spend the room that is left on the one size that moves nothing more: fewer, larger steps."""
    free = _FREE.get(algorithm)
    if free is None or (causal and free == "stream"):  # it would cover more above the diagonal
        return {}
    if causal and free != "inner":  # only a divisor of the other size covers nothing more
        other = chosen["block_cols" if free == "block_rows" else "block_rows"]
        divisors = [size for size in range(1, other + 1) if other % size == 0]
        return {free: max(size for size in divisors if fits(**{free: size}))}
    most = chosen.get("tile", d) if free == "inner" else N
    return {free: _largest(most, lambda size: fits(**{free: size}))}


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


def _grid(*sides: Array) -> list[Array]:
    """Every combination of these sizes, a column for each."""
    return [sizes.ravel() for sizes in np.meshgrid(*sides, indexing="ij")]
