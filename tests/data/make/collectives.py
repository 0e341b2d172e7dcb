"""Collectives by torch.distributed: several processes on this machine, joined by gloo.

Whole numbers, so that sums do not depend on their order.
"""

import json
import tempfile
from pathlib import Path

import torch
import torch.distributed as dist
import torch.multiprocessing as mp

FILE = Path(__file__).resolve().parents[1] / "collectives.json"
CASES = [(devices, each) for devices in (2, 3, 4) for each in (1, 5)]  # elements in a part


def values(devices: int, elements: int) -> list[torch.Tensor]:
    """What each device begins with."""
    return [torch.arange(elements) * 7 % 11 + 10 * rank**2 for rank in range(devices)]


def work(rank: int, devices: int, each: int, folder: str) -> None:
    """One process: every collective once, its results in a file."""
    dist.init_process_group(
        "gloo", init_method=f"file://{folder}/meet", rank=rank, world_size=devices
    )
    mine = values(devices, devices * each)[rank]
    summed = mine.clone()
    dist.all_reduce(summed)
    gathered = [torch.empty(each, dtype=mine.dtype) for _ in range(devices)]
    dist.all_gather(gathered, mine[:each].clone())
    scattered = torch.empty(each, dtype=mine.dtype)
    dist.reduce_scatter_tensor(scattered, mine)
    exchanged = torch.empty_like(mine)
    dist.all_to_all_single(exchanged, mine)
    first = mine.clone()
    dist.broadcast(first, src=0)
    found = {
        "all_reduce": summed.tolist(),
        "all_gather": torch.cat(gathered).tolist(),
        "reduce_scatter": scattered.tolist(),
        "all_to_all": exchanged.tolist(),
        "broadcast": first.tolist(),
    }
    Path(folder, f"{rank}.json").write_text(json.dumps(found))
    dist.destroy_process_group()


def make(_: list[str]) -> None:
    """Every case, a line each."""
    lines = []
    for devices, each in CASES:
        with tempfile.TemporaryDirectory() as folder:
            mp.spawn(work, args=(devices, each, folder), nprocs=devices)
            told = [json.loads(Path(folder, f"{rank}.json").read_text()) for rank in range(devices)]
        row = {
            "devices": devices,
            "part": each,
            "values": [value.tolist() for value in values(devices, devices * each)],
            "results": {name: [one[name] for one in told] for name in told[0]},
        }
        lines.append(json.dumps(row))
    made = f'{{"torch": "{torch.__version__}", "rows": [\n' + ",\n".join(lines) + "\n]}\n"
    FILE.write_text(made, encoding="utf-8")
