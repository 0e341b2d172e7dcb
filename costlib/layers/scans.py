"""Kinds of layer with a state in place of a cache: recurrences, scans, short convolutions."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from costlib.layers.attention import check_groups, check_sizes
from costlib.layers.matmul import product_flops
from costlib.layers.parts import (
    Cache,
    Divided,
    Part,
    Pass,
    PerToken,
    elementwise,
    linear_step,
    normalisation,
)
from costlib.units.ledger import Elements, Op
from costlib.units.numbers import Number, ceil_div, choose, exact_div, is_zero


@dataclass(frozen=True, slots=True, kw_only=True)
class Recurrence:
    """What a layer keeps in place of a cache, and what that is made with.

    ``state``: elements of one sequence's state. A short convolution comes before the scan, of
    ``channels`` channels, ``kernel`` tokens long, perhaps with a ``bias``; an activation follows it
    if it is ``activated``. ``held``: parameters that the scan itself reads, such as decays.
    """

    state: Number = 0
    channels: Number = 0
    kernel: Number = 0
    bias: bool = False
    activated: bool = True
    held: Number = 0

    @property
    def convolution_weights(self) -> Any:
        """Parameters of the convolution."""
        return self.channels * (self.kernel + (1 if self.bias else 0))


class Scan(Part):
    """What all recurrences share: a state for each sequence, and perhaps a short convolution."""

    __slots__ = ()

    @property
    def recurrence(self) -> Recurrence:
        """What is kept of a sequence."""
        return Recurrence()

    def scan(self, run: Pass, layers: Number) -> tuple[Op, ...]:
        """The recurrence over the pass's tokens."""
        return ()

    @property
    def mixing_weights(self) -> Any:
        """Those of the convolution and of the scan."""
        return self.recurrence.convolution_weights + self.recurrence.held

    @property
    def caches(self) -> tuple[Cache, ...]:
        """The state, and the convolution's last inputs (as many as its kernel is long)."""
        kept = (self.recurrence.state, self.recurrence.channels * self.recurrence.kernel)
        return tuple(Cache(state=each) for each in kept if not is_zero(each))

    def mixing(self, run: Pass, layers: Number) -> tuple[Op, ...]:
        """The convolution, perhaps its activation, the scan."""
        conv = convolution(run, layers, self.recurrence)
        return (*(conv if self.recurrence.activated else conv[:1]), *self.scan(run, layers))

    def _scanned(
        self,
        run: Pass,
        layers: Number,
        flops: Number,
        inputs: Number,
        outputs: Number,
        *,
        is_matmul: bool = True,
    ) -> Op:
        """A scan reads its inputs and the state, and writes its outputs and the state."""
        tokens = run.batch * run.seq
        state = run.batch * (layers * self.recurrence.state) * run.steps
        before = 0 if run.is_first else state
        reads = Elements(activations=tokens * (layers * inputs), kv=before)
        writes = Elements(activations=tokens * (layers * outputs), kv=state)
        return Op("scan", flops, reads, writes, is_matmul, layers * run.steps)

    def _beside(self, name: str, flops: Number, run: Pass, layers: Number) -> Op:
        """What a scan does with its own parameters, element by element."""
        count = layers * run.steps
        return Op(name, flops, Elements(weights=count * self.recurrence.held), count=count)


@dataclass(frozen=True, slots=True, kw_only=True)
class DeltaRule(Scan):
    """Linear attention whose state is corrected, not only added to: gated delta rule, and KDA.

    A head's state is a ``key_dim`` by ``value_dim`` matrix. A prompt is scanned in chunks of
    ``chunk`` tokens: products inside a chunk, and one step of the state a chunk. A single new token
    updates the state element by element.

    ``decay`` is what each head forgets: "head" (one number, from a projection) or "element" (one
    for every key element, from two projections of rank ``decay_rank``: KDA). ``output_rank`` is
    that of KDA's output gate; without it the gate is one projection.
    """

    key_heads: Number
    value_heads: Number
    key_dim: Number
    value_dim: Number
    kernel: Number = 4
    chunk: Number = 64
    decay: str = "head"
    decay_rank: Number | None = None
    output_rank: Number | None = None

    def __post_init__(self) -> None:
        check_sizes(self, "key_heads", "value_heads", "key_dim", "value_dim", "kernel", "chunk")
        check_groups(self.value_heads, self.key_heads)
        choose("decay", self.decay, ("head", "element"))

    @property
    def divided(self) -> Divided:
        """See `Part.divided`."""
        return ("value_heads",), ("key_heads",)

    @property
    def keys(self) -> Any:
        """Width of the queries, and of the keys."""
        return self.key_heads * self.key_dim

    @property
    def values(self) -> Any:
        """Width of the values, and of the output."""
        return self.value_heads * self.value_dim

    @property
    def recurrence(self) -> Recurrence:
        """A matrix for each value head; queries, keys and values are convolved."""
        return Recurrence(
            state=self.value_heads * self.key_dim * self.value_dim,
            channels=2 * self.keys + self.values,
            kernel=self.kernel,
        )

    def before(self, d: Number) -> tuple[PerToken, ...]:
        """Queries, keys, values, how much to write (beta), how much to forget, an output gate."""
        heads = self.value_heads
        steps = [
            *linear_step("q_proj", d, self.keys),
            *linear_step("k_proj", d, self.keys),
            *linear_step("v_proj", d, self.values),
            *linear_step("beta_proj", d, heads),
        ]
        decays = heads if self.decay == "head" else heads * self.key_dim
        steps += _low_rank("decay", d, self.decay_rank, decays)
        stored = heads + decays  # A of each head, and a bias of the time step
        steps.append(PerToken("decay", 6 * decays, decays, decays, weights=stored))
        return (*steps, *_low_rank("gate", d, self.output_rank, self.values))

    def after(self, d: Number) -> tuple[PerToken, ...]:
        """A norm of each head, the gate, the output projection."""
        norm = normalisation("head_norm", self.values, "rms_norm", self.value_dim)
        gate = elementwise("attention.gate", self.values, "sigmoid_gate")
        return (norm, gate, *linear_step("o_proj", self.values, d))

    def scan(self, run: Pass, layers: Number) -> tuple[Op, ...]:
        """Products inside chunks, or one update of the state a token."""
        k, v, heads = self.key_dim, self.value_dim, layers * self.value_heads
        inputs, outputs = 2 * self.keys + self.values, self.values
        if run.is_step:  # forget, predict, correct, read out
            flops = run.batch * run.seq * (heads * 7 * k * v)
            return (self._scanned(run, layers, flops, inputs, outputs, is_matmul=False),)
        tokens, squares = _chunks(run, self.chunk)
        # inside a chunk: keys with keys and queries, values and states met; between: the state
        inside = product_flops(squares, 1, 2 * k + v) + 3 * product_flops(tokens, k, v)
        solved = (squares - tokens) * (k + v)
        solve = Op("scan.solve", run.batch * heads * solved, count=layers * run.steps)
        flops = run.batch * (heads * inside)
        return (self._scanned(run, layers, flops, inputs, outputs), solve)


@dataclass(frozen=True, slots=True, kw_only=True)
class LightningAttention(Scan):
    """Linear attention with a fixed decay a head, in blocks (MiniMax): softmax-free.

    A head's state is a ``head_dim`` by ``head_dim`` matrix. The output is scaled by a sigmoid of a
    projection of the input.
    """

    heads: Number
    head_dim: Number
    block: Number = 256

    def __post_init__(self) -> None:
        check_sizes(self, "heads", "head_dim", "block")

    @property
    def divided(self) -> Divided:
        """See `Part.divided`."""
        return ("heads",), ()

    @property
    def width(self) -> Any:
        """Width of the queries, of the keys and of the values."""
        return self.heads * self.head_dim

    @property
    def recurrence(self) -> Recurrence:
        """A matrix for each head."""
        return Recurrence(state=self.heads * self.head_dim * self.head_dim)

    def before(self, d: Number) -> tuple[PerToken, ...]:
        """Queries, keys, values with an activation each, and a gate."""
        names = ("q_proj", "k_proj", "v_proj", "gate_proj")
        return tuple(step for name in names for step in linear_step(name, d, self.width))

    def after(self, d: Number) -> tuple[PerToken, ...]:
        """A norm, the gate, the output projection."""
        norm = normalisation("head_norm", self.width, "rms_norm")
        gate = elementwise("attention.gate", self.width, "sigmoid_gate")
        return (norm, gate, *linear_step("o_proj", self.width, d))

    def scan(self, run: Pass, layers: Number) -> tuple[Op, ...]:
        """Products inside blocks, and with the state between them."""
        dim, heads = self.head_dim, layers * self.heads
        inputs, outputs = 3 * self.width, self.width
        if run.is_step or (run.masked == "computed" and not run.is_first):
            # its code goes token by token
            flops = run.batch * run.seq * (heads * 2 * product_flops(1, dim, dim))
        else:
            full, rest = run.seq // self.block, run.seq % self.block
            squares = full * self.block * self.block + rest * rest
            flops = run.batch * (heads * 2 * product_flops(1, dim, squares + run.seq * dim))
        return (self._scanned(run, layers, flops, inputs, outputs),)


@dataclass(frozen=True, slots=True, kw_only=True)
class Mamba(Scan):
    """A selective state space of the first kind: ``width`` channels with a state of ``state_dim``.

    The recurrence goes element by element; only its read-out is a product.
    """

    width: Number
    state_dim: Number
    step_rank: Number
    kernel: Number = 4
    bias: bool = False
    conv_bias: bool = True
    inner_norms: Number = 0
    weightless_norms: bool = False

    def __post_init__(self) -> None:
        check_sizes(self, "width", "state_dim", "step_rank", "kernel")

    @property
    def divided(self) -> Divided:
        """See `Part.divided`."""
        return ("width",), ()

    @property
    def recurrence(self) -> Recurrence:
        """A vector for each channel, all of which are convolved; A and D."""
        return Recurrence(
            state=self.width * self.state_dim,
            channels=self.width,
            kernel=self.kernel,
            bias=self.conv_bias,
            held=self.width * (self.state_dim + 1),
        )

    def before(self, d: Number) -> tuple[PerToken, ...]:
        """The input and its gate, and what is made of the convolved input."""
        small = self.step_rank + 2 * self.state_dim
        steps = [
            *linear_step("in_proj", d, 2 * self.width, bias=self.bias),
            *linear_step("x_proj", self.width, small),
            *linear_step("dt_proj", self.step_rank, self.width, bias=True),
        ]
        if not is_zero(self.inner_norms):  # of the step, of B and of C
            kind = "plain_norm" if self.weightless_norms else "rms_norm"
            steps.append(normalisation("inner_norms", small, kind))
        return tuple(steps)

    def after(self, d: Number) -> tuple[PerToken, ...]:
        """The gate and the output projection."""
        gate = elementwise("scan.gate", self.width, "silu_gate")
        return (gate, *linear_step("out_proj", self.width, d, bias=self.bias))

    def scan(self, run: Pass, layers: Number) -> tuple[Op, ...]:
        """The recurrence, six operations an element of the state, and its read-out."""
        entries = run.batch * run.seq * (layers * self.width * self.state_dim)
        update = self._beside("scan.update", 6 * entries, run, layers)
        flops = product_flops(1, 1, entries)
        inputs = 2 * self.width + 2 * self.state_dim
        return (update, self._scanned(run, layers, flops, inputs, self.width))


@dataclass(frozen=True, slots=True, kw_only=True)
class Mamba2(Scan):
    """A state space of the second kind: ``heads`` of ``head_dim`` channels, one decay a head.

    ``groups`` share what is written to the state and read from it (they do not shorten the scan,
    which repeats both for every head). A prompt is scanned in chunks: products inside a chunk, and
    one between chunks. ``bias`` is that of both projections, ``out_bias`` of the last alone.
    """

    heads: Number
    head_dim: Number
    state_dim: Number
    groups: Number = 1
    kernel: Number = 4
    chunk: Number = 256
    bias: bool = False
    out_bias: bool | None = None
    conv_bias: bool = True
    gate_norm: bool = True

    def __post_init__(self) -> None:
        check_sizes(self, "heads", "head_dim", "state_dim", "groups", "kernel", "chunk")
        check_groups(self.heads, self.groups)

    @property
    def divided(self) -> Divided:
        """See `Part.divided`."""
        return ("heads",), ("groups",)

    @property
    def width(self) -> Any:
        """Channels of all heads."""
        return self.heads * self.head_dim

    @property
    def recurrence(self) -> Recurrence:
        """A matrix for each head; channels, and what is written and read, are convolved; A, D and
        the step's bias of each head."""
        return Recurrence(
            state=self.width * self.state_dim,
            channels=self.width + 2 * self.groups * self.state_dim,
            kernel=self.kernel,
            bias=self.conv_bias,
            held=3 * self.heads,
        )

    def before(self, d: Number) -> tuple[PerToken, ...]:
        """One projection makes the input, its gate, what is written and read, and the steps."""
        made = 2 * self.width + 2 * self.groups * self.state_dim + self.heads
        return linear_step("in_proj", d, made, bias=self.bias)

    def after(self, d: Number) -> tuple[PerToken, ...]:
        """The gate, a norm, the output projection."""
        gate = elementwise("scan.gate", self.width, "silu_gate")
        norm = (normalisation("scan.norm", self.width, "rms_norm"),) if self.gate_norm else ()
        bias = self.bias if self.out_bias is None else self.out_bias
        return (gate, *norm, *linear_step("out_proj", self.width, d, bias=bias))

    def scan(self, run: Pass, layers: Number) -> tuple[Op, ...]:
        """Products inside chunks and between them, or one update of the state a token."""
        n, p, heads = self.state_dim, self.head_dim, layers * self.heads
        inputs = self.width + 2 * self.groups * n + self.heads
        if run.is_step:
            entries = run.batch * run.seq * (heads * n * p)
            update = self._beside("scan.update", 5 * entries, run, layers)
            flops = product_flops(1, 1, entries)
            return (update, self._scanned(run, layers, flops, inputs, self.width))
        tokens, squares = _chunks(run, self.chunk)
        inside = product_flops(squares, 1, n + p) + 2 * product_flops(tokens, n, p)
        if run.masked == "computed":  # states meet chunk by chunk, as one masked product
            states = ceil_div(run.seq, self.chunk) + 1
            inside = inside + product_flops(states, states, p * n)
        steps = self._beside("scan.steps", 6 * run.batch * run.seq * heads, run, layers)
        flops = run.batch * (heads * inside)
        return (steps, self._scanned(run, layers, flops, inputs, self.width))


@dataclass(frozen=True, slots=True, kw_only=True)
class ShortConvolution(Scan):
    """A gated convolution of a few tokens in place of attention (LFM2)."""

    width: Number
    kernel: Number = 3
    bias: bool = False

    def __post_init__(self) -> None:
        check_sizes(self, "width", "kernel")

    @property
    def divided(self) -> Divided:
        """See `Part.divided`."""
        return ("width",), ()

    @property
    def recurrence(self) -> Recurrence:
        """All channels are convolved, and no activation follows."""
        return Recurrence(channels=self.width, kernel=self.kernel, bias=self.bias, activated=False)

    def before(self, d: Number) -> tuple[PerToken, ...]:
        """The input and two gates; the first is applied before the convolution."""
        gate = elementwise("conv.gate_in", self.width, "gate", reads=2 * self.width)
        return (*linear_step("in_proj", d, 3 * self.width, bias=self.bias), gate)

    def after(self, d: Number) -> tuple[PerToken, ...]:
        """The second gate and the output projection."""
        gate = elementwise("conv.gate_out", self.width, "gate", reads=2 * self.width)
        return (gate, *linear_step("out_proj", self.width, d, bias=self.bias))


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelConvolution(Scan):
    """A convolution of a few tokens in each channel, and nothing else (Inkling).

    ``groups``: to each channel's own kernel that of its group is added, which a projection makes
    for every token; the products are then element by element.
    """

    channels: Number
    kernel: Number
    groups: Number = 0

    def __post_init__(self) -> None:
        check_sizes(self, "channels", "kernel")

    @property
    def recurrence(self) -> Recurrence:
        """All channels."""
        return Recurrence(channels=self.channels, kernel=self.kernel)

    def before(self, d: Number) -> tuple[PerToken, ...]:
        """The kernels of groups."""
        made = self.groups * self.kernel
        return () if is_zero(self.groups) else linear_step("conv.kernels", d, made)

    def mixing(self, run: Pass, layers: Number) -> tuple[Op, ...]:
        """The convolution alone: no activation follows it."""
        conv, _ = convolution(run, layers, self.recurrence)
        return (replace(conv, is_matmul=is_zero(self.groups)),)


@dataclass(frozen=True, slots=True, kw_only=True)
class RGLRU(Scan):
    """Griffin's recurrence: a gated linear unit whose state is one vector (RecurrentGemma).

    Its two gates are products with one small matrix for each of ``heads``.
    """

    width: Number
    heads: Number
    kernel: Number = 4

    def __post_init__(self) -> None:
        check_sizes(self, "width", "heads", "kernel")

    @property
    def divided(self) -> Divided:
        """See `Part.divided`."""
        return ("width", "heads"), ()

    @property
    def recurrence(self) -> Recurrence:
        """One vector; all channels are convolved; one decay a channel."""
        return Recurrence(
            state=self.width, channels=self.width, kernel=self.kernel, bias=True, held=self.width
        )

    def before(self, d: Number) -> tuple[PerToken, ...]:
        """Two branches, and the gates of the recurrence."""
        each = exact_div(self.width, self.heads)
        gates = 2 * self.width
        weights = 2 * self.width * each
        return (
            *linear_step("y_proj", d, self.width, bias=True),
            *linear_step("x_proj", d, self.width, bias=True),
            PerToken(
                *("gates", product_flops(1, each, gates), self.width, gates),
                weights=weights,
                is_matmul=True,
            ),
            PerToken("gates.bias", gates, weights=gates, gradient=1),
        )

    def after(self, d: Number) -> tuple[PerToken, ...]:
        """The other branch multiplies, and the output projection."""
        gate = elementwise("scan.gate", self.width, "gelu_gate")
        return (gate, *linear_step("out_proj", self.width, d, bias=True))

    @property
    def caches(self) -> tuple[Cache, ...]:
        """The state, and the inputs that the convolution still needs."""
        return (Cache(state=self.width * self.kernel),)

    def mixing(self, run: Pass, layers: Number) -> tuple[Op, ...]:
        """The convolution, which no activation follows, and the recurrence.

        As its code runs it, a step only multiplies and adds, and several tokens begin anew.
        """
        anew = replace(run, context=run.seq) if run.masked == "computed" else run
        conv, _ = convolution(run if run.is_step else anew, layers, self.recurrence)
        conv = replace(conv, is_matmul=not run.is_step)
        return (conv, *self.scan(run, layers))

    def scan(self, run: Pass, layers: Number) -> tuple[Op, ...]:
        """Element by element: a decay from the gate, and a step."""
        flops = 12 * run.batch * run.seq * (layers * self.width)
        inputs = 3 * self.width
        held = Elements(weights=layers * self.recurrence.held * run.steps)
        decay = Op("decay", 0, held, count=layers)
        scan = self._scanned(run, layers, flops, inputs, self.width, is_matmul=False)
        return (decay, scan)


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeMix(Scan):
    """RWKV's recurrence: a running weighted mean of values for each of ``width`` channels.

    Keys, values and receptances are made of a token and the one before it, of ``d_in`` elements;
    the feed-forward layer looks back one token too.
    """

    width: Number
    d_in: Number

    def __post_init__(self) -> None:
        check_sizes(self, "width", "d_in")

    @property
    def recurrence(self) -> Recurrence:
        """Numerators, denominators, largest exponents, the last inputs of both parts; a decay and a
        bonus of the first token for each channel."""
        return Recurrence(state=3 * self.width + 2 * self.d_in, held=2 * self.width)

    def before(self, d: Number) -> tuple[PerToken, ...]:
        """Each of three inputs is mixed with the token before, and projected."""
        mix = elementwise("shift", 3 * d, "residual", reads=2 * d, weights=3 * d)
        names = ("k_proj", "v_proj", "receptance")
        return (mix, *(step for name in names for step in linear_step(name, d, self.width)))

    def after(self, d: Number) -> tuple[PerToken, ...]:
        """The receptance gates, and the output projection."""
        gate = elementwise("scan.gate", self.width, "sigmoid_gate")
        return (gate, *linear_step("o_proj", self.width, d))

    def scan(self, run: Pass, layers: Number) -> tuple[Op, ...]:
        """Element by element: two exponentials each for the output and for the state."""
        flops = 24 * run.batch * run.seq * (layers * self.width)
        held = Elements(weights=layers * self.recurrence.held * run.steps)
        decay = Op("decay", 0, held, count=layers)
        scan = self._scanned(run, layers, flops, 2 * self.width, self.width, is_matmul=False)
        return (decay, scan)


def convolution(run: Pass, layers: Number, kept: Recurrence) -> tuple[Op, ...]:
    """A short convolution of each channel with its own kernel, and the activation after it.

    2·K FLOPs a channel and token. With ``masked="computed"`` it is counted as it is run: over a
    padding of K − 1 on both sides, that of the past included.
    """
    channels, kernel = kept.channels, kept.kernel
    if is_zero(channels):
        return ()
    outputs = run.seq
    if run.masked == "computed" and not run.one_by_one:
        if run.is_step:
            outputs = run.seq + 1
        else:
            outputs = run.seq + (kernel - 1 if run.is_first else 2 * kernel - 1)
    flops = run.batch * product_flops(1, kernel, layers * channels) * outputs
    moved = run.batch * run.seq * (layers * channels)
    state = run.batch * (layers * channels * kernel) * run.steps
    weights = layers * kept.convolution_weights * run.steps
    past = 0 if run.is_first else state
    reads = Elements(weights=weights, activations=moved, kv=past)
    writes = Elements(activations=moved, kv=state)
    conv = Op("conv", flops, reads, writes, True, layers * run.steps)
    return conv, run.of(elementwise("conv.activation", channels, "silu"), layers)


def _low_rank(name: str, d_in: Number, rank: Number | None, d_out: Number) -> tuple[PerToken, ...]:
    """One projection, or two with a narrow middle."""
    if rank is None:
        return linear_step(f"{name}_proj", d_in, d_out)
    up = linear_step(f"{name}_up_proj", rank, d_out)
    return (*linear_step(f"{name}_down_proj", d_in, rank), *up)


def _chunks(run: Pass, chunk: Number) -> tuple[Any, Any]:
    """Tokens scanned, and the sum of the squares of the chunks' lengths.

    With "computed" the last chunk is filled up.
    """
    tokens = ceil_div(run.seq, chunk) * chunk if run.masked == "computed" else run.seq
    full, rest = tokens // chunk, tokens % chunk
    return tokens, full * chunk * chunk + rest * rest
