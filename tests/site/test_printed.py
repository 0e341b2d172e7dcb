"""costlib printed as JavaScript: the page's answers are the library's, and so are its refusals.

Whatever is asked, the page's own modules are asked in the packaged node, and costlib beside them.
"""

from __future__ import annotations

import functools
import json
import random
import shutil
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import costlib
import sampling
from costlib import Precision, Transformer
from costlib.serving.server import BeyondTraining
from costlib.units.precision import FORMATS, RECIPES
from in_node import HERE, answers, same
from odd_configs import MUTANTS, ROWS, changed, mutant
from paths import DATA, TESTS
from printed.said import CASES
from tools.pages import translate
from tools.pages.translate import names

Case = dict[str, Any]

#: What the page answers: its rows, or the error's class and its words.
ASK = """(({ model, device, given: { precision, ...rest } }) => {
  const own = precision !== undefined && typeof precision !== 'string';
  try {
    const options = own
      ? { precision: page.changed(page.precisionOf(null), precision), ...rest }
      : { precision, ...rest };
    const read = /^\\s*[{[]/.test(model) ? page.modelIn(model) : page.modelOf(model);
    return page.answer(read, device, options).rows.map((row) => Object.values(row));
  } catch (error) {
    return [error.name, error.message];
  }
})(state)"""


def in_page(cases: list[Case], folder: Path = HERE) -> list[Any]:
    """What the page answers to each case."""
    return answers(folder, {"page": "costlib.js"}, ASK, cases)


def in_library(case: Case) -> list[Any]:
    """What costlib answers: its rows, or the error's class and its words."""
    given = dict(case["given"])
    try:
        if isinstance(given.get("precision"), dict):
            given["precision"] = Precision(**given["precision"])
        is_text = case["model"].lstrip("\ufeff \t\r\n")[:1] in ("{", "[")
        model = Transformer.from_hf(case["model"]) if is_text else costlib.models[case["model"]]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", BeyondTraining)  # which a page does not say
            rows = costlib.answer(model, case["device"], **given)
    except Exception as error:
        return [type(error).__name__, str(error)]
    return [[r.key, r.name, r.value, r.unit, r.why, r.where, r.shown] for r in rows]


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
    '{"a": [1, 2 ,\n ]}',
    '{"a": {"b": 3,  } }',
    '{"a": ' + "[" * 501 + "]" * 501 + "}",
    '{"a": ' + '{"a": ' * 499 + "0" + "}" * 500,
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
    for named in ("re:((a)+.)+!", "re:.*.*.*.*!", "re:(", "re:(.|.)" + "(.|.)" * 30, "a*b*c*d!"):
        packed = {"quant_method": "fp8", "modules_to_not_convert": [named]}
        yield case(json.dumps(ROWS[0]["config"] | {"quantization_config": packed}), dice)
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


@pytest.mark.parametrize("right", ["MULTIPLY_ADD = 2;", "RESERVE = 0.1;"])
def test_a_changed_factor_is_seen(right: str, tmp_path: Path) -> None:
    """Where the page's formula is not the library's any more, so are answers."""
    folder = shutil.copytree(HERE, tmp_path / "explorers")
    printed = folder / "generated" / "costlib.js"
    text = printed.read_text("utf-8")
    assert text.count(right) == 1
    printed.write_text(text.replace(right, right.replace(";", " * 1.001;")), "utf-8")
    asked = {"model": "llama-3.1-8b", "device": "H100-SXM", "given": {}}
    assert not same(in_page([asked], folder), [in_library(asked)])


# ---------------------------------------------------------------- the printer, and its runtime


def test_a_program_says_the_same_in_both_languages(tmp_path: Path) -> None:
    where = {"runtime": (HERE / "python.js").as_uri(), "data": ""}
    printed = translate.text(
        TESTS / "printed", ["printed.said.CASES"], [], entered="printed", **where
    )
    (tmp_path / "said.mjs").write_text(printed, "utf-8")
    modules = {"runtime": str(HERE / "python.js"), "said": "said.mjs"}
    body = "[...said.CASES.entries()].map(([name, say]) => [name, runtime.repr(say())])"
    [found] = answers(tmp_path, modules, body, [0])
    assert dict(found) == {name: repr(said()) for name, said in CASES.items()}


def test_the_runtime_has_what_the_printer_takes_from_it() -> None:
    [there] = answers(HERE, {"page": "python.js"}, "Object.keys(page)", [0])
    taken = {name for name, _ in names.runtime().values()}
    taken |= {f"str_{name}" for name in names.methods()}
    assert taken <= {*there}


SPECS = (None, "g", ".4g", ",.4g", ".2g", ".1g", ".0%", ".1%", ".1f", ".3f", ".0f")


def test_numbers_are_written_the_same() -> None:
    """Halves among them, which are rounded to even."""
    dice = random.Random("written")
    numbers = [
        dice.choice((-1, 1)) * dice.random() * 10 ** dice.randint(-8, 18) for _ in range(300)
    ]
    numbers += [dice.randint(-9999, 9999) + 0.5 for _ in range(50)] + [0.125, 2.5, 1e16, 1234.5]
    numbers = [number for number in numbers if number != int(number)]
    rows = [(number, spec) for number in numbers for spec in SPECS]
    rows += [(10**n + 1, spec) for n in range(3, 15) for spec in (None, ",", ".4g", ",.4g")]
    said = [repr(number) if spec is None else format(number, spec) for number, spec in rows]
    body = "(([x, spec]) => (spec === null ? page.repr(x) : page.format(x, spec)))(state)"
    found = answers(HERE, {"page": "python.js"}, body, rows)
    written = zip(rows, found, said, strict=True)
    assert [each for each in written if each[1] != each[2]] == []


ODD = {
    "def f(x):\n    global y": "2: Global",
    "def f(x):\n    return [*locals()]": "2: .*locals",
    "def f(x):\n    return open(x)": "2: .*open",
    "def f(x):\n    return x @ x": "2: MatMult",
    "def f(x):\n    return len(x, 1)": "2: the call does not fit",
    "def f(x):\n    return [lambda y=x: y]": "2: a default is made at each call",
    "class f:\n    @staticmethod\n    def __init__(): ...": "\\d: .*staticmethod",
    "from dataclasses import dataclass\n@dataclass(order=True)\nclass f: ...": "3: .*order",
    "f = {}\nfor x in 'ab':\n    f[x] = 1": "2: ",
}


@pytest.mark.parametrize("program", ODD)
def test_what_is_not_understood_is_an_error_that_names_its_line(
    program: str, tmp_path: Path
) -> None:
    folder = tmp_path / "odd"
    folder.mkdir()
    (folder / "module.py").write_text(program, "utf-8")
    with pytest.raises(translate.Untranslatable, match=f"odd/module.py:{ODD[program]}"):
        translate.text(folder, ["odd.module.f"], [], entered="", runtime="", data="")
