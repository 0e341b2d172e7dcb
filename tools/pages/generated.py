"""What is made from data: contents, models, devices, bibliography, API reference.

The contents are committed (`make sync` writes them, and a test compares): jupyter-book reads
`_toc.yml` before anything of ours runs, the front page is read on GitHub, and no address may be
forgotten. The other pages are made when the site is, by `made`.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from pybtex.database import Entry, Person, parse_file

import costlib
from costlib.model import catalog
from costlib.units.display import quantity
from tools import ROOT, contents

BOOK = ROOT / "book"


def pages() -> dict[Path, str]:
    """Every generated file that is committed: where it is, and its text."""
    return {
        ROOT / "_toc.yml": toc(),
        ROOT / "tests" / "data" / "addresses.txt": addresses(),
        BOOK / "index.md": front_page(),
    }


def makers() -> dict[Path, tuple[Callable[[], str], str]]:
    """Every page that is not: how it is made, and of what beside the library."""
    titles = {name: api_title(name) for name in contents.REFERENCE}
    reference = {name: (partial(api, name), titles[name]) for name in contents.REFERENCE}
    cited = (BOOK / "references.bib").read_text("utf-8")
    return {
        BOOK / "models.md": (models, ""),
        BOOK / "devices.md": (devices, ""),
        BOOK / "bibliography.md": (bibliography, cited),
        BOOK / "explorers.md": (gallery, "".join(map(asked, contents.BELOW["explorers"]))),
        BOOK / "api" / "index.md": (api_index, "\n".join(titles.values())),
        **{BOOK / "api" / f"{name}.md": maker for name, maker in reference.items()},
    }


def table(columns: list[str], rows: list[list[str]]) -> str:
    """A Markdown table; numbers are aligned right."""
    lines = [columns, ["---"] + ["--:"] * (len(columns) - 1), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def title(name: str) -> str:
    """What a page calls itself."""
    found = re.search(r"^# (.+)$", (BOOK / f"{name}.md").read_text("utf-8"), re.MULTILINE)
    if not found:
        raise ValueError(f"book/{name}.md has no title: its first heading should be '# Title'")
    return found[1]


# ---------------------------------------------------------------- contents


def toc() -> str:
    """The table of contents in jupyter-book's own words."""
    lines = ["# Made from tools/contents.py by `make sync`: never edit this.", "format: jb-book"]
    lines += ["root: book/index", "parts:"]
    for part in contents.PARTS:
        lines += [f"  - caption: {part.caption}", *(["    numbered: 1"] if part.chapters else [])]
        lines += ["    chapters:"]
        for name in (*(chapter.name for chapter in part.chapters), *part.pages):
            below = [f"          - file: book/{each}" for each in contents.BELOW.get(name, ())]
            lines += [
                f"      - file: book/{name}",
                *(["        sections:", *below] if below else []),
            ]
    return "\n".join(lines) + "\n"


def front_page() -> str:
    """The front page, with the list of what each chapter asks: the site makes cards of it."""
    lines, number = [], 0
    for part in contents.PARTS:
        lines += [f"### {part.caption}", ""] if part.chapters else []
        for chapter in part.chapters:
            number += 1
            asks = chapter.asks[0].upper() + chapter.asks[1:]
            lines.append(f"{number}. **[{title(chapter.name)}]({chapter.name}.ipynb).** {asks}")
        lines += [""] if part.chapters else []
    lines += ["### Calculate with your own model and device", ""]
    lines += [item(name) for name in contents.CALCULATORS]
    lines += ["", "[The gallery of explorers](explorers.md) has all of them, with their pictures."]
    text = (BOOK / "index.md").read_text("utf-8")
    before, found, after = text.partition(LIST)
    if not found:
        raise ValueError(f"book/index.md has no heading {LIST.strip()!r}")
    rest = after[after.index("\n## ") :]
    return before + LIST + "\n" + "\n".join(lines) + "\n" + rest


def asked(name: str) -> str:
    """The title and the question of a page, which are all that a list has of it."""
    return f"{title(name)}\n{asks_of(name)}\n"


def item(name: str) -> str:
    """A page in a list of which the site makes cards: what it is called, and what it asks."""
    return f"- **[{plain_title(name)}]({name}.ipynb).** {asks_of(name)}"


def gallery() -> str:
    """Every explorer with what it asks: the site puts its picture to each."""
    lines = ["# Explorers", "", GALLERY, "", item("explore_calculator")]
    for about, names in contents.EXPLORERS.items():
        lines += ["", f"## {about}", "", *(item(f"explore_{name}") for name in names)]
    return "\n".join(lines) + "\n"


GALLERY = """\
**What would you like to move?** An explorer is a picture with settings. When you change one of \
them, the formulas of `costlib` are computed again in your browser, so you see at once what \
depends on it. For example, you can let users join a server one by one until its memory is full, \
or you can play against the best possible order of reads and writes. Each explorer also stands in \
the section that derives its formulas, and its address always says what you have chosen, so that \
you can send a link to exactly what you see."""

#: The heading below which the front page lists chapters.
LIST = "\n## What each chapter asks\n"


def plain_title(name: str) -> str:
    """A title without what kind of page it is.

    >>> plain_title("explore_budget")
    'A training budget'
    """
    text = title(name).rpartition(": ")[2]
    return text[0].upper() + text[1:]


def asks_of(name: str) -> str:
    """What a page begins with, in bold: its question, or what it is for."""
    found = re.search(r"^\*\*(.+[.?])\*\*$", (BOOK / f"{name}.md").read_text("utf-8"), re.MULTILINE)
    if not found:
        raise ValueError(f"book/{name}.md begins with no question: **Who asks what?**")
    return found[1]


def addresses() -> str:
    """Every address that a page has or once had: none is ever taken away."""
    known = (ROOT / "tests" / "data" / "addresses.txt").read_text("utf-8").split()
    return "\n".join(sorted({*known, *(f"book/{name}" for name in contents.pages())})) + "\n"


# ---------------------------------------------------------------- models and devices


def _heads(model: costlib.Transformer) -> str:
    """Heads of queries and of keys, where all layers have as many."""
    shared = "latent" if model.mla else model.kv_heads
    return " / ".join(str(heads) for heads in (model.heads, shared) if heads is not None)


def _billions(count: Any) -> str:
    """A number of parameters in billions, to four digits."""
    return f"{count / 1e9:,.0f}" if count >= 1e12 else f"{count / 1e9:.4g}"


def models() -> str:
    """Every model of the catalogue: its shape, and what follows from it."""
    rows = []
    for name, model in costlib.models.items():
        origin = costlib.models.provenance(name)["config"]["source"]
        active, state = model.active_params(), model.state_elements()
        cache = model.kv_elements_per_token()
        rows.append(
            [
                name,
                _billions(model.params()),
                _billions(active) if active < model.params() else "",
                *(f"{n:,}" for n in (model.layers, model.d_model)),
                _heads(model),
                f"{model.vocab:,}",
                quantity(cache * 2, "B") if cache else "",
                quantity(state * 2, "B") if state else "",
                quantity(model.weight_bytes(), "B"),
                _numbers(costlib.models, [origin]),
            ]
        )
    head = ["model", "parameters", "active", "L", "D", "H / K", "V"]
    head += ["KV a token", "state", "weights", "from"]
    return (
        "# Models\n\n"
        f"Every model that `costlib.models` knows, {len(rows)} of them. The shape is the "
        "publisher's configuration; everything else is computed from it. *Parameters* are "
        "billions; *active* are those that one token uses in a mixture of experts. *KV a token* "
        "is what a token adds to the cache in 16 bits, when every layer keeps it, and *state* what "
        "a sequence takes whatever its length. *Weights* are bytes as the checkpoint packs them, "
        "in 16 bits where it packs none. A size that is left out differs from layer to layer. "
        "Letters are those of [the notation page](notation.md).\n\n"
        "A model that is not here is a config away: [your model](your_model.ipynb). The numbers "
        "under *from* are those of the sources below the table, and each says what its "
        "configurations are. Sources that no row cites give the longest context of a model.\n\n"
        f"{table(head, rows)}\n\n" + _sources(costlib.models)
    )


#: The formats that have a column; fp16 has bf16's, where both exist and are equal.
FORMATS = ("tf32", "fp8", "fp6", "fp4", "int8", "int4")


def devices() -> str:
    """Every device and node of the catalogue: rates, sizes and links, each with its source."""
    rates = [_rates(name, device) for name, device in costlib.devices.items()]
    sizes = [_sizes(name, device) for name, device in costlib.devices.items()]
    joined = [_node(name, node) for name, node in catalog.nodes.items()]
    wide = ["device", "16-bit", *FORMATS, "ridge", "from"]
    memory = ["device", "bandwidth", "memory", "cache", "on chip", "cores", "links", "from"]
    links = ["node", "of", "joined by", "links", "latency", "network", "from"]
    return (
        "# Devices\n\n"
        f"Every device that `costlib.devices` knows: {len(rates)} of them, and {len(joined)} nodes "
        "that join them.\n\n"
        "A figure marked ° was entered from the named publication and has not been read there a "
        "second time; ½ is printed twice as large, for sparse matrices, and halved here; ≈ is "
        "measured or estimated by others, because the maker prints none. A note for each figure "
        "that needs one is in `costlib.devices.provenance(name)`.\n\n"
        "## Rates\n\n"
        "Peaks in TFLOP/s for dense matrices, sums kept in 32 bits. *16-bit* is bf16, or fp16 "
        "where a device has no bf16; the *ridge* is that rate over the bandwidth, in FLOPs per "
        "byte. "
        "GeForce cards do fp16 twice as fast with sums in 16 bits: `fp16-acc16`.\n\n"
        f"{table(wide, rates)}\n\n"
        "## Memory and links\n\n"
        "*Cache* is the last one before memory, an L2 unless it says otherwise; *on chip* is the "
        "fast memory that one core's program manages. *Links* are bytes a second each way, all "
        "links of a device together.\n\n"
        f"{table(memory, sizes)}\n\n"
        "## Nodes\n\n"
        "What `costlib.model.catalog.nodes` knows: devices that reach one another over fast links. "
        "*Links* and the *network* to the next node are bytes a second each way, for each device. "
        "Through a switch every other device gets all of it, in a mesh its share, in a torus each "
        "axis its own.\n\n"
        f"{table(links, joined)}\n\n"
        + _sources(costlib.devices)
        + "\n"
        + _sources(catalog.nodes).replace("Sources", "Sources of the nodes", 1)
    )


def _rates(name: str, device: costlib.Device) -> list[str]:
    """A row of peaks: the 16-bit one, the other formats, the ridge."""
    origin = costlib.devices.provenance(name)
    first = next((dtype for dtype in ("bf16", "fp16") if dtype in device.flops_per_s), "fp32")
    cells = [
        f"{device.flops_per_s[dtype] / 1e12:,.5g}{_mark(origin[dtype])}"
        if dtype in device.flops_per_s
        else ""
        for dtype in (first, *FORMATS)
    ]
    cells[0] += " (fp32)" if first == "fp32" else ""
    used = (about["source"] for figure, about in origin.items() if figure in device.flops_per_s)
    return [name, *cells, f"{device.ridge(first):.0f}", _numbers(costlib.devices, used)]


def _sizes(name: str, device: costlib.Device) -> list[str]:
    """A row of bytes, and bytes a second."""
    origin = costlib.devices.provenance(name)
    link = quantity(device.interconnect, "B/s") if device.interconnect else ""
    level = origin.get("cache", {}).get("level", "")
    figures = {
        "bytes_per_s": quantity(device.bytes_per_s, "B/s"),
        "capacity": _binary(device.capacity),
        "cache": f"{_binary(device.cache)} {level}".strip(),
        "on_chip": _binary(device.on_chip),
        "cores": str(device.cores or ""),
        "interconnect": link,
    }
    cells = [f"{text}{_mark(origin.get(figure))}" for figure, text in figures.items()]
    used = (origin[figure]["source"] for figure in figures if figure in origin)
    return [name, *cells, _numbers(costlib.devices, used)]


def _node(name: str, node: catalog.Node) -> list[str]:
    """A row of what joins devices."""
    origin = catalog.nodes.provenance(name)
    figures = {
        "devices": f"{node.devices:,} × {node.device.name}",
        "link": quantity(node.link, "B/s"),
        "latency": quantity(node.latency, "s") if node.latency else "",
        "network": quantity(node.network, "B/s") if node.network else "",
    }
    cells = [f"{text}{_mark(origin.get(figure))}" for figure, text in figures.items()]
    kind = f"{node.axes}D torus" if node.topology == "torus" else node.topology
    used = (about["source"] for about in origin.values())
    return [name, cells[0], kind, *cells[1:], _numbers(catalog.nodes, used)]


def _binary(size: Any) -> str:
    """Bytes in the binary unit that keeps them short."""
    for unit, power in (("GiB", 30), ("MiB", 20), ("KiB", 10)):
        if size and size >= 2**power:
            return f"{size / 2**power:,.4g} {unit}"
    return "" if not size else f"{size} B"


def _mark(about: Mapping[str, Any] | None) -> str:
    if not about:
        return ""
    halved = "½" if "halved_from" in about else ""
    was_read = "checked" in about or "read" in about["source"]
    return f" {'≈' if 'basis' in about else ''}{halved}{'' if was_read else ' °'}".rstrip()


def _tag(entries: catalog.Catalog[Any], source: Mapping[str, Any]) -> str:
    return next(tag for tag, about in entries.data["sources"].items() if about == source)


def _numbers(entries: catalog.Catalog[Any], used: Iterable[Mapping[str, Any]]) -> str:
    """The numbers of sources, each a link to the list."""
    tags = list(entries.data["sources"])
    place = "#sources-of-the-nodes" if entries is catalog.nodes else "#sources"
    numbers = sorted({tags.index(_tag(entries, source)) + 1 for source in used})
    return " ".join(f"[{number}]({place})" for number in numbers)


def _sources(entries: catalog.Catalog[Any]) -> str:
    lines = [
        f"{number}. [{_plain(about['title'])}]({about['url']}), {about['kind']}, {about['date']}"
        f"{', read ' + about['read'] if 'read' in about else ''}."
        for number, about in enumerate(entries.data["sources"].values(), start=1)
    ]
    return "## Sources\n\n" + "\n".join(lines) + "\n"


# ---------------------------------------------------------------- bibliography


def bibliography() -> str:
    """The works of references.bib, in the order of their first author."""
    entries = parse_file(str(BOOK / "references.bib")).entries.values()
    works = sorted(entries, key=lambda e: (_plain(str(_people(e)[0].last_names[0])), e.key))
    return (
        "# Bibliography\n\n"
        "Every work that a page of this book cites. The same list is in `book/references.bib`, "
        "ready to be cited.\n\n" + "\n".join(f"- {_work(entry)}" for entry in works) + "\n"
    )


def address(entry: Entry) -> str:
    """Where a work is: its DOI, its arXiv page, or its own address."""
    fields = entry.fields
    if "doi" in fields:
        return f"https://doi.org/{fields['doi']}"
    return f"https://arxiv.org/abs/{fields['eprint']}" if "eprint" in fields else fields["url"]


def _people(entry: Entry) -> list[Person]:
    return list(entry.persons.get("author", entry.persons.get("editor", [])))


def _work(entry: Entry) -> str:
    names = [
        " ".join([*p.first_names, *p.middle_names, *p.prelast_names, *p.last_names])
        for p in _people(entry)
    ]
    people = [_plain(name) for name in names if name != "others"]
    several = ", ".join(people[:3]) + (" and others" if len(names) > 3 else "")
    fields = entry.fields
    place = fields.get("journal") or fields.get("booktitle") or fields.get("howpublished", "")
    place = place or (f"arXiv:{fields['eprint']}" if "eprint" in fields else "")
    where = f"*{_plain(place)}*, " if place else ""
    title = _plain(fields["title"])
    note = f" ({_plain(fields['note'])})" if "note" in fields else ""
    return f"{several}. [{title}]({address(entry)}). {where}{fields['year']}{note}."


def _plain(text: str) -> str:
    """Text without BibTeX's braces, safe in Markdown."""
    return re.sub(r"([*_\[\]<$])", r"\\\1", text.replace("{", "").replace("}", ""))


# ---------------------------------------------------------------- API reference


def api_index() -> str:
    """The first page of the reference."""
    lines = [
        f"- [{api_title(name)}]({name}.md): "
        + ", ".join(f"`costlib.{module}`" for module in modules)
        for name, modules in contents.REFERENCE.items()
    ]
    return (
        "# API reference\n\n"
        "Everything in `costlib` that has a name of its own, from its docstrings. "
        "Figures have no page here: each is shown, with the call that made it, where it is used."
        "\n\n" + "\n".join(lines) + "\n"
    )


def api_title(name: str) -> str:
    """A page of the reference has its chapter's title."""
    return contents.REFERENCE_TITLES.get(name) or title(name)


def api(name: str) -> str:
    """One page of the reference, from the docstrings of its modules."""
    named = contents.REFERENCE[name]
    parts = [
        f"# {api_title(name)}\n\nMade from the docstrings; every example is run by the tests.\n"
    ]
    for module in (module for part in named for module in _modules(f"costlib.{part}")):
        public = [thing for thing in _public(module) if inspect.getdoc(thing[1])]
        if public:
            head, _, rest = (module.__doc__ or "").partition("\n")
            parts.append(
                f"## {module.__name__}\n\n{prose(head)}\n\n{prose(inspect.cleandoc(rest))}"
            )
            parts += [_described(name, thing) for name, thing in public]
    return re.sub(r"\n{3,}", "\n\n", "\n\n".join(parts)).strip() + "\n"


def _modules(name: str) -> Iterator[Any]:
    """A module and, if it is a package, what is in it and has no place of its own."""
    module = importlib.import_module(name)
    yield module
    placed = {part for named in contents.REFERENCE.values() for part in named}
    for inner in pkgutil.iter_modules(getattr(module, "__path__", [])):
        path = f"{name}.{inner.name}"
        if not inner.name.startswith("_") and path.partition(".")[2] not in placed:
            yield from _modules(path)


def _public(module: Any) -> Iterator[tuple[str, Any]]:
    """What a module defines and lists, methods after their class."""
    for name in getattr(module, "__all__", []):
        thing = getattr(module, name)
        if getattr(thing, "__module__", None) != module.__name__ or not callable(thing):
            continue
        yield name, thing
        if inspect.isclass(thing):
            for method, value in vars(thing).items():
                function = value.fget if isinstance(value, property) else value
                function = getattr(function, "__func__", function)
                if inspect.isfunction(function) and not method.startswith("_"):
                    yield f"{name}.{method}", function


def _described(name: str, thing: Any) -> str:
    heading = "###" if "." not in name else "####"
    bare = _is_property(thing) or (inspect.isclass(thing) and issubclass(thing, Exception))
    shown = "" if bare else re.sub(r"<class '(\w+)'>", r"\1", str(inspect.signature(thing)))
    shown = re.sub(r"<factory>|<object object at \w+>", "...", shown)
    shown = re.sub(r"(: |-> )'([^']*)'", r"\1\2", shown)  # annotations are kept as text
    signature = f"```python\n{name}{_wrapped(shown, len(name))}\n```\n\n" if shown else ""
    return f"{heading} {name}\n\n{signature}{prose(inspect.getdoc(thing) or '')}"


def _is_property(function: Any) -> bool:
    owner = function.__qualname__.rpartition(".")[0]
    holder = getattr(importlib.import_module(function.__module__), owner, None)
    return isinstance(vars(holder).get(function.__name__), property) if holder else False


def _wrapped(signature: str, indent: int) -> str:
    """A signature, an argument a line if it is long."""
    if indent + len(signature) <= 88:
        return signature
    inside, _, result = signature[1:].rpartition(")")
    arguments = re.split(r", (?![^\[(]*[\])])", inside)
    return "(\n" + "".join(f"    {argument},\n" for argument in arguments) + f"){result}"


def prose(doc: str) -> str:
    """A docstring as Markdown: examples fenced, everything else as it reads."""
    blocks = re.split(r"\n\s*\n", doc.strip())
    shown = []
    for block in blocks:
        if block.lstrip().startswith(">>>"):
            shown.append(f"```pycon\n{inspect.cleandoc(block)}\n```")
        elif ">>>" in block:
            text, _, example = block.partition(">>>")
            shown += [_escaped(text), f"```pycon\n>>>{example}\n```"]
        elif block.startswith(("    ", "===")):  # an example, a table
            shown.append(f"```text\n{inspect.cleandoc(block)}\n```")
        else:
            shown.append(_escaped(block))
    return "\n\n".join(shown)


def _escaped(text: str) -> str:
    parts = re.split(r"(``.+?``|`.+?`)", text)
    return "".join(
        part.replace("``", "`")
        if part.startswith("`")
        else re.sub(r"([*_\[\]<$|#])", r"\\\1", part)
        for part in parts
    )


def write() -> list[Path]:
    """Write every page that changed; which ones."""
    changed = []
    for path, text in pages().items():
        if not path.exists() or path.read_text("utf-8") != text:
            path.write_text(text, "utf-8")
            changed.append(path)
    return changed


if __name__ == "__main__":
    for page in write():
        print(f"  {page.relative_to(ROOT)}: written")
