"""The search: what readers type finds the section that they want, also when they misspell it."""

from __future__ import annotations

import gzip
import json
import re
import subprocess
from functools import cache
from types import SimpleNamespace
from typing import Any

import pytest
from docutils.nodes import make_id

from browsing import Visit, change, rest
from paths import ROOT, SITE
from tools.site import search_index
from tools.site.page_weight import packaged_node
from tools.site.search_index import other_words

HOME = SITE / "_static" / "search"
#: What somebody types, and what should come first: the beginning of a place, or one of several.
QUERIES = {
    "flashattenion": "iomodel#flashattention",
    "rooflne": "roofline#roofline",
    "quantization": "serving_faster#quant serving#weights roofline#quantised kvcache#smaller",
    "quantisation": "serving_faster#quant serving#weights roofline#quantised kvcache#smaller",
    "kv cash": "kvcache#kv-cache",
    "kv cache size": "kvcache#kv-cache-size",
    "speculative decoding": "serving_faster#speculative kvcache#speculative roofline#speculative",
    "specualtive decodng": "serving_faster#speculative kvcache#speculative roofline#speculative",
    "paged attention": "kvcache#paged serving_faster#paged",
    "allreduce": "parallel#collectives roofline#tensor serving_faster#tensor",
    "zero bubble": "parallel#pipeline",
    "fsdp": "parallel#data-parallelism parallel#fsdp training#zero glossary#term-fsdp",
    "ring all-reduce": "parallel#collectives",
    "mixture of experts": "transformer#mixtures",
    "tensor paralel": "parallel#tensor",
    "arithmetic intensity": "matmul#bytes-moved glossary#term-arithmetic-intensity",
    "activation checkpointing": "training#activation-checkpointing",
    "critical batch": "training#critical-batch",
    "chinchila": "training#compute-optimal",
    "muon": "training#muon glossary#term-muon",
    "lora": "training#lora-and-qlora",
    "MFU": "training#mfu-and-hfu",
    "continuous batching": "serving#continuous-batching",
    "chunked prefill": "serving_faster#chunked glossary#term-chunked-prefill",
    "prefix caching": "kvcache#prefix serving_faster#paged",
    "grouped query attention": "attention#gqa-and-mqa",
    "MLA": "latent#latent",
    "red-blue pebble game": "lowerbounds#red-blue-pebble-game",
    "TTFT": "serving#latency-and",
    "disaggregation": "serving_faster#disaggregation serving_faster#when-does-disaggregation",
    "MTP": "serving_faster#multi-token training#mixtures glossary#term-multi",
    "agent": "agents#a-session-of glossary#term-agent",
    "KV cache offloading": "agents#kv-cache-offloading",
    "GRPO": "agents#a-step-of-grpo glossary#term-grpo",
    "rollout": "agents#rollouts agents#a-step glossary#term-rollout",
    "unified memory": "agents#unified agents#weights glossary#term-unified",
    "expert offloading": "agents#weights glossary#term-expert",
    "goodput": "serving#goodput serving#latency-and glossary#term-goodput",
    "cost per million tokens": "serving#what-a-million",
    "online softmax": "attention#online-softmax",
    "pipeline buble": "parallel#pipeline",
    "how many parameters": "transformer#parameter-count",
    "adam memory": "training#mixed-precision",
    "GiB": "notation#units glossary#term-gb",
    "H100": "devices#",
    "how much memory does llama 70b need": "explore_calculator#",
    "price": "explore_calculator#",
    "does it fit": "explore_calculator#",
    "ITL": "serving#latency-and glossary#term-tpot glossary#term-itl",
    "TPOT": "serving#latency-and glossary#term-tpot",
    "grade notebooks": "instructors#grade",
    "late submissions": "instructors#late",
    "max batch size": "kvcache#capacity",
    "time per output token": "serving#latency-and",
    "RoPE": "transformer#rotary",
    "MLP": "transformer#transformer-block",
    "SwiGLU": "transformer#gated",
    "tensor core": "roofline#peak",
    "MAC vs FLOP": "matmul#the-convention",
    "memory bound": "matmul#the-ridge",
    "prefill vs decode": "transformer#prefill",
    "KV cache calculator": "explore_memory#",
    "costlib": "index#three-lines",
    "install": "index#how-to-read",
}
#: Where each of the first three answers may be, of what people ask most.
FIRST = {
    "out of memory": "kvcache#capacity explore_calculator# training#activation-checkpointing",
    "which GPU": "devices# explore_calculator# measured#your-own-machine",
    "KV cache size": "kvcache#kv-cache kvcache#engine-logs kvcache#smaller",
    "MFU": "training#mfu glossary#term-mfu api/training#mfu",
    "tokens per second": "your_model#decode serving#latency-and roofline#batch-size-in-decode",
    "tok/s": "your_model#decode serving#latency-and explore_calculator#",
    "quantization": "serving_faster#quant kvcache#smaller roofline#quantised",
}
QUERIES |= {question: " ".join(places.split()[:2]) for question, places in FIRST.items()}
ASK = """
import { engine, find, snippet } from './find.js';
import { readFileSync } from 'node:fs';
const made = await engine(JSON.parse(readFileSync('sections.json', 'utf8')));
const questions = JSON.parse(process.argv[1]);
console.log(JSON.stringify(questions.map((question) => find(made, question, 8).map((one) =>
  ({ href: one.href, text: snippet(one).map(([said, hit]) => (hit ? `<${said}>` : said)).join('')
})))));
"""


@cache
def answers() -> dict[str, list[dict[str, str]]]:
    """What is found for each, in one process."""
    command = [
        str(packaged_node()),
        "--input-type=module",
        "-e",
        ASK,
        json.dumps([*QUERIES, "zxqv"]),
    ]
    done = subprocess.run(command, cwd=HOME, capture_output=True, text=True, encoding="utf-8")
    assert done.returncode == 0, done.stderr
    return dict(zip([*QUERIES, "zxqv"], json.loads(done.stdout), strict=True))


@pytest.mark.parametrize("question", QUERIES)
def test_a_question_finds_its_section(question: str) -> None:
    places = [
        each["href"].removeprefix("book/").replace(".html", "") for each in answers()[question]
    ]
    assert any(places[0].startswith(wanted) for wanted in QUERIES[question].split()), places


@pytest.mark.parametrize("question", FIRST)
def test_the_first_three_answers_are_about_the_question(question: str) -> None:
    places = [
        each["href"].removeprefix("book/").replace(".html", "") for each in answers()[question]
    ]
    assert all(place.startswith(tuple(FIRST[question].split())) for place in places[:3]), places


def test_nothing_is_found_for_nonsense() -> None:
    assert answers()["zxqv"] == []


def test_snippets_hold_no_tex_and_no_labels() -> None:
    texts = [each["text"] for found in answers().values() for each in found]
    assert [text for text in texts if re.search(r"\\[a-z]|\$|[{}]|Show code", text)] == []
    assert sum("<" in text for text in texts) > len(texts) / 2, "what matched is in it"


def sections() -> dict[str, Any]:
    """What the search fetches."""
    return dict(json.loads((HOME / "sections.json").read_text("utf-8")))


def test_no_snippet_gives_a_prediction_away() -> None:
    told = json.loads((HOME / "sections.json").read_text("utf-8"))["sections"]
    text = " ".join(words for _, _, _, words, *_ in told)
    folded = r"<summary>Answer</summary>\n>\n> \*\*[^*]+\*\* (.+)"
    sources = [page.read_text("utf-8") for page in (ROOT / "book").glob("*.md")]
    answers = [each for source in sources for each in re.findall(folded, source)]
    plain = [max(re.findall(r"[\w ,]+", answer), key=len) for answer in answers]
    assert len(plain) > 12
    assert [words for words in plain if len(words) > 25 and words in text] == []


def test_the_index_is_small_and_every_place_in_it_exists() -> None:
    found = sections()
    sent = [len(gzip.compress((SITE / f"{page}.html").read_bytes())) for page, _ in found["pages"]]
    index = len(gzip.compress((HOME / "sections.json").read_bytes()))
    assert index < sum(sent) / 4, "it has the words of the pages, and grows with them alone"
    ids: dict[str, set[str]] = {}
    for at, anchor, *_ in found["sections"]:
        page = found["pages"][at][0]
        if page not in ids:
            html = (SITE / f"{page}.html").read_text("utf-8")
            ids[page] = set(re.findall(r'\sid="([^"]+)"', html))
        assert anchor in ids[page], f"{page}#{anchor}"


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


def test_the_dialog_answers_as_one_types_and_opens_the_section(browser: Any, address: str) -> None:
    """By keyboard alone, on a phone, in the dark."""
    phone = {"width": 375, "height": 667}
    with Visit(browser, address, "book/matmul.html", viewport=phone, color_scheme="dark") as visit:
        page = visit.page
        page.keyboard.press("Control+k")
        page.wait_for_selector("form.bd-search input:focus")
        with change(page, ".found"):
            page.keyboard.type("rooflne")
        assert page.evaluate("document.documentElement.scrollWidth") <= 375
        page.keyboard.press("ArrowDown")
        assert page.evaluate("document.activeElement.closest('.found') !== null")
        page.keyboard.press("Enter")
        page.wait_for_url("**/book/roofline.html#roofline")
        assert visit.errors == []
        assert visit.elsewhere == []


def test_the_search_says_that_it_searches(browser: Any, address: str) -> None:
    """Until the index is there."""
    with Visit(browser, address, "book/glossary.html") as visit:
        page, waiting = visit.page, list[Any]()
        page.route("**/sections.json", lambda route: waiting.append(route))
        page.goto(f"{address}/search.html?q=kv+cash")
        page.wait_for_function("document.querySelector('.bd-article .found-said').innerText")
        assert page.inner_text(".bd-article .found-said") == "Searching …"
        waiting.pop().continue_()
        rest(page, ".bd-article .found")
        page.unroute("**/sections.json")
        assert "section" in page.inner_text(".bd-article .found-said")


def test_the_page_of_the_search_keeps_its_question(browser: Any, address: str) -> None:
    with Visit(browser, address, "search.html?q=flashattenion") as visit:
        page = visit.page
        rest(page, ".bd-article .found")
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
        assert visit.errors == []
