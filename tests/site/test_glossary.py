"""The numbers of the glossary are what the library says."""

from __future__ import annotations

import re
from typing import Any

import pytest

import costlib
from costlib import kvcache, parallel, serving
from costlib.iomodel import fast_memory, pebbles
from costlib.layers.attention import latent_attention, pairs
from costlib.layers.matmul import matmul
from costlib.model.engines import ENGINES as RULES
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
    r"|Llama 3\.2 1B|\b(16|32|8 or 4) bits|\b(4|16)-bit|PCIe 5\.0|\d·m·k·n|\bp(50|99)\b|\], 2024\)"
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
    """Parameters of the adapter of one 4,096 × 4,096 matrix."""
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


def of_linear_layers() -> list[int]:
    """Layers with a state instead of a cache in Qwen3-Next, and all of them."""
    hybrid = costlib.models["qwen3-next-80b-a3b"]
    return [next(int(n) for cache, n in hybrid.caches() if cache.state), int(hybrid.layers)]


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


def ms(seconds: Any, digits: int = 0) -> str:
    """Milliseconds, as the glossary prints them."""
    return f"{1000 * float(seconds):.{digits}f} ms"


def of_a_full_device() -> list[Any]:
    """Tokens per second of one user alone, and of as many as fit and of one of these."""
    full = int(kvcache.largest_batch(LLAMA, H100, FULL).largest)
    alone, step = (1 / costlib.time(LLAMA.decode(n, FULL), H100) for n in (1, full))
    return [f"{alone:.0f}", f"{FULL:,}", f"{full * step:,.0f}", full, f"{step:.0f}"]


def of_offloaded_experts() -> list[Any]:
    """GB of the experts of a token of Mixtral, and seconds to read them over a bus."""
    mixtral = costlib.models["mixtral-8x7b"]
    of_layer = 3 * mixtral.d_model * experts_of(mixtral)[0] * mixtral.moe.width  # type: ignore
    size = 2 * int(mixtral.layers) * of_layer / 1e9
    return [f"{size:.1f}", f"{size / BUS:.2f}", 16]


def of_mfu() -> int:
    """Per cent of an A100's rate in the 184,320 hours that the paper on Llama 2 reports for 7B."""
    step = costlib.models["llama-2-7b"].training_step(1, 4096, scores="materialised")
    needed = step.flops / 4096 * 2e12
    return round(100 * float(needed / (184_320 * 3600 * A100.compute_rate())))


def of_a_shared_prefix() -> list[Any]:
    """GB of the caches of users with a common prefix, kept once and kept by each."""
    first, rest = LLAMA.kv_bytes(1, 4096), 64 * LLAMA.kv_bytes(1, 1024)
    return [f"{(first + rest) / 1e9:.1f}", f"{(64 * first + rest) / 1e9:.1f}"]


def speculated() -> str:
    """What four drafts of a small model gain for one user."""
    server = serving.Server(LLAMA, H100)
    gain = serving.speculate(server, "llama-3.2-1b", batch=1, context=2048, accepted=0.8, drafts=4)
    return f"{float(gain):.2f}"


#: GB/s of sixteen lanes of PCIe 5.0: 32 GT/s each, 128 of 130 bits.
BUS = 16 * 32 * 128 / 130 / 8
#: Of the prompts and caches of several entries.
PREFILL, CACHE = ms(costlib.time(LLAMA.prefill(1, FULL), H100)), LLAMA.kv_bytes(1, FULL)
ROOM = int(kvcache.largest_batch(LLAMA, A100, FULL).largest)
#: What several entries say.
LONG, WIDTH, RIDGE = f"{FULL:,}", f"{LLAMA.d_model:,}", f"{H100.ridge():.0f}"
STEP, READ = quantity(costlib.time(ONE, H100), "s"), quantity(ONE.bytes(), "B")
PEAK = quantity(H100.compute_rate(), "FLOP/s", 3)
#: All numbers of an entry: what is given and what follows.
NUMBERS: dict[str, list[Any]] = {
    "Agent": of_an_agent(),
    "Absorbed MLA": [round(absorbed(), -1)],
    "Acceptance rate": [0.8, 4, f"{expected_tokens(0.8, 4):.2f}"],
    "Activation checkpointing": [of_a_weight(4), of_a_weight(3)],
    "Adapter": [16, "4,096", "4,096", f"{one_square_adapter(16):,}", 4],
    "All-gather": [8, f"{8 * sent('all_gather'):.0f}/8"],
    "All-to-all": [experts_of(LATENT)[0]],
    "All-reduce": [8, sent("all_reduce")],
    "Arithmetic intensity": ["4,096", f"{float(matmul(4096, 4096, 4096).intensity()):,.0f}"],
    "Batch": [kvcache.largest_batch(LLAMA, A100, FULL).largest, LONG, 80],
    "Block table": [16, "1,000", -(-1000 // 16)],
    "Checkpoint": [f"{(2 + OPTIMIZER) * LLAMA.params() / 1e9:.0f} GB"],
    "Chunked prefill": [LONG, FULL // 512, 512],
    "Compulsory traffic": ["4,096", f"{SQUARE.bytes() / 1e6:.0f} MB"],
    "Decode": [READ, STEP],
    "Embedding": [f"{LLAMA.vocab:,}", WIDTH],
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
    "Prefill": [LONG, quantity(LLAMA.prefill(1, FULL).flops, "FLOP", 3)],
    "Residual stream": [WIDTH],
    "Roofline": [100, f"{H100.attainable(100) / 1e12:.0f} TFLOP/s"],
    "Router": experts_of(LATENT),
    "Scores": [LLAMA.heads, f"{LLAMA.heads * FULL**2 / 1e9:.2f} billion", LONG],
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
    "Causal mask": ["4,096", "4,096", f"{50 + 50 / 4096:.2f}"],
    "Core": [H100.cores],
    "Critical batch size": [RIDGE],
    "Document mask": [
        "1,024",
        f"{400 * pairs(1024, causal=True) / pairs(4096, causal=True):.2f}",
        "4,096",
    ],
    "Expert": experts_of(costlib.models["mixtral-8x7b"]),
    "Feed-forward layer": [f"{LLAMA.d_ff:,}"],
    "FlashAttention": [LONG, f"{2 * FULL**2 / 1e6:.0f} MB"],
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
    "Peak rate": [PEAK],
    "Percentile": [99],
    "Quantization": [4, f"{LARGE.params() / 2 / 1e9:.1f} GB", f"{LARGE.params() * 2 / 1e9:.1f} GB"],
    "Ridge": [RIDGE],
    "Rotary embeddings": [op_of(LLAMA, "rotary").flops // (128 * (32 + 8) * LLAMA.layers)],
    "SLO": [95],
    "SRAM": [quantity(costlib.devices["A100-80GB"].on_chip or 0, "B", 3)],
    "State": [of_states()],
    "Tensor parallelism": [in_a_layer(LARGE)],
    "TPOT": [20, 1000 // 20],
    "Unembedding": [quantity(op_of(LLAMA, "unembedding").flops, "FLOP", 3)],
    "Unified memory": [quantity(costlib.devices["M4-Max"].bytes_per_s, "B/s")],
    "ZeRO": [16, 8, 16 // 8],
    "Activation": [f"{LLAMA.d_ff:,}"],
    "Collective": [8, 2 * (8 - 1), 8 - 1, 8 - 1],
    "Compute bound": [LONG, f"{float(LLAMA.prefill(1, FULL).intensity()):,.0f}", RIDGE],
    "Concurrency": [2, 10, 2 * 10],
    "Context": [f"{LLAMA.context_length:,}"],
    "Context parallelism": [8, f"{FULL // 8:,}", LONG],
    "Continuous batching": ["1,000", round(100 * (1 + 1000) / 2 / 1000), 1],
    "Critic": [OPTIMIZER + 4],
    "CUDA graph": [sum(op.count for op in ONE), 5, ms(sum(op.count for op in ONE) * 5e-6, 1), STEP],
    "Data parallelism": [8, 2 * sent("all_reduce")],
    "Decode context parallelism": [8, f"{131_072 // 8:,}", "131,072"],
    "Dense": [f"{2 * H100.compute_rate() / 1e12:,.0f}", PEAK],
    "Disaggregation": [LONG, quantity(CACHE, "B", 3), ms(CACHE / (H100.interconnect or 0), 1)],
    "Draft model": [f"{costlib.models['llama-3.2-1b'].params() / 1e9:.2f}"],
    "Einsum": [2, 3, 4, matmul(2, 3, 4).flops],
    "Entry": [128, 128, f"{128 * 128:,}"],
    "Eviction": [ROOM, LONG],
    "Expert offloading": of_offloaded_experts(),
    "Expert parallelism": [64, 256 // 64, experts_of(LATENT)[1]],
    "Fast memory, slow memory": [f"{fast_memory(H100):,}"],
    "FLOP": [quantity(ONE.flops, "FLOP")],
    "Frontier of a server": of_a_full_device(),
    "FSDP": [8, 2 * (2 * sent("all_gather") + sent("reduce_scatter"))],
    "GEMM": ["4,096", quantity(SQUARE.flops, "FLOP")],
    "Goodput": [10, 95, 9.5],
    "GRPO": [64],
    "Hit rate": of_an_agent()[-1:],
    "Imbalance": [150, 100, 150 / 100],
    "I/O": ["4,096", f"{3 * 4096**2 / 1e6:.1f}"],
    "ITL": [LONG, PREFILL],
    "KV-cache offloading": [ms(CACHE / 1e9 / BUS), LONG, f"{BUS:.0f}", 16],
    "Latency": [64, 20, f"{64 * 1000 // 20:,}"],
    "Ledger": [len(ONE)],
    "Linear attention": of_linear_layers(),
    "MAC": [4.1, 2 * 4.1],
    "Materialised": [LONG, f"{4 * 2 * FULL**2 / 1e6:.0f} MB"],
    "MBU": [READ, 6, f"{100 * ONE.bytes() / (0.006 * H100.bytes_per_s):.0f}"],
    "Mesh": [8, 4, 8 * 4],
    "MFU": [of_mfu()],
    "Microbatch": [64, 16, 64 // 16],
    "Muon": [5],
    "Norm": [2 * LLAMA.layers + 1, LLAMA.layers],
    "Online softmax": [128, 128, f"{100 * 129 / (128 * 4 * 128):.2f}"],
    "Pebble game": [4, 3, pebbles.Game(pebbles.Dag.tree(4), red=3).optimal().cost],
    "Pipeline parallelism": [4, LLAMA.layers // 4, LLAMA.layers],
    "PPO": [4],
    "Preemption": [LONG, PREFILL],
    "Prefix caching": [64, "4,096", "1,024", *of_a_shared_prefix()],
    "Prefix-aware routing": [8, 100 / 8],
    "Projection": [
        f"{LLAMA.d_model:,} × {LLAMA.heads * LLAMA.head_dim:,}",
        f"{LLAMA.d_model:,} × {LLAMA.kv_heads * LLAMA.head_dim:,}",
    ],
    "Recipe": [OPTIMIZER + 4],
    "Recomputation": [f"{100 / 6:.1f}"],  # one product beside six
    "Reduce-scatter": [8, f"{8 * sent('reduce_scatter'):.0f}/8"],
    "Redundant experts": [32],
    "Reference model": [quantity(LLAMA.weight_bytes(), "B", 3)],
    "Reserve": [f"{H100.usable / 1e9:.1f} GB", f"{(H100.capacity or 0) / 1e9:.1f} GB"],
    "Rollout": [512, -(-512 // ROOM), ROOM],
    "Saturation": [0.5, round(1 / 0.5)],
    "Segment": ["1,000", "1,000", f"{2 * 1000:,}"],
    "Selective recomputation": [f"{200 / 6:.0f}"],  # two products beside six
    "Sequence parallelism": [8, f"{FULL // 8:,}", LONG],
    "SGLang": [RULES["sglang"].version],
    "Softmax": [op_of(LLAMA, "softmax").flops // (LLAMA.heads * LLAMA.layers * 2)],
    "Speculative decoding": [80, 4, speculated(), "2,048"],
    "Token": [f"{LLAMA.vocab:,}"],
    "TTFT": [LONG, PREFILL],
    "Weight-only quantization": [
        f"{costlib.time(ONE, H100) / costlib.time(ONE, H100, precision='int4'):.2f}"
    ],
}
#: Entries of which nothing can be counted: each says what kind of thing it is.
WORDS = {
    *("Asynchronous sampling", "Calibrate", "Dominator", "Held out", "Interval (of a constant)"),
    *("Off-policy", "Policy", "Reward model", "Staleness"),
}


@pytest.mark.parametrize("term", ENTRIES)
def test_numbers_of_a_term(term: str) -> None:
    left = NAMES.sub("", re.sub(r"\]\([^)]*\)", "]", ENTRIES[term]))
    for number in NUMBERS.get(term, []):
        assert str(number) in left, (number, left)
        left = left.replace(str(number), "", 1)
    assert not re.search(r"\d", left), left


def test_every_term_has_a_number_or_is_a_word() -> None:
    assert set(NUMBERS) | WORDS == set(ENTRIES)
    assert set(NUMBERS) & WORDS == set()
