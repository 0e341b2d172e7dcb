"""What engines charge: the rules against what engines printed, and the ways to ask for them."""

from dataclasses import replace

import numpy as np
import pytest

from costlib import answer, devices, fits, models
from costlib.command import main
from costlib.measured.heard import in_format, known_model
from costlib.measured.starts import Start, carried_starts, read_starts, start_of
from costlib.measured.tables import Unread
from costlib.model.engines import CONTEXT, ENGINES, SHOWN, engine_of, kinds, paged
from costlib.model.kvcache import largest_batch
from costlib.parallel import expert_parallel, tensor_parallel
from costlib.serving import Server
from tools.bench import engines as bench

pytestmark = pytest.mark.slow
GIB = 2**30


def starts() -> list[Start]:
    understood, refused = read_starts(carried_starts())
    assert not refused, refused[0][1]
    return understood


def median(values: list[float]) -> float:
    return float(np.median(np.abs(values)))


def test_every_start_names_its_source():
    assert len(carried_starts()) >= 40
    assert all(row["source"] for row in carried_starts())


@pytest.mark.parametrize("kind", ["plain", "windows", "latent"])
def test_tokens_follow_from_the_bytes_left(kind):
    """Pages, groups and padding are the engine's own: three in a hundred of printed tokens."""
    pairs = [s.tokens_pair() for s in starts() if s.kind == kind]
    errors = [pair.error for pair in pairs if pair is not None]
    assert len(errors) >= 8
    assert median(errors) <= 0.001
    assert np.quantile(np.abs(errors), 0.9) <= 0.03


def test_weights_and_settings_are_close_where_formats_are_known():
    chosen = [s for s in starts() if s.engine.name in ("vllm", "llama.cpp")]
    weights = [pair.error for s in chosen if (pair := s.weights_pair())]
    alone = [abs(pair.error) for s in starts() if (pair := s.settings_pair())]
    assert len(alone) >= 40
    assert median(weights) <= 0.02
    assert median(alone) <= 0.05
    assert sum(error > 0.15 for error in alone) <= 5


ROW = {"engine": "vllm", "version": "0.12.0", "model": "Qwen/Qwen3-8B", "tp": "1"}


@pytest.mark.parametrize(
    ("change", "bytes_"),
    [
        ({"version": "0.10.2"}, 38),
        ({"version": "0.12.0"}, 38),
        ({"version": "0.10.1.1", "sampler": "FlashInfer"}, 10),
        ({"version": "0.17.0", "device": "AMD Radeon"}, 10),
    ],
)
def test_vllm_sorts_logits_until_a_kernel_draws_them(change, bytes_):
    engine = start_of(ROW | {"max_num_seqs": "default", **change}).engine
    assert engine.logit == bytes_
    drawn = 256 * models["qwen3-8b"].vocab * bytes_
    assert engine.needed(models["qwen3-8b"]) == drawn or bytes_ == 10


@pytest.mark.parametrize(
    ("change", "sequences", "chunk"),
    [
        ({"device": "NVIDIA RTX 3090"}, 128, 2048),  # half, where it is not said
        ({"device": "NVIDIA RTX 3090", "max_num_seqs": "default"}, 256, 2048),
        ({"device": "NVIDIA RTX 3090", "max_num_seqs": "64"}, 64, 2048),
        ({"device": "NVIDIA H100"}, 1024, 8192),
        (
            {"notes": "--max-num-seqs 1 --max-num-batched-tokens 64000", "max_num_seqs": ""},
            1,
            64000,
        ),
        (
            {"device": "NVIDIA H100", "max_num_seqs": "none", "max_num_batched_tokens": "0"},
            1024,
            8192,
        ),
    ],
)
def test_sequences_and_chunks_are_as_told(change, sequences, chunk):
    engine = start_of(ROW | change).engine
    assert (engine.sequences, engine.chunk) == (sequences, chunk)


def test_a_memory_of_host_and_device_holds_the_process_too():
    """vLLM 0.13 on a GB10 printed 12.94 GiB and 54.44 sequences, as with chunks of 2,048 tokens."""
    row = ROW | {"model": "openai/gpt-oss-20b", "device": "NVIDIA GB10", "memory_fraction": "0.25"}
    row |= {"max_num_seqs": "default", "kv_gib_per_gpu": "12.94", "max_concurrency": "54.44"}
    start = start_of(row | {"max_model_len": "8192", "version": "0.13.0"})
    assert start.sequences_pair().error == pytest.approx(0, abs=0.001)
    assert start.settings_pair().error == pytest.approx(0, abs=0.06)
    apart = start.engine.outside(start.share) - ENGINES["vllm"].outside(start.share)
    assert apart == 2 * GIB


def test_libraries_of_amd_hold_more_than_a_context():
    alone = engine_of("vllm", 192 * GIB, "MI300X")
    assert alone.sequences == 1024
    assert alone.outside(models["llama-3.1-8b"]) == ENGINES["vllm"].outside(
        tensor_parallel(models["llama-3.1-8b"], 2)
    )


def test_what_started_had_room_for_one_sequence():
    """A share that leaves less was not the one that a log without a share was started with."""
    row = ROW | {
        "model": "Qwen/Qwen2.5-72B-Instruct-AWQ",
        "device": "NVIDIA L20",
        "kv_tokens": "12320",
    }
    start = start_of(row | {"max_model_len": "8192"})
    assert "has no room for" in start.unsettled
    assert start.settings_pair() is None
    told = start_of(row | {"max_model_len": "8192", "memory_fraction": "0.9"})
    assert told.unsettled == ""
    assert told.settings_pair().predicted == pytest.approx(8192, abs=16)
    assert "memory the device has" in start_of(ROW).unsettled
    assert "SGLang's share" in start_of(ROW | {"engine": "sglang", "device": "H100"}).unsettled
    assert "context" in start_of(ROW | {"engine": "llama.cpp"}).unsettled


ASCEND = {"engine": "sglang", "device": "Ascend 910", "weights_dtype": "bfloat16; modelslim"}


@pytest.mark.parametrize(
    ("model", "tp", "ep_dp", "printed"),
    [  # a drop of free memory, with what else the device took meanwhile
        ("DeepSeek-V3.2-Exp-W8A8", "32", "ep=32 dp=1", 39.37),  # prompts cut by tokens
        ("DeepSeek-R1-0528-w8a8", "32", "ep=32 dp=32 attention", 41.00),
        ("DeepSeek-R1-0528-w8a8", "32", "ep=32 dp=8 attention", 30.18),
        ("DeepSeek-R1-0528-w8a8", "16", "ep=16 dp=2 attention", 46.32),
    ],
)
def test_weights_of_attention_that_is_cut_by_sequences_or_tokens(model, tp, ep_dp, printed):
    start = start_of(ASCEND | {"model": model, "tp": tp, "ep_dp": ep_dp})
    held = (start.weights + start.engine.outside(start.share)) / GIB
    assert held == pytest.approx(printed, rel=0.025)


def test_a_stage_of_a_pipeline_has_its_layers():
    """Two stages of 16 of Llama's layers: each with one table of 128,256 × 4,096 in 16 bits."""
    row = ROW | {"model": "Llama-3.1-8B", "device": "NVIDIA A100 40GB", "memory_fraction": "0.9"}
    whole, last = start_of(row), start_of(row | {"pp": "2", "kv_tokens": "1"})
    assert last.weights == pytest.approx(whole.weights / 2, rel=0.001)
    assert last.share.kv_bytes(1, 100) == whole.share.kv_bytes(1, 100) / 2
    assert last.settings_pair().predicted > 2 * (
        start_of(row | {"kv_tokens": "1"}).settings_pair().predicted
    )
    with pytest.raises(Unread):
        start_of(row | {"pp": "1000"})


def test_the_output_head_is_cut_as_a_log_says():
    row = ASCEND | {"model": "DeepSeek-R1", "tp": "32", "ep_dp": "ep=32 dp=32 attention"}
    whole, cut = start_of(row), start_of(row | {"dp_lm_head": "False"})
    assert whole.weights - cut.weights == pytest.approx(129280 * 7168 * 2 * 31 / 32, rel=1e-6)
    indexed = row | {"model": "DeepSeek-V3.2-Exp", "ep_dp": "ep=32 dp=1"}
    assert start_of(indexed | {"by_tokens": "False"}).weights < start_of(indexed).weights / 1.5


def test_modelslim_leaves_what_expands_latents_in_16_bits():
    told = ("modelslim", "int8")
    packed, whole = (in_format("deepseek-v2-lite", each).weight_bytes() for each in told)
    assert packed - whole == pytest.approx(27 * 16 * (128 + 128) * 512, rel=0.01)
    assert (
        in_format("deepseek-r1", "modelslim").weight_bytes()
        > in_format("deepseek-r1", "int8").weight_bytes()
    )
    own = models["qwen3.6-27b-nvfp4"]
    assert in_format("qwen3.6-27b-nvfp4", "nvfp4").weight_bytes() == own.weight_bytes()


def test_experts_of_others_need_buffers_too():
    share = expert_parallel(models["deepseek-v3"], 8)
    assert ENGINES["sglang"].outside(share) > ENGINES["sglang"].outside(models["deepseek-v3"])


def test_sglang_takes_its_buffers_off_what_was_free():
    """Free before, share and what loading took are printed: the pool is what is left of them."""
    sglang, model = ENGINES["sglang"].with_(share=0.8), tensor_parallel(models["qwen3-32b"], 4)
    free, weights = 60 * GIB, 15 * GIB
    pool = sglang.left(free + CONTEXT, model, weights)
    assert pool == pytest.approx(0.8 * free - weights - sglang.outside(model))


@pytest.mark.parametrize(
    ("name", "told", "least", "most"),
    [
        ("qwen3-next-80b-a3b", "cpatonn/Qwen3-Next-80B-A3B-Instruct-AWQ-4bit", 45.5, 47.1),
        ("qwen3.6-27b-nvfp4", "Qwen3.6-27B-AWQ quantization=awq", 24.0, 27.0),
    ],
)
def test_layers_with_states_stay_in_16_bits_beside_4(name, told, least, most):
    """vLLM printed 2 × 23.50 and 24.82 GiB."""
    assert least < in_format(name, told).weight_bytes() / GIB < most


def test_the_rules_beat_exact_bytes_on_windows():
    pairs = [s.tokens_pair() for s in starts() if s.kind == "windows"]
    found = [pair for pair in pairs if pair is not None]
    assert all(abs(pair.error) < 0.01 for pair in found)
    assert median([pair.rival_error for pair in found]) > 0.25


@pytest.mark.parametrize(
    ("name", "tensor", "gib", "tokens"),
    [  # kyuz0/amd-r9700-vllm-toolboxes, vLLM 0.13: available KV cache memory, GPU KV cache size
        ("gpt-oss-20b", 1, 15.77, 344560),
        ("gemma-3-12b", 1, 16.25, 44368),
        ("gemma-3-27b", 2, 14.58, 54464),
        ("qwen3-next-80b-a3b", 2, 7.09, 154496),
        ("llama-3.1-8b", 1, 15.33, 125616),
    ],
)
def test_vllm_prints_these_tokens(name, tensor, gib, tokens):
    share = tensor_parallel(models[name], tensor)
    assert ENGINES["vllm"].tokens(share, gib * GIB) == pytest.approx(tokens, rel=0.003)


def test_vllm_pads_states_to_a_page_of_attention():
    """Qwen3.6-35B-A3B in vLLM 0.25.1 sets blocks of 1,072 tokens with two drafts, so 1,056 without:
    2,097,152 bytes of state and 3 of 4 inputs of 8,192 channels, in tokens of 2,048 bytes."""
    layout = paged(kinds(models["qwen3.5-35b-a3b"]), 16)
    assert layout.tokens == 1056
    assert layout.groups == 4


@pytest.mark.parametrize(("cells", "held"), [(16384, 1536), (1024, 1024), (1500, 1536)])
def test_llama_cpp_keeps_a_window_and_a_micro_batch(cells, held):
    """gemma-4-26b on a T4 (b8854): 1,536 cells in 25 layers; no more than the context, by 256."""
    model = models["gemma-4-26b-a4b"]
    full, local = sorted(kinds(model), key=lambda each: each.window or 0)
    whole = -(-cells // 256) * 256
    expected = full.layers * full.token * whole + local.layers * local.token * held
    assert ENGINES["llama.cpp"].charged(model, cells) == expected


def test_sglang_gives_windows_four_fifths_of_the_tokens():
    model = models["gpt-oss-20b"]
    rate = 12 * 2048 * 1.8
    assert ENGINES["sglang"].charged(model, 8192) == pytest.approx(8192 * rate)
    assert ENGINES["sglang"].charged(model, 64) == pytest.approx(64 / 0.8 * rate)


@pytest.mark.parametrize("engine", ENGINES)
def test_what_is_charged_is_at_least_what_is_kept(engine):
    for name in ("llama-3.1-8b", "gemma-3-12b", "gpt-oss-20b", "deepseek-v3", "qwen3-next-80b-a3b"):
        model = models[name]
        for context in (1, 100, 4096, 100_000):
            exact = model.kv_bytes(1, context)
            least = 0.9 if any(each.state for each in kinds(model)) else 1  # inputs kept: one fewer
            assert ENGINES[engine].charged(model, context) >= least * exact


@pytest.mark.parametrize("engine", ENGINES)
def test_a_batch_is_what_is_given_by_what_is_charged(engine):
    model, device = models["llama-3.1-8b"], devices["H100-SXM"]
    rule = engine_of(engine, device.capacity, device.name)
    most = largest_batch(model, device, 8192, engine=engine).largest
    given, each = rule.given(model, device.capacity), rule.charged(model, 8192)
    assert most * each <= given < (most + 1) * each
    assert fits(model.decode(most, 8191), device, engine=engine)
    assert not fits(model.decode(most + 1, 8191), device, engine=engine)
    assert Server(model, device, engine=engine).room(8192) == most
    found = answer(model, device, batch=most, context=8191, engine=engine)
    assert found.fits
    assert found["largest_batch"] == most
    found.server.step(most, 8191)  # no warning: some engines use what is a reserve here
    assert found["charged_kv_bytes_per_sequence"] == each


def test_a_share_and_arrays_are_taken():
    model, device = models["llama-3.1-8b"], devices["A100-40GB"]
    less, more = (ENGINES["vllm"].with_(share=each) for each in (0.8, 0.95))
    contexts = np.array([1000, 8000])
    few, many = (largest_batch(model, device, contexts, engine=e).largest for e in (less, more))
    assert (few < many).all()
    assert few[0] > few[1]
    apart = more.given(model, device.capacity) - less.given(model, device.capacity)
    assert apart == pytest.approx(0.15 * SHOWN * device.capacity)


def test_the_longest_context_is_the_last_that_fits():
    found = answer("gemma-3-12b", "RTX-4090", precision="int4", engine="vllm", batch=4)
    server, long = found.server, found["largest_context"]
    assert server.room(long + 1) >= 4 > server.room(long + 2)


def test_what_is_not_known_is_said():
    with pytest.raises(ValueError, match="engine must be one of vllm"):
        Server("llama-3.1-8b", "H100-SXM", engine="ollama")
    with pytest.raises(ValueError, match="one entry for several tokens"):
        answer("deepseek-v4-pro", "H200x8", engine="vllm")
    with pytest.raises(ValueError, match="vllm charges"):
        Server("llama-3.1-70b", "H100-SXM", engine="vllm").check(4096)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"engine": "mlc"}, "no rule is known"),
        ({"model": "google/gemma-4-12B-it"}, "no model of the catalogue"),
        ({"speculative": "yes"}, "drafting"),
        ({"version": "0.2.1"}, "older"),
        ({"tp": "3"}, "divide"),
        ({"model": "deepseek-ai/DeepSeek-V4-Pro"}, "one entry for several"),
        ({"model": "tiiuae/falcon-mamba-7b"}, "states alone"),
    ],
)
def test_rows_that_are_not_understood_are_refused(change, why):
    with pytest.raises(Unread, match=why):
        start_of(ROW | change)


def test_numbers_of_a_row_may_be_missing_or_wild():
    start = start_of(ROW | {"kv_gib_per_gpu": "-1.4", "kv_tokens": "many", "max_model_len": ""})
    assert start.tokens_pair() is None
    assert start.weights_pair() is None
    assert start_of({**ROW, "quote": None}).kind == "plain"
    odd = {"tp": "0", "block_size": "0", "max_model_len": "0.5", "ep_dp": "dp=0 attention"}
    for engine in ("vllm", "sglang", "tensorrt-llm"):
        start = start_of(ROW | odd | {"engine": engine, "kv_gib_per_gpu": "1", "kv_tokens": "9"})
        assert start.tokens_pair().predicted > 0


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("meta-llama/Meta-Llama-3.1-8B-Instruct", "llama-3.1-8b"),
        ("/models/hub/Qwen3-Coder-30B-A3B-Instruct-GPTQ-4bit/", "qwen3-30b-a3b"),
        ("unsloth/DeepSeek-R1-Distill-Llama-8B-GGUF", "llama-3.1-8b"),
        ("Qwen3.6-27B-AWQ", "qwen3.6-27b-nvfp4"),
        ("DeepSeek R1 0528", "deepseek-r1"),
        ("DeepSeek-R1-0528-Qwen3-8B", "qwen3-8b"),
        ("GLM Z1 32B 0414", "glm-4-32b-0414"),
        ("QwQ-32B-AWQ", "qwen2.5-32b"),
        ("microsoft/Phi-4-mini-instruct", None),  # no phi-4 of 14 billion
        ("Qwen3-Coder-Next", None),
        ("Qwen3-9B", None),
        ("target", None),
        ("", None),
        ("a" * 10**6, None),
    ],
)
def test_names_are_known_by_their_words(text, name):
    assert known_model(text) == name


def test_the_bench_scores_a_file(tmp_path, capsys):
    file = tmp_path / "rows.csv"
    file.write_text("engine,version,model,tp,kv_gib_per_gpu,kv_tokens,max_model_len\n"
                    "vllm,0.12.0,openai/gpt-oss-20b,1,15.37,335664,32768\n"
                    "abacus,1,x,1,,,\n")  # fmt: skip
    assert bench.main([str(file)]) == 0
    told = capsys.readouterr().out
    assert "vllm, windows | – | 1: 0.0%" in told
    assert "1 of 2 rows are refused" in told
    assert "no rule is known for the engine 'abacus'" in told
    assert "1 of 1 starts are not predicted from settings alone" in told
    assert "   1  how much memory the device has is not known" in told
    file.write_text("a,b\n1,2\n")
    assert bench.main([str(file)]) == 2
    assert bench.main([str(tmp_path / "none.csv")]) == 2


def test_the_command_counts_as_an_engine_does(capsys):
    assert main(["gpt-oss-20b", "--on", "RTX-4090", "--engine", "vllm", "--why"]) == 0
    told = capsys.readouterr().out
    assert "as vllm counts" in told
    assert "--gpu-memory-utilization" in told
    assert main(["memory", "gemma-3-27b", "--on", "H100-SXM", "--engine", "SGLang"]) == 0
    assert "KV cache as charged" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        main(["gpt2", "--on", "T4", "--engine", "ollama"])
    assert "'ollama' is not one of vllm" in capsys.readouterr().err


def test_settings_are_part_of_a_server():
    rule = replace(ENGINES["vllm"], share=0.5)
    half = Server("llama-3.1-8b", "H100-SXM", engine=rule)
    assert half.room(8192) < Server("llama-3.1-8b", "H100-SXM", engine="vllm").room(8192)
    assert half.with_(engine=None).room(8192) == Server("llama-3.1-8b", "H100-SXM").room(8192)
