"""`costlib explain`: what engines' own lines lead to, and what a hostile log does not do."""

import io
import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

from costlib import models
from costlib.command import main
from costlib.command.explained import explain
from costlib.measured.logs import MOST_BYTES, Log, printable, read_log
from paths import ROOT

pytestmark = pytest.mark.slow
LOGS = ROOT / "tests" / "data" / "logs"


def log(name: str) -> Log:
    with (LOGS / f"{name}.log").open("rb") as file:
        return read_log(file)


def of(text: str) -> Log:
    return read_log(io.BytesIO(text.encode()))


def lines(found):
    return {line.what: line for line in found.lines}


def test_a_start_of_vllm():
    found = explain(log("vllm-0.12-llama-3.1-8b"), "RTX-5090")
    told = lines(found)
    assert told["weights"].off == pytest.approx(0, abs=0.005)
    assert told["tokens of cache"].off == pytest.approx(0, abs=0.002)
    assert told["sequences that fit"].off == pytest.approx(0, abs=0.005)
    assert told["tokens of cache, from settings"].off == pytest.approx(0, abs=0.01)
    assert found.binds == "weights' bandwidth"
    assert "fp8" in found.change
    assert found.found["version"] == "0.12.0"


#: What vLLM printed in 2024, when it counted its cache in blocks.
OLD = """INFO api_server.py:529] vLLM API server version 0.6.3
INFO api_server.py:530] args: Namespace(model='meta-llama/Llama-3.1-8B-Instruct', block_size=16)
INFO llm_engine.py:237] Initializing an LLM engine (v0.6.3) with config: \
model='meta-llama/Llama-3.1-8B-Instruct', max_seq_len=8192, dtype=torch.bfloat16
INFO model_runner.py:1071] Loading model weights took 14.9888 GB
INFO gpu_executor.py:122] # GPU blocks: 28050, # CPU blocks: 2048
INFO gpu_executor.py:126] Maximum concurrency for 8192 tokens per request: 54.79x
"""
RUNNING = """INFO Avg prompt throughput: 300.0 tokens/s, Avg generation throughput: \
1800.5 tokens/s, Running: 32 reqs, Swapped: 0 reqs, Pending: 0 reqs, GPU KV cache usage: 10.0%
"""


ASKED = "non-default args: {'model': 'Qwen/Qwen3-8B'}\n"


@pytest.mark.parametrize(
    ("text", "name", "value"),
    [
        ("Initializing a V1 LLM engine (v0.12.0) with config: model='x'", "max_num_seqs", None),
        (ASKED, "max_num_seqs", "default"),
        (ASKED.replace("}", ", 'max_num_seqs': 64}"), "max_num_seqs", "64"),
        ("args: Namespace(model='x', max_num_seqs=None)", "max_num_seqs", "default"),
        (
            "Chunked prefill is enabled with max_num_batched_tokens=2048.",
            "max_num_batched_tokens",
            "2048",
        ),
        ("Using FlashInfer for top-p & top-k sampling.", "sampler", "FlashInfer"),
        ("FlashInfer is not available for top-p & top-k", "sampler", None),
        ("server_args=ServerArgs(enable_dp_lm_head=True, tp_size=8)", "dp_lm_head", "True"),
        ("server_args=ServerArgs(enable_nsa_prefill_context_parallel=False)", "by_tokens", "False"),
    ],
)
def test_settings_that_take_memory_are_read(text, name, value):
    assert of(text).row.get(name) == value


def test_experts_and_copies_of_sglang_are_read():
    """DeepSeek-V3.2 on 32 devices, whose prompts are cut by tokens: 39.37 GiB of each."""
    args = "server_args=ServerArgs(model_path='DeepSeek-V3.2-Exp', quantization='modelslim'"
    args += ", tp_size=32, ep_size=32, dp_size=1, enable_nsa_prefill_context_parallel=True)\n"
    text = args + "Load weight end. type=D, avail mem=21.71 GB, mem usage=39.37 GB.\n"
    assert lines(explain(of(text)))["weights"].off == pytest.approx(0, abs=0.02)
    shared = text.replace("dp_size=1", "dp_size=8, enable_dp_attention=True").replace(
        "39.37", "31.91"
    )
    assert lines(explain(of(shared)))["weights"].off == pytest.approx(0, abs=0.06)


def test_blocks_of_older_vllm_are_tokens():
    found = of(OLD)
    assert found.row["kv_tokens"] == str(28050 * 16)
    assert float(found.row["max_concurrency"]) == pytest.approx(28050 * 16 / 8192, abs=0.01)
    assert (
        lines(explain(found, "A100-80GB"))["tokens of cache, from settings"].printed == 28050 * 16
    )
    wide = OLD.replace("block_size=16", "block_size=32").replace("# GPU blocks", "# cuda blocks")
    assert of(wide).row["kv_tokens"] == str(28050 * 32)
    assert of(OLD.replace(", block_size=16", "")).row["kv_tokens"] == str(28050 * 16)
    run = explain(of(OLD + RUNNING), "A100-80GB")
    assert f"32 sequences of {28050 * 16 // 320:,} tokens" in run.why


def test_a_length_that_the_log_does_not_give_is_not_invented():
    start = OLD.replace("# GPU blocks: 28050, # CPU blocks: 2048", "")
    found = explain(of(start + RUNNING), "A100-80GB")
    assert (found.binds, found.why) == (
        "not known",
        "the log does not say how long the sequences were",
    )
    rate = lines(found)["tokens a second"]
    assert rate.why.endswith("allows 32 sequences of any length (the log does not say it)")
    one = explain(of(start + RUNNING.replace("Running: 32", "Running: 1")), "A100-80GB")
    assert one.binds == "weights' bandwidth", "up to the greatest length"
    assert "of a step of 1 sequence of any length" in one.why
    assert one.why.startswith("at least 9")
    known = explain(of(OLD + RUNNING.replace("10.0%", "0.0072%")), "A100-80GB")
    assert "32 sequences of 1 token," in known.why


def test_programs_read_doubts_and_numbers(capsys):
    log = str(LOGS / "llama.cpp-b8854-gemma-4-26b.log")
    assert main(["explain", log, "--on", "L40S", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["doubts"] == ["The log is of another device, T4: is L40S the right one?"]
    assert told["found"]["kv_tokens"] == 16384
    assert main(["explain", log, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["doubts"] == []


def test_windows_and_padded_experts():
    told = lines(explain(log("vllm-0.12-gpt-oss-20b")))
    assert told["tokens of cache"].off == pytest.approx(0, abs=0.001)
    assert told["weights"].off == pytest.approx(0, abs=0.02)


def test_a_run_of_sglang():
    found = explain(log("sglang-qwen2.5-1.5b"), "L40S")
    told = lines(found)
    assert told["tokens of cache"].off == pytest.approx(0, abs=0.001)
    assert told["tokens of cache, from settings"].off == pytest.approx(0, abs=0.01)
    rate = told["tokens a second"]
    assert rate.printed == 4594.01
    assert rate.expected > rate.printed  # a datasheet's step is the shortest
    assert found.binds == "cache's bandwidth"
    assert "--mem-fraction-static 0.90 for 0.85" in found.change


def test_a_start_of_llama_cpp_and_its_device():
    found = explain(log("llama.cpp-b8854-gemma-4-26b"))
    told = lines(found)
    assert told["tokens of cache"].off == pytest.approx(0, abs=0.001)
    assert told["weights"].off == pytest.approx(0, abs=0.01)
    assert told["tokens a second"].expected > 50
    assert "T4" in found.about
    assert "q8_0" in found.change


def test_a_cache_of_llama_cpp_is_counted_once():
    """Newer ones print each device's buffer, then the cache; one with windows has two."""
    buffers = "llama_kv_cache: CPU KV buffer size = 256.00 MiB\n"
    buffers += "llama_kv_cache: CUDA0 KV buffer size = 768.00 MiB\n"
    cells = "llama_kv_cache: size = 1024.00 MiB ( 8192 cells, 32 layers, 1/1 seqs), K (f16): 512\n"
    for text, total in ((buffers, 1), (cells, 1), (buffers + cells, 1), (buffers + 2 * cells, 2)):
        assert float(of(text).row["kv_gib_total"]) == total


def test_what_cannot_be_is_doubted():
    start = (LOGS / "sglang-qwen2.5-1.5b.log").read_text("utf-8")
    assert explain(of(start), "L40S").doubts == ()
    assert "No M4 is that fast" in explain(of(start), "M4").doubts[-1]
    [text] = explain(of(start), "L40S", models["llama-3.1-405b"]).doubts[:1]
    assert "not the weights of this model" in text
    [*rest] = lines(explain(of(start), "L40S", models["llama-3.1-405b"]))
    assert "tokens of cache, from settings" not in rest, "no negative tokens"


def test_a_log_without_a_model_takes_a_config():
    bare = log("tensorrt-llm-qwen3-reranker-0.6b")
    with pytest.raises(ValueError, match="names no model: give its"):
        explain(bare)
    told = lines(explain(bare, model=models["qwen3-0.6b"]))
    assert told["tokens of cache"].off == pytest.approx(0, abs=0.001)


def test_those_who_wait_while_the_cache_is_full_are_seen():
    text = (LOGS / "vllm-0.12-llama-3.1-8b.log").read_text()
    text += (
        "Avg prompt throughput: 9.0 tokens/s, Avg generation throughput: 1400.5 tokens/s, "
        "Running: 32 reqs, Waiting: 4 reqs, GPU KV cache usage: 97.3%, "
        "Prefix cache hit rate: 0.0%\n"
    )
    found = explain(of(text), "RTX-5090")
    assert found.binds == "memory"
    assert "97% of the cache was in use and 4 sequences waited" in found.why


def test_the_last_start_counts_and_the_rank_with_least_room():
    first = (LOGS / "vllm-0.12-llama-3.1-8b.log").read_text()
    again = first.replace("14.31", "13.00").replace("117,232", "106,496")
    found = of(first + again + "GPU KV cache size: 106,480 tokens\n")
    assert found.row["kv_gib_per_gpu"] == "13.00"
    assert found.row["kv_tokens"] == "106480"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "no line about weights or cache"),
        ("hello\nworld", "no line about weights or cache"),
        ("GPU KV cache size: 117,232 tokens", "names no model"),
        ("LLM engine (v0.12.0) with config: model='x'\nGPU KV cache size: 5 tokens", "--config"),
        ("LLM engine (v0.12.0) with config: model='gpt2'\nGPU KV cache size: 5 tokens", "lack"),
    ],
)
def test_a_log_that_lacks_something_is_refused_in_a_sentence(text, why):
    with pytest.raises(ValueError, match=why):
        explain(of(text))


def test_what_would_steer_a_terminal_is_escaped(tmp_path, capsys):
    name = "qwen3-8b\x1b]0;owned\x07\u202e\u200b\x00"
    text = f"LLM engine (v0.12.0\x1b[31m) with config: model='{name}', dtype=bfloat16\n"
    text += "\x1b[32mModel loading took 15.27 GiB\x1b[0m\nAvailable KV cache memory: 9.00 GiB\n"
    text += "GPU KV cache size: 65,536 tokens\n"
    file = tmp_path / "a.log"
    file.write_text(text)
    assert main(["explain", str(file)]) == 0
    told = capsys.readouterr().out
    assert all(each.isprintable() or each == "\n" for each in told)
    assert "\\x1b]0" in told
    assert "\\u202e" in told
    assert main(["explain", str(file), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["rows"]
    file.write_text(text.replace("qwen3-8b", "no-such-model"))
    assert main(["explain", str(file)]) == 2
    assert capsys.readouterr().err.replace("\n", "").isprintable()


def test_hostile_text_takes_bounded_time():
    parts = [
        b"A" * 10_000_000 + b"\n",
        b"model='" * 500_000 + b"\n",
        b"LLM engine (v0.12.0) with config: " + b"model=" * 3_000 + b"\n",
        b"#running-req: 1, #token: 2, token usage: 0.1" + b" gen throughput" * 1_300 + b"\n",
        b"general.name" + b" " * 19_000 + b"=\n",
        b"file size" + b" " * 19_000 + b"\n",
        b"llama_kv_cache: size = " + b"1" * 19_000 + b" MiB\n",
        b"GPU KV cache size: " + b"9," * 9_000 + b" tokens\n",
        b"eval time = " + b"1" * 19_000 + b" tokens per second\n",
        b"\x1b[" * 9_000 + b"\n",
        bytes(range(256)) * 70 + b"\n",
    ]
    text = b"".join(parts)
    text += b"model gen throughput eval time tokens per second \n" * 300_000
    begin = time.perf_counter()
    found = read_log(io.BytesIO(text))
    assert time.perf_counter() - begin < 30
    assert "kv_gib_total" not in found.row


def test_no_more_than_so_much_is_read():
    class Endless(io.RawIOBase):
        given = 0

        def readline(self, size=-1):
            self.given += size
            return b"x" * (size - 1) + b"\n"

        def read(self, _=-1):
            return b"x"

    stream = Endless()
    assert read_log(stream).is_cut
    assert stream.given <= MOST_BYTES


def test_printable_keeps_letters_of_all_scripts():
    assert printable("Qwen3 模型 é") == "Qwen3 模型 é"
    assert printable("x" * 200, 10) == "x" * 10 + "…"


def test_it_reads_standard_input_and_asks_nobody():
    """Nothing leaves the machine: no socket is opened."""
    guard = (
        "import socket, sys\n"
        "def refuse(*_, **__): raise AssertionError('a socket')\n"
        "socket.socket = refuse\n"
        "from costlib.command import main\n"
        "sys.exit(main(['explain', '-', '--on', 'RTX-5090']))"
    )
    text = (LOGS / "vllm-0.12-llama-3.1-8b.log").read_bytes()
    done = subprocess.run([sys.executable, "-c", guard], input=text, capture_output=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    assert b"Binds:" in done.stdout


def test_a_file_that_is_none_is_said(tmp_path, capsys):
    assert main(["explain", str(tmp_path / "none.log")]) == 2
    assert "none.log" in capsys.readouterr().err
    assert main(["explain", str(Path(tmp_path))]) == 2
