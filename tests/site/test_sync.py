"""`make sync` executes the pages that an edit could change, and no others."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from nbformat.v4 import new_output

from paths import ROOT
from programs import run
from tools import contents
from tools.pages import dependencies, generated, pairs


def used(code: str) -> dict[str, list[str]]:
    """What of the library this code uses, as a page's kernel would say it."""
    whole = "\n".join([dependencies.WATCH, code, dependencies.TELL])
    return dependencies.tidied(run("-c", whole))


def files(code: str) -> set[str]:
    """The files that this code uses, those that follow from imports too."""
    return dependencies._reached(used(code)["files"], dependencies.library())


def test_modules_are_seen_however_they_are_imported() -> None:
    found = files("import costlib; costlib.matmul(1, 2, 3)")
    assert found >= {
        f"costlib/{name}.py" for name in ("__init__", "layers/matmul", "units/numbers")
    }
    assert "costlib/model/kvcache.py" not in found
    assert "costlib/model/kvcache.py" in files("import costlib; costlib.kvcache")


def test_packages_are_seen_if_they_are_locked() -> None:
    assert used("import numpy, json, costlib")["packages"] == ["numpy"]
    assert used("import sympy")["packages"] == ["mpmath", "sympy"]


def test_entries_of_the_catalogue_are_seen_one_by_one() -> None:
    found = used("import costlib; costlib.devices['T4']; 'gpt2' in costlib.models")
    assert (found["devices"], found["models"]) == (["T4"], [])
    assert dependencies.CATALOGUES["devices"] not in found["files"]


@pytest.mark.parametrize("code", ["list(models)", "len(models)", "models.items()", "repr(models)"])
def test_going_through_a_catalogue_uses_all_of_it(code: str) -> None:
    if code == "models.items()":
        code = "[size for _, size in models.items()]"
    assert dependencies.ALL in used(f"from costlib import models; {code}")["models"]


def test_a_data_file_and_a_process_are_seen() -> None:
    read = "import costlib; open(costlib.__path__[0] + '/model/catalog/devices.py').read()"
    assert "costlib/model/catalog/__init__.py" in files(read.replace("devices", "__init__"))
    started = "import subprocess, sys; subprocess.run([sys.executable, '-c', ''])"
    assert used(started)["files"] == [dependencies.ALL]


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """One of three modules, where `wide` imports `deep`, and two pages, which use one each."""
    texts = {
        "costlib/__init__.py": "",
        "costlib/deep.py": "2",
        "costlib/wide.py": "if True:\n    from .deep import x\n",
        "costlib/alone.py": "3",
        "requirements.lock": "numpy==1.0 \\\n    --hash=sha256:00\nruff==1.0\n",
    }
    for page in ("first", "second"):
        texts[f"book/{page}.md"] = PAGE.replace("NAME", page)
    for name, text in texts.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, "utf-8")
    monkeypatch.setattr(dependencies, "ROOT", tmp_path)
    monkeypatch.setattr(pairs, "ROOT", tmp_path)
    monkeypatch.setattr(pairs, "DONE", tmp_path / "book" / "executed.jsonl")
    monkeypatch.setattr(pairs, "_execute", execute)
    return tmp_path


PAGE = """---
kernelspec:
  name: python3
  display_name: Python 3
  language: python
---

A text of NAME.

```{code-cell} ipython3
"NAME"
```
"""
USES = {"first": ["costlib/wide.py"], "second": ["costlib/alone.py"]}


def execute(notebook: Any, page: Path) -> dict[str, list[str]]:
    """As a kernel would, but at once."""
    for number, cell in enumerate(pairs._run(notebook), start=1):
        cell.execution_count = number
        cell.outputs = [new_output("stream", name="stdout", text=f"shown: {page.stem}\n")]
    packages = ["numpy"] if page.stem == "first" else []
    return {"files": USES[page.stem], "devices": [], "models": [], "packages": packages}


def done(folder: Path) -> list[str]:
    """What a sync of everything does to each page."""
    return [pairs.sync(page) for page in pairs.paired(folder)]


def edit(path: Path, old: str, new: str) -> None:
    """Change something in a file."""
    text = path.read_text("utf-8")
    assert old in text
    path.write_text(text.replace(old, new), "utf-8")


def test_nothing_is_executed_twice(repository: Path) -> None:
    assert (done(repository), done(repository)) == (["executed"] * 2, ["up to date"] * 2)


def test_another_checkout_executes_nothing(
    repository: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert done(repository) == ["executed"] * 2
    elsewhere = tmp_path_factory.mktemp("elsewhere") / "clone"
    shutil.copytree(repository, elsewhere)
    for module in (dependencies, pairs):
        monkeypatch.setattr(module, "ROOT", elsewhere)
    monkeypatch.setattr(pairs, "DONE", elsewhere / "book" / "executed.jsonl")
    assert done(elsewhere) == ["up to date"] * 2


@pytest.mark.parametrize(
    ("path", "old", "new", "expected"),
    [
        ("costlib/alone.py", "3", "4", ["up to date", "executed"]),
        ("costlib/deep.py", "2", "4", ["executed", "up to date"]),
        ("costlib/wide.py", "deep", "alone", ["executed", "up to date"]),
        ("requirements.lock", "numpy==1.0", "numpy==2.0", ["executed", "up to date"]),
        ("requirements.lock", "ruff==1.0", "ruff==2.0", ["up to date", "up to date"]),
        ("book/first.md", '"first"', '"else"', ["executed", "up to date"]),
        ("book/second.md", "A text", "A line", ["up to date", "its text was brought over"]),
        ("book/first.ipynb", "shown: first", "by hand", ["executed", "up to date"]),
    ],
)
def test_an_edit_executes_the_pages_that_it_could_change(
    repository: Path, path: str, old: str, new: str, expected: list[str]
) -> None:
    assert done(repository) == ["executed"] * 2
    edit(repository / path, old, new)
    stale = [not pairs.is_current(page) for page in pairs.paired(repository)]
    assert stale == [each == "executed" for each in expected]
    assert done(repository) == expected
    assert done(repository) == ["up to date"] * 2
    for page in pairs.paired(repository):
        assert pairs.problems(page) == []


def test_a_merge_of_two_branches_executes_what_neither_has_seen(repository: Path) -> None:
    assert done(repository) == ["executed"] * 2
    lines = {*pairs.DONE.read_text("utf-8").splitlines()}
    edit(repository / "costlib" / "deep.py", "2", "4")
    assert done(repository) == ["executed", "up to date"]
    lines |= {*pairs.DONE.read_text("utf-8").splitlines()}
    pairs.DONE.write_text("\n".join(sorted(lines)) + "\n", "utf-8")
    assert len(lines) == 3, "both sides' lines of the first page"
    assert done(repository) == ["up to date"] * 2
    assert len(pairs.executed()) == 2, "the line of the other side is gone"
    edit(repository / "costlib" / "wide.py", "True", "1")
    assert done(repository) == ["executed", "up to date"]
    assert len(pairs.executed()) == 2, "and one is left of each"


def test_every_page_stands_once_in_the_record() -> None:
    recorded = [line["page"] for line in pairs.executed()]
    twice = {page for page in recorded if recorded.count(page) > 1}
    assert twice == set(), "a merge kept both lines: execute these pages again"


def test_the_files_that_are_named_lead_to_all_that_were_used() -> None:
    files = dependencies.library()
    used = dependencies._reached(["costfigures/kvcache.py", "costlib/serving/__init__.py"], files)
    named = dependencies.leading(used)
    assert dependencies._reached(named, files) == used
    assert len(named) < len(used) / 3


def test_an_edit_while_a_page_runs_is_not_missed(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    edits = iter(["4"])

    def slowly(notebook: Any, page: Path) -> dict[str, list[str]]:
        for text in edits:
            (repository / "costlib" / "alone.py").write_text(text, "utf-8")
        return execute(notebook, page)

    monkeypatch.setattr(pairs, "_execute", slowly)
    page = repository / "book" / "second.md"
    assert [pairs.sync(page) for _ in range(3)] == ["executed", "executed", "up to date"]


def test_another_costlib_is_refused() -> None:
    said = '{"modules": ["/elsewhere/costlib/__init__.py"], "files": []}'
    with pytest.raises(ValueError, match="another costlib"):
        dependencies.tidied(said)


def test_pieces_of_one_stream_are_joined() -> None:
    texts = [("stdout", "a"), ("stdout", "b"), ("stderr", "c"), ("stdout", "d")]
    pieces = [new_output("stream", name=name, text=text) for name, text in texts]
    found = [(output.name, output.text) for output in pairs.joined(pieces)]
    assert found == [("stdout", "ab"), ("stderr", "c"), ("stdout", "d")]


def test_contents_come_from_one_table() -> None:
    toc = made()[ROOT / "_toc.yml"].split()
    assert [name for name in contents.pages() if f"book/{name}" not in toc] == []
    assert "](matmul.ipynb).** How much work" in made()[ROOT / "book" / "index.md"]


def made() -> dict[Path, str]:
    """The files that the table of contents makes."""
    return {
        ROOT / "_toc.yml": generated.toc(),
        ROOT / "book" / "index.md": generated.front_page(),
        ROOT / "tests" / "data" / "addresses.txt": generated.addresses(),
    }
