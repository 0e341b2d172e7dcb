"""Devices, nodes and models by name, read from data files in which every figure names its source.

>>> devices["a100-80gb"].ridge()
153.01618440411966
>>> devices["A100"]
Traceback (most recent call last):
    ...
costlib.model.catalog.lookup.UnknownName: 'A100' could be A100-40GB or A100-80GB

One's own entries are added for the session, and found like the others:

>>> mine = devices.register(Device("my card", {"bf16": 100e12}, 1e12))
>>> devices["My Card"] is mine
True
>>> devices.forget("my card")
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from costlib.model.catalog.lookup import Catalog, UnknownName
from costlib.model.catalog.node import Node
from costlib.units.device import Device

if TYPE_CHECKING:
    from costlib.model.transformer import Transformer

__all__ = ["Catalog", "Node", "UnknownName", "device_of", "devices", "model_of", "models", "nodes"]


class Devices(Catalog[Device]):
    """The devices."""

    def register(self, device: Device) -> Device:
        """Add a device of one's own, under its name, for this session.

        >>> Devices("device", _device, "ridge").register(Device("toy", {"bf16": 1e12}, 1e11)).name
        'toy'
        """
        if not isinstance(device, Device):
            raise TypeError(f"devices.register takes a Device, got {device!r}")
        return self._register(device.name, device)


class Nodes(Catalog[Node]):
    """The nodes."""

    def register(self, node: Node) -> Node:
        """Add a node of one's own, under its name, for this session.

        >>> pair = Node(name="pair of L4", device=devices["L4"], devices=2, link=32e9)
        >>> Nodes("node", _node, "link").register(pair).devices
        2
        """
        if not isinstance(node, Node):
            raise TypeError(f"nodes.register takes a Node, got {node!r}")
        return self._register(node.name, node)


class Models(Catalog["Transformer"]):
    """The models; a config will do for one: a dict, JSON text, or the path of a ``config.json``.

    >>> models.of({**models.data["models"]["gpt2"]["config"]["value"], "n_layer": 1}).layers
    1
    """

    def of(self, given: Any) -> Transformer:
        """A model, or the one that a name or a config stands for."""
        is_config = (
            isinstance(given, Mapping)
            or hasattr(given, "__fspath__")
            or (isinstance(given, str) and given not in self and _is_json(given))
        )
        return _transformer().from_hf(given) if is_config else self._entry(given)

    def register(self, name: str, model: Transformer) -> Transformer:
        """Add a model of one's own, under a name, for this session.

        >>> Models("model", _model, "params").register("my model", models["gpt2"]).layers
        12
        """
        if not isinstance(model, _transformer()):
            raise TypeError(f"models.register takes a name and a Transformer, got {model!r}")
        return self._register(name, model)


def _is_json(text: str) -> bool:
    """Whether this is JSON text, or the name of a file of it."""
    is_file = text.endswith(".json") and "://" not in text
    return is_file or text.replace("\ufeff", "").strip()[:1] in ("{", "[")


def _transformer() -> type[Transformer]:
    # Only when a model is asked for: whoever looks up a device needs none of a model's layers.
    from costlib.model.transformer import Transformer

    return Transformer


def _device(name: str, entry: Mapping[str, Any]) -> Device:
    rates = {dtype: about["value"] for dtype, about in entry["flops_per_s"].items()}
    return Device(name, rates, **_figures(entry), provenance=devices.provenance(name))


def _node(name: str, entry: Mapping[str, Any]) -> Node:
    said = {field: entry[field] for field in ("topology", "axes") if field in entry}
    figures = _figures(entry)
    joined = devices[entry["device"]]
    return Node(name=name, device=joined, **said, **figures, provenance=nodes.provenance(name))


def _figures(entry: Mapping[str, Any]) -> dict[str, Any]:
    return {
        figure: about["value"]
        for figure, about in entry.items()
        if isinstance(about, dict) and "value" in about
    }


def _model(_: str, entry: Mapping[str, Any]) -> Transformer:
    return _transformer().from_hf(entry["config"]["value"])


devices = Devices("device", _device, "flops_per_s")
models = Models("model", _model, "params", "; or give the path of its config.json")
nodes = Nodes("node", _node, "link_among")


def device_of(given: Device | str) -> Device:
    """A device, or the one of that name: what every function that runs on a device accepts.

    >>> device_of("T4") is devices["T4"], device_of(devices["T4"]) is devices["T4"]
    (True, True)
    """
    return devices.of(given)


def model_of(given: Any) -> Transformer:
    """A model, or the one that a name or a config stands for.

    >>> model_of("gpt2") is models["gpt2"]
    True
    """
    return models.of(given)
