"""JavaScript modules asked in the packaged node: in one process that stays, as a page does."""

from __future__ import annotations

import atexit
import functools
import json
import subprocess
from pathlib import Path
from typing import Any

from tools.site.page_weight import packaged_node

#: Each line is what modules are called, a body that uses these names and `state`, and states.
LOOP = """
import { createInterface } from 'node:readline';
const asked = async ([modules, body, states]) => {
  const loaded = await Promise.all(Object.values(modules).map((address) => import(address)));
  const each = new Function(...Object.keys(modules), 'state', `return (${body})`);
  return states.map((state) => each(...loaded, state));
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
