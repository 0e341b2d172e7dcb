"""A model's d and a device's M: where the letters of the two chapters on I/O come from."""

from __future__ import annotations

from costlib.model.transformer import Transformer
from costlib.units.device import Device
from costlib.units.numbers import sizes

__all__ = ["fast_memory", "head_width"]


def head_width(model: Transformer) -> int:
    """The width d of a model's heads, where keys and values have one and all layers the same.

    >>> import costlib
    >>> head_width(costlib.models["llama-3-8b"])
    128
    """
    if model.mla is not None:
        raise ValueError(
            "model has keys and values of different widths (multi-head latent attention), and "
            "these counts need heads of one width: choose another, such as 'llama-3-8b'"
        )
    if not isinstance(model.head_dim, int):
        raise ValueError(
            "model has no heads of attention of one width in all layers, which these counts "
            "need: choose another, such as 'llama-3-8b'"
        )
    return model.head_dim


def fast_memory(device: Device, bytes_per_entry: int = 2) -> int:
    """Entries in the memory that a program manages on one core of a device: M.

    >>> import costlib
    >>> fast_memory(costlib.devices["H100-SXM"])
    116736
    """
    (bytes_per_entry,) = sizes(bytes_per_entry=bytes_per_entry)
    if not device.on_chip:
        raise ValueError(
            f"the memory on a core of {device.name} is not in the catalogue, so that M is not "
            "known: choose another, such as 'H100-SXM'"
        )
    return int(device.on_chip) // bytes_per_entry
