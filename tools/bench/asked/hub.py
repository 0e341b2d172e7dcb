"""Stands in for the hub that hf-mem reads: configs, and headers of the files that are published."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from math import prod
from pathlib import Path
from typing import Any

Tensor = tuple[str, tuple[int, ...]]


def tensors(config: dict[str, Any]) -> Iterator[Tensor]:
    """Names and shapes in the published files of a Llama or a Mixtral.

    >>> small = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2,
    ...          "num_key_value_heads": 1, "intermediate_size": 16, "vocab_size": 10}
    >>> sum(prod(shape) for _, shape in tensors(small))
    760
    """
    width, vocab = config["hidden_size"], config["vocab_size"]
    yield "model.embed_tokens.weight", (vocab, width)
    for i in range(config["num_hidden_layers"]):
        for name, shape in _layer(config):
            yield f"model.layers.{i}.{name}.weight", shape
    yield "model.norm.weight", (width,)
    yield "lm_head.weight", (vocab, width)


def _layer(config: dict[str, Any]) -> Iterator[Tensor]:
    width, within = config["hidden_size"], config["intermediate_size"]
    narrow = width * config["num_key_value_heads"] // config["num_attention_heads"]
    for name, rows in zip("qkvo", (width, narrow, narrow, width), strict=True):
        yield f"self_attn.{name}_proj", (rows, width)
    yield "input_layernorm", (width,)
    yield "post_attention_layernorm", (width,)
    if "num_local_experts" not in config:
        for name in ("gate", "up", "down"):
            yield f"mlp.{name}_proj", (width, within)
        return
    yield "block_sparse_moe.gate", (config["num_local_experts"], width)
    for expert in range(config["num_local_experts"]):
        for name in ("w1", "w2", "w3"):
            yield f"block_sparse_moe.experts.{expert}.{name}", (width, within)


def header(config: dict[str, Any]) -> bytes:
    """The beginning of a file of these tensors in 16 bits: its length, and each one's place."""
    found, start = {}, 0
    for name, shape in tensors(config):
        end = start + 2 * prod(shape)
        found[name] = {"dtype": "BF16", "shape": shape, "data_offsets": [start, end]}
        start = end
    text = json.dumps(found).encode()
    return struct.pack("<Q", len(text)) + text


def stand_in(models: Path) -> None:
    """From here on, whoever asks the hub by httpx2 is answered from this folder of configs."""
    import httpx2

    def answer(request: Any) -> Any:
        parts = request.url.path.split("/")
        model = next(part for part in parts if part and (models / part).is_dir())
        config = json.loads((models / model / "config.json").read_text("utf-8"))
        if request.url.path.startswith("/api/"):
            names = ("config.json", "model.safetensors")
            return httpx2.Response(200, json=[{"type": "file", "path": name} for name in names])
        if request.url.path.endswith("config.json"):
            return httpx2.Response(200, json=config)
        first, last = request.headers["range"].removeprefix("bytes=").split("-")
        return httpx2.Response(206, content=header(config)[int(first) : int(last) + 1])

    class Client(httpx2.AsyncClient):
        def __init__(self, **_: Any) -> None:
            super().__init__(transport=httpx2.MockTransport(answer))

    httpx2.AsyncClient = Client
