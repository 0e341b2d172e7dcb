"""llm-analysis: configs of a model, of a GPU and of how it is shared; a summary of what it takes.

Its layers have two products of weights, so a gated one is told as two of 1.5 times the width, as
its own configs of Llama do. Efficiencies are what they are unless told otherwise: 1.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

Row = dict[str, Any]
NEEDS = ["llm-analysis==0.2.2"]
REMARKS = {
    "fits": "input and output share one embedding, whatever the model",
    "price": "all prompts of a batch are read at once, so that their activations bound it",
}
MODELS = Path()  # `ask` says where configs are
A100, H100 = "a100-sxm-80gb", "h100-sxm-80gb"

#: Layers, heads, heads of keys, width, width within, tokens of the vocabulary.
SIZES = {
    "llama-2-7b": (32, 32, 32, 4096, 11008, 32000),
    "llama-2-70b": (80, 64, 8, 8192, 28672, 32000),
    "llama-3.1-8b": (32, 32, 8, 4096, 14336, 128256),
    "mixtral-8x7b": (32, 32, 8, 4096, 14336, 32000),
}


def prepare() -> None:
    """Its own configs of these models, as files."""
    for name, (layers, heads, kv_heads, width, within, vocab) in SIZES.items():
        experts = {"moe_num_experts": 8, "moe_top_k": 2} if name.startswith("mixtral") else {}
        config = experts | {
            "name": name,
            "num_layers": layers,
            "n_head": heads,
            "hidden_dim": width,
            "vocab_size": vocab,
            "num_key_value_heads": kv_heads,
            "ffn_embed_dim": within * 3 // 2,
            "expansion_ratio": within * 1.5 / width,
        }
        (MODELS / f"{name}.json").write_text(json.dumps(config), "utf-8")


def fits(row: Row) -> float:
    from llm_analysis.analysis import LLMAnalysis
    from llm_analysis.config import get_gpu_config_by_name, get_model_config_by_name

    model = get_model_config_by_name(str(MODELS / f"{row['model']}.json"))
    roomy = replace(get_gpu_config_by_name(A100), mem_per_GPU_in_GB=1000)
    found = LLMAnalysis(model, roomy).inference(1, row["context"] - 1, 1)
    return float(found["weight_memory_per_gpu"] + found["kv_cache_memory_per_gpu"])


def batch(row: Row) -> float:
    from llm_analysis.analysis import LLMAnalysis
    from llm_analysis.config import get_gpu_config_by_name, get_model_config_by_name

    model = get_model_config_by_name(str(MODELS / f"{row['model']}.json"))
    given = replace(get_gpu_config_by_name(A100), mem_per_GPU_in_GB=72)
    found = LLMAnalysis(model, given).inference(1, row["context"] - 1, 1)
    return float(found["decode_max_batch_size_per_gpu"])


def decode(row: Row) -> float:
    from llm_analysis.analysis import infer

    found = infer(str(MODELS / f"{row['model']}.json"), A100, seq_len=row["context"])
    return float(found["decode_tokens_per_sec"])


def prefill(row: Row) -> float:
    from llm_analysis.analysis import infer

    found = infer(str(MODELS / f"{row['model']}.json"), A100, seq_len=row["prompt"])
    return float(1000 * found["prefill_latency"])


def training_memory(row: Row) -> float:
    return float(_training(row)["(weight+op_state+grad+act)_memory_per_gpu"])


def plan(row: Row) -> float:
    return float(_training(row)["latency_per_iter"])


def _training(row: Row) -> Any:
    from llm_analysis.analysis import ActivationRecomputation, DSZeRO, LLMAnalysis
    from llm_analysis.config import (
        DtypeConfig,
        ModelConfig,
        ParallelismConfig,
        get_gpu_config_by_name,
    )

    model = ModelConfig(
        "gpt",
        num_layers=row["layers"],
        n_head=row["heads"],
        hidden_dim=row["width"],
        vocab_size=row["vocab"],
        max_seq_len=row["seq"],
    )
    shared = ParallelismConfig(row["tensor"], row["pipeline"], row["data"], sp_size=1)
    return LLMAnalysis(model, get_gpu_config_by_name(A100), DtypeConfig(), shared).training(
        batch_size_per_gpu=row["microbatch"],
        global_batch_size=row["batch"],
        seq_len=row["seq"],
        activation_recomputation=ActivationRecomputation.FULL,
        ds_zero=DSZeRO(row["zero"]),
        flash_attn=False,
    )


def mixture(row: Row) -> float:
    from llm_analysis.analysis import LLMAnalysis
    from llm_analysis.config import get_gpu_config_by_name, get_model_config_by_name

    model = get_model_config_by_name(str(MODELS / f"{row['model']}.json"))
    found = LLMAnalysis(model, get_gpu_config_by_name(A100))
    return float(
        {"params": found.total_num_params, "active": found.total_num_active_params}[row["which"]]
    )


def quantised(row: Row) -> float:
    from llm_analysis.analysis import infer

    model, bits = str(MODELS / f"{row['model']}.json"), f"w{row['bits']}a16e16"
    return float(infer(model, A100, bits, seq_len=row["context"])["decode_tokens_per_sec"])


def price(row: Row) -> float:
    from llm_analysis.analysis import infer

    asked = {"seq_len": row["prompt"], "num_tokens_to_generate": row["answer"]}
    asked |= {"model_name": str(MODELS / f"{row['model']}.json"), "gpu_name": H100}
    one = infer(dtype_name="w8a8e16", **asked)
    most = min(one["prefill_max_batch_size_per_gpu"], one["decode_max_batch_size_per_gpu"])
    found = infer(
        dtype_name="w8a8e16",
        batch_size_per_gpu=int(0.9 * most),
        cost_per_gpu_hour=row["per_hour"],
        **asked,
    )
    return float(1000 * found["total_cost_per_1k_tokens"])


def sweep(rows: list[Row]) -> list[float | None]:
    from llm_analysis.analysis import LLMAnalysis
    from llm_analysis.config import get_gpu_config_by_name, get_model_config_by_name

    model = get_model_config_by_name(str(MODELS / f"{rows[0]['model']}.json"))
    analysis = LLMAnalysis(model, get_gpu_config_by_name(A100))
    return [_throughput(analysis, row) for row in rows]


def _throughput(analysis: Any, row: Row) -> float | None:
    try:
        found = analysis.inference(row["batch"], row["prompt"], row["answer"])
    except AssertionError:  # it does not fit
        return None
    return float(found["total_tokens_per_sec"])
