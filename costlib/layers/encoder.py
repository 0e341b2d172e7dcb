"""Layers beside a decoder's own: an encoder, and layers that run only on encoded input."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from costlib.layers.attention import check_sizes
from costlib.layers.parts import Block, Part, Pass, PerToken, Saved, elementwise
from costlib.units.ledger import Op
from costlib.units.numbers import Number, is_zero, plus


@dataclass(frozen=True, slots=True, kw_only=True)
class Encoder(Part):
    """Blocks that read the ``encoded`` tokens of a pass, where nothing came before.

    It is a part of the decoder's first layer, and adds nothing to it: layers with attention of
    kind ``cross`` see what it made. ``first`` and ``last`` are its steps outside its blocks.
    """

    d_model: Number
    blocks: tuple[Block, ...]
    first: tuple[PerToken, ...] = ()
    last: tuple[PerToken, ...] = ()

    def __post_init__(self) -> None:
        check_sizes(self, "d_model")

    @property
    def mixing_weights(self) -> Any:
        """All of its parameters."""
        total: Number = 0
        for step in (*self.first, *self.last):
            total = plus(total, step.parameters())
        return plus(total, _parameters(self.blocks, self.d_model))

    @property
    def encoder_layers(self) -> Any:
        """See `Part.encoder_layers`."""
        total: Number = 0
        for block in self.blocks:
            total = plus(total, block.layers)
        return total

    def scores(self, seq: Number, encoded: Number) -> Any:
        """See `Part.scores`."""
        return _scores(self.blocks, encoded, encoded)

    def saved_of_encoded(self, d: Number) -> tuple[Saved, ...]:
        """What the gradients of its own layers need."""
        return tuple(
            term * block.layers for block in self.blocks for term in block.saved(self.d_model)
        )

    def mixing(self, run: Pass, layers: Number) -> tuple[Op, ...]:
        """Its whole pass."""
        if not run.is_first:
            return ()
        inner = self._pass(run)
        ops = [inner.of(step, layers) for step in self.first]
        for block in self.blocks:
            ops += _forward(block, self.d_model, inner, layers)
        ops += [inner.of(step, layers) for step in self.last]
        return tuple(op.named(f"encoder.{op.name}") for op in ops)

    def mixing_backward(self, run: Pass, layers: Number) -> tuple[Op, ...]:
        """Its gradients, last step first."""
        inner = self._pass(run)
        ops = _gradients(self.last, inner, layers)
        for block in reversed(self.blocks):
            ops += _backward(block, self.d_model, inner, layers)
        ops += _gradients(self.first, inner, layers)
        return tuple(op.named(f"encoder.{op.name}") for op in ops)

    def _pass(self, run: Pass) -> Pass:
        if is_zero(run.encoded):
            raise ValueError("give encoded=, the number of tokens that the encoder reads")
        return replace(run, seq=run.encoded, context=run.encoded, encoded=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class WhereSeen(Part):
    """Layers that run only where a pass has encoded tokens, such as those of an image.

    With ``encoded`` tokens of pictures they attend to those (attention of kind ``cross``), and are
    then as any other; without, their weights lie in memory and nothing else is done.
    """

    d_model: Number
    blocks: tuple[Block, ...]

    @property
    def mixing_weights(self) -> Any:
        """All of their parameters."""
        return _parameters(self.blocks, self.d_model)

    @property
    def cached_of_encoded(self) -> Any:
        """See `Part.cached_of_encoded`."""
        total: Number = 0
        for block in self.blocks:
            for part in block.parts:
                total = plus(total, block.layers * part.cached_of_encoded)
        return total

    def scores(self, seq: Number, encoded: Number) -> Any:
        """See `Part.scores`."""
        return _scores(self.blocks, seq, encoded)

    def saved_of_encoded(self, d: Number) -> tuple[Saved, ...]:
        """See `Part.saved_of_encoded`."""
        return tuple(
            term * block.layers
            for block in self.blocks
            for part in block.parts
            for term in part.saved_of_encoded(d)
        )

    def saved(self, d: Number) -> tuple[Saved, ...]:
        """What the gradients of their own steps need, where there is something to see."""
        return tuple(term * block.layers for block in self.blocks for term in block.saved(d))

    def mixing(self, run: Pass, layers: Number) -> tuple[Op, ...]:
        """Their part of the pass."""
        if is_zero(run.encoded):
            return ()
        return tuple(op for b in self.blocks for op in _forward(b, self.d_model, run, layers))

    def mixing_backward(self, run: Pass, layers: Number) -> tuple[Op, ...]:
        """Their gradients."""
        if is_zero(run.encoded):
            return ()
        blocks = reversed(self.blocks)
        return tuple(op for b in blocks for op in _backward(b, self.d_model, run, layers))


def _parameters(blocks: tuple[Block, ...], d: Number) -> Any:
    total: Number = 0
    for block in blocks:
        total = plus(total, block.layers * block.parameters(d))
    return total


def _scores(blocks: tuple[Block, ...], seq: Number, encoded: Number) -> Any:
    total: Number = 0
    for block in blocks:
        for part in block.parts:
            total = plus(total, block.layers * part.scores(seq, encoded))
    return total


def _residual(d: Number) -> PerToken:
    return elementwise("residual", d, "residual", reads=2 * d, gradient=1)


def _forward(block: Block, d: Number, run: Pass, layers: Number) -> list[Op]:
    """A block's pass, step by step, ``layers`` times."""
    count = layers * block.layers
    ops = [run.of(block.norm_step(d), count * block.norms)]
    for part in block.parts:
        ops += [run.of(step, count) for step in part.before(d)]
        ops += part.mixing(run, count)
        ops += [run.of(step, count) for step in part.after(d)]
    ops += [run.of(step, count) for step in block.extra]
    return [*ops, run.of(_residual(d), count * block.added)]


def _backward(block: Block, d: Number, run: Pass, layers: Number) -> list[Op]:
    """A block's gradients, last step first."""
    count = layers * block.layers
    ops = _gradients((_residual(d),), run, count * block.added)
    ops += _gradients(block.extra, run, count)
    for part in reversed(block.parts):
        ops += _gradients(part.after(d), run, count)
        ops += part.mixing_backward(run, count)
        ops += _gradients(part.before(d), run, count)
    return [*ops, *_gradients((block.norm_step(d),), run, count * block.norms)]


def _gradients(steps: tuple[PerToken, ...], run: Pass, layers: Number) -> list[Op]:
    """The gradients of steps that treat all tokens alike."""
    back = ((step * layers).backward(run.tokens, run.experts) for step in reversed(steps))
    return [op for ledger in back for op in ledger]
