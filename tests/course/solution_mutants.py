"""Solutions changed on purpose, one sign or number at a time: does an answer notice?

Answers are those of ``course/practice``: the statement's (ANSWERS), another way for any numbers
(APART; also for those on an edge, EDGES), and where many are right, the check that says which.
What nothing notices is listed in ``surviving_solutions.json``, with the reason. For an exercise,
``python tests/course/solution_mutants.py NAME`` lists what nothing notices and is not in that file.
"""

from __future__ import annotations

import ast
import copy
import json
import runpy
import sys
from collections.abc import Callable, Container, Iterator, Sequence
from pathlib import Path
from typing import Any

from course.builder.answer_key import Key
from course.builder.questions import as_plain
from course.grader.marking import _no_longer_than

LISTED = Path(__file__).with_name("surviving_solutions.json")
SWAPS: dict[type[Any], type[Any]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Add,
    ast.Pow: ast.Mult,
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.And: ast.Or,
    ast.Or: ast.And,
}
#: Much longer a call: their changes are listed, and not tried again in every run.
SLOW = (
    *("model_for_budget", "serve", "serve_timed", "overstated_from", "finish", "two_constants"),
    "best_plan",
)


def mutants(function: str) -> Iterator[tuple[str, str]]:
    """What was changed, and the function with that change."""
    tree = ast.parse(function)
    for place, node in enumerate(ast.walk(tree)):
        change = _change(node)
        if change is not None:
            changed = copy.deepcopy(tree)
            change(next(n for i, n in enumerate(ast.walk(changed)) if i == place))
            where = ast.unparse(node)
            now = ast.unparse(next(n for i, n in enumerate(ast.walk(changed)) if i == place))
            yield f"{where} -> {now}", ast.unparse(changed)


def _change(node: ast.AST) -> Callable[[Any], None] | None:
    """How a node is changed, if it is one of those that are."""
    if isinstance(node, ast.BinOp) and type(node.op) in SWAPS:
        return lambda n: setattr(n, "op", SWAPS[type(n.op)]())
    if isinstance(node, ast.BoolOp):
        return lambda n: setattr(n, "op", SWAPS[type(n.op)]())
    if isinstance(node, ast.Compare) and type(node.ops[0]) in SWAPS:
        return lambda n: n.ops.__setitem__(0, SWAPS[type(n.ops[0])]())
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        return lambda n: setattr(n, "value", n.value + 1)
    if isinstance(node, ast.Name) and node.id in ("min", "max"):
        return lambda n: setattr(n, "id", "max" if n.id == "min" else "min")
    return None


def cases_of(
    key: Key, name: str, known: dict[str, Any], students: Sequence[str]
) -> list[dict[str, Any]]:
    """What students are asked, and numbers on an edge where rounding would be unfair to them."""
    example, edges = key.exercise(name).example, known.get("EDGES", {}).get(name, ())
    asked = [case for student in students for case in key.cases(name, student)]
    return [*asked, *({**example, **edge} for edge in edges)]


def survivors(
    key: Key, checks: Path, same: Callable[[Any, Any], bool], among: Container[str] | None = None
) -> dict[str, list[str]]:
    """The changes of a chapter's solutions, or of those ``among`` some, that no answer notices."""
    namespace, known = key.source.namespace(), runpy.run_path(str(checks))
    found: dict[str, list[str]] = {}
    for exercise, question in key.by_machine():
        name, another = exercise.name, known.get("APART", {}).get(exercise.name)
        if among is not None and name not in among:
            continue
        cases = cases_of(key, name, known, ("", "ada")) if another else []
        asked = [(exercise.example, known["ANSWERS"][name])]
        asked += [(case, as_plain(another(**case))) for case in cases]

        def noticed(code: str, name: str = name, asked: Any = asked, judge: Any = question) -> bool:
            space = dict(namespace)
            try:
                with _no_longer_than(0.5):
                    exec(compile(code, name, "exec"), space)
                    given = [(case, right, as_plain(space[name](**case))) for case, right in asked]
                    if judge.public or judge.compare:  # another answer may be as right
                        return any(judge.judge(c, r, a) is not True for c, r, a in given)
                    return not all(same(answer, right) for _, right, answer in given)
            except BaseException:
                return True

        if name not in SLOW:
            left = [what for what, code in mutants(exercise.function) if not noticed(code)]
            if left and not (question.public or question.compare):
                found[name] = sorted(left)
    return found


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))  # where pytest finds the tests' own modules
    import test_practice

    named, listed = {*sys.argv[1:]}, json.loads(LISTED.read_text("utf-8"))
    keys = {chapter: test_practice.key_of(chapter) for chapter in test_practice.CHAPTERS}
    known = {exercise.name for key in keys.values() for exercise, _ in key.by_machine()}
    if named - known:
        sys.exit(f"no exercise is called {', '.join(sorted(named - known))}")
    unseen = 0
    for chapter, key in keys.items():
        page = test_practice.PRACTICE / f"{chapter}.checks.py"
        found = survivors(key, page, test_practice.is_same, named or known)
        for name, changes in found.items():
            for change in changes:
                if change not in listed.get(name, {}):
                    unseen += 1
                    print(f"{name}: {change}")
    if not unseen:
        print(f"every change of {', '.join(sorted(named)) or 'all exercises'} is noticed or listed")
