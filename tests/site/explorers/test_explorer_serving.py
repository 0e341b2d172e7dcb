"""Explorers of a server, its users and its event loop: their numbers are the library's."""

from __future__ import annotations

import warnings
from math import inf
from typing import Any

import pytest

import sampling
from costfigures import explorers as fallbacks
from costfigures.explorers.serving import some_requests
from costlib import serving
from costlib.model import kvcache
from costlib.serving import Server, simulate
from costlib.timing import roofline
from explorer_settings import FIRST, asked, differing, server_of, servers
from in_node import in_page, same

pytestmark = pytest.mark.filterwarnings("ignore::costlib.serving.server.BeyondTraining")


def test_seconds_of_a_server() -> None:
    settings = servers(11, sampling.number(20, 300))
    library = []
    for s in settings:
        server = server_of(s)
        held = kvcache.memory(server.share, 1, s["context"] - 1, server.precision)
        seconds = float(server.step(s["batch"], s["context"], too_large="ignore"))
        first = float(server.prefill(s["context"], too_large="ignore"))
        parts = [float(each) for each in (held.weights, held.kv, held.activations)]
        library.append([seconds, first, int(server.room(s["context"])), seconds, parts])
    assert differing(settings, asked("server", "server", settings), library) == []


def test_regimes_of_a_server() -> None:
    """Each line is a difference of two sums: it is compared where it counts, in a step."""
    settings = servers(12, sampling.number(8, 150))
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
            assert page["bend"] == ("Infinity" if lines.bend == inf else expected), s


def test_best_batch_of_a_server() -> None:
    """The batch within a target, what it gives and costs; or what would do, if none is."""
    settings = servers(13, sampling.number(10, 300))
    met = 0
    found = asked("frontier", "bestBatch", settings)
    for s, (best, dollars, points) in zip(settings, found, strict=True):
        server = server_of(s)
        try:
            expected = serving.best_batch(server, s["context"], s["target"] / 1000)
        except ValueError:
            assert best is None, s
        else:
            met += 1
            assert (best["batch"], best["limit"]) == (expected.batch, expected.limit), s
            both = [best["perToken"], best["throughput"]]
            assert same(both, [expected.tpot, expected.throughput]), s
            price = serving.per_million(
                1 / expected.throughput, s["price"] * server.tensor, utilisation=s["used"] / 100
            )
            assert same(dollars, price), s
        if points:
            batches = [each[0] for each in points]
            curve = serving.frontier(server, s["context"], batches, prompt=1)
            assert batches[-1] == curve.largest
            assert same([each[1] for each in points], curve.tpot.tolist()), s
        else:
            assert server.room(s["context"] + 1) == 0
    assert met > 0


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
    for best in asked("frontier", "bestAtTheEnd", [{}, {"model": "gpt2"}]):
        assert best["batch"] >= 1


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
                drawn = serving.poisson(rate, 16, prompt=lengths[0], answer=lengths[1], seed=seed)
                policy = {"chunk": chunk, "reserve": reserve, "most": chance.choice([3, 8, 32])}
                policy["block"] = chance.choice([1, 16])
                requests = {
                    each: getattr(drawn, each).tolist() for each in ("arrival", "prompt", "answer")
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
    waited, preemptions = 0.0, 0
    for s, film in zip(settings, shown, strict=True):
        listed = serving.listed(*(s["requests"][n] for n in ("arrival", "prompt", "answer")))
        policy = {**s["policy"], "chunk": s["policy"]["chunk"] or None}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", serving.Overloaded)
            run = serving.simulate(listed, server_of(s), one_by_one=True, **policy)
        assert film["blocks"] == run.pages.blocks
        assert len(film["rows"]) == len(run.rows), s["policy"]
        for row, expected in zip(film["rows"], run.rows, strict=True):
            assert row[1:] == list(expected[1:]), (s["policy"], row, expected)
            assert row[0] == pytest.approx(expected[0], rel=1e-11)
        for name in ("started", "first", "finish"):
            times = [each[name] for each in film["runs"]]
            assert times == pytest.approx(getattr(run, name).tolist(), rel=1e-11)
        assert [len(each["tokens"]) for each in film["runs"]] == listed.answer.tolist()
        preemptions += run.preemptions
        assert sum(len(each["back"]) for each in film["runs"]) == run.preemptions
        waited = max(waited, float(run.waited.max()))
    assert preemptions > 0
    assert waited > 0


def test_film_of_a_server() -> None:
    """Its requests and what they feel are those of the library, at the settings it opens with."""
    body = f"[page.requestsOf({FIRST}), page.compute({FIRST}).felt]"
    [[asked_for, felt]] = in_page("serving_film.js", body, [0])
    requests = some_requests(2.5, 20, 2000, 100, seed=1)
    for name, values in asked_for.items():
        assert values == pytest.approx(getattr(requests, name).tolist(), rel=1e-12)
    rows = fallbacks.serving_film().rows
    for row, one in zip(rows, felt, strict=False):
        shown = [one[name] for name in ("first", "slowest", "pause")]
        assert row[1:] == [f"{1000 * each:,.0f}" for each in shown]
    drawn_at = serving.poisson(2.5, 48, prompt=1, answer=1, seed=1).arrival[:20]
    assert asked_for["arrival"] == pytest.approx(drawn_at.tolist(), rel=1e-12)


def test_where_memory_is_short_prompts_in_pieces_do_not_fill_it() -> None:
    body = "page.tries.find((one) => one.label === 'Memory is short').state"
    [tried] = in_page("serving_film.js", body, [0])
    requests = some_requests(tried["rate"], 20, tried["prompt"], 100, seed=1)
    server, full = Server("llama-3.1-8b", "RTX-4090"), []
    for chunk in (None, 256):
        with warnings.catch_warnings():  # its `action` came with Python 3.11
            warnings.simplefilter("ignore")
            run = simulate(requests, server, chunk=chunk, most=32, one_by_one=True)
        full.append(run.column("blocks").max() / run.pages.blocks)
    assert full[0] > 0.95
    assert full[1] < 0.75


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
    settings = servers(17, sampling.number(20, 300))
    return [{**s, "kv": "own", "shared": "1", "users": s["batch"]} for s in settings]


def test_users_who_join() -> None:
    settings = first_settings()
    crossed = set()
    for s, page in zip(settings, asked("users", "joined", settings), strict=True):
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
    return [float(server.step(s["users"], s["context"], too_large="ignore")), *sums, *parts]


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
