"""What fewer bits of weights buy a full server: room, and throughput where memory ends it."""

import pytest

from costlib import answer
from costlib.command import main
from costlib.serving import Server, regimes, room_gain

CASES = [
    ("llama-3.1-70b", "H100-SXMx2", 1000, 4.35),
    ("llama-3.1-70b", "H100-SXMx2", 8192, 8.45),
    ("llama-3.1-70b", "H100-SXMx4", 8192, 1.54),
    ("llama-3.1-8b", "H100-SXM", 8192, 1.18),
    ("llama-3.1-8b", "H100-SXM", 1000, 1.0),
]


@pytest.mark.parametrize(("model", "device", "context", "gain"), CASES)
def test_room_pays_where_memory_ends_the_batch(model, device, context, gain):
    server = Server(model, device)
    found = room_gain(server, context)
    assert found.gain == pytest.approx(gain, abs=0.02)
    assert found.before == server.room(context + 1)
    assert regimes(server, context).ends_in == ("memory" if gain > 1.01 else "arithmetic")


def test_the_bytes_saved_hold_the_sequences_gained():
    server = Server("llama-3.1-70b", "H100-SXM", tensor=2)
    found = room_gain(server, 1000)
    share = server.share
    saved = share.params() * (2 - 0.515625)
    each = share.kv_bytes(1, 1001)
    assert found.after - found.before == pytest.approx(saved / each, rel=0.02)


def test_weights_that_do_not_fit_gain_everything():
    found = room_gain(Server("qwen3-14b", "RTX-4090"), 1000)
    assert (found.before, found.throughput_before) == (0, 0.0)
    assert found.gain == float("inf")


def test_answers_say_what_a_full_server_writes():
    found = answer("llama-3.1-70b", "H100-SXMx2", context=1000)
    assert round(found["full_batch_output_tokens_per_s"]) == 1745
    assert round(found["int4_full_batch_output_tokens_per_s"]) == 7584
    assert "int4_full_batch_output_tokens_per_s" not in answer("gpt-oss-20b", "H100-SXM").plain()


def test_full_is_what_the_lines_say():
    lines = regimes(Server("llama-3.1-8b", "H100-SXM"), 1000)
    assert lines.full == pytest.approx(465 / lines.step(465))


def test_the_command_says_what_room_would_bring(capsys):
    words = "serve llama-3.1-70b --on H100-SXMx2 --prompt 900 --answer 100 --why"
    assert main(words.split()) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "weights in int4 would leave room for 360" in told
