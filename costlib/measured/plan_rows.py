"""Published training set-ups as rows: which model on which devices, divided how, and how fast.

A row is read from text, in the way that people write it: "TP8 PP16 DP15 MBS1 GBS2160 full
recompute fp16". What the text must tell, and by which words:

    model     a name of the catalogue, or sizes: (24L h2304 24 heads 8 kv ffn9216 vocab51200);
              ffn4h is four times the width; with a size in parameters alone ("GPT 200B") the usual
              proportions of a GPT are assumed, and the row says so
    devices   32 x A100-80GB, 8x H200, v5p-128 (two cores a chip), 2x v5e-256 (two slices)
    plan      TP, PP, VP (chunks), CP, EP, DP, FSDP, ZeRO-1..3, HSDP, MBS, GBS, GA, seq; recompute:
              full, selective, act-ckpt=True; formats: bf16, fp16, FP8 (MXFP8, float8), NVFP4

What was measured is one of: seconds of a step, tokens/s of a device or of all, samples/s, TFLOP/s
of a device or a share of the peak. The last two are turned into seconds by the convention of their
source, which counts FLOPs its own way.

Left out: QLoRA, whose frozen weights are unpacked at every use.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

from costlib.model.catalog import Node, devices, models, nodes
from costlib.model.catalog.prices import listed
from costlib.model.transformer import Transformer
from costlib.training import flops_per_token
from costlib.units.device import Device

__all__ = ["PlanRow", "UnreadRow", "plan_rows", "plan_sources", "read_plans"]

_FILE = Path(__file__).parent / "plans.json"


class UnreadRow(ValueError):
    """A row whose text does not tell what a prediction needs."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PlanRow:
    """One set-up of a published table, and what was measured of it.

    ``by`` says who published it, ``zero`` is ZeRO's stage, ``shard`` the devices that share one
    copy of the state (all replicas unless said), ``seconds`` those of one step, however they were
    printed; with ``adapters`` (LoRA) the weights themselves are frozen; ``power`` is the share of
    their rated power that its devices had; ``assumed`` names what the text did not tell.

    >>> row = plan_rows("megatron SC21 table 1")[0]
    >>> row.name, row.devices, row.tensor, row.microbatch, row.recompute, round(row.seconds, 2)
    ('GPT 1.7B', 32, 1, 16, 'full', 3.53)
    >>> row.data, row.microbatches
    (32, 1)
    """

    table: str
    by: str
    name: str
    model: Transformer = field(repr=False)
    device: Device = field(repr=False)
    node: Node = field(repr=False)
    devices: int
    tensor: int = 1
    pipeline: int = 1
    chunks: int = 1
    context: int = 1
    expert: int = 1
    zero: int = 0
    shard: int | None = None
    microbatch: int = 1
    batch: int = 1
    seq: int = 2048
    precision: str = "bf16"
    recompute: str | None = None
    offload: bool = False
    adapters: bool = False
    power: float = 1.0
    seconds: float = 0.0
    measured: Mapping[str, float] = field(default_factory=dict)
    assumed: tuple[str, ...] = ()
    source: str = ""

    @property
    def data(self) -> int:
        """Replicas: devices over those that hold one copy of a model together."""
        return self.devices // (self.tensor * self.pipeline * self.context)

    @property
    def microbatches(self) -> int:
        """Microbatches of a step in each replica: the nearest whole number."""
        return max(1, round(self.batch / (self.data * self.microbatch)))

    @property
    def tokens_per_second(self) -> float:
        """Tokens/s of one device."""
        return self.batch * self.seq / self.devices / self.seconds

    @property
    def plan(self) -> str:
        """How it was divided, in the words that `read_plans` reads."""
        sizes = {"TP": self.tensor, "PP": self.pipeline, "VP": self.chunks}
        sizes |= {"CP": self.context, "EP": self.expert}
        words = [f"{name}{size}" for name, size in sizes.items() if size > 1]
        words += [f"MBS{self.microbatch}", f"GBS{self.batch}", f"seq {self.seq}"]
        words += [f"ZeRO-{self.zero}"] if self.zero else []
        words += [f"shard{self.shard}"] if self.shard else []
        words += [f"{self.recompute} recompute"] if self.recompute else []
        words += ["offload"] if self.offload else []
        words += ["LoRA"] if self.adapters else []
        return " ".join([*words, self.precision])


def plan_rows(table: str | None = None) -> list[PlanRow]:
    """The rows that the library carries: of all tables, or of those whose name begins so.

    >>> len(plan_rows("korthikanti table 5")), len({row.table for row in plan_rows()}) > 60
    (8, True)
    >>> plan_rows("table 9")
    Traceback (most recent call last):
        ...
    ValueError: table must begin like one of those in plan_sources(), got 'table 9'
    """
    found = [row for row in _carried() if table is None or row.table.startswith(table)]
    if not found:
        raise ValueError(f"table must begin like one of those in plan_sources(), got {table!r}")
    return found


def plan_sources() -> dict[str, Any]:
    """Every table that is carried, its source and convention; and what was left out, with why.

    >>> sorted(plan_sources())
    ['left out', 'tables']
    """
    content = _content()
    tables = {
        each["name"]: {k: each[k] for k in ("by", "source", "counts")} for each in content["tables"]
    }
    return {"tables": tables, "left out": content["left out"]}


def read_plans(path: Path | str) -> tuple[list[PlanRow], list[tuple[str, str]]]:
    """The rows of a CSV file, and those that could not be read, each with the reason.

    Columns: what, model, devices, plan, metric, value, unit, source, read, table. Lines that agree
    in table, what, model, devices and plan are one set-up with several metrics.

    >>> from tempfile import mkdtemp
    >>> head = "what,model,devices,plan,metric,value,unit,source,read,table"
    >>> plan = "FSDP MBS2 GBS16 seq 4096 bf16"
    >>> file = Path(mkdtemp()) / "rows.csv"
    >>> text = f"{head}\\nw,llama-2-7b,8 x H100,{plan},tokens/s/GPU,9000,tokens/s,,yes,mine"
    >>> _ = file.write_text(text, encoding="utf-8")
    >>> rows, unread = read_plans(file)
    >>> rows[0].zero, round(rows[0].seconds, 2), unread
    (3, 0.91, [])
    """
    grouped: dict[tuple[str, ...], list[dict[str, str]]] = {}
    with Path(path).open(newline="", encoding="utf-8") as lines:
        for line in csv.DictReader(lines):
            key = tuple(line[name] for name in ("table", "what", "model", "devices", "plan"))
            grouped.setdefault(key, []).append(line)
    rows, unread = [], []
    for key, group in grouped.items():
        found = _row_or_reason(key, group)
        if isinstance(found, PlanRow):
            rows.append(found)
        else:
            unread.append((" | ".join(key), found))
    return rows, unread


def _row_or_reason(key: tuple[str, ...], lines: list[dict[str, str]]) -> PlanRow | str:
    try:
        return _row(key, _metrics(lines), source=lines[0].get("source", ""))
    except UnreadRow as reason:
        return str(reason)


#: What a number is times, if its unit is one of these.
_UNITS = (("ms", 1e-3), ("min", 60.0), ("ktokens/s", 1e3), ("k tokens/s", 1e3), ("m tokens/s", 1e6))


def _metrics(lines: Iterable[Mapping[str, str]]) -> dict[str, float]:
    """The numbers of one set-up; of several readings of one metric, the mean."""
    found: dict[str, list[float]] = {}
    for line in lines:
        told = re.fullmatch(r"\s*([\d,]+(?:\.\d+)?)(k?)%?\s*", line["value"])  # else "OOM", "text"
        if told:
            unit = next((by for word, by in _UNITS if word == line.get("unit", "").lower()), 1.0)
            value = float(told[1].replace(",", "")) * (1e3 if told[2] else 1.0) * unit
            found.setdefault(line["metric"], []).append(value)
    return {name: sum(values) / len(values) for name, values in found.items()}


@cache
def _content() -> Any:
    return json.loads(_FILE.read_text(encoding="utf-8"))


@cache
def _carried() -> tuple[PlanRow, ...]:
    found = []
    for table in _content()["tables"]:
        for model, devices_text, plan, metrics in table["rows"]:
            key = (table["name"], "", model, devices_text, plan)
            told = {name: table[name] for name in ("source", "counts", "by")}
            found.append(_row(key, metrics, **told))
    return tuple(found)


def _row(
    key: tuple[str, ...],
    metrics: Mapping[str, float],
    *,
    source: str,
    counts: str | None = None,
    by: str | None = None,
) -> PlanRow:
    table, what, model_text, devices_text, plan = key
    words = _chosen(plan, what)
    if re.search(r"\bqlora\b", f"{what} {plan} {table}", re.IGNORECASE):
        raise UnreadRow("QLoRA: unpacking frozen weights is other work")
    model, assumed = read_model(model_text, words)
    device, node, count = read_devices(devices_text)
    found = read_plan(words, what, model_text, count)
    row = PlanRow(
        table=table,
        by=by or table,
        name=re.sub(r"\s*\(.*", "", re.sub(r"\s+seq.*", "", model_text)),
        model=model,
        device=device,
        node=node,
        devices=count,
        measured=metrics,
        source=source,
        power=_power(devices_text, device),
        adapters=re.search(r"\blora\b", f"{what} {plan} {table}", re.IGNORECASE) is not None,
        **{**found, "assumed": (*assumed, *found["assumed"])},
    )
    row = replace(row, recompute=_recompute(row), precision=_format(row))
    seconds = _seconds(row, counts)
    return replace(row, seconds=seconds)


def _recompute(row: PlanRow) -> str | None:
    """As the plan says; else as MFU and HFU of one row tell, where both were printed."""
    if row.recompute is None and {"MFU", "HFU"} <= {*row.measured}:
        again = 3 * (row.measured["HFU"] / row.measured["MFU"] - 1)
        return "full" if again > 0.5 else None
    return row.recompute


def _format(row: PlanRow) -> str:
    """The plan's format; where the device has no bf16, 16 bits are its own."""
    given = row.precision
    return (
        row.device.sixteen_bits
        if given == "bf16" and given not in row.device.flops_per_s
        else given
    )


def _chosen(plan: str, what: str) -> str:
    """Of "FSDP64 (0) TP1 (2)" the first values, or those in parentheses if the row means them."""
    second = "parenthes" in what
    return re.sub(r"\b([A-Z]+)(\d+) \((\d+)\)", lambda m: m[1] + (m[3] if second else m[2]), plan)


# ------------------------------------------------------------------------------------ models

_KNOWN = {re.sub(r"[^a-z0-9]", "", name): name for name in models}
_ALSO = {
    "llama370b": "llama-3.1-70b",
    "llama3405b": "llama-3.1-405b",
    "llama4scout": "llama-4-scout-17b-16e",
    "llama4maverick": "llama-4-maverick-17b-128e",
    "nemotron3nano": "nemotron-3-nano-30b-a3b",
    "nemotron3super": "nemotron-3-super-120b-a12b-nvfp4",
    "nemotron3ultra": "nemotron-3-ultra-550b-a55b",
    "nemotron35lightning": "nemotron-3.5-lightning-30b-a3b-nvfp4",
    "nemotronh56b": "nemotron-h-56b-base-8k",
    "gemma42b": "gemma-4-e2b",
    "gemma44b": "gemma-4-e4b",
    "gemma426b": "gemma-4-26b-a4b",
    "gemma431b": "gemma-4-31b",
    "mistral7b": "mistral-7b-v0.3",
    "nemotronsuper49b": "nemotron-super-49b",
    "nemotronv3nano": "nemotron-3-nano-30b-a3b",
    "nemotronv3super": "nemotron-3-super-120b-a12b-nvfp4",
    "nemotronv3ultra": "nemotron-3-ultra-550b-a55b",
    "qwen3moe30b": "qwen3-30b-a3b",
    "qwen330b": "qwen3-30b-a3b",
    "qwen3moe235b": "qwen3-235b-a22b",
    "qwen3235b": "qwen3-235b-a22b",
}


@cache
def _gpt(**sizes: Any) -> Transformer:
    if not sizes.get("gated", True):
        sizes = {**sizes, "activation": "gelu_tanh", "norm": "layer_norm"}
    return Transformer(**sizes)


def read_model(text: str, plan: str = "") -> tuple[Transformer, tuple[str, ...]]:
    """A model by its sizes, its name, or its number of parameters; and what had to be assumed.

    >>> read_model("GPT 1.7B (24L h2304 24 heads ffn4h vocab51200 seq2048)")[0].d_ff
    9216
    >>> read_model("LLAMA3.1_405B seq 8192")[0].layers
    126
    >>> read_model("GPT 200B h14400 seq 2048 vocab 250k")[1]
    ('proportions of the model',)
    """
    low = text.lower()
    flat = re.sub(r"[^a-z0-9]", "", re.split(r" \(| seq", low)[0])
    sizes = re.search(r"(\d+)l,? h(\d+),? (\d+) heads", low)
    is_plain = "expert" not in low and " mla" not in low
    if sizes and is_plain:
        return _by_sizes(low, plan, *map(int, sizes.groups())), ()
    extra = _content()["models"]
    for key in sorted({**_KNOWN, **_ALSO, **extra}, key=len, reverse=True):
        at = flat.find(key)
        rest = flat[at + len(key) :] if at >= 0 else ""
        is_size = re.match(r"\d{3,}b", rest) is not None  # "DeepSeek V3 671B"
        goes_on = key[-1].isdigit() and rest[:1].isdigit() and not is_size
        if at < 0 or goes_on or len(key) < 5:
            continue
        if key in extra:
            return _gpt(**extra[key]), ()
        return _with_heads(models[_ALSO.get(key) or _KNOWN[key]], key, low), ()
    return _by_parameters(text, plan), ("proportions of the model",)


def _with_heads(model: Transformer, key: str, text: str) -> Transformer:
    """DeepSeek-V3 trains with its MTP layer, unless told not to."""
    if key != "deepseekv3" or "w/o mtp" in text or not model.mtp_blocks:
        return model
    return _further(model)


@cache
def _further(model: Transformer) -> Transformer:
    return model.with_mtp_layers()


def _by_sizes(text: str, plan: str, layers: int, width: int, heads: int) -> Transformer:
    inner = _number(r"ffn ?(\d+)\b(?!h)", text) or 4 * width
    names = ("llama", "mistral", "qwen", "gemma", "olmo")
    sizes: dict[str, Any] = {
        "layers": _number(r"\blayers=(\d+)", plan.lower()) or layers,
        "d_model": width,
        "heads": _number(r"\bheads=(\d+)", plan.lower()) or heads,
        "d_ff": inner,
        "vocab": _vocab(text),
        "gated": inner < 4 * width or any(name in text for name in names),
        "head_dim": width // heads,
    }
    if kv := _number(r"(\d+) kv\b", text):
        sizes["kv_heads"] = kv
    if not sizes["gated"]:  # GPTs use the embedding twice, and most learn positions
        learned = _number(r"positions ?(\d+)", text) or (
            text.startswith("mpt") and _seq("", text)[0]
        )
        sizes |= {"tied": True, "positions": learned or 0, "rotary_dim": 0}
    return _gpt(**sizes)


#: What a name must begin with to mean a GPT of the usual proportions.
_GPTS = r"(?:an? )?(?:~?[\d.]+ ?[bmt]\b|gpt|mt-nlg|t-nlg|turing|megatron|opt\b|bloom|llama|palm)"


def _by_parameters(text: str, plan: str) -> Transformer:
    """A GPT whose width is 128 times its depth, unless its width is given.

    >>> _by_parameters("Grok MoE 314B", "")
    Traceback (most recent call last):
        ...
    costlib.measured.plan_rows.UnreadRow: model 'Grok MoE 314B': its parameters alone tell no sizes
    """
    found = re.search(r"(\d+(?:\.\d+)?)\s*([bmt])\b", text.lower())
    if not found:
        raise UnreadRow(f"model {text!r}: neither sizes nor a name of the catalogue")
    if not re.match(_GPTS, text.lower()) or re.search(r"moe|expert|\ba\d+b\b", text.lower()):
        raise UnreadRow(f"model {text!r}: its parameters alone tell no sizes")
    count = float(found[1]) * {"m": 1e6, "b": 1e9, "t": 1e12}[found[2]]
    vocab = _vocab(text.lower())
    width = _number(r"\bh(\d+)\b", text.lower())
    width = width or max(128, round((count * 128 / 12) ** (1 / 3) / 128) * 128)
    layers = max(1, round((count - vocab * width) / (12 * width**2)))
    heads = _number(r"\bheads=(\d+)", plan.lower()) or max(1, round(width / 1024) * 8)
    layers = _number(r"\blayers=(\d+)", plan.lower()) or layers
    sizes = {"layers": layers, "d_model": width, "heads": heads, "d_ff": 4 * width}
    wide = max(8, round(width / heads / 8) * 8)
    return _gpt(**sizes, vocab=vocab, gated=False, tied=True, head_dim=wide)


def _vocab(text: str) -> int:
    found = re.search(r"vocab ?(\d+)(k?)", text)
    return int(found[1]) * (1000 if found[2] else 1) if found else 51200


def _number(pattern: str, text: str) -> int | None:
    found = re.search(pattern, text)
    return int(found[1]) if found else None


# ----------------------------------------------------------------------------------- devices

#: A word, the device and node that it means, and the devices for each one that is counted.
_DEVICES: tuple[tuple[str, str, str, float], ...] = (
    ("gb300", "GB300", "GB300-NVL72", 1),
    ("gb200", "GB200", "GB200-NVL72", 1),
    ("b300", "B300", "DGX-B300", 1),
    ("b200", "B200", "DGX-B200", 1),
    ("h200", "H200", "DGX-H200", 1),
    ("h800", "H100-SXM", "DGX-H100", 1),
    ("a3 (h100", "H100-SXM", "DGX-H100", 8),
    ("h100", "H100-SXM", "DGX-H100", 1),
    ("a100-40", "A100-40GB", "DGX-A100", 1),
    ("a100_40", "A100-40GB", "DGX-A100", 1),
    ("a100", "A100-80GB", "DGX-A100", 1),
    ("ampere", "A100-80GB", "DGX-A100", 1),
    ("mi300", "MI300X", "8xMI300X", 1),
    ("mi355", "MI355X", "8xMI355X", 1),
    ("v100", "V100", "DGX-1", 1),
    ("tpu7x", "TPU7x", "TPU7x-pod", 1),
    ("ironwood", "TPU7x", "TPU7x-pod", 1),
    ("v6e", "TPU-v6e", "TPU-v6e-pod", 1),
    ("trillium", "TPU-v6e", "TPU-v6e-pod", 1),
    ("v5p", "TPU-v5p", "TPU-v5p-pod", 0.5),
    ("v5e", "TPU-v5e", "TPU-v5e-pod", 1),
    ("v5lite", "TPU-v5e", "TPU-v5e-pod", 1),
    ("v4", "TPU-v4", "TPU-v4-pod", 0.5),
    ("v3", "TPU-v3", "TPU-v3-pod", 0.5),
    ("trn2", "Trainium2", "Trn2", 1),
    ("gaudi3", "Gaudi-3", "8xGaudi-3", 1),
    ("gaudi 3", "Gaudi-3", "8xGaudi-3", 1),
    ("l40s", "L40S", "PCIe", 1),
    ("a10g", "A10", "PCIe", 1),
    ("a6000", "RTX-A6000", "PCIe", 1),
    ("4090", "RTX-4090", "PCIe", 1),
    ("3090", "RTX-3090", "PCIe", 1),
)

#: Nodes that the catalogue does not have: NVLink 2 in a DGX-1 with four EDR InfiniBand adapters for
#: eight devices (NVIDIA, 2017), the tori of TPU v3 and v4 (Jouppi et al. 2020, 2023), and eight
#: cards on PCIe 4.
_OLDER: Mapping[str, Mapping[str, Any]] = {
    "DGX-1": {"devices": 8, "link": 150e9, "network": 6.25e9},
    "PCIe": {"devices": 8, "link": 25e9, "network": 12.5e9},
    "TPU-v3-pod": {
        "devices": 1024,
        "link": 280e9,
        "network": 3.125e9,
        "topology": "torus",
        "axes": 2,
    },
    "TPU-v4-pod": {
        "devices": 4096,
        "link": 300e9,
        "network": 3.125e9,
        "topology": "torus",
        "axes": 3,
    },
}
_TPU_V3 = Device("TPU-v3", {"bf16": 123e12}, 900e9, capacity=32 * 2**30)


@cache
def _node(name: str, device: str) -> Node:
    found = _TPU_V3 if device == "TPU-v3" else devices[device]
    if name in _OLDER:
        return Node(name=name, device=found, **_OLDER[name])
    known: Node = nodes[name]
    return replace(known, device=found)


def read_devices(text: str) -> tuple[Device, Node, int]:
    """A device, the node it stands in, and how many there are.

    >>> [(read_devices(t)[0].name, read_devices(t)[2]) for t in ("64 x H100 (DGX)", "2x v5p-128")]
    [('H100-SXM', 64), ('TPU-v5p', 128)]
    >>> read_devices("8 x H20")
    Traceback (most recent call last):
        ...
    costlib.measured.plan_rows.UnreadRow: devices '8 x H20': not known in training set-ups
    """
    low = text.lower()
    found = [known for known in _DEVICES if known[0] in low]
    if not found:
        raise UnreadRow(f"devices {text!r}: not known in training set-ups")
    word, name, node, each = found[0]
    is_slice = word.startswith("v") and node.startswith("TPU")
    slices = re.search(r"(?:(\d+) ?x ?-?)?(?:tpu )?v\d\w*-(\d+)", low) if is_slice else None
    if slices:
        count = int(int(slices[2]) * each) * int(slices[1] or 1)
    else:
        patterns = (
            r"(\d+)(?:-ish)? ?x(?=[\s-]|$)",
            r"\bx ?(\d+)",
            r"\b(\d+) (?:[\w.-]+ ){0,3}(?:tpus?|gpus?|chips|devices|accelerators)\b",
            r"\b(\d+) (?:tpu|nvidia|google|amd|ampere)\b",
        )
        times = next((m for pattern in patterns if (m := re.search(pattern, low))), None)
        if not times:
            raise UnreadRow(f"devices {text!r}: how many is not given")
        count = int(int(times[1]) * max(each, 1))
    stands_in = _node(node, name)
    return stands_in.device, stands_in, count


def _power(text: str, device: Device) -> float:
    """The share of its rated power that a device was given, where a text tells watts.

    >>> round(_power("64 x H100 96GB HBM2e 500W, 8 per node", devices["H100-SXM"]), 2)
    0.71
    """
    told = re.search(r"\b(\d{3}) ?W\b", text)
    rated = listed(device.name).watts if told and device.name in devices else None
    return min(1.0, int(told[1]) / rated) if told and rated else 1.0


# ------------------------------------------------------------------------------------- plans


def read_plan(text: str, what: str, model_text: str, count: int) -> dict[str, Any]:
    """The fields of a plan, as the words of a table tell them.

    >>> text = "TP8 PP12 DP4 MBS4 GBS2048 ZeRO-1 full act-ckpt bf16"
    >>> found = read_plan(text, "", "seq 2048", 384)
    >>> found["tensor"], found["pipeline"], found["zero"], found["recompute"], found["batch"]
    (8, 12, 1, 'full', 2048)
    """
    low = _in_letters(f"{text} {what}".lower())
    if "best config" in low:
        raise UnreadRow(f"plan {text!r}: not given")

    def number(*names: str) -> int | None:
        for name in names:
            found = _number(rf"(?<![a-z]){name}\s*[=:]?\s*(\d+)\b", low)
            if found is not None:
                return found
        return None

    sizes = {"tensor": "tp", "pipeline": "pp", "chunks": "vp", "context": "cp", "expert": "ep"}
    found: dict[str, Any] = {name: number(word) or 1 for name, word in sizes.items()}
    seq, assumed = _seq(f"{text} {what}", model_text)
    found |= {"seq": seq, "precision": _precision(low), "recompute": _recomputed(low)}
    if found["chunks"] == 1 and found["pipeline"] > 1 and "interleaved" in low:
        found["chunks"] = 2
    found |= _sharding(low, number("fsdp"), number("shard"))
    if found["pipeline"] > 1 and found["zero"] == 3:  # with stages, gathered weights are kept
        found["zero"] = 2
    if found["tensor"] == found["pipeline"] == 1 and (split := _model_parallel(low)):
        found, assumed = {**found, **split}, (*assumed, "tensor in a node, stages beyond it")
    found["offload"] = bool(re.search(r"(?<!activation )(?<!activations )offload(?!=false)", low))
    is_elsewhere = re.search(r"\bsee (repo|recipe)", low) is not None
    if is_elsewhere:
        split, named = _sharded_fully(low, number("gbs"), seq, count)
        found, assumed = {**found, **split}, (*assumed, *named)
    group = found["tensor"] * found["pipeline"] * found["context"]
    if found["shard"] and found["shard"] * group <= count:
        found["shard"] *= found["context"]  # a sequence's devices share the weights' parts too
    if count % group:
        raise UnreadRow(f"plan {text!r}: {group} does not divide {count} devices")
    told = _batch(low, number, count // group, seq, found["pipeline"])
    is_gathered = found["zero"] == 3 and found["pipeline"] == 1 and not number(*_MICRO, "ga", "m")
    if is_elsewhere or is_gathered:  # one pass: gathering weights for each of several is dear
        told["microbatch"] = told["batch"] // (count // group)
    return {**found, **told, "assumed": (*assumed, *told["assumed"])}


def _model_parallel(low: str) -> dict[str, int]:
    """A degree of model parallelism: tensor in a node, stages beyond, which is SC21's own advice.

    >>> _model_parallel("ptd model-parallel 96")
    {'tensor': 8, 'pipeline': 12}
    """
    told = re.search(r"model[- ]parallel(?: size)?[- =]*(\d+)", low)
    if told is None or int(told[1]) % min(8, int(told[1])):
        return {}
    inside = min(8, int(told[1]))
    return {"tensor": inside, "pipeline": int(told[1]) // inside}


_LETTERS = (
    ("tp", "tensor|model|tp"),
    ("pp", "pipeline|pp"),
    ("cp", "context|cp"),
    ("ep", "expert|ep"),
    ("fsdp", "fsdp"),
)


def _in_letters(low: str) -> str:
    """ "8-way tensor parallel" as "tp8".

    >>> _in_letters("2-way pod dp, 12-way tp, 256-way fsdp")
    '2-way pod dp, tp12, fsdp256'
    """
    for letters, words in _LETTERS:
        low = re.sub(rf"(\d+)-way (?:{words})\b", rf"{letters}\1", low)
    return low


def _sharded_fully(
    low: str, batch: int | None, seq: int, count: int
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The usual plan on TPUs, to which tables refer: weights sharded, and
    sequences too where there are fewer of them than devices."""
    tokens = _tokens(low)
    batch = tokens // seq if tokens else batch
    if batch and batch < count and count % batch == 0:
        return {"zero": 3, "context": count // batch}, ("fully sharded", "sequences in parts")
    return {"zero": 3}, ("fully sharded",)


def _sharding(low: str, fsdp: int | None, shard: int | None) -> dict[str, Any]:
    stage = _number(r"zero-?(\d)", low) or 0
    if "full_shard" in low or fsdp or re.search(r"\b[fh]sdp\b(?![0-9=])", low):
        stage = 3
    if "shard_grad_op" in low:
        stage = 2
    if not stage and (fsdp == 0 or re.search(r"\b(vp|ep|cp)(\d|n/a)", low)):
        stage = 1  # Megatron's usual way: the optimizer's state is divided
    group = shard or (fsdp if fsdp and fsdp > 1 else None) or (8 if "hsdp" in low else None)
    return {"zero": stage, "shard": group}


def _precision(low: str) -> str:
    if "nvfp4" in low or "fp4" in low:
        return "fp4"
    if "fp8" in low or "float8" in low:
        return "fp8"
    return "fp16" if re.search(r"\bfp16\b", low) else "bf16"


def _recomputed(low: str) -> str | None:
    if "selective" in low or "per op sac" in low:
        return "selective"
    if re.search(r"no (ac\b|act)|act-ckpt=false", low):
        return None
    words = r"full (recompute|act|ac\b)|act-ckpt|full activation|activation checkpointing"
    return "full" if re.search(words, low) else None


_SEQ = r"(?:seq(?:uence)?[ _]?(?:len(?:gth)?)?|packed) ?[=:]? ?(\d[\d,]*) ?(k?)\b"


def _seq(plan: str, model: str) -> tuple[int, tuple[str, ...]]:
    for text in (model.lower(), plan.lower()):
        found = re.search(_SEQ, text)
        if found:
            return int(found[1].replace(",", "")) * (1024 if found[2] else 1), ()
    usual = 8192 if re.search(r"llama.?3", model.lower()) else 2048
    return usual, (f"sequences of {usual}",)


#: What a microbatch is called.
_MICRO = ("mbs", "local batch size", "local batch")


def _batch(low: str, number: Any, data: int, seq: int, pipeline: int) -> dict[str, Any]:
    """Microbatch and batch in sequences; what is missing follows from the rest."""
    micro, batch = number(*_MICRO), number("gbs", "global batch size")
    each = number("batch per dp", "batch/dp", "batch size/dp")
    again = number("ga", "m") or _number(r"(\d+) micro-?batches", low) or 1
    if batch is None and micro is None and each is None:
        batch = number("batch size", "batch")
        if batch is not None and batch < data:  # of each device
            micro, batch = batch, None
    tokens = _tokens(low)
    if micro and pipeline > 1 and "local batch" in low:
        batch, micro = batch or micro * data, 1  # a replica's batch, in microbatches of one
    batch = batch or (tokens and max(1, tokens // seq)) or (each and each * data)
    assumed: tuple[str, ...] = ()
    if batch is None and pipeline > 1 and again == 1:
        raise UnreadRow("its batch is not given, and the bubble of its stages depends on it")
    if batch is None and micro is not None:
        batch = micro * data * again
    elif batch is None:
        micro = max(1, 8192 // seq)
        batch, assumed = micro * data, ("batch: 8192 tokens a device",)
    micro = micro or 1
    if micro > batch:
        micro, batch = batch, micro  # printed in each other's column
    if batch < data:
        raise UnreadRow(f"batch {batch}: fewer sequences than {data} replicas")
    micro = min(micro, batch // data)
    return {"microbatch": micro, "batch": batch, "assumed": assumed}


def _tokens(low: str) -> int | None:
    """Tokens of a batch, where it is given in them."""
    if told := _number(r"gbs tokens=(\d+)", low):
        return told
    found = re.search(r"(\d+(?:\.\d+)?) ?([km]) tokens", low)
    return int(float(found[1]) * {"k": 2**10, "m": 2**20}[found[2]]) if found else None


# ---------------------------------------------------------------------------------- measured

_FULL = ("megatron SC21", "bigscience", "bloom", "mt-nlg", "opt-")
_TIMES = ("iteration time", "time per", "step time", "time/step", "s/it", "sec/it")
_TOKENS = ("tokens/s", "tok/s", "tps", "throughput")
_SAMPLES = ("samples/s", "samples per", "sequences/s", "seq/s")
_EACH = r"/(gpu|chip|device)|per[ _-](gpu|chip|device)|\btps\b"


def _seconds(row: PlanRow, counts: str | None) -> float:
    """Seconds of one step, from whatever was printed."""
    tokens = row.batch * row.seq
    for kind, name, value in _in_order(row.measured):
        share = row.devices if re.search(_EACH, name.lower()) else 1
        if kind is _TIMES:
            return value
        if kind is _TOKENS:
            return tokens / share / value
        if kind is _SAMPLES:
            return row.batch / share / value
        peak = float(row.device.compute_rate(row.device.sixteen_bits))
        done = value * 1e12 if kind is _FLOPS else value / (100 if value > 1 else 1) * peak
        again = 4 / 3 if "hfu" in name.lower() and row.recompute == "full" else 1
        per_token = again * _counted(row, counts or _convention(row.table, name))
        return per_token * tokens / row.devices / done
    raise UnreadRow(f"no speed among {', '.join(row.measured) or 'its metrics'}")


_FLOPS, _SHARES = ("tflop",), ("mfu", "hfu", "% of peak")
_KINDS = (_TIMES, _TOKENS, _SAMPLES, _FLOPS, _SHARES)


def _in_order(metrics: Mapping[str, float]) -> Iterator[tuple[tuple[str, ...], str, float]]:
    """Times first, then rates of tokens, then FLOP/s, then shares; each of them positive."""
    for kind in _KINDS:
        for name, value in metrics.items():
            low = name.lower()
            if value > 0 and any(word in low for word in kind) and "layer" not in low:
                yield kind, name, value


def _convention(table: str, metric: str) -> str:
    """How a source counts FLOPs, of a file that does not say it otherwise."""
    low = metric.lower()
    if table.startswith(_FULL) or "hardware" in low or "recomput" in low:
        return "megatron-again"
    if "causal" in low and "non-causal" not in low:
        return "ledger"
    newer = re.search(r"\b2(5\.(09|1\d)|[6-9]\.\d\d)", table)
    return "ledger" if newer else "ledger-full"


def _counted(row: PlanRow, convention: str) -> float:
    convention = convention if row.model.is_uniform else "ledger"
    return float(flops_per_token(row.model, row.seq, convention))
