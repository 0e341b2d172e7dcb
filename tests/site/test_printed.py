"""costlib printed as JavaScript: the page's answers are the library's, and so are its refusals.

Whatever is asked, the page's own modules are asked in the packaged node, and costlib beside them.
"""

from __future__ import annotations

import functools
import json
import math
import random
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest

import costlib
import sampling
from costlib import Precision, Transformer
from costlib.precision import FORMATS, RECIPES
from odd_configs import MUTANTS, ROWS, changed, mutant
from paths import DATA, ROOT
from tools.site.page_weight import packaged_node

HERE = ROOT / "book" / "_static" / "explorers"
EXACT = 2**53
Case = dict[str, Any]

ASK = """
const page = await import(process.argv[1]);
let text = "";
for await (const part of process.stdin) text += part;
const options = ({ precision, ...rest }) => {
  if (precision === undefined || typeof precision === "string") return { precision, ...rest };
  return { precision: page.changed(page.precisionOf(null), precision), ...rest };
};
const asked = ({ model, device, given }) => {
  try {
    const { rows } = page.answer(page.modelOf(model), device, options(given));
    return rows.map((row) => Object.values(row));
  } catch (error) {
    return [error.name, error.message];
  }
};
const shown = (_, value) => (value === Infinity ? "Infinity" : value);
console.log(JSON.stringify(JSON.parse(text).map(asked), shown));
"""


def in_page(cases: list[Case]) -> list[Any]:
    """What the page answers to each case."""
    done = subprocess.run(
        [str(packaged_node()), "--input-type=module", "-e", ASK, (HERE / "costlib.js").as_uri()],
        input=json.dumps(cases),
        capture_output=True,
        text=True,
        encoding="utf-8",
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def in_library(case: Case) -> list[Any]:
    """What costlib answers: its rows, or the error's class and its words."""
    given = dict(case["given"])
    try:
        if isinstance(given.get("precision"), dict):
            given["precision"] = Precision(**given["precision"])
        is_text = case["model"].lstrip("\ufeff \t\r\n")[:1] in ("{", "[")
        model = Transformer.from_hf(case["model"]) if is_text else costlib.models[case["model"]]
        rows = costlib.answer(model, case["device"], **given)
    except Exception as error:
        return [type(error).__name__, str(error)]
    return [[r.key, r.name, r.value, r.unit, r.why, r.where, r.shown] for r in rows]


def same(page: Any, library: Any) -> bool:
    """Equal: texts to the letter, numbers to 1 part in 10¹², whole ones below 2⁵³ exactly."""
    if isinstance(library, list):
        return len(page) == len(library) and all(map(same, page, library))
    if isinstance(library, (str, bool)) or library is None:
        return page == library and type(page) is type(library)
    if library == math.inf:
        return page == "Infinity"
    if isinstance(library, int) and abs(library) < EXACT:
        return page == library
    return math.isclose(page, library, rel_tol=1e-12)


# ---------------------------------------------------------------- what is asked


def options(dice: random.Random) -> Case:
    """Options of `answer`, some of them out of range."""
    given: Case = {
        "batch": dice.choice([1, 2, 7, 64, 513]),
        "context": dice.choice([1, 1000, 8192]),
    }
    given |= {"precision": dice.choice([None, *RECIPES, "own"])}
    if given["precision"] == "own":
        given["precision"] = {kind: dice.choice([*FORMATS]) for kind in ("weights", "kv")}
        given["precision"]["activations"] = dice.choice([1, 2, 0.5625, "fp8"])
    if given["precision"] is None:
        del given["precision"]
    for axis in ("tensor", "pipeline", "data", "expert"):
        if dice.random() < 0.2:
            given[axis] = dice.choice([2, 3, 4, 8])
    if dice.random() < 0.4:
        given |= {"price_per_hour": dice.choice([2.5, 3.99, 0]), "prompt": dice.choice([1, 777])}
    if dice.random() < 0.2:
        given |= {"watts": dice.choice([700, 412.5])}
    return given | ({"batch": dice.choice([0, 2.5, -1])} if dice.random() < 0.02 else {})


#: A pod of thousands takes seconds to be cut.
NODES = [name for name, node in costlib.nodes.items() if node.devices <= 72]


def case(model: str, dice: random.Random) -> Case:
    device = dice.choice(["H100-SXM", "H200x16", "DGX-H100x2", *costlib.devices, *NODES])
    return {"model": model, "device": device, "given": options(dice)}


def of_catalogue() -> Iterator[Case]:
    dice = random.Random("catalogue")
    for name in costlib.models:
        yield {"model": name, "device": "H100-SXM", "given": {"batch": 8, "context": 8192}}
        yield from (case(name, dice) for _ in range(3))


def of_configs() -> Iterator[Case]:
    """Configs that people published, and small ones of every family: as they are, and changed."""
    dice = random.Random("configs")
    for path in sorted((DATA / "configs").glob("*.json")):
        yield case(path.read_text("utf-8"), dice)
    yield from (case(json.dumps(row["config"]), dice) for row in ROWS)
    yield from (case(json.dumps(mutant(row)), dice) for row in MUTANTS)


def of_wild_configs() -> Iterator[Case]:
    dice = random.Random("wild")
    for row in ROWS:
        for _ in range(12):
            yield case(json.dumps(changed(row["config"], dice)), dice)


BROKEN = (
    '{"model_type": "llama"',
    '{"model_type": "llama",}',
    '{"model_type" "llama"}',
    '{"a": [1, 2,, 3]}',
    '{"a": "\\q"}',
    '{"a": "\\u12x4"}',
    '{"a": "b\nc"}',
    '{"a": tru}',
    '{"a": 1} {}',
    '{\n  "a": 1\n  "b": 2\n}',
    '{"é🙂": 1,\n "b" 2}',
    '{"a": 1, "a": 2}',
    '{"a": -}',
    '{"a": 01}',
    '["model_type"]',
    "[" * 100_000,
    '{"a": ' * 5_000,
    '{"model_type": 7}',
    '{"model_type": "lama"}',
    '{"model_type": "\\u00e9\\ud83d\\ude42"}',
    '{"model_type": "gpt2", "n_embd": ' + "9" * 5000 + "}",
    '{"model_type": "gpt2", "n_embd": 1.0}',
    '{"model_type": "gpt2", "n_embd": 1e5, "vocab_size": [1e16, 1e-5, 0.1, 1e400]}',
    '{"model_type": "gpt2", "vocab_size": ["it\'s", "\\"", "it\'s \\"", "\\n\\u0007\\u2028"]}',
    '{"model_type": "gpt2", "vocab_size": {"a": [null, true, NaN, -Infinity]}}',
    "\ufeff{}",
    "{",
    '{"',
    '{"a":',
    '{"a": 1',
    "{1: 2}",
    '{"a": "\\',
)
NAMES = ("llama", "qwen3", "lama-3.1-8b", "", "deepseek v3", "no such thing", "Llama 3.1 8B")


def of_slips() -> Iterator[Case]:
    dice = random.Random("slips")
    yield from (case(text, dice) for text in (*BROKEN, *NAMES))
    for device in ("H10", "h100 sxm", "A100", "toaster", "", "H100-SXMx0", "DGX-H100x3", "DGX"):
        yield {"model": "gpt2", "device": device, "given": {"data": 2}}
    for given in ({"precision": "fp9"}, {"precision": {"kv": "fp9"}}, {"price_per_hour": -1}):
        yield {"model": "gpt2", "device": "T4", "given": given}
    for given in ({"batch": 0}, {"context": 2.5}, {"batch": 1e13}, {"tensor": 5}, {"batch": "8"}):
        yield {"model": "llama-3.1-8b", "device": "T4", "given": given}


KINDS = {
    "catalogue": (of_catalogue, 50),
    "configs": (of_configs, 50),
    "wild configs": (of_wild_configs, 60),
    "slips": (of_slips, 100),
}


@functools.cache
def answered() -> dict[str, list[tuple[Case, Any]]]:
    """The cases that are drawn, with the page's answers: one process for all of them."""
    drawn = {
        kind: sampling.some(list(made()), few, f"printed {kind}")
        for kind, (made, few) in KINDS.items()
    }
    found = iter(in_page([each for cases in drawn.values() for each in cases]))
    return {kind: [(each, next(found)) for each in cases] for kind, cases in drawn.items()}


@pytest.mark.parametrize("kind", KINDS)
def test_the_page_answers_what_the_library_does(kind: str) -> None:
    wrong = []
    for each, page in answered()[kind]:
        library = in_library(each)
        if not same(page, library):
            wrong.append((each, page, library))
    assert not wrong, wrong[:3]
