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
        for engine, word, read in _KNOWN:
            if word in line and (found := read(log, line)) is not None:
                log.row = {"engine": engine, **log.row, **found}
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

#: What a line adds to a log's row; None where it is not the line that its word promised.
Reader = Callable[[Log, str], dict[str, str] | None]


def _begin(log: Log, _: str) -> dict[str, str]:
    """A new start: what an earlier one said is forgotten."""
    log.row, log.busiest = {name: log.row[name] for name in ("device",) if name in log.row}, None
    return {}


def _value(name: str, pattern: str, keep: str = "last", text: str = "{}") -> Reader:
    """A number or name, as a row has it: the last that a log has, the first, or of several ranks'
    the least."""
    compiled = re.compile(pattern)

    def read(log: Log, line: str) -> dict[str, str] | None:
        found = compiled.search(line)
        if not found or (keep == "first" and name in log.row):
            return None
        value = found[1].replace(",", "")
        if keep == "least" and float(value) > float(log.row.get(name, value)):
            return None
        return {name: text.format(value)}

    return read


def _settings(names: dict[str, str]) -> Reader:
    """Settings as ``name=value`` or ``'name': value``."""
    patterns = {
        ours: re.compile(rf"(?<![\w-])'?{theirs}'?(?:=|: ){{1}}'?{_NAME}")
        for theirs, ours in names.items()
    }

    def read(_: Log, line: str) -> dict[str, str]:
        found = {ours: pattern.search(line) for ours, pattern in patterns.items()}
        told = {ours: match[1] for ours, match in found.items() if match}
        return {ours: value for ours, value in told.items() if value not in ("None", "null")}

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
    "pipeline_parallel_size": "pp",
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
    "pp_size": "pp",
    "ep_size": "ep",
    "dp_size": "dp",
    "enable_dp_attention": "dp_attention",
    "enable_dp_lm_head": "dp_lm_head",
    "enable_nsa_prefill_context_parallel": "by_tokens",
    "mem_fraction_static": "memory_fraction",
    "page_size": "block_size",
    "speculative_algorithm": "speculative",
}


def _asked(log: Log, line: str) -> dict[str, str] | None:
    """What vLLM was asked for: where that is not said, it is as it comes."""
    return {"max_num_seqs": log.row.get("max_num_seqs", "default"), **(_OF_VLLM(log, line) or {})}


_OF_VLLM, _OF_SGLANG = _settings(_VLLM), _settings(_SGLANG)


def _pool(log: Log, line: str) -> dict[str, str] | None:
    """SGLang: keys and values, apart or together; a drafting model's pool comes second."""
    tokens = re.search(rf"#tokens: {_WHOLE}", line)
    sizes = re.findall(rf"(?:K|V|KV) size: {_REAL}", line[:2000])
    if not (tokens and sizes) or "kv_tokens" in log.row:
        return None
    size = f"{sum(map(float, sizes[:2])):.4f}"
    return {"kv_tokens": tokens[1].replace(",", ""), "kv_gib_per_gpu": size}


def _blocks(log: Log, line: str) -> dict[str, str] | None:
    """vLLM before 0.8: the cache in blocks, of 16 tokens unless the settings say otherwise."""
    found = _GPU_BLOCKS.search(line)
    if not found:
        return None
    size = log.row.get("block_size", "16")
    tokens = int(found[1].replace(",", "")) * (int(size) if size.isdecimal() else 16)
    return {"kv_tokens": str(min(tokens, int(log.row.get("kv_tokens", tokens))))}


_GPU_BLOCKS = re.compile(rf"# (?:GPU|cuda) blocks: {_WHOLE}")


def _cells(log: Log, line: str) -> dict[str, str] | None:
    """llama.cpp: a cache, whose buffers come before its cells; one with windows prints two."""
    found = re.search(rf"size =\s{{1,10}}{_REAL} MiB", line)
    cells = re.search(r"\(\s{0,10}(\d{1,12}) cells", line)
    kinds = re.findall(r"[KV] \((\w{1,12})\)", line[:2000])
    is_known, is_buffer = "kv_tokens" in log.row, "buffer size" in line
    if not found or (is_buffer and is_known):
        return None
    before = float(log.row.get("kv_gib_total", 0)) if is_buffer or (cells and is_known) else 0.0
    read = _quoted(log, line) | {"kv_gib_total": f"{before + float(found[1]) / 1024:.6f}"}
    if cells and not is_known:
        read["kv_tokens"] = cells[1]
    if kinds:
        read["kv_dtype"] = "/".join(dict.fromkeys(kinds))
    return read


def _file(log: Log, line: str) -> dict[str, str] | None:
    """llama.cpp: the file, and its bits a weight."""
    found = re.search(rf"file size\s{{1,10}}= {_REAL} (GiB|MiB)", line)
    if not found:
        return None
    size = float(found[1]) / (1 if found[2] == "GiB" else 1024)
    return _quoted(log, line) | {"file_gib": f"{size:.4f}"}


def _quoted(log: Log, line: str) -> dict[str, str]:
    return {"quote": f"{log.row.get('quote', '')} {line[:300].strip()}"}


def _moment(pattern: str, order: str) -> Reader:
    """A line about the run: the one with the most tokens a second is kept."""
    compiled, names = re.compile(pattern), order.split()

    def read(log: Log, line: str) -> dict[str, str] | None:
        found = compiled.search(line)
        if not found:
            return None
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
        return {}

    return read


_COUNTED = ("running", "waiting", "tokens")
_TOTAL = r"total_gpu_memory \((\d{1,6}\.\d{1,4})GiB\)"
_FREE, _LOADED = "before weights {} free", rf"mem usage={_REAL} GB"
_RUN_OF_VLLM = (
    rf"generation throughput: {_REAL} tokens/s, Running: {_WHOLE} reqs?,"
    rf"(?: Swapped: \d{{1,9}} reqs?,)? (?:Pending|Waiting): {_WHOLE} reqs?,"
    rf" GPU KV cache usage: {_REAL}%"
)
_RUN_OF_SGLANG = (
    rf"#running-req: {_WHOLE}, #token: {_WHOLE}, token usage: {_REAL}.{{0,200}}?"
    rf"gen throughput \(token/s\): {_REAL}, #queue-req: {_WHOLE}"
)
_RUN_OF_LLAMA = (
    rf"(?<!prompt )eval time =\s{{0,20}}{_REAL} ms /\s{{0,20}}\d{{1,9}} (?:runs|tokens)"
    rf".{{0,80}}?{_REAL} tokens per second"
)

#: An engine, a word that a line of it must have, and what is read of it then. These lines are of
#: vLLM 0.6 to 0.25, SGLang 0.4 to 0.5, TensorRT-LLM 0.9 to 1.2, llama.cpp b3000 to b8999 and
#: ik_llama.cpp.
_KNOWN: tuple[tuple[str, str, Reader], ...] = (
    ("vllm", "vLLM API server version", _begin),
    ("vllm", "vLLM API server version", _value("version", r"version v?(\d[\w.+-]{0,40})")),
    ("vllm", "LLM engine (v", _value("version", r"LLM engine \(v(\d[\w.+-]{0,40})")),
    ("vllm", "LLM engine (v", _OF_VLLM),
    ("vllm", "default args: ", _asked),
    ("vllm", "args: Namespace(", _asked),
    ("vllm", "Chunked prefill", _value("max_num_batched_tokens", rf"tokens={_WHOLE}")),
    ("vllm", "for top-p & top-k", _value("sampler", r"Using (FlashInfer) for")),
    ("vllm", "loading took", _value("weights_gib_per_gpu", rf"loading took {_REAL} Gi?B")),
    ("vllm", "weights took", _value("weights_gib_per_gpu", rf"weights took {_REAL} GB")),
    ("vllm", "model weights take", _value("weights_gib_per_gpu", rf"weights take {_REAL}GiB")),
    ("vllm", "total_gpu_memory", _value("total_gpu_gib", _TOTAL)),
    ("vllm", "utilization (", _value("memory_fraction", rf"memory_utilization \({_REAL}\)")),
    ("vllm", "for KV Cache is", _value("kv_gib_per_gpu", rf"KV Cache is {_REAL}GiB")),
    ("vllm", "Available KV", _value("kv_gib_per_gpu", rf"cache memory: {_REAL} GiB", "least")),
    ("vllm", " blocks: ", _blocks),
    ("vllm", "GPU KV cache size", _value("kv_tokens", rf"cache size: {_WHOLE} tokens", "least")),
    ("vllm", "Maximum concurrency", _value("max_concurrency", rf"per request: {_REAL}x")),
    ("vllm", "Maximum concurrency", _value("max_model_len", rf"for {_WHOLE} tokens")),
    ("vllm", "Avg generation throughput", _moment(_RUN_OF_VLLM, "rate running waiting percent")),
    ("sglang", "server_args=", _begin),
    ("sglang", "server_args=", _OF_SGLANG),
    ("sglang", "Load weight begin", _value("buffers", rf"avail mem={_REAL}", "first", _FREE)),
    ("sglang", "Load weight end", _value("weights_gib_per_gpu", _LOADED, "first")),
    ("sglang", "KV Cache is allocated", _pool),
    ("sglang", "max_total_num_tokens=", _value("max_model_len", r"context_len=(\d{1,12})")),
    ("sglang", "gen throughput", _moment(_RUN_OF_SGLANG, "running tokens usage rate waiting")),
    ("tensorrt-llm", "TensorRT-LLM version", _begin),
    ("tensorrt-llm", "TensorRT-LLM version", _value("version", r"version:? (\d[\w.+-]{0,40})")),
    ("tensorrt-llm", "in paged KV cache", _value("kv_gib_per_gpu", rf"Allocated {_REAL} GiB for")),
    ("tensorrt-llm", "in paged KV cache", _value("kv_tokens", rf"KV cache \({_WHOLE}\)")),
    ("llama.cpp", "loaded meta data with", _begin),
    ("llama.cpp", "build: ", _value("version", r"build: (\d{1,9}) \(")),
    ("llama.cpp", "general.name", _value("model", r"\.name\s{1,20}=? ?(?:str = )?(.{1,200})")),
    ("llama.cpp", "file type", _value("dtype", r"file type\s{1,10}= (.{1,80})")),
    ("llama.cpp", "file size", _file),
    ("llama.cpp", "n_ctx ", _value("max_model_len", r"n_ctx\s{1,20}= (\d{1,12})")),
    ("llama.cpp", "KV self size", _cells),
    ("llama.cpp", "llama_kv_cache", _cells),
    ("llama.cpp", "Device 0: ", _value("device", r"Device 0: ([^,]{1,100})")),
    ("llama.cpp", "tokens per second", _moment(_RUN_OF_LLAMA, "spent rate")),
)
