"""Many devices: shares add up to the whole, and messages follow a ring played out."""

import pytest

import sampling
from costlib import Precision, models, parallel
from costlib.model.transformer import MoE, Transformer
from costlib.parallel.model_parallel import degrees

LLAMA = Transformer(layers=32, d_model=4096, heads=32, d_ff=14336, vocab=128256, kv_heads=8)
DIVIDED = ("q_proj", "o_proj", "ffn.gate", "ffn.up", "ffn.down", "unembedding", "scores", "values")


@pytest.mark.parametrize("devices", [2, 4, 8])
def test_matmuls_are_divided_and_not_squared(devices):
    whole = LLAMA.prefill(2, 64)
    share = parallel.tensor_parallel(LLAMA, devices).prefill(2, 64)
    for name in (*DIVIDED, "k_proj", "v_proj"):
        assert share[name].flops * devices == whole[name].flops, name
    assert share["norms"].flops == whole["norms"].flops
    assert share["residual"].elements == whole["residual"].elements


def test_few_kv_heads_are_replicated():
    share = parallel.tensor_parallel(LLAMA, 16)
    assert share.kv_heads == 1
    assert share.kv_bytes(1, 100) * 8 == LLAMA.kv_bytes(1, 100)  # eighths, though 16 devices
    assert share.decode(1, 99)["q_proj"].flops * 16 == LLAMA.decode(1, 99)["q_proj"].flops
    assert share.decode(1, 99)["k_proj"].flops * 8 == LLAMA.decode(1, 99)["k_proj"].flops


def test_experts_are_divided_by_width():
    moe = MoE(experts=8, per_token=2, width=512, shared_width=64)
    model = Transformer(layers=2, d_model=256, heads=8, d_ff=512, vocab=1000, moe=moe)
    whole, share = model.prefill(1, 8), parallel.tensor_parallel(model, 4).prefill(1, 8)
    assert share["experts.up"].flops * 4 == whole["experts.up"].flops
    assert share["shared.up"].flops * 4 == whole["shared.up"].flops
    assert share["router"].flops == whole["router"].flops


def test_two_all_reduces_a_layer():
    messages = parallel.tensor_parallel(LLAMA, 8).prefill(4, 16).over("tensor")
    assert messages.count == 64
    assert messages.sends == 64 * 2 * 7 * (4 * 16 * 4096 // 8)
    assert messages.bytes_sent() == 2 * messages.sends
    training = parallel.tensor_parallel(LLAMA, 8).training_step(4, 16, recompute="full")
    assert training.over("tensor").count == 3 * 64  # the sums of what is computed again, again
    assert (
        parallel.tensor_parallel(LLAMA.with_(parallel=True), 8).prefill(4, 16).over("tensor").count
        == 32
    )
    assert parallel.tensor_parallel(LLAMA, 1).prefill(4, 16).over("tensor").ops == ()
    steps = parallel.tensor_parallel(LLAMA, 8).generate(4, 16, 3).over("tensor")
    assert (steps.count, steps.sends) == (3 * 64, 64 * 2 * 7 * (4 * (16 + 2) * 4096 // 8))


def test_memory_is_divided_by_layers_and_by_heads():
    whole, by_tensor = LLAMA.memory(8, 999), parallel.tensor_parallel(LLAMA, 8).memory(8, 999)
    stages = [stage.memory(8, 999) for stage, _ in parallel.stage_models(LLAMA, 4)]
    assert by_tensor.kv * 8 == stages[0].kv * 4 == whole.kv
    norms = LLAMA.layers * 2 * 4096 + 4096  # every device has all of them
    assert (by_tensor.weights // 2 - norms) * 8 == whole.weights // 2 - norms
    table = 128256 * 4096
    inside = whole.weights // 2 - 2 * table - 4096
    ends = [table, 0, table + 4096]
    assert [each.weights // 2 - inside // 4 for each in stages] == ends


def test_zero_divides_one_more_at_each_stage():
    model, data = LLAMA, 8
    parameters, part = model.params(), -(-model.params() // data)
    optimizer = 12
    totals = [parallel.optimizer_memory(model, data=data, zero=zero).total for zero in range(4)]
    assert totals == [
        16 * parameters,
        4 * parameters + optimizer * part,
        2 * parameters + (2 + optimizer) * part,
        16 * part,
    ]
    with pytest.raises(ValueError, match="zero must be"):
        parallel.optimizer_memory(model, zero=4)


MIXED = Transformer(layers=6, d_model=64, heads=4, d_ff=256, vocab=1000, window=4, local_layers=3)


EXPERTS = Transformer(
    layers=2,
    d_model=64,
    heads=4,
    d_ff=256,
    vocab=1000,
    moe=MoE(experts=4, per_token=2, width=96, shared_width=32),
)


def test_memory_of_a_stage_by_hand():
    """6 layers in 4 stages: of the two in the second stage one is local."""
    one = parallel.stage_models(parallel.tensor_parallel(MIXED, 2), 4)[1][0].memory(
        2, 99, Precision(weights=1, kv=1)
    )
    layer = 4 * 64 * 32 + 3 * 64 * 128 + 2 * 64  # 2 of the 4 heads, half of the width
    assert one.weights == 2 * layer
    kv_of_a_token = 2 * 2 * 16
    assert one.kv == 2 * kv_of_a_token * (100 + 4)  # two sequences; a global and a local layer
    assert parallel.stage_models(MIXED, 1) == ((MIXED, 1),)


@pytest.mark.parametrize(
    ("model", "devices", "said"),
    [
        (
            Transformer(layers=2, d_model=60, heads=6, d_ff=256, vocab=1000, kv_heads=2),
            4,
            "devices must divide heads=6, got 4",
        ),
        (
            Transformer(layers=2, d_model=64, heads=4, d_ff=250, vocab=1000),
            4,
            "devices must divide d_ff=250, got 4",
        ),
        (
            Transformer(layers=2, d_model=64, heads=4, d_ff=256, vocab=1000),
            3,
            "kv_heads=4 or be a multiple, got 3",
        ),
        (EXPERTS.with_(moe=MoE(experts=4, per_token=2, width=90)), 4, "the experts' width=90"),
        (
            EXPERTS.with_(moe=MoE(experts=4, per_token=2, width=96, shared_width=30)),
            *(4, "shared_width=30"),
        ),
    ],
)
def test_what_stands_in_the_way_is_named(model, devices, said):
    with pytest.raises(ValueError, match=said):
        parallel.tensor_parallel(model, devices)


def is_divided(model, devices):
    try:
        parallel.tensor_parallel(model, devices)
    except ValueError:
        return False
    return True


def test_the_degrees_of_a_model_are_those_that_divide_it():
    """Of some models of the catalogue, and one with 40 heads and 10 KV heads."""
    drawn = sampling.chance("degrees").sample(list(models), sampling.number(8, len(models)))
    for name in ("phi-4", *drawn):
        divided = [n for n in range(1, 49) if is_divided(models[name], n)]
        assert divided == [n for n in degrees(models[name]) if n < 49], name
