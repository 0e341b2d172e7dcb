"""Two kernels whose tiles are known, in Triton: attention by blocks of queries, a product by tiles.

`measure_gpu.py` runs them, so that the bytes which cross from the L2 cache to the cores can be
counted and held against what tiles of that size must read. They are as plain as they can be: each
block reads what it needs, and nothing is kept from one block to the next.
"""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl

# mypy: disable-error-code="no-untyped-def, untyped-decorator, misc, no-any-unimported"


@triton.jit
def _attend(q, k, v, out, length, scale, D: tl.constexpr, ROWS: tl.constexpr, KEYS: tl.constexpr):
    """One block of queries of one head: all keys and values pass by, ``KEYS`` at a time."""
    head = tl.program_id(1).to(tl.int64) * length * D
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    column, key = tl.arange(0, D), tl.arange(0, KEYS)
    queries = tl.load(q + head + row[:, None] * D + column[None, :])
    top = tl.full((ROWS,), float("-inf"), tl.float32)
    total = tl.zeros((ROWS,), tl.float32)
    sums = tl.zeros((ROWS, D), tl.float32)
    for start in range(0, length, KEYS):
        place = head + (start + key)[:, None] * D + column[None, :]
        scores = tl.dot(queries, tl.trans(tl.load(k + place))) * scale
        new = tl.maximum(top, tl.max(scores, 1))
        weights, old = tl.exp(scores - new[:, None]), tl.exp(top - new)
        total = total * old + tl.sum(weights, 1)
        values = tl.load(v + place)
        sums = sums * old[:, None] + tl.dot(weights.to(values.dtype), values)
        top = new
    place = head + row[:, None] * D + column[None, :]
    tl.store(out + place, (sums / total[:, None]).to(out.dtype.element_ty))


@triton.jit
def _multiply(a, b, out, k, n, TILE: tl.constexpr, STEP: tl.constexpr):
    """One square tile of a product: a row of tiles of ``a`` meets a column of tiles of ``b``."""
    row = tl.program_id(1) * TILE + tl.arange(0, TILE)
    column, inner = tl.program_id(0) * TILE + tl.arange(0, TILE), tl.arange(0, STEP)
    sums = tl.zeros((TILE, TILE), tl.float32)
    for start in range(0, k, STEP):
        left = tl.load(a + row[:, None].to(tl.int64) * k + (start + inner)[None, :])
        right = tl.load(b + (start + inner)[:, None].to(tl.int64) * n + column[None, :])
        sums += tl.dot(left, right)
    tl.store(out + row[:, None].to(tl.int64) * n + column[None, :], sums.to(out.dtype.element_ty))


def attend(q: Any, k: Any, v: Any, rows: int, keys: int = 64) -> Any:
    """Attention without a mask, ``rows`` queries to a block; the length in whole blocks."""
    batch, heads, length, d = q.shape
    assert length % max(rows, keys) == 0, "whole blocks of powers of two only"
    out = torch.empty_like(q)
    grid = (length // rows, batch * heads)
    _attend[grid](q, k, v, out, length, d**-0.5, d, rows, keys, num_warps=8 if rows > 64 else 4)
    return out


def multiply(a: Any, b: Any, tile: int, step: int = 64) -> Any:
    """A product in square tiles of the result; the sizes are multiples of the tile."""
    (m, k), n = a.shape, b.shape[1]
    assert (m % tile, n % tile, k % step) == (0, 0, 0), "whole tiles only"
    out = torch.empty(m, n, dtype=a.dtype, device=a.device)
    grid = (n // tile, m // tile)
    _multiply[grid](a, b, out, k, n, tile, step, num_warps=8 if tile > 64 else 4)
    return out
