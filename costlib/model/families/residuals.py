"""Families with more than one residual stream, or more than an embedding at the start."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from costlib.layers import (
    Attention,
    Block,
    ChannelConvolution,
    Indexer,
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
    LINEAR,
    QKVO,
    SLIDING,
    biases,
    experts,
    grouped,
    head_dim,
    layer,
    mlp,
    rotary,
    sliding,
    sparse,
)
from costlib.model.families.states import delta_rule
from costlib.model.families.streams import begun, low_rank_streams, over_blocks


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


INDEXED, NEAR, FAR = "indexed_attention", "hybrid_sliding", "hybrid"


@family("muse_glimmer_text", "MuseGlimmerForConditionalGeneration", tied=False)
def muse_glimmer_text(c: Config, i: int) -> Block:
    """A gate on every element of attention's output, norms of heads without weights, four norms, a
    window in all but every fourth layer (counted from the last), which does not rotate."""
    return layer(_muse_attention(c, i), mlp(c), norms=4)


@family("muse_spark_text", "MuseSparkForConditionalGeneration", tied=False)
def muse_spark_text(c: Config, i: int) -> Block:
    """Muse Glimmer with experts of a narrower stream, which has norms of its own, and a gate on
    each addition to the residual stream; one norm of four has no weights."""
    d = c.d_model
    plain = (
        normalisation("norms.plain", d, "plain_norm"),
        normalisation("attention.norm", d, "plain_norm"),
        elementwise("residual.gate", 2 * d, "sigmoid_gate", weights=2 * d),
    )
    if not sparse(c, i, lambda _: True):
        return layer(_muse_attention(c, i), mlp(c), norms=3, extra=plain)
    narrow = c.count("moe_hidden_size")
    normed = (normalisation("experts.norm", 2 * narrow, "rms_norm"),)
    feed = experts(c, "num_local_experts", latent=narrow, extra=normed)
    return layer(_muse_attention(c, i), feed, norms=3, extra=plain)


def _muse_attention(c: Config, i: int) -> Attention:
    last = c.layers - 1
    reach = sliding(c, i, lambda i: SLIDING if (last - i) % 4 else FULL)
    thetas = c.get("layer_rope_theta")
    is_listed = isinstance(thetas, list) and len(thetas) == c.layers
    rotates = bool(thetas[i]) if is_listed else bool((last - i) % 4)
    return grouped(
        c,
        norm="plain_norm",
        qk_norm="head",
        gate="element",
        window=reach,
        rotary_dim=None if rotates else 0,
    )


def _hrm_fields(fields: Mapping[str, Any]) -> Mapping[str, Any]:
    """The number of layers is that of one stack, until the library writes down how many are run."""
    cycles = [fields.get(name, usual) for name, usual in (("H_cycles", 2), ("L_cycles", 3))]
    layers = fields.get("num_hidden_layers")
    is_first = fields.get("num_layers_per_stack") is None
    if not is_first or not all(type(n) is int and n > 0 for n in (*cycles, layers)):
        return fields
    run = layers * cycles[0] * (cycles[1] + 1)
    return {**fields, "num_layers_per_stack": layers, "num_hidden_layers": run}


def _hrm_start(c: Config) -> tuple[PerToken, ...]:
    """What the fast stack begins with."""
    return (elementwise("start", c.d_model, "residual", weights=c.d_model),)


@family(
    "hrm_text",
    "HrmTextForCausalLM",
    tied=False,
    norm="plain_norm",
    final_norm=False,
    first=_hrm_start,
    rewrite=_hrm_fields,
)
def hrm_text(c: Config, i: int) -> Block:
    """Two stacks of layers that are run again and again: a fast one several times, then a slow one,
    and so on. A layer is stored once, and keeps a cache for each of its runs."""
    each, times = c.count("num_layers_per_stack"), c.count("L_cycles") + 1
    text = f"'num_hidden_layers' must be the layers run, {each * times * c.count('H_cycles')}"
    c.require(c.layers == each * times * c.count("H_cycles"), text)
    found = biases(c, "attention_bias", False, (*QKVO, "gate_proj"))
    attention = grouped(c, one_each=True, head_dim=head_dim(c), gate="element", biases=found)
    feed = mlp(c, bias=c.flag("mlp_bias", False))
    block = layer(attention, feed, norm=c.norm)
    is_again = i // each not in (0, times - 1)
    shared_parameters = block.parameters(c.d_model) if is_again else 0
    return replace(block, shared_parameters=shared_parameters)


def _qwen_end(c: Config) -> tuple[PerToken, ...]:
    return low_rank_streams(c, adds=False)


@family(
    "qwen4_exp_text",
    "Qwen4ExpForCausalLM",
    tied=False,
    last=_qwen_end,
    final_norm=False,
)
def qwen4_exp_text(c: Config, i: int) -> Block:
    """Qwen3-Next whose attention is to keys that an indexer picks, with several residual streams.
    Layers that look up the last few tokens together are refused."""
    every, around = c.count("full_attention_interval"), low_rank_streams(c)
    extra = tuple(step * 2 for step in around)
    beside = "shared_expert_intermediate_size"
    feed = experts(c, "num_experts", beside=beside, shared_gate=True)
    kind = c.kind(i, lambda i: LINEAR if (i + 1) % every else INDEXED, LINEAR, INDEXED)
    if kind == LINEAR:
        return layer(delta_rule(c), feed, norms=0, residuals=0, extra=extra)
    rotated = rotary(c, head_dim(c), 1)
    attention = grouped(
        c,
        qk_norm="head",
        gate="element",
        biases=biases(c, "attention_bias", False, (*QKVO, "gate_proj")),
        rotary_dim=rotated,
        indexer=_qwen_indexer(c, rotated),
    )
    return layer(attention, feed, norms=0, residuals=0, extra=extra)


def _qwen_indexer(c: Config, rotated: int) -> Indexer:
    """Its code averages the keys of each few tokens, and goes query by query."""
    c.require(c.count("indexer_kv_heads") == 1, "'indexer_kv_heads' must be 1 to be counted here")
    budget, pool = c.count("indexer_budget"), c.count("indexer_compress_ratio")
    text = f"'indexer_budget' is {budget}, not a multiple of 'indexer_compress_ratio' ({pool})"
    c.require(budget % pool == 0, text)
    return Indexer(
        heads=c.count("indexer_n_heads"),
        head_dim=c.count("indexer_head_dim"),
        top=budget,
        rotary_dim=rotated,
        key_norm="rms_norm",
        query_norm="rms_norm",
        weighted=False,
        pool=pool,
        one_by_one=True,
    )


#: What both Inklings call attention of a window, by the usual names.
_NEAR_SIZES = {
    "num_attention_heads": "swa_num_attention_heads",
    "num_key_value_heads": "swa_num_key_value_heads",
    "head_dim": "swa_head_dim",
}


def _inkling_fields(fields: Mapping[str, Any]) -> Mapping[str, Any]:
    """Older configs list local layers, and call the dense layers' width by a name of its own."""
    found, layers = dict(fields), fields.get("num_hidden_layers")
    local = fields.get("local_layer_ids")
    if found.get("layer_types") is None and isinstance(local, list) and type(layers) is int:
        found["layer_types"] = [NEAR if i in local else FAR for i in range(min(layers, 10**4))]
    if fields.get("dense_intermediate_size") is not None:
        found["moe_intermediate_size"] = fields.get("intermediate_size")
        found["intermediate_size"] = fields["dense_intermediate_size"]
    return found


@family(
    "inkling_text", "InklingForCausalLM", tied=False, embedding_norm=True, rewrite=_inkling_fields
)
def inkling_text(c: Config, i: int) -> Block:
    """Short convolutions of keys, of values and after each part; scores that depend on distances;
    windows with heads of their own; experts beside shared ones, whose weights the router gives."""
    attention = _inkling_attention(c, i)
    width = 2 * attention.kv_heads * attention.head_dim + 2 * c.d_model
    conv = ChannelConvolution(channels=width, kernel=c.count("conv_kernel_size"))
    scale = PerToken("ffn.scale", c.d_model, weights=1)
    dense = c.count("dense_mlp_idx", 0, least=0)
    if not sparse(c, i, lambda i: i >= dense):
        return layer(conv, attention, mlp(c), residuals=2, extra=(scale,))
    shared = c.count("n_shared_experts")
    router = linear_step("router", c.d_model, c.count("n_routed_experts") + shared)
    joint = shared * c.count("moe_intermediate_size")
    feed = experts(c, "n_routed_experts", shared_width=joint, router=router)
    return layer(conv, attention, feed, residuals=2, extra=(scale,))


def _inkling_attention(c: Config, i: int, **more: Any) -> Attention:
    is_near = c.kind(i, lambda i: NEAR if (i + 1) % 6 else FAR, NEAR, FAR) == NEAR
    reach = c.count("sliding_window_size") if is_near else None
    if is_near:
        c = c.but({usual: c.count(own) for usual, own in _NEAR_SIZES.items()})
    heads, rank = c.count("num_attention_heads"), c.count("d_rel")
    extent = c.count("rel_extent") if reach is None else reach
    bank = rank * extent
    found = (
        *linear_step("r_proj", c.d_model, heads * rank),
        PerToken(
            "distances",
            product_flops(heads, 1, bank),
            heads * rank,
            heads * extent,
            weights=bank,
            is_matmul=True,
        ),
        *more.pop("extra", ()),
    )
    normed = {"qk_norm": "head", **more}
    return grouped(c, window=reach, rotary_dim=0, extra=found, **normed, biases=())


def _inkling_end(c: Config) -> tuple[PerToken, ...]:
    return over_blocks(c, "final_input", begun(c.layers, _block_size(c)))


def _block_size(c: Config) -> int:
    return c.count("n_layers_per_attn_res_block", 6)


@family("inkling2_text", "Inkling2ForCausalLM", tied=False, embedding_norm=True, last=_inkling_end)
def inkling2_text(c: Config, i: int) -> Block:
    """Inkling with a gate on attention's output and sinks made of the input; parts that attend to
    what earlier blocks of layers began with; experts alone in every layer. Layers without a window
    have an input of their own for queries, keys and values, and kernels made for every token."""
    plain, d, kernel = _inkling_attention(c, i), c.d_model, c.count("conv_kernel_size")
    is_near = plain.window is not None
    clipped = PerToken(
        "clip", 8 * plain.heads, weights=plain.heads * (plain.head_dim + c.count("d_rel"))
    )
    attention = _inkling_attention(
        c,
        i,
        qk_norm=None,
        value_norm=True,
        gate="element",
        extra=(*linear_step("sink_proj", d, plain.heads), clipped),
    )
    wide, groups = 2 * plain.kv_heads * plain.head_dim, 0 if is_near else 2 * plain.kv_heads
    convs = (
        ChannelConvolution(channels=wide, kernel=kernel, groups=groups),
        ChannelConvolution(channels=2 * d, kernel=kernel),
    )
    each, queries = _block_size(c), 1 if is_near else 3
    inputs = over_blocks(c, "attention_input", begun(i, each), queries=queries) if i else ()
    extra = (*inputs, *over_blocks(c, "ffn_input", begun(i + 1, each)))
    norms = 2 if is_near else 4
    feed = experts(c, "n_routed_experts")
    return layer(*convs, attention, feed, norms=norms, residuals=2, extra=extra)
