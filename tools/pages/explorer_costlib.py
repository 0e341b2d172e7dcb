"""costlib itself for the page: its answers as JavaScript, and the catalogues they look in."""

from __future__ import annotations

import json
from typing import Any

from costlib import devices, models, nodes
from costlib.model.catalog import prices
from costlib.model.catalog.lookup import content
from tools import ROOT
from tools.pages import translate

#: What a page asks of the library, by its path.
WANTED = (
    "costlib.serving.answers.answer",
    "costlib.serving.fleet.fleets",
    "costlib.serving.server.Server",
    "costlib.model.layer_by_layer.layer_by_layer",
    "costlib.timing.limits.limits",
    "costlib.model.transformer.Transformer",
    "costlib.units.precision.precision_of",
    "costlib.units.precision.FORMATS",
    "costlib.units.precision.RECIPES",
    "costlib.model.catalog.devices",
    "costlib.model.catalog.models",
    "costlib.model.catalog.nodes",
    "costlib.model.families.FAMILIES",
    "costlib.model.families.config.parsed",
    "costlib.model.engines.ENGINES",
)
#: What it asks of what it gets.
ASKED = (
    *("shown", "fits", "step", "prefill", "room", "params", "precision", "with_"),
    *("devices", "plan", "batch"),
    *("share", "at", "in_bytes", "bytes_sent", "compute_time", "memory_time", "bound", "time"),
    *("fullest", "machine", "total", "usable", "charged", "input_seconds", "output_seconds"),
)


def program() -> str:
    """All that the answers are made of."""
    return translate.text(
        ROOT / "costlib",
        WANTED,
        ASKED,
        entered="costlib.model.families",
        runtime="../python.js",
        data="../catalogues.js",
    )


def entries() -> str:
    """Names, aliases and figures of devices; of models a config each, as text, read when asked."""
    written = {
        name: {
            "aliases": entry["aliases"],
            "config": json.dumps(entry["config"]["value"]),
            "params": models[name].params(),
        }
        for name, entry in models.data["models"].items()
    }
    figures = _figures(devices.data["devices"])
    joined = _figures(nodes.data["nodes"])
    priced = {name: _priced(name) for name in devices}
    priced |= {name: _priced(node.device.name) for name, node in nodes.items()}
    configs = content("config")["configs"]
    known = {"models": written, "devices": figures, "nodes": joined, "configs": configs}
    known["prices"] = priced
    return "".join(f"export const {name} = {_dumped(each)};\n" for name, each in known.items())


def _priced(device: str) -> dict[str, Any]:
    """Rent, power and whose rent it is, of one device."""
    found = prices.listed(device)
    return {"price": found.dollars_per_hour, "watts": found.watts, "source": found.source}


def _figures(entry: Any) -> Any:
    """What is said of a device, without its sources."""
    if not isinstance(entry, dict):
        return entry
    if "value" in entry:
        return {"value": entry["value"]}
    return {name: _figures(inner) for name, inner in entry.items()}


def _dumped(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
