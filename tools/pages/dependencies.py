"""What of the library a page used while it ran, so that an edit executes only pages that used it.

The page's own kernel says so: which modules of costlib it imported in the end, directly or not,
which data files it opened, which devices and models it looked up, and which locked packages it
loaded. A page that goes through a whole catalogue depends on all of it, one that starts a process
on the whole library. Of modules that import one another, those are named that lead to the rest.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from costlib.model import catalog
from tools import ROOT
from tools.packages import PACKAGES

Uses = Mapping[str, list[str]]

#: Catalogues whose entries are followed one by one, and the file that each is read from.
CATALOGUES = {
    "devices": "costlib/model/catalog/devices.json",
    "models": "costlib/model/catalog/models.json",
}
#: Stands for every entry of a catalogue, or for every file of the library.
ALL = "*"

#: Runs in a page's kernel before its first cell, and is no cell of the page.
WATCH = """
def _watch():
    import os, sys
    from importlib.machinery import PathFinder
    seen = {"files": set(), "devices": set(), "models": set(), "before": {*sys.modules}}
    def opened(event, args):
        if event == "subprocess.Popen":
            seen["files"].add("*")
        elif event == "open" and isinstance(args[0], str) and any(
            package in args[0] for package in ("costlib", "costfigures")
        ):
            seen["files"].add(os.path.abspath(args[0]))
    sys.addaudithook(opened)
    class Finder:
        def find_spec(name, path=None, target=None):
            if name != "costlib.model.catalog":
                return None
            spec = PathFinder.find_spec(name, path)
            load = spec.loader.exec_module
            def exec_module(module):
                load(module)
                for kind in ("devices", "models"):
                    follow(getattr(module, kind), seen[kind])
            spec.loader.exec_module = exec_module
            return spec
    followed = {}
    def follow(catalogue, names):
        followed[id(catalogue)] = names
        kind = type(catalogue)
        if "_followed" in vars(kind):
            return
        kind._followed = True
        def recording(method, note):
            def called(self, *args):
                note(followed.get(id(self), set()), self, *args)
                return method(self, *args)
            return called
        whole = lambda names, *_: names.add("*")
        one = lambda names, self, name, *_: names.add(str(name))
        for method, note in (("__iter__", whole), ("__len__", whole), ("__getitem__", one)):
            setattr(kind, method, recording(getattr(kind, method), note))
    sys.meta_path.insert(0, Finder)
    return seen
_seen = _watch()
"""
#: Runs after its last cell; prints what was used.
TELL = """
import json as _json, sys as _sys
from importlib.metadata import packages_distributions as _packages
_before, _owners = {n.partition(".")[0] for n in _seen.pop("before")}, _packages()
_loaded = {n.partition(".")[0] for n in _sys.modules} - _before
print(_json.dumps({**{k: sorted(v) for k, v in _seen.items()}, "modules": sorted(
    str(m.__file__) for n, m in list(_sys.modules.items())
    if n.partition(".")[0] in ("costlib", "costfigures") and getattr(m, "__file__", None)),
    "packages": sorted({owner.lower() for n in _loaded for owner in _owners.get(n, [n])})}))
"""


def tidied(said: str) -> dict[str, list[str]]:
    """What a kernel printed, with paths relative to the library and without what is no part of it.

    >>> said = {"modules": [], "files": ["/usr/costlib.txt"], "devices": ["T4"], "models": []}
    >>> tidied(json.dumps({**said, "packages": ["numpy", "costlib"]}))
    {'devices': ['T4'], 'models': [], 'packages': ['numpy'], 'files': []}
    """
    found: dict[str, list[str]] = json.loads(said)
    inside = tuple(f"{ROOT / package}{os.sep}" for package in PACKAGES)
    if strange := [path for path in found["modules"] if not path.startswith(inside)]:
        raise ValueError(f"the page used another costlib than {ROOT}'s: {strange[0]}")
    files = {path for path in (*found["modules"], *found["files"]) if path.startswith(inside)}
    kept = {path.removeprefix(f"{ROOT}{os.sep}").replace(os.sep, "/") for path in files}
    kept = {path for path in kept if path.endswith((".py", ".json"))}
    kept -= set(CATALOGUES.values())
    if ALL in found["files"]:
        kept = {ALL}
    packages = sorted({*found["packages"]} & {*_versions()})
    return {
        **{kind: found[kind] for kind in CATALOGUES},
        "packages": packages,
        "files": leading(kept),
    }


def library() -> dict[str, bytes]:
    """Every file of the library as it is now."""
    files = (path for package in PACKAGES for path in sorted((ROOT / package).rglob("*")))
    paths = [path for path in files if path.suffix in (".py", ".json")]
    return {
        path.relative_to(ROOT).as_posix(): path.read_bytes().replace(b"\r\n", b"\n")
        for path in paths
    }


def leading(used: Iterable[str]) -> list[str]:
    """The fewest of these files from which imports lead to all of them."""
    files = library()
    kept = sorted(used)
    for name in list(kept):
        others = [other for other in kept if other != name]
        if name in _reached(others, files):
            kept = others
    return kept


def _reached(names: Iterable[str], files: Mapping[str, bytes]) -> set[str]:
    """These files, and those that they import while they are imported."""
    found, new = set[str](), [*names]
    while new:
        name = new.pop()
        if name not in found:
            found.add(name)
            new += _imports(name, files[name], frozenset(files)) if name in files else ()
    return found


@functools.cache
def _imports(name: str, source: bytes, files: frozenset[str]) -> tuple[str, ...]:
    """The library's files that a module imports at once, and its packages' own."""
    if not name.endswith(".py"):
        return ()
    package = name.split("/")[:-1]
    wanted = ["/".join(package[:depth]) for depth in range(1, len(package) + 1)]
    for node in _at_once(ast.parse(source).body):
        if isinstance(node, ast.Import):
            wanted += [alias.name.replace(".", "/") for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            beside = package[: len(package) + 1 - node.level] if node.level else []
            start = "/".join([*beside, *(node.module or "").split(".")]).strip("/")
            wanted += [start, *(f"{start}/{alias.name}" for alias in node.names)]
    parts = (each.split("/") for each in wanted)
    above = {"/".join(each[:depth]) for each in parts for depth in range(1, len(each) + 1)}
    paths = (path for each in above for path in (f"{each}.py", f"{each}/__init__.py"))
    return tuple(sorted({*paths} & files - {name}))


def _at_once(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements that run when a module is imported, but for those that only types need."""
    for node in body:
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            continue
        yield node
        for part in ("body", "orelse", "finalbody"):
            if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                yield from _at_once(getattr(node, part, []))


def digest(uses: Uses, files: Mapping[str, bytes] | None = None) -> str:
    """Changes when something that was used changes.

    ``files`` are the library's, as `library` found them; those of now, unless said otherwise.
    """
    files = library() if files is None else files
    made = hashlib.sha256()
    names = files if ALL in uses["files"] else _reached(uses["files"], files)
    for name in sorted(names):
        made.update(b"\0".join((name.encode(), files.get(name, b"gone"))))
    for kind in CATALOGUES:
        entries = getattr(catalog, kind)
        looked_up = list(entries) if ALL in uses[kind] else uses[kind]
        made.update(json.dumps([_entry(kind, name) for name in looked_up]).encode())
    versions = _versions()
    made.update(json.dumps([versions.get(name) for name in uses["packages"]]).encode())
    return made.hexdigest()


def _versions() -> dict[str, list[str]]:
    """Each locked package, and its versions: more than one where Pythons differ.

    >>> _versions()["numpy"][0][:7]
    'numpy=='
    """
    lock = (ROOT / "requirements.lock").read_text("utf-8")
    found: dict[str, list[str]] = {}
    for line in re.findall(r"^[a-z0-9].*==.*$", lock, re.MULTILINE):
        found.setdefault(line.partition("==")[0], []).append(line.rstrip(" \\"))
    return found


def _entry(kind: str, name: str) -> Any:
    """Everything that a catalogue holds under a name, or that there is nothing."""
    entries = getattr(catalog, kind)
    if name not in entries:
        return [name, None]
    proper = entries.resolve(name)
    return [name, proper, entries.data[kind][proper], repr(entries.provenance(proper))]
