"""How the practice exercises on prediction are checked."""

import math
from functools import cache

import costlib
from costlib import matmul
from costlib.measured import Measurement, calibrate, interval, median_error, published, splits
from costlib.timing.roofline import time
from course import Mistake, Question


def rows_of(device, k):
    """The book's products with one inner length."""
    return [row.measurement for row in published("gemm", device=device, k=k)]


def error_between(device, fit_k, test_k):
    """Median error on one set of products after a fit to another."""
    fitted = calibrate(costlib.devices[device], rows_of(device, fit_k))
    return median_error(rows_of(device, test_k), fitted)


EVEN, ODD = slice(0, None, 2), slice(1, None, 2)


def own_machine(products, seconds, precision, fit, test, datasheet):
    """The error of exercise 8 with other rows fitted, or tested."""
    rows = [
        Measurement(matmul(*shape), s, precision)
        for shape, s in zip(products, seconds, strict=True)
    ]
    known = rows if datasheet is None else rows[datasheet]
    peak = max(row.work.flops / row.seconds for row in known)
    bandwidth = max(row.work.bytes(precision) / row.seconds for row in known)
    own = costlib.Device("own", {precision: peak}, bandwidth)
    return median_error(rows[test], calibrate(own, rows[fit]))


def told(names, short=True):
    """The interval of exercise 5, with the rows of GPT 20B or without; each is found once."""
    return _told(tuple(names), short)


@cache
def _told(names, short):
    [split] = splits("GPT 20B requests")
    rows = [row.measurement for row in split.fit] if short else []
    for name in names:
        rows += [row.measurement for row in published("generate", model=name)]
    return interval(calibrate("A100-80GB", rows), rows, "overhead_per_op")


def factor(low, high):
    """Within which factor an interval tells a constant."""
    return high / low


def line(bytes_a, seconds_a, bytes_b, seconds_b):
    """Fixed seconds and rate of exercise 2."""
    rate = (bytes_b - bytes_a) / (seconds_b - seconds_a)
    return seconds_a - bytes_a / rate, rate


QUESTIONS = [
    Question(
        "bandwidth_reached",
        numbers={
            "model": ["llama-2-7b", "llama-2-13b", "llama-3.1-8b"],
            "context": range(64, 4096),
            "tokens_per_second": [x / 2 for x in range(60, 160)],
            "bytes_per_s": [2.039e12, 3.35e12, 4.8e12],
        },
        hidden=3,
        mistakes=[
            Mistake(
                "per cent for a share",
                lambda model, context, tokens_per_second, bytes_per_s: (
                    100
                    * costlib.models[model].decode(1, context, scores="on-chip").bytes()
                    * tokens_per_second
                    / bytes_per_s
                ),
                "That is in per cent; the function returns the share.",
            ),
            Mistake(
                "two bytes for every parameter",
                lambda model, tokens_per_second, bytes_per_s, **_: (
                    2 * costlib.models[model].params() * tokens_per_second / bytes_per_s
                ),
                "Near. A step reads one row of the embedding, and the cache besides.",
            ),
            Mistake(
                "one byte for a weight",
                lambda model, context, tokens_per_second, bytes_per_s: (
                    costlib.models[model].decode(1, context, scores="on-chip").bytes()
                    * tokens_per_second
                    / bytes_per_s
                    / 2
                ),
                "In 16 bits an element takes two bytes.",
            ),
        ],
    ),
    Question(
        "two_constants",
        numbers={
            "bytes_a": [1e8 * x for x in range(60, 71)],
            "seconds_a": [1e-5 * x for x in range(600, 681)],
            "bytes_b": [1e8 * x for x in range(130, 141)],
            "seconds_b": [1e-5 * x for x in range(900, 981)],
        },
        hidden=3,
        mistakes=[
            Mistake(
                "rate first",
                lambda **s: [*line(**s)][::-1],
                "Both are right. The fixed seconds come first.",
            ),
            Mistake(
                "no fixed time",
                lambda bytes_b, seconds_b, **_: [0, bytes_b / seconds_b],
                "Bytes over seconds of one row leaves nothing for the fixed time.",
            ),
            Mistake(
                "seconds per byte",
                lambda **s: [line(**s)[0], 1 / line(**s)[1]],
                "The first is right. The second is asked for in bytes per second.",
            ),
            Mistake(
                "milliseconds for seconds",
                lambda **s: [1000 * line(**s)[0], line(**s)[1]],
                "The rate is right. The fixed time is asked for in seconds.",
            ),
        ],
    ),
    Question(
        "rows_in_waves",
        numbers={
            "n": range(1024, 16_385, 64),
            "rows": [64, 128, 256],
            "columns": [128, 192, 256],
            "cores": [108, 132, 148],
            "waves": [1, 2, 3, 4],
        },
        hidden=4,
        mistakes=[
            Mistake(
                "by area",
                lambda n, rows, columns, cores, waves: waves * cores * rows * columns // n,
                "So many outputs would fit, but tiles are whole: count rows of tiles.",
            ),
            Mistake(
                "one tile across",
                lambda rows, cores, waves, **_: waves * cores * rows,
                "A row of tiles spans all columns, and takes several tiles.",
            ),
            Mistake(
                "rounded up",
                lambda n, rows, columns, cores, waves: (
                    math.ceil(waves * cores / math.ceil(n / columns)) * rows
                ),
                "The last row of tiles does not fit in whole; round down.",
            ),
            Mistake(
                "tiles for rows",
                lambda n, columns, cores, waves, **_: waves * cores // math.ceil(n / columns),
                "That is how many rows of tiles fit; each has many rows of outputs.",
            ),
        ],
    ),
    Question(
        "calibrated_time",
        numbers={"shape": [[2048, 4096, 4096], [8192, 4096, 4096], [4096, 8192, 4096]]},
        cases=[{"device": "H100-SXM", "seconds": [1.9e-5, 4.2e-5, 8.9e-4]}],
        hidden=2,
        mistakes=[
            Mistake(
                "the datasheet",
                lambda device, shape, **_: time(matmul(*shape), costlib.devices[device]),
                "That is the ideal device; calibrate it to the three times first.",
            ),
            Mistake(
                "in proportion to the last",
                lambda shapes, seconds, shape, **_: (
                    seconds[-1] * math.prod(shape) / math.prod(shapes[-1])
                ),
                "All the rows count, and a launch has a time of its own.",
            ),
            Mistake(
                "microseconds for seconds",
                lambda device, shapes, seconds, shape: (
                    1e6
                    * time(
                        matmul(*shape),
                        calibrate(
                            costlib.devices[device],
                            [(matmul(*s), t) for s, t in zip(shapes, seconds, strict=True)],
                        ),
                    )
                ),
                "The function returns seconds.",
            ),
        ],
    ),
    Question(
        "overhead_told",
        points=2,
        numbers={"names": [["gpt-350m"], ["gpt-6.7b"]]},
        cases=[{"names": []}, {"names": ["gpt-6.7b", "gpt-350m"]}],
        mistakes=[
            Mistake(
                "upside down",
                lambda names: told(names)[0] / told(names)[1],
                "The upper end over the lower one is more than 1.",
            ),
            Mistake(
                "the models alone",
                lambda names: factor(*told(names, short=False)) if names else 0,
                "Keep the fitted rows of GPT 20B, and add those of the models to them.",
            ),
            Mistake(
                "the difference of the ends",
                lambda names: told(names)[1] - told(names)[0],
                "The ratio of the two ends is asked for, not their difference.",
            ),
        ],
    ),
    Question(
        "half_launch_bytes",
        numbers={
            "overhead": [1e-7 * x for x in range(20, 80)],
            "bytes_per_s": [1e10 * x for x in range(100, 400)],
        },
        hidden=3,
        mistakes=[
            Mistake(
                "half of the overhead",
                lambda overhead, bytes_per_s: overhead * bytes_per_s / 2,
                "Half of the whole time is overhead, so the other half is as long as it.",
            ),
            Mistake(
                "twice the overhead",
                lambda overhead, bytes_per_s: 2 * overhead * bytes_per_s,
                "The whole time is twice the overhead, but bytes move in one half of it.",
            ),
            Mistake(
                "elements for bytes",
                lambda overhead, bytes_per_s: overhead * bytes_per_s / 4,
                "The question is for bytes.",
            ),
        ],
    ),
    Question(
        "held_out_error",
        numbers={
            "device": ["A100-80GB", "H100-SXM", "B200"],
            "fit_k": [4096],
            "test_k": [8192],
        },
        cases=[{"fit_k": 8192, "test_k": 4096}, {"device": "H100-SXM"}],
        mistakes=[
            Mistake(
                "the other way round",
                lambda device, fit_k, test_k: error_between(device, test_k, fit_k),
                "Fit to the first inner length, and test on the second.",
            ),
            Mistake(
                "nothing held out",
                lambda device, fit_k, **_: error_between(device, fit_k, fit_k),
                "The error on the rows that were fitted says little; test on the others.",
            ),
            Mistake(
                "tested alone",
                lambda device, test_k, **_: error_between(device, test_k, test_k),
                "Those rows must not be fitted: they are the test.",
            ),
            Mistake(
                "no calibration",
                lambda device, test_k, **_: median_error(
                    rows_of(device, test_k), costlib.devices[device]
                ),
                "That is the datasheet's error; calibrate first.",
            ),
        ],
    ),
    Question(
        "machine_error",
        points=2,
        cases=[
            {
                "products": [[n, n, n] for n in range(256, 2049, 256)],
                "seconds": [2e-4, 2e-4, 1.7e-3, 2.8e-3, 7.4e-3, 9e-3, 2.1e-2, 2.2e-2],
                "precision": "fp32",
            }
        ],
        mistakes=[
            Mistake(
                "the fitted rows tested",
                lambda **s: own_machine(**s, fit=EVEN, test=EVEN, datasheet=EVEN),
                "Test on the odd rows: those that were not fitted.",
            ),
            Mistake(
                "odd and even swapped",
                lambda **s: own_machine(**s, fit=ODD, test=EVEN, datasheet=ODD),
                "Fit on the even rows, counted from 0, and test on the odd ones.",
            ),
            Mistake(
                "all rows fitted",
                lambda **s: own_machine(**s, fit=slice(None), test=ODD, datasheet=None),
                "The odd rows must not be fitted: they are the test.",
            ),
            Mistake(
                "rates of the tested rows",
                lambda **s: own_machine(**s, fit=EVEN, test=ODD, datasheet=None),
                "The best rates are those of the even rows: the odd ones are the test.",
            ),
        ],
    ),
]

#: What is right for the statement's numbers, apart from the solutions: by arithmetic where a line
#: is enough, recorded where it is not.
ANSWERS = {
    "bandwidth_reached": 0.6832993424,
    "two_constants": [0.00643 - 6.67e9 * 0.0031 / 6.61e9, 6.61e9 / 0.0031],
    "rows_in_waves": 132 // (4096 // 256) * 128,
    "calibrated_time": 0.0005804230905,
    "overhead_told": 2.3023784600,
    "half_launch_bytes": 4.41e-6 * 1.694409e12,
    "held_out_error": 0.1373756556,
    "machine_error": 0.0666442851,
}
