"""Every size of every public function: 0, a fraction or a word is refused, and named."""

import importlib
import inspect
import pkgutil
from functools import partial

import pytest

import costlib
from costlib import attention, einsum, linear, matmul, serving
from costlib.layers.attention import attention_backward, keys_read, latent_attention, pairs
from costlib.layers.matmul import exact, linear_backward, matmul_backward
from costlib.measured.collectives import bus_factor
from costlib.model.kvcache import cached_tokens, kv_elements, largest_batch, largest_context, memory
from costlib.model.layer_by_layer import layer_by_layer
from costlib.model.transformer import MLA, MoE, Transformer
from costlib.parallel import Cluster, Machine, Plan, all_reduce, bubble, dealt, tensor_parallel
from costlib.parallel.collectives import least_rounds, least_sent, two_tier_sent
from costlib.parallel.network import collective_seconds
from costlib.serving.answers import answer
from costlib.training import activations, flops_per_token, hfu_over_mfu, lora, training_memory

MODEL = Transformer(layers=2, d_model=64, heads=4, d_ff=256, vocab=1000)
SPAN = {"batch": 1, "seq": 2, "heads": 4, "head_dim": 8}
OF_HEADS = {"kv_heads": 2, "context": 5, "window": 3, "value_dim": 4}
OF_LATENTS = {"kv_rank": 8, "nope_dim": 4, "rope_dim": 2, "value_dim": 6, "context": 7}
ROUTED = MODEL.with_(moe=MoE(experts=8, per_token=2, width=16))
SERVER = serving.Server(MODEL, costlib.devices["H100-SXM"].with_(capacity=10**7))
CALLS = {
    "answer": (
        lambda **of: answer("gpt2", "A100-80GB", **of),
        {"tensor": 1, "data": 1, "batch": 2, "context": 8, "prompt": 4},
    ),
    "layer_by_layer": (partial(layer_by_layer, MODEL), {"batch": 1, "context": 2, "new": 3}),
    "matmul": (matmul, {"m": 1, "k": 2, "n": 3, "batch": 4}),
    "exact": (exact, {"m": 1, "k": 2, "n": 3}),
    "linear": (linear, {"tokens": 1, "d_in": 2, "d_out": 3}),
    "matmul_backward": (matmul_backward, {"m": 1, "k": 2, "n": 3}),
    "linear_backward": (linear_backward, {"tokens": 1, "d_in": 2, "d_out": 3}),
    "einsum": (lambda **of: einsum("mk,kn->mn", **of), {"m": 1, "k": 2, "n": 3}),
    "pairs": (pairs, {"seq": 2, "context": 5, "window": 3}),
    "keys_read": (keys_read, {"seq": 2, "context": 5, "window": 3}),
    "attention": (attention, SPAN | OF_HEADS),
    "attention_backward": (attention_backward, SPAN | OF_HEADS),
    "latent_attention": (latent_attention, {"batch": 1, "seq": 2, "heads": 4} | OF_LATENTS),
    "MLA": (MLA, {"kv_rank": 8, "nope_dim": 4, "rope_dim": 2, "value_dim": 6, "q_rank": 3}),
    "MoE": (MoE, {"experts": 8, "per_token": 2, "width": 16}),
    "Transformer": (
        Transformer,
        {"layers": 2, "d_model": 64, "heads": 4, "d_ff": 256, "vocab": 1000}
        | {"kv_heads": 2, "head_dim": 16, "window": 8},
    ),
    "prefill": (MODEL.prefill, {"batch": 1, "seq": 2}),
    "decode": (MODEL.decode, {"batch": 1, "new": 2, "context": 3}),
    "decode_steps": (MODEL.decode_steps, {"batch": 1, "context": 3, "steps": 2}),
    "generate": (MODEL.generate, {"batch": 1, "new": 2, "prompt": 3}),
    "training_step": (MODEL.training_step, {"batch": 1, "seq": 2}),
    "cached_tokens": (cached_tokens, {"context": 3, "window": 2}),
    "kv_elements": (lambda **of: kv_elements(MODEL, **of), {"batch": 1, "context": 2}),
    "memory": (lambda **of: memory(MODEL, **of), {"batch": 1, "context": 2, "new": 1}),
    "training_memory": (lambda **of: training_memory(MODEL, **of), {"batch": 1, "seq": 2}),
    "activations": (lambda **of: activations(MODEL, **of), {"batch": 1, "seq": 2, "tensor": 2}),
    "flops_per_token": (lambda **of: flops_per_token(MODEL, **of), {"seq": 2}),
    "hfu_over_mfu": (lambda **of: hfu_over_mfu(MODEL, **of), {"seq": 2}),
    "lora": (lora, {"rank": 2}),
    "largest_batch": (lambda **of: largest_batch(MODEL, 10**9, **of), {"context": 2}),
    "largest_context": (lambda **of: largest_context(MODEL, 10**9, **of), {"batch": 2}),
    "tensor_parallel": (lambda **of: tensor_parallel(MODEL, **of), {"devices": 2}),
    "all_reduce": (all_reduce, {"elements": 8, "devices": 2}),
    "Plan": (
        Plan,
        {"tensor": 2, "context": 2, "expert": 2, "pipeline": 2, "data": 2, "microbatch": 2}
        | {"chunks": 2, "shard": 2},
    ),
    "on": (lambda **of: Plan().on(MODEL, Cluster("T4"), **of), {"batch": 1, "seq": 2}),
    "check": (lambda **of: Plan().check(MODEL, Cluster("T4"), **of), {"batch": 1, "seq": 2}),
    "Cluster": (lambda **of: Cluster("DGX-A100", **of), {"nodes": 2, "per_node": 2}),
    "dealt": (dealt, {"layers": 4, "pieces": 2}),
    "Machine": (Machine, {"devices": 2}),
    "least_sent": (lambda **of: least_sent("all_reduce", **of), {"elements": 8, "devices": 2}),
    "two_tier_sent": (
        lambda **of: two_tier_sent("all_reduce", **of),
        {"elements": 8, "node": 2, "nodes": 2},
    ),
    "least_rounds": (least_rounds, {"devices": 2, "ports": 2}),
    "collective_seconds": (
        lambda **of: collective_seconds("all_reduce", 8, "DGX-H100", **of),
        {"per_node": 2, "nodes": 2},
    ),
    "bus_factor": (lambda **of: bus_factor("all_reduce", **of), {"devices": 2}),
    "bubble": (bubble, {"stages": 2, "microbatches": 4}),
    "Server": (
        lambda **of: serving.Server(MODEL, "H100-SXM", **of),
        {"tensor": 2, "pipeline": 2, "expert": 1, "data": 2},
    ),
    "passes": (SERVER.passes, {"batch": 2, "context": 3, "new": 2}),
    "step": (SERVER.step, {"batch": 2, "context": 3, "new": 2}),
    "held_bytes": (SERVER.held_bytes, {"batch": 2, "context": 3, "new": 2}),
    "room": (SERVER.room, {"context": 3}),
    "Session": (serving.Session, {"calls": 2, "first": 3, "answer": 2, "result": 1}),
    "offloaded_step": (
        lambda **of: serving.offloaded_step(SERVER, link=1e9, **of),
        {"batch": 2, "context": 3},
    ),
    "offloaded_work": (
        lambda **of: serving.offloaded_work(SERVER, **of),
        {"batch": 2, "context": 3},
    ),
    "least_offloaded": (lambda **of: serving.least_offloaded(SERVER, **of), {"context": 3}),
    "even_link": (lambda **of: serving.even_link(SERVER, **of), {"prefix": 2}),
    "held_prefix": (lambda **of: serving.held_prefix(SERVER, **of), {"prefix": 2, "context": 3}),
    "session_cost": (
        lambda **of: serving.session_cost(
            SERVER, serving.Session(calls=2, first=3, answer=2, result=1), cached=True, **of
        ),
        {"batch": 2},
    ),
    "cache_bytes": (SERVER.cache_bytes, {"batch": 1, "context": 3}),
    "frontier": (lambda **of: serving.frontier(SERVER, **of), {"context": 3, "prompt": 2}),
    "regimes": (lambda **of: serving.regimes(SERVER, **of), {"context": 3}),
    "best_batch": (lambda **of: serving.best_batch(SERVER, tpot=1, **of), {"context": 3}),
    "saturation": (lambda **of: serving.saturation(SERVER, **of), {"prompt": 2, "answer": 3}),
    "chunk_extra_reads": (serving.chunk_extra_reads, {"prompt": 5, "chunk": 2}),
    "Pages": (lambda **of: serving.Pages(SERVER, **of), {"block": 2}),
    "fits": (lambda **of: costlib.fits(MODEL, "T4", **of), {"batch": 1, "context": 3}),
    "mean_empty": (serving.mean_empty, {"block": 2}),
    "prefix_saving": (serving.prefix_saving, {"sequences": 3, "shared": 5, "block": 2}),
    "machine_ratio": (
        lambda **of: serving.machine_ratio(SERVER, SERVER, **of),
        {"prompt": 4, "answer": 2, "batch": 2},
    ),
    "transfer": (lambda **of: serving.transfer(SERVER, link=1, **of), {"prompt": 2}),
    "bill": (
        lambda **of: serving.bill(SERVER, per_hour=1, **of),
        {"prompt": 2, "answer": 2, "batch": 2},
    ),
    "ridge_batch": (
        lambda **of: serving.ridge_batch("H100-SXM", **of),
        {"experts": 8, "per_token": 2},
    ),
    "weight_gain": (lambda **of: serving.weight_gain("H100-SXM", "int4", **of), {"batch": 2}),
    "experts_share": (lambda **of: serving.experts_share(ROUTED, **of), {"tokens": 2}),
    "tokens_per_expert": (lambda **of: serving.tokens_per_expert(ROUTED, **of), {"tokens": 2}),
    "expert_exchange": (
        lambda **of: serving.expert_exchange(ROUTED, **of),
        {"tokens": 2, "devices": 2},
    ),
    "mixing_flops": (lambda **of: serving.mixing_flops(MODEL, **of), {"context": 2}),
    "even_context": (serving.even_context, {"state": 4, "per_token": 2}),
    "pays_up_to": (
        lambda **of: serving.pays_up_to(SERVER, accepted=0.5, drafts=1, **of),
        {"context": 2},
    ),
    "speculate": (
        lambda **of: serving.speculate(SERVER, SERVER, accepted=0.5, drafts=1, **of),
        {"batch": 2, "context": 2},
    ),
}
#: Sizes that may be 0.
MAY_BE_ZERO = {"steps", "rope_dim", "shared"}  # no steps; latents without rotation; no prefix


def cases():
    for function, (call, sizes) in CALLS.items():
        for name in sizes:
            yield pytest.param(call, sizes, name, id=f"{function}({name})")


@pytest.mark.parametrize(("call", "sizes", "name"), list(cases()))
def test_a_wrong_size_is_refused_and_named(call, sizes, name):
    call(**sizes)
    for wrong in (-1, 2.5, "3", True, float("nan"), 10**31, 10**310, 10**5000):
        with pytest.raises((ValueError, TypeError), match=rf"\b{name}\b"):
            call(**{**sizes, name: wrong})
    zero_is_fine = name in MAY_BE_ZERO or (name == "context" and call not in (attention, pairs))
    if not zero_is_fine:
        with pytest.raises(ValueError, match=rf"\b{name}\b"):
            call(**{**sizes, name: 0})


#: Public functions with such an argument that are tried in tests of their own, or whose argument is
#: no size.
ELSEWHERE = {
    # what others made or found, and rows of the data
    *(
        "Answers",
        "Best",
        "Frontier",
        "Saturation",
        "ServingRun",
        "Requests",
        "LayerKind",
        "Storage",
    ),
    *(
        "Fleet",
        "fleets",
        "Holding",
        "Timeline",
        "Planned",
        "Stage",
        "Task",
        "Adapters",
        "Activation",
    ),
    *(
        "ComputeOptimum",
        "TrainingRun",
        "Algorithm",
        "Collective",
        "Measurement",
        "PlanRow",
        "Served",
    ),
    *("Setup", "Trace", "PublishedRun", "Moment", "Node", "Degrees", "Engine"),
    # parts of what is tried, which checks
    *("Clock", "steps", "steps_within", "until_bend", "mixed", "reading", "learn", "of", "fixed"),
    *("charged", "concurrency", "policy_step", "rollout", "room_gain", "room_of", "busy", "groups"),
    *("fullest", "free_bytes", "check", "check_context", "check_trained"),
    *("context_parallel", "expert_parallel", "stage_models", "stages", "tiers"),
    *("tensor_limit", "played", "order", "in_flight", "ways", "cheapest", "step_bytes", "with_"),
    *("layers_bytes", "weight_bytes", "kv_bytes", "all_reduces", "message", "collective", "send"),
    *("columns", "link_among", "product_flops", "doublings", "triangle", "adapter_step"),
    # checked by their own tests
    *("listed", "poisson", "Policy", "Call", "PrefixCache", "agent_calls", "reuse", "copy", "mfu"),
    *("search", "sweep", "time", "optimizer_memory"),
    # inequalities and quantities, of any numbers
    *("tensor_devices", "slice_tokens", "loss", "likely_failures"),
}


def public_functions():
    """Every public function of the library, also of modules that are imported when asked for."""
    for found in pkgutil.walk_packages(costlib.__path__, "costlib."):
        # Sources are written as published; iomodel and families refuse in tests of their own.
        if {*found.name.split(".")} & {"iomodel", "sources", "families"}:
            continue
        module = importlib.import_module(found.name)
        for name in getattr(module, "__all__", []):
            thing = getattr(module, name)
            if callable(thing) and getattr(thing, "__module__", "") == module.__name__:
                yield name, thing
                for method, function in vars(thing).items() if inspect.isclass(thing) else ():
                    if inspect.isfunction(function) and not method.startswith("_"):
                        yield method, function


def test_every_public_function_that_takes_a_size_is_tried():
    sizes = {name for _, arguments in CALLS.values() for name in arguments}
    seen, missed = set(), set()
    for name, function in public_functions():
        try:
            takes = {*inspect.signature(function).parameters}
        except ValueError:  # a class without a signature of its own
            continue
        if takes & sizes:
            seen.add(name)
            missed |= {name} - {*CALLS, *ELSEWHERE}
    assert len(seen) > 25
    assert missed == set(), "try it here, or say in ELSEWHERE where it is tried"
    assert {*ELSEWHERE} <= seen, "a name in ELSEWHERE is gone"


def test_every_name_in_the_public_namespace_is_there():
    for name in costlib.__all__:
        assert getattr(costlib, name) is not None
