"""Closed forms, which runs equal elsewhere, against counts by an independent simulator."""

import json

import numpy as np
import pytest

from costlib.iomodel import bounds, counts
from paths import DATA
from schedules import matmul

ORACLE = json.loads((DATA / "io_counts.json").read_text("utf-8"))
#: The rows of the algorithms that the library has; it has none for a query row at a time.
ROWS = [row for row in ORACLE["attention"] if row["algorithm"] != "naive_row"]


def translated(row):
    """The oracle's name and fields as ours: algorithm, block sizes, options."""
    name = row["algorithm"]
    if name == "naive_scalar":
        form = {"3pass": "three-pass", "2pass": "online"}[row["softmax"]]
        return "naive", {"tile": 1, "inner": 1}, {"softmax": form}
    if name == "naive_tiled":
        form = {"2pass": "online"}.get(row["softmax"], row["softmax"])
        return "naive", {"tile": row["b"], "inner": row["bk"]}, {"softmax": form}
    blocks = {"block_rows": row.get("Br"), "block_cols": row.get("Bc")}
    if name.startswith("fa1"):
        return "flash", blocks, {"lazy_init": row.get("lazy_init", False)}
    if name == "fa2":
        return "flash2", blocks, {"lean": row["lean"], "log_sum_exp": row["write_lse"]}
    if name.startswith("squaretile"):
        return "small_cache", {"tile": row["B"], "inner": row["bk"]}, {"stable": row["stable"]}
    assert name == "s_stationary_fused"
    return "fused", {"tile_rows": row["br"], "tile_cols": row["bc"]}, {}


def test_closed_forms_equal_every_attention_row():
    for row in ROWS:
        name, blocks, options = translated(row)
        count = getattr(counts, name)(row["N"], row["d"], **blocks, **options, causal=row["causal"])
        found = (count.reads, count.writes, count.total, count.peak)
        assert found == (row["reads"], row["writes"], row["total"], row["peak"]), row


def test_matmul_rows():
    for row in ORACLE["matmul"]:
        m, k, n = row["m"], row["k"], row["n"]
        tile = (row.get("bm", 1), row.get("bn", 1), row.get("bk", 1))
        count = counts.matmul(m, k, n, *tile)
        assert (count.reads, count.writes, count.peak) == (
            row["reads"],
            row["writes"],
            row["peak"],
        ), row
        A, B = np.random.default_rng(m).normal(size=(m, k)), np.ones((k, n))
        names = ("tile_rows", "tile_cols", "inner")
        run = matmul(A, B, row["M"], **dict(zip(names, tile, strict=True)))
        assert (run.reads, run.writes, run.peak) == (count.reads, count.writes, count.peak)
        np.testing.assert_allclose(run.output, A @ B, rtol=1e-12, atol=1e-12)
        if "lb_smith" in row:
            assert bounds.matmul(m, k, n, row["M"]) == pytest.approx(row["lb_smith"], rel=1e-14)
