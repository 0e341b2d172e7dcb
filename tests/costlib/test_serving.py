"""Serving in closed form: the ledger point by point, sums done another way, published numbers."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import lambertw

from costlib import Precision, devices, models, serving
from costlib.layers import Attention, Block, Cache, DeltaRule, Mlp
from costlib.model.transformer import Transformer
from costlib.parallel import tensor_parallel
from costlib.timing import roofline
from costlib.timing.roofline import DoesNotFit
from costlib.units.numbers import symbols

LLAMA = serving.Server("llama-3.1-8b", "H100-SXM")


class Halved(Attention):
    """Keeps one entry for two tokens, as compressed caches do."""

    __slots__ = ()

    @property
    def caches(self):
        return (Cache(per_token=100, every=2),)


#: Dense, windows, a mixture, latents with a mixture, states, a calibrated kind of device.
SERVERS = {
    "dense": LLAMA,
    "fp8": serving.Server("llama-3.1-8b", "H100-SXM", "fp8"),
    "four devices": serving.Server("llama-3.1-70b", "H100-SXM", tensor=4),
    "windows": serving.Server("gemma-2-9b", "H100-SXM"),
    "mixture": serving.Server("mixtral-8x7b", "H100-SXM", "int4"),
    "latents": serving.Server("deepseek-v3", "H200", tensor=8),
    "states": serving.Server("qwen3-next-80b-a3b", "H200", tensor=2),
    "overheads": serving.Server(
        "llama-3.1-8b",
        devices["A100-80GB"].with_(overhead_per_op=3e-6, overhead_per_step=1e-4, blend=3.0),
    ),
}
every_server = pytest.mark.parametrize("server", SERVERS.values(), ids=SERVERS)


@every_server
def test_the_frontier_is_the_ledger_point_by_point(server):
    batches = np.array([1, 2, 7, 33, 128, 1000])
    found = serving.frontier(server, 3000, batches, prompt=500)
    share = tensor_parallel(server.model, server.tensor)
    for batch, seconds, rate in zip(batches, found.tpot, found.throughput, strict=True):
        work = share.decode(int(batch), 3000)
        how = {"precision": server.precision, "too_large": "ignore"}
        assert seconds == pytest.approx(roofline.time(work, server.device, **how), rel=1e-12)
        assert rate == pytest.approx(batch / seconds)
        assert found.fits[list(batches).index(batch)] == (batch <= server.room(3001))
    prefill = server.seconds(share.prefill(1, 500, logits="last"))
    assert found.ttft == pytest.approx(prefill, rel=1e-3)  # a hybrid's first pass reads no state


@every_server
def test_the_two_lines_are_the_step_at_both_ends(server):
    lines = serving.regimes(server, 2000)
    for batch in (1, 8, 64, 512, 10**5, 10**9):
        seconds = server.seconds(server.share.decode(batch, 2000, experts="all"))
        if server.device.blend == math.inf:
            assert seconds >= lines.step(batch) * (1 - 1e-9)
    far = server.step(10**10, 2000, too_large="ignore")
    assert lines.step(10**10) == pytest.approx(far, rel=1e-6)
    assert lines.step(1) == pytest.approx(
        server.seconds(server.share.decode(1, 2000, experts="all")), rel=1e-9
    )


def test_the_lines_are_bytes_and_flops_of_the_model():
    """What a reader computes by hand: weights and caches over β, two FLOPs a weight over π."""
    model, device = LLAMA.model, LLAMA.device
    lines = serving.regimes(LLAMA, 8000)
    in_products = model.params() - model.vocab * model.d_model  # no table that is looked up
    assert lines.weights == pytest.approx(2 * in_products / device.memory_rate, rel=1e-4)
    cache = model.kv_bytes(1, 8000) / device.memory_rate
    assert lines.reading == pytest.approx(cache, rel=0.02)  # and activations
    arithmetic = 2 * in_products / device.compute_rate()
    assert lines.computing == pytest.approx(arithmetic + cache, rel=0.02)
    assert (
        serving.ridge_batch(device) < lines.bend < 1.15 * serving.ridge_batch(device)
    )  # activations move too
    assert lines.most == pytest.approx(1 / lines.computing)
    assert lines.even == pytest.approx(lines.weights / lines.reading)


def test_narrow_experts_have_no_critical_batch():
    """Wherever more than half of the weights' time stays, some GEMMs are bound by memory."""
    far = 2**24
    for name, tensor in (("qwen3-next-80b-a3b", 4), ("qwen3-30b-a3b", 4), ("qwen3-30b-a3b", 1)):
        server = serving.Server(name, "H100-SXM", tensor=tensor)
        work = server.share.decode(far, 1000)
        experts = [
            each
            for each in roofline.limits(work, server.device)
            if each.name in ("experts.up", "experts.gate", "experts.down")
        ]
        bound = {each.is_compute_bound for each in experts}
        assert bound == {serving.regimes(server, 1000).bend < math.inf}


def test_the_bend_is_where_the_precision_says():
    """Weights in fewer bits meet the ridge earlier; fp8 in fp8 where 16 bits did."""
    bends = {
        name: serving.regimes(serving.Server("llama-3.1-8b", "H100-SXM", name), 100).bend
        for name in ("bf16", "fp8", "int4")
    }
    assert bends["fp8"] == pytest.approx(bends["bf16"], rel=0.1)
    assert bends["int4"] == pytest.approx(bends["bf16"] * 0.515625 / 2, rel=0.1)


@every_server
@pytest.mark.parametrize("target", [0.008, 0.025, 0.1, 1.0])
def test_the_best_batch_is_the_last_within_the_target(server, target):
    context = 2000
    if server.step(1, context) > target:
        with pytest.raises(ValueError, match="no batch has a TPOT of"):
            serving.best_batch(server, context, target)
        return
    best = serving.best_batch(server, context, target)
    assert server.step(best.batch, context) <= target
    assert best.throughput == pytest.approx(best.batch / best.tpot)
    room = server.room(context + 1)
    if best.limit == "latency":
        assert best.batch < room
        assert server.step(best.batch + 1, context) > target
    else:
        assert best.batch == room


def test_the_best_batch_by_the_lines_is_near():
    for target in (0.006, 0.01, 0.02):
        exact = serving.best_batch(LLAMA, 1000, target).batch
        assert serving.regimes(LLAMA, 1000).batch_within(target) == pytest.approx(exact, abs=1.5)


def test_what_would_do_is_said():
    with pytest.raises(ValueError, match=r"one sequence takes 4\.56.* tensor=2 takes 2\.28"):
        serving.best_batch(LLAMA, 2000, 0.003)
    with pytest.raises(ValueError, match=r"tensor=16 would do"):
        serving.Server("llama-3.1-405b", "H100-SXM").check(1000)
    with pytest.raises(ValueError, match=r"and 77\.3 GB are usable; tensor=2 would do"):
        serving.frontier(serving.Server("llama-3.1-70b", "H100-SXM", "fp8"), 100_000)
    with pytest.raises(ValueError, match="tpot must be more than 0"):
        serving.best_batch(LLAMA, 2000, 0)


@every_server
def test_the_clock_says_what_the_ledger_says(server):
    clock = serving.Clock(server, sequences=64, longest=9000)
    random = np.random.default_rng(0)
    for _ in range(20):
        batch, context = int(random.integers(1, 65)), int(random.integers(1, 8900))
        assert clock.steps(batch, batch * context, 1) == pytest.approx(
            server.step(batch, context, too_large="ignore"), rel=1e-6
        )
        new = int(random.integers(1, 4000))
        assert clock.mixed(0, 0, new, 0, True) == pytest.approx(
            server.seconds(server.share.prefill(1, new, logits="last")), rel=1e-9
        )
        assert clock.mixed(0, 0, new, context, True) == pytest.approx(
            server.prefill(new, cached=context, too_large="ignore"), rel=1e-9
        )


def test_a_piece_and_a_step_in_one_pass_share_the_weights():
    """Attention adds up; what treats tokens alike sees all of them at once."""
    clock = serving.Clock(LLAMA, sequences=32, longest=5000)
    both = clock.mixed(32, 32 * 1000, 200, 400, False)
    apart = clock.steps(32, 32 * 1000, 1) + clock.mixed(0, 0, 200, 400, False)
    weights = serving.regimes(LLAMA, 1).weights
    assert apart - both == pytest.approx(weights, rel=0.15)  # read once, not twice
    assert both > clock.steps(32, 32 * 1000, 1)


@given(st.integers(1, 60), st.integers(1, 4000), st.floats(0, 3), st.integers(1, 500))
def test_steps_within_a_time_are_the_fewest(batch, context, seconds, most):
    clock = CLOCK
    count = clock.steps_within(batch, batch * context, seconds, most)
    assert 1 <= count <= most
    if count < most:
        assert clock.steps(batch, batch * context, count) >= seconds * (1 - 1e-9)
    if count > 1:
        assert clock.steps(batch, batch * context, count - 1) <= seconds * (1 + 1e-9)


CLOCK = serving.Clock(LLAMA, sequences=60, longest=5000)


@given(st.integers(1, 700), st.integers(1, 12), st.integers(0, 699))
def test_the_extra_reads_of_chunks_are_the_ledgers(chunk, pieces, less):
    model, prompt = models["llama-3.2-1b"], max(1, chunk * pieces - less)
    whole = model.prefill(1, prompt)
    pieces = [
        model.decode(1, at, min(chunk, prompt - at)) if at else model.prefill(1, min(chunk, prompt))
        for at in range(0, prompt, chunk)
    ]
    extra = sum(piece.elements_read.kv for piece in pieces) - whole.elements_read.kv
    each = model.kv_elements_per_token()
    assert extra == serving.chunk_extra_reads(prompt, chunk) * each
    assert sum(piece["scores"].flops for piece in pieces) == whole["scores"].flops


def test_paging_and_prefixes_in_closed_form():
    lengths = np.arange(1, 16 * 50 + 1)
    assert (-lengths % 16).mean() == serving.mean_empty(16) == 7.5
    assert serving.prefix_saving(100, 1000, 16) == 99 * 992
    assert serving.prefix_saving(1, 1000) == 0


def test_blocks_hold_what_a_model_keeps():
    """What grows is paged; windows and states are reserved whole, in as many blocks as it takes."""
    plain = serving.Pages(LLAMA, block=16)
    assert plain.block_bytes == 16 * 131072
    assert plain.blocks == LLAMA.free_bytes(1) // plain.block_bytes
    assert (plain.of(0), plain.of(1), plain.of(16), plain.of(17)) == (0, 1, 1, 2)
    assert plain.fixed(10**6) == 0
    assert serving.Pages(LLAMA, block=16, sequences=256).blocks < plain.blocks  # activations
    local = serving.Pages(
        serving.Server("gemma-2-9b", "H100-SXM"), block=32
    )  # half of 42 layers see 4,096
    each = 21 * 2 * 8 * 256 * 2
    assert local.block_bytes == 32 * each
    assert [local.fixed(t) for t in (1, 32, 33, 4096, 10**6)] == [1, 1, 2, 128, 128]
    hybrid = serving.Pages(serving.Server("qwen3-next-80b-a3b", "H200", tensor=2), block=16)
    state = hybrid.server.share.state_elements() * 2
    assert hybrid.fixed(5) == math.ceil(state / hybrid.block_bytes) == hybrid.fixed(10**6)
    eight = serving.Pages(serving.Server("llama-3.1-8b", "H100-SXM", "fp8"), block=16)
    assert eight.block_bytes == plain.block_bytes / 2
    states = serving.Pages(serving.Server("falcon-mamba-7b", "H100-SXM"))
    with pytest.raises(ValueError, match="whose caches do not grow"):
        _ = states.tokens
    assert (states.of(1000), states.fixed(1000), states.grows) == (0, 1, False)
    assert states.blocks == states.server.free_bytes(1) // states.block_bytes
    assert states.block_bytes == states.server.share.state_elements() * 2


def test_compressed_caches_take_fewer_blocks():
    block = Block(layers=1, parts=(Halved(heads=4, head_dim=16), Mlp(width=256)))
    model = Transformer(d_model=64, vocab=1000, blocks=(block,))
    toy = devices["H100-SXM"].with_(capacity=10**9)
    assert serving.Pages(serving.Server(model, toy), block=8).block_bytes == 8 * 100 / 2 * 2


def test_a_cache_crosses_a_link():
    assert serving.transfer(LLAMA, 4096, 50e9) == pytest.approx(4096 * 131072 / 50e9)
    with pytest.raises(ValueError, match="link must be more than 0"):
        serving.transfer(LLAMA, 4096, 0)
    ratio = serving.machine_ratio(LLAMA, LLAMA, 4096, 256, 64)
    assert ratio == pytest.approx(
        64 * LLAMA.prefill(4096) / (255 * LLAMA.step(64, 4096 + 127)), rel=1e-3
    )


def test_bytes_to_the_bit_and_the_ridge_that_counts():
    assert 8 * Precision(weights="mxfp4").weights == 4.25
    assert 8 * Precision(weights="nvfp4").weights == 4.5
    assert 8 * Precision(weights="int4").weights == 4.125
    h100 = devices["H100-SXM"]
    assert serving.ridge_batch(h100, "fp8") == pytest.approx(h100.ridge("fp8") / 2)
    assert serving.ridge_batch(h100, "fp8") == pytest.approx(
        serving.ridge_batch(h100, "bf16"), rel=1e-3
    )
    assert serving.ridge_batch(h100, "mxfp4") == pytest.approx(h100.ridge() * 4.25 / 16)
    assert serving.ridge_batch(h100, "bf16", experts=256, per_token=8) == pytest.approx(
        32 * h100.ridge()
    )


def test_weight_only_bits_stop_helping_at_the_plain_ridge():
    """The closed form against one product's time with negligible rows and results."""
    h100 = devices["H100-SXM"]
    wide = Transformer(layers=1, d_model=2**16, heads=2**9, d_ff=2**18, vocab=8)
    for batch in (1, 50, 76, 150, 250):
        op = wide.decode(batch, 1)["ffn.up"]
        gain = roofline.time(op, h100, precision="bf16") / roofline.time(op, h100, precision="int4")
        assert serving.weight_gain(h100, "int4", batch) == pytest.approx(gain, rel=0.02)
    assert serving.weight_gain(h100, "int4", 296) == 1
    assert serving.weight_gain(h100, "fp8", 10**6) == pytest.approx(2, rel=1e-3)


@given(st.floats(0.02, 0.98), st.floats(0.01, 1.2))
def test_the_best_number_of_drafts_is_the_best(accepted, cost):
    best = serving.best_drafts(accepted, cost)
    rates = [serving.speed_up(accepted, k, cost) for k in range(best + 60)]
    assert rates[best] == pytest.approx(max(rates), rel=1e-12)
    real = serving.best_length(accepted, cost)
    assert best in (math.floor(real), math.ceil(real))


def test_drafts_of_0_8_at_a_tenth():
    assert serving.expected_tokens(0.8, 4) == pytest.approx(3.3616)
    assert serving.speed_up(0.8, 4, 0.1) == pytest.approx(3.3616 / 1.4)
    assert serving.best_drafts(0.8, 0.1) == 6
    assert serving.expected_tokens([0.8] * 4) == pytest.approx(3.3616)
    u, w = math.log(1 / 0.8), lambertw(-math.exp(-1 - 9 * math.log(1 / 0.8)), -1).real
    assert serving.best_length(0.8, 0.1) == pytest.approx((-1 - w) / u - 10)
    with pytest.raises(ValueError, match="accepted must be less than 1"):
        serving.best_drafts(1, 0.1)
    with pytest.raises(ValueError, match="accepted must be a probability"):
        serving.expected_tokens(1.5, 3)
    with pytest.raises(ValueError, match="draft_cost must be at least 0"):
        serving.best_drafts(0.5, -1)


def test_speculation_by_the_ledger_stops_paying_where_the_lines_say():
    for context in (64, 128):
        stop = serving.pays_up_to(LLAMA, context, accepted=0.8, drafts=4)
        near = [
            serving.speculate(
                LLAMA, LLAMA, batch=round(stop * share), context=context, accepted=0.8, drafts=4
            )
            for share in (0.8, 1.2)
        ]
        free = [
            LLAMA.step(b, context) * 3.3616 / LLAMA.step(b, context, 5)
            for b in (round(0.8 * stop), round(1.2 * stop))
        ]
        assert free[0] > 1 > free[1]
        assert near[0] < free[0]  # drafts as dear as steps
    assert serving.pays_up_to(LLAMA, 16384, accepted=0.8, drafts=4) == math.inf
    one, five = (LLAMA.step(10**5, 16384, new, too_large="ignore") for new in (1, 5))
    assert one * 3.3616 / five > 1
    assert serving.pays_up_to(LLAMA, 64, accepted=0.5, drafts=4, draft_cost=0.5) == 0


def test_a_step_that_does_not_fit_says_so_once_with_both_numbers():
    pair = serving.Server("llama-3.1-405b", "DGX-H100x2", pipeline=2)
    for server in (LLAMA, pair, serving.Server("llama-3.1-70b", "H100-SXM", tensor=4)):
        room = server.room(8193)
        server.step(room, 8192)  # no warning, which would be an error here
        with pytest.warns(DoesNotFit, match=r"holds in this step 7[78]\.\d GB of .* has 77\.3 GB"):
            late = server.step(room + 1, 8192)
        assert late == server.step(room + 1, 8192, too_large="ignore")
        with pytest.raises(ValueError, match="a device holds in this step"):
            server.step(room + 1, 8192, too_large="error")
    with pytest.warns(DoesNotFit, match="Server.room tells") as warned:
        serving.Server("llama-3.1-70b", "T4").step(np.array([1, 2]), 1000)
    assert len(warned) == 1
    assert warned[0].filename == __file__, "it shows the line of who asked"
    with pytest.warns(DoesNotFit, match=r"holds in this prefill 147\.1 GB of weights and caches"):
        LLAMA.prefill(10**6)
    B = symbols("B")
    assert B in LLAMA.step(B, 8192).free_symbols


def test_a_server_shows_itself_in_a_line():
    assert repr(LLAMA) == "<Server: 8.03 G parameters on 1 × H100-SXM>"
    fleet = serving.fewest_devices("llama-3.1-8b", "H100", users=9, precision="fp8")
    assert repr(fleet).startswith(
        "Fleet(server=<Server: 8.03 G parameters on 1 × H100-SXM, in fp8>"
    )


def test_speculation_that_does_not_fit_says_so_once():
    asks = {"context": 8192, "accepted": 0.8, "drafts": 4}
    for draft, fits, whose in (
        ("llama-3.2-1b", 43, "for checks and drafts beside them"),
        ("llama-3.2-1b on H100-SXM", 56, "for checks and drafts beside them"),
    ):
        serving.speculate(
            LLAMA, draft, batch=fits, **asks
        )  # no warning, which would be an error here
        with pytest.warns(DoesNotFit, match=whose) as warned:
            serving.speculate(LLAMA, draft, batch=fits + 1, **asks)
        assert len(warned) == 1
        assert warned[0].filename == __file__
    with pytest.warns(
        DoesNotFit, match=r"^a device holds for drafts 17\.\d GB of .* T4 has 15\.5 GB"
    ):
        serving.speculate(LLAMA, "llama-3.1-8b on T4", batch=1, **asks)
    large = serving.Server("llama-3.1-70b", "H100-SXM", "fp8")
    serving.speculate(large, large, batch=1, **asks | {"context": 100})
    with pytest.warns(DoesNotFit, match=r"beside them 78\.6 GB"):  # 70.6 and 8.0
        serving.speculate(large, "llama-3.1-8b", batch=1, **asks | {"context": 100})


def test_heads_of_the_model_draft_too():
    server = serving.Server("deepseek-v3", "H200", tensor=8)
    gain = serving.speculate(server, None, batch=1, context=4096, accepted=[0.85], drafts=1)
    many = serving.speculate(server, None, batch=128, context=4096, accepted=[0.85], drafts=1)
    assert 1 < gain < many < 1.85  # two tokens alone ask twice as many experts


def test_mixtures_touch_share_and_send():
    v3 = models["deepseek-v3"]
    assert serving.experts_share(v3, 1) == pytest.approx(8 / 256)
    drawn = np.random.default_rng(0)
    touched = [
        len(np.unique([drawn.choice(256, 8, replace=False) for _ in range(32)])) / 256
        for _ in range(200)
    ]
    assert serving.experts_share(v3, 32) == pytest.approx(np.mean(touched), rel=0.01)
    assert serving.tokens_per_expert(v3, 4096) == 128
    sent = serving.expert_exchange(v3, 128, 32)
    assert sent.sends == 2 * 58 * 128 * 8 * 7168 * 31 // 32
    assert serving.expert_exchange(v3, 1, 3).sends == pytest.approx(2 * 58 * 8 * 7168 * 2 / 3)
    with pytest.raises(ValueError, match="no experts"):
        serving.experts_share(models["llama-3.1-8b"], 1)


def test_lines_of_reading_are_the_ledger_and_cross_where_they_are_equal():
    for name in ("llama-3.1-8b", "gemma-2-9b", "deepseek-v3.2", "qwen3-next-80b-a3b"):
        lines = serving.read_lines(models[name])
        for context in (10, 1000, 5000, 100_000):
            step = models[name].decode(1, context)
            moved = (step.elements_read.kv + step.elements_written.kv) * models[name].precision.kv
            assert lines(context) == pytest.approx(moved, rel=1e-6)
    full, states = (
        serving.read_lines(models["qwen3-8b"]),
        serving.read_lines(models["qwen3-next-80b-a3b"]),
    )
    [at] = serving.crossings(full, states)
    assert full(at) == pytest.approx(states(at))
    state = models["qwen3-next-80b-a3b"].state_elements() * 2
    assert at == pytest.approx(2 * state / (full.slope - states.slope), rel=0.05)  # read, written
    assert serving.crossings(serving.Lines((0, 10), (0, 10)), serving.Lines((0, 10), (5, 5))) == (
        5.0,
    )


def test_a_state_against_a_cache():
    layer = DeltaRule(value_heads=32, key_heads=16, key_dim=128, value_dim=128, kernel=4)
    hybrid = Transformer(
        d_model=2048, vocab=1000, blocks=(Block(layers=1, parts=(layer, Mlp(width=4096))),)
    )
    [state] = {cache.state for cache, _ in hybrid.caches() if cache.state > 32 * 128 * 128 - 1}
    assert state >= 32 * 128 * 128
    assert serving.even_context(32 * 128 * 128, 2 * 8 * 128) == 256
    plain = Attention(heads=32, head_dim=128, kv_heads=8)
    full = Transformer(
        d_model=4096, vocab=1000, blocks=(Block(layers=1, parts=(plain, Mlp(width=4096))),)
    )
    assert serving.mixing_flops(full, 999) == pytest.approx(4 * 32 * 128 * 1000, rel=0.05)


def test_money_and_energy():
    assert serving.per_million(1 / 2500, 3.99) == pytest.approx(3.99 / 2500 / 3600 * 1e6)
    how = {"prompt": 2000, "answer": 500, "batch": 64, "per_hour": 4.0, "watts": 700}
    one = serving.bill(LLAMA, **how)
    assert one.output == pytest.approx(4 / 3600 * 1e6 * LLAMA.step(64, 2250) / 64)
    assert one.input == pytest.approx(4 / 3600 * 1e6 * LLAMA.prefill(2000) / 2000)
    assert one.joules_output / one.output == pytest.approx(700 * 3600 / 4)
    assert one.cached < one.input / 4
    half = serving.bill(LLAMA, **how, utilisation=0.5)
    assert half.output == pytest.approx(2 * one.output)
    pair_server = serving.Server("llama-3.1-8b", "H100-SXM", tensor=2)
    pair = serving.bill(pair_server, **how)
    assert pair.output > one.output  # two devices halve less than all of it
    assert half.joules_output == pytest.approx(2 * one.joules_output)
    assert pair.joules_input == pytest.approx(2 * 700 * 1e6 * pair_server.prefill(2000) / 2000)
    found = LLAMA.prefill(1000, cached=1000) - LLAMA.prefill(1000)
    assert one.cached == pytest.approx(4 / 3600 * 1e6 * found / 1000)
    assert one.joules_cached == pytest.approx(700 * 1e6 * found / 1000)
    assert serving.bill(LLAMA, **{**how, "per_hour": 0, "watts": 0}).output == 0
    odd = serving.bill(LLAMA, **{**how, "prompt": 3})
    assert odd.cached == pytest.approx(
        4 / 3600 * 1e6 * (LLAMA.prefill(1, cached=2) - LLAMA.prefill(1)) / 2
    )
    for wrong in ({"watts": -1}, {"utilisation": 0}, {"utilisation": 1.1}, {"per_hour": -1}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            serving.bill(LLAMA, **{**how, **wrong})
    assert all(rental.per_hour > 0 and rental.device in devices for rental in serving.RENTALS)


def test_saturation_is_one_request_after_another_at_a_batch_of_one():
    spent = LLAMA.prefill(500) + sum(LLAMA.step(1, 500 + k) for k in range(99))
    assert serving.saturation(LLAMA, 500, 100, batch=1).requests_per_s == pytest.approx(
        1 / spent, rel=1e-9
    )


def test_saturation_counts_the_places_that_memory_has():
    pages = serving.Pages(LLAMA)
    full = serving.saturation(LLAMA, 1000, 200)
    assert full.batch == pages.blocks // pages.of(1199)
    assert serving.saturation(LLAMA, 1000, 200, most=10).batch == 10
    assert full.output_tokens_per_s == pytest.approx(200 * full.requests_per_s)
    assert full.reading == pytest.approx(full.requests_per_s * LLAMA.prefill(1000))
    one = serving.saturation(LLAMA, 300, 1)  # nothing to write but the first token
    assert one.requests_per_s == pytest.approx(1 / LLAMA.prefill(300))


HUGE = serving.Server("llama-3.1-405b", "H100-SXM")
NONSENSE = {
    "precision must be": lambda: serving.Server("llama-3.1-8b", "H100-SXM", "fp3"),
    "server must be a Server": lambda: serving.frontier("H100-SXM", 1000),
    "even tensor=32 takes": lambda: serving.best_batch(LLAMA, 1000, 1e-9),
    "tpot must be a number": lambda: serving.best_batch(LLAMA, 1000, "25 ms"),
    "arrival must hold seconds": lambda: serving.listed([[1.0, 2.0]], 10, 10),
    "arrival must list at least one": lambda: serving.Requests(*np.full((5, 1), np.nan)),
    "arrival must be in order": lambda: serving.Requests(*np.array([[2, 1]] * 5)),
    "answer must have 2 entries": lambda: serving.Requests(
        *np.array([[1, 2]] * 2), np.array([1]), *np.array([[1, 2]] * 2)
    ),
    "tensor=2 would do": lambda: serving.simulate(
        serving.listed([0.0], 10, 10), serving.Server("llama-3.1-70b", "H200")
    ),
    "rate must be a positive number": lambda: serving.poisson(0, 10, prompt=1, answer=1),
    "seconds from 0 on, got [-1.0]": lambda: serving.listed([-1.0], 1, 1),
    "answer must be at least 1": lambda: serving.listed([0.0], 1, 0),
    "shared must be at most the prompt, got 9 of 5": lambda: serving.listed([0.0], 5, 1, shared=9),
    "shared must be one length a group": lambda: serving.listed([0.0, 1.0], 9, 1, shared=[3, 4]),
    "prompt must be one length or 2": lambda: serving.listed([0.0, 1.0], [1, 2, 3], 1),
    "reserve must be 'answer' or 'blocks'": lambda: serving.Policy(reserve="nothing"),
    "high must be at least": lambda: serving.uniform(5, 3),
    "mean must be more than the median": lambda: serving.lognormal(5, 3, 10),
    "most must be at least 100": lambda: serving.lognormal(100, 200, 50),
    "prefix_cache must be True or False": lambda: serving.Policy(prefix_cache="yes"),
    "requests must be of poisson": lambda: serving.simulate([], LLAMA),
    "chunk must be at least 1": lambda: serving.saturation(LLAMA, 100, 10, chunk=0),
    "answer must be one length or 3": lambda: serving.saturation(LLAMA, [1, 2, 3], [1, 2]),
    "batch must be at most 4,206": lambda: serving.saturation(LLAMA, 100, 10, batch=10**6),
    "link must be more than 0": lambda: serving.transfer(LLAMA, 100, 0),
    "tensor=16 would do": lambda: serving.machine_ratio(HUGE, LLAMA, 100, 10, 1),
    "weights and its cache take": lambda: serving.bill(
        HUGE, prompt=100, answer=10, batch=1, per_hour=1
    ),
    "batch must be at most": lambda: serving.bill(
        LLAMA, prompt=100, answer=10, batch=10**6, per_hour=1
    ),
    "seconds must be at least 0": lambda: serving.per_million(-1, 1),
    "one probability for each of 7": lambda: serving.expected_tokens([0.5, 0.4], 7),
    "probability from 0 to 1": lambda: serving.expected_tokens(np.array([0.5, 2.0]), 4),
    "accepted must be a number": lambda: serving.expected_tokens("all", 4),
    "longer is better": lambda: serving.best_drafts(0.8, 0),
    "draft_cost must be at least 0": lambda: serving.speed_up(0.8, 4, -1),
    "name must be 'seconds'": lambda: serving.simulate(serving.listed([0.0], 10, 1), LLAMA).column(
        "batch"
    ),
}


@pytest.mark.parametrize("said", NONSENSE)
def test_nonsense_is_told_in_words(said: str) -> None:
    with pytest.raises((TypeError, ValueError)) as told:
        NONSENSE[said]()
    assert said in str(told.value)


def test_lines_go_on_beyond_the_last_context_that_was_asked() -> None:
    full = serving.read_lines("llama-3.1-8b")
    exact = LLAMA.model.decode(1, 10**8)
    moved = 2 * (exact.elements_read.kv + exact.elements_written.kv)
    assert full(10**8) == pytest.approx(moved, rel=1e-12)
    flat = serving.Lines((1, 2), (2e12, 2e12))
    assert serving.crossings(full, flat) == (pytest.approx((2e12 - 262144) / 131072),)


def test_the_best_length_has_no_cancellation_where_drafts_cost_little() -> None:
    for cost in (1e-6, 1e-12, 1e-100):
        found = serving.best_length(0.8, cost)
        slope = 0.8 ** (found + 1) * (1 / cost + found) * -np.log(0.8)  # of the derivative
        assert slope == pytest.approx(1 - 0.8 ** (found + 1), rel=1e-9)


def test_an_array_of_acceptances_may_hold_a_certain_one() -> None:
    assert serving.expected_tokens(np.array([0.5, 1.0]), 2).tolist() == [1.75, 3.0]
