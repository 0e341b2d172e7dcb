"""How well the memory that engines charge is predicted: weights, and tokens of the cache.

    python -m tools.bench.engines             # the starts that the book carries
    python -m tools.bench.engines ROWS.csv    # starts of one's own

A file has one row a start of an engine, and these columns, in any order; others are not looked at,
and what a log does not state stays empty:

    engine, version, model       vllm, sglang, llama.cpp, ik_llama.cpp or tensorrt-llm; a hub name
    weights_dtype, kv_dtype      as the log says: bfloat16, q8_0, "quantization=awq", auto
    device, tp, pp, ep_dp        a name; devices that share a layer; stages; "ep=16 dp=4 attention"
    memory_fraction              what the engine was told to take; max_model_len, block_size too
    max_num_seqs, max_num_batched_tokens   of vLLM; or as flags among the notes
    weights_gib_per_gpu, kv_gib_per_gpu, total_gpu_gib   GiB of one device
    kv_tokens, max_concurrency   tokens of the cache, and sequences of max_model_len
    kv_gib_total, file_gib, quote, buffers   llama.cpp's cache and file, and its lines

What is printed, by engine and by kind of cache: how many rows there were, the median error and the
90th percentile of the weights; of the tokens, where the bytes left for them are known; of the same
from device and settings alone; and of the sequences that fit. A rival stands beside each: exact
bytes, or for settings one share of the memory for all. Then the same with each version and each
publisher alone, since nothing was fitted that would have to be left out; what was refused, why; and
for which starts device and settings do not say what was left, why.
"""

from __future__ import annotations

import csv
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np

from costlib.measured.starts import Pair, Start, carried_starts, read_starts

QUESTIONS: dict[str, Callable[[Start], Pair | None]] = {
    "weights": Start.weights_pair,
    "tokens, bytes known": Start.tokens_pair,
    "tokens, settings alone": Start.settings_pair,
    "sequences": Start.sequences_pair,
}
MOST_BYTES = 50_000_000


def read(path: Path) -> list[Mapping[str, str]]:
    """The rows of a file."""
    if path.stat().st_size > MOST_BYTES:
        raise ValueError(f"{path} has more than {MOST_BYTES:,} bytes")
    with path.open(encoding="utf-8", newline="") as file:
        reader = csv.DictReader(file)
        rows: list[Mapping[str, str]] = list(reader)
    missing = {"engine", "model"} - {*(reader.fieldnames or ())}
    if missing:
        raise ValueError(f"{path} has no column {', '.join(sorted(missing))}: see --help")
    return rows


def told(pairs: Sequence[Pair]) -> str:
    """The errors of some pairs, and their rival's median."""
    if not pairs:
        return "–"
    errors, rivals = ([abs(e) for e in each] for each in _errors(pairs))
    middle, far = np.median(errors), np.quantile(errors, 0.9)
    return f"{len(pairs)}: {middle:.1%} ({far:.1%}); {np.median(rivals):.0%}"


def _errors(pairs: Sequence[Pair]) -> tuple[list[float], list[float]]:
    return [pair.error for pair in pairs], [pair.rival_error for pair in pairs]


def table(groups: Mapping[str, Sequence[Start]]) -> list[str]:
    """A line for each group: rows, median error (90th percentile); the rival's median."""
    head = f"| starts | {' | '.join(QUESTIONS)} |"
    lines = [head, "|---" * (len(QUESTIONS) + 1) + "|"]
    for name, starts in groups.items():
        cells = []
        for ask in QUESTIONS.values():
            pairs = [pair for start in starts if (pair := ask(start)) is not None]
            cells.append(told(pairs))
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return lines


def grouped(starts: Iterable[Start], name: Callable[[Start], str]) -> dict[str, list[Start]]:
    """Starts by a name, sorted by it."""
    found: dict[str, list[Start]] = {}
    for start in starts:
        found.setdefault(name(start), []).append(start)
    return dict(sorted(found.items()))


def reasons(whys: Iterable[str]) -> list[str]:
    """A line for each reason, the most frequent first."""
    return [f"{many:>4}  {why}" for why, many in Counter(whys).most_common()]


def publisher(start: Start) -> str:
    """Whose log it was."""
    return start.row.get("source", "").partition("/")[0] or "not said"


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the tables: the exit code."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    if given[:1] in (["--help"], ["-h"]):
        print(__doc__)
        return 0
    try:
        rows = read(Path(given[0])) if given else list(carried_starts())
    except (OSError, ValueError, csv.Error) as problem:
        print(f"bench-engines: {problem}", file=sys.stderr)
        return 2
    starts, refused = read_starts(rows)
    print("rows: median error (90th percentile); the rival's median\n")
    by_kind = grouped(starts, lambda start: f"{start.engine.name}, {start.kind}")
    print("\n".join(table({**by_kind, "all": starts})))
    for title, name in (("version", version), ("publisher", publisher)):
        print(f"\n{len(starts)} starts, each {title} alone\n")
        print("\n".join(table(grouped(starts, name))))
    print(f"\n{len(refused)} of {len(rows)} rows are refused")
    print("\n".join(reasons(why for _, why in refused)))
    unsettled = [start.unsettled for start in starts if start.unsettled]
    print(f"\n{len(unsettled)} of {len(starts)} starts are not predicted from settings alone")
    print("\n".join(reasons(unsettled)))
    return 0


def version(start: Start) -> str:
    """An engine and its version."""
    return f"{start.engine.name} {start.row['version'] or 'not said'}"[:40]


if __name__ == "__main__":
    raise SystemExit(main())
