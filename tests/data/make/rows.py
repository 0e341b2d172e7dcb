"""families.json: one row a model, counted by counting.py from the row's own config."""

import json
from pathlib import Path
from typing import Any

import counting
import torch
import transformers

FILE = Path(__file__).parent.parent / "families.json"
LARGE = 10**8  # parameters; a smaller model may be run for real, where `meta` will not do
Case = tuple[int, ...]  # sequences, new tokens, tokens before them; and those of an encoder


def cases(model: Any, params: int) -> list[Case]:
    """The passes that are counted for a new row."""
    if counting.is_encoder_decoder(model):
        return [(1, 24, 0, 33), (2, 40, 0, 49), (1, 1, 7, 29), (2, 1, 150, 29)]
    if not counting.can_cache(model):
        return [(1, 24, 0), (2, 40, 0), (3, 130, 0)]
    if params > LARGE:
        return [(1, 256, 0), (1, 1, 1280)]
    return [(1, 24, 0), (2, 40, 0), (3, 130, 0), (1, 1, 7), (2, 1, 150), (1, 5, 37)]


def row(name: str, source: str, config: dict, wanted: list[Case] | None = None) -> dict:
    """Everything that is counted about one model."""
    model = counting.build(config)
    params, left_out = counting.language_params(model)
    wanted = wanted or cases(model, params)
    try:
        counted = counts(model, params, wanted)
    except (RuntimeError, NotImplementedError):  # it looks at values, and `meta` has none
        if params > LARGE:
            raise
        counted = counts(counting.build(config, "cpu", "eager"), params, wanted)
    made = {"name": name, "source": source, "params": params, **counted, "config": config}
    return made | ({"left_out": left_out} if left_out else {})


def counts(model: Any, params: int, wanted: list[Case]) -> dict:
    """What running the model tells: FLOPs of each pass, routed experts, the cache."""
    passes = {case: counting.count(model, *case) for case in wanted}
    held, used = counting.routed_params(model, next(iter(passes.values())))
    flops = [
        {"case": case, "total": counter.get_total_flops(), **sorted_counts(counter.kinds)}
        for case, counter in passes.items()
    ]
    lengths = (1024, 2048) if params > LARGE else (128, 256)
    counted = {"active": params - held + used, "cache": counting.cache(model, lengths)}
    return {**counted, "flops": flops, **training(model, params, flops)}


def training(model: Any, params: int, flops: list[dict]) -> dict:
    """A training step of a small model, but for those whose count would be of something else.

    torch takes the gradient of a convolution of single channels for that of a dense one; an indexer
    is not trained with the rest.
    """
    if params > LARGE or {"conv", "indexer"} & set().union(*flops):
        return {}
    case = (2, 24, 0, 33) if counting.is_encoder_decoder(model) else (2, 24, 0)
    batch, new, _, *encoder = case
    return {"training": {"case": case, "total": counting.training(model, batch, new, *encoder)}}


def sorted_counts(kinds: dict[str, int]) -> dict[str, int]:
    return {kind: kinds[kind] for kind in sorted(kinds)}


def write(rows: list[dict]) -> None:
    """One row a line, so that a change of one model is a change of one line."""
    made_with = {"transformers": transformers.__version__, "torch": torch.__version__}
    lines = ",\n".join(json.dumps(each) for each in sorted(rows, key=lambda each: each["name"]))
    text = f'{{"made_with": {json.dumps(made_with)},\n"rows": [\n{lines}\n]}}\n'
    FILE.write_text(text, encoding="utf-8")


def make(names: list[str]) -> None:
    """Count the named models again, or all of them; a name that is a file is a new one's config."""
    rows = {each["name"]: each for each in json.loads(FILE.read_text("utf-8"))["rows"]}
    for name in names or sorted(rows):
        print(name, flush=True)
        made = counted(name, rows.get(name))
        rows[made["name"]] = made
    write(list(rows.values()))


def counted(name: str, old: dict | None) -> dict:
    """The row of a config in a file, or of a row that is there."""
    if name.endswith(".json"):
        config = json.loads(Path(name).read_text("utf-8"))
        return row(Path(name).stem, config.pop("source", "a config given by hand"), config)
    if old is None:
        raise SystemExit(f"no row {name!r}: a new model is a file NAME.json")
    wanted = [tuple(each["case"]) for each in old["flops"]]
    return row(name, old["source"], old["config"], wanted)
