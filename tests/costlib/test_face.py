"""What a user meets first: the names there are, the words of an error, the types a checker sees."""

from __future__ import annotations

import ast
import inspect
import sys

import numpy as np
import pytest

import costlib
from costfigures.matmul import matmul_intensity
from costlib import Device, Elements, Ledger, Op, Precision, devices, matmul, models, time
from costlib.parallel import Cluster, Plan, search
from costlib.timing.roofline import DoesNotFit, fits, limits, table
from costlib.training import activations
from costlib.units.display import latex
from costlib.units.precision import RECIPES, precision_of

TOY = Device("toy", {"bf16": 100e12, "fp8": 200e12}, 1e12, capacity=10**10, interconnect=1e11)
A_NODE = Cluster("DGX-H100", per_node=1)


def test_dir_shows_what_a_user_needs_and_nothing_else():
    names = set(dir(costlib))
    assert names == {*costlib.__all__, "__version__"}
    assert {"Transformer", "Device", "models", "devices", "time", "sweep", "Precision"} <= names
    assert not {"import_module", "Any", "TYPE_CHECKING", "numbers", "display"} & names
    for name in costlib.__all__:
        assert getattr(costlib, name).__doc__, name
    with pytest.raises(AttributeError, match="no attribute 'Transfomer'"):
        _ = costlib.Transfomer


def test_a_type_checker_sees_every_name_that_is_imported_later() -> None:
    tree = ast.parse(inspect.getsource(costlib))
    [seen] = [node for node in tree.body if isinstance(node, ast.If) and node.orelse == []][:1]
    names = {alias.name for node in ast.walk(seen) for alias in getattr(node, "names", ())}
    assert ast.unparse(seen.test) == "TYPE_CHECKING"
    assert names == {*costlib._MODULES, *costlib._LATER}


def test_a_name_will_do_where_a_device_is_meant():
    work = matmul(64, 4096, 4096)
    assert time(work, "H200") == time(work, devices["H200"])
    assert limits(work, "H200")[0].compute == "bf16"
    with pytest.raises(KeyError, match="no device named 'H2000'; the nearest is H200"):
        time(work, "H2000")


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (lambda: time(models["gpt2"], TOY), TypeError, "work must be a Ledger or an Op, such as"),
        (lambda: time(matmul(1, 2, 3), 7), TypeError, "device must be a Device or the name of one"),
        (lambda: Device("x", 100e12, 1e12), TypeError, r"flops_per_s must name .* \{'bf16': 1e"),
        (lambda: time(matmul(1, 2, 3), TOY, precision="fp4"), ValueError, "one of fp32, tf32,"),
        (lambda: time(matmul(1, 2, 3), TOY, precision=8), TypeError, "Precision or one of .* 8"),
        (
            lambda: time(matmul(1, 2, 3), TOY, precision="int8"),
            ValueError,
            "toy has no peak rate for 'int8'; it has bf16, fp8",
        ),
        (lambda: Device("x", {"bf16": np.array([1e12, np.nan])}, 1e12), ValueError, "flops_per_s"),
        (lambda: Device("x", {"bf16": 1e12}, -1e12), ValueError, "bytes_per_s must be between"),
        (lambda: Precision(weights=np.array([2, -1])), ValueError, "weights must be a positive"),
        (lambda: Precision(compute=8), TypeError, "compute must be a number format"),
        (lambda: Plan(dp=64), TypeError, r"^Plan has no dp: did you mean data\?$"),
        (lambda: TOY.with_(capcity=1), TypeError, "Device has no capcity: did you mean capacity"),
        (lambda: Precision(q=4), TypeError, "Precision has no q: it has weights, activations"),
        (lambda: Op("x", 0, elements_sent=Elements(kv=1)), ValueError, "name the axis"),
        (
            lambda: time(
                Op("x", 0, elements_sent=Elements(kv=1), axis="tensor"),
                TOY.with_(interconnect=None),
            ),
            ValueError,
            "toy has no interconnect",
        ),
        (lambda: fits(Ledger(()), TOY), ValueError, "only a whole pass"),
    ],
)
def test_an_error_names_what_is_wrong_and_what_would_be_right(call, kind, message):
    with pytest.raises(kind, match=message):
        call()


def test_figures_of_a_device_cannot_wrap():
    hurried = TOY.with_(overhead_per_op=np.int8(1), bytes_per_s=np.int32(2**31 - 1))
    assert time(Op("nothing", 0, count=200), hurried) == 200
    assert hurried.memory_rate * 4 > 2**32


@pytest.mark.parametrize("name", RECIPES)
def test_a_precision_sets_the_bytes_and_the_rate(name):
    """No recipe computes in 8 bits while 16 move, or the other way round, unless it says so."""
    recipe = precision_of(name)
    bytes_of = {
        "fp32": 4,
        "tf32": 4,
        "bf16": 2,
        "fp16": 2,
        "fp8": 1,
        "int8": 1,
        "fp6": 0.75,
        "fp4": 0.5,
        None: 2,
    }[recipe.compute]
    assert bytes_of <= recipe.activations < 1.2 * bytes_of
    assert recipe.weights < 1.2 * bytes_of


def test_bits_of_the_formats():
    """Elements, and the scales that their groups share, as each format's specification has them."""
    bits = {
        "mxfp4": 4 + 8 / 32,
        "nvfp4": 4 + 8 / 16,
        "mxfp8": 8 + 8 / 32,
        "int4": 4 + 16 / 128,
        "nf4": 4 + 8 / 64 + 32 / (64 * 256),
    }
    for name, expected in bits.items():
        assert precision_of(name).weights * 8 == expected, name


def test_an_old_gpu_computes_in_the_sixteen_bits_it_has():
    work = matmul(4096, 4096, 4096)
    assert time(work, "T4") == time(work, "T4", precision="fp16")
    assert limits(work, "T4")[0].compute == "fp16"
    assert limits(work, TOY, "fp8")[0].compute == "fp8"


def test_what_does_not_fit_says_so_with_both_numbers():
    large = models["llama-2-70b"].decode(1, 4096)
    with pytest.warns(DoesNotFit, match=r"holds 139\.\d GB .*RTX-4090 has 23\.2 GB of usable"):
        seconds = time(large, "RTX-4090")
    assert time(large, "RTX-4090", too_large="ignore") == seconds
    with pytest.raises(ValueError, match="holds"):
        time(large, "RTX-4090", too_large="error")
    assert not fits(large, "RTX-4090")
    assert fits(large, "RTX-4090", "int4") is False
    assert fits(large, "A100-80GB", "int4")
    time(large["q_proj"], "RTX-4090")  # a part of a pass holds nothing that is known


def test_messages_are_in_the_table_and_in_the_time():
    sent = Op("all_reduce", 0, count=3, elements_sent=Elements(activations=10**6), axis="tensor")
    work = matmul(1000, 1000, 1000) + sent
    slow = TOY.with_(overhead_per_message=1e-5, overhead_per_op=1e-6)
    expected = time(work[0], slow) + 3e-5 + 2e6 / 1e11
    assert time(work, slow) == pytest.approx(expected)
    assert work.table()["sends"].tolist() == [0, 10**6, 10**6]
    assert table(work, slow)["sending_time"].tolist() == pytest.approx([0, 2e-5, 2e-5])


def test_what_a_notebook_shows_of_a_model_a_device_and_a_plan():
    model, device = costlib.models["mixtral-8x7b"], costlib.devices["H100-SXM"]
    plan = costlib.parallel.Plan(data=8).on(
        "gpt2", costlib.parallel.Cluster("DGX-H100"), batch=64, seq=1024
    )
    assert f"<td>{model.active_params():,}</td>" in model._repr_html_()
    assert f"<td>{device.ridge():.4g} FLOP a byte</td>" in device._repr_html_()
    assert f"<td>{plan.mfu:.1%}</td>" in plan._repr_html_()
    rate = costlib.symbols("beta")
    assert device.with_(bytes_per_s=rate)._repr_html_() is None
    widths = costlib.Transformer(
        layers=2, d_model=costlib.symbols("D"), heads=4, d_ff=8, vocab=10, head_dim=2
    )
    assert widths._repr_html_() is None


@pytest.mark.parametrize(
    ("missing", "extra", "call"),
    [
        ("pandas", "tables", lambda: costlib.sweep("gpt2", "T4", batch=1, context=1)),
        ("pandas", "tables", lambda: (matmul(1, 1, 1) + matmul(1, 1, 1)).table()),
        ("pandas", "tables", lambda: table(matmul(1, 1, 1), TOY)),
        ("pandas", "tables", lambda: activations(models["gpt2"], 1, 8).table()),
        ("pandas", "tables", lambda: Plan().on("gpt2", A_NODE, batch=8, seq=8).table()),
        ("pandas", "tables", lambda: search("gpt2", A_NODE, batch=8, seq=8)),
        ("sympy", "symbols", lambda: costlib.symbols("m")),
        ("sympy", "symbols", lambda: latex(1)),
        ("matplotlib", "figures", lambda: matmul_intensity({"a": 100})),
    ],
)
def test_what_is_missing_says_how_to_get_it(monkeypatch, missing, extra, call):
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(ModuleNotFoundError, match=missing) as found:
        call()
    assert str(found.value) == f'this needs {missing}: pip install "costlib[{extra}]"'
