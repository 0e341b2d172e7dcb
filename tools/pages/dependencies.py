"""What of the library a page used while it ran, so that an edit executes only pages that used it.

The page's own kernel says so: which modules of costlib it imported in the end, directly or not,
which data files it opened, and which devices and models it looked up. A page that goes through a
whole catalogue depends on all of it, one that starts a process on the whole library.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
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
    seen = {"files": set(), "devices": set(), "models": set()}
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
print(_json.dumps({**{k: sorted(v) for k, v in _seen.items()}, "modules": sorted(
    str(m.__file__) for n, m in list(_sys.modules.items())
    if n.partition(".")[0] in ("costlib", "costfigures") and getattr(m, "__file__", None))}))
"""


def tidied(said: str) -> dict[str, list[str]]:
    """What a kernel printed, with paths relative to the library and without what is no part of it.

    >>> tidied('{"modules": [], "files": ["/usr/costlib.txt"], "devices": ["T4"], "models": []}')
    {'devices': ['T4'], 'models': [], 'files': []}
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
    return {**{kind: found[kind] for kind in CATALOGUES}, "files": sorted(kept)}


def library() -> dict[str, bytes]:
    """Every file of the library as it is now."""
    files = (path for package in PACKAGES for path in sorted((ROOT / package).rglob("*")))
    paths = [path for path in files if path.suffix in (".py", ".json")]
    return {path.relative_to(ROOT).as_posix(): path.read_bytes() for path in paths}


def digest(uses: Uses, files: Mapping[str, bytes] | None = None) -> str:
    """Changes when something that was used changes, or the pinned environment does.

    ``files`` are the library's, as `library` found them; those of now, unless said otherwise.
    """
    files = library() if files is None else files
    made = hashlib.sha256((ROOT / "requirements.lock").read_bytes())
    for name in files if ALL in uses["files"] else uses["files"]:
        made.update(files.get(name, b"gone"))
    for kind in CATALOGUES:
        entries = getattr(catalog, kind)
        names = list(entries) if ALL in uses[kind] else uses[kind]
        made.update(json.dumps([_entry(entries, name) for name in names]).encode())
    return made.hexdigest()


def _entry(entries: Any, name: str) -> Any:
    """Everything that a catalogue holds under a name, or that there is nothing."""
    if name not in entries:
        return [name, None]
    proper = entries.resolve(name)
    return [name, proper, repr(entries[proper]), repr(entries.provenance(proper))]
