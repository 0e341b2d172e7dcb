"""A server: a model on one device, or on several that share every layer.

All times of the chapter are two questions to the ledger: how long does a decode step of B
sequences take, and how long a pass over a prompt. `Server` asks them with the precision and the
devices filled in, and knows how much of its memory is left for the cache.

Left out: sampling, the tokenizer and the network between the reader and the server.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from costlib.catalog import device_of, model_of
from costlib.kvcache import kv_bytes, largest_batch, memory
from costlib.ledger import Ledger
from costlib.numbers import Number, size
from costlib.parallel import tensor_parallel
from costlib.precision import Precision, precision_of
from costlib.roofline import time
from costlib.transformer import Transformer

__all__ = ["Server", "server_of"]


@dataclass(frozen=True, slots=True)
class Server:
    """A model in a precision on ``tensor`` devices, which share its heads and widths.

    Names of the catalogue will do. Without a precision the model's own is meant. Devices that share
    a layer send one another its sums over the device's ``interconnect``.

    >>> server = Server("llama-3.1-8b", "H100-SXM")
    >>> print(f"{1000 * server.step(1, 1000):.2f} ms a token, {1000 * server.prefill(1000):.1f} ms")
    4.52 ms a token, 16.5 ms
    >>> server.room(8192), Server("llama-3.1-8b", "H100-SXM", "fp8").room(8192)
    (57, 129)
    >>> Server("llama-3.1-70b", "H100-SXM", tensor=4).fits
    True
    """

    model: Any  # a Transformer; its name while it is made
    device: Any  # a Device; its name while it is made
    precision: Precision | str | None = None
    tensor: int = 1
    #: What each device holds and computes.
    share: Transformer = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        model, device = model_of(self.model), device_of(self.device)
        object.__setattr__(self, "model", model)
        object.__setattr__(self, "device", device)
        if self.precision is not None:
            precision_of(self.precision)
        object.__setattr__(self, "tensor", int(size("tensor", self.tensor)))
        object.__setattr__(self, "share", tensor_parallel(model, self.tensor))

    def seconds(self, work: Ledger) -> Any:
        """Seconds of a pass of one device's `share`."""
        return time(work, self.device, precision=self.precision, too_large="ignore")

    def step(self, batch: Number, context: Number, new: Number = 1) -> Any:
        """Seconds of a decode step of so many sequences, each with so many tokens cached."""
        return self.seconds(self.share.decode(batch, context, new))

    def prefill(self, prompt: Number, *, cached: Number = 0, batch: Number = 1) -> Any:
        """Seconds until prompts are read and their first token written; ``cached`` come before."""
        return self.seconds(self.share.decode(batch, cached, prompt, logits="last"))

    def room(self, context: Number) -> Any:
        """Sequences of so many tokens that fit beside the weights; 0 where the weights do not."""
        return largest_batch(self.share, self.device, context, self.precision).largest

    @property
    def fits(self) -> bool:
        """Whether the weights leave room for any sequence at all."""
        return bool(self.room(1) > 0)

    def cache_bytes(self, context: Number, batch: Number = 1) -> Any:
        """Bytes of cache of so many sequences, on all devices together."""
        return self.tensor * kv_bytes(self.share, batch, context, self.precision)

    @property
    def element_bytes(self) -> Any:
        """Bytes of one cached element."""
        own: Precision = self.share.precision
        return (own if self.precision is None else precision_of(self.precision)).kv

    def free_bytes(self, tokens: Number = 1) -> Any:
        """Bytes of each device that weights and a pass of so many tokens leave for the cache."""
        held = memory(self.share, 1, 0, self.precision, new=tokens)
        return self.device.usable - held.weights - held.activations

    def check(self, context: int = 1, batch: int = 1) -> None:
        """Say what would do, if so many sequences of so many tokens do not fit.

        >>> Server("llama-3.1-8b", "H100-SXM").check(8192, batch=100)
        Traceback (most recent call last):
            ...
        ValueError: batch must be at most 57, as many sequences of 8,192 tokens as fit beside \
the weights on 1 × H100-SXM, got 100
        """
        room = self.room(context)
        if room >= batch:
            return
        if room > 0:
            raise ValueError(
                f"batch must be at most {room:,}, as many sequences of {context:,} tokens as fit "
                f"beside the weights on {self.tensor} × {self.device.name}, got {batch:,}"
            )
        one = memory(self.share, 1, context - 1, self.precision).total
        given, name = self.device.usable, self.device.name
        text = (
            f"a sequence of {context:,} tokens does not fit: weights and its cache take "
            f"{one / 1e9:.1f} GB on each of {self.tensor} × {name}, which gives out "
            f"{given / 1e9:.1f} GB"
        )
        raise ValueError(f"{text}; {self._devices_that_do(context)}")

    def _devices_that_do(self, context: int) -> str:
        for more in (2, 4, 8, 16, 32, 64):
            try:
                found = Server(self.model, self.device, self.precision, more * self.tensor)
            except ValueError:  # heads cannot be divided any further
                break
            if found.room(context) > 0:
                return f"tensor={found.tensor} would do"
        return "fewer bits, or a device with more memory, would do"


def server_of(value: Any, name: str = "server") -> Server:
    """A server as it came, or a sentence that says how to make one.

    >>> server_of("H100-SXM")
    Traceback (most recent call last):
        ...
    TypeError: server must be a Server(model, device), got 'H100-SXM'
    """
    if not isinstance(value, Server):
        raise TypeError(f"{name} must be a Server(model, device), got {value!r:.60}")
    return value
