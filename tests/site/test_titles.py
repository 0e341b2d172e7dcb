"""What is said of a commit's title, before it is made and in CI."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from paths import ROOT
from programs import ended
from tools import titles


@pytest.mark.parametrize(
    "title",
    [
        "Count the scores of a mask",
        "Bring the pages of a fork to its address",
        "Embed a figure whose words are its own",
        "Address what a link leads to by its name",
        "Merge branch 'main' into masks",
        'Revert "Count the scores; fix a test"',
        "Count " + "x" * 66,
    ],
)
def test_an_order_is_a_title(title: str) -> None:
    assert titles.slips(title) == []


@pytest.mark.parametrize(
    "title",
    [
        "The scores of a mask are counted",
        "Scores: counted where the mask has them",
        "Counted the scores of a mask",
        "Counting the scores of a mask",
        "count the scores of a mask",
        "Count the scores; fix a test",
        "Count " + "x" * 67,
        "",
    ],
)
def test_anything_else_is_none(title: str) -> None:
    assert len(titles.slips(title)) == 1


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """One with the hook switched on, and a commit that is older than it."""
    for name in ("GIT_DIR", "GIT_INDEX_FILE", "GIT_WORK_TREE"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "tools").mkdir()
    shutil.copytree(ROOT / ".ci", tmp_path / ".ci")
    shutil.copy(ROOT / "tools" / "titles.py", tmp_path / "tools")
    for line in ("init -q", "config user.name A", "config user.email a@b.c"):
        assert git(tmp_path, *line.split()).returncode == 0
    assert git(tmp_path, "commit", "-q", "--allow-empty", "-m", "As it was; old").returncode == 0
    git(tmp_path, "config", "core.hooksPath", ".ci")
    return tmp_path


def git(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """What git says."""
    return ended("git", *words, cwd=folder)


def checked(folder: Path, *what: str) -> tuple[int, str]:
    """What the script says of something."""
    done = ended(sys.executable, "tools/titles.py", *what, cwd=folder)
    return done.returncode, done.stderr


@pytest.mark.skipif(os.name == "nt", reason="git brings a shell of its own there")
def test_the_hook_lets_a_good_title_pass_and_no_other(repository: Path) -> None:
    wrong = git(repository, "commit", "--allow-empty", "-m", "Counted; tested")
    assert wrong.returncode == 1
    assert 'not "Counted"\n  one change, so no semicolon' in wrong.stderr
    right = git(repository, "commit", "--allow-empty", "-m", "Count the scores\n\nFor a; b.")
    assert right.returncode == 0, right.stderr


def test_ci_looks_at_what_was_pushed_and_at_nothing_older(repository: Path) -> None:
    base = git(repository, "rev-parse", "HEAD").stdout.strip()
    assert checked(repository, f"{base}..HEAD") == (0, "")
    assert checked(repository, "..HEAD")[0] == 1, "without a beginning it is the last commit"
    git(repository, "commit", "-q", "--allow-empty", "-m", "Count the scores")
    for start in (base, "", "0" * 40):
        assert checked(repository, f"{start}..HEAD") == (0, ""), start
    git(repository, "commit", "-q", "--no-verify", "--allow-empty", "-m", "Scores counted")
    assert checked(repository, f"{base}..HEAD")[0] == 1


def test_ci_asks() -> None:
    jobs = yaml.safe_load((ROOT / ".github/workflows/test.yml").read_text("utf-8"))["jobs"]
    run = [step.get("run", "") for step in jobs["titles"]["steps"]]
    assert 'python3 tools/titles.py "$BASE..HEAD"' in run
