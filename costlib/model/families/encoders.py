"""Encoders, and decoders that attend to one: BERT, T5, BART and their kin."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from costlib.layers import (
    Attention,
    Block,
    Encoder,
    Mlp,
    PerToken,
    elementwise,
    linear_step,
    normalisation,
)
from costlib.model.families.config import Config
from costlib.model.families.family import Sizes, Steps, family
from costlib.model.families.older import gpt
from costlib.model.families.readers import (
    ACTIVATIONS,
    FULL,
    QKVO,
    SLIDING,
    activation,
    grouped,
    layer,
    mlp,
)

Layer = Callable[[Config, int], Block]


def _token_types(c: Config) -> tuple[PerToken, ...]:
    """An embedding of which of two texts a token belongs to, added to its own."""
    d, kinds = c.d_model, c.count("type_vocab_size", 2)
    return (elementwise("token_types", d, "residual", rows=d, table=kinds * d),)


def _head(c: Config, width: int, kind: str, *, bias: bool = True) -> tuple[PerToken, ...]:
    """What comes before the unembedding."""
    return (
        *linear_step("head", c.d_model, width, bias=bias),
        elementwise("head.activation", width, kind),
        normalisation("head.norm", width, c.norm),
    )


def _transform(c: Config) -> tuple[PerToken, ...]:
    return _head(c, c.d_model, activation(c, "gelu"))


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


def _classifiers(name: str, of_text: Steps, of_tokens: Steps = lambda _: ()) -> dict[str, Sizes]:
    """Those of a text, and of its tokens, and what comes before either."""
    pooled: dict[str, Any] = {"pooled": True}
    return {
        f"{name}ForSequenceClassification": lambda c: _classifier(c, *of_text(c)) | pooled,
        f"{name}ForTokenClassification": lambda c: _classifier(c, *of_tokens(c)),
        f"{name}ForQuestionAnswering": lambda c: _classifier(c, *of_tokens(c)),
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
    return family(model_type, f"{name}ForMaskedLM", heads=_classifiers(name, _pooler), **BERT)


@_bert_kin("bert", "Bert")
@_bert_kin("roberta", "Roberta")
@_bert_kin("xlm-roberta", "XLMRoberta")
def bert(c: Config, i: int) -> Block:
    """BERT: layer norms after the parts, biases everywhere, learned positions."""
    return gpt(c, mlp(c, gated=False, bias=True, default="gelu"), causal=False)


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
    return _head(c, c.count("embedding_size", 128), "gelu")


def _detector(c: Config) -> dict[str, Any]:
    """Whether each token was replaced."""
    d = c.d_model
    dense, act = linear_step("head", d, d, bias=True), elementwise("head.activation", d, "gelu")
    return _classifier(c, *dense, act, labels=1)


@family(
    "electra",
    "ElectraForMaskedLM",
    heads={**_classifiers("Electra", _pooler), "ElectraForPreTraining": _detector},
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
    kind = activation(c, "gelu", "classifier_activation")
    return _head(c, c.d_model, kind, bias=c.flag("classifier_bias", False))


MODERN: dict[str, Any] = {
    "tied": True,
    "norm": _modern_norm,
    "embedding_norm": True,
    "unembedding_bias": lambda c: c.flag("decoder_bias", True),
    "last": _modern_head,
}


@family(
    "modernbert",
    "ModernBertForMaskedLM",
    heads=_classifiers("ModernBert", _modern_head, _modern_head),
    **MODERN,
)
def modernbert(c: Config, i: int) -> Block:
    """Rotation, gates, and a window to both sides in two layers of three; the embedding's norm is
    the first layer's."""
    return _modern_layer(c, i, causal=False, window=c.count("local_attention", 128) // 2 + 1)


@family("modernbert-decoder", "ModernBertDecoderForCausalLM", **MODERN)
def modernbert_decoder(c: Config, i: int) -> Block:
    """ModernBERT that sees what came before, and half as far within its windows."""
    return _modern_layer(c, i, window=c.count("local_attention", 128, least=2) // 2)


def _modern_layer(c: Config, i: int, *, window: int, causal: bool = True) -> Block:
    every = c.count("global_attn_every_n_layers", 3)
    kind = c.kind(i, lambda i: SLIDING if i % every else FULL, FULL, SLIDING)
    attention = grouped(
        c,
        one_each=True,
        causal=causal,
        window=window if kind == SLIDING else None,
    )
    feed = mlp(c, bias=c.flag("mlp_bias", False), default="gelu")
    return layer(attention, feed, norms=2 if i else 1)


T5: dict[str, Any] = {
    "always_tied": True,
}


@family("t5", "T5ForConditionalGeneration", **T5)
@family("mt5", "MT5ForConditionalGeneration", **T5)
@family("umt5", "UMT5ForConditionalGeneration", **T5)
def t5(c: Config, i: int) -> Block:
    """No positions: the first layer has a bias for each distance, for all layers; in UMT5 each
    has its own. The unembedding is always the embedding."""
    cross = _t5_attention(c, cross=True, d_in=c.d_model)
    everywhere = c.family == "umt5"
    first = (_t5_encoder(c, everywhere),) if i == 0 else ()
    extra = _distances(c) if everywhere or i == 0 else ()
    return layer(*first, _t5_attention(c), cross, _t5_feed(c), norms=3, residuals=3, extra=extra)


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


def _t5_encoder(c: Config, everywhere: bool) -> Encoder:
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
@family("mbart", "MBartForConditionalGeneration", positions=2, embedding_norm=True, **KIN)
@family("marian", "MarianMTModel", positions=0, final_norm=False, **KIN)
@family("pegasus", "PegasusForConditionalGeneration", positions=0, **KIN)
@family("m2m_100", "M2M100ForConditionalGeneration", **KIN)
def bart(c: Config, i: int) -> Block:
    """Biases everywhere; norms after the parts, or before them and so one at the end; positions
    that are learned (BART, mBART), stored (Marian, Pegasus) or computed (M2M 100)."""
    feed = mlp(c, gated=False, bias=True, default="gelu")
    cross = _bart_attention(c, cross=True, d_in=c.d_model)
    first = (_bart_encoder(c),) if i == 0 else ()
    return layer(*first, _bart_attention(c), cross, feed, norms=3, residuals=3)


def _bart_encoder(c: Config) -> Encoder:
    """The encoder's own sizes in place of the decoder's, and no second word for its layers."""
    own = ("decoder_layers", "decoder_attention_heads", "decoder_ffn_dim")
    sizes = {name: c.count(name.replace("decoder", "encoder")) for name in own}
    inner, d, entry = c.but({**sizes, "num_hidden_layers": None}), c.d_model, c.entry
    steps = [PerToken("embedding", rows=d, writes=d)]
    if entry.positions is not None:
        rows = c.count("max_position_embeddings") + entry.positions
        steps.append(elementwise("positions", d, "residual", rows=d, table=rows * d))
    if entry.embedding_norm:
        steps.append(normalisation("embedding_norm", d, c.norm))
    feed = mlp(inner, gated=False, bias=True, default="gelu")
    block = Block(
        layers=inner.layers, parts=(_bart_attention(inner, causal=False), feed), norm=c.norm
    )
    last = (normalisation("final_norm", d, c.norm),) if entry.final_norm else ()
    return Encoder(d_model=d, blocks=(block,), first=tuple(steps), last=last)


def _bart_attention(c: Config, **more: Any) -> Attention:
    heads = c.count("num_attention_heads")
    by = "'decoder_attention_heads' or 'encoder_attention_heads'"
    c.require(c.d_model % heads == 0, f"'d_model' is {c.d_model}, not a multiple of {by} ({heads})")
    more = {"biases": QKVO, "norm": c.norm, "rotary_dim": 0, **more}
    return Attention(heads=heads, head_dim=c.d_model // heads, **more)
