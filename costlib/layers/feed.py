"""Kinds of feed-forward layer: dense ones, and mixtures of experts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from costlib.layers.attention import FLOPS_PER_ELEMENT, check_sizes
from costlib.layers.parts import (
    Divided,
    Part,
    Pass,
    PerToken,
    Saved,
    elementwise,
    input_of,
    linear_step,
)
from costlib.units.ledger import Ledger
from costlib.units.messages import collective
from costlib.units.numbers import Number, choose, exact_div, is_one, is_zero, size

ACTIVATIONS = ("silu", "gelu", "gelu_tanh", "relu", "relu2", "xielu")


@dataclass(frozen=True, slots=True, kw_only=True)
class Mlp(Part):
    """A dense feed-forward layer: up, activation, down, and perhaps a gate."""

    width: Number
    gated: bool = True
    activation: str = "silu"
    bias: bool = False
    name: str = "ffn"
    extra: tuple[PerToken, ...] = ()

    def __post_init__(self) -> None:
        check_sizes(self, "width")
        choose("activation", self.activation, ACTIVATIONS)

    @property
    def divided(self) -> Divided:
        """See `Part.divided`."""
        return ("width",), ()

    def after(self, d: Number) -> tuple[PerToken, ...]:
        """See `Part.after`."""
        how: dict[str, Any] = {"gated": self.gated, "activation": self.activation}
        steps = mlp_steps(self.name, d, self.width, d, bias=self.bias, **how)
        return (*steps, *self.extra)

    def saved(self, d: Number) -> tuple[Saved, ...]:
        """What the steps inside read."""
        return saved_inside(self.name, self.width, self.gated)


@dataclass(frozen=True, slots=True, kw_only=True)
class Mixture(Part):
    """A mixture of experts: a router sends each token to ``per_token`` of ``experts``.

    Each expert is a feed-forward layer of ``width``; ``latent``: tokens are projected to this
    width and back (Nemotron-H). ``shared_width`` is one more that all tokens use, and
    ``shared_gate`` scales it. ``routed_by_hash``: the token itself says which experts, there is no
    product. ``runs_all``: code that runs every expert on every
    token and masks the others, as "computed" counts. ``router`` has the steps of a router that is
    more than one product. ``expert_parallel`` devices in ``nodes`` nodes share the
    experts, each with as many tokens: see `costlib.parallel.expert_parallel`.
    """

    experts: Number
    per_token: Number
    width: Number
    shared_width: Number = 0
    shared_gate: bool = False
    gated: bool = True
    activation: str = "silu"
    router_bias: bool = False
    bias: bool = False
    shared_bias: bool = False
    latent: Number | None = None
    routed_by_hash: bool = False
    runs_all: bool = False
    router: tuple[PerToken, ...] | None = None
    expert_parallel: Number = 1
    nodes: Number = 1
    extra: tuple[PerToken, ...] = ()

    def __post_init__(self) -> None:
        check_sizes(self, "experts", "per_token", "width")
        check_sizes(self, "shared_width", least=0)
        size("experts - per_token", self.experts - self.per_token, least=0)
        choose("activation", self.activation, ACTIVATIONS)

    @property
    def divided(self) -> Divided:
        """See `Part.divided`."""
        return ("width", "shared_width"), ()

    def after(self, d: Number) -> tuple[PerToken, ...]:
        """See `Part.after`."""
        kind: dict[str, Any] = {"gated": self.gated, "activation": self.activation}
        into = d if self.latent is None else self.latent
        experts = mlp_steps("experts", into, self.width, into, bias=self.bias, **kind)
        how: dict[str, Any] = {"expert_parallel": self.expert_parallel, "runs_all": self.runs_all}
        steps = [
            *self._router(d),
            *(() if self.latent is None else linear_step("latent_down", d, self.latent)),
            *(step.routed(self.experts, self.per_token, **how) for step in experts),
            elementwise("experts.combine", self.per_token * into, "combine", writes=into),
            *(() if self.latent is None else linear_step("latent_up", self.latent, d)),
        ]
        if not is_zero(self.shared_width):
            steps += mlp_steps("shared", d, self.shared_width, d, bias=self.shared_bias, **kind)
        if self.shared_gate:
            steps += linear_step("shared_gate", d, 1)
        return (*steps, *self.extra)

    def _router(self, d: Number) -> tuple[PerToken, ...]:
        scored = elementwise("router.softmax", self.experts, "softmax")
        looked_up = PerToken("router.lookup", rows=self.per_token)
        linear = linear_step("router", d, self.experts, bias=self.router_bias)
        linear = linear if self.router is None else self.router
        return (*linear, *((looked_up,) if self.routed_by_hash else ()), scored)

    @property
    def sends(self) -> bool:
        """Where experts lie on several devices."""
        return not is_one(self.expert_parallel)

    def messages(self, run: Pass, layers: Number, d: Number) -> Ledger:
        """Copies of tokens go to experts on other devices, and what comes of them goes back."""
        copies = run.tokens * self.per_token * (d if self.latent is None else self.latent)
        inside, count = exact_div(self.expert_parallel, self.nodes), 2 * layers * run.steps
        tiers: dict[str, Any] = {"inside": inside, "across": self.nodes}
        return collective("all_to_all", copies, axis="expert", count=count, **tiers)

    def saved(self, d: Number) -> tuple[Saved, ...]:
        """What the steps inside read, and each expert's input and output."""
        chosen, into = self.per_token, d if self.latent is None else self.latent
        terms = [
            Saved(
                "experts' inputs",
                chosen * into,
                "inputs",
                split="sequence",
                feeds=("experts.gate", "experts.up"),
            ),
            *saved_inside("experts", chosen * self.width, self.gated),
            Saved("experts' outputs", chosen * into, split="sequence"),
        ]
        if self.latent is not None:  # what is projected back
            terms.append(Saved("latent", into, "inputs", split="sequence"))
        if not is_zero(self.shared_width):
            terms += saved_inside("shared", self.shared_width, self.gated)
        return tuple(terms)


def saved_inside(name: str, width: Number, gated: bool) -> tuple[Saved, ...]:
    """What the gradients of a feed-forward layer need of its ``width`` inner elements.

    The activation's input, and with a gate what it is multiplied with; the last product's input. An
    activation that is an op of its own has an output besides, which the gate's gradient reads.
    """
    made = Saved(f"{name}.activation output", width, fusible=True)
    return (
        *((Saved(f"{name}.gate output", width), made) if gated else ()),
        Saved(f"{name}.up output", width),
        input_of(f"{name}.down", width),
    )


def mlp_steps(
    name: str,
    d_in: Number,
    width: Number,
    d_out: Number,
    *,
    gated: bool,
    activation: str,
    bias: bool = False,
) -> tuple[PerToken, ...]:
    """up, activation, down, and perhaps a gate."""
    flops, read = FLOPS_PER_ELEMENT[activation], 1
    gate: tuple[PerToken, ...] = ()
    if gated:
        flops, read = flops + FLOPS_PER_ELEMENT["gate"], 2
        gate = linear_step(f"{name}.gate", d_in, width, bias=bias)
    return (
        *gate,
        *linear_step(f"{name}.up", d_in, width, bias=bias),
        PerToken(f"{name}.activation", flops * width, read * width, width),
        *linear_step(f"{name}.down", width, d_out, bias=bias),
    )
