"""Chapter 3: the model against PyTorch's counts, and against itself."""

import json
from dataclasses import fields, replace

import numpy as np
import pytest
from examples import LLAMA_2_7B as LLAMA
from hypothesis import given, settings
from hypothesis import strategies as st

from costlib.model.catalog import models
from costlib.model.transformer import MLA, MoE, Transformer, experts_bound, experts_expected
from paths import DATA

FLOPS = json.loads((DATA / "flops.json").read_text())["torch"]
EXTRA = json.loads((DATA / "extra_models.json").read_text())["models"]
MIXED = Transformer(
    layers=6,
    d_model=64,
    heads=4,
    d_ff=128,
    vocab=500,
    kv_heads=2,
    head_dim=20,
    window=7,
    local_layers=4,
    norms=4,
    tied=True,
)
EXPERT = Transformer(
    layers=5,
    d_model=64,
    heads=4,
    d_ff=128,
    vocab=500,
    moe=MoE(experts=8, per_token=2, width=48, shared_width=32, dense_layers=1),
)
LATENT = Transformer(
    layers=3,
    d_model=64,
    heads=4,
    d_ff=128,
    vocab=500,
    mla=MLA(kv_rank=24, nope_dim=12, rope_dim=4, value_dim=10, q_rank=20),
)
MODELS = {"llama": LLAMA, "mixed": MIXED, "expert": EXPERT, "latent": LATENT}


def config(name: str) -> Transformer:
    return Transformer.from_hf(DATA / "configs" / f"{name}.json")


@pytest.mark.parametrize("row", [r for r in FLOPS if "model" in r["params"]], ids=lambda r: r["id"])
def test_torch_counts_the_same_matmul_flops(row):
    p = row["params"]
    model, options = (
        config(p["model"]),
        {"masked": "computed", "mla": "naive", "logits": p["logits"]},
    )
    if p["cache"]:
        ledger = model.decode(p["B"], p["cache"], p["new_tokens"], **options)
    else:
        ledger = model.prefill(p["B"], p["new_tokens"], **options)
    assert ledger.matmul_flops == row["flops"]


@pytest.mark.parametrize("row", [r for r in EXTRA if "flops" in r], ids=lambda r: r["name"])
def test_torch_counts_the_same_for_small_variants(row):
    model, counted = Transformer.from_hf(row["config"]), row["flops"]
    assert model.prefill(2, 20, masked="computed").matmul_flops == counted["prefill_2x20"]
    decoded = model.decode(2, 20, masked="computed", mla="naive").matmul_flops
    assert decoded == counted["decode_2x20_new1"]


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_a_pass_reads_each_parameter_once(model):
    """Every weight but the embedding's other rows is read, and a tied matrix is read twice."""
    ledger = model.prefill(1, 3, experts="all")
    looked_up = 3 * model.d_model
    tied = model.vocab * model.d_model if model.tied else 0
    read = ledger.elements_read.weights - looked_up - tied
    assert read == model.params() - model.vocab * model.d_model


@settings(max_examples=25)
@given(st.integers(1, 3), st.integers(0, 12), st.integers(1, 9))
@pytest.mark.parametrize("form", ["naive", "absorbed"])
@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_decode_steps_are_the_sum_of_the_steps(model, form, batch, context, steps):
    options = {"mla": form, "experts": "bound"}
    closed = model.decode_steps(batch, context, steps, **options)
    looped = [model.decode(batch, context + t, **options) for t in range(steps)]
    for i, op in enumerate(closed):
        assert op.flops == sum(step.ops[i].flops for step in looped), op.name
        for kind in ("weights", "activations", "kv", "scores"):
            assert getattr(op.elements_read, kind) == sum(
                getattr(step.ops[i].elements_read, kind) for step in looped
            ), (op.name, kind)
            assert getattr(op.elements_written, kind) == sum(
                getattr(step.ops[i].elements_written, kind) for step in looped
            ), (op.name, kind)
        assert op.count == sum(step.ops[i].count for step in looped)


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_generation_is_prefill_and_the_other_steps(model):
    whole = model.generate(2, 10, 5)
    looped = model.prefill(2, 10, logits="last").flops
    assert whole.flops == looped + sum(model.decode(2, 10 + t).flops for t in range(4))


@pytest.mark.parametrize("name", ["llama", "mixed", "expert"])
def test_decoding_one_by_one_costs_the_flops_of_prefill(name):
    """Causal attention does the same work token by token; only the traffic differs."""
    model = MODELS[name]
    assert model.decode_steps(2, 0, 20).flops == model.prefill(2, 20).flops
    assert model.decode_steps(2, 0, 20).elements > model.prefill(2, 20).elements


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_training_is_three_forward_passes_of_matmuls(model):
    forward = model.prefill(2, 16)
    step = model.training_step(2, 16, scores="materialised")
    assert step.matmul_flops == 3 * forward.matmul_flops
    logits = [op for op in step if op.name.startswith("unembedding.grad")]
    assert sum(op.flops for op in logits) == 2 * forward["unembedding"].flops


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_training_writes_a_gradient_for_every_parameter(model):
    step = model.training_step(2, 16)
    looked_up = 2 * 16 * model.d_model
    tied = model.vocab * model.d_model if model.tied else 0
    gradients = model.params() - model.vocab * model.d_model + looked_up + tied
    if model.moe:  # experts that no token reached have none
        unused = 8 - experts_expected(8, 2, 32)
        gradients -= unused * 4 * 3 * 64 * 48
    assert step.elements_written.weights == pytest.approx(gradients, rel=1e-12)


def test_recomputation_runs_again_what_it_says():
    forward, plain = LLAMA.prefill(1, 64), LLAMA.training_step(1, 64)
    core = forward.only("scores", "softmax", "values")
    outside = forward.only("embedding", "final_norm", "unembedding")
    selective = LLAMA.training_step(1, 64, recompute="selective")
    full = LLAMA.training_step(1, 64, recompute="full")
    assert selective.flops - plain.flops == core.flops
    assert full.flops - plain.flops == forward.flops - outside.flops
    assert full.matmul_flops > selective.matmul_flops > plain.matmul_flops
    with pytest.raises(ValueError, match="recompute must be None"):
        LLAMA.training_step(1, 64, recompute="some")


def test_scores_on_chip_are_computed_again_in_the_backward_pass():
    """FlashAttention's own count: forward and backward are 3.5 forward passes of attention."""
    step = LLAMA.training_step(1, 64, scores="on-chip")
    attention = sum(op.matmul_flops for op in step if op.name.startswith(("scores", "values")))
    forward = LLAMA.prefill(1, 64).only("scores", "values").matmul_flops
    assert attention == 3.5 * forward


@given(st.integers(1, 64), st.integers(1, 200), st.data())
def test_expected_experts_by_simulation_bounds(experts, tokens, data):
    chosen = data.draw(st.integers(1, experts))
    expected = experts_expected(experts, chosen, tokens)
    bound = experts_bound(experts, chosen, tokens)
    assert chosen <= expected * (1 + 1e-12)
    assert expected <= bound * (1 + 1e-12)


def test_expected_experts_against_draws():
    rng = np.random.default_rng(0)
    E, k, T = 16, 4, 5
    draws = [
        len({e for _ in range(T) for e in rng.choice(E, k, replace=False)}) for _ in range(4000)
    ]
    assert experts_expected(E, k, T) == pytest.approx(np.mean(draws), rel=0.01)


def test_local_layers_stop_reading_more():
    short, long = (MIXED.decode(1, context, scores="on-chip") for context in (100, 1000))
    grown = long.elements_read.kv - short.elements_read.kv
    assert grown == 2 * 2 * 20 * (1000 - 100) * 2  # K and V of 2 heads of 20, in 2 global layers


def test_a_million_configurations_at_once():
    """What makes it fast: only what depends on both axes fills the grid."""
    batch, context = np.arange(1, 1001)[:, None], np.arange(1, 1001)[None, :]
    ledger = LLAMA.decode(batch, context)
    on_the_grid = {op.name for op in ledger if np.size(op.flops) > 1000}
    assert on_the_grid == {"scores", "softmax", "values"}
    flops, moved = ledger.flops, ledger.bytes()
    assert flops.shape == moved.shape == (1000, 1000)
    one = LLAMA.decode(700, 300)
    assert (flops[699, 299], moved[699, 299]) == (one.flops, one.bytes())


def test_counts_beyond_64_bits():
    big = Transformer(layers=1000, d_model=10**6, heads=1000, d_ff=10**7, vocab=10**6)
    exact = big.prefill(1000, 10**6).flops
    swept = big.prefill(np.array([1000]), np.array([10**6])).flops
    assert exact > 2**63
    assert swept[0] == pytest.approx(exact, rel=1e-12)
    assert big.prefill(np.array([1000], dtype=object), 10**6).flops[0] == exact


#: Whatever a model is or is not: a word would count as yes.
FLAGS = [each.name for each in fields(Transformer) if each.type == "bool"]


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"heads": 5}, "give head_dim"),
        ({"kv_heads": 3}, "kv_heads must divide heads"),
        ({"local_layers": 2}, "local_layers needs a window"),
        ({"window": 4, "local_layers": 9}, "layers - local_layers"),
        ({"activation": "tanh"}, "activation must be 'silu' or"),
        ({"biases": ("all",)}, "biases must be 'qkv' or"),
        ({"layers": 0}, "layers must be at least 1"),
        ({"norm": "batch"}, "norm must be"),
        ({"gated": None}, "gated must be True or False, got None"),
        *(({name: "no"}, f"{name} must be True or False") for name in FLAGS),
        ({"qk_norm": "all"}, "qk_norm must be"),
        *(
            ({name: value, "mla": LATENT.mla}, "mla cannot be combined with a window")
            for name, value in (("window", 4), ("qk_norm", "head"), ("biases", ("qkv",)))
        ),
    ],
)
def test_a_wrong_size_is_named(changes, complaint):
    with pytest.raises(ValueError, match=complaint):
        Transformer(**{"layers": 2, "d_model": 64, "heads": 4, "d_ff": 128, "vocab": 10} | changes)


def test_an_unknown_option_is_named():
    with pytest.raises(ValueError, match="logits must be 'all' or 'last', got 'none'"):
        LLAMA.prefill(1, 8, logits="none")
    with pytest.raises(ValueError, match="experts must be"):
        LLAMA.decode(1, 8, experts="some")
    with pytest.raises(ValueError, match="mla must be"):
        LLAMA.decode(1, 8, mla="fast")
    with pytest.raises(ValueError, match="experts - per_token"):
        MoE(experts=2, per_token=3, width=4)


def test_what_was_not_given_follows_a_change():
    derived = Transformer(layers=4, d_model=64, heads=4, d_ff=256, vocab=1000)
    wider = derived.with_(d_model=128, heads=16)
    assert (wider.kv_heads, wider.head_dim, wider.rotary_dim) == (16, 8, 8)
    assert derived.with_(window=8).local_layers == 4
    assert derived.with_(window=8).with_(layers=6).local_layers == 6
    given = Transformer(
        layers=4, d_model=64, heads=4, d_ff=256, vocab=1000, kv_heads=2, head_dim=20, rotary_dim=10
    )
    wider = given.with_(d_model=128, heads=16)
    assert (wider.kv_heads, wider.head_dim, wider.rotary_dim) == (2, 20, 10)
    assert given.with_(heads=8) == Transformer(
        layers=4, d_model=64, heads=8, d_ff=256, vocab=1000, kv_heads=2, head_dim=20, rotary_dim=10
    )


@pytest.mark.parametrize("form", ["naive", "absorbed"])
@pytest.mark.parametrize("name", ["scores", "softmax", "values", "o_proj"])
def test_ops_say_how_often_they_run(name, form):
    assert LATENT.decode(1, 5, mla=form)[name].count == 3
    assert LATENT.decode_steps(1, 5, 4, mla=form)[name].count == 3 * 4
    assert LATENT.generate(1, 5, 4, mla=form)[name].count == 3 * 4
    assert LLAMA.decode_steps(1, 5, 4)[name].count == 32 * 4


# A model with one of everything, its ops written out by hand: 2 sequences of 3 tokens, 6 layers.
# (with_() builds it anew inside the test: mutation testing sees only what a test itself runs.)
EVERYTHING = Transformer(
    layers=6,
    d_model=64,
    heads=4,
    d_ff=128,
    vocab=500,
    kv_heads=2,
    head_dim=20,
    rotary_dim=10,
    window=7,
    local_layers=4,
    norms=4,
    biases=("qkv", "o_proj", "ffn", "unembedding"),
    qk_norm="head",
    positions=50,
    sinks=True,
    embedding_norm=True,
)
TOKENS, RUNS = 6, 6 * 6  # tokens, and tokens times layers
BY_HAND = {  # name: FLOPs, weights read, activations read and written, cache written, times
    "embedding": (0, 6 * 64, 0, 6 * 64, 0, 1),
    "positions": (6 * 64, 6 * 64, 6 * 64, 6 * 64, 0, 1),
    "embedding_norm": (4 * 6 * 64, 64, 6 * 64, 6 * 64, 0, 1),
    "norms": (4 * 24 * 6 * 64, 24 * 64, 24 * 6 * 64, 24 * 6 * 64, 0, 24),
    "q_proj": (2 * 64 * 80 * RUNS, 6 * 64 * 80, 64 * RUNS, 80 * RUNS, 0, 6),
    "q_proj.bias": (80 * RUNS, 6 * 80, 0, 0, 0, 6),
    "k_proj": (2 * 64 * 40 * RUNS, 6 * 64 * 40, 64 * RUNS, 0, 40 * RUNS, 6),
    "k_proj.bias": (40 * RUNS, 6 * 40, 0, 0, 0, 6),
    "v_proj": (2 * 64 * 40 * RUNS, 6 * 64 * 40, 64 * RUNS, 0, 40 * RUNS, 6),
    "v_proj.bias": (40 * RUNS, 6 * 40, 0, 0, 0, 6),
    "qk_norm": (4 * 120 * RUNS, 6 * 2 * 20, 120 * RUNS, 120 * RUNS, 0, 6),
    "rotary": (3 * 60 * RUNS, 0, 60 * RUNS, 60 * RUNS, 0, 6),
    "sinks": (2 * 4 * RUNS, 6 * 4, 0, 0, 0, 6),
    "o_proj": (2 * 80 * 64 * RUNS, 6 * 80 * 64, 80 * RUNS, 64 * RUNS, 0, 6),
    "o_proj.bias": (64 * RUNS, 6 * 64, 0, 0, 0, 6),
    "ffn.gate": (2 * 64 * 128 * RUNS, 6 * 64 * 128, 64 * RUNS, 128 * RUNS, 0, 6),
    "ffn.gate.bias": (128 * RUNS, 6 * 128, 0, 0, 0, 6),
    "ffn.up": (2 * 64 * 128 * RUNS, 6 * 64 * 128, 64 * RUNS, 128 * RUNS, 0, 6),
    "ffn.up.bias": (128 * RUNS, 6 * 128, 0, 0, 0, 6),
    "ffn.activation": (5 * 128 * RUNS, 0, 2 * 128 * RUNS, 128 * RUNS, 0, 6),
    "ffn.down": (2 * 128 * 64 * RUNS, 6 * 128 * 64, 128 * RUNS, 64 * RUNS, 0, 6),
    "ffn.down.bias": (64 * RUNS, 6 * 64, 0, 0, 0, 6),
    "residual": (12 * 6 * 64, 0, 12 * 6 * 128, 12 * 6 * 64, 0, 12),
    "final_norm": (4 * 6 * 64, 64, 6 * 64, 6 * 64, 0, 1),
    "unembedding": (2 * 64 * 500 * 6, 64 * 500, 6 * 64, 6 * 500, 0, 1),
    "unembedding.bias": (500 * 6, 500, 0, 0, 0, 1),
}


def costs(op):
    read, written = op.elements_read, op.elements_written
    return op.flops, read.weights, read.activations, written.activations, written.kv, op.count


def test_every_op_by_hand():
    ledger = EVERYTHING.with_().prefill(2, 3)
    steps = ledger.where(lambda op: op.name not in ("scores", "softmax", "values"))
    assert {op.name: costs(op) for op in steps} == BY_HAND
    stored = sum(weights for name, (_, weights, *_) in BY_HAND.items() if name != "embedding")
    assert EVERYTHING.with_().params() == stored - 6 * 64 + (500 + 50) * 64
    assert EVERYTHING.with_().kv_elements_per_layer() == 2 * 2 * 20
    assert [op.name for op in steps if op.is_matmul] == [
        *("q_proj", "k_proj", "v_proj", "o_proj", "ffn.gate", "ffn.up", "ffn.down", "unembedding")
    ]


def test_every_gradient_by_hand():
    step = EVERYTHING.with_().training_step(2, 3)
    once = {"residual", "rotary"} | {name for name in BY_HAND if name.endswith(".bias")}
    for name, (flops, weights, into, out, cached, times) in BY_HAND.items():
        made = out + cached
        if f"{name}.grad_input" in step.names:
            assert costs(step[f"{name}.grad_input"].ops[0]) == (
                flops,
                weights,
                made,
                into,
                0,
                times,
            )
            gradient = step[f"{name}.grad_weights"].ops[0]
            assert costs(gradient) == (flops, 0, into + made, 0, 0, times)
            assert gradient.elements_written.weights == weights
            continue
        gradient = step[f"{name}.backward"].ops[0]
        factor = 1 if name in once else 2
        assert costs(gradient) == (factor * flops, weights, into + made, into, 0, times), name


def test_latent_steps_by_hand():
    """3 layers, 2 sequences of 3 tokens; kv_b_proj is part of attention."""
    ledger, runs = LATENT.with_().prefill(2, 3), 6 * 3
    expected = {
        "q_a_proj": (2 * 64 * 20 * runs, 3 * 64 * 20, 64 * runs, 20 * runs, 0, 3),
        "q_norm": (4 * 20 * runs, 3 * 20, 20 * runs, 20 * runs, 0, 3),
        "q_b_proj": (2 * 20 * 64 * runs, 3 * 20 * 64, 20 * runs, 64 * runs, 0, 3),
        "kv_a_proj": (2 * 64 * 28 * runs, 3 * 64 * 28, 64 * runs, 0, 28 * runs, 3),
        "kv_norm": (4 * 24 * runs, 3 * 24, 24 * runs, 24 * runs, 0, 3),
        "rotary": (3 * 5 * 4 * runs, 0, 5 * 4 * runs, 5 * 4 * runs, 0, 3),
        "o_proj": (2 * 40 * 64 * runs, 3 * 40 * 64, 40 * runs, 64 * runs, 0, 3),
    }
    for name, values in expected.items():
        assert costs(ledger[name].ops[0]) == values, name
    assert LATENT.with_().kv_elements_per_layer() == 24 + 4
    assert LATENT.with_().prefill(2, 3, mla="absorbed").names != ledger.names


def test_a_token_adds_to_a_layers_cache_what_the_layer_keeps():
    """Copied for each query head, or with values of another width; or the layers differ."""
    copied = Transformer.from_hf(
        {
            "model_type": "falcon",
            "hidden_size": 512,
            "num_attention_heads": 8,
            "num_kv_heads": 2,
            "num_hidden_layers": 2,
            "vocab_size": 100,
            "bias": False,
            "new_decoder_architecture": True,
            "alibi": False,
            "ffn_hidden_size": 2048,
        }
    )
    assert copied.kv_elements_per_layer() == 2 * 8 * 64
    with pytest.raises(ValueError, match="ask caches"):
        models["deepseek-v3.2"].kv_elements_per_layer()  # a latent, and an index key


def test_options_reach_every_part_of_a_pass():
    last = EVERYTHING.with_().decode(1, 5, 3, logits="last")
    assert last["unembedding"].flops == 2 * 64 * 500
    assert (
        EVERYTHING.with_().generate(1, 5, 3, scores="on-chip")["scores"].elements_written.scores
        == 0
    )
    computed = EVERYTHING.with_().training_step(1, 8, masked="computed")
    assert computed["scores"].flops == 2 * 20 * 4 * (2 * 64 + 4 * 8 * 8)
    again = EVERYTHING.with_().training_step(1, 8, recompute="selective")
    assert "scores.recomputed" in again.names
    assert EVERYTHING.with_().decode_steps(1, 5, 0).flops == 0
    assert MoE(experts=2, per_token=2, width=4).experts == 2


@pytest.mark.parametrize("name", ["positions", "rotary_dim", "local_layers", "norms"])
def test_sizes_that_may_be_zero_may_not_be_less(name):
    model = Transformer(layers=2, d_model=64, heads=4, d_ff=256, vocab=1000, window=5)
    assert getattr(model.with_(**{name: 0}), name) == 0
    with pytest.raises(ValueError, match=f"{name} must be at least 0"):
        model.with_(**{name: -1})


def test_expert_steps_by_hand():
    """5 layers, the first dense; 2 sequences of 3 tokens; 2 of 8 experts, and one all use."""
    plain = MoE(experts=8, per_token=2, width=48)
    moe = replace(plain, shared_width=32, shared_gate=True, dense_layers=1)
    model = Transformer(
        layers=5, d_model=64, heads=4, d_ff=128, vocab=500, biases=("router", "experts"), moe=moe
    )
    ledger, runs = model.prefill(2, 3, experts="all"), 6 * 4
    expected = {
        "ffn.up": (2 * 64 * 128 * 6, 64 * 128, 64 * 6, 128 * 6, 0, 1),
        "router": (2 * 64 * 8 * runs, 4 * 64 * 8, 64 * runs, 8 * runs, 0, 4),
        "router.bias": (8 * runs, 4 * 8, 0, 0, 0, 4),
        "router.softmax": (5 * 8 * runs, 0, 8 * runs, 8 * runs, 0, 4),
        "experts.up": (2 * 64 * 96 * runs, 4 * 8 * 64 * 48, 128 * runs, 96 * runs, 0, 4),
        "experts.up.bias": (96 * runs, 4 * 8 * 48, 0, 0, 0, 4),
        "experts.activation": (5 * 96 * runs, 0, 2 * 96 * runs, 96 * runs, 0, 4),
        "experts.combine": (2 * 128 * runs, 0, 128 * runs, 64 * runs, 0, 4),
        "shared.up": (2 * 64 * 32 * runs, 4 * 64 * 32, 64 * runs, 32 * runs, 0, 4),
        "shared_gate": (2 * 64 * runs, 4 * 64, 64 * runs, runs, 0, 4),
    }
    for name, values in expected.items():
        assert costs(ledger[name].ops[0]) == values, name
    assert "ffn.up.bias" not in ledger.names
    assert "shared.up.bias" not in ledger.names
    without = model.with_(moe=plain)
    assert not {"shared.up", "shared_gate", "ffn.up"} & set(without.prefill(1, 1).names)


def test_variants_by_hand():
    plain = Transformer(layers=6, d_model=64, heads=4, d_ff=128, vocab=500, kv_heads=2, head_dim=20)
    full = plain.with_(qk_norm="full").prefill(2, 3)["qk_norm"].ops[0]
    assert costs(full) == (4 * 120 * RUNS, 6 * 120, 120 * RUNS, 120 * RUNS, 0, 6)
    assert "final_norm" not in plain.with_(final_norm=False).prefill(1, 1).names
    assert "rotary" not in plain.with_(rotary_dim=0).prefill(1, 1).names
    assert plain.local_layers == 0
    ungated = plain.with_(gated=False, activation="relu").prefill(2, 3)
    assert costs(ungated["ffn.activation"].ops[0]) == (128 * RUNS, 0, 128 * RUNS, 128 * RUNS, 0, 6)
    assert "ffn.gate" not in ungated.names
    assert " ".join(plain.prefill(1, 1).names) == (
        "embedding norms q_proj k_proj v_proj rotary scores softmax values o_proj "
        "ffn.gate ffn.up ffn.activation ffn.down residual final_norm unembedding"
    )


def test_steps_one_by_one_skip_what_is_masked():
    steps = EVERYTHING.with_().decode_steps(1, 5, 3, masked="computed")
    assert steps.flops == sum(EVERYTHING.decode(1, 5 + step).flops for step in range(3))


def test_latent_names_and_gradients():
    one_step = LATENT.with_(mla=replace(LATENT.mla, q_rank=None))
    assert one_step.prefill(1, 1).names[2:5] == ("q_proj", "kv_a_proj", "kv_norm")
    step = LATENT.with_().training_step(2, 3)
    assert step["rotary.backward"].flops == step["rotary"].flops
    expand = step["kv_b_proj.grad_input"].flops
    assert expand == step["kv_b_proj.grad_weights"].flops == step["kv_b_proj"].flops


@pytest.mark.parametrize("name", ["shared_width", "dense_layers"])
def test_expert_sizes_may_be_zero_but_not_less(name):
    with pytest.raises(ValueError, match=f"{name} must be at least 0, got -1"):
        MoE(experts=4, per_token=2, width=8, **{name: -1})
