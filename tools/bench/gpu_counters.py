"""What NVIDIA's own tools say of a GPU: its joules and clocks, and bytes that kernels move.

`Meter` asks the management library (the package nvidia-ml-py), `counted` runs Nsight Compute.
"""

from __future__ import annotations

import csv
import io
import json
import shutil
import subprocess
import sys
from importlib import import_module
from typing import Any

Case = dict[str, Any]

#: What ncu counts of a kernel, and the bytes of one: those between HBM and the L2 cache, and the
#: sectors of 32 bytes that cores ask of L2.
COUNTERS = {
    "dram__bytes_read.sum": ("bytes", 1),
    "dram__bytes_write.sum": ("bytes", 1),
    "lts__t_sectors_srcunit_tex.sum": ("l2_bytes", 32),
}
#: The kernel that runs after each case while ncu counts, so that one process can run them all.
MARK = "spin_kernel"


def counted(script: str, cases: list[Case]) -> list[dict[str, Any]]:
    """Bytes between HBM, L2 and cores in one run of each case, by ncu in a process of its own, in
    which the script reads the cases and runs them between marks."""
    if not shutil.which("ncu"):
        return [{"bytes": None, "bytes_note": "ncu is not installed"}] * len(cases)
    command = ["ncu", "--csv", "--print-units", "base", "--print-kernel-base", "demangled"]
    command += ["--profile-from-start", "off", "--clock-control", "none"]
    command += ["--metrics", ",".join(COUNTERS), sys.executable, script, "-", "--profile"]
    done = subprocess.run(
        command, input=json.dumps(cases), capture_output=True, encoding="utf-8", errors="replace"
    )
    told = read_counters(done.stdout + done.stderr, len(cases))
    if not told[0].get("bytes"):
        print(done.stdout[-1500:], done.stderr[-1500:], sep="\n")
    return told


def read_counters(told: str, wanted: int) -> list[dict[str, Any]]:
    """The sums of the counters over the kernels of each case in ncu's CSV, or why there is none."""
    lines = [line for line in told.splitlines() if line.startswith('"')]
    found: list[dict[str, Any]] = [{}]
    marks = set[str]()
    for row in csv.DictReader(io.StringIO("\n".join(lines))):
        name, value = row["Kernel Name"], number(row["Metric Value"])
        if MARK in name:
            if row["ID"] not in marks:  # its first counter: the case before it is over
                found.append({})
            marks.add(row["ID"])
            continue
        kind, each = COUNTERS[row["Metric Name"]]
        sums = found[-1]
        sums[kind] = sums.get(kind, 0) + value * each
        sums.setdefault("ids", set()).add(row["ID"])
        if kind == "l2_bytes":
            sums["most"] = max(sums.get("most", (0, "")), (value * each, name))
    found.pop()  # after the last mark
    if len(found) != wanted:
        error = next((line for line in told.splitlines() if "ERR" in line), "")
        why = error.strip("= ") or f"counters of {len(found)} cases out of {wanted}"
        return [{"bytes": None, "bytes_note": why}] * wanted
    for sums in found:
        sums["kernels"], sums["kernel"] = (
            len(sums.pop("ids", ())),
            sums.pop("most", (0, ""))[1][:160],
        )
    return found


def number(told: str) -> float:
    """A value of ncu; nothing for 'n/a'."""
    try:
        return float(told.replace(",", ""))
    except ValueError:
        return 0.0


class Meter:
    """What the first GPU says of itself, by NVIDIA's own library (the package nvidia-ml-py)."""

    def __init__(self) -> None:
        try:
            self.nvml = import_module("pynvml")
        except ImportError:
            raise SystemExit(
                "measure_gpu.py needs nvidia-ml-py to read clocks and joules"
            ) from None
        self.nvml.nvmlInit()
        self.gpu = self.nvml.nvmlDeviceGetHandleByIndex(0)

    def joules(self) -> float:
        """Energy that the GPU has taken since its driver was loaded."""
        return float(self.nvml.nvmlDeviceGetTotalEnergyConsumption(self.gpu)) * 1e-3

    def megahertz(self) -> int:
        """The clock of the cores at this moment."""
        return int(self.nvml.nvmlDeviceGetClockInfo(self.gpu, self.nvml.NVML_CLOCK_SM))

    def health(self) -> dict[str, int]:
        """Degrees of the chip, and why its clock is not at its highest, in the library's bits (4 is
        the power limit, 8 and 64 the hardware's own protection, 32 and 64 heat)."""
        nvml = self.nvml
        degrees = nvml.nvmlDeviceGetTemperature(self.gpu, nvml.NVML_TEMPERATURE_GPU)
        reasons = nvml.nvmlDeviceGetCurrentClocksThrottleReasons(self.gpu)
        return {"celsius": int(degrees), "clock_reasons": int(reasons)}

    def memory(self) -> tuple[int, int]:
        """Bytes that the driver reports in all, and as used."""
        told = self.nvml.nvmlDeviceGetMemoryInfo(self.gpu)
        return int(told.total), int(told.used)

    def describe(self) -> dict[str, str]:
        """The device, its driver and its limits."""
        nvml, gpu = self.nvml, self.gpu
        highest = [
            nvml.nvmlDeviceGetMaxClockInfo(gpu, which)
            for which in (nvml.NVML_CLOCK_SM, nvml.NVML_CLOCK_MEM)
        ]
        return {
            "device": text(nvml.nvmlDeviceGetName(gpu)),
            "driver": text(nvml.nvmlSystemGetDriverVersion()),
            "power_limit": f"{nvml.nvmlDeviceGetPowerManagementLimit(gpu) / 1000:.0f} W",
            "highest_clocks": f"cores {highest[0]} MHz, memory {highest[1]} MHz",
        }


def text(told: str | bytes) -> str:
    """Words of the library, which were bytes in its earlier versions."""
    return told.decode() if isinstance(told, bytes) else told
