"""io_counts.json: entries moved by attention and matmul algorithms, one tile at a time.

No values: a tile is its size. What is read comes to the fast memory and stays until it is dropped;
what is written goes from there. `peak` is the most entries that were there at once.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

FILE = Path(__file__).parent.parent / "io_counts.json"


class Memory:
    """Entries read, entries written, entries held now and at most."""

    def __init__(self) -> None:
        self.reads = self.writes = self.held = self.peak = 0

    @contextmanager
    def holding(self, entries: int, read: bool = False, write: bool = False) -> Iterator[None]:
        """Room for so many entries, filled from below or not, written back at the end or not."""
        self.reads += entries * read
        self.held += entries
        self.peak = max(self.peak, self.held)
        yield
        self.writes += entries * write
        self.held -= entries

    def reading(self, entries: int) -> Any:
        return self.holding(entries, read=True)


def blocks(length: int, size: int) -> list[range]:
    """The indices 0 to length, in blocks of at most `size`."""
    return [range(start, min(start + size, length)) for start in range(0, length, size)]


def product(memory: Memory, m: int, n: int, k: int, tile: tuple[int, int, int]) -> None:
    """An m×k by a k×n matrix: a tile of the result stays, slices of the two others pass by."""
    for rows in blocks(m, tile[0]):
        for columns in blocks(n, tile[1]):
            with memory.holding(len(rows) * len(columns), write=True):
                for inner in blocks(k, tile[2]):
                    left, right = len(rows) * len(inner), len(inner) * len(columns)
                    with memory.reading(left), memory.reading(right):
                        pass


def softmax(memory: Memory, size: int, way: str) -> None:
    """Each row of scores becomes weights: over the row in memory, or in two or three passes."""
    for _ in range(size):
        if way == "row":
            with memory.holding(size, read=True, write=True), memory.holding(2):
                continue
        # Maximum and sum in one pass, which needs the new maximum beside the old; or in turn.
        passes, statistics = {"2pass": (1, 3), "3pass": (2, 2)}[way]
        for _ in range(passes):
            with memory.holding(statistics):
                for _ in range(size):
                    with memory.reading(1):
                        pass
        with memory.holding(2):
            for _ in range(size):
                with memory.holding(1, read=True, write=True):
                    pass


def naive(memory: Memory, row: dict[str, Any], tile: int, inner: int) -> None:
    """Scores written whole, softmax over them, then their product with the values."""
    size, width = row["N"], row["d"]
    product(memory, size, size, width, (tile, tile, inner))
    softmax(memory, size, row["softmax"])
    product(memory, size, width, size, (tile, tile, inner))


def naive_by_row(memory: Memory, row: dict[str, Any]) -> None:
    """A query's row at a time."""
    size, width = row["N"], row["d"]
    for _ in range(size):
        with memory.reading(width):
            for _ in range(size):
                with memory.reading(width), memory.holding(1, write=True):
                    pass
    softmax(memory, size, "row")
    for _ in range(size):
        with memory.holding(width, write=True):
            for _ in range(size):
                with memory.reading(1), memory.reading(width):
                    pass


def seen(row: dict[str, Any], queries: range, keys: range) -> bool:
    """Whether any pair of a tile is left by the mask."""
    return not row["causal"] or queries[-1] >= keys[0]


def flash_1(memory: Memory, row: dict[str, Any]) -> None:
    """Keys outside: the output and its statistics come and go with every block of queries."""
    size, width, lazy = row["N"], row["d"], row.get("lazy_init", False)
    if not lazy:
        memory.writes += size * (width + 2)
    for number, keys in enumerate(blocks(size, row["Bc"])):
        with memory.reading(2 * len(keys) * width):
            for queries in blocks(size, row["Br"]):
                if not seen(row, queries, keys):
                    continue
                rows, first = len(queries), lazy and number == 0
                with (
                    memory.reading(rows * width),
                    memory.holding(rows * (width + 2), read=not first, write=True),
                    memory.holding(rows * len(keys)),  # scores, then weights
                    memory.holding(4 * rows),  # the tile's statistics, and the new ones
                ):
                    pass


def flash_2(memory: Memory, row: dict[str, Any]) -> None:
    """Queries outside: the output is written once, keys and values come for every block."""
    size, width = row["N"], row["d"]
    for queries in blocks(size, row["Br"]):
        rows = len(queries)
        with (
            memory.reading(rows * width),
            memory.holding(rows * width, write=True),
            memory.holding(4 * rows),
        ):
            for keys in blocks(size, row["Bc"]):
                if seen(row, queries, keys):
                    pair(memory, rows, len(keys), width, row["lean"])
            memory.writes += rows * row["write_lse"]


def pair(memory: Memory, rows: int, keys: int, width: int, lean: bool) -> None:
    """One tile: keys and values together, or the values in the keys' place."""
    with memory.holding(rows * keys):
        with memory.reading(keys * width):
            if not lean:
                with memory.reading(keys * width):
                    return
        with memory.reading(keys * width):
            pass


def square_tiles(memory: Memory, row: dict[str, Any]) -> None:
    """Saha and Ye's algorithm for a small cache: exponentials written tile by tile."""
    size, width, tile, inner = row["N"], row["d"], row["B"], row["bk"]
    kept = 2 if row["stable"] else 1  # the sum of each row, and its maximum
    for queries in blocks(size, tile):
        with memory.holding(kept * len(queries), write=True):
            product(memory, len(queries), size, width, (tile, tile, inner))
    for queries in blocks(size, tile):
        with memory.reading(kept * len(queries)):
            product(memory, len(queries), width, size, (tile, tile, inner))


def scores_stay(memory: Memory, row: dict[str, Any]) -> None:
    """A tile of scores stays while columns pass: nothing of size N² is ever written."""
    size, width = row["N"], row["d"]
    for queries in blocks(size, row["br"]):
        rows = len(queries)
        with memory.holding(2 * rows):
            for number, keys in enumerate(blocks(size, row["bc"])):
                with memory.holding(rows * len(keys)):
                    for _ in range(width):
                        with memory.reading(rows), memory.reading(len(keys)):
                            pass
                    with memory.holding(rows):  # by how much the old output shrinks
                        for _ in range(width):
                            old = memory.holding(rows, read=number > 0, write=True)
                            with old, memory.reading(len(keys)):
                                pass


ALGORITHMS = {
    "naive_scalar": lambda memory, row: naive(memory, row, 1, 1),
    "naive_tiled": lambda memory, row: naive(memory, row, row["b"], row["bk"]),
    "naive_row": naive_by_row,
    "fa1": flash_1,
    "fa1_paper_blocks": flash_1,
    "fa2": flash_2,
    "squaretile_paper_B": square_tiles,
    "squaretile_bk1": square_tiles,
    "s_stationary_fused": scores_stay,
    "matmul_scalar": lambda memory, row: product(memory, row["m"], row["n"], row["k"], (1, 1, 1)),
    "matmul_tiled": lambda memory, row: product(
        memory, row["m"], row["n"], row["k"], (row["bm"], row["bn"], row["bk"])
    ),
}


def counted(row: dict[str, Any]) -> dict[str, int]:
    """Reads, writes and peak of one row's algorithm at its sizes."""
    memory = Memory()
    ALGORITHMS[row["algorithm"]](memory, row)
    found = {"reads": memory.reads, "writes": memory.writes, "peak": memory.peak}
    return found | ({"total": memory.reads + memory.writes} if "total" in row else {})


def make(_: list[str]) -> None:
    """Count every row of the file again."""
    held = json.loads(FILE.read_text("utf-8"))
    for part in ("attention", "matmul"):
        for row in held[part]:
            row.update(counted(row))
    FILE.write_text(written(held), encoding="utf-8")


def written(held: dict[str, Any]) -> str:
    """The file: a row a line."""
    parts = []
    for name, value in held.items():
        text = json.dumps(value, indent=1).replace("\n", "\n ")
        if isinstance(value, list):
            text = "[\n  " + ",\n  ".join(json.dumps(row) for row in value) + "\n ]"
        parts.append(f" {json.dumps(name)}: {text}")
    return "{\n" + ",\n".join(parts) + "\n}\n"
