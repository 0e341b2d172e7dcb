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


# --------------------------------------------------------------- words that people write in tables

RUN = ROW | {"metric": "output tokens/s", "unit": "tokens/s", "load": "batch 64"}


@pytest.mark.parametrize(
    ("text", "count"),
    [
        *(("8xH100", 8), ("8 x H100 SXM", 8), ("8 H100", 8), ("4\u00d7H100", 4), ("H100x8", 8)),
        *(
            ("H100 \u00d74", 4),
            ("8*A100-SXM4-80GB", 8),
            ("H100 (8 GPUs)", 8),
            ("HGX H100 8-GPU", 8),
        ),
        *(
            ("DGX H100", 8),
            ("DGX Spark", 1),
            ("TPU v6e-8", 8),
            ("3090 24GB * 2", 2),
            ("1x H100", 1),
        ),
        *(("2x8 H100", 16), ("2 nodes of 8 H100", 16), ("H100 x8, 2 nodes", 16)),
        *(
            ("H100 x8 per node, 12 node(s)", 96),
            ("M1 Max 32\u2011Core GPU 64GB", 1),
            ("8x 4090", 8),
        ),
        *(("H100 NVL 94GB x2", 2), ("RTX 6000 Pro x8", 8), ("4090 24GB", 1)),
    ],
)
def test_devices_of_a_server_are_counted_as_people_write_them(text, count):
    assert setup(RUN | {"device": text, "plan": ""}).devices == count


@pytest.mark.parametrize(
    ("plan", "tensor", "pipeline"),
    [
        *(("TP=2", 2, 1), ("tp2", 2, 1), ("TP 2", 2, 1), ("2-way TP", 2, 1), ("TP2/PP4", 2, 4)),
        *(("tensor parallel 2", 2, 1), ("tensor-parallel-size: 2", 2, 1), ("", None, 1)),
        *(("pipeline parallelism 4", 1, 4), ("TP2, chunked prefill", 2, 1)),
    ],
)
def test_a_plan_is_read_as_people_write_it(plan, tensor, pipeline):
    found = setup(RUN | {"plan": plan, "device": "H100 x8"})
    assert (found.tensor, found.pipeline) == (tensor, pipeline)


@pytest.mark.parametrize(
    ("load", "batch"),
    [
        *(("concurrency 1,000", 1000), ("batch: 64", 64), ("bs=64", 64), ("256 VUs", 256)),
        *(("64 users", 64), ("max_num_seqs 256", 256), ("batch size 64 per GPU", 512)),
        *(("max load (infinite request rate)", None), ("64 concurrent", 64)),
    ],
)
def test_a_load_is_read_as_people_write_it(load, batch):
    assert setup(RUN | {"load": load, "device": "H100 x8", "plan": "TP8"}).batch == batch


def test_what_is_sent_is_no_number_of_requests():
    sent = setup(RUN | {"load": "8 requests/s"})
    assert (sent.offered, sent.requests) == (8, None)
    assert setup(RUN | {"load": "max load, 3,000 requests"}).requests == 3000


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("1k", 1000),
        ("1,024", 1024),
        ("~512 tokens", 512),
        ("1M", 10**6),
        ("100 (from memory)", 100),
    ],
)
def test_a_length_is_read_as_people_write_it(text, tokens):
    assert setup(RUN | {"output_len": text}).answer == tokens


@pytest.mark.parametrize(
    ("text", "weights", "cache"),
    [
        *(("bf16 weights, fp8 kv", 2, 1), ("FP8, kv cache bf16", 1, 2), ("BF16, kv int4", 2, 0.5)),
        *(("FP8 kv fp8", 1, 1), ("weights FP8; kv not stated", 1, 2)),
    ],
)
def test_a_caches_format_is_told_from_the_weights(text, weights, cache):
    found = setup(RUN | {"precision": text})
    assert (found.products.weights, found.rest.kv) == (weights, cache)


@pytest.mark.parametrize(
    ("facts", "why"),
    [
        ({"device": "H100 x0"}, "no device"),
        ({"device": "H100 + A100"}, "several kinds"),
        ({"device": "GB200 NVL72"}, "how many of a rack's devices"),
        ({"plan": "CP2", "device": "H100 x2"}, "divide a sequence"),
        ({"load": "concurrency 16/32"}, "several numbers of requests"),
        ({"load": "batch 1-64"}, "several numbers of requests"),
        ({"load": "batch 0"}, "not one that is known"),
        ({"load": "batch 64k"}, "not one that is known"),
        *(
            ({"output_len": text}, "how long prompts and answers were")
            for text in ("1024-2048", "500..1000", "2^10", "1e3", "0", "-5", "1024 to 2048")
        ),
        ({"metric": "goodput"}, "not a throughput that is known"),
        ({"unit": "tokens/s/MW"}, "not a throughput that is known"),
        ({"unit": "tokens/min"}, "not a throughput that is known"),
        ({"value": "1,2"}, "not a number above 0"),
        ({"precision": "FP8, kv fp6"}, "a cache in fp6"),
        ({"model": "Llama-3.1-8B + EAGLE"}, "it drafts"),
        ({"model": "DeepSeek-R1-Distill-Qwen-32B"}, "no model of the catalogue"),
        ({"model": "DeepSeek-R1-0528-Qwen3-8B"}, "no model of the catalogue"),
    ],
)
def test_what_is_not_understood_of_a_run_is_refused(facts, why):
    with pytest.raises(Unread, match=why):
        setup(RUN | facts)


def test_a_model_is_not_its_teacher():
    assert setup(RUN | {"model": "DeepSeek-R1-Distill-Llama-70B"}).name == "llama-3.1-70b"
    assert setup(RUN | {"model": "DeepSeek-R1-0528"}).name == "deepseek-v3"


def test_a_rate_is_of_what_its_unit_or_its_metric_says():
    assert setup(RUN | {"unit": "tokens/s/user"}).measures == "user"
    assert setup(RUN | {"metric": "output tokens/s per GPU"}).per == "device"
    assert setup(RUN | {"unit": "tok/s/node"}).per == "node"
