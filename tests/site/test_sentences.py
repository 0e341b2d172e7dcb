"""What can be used in the text itself: predictions that answer, and numbers that move.

The numbers are computed by the packaged node, on the files that the site serves, and compared with
the library; then a prediction is made and a number moved, by mouse, touch and keyboard.
"""

from __future__ import annotations

import gzip
import math
import re
from typing import Any

import pytest

import sampling
from browsing import CENTRED, FINGERS, Opened, drag, swipe
from in_node import answers
from paths import ROOT, SITE
from tools import contents
from tools.pages import live

STATIC = ROOT / "book" / "_static"
LIVE = live.pages()
TEXTS = {
    path.stem: re.split(r"\n\n## Exercises\n", path.read_text("utf-8"))[0]
    for path in sorted((ROOT / "book").glob("*.md"))
}
BOXES = re.compile(r"^> \*\*Predict\.\*\*.*\n(?:>.*\n)*", re.MULTILINE)
ANSWERS = re.compile(r"<details><summary>Answer</summary>\n\n(.*?)\n\n</details>", re.DOTALL)


def boxes() -> list[tuple[str, str]]:
    """Every prediction of the book: its page, and its text without the quote's marks."""
    return [
        (name, re.sub(r"^> ?", "", box, flags=re.MULTILINE))
        for name, text in TEXTS.items()
        for box in BOXES.findall(text)
    ]


# ---------------------------------------------------------------- predictions


@pytest.mark.parametrize("box", [box for _, box in boxes()], ids=[name for name, _ in boxes()])
def test_a_prediction_is_answered_in_its_box(box: str) -> None:
    *asked, rest = re.split(r"<details>.*?</details>", box, flags=re.DOTALL)
    told = ANSWERS.findall(box)
    assert len(told) == len(asked) > 0
    assert rest.strip() == "", "a box ends with its last answer"
    for question, answer in zip(asked, told, strict=True):
        [(said, why)] = re.findall(r"^\*\*(.+?)[.:]?\*\* (.+)$", answer)
        options = re.findall(r"^- (.+)$", question, re.MULTILINE)
        assert options.count(said) == 1 if options else re.search(r"\d", said), said
        assert len(options) != 1
        assert re.search(r"\]\(#[\w-]+\)", why), "an answer leads to where it is derived"
        assert re.search(r"\?$", question.split("\n\n- ")[0].strip()), "a question ends the words"


def test_every_chapter_has_a_prediction() -> None:
    assert {chapter.name for chapter in contents.CHAPTERS} <= {name for name, _ in boxes()}


SAID = """[
  ['10,000 s', '10k', '1e4', '2.5 million', '1,5', '0,125', '.5', 'none'].map(page.number),
  ['18', '18 bytes', 'about 18', '-5', '60 %', '0', '18 BYTES', '1e-3']
    .map((text) => page.guessed(text, 'bytes')),
  ['40 percent', '40%', '40 GB', '40'].map((text) => page.guessed(text, 'per cent of the time')),
  state.map((each) => page.verdict(...each))]"""
#: A guess, what is right, and what the page says.
VERDICTS = {
    ("30 times", "30 times"): "You said 30 times: right.",
    ("100 GB", "101 GB"): "You said 100 GB: right.",
    ("80 GB", "100 GB"): "You said 80 GB: close, 20 % too low.",
    ("180", "100"): "You said 180: close, within a factor of 2.",
    ("5 ms", "10 ms"): "You said 5 ms: close, within a factor of 2.",
    ("400 times", "30 times"): "You said 400 times, 13 times too high.",
    ("memory", "arithmetic"): "You said “memory”; it comes out otherwise.",
}


def test_how_far_off_a_guess_is() -> None:
    [[read, typed, shares, said]] = answers(STATIC, {"page": "predict.js"}, SAID, [[*VERDICTS]])
    assert read == [10_000, 10_000, 10_000, 2_500_000, 1.5, 0.125, 0.5, None]
    assert typed == 3 * ["18 bytes"] + 3 * [None] + ["18 bytes", "1e-3 bytes"]
    share = "40 per cent of the time"
    assert shares == [share, share, None, share]
    assert said == [*VERDICTS.values()]


# ---------------------------------------------------------------- numbers that move

COMPUTED = """state.map(([name, settings, text]) => {
  const [formula, , words] = made.$shown[name];
  const values = settings.map((each) => formula(...each));
  return [values.map(String), page.like(text, values[0], words)(values[0])];
})"""
WRITTEN = """[state.map(page.like('3,579', 3578.6)),
  ['32 users', '3 guesses', '8 batches', '25 ms', '4,096'].map((text) => page.moves(text)(1)),
  page.like('29 users', 29)(1), page.moves('8,192 tokens')(1024)]"""


def test_how_a_number_is_written() -> None:
    """A whole one keeps its digits, one is not many, and thousands have their comma."""
    assert answers(STATIC, {"page": "live.js"}, WRITTEN, [[3578.6, 114516.1, 111.8]]) == [
        [
            ["3,579", "114,516", "112"],
            ["1 user", "1 guess", "1 batch", "1 ms", "1"],
            "1 user",
            "1,024 tokens",
        ]
    ]


@pytest.mark.parametrize("page", LIVE)
def test_what_moves_is_written_in_one_way(page: str) -> None:
    """Thousands with a comma, as the script writes them; what can be one takes its noun along."""
    texts = dict(LIVE[page].spans)
    assert not [text for text in texts.values() if re.match(r"\d{4}", text)]
    for moved in LIVE[page].moved:
        plural = rf'data-live="{moved.name}">[\d,]+</span> \w+s\b'
        assert moved.stops[0] != 1 or not re.search(plural, TEXTS[page]), moved.name


def asked(page: str) -> list[tuple[str, list[list[Any]], str]]:
    """Each answer of a page: its name, the sizes to try, first as printed, and the text."""
    texts, chance = dict(LIVE[page].spans), sampling.chance(f"live {page}")
    stops = {moved.name: moved.stops for moved in LIVE[page].moved}
    return [
        (
            shown.name,
            [[printed(stops[size], texts[size]) for size in shown.arguments]]
            + [[value(chance.choice(stops[s])) for s in shown.arguments] for _ in range(20)],
            texts[shown.name],
        )
        for shown in LIVE[page].shown
    ]


def value(stop: Any) -> Any:
    """The number at a stop, which may have a name."""
    return stop[1] if isinstance(stop, tuple) else stop


def printed(stops: tuple[Any, ...], text: str) -> Any:
    """The number that a text says."""
    names = dict(stop for stop in stops if isinstance(stop, tuple))
    return names[text] if names else live.number(text)


@pytest.mark.parametrize("page", LIVE)
def test_what_moves_is_said_and_used(page: str) -> None:
    each = LIVE[page]
    names = [m.name for m in each.moved] + [shown.name for shown in each.shown]
    assert len(set(names)) == len(names), "a name stands for one thing on a page"
    assert {name for name, _ in each.spans} == set(names)
    assert {size for shown in each.shown for size in shown.arguments} == {
        m.name for m in each.moved
    }
    assert all(len({text for name, text in each.spans if name == one}) == 1 for one in names)
    assert all(len(moved.stops) > 1 for moved in each.moved)


@pytest.mark.parametrize("page", LIVE)
def test_an_answer_is_the_library_s_and_as_printed(page: str) -> None:
    shown, tried = {each.name: each for each in LIVE[page].shown}, asked(page)
    modules = {"page": "live.js", "made": f"explorers/generated/live_{page}.js"}
    [found] = answers(STATIC, modules, COMPUTED, [tried])
    for (name, settings, text), (values, first) in zip(tried, found, strict=True):
        assert first == text, f"{name} comes out as {first}"
        for sizes, found in zip(settings, values, strict=True):
            whole = [int(size) if size == int(size) else size for size in sizes]
            expected = shown[name].value(**dict(zip(shown[name].arguments, whole, strict=True)))
            assert math.isclose(float(found), float(expected), rel_tol=1e-12), (name, sizes)


@pytest.mark.parametrize("name", LIVE)
def test_copies_read_as_plain_text(name: str) -> None:
    for copied in (SITE / "colab" / f"{name}.ipynb", SITE / "book" / f"{name}.md"):
        text = copied.read_text("utf-8")
        assert "data-live" not in text
        assert "<!-- live" not in text


def test_both_scripts_are_small() -> None:
    scripts = [STATIC / "predict.js", STATIC / "live.js"]
    most = max(
        (STATIC / "explorers" / "generated" / f"live_{name}.js" for name in LIVE),
        key=lambda path: path.stat().st_size,
    )
    assert sum(len(gzip.compress(path.read_bytes())) for path in [*scripts, most]) < 10_000


# ---------------------------------------------------------------- in the browser

PAGE = "book/matmul.html"


def test_a_prediction_is_made_by_keyboard_and_kept(visit: Opened) -> None:
    page = visit(PAGE)
    box = page.locator("blockquote.predict").first
    assert not box.locator("details").evaluate("(each) => each.open")
    box.locator("button").nth(1).focus()
    page.keyboard.press("Enter")
    assert box.locator(".predict-said").inner_text() == "You said 400 times, 13 times too high."
    assert box.locator("details").evaluate("(each) => each.open")
    box.locator("button").nth(2).click(force=True)  # one guess is all there is
    assert "400" in box.locator(".predict-said").inner_text()
    page.reload()
    assert "400" in box.locator(".predict-said").inner_text()


def test_without_javascript_an_answer_unfolds(visit: Opened) -> None:
    page = visit(PAGE, java_script_enabled=False)
    box = page.locator("blockquote.predict").first
    assert box.locator("li").count() == 3
    assert not box.get_by_text("The section on the ridge").is_visible()
    box.locator("summary").click()
    assert box.get_by_text("The section on the ridge").is_visible()
    page.emulate_media(media="print")
    assert box.get_by_text("The section on the ridge").is_visible(), "who opened it wants it"


def test_on_paper_a_prediction_is_still_to_be_made(visit: Opened) -> None:
    page = visit(PAGE)
    page.emulate_media(media="print")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    box = page.locator("blockquote.predict").first
    assert not box.get_by_text("The section on the ridge").is_visible()
    cells = ".cell_input:not(details *)"
    whole = "(all) => [...new Set(all.map((each) => getComputedStyle(each).breakInside))]"
    assert page.locator(cells).evaluate_all(whole) == ["avoid"], "frames without code"
    page.emulate_media(media="screen")


def test_a_number_is_moved_by_mouse_and_keyboard(visit: Opened) -> None:
    page = visit(PAGE)
    vectors, longer = (page.locator(f"[data-live={each}]") for each in ("vectors", "longer"))
    vectors.scroll_into_view_if_needed()
    assert (vectors.get_attribute("role"), vectors.text_content()) == ("slider", "128")
    vectors.hover(trial=True)  # it stays where it is
    box = vectors.bounding_box()
    drag(page, (box["x"] + 5, box["y"] + 8), (box["x"] + 60, box["y"] + 8))
    assert float(longer.text_content()) > 3
    page.keyboard.press("Home")
    assert (vectors.get_attribute("aria-valuetext"), longer.text_content()) == ("2", "1.00")
    page.wait_for_function("document.querySelector('.live-said').textContent.includes('1.00')")
    page.keyboard.press("Escape")
    assert (vectors.text_content(), longer.text_content()) == ("128", "1.06")


def test_a_finger_moves_a_number_sideways_and_the_page_upwards(visit: Opened) -> None:
    page = visit(PAGE, **FINGERS)
    vectors = page.locator("[data-live=vectors]")
    vectors.evaluate(CENTRED)
    top = page.evaluate("scrollY")
    swipe(page, vectors, 50, 0, below=8)
    moved = vectors.text_content()
    assert int(moved) > 128
    assert page.evaluate("scrollY") == top
    swipe(page, vectors, 0, -120, below=8)
    page.wait_for_function("(top) => scrollY > top + 50", arg=top)
    assert vectors.text_content() == moved


def test_only_pages_that_need_them_load_the_scripts() -> None:
    for name in ("glossary", "matmul"):
        html = (SITE / "book" / f"{name}.html").read_text("utf-8")
        assert ("predict.js" in html) == ("live_matmul.js" in html) == (name == "matmul")
