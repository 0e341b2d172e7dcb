"""An encoder beside a decoder: it reads a text once, and the decoder attends to what it made."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from costlib.attention import check_sizes
from costlib.layers.parts import Block, Part, Pass, PerToken, elementwise, gradient_of, plus
from costlib.ledger import Op
from costlib.numbers import Number, is_zero


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
        for block in self.blocks:
            total = plus(total, block.layers * block.parameters(self.d_model))
        return total

    def mixing(self, run: Pass, layers: Number) -> tuple[Op, ...]:
        """Its whole pass."""
        if not run.is_first:
            return ()
        if is_zero(run.encoded):
            raise ValueError("give encoded=, the number of tokens that the encoder reads")
        inner = replace(run, seq=run.encoded, context=run.encoded, encoded=0)
        ops = [inner.of(step, layers) for step in self.first]
        for block in self.blocks:
            ops += self._block(block, inner, layers)
        ops += [inner.of(step, layers) for step in self.last]
        return tuple(op.named(f"encoder.{op.name}") for op in ops)

    def _block(self, block: Block, run: Pass, layers: Number) -> list[Op]:
        d, count = self.d_model, layers * block.layers
        residual = elementwise("residual", d, "residual", reads=2 * d)
        ops = [run.of(block.norm_step(d), count * block.norms)]
        for part in block.parts:
            ops += [run.of(step, count) for step in part.before(d)]
            ops += part.mixing(run, count)
            ops += [run.of(step, count) for step in part.after(d)]
        ops += [run.of(step, count) for step in block.extra]
        return [*ops, run.of(residual, count * block.added)]

    def mixing_backward(self, run: Pass, layers: Number) -> tuple[Op, ...]:
        """Its gradients, two products for each of its."""
        return tuple(gradient_of(op) for op in reversed(self.mixing(run, layers)))
