"""The numbers of the glossary are what the library says."""

from __future__ import annotations

import re
from typing import Any

import pytest

import costlib
from costlib import kvcache, parallel, serving
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
    r"PCIe 5\.0|M4 Max|GPT-2|gpt-oss-20b|Llama 2 7B|DGX H100|"
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


def experts_of(model: costlib.Transformer) -> list[Any]:
    """How many experts of a mixture a token uses, and of how many."""
    assert model.moe
    return [model.moe.per_token, model.moe.experts]


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
    return int((A100.usable - LLAMA.weight_bytes()) // LLAMA.kv_bytes(1, 1))


def of_states() -> str:
    """Bytes of Qwen3-Next's states, which are what its cache of no token takes."""
    hybrid = costlib.models["qwen3-next-80b-a3b"]
    one, two = (hybrid.kv_bytes(1, tokens) for tokens in (1, 2))
    return quantity(2 * one - two, "B", 3)


A100, GPT2 = costlib.devices["A100-80GB"], costlib.models["gpt2"]
#: A step of one sequence, a product of two square matrices, and the tokens of a long prompt.
ONE, SQUARE, FULL = LLAMA.decode(1, 1), matmul(4096, 4096, 4096), 8192
#: Bytes of a parameter that AdamW keeps beside weights and gradients: a copy and two moments.
OPTIMIZER = int(state_bytes(LLAMA, "bf16").optimizer // LLAMA.params())


def of_an_agent() -> list[Any]:
    """Calls, growth and first prompt of a session, and the per cent that a prefix cache saves."""
    of = serving.Session(calls=50, first=4000, answer=200, result=1000)
    saved = 1 - of.prefilled(cached=True) / of.prefilled(cached=False)
    return [of.calls, f"{of.grows:,}", f"{of.first:,}", f"{100 * saved:.0f}"]


def reloaded(tokens: int) -> float:
    """GB/s at which a prefix is reloaded in the time of its prefill."""
    return float(serving.even_link(serving.Server(LLAMA, H100), tokens)) / 1e9


#: All numbers of an entry: what is given and what follows.
NUMBERS: dict[str, list[Any]] = {
    "Agent": of_an_agent(),
    "Absorbed MLA": [round(absorbed(), -1)],
    "Acceptance rate": [0.8, 4, f"{expected_tokens(0.8, 4):.2f}"],
    "Activation checkpointing": [of_a_weight(4), of_a_weight(3)],
    "Adapter": [16, 4096, 4096, f"{one_square_adapter(16):,}", 4],
    "All-gather": [8, f"{8 * sent('all_gather'):.0f}/8"],
    "All-to-all": [experts_of(LATENT)[0]],
    "All-reduce": [8, sent("all_reduce")],
    "Arithmetic intensity": [4096, f"{float(matmul(4096, 4096, 4096).intensity()):,.0f}"],
    "Batch": [kvcache.largest_batch(LLAMA, A100, FULL).largest, f"{FULL:,}", 80],
    "Block table": [16, "1,000", -(-1000 // 16)],
    "Checkpoint": [f"{(2 + OPTIMIZER) * LLAMA.params() / 1e9:.0f} GB"],
    "Chunked prefill": [f"{FULL:,}", FULL // 512, 512],
    "Compulsory traffic": [4096, f"{SQUARE.bytes() / 1e6:.0f} MB"],
    "Decode": [quantity(ONE.bytes(), "B"), quantity(costlib.time(ONE, H100), "s")],
    "Embedding": [f"{LLAMA.vocab:,}", f"{LLAMA.d_model:,}"],
    "Gated feed-forward layer": [f"{3 * LLAMA.d_model * LLAMA.d_ff / 1e6:.0f} million"],
    "HBM": [f"{(H100.capacity or 0) / 2**30:.0f} GiB", f"{(H100.capacity or 0) / 1e9:.0f} GB"],
    "Head": [LLAMA.head_dim],
    "HFU": [f"{of_a_weight(4) / of_a_weight(3):.2f}"],
    "Kernel": [sum(op.count for op in ONE)],
    "Memory bound": [f"{float(ONE.intensity()):.0f}"],
    "MHA, MQA": [costlib.models["llama-2-7b"].heads, costlib.models["llama-2-7b"].kv_heads],
    "Mixed precision": [OPTIMIZER + 4],
    "Node": [costlib.nodes["DGX-H100"].devices],
    "Paging": [16, 16 - 1],
    "Prefill": [f"{FULL:,}", quantity(LLAMA.prefill(1, FULL).flops, "FLOP", 3)],
    "Residual stream": [f"{LLAMA.d_model:,}"],
    "Roofline": [100, f"{H100.attainable(100) / 1e12:.0f} TFLOP/s"],
    "Router": experts_of(LATENT),
    "Scores": [LLAMA.heads, f"{LLAMA.heads * FULL**2 / 1e9:.2f} billion", f"{FULL:,}"],
    "Throughput": [100, 20, f"{100 * 20:,}"],
    "Tied embeddings": [f"{GPT2.vocab * GPT2.d_model / 1e6:.1f} million"],
    "Tile": [128, 128, quantity(2 * 128 * 128, "B", 3)],
    "Top-p": [0.9],
    "Wave": [109, -(-109 // (A100.cores or 1)), A100.cores],
    "Window": [costlib.models["gpt-oss-20b"].window],
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
    "Expert": experts_of(costlib.models["mixtral-8x7b"]),
    "Feed-forward layer": [f"{LLAMA.d_ff:,}"],
    "FlashAttention": [f"{FULL:,}", f"{2 * FULL**2 / 1e6:.0f} MB"],
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
