"""Measure the built site: pages by Lighthouse, explorers by script time: `make audit`.

The site is served compressed on the loopback, as static hosts do. How many times slower a phone is
than this machine comes from Lighthouse's benchmark index, read before each run, so that a slow
machine is not slowed down as much as a fast one. Two hours of a shared machine can still differ by
a factor of two. So each page is measured up to three times and the best run counts; `make test`
does not wait for them. A table says of every page with a text, on a phone and on a desk, what it
scores and what is off its mark; pages of the reference are made by one template, and one stands for
all. In an explorer every setting and every suggestion is changed some times, and a change counts as
on the processor of a phone.

`python -m tools.site.audit explorers` measures these alone, `pages` those, and names of pages, as
`serving search`, some of them.
"""

from __future__ import annotations

import functools
import gzip
import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterable
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy

from tools import ROOT, npm
from tools.site.page_weight import packaged_node

SITE = ROOT / "_build" / "html"
HOME = ROOT / "_build" / "audit"
FRONT = "book/index.html"
LEAST = {
    "mobile": {"performance": 95, "accessibility": 100, "best-practices": 100, "seo": 100},
    "desktop": {"performance": 100, "accessibility": 100, "best-practices": 100, "seo": 100},
}
#: Milliseconds in which a page does not answer, how far what one reads may move, and what comes
#: over the network, compressed, but for the scripts of explorers.
MOST = {"total-blocking-time": 200.0, "cumulative-layout-shift": 0.02, "kilobytes": 300.0}
COLUMNS = ("page", "seen on", *LEAST["mobile"], *MOST, "off its mark")
TRIES = 3
FRAME = 16  # milliseconds of script for one change
#: Lighthouse's index of a machine, and how many times slower a phone is, by its calculator:
#: https://lighthouse-cpu-throttling-calculator.vercel.app
CALIBRATED = ((150, 1.0), (800, 2.0), (1300, 3.0), (1533, 4.0), (1766, 5.0), (2000, 6.0))
PRESET = {"mobile": 4, "desktop": 1}  # Lighthouse's own multipliers, of the machine that it expects
INDEX_OF = """
import(process.argv[1]).then(({ pageFunctions }) => {
  console.log(pageFunctions.computeBenchmarkIndex.toString());
});"""
#: What there is to change: each setting in turn, then each state that is suggested.
CHANGES = """() => {
  const { page } = document.querySelector('[data-explorer]').explorer;
  return [...page.controls.map((each) => each.id), ...(page.tries ?? []).map((each) => each.label)];
}"""
CHANGE = """([what, turn]) => {
  const { explorer } = document.querySelector('[data-explorer]');
  const { controls, tries = [] } = explorer.page;
  const control = controls.find((each) => each.id === what);
  const one = ({ type, min, max, options }) => {
    if (type === 'hidden') return ['', 'R0', 'R0R1'][turn % 3];
    if (type === 'number') return min + (Math.min(max, 4096) - min) * ((turn * 0.37) % 1);
    const all = typeof options === 'function' ? options(explorer.state) : options;
    return all[Math.floor(all.length * ((turn * 0.37) % 1))][0];
  };
  const tried = tries.find(({ label }) => label === what);
  const state = control ? { [what]: one(control) } : tried.state;
  explorer.opening ??= explorer.state; // as the page opens: changes do not add up
  explorer.set({ ...explorer.opening, ...state });
  return new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done())));
}"""
#: Who chooses from a list has opened it before: a page may use that time. A slider moves at once.
REACH = """([what, milliseconds]) => {
  const { select } = document.querySelector('[data-explorer]').explorer.inputs.get(what) ?? {};
  select?.dispatchEvent(new FocusEvent('focusin', { bubbles: true }));
  if (select) return new Promise((done) => setTimeout(done, milliseconds));
}"""
REACHED = 500  # milliseconds, which are two seconds of a processor that slow
TURNS = 9  # of each


class Compressed(SimpleHTTPRequestHandler):
    """Serves text compressed and with a lifetime, as static hosts do."""

    protocol_version = "HTTP/1.1"

    def send_head(self) -> Any:
        """Called by the server: the headers, and the file to send."""
        path = Path(self.translate_path(self.path))
        if not path.is_file() or path.suffix in (".woff2", ".png"):
            return super().send_head()
        body = gzip.compress(path.read_bytes(), mtime=0)
        self.send_response(200)
        self.send_header("Content-Type", self.guess_type(str(path)))
        self.send_header("Content-Encoding", "gzip")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "max-age=600")
        self.end_headers()
        return BytesIO(body)

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


def install() -> Path:
    """Lighthouse from npm, as locked; its command."""
    npm.install(ROOT / "tools" / "site" / "lighthouse", HOME)
    return HOME / "node_modules" / "lighthouse" / "cli" / "index.js"


def slower(index: float) -> float:
    """How many times slower than a machine of this index a phone is.

    >>> slower(1533), slower(1050), slower(75)
    (4.0, 2.5, 0.5)
    """
    (least, _), *_, (before, less), (most, high) = CALIBRATED
    if index < least:
        return index / least
    if index > most:
        return high + (index - most) * (high - less) / (most - before)
    return float(numpy.interp(index, *numpy.transpose(CALIBRATED)))


@functools.cache
def _benchmark() -> str:
    """The function that Lighthouse measures a machine with, as a page can run it."""
    functions = install().parents[1] / "core" / "lib" / "page-functions.js"
    command = [str(packaged_node()), "-e", INDEX_OF, functions.as_uri()]
    done = subprocess.run(command, check=True, capture_output=True, encoding="utf-8")
    return f"({done.stdout.strip()})()"


def phone(browser: str) -> float:
    """How many times slower than this machine, as busy as it is now, a phone is."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=browser, args=["--no-sandbox"])
        index = chromium.new_page().evaluate(_benchmark())
        chromium.close()
    return slower(index)


def measured(lighthouse: Path, address: str, form: str, browser: str) -> dict[str, float]:
    """The four scores of one page, and what it makes one wait and lose."""
    slowdown = phone(browser) * PRESET[form] / PRESET["mobile"]
    report = HOME / "report.json"
    command = [
        *(str(packaged_node()), str(lighthouse), address, "--quiet"),
        *("--output=json", f"--output-path={report}"),
        "--chrome-flags=--headless=new --no-sandbox --disable-gpu",
        *(["--preset=desktop"] if form == "desktop" else []),
        f"--throttling.cpuSlowdownMultiplier={slowdown:.2f}",
    ]
    subprocess.run(command, check=True, timeout=240, env={**os.environ, "CHROME_PATH": browser})
    found = json.loads(report.read_text("utf-8"))
    audits = found["audits"]
    scores = {name: round(100 * found["categories"][name]["score"]) for name in LEAST[form]}
    asked = audits["network-requests"]["details"]["items"]
    sizes = [each.get("transferSize", 0) for each in asked if "/explorers/" not in each["url"]]
    return {
        **scores,
        **{name: round(audits[name]["numericValue"], 2) for name in MOST if name in audits},
        "kilobytes": round(sum(sizes) / 1000),
    }


def best(lighthouse: Path, address: str, form: str, browser: str) -> dict[str, float]:
    """The best figures of a few runs; it stops as soon as all are good enough."""
    found: dict[str, float] = {}
    for _ in range(TRIES):
        for name, value in measured(lighthouse, address, form, browser).items():
            found[name] = (min if name in MOST else max)(value, found.get(name, value))
        if not missed(found, form):
            break
    return found


def missed(found: dict[str, float], form: str) -> list[str]:
    """The figures that are below or above their mark.

    >>> page = dict.fromkeys(LEAST["mobile"], 100) | dict.fromkeys(MOST, 0)
    >>> missed(page | {"performance": 91, "total-blocking-time": 251}, "mobile")
    ['performance', 'total-blocking-time']
    """
    low = [name for name, least in LEAST[form].items() if found[name] < least]
    return low + [name for name, most in MOST.items() if found[name] > most]


def redraws(address: str, browser: str) -> dict[str, float]:
    """For each kind of change its median milliseconds of script on a phone's processor.

    That is the main thread's own time, multiplied: a browser that is told to be slow waits by the
    clock, and would count what others do meanwhile.
    """
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=browser, args=["--no-sandbox"])
        page = chromium.new_page(viewport={"width": 412, "height": 823})  # Lighthouse's phone
        times = slower(page.evaluate(_benchmark()))
        page.goto(address)
        page.wait_for_function("document.querySelector('[data-explorer]')?.explorer")
        client = page.context.new_cdp_session(page)
        client.send("Performance.enable", {"timeDomain": "threadTicks"})
        found = {}
        for what in page.evaluate(CHANGES):
            spent = []
            for turn in range(TURNS):
                page.evaluate(REACH, [what, REACHED])
                before = _script_time(client)
                page.evaluate(CHANGE, [what, turn])
                spent.append(1000 * (_script_time(client) - before))
            found[what] = times * sorted(spent)[TURNS // 2]
        chromium.close()
    return found


def _script_time(client: Any) -> float:
    metrics = client.send("Performance.getMetrics")["metrics"]
    return float(next(each["value"] for each in metrics if each["name"] == "ScriptDuration"))


def explorers(served: str, browser: str, names: list[str]) -> int:
    """How many kinds of change take an explorer longer than a frame; all are printed."""
    low = 0
    for page in chosen(sorted(SITE.glob("book/explore_*.html")), names):
        found = redraws(f"{served}/{page}", browser)
        slow = {what: spent for what, spent in found.items() if spent > FRAME}
        low += len(slow)
        median = sorted(found.values())[len(found) // 2]
        worst = max(found, key=lambda what: found[what])
        more = ", ".join(f"{what} {spent:.0f}" for what, spent in slow.items())
        print(
            f"{page:32} a change: {median:.1f} ms of script, {found[worst]:.1f} ({worst}) "
            f"at most{'  SLOW: ' + more if slow else ''}"
        )
    return low


def chosen(pages: Iterable[Path], names: list[str]) -> list[str]:
    """The addresses of these pages, or of those of them that are named."""
    found = [page for page in pages if not names or page.stem in names]
    if not found:
        raise SystemExit(f"error: none of these is a page: {', '.join(names)}")
    return [page.relative_to(SITE).as_posix() for page in found]


def pages(served: str, browser: str, names: list[str]) -> int:
    """How many figures are off their mark; all are printed, a row for a page on a screen."""
    lighthouse, low = install(), 0
    print(f"| {' | '.join(COLUMNS)} |\n|{'---|' * len(COLUMNS)}")
    texts = [*sorted(SITE.glob("book/*.html")), SITE / "search.html"]
    for page in chosen([*texts, min(SITE.glob("book/api/*.html"))], names):
        for form in LEAST:
            found = best(lighthouse, f"{served}/{page}", form, browser)
            below = missed(found, form)
            low += len(below)
            figures = [f"{found[name]:g}" for name in (*LEAST[form], *MOST)]
            print("|", " | ".join([page, form, *figures, ", ".join(below)]), "|", flush=True)
    return low


def main(what: list[str]) -> int:
    """Measure pages and explorers, or some of them; say what is off its mark."""
    browser = shutil.which("chromium") or shutil.which("google-chrome") or shutil.which("chrome")
    if not browser or not (SITE / FRONT).exists():
        print("error: needs a built site (make book) and chromium", file=sys.stderr)
        return 2
    measures = {"pages": pages, "explorers": explorers}
    names = [each for each in what if each not in measures]
    kinds = [each for each in what if each in measures] or (["pages"] if names else measures)
    server = ThreadingHTTPServer(
        ("127.0.0.1", 0), functools.partial(Compressed, directory=str(SITE))
    )
    threading.Thread(target=server.serve_forever, daemon=True).start()
    served = f"http://127.0.0.1:{server.server_port}"
    low = sum(measures[kind](served, browser, names) for kind in kinds)
    server.shutdown()
    print(f"{low} figures are off their mark" if low else "every figure is as it should be")
    return 1 if low else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
