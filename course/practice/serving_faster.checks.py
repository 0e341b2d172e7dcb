"""How the practice exercises of the chapter on serving faster are checked."""

import math

from course import Mistake, Question
from course.practice import serving_faster_ways as ways

MANY = [[200 + 50 * (i % 7), 20 + 15 * (i % 4)] for i in range(30)]

QUESTIONS = [
    Question(
        "read_again",
        numbers={
            "prompt": range(3001, 30_000, 10),
            "chunk": [256, 512, 1024],
            "bytes_per_token": [36_864, 131_072],
        },
        hidden=3,
        mistakes=[
            Mistake(
                "chunks rounded down",
                lambda **of: ways.again(**of, up=False),
                "The last chunk may be short, and it reads all before it too.",
            ),
            Mistake(
                "the chunk itself too",
                lambda **of: ways.again(**of, terms=lambda n: n * (n + 1) // 2),
                "The tokens of the chunk itself are read once in any case.",
            ),
            Mistake(
                "no half",
                lambda **of: ways.again(**of, terms=lambda n: n * (n - 1)),
                "0 + 1 + 2 + ... up to n − 1 is half of n·(n − 1).",
            ),
            Mistake(
                "each chunk reads the one before it",
                lambda **of: ways.again(**of, terms=lambda n: n - 1),
                "A chunk attends to all tokens before it, not only to the last chunk.",
            ),
        ],
    ),
    Question(
        "prefill_servers",
        numbers={
            "prompt_ms": range(20, 300, 7),
            "steps": range(50, 500, 7),
            "step_ms": range(10, 40),
            "batch": range(32, 200, 3),
            "decode_servers": range(2, 9),
        },
        hidden=3,
        mistakes=[
            Mistake(
                "one at a time",
                lambda **of: ways.prefilling(**{**of, "batch": 1}),
                "A decode server completes a whole batch in the time of one answer.",
            ),
            Mistake(
                "rounded down",
                lambda **of: ways.prefilling(**of, rounded=math.floor),
                "Round up: with fewer servers decode has to wait.",
            ),
            Mistake(
                "for one decode server",
                lambda **of: ways.prefilling(**{**of, "decode_servers": 1}),
                "All decode servers have to be kept busy.",
            ),
            Mistake(
                "rounded for each decode server",
                lambda decode_servers, **of: (
                    decode_servers * ways.prefilling(**of, decode_servers=1)
                ),
                "Prefill servers serve all decode servers, so round up once, at the end.",
            ),
        ],
    ),
    Question(
        "bits_and_rows",
        numbers={
            "weights": [8e9, 32e9, 120e9],
            "bits": [3, 4, 6],
            "group": [16, 64, 128],
            "scale_bits": [8, 16],
            "tera_flops": [312, 989, 2250],
            "tera_bytes": [2.04, 3.35, 8.0],
        },
        hidden=3,
        mistakes=[
            Mistake(
                "no scales",
                lambda bits, **of: ways.bent(bits=bits, each=bits / 8, **of),
                "Every group also stores its scale.",
            ),
            Mistake(
                "a scale for each weight",
                lambda bits, scale_bits, **of: ways.bent(
                    bits=bits, scale_bits=scale_bits, each=(bits + scale_bits) / 8, **of
                ),
                "A whole group shares one scale.",
            ),
            Mistake(
                "one FLOP a weight",
                lambda **of: ways.bent(half=1, **of),
                "A multiply-add is 2 FLOPs, so that half as many rows are needed.",
            ),
            Mistake(
                "16-bit weights at the ridge",
                lambda **of: ways.bent(**of) | {"rows": of["tera_flops"] / of["tera_bytes"]},
                "The arithmetic is in 16 bits, the bytes that are read are not.",
            ),
        ],
    ),
    Question(
        "last_batch",
        numbers={
            "kept": [0.6, 0.7, 0.75],
            "drafts": [2, 3, 5],
            "weights": range(3000, 9000, 10),
            "cache": range(3, 10),
            "arithmetic": range(14, 30),
        },
        cases=[
            {"kept": 0.9, "drafts": 3, "weights": 4480, "cache": 100, "arithmetic": 14},
        ],
        hidden=4,
        mistakes=[
            Mistake(
                "drafts alone",
                lambda **of: ways.drafted(own=0, **of),
                "The check adds a token of the large model.",
            ),
            Mistake(
                "not the token itself",
                lambda **of: ways.drafted(checked=0, **of),
                "One token more than the drafts goes through the check.",
            ),
            Mistake(
                "caches forgotten",
                lambda **of: ways.drafted(**{**of, "cache": 0}),
                "Plain steps read each cache once a token, a check once for all of its tokens.",
            ),
            Mistake(
                "caches of the check alone",
                lambda **of: ways.drafted(shared=False, **of),
                "The plain steps that a check replaces read the caches too.",
            ),
        ],
    ),
    Question(
        "expert_rows",
        numbers={
            "experts": [64, 128, 256],
            "per_token": [2, 4, 6],
            "tera_flops": [989, 1979, 4500],
            "tera_bytes": [3.35, 4.8, 8.0],
            "bytes_per_weight": [0.5, 1, 2],
        },
        hidden=3,
        mistakes=[
            Mistake(
                "all experts",
                lambda **of: ways.bends(**of, ratio=of["experts"]),
                "Each token uses several experts, so that each sees more of them.",
            ),
            Mistake(
                "the wrong way",
                lambda **of: ways.bends(**of, ratio=of["per_token"] / of["experts"]),
                "An expert sees fewer tokens than there are: it takes more of them.",
            ),
            Mistake(
                "one FLOP a weight",
                lambda **of: ways.bends(**of, half=1),
                "A multiply-add is 2 FLOPs, so that half as many rows are needed.",
            ),
        ],
    ),
    Question(
        "cache_outgrows",
        numbers={
            "heads": [16, 32, 64],
            "key_dim": [64, 128, 192],
            "value_dim": [128, 256],
            "kv_heads": [2, 4, 8],
            "head_dim": [64, 128],
            "state_bytes": [2, 4],
            "cache_bytes": [1, 2],
        },
        hidden=3,
        mistakes=[
            Mistake(
                "keys alone",
                lambda **of: ways.outgrown(**of, kept=1),
                "A token leaves a key and a value.",
            ),
            Mistake(
                "one head's state",
                lambda **of: ways.outgrown(**{**of, "heads": 1}),
                "Every head has a state of its own.",
            ),
            Mistake(
                "not more yet",
                lambda **of: ways.outgrown(**of, more=0),
                "There the cache takes at most as many bytes; one token later it takes more.",
            ),
            Mistake(
                "elements for bytes",
                lambda **of: ways.outgrown(**{**of, "state_bytes": 1, "cache_bytes": 1}),
                "State and cache may have elements of different sizes.",
            ),
        ],
    ),
    Question(
        "useful_devices",
        numbers={
            "layers": [32, 61, 96],
            "wait_us": [1, 5, 12],
            "gigabytes": [16, 70, 140],
            "tera_bytes": [3.35, 4.8, 8],
        },
        hidden=3,
        mistakes=[
            Mistake(
                "one all-reduce per layer",
                lambda **of: 2 * ways.devices_of(**of),
                "Each layer has two all-reduces, one after attention and one after the MLP.",
            ),
            Mistake(
                "one wait in each layer",
                lambda **of: 4 * ways.devices_of(**of),
                "Two all-reduces with two messages each make four waits.",
            ),
            Mistake(
                "the wrong way",
                lambda **of: 1 / ways.devices_of(**of),
                "More devices help as long as the part that they divide is the longer one.",
            ),
        ],
    ),
    Question(
        "cut_by_tokens",
        numbers={
            "free": [30e9, 48e9, 75e9],
            "kv_bytes": [31_104, 70_272],
            "context": [32_768, 100_001, 131_071],
            "dcp": [4, 8, 16],
            "layers": [27, 61],
            "wait_us": [2, 5, 11],
            "bytes_per_s": [3.35e12, 4.8e12],
        },
        cases=[{"context": 13, "dcp": 8}],
        hidden=3,
        mistakes=[
            Mistake(
                "one message per layer",
                lambda **of: ways.by_tokens(**of, sent=1),
                "Queries and sums are gathered and outputs are scattered: three messages a layer.",
            ),
            Mistake(
                "every device keeps all tokens",
                lambda **of: [ways.by_tokens(**{**of, "dcp": 1})[0], ways.by_tokens(**of)[1]],
                "With DCP a device keeps only its share of the tokens of each cache.",
            ),
        ],
    ),
    Question(
        "two_all_reduces",
        numbers={
            "batch": [1, 5, 16, 40],
            "d_model": [4096, 5120, 8192],
            "devices": [4, 8, 16],
            "wait_us": [1, 3, 8],
            "gb_per_s": [300, 450, 900],
        },
        hidden=3,
        mistakes=[
            Mistake(
                "one byte a number",
                lambda **of: ways.reduced(**of, each=1),
                "Activations in 16 bits have 2 bytes each.",
            ),
            Mistake(
                "half of two-shot",
                lambda **of: ways.reduced(**of, two=1),
                "Two-shot is a reduce-scatter and an all-gather; each sends (G − 1)/G of a vector.",
            ),
            Mistake(
                "two-shot waits as often as a ring",
                lambda **of: ways.reduced(**of, waits=2 * (of["devices"] - 1)),
                "Through a switch each phase is one round, so two-shot waits twice.",
            ),
        ],
    ),
    Question(
        "server_split",
        numbers={
            "servers": [8, 12, 16],
            "prefill_ms": [40, 68, 150],
            "busy": [0.4, 0.5, 0.7],
            "weights_us": [4480, 5200],
            "each_us": [30, 47],
            "itl_ms": [8, 10, 15],
            "steps": [499, 799, 1499],
        },
        cases=[{"servers": 2}, {"servers": 4, "prefill_ms": 1000}],
        hidden=4,
        mistakes=[
            Mistake(
                "prefill always busy",
                lambda **of: ways.divided(**of, whole=False),
                "To hold the target for TTFT, prefill servers may be busy only a part of the time.",
            ),
            Mistake(
                "the sum of both",
                lambda **of: ways.divided(**of, both=lambda a, b: a + b),
                "A request needs both kinds of servers, so the slower kind sets the rate.",
            ),
            Mistake(
                "one sequence at a time",
                lambda **of: ways.divided(**of, one=True),
                "A decode server serves as many sequences as the target for ITL allows.",
            ),
        ],
    ),
    Question(
        "copies_needed",
        numbers={
            "tokens": [
                [900, 310, 205, 150, 120, 110, 115, 90],
                [500, 480, 300, 40, 35, 30, 25, 20, 15, 10, 9, 8],
                [820, 400, 270, 205, 160, 135, 118, 100],
            ],
            "devices": [4, 8],
            "limit": [0.5, 0.7, 0.9],
        },
        cases=[{"tokens": [10, 10, 10, 10], "devices": 2, "limit": 0.5}],
        hidden=3,
        mistakes=[
            Mistake(
                "the first ones too",
                lambda **of: ways.copied(**of, before=1),
                "A copy is what is added: each expert was there once before.",
            ),
            Mistake(
                "the mean of an expert",
                lambda **of: ways.copied(**of, mean=lambda tokens: sum(tokens) / len(tokens)),
                "The mean load is that of a device, which holds several experts.",
            ),
            Mistake(
                "copies bring tokens",
                lambda **of: ways.copied(**of, grows=True),
                "Copies divide the tokens of an expert, and add none.",
            ),
        ],
    ),
    Question(
        "overlap_gain",
        numbers={
            "batch": range(100, 400, 2),
            "weights": range(3001, 9000, 70),
            "each": range(20, 80, 3),
            "sent": range(90, 260, 7),
        },
        cases=[{"batch": 400, "weights": 1000, "each": 10, "sent": 100}],
        hidden=4,
        mistakes=[
            Mistake(
                "weights read once",
                lambda **of: ways.overlapped(**of, reads=1),
                "Each half computes a whole pass, so each half reads the weights.",
            ),
            Mistake(
                "nothing hidden",
                lambda **of: ways.overlapped(**of, longer=lambda a, b: a + b),
                "While one half computes, the messages of the other are under way.",
            ),
            Mistake(
                "all hidden",
                lambda **of: ways.overlapped(**of, longer=min),
                "Each half takes the longer of its two times.",
            ),
        ],
    ),
    Question(
        "indexer_pays_from",
        numbers={
            "batch": [2, 4, 32],
            "latent": [576, 1152],
            "key": [132, 256],
            "chosen": [1024, 2048],
            "weights": range(3_000_000, 20_000_000, 999_999),
        },
        cases=[{"batch": 4, "latent": 1000, "key": 500, "chosen": 1000, "weights": 2_000_000}],
        hidden=3,
        mistakes=[
            Mistake(
                "weights for each sequence",
                lambda **of: ways.indexed(**of, shared=False),
                "All sequences of the batch share one read of the indexer's weights.",
            ),
            Mistake(
                "no weights",
                lambda **of: ways.indexed(**{**of, "weights": 0}),
                "The indexer has weights of its own, and a step reads them.",
            ),
        ],
    ),
    Question(
        "mtp_drafts",
        numbers={
            "accepted": [
                [0.9, 0.75, 0.6, 0.35, 0.2],
                [0.85, 0.8, 0.7, 0.6],
                [0.95, 0.9, 0.8, 0.7, 0.5, 0.3],
            ],
            "cost": [0.05, 0.1, 0.15],
        },
        cases=[{"accepted": [0.3, 0.1], "cost": 0.5}],
        hidden=3,
        mistakes=[
            Mistake(
                "drafts alone",
                lambda **of: ways.drafts_of(**of, own=0),
                "A check also yields a token of the large model itself.",
            ),
            Mistake(
                "positions on their own",
                lambda **of: ways.drafts_of(**of, chained=False),
                "A draft counts only if all drafts before it were accepted.",
            ),
            Mistake(
                "one draft's cost",
                lambda **of: ways.drafts_of(**of, drafts=lambda _: 1),
                "Every draft costs its share of a step.",
            ),
        ],
    ),
    Question(
        "serve_chunked",
        points=2,
        cases=[
            {"requests": MANY, "slots": 8, "chunk": 128},
            {"requests": MANY, "slots": 3, "chunk": 100},
            {"requests": [[10, 2]], "slots": 1, "chunk": 512},
            {"requests": [[900, 20], [400, 30], [77, 5]], "slots": 2, "chunk": 50},
        ],
        mistakes=[
            Mistake(
                "whole prompts",
                lambda **of: ways.chunked(**{**of, "chunk": 10**9}),
                "A pass contains at most one chunk of a prompt.",
            ),
            Mistake(
                "no limit",
                lambda **of: ways.chunked(**{**of, "slots": 10**9}),
                "At most this many sequences are in decode at once.",
            ),
            Mistake(
                "one step too many",
                lambda **of: ways.chunked(late=1, **of),
                "The last chunk produces the first token, and later passes produce the others.",
            ),
            Mistake(
                "every pass counts",
                lambda **of: ways.chunked(alone=True, **of),
                "ITL is the time of a pass with a sequence in decode.",
            ),
        ],
    ),
]

#: What is right for the statement's numbers, apart from the solutions: by arithmetic where a line
#: is enough, recorded where it is not.
ANSWERS = {
    "read_again": 1024 * 45 * 131_072,
    "prefill_servers": math.ceil(3 * 100 * 68 / (199 * 21)),
    "bits_and_rows": {"gigabytes": 70 * 4.25 / 8, "rows": 989 / 3.35 * 4.25 / 16},
    "last_batch": math.floor(3.3616 * 4480 / (5 * 14 - 2.3616 * 9)),
    "expert_rows": {"published": 1979 / 6.7, "right": 1979 / 6.7 * 32, "ratio": 32},
    "cache_outgrows": 513,
    "useful_devices": 140e9 / 3.35e12 / (320 * 3e-6),
    "cut_by_tokens": [41, (131_072 - 16_384) * 70_272 / 4.8e6 - 915],
    "two_all_reduces": {
        "one_shot": 1 + 7 * 131_072 / 450e3,
        "two_shot": 2 + 1.75 * 131_072 / 450e3,
        "equal_at": 450e3 / (5.25 * 16_384),
    },
    "server_split": [6, 6 * 0.5 / 0.068],
    "copies_needed": [2, 0.6],
    "overlap_gain": {"gain": (9000 + 230 * 128) / (190 * 128), "pays_from": 48},
    "indexer_pays_from": 1 + (14_000_000 + 2048 * 1152) // 1020,
    "mtp_drafts": [3, (1 + 0.9 + 0.675 + 0.405) / 1.24],
    "serve_chunked": {"ttft": 70786, "itl": 5567, "last": 88958},
}

APART = {
    "cut_by_tokens": ways.cut_token_by_token,
    "two_all_reduces": ways.both_rounds,
    "server_split": ways.division_by_trying,
    "overlap_gain": ways.overlap_by_trying,
    "indexer_pays_from": ways.indexer_token_by_token,
    "mtp_drafts": ways.drafts_by_reach,
    "expert_rows": ways.reads_of_an_expert,
    "read_again": ways.read_chunk_by_chunk,
    "prefill_servers": ways.servers_until_enough,
    "last_batch": ways.last_batch_by_halving,
    "cache_outgrows": ways.outgrown_token_by_token,
    "useful_devices": ways.devices_by_halving,
}

#: On an edge, where a student's rounding may differ: for the solutions alone.
EDGES = {
    "last_batch": [
        {"kept": 0.5, "drafts": 1, "cache": 40, "arithmetic": 10},
        {"kept": 0.5, "drafts": 1, "cache": 39, "arithmetic": 10},
    ]
}
