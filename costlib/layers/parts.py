"""What every kind of layer is made of: steps a token, passes, caches, parts and blocks."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import KW_ONLY, dataclass, fields, is_dataclass, replace
from typing import Any

from costlib.layers.attention import FLOPS_PER_ELEMENT, FORMS, MASKED, SCORES, check_sizes
from costlib.layers.matmul import product_flops
from costlib.units.ledger import Elements, Ledger, Op
from costlib.units.numbers import (
    Number,
    choose,
    exact_div,
    is_one,
    is_symbolic,
    is_zero,
    minimum,
    plus,
    set_field,
    size,
    times,
    total,
)

#: Fields of a part that tensor parallelism divides, and those that are replicated where they are
#: fewer than the devices; None where it is not known.
Divided = tuple[tuple[str, ...], tuple[str, ...]] | None

#: Weights per element that a normalisation stores.
NORM_WEIGHTS = {"rms_norm": 1, "layer_norm": 2, "layer_norm_no_bias": 1, "plain_norm": 0}

#: The options of a pass, each with its values.
OPTIONS = {
    "logits": ("all", "last"),
    "scores": SCORES,
    "masked": MASKED,
    "mla": FORMS,
    "experts": ("expected", "bound", "all"),
}


def experts_expected(experts: Number, per_token: Number, tokens: Number) -> Any:
    """Distinct experts that tokens touch on average: E·(1 − (1 − k/E)^T), each choosing evenly.

    >>> experts_expected(8, 2, 1), round(experts_expected(8, 2, 8), 3)
    (2.0, 7.199)
    """
    return experts * (1 - (1 - per_token / experts) ** tokens)


def experts_bound(experts: Number, per_token: Number, tokens: Number) -> Any:
    """Distinct experts that tokens can touch at most: min(E, T·k).

    >>> experts_bound(8, 2, 1), experts_bound(8, 2, 100)
    (2, 8)
    """
    return minimum(experts, tokens * per_token)


@dataclass(frozen=True, slots=True)
class PerToken:
    """A step that treats all tokens alike, ``times`` over; every number is for all times together.

    Per token: FLOPs, activations read and written, elements written to the cache, and rows looked
    up in a ``table`` that is stored and never read whole. Once: ``weights``; of a routed step, once
    for each of the ``experts`` in use, when each token is sent to ``chosen`` of them, which may lie
    on ``expert_parallel`` devices, each with as many tokens. ``gradient`` is the FLOPs of the
    backward pass for each of the forward pass. ``tied``: the weights are another step's, and
    stored there.

    >>> step = PerToken("up", flops=24, reads=3, writes=4, weights=12, is_matmul=True)
    >>> step.op(10).flops, step.op(10).reads
    (240, 42)
    """

    name: str
    flops: Number = 0
    reads: Number = 0
    writes: Number = 0
    kv_writes: Number = 0
    rows: Number = 0
    weights: Number = 0
    table: Number = 0
    experts: Number = 0
    chosen: Number = 0
    expert_parallel: Number = 1
    is_matmul: bool = False
    gradient: Number = 2
    times: Number = 1
    runs_all: bool = False
    tied: bool = False

    @property
    def is_expert(self) -> bool:
        """Whether each token is sent to some of many."""
        return not is_zero(self.experts)

    def __mul__(self, times: Number) -> PerToken:
        """The step, ``times`` over."""
        return self._scaled(times, (*_PER_TOKEN, "weights", "table", "times"))

    def routed(
        self,
        experts: Number,
        chosen: Number,
        *,
        expert_parallel: Number = 1,
        runs_all: bool = False,
    ) -> PerToken:
        """The step of one expert, done by those chosen for each token; each has its own weights.

        ``runs_all`` marks code that runs every expert on every token and masks the others.
        """
        scaled = replace(self._scaled(chosen, _PER_TOKEN), runs_all=runs_all)
        if is_zero(self.weights):
            return scaled
        return replace(scaled, experts=experts, chosen=chosen, expert_parallel=expert_parallel)

    def _scaled(self, by: Number, names: tuple[str, ...]) -> PerToken:
        values = {name: getattr(self, name) for name in names}
        return replace(self, **{k: v * by for k, v in values.items() if not is_zero(v)})

    def parameters(self, experts: Number | None = None) -> Any:
        """Parameters stored; of a routed step those of all experts, or of ``experts``."""
        if self.tied:
            return 0
        if not self.is_expert:
            return plus(self.weights, self.table)
        count = exact_div(self.experts, self.expert_parallel) if experts is None else experts
        return self.weights * count

    def read_weights(self, tokens: Number, experts: str) -> Any:
        """Weights that a pass over ``tokens`` tokens reads."""
        if not self.is_expert:
            return self.weights
        if experts == "all":
            return self.parameters()
        count = experts_expected if experts == "expected" else experts_bound
        if is_one(self.expert_parallel):
            return self.weights * count(self.experts, self.chosen, tokens)
        of_all = tokens * self.expert_parallel
        met = count(self.experts, self.chosen, of_all)
        return self.weights * met / self.expert_parallel

    def op(self, tokens: Number, experts: str = "expected", masked: str = "skipped") -> Op:
        """The step for ``tokens`` tokens."""
        weights = self.read_weights(tokens, experts) if self.is_expert else self.weights
        if not is_zero(self.rows):
            weights = weights + self.rows * tokens
        reads = Elements(weights, times(self.reads, tokens))
        writes = Elements(0, times(self.writes, tokens), times(self.kv_writes, tokens))
        flops = self._flops(tokens, masked) if self.runs_all else self.flops * tokens
        return Op(self.name, flops, reads, writes, self.is_matmul, self.times)

    def _flops(self, tokens: Number, masked: str) -> Any:
        flops = self.flops * tokens
        if self.runs_all and masked == "computed" and self.is_matmul:
            return flops * self.experts // self.chosen
        return flops

    def backward(
        self, tokens: Number, experts: str = "expected", masked: str = "skipped"
    ) -> Ledger:
        """The gradients: of a matmul's inputs and of its weights, or of both in one op."""
        weights = self.read_weights(tokens, experts)
        stored = Elements(weights=weights + self.rows * tokens)
        into = Elements(activations=self.reads * tokens)
        out = Elements(activations=(self.writes + self.kv_writes) * tokens)

        def op(part: str, gradient: Number, reads: Elements, writes: Elements) -> Op:
            flops = self._flops(tokens, masked) * gradient
            return Op(f"{self.name}.{part}", flops, reads, writes, self.is_matmul, self.times)

        if not self.is_matmul:
            return Ledger((op("backward", self.gradient, stored + into + out, stored + into),))
        of_input = op("grad_input", 1, stored + out, into)
        return Ledger((of_input, op("grad_weights", 1, into + out, stored)))


_PER_TOKEN = ("flops", "reads", "writes", "kv_writes", "rows")


@dataclass(frozen=True, slots=True)
class Pass:
    """A pass over ``seq`` new tokens at the end of ``context``, with the options of a decode.

    ``encoded`` is the length of the text that an encoder has read, for models that have one.
    """

    batch: Number
    seq: Number
    context: Number
    _: KW_ONLY
    logits: str = "all"
    scores: str = "on-chip"
    masked: str = "skipped"
    mla: str = "cheaper"
    experts: str = "expected"
    one_by_one: bool = False
    encoded: Number = 0

    def __post_init__(self) -> None:
        for name, among in OPTIONS.items():
            choose(name, getattr(self, name), among)
        if not is_zero(self.encoded):
            set_field(self, "encoded", size("encoded", self.encoded, least=0))

    @property
    def tokens(self) -> Any:
        """Tokens at a time."""
        return self.batch if self.one_by_one else self.batch * self.seq

    @property
    def steps(self) -> Any:
        """Passes after one another."""
        return self.seq if self.one_by_one else 1

    @property
    def masking(self) -> str:
        """What becomes of masked pairs: steps one by one compute none."""
        return "skipped" if self.one_by_one else self.masked

    @property
    def cached(self) -> Any:
        """Tokens that came before this pass."""
        return self.context - self.seq

    @property
    def is_first(self) -> bool:
        """Nothing came before."""
        cached = self.cached
        return is_zero(cached) or (is_symbolic(cached) and cached.is_zero is True)

    @property
    def is_step(self) -> bool:
        """One token at a time after others: states are updated, not scanned."""
        return self.one_by_one or (type(self.seq) is int and self.seq == 1 and not self.is_first)

    def of(self, step: PerToken, layers: Number) -> Op:
        """A step that treats all tokens alike, in ``layers`` layers."""
        op = (step * layers).op(self.tokens, self.experts, self.masked)
        once: Op = op * self.steps if self.one_by_one else op
        return once


@dataclass(frozen=True, slots=True, kw_only=True)
class Cache:
    """What one layer keeps of a sequence: elements for each token, or a ``state`` of one size.

    With a ``window`` only that many tokens are kept; there is one entry for every ``every`` tokens,
    and none for an incomplete group.

    >>> Cache(per_token=1024).elements(100), Cache(per_token=1024, window=64).elements(100)
    (102400, 65536)
    >>> Cache(per_token=512, every=4).elements(11), Cache(state=4096).elements(10**6)
    (1024, 4096)
    """

    per_token: Number = 0
    window: Number | None = None
    every: Number = 1
    state: Number = 0

    def elements(self, context: Number) -> Any:
        """Elements in the cache of ``context`` tokens."""
        if is_zero(self.per_token):
            return self.state
        kept = context if self.window is None else minimum(context, self.window)
        return self.per_token * (kept if is_one(self.every) else kept // self.every) + self.state


@dataclass(frozen=True, slots=True)
class Saved:
    """Activations that the backward pass of one layer needs, in elements per token.

    ``kind`` says in how many bytes: "inputs" of products (of which gradients of weights are made),
    other "activations", "mask" (a byte each), "fp32". Devices that share a layer by tensor
    parallelism divide what is ``split`` by "tensor", in at most ``ways`` parts; the rest is divided
    by sequence parallelism alone. ``fusible``: only code that does the step by itself keeps it.
    ``feeds`` names the products whose weights need it and nothing else does; ``by_kernel``: but a
    kernel that keeps scores on chip does.

    >>> (Saved("queries", 4096) * 2).elements
    8192
    """

    name: str
    elements: Number
    kind: str = "activations"
    split: str = "tensor"
    ways: Number | None = None
    fusible: bool = False
    feeds: tuple[str, ...] = ()
    by_kernel: bool = False

    def __mul__(self, times: Number) -> Saved:
        """``times`` as much."""
        return replace(self, elements=self.elements * times)

    def is_needed(self, learning: tuple[str, ...] | None, *, on_chip: bool) -> bool:
        """Whether it is kept where only these products learn (None: all of them).

        >>> Saved("down's input", 9, "inputs", feeds=("ffn.down",)).is_needed(("q",), on_chip=True)
        False
        """
        if learning is None or not self.feeds or (self.by_kernel and on_chip):
            return True
        return any(name in learning for name in self.feeds)


def input_of(name: str, width: Number, *, is_matmul: bool = True) -> Saved:
    """What a step reads: of a product, for the gradient of its weights."""
    kind, feeds = ("inputs", (name,)) if is_matmul else ("activations", ())
    return Saved(f"{name} input", width, kind, feeds=feeds)


def saved_elements(terms: Iterable[Saved]) -> Any:
    """Elements per token of all terms, those of fused steps left out.

    >>> saved_elements([Saved("gate", 10), Saved("silu", 10, fusible=True)])
    10
    """
    return total(term.elements for term in terms if not term.fusible)


class Part:
    """What a layer can be made of; a kind overrides what it has.

    ``before`` and ``after`` are the steps that treat all tokens alike, on either side of
    ``mixing``, given the width d of the residual stream.
    """

    __slots__ = ()

    def before(self, d: Number) -> tuple[PerToken, ...]:
        """Steps before tokens are mixed: what makes queries, keys and values."""
        return ()

    def after(self, d: Number) -> tuple[PerToken, ...]:
        """Steps after it: the output projection, or all of a feed-forward layer."""
        return ()

    def mixing(self, run: Pass, layers: Number) -> tuple[Op, ...]:
        """What depends on more than the number of tokens, in ``layers`` layers."""
        return ()

    def mixing_backward(self, run: Pass, layers: Number) -> tuple[Op, ...]:
        """The gradients of `mixing`: two products for each of its."""
        return tuple(gradient_of(op) for op in reversed(self.mixing(run, layers)))

    @property
    def sends(self) -> bool:
        """Whether devices share the part in a way that takes `messages`."""
        return False

    def messages(self, run: Pass, layers: Number, d: Number) -> Ledger:
        """What a device sends for this part in ``layers`` layers, besides the sums over all
        devices."""
        return Ledger()

    @property
    def mixed(self) -> tuple[PerToken, ...]:
        """Steps with weights that `mixing` does."""
        return ()

    @property
    def mixing_weights(self) -> Any:
        """Parameters that `mixing` reads."""
        return total(step.parameters() for step in self.mixed)

    @property
    def caches(self) -> tuple[Cache, ...]:
        """What one layer keeps of a sequence."""
        return ()

    @property
    def divided(self) -> Divided:
        """What tensor parallelism divides of it."""
        return None

    @property
    def score_heads(self) -> Any:
        """Heads that have a matrix of scores."""
        return 0

    @property
    def cached_of_encoded(self) -> Any:
        """Elements that one layer keeps of each token that an encoder has read."""
        return 0

    @property
    def encoder_layers(self) -> Any:
        """Layers of an encoder, where that is what the part is."""
        return 0

    def scores(self, seq: Number, encoded: Number) -> Any:
        """Elements of one sequence's matrices of scores, where nothing came before."""
        return self.score_heads * seq * seq

    def saved_of_encoded(self, d: Number) -> tuple[Saved, ...]:
        """Activations of each token of an encoder that the backward pass needs, scores aside."""
        return ()

    def saved(self, d: Number) -> tuple[Saved, ...]:
        """Activations of each token that the backward pass needs, scores aside.

        What steps before the mixing made, and what those after it read, unless a kind knows better.
        """
        made = [Saved(f"{s.name} output", plus(s.writes, s.kv_writes)) for s in self.before(d)]
        read = [input_of(s.name, s.reads, is_matmul=s.is_matmul) for s in self.after(d)]
        return tuple(term for term in (*made, *read) if not is_zero(term.elements))

    def reads_first(self, d: Number) -> tuple[str, ...]:
        """The products that read the part's input."""
        before = tuple(step.name for step in self.before(d) if step.is_matmul)
        after = tuple(step.name for step in self.after(d) if step.is_matmul)
        return before or after[:-1]

    def without_reach(self) -> Part:
        """The same part as far as its per-token steps are concerned: without a window."""
        return self


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """``layers`` layers of the same parts, each part added to the residual stream.

    ``norms`` are those of d_model in each layer. ``parallel``: all parts read the same input.
    ``shared_parameters``: how many of a layer's parameters are those of an earlier layer (Zamba
    uses one block again and again). ``extra`` holds steps that no part has, of each layer.
    """

    layers: Number
    parts: tuple[Part, ...]
    norms: Number = 2
    norm: str = "rms_norm"
    parallel: bool = False
    shared_parameters: Number = 0
    residuals: Number | None = None
    extra: tuple[PerToken, ...] = ()

    def __post_init__(self) -> None:
        check_sizes(self, "layers", "norms", least=0)
        choose("norm", self.norm, tuple(NORM_WEIGHTS))
        for part in self.parts:
            if not isinstance(part, Part):
                raise TypeError(f"parts must be kinds of layer, such as Attention, got {part!r}")

    @property
    def added(self) -> Any:
        """How often a layer adds to the residual stream."""
        return len(self.parts) if self.residuals is None else self.residuals

    @property
    def sums(self) -> Any:
        """How often devices that share a layer add up what each has made of it."""
        return 1 if self.parallel else self.added

    def norm_step(self, d: Number) -> PerToken:
        """One of a layer's norms."""
        return normalisation("norms", d, self.norm)

    def parameters(self, d: Number, *, active: bool = False) -> Any:
        """Parameters of one layer; ``active``: of its experts those that a token is sent to."""
        steps = [step for p in self.parts for step in (*p.before(d), *p.after(d))]
        stored = [s.parameters(s.chosen if active else None) for s in (*steps, *self.extra)]
        norms = self.norms * self.norm_step(d).weights
        return total([norms, *stored, *(part.mixing_weights for part in self.parts)])

    def saved(self, d: Number, *, dropout: bool = False) -> tuple[Saved, ...]:
        """Activations of each token that a layer's gradients need: inputs, and what parts keep.

        With ``dropout`` the masks of what each part adds are kept too.
        """
        readers = [part.reads_first(d) for part in self.parts]
        if self.parallel:
            readers = [tuple(name for names in readers for name in names)]
        shared: dict[str, Any] = {"kind": "inputs", "split": "sequence"}
        terms = [
            Saved("norms' inputs", self.norms * d, split="sequence"),
            *(Saved("inputs of parts", d, feeds=feeds, **shared) for feeds in readers),
        ]
        for part in self.parts:
            terms += part.saved(d)
        if dropout:
            terms.append(Saved("dropout masks", self.added * d, "mask", split="sequence"))
        return tuple(term for term in terms if not is_zero(term.elements))

    @property
    def caches(self) -> tuple[Cache, ...]:
        """What one layer keeps of a sequence."""
        return tuple(cache for part in self.parts for cache in part.caches)


# The steps that parts are made of.


def linear_step(
    name: str, d_in: Number, d_out: Number, *, bias: bool = False, cached: bool = False
) -> tuple[PerToken, ...]:
    """A linear layer; its outputs may be cached.

    >>> [step.weights for step in linear_step("up", 4, 16, bias=True)]
    [64, 16]
    """
    made: dict[str, Any] = {"kv_writes" if cached else "writes": d_out}
    flops, weights = product_flops(1, d_in, d_out), d_in * d_out
    product = PerToken(name, flops, d_in, weights=weights, is_matmul=True, **made)
    if not bias:
        return (product,)
    flops = FLOPS_PER_ELEMENT["bias"] * d_out  # added before the outputs leave the chip
    return (product, PerToken(f"{name}.bias", flops, weights=d_out, gradient=1))


def normalisation(name: str, width: Number, norm: str, stored: Number | None = None) -> PerToken:
    """A normalisation of ``width`` elements; its weights are as many unless ``stored`` is given.

    >>> normalisation("norm", 64, "layer_norm").weights
    128
    """
    stored = width if stored is None else stored
    return elementwise(name, width, norm, weights=NORM_WEIGHTS[norm] * stored)


def elementwise(name: str, width: Number, kind: str, **others: Number) -> PerToken:
    """A number of FLOPs for each of ``width`` elements; as many are read and written unless given.

    >>> elementwise("rotary", 64, "rotary").flops
    192
    """
    moved: dict[str, Any] = {"reads": width, "writes": width, **others}
    return PerToken(name, FLOPS_PER_ELEMENT[kind] * width, **moved)


def residual_step(d: Number) -> PerToken:
    """What a part has made, added to the residual stream of width ``d``.

    >>> residual_step(64).flops
    64
    """
    return elementwise("residual", d, "residual", reads=2 * d, gradient=1)


def gradient_of(op: Op) -> Op:
    """The gradients of an op's inputs, of all kinds, in one: twice its FLOPs."""
    reads, writes = op.elements_read + op.elements_written, op.elements_read
    return Op(f"{op.name}.backward", 2 * op.flops, reads, writes, op.is_matmul, op.count)


def same(a: Any, b: Any) -> bool:
    """Whether two values are known to be equal; arrays are if they are one and the same."""
    if a is b:
        return True
    if type(a) is not type(b):
        return False
    if is_dataclass(a):
        return all(same(getattr(a, each.name), getattr(b, each.name)) for each in fields(a))
    if isinstance(a, tuple):
        return len(a) == len(b) and all(same(*pair) for pair in zip(a, b, strict=True))
    return bool((isinstance(a, (int, float, str)) or is_symbolic(a)) and a == b)
