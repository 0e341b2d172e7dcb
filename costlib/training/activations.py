"""What a training step keeps until its gradients need it, layer by layer.

Every kind of layer says what its backward pass reads (`costlib.layers.Part.saved`): this module
multiplies by tokens and layers, adds what is kept for each pair of tokens, leaves out what a policy
computes again, and divides by the devices that share a layer. For a GPT-style block in 16 bits with
dropout it is Korthikanti et al. (2022) to the byte: s·b·h·(34 + 5·a·s/h).

Left out: statistics of norms (one or two numbers a token), a router's probabilities, and what
allocators round up.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from costlib.layers.attention import SCORES
from costlib.layers.parts import Block, Saved
from costlib.model.catalog import model_of
from costlib.model.kvcache import Memory
from costlib.model.transformer import Transformer
from costlib.training.recipes import Adapters, Recipe, recipe_of, state_bytes, target_names
from costlib.units.numbers import (
    Number,
    ceil_div,
    choose,
    divides,
    exact_div,
    extra,
    flag,
    is_one,
    is_zero,
    maximum,
    minimum,
    plus,
    size,
    total,
)

__all__ = ["POLICIES", "Activations", "Activation", "activations", "training_memory"]

#: What is computed again: nothing, scores and what is made of them, or each layer.
POLICIES = (None, "selective", "full")


@dataclass(frozen=True, slots=True)
class Activation:
    """What is kept under one name: elements on one device, in all its layers.

    ``place`` is "layers", "outside" them, or "again": held by one layer while it is run again.
    """

    name: str
    elements: Number
    kind: str
    place: str = "layers"

    def bytes(self, recipe: Recipe | str | None = None) -> Any:
        """Elements times the bytes of one."""
        return self.elements * recipe_of(recipe).bytes_of(self.kind)


@dataclass(frozen=True, slots=True)
class Activations:
    """A list of what is kept.

    >>> queries = Activation("queries", 10, "activations")
    >>> held = Activations((queries, Activation("mask", 6, "mask", "outside")))
    >>> held.bytes(), held.of_layers(), held.outside(), held.again()
    (26, 20, 6, 0)
    """

    rows: tuple[Activation, ...]

    def bytes(self, recipe: Recipe | str | None = None) -> Any:
        """All of it: what is kept, and what one layer holds while it is run again."""
        return self._bytes(("layers", "outside", "again"), recipe)

    def of_layers(self, recipe: Recipe | str | None = None) -> Any:
        """Bytes kept of the layers."""
        return self._bytes(("layers",), recipe)

    def outside(self, recipe: Recipe | str | None = None) -> Any:
        """Bytes kept outside the layers: embedding, last norm, logits."""
        return self._bytes(("outside",), recipe)

    def again(self, recipe: Recipe | str | None = None) -> Any:
        """Bytes that the largest layer holds while it is run again."""
        return self._bytes(("again",), recipe)

    def _bytes(self, places: tuple[str, ...], recipe: Recipe | str | None) -> Any:
        return total(row.bytes(recipe) for row in self.rows if row.place in places)

    def table(self, recipe: Recipe | str | None = None) -> Any:
        """A DataFrame with a row for each name; the last row is the total.

        >>> Activations((Activation("queries", 10, "activations"),)).table()["bytes"].tolist()
        [20, 20]
        """
        with extra("tables"):
            import pandas as pd

        each = recipe_of(recipe)
        found = [
            (row.name, row.place, row.elements, each.bytes_of(row.kind), row.bytes(each))
            for row in self.rows
        ]
        found.append(("total", "", sum(row[2] for row in found), "", self.bytes(each)))
        columns = ["kept", "where", "elements", "bytes each", "bytes"]
        return pd.DataFrame(found, columns=columns).set_index("kept")


@dataclass(frozen=True, slots=True)
class _Step:
    """A step's tokens, and how devices share it."""

    batch: Number
    seq: Number
    encoded: Number
    scores: str
    dropout: bool
    fused: bool
    tensor: Number
    sequence: bool
    learning: tuple[str, ...] | None

    def share(self, whole: Number, split: str = "tensor", ways: Number | None = None) -> Any:
        """One device's part of ``whole`` elements."""
        if is_one(self.tensor) or (split == "sequence" and not self.sequence):
            return whole
        parts = self.tensor if ways is None else minimum(self.tensor, ways)
        return exact_div(whole, parts) if divides(parts, whole) else ceil_div(whole, parts)

    def rows(self, terms: Iterable[Saved], times: Number, place: str) -> Iterator[Activation]:
        """What terms take for ``times``, which is tokens times layers."""
        for term in terms:
            on_chip = self.scores == "on-chip"
            if term.is_needed(self.learning, on_chip=on_chip) and not (term.fusible and self.fused):
                count = self.share(term.elements * times, term.split, term.ways)
                yield Activation(term.name, count, term.kind, place)

    def of_scores(self, block: Block, place: str = "layers") -> Iterator[Activation]:
        """What is kept for each pair of tokens, and with scores on chip a number for each row."""
        for part in block.parts:
            if is_zero(part.score_heads) and is_zero(part.encoder_layers):
                continue
            if self.scores == "on-chip":
                rows = self.batch * self.seq * block.layers * part.score_heads
                if not is_zero(rows):
                    yield Activation("softmax statistics", self.share(rows), "fp32", place)
                continue
            pairs = self.share(self.batch * block.layers * part.scores(self.seq, self.encoded))
            yield Activation("softmax", pairs, "scores", place)
            if self.dropout:
                yield Activation("softmax dropout mask", pairs, "mask", place)
                yield Activation("softmax after dropout", pairs, "scores", place)

    def of_block(self, d: Number, block: Block, place: str = "layers") -> Iterator[Activation]:
        """All that the layers of a block keep."""
        tokens = self.batch * self.seq * block.layers
        yield from self.rows(block.saved(d, dropout=self.dropout), tokens, place)
        if not is_zero(self.encoded):
            seen = self.batch * self.encoded * block.layers
            for part in block.parts:
                yield from self.rows(part.saved_of_encoded(d), seen, place)


def activations(
    model: Transformer | str,
    batch: Number,
    seq: Number,
    *,
    recompute: str | None = None,
    scores: str = "on-chip",
    dropout: bool = False,
    tensor: Number = 1,
    sequence: bool = False,
    fused: bool = True,
    encoded: Number = 0,
    adapters: Adapters | None = None,
) -> Activations:
    """What one device keeps of a step for the backward pass.

    ``recompute``: "selective" keeps nothing that is a number for each pair of tokens, "full" only
    the input of each layer; what one layer holds while it is run again is listed apart. ``scores``
    kept on chip leave one number a row instead of a matrix. ``tensor`` devices share each layer;
    with ``sequence`` they also divide what tensor parallelism leaves whole. Not ``fused``: every
    activation function is an op of its own and keeps its output. ``encoded``: tokens that an
    encoder reads. With ``adapters`` frozen products keep no inputs, and each adapter keeps what is
    between its two matrices.

    >>> from costlib.model.transformer import Transformer
    >>> sizes = dict(layers=1, d_model=64, heads=4, d_ff=256, vocab=1000, gated=False)
    >>> held = activations(Transformer(**sizes), 1, 16, scores="materialised", dropout=True)
    >>> held.of_layers() == 16 * 64 * (34 + 5 * 4 * 16 // 64)
    True
    """
    model = model_of(model)
    choose("recompute", recompute, POLICIES)
    choose("scores", scores, SCORES)
    flag("dropout", dropout), flag("sequence", sequence), flag("fused", fused)
    batch, seq, tensor = size("batch", batch), size("seq", seq), size("tensor", tensor)
    encoded = size("encoded", encoded, least=0)
    if adapters is not None and not isinstance(adapters, Adapters):
        raise TypeError(f"adapters must be a recipe's, as lora(16).adapters, got {adapters!r:.40}")
    if adapters is not None:
        adapters = replace(adapters, targets=target_names(model, adapters))
    learning = None if adapters is None else adapters.targets
    step = _Step(batch, seq, encoded, scores, dropout, fused, tensor, sequence, learning)
    rows: list[Activation] = []
    for block in model.blocks:
        if recompute == "full":
            rows += _inputs(step, model.d_model, block)
            continue
        rows += step.of_block(model.d_model, block)
        rows += _between(step, model.d_model, block, adapters)
        if recompute is None or scores == "on-chip":
            rows += step.of_scores(block)
    rows += _again(step, model, recompute)
    rows += _outside(step, model)
    return Activations(tuple(_merged(rows)))


def _between(
    step: _Step, d: Number, block: Block, adapters: Adapters | None
) -> Iterator[Activation]:
    """What lies between an adapter's two matrices: as many elements as its rank."""
    if adapters is None:
        return
    for part in block.parts:
        for each in (*part.before(d), *part.after(d), *part.mixed):
            if each.is_matmul and each.name in adapters.targets:
                used = each.chosen if each.is_expert else 1
                count = step.batch * step.seq * block.layers * used * adapters.rank
                yield Activation("between adapters", count, "inputs")


def _inputs(step: _Step, d: Number, block: Block) -> Iterator[Activation]:
    """The input of each layer, and of each of an encoder's."""
    tokens = step.batch * step.seq * block.layers
    for part in block.parts:
        if not is_zero(part.encoder_layers):
            tokens = tokens + step.batch * step.encoded * block.layers * part.encoder_layers
    yield Activation("layers' inputs", step.share(tokens * d, "sequence"), "activations")


def _again(step: _Step, model: Transformer, recompute: str | None) -> Iterator[Activation]:
    """What the largest layer holds while it, or its scores, are run again."""
    if recompute is None or (recompute == "selective" and step.scores == "on-chip"):
        return
    largest: dict[str, Any] = {}
    for block in model.blocks:
        one, held = replace(block, layers=1), dict[str, Any]()
        rows = [*step.of_scores(one, "again")]
        if recompute == "full":
            rows += step.of_block(model.d_model, one, "again")
        for row in rows:
            held[row.kind] = plus(held.get(row.kind, 0), row.elements)
        for kind, count in held.items():  # an encoder's layers run again one by one too
            each = ceil_div(count, _depth(block)) if _depth(block) > 1 else count
            largest[kind] = maximum(largest[kind], each) if kind in largest else each
    for kind, count in largest.items():
        yield Activation(f"one layer run again: {kind}", count, kind, "again")


def _depth(block: Block) -> int:
    """Layers that one layer of a block stands for: an encoder belongs to a decoder's layer."""
    inner = [part.encoder_layers for part in block.parts]
    return 1 + sum(int(count) for count in inner if not is_zero(count))


def _outside(step: _Step, model: Transformer) -> Iterator[Activation]:
    """Embedding and logits: masks, the last norm, the unembedding's input, and its output."""
    tokens, d = step.batch * step.seq, model.d_model
    whole = step.share(tokens * d, "sequence")
    if step.dropout:
        yield Activation("embedding dropout mask", whole, "mask", "outside")
    if model.final_norm:
        yield Activation("final norm's input", whole, "activations", "outside")
    if step.learning is None or "unembedding" in step.learning:
        yield Activation("unembedding's input", whole, "inputs", "outside")
    heads = 1 if is_zero(model.mtp_layers) else 1 + model.mtp_layers
    yield Activation("logits", step.share(tokens * heads * model.vocab), "fp32", "outside")


def _merged(rows: Iterable[Activation]) -> Iterator[Activation]:
    """Rows of the same thing as one."""
    found: dict[tuple[str, str, str], Any] = {}
    for row in rows:
        key = (row.name, row.kind, row.place)
        found[key] = plus(found.get(key, 0), row.elements)
    for (name, kind, place), elements in found.items():
        yield Activation(name, elements, kind, place)


def training_memory(
    model: Transformer | str,
    batch: Number,
    seq: Number,
    recipe: Recipe | str | None = None,
    *,
    recompute: str | None = None,
    scores: str = "on-chip",
    dropout: bool = False,
    fused: bool = True,
    encoded: Number = 0,
) -> Memory:
    """What one device keeps in a training step: `state_bytes` of a recipe, and `activations`.

    >>> from costlib.model.transformer import Transformer
    >>> tiny = Transformer(layers=2, d_model=64, heads=4, d_ff=256, vocab=1000)
    >>> training_memory(tiny, 1, 16).optimizer
    3112704
    """
    how: dict[str, Any] = {"scores": scores, "dropout": dropout, "fused": fused}
    how |= {"encoded": encoded, "adapters": recipe_of(recipe).adapters}
    held = activations(model, batch, seq, recompute=recompute, **how)
    return replace(state_bytes(model, recipe), activations=held.bytes(recipe))
