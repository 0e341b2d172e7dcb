"""What a package index would get: whole, ours, the same twice, and nothing on a wrong tag."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from paths import ROOT
from tools import release

WHO = {"BOOK_REPOSITORY": "ada-l/notes", "BOOK_COMMIT": "c0ffee" * 6, "BOOK_DATE": "2026-11-21"}


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """The same release made twice."""
    return [
        release.release(
            tmp_path_factory.mktemp("release") / "out", environment={**os.environ, **WHO}
        )
        for _ in range(2)
    ]


def test_two_builds_are_one(built: list[Path]) -> None:
    first, second = ({path.name: path.read_bytes() for path in out.iterdir()} for out in built)
    assert sorted(first) == ["costlib-0.1.0-py3-none-any.whl", "costlib-0.1.0.tar.gz"]
    assert first == second


def test_an_index_would_take_it(built: list[Path]) -> None:
    files = [str(path) for path in sorted(built[0].iterdir())]
    twine = [sys.executable, "-m", "twine", "check", "--strict", *files]
    contents = [sys.executable, "-m", "check_wheel_contents", files[0]]
    for command in (twine, contents):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr


def test_it_says_whose_it_is(built: list[Path]) -> None:
    with zipfile.ZipFile(next(built[0].glob("*.whl"))) as wheel:
        about = wheel.read("costlib-0.1.0.dist-info/METADATA").decode("utf-8")
        assert "costlib/py.typed" in wheel.namelist()
        starts = wheel.read("costlib-0.1.0.dist-info/entry_points.txt").decode("utf-8")
    assert "costlib=costlib.command:main" in starts
    head, _, page = about.partition("\n\n")
    addresses = dict(re.findall(r"^Project-URL: (\w+), (\S+)$", head, re.M))
    assert addresses["Homepage"] == "https://ada-l.github.io/notes/"
    assert addresses["Source"] == "https://github.com/ada-l/notes"
    links = re.findall(r"\]\(([^)]+)\)", page)
    assert [link for link in links if not link.startswith("https://")] == []
    assert re.search(r"^pip install costlib( |$)", page, re.M)
    assert "pip install ." not in page
    for link in links:
        if (path := link.removeprefix("https://github.com/ada-l/notes/blob/main/")) != link:
            assert (ROOT / path).exists(), "a whole link leads to what is there"


def test_the_wheel_alone_is_a_command(built: list[Path], tmp_path: Path) -> None:
    home = tmp_path / "site"
    with zipfile.ZipFile(next(built[0].glob("*.whl"))) as wheel:
        wheel.extractall(home)
    command = [sys.executable, "-m", "costlib", "gpt2", "--on", "T4"]
    done = subprocess.run(
        command,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(home)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "tokens a second, one" in done.stdout


def test_a_tag_is_the_version_and_the_changelog_dated(tmp_path: Path) -> None:
    (tmp_path / "costlib").mkdir()
    shutil.copy(ROOT / "costlib" / "__init__.py", tmp_path / "costlib")
    changes = tmp_path / "CHANGELOG.md"
    changes.write_text("# Changelog\n\n## 0.1.0, not yet released\n", "utf-8")
    with pytest.raises(SystemExit, match=r"'v0\.2\.0' is not the version: costlib has 0\.1\.0"):
        release.check_tag("v0.2.0", tmp_path)
    with pytest.raises(SystemExit, match="not yet released: date it first"):
        release.check_tag("v0.1.0", tmp_path)
    changes.write_text("# Changelog\n\n## 0.1.0, 2026-11-21\n", "utf-8")
    release.check_tag("v0.1.0", tmp_path)
    changes.write_text("# Changelog\n", "utf-8")
    with pytest.raises(SystemExit, match=r"says nothing of 0\.1\.0"):
        release.check_tag("v0.1.0", tmp_path)


def test_a_folder_with_something_in_it_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine").touch()
    with pytest.raises(SystemExit, match="not empty"):
        release.release(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]
