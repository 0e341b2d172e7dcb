"""The logs of inference engines, read: settings, what a start printed of its memory, throughput.

`read_log` goes through a text line by line and keeps what it knows; every other line is passed
over. It gives what `costlib.measured.starts.start_of` takes, and the busiest moment of the run.
A log may be anybody's: so much of it is read and no more, a long line is cut, nothing in it is
evaluated, and every pattern takes a time that grows with the line alone.

Left out: what drafting models add, and ranks that differ (the one with the least room counts).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, BinaryIO

__all__ = ["MOST_BYTES", "MOST_LETTERS", "Log", "Moment", "printable", "read_log"]

#: Bytes of a log that are read, and letters of a line.
MOST_BYTES, MOST_LETTERS = 64_000_000, 20_000
_ESCAPES = re.compile(r"\x1b\[[0-9;?]{0,20}[A-Za-z]")
_NAME = r"([^'\"\s,)}]{1,300})"
_WHOLE = r"(\d[\d,]{0,19})"
_REAL = r"(-?\d{1,12}(?:\.\d{1,9})?)"


@dataclass(frozen=True, slots=True)
class Moment:
    """A line about a running engine: sequences at once and those that wait, the share of the cache
    in use, tokens a second, and tokens held, where a log has them."""

    running: int
    waiting: int = 0
    usage: float | None = None
    rate: float = 0.0
    tokens: int | None = None


@dataclass(slots=True)
class Log:
    """What a log says: a start as a row of `costlib.measured.starts`, and how it ran."""

    row: dict[str, str] = field(default_factory=dict)
    busiest: Moment | None = None
    is_cut: bool = False


def printable(text: str, most: int = 120) -> str:
    r"""A text without what would steer a terminal or turn a line round: escaped, and cut.

    >>> printable("a\x1b[31mb\u202ec")
    'a\\x1b[31mb\\u202ec'
    """
    shown = "".join(
        each if each.isprintable() else each.encode("unicode_escape").decode()
        for each in text[:most]
    )
    return shown + "…" * (len(text) > most)


def read_log(stream: BinaryIO) -> Log:
    """What is known of a log: of the last start in it, and of the run since.

    >>> from io import BytesIO
    >>> log = read_log(BytesIO(b"INFO GPU KV cache size: 117,232 tokens"))
    >>> log.row["engine"], log.row["kv_tokens"]
    ('vllm', '117232')
    """
    log = Log()
    for line in _lines(stream, log):
        for word, does in _KNOWN:
            if word in line:
                does(log, line)
    return log


def _lines(stream: BinaryIO, log: Log) -> Iterator[str]:
    """Lines as text, cut where they are long, until `MOST_BYTES` are read."""
    left = MOST_BYTES
    begins = True
    while left > 0 and (raw := stream.readline(min(MOST_LETTERS, left))):
        left -= len(raw)
        if begins:
            yield _ESCAPES.sub("", raw.decode("utf-8", "replace"))
        begins = raw.endswith(b"\n")
    log.is_cut = left <= 0 and bool(stream.read(1))


# ---------------------------------------------------------------- what each line says

Reader = Callable[[Log, str], None]


def _begin(engine: str) -> Reader:
    """A new start: what an earlier one said is forgotten."""

    def read(log: Log, _: str) -> None:
        device = {name: log.row[name] for name in ("device",) if name in log.row}
        log.row, log.busiest = {"engine": engine, **device}, None

    return read


def _value(engine: str, name: str, pattern: str, *, first: bool = False) -> Reader:
    """One number or name of a line, as a row has it."""
    compiled = re.compile(pattern)

    def read(log: Log, line: str) -> None:
        found = compiled.search(line)
        if found and not (first and name in log.row):
            log.row.setdefault("engine", engine)
            log.row[name] = found[1].replace(",", "")

    return read


def _least(engine: str, name: str, pattern: str) -> Reader:
    """The least of what several ranks say."""
    compiled = re.compile(pattern)

    def read(log: Log, line: str) -> None:
        if found := compiled.search(line):
            log.row.setdefault("engine", engine)
            value = found[1].replace(",", "")
            if name not in log.row or float(value) < float(log.row[name]):
                log.row[name] = value

    return read


def _settings(engine: str, names: dict[str, str]) -> Reader:
    """Settings as ``name=value`` or ``'name': value``."""
    patterns = {
        ours: re.compile(rf"(?<![\w-])'?{theirs}'?(?:=|: ){{1}}'?{_NAME}")
        for theirs, ours in names.items()
    }

    def read(log: Log, line: str) -> None:
        log.row.setdefault("engine", engine)
        for ours, pattern in patterns.items():
            found = pattern.search(line)
            if found and found[1] not in ("None", "null"):
                log.row[ours] = found[1]

    return read


_VLLM = {
    "model": "model",
    "dtype": "dtype",
    "quantization": "quantization",
    "kv_cache_dtype": "kv_dtype",
    "max_seq_len": "max_model_len",
    "max_model_len": "max_model_len",
    "max_num_seqs": "max_num_seqs",
    "max_num_batched_tokens": "max_num_batched_tokens",
    "tensor_parallel_size": "tp",
    "gpu_memory_utilization": "memory_fraction",
    "speculative_config": "speculative",
    "block_size": "block_size",
}
_SGLANG = {
    "model_path": "model",
    "dtype": "dtype",
    "quantization": "quantization",
    "kv_cache_dtype": "kv_dtype",
    "context_length": "max_model_len",
    "tp_size": "tp",
    "ep_size": "ep",
    "dp_size": "dp",
    "enable_dp_attention": "dp_attention",
    "enable_dp_lm_head": "dp_lm_head",
    "enable_nsa_prefill_context_parallel": "by_tokens",
    "mem_fraction_static": "memory_fraction",
    "page_size": "block_size",
    "speculative_algorithm": "speculative",
}


def _asked(log: Log, line: str) -> None:
    """What vLLM was asked for: where that is not said, it is as it comes."""
    _settings("vllm", _VLLM)(log, line)
    log.row.setdefault("max_num_seqs", "default")


def _free_before(log: Log, line: str) -> None:
    """SGLang: what was free before the weights came."""
    if found := re.search(rf"avail mem={_REAL}", line):
        log.row.setdefault("engine", "sglang")
        log.row.setdefault("buffers", f"before weights {found[1]} free")


def _pool(log: Log, line: str) -> None:
    """SGLang: keys and values, apart or together; a drafting model's pool comes second."""
    tokens = re.search(rf"#tokens: {_WHOLE}", line)
    sizes = re.findall(rf"(?:K|V|KV) size: {_REAL}", line[:2000])
    if tokens and sizes and "kv_tokens" not in log.row:
        log.row.setdefault("engine", "sglang")
        log.row["kv_tokens"] = tokens[1].replace(",", "")
        log.row["kv_gib_per_gpu"] = f"{sum(map(float, sizes[:2])):.4f}"


def _blocks(log: Log, line: str) -> None:
    """vLLM before 0.8: the cache in blocks, of 16 tokens unless the settings say otherwise."""
    if found := _GPU_BLOCKS.search(line):
        log.row.setdefault("engine", "vllm")
        size = log.row.get("block_size", "16")
        tokens = int(found[1].replace(",", "")) * (int(size) if size.isdecimal() else 16)
        log.row["kv_tokens"] = str(min(tokens, int(log.row.get("kv_tokens", tokens))))


_GPU_BLOCKS = re.compile(rf"# (?:GPU|cuda) blocks: {_WHOLE}")


def _cells(log: Log, line: str) -> None:
    """llama.cpp: a cache, whose buffers come before its cells; one with windows prints two."""
    found = re.search(rf"size =\s{{1,10}}{_REAL} MiB", line)
    cells = re.search(r"\(\s{0,10}(\d{1,12}) cells", line)
    kinds = re.findall(r"[KV] \((\w{1,12})\)", line[:2000])
    is_known, is_buffer = "kv_tokens" in log.row, "buffer size" in line
    if not found or (is_buffer and is_known):
        return
    log.row.setdefault("engine", "llama.cpp")
    before = float(log.row.get("kv_gib_total", 0)) if is_buffer or (cells and is_known) else 0.0
    log.row["kv_gib_total"] = f"{before + float(found[1]) / 1024:.6f}"
    if cells:
        log.row.setdefault("kv_tokens", cells[1])
    if kinds:
        log.row["kv_dtype"] = "/".join(dict.fromkeys(kinds))
    log.row["quote"] = f"{log.row.get('quote', '')} {line[:300].strip()}"


def _file(log: Log, line: str) -> None:
    """llama.cpp: the file, and its bits a weight."""
    found = re.search(rf"file size\s{{1,10}}= {_REAL} (GiB|MiB)", line)
    if found:
        log.row.setdefault("engine", "llama.cpp")
        log.row["file_gib"] = f"{float(found[1]) / (1 if found[2] == 'GiB' else 1024):.4f}"
        log.row["quote"] = f"{log.row.get('quote', '')} {line[:300].strip()}"


def _moment(engine: str, pattern: str, order: str) -> Reader:
    """A line about the run: the one with the most tokens a second is kept."""
    compiled, names = re.compile(pattern), order.split()

    def read(log: Log, line: str) -> None:
        if not (found := compiled.search(line)):
            return
        log.row.setdefault("engine", engine)
        values = {
            name: float(value.replace(",", ""))
            for name, value in zip(names, found.groups(), strict=True)
            if value is not None
        }
        counts: dict[str, Any] = {
            name: int(value) for name, value in values.items() if name in _COUNTED
        }
        usage = values.get("usage", values.get("percent"))
        share = usage / 100 if usage is not None and "percent" in values else usage
        now = Moment(**{"running": 1, **counts}, usage=share, rate=values["rate"])
        if log.busiest is None or now.rate > log.busiest.rate:
            log.busiest = now

    return read


_COUNTED = ("running", "waiting", "tokens")
_TOTAL = r"total_gpu_memory \((\d{1,6}\.\d{1,4})GiB\)"

#: A word that a line must have, and what is read of it then. vLLM 0.6 to 0.25, SGLang 0.4 to 0.5,
#: TensorRT-LLM 0.9 to 1.2, llama.cpp b3000 to b8999 and ik_llama.cpp print these.
_KNOWN: tuple[tuple[str, Reader], ...] = (
    ("vLLM API server version", _begin("vllm")),
    ("vLLM API server version", _value("vllm", "version", r"version v?(\d[\w.+-]{0,40})")),
    ("LLM engine (v", _value("vllm", "version", r"LLM engine \(v(\d[\w.+-]{0,40})")),
    ("LLM engine (v", _settings("vllm", _VLLM)),
    ("default args: ", _asked),
    ("args: Namespace(", _asked),
    ("Chunked prefill", _value("vllm", "max_num_batched_tokens", rf"tokens={_WHOLE}")),
    ("for top-p & top-k", _value("vllm", "sampler", r"Using (FlashInfer) for")),
    ("loading took", _value("vllm", "weights_gib_per_gpu", rf"loading took {_REAL} Gi?B")),
    ("weights took", _value("vllm", "weights_gib_per_gpu", rf"weights took {_REAL} GB")),
    ("model weights take", _value("vllm", "weights_gib_per_gpu", rf"weights take {_REAL}GiB")),
    ("total_gpu_memory", _value("vllm", "total_gpu_gib", _TOTAL)),
    (
        "gpu_memory_utilization (",
        _value("vllm", "memory_fraction", rf"gpu_memory_utilization \({_REAL}\)"),
    ),
    ("for KV Cache is", _value("vllm", "kv_gib_per_gpu", rf"KV Cache is {_REAL}GiB")),
    (
        "Available KV cache memory",
        _least("vllm", "kv_gib_per_gpu", rf"cache memory: {_REAL} GiB"),
    ),
    (" blocks: ", _blocks),
    ("GPU KV cache size", _least("vllm", "kv_tokens", rf"cache size: {_WHOLE} tokens")),
    (
        "Maximum concurrency",
        _value("vllm", "max_concurrency", rf"per request: {_REAL}x"),
    ),
    ("Maximum concurrency", _value("vllm", "max_model_len", rf"concurrency for {_WHOLE} tokens")),
    (
        "Avg generation throughput",
        _moment(
            "vllm",
            rf"generation throughput: {_REAL} tokens/s, Running: {_WHOLE} reqs?,"
            rf"(?: Swapped: \d{{1,9}} reqs?,)? (?:Pending|Waiting): {_WHOLE} reqs?,"
            rf" GPU KV cache usage: {_REAL}%",
            "rate running waiting percent",
        ),
    ),
    ("server_args=", _begin("sglang")),
    ("server_args=", _settings("sglang", _SGLANG)),
    ("Load weight begin", _free_before),
    (
        "Load weight end",
        _value("sglang", "weights_gib_per_gpu", rf"mem usage={_REAL} GB", first=True),
    ),
    ("KV Cache is allocated", _pool),
    ("max_total_num_tokens=", _value("sglang", "max_model_len", r"context_len=(\d{1,12})")),
    (
        "gen throughput",
        _moment(
            "sglang",
            rf"#running-req: {_WHOLE}, #token: {_WHOLE}, token usage: {_REAL}.{{0,200}}?"
            rf"gen throughput \(token/s\): {_REAL}, #queue-req: {_WHOLE}",
            "running tokens usage rate waiting",
        ),
    ),
    ("TensorRT-LLM version", _begin("tensorrt-llm")),
    ("TensorRT-LLM version", _value("tensorrt-llm", "version", r"version:? (\d[\w.+-]{0,40})")),
    (
        "in paged KV cache",
        _value("tensorrt-llm", "kv_gib_per_gpu", rf"Allocated {_REAL} GiB for max tokens"),
    ),
    ("in paged KV cache", _value("tensorrt-llm", "kv_tokens", rf"KV cache \({_WHOLE}\)")),
    ("loaded meta data with", _begin("llama.cpp")),
    ("build: ", _value("llama.cpp", "version", r"build: (\d{1,9}) \(")),
    (
        "general.name",
        _value("llama.cpp", "model", r"general\.name\s{1,20}=? ?(?:str = )?(.{1,200})"),
    ),
    ("file type", _value("llama.cpp", "dtype", r"file type\s{1,10}= (.{1,80})")),
    ("file size", _file),
    ("n_ctx ", _value("llama.cpp", "max_model_len", r"n_ctx\s{1,20}= (\d{1,12})")),
    ("KV self size", _cells),
    ("llama_kv_cache", _cells),
    ("Device 0: ", _value("llama.cpp", "device", r"Device 0: ([^,]{1,100})")),
    (
        "tokens per second",
        _moment(
            "llama.cpp",
            rf"(?<!prompt )eval time =\s{{0,20}}{_REAL} ms /\s{{0,20}}\d{{1,9}} (?:runs|tokens)"
            rf".{{0,80}}?{_REAL} tokens per second",
            "spent rate",
        ),
    ),
)
