"""The page of the ten questions: who answers, in how many statements, how fast, how far off."""

from __future__ import annotations

import ast
import importlib
import inspect
import json
import textwrap
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from statistics import median
from typing import Any

from tools import ROOT
from tools.bench.asked.questions import QUESTIONS, Question
from tools.bench.asked.words import TOP, WHY_NOT

FILE = ROOT / "tools/bench/questions.json"
PAGE = ROOT / "tools/bench/questions.md"
#: Modules of programs, and what the page calls them.
TOOLS = {
    "costlib": "costlib",
    "typical": "costlib, typical",
    "llm_analysis": "llm-analysis",
    "genz": "GenZ",
    "aiconfigurator": "aiconfigurator",
    "calflops": "calflops",
    "hf_mem": "hf-mem",
    "mlsysim": "mlsysim",
}
OURS = ("costlib", "typical")
#: Times the least error, and the least time, that count as no more.
LEVEL = {"nearest": 1.1, "fastest": 1.2}
SHOWN = 0.0005  # of an error; the page rounds to a tenth of a percent


@dataclass(frozen=True)
class Cell:
    """What one package said to one question; or why it says nothing."""

    tool: str
    errors: tuple[float, ...] = ()
    asked: int = 0
    statements: int = 0
    seconds: float = 0.0
    remark: str = ""

    @property
    def off(self) -> float:
        """The median error, without its sign."""
        return median(abs(error) for error in self.errors)

    @property
    def answers(self) -> str:
        """Yes, no, or for some of the rows."""
        if not self.errors:
            return "no"
        return "yes" if len(self.errors) == self.asked else f"{len(self.errors)} of {self.asked}"


def programs(tool: str) -> Any:
    """The module of a package's programs."""
    return importlib.import_module(f"tools.bench.asked.with_{tool}")


def program(tool: str, question: str) -> Callable[[Any], Any] | None:
    """A package's program for a question, if it has one."""
    found: Callable[[Any], Any] | None = getattr(programs(tool), question.replace(" ", "_"), None)
    return found


def said() -> dict[str, Any]:
    """What every package answered when it was asked last."""
    found: dict[str, Any] = json.loads(FILE.read_text("utf-8"))
    return found


def statements(function: Callable[..., Any], seen: set[str] | None = None) -> int:
    """Statements of a program and of the functions here that it calls; imports do not count.

    >>> statements(programs("costlib").decode), statements(programs("typical").decode)
    (2, 4)
    """
    seen = set() if seen is None else seen
    tree = ast.parse(textwrap.dedent(inspect.getsource(function))).body[0]
    nodes = list(ast.walk(tree))
    count = sum(isinstance(node, ast.stmt) for node in nodes) - 1
    count -= sum(isinstance(node, (ast.Import, ast.ImportFrom)) for node in nodes)
    for called in _called(nodes, function.__globals__):
        if called.__module__.startswith(__package__ + ".with_") and called.__qualname__ not in seen:
            seen.add(called.__qualname__)
            count += statements(called, seen)
    return count


def _called(nodes: Iterable[ast.AST], names: Mapping[str, Any]) -> Iterable[Any]:
    """Functions that are called by name, or as attributes of a module of programs."""
    for node in nodes:
        if isinstance(node, ast.Call):
            called = node.func
            if isinstance(called, ast.Name) and inspect.isfunction(names.get(called.id)):
                yield names[called.id]
            elif isinstance(called, ast.Attribute) and isinstance(called.value, ast.Name):
                module = names.get(called.value.id)
                if inspect.ismodule(module) and inspect.isfunction(getattr(module, called.attr, 0)):
                    yield getattr(module, called.attr)


def cell(tool: str, question: Question, record: Mapping[str, Any]) -> Cell:
    """What a package's answers to a question amount to."""
    known, asked = program(tool, question.key), len(question.rows)
    if known is None:
        return Cell(tool, asked=asked, remark=programs(tool).REMARKS[question.key])
    answer = record["answers"][tool][question.key]
    pairs = zip(answer["answers"], question.rows, strict=True)
    errors = tuple(found / row["value"] - 1 for found, row in pairs if found is not None)
    count = statements(known)
    return Cell(
        tool, errors, asked, count, answer["seconds"], programs(tool).REMARKS.get(question.key, "")
    )


def firsts(cells: Iterable[Cell]) -> dict[str, list[str]]:
    """Which rows are nearest, shortest and fastest, of those that answer everything."""
    whole = [each for each in cells if each.answers == "yes"]
    near = min(each.off for each in whole) * LEVEL["nearest"] + SHOWN
    short = min(each.statements for each in whole)
    fast = min(each.seconds for each in whole) * LEVEL["fastest"]
    return {
        "nearest": [each.tool for each in whole if each.off <= near],
        "shortest": [each.tool for each in whole if each.statements == short],
        "fastest": [each.tool for each in whole if each.seconds <= fast],
    }


def is_behind(cells: Iterable[Cell]) -> bool:
    """Whether neither of costlib's rows is among the first in something."""
    return any(not set(OURS) & set(tools) for tools in firsts(cells).values())


def table(record: Mapping[str, Any]) -> str:
    """The page."""
    cells = {
        key: [cell(tool, question, record) for tool in TOOLS] for key, question in QUESTIONS.items()
    }
    lines = [_top(record), "", "| question | " + " | ".join(TOOLS.values()) + " |"]
    lines.append("|---|" + "---:|" * len(TOOLS))
    for key, row in cells.items():
        shown = (_shown(each) for each in row)
        lines.append(f"| [{key}](#{key.replace(' ', '-')}) | " + " | ".join(shown) + " |")
    for key, row in cells.items():
        lines += ["", *_section(QUESTIONS[key], row)]
    return "\n".join(lines) + "\n"


def _shown(each: Cell) -> str:
    """An entry of the first table; of some rows alone it says so."""
    if not each.errors:
        return "as datasheet" if each.tool in OURS else "no"
    return f"{each.off:.1%}" + ("" if each.answers == "yes" else f" ({each.answers})")


def _top(record: Mapping[str, Any]) -> str:
    needs = ", ".join(
        programs(tool).NEEDS[0].replace("==", " ") for tool in TOOLS if tool not in OURS
    )
    return TOP.format(date=record["date"], where=record["where"], needs=needs)


def _section(question: Question, row: list[Cell]) -> list[str]:
    count = len(question.rows)
    many = "1 row" if count == 1 else f"{count} rows"
    lines = [
        f"## {question.key}",
        "",
        f"{question.words} In {question.unit}; {many}: {question.source}.",
        "",
        "| | answers | off, median | off, at most | statements | a call |",
        "|---|---|---:|---:|---:|---:|",
    ]
    for each in row:
        name = TOOLS[each.tool]
        if each.errors:
            most = max(each.errors, key=abs)
            lines.append(
                f"| {name} | {each.answers} | {each.off:.1%} | {most:+.1%} "
                f"| {each.statements} | {_seconds(each.seconds)} |"
            )
        elif each.tool != "typical":
            lines.append(f"| {name} | no | | | | |")
    notes = [
        f"{TOOLS[each.tool]}: {each.remark}."
        for each in row
        if each.remark and each.tool != "typical"
    ]
    lines += ["", *(f"- {note}" for note in notes)] if notes else []
    return [*lines, "", _verdict(question, row)]


def _verdict(question: Question, row: list[Cell]) -> str:
    parts = [
        f"**{word.capitalize()}:** {'; '.join(TOOLS[tool] for tool in tools)}."
        for word, tools in firsts(row).items()
    ]
    return " ".join([*parts, WHY_NOT[question.key]] if is_behind(row) else parts)


def _seconds(value: float) -> str:
    """Two digits, or whole milliseconds.

    >>> _seconds(0.000077), _seconds(0.6712), _seconds(13.3)
    ('0.077 ms', '671 ms', '13.3 s')
    """
    if value >= 1:
        return f"{value:.1f} s"
    return f"{1e3 * value:.0f} ms" if value >= 0.1 else f"{1e3 * value:.2g} ms"
