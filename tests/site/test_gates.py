"""Proofs that the checks are real: each breaks one thing on purpose and sees it turn red."""

from __future__ import annotations

import copy
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from paths import ROOT
from programs import ended
from tools.packages import PACKAGES
from tools.pages import claims, numbers, pairs, prose

BUILD = "from jupyter_book.cli.main import main; main()"
FLAGS = ["build", ".", "-W", "-n", "--keep-going", "--all", "-q"]

BROKEN = {
    "dead_link": "[gone](nowhere.md)",
    "dead_anchor": "[gone](index.md#nowhere)",
    "undefined_reference": "{ref}`nowhere`",
    "undefined_citation": "{cite}`nobody2020`",
    "unknown_directive": "```{nonsense}\n```",
    "wrong_math": r"$\frac{1$",
    "missing_image": "![a picture](nowhere.svg)",
    "skipped_heading": "### too deep",
}


def project(folder: Path, pages: dict[str, str]) -> Path:
    """A small book with this book's own configuration, in a path with a space."""
    root = folder / "a book"
    (root / "book").mkdir(parents=True)
    shutil.copytree(ROOT / "tools", root / "tools", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(ROOT / "book" / "_static", root / "book" / "_static")
    for package in PACKAGES:
        shutil.copytree(ROOT / package, root / package)
    for extra in ("_config.yml", "pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / extra, root / extra)
    toc = "format: jb-book\nroot: book/index\nchapters:\n"
    (root / "_toc.yml").write_text(toc + "".join(f"  - file: book/{name}\n" for name in pages))
    for name, text in {"index": "A book.", **pages}.items():
        (root / "book" / f"{name}.md").write_text(f"# {name}\n\n{text}\n", "utf-8")
    return root


def build(root: Path) -> subprocess.CompletedProcess[str]:
    """Build it as the Makefile does."""
    return ended(sys.executable, "-c", BUILD, *FLAGS, cwd=root)


def test_the_makefile_builds_with_these_flags() -> None:
    makefile = (ROOT / "Makefile").read_text("utf-8")
    assert BUILD in makefile
    assert "build . -W -n --keep-going" in makefile
    assert re.search(r"\$\(BUILD\) --all -q", makefile)
    assert re.search(r"\$\(PYTEST\) --nbval tests costlib costfigures tools book", makefile)
    assert "--nbval-lax" not in makefile


def test_every_broken_page_fails_the_build_and_a_sound_one_does_not(tmp_path: Path) -> None:
    sound = {"sound": "Math $a^2$ and a [link](index.md)."}
    done = build(project(tmp_path, {**sound, **BROKEN}))
    assert done.returncode != 0
    said = re.sub(r"\x1b\[[0-9;]*m", "", done.stdout + done.stderr)
    noticed = {
        name for name in (*sound, *BROKEN) if re.search(rf"{name}\.md:?\d*: (WARN|ERR)", said)
    }
    if BROKEN["wrong_math"].strip("$") in said:  # rendered last, when no file is being read
        noticed.add("wrong_math")
    assert noticed == set(BROKEN), said
    page = tmp_path / "a book" / "_build" / "html" / "book" / "sound.html"
    assert "katex-html" in page.read_text("utf-8")


def executed(*cells: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """A notebook as if these cells had been run in order."""
    notebook = new_notebook(cells=list(cells))
    notebook.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3"}
    for number, cell in enumerate((c for c in cells if c.cell_type == "code"), start=1):
        cell.execution_count = number
        for output in cell.outputs:
            if output.output_type == "execute_result":
                output.execution_count = number
    return notebook


def printing(text: str) -> nbformat.NotebookNode:
    """A cell that prints 6, committed with this text as its output."""
    return new_code_cell(
        "print(2 * 3)", outputs=[new_output("stream", name="stdout", text=f"{text}\n")]
    )


def drawing(change: tuple[str, str] = ("", "")) -> nbformat.NotebookNode:
    """A cell that draws a figure, committed with a change to its SVG."""
    from costfigures import matmul as figures

    shown = figures.one_output()._repr_mimebundle_()
    assert change[0] in shown["image/svg+xml"]
    shown["image/svg+xml"] = shown["image/svg+xml"].replace(*change, 1)
    code = "from costfigures import matmul as figures\nfigures.one_output()"
    return new_code_cell(code, outputs=[new_output("execute_result", data=shown)])


def test_nbval_sees_a_changed_number_and_a_changed_figure(tmp_path: Path) -> None:
    notebooks = {
        "right.ipynb": executed(printing("6"), drawing()),
        "number.ipynb": executed(printing("7")),
        "figure.ipynb": executed(drawing(("#2f7fc1", "#2f7fc2"))),
    }
    for name, notebook in notebooks.items():
        nbformat.write(notebook, tmp_path / name)
    asked = ("-m", "pytest", "--nbval", "-q", "-p", "no:cacheprovider", tmp_path)
    done = ended(sys.executable, *asked, cwd=tmp_path, env={**os.environ, "PYTEST_ADDOPTS": ""})
    assert "2 failed, 2 passed" in done.stdout, done.stdout
    assert "FAILED number.ipynb" in done.stdout
    assert "FAILED figure.ipynb" in done.stdout


@pytest.fixture
def pair(tmp_path: Path) -> Path:
    """A sound pair: Markdown, and its executed notebook."""
    page = tmp_path / "page.md"
    page.write_text(
        "---\njupytext:\n  formats: ipynb,md:myst\n  text_representation:\n    extension: .md\n"
        "    format_name: myst\nkernelspec:\n  display_name: Python 3\n  name: python3\n---\n\n"
        "# Page\n\n```{code-cell} ipython3\nprint(2 * 3)\n```\n\n"
        "```{code-cell} ipython3\nprint(2 * 3)\n```\n",
        "utf-8",
    )
    cells = pairs.read_markdown(page).cells
    for cell in cells[1:]:
        cell.outputs = printing("6").outputs
    nbformat.write(executed(*cells), page.with_suffix(".ipynb"))
    assert pairs.problems(page) == []
    return page


PNG = new_output("display_data", data={"image/png": "AAAA"})
WARNING = new_output("stream", name="stderr", text="careful")
FAILED = new_output("error", ename="ValueError", evalue="", traceback=[])


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"execution_count": None, "outputs": []}, "not executed"),
        ({"execution_count": 1}, "not executed"),
        ({"source": "print(6)"}, "differ"),
        ({"outputs": [PNG]}, "PNG"),
        ({"outputs": [WARNING]}, "stderr"),
        ({"outputs": [FAILED]}, "failed with ValueError"),
    ],
)
def test_a_change_of_a_notebook_is_seen(pair: Path, change: dict[str, Any], said: str) -> None:
    """Of its last cell: without outputs, out of order, out of sync, or with what no page shows."""
    notebook = nbformat.read(pair.with_suffix(".ipynb"), as_version=4)
    notebook.cells[-1].update(copy.deepcopy(change))
    nbformat.write(notebook, pair.with_suffix(".ipynb"))
    assert said in pairs.problems(pair)[0]
    pair.with_suffix(".ipynb").unlink()
    assert "missing" in pairs.problems(pair)[0]


def test_an_orphan_page_is_seen(tmp_path: Path) -> None:
    root = project(tmp_path, {"listed": "Here."})
    assert pairs.orphans(root) == set()
    (root / "book" / "forgotten.md").write_text("# Forgotten\n")
    assert pairs.orphans(root) == {"book/forgotten"}


def test_a_figure_without_text_is_seen() -> None:
    assert prose.figures_without_text(executed(drawing())) == []
    for part in ("title", "desc"):
        cell = drawing()
        data = cell.outputs[0].data
        data["image/svg+xml"] = re.sub(f"<{part}[^>]*>.*?</{part}>", "", data["image/svg+xml"])
        assert len(prose.figures_without_text(executed(cell))) == 1


def test_a_number_typed_by_hand_is_seen() -> None:
    right = (
        "It costs 137.4 GFLOP, or $1.374 \\times 10^{11}$.",
        "137,438,953,472 FLOPs",
        "about 34 % of 400, from 30 to 34 per cent",
        "12 heads of Llama 3.1, in 16 bits",
    )
    wrong = ("It costs 137.5 GFLOP.", "It costs 137.4 TFLOP.", "137,438,953,473 FLOPs", "35 %")
    wrong += ("0.33 per cent", "13 heads", "$N = 400$", "$$1.375 \\cdot 10^{11}$$")
    more = "; z = 400; w = 0.3"
    for texts, slips, code in ((right, 0, more), (wrong, 1, "")):
        for text in texts:
            cells = new_markdown_cell(text), new_code_cell(f"x = 137438953472; y = 0.337{code}")
            assert len(numbers.uncomputed(executed(*cells))) == slips, text


def test_a_number_is_looked_for_the_nearer_the_fewer_digits_it_has() -> None:
    def missing(text: str) -> int:
        """Of a page with a cell in another section, one in this, and one below the text."""
        there, here = new_code_cell("far = 54321, 321, 21"), new_code_cell("y = 65432, 432, 32")
        between = new_markdown_cell("## Next"), here, new_markdown_cell("Then:")
        below = new_markdown_cell(text), new_code_cell("z = 43")
        return len(numbers.uncomputed(executed(there, *between, new_code_cell("pass"), *below)))

    assert missing("43 tokens, 432 and 54,321") == 0
    assert missing("321 tokens") == missing("32 tokens") == missing("21 tokens") == 1
    assert missing("321 and 21 tokens <!-- from: far -->") == 0
    assert missing("322 and 22 tokens <!-- from: far -->") == 2
    assert missing("Some tokens <!-- from: near -->") == 1, "no cell has that name"


def tagged(source: str, *tags: str) -> nbformat.NotebookNode:
    """A cell with tags."""
    return new_code_cell(source, metadata={"tags": list(tags)})


def test_a_claim_that_claims_nothing_is_seen() -> None:
    timing, kept = tagged("t", "nbval-ignore-output"), ("remove-cell", "claim", "nbval-skip")
    sound = tagged("x = 2 * 3"), tagged("assert x == 6", "remove-cell", "claim")
    assert claims.slips(executed(*sound, timing, tagged("assert t > 0", *kept))) == []
    for wrong in (
        [tagged("assert x == 6", "claim")],  # readers would see it
        [tagged("assert x == 6", "remove-cell")],
        [tagged("assert x == 6")],
        [tagged("x == 6", "remove-cell", "claim")],
        [tagged("assert 6 == 6.0", "remove-cell", "claim")],
        [tagged("assert x", "remove-cell", "claim")],  # true whatever was computed
        [tagged("assert x == 6", "remove-cell", "claim", "nbval-skip")],  # tests would not ask it
        [timing],
        [timing, tagged("assert t > 0", "remove-cell", "claim")],  # another machine's would
    ):
        assert claims.slips(executed(*wrong)) != [], wrong[-1].source


def test_a_page_whose_claim_fails_is_not_published(tmp_path: Path) -> None:
    cells = tagged("x = 2 * 3"), tagged("assert x == 7", "remove-cell", "claim")
    with pytest.raises(SystemExit, match=r"page\.md says something that does not hold:"):
        pairs._execute(executed(*cells), tmp_path / "page.md")


def test_a_timing_is_kept_only_with_what_it_was_held_to() -> None:
    def page(limit: int, shown: str) -> nbformat.NotebookNode:
        timing = printing(shown)
        timing.metadata["tags"] = ["nbval-ignore-output"]
        claim = tagged(f"assert t < {limit}", "remove-cell", "claim", "nbval-skip")
        return executed(timing, claim)

    for limit, expected in ((7, "6\n"), (5, "4\n")):
        new = page(limit, "4")
        pairs._keep_ignored_outputs(page(7, "6"), new)
        assert new.cells[0].outputs[0].text == expected


def test_slips_of_prose_are_seen() -> None:
    assert prose.slips("A plain [link](page.md), $x^2$ and `just code`.") == []
    assert prose.slips("- one\n- two\n\nBoth are numbers.") == []
    talk = ("It is just a sum.", "Simply add.", "312 TFLOPS")
    for wrong in (*talk, "See {eq}`x`.", ":::{note}\nx", "- one\n- two\nBoth are numbers."):
        assert len(prose.slips(wrong)) == 1, wrong


def test_slips_of_style_are_seen() -> None:
    assert prose.style_slips("A product reads two matrices and writes one.") == []
    assert len(prose.style_slips("It reads the the matrix.")) == 1


def test_an_unknown_letter_is_seen() -> None:
    known = prose.known_letters("| $B$, $B_r$ | batch | x |\n| $\\mathbf{Q}$ | | x |\n")
    assert known == ["B", "B_r", r"\mathbf{Q}"]
    right = r"$B \cdot B_r \text{ tokens}$, $$\mathbf{Q}_{ij} \le B_1$$, `$y$`, 5 $ and 6 $"
    assert prose.unknown_letters(right, known) == set()
    for wrong, letter in (
        ("$Q$", "Q"),
        ("$$B \n+ C$$", "C"),
        (r"$B_c$", "B_c"),
        (r"$\alpha$", r"\alpha"),
        (r"$\mathbf{B}$", r"\mathbf{B}"),
        (r"$\sum_{y} B$", "y"),
    ):
        assert prose.unknown_letters(wrong, known) == {letter}


def test_a_missing_part_of_a_chapter_is_seen() -> None:
    chapter = (
        "# Title\n\n**Why?**\n\n> **Predict.** Guess.\n\nThen you can\n\n- count.\n\n"
        "## One\n\nText.\n\n> **Takeaway.** So.\n\n"
        "## What this leaves out\n\n## Exercises\n\n## Further reading\n"
    )
    assert prose.missing_parts(chapter) == []
    for part in ("**Why?**", "Predict", "you can", "Takeaway", "## Exercises", "leaves out"):
        assert len(prose.missing_parts(chapter.replace(part, "x"))) >= 1, part


def test_a_figure_that_no_text_mentions_is_seen() -> None:
    cell = "```{code-cell}\n---\nmystnb:\n  figure:\n    name: fig-a\n---\n```\n"
    assert prose.unmentioned_figures(cell + "See [it](#fig-a).") == []
    assert prose.unmentioned_figures(cell) == ["fig-a"]
    assert prose.unmentioned_figures("See [it](#fig-b).") == ["fig-b"]


@pytest.mark.parametrize("asked", [["check"], ["format", "--check"]], ids=["lint", "format"])
def test_bad_code_fails_lint_and_format(asked: list[str]) -> None:
    command = (sys.executable, "-m", "ruff", *asked, "--stdin-filename", "costlib/bad.py", "-")
    done = ended(*command, input="import os\ndef f( x ): return x\n")
    assert done.returncode == 1, done.stderr


GOOD_SCRIPT = "/** One more. */\nexport const next = (n) => n + 1;\n"
BAD_SCRIPTS = {
    "format": {
        "indented": GOOD_SCRIPT.replace("export", "  export"),
        "quoted": GOOD_SCRIPT.replace("n + 1", '"n" + n'),
        "long": GOOD_SCRIPT.replace("One more.", "One more. " * 10),
    },
    "lint": {
        "unused": GOOD_SCRIPT + "const idle = 1;\n",
        "assigned": GOOD_SCRIPT + "let last;\nexport const now = (last = next(1));\n",
        "equal": GOOD_SCRIPT.replace("n + 1", "n == 1"),
    },
    "types": {
        "unknown": GOOD_SCRIPT.replace("n + 1", "m + 1"),
        "misspelled": GOOD_SCRIPT + "document.querySelektor('a');\n",
        "control": "/** @type {Control} */\nexport const one = { id: 'n', type: 'number' };\n",
        "chart": "/** @type {ChartSpec} */\nexport const one = { title: 'x', xs: ['1'] };\n",
        "table": "/** @type {Page['table']} */\nexport const table = () => ({ columns: 1 });\n",
        "page": "\nexport const controls = [];\nexport const compute = () => 1;\n",
    },
}


@pytest.mark.parametrize("command", BAD_SCRIPTS)
def test_a_bad_script_is_seen(tmp_path: Path, command: str) -> None:
    scripts = {"good": GOOD_SCRIPT, **BAD_SCRIPTS[command]}
    found = {}
    for name, text in scripts.items():
        file = tmp_path / f"{name}.js"
        file.write_text(text, "utf-8")
        done = ended(sys.executable, "-m", "tools.javascript.check", command, file)
        found[name] = done.returncode
    assert found == {name: int(name != "good") for name in scripts}


#: Of what all code stands on, which takes seconds to read.
CACHE = "--cache-dir", ROOT / ".mypy_cache"


def test_untyped_code_fails_the_type_check(tmp_path: Path) -> None:
    (tmp_path / "bad.py").write_text("def f(x):\n    return x\n")
    mypy = ("-m", "mypy", "--config-file", ROOT / "pyproject.toml", *CACHE, "bad.py")
    done = ended(sys.executable, *mypy, cwd=tmp_path)
    assert "no-untyped-def" in done.stdout
