"""Bytes that kernels move between HBM, the L2 cache and the cores, by NVIDIA's Nsight Compute."""

from __future__ import annotations

import csv
import io
import json
import shutil
import subprocess
import sys
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
