"""What the buttons around a page do: colours, side bars, search, menus, and copies of code."""

from __future__ import annotations

from typing import Any

import pytest

from browsing import Visit

PAGE = "book/kvcache.html"
PHONE, DESK = {"width": 375, "height": 800}, {"width": 1280, "height": 800}
SEARCH = "#pst-search-dialog, .search-button__search-container"
THEME = "document.documentElement.dataset.theme === '{0}'"


def test_colours_go_round_and_are_remembered(browser: Any, address: str) -> None:
    """From those of the machine to dark, to light, and back, on this page and on the next."""
    with Visit(browser, address, PAGE, color_scheme="light") as visit:
        page = visit.page
        page.wait_for_function(THEME.format("light"))
        page.click("button.theme-switch-button:visible")
        if (menu := page.locator(".theme-change-button[data-mode=dark]")).count():
            menu.first.click()
        page.wait_for_function(THEME.format("dark"))
        page.goto(f"{address}/book/matmul.html")
        page.wait_for_function(THEME.format("dark"))
        assert page.evaluate("document.documentElement.dataset.mode") == "dark"
        assert visit.errors == []


def test_colours_follow_the_machine_until_one_is_chosen(browser: Any, address: str) -> None:
    with Visit(browser, address, PAGE, color_scheme="light") as visit:
        visit.page.wait_for_function(THEME.format("light"))
        visit.page.emulate_media(color_scheme="dark")
        visit.page.wait_for_function(THEME.format("dark"))


@pytest.mark.parametrize("which", ["primary", "secondary"])
def test_a_side_bar_opens_and_closes_on_a_phone(browser: Any, address: str, which: str) -> None:
    """By its button, and by a touch beside it; its links work."""
    link = f".bd-sidebar-{which} nav a"
    seen = """(link) => { const place = document.querySelector(link)?.getBoundingClientRect();
      return place && place.width > 0 && place.left >= 0 && place.right <= innerWidth; }"""
    with Visit(browser, address, PAGE, viewport=PHONE) as visit:
        page = visit.page
        assert not page.evaluate(seen, link)
        page.click(f".{which}-toggle")
        page.wait_for_function(seen, arg=link)
        page.mouse.click(370 if which == "primary" else 5, 400)
        page.wait_for_function(f"(link) => !({seen})(link)", arg=link)
        page.click(f".{which}-toggle")
        page.wait_for_function(seen, arg=link)
        before = page.url
        page.locator(link).first.click()
        page.wait_for_function("(before) => location.href !== before", arg=before)
        assert visit.errors == []


def test_the_side_bar_goes_away_on_a_desk(browser: Any, address: str) -> None:
    with Visit(browser, address, PAGE, viewport=DESK) as visit:
        bar = visit.page.locator(".bd-sidebar-primary")
        assert bar.is_visible()
        visit.page.click(".primary-toggle")
        bar.wait_for(state="hidden")
        visit.page.click(".primary-toggle")
        bar.wait_for()


def test_the_list_of_pages_stays_where_it_was(browser: Any, address: str) -> None:
    with Visit(browser, address, "book/matmul.html", viewport={"width": 1280, "height": 500}) as on:
        where = "document.querySelector('.sidebar-primary-item:has(> .bd-docs-nav)').scrollTop"
        on.page.evaluate(f"{where} = 70")
        on.page.goto(f"{address}/book/attention.html")
        on.page.wait_for_function(f"{where} === 70")


def test_a_phone_lays_out_little_at_first(browser: Any, address: str) -> None:
    """Neither the side bars, until one is opened, nor the code far below."""
    seen = "(each) => each.checkVisibility({ contentVisibilityAuto: true })"
    with Visit(browser, address, "book/kvcache.html", viewport=PHONE) as visit:
        page = visit.page
        entry = page.locator(".bd-docs-nav a").first
        assert not entry.evaluate(seen)
        cells = page.locator(".later .cell > *")
        assert not any(each.evaluate(seen) for each in cells.all()[1:])
        page.click(".primary-toggle")
        entry.wait_for()
        assert entry.evaluate(seen)
        page.keyboard.press("Escape")
        cells.last.scroll_into_view_if_needed()
        page.wait_for_function(seen, arg=cells.last.element_handle())


def test_the_search_opens_by_keys_and_by_a_button(browser: Any, address: str) -> None:
    """And closes by Escape, by the same keys, and by a click beside it."""
    with Visit(browser, address, PAGE, viewport=DESK) as visit:
        page, box = visit.page, visit.page.locator(SEARCH).first
        for opened in ("keys", "button"):
            for closed in ("Escape", "Control+k", "beside"):
                if opened == "keys":
                    page.keyboard.press("Control+k")
                else:
                    page.locator(".search-button__button:visible").first.click()
                box.wait_for()
                page.wait_for_function("document.activeElement.matches('input[type=search]')")
                if closed == "beside":
                    page.mouse.click(5, 790)
                else:
                    page.keyboard.press(closed)
                box.wait_for(state="hidden")
        assert visit.errors == []


def test_on_the_page_of_the_search_keys_lead_to_its_field(browser: Any, address: str) -> None:
    with Visit(browser, address, "search.html", viewport=DESK) as visit:
        visit.page.locator("body").click(position={"x": 5, "y": 5})
        visit.page.keyboard.press("Control+k")
        visit.page.wait_for_function("document.activeElement.matches('main input[type=search]')")


def test_menus_open_by_click_and_by_keys(browser: Any, address: str) -> None:
    """One at a time; arrows go round, Escape leads back to the button."""
    with Visit(browser, address, PAGE, viewport=DESK) as visit:
        page = visit.page
        button, other = (
            page.locator(f".dropdown-{name}-buttons > button") for name in ("launch", "download")
        )
        menu = page.locator(".dropdown-launch-buttons .dropdown-menu")
        button.click()
        page.mouse.move(5, 700)
        assert menu.is_visible()
        assert button.get_attribute("aria-expanded") == "true"
        other.click()
        menu.wait_for(state="hidden")
        assert button.get_attribute("aria-expanded") == "false"
        page.mouse.click(5, 700)
        page.locator(".dropdown-download-buttons .dropdown-menu").wait_for(state="hidden")
        button.focus()
        said = "document.activeElement.innerText.trim()"
        page.keyboard.press("ArrowDown")
        first = page.evaluate(said)
        assert first in menu.inner_text()
        page.keyboard.press("ArrowUp")
        assert page.evaluate(said) != first
        page.keyboard.press("ArrowDown")
        assert page.evaluate(said) == first
        page.keyboard.press("Escape")
        menu.wait_for(state="hidden")
        assert page.evaluate(said) == "Colab"
        assert visit.errors == []


def test_code_is_copied_as_it_stands(browser: Any, address: str) -> None:
    """Without a line for the end, and with all of its indentation, also where a phone breaks it."""
    with Visit(browser, address, PAGE) as visit:
        page = visit.page
        page.evaluate(
            """Object.defineProperty(navigator, 'clipboard', { configurable: true, value: {
                 writeText: async (text) => { globalThis.copied = text; } } })"""
        )
        box = page.locator(".cell:not(.tag_hide-input) .cell_input .highlight").nth(1)
        box.hover()
        box.locator(".copybtn").click()
        page.wait_for_function("globalThis.copied !== undefined")
        assert page.evaluate("globalThis.copied") == box.locator("pre").text_content().rstrip("\n")
        assert "\n" in page.evaluate("globalThis.copied")
        assert box.locator(".copybtn.success").get_attribute("data-tooltip") == "Copied!"
        page.evaluate("() => { navigator.clipboard.writeText = () => Promise.reject(); }")
        other = page.locator(".cell:not(.tag_hide-input) .cell_input .highlight").nth(2)
        other.hover()
        other.locator(".copybtn").click()
        other.locator("[data-tooltip='Failed to copy']").wait_for()
        assert visit.errors == []
