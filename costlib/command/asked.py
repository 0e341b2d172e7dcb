"""What was typed, read: models by name or file, devices with a number, ranges."""

from __future__ import annotations

import re
import sys
from argparse import Namespace
from collections.abc import Callable, Iterable, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from costlib.model.catalog import devices, models, nodes
from costlib.model.transformer import Transformer
from costlib.parallel.cluster import times
from costlib.serving.server import CUTS
from costlib.timing.sweeps import usual_context
from costlib.units import numbers as numbers_of
from costlib.units.numbers import ceil_div, one_size
from costlib.units.precision import RECIPES

__all__ = [
    "MOST",
    "among",
    "amount",
    "duration",
    "fill_context",
    "model",
    "names",
    "no_flag",
    "more_than_a_node",
    "numbers",
    "plan",
    "positive",
    "price",
    "prices",
    "share",
    "spell",
    "times",
    "whole",
]

#: Numbers of a range, and rows of a sweep, that are taken.
MOST = 1_000_000


def model(text: str) -> Transformer:
    """A model of the catalogue by its name, or of a config.json by its path; ``-`` reads one.

    >>> model("gpt2").layers
    12
    """
    if text == "-":
        return _piped()
    if text in models:
        return models[text]
    path = Path(text)
    if path.is_dir():
        if not (path := path / "config.json").is_file():
            raise ValueError(f"{text!r} is a folder without a config.json")
    elif not path.is_file():
        if path.suffix.startswith(".js") and "://" not in text:
            raise ValueError(f"there is no config at {text!r}{_near_file(path)}")
        return models[text]  # says which name is near
    try:
        return Transformer.from_hf(path)
    except (ValueError, TypeError) as problem:
        named = "" if str(path) in str(problem) else f"{path}: "
        raise ValueError(f"{named}{problem}") from problem


def _near_file(path: Path) -> str:
    """The config in the same folder that is spelt most like one that is not there."""
    beside = [each.name for each in path.parent.glob("*.json")]
    near = get_close_matches(path.name, beside, n=1)
    return f"; the nearest is {path.with_name(near[0])}" if near else ""


def _piped() -> Transformer:
    """The model of a config.json that comes in on standard input."""
    text = sys.stdin.read().strip("\ufeff \t\r\n")
    if not text:
        raise ValueError("nothing came in on standard input, where - reads a config.json")
    if text[0] not in "{[":  # a path is given by its name
        raise ValueError(f"no config.json came in on standard input: it begins with {text[:20]!r}")
    return Transformer.from_hf(text)


def spell(given: Namespace) -> None:
    """Names as the catalogue spells them; an unknown one is said before what else is missing.

    >>> spell(given := Namespace(command="answer", model="GPT2", on="dgx_h100"))
    >>> given.model, given.on
    ('gpt2', 'DGX-H100')
    """
    else_what: Any = nodes if given.command in ("plan", "train") else devices

    def place(text: str) -> str:
        name, many = times(text)
        kind: Any = next((kind for kind in (devices, nodes) if name in kind), else_what)
        return str(kind.resolve(name)) + ("" if many is None else f"x{many}")

    for name, spelt in (("model", _spelt_model), ("on", place)):
        value = getattr(given, name, None)
        if isinstance(value, list):
            setattr(given, name, [spelt(each) for text in value for each in _apart(text)])
        elif value is not None:
            if len(_apart(value)) > 1:
                kind = "device" if name == "on" else "model"
                text = f"costlib {given.command} takes one {kind}, got {value!r}"
                is_served = given.command not in ("plan", "train", "lora")
                raise ValueError(text + "; costlib compare takes several" * is_served)
            setattr(given, name, spelt(value))
    if isinstance(getattr(given, "price", None), list):
        given.price = [each for some in given.price for each in some]
    if getattr(given, "on", "") is None:
        such = "--on H100-SXM or --on H100-SXMx8"
        such = "--on DGX-H100x4" if given.command in ("plan", "train") else such
        raise ValueError(
            f"no device was given: add {such} (costlib {given.command} --help says more)"
        )


def _apart(text: str) -> list[str]:
    """Names that were typed with commas between them; a file is one, whatever its name is.

    >>> _apart("T4,L4"), _apart("T4")
    (['T4', 'L4'], ['T4'])
    """
    is_file = bool(text) and Path(text).exists()
    return [text] if is_file else [each.strip() for each in text.split(",")]


def fill_context(given: Namespace) -> None:
    """The context where none was given: what all models that were asked for know.

    >>> fill_context(given := Namespace(command="answer", model="gpt2", context=None))
    >>> given.context
    1024
    """
    if getattr(given, "context", 0) is None:
        named = given.model if isinstance(given.model, list) else [given.model]
        usual = usual_context(*(model(each) for each in named if each != "-"))  # read but once
        given.context = [usual] if given.command == "sweep" else usual


def no_flag(command: str, unknown: Sequence[str], flags: Mapping[str, Mapping[str, str]]) -> None:
    """Say what was meant by a flag that a command does not have.

    >>> no_flag("answer", ["--contxt", "8"], {"answer": {"--context": ""}})
    Traceback (most recent call last):
        ...
    ValueError: costlib answer has no --contxt: did you mean --context?
    >>> no_flag("answer", ["--int4"], {"answer": {"--precision": ""}})
    Traceback (most recent call last):
        ...
    ValueError: costlib answer has no --int4: did you mean --precision int4?
    """
    flag = next((each.partition("=")[0] for each in unknown if each.startswith("-")), None)
    if flag is None:
        text = f"costlib {command} does not take {' '.join(unknown)}"
        if several := ", ".join(filter(None, dict.fromkeys(flags[command].values()))):
            raise ValueError(f"{text}: only {several} can be followed by several values")
        if "--on" in flags[command]:
            raise ValueError(f"{text}: name one device with --on; costlib compare takes several")
        raise ValueError(f"{text}: costlib {command} --help says what it takes")
    near = get_close_matches(flag, flags[command], n=1, cutoff=0.7)
    others = [name for name, each in flags.items() if flag in each]
    text = f"costlib {command} has no {flag}"
    here, value = _ELSEWHERE.get(flag, ""), flag.removeprefix("--")
    here = f"--precision {value}" if value in RECIPES else here
    if here.partition(" ")[0] in flags[command]:
        near, others = [here], []
    if others:
        raise ValueError(f"{text}, which belongs to {', '.join(others)}")
    more = f"did you mean {near[0]}?" if near else f"costlib {command} --help lists what it has"
    raise ValueError(f"{text}: {more}")


#: What other programs call a flag, and what it is called here.
_ELSEWHERE = {
    "--device": "--on",
    "--gpus": "--on",
    "--dtype": "--precision",
    "--quant": "--precision",
    "--quantization": "--precision",
    "--seq": "--context",
    "--seq-len": "--context",
    "--max-model-len": "--context",
    "--qps": "--rate",
    "--request-rate": "--rate",
    "--concurrency": "--users",
    "--cost": "--price",
    "--tp": "--plan tensor=N",
    "--tensor-parallel-size": "--plan tensor=N",
    "--pp": "--plan pipeline=N",
    "--pipeline-parallel-size": "--plan pipeline=N",
}


def no_command(words: Sequence[str], commands: Iterable[str]) -> None:
    """Say so if a first word that is no model looks like a command, or stands before a model."""
    if _is_model(words[0]) or words[0].startswith("-"):
        return
    text = f"no command or model named {words[0]!r}"
    if near := get_close_matches(words[0], commands, n=1, cutoff=0.7):
        raise ValueError(f"{text}; the nearest command is {near[0]}")
    if words[1:] and _is_model(words[1]):
        raise ValueError(f"{text}; for whether it fits and how fast it is, begin with {words[1]}")


def _is_model(text: str) -> bool:
    return text in models or (bool(text) and Path(text).exists())


def _spelt_model(text: str) -> str:
    is_file = text == "-" or (text and Path(text).exists()) or Path(text).suffix.startswith(".js")
    return models.resolve(text) if text in models or not is_file else text


def whole(text: str) -> int:
    """A whole number, as 1000, 1e3 or 128k, which is 128,000; M, B and T are further thousands.

    >>> whole("1e3"), whole("128k"), whole("1.5M"), whole("2T")
    (1000, 128000, 1500000, 2000000000000)
    """
    text = _THOUSANDS.sub(lambda found: _EXPONENTS[found[0].casefold()], text.strip())
    try:
        return int(text) if text.strip().isdecimal() else numbers_of.whole_number("it", float(text))
    except ValueError as problem:
        several = "; costlib sweep takes several" if re.search(r"\d[,:]\d", text) else ""
        text = f"{text!r} is not a whole number such as 8, 1e3 or 128k{several}"
        raise ValueError(text) from problem


#: A whole number of a range, by digits, as 4096, 4k or 1e3.
_ONE = r"(\d+(?:\.\d+)?(?:[kKmMbBtT]|[eE]\d+)?)"
#: What stands behind a number for its thousands.
_THOUSANDS = re.compile(r"(?<=\d)[kmbt]$", re.IGNORECASE)
_EXPONENTS = {"k": "e3", "m": "e6", "b": "e9", "t": "e12"}


def amount(text: str) -> float:
    """A number from 0, as 25 or 3.99.

    >>> amount("3.99")
    3.99
    """
    try:
        return float(numbers_of.amount("it", float(text), least=0))
    except ValueError as problem:
        raise ValueError(f"{text!r} is not a number of at least 0, such as 25 or 3.99") from problem


def price(text: str) -> float:
    """Dollars: one price, with a point where some write a comma.

    >>> price("3.99")
    3.99
    """
    if re.fullmatch(r"[\d.]+(,[\d.]+)+", text):
        raise ValueError(
            f"{text!r} is not one price such as 3.99; costlib compare takes one for each device"
        )
    return amount(text)


def prices(text: str) -> list[float]:
    """One price or several, with commas between them.

    >>> prices("3.99"), prices("2,3")
    ([3.99], [2.0, 3.0])
    """
    return [amount(each) for each in text.split(",")]


def positive(text: str) -> float:
    """A number of more than 0.

    >>> positive("25")
    25.0
    """
    if not (value := amount(text)):
        raise ValueError(f"{text!r} must be more than 0")
    return value


def share(text: str) -> float:
    """A share of more than 0 and at most 1, as 0.4 or 40%.

    >>> share("0.4"), share("40%")
    (0.4, 0.4)
    """
    number, percent = text.strip(), text.strip().endswith("%")
    value = amount(number.removesuffix("%")) / (100 if percent else 1)
    if not 0 < value <= 1:
        raise ValueError(
            f"{text!r} is not a share of more than 0 and at most 1, such as 0.4 or 40%"
        )
    return value


def names(text: str) -> list[str]:
    """Names with commas between them.

    >>> names("q_proj, v_proj")
    ['q_proj', 'v_proj']
    """
    return [name.strip() for name in text.split(",")]


#: Microseconds of a unit, by its symbol and by its name.
_MICROSECONDS = {"s": 1e6, "ms": 1e3, "us": 1, "µs": 1, "milliseconds": 1e3, "microseconds": 1}


def duration(unit: str, most: int, reads: Callable[[str], float], text: str) -> float:
    """A time in a unit; its symbol may stand behind the number, or that of another.

    >>> [duration("milliseconds", 1000, positive, text) for text in ("25", "25ms", "0.025 s")]
    [25.0, 25.0, 25.0]
    >>> [duration("microseconds", 100_000, amount, text) for text in ("0", "20us", "0.02 ms")]
    [0.0, 20.0, 20.0]
    """
    told = re.fullmatch(r"\s*([\d.]+)\s*([muµ]?s)\s*", text)
    value = reads(told[1] if told else text)
    if told:
        value = value * _MICROSECONDS[told[2]] / _MICROSECONDS[unit]
    if value > most:
        raise ValueError(f"{text!r} is more than {most:,} {unit}")
    return value


def among(names: Iterable[str], text: str) -> str:
    """One of some names, in any case.

    >>> among(RECIPES, "FP8"), among(("vllm", "sglang"), "vLLM")
    ('fp8', 'vllm')
    """
    if (name := text.casefold()) not in names:
        raise ValueError(
            f"{text!r} is not one of {', '.join(names)}{_of_as_many_bits(name, names)}"
        )
    return name


def _of_as_many_bits(text: str, names: Iterable[str]) -> str:
    """The formats of as many bits as a name says that is none.

    >>> _of_as_many_bits("q4", ["fp16", "int4", "nf4"]), _of_as_many_bits("mine", ["int4"])
    ('; those of 4 bits are int4, nf4', '')
    """
    bits = "".join(re.findall(r"\d+", text))
    alike = [name for name in names if bits and re.findall(r"\d+", name) == [bits]]
    return f"; those of {bits} bits are {', '.join(alike)}" if alike else ""


def plan(text: str) -> dict[str, int]:
    """How a server is cut: ``tensor=4,pipeline=2``.

    >>> plan("tensor=4,pipeline=2")
    {'tensor': 4, 'pipeline': 2}
    """
    found: dict[str, int] = {}
    for part in text.split(","):
        name, _, many = (each.strip() for each in part.partition("="))
        if name not in CUTS or not many.isdecimal():
            meant = [f"{cut}={many}" for cut in CUTS if cut[0] == name[:1] and many.isdecimal()]
            such = meant or [f"{cut}=2" for cut in CUTS]  # tp, pp, ep and dp have initials alike
            raise ValueError(f"{part!r} is not a part of a plan such as {', '.join(such)}")
        if name in found:
            raise ValueError(f"{name} is given twice")
        found[name] = one_size(name, int(many))
    return found


def more_than_a_node(text: str) -> str:
    """What to say of more devices than any node has of them.

    >>> more_than_a_node("H100-SXMx8"), more_than_a_node("DGX-H100x2")
    ('', '')
    >>> more_than_a_node("H100-SXMx16")
    'H100-SXMx16 is taken as 16 devices on one switch. For nodes of 8, write --on DGX-H100x2.'
    """
    name, many = times(text)
    widths = {node.devices: kind for kind, node in nodes.items() if node.device.name == name}
    if many is None or name in nodes or not widths or many <= (most := max(widths)):
        return ""
    node = widths[most].replace(" ", "-")
    text += f" is taken as {many} devices on one switch. For nodes of {most}, write --on "
    return f"{text}{node}x{ceil_div(many, most)}."


def numbers(text: str) -> list[int]:
    """Whole numbers: ``4``, ``1,8,64``, ``1:64``, ``1:64:8`` (both ends count), ``1k:64k:x2``.

    >>> numbers("1:8:x2"), numbers("3,5:9:2"), numbers("4k:16k:x2")
    ([1, 2, 4, 8], [3, 5, 7, 9], [4000, 8000, 16000])
    """
    found: list[int] = []
    for part in text.split(","):
        ends = re.fullmatch(rf"\s*{_ONE}(?::{_ONE}(?::(x?){_ONE})?)?\s*", part)
        if not ends:
            raise ValueError(
                f"{part!r} is not a number or range such as 8, 4k, 1:64, 1:64:8 or 1:64:x2"
            )
        first, last, step = whole(ends[1]), whole(ends[2] or ends[1]), whole(ends[4] or "1")
        if last < first:
            raise ValueError(f"{part!r} ends before it begins; write {last}:{first}")
        some = _doubled(first, last, step) if ends[3] else range(first, last + 1, max(1, step))
        if len(some) > MOST:
            raise ValueError(f"{part!r} has more than {MOST:,} numbers: use a step, as in 1:64:8")
        found += some
    return [one_size("numbers", each) for each in found]


def _doubled(first: int, last: int, factor: int) -> list[int]:
    if factor < 2 or first < 1:
        raise ValueError(
            f"a range by factors starts at 1 or more and has a factor of 2 or more, got {factor}"
        )
    found: list[Any] = []
    while first <= last:
        found.append(first)
        first *= factor
    return found
