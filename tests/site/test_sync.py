"""`make sync` executes the pages that an edit could change, and no others."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from nbformat.v4 import new_output

from paths import ROOT
from tools import contents
from tools.pages import dependencies, generated, pairs


def used(code: str) -> dict[str, list[str]]:
    """What of the library this code uses, as a page's kernel would say it."""
    whole = "\n".join([dependencies.WATCH, code, dependencies.TELL])
    done = subprocess.run(
        [sys.executable, "-c", whole], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return dependencies.tidied(done.stdout)


def test_modules_are_seen_however_they_are_imported() -> None:
    found = used("import costlib; costlib.matmul(1, 2, 3)")
    assert {f"costlib/{name}.py" for name in ("__init__", "layers/matmul", "units/numbers")} <= set(
        found["files"]
    )
    assert "costlib/model/kvcache.py" not in found["files"]
    assert "costlib/model/kvcache.py" in used("import costlib; costlib.kvcache")["files"]


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
    assert "costlib/model/catalog/__init__.py" in used(read.replace("devices", "__init__"))["files"]
    started = "import subprocess, sys; subprocess.run([sys.executable, '-c', ''])"
    assert used(started)["files"] == [dependencies.ALL]


def test_an_edit_of_what_was_used_changes_the_digest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = tmp_path / "costlib"
    shutil.copytree(ROOT / "costlib", library, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "requirements.lock", tmp_path)
    monkeypatch.setattr(dependencies, "ROOT", tmp_path)
    uses = {"files": ["costlib/layers/matmul.py"], "devices": ["T4"], "models": []}
    everything = {**uses, "files": [dependencies.ALL]}
    before = dependencies.digest(uses), dependencies.digest(everything)
    with (library / "model" / "kvcache.py").open("a") as file:
        file.write("# an edit elsewhere\n")
    assert dependencies.digest(uses) == before[0]
    assert dependencies.digest(everything) != before[1]
    with (library / "layers" / "matmul.py").open("a") as file:
        file.write("# an edit\n")
    assert dependencies.digest(uses) != before[0]
    assert dependencies.digest({**uses, "devices": ["V100"]}) != dependencies.digest(uses)


def test_an_edit_while_a_page_runs_is_not_missed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    library, page = tmp_path / "costlib", tmp_path / "page.md"
    (library / "layers").mkdir(parents=True)
    (library / "layers" / "matmul.py").write_text("2 * m * k * n\n", "utf-8")
    page.write_text("```{code-cell} ipython3\n1\n```\n", "utf-8")
    shutil.copy(ROOT / "requirements.lock", tmp_path)
    monkeypatch.setattr(dependencies, "ROOT", tmp_path)
    monkeypatch.setattr(pairs, "ROOT", tmp_path)
    monkeypatch.setattr(pairs, "DONE", tmp_path / "synced.json")
    edits = iter(["3 * m * k * n\n"])

    def execute(notebook: Any, _: Path) -> dict[str, list[str]]:
        for number, cell in enumerate(notebook.cells, start=1):
            cell.execution_count = number
        for edit in edits:
            (library / "layers" / "matmul.py").write_text(edit, "utf-8")
        return {"files": ["costlib/layers/matmul.py"], "devices": [], "models": []}

    monkeypatch.setattr(pairs, "_execute", execute)
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
