"""Copies of notebooks that stand alone: what they say, and that they run with nothing around."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
import venv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
import pytest

from paths import ROOT
from tools.pages import colab_check, colab_copies, pairs
from tools.site.identity import Identity, identity, of

BOOK = of("ada/lovelace")
SITE = "https://ada.github.io/lovelace"
NOTEBOOKS = [page.with_suffix("").relative_to(ROOT).as_posix() for page in pairs.paired()]
MYST = """\
(start)=
# Costs

As {ref}`start` says, {eq}`eq-cost` is {math}`2x`, see {doc}`gap` and {cite}`one2020title`.
Code says `{ref}` and `[a](b.md)`; math says $[a](b.md)$.

$$
y = 2x
$$ (eq-cost)

```{math}
:label: eq-other
z = 3y
```

:::{note}
Mind [the gap](gap.md#here),
{eq}`eq-other`.
:::

```{exercise} Half
:label: ex-half
How much?
```

````{solution} ex-half
```python
print(1 / 2)  # {ref}`not a role`
```
````

```{figure} _static/favicon.svg
:alt: A square
Its caption.
```
"""
FLAT = f"""\
# Costs

As [Costs]({SITE}/book/x.html#start) says, [(1)]({SITE}/book/x.html#eq-cost) is $2x$, \
see [gap]({SITE}/book/gap.html) and ([One, 2020](https://arxiv.org/abs/1)).
Code says `{{ref}}` and `[a](b.md)`; math says $[a](b.md)$.

$$
y = 2x \\tag{{1}}
$$

$$
z = 3y \\tag{{2}}
$$

> **Note.** Mind [the gap]({SITE}/book/gap.html#here),
> [(2)]({SITE}/book/x.html#eq-other).

### Exercise: Half

How much?

<details><summary>Solution</summary>

```python
print(1 / 2)  # {{ref}}`not a role`
```

</details>

![A square]({SITE}/_static/favicon.svg)

Its caption."""


def page(text: str = "", name: str = "book/x") -> colab_copies.Page:
    """A page that gives the labels of its text."""
    labels = {label: (name, number, title) for label, number, title in colab_copies.labels_of(text)}
    works = {"one2020title": ("One, 2020", "https://arxiv.org/abs/1")}
    return colab_copies.Page(name, BOOK, labels, works)


def test_myst_becomes_plain_markdown() -> None:
    assert colab_copies.flat(MYST, page(MYST)) == FLAT


@pytest.mark.parametrize(
    "text",
    ["{unknown}`x`", "```{tab-set}\n```", ":::{glossary}\nx\n:::", "> ```{note}\n> x\n> ```"],
)
def test_what_a_copy_cannot_say_is_an_error(text: str) -> None:
    with pytest.raises(ValueError, match="the copy"):
        colab_copies.flat(text, page())


@pytest.mark.parametrize(
    ("target", "address"),
    [
        ("api/index.md", f"{SITE}/book/api/index.html"),
        ("./gap.ipynb#x", f"{SITE}/book/gap.html#x"),
        ("#here", f"{SITE}/book/x.html#here"),
        ("../costlib/matmul.py", "https://github.com/ada/lovelace/blob/main/costlib/matmul.py"),
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
    solutions = len(code) - len(shown)
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
    for name in NOTEBOOKS:
        first = copies.read(name).cells[0].source
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
    done = subprocess.run([str(inside), "-c", ask], capture_output=True, text=True, check=True)
    own, ours = Path(done.stdout.strip()), Path(nbformat.__file__).parent.parent
    # A path file inside ours (which is how an editable costlib is found) is not followed.
    (own / "packages.pth").write_text(f"{ours}\n", "utf-8")
    return str(inside)


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_copy_runs_alone(copies: Copies, name: str, tmp_path: Path) -> None:
    """In an empty folder and an environment without costlib, the outputs are the committed ones."""
    python = bare(tmp_path / "environment")
    probe = [python, "-c", "import costlib"]
    assert subprocess.run(probe, cwd=tmp_path, capture_output=True, check=False).returncode
    executed = colab_check.run_alone(copies.path(name), python)
    assert colab_check.differences(copies.read(name), executed) == []
    assert executed.cells[0].outputs == [], "the first cell says nothing"
    where = subprocess.run(
        [*probe[:2], "import costlib; print(costlib.__file__)"],
        cwd=tmp_path, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert str(tmp_path) in where.stdout


@pytest.mark.parametrize("numpy", ["1.26.0", "1.26.4", "2.0.2", "2.4.6", "99.0"])
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
    pip = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--no-index"]
    pip += ["--disable-pip-version-check", "--root-user-action=ignore", "--target", str(home)]
    done = subprocess.run([*pip, str(wheel)], capture_output=True, text=True, check=True)
    assert done.stdout + done.stderr == ""
    after = {path: path.read_bytes() for path in home.rglob("*") if path.is_file()}
    assert {path: after.get(path) for path in before} == before
    assert {path.stem for path in after if path.parent.name in ("bin", "Scripts")} == {"costlib"}
    added = {path.relative_to(home).parts[0] for path in set(after) - set(before)}
    assert added - {"bin", "Scripts"} == {"costlib", "costlib-0.1.0.dist-info"}


def test_costlib_pins_nothing(copies: Copies) -> None:
    import zipfile

    with zipfile.ZipFile(next(copies.folder.glob("wheels/*/*.whl"))) as wheel:
        about = next(name for name in wheel.namelist() if name.endswith("METADATA"))
        needs = re.findall(r"^Requires-Dist: (.+)$", wheel.read(about).decode(), re.MULTILINE)
    assert needs
    assert [need for need in needs if re.search(r"==|<|~=", need.partition(";")[0])] == []


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


def test_without_overrides_the_configuration_speaks() -> None:
    who = identity(ROOT, {})
    assert isinstance(who, Identity)
    assert f"url: {who.url}\n" in (ROOT / "_config.yml").read_text("utf-8")
