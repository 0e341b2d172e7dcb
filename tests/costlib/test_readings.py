# ruff: noqa: ARG005  (every formula takes the same three sizes)
"""One formula, many readings: arrays and symbols say what ints say, on random sizes."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sampling
from costlib import Device, attention, linear, symbols
from costlib.layers.attention import attention_backward, keys_read, latent_attention, pairs
from costlib.layers.matmul import exact as exact_product
from costlib.layers.matmul import linear_backward, matmul_backward
from costlib.model.kvcache import cached_tokens, kv_elements, largest_batch, largest_context, memory
from costlib.model.transformer import MLA, MoE, Transformer, experts_bound, experts_expected
from costlib.parallel import all_reduce, bubble, optimizer_memory, tensor_parallel
from costlib.serving import Server
from costlib.timing import roofline
from costlib.training import activations, flops_per_token, state_bytes, training_memory
from costlib.units.messages import collective

pytestmark = pytest.mark.slow

EXPERTS = Transformer(
    layers=4,
    d_model=24,
    heads=6,
    d_ff=32,
    vocab=50,
    moe=MoE(experts=5, per_token=2, width=9, dense_layers=1),
)
LATENT = Transformer(
    layers=2,
    d_model=24,
    heads=6,
    d_ff=32,
    vocab=50,
    mla=MLA(kv_rank=8, nope_dim=4, rope_dim=2, value_dim=3),
)
MIXED = Transformer(
    layers=4,
    d_model=24,
    heads=6,
    d_ff=32,
    vocab=50,
    kv_heads=2,
    window=5,
    local_layers=3,
    biases=("qkv", "ffn"),
)
TOY = Device("toy", {"bf16": 10**14}, 10**12)
PIPED = Server(MIXED, TOY.with_(interconnect=10**10), tensor=2, pipeline=2)
MLA_SIZES = {"kv_rank": 8, "nope_dim": 4, "rope_dim": 2, "value_dim": 3}


def model(L, D, H, F, V):
    return Transformer(layers=L, d_model=D * H, heads=H, d_ff=F, vocab=V)


#: Every public formula as a function of sizes a, b, c (and c never below b, for contexts).
FORMULAS = {
    "exact products": lambda a, b, c: exact_product(a, b, c).total,
    "linear": lambda a, b, c: linear(a, b, c, bias=True),
    "linear backward": lambda a, b, c: linear_backward(a, b, c, bias=True),
    "matmul backward": lambda a, b, c: matmul_backward(a, b, c),
    "roofline time": lambda a, b, c: roofline.time(MIXED.decode(a, c, b), TOY),
    "pairs": lambda a, b, c: pairs(b, b + c, causal=True),
    "pairs in a window": lambda a, b, c: pairs(b, b + c, window=a),
    "pairs computed": lambda a, b, c: pairs(b, b + c, window=a, masked="computed"),
    "keys read": lambda a, b, c: keys_read(b, b + c, a),
    "attention": lambda a, b, c: attention(a, b, 4, c, kv_heads=2, causal=True),
    "attention in a window": lambda a, b, c: attention(a, b, 4, 8, context=b + c, window=c),
    "attention backward": lambda a, b, c: attention_backward(a, b, c, 8, scores="on-chip"),
    "naive latents": lambda a, b, c: latent_attention(a, b, c, **MLA_SIZES),
    "absorbed latents": lambda a, b, c: latent_attention(a, b, c, **MLA_SIZES, form="absorbed"),
    "expected experts": lambda a, b, c: experts_expected(a + b, a, c),
    "bound on experts": lambda a, b, c: experts_bound(a + b, a, c),
    "parameters": lambda a, b, c: model(a, b, 4, c, 50).params(),
    "prefill": lambda a, b, c: MIXED.prefill(a, b, logits="last"),
    "prefill of any model": lambda a, b, c: model(2, b, a, c, 50).prefill(3, 4),
    "prefill with experts": lambda a, b, c: EXPERTS.prefill(a, b),
    "decode": lambda a, b, c: MIXED.decode(a, c, b),
    "decode with experts": lambda a, b, c: EXPERTS.decode(a, c, b, experts="bound"),
    "decode with latents": lambda a, b, c: LATENT.decode(a, c, b, mla="absorbed"),
    "decode steps": lambda a, b, c: MIXED.decode_steps(a, c, b),
    "generation": lambda a, b, c: LATENT.generate(a, c, b),
    "training step": lambda a, b, c: EXPERTS.training_step(a, b, recompute="full"),
    "cached tokens": lambda a, b, c: cached_tokens(a, b),
    "cache": lambda a, b, c: kv_elements(MIXED, a, c),
    "memory": lambda a, b, c: memory(MIXED, a, c, new=b, scores="materialised").total,
    "training memory": lambda a, b, c: training_memory(MIXED, a, c, scores="materialised").total,
    "activations": lambda a, b, c: activations(
        EXPERTS, a, 4 * c, tensor=2, sequence=True, recompute="full", dropout=True
    ).bytes(),
    "state": lambda a, b, c: state_bytes(model(a, b, 4, c, 50), "muon").total,
    "FLOPs a token": lambda a, b, c: flops_per_token(MIXED, 4 * c, "palm"),
    "largest batch": lambda a, b, c: largest_batch(MIXED, 10**4 * a + c, b).largest,
    "largest context": lambda a, b, c: largest_context(MIXED, 10**4 * b + c, a).largest,
    "share": lambda a, b, c: tensor_parallel(MIXED, 2).decode(a, c, b),
    "all-reduce": lambda a, b, c: all_reduce(a * c, b),
    "bubble": lambda a, b, c: bubble(a, b),
    "tensor messages": lambda a, b, c: tensor_parallel(MIXED, 2).prefill(a, b).sends,
    "two tiers": lambda a, b, c: (
        collective("reduce_scatter", c, inside=a, across=b, axis="data").sends
    ),
    "step of a pipeline": lambda a, b, c: PIPED.step(a, c, b),
    "optimizer memory": lambda a, b, c: optimizer_memory(MIXED, data=a, zero=2).total,
}


@pytest.fixture(scope="module")
def dask():
    """The library, loaded where a test needs it: that takes a second."""
    import dask.array

    return dask


@pytest.fixture(scope="module")
def jax():
    """As above."""
    import jax

    jax.config.update("jax_enable_x64", True)  # counts pass 2**31
    return jax


def numbers(result):
    """What a formula gave, as a list of numbers."""
    if not hasattr(result, "ops"):
        return [result]
    of_ops = [n for op in result.ops for n in (op.flops, op.reads, op.writes, op.count)]
    return [*of_ops, result.flops, result.bytes()]


SIZES = st.tuples(st.integers(1, 40), st.integers(1, 40), st.integers(1, 400))


@pytest.mark.parametrize("name", FORMULAS)
@settings(max_examples=sampling.number(8, 15))
@given(points=st.lists(SIZES, min_size=1, max_size=4))
def test_numpy_says_what_ints_say(name, points):
    columns = [np.array(column) for column in zip(*points, strict=True)]
    swept = numbers(FORMULAS[name](*columns))
    one_by_one = [numbers(FORMULAS[name](*point)) for point in points]
    for column, value in enumerate(swept):
        expected = [float(row[column]) for row in one_by_one]
        np.testing.assert_allclose(
            np.broadcast_to(np.asarray(value, dtype=float), len(points)), expected, rtol=1e-12
        )


_SYMBOLIC: dict = {}


@pytest.mark.parametrize("name", sampling.some([*FORMULAS], 6, "symbols"))
@settings(max_examples=4)
@given(point=SIZES)
def test_symbols_say_what_ints_say(name, point):
    letters = symbols("a b c")
    if name not in _SYMBOLIC:
        _SYMBOLIC[name] = numbers(FORMULAS[name](*letters))
    values = dict(zip(letters, point, strict=True))
    for formula, exact in zip(_SYMBOLIC[name], numbers(FORMULAS[name](*point)), strict=True):
        value = formula.subs(values) if hasattr(formula, "subs") else formula
        assert float(value) == pytest.approx(float(exact), rel=1e-12)


@pytest.mark.parametrize("name", FORMULAS)
def test_ints_stay_exact_ints(name):
    fractions = {
        "roofline time",
        "step of a pipeline",
        "expected experts",
        "bubble",
        "prefill with experts",
        "training step",
    }
    results = numbers(FORMULAS[name](3, 5, 10**20))
    if name not in fractions:
        assert {type(value) for value in results} == {int}
    assert all(value >= 0 for value in results)


@pytest.mark.parametrize("name", sampling.some([*FORMULAS], 6, "dask"))
def test_dask_arrays_stay_lazy_and_say_what_ints_say(name, dask):
    columns = [dask.array.from_array(np.array([value])) for value in (3, 7, 90)]
    values = numbers(FORMULAS[name](*columns))
    assert any(isinstance(value, dask.array.Array) for value in values)
    for value, exact in zip(dask.compute(*values), numbers(FORMULAS[name](3, 7, 90)), strict=True):
        assert float(np.ravel(value)[0]) == pytest.approx(exact, rel=1e-12)


@pytest.mark.parametrize("name", sampling.some([*FORMULAS], 6, "jax"))
def test_jax_arrays_say_what_ints_say_also_while_traced(name, jax):
    """The trace is run op by op: to compile it is XLA's part, and ten times the work."""
    columns = [jax.numpy.asarray([value]) for value in (3, 7, 90)]
    trace = jax.make_jaxpr(lambda *sizes: numbers(FORMULAS[name](*sizes)))(*columns)
    traced = jax.core.eval_jaxpr(trace.jaxpr, trace.consts, *columns)
    for value, exact in zip(traced, numbers(FORMULAS[name](3, 7, 90)), strict=True):
        assert float(np.ravel(value)[0]) == pytest.approx(exact, rel=1e-12)


def test_jax_compiles_a_step(jax):
    step = jax.jit(lambda batch, context: numbers(MIXED.decode(batch, context)))
    for value, exact in zip(step(3, 90), numbers(MIXED.decode(3, 90)), strict=True):
        assert float(value) == exact


def test_jax_differentiates_a_cost(jax):
    """Each token of context is read by every layer's attention: the slope is a formula too."""
    model, context = MIXED.with_(window=None, local_layers=0), symbols("T")
    slope = jax.grad(lambda context: model.decode(3, context).flops)(50.0)
    assert float(slope) == pytest.approx(float(model.decode(3, context).flops.diff(context)))


def test_the_textbook_formula_comes_out():
    B, S, D, H, F, V, L = symbols("B S D H F V L")
    import sympy

    llama = Transformer(layers=L, d_model=D, heads=H, d_ff=F, vocab=V)
    matmuls = sympy.expand(llama.prefill(B, S, masked="computed").matmul_flops)
    textbook = 2 * B * S * L * (4 * D**2 + 3 * D * F) + 4 * B * L * S**2 * D + 2 * B * S * D * V
    assert sympy.simplify(matmuls - textbook) == 0
    parameters = L * (4 * D**2 + 3 * D * F + 2 * D) + D + 2 * D * V
    assert sympy.simplify(llama.params() - parameters) == 0


def test_model_sizes_can_be_arrays_of_any_shapes_that_broadcast():
    layers, widths = np.array([[2], [3]]), np.array([[64, 128, 256]])
    parameters = Transformer(layers=layers, d_model=widths, heads=4, d_ff=256, vocab=1000).params()
    assert parameters.shape == (2, 3)
    assert (
        parameters[1, 2]
        == Transformer(layers=3, d_model=256, heads=4, d_ff=256, vocab=1000).params()
    )
    assert Transformer(
        layers=layers, d_model=widths, heads=4, d_ff=256, vocab=1000
    ).params().shape == (2, 3)  # asked twice
