"""flops.json: what torch's counter and XLA's cost analysis say of matmuls, attention and models."""

import json
from pathlib import Path
from typing import Any

import counting
import jax
import jax.numpy as jnp
import torch
from torch.utils.flop_counter import FlopCounterMode

DATA = Path(__file__).parent.parent
XLA_KEYS = ("flops", "transcendentals", "bytes accessed")


def make(names: list[str]) -> None:
    """Count every row of the file again, or those whose ids are named."""
    file = DATA / "flops.json"
    held = json.loads(file.read_text("utf-8"))
    for part, counted in (("torch", torch_row), ("xla", xla_row)):
        for row in held[part]:
            if not names or row["id"] in names:
                row.update(counted(row["id"].split(".")[1], row["params"]))
    file.write_text(json.dumps(held, indent=1), encoding="utf-8")


def torch_row(what: str, sizes: dict[str, Any]) -> dict[str, Any]:
    """FLOPs of one call, on tensors that have a shape and no values."""
    if what == "model":
        return {"flops": model_flops(sizes)}
    with torch.device("meta"), FlopCounterMode(display=False) as counting_mode:
        TORCH[what](sizes)
    return {"flops": counting_mode.get_total_flops()}


def model_flops(sizes: dict[str, Any]) -> int:
    """FLOPs of one pass of a model of configs/."""
    config = json.loads((DATA / "configs" / f"{sizes['model']}.json").read_text("utf-8"))
    model = counting.build(config, attention=sizes["attn"])
    kept = {"logits_to_keep": 1} if sizes["logits"] == "last" else {}
    counter = counting.count(model, sizes["B"], sizes["new_tokens"], sizes["cache"], **kept)
    return counter.get_total_flops()


def heads(sizes: dict[str, Any]) -> tuple[torch.Tensor, ...]:
    """Queries, keys and values, each with its own heads."""
    batch = sizes["B"]
    return (
        torch.empty(batch, sizes["H"], sizes["Sq"], sizes["D"]),
        torch.empty(batch, sizes["Hkv"], sizes["Sk"], sizes["D"]),
        torch.empty(batch, sizes["Hkv"], sizes["Sk"], sizes["Dv"]),
    )


def naive(sizes: dict[str, Any]) -> torch.Tensor:
    query, key, value = heads(sizes)
    share = sizes["H"] // sizes["Hkv"]
    key, value = (each.repeat_interleave(share, dim=1) for each in (key, value))
    return torch.softmax(query @ key.transpose(-1, -2), dim=-1) @ value


def fused(sizes: dict[str, Any]) -> torch.Tensor:
    attention = torch.nn.functional.scaled_dot_product_attention
    return attention(*heads(sizes), is_causal=sizes["is_causal"], enable_gqa=True)


def product(sizes: dict[str, Any]) -> torch.Tensor:
    batch = [sizes["batch"]] if "batch" in sizes else []
    left, right = ((sizes["M"], sizes["K"]), (sizes["K"], sizes["N"]))
    return torch.empty(*batch, *left) @ torch.empty(*batch, *right)


TORCH = {"mm": product, "bmm": product, "attn_naive": naive, "sdpa_meta": fused}


def xla_row(what: str, sizes: dict[str, Any]) -> dict[str, Any]:
    """XLA's own account of one program, before it optimises it and after."""
    function, shapes = XLA[what](sizes)
    kind = {"f32": jnp.float32, "bf16": jnp.bfloat16}[sizes["dtype"]]
    lowered = jax.jit(function).lower(*(jax.ShapeDtypeStruct(each, kind) for each in shapes))
    counted = lowered.cost_analysis()
    compiled = lowered.compile().cost_analysis()
    return {
        "lowered": {key: round(counted.get(key, 0)) for key in XLA_KEYS},
        "compiled_flops": round(compiled["flops"]),
    }


def xla_product(sizes: dict[str, Any]) -> tuple[Any, list[tuple[int, ...]]]:
    return jnp.matmul, [(sizes["M"], sizes["K"]), (sizes["K"], sizes["N"])]


def xla_scores(sizes: dict[str, Any]) -> tuple[Any, list[tuple[int, ...]]]:
    query, key, _ = xla_heads({**sizes, "Hkv": sizes["H"], "Dv": 0})
    return lambda q, k: jnp.einsum("bhqd,bhkd->bhqk", q, k), [query, key]


def xla_mix(sizes: dict[str, Any]) -> tuple[Any, list[tuple[int, ...]]]:
    query, _, value = xla_heads({**sizes, "Hkv": sizes["H"], "D": 0})
    scores = (*query[:3], sizes["Sk"])
    return lambda p, v: jnp.einsum("bhqk,bhkd->bhqd", p, v), [scores, value]


def xla_heads(sizes: dict[str, Any]) -> list[tuple[int, ...]]:
    batch = sizes["B"]
    return [
        (batch, sizes["H"], sizes["Sq"], sizes["D"]),
        (batch, sizes["Hkv"], sizes["Sk"], sizes["D"]),
        (batch, sizes["Hkv"], sizes["Sk"], sizes["Dv"]),
    ]


def xla_attention(sizes: dict[str, Any]) -> tuple[Any, list[tuple[int, ...]]]:
    share = sizes["H"] // sizes["Hkv"]

    def attend(query: Any, key: Any, value: Any) -> Any:
        if share > 1:
            key, value = (jnp.repeat(each, share, axis=1) for each in (key, value))
        scores = jnp.einsum("bhqd,bhkd->bhqk", query, key) / sizes["D"] ** 0.5
        if sizes.get("causal"):
            seen = jnp.arange(sizes["Sq"])[:, None] >= jnp.arange(sizes["Sk"])[None, :]
            scores = jnp.where(seen, scores, -jnp.inf)
        return jnp.einsum("bhqk,bhkd->bhqd", jax.nn.softmax(scores), value)

    return attend, xla_heads(sizes)


XLA = {
    "mm": xla_product,
    "attn_naive": xla_attention,
    "attn_naive_causal": xla_attention,
    "attn_stage_qk": xla_scores,
    "attn_stage_av": xla_mix,
}
