"""Encoders: every token sees all others, nothing is cached; the head fills in masked tokens."""

from __future__ import annotations

from typing import Any

from costlib.families.config import Config
from costlib.families.family import family
from costlib.families.readers import (
    FULL,
    QKVO,
    SLIDING,
    activation,
    biases,
    grouped,
    head_dim,
    layer,
    mlp,
)
from costlib.layers import Block, PerToken, elementwise, linear_step, normalisation

#: Classes with the same layers and another head, or none: the one for masked tokens is counted.
HEADS = ("Model", "ForPreTraining")


def _token_types(c: Config) -> tuple[PerToken, ...]:
    """An embedding of which of two texts a token belongs to, added to its own."""
    d, kinds = c.d_model, c.count("type_vocab_size", 2)
    return (elementwise("token_types", d, "residual", rows=d, table=kinds * d),)


def _transform(c: Config) -> tuple[PerToken, ...]:
    """What the head does before the unembedding."""
    d, kind = c.d_model, activation(c, "gelu")
    return (
        *linear_step("head", d, d, bias=True),
        elementwise("head.activation", d, kind),
        normalisation("head.norm", d, "layer_norm"),
    )


BERT: dict[str, Any] = {
    "tied": True,
    "norm": "layer_norm",
    "final_norm": False,
    "embedding_norm": True,
    "positions": 0,
    "unembedding_bias": True,
    "first": _token_types,
    "last": _transform,
    "refuse": {"is_decoder": False, "embedding_size": None, "tie_word_embeddings": True},
}


@family("bert", "BertForMaskedLM", also=tuple(f"Bert{head}" for head in HEADS), **BERT)
@family("roberta", "RobertaForMaskedLM", also=tuple(f"Roberta{head}" for head in HEADS), **BERT)
@family("xlm-roberta", "XLMRobertaForMaskedLM", also=tuple(f"XLMRoberta{h}" for h in HEADS), **BERT)
def bert(c: Config, i: int) -> Block:
    """BERT: layer norms after the parts, biases everywhere, learned positions."""
    norm = "layer_norm"
    attention = grouped(c, one_each=True, biases=QKVO, norm=norm, rotary_dim=0, causal=False)
    return layer(attention, mlp(c, gated=False, bias=True, default="gelu"), norm=norm)


def _modern_norm(c: Config) -> str:
    return "layer_norm" if c.flag("norm_bias", False) else "layer_norm_no_bias"


def _modern_head(c: Config) -> tuple[PerToken, ...]:
    d, kind = c.d_model, activation(c, "gelu", "classifier_activation")
    return (
        *linear_step("head", d, d, bias=c.flag("classifier_bias", False)),
        elementwise("head.activation", d, kind),
        normalisation("head.norm", d, _modern_norm(c)),
    )


def _modern_sizes(c: Config) -> dict[str, object]:
    has_bias = c.flag("decoder_bias", True)
    return {"norm": _modern_norm(c), "biases": ("unembedding",) if has_bias else ()}


@family(
    "modernbert",
    "ModernBertForMaskedLM",
    also=tuple(f"ModernBert{head}" for head in HEADS),
    tied=True,
    norm="layer_norm_no_bias",
    embedding_norm=True,
    last=_modern_head,
    size=_modern_sizes,
)
def modernbert(c: Config, i: int) -> Block:
    """Rotation, gates, and a window to both sides in two layers of three; the embedding's norm is
    the first layer's."""
    every, norm = c.count("global_attn_every_n_layers", 3), _modern_norm(c)
    kind = c.kind(i, lambda i: SLIDING if i % every else FULL, FULL, SLIDING)
    reach = c.count("local_attention", 128) // 2 + 1
    attention = grouped(
        c,
        one_each=True,
        head_dim=head_dim(c, stated=False),
        biases=biases(c, "attention_bias", False, QKVO),
        norm=norm,
        causal=False,
        window=reach if kind == SLIDING else None,
    )
    feed = mlp(c, bias=c.flag("mlp_bias", False), default="gelu")
    return layer(attention, feed, norms=2 if i else 1, norm=norm)
