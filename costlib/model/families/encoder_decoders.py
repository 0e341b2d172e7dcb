"""An encoder that reads a text, and a decoder that attends to it: T5, BART and their kin."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from costlib.layers import (
    Attention,
    Block,
    Encoder,
    Mlp,
    PerToken,
    elementwise,
    normalisation,
)
from costlib.model.families.config import Config
from costlib.model.families.family import family
from costlib.model.families.readers import ACTIVATIONS, QKVO, layer, mlp


def _t5_fields(fields: Mapping[str, Any]) -> Mapping[str, Any]:
    """A decoder as deep as the encoder, where nothing else is said."""
    found = dict(fields)
    if found.get("num_decoder_layers") is None and found.get("num_hidden_layers") is None:
        found["num_decoder_layers"] = found.get("num_layers")
    return found


T5: dict[str, Any] = {
    "always_tied": True,
    "rewrite": _t5_fields,
}


@family("t5", "T5ForConditionalGeneration", **T5)
@family("mt5", "MT5ForConditionalGeneration", **T5)
def t5(c: Config, i: int) -> Block:
    """No positions: the first layer has a bias for each distance, for all layers. The unembedding
    is always the embedding."""
    return _t5_layer(c, i, biased=i == 0, encoder=_t5_encoder(c, everywhere=False))


@family("umt5", "UMT5ForConditionalGeneration", **T5)
def umt5(c: Config, i: int) -> Block:
    """T5 with biases for distances in every layer."""
    return _t5_layer(c, i, biased=True, encoder=_t5_encoder(c, everywhere=True))


def _t5_layer(c: Config, i: int, *, biased: bool, encoder: Encoder) -> Block:
    own = _t5_attention(c)
    cross = _t5_attention(c, cross=True, d_in=c.d_model)
    first = (encoder,) if i == 0 else ()
    extra = _distances(c) if biased else ()
    return layer(*first, own, cross, _t5_feed(c), norms=3, residuals=3, extra=extra)


def _t5_attention(c: Config, **more: Any) -> Attention:
    heads, width = c.count("num_attention_heads"), c.count("head_dim")
    return Attention(heads=heads, head_dim=width, rotary_dim=0, **more)


def _t5_feed(c: Config) -> Mlp:
    """relu, or gated-gelu: what the name says."""
    stated = c.read("feed_forward_proj", str)
    gate, _, kind = stated.rpartition("-")
    is_known = gate in ("", "gated") and kind in ACTIVATIONS
    c.require(is_known, f"'feed_forward_proj' must be like 'gated-gelu' or 'relu', got {stated!r}")
    c.same("is_gated_act", bool(gate), "'feed_forward_proj'")
    kind = "gelu_new" if stated == "gated-gelu" else kind
    return Mlp(width=c.count("intermediate_size"), gated=bool(gate), activation=ACTIVATIONS[kind])


def _distances(c: Config) -> tuple[PerToken, ...]:
    rows = c.count("relative_attention_num_buckets", 32)
    return (PerToken("distances", weights=rows * c.count("num_attention_heads")),)


def _t5_encoder(c: Config, *, everywhere: bool) -> Encoder:
    layers, d = c.count("num_layers"), c.d_model
    plain = Block(layers=1, parts=(_t5_attention(c, causal=False), _t5_feed(c)))
    first = Block(layers=1, parts=plain.parts, extra=_distances(c))
    with_them = layers if everywhere else 1
    rest = tuple(plain for _ in range(layers - with_them))
    return Encoder(
        d_model=d,
        blocks=(*(first for _ in range(with_them)), *rest),
        first=(PerToken("embedding", rows=d, writes=d),),
        last=(normalisation("final_norm", d, "rms_norm"),),
    )


KIN: dict[str, Any] = {
    "tied": True,
    "norm": "layer_norm",
}


@family(
    "bart",
    "BartForConditionalGeneration",
    positions=2,
    embedding_norm=True,
    final_norm=False,
    **KIN,
)
def bart(c: Config, i: int) -> Block:
    """Norms after the parts and of the embeddings, learned positions, biases everywhere."""
    return _bart_layer(c, i, positions=2, embedding_norm=True)


@family("mbart", "MBartForConditionalGeneration", positions=2, embedding_norm=True, **KIN)
def mbart(c: Config, i: int) -> Block:
    """BART with norms before the parts, and so one at the end."""
    return _bart_layer(c, i, positions=2, embedding_norm=True, final_norm=True)


@family("marian", "MarianMTModel", positions=0, final_norm=False, **KIN)
def marian(c: Config, i: int) -> Block:
    """BART without norms of the embeddings; positions are stored, and not learned."""
    c.same("decoder_vocab_size", c.count("vocab_size"), "'vocab_size'")
    return _bart_layer(c, i, positions=0)


@family("pegasus", "PegasusForConditionalGeneration", positions=0, **KIN)
def pegasus(c: Config, i: int) -> Block:
    """Marian with norms before the parts, and so one at the end."""
    return _bart_layer(c, i, positions=0, final_norm=True)


@family("m2m_100", "M2M100ForConditionalGeneration", **KIN)
def m2m_100(c: Config, i: int) -> Block:
    """Pegasus with positions that are computed."""
    return _bart_layer(c, i, positions=None, final_norm=True)


def _bart_layer(
    c: Config,
    i: int,
    *,
    positions: int | None,
    embedding_norm: bool = False,
    final_norm: bool = False,
) -> Block:
    norm, cross = "layer_norm", _bart_attention(c, cross=True, d_in=c.d_model)
    first: tuple[Encoder, ...] = ()
    if i == 0:
        d = c.d_model
        steps = [PerToken("embedding", rows=d, writes=d)]
        if positions is not None:
            rows = c.count("max_position_embeddings") + positions
            steps.append(elementwise("positions", d, "residual", rows=d, table=rows * d))
        steps += [normalisation("embedding_norm", d, norm)] if embedding_norm else []
        blocks = (_bart_encoder(c),)
        last = (normalisation("final_norm", d, norm),) if final_norm else ()
        first = (Encoder(d_model=d, blocks=blocks, first=tuple(steps), last=last),)
    feed = mlp(c, gated=False, bias=True, default="gelu")
    return layer(*first, _bart_attention(c), cross, feed, norms=3, residuals=3, norm=norm)


def _bart_encoder(c: Config) -> Block:
    """The encoder's own sizes in place of the decoder's, and no second word for its layers."""
    own = ("decoder_layers", "decoder_attention_heads", "decoder_ffn_dim")
    sizes = {name: c.count(name.replace("decoder", "encoder")) for name in own}
    inner = c.but({**sizes, "num_hidden_layers": None})
    feed = mlp(inner, gated=False, bias=True, default="gelu")
    parts = (_bart_attention(inner, causal=False), feed)
    return Block(layers=inner.layers, parts=parts, norm="layer_norm")


def _bart_attention(c: Config, **more: Any) -> Attention:
    heads = c.count("num_attention_heads")
    by = "'decoder_attention_heads' or 'encoder_attention_heads'"
    c.require(c.d_model % heads == 0, f"'d_model' is {c.d_model}, not a multiple of {by} ({heads})")
    more = {"biases": QKVO, "norm": "layer_norm", "rotary_dim": 0, **more}
    return Attention(heads=heads, head_dim=c.d_model // heads, **more)
