"""Every chapter with another model and another device in its first cell."""

from __future__ import annotations

from pathlib import Path

import matplotlib
import pytest

import sampling
from paths import ROOT
from tools import contents
from tools.pages import pairs, survives

matplotlib.use("Agg")
CHAPTERS = [chapter.name for chapter in contents.CHAPTERS]
PAGES = sampling.some(
    pairs.paired(), 5, "survives", first=lambda page: sampling.touched(f"book/{page.name}")
)
CASES = [
    (page, change)
    for page in PAGES
    for change in sampling.some(
        survives.changes(page), 2 if sampling.touched(f"book/{page.name}") else 1, page.stem
    )
]


def test_every_chapter_lets_its_reader_change_something() -> None:
    assert [c for c in CHAPTERS if not survives.offered(ROOT / "book" / f"{c}.md")] == []


@pytest.mark.parametrize(
    ("page", "change"),
    CASES,
    ids=[f"{page.stem}-{'-'.join(change.values())}" for page, change in CASES],
)
def test_it_works_or_says_why_not(page: Path, change: dict[str, str]) -> None:
    assert survives.problems(page, change) == []


def page(folder: Path, *cells: str) -> Path:
    """A page with these cells below a first one that offers a model and a device."""
    first = 'import costlib\nmodel = costlib.models["gpt2"]\ndevice = costlib.devices["V100"]'
    written = folder / "page.md"
    written.write_text(
        "---\njupytext:\n  formats: ipynb,md:myst\n  text_representation:\n    extension: .md\n"
        "    format_name: myst\nkernelspec:\n  display_name: Python 3\n  name: python3\n---\n\n"
        + "\n".join(f"```{{code-cell}}\n{cell}\n```\n" for cell in (first, *cells)),
        "utf-8",
    )
    return written


@pytest.mark.parametrize(
    "cell",
    [
        "assert model.moe",
        "assert model.moe, 'a long sentence that nobody wrote for a reader'",
        "{'gpt2': 1}[model]",
        "device.cores + None",
        "model.mla.kv_rank + 0 / (device.cores - 40)",
        "raise ValueError(device.name)",
        "import numpy as np\nnp.arange(3) / np.zeros(3) * device.capacity",
    ],
)
def test_what_a_reader_could_not_read_is_seen(tmp_path: Path, cell: str) -> None:
    change = {"model": "zamba2-7b", "device": "T4"}
    assert len(survives.problems(page(tmp_path, cell), change)) == 1


def test_a_sentence_is_an_answer_and_what_needs_it_is_left_out(tmp_path: Path) -> None:
    guarded = (
        'if model.layers > 12:\n    raise ValueError("a smaller model is needed for this")\nx = 1'
    )
    written = page(tmp_path, guarded, "x + model.layers", "y = 1", "assert y == 2")
    offered = [{name: each[name] for name in ("model", "device")} for each in survives.CHANGES]
    assert survives.changes(written) == offered
    for change in offered:
        said = list(survives.run(written, change))
        assert [is_clear for _, is_clear in said] == [True]
