"""The calculator: whatever is chosen, brought or shared, it says what `costlib.answer` says.

Each answer is compared with the line of Python that the page offers beside it, run as it stands.
"""

from __future__ import annotations

import contextlib
import gzip
import io
import json
import random
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

import costlib
import sampling
from browsing import EXPLORER, Opened, Visit, change, rest
from costfigures import explorers as fallbacks
from costlib.command import _TYPED, main
from costlib.model.catalog.prices import listed
from costlib.model.families.config import parsed
from in_node import HERE, answers, in_page, same
from paths import ROOT, SITE
from tools.site import embed

pytestmark = pytest.mark.filterwarnings("ignore::costlib.serving.server.BeyondTraining")

PAGE = "book/explore_calculator.html"
CATALOG = ROOT / "costlib" / "model" / "catalog" / "models.json"
#: A model as its publisher writes it, that the catalogue does not have under this name.
ENTRIES = json.loads(CATALOG.read_text("utf-8"))["models"]
CONFIG = json.dumps(
    {**ENTRIES["qwen3-8b"]["config"]["value"], "_name_or_path": "someone/brought-8b"}
)


# ---------------------------------------------------------------- what it says

#: Scripts of the site, by their names in calculator.js.
MODULES = {
    "page": "calculator.js",
    "costlib": "costlib.js",
    "costs": "costs.js",
    "numbers": "numbers.js",
    "own": "own_models.js",
    "refusals": "refusals.js",
    "share": "share.js",
    "beside": "side_by_side.js",
    "table": "answers_table.js",
    "asked": str(Path(__file__).with_name("calculator.js")),
}


def ask(what: str, states: list[Any]) -> list[Any]:
    """What a function of calculator.js finds for each state."""
    modules = ", ".join(MODULES)
    return answers(HERE, MODULES, f"asked.{what}({{ {modules} }}, state)", states)


def size(chance: random.Random, most: int) -> int:
    """A whole number from 1 on, small ones as likely as large ones."""
    return int(most ** chance.random())


def choices(count: int) -> list[dict[str, Any]]:
    """What a reader may choose, of what fits together and what does not."""
    chance, found = sampling.chance("calculator"), []
    served = [name for name, device in costlib.devices.items() if device.capacity]
    served += costlib.nodes
    for _ in range(count):
        own = chance.choice([("own", "own"), ("fp8", "own"), ("own", "fp8"), ("int4", "bf16")])
        found.append(
            {
                "model": chance.choice([*costlib.models]),
                "device": chance.choice(served),
                "many": chance.choice([1, 1, 1, 2, 4, 8]),
                "pipeline": chance.choice([1, 1, 1, 2]),
                "data": chance.choice([1, 1, 1, 2]),
                "wait": chance.choice([0, 0, 5, 12.5]),
                "precision": own[0],
                "kv": own[1],
                "batch": size(chance, 300),
                "prompt": size(chance, 2**15),
                "answer": size(chance, 2**12),
                "engine": chance.choice(["exact", "exact", "vllm", "llama.cpp"]),
                "price": chance.choice([0, 0.5, 3.99]),
                "watts": chance.choice([0, 72, 700]),
            }
        )
    return found


def run(line: str) -> Any:
    """What a line of Python answers, or what is wrong with what it asks."""
    try:
        found = eval(line, {"costlib": costlib})
    except (ValueError, TypeError) as problem:
        return str(problem)
    return [[row.key, row.value, row.name, row.shown, row.why, row.where] for row in found]


@pytest.fixture(scope="module")
def told() -> list[Any]:
    """Some choices, what the page says of each, and its lines for Python and a terminal."""
    asked = choices(sampling.number(12, 300))
    return [(choice, *each) for choice, each in zip(asked, ask("said", asked), strict=True)]


def test_each_choice_is_answered_as_its_line_of_python(told: list[Any]) -> None:
    """Values, sums, names and sections, or the same refusal in the same words."""
    for choice, page, line, _ in told:
        assert same(page, run(line)), (choice, line)
    assert any(not isinstance(page, str) for _, page, *_ in told), "all were refused"


def test_a_line_for_a_terminal_gives_the_same_answers(told: list[Any]) -> None:
    """Every answer of a choice that the command has words for: one precision for all kinds."""
    assert {choice["kv"] == "own" for choice, *_, line in told if line is not None} == {True}
    for page, line in [(page, line) for _, page, _, line in told if line][:3]:
        said, wrong = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(wrong):
            code = main([*shlex.split(line)[1:], "--json"])
        if isinstance(page, str):
            assert code == 2
            for in_python, here in _TYPED.items():
                page = re.sub(in_python, here, page)
            assert page in " ".join(wrong.getvalue().split())
            continue
        answers = json.loads(said.getvalue())["answers"]
        assert [each[0] for each in page] == [*answers]
        values = [None if each[1] == "Infinity" else each[1] for each in page]
        assert same(values, [*answers.values()]), line


def test_the_fewest_devices_are_the_librarys() -> None:
    """For whatever load, with the plan that does it; or what is out of reach, in the same words."""
    chance, cases = sampling.chance("fleets"), []
    for _ in range(sampling.number(4, 100)):
        targets = {"tpot": chance.choice([0.005, 0.02, 0.05])}
        targets |= {"ttft": chance.choice([0.2, 2.0])} if chance.random() < 0.5 else {}
        load = {name: size(chance, most) for name, most in (("users", 2000), ("prompt", 9000))}
        load["answer"] = 1 + size(chance, 1000)
        models = ["llama-3.1-8b", "llama-3.1-70b", "gpt-oss-120b", "falcon-mamba-7b"]
        device = chance.choice(["H100-SXM", "DGX-H100", "L40S", "RTX-4090"])
        cases.append([chance.choice(models), device, {**load, **targets}])
    for case, page in zip(cases, ask("fewest", cases), strict=True):
        assert same(page, fewest(*case)), case


def test_a_line_for_a_terminal_finds_the_same_devices() -> None:
    """Of a load that is drawn: what the page's line for the command prints is the library's."""
    chance = sampling.chance("serve")
    choice = {
        "model": chance.choice(["llama-3.1-8b", "gpt-oss-20b", "mistral-7b-v0.3"]),
        "device": chance.choice(["H100-SXM", "L40S"]),
        "batch": size(chance, 500),
        "prompt": size(chance, 4000),
        "answer": 1 + size(chance, 500),
        "wait": chance.choice([0, 5]),
        "price": chance.choice([0, 2.5]),
    }
    targets = {"speed": chance.choice([5, 30]), "first": chance.choice([0, 5000])}
    [line] = ask("shellOfFleet", [{**choice, **targets}])
    asked = {"users": choice["batch"], "prompt": choice["prompt"], "answer": choice["answer"]}
    asked |= {"tpot": 1 / targets["speed"]}
    asked |= {"ttft": targets["first"] / 1000} if targets["first"] else {}
    asked |= {"latency": choice["wait"] / 1e6} if choice["wait"] else {}
    known, said = fewest(choice["model"], choice["device"], asked), io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        code = main([*shlex.split(line)[1:], "--json"])
    assert code == isinstance(known, str), line
    if isinstance(known, str):
        return
    [row] = json.loads(said.getvalue())["rows"]
    assert (row["devices"], row["users_per_copy"]) == (known[0], known[2]), line
    assert not choice["price"] or row["usd_per_hour"] == 2.5 * known[0]


def test_a_context_beyond_training_is_told() -> None:
    """In the library's words, after the answer; more than learned positions is refused."""
    trained = {"model": "llama-2-7b", "prompt": 4000}
    states = [trained | {"answer": 90}, trained | {"answer": 200}, {"model": "gpt2"}]
    within, beyond, refused = (said for said, _ in ask("sentence", states))
    assert "trained" not in within
    assert beyond.endswith(
        "But the model was trained for 4,096 tokens: costs beyond that are counted as usual, but "
        "its answers may be poor."
    )
    assert "1,024" in refused


def fewest(model: str, device: str, asked: dict[str, Any]) -> Any:
    """What the library says of a fleet, or what is out of reach."""
    try:
        fleet = costlib.serving.fewest_devices(model, device, **asked)
    except ValueError as problem:
        return str(problem)
    plan = [*fleet.server.plan.values()]
    spent = [fleet.input_seconds, fleet.output_seconds]
    return [fleet.devices, plan, fleet.batch, fleet.tpot, fleet.limit, *spent]


def test_a_server_stands_on_what_has_a_memory() -> None:
    [hosts] = in_page("costlib.js", "page.hosts", [0])
    assert hosts == [name for name, device in costlib.devices.items() if device.capacity]


def test_what_is_suggested_is_so() -> None:
    [found] = ask("suggested", [0])
    [[seen], [one], [full], [small], [shared], [large, cheap], [exact, charged]] = found
    assert charged["largest_batch"] < exact["largest_batch"]
    written = "usd_per_million_output_tokens"
    assert round(one[written] / seen[written]) == 5
    assert full["fits"]
    assert full["largest_batch"] == 58
    assert round(full["output_tokens_per_s"] / seen["output_tokens_per_s"]) == 2
    assert round(full["tpot_s"] / seen["tpot_s"]) == 3
    assert not small["fits"]
    packed = {"device": "T4", "precision": "int4", "batch": 1, "prompt": 1000}
    assert ask("fits", [packed]) == [True]
    assert shared["fits"]
    assert cheap[written] < large[written]
    older, newer = (listed(name).dollars_per_hour or 0 for name in ("A100-80GB", "H100-SXM"))
    assert 0 < 2 * older < newer
    rows = {name: shown for name, shown, _ in fallbacks.calculator().rows}
    assert rows["largest batch"] == str(seen["largest_batch"])
    assert (
        rows["output tokens/s per user"] == f"{seen['output_tokens_per_s_per_user']:.4g} tokens/s"
    )


@pytest.mark.parametrize(
    ("state", "field", "words"),
    [
        ({"many": 3}, "many", "3 × H100-SXM cannot share this model evenly: it has 8 KV heads."),
        ({"device": "TPU-v5e-pod"}, "many", "256 devices cannot share .*: it has 32 heads."),
        ({"model": "falcon-mamba-7b", "many": 3}, "many", ".*: its width of Mamba is 8,192."),
        ({"expert": 3}, "expert", "This model has no experts that copies could share."),
        ({"model": "gpt-oss-20b", "expert": 3, "many": 8}, "expert", "3 copies .* 32 experts.*"),
        ({"many": 8, "dcp": 3}, "dcp", "3 devices cannot share one cache, .* is on one device."),
        ({"many": 8, "data": 3}, "data", "8 devices cannot be divided into 3 copies."),
        ({"many": 8, "pipeline": 3}, "pipeline", "8 devices cannot be .* into 3 stages."),
        ({"many": 64, "pipeline": 64}, "pipeline", "The model has 32 layers, too few for 64 .*"),
        ({"model": "gpt2"}, "prompt", "The model has learned 1,024 positions: 7,000 input .*"),
    ],
)
def test_what_is_refused_is_said_in_words_with_what_would_do(
    state: dict[str, Any], field: str, words: str
) -> None:
    """Not in those of Python; and each change that is offered is one that is answered."""
    [[about, said, offered, errors]] = ask("instead", [state])
    assert about == field
    assert re.fullmatch(words, said), said
    assert offered
    assert not any(errors)
    if state == {"many": 3}:
        assert offered == ["2 devices", "4 devices"]


@pytest.mark.parametrize(
    ("sum_of", "shown"),
    [
        (0.00123, "$0.0012"),
        (0.01977, "$0.020"),
        (0.099, "$0.099"),
        (0.0996, "$0.10"),
        (0.9718, "$0.97"),
        (7.448, "$7.45"),
        (999.5, "$999.50"),
        (5825.4, "$5,825"),
    ],
)
def test_money_has_cents_or_two_digits(sum_of: float, shown: str) -> None:
    assert ask("dollars", [sum_of]) == [shown]


# ---------------------------------------------------------------- side by side


def test_four_choices_are_one_text_and_come_back() -> None:
    """In whichever place, and through an address; what an address gets wrong is mended."""
    choices = [{"model": m, "n": n} for m, n in (("a", 3), ("b &=+", 1), ("a", 3), ("b &=+", 9))]
    settings = [
        {"choices": choices[:many], "place": place} for many in range(1, 5) for place in range(many)
    ]
    found = ask("sideBySide", settings)
    assert found == [[each["choices"], each["place"]] for each in settings]
    [[one, two]] = ask("mended", ["model=<b>&n=1e9&__proto__=4"])
    assert (one, two) == ({"model": "a", "n": 9}, {"model": "a", "n": 4})


def test_the_first_line_answers_in_a_sentence() -> None:
    """Does Llama 3.1 70B fit on two H100s, for how many at 8k, at what price?"""
    asked = {"model": "llama-3.1-70b", "many": 2, "batch": 5, "prompt": 7192, "answer": 1000}
    devices = [{}, {"device": "T4", "many": 1}, {"device": "L4", "many": 8, "batch": 500}]
    devices += [{"batch": 8}, {"device": "T4", "many": 1, "engine": "vllm"}]
    found = ask("sentence", [asked | more for more in devices])
    (fits, held), (tiny, _), (crowded, _), (eight, _), (charged, _) = found
    server = costlib.serving.Server("llama-3.1-70b", "H100-SXMx2")
    rent = listed("H100-SXM").dollars_per_hour
    million = costlib.answer(
        "llama-3.1-70b", "H100-SXMx2", batch=5, context=8192, prompt=7192, price_per_hour=rent
    )["usd_per_million_output_tokens"]
    assert fits.startswith(
        f"llama-3.1-70b on 2 × H100-SXM: yes, for up to {server.room(8193)} users at 8,192 tokens"
    )
    assert f"${2 * rent:g} an hour, ${million:.2f} per million output tokens" in fits
    _, memory = server.fullest(5, 8192)
    assert [held[key] for key in ("weights", "kv")] == [memory.weights, memory.kv]
    assert held["usable"] == server.device.usable
    small = costlib.answer("llama-3.1-70b", "T4", batch=5, context=8192)
    needed, usable = (f"{small[f'{key}_bytes'] / 1e9:.4g}" for key in ("memory", "usable"))
    assert f"T4: no: each device would need {needed} GB and has {usable} GB usable." in tiny
    assert "no, not for 500 users" in crowded
    assert eight.endswith(f"There is room for 5, at ${2 * rent:g} an hour.")
    assert "$" not in crowded, "nobody lists a rent of an L4"
    assert charged.endswith("with the weights loaded, vllm has no memory left for KV caches.")


def test_a_model_is_found_by_typing(page: Any) -> None:
    """The list keeps the names with all words; Enter takes the first."""
    box = page.get_by_label("Find a model")
    box.fill("Llama 70B")
    shown = f"[...document.querySelector('{FIELD}model').options]"
    names = page.evaluate(f"{shown}.map((option) => option.value)")
    assert len(names) > 1
    told = page.locator(".calculator-matches").first
    count = int(told.inner_text().split()[0])
    assert count in {len(names), len(names) - 1}, "and what was chosen"
    assert told.locator("button").count() == min(8, count)
    assert all("70b" in name or name == "llama-3.1-8b" for name in names)
    with change(page):
        box.press("Enter")
    assert page.input_value(f"{FIELD}model") in names
    assert "70b" in page.inner_text(".calculator-verdict")
    bar = "[...document.querySelectorAll('.calculator-bar span')].map((e) => e.clientWidth)"
    assert sum(page.evaluate(bar)) > 200, "the memory is drawn"
    with change(page):
        box.fill("no such model")
        box.press("Enter")
    assert "No model" in said(page)
    assert told.inner_text() == "Nothing matches"
    box.fill("70b")
    assert "deepseek" not in told.inner_text(), "70B is no part of 1,570B"
    box.fill("qwen")
    with change(page):
        told.locator("button").nth(1).click()
    assert page.input_value(f"{FIELD}model").startswith("qwen")
    assert (box.input_value(), told.inner_text()) == ("", "")
    with change(page):
        page.select_option(f"{FIELD}model", "gemma-3-1b")
    with change(page):
        box.fill("70b")
        box.press("Enter")
    assert re.search(r"\b70b\b", page.input_value(f"{FIELD}model")), "not one of 1,570B"


def test_a_device_is_found_by_typing(page: Any) -> None:
    """The only one that is left is taken at once, and its own list is whole again afterwards."""
    box = page.get_by_label("Find a device")
    every = page.locator(f"{FIELD}device option").count()
    assert every > 30
    with change(page):
        box.fill("rtx 4090")
    assert page.input_value(f"{FIELD}device") == "RTX-4090"
    assert page.locator(f"{FIELD}device option").count() == 1
    box.fill("")
    assert page.locator(f"{FIELD}device option").count() == every
    families = page.locator(f"{FIELD}model optgroup")
    labels = families.evaluate_all("(all) => all.map((each) => each.label)")
    assert labels == sorted(labels)
    assert {"llama", "qwen", "deepseek"} <= {*labels}
    first = page.locator(f"{FIELD}model optgroup[label=gemma] option").first.inner_text()
    assert re.fullmatch(r"gemma-\S+ · [\d.]+B", first)
    for text, many, name in (
        ("2 l40s", "2", "L40S"),
        ("8×RTX 4090", "8", "RTX-4090"),
        ("L40S x4", "4", "L40S"),
    ):
        with change(page):
            box.fill(text)
        assert [page.input_value(f"{FIELD}{id}") for id in ("many", "device")] == [many, name]
    box.fill("3090")
    assert page.input_value(f"{FIELD}many") == "4", "a name is no count"


def test_a_list_that_was_narrowed_is_whole_again_where_another_is_chosen(page: Any) -> None:
    typed_name = page.get_by_label("Find a device")
    with change(page):
        typed_name.fill("4090")
    assert page.input_value(f"{FIELD}device") == "RTX-4090"
    with change(page):
        page.click("text=Llama 8B on a T4")
    assert page.input_value(f"{FIELD}device") == "T4"
    assert typed_name.input_value() == ""
    assert page.locator(f"{FIELD}device option").count() > 20
    with change(page):
        page.go_back()
    assert page.input_value(f"{FIELD}device") == "RTX-4090"
    assert page.inner_text(".explorer-said") == ""  # it spoke of the T4


def test_who_clicks_on_a_number_writes_over_it(page: Any) -> None:
    page.click(f"{FIELD}many")
    with change(page):
        page.keyboard.type("2")
        page.keyboard.press("Enter")
    assert page.input_value(f"{FIELD}many") == "2"


def test_what_does_not_fit_has_no_price_and_formats_are_said(page: Any) -> None:
    with change(page):
        page.select_option(f"{FIELD}device", "RTX-4090")
    paid = "usd_per_million_output_tokens"
    assert columns(page)[paid] == ["–"]
    assert columns(page)["tpot_s"] != ["–"]
    page.click("summary:has-text('More settings')")
    with change(page):
        page.select_option(f"{FIELD}precision", "int4")
    with change(page):
        page.select_option(f"{FIELD}engine", "vllm")
    said = page.inner_text(".calculator-verdict")
    assert said.startswith("llama-3.1-8b in int4 on RTX-4090, as vllm counts: yes"), said
    assert columns(page)[paid] != ["–"]


def test_the_question_is_turned_round(page: Any) -> None:
    """So many users, each so fast: the fewest of each device, and a press shows the plan."""
    with change(page):
        page.click("text=How many devices do I need?")
    typed(page, batch="200")
    typed(page, speed="40")
    load = {"users": 200, "prompt": 7000, "answer": 1000, "tpot": 1 / 40}
    fleet = costlib.serving.fewest_devices("llama-3.1-8b", "H100-SXM", **load)
    verdict = page.inner_text(".calculator-verdict")
    rent = listed("H100-SXM").dollars_per_hour
    assert f"each at 40 tokens/s or more: {fleet.devices} × H100-SXM (" in verdict
    assert f"${rent * fleet.devices:.2f} an hour" in verdict
    spent = (fleet.input_seconds, fleet.output_seconds)
    read, written = (f"${rent / 3600 * each * 1e6:.2g}" for each in spent)
    assert f"{read} per million input tokens, {written} per million output tokens" in verdict
    rows = page.locator(".calculator-fleets tbody tr")
    rented = {d for d in costlib.devices if listed(d).dollars_per_hour}
    assert rows.count() == len(rented)
    hours = rows.locator("td:nth-of-type(2)").all_inner_texts()
    assert hours == sorted(hours, key=lambda text: float(text[1:].replace(",", "")))
    least = rows.first.locator("button").inner_text()
    assert verdict.endswith(f" × {least}, {hours[0]} an hour.") == (least != "H100-SXM")
    assert "200 users of llama-3.1-8b with 7,000 input and 1,000 output tokens, each" in verdict
    note = page.inner_text(".calculator-fleets + .explorer-note")
    others = page.locator(f"{FIELD}device option").count() - len(rented)
    assert f"Tried: H100-SXM and what we know a rent of, {len(rented)} kinds of" in note
    assert f"Not tried: the other {others}, such as" in note
    assert re.search(r"data (\d+): there are \1 copies of the model", note)
    page.set_viewport_size({"width": 375, "height": 720})
    row = rows.filter(has_text="H100-SXM")
    assert "TTFT" in row.locator("td").nth(5).evaluate(
        "e => getComputedStyle(e, '::before').content"
    )
    assert (
        page.evaluate(
            "(e => e.scrollWidth - e.clientWidth)(document.querySelector('.calculator-fleets'))"
        )
        == 0
    )
    page.set_viewport_size({"width": 1280, "height": 720})
    assert not page.is_visible(f"{FIELD}many")
    assert not page.is_visible(".calculator-memory")
    page.click("summary:has-text('Export')")
    page.wait_for_function("document.querySelector('.calculator-line code')?.textContent")
    line = page.locator(".calculator-line code").first.text_content()
    assert eval(line, {"costlib": costlib}).devices == fleet.devices
    plans = json.loads(copied(page, "Copy as JSON"))
    assert plans["asked"].items() >= load.items()
    found = {each["device"].split(",")[0]: each for each in plans["rows"]}
    assert found["H100-SXM"]["devices"] == fleet.devices
    assert found["H100-SXM"]["a million output tokens ($)"] == pytest.approx(
        rent * spent[1] / 3600e-6
    )
    assert (
        found.keys()
        == rented
        == {
            row.split(" | ")[0][2:].split(",")[0]
            for row in copied(page, "Copy the table").splitlines()[2:]
        }
    )
    page.click("text=The numbers behind this")
    numbers = page.locator(".explorer-table tr")
    numbers.nth(len(rented)).wait_for()
    assert numbers.count() == len(rented) + 1
    with change(page):
        rows.filter(has_text="H100-SXM").locator("button").click()
    assert page.input_value(f"{FIELD}many") == str(fleet.devices)
    assert page.input_value(f"{FIELD}batch") == str(fleet.batch)
    assert columns(page)["fits"] == ["yes"]
    assert page.is_visible(".calculator-memory")
    with change(page):
        page.click("text=How many devices do I need?")
    typed(page, first="1")
    late = "has a TTFT of 1 ms with a prompt of 7,000 tokens: the lowest is"
    assert late in page.inner_text(".calculator-verdict")


def test_a_suggestion_goes_on_from_what_is_chosen_and_back_undoes_it(page: Any) -> None:
    with change(page):
        page.evaluate("location.hash = 'model=llama-3.1-70b&many=2&batch=3'")

    def chosen() -> list[str]:
        return [page.input_value(f"{FIELD}{name}") for name in ("model", "many", "batch")]

    before = chosen()
    with change(page):
        page.click("text=As many as fit")
    assert chosen() == ["llama-3.1-70b", "2", "5"]
    told = page.inner_text(".explorer-said")
    assert told.startswith("With 1.7 times as many users, a step reads the weights once")
    with change(page):
        page.click("text=An A100 beside it")
    assert columns(page)["fits"] == ["yes", "yes"]
    assert page.locator(".answers thead button[aria-pressed]").first.inner_text() == (
        "1: 2 × H100-SXM"
    )
    for _ in range(2):
        with change(page):
            page.go_back()
    assert chosen() == before


def test_a_number_out_of_range_and_a_refusal_are_said_beside_their_fields(page: Any) -> None:
    ranges = page.locator(".calculator-range")
    for typed_in, kept in (("-5", "1"), ("1e30", "65536")):
        typed(page, batch=typed_in)
        assert page.input_value(f"{FIELD}batch") == kept
        assert ranges.all_inner_texts() == ["Users: 1 to 65,536"]
    typed(page, batch="8")
    assert ranges.all_inner_texts() == [""]
    page.click("text=More settings")
    typed(page, expert="3")
    beside = page.locator(".explorer-fields .calculator-refused")
    assert beside.inner_text() == page.locator(".own-wrong").last.inner_text()
    with change(page):
        page.locator(".calculator-instead button").first.click()
    assert page.input_value(f"{FIELD}expert") == "1"
    assert beside.inner_text() == ""
    assert columns(page)["fits"] == ["yes"]


def test_memory_is_drawn_as_an_engine_charges_it(page: Any) -> None:
    """A bar of the exact bytes, beneath it one of what vLLM takes on, each part with its name."""
    with change(page):
        page.evaluate("""(() => { const { explorer } = document.querySelector('[data-explorer]');
          explorer.set({ ...explorer.state, model: 'gemma-3-12b', device: 'A100-80GB', batch: 8,
            prompt: 15384, answer: 1000, engine: 'vllm' }); })()""")
    asked = {"batch": 8, "context": 16384, "engine": "vllm"}
    found = costlib.answer("gemma-3-12b", "A100-80GB", **asked)
    held = found.server.fullest(8, 16384)[1]
    assert found.charged is not None
    exact, engine = page.locator(".calculator-memory ul").all_inner_texts()
    for text, parts in (
        (exact, {"exact, each device": 85.9e9, "weights": held.weights, "KV caches": held.kv}),
        (
            engine,
            {
                "as vllm charges": 85.9e9,
                "weights as loaded": found.charged.weights,
                "KV caches as charged": found.charged.kv,
                "kept by the engine": found.charged.buffers,
            },
        ),
    ):
        for name, size_of in parts.items():
            written = re.search(rf"{name}:? ([\d.]+) GB", text)
            assert written, (name, text)
            assert float(written[1]) == pytest.approx(size_of / 1e9, rel=0.005)
    assert page.locator(".calculator-bar").count() == 2
    with change(page):
        page.click("button:text-is('Start again')")
    assert page.locator(".calculator-bar:visible").count() == 1


def test_a_price_is_the_devices_until_one_is_typed(page: Any) -> None:
    """The empty field says what is listed; emptied again it stands for that."""
    page.click("text=More settings")
    field, rent = page.locator(f"{FIELD}price"), listed("H100-SXM")
    assert (field.input_value(), field.get_attribute("placeholder")) == ("", "3.99 (listed)")
    said = ".explorer-summary"
    assert rent.source in page.inner_text(said)
    month = f"${round(730 * rent.dollars_per_hour):,} a month"
    assert month in page.inner_text(said)
    typed(page, price="2.5")
    assert "$2.50 an hour, $1,825 a month (as you typed)" in page.inner_text(said)
    typed(page, price="")
    assert month in page.inner_text(said)
    choose(page, device="L4")
    assert field.get_attribute("placeholder") == "none listed"
    assert "$" not in page.inner_text(said)
    typed(page, batch="1")
    page.click("text=More settings")  # fold it
    for question, is_asked in (("How many devices do I need?", False), ("Does it fit?", True)):
        with change(page):
            page.click(f"text={question}")
        assert page.locator("text=Type a price").is_visible() == is_asked
    page.click("text=Type a price")
    with change(page):
        page.keyboard.type("0.7")
        page.keyboard.press("Enter")
    assert "$0.70 an hour" in page.inner_text(".calculator-verdict")
    assert page.locator("text=Type a price").is_hidden()


def test_a_link_says_how_its_config_comes_here_and_a_stranger_gets_kin(page: Any) -> None:
    """Nothing is fetched; a family that is not known is read as the nearest, if one asks for it."""
    page.click("text=Your own config.json")
    box, wrong = (
        page.get_by_label("A config.json", exact=True),
        page.locator(".own-model .own-wrong"),
    )
    for text in ("https://huggingface.co/Qwen/Qwen3-8B/tree/main", "Qwen/Qwen3-8B"):
        box.fill(text)
        wrong.filter(has_text="paste it here").wait_for()
        link = wrong.locator("a").get_attribute("href")
        assert link == "https://huggingface.co/Qwen/Qwen3-8B/raw/main/config.json"
        assert "The catalogue has qwen3-8b" in wrong.inner_text()
        box.fill("")
        wrong.filter(has_not_text="paste").wait_for(state="hidden")
    box.fill(json.dumps({**json.loads(CONFIG), "model_type": "qwen3000"}))
    with change(page):
        wrong.locator("button").click()
    assert page.input_value(f"{FIELD}model").startswith("config.")
    assert re.match(r"\S+ \(read as \w+\) on H100-SXM: ", page.inner_text(".calculator-verdict"))
    model = costlib.Transformer.from_hf(CONFIG)
    assert columns_of(page, "params") == f"{model.params() / 1e9:.3g}B"


def columns_of(page: Any, key: str) -> str:
    """What stands in the first column of a row of any table."""
    return str(page.locator(f".answers tr[data-key={key}] td").first.inner_text())


def test_the_best_is_told_among_those_that_fit() -> None:
    cases = {
        ("tpot_s", ((True, 3), (True, 2), (False, 1))): [False, True, False],
        ("output_tokens_per_s", ((True, 3), (True, 2), (True, 3))): [True, False, True],
        ("output_tokens_per_s", ((True, 3), (True, 3))): [False, False],
        ("largest_batch", ((True, 3), (True, None), (True, 4))): [False, False, True],
        ("params", ((True, 3), (True, 2))): [False, False],
    }
    assert ask("best", [*cases]) == [*cases.values()]


def test_one_price_for_two_devices_makes_none_the_best() -> None:
    """It may be what the first device costs: it is said beside the numbers instead."""
    written, energy = "usd_per_million_output_tokens", "joules_per_million_output_tokens"
    one, other = {"device": "T4", "price": 1, "watts": 70}, {"device": "L4", "price": 1}
    cases = {
        (written, "left"): (one, other | {"watts": 72}),
        (written, "priced"): (one, other | {"price": 2}),
        (written, "one device"): (one, one | {"batch": 2}),
        (energy, "left"): (one, other | {"watts": 70}),
        (energy, "stated"): (one, other | {"watts": 72}),
        ("tpot_s", ""): (one, other),
    }
    found = ask("bestOfTwo", [[key, some] for (key, _), some in cases.items()])
    first = [[True, False], None]
    left = [[False, False], ["at $1 an hour"] * 2]
    assert found == [left, first, first, [[False, False], ["at 70 W"] * 2], first, first]


# ---------------------------------------------------------------- a model of one's own


def test_a_name_that_is_cut_is_whole_in_a_title() -> None:
    [[length, whole]] = ask("longName", ["a" * 99])
    assert (length, whole) == (len(", H100-SXM") + 60, "a" * 99 + ", H100-SXM")


def test_two_models_of_ones_own_are_two_files() -> None:
    found = ask("files", [[1, 0], [0, 1, 1, 2]])
    numbered = ["config-1.json", "config-2.json", "config-2.json", "config-4.json"]
    assert found == [["config.json"] * 2, numbered]


def test_a_config_is_a_short_text_and_comes_back() -> None:
    text = json.dumps(json.loads(CONFIG) | {"note": "ü☃"}, indent=2)
    [[code, said, allowed]] = ask("coded", [text])
    assert allowed
    assert said == {"name": "brought-8b", "kind": "qwen3"}
    sizes = json.loads(CONFIG) | {"_name_or_path": None}
    odd = [sizes, sizes | {"_name_or_path": 7, "note": 1}, sizes | {"_name_or_path": "a" * 500}]
    kinds = [{"model_type": 7}, {"model_type": ["x"]}]
    unnamed, again, long, *nameless = ask("named", [*odd, *kinds])
    twice = sorted((unnamed, again))
    assert twice == [[len(f"qwen3 8.19B{more}"), "qwen3 8.19B"] for more in ("", " (2)")]
    assert long == [60, "a" * 500]
    assert [whole for _, whole in nameless] == ["config.json"] * 2
    assert len(code) < 0.8 * len(text)
    wrong = ["config.AAAA", "config.", "config.%", code[:-9]]
    assert in_page("own_models.js", "page.decoded(state)", [code, *wrong]) == [text, *4 * [""]]
    assert "at most 200,000 characters" in ask("tooLong", [200_001])[0]


def test_a_text_that_is_no_object_is_refused_in_the_same_words() -> None:
    """What is pasted, as what is in a file; and an address that lost its end says so."""
    texts = ["", " \n", "12", '"llama"', "null", "[1]", "org/Llama-3.1-8B", "\ufeff x'y", "{"]
    said = ask("refused", texts)
    for text, page in zip(texts, said, strict=True):
        with pytest.raises((ValueError, TypeError)) as refused:
            costlib.Transformer.from_hf(parsed(text))
        assert page == str(refused.value)
    [lost] = ask("lost", ["config.AAAA"])
    assert "cut off or damaged" in lost


def test_an_address_that_unfolds_without_end_is_no_config() -> None:
    """A few letters can stand for gigabytes: no more is unfolded than a config could have."""
    assert ask("unfolded", [0]) == [[200_000, ""]]


# ---------------------------------------------------------------- in the browser


@pytest.fixture
def page(visit: Opened) -> Any:
    """The calculator's page."""
    return visit(PAGE, permissions=["clipboard-read", "clipboard-write"])


def choose(page: Any, **values: str) -> None:
    """Choose other values of settings, by their names."""
    with change(page):
        for name, value in values.items():
            page.select_option(f"{FIELD}{name}", value)


def typed(page: Any, **values: str) -> None:
    """Type other numbers into fields, by their names, each a change of its own."""
    for name, value in values.items():
        with change(page):
            page.fill(f"{FIELD}{name}", value)
            page.locator(f"{FIELD}{name}").press("Enter")


def said(page: Any) -> str:
    """What the calculator says that it did."""
    return str(page.inner_text(".explorer-live"))


def copied(page: Any, button: str) -> str:
    """What this button puts on the clipboard, once it is said that it did."""
    with change(page):
        page.click(f"text={button}")
    return str(page.evaluate("navigator.clipboard.readText()"))


def columns(page: Any) -> dict[str, list[str]]:
    """What the first table says: a list for each row."""
    rows = page.evaluate("""() =>
      [...document.querySelector('.answers').querySelectorAll('tr[data-key]')]
      .map((row) => [row.dataset.key, ...[...row.cells].slice(1).map((cell) => cell.innerText)])""")
    return {key: cells for key, *cells in rows}


FIELD = "#explorer-calculator-"


def test_a_config_is_pasted_dropped_and_linked_to(page: Any) -> None:
    """It is answered, what is wrong is said in costlib's words, and nothing is sent or kept."""
    asked = page.evaluate("performance.getEntriesByType('resource').map(({ name }) => name)")
    early = page.evaluate(
        "[...document.querySelectorAll('[rel=modulepreload]')].map((e) => e.href)"
    )
    modules = {name.partition("?")[0] for name in asked if "/explorers/" in name}
    assert {each for each in modules if each.endswith(".js")} - {*early} == {
        f"{page.url.partition('/book/')[0]}/_static/explorers/main.js"
    }  # all others are asked for at once, and after the text
    late = "[...document.querySelectorAll('[rel=modulepreload]')].map((e) => e.fetchPriority)"
    assert {*page.evaluate(late)} == {"low"}
    page.click("text=Your own config.json")
    wrong = page.locator(".own-model .own-wrong")
    unknown = json.dumps({"model_type": "perceiver"})
    page.get_by_label("A config.json", exact=True).fill(unknown)
    wrong.filter(has_text="perceiver").wait_for()
    with pytest.raises(ValueError, match="'perceiver' is not one") as refused:
        costlib.Transformer.from_hf(unknown)
    assert wrong.inner_text() == str(refused.value).partition("; it knows")[0]
    told = page.locator(".own-read")
    assert told.inner_text() == "It is not read: the answers are still those of llama-3.1-8b."
    box = page.get_by_label("A config.json", exact=True)
    box.fill("")
    box.focus()
    page.keyboard.insert_text("[" * 10**6)  # as a paste does
    wrong.filter(has_text="at most 200,000 characters").wait_for()
    assert len(box.input_value()) < 500_000, "laid out, a whole one would hold the page up"
    with change(page):
        page.get_by_label("A config.json", exact=True).fill(CONFIG)
    assert said(page) == told.inner_text() == "brought-8b is read."
    assert page.evaluate("document.activeElement.innerText") == "Your own config.json"
    brought, chosen = page.locator(f"{FIELD}model"), "each => each.selectedOptions[0].text"
    assert brought.evaluate(chosen) == "brought-8b (yours)"
    own = columns(page)
    choose(page, model="qwen3-8b")
    assert columns(page) == own
    choose(page, model="llama-3.1-8b")
    with change(page):
        page.evaluate(
            """([text]) => {
              const data = new DataTransfer();
              data.items.add(new File([text], 'config.json'));
              const event = new DragEvent('drop', { dataTransfer: data, bubbles: true });
              document.querySelector('.answers').dispatchEvent(event);
            }""",
            [CONFIG],
        )
    assert page.input_value(f"{FIELD}model").startswith("config.")
    assert columns(page) == own
    link = page.evaluate("location.href")
    assert len(link) < 1000
    assert "#model=config." in link
    page.goto("about:blank")
    page.goto(link)
    rest(page)
    assert columns(page) == own
    assert brought.evaluate(chosen) == "brought-8b (yours)"
    kept = "JSON.stringify([{ ...localStorage }, { ...sessionStorage }])"
    assert "brought" not in page.evaluate(kept)
    assert "config." not in page.evaluate(kept)
    page.goto("about:blank")
    page.goto(f"{link.partition('#')[0]}#model=config.AAAA")
    rest(page)
    assert "cut off or damaged" in page.locator(".own-wrong").last.inner_text()


def test_a_config_of_ones_own_is_filmed(visit: Opened) -> None:
    """Pasted under More settings; and a link to it opens the same film."""
    own = costlib.Transformer.from_hf(json.loads(CONFIG))
    step = float(costlib.serving.Server(own, "H100-SXM").step(1, 8192))
    time = "document.querySelector('[data-explorer]').explorer?.result?.film?.time"
    page = visit("book/explore_token_film.html")
    page.click("text=More settings")
    page.click("text=Your own config.json")
    with change(page):
        page.get_by_label("A config.json", exact=True).fill(CONFIG)
    assert same(page.evaluate(time), step)
    page.wait_for_function("location.hash.includes('config.')")
    page.reload()
    page.wait_for_function(f"{time} > 0")
    assert same(page.evaluate(time), step)


def test_who_reaches_for_the_models_finds_them_read(page: Any) -> None:
    """While a list is open they are read, and not before; a change in between ends nothing."""
    unread = "import('./../_static/explorers/costs.js').then(({ readAll }) => readAll())"
    is_left = f"{unread}.then((models) => !models.next().done)"
    assert page.evaluate(is_left)
    page.focus(f"{FIELD}model")
    choose(page, model="llama-3.1-70b")
    begun = f"document.querySelector('{EXPLORER}').explorer.foreseeing"
    # a look at each frame would leave it no rest
    page.wait_for_function(f"{begun} === null", polling=200)
    assert not page.evaluate(is_left)
    assert columns(page)["fits"][0].startswith("no\n")


def test_choices_stand_side_by_side_by_keyboard(page: Any) -> None:
    """A copy is added, changed, chosen, compared in words, linked to, copied and taken away."""
    before = columns(page)
    page.focus("text=Add a choice")
    with change(page):
        page.keyboard.press("Enter")
    choose(page, device="A100-80GB")
    both = columns(page)
    noted = re.compile(" (best|at .* an hour)$")
    assert {key: noted.sub("", cells[0]) for key, cells in both.items()} == {
        key: cells[0] for key, cells in before.items()
    }
    assert both["tpot_s"][0].endswith(" best")
    assert not both["tpot_s"][1].endswith(" best")
    heads = page.locator(".answers thead").first.locator("button[aria-pressed]")
    assert heads.all_inner_texts() == ["1: H100-SXM", "2: A100-80GB"]
    assert page.locator(".chart-line").count() == 2
    page.wait_for_function(
        "document.querySelector('.explorer-offscreen').innerText.includes('A100-80GB')"
    )
    link = page.evaluate("location.href")
    assert "beside=" in link
    heads.first.focus()
    with change(page):
        page.keyboard.press("Space")
    assert page.input_value(f"{FIELD}device") == "H100-SXM"
    assert columns(page) == both
    page.locator(".answers tr[data-key=tpot_s] button").first.press("Enter")
    why = page.locator(".answers tr.answers-why:visible")
    assert why.locator("p").count() == 2
    assert why.locator("a").first.get_attribute("href").startswith("serving.html#")
    line = page.locator(".calculator-line code").first
    assert line.count() == 0  # nobody sees it
    page.click("summary:has-text('Export')")
    page.wait_for_function("document.querySelector('.calculator-line code')?.textContent")
    assert re.search('"H100-SXM".*\\n.*"A100-80GB"', line.text_content())
    taken = json.loads(copied(page, "Copy as JSON"))
    assert [each["asked"]["on"] for each in taken] == ["H100-SXM", "A100-80GB"]
    with change(page):
        page.get_by_label("Take away 1: H100-SXM").press("Enter")
    assert columns(page).keys() == both.keys()
    assert page.input_value(f"{FIELD}device") == "A100-80GB"
    page.goto("about:blank")
    page.goto(link)
    rest(page)
    assert columns(page) == both
    assert page.input_value(f"{FIELD}device") == "A100-80GB"
    for _ in range(2):
        page.focus("text=Add a choice")
        with change(page):
            page.keyboard.press("Enter")
    on = "document.activeElement.innerText"
    assert page.evaluate(on) == heads.all_inner_texts()[3]  # the button has gone
    page.evaluate("""() => {
      navigator.clipboard.writeText = () => Promise.reject(new Error('no'));
      document.execCommand = () => false;
    }""")
    copied(page, "Copy a link to this")
    assert "Nothing was copied" in said(page)


def test_rent_and_power_of_several_choices_are_two_texts() -> None:
    """Each with its number; a device that nobody rents out is told, and no source is repeated."""
    beside = "model=llama-3.1-8b&device=L4*model=llama-3.1-8b&price=2"
    alone, several = ask("summary", [{"many": 2}, {"many": 2, "beside": beside}])
    rent = listed("H100-SXM")
    price = (
        f"${2 * rent.dollars_per_hour:.2f} an hour, ${1460 * rent.dollars_per_hour:,.0f} a month"
    )
    assert alone == [
        ["Rent", f"{price} ({rent.source})"],
        ["Power", "at most 1.4 kW (its datasheet)"],
    ]
    assert several == [
        [
            "Rent",
            f"1: {price} ({rent.source}); 2: none listed; "
            "3: $2.00 an hour, $1,460 a month (as you typed)",
        ],
        ["Power", "1: at most 1.4 kW; 2: at most 72 W; 3: at most 700 W (its datasheet)"],
    ]


def test_what_does_not_fit_gets_devices_and_what_is_too_long_no_link(page: Any) -> None:
    choose(page, model="llama-3.1-70b", device="A100-80GB")
    grey = "document.querySelectorAll('.answers-idle').length"
    assert columns(page)["fits"] == ["no\nnumbers in grey: if it did fit"]
    assert page.evaluate(grey) > 5
    with change(page):
        page.click("text=Use as many devices as it needs")
    assert page.locator(".calculator-enough").is_hidden()
    assert page.evaluate("document.activeElement.innerText") == "fits"
    assert columns(page)["fits"] == ["yes"]
    assert page.evaluate(grey) == 0
    assert page.input_value(f"{FIELD}many") == "4"
    last = costlib.answer("llama-3.1-70b", "A100-80GBx2", batch=8, context=8000)
    assert not last.fits
    assert copied(page, "Copy a link to this") == page.evaluate("location.href")
    assert said(page) == "The link is copied."
    choose(page, device="EPYC-7763")
    refused = page.locator(".own-wrong").last.inner_text()
    assert refused == (
        "EPYC-7763 has no interconnect: copies alone (Data, under More settings) need none"
    )
    with change(page):
        page.evaluate("location.hash = `model=config.${'A'.repeat(8000)}`")
    assert copied(page, "Copy a link to this") != page.evaluate("location.href")
    assert "8,000" in said(page)


def test_it_stands_alone_in_a_frame_from_a_disk(browser: Any, tmp_path: Path) -> None:
    """One line of HTML on any page shows it, in the state that was chosen, as high as it is."""
    address = (SITE / embed.NAME).as_uri() + "#device=L4&batch=2"
    [line] = in_page("share.js", "page.frameFor(state)", [address])
    (tmp_path / "host.html").write_text(
        f"<!DOCTYPE html><title>Host</title>{line}<p>after", "utf-8"
    )
    with Visit(browser, tmp_path.as_uri(), "host.html") as visit:
        frame = visit.page.frames[1]
        rest(frame)
        high = "Math.ceil(document.documentElement.getBoundingClientRect().height)"
        fits = "(high) => document.querySelector('iframe').offsetHeight === high"
        low = frame.evaluate(high)
        assert low > 900
        visit.page.wait_for_function(fits, arg=low)
        frame.click("text=More settings")
        unfolded = frame.evaluate(high)
        assert unfolded > low + 99
        visit.page.wait_for_function(fits, arg=unfolded)
        assert frame.evaluate("document.documentElement.scrollHeight") == unfolded
        assert frame.input_value(f"{FIELD}device") == "L4"
        links = frame.evaluate("[...document.querySelectorAll('a')].map((a) => [a.href, a.target])")
        assert links
        assert all(href.startswith("https://") and to == "_blank" for href, to in links)


def test_on_paper_it_says_of_what_it_is_the_answer(page: Any) -> None:
    page.emulate_media(media="print")
    for field in ("model", "device", "many", "batch"):
        assert page.locator(f"{FIELD}{field}").is_visible(), field
    assert not page.locator(".explorer-controls button:visible, [type=range]:visible").count()
    page.emulate_media(media="screen")


def test_the_frame_is_light() -> None:
    text = (SITE / embed.NAME).read_bytes()
    assert len(gzip.compress(text)) < 300_000
    assert not re.search(rb'(?:src|href)="(?!https://|data:,)', text)  # it loads nothing else
