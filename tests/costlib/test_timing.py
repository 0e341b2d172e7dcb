"""The measuring tools: they measure something, say what, and the GPU's one runs dry on a CPU."""

import json
import subprocess
import sys

import numpy as np
import pytest

from costlib import matmul
from costlib.__main__ import main
from costlib.measured import Measurement, timing
from costlib.measured.timing import copy, machine
from paths import ROOT
from tools.bench import measure_gpu

FEW = [(32, 32, 32), (64, 64, 64), (1, 256, 256)]


def test_rows_are_products_and_copies_with_their_sizes():
    rows = timing.measure(FEW, [1000, 2000], repeats=1)
    assert [row.work.flops for row in rows] == [2 * 32**3, 2 * 64**3, 2 * 256**2, 0, 0]
    assert [row.work.bytes(row.precision) for row in rows[3:]] == [8000, 16000]
    assert {row.precision.compute for row in rows} == {"fp32"}


def test_the_machine_is_its_best_product_and_its_largest_copy():
    rows = [
        Measurement(matmul(100, 100, 100), 1e-3, "bf16"),
        Measurement(matmul(100, 100, 100), 5e-4, "bf16"),
        Measurement(copy(1000), 1e-9),
        Measurement(copy(10**6), 1e-3),
    ]
    found = machine(rows)
    assert found.compute_rate("bf16") == 2e6 / 5e-4
    assert found.bytes_per_s == 4e6 / 1e-3
    with pytest.raises(ValueError, match="at least one product and one copy"):
        machine(rows[:2])


def test_the_command_prints_a_table_and_draws_a_roofline(capsys, tmp_path, monkeypatch):
    monkeypatch.setattr(timing.measure, "__defaults__", (FEW, (1000, 10**5)))
    file = tmp_path / "own.svg"
    assert main(["measure", "--quick", "--figure", str(file)]) == 0
    told = capsys.readouterr().out
    assert "64×64 by 64×64" in told
    assert "best: " in told
    assert "<desc" in file.read_text("utf-8")


def test_a_gpu_that_is_not_there_is_said_plainly(capsys):
    if "torch" in sys.modules:
        pytest.skip("torch is here")
    with pytest.raises(SystemExit):
        main(["measure", "--device", "cuda"])
    assert "torch" in capsys.readouterr().err
    with pytest.raises(ValueError, match="device must be 'cpu' or 'cuda', got 'tpu'"):
        timing.measure(device="tpu")


def test_the_module_is_a_command():
    done = subprocess.run(
        [sys.executable, "-m", "costlib", "--help"], capture_output=True, text=True, cwd=ROOT
    )
    assert done.returncode == 0
    assert "measure" in done.stdout


def test_the_gpu_script_runs_dry_and_writes_one_json(tmp_path, capsys):
    file = tmp_path / "dry.json"
    assert measure_gpu.main([str(file), "--dry-run"]) == 0
    capsys.readouterr()
    found = json.loads(file.read_text("utf-8"))
    assert found["schema"] == 1
    assert found["device"] == "CPU (dry run)"
    assert {"driver", "backend", "date", "python"} <= set(found)
    assert {row["kind"] for row in found["rows"]} == {"copy", "gemm", "attention", "decode"}
    assert all(row["seconds"] > 0 for row in found["rows"])


@pytest.mark.parametrize("dry", [True, False])
def test_predictions_are_made_for_the_same_cases(tmp_path, dry):
    file = tmp_path / "h200.json"
    measure_gpu.main([str(file), "--predict", "H200", *(["--dry-run"] if dry else [])])
    rows = json.loads(file.read_text("utf-8"))["rows"]
    sizes = [{k: v for k, v in row.items() if k not in ("seconds", "bytes")} for row in rows]
    assert sizes == list(measure_gpu.cases(dry))
    assert all(row["seconds"] > 0 for row in rows)


def test_the_predictions_that_were_committed_are_for_these_cases():
    found = json.loads((ROOT / "tools" / "bench" / "predicted_h200.json").read_text("utf-8"))
    assert (found["device"], found["backend"]) == ("H200", "costlib")
    sizes = [{k: v for k, v in r.items() if k not in ("seconds", "bytes")} for r in found["rows"]]
    assert sizes == list(measure_gpu.cases(False))


def test_predicted_bytes_by_hand():
    rows = {json.dumps(case): measure_gpu.predicted(case, "H200") for case in _cases()}
    for case, row in rows.items():
        case = json.loads(case)
        if case["kind"] == "copy":
            assert row["bytes"] == 4 * case["elements"]
        if case["kind"] == "attention":
            qkvo = 4 * case["batch"] * case["heads"] * case["N"] * case["d"] * 2
            squares = 4 * case["batch"] * case["heads"] * case["N"] ** 2 * 2  # each way, twice
            assert row["bytes"] == qkvo + (squares if case["how"] == "naive" else 0)
        if case["kind"] == "decode":
            kv = 2 * case["batch"] * case["context"] * case["kv_heads"] * case["head_dim"]
            wide = (case["heads"] * 2 + 2 * case["kv_heads"]) * case["head_dim"] + 3 * case["d_ff"]
            least = 2 * case["layers"] * (kv + case["d_model"] * wide)
            assert least < row["bytes"] < 1.15 * least


def _cases():
    return [case for case in measure_gpu.cases(False) if case["kind"] != "gemm"]


def test_online_softmax_is_attention():
    on = measure_gpu.WithNumpy()
    q, k, v = (on.tensor(2, 3, 40, 8) for _ in range(3))
    exact = on.softmax(q @ k.swapaxes(-1, -2) / np.sqrt(8)) @ v
    for block in (1, 7, 40):
        assert np.allclose(measure_gpu.online(q, k, v, block), exact, atol=1e-5)


def test_decode_stack_is_grouped_attention_and_gated_layers():
    on = measure_gpu.WithNumpy()
    out = measure_gpu.stack(on, 3, 10, **measure_gpu.SMALL)()
    assert out.shape == (3, measure_gpu.SMALL["d_model"])
    assert np.isfinite(out).all()


def test_counters_of_the_profiler_are_read_in_their_units():
    text = (
        '==PROF== Connected\n"ID","Metric Name","Metric Unit","Metric Value"\n'
        '"0","dram__bytes_read.sum","Mbyte","1,234.5"\n'
        '"0","dram__bytes_write.sum","Kbyte","2"\n"0","gpu__time_duration.sum","ns","5"\n'
    )
    assert measure_gpu.read_counters(text) == {"bytes": pytest.approx(1234.5e6 + 2e3)}
    refused = measure_gpu.read_counters("==ERROR== ERR_NVGPUCTRPERM: no permission\n")
    assert refused["bytes"] is None
    assert "ERR_NVGPUCTRPERM" in refused["bytes_note"]
