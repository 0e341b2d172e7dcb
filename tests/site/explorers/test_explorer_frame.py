"""What all explorers share: generated files, addresses, settings, and how numbers are said."""

from __future__ import annotations

import gzip
import re
from pathlib import Path

import pytest

from costlib import devices
from explorer_settings import NAMES, asked, page_of
from in_node import in_page
from paths import SITE
from tools.pages import explorers


def test_every_model_and_device_is_there() -> None:
    listed = "[page.models.map((m) => m.name), page.devices.map((d) => d.name)]"
    [[found, machines]] = in_page("generated/catalogue.js", listed, [0])
    assert found == list(explorers.drawable())
    assert machines == list(devices)


def test_a_quotient_is_never_a_product_with_an_inverse() -> None:
    """49·(1/49) is not 1, so the ceiling of such a product can be one too many."""
    for path in (explorers.FOLDER / "io.js", explorers.FOLDER / "ledgers.js"):
        assert not re.search(r"= 1/\w|Math\.pow\(\w+, -", path.read_text("utf-8"))


def test_each_explorer_has_its_part_of_an_address() -> None:
    """Plain keys are the first one's, others' parts stay, and nothing else is kept."""
    body = "[page.keysOf(page.named(state.hash), state.key, state.all),"
    body += " page.withState(state.hash, {a: 1, b: 'x y'}, state.key, state.all)]"
    both = ["one", "one2"]
    settings = [
        {"hash": hash, "key": key, "all": all}
        for hash, key, all in (
            ("", "one", ["one"]),
            ("#a-heading", "one", ["one"]),
            ("#a=3&c=%3Cb%3E", "one", ["one"]),
            ("#one.a=3&junk.b=4", "one", ["one"]),
            ("#a=3&one2.a=5&junk.b=4", "one", both),
            ("#a=3&one2.a=5&junk.b=4", "one2", both),
            ("#a=3&__proto__=5&one2.constructor=%&=7", "one2", both),
        )
    ]
    written = "#one.a=1&one.b=x+y"
    assert in_page("address.js", body, settings) == [
        [None, "#a=1&b=x+y"],
        [None, "#a=1&b=x+y"],
        [{"a": "3", "c": "<b>"}, "#a=1&b=x+y"],
        [{"a": "3"}, "#a=1&b=x+y"],
        [{"a": "3"}, f"#one2.a=5&{written[1:]}"],
        [{"a": "5"}, "#a=3&one2.a=1&one2.b=x+y"],
        [{"constructor": "%"}, "#a=3&__proto__=5&=7&one2.a=1&one2.b=x+y"],
    ]


def test_one_is_not_many() -> None:
    many = ["tokens", "new tokens", "entries", "guesses", "batches", "ms a token", "%"]
    one = ["1 token", "1 new token", "1 entry", "1 guess", "1 batch", "1 ms a token", "1 %"]
    body = "[page.counted(1, state), page.counted(2000, state)]"
    found = in_page("numbers.js", body, many)
    assert found == [[each, f"2,000 {what}"] for each, what in zip(one, many, strict=True)]


@pytest.mark.parametrize("name", NAMES)
def test_a_slider_ends_at_what_is_allowed(name: str) -> None:
    """Its two ends are the least and the most, to the last digit."""
    body = "page.controls.filter((c) => c.type === 'number' && !c.elsewhere)"
    [controls] = in_page(f"{name}.js", body, [0])
    ends = in_page("frame.js", "[0, 1000].map((at) => page.atPosition(state, at))", controls)
    assert ends == [[each["min"], each["max"]] for each in controls]


def test_what_is_nearest_to_a_setting_comes_first() -> None:
    """Every other choice, outwards; a number doubled and halved, within what is allowed."""
    options = [[each, ""] for each in "abcdef"]
    settings = [
        [{"id": "x", "type": "choice", "options": options}, {"x": "b"}],
        [{"id": "x", "type": "choice", "options": options}, {"x": "f"}],
        [{"id": "x", "type": "number", "min": 1, "max": 100, "value": 8}, {"x": 8}],
    ]
    found = in_page("frame.js", "page.near(...state)", settings)
    assert found == [[*"cadef"], [*"edcba"], [16, 4, 32, 2, 64, 1, 100]]


def test_what_was_typed_is_said_exactly() -> None:
    """1,048,577 and not 1,049,000, wherever words repeat it."""
    said = [text for name in NAMES for text in asked(name, "words", [0])[0]]
    assert len(said) > 5
    assert sum("1,048,577" in text for text in said) > 2
    assert not [text for text in said if "1,049,000" in text or "1.049 million" in text]


def test_numbers_are_short_on_a_page_and_whole_in_a_copy() -> None:
    """Four digits with their unit, by column or by row, and keys in words."""
    by_column = {"columns": ["op", "time (s)", "rate"], "rows": [["a, b", 0.007631, 131.048859554]]}
    by_row = {
        "columns": ["answer", "unit", "here"],
        "rows": [["ttft_s", "s", 2.150925e-7], ["params", "", 8030261248], ["fits", "", True]],
        "words": {"ttft_s": "time to first token", "params": "parameters"},
    }
    [[csv, column], [_, row]] = in_page(
        "table.js", "[page.csv(state), page.said(state)]", [by_column, by_row]
    )
    assert csv == 'op,time (s),rate\n"a, b",0.007631,131.048859554'
    assert column == [["op", "time", "rate"], ["a, b", "7.631 ms", "131"]]
    assert row[0] == ["answer", "here"]
    assert row[1:3] == [["time to first token", "215.1 ns"], ["parameters", "8.03 billion"]]
    assert row[3] == ["fits", "yes"]


def test_no_line_breaks_a_quantity() -> None:
    """Nor a power of ten, nor a name with a number; other words may stand on lines of their own."""
    text = "7.23 × 10²³ FLOPs, 1.05 million: 81.9 µs (7,659 tokens) on DGX-H100 or all-reduces"
    [found] = in_page("numbers.js", "state.match(page.WHOLE)", [text])
    assert found == ["7.23 × 10²³ FLOPs", "1.05 million", "81.9 µs", "7,659 tokens", "DGX-H100"]


def test_a_table_says_what_has_no_end() -> None:
    """In words of its own where it has some, and never as so many trillions."""
    table = "{columns: ['a', 'b (tokens)'], rows: [['x', Infinity]]%s}"
    for more, said in (("", "no limit"), (", words: {Infinity: 'any fits'}", "any fits")):
        [rows] = in_page("table.js", f"page.said({table % more})", [0])
        assert rows[1] == ["x", said]


@pytest.mark.parametrize("name", ["step", "prefill", "speculative", "memory", "frontier"])
def test_a_headline_says_whose_numbers_these_are(name: str) -> None:
    [[title, model, device]] = asked(name, "headline", [0])
    assert title.startswith(f"{model} on {device}: ")


#: Explorers with a model and a context, and what of a setting makes the context.
LONG = {"memory": "context", "prefill": "seq", "step": "context", "frontier": "context"}
LONG |= {"users": "context", "speculative": "cached", "serving_film": "prompt"}


@pytest.mark.parametrize("name", LONG)
def test_a_context_beyond_a_model_is_told(name: str) -> None:
    """Where the library refuses more than the learned positions, and warns of more than training;
    nothing is said as it opens.
    """
    tokens, given = LONG[name], {"fresh": 1, "answer": 1}
    cases = [{"model": "gpt2", tokens: 1000}, {"model": "gpt2", tokens: 1100}]
    cases += [{"model": "phi-4", tokens: 20_000}]
    settings = [{}, *({**given, **each} for each in cases)]
    opens, within, learned, trained = asked(name, "warning", settings)
    assert opens == ""
    assert within == "" or name == "serving_film", "whose prompts are drawn around their mean"
    assert learned.startswith("gpt2 has learned 1,024 positions")
    assert trained.startswith("phi-4 was trained for 16,384 tokens")


@pytest.mark.parametrize("name", NAMES)
def test_an_explorer_is_light(name: str) -> None:
    """What a page loads beyond a plain one, compressed as static hosts do it."""
    folder = SITE / "_static" / "explorers"
    seen: set[Path] = set()

    def follow(path: Path) -> None:
        if path in seen:
            return
        seen.add(path)
        text = path.read_text("utf-8")
        for target in re.findall(r"""(?:from|import) ['"](\.{1,2}/[^'"]+)""", text):
            follow((path.parent / target).resolve())

    for start in ("main.js", f"{name}.js"):
        follow((folder / start).resolve())
    loaded = [*seen, SITE / page_of(name)]
    assert sum(len(gzip.compress(path.read_bytes())) for path in loaded) < 400_000
