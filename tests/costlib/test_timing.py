"""The measuring tools: they measure something, and say what."""

import subprocess
import sys

import pytest

from costfigures.__main__ import main as draw
from costlib import matmul
from costlib.command import main
from costlib.measured import Measurement, timing
from costlib.measured.timing import copy, machine
from paths import ROOT

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


@pytest.mark.slow
def test_the_command_prints_a_table_and_the_figures_draw_a_roofline(capsys, tmp_path, monkeypatch):
    monkeypatch.setattr(timing.measure, "__defaults__", (FEW, (1000, 10**5)))
    assert main(["measure", "--quick"]) == 0
    assert "64×64 by 64×64" in capsys.readouterr().out
    file = tmp_path / "own.svg"
    draw(["--quick", str(file)])
    told = capsys.readouterr().out
    assert "64×64 by 64×64" in told
    assert "best: " in told
    assert max(map(len, told.partition("drawn to")[0].splitlines())) <= 80
    assert "<desc" in file.read_text("utf-8")


def test_a_gpu_that_is_not_there_is_said_plainly(capsys):
    if "torch" in sys.modules:
        pytest.skip("torch is here")
    assert main(["measure", "--device", "cuda"]) == 2
    assert "torch" in capsys.readouterr().err
    with pytest.raises(ValueError, match="device must be 'cpu' or 'cuda', got 'tpu'"):
        timing.measure(device="tpu")


@pytest.mark.slow
def test_the_module_is_a_command():
    done = subprocess.run(
        [sys.executable, "-m", "costlib", "--help"], capture_output=True, text=True, cwd=ROOT
    )
    assert done.returncode == 0
    assert "measure" in done.stdout
