"""What a log says, beside what was to be expected: what binds, and what one setting would change.

Left out: engines' own overheads, of which `costlib.measured.served` has typical ones: an expected
rate is what the datasheet allows.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from costlib.measured.heard import shown_memory
from costlib.measured.logs import Log, printable
from costlib.measured.starts import Pair, Start, start_of
from costlib.measured.tables import Unread, device_named
from costlib.model.catalog import devices
from costlib.model.transformer import Transformer
from costlib.serving import Server
from costlib.timing.roofline import limits
from costlib.units.device import Device
from costlib.units.precision import Precision

__all__ = ["Explained", "Line", "explain"]

_GIB = 2**30
_FULL = 0.9  # from this share of the cache on, those who wait wait for it


@dataclass(frozen=True, slots=True)
class Line:
    """One thing that a log printed, and what was expected; either may be missing."""

    what: str
    unit: str
    printed: float | None
    expected: float | None
    why: str

    @property
    def off(self) -> float | None:
        """How far apart, as a share of what was printed."""
        if self.printed is None or self.expected is None or self.printed == 0:
            return None
        return self.expected / self.printed - 1


@dataclass(frozen=True, slots=True)
class Explained:
    """A log explained: what it is of, its lines, what binds, and what a setting would change."""

    about: str
    lines: tuple[Line, ...]
    binds: str
    why: str
    change: str
    found: dict[str, Any] = field(default_factory=dict)
    doubts: tuple[str, ...] = ()


def explain(log: Log, device: str = "", model: Transformer | None = None) -> Explained:
    """A log beside what was to be expected, or a ValueError that says what it lacks.

    ``device`` is a name of the catalogue, for logs that name none; ``model`` one that the log's own
    name does not lead to.

    >>> from io import BytesIO
    >>> from costlib.measured.logs import read_log
    >>> text = b"Initializing a V1 LLM engine (v0.12.0) with config: model='openai/gpt-oss-20b', "
    >>> text += b"dtype=torch.bfloat16\\nAvailable KV cache memory: 15.37 GiB\\n"
    >>> text += b"GPU KV cache size: 335,664 tokens\\n"
    >>> [(line.what, round(line.off, 3)) for line in explain(read_log(BytesIO(text))).lines]
    [('tokens of cache', 0.0)]
    """
    row = dict(log.row)
    if not row.get("engine") or not {*row} & _NEEDED:
        raise ValueError(
            "no line about weights or cache as vLLM, SGLang, TensorRT-LLM or llama.cpp print them "
            "when they start: give the log from its beginning"
        )
    row["weights_dtype"] = f"{row.get('dtype', '')} {row.get('quantization', '')}"
    copies = "attention" if row.get("dp_attention") == "True" else ""
    row["ep_dp"] = f"ep={row.get('ep', 1)} dp={row.get('dp', 1)} {copies}"
    place = _device(device or row.get("device", ""))
    row["device"] = row.get("device") or (place.name if place else "")
    if model is None and not row.get("model"):
        raise ValueError("the log names no model: give its config.json with --config")
    try:
        start = start_of(row, model)
    except Unread as problem:
        text = printable(str(problem), 300)
        more = "" if model is not None else ": --config config.json says what model it is"
        raise ValueError(text + more) from problem
    lines = (*_of_memory(start, place), *_of_run(start, log, place))
    if not lines:
        raise ValueError("the log's lines lack a number that could be compared")
    binds, why = _binds(start, log, place)
    called = printable(row.get("model", "a model of your own"))
    version = printable(row.get("version", ""))
    about = f"{called} in {start.engine.name} {version}".strip()
    about += f" on {place.name}" if place else ""
    found = {name: _found(name, value) for name, value in log.row.items() if name != "quote"}
    change, doubts = _change(start, place), (*_doubts(lines, place), *_another(log, place))
    return Explained(about, lines, binds, why, change, found, doubts)


def _found(name: str, value: str) -> Any:
    """What a log says, for programs: a number where it is one.

    >>> _found("tp", "8"), _found("version", "8854"), _found("memory_fraction", "0.9")
    (8, '8854', 0.9)
    """
    if name in ("model", "version") or not re.fullmatch(r"-?\d{1,20}(\.\d{1,9})?", value):
        return printable(value)
    return float(value) if "." in value else int(value)


def _doubts(lines: Iterable[Line], place: Device | None) -> Iterator[str]:
    """What cannot be, and what was probably given wrongly."""
    for line in lines:
        times = 1 + (line.off or 0.0)  # what was expected, over what was printed
        if line.what == "weights" and not 1 / 2 < times < 2:
            yield "These are not the weights of this model: is it the right config?"
        if line.what == "tokens a second" and place is not None and times < 0.95:
            yield f"No {place.name} is that fast by its datasheet: is it the right device?"


def _another(log: Log, place: Device | None) -> Iterator[str]:
    """A device that is not the log's own."""
    own = device_named(log.row.get("device", ""))
    if place is not None and own is not None and own.name != place.name:
        yield f"The log is of another device, {own.name}: is {place.name} the right one?"


_NEEDED = {"weights_gib_per_gpu", "kv_gib_per_gpu", "kv_tokens", "kv_gib_total", "file_gib"}


def _device(text: str) -> Device | None:
    """A device of the catalogue, by its name there or in a log."""
    if not text:
        return None
    if text in devices:
        found: Device = devices[text]
        return found
    return device_named(text)


# ---------------------------------------------------------------- memory


def _of_memory(start: Start, place: Device | None) -> Iterator[Line]:
    bits = "from the file's bits a weight" if start.engine.name == "llama.cpp" else "of one device"
    yield from _line("weights", "B", start.weights_pair(), f"parameters in their format, {bits}")
    rule = "pages and padding as the engine lays them out"
    yield from _line("tokens of cache", "tokens", start.tokens_pair(), f"the bytes left, in {rule}")
    given = f"{start.engine.share:.0%} of the memory" if start.share_told is None else "as told"
    why = f"from the device and settings alone: {given} less weights and what a pass needs"
    if place is not None or start.shown is not None:
        pair = start.settings_pair()
        if pair is not None and pair.predicted > 0:
            yield from _line("tokens of cache, from settings", "tokens", pair, why)
    why = f"sequences of {start.length:,} tokens: {rule}"
    yield from _line("sequences that fit", "", start.sequences_pair(), why)


def _line(what: str, unit: str, pair: Pair | None, why: str) -> Iterator[Line]:
    if pair is not None:
        yield Line(what, unit, pair.printed, pair.predicted, why)


# ---------------------------------------------------------------- the run


def _case(start: Start, log: Log) -> tuple[int, int | None]:
    """Sequences at once, and the tokens of one: of the busiest moment, else as many as fit.

    None where a log does not say how many tokens the sequences of that moment had.
    """
    held = float(start.row["kv_tokens"] or 0)
    now = log.busiest
    if now is not None and now.running > 0:
        tokens = now.tokens if now.tokens is not None else (now.usage or 0) * held
        return now.running, int(tokens / now.running) or None
    length = min(start.length, 4096)
    return max(1, int(held // length)), length


def _sequences(batch: int, context: int | None) -> str:
    """A batch in words.

    >>> _sequences(32, 1500), _sequences(1, None)
    ('32 sequences of 1,500 tokens', '1 sequence of any length (the log does not say it)')
    """
    many = "1 sequence" if batch == 1 else f"{batch:,} sequences"
    if context is None:
        return f"{many} of any length (the log does not say it)"
    return f"{many} of " + ("1 token" if context == 1 else f"{context:,} tokens")


def _server(start: Start, place: Device) -> Server:
    tensor = int(float(start.row["tp"] or 1)) if start.row["tp"].isdigit() else 1
    precision: Precision = start.model.precision.with_(kv=start.precision.kv)
    file = start.weights_pair()
    if start.engine.name == "llama.cpp" and file is not None:  # its formats are many: the file's
        precision = precision.with_(weights=file.printed / start.model.params())
    return Server(start.model, place, precision, tensor)


def _of_run(start: Start, log: Log, place: Device | None) -> Iterator[Line]:
    now = log.busiest
    if now is None or place is None:
        return
    batch, context = _case(start, log)
    rate = batch / float(
        _server(start, place).step(batch, context or 1, too_large="ignore")
    )  # the shorter, the faster
    why = f"the most that the datasheet of {place.name} allows {_sequences(batch, context)}"
    yield Line("tokens a second", "tokens/s", now.rate, rate, why)


def _binds(start: Start, log: Log, place: Device | None) -> tuple[str, str]:
    now = log.busiest
    if now is not None and now.waiting and (now.usage or 0) >= _FULL:
        text = f"{now.usage:.0%} of the cache was in use and {now.waiting:,} sequences waited"
        return "memory", text
    if place is None:
        kept = float(start.row["kv_tokens"] or 0)
        if start.engine.name != "llama.cpp" and kept and kept < 2 * start.length:
            text = f"the cache has {kept:,.0f} tokens, for sequences of {start.length:,}"
            return "memory", text
        return "not known", "a device (--on) would say what a step waits for"
    server, (batch, context) = _server(start, place), _case(start, log)
    held = int(float(start.row["kv_tokens"] or 0)) // batch or start.length
    lengths = (1, min(held, start.length)) if context is None else (context,)
    found = [_spent_on(server, place, batch, length) for length in lengths]
    if len({name for name, _ in found}) > 1:
        return "not known", "the log does not say how long the sequences were"
    name, share = min(found, key=lambda each: each[1])
    least = "at least " if context is None else ""
    text = f"{least}{share:.0%} of a step of {_sequences(batch, context)}, by the datasheet of "
    return name, text + place.name


def _spent_on(server: Server, place: Device, batch: int, context: int) -> tuple[str, float]:
    """What most of a step's time goes into, and the share of it."""
    work = server.share.decode(batch, context, logits="last")
    each: Any = server.precision
    spent = {"weights' bandwidth": 0.0, "cache's bandwidth": 0.0, "arithmetic": 0.0}
    read = work.elements_read.kv + work.elements_written.kv
    reading = float(read * each.kv / place.memory_rate)
    for point in limits(work, place, each):
        name = "arithmetic" if point.is_compute_bound else "weights' bandwidth"
        spent[name] += float(point.time)
    spent["cache's bandwidth"] = min(reading, spent["weights' bandwidth"])
    spent["weights' bandwidth"] -= spent["cache's bandwidth"]
    most = max(spent, key=lambda name: spent[name])
    return most, spent[most] / sum(spent.values())


def _change(start: Start, place: Device | None) -> str:
    """What one setting would change."""
    engine, held = start.engine, float(start.row["kv_tokens"] or 0)
    if engine.name == "llama.cpp":
        if start.precision.kv > 34 / 32:
            less = 1 - 34 / 32 / start.precision.kv
            return f"--cache-type-k and -v q8_0 would make the cache {less:.0%} smaller"
        return "fewer cells (--ctx-size) would shrink the cache in proportion"
    shown = start.shown or (shown_memory(place.name) if place else None)
    share, left = engine.share, start.pool
    if shown and held and left and share + 0.05 <= 0.95:
        more = held * 0.05 * shown * _GIB / left
        return f"{engine.setting} {share + 0.05:.2f} for {share:.2f} would add {more:,.0f} tokens"
    if held and start.precision.kv >= 2 and start.kind != "states":
        return f"a cache in fp8 would hold {2 * held:,.0f} tokens instead of {held:,.0f}"
    return "no setting of memory is known that would add tokens"
