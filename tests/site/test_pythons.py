"""Every Python that the project names: said in one way everywhere, and run by one command."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest
import yaml

from paths import ROOT
from tools import pythons

pytestmark = pytest.mark.skipif(os.name == "nt", reason="the interpreters here are shell scripts")
MAKEFILE = """\
book:
\t@"$(PYTHON)" --version
test:
\t@test "$$(\"$(PYTHON)\" --version)" != "3.11"
"""


def test_readme_metadata_and_ci_name_the_same_pythons() -> None:
    versions = pythons.named()
    minors = [int(version.removeprefix("3.")) for version in versions]
    assert minors == list(range(minors[0], minors[-1] + 1))
    said = (ROOT / "pyproject.toml").read_text("utf-8")
    assert f'requires-python = ">={versions[0]}"' in said
    assert f"Python {versions[0]} or newer" in (ROOT / "README.md").read_text("utf-8")
    jobs = yaml.safe_load((ROOT / ".github/workflows/test.yml").read_text("utf-8"))["jobs"]
    assert jobs["linux"]["strategy"]["matrix"]["python"] == versions


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository of two commands, the second of which fails with 3.11; and two Pythons."""
    project = tmp_path / "project"
    project.mkdir()
    (project / "Makefile").write_text(MAKEFILE, "utf-8")
    mail = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
    for command in (["init", "-q"], ["add", "-A"], [*mail, "commit", "-q", "-m", "Begin"]):
        subprocess.run(["git", *command], cwd=project, check=True)
    (tmp_path / "bin").mkdir()
    for version in ("3.10", "3.11"):
        path = tmp_path / "bin" / f"python{version}"
        path.write_text(f"#!/bin/sh\necho {version}\n", "utf-8")
        path.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path / "none"))
    monkeypatch.setattr(pythons, "ROOT", project)
    monkeypatch.setattr(pythons, "named", lambda: ["3.10", "3.11", "3.99"])
    return tmp_path


@pytest.mark.parametrize("odd", [[], ["--odd"]])
def test_each_python_has_a_clone_a_log_and_a_line(
    machine: Path, capsys: pytest.CaptureFixture[str], odd: list[str]
) -> None:
    assert pythons.main([str(machine / "out"), *odd]) == 1
    heading, *lines = capsys.readouterr().out.splitlines()[-4:]
    out = machine / "out" / pythons.ODD if odd else machine / "out"
    assert heading.split() == ["Python", "book", "test"]
    assert re.fullmatch(r"3\.10( +\d+:\d\d){2} +green", lines[0])
    assert lines[1].endswith(f"`make test` failed: {out / 'python-3.11.log'}")
    assert re.fullmatch(r"3\.99( +-){2} +not on this machine", lines[2])
    kept = {path.name for path in out.iterdir()}
    assert kept == {"python-3.10.log", "python-3.11.log", "python-3.11"}


def test_what_is_asked_for_by_name_must_be_here(machine: Path) -> None:
    assert pythons.main([str(machine / "out"), "--only", "3.10"]) == 0
    assert pythons.main([str(machine / "out"), "--only", "3.10", "3.99"]) == 1


def test_a_clone_is_not_told_what_this_command_was(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OUT", "elsewhere")
    monkeypatch.setenv("MAKEFLAGS", "OUT=elsewhere")
    assert {"OUT", "MAKEFLAGS"}.isdisjoint(pythons.apart())
    assert "PATH" in pythons.apart()
