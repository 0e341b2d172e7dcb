"""Chapter 3: what a transformer costs.

Nearly every step treats all tokens alike: a number of FLOPs and elements per token, and weights
that are read once however many tokens there are. A model is a table of such steps, made once, and
what mixes tokens. Parameters, prefill, decode and training are four readings of that table.

Each step reads its inputs from memory and writes its outputs. Left out: the scales of scores and
embeddings, soft caps, dropout, sampling, and the optimizer's own arithmetic.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any
from warnings import warn

from costlib.layers.attention import MLA, check_sizes
from costlib.layers.parts import (
    NORM_WEIGHTS,
    Block,
    Cache,
    Pass,
    PerToken,
    experts_bound,
    experts_expected,
)
from costlib.model.checkpoint import Storage, step_bytes, weight_bytes
from costlib.model.families import from_hf
from costlib.model.kvcache import Memory, kv_bytes, memory
from costlib.model.sizes import BIASES, SIZES, MoE, blocks_of, completed, same_layers, sizes_in
from costlib.model.table import StepTable, count_rows
from costlib.units.display import facts_html, quantity
from costlib.units.ledger import Holding, Ledger, Op
from costlib.units.messages import collective, message
from costlib.units.numbers import (
    Number,
    choose,
    exact_div,
    exceeds,
    is_long,
    is_one,
    is_zero,
    plus,
    set_field,
    size,
    suggests,
    times,
    total,
)
from costlib.units.precision import Precision, precision_of
from costlib.units.unfolded import Unfolded

__all__ = [
    "MLA",
    "BeyondTraining",
    "MoE",
    "PerToken",
    "Transformer",
    "experts_bound",
    "experts_expected",
]

RECOMPUTE = (None, "selective", "full")


class BeyondTraining(UserWarning):
    """A context is longer than those that a model was trained for."""


@suggests
@dataclass(frozen=True, slots=True, kw_only=True)
class Transformer:
    """A transformer: an embedding, blocks of layers in order, an unembedding.

    The usual decoder is written by its sizes; the defaults are those of Llama. ``local_layers`` of
    the layers attend within ``window`` (all of them unless given). ``norms`` are per layer;
    ``qk_norm`` is "head" (one norm of head_dim for all heads) or "full"; ``positions`` is the rows
    of a learned position table; ``rotary_dim`` is head_dim unless given, 0 for none. ``parallel``:
    attention and feed-forward layer read the same input. ``biases`` names what has one: qkv,
    o_proj, ffn, router, experts, unembedding.

    Any other model is written by its ``blocks`` (see `costlib.layers`): sizes are a short way to
    write blocks, and are read back from blocks where they say the same. ``first`` and ``last`` are
    steps beside the embedding, and before the unembedding. ``embedding_width`` is that of both
    where it is not d_model. ``head`` has the steps of a classifier in place of the unembedding,
    done once a token or, if ``pooled``, once a sequence. ``mtp_blocks`` holds the layers for
    multi-token prediction, which `with_mtp_layers` counts: ``mtp_layers`` is then their number, and
    ``mtp_embeddings`` whether each has embeddings of its own. ``left_out`` names what a config had
    beside the language model (for images or sound), which is not counted. ``context_length`` is how
    many tokens of a sequence it was trained for, where that is known: no cost depends on it.
    ``storage`` says how a checkpoint packs the weights. ``tensor_parallel`` is how many devices
    share each layer, and ``tensor_nodes`` their nodes: see `costlib.parallel.tensor_parallel`. Of a
    pipeline's stages (see `costlib.parallel.stage_models`) the first alone has an embedding,
    ``is_first``; the last has the unembedding, and all others send what they make over the axis
    ``sends_over``.

    >>> llama = Transformer(layers=32, d_model=4096, heads=32, d_ff=11008, vocab=32000)
    >>> llama.params()
    6738415616
    >>> llama.decode(1, 4096).matmul_flops
    15362162688
    >>> from costlib.layers import Attention, Block, Mamba2, Mlp
    >>> mixers = Mamba2(heads=16, head_dim=8, state_dim=32), Attention(heads=4, head_dim=16)
    >>> blocks = [Block(layers=3, parts=(mixer, Mlp(width=256))) for mixer in mixers]
    >>> hybrid = Transformer(d_model=64, vocab=1000, blocks=tuple(blocks))
    >>> hybrid.layers, hybrid.heads, hybrid.d_ff, hybrid.kv_elements_per_token()
    (6, 4, 256, 384)
    """

    layers: Number = None  # type: ignore[assignment]  # filled in while made
    d_model: Number = None  # type: ignore[assignment]  # filled in while made
    heads: Number = None  # type: ignore[assignment]  # filled in while made
    d_ff: Number = None  # type: ignore[assignment]  # filled in while made
    vocab: Number = None  # type: ignore[assignment]  # filled in while made
    kv_heads: Number = None  # type: ignore[assignment]  # filled in while made
    head_dim: Number = None  # type: ignore[assignment]  # filled in while made
    gated: bool = True
    activation: str = "silu"
    tied: bool = False
    norm: str = "rms_norm"
    norms: int = 2
    final_norm: bool = True
    embedding_norm: bool = False
    qk_norm: str | None = None
    biases: tuple[str, ...] = ()
    positions: Number = 0
    rotary_dim: Number = None  # type: ignore[assignment]  # filled in while made
    parallel: bool = False
    window: Number = None  # type: ignore[assignment]  # filled in while made
    local_layers: Number = None  # type: ignore[assignment]  # filled in while made
    sinks: bool = False
    moe: MoE | None = None
    mla: MLA | None = None
    first: tuple[PerToken, ...] = ()
    last: tuple[PerToken, ...] = ()
    embedding_width: Number | None = field(default=None, repr=False)
    head: tuple[PerToken, ...] = field(default=(), repr=False)
    pooled: bool = field(default=False, repr=False)
    mtp_blocks: tuple[Block, ...] = field(default=(), compare=False, repr=False)
    mtp_layers: Number = field(default=0, repr=False)
    mtp_embeddings: bool = field(default=False, repr=False)
    tensor_parallel: Number = 1
    tensor_nodes: Number = field(default=1, repr=False)
    is_first: bool = field(default=True, repr=False)
    sends_over: str = field(default="", repr=False)
    blocks: tuple[Block, ...] = field(default=(), repr=False)
    left_out: tuple[str, ...] = field(default=(), compare=False, repr=False)
    context_length: int | None = field(default=None, compare=False, repr=False)
    storage: Storage | None = field(default=None, repr=False)
    _derived: tuple[str, ...] = field(init=False, repr=False, compare=False, default=())
    _table: Any = field(init=False, repr=False, compare=False, default=None)

    def __post_init__(self) -> None:
        check_sizes(self, "d_model", "vocab", "tensor_parallel", "tensor_nodes")
        choose("norm", self.norm, tuple(NORM_WEIGHTS))
        for bias in self.biases:
            choose("biases", bias, BIASES)
        for name in _FLAGS:
            choose(name, getattr(self, name), (True, False))
        if self.blocks:
            self._check_no_sizes()
            found, derived = sizes_in(self.blocks, self.biases), tuple(SIZES)
        else:
            check_sizes(
                self, "layers", "heads", "d_ff", *([] if self.window is None else ["window"])
            )
            check_sizes(self, "norms", least=0)
            found = completed(self)
            derived = (*(name for name in found if getattr(self, name) is None), "blocks")
        for name, value in found.items():
            set_field(self, name, value)
        set_field(self, "_derived", derived)
        if not self.blocks:
            set_field(self, "blocks", blocks_of(self))
        check_sizes(self, "positions", least=0)
        check_sizes(self, *([] if self.embedding_width is None else ["embedding_width"]))
        set_field(self, "_table", StepTable(self))

    def _check_no_sizes(self) -> None:
        for name, usual in SIZES.items():
            if getattr(self, name) not in (usual, None):
                text = f"a model is given by its sizes or by its blocks, got {name} and both"
                raise ValueError(text)

    @classmethod
    def from_hf(cls, config: Mapping[str, Any] | str | os.PathLike[str]) -> Transformer:
        """The model of a Hugging Face config.json: a dict, a path, or the JSON text itself.

        >>> Transformer.from_hf({"model_type": "perceiver"})  # doctest: +ELLIPSIS
        Traceback (most recent call last):
            ...
        ValueError: model_type 'perceiver' is not one that costlib knows; ...
        """
        return from_hf(config, cls)

    def with_(self, **changes: Any) -> Transformer:
        """The same model with some of its sizes changed; what was not given follows them.

        >>> tiny = Transformer(layers=2, d_model=64, heads=4, d_ff=256, vocab=1000)
        >>> tiny.with_(kv_heads=1).kv_heads
        1
        >>> tiny = Transformer(layers=2, d_model=64, heads=4, d_ff=256, vocab=1000)
        >>> wider = tiny.with_(d_model=128, heads=8)
        >>> wider.kv_heads, wider.head_dim
        (8, 16)
        """
        if "positions" in changes:  # another table is trained for all of its rows
            changes = {"context_length": None, **changes}
        inside = {*changes} & _INSIDE_BLOCKS
        if "blocks" in self._derived and inside:
            return replace(self, **{**_not_given(self._derived), **changes})
        if not inside or "blocks" in changes:
            outside = tuple(bias for bias in self.biases if bias == "unembedding")
            return replace(self, **{**SIZES, "biases": outside, **changes})
        found = _by_sizes(self)
        if found is None:
            names = ", ".join(sorted(inside))
            raise ValueError(
                f"the layers of this model differ, so that it has no one {names}: change its blocks"
            )
        return found.with_(**changes)

    def with_mtp_layers(self, *, own_embeddings: bool = False) -> Transformer:
        """The same model with its layers for multi-token prediction, where its config has some.

        DeepSeek-V3, GLM 4.5 and others are trained to predict more than the next token, and draft
        with their MTP layers when they are served. An MTP layer joins the last layer's output and
        the next token's embedding, has a cache, and is followed by the unembedding once more. Every
        pass runs each of them once, over all its tokens; verifying drafts is a decode of as many
        ``new`` tokens. Embedding and unembedding are the model's, unless each
        has ``own_embeddings``, as in some checkpoints.

        >>> from costlib import models
        >>> model = models["deepseek-v3"]
        >>> heads = model.with_mtp_layers()
        >>> round((heads.params() - model.params()) / 1e9, 1), heads.layers - model.layers
        (11.6, 1)
        """
        if not self.mtp_blocks:
            raise ValueError("this model has no MTP layers: its config names none")
        heads = total(block.layers for block in self.mtp_blocks)
        blocks = (*self.blocks, *self.mtp_blocks)
        return self.with_(
            blocks=blocks, mtp_blocks=(), mtp_layers=heads, mtp_embeddings=own_embeddings
        )

    @property
    def is_uniform(self) -> bool:
        """Whether sizes say all: layers are alike but for windows, experts and what comes first.

        >>> Transformer(layers=2, d_model=64, heads=4, d_ff=256, vocab=1000).is_uniform
        True
        """
        return "blocks" in self._derived or _by_sizes(self) is not None

    def params(self) -> Any:
        """Parameters stored: a tied unembedding and the embedding are one matrix."""
        if self._table.params is None:
            self._table.params = self._parameters()
        return self._table.params

    def active_params(self) -> Any:
        """Parameters that a token uses: of the experts, those it is routed to.

        >>> moe = MoE(experts=8, per_token=2, width=14336)
        >>> mixtral = Transformer(
        ...     layers=32, d_model=4096, heads=32, d_ff=14336, vocab=32000,
        ...     kv_heads=8, moe=moe,
        ... )
        >>> mixtral.params(), mixtral.active_params()
        (46702792704, 12879925248)
        """
        return self._parameters(active=True)

    def _parameters(self, *, active: bool = False) -> Any:
        stored = (step for step in self.steps() if not (self.tied and step.name == "unembedding"))
        counts = [step.parameters(step.chosen if active else None) for step in stored]
        counts += [layers * part.mixing_weights for part, layers in self._table.mixers]
        shared = total(times(b.shared_parameters, b.layers) for b in self.blocks)
        return plus(total(counts), times(shared, -1))

    def weight_bytes(self, precision: Precision | str | None = None) -> Any:
        """Bytes of the weights: at a precision, or as the model's own checkpoint packs them.

        >>> tiny = Transformer(layers=2, d_model=64, heads=4, d_ff=256, vocab=1000)
        >>> tiny.weight_bytes() / tiny.params(), tiny.weight_bytes("fp8") / tiny.params()
        (2.0, 1.0)
        """
        if precision is None and self.storage is not None:
            if self._table.packed is None:
                sizes = (self.d_model, self.params(), self.storage)
                self._table.packed = weight_bytes(self.blocks, *sizes)
            return self._table.packed
        return self.params() * precision_of(precision).weights

    @property
    def precision(self) -> Precision:
        """The model's own: bytes of a weight, on average and step by step, and the formats of
        products and cache.

        >>> Transformer(layers=2, d_model=64, heads=4, d_ff=256, vocab=1000).precision.weights
        2
        """
        storage = self.storage
        if storage is None or storage.unread:
            return Precision()
        if self._table.own is None:
            weights = self.weight_bytes() / self.params()
            cache = storage.plain if storage.kv is None else storage.kv
            steps = (*step_bytes(self.blocks, self.d_model, storage), ("", storage.plain))
            own = Precision(weights=weights, kv=cache, compute=storage.compute, by_step=steps)
            self._table.own = own
        found: Precision = self._table.own
        return found

    def prefill(self, batch: Number, seq: Number, *, logits: str = "all", **options: Any) -> Ledger:
        """A pass over a prompt of ``seq`` tokens, nothing cached yet.

        ``logits="last"`` unembeds only the last position of each sequence, as serving does. The
        options are those of `decode`.

        >>> tiny = Transformer(layers=2, d_model=64, heads=4, d_ff=256, vocab=1000)
        >>> tiny.prefill(1, 16, logits="last")["unembedding"].flops
        128000
        """
        batch, seq = size("batch", batch), size("seq", seq)
        return self._forward(Pass(batch, seq, seq, logits=logits, **options))

    def decode(
        self,
        batch: Number,
        context: Number,
        new: Number = 1,
        *,
        logits: str = "all",
        **options: Any,
    ) -> Ledger:
        """A pass over ``new`` tokens, with ``context`` tokens cached before: keys = context + new.

        Options: ``scores`` ("on-chip" or "materialised"), ``masked`` ("skipped" or "computed": see
        `costlib.layers.pairs`), ``mla`` ("cheaper" for the pass at hand, "naive" or "absorbed"),
        ``experts``, whose weights are read ("expected", "bound" or "all"), and ``encoded``, the
        number of tokens that the encoder has read, for models that have one.

        >>> tiny = Transformer(layers=2, d_model=64, heads=4, d_ff=256, vocab=1000)
        >>> tiny.decode(1, 15)["scores"].flops  # 2 layers, 16 keys
        4096
        """
        batch, new = size("batch", batch), size("new", new)
        context = size("context", context, least=0)
        run = Pass(batch, new, context + new, logits=logits, **options)
        if is_long(batch, context) and is_one(new) and not options:
            holds = Holding(self, batch, run.context)
            return Unfolded(lambda: self._forward(run).ops, holds, self.own)
        return self._forward(run)

    def _repr_html_(self) -> str | None:
        if not isinstance(self.params(), int):  # a formula, or many models at once
            return None
        rows = {"layers": self.layers, "width": self.d_model, "vocabulary": self.vocab}
        rows["parameters"] = self.params()
        if self.active_params() != self.params():
            rows["a token uses"] = self.active_params()
        shown = [(name, f"{value:,}") for name, value in rows.items()]
        shown.append(("weights", quantity(self.weight_bytes(), "B")))
        cache = self.kv_elements_per_token() * self.precision.kv
        shown.append(("cache of a token", quantity(cache, "B")))
        return facts_html(shown)

    def decode_steps(self, batch: Number, context: Number, steps: Number, **options: Any) -> Ledger:
        """``steps`` decode steps of one token each, while the cache grows: a closed form.

        >>> model = Transformer(layers=2, d_model=64, heads=4, d_ff=256, vocab=1000)
        >>> model.decode_steps(1, 10, 2).flops == (model.decode(1, 10) + model.decode(1, 11)).flops
        True
        """
        batch, steps = size("batch", batch), size("steps", steps, least=0)
        context = size("context", context, least=0)
        return self._forward(Pass(batch, steps, context + steps, one_by_one=True, **options))

    def generate(self, batch: Number, prompt: Number, new: Number, **options: Any) -> Ledger:
        """A whole generation: prefill gives the first new token, then ``new`` − 1 decode steps.

        >>> model = Transformer(layers=2, d_model=64, heads=4, d_ff=256, vocab=1000)
        >>> model.generate(1, 10, 1).flops == model.prefill(1, 10, logits="last").flops
        True
        """
        prompt, steps = size("prompt", prompt), size("new", new) - 1
        prefill = self.prefill(batch, prompt, logits="last", **options)
        return prefill + self.decode_steps(batch, prompt, steps, **options)

    def training_step(
        self,
        batch: Number,
        seq: Number,
        *,
        recompute: str | None = None,
        scores: str = "on-chip",
        masked: str = "skipped",
        encoded: Number = 0,
    ) -> Ledger:
        """Forward and backward: each matmul, logits included, once and then twice.

        ``recompute`` runs again, before the backward pass: attention's scores, softmax and values
        ("selective"), or all of each layer ("full"). Scores that were kept on chip are computed
        once more in any case; materialised ones are not. ``encoded``: the tokens that an encoder
        reads, which is trained too.

        >>> model = Transformer(layers=2, d_model=64, heads=4, d_ff=256, vocab=1000)
        >>> step = model.training_step(1, 16, scores="materialised")
        >>> step.matmul_flops == 3 * model.prefill(1, 16).matmul_flops
        True
        """
        choose("recompute", recompute, RECOMPUTE)
        batch, seq = size("batch", batch), size("seq", seq)
        how: Any = {"scores": scores, "masked": masked, "mla": "naive", "encoded": encoded}
        run = Pass(batch, seq, seq, **how)
        forward = self._forward(run)
        again = {
            None: Ledger(),
            "selective": forward.where(lambda op: _name(op) in _ATTENTION),
            "full": forward.where(lambda op: _name(op) not in _OUTSIDE_LAYERS),
        }[recompute]
        repeated = Ledger(tuple(op.named(f"{op.name}.recomputed") for op in again))
        return forward + repeated + self._backward(run)

    def kv_elements_per_token(self) -> Any:
        """Elements that each token adds to the cache of all layers: 2·L·K·h, or L·(r + rope).

        >>> model = Transformer(layers=32, d_model=4096, heads=32, d_ff=11008, vocab=32000)
        >>> model.kv_elements_per_token()
        262144
        """
        return total(
            layers * cache.per_token / cache.every
            if not is_one(cache.every)
            else layers * cache.per_token
            for cache, layers in self._table.caches
        )

    def kv_elements_per_layer(self) -> Any:
        """Elements that each token adds to the cache of one layer, where all layers are alike.

        >>> model = Transformer(layers=32, d_model=4096, heads=32, d_ff=11008, vocab=32000)
        >>> model.kv_elements_per_layer()
        8192
        """
        kept: list[tuple[Any, Number]] = []
        for cache, layers in self._table.caches:
            if not is_zero(cache.per_token):
                count_rows(kept, cache.per_token, layers)
        if len(kept) != 1:
            raise ValueError("the layers of this model differ: ask caches() what each kind keeps")
        return kept[0][0]

    def state_elements(self) -> Any:
        """Elements of one sequence that do not grow with it: states of scans and convolutions.

        >>> Transformer(layers=32, d_model=4096, heads=32, d_ff=11008, vocab=32000).state_elements()
        0
        """
        return total(times(cache.state, layers) for cache, layers in self._table.caches)

    def caches(self) -> tuple[tuple[Cache, Number], ...]:
        """What layers keep of a sequence, and how many layers keep it.

        >>> Transformer(layers=32, d_model=4096, heads=32, d_ff=11008, vocab=32000).caches()
        ((Cache(per_token=8192, window=None, every=1, state=0), 32),)
        """
        return tuple(self._table.caches)

    @property
    def global_layers(self) -> Any:
        """Layers that attend to the whole context."""
        return self.layers - self.local_layers

    def steps(self) -> tuple[PerToken, ...]:
        """Every step that treats all tokens alike, in order; attention's own are not among them.

        >>> tiny = Transformer(layers=2, d_model=64, heads=4, d_ff=256, vocab=1000)
        >>> [step.name for step in tiny.steps()][:3]
        ['embedding', 'norms', 'q_proj']
        """
        table = self._table
        return (*table.before, *table.after, *table.last)

    def kv_bytes(
        self, batch: Number, context: Number, precision: Precision | str | None = None
    ) -> Any:
        """Bytes of the cache of ``context`` tokens; a layer with a window keeps the last of them.

        >>> model = Transformer(layers=32, d_model=4096, heads=32, d_ff=11008, vocab=32000)
        >>> model.kv_bytes(1, 4096) / 2**30
        2.0
        """
        return kv_bytes(self, batch, context, precision)

    def memory(
        self,
        batch: Number,
        context: Number,
        precision: Precision | str | None = None,
        *,
        new: Number = 1,
        scores: str = "on-chip",
        encoded: Number = 0,
    ) -> Memory:
        """Bytes of weights, cache and activations while ``new`` tokens join ``context`` cached.

        ``encoded``: the tokens that an encoder has read, whose keys and values are kept too.

        >>> model = Transformer(layers=32, d_model=4096, heads=32, d_ff=11008, vocab=32000)
        >>> held = model.memory(1, 4095)
        >>> held.weights == 2 * 6738415616, held.kv == 2 * 2**30
        (True, True)
        """
        return memory(self, batch, context, precision, new=new, scores=scores, encoded=encoded)

    @property
    def learned_positions(self) -> Any:
        """Tokens of a sequence that there are learned positions for; None where none are learned.

        >>> gpt = Transformer(layers=2, d_model=64, heads=4, d_ff=256, vocab=1000, positions=8)
        >>> gpt.learned_positions
        8
        """
        return (self.context_length or self.positions) if self._table.learns_positions else None

    def check_context(self, tokens: Any) -> None:
        """Refuse more tokens than there are learned positions; one that is being written is free.

        >>> gpt = Transformer(layers=2, d_model=64, heads=4, d_ff=256, vocab=1000, positions=1024)
        >>> gpt.decode(1, 4096)
        Traceback (most recent call last):
            ...
        ValueError: context must be at most 1,024 tokens, because the model has no more learned \
positions, got 4,097 with the new ones
        """
        most = self.learned_positions
        if most is not None and exceeds(tokens, most + 1):
            got = tokens if isinstance(tokens, int) else int(tokens.max())
            text = f"context must be at most {most:,} tokens, because the model has no more learned"
            raise ValueError(f"{text} positions, got {got:,} with the new ones")

    def check_trained(self, context: Number, called: str = "the model") -> None:
        """Warn of more tokens than the model was trained for: the costs hold, answers may be poor.

        >>> from costlib.model.catalog import models
        >>> models["llama-3.1-8b"].check_trained(128_000)
        """
        known = self.context_length
        if known is None or self.learned_positions is not None:  # beyond those passes are refused
            return
        if exceeds(context, known + 1):  # one is being written
            text = f"{called} was trained for {known:,} tokens: costs beyond that are counted as"
            warn(f"{text} usual, but its answers may be poor", BeyondTraining, stacklevel=4)

    def alike(self, run: Pass) -> tuple[list[Op], list[Op]]:
        """What treats all tokens of a pass alike, before tokens are mixed and after."""
        self.check_context(run.context)
        table, tokens, how = self._table, run.tokens, (run.experts, run.masked)
        unembedded = self._unembedded(run)
        before = [step.op(tokens, *how) for step in table.before]
        after = [step.op(tokens, *how) for step in table.after]
        after += [step.op(unembedded) for step in table.last]
        if run.one_by_one:
            return [op * run.seq for op in before], [op * run.seq for op in after]
        return before, after

    def ends(self, run: Pass) -> tuple[list[Op], list[Op]]:
        """What a pass does before its first layer, and behind its last."""
        self.check_context(run.context)
        table, unembedded = self._table, self._unembedded(run)
        last = [run.of(step, 1) for step in table.final]
        last += [step.op(unembedded) for step in table.last]
        return [run.of(step, 1) for step in table.first], last

    def _unembedded(self, run: Pass) -> Any:
        """Positions that the unembedding, or a classifier in its place, is done for."""
        return run.batch if self.pooled or run.logits == "last" else run.tokens

    def mixing(self, run: Pass) -> list[Op]:
        """What mixes the tokens of a pass: attention, scans."""
        return [op for part, layers in self._table.mixers for op in part.mixing(run, layers)]

    def _forward(self, run: Pass) -> Ledger:
        before, after = self.alike(run)
        ops = (*before, *self.mixing(run), *after, *self._messages(run))
        holds = Holding(self, run.batch, run.context, run.encoded)
        return Ledger(ops, holds=holds, own=self.own)

    @property
    def own(self) -> Precision | None:
        """The precision of a checkpoint that packs its layers; of any other nothing."""
        return None if self.storage is None else self.precision

    def _messages(self, run: Pass) -> list[Op]:
        """What a device sends: its part of every sum to those that share each layer, tokens to
        their experts, what a stage has made to the next."""
        found = self.sums(run, sum(b.layers * b.sums for b in self.blocks))
        for part, layers in self._table.senders:
            found = found + part.messages(run, layers, self.d_model)
        if self.sends_over:
            stream = run.tokens * self.d_model
            found = found + message("send", run.steps, stream, self.sends_over)
        return list(found)

    def sums(self, run: Pass, count: Number) -> Ledger:
        """``count`` sums of the residual stream over the devices that share each layer."""
        if is_one(self.tensor_parallel):
            return Ledger()
        tiers = {"inside": exact_div(self.tensor_parallel, self.tensor_nodes)}
        tiers["across"] = self.tensor_nodes
        stream = run.tokens * self.d_model
        return collective("all_reduce", stream, axis="tensor", count=run.steps * count, **tiers)

    def _backward(self, run: Pass) -> Ledger:
        """The backward pass, last step first."""
        table, how = self._table, (run.experts, run.masked)
        last, tokens = reversed(table.last), self._unembedded(run)
        ops = [op for step in last for op in step.backward(tokens, *how)]
        ops += [op for step in reversed(table.after) for op in step.backward(run.tokens, *how)]
        ops += [op for part, layers in table.mixers for op in part.mixing_backward(run, layers)]
        ops += [op for step in reversed(table.before) for op in step.backward(run.tokens, *how)]
        return Ledger((*ops, *self._messages(run)))


def _name(op: Op) -> str:
    """What an op does, in an encoder or not."""
    return op.name.removeprefix("encoder.")


#: What selective recomputation runs again.
_ATTENTION = ("scores", "softmax", "values")

#: Steps that belong to no layer.
_OUTSIDE_LAYERS = (
    "embedding",
    "positions",
    "embedding_norm",
    "final_norm",
    "unembedding",
    "unembedding.bias",
)

#: What a model is or is not.
_FLAGS = (
    *("gated", "tied", "final_norm", "embedding_norm", "parallel", "sinks"),
    *("pooled", "mtp_embeddings", "is_first"),
)


#: Fields that a change of the layers may follow from.
_INSIDE_BLOCKS = {*SIZES, "d_model", "norm", "biases"}


def _not_given(names: Iterable[str]) -> dict[str, Any]:
    """Fields as they are where nobody gives them."""
    return {name: () if name == "blocks" else SIZES[name] for name in names}


def _by_sizes(model: Transformer) -> Transformer | None:
    """A model that is given by its blocks, written by its sizes, where these say the same."""
    sizes = {name: getattr(model, name) for name in SIZES}
    heads, layers = model.heads, model.layers
    usual = {"kv_heads": (heads,), "rotary_dim": (model.head_dim,), "local_layers": (0, layers)}
    known = heads is not None and model.head_dim is not None
    if known and heads * model.head_dim == model.d_model:
        usual["head_dim"] = (model.head_dim,)
    sizes |= {name: None for name, values in usual.items() if sizes[name] in values}
    if model.mla is not None:
        sizes |= dict.fromkeys(("kv_heads", "head_dim", "rotary_dim"))
    sizes["d_ff"] = model.moe.width if model.d_ff is None and model.moe else model.d_ff
    try:
        found = replace(model, **{**sizes, "blocks": ()})
    except (TypeError, ValueError):
        return None
    return found if same_layers(found.blocks, model.blocks) else None
