"""The bytes per parameter of training: weights, gradients, master copy, and the optimizer's
moments.

A recipe says what one parameter takes of each, in which bytes activations are kept, and in which
format products are computed. Where embeddings, norms and biases are treated apart from the layers'
matrices, ``others`` is their recipe: Muon's one moment is of matrices, fp8 leaves embeddings in 16
bits. Low-rank adapters freeze the model and have a recipe of their own.

Left out: buffers that come and go within a step, and the few tensors that an 8-bit optimizer leaves
in 32 bits because they are small.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from costlib.layers.parts import PerToken
from costlib.model.catalog import model_of
from costlib.model.kvcache import Memory
from costlib.model.transformer import Transformer
from costlib.units.numbers import Number, choose, exact_div, flag, is_zero, plus, size, total
from costlib.units.precision import FORMATS, Precision, grouped, spelt

__all__ = [
    "RECIPES",
    "Adapters",
    "Recipe",
    "adapter_params",
    "checkpoint_bytes",
    "lora",
    "params_by_kind",
    "recipe_of",
    "state_bytes",
]

#: What `Recipe` keeps of a parameter, in the order that a table shows.
STATE = ("weights", "gradients", "master", "moments")


@dataclass(frozen=True, slots=True, kw_only=True)
class Adapters:
    """Low-rank adapters beside frozen matrices: A of d_in x rank, B of rank x d_out, for each.

    ``recipe`` is that of their own parameters.
    """

    rank: Number
    targets: tuple[str, ...]
    recipe: Recipe


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """Bytes that training takes: of a parameter, and of what activations it keeps.

    ``weights`` are what a pass reads, ``master`` a second copy that small updates are not rounded
    away from, ``moments`` all of the optimizer's together. ``factored``: of a matrix the second
    moment keeps a row and a column in 32 bits, and of a vector all (Adafactor). ``inputs`` are
    activations that products read, ``activations`` all others. ``compute`` is the format of
    products; None stands for 16 bits.

    >>> Recipe(weights=2, gradients=2, master=4, moments=8).per_parameter
    16
    >>> Recipe(weights=-1, gradients=2)
    Traceback (most recent call last):
        ...
    ValueError: weights must be at least 0 bytes, got -1
    """

    weights: Number
    gradients: Number
    master: Number = 0
    moments: Number = 0
    factored: bool = False
    activations: Number = 2
    inputs: Number = 2
    scores: Number = 2
    compute: str | None = None
    others: Recipe | None = None
    adapters: Adapters | None = None
    note: str = ""

    def __post_init__(self) -> None:
        for name in (*STATE, "activations", "inputs", "scores"):
            value = getattr(self, name)
            if value is None or isinstance(value, (str, bool)):
                raise TypeError(f"{name} must be a number of bytes, got {value!r}")
            if isinstance(value, (int, float)) and not value >= 0:
                raise ValueError(f"{name} must be at least 0 bytes, got {value}")

    @property
    def per_parameter(self) -> Any:
        """All bytes of a parameter of a matrix, activations aside."""
        return self.weights + self.gradients + self.master + self.moments

    @property
    def precision(self) -> Precision:
        """What passes move: bytes of weights and activations, and the format of products."""
        named: dict[str, Any] = {"weights": self.weights, "activations": self.activations}
        return Precision(**named, scores=self.scores, compute=self.compute)

    def with_(self, **changes: Any) -> Recipe:
        """The same recipe with some of it changed.

        >>> RECIPES["bf16"].with_(gradients=4).per_parameter
        18
        """
        return replace(self, **changes)

    def bytes_of(self, kind: str) -> Any:
        """Bytes of an element that is kept for the backward pass, by its kind.

        >>> [RECIPES["bf16"].bytes_of(kind) for kind in ("inputs", "mask", "fp32")]
        [2, 1, 4]
        """
        choose("kind", kind, ("inputs", "activations", "scores", "mask", "fp32"))
        return {"mask": 1, "fp32": 4}.get(kind) or getattr(self, kind)


#: Two moments of Adam in 8 bits: each block of 256 shares a scale in 32 bits.
_EIGHT_BITS = 2 * grouped(8, 256, scale_bits=32)
#: Weights in fp8 where each square of 128 x 128 shares a scale in 32 bits.
_SQUARES = grouped(8, 128 * 128, scale_bits=32)
#: Activations in fp8 where each 128 of a token share a scale in 32 bits.
_TILES = grouped(8, 128, scale_bits=32)

_ADAM = Recipe(weights=2, gradients=2, master=4, moments=8, note="ZeRO's count")

#: Recipes by name; `lora` makes more.
RECIPES: dict[str, Recipe] = {
    "fp32": Recipe(
        weights=4, gradients=4, moments=8, activations=4, inputs=4, scores=4, compute="fp32"
    ),
    "bf16": _ADAM,
    "bf16-fp32-grads": _ADAM.with_(gradients=4, note="Megatron's usual"),
    "fp16-megatron": _ADAM.with_(gradients=6, compute="fp16", note="gradients in 16 and 32 bits"),
    "bf16-pure": Recipe(weights=2, gradients=2, moments=4, note="nothing in 32 bits"),
    "fp8": Recipe(
        weights=_SQUARES,
        gradients=4,
        master=4,
        moments=4,
        inputs=_TILES,
        compute="fp8",
        others=Recipe(weights=2, gradients=4, master=4, moments=4),
        note="DeepSeek-V3: moments in bf16, embeddings not in fp8",
    ),
    "fp8-te": Recipe(
        weights=4,
        gradients=4,
        master=4,
        moments=8,
        inputs=1,
        compute="fp8",
        others=Recipe(weights=2, gradients=4, master=4, moments=8),
        note="Transformer Engine: bf16 weights, and fp8 ones both ways round",
    ),
    "adam-8bit": _ADAM.with_(moments=_EIGHT_BITS, note="bitsandbytes, blocks of 256"),
    "muon": _ADAM.with_(moments=4, others=_ADAM, note="Adam for embeddings, norms and biases"),
    "adafactor": _ADAM.with_(moments=0, factored=True, note="no first moment"),
    "sgd-momentum": _ADAM.with_(moments=4, note="one moment"),
    "sgd": _ADAM.with_(moments=0, note="no moment"),
}


def recipe_of(value: Recipe | str | None = None) -> Recipe:
    """A recipe, its name, or None (bf16 with master weights), as a `Recipe`.

    >>> recipe_of().per_parameter, recipe_of("fp32").per_parameter
    (16, 16)
    >>> recipe_of("fp16")
    Traceback (most recent call last):
        ...
    ValueError: recipe must be a Recipe or one of fp32, bf16, bf16-fp32-grads, fp16-megatron, \
bf16-pure, fp8, fp8-te, adam-8bit, muon, adafactor, sgd-momentum, sgd, got 'fp16'
    """
    if isinstance(value, Recipe):
        return value
    name = "bf16" if value is None else value
    if isinstance(name, str) and spelt(name) in RECIPES:
        return RECIPES[spelt(name)]
    kind = ValueError if isinstance(value, str) else TypeError
    raise kind(f"recipe must be a Recipe or one of {', '.join(RECIPES)}, got {value!r:.200}")


def lora(
    rank: Number = 16,
    targets: tuple[str, ...] | str = ("q_proj", "v_proj"),
    *,
    base: str = "bf16",
    recipe: Recipe | str = "fp32",
) -> Recipe:
    """A frozen model and trained adapters of a rank beside the products named.

    ``targets`` are products by their names here or in checkpoints, as "gate_proj", or "all-linear".
    ``base`` is the format of the frozen matrices: "bf16" for LoRA, "nf4" for QLoRA, whose groups of
    64 share a scale of 8 bits, and 256 of these one of 32; embeddings and norms stay in 16 bits.
    Adapters are trained in 32 bits unless said otherwise.

    >>> from costlib import models
    >>> llama = models["llama-2-7b"]
    >>> adapter_params(llama, lora(8))
    4194304
    >>> round(state_bytes(llama, lora(8, base="nf4")).total / 1e9, 2)
    3.93
    """
    if not isinstance(base, str) or spelt(base) not in FORMATS:
        raise ValueError(f"base must be one of {', '.join(FORMATS)}, got {base!r:.200}")
    targets = (targets,) if targets == "all-linear" else targets
    if isinstance(targets, str) or not targets:
        raise TypeError(
            f"targets must be a tuple of names of products or 'all-linear', got {targets!r:.200}"
        )
    own = Adapters(rank=size("rank", rank), targets=tuple(targets), recipe=recipe_of(recipe))
    plain = Recipe(weights=2, gradients=0)
    return Recipe(weights=FORMATS[spelt(base)], gradients=0, others=plain, adapters=own)


def params_by_kind(model: Transformer | str) -> dict[str, Any]:
    """Parameters of the layers' ``matrices``, and ``others``: embeddings, norms, biases, scalars.

    >>> from costlib.model.transformer import Transformer
    >>> params_by_kind(Transformer(layers=2, d_model=64, heads=4, d_ff=256, vocab=1000))
    {'matrices': 131072, 'others': 128320}
    """
    model = model_of(model)
    matrices = total(step.parameters() for step in _products(model))
    for block in model.blocks:
        if not is_zero(block.shared_parameters):  # one block used again and again is stored once
            matrices = matrices - block.layers * block.shared_parameters
    return {"matrices": matrices, "others": model.params() - matrices}


def adapter_params(model: Transformer | str, recipe: Recipe | str | None) -> Any:
    """Parameters of a recipe's adapters: rank·(d_in + d_out) for each matrix named; 0 without.

    >>> from costlib.model.transformer import Transformer
    >>> tiny = Transformer(layers=2, d_model=64, heads=4, d_ff=256, vocab=1000)
    >>> adapter_params(tiny, lora(8, ("q_proj", "ffn.down")))
    7168
    >>> adapter_params(tiny, lora(8, ("query",)))
    Traceback (most recent call last):
        ...
    ValueError: targets has no product 'query'; the model has q_proj, k_proj, v_proj, o_proj, \
ffn.gate, ffn.up, ffn.down
    """
    adapters = recipe_of(recipe).adapters
    if adapters is None:
        return 0
    return total(adapters.rank * _sides(step) for step in targeted(model_of(model), adapters))


def targeted(model: Transformer, adapters: Adapters) -> list[PerToken]:
    """The products that adapters stand beside."""
    names, known = target_names(model, adapters), {step.name for step in _products(model)}
    for name in names:
        if name not in known:
            there = ", ".join(dict.fromkeys(step.name for step in _products(model)))
            parts = f", whose parts are {_FUSED[name]} here" if name in _FUSED else ""
            raise ValueError(f"targets has no product {name!r}{parts}; the model has {there}")
    return [step for step in _products(model) if step.name in names]


def target_names(model: Transformer, adapters: Adapters) -> tuple[str, ...]:
    """The products that an adapter's targets stand for: names here, or those of checkpoints.

    >>> from costlib import models
    >>> target_names(models["mixtral-8x7b"], lora(8, ("q_proj", "down_proj")).adapters)
    ('q_proj', 'experts.down')
    """
    known = [*dict.fromkeys(step.name for step in _products(model))]
    found: list[str] = []
    for name in adapters.targets:
        end = _IN_CHECKPOINTS.get(name)
        alike = [each for each in known if name == "all-linear" or (end and each.endswith(end))]
        found += [name] if name in known or not alike else alike
    return tuple(dict.fromkeys(found))


#: What checkpoints, and so PEFT, call a product of a feed-forward layer or an expert.
_IN_CHECKPOINTS = {"gate_proj": ".gate", "up_proj": ".up", "down_proj": ".down"}
_IN_CHECKPOINTS |= {"w1": ".gate", "w3": ".up", "w2": ".down", "fc1": ".up", "fc2": ".down"}
#: Matrices that checkpoints store as one, and whose adapters share their first matrix.
_FUSED = dict.fromkeys(("qkv_proj", "query_key_value", "c_attn", "Wqkv"), "q_proj, k_proj, v_proj")
_FUSED |= {"gate_up_proj": "gate_proj, up_proj"}


def _products(model: Transformer) -> Iterator[PerToken]:
    """The products of all layers, an encoder's and a scan's own aside."""
    for step in model.steps():
        if step.is_matmul and step.name not in ("unembedding", "mtp.unembedding"):
            yield step
    for block in model.blocks:
        for part in block.parts:
            yield from (step * block.layers for step in part.mixed if step.is_matmul)


def _sides(step: PerToken) -> Any:
    """Rows and columns of a step's matrices, in all layers and experts."""
    both = plus(step.reads, plus(step.writes, step.kv_writes))
    return exact_div(both, step.chosen) * step.experts if step.is_expert else both


def state_bytes(model: Transformer | str, recipe: Recipe | str | None = None) -> Memory:
    """Bytes of weights, gradients and the optimizer's state (master copy and moments).

    >>> from costlib.model.transformer import Transformer
    >>> tiny = Transformer(layers=2, d_model=64, heads=4, d_ff=256, vocab=1000)
    >>> state_bytes(tiny, "bf16").total == 16 * tiny.params()
    True
    >>> held = state_bytes(tiny, "muon")
    >>> held.optimizer == 8 * 131072 + 12 * 128320
    True
    """
    recipe, model = recipe_of(recipe), model_of(model)
    count = params_by_kind(model)
    kinds = [(count["matrices"], recipe), (count["others"], recipe.others or recipe)]
    if recipe.adapters is not None:
        kinds.append((adapter_params(model, recipe), recipe.adapters.recipe))
    moments = [_times(parameters, each.master + each.moments) for parameters, each in kinds]
    return Memory(
        weights=total(_times(parameters, each.weights) for parameters, each in kinds),
        gradients=total(_times(parameters, each.gradients) for parameters, each in kinds),
        optimizer=total([_factors(model) if recipe.factored else 0, *moments]),
    )


def checkpoint_bytes(
    model: Transformer | str, recipe: Recipe | str | None = None, *, resume: bool = True
) -> Any:
    """Bytes of a checkpoint from which a run resumes, or (``resume=False``) the weights alone.

    To go on, a run needs weights, master copy and moments; gradients are made anew. Of a frozen
    model only the adapters are written.

    >>> from costlib.model.transformer import Transformer
    >>> tiny = Transformer(layers=2, d_model=64, heads=4, d_ff=256, vocab=1000)
    >>> checkpoint_bytes(tiny) / tiny.params(), checkpoint_bytes(tiny, resume=False) / tiny.params()
    (14.0, 2.0)
    """
    recipe, resume = recipe_of(recipe), flag("resume", resume)
    if recipe.adapters is not None:
        own = recipe.adapters.recipe
        each = own.per_parameter - own.gradients if resume else own.weights
        return _times(adapter_params(model, recipe), each)
    held = state_bytes(model, recipe)
    return held.weights + held.optimizer if resume else held.weights


def _factors(model: Transformer) -> Any:
    """Bytes of a factored second moment: 4 for each row and column, and each entry of a vector."""
    matrices = total(_sides(step) for step in _products(model))
    vectors = params_by_kind(model)["others"]
    for step in model.steps():
        is_head = step.name in ("unembedding", "mtp.unembedding")
        if not is_zero(step.table):  # a row for each token, a column for each element
            width = exact_div(step.rows, step.times)
            vectors = vectors - step.table + plus(exact_div(step.table, width), step.rows)
        elif is_head and not (model.tied or step.tied):
            vectors = vectors - step.weights + _sides(step)
    return 4 * plus(matrices, vectors)


def _times(parameters: Number, each: Number) -> Any:
    """Parameters times bytes; nothing where there are none, and whole bytes as an int."""
    if is_zero(parameters) or is_zero(each):
        return 0
    count = parameters * each
    return int(count) if isinstance(count, float) and count.is_integer() else count
