"""What runs in any case: pages whose outputs may be old, and all of them where it is asked."""

from __future__ import annotations

import pytest

import sampling
from paths import ROOT
from tools.pages import pairs

STALE = ["kvcache", "matmul"]


@pytest.mark.parametrize(
    ("asked", "changed", "run"),
    [
        ("stale", "README.md", STALE),
        ("stale", "tests/kernels.py", None),
        ("all", "README.md", None),
        ("these: latent", "tests/kernels.py", ["latent"]),
    ],
)
def test_pages_that_run(
    monkeypatch: pytest.MonkeyPatch, asked: str, changed: str, run: list[str] | None
) -> None:
    monkeypatch.setattr(sampling, "CHANGED", [changed])
    monkeypatch.setattr(pairs, "is_current", lambda page: page.stem not in STALE)
    monkeypatch.setenv("PAGES", asked)
    expected = {page.stem for page in pairs.paired()} if run is None else {*run}
    assert sampling.new_pages() == sampling.new_pages() == expected


@pytest.mark.parametrize(
    ("changed", "all_run"),
    [
        ("course/grader/report.py", "tests/course/"),
        ("costlib/iomodel/bounds.py", "tests/costlib/iomodel/"),
        ("tests/course/test_fuzz.py", "tests/course/test_fuzz.py"),
        ("tools/site/publish.py", "tests/site/test_publish.py"),
        ("costlib/serving/fleet.py", "tests/costlib/test_fleet.py"),
        ("costlib/units/device.py", "tests/site/test_types.py"),
    ],
)
def test_what_is_touched_is_not_left_to_chance(
    monkeypatch: pytest.MonkeyPatch, changed: str, all_run: str
) -> None:
    monkeypatch.setattr(sampling, "CHANGED", [changed])
    left = sampling.left_out.__wrapped__()
    assert not [file for file in left if file.startswith(all_run)]
    assert sampling.EVERYTHING or len(left) > 10


def test_what_others_need_touches_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sampling, "CHANGED", ["tests/data/models.json"])
    assert sampling.left_out.__wrapped__() == set()


def test_what_is_about_the_whole_house_always_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sampling, "CHANGED", ["README.md"])
    left = sampling.left_out.__wrapped__()
    assert not left & {"tests/costlib/test_imports.py", "tests/site/test_site.py"}
    assert sampling.EVERYTHING or len(left) > 50


def test_subjects_are_there() -> None:
    named = [*sampling.SUBJECTS, *(path for about in sampling.SUBJECTS.values() for path in about)]
    assert [path for path in named if not [*ROOT.glob(f"{path.removesuffix('/')}*")]] == []


def test_a_few_are_drawn_beside_those_that_come_first() -> None:
    drawn = sampling.some(range(100), 5, "a test", first=lambda n: n >= 97)
    assert {97, 98, 99} <= {*drawn}
    assert sampling.EVERYTHING or 5 <= len(drawn) <= 8
    assert drawn == sorted(drawn) == sampling.some(range(100), 5, "a test", first=lambda n: n >= 97)
