"""models.json: parameters and cache of the models whose configs are in configs/."""

import json
from pathlib import Path
from typing import Any

import counting

DATA = Path(__file__).parent.parent


def make(names: list[str]) -> None:
    """Count every model of the file again, or those named."""
    file = DATA / "models.json"
    held = json.loads(file.read_text("utf-8"))
    for number, old in enumerate(held["models"]):
        if not names or old["model"] in names:
            config = json.loads((DATA / "configs" / f"{old['model']}.json").read_text("utf-8"))
            held["models"][number] = row(old["model"], config)
    file.write_text(json.dumps(held, indent=1), encoding="utf-8")


def row(name: str, config: dict) -> dict[str, Any]:
    """One model: what it holds, and what it keeps of a token."""
    model = counting.build(config)
    params, _ = counting.language_params(model)
    held, used = counting.routed_params(model, counting.count(model, 1, 8))
    table, head = model.get_input_embeddings().weight, model.get_output_embeddings().weight
    layers = counting.cache(model, (128, 256))
    windowed = [each for each in layers if "window" in each]
    return {
        "model": name,
        "architecture": type(model).__name__,
        "params_total": params,
        "params_active_per_token": params - held + used,
        "input_embedding": table.numel(),
        "lm_head": 0 if head is table else head.numel(),
        "tied": head is table,
        "position_embedding": positions(model),
        "kv_kind": kind(config),
        "kv_elements_per_token_per_layer": sum(
            layers[0].get(part, 0) for part in ("per_token", "in_window")
        ),
        "layers_full": sum(each["layers"] for each in layers if "window" not in each),
        "layers_sliding": sum(each["layers"] for each in windowed),
        "window": windowed[0]["window"] if windowed else None,
    }


def positions(model: Any) -> int:
    """Parameters of a learned table of positions."""
    named = {name.rpartition(".")[0]: part for name, part in model.named_parameters()}
    return sum(
        part.numel() for name, part in named.items() if name.endswith((".wpe", ".embed_positions"))
    )


def kind(config: dict) -> str:
    """How the heads share keys and values, in words."""
    if "kv_lora_rank" in config:
        return "MLA latent (kv_lora_rank+qk_rope_head_dim)"
    heads = config.get("num_attention_heads", config.get("n_head"))
    shared = config.get("num_key_value_heads") or heads
    return "MHA" if shared == heads else "MQA" if shared == 1 else "GQA"
