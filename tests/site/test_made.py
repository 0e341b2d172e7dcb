"""What is made and not committed: all of it is ignored, and only what changed is made again."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from paths import ROOT
from tools.pages import explorers, generated, made


@pytest.fixture
def written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """A repository whose library is one module, with two files to make of these texts."""
    for name in ("costlib/matmul.py", "book/page.md", "book/references.bib", *made.FILES):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("", "utf-8")
    texts = {"one": "1", "two": "2"}

    def maker(name: str) -> tuple[Callable[[], str], str]:
        return lambda: f"{texts[name]}\n", texts[name]

    monkeypatch.setattr(made, "ROOT", tmp_path)
    monkeypatch.setattr(made, "RECORD", tmp_path / "_build" / "made.json")
    monkeypatch.setattr(
        made, "_makers", lambda: {tmp_path / "book" / "api" / name: maker(name) for name in texts}
    )
    return texts


def names() -> list[str]:
    """The files that are made now."""
    return [path.name for path in made.make()]


def test_only_what_changed_is_made_again(written: dict[str, str]) -> None:
    assert (names(), names()) == (["one", "two"], [])
    place = made.ROOT / "book" / "api"
    (place / "two").write_text("by hand", "utf-8")
    assert (names(), (place / "two").read_text("utf-8")) == (["two"], "2\n")
    (place / "one").unlink()
    assert names() == ["one"]
    written["two"] = "3"
    (made.ROOT / "book" / "page.md").write_text("what two is made of", "utf-8")
    assert (names(), (place / "two").read_text("utf-8")) == (["two"], "3\n")
    (made.ROOT / "book" / "page.md").write_text("what nothing is made of", "utf-8")
    assert names() == []
    (made.ROOT / "costlib" / "matmul.py").write_text("2 * m * k * n", "utf-8")
    assert names() == ["one", "two"]


def test_what_is_no_longer_made_goes(written: dict[str, str]) -> None:
    assert names() == ["one", "two"]
    del written["one"]
    (made.ROOT / "costlib" / "matmul.py").write_text("2 * m * k * n", "utf-8")
    assert names() == ["two"]
    assert [path.name for path in (made.ROOT / "book" / "api").iterdir()] == ["two"]
    assert list(json.loads(made.RECORD.read_text("utf-8"))["files"]) == ["book/api/two"]


def test_nothing_that_is_made_is_committed() -> None:
    ignored = [ROOT / line for line in (ROOT / ".gitignore").read_text("utf-8").split()]
    for path in {**explorers.makers(), **generated.makers()}:
        assert {path, *path.parents} & {*ignored}, f"{path} is not in .gitignore"


def test_the_site_was_built_with_what_is_current() -> None:
    assert made.make() == [], "the site is older than the library: make book"
