"""JavaScript modules asked in the packaged node: in one process that stays, as a page does."""

from __future__ import annotations

import atexit
import functools
import json
import math
import subprocess
from pathlib import Path
from typing import Any

from paths import ROOT
from tools.site.page_weight import packaged_node

HERE = ROOT / "book" / "_static" / "explorers"
EXACT = 2**53

#: Each line is what modules are called, a body that uses these names and `state`, and states.
LOOP = """
import { createInterface } from 'node:readline';
const asked = async ([modules, body, states]) => {
  const loaded = await Promise.all(Object.values(modules).map((address) => import(address)));
  const each = new Function(...Object.keys(modules), 'state', `return (${body})`);
  return Promise.all(states.map((state) => each(...loaded, state)));
};
const shown = (_, value) => (value === Infinity ? 'Infinity' : value);
for await (const line of createInterface({ input: process.stdin })) {
  const answer = await asked(JSON.parse(line)).then((found) => ({ found }),
    (error) => ({ error: error.stack }));
  console.log(JSON.stringify(answer, shown));
}
"""


def answers(folder: Path, modules: dict[str, str], body: str, states: list[Any]) -> list[Any]:
    """What the body computes for each state, with these modules of a folder by their names."""
    addresses = {name: (folder / file).as_uri() for name, file in modules.items()}
    process = node()
    assert process.stdin
    assert process.stdout
    process.stdin.write(json.dumps([addresses, body, states]) + "\n")
    process.stdin.flush()
    answer = json.loads(process.stdout.readline())
    assert "error" not in answer, answer["error"]
    return list(answer["found"])


@functools.cache
def node() -> subprocess.Popen[str]:
    """One for all tests of this process."""
    command = [str(packaged_node()), "--input-type=module", "-e", LOOP]
    pipe = subprocess.PIPE
    process = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, encoding="utf-8")
    atexit.register(process.communicate)
    return process


def in_page(module: str, body: str, settings: list[Any], **others: str) -> list[Any]:
    """What a page's own module computes for each setting, beside others by their names."""
    return answers(HERE, {"page": module, **others}, body, settings)


def same(page: Any, library: Any) -> bool:
    """Texts to the letter, numbers to 1 part in 10¹², and exactly where whole ones fit in 2⁵³."""
    if isinstance(library, (list, tuple)):
        return len(page) == len(library) and all(map(same, page, library))
    if isinstance(library, (str, bool)) or library is None:
        return page == library and type(page) is type(library)
    if library == math.inf:
        return page == "Infinity"
    if isinstance(library, int) and abs(library) < EXACT:
        return page == library
    return math.isclose(page, float(library), rel_tol=1e-12)
