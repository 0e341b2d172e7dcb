"""A page of the site open in a browser with the network cut, and what went wrong meanwhile."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

BROWSER = shutil.which("chromium") or shutil.which("google-chrome") or shutil.which("chrome")
#: Every explorer near the screen is there and drawn; the others start when they come there.
STARTED = """() => [...document.querySelectorAll('[data-explorer]')].every(
  (each) => each.dataset.settled || each.classList.contains('explorer-later'))"""
#: How many changes have settled: computed, drawn, in the address. Nothing while one has not.
SETTLED = "(one) => document.querySelector(one)?.dataset.settled"
MORE = f"([one, before]) => Number(({SETTLED})(one)) > before"
EXPLORER = "[data-explorer]"
#: At once, also where the page scrolls smoothly.
#: Until it stays there, as sections on the way are laid out when one comes near.
CENTRED = """async (each) => {
  for (let [before, after] = [NaN, 0]; before !== after; ) {
    before = scrollY;
    each.scrollIntoView({ block: 'center', behavior: 'instant' });
    await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
    after = scrollY;
  }
}"""
#: After these what was laid out anew has been drawn, and told to whoever observes its size.
TWO_FRAMES = "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
#: The network is cut: only the site itself answers.
CUT = "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"
FLAGS = ("--no-sandbox", "--disable-gpu", CUT)
#: A phone, a small one, and a laptop, as tests look at pages.
PHONE, SMALL = {"width": 375, "height": 800}, {"width": 375, "height": 667}
DESK = {"width": 1280, "height": 800}
FINGERS = {"viewport": SMALL, "has_touch": True, "is_mobile": True}
#: Opens a page of the site by its path, with options of the browser, as the fixture `visit` does.
Opened = Callable[..., Any]
#: What a tab takes on for a visit; anything else that is asked for needs a window of its own.
#: Nothing plays by itself, unless it is asked for.
PLAIN = {
    "viewport": {"width": 1280, "height": 720},
    "color_scheme": "light",
    "reduced_motion": "reduce",
}
#: Tabs that nobody looks at, by browser and options. A browser's first look at a site costs it
#: more than any page of this one: another process, and every script compiled again.
IDLE: dict[tuple[Any, str], list[Tab]] = {}


class Tab:
    """A tab of a window of its own, and what went wrong in it."""

    def __init__(self, browser: Any, options: dict[str, Any]) -> None:
        self.page, self.address = browser.new_context(**options).new_page(), "about:"
        self.errors: list[str] = []
        self.elsewhere: list[str] = []
        self.page.on("console", self.hear)
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("request", self.follow)

    def hear(self, message: Any) -> None:
        """Remember what the page complains of.

        Not an icon that a browser asks for by itself, at a time of its own, where a file has none.
        """
        if message.type == "error" and not message.location["url"].endswith("/favicon.ico"):
            self.errors.append(message.text)

    def follow(self, request: Any) -> None:
        """Remember what is asked of other hosts, which the browser does not find."""
        if request.url.startswith("http") and not request.url.startswith(self.address):
            self.elsewhere.append(request.url)


class Visit:
    """One page open in the browser; when it is left, nothing may have gone wrong on it, unless what
    did is looked at."""

    def __init__(
        self, browser: Any, address: str, path: str, *, sound: bool = True, **options: Any
    ) -> None:
        size, theme, motion = ({**PLAIN, **options}[key] for key in PLAIN)
        rest = options if "is_mobile" in options else {**options, **PLAIN}
        self.script, self.sound = options.get("java_script_enabled", True), sound
        idle = IDLE.setdefault((browser, json.dumps(rest, sort_keys=True)), [])
        tab = idle.pop() if idle else Tab(browser, rest)
        self.idle, self.tab, self.page, tab.address = idle, tab, tab.page, address
        self.context = self.page.context
        tab.errors, tab.elsewhere = self.errors, self.elsewhere = [], []
        self.page.set_viewport_size(size)
        self.page.emulate_media(color_scheme=theme, reduced_motion=motion)
        if self.page.url.partition("#")[0] == f"{address}/{path}".partition("#")[0]:
            self.page.goto("about:blank")  # or the browser would stay where it is
        self.page.goto(f"{address}/{path}")
        if self.script:
            self.page.wait_for_function(STARTED)

    def __enter__(self) -> Any:
        return self

    def __exit__(self, failed: object, *_: object) -> None:
        """Leave the tab to the next visit as if nobody had been there."""
        if self.script:
            self.page.evaluate("localStorage.clear(), sessionStorage.clear()")
            self.page.mouse.move(0, 0)
            self.idle.append(self.tab)
        else:
            self.context.close()
        if self.sound and not failed:
            assert not self.errors + self.elsewhere, (self.page.url, self.errors, self.elsewhere)


def scripted(file: Path) -> Callable[[str], str]:
    """A function of a file of scripts by its name, with what it calls, as a page is asked it."""
    text = file.with_suffix(".js").read_text("utf-8").replace("export ", "")
    return lambda name: f"(given) => {{ {text}\nreturn {name}(given); }}"


@contextmanager
def change(page: Any, of: str = EXPLORER) -> Iterator[None]:
    """What is done within is a change, which an explorer (or the search) has taken by the end."""
    before = rest(page, of)
    yield
    page.wait_for_function(MORE, arg=[of, before])


def rest(page: Any, of: str = EXPLORER) -> int:
    """Wait until no change is left to be taken; how many have been."""
    return int(page.wait_for_function(SETTLED, arg=of).json_value())


def drag(page: Any, *way: tuple[float, float]) -> None:
    """Press a mouse's button at the first of these places, and let it go at the last."""
    page.mouse.move(*way[0])
    page.mouse.down()
    for place in way[1:]:
        page.mouse.move(*place, steps=3)
    page.mouse.up()


def swipe(page: Any, held: Any, dx: float, dy: float, below: float = 30) -> None:
    """Move a finger so far, from a place so far below the top of what it holds."""
    held.hover(trial=True)  # it stays where it is, and nothing lies on it
    box, wire = held.bounding_box(), page.context.new_cdp_session(page)
    x, y = box["x"] + box["width"] / 2, box["y"] + below
    for n in range(9):
        at = {"x": x + dx * n / 8, "y": y + dy * n / 8}
        touch = {"type": "touchMove" if n else "touchStart", "touchPoints": [at]}
        wire.send("Input.dispatchTouchEvent", touch)
    wire.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    wire.detach()
    page.evaluate(TWO_FRAMES)  # a page that scrolls has begun to
