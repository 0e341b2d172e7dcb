"""Whose is which file: found and matched with the roster before anything is graded.

A file belongs to whom its name or its folder says, in any spelling that a person or a system gives
it (case, accents, the e-mail address, `name_12345_week-1.ipynb`, ` (1)`); where they say nothing,
to whom the notebook says, which knows for whom it was made. What a system writes (the folder, the
front of a name) counts more than what follows, which a student may have chosen; an id is never lost
to somebody whose name is spelled like it. Of several notebooks of one student those of this
assignment come first, then the newest. Nobody on the roster is left out, strangers are kept apart,
and every choice that was made is a sentence in the report.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from course.builder.roster import folded, owners_of, spellings
from course.grader.exports import GRADESCOPE, Sent, sent_by_folder, when
from course.grader.submission import Submission, read_submission

__all__ = ["Handed", "Inbox", "find"]

MOST = 4  # more notebooks of one student, the newest, where the best counts


@dataclass(frozen=True)
class Handed:
    """One file, whose it is, and how that was found out: by its name, or by what it says."""

    student: str
    path: Path
    digest: str
    by_name: bool = True
    time: str = ""  # as far as the system that it came from says
    said_late: bool = False
    also: tuple[Handed, ...] = ()  # others of the same assignment, where the best counts


@dataclass
class Inbox:
    """What came in: a file for each student or stranger, and what the instructor should know."""

    handed: list[Handed] = field(default_factory=list)
    strangers: list[str] = field(default_factory=list)  # who is not on the roster
    missing: list[str] = field(default_factory=list)  # who is, and handed in nothing
    notes: list[str] = field(default_factory=list)
    flags: dict[str, str] = field(default_factory=dict)  # student -> to look into

    def report(self, folder: Path) -> str:
        """Everything that was decided, as a page."""
        who = "1 student" if len(self.handed) == 1 else f"{len(self.handed)} students"
        lines = [f"# What was handed in: notebooks of {who}", ""]
        for title, names in (("Nothing came from", self.missing), ("Strangers", self.strangers)):
            if names:
                lines += [f"{title}: {', '.join(_shown(name) for name in names)}.", ""]
        notes = [*self.notes, *(f"{_shown(who)}: {_shown(f)}" for who, f in self.flags.items())]
        lines += [*(f"- {note}" for note in notes), *([""] if notes else [])]
        lines += ["| student | file | found by |", "|---|---|---|"]
        for one in (file for first in self.handed for file in (first, *first.also)):
            where = one.path.relative_to(folder).as_posix()
            found = "its name" if one.by_name else "what the notebook says"
            lines.append(f"| {_shown(one.student)} | {_shown(where)} | {found} |")
        return "\n".join([*lines, ""])


def find(
    folder: Path,
    assignment: str,
    roster: Sequence[str] = (),
    aliases: Mapping[str, Sequence[str]] | None = None,
    pattern: str | None = None,
    *,
    groups: Mapping[str, str] | None = None,
    keep: str = "last",
) -> Inbox:
    """The files of a folder, each with its student; ``pattern`` finds the id in a path."""
    inbox, wanted = Inbox(), _id_pattern(pattern)
    known, sent = spellings(roster, aliases or {}), sent_by_folder(folder)
    shared = _shared(roster, aliases or {})
    unread: list[tuple[Path, str]] = []
    files = [_Candidate(path, folder, wanted) for path in _files(folder, unread)]
    inbox.notes += [
        f"{_shown(place.relative_to(folder).as_posix())} was not looked into: {why}"
        for place, why in unread
    ]
    if wanted and files and not any(file.matched for file in files):
        first = min(file.where for file in files)
        raise ValueError(f"--id {pattern!r} matches none of {len(files)} files, such as {first}")
    by_student: dict[str, list[_Candidate]] = {}
    for file in files:
        file.belongs(known, roster, sent, shared)
        if roster and file.student not in roster and not file.is_work:
            inbox.notes.append(f"{_shown(file.where)} is no notebook, and nobody's")
            continue
        by_student.setdefault(file.student, []).append(file)
    for student, candidates in sorted(by_student.items()):
        _settle(inbox, student, candidates, assignment, keep)
    _own_names_for_the_rest(inbox, by_student, assignment)
    _together(inbox, roster, groups or {}, by_student)
    inbox.handed = [_with_time(one, folder, sent) for one in inbox.handed]
    inbox.handed.sort(key=lambda one: one.student)
    inbox.strangers = [h.student for h in inbox.handed if roster and h.student not in roster]
    here = {one.student for one in inbox.handed}
    inbox.missing = [student for student in roster if student not in here]
    return inbox


class _Candidate:
    """A file, and what is known of it."""

    def __init__(self, path: Path, folder: Path, wanted: re.Pattern[str] | None) -> None:
        self.path, relative = path, path.relative_to(folder)
        self.where = relative.as_posix()
        self.name = relative.parts[0] if len(relative.parts) > 1 else _stem(path.name)
        match = wanted.search(self.where) if wanted else None
        self.matched = bool(match and match[1])
        if match and match[1]:
            self.name = match[1]
        self.is_notebook = path.suffix.casefold() == ".ipynb"
        self.newest = (path.lstat().st_mtime, self.where)
        content = read_submission(self.name, path)
        self.content: Submission = replace(content, cells=())  # a class's would fill the memory
        self.reads = not content.problem
        self.is_work = self.is_notebook or self.reads or path.suffix.casefold() == ".zip"
        self.student, self.by_name, self.sure = self.name, True, 0
        self.others: list[str] = []  # who handed it in together
        self.sender = folded(_without_copy(next(iter(_words(self.where)), self.name)))

    def belongs(
        self,
        known: Mapping[str, str],
        roster: Sequence[str],
        sent: Mapping[str, Sent],
        shared: Mapping[str, set[str]],
    ) -> None:
        """Settle whose it is: what its name says in full or in part, or what it says itself."""
        claims = self.content.claims
        senders = next((sent[p].senders for p in Path(self.where).parts[:-1] if p in sent), [])
        named = [next((known[folded(n)] for n in s if folded(n) in known), "") for s in senders]
        if ours := [student for student in named if student]:
            self.student = claims if claims in ours else ours[0]
            self.sure, self.others = 2, [student for student in ours if student != self.student]
            return
        whole = known.get(folded(self.name)) or known.get(folded(_without_copy(self.name)))
        if whole:
            self.student, self.sure = whole, 2
            return
        front = self.where.partition("/" if "/" in self.where else "_")[0]
        namesakes = shared.get(folded(front), set())  # a system's number says which of them
        for sure, place in ((1, front), (0, self.where)):
            words = [word for word in _words(place, known) if word in known]
            parts = {known[word] for word in words}
            # systems number files too: a number alone proves nothing against the notebook
            chance = claims in roster and parts != {claims} and all(w.isdigit() for w in words)
            chance = chance and not parts <= namesakes
            if len(parts) == 1 and not chance:
                self.student, self.sure = parts.pop(), sure
                return
        if claims in roster:
            self.student, self.by_name = claims, False


def _settle(
    inbox: Inbox, student: str, candidates: list[_Candidate], assignment: str, keep: str = "last"
) -> None:
    """One file of several: found by its name, a notebook, of this assignment, the newest."""

    def kind(file: _Candidate) -> tuple[bool, bool, bool, int]:
        right = file.content.assignment == assignment
        return file.by_name, file.is_notebook or file.reads, right, file.sure

    candidates.sort(key=lambda file: (kind(file), file.newest), reverse=True)
    alike = [file for file in candidates if kind(file) == kind(candidates[0])]
    if keep == "first":
        candidates.remove(alike[-1])
        candidates.insert(0, alike[-1])
    chosen, *others = candidates
    also: list[_Candidate] = [f for f in alike if f is not chosen] if keep == "best" else []
    also = also[:MOST]
    more = tuple(Handed(student, f.path, f.content.digest, f.by_name) for f in also)
    inbox.handed.append(
        Handed(student, chosen.path, chosen.content.digest, chosen.by_name, also=more)
    )
    if not chosen.reads:
        inbox.flags[student] = f"cannot be read: {chosen.content.problem}"
    others = [file for file in others if file not in also]
    passed = [_shown(file.where) for file in others if file.by_name]
    if also or passed:
        tried = ("the best of " if also else "") + _few([_shown(f.where) for f in (chosen, *also)])
        rest = f", not {_few(passed)}" if passed else ""
        inbox.notes.append(f"{_shown(student)}: {tried} counts{rest}")
    if not chosen.by_name:
        name = _shown(chosen.where)
        inbox.notes.append(f"{name} is {_shown(student)}'s, by what it says: its name says nothing")
    doubles = [f.where for f in others if not f.by_name or (f.sender != chosen.sender and f.reads)]
    if doubles:
        said = f"also says it is theirs: {_few(sorted(doubles))}"
        inbox.flags[student] = "; ".join(filter(None, [inbox.flags.get(student, ""), said]))


def _own_names_for_the_rest(
    inbox: Inbox, by_student: Mapping[str, list[_Candidate]], assignment: str
) -> None:
    """Notebooks that only say they are somebody's, who has another: strangers, by their names."""
    rest: dict[str, list[_Candidate]] = {}
    taken = {one.path for one in inbox.handed}
    here = {one.student for one in inbox.handed}
    for candidates in by_student.values():
        for file in candidates:
            if file.path not in taken and not file.by_name and file.name not in here:
                file.student, file.by_name = file.name, True
                rest.setdefault(file.name, []).append(file)
    for student, candidates in sorted(rest.items()):
        _settle(inbox, student, candidates, assignment)


def _together(
    inbox: Inbox,
    roster: Sequence[str],
    groups: Mapping[str, str],
    by_student: Mapping[str, list[_Candidate]],
) -> None:
    """What one of a group handed in counts for those of the group who handed in nothing."""
    here = {one.student: one for one in inbox.handed}
    sent_for: dict[str, str] = {}
    for student, candidates in by_student.items():
        for file in candidates:
            sent_for.update(dict.fromkeys(file.others, student))
    for student in roster:
        mates = [s for s in here if student in groups and groups.get(s) == groups[student]]
        mate = sent_for.get(student) or next(iter(mates), "")
        if student not in here and mate in here:
            inbox.handed.append(replace(here[mate], student=student))
            inbox.notes.append(f"{_shown(student)} handed in together with {_shown(mate)}")


def _with_time(one: Handed, folder: Path, sent: Mapping[str, Sent]) -> Handed:
    time, late = when(one.path, folder, sent)
    also = tuple(_with_time(other, folder, sent) for other in one.also)
    return replace(one, time=time, said_late=late, also=also)


def _shared(roster: Sequence[str], aliases: Mapping[str, Sequence[str]]) -> dict[str, set[str]]:
    """Every spelling that several students have."""
    return {name: who for name, who in owners_of(roster, aliases).items() if len(who) > 1}


def _words(where: str, known: Collection[str] = ()) -> Iterator[str]:
    """The parts of a path between the marks that systems put there: /, _ and the ending.

    An id may end as a second copy does (``ada-3``): what is known as it stands is left so.
    """
    parts = re.split(r"[/_]", re.sub(r"\.ipynb$", "", where, flags=re.IGNORECASE))
    for part in parts:
        if part:
            whole = folded(part)
            yield whole if whole in known else folded(_without_copy(part))
            group, _, person = part.partition("-")  # Moodle: Group A-Ada Lovelace_17_...
            if " " in group and person and not person.isdigit():
                yield folded(person)


def _without_copy(name: str) -> str:
    """A name without what a browser or a system adds to a second copy of a file.

    >>> _without_copy("ada (1)"), _without_copy("ada-2"), _without_copy("ada - Copy")
    ('ada', 'ada', 'ada')
    """
    return re.sub(r"(?: ?\(\d+\)|-\d{1,2}| - copy)$", "", name[:300], flags=re.IGNORECASE)


def _files(folder: Path, unread: list[tuple[Path, str]]) -> Iterator[Path]:
    """What was handed in: files, links too (to refuse them); not what a system leaves lying.

    Folders that cannot be looked into, as their path is too long, are told in ``unread``.
    """
    folders = [str(folder)]
    while folders:  # nothing recurses: there may be thousands of folders in each other
        place = folders.pop()
        try:
            with os.scandir(place) as found:
                inside = sorted(found, key=lambda entry: entry.name)
        except OSError as error:
            unread.append((Path(place), error.strerror or "it cannot be read"))
            continue
        seen = [entry for entry in inside if not entry.name.startswith(".")]
        for entry in seen:
            if entry.is_dir(follow_symlinks=False):
                folders += [entry.path] if entry.name != "__MACOSX" else []
            elif entry.name != GRADESCOPE:
                yield Path(entry.path)


def _id_pattern(pattern: str | None) -> re.Pattern[str] | None:
    """The pattern that finds an id in a path; its first group is the id."""
    if not pattern:
        return None
    try:
        wanted = re.compile(pattern)
    except re.error as error:
        raise ValueError(f"--id {pattern!r} is no regular expression: {error}") from error
    if not wanted.groups:
        raise ValueError(f"--id {pattern!r} has no group: put the id's part in brackets, (...)")
    return wanted


def _few(names: Sequence[str]) -> str:
    """The first of many: thousands would bury what else is said."""
    more = f" and {len(names) - 5} more" if len(names) > 5 else ""
    return ", ".join(names[:5]) + more


def _stem(name: str) -> str:
    return name.rpartition(".")[0] or name


def _shown(name: str) -> str:
    """A name as code in Markdown, whatever it holds; bytes that are no text as question marks."""
    text = "".join(c if c.isprintable() else "?" for c in name.encode("utf-8", "replace").decode())
    return "`" + text.replace("`", "'").replace("|", "/")[:200] + "`"
