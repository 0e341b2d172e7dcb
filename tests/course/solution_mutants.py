"""Solutions changed on purpose, one sign or number at a time: does an answer notice?

Answers are those of ``course/practice``: the statement's (ANSWERS), another way for any numbers
(APART; also for those on an edge, EDGES), and where many are right, the check that says which.
What nothing notices is listed in ``surviving_solutions.json``, with the reason where it is known;
write it anew with ``python tests/course/solution_mutants.py``.
"""

from __future__ import annotations

import ast
import copy
import json
import runpy
from collections.abc import Callable, Iterator, Sequence
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


def survivors(key: Key, checks: Path, same: Callable[[Any, Any], bool]) -> dict[str, list[str]]:
    """The changes of a chapter's solutions that no answer notices."""
    namespace, known = key.source.namespace(), runpy.run_path(str(checks))
    found: dict[str, list[str]] = {}
    for exercise, question in key.by_machine():
        name, another = exercise.name, known.get("APART", {}).get(exercise.name)
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
    import test_practice

    reasons = json.loads(LISTED.read_text("utf-8"))
    every: dict[str, dict[str, str]] = {}
    for chapter in test_practice.CHAPTERS:
        page = test_practice.PRACTICE / f"{chapter}.checks.py"
        left = survivors(test_practice.key_of(chapter), page, test_practice.is_same)
        for name, changes in left.items():
            why = reasons.get(name, {})
            every[name] = {change: why.get(change, "") for change in changes}
    LISTED.write_text(json.dumps(every, indent=1, ensure_ascii=False) + "\n", "utf-8")
    unexplained = sum(not why for left in every.values() for why in left.values())
    print(
        f"{sum(map(len, every.values()))} changes of {len(every)} solutions are not noticed, "
        f"{unexplained} of them without a reason"
    )
