"""The table of held-out errors is made from the book's rows, and from a file of others."""

import pytest

from costlib import devices
from costlib.measured import Measurement, calibrate
from costlib.timing.roofline import time
from tools.bench import prediction

pytestmark = pytest.mark.slow

HEAD = "op,system,framework,version,latency_ms,M,N,K,B,S,step,H,Hkv,D"


def test_rows_of_a_file_are_work_that_time_knows(tmp_path):
    file = tmp_path / "ops.csv"
    rows = [
        "gemm,a100_sxm,X,1,0.0266,1.0,4096,4096,,,,,,",
        "generation_attention,a100_sxm,X,1,0.05,,,,128,1,15,32,8,128",
        "context_attention,a100_sxm,X,1,0.1,,,,1,1024,0,32,8,128",
    ]
    file.write_text("\n".join([HEAD, *rows]))
    [(group, product), (_, step), (_, prompt)] = prediction.read(file)
    assert group == ("products", "A100-80GB", "X 1")
    assert product.seconds == pytest.approx(26.6e-6)
    assert product.work.flops == 2 * 4096**2
    assert step.work.elements_read.kv == 2 * 128 * 16 * 8 * 128
    assert prompt.work.elements_read.kv == 2 * 1024 * 8 * 128


def test_a_moved_device_has_its_own_datasheet_and_the_others_constants():
    rows = [row for group, row in prediction.carried() if group[:2] == ("products", "A100-80GB")]
    moved = prediction.moved(rows, "A100-80GB", "B200", "calibrated")
    fitted = calibrate(devices["A100-80GB"], rows)
    assert moved.flops_per_s == devices["B200"].flops_per_s
    assert moved.overhead_per_op == fitted.overhead_per_op


def test_halves_are_tested_on_what_they_did_not_see():
    a100 = devices["A100-80GB"]
    real = a100.with_(compute_efficiency=0.7, overhead_per_op=4e-6)
    ops = [prediction.linear(m, 4096, 4096) for m in (1, 8, 64, 512, 700, 4096, 5000, 9000)]
    rows = [Measurement(op, time(op, real)) for op in ops]
    assert max(prediction.halves(rows, a100, "calibrated", 1)) < 0.05
    assert len(prediction.halves(rows, a100, "calibrated", 2)) == 2 * len(rows)


def test_the_table_names_every_group(capsys):
    assert prediction.main(["--times", "1"]) == 0
    printed = capsys.readouterr().out
    assert printed.count("| attention, step |") == 3 + 6
    assert "| products | A100-80GB | SGLang 0.5.10 | 33 |" in printed
