"""mutants.json: small configs with one field changed, as the library's code takes them.

A reader of configs that is right for what is published can be wrong for what comes next. Each field
of a row of families.json is doubled, halved, flipped, turned round or left out, one at a time, and
what transformers makes of it is counted; what it cannot build or run is left out.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import counting

DATA = Path(__file__).parent.parent
FILE = DATA / "mutants.json"
SMALL = 3_000_000  # parameters of what is changed: counted in a moment

# What no cost depends on, and sizes that only make room.
IDLE = re.compile(
    r"_id$|_ids$|_index$|dropout|drop$|eps|epsilon|initializer|output_|use_cache|_version|dtype|rope"
    r"|theta|^architectures$|model_type|scal|_std|softcap|coef|penalty|max_|gradient|problem|return"
    r"|^is_|pruned|torchscript|prefix|suffix|^id2label|^label2id|summary|classifier_dropout|_limit"
    r"|norm_topk|topk_method|temperature|multiplier|chunk_size_feed|bias_init|alpha|kernels|seed"
)
INSIDE = "text_config"


def make(names: list[str]) -> None:
    """Change each field of the named rows, or of those whose mutants are in the file."""
    bases = {r["name"]: r for r in json.loads((DATA / "families.json").read_text("utf-8"))["rows"]}
    held = json.loads(FILE.read_text("utf-8"))["rows"] if FILE.exists() else []
    wanted = names or sorted({row["base"] for row in held})
    rows = [row for row in held if row["base"] not in wanted]
    for name in wanted:
        found = list(mutants(bases[name]))
        print(name, len(found), flush=True)
        rows += found
    lines = ",\n".join(json.dumps(row) for row in sorted(rows, key=lambda row: row["base"]))
    FILE.write_text(f'{{"rows": [\n{lines}\n]}}\n', encoding="utf-8")


def mutants(base: dict) -> Iterator[dict]:
    """The rows of one base: what was changed, and what came of it."""
    config = base["config"]
    inside = INSIDE if INSIDE in config else None
    fields = config[inside] if inside else config
    case = (1, 24, 0, *base["flops"][0]["case"][3:])
    for name in sorted(fields):
        if IDLE.search(name):
            continue
        for change in changes(name, fields[name]):
            changed = {k: v for k, v in {**fields, **change}.items() if v is not ...}
            whole = {**config, inside: changed} if inside else changed
            counted = count(whole, case)
            if counted:
                shown = {k: None if v is ... else v for k, v in change.items()}
                gone = {"without": [name]} if ... in change.values() else {"with": shown}
                yield {"base": base["name"], **gone, **counted}


def changes(name: str, value: Any) -> Iterator[dict[str, Any]]:
    """Other values of a field; `...` is none at all."""
    yield {name: ...}
    if type(value) is bool:
        yield {name: not value}
    elif type(value) is int and value > 0:
        yield {name: 2 * value}
        if value % 2 == 0:
            yield {name: value // 2}
    elif isinstance(value, list) and value != value[::-1]:
        yield {name: value[::-1]}
    elif value is None:
        yield {name: True}
        yield {name: 4}


def count(config: dict, case: tuple[int, ...]) -> dict[str, Any] | None:
    """Parameters, those that a token uses, and the FLOPs of a pass; None if there is no such model.

    What cannot be counted without values is run with them, if it has no towers.
    """
    try:
        model = counting.build(config)
        params, towers = counting.language_params(model)
        if params > 20 * SMALL:
            return None
        try:
            counter = counting.count(model, *case)
        except (RuntimeError, NotImplementedError):
            if towers:
                return None
            model = counting.build(config, "cpu", "eager")
            counter = counting.count(model, *case)
    except Exception:  # whatever its code stops with
        return None
    held, used = counting.routed_params(model, counter)
    total = counter.get_total_flops()
    return {"params": params, "active": params - held + used, "case": case, "total": total}
