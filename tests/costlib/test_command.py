"""The command as it is typed: what it prints, in which form, with which exit code."""

from __future__ import annotations

import csv
import io
import json
import math
import os
import re
import shlex
import statistics
import subprocess
import sys
from email.message import Message
from itertools import pairwise

import pytest

import costlib
from costlib import answer
from costlib.command import asked, main
from costlib.command.parser import COMMANDS, parser
from costlib.measured import runs
from costlib.model.catalog.prices import listed
from costlib.parallel import Plan
from costlib.serving import Server, best_batch, fewest_devices, saturation
from costlib.training import TrainingRun, adapter_step, lora, training_memory
from paths import ROOT

pytestmark = pytest.mark.slow

#: A line of every kind, and the code that it ends with.
TYPED = {
    "llama-3.1-8b --on H100-SXM --batch 8 --context 8192 --price 3.99 --watts 700 --why": 0,
    "answer gpt2 --on 8xA100-80GB": 2,  # 12 heads
    "gpt2 --on A100-80GB*4 --precision fp8": 2,  # no such rate
    "deepseek-v3 --on DGX-H200 --batch 32": 0,
    "llama-3.1-70b --on T4": 1,
    "llama-3.1-405b --on DGX-H100x2 --plan pipeline=2 --batch 64 --price 3 --why": 0,
    "memory deepseek-v3 --on DGX-H200 --plan expert=8,data=8": 0,
    "time llama-3.1-405b --on DGX-H100x2 --plan pipeline=2 --batch 64": 0,
    "compare llama-3.1-70b --on H100-SXMx8 --plan tensor=8 tensor=4,data=2 pipeline=8": 0,
    "params gpt-oss-120b": 0,
    "memory llama-3.1-70b --on A100-80GBx4 --batch 8": 0,
    "memory llama-3.1-70b --on T4": 1,
    "time deepseek-v3 --on H200x8": 0,
    "time llama-3.1-70b --on T4": 1,
    "time llama-3-8b --on H100-SXM --prompt 2000": 0,
    "compare llama-3-8b qwen3-8b deepseek-v3 --on H200x8 MI300X": 0,
    "compare gpt2 --on T4 L4 A100-80GB": 0,
    "compare llama-3.1-70b --on T4 H100x4": 0,
    "compare llama-3.1-70b --on T4 L4": 1,
    "sweep llama-3-8b --on T4 --context 4096": 1,
    "sweep llama-3-8b --on T4 L4 --batch 1:64:x2 --context 512,4096": 0,
    "plan gpt2 --on DGX-H100 --batch 64 --context 1024 --top 5": 0,
    "plan llama-3.1-70b --on T4": 1,
    "train llama-3.1-8b --on DGX-H100x4 --tokens 2T --context 8192 --watts 700 --why": 0,
    "train gpt2 --on H100-SXM --tokens 10B --mfu 40% --price 2 --recipe muon": 0,
    "train llama-3.1-70b --on T4 --tokens 1B": 1,
    "lora llama-3.1-8b --on RTX-4090 --base nf4 --tokens 10M --why": 0,
    "lora llama-3.1-70b --on H100-SXM --rank 64 --targets q_proj,ffn.down": 1,
    "serve llama-3.1-8b --on H100-SXM --within 25 --rate 400 --price 3.99 --why": 0,
    "serve llama-3.1-8b --on H100-SXM --within 2": 1,
    "serve llama-3.1-70b --on H100-SXM": 1,
    "serve llama-3.1-8b --gpu H100 T4 --users 50 --tpot 33 --ttft 500": 0,
    "serve llama-3.1-70b --on T4 --users 50 --tpot 3": 1,
    "models qwen3": 0,
    "devices h100": 0,
    "nodes": 0,
    "models nothing-like-it": 1,
    "completion bash": 0,
    "completion zsh": 0,
}


@pytest.mark.parametrize("typed", TYPED)
def test_what_is_printed_fits_a_terminal(typed, capsys):
    assert main(typed.split()) == TYPED[typed]
    shown = capsys.readouterr()
    if not typed.startswith("completion"):
        assert max(map(len, shown.out.splitlines()), default=0) <= 80
    assert max(map(len, shown.err.splitlines()), default=0) <= 80
    assert "\033" not in shown.out, "no colours but on a terminal"
    assert (shown.err != "") == (shown.out == ""), "an answer or a sentence"


@pytest.mark.parametrize("asks", ["", "compare ", "memory ", "time ", "serve "])
def test_a_context_beyond_training_is_said_once_beside_the_answer(asks, capsys):
    typed = f"{asks}llama-3.1-8b --on H200 --" + ("prompt" if asks == "serve " else "context")
    assert main([*typed.split(), "8000"]) == 0
    assert not capsys.readouterr().err
    assert main([*typed.split(), "200k"]) == 0
    answered, said = capsys.readouterr()
    assert answered
    named = "llama-3.1-8b" if asks == "compare " else "the model"  # which of several
    assert " ".join(said.split()) == (
        f"costlib: {named} was trained for 131,072 tokens: costs beyond that are counted as "
        "usual, but its answers may be poor"
    )


def read(typed: str, capsys: pytest.CaptureFixture[str]) -> str:
    main(typed.split())
    return capsys.readouterr().out


@pytest.mark.parametrize("typed", [each for each in TYPED if not each.startswith("completion")])
def test_other_programs_can_read_it(typed, capsys):
    text = read(f"{typed} --json", capsys)
    rows = read(f"{typed} --csv", capsys)
    if not text:
        return
    found = json.loads(text, parse_constant=lambda name: pytest.fail(f"{name} is no JSON"))
    table = list(csv.DictReader(io.StringIO(rows)))
    if "answers" in found:
        assert [row["key"] for row in table] == [*found["answers"]]
    else:
        assert [[*row] for row in table] == [[*row] for row in found["rows"]]
        assert found["rows"]
    assert [*numbers_in_texts(found)] == []


def numbers_in_texts(value):
    """Texts of what a program read that are a number, but for versions."""
    if isinstance(value, dict):
        for key, each in value.items():
            yield from () if key == "version" else numbers_in_texts(each)
    elif isinstance(value, list):
        for each in value:
            yield from numbers_in_texts(each)
    elif isinstance(value, str) and re.fullmatch(r"[$+-]?[\d.,]+ ?%?", value):
        yield value


def test_it_says_what_the_library_says(capsys):
    typed = "llama-3.1-8b --on H100-SXMx2 --batch 8 --context 8192 --price 3.99 --json"
    said = json.loads(read(typed, capsys))
    given = {"tensor": 2, "batch": 8, "context": 8192, "price_per_hour": 3.99}
    assert said["answers"] == answer("llama-3.1-8b", "H100-SXM", **given).plain()
    assert said["asked"]["device"] == "H100-SXMx2"


def test_what_is_served_has_room_to_its_end(capsys):
    typed = "serve llama-3.1-8b --on H100-SXM --prompt 1000 --answer 200 --json"
    server = Server("llama-3.1-8b", "H100-SXM")
    for target, batch in (("", server.room(1200)), (" --within 20", None)):
        found = json.loads(read(typed + target, capsys))["answers"]
        batch = batch or best_batch(server, 1100, 0.02).batch
        assert found["batch"] == batch <= server.room(1200)
        assert found["tpot_s"] == server.step(batch, 1100)
        full = saturation(server, 1000, 200, batch=batch)
        assert found["requests_per_s"] == full.requests_per_s
        among = batch / found["output_tokens_per_s"]  # as one user sees it, prefills included
        assert found["tpot_full_load_s"] == pytest.approx(among)
        assert among > found["tpot_s"]
    copies = json.loads(read(f"{typed} --plan data=3 --price 2 --rate 100", capsys))["answers"]
    alone = json.loads(read(f"{typed} --price 2", capsys))["answers"]
    assert copies["output_tokens_per_s"] == pytest.approx(3 * alone["output_tokens_per_s"])
    assert copies["usd_per_million_output_tokens"] == pytest.approx(
        alone["usd_per_million_output_tokens"]
    )
    assert copies["servers"] == math.ceil(100 / copies["requests_per_s"])


def test_the_fewest_devices_for_a_load_and_the_cheapest_first(capsys):
    typed = "serve llama-3.1-8b --on T4 H200 H100 --users 200 --prompt 7k --answer 1k --tpot 33.3"
    rows = json.loads(read(f"{typed} --json", capsys))["rows"]
    assert rows[-1]["device"] == "T4", "whose rent nobody printed"
    for row in rows:
        given = {"users": 200, "prompt": 7000, "answer": 1000, "tpot": 0.0333}
        fleet = fewest_devices("llama-3.1-8b", row["device"], **given)
        assert (row["devices"], row["users_per_copy"]) == (fleet.devices, fleet.batch)
        assert (row["tpot_s"], row["ttft_s"]) == (fleet.tpot, fleet.ttft)
        rent = listed(row["device"]).dollars_per_hour
        assert row["usd_per_hour"] == (None if rent is None else rent * fleet.devices)
    rents = [row["usd_per_hour"] for row in rows if row["usd_per_hour"] is not None]
    assert rents == sorted(rents)
    assert len(rents) == 2
    shown = read(typed, capsys)
    assert listed("H100-SXM").source in " ".join(shown.split())
    own = json.loads(read(f"{typed} --price 2 --json", capsys))["rows"]
    assert all(row["usd_per_hour"] == 2 * row["devices"] for row in own)


def test_a_large_fleet_is_counted_in_whole_numbers(capsys):
    shown = read("serve llama-3.1-8b --on H100 --users 10M", capsys)
    assert re.search(r"^devices +\d\d,\d{3}$", shown, re.M)
    assert re.search(r"^\$ an hour, all devices +\d\d,\d{3}$", shown, re.M)


def test_each_device_has_its_price(capsys):
    asks = "compare llama-3.1-70b --on H100x8 A100-80GB L4x16 --json"
    keys = ("usd_per_million_output_tokens", "output_tokens_per_s")
    for more, prices in (("", [8 * 3.99, None, None]), (" --price 1 2 3", [8, None, 48])):
        rows = {
            row["answer"]: [*row.values()][1:]
            for row in json.loads(read(asks + more, capsys))["rows"]
        }
        paid, made = (rows[key] for key in keys)
        for dollars, rate, price in zip(paid, made, prices, strict=True):
            assert dollars == (None if price is None else pytest.approx(price / rate / 3600 * 1e6))
    assert listed("H100").source in " ".join(read(asks.removesuffix(" --json"), capsys).split())


def test_numbers_and_devices_are_read_as_people_write_them(capsys):
    plain = json.loads(read("llama-3.1-8b --on H100-SXMx16 --context 128000 --json", capsys))
    for typed in ("--gpu 16xH100 --context 128k", "--gpu=H100x16 --context 0.128M"):
        assert json.loads(read(f"llama-3.1-8b {typed} --json", capsys)) == plain


def test_several_devices_and_prices_may_have_commas_between_them(tmp_path, monkeypatch, capsys):
    for commas, blanks in (
        (
            "compare gpt2,gpt2-xl --on T4,L4 --price 2,3",
            "compare gpt2 gpt2-xl --on T4 L4 --price 2 3",
        ),
        ("sweep gpt2 --on t4,l4", "sweep gpt2 --on T4 L4"),
        (
            "serve gpt2 --prompt 99 --users 5 --on T4,L4",
            "serve gpt2 --prompt 99 --users 5 --on T4 L4",
        ),
    ):
        assert read(f"{commas} --json", capsys) == read(f"{blanks} --json", capsys) != ""
    (tmp_path / "a,b.json").write_text("{}")
    monkeypatch.chdir(tmp_path)
    assert main(["params", "a,b.json"]) == 2
    assert "'model_type' is missing" in capsys.readouterr().err, "a file may have a comma"


def test_names_are_said_as_the_catalogue_spells_them(capsys):
    found = read("LLAMA_3-8B --on h100sxmx8 --batch 1e1", capsys).splitlines()
    assert found[0] == "llama-3-8b on H100-SXMx8: 10 × 4,096 tokens"
    said = json.loads(read("compare LLAMA_3-8B --on t4 dgx_h100 --json", capsys))
    assert (said["asked"]["model"], said["asked"]["device"]) == (["llama-3-8b"], ["T4", "DGX-H100"])


def test_four_choices_stand_side_by_side(capsys):
    plans = "tensor=8 tensor=4,data=2 tensor=2,pipeline=4 pipeline=8"
    shown = read(f"compare llama-3.1-70b --on H100-SXMx8 --plan {plans}", capsys)
    lines = 1 + 2 + 18 + 2
    assert len(shown.splitlines()) == lines, "a title, two lines of names, answers, a rent"
    said = json.loads(read(f"compare llama-3.1-70b --on H100-SXMx8 --plan {plans} --json", capsys))
    rows = {row["answer"]: [*row.values()][1:] for row in said["rows"]}
    each = [Server("llama-3.1-70b", "H100-SXMx8", **asked.plan(plan)) for plan in plans.split()]
    assert rows["tpot_s"] == pytest.approx([server.step(1, 4096) for server in each])
    assert rows["largest_batch"] == [server.room(4097) for server in each]


def test_a_table_adds_up(capsys):
    rows = json.loads(read("params llama-3-8b --json", capsys))["rows"]
    *parts, total = [row["parameters"] for row in rows]
    assert sum(parts) == total == costlib.models["llama-3-8b"].params()
    rows = json.loads(read("time llama-3-8b --on H100-SXM --batch 4 --json", capsys))["rows"]
    work = costlib.models["llama-3-8b"].decode(4, 4096, logits="last")
    assert sum(row["time_s"] for row in rows) == pytest.approx(costlib.time(work, "H100-SXM"))
    assert sum(row["flops"] for row in rows) == work.flops


def test_a_sweep_is_many_answers(capsys):
    rows = json.loads(read("sweep llama-3-8b --on L4 --batch 1,8 --json", capsys))["rows"]
    for row in rows:
        alone = answer("llama-3-8b", "L4", batch=row["batch"], context=row["context"])
        assert row["tpot_s"] == pytest.approx(alone["tpot_s"], rel=1e-12)
        assert row["memory_bytes"] == alone["memory_bytes"]
        assert row["fits"] == alone.fits


def test_plans_get_slower_and_smaller(capsys):
    rows = json.loads(read("plan gpt2 --on DGX-H100 --batch 64 --context 1024 --json", capsys))[
        "rows"
    ]
    for fast, small in pairwise(rows):
        assert fast["step_s"] <= small["step_s"]
        assert fast["memory_bytes"] > small["memory_bytes"]


#: What is wrong, and a part of the sentence that says so.
WRONG = {
    "lama-3-8b --on T4": "nearest is llama-3-8b (costlib models has them all; ",
    "llama-3-8b --on H10": "could be H100-SXM or H100-PCIe",
    "llama-3-8b": "no device was given: add --on H100-SXM or --on H100-SXMx8",
    "plan llama-3-8b": "no device was given: add --on DGX-H100x4",
    "llama": "'llama' could be llama-2-7b,",
    "plan llama-3-8b --on DGX-H10": "no node named 'DGX-H10'; the nearest is DGX-H100",
    "llama-3-8b --on DGX-H100x2 --plan tensor=8": "8 devices, and there are 16; data=2",
    "llama-3-8b --on T4 --plan pipe=2": "'pipe=2' is not a part of a plan such as pipeline=2 (",
    "llama-3-8b --on T4 --plan tp=8": "'tp=8' is not a part of a plan such as tensor=8",
    "llama-3-8b --on T4 --plan 4": "'4' is not a part of a plan such as tensor=2, pipeline=2",
    "plan llama-3-8b --on M4x4": "devices of M4x4 is known: costlib nodes lists machines",
    "llama-3-8b --on T4 --plan tensor=2,tensor=4": "tensor is given twice",
    "memory llama-3-8b --on T4 --price 3": "memory has no --price, which belongs to answer, ",
    "llama-3-8b --on T4 --contxt 8": "costlib answer has no --contxt: did you mean --context?",
    "llama-3-8b --on T4 --sideways 8": "has no --sideways: costlib answer --help lists what",
    "llama-3-8b T4": "costlib answer does not take T4: name one device with --on",
    "llama-3-8b --on T4 L4": "answer does not take L4: name one device with --on; costlib compare",
    "llama-3-8b --on T4 --batch 1,8": "8, 1e3 or 128k; costlib sweep takes several",
    "serve llama-3-8b --on T4 L4": "several devices needs the number of users: add --users",
    "serve llama-3-8b T4": "costlib serve does not take T4: only --on can be followed by several",
    "compare gpt2 --on T4 --batch 1 2": "does not take 2: only --on, --plan, --price can be",
    "params gpt2 T4": "costlib params does not take T4: costlib params --help says what it takes",
    "gpt2 --on T4,L4": "answer takes one device, got 'T4,L4'; costlib compare takes several",
    "gpt2,gpt2-xl --on T4": "takes one model, got 'gpt2,gpt2-xl'; costlib compare takes",
    "lora gpt2 --on T4,L4": "costlib lora takes one device, got 'T4,L4'",
    "gpt2 --on T4 --price 2,3": "'2,3' is not one price such as 3.99; costlib compare takes one",
    "gpt2 --on H100x4 --wait 100001": "--wait: '100001' is more than 100,000 microseconds",
    "gpt2 --on H100x4 --wait 1s": "--wait: '1s' is more than 100,000 microseconds",
    "serve llama-3-8b --on T4 --ttft 500": "--ttft needs the number of users: add --users",
    "serve llama-3-8b --on T4x2 --users 5": "device must be a single device or node, because",
    "serve llama-3-8b --on L4 --users 5 --plan data=2": "leave out --plan and --rate",
    "serve llama-3-8b --on L4 --users 5 --tpot 4000": "'4000' is more than 1,000 milliseconds",
    "serve llama-3-8b --on L4 --users 5 --tpot 4s": "'4s' is more than 1,000 milliseconds",
    "serve llama-3-8b --on L4 --users 5 --tpot 4min": "'4min' is not a number of at least 0",
    "compare gpt2 --on T4 nosuch": "no device named 'nosuch' (costlib devices has them all)",
    "compare gpt2 --on T4 L4 L40S --price 1 2": "got 2 prices for 3 devices",
    "sweep llama-3-8b --on DGX-H100": "write H100-SXM, or ask compare for DGX-H100",
    "plan llama-3-8b --on DGX-H100 --recipe mine": "--recipe: 'mine' is not one of fp32, bf16,",
    "plan gpt2 --on DGX-H100 --batch 64 --context 1024 --top 0": "top must be at least 1",
    "llama-3-8b --on M4x2": "M4 has no interconnect: copies alone (--plan data=2) need none",
    "plan llama-3-8b --on 8xMI355Xx2 --batch 64": "no network, over which this plan sends",
    "params  --csv": "what is missing: MODEL",
    "llama-3-8b --on H1000": "the nearest is H100-SXM",
    "llama-3-8b --on T4x0": "at least 1",
    "no/such/config.json --on T4": "no config at",
    "/ --on T4": "'/' is a folder without a config.json",
    "llama-3-8b --on T4 --batch 0": "batch must be at least 1",
    "llama-3-8b --on T4 --batch two": "--batch: 'two' is not a whole number such as 8, 1e3 or 128k",
    "llama-3-8b --on T4 --batch 2.5": "'2.5' is not a whole number",
    "llama-3-8b --on T4 --price much": "--price: 'much' is not a number of at least 0, such as",
    "llama-3-8b --on T4 --price -3": "--price: '-3' is not a number of at least 0, such as",
    "llama-3-8b --on T4 --precision fp7": "--precision: 'fp7' is not one of fp32, tf32, bf16",
    "llama-3-8b --on T4 --json --csv": "not allowed with",
    "sweep llama-3-8b --on T4x2": "write T4",
    "sweep llama-3-8b --on T4 --context 1k:16q": "not a number or range such as 8, 4k, 1:64",
    "train gpt2 --on T4": "what is missing: --tokens",
    "train gpt2 --tokens 1B": "no device was given: add --on DGX-H100x4",
    "train gpt2 --on T4 --tokens 1B --mfu 40": "'40' is not a share of more than 0",
    "lora gpt2 --on T4 --targets query": "targets has no product 'query'; the model has",
    "lora gpt2 --on T4 --base mine": "--base: 'mine' is not one of",
    "lora gpt2 --on DGX-H100": "adapters are trained on one device here: write --on H100-SXM",
    "lora gpt2 --on T4x2": "adapters are trained on one device here: write --on T4",
    "sweep llama-3-8b --on T4 --batch 1:2000 --context 1:2000": "4,000,000 rows are more than",
    "sweep llama-3-8b --on T4 --batch 1:100000000": "more than 1,000,000",
    "sweep llama-3-8b --on T4 --batch 1:8:x1": "factor of 2 or more",
    "sweep llama-3-8b --on T4 --batch 1-8": "not a number or range",
    "sweep llama-3-8b --on T4 --batch 64:1": "write 1:64",
    "serve llama-3.1-8b --on H100-SXM --rate 0": "--rate: '0' must be more than 0",
    "compare llama-3-8b gpt2 --on H100-SXMx8": "gpt2 on H100-SXMx8",
    "plan llama-3-8b --on DGX-H100x0": "at least 1",
    "params config-that-is-not-there": "no model named",
    "completion fish": "bash",
    "comparr gpt2 --on T4": "no command or model named 'comparr'; the nearest command is compare",
    "serve llama-3-8b --on L4 --ttft 90000": "'90000' is more than 60,000 milliseconds",
    "answer": "what is missing: MODEL",
    "llama-3-70b --on T4": "no model named 'llama-3-70b'; the nearest is llama-3.3-70b",
    "serve gpt2 --on T4 --users 5": "context must be at most 1,024 tokens, because the",
    "gpt2 --device T4": "costlib answer has no --device: did you mean --on?",
    "gpt2 --on T4 --int4": "costlib answer has no --int4: did you mean --precision int4?",
    "gpt2 --on T4 --max-model-len 8": "has no --max-model-len: did you mean --context?",
    "gpt2 --on T4 --tp 8": "has no --tp: did you mean --plan tensor=N?",
    "serve gpt2 --on T4 --qps 5": "has no --qps: did you mean --rate?",
    "gpt2 --on T4 --precision 4bit": "; those of 4 bits are nvfp4, int4, nf4, mxfp4",
    "fit gpt2 --on T4": "or model named 'fit'; for whether it fits and how fast it is, begin",
    "https://huggingface.co/no/where/blob/main/config.json --on T4": "save the config.json that",
    "https://hf.co/no/where --on T4": "known by the address 'https://hf.co/no/where', and none is",
    "frobnicate": "no model named 'frobnicate'",
}


@pytest.mark.parametrize("typed", WRONG)
def test_what_is_wrong_is_said_in_a_sentence(typed, capsys):
    try:
        code = main(typed.split())
    except SystemExit as end:  # argparse's way
        code = end.code
    shown = capsys.readouterr()
    assert code == 2
    assert WRONG[typed] in " ".join(shown.err.split())
    assert max(map(len, shown.err.splitlines())) <= 80
    assert shown.err.startswith("costlib: ")
    assert shown.out == ""


def test_a_model_can_be_a_file_a_folder_or_piped(tmp_path, capsys, monkeypatch):
    sizes = {"hidden_size": 64, "num_hidden_layers": 2}
    sizes |= {"num_attention_heads": 4, "num_key_value_heads": 2}
    config = {"model_type": "llama", "vocab_size": 100, "intermediate_size": 128, **sizes}
    (tmp_path / "config.json").write_text(json.dumps(config), "utf-8")
    said = {
        name: json.loads(read(f"params {name} --json", capsys))["rows"]
        for name in (str(tmp_path), str(tmp_path / "config.json"))
    }
    monkeypatch.setattr("sys.stdin", io.StringIO(json.dumps(config)))
    said["-"] = json.loads(read("params - --json", capsys))["rows"]
    first, *rest = said.values()
    assert rest == [first, first]
    assert first[-1]["parameters"] == costlib.Transformer.from_hf(config).params()


#: What comes in where a config should, and what is said of it.
NO_CONFIGS = {
    "": "nothing came in on standard input",
    " \n": "nothing came in on standard input",
    "config.json": "no config.json came in on standard input: it begins with 'config.json'",
    "{}": "'model_type' is missing",
    '{"model_type": "foo"}': "model_type 'foo' is not one that costlib knows; it knows ",
}


@pytest.mark.parametrize("text", NO_CONFIGS)
def test_what_is_no_config_is_said_of_a_pipe_and_of_a_file(text, tmp_path, capsys, monkeypatch):
    config = tmp_path / "config.json"
    config.write_text(text, "utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.stdin", io.StringIO(text))
    assert main(["params", "-"]) == 2
    assert NO_CONFIGS[text] in " ".join(capsys.readouterr().err.split())
    assert main(["params", "config.json"]) == 2
    assert "config.json" in capsys.readouterr().err
    assert main(["params", ""]) == 2
    assert "no model named ''" in capsys.readouterr().err


def test_programs_get_reasons_where_they_ask_for_them(capsys):
    asks = "llama-3.1-8b --on H100-SXM"
    rows = [*answer("llama-3.1-8b", "H100-SXM")]
    for why in ("", " --why"):
        names = ["why", "where"] if why else []
        told = json.loads(read(f"{asks} --json{why}", capsys))
        table = list(csv.DictReader(io.StringIO(read(f"{asks} --csv{why}", capsys))))
        assert [*told] == ["asked", "answers", *names]
        assert [*table[0]] == ["key", "value", "unit", *names]
        for name in names:
            said = [getattr(row, name) for row in rows]
            assert [*told[name].values()] == [row[name] for row in table] == said


def test_each_round_waits_as_long_as_is_said(capsys):
    asks = "llama-3.1-8b --on DGX-H100 --json"
    ideal, waiting = (json.loads(read(asks + more, capsys)) for more in ("", " --wait 20"))
    rounds = 2 * 32 * 2
    spent = [each["answers"]["tpot_s"] for each in (ideal, waiting)]
    assert spent[1] - spent[0] == pytest.approx(20e-6 * rounds)
    assert waiting["answers"]["decode_bound"] == "waiting"
    assert f"waiting for messages {2e-2 * rounds:.2f} ms" in read(f"{asks} --wait 20 --why", capsys)
    rows = json.loads(read(f"time {asks} --wait 20", capsys))["rows"]
    assert rows[-1]["bound"] == "waiting"
    shown = " ".join(read("gpt2 --on H100-SXMx12", capsys).split())
    assert "For nodes of 8, write --on DGX-H100x2." in shown


def test_a_title_has_all_that_changes_the_numbers(capsys):
    for typed, title in (
        ("gpt2 --on H100-SXM --precision fp8", "gpt2 on H100-SXM, in fp8: 1 × 1,024 tokens"),
        ("compare gpt2 --on T4 L4 --precision int8", "gpt2, in int8: 1 × 1,024 tokens"),
        ("sweep gpt2 --on T4 L4 --precision int8", "gpt2 on T4, L4, in int8"),
        (
            "compare llama-3-8b --on H100-SXMx4 --wait 3 --plan tensor=4 tensor=2,data=2",
            "llama-3-8b on H100-SXMx4, 3 µs a round: 1 × 4,096 tokens in each copy",
        ),
    ):
        assert read(typed, capsys).splitlines()[0] == title


def test_what_would_do_is_said_of_what_does_not_fit(capsys):
    for typed, said in (
        ("llama-3.1-70b --on T4", "tensor=16 would do."),
        ("time llama-3.1-70b --on T4", "tensor=16 would do."),
        (
            "memory llama-3.1-70b --on T4",
            "142.5 GB on 1 × T4, and 15.5 GB are usable; tensor=16 would",
        ),
        (
            "time llama-3.1-8b --on H100-SXM --prompt 500k",
            "does not fit: weights and its cache take",
        ),
        ("llama-3.1-8b --on H100-SXM --batch 500", "Batch must be at most 113, as many"),
    ):
        assert said in read(typed, capsys).replace("\n", " ")
        assert main([*typed.split(), "--json"]) == 1
        json.loads(capsys.readouterr().out)


def test_sections_are_those_of_the_book_that_the_package_names(capsys, monkeypatch):
    named = Message()
    named["Project-URL"] = "Source, https://example.org/source"
    named["Project-URL"] = "Homepage, https://example.org/book/"
    monkeypatch.setattr("costlib.command.answers.metadata", lambda _: named)
    shown = read("gpt2 --on T4 --why", capsys)
    assert " https://example.org/book/book/kvcache.html#what-fits\n" in shown
    assert "example.org" not in read("gpt2 --on T4", capsys)


def test_a_batch_is_of_each_copy(capsys):
    asks = "compare llama-3.1-8b --on H100-SXMx8 --plan"
    assert read(f"{asks} tensor=8 tensor=4,data=2", capsys).splitlines()[0].endswith("each copy")
    assert read(f"{asks} tensor=8 pipeline=8", capsys).splitlines()[0].endswith("tokens")


def test_a_run_takes_what_the_library_says_and_published_runs_reached(capsys):
    asks = "train llama-3.1-8b --on DGX-H100x2 --tokens 1T --context 8192 --json"
    told = json.loads(read(asks, capsys))["answers"]
    reached = [each.implied_mfu for each in runs() if each.implied_mfu is not None]
    run = TrainingRun(
        model="llama-3.1-8b",
        tokens=1e12,
        device="H100-SXM",
        devices=16,
        mfu=statistics.median(reached),
        seq=8192,
    )
    assert told["days"] == pytest.approx(run.days)
    assert told["usd"] == pytest.approx(run.dollars(per_device_hour=3.99))
    cuts = dict(each.split("=") for each in told["plan"].split())
    plan = Plan(**{name: int(many) for name, many in cuts.items()})
    planned = plan.on("llama-3.1-8b", "DGX-H100x2", batch=256, seq=8192)
    assert told["memory_bytes"] == pytest.approx(planned.memory.total)
    assert told["step_s"] == pytest.approx(planned.step)
    assert told["days_at_best"] == pytest.approx(planned.step * 1e12 / 256 / 8192 / 86400)
    assert told["days_at_best"] < told["days"]
    assert told["mfu"] == pytest.approx(run.mfu)
    assert f"MFU                           {run.mfu:.1%}" in read(
        asks.removesuffix("--json"), capsys
    )
    half = json.loads(read(f"{asks} --mfu 0.2 --price 1", capsys))["answers"]
    assert half["days"] == pytest.approx(run.with_(mfu=0.2).days)
    assert half["usd"] == pytest.approx(half["device_hours"])


def test_no_run_is_faster_than_its_fastest_plan(capsys):
    """A small batch reaches less than usual, and nobody gets more than a datasheet allows."""
    some = ["train", "llama-3.1-8b", "--on", "DGX-H100x8", "--tokens", "2T", "--batch"]
    assert main([*some, "7", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)["answers"]
    assert told["days"] == pytest.approx(told["days_at_best"])
    assert main([*some, "8", "--mfu", "90%"]) == 2
    assert "which the fastest plan reaches" in " ".join(capsys.readouterr().err.split())


def test_adapters_take_what_the_library_says_up_to_the_largest_batch(capsys):
    asks = "lora llama-3.1-8b --on RTX-4090 --base nf4 --recompute full --tokens 1M --json"
    told = json.loads(read(asks, capsys))["answers"]
    recipe, most = lora(16, base="nf4"), told["largest_batch"]

    def held(batch):
        return training_memory("llama-3.1-8b", batch, 4096, recipe, recompute="full").total

    assert told["memory_bytes"] == held(1)
    assert held(most) <= told["usable_bytes"] < held(most + 1)
    step = adapter_step("llama-3.1-8b", 1, 4096, recipe, recompute="full")
    whole = costlib.models["llama-3.1-8b"].training_step(1, 4096, recompute="full")
    assert told["flops_share"] == pytest.approx(step.matmul_flops / whole.matmul_flops)
    assert told["step_s"] == costlib.time(step, "RTX-4090", precision=recipe.precision)
    assert told["hours"] == pytest.approx(1e6 / 4096 * told["step_s"] / 3600)
    assert main(["lora", "llama-3.1-8b", "--on", "RTX-4090"]) == 1
    assert "With --recompute full it takes 19.8 GB, and fits." in capsys.readouterr().out


def test_a_config_of_nearly_that_name_is_named(tmp_path, monkeypatch, capsys):
    (tmp_path / "config.json").write_text("{}")
    monkeypatch.chdir(tmp_path)
    for typed in ("conifg.json", "config.jsn"):
        assert main([typed, "--on", "T4"]) == 2
        told = " ".join(capsys.readouterr().err.split())
        assert told == f"costlib: there is no config at '{typed}'; the nearest is config.json"


def test_help_is_a_word_too(capsys):
    for typed in ("help", "help serve"):
        with pytest.raises(SystemExit):
            main(typed.split())
        assert capsys.readouterr().out.startswith("usage: costlib")


def test_the_address_of_a_config_stands_for_a_known_model(capsys):
    at = "https://huggingface.co/meta-llama/Llama-3.1-8B"
    for rest in ("", "/blob/main/config.json", "/tree/main", "/resolve/main/config.json"):
        assert "llama-3.1-8b on L4" in read(f"{at}{rest} --on L4", capsys)


def test_why_an_adapter_fits_names_the_rows_that_are_compared(capsys):
    shown = read("lora llama-3.1-8b --on RTX-4090 --base nf4 --why", capsys)
    rows = {line.partition("  ")[0] for line in shown.splitlines()}
    left, right = shown.split("fits  ")[1].splitlines()[1].strip(" =").split(" ≤ ")
    assert {left, right} <= rows


def test_a_comparison_says_which_model_was_not_trained_for_the_context(capsys):
    asks = ["compare", "gpt-oss-20b", "llama-2-7b", "llama-2-13b", "--on", "L4", "A10"]
    assert main([*asks, "--context", "8k"]) == 0
    told = " ".join(capsys.readouterr().err.split())
    assert told.count("costlib: ") == told.count("was trained for 4,096 tokens") == 2
    assert {"llama-2-7b", "llama-2-13b"} == set(re.findall(r"(\S+) was trained", told))


def test_a_sweep_warns_of_contexts_beyond_training(capsys):
    assert main(["sweep", "phi-2", "gpt-oss-20b", "--on", "H100-SXM", "--context", "1k:8k:x2"]) == 0
    shown = capsys.readouterr()
    assert " ".join(shown.err.split()).startswith("costlib: phi-2 was trained for 2,048 tokens:")
    assert shown.err.count("costlib: ") == 1
    assert " 4000 " in shown.out


def test_devices_are_trained_on_as_a_node_of_them(capsys):
    asks = "plan llama-3.1-8b --batch 64 --json --on"
    one, other = (json.loads(read(f"{asks} {on}", capsys)) for on in ("H100-SXMx8", "DGX-H100"))
    assert one["rows"] == other["rows"]


def test_a_full_disk_is_said_once():
    for asks in ("params gpt2", "--help"):
        done = subprocess.run(
            ["bash", "-c", f"{shlex.quote(sys.executable)} -m costlib {asks} > /dev/full"],
            env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": ""},
            capture_output=True,
            text=True,
            check=False,
        )
        said = (2, "costlib: nowhere to print to: No space left on device\n")
        assert (done.returncode, done.stderr) == said


def test_numpy_alone_answers_everything():
    lines = [line for line in TYPED if TYPED[line] == 0]
    program = f"""
import sys
for name in ("pandas", "matplotlib", "sympy"):
    sys.modules[name] = None
from costlib.command import main
assert [main(line.split()) for line in {lines!r}] == [0] * {len(lines)}
"""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program],
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "ascii"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_whoever_has_read_enough_may_leave():
    done = subprocess.run(
        [
            "bash",
            "-c",
            f"set -o pipefail; {shlex.quote(sys.executable)} -m costlib models | head -2",
        ],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0
    assert (done.stderr, len(done.stdout.splitlines())) == ("", 2)


#: Words on a line, and what the last of them can become.
COMPLETED = {
    "costlib comp": {"compare", "completion"},
    "costlib gpt2-x": {"gpt2-xl"},
    "costlib params gpt2-x": {"gpt2-xl"},
    "costlib gpt2 --on H100-S": {"H100-SXM"},
    "costlib compare gpt2 --on T4 H100-S": {"H100-SXM"},
    "costlib plan gpt2 --on DGX-H1": {"DGX-H100"},
    "costlib serve gpt2 --wi": {"--within"},
    "costlib serve gpt2 --tt": {"--ttft"},
    "costlib gpt2 --plan pi": {"pipeline=2", "pipeline=4", "pipeline=8"},
    "costlib gpt2 --on T4 --plan tensor = 2,da": {"2,data=2", "2,data=4", "2,data=8"},  # in bash
    "costlib gpt2 --on T4 --batch 1": set(),
    "costlib completion z": {"zsh"},
    "costlib gpt2 gpt2-x": set(),
    "costlib params gpt2 gpt2-x": set(),
    "costlib compare gpt2 gpt2-x": {"gpt2-xl"},
    "costlib devices H20": {"H20", "H200"},
    "costlib gpt2 --precision mxfp": {"mxfp4", "mxfp6", "mxfp8"},
    "costlib measure --qu": {"--quick"},
}


def test_bash_completes_it(tmp_path, capsys):
    (tmp_path / "x.json").touch()
    script = read("completion bash", capsys)
    asked = ("costlib ./x", "costlib params ./x")
    files = {line: {"./x.json"} for line in asked}
    asks = "".join(
        f"COMP_WORDS=({line}); COMP_CWORD={len(line.split()) - 1}; "
        "_costlib; echo ${COMPREPLY[@]}\n"
        for line in COMPLETED | files
    )
    done = subprocess.run(
        ["bash", "-c", script + asks], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    found = [set(line.split()) for line in done.stdout.splitlines()]
    assert found == [*COMPLETED.values(), *files.values()]
    assert done.stderr == ""


def test_help_names_every_command(capsys):
    assert main([]) == 0
    shown = capsys.readouterr().out
    for name in COMMANDS:
        assert re.search(rf"^    {name}\b", shown, re.M), name
        with pytest.raises(SystemExit) as end:
            main([name, "--help"])
        assert end.value.code == 0
        shown += capsys.readouterr().out
    assert max(map(len, shown.splitlines())) <= 80


#: Units as they stand for a value in the help, and in its sentence.
UNITS = {
    "TOKENS": "tokens",
    "SEQUENCES": "sequences",
    "USERS": "users",
    "PLANS": "plans",
    "RANK": "rank",
    "REQUESTS": "requests per second",
    "MILLISECONDS": "milliseconds",
    "MICROSECONDS": "microseconds",
    "DOLLARS": "US dollars an hour",
    "WATTS": "watts",
}
#: What stands for a value that has no unit.
NAMED = "MODEL NAMES SHARE DEVICE DEVICE[xN] NODE[xN] PLAN ENGINE FORMAT RECIPE FILE LOG TEXT"
#: The first words of all options.
VERBS = (
    "add allow charge count divide find generate keep list name prefill print reach read"
    " recompute repeat run show store take time train"
)


def test_every_option_has_a_verb_a_unit_and_a_default():
    seen, wrong = set(), []
    for name, action in options():
        first, default = re.match(r"(\w+)", action.help)[1], action.help.partition("; default: ")[2]
        seen.add(first)
        takes = action.nargs != 0
        known = not takes or action.choices or action.metavar in NAMED.split()
        has_unit = known or UNITS[action.metavar] in action.help
        is_optional = action.option_strings or action.nargs == "?"
        says_k = action.metavar != "TOKENS" or "8k is 8,000" in action.help  # and not 8,192
        is_whole = has_unit and says_k and bool(default) == bool(is_optional)
        if first not in VERBS.split() or not is_whole:
            wrong.append((name, action.help))
        if isinstance(action.default, (int, str)) and action.default and takes:
            assert default == str(action.default), (name, action.dest)
    assert wrong == []
    assert seen == {*VERBS.split()}


def options():
    """What each command takes, but for its help."""
    [commands] = [each for each in parser()._actions if each.dest == "command"]
    for name, command in commands.choices.items():
        for action in command._actions:
            if action.dest != "help":
                yield name, action


#: A key that says its unit, and keys of counts and shares, which have none.
WITH_UNIT = re.compile(
    r".*(_s|_ms|_us|_bytes|_per_token|_per_sequence|_tokens|_per_user|_hour|_device)"
)
COUNTED = (
    "answer batch context params active_params largest_batch largest_context fits parameters share"
    " devices users users_per_copy servers bytes flops mfu bubble printed expected off"
    " tensor context pipeline data expert zero microbatch chunks sequence"
    " flops_share days days_at_best hours device_hours watt_hours usd tokens rank trained_params"
)


@pytest.mark.parametrize("typed", [each for each in TYPED if not each.startswith("completion")])
def test_keys_have_the_unit_of_their_numbers(typed, capsys):
    found = json.loads(read(f"{typed} --json", capsys) or "{}")
    rows = [found.get("asked", {}), found.get("answers", {}), *found.get("rows", [])]
    if typed.startswith("compare"):  # its rows are called by their keys
        rows = [found["asked"], {row["answer"]: [*row.values()][1] for row in found["rows"]}]
    numbers = {key for row in rows for key, value in row.items() if isinstance(value, (int, float))}
    assert {key for key in numbers if not WITH_UNIT.fullmatch(key)} - {*COUNTED.split()} == set()


#: A log for the example; its path has no blank on any machine, as it is relative.
LOG = os.path.relpath(ROOT / "tests" / "data" / "logs" / "vllm-0.12-llama-3.1-8b.log")


def test_examples_of_the_help_run(capsys):
    assert main([]) == 0
    _, examples = capsys.readouterr().out.split("examples:\n")
    for line in examples.strip().splitlines():
        line = line.replace("config.json", "llama-3.1-70b").replace("server.log", LOG)
        name, *words = line.split()
        assert (name, main(words)) == ("costlib", 0), line


def test_memory_is_in_gigabytes_of_a_billion(capsys):
    rows = read("memory llama-3-8b --on H100-SXM --batch 1 --context 8192", capsys).splitlines()
    weights = next(row.split() for row in rows if row.startswith("weights"))
    assert weights == ["weights", "16,060,522,496", "16.06"]
