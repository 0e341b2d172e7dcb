"""Ask every package, and write what they said: `python -m tools.bench.asked FOLDER [NAME ...]`.

FOLDER gets an environment for each, made once (calflops wants PyTorch: some gigabytes), and the
configs of the models, as published. Named packages alone are asked again.
"""

from __future__ import annotations

import json
import platform
import sys
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from costlib.model.catalog import models
from tools.bench.asked.questions import QUESTIONS
from tools.bench.asked.table import FILE, OURS, PAGE, TOOLS, programs, said, table
from tools.bench.environments import printed_by, python_with


def write_models(folder: Path) -> None:
    """A folder for each model and one for it in FP8: the config, with what ours leaves out."""
    fp8 = {"quantization": {"quant_algo": "FP8", "kv_cache_quant_algo": "FP8"}}
    for name in ("llama-2-7b", "llama-2-70b", "llama-3.1-8b", "mixtral-8x7b"):
        left_out = {"max_position_embeddings": 4096, "torch_dtype": "bfloat16"}
        config = {**left_out, **models.provenance(name)["config"]["value"]}
        for home in (folder / name, folder / f"{name}-fp8"):
            home.mkdir(parents=True, exist_ok=True)
            (home / "config.json").write_text(json.dumps(config), "utf-8")
        (folder / f"{name}-fp8" / "hf_quant_config.json").write_text(json.dumps(fp8), "utf-8")


def ask(tool: str, folder: Path) -> dict[str, Any] | None:
    """One package's answers, from its own environment (the book's, for costlib)."""
    needs = programs(tool).NEEDS
    python = python_with(folder / tool, needs) if needs else Path(sys.executable)
    rows, out, known = folder / "rows.json", folder / "said.json", folder / "models"
    asked = {
        key: {
            "at_once": question.at_once,
            "rows": [{k: v for k, v in row.items() if k != "value"} for row in question.rows],
        }
        for key, question in QUESTIONS.items()
    }
    rows.write_text(json.dumps(asked), "utf-8")
    write_models(known)
    words = (f"with_{tool}", str(rows), str(known), str(out))
    if printed_by(python, "tools.bench.asked.ask", *words) is None:
        return None
    found: dict[str, Any] = json.loads(out.read_text("utf-8"))
    return found


def main(words: list[str]) -> None:
    """Ask, write down, and make the page."""
    if not words:
        raise SystemExit(__doc__)
    folder = Path(words[0]).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    record = said() if FILE.exists() else {"answers": {}}
    asked = words[1:] or list(TOOLS)
    for tool in asked:
        if answers := ask(tool, folder):
            record["answers"][tool] = answers
    if set(asked) - set(OURS):
        record["date"] = datetime.now(timezone.utc).strftime("%Y-%m-%d")
        record["where"] = f"Python {platform.python_version()}, {platform.machine()}, one process"
    FILE.write_text(json.dumps(record, indent=1) + "\n", "utf-8")
    PAGE.write_text(table(record), "utf-8")
    print(PAGE)


if __name__ == "__main__":
    main(sys.argv[1:])
