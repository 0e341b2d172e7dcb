"""2·m·k·n stands once: changed in that one place, it changes in every product of every model."""

from __future__ import annotations

import pytest

from costlib import attention, linear, matmul, models, training
from costlib.layers import matmul as formula
from costlib.layers.attention import attention_backward
from costlib.layers.matmul import linear_backward
from costlib.model.transformer import Transformer
from costlib.units.ledger import Ledger

#: Models whose layers have products of different kinds: dense, mixtures, latents, indexers,
#: linear attention and state spaces, streams beside the residual one.
KINDS = (
    *("llama-3-8b", "gpt2", "mixtral-8x7b", "deepseek-v3", "deepseek-v3.2", "gpt-oss-20b"),
    *("falcon-mamba-7b", "mamba-codestral-7b", "qwen3-next-80b-a3b", "kimi-linear-48b-a3b"),
    *("minimax-m3", "lfm3-1.7b", "gemma-4-e2b", "deepseek-v4-flash"),
)


def works(name: str) -> dict[str, Ledger]:
    """Passes of a model that is made anew, so that nothing is remembered from an earlier count."""
    model = Transformer.from_hf(models.data["models"][name]["config"]["value"])
    found = {
        "prefill": model.prefill(2, 300),
        "decode": model.decode(2, 300),
        "training": model.training_step(1, 64),
    }
    if name == "llama-3-8b":
        found["adapters"] = training.adapter_step(model, 1, 64, training.lora(rank=8))
    return found


def products(work: Ledger) -> dict[str, float]:
    """FLOPs of each product of a pass; some names stand more than once."""
    return {f"{n} {op.name}": op.flops for n, op in enumerate(work) if op.is_matmul}


@pytest.mark.parametrize("name", KINDS)
def test_one_factor_reaches_every_product(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    before = {kind: products(work) for kind, work in works(name).items()}
    monkeypatch.setattr(formula, "FLOPS_PER_MULTIPLY_ADD", 20)
    after = {kind: products(work) for kind, work in works(name).items()}
    for kind, found in before.items():
        assert after[kind] == {op: 10 * flops for op, flops in found.items()}, kind
        assert found


def test_it_reaches_what_chapters_count(monkeypatch: pytest.MonkeyPatch) -> None:
    def counts() -> list[int]:
        ledgers = (
            matmul(2, 3, 4) + matmul(5, 6, 7, batch=8),
            linear(2, 3, 4) + linear_backward(2, 3, 4),
            attention(2, 8, 4, 16, kv_heads=2, causal=True),
            attention_backward(2, 8, 4, 16),
        )
        return [ledger.matmul_flops for ledger in ledgers]

    before = counts()
    monkeypatch.setattr(formula, "FLOPS_PER_MULTIPLY_ADD", 20)
    assert counts() == [10 * flops for flops in before]
