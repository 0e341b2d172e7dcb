"""The script that measures a GPU: dry on a CPU, and its other programs by stand-ins."""

import json
import os
import sys
from functools import cache
from types import SimpleNamespace

import numpy as np
import pytest

from costlib import devices
from costlib.measured import gpus
from costlib.timing.roofline import time
from paths import ROOT
from tools.bench import gpu_counters, measure_gpu, predicted_gpu

FOLDER = ROOT / "costlib" / "measured" / "gpus"


@pytest.fixture(scope="module")
def dry(tmp_path_factory):
    """A file that a dry run has written whole."""
    file = tmp_path_factory.mktemp("gpu") / "dry.json"
    assert measure_gpu.main([str(file), "--dry-run"]) == 0
    return file


@cache
def told_of_everything():
    return tuple(predicted_gpu.predictions("H200", measure_gpu.cases(False)))


def rows_of(file):
    return json.loads(file.read_text("utf-8"))["rows"]


def program(folder, name, script, monkeypatch):
    """A program of that name, found before any real one."""
    path = folder / name
    path.write_text("#!/bin/sh\n" + script)
    path.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")


def test_a_dry_run_finds_something_for_every_case(dry):
    content = json.loads(dry.read_text("utf-8"))
    assert content["schema"] == measure_gpu.SCHEMA
    assert content["device"] == "CPU (dry run)"
    assert {"driver", "backend", "date", "python"} <= set(content)
    assert [row["case"] for row in content["rows"]] == list(measure_gpu.cases(True))
    for row in content["rows"]:
        assert "error" not in row
        assert "note" in row or row["seconds"] > 0


def test_dry_cases_are_of_the_same_kinds():
    def kinds(is_dry):
        words = ("kind", "how", "precision", "backward")
        return {tuple(case.get(k) for k in words) for case in measure_gpu.cases(is_dry)}

    assert kinds(True) == kinds(False)
    everything = list(measure_gpu.cases(False))
    assert len({json.dumps(case) for case in everything}) == len(everything)


def test_a_run_that_was_cut_short_goes_on(tmp_path, capsys, monkeypatch):
    file, line = tmp_path / "dry.json", ["--dry-run"]
    ticks = iter([0.0, *[1.0] * 5, *[99.0] * 99])
    with monkeypatch.context() as patch:
        patch.setattr(measure_gpu, "perf_counter", lambda: next(ticks))
        patch.setattr(measure_gpu, "found", lambda _, case, __: {"case": case, "seconds": 7})
        assert measure_gpu.main([str(file), *line, "--minutes", "1"]) == 0
    assert "the same line again goes on" in capsys.readouterr().out
    first = rows_of(file)
    assert 0 < len(first) < len(list(measure_gpu.cases(True)))
    assert measure_gpu.main([str(file), *line]) == 0
    again = rows_of(file)
    assert again[: len(first)] == first  # nothing is measured twice
    assert [row["case"] for row in again] == list(measure_gpu.cases(True))


def test_a_file_of_another_machine_is_left_alone(dry, tmp_path):
    other = tmp_path / "other.json"
    other.write_text(dry.read_text("utf-8").replace("CPU (dry run)", "NVIDIA X"))
    before = other.read_bytes()
    with pytest.raises(SystemExit, match=r"of another run \(device NVIDIA X\): name another file"):
        measure_gpu.main([str(other), "--dry-run"])
    assert other.read_bytes() == before


def test_a_case_that_fails_says_why_and_the_rest_goes_on():
    class Small(measure_gpu.WithNumpy):
        def gemm(self, **_):
            raise RuntimeError("out of memory\nand more")

    case = {"kind": "gemm", "precision": "bf16", "m": 1, "k": 1, "n": 1}
    row = measure_gpu.found(Small(), case, 1)
    assert row == {"case": case, "seconds": None, "error": "out of memory"}


@pytest.mark.parametrize("name", ["h100", "h200", "h200_again"])
def test_what_was_told_before_a_run_is_what_costlib_counts(name):
    """The datasheet's seconds and the bytes; constants and joules stay as they stood."""
    content = json.loads((FOLDER / f"told_{name}.json").read_text("utf-8"))
    assert content["backend"] == "costlib"
    timed = [row for row in content["rows"] if row["case"]["kind"] != "power"]
    assert len(timed) > 100
    for row in timed:
        again = predicted_gpu.predicted(row["case"], content["device"])
        for told in ("seconds", "bytes", "l2_bytes"):
            assert row.get(told) == again.get(told)


def test_the_library_knows_the_cases_of_the_script():
    assert gpus.BUSY == measure_gpu.BUSY
    ran = {json.dumps(case) for case in measure_gpu.cases(False)}
    for name in gpus.GPUS:
        assert {json.dumps(row.case) for row in gpus.gpu_rows(name)} <= ran
        assert not any("error" in row.found for row in gpus.gpu_rows(name))


def test_a_case_that_is_no_work_is_refused():
    with pytest.raises(ValueError, match="the kind 'memory' is no work that costlib counts"):
        gpus.work_of({"kind": "memory"})


def test_predicted_bytes_by_hand():
    for row in told_of_everything():
        case, moved = row["case"], row.get("bytes")
        if case["kind"] == "copy":
            assert moved == 4 * case["elements"]
        if case["kind"] == "gemm":
            m, k, n = case["m"], case["k"], case["n"]
            by_hand = (m * k + k * n + m * n) * (1 if case["precision"] == "fp8" else 2)
            assert row.get("l2_bytes", 1e99) > moved
            assert moved == by_hand + 5 * (m * k + k * n) * ("casts" in case)
        if case["kind"] == "attention":
            tensor = 2 * case["batch"] * case["heads"] * case["N"] * case["d"]
            square = 2 * case["batch"] * case["heads"] * case["N"] ** 2
            forward = 4 * tensor + 4 * square * (case["how"] == "math")
            assert moved >= forward
            assert (moved == forward) == (not case["backward"])
        if case["kind"] == "cached_attention":
            cached = 4 * case["batch"] * case["context"] * case["kv_heads"] * case["head_dim"]
            assert moved == cached + 4 * case["batch"] * case["heads"] * case["head_dim"]
        if case["kind"] == "decode":
            kv = 2 * case["batch"] * case["context"] * case["kv_heads"] * case["head_dim"]
            wide = (case["heads"] * 2 + 2 * case["kv_heads"]) * case["head_dim"] + 3 * case["d_ff"]
            least = 2 * case["layers"] * (kv + case["d_model"] * wide)
            assert least < moved < 1.15 * least


def test_comparison_finds_the_device_that_made_the_rows():
    """Times of a device that reaches half of everything: 50 % off by the datasheet, none fitted.
    What was told stands as it was told, whatever costlib would say now."""
    slow = devices["H200"].with_(compute_efficiency=0.5, bandwidth_efficiency=0.5)
    rows = []
    for case in measure_gpu.cases(False):
        if gpus.group_of(case) == "gemm bf16":
            work, precision = gpus.work_of(case)
            rows.append({"case": case, "seconds": float(time(work, slow, precision=precision))})
    stood = told_of_everything()
    told, wrong = (
        predicted_gpu.compared(rows, each, "H200").splitlines()
        for each in (stood, [{**row, "seconds": 4 * row["seconds"]} for row in stood])
    )
    levels = {line.split()[3]: line.split()[4:] for line in told if line.startswith("gemm bf16")}
    assert wrong[1].split()[3:5] == ["ideal", "100%"]
    assert levels["ideal"] == ["50%", "50%", "50%"]
    assert levels["calibrated"] == ["0%", "0%", "0%"]


def test_joules_are_those_above_idle():
    flops, moved = 2 * 8192**3, 4 * 2**30
    found = gpus.energies(
        gpus.beside(
            [
                busy("idle", 0.01, 100),
                busy("copy", moved / 3e12, 100 + 3e12 * 50e-12),
                busy("gemm", flops / 7e14, 100 + 7e14 * (0.5e-12 + 6 * 8192**2 / flops * 50e-12)),
                busy(
                    "fp8 gemm", flops / 14e14, 100 + 14e14 * (0.2e-12 + 3 * 8192**2 / flops * 5e-11)
                ),
            ],
            [],
        )
    )
    assert found == pytest.approx({"idle": 100, "byte": 50e-12, "bf16": 0.5e-12, "fp8": 0.2e-12})


def busy(how, seconds, watts):
    return {
        "case": {"kind": "power", "how": how},
        "seconds": seconds,
        "watts": watts,
        "joules": watts * seconds,
    }


def test_a_gpu_at_its_limit_takes_longer():
    """A product takes what its joules take at 700 W, and a copy what its bytes take."""
    told = {
        how: predicted_gpu.busy_joules({"kind": "power", "how": how}, "H200") for how in gpus.BUSY
    }
    assert told["gemm"]["joules"] / told["gemm"]["seconds"] == pytest.approx(700)
    assert told["decode 1"]["joules"] / told["decode 1"]["seconds"] < 600
    work, _ = gpus.work_of(gpus.BUSY["gemm"])
    assert told["gemm"]["seconds"] > 1.1 * time(work, predicted_gpu.from_h100("gemm bf16", "H200"))


def test_counted_bytes_stand_beside_those_between_l2_and_the_cores():
    case = {"kind": "attention", "how": "flash", "backward": False}
    case |= {"batch": 1, "heads": 2, "N": 1000, "d": 64}
    told = predicted_gpu.predicted(case, "H200")
    tensor = 2 * 2 * 1000 * 64
    assert (told["bytes"], told["l2_bytes"]) == (4 * tensor, 2 * tensor * (1 + 8))
    row = {"case": case, "seconds": None, "bytes": 5 * tensor, "l2_bytes": 9 * tensor}
    *_, hbm, l2 = predicted_gpu.counted(gpus.beside([row], [told]))
    assert hbm.startswith("bytes 1.25 times")
    assert l2.startswith("l2_bytes 0.50 times")


def test_tiles_of_a_product_read_their_rows_and_columns():
    case = {"kind": "gemm", "precision": "bf16", "tile": 64, "m": 128, "k": 10, "n": 192}
    told = predicted_gpu.predicted(case, "H200")
    rows, columns = 64 * 10, 10 * 64
    assert told["l2_bytes"] == 2 * (2 * 3 * (rows + columns) + 128 * 192)


def test_decode_stack_shares_each_head_of_the_cache_among_a_group():
    on = measure_gpu.WithNumpy()
    q = on.tensor(2, 4, 1, 8)
    keys, values = on.tensor(2, 2, 5, 8), on.tensor(2, 2, 5, 8)
    alone = [on.math(q[:, h], keys[:, h // 2], values[:, h // 2]) for h in range(4)]
    assert np.allclose(on.attend(q, keys, values), np.stack(alone, 1), atol=1e-6)
    out = measure_gpu.stack(on, 3, 10, **measure_gpu.SMALL)()
    assert out.shape == (3, measure_gpu.SMALL["d_model"])
    assert np.isfinite(out).all()


HEAD = '"ID","Kernel Name","Metric Name","Metric Unit","Metric Value"\n'


def counter(number, kernel, name, value):
    return f'"{number}","{kernel}","{name}","","{value}"\n'


def marked(number):
    return counter(number, "spin_kernel(long)", "dram__bytes_read.sum", "32")


def test_counters_of_the_profiler_are_summed_for_each_case():
    dram, sectors = ("dram__bytes_read.sum", "lts__t_sectors_srcunit_tex.sum")
    told = "==PROF== Connected\n" + HEAD
    told += counter(0, "flash<64, 128>", dram, "1,234")
    told += counter(0, "flash<64, 128>", "dram__bytes_write.sum", "6")
    told += counter(0, "flash<64, 128>", sectors, "100") + counter(1, "last", sectors, "2")
    told += (
        marked(2) + counter(3, "copy", dram, "n/a") + counter(3, "copy", sectors, "9") + marked(4)
    )
    assert gpu_counters.read_counters(told, 2) == [
        {"bytes": 1240, "l2_bytes": 3264, "kernels": 2, "kernel": "flash<64, 128>"},
        {"bytes": 0, "l2_bytes": 288, "kernels": 1, "kernel": "copy"},
    ]
    short = gpu_counters.read_counters(told, 3)
    assert short == 3 * [{"bytes": None, "bytes_note": "counters of 2 cases out of 3"}]
    refused = gpu_counters.read_counters("==ERROR== ERR_NVGPUCTRPERM: no permission\n", 1)
    assert refused == [{"bytes": None, "bytes_note": "ERROR== ERR_NVGPUCTRPERM: no permission"}]


def test_the_profiler_runs_those_cases_and_no_others(tmp_path, monkeypatch):
    log, asked = tmp_path / "arguments", tmp_path / "cases"
    sectors = counter(0, "k", "lts__t_sectors_srcunit_tex.sum", "2")
    csv = HEAD + counter(0, "k", "dram__bytes_read.sum", "8") + sectors + marked(1)
    script = f"echo \"$@\" > {log}\ncat > {asked}\ncat <<'E'\n{csv}E\n"
    program(tmp_path, "ncu", script, monkeypatch)
    cases = [{"kind": "attention", "how": "math", "N": 4}]
    assert gpu_counters.counted("measure_gpu.py", cases)[0]["bytes"] == 8
    told = log.read_text()
    assert "dram__bytes_read.sum,dram__bytes_write.sum,lts__t_sectors_srcunit_tex.sum" in told
    assert "--clock-control none" in told  # the card's settings stay as they are
    assert json.loads(asked.read_text()) == cases


def test_cases_that_are_counted_leave_room_for_the_counters():
    kept = [case for case in measure_gpu.cases(False) if measure_gpu.is_counted(case)]
    kinds = {(case["kind"], case.get("how"), "tile" in case) for case in kept}
    assert {("attention", how, False) for how in ("math", "flash", "flex", "tiled")} < kinds
    assert {("gemm", None, True), ("scale", None, False), ("cached_attention", None, False)} < kinds
    assert not any(case.get("how") == "math" and case["N"] > 4096 for case in kept)


class Nvml:
    """NVIDIA's library, of a GPU that takes 300 W and gets slower."""

    NVML_CLOCK_SM, NVML_CLOCK_MEM = range(2)
    time, clocks = 0.0, iter(range(1980, 0, -10))
    nvmlInit = staticmethod(lambda: None)
    nvmlDeviceGetHandleByIndex = staticmethod(lambda index: f"GPU {index}")
    nvmlDeviceGetName = staticmethod(lambda _: b"NVIDIA X")
    nvmlSystemGetDriverVersion = staticmethod(lambda: "580.1")
    nvmlDeviceGetPowerManagementLimit = staticmethod(lambda _: 700_000)
    NVML_TEMPERATURE_GPU = 0
    nvmlDeviceGetTemperature = staticmethod(lambda _, which: (60,)[which])
    nvmlDeviceGetCurrentClocksThrottleReasons = staticmethod(lambda _: 4)
    nvmlDeviceGetMaxClockInfo = staticmethod(lambda _, which: (1980, 2619)[which])
    nvmlDeviceGetMemoryInfo = staticmethod(lambda _: SimpleNamespace(total=80 * 2**30, used=5))

    def nvmlDeviceGetClockInfo(self, _gpu, _which):
        return next(self.clocks)

    def nvmlDeviceGetTotalEnergyConsumption(self, _):
        return 1000 * 300 * self.time


def test_joules_and_clocks_are_what_the_gpu_says_while_it_runs(monkeypatch):
    nvml = Nvml()
    monkeypatch.setitem(sys.modules, "pynvml", nvml)
    monkeypatch.setattr(measure_gpu, "perf_counter", lambda: nvml.time)

    def run():
        nvml.time += 0.125

    on = SimpleNamespace(
        is_gpu=True,
        meter=gpu_counters.Meter(),
        copy=lambda **_: run,
        torch=SimpleNamespace(cuda=SimpleNamespace(synchronize=lambda: None)),
    )
    row = measure_gpu.power(on, "copy", 4.0)
    assert row == {
        "seconds": 0.125,
        "watts": 300,
        "joules": 300 / 8,
        "sm_megahertz": 1980 - 10 * 3.5,  # two readings before, and the middle of four
        "runs": 32,
        "celsius": 60,
        "clock_reasons": 4,
    }


def test_a_gpu_describes_itself(monkeypatch):
    monkeypatch.setitem(sys.modules, "pynvml", Nvml())
    meter = gpu_counters.Meter()
    assert meter.memory() == (80 * 2**30, 5)
    assert meter.describe() == {
        "device": "NVIDIA X",
        "driver": "580.1",
        "power_limit": "700 W",
        "highest_clocks": "cores 1980 MHz, memory 2619 MHz",
    }
    monkeypatch.setitem(sys.modules, "pynvml", None)
    with pytest.raises(SystemExit, match="needs nvidia-ml-py to read clocks and joules"):
        gpu_counters.Meter()


def test_a_kernel_that_computes_something_else_is_an_error():
    class Tensor(np.ndarray):
        def float(self):
            return self

        def norm(self):
            return np.linalg.norm(self)

    wanted = np.arange(4.0).view(Tensor)
    assert measure_gpu.right_as(wanted, lambda: wanted * 1.001)() is not None
    for wrong in (wanted * 1.1, wanted * np.nan):
        with pytest.raises(ValueError, match="the kernel is wrong: relative error"):
            measure_gpu.right_as(wanted, lambda result=wrong: result)


def test_without_a_gpu_it_says_so(tmp_path, monkeypatch):
    torch = SimpleNamespace(cuda=SimpleNamespace(is_available=lambda: False))
    monkeypatch.setitem(sys.modules, "torch", torch)
    with pytest.raises(SystemExit, match="torch finds no GPU here"):
        measure_gpu.main([str(tmp_path / "gpu.json")])
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(SystemExit, match="needs torch to measure a GPU"):
        measure_gpu.main([str(tmp_path / "gpu.json")])


@pytest.mark.parametrize(
    ("file", "option", "device", "why"),
    [
        ("dry.json", "--compare", "none.json", "No such file or directory: 'none.json'"),
        (
            "none.json",
            "--compare",
            str(FOLDER / "told_h200.json"),
            "No such file or directory: .*none.json",
        ),
        ("new.json", "--predict", "H2000", "no device named 'H2000'"),
        ("new.json", "--predict", "T4", "T4 has no peak rate for 'fp8'"),
    ],
)
def test_nonsense_is_answered_in_a_sentence(dry, file, option, device, why):
    with pytest.raises(SystemExit, match=why):
        measure_gpu.main([str(dry.with_name(file)), option, device])
