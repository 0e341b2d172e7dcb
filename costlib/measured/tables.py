"""Reading a row of a serving table: what ran, on how many devices of which kind, cut how, in what
formats, with what lengths and how many requests at once.

A row is a dict of texts with the columns of `COLUMNS`, as a CSV gives them. `setup` makes a `Setup`
of it, or says in an `Unread` what the row does not tell. Names are matched by pattern, and looked
up in the catalogue; models and devices that it lacks are in served.json, each with its source.

Left out: rows about money, percentiles of latencies, which depend on queues, and rows whose speed
depends on drafts, on a prefix cache, or on lengths that their source does not give.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from costlib.model.catalog import devices, models
from costlib.model.transformer import Transformer
from costlib.units.device import Device
from costlib.units.precision import Precision

__all__ = ["COLUMNS", "Setup", "Unread", "content", "read_served", "setup"]

#: The columns of a table. ``plan`` is such as "TP4", "TP1 PP2", "DEP8" (attention data parallel,
#: experts divided); ``load`` says the batch or concurrency, a latency limit, or neither, which
#: stands for as many requests as fit; ``read`` begins with "no" where nobody has seen the source.
COLUMNS = (
    *("what", "model", "device", "framework+version", "plan", "precision", "load"),
    *("input_len", "output_len", "metric", "value", "unit", "source", "read"),
)

_FILE = Path(__file__).parent / "served.json"

Row = Mapping[str, str]

_OFFERED = re.compile(
    r"(?<!target_)(?:qps|request rate|rps)\s*[=:]?\s*([\d.]+)"
    r"|([\d.]+) ?(?:qps|rps|req(?:uest)?s?(?:/| per )s)",
    re.I,
)


class Unread(ValueError):
    """A row that cannot be predicted, and why."""


@dataclass(frozen=True, slots=True)
class Setup:
    """What a row says that ran.

    ``tensor``, ``expert`` and ``pipeline`` are devices of one copy of the model (tensor is None
    where the source does not say); ``products`` and ``rest`` are the precisions of the packed
    products and of all else; ``batch`` is None where memory or a latency ``limit`` sets it;
    ``requests`` is how many were sent in all, where the source says.
    """

    name: str
    model: Transformer
    device: Device
    devices: int
    tensor: int | None
    expert: int
    pipeline: int
    products: Precision
    rest: Precision
    prompt: int
    answer: int
    batch: int | None
    limit: float | None
    requests: int | None
    beams: int
    measures: str
    per: str
    #: Tokens of a prefill's pass, and bytes that each packed weight moves beside its own in one.
    chunk: int = 8192
    unpacked: float = 0
    #: Requests a second that were sent, where the row says; no more can be answered.
    offered: float | None = None
    #: Which of prefill and decode ran: machines of their own do one of them.
    does: tuple[str, ...] = ("prefill", "decode")

    @property
    def regime(self) -> str:
        """What sets the pace: one stream, a latency limit, a long prompt or a long answer."""
        if self.batch == 1:
            return "one stream"
        if self.limit is not None:
            return "latency limit"
        return "long prompt" if self.prompt >= 4 * self.answer else "long answer"


def read_served(path: Path | str) -> list[dict[str, str]]:
    """The rows of a CSV with the columns of `COLUMNS`; others are kept and not looked at.

    >>> from tempfile import NamedTemporaryFile as File
    >>> with File("w+", suffix=".csv") as file:
    ...     _ = file.write("what,model\\na table,a model\\n")
    ...     file.flush()
    ...     read_served(file.name)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    ValueError: ... has no column 'device'; a table needs what, model, device, ...
    """
    with Path(path).open(encoding="utf-8-sig", newline="") as file:
        reader = csv.DictReader(file)
        named = reader.fieldnames or ()
        for column in COLUMNS:
            if column not in named:
                text = f"{path} has no column {column!r}; a table needs {', '.join(COLUMNS)}"
                raise ValueError(text)
        return [{key: value or "" for key, value in row.items() if key} for row in reader]


@cache
def content() -> Any:
    """The data file: sources, tables, and the names that the catalogue lacks."""
    return json.loads(_FILE.read_text(encoding="utf-8"))


def setup(row: Row) -> Setup:
    """What a row says that ran; an `Unread` says why it cannot be known.

    >>> row = dict.fromkeys(COLUMNS, "")
    >>> row |= {"model": "Llama 3.1 8B", "device": "H100 SXM 80GB x1", "precision": "FP8"}
    >>> row |= {"input_len": "128", "output_len": "2048", "load": "batch 64", "plan": "TP1"}
    >>> found = setup(row | {"metric": "output tokens/s", "unit": "tokens/s", "value": "9,000"})
    >>> found.name, found.device.name, found.products.compute, found.batch, found.regime
    ('llama-3.1-8b', 'H100-SXM', 'fp8', 64, 'long answer')
    >>> setup(row | {"metric": "TTFT p99", "unit": "ms"})
    Traceback (most recent call last):
        ...
    costlib.measured.tables.Unread: TTFT p99 depends on a queue, whose percentiles are not predicted
    """
    if row["read"].lower().startswith("no"):
        raise Unread("nobody has read its source")
    measures, per = _measures(row), _per(row)
    _refuse(row, measures)
    if not re.fullmatch(r"(?!0*\.?0*$)(\d+|\d{1,3}(,\d{3})+)(\.\d+)?", row["value"].strip()):
        raise Unread(f"its value, {row['value']!r}, is not a number above 0")
    name, model = _model(row["model"])
    device, count = _device(row)
    prompt, answer, requests = _lengths(row, measures)
    tensor, expert, pipeline = _plan(row, model, count, measures)
    products, rest = _precisions(row, name, device)
    limit = re.search(r"tpot ([\d.]+) ms", row["load"], re.I)
    return Setup(
        *(name, model, device, count, tensor, expert, pipeline, products, rest),
        *(prompt, answer, _batch(row, measures, count)),
        *(float(limit[1]) * 1e-3 if limit else None, requests),
        beams=_beams(row),
        measures=measures,
        per=per,
        does=_does(row, measures),
        offered=float(sent[1] or sent[2]) if (sent := _OFFERED.search(row["load"])) else None,
        **_passes(row, products, device),
    )


# ------------------------------------------------------------------------------ what is measured


#: What a metric counts, by the first pattern that its name has.
_COUNTED = (
    (r"in\s*\+\s*out|input\s*\+\s*output|total tok", "both"),
    (r"^(prefill|ttft)", "prefill"),
    (r"^input", "input"),
    (r"per user|^decode", "user"),
    (r"output|generat|throughput|tokens/s", "output"),
)


#: Tokens a second of what, where not of all.
_RATE = re.compile(r"tok(?:en)?s?/s(?:ec)?(?:/(gpu|device|chip|card|node|user))?")


def _measures(row: Row) -> str:
    metric, unit = row["metric"].lower(), row["unit"].lower()
    if unit == "requests/s":
        return "requests"
    if unit in SECONDS:
        return _latency(row, metric)
    rate = _RATE.fullmatch(unit)
    if rate is None or re.search(r"goodput|\bpeak|per (mw|watt|joule|dollar)|[$/]m?w\b", metric):
        raise Unread(f"{row['metric']!r} in {row['unit']!r} is not a throughput that is known")
    for pattern, kind in _COUNTED:
        if re.search(pattern, metric):
            return "user" if rate[1] == "user" else kind
    raise Unread(f"{row['metric']!r} is not one that is known")


#: Seconds of a unit of latency.
SECONDS = {"ms": 1e-3, "s": 1.0, "us": 1e-6, "µs": 1e-6, "ms/token": 1e-3, "s/token": 1.0}


def _latency(row: Row, metric: str) -> str:
    """Which latency is meant: TPOT or TTFT."""
    if re.search(r"p9\d|max|min\b|std", metric):
        raise Unread(f"{row['metric']} depends on a queue, whose percentiles are not predicted")
    if re.search(r"itl may be|chunk", row["load"], re.I):
        raise Unread("its times between tokens are of several tokens at once")
    if re.search(r"ttft|first.?token", metric):
        return "first token"
    if re.search(r"tpot|\bitl\b|per.?token|inter.?token|token latency", metric):
        return "per token"
    raise Unread(f"{row['metric']} is neither a throughput nor the latency of a token")


def _per(row: Row) -> str:
    of = re.search(
        r"(?:/|per )(gpu|device|chip|card|node)\b", f"{row['unit']} {row['metric']}", re.I
    )
    return "all" if of is None else "node" if of[1].lower() == "node" else "device"


def _refuse(row: Row, measures: str) -> None:
    """What a prediction would need and no row says."""
    plan, load = row["plan"].lower(), row["load"].lower()
    told = f"{plan} {row['metric']} {row['model']}".lower()
    drafts = re.search(r"mtp|eagle|medusa|specul|draft|relaxed", told)
    drafts = drafts or re.search(r"eagle|medusa", row["framework+version"].lower())
    if drafts and "no mtp" not in plan and "no specul" not in row["metric"].lower():
        raise Unread("it drafts, and its acceptance is not in the row")
    if "prefix cach" in load and measures in ("prefill", "first token"):
        raise Unread("its prompts may have been cached")
    if "maxq" in row["device"].lower():
        raise Unread("its devices were held below their rated power")
    if "cache hit" in row["metric"].lower():
        raise Unread("it counts tokens that were read from a cache")


def _beams(row: Row) -> int:
    """MLPerf's GPT-J searches with four beams."""
    return 4 if row["model"].lower().startswith("gptj") else 1


def _passes(row: Row, products: Precision, device: Device) -> dict[str, Any]:
    """How a prompt is prefilled: llama.cpp takes 512 tokens at a time, and on CUDA writes packed
    weights to memory in 16 bits, and reads them back, for each."""
    if "llama.cpp" not in row["framework+version"]:
        return {}
    writes = products.weights < 2 and "bf16" in device.flops_per_s
    return {"chunk": 512, "unpacked": 4 if writes else 0}


# ---------------------------------------------------------------------- models, devices, formats


@cache
def _model(text: str) -> tuple[str, Transformer]:
    plain = re.sub(r"[^a-z0-9._]+", "-", text.lower()).strip("-")
    for pattern, name in content()["model_names"]:
        if re.search(pattern, plain):
            return name, model_named(name)
    words = plain.split("-")
    if re.search(r"distill|deepseek.*(qwen|llama)", plain):
        words = []  # its name begins with that of its teacher
    for end in range(len(words), 0, -1):
        if (name := "-".join(words[:end])) in models:
            return models.resolve(name), models[name]
    raise Unread(f"no model of the catalogue is {text!r}")


@cache
def model_named(name: str) -> Transformer:
    """A model of the catalogue, or one that it lacks.

    >>> round(model_named("falcon-180b").params() / 1e9), model_named("llama-2-7b").layers
    (180, 32)
    """
    entry = content()["models"].get(name)
    if entry is None:
        known: Transformer = models[name]
        return known
    sizes = {key: value for key, value in entry.items() if key != "source"}
    return Transformer(**sizes | {"biases": tuple(sizes.get("biases", ()))})


#: How people write how many devices there are: in each node, where they write nodes too.
_MANY = (
    r"nodes? (?:of|with|x) (\d+)",
    r"^(?:\d{1,3} ?x ?)?(\d{1,3})(?: ?[x*] ?(?=\w)| (?=[a-z]))",
    r"[x*] ?(\d+)(?: gpus?| cards?)? ?(?:[,(]|per node|$)",
    r"(\d+)[ -](?:gpu|card|chip|device|accelerator)s?\b",
    r"\bv\d[ep]?-(\d+)",
)
_NODES = r"^(\d{1,3}) ?x ?\d{1,3} |(\d+)[ -]nodes?\b"


def _device(row: Row) -> tuple[Device, int]:
    text = _plain(re.sub(r"\[.*?\]", "", row["device"]))
    named = {name for part in re.split(r"\+|,|/| and ", text) if (name := _listed(part))}
    if len(named) > 1:
        raise Unread("its devices are of several kinds")
    name = _listed(text)
    if name is None:
        raise Unread(f"no device of the catalogue is {row['device']!r}")
    return _named_device(name, row["framework+version"]), _count(text)


def _count(text: str) -> int:
    """How many devices a text says: one if it says no number, eight of a DGX."""
    each = next((int(found[1]) for way in _MANY if (found := re.search(way, text))), None)
    nodes = re.search(_NODES, text)
    if each is None and re.search(r"\bnvl ?\d", text):
        raise Unread("it does not say how many of a rack's devices there were")
    if each is None:
        each = 8 if re.search(r"\b[dh]gx.?[abh]\d00", text) else 1
    count = each * (int(nodes[1] or nodes[2]) if nodes else 1)
    if count == 0:
        raise Unread("it says that there was no device")
    return count


def _plain(text: str) -> str:
    """In small letters, with one sign for times and one for a hyphen, and no commas in numbers."""
    text = re.sub("[\u2010-\u2015]", "-", text.lower().replace("\u00d7", "x"))
    return re.sub(r"(?<=\d),(?=\d{3}\b)", "", text).strip()


def _listed(text: str) -> str | None:
    """The name that the data file has for a device of a text."""
    known: list[tuple[str, str]] = content()["device_names"]
    return next((name for pattern, name in known if re.search(pattern, text)), None)


def device_named(text: str) -> Device | None:
    """The device that a log names; None where none such is known.

    >>> device_named("NVIDIA H100 80GB HBM3").name, device_named("NVIDIA H100 NVL").name
    ('H100-SXM', 'H100-NVL')
    >>> device_named("abacus")
    """
    text = text[:_LONGEST].lower()
    known = (name for pattern, name in content()["device_names"] if re.search(pattern, text))
    name = next(known, None)
    return None if name is None else _known(name)


_LONGEST = 200  # letters of a name that are looked at


def _known(name: str) -> Device:
    """A device of the catalogue, or one that the tables have beside it."""
    own = content()["devices"].get(name)
    if own is None:
        return devices[name]
    changes = {key: value for key, value in own.items() if key not in ("like", "source")}
    return devices[own["like"]].with_(name=name, **changes)


def _named_device(name: str, framework: str) -> Device:
    device = _known(name)
    rates = dict(device.flops_per_s)
    if "llama.cpp" in framework and "fp16-acc16" in rates:  # its products accumulate in 16 bits
        device = device.with_(flops_per_s={**rates, "fp16": rates["fp16-acc16"]})
    return device.with_(cores=None)


def _precisions(row: Row, name: str, device: Device) -> tuple[Precision, Precision]:
    """Of the packed products, and of all else: 16 bits, and the cache's."""
    text = row["precision"].lower()
    packed = re.sub(rf"{_CACHE_FIRST}|(kv|input).*", "", text)
    bits = next((kind for pattern, kind in _FORMATS if re.search(pattern, packed)), None)
    if bits is None:
        raise Unread(f"its precision, {row['precision']!r}, is not one that is known")
    is_trt = re.search("tensorrt|trt", row["framework+version"], re.I) is not None
    if bits == "fp16" and "MLPerf" in row["what"]:
        bits = _quantised(device, is_trt)
    cache = _cache_bytes(text, bits, is_trt or "MLPerf" in row["what"])
    rest = Precision(kv=cache)
    if bits == "gguf":
        kind = packed.split()[-1]
        if kind not in content()["gguf"]:
            raise Unread(f"bits of {kind} in a file are not known")
        return Precision(weights=content()["gguf"][kind] / 8, kv=cache), rest
    compute = _compute(bits, row, device)
    own = _own_precision(name, bits)
    if own is not None and bits == "own":
        known = own.compute if own.compute in device.flops_per_s else None
        return own.with_(kv=cache, compute=known), rest
    if own is not None and "MLPerf" not in row["what"]:
        return own.with_(kv=cache, compute=compute), rest
    weights = "int8" if bits == "int8" else {"w4": "int4", "fp16": 2}.get(bits, bits)
    return Precision(weights=weights, kv=cache, compute=compute), rest


#: What a text about precision says, the first that matches.
_FORMATS = (
    (r"gguf", "gguf"),
    (r"mxfp4|column label", "mxfp4"),
    (r"nvfp4|fp4", "nvfp4"),
    (r"w4a16|awq|gptq|int4", "w4"),
    (r"nf4", "nf4"),
    (r"fp8", "fp8"),
    (r"int8|w8a8", "int8"),
    (r"fp16|bf16|float16|half|unquanti", "fp16"),
    (r"^-?$|not stated|default", "own"),
)
_COMPUTED_IN = {"mxfp4": "fp8", "nvfp4": "fp4", "fp8": "fp8", "int8": "int8"}


def _quantised(device: Device, is_trt: bool) -> str:
    """MLPerf's logs say what a checkpoint was before its submitter quantised it, in the fewest bits
    that the server multiplied: TensorRT in 4 from Blackwell on."""
    if is_trt and "fp4" in device.flops_per_s:
        return "nvfp4"
    return "fp8" if "fp8" in device.flops_per_s else "fp16"


def _compute(bits: str, row: Row, device: Device) -> str | None:
    """The format of the products; 16 bits where the device has no rate for what was packed."""
    compute = _COMPUTED_IN.get(bits)
    if bits == "mxfp4" and "fp4" not in device.flops_per_s:
        return None  # weights alone are in 4 bits
    if "awq" in row["precision"].lower():
        return None
    return compute if compute in device.flops_per_s else None


@cache
def _own_precision(name: str, bits: str) -> Precision | None:
    """That of a checkpoint of the catalogue, which leaves some of its matrices in 16 bits."""
    if bits == "own":
        return model_named(name).precision
    stored = content()["stored"].get(f"{name} {bits}")
    if stored is not None:
        return model_named(stored).precision
    model = model_named(name)
    return model.precision if bits == "mxfp4" and model.storage is not None else None


#: A cache's format before its name.
_CACHE_FIRST = r"\b(fp8|int8|bf16|fp16|int4|fp4) kv\b(?!\W*(?:fp|int|bf|auto|not))"


def _cache_bytes(text: str, bits: str, is_trt: bool) -> float:
    """As the row says; else 8 bits where weights have 8 or 4 and the server packs both."""
    said = re.search(_CACHE_FIRST, text) or re.search(r"kv\W*(?:cache\W*)?((?:nv|mx)?\w*\d)", text)
    if said:
        known = {"fp8": 1, "int8": 1, "bf16": 2, "fp16": 2, "int4": 0.5, "fp4": 0.5}
        if said[1] not in known:
            raise Unread(f"a cache in {said[1]} is not known")
        return known[said[1]]
    return 1 if bits == "nvfp4" or (bits == "fp8" and is_trt) else 2


# --------------------------------------------------------------------- plans, lengths, how many


def _plan(row: Row, model: Transformer, count: int, measures: str) -> tuple[int | None, int, int]:
    """Devices of one copy: tensor, expert, pipeline."""
    text = _short(row["plan"])
    if row["framework+version"].lower().startswith("llama.cpp"):
        return 1, 1, count  # layers are split, whatever the number
    phase = "prefill" if measures in ("input", "prefill") else "decode"
    if found := re.search(rf"{phase}\W* EP(\d+)", text):
        return 1, int(found[1]), 1
    if re.search(r"prefill|PD", text):
        raise Unread("prefill and decode ran on machines of their own")
    if re.search(r"CP(?!1\b)\d", text):
        raise Unread("its devices divide a sequence")
    pipeline = int(found[1]) if (found := re.search(r"PP(\d+)", text)) else 1
    if found := re.search(r"DEP(\d+)|attention DP(\d+)", text):
        return 1, int(found[1] or found[2]), pipeline
    if (found := re.search(r"TP(\d+)", text)) is None:
        is_said = count == 1 or pipeline > 1 or re.search(r"\bDP\d+", text)
        return (1 if is_said else None), 1, pipeline
    tensor = int(found[1])
    is_mixture = any(step.is_expert for step in model.steps())
    if tensor > 1 and is_mixture and _run(row).get("mixtures") == "attention data parallel":
        return 1, tensor, pipeline
    return tensor, 1, pipeline


def _short(plan: str) -> str:
    """A plan in short: "tensor parallel size 2" and "tp=2" are TP2; chunks of prefills are none."""
    text = re.sub(r"\b(\w)\w+[- ]parallel(?:ism)?(?:[- ]size)?\b", r"\1p", plan, flags=re.I)
    text = re.sub(r"\b(\d+)-way ([tp]p)\b", r"\2\1", text, flags=re.I)
    text = re.sub(r"(?:no )?chunked[- ]prefill", "", text, flags=re.I)
    kind = r"\b(d?c?[tpedc]p)\s*[=:]?\s*(\d+)"
    return re.sub(kind, lambda found: found[1].upper() + found[2], text, flags=re.I)


def _does(row: Row, measures: str) -> tuple[str, ...]:
    if re.search(r"(?:prefill|decode)\W* EP", row["plan"]):
        return ("prefill",) if measures == "input" else ("decode",)
    return ("prefill", "decode")


def _run(row: Row) -> Mapping[str, Any]:
    """What a source says once for all of its rows: see served.json."""
    runs: list[Mapping[str, Any]] = content()["runs"]
    return next((run for run in runs if re.search(run["what"], row["what"])), {})


def _lengths(row: Row, measures: str) -> tuple[int, int, int | None]:
    """Tokens of a prompt and of an answer, and how many requests were sent."""
    prompt, answer = _number(row["input_len"]), _number(row["output_len"])
    for pattern, known in content()["lengths"]:
        if row["input_len"] == "dataset" and re.search(
            pattern, f"{row['what']} {row['model']} {row['load']}"
        ):
            prompt, answer = known[0], answer or known[1]
    if row["input_len"].startswith("short"):
        prompt = 64
    run = _run(row)
    scale = run.get("share of nominal length", 1)
    if measures == "prefill" or (measures == "first token" and answer is None):
        answer = 1
    if measures in ("input",) and answer is None:
        answer = 1
    if prompt is None or answer is None:
        raise Unread("it does not say how long prompts and answers were")
    sent = run.get("requests", {}).get(f"{prompt:.0f}/{answer:.0f}")
    if found := re.search(r"(\d+) requests(?! ?/| per)", _plain(row["load"])):
        sent = int(found[1])
    return max(1, round(prompt * scale)), max(1, round(answer * scale)), sent


def _number(text: str) -> float | None:
    """The number at the beginning of a text, if it is above 0 and no part of another or a range."""
    found = re.match(
        r"(?:~|about|mean)?\s*(\d+(?:\.\d+)?)\s*([km]?)\b(?!\s*(?:[-/^.*x]|to)\s*\d|[-/^.])",
        _plain(text),
    )
    return (float(found[1]) * {"k": 1e3, "m": 1e6, "": 1}[found[2]] or None) if found else None


#: How people write how many requests there are at once.
_AT_ONCE = (
    r"(?:batch(?: size)?|concurrency|conc|\bbs|max_num_seqs)\s*[=:]?\s*(\d+)\b",
    r"\b(\d+) (?:concurrent|users?|vus?|clients?|streams?)\b",
)


def _batch(row: Row, measures: str, count: int) -> int | None:
    """Requests at once, where the row says."""
    load = _plain(row["load"])
    if measures == "prefill" or "single stream" in load or load == "1 request":
        return 1
    if found := re.search(r"batch(?: size)? (\d+) ?(?:/|per) ?gpu", load):
        return int(found[1]) * count
    found = next((each for way in _AT_ONCE if (each := re.search(way, load))), None)
    if found and re.match(r"\s*(?:-|/|to|\.\.)\s*\d", load[found.end(1) :]):
        raise Unread(f"its load, {row['load']!r}, is of several numbers of requests")
    if (found and int(found[1]) == 0) or (
        found is None and re.search(r"\b(?:batch|concurrency)\b\W*\d", load)
    ):
        raise Unread(f"its load, {row['load']!r}, is not one that is known")
    if found is None and measures in ("user", "per token", "first token"):
        if measures == "first token" and re.search(r"batch 1\b", row["metric"].lower()):
            return 1
        raise Unread("it does not say how many requests there were at once")
    return int(found[1]) if found else None
