"""The search: what readers type finds the section that they want, also when they misspell it."""

from __future__ import annotations

import gzip
import json
import re
from functools import cache
from types import SimpleNamespace
from typing import Any

import pytest
from docutils.nodes import make_id

from browsing import SMALL, Opened, change, rest
from in_node import answers
from paths import DATA, ROOT, SITE
from tools.site import search_index
from tools.site.search_index import other_words

HOME = SITE / "_static" / "search"
#: What somebody types, and where the first answers should be; of some, where the first three.
QUERIES, FIRST = (
    dict(re.findall("^(.+) -> (.+)$", part, re.MULTILINE))
    for part in (DATA / "questions.txt").read_text("utf-8").split("\nWhere each")
)
QUERIES |= {question: " ".join(places.split()[:2]) for question, places in FIRST.items()}
ASK = """page.engine(state[0]).then((made) => state[1].map((question) =>
  page.find(made, question, 8).map((one) => [one.href.replace(/^book\\/|\\.html/g, ''),
    page.snippet(one).map(([said, hit]) => (hit ? `<${said}>` : said)).join('')])))"""


@cache
def sections() -> dict[str, Any]:
    """What the search fetches."""
    return dict(json.loads((HOME / "sections.json").read_text("utf-8")))


@cache
def found() -> dict[str, list[list[str]]]:
    """The places that are found for each, with their words."""
    asked = [*QUERIES, "zxqv"]
    [each] = answers(HOME, {"page": "find.js"}, ASK, [[sections(), asked]])
    return dict(zip(asked, each, strict=True))


@pytest.mark.parametrize("question", QUERIES)
def test_a_question_finds_its_section(question: str) -> None:
    places = [place for place, _ in found()[question]]
    assert places[0].startswith(tuple(QUERIES[question].split())), places
    if about := FIRST.get(question):
        assert all(place.startswith(tuple(about.split())) for place in places[:3]), places


def test_nothing_is_found_for_nonsense() -> None:
    assert found()["zxqv"] == []


def test_snippets_hold_no_tex_and_no_labels() -> None:
    texts = [text for each in found().values() for _, text in each]
    assert [text for text in texts if re.search(r"\\[a-z]|\$|[{}]|Show code", text)] == []
    assert sum("<" in text for text in texts) > len(texts) / 2, "what matched is in it"


def test_no_snippet_gives_a_prediction_away() -> None:
    text = " ".join(words for _, _, _, words, *_ in sections()["sections"])
    folded = r"<summary>Answer</summary>\n>\n> \*\*[^*]+\*\* (.+)"
    sources = [page.read_text("utf-8") for page in (ROOT / "book").glob("*.md")]
    told = [each for source in sources for each in re.findall(folded, source)]
    plain = [max(re.findall(r"[\w ,]+", answer), key=len) for answer in told]
    assert len(plain) > 12
    assert [words for words in plain if len(words) > 25 and words in text] == []


def test_the_index_is_small_and_every_place_in_it_exists() -> None:
    pages = [(SITE / f"{page}.html").read_bytes() for page, _ in sections()["pages"]]
    index = len(gzip.compress((HOME / "sections.json").read_bytes()))
    sent = sum(len(gzip.compress(page)) for page in pages)
    assert index < sent / 4, "it has the words of the pages, and grows with them alone"
    ids = [{*re.findall(rb'\sid="([^"]+)"', page)} for page in pages]
    places = [(at, anchor) for at, anchor, *_ in sections()["sections"]]
    assert [place for place in places if place[1].encode() not in ids[place[0]]] == []


def test_other_words_are_of_sections_that_there_are() -> None:
    """As the site's build says too, which takes longer."""
    for name, anchor in (place.split("#") for place in other_words()):
        text = (ROOT / "book" / f"{name}.md").read_text("utf-8")
        titles = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
        assert anchor in {make_id(re.sub(r"[`$*]", "", title)) for title in titles}, (name, anchor)


def test_other_words_are_those_of_today(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a page that a build before has read, too."""
    kept = {"book/serving": {"sections": [("queue", "Queues", "A request waits.", 1.0)]}}
    app: Any = SimpleNamespace(env=SimpleNamespace(metadata=kept))
    monkeypatch.setattr(search_index, "other_words", lambda: {"serving#queue": "backlog"})
    assert [each[3] for each in search_index.of(app, "book/serving")] == ["backlog"]


def test_every_chapter_says_what_readers_call_its_sections() -> None:
    named = {place.partition("#")[0] for place in other_words()}
    chapters = {"matmul", "attention", "transformer", "kvcache", "roofline", "iomodel"}
    assert chapters | {"lowerbounds", "training", "parallel", "serving", "measured"} <= named


def test_the_dialog_answers_as_one_types_and_opens_the_section(visit: Opened) -> None:
    """By keyboard alone, on a phone, in the dark."""
    page = visit("book/matmul.html", viewport=SMALL, color_scheme="dark")
    page.keyboard.press("Control+k")
    page.wait_for_selector("form.bd-search input:focus")
    with change(page, ".found"):
        page.keyboard.type("rooflne")
    assert page.evaluate("document.documentElement.scrollWidth") <= 375
    page.keyboard.press("ArrowDown")
    assert page.evaluate("document.activeElement.closest('.found') !== null")
    page.keyboard.press("Enter")
    page.wait_for_url("**/book/roofline.html#roofline")


def test_the_page_of_the_search_says_that_it_searches_and_keeps_its_question(
    visit: Opened, address: str
) -> None:
    page, waiting = visit("book/glossary.html"), list[Any]()
    page.route("**/sections.json", lambda route: waiting.append(route))
    page.goto(f"{address}/search.html?q=flashattenion")
    said = ".bd-article .found-said"
    page.wait_for_function(f"document.querySelector('{said}').innerText")
    assert page.inner_text(said) == "Searching …"
    waiting.pop().continue_()
    rest(page, ".bd-article .found")
    page.unroute("**/sections.json")
    assert "section" in page.inner_text(said)
    assert "FlashAttention: online softmax and tiling" in page.inner_text(".bd-article .found")
    with change(page, ".bd-article .found"):
        page.fill(".bd-article input[type=search]", "kv cache size")
    assert page.evaluate("location.search") == "?q=kv%20cache%20size"
    page.click(".bd-article .found li:first-child a")
    page.wait_for_url("**/book/kvcache.html#kv-cache-size-bytes-per-token")
    page.wait_for_function(
        """() => {
          const [heading] = document.querySelectorAll('#kv-cache-size-bytes-per-token > h2');
          const { top } = heading.getBoundingClientRect();
          return top >= 0 && top < 200;
        }"""
    )
