"""Attention that is not causal: encoders, windows to both sides, a decoder that sees an encoder."""

from itertools import product

import pytest

from costlib.layers import Attention, Block, Encoder, Mlp
from costlib.layers.grouped_attention import _on_both_sides
from costlib.model.transformer import Transformer


@pytest.mark.parametrize(("tokens", "window"), [*product(range(1, 8), (1, 2, 3, 20))])
def test_a_window_to_both_sides(tokens, window):
    pairs = product(range(tokens), repeat=2)
    assert _on_both_sides(tokens, window) == sum(abs(i - j) < window for i, j in pairs)


def encoder_block(layers=2):
    attention = Attention(heads=4, head_dim=8, causal=False, rotary_dim=0)
    return Block(layers=layers, parts=(attention, Mlp(width=64)))


def test_an_encoder_has_no_decode():
    model = Transformer(d_model=32, vocab=50, blocks=(encoder_block(),))
    assert model.kv_elements_per_token() == 0
    assert model.prefill(1, 10)["scores"].flops == 2 * 10 * 10 * 4 * 8 * 2
    with pytest.raises(ValueError, match="no decode"):
        model.decode(1, 10)


def encoder_decoder():
    own = Attention(heads=4, head_dim=8, rotary_dim=0)
    cross = Attention(heads=4, head_dim=8, rotary_dim=0, cross=True, d_in=32)
    encoder = Encoder(d_model=32, blocks=(encoder_block(),))
    block = Block(layers=1, parts=(encoder, own, cross, Mlp(width=64)), norms=3, residuals=3)
    return Transformer(d_model=32, vocab=50, blocks=(block,))


def test_an_encoder_runs_once_and_is_seen_by_every_token():
    model = encoder_decoder()
    alone = Transformer(d_model=32, vocab=50, blocks=(encoder_block(),))
    outside = alone.params() - 2 * encoder_block().parameters(32)
    assert (
        model.params() - outside
        == sum(
            part.mixing_weights + sum(step.weights for step in (*part.before(32), *part.after(32)))
            for part in model.blocks[0].parts
        )
        + 3 * 32
    )
    first, step = model.prefill(1, 5, encoded=7), model.decode(1, 5, encoded=7)
    assert first["encoder.scores"].flops == 2 * 7 * 7 * 4 * 8 * 2
    assert "encoder.scores" not in {op.name for op in step}
    assert step.only("scores").matmul_flops == 2 * 4 * 8 * (6 + 7)
    for call in (lambda: model.prefill(1, 5), lambda: model.decode(1, 5)):
        with pytest.raises(ValueError, match="encoded="):
            call()


def test_what_sees_an_encoder_says_how_wide_it_is():
    with pytest.raises(ValueError, match="d_in"):
        Attention(heads=4, head_dim=8, cross=True)
