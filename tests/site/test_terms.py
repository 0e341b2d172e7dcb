"""The field's terms stand where they are treated, and no page has private words for them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from paths import ROOT

#: What each chapter treats, in the words that people search for. Each stands in a heading of it,
#: or in bold.
TREATED = {
    "agents": "agent, session, prefix caching, TTFT, KV-cache offloading, tier, break-even"
    " bandwidth, reload, recompute, eviction, LRU, hit rate, prefix-aware routing, host"
    " memory, expert offloading, unified memory, laptop, reinforcement learning, GRPO, PPO,"
    " rollout, wave, policy update, reference model, reward model, critic, asynchronous"
    " sampling, off-policy, staleness",
    "attention": "self-attention, scores, softmax, multi-head attention, MHA, GQA, MQA,"
    " query head, KV head, causal mask, sliding window, document mask, packing, online"
    " softmax, FlashAttention, materialised, backward pass, crossover",
    "instructors": "sandbox, grade, Gradescope, nbgrader, Moodle, Canvas",
    "iomodel": "HBM, SRAM, fast memory, slow memory, FlashAttention, online softmax,"
    " compulsory traffic, tile",
    "kvcache": "KV cache, prefill, decode, MHA, GQA, MQA, MLA, reserve,"
    " gpu_memory_utilization, fragmentation, KV-cache capacity, context length, crossover,"
    " sliding window, linear attention, state space model, quantisation, paged,"
    " PagedAttention, block table, prefix caching, speculative decoding, draft model,"
    " verifies, acceptance rate, vLLM, SGLang, llama.cpp, TensorRT-LLM",
    "latent": "MLA, latent, decoupled RoPE, naive, absorbed, multi-query attention, tensor"
    " parallelism",
    "lowerbounds": "pebble game, red-blue, partition, dominator, segment, lower bound",
    "matmul": "FLOP, FLOP/s, FMA, MAC, einsum, GEMM, GEMV, peak rate, sparse, HBM,"
    " arithmetic intensity, ridge, memory bound, compute bound, prefill, decode, batch size,"
    " ledger, kernel",
    "measured": "calibrat, fitted, held out, launch, roofline",
    "notation": "FLOP, FLOPs, FLOP/s, GB, GiB, peak rate, entries",
    "parallel": "collective, ring, tree, all-reduce, all-gather, reduce-scatter,"
    " all-to-all, data parallel, ZeRO, FSDP, tensor parallel, sequence parallel, pipeline,"
    " microbatch, bubble, interleaved, DualPipe, expert parallel, node-limited routing,"
    " context parallel, ring attention, mesh, straggler",
    "roofline": "roofline, ridge point, HBM, SRAM, shared memory, L2, tensor core,"
    " arithmetic intensity, memory bound, compute bound, TTFT, prefill, decode, kernel,"
    " kernel launch, fused, tiles and waves, quantisation, weight-only quantization, tensor"
    " parallelism, all-reduce, speculative decoding, CUDA graph",
    "serving": "TTFT, TPOT, ITL, SLO, goodput, throughput, concurrency, prefill, decode,"
    " batch size, static batching, continuous batching, queue, Little's law, saturation,"
    " p50, p99, energy, price",
    "serving_faster": "chunked prefill, disaggregation, paged, prefix caching, preemption,"
    " quantization, weight-only, fp8, speculative decoding, draft model, acceptance rate,"
    " MTP, expert parallel, redundant experts, imbalance, node-limited routing, two-batch"
    " overlap, tensor parallelism, one-shot, two-shot, decode context parallelism, long"
    " context, sparse attention, indexer, linear attention",
    "sources": "FLOP counter, MAC, convention, error, embedding, lower bound, MFU",
    "sweeps": "gradient, configurations",
    "training": "activation checkpointing, gradient accumulation, Adam, optimizer states,"
    " mixed precision, master, ZeRO, FSDP, MFU, HFU, fp8, MXFP8, Muon, MTP, LoRA, QLoRA,"
    " scaling law, compute-optimal, Chinchilla, critical batch size, checkpoint",
    "transformer": "residual stream, feed-forward layer, MLP, FFN, GELU, gated, SwiGLU,"
    " RMSNorm, rotary embeddings, RoPE, embedding, unembedding, LM head, logits, tied,"
    " parameter count, prefill, decode, training, backward pass, activation checkpointing,"
    " MFU, mixture of experts, MoE, router, expert, shared expert, active parameters",
}
#: Words that were this book's alone, and the field's.
PRIVATE = {
    r"gives? out|given out": "usable memory",
    r"(?:more|another|each|many|few|all) readers?|readers? (?:at a time|at once|each)": "users",
    r"prompts? (?:is|are|was|were) read|read(?:s|ing)? (?:the|a|its|their|each|long|whole) prompts?"
    "": "prefill",
    r"prompts? in the way|prompts? in (?:pieces|parts)": "chunked prefill",
    r"writ(?:es?|ing) (?:the|an|its|their) answers?|those who write": "decode, generate",
    r"million tokens (?:read|written)|further tokens": "input tokens, output tokens",
    r"slowest (?:\w+ )?in a hundred|one in a hundred waits?": "p99",
    r"seconds (?:for|to) (?:the|a) first token": "TTFT",
    r"at the brim|stock of tokens": "KV-cache capacity",
    r"places? (?:in|of|for) (?:the batch|sequences|requests)": "batch slots",
    r"wires?": "links",
    r"the bend": "the ridge point",
    r"weight products|products? with weights": "GEMMs with the weights",
    r"the (?:moving|multiplying)": "memory time, compute time",
    r"heads (?:that|which|for) (?:guess|further)|guess(?:es|ed)? ahead": "MTP layers",
    r"guess(?:ed tokens?|es (?:a|per) step)|tokens? (?:is|are|was|were) guessed": "draft tokens",
    r"how many of them|as that has them": "the noun that is meant",
    r"predicted too fast": "predicted too short",
    r"dealt out": "distributed",
    r"(?:which|whose) letter is (?:cut|divided)": "which dimension is sharded",
    r"hands? (?:it|them|its \w+) on": "sends to the next stage",
    r"(?:is|are|was|were) held against": "compared with",
    r"honest form": "accurate version",
    r"(?:boundless|unbounded) cache": "cache of unlimited capacity",
    r"rate of hits": "hit rate",
    r"tokens? of the past|past tokens?": "cached tokens",
    r"hot copies|copies of the hot": "redundant experts",
    r"(?:prompt|reading) (?:machine|server|instance)s?": "prefill servers",
    r"(?:answer|writing) (?:machine|server|instance)s?": "decode servers",
    r"crossing of (?:the|a) cache": "KV-cache transfer",
    r"static(?:ally)? refilled|refilled batch(?:es)?": "continuous batching",
}
#: Further words that no label, help text, error or docstring uses.
IN_INTERFACES = {
    r"readers? (?:gets?|waits?|who)|one reader": "users",
    r"prompts? (?:prefilled )?in pieces": "chunked prefill",
    r"tokens a second for (?:one|all|each)": "tokens/s per user, tokens/s in total",
    r"seconds a token|ms a token|writes? (?:a|the first|each) token": "TPOT, TTFT",
    r"per_token_s|first_token_s|dollars_per_million": "tpot_s, ttft_s, usd_per_million",
    r"takes? (?:it|them) on": "counts",
    r"kept back|keeps back": "reserved",
    r"put back": "preempted",
    r"hangs? on": "depends on",
    r"without end": "unlimited",
    r"choice beside": "another choice",
    r"dollars a device hour": "$ per device-hour",
    r"datasheets? (?:promise|say)s?|promised by (?:a|the) datasheet": "is on the datasheet",
    r"(?:is|are) no (?:number|whole number|cut|throughput)": "is not a number",
    r"(?:is|are) none of": "is not one of",
    r"(?:is|are) (?:not )?told": "is given",
}
NOT_TEXT = re.compile(r"```.*?```|`[^`\n]+`|<!--.*?-->|<[^>]+>|\]\([^)]*\)", re.DOTALL)
MADE = ("bibliography", "devices", "models")
#: Strings of a script that have a space in them.
QUOTED = re.compile(r"'[^'\n]* [^'\n]*'|`[^`\n]* [^`\n]*`")
SHOWING = [
    *sorted((ROOT / "book" / "_static" / "explorers").glob("*.js")),
    *sorted((ROOT / "costfigures").rglob("*.py")),
    *sorted((ROOT / "course").rglob("*.py")),
    *sorted((ROOT / "costlib").rglob("*.py")),
]
PAGES = [page for page in sorted((ROOT / "book").glob("*.md")) if page.stem not in MADE]


@pytest.mark.parametrize("chapter", TREATED)
def test_a_chapter_names_what_it_treats(chapter: str) -> None:
    text = (ROOT / "book" / f"{chapter}.md").read_text("utf-8")
    shown = re.findall(r"^#+ (.+)$|\*\*([^*\n]+)\*\*", text, re.MULTILINE)
    named = " ".join(heading + bold for heading, bold in shown).lower()
    assert [term for term in TREATED[chapter].split(", ") if term.lower() not in named] == []


@pytest.mark.parametrize("page", [*PAGES, ROOT / "README.md"], ids=lambda page: page.stem)
def test_a_page_has_no_private_words(page: Path) -> None:
    assert private(NOT_TEXT.sub(" ", page.read_text("utf-8"))) == {}


@pytest.mark.parametrize("file", SHOWING, ids=lambda file: file.name)
def test_what_is_shown_has_no_private_words(file: Path) -> None:
    """Labels, sentences, help and errors. The library's docstrings are a reference, so they are
    read too."""
    text = file.read_text("utf-8")
    if file.suffix == ".js":
        shown = QUOTED.findall(text)
    elif "costlib" in file.relative_to(ROOT).parts:
        shown = list(texts(ast.parse(text), docstrings=True))
    else:
        shown = list(texts(ast.parse(text)))
    assert private("\n".join(shown), PRIVATE | IN_INTERFACES) == {}


def private(text: str, words: dict[str, str] | None = None) -> dict[str, str]:
    """The private words of a text, and what to say instead.

    >>> private("What the device gives out, by its links.")
    {'gives out': 'say usable memory'}
    """
    return {
        match[0]: f"say {term}"
        for pattern, term in (PRIVATE if words is None else words).items()
        for match in re.finditer(rf"\b(?:{pattern})\b", text, re.IGNORECASE)
    }


def texts(tree: ast.AST, *, docstrings: bool = False) -> Iterator[str]:
    """The strings of some Python, without docstrings unless they are asked for.

    >>> list(texts(ast.parse("'said'; x = 'shown'; y = f'{x} too'")))
    ['shown', ' too']
    """
    said = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    said = set() if docstrings else said
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in said:
            yield node.value
