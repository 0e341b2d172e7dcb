"""What the buttons around a page do: colours, side bars, search, menus, and copies of code."""

from __future__ import annotations

import pytest

from browsing import DESK, PHONE, Opened

PAGE = "book/kvcache.html"
SEARCH = "#pst-search-dialog, .search-button__search-container"
THEME = "document.documentElement.dataset.theme === '{0}'"


def test_colours_follow_the_machine_until_some_are_chosen_and_kept(
    visit: Opened, address: str
) -> None:
    """By keyboard and by mouse; where newer themes of the site have a menu, by its entries."""
    page = visit(PAGE, color_scheme="light")
    for machine in ("light", "dark", "light"):
        page.emulate_media(color_scheme=machine)
        page.wait_for_function(THEME.format(machine))
    page.locator("button.theme-switch-button:visible").first.focus()
    said = """() => [document.documentElement.dataset.theme, document.activeElement.innerText,
      document.activeElement.dataset.mode, document.documentElement.dataset.mode].join()"""
    menu = page.locator(".theme-change-button[data-mode=light]")
    for _ in range(4):
        before = page.evaluate(said)
        page.keyboard.press("ArrowDown" if menu.count() else "Enter")
        page.wait_for_function(f"(before) => ({said})() !== before", arg=before)
        if "dark" in page.evaluate(said):
            break
    if menu.count():
        page.keyboard.press("Enter")
    page.wait_for_function(THEME.format("dark"))
    page.click("button.theme-switch-button:visible")
    if menu.count():
        menu.first.click()
    page.wait_for_function(THEME.format("light"))
    page.emulate_media(color_scheme="dark")
    page.goto(f"{address}/book/matmul.html")
    page.wait_for_function(THEME.format("light"))
    assert page.evaluate("document.documentElement.dataset.mode") == "light"


@pytest.mark.parametrize("which", ["primary", "secondary"])
def test_a_side_bar_opens_and_closes_on_a_phone(visit: Opened, which: str) -> None:
    """By its button, and by a touch beside it; its links work."""
    link = f".bd-sidebar-{which} nav a"
    seen = """(link) => { const place = document.querySelector(link)?.getBoundingClientRect();
      return place && place.width > 0 && place.left >= 0 && place.right <= innerWidth; }"""
    page = visit(PAGE, viewport=PHONE)
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


def test_the_side_bar_goes_away_on_a_desk_and_stays_where_it_was(
    visit: Opened, address: str
) -> None:
    page = visit(PAGE, viewport={"width": 1280, "height": 500})
    bar = page.locator(".bd-sidebar-primary")
    assert bar.is_visible()
    page.click(".primary-toggle")
    bar.wait_for(state="hidden")
    page.click(".primary-toggle")
    bar.wait_for()
    where = "document.querySelector('.sidebar-primary-item:has(> .bd-docs-nav)').scrollTop"
    page.evaluate(f"{where} = 70")
    page.goto(f"{address}/book/attention.html")
    page.wait_for_function(f"{where} === 70")


def test_a_phone_lays_out_little_at_first(visit: Opened) -> None:
    """Neither the side bars, until one is opened, nor the code far below."""
    seen = "(each) => each.checkVisibility({ contentVisibilityAuto: true })"
    page = visit("book/kvcache.html", viewport=PHONE)
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


def test_the_search_opens_by_keys_and_by_a_button(visit: Opened, address: str) -> None:
    """And closes by Escape, by the same keys, and by a click beside it. On a page of its own, keys
    lead to its field."""
    page = visit(PAGE, viewport=DESK)
    box = page.locator(SEARCH).first
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
    page.goto(f"{address}/search.html")
    page.locator("body").click(position={"x": 5, "y": 5})
    page.keyboard.press("Control+k")
    page.wait_for_function("document.activeElement.matches('main input[type=search]')")


def test_menus_open_by_click_and_by_keys(visit: Opened) -> None:
    """One at a time; arrows go round, Escape leads back to the button."""
    page = visit(PAGE, viewport=DESK)
    button, other = (
        page.locator(f".dropdown-{x}-buttons > button") for x in ("launch", "download")
    )
    menu, second = (
        page.locator(f".dropdown-{x}-buttons .dropdown-menu") for x in ("launch", "download")
    )
    button.click()
    page.mouse.move(5, 700)
    assert menu.is_visible()
    assert button.get_attribute("aria-expanded") == "true"
    link = menu.locator("a:has-text('Colab')").first.get_attribute("href")
    assert link.startswith("https://colab.research.google.com/")
    other.click()
    menu.wait_for(state="hidden")
    assert button.get_attribute("aria-expanded") == "false"
    page.mouse.click(5, 700)
    second.wait_for(state="hidden")
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


def test_code_is_copied_as_it_stands(visit: Opened) -> None:
    """Without a line for the end, and with all of its indentation, also where a phone breaks it."""
    page = visit(PAGE)
    page.evaluate(
        """Object.defineProperty(navigator, 'clipboard', { configurable: true, value: {
             writeText: async (text) => { globalThis.copied = text; } } })"""
    )
    boxes = page.locator(".cell:not(.tag_hide-input) .cell_input .highlight")
    box, other = boxes.nth(1), boxes.nth(2)
    box.hover()
    box.locator(".copybtn").click()
    page.wait_for_function("globalThis.copied !== undefined")
    assert page.evaluate("globalThis.copied") == box.locator("pre").text_content().rstrip("\n")
    assert "\n" in page.evaluate("globalThis.copied")
    assert box.locator(".copybtn.success").get_attribute("data-tooltip") == "Copied!"
    page.evaluate("() => { navigator.clipboard.writeText = () => Promise.reject(); }")
    other.hover()
    other.locator(".copybtn").click()
    other.locator("[data-tooltip='Failed to copy']").wait_for()
