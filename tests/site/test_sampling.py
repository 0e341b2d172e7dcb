"""What runs in any case: pages that have changed, and all of them where the library has."""

from __future__ import annotations

import pytest

import sampling
from tools.pages import pairs


@pytest.mark.parametrize(
    ("changed", "run", "left"),
    [
        ("book/matmul.md", {"matmul"}, {"kvcache", "index"}),
        ("book/matmul.ipynb", {"matmul"}, {"kvcache", "index"}),
        ("costfigures/lowerbounds.py", {"lowerbounds"}, {"kvcache", "latent"}),
        ("costfigures/canvas.py", {"matmul", "kvcache", "explore_io"}, set()),
        ("costlib/model/kvcache.py", {"matmul", "kvcache", "explore_io"}, set()),
        ("costlib/model/catalog/devices.json", {"matmul", "kvcache", "explore_io"}, set()),
        ("requirements.lock", {"matmul", "kvcache", "explore_io"}, set()),
        (sampling.UNKNOWN, {"matmul", "kvcache", "explore_io"}, set()),
        ("README.md", set(), {"matmul", "kvcache", "explore_io"}),
    ],
)
def test_pages_that_run(
    monkeypatch: pytest.MonkeyPatch, changed: str, run: set[str], left: set[str]
) -> None:
    sampling.drawers.cache_clear()
    monkeypatch.setattr(sampling, "CHANGED", [changed])
    new = {page.stem for page in pairs.paired() if sampling.is_new(page.stem)}
    assert run <= new
    assert not left & new
    assert left or len(new) == len(pairs.paired())
    sampling.drawers.cache_clear()


def test_a_few_are_drawn_beside_those_that_come_first() -> None:
    drawn = sampling.some(range(100), 5, "a test", first=lambda n: n >= 97)
    assert {97, 98, 99} <= {*drawn}
    assert sampling.EVERYTHING or 5 <= len(drawn) <= 8
    assert drawn == sorted(drawn) == sampling.some(range(100), 5, "a test", first=lambda n: n >= 97)
