"""What one device does for one microbatch: in a layer of each kind, and at either end of a model.

`cut` takes a model, and how its tensors and tokens are divided, and gives the ledgers of one layer
of each block and of the ends, forward and backward, with every message in its place. A plan is
these ledgers times layers and microbatches, and what is sent between stages and replicas.

How each way of dividing a layer shows up in the ledger:

    tensor      products by t (`costlib.parallel.tensor_parallel`), an all-reduce of the residual
                stream after each sum that was cut; with ``sequence`` a reduce-scatter and an
                all-gather instead, what is done to the stream itself divided by t, and one more
                all-gather back, of the input that was kept in parts
    context     tokens by c; keys and values travel around a ring ("ring": keys and values forward,
                again with their gradients back) or heads are divided instead of tokens for the
                time of attention ("all_to_all")
    expert      each device has E/e experts; copies of tokens are sent to theirs and back

Left out: capacity limits that drop tokens, and a ring's last steps that wait for the slowest.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

from costlib.layers import Attending, Block, Mixture, Pass
from costlib.parallel.cluster import Tiers
from costlib.parallel.model_parallel import remembered, tensor_parallel
from costlib.parallel.stages import layer_kinds
from costlib.units.ledger import Elements, Ledger, Op
from costlib.units.numbers import Number, is_one, is_zero, minimum

if TYPE_CHECKING:
    from costlib.model.transformer import Transformer

__all__ = ["CONTEXT_BY"]

CONTEXT_BY = ("ring", "all_to_all")

#: Steps that every device of a tensor group does alike, unless they divide the sequence.
_ON_THE_STREAM = ("norms", "residual", "router", "router.softmax")


@dataclass(frozen=True, slots=True, kw_only=True)
class Cut:
    """How one microbatch of sequences is divided over devices."""

    microbatch: Number = 1
    seq: Number = 1
    tensor: Number = 1
    context: Number = 1
    expert: Number = 1
    sequence: bool = False
    whole_experts: bool = False
    context_by: str = "ring"
    recompute: str | None = None
    masked: str = "skipped"
    scores: str = "on-chip"
    imbalance: Number = 1
    nodes_per_token: Number | None = None
    tiers: Mapping[str, Tiers]

    @property
    def local(self) -> Any:
        """Tokens of each sequence that one device has."""
        return _part(self.seq, self.context)

    @property
    def tokens(self) -> Any:
        """Tokens of the microbatch that one device has."""
        return self.microbatch * self.local

    @property
    def between(self) -> Any:
        """Tokens that it has between the layers' products."""
        return _part(self.tokens, self.tensor) if self.sequence else self.tokens

    def send(self, does: str, elements: Number, axis: str, **how: Any) -> Ledger:
        """A collective over one axis, in the tiers that it has; nothing where it is one device."""
        return self.tiers[axis].send(does, elements, axis, **how)


@dataclass(frozen=True, slots=True)
class Work:
    """What one device does forward and back, computing and sending; ``mixing`` names the steps
    whose cost grows with the square of the sequence, behind which a ring's messages hide."""

    forward: Ledger
    backward: Ledger
    mixing: frozenset[str] = frozenset()

    @property
    def both(self) -> Ledger:
        """Forward, then back."""
        return self.forward + self.backward


def layers(model: Transformer, cut: Cut) -> tuple[Work, ...]:
    """One layer of each kind that the model has.

    >>> from costlib import models
    >>> tiers = {"tensor": Tiers(8), "context": Tiers(), "expert": Tiers()}
    >>> [work] = layers(models["llama-3-8b"], Cut(seq=4096, tensor=8, tiers=tiers))
    >>> work.forward.over("tensor").sends == 2 * 2 * 7 * 4096 * 4096 / 8
    True
    """
    return tuple(layer(share_of(one, cut.tensor), cut) for one in single_layers(model))


def ends(model: Transformer, cut: Cut) -> tuple[Work, Work]:
    """What the first device of a pipeline does before its layers, and the last after its own.

    >>> from costlib import models
    >>> tiers = {"tensor": Tiers(), "context": Tiers(), "expert": Tiers()}
    >>> cut = Cut(tiers=tiers)
    >>> [(work.forward.names, len(work.backward)) for work in ends(models["gpt2"], cut)]
    [(('embedding', 'positions'), 2), (('final_norm', 'unembedding'), 3)]
    """
    return ends_of(share_of(single_layers(model)[0], cut.tensor), cut)


def ends_of(share: Transformer, cut: Cut) -> tuple[Work, Work]:
    """The same, of one device's share of a model with one layer."""
    forward, backward = _Passes(share, cut).ops()
    first, last = (
        Work(_those(forward, names), _those(backward, names)) for names in outside(share)
    )
    # A device looks up the rows that it has, and the unembedding's input has as many gradients.
    stream = _sums(cut, 1, cut.tokens * share.d_model)
    return replace(first, forward=first.forward + stream), replace(
        last, backward=last.backward + stream
    )


def _those(ops: Iterable[Op], names: frozenset[str]) -> Ledger:
    return Ledger(tuple(op for op in ops if base_name(op.name) in names))


def share_of(model: Transformer, tensor: Number) -> Transformer:
    """One device's part of a model; its messages are counted here, tier by tier."""
    found: Transformer = remembered(_share_of, model, tensor)
    return found


@lru_cache(maxsize=256)
def _share_of(model: Transformer, tensor: Number) -> Transformer:
    share = tensor_parallel(model, tensor)
    return share if is_one(share.tensor_parallel) else share.with_(tensor_parallel=1)


def single_layers(model: Transformer) -> list[Transformer]:
    """The same model with one layer, for each kind of layer."""
    return list(remembered(_single_layers, model))


@lru_cache(maxsize=256)
def _single_layers(model: Transformer) -> tuple[Transformer, ...]:
    return tuple(model.with_(blocks=(block,)) for block in layer_kinds(model)[0])


def outside(model: Transformer) -> tuple[frozenset[str], frozenset[str]]:
    """Names of the steps that belong to no layer: before all of them, and after."""
    first = {"embedding", "positions", "embedding_norm", "mtp.embedding"}
    last = {"final_norm", "unembedding", "unembedding.bias", "mtp.unembedding"}
    first |= {step.name for step in model.first}
    return frozenset(first), frozenset(last | {s.name for s in (*model.last, *model.head)})


def base_name(name: str) -> str:
    """A step's name without what the backward pass adds to it.

    >>> base_name("ffn.up.grad_weights"), base_name("ffn.up")
    ('ffn.up', 'ffn.up')
    """
    for ending in (".recomputed", ".backward", ".grad_input", ".grad_weights"):
        if name.endswith(ending):
            return name.removesuffix(ending)
    return name


class _Passes:
    """A model's forward and backward ops at one cut: each from the pass that has its tokens."""

    def __init__(self, one: Transformer, cut: Cut) -> None:
        self.one, self.cut = one, cut

    def _step(self, seq: Number) -> tuple[tuple[Op, ...], tuple[Op, ...]]:
        how: dict[str, Any] = {"scores": self.cut.scores, "masked": self.cut.masked}
        step = self.one.training_step(
            self.cut.microbatch, seq, recompute=self.cut.recompute, **how
        ).ops
        ahead = len(self.one.prefill(1, 1, mla="naive", **how))
        return step[:ahead], step[ahead:]

    @cached_property
    def mixing(self) -> frozenset[str]:
        """Names of what mixes tokens, forward and back."""
        cut, names = self.cut, set()
        run = Pass(cut.microbatch, cut.seq, cut.seq, scores=cut.scores, mla="naive")
        for block in self.one.blocks:
            for part in block.parts:
                forward = [op.name for op in part.mixing(run, 1)]
                again = [f"{name}.recomputed" for name in forward]
                names |= {*forward, *again, *(op.name for op in part.mixing_backward(run, 1))}
        return frozenset(names)

    def ops(self) -> tuple[tuple[Op, ...], tuple[Op, ...]]:
        """All of them, forward and back."""
        cut = self.cut
        found = self._step(cut.local)
        if not is_one(cut.context):
            whole = self._step(cut.seq)
            found = _merged(found, whole, lambda op: op.name in self.mixing, self._of_context)
        if cut.sequence and not is_one(cut.tensor):
            short = self._step(_part(cut.local, cut.tensor))
            found = _merged(found, short, lambda op: base_name(op.name) in _ON_THE_STREAM)
        return found

    def _of_context(self, op: Op) -> Op:
        """A device's part of attention over the whole sequence.

        On a ring it reads all keys and values, for its own queries; divided by heads, a part.
        """
        by_heads = self.cut.context_by == "all_to_all"
        return _scaled(op, self.cut.context, kv=by_heads)


def _merged(found: Any, other: Any, take: Any, change: Any = lambda op: op) -> Any:
    """The ops of one step, some of them from another."""
    return tuple(
        tuple(change(b) if take(b) else a for a, b in zip(mine, its, strict=True))
        for mine, its in zip(found, other, strict=True)
    )


def layer(share: Transformer, cut: Cut) -> Work:
    """One layer, of one device's share of a model that has no other."""
    before, after = outside(share)
    passes, block, ends = _Passes(share, cut), share.blocks[0], before | after
    forward, backward = (
        [_of_experts(op, cut) for op in ops if base_name(op.name) not in ends]
        for ops in passes.ops()
    )
    sent = _messages(block, cut, share.d_model)
    back = _messages(block, cut, share.d_model, back=True)
    if cut.recompute == "full":
        back = sent + back
    return Work(Ledger(tuple(forward)) + sent, Ledger(tuple(backward)) + back, passes.mixing)


def _of_experts(op: Op, cut: Cut) -> Op:
    """A device's experts: fewer weights to read, and as many tokens as the busiest gets."""
    if not op.name.startswith("experts."):
        return op
    more = 1 if op.name.startswith("experts.combine") else cut.imbalance
    fewer = _part(cut.expert, cut.tensor) if cut.whole_experts else cut.expert
    read, written = op.elements_read, op.elements_written
    return replace(
        op,
        flops=op.flops * more,
        elements_read=_less_weights(read, more, fewer),
        elements_written=_less_weights(written, more, fewer),
    )


def _less_weights(elements: Elements, more: Number, fewer: Number) -> Elements:
    weights = elements.weights if is_zero(elements.weights) else _part(elements.weights, fewer)
    rest = Elements(0, elements.activations, elements.kv, elements.scores)
    return Elements(weights) + (rest if is_one(more) else rest * more)


# ---------------------------------------------------------------------------------- messages


def _sums(cut: Cut, count: Number, elements: Number) -> Ledger:
    """What puts the parts of a tensor group together, ``count`` times."""
    if not cut.sequence:
        return cut.send("all_reduce", elements, "tensor", count=count)
    gathered = cut.send("all_gather", elements, "tensor", count=count)
    return gathered + cut.send("reduce_scatter", elements, "tensor", count=count)


def _messages(block: Block, cut: Cut, d: Number, *, back: bool = False) -> Ledger:
    """What one layer sends forward; or back, which is as much again, and what was kept in parts."""
    stream = cut.tokens * d
    mixtures = [part for part in block.parts if isinstance(part, Mixture)]
    plain = (1 if block.parallel else block.added) - len(mixtures)
    sent = _sums(cut, plain, stream) if plain else Ledger()
    if back and cut.sequence and plain:
        sent = sent + cut.send("all_gather", stream, "tensor", count=plain, name="gather_again")
    for part in mixtures:
        sent = sent + _of_mixture(part, cut, d)
    for mixer in block.parts:
        if isinstance(mixer, Attending):
            sent = sent + _of_context(mixer, cut, back=back)
    return sent


def _of_mixture(part: Mixture, cut: Cut, d: Number) -> Ledger:
    """Copies of tokens are sent to their experts, and what comes of them goes back."""
    width = d if part.latent is None else part.latent
    copies = cut.between * part.per_token * width * cut.imbalance
    dealt = _dealt(part, cut, copies)
    if cut.whole_experts and is_zero(part.shared_width):
        return dealt
    if cut.sequence and not cut.whole_experts:  # of each expert's width: its tokens are gathered
        return dealt + _sums(cut, 1, copies * cut.tensor)
    return dealt + _sums(cut, 1, cut.tokens * d)


def _dealt(part: Mixture, cut: Cut, copies: Number) -> Ledger:
    """Tokens go to their experts and back: each copy by itself, or once to each node that has some
    of its experts, whose fast links do the rest."""
    if cut.nodes_per_token is None:
        return cut.send("all_to_all", copies, "expert", count=2)
    tiers, fewer = cut.tiers["expert"], minimum(cut.nodes_per_token, part.per_token)
    across = Tiers(1, tiers.across).send(
        "all_to_all", _part(copies, part.per_token) * fewer, "expert", count=2
    )
    return Tiers(tiers.inside).send("all_to_all", copies, "expert", count=2) + across


def _of_context(part: Attending, cut: Cut, *, back: bool) -> Ledger:
    """What attention over a sequence that is cut must send; queries and outputs if by heads."""
    if is_one(cut.context):
        return Ledger()
    head = part.head_dim + part.value_dim
    keys, queries = part.kv_heads * head, part.heads * head
    if cut.context_by == "all_to_all":
        return cut.send("all_to_all", (keys + queries) * cut.tokens, "context")
    whole = keys * cut.tokens * cut.context
    gathered = cut.send("all_gather", whole, "context", name="ring")
    if not back:
        return gathered
    return gathered + cut.send("reduce_scatter", whole, "context", name="ring_of_gradients")


# --------------------------------------------------------------------------------- fractions


def _part(whole: Number, devices: Number) -> Any:
    """A device's part; ints that divide stay ints."""
    if type(whole) is int and type(devices) is int and whole % devices == 0:
        return whole // devices
    return whole / devices


def _scaled(op: Op, devices: Number, *, kv: bool) -> Op:
    """An op divided among devices; weights are read by each, keys and values unless told."""

    def part(of: Elements) -> Elements:
        rest = [_part(each, devices) for each in (of.activations, of.kv, of.scores)]
        return Elements(of.weights, rest[0], rest[1] if kv else of.kv, rest[2])

    return replace(
        op,
        flops=_part(op.flops, devices),
        elements_read=part(op.elements_read),
        elements_written=part(op.elements_written),
    )
