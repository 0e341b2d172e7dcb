"""Every size of every public function: 0, a fraction or a word is refused, and named."""

import importlib
import inspect
import pkgutil
import re
from functools import partial
from pathlib import Path

import pytest

import costlib
from costlib import attention, einsum, linear, matmul
from costlib.layers.attention import attention_backward, keys_read, latent_attention, pairs
from costlib.layers.matmul import exact, linear_backward, matmul_backward
from costlib.measured.collectives import bus_factor
from costlib.model.kvcache import cached_tokens, kv_elements, largest_batch, largest_context, memory
from costlib.model.layer_by_layer import layer_by_layer
from costlib.model.transformer import MLA, MoE, Transformer
from costlib.parallel import Cluster, Machine, Plan, all_reduce, bubble, dealt, tensor_parallel
from costlib.parallel.collectives import least_rounds, least_sent, two_tier_sent
from costlib.parallel.network import collective_seconds
from costlib.serving import (
    Pages,
    Server,
    Session,
    best_batch,
    bill,
    chunk_extra_reads,
    even_context,
    even_link,
    expert_exchange,
    experts_share,
    frontier,
    held_prefix,
    least_offloaded,
    machine_ratio,
    mean_empty,
    mixing_flops,
    offloaded_step,
    offloaded_work,
    pays_up_to,
    prefix_saving,
    regimes,
    ridge_batch,
    saturation,
    session_cost,
    speculate,
    tokens_per_expert,
    transfer,
    weight_gain,
)
from costlib.serving.answers import answer
from costlib.training import activations, flops_per_token, hfu_over_mfu, lora, training_memory

MODEL = Transformer(layers=2, d_model=64, heads=4, d_ff=256, vocab=1000)
SPAN = {"batch": 1, "seq": 2, "heads": 4, "head_dim": 8}
OF_HEADS = {"kv_heads": 2, "context": 5, "window": 3, "value_dim": 4}
OF_LATENTS = {"kv_rank": 8, "nope_dim": 4, "rope_dim": 2, "value_dim": 6, "context": 7}
ROUTED = MODEL.with_(moe=MoE(experts=8, per_token=2, width=16))
SERVER = Server(MODEL, costlib.devices["H100-SXM"].with_(capacity=10**7))
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
        lambda **of: Server(MODEL, "H100-SXM", **of),
        {"tensor": 2, "pipeline": 2, "expert": 1, "data": 2},
    ),
    "passes": (SERVER.passes, {"batch": 2, "context": 3, "new": 2}),
    "step": (SERVER.step, {"batch": 2, "context": 3, "new": 2}),
    "held_bytes": (SERVER.held_bytes, {"batch": 2, "context": 3, "new": 2}),
    "room": (SERVER.room, {"context": 3}),
    "Session": (Session, {"calls": 2, "first": 3, "answer": 2, "result": 1}),
    "offloaded_step": (
        lambda **of: offloaded_step(SERVER, link=1e9, **of),
        {"batch": 2, "context": 3},
    ),
    "offloaded_work": (lambda **of: offloaded_work(SERVER, **of), {"batch": 2, "context": 3}),
    "least_offloaded": (lambda **of: least_offloaded(SERVER, **of), {"context": 3}),
    "even_link": (lambda **of: even_link(SERVER, **of), {"prefix": 2}),
    "held_prefix": (lambda **of: held_prefix(SERVER, **of), {"prefix": 2, "context": 3}),
    "session_cost": (
        lambda **of: session_cost(
            SERVER, Session(calls=2, first=3, answer=2, result=1), cached=True, **of
        ),
        {"batch": 2},
    ),
    "cache_bytes": (SERVER.cache_bytes, {"batch": 1, "context": 3}),
    "frontier": (lambda **of: frontier(SERVER, **of), {"context": 3, "prompt": 2}),
    "regimes": (lambda **of: regimes(SERVER, **of), {"context": 3}),
    "best_batch": (lambda **of: best_batch(SERVER, tpot=1, **of), {"context": 3}),
    "saturation": (lambda **of: saturation(SERVER, **of), {"prompt": 2, "answer": 3}),
    "chunk_extra_reads": (chunk_extra_reads, {"prompt": 5, "chunk": 2}),
    "Pages": (lambda **of: Pages(SERVER, **of), {"block": 2}),
    "fits": (lambda **of: costlib.fits(MODEL, "T4", **of), {"batch": 1, "context": 3}),
    "mean_empty": (mean_empty, {"block": 2}),
    "prefix_saving": (prefix_saving, {"sequences": 3, "shared": 5, "block": 2}),
    "machine_ratio": (
        lambda **of: machine_ratio(SERVER, SERVER, **of),
        {"prompt": 4, "answer": 2, "batch": 2},
    ),
    "transfer": (lambda **of: transfer(SERVER, link=1, **of), {"prompt": 2}),
    "bill": (lambda **of: bill(SERVER, per_hour=1, **of), {"prompt": 2, "answer": 2, "batch": 2}),
    "ridge_batch": (lambda **of: ridge_batch("H100-SXM", **of), {"experts": 8, "per_token": 2}),
    "weight_gain": (lambda **of: weight_gain("H100-SXM", "int4", **of), {"batch": 2}),
    "experts_share": (lambda **of: experts_share(ROUTED, **of), {"tokens": 2}),
    "tokens_per_expert": (lambda **of: tokens_per_expert(ROUTED, **of), {"tokens": 2}),
    "expert_exchange": (lambda **of: expert_exchange(ROUTED, **of), {"tokens": 2, "devices": 2}),
    "mixing_flops": (lambda **of: mixing_flops(MODEL, **of), {"context": 2}),
    "even_context": (even_context, {"state": 4, "per_token": 2}),
    "pays_up_to": (lambda **of: pays_up_to(SERVER, accepted=0.5, drafts=1, **of), {"context": 2}),
    "speculate": (
        lambda **of: speculate(SERVER, SERVER, accepted=0.5, drafts=1, **of),
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
    for wrong in (-1, 2.5, "3", True, float("nan"), None if name == "batch" else -7):
        with pytest.raises((ValueError, TypeError), match=rf"\b{name}\b"):
            call(**{**sizes, name: wrong})
    zero_is_fine = name in MAY_BE_ZERO or (name == "context" and call not in (attention, pairs))
    if not zero_is_fine:
        with pytest.raises(ValueError, match=rf"\b{name}\b"):
            call(**{**sizes, name: 0})


#: Public functions with such an argument that are tried elsewhere, or whose argument is no size.
ELSEWHERE = {
    "Answers": "what answer() found",
    "Clock": "tables for simulate(), as are its methods: test_serving",
    **dict.fromkeys(("steps", "steps_within", "until_bend", "mixed", "reading"), "test_serving"),
    "Best": "what best_batch() found",
    "Frontier": "what frontier() found",
    "Saturation": "what saturation() found",
    "of": "of Pages, for simulate(), as is fixed()",
    "fixed": "of Pages",
    "ServingRun": "what simulate() found",
    "Requests": "made by listed() and poisson(): test_simulator",
    "listed": "test_simulator",
    "poisson": "test_simulator",
    **dict.fromkeys(("Engine", "charged", "concurrency"), "of an engine: test_engines"),
    "LayerKind": "what kinds() found",
    **dict.fromkeys(("Fleet", "fleets"), "what fewest_devices() found, and finds: test_fleet"),
    **dict.fromkeys(
        ("Call", "PrefixCache", "agent_calls", "reuse"),
        "numbers of calls that are drawn: test_agents",
    ),
    **dict.fromkeys(("policy_step", "rollout"), "simulate(), which checks: test_agents"),
    "room_gain": "room() and step() of two servers: test_room",
    **dict.fromkeys(("kept", "merged", "of_some_tokens"), "of a part of a layer: test_by_tokens"),
    **dict.fromkeys(("context_parallel", "tensor_limit"), "of a server: test_by_tokens"),
    "Moment": "a line of a log: test_explain",
    "free_bytes": "of a server's own memory: test_serving",
    "check": "room() in a sentence: test_serving",
    **dict.fromkeys(
        ("check_context", "check_trained"), "what decode() and answer() check: test_names"
    ),
    "Policy": "test_simulator",
    "Storage": "made by from_hf() alone: test_checkpoint",
    "Timeline": "what played() found: test_pipeline",
    "played": "of a named schedule: test_pipeline",
    "order": "one device's part of played(): test_pipeline",
    "in_flight": "what played() is compared with: test_pipeline",
    "ways": "of a layout, whose letters are checked: test_sharding",
    "cheapest": "the first of ways(): test_sharding",
    "step_bytes": "Precision.by_step of a model: test_checkpoint",
    "layers_bytes": "Precision.by_step of each layer: test_layer_by_layer",
    "all_reduces": "all_reduce() as an op",
    "message": "what the functions above make their ops with",
    "weight_bytes": "Transformer.weight_bytes(), whose sizes are checked",
    "Node": "its devices are looked up by name: test_devices",
    "Holding": "made by memory(), never by hand",
    "Algorithm": "a way of ALGORITHMS: test_collectives",
    "Collective": "a table of the data",
    "doublings": "of sizes that its callers have checked: test_numbers",
    "Measurement": "a row of the data, its steps a list",
    "PlanRow": "a row of the data: test_plan_rows",
    "Served": "a row of the data: test_served",
    "Setup": "what setup() read of a row: test_served",
    "Trace": "a row of the data; how many it draws: test_serving_facts",
    "PublishedRun": "a row of the data: test_runs",
    "columns": "the columns of sweep(), which checks: test_sweeps",
    "copy": "test_timing",
    "Degrees": "a Plan's fields",
    "search": "batch and seq are checked: test_search",
    "tensor_devices": "an inequality, of any numbers: test_hiding",
    "slice_tokens": "an inequality, of any numbers: test_hiding",
    "Planned": "made by Plan.on(), which checks",
    "collective": "as message(), in two tiers",
    "link_among": "what a node says of so many: test_plan",
    "stages": "of a plan, whose sizes are checked: test_plan",
    "send": "as collective()",
    "Stage": "what stages() found: test_plan",
    "Task": "a task of played()",
    "expert_parallel": "of a server, whose sizes are checked: test_server_plans",
    "stage_models": "of a server, whose sizes are checked: test_server_plans",
    "busy": "prefill() of the slowest stage: test_server_plans",
    "groups": "what step() deals its batch into: test_server_plans",
    "fullest": "memory(), which checks, of each stage: test_server_plans",
    "room_of": "room() of one stage",
    "tiers": "of a plan, whose sizes are checked: test_plan",
    "with_": "Cluster and others, made anew: test_plan",
    "kv_bytes": "kv_elements() times bytes",
    "product_flops": "the formula itself, without checks: test_one_formula",
    "learn": "pieces of prompts that a simulation met",
    "optimizer_memory": "test_parallel",
    "Adapters": "made by lora(), which checks: test_training",
    "ComputeOptimum": "what optimum() found: test_training",
    "Activation": "what activations() lists",
    "TrainingRun": "test_training",
    "adapter_step": "training_step() less what is frozen: test_training",
    "loss": "parameters and tokens in billions, which are no sizes of a call",
    "likely_failures": "hours, and devices that are a number of any kind",
    "mfu": "test_training",
    "sweep": "test_sweeps",
    "time": "steps is what a step is, not how many: test_roofline",
    "triangle": "a closed form of the library itself, without checks",
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


def test_where_else_is_a_file_that_is_there():
    named = {file for reason in ELSEWHERE.values() for file in re.findall(r"test_\w+", reason)}
    assert {file for file in named if not Path(__file__).with_name(f"{file}.py").exists()} == set()


def test_every_name_in_the_public_namespace_is_there():
    for name in costlib.__all__:
        assert getattr(costlib, name) is not None
