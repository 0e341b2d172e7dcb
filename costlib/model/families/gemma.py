"""Gemma 3n and 4: embeddings for every layer, keys and values shared between layers."""

from __future__ import annotations

from costlib.layers import (
    Attention,
    Block,
    Mixture,
    PerToken,
    elementwise,
    linear_step,
    normalisation,
)
from costlib.layers.matmul import product_flops
from costlib.model.families.config import Config
from costlib.model.families.family import family
from costlib.model.families.readers import (
    FULL,
    QKVO,
    SLIDING,
    biases,
    experts,
    grouped,
    layer,
    mlp,
    rotary,
)


def _shares_kv(c: Config, i: int, kinds: list[str], usual: int | None = None) -> bool:
    """The last layers have no keys and values: they use those of the last layer of their kind."""
    shared = c.count("num_kv_shared_layers", usual, least=0)
    first = c.layers - shared
    own = set(kinds[: max(0, first)])
    text = f"'num_kv_shared_layers' is {shared}: no layer before them has a cache for each kind"
    c.require(not shared or own == set(kinds), text)
    return i >= first


def _per_layer_embedding(c: Config) -> tuple[PerToken, ...]:
    """A second embedding, with a part for every layer, and what the first one adds to it."""
    each = c.count("hidden_size_per_layer_input", least=0)
    if not each:
        return ()
    width = c.layers * each
    return (
        PerToken(
            "layer_embedding",
            rows=width,
            writes=width,
            table=c.count("vocab_size_per_layer_input") * width,
        ),
        *linear_step("layer_embedding.projection", c.d_model, width),
        normalisation("layer_embedding.norm", width, "rms_norm", each),
        elementwise("layer_embedding.sum", width, "residual", reads=2 * width),
    )


def _per_layer_steps(c: Config) -> tuple[PerToken, ...]:
    """A layer's part of that embedding, gated by the layer's output and added to it."""
    each, d = c.count("hidden_size_per_layer_input", least=0), c.d_model
    if not each:
        return ()
    return (
        *linear_step("layer_embedding.gate", d, each),
        elementwise("layer_embedding.gated", each, "gelu_gate", reads=2 * each),
        *linear_step("layer_embedding.out", each, d),
        normalisation("layer_embedding.out_norm", d, "rms_norm"),
        elementwise("layer_embedding.add", d, "residual", reads=2 * d),
    )


@family("gemma4_text", "Gemma4ForCausalLM", tied=True, first=_per_layer_embedding)
def gemma4_text(c: Config, i: int) -> Block:
    """Gemma 3 with wider heads in global layers, where values may be keys; in some sizes a part of
    the embedding for every layer, keys and values shared by the last layers, or experts beside the
    dense feed-forward layer."""
    text = "'use_bidirectional_attention' must not be 'all' to be counted here"
    c.require(c.get("use_bidirectional_attention") != "all", text)
    kinds = [
        c.kind(j, lambda j: SLIDING if (j + 1) % 6 else FULL, FULL, SLIDING)
        for j in range(c.layers)
    ]
    kinds[-1] = FULL  # whatever the config says
    shares = _shares_kv(c, i, kinds, 0)
    attention = _gemma4_attention(c, kinds[i], shares)
    wide = 2 if shares and c.flag("use_double_wide_mlp", False) else 1
    feed, extra = mlp(c, times=wide, default="gelu_tanh"), _per_layer_steps(c)
    if not c.flag("enable_moe_block", False):
        return layer(attention, feed, norms=4, extra=extra)
    return layer(attention, feed, _gemma4_experts(c), norms=7, residuals=2, extra=extra)


def _gemma4_attention(c: Config, kind: str, shares: bool) -> Attention:
    """Global layers have heads of their own width, and may have fewer KV heads."""
    is_global = kind == FULL
    values_are_keys = is_global and c.flag("attention_k_eq_v", False)
    width, kv_heads = c.count("head_dim"), c.count("num_key_value_heads")
    if is_global and not c.has("per_layer_config"):
        width = c.count("global_head_dim", 512)
        if values_are_keys:
            kv_heads = c.count("num_global_key_value_heads", kv_heads)
    return grouped(
        c,
        kv_heads=kv_heads,
        head_dim=width,
        qk_norm="head",
        value_norm=True,
        biases=biases(c, "attention_bias", False, QKVO),
        rotary_dim=rotary(c, width, 0.25 if is_global else 1, among=kind),
        shares_kv=shares,
        keys_are_values=values_are_keys,
        window=None if is_global else c.count("sliding_window"),
    )


def _gemma4_experts(c: Config) -> Mixture:
    """Their router has a norm and scales of its own."""
    d, count = c.d_model, c.count("num_experts")
    scaled = PerToken("router.scale", d, d, d, weights=d + count)
    steps = (normalisation("router.norm", d, "plain_norm"), scaled)
    return experts(c, "num_experts", chosen="top_k_experts", default="gelu_tanh", extra=steps)


def _altup_first(c: Config) -> tuple[PerToken, ...]:
    d, more = c.d_model, c.count("altup_num_inputs") - 1
    made = tuple(step * more for step in linear_step("altup.projection", d, d)) if more else ()
    return (*made, *_per_layer_embedding(c))


def _altup_last(c: Config) -> tuple[PerToken, ...]:
    d, more = c.d_model, c.count("altup_num_inputs") - 1
    if not more:
        return ()
    made = tuple(step * more for step in linear_step("altup.unprojection", d, d))
    return (*made, elementwise("altup.mean", more * d, "residual", writes=d))


@family("gemma3n_text", "Gemma3nForCausalLM", tied=True, first=_altup_first, last=_altup_last)
def gemma3n_text(c: Config, i: int) -> Block:
    """Several residual streams, of which a layer computes one and predicts the others (AltUp); a
    low-rank way around attention (Laurel); a part of the embedding for every layer; the last layers
    share keys and values."""
    kinds = [
        c.kind(j, lambda j: SLIDING if (j + 1) % 5 else FULL, FULL, SLIDING)
        for j in range(c.layers)
    ]
    attention = grouped(
        c,
        needs_head_dim=True,
        qk_norm="head",
        value_norm=True,
        biases=biases(c, "attention_bias", False, QKVO),
        shares_kv=_shares_kv(c, i, kinds),
        window=c.count("sliding_window") if kinds[i] == SLIDING else None,
    )
    d, rank = c.d_model, c.count("laurel_rank")
    laurel = (
        *linear_step("laurel.down", d, rank),
        *linear_step("laurel.up", rank, d),
        normalisation("laurel.norm", d, "rms_norm"),
        elementwise("laurel.add", d, "residual", reads=2 * d),
    )
    feed = mlp(c.of_layer(i, "intermediate_size"), default="gelu_tanh")
    extra = (*_altup(d, c.count("altup_num_inputs")), *laurel, *_per_layer_steps(c))
    return layer(attention, feed, norms=4, extra=extra)


def _altup(d: int, n: int) -> tuple[PerToken, ...]:
    """Predict n streams from a router's n numbers, then correct them by what one stream became."""
    routed = product_flops(2, d, n)
    return (
        normalisation("altup.norm", 2 * d, "rms_norm", d),
        PerToken("altup.router", routed, 2 * d, 2 * n, weights=d * n, is_matmul=True),
        *linear_step("altup.prediction", n, n * n),
        PerToken("altup.predict", product_flops(d, n, n), d * n + n * n, d * n, is_matmul=True),
        *linear_step("altup.correction", n, n),
        elementwise("altup.correct", n * d, "residual", reads=2 * n * d),
        PerToken("altup.scale", d, d, d, weights=d),
    )
