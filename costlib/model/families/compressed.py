"""DeepSeek-V4: compressed attention, several residual streams, experts by the token itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from costlib.layers import Block
from costlib.layers.compressed import CompressedAttention, CompressedIndexer
from costlib.model.families.config import Config
from costlib.model.families.family import FAMILIES, family
from costlib.model.families.readers import SLIDING, experts, layer
from costlib.model.families.streams import streams, streams_head

SPARSE, HEAVY = "compressed_sparse_attention", "heavily_compressed_attention"
_BY_RATIO = {0: SLIDING, 4: SPARSE, 128: HEAVY}
_RATES = {SPARSE: 4, HEAVY: 128}


def _now(fields: Mapping[str, Any]) -> Mapping[str, Any]:
    """The fields of older configs as they are spelled now."""
    found = dict(fields)
    ratios, layers = fields.get("compress_ratios"), fields.get("num_hidden_layers")
    if isinstance(ratios, list) and fields.get("layer_types") is None and isinstance(layers, int):
        unknown = [ratio for ratio in ratios if ratio not in _BY_RATIO]
        if unknown:
            raise ValueError(
                f"deepseek_v4 config: 'compress_ratios' has {unknown[0]!r}, not 0, 4, 128"
            )
        found["layer_types"] = [_BY_RATIO[ratio] for ratio in ratios[:layers]]
    rates = dict(_RATES)
    rates |= fields["compress_rates"] if isinstance(fields.get("compress_rates"), Mapping) else {}
    for kind, name in ((SPARSE, "compress_rate_csa"), (HEAVY, "compress_rate_hca")):
        rates[kind] = rates[kind] if fields.get(name) is None else fields[name]
    return {**found, "compress_rates": rates}


@family("deepseek_v4", "DeepseekV4ForCausalLM", tied=False, rewrite=_now, last=streams_head)
def deepseek_v4(c: Config, i: int) -> Block:
    """Keys that are values, kept for a window and compressed 4 or 128 to 1 beyond it."""
    kind = c.kind(i, _usual_kind, SLIDING, SPARSE, HEAVY)
    rates = c.inside("compress_rates")
    sizes = {
        "heads": c.count("index_n_heads"),
        "head_dim": c.count("index_head_dim"),
        "top": c.count("index_topk"),
    }
    width, heads = c.count("head_dim", 512), c.count("num_attention_heads")
    groups = c.count("o_groups")
    text = f"'o_groups' must divide 'num_attention_heads' ({heads}), got {groups}"
    c.require(heads % groups == 0, text)
    attention = CompressedAttention(
        heads=heads,
        head_dim=width,
        window=c.count("sliding_window"),
        q_rank=c.count("q_lora_rank"),
        output_groups=groups,
        output_rank=c.count("o_lora_rank"),
        every=None if kind == SLIDING else rates.count(kind),
        indexer=CompressedIndexer(**sizes) if kind == SPARSE else None,
        rotary_dim=_rotated(c, width),
    )
    hashed = c.each_layer("mlp_layer_types", str)
    is_hashed = hashed[i] == "hash_moe" if hashed else i < c.count("num_hash_layers", 3, least=0)
    feed = experts(c, "n_routed_experts", shared="n_shared_experts", routed_by_hash=is_hashed)
    return layer(attention, feed, residuals=0, extra=streams(c))


def _usual_kind(i: int) -> str:
    return SPARSE if i % 2 and i >= 2 else HEAVY


def _rotated(c: Config, width: int) -> int:
    share = c.share("partial_rotary_factor", 64 / 512)
    return c.optional("qk_rope_head_dim") or int(share * width)


#: As some checkpoints in the reference implementation's own form call it.
FAMILIES["deepseek_ref"] = FAMILIES["deepseek_v4"]
