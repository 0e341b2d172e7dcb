"""What training holds, computes and costs: against published formulas and counts by other means."""

import json
from dataclasses import replace
from math import log, sqrt

import numpy as np
import pytest
import sympy
from examples import LLAMA_2_7B as LLAMA

from costlib import devices, models, symbols, training
from costlib.layers import Attention, Block, Mlp
from costlib.layers.parts import saved_elements
from costlib.model.transformer import MLA, MoE, Transformer
from costlib.units.precision import FORMATS
from paths import DATA

H100 = devices["H100-SXM"]
TINY = Transformer(layers=2, d_model=64, heads=4, d_ff=256, vocab=1000)
EXPERTS = TINY.with_(moe=MoE(experts=8, per_token=2, width=48, shared_width=32, dense_layers=1))
GPT_STYLE = {"gated": False, "norm": "layer_norm", "rotary_dim": 0}


def gpt(layers, width, heads, vocab):
    """A block as Korthikanti et al. have it: as many KV heads, an inner width of 4·h."""
    return Transformer(
        layers=layers, d_model=width, heads=heads, d_ff=4 * width, vocab=vocab, **GPT_STYLE
    )


# Recipes.


def test_bytes_of_a_parameter_in_the_recipes_that_papers_print():
    per = {name: recipe.per_parameter for name, recipe in training.RECIPES.items()}
    assert per["fp32"] == 4 + 4 + 8
    assert per["bf16"] == 16, "ZeRO (Rajbhandari et al. 2020, section 3.1): 2 + 2 + 12"
    # Megatron Core's page on its distributed optimizer: 20, 18 and 16
    assert (per["fp16-megatron"], per["bf16-fp32-grads"], per["fp32"]) == (20, 18, 16)
    assert per["bf16-pure"] == 8
    assert (per["sgd"], per["sgd-momentum"]) == (8, 12)
    # DeepSeek-V3 (section 3.3): master weights and gradients in fp32, moments in bf16
    assert per["fp8"] == (1 + 4 / 128**2) + 4 + 4 + 2 * 2


def test_moments_in_eight_bits_have_a_scale_for_each_block():
    block = 256 * 8 + 32  # bits of a block of one moment, and its scale
    assert training.RECIPES["adam-8bit"].moments == 2 * block / 256 / 8
    held = training.state_bytes(TINY, "adam-8bit")
    assert held.optimizer == TINY.params() * (4 + 2 + 2 * 4 / 256)


def test_matrices_and_others_by_hand():
    matrices = 2 * (4 * 64 * 64 + 3 * 64 * 256)
    others = 2 * 1000 * 64 + 2 * 2 * 64 + 64
    assert training.params_by_kind(TINY) == {"matrices": matrices, "others": others}
    held = training.state_bytes(TINY, "muon")
    assert held.optimizer == matrices * (4 + 4) + others * (4 + 8)
    fp8 = training.state_bytes(TINY, "fp8")
    assert fp8.weights == matrices * (1 + 4 / 128**2) + 2 * others


@pytest.mark.parametrize("name", ["llama-3-8b", "deepseek-v3", "mixtral-8x7b", "gpt2", "zamba2-7b"])
def test_kinds_add_up_to_the_parameters(name):
    if name not in models:
        pytest.skip("not in the catalogue")
    found = training.params_by_kind(models[name])
    assert sum(found.values()) == models[name].params()
    assert min(found.values()) > 0


def test_experts_are_matrices_and_routers_too():
    expected = 2 * 4 * 64 * 64 + 3 * 64 * 256 + 8 * 3 * 64 * 48 + 3 * 64 * 32 + 64 * 8
    assert training.params_by_kind(EXPERTS)["matrices"] == expected


def test_a_factored_moment_keeps_rows_and_columns():
    per_layer = 4 * (64 + 64) + 2 * (64 + 256) + (256 + 64)
    vectors = 2 * 2 * 64 + 64
    embeddings = 2 * (1000 + 64)
    held = training.state_bytes(TINY, "adafactor")
    assert held.optimizer == 4 * TINY.params() + 4 * (2 * per_layer + vectors + embeddings)
    tied = training.state_bytes(TINY.with_(tied=True), "adafactor").optimizer
    assert held.optimizer - tied == 4 * (64 * 1000) + 4 * (1000 + 64)
    experts = training.state_bytes(EXPERTS, "adafactor").optimizer - 4 * EXPERTS.params()
    routed = 8 * 3 * (64 + 48) + 3 * (64 + 32) + (64 + 8)
    dense = 4 * (64 + 64)
    assert experts == 4 * (per_layer + dense + routed + vectors + embeddings)


def test_a_recipe_is_a_name_or_a_recipe():
    assert training.recipe_of() is training.recipe_of("bf16") is training.RECIPES["bf16"]
    own = training.Recipe(weights=2, gradients=2)
    assert training.recipe_of(own) is own
    with pytest.raises(ValueError, match="recipe must be a Recipe or one of fp32, bf16"):
        training.recipe_of("adam")
    with pytest.raises(TypeError, match="recipe must be"):
        training.recipe_of(16)
    with pytest.raises(TypeError, match="master must be a number of bytes"):
        training.Recipe(weights=2, gradients=2, master="fp32")
    with pytest.raises(TypeError, match="gradients must be a number of bytes, got None"):
        training.Recipe(weights=2, gradients=None)
    with pytest.raises(ValueError, match="gradients must be at least 0 bytes, got nan"):
        training.Recipe(weights=2, gradients=float("nan"))
    with pytest.raises(ValueError, match="kind must be 'inputs' or 'activations'"):
        own.bytes_of("masks")


def test_adapters_by_hand():
    recipe = training.lora(8, ("q_proj", "ffn.down"))
    own = 2 * 8 * ((64 + 64) + (256 + 64))
    assert training.adapter_params(TINY, recipe) == own
    assert training.adapter_params(TINY, "bf16") == 0
    held = training.state_bytes(TINY, recipe)
    assert held.weights == 2 * TINY.params() + 4 * own
    assert (held.gradients, held.optimizer) == (4 * own, 8 * own)
    assert training.checkpoint_bytes(TINY, recipe) == 12 * own
    with pytest.raises(ValueError, match="targets has no product 'query'"):
        training.state_bytes(TINY, training.lora(8, ("query",)))
    with pytest.raises(TypeError, match="targets must be a tuple"):
        training.lora(8, "q_proj")
    with pytest.raises(ValueError, match="base must be one of"):
        training.lora(8, base="bf8")


def test_llama_7b_has_the_adapters_that_peft_prints():
    """peft prints 4,194,304 trainable parameters for rank 8 on q_proj and v_proj."""
    assert training.adapter_params(models["llama-2-7b"], training.lora(8)) == 4_194_304


def test_targets_may_have_the_names_of_checkpoints():
    """peft prints 19,988,480 trainable parameters for rank 8 on all linear layers of Llama 2 7B."""
    llama = models["llama-2-7b"]
    names = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")
    ours = (*names[:4], "ffn.gate", "ffn.up", "ffn.down")
    for targets in ("all-linear", ("all-linear",), names, ours):
        recipe = training.lora(8, targets)
        assert training.adapter_params(llama, recipe) == 19_988_480
        assert training.adapter_step(llama, 1, 64, recipe) == training.adapter_step(
            llama, 1, 64, training.lora(8, ours)
        )
        held = training.training_memory(llama, 1, 64, recipe)
        assert held == training.training_memory(llama, 1, 64, training.lora(8, ours))
    mixture = models["deepseek-v3"]
    down = training.lora(8, ("ffn.down", "experts.down", "shared.down"))
    assert training.adapter_params(
        mixture, training.lora(8, ("down_proj",))
    ) == training.adapter_params(mixture, down)
    with pytest.raises(ValueError, match="'qkv_proj', whose parts are q_proj, k_proj, v_proj here"):
        training.adapter_params(llama, training.lora(8, ("qkv_proj",)))


def test_frozen_weights_in_nf4_and_their_scales_quantised_again():
    per = 0.5 + 1 / 64 + 4 / (64 * 256)  # 4 bits, a scale of 8 bits for 64, one of 32 for 256
    assert FORMATS["nf4"] == pytest.approx(per, abs=0)
    found = training.params_by_kind(LLAMA)
    held = training.state_bytes(LLAMA, training.lora(8, base="nf4"))
    own = training.adapter_params(LLAMA, training.lora(8))
    assert held.weights == pytest.approx(per * found["matrices"] + 2 * found["others"] + 4 * own)


def test_adapters_in_experts_and_latents_are_counted():
    rank = 4
    recipe = training.lora(rank, ("experts.up",))
    assert training.adapter_params(EXPERTS, recipe) == rank * 8 * (64 + 48)
    latent = models["deepseek-v3"]
    assert training.adapter_params(latent, training.lora(1, ("kv_b_proj",))) == 61 * (
        512 + 128 * (128 + 128)
    )


def test_a_checkpoint_to_go_on_from_is_fourteen_bytes_a_parameter():
    """BLOOM's README: a checkpoint of 2.3 TB with the optimizer's states, 329 GB of weights."""
    assert training.checkpoint_bytes(LLAMA) == 14 * LLAMA.params()
    bloom = gpt(70, 14336, 112, 250880).with_(tied=True)
    assert training.checkpoint_bytes(bloom) / 2**40 == pytest.approx(2.3, rel=0.03)
    assert training.checkpoint_bytes(bloom, resume=False) / 2**30 == pytest.approx(329, rel=0.005)


# Activations.

S, B, H, A, V, LAYERS, T = symbols("s b h a v L t")
PER_SCORE = 5 * A * S**2 * B


def korthikanti(**how):
    width = Transformer(
        layers=LAYERS, d_model=H, heads=A, d_ff=4 * H, vocab=V, head_dim=H / A, **GPT_STYLE
    )
    how = {"scores": "materialised", "dropout": True, **how}
    return training.activations(width, B, S, **how)


@pytest.mark.parametrize(
    ("how", "expected"),
    [
        ({}, S * B * H * (34 + 5 * A * S / H)),
        ({"tensor": T}, S * B * H * (10 + 24 / T + 5 * A * S / (H * T))),
        ({"tensor": T, "sequence": True}, S * B * H / T * (34 + 5 * A * S / H)),
        ({"recompute": "selective"}, 34 * S * B * H),
        ({"tensor": T, "recompute": "selective"}, S * B * H * (10 + 24 / T)),
        ({"tensor": T, "sequence": True, "recompute": "selective"}, 34 * S * B * H / T),
        ({"recompute": "full"}, 2 * S * B * H),
    ],
    ids=str,
)
def test_a_layer_is_korthikanti_et_al_to_the_byte(how, expected):
    """Their table 2, as formulas in s, b, h, a and t."""
    assert sympy.expand(korthikanti(**how).of_layers() / LAYERS - expected) == 0


def test_outside_the_layers_is_korthikanti_et_al_too():
    """Their section 4.3: s·b·h·L/t·(p/L + (4/L)·(1 + v/h)) for one stage, p = 1."""
    outside = korthikanti(tensor=T, sequence=True).outside()
    expected = S * B * H * LAYERS / T * (1 / LAYERS + 4 / LAYERS * (1 + V / H))
    assert sympy.expand(outside - expected) == 0


def test_numbers_of_gpt_3_and_the_largest_models_of_the_paper():
    """Figure 1 and table 2 are such numbers: 175B at t = 8 needs 2.73 GB a layer and microbatch."""
    big = gpt(96, 12288, 96, 51200)
    held = training.activations(big, 1, 2048, scores="materialised", dropout=True)
    assert held.of_layers() == 96 * 2048 * (34 * 12288 + 5 * 96 * 2048)
    assert 5 * 96 * 2048 / 12288 == 80, "the paper: 5as/h is 80 for GPT-3"
    half = gpt(105, 20480, 128, 51200)
    assert 5 * half.heads * 2048 / half.d_model == 64, "and 64 for MT-NLG"


def test_a_modern_block_by_hand():
    tokens = 2 * 128
    held = training.activations(LLAMA, 2, 128)
    D, F = 4096, 11008
    per = 4 * D + 4 * D + 3 * F
    assert held.of_layers() == 32 * tokens * (2 * per + 4 * 32)  # 32 heads leave a statistic each
    assert held.outside() == tokens * (2 * 2 * D + 4 * 32000)
    eager = training.activations(LLAMA, 2, 128, fused=False)
    assert eager.of_layers() - held.of_layers() == 32 * tokens * 2 * F
    matrix = training.activations(LLAMA, 2, 128, scores="materialised").of_layers()
    assert matrix == 32 * (tokens * 2 * per + 2 * 32 * 128 * 128 * 2)


def test_full_recomputation_holds_inputs_and_one_layer():
    tokens = 2 * 128
    held = training.activations(LLAMA, 2, 128, recompute="full")
    assert held.of_layers() == 32 * tokens * 4096 * 2
    one = training.activations(LLAMA.with_(layers=1), 2, 128)
    assert held.again() == one.of_layers()
    assert held.bytes() == held.of_layers() + held.outside() + held.again()
    again = training.activations(LLAMA, 2, 128, recompute="selective", scores="materialised")
    assert again.again() == 2 * 32 * 128 * 128 * 2, "one layer's scores"
    assert training.activations(LLAMA, 2, 128, recompute="selective").again() == 0, (
        "the kernel does it"
    )


def test_kv_heads_are_divided_at_most_as_often_as_there_are():
    model = LLAMA.with_(kv_heads=8)
    one, many = (training.activations(model, 1, 64, tensor=t) for t in (8, 32))
    rows = [{row.name: row.elements for row in held.rows} for held in (one, many)]
    assert rows[0]["keys"] == rows[1]["keys"] == 32 * 64 * 128
    assert rows[0]["queries"] == 4 * rows[1]["queries"]


def saved(model):
    """Elements per token that the backward pass of all layers needs, scores aside."""
    return sum(block.layers * saved_elements(block.saved(model.d_model)) for block in model.blocks)


def test_experts_latents_and_normed_heads():
    D, F = 64, 48
    moe = MoE(experts=8, per_token=2, width=F, shared_width=32, dense_layers=1)
    dense = 4 * D + 4 * D + 3 * 128
    sparse = 4 * D + 4 * D + 2 * (3 * F + 2 * D) + 3 * 32
    model = Transformer(layers=3, d_model=D, heads=4, d_ff=128, vocab=500, moe=moe)
    assert saved(model) == dense + 2 * sparse
    latent = MLA(kv_rank=24, nope_dim=12, rope_dim=4, value_dim=10, q_rank=20)
    sizes = {"layers": 1, "d_model": D, "heads": 4, "d_ff": 128, "vocab": 500}
    of_heads = 2 * 4 * (12 + 4 + 10)
    normed = 2 * (24 + 20) + 4
    assert saved(Transformer(**sizes, mla=latent)) == dense - 4 * D + normed + of_heads
    without = Transformer(**sizes, mla=replace(latent, q_rank=None))
    assert saved(without) == 4 * D + 2 * 24 + 4 + of_heads + 3 * 128
    normed = Transformer(**sizes, qk_norm="head", gated=False)
    assert saved(normed) == 4 * D + 4 * D + 2 * D + 2 * 128


def test_saved_activations_by_hand():
    plain = Transformer(layers=2, d_model=64, heads=4, d_ff=256, vocab=1000, head_dim=10)
    # two norms' inputs, what they feed to two steps, Q, K, V and o_proj's input, three inner ones
    assert saved(plain) == 2 * (4 * 64 + 4 * 40 + 3 * 256)
    assert saved(plain.with_(parallel=True)) == 2 * (3 * 64 + 4 * 40 + 3 * 256)
    assert saved(plain.with_(gated=False)) == 2 * (4 * 64 + 4 * 40 + 2 * 256)


SAVED = json.loads((DATA / "saved_tensors.json").read_text())["rows"]


def small_model(sizes):
    """The model of one layer whose block torch ran."""
    named = {name: sizes[name] for name in ("d_model", "heads", "d_ff")}
    named |= {"layers": 1, "vocab": 10}
    if sizes["kind"] == "latent":
        ranks = {"kv_rank": sizes["kv_rank"], "q_rank": sizes["q_rank"]}
        dims = {f"{name}_dim": sizes[name] for name in ("nope", "rope", "value")}
        return Transformer(**named, mla=MLA(**ranks, **dims))
    if sizes["kind"] == "mixture":
        chosen = {name: sizes[name] for name in ("experts", "per_token")}
        named["moe"] = MoE(**chosen, width=sizes["d_ff"])
    style = GPT_STYLE if sizes["kind"] == "gpt" else {}
    return Transformer(**named, **style, kv_heads=sizes["kv_heads"])


def not_counted(sizes):
    """Bytes a token of what torch keeps and the library leaves out, each by its name."""
    if sizes.get("recompute") == "full":
        return {}
    norms = {"gpt": 2 * 2 * 2, "latent": 4 * 4}  # two layer norms in bf16; four with latents
    named = {"statistics of norms": norms.get(sizes["kind"], 2 * 4)}
    if sizes["kind"] == "mixture":
        named["chances of all experts"] = 2 * sizes["experts"]
        named["weights of the chosen ones"] = 2 * sizes["per_token"]
        named["indices: chosen, their order, where from, and back"] = 4 * 8 * sizes["per_token"]
    return named


@pytest.mark.parametrize("name", SAVED)
def test_a_block_keeps_what_autograd_keeps_and_what_it_does_not_has_a_name(name):
    sizes, tokens = (
        SAVED[name]["sizes"],
        SAVED[name]["sizes"]["batch"] * SAVED[name]["sizes"]["seq"],
    )
    how = {"scores": sizes.get("scores", "materialised"), "recompute": sizes.get("recompute")}
    how |= {"dropout": sizes["kind"] == "gpt", "fused": False}
    if "rank" in sizes:
        named = {"q": "q_proj", "k": "k_proj", "v": "v_proj", "o": "o_proj", "up": "ffn.up"}
        targets = tuple(named[name] for name in sizes["targets"])
        how["adapters"] = training.lora(sizes["rank"], targets).adapters
    held = training.activations(small_model(sizes), sizes["batch"], sizes["seq"], **how).of_layers()
    assert held + tokens * sum(not_counted(sizes).values()) == SAVED[name]["bytes"]
    assert held == pytest.approx(SAVED[name]["bytes"], rel=0.016 if "mixture" in name else 0.003)


def test_layers_that_differ_are_told_apart_when_one_is_run_again():
    attention = Attention(heads=4, head_dim=16)
    blocks = [Block(layers=2, parts=(attention, Mlp(width=width))) for width in (64, 512)]
    model = Transformer(d_model=64, vocab=100, blocks=tuple(blocks))
    wide = Transformer(d_model=64, vocab=100, blocks=(replace(blocks[1], layers=1),))
    held = training.activations(model, 1, 8, recompute="full")
    assert held.again() == training.activations(wide, 1, 8).of_layers()


@pytest.mark.parametrize("name", sorted(models))
def test_every_model_of_the_catalogue_can_be_trained_in_every_recipe(name):
    model = models[name]
    encoded = {"encoded": 8} if any(b.parts and _reads(b) for b in model.blocks) else {}
    for recompute in (None, "selective", "full"):
        held = training.training_memory(model, 1, 64, recompute=recompute, **encoded)
        assert held.activations > 0
    for recipe in training.RECIPES:
        assert training.state_bytes(model, recipe).total > 0
    assert sum(training.params_by_kind(model).values()) == model.params()


def _reads(block):
    return any(part.encoder_layers or getattr(part, "cross", False) for part in block.parts)


def test_training_memory_adds_up():
    held = training.training_memory(LLAMA, 1, 128)
    assert held.weights + held.gradients + held.optimizer == 16 * LLAMA.params()
    assert held.activations == training.activations(LLAMA, 1, 128).bytes()
    fp8 = training.training_memory(LLAMA, 1, 128, "fp8").activations
    inputs = 32 * 128 * (2 * 4096 + 4096 + 11008) + 128 * 4096
    assert held.activations - fp8 == pytest.approx(inputs * (2 - (1 + 4 / 128)), rel=1e-12)
    for wrong in ({"recompute": "none"}, {"scores": "somewhere"}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            training.training_memory(LLAMA, 1, 1, **wrong)


# FLOPs.


def test_megatrons_formula_is_the_ledger_with_masked_pairs():
    for layers, h, a, v, s in [(2, 64, 4, 1000, 16), (96, 12288, 96, 51200, 2048)]:
        each = gpt(layers, h, a, v)
        ledger = training.flops_per_token(each, s, "ledger-full")
        assert training.flops_per_token(each, s, "megatron") == pytest.approx(ledger, rel=1e-14)
        step = each.training_step(1, s, scores="materialised", masked="computed", recompute="full")
        assert training.flops_per_token(each, s, "megatron-again") == pytest.approx(
            step.matmul_flops / s, rel=1e-14
        )


def test_six_n_and_palms_term():
    for name, seq in [("llama-2-7b", 4096), ("gpt2-xl", 1024), ("mixtral-8x7b", 4096)]:
        model = models[name]
        six = training.flops_per_token(model, seq, "6N")
        assert six == 6 * model.active_params()
        palm = training.flops_per_token(model, seq, "palm")
        assert palm - six == 12 * model.layers * model.heads * model.head_dim * seq
        # what 6N counts and no product does: embeddings that are looked up, norms, biases
        full = training.flops_per_token(model, seq, "ledger-full")
        looked_up = 0 if model.tied else model.vocab * model.d_model
        small = model.active_params() - params_of_products(model) - looked_up
        assert palm - full == pytest.approx(6 * (looked_up + small), rel=1e-9)
        assert small < 0.01 * model.params()


def params_of_products(model):
    """Weights that a token is multiplied with, the unembedding's among them."""
    return sum(step.flops for step in model.steps() if step.is_matmul) // 2


def test_a_causal_mask_leaves_half_of_attention():
    model, seq = models["llama-2-7b"], 4096
    full, causal = (training.flops_per_token(model, seq, c) for c in ("ledger-full", "ledger"))
    core = 12 * model.layers * model.heads * model.head_dim * seq
    assert full - causal == pytest.approx(core * (1 - (seq + 1) / (2 * seq)))


def test_conventions_are_named():
    assert {"ledger", "ledger-full", "6N", "palm", "megatron", "megatron-again"} == {
        *training.CONVENTIONS
    }
    with pytest.raises(ValueError, match="convention must be 'ledger'"):
        training.flops_per_token(TINY, 8, "8N")
    for each in ("palm", "megatron"):
        with pytest.raises(ValueError, match=r"layers of this model differ.*'ledger'"):
            training.flops_per_token(_mixed(), 8, each)


def _mixed():
    parts = [(Attention(heads=h, head_dim=16), Mlp(width=64)) for h in (2, 4)]
    return Transformer(
        d_model=64, vocab=100, blocks=tuple(Block(layers=1, parts=each) for each in parts)
    )


def test_mfu_by_hand_and_without_sparse_peaks():
    a100 = devices["A100-80GB"]
    model, tokens = models["llama-2-7b"], 3000
    by_hand = tokens * 6 * model.params() / 312e12
    assert training.mfu(model, a100, tokens_per_s=tokens, seq=4096, convention="6N") == by_hand
    eight = training.mfu(model, a100, tokens_per_s=8 * tokens, seq=4096, convention="6N", devices=8)
    assert eight == pytest.approx(by_hand)
    for name in ("A100-80GB", "H100-SXM"):
        device = devices[name]
        dense = device.flops_per_s["bf16"]
        training.mfu(model, device, tokens_per_s=1, seq=8, peak=dense)
        with pytest.raises(ValueError, match="rate for sparse matrices"):
            training.mfu(model, device, tokens_per_s=1, seq=8, peak=2 * dense)
    h100 = devices["H100-SXM"]
    halves = [training.mfu(model, h100, tokens_per_s=1, seq=8, compute=c) for c in ("bf16", "fp8")]
    assert halves[0] == pytest.approx(2 * halves[1], rel=1e-3)
    slowed = a100.with_(compute_efficiency=0.5)
    assert training.mfu(model, slowed, tokens_per_s=1, seq=8) == training.mfu(
        model, a100, tokens_per_s=1, seq=8
    )


def test_hfu_from_mfu_under_each_policy():
    model, seq = gpt(96, 12288, 96, 51200), 2048
    h, s, layers, v = 12288, 2048, 96, 51200
    needed = 72 * layers * h**2 * (1 + s / (6 * h) + v / (12 * h * layers))
    selective = needed + 4 * layers * h * s  # their equation 9: 72·(1 + s/3h) in place of s/6h
    ratios = [
        training.hfu_over_mfu(model, seq, recompute=p, masked="computed")
        for p in ("selective", None)
    ]
    assert ratios == pytest.approx([selective / needed, 1])
    assert 72 * layers * h**2 * (1 + s / (6 * h)) + 4 * layers * h * s == pytest.approx(
        72 * layers * h**2 * (1 + s / (6 * h) + s / (18 * h))
    )
    full = training.hfu_over_mfu(model, seq, recompute="full")
    assert full < 4 / 3
    deep = gpt(9600, 12288, 96, 51200)
    assert full < training.hfu_over_mfu(deep, seq, recompute="full") < 4 / 3
    assert training.hfu_over_mfu(deep, seq, recompute="full") == pytest.approx(4 / 3, rel=1e-4)
    kernel = training.hfu_over_mfu(model, seq, scores="on-chip")
    assert 1 < kernel < training.hfu_over_mfu(model, seq, recompute="selective")


def test_a_step_of_adapters_by_hand():
    batch, seq, rank = 2, 16, 4
    targets = ("q_proj", "ffn.down")
    step = training.adapter_step(
        TINY, batch, seq, training.lora(rank, targets), scores="materialised"
    )
    tokens, d, f, v = batch * seq, 64, 256, 1000
    weights = 2 * (4 * d * d + 3 * d * f) + d * v
    core = 3 * 2 * 2 * (2 * batch * d * seq * (seq + 1) // 2)
    first = 3 * d * d  # q, k and v of the first layer need no gradient of their inputs
    frozen = 2 * tokens * (2 * weights - first)
    own = rank * 2 * ((d + d) + (f + d))
    lowest = rank * d  # nor does the first layer's A beside q_proj
    assert step.matmul_flops == frozen + core + 2 * tokens * (3 * own - lowest)


def test_low_rank_training_costs_about_four_n():
    model, seq = models["llama-3-8b"], 512
    step = training.adapter_step(model, 1, seq, training.lora(8))
    whole = model.training_step(1, seq)
    per = step.matmul_flops / seq / (model.params() - model.vocab * model.d_model)
    assert 4 < per < 4.15
    assert 6 < whole.matmul_flops / seq / (model.params() - model.vocab * model.d_model) < 6.25
    with pytest.raises(ValueError, match="recipe has no adapters"):
        training.adapter_step(model, 1, 8, training.RECIPES["bf16"])


# Runs.


def test_a_run_by_hand():
    model, device = models["llama-2-7b"], devices["A100-80GB"]
    run = training.TrainingRun(
        model=model, tokens=2e12, device=device, devices=512, mfu=0.4, seq=4096, convention="6N"
    )
    seconds = 6 * model.params() * 2e12 / (512 * 312e12 * 0.4)
    assert run.seconds == pytest.approx(seconds)
    assert run.days == pytest.approx(seconds / 86400)
    assert run.device_hours == pytest.approx(seconds * 512 / 3600)
    assert run.energy_kwh(watts=400, overhead=1.1) == pytest.approx(run.device_hours * 0.44)
    assert run.dollars(per_device_hour=2) == pytest.approx(2 * run.device_hours)
    assert run.with_(goodput=0.5).days == pytest.approx(2 * run.days)
    assert run.with_(devices=1024).device_hours == pytest.approx(run.device_hours)
    again = training.TrainingRun.measured(
        model, device, tokens=2e12, device_hours=run.device_hours, seq=4096, convention="6N"
    )
    assert again.mfu == pytest.approx(0.4)
    for wrong in ({"mfu": 0}, {"mfu": 1.2}, {"goodput": -1}, {"devices": 0}, {"tokens": 0}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            run.with_(**wrong)
    for wrong in ({"seq": 0}, {"convention": "6P"}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            run.with_(**wrong)
    with pytest.raises(ValueError, match="device_hours must be more than 0"):
        training.TrainingRun.measured(model, device, tokens=2e12, device_hours=0, seq=4096)
    with pytest.raises(ValueError, match="overhead must be at least 1"):
        run.energy_kwh(watts=400, overhead=0.9)
    with pytest.raises(ValueError, match="per_device_hour must be at least 0"):
        run.dollars(per_device_hour=-2)
    with pytest.raises(TypeError, match="mfu must be a share"):
        run.with_(mfu="40%")


def test_a_run_is_swept_and_written_as_a_formula():
    D, P = symbols("D P")
    run = training.TrainingRun(
        model=TINY, tokens=D, device=devices["A100-80GB"], devices=P, mfu=0.5, seq=16
    )
    assert run.seconds.free_symbols == {D, P}
    value = run.seconds.subs({D: 10**9, P: 4})
    plain = run.with_(tokens=10**9, devices=4)
    assert float(value) == pytest.approx(plain.seconds)
    swept = plain.with_(mfu=np.array([0.25, 0.5])).days
    assert swept[0] == pytest.approx(2 * swept[1])


# Failures.


def simulated(work, write, between, restart, stretches, seed):
    """Share of time that is work, by drawing when failures come."""
    draw = np.random.default_rng(seed)
    clock = 0.0
    for _ in range(stretches):
        while True:
            lives = draw.exponential(between)
            if lives >= work + write:
                clock += work + write
                break
            clock += lives
            while (again := draw.exponential(between)) < restart:
                clock += again
            clock += restart
    return stretches * work / clock


@pytest.mark.parametrize(("work", "restart"), [(20, 0), (20, 5), (80, 10)])
def test_goodput_is_what_a_simulation_finds(work, restart):
    found = simulated(work, 2, 100, restart, 20_000, seed=1)
    assert training.goodput(work, 2, 100, restart) == pytest.approx(found, rel=0.01)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: training.young(-2, 100), "write must be at least 0"),
        (lambda: training.young(2, 0), "between must be more than 0"),
        (lambda: training.daly(200, 100), "twice the time between failures, 200, got 200"),
        (lambda: training.goodput(-5, 2, 100), "work must be more than 0"),
        (lambda: training.goodput(5, 2, np.array([100, -1])), "between must be more than 0"),
        (lambda: training.goodput(5, 2, 100, restart=-1), "restart must be at least 0"),
        (lambda: training.likely_failures(5, 100, 0), "hours_between must be more than 0"),
        (
            lambda: training.mfu(LLAMA, H100, tokens_per_s=5e4, seq=8),
            "MFU would be 2, and is at most 1",
        ),
        (
            lambda: training.mfu(LLAMA, H100, tokens_per_s=np.array([1, 5e4]), seq=8),
            "MFU would be 2, and",
        ),
        (
            lambda: training.mfu(TINY, H100, tokens_per_s=-1, seq=8),
            "tokens_per_s must be at least 0",
        ),
        (
            lambda: training.mfu(TINY, H100, tokens_per_s=1, seq=8, devices=0),
            "devices must be at least 1",
        ),
        (
            lambda: training.mfu(TINY, H100, tokens_per_s=1, seq=8, peak=0),
            "peak must be more than 0",
        ),
        (lambda: training.optimum(1e20, served=1e20), "leave nothing of flops=1e\\+20"),
        (lambda: training.optimum(float("inf")), "flops must be more than 0 and finite"),
        (lambda: training.FITS["hoffmann"].best(-1), "flops must be more than 0"),
        (lambda: training.FITS["hoffmann"].loss(0, 1), "params must be more than 0"),
    ],
)
def test_what_cannot_be_is_refused_by_name(call, said):
    with pytest.raises(ValueError, match=said):
        call()


def test_what_is_no_number_is_refused_by_name():
    with pytest.raises(TypeError, match="write must be a number, got '2'"):
        training.young("2", 100)
    with pytest.raises(TypeError, match="train must be a function"):
        training.optimum(1e20, train=6)
    with pytest.raises(TypeError, match=r"adapters must be a recipe's, as lora\(16\).adapters"):
        training.activations(TINY, 1, 8, adapters=training.lora(4))


def test_goodput_of_a_hopeless_machine_is_nothing_and_no_overflow():
    assert training.goodput(1e6, 2, 100) == 0


def test_the_best_interval_is_where_young_and_daly_say():
    for write in (0.01, 0.5, 5):
        between = 100
        candidates = np.linspace(0.2, 3, 2001) * training.young(write, between)
        best = candidates[np.argmax(training.goodput(candidates, write, between, restart=3))]
        assert training.daly(write, between) == pytest.approx(best, rel=0.01)
        assert training.young(write, between) == pytest.approx(
            best, rel=1.5 * sqrt(write / between)
        )
    assert training.young(2, 100) == 20
    assert training.daly(2, 100) == pytest.approx(20 * (1 + 0.1 / 3 + 0.01 / 9) - 2)
    assert (
        training.goodput(20, 2, 100)
        == training.goodput(20, 2, 100, 0)
        > training.goodput(20, 2, 100, 1)
    )
    assert training.likely_failures(100, 10, 50) == 20


# Budgets.


def test_the_closed_form_is_the_optimum():
    for name, fit in training.FITS.items():
        for flops in (1e19, 5.76e23, 1e26):
            size, tokens = fit.best(flops)
            assert 6 * size * tokens == pytest.approx(flops)
            best = fit.loss(size, tokens)
            for factor in (0.9, 1.1):
                assert fit.loss(size * factor, tokens / factor) > best
            found = training.optimum(flops, name)
            assert found.params == pytest.approx(size, rel=1e-3)
            assert found.loss == pytest.approx(best)


def test_published_constants_say_what_their_papers_say():
    """Hoffmann et al., section 3.3: a = 0.46, b = 0.54; Besiroglu et al.: a = 0.513, b = 0.487."""
    for name, a in (("hoffmann", 0.457), ("besiroglu", 0.513)):
        fit = training.FITS[name]
        power = log(fit.best(1e24)[0] / fit.best(1e21)[0]) / log(1e3)
        assert power == pytest.approx(a, abs=0.001)
    # their table 3: for the budget of Gopher the third approach says 40B parameters
    assert training.FITS["hoffmann"].best(5.76e23)[0] == pytest.approx(40e9, rel=0.02)


def test_constants_of_the_fits_are_the_printed_ones():
    """Besiroglu et al., table 1: their estimates beside those of Hoffmann et al."""
    told = {"hoffmann": (1.6934, 406.4, 410.7, 0.3392, 0.2849)}
    told["besiroglu"] = (1.8172, 482.01, 2085.43, 0.3478, 0.3658)
    for name, values in told.items():
        fit = training.FITS[name]
        assert (fit.floor, fit.of_size, fit.of_tokens, fit.size_power, fit.token_power) == values
    assert training.optimum(1e22) == training.optimum(1e22, served=0)


def test_an_optimum_with_another_count_of_flops():
    half = training.optimum(1e22, train=lambda n: 3 * n)
    assert half.params == pytest.approx(training.FITS["besiroglu"].best(2e22)[0], rel=1e-3)
    served = training.optimum(1e22, served=1e13)
    assert served.params < training.optimum(1e22).params
    assert 6 * served.params * served.tokens + 2 * served.params * 1e13 == pytest.approx(1e22)
    for wrong in ({"flops": 0}, {"flops": 1e20, "served": -1}):
        with pytest.raises(ValueError, match="must be"):
            training.optimum(**wrong)
