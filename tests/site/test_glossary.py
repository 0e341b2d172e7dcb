"""The numbers of the glossary are what the library says."""

from __future__ import annotations

import re
from typing import Any

import pytest

import costlib
from costlib import parallel, serving
from costlib.layers.attention import latent_attention, pairs
from costlib.layers.matmul import matmul
from costlib.parallel.collectives import least_sent
from costlib.parallel.pipeline import bubble
from costlib.serving.speculation import expected_tokens
from costlib.training import adapter_params, lora, state_bytes
from costlib.units.display import quantity
from paths import ROOT

ENTRIES: dict[str, str] = dict(
    re.findall(
        r"^\*\*(.+?)\.?\*\* (.+)$", (ROOT / "book" / "glossary.md").read_text("utf-8"), re.MULTILINE
    )
)
LLAMA, LARGE = costlib.models["llama-3.1-8b"], costlib.models["llama-3.1-70b"]
LATENT, H100 = costlib.models["deepseek-v3"], costlib.devices["H100-SXM"]
#: Of models, formats, stages and moments, which are names and not numbers.
NAMES = re.compile(
    r"PCIe 5\.0|M4 Max|"
    r"Llama 3\.1( \d+B)?|[AH]100|DeepSeek-V3(\.2)?|Mixtral 8x7B|Qwen3-Next 80B-A3B|stages? \d"
    r"|\b(16|32|8 or 4) bits|\d·m·k·n|\bp(50|99)\b"
)


def absorbed() -> int:
    """The most new tokens for which the absorbed form takes fewer FLOPs, with 16,384 keys."""
    assert LATENT.mla
    names = ("kv_rank", "nope_dim", "rope_dim", "value_dim")
    widths = {name: getattr(LATENT.mla, name) for name in names}

    def flops(new: int, form: str) -> int:
        step = latent_attention(1, new, LATENT.heads, **widths, context=16384, form=form)
        return int(step.matmul_flops)

    return max(n for n in range(1, 999) if flops(n, "absorbed") < flops(n, "naive"))


def of_a_weight(passes: int) -> int:
    """FLOPs of so many products like the forward one, for each weight and token."""
    return int(passes * matmul(64, 32, 32).flops // (64 * 32 * 32))


def sent(does: str) -> float:
    """Elements that each of 8 devices sends for each element of the result."""
    return float(least_sent(does, 64, 8) / 64)


def experts() -> list[Any]:
    """How many of Mixtral's experts a token uses, and of how many."""
    moe = costlib.models["mixtral-8x7b"].moe
    assert moe
    return [moe.per_token, moe.experts]


def one_square_adapter(rank: int) -> int:
    """Parameters of the adapter of one 4096 × 4096 matrix."""
    llama = costlib.models["llama-2-7b"]
    assert llama.d_model == llama.heads * llama.head_dim == 4096
    return int(adapter_params(llama, lora(rank, ("q_proj",)))) // int(llama.layers)


def op_of(model: costlib.Transformer, name: str) -> Any:
    """An op of a decode step."""
    return model.decode(1, 1).only(name)


def in_a_layer(model: costlib.Transformer) -> int:
    """All-reduces of a layer whose matrices are divided."""
    step = parallel.tensor_parallel(model, 8).decode(1, 1)
    return int(step.over("tensor").count) // int(model.layers)


def of_mtp() -> int:
    """Per cent that DeepSeek-V3's extra layer adds to the FLOPs of a training step."""
    with_it = LATENT.with_mtp_layers().training_step(1, 4096)
    return round(100 * float(with_it.flops / LATENT.training_step(1, 4096).flops - 1))


def of_indexer() -> int:
    """Numbers that DeepSeek-V3.2's indexer keeps of a token, in each layer."""
    sparse = costlib.models["deepseek-v3.2"]
    latent, indexed = (cache.per_token for cache, _ in sparse.caches())
    assert latent == LATENT.kv_elements_per_layer()
    return int(indexed)


def capacity() -> int:
    """Tokens of cache that Llama 3.1 8B has room for on an A100."""
    device = costlib.devices["A100-80GB"]
    return int((device.usable - LLAMA.weight_bytes()) // LLAMA.kv_bytes(1, 1))


def of_states() -> str:
    """Bytes of Qwen3-Next's states, which are what its cache of no token takes."""
    hybrid = costlib.models["qwen3-next-80b-a3b"]
    one, two = (hybrid.kv_bytes(1, tokens) for tokens in (1, 2))
    return quantity(2 * one - two, "B", 3)


#: Bytes of a parameter that AdamW keeps beside weights and gradients: a copy and two moments.
OPTIMIZER = int(state_bytes(LLAMA, "bf16").optimizer // LLAMA.params())


#: All numbers of an entry: what is given and what follows.
def of_an_agent() -> list[Any]:
    """Calls, growth and first prompt of a session, and the per cent that a prefix cache saves."""
    of = serving.Session(calls=50, first=4000, answer=200, result=1000)
    saved = 1 - of.prefilled(cached=True) / of.prefilled(cached=False)
    return [of.calls, f"{of.grows:,}", f"{of.first:,}", f"{100 * saved:.0f}"]


def reloaded(tokens: int) -> float:
    """GB/s at which a prefix is reloaded in the time of its prefill."""
    return float(serving.even_link(serving.Server(LLAMA, H100), tokens)) / 1e9


NUMBERS: dict[str, list[Any]] = {
    "Agent": of_an_agent(),
    "Absorbed MLA": [round(absorbed(), -1)],
    "Acceptance rate": [0.8, 4, f"{expected_tokens(0.8, 4):.2f}"],
    "Activation checkpointing": [of_a_weight(4), of_a_weight(3)],
    "Adapter": [16, 4096, 4096, f"{one_square_adapter(16):,}", 4],
    "All-gather": [8, f"{8 * sent('all_gather'):.0f}/8"],
    "All-reduce": [8, sent("all_reduce")],
    "Arithmetic intensity": [4096, f"{float(matmul(4096, 4096, 4096).intensity()):,.0f}"],
    "Bandwidth": [quantity(H100.bytes_per_s, "B/s")],
    "Block (of a transformer)": [LLAMA.layers],
    "Break-even bandwidth": [f"{reloaded(32_000):.1f}", "32,000"],
    "Bubble": [4, 16, f"{100 * bubble(4, 16):.1f}"],
    "Causal mask": [4096, 4096, f"{50 + 50 / 4096:.2f}"],
    "Core": [H100.cores],
    "Critical batch size": [f"{H100.ridge():.0f}"],
    "Document mask": [
        "1,024",
        f"{400 * pairs(1024, causal=True) / pairs(4096, causal=True):.2f}",
        "4,096",
    ],
    "Expert": experts(),
    "FMA": [matmul(1, 1, 1).flops],
    "GQA": [LLAMA.heads, LLAMA.kv_heads],
    "Indexer": [of_indexer()],
    "KV-cache capacity": [f"{capacity():,}", 80],
    "Host memory": [16, f"{32 * 16 * 128 / 130 / 8:.0f}"],
    "KV cache": [f"{LLAMA.kv_bytes(1, 1):,}"],
    "Little's law": [2, 10, 2 * 10],
    "Logits": [f"{LLAMA.vocab:,}"],
    "Master copy": [OPTIMIZER - 8],
    "MLA": [LATENT.kv_elements_per_layer()],
    "Moments": [8],  # two in 32 bits
    "Multi-token prediction (MTP)": [of_mtp()],
    "NVLink": [quantity(H100.interconnect or 0, "B/s")],
    "Optimizer states": [OPTIMIZER],
    "Parameter": [f"{LLAMA.params() / 1e9:.2f}"],
    "Peak rate": [quantity(H100.compute_rate(), "FLOP/s", 3)],
    "Percentile": [99],
    "Quantisation": [4, f"{LARGE.params() / 2 / 1e9:.1f} GB", f"{LARGE.params() * 2 / 1e9:.1f} GB"],
    "Ridge": [f"{H100.ridge():.0f}"],
    "Rotary embeddings": [op_of(LLAMA, "rotary").flops // (128 * (32 + 8) * LLAMA.layers)],
    "SLO": [95],
    "SRAM": [quantity(costlib.devices["A100-80GB"].on_chip or 0, "B", 3)],
    "State": [of_states()],
    "Tensor parallelism": [in_a_layer(LARGE)],
    "TPOT": [20, 1000 // 20],
    "Unembedding": [quantity(op_of(LLAMA, "unembedding").flops, "FLOP", 3)],
    "Unified memory": [quantity(costlib.devices["M4-Max"].bytes_per_s, "B/s")],
    "ZeRO": [16, 8, 16 // 8],
}


@pytest.mark.parametrize("term", ENTRIES)
def test_numbers_of_a_term(term: str) -> None:
    left = NAMES.sub("", re.sub(r"\]\([^)]*\)", "]", ENTRIES[term]))
    for number in NUMBERS.get(term, []):
        assert str(number) in left, (number, left)
        left = left.replace(str(number), "", 1)
    assert not re.search(r"\d", left), left


def test_no_number_is_of_a_term_that_is_gone() -> None:
    assert set(NUMBERS) <= set(ENTRIES)
