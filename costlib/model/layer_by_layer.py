"""A pass layer by layer: the ledger of `costlib.Transformer.decode`, cut where the layers begin.

A model's own ledger has each step once, for all layers together. Here every layer has its own, its
steps in the order in which a token meets them: a norm, what makes queries, keys and values, what
mixes tokens, the projection back, the residual sum, and where devices share the layer, the sum over
them. All of them add up to the pass, op by op.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from costlib.layers.parts import Block, Part, Pass, PerToken, residual_step
from costlib.model.catalog.lookup import named
from costlib.model.checkpoint import layers_bytes
from costlib.units.ledger import Ledger, Op
from costlib.units.numbers import Number, size
from costlib.units.precision import Precision

__all__ = ["LayerWork", "layer_by_layer"]

#: What a part of a layer is called.
CALLED = {
    "Attention": "attention",
    "ConvolvedAttention": "attention with convolutions",
    "DifferentialAttention": "differential attention",
    "RoutedAttention": "attention with experts",
    "ValueMaskedAttention": "attention",
    "Latent": "latent attention",
    "CompressedAttention": "compressed attention",
    "DeltaRule": "linear attention",
    "LightningAttention": "linear attention",
    "TimeMix": "linear attention",
    "Mamba": "state space",
    "Mamba2": "state space",
    "RGLRU": "linear recurrence",
    "ChannelConvolution": "convolution",
    "ShortConvolution": "convolution",
    "Encoder": "encoder",
    "WhereSeen": "layers for images",
    "Mlp": "feed-forward",
    "Mixture": "experts",
}


@dataclass(frozen=True, slots=True)
class LayerWork:
    """What a pass does in one layer, or at one end of the model; ``parts`` names what it is."""

    parts: tuple[str, ...]
    work: Ledger


def layer_by_layer(
    model: Any, batch: Number, context: Number, new: Number = 1, **options: Any
) -> tuple[LayerWork, ...]:
    """The embedding, every layer in order, and the unembedding, each with its own ledger.

    Arguments are those of `costlib.Transformer.decode`. Of a checkpoint that packs its layers
    differently, each ledger has its own layer's bytes.

    >>> passed = layer_by_layer("gemma-3-1b", 1, 4096)
    >>> len(passed), passed[0].parts, passed[1].parts, passed[-1].parts
    (28, ('embedding',), ('attention, window 512', 'feed-forward'), ('unembedding',))
    >>> passed[1].work.names[:6]
    ('norms', 'q_proj', 'k_proj', 'v_proj', 'qk_norm', 'rotary')
    """
    model, context = named("model", model), size("context", context, least=0)
    run = Pass(size("batch", batch), size("new", new), context + new, **options)
    before, behind = model.ends(run)
    found = [LayerWork(("embedding",), Ledger(tuple(before), own=model.own))]
    first = 0 if model.storage is None else model.storage.first_layer
    for block in model.blocks:
        layers = range(first, first + int(block.layers))
        one, parts = replace(block, layers=1), tuple(map(_called, block.parts))
        ops = tuple(_in_turn(model, one, run))
        found += [LayerWork(parts, Ledger(ops, own=own)) for own in _own(model, one, layers)]
        first += int(block.layers)
    return (*found, LayerWork(("unembedding",), Ledger(tuple(behind), own=model.own)))


def _own(model: Any, block: Block, layers: range) -> Iterator[Precision | None]:
    """The precision of each layer, in a checkpoint that packs its layers."""
    storage = model.storage
    if model.own is None or storage.unread:
        yield from (None for _ in layers)
    else:
        for each in layers_bytes(block, model.d_model, storage, layers):
            yield model.own.with_(by_step=(*each, ("", storage.plain)))


def _called(part: Part) -> str:
    window = getattr(part, "window", None)
    kind = type(part).__name__
    name = CALLED.get(kind, kind)
    return name if window is None else f"{name}, window {window:,}"


def _in_turn(model: Any, block: Block, run: Pass) -> Iterator[Op]:
    """The ops of one layer in the order of its parts.

    Norms and sums are dealt to the parts evenly. Where there are fewer, or where all parts read the
    same input, norms come first and sums last.
    """
    parts, d, together = block.parts, model.d_model, block.parallel
    norms = _dealt(block.norms, len(parts), together=together)
    added = _dealt(block.added, len(parts), together=together)[::-1]
    sums = _dealt(block.sums, len(parts), together=together)[::-1]
    for at, part in enumerate(parts):
        yield from _some(run, block.norm_step(d), norms[at])
        yield from (run.of(step, 1) for step in part.before(d))
        yield from part.mixing(run, 1)
        yield from (run.of(step, 1) for step in part.after(d))
        yield from part.messages(run, 1, d) if part.sends else ()
        yield from model.sums(run, sums[at]) if sums[at] else ()
        yield from _some(run, residual_step(d), added[at])
    yield from (run.of(step, 1) for step in block.extra)


def _dealt(count: Number, parts: int, *, together: bool) -> list[Number]:
    """How many of some steps each part has: evenly, or the first one has all."""
    if together or count % parts != 0:
        return [count] + [0] * (parts - 1)
    return [count // parts] * parts


def _some(run: Pass, step: PerToken, count: Number) -> Iterator[Op]:
    if count:
        yield run.of(step, count)
