"""A site is not built again where a build would make the same, and is after any change."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from paths import ROOT
from tools.site import built

#: One of each kind of thing that a site is made of.
MADE_OF = (
    *("_config.yml", "_toc.yml", "Makefile", "requirements.lock", "book/index.md"),
    *("book/matmul.ipynb", "book/_static/page.js", "costlib/__init__.py", "tools/site/lean.py"),
)


def git(folder: Path, *words: str) -> None:
    """Ask git, as somebody."""
    who = "-c", "user.name=Ada", "-c", "user.email=ada@example.org"
    subprocess.run(["git", *who, *words], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A checkout with one file of each kind, and what was built of them."""
    for name in (*MADE_OF, ".gitignore"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / name, tmp_path / name)
    (tmp_path / "_build" / "html").mkdir(parents=True)
    (tmp_path / "_build" / "html" / "index.html").write_text("a page")
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", "-A")
    git(tmp_path, "commit", "-qm", "A book")
    return tmp_path


def test_any_change_builds_the_site_again(site: Path) -> None:
    before = built.state(site)
    assert before
    for name in MADE_OF:
        held = (site / name).read_bytes()
        (site / name).write_bytes(held + b" ")
        assert built.state(site) != before, name
        (site / name).write_bytes(held)
        assert built.state(site) == before, "as it was"
    (site / "book" / "matmul.ipynb").rename(site / "book" / "product.ipynb")
    assert built.state(site) != before
    (site / "book" / "product.ipynb").rename(site / "book" / "matmul.ipynb")
    (site / "book" / "new.md").write_text("# A page that git does not know yet\n")
    assert built.state(site) != before
    (site / "book" / "new.md").rename(site / "_build" / "new.md")
    assert built.state(site) == before, "git ignores it, and so does a build"


def test_another_commit_or_owner_builds_it_again(
    site: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = [built.state(site)]
    monkeypatch.setattr(built, "identity", lambda _: "another owner")
    found.append(built.state(site))
    monkeypatch.undo()
    git(site, "commit", "--allow-empty", "-qm", "The foot of each page names this one")
    found.append(built.state(site))
    assert len({*found}) == 3


def test_a_page_changed_after_it_was_built_is_built_again(site: Path) -> None:
    before, page = built.state(site), site / "_build" / "html" / "index.html"
    page.write_text("another page")
    assert built.state(site) != before
    page.unlink()
    assert built.state(site) == "", "no site is like no other"


def test_without_git_nobody_knows(site: Path) -> None:
    shutil.rmtree(site / ".git")
    (site / ".git").write_text("gitdir: nowhere")
    assert built.state(site) == ""


def test_the_makefile_asks_before_it_tests_and_notes_what_was_built_from_scratch() -> None:
    makefile = (ROOT / "Makefile").read_text("utf-8")
    asks, builds, notes = "$(BUILT) || {", "$(BUILD) --all -q", "$(BUILT) --note"
    test = makefile.partition("\ntest: made")[2].partition("\n\n")[0]
    assert test.index(asks) < test.index(builds) < test.index(notes)
    book = makefile.partition("\nbook: made")[2].partition("\n\n")[0]
    assert "[ -e _build/html ] || [ -e _build/.doctrees ] || from_scratch=--note" in book, (
        "a build on top of another is not noted"
    )
