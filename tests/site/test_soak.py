"""Tests run again and again: a round that fails is told with its seed, and nothing stays busy."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from tools import soak

TWO = """import os

def test_of_the_seed():
    with open(__file__ + ".seeds", "a+") as seen:
        print(os.environ["SEED"], file=seen)
        seen.seek(0)
        assert len(seen.readlines()) != 2

def test_of_nothing():
    pass
"""


@pytest.fixture
def tests(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Two tests, one of which fails in the second round alone."""
    plain = [sys.executable, "-m", "pytest", "-q", "-c", "/dev/null", "--rootdir", str(tmp_path)]
    monkeypatch.setattr(soak, "PYTEST", plain)
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setattr(soak, "BUSY", 0)
    monkeypatch.setattr(soak.signal, "signal", lambda *_: None)
    (tmp_path / "test_two.py").write_text(TWO, "utf-8")
    return tmp_path / "test_two.py"


def test_a_round_that_fails_is_told_with_its_seed(
    tests: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert soak.main("2", str(tests)) == 1
    said = capsys.readouterr().out
    rounds = re.findall(r"^round (\d) of 2, SEED=(\w+): (green|1 failed)", said, re.MULTILINE)
    seeds = Path(f"{tests}.seeds").read_text("utf-8").split()
    assert len({*seeds}) == 2
    assert rounds == [*zip("12", seeds, ("green", "1 failed"), strict=True)]
    assert re.search(rf"^round 2, SEED={seeds[1]}: .*::test_of_the_seed", said, re.MULTILINE)
    assert said.endswith("\nfailures in 2 rounds: 1\n")


def test_green_rounds_are_green_and_what_does_not_run_is_not(tests: Path) -> None:
    assert soak.main("1", str(tests)) == 0
    assert soak.main("1", str(tests.with_name("test_nothing.py"))) == 1
    with pytest.raises(SystemExit, match="ROUNDS"):
        soak.main("many")


def test_nothing_stays_busy_after_an_interruption() -> None:
    beside = soak.busy()
    processes = beside.__enter__()
    assert [process.poll() for process in processes] == [None] * soak.BUSY
    assert not beside.__exit__(KeyboardInterrupt, KeyboardInterrupt(), None), "it goes on"
    assert None not in [process.poll() for process in processes]
