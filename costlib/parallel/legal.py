"""Which plans are legal: one list of rules, asked of one plan or, elementwise, of many.

A rule names the argument that is at fault, says in a sentence what is wrong, and knows when it
holds; the nearest legal value is found by asking it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from costlib.layers import Attending, Encoder, Mixture, Pass, WhereSeen
from costlib.parallel.cluster import Cluster
from costlib.parallel.degrees import Degrees
from costlib.parallel.mesh import Mesh
from costlib.parallel.model_parallel import degrees, tensor_parallel
from costlib.training import recipe_of
from costlib.units.numbers import Number, is_symbolic, is_zero, size

if TYPE_CHECKING:
    from costlib.model.transformer import Transformer

__all__ = ["RULES", "SERVED"]


@dataclass(frozen=True)
class Asked:
    """A plan, and what it is asked to do."""

    plan: Degrees
    model: Transformer
    cluster: Cluster
    batch: Any
    seq: Any
    strict: bool = True

    @cached_property
    def mesh(self) -> Mesh:
        """Where its axes lie."""
        return Mesh(self.plan, self.cluster)

    @cached_property
    def mixtures(self) -> list[Mixture]:
        """The model's mixtures of experts."""
        return [part for part in _parts(self.model) if isinstance(part, Mixture)]

    @cached_property
    def microbatches(self) -> Any:
        """How many go through each pipeline."""
        return -(-self.batch // (self.plan.data * self.plan.microbatch))

    def with_(self, name: str, value: Any) -> Asked:
        """The same with one argument of the plan changed, and of the mesh nothing else."""
        plan = self.plan.with_(**{name: value})
        return Asked(plan, self.model, self.cluster, self.batch, self.seq, self.strict)


@dataclass(frozen=True, slots=True)
class Rule:
    """What must hold: of which argument, and what to say where it does not; ``most`` is the largest
    value that is worth a try, ``among`` are the only ones, where that is known: none, where the
    sentence says itself what would do."""

    argument: str
    holds: Callable[[Asked], Any]
    says: Callable[[Asked], str]
    most: Callable[[Asked], int] = lambda asked: asked.cluster.devices
    among: Callable[[Asked], Iterable[int]] | None = None


def _divides(divisor: Any, value: Any) -> Any:
    return value % divisor == 0


def _all(conditions: Iterable[Any]) -> Any:
    """Whether all of them hold, elementwise."""
    found: Any = True
    for each in conditions:
        found = found & each
    return found


def _parts(model: Transformer) -> list[Any]:
    """The parts of every layer."""
    return [part for block in model.blocks for part in block.parts]


def why_not_cut(model: Transformer, tensor: int) -> str:
    """Why a model's heads and widths cannot be divided so; nothing if they can."""
    try:
        tensor_parallel(model, tensor)
    except ValueError as problem:
        return f"tensor={tensor} does not divide the model: {problem}"
    return ""


def _cut_alike(asked: Asked) -> Any:
    """Whether the model's heads and widths can be divided so."""
    tensor = asked.plan.tensor
    if not isinstance(tensor, np.ndarray):
        return not why_not_cut(asked.model, int(tensor))
    found = {each: not why_not_cut(asked.model, int(each)) for each in np.unique(tensor)}
    return np.vectorize(found.__getitem__, otypes=[bool])(tensor)


def _other_mixers(asked: Asked) -> list[str]:
    """Kinds of layer, other than attention, that mix tokens."""
    run, found = Pass(1, 2, 2, mla="naive"), dict[str, None]()
    for part in _parts(asked.model):
        known = isinstance(part, Attending) and not getattr(part, "cross", False)
        if not known and part.mixing(run, 1):
            found[type(part).__name__] = None
    return list(found)


def _heads_go_round(asked: Asked) -> Any:
    """Whether heads can be divided among the context's devices."""
    among = asked.plan.tensor * asked.plan.context
    mixers = (part for part in _parts(asked.model) if isinstance(part, Attending))
    return _all(_divides(among, part.heads) for part in mixers)


def _experts_have_devices(asked: Asked) -> Any:
    """Whether experts' devices are whole groups of context (and tensor), or whole parts of them."""
    expert, inner = asked.plan.expert, asked.mesh.inner
    near = _divides(inner, expert) | _divides(expert, inner)
    return near & _divides(asked.mesh.of_data, asked.plan.data)


def _placed(asked: Asked) -> Any:
    """Whether every axis is cut alike by the nodes' edges."""
    mesh = asked.mesh
    return _all(each.fits for each in (*mesh.axes.values(), mesh.expert, mesh.expert_replicas))


def _has_tiers(asked: Asked) -> Any:
    """Whether there is a link wherever something is sent."""
    node, axes = asked.cluster.node, asked.mesh.axes.values()
    across = [tiers.across == 1 for tiers in axes if node.network is None]
    return _all([*across, *(tiers.inside == 1 for tiers in axes if node.link is None)])


def _missing(asked: Asked) -> str:
    node = asked.cluster.node
    what, name = ("network", "network") if node.network is None else ("link", "link inside a node")
    text = f"{node.name} has no {name}, over which this plan sends"
    return f"{text}: give one with node.with_({what}=...)"


def _in_rounds(asked: Asked) -> Any:
    """Interleaved stages take microbatches in rounds of as many as there are stages."""
    if asked.plan.ordered != "interleaved" or asked.plan.pipeline == 1:
        return True
    return _divides(asked.plan.pipeline, asked.microbatches)


def _encoders(asked: Asked) -> bool:
    return any(
        isinstance(part, (Encoder, WhereSeen)) or getattr(part, "cross", False)
        for part in _parts(asked.model)
    )


def _about_devices(asked: Asked) -> str:
    """What the plan is for, and a degree of it that would do."""
    plan, there = asked.plan, asked.cluster.devices
    named = {name: getattr(plan, name) for name in ("data", "pipeline", "tensor", "context")}
    cuts = " · ".join(f"{name}={many}" for name, many in named.items() if many > 1) or "data=1"
    text = f"{cuts} makes a plan for {plan.devices} devices, and there are {there}"
    for name, many in named.items():
        value, rest = divmod(many * there, plan.devices)
        of_it = (rule for rule in RULES if rule.argument == name)
        is_open = rest == 0 and (many > 1 or name == "data")
        if is_open and all(_would_do(rule, asked, value) for rule in of_it):
            return f"{text}; {name}={value} would do"
    return text


def _about_copies(asked: Asked) -> str:
    """How many copies may share experts."""
    plan = asked.plan
    text = f"expert={plan.expert} must divide data={plan.data}"
    text += f" times context={plan.context}" if plan.context > 1 else ""
    text += f" times tensor={plan.tensor}" if plan.whole_experts else ""
    return f"{text} (data={plan.expert} would do, on {plan.expert} devices or more)"


def _about_batch(asked: Asked) -> str:
    batch, data = asked.batch, asked.plan.data
    nearest = max(1, (2 * batch + data) // (2 * data)) * data
    return f"batch={batch} must be a multiple of data={data}; the nearest is {nearest}"


RULES = (
    Rule(
        "model",
        lambda a: not _encoders(a),
        lambda _: "plans of models with an encoder are not known",
    ),
    Rule(
        "recipe",
        lambda a: recipe_of(a.plan.recipe).adapters is None,
        lambda _: "recipe has adapters, and plans of low-rank adapters are not known",
    ),
    Rule(
        "chunks",
        lambda a: a.plan.chunks == 1 or (a.plan.pipeline > 1 and a.plan.schedule != "gpipe"),
        lambda a: f"chunks={a.plan.chunks} needs a pipeline of several stages, in order 1f1b",
    ),
    Rule(
        "pipeline",
        lambda a: a.plan.pipeline <= a.model.layers,
        lambda a: (
            f"pipeline={a.plan.pipeline} is more stages than the model's {a.model.layers} layers"
        ),
        among=lambda _: (),
    ),
    Rule(
        "chunks",
        lambda a: a.plan.pipeline * a.plan.chunks <= a.model.layers + 2,
        lambda a: (
            f"chunks={a.plan.chunks} makes {a.plan.pipeline * a.plan.chunks} pieces of "
            f"{a.model.layers} layers, an embedding and an unembedding"
        ),
    ),
    Rule(
        "tensor",
        _cut_alike,
        lambda a: why_not_cut(a.model, a.plan.tensor),
        among=lambda a: degrees(a.model),
    ),
    Rule(
        "context",
        lambda a: _divides(a.plan.context, a.seq),
        lambda a: f"context={a.plan.context} must divide seq={a.seq}",
    ),
    Rule(
        "context",
        lambda a: (a.plan.context == 1) | (not _other_mixers(a)),
        lambda a: (
            f"context={a.plan.context}: how {', '.join(_other_mixers(a))} is divided along the "
            "sequence is not known"
        ),
    ),
    Rule(
        "context",
        lambda a: (a.plan.context == 1) | (a.plan.context_by == "ring") | _heads_go_round(a),
        lambda a: (
            f"context={a.plan.context} times tensor={a.plan.tensor} must divide the heads "
            "(all_to_all): a ring need not"
        ),
    ),
    Rule(
        "tensor",
        lambda a: True if not a.plan.sequence else _divides(a.plan.tensor * a.plan.context, a.seq),
        lambda a: (
            f"tensor={a.plan.tensor} times context={a.plan.context} must divide seq={a.seq}, "
            "where the sequence is divided too"
        ),
    ),
    Rule(
        "expert",
        lambda a: (a.plan.expert == 1) | bool(a.mixtures),
        lambda a: f"expert={a.plan.expert} needs a mixture of experts, and this model has none",
    ),
    Rule(
        "expert",
        lambda a: _all(_divides(a.plan.expert, part.experts) for part in a.mixtures),
        lambda a: f"expert={a.plan.expert} must divide the {a.mixtures[0].experts} experts",
    ),
    Rule("expert", _experts_have_devices, _about_copies, among=lambda a: range(2, a.plan.expert)),
    Rule("data", lambda a: a.plan.devices == a.cluster.devices, _about_devices, among=lambda _: ()),
    Rule("batch", lambda a: (not a.strict) | _divides(a.plan.data, a.batch), _about_batch),
    Rule(
        "microbatch",
        lambda a: (not a.strict) | _divides(a.plan.data * a.plan.microbatch, a.batch),
        lambda a: (
            f"microbatch={a.plan.microbatch} times data={a.plan.data} must divide batch={a.batch}"
        ),
        lambda a: int(a.batch),
    ),
    Rule(
        "microbatch",
        lambda a: (not a.strict) | _in_rounds(a),
        lambda a: (
            f"microbatch={a.plan.microbatch} makes {a.microbatches} microbatches, and interleaved "
            f"ones go in rounds of as many as the {a.plan.pipeline} stages"
        ),
        lambda a: int(a.batch),
    ),
    Rule(
        "per_node",
        _placed,
        lambda a: (
            f"groups of this plan straddle nodes of {a.cluster.node.devices} devices: use fewer of "
            "each, Cluster(..., per_node=...)"
        ),
    ),
    Rule("network", _has_tiers, _missing),
)


def _shares_layers_alone(asked: Asked) -> bool:
    return asked.plan.pipeline == 1 and asked.plan.expert == 1


#: What a server's plan must keep to, beside `tensor_parallel`'s own: of models with an encoder, and
#: of layers that share weights, only each layer's heads and widths can be shared.
SERVED = (
    Rule(
        "model",
        lambda a: _shares_layers_alone(a) or not _encoders(a),
        lambda _: "plans of models with an encoder are not known",
    ),
    Rule(
        "pipeline",
        lambda a: a.plan.pipeline == 1 or all(is_zero(b.shared_parameters) for b in a.model.blocks),
        lambda a: f"pipeline={a.plan.pipeline}: layers of this model share weights",
    ),
    *(
        rule
        for rule in RULES
        if rule.argument in ("pipeline", "tensor", "expert", "data", "per_node", "network")
    ),
)


def broken(
    plan: Degrees,
    model: Transformer,
    cluster: Cluster,
    batch: Number,
    seq: Number,
    *,
    strict: bool = True,
    rules: tuple[Rule, ...] = RULES,
) -> Iterator[str]:
    """What is wrong with a plan, one sentence after another."""
    asked = Asked(plan, model, cluster, size("batch", batch), size("seq", seq), strict)
    if is_symbolic(plan.tensor, plan.data, plan.microbatch, asked.batch, asked.seq):
        return
    for rule in rules:
        if not np.all(rule.holds(asked)):
            yield rule.says(asked) + _nearest(rule, asked)


def _nearest(rule: Rule, asked: Asked) -> str:
    """The legal value next to the one that was given, where one would do."""
    given = getattr(asked.plan, rule.argument, None)
    if not isinstance(given, int) or isinstance(given, bool):
        return ""
    most = min(max(rule.most(asked), int(asked.model.layers)), 2**16)
    tries = range(1, most + 1) if rule.among is None else rule.among(asked)
    for value in sorted(tries, key=lambda value: abs(value - given)):
        if value <= most and _would_do(rule, asked, value):
            return f"; the nearest is {value}"
    return ""


def _would_do(rule: Rule, asked: Asked, value: int) -> bool:
    try:
        return bool(rule.holds(asked.with_(rule.argument, value)))
    except ValueError:
        return False


def legal(asked: Asked) -> Any:
    """Whether each of many plans is legal, elementwise."""
    return _all(rule.holds(asked) for rule in RULES)
