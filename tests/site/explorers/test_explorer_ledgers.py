"""Explorers of one model on one device: their numbers are those of the library's ledgers.

They are computed by the packaged node, on the very files that the site serves.
"""

from __future__ import annotations

import json
import math
import random
import re
from typing import Any

import pytest

import sampling
from costfigures.explorers.iomodel import ATTENTIONS, BACKWARDS
from costlib import devices, iomodel, models, serving
from costlib.iomodel import bounds, counts
from costlib.iomodel.counting.block_sizes import plain_blocks
from costlib.model import kvcache
from costlib.sources import jamesnulliu
from costlib.timing import roofline
from costlib.units.precision import Precision
from explorer_settings import (
    MANY,
    asked,
    can_share,
    differing,
    drawn,
    of_any_length,
    one_step,
    rate,
    seconds,
    size,
)
from in_node import HERE, in_page, same
from tools.pages import explorers

#: How steps are counted that explorers show.
ABSORBED = {"logits": "last", "scores": "on-chip", "mla": "absorbed"}


def on_a_device(chance: random.Random) -> dict[str, Any]:
    """A model, a device and a batch."""
    named = {"model": chance.choice([*explorers.drawable()]), "device": chance.choice([*devices])}
    return {**named, "batch": size(chance, 4096)}


def test_prefill_intensity() -> None:
    settings = drawn(
        1,
        lambda chance: {
            **on_a_device(chance),
            "seq": size(chance, 2**20),
            "scores": chance.choice(["onchip", "materialised"]),
        },
    )
    library = []
    for s in settings:
        model, device = explorers.drawable()[s["model"]], devices[s["device"]]
        notes = jamesnulliu.prefill(
            s["batch"], s["seq"], model.d_model, model.layers, model.params() / 1e9
        )
        scores = "on-chip" if s["scores"] == "onchip" else "materialised"
        ledger = model.prefill(s["batch"], s["seq"], logits="last", scores=scores)
        both = [notes.intensity(), ledger.intensity()]
        reached = [device.attainable(each, rate(device)[0]) for each in both]
        each = [notes.flops, notes.bytes(), ledger.flops, ledger.bytes()]
        library.append([*map(float, each), *both, *reached])
    assert differing(settings, asked("prefill", "prefill", settings), library) == []


def test_speculative_intensity() -> None:
    settings = drawn(
        2,
        lambda chance: {
            **on_a_device(chance),
            "cached": size(chance, 2**20),
            "fresh": size(chance, 4096),
        },
    )
    library = []
    for s in settings:
        model = explorers.drawable()[s["model"]]
        given = {
            "B": s["batch"],
            "S_i": s["fresh"],
            "S_c": s["cached"],
            "H": model.d_model,
            "N": model.layers,
            "Z": model.params() / 1e9,
        }
        counted = model.decode(s["batch"], s["cached"], s["fresh"], **ABSORBED)
        ledgers = [jamesnulliu.decode(**given), jamesnulliu.corrected_decode(**given), counted]
        library.append([float(x) for each in ledgers for x in (each.flops, each.bytes())])
    body = "page.at(state, state.fresh).costs.flat()"
    assert differing(settings, in_page("speculative.js", body, settings), library) == []


def test_speculative_crossings() -> None:
    chance = random.Random(3)
    settings = [
        {
            "model": chance.choice(of_any_length()),
            "device": chance.choice(list(devices)),
            "batch": size(chance, 256),
            "cached": size(chance, 10**5),
            "fresh": 1,
        }
        for _ in range(100)
    ]
    found = in_page("speculative.js", "page.compute(state).crossings[2]", settings)
    assert sum(each is not None for each in found) > 30
    for s, crossing in zip(settings, found, strict=True):
        model, device = explorers.drawable()[s["model"]], devices[s["device"]]

        def intensity(new: int, model: Any = model, s: Any = s) -> float:
            return float(model.decode(s["batch"], s["cached"], new, **ABSORBED).intensity())

        ridge = device.ridge(rate(device)[0])
        if crossing is None:
            assert intensity(2**20) < ridge
        else:
            assert intensity(crossing) >= ridge
            assert crossing == 1 or intensity(crossing - 1) < ridge


def test_gain_of_speculation() -> None:
    settings = drawn(
        15,
        lambda chance: {
            **on_a_device(chance),
            "cached": size(chance, 2**20),
            "fresh": size(chance, 512),
            "accepted": chance.randint(0, 99),
            "draft": chance.randint(0, 100),
        },
    )[:200]
    library = []
    for s in settings:
        model, device = explorers.drawable()[s["model"]], devices[s["device"]]
        precision = Precision(compute=rate(device)[0])

        def seconds(
            new: int, s: Any = s, model: Any = model, on: Any = (device, precision)
        ) -> float:
            ledger = model.decode(s["batch"], s["cached"], new, **ABSORBED)
            return float(roofline.time(ledger, on[0], precision=on[1], too_large="ignore"))

        check, accepted = seconds(s["fresh"]) / seconds(1), s["accepted"] / 100
        yields = serving.expected_tokens(accepted, s["fresh"] - 1)
        faster = serving.speed_up(accepted, s["fresh"] - 1, s["draft"] / 100, check)
        library.append([float(each) for each in (check, yields, faster)])
    assert differing(settings, asked("speculative", "gain", settings), library) == []


def steps() -> list[dict[str, Any]]:
    """Steps and prompts of any model on any device, in any precision."""

    def draw(chance: random.Random) -> dict[str, Any]:
        name = chance.choice(list(explorers.drawable()))
        device = devices[chance.choice(list(devices))]
        shares = [each for each in explorers.DEGREES if can_share(name, each)]
        return {
            "model": name,
            "device": device.name,
            "dtype": chance.choice([*device.flops_per_s]),
            "phase": chance.choice(["decode", "prefill"]),
            "batch": size(chance, 4096),
            "context": size(chance, 2**20),
            "weights": chance.choice(["4", "2", "1", "0.5"]),
            "kv": chance.choice(["4", "2", "1", "0.5"]),
            "shared": str(chance.choice(shares)),
        }

    return drawn(4, draw)


def test_roofline_of_a_step() -> None:
    settings = steps()
    expected = []
    for s in settings:
        places, message, link = one_step(s)
        each = [
            (p.flops, p.bytes, p.intensity, p.compute_time, p.memory_time, p.time) for p in places
        ]
        ops = [float(x) for numbers in each for x in numbers]
        expected.append([ops, seconds(places) + link, message])
    assert differing(settings, asked("step", "step", settings), expected) == []


ATTENTION = {"q_absorb", "v_absorb", "kv_b_proj", "scores", "softmax", "values"}


PREFIXES = {**dict(zip("YZEPTGMk", (10.0**n for n in range(24, 0, -3)), strict=True)), "": 1.0}


RAISED = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")


PREFIXES |= {"m": 1e-3, "µ": 1e-6, "n": 1e-9}


def numbers_in(words: str) -> list[float]:
    """The numbers that an explorer's words say, prefixes included."""
    flat = re.sub(" × 10([⁻⁰¹²³⁴-⁹]+)", lambda power: f"e{power[1].translate(RAISED)}", words)
    found = re.findall(r"(\d[\d,.]*(?:e[+-]?\d+)?) ?([YZEPTGMkmµn]?)", flat)
    return [float(digits.replace(",", "")) * PREFIXES[prefix] for digits, prefix in found]


def test_words_of_a_step() -> None:
    """What is written of it and stands in no table; the four parts, and what binds."""
    settings = steps()[:200]
    said = asked("step", "stepSaid", settings)
    for s, (words, parts, (what, share)) in zip(settings, said, strict=True):
        places, message, link = one_step(s)
        time, tokens = seconds(places) + link, s["batch"]
        tokens *= s["context"] if s["phase"] == "prefill" else 1
        flops, moved = sum(p.flops for p in places), sum(p.bytes for p in places)
        expected = [time, tokens / time, tokens / time / s["batch"], flops, moved, flops / moved]
        expected += [message] * bool(message) + [link] * bool(link)
        assert numbers_in(words) == pytest.approx([float(x) for x in expected], rel=1e-3), (
            s,
            words,
        )
        four = [
            float(sum(getattr(p, kind) for p in places if (p.name in ATTENTION) == is_attention))
            for is_attention in (True, False)
            for kind in ("compute_time", "memory_time")
        ]
        assert parts == pytest.approx(four, rel=1e-9), s
        waits = seconds(places, lambda p: p.memory_time > p.compute_time)
        shares = {
            "memory": waits / time,
            "compute": (seconds(places) - waits) / time,
            "the link between devices": link / time,
        }
        assert [shares[what], max(shares.values())] == pytest.approx([share] * 2), s


def test_a_dot_of_a_step_follows_the_pointer() -> None:
    """A dragged op comes as near to the pointer as whole batches allow; or nothing moves it."""
    chance = sampling.chance("dots")
    first = {"model": "llama-3-8b", "device": "A100-80GB", "dtype": "bf16", "weights": "2"}
    first |= {"kv": "2", "shared": "1", "context": 4096, "batch": 64}
    settings = [
        [{**first, "phase": phase, "batch": batch}, op, chance.uniform(2, 180)]
        for phase, batch in (("decode", 64), ("prefill", 1))
        for op in ("ffn.gate", "q_proj", "scores", "residual")
    ]
    found = asked("step", "dragged", settings)
    for (s, op, wanted), (change, reached) in zip(settings, found, strict=True):
        if op == "residual" or (op == "scores" and s["phase"] == "decode"):
            assert change == {}
        elif op != "scores":  # it stops rising before that
            assert reached == pytest.approx(wanted, rel=0.3), (op, change)


def test_what_fits() -> None:
    settings = drawn(
        5,
        lambda chance: {
            "model": chance.choice(of_any_length()),
            "capacity": chance.randint(10**9, 10**12),
            "batch": size(chance, 65536),
            "context": size(chance, 2**24),
            "e": [chance.choice([4, 2, 1, 0.5]), 2, chance.choice([4, 2, 1, 0.5])],
        },
    )
    library = []
    for s in settings:
        model = explorers.drawable()[s["model"]]
        precision = Precision(weights=s["e"][0], activations=2, kv=s["e"][2])
        held = kvcache.memory(model, s["batch"], s["context"] - 1, precision)
        batch = kvcache.largest_batch(model, s["capacity"], s["context"], precision)
        context = kvcache.largest_context(model, s["capacity"], s["batch"], precision)
        each = (held.weights, held.kv, held.activations, batch.largest, context.largest)
        library.append([*map(float, each)])
    catalogue = (HERE / "generated" / "catalogue.js").read_text("utf-8")
    found = re.search(r"export const models = (\[.*?\]);\n", catalogue)
    assert found is not None
    entries = {each["name"]: each for each in json.loads(found[1])}
    given = [{**s, "model": entries[s["model"]], "precision": s["e"]} for s in settings]
    page = asked("memory", "holds", given)
    assert differing(settings, page, library) == []


def test_weights_as_they_are_published() -> None:
    packed = [name for name in explorers.drawable() if models[name].storage is not None]
    assert {"gpt-oss-20b", "deepseek-v3"} <= set(packed)
    base = {"device": "B300", "batch": 1, "context": 100, "kv": "2", "window": 512}
    settings = [{**base, "model": name, "weights": "ships"} for name in packed]
    page = in_page("memory.js", "page.compute(state).rows[0].parts[0]", settings)
    for name, found in zip(packed, page, strict=True):
        assert found == pytest.approx(models[name].weight_bytes(), rel=1e-12)
    offered = "page.controls.find((c) => c.id === 'weights').options(state)[0][0]"
    assert in_page("memory.js", offered, [settings[0], {"model": "gpt2"}]) == ["ships", "4"]


def test_kinds_of_cache() -> None:
    given = {"weights": "2", "kv": "2", "window": 512}
    settings = [
        {"model": name, "device": "A100-80GB", "batch": 3, "context": 10_000, **given}
        for name in of_any_length()
    ]
    page = in_page(
        "memory.js", "page.compute(state).rows.map((r) => [r.name, r.parts[1]])", settings
    )
    for s, rows in zip(settings, page, strict=True):
        model, found, own = explorers.drawable()[s["model"]], dict(rows), "its own cache"
        token = 3 * 10_000 * model.layers * 2
        head = model.mla.head_dim if model.mla else model.head_dim
        assert found[own] == kvcache.kv_bytes(model, 3, 10_000)
        doubled = [n for n in found if found[n] == found[own] and n != own]
        assert not doubled or model.window, s  # within its window it is as one without
        others = {
            "one KV head for all query heads (MQA)": token * 2 * head,
            "a KV head for each query head (MHA)": token * 2 * head * model.heads,
            "latents of 576 (MLA)": token * (512 + 64),
        }
        for name, expected in others.items():
            assert found.get(name, found[own]) == expected, (s, name)
        windowed = 3 * 512 * model.layers * 2 * model.kv_elements_per_layer()
        assert found[f"{own}, with a window of 512 tokens"] == windowed


def test_io_of_attention() -> None:
    settings = drawn(
        6,
        lambda chance: {
            "pass": chance.choice(["forward", "backward"]),
            "N": size(chance, 2**20),
            "d": size(chance, 1024),
            "M": 3 + size(chance, 2**28 - 3),
        },
    )
    page = in_page("io.js", "page.at(state, state.M)", settings)
    fitting = 0
    for s, found in zip(settings, page, strict=True):
        N, d, M = s["N"], s["d"], s["M"]
        names, bound = io_orders[s["pass"]]
        assert math.isclose(found["bound"], bound(N, d, M), rel_tol=1e-12), s
        for which, name in enumerate(names):
            sizes = [min(each, max(N, d)) for each in plain_blocks(name, d, M).values()]
            assert found["blocks"][which] == sizes, s
            if min(sizes) < 1:
                assert found["runs"][which] is None
                continue
            fitting += 1
            expected = getattr(counts, name)(N, d, *sizes)
            assert same(found["runs"][which], [expected.reads, expected.writes, expected.peak]), s
            assert expected.peak <= M, "what is drawn fits"
    assert fitting > 2 * MANY


io_orders = {
    "forward": (ATTENTIONS, bounds.attention),
    "backward": (BACKWARDS, bounds.backward),
}


@pytest.mark.parametrize(("name", "which"), [("flash", 1), ("flash2", 2)])
def test_no_blocks_move_less_than_those_drawn(name: str, which: int) -> None:
    chance = sampling.chance("setting 7")
    settings = [
        {
            "N": size(chance, 2048),
            "d": (d := size(chance, 64)),
            "M": chance.randint(6 * d + 20, 9999),
        }
        for _ in range(100)
    ]
    page = in_page("io.js", f"page.at(state, state.M).runs[{which}]", settings)
    for s, run in zip(settings, page, strict=True):
        best = iomodel.best_blocks(name, s["N"], s["d"], s["M"]).count
        assert run[0] + run[1] == best.total, s
