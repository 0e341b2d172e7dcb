"""The explorers: the page's numbers against costlib's, and the pages used as a reader would.

The numbers are computed by the packaged node, on the very files that the site serves. The browser
tests need the site, with the explorers' pages, and chromium, like those of test_site.
"""

from __future__ import annotations

import functools
import json
import math
import random
import re
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import nbformat
import pytest

import costlib
import sampling
from browsing import Visit
from costfigures import explorers as fallbacks
from costfigures import start as first_figures
from costfigures.explorers.parallel import MESSAGES
from costfigures.explorers.serving import some_requests
from costlib import devices, iomodel, models, serving, training
from costlib.iomodel import bounds, counts
from costlib.iomodel.pebbles import Game, IllegalMove, Move
from costlib.model import kvcache
from costlib.parallel import Cluster, Plan, search, tensor_parallel
from costlib.serving import Server, simulate
from costlib.sources import jamesnulliu
from costlib.timing import roofline
from costlib.training import RECIPES
from costlib.units.numbers import ceil_div
from costlib.units.precision import Precision, precision_of
from in_node import HERE, in_page, same
from paths import ROOT, SITE
from tools.pages import explorer_mesh, explorers

MANY = sampling.number(120, 1000)


def stand_ins() -> dict[str, dict[str, str]]:
    """Every explorer: for each page on which it stands, the HTML that its cell left there."""
    found: dict[str, dict[str, str]] = {}
    for path in sorted((ROOT / "book").glob("*.ipynb")):
        for cell in json.loads(path.read_text("utf-8"))["cells"]:
            for output in cell.get("outputs", []):
                html = "".join(output.get("data", {}).get("text/html", ""))
                for name in re.findall('data-explorer="([^"]*)"', html):
                    found.setdefault(name, {})[path.stem] = html
    return found


STAND_INS = stand_ins()
NAMES = tuple(STAND_INS)


def page_of(name: str) -> str:
    """The page that an explorer has to itself."""
    return f"book/explore_{name}.html"


def differing(settings: list[Any], page: list[Any], library: list[Any]) -> list[Any]:
    """The first settings at which page and library differ."""
    compared = zip(settings, page, library, strict=True)
    return [(s, one, other) for s, one, other in compared if not same(one, other)][:3]


def size(chance: random.Random, most: int) -> int:
    """A whole number from 1 on, any order of magnitude alike."""
    return min(most, int(2 ** chance.uniform(0, math.log2(most + 1))))


def rate(device: costlib.Device) -> tuple[str, Any]:
    """The number format that the intensity explorers use, and its rate."""
    dtype = next(name for name in ("bf16", "fp16", "fp32") if name in device.flops_per_s)
    return dtype, device.flops_per_s[dtype]


def drawn(seed: int, draw: Callable[[random.Random], dict[str, Any]]) -> list[dict[str, Any]]:
    """Settings that are the same for a commit."""
    chance = sampling.chance(f"setting {seed}")
    return [draw(chance) for _ in range(MANY)]


# ---------------------------------------------------------------- what is generated


@pytest.fixture(scope="module")
def generated() -> dict[Path, str]:
    """Every generated file, made again."""
    return explorers.files()


def test_generated_files_are_up_to_date(generated: dict[Path, str]) -> None:
    for path, text in generated.items():
        assert path.read_text("utf-8") == text, f"{path.name} is out of date: run `make sync`"
    assert {*explorers.FOLDER.iterdir()} == {*generated}


def test_every_model_and_device_is_there() -> None:
    listed = "[page.models.map((m) => m.name), page.devices.map((d) => d.name)]"
    [[found, machines]] = in_page("generated/catalogue.js", listed, [0])
    assert found == list(explorers.drawable())
    assert machines == list(devices)


def test_a_quotient_is_never_a_product_with_an_inverse(generated: dict[Path, str]) -> None:
    """49·(1/49) is not 1, so the ceiling of such a product can be one too many."""
    for path in (explorers.FOLDER / "io.js", explorers.FOLDER / "ledgers.js"):
        assert not re.search(r"= 1/\w|Math\.pow\(\w+, -", generated[path])


# ---------------------------------------------------------------- numbers


def test_prefill_intensity() -> None:
    settings = drawn(
        1,
        lambda chance: {
            "model": chance.choice(list(explorers.drawable())),
            "device": chance.choice(list(devices)),
            "batch": size(chance, 4096),
            "seq": size(chance, 2**20),
            "scores": chance.choice(["onchip", "materialised"]),
        },
    )
    body = "(({published, counted, intensity, attainable}) => [published[0], published[1],"
    body += " ...counted, ...intensity, ...attainable])(page.at(state, state.seq))"
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
        library.append(
            [
                notes.flops,
                float(notes.bytes()),
                float(ledger.flops),
                float(ledger.bytes()),
                *both,
                *reached,
            ]
        )
    assert differing(settings, in_page("prefill.js", body, settings), library) == []


def test_speculative_intensity() -> None:
    settings = drawn(
        2,
        lambda chance: {
            "model": chance.choice(list(explorers.drawable())),
            "device": chance.choice(list(devices)),
            "batch": size(chance, 4096),
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
        counted = model.decode(
            s["batch"], s["cached"], s["fresh"], logits="last", scores="on-chip", mla="absorbed"
        )
        ledgers = [jamesnulliu.decode(**given), jamesnulliu.corrected_decode(**given), counted]
        library.append([float(x) for each in ledgers for x in (each.flops, each.bytes())])
    body = "page.at(state, state.fresh).costs.flat()"
    assert differing(settings, in_page("speculative.js", body, settings), library) == []


def test_speculative_crossings() -> None:
    chance = random.Random(3)
    settings = [
        {
            "model": chance.choice(list(explorers.drawable())),
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
            options = {"logits": "last", "scores": "on-chip", "mla": "absorbed"}
            return float(model.decode(s["batch"], s["cached"], new, **options).intensity())

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
            "model": chance.choice(list(explorers.drawable())),
            "device": chance.choice(list(devices)),
            "batch": size(chance, 4096),
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
            options = {"logits": "last", "scores": "on-chip", "mla": "absorbed"}
            ledger = model.decode(s["batch"], s["cached"], new, **options)
            return float(roofline.time(ledger, on[0], precision=on[1], too_large="ignore"))

        check, accepted = seconds(s["fresh"]) / seconds(1), s["accepted"] / 100
        yields = serving.expected_tokens(accepted, s["fresh"] - 1)
        faster = serving.speed_up(accepted, s["fresh"] - 1, s["draft"] / 100, check)
        library.append([float(each) for each in (check, yields, faster)])
    body = "(({check, yields, faster}) => [check, yields, faster])(page.gain(state, state.fresh))"
    assert differing(settings, in_page("speculative.js", body, settings), library) == []


def test_what_is_suggested_of_speculation_is_so() -> None:
    first = "Object.fromEntries(page.controls.map((c) => [c.id, c.value]))"
    body = (
        f"[{{}}, ...page.tries.map((each) => each.state)].map((more) => page.compute({{...{first},"
    )
    [found] = in_page("speculative.js", f"{body} ...more}}))", [0])
    best = [(each["best"]["fresh"], round(each["best"]["faster"], 2)) for each in found]
    assert best[:4] == [(9, 3.02), (4, 1.61), (5, 2.69), (3, 1.35)]
    assert [each["crossings"][2] for each in found[2:]] == [13, 35, 180, 156, 61]
    assert found[5]["crossings"][0] == 90
    published, corrected, counted = found[0]["here"]["intensity"]
    assert published > 1.5 * max(corrected, counted)  # it opens where the gap shows


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
    body = "((change) => [change, page.compute({...state[0], ...change}).ops.find((op) => op.name"
    body += " === state[1]).intensity])(page.along(...state))"
    for (s, op, wanted), (change, reached) in zip(
        settings, in_page("step.js", body, settings), strict=True
    ):
        if op == "residual" or (op == "scores" and s["phase"] == "decode"):
            assert change == {}
        elif op != "scores":  # it stops rising before that
            assert reached == pytest.approx(wanted, rel=0.3), (op, change)


def one_step(s: dict[str, Any]) -> tuple[Any, float, float]:
    """Each op's place under the roofline; what is sent, and the seconds that takes."""
    model, device = explorers.drawable()[s["model"]], devices[s["device"]]
    share = tensor_parallel(model, int(s["shared"]))
    precision = Precision(weights=float(s["weights"]), kv=float(s["kv"]), compute=s["dtype"])
    options = {"logits": "last", "scores": "on-chip"}
    if s["phase"] == "prefill":
        ledger = share.prefill(s["batch"], s["context"], **options)
    else:
        ledger = share.decode(s["batch"], s["context"], mla="absorbed", **options)
    message, work = ledger.bytes_sent(precision), ledger.where(lambda op: not op.axis)
    places = roofline.limits(work, device, precision)
    link = message / device.interconnect if device.interconnect and message else 0.0
    assert roofline.time(work, device, precision=precision) == pytest.approx(seconds(places))
    return places, float(message), float(link)


def seconds(places: Any, only: Callable[[Any], bool] = lambda _: True) -> float:
    """The time of ops, one after another."""
    return float(sum(place.time for place in places if only(place)))


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
    body = "(({ops, time, message}) => [ops.flatMap((op) => [op.flops, op.bytes, op.intensity,"
    body += " op.compute, op.memory, op.time]), time, message])(page.compute(state))"
    expected = []
    for s in settings:
        places, message, link = one_step(s)
        each = [
            (p.flops, p.bytes, p.intensity, p.compute_time, p.memory_time, p.time) for p in places
        ]
        ops = [float(x) for numbers in each for x in numbers]
        expected.append([ops, seconds(places) + link, message])
    assert differing(settings, in_page("step.js", body, settings), expected) == []


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
    body = "((r) => [page.summary(state, r).filter((line) => line[0] !== 'Binds')"
    body += ".map((line) => line[1]).join(' | '), r.parts, page.binding(r)])(page.compute(state))"
    said = in_page("step.js", body, settings)
    for s, (words, parts, (what, share)) in zip(settings, said, strict=True):
        places, message, link = one_step(s)
        time, tokens = seconds(places) + link, s["batch"]
        tokens *= s["context"] if s["phase"] == "prefill" else 1
        flops, moved = sum(p.flops for p in places), sum(p.bytes for p in places)
        expected = [time, tokens / time, time / s["batch"], flops, moved, flops / moved]
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


@functools.cache
def can_share(name: str, among: int) -> bool:
    """True if so many devices can share the model."""
    try:
        tensor_parallel(explorers.drawable()[name], among)
    except ValueError:
        return False
    return True


def test_what_fits() -> None:
    settings = drawn(
        5,
        lambda chance: {
            "model": chance.choice(list(explorers.drawable())),
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
        given = (s["context"], precision)
        library.append(
            [
                float(held.weights),
                float(held.kv),
                float(held.activations),
                float(kvcache.largest_batch(model, s["capacity"], *given).largest),
                float(kvcache.largest_context(model, s["capacity"], s["batch"], precision).largest),
            ]
        )
    body = "(({parts, largestBatch, largestContext}) => [...parts, largestBatch, largestContext])"
    catalogue = (HERE / "generated" / "catalogue.js").read_text("utf-8")
    found = re.search(r"export const models = (\[.*?\]);\n", catalogue)
    assert found is not None
    entries = {each["name"]: each for each in json.loads(found[1])}
    given = [{**s, "model": entries[s["model"]], "precision": s["e"]} for s in settings]
    page = in_page("memory.js", f"{body}(page.holds(state.model, state))", given)
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
    settings = [
        {
            "model": name,
            "device": "A100-80GB",
            "batch": 3,
            "context": 10_000,
            "weights": "2",
            "kv": "2",
            "window": 512,
        }
        for name in explorers.drawable()
    ]
    page = in_page(
        "memory.js", "page.compute(state).rows.map((r) => [r.name, r.parts[1]])", settings
    )
    for s, rows in zip(settings, page, strict=True):
        model, found = explorers.drawable()[s["model"]], dict(rows)
        token = 3 * 10_000 * model.layers * 2
        head = model.mla.head_dim if model.mla else model.head_dim
        assert found["as it is"] == kvcache.kv_bytes(model, 3, 10_000)
        doubled = [n for n in found if found[n] == found["as it is"] and n != "as it is"]
        assert not doubled or model.window, s  # within its window it is as one without
        others = {
            "one (MQA)": token * 2 * head,
            "a KV head for each query head (MHA)": token * 2 * head * model.heads,
            "latents of 576 (MLA)": token * (512 + 64),
        }
        for name, expected in others.items():
            assert found.get(name, found["as it is"]) == expected, (s, name)
        windowed = 3 * 512 * model.layers * 2 * model.kv_elements_per_layer()
        assert found["as it is, with a window of 512"] == windowed


def test_io_of_attention() -> None:
    settings = drawn(
        6,
        lambda chance: {
            "N": size(chance, 2**20),
            "d": size(chance, 1024),
            "M": 3 + size(chance, 2**28 - 3),
        },
    )
    page = in_page("io.js", "page.at(state, state.M)", settings)
    fitting = 0
    for s, found in zip(settings, page, strict=True):
        N, d, M = s["N"], s["d"], s["M"]
        bound = max(bounds.attention(N, d, M), bounds.compulsory(N, d))
        assert math.isclose(found["bound"], bound, rel_tol=1e-12), s
        for which, count in enumerate(io_counts):
            block = found["blocks"][which]
            if block < 1:
                assert found["runs"][which] is None
                assert count(N, d, 1).peak > M, s
                continue
            fitting += 1
            expected = count(N, d, block)
            larger = count(N, d, block + 1) if block < N else None
            assert same(found["runs"][which], [expected.reads, expected.writes, expected.peak]), s
            assert expected.peak <= M, "what is drawn fits"
            least = min(block, d) == block  # blocks beyond d change what is held in another way
            assert larger is None or larger.peak > M or not least, "no larger block fits"
    assert fitting > 2 * MANY


io_counts = (
    lambda N, d, block: counts.naive(N, d, block, 1),
    lambda N, d, block: counts.flash(N, d, 1, block),
    lambda N, d, block: counts.flash2(N, d, block, 1),
    lambda N, d, block: counts.small_cache(N, d, block, 1),
)


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


# ---------------------------------------------------------------- a training budget


def budgets() -> list[dict[str, Any]]:
    """Runs of any model on so many of any device, in any recipe that the device has a rate for."""

    def draw(chance: random.Random) -> dict[str, Any]:
        device = devices[chance.choice([n for n, d in devices.items() if d.capacity])]
        recipes = [
            n for n, r in RECIPES.items() if (r.compute or "any") in {"any", *device.flops_per_s}
        ]
        return {
            "model": chance.choice(list(explorers.drawable())),
            "device": device.name,
            "recipe": chance.choice(recipes),
            "tokens": size(chance, 10**6),
            "devices": size(chance, 2**20),
            "mfu": chance.randint(1, 100),
            "seq": size(chance, 2**20),
            "price": chance.randint(0, 10**4) / 100,
            "watts": size(chance, 10**4),
            "between": chance.randint(100, 10**7),
            "storage": size(chance, 10**5),
            "restart": chance.randint(0, 60),
            "fit": chance.choice([*training.FITS]),
        }

    return drawn(9, draw)


def the_run(s: dict[str, Any]) -> training.Run:
    """A setting as the library's own run."""
    return training.Run(
        model=explorers.drawable()[s["model"]],
        tokens=s["tokens"] * 10**9,
        device=devices[s["device"]],
        devices=s["devices"],
        mfu=s["mfu"] / 100,
        seq=s["seq"],
        compute=RECIPES[s["recipe"]].compute,
    )


def test_a_training_budget() -> None:
    settings, library = budgets(), []
    for s in settings:
        run, usable = the_run(s), devices[s["device"]].usable
        state = training.state_bytes(run.model, s["recipe"])
        spent = 6 * run.model.active_params() * run.tokens
        fit = training.FITS[s["fit"]]
        best = fit.best(spent)
        held = [state.weights, state.gradients, state.optimizer, state.total]
        bill = [run.flops, run.seconds, run.days, run.device_hours, run.tokens_per_s]
        bill += [run.energy_kwh(watts=s["watts"]), run.dollars(per_device_hour=s["price"])]
        held += [training.checkpoint_bytes(run.model, s["recipe"])]
        loss = [fit.loss(run.model.active_params(), run.tokens), fit.loss(*best)]
        numbers = [*bill, *held, *best, *loss]
        library.append([*map(float, numbers), int(ceil_div(state.total, usable))])
    body = "((r) => [r.flops, r.seconds, r.days, r.hours, r.speed, r.energy, r.dollars,"
    body += " ...Object.values(r.state), r.best.size, r.best.count, r.chosen.loss, r.best.loss,"
    body += " r.fewest])(page.compute(state))"
    assert differing(settings, in_page("budget.js", body, settings), library) == []


def test_failures_of_a_training_budget() -> None:
    settings = budgets()
    body = "((r) => [r.failures, r.mean, r.write, r.work, r.share])(page.compute(state).lost)"
    compared = 0
    for s, page in zip(settings, in_page("budget.js", body, settings), strict=True):
        run = the_run(s)
        mean = s["between"] * 3600 / s["devices"]
        write = training.checkpoint_bytes(run.model, s["recipe"]) / (s["storage"] * 1e9)
        work = training.young(write, mean)
        expected = training.likely_failures(run.days * 24, s["devices"], s["between"])
        assert same(page[:4], [float(x) for x in (expected, mean, write, work)]), s
        exponent = (work + write) / mean
        if exponent + 60 * s["restart"] / mean < 400:  # beyond it the digits of e count
            share = training.goodput(work, write, mean, 60 * s["restart"])
            off = 1e-12 / min(1, exponent)  # what a float keeps of e^x - 1
            assert math.isclose(page[4], share, rel_tol=off, abs_tol=1e-250), s
            compared += 1
    assert compared > len(settings) / 5


def test_along_the_valley_the_flops_stay() -> None:
    """A drag takes the dense model nearest in size, and the tokens that the budget buys for it."""
    chance = sampling.chance("along the valley")
    settings = [[10 ** chance.uniform(21, 26), 10 ** chance.uniform(7, 13)] for _ in range(MANY)]
    dense = {
        name: model.params()
        for name, model in explorers.drawable().items()
        if model.params() == model.active_params()
    }
    found = in_page("budget.js", "page.along(...state)", settings)
    for (flops, wanted), place in zip(settings, found, strict=True):
        least = min(abs(math.log(each / wanted)) for each in dense.values())
        params = dense[place["model"]]
        assert abs(math.log(params / wanted)) == pytest.approx(least, rel=1e-9)
        assert abs(int(place["tokens"]) - flops / 6 / params / 1e9) <= 0.5 + 1e-6


def test_stand_in_of_a_budget() -> None:
    """And what a button says of its state."""
    first = "Object.fromEntries(page.controls.map((c) => [c.id, c.value]))"
    keys = "[r.days, r.hours, r.dollars, r.energy / 1e3, r.state.total / 1e9, r.fewest,"
    keys += " r.lost.failures, r.lost.work / 3600, r.best.size / 1e9, r.best.count / 1e9]"
    tried = f"[{{}}, ...page.tries.map((each) => each.state)].map((more) => ((r) => {keys})"
    tried += f"(page.compute({{...{first}, ...more}})))"
    [[seen, better, llama, many]] = in_page("budget.js", tried, [0])
    shown = [float(row[1].replace(",", "")) for row in fallbacks.budget().rows]
    assert shown == pytest.approx(seen, rel=5e-3)
    assert better[0] == pytest.approx(seen[0], rel=0.01)
    assert round(better[4] / seen[4]) == 9
    assert llama[1] == pytest.approx(184_320, rel=0.02)
    assert many[0] == pytest.approx(seen[0] / 16)
    assert round(50_000 / 16384) == 3


# ---------------------------------------------------------------- serving


def server_of(s: dict[str, Any]) -> Server:
    """The library's server of a setting."""
    recipe = Precision() if s["precision"] == "16-bit" else precision_of(s["precision"])
    if s.get("kv", "own") != "own":
        recipe = recipe.with_(kv=float(s["kv"]))
    model, device = explorers.drawable()[s["model"]], devices[s["device"]]
    return Server(model, device, recipe, int(s["shared"]))


def servers(seed: int, count: int) -> list[dict[str, Any]]:
    """Settings of the explorer of serving that a reader can choose."""
    chance, found = sampling.chance(f"server {seed}"), []
    while len(found) < count:
        device = devices[chance.choice([d for d in devices if devices[d].capacity])]
        name = chance.choice(list(explorers.drawable()))
        computed = {n: explorers.recipe_entry(n)["compute"] for n in explorers.PRECISIONS}
        known = [n for n, c in computed.items() if c is None or c in device.flops_per_s]
        shares = [n for n in explorers.DEGREES if can_share(name, n)]
        found.append(
            {
                "model": name,
                "device": device.name,
                "precision": chance.choice(known),
                "kv": chance.choice(["own", "2", "1", "0.5"]),
                "shared": str(chance.choice(shares if device.interconnect else [1])),
                "context": size(chance, 2**17),
                "batch": size(chance, 4096),
                "target": chance.choice([1.5, 5.0, 20.0, 25.0, 100.0, 900.0]),
                "price": chance.choice([0.5, 3.99]),
                "used": chance.choice([40, 100]),
            }
        )
    return found


def test_seconds_of_a_server() -> None:
    settings = servers(11, sampling.number(60, 300))
    body = "((s) => [page.step(s, state.batch, state.context), page.prefill(s, state.context),"
    body += " page.room(s, state.context), Object.values(page.partsOf(s, state.batch,"
    body += " state.context)).reduce((a, b) => a + b), page.held(s, state.context)])"
    library = []
    for s in settings:
        server = server_of(s)
        held = kvcache.memory(server.share, 1, s["context"] - 1, server.precision)
        parts = {"weights": held.weights, "cache": held.kv, "activations": held.activations}
        seconds = float(server.step(s["batch"], s["context"]))
        library.append(
            [seconds, float(server.prefill(s["context"])), int(server.room(s["context"])), seconds]
        )
        library[-1].append([float(each) for each in parts.values()])
    page = in_page("server.js", f"{body}(page.serverOf(state))", settings)
    page = [[*each[:-1], [*each[-1].values()]] for each in page]
    assert differing(settings, page, library) == []


def test_regimes_of_a_server() -> None:
    """Each line is a difference of two sums: it is compared where it counts, in a step."""
    settings = servers(12, sampling.number(20, 150))
    body = "page.regimes(page.serverOf(state), state.context)"
    for s, page in zip(settings, in_page("server.js", body, settings), strict=True):
        lines = serving.regimes(server_of(s), s["context"])
        one = lines.weights + lines.reading
        assert page["capacity"] == lines.capacity
        assert page["weights"] + page["reading"] == pytest.approx(one, rel=1e-12), s
        assert page["computing"] == pytest.approx(lines.computing, rel=1e-9), s
        assert page["reading"] == pytest.approx(lines.reading, rel=1e-9, abs=1e-13 * one), s
        assert page["rest"] == pytest.approx(lines.rest, rel=1e-9, abs=1e-9 * one), s
        assert page["most"] == pytest.approx(lines.most, rel=1e-6), s
        if lines.reading > 1e-8 * one:
            assert page["even"] == pytest.approx(lines.even, rel=1e-4), s
        slope = lines.computing - lines.reading
        if abs(slope) > 1e-3 * lines.computing:  # or else they hardly cross
            expected = pytest.approx(lines.bend, rel=1e-5)
            assert page["bend"] == ("Infinity" if slope < 0 else expected), s


def test_best_batch_of_a_server() -> None:
    """The batch within a target, what it gives and costs; or what would do, if none is."""
    settings = servers(13, sampling.number(30, 300))
    body = "((r) => [r.best, r.dollars, r.frontier.map((p) => [p.batch, p.perToken])])"
    met = 0
    for s, (best, dollars, points) in zip(
        settings, in_page("frontier.js", f"{body}(page.compute(state))", settings), strict=True
    ):
        server = server_of(s)
        try:
            expected = serving.best_batch(server, s["context"], s["target"] / 1000)
        except ValueError:
            assert best is None, s
        else:
            met += 1
            assert (best["batch"], best["limit"]) == (expected.batch, expected.limit), s
            both = [best["perToken"], best["throughput"]]
            assert same(both, [expected.per_token, expected.throughput]), s
            price = serving.per_million(
                1 / expected.throughput,
                s["price"] * server.tensor,
                utilisation=s["used"] / 100,
            )
            assert same(dollars, price), s
        if points:
            batches = [each[0] for each in points]
            curve = serving.frontier(server, s["context"], batches, prompt=1)
            assert batches[-1] == curve.largest
            assert same([each[1] for each in points], curve.per_token.tolist()), s
        else:
            assert server.room(s["context"] + 1) == 0
    assert met > 0


def days() -> list[dict[str, Any]]:
    """Some requests, a server and how it decides: what the film of a server can be asked for."""
    chance, found = sampling.chance("days"), []
    servers_ = (
        ("llama-3.1-8b", "RTX-4090", "16-bit", 1),
        ("llama-3.1-8b", "H100-SXM", "fp8", 2),
        ("gemma-2-9b", "RTX-4090", "int4", 1),
        ("qwen3-30b-a3b", "A100-80GB", "16-bit", 1),
        ("gpt2", "T4", "16-bit", 1),
        ("deepseek-v2-lite", "H100-SXM", "16-bit", 2),
        ("minicpm3-4b", "RTX-4090", "fp8", 1),
    )
    for model, device, precision, shared in servers_:
        for chunk in (0, 64, 512):
            for reserve in ("answer", "blocks"):
                seed, rate = chance.randint(0, 99), chance.choice([2.0, 8.0, 40.0])
                lengths = [serving.uniform(50, 900), serving.uniform(1, 80)]
                asked = serving.poisson(rate, 16, prompt=lengths[0], answer=lengths[1], seed=seed)
                policy = {"chunk": chunk, "reserve": reserve, "most": chance.choice([3, 8, 32])}
                policy["block"] = chance.choice([1, 16])
                requests = {
                    each: getattr(asked, each).tolist() for each in ("arrival", "prompt", "answer")
                }
                where = {"model": model, "device": device, "precision": precision}
                where |= {"shared": str(shared)}
                found.append({**where, "policy": policy, "requests": requests})
    return found


def test_event_loop_is_the_librarys() -> None:
    """Every step of the trace, and when each request began, wrote first and last."""
    settings = days()
    tight = [s for s in settings if s["device"] == "RTX-4090" and s["model"] == "llama-3.1-8b"]
    for s in tight:  # prompts so long that memory is short, and some go back to the line
        s["requests"]["prompt"] = [12 * each for each in s["requests"]["prompt"]]
        s["requests"]["answer"] = [32 * each for each in s["requests"]["answer"]]
        s["requests"]["arrival"] = [each / 20 for each in s["requests"]["arrival"]]
        s["policy"]["most"] = 32
    body = "page.simulate(state.requests, page.serverOf(state), state.policy)"
    shown = in_page("loop.js", body, settings)
    waited, put_back = 0.0, 0
    for s, film in zip(settings, shown, strict=True):
        asked = serving.listed(*(s["requests"][n] for n in ("arrival", "prompt", "answer")))
        policy = {**s["policy"], "chunk": s["policy"]["chunk"] or None}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", serving.Overloaded)
            run = serving.simulate(asked, server_of(s), one_by_one=True, **policy)
        assert film["blocks"] == run.pages.blocks
        assert len(film["rows"]) == len(run.rows), s["policy"]
        for row, expected in zip(film["rows"], run.rows, strict=True):
            assert row[1:] == list(expected[1:]), (s["policy"], row, expected)
            assert row[0] == pytest.approx(expected[0], rel=1e-11)
        for name in ("started", "first", "finish"):
            times = [each[name] for each in film["runs"]]
            assert times == pytest.approx(getattr(run, name).tolist(), rel=1e-11)
        assert [len(each["tokens"]) for each in film["runs"]] == asked.answer.tolist()
        put_back += run.put_back
        assert sum(len(each["back"]) for each in film["runs"]) == run.put_back
        waited = max(waited, float(run.waited.max()))
    assert put_back > 0
    assert waited > 0


def test_film_of_a_server() -> None:
    """Its requests and what they feel are those of the library, at the settings it opens with."""
    state = "(() => { const s = {}; page.controls.forEach((c) => { s[c.id] = c.value; });"
    body = f"((s) => [page.requestsOf(s), page.compute(s).felt])({state} return s }})())"
    [[asked, felt]] = in_page("serving_film.js", body, [0])
    requests = some_requests(2.5, 20, 2000, 100, seed=1)
    for name, values in asked.items():
        assert values == pytest.approx(getattr(requests, name).tolist(), rel=1e-12)
    rows = fallbacks.serving_film().rows
    for row, one in zip(rows, felt, strict=False):
        shown = [one[name] for name in ("first", "slowest", "pause")]
        assert row[1:] == [f"{1000 * each:,.0f}" for each in shown]
    drawn_at = serving.poisson(2.5, 48, prompt=1, answer=1, seed=1).arrival[:20]
    assert asked["arrival"] == pytest.approx(drawn_at.tolist(), rel=1e-12)


def test_where_memory_is_short_prompts_in_pieces_do_not_fill_it() -> None:
    body = "page.tries.find((one) => one.label === 'Memory is short').state"
    [tried] = in_page("serving_film.js", body, [0])
    requests = some_requests(tried["rate"], 20, tried["prompt"], 100, seed=1)
    server, full = Server("llama-3.1-8b", "RTX-4090"), []
    for chunk in (None, 256):
        with warnings.catch_warnings(action="ignore"):
            run = simulate(requests, server, chunk=chunk, most=32, one_by_one=True)
        full.append(run.column("blocks").max() / run.pages.blocks)
    assert full[0] > 0.95
    assert full[1] < 0.75


# ---------------------------------------------------------------- the film


@pytest.mark.parametrize("capacity", explorers.FILM_CAPACITIES)
@pytest.mark.parametrize("algorithm", explorers.ATTENTIONS)
def test_film_is_the_simulators_trace(algorithm: str, capacity: int) -> None:
    body = f"page.runOf('{algorithm}', '{capacity}').events.map((_, at) => "
    body += f"page.standing(page.runOf('{algorithm}', '{capacity}'), at + 1))"
    [shown] = in_page("film.js", body, [0])
    run = explorers.filmed(algorithm, capacity)
    reads = writes = 0
    for event, frame in zip(run.trace, shown, strict=True):
        reads += event.entries if event.kind == "load" else 0
        writes += event.entries if event.kind == "store" else 0
        assert (frame["reads"], frame["writes"], frame["held"]) == (reads, writes, event.resident)
    assert (reads, writes) == (run.reads, run.writes)
    assert max(frame["held"] for frame in shown) == run.peak <= capacity


def test_film_ends_with_both_runs_over() -> None:
    names = list(explorers.ATTENTIONS)
    settings = [
        {"left": one, "right": other, "capacity": str(M), "speed": "4", "frame": 10**5}
        for one in names
        for other in names
        for M in explorers.FILM_CAPACITIES
    ]
    body = "page.compute(state).standings.map((s) => s.reads + s.writes)"
    for s, totals in zip(settings, in_page("film.js", body, settings), strict=True):
        runs = [explorers.filmed(s[side], int(s["capacity"])) for side in ("left", "right")]
        assert totals == [run.total for run in runs]


def test_traces_of_the_film_add_up() -> None:
    """Each entry is as dark as often as it moved, and in the end every score was computed."""
    names = [f"{name} {M}" for name in explorers.ATTENTIONS for M in explorers.FILM_CAPACITIES]
    body = "((run) => { const t = page.traces(run, run.events.length); return [Object.fromEntries("
    body += (
        "Object.entries(t.moved).map(([name, { counts }]) => [name, [...counts]])), [...t.done],"
    )
    body += " t.tile]; })(page.runOf(...state.split(' ')))"
    for name, (moved, done, tile) in zip(names, in_page("film.js", body, names), strict=True):
        algorithm, M = name.split()
        run = explorers.filmed(algorithm, int(M))
        for array, often in moved.items():
            transfers = [e for e in run.trace if e.array == array and e.kind in ("load", "store")]
            assert sum(often) == sum(event.entries for event in transfers), (name, array)
        assert done == [1] * 16 * 16
        assert 0 <= tile[0] < tile[1] <= 16
        assert 0 <= tile[2] < tile[3] <= 16


# ---------------------------------------------------------------- the game


def random_play(chance: random.Random) -> tuple[dict[str, Any], list[str], int]:
    """A board, what the library says to some random moves, and the I/O of the legal ones."""
    name = chance.choice(list(explorers.BOARDS))
    _, dag, reds = explorers.BOARDS[name]
    red = chance.choice(reds)
    game, legal, said, tried = Game(dag, red), [], [], []
    for _ in range(40):
        move = Move(chance.choice("RRCCCWDE"), chance.randrange(len(dag.parents)))
        tried.append(str(move))
        try:
            game.play([*legal, move])
            legal.append(move)
            said.append("")
        except IllegalMove as refusal:
            said.append(refusal.rule)
    parents = [list(each) for each in dag.parents]
    return {"parents": parents, "most": red, "tried": tried}, said, game.play(legal).cost


def test_rules_of_the_game() -> None:
    chance = sampling.chance("setting 8")
    plays = [random_play(chance) for _ in range(MANY)]
    body = """((game) => {
      let board = page.opening(game.parents);
      const said = game.tried.map((text) => {
        const [[kind, vertex]] = page.parse(text);
        const rule = page.broken(game, board, kind, vertex);
        if (!rule) board = page.after(board, kind, vertex);
        return rule;
      });
      return [said, board.cost];
    })(state)"""
    found = in_page("rules.js", body, [setting for setting, _, _ in plays])
    assert found == [[said, cost] for _, said, cost in plays]
    rules = {rule.split(",")[0] for _, said, _ in plays for rule in said}
    assert len(rules) >= 8, "random play meets every rule"


def allowed(game: Game, moves: list[Move], move: Move) -> bool:
    """Whether the library takes a move after others."""
    try:
        game.play([*moves, move])
    except IllegalMove:
        return False
    return True


def test_a_tap_offers_what_is_legal() -> None:
    """And nothing else, but for erasing, which never helps."""
    chance, played = sampling.chance("setting 14"), []
    for _ in range(60):
        name = chance.choice(list(explorers.BOARDS))
        _, dag, reds = explorers.BOARDS[name]
        game, moves = Game(dag, chance.choice(reds)), []
        for _ in range(20):
            move = Move(chance.choice("RRCCCWD"), chance.randrange(len(dag.parents)))
            if allowed(game, moves, move):
                moves.append(move)
        played.append((game, moves, {"graph": name, "red": str(game.red)}))
    states = [{**state, "moves": "".join(map(str, moves))} for _, moves, state in played]
    body = "((r) => r.graph.parents.map((_, vertex) => page.legal(r, vertex)))(page.compute(state))"
    for (game, moves, state), found in zip(
        played, in_page("pebbles.js", body, states), strict=True
    ):
        for vertex, offered in enumerate(found):
            legal = {kind for kind in "RCWD" if allowed(game, moves, Move(kind, vertex))}
            assert {*offered} == legal, (state, moves, vertex)


@pytest.mark.parametrize("name", explorers.BOARDS)
def test_replayed_optimum_is_complete(name: str) -> None:
    _, _, reds = explorers.BOARDS[name]
    settings = [{"graph": name, "red": str(red), "tool": "auto", "moves": ""} for red in reds]
    body = """((first) => {
      const {board, complete} = page.compute({...state, moves: first.moves.replaceAll(' ', '')});
      return [board.rule ?? '', board.cost, complete, first.cost, board.moves.at(-1)[0]];
    })(page.compute(state).best)"""
    for rule, cost, complete, best, last in in_page("pebbles.js", body, settings):
        assert (rule, complete, cost) == ("", True, best)
        assert last == "W", "nothing is left to do once the last output is written"


# ---------------------------------------------------------------- the mesh


def a_mesh(chance: random.Random) -> dict[str, Any]:
    """A model on a cluster, and where in the lists of legal values its plan is drawn from."""
    node = chance.choice(list(explorer_mesh.NODES))
    known = [name for name in explorer_mesh.CHOSEN_RECIPES if name != "fp8" or "A100" not in node]
    return {
        "model": chance.choice(explorer_mesh.MODELS),
        "node": node,
        "devices": explorer_mesh.NODES[node] * 2 ** chance.randint(0, 8),
        "seq": 2 ** chance.randint(9, 20),
        "batch": 2 ** chance.randint(0, 12),
        "zero": chance.randint(0, 3),
        "recompute": chance.choice(["none", "full"]),
        "recipe": chance.choice(known),
        "drawn": [chance.random() for _ in range(4)],
    }


def planned(s: dict[str, Any]) -> Any:
    """The library's word on a plan of the page: an error where it is not legal."""
    names = ("tensor", "context", "pipeline", "data", "expert", "zero", "microbatch", "chunks")
    again = None if s["recompute"] == "none" else s["recompute"]
    plan = Plan(**{name: s[name] for name in names}, recompute=again, recipe=s["recipe"])
    each = explorer_mesh.NODES[s["node"]]
    cluster = Cluster(s["node"], nodes=s["devices"] // each, per_node=each)
    plan = plan.with_(sequence=plan.tensor > 1)
    return plan.on(s["model"], cluster, batch=s["batch"], seq=s["seq"])


DRAWN_PLAN = """((plan) => {
  const drawn = (values, share) => values[Math.floor(share * values.length)];
  const all = page.folds(plan);
  if (!all.length) return null;
  const one = { ...plan, ...drawn(all, plan.drawn[0]) };
  one.expert = drawn(page.expertDegrees(one), plan.drawn[1]);
  one.microbatch = drawn(page.microbatchesOf(one), plan.drawn[2]);
  one.chunks = drawn(page.chunkDegrees(one), plan.drawn[3]);
  return [one, page.planned(one)];
})(state)"""


def test_plans_of_a_mesh() -> None:
    """All that is offered is legal, and takes what the library says."""
    chance = random.Random(10)
    settings = [a_mesh(chance) for _ in range(100)]
    found = [each for each in in_page("mesh_plan.js", DRAWN_PLAN, settings) if each]
    assert len(found) > 80
    for s, page in found:
        library = planned(s)
        for name, value in library.parts.items():
            # What does not hide is a difference: its last digits are those of what it is made of.
            sent = sum(library.sending.values()) if name in MESSAGES else 0
            most = 1e-12 * float(value + library.step + sent)
            assert abs(page["parts"].get(name, 0) - value) <= most, (s, name)
        held = [getattr(library.memory, name) for name in page["memory"]]
        assert same([*page["memory"].values()], [float(each) for each in held]), s
        for axis, value in library.sending.items():
            assert same(page["sending"].get(axis, 0), float(value)), (s, axis)
        rates = [library.step, library.mfu, library.hfu, library.tokens_per_s]
        assert same([page[n] for n in ("step", "mfu", "hfu", "tokens")], [*map(float, rates)]), s
        assert (page["binds"], page["fits"]) == (library.binds, bool(library.fits)), s


def test_fastest_fold_is_that_of_the_search() -> None:
    chosen = {"model": "llama-3.1-8b", "node": "DGX-H100", "recipe": "bf16"}
    sizes = {"devices": 32, "batch": 32, "seq": 8192, "context": 1}
    [best] = in_page("mesh_plan.js", "page.fastest(state)", [{**chosen, **sizes}])
    rows = search(
        chosen["model"],
        Cluster(chosen["node"], nodes=4),
        batch=sizes["batch"],
        seq=sizes["seq"],
        context=[1],
        chunks=[1, 2, 4, 8],
        schedule=["1f1b"],
        recompute=[None, "full"],
    )
    assert same(best["step"], float(rows["step"].iloc[0]))


def test_factors_move_and_their_product_stays() -> None:
    """Whatever is pressed, the product is the number of devices and the library takes the plan."""
    chance = random.Random(12)
    axes = ("tensor", "context", "pipeline", "data", "expert")
    presses = [[chance.choice(axes), chance.random() < 0.5] for _ in range(400)]
    body = """((presses) => {
      let state = Object.fromEntries(page.controls.map((control) => [control.id, control.value]));
      state = { ...state, model: presses.model };
      const seen = [];
      for (const [axis, gives] of presses.all) {
        const next = page.step(state, axis, gives);
        if (next) seen.push([page.planOf(state = next), page.python(state)]);
      }
      return seen;
    })(state)"""
    both = ("llama-3.1-70b", "mixtral-8x22b")
    settings = [{"model": name, "all": presses} for name in both]
    for seen in in_page("mesh.js", body, settings):
        assert len(seen) > 100
        assert {plan["pipeline"] for plan, _ in seen} >= {1, 2, 4}
        for plan, code in seen[::12]:
            degrees = [plan[axis] for axis in ("tensor", "context", "pipeline", "data")]
            assert math.prod(degrees) == plan["devices"] == 128
            assert eval(code, {"Plan": Plan, "Cluster": Cluster}).step == planned(plan).step


def test_what_is_suggested_of_a_mesh_is_so() -> None:
    """Each suggestion stays as it is given, and shows what it says."""
    body = """page.tries.map(({ state }) => {
      const whole = { ...Object.fromEntries(page.controls.map((c) => [c.id, c.value])), ...state };
      const allowed = page.controls.every((c) => {
        const values = typeof c.options === 'function' ? c.options(whole) : c.options;
        return values.map(([value]) => value).includes(whole[c.id]);
      });
      const at = (changes) => page.compute({ ...whole, ...changes });
      return [allowed, at({}), at({ zero: '3' }), at({ batch: '128' }), at({ chunks: '1' }),
        at({ tensor: '8', pipeline: '4' }), whole.expert === '64' ? at({ expert: '8' }) : null];
    })"""
    [found] = in_page("mesh.js", body, [0])
    assert all(allowed for allowed, *_ in found)
    copies, across, bubble, large, long, mixture = (
        dict(zip(("it", "zero", "batch", "whole", "folded", "near"), rest, strict=True))
        for _, *rest in found
    )
    assert not copies["it"]["fits"]
    assert copies["zero"]["fits"]
    assert copies["zero"]["parts"]["data"] == 0 < copies["zero"]["sending"]["data.network"]
    assert (across["it"]["binds"], across["folded"]["binds"]) == ("tensor", "products")
    assert bubble["it"]["parts"]["bubble"] > bubble["it"]["step"] / 2
    assert bubble["batch"]["parts"]["bubble"] < bubble["batch"]["step"] / 8
    assert 0.4 < large["whole"]["parts"]["bubble"] / large["whole"]["step"] < 0.5
    assert long["it"]["parts"]["context"] == 0 < long["it"]["sending"]["context.network"]
    assert mixture["it"]["binds"] == "expert" != mixture["near"]["binds"]
    assert all(each["it"]["fits"] for each in (across, bubble, large, long, mixture))


# ---------------------------------------------------------------- several on a page


def test_each_explorer_has_its_part_of_an_address() -> None:
    """Plain keys are the first one's, others' parts stay, and nothing else is kept."""
    body = "[page.keysOf(page.named(state.hash), state.key, state.all),"
    body += " page.withState(state.hash, {a: 1, b: 'x y'}, state.key, state.all)]"
    both = ["one", "one2"]
    settings = [
        {"hash": hash, "key": key, "all": all}
        for hash, key, all in (
            ("", "one", ["one"]),
            ("#a-heading", "one", ["one"]),
            ("#a=3&c=%3Cb%3E", "one", ["one"]),
            ("#one.a=3&junk.b=4", "one", ["one"]),
            ("#a=3&one2.a=5&junk.b=4", "one", both),
            ("#a=3&one2.a=5&junk.b=4", "one2", both),
            ("#a=3&__proto__=5&one2.constructor=%&=7", "one2", both),
        )
    ]
    written = "#one.a=1&one.b=x+y"
    assert in_page("address.js", body, settings) == [
        [None, "#a=1&b=x+y"],
        [None, "#a=1&b=x+y"],
        [{"a": "3", "c": "<b>"}, "#a=1&b=x+y"],
        [{"a": "3"}, "#a=1&b=x+y"],
        [{"a": "3"}, f"#one2.a=5&{written[1:]}"],
        [{"a": "5"}, "#a=3&one2.a=1&one2.b=x+y"],
        [{"constructor": "%"}, "#a=3&__proto__=5&=7&one2.a=1&one2.b=x+y"],
    ]


def test_two_on_a_page(open_page: Any) -> None:
    """They start when they come near, and neither takes the other's settings or address."""
    state = "(name) => document.querySelector(`[data-explorer=${name}]`).explorer?.state"
    page = open_page("", page="book/serving.html").page
    assert page.evaluate(state, "frontier") is None
    for name in ("frontier", "serving_film"):
        page.locator(f"[data-explorer={name}]").scroll_into_view_if_needed()
        page.wait_for_function(f"({state})('{name}')")
    ids = page.evaluate("[...document.querySelectorAll('[id]')].map((each) => each.id)")
    assert len(ids) == len({*ids})
    for field, value in (("frontier-target", "6"), ("serving_film-rate", "5")):
        page.fill(f"#explorer-{field}", value)
        page.press(f"#explorer-{field}", "Enter")
    page.wait_for_function("location.hash.includes('film.rate=5')")
    assert "frontier.target=6&" in page.url
    assert (
        page.evaluate(state, "frontier")["target"],
        page.evaluate(state, "serving_film")["rate"],
    ) == (6, 5)
    link = page.url
    page.evaluate("location.hash = '#exercises'")
    page.wait_for_function("location.hash === '#exercises'")
    assert page.evaluate("document.getElementById('exercises').getBoundingClientRect().top") < 200
    page.evaluate("document.querySelector('[data-explorer=frontier]').explorer.state.target = 99")
    page.go_back()
    page.wait_for_function(f"({state})('frontier').target === 6")
    again = open_page("", "#" + link.partition("#")[2], page="book/serving.html").page
    again.wait_for_function(f"({state})('frontier')?.target === 6")
    assert (
        0
        < again.evaluate("document.querySelector('[data-explorer]').getBoundingClientRect().top")
        < 200
    )
    assert "#target=6" in again.locator("text=Open on its own page").first.get_attribute("href")


@pytest.mark.parametrize(
    "hostile",
    [
        "#target=6&film.rate=%",
        "#frontier.target=<img src=x>&=&&&frontier.=1",
        "#__proto__.a=1&frontier.__proto__=2",
    ],
)
def test_hostile_addresses_are_harmless_among_several(open_page: Any, hostile: str) -> None:
    page = open_page("", hostile, page="book/serving.html").page
    page.locator("[data-explorer=frontier]").scroll_into_view_if_needed()
    page.wait_for_function("document.querySelector('[data-explorer=frontier]').explorer")
    settle(page)
    assert page.evaluate(
        "document.querySelector('[data-explorer=frontier]').explorer.state.target"
    ) in (6, 25)
    assert page.locator("[data-explorer] img").count() == 0
    assert page.evaluate("({}).a") is None


# ---------------------------------------------------------------- charts

CHARTS = ("step", "speculative", "memory", "io", "prefill", "budget", "frontier")
FIRST = "Object.fromEntries(page.controls.map((c) => [c.id, c.value]))"


def pictures(name: str) -> list[list[str]]:
    """Each chart of an explorer as it opens, as wide as a page and as a phone, as SVG."""
    body = "((s) => page.charts(s, page.compute(s)).map((chart) => [700, 343].map((width) =>"
    body += f" picture.picture(chart, width).svg)))({FIRST})"
    [charts] = in_page(f"{name}.js", body, [0], picture="picture.js")
    return charts


def test_straight_lines_stay_straight() -> None:
    """A power law is one line: no vertex is further from it than a hundredth of a pixel."""
    spec = "{title: '', alt: '', x: {label: ''}, y: {label: ''}, xs: state, "
    spec += "series: [{label: 'a', ys: state.map((x) => 3 * x ** -0.5)}]}"
    [svg] = in_page("picture.js", f"page.picture({spec}, 700).svg", [[1.1**n for n in range(80)]])
    [path] = re.findall(
        r'd="M([^"]*)" stroke="#2f7fc1" stroke-dasharray="" class="chart-line"', svg
    )
    points = [tuple(map(float, each.split())) for each in path.split("L")]
    (x0, y0), (x1, y1) = points[0], points[-1]
    assert all(abs(y0 + (y1 - y0) * (x - x0) / (x1 - x0) - y) < 0.02 for x, y in points)
    assert len({y % 1 for _, y in points}) > 10  # not whole pixels


@pytest.mark.parametrize("name", CHARTS)
def test_words_of_a_chart_stand_apart(name: str) -> None:
    """As it opens: beside a dot, at a line's end or on a mark, no word is written on another."""
    text = r'<text x="([-\d.]+)" y="([-\d.]+)" class="([^"]*)" text-anchor="(\w+)">([^<]*)<'
    for chart in pictures(name):
        for svg in chart:
            words = [each for each in re.findall(text, svg) if "chart-region" not in each[2]]
            [widths] = in_page("picture.js", "state.map(page.widthOf)", [[w[4] for w in words]])
            boxes = []
            for (x, y, kind, anchor, word), width in zip(words, widths, strict=True):
                if kind in ("chart-tick", "chart-axis"):
                    continue
                left = float(x) - width * {"start": 0, "middle": 0.5, "end": 1}[anchor]
                boxes.append((word, left, left + width, float(y) - 10, float(y) + 2))
            assert len(boxes) >= 3
            for at, (word, left, right, top, bottom) in enumerate(boxes):
                for other, *box in boxes[:at]:
                    apart = left >= box[1] or right <= box[0] or top >= box[3] or bottom <= box[2]
                    assert apart, (word, other)


def test_words_say_whose_they_are() -> None:
    """Values stand in the order of their dots, dots on one another have one label, and what is held
    is named on top of its line."""
    spec = """{title: '', alt: '', x: {label: ''}, y: {label: ''}, xs: [1, 10, 100], names: state,
      marks: [{x: 9, label: 'mark'}], at: {x: 10, label: 'held'}, drag: () => ({}),
      series: [[11, 12, 13], [90, 80, 70], [10, 10.5, 11], [6, 7, 8]].map((ys, at) =>
        ({label: 'line ' + at, ys})).concat({label: 'dots', ys: [5, null, 40], scatter: true},
        {label: 'others', ys: [5.1, null, null], scatter: true})}"""
    [svg] = in_page("picture.js", f"page.picture({spec}, 700).svg", [["first", "", "last"]])
    texts = re.findall(r'<text x="([-\d.]+)" y="([-\d.]+)"[^>]*>([^<]*)<', svg)
    at = {words: (float(x), float(y)) for x, y, words in texts}
    values = sorted(
        (y, words) for words, (_, y) in at.items() if words in ("80", "12", "10.5", "7")
    )
    assert [words for _, words in values] == ["80", "12", "10.5", "7"]
    assert sum("first" in words for _, _, words in texts) == 1
    held = float(re.search(r'd="M([\d.]+) [\d.]+V[\d.]+" class="chart-held"', svg)[1])
    assert at["held"] == (pytest.approx(held), 24)
    assert at["mark"][1] > 24


@pytest.mark.parametrize("name", CHARTS)
def test_nothing_is_hidden_by_what_one_takes_hold_of(name: str) -> None:
    """No number of an axis is under a handle as it opens, and all words are on top of lines."""
    text = r'<text x="([-\d.]+)" y="([-\d.]+)" class="[^"]*" text-anchor="(\w+)">(.*?)</text>'
    for svg in (each for chart in pictures(name) for each in chart):
        [at] = re.findall(r"translate\(([-\d.]+) ([-\d.]+)\)(rotate)?[^>]*><rect", svg)
        x, y, (wide, high) = float(at[0]), float(at[1]), (8, 13) if at[2] else (13, 8)
        words = [(*each[:3], re.sub("<[^>]*>", "", each[3])) for each in re.findall(text, svg)]
        [widths] = in_page("picture.js", "state.map(page.widthOf)", [[each[3] for each in words]])
        for (left, base, anchor, word), width in zip(words, widths, strict=True):
            start = float(left) - width * {"start": 0, "middle": 0.5, "end": 1}[anchor]
            beside = start + width <= x - wide or start >= x + wide
            assert beside or float(base) + 2 <= y - high or float(base) - 9 >= y + high, word
        assert svg.rindex('class="chart-held"') < svg.index('class="chart-lines"')
        assert svg.rindex('class="chart-line"') < svg.index('class="chart-word')


def test_charts_can_be_dragged_and_say_so() -> None:
    """Every chart has a point to hold, that lies on it and moves when it is dragged."""
    for name in CHARTS:
        body = "((s) => page.charts(s, page.compute(s)).map((c) => [Boolean(c.at), "
        body += "Object.keys(c.drag?.(c.xs[3], 5, c.at?.name) ?? {}).length]))"
        [charts] = in_page(f"{name}.js", f"{body}({FIRST})", [0])
        assert charts, name
        assert all(held and moved for held, moved in charts), (name, charts)


# ---------------------------------------------------------------- what stands in


@pytest.mark.parametrize("name", NAMES)
def test_stand_in_says_what_it_is(name: str) -> None:
    own = {f"explore_{name}"}
    assert own <= {*STAND_INS[name]}, "a page of its own, to link to"
    assert {*STAND_INS[name]} - own, "and it stands where the book explains it"
    assert (HERE / f"{name}.js").is_file()
    for page, html in STAND_INS[name].items():
        assert "can be moved" in html
        assert html.count("<tr>") >= 4
        [cell] = [
            cell
            for cell in nbformat.read(ROOT / "book" / f"{page}.ipynb", as_version=4).cells
            if f'data-explorer="{name}"' in str(cell.get("outputs", ""))
        ]
        figures = ["".join(o.get("data", {}).get("image/svg+xml", "")) for o in cell.outputs]
        assert any(svg.startswith('<svg class="costlib-figure"') for svg in figures)


def test_stand_ins_show_what_the_explorers_show() -> None:
    first = (
        "(() => { const s = {}; page.controls.forEach((c) => { s[c.id] = c.value; }); return s })()"
    )
    seen = {
        name: in_page(f"{name}.js", f"page.compute({first})", [0])[0]
        for name in ("prefill", "step", "memory", "io", "mesh")
    }
    rows = {name: getattr(fallbacks, name)().rows for name in seen}
    at_1024 = next(row for row in rows["prefill"] if row[0] == "1,024")
    assert at_1024[1:] == [f"{x:,.1f}" for x in seen["prefill"]["here"]["intensity"]]
    assert rows["step"][-1][-1] == f"{seen['step']['time'] * 1e3:.3f}"
    shown = [f"{row['parts'][1] / 1e9:.2f}" for row in seen["memory"]["rows"]]
    kinds = [row["name"] for row in seen["memory"]["rows"]]
    assert "a quarter as many (GQA)" not in kinds  # it is what this model has
    assert [row[1] for row in rows["memory"]] == [shown[0], shown[1], shown[2], shown[4]]
    for row in fallbacks.frontier().rows:
        s = {"target": float(row[0].split()[0])}
        [best] = in_page("frontier.js", f"page.compute({{...{first}, ...state}}).best", [s])
        assert row[1:4] == [f"{best['batch']:,}", f"{best['throughput']:,.0f}", best["limit"]]
    first, mesh = rows["mesh"][0], seen["mesh"]
    assert first[1:3] == [f"{mesh['total'] / 1e9:.1f}", f"{mesh['step']:.2f}"]
    assert first[-1] == f"{mesh['mfu']:.1%}"
    N, d = 4096, 64
    for row in rows["io"]:
        M = int(row[0].replace(",", ""))
        [found] = in_page("io.js", "page.at(state, state.M)", [{"N": N, "d": d, "M": M}])
        assert row[1:] == [
            *(f"{r[0] + r[1]:,.0f}" for r in found["runs"]),
            f"{found['bound']:,.0f}",
        ]


# ---------------------------------------------------------------- in the browser


@pytest.fixture
def open_page(browser: Any, address: str) -> Any:
    """Open an explorer, perhaps in a state, and wait until it is there; nothing may go wrong."""
    visits = []

    def opened(name: str, state: str = "", page: str = "", **options: Any) -> Any:
        visit = Visit(browser, address, (page or page_of(name)) + state, **options)
        visits.append(visit)
        return visit

    yield opened
    for visit in visits:
        assert visit.errors == []
        assert visit.elsewhere == []
        visit.end()


def settle(page: Any) -> None:
    """Wait until a change is drawn."""
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => setTimeout(done, 20)))")


SUMMARY = "document.querySelector('.explorer-summary').innerText"


def is_new(name: str) -> bool:
    """Whether an explorer has just changed."""
    return sampling.changed(f"book/_static/explorers/{name}.js")


#: Where settings begin and the picture ends: a chart, or all that is drawn in its place.
PICTURE = """() => {
  const [root] = document.querySelectorAll('[data-explorer]');
  const form = root.querySelector('.explorer-controls');
  const stage = root.querySelector('.explorer-stage');
  const top = (form.hidden ? stage : form).getBoundingClientRect().top;
  const chart = stage.querySelector('.explorer-chart');
  const picture = chart ?? [...stage.querySelectorAll('.explorer-panel')].at(-1);
  return [top, (picture ?? stage).getBoundingClientRect().bottom];
}"""
#: How much moved by itself since the page was opened.
SHIFT = """() => new Promise((done) => new PerformanceObserver((list) => done(list.getEntries()
  .filter((each) => !each.hadRecentInput).reduce((sum, { value }) => sum + value, 0)))
  .observe({ type: 'layout-shift', buffered: true }) ?? setTimeout(() => done(0), 50))"""


@pytest.mark.parametrize("name", sampling.some(NAMES, 5, "explorers on a phone", first=is_new))
def test_explorer_is_all_on_one_screen(open_page: Any, name: str) -> None:
    """On a phone and on a laptop the settings that matter and the picture, header included; nothing
    is wider than a phone, nothing moves by itself, and the table opens."""
    state = "#moves=R0R1C8" if name == "pebbles" else ""
    page = open_page(name, state, viewport={"width": 375, "height": 667}).page
    settle(page)
    assert page.evaluate(SHIFT) <= 0.05
    for width, height in ((375, 667), (1280, 720)):
        page.set_viewport_size({"width": width, "height": height})
        settle(page)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        top, bottom = page.evaluate(PICTURE)
        assert 0 < top < bottom <= height, (width, height)
    page.set_viewport_size({"width": 375, "height": 667})
    assert len(page.evaluate(SUMMARY)) > 40
    assert page.evaluate("document.querySelector('[data-explorer]').innerText").count("NaN") == 0
    assert page.locator(".explorer-tries button").count() >= 3
    page.click("details > summary:has-text('The numbers behind this')")
    page.wait_for_selector(".explorer-table tbody tr")
    assert "NaN" not in page.inner_text(".explorer-table")
    assert page.evaluate("document.documentElement.scrollWidth") <= 375


@pytest.mark.parametrize("name", sampling.some(CHARTS, 2, "suggestions on a phone", first=is_new))
def test_a_suggestion_is_read_beside_its_picture(open_page: Any, name: str) -> None:
    """On a phone settings, chart, buttons and the first line of what to see share a screen."""
    page = open_page(name, viewport={"width": 375, "height": 667}).page
    page.click(".explorer-tries button")
    settle(page)
    top, said = page.evaluate(
        """() => ['.explorer-controls', '.explorer-said'].map((each) =>
        document.querySelector(each).getBoundingClientRect().top)"""
    )
    assert said - top < 667 - 60 - 24  # less the page's bar, and a line


def test_a_suggestion_goes_along_to_a_picture_that_is_far(open_page: Any) -> None:
    """On a phone, where settings and picture fill the screen, its words stay at the lower edge."""
    page = open_page("mesh", viewport={"width": 375, "height": 667}).page
    page.locator(".explorer-tries button").first.click()
    settle(page)
    page.evaluate("document.querySelector('.explorer-stage').scrollIntoView()")
    page.wait_for_timeout(100)
    said = page.locator(".explorer-said").bounding_box()
    assert said["y"] > 400
    assert said["y"] + said["height"] <= 667


WHAT_IS_SAID = """((state) => {
  const seen = [];
  const plain = Object.fromEntries(page.controls.map((c) => [c.id, c.value]));
  for (const control of page.controls.filter((c) => c.type === 'number' && c.max >= 1e6)) {
    const given = { ...plain, [control.id]: 1048577 };
    const result = page.compute(given);
    const charts = page.charts?.(given, result) ?? [];
    const marks = charts.flatMap((chart) => (chart.marks ?? []).map((mark) => mark.label));
    const words = [...charts.flatMap((c) => [c.title, c.alt]), ...marks];
    words.push(...page.summary(given, result).flat(), page.note(given, result));
    seen.push(words.join(' | '));
  }
  return seen;
})(state)"""


def test_one_is_not_many() -> None:
    many = ["tokens", "new tokens", "entries", "guesses", "batches", "ms a token", "%"]
    one = ["1 token", "1 new token", "1 entry", "1 guess", "1 batch", "1 ms a token", "1 %"]
    body = "[page.counted(1, state), page.counted(2000, state)]"
    found = in_page("numbers.js", body, many)
    assert found == [[each, f"2,000 {what}"] for each, what in zip(one, many, strict=True)]


@pytest.mark.parametrize("name", NAMES)
def test_a_slider_ends_at_what_is_allowed(name: str) -> None:
    """Its two ends are the least and the most, to the last digit."""
    body = "page.controls.filter((c) => c.type === 'number' && !c.elsewhere)"
    [controls] = in_page(f"{name}.js", body, [0])
    ends = in_page("frame.js", "[0, 1000].map((at) => page.atPosition(state, at))", controls)
    assert ends == [[each["min"], each["max"]] for each in controls]


def test_what_is_nearest_to_a_setting_comes_first() -> None:
    """Every other choice, outwards; a number doubled and halved, within what is allowed."""
    options = [[each, ""] for each in "abcdef"]
    settings = [
        [{"id": "x", "type": "choice", "options": options}, {"x": "b"}],
        [{"id": "x", "type": "choice", "options": options}, {"x": "f"}],
        [{"id": "x", "type": "number", "min": 1, "max": 100, "value": 8}, {"x": 8}],
    ]
    found = in_page("frame.js", "page.near(...state)", settings)
    assert found == [[*"cadef"], [*"edcba"], [16, 4, 32, 2, 64, 1, 100]]


def test_what_was_typed_is_said_exactly() -> None:
    """1,048,577 and not 1,049,000, wherever words repeat it."""
    said = [text for name in NAMES for text in in_page(f"{name}.js", WHAT_IS_SAID, [0])[0]]
    assert len(said) > 5
    assert sum("1,048,577" in text for text in said) > 2
    assert not [text for text in said if "1,049,000" in text or "1.049 million" in text]


ALLOWED = """page.tries.map(({ label, state, say }) => {
  const whole = { ...Object.fromEntries(page.controls.map((c) => [c.id, c.value])), ...state };
  const choices = (c) => (typeof c.options === 'function' ? c.options(whole) : c.options);
  const allowed = (c, value) => {
    if (c.type === 'number') return value >= c.min && (value <= c.max || c.elsewhere);
    if (c.type === 'hidden') return c.pattern.test(value);
    return choices(c).map(([each]) => each).includes(value);
  };
  const refused = page.controls.filter((c) => !allowed(c, whole[c.id])).map((c) => c.id);
  const unknown = Object.keys(state).filter((id) => !page.controls.some((c) => c.id === id));
  return [label, say.length, refused, unknown];
})"""


@pytest.mark.parametrize("name", NAMES)
def test_what_is_to_try_can_be_set(name: str) -> None:
    """Three buttons or more, each with a state that the settings allow, and what to see in it."""
    [tries] = in_page(f"{name}.js", ALLOWED, [0])
    assert len(tries) >= 3
    for label, said, refused, unknown in tries:
        assert len(label) < 32
        assert said > 60
        assert (refused, unknown) == ([], []), label


#: For each explorer what its suggestions say, as numbers of the states that they set: `at(label)`
#: is what is computed there (of an empty one as it opens); and what should come out.
SAID_OF: dict[str, tuple[str, list[Any]]] = {
    "frontier": (
        """[at('Ask for 6 ms').best.throughput / at('').best.throughput,
        at('').best.perToken / at('Ask for 6 ms').best.perToken,
        at('Weights in 4 bits').best.batch / at('Ask for 6 ms').best.batch,
        top('Weights in 4 bits') / top(''), at('Too fast').best, at('Too fast').instead.shared,
        ...['A long context', 'A mixture'].map((one) => at(one).lines.bend > at(one).most)]""",
        [1 / 3, 4.2, 3.0, 1.0, None, "2", True, True],
    ),
    "io": (
        """[...['M = d²', '', 'Tiny M', 'Huge M'].map((one) => Math.min(...over(at(one)))),
        Math.max(...at('').points.filter(({ M }) => M >= 4096).map((each) =>
        over({ here: each })[2])),
        over(at('Tiny M'))[0], ...[0, 3].map((which) => over(at('Huge M'))[which]),
        at('Twice the width').overtaken / at('').overtaken,
        moved(at('Twice the width').here.runs[2]) / moved(at('').here.runs[2])]""",
        [1.44, 1.09, 1.34, 1.0, 2.0, 1.36, 81.0, 33.0, 3.9, 3.9],
    ),
    "memory": (
        """[parts('')[1] / parts('')[0], parts('Four times the context')[1] / parts('')[1],
        most('As it is published'), most('As it is published', { weights: '2' }),
        most('A small device'), parts('A small device', { weights: '2' })[0] > 15.46e9,
        most('A cache in 1 byte') / most(''),
        at('A long context').rows.map((row) => row.parts[1]).sort((a, b) => a - b)[0] / 2 ** 29]""",
        [1.1, 4.0, 310, 173, 10, True, 2.0, 1.0],
    ),
    "prefill": (
        """[counted('A batch of short prompts') / counted(''),
        bytes('Scores in memory') / bytes('A long prompt'),
        counted('Scores in memory') < at('').ridge,
        counted('A mixture') > at('A mixture').here.intensity[0]]""",
        [0.98, 46.0, True, True],
    ),
    "speculative": (
        """[...['', 'Half accepted', 'Short caches, a batch of 32', 'A slow draft'].flatMap((one) =>
        [at(one).best.fresh, at(one).best.faster]), at('Short caches, a batch of 32').crossings[2],
        at('One reader').crossings[2], ...[0,
        2].map((which) => at('A long cache').crossings[which]),
        at('Shared heads').crossings[2]]""",
        [9, 3.0, 4, 1.6, 5, 2.7, 3, 1.35, 13, 180, 90, 156, 61],
    ),
    "step": (
        """[...['2', '1'].map((weights) => 1e3 * at('Weights in 1 byte', { weights }).time),
        at('Eight devices', { shared: '1' }).time / at('Eight devices').time,
        at('The cache in 1 byte').time < at('The cache in 1 byte', { weights: '1',
        kv: '2' }).time]""",
        [7.63, 3.95, 7.0, True],
    ),
    "film": (
        """[...at('Both at the end').standings.map(({ reads, writes }) => reads + writes),
        at('Half the memory').standings[0].reads > at('Both at the end').standings[0].reads,
        ...at('Rows against columns').standings.flatMap(({ reads, writes }) => [reads, writes])]""",
        [512, 1728, True, 448, 64, 448, 288],
    ),
    "serving_film": (
        """[...at('Block by block').both.map(({ runs }) => runs.some(({ back }) =>
        back.length > 0)),
        at('All at once').felt[0].pause / at('All at once').felt[0].slowest,
        at('Tiny pieces').felt[1].first > 10 * at('').felt[1].first,
        at('A quiet hour').felt[0].pause > 10 * at('A quiet hour').felt[1].pause]""",
        [True, True, 1.0, True, True],
    ),
}
SUGGESTED = """(() => {
  const first = Object.fromEntries(page.controls.map((c) => [c.id, c.value]));
  const found = (label) => page.tries.find((one) => one.label === label)?.state;
  const at = (label, more) => page.compute({ ...first, ...found(label), ...more });
  const top = (label) => Math.max(...at(label).frontier.map((each) => each.throughput));
  const moved = (run) => (run ? run[0] + run[1] : Infinity);
  const over = ({ here }) => here.runs.map((run) => moved(run) / here.bound);
  const parts = (label, more) => at(label, more).rows[0].parts;
  const most = (label, more) => at(label, more).rows[0].largestBatch;
  const counted = (label) => at(label).here.intensity[1];
  const bytes = (label) => at(label).here.counted[1];
  return %s;
})()"""


@pytest.mark.parametrize("name", SAID_OF)
def test_what_a_suggestion_says_is_so(name: str) -> None:
    """Each number of its words, and what it says of more or less."""
    body, said = SAID_OF[name]
    [found] = in_page(f"{name}.js", SUGGESTED % body, [0])
    for value, expected in zip(found, said, strict=True):
        if isinstance(expected, float):
            assert value == pytest.approx(expected, rel=0.05), (found, said)
        else:
            assert value == expected, (found, said)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_charts_can_be_read_in_light_and_dark(open_page: Any, scheme: str) -> None:
    page = open_page("step", color_scheme=scheme).page
    settle(page)
    ink = "getComputedStyle(document.querySelector('.chart-picture text')).fill"
    inks = [page.evaluate(ink)]
    page.evaluate("document.documentElement.dataset.theme = 'light'")
    settle(page)
    inks.append(page.evaluate(ink))
    page.evaluate("document.documentElement.dataset.theme = 'dark'")
    settle(page)
    inks.append(page.evaluate(ink))
    assert inks[1] != inks[2]
    assert inks[0] == inks[1 if scheme == "light" else 2]


def test_drag_type_keys_and_a_link(open_page: Any) -> None:
    page = open_page("prefill").page
    before = page.evaluate(SUMMARY)
    box = page.locator("input[type=range][aria-label=Sequence]").bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.8, box["y"] + box["height"] / 2, steps=4)
    page.mouse.up()
    settle(page)
    dragged = page.evaluate(SUMMARY)
    assert dragged != before
    page.fill("#explorer-prefill-seq", "777")
    page.press("#explorer-prefill-seq", "Enter")
    settle(page)
    typed = page.evaluate(SUMMARY)
    assert typed not in (before, dragged)
    page.fill("#explorer-prefill-seq", "")
    page.press("#explorer-prefill-seq", "Enter")
    settle(page)
    assert page.input_value("#explorer-prefill-seq") == "777"
    page.wait_for_function("location.hash.includes('seq=777')")
    page.focus("input[type=range][aria-label=Batch]")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    settle(page)
    assert page.input_value("#explorer-prefill-batch") == "4"
    seen = page.evaluate(SUMMARY)
    page.wait_for_function("location.hash.includes('batch=4')")
    again = open_page("prefill", "#" + page.url.partition("#")[2]).page
    settle(again)
    assert again.evaluate(SUMMARY) == seen


def test_values_are_read_out_by_arrow_keys(open_page: Any) -> None:
    page = open_page("io").page
    page.focus(".explorer-chart")
    page.keyboard.press("End")
    settle(page)
    said = page.inner_text(".explorer-live")
    assert "268,435,456" in said
    assert re.findall(r"lower bound [\d,]*", said) == ["lower bound 1,050,000"]


def test_link_and_numbers_can_be_copied(open_page: Any) -> None:
    rights = {"permissions": ["clipboard-read", "clipboard-write"]}
    page = open_page("memory", "#model=gpt2&device=T4", **rights).page
    page.click("text=Copy a link to this")
    page.wait_for_function("document.querySelector('.explorer-live').textContent.includes('link')")
    assert page.evaluate("navigator.clipboard.readText()") == page.url
    page.click("text=Copy the numbers as CSV")
    page.wait_for_function("document.querySelector('.explorer-live').textContent.includes('numb')")
    lines = page.evaluate("navigator.clipboard.readText()").splitlines()
    assert lines[0].startswith("cache,weights B,cache B")
    assert lines[1].split(",")[1] == str(models["gpt2"].params() * 2)


def test_wrong_addresses_are_mended(open_page: Any) -> None:
    page = open_page("step", "#model=nothing&batch=-5&context=1e99&dtype=%3Cb%3E&shared=3").page
    settle(page)
    assert page.input_value("#explorer-step-batch") == "1"
    assert page.input_value("#explorer-step-model") == "llama-3-8b"
    assert "NaN" not in page.evaluate(SUMMARY)


def test_browser_agrees_with_the_library(open_page: Any) -> None:
    page = open_page("step").page
    chance = sampling.chance("setting 9")
    for _ in range(20):
        s = {
            "model": chance.choice(list(explorers.drawable())),
            "device": "H100-SXM",
            "dtype": "fp8",
            "phase": "decode",
            "batch": size(chance, 512),
            "context": size(chance, 10**5),
            "weights": "1",
            "kv": "2",
            "shared": "1",
        }
        page.evaluate("(s) => document.querySelector('[data-explorer]').explorer.set(s)", s)
        settle(page)
        shown = page.evaluate("document.querySelector('[data-explorer]').explorer.result.time")
        assert same(shown, seconds(one_step(s)[0]))


@pytest.mark.parametrize(("width", "height"), [(1280, 720), (375, 667)])
def test_a_budget_is_dragged_on_one_screen(open_page: Any, width: int, height: int) -> None:
    page = open_page("budget", viewport={"width": width, "height": height}).page
    state = "document.querySelector('[data-explorer]').explorer.state"
    charts, settings = page.locator(".explorer-chart"), page.locator(".explorer-controls")
    settings.evaluate("(each) => scrollTo(0, scrollY + each.getBoundingClientRect().top - 60)")
    box = charts.first.bounding_box()
    assert settings.bounding_box()["y"] >= 55  # below the page's own bar
    assert box["y"] + box["height"] <= height
    page.mouse.move(box["x"] + box["width"] * 0.3, box["y"] + 100)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.6, box["y"] + 100, steps=3)
    page.mouse.up()
    settle(page)
    before = explorers.drawable()["llama-3.1-8b"].params() * 15_000
    after = page.evaluate(state)
    params = explorers.drawable()[after["model"]].params()
    assert params > 40e9
    assert params * after["tokens"] == pytest.approx(before, rel=1e-3)
    charts.nth(1).scroll_into_view_if_needed()
    box = charts.nth(1).bounding_box()
    page.mouse.move(box["x"] + box["width"] * 0.5, box["y"] + 100)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.9, box["y"] + 100, steps=3)
    page.mouse.up()
    settle(page)
    assert page.evaluate(state)["devices"] > 10_000
    assert page.evaluate(state)["model"] == after["model"]


def test_film_plays_steps_and_scrubs(open_page: Any) -> None:
    page = open_page("film", "#speed=60&frame=0").page
    frame = "document.querySelector('[data-explorer]').explorer.result.frame"
    page.click("button:text-is('Step')")
    page.click("button:text-is('Step')")
    settle(page)
    assert page.evaluate(frame) == 2
    page.click("button:text-is('Back')")
    settle(page)
    assert page.evaluate(frame) == 1
    page.click("button:text-is('Play')")
    page.wait_for_function(f"{frame} > 6")
    page.click("button:text-is('Pause')")
    settle(page)
    now = page.evaluate(frame)
    page.focus(".film-line")
    page.keyboard.press("ArrowRight")
    settle(page)
    assert page.evaluate(frame) == now + 1
    page.locator(".film-picture").first.scroll_into_view_if_needed()
    box = page.locator(".film-picture").first.bounding_box()
    page.mouse.move(box["x"] + 40, box["y"] + 60)
    page.mouse.down()
    page.mouse.move(box["x"] + 120, box["y"] + 60, steps=3)
    page.mouse.up()
    settle(page)
    assert page.evaluate(frame) > now + 1  # a drag of the picture turns the film on
    assert page.get_attribute(".film-line", "aria-valuenow") == str(page.evaluate(frame))
    page.click("button:text-is('End')")
    settle(page)
    assert "1,152 read, 576 written of 1,728: done" in page.evaluate(SUMMARY)


def test_a_target_is_dragged_on_the_chart(open_page: Any) -> None:
    page = open_page("frontier").page
    settle(page)
    page.locator(".explorer-chart").first.scroll_into_view_if_needed()
    box = page.locator(".explorer-chart .chart-lines").first.bounding_box()
    page.mouse.move(box["x"] + box["width"] / 4, box["y"] + 30)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.75, box["y"] + 30, steps=3)
    page.mouse.up()
    settle(page)
    state = "document.querySelector('[data-explorer]').explorer.state"
    assert page.evaluate(f"{state}.target") < 12
    assert page.evaluate(f"{state}.model") == "llama-3.1-8b"
    page.click("button:text-is('Too fast')")
    settle(page)
    assert "2 devices would do" in page.evaluate(SUMMARY)
    assert page.locator(".explorer-said:not(.explorer-over)").is_visible()
    page.press("#explorer-frontier-target", "ArrowUp")
    settle(page)
    assert page.locator(".explorer-said.explorer-over").is_visible()  # said of another state
    page.click("button:text-is('Start again')")
    assert page.inner_text(".explorer-said") == ""


FINGERS = {"viewport": {"width": 375, "height": 667}, "has_touch": True, "is_mobile": True}


def swiped(visit: Any, held: Any, dx: int, dy: int, below: int = 30) -> tuple[bool, float]:
    """Whether a finger that moves so far from the top of what it holds changed the state, and how
    far the page was scrolled."""
    page, wire = visit.page, visit.context.new_cdp_session(visit.page)
    now = "[JSON.stringify(document.querySelector('[data-explorer]').explorer.state), scrollY]"
    (state, top), box = page.evaluate(now), held.bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + below
    for n in range(9):
        kind, at = "touchMove" if n else "touchStart", (x + dx * n / 8, y + dy * n / 8)
        points = [{"x": at[0], "y": at[1]}]
        wire.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})
    wire.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    page.wait_for_timeout(100)
    after, end = page.evaluate(now)
    return after != state, end - top


@pytest.mark.parametrize(
    ("name", "held"),
    [("memory", ".explorer-chart"), ("serving_film", ".server-lines"), ("users", ".users-stack")],
)
def test_a_finger_goes_sideways_or_leaves_the_page_to_scroll(
    open_page: Any, name: str, held: str
) -> None:
    visit = open_page(name, **FINGERS)
    page = visit.page
    page.locator(held).first.evaluate("(each) => each.scrollIntoView({ block: 'center' })")
    page.wait_for_timeout(100)
    assert swiped(visit, page.locator(held).first, 60, 4) == (True, 0)
    moved, scrolled = swiped(visit, page.locator(held).first, 0, -120)
    assert (moved, scrolled > 50) == (False, True)


def test_a_finger_holds_a_handle(open_page: Any) -> None:
    """Up and down too, where the rest of the chart would let the page scroll."""
    visit = open_page("frontier", **FINGERS)
    handle = visit.page.locator(".explorer-chart .chart-grip").nth(1)
    handle.evaluate("(each) => each.scrollIntoView({ block: 'center' })")
    visit.page.wait_for_timeout(100)
    assert swiped(visit, handle, 0, -60, below=10) == (True, 0)
    target = "document.querySelector('[data-explorer]').explorer.state.target"
    assert visit.page.evaluate(target) > 50, "to the end of its way, not only at first"


def test_what_no_number_of_devices_can_do_is_said() -> None:
    """Why more devices do not help, slow or too large; and the fastest there is can be had."""
    settings = [
        {"device": "M4-Max", "model": "llama-2-7b", "target": 3},
        {"shared": "16", "target": 0.1},
        {"model": "deepseek-v3"},
    ]
    body = f"((s) => page.summary(s, page.compute(s))[0][1])({{...{FIRST}, ...state}})"
    link, divided, large = in_page("frontier.js", body, settings)
    assert "no link between two of these devices is known" in link
    assert link.startswith("one sequence alone takes 25.19 ms")
    assert "more than 16 devices cannot share it" in divided
    assert "not even 16 devices would help" in large
    end = "((s) => { const [chart] = page.charts(s, page.compute(s)); const at = {...s,"
    end += " ...chart.drag(chart.xs.at(-1))}; return page.compute(at).best; })"
    for best in in_page("frontier.js", f"{end}({{...{FIRST}, ...state}})", [{}, {"model": "gpt2"}]):
        assert best["batch"] >= 1


def test_film_of_a_server_is_dragged_and_says_what_does_not_fit(open_page: Any) -> None:
    page = open_page("serving_film").page
    settle(page)
    page.locator(".server-lines").first.scroll_into_view_if_needed()
    box = page.locator(".server-lines").first.bounding_box()
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + 30)
    settle(page)
    found = "document.querySelector('[data-explorer]').explorer"
    assert page.evaluate(f"{found}.state.moment") == pytest.approx(500, abs=5)
    assert page.evaluate(f"{found}.result.at[0][1]") > 3
    page.evaluate(f"{found}.set({{...{found}.state, device: 'RTX-3060'}})")
    settle(page)
    assert "does not fit" in page.evaluate(SUMMARY).lower()
    page.click("button:text-is('Start again')")
    settle(page)
    assert page.locator(".server-lines").count() == 2
    page.click("button:text-is('Play')")
    page.wait_for_timeout(100)
    page.click("button:text-is('A quiet hour')")
    assert page.locator("button:text-is('Play')").count() == 1, "it does not play on"


def test_game_by_click_keyboard_and_to_the_optimum(open_page: Any) -> None:
    page = open_page("pebbles", "#graph=fft&red=3").page
    vertices = page.locator(".pebble")
    vertices.nth(4).click()  # its parents are not red
    assert "a vertex is computed when all its parents are red, and 0 is not" in page.inner_text(
        ".explorer-live"
    )
    vertices.nth(0).click()
    settle(page)
    vertices.nth(0).focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("r")
    settle(page)
    page.wait_for_function("location.hash.includes('moves=R0R1')")
    vertices.nth(4).click()  # now it is computed: one legal move, and nothing is asked
    settle(page)
    vertices.nth(4).click()  # written, or deleted?
    assert page.locator(".pebble-menu button").all_inner_texts() == [
        "write: costs 1",
        "delete: free",
    ]
    page.keyboard.press(
        "Escape"
    )  # not from the menu: it stays until it is answered or tapped again
    vertices.nth(4).focus()
    page.keyboard.press("Enter")
    assert page.locator(".pebble-menu").count() == 0
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.textContent") == "write: costs 1"
    page.keyboard.press("Escape")
    assert page.evaluate("document.activeElement.textContent") == "4"
    page.keyboard.press("Enter")
    page.click(".pebble-menu button:has-text('write')")
    settle(page)
    page.wait_for_function("location.hash.includes('moves=R0R1C4W4')")
    assert page.locator(".pebble-menu").count() == 0
    page.click("button:text-is('Undo')")
    settle(page)
    assert page.inner_text(".explorer-live") == "Taken back: write 4. I/O 2"
    page.click("button:text-is('Clear the board')")
    settle(page)
    best = page.evaluate("document.querySelector('[data-explorer]').explorer.result.best")
    for move in best["moves"].split():
        vertices.nth(int(move[1:])).focus()
        page.keyboard.press(move[0].lower())
        settle(page)
    assert "you have reached it" in page.inner_text(".explorer-live") or "done, and nothing is" in (
        page.evaluate(SUMMARY)
    )
    assert best["cost"] == 14
    assert "nothing left promised less" in page.inner_text(".pebble-proof")
    page.click("button:text-is('Clear the board')")
    page.click("button:text-is('Compute twice')")
    settle(page)
    assert page.locator(".pebble-blue").count() == page.locator(".pebble-output").count() == 1


def test_a_tile_is_dragged_and_a_button_pressed(open_page: Any) -> None:
    page = open_page("mesh").page
    page.evaluate("document.querySelector('.mesh-axes').scrollIntoView({ block: 'center' })")
    settle(page)
    folded = "(axis) => document.querySelector(`[data-axis=${axis}] b`).textContent"
    tile = page.locator("[data-axis=pipeline] .mesh-tile").first.bounding_box()
    target = page.locator("[data-axis=data]").bounding_box()
    page.mouse.move(tile["x"] + 8, tile["y"] + 8)
    page.mouse.down()
    page.mouse.move(target["x"] + 20, target["y"] + 20, steps=4)
    page.mouse.up()
    settle(page)
    assert [page.evaluate(folded, axis) for axis in ("pipeline", "data")] == ["2", "8"]
    page.focus("button[aria-label='tensor: half as many']")
    page.keyboard.press("Enter")
    settle(page)
    assert [page.evaluate(folded, axis) for axis in ("tensor", "data")] == ["4", "16"]
    page.wait_for_function("location.hash.includes('tensor=4')")
    page.focus("button[aria-label='context: half as many']")
    page.keyboard.press("Enter")
    assert "context cannot be halved: it is one" in page.inner_text(".explorer-live")
    page.click("button:text-is('Tensor over two nodes')")
    settle(page)
    assert page.evaluate(folded, "tensor") == "16"
    assert page.locator("[data-axis=tensor] .mesh-tile-far").count() == 1
    assert "cross the network" in page.inner_text(".explorer-said")
    page.click("button:text-is('Fold it for me')")
    page.wait_for_function("document.querySelector('.explorer-live').innerText.includes('fastest')")
    assert "tensor=4" in page.inner_text(".mesh-code")
    page.click("button:text-is('Start again')")
    assert page.inner_text(".explorer-live") == "", "said of another fold"


@pytest.mark.parametrize("name", sampling.some(NAMES, 2, "no script"))
def test_without_javascript_a_figure_and_a_table_stand_in(
    browser: Any,
    address: str,
    name: str,
) -> None:
    with Visit(browser, address, page_of(name), java_script_enabled=False) as visit:
        stand_in = visit.page.locator(f"[data-explorer={name}]")
        assert stand_in.locator("table tr").count() >= 4
        cell = visit.page.locator(".cell_output", has=stand_in)
        assert cell.locator("svg.costlib-figure.explorer-stand-in").is_visible()


def test_where_the_script_does_not_come_a_figure_and_a_table_stand_in(
    browser: Any, address: str
) -> None:
    page = browser.new_page()
    page.route("**/explorers/main.js*", lambda route: route.abort())
    page.goto(f"{address}/book/explore_step.html")
    page.wait_for_selector("[data-explorer] table")
    assert page.locator("svg.explorer-stand-in").is_visible()
    page.close()


@pytest.mark.parametrize("name", NAMES)
def test_an_explorer_is_light(name: str) -> None:
    """What a page loads beyond a plain one, compressed as static hosts do it."""
    import gzip

    folder = SITE / "_static" / "explorers"
    seen: set[Path] = set()

    def follow(path: Path) -> None:
        if path in seen:
            return
        seen.add(path)
        text = path.read_text("utf-8")
        for target in re.findall(r"""(?:from|import) ['"](\.{1,2}/[^'"]+)""", text):
            follow((path.parent / target).resolve())

    for start in ("main.js", f"{name}.js"):
        follow((folder / start).resolve())
    loaded = [
        *seen,
        SITE / page_of(name),
    ]
    assert sum(len(gzip.compress(path.read_bytes())) for path in loaded) < 400_000


# ---------------------------------------------------------------- the first page


def joined_by(s: dict[str, Any]) -> Any:
    """A setting's step of so many users: a list of (compute, memory, bytes by kind) of its ops."""
    server = server_of({**s, "shared": "1"})
    ledger = server.share.decode(s["users"], s["context"])
    precision = ledger.at(server.precision)
    ops = []
    for op, place in zip(
        ledger, roofline.limits(ledger, server.device, server.precision), strict=True
    ):
        moved = op.elements_read + op.elements_written
        kinds = [float(getattr(moved, k) * getattr(precision, k)) for k in ("weights", "kv")]
        ops.append((float(place.compute_time), float(place.memory_time), *kinds))
    return server, ops


def first_settings() -> list[dict[str, Any]]:
    """What a reader can choose on the first page."""
    settings = servers(17, sampling.number(60, 300))
    return [{**s, "kv": "own", "shared": "1", "users": s["batch"]} for s in settings]


def test_users_who_join() -> None:
    settings = first_settings()
    body = "((r) => [r.most, r.users, r.marks, r.here && [r.here.seconds, r.here.busy,"
    body += " r.here.weights, r.here.caches, ...['weights', 'caches', 'arithmetic'].map((kind) =>"
    body += " r.here.parts[kind])]])(page.compute(state))"
    crossed = set()
    for s, page in zip(settings, in_page("users.js", body, settings), strict=True):
        most = int(server_of(s).room(s["context"] + 1))
        assert page[0] == most, s
        assert page[1] == min(s["users"], most), s
        assert dict(page[2]).get("memory", 0) == most, s
        if most:
            assert same(page[3], described({**s, "users": page[1]})), s
        for name, users in page[2]:
            crossed.add(name)
            if name != "memory":
                after, before = (described({**s, "users": n}) for n in (users, max(users - 1, 1)))
                one, other = {"caches": (3, 2), "arithmetic": (6, 4)}[name]
                assert after[one] >= after[other], s
                assert users == 1 or before[one] <= before[other], s
    assert crossed == {"caches", "arithmetic", "memory"}


def described(s: dict[str, Any]) -> list[float]:
    """Seconds, those computing, bytes of weights and caches, and the seconds of three parts."""
    server, ops = joined_by(s)
    reading = [op for op in ops if op[0] < op[1]]
    rate = server.device.memory_rate
    parts = [sum(op[2] for op in reading) / rate, sum(op[3] for op in reading) / rate]
    parts.append(sum(op[0] for op in ops if op[0] >= op[1]))
    sums = [sum(op[at] for op in ops) for at in (0, 2, 3)]
    return [float(server.step(s["users"], s["context"])), *sums, *parts]


def test_stand_in_of_the_first_page_and_what_its_buttons_say() -> None:
    state = "Object.fromEntries(page.controls.map((c) => [c.id, c.value]))"
    each = "((r) => [r.users, 1 / r.here.seconds, r.users / r.here.seconds, 1e3 * r.here.seconds,"
    each += " ...['weights', 'caches'].map((kind) => 1e3 * r.here.parts[kind]), 1e3 * r.here.busy,"
    each += " (r.keeps.weights + r.users * r.keeps.cache) / 1e9, r.here.parts])"
    body = f"({each})(page.compute({{...{state}, ...state}}))"
    tried = in_page("users.js", "page.tries.map((one) => one.state)", [0])[0]
    rows = first_figures.users().rows
    counts = [{"users": int(row[0])} for row in rows]
    shown = in_page("users.js", body, [*counts, *tried, {**tried[-1], "users": 10**6}])
    for row, seen in zip(rows, shown, strict=False):
        decimals = [len(cell.partition(".")[2]) for cell in row]
        assert row == [f"{x:,.{n}f}" for x, n in zip(seen, decimals, strict=False)]
    one, _, _, thirty, full, packed, brief, mixed, more = shown
    assert thirty[3] / one[3] == pytest.approx(2, abs=0.05)
    assert thirty[2] / one[2] == pytest.approx(15, abs=0.5)
    assert max(full[-1], key=full[-1].get) == "caches"
    assert full[6] < full[3] / 2
    assert packed[1] > 3 * one[1]
    assert brief[-1]["arithmetic"] > brief[-1]["weights"]
    assert mixed[1] > 2 * one[1]
    assert more[4] > 5 * mixed[4]


def test_no_line_of_a_mark_goes_through_words() -> None:
    """A line is as long as its row is low, so whoever stands further right is written higher."""
    settings = [
        [[0.1, 0.1, 0.5], [0.2, 0.2, 0.6], [0.3, 0.3, 0.7]],
        [[0.5, 0.5, 0.9], [0.6, 0.6, 0.85], [0.9, 0.4, 0.9]],
        [[0.5, 0.5, 0.9], [0.95, 0.55, 0.95]],
        [[0.5, 0.5, 0.6]],
    ]
    given = "state.map(([place, from, to]) => ({ place, from, to }))"
    for marks, rows in zip(
        settings, in_page("users.js", f"page.rowsOf({given})", settings), strict=True
    ):
        assert sorted(rows) == [*range(len(marks))]
        for (place, *_), low in zip(marks, rows, strict=True):
            for (_, start, end), row in zip(marks, rows, strict=True):
                assert not (low > row and start < place < end), (marks, rows)


@pytest.mark.parametrize(("width", "height"), [(1280, 720), (375, 667)])
def test_the_first_page_opens_on_what_can_be_dragged(
    open_page: Any, width: int, height: int
) -> None:
    page = open_page(
        "users", page="book/index.html", viewport={"width": width, "height": height}
    ).page
    settle(page)
    edges = "(one) => document.querySelector(one).getBoundingClientRect()"
    for part in (".explorer-controls", ".explorer-summary", ".users-story"):
        box = page.evaluate(edges, part)
        assert 0 < box["top"] < box["bottom"] <= height, part
    assert "131" in page.evaluate(SUMMARY)
    tank = page.locator(".users-tank").bounding_box()
    y = tank["y"] + tank["height"] / 2
    page.mouse.move(tank["x"] + tank["width"] * 0.25, y)
    page.mouse.down()
    page.mouse.move(tank["x"] + tank["width"] * 0.5, y, steps=3)
    page.mouse.up()
    settle(page)
    users = "document.querySelector('[data-explorer]').explorer.result.users"
    inside = (0.5 * 77.3 - 16.06) / 0.5373
    assert page.evaluate(users) == pytest.approx(inside, abs=3)
    assert page.locator(".users-passed").count() == 1
    before = page.evaluate(users)
    page.keyboard.press("ArrowRight")
    settle(page)
    assert page.evaluate(users) == before + 1
    page.keyboard.press("End")
    settle(page)
    assert "Memory is full: 113 users" in page.inner_text(".users-story")
    assert page.locator(".users-passed").count() == 2
    page.select_option("[data-explorer] select >> nth=0", "T4")
    settle(page)
    assert "do not fit" in page.inner_text(".users-story")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
