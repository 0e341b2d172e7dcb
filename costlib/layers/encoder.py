"""Layers beside a decoder's own: an encoder, and layers that run only on encoded input."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from costlib.layers.attention import check_sizes
from costlib.layers.parts import Block, Part, Pass, PerToken, Saved, residual_step
from costlib.units.ledger import Op
from costlib.units.numbers import Number, is_zero, times, total


class Inside(Part):
    """Blocks of their own, which are a part of another model's layer."""

    __slots__ = ()

    d_model: Number
    blocks: tuple[Block, ...]

    @property
    def outside(self) -> tuple[PerToken, ...]:
        """Steps before and behind the blocks."""
        return ()

    @property
    def mixing_weights(self) -> Any:
        """All parameters."""
        inside = (times(b.parameters(self.d_model), b.layers) for b in self.blocks)
        return total([*(step.parameters() for step in self.outside), *inside])

    def of_parts(self, number: Callable[[Part], Any]) -> Any:
        """The sum over all layers of one number of their parts."""
        return total(times(number(p), b.layers) for b in self.blocks for p in b.parts)

    def forward(self, run: Pass, layers: Number) -> list[Op]:
        """Their pass, step by step, ``layers`` times."""
        return [op for block in self.blocks for op in _forward(block, self.d_model, run, layers)]

    def backward(self, run: Pass, layers: Number) -> list[Op]:
        """Their gradients, last step first."""
        blocks = reversed(self.blocks)
        return [op for block in blocks for op in _backward(block, self.d_model, run, layers)]

    def kept(self) -> tuple[Saved, ...]:
        """What the gradients of their own steps need."""
        return tuple(t * b.layers for b in self.blocks for t in b.saved(self.d_model))


@dataclass(frozen=True, slots=True, kw_only=True)
class Encoder(Inside):
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
    def outside(self) -> tuple[PerToken, ...]:
        """Its steps outside its blocks."""
        return (*self.first, *self.last)

    @property
    def encoder_layers(self) -> Any:
        """See `Part.encoder_layers`."""
        return total(block.layers for block in self.blocks)

    def scores(self, seq: Number, encoded: Number) -> Any:
        """See `Part.scores`."""
        return self.of_parts(lambda part: part.scores(encoded, encoded))

    def saved_of_encoded(self, d: Number) -> tuple[Saved, ...]:
        """What the gradients of its own layers need."""
        return self.kept()

    def mixing(self, run: Pass, layers: Number) -> tuple[Op, ...]:
        """Its whole pass."""
        if not run.is_first:
            return ()
        inner = self._pass(run)
        first, last = ([inner.of(s, layers) for s in steps] for steps in (self.first, self.last))
        ops = (*first, *self.forward(inner, layers), *last)
        return tuple(op.named(f"encoder.{op.name}") for op in ops)

    def mixing_backward(self, run: Pass, layers: Number) -> tuple[Op, ...]:
        """Its gradients, last step first."""
        inner = self._pass(run)
        first, last = (_gradients(steps, inner, layers) for steps in (self.first, self.last))
        ops = (*last, *self.backward(inner, layers), *first)
        return tuple(op.named(f"encoder.{op.name}") for op in ops)

    def _pass(self, run: Pass) -> Pass:
        if is_zero(run.encoded):
            raise ValueError("give encoded=, the number of tokens that the encoder reads")
        return replace(run, seq=run.encoded, context=run.encoded, encoded=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class WhereSeen(Inside):
    """Layers that run only where a pass has encoded tokens, such as those of an image.

    With ``encoded`` tokens of pictures they attend to those (attention of kind ``cross``), and are
    then as any other; without, their weights lie in memory and nothing else is done.
    """

    d_model: Number
    blocks: tuple[Block, ...]

    @property
    def cached_of_encoded(self) -> Any:
        """See `Part.cached_of_encoded`."""
        return self.of_parts(lambda part: part.cached_of_encoded)

    def scores(self, seq: Number, encoded: Number) -> Any:
        """See `Part.scores`."""
        return self.of_parts(lambda part: part.scores(seq, encoded))

    def saved_of_encoded(self, d: Number) -> tuple[Saved, ...]:
        """See `Part.saved_of_encoded`."""
        pairs = ((block, part) for block in self.blocks for part in block.parts)
        return tuple(t * block.layers for block, part in pairs for t in part.saved_of_encoded(d))

    def saved(self, d: Number) -> tuple[Saved, ...]:
        """What the gradients of their own steps need, where there is something to see."""
        return self.kept()

    def mixing(self, run: Pass, layers: Number) -> tuple[Op, ...]:
        """Their part of the pass."""
        return () if is_zero(run.encoded) else tuple(self.forward(run, layers))

    def mixing_backward(self, run: Pass, layers: Number) -> tuple[Op, ...]:
        """Their gradients."""
        return () if is_zero(run.encoded) else tuple(self.backward(run, layers))


def _forward(block: Block, d: Number, run: Pass, layers: Number) -> list[Op]:
    """A block's pass, step by step, ``layers`` times."""
    count = layers * block.layers
    ops = [run.of(block.norm_step(d), count * block.norms)]
    for part in block.parts:
        ops += [run.of(step, count) for step in part.before(d)]
        ops += part.mixing(run, count)
        ops += [run.of(step, count) for step in part.after(d)]
    ops += [run.of(step, count) for step in block.extra]
    return [*ops, run.of(residual_step(d), count * block.added)]


def _backward(block: Block, d: Number, run: Pass, layers: Number) -> list[Op]:
    """A block's gradients, last step first."""
    count = layers * block.layers
    ops = _gradients((residual_step(d),), run, count * block.added)
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
