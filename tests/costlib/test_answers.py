"""All answers at once: each is what the library says when it is asked alone, and sums are true."""

from __future__ import annotations

import math
import re

import pytest

import costlib
from costlib import answer, serving
from costlib.model import kvcache
from costlib.model.catalog import models
from costlib.timing import roofline
from paths import ROOT

#: Memory ends many of these contexts, and training some of them earlier.
pytestmark = pytest.mark.filterwarnings("ignore::costlib.serving.server.BeyondTraining")

CASES = {
    "dense": {"model": "llama-3.1-8b", "device": "H100-SXM", "batch": 8, "context": 8192},
    "shared": {"model": "llama-3.1-70b", "device": "H100-SXM", "tensor": 4, "batch": 3},
    "packed": {"model": "gpt-oss-120b", "device": "H200", "batch": 16, "prompt": 700},
    "latent": {"model": "deepseek-v3", "device": "B200", "tensor": 8, "precision": "fp8"},
    "hybrid": {"model": "zamba2-7b", "device": "A100-80GB", "context": 100_000},
    "too large": {"model": "llama-3.1-70b", "device": "T4"},
}
#: Cuts whose devices differ.
PLANS = {
    "stages": {"model": "llama-3.1-405b", "device": "DGX-H100x2", "pipeline": 2, "batch": 64},
    "fewer groups": {"model": "gemma-2-9b", "device": "L4", "pipeline": 4, "batch": 3},
    "packed stages": {"model": "gpt-oss-120b", "device": "H200", "tensor": 2, "pipeline": 3},
}


@pytest.mark.parametrize("name", PLANS)
def test_each_answer_of_a_pipeline_is_what_the_server_says(name):
    found = answer(**PLANS[name], context=5000, prompt=700, price_per_hour=2.5, watts=400)
    server, batch = found.server, found.batch
    assert found["tpot_s"] == pytest.approx(server.step(batch, 5000), rel=1e-12)
    assert found["ttft_s"] == pytest.approx(server.prefill(700), rel=1e-12)
    assert found["largest_batch"] == server.room(5001)
    assert found["memory_bytes"] == server.fullest(batch, 5000)[1].total
    hours = server.busy(700) / 700 * 1e6 / 3600
    assert found["usd_per_million_input_tokens"] == pytest.approx(hours * server.devices * 2.5)
    joules = server.step(batch, 5000) / batch * 1e6 * server.devices * 400
    assert found["joules_per_million_output_tokens"] == pytest.approx(joules)
    paid = serving.bill(server, prompt=700, answer=2, batch=batch, per_hour=2.5).input
    assert paid == pytest.approx(found["usd_per_million_input_tokens"])
    words = {row.key: row.why for row in found}["tpot_s"]
    assert f"{server.pipeline} stages" in words
    assert ("in the slowest" in words) == (batch > server.pipeline)


@pytest.mark.parametrize("name", CASES)
def test_each_answer_is_what_the_library_says_alone(name):
    given = {"batch": 1, "context": 4096, "tensor": 1, "precision": None, **CASES[name]}
    prompt = given.get("prompt", given["context"])
    found = answer(**CASES[name], price_per_hour=2.5, watts=400)
    model, device = models[given["model"]], costlib.devices[given["device"]]
    many = given["tensor"]
    share = costlib.parallel.tensor_parallel(model, many)

    def seconds(work):
        return roofline.time(work, device, precision=given["precision"], too_large="ignore")

    step = seconds(share.decode(given["batch"], given["context"], logits="last"))
    first = seconds(share.decode(1, 0, prompt, logits="last"))
    held = kvcache.memory(share, given["batch"], given["context"], given["precision"])
    assert found["params"] == model.params()
    assert found["weight_bytes"] == model.weight_bytes(given["precision"])
    assert found["memory_bytes"] == held.total
    assert found.fits == (held.total <= device.usable)
    assert found["tpot_s"] == pytest.approx(step, rel=1e-12)
    assert found["ttft_s"] == pytest.approx(first, rel=1e-12)
    assert found["output_tokens_per_s"] == pytest.approx(given["batch"] / step, rel=1e-12)
    paid = step / given["batch"] * many * 2.5 / 3600 * 1e6
    assert found["usd_per_million_output_tokens"] == pytest.approx(paid, rel=1e-12)
    joules = first / prompt * many * 400 * 1e6
    assert found["joules_per_million_input_tokens"] == pytest.approx(joules, rel=1e-12)
    points = roofline.limits(
        share.decode(given["batch"], given["context"], logits="last"), device, given["precision"]
    )
    spent = {}
    for point in points:
        spent[point.bound] = spent.get(point.bound, 0) + point.time
    assert found["decode_bound"] == max(spent, key=spent.get)


@pytest.mark.parametrize("name", [name for name in (*CASES, *PLANS) if name != "too large"])
def test_the_largest_fit_and_one_more_does_not(name):
    given = {"batch": 1, "context": 4096, **(CASES | PLANS)[name]}
    found = answer(**given)
    assert answer(**{**given, "batch": int(found["largest_batch"])}).fits
    assert not answer(**{**given, "batch": int(found["largest_batch"]) + 1}).fits
    if math.isfinite(found["largest_context"]):
        assert answer(**{**given, "context": int(found["largest_context"])}).fits
        # a state or a compressed cache grows in steps: what one more token does not show, many do
        assert not answer(**{**given, "context": int(1.01 * found["largest_context"]) + 1}).fits


def numbers_in(text: str) -> list[float]:
    scales = {"": 1, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15, "m": 1e-3, "µ": 1e-6}
    pattern = r"([\d,]+\.?\d*) ?(?:([kMGTPmµ]?)(?:FLOP|B|s)\b)?"
    found = re.findall(pattern, text)
    return [float(digits.replace(",", "")) * scales[unit] for digits, unit in found]


@pytest.mark.parametrize("name", [*CASES, *PLANS])
def test_sums_in_words_come_out(name):
    """The numbers of a sum, put together as its words say, are the answer."""
    found = {row.key: row for row in answer(**(CASES | PLANS)[name], price_per_hour=2.5)}
    params, each = numbers_in(found["weight_bytes"].why)
    assert params * each == pytest.approx(found["weight_bytes"].value, rel=1e-3)
    given, weights, one = numbers_in(found["largest_batch"].why.replace(" GB", ""))[:3]
    room = max(0, given - weights) / one
    assert room == pytest.approx(found["largest_batch"].value, rel=0.02, abs=1.01)
    batch, seconds = numbers_in(found["output_tokens_per_s"].why)
    assert batch / seconds == pytest.approx(found["output_tokens_per_s"].value, rel=1e-3)
    million, _, price, many = numbers_in(
        found["usd_per_million_output_tokens"].why.replace("⁶", "")
    )
    seconds = found["tpot_s"].value / answer(**(CASES | PLANS)[name]).batch
    assert (million, price) == (10, 2.5)
    paid = 1e6 * seconds * price * many / 3600
    assert paid == pytest.approx(found["usd_per_million_output_tokens"].value, rel=1e-9)


def sections(page: str) -> set[str]:
    """Addresses of a page's headings, as Sphinx makes them, and those that they had before."""
    text = (ROOT / "book" / page.replace(".html", ".md")).read_text("utf-8")
    titles = re.findall(r"^##+ (.+)$", text, re.M)
    before = re.findall(r'^<span id="([^"]+)"></span>$', text, re.M)
    return {re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-") for title in titles} | {*before}


def test_every_answer_names_a_section_that_is_there():
    rows = [row for given in CASES.values() for row in answer(**given, price_per_hour=1, watts=1)]
    for where in {row.where for row in rows}:
        page, _, section = where.partition("#")
        assert section in sections(page), where


def test_what_is_shown_is_the_value():
    found = {row.key: row for row in answer("deepseek-v3", "H200", tensor=8, batch=32)}
    assert found["params"].shown == "671 G"
    assert found["fits"].shown == "yes"
    assert found["largest_batch"].shown == f"{found['largest_batch'].value:,}"
    html = answer("gpt2", "T4")._repr_html_()
    assert "<th>time per output token (TPOT)</th>" in html
    assert serving.Server("gpt2", "T4").fits


def test_an_answer_that_is_not_there_is_named():
    with pytest.raises(KeyError, match=r"'price'; there are params, "):
        answer("gpt2", "T4")["price"]


def test_a_number_has_the_unit_of_its_name():
    found = answer("llama-3-8b", "H100-SXM", batch=8, context=8192)
    units = {each.key: each.unit for each in found}
    assert {units[key] for key in units if key.endswith("_s")} <= {"s", "tokens/s"}
    assert (units["ttft_s"], units["tpot_s"]) == ("s", "s")
    assert 1e-3 < found["tpot_s"] < found["ttft_s"] < 1
