"""What a package index would get: whole, ours, the same twice, and nothing on a wrong tag."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import tarfile
import zipfile
from email import message_from_string
from importlib.metadata import distribution, packages_distributions
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement

import costlib
import programs
from paths import ROOT
from tools import release

WHO = {"BOOK_REPOSITORY": "ada-l/notes", "BOOK_COMMIT": "c0ffee" * 6, "BOOK_DATE": "2026-11-21"}
NAME = f"costlib-{costlib.__version__}"


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
    assert sorted(first) == [f"{NAME}-py3-none-any.whl", f"{NAME}.tar.gz"]
    assert first == second


def test_an_index_would_take_it(built: list[Path]) -> None:
    files = [str(path) for path in sorted(built[0].iterdir())]
    programs.run("-m", "twine", "check", "--strict", *files)
    programs.run("-m", "check_wheel_contents", files[0])


def test_it_says_whose_it_is(built: list[Path]) -> None:
    with zipfile.ZipFile(next(built[0].glob("*.whl"))) as wheel:
        about = wheel.read(f"{NAME}.dist-info/METADATA").decode("utf-8")
        assert "costlib/py.typed" in wheel.namelist()
        starts = wheel.read(f"{NAME}.dist-info/entry_points.txt").decode("utf-8")
    assert "costlib = costlib.command:main" in starts
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


def test_the_sdist_builds_the_same_wheel(built: list[Path], tmp_path: Path) -> None:
    with tarfile.open(next(built[0].glob("*.tar.gz"))) as sdist:
        sdist.extractall(tmp_path, filter="data")
    source = tmp_path / NAME
    assert (source / "CHANGELOG.md").read_bytes() == (ROOT / "CHANGELOG.md").read_bytes()
    pip = ("-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation", "-w", tmp_path)
    said = {**os.environ, "SOURCE_DATE_EPOCH": release.seconds(WHO["BOOK_DATE"])}
    programs.run(*pip, source, env=said)
    [wheel] = tmp_path.glob("*.whl")
    assert wheel.read_bytes() == (built[0] / wheel.name).read_bytes()


class Installed:
    """The wheel, and of this environment what `pip install "costlib[...]"` would bring with it."""

    def __init__(self, wheel: Path, home: Path) -> None:
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(home)
        self.home = home
        [about] = home.glob("*.dist-info/METADATA")
        self.about = message_from_string(about.read_text("utf-8"))
        self.page = str(self.about.get_payload())

    def brought(self, *extras: str) -> set[str]:
        """Modules of what is needed, and of what that needs in turn."""
        waiting = {Requirement(need) for need in self.about.get_all("Requires-Dist", [])}
        found: dict[str, set[str]] = {}
        while waiting:
            need = waiting.pop()
            wanted = ({"extra": extra} for extra in extras or ("",))
            if need.name in found or not any(
                need.marker is None or need.marker.evaluate(each) for each in wanted
            ):
                continue
            one = distribution(need.name)
            found[need.name] = {file.parts[0].removesuffix(".py") for file in one.files or ()}
            waiting |= {Requirement(more) for more in one.requires or ()}
        return set().union(*found.values())

    def run(self, program: str, folder: Path, *extras: str) -> subprocess.CompletedProcess[str]:
        """A program in an empty folder, by somebody new here, with no more than was installed."""
        folder.mkdir(exist_ok=True)
        others = {*packages_distributions()} - self.brought(*extras) - {"costlib"}
        alone = ALONE.format(others=others, home=str(self.home))
        home = dict.fromkeys(("HOME", "MPLCONFIGDIR"), str(folder))
        said = {**os.environ, **home, "PYTHONPATH": ""}
        command = (sys.executable, "-W", "error", "-c", alone + program)
        return programs.ended(*command, cwd=folder, env=said)


ALONE = """
import sys
class Alone:
    def find_spec(name, path=None, target=None):
        if name.partition(".")[0] in {others!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Alone)
sys.path.insert(0, {home!r})
"""


@pytest.fixture(scope="module")
def installed(built: list[Path], tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """The wheel where pip would put it."""
    return Installed(next(built[0].glob("*.whl")), tmp_path_factory.mktemp("installed"))


def blocks(page: str, language: str) -> str:
    """The one block of a language on a page."""
    [found] = re.findall(rf"^```{language}\n(.*?)^```", page, re.M | re.S)
    return str(found)


def test_lines_of_the_readme_run_with_numpy_alone(installed: Installed, tmp_path: Path) -> None:
    lines = [shlex.split(line) for line in blocks(installed.page, "sh").splitlines()]
    assert {name for name, *_ in lines} == {"costlib"}
    program = f"""
from costlib.command import main
for name, *words in {lines!r}:
    assert main(words) == 0, words
    print("answered")
assert not {{"pandas", "sympy", "matplotlib"}} & set(sys.modules)
"""
    (tmp_path / "empty").mkdir()
    log = ROOT / "tests" / "data" / "logs" / "vllm-0.12-llama-3.1-8b.log"
    shutil.copy(log, tmp_path / "empty" / "server.log")
    done = installed.run(program, tmp_path / "empty")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines().count("answered") == len(lines)
    assert {name for name in installed.brought() if not name.endswith(".dist-info")} >= {"numpy"}
    assert not {"pandas", "sympy", "matplotlib"} & installed.brought()


def test_python_of_the_readme_runs_with_the_extras_that_it_names(
    installed: Installed, tmp_path: Path
) -> None:
    extras = re.findall(r'^pip install "costlib\[([a-z,]+)\]"', installed.page, re.M)
    assert [set(each.split(",")) for each in extras] == [
        set(installed.about.get_all("Provides-Extra", []))
    ]
    program = blocks(installed.page, "python")
    done = installed.run(program, tmp_path / "whole", *extras[0].split(","))
    assert done.returncode == 0, done.stderr
    done = installed.run(program, tmp_path / "bare")
    assert done.stderr.strip().endswith('this needs sympy: pip install "costlib[symbols]"')


def test_a_tag_is_the_version_and_the_changelog_dated(tmp_path: Path) -> None:
    (tmp_path / "costlib").mkdir()
    (tmp_path / "costlib" / "__init__.py").write_text('__version__ = "3.1.0"\n', "utf-8")
    changes = tmp_path / "CHANGELOG.md"
    changes.write_text("# Changelog\n\n## 3.1.0, not yet released\n", "utf-8")
    with pytest.raises(SystemExit, match=r"'v3\.2\.0' is not the version: costlib has 3\.1\.0"):
        release.check_tag("v3.2.0", tmp_path)
    with pytest.raises(SystemExit, match="not yet released: date it first"):
        release.check_tag("v3.1.0", tmp_path)
    changes.write_text("# Changelog\n\n## 3.1.0, 2026-11-21\n", "utf-8")
    release.check_tag("v3.1.0", tmp_path)
    changes.write_text("# Changelog\n", "utf-8")
    with pytest.raises(SystemExit, match=r"says nothing of 3\.1\.0"):
        release.check_tag("v3.1.0", tmp_path)


def test_the_book_is_cited_and_changed_as_the_version_it_has() -> None:
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
    assert cited["version"] == costlib.__version__
    newest = re.search(r"^## ([0-9.]+), (.+)$", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.M)
    assert newest
    assert newest[1] == costlib.__version__
    assert newest[2] in ("not yet released", str(cited["date-released"]))


def test_the_workflow_publishes_on_a_tag_alone_and_keeps_no_token() -> None:
    text = (ROOT / ".github/workflows/release.yml").read_text("utf-8")
    said = yaml.safe_load(text)
    assert said[True] == {"push": {"tags": ["v[0-9]*"]}}, "YAML reads the word 'on' as True"
    trusted = [name for name, job in said["jobs"].items() if "id-token" in job["permissions"]]
    assert trusted == ["publish"]
    publish = said["jobs"]["publish"]
    assert (publish["needs"], publish["environment"]["name"]) == ("build", "pypi")
    assert [step["uses"].partition("@")[0] for step in publish["steps"]] == [
        "actions/download-artifact",
        "pypa/gh-action-pypi-publish",
    ]
    assert "secrets." not in text
    assert "password" not in text
    built = " ".join(step.get("run", "") for step in said["jobs"]["build"]["steps"])
    for check in ("make release", "TAG=", "twine check --strict", "check-wheel-contents"):
        assert check in built


def test_a_folder_with_something_in_it_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine").touch()
    with pytest.raises(SystemExit, match="not empty"):
        release.release(tmp_path, environment={**os.environ, **WHO})
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]


def test_an_owner_that_is_nobody_is_refused(tmp_path: Path) -> None:
    nobody = {**os.environ, **WHO, "BOOK_REPOSITORY": "owner/every-flop"}
    with pytest.raises(SystemExit, match=r"owner/every-flop is no repository.*REPO=owner/name"):
        release.release(tmp_path / "out", environment=nobody)
    assert not (tmp_path / "out").exists()
