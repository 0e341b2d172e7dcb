"""The class on one page, without a network: how marks are spread, how questions do, what to read.

Success is the mean share of a question's points. Discrimination is how that share goes together
with the rest of the points (a correlation, from -1 to 1): near zero a question does not tell who
knows the matter, below zero it wants a second look.
"""

from __future__ import annotations

import html
import math
from collections.abc import Sequence

from course.builder.answer_key import Key
from course.grader.marking import Graded, Mark
from course.grader.similar import Alike

__all__ = ["class_page", "discrimination", "frequent"]

STEPS = 10


def class_page(key: Key, results: Sequence[Graded], alike: Sequence[Alike], absent: int) -> str:
    """The whole page."""
    title = html.escape(key.source.title)
    shares = [graded.total / graded.out_of for graded in results if graded.out_of]
    said = f"{len(results)} handed in"
    said += f", {absent} did not" if absent else ""
    if shares:
        said += (
            f"; mean {sum(shares) / len(shares):.0%}, median {sorted(shares)[len(shares) // 2]:.0%}"
        )
    return "\n".join(
        [
            HEAD.format(title=title),
            f"<p>{said}.</p>",
            _histogram(shares),
            _questions(key, results),
            _similar(alike),
            "</html>\n",
        ]
    )


HEAD = """<!DOCTYPE html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta http-equiv="Content-Security-Policy"
  content="default-src 'none'; style-src 'unsafe-inline'">
<title>{title}: the class</title>
<style>
body {{ max-width: 60rem; margin: 2rem auto; padding: 0 1rem; font: 1rem/1.5 sans-serif }}
table {{ border-collapse: collapse }} td, th {{ padding: .3rem .8rem; text-align: left }}
tr {{ border-bottom: 1px solid #ccc }} td {{ vertical-align: top }}
svg {{ width: 100%; max-width: 40rem }} rect {{ fill: #2a6f97 }} text {{ font-size: 12px }}
</style>
<h1>{title}: the class</h1>"""


def _histogram(shares: Sequence[float]) -> str:
    """How many got which share of the points, drawn."""
    held = [0] * STEPS
    for share in shares:
        held[min(int(share * STEPS), STEPS - 1)] += 1
    top = max([*held, 1])
    bars = []
    for place, count in enumerate(held):
        height, x = 120 * count / top, 10 + 50 * place
        bars.append(f'<rect x="{x}" y="{140 - height:.1f}" width="44" height="{height:.1f}"/>')
        bars.append(f'<text x="{x + 16}" y="{135 - height:.1f}">{count or ""}</text>')
        bars.append(f'<text x="{x}" y="156">{100 * place // STEPS} %</text>')
    told = ", ".join(f"{n} from {10 * i} %" for i, n in enumerate(held) if n)
    label = html.escape(f"Students by their share of the points: {told or 'nobody yet'}")
    return (
        f'<h2>Points</h2>\n<svg viewBox="0 0 520 160" role="img" aria-label="{label}">'
        + "".join(bars)
        + "</svg>"
    )


def _questions(key: Key, results: Sequence[Graded]) -> str:
    """A row for each question."""
    rows = ["question", "answered by", "success", "discrimination", "time", "most frequent"]
    table = ["<h2>Questions</h2>", "<table><tr>"]
    table += [*(f"<th>{name}</th>" for name in rows), "</tr>"]
    for exercise, question in key.graded():
        pairs = _pairs(results, question.name)
        shares = [mark.score / mark.out_of for mark, _ in pairs]
        times = sorted(mark.seconds for mark, _ in pairs)
        told = discrimination([(m.score / m.out_of, rest) for m, rest in pairs])
        reasons = frequent([mark.reason for mark, _ in pairs if mark.reason])
        cells = [
            f"{html.escape(exercise.title)} <code>{question.name}</code>",
            str(len(pairs)),
            f"{sum(shares) / len(shares):.0%}" if shares else "",
            "" if told is None else f"{told:.2f}" + (" (look)" if told < 0.1 else ""),
            f"{times[len(times) // 2]:.1f} s, at most {times[-1]:.1f} s" if times else "",
            "<br>".join(f"{count} × {html.escape(reason)}" for reason, count in reasons),
        ]
        table.append("<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>")
    return "\n".join(
        [
            *table,
            "</table>",
            "<p>Time is what an answer took to run. Discrimination needs ten answers or more.</p>",
        ]
    )


def _pairs(results: Sequence[Graded], name: str) -> list[tuple[Mark, float]]:
    """Each student's mark for a question, and their share of all other points."""
    found = []
    for graded in results:
        mark = next((m for m in graded.marks if m.question == name and not m.waits), None)
        if mark is not None:
            others = [m for m in graded.marks if m is not mark and not m.waits]
            of = sum(m.out_of for m in others)
            found.append((mark, sum(m.score for m in others) / of if of else 0.0))
    return found


def discrimination(pairs: Sequence[tuple[float, float]]) -> float | None:
    """The correlation of a question's share with that of the rest; None where there is none.

    >>> discrimination([(i % 2, i % 2) for i in range(10)])
    1.0
    >>> discrimination([(1.0, i / 10) for i in range(10)]) is None
    True
    """
    if len(pairs) < 10:
        return None
    means = [sum(pair[k] for pair in pairs) / len(pairs) for k in (0, 1)]
    both = sum((a - means[0]) * (b - means[1]) for a, b in pairs)
    spread = [sum((pair[k] - means[k]) ** 2 for pair in pairs) for k in (0, 1)]
    return round(both / math.sqrt(spread[0] * spread[1]), 9) if all(spread) else None


def frequent(reasons: Sequence[str], most: int = 3) -> list[tuple[str, int]]:
    """The most frequent of them, with how often."""
    counts: dict[str, int] = {}
    for reason in reasons:
        counts[reason] = counts.get(reason, 0) + 1
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:most]


def _similar(alike: Sequence[Alike]) -> str:
    """What to read side by side."""
    if not alike:
        return "<h2>Similar functions</h2>\n<p>None that are long enough to say anything.</p>"
    rows = [
        f"<tr><td><code>{a.question}</code></td><td>{a.share:.0%}</td><td>{a.tokens}</td><td>"
        + html.escape(", ".join(a.students)[:500].encode("utf-8", "replace").decode())
        + "</td></tr>"
        for a in alike[:50]
    ]
    return "\n".join(
        [
            "<h2>Similar functions</h2>",
            "<p>Built alike after renaming. Two who learned together write alike, and so do two "
            "who found the same way: read them and ask before you conclude anything.</p>",
            "<table><tr><th>question</th><th>alike</th><th>length</th><th>students</th></tr>",
            *rows,
            "</table>",
        ]
    )
