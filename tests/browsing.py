"""A page of the site open in a browser with the network cut, and what went wrong meanwhile."""

from __future__ import annotations

import re
import shutil
from typing import Any

BROWSER = shutil.which("chromium") or shutil.which("google-chrome") or shutil.which("chrome")
#: Every explorer near the screen; the others start when they come there.
STARTED = """() => [...document.querySelectorAll('[data-explorer]')].every(
  (each) => each.explorer || each.classList.contains('explorer-later'))"""


class Visit:
    """One page open in the browser, with what went wrong while it loaded."""

    def __init__(self, browser: Any, address: str, path: str, **options: Any) -> None:
        self.context = browser.new_context(**options)
        self.page = self.context.new_page()
        self.errors: list[str] = []
        self.elsewhere: list[str] = []
        self.page.on("console", lambda m: m.type == "error" and self.errors.append(m.text))
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.route(re.compile("^(?!" + re.escape(address) + ")https?:"), self.refuse)
        self.page.goto(f"{address}/{path}")
        if options.get("java_script_enabled", True):
            self.page.wait_for_function(STARTED)

    def refuse(self, route: Any) -> None:
        """The network is cut: only the site itself answers."""
        self.elsewhere.append(route.request.url)
        route.abort()

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *_: object) -> None:
        self.context.close()
