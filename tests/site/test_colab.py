"""Copies of notebooks that stand alone: what they say, and that they run with nothing around."""

from __future__ import annotations

import ast
import json
import os
import re
import shutil
import subprocess
import sys
import venv
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
import pytest

import costlib
import sampling
from course.builder.repository import _cloned_from
from paths import ROOT
from programs import ended
from tools.packages import PACKAGES
from tools.pages import colab_check, colab_copies, pairs
from tools.site.identity import Identity, identity, of

BOOK = of("ada/lovelace")
SITE = "https://ada.github.io/lovelace"
NOTEBOOKS = [page.with_suffix("").relative_to(ROOT).as_posix() for page in pairs.paired()]
MARKDOWN = """\
# Costs

Mind [the gap](gap.md#here). Code says `{ref}` and `[a](b.md)`; math says $[a](b.md)$.

```python
print("[a](b.md)")  # {ref}`not a role`
```

$$
[a](b.md)
$$
"""


def page(name: str = "book/x") -> colab_copies.Page:
    """A page of somebody's fork."""
    return colab_copies.Page(name, BOOK)


def test_only_links_change() -> None:
    there = f"[the gap]({SITE}/book/gap.html#here)"
    expected = MARKDOWN.replace("[the gap](gap.md#here)", there).strip("\n")
    assert colab_copies.flat(MARKDOWN, page()) == expected


@pytest.mark.parametrize(
    "text",
    [
        "{ref}`x`",
        "```{tab-set}\n```",
        ":::{note}\nx\n:::",
        "> ```{note}\n> x\n> ```",
        "(here)=\n# Title",
        "$$\ny\n$$ (eq-y)",
    ],
)
def test_what_a_copy_cannot_say_is_an_error(text: str) -> None:
    with pytest.raises(ValueError, match="the copy cannot say"):
        colab_copies.flat(text, page())


@pytest.mark.parametrize(
    ("target", "address"),
    [
        ("api/index.md", f"{SITE}/book/api/index.html"),
        ("./gap.ipynb#x", f"{SITE}/book/gap.html#x"),
        ("#here", f"{SITE}/book/x.html#here"),
        (
            "../costlib/layers/matmul.py",
            "https://github.com/ada/lovelace/blob/main/costlib/layers/matmul.py",
        ),
        ("_static/favicon.svg", f"{SITE}/_static/favicon.svg"),
        ("mailto:ada@example.org", "mailto:ada@example.org"),
    ],
)
def test_links_lead_to_the_published_site(target: str, address: str) -> None:
    assert page().link(target) == address


class Copies:
    """All copies of this book, made once, served where their first cells look."""

    def __init__(self, folder: Path, site: str) -> None:
        self.folder, self.site = folder, site
        colab_check.local_copies(folder, site)

    def read(self, name: str) -> Any:
        """The copy of one page."""
        return nbformat.read(self.path(name), as_version=4)

    def path(self, name: str) -> Path:
        """Where it is."""
        return self.folder / "colab" / f"{name.removeprefix('book/')}.ipynb"


@pytest.fixture(scope="module")
def copies(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Copies]:
    """Copies whose site is a folder on the loopback."""
    folder = tmp_path_factory.mktemp("site")
    with colab_check.served(folder) as site:
        yield Copies(folder, site)


def markdown(notebook: Any) -> str:
    """Everything that a notebook says in words."""
    return "\n\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_copy_says_everything_in_plain_markdown(copies: Copies, name: str) -> None:
    text = re.sub(r"```.*?```|`[^`\n]+`", "", markdown(copies.read(name)), flags=re.DOTALL)
    assert re.findall(r"\{[\w:-]+\}`|:::|^\([\w-]+\)=", text, re.MULTILINE) == []
    links = re.findall(r"\]\(([^)\s]+)\)", text)
    assert [link for link in links if not re.match("https?:|mailto:", link)] == []


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_copy_keeps_code_outputs_and_captions(copies: Copies, name: str) -> None:
    original = pairs.read_notebook(ROOT / f"{name}.md")
    assert original is not None
    code = [cell for cell in original.cells if cell.cell_type == "code"]
    shown = [c for c in code if not {"solution", "remove-cell"} & set(c.metadata.get("tags", []))]
    kept = [c for c in copies.read(name).cells[1:] if c.cell_type == "code"]
    kept = [cell for cell in kept if not cell.source.startswith("# Your turn")]
    assert [(c.source, c.outputs) for c in kept] == [(c.source, c.outputs) for c in shown]
    text = markdown(copies.read(name))
    captions = [c for c in code if "caption" in c.metadata.get("mystnb", {}).get("figure", {})]
    numbers = [int(number) for number in re.findall(r"^\*\*Figure (\d+)\.\*\*", text, re.MULTILINE)]
    assert numbers == list(range(1, len(captions) + 1))
    solutions = sum("solution" in c.metadata.get("tags", []) for c in code)
    assert text.count("<summary>Solution</summary>") == solutions


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_blank_exercises_hold_no_solution(copies: Copies, name: str) -> None:
    original = pairs.read_notebook(ROOT / f"{name}.md")
    assert original is not None
    solutions = [c for c in original.cells if "solution" in c.metadata.get("tags", [])]
    path = copies.folder / colab_copies.exercises(name)
    assert path.is_file() == bool(solutions)
    if solutions:
        text = path.read_text("utf-8")
        cells = nbformat.reads(text, as_version=4).cells
        stubs = [cell.source for cell in cells if "exercise" in cell.metadata]
        assert len(stubs) == len(solutions)
        assert "Solution</summary>" not in text
        for stub, solution in zip(stubs, solutions, strict=True):
            (was,), (now,) = ast.parse(solution.source).body[:1], ast.parse(stub).body
            assert isinstance(was, ast.FunctionDef)
            assert isinstance(now, ast.FunctionDef)
            assert (now.name, ast.dump(now.args)) == (was.name, ast.dump(was.args))
            assert len(now.body) == 2, "a docstring, and what says that nothing is there yet"
            assert f"check({now.name}" in text


def test_the_first_cell_installs_what_this_fork_published(copies: Copies) -> None:
    """The same in every copy, but for the comment that says which page it is."""
    cells = [copies.read(name).cells[0].source for name in NOTEBOOKS]
    assert len({first.partition("\n")[2] for first in cells}) == 1
    for first in cells:
        assert "--no-deps" in first
        parts = re.findall(r'^    "(.+)"$', first, re.MULTILINE)
        address, _, digest = "".join(parts).partition("#sha256=")
        assert address.startswith(f"{copies.site}/wheels/")
        wheel = copies.folder / address.removeprefix(f"{copies.site}/")
        assert wheel.is_file()
        assert not digest or len(digest) == 64


# ---------------------------------------------------------------- run alone


def bare(folder: Path) -> str:
    """A Python that has this environment's packages, but not costlib, and no repository."""
    venv.create(folder, with_pip=False, symlinks=sys.platform != "win32")
    inside = next(p for p in (folder / "bin/python", folder / "Scripts/python.exe") if p.exists())
    ask = "import sysconfig; print(sysconfig.get_path('purelib'))"
    own, ours = Path(ended(inside, "-c", ask).stdout.strip()), Path(nbformat.__file__).parent.parent
    # A path file inside ours (which is how an editable costlib is found) is not followed.
    (own / "packages.pth").write_text(f"{ours}\n", "utf-8")
    return str(inside)


@pytest.mark.parametrize("name", sampling.some(["book/index", "book/matmul"], 1, "a copy"))
def test_copy_runs_alone(copies: Copies, name: str, tmp_path: Path) -> None:
    """In an empty folder and an environment without costlib, the outputs are the committed ones.

    One copy is enough to run the first cell, which is the same in all. The pages' own cells run
    through nbval, in an empty folder and with costlib from its wheel (see conftest).
    """
    python = bare(tmp_path / "environment")
    probe = [python, "-c", "import costlib; print(costlib.__file__)"]
    about = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    assert ended(*probe, cwd=tmp_path, env=about).returncode
    executed = colab_check.run_alone(copies.path(name), python)
    assert colab_check.differences(copies.read(name), executed) == []
    assert executed.cells[0].outputs == [], "the first cell says nothing"
    assert str(tmp_path) in ended(*probe, cwd=tmp_path, env=about).stdout


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_no_cell_needs_one_that_a_copy_leaves_out(name: str) -> None:
    """Solutions are folded away in a copy: nothing that is left may use what they define."""
    notebook = pairs.read_notebook(ROOT / f"{name}.md")
    assert notebook is not None
    hidden: set[str] = set()
    for cell in notebook.cells:
        if cell.cell_type != "code":
            continue
        nodes = list(ast.walk(ast.parse(re.sub(r"^[!%].*$", "", cell.source, flags=re.MULTILINE))))
        bound = {node.name for node in nodes if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
        names = [node for node in nodes if isinstance(node, ast.Name)]
        bound |= {node.id for node in names if isinstance(node.ctx, ast.Store)}
        bound |= {
            each.asname or each.name.partition(".")[0]
            for node in nodes
            if isinstance(node, (ast.Import, ast.ImportFrom))
            for each in node.names
        }
        if {"solution", "remove-cell"} & set(cell.metadata.get("tags", [])):
            hidden |= bound
        else:
            hidden -= bound
            given = {node.arg for node in nodes if isinstance(node, ast.arg)}
            assert {node.id for node in names} & hidden - given == set(), cell.source


def test_the_wheel_holds_the_whole_library_and_pins_nothing(copies: Copies) -> None:
    with zipfile.ZipFile(next(copies.folder.glob("wheels/*/*.whl"))) as wheel:
        held = {name for name in wheel.namelist() if ".dist-info/" not in name}
        about = next(name for name in wheel.namelist() if name.endswith("METADATA"))
        needs = re.findall(r"^Requires-Dist: (.+)$", wheel.read(about).decode(), re.MULTILINE)
    assert needs
    assert [need for need in needs if re.search(r"==|<|~=", need.partition(";")[0])] == []
    files = [p for package in PACKAGES for p in (ROOT / package).rglob("*") if p.is_file()]
    files = [path for path in files if "__pycache__" not in path.parts]
    assert held == {path.relative_to(ROOT).as_posix() for path in files}


@pytest.mark.parametrize("numpy", ["1.26.0", "99.0"])
def test_installing_costlib_changes_nothing_else(
    copies: Copies, numpy: str, tmp_path: Path
) -> None:
    """Whatever NumPy is there, oldest to one yet to come: pip adds costlib, and touches no file."""
    venv.create(tmp_path / "environment", with_pip=False)
    home = tmp_path / "site"
    for name, version in (("numpy", numpy), ("pandas", "2.2.2"), ("matplotlib", "3.10.0")):
        about = home / f"{name}-{version}.dist-info"
        about.mkdir(parents=True)
        (about / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
        )
        (about / "RECORD").write_text("")
        (about / "INSTALLER").write_text("pip\n")
        (home / f"{name}.py").write_text(f"__version__ = {version!r}\n")
    before = {path: path.read_bytes() for path in home.rglob("*") if path.is_file()}
    wheel = next(copies.folder.glob("wheels/*/*.whl"))
    pip = ("-m", "pip", "install", "-q", "--no-deps", "--no-index", "--target", home)
    flags = ("--disable-pip-version-check", "--root-user-action=ignore")
    done = ended(sys.executable, *pip, *flags, wheel)
    assert (done.returncode, done.stdout + done.stderr) == (0, "")
    after = {path: path.read_bytes() for path in home.rglob("*") if path.is_file()}
    assert {path: after.get(path) for path in before} == before
    assert {path.stem for path in after if path.parent.name in ("bin", "Scripts")} == {"costlib"}
    added = {path.relative_to(home).parts[0] for path in set(after) - set(before)}
    assert added - {"bin", "Scripts"} == {*PACKAGES, f"costlib-{costlib.__version__}.dist-info"}


def test_a_difference_is_found() -> None:
    code = {"cell_type": "code", "metadata": {}, "execution_count": 1, "id": "a", "source": "1"}
    one = {**code, "outputs": [{"output_type": "stream", "name": "stdout", "text": "1\n"}]}
    other = {**code, "outputs": [{"output_type": "stream", "name": "stdout", "text": "2\n"}]}
    books = [
        nbformat.from_dict({"cells": [c], "metadata": {}, "nbformat": 4, "nbformat_minor": 5})
        for c in (one, other)
    ]
    assert colab_check.differences(books[0], books[0]) == []
    assert "stdout was" in colab_check.differences(*books)[0]
    ignored = json.loads(json.dumps(one))
    ignored["metadata"]["tags"] = [colab_check.IGNORED]
    books[0].cells = [nbformat.from_dict(ignored)]
    assert colab_check.differences(*books) == []


# ---------------------------------------------------------------- whose book


def test_environment_overrides_the_configuration() -> None:
    said = {"BOOK_REPOSITORY": "Grace/Hopper", "BOOK_COMMIT": "c0ffee", "BOOK_BRANCH": "trunk"}
    who = identity(ROOT, said)
    assert (who.repository, who.site) == ("Grace/Hopper", "https://grace.github.io/Hopper")
    assert (who.commit, who.branch, who.base) == ("c0ffee", "trunk", "/Hopper/")
    own = identity(ROOT, {**said, "BOOK_SITE": "https://book.example.org/"})
    assert (own.site, own.base) == ("https://book.example.org", "/")


@pytest.mark.parametrize("wrong", ["", "ada", "https://github.com/a/b", "a/b/c", "a/b c"])
def test_a_repository_is_owner_and_name(wrong: str) -> None:
    with pytest.raises(ValueError, match="owner/name"):
        of(wrong)


def test_without_overrides_git_speaks_and_then_the_configuration(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("BOOK_REPOSITORY", raising=False)
    shutil.copy(ROOT / "_config.yml", tmp_path)
    who = identity(tmp_path, {})
    assert isinstance(who, Identity)
    assert f"url: {who.url}\n" in (ROOT / "_config.yml").read_text("utf-8")
    _cloned_from.cache_clear()
    for command in (["init", "-q"], ["remote", "add", "origin", "git@github.com:Ada/Fork.git"]):
        subprocess.run(["git", *command], cwd=tmp_path, check=True)
    assert identity(tmp_path, {}).site == "https://ada.github.io/Fork"


def test_binder_has_what_the_pages_import_in_the_versions_of_the_lock() -> None:
    lock = (ROOT / "requirements.lock").read_text("utf-8")
    lines = (ROOT / ".binder" / "requirements.txt").read_text("utf-8").splitlines()
    pins = [line for line in lines if not line.startswith("#")]
    held = {line.split(" ")[0] for line in lock.splitlines()}
    assert {re.sub(r"\[.*\]", "", pin) for pin in pins} <= held
    here = {re.split(r"[=\[]", pin)[0] for pin in pins} | {"IPython", *PACKAGES}  # a kernel has it
    for page in pairs.paired():
        for cell in pairs.read_markdown(page).cells:
            tree = ast.parse(cell.source) if cell.cell_type == "code" else ast.parse("")
            for node in ast.walk(tree):
                names = [name.name for name in node.names] if isinstance(node, ast.Import) else []
                names += [str(node.module)] if isinstance(node, ast.ImportFrom) else []
                wanted = {name.partition(".")[0] for name in names} - sys.stdlib_module_names
                assert wanted <= here, (page.name, wanted - here)
    assert "pip install" in (ROOT / ".binder" / "postBuild").read_text("utf-8")
    assert os.access(ROOT / ".binder" / "postBuild", os.X_OK)
