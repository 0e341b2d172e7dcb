"""What each algorithm moves and holds, as closed forms: equal to the counted runs, entry for entry.

Pass ints for an exact count, NumPy arrays for a sweep, SymPy symbols for the formula. Block sizes
larger than what they divide count as cut to it, as in the runs.

Under a causal mask the tiles wholly above the diagonal are skipped, see `coverage`.

The peak is the most entries held in fast memory at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from costlib.iomodel.counting.coverage import covered_columns, covered_entries, covered_rows
from costlib.iomodel.counting.heads import Heads
from costlib.units.numbers import Number, ceil_div, maximum, minimum, sizes

__all__ = [
    "Count",
    "flash",
    "flash2",
    "flash2_backward",
    "flash_backward",
    "four_pass_backward",
    "fused",
    "matmul",
    "naive",
    "small_cache",
    "stored_backward",
    "stored_scores",
    "streamed",
    "streamed_rows",
    "two_pass_backward",
]

#: How often each softmax form reads a score.
SOFTMAX_READS = {"three-pass": 3, "online": 2, "row": 1}

#: Statistics held for each row while scores stream past: maximum and sum, and for the online form
#: the new maximum; the three-pass form makes do with two.
SOFTMAX_STATISTICS = {"three-pass": 2, "online": 3}


@dataclass(frozen=True, slots=True)
class Count:
    """Entries read, entries written, and the most that were held."""

    reads: Number
    writes: Number
    peak: Number

    @property
    def total(self) -> Any:
        """Reads and writes together."""
        return self.reads + self.writes

    def __add__(self, other: Count) -> Count:
        """One phase after the other in the same memory."""
        peak = maximum(self.peak, other.peak)
        return Count(self.reads + other.reads, self.writes + other.writes, peak)


def matmul(
    m: Number, k: Number, n: Number, tile_rows: Number, tile_cols: Number, inner: Number = 1
) -> Count:
    """An m×k by k×n product in tiles: ⌈n/tile_cols⌉·m·k + ⌈m/tile_rows⌉·k·n reads, m·n writes.

    >>> matmul(16, 16, 16, 4, 4, 4)
    Count(reads=2048, writes=256, peak=48)
    """
    m, k, n = sizes(m=m, k=k, n=n)
    tile_rows, tile_cols, inner = sizes(tile_rows=tile_rows, tile_cols=tile_cols, inner=inner)
    return Count(
        reads=ceil_div(n, tile_cols) * m * k + ceil_div(m, tile_rows) * k * n,
        writes=m * n,
        peak=_product_peak(minimum(tile_rows, m), minimum(tile_cols, n), minimum(inner, k)),
    )


def naive(
    N: Number,
    d: Number,
    tile: Number,
    inner: Number = 1,
    *,
    softmax: str = "online",
    causal: bool = False,
) -> Count:
    """Naive attention in square tiles: 3⌈N/b⌉·N·d + (c + ⌈d/b⌉)·N² reads, 2N² + N·d writes.

    The tile is b; c is how often the softmax reads a score.

    >>> naive(24, 6, 8)
    Count(reads=3024, writes=1296, peak=80)
    >>> from costlib.units.numbers import symbols
    >>> N, d, b = symbols("N d b")
    >>> naive(N, d, b).writes
    2*N**2 + N*d
    """
    if softmax not in SOFTMAX_READS:
        raise ValueError(f"softmax must be one of {list(SOFTMAX_READS)}, got {softmax!r}")
    N, d, tile, inner = sizes(N=N, d=d, tile=tile, inner=inner)
    entries = covered_entries(N, tile, causal=causal)
    columns = covered_columns(N, tile, tile, causal=causal)
    rows = covered_rows(N, tile, tile, causal=causal)
    side = minimum(tile, N)
    depth = minimum(inner, side)
    # The runs stream the softmax in chunks a column narrower than a tile, beside the statistics.
    streamed = side * (maximum(side - 1, 1) + SOFTMAX_STATISTICS.get(softmax, 0))
    softmax_peak = N + 2 if softmax == "row" else streamed
    return Count(
        reads=(rows + 2 * columns) * d + (SOFTMAX_READS[softmax] + ceil_div(d, tile)) * entries,
        writes=2 * entries + N * d,
        peak=maximum(
            maximum(_product_peak(side, side, minimum(depth, d)), softmax_peak),
            _product_peak(side, minimum(tile, d), depth),
        ),
    )


def _by_columns(
    N: Number, d: Number, block_rows: Number, block_cols: Number, causal: bool
) -> tuple[Any, Any, Any, Any, Any]:
    """Sizes, blocks, and the rows that are read where each block of columns takes those it sees."""
    N, d, block_rows, block_cols = sizes(N=N, d=d, block_rows=block_rows, block_cols=block_cols)
    visits = covered_rows(N, block_rows, block_cols, causal=causal)
    return N, d, minimum(block_rows, N), minimum(block_cols, N), visits


def flash(
    N: Number,
    d: Number,
    block_rows: Number,
    block_cols: Number,
    *,
    lazy_init: bool = False,
    causal: bool = False,
) -> Count:
    """FlashAttention-1: 2N·d + T_c·N(2d + 2) reads and (T_c + 1)·N(d + 2) writes.

    T_c is ⌈N/block_cols⌉.

    >>> flash(8, 4, 1, 4)
    Count(reads=224, writes=144, peak=50)
    """
    N, d, rows, cols, visits = _by_columns(N, d, block_rows, block_cols, causal)
    state = d + 2
    return Count(
        reads=2 * N * d + visits * d + (visits - N if lazy_init else visits) * state,
        writes=(visits if lazy_init else visits + N) * state,
        peak=2 * (rows + cols) * d + rows * cols + 6 * rows,
    )


def flash2(
    N: Number,
    d: Number,
    block_rows: Number,
    block_cols: Number,
    *,
    lean: bool = True,
    log_sum_exp: bool = False,
    causal: bool = False,
) -> Count:
    """FlashAttention-2's order: N·d + 2T_r·N·d reads, N·d writes, T_r = ⌈N/block_rows⌉.

    >>> flash2(8, 4, 2, 3)
    Count(reads=288, writes=32, peak=42)
    >>> flash2(8, 4, 2, 2, causal=True).reads
    192
    """
    N, d, block_rows, block_cols = sizes(N=N, d=d, block_rows=block_rows, block_cols=block_cols)
    columns = covered_columns(N, block_rows, block_cols, causal=causal)
    rows, cols = minimum(block_rows, N), minimum(block_cols, N)
    return Count(
        reads=N * d + 2 * columns * d,
        writes=N * d + (N if log_sum_exp else 0),
        peak=2 * rows * d + (1 if lean else 2) * cols * d + rows * cols + 4 * rows,
    )


def flash_backward(
    N: Number, d: Number, block_rows: Number, block_cols: Number, *, causal: bool = False
) -> Count:
    """FlashAttention's backward pass: 2N·d + T_c·N(4d + 2) reads, (T_c + 3)·N·d writes.

    >>> flash_backward(4, 2, 2, 2)
    Count(reads=96, writes=40, peak=46)
    """
    N, d, rows, cols, visits = _by_columns(N, d, block_rows, block_cols, causal)
    return Count(
        reads=2 * N * d + visits * (4 * d + 2),
        writes=visits * d + 3 * N * d,
        peak=4 * (rows + cols) * d + 2 * rows * cols + 3 * rows,
    )


def flash2_backward(
    N: Number, d: Number, block_rows: Number, block_cols: Number, *, causal: bool = False
) -> Count:
    """The backward pass with row sums once: 4N·d + T_c·N(3d + 2) reads, (T_c + 3)·N·d + N writes.

    >>> flash2_backward(4, 2, 2, 2)
    Count(reads=96, writes=44, peak=40)
    """
    N, d, rows, cols, visits = _by_columns(N, d, block_rows, block_cols, causal)
    return Count(
        reads=4 * N * d + visits * (3 * d + 2),
        writes=visits * d + 3 * N * d + N,
        peak=(3 * rows + 4 * cols) * d + 2 * rows * cols + 2 * rows,
    )


def two_pass_backward(
    N: Number,
    d: Number,
    block_rows: Number,
    block_cols: Number,
    stream: Number = 1,
    *,
    causal: bool = False,
) -> Count:
    """Rows for dQ, columns for dK, dV: 5N·d + N + 2T_r·N·d + T_c·N(2d + 2) reads, 3N·d + N writes.

    T_r is ⌈N/block_rows⌉, T_c is ⌈N/block_cols⌉.

    >>> two_pass_backward(4, 2, 2, 2)
    Count(reads=124, writes=28, peak=26)
    """
    N, d, stream = sizes(N=N, d=d, stream=stream)
    block_rows, block_cols = sizes(block_rows=block_rows, block_cols=block_cols)
    first = covered_columns(N, block_rows, stream, causal=causal)
    second = covered_rows(N, stream, block_cols, causal=causal)
    rows, cols, thin = minimum(block_rows, N), minimum(block_cols, N), minimum(stream, N)
    return Count(
        reads=5 * N * d + N + first * 2 * d + second * (2 * d + 2),
        writes=3 * N * d + N,
        peak=maximum(
            (3 * rows + 2 * thin) * d + 2 * rows * thin + 2 * rows,
            (4 * cols + 2 * thin) * d + 2 * cols * thin + 2 * thin,
        ),
    )


def stored_scores(
    N: Number,
    d: Number,
    block_rows: Number,
    value_rows: Number,
    value_cols: Number,
    *,
    causal: bool = False,
) -> Count:
    """Scores written while Q stays: N·d + (T_q + T_o)·N·d + ⌈d/value_cols⌉·N² + N reads.

    T_q is ⌈N/block_rows⌉, T_o is ⌈N/value_rows⌉; N² + N·d + N writes.

    >>> stored_scores(12, 4, 4, 6, 4)
    Count(reads=444, writes=204, peak=40)
    """
    _refuse_mask("stored_scores", causal)
    N, d, block_rows = sizes(N=N, d=d, block_rows=block_rows)
    value_rows, value_cols = sizes(value_rows=value_rows, value_cols=value_cols)
    passing = N * d + ceil_div(N, block_rows) * N * d
    scores = Count(passing, N * N + N, minimum(block_rows, N) * (d + 4) + d)
    values = matmul(N, N, d, value_rows, value_cols)
    tall = minimum(value_rows, N)  # whose log-sum-exps are beside the product
    return scores + Count(values.reads + N, values.writes, values.peak + tall)


def stored_backward(
    N: Number,
    d: Number,
    block_cols: Number,
    grad_rows: Number,
    grad_cols: Number,
    *,
    causal: bool = False,
) -> Count:
    """dS written: 4N·d + T_c·N(2d + 2) + T_r·N·d + ⌈d/grad_cols⌉·N² reads.

    T_c is ⌈N/block_cols⌉, T_r is ⌈N/grad_rows⌉; N² + 3N·d + N writes.

    >>> stored_backward(4, 2, 2, 2, 2)
    Count(reads=112, writes=44, peak=26)
    """
    _refuse_mask("stored_backward", causal)
    N, d, block_cols = sizes(N=N, d=d, block_cols=block_cols)
    grad_rows, grad_cols = sizes(grad_rows=grad_rows, grad_cols=grad_cols)
    cols, passing = minimum(block_cols, N), ceil_div(N, block_cols) * N * (2 * d + 2)
    columns = Count(
        reads=4 * N * d + passing,
        writes=N * N + 2 * N * d + N,
        peak=4 * cols * d + 2 * d + 2 * cols + 2,
    )
    return columns + matmul(N, N, d, grad_rows, grad_cols)


def four_pass_backward(
    N: Number,
    d: Number,
    block_rows: Number,
    block_cols: Number,
    grad_rows: Number,
    grad_cols: Number,
    *,
    causal: bool = False,
) -> Count:
    """P and dS written: 4N·d + N + (T_q + 2T_g)·N·d + T_c·N(d + 1) + (1 + 2⌈d/grad_cols⌉)·N² reads.

    T_q is ⌈N/block_rows⌉, T_c is ⌈N/block_cols⌉, T_g is ⌈N/grad_rows⌉; 2N² + 3N·d + N writes.

    >>> four_pass_backward(4, 2, 2, 2, 2, 2)
    Count(reads=156, writes=60, peak=15)
    """
    _refuse_mask("four_pass_backward", causal)
    N, d, block_rows, block_cols = sizes(N=N, d=d, block_rows=block_rows, block_cols=block_cols)
    grad_rows, grad_cols = sizes(grad_rows=grad_rows, grad_cols=grad_cols)
    rows, cols = minimum(block_rows, N), minimum(block_cols, N)
    weights = Count(  # and D before them, which holds less
        reads=3 * N * d + N + ceil_div(N, block_rows) * N * d,
        writes=N * N + N,
        peak=rows * (d + 2) + d,
    )
    changes = Count(
        reads=N * d + ceil_div(N, block_cols) * N * (d + 1) + N * N,
        writes=N * N + N * d,
        peak=2 * cols * (d + 1) + d + 1,
    )
    gradient = matmul(N, N, d, grad_rows, grad_cols)
    return weights + changes + gradient + gradient


def small_cache(
    N: Number,
    d: Number,
    tile: Number,
    inner: Number = 1,
    value_rows: Number | None = None,
    value_cols: Number | None = None,
    *,
    stable: bool = False,
    causal: bool = False,
) -> Count:
    """The small-cache algorithm: 3T·N·d + ⌈d/B⌉·N² + N reads, N² + N + N·d writes, T = ⌈N/B⌉.

    That is for square tiles of side B throughout; the tiles of O may have their own shape, under a
    causal mask only their own width.

    >>> small_cache(12, 4, 3, 3)
    Count(reads=876, writes=204, peak=30)
    """
    value_rows = tile if value_rows is None else value_rows
    value_cols = tile if value_cols is None else value_cols
    N, d, tile, inner = sizes(N=N, d=d, tile=tile, inner=inner)
    value_rows, value_cols = sizes(value_rows=value_rows, value_cols=value_cols)
    if causal and np.any(value_rows != tile):
        raise ValueError(f"value_rows must be the tile under a causal mask, got {value_rows}")
    entries = covered_entries(N, tile, causal=causal)
    statistics = 2 if stable else 1
    rows = covered_rows(N, tile, tile, causal=causal)
    columns = covered_columns(N, tile, tile, causal=causal)
    side, tall = minimum(tile, N), minimum(value_rows, N)
    peak = _product_peak(side, side, minimum(minimum(inner, side), d)) + statistics * side
    scores = Count(
        reads=(rows + columns) * d,
        writes=entries + statistics * N,
        peak=maximum(peak, side * side + 3 * side) if stable else peak,
    )
    values = Count(
        reads=covered_columns(N, value_rows, tile, causal=causal) * d
        + ceil_div(d, value_cols) * entries
        + statistics * N,
        writes=N * d,
        peak=_product_peak(tall, minimum(value_cols, d), minimum(inner, side)) + statistics * tall,
    )
    return scores + values


def streamed(
    N: Number,
    d: Number,
    block_rows: Number,
    *,
    value_cols: Number | None = None,
    **shape: Any,
) -> Count:
    """FlashAttention-2's order a key at a time, for any heads that `Heads` can describe.

    Stacked queries stay while keys pass, and each key is read ⌈n/block_rows⌉ times, n the queries
    that see it: for one plain head 2⌈N/block_rows⌉·N·d + N·d reads and N·d writes. A latent's key
    is its value too and is read once for both. ``value_cols`` below the width of the values makes
    a pass for each block of this many columns, with all scores computed again (not in a latent).

    >>> streamed(64, 4, 10)
    Count(reads=3840, writes=256, peak=110)
    >>> streamed(64, 4, 10, value_width=3, latent=True).total
    2240
    >>> streamed(64, 4, 10, window=10).total == Heads(64, 4, window=10).compulsory
    True
    """
    shaped = Heads(N, d, **shape)
    width = shaped.value_width
    wanted = width if value_cols is None else value_cols
    block_rows, wanted = sizes(block_rows=block_rows, value_cols=wanted)
    cols = width if shaped.latent else minimum(wanted, width)
    passes = ceil_div(width, cols)
    stacked = shaped.group * shaped.N
    rows, loads = minimum(block_rows, stacked), shaped.loads(block_rows)
    queries = shaped.heads * stacked
    entries = passes * d if shaped.latent else passes * d + width
    key = d if shaped.latent else d + cols
    return Count(
        reads=passes * queries * d + loads * entries,
        writes=queries * width,
        peak=rows * (d + cols + 2) + key + 2,
    )


def streamed_rows(
    d: Number, M: Number, *, value_width: Number | None = None, latent: bool = False
) -> Any:
    """The most queries that `streamed` can keep within M; below 1 not one fits.

    >>> streamed_rows(128, 131_072), streamed_rows(576, 116_736, value_width=512, latent=True)
    (507, 106)
    """
    width = d if value_width is None else value_width
    d, width, M = sizes(d=d, value_width=width, M=M)
    return (M - 2 - (d if latent else d + width)) // (d + width + 2)


def fused(
    N: Number,
    d: Number,
    tile_rows: Number,
    tile_cols: Number,
    inner: Number = 1,
    *,
    causal: bool = False,
) -> Count:
    """The fused small-cache variant (the book's own): (2T_c + 2T_r − 1)·N·d reads, T_c·N·d writes.

    >>> fused(12, 4, 3, 6)
    Count(reads=528, writes=96, peak=36)
    """
    N, d, inner = sizes(N=N, d=d, inner=inner)
    tile_rows, tile_cols = sizes(tile_rows=tile_rows, tile_cols=tile_cols)
    visits = covered_rows(N, tile_rows, tile_cols, causal=causal)
    columns = covered_columns(N, tile_rows, tile_cols, causal=causal)
    rows, cols, depth = minimum(tile_rows, N), minimum(tile_cols, N), minimum(inner, d)
    return Count(
        reads=(2 * visits + 2 * columns - N) * d,
        writes=visits * d,
        peak=_product_peak(rows, cols, depth) + 3 * rows,
    )


def _refuse_mask(algorithm: str, causal: bool) -> None:
    if causal:
        raise ValueError(f"causal must be False for {algorithm}, which has no masked form")


def _product_peak(rows: Number, cols: Number, depth: Number) -> Any:
    """A resident tile of a product and a slice of each factor."""
    return rows * cols + rows * depth + depth * cols
