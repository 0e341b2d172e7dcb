"""Sessions, tiers, prefix caches, offloaded weights and rollouts, each computed another way."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

import costlib
from costlib import serving
from costlib.serving import Call, PrefixCache, Server, Session

H100 = costlib.devices["H100-SXM"]
LLAMA = Server("llama-3.1-8b", H100)
SESSION = Session(calls=12, first=4000, answer=200, result=1000)


def test_a_session_prefills_what_no_earlier_call_computed() -> None:
    computed, new, whole = 0, 0, 0
    for prompt in SESSION.prompts.tolist():
        new, whole = new + prompt - computed, whole + prompt
        computed = prompt + SESSION.answer - 1  # the last token was drawn, and no step has run it
    assert SESSION.prefilled(cached=True) == new
    assert SESSION.prefilled(cached=False) == whole
    assert SESSION.last == computed


def test_with_a_cache_no_pair_of_tokens_is_computed_twice() -> None:
    """All calls together compute the scores of one pass over the whole session."""
    model = LLAMA.model
    cached = serving.session_cost(LLAMA, SESSION, cached=True).flops.sum()
    steps = (SESSION.answer - 1) * SESSION.calls
    logits = 2 * model.vocab * model.d_model
    once = model.prefill(1, SESSION.last, logits="last").flops
    once += logits * (steps + SESSION.calls - 1)
    assert cached == pytest.approx(once, rel=1e-6)


def test_a_session_costs_decode_the_same_with_and_without_a_cache() -> None:
    costs = [serving.session_cost(LLAMA, SESSION, cached=each) for each in (False, True)]
    assert np.array_equal(costs[0].decode, costs[1].decode)
    first = [cost.prefill[0] for cost in costs]
    assert first[0] == first[1] == LLAMA.prefill(4000)
    steps = sum(LLAMA.step(1, 4000 + at) for at in range(199))
    assert costs[0].decode[0] == pytest.approx(steps, rel=1e-3)


def test_at_the_break_even_bandwidth_a_reload_takes_a_prefill() -> None:
    for server in (LLAMA, Server("llama-3.1-70b", H100, tensor=4), Server("deepseek-v3", "H200x8")):
        for tokens in (1000, 50_000):
            rate = serving.even_link(server, tokens) * server.per_copy
            reload = serving.transfer(server, tokens, rate)
            assert reload == pytest.approx(server.prefill(tokens), rel=1e-12)


def test_the_shortest_prefix_that_is_reloaded_in_time() -> None:
    at = serving.even_prefix(LLAMA, 4e9)
    assert serving.even_link(LLAMA, int(at)) <= 4e9 < serving.even_link(LLAMA, int(at) - 1)
    assert serving.even_prefix(LLAMA, 1e12) == 1000
    assert serving.even_prefix(LLAMA, 1e3) == float("inf")


def test_holding_costs_what_the_sequences_would_have_generated() -> None:
    held = serving.held_prefix(LLAMA, 32_000, context=8000)
    room = LLAMA.room(8000)
    lost = 4  # a prefix of four sequences' length
    rates = [n / LLAMA.step(n, 8000) for n in (room, room - lost)]
    assert (rates[0] - rates[1]) / rates[0] == pytest.approx(held.share * held.elasticity, rel=0.1)
    again = held.prefill / ((rates[0] - rates[1]) / rates[0])
    assert held.seconds == pytest.approx(again, rel=0.1)
    assert serving.HeldPrefix(share=0.1, elasticity=0, prefill=1).seconds == float("inf")


def test_a_share_of_no_weights_is_a_step_and_of_all_is_the_bus() -> None:
    for name, what in (("llama-3.1-70b", "all"), ("qwen3-235b-a22b", "experts")):
        server = Server(name, "RTX-4090", "int4")
        at = {
            share: serving.offloaded_step(server, 1, 1000, link=32e9, share=share, what=what)
            for share in (0, 0.5, 1)
        }
        assert at[0] == pytest.approx(server.step(1, 1000, too_large="ignore"), rel=1e-9)
        moved = serving.offloaded_work(server, 1, 1000, what=what).bytes("int4")
        near = moved / server.device.memory_rate
        assert at[1] - at[0] == pytest.approx(moved / 32e9 - near, rel=1e-3)
        assert at[0.5] == pytest.approx((at[0] + at[1]) / 2, rel=1e-12)
    large = Server("llama-3.1-70b", "RTX-4090", "int4")
    least = serving.least_offloaded(large, 1000)
    held = large.fullest(1, 1000)[1]
    table = 0.5 * 1.03125 * large.model.vocab * large.model.d_model  # only looked up: stays
    assert held.total - least * (held.weights - table) == pytest.approx(
        large.device.usable, rel=1e-3
    )
    assert serving.least_offloaded(Server("llama-3.1-8b", H100), 1000) == 0
    dense = Server("llama-3.1-8b", "RTX-4090")
    assert serving.offloaded_work(dense, 1, 10, what="experts").flops == 0


def calls(count: int = 1500, agents: int = 12, seed: int = 3) -> list[Call]:
    return serving.agent_calls(agents, SESSION, calls=count, seed=seed)


def test_calls_know_their_next_one() -> None:
    made = calls(400)
    for number, call in enumerate(made):
        later = [at for at in range(number + 1, len(made)) if made[at].session == call.session]
        assert call.following == (later[0] if later else float("inf"))
    by_session: dict[int, list[int]] = {}
    for call in made:
        by_session.setdefault(call.session, []).append(call.prompt)
    assert all(b - a == SESSION.grows for mine in by_session.values() for a, b in pairwise(mine))


@pytest.mark.parametrize("policy", serving.POLICIES)
def test_a_cache_counts_its_tokens(policy: str) -> None:
    cache = PrefixCache(60_000, policy, shared=4000)
    for call in calls():
        had = cache.has(call.session)
        assert cache.serve(call) == min(had, call.prompt - 1)
        own = sum(held - cache.shared for held in cache.held.values())
        assert cache.used == own + cache.shared <= 60_000
        assert cache.held[call.session] == call.last
        assert all(held > cache.shared for held in cache.held.values())


def test_lru_is_that_of_a_list_of_tokens() -> None:
    """A list of tokens in the order of their last use; of one session the last token goes first."""
    cache, kept = PrefixCache(30_000), list[tuple[int, int]]()
    for call in calls(120, agents=5):
        mine = {at for who, at in kept if who == call.session}
        found = next((at for at in range(call.prompt) if at not in mine), call.prompt - 1)
        assert cache.serve(call) == found
        kept = [each for each in kept if each[0] != call.session]
        kept += [(call.session, at) for at in reversed(range(call.last))]
        kept = kept[-30_000:]


def test_a_boundless_cache_misses_what_is_new() -> None:
    made = calls(3000)
    found = serving.reuse(made, 10**9, shared=4000, warm=500)
    new = sum(
        1001 if call.prompt > 4000 else 1 for call in made[500:]
    )  # the system prompt is there, and its last token is run again
    assert found.asked - found.found == new
    assert sum(found.prefilled) == new


def test_prefix_aware_routing_finds_as_much_as_one_server() -> None:
    many = serving.agent_calls(48, SESSION, calls=4000, seed=1)
    rates = {
        routing: serving.reuse(many, 10**9, servers=4, routing=routing, warm=400)
        for routing in serving.ROUTINGS
    }
    alone = serving.reuse(many, 10**9, warm=400)
    assert rates["prefix"].hit_rate == pytest.approx(alone.hit_rate, abs=0.01)
    assert rates["random"].hit_rate < alone.hit_rate - 0.1
    assert rates["prefix"].imbalance < 1.1


def test_a_rollout_generates_all_answers() -> None:
    lengths = [100 + 7 * at for at in range(64)]
    runs = serving.rollout(LLAMA, lengths, prompt=300, group=8, copies=4)
    assert [len(run.requests) for run in runs] == [16] * 4
    assert sum(run.written for run in runs) == sum(lengths)
    with pytest.raises(ValueError, match="whole groups of 8"):
        serving.rollout(LLAMA, lengths[:-1], prompt=300, group=8)
    with pytest.raises(ValueError, match="at most the 8 groups"):
        serving.rollout(LLAMA, lengths, prompt=300, group=8, copies=9)


def test_full_slots_have_the_rate_of_saturation() -> None:
    [run] = serving.rollout(LLAMA, range(200, 1224), prompt=16, group=16, most=64)
    rate, batch = serving.full_rate(run)
    assert 63 < batch <= 64
    full = serving.saturation(LLAMA, 16, list(range(200, 1224)), batch=64)
    assert rate == pytest.approx(full.output_tokens_per_s, rel=0.02)
    few = serving.rollout(LLAMA, [100] * 16, prompt=16, group=16)[0]
    with pytest.raises(ValueError, match="of this run ever waits"):
        serving.full_rate(few)


def test_phases_of_a_step() -> None:
    lengths = serving.lognormal(300, 450, 4096)(np.random.default_rng(1), 128)
    one = serving.policy_step(LLAMA, lengths, prompt=100, copies=2, most=64)
    forward = sum(LLAMA.model.prefill(1, int(n) + 100).matmul_flops for n in lengths)
    assert one.scoring == pytest.approx(2 * forward / (0.4 * H100.compute_rate() * 2), rel=1e-9)
    ppo = serving.policy_step(LLAMA, lengths, prompt=100, copies=2, most=64, scored=4, updated=2)
    assert ppo.scoring == pytest.approx(2 * one.scoring)
    assert ppo.update == pytest.approx(2 * one.update) == pytest.approx(3 * one.scoring)
    assert one.rollout == ppo.rollout > one.full
    assert one.shipping == 2 * LLAMA.model.params() / 50e9
    assert one.most_stale / one.staleness == pytest.approx(lengths.max() / lengths.mean(), rel=1e-9)
    split = one.samplers
    assert one.full / split == pytest.approx((one.scoring + one.update) / (1 - split))
    assert one.full / split == pytest.approx(one.asynchronous)
