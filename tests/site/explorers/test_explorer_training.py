"""Explorers of training, a budget and a mesh of devices: their numbers are the library's."""

from __future__ import annotations

import math
import random
from typing import Any

import pytest

import sampling
from costfigures.explorers.parallel import MESSAGES
from costlib import devices, training
from costlib.parallel import Cluster, Plan, search
from costlib.training import RECIPES
from costlib.units.numbers import ceil_div
from explorer_settings import MANY, asked, differing, drawn, size
from in_node import in_page, same
from tools.pages import explorer_mesh, explorers


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


def the_run(s: dict[str, Any]) -> training.TrainingRun:
    """A setting as the library's own run."""
    return training.TrainingRun(
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
    assert differing(settings, asked("budget", "budget", settings), library) == []


def test_failures_of_a_training_budget() -> None:
    settings = budgets()
    compared = 0
    for s, page in zip(settings, asked("budget", "failures", settings), strict=True):
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


def test_plans_of_a_mesh() -> None:
    """All that is offered is legal, and takes what the library says."""
    chance = random.Random(10)
    settings = [a_mesh(chance) for _ in range(100)]
    found = [each for each in asked("mesh_plan", "plan", settings) if each]
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
    assert same(best["step"], float(rows["step_s"].iloc[0]))


def test_factors_move_and_their_product_stays() -> None:
    """Whatever is pressed, the product is the number of devices and the library takes the plan."""
    chance = random.Random(12)
    axes = ("tensor", "context", "pipeline", "data", "expert")
    presses = [[chance.choice(axes), chance.random() < 0.5] for _ in range(400)]
    both = ("llama-3.1-70b", "mixtral-8x22b")
    settings = [{"model": name, "all": presses} for name in both]
    for seen in asked("mesh", "pressed", settings):
        assert len(seen) > 100
        assert {plan["pipeline"] for plan, _ in seen} >= {1, 2, 4}
        for plan, code in seen[::12]:
            degrees = [plan[axis] for axis in ("tensor", "context", "pipeline", "data")]
            assert math.prod(degrees) == plan["devices"] == 128
            assert eval(code, {"Plan": Plan, "Cluster": Cluster}).step == planned(plan).step
