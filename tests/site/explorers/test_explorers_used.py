"""The explorers used as a reader would, in a browser with the network cut.

They need the site, with the explorers' pages, and chromium, like the tests of test_site.
"""

from __future__ import annotations

import re
from typing import Any

import pytest

import sampling
from browsing import CENTRED, FINGERS, SMALL, TWO_FRAMES, Opened, change, drag, rest, swipe
from costlib import models
from explorer_settings import CHARTS, NAMES, of_any_length, one_step, page_of, seconds, size
from in_node import same
from tools.pages import explorers

LAPTOP = {"width": 1280, "height": 720}
EXPLORER = "document.querySelector('[data-explorer]').explorer"
SUMMARY = "document.querySelector('.explorer-summary').innerText"
WIDTH = "document.documentElement.scrollWidth"
STOPPED = "document.querySelector('.users-play').textContent === 'Play'"


@pytest.fixture
def open_page(visit: Opened) -> Opened:
    """Open an explorer, perhaps in a state, and wait until it is there."""

    def opened(name: str, state: str = "", page: str = "", **options: Any) -> Any:
        return visit((page or page_of(name)) + state, **options)

    return opened


def is_new(name: str) -> bool:
    """Whether an explorer has just changed."""
    return sampling.touched(f"book/_static/explorers/{name}.js")


def middle(box: dict[str, float], across: float = 0.5) -> tuple[float, float]:
    """A place in a box, so far across and half of its height down."""
    return box["x"] + box["width"] * across, box["y"] + box["height"] / 2


def press(page: Any, text: str) -> None:
    """Press the button that says this, and wait until what it does is done."""
    with change(page):
        page.locator(f"button:text-is('{text}')").first.click()


def enter(page: Any, field: str, text: str, of: str = "[data-explorer]") -> None:
    """Type into a field what it should hold."""
    with change(page, of):
        page.fill(field, text)
        page.press(field, "Enter")


# ---------------------------------------------------------------- on a screen

#: How much moved by itself since the page was opened.
SHIFT = """() => {
  const shifts = new PerformanceObserver(() => {});
  shifts.observe({ type: 'layout-shift', buffered: true });
  return shifts.takeRecords().filter((each) => !each.hadRecentInput)
    .reduce((sum, { value }) => sum + value, 0);
}"""
#: Where the settings begin, or what is drawn in their place; and where what is drawn ends.
PICTURE = """() => {
  const top = (one) => one.getBoundingClientRect().top;
  const [form, stage] = ['controls', 'stage'].map((part) =>
    document.querySelector(`[data-explorer] .explorer-${part}`));
  const picture = stage.querySelector('.explorer-chart') ??
    [...stage.querySelectorAll('.explorer-panel')].at(-1) ?? stage;
  return [top(form.hidden ? stage : form), picture.getBoundingClientRect().bottom];
}"""


@pytest.mark.parametrize("name", sampling.some(NAMES, 5, "explorers on a phone", first=is_new))
def test_explorer_is_all_on_one_screen(open_page: Opened, name: str) -> None:
    """On a phone and on a laptop the settings that matter and the picture, header included; nothing
    is wider than a phone, nothing moves by itself, and the table opens. Where a chart is the
    picture, the first line of what a suggestion says is on a phone's screen as well."""
    page = open_page(name, "#moves=R0R1C8" if name == "pebbles" else "", viewport=SMALL)
    assert page.evaluate(SHIFT) <= 0.05
    for screen in (LAPTOP, SMALL):
        with change(page):
            page.set_viewport_size(screen)
        assert page.evaluate(WIDTH) <= screen["width"]
        top, bottom = page.evaluate(PICTURE)
        assert 0 < top < bottom <= screen["height"], screen
    assert len(page.evaluate(SUMMARY)) > 40
    assert page.evaluate("document.querySelector('[data-explorer]').innerText").count("NaN") == 0
    assert page.locator(".explorer-tries button").count() >= 3
    page.click("details > summary:has-text('The numbers behind this')")
    page.wait_for_selector(".explorer-table tbody tr")
    assert "NaN" not in page.inner_text(".explorer-table")
    assert page.evaluate(WIDTH) <= 375
    if name in CHARTS:
        with change(page):
            page.locator(".explorer-tries button").first.click()
        edges = "(one) => document.querySelector(one).getBoundingClientRect().top"
        top, said = (page.evaluate(edges, f".explorer-{one}") for one in ("controls", "said"))
        assert said - top < 667 - 60 - 24  # less the page's bar, and a line


def test_what_moves_by_itself_is_seen(open_page: Opened) -> None:
    page = open_page("io")
    high = "document.querySelector('.explorer-controls').style.marginTop = '300px'"
    page.evaluate(f"new Promise((done) => requestAnimationFrame(() => {{ {high}; done(); }}))")
    page.wait_for_function(f"({SHIFT})() > 0.05")


def test_a_suggestion_goes_along_to_a_picture_that_is_far(open_page: Opened) -> None:
    """On a phone, where settings and picture fill the screen, its words stay at the lower edge."""
    page = open_page("mesh", viewport=SMALL)
    with change(page):
        page.locator(".explorer-tries button").first.click()
    page.locator(".explorer-stage").evaluate("(one) => one.scrollIntoView({behavior: 'instant'})")
    said = page.locator(".explorer-said").bounding_box()
    assert said["y"] > 400
    assert said["y"] + said["height"] <= 667


def test_charts_can_be_read_in_light_and_dark(open_page: Opened) -> None:
    """What the system asks for, and what the page's own button does."""
    page = open_page("step", color_scheme="light")
    ink = "getComputedStyle(document.querySelector('.chart-picture text')).fill"
    light = page.evaluate(ink)
    page.emulate_media(color_scheme="dark")
    page.wait_for_function("document.documentElement.dataset.theme === 'dark'")
    dark = page.evaluate(ink)
    assert dark != light
    assert page.evaluate(f"(document.documentElement.dataset.theme = 'light', {ink})") == light


@pytest.mark.parametrize("name", sampling.some(NAMES, 2, "no script"))
def test_without_javascript_a_figure_and_a_table_stand_in(open_page: Opened, name: str) -> None:
    page = open_page(name, java_script_enabled=False)
    stand_in = page.locator(f"[data-explorer={name}]")
    assert stand_in.locator("table tr").count() >= 4
    cell = page.locator(".cell_output", has=stand_in)
    assert cell.locator("svg.costlib-figure.explorer-stand-in").is_visible()


def test_where_the_script_does_not_come_a_figure_and_a_table_stand_in(
    browser: Any, address: str
) -> None:
    page = browser.new_page()
    page.route("**/explorers/main.js*", lambda route: route.abort())
    with page.expect_event("requestfailed", lambda request: "explorers/main.js" in request.url):
        page.goto(f"{address}/book/explore_step.html")
    assert page.locator("[data-explorer] table").is_visible()
    assert page.locator("svg.explorer-stand-in").is_visible()
    page.close()


# ---------------------------------------------------------------- addresses


def test_two_on_a_page(open_page: Opened) -> None:
    """They start when they come near, and neither takes the other's settings or address; a hostile
    address does no harm."""
    film, drafts = (f"[data-explorer={name}]" for name in ("serving_film", "speculative"))
    page = open_page("", page="book/serving_faster.html")
    assert page.evaluate("(one) => document.querySelector(one).explorer", film) is None
    state = "([one, name]) => document.querySelector(one).explorer.state[name]"
    for one in (film, drafts):
        page.locator(one).scroll_into_view_if_needed()
        rest(page, one)
    ids = page.evaluate("[...document.querySelectorAll('[id]')].map((each) => each.id)")
    assert len(ids) == len({*ids})
    enter(page, "#explorer-serving_film-rate", "6", film)
    enter(page, "#explorer-speculative-accepted", "5", drafts)
    link = page.evaluate("location.hash")
    assert "film.rate=6&" in link
    assert "speculative.accepted=5" in link
    both = ([film, "rate"], [drafts, "accepted"])
    assert [page.evaluate(state, each) for each in both] == [6, 5]
    page.evaluate("location.hash = '#exercises'")
    page.wait_for_function("document.getElementById('exercises').getBoundingClientRect().top < 200")
    page.evaluate("(one) => { document.querySelector(one).explorer.state.rate = 99; }", film)
    with change(page, film):
        page.go_back()
    assert page.evaluate(state, [film, "rate"]) == 6
    again = open_page("", link, page="book/serving_faster.html")
    rest(again, film)
    assert again.evaluate(state, [film, "rate"]) == 6
    again.wait_for_function(
        """(one) => {
          const { top } = document.querySelector(one).getBoundingClientRect();
          return top > 0 && top < 200;
        }""",
        arg=film,
    )
    assert "#rate=6" in again.locator("text=Open on its own page").first.get_attribute("href")
    for hostile, rate in (
        ("#rate=7&speculative.accepted=%", 7),
        ("#serving_film.rate=<img src=x>&=&&&serving_film.=1", 2.5),
        ("#__proto__.a=1&serving_film.__proto__=2", 2.5),
    ):
        with change(again, film):
            again.evaluate("(hash) => { location.hash = hash; }", hostile)
        assert again.evaluate(state, [film, "rate"]) == rate
    assert again.locator("[data-explorer] img").count() == 0
    assert again.evaluate("({}).a") is None


def test_drag_type_keys_and_a_link(open_page: Opened) -> None:
    page = open_page("prefill")
    said = [page.evaluate(SUMMARY)]
    box = page.locator("input[type=range][aria-label=Sequence]").bounding_box()
    with change(page):
        drag(page, middle(box), middle(box, 0.8))
    said.append(page.evaluate(SUMMARY))
    enter(page, "#explorer-prefill-seq", "777")
    said.append(page.evaluate(SUMMARY))
    assert len({*said}) == 3
    enter(page, "#explorer-prefill-seq", "")
    assert page.input_value("#explorer-prefill-seq") == "777"
    page.focus("input[type=range][aria-label=Batch]")
    with change(page):
        page.keyboard.press("ArrowRight")
        page.keyboard.press("ArrowRight")
    assert page.input_value("#explorer-prefill-batch") == "4"
    link = page.evaluate("location.hash")
    assert "seq=777" in link
    assert "batch=4" in link
    again = open_page("prefill", link)
    assert again.evaluate(SUMMARY) == page.evaluate(SUMMARY)


def test_link_and_numbers_can_be_copied(open_page: Opened) -> None:
    rights = {"permissions": ["clipboard-read", "clipboard-write"]}
    page = open_page("memory", "#model=gpt2&device=T4", **rights)
    copied = "navigator.clipboard.readText()"
    press(page, "Copy a link to this")
    assert page.inner_text(".explorer-live") == "The link is copied."
    assert page.evaluate(copied) == page.evaluate("location.href")
    press(page, "Copy the numbers as CSV")
    assert page.inner_text(".explorer-live") == "The numbers are copied."
    lines = page.evaluate(copied).splitlines()
    assert lines[0].startswith("kind of cache,weights (B),cache (B)")
    assert lines[1].split(",")[1] == str(models["gpt2"].params() * 2)


def test_wrong_addresses_are_mended_and_a_browser_agrees_with_the_library(
    open_page: Opened,
) -> None:
    page = open_page("step", "#model=nothing&batch=-5&context=1e99&dtype=%3Cb%3E&shared=3")
    assert page.input_value("#explorer-step-batch") == "1"
    assert page.evaluate(f"{EXPLORER}.state.model") == "llama-3-8b"
    assert "NaN" not in page.evaluate(SUMMARY)
    chance = sampling.chance("setting 9")
    for name in chance.sample(of_any_length(), 3):
        s = {"model": name, "device": "H100-SXM", "dtype": "fp8", "phase": "decode"}
        s |= {"batch": size(chance, 512), "context": size(chance, 10**5)}
        s |= {"weights": "1", "kv": "2", "shared": "1"}
        with change(page):
            page.evaluate(f"(s) => {EXPLORER}.set(s)", s)
        assert same(page.evaluate(f"{EXPLORER}.result.time"), seconds(one_step(s)[0]))


# ---------------------------------------------------------------- charts


def test_values_are_read_out_by_arrow_keys(open_page: Opened) -> None:
    page = open_page("io")
    page.focus(".explorer-chart")
    with change(page):
        page.keyboard.press("End")
    said = page.inner_text(".explorer-live")
    assert "268,435,456" in said
    assert re.findall(r"lower bound [\d,]*", said) == ["lower bound 1,050,000"]


def test_a_budget_is_dragged_on_one_screen(open_page: Opened) -> None:
    page = open_page("budget", viewport=SMALL)
    charts, settings = page.locator(".explorer-chart"), page.locator(".explorer-controls")
    to_settings = "(one) => scrollBy({ top: one.getBoundingClientRect().top - 60, "
    for screen in (SMALL, LAPTOP):
        if screen is LAPTOP:
            with change(page):
                page.set_viewport_size(screen)
        settings.evaluate(f"{to_settings}behavior: 'instant' }})")
        box = charts.first.bounding_box()
        assert settings.bounding_box()["y"] >= 55  # below the page's own bar
        assert box["y"] + box["height"] <= screen["height"]
    y = box["y"] + 100
    with change(page):
        drag(page, (middle(box, 0.3)[0], y), (middle(box, 0.6)[0], y))
    bottoms = "[...document.querySelectorAll('.chart-picture')].map((each) => "
    first = open_page("budget", viewport=LAPTOP).evaluate(
        f"{bottoms}each.getBoundingClientRect().bottom)"
    )
    assert (len(first), max(first) < LAPTOP["height"]) == (2, True)
    before = explorers.drawable()["llama-3.1-8b"].params() * 15_000
    after = page.evaluate(f"{EXPLORER}.state")
    params = explorers.drawable()[after["model"]].params()
    assert params > 40e9
    assert params * after["tokens"] == pytest.approx(before, rel=1e-3)
    charts.nth(1).evaluate(CENTRED)
    box = charts.nth(1).bounding_box()
    with change(page):
        drag(page, middle(box, 0.5), middle(box, 0.9))
    assert page.evaluate(f"{EXPLORER}.state.devices") > 10_000
    assert page.evaluate(f"{EXPLORER}.state.model") == after["model"]


def test_what_fits_is_above_the_lines(open_page: Opened) -> None:
    """The memory of the device, divided, with the answer as its title; and where nothing fits."""
    page = open_page("memory")
    title, bar = page.locator(".explorer-stage .explorer-title"), ".explorer-stage .explorer-stack"
    assert title.inner_text() == "llama-3-8b on A100-80GB: room for 57 sequences of 8,192 tokens"
    [weights, cache] = page.evaluate(
        "(one) => [...document.querySelector(one).children].slice(0, 2).map((part) => "
        "part.offsetWidth / part.parentElement.clientWidth)",
        bar,
    )
    assert (weights, cache) == pytest.approx((16.06 / 77.31, 17.18 / 77.31), abs=0.005)
    enter(page, "#explorer-memory-batch", "58")
    assert title.inner_text().endswith("no room for 58, only for 57 sequences of 8,192 tokens")


def test_a_target_is_dragged_on_the_chart(open_page: Opened) -> None:
    page = open_page("frontier")
    page.locator(".explorer-chart").first.evaluate(CENTRED)
    box = page.locator(".explorer-chart .chart-lines").first.bounding_box()
    with change(page):
        drag(page, middle(box, 0.25), middle(box, 0.75))
    assert page.evaluate(f"{EXPLORER}.state.target") < 12
    assert page.evaluate(f"{EXPLORER}.state.model") == "llama-3.1-8b"
    press(page, "Out of reach")
    assert "2 devices would do" in page.evaluate(SUMMARY)
    assert page.locator(".explorer-said:not(.explorer-over)").is_visible()
    with change(page):
        page.press("#explorer-frontier-target", "ArrowUp")
    assert page.locator(".explorer-said.explorer-over").is_visible()  # said of another state
    press(page, "Start again")
    assert page.inner_text(".explorer-said") == ""


@pytest.mark.parametrize(
    ("name", "held"),
    [("memory", ".explorer-chart"), ("serving_film", ".server-lines"), ("users", ".users-stack")],
)
def test_a_finger_goes_sideways_or_leaves_the_page_to_scroll(
    open_page: Opened, name: str, held: str
) -> None:
    page = open_page(name, **FINGERS)
    touched = page.locator(held).first
    touched.evaluate(CENTRED)
    before, top = page.evaluate(f"[{EXPLORER}.state, scrollY]")
    with change(page):
        swipe(page, touched, 60, 4)
    after, end = page.evaluate(f"[{EXPLORER}.state, scrollY]")
    assert (after != before, end) == (True, top)
    swipe(page, touched, 0, -120)
    page.wait_for_function("(top) => scrollY > top + 50", arg=top)
    assert page.evaluate(f"{EXPLORER}.state") == after


def test_a_dot_answers_a_finger(open_page: Opened) -> None:
    """The largest one, which stays where it is, says what it is until something else is touched."""
    page = open_page("step", **FINGERS)
    chart = page.locator(".explorer-chart")
    chart.evaluate(CENTRED)
    largest = max(page.locator(".chart-dot").all(), key=lambda dot: float(dot.get_attribute("r")))
    page.touchscreen.tap(*middle(largest.bounding_box()))
    tip = page.locator(".explorer-tip")
    assert tip.inner_text().startswith("scores, values")
    with change(page):
        page.touchscreen.tap(*middle(page.locator(".chart-grip").bounding_box(), 0.9))
    assert not tip.is_visible()


def test_a_finger_holds_a_handle(open_page: Opened) -> None:
    """Up and down too, where the rest of the chart would let the page scroll."""
    page = open_page("frontier", **FINGERS)
    handle = page.locator(".explorer-chart .chart-grip").nth(1)
    handle.evaluate(CENTRED)
    top = page.evaluate("scrollY")
    with change(page):
        swipe(page, handle, 0, -60, below=10)
    assert page.evaluate("scrollY") == top
    target = page.evaluate(f"{EXPLORER}.state.target")
    assert target > 50, "to the end of its way, not only at first"


# ---------------------------------------------------------------- what plays, and is played


def test_film_plays_steps_and_scrubs(open_page: Opened) -> None:
    page = open_page("film", "#speed=60&frame=0")
    frame = f"{EXPLORER}.result.frame"
    press(page, "Step")
    press(page, "Step")
    assert page.evaluate(frame) == 2
    press(page, "Back")
    assert page.evaluate(frame) == 1
    page.click("button:text-is('Play')")
    page.wait_for_function(f"{frame} > 6")
    page.click("button:text-is('Pause')")
    rest(page)
    now = page.evaluate(frame)
    page.focus(".film-line")
    with change(page):
        page.keyboard.press("ArrowRight")
    assert page.evaluate(frame) == now + 1
    page.locator(".film-picture").first.evaluate(CENTRED)
    box = page.locator(".film-picture").first.bounding_box()
    with change(page):
        drag(page, (box["x"] + 40, box["y"] + 60), (box["x"] + 120, box["y"] + 60))
    assert page.evaluate(frame) > now + 1  # a drag of the picture turns the film on
    assert page.get_attribute(".film-line", "aria-valuenow") == str(page.evaluate(frame))
    press(page, "End")
    assert "1,152 read, 576 written of 1,728: done" in page.evaluate(SUMMARY)


def test_film_of_a_token_plays_steps_and_is_dragged(open_page: Opened) -> None:
    """By buttons, keys and pointer; a layer at a time where little motion is asked for."""
    page = open_page("token_film", "#frame=0", reduced_motion="no-preference")
    frame, layer = f"{EXPLORER}.result.frame", f"{EXPLORER}.result.now.layer"
    press(page, "Step")
    press(page, "Step")
    press(page, "Back")
    assert page.evaluate(frame) == 1
    page.click("button:text-is('Play')")
    page.wait_for_function(f"{frame} > 3")
    page.click("button:text-is('Pause')")
    rest(page)
    page.focus(".film-line")
    now, where = page.evaluate(f"[{frame}, {layer}]")
    for key, moved in (("ArrowRight", [1, 0]), ("ArrowLeft", [0, 0]), ("PageDown", None)):
        with change(page):
            page.keyboard.press(key)
        if moved:
            assert page.evaluate(frame) == now + moved[0]
    assert page.evaluate(layer) == max(0, where - 1)
    for key, name in (("End", "Unembedding"), ("Home", "Before the step")):
        with change(page):
            page.keyboard.press(key)
        assert name in page.get_attribute(".film-line", "aria-valuetext")
    page.locator(".token-lines").evaluate(CENTRED)
    box = page.locator(".token-lines").bounding_box()
    upper, lower = box["y"] + 30, box["y"] + 130
    with change(page):
        page.mouse.click(box["x"] + box["width"] / 2, upper)
    assert 14 <= page.evaluate(layer) <= 18
    where = page.evaluate(layer)
    with change(page):
        drag(page, (box["x"] + 5, lower), (box["x"] + box["width"] - 3, lower))
    assert page.evaluate(layer) == where
    assert page.evaluate(f"{EXPLORER}.result.now.op.name") == "ffn.down"
    with change(page):
        page.evaluate(f"{EXPLORER}.set({{...{EXPLORER}.state, model: 'falcon-7b', many: '2'}})")
    assert "does not divide the model" in page.evaluate(SUMMARY)
    press(page, "Start again")
    assert page.locator(".token-lines").count() == 1


def test_film_of_a_token_goes_layer_by_layer_where_little_motion_is_asked(
    open_page: Opened,
) -> None:
    page = open_page("token_film", "#frame=0")
    page.evaluate("window.setInterval = (tick, wait) => Object.assign(window, { tick, wait }).wait")
    page.click("button:text-is('Play')")
    seen = []
    for _ in range(3):
        with change(page):
            page.evaluate("tick()")
        seen.append(page.evaluate(f"{EXPLORER}.result.now.layer"))
    assert (seen, page.evaluate("wait")) == ([0, 1, 2], 1000)


def test_film_of_a_server_is_dragged_and_says_what_does_not_fit(open_page: Opened) -> None:
    page = open_page("serving_film")
    lines = page.locator(".server-lines")
    lines.first.evaluate(CENTRED)
    with change(page):
        page.mouse.click(*middle(lines.first.bounding_box()))
    assert page.evaluate(f"{EXPLORER}.state.moment") == pytest.approx(500, abs=5)
    assert page.evaluate(f"{EXPLORER}.result.at[0][1]") > 3
    with change(page):
        page.evaluate(f"{EXPLORER}.set({{...{EXPLORER}.state, device: 'RTX-3060'}})")
    assert "does not fit" in page.evaluate(SUMMARY).lower()
    press(page, "Start again")
    assert lines.count() == 2
    page.click("button:text-is('Play')")
    page.wait_for_selector("button:text-is('Pause')")
    page.click("button:text-is('A quiet hour')")
    assert page.locator("button:text-is('Play')").count() == 1, "it does not play on"


def test_game_by_click_keyboard_and_to_the_optimum(open_page: Opened) -> None:
    page = open_page("pebbles", "#graph=fft&red=3")
    vertices, live = page.locator(".pebble"), ".pebble-message"
    menu, on = page.locator(".pebble-menu"), "document.activeElement.textContent"
    with change(page):
        vertices.nth(4).click()  # its parents are not red
    refused = "a vertex is computed when all its parents are red, and 0 is not"
    assert refused in page.inner_text(live)
    with change(page):
        vertices.nth(0).click()
    vertices.nth(0).focus()
    page.keyboard.press("ArrowRight")
    with change(page):
        page.keyboard.press("r")
    assert page.evaluate("location.hash").endswith("moves=R0R1")
    with change(page):
        vertices.nth(4).click()  # now it is computed: one legal move, and nothing is asked
    with change(page):
        vertices.nth(4).click()  # written, or deleted?
    assert menu.locator("button").all_inner_texts() == ["write: costs 1", "delete: free"]
    page.keyboard.press("Escape")  # not from the menu, which stays until it is answered or left
    vertices.nth(4).focus()
    page.keyboard.press("Enter")
    assert menu.count() == 0
    page.keyboard.press("Enter")
    assert page.evaluate(on) == "write: costs 1"
    page.keyboard.press("Escape")
    assert page.evaluate(on) == "4"
    page.keyboard.press("Enter")
    with change(page):
        page.click(".pebble-menu button:has-text('write')")
    assert page.evaluate("location.hash").endswith("moves=R0R1C4W4")
    assert menu.count() == 0
    press(page, "Undo")
    assert page.inner_text(live) == "Taken back: write 4. I/O 2"
    press(page, "Clear the board")
    best = page.evaluate(f"{EXPLORER}.result.best")
    for made, move in enumerate(best["moves"].split(), start=1):
        vertices.nth(int(move[1:])).focus()
        page.keyboard.press(move[0].lower())
        page.wait_for_function(f"{EXPLORER}.result.board.moves.length === {made}")
    rest(page)
    assert "you have reached it" in page.inner_text(live)
    assert "done, and nothing is cheaper" in page.evaluate(SUMMARY)
    assert best["cost"] == 14
    assert "no position that was left" in page.inner_text(".pebble-proof")
    assert page.inner_text(".explorer-live") == "", "said once"
    press(page, "Clear the board")
    press(page, "Compute twice")
    assert page.locator(".pebble-blue").count() == page.locator(".pebble-output").count() == 1


def test_a_tile_that_is_held_shows_what_it_would_give(open_page: Opened) -> None:
    """Over an axis that can take it, the bars are those of the fold that it would make."""
    page = open_page("mesh")
    page.locator(".mesh-axes").evaluate(CENTRED)
    bars = "document.querySelectorAll('.mesh-bar')[1].innerText"
    before = page.evaluate(bars)
    tile = page.locator("[data-axis=pipeline] .mesh-tile").first.bounding_box()
    target = page.locator("[data-axis=data]").bounding_box()
    page.mouse.move(*middle(tile))
    page.mouse.down()
    page.mouse.move(*middle(target), steps=3)
    would = page.evaluate(bars)
    assert "6.17 s as now" in would
    assert page.evaluate(f"{EXPLORER}.state.pipeline") == "4"
    with change(page):
        page.mouse.up()
    assert page.evaluate(bars).splitlines()[1:] == would.splitlines()[1:] != before.splitlines()[1:]
    tile = page.locator("[data-axis=data] .mesh-tile").first.bounding_box()
    drag(page, middle(tile), middle(target), (5, 5))
    assert "as now" not in page.evaluate(bars), "let go where nothing takes it"


def test_a_tile_is_dragged_and_a_button_pressed(open_page: Opened) -> None:
    page = open_page("mesh")
    page.locator(".mesh-axes").evaluate(CENTRED)
    folded = "(axis) => document.querySelector(`[data-axis=${axis}] b`).textContent"
    tile = page.locator("[data-axis=pipeline] .mesh-tile").first.bounding_box()
    target = page.locator("[data-axis=data]").bounding_box()
    with change(page):
        drag(page, (tile["x"] + 8, tile["y"] + 8), (target["x"] + 20, target["y"] + 20))
    assert [page.evaluate(folded, axis) for axis in ("pipeline", "data")] == ["2", "8"]
    page.focus("button[aria-label='tensor: half as many']")
    with change(page):
        page.keyboard.press("Enter")
    assert [page.evaluate(folded, axis) for axis in ("tensor", "data")] == ["4", "16"]
    assert "tensor=4" in page.evaluate("location.hash")
    page.focus("button[aria-label='context: half as many']")
    with change(page):
        page.keyboard.press("Enter")
    assert "context cannot be halved: it is one" in page.inner_text(".explorer-live")
    press(page, "Tensor over four nodes")
    assert page.evaluate(folded, "tensor") == "32"
    assert page.locator("[data-axis=tensor] .mesh-tile-far").count() == 2
    assert "cross the network" in page.inner_text(".explorer-said")
    press(page, "Find the fastest plan that fits")
    assert "fastest" in page.inner_text(".explorer-live")
    assert "tensor=4" in page.inner_text(".mesh-code")
    press(page, "Start again")
    assert page.inner_text(".explorer-live") == "", "said of another fold"


def test_the_first_page_opens_on_what_can_be_dragged(open_page: Opened) -> None:
    page = open_page("users", page="book/index.html", viewport=SMALL)
    edges = "(one) => document.querySelector(one).getBoundingClientRect()"
    for screen in (SMALL, LAPTOP):
        if screen is LAPTOP:
            with change(page):
                page.set_viewport_size(screen)
        for part in (".explorer-controls", ".explorer-summary", ".users-story"):
            box = page.evaluate(edges, part)
            assert 0 < box["top"] < box["bottom"] <= screen["height"], (part, screen)
        assert page.evaluate(WIDTH) <= screen["width"]
    assert "131" in page.evaluate(SUMMARY)
    tank = page.locator(".users-tank").bounding_box()
    with change(page):
        drag(page, middle(tank, 0.25), middle(tank, 0.5))
    inside = (0.5 * 77.3 - 16.06) / 0.5373
    before = page.evaluate(f"{EXPLORER}.result.users")
    assert before == pytest.approx(inside, abs=3)
    assert page.locator(".users-passed").count() == 1
    with change(page):
        page.keyboard.press("ArrowRight")
    assert page.evaluate(f"{EXPLORER}.result.users") == before + 1
    with change(page):
        page.keyboard.press("End")
    assert "Memory is full: 113 users" in page.inner_text(".users-story")
    assert page.locator(".users-passed").count() == 2
    with change(page):
        page.select_option("[data-explorer] select >> nth=0", "T4")
    assert "do not fit" in page.inner_text(".users-story")
    assert page.evaluate(WIDTH) <= LAPTOP["width"]


def test_the_first_page_plays_once_until_it_is_touched(open_page: Opened) -> None:
    """By itself, but not where an address says what to see; then as somebody plays it."""
    users = f"{EXPLORER}.state.users"
    moves = {"page": "book/index.html", "reduced_motion": "no-preference"}
    page = open_page("users", **moves)
    page.wait_for_function(f"{users} > 2")
    page.locator(".users-tank").click()
    page.wait_for_function(STOPPED)
    rest(page)
    held = page.evaluate(users)
    page.evaluate(TWO_FRAMES)
    assert page.evaluate(users) == held
    page.clock.install()
    page.click(".users-play")
    page.wait_for_function(f"{users} != {held}")
    page.clock.fast_forward(30_000)
    page.wait_for_function(f"{users} == {held} && ({STOPPED})")
    page = open_page("users", "#users=7", **moves)
    page.evaluate(TWO_FRAMES)
    assert page.evaluate(STOPPED)
