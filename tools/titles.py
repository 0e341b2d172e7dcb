"""Whether a commit says in its title what it does: before it is made, and in CI.

A title is an order ("Count the scores of a mask"), has at most 72 characters, and is about one
change, so it has no semicolon; why it was made stands in the body. Standard library only.

    python tools/titles.py FILE           a commit's message while it is made (.ci/commit-msg)
    python tools/titles.py BASE..HEAD     the commits that were pushed
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

LONGEST = 72
#: Words that begin a statement, a question or a label, and no order.
NO_ORDER = re.compile(
    "a|all|an|and|any|as|at|by|each|every|for|from|he|her|how|if|in|is|it|its|more|my|no|nobody|not|"
    "nothing|now|of|on|one|only|or|our|she|some|that|the|their|there|these|they|this|those|three|"
    "to|two|we|what|when|where|whether|which|who|whose|why|with|you|your"
)
#: Endings of what was done, is being done or is done by something.
REPORTS = re.compile(r"(?:[^aeious]ed|[^r]ing|[^aious]s)$")
#: Orders with such an ending.
ORDERS = {"embed", "shed", "shred", "wed", "sling", "ping", "sing", "swing", "wring"}


def slips(title: str) -> list[str]:
    """What is wrong with a title; nothing with those that git writes by itself.

    >>> slips("Count the scores of a mask")
    []
    >>> slips("Counts scores; fixed a test")
    ['say what to do, as in "Count ..." or "Fix ...": not "Counts"', 'one change, so no semicolon']
    """
    if re.match(r'Merge |Revert "|fixup! |squash! ', title):
        return []
    first = re.split(r"[^A-Za-z-]", title)[0]
    word = first.lower()
    is_report = REPORTS.search(word) and word not in ORDERS
    found = []
    if not first[:1].isupper() or NO_ORDER.fullmatch(word) or is_report:
        found.append(f'say what to do, as in "Count ..." or "Fix ...": not "{first or title[:20]}"')
    if ";" in title:
        found.append("one change, so no semicolon")
    if len(title) > LONGEST:
        found.append(f"{len(title)} characters, and {LONGEST} are the most")
    return found


def pushed(commits: str) -> list[str]:
    """The titles of the commits in a range; of the last one, where its beginning is not known."""
    base = commits.partition("..")[0]
    known = subprocess.run(
        ["git", "cat-file", "-e", f"{base}^{{commit}}"], stderr=subprocess.DEVNULL
    )
    which = [commits] if base and known.returncode == 0 else ["-1"]
    command = ["git", "log", "--no-merges", "--format=%s", *which]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()


def main(what: str) -> int:
    """Say what is wrong; 1 if anything is."""
    if ".." in what and not Path(what).is_file():
        titles = pushed(what)
    else:
        lines = Path(what).read_text("utf-8").splitlines()
        titles = [line for line in lines if not line.startswith("#")][:1]
    wrong = {title: found for title in titles if (found := slips(title))}
    for title, found in wrong.items():
        print(f"{title}\n  " + "\n  ".join(found), file=sys.stderr)
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
