"""Encoders: every token sees all others, nothing is cached; the head fills in masked tokens."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from costlib.layers import Block, PerToken, elementwise, linear_step, normalisation
from costlib.model.families.config import Config
from costlib.model.families.family import Sizes, family
from costlib.model.families.readers import (
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

Layer = Callable[[Config, int], Block]


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


def _labels(c: Config) -> int:
    """How many a classifier tells apart: named one by one, or two."""
    named = c.get("id2label")
    return len(named) if isinstance(named, Mapping) and named else c.count("num_labels", 2)


def _classifier(c: Config, *before: PerToken, labels: int | None = None) -> dict[str, Any]:
    """What a classifier has in place of the unembedding and what comes before that."""
    linear = linear_step("classifier", c.d_model, labels or _labels(c), bias=True)
    return {"last": (), "head": (*before, *linear), "biases": ()}


def _pooler(c: Config) -> tuple[PerToken, ...]:
    """What the first token of a text is made into for a classifier of the text."""
    d = c.d_model
    return (*linear_step("pooler", d, d, bias=True), PerToken("pooler.tanh", d, d, d))


def _classifiers(name: str) -> dict[str, Sizes]:
    """BERT's: of texts, and of tokens."""
    return {
        f"{name}ForSequenceClassification": lambda c: {
            **_classifier(c, *_pooler(c)),
            "pooled": True,
        },
        f"{name}ForTokenClassification": _classifier,
        f"{name}ForQuestionAnswering": _classifier,
    }


BERT: dict[str, Any] = {
    "tied": True,
    "norm": "layer_norm",
    "final_norm": False,
    "embedding_norm": True,
    "positions": 0,
    "unembedding_bias": True,
    "first": _token_types,
    "last": _transform,
}


def _bert_kin(model_type: str, name: str) -> Callable[[Layer], Layer]:
    """A model_type whose classes are called after it, as BERT's are."""
    return family(model_type, f"{name}ForMaskedLM", heads=_classifiers(name), **BERT)


@_bert_kin("bert", "Bert")
@_bert_kin("roberta", "Roberta")
@_bert_kin("xlm-roberta", "XLMRoberta")
def bert(c: Config, i: int) -> Block:
    """BERT: layer norms after the parts, biases everywhere, learned positions."""
    norm = "layer_norm"
    attention = grouped(c, one_each=True, biases=QKVO, norm=norm, rotary_dim=0, causal=False)
    return layer(attention, mlp(c, gated=False, bias=True, default="gelu"), norm=norm)


def _narrow_first(c: Config) -> tuple[PerToken, ...]:
    """Embeddings of words, positions and texts are narrower than the rest, with a norm."""
    d, width = c.d_model, c.count("embedding_size", 128)
    rows, kinds = c.count("max_position_embeddings"), c.count("type_vocab_size", 2)
    return (
        elementwise("positions", width, "residual", rows=width, table=rows * width),
        elementwise("token_types", width, "residual", rows=width, table=kinds * width),
        normalisation("embedding_norm", width, "layer_norm"),
        *(() if width == d else linear_step("embedding.projection", width, d, bias=True)),
    )


def _narrow_last(c: Config) -> tuple[PerToken, ...]:
    width = c.count("embedding_size", 128)
    return (
        *linear_step("head", c.d_model, width, bias=True),
        elementwise("head.activation", width, "gelu"),
        normalisation("head.norm", width, "layer_norm"),
    )


def _detector(c: Config) -> dict[str, Any]:
    """Whether each token was replaced."""
    d = c.d_model
    dense, act = linear_step("head", d, d, bias=True), elementwise("head.activation", d, "gelu")
    return _classifier(c, *dense, act, labels=1)


@family(
    "electra",
    "ElectraForMaskedLM",
    heads={**_classifiers("Electra"), "ElectraForPreTraining": _detector},
    tied=True,
    norm="layer_norm",
    final_norm=False,
    unembedding_bias=True,
    first=_narrow_first,
    last=_narrow_last,
    size=lambda c: {"embedding_width": c.count("embedding_size", 128)},
)
def electra(c: Config, i: int) -> Block:
    """BERT with narrower embeddings. What is published is mostly the half that detects replaced
    tokens, which has a classifier of one label and no unembedding."""
    return bert(c, i)


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


def _modern_text(c: Config) -> dict[str, Any]:
    return {**_classifier(c, *_modern_head(c)), "pooled": True}


def _modern_tokens(c: Config) -> dict[str, Any]:
    return _classifier(c, *_modern_head(c))


@family(
    "modernbert",
    "ModernBertForMaskedLM",
    heads={
        "ModernBertForSequenceClassification": _modern_text,
        "ModernBertForTokenClassification": _modern_tokens,
        "ModernBertForQuestionAnswering": _modern_tokens,
    },
    tied=True,
    norm="layer_norm_no_bias",
    embedding_norm=True,
    last=_modern_head,
    size=_modern_sizes,
)
def modernbert(c: Config, i: int) -> Block:
    """Rotation, gates, and a window to both sides in two layers of three; the embedding's norm is
    the first layer's."""
    return _modern_layer(c, i, causal=False, window=c.count("local_attention", 128) // 2 + 1)


@family(
    "modernbert-decoder",
    "ModernBertDecoderForCausalLM",
    tied=True,
    norm="layer_norm_no_bias",
    embedding_norm=True,
    last=_modern_head,
    size=_modern_sizes,
)
def modernbert_decoder(c: Config, i: int) -> Block:
    """ModernBERT that sees what came before, and half as far within its windows."""
    return _modern_layer(c, i, window=c.count("local_attention", 128, least=2) // 2)


def _modern_layer(c: Config, i: int, *, window: int, causal: bool = True) -> Block:
    every, norm = c.count("global_attn_every_n_layers", 3), _modern_norm(c)
    kind = c.kind(i, lambda i: SLIDING if i % every else FULL, FULL, SLIDING)
    attention = grouped(
        c,
        one_each=True,
        head_dim=head_dim(c, stated=False),
        biases=biases(c, "attention_bias", False, QKVO),
        norm=norm,
        causal=causal,
        window=window if kind == SLIDING else None,
    )
    feed = mlp(c, bias=c.flag("mlp_bias", False), default="gelu")
    return layer(attention, feed, norms=2 if i else 1, norm=norm)
