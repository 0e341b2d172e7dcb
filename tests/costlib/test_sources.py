"""The five sources, to the last printed digit; then each against the book's own ledger."""

from importlib import import_module
from types import SimpleNamespace

import numpy as np
import pytest
import sympy

from costlib.model.catalog import models
from costlib.model.transformer import Transformer
from costlib.sources import deepml, jamesnulliu, printed, reconcile, saha_ye, sparq, suresh
from costlib.timing.roofline import time
from costlib.units.ledger import Ledger, Op
from costlib.units.precision import Precision

# ---------------------------------------------------------------- as published


@pytest.mark.parametrize("source", ["deepml", "sparq", "suresh", "saha-ye", "jamesnulliu"])
def test_every_figure_is_what_the_source_prints(source):
    for each in printed(source):
        assert each.computed == each.printed, each.what


def test_deepml_moves_nothing_at_size_zero_and_scales_with_the_element():
    assert deepml.answer(1, 2, 0, 4) == (0, 0, 0.0)
    assert deepml.answer(1, 2, 1, 4, e=4) == (640, 340, 0.5312)
    assert deepml.SOFTMAX_FLOPS == 5


@pytest.mark.parametrize("name", sparq.HARDWARE)
def test_no_overlap_over_a_step_is_sparqs_sum_of_four_times(name):
    device = sparq.HARDWARE[name]
    step = sparq.step(16, 4096, n_layers=32, d=4096, V=32000, g=4)
    four = sum(sparq.latency(step, device).values())
    assert time(
        step, device, precision="fp16", overlap="none", granularity="step"
    ) == pytest.approx(four, rel=1e-14)


def test_sparq_rounds_its_cache_down_and_may_leave_out_the_vocabulary():
    assert sparq.kv_elements(1, 1, 1, 5, 3) == 3  # 10 / 3
    assert sparq.kv_elements(2, 1000, 40, 5120, 8) == 2 * 40 * 2 * 1000 * 640
    step = sparq.step(3, 7, n_layers=2, d=8)
    assert step["model"].flops == 2 * 3 * 2 * 12 * 64
    assert step["model"].reads == 2 * 12 * 64
    assert sparq.step(3, 7, n_layers=2, d=8)["attention"].flops == 2 * 3 * 2 * 2 * 7 * 8  # g = 1
    assert sparq.kv_elements(3, 7, 2, 8) == step["attention"].reads
    assert {name: each.flops_per_s["fp16"] for name, each in sparq.HARDWARE.items()} == {
        "A10": 125e12,
        "A100": 312e12,
    }
    assert sparq.LLAMA_2_7B == {"n_layers": 32, "d": 4096, "V": 32000, "g": 1}
    assert list(sparq.PUBLISHED) == [(1, 1024), (1, 128000)]
    assert (sparq.HARDWARE["A10"].bytes_per_s, sparq.HARDWARE["A10"].capacity) == (6e11, 24e9)
    assert (sparq.HARDWARE["A100"].bytes_per_s, sparq.HARDWARE["A100"].capacity) == (1560e9, 40e9)


def test_suresh_worked_example_and_attention():
    assert suresh.exact_product(2, 3, 4) == 40
    assert suresh.product(2, 3, 4) == 48
    d, h, V = sympy.symbols("d h V", positive=True, integer=True)
    assert suresh.attention(d, h).flops == 4 * d + 2 * d * h
    block = suresh.forward(1, d, V)
    assert block["q, k, v"].flops == 6 * d**2
    assert block["output projection"].flops == 2 * d**2
    assert block["ffn"].flops == 16 * d**2
    L = sympy.Symbol("L", positive=True, integer=True)
    assert suresh.forward(L, d, V).reads == 12 * L * d**2  # the weights of the blocks
    assert sympy.expand(block.flops - 24 * d**2 - 2 * d**2 * V) == 0


def test_suresh_corrected():
    corrected = [suresh.corrected_forward(row.L, row.d, row.V).flops for row in suresh.PUBLISHED]
    assert [f"{flops / 1e9:.2f}" for flops in corrected[:1]] == ["3.11"]
    assert [f"{flops / 1e9:.1f}" for flops in corrected[1:]] == ["13.9", "815.9"]
    too_large = [
        suresh.forward(row.L, row.d, row.V).flops / flops
        for row, flops in zip(suresh.PUBLISHED, corrected, strict=True)
    ]
    assert [round(ratio) for ratio in too_large] == [84, 309, 85]
    smaller = [
        suresh.kv_bytes(row.L, row.d)
        // suresh.corrected_kv_bytes(row.L, row.d, row.heads, row.kv_heads)
        for row in suresh.PUBLISHED
    ]
    assert smaller == [1, 4, 16]
    assert suresh.corrected_attention(4096, 7).flops == 4 * 4096 * 7
    assert [row.V for row in suresh.PUBLISHED] == [50257, 128000, 128000]


def test_suresh_rtx_3060_story():
    peak = suresh.RTX_3060_AS_PUBLISHED
    assert round(peak / 4.307e12) == 23
    assert round(9e9 / suresh.kv_bytes(48, 1600), -4) == 30_000
    assert round(peak / suresh.corrected_forward(32, 4096, 128000).flops, -2) == 7200
    assert int(360e9 / 16e9) == 22
    assert round(30_000 / 1024) == 29


def test_saha_ye_regimes():
    N, d = 4096, 128
    assert saha_ye.standard(N) == N**2
    for M in (d**2, 4 * d**2):  # large cache: FlashAttention is optimal
        assert saha_ye.flash(N, d, M) <= saha_ye.small_cache(N, d, M)
    for M in (d, d**2 // 4):  # small cache: it is not, and quadratic I/O is necessary
        assert N**2 <= saha_ye.small_cache(N, d, M) < saha_ye.flash(N, d, M)
    assert saha_ye.flash(N, d, N * d) == N * d  # the size of the output
    assert saha_ye.parts(N, d, 2048) * 2048 == saha_ye.flash(N, d, 2048)


def test_saha_ye_hierarchy():
    assert saha_ye.HIERARCHY["on chip"] == (19e12, 20e6)
    assert saha_ye.HIERARCHY["HBM"] == (1.5e12, 40e9)
    assert saha_ye.HIERARCHY["host"] == (12.8e9, 1e12)


def test_jamesnulliu_formulas_and_balance():
    B, S, S_i, S_c, H, N, Z = sympy.symbols("B S S_i S_c H N Z", positive=True, integer=True)
    prefill = jamesnulliu.prefill(B, S, H, N, Z)
    assert sympy.expand(prefill.flops - N * (24 * B * S * H**2 + 4 * B * S**2 * H)) == 0
    assert sympy.expand(prefill.bytes() - 2 * Z * 10**9 - 4 * N * B * S * H) == 0
    decode = jamesnulliu.decode(B, S_i, S_c, H, N, Z)
    assert sympy.expand(decode.flops - N * (24 * B * S_i * H**2 + 4 * B * S_i * S_c * H)) == 0
    published = 2 * Z * 10**9 + 8 * N * B * S_i * H + 2 * N * B * S_c * H
    assert sympy.expand(decode.bytes() - published) == 0
    assert round(jamesnulliu.A100.ridge("fp16")) == 153
    assert (jamesnulliu.A100.flops_per_s["fp16"], jamesnulliu.A100.bytes_per_s) == (312e12, 2039e9)


def test_jamesnulliu_corrected():
    B, S_i, S_c, H, N, Z = sympy.symbols("B S_i S_c H N Z", positive=True, integer=True)
    decode = jamesnulliu.decode(B, S_i, S_c, H, N, Z)
    corrected = jamesnulliu.corrected_decode(B, S_i, S_c, H, N, Z)
    assert sympy.expand(corrected.bytes() - decode.bytes() - 2 * N * B * S_c * H) == 0
    extra = 4 * N * B * H * S_i * (S_i + 1) / 2
    assert sympy.expand(corrected.flops - decode.flops - extra) == 0
    far = dict(jamesnulliu.LLAMA_7B) | {"B": 1, "S_i": 1, "S_c": 10**9}
    ratio = jamesnulliu.decode(**far).intensity() / jamesnulliu.corrected_decode(**far).intensity()
    assert ratio == pytest.approx(2, rel=1e-3)  # up to twice too high


def test_jamesnulliu_split_divides_the_square():
    sizes = dict(jamesnulliu.LLAMA_7B) | {"B": 2, "S": 512}
    whole = jamesnulliu.prefill(**sizes)
    published = jamesnulliu.split(**sizes, gpus=8)
    corrected = jamesnulliu.corrected_split(**sizes, gpus=8)
    assert published["ffn"].flops * 64 == whole["ffn"].flops
    assert corrected.flops * 8 == whole.flops
    assert published["weights"].bytes() * 8 == corrected["weights"].bytes() * 8 == 14e9
    assert corrected["activations"].bytes() == whole["activations"].bytes()
    assert (
        jamesnulliu.all_reduce_bytes(2, 512, 4096, 32, 8) == 2 * 32 * (7 / 4) * 2 * 512 * 4096 * 2
    )


# ---------------------------------------------------------------- in every reading

CALLS = [
    (lambda *x: deepml.layer(*x).bytes(), 4),
    (lambda *x: deepml.layer(*x).flops, 4),
    (lambda B, S, n, d: sparq.step(B, S, n, d, V=d, g=1).bytes(), 4),
    (lambda B, S, n, d: sparq.step(B, S, n, d, V=d, g=1).flops, 4),
    (lambda *x: suresh.forward(*x).flops, 3),
    (lambda *x: suresh.corrected_forward(*x).flops, 3),
    (lambda *x: suresh.attention(*x).flops, 2),
    (suresh.kv_bytes, 3),
    (suresh.exact_product, 3),
    (saha_ye.flash, 3),
    (saha_ye.small_cache, 3),
    (lambda *x: jamesnulliu.prefill(*x).intensity(), 5),
    (lambda *x: jamesnulliu.decode(*x).intensity(), 6),
    (lambda *x: jamesnulliu.corrected_decode(*x).intensity(), 6),
    (jamesnulliu.all_reduce_bytes, 5),
]


@pytest.mark.parametrize(("call", "arity"), CALLS)
def test_arrays_and_symbols_agree_with_ints(call, arity):
    values = [[3, 40, 7, 64, 5, 9][i % 6] for i in range(arity)]
    exact = float(call(*values))
    arrays = call(*(np.array([[value], [1]]) for value in values))
    assert arrays[0, 0] == pytest.approx(exact, rel=1e-12)
    names = sympy.symbols(f"a:{arity}", positive=True, integer=True)
    formula = call(*names)
    assert float(formula.subs(dict(zip(names, values, strict=True)))) == pytest.approx(
        exact, rel=1e-12
    )


@pytest.mark.parametrize(("call", "arity"), CALLS)
def test_integer_arrays_do_not_wrap(call, arity):
    values = [10**6 + i for i in range(arity)]  # costs far beyond 2**63
    swept = call(*(np.array([value]) for value in values))
    assert swept[0] == pytest.approx(float(call(*values)), rel=1e-12)


def test_deepml_answers_in_arrays_and_symbols():
    moved, flops, intensity = deepml.answer(*(np.array([2, 3]) for _ in range(4)))
    assert intensity.tolist() == [deepml.answer(*[n] * 4)[2] for n in (2, 3)]
    B, S, H, D = sympy.symbols("B S H D", positive=True, integer=True)
    moved, flops, intensity = deepml.answer(B, S, H, D)
    assert sympy.simplify(intensity - flops / moved) == 0


# ---------------------------------------------------------------- against the book's ledger

ATTENTION = {"B": 2, "S": 96, "H": 8, "D": 64}
LLAMA = {"layers": 32, "d_model": 4096, "heads": 32, "d_ff": 11008, "vocab": 32000, "kv_heads": 8}
PLACES = {
    "deepml": ("deepml", {}, ATTENTION),
    "saha-ye, standard": ("saha-ye", {}, {"N": 512, "d": 64}),
    "saha-ye, flash": ("saha-ye", {}, {"N": 512, "d": 64, "M": 4096}),
    "sparq": ("sparq", LLAMA, {"B": 3, "S": 1024}),
    "suresh": ("suresh", LLAMA, {"T": 1000}),
    "jamesnulliu, prefill": ("jamesnulliu", LLAMA, {"B": 2, "Z": 7, "S": 512}),
    "jamesnulliu, decode": ("jamesnulliu", LLAMA, {"B": 2, "Z": 7, "S_i": 3, "S_c": 512}),
}


@pytest.fixture(params=PLACES)
def place(request):
    source, shape, sizes = PLACES[request.param]
    return source, [Transformer(**shape)] if shape else [], sizes


def test_the_terms_sum_to_the_difference_in_ints(place):
    source, model, sizes = place
    for quantity, found in reconcile(source, *model, **sizes).items():
        assert found.difference != 0 or source == "deepml", quantity
        assert found.difference == sum(found.terms.values())
        assert list(found.terms) == [
            reason for reason, _ in _module(source).REASONS[quantity] if reason in found.terms
        ]
        published, ledger, precision = _module(source).sides(*model, **sizes)
        totals = [
            side.flops if quantity == "flops" else side.bytes(precision)
            for side in (published, ledger)
        ]
        assert [found.published, found.ledger] == totals


@pytest.mark.parametrize("key", PLACES)
def test_the_terms_sum_to_the_difference_in_symbols(key):
    source, shape, sizes = PLACES[key]
    values = {sympy.Symbol(name, positive=True, integer=True): sizes[name] for name in sizes}
    model = []
    if shape:  # widths are products, so that heads and groups divide them
        h, K, g, L, F, V = sympy.symbols("h K g layers d_ff vocab", positive=True, integer=True)
        values |= {h: 128, K: 8, g: 4, L: 32, F: 11008, V: 32000}
        model = [Transformer(layers=L, d_model=K * g * h, heads=K * g, d_ff=F, vocab=V, kv_heads=K)]
    real = [Transformer(**shape)] if shape else []
    numbers = reconcile(source, *real, **sizes)
    letters = {str(symbol): symbol for symbol in values if str(symbol) in sizes}
    for quantity, found in reconcile(source, *model, **letters).items():
        assert sympy.simplify(found.difference - sum(found.terms.values())) == 0
        for reason, term in found.terms.items():
            value = sympy.sympify(term).subs(values)
            assert value == sympy.Rational(numbers[quantity].terms[reason]), reason


def test_the_terms_sum_to_the_difference_in_arrays(place):
    source, model, sizes = place
    [first, *_] = sizes
    swept = sizes | {first: np.array([1, sizes[first]])}
    numbers = reconcile(source, *model, **sizes)
    for quantity, found in reconcile(source, *model, **swept).items():
        total = sum(found.terms.values())
        assert np.broadcast_to(found.difference, 2) == pytest.approx(np.broadcast_to(total, 2))
        assert np.broadcast_to(found.ledger, 2)[1] == pytest.approx(numbers[quantity].ledger)


@pytest.mark.parametrize("name", ["gpt2-xl", "mixtral-8x7b", "gemma-2-2b", "qwen3-8b", "opt-6.7b"])
def test_real_models_reconcile_exactly(name):
    for source, sizes in (
        ("sparq", {"B": 4, "S": 1000}),
        ("suresh", {"T": 1000}),
        ("jamesnulliu", {"B": 4, "Z": 8, "S": 1000}),
    ):
        for found in reconcile(source, models[name], **sizes).values():
            assert found.difference == pytest.approx(sum(found.terms.values()), rel=1e-12)


def test_each_term_is_what_its_reason_says():
    B, S, H, D = ATTENTION.values()
    [fused, *rest] = reconcile("deepml", **ATTENTION)["bytes"].terms.values()
    assert fused == -2 * B * S * H * D * 2  # two reads fewer, 2 bytes each
    assert rest == [0, 0]
    assert set(reconcile("deepml", **ATTENTION)["flops"].terms.values()) == {0}

    llama, n, d, V, g, F = Transformer(**LLAMA), 32, 4096, 32000, 4, 11008
    flops, moved = (found.terms for found in reconcile("sparq", llama, B=3, S=1024).values())
    assert flops["the new token attends to itself too"] == -4 * 3 * n * d
    per_layer = 12 * d**2 - (2 * d**2 + 2 * d**2 // g + 3 * d * F)
    assert flops["12·d² instead of a layer's real weights"] == 2 * 3 * n * per_layer
    assert moved["the whole embedding table, of which B rows are read"] == 2 * d * (V - 3)
    norms = (2 * n + 1) * d
    assert moved["12·d² instead of a layer's real weights and norms"] == 2 * (n * per_layer - norms)
    assert moved["writes of the new token's K and V, left out"] == -2 * 3 * n * 2 * d // g

    terms = reconcile("suresh", llama, T=1000)["flops"].terms
    assert terms["final layer: d²·V instead of d·V"] == 2 * d * V * (d - 1)
    assert terms["q, k, v: full width instead of the real KV heads"] == 32 * (6 - 3) * d**2
    assert terms["16·d² instead of the real feed-forward layer"] == 32 * (16 * d**2 - 6 * d * F)

    N = 512
    terms = reconcile("saha-ye", N=N, d=64)["entries"].terms
    assert list(terms.values()) == [0, -2 * N**2, -(N**2), -4 * N * 64]
    terms = reconcile("saha-ye", N=N, d=64, M=4096)["entries"].terms
    assert list(terms.values()) == [N**2 * 64**2 / 4096, -4 * N * 64]

    decode = reconcile("jamesnulliu", llama, B=2, Z=7, S_i=3, S_c=512)
    terms = decode["bytes"].terms
    assert terms["one read for cached K and V, none for new ones"] == 2 * 32 * 2 * (
        d * 512 - 2 * (d // 4) * (512 + 3)
    )
    assert terms["prefill: writes of new K and V, left out"] == 2 * 32 * 2 * 3 * 2 * (d - d // 4)
    own_pairs = 3 * 4 // 2
    assert (
        decode["flops"].terms[
            "prefill: masked pairs are counted; decode: the new tokens' own pairs are not"
        ]
        == -4 * 32 * 2 * 4096 * own_pairs
    )


def test_the_published_side_is_the_source_itself():
    llama = Transformer(**LLAMA)
    published, ledger, _ = jamesnulliu.sides(llama, B=2, Z=7, S_c=512)
    assert published == jamesnulliu.decode(2, 1, 512, 4096, 32, 7)
    assert ledger.flops == llama.decode(2, 512, 1).flops
    published, _, _ = sparq.sides(Transformer(**LLAMA), B=3, S=100)
    whole = sparq.step(3, 100, n_layers=32, d=4096, V=32000, g=4)
    assert (published.flops, published.bytes()) == (whole.flops, whole.bytes())


def test_a_cost_that_no_reason_claims_is_an_error():
    source = SimpleNamespace(
        sides=lambda: (Ledger((Op("new", 1),)), Ledger(), Precision()),
        REASONS={"flops": (("old", "old flops"),)},
    )
    with pytest.raises(LookupError, match="no reason claims 'new flops', so the source does"):
        reconcile(source)
    with pytest.raises(ValueError, match="give S for prefill or S_c"):
        jamesnulliu.sides(Transformer(**LLAMA), 1, 7)


def _module(source):
    return import_module(f"costlib.sources.{source.replace('-', '_')}")
