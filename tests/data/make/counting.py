"""What a model holds and what a forward pass costs, read off other people's code.

transformers builds the model from its config, torch's own FLOP counter counts the pass, the
cache object says what it keeps. Nothing here knows a formula for a model, and nothing imports
costlib: a row made here is an independent witness.
"""

import inspect
import re
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import torch
import transformers
from torch.nn.modules.module import (
    register_module_forward_hook,
    register_module_forward_pre_hook,
)
from torch.utils.flop_counter import FlopCounterMode
from transformers import masking_utils
from transformers.models.auto import modeling_auto
from transformers.models.auto.configuration_auto import CONFIG_MAPPING

HEADS = [  # which class of a family is "the model": the first of these that it has
    modeling_auto.MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING,  # its causal class is its decoder alone
    modeling_auto.MODEL_FOR_MASKED_LM_MAPPING,  # an encoder, whatever else can be made of it
    modeling_auto.MODEL_FOR_CAUSAL_LM_MAPPING,
    modeling_auto.MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING,
]
SAME_CODE = {"kimi_k2": "deepseek_v3"}  # published under a name of its own, run by this code
HAND_IN_A_CACHE = {"RecurrentGemmaForCausalLM"}  # makes none by itself
# Layers that keep a state, so that a batched matmul inside them is part of a scan.
SCANS = re.compile(r"Mamba|Mixer$|Delta|Lightning|(?<!Kimi)LinearAtt|Rwkv|SSM|KDA|LSTM")
INDEXERS = re.compile(r"Indexer|Compressor")
EXPERTS = re.compile(r"(?<!Shared)Experts?$|ParallelLinear$|ParallelExperts$|ExpertGLU$")

transformers.logging.set_verbosity_error()  # of made-up sizes it would say much

# No row of tokens here is several sequences packed in one, which is looked up in values; without
# the look-up most passes run on `meta`, where a tensor has none.
masking_utils.find_packed_sequence_indices = lambda _: None


def build(
    config: dict, device: str = "meta", experts: str = "batched_mm", attention: str = "eager"
) -> Any:
    """The model of a config.json, with random weights or, on `meta`, none at all."""
    config = plain(config)
    config.pop("quantization_config", None)  # weights in 16 bits have the same count
    kind = config.pop("model_type")
    made = CONFIG_MAPPING[SAME_CODE.get(kind, kind)].from_dict(config)
    for part in filter(None, [made, *(getattr(made, name, None) for name in made.sub_configs)]):
        part._attn_implementation = attention  # a CPU's own fused one counts 0
        part._experts_implementation = experts  # grouped_mm counts 0
    with torch.device(device):
        model = model_class(made, config.get("architectures") or [])(made)
    if device != "meta":  # with gradients, weights that are handed on as arguments are tracked
        model.requires_grad_(False)
    return model.eval()


def model_class(made: Any, architectures: list[str]) -> Any:
    """The class that the config names, or the first that its family has."""
    named = [getattr(transformers, name, None) for name in architectures]
    heads = HEADS
    classes = [c for c in named if hasattr(c, "forward") and not c.__name__.endswith("Model")]
    if "text_config" in made.sub_configs:  # its causal class would be for the text alone
        heads = [modeling_auto.MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING, *HEADS]
    classes += [of_type[type(made)] for of_type in heads if type(made) in of_type]
    if not classes:
        raise LookupError(f"transformers has no language model for {type(made).__name__}")
    return classes[0]


def plain(value: Any) -> Any:
    """A copy of a config in which {"__float__": "Infinity"}, as JSON has to say it, is infinite."""
    if isinstance(value, dict):
        if set(value) == {"__float__"}:
            return float(value["__float__"])
        return {name: plain(part) for name, part in value.items()}
    return [plain(part) for part in value] if isinstance(value, list) else value


def language_params(model: Any) -> tuple[int, dict[str, int]]:
    """Distinct parameters of the language model, and of each tower beside it."""
    outside, language = Counter(), 0
    towers = {"text_config", "thinker_config"} & set(model.config.sub_configs)
    for name, parameter in model.named_parameters():
        if towers and not re.search(r"language_model|lm_head|(^|\.)text_model", name):
            outside[".".join(name.split(".")[:2])] += parameter.numel()
        else:
            language += parameter.numel()
    return language, dict(outside)


class Counting(FlopCounterMode):
    """torch's counter, which also notes the innermost module at work: what kind of work it is."""

    def __init__(self) -> None:
        super().__init__(display=False)
        self.kinds: Counter[str] = Counter()
        self.top_k: dict[int, int] = {}  # id of an experts module: experts one token is sent to
        self.ran: set[int] = set()  # ids of modules that were at work
        self.stack: list[Any] = []

    def __enter__(self) -> "Counting":
        self.hooks = [
            register_module_forward_pre_hook(self._enter_module),
            register_module_forward_hook(self._leave_module),
        ]
        return super().__enter__()

    def __exit__(self, *error: object) -> Any:
        for hook in self.hooks:
            hook.remove()
        return super().__exit__(*error)

    def _enter_module(self, module: Any, args: tuple) -> None:
        self.stack.append(module)
        self.ran.add(id(module))
        indices = [a for a in args if torch.is_tensor(a) and not a.is_floating_point()]
        if is_experts(module) and indices:
            self.top_k[id(module)] = indices[0].shape[-1]

    def _leave_module(self, module: Any, *_: object) -> None:
        assert self.stack.pop() is module

    def _count_flops(self, operation: Any, out: Any, args: Any, kwargs: Any) -> Any:
        before = self.get_total_flops()
        result = super()._count_flops(operation, out, args, kwargs)
        if counted := self.get_total_flops() - before:
            self.kinds[self.kind(operation.__name__)] += counted
        return result

    def kind(self, operation: str) -> str:
        """What kind of work an operation is, from the modules that are running."""
        innermost = type(self.stack[-1]).__name__
        if "convolution" in operation:
            return "conv"
        if any(is_experts(module) for module in self.stack):
            return "experts"
        if operation in ("mm", "addmm") or innermost == "Linear":
            return "linear"
        if INDEXERS.search(innermost):
            return "indexer"
        if SCANS.search(innermost):
            return "scan"
        return "attention" if re.search("Att(entio)?n|MLA", innermost) else "other"


def is_experts(module: Any) -> bool:
    """Whether a module holds the weights of all routed experts of a layer."""
    named = EXPERTS.search(type(module).__name__)
    return bool(named and experts_held(module))


def experts_held(module: Any) -> int:
    """How many experts a module's own weights are of: their first axis, or its word (DBRX)."""
    stacked = [p.shape[0] for p in module.parameters(recurse=False) if p.dim() == 3]
    return stacked[0] if stacked else getattr(module, "moe_num_experts", 0)


def run(
    model: Any,
    batch: int,
    new: int,
    kept: dict | None = None,
    encoder: int = 0,
    *,
    learns: bool = False,
    **more: Any,
) -> Any:
    """One forward pass over made-up tokens: what matters is their number."""
    taken = inspect.signature(model.forward).parameters
    kept = {**({"use_cache": not learns} if "use_cache" in taken else {}), **(kept or {})}
    if type(model).__name__ in HAND_IN_A_CACHE and "past_key_values" not in kept:
        kept["past_key_values"] = transformers.DynamicCache(config=model.config)
    device = next(model.parameters()).device
    tokens = {"input_ids": torch.zeros(batch, new, dtype=torch.long, device=device)}
    if is_encoder_decoder(model):
        tokens["decoder_input_ids"] = tokens.pop("input_ids")
        if "encoder_outputs" not in kept:
            tokens["input_ids"] = torch.zeros(batch, encoder, dtype=torch.long, device=device)
    with torch.set_grad_enabled(learns):
        output = model(**tokens, **kept, **more)
    if "past_key_values" in kept and "past_key_values" not in output:
        output["past_key_values"] = kept["past_key_values"]  # filled, though not handed back
    return output


def memory(output: Any) -> dict[str, Any]:
    """What a pass hands on to the next one, as the arguments of that one."""
    kept = {n: output[n] for n in ("past_key_values", "cache_params", "state") if n in output}
    if "encoder_last_hidden_state" in output:
        kept["encoder_outputs"] = (output["encoder_last_hidden_state"],)
    return kept


def is_encoder_decoder(model: Any) -> bool:
    return bool(getattr(model.config, "is_encoder_decoder", False))


def count(
    model: Any, batch: int, new: int, past: int = 0, encoder: int = 0, **more: Any
) -> Counting:
    """The counter after a pass over `new` tokens that follow `past` others."""
    kept = memory(run(model, batch, past, encoder=encoder)) if past else None
    with Counting() as counting:
        run(model, batch, new, kept, encoder, **more)
    return counting


def training(model: Any, batch: int, new: int, encoder: int = 0) -> int:
    """FLOPs of a pass and of all its gradients."""
    model.requires_grad_(True)
    with FlopCounterMode(display=False) as counter:
        run(model, batch, new, encoder=encoder, learns=True).logits.sum().backward()
    model.requires_grad_(False)
    return counter.get_total_flops()


def tensors(thing: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Every tensor inside a cache layer, by its path."""
    if torch.is_tensor(thing):
        yield path, thing
        return
    if isinstance(thing, (list, tuple)):
        thing = dict(enumerate(thing))
    for name, part in (thing if isinstance(thing, dict) else vars(thing)).items():
        if torch.is_tensor(part) or isinstance(part, (dict, list, tuple)):
            yield from tensors(part, f"{path}.{name}".lstrip("."))


def layer_contents(layer: Any) -> dict[str, int]:
    """Elements that one layer of a cache holds, by the name of the tensor."""
    held = {path: t.numel() for path, t in tensors(layer) if t.is_floating_point()}
    if getattr(layer, "values_are_keys", False):
        held.pop("values", None)
    return held


def layer_row(before: Any, after: Any, lengths: tuple[int, int]) -> dict[str, Any]:
    """What one layer keeps, from its contents after two prefills of different length."""
    row = {"window": after.sliding_window} if getattr(after, "sliding_window", None) else {}
    held = layer_contents(before)
    for path, elements in layer_contents(after).items():
        growth = Fraction(elements - held.get(path, 0), lengths[1] - lengths[0])
        if path in ("keys", "values") and "window" in row:
            tokens = min(lengths[1], row["window"] - 1)  # the newest token needs no place
            add(row, "in_window", Fraction(elements, tokens))
        elif growth:
            add(row, "per_token", growth)
        elif path.startswith(("conv_states", "recurrent_states", "linear_cache")):
            add(row, "conv" if path.startswith("conv") else "state", elements)
        elif elements:
            add(row, "other", elements)
    return row


def add(row: dict[str, Any], name: str, elements: int | Fraction) -> None:
    total = Fraction(row.get(name, 0)) + elements
    row[name] = int(total) if total.denominator == 1 else float(total)


@contextmanager
def noticing_shared_values() -> Iterator[None]:
    """Mark the cache layers that are handed one tensor as their keys and as their values."""
    update = transformers.Cache.update

    def noticing(self: Any, keys: Any, values: Any, layer_idx: int, *args: Any, **more: Any) -> Any:
        result = update(self, keys, values, layer_idx, *args, **more)
        self.layers[layer_idx].values_are_keys = keys is values
        return result

    transformers.Cache.update = noticing
    try:
        yield
    finally:
        transformers.Cache.update = update


def cache_layers(model: Any, tokens: int, encoder: int) -> list[Any]:
    """The layers of the cache after a prefill."""
    with noticing_shared_values():
        kept = memory(run(model, 1, tokens, encoder=encoder))
    if "state" in kept:  # RWKV's: tensors whose last axis is the layer
        parts = zip(*(each.unbind(-1) for each in kept["state"]), strict=True)
        return [SimpleNamespace(recurrent_states=part) for part in parts]
    kept = kept.get("past_key_values", kept.get("cache_params"))
    kept = getattr(kept, "self_attention_cache", kept)
    return [*kept.layers, *beside(model, kept)]


def beside(model: Any, kept: Any) -> list[Any]:
    """Give the layers of a cache what their code keeps elsewhere; layers that it has not."""
    states = getattr(kept, "linear_cache", ())  # MiniMax: in a list, which may be longer
    more = [SimpleNamespace() for _ in states[len(kept.layers) :]]
    for layer, state in zip([*kept.layers, *more], states, strict=False):
        layer.linear_cache = state
    if type(model).__name__ in HAND_IN_A_CACHE:  # RecurrentGemma: in the modules themselves
        for layer, block in zip(kept.layers, model.model.layers, strict=True):
            held = {k: v for module in block.modules() for k, v in vars(module).items()}
            layer.conv_states = held.get("conv1d_state")
            layer.recurrent_states = held.get("recurrent_states")
    return more


def cache(model: Any, lengths: tuple[int, int], encoder: int = 128) -> list[dict[str, Any]]:
    """What the model keeps of a sequence: like layers together, elements of each."""
    if not can_cache(model):
        return []
    pairs = zip(*(cache_layers(model, n, encoder) for n in lengths), strict=True)
    rows = [layer_row(*pair, lengths) for pair in pairs]
    return [{"layers": rows.count(row), **row} for n, row in enumerate(rows) if row not in rows[:n]]


def can_cache(model: Any) -> bool:
    """Whether a pass can follow another: not in an encoder, nor where nothing is handed on."""
    taken = inspect.signature(model.forward).parameters
    causal = not re.search("MaskedLM|SequenceClassification", type(model).__name__)
    return causal and bool({"past_key_values", "cache_params", "state"} & set(taken))


def routed_params(model: Any, counting: Counting) -> tuple[int, int]:
    """Parameters of routed experts, and how many of them one token uses."""
    held = used = 0
    for module in filter(is_experts, model.modules()):
        experts = experts_held(module)
        # A part of the module that is not stacked by expert, as a norm after all, is not routed.
        stacked = [p for p in module.parameters() if p.dim() > 1 and p.shape[0] % experts == 0]
        here = sum(p.numel() for p in stacked)
        held += here
        if id(module) in counting.ran:  # ERNIE's experts for pictures did not
            used += here * (counting.top_k.get(id(module)) or top_k(model)) // experts
    return held, used


def top_k(model: Any) -> int:
    """The config's word, for experts that are not handed the choice (Llama 4, DBRX)."""
    config = model.config.get_text_config()
    config = getattr(config, "ffn_config", config)
    return getattr(config, "moe_top_k", 0) or config.num_experts_per_tok
