"""Rows of others that were misread in silence are understood, or refused with a reason."""

from dataclasses import replace

import pytest

from costlib import models
from costlib.measured import plan_rows, read_served, served_rows, understood
from costlib.measured.plan_rows import (
    UnreadRow,
    read_devices,
    read_model,
    read_plan,
    read_plans,
)
from costlib.measured.plans import terms
from costlib.measured.served import DATASHEET, Served, grouped_rows
from costlib.measured.tables import COLUMNS, Unread, setup
from tools.bench import plans as bench


def test_a_local_batch_with_stages_is_a_replicas_whole_batch():
    """torchtitan cuts it into microbatches of one sequence: all of its tokens are in a step."""
    found = read_plan("FSDP 8 TP 8 PP 8, local batch 32, seq 8192 bf16", "", "llama", 512)
    assert (found["batch"], found["microbatch"]) == (32 * 8, 1)
    plain = read_plan("FSDP 8, local batch 2, seq 8192 bf16", "", "llama", 8)
    assert (plain["batch"], plain["microbatch"]) == (16, 2)


def test_model_parallel_is_tensor_in_a_node_and_stages_beyond():
    found = read_plan("PTD model-parallel 96, MBS1 GBS1536 fp16", "", "GPT seq 2048", 768)
    assert (found["tensor"], found["pipeline"]) == (8, 12)
    assert "tensor in a node, stages beyond it" in found["assumed"]
    small = read_plan("model-parallel size 4 MBS1 GBS64 fp16", "", "GPT seq 2048", 64)
    assert (small["tensor"], small["pipeline"]) == (4, 1)


@pytest.mark.parametrize("text", ["TP8 PP10 MBS1 bf16", "PP16 EP64 ZeRO-1 fp8"])
def test_stages_without_a_batch_are_refused(text):
    """How long stages wait for one another depends on how many microbatches there are."""
    with pytest.raises(UnreadRow, match="its batch is not given"):
        read_plan(text, "", "GPT seq 2048", 640)
    assert read_plan("TP8 MBS1 bf16", "", "GPT seq 2048", 640)["batch"] == 80


def test_weights_are_gathered_once_where_no_microbatch_is_told():
    found = read_plan("FSDP + TP8, GBS 2M tokens, fp16", "", "OPT seq 2048", 992)
    assert (found["batch"], found["microbatch"]) == (1024, 8)
    told = read_plan("FSDP MBS1 GBS1024 fp16", "", "OPT seq 2048", 64)
    assert (told["batch"], told["microbatch"]) == (1024, 1)


def test_stages_keep_the_weights_that_they_gathered():
    assert read_plan("FSDP 8 TP8 PP8 local batch 32 fp8", "", "llama seq 8192", 512)["zero"] == 2
    assert read_plan("FSDP 64 TP8 local batch 32 fp8", "", "llama seq 8192", 512)["zero"] == 3


def test_a_device_held_to_less_power_computes_as_much_less(tmp_path):
    head = "what,model,devices,plan,metric,value,unit,source,read,table"
    plan = "FSDP MBS2 GBS16 seq 4096 bf16,tokens/s/GPU,9000,tokens/s,,yes,mine"
    file = tmp_path / "rows.csv"
    file.write_text(
        f"{head}\nw,llama-2-7b,8 x H100 500W,{plan}\nw,llama-2-7b,8 x H100,{plan}\n", "utf-8"
    )
    (held, free), unread = read_plans(file)
    assert (held.power, free.power, unread) == (500 / 700, 1, [])
    assert terms(held).computing == pytest.approx(terms(free).computing * 700 / 500)


def test_what_is_offloaded_packed_and_computed_again():
    found = read_plan("+ Activation Offloading MBS2 GBS2 bf16", "packed 2048", "llama3", 1)
    assert (found["offload"], found["seq"], found["recompute"]) == (False, 2048, None)
    found = read_plan("Activation Checkpointing CPU offload MBS2 GBS2", "", "llama seq 4096", 1)
    assert (found["offload"], found["recompute"]) == (True, "full")


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("DeepSeek V3 671B seq 4096", "deepseek-v3"),
        ("DeepSeek-V3 685B seq 4096", "deepseek-v3"),
        ("Qwen3 MoE 30B seq 4096", "qwen3-30b-a3b"),
        ("Qwen3-235B seq 4096", "qwen3-235b-a22b"),
        ("Nemotron V3 Nano 30B seq 8192", "nemotron-3-nano-30b-a3b"),
    ],
)
def test_a_mixture_is_never_a_dense_gpt(text, name):
    model, assumed = read_model(text)
    assert assumed == ()
    assert model.blocks[-1] == models[name].blocks[-1] or model.active_params() < model.params()
    assert model.params() == pytest.approx(models[name].params(), rel=0.03)


@pytest.mark.parametrize("text", ["Grok MoE 314B", "wan2.1-14b seq 75600", "Falcon-H9 34B-A3B"])
def test_what_is_no_gpt_is_refused_by_its_parameters(text):
    with pytest.raises(UnreadRow, match="its parameters alone tell no sizes"):
        read_model(text)


def test_proportions_are_still_assumed_of_gpts():
    for text in ("GPT 175B", "22B model", "MT-NLG 530B", "Llama-like 7B"):
        assert read_model(text)[1] == ("proportions of the model",)


@pytest.mark.parametrize(
    ("plan", "devices", "shard"),
    [
        ("FSDP 8 CP 2 MBS1 GBS16 bf16", 16, 16),
        ("FSDP 8 CP 2 MBS1 GBS16 bf16", 8, 8),
        ("FSDP 8 MBS1 GBS16 bf16", 16, 8),
    ],
)
def test_a_sequences_devices_share_the_parts_of_weights(plan, devices, shard):
    """n times m where there are so many; a table that counts them within n keeps its n."""
    assert read_plan(plan, "", "llama seq 8192", devices)["shard"] == shard


@pytest.mark.parametrize(
    ("text", "name", "count"),
    [
        ("1024 Ampere GPUs", "A100-80GB", 1024),
        ("64 x Ampere GPU", "A100-80GB", 64),
        ("512 TPU v5p chips", "TPU-v5p", 512),
        ("256 TPU v5e", "TPU-v5e", 256),
        ("6144 TPU v4 chips (two pods)", "TPU-v4", 6144),
        ("v5p-128", "TPU-v5p", 64),
    ],
)
def test_devices_are_counted_as_people_write_them(text, name, count):
    device, _, many = read_devices(text)
    assert (device.name, many) == (name, count)


def test_set_ups_whose_state_no_device_holds_are_named():
    rows = plan_rows("llmfoundry")
    kept = {"device": rows[0].device.with_(capacity=2**30)}
    assert bench.beyond([replace(rows[0], **kept)])[0].startswith("1 of llmfoundry")
    assert bench.beyond(plan_rows("korthikanti table 5")) == []
    assert "its text does not tell how it was cut" in bench.refusal(replace(rows[0], **kept))
    assert bench.refusal(rows[0]) is None


# ------------------------------------------------------------------------------- latencies

ROW = dict.fromkeys(COLUMNS, "") | {
    "what": "mine",
    "model": "Llama 3.1 8B",
    "device": "H100 SXM 80GB x1",
    "plan": "TP1",
    "precision": "FP8",
    "input_len": "1024",
    "output_len": "1024",
    "value": "10",
    "unit": "ms",
    "read": "yes",
    "framework+version": "vLLM 0.10",
}


def ran(**facts) -> Served:
    rows, others = understood([ROW | facts])
    assert others == []
    return rows[0]


def test_times_of_tokens_are_those_of_a_step_and_of_prompts():
    """A first token alone waits for its prompt, a next one for a step; many wait for each other."""
    first = ran(metric="TTFT mean", load="concurrency 1")
    token = ran(metric="TPOT mean", load="concurrency 1")
    assert first.predicted(DATASHEET) > 3 * token.predicted(DATASHEET) > 0
    busy = ran(metric="TPOT mean", load="concurrency 64")
    usual = ran(metric="ITL p50", load="concurrency 64")
    assert busy.predicted() > usual.predicted() > token.predicted()
    whole = ran(metric="TTFT mean", load="batch 64")
    assert whole.predicted() > 30 * first.predicted() / 2
    seconds = ran(metric="TTFT mean", load="concurrency 1", unit="s")
    assert 1e3 * seconds.predicted() == pytest.approx(first.predicted())


def test_a_latency_below_the_datasheets_is_beyond_it():
    assert ran(metric="TPOT mean", load="concurrency 1", value="0.1").is_beyond
    assert not ran(metric="TPOT mean", load="concurrency 1", value="100").is_beyond


@pytest.mark.parametrize(
    ("facts", "why"),
    [
        ({"metric": "TTFT p99", "load": "concurrency 8"}, "percentiles are not predicted"),
        ({"metric": "TPOT mean", "load": "limits p99 TPOT 40 ms"}, "how many requests"),
        ({"metric": "request latency mean", "load": "concurrency 8"}, "nor the latency of a token"),
    ],
)
def test_latencies_that_hang_on_queues_are_refused(facts, why):
    with pytest.raises(Unread, match=why):
        setup(ROW | facts)


def test_latencies_are_tables_of_their_own():
    rows = [ran(metric="TPOT mean", load="concurrency 1")]
    rows.append(ran(metric="output tokens/s", unit="tokens/s", load="concurrency 1"))
    assert [*grouped_rows(rows)] == ["mine, per token", "mine"]


def test_the_rival_knows_a_rate_alone():
    for row in served_rows("LMDeploy A100")[:3]:
        assert row.at_rate(row.flops_per_s) == pytest.approx(row.value)
    token = ran(metric="TPOT mean", load="concurrency 1")
    assert token.at_rate(2 * token.flops_per_s) == pytest.approx(token.value / 2)


def test_reading_a_file_says_what_is_missing(tmp_path):
    file = tmp_path / "rows.csv"
    file.write_text("what,model\n")
    with pytest.raises(ValueError, match="has no column"):
        read_served(file)
