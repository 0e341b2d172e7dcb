"""Published serving tables: what is read of a row, its closed form, and how far off it is."""

import csv
import re
from functools import cache

import numpy as np
import pytest

from costlib import devices, models
from costlib.measured import (
    DATASHEET,
    TYPICAL,
    Constants,
    fit_served,
    grouped_rows,
    held_errors,
    read_served,
    served_rows,
    table_error,
    understood,
)
from costlib.measured.served import WIDTHS, carried_facts
from costlib.measured.tables import COLUMNS, Unread, content, setup
from costlib.model.kvcache import kv_elements
from costlib.parallel import tensor_parallel
from costlib.timing.roofline import time
from costlib.units.precision import Precision
from tools.bench import served as bench

pytestmark = pytest.mark.slow

PLAIN = {
    "what": "a table",
    "model": "Llama 3.1 8B",
    "device": "H100 SXM 80GB x2",
    "plan": "TP2",
    "framework+version": "a server 1.0",
    "precision": "FP16",
    "load": "batch 64",
    "input_len": "1000",
    "output_len": "201",
    "metric": "output tokens/s",
    "value": "5,000",
    "unit": "tokens/s",
    "source": "nowhere",
    "read": "yes",
}


def one(**changes):
    rows, others = understood([PLAIN | changes])
    assert rows, others
    return rows[0]


def why_not(**changes):
    rows, [(_, reason)] = understood([PLAIN | changes])
    assert rows == []
    return reason


def kernels(ledger):
    """What runs by itself: products, the residual stream, messages."""
    return ledger.where(lambda op: op.is_matmul or op.name == "residual" or bool(op.axis))


# ------------------------------------------------------------------------------- the closed form


def test_a_row_is_answers_over_prefills_and_decode_steps():
    """With nothing packed a row is `roofline.time` of the passes, and arithmetic."""
    row, share = one(), tensor_parallel(models["llama-3.1-8b"], 2)
    reached = {"compute_efficiency": 0.5, "bandwidth_efficiency": 0.8, "cores": None}
    overheads = {"overhead_per_op": 3e-6, "overhead_per_message": 1e-5, "blend": 2.0}
    device = devices["H100-SXM"].with_(interconnect_efficiency=0.4, **reached, **overheads)
    constants = Constants(compute=0.5, memory=0.8, links=0.4, message=1e-5, blend=2, launch=3e-6)
    step = time(kernels(share.decode(64, 1100, scores="on-chip")), device)
    prompts = 8  # of 1000 tokens, in passes of 8192
    prefill = kernels(share.prefill(prompts, 1000, logits="last", scores="on-chip"))
    each = time(prefill, device) / prompts
    expected = 64 * 201 / (201 * step + 64 * each)
    assert row.predicted(constants) == pytest.approx(expected, rel=1e-9)
    assert row.value == 5000


def test_units_count_what_they_say():
    rate = one().predicted()
    assert one(unit="tokens/s/GPU").predicted() == pytest.approx(rate / 2)
    requests = one(unit="requests/s", metric="requests/s").predicted()
    assert requests == pytest.approx(rate / 201)
    both = one(metric="total (in+out) tokens/s").predicted()
    assert both == pytest.approx(rate / 201 * 1201)
    assert one(metric="input tokens/s").predicted() == pytest.approx(rate / 201 * 1000)
    stream = one(load="batch 1", metric="output tokens/s per user")
    assert stream.predicted() == pytest.approx(1 / float(stream.step.seconds(TYPICAL)[0]))


def test_copies_of_a_model_add_up():
    one_copy = one(load="", requests="").predicted()
    assert one(load="", device="H100 SXM 80GB x8").predicted() == pytest.approx(4 * one_copy)


def test_the_batch_is_what_memory_leaves_or_the_requests_that_there_are():
    row = one(load="max load", model="Llama 3.3 70B", device="H100 x4", plan="TP4")
    model, device = models["llama-3.1-70b"], devices["H100-SXM"]
    free = 0.93 * (0.97 * device.capacity - 2 * model.params() / 4)
    cache = 2 * kv_elements(model, 1, 1201) / 4
    assert row.batch[0] == free // cache
    few = one(load="max load, 30 requests", model="Llama 3.3 70B", device="H100 x4", plan="TP4")
    assert (few.batch[0], few.rounds, few.left) == (30, 1, 0)
    many = one(load="max load, 500 requests", model="Llama 3.3 70B", device="H100 x4", plan="TP4")
    assert many.rounds * many.batch[0] + many.left == 500
    assert few.predicted() < many.predicted() < row.predicted() * 1.001
    assert "do not fit" in why_not(load="max load", model="Llama 3.1 405B")


def test_a_latency_limit_lowers_the_batch():
    free = one(load="max load").predicted()
    loose, tight = (one(load=f"limits p99 TTFT 2000 ms, TPOT {ms} ms") for ms in (2000, 15))
    assert loose.predicted() == pytest.approx(free)
    assert tight.predicted() < 0.9 * free
    impossible = one(load="limits p99 TTFT 2000 ms, TPOT 0.1 ms")
    assert impossible.predicted() < tight.predicted()


def test_a_plan_that_is_not_told_is_the_fastest():
    tried = [one(load="max load", device="H100 x8", plan=f"TP{n}").predicted() for n in (1, 2, 4)]
    assert one(load="max load", device="H100 x8", plan="").predicted() == pytest.approx(max(tried))


def test_divided_experts_are_a_share_of_everybodys_tokens():
    """With attention in parallel, a device's step is its own sequences' attention and its share of
    the experts, all of which a large batch touches."""
    mixture = {"model": "Qwen3-30B-A3B", "device": "H200 x4", "precision": "BF16"}
    apart = one(**mixture, plan="DEP4", load="batch 1024")
    model = models["qwen3-30b-a3b"]
    whole = model.decode(1024, 1100, scores="on-chip").where(
        lambda op: op.is_matmul and op.name.startswith("experts.")
    )
    own = kernels(model.decode(256, 1100, scores="on-chip")).where(
        lambda op: not op.name.startswith("experts.")
    )
    device = devices["H200"].with_(cores=None)
    expected = time(own, device) + time(whole, device) / 4
    sent = float(apart.step.sending[0])
    assert float(apart.step.seconds(DATASHEET)[0]) == pytest.approx(expected + sent, rel=1e-9)
    reached = 256 * 4 * 3 / 4  # of 8 experts a token, at most one trip to each of 4 devices
    assert sent == pytest.approx(2 * 48 * reached * 2048 * 1.5 / devices["H200"].interconnect)


def test_a_pipeline_has_as_many_batches_as_stages():
    row = one(load="batch 64", plan="TP1 PP2")
    whole = one(load="batch 32", plan="TP1", device="H100 x1")
    constants = Constants(compute=0.5, memory=0.5)
    assert row.predicted(constants) == pytest.approx(2 * whole.predicted(constants))


# ------------------------------------------------------------------------------- what is read


def test_formats_set_bytes_and_the_rate():
    packed = setup(PLAIN | {"precision": "NVFP4", "device": "B200 x2"})
    assert (packed.products.weights, packed.products.compute, packed.rest.kv) == (0.5625, "fp4", 1)
    hopper = setup(PLAIN | {"precision": "NVFP4"})
    assert hopper.products.compute is None  # a device without a rate for it unpacks
    assert setup(PLAIN | {"precision": "FP8"}).rest.kv == 2
    assert setup(PLAIN | {"precision": "FP8, kv fp8"}).rest.kv == 1
    trt = setup(PLAIN | {"precision": "FP8", "framework+version": "TensorRT-LLM 1.0"})
    assert (trt.rest.kv, trt.products.compute) == (1, "fp8")
    gguf = {"precision": "GGUF Q4_K_M", "framework+version": "llama.cpp", "device": "4090 24GB"}
    assert setup(PLAIN | gguf).products.weights == pytest.approx(4.8944 / 8)
    own = setup(PLAIN | {"model": "gpt-oss-20b", "precision": "MXFP4"}).products
    assert own.weights_in("experts.up") == 0.53125
    assert own.weights_in("q_proj") == 2
    assert setup(PLAIN).products == Precision(kv=2)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"model": "Frontier 9T"}, "no model of the catalogue is 'Frontier 9T'"),
        ({"device": "Abacus x8"}, "no device of the catalogue is 'Abacus x8'"),
        ({"device": "device not stated"}, "no device"),
        ({"precision": "(see post)"}, "is not one that is known"),
        ({"plan": "TP8"}, "its plan takes 8 devices, and it has 2"),
        ({"plan": "TP2, MTP3"}, "it drafts"),
        ({"metric": "TTFT p99", "unit": "ms"}, "TTFT p99 depends on a queue"),
        ({"read": "no (from memory)"}, "nobody has read its source"),
        ({"value": "n/a"}, "its value, 'n/a', is not a number above 0"),
        ({"value": "0.0"}, "its value, '0.0', is not a number above 0"),
        ({"input_len": "dataset"}, "how long prompts and answers were"),
        ({"precision": "GGUF Q9_K"}, "bits of q9_k in a file are not known"),
        ({"device": "H200 (x4), H100 (x8)"}, "several kinds"),
        ({"load": "", "metric": "output tokens/s per user"}, "how many requests"),
    ],
)
def test_what_cannot_be_predicted_says_why(changes, reason):
    assert reason in why_not(**changes)


def test_names_of_the_data_file_are_in_the_catalogue():
    for _, name in content()["model_names"]:
        assert name in content()["models"] or name in models, name
    for _, name in content()["device_names"]:
        assert name in content()["devices"] or name in devices, name
    for name, entry in content()["devices"].items():
        assert name not in devices, f"{name} is in the catalogue now"
        assert entry["like"] in devices
        assert entry["source"]
    for stored in content()["stored"].values():
        assert models[stored].storage is not None


def test_a_file_without_a_column_is_refused(tmp_path):
    file = tmp_path / "rows.csv"
    file.write_text("what,model\na,b\n")
    with pytest.raises(ValueError, match=r"rows.csv has no column 'device'"):
        read_served(file)


# ---------------------------------------------------------------------------------- what is carried


def test_every_carried_row_says_where_it_is_from_and_was_read():
    facts = carried_facts()
    assert len(facts) > 700
    for row in facts:
        assert set(row) >= set(COLUMNS)
        assert row["source"]
        assert row["read"].startswith("yes")
        assert not re.search(r"\(id \d+", row["source"])
        assert float(row["value"]) > 0
    assert len({tuple(sorted(row.items())) for row in facts}) == len(facts), "a row twice"


def test_carried_rows_are_predicted_but_for_those_that_are_facts_alone():
    _, others = understood(carried_facts())
    assert [(row["what"].split(" ")[0], row["metric"].split(" per")[0]) for row, _ in others] == [
        ("DeepSeek-V3/R1", "input tokens/s"),
        ("DeepSeek-V3/R1", "output tokens/s"),
    ], "a carried row that is not read is dropped from every table"
    with pytest.raises(Unread):
        setup(others[0][0])


@cache
def tables():
    names = (
        "LMDeploy A100",
        "TRT-LLM perf overview v1.0: Llama 3",
        "vLLM blog 2026-04",
        "InferenceX gpt",
    )
    return grouped_rows([row for name in names for row in served_rows(name)])


def test_two_rows_of_a_table_predict_the_others():
    """A fifth, whichever two were fitted, on tables of four servers; a datasheet is far off."""
    found = [table_error(*each, pairs=6) for each in tables().items()]
    assert len(found) == 5
    for each in found:
        assert each.fitted < 0.15 < 0.3 < each.datasheet, each
        assert each.typical < each.datasheet
    assert np.median([each.fitted for each in found]) < 0.1


def test_a_fit_finds_what_made_the_rows():
    """Rows made with known constants give them back; and other rows would not."""
    rows = served_rows("LMDeploy A100")
    real = TYPICAL.scaled(compute=0.8, memory=0.9, launch=3)
    made = [one_made(row, real) for row in rows]
    found = fit_served(made)
    assert found.compute / TYPICAL.compute == pytest.approx(0.8, rel=0.05)
    assert found.memory / TYPICAL.memory == pytest.approx(0.9, rel=0.05)
    assert found.launch / TYPICAL.launch == pytest.approx(3, rel=0.2)
    assert np.median(held_errors(made[::3], pairs=4)) < 0.05
    assert held_errors(rows[::3], pairs=4) != held_errors(made[::3], pairs=4)


def test_what_two_rows_cannot_tell_stays_typical():
    """One device sends nothing and a dense model routes nothing; of one row, no constant is far."""
    rows = served_rows("LMDeploy A100")
    found = fit_served(rows[:2])
    assert (found.links, found.routed, found.four_bits) == (
        *(TYPICAL.links, TYPICAL.routed, TYPICAL.four_bits),
    )
    slow = fit_served([one_made(rows[0], TYPICAL.scaled(memory=0.5))])
    assert 0.5 < slow.memory / TYPICAL.memory < 1


def one_made(row, constants):
    rows, _ = understood([dict(row.facts) | {"value": str(row.predicted(constants))}])
    return rows[0]


def test_rows_faster_than_a_datasheet_are_found():
    [row] = [
        r
        for r in served_rows("TRT-LLM perf overview v0.9 peak throughput: A100 Mixtral")
        if r.is_beyond
    ]
    assert (row.facts["load"], row.facts["input_len"]) == ("batch 32", "2048")
    assert not any(row.is_beyond for rows in tables().values() for row in rows)


def test_multiples_are_of_constants_that_there_are():
    assert TYPICAL.scaled(memory=2).memory == pytest.approx(2 * TYPICAL.memory)
    assert set(WIDTHS) < set(Constants.__slots__)
    with pytest.raises(ValueError, match="multiples must be"):
        TYPICAL.scaled(speed=2)


# -------------------------------------------------------------------------------------- the command


def test_the_command_reads_a_file_and_says_what_it_could_not(tmp_path, capsys):
    file = tmp_path / "rows.csv"
    rows = [dict(row.facts) for row in served_rows("LMDeploy A100")[:6]]
    rows += [PLAIN | {"model": "Frontier 9T"}]
    with file.open("w", newline="") as out:
        writer = csv.DictWriter(out, COLUMNS)
        writer.writeheader()
        writer.writerows(rows)
    assert bench.main([str(file), "--pairs", "3", "--constants"]) == 0
    printed = capsys.readouterr().out
    assert "| LMDeploy A100 static inference llama2-7b | 6 |" in printed
    assert "- 1 of a table: no model of the catalogue is 'Frontier 9T'" in printed
    assert "| one stream | " in printed
    assert "| compute and memory | " in printed
    file.write_text(",".join(COLUMNS) + "\n")
    assert bench.main([str(file)]) == 0
    assert "0 rows of 0 tables" in capsys.readouterr().out
    assert bench.main([str(tmp_path / "none.csv")]) == 2
    assert "none.csv" in capsys.readouterr().err


def test_a_table_of_several_servers_is_several_tables():
    """Where both have four rows: constants are of a server, so two rows of one tell its others."""
    rows = served_rows("LMDeploy A100")[:8]
    other = [dict(row.facts) | {"framework+version": "Another 1.0"} for row in rows[:5]]
    made, _ = understood(other)
    name = "LMDeploy A100 static inference llama2-7b"
    split = grouped_rows([*rows, *made])
    assert {key: len(of) for key, of in split.items()} == {
        f"{name}, LMDeploy TurboMind": 8,
        f"{name}, Another": 5,
    }
    assert [*grouped_rows([*rows, *made[:3]])] == [name]


def test_mlperf_logs_say_what_a_checkpoint_was():
    log = {"what": "MLPerf Inference v4.1 closed Offline", "model": "llama2-70b-99.9", "plan": ""}
    log |= {"precision": "weights fp16; input int32", "input_len": "dataset", "load": ""}
    log |= {"device": "H100 x8 per node, 1 node(s)", "framework+version": "TensorRT 10.2.0"}
    assert setup(PLAIN | log).products.compute == "fp8"
    assert setup(PLAIN | log | {"device": "B200 x8"}).products.compute == "fp4"
    assert setup(PLAIN | log | {"device": "A100 x8"}).products.compute is None
    assert (setup(PLAIN | log).prompt, setup(PLAIN | log).answer) == (294, 201)


def test_what_is_assumed_of_prompts_hardly_matters():
    """Prompts of MLPerf's data sets are not in its logs: half as long again, and as well fitted."""
    name = "MLPerf Inference v5.1 closed Offline"
    rows = grouped_rows(served_rows(name))[f"{name}, llama-2-70b, TensorRT"]
    longer, _ = understood(dict(row.facts) | {"input_len": "441"} for row in rows)
    assert rows[0].setup.prompt == 294
    one, other = (np.median(held_errors(each, pairs=4)) for each in (rows, longer))
    assert one < 0.15
    assert other == pytest.approx(one, abs=0.04)
