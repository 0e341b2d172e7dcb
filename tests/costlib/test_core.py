"""The core that a newcomer reads first: the list and the picture in CONTRIBUTING are true."""

from __future__ import annotations

import re
from functools import cache

from test_imports import FLOORS, Arrows, arrows, sources

from code_lines import code_lines
from paths import ROOT

TEXT = (ROOT / "CONTRIBUTING.md").read_text("utf-8").partition("## Read these five files first")[2]
LISTED = {path: int(n) for path, n in re.findall(r"^\| `(costlib/\S+)` \| (\d+) \|", TEXT, re.M)}

#: Where the core leads on to what is no part of it: breadth, and what is quick on long columns.
DOORS = {
    "costlib.layers.indexer",
    "costlib.layers.latent",
    "costlib.model.catalog",
    "costlib.model.catalog.lookup",
    "costlib.model.checkpoint",
    "costlib.model.engines",
    "costlib.model.families",
    "costlib.timing.sweeps",
    "costlib.timing.waves",
    "costlib.units.unfolded",
}

#: What makes code quick and hard to read.
TRICKS = ("__set__", "__dict__", "lru_cache", "@cache", "cached_property", "_ZERO")


@cache
def standing() -> Arrows:
    """What imports what, read once for all tests."""
    return arrows(sources())


def test_each_file_has_about_the_lines_that_are_said() -> None:
    """Within a tenth, so that not every change of a file is one of the list."""
    found = {path: code_lines((ROOT / path).read_text("utf-8")) for path in LISTED}
    assert {path: n for path, n in found.items() if abs(n - LISTED[path]) > n / 10} == {}
    assert sum(found.values()) <= 3500


def test_the_sum_and_the_number_of_files_are_right() -> None:
    assert f"That is {sum(LISTED.values()):,} lines." in TEXT
    assert f"a core of {len(LISTED)} files" in TEXT


def test_the_core_needs_nothing_else_but_through_its_doors() -> None:
    core = {path.removesuffix(".py").replace("/", ".") for path in LISTED}
    graph = standing()
    assert {target for name in core for target in graph[name]} - core == DOORS


def test_no_trick_for_speed_is_in_it() -> None:
    texts = {path: (ROOT / path).read_text("utf-8") for path in LISTED}
    assert {(path, trick) for path in texts for trick in TRICKS if trick in texts[path]} == set()


def test_each_file_is_listed_after_those_that_it_stands_on() -> None:
    """So that who reads in order meets nothing unexplained; rooms stand from the ground up."""
    core = [path.removesuffix(".py").replace("/", ".") for path in LISTED]
    graph = standing()
    early = {(name, other) for at, name in enumerate(core) for other in graph[name] & {*core[at:]}}
    assert early == set()


def test_the_picture_shows_the_floors() -> None:
    drawn = re.search(r"```\n(.*?)```", TEXT, re.S)
    assert drawn is not None
    floors = [{name.removeprefix("costlib.") for name in line.split()} for line in FLOORS]
    assert [set(line.split()) for line in drawn[1].splitlines()] == floors[::-1]
