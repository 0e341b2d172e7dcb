"""A name will do wherever a model, a device, a server or a cluster is meant; what is out of any
machine's or model's range is said.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from test_arguments import public_functions

import costlib
from costlib import Device, kvcache, models, parallel, serving, training
from costlib.measured import gpus
from costlib.model.engines import ENGINES, kinds
from costlib.model.layer_by_layer import layer_by_layer
from costlib.parallel import Cluster, Plan
from costlib.parallel.stages import layer_kinds, stage_models, stages
from costlib.serving import Server
from costlib.serving.server import BeyondTraining
from costlib.timing import roofline, sweeps
from costlib.training import lora
from costlib.units.device import Link

DENSE, ROUTED, ON = "llama-3.2-1b", "mixtral-8x7b", "llama-3.2-1b on H100-SXM"
STATES = models["falcon-mamba-7b"]
ARRIVALS = serving.listed([0.0, 1.0], 100, 10)
SESSION = serving.Session(calls=2, first=100, answer=10, result=10)

#: For each argument's name what is meant and what will do for it, and the calls that take it.
OF_MODELS: dict[str, Callable[[Any], Any]] = {
    "kv_bytes": lambda m: kvcache.kv_bytes(m, 2, 100),
    "kv_elements": lambda m: kvcache.kv_elements(m, 2, 100),
    "memory": lambda m: kvcache.memory(m, 2, 100),
    "largest_batch": lambda m: kvcache.largest_batch(m, 10**11, 100),
    "largest_context": lambda m: kvcache.largest_context(m, 10**11, 2),
    "kinds": kinds,
    "given": lambda m: ENGINES["vllm"].given(m, 8e10),
    "weights": lambda m: ENGINES["vllm"].weights(m),
    "charged": lambda m: ENGINES["vllm"].charged(m, 100),
    "tokens": lambda m: ENGINES["vllm"].tokens(m, 1e10),
    "concurrency": lambda m: ENGINES["vllm"].concurrency(m, 1e10, 100),
    "fits": lambda m: costlib.fits(m, "T4"),
    "tensor_parallel": lambda m: parallel.tensor_parallel(m, 2),
    "expert_parallel": lambda m: parallel.expert_parallel(m, 2),
    "optimizer_memory": parallel.optimizer_memory,
    "degrees": parallel.model_parallel.degrees,
    "layer_kinds": layer_kinds,
    "stages": lambda m: stages(m, 2),
    "stage_models": lambda m: stage_models(m, 2),
    "on": lambda m: Plan(data=8).on(m, Cluster("DGX-H100"), batch=8, seq=100).step,
    "check": lambda m: Plan(data=8).check(m, Cluster("DGX-H100"), 8, 100),
    "search": lambda m: parallel.search(
        m, "DGX-H100", batch=8, seq=100, as_arrays=True, microbatch=[1]
    )["step_s"].tolist(),
    "mixing_flops": lambda m: serving.mixing_flops(m, 100),
    "read_lines": serving.read_lines,
    "experts_share": lambda m: serving.experts_share(m, 10),
    "tokens_per_expert": lambda m: serving.tokens_per_expert(m, 10),
    "expert_exchange": lambda m: serving.expert_exchange(m, 16, 8),
    "columns": lambda m: sweeps.columns(m, "T4", 1, 100)["flops"].tolist(),
    "sweep": lambda m: costlib.sweep(m, "H200", context=100).seconds.tolist(),
    "activations": lambda m: training.activations(m, 1, 100),
    "training_memory": lambda m: training.training_memory(m, 1, 100),
    "adapter_step": lambda m: training.adapter_step(m, 1, 100, lora(8)).flops,
    "adapter_params": lambda m: training.adapter_params(m, lora(8)),
    "flops_per_token": lambda m: training.flops_per_token(m, 100),
    "hfu_over_mfu": lambda m: training.hfu_over_mfu(m, 100),
    "mfu": lambda m: training.mfu(m, "T4", tokens_per_s=10, seq=100),
    "checkpoint_bytes": training.checkpoint_bytes,
    "params_by_kind": training.params_by_kind,
    "state_bytes": training.state_bytes,
    "TrainingRun": lambda m: (
        training.TrainingRun(model=m, tokens=1e9, device="T4", devices=1, mfu=0.5, seq=100).days
    ),
    "Server": lambda m: Server(m, "H200").step(1, 100),
    "answer": lambda m: costlib.answer(m, "H200", context=100).plain(),
    "layer_by_layer": lambda m: layer_by_layer(m, 1, 100),
    "usual_context": sweeps.usual_context,
}
OF_DEVICES: dict[str, Callable[[Any], Any]] = {
    "room": lambda d: kvcache.largest_batch(DENSE, d, 100),
    "room of one": lambda d: kvcache.largest_context(DENSE, d, 1),
    "limits": lambda d: [each.time for each in roofline.limits(costlib.matmul(8, 8, 8), d)],
    "table": lambda d: roofline.table(costlib.matmul(8, 8, 8), d)["time"].tolist(),
    "time": lambda d: roofline.time(costlib.matmul(8, 8, 8), d),
    "halves": lambda d: gpus.halves(gpus.gpu_rows("H100", kind="copy"), d),
    "ridge_batch": serving.ridge_batch,
    "weight_gain": lambda d: serving.weight_gain(d, "int4", 8),
}
OF_SERVERS: dict[str, Callable[[Any], Any]] = {
    "transfer": lambda s: serving.transfer(s, 100, 1e9),
    "machine_ratio": lambda s: serving.machine_ratio(s, s, 100, 10, 8),
    "disaggregate": lambda s: serving.disaggregate(ARRIVALS, s, s, link=1e9).written,
    "best_batch": lambda s: serving.best_batch(s, 100, 0.1).batch,
    "frontier": lambda s: serving.frontier(s, 100, [1, 2]).tpot.tolist(),
    "regimes": lambda s: serving.regimes(s, 100),
    "room_gain": lambda s: serving.room_gain(s, 100),
    "saturation": lambda s: serving.saturation(s, 100, 10, batch=8),
    "bill": lambda s: serving.bill(s, prompt=100, answer=10, batch=8, per_hour=1),
    "Pages": lambda s: serving.Pages(s).blocks,
    "Clock": lambda s: serving.Clock(s, sequences=4, longest=100).steps(2, 100, 1),
    "simulate": lambda s: serving.simulate(ARRIVALS, s).written,
    "pays_up_to": lambda s: serving.pays_up_to(s, 100, accepted=0.5, drafts=2),
    "tensor_limit": lambda s: serving.tensor_limit(s, 100),
    "session_cost": lambda s: serving.session_cost(s, SESSION, cached=True).seconds,
    "even_link": lambda s: serving.even_link(s, 100),
    "even_prefix": lambda s: serving.even_prefix(s, 1e9),
    "held_prefix": lambda s: serving.held_prefix(s, 100, context=100),
    "offloaded_work": lambda s: serving.offloaded_work(s, 1, 100).flops,
    "least_offloaded": lambda s: serving.least_offloaded(s, 100),
    "offloaded_step": lambda s: serving.offloaded_step(s, 1, 100, link=1e9),
    "rollout": lambda s: serving.rollout(s, [10, 20], prompt=9, group=2)[0].seconds,
    "policy_step": lambda s: serving.policy_step(s, [10, 20], prompt=9, group=2, most=1).seconds,
    "speculate": lambda s: serving.speculate(s, s, batch=1, context=100, accepted=0.5, drafts=2),
}

#: Whose argument of that name is a text, or what the library makes and no user does.
ELSEWHERE = {
    *("Empirical", "Measurement", "predicted", "calibrate", "median_error", "parts", "splits"),
    *("Collective", "shown_memory", "PlanRow", "PublishedRun", "Acceptance", "TokenPrice"),
    *("token_prices", "Start", "start_of", "Setup", "measure", "Node", "listed", "engine_of"),
    *("left", "outside", "needed", "idle", "waits", "most_held", "in_flight", "order", "Planned"),
    *("context_parallel", "as_computed", "Answers", "Frontier", "Rental", "Holding", "explain"),
    *("Fleet", "fleets", "fewest_devices"),  # of a model on a device: test_fleet
}


def ask(call: Callable[[Any], Any], given: Any) -> Any:
    return call(given)


@pytest.mark.parametrize("call", OF_MODELS)
def test_a_name_of_a_model_will_do(call: str) -> None:
    name = ROUTED if "expert" in call else DENSE
    assert OF_MODELS[call](name.upper()) == OF_MODELS[call](models[name])
    with pytest.raises(KeyError, match="no model named 'llama-9'"):
        OF_MODELS[call]("llama-9")


@pytest.mark.parametrize("call", OF_DEVICES)
def test_a_name_of_a_device_will_do(call: str) -> None:
    assert OF_DEVICES[call]("h100 sxm") == OF_DEVICES[call](costlib.devices["H100-SXM"])


@pytest.mark.parametrize("call", OF_SERVERS)
def test_a_model_on_a_device_will_do_for_a_server(call: str) -> None:
    assert OF_SERVERS[call](ON) == OF_SERVERS[call](Server(DENSE, "H100-SXM"))
    with pytest.raises(TypeError, match=r"must be a Server.* or 'MODEL on DEVICE', got 'T4'"):
        OF_SERVERS[call]("T4")


def takers() -> Iterator[tuple[str, set[str]]]:
    for name, function in public_functions():
        try:
            takes = {*inspect.signature(function).parameters}
        except ValueError:  # a class without a signature of its own
            continue
        yield name, takes


def test_every_function_that_takes_one_is_tried() -> None:
    tried = {*OF_MODELS, *OF_DEVICES, *OF_SERVERS, *ELSEWHERE}
    sought = {"model", "device", "server", "reader", "draft"}
    assert {name for name, takes in takers() if takes & sought} - tried == set()


def test_names_of_clusters_and_of_models_that_are_no_names() -> None:
    by_name = Plan(data=16).on(DENSE, "DGX-H100x2", batch=16, seq=100)
    assert by_name.step == Plan(data=16).on(DENSE, Cluster("DGX-H100", 2), batch=16, seq=100).step
    config = models.data["models"]["gpt2"]["config"]["value"]
    for given in (config, json.dumps(config), "https://huggingface.co/openai-community/gpt2"):
        assert costlib.answer(given, "T4")["params"] == models["gpt2"].params()
    with pytest.raises(ValueError, match=r"no config at 'nowhere/config.json'"):
        costlib.answer("nowhere/config.json", "T4")
    with pytest.raises(
        KeyError, match=r"save the config.json that stands there, and give its path"
    ):
        costlib.answer("https://huggingface.co/someone/unheard-of", "T4")
    assert costlib.devices["H100"].name == "H100-SXM"


# ---------------------------------------------------------------- one, or many


def test_states_have_an_answer_for_each_context() -> None:
    contexts = np.array([10, 1000, 100_000])
    for found in (
        kvcache.largest_batch(STATES, 8e10, contexts).largest,
        kvcache.largest_batch(STATES, "H200", contexts).largest,
        kvcache.kv_bytes(STATES, 2, contexts),
        kvcache.memory(STATES, 2, contexts).total,
    ):
        assert found.shape == (3,)
        assert len({*found}) == 1


ONE = {
    "answer": lambda n: costlib.answer(DENSE, "T4", batch=n),
    "best_batch": lambda n: serving.best_batch(ON, n, 0.1),
    "frontier": lambda n: serving.frontier(ON, n),
    "room_gain": lambda n: serving.room_gain(ON, n),
    "Server": lambda n: Server(DENSE, "T4", tensor=n),
    "Cluster": lambda n: Cluster("DGX-H100", n),
    "saturation": lambda n: serving.saturation(ON, 10, 10, batch=n),
    "tensor_limit": lambda n: serving.tensor_limit(ON, n),
    "search": lambda n: parallel.search(DENSE, "DGX-H100", batch=n, seq=10),
}


@pytest.mark.parametrize("many", [[1, 2], (1, 2), np.array([1, 2])])
@pytest.mark.parametrize("name", ONE)
def test_where_there_is_only_one_an_array_is_refused(name: str, many: Any) -> None:
    with pytest.raises(TypeError, match=r"one whole number here, got .* ask costlib.sweep"):
        ONE[name](many)


# ---------------------------------------------------------------- what no machine or model has


def test_learned_positions_end_a_context() -> None:
    gpt, said = (
        models["gpt2"],
        "at most 1,024 tokens, because the model has no more learned positions",
    )
    for call in (
        lambda n: gpt.decode(1, n),
        lambda n: gpt.prefill(1, n),
        lambda n: gpt.training_step(1, n),
        lambda n: gpt.decode(1, np.array([1, n])),
        lambda n: gpt.kv_bytes(1, n),
        lambda n: costlib.answer("gpt2", "T4", context=n),
        lambda n: kvcache.largest_batch("gpt2", "T4", n),
        lambda n: sweeps.columns("gpt2", "T4", 1, n),
    ):
        call(1024)
        with pytest.raises(ValueError, match=said):
            call(4096)
    assert models["opt-6.7b"].learned_positions == 2048  # of a table of 2,050 rows
    assert gpt.with_(positions=2048).with_(d_model=1536, heads=24).learned_positions == 2048
    assert kvcache.largest_context("gpt2", "T4", 1).largest == 1024
    assert gpt.decode(1, costlib.symbols("T")).flops.free_symbols
    assert costlib.answer("gpt2", "T4").context == 1024


def test_a_context_beyond_training_is_said() -> None:
    with pytest.warns(BeyondTraining, match="trained for 131,072 tokens: "):
        assert costlib.answer(DENSE, "H100", context=200_000).server.model.context_length == 131_072
    with pytest.warns(BeyondTraining, match="trained for 131,072"):
        serving.best_batch(ON, 200_000, 0.1)
    scaled = {"type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32768}
    config = models.data["models"]["qwen2.5-7b"]["config"]["value"]
    config = {**config, "max_position_embeddings": 32768}
    longer = costlib.Transformer.from_hf({**config, "rope_scaling": scaled})
    assert longer.context_length == 131_072
    assert costlib.Transformer.from_hf(config).context_length == 32768


def test_drafts_of_another_vocabulary_are_refused() -> None:
    how: dict[str, Any] = {"batch": 1, "context": 100, "accepted": 0.7, "drafts": 4}
    server = Server("llama-3.1-70b", "H100-SXMx4")
    assert serving.speculate(server, DENSE, **how) > 1
    with pytest.raises(ValueError, match="vocabulary of 128,256, got a model of 50,257"):
        serving.speculate(server, "gpt2", **how)
    padded = Server("qwen2.5-7b", "H200"), "qwen2.5-0.5b"  # 152,064 and 151,936 rows of one
    assert serving.speculate(*padded, **how) > 1


TOY = Device("toy", {"bf16": 1e14}, 1e12, capacity=10**10, interconnect=1e11)
OUT_OF_RANGE = {
    "ms a token": lambda: serving.best_batch(ON, 100, 25),
    "ms of many users": lambda: serving.fewest_devices(DENSE, "H100", users=9, tpot=25),
    "ms of a first token": lambda: serving.fewest_devices(DENSE, "H100", users=9, ttft=500),
    "µs of a server": lambda: Server(DENSE, "H100", latency=3),
    "µs of a limit": lambda: serving.tensor_limit(ON, 100, latency=3),
    "µs of a link": lambda: Link(5e10, 5),
    "µs of an op": lambda: TOY.with_(overhead_per_op=3),
    "TFLOP/s": lambda: Device("x", {"bf16": 989}, 3.35e12),
    "TB/s": lambda: Device("x", {"bf16": 989e12}, 3.35),
    "GB/s": lambda: TOY.with_(interconnect=900),
    "GB": lambda: TOY.with_(capacity=80),
}


@pytest.mark.parametrize("given", OUT_OF_RANGE)
def test_another_unit_is_out_of_range(given: str) -> None:
    with pytest.raises(ValueError, match=r"second|bytes"):
        OUT_OF_RANGE[given]()


def test_a_format_has_several_spellings() -> None:
    assert Server(DENSE, "H100", "FP8") == Server(DENSE, "H100", "fp8").with_(precision="FP8")
    for spelt, name in (("FP8", "fp8"), ("bfloat16", "bf16"), ("Float16", "fp16")):
        assert costlib.precision.precision_of(spelt) == costlib.precision.precision_of(name)
        assert costlib.Precision(kv=spelt) == costlib.Precision(kv=name)
    assert training.state_bytes(DENSE, "BF16") == training.state_bytes(DENSE, "bf16")
    assert lora(base="NF4") == lora(base="nf4")


def test_a_printed_answer_is_a_table_of_80_columns() -> None:
    for found in (
        costlib.answer("deepseek-v3", "DGX-H200", price_per_hour=3.99, watts=700, batch=8),
        costlib.answer("gpt2", "T4"),
    ):
        lines = str(found).splitlines()
        assert max(map(len, lines)) <= 80
        assert len(lines) == len(found.rows) + 1
        assert repr(found) == str(found)
