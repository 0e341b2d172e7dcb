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
    "agents": "agent, prefix caching, TTFT, KV-cache offloading, reload, recompute, eviction, LRU,"
    " hit rate, prefix-aware routing, host memory, expert offloading, unified memory,"
    " reinforcement learning, GRPO, PPO, rollout, policy update, reference model, reward model,"
    " critic, asynchronous sampling, off-policy, staleness",
    "attention": "multi-head attention, GQA, MQA, causal mask, sliding window, online softmax",
    "iomodel": "HBM, FlashAttention, online softmax, compulsory traffic, tile",
    "kvcache": "KV cache, prefill, decode, MHA, GQA, MQA, MLA, reserve, sliding window, paged,"
    " prefix caching, speculative decoding, draft model, acceptance rate",
    "latent": "MLA, latent, naive, absorbed",
    "lowerbounds": "pebble game, dominator, segment, lower bound",
    "matmul": "FLOP, FMA, einsum, GEMM, arithmetic intensity, ridge, memory bound, compute bound",
    "measured": "calibrat, held out",
    "parallel": "collective, all-reduce, all-gather, reduce-scatter, all-to-all, data parallel,"
    " FSDP, tensor parallel, sequence parallel, pipeline, bubble, expert parallel,"
    " context parallel",
    "roofline": "roofline, ridge point, HBM, kernel, quantisation, tensor parallelism, all-reduce,"
    " speculative decoding, CUDA graph",
    "serving": "TTFT, TPOT, ITL, SLO, goodput, concurrency, continuous batching, Little's law,"
    " saturation",
    "serving_faster": "chunked prefill, disaggregation, paged, prefix caching, preemption,"
    " quantization, speculative decoding, draft model, acceptance rate, MTP, expert parallel,"
    " tensor parallelism, decode context parallelism, indexer",
    "training": "activation checkpointing, optimizer states, mixed precision, ZeRO, FSDP, MFU,"
    " HFU, fp8, MXFP8, Muon, MTP, LoRA, QLoRA, Chinchilla, critical batch size",
    "transformer": "residual stream, feed-forward layer, rotary embeddings, embedding,"
    " unembedding, tied, prefill, decode, training, mixture of experts",
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
}
NOT_TEXT = re.compile(r"```.*?```|`[^`\n]+`|<!--.*?-->|<[^>]+>|\]\([^)]*\)", re.DOTALL)
MADE = ("bibliography", "devices", "models")
#: Strings of a script that have a space in them.
QUOTED = re.compile(r"'[^'\n]* [^'\n]*'|`[^`]* [^`]*`")
SHOWING = [
    *sorted((ROOT / "book" / "_static" / "explorers").glob("*.js")),
    *sorted((ROOT / "costfigures").rglob("*.py")),
    *sorted((ROOT / "costlib" / "command").glob("*.py")),
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
    """Words in figures and explorers, and the command's help: texts, without docstrings."""
    text = file.read_text("utf-8")
    shown = QUOTED.findall(text) if file.suffix == ".js" else list(texts(ast.parse(text)))
    assert private("\n".join(shown)) == {}


def private(text: str) -> dict[str, str]:
    """The private words of a text, and what to say instead.

    >>> private("What the device gives out, by its links.")
    {'gives out': 'say usable memory'}
    """
    return {
        match[0]: f"say {term}"
        for words, term in PRIVATE.items()
        for match in re.finditer(rf"\b(?:{words})\b", text, re.IGNORECASE)
    }


def texts(tree: ast.AST) -> Iterator[str]:
    """The strings of some Python that are not docstrings.

    >>> list(texts(ast.parse("'said'; x = 'shown'; y = f'{x} too'")))
    ['shown', ' too']
    """
    said = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in said:
            yield node.value
