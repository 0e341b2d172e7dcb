"""A page of the site open in a browser with the network cut, and what went wrong meanwhile."""

from __future__ import annotations

import json
import shutil
from typing import Any

BROWSER = shutil.which("chromium") or shutil.which("google-chrome") or shutil.which("chrome")
#: Every explorer near the screen; the others start when they come there.
STARTED = """() => [...document.querySelectorAll('[data-explorer]')].every(
  (each) => each.explorer || each.classList.contains('explorer-later'))"""
#: The network is cut: only the site itself answers.
CUT = "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"
FLAGS = ("--no-sandbox", "--disable-gpu", CUT)
#: Tabs that nobody looks at, by browser and options. A browser's first look at a site costs it
#: more than any page of this one: another process, and every script compiled again.
IDLE: dict[tuple[Any, str], list[Tab]] = {}


class Tab:
    """A tab of a window of its own, and what went wrong in it."""

    def __init__(self, browser: Any, options: dict[str, Any]) -> None:
        self.page, self.address = browser.new_context(**options).new_page(), "about:"
        self.errors: list[str] = []
        self.elsewhere: list[str] = []
        self.page.on("console", lambda m: m.type == "error" and self.errors.append(m.text))
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("request", self.follow)

    def follow(self, request: Any) -> None:
        """Remember what is asked of other hosts, which the browser does not find."""
        if request.url.startswith("http") and not request.url.startswith(self.address):
            self.elsewhere.append(request.url)


class Visit:
    """One page open in the browser, with what went wrong while it loaded."""

    def __init__(self, browser: Any, address: str, path: str, **options: Any) -> None:
        self.options, self.script = options, options.get("java_script_enabled", True)
        idle = IDLE.setdefault((browser, json.dumps(options, sort_keys=True)), [])
        tab = idle.pop() if idle else Tab(browser, options)
        self.idle, self.tab, self.page, tab.address = idle, tab, tab.page, address
        self.context = self.page.context
        tab.errors, tab.elsewhere = self.errors, self.elsewhere = [], []
        if self.page.url.partition("#")[0] == f"{address}/{path}".partition("#")[0]:
            self.page.goto("about:blank")  # or the browser would stay where it is
        self.page.goto(f"{address}/{path}")
        if self.script:
            self.page.wait_for_function(STARTED)

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def end(self) -> None:
        """Leave the tab to the next visit as if nobody had been there."""
        if not self.script:
            self.context.close()
            return
        self.page.evaluate("localStorage.clear(), sessionStorage.clear()")
        self.page.set_viewport_size(self.options.get("viewport", {"width": 1280, "height": 720}))
        self.page.mouse.move(0, 0)
        self.idle.append(self.tab)
