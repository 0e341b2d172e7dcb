"""What several tests of explorers ask: the settings of each, and what the library says to them."""

from __future__ import annotations

import functools
import json
import math
import random
import re
from collections.abc import Callable
from typing import Any

import pytest

import costlib
import sampling
from costlib import devices
from costlib.parallel import tensor_parallel
from costlib.serving import Server
from costlib.timing import roofline
from costlib.units.precision import Precision, precision_of
from in_node import in_page, same
from paths import ROOT, TESTS
from tools.pages import explorers

MANY = sampling.number(40, 1000)


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


CHARTS = ("step", "speculative", "memory", "io", "prefill", "budget", "frontier")


FIRST = "Object.fromEntries(page.controls.map((c) => [c.id, c.value]))"
#: What explorers are asked, by the name of a function of it.
ASKED = str(TESTS / "site" / "explorers" / "asked.js")


def asked(explorer: str, what: str, settings: list[Any]) -> list[Any]:
    """What a function of asked.js finds in the script of an explorer, for each setting."""
    return in_page(f"{explorer}.js", f"asked.{what}(page, state)", settings, asked=ASKED)


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
    return [within_positions(draw(chance)) for _ in range(MANY)]


def within_positions(setting: dict[str, Any]) -> dict[str, Any]:
    """A setting whose tokens are no more than a model has learned positions for, two kinds of them
    together: the library refuses more, where an explorer goes on."""
    model = explorers.drawable().get(setting.get("model", ""))
    most = model and model.learned_positions
    lengths = {*setting} & {"seq", "cached", "fresh", "context"} if most else ()
    return {**setting, **{name: min(setting[name], most // 2) for name in lengths}}


def of_any_length() -> list[str]:
    """The models that have no learned positions, which end."""
    return [name for name, m in explorers.drawable().items() if m.learned_positions is None]


def seconds(places: Any, only: Callable[[Any], bool] = lambda _: True) -> float:
    """The time of ops, one after another."""
    return float(sum(place.time for place in places if only(place)))


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


@functools.cache
def can_share(name: str, among: int) -> bool:
    """True if so many devices can share the model."""
    try:
        tensor_parallel(explorers.drawable()[name], among)
    except ValueError:
        return False
    return True


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
            within_positions(
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
        )
    return found
