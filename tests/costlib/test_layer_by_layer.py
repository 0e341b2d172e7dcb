"""A pass cut where the layers begin: what its layers do is what the model does."""

from __future__ import annotations

from typing import Any

import pytest

import sampling
from costlib import Ledger, Transformer, layers, models
from costlib.layers.parts import OPTIONS
from costlib.model.layer_by_layer import CALLED, layer_by_layer
from costlib.parallel import tensor_parallel
from costlib.parallel.model_parallel import degrees


def by_name(ledger: Ledger) -> dict[Any, list[Any]]:
    """Of every op of a ledger FLOPs, runs and elements by kind, those of one name added up."""
    found: dict[Any, list[Any]] = {}
    for op in ledger:
        moved = [op.elements_read, op.elements_written, op.elements_sent]
        kinds = [getattr(each, kind) for each in moved for kind in each.__slots__]
        values = [op.flops, op.count, op.rounds, *kinds]
        known = found.setdefault((op.name, op.axis, op.is_matmul), [0] * len(values))
        found[op.name, op.axis, op.is_matmul] = [a + b for a, b in zip(known, values, strict=True)]
    return found


def added_up(model: Transformer, *sizes: int, **options: Any) -> dict[Any, list[Any]]:
    passed = layer_by_layer(model, *sizes, **options)
    assert len(passed) == model.layers + 2
    return by_name(Ledger(tuple(op for each in passed for op in each.work)))


def same(layered: dict[Any, list[Any]], whole: dict[Any, list[Any]]) -> bool:
    """Whether both have the same ops, as large; experts met on average are fractions."""
    return {*layered} == {*whole} and all(
        layered[op] == pytest.approx(values, rel=1e-12) for op, values in whole.items()
    )


@pytest.mark.parametrize("name", sampling.some([*models], 50, "layers"))
def test_layers_add_up_to_the_pass(name: str) -> None:
    """Every op of every model of the catalogue, of a step and of a prompt's chunk."""
    model = models[name]
    for sizes in ((16, model.learned_positions or 70_000), (2, 300, 7)):
        assert same(added_up(model, *sizes), by_name(model.decode(*sizes))), sizes


def test_no_layer_is_told_beyond_learned_positions() -> None:
    with pytest.raises(ValueError, match="at most 1,024 tokens"):
        layer_by_layer("gpt2", 1, 1025)


def test_layers_add_up_with_each_option() -> None:
    model = models["deepseek-v2-lite"]
    for name, values in OPTIONS.items():
        for value in values:
            whole = model.decode(3, 500, 2, **{name: value})
            assert same(added_up(model, 3, 500, 2, **{name: value}), by_name(whole)), value


@pytest.mark.parametrize("name", ["llama-3.1-70b", "command-r-35b", "gemma-2-9b", "mixtral-8x7b"])
def test_messages_stand_where_they_are_sent(name: str) -> None:
    model = models[name]
    for devices in degrees(model)[1:]:
        share = tensor_parallel(model, devices)
        assert same(added_up(share, 4, 999), by_name(share.decode(4, 999)))
        layer = layer_by_layer(share, 4, 999)[1].work
        sent = [at for at, op in enumerate(layer) if op.axis]
        assert len(sent) == (1 if model.parallel else 2)
        assert layer.names[sent[0] - 1] == ("ffn.down" if model.parallel else "o_proj")


def test_bytes_of_packed_layers_add_up() -> None:
    """A step of the whole model reads what its layers read, each as its checkpoint packs it."""
    packed = {name: model for name, model in models.items() if model.own is not None}
    for name in sampling.some([*packed], 12, "packed layers"):
        layered = sum(each.work.bytes() for each in layer_by_layer(packed[name], 1, 4096))
        assert layered == pytest.approx(packed[name].decode(1, 4096).bytes(), rel=1e-9), name


def test_layers_that_are_packed_differently_read_other_bytes() -> None:
    """Some state-space layers of this checkpoint stay in 16 bits."""
    passed = layer_by_layer(models["nemotron-3-nano-30b-a3b-nvfp4"], 1, 0)
    alike = [each.work for each in passed if each.parts == ("state space",)]
    assert len({work.elements for work in alike}) == 1
    assert len({work.bytes() for work in alike}) == 2


def test_steps_of_a_layer_stand_in_the_order_of_its_parts() -> None:
    [_, layer, *_] = layer_by_layer(models["llama-3-8b"], 1, 1000)
    assert layer.parts == ("attention", "feed-forward")
    assert layer.work.names == (
        *("norms", "q_proj", "k_proj", "v_proj", "rotary", "scores", "softmax", "values"),
        *("o_proj", "residual", "norms", "ffn.gate", "ffn.up", "ffn.activation", "ffn.down"),
        "residual",
    )
    [_, layer, *_] = layer_by_layer(models["command-r-35b"], 1, 1000)
    assert layer.work.names.count("norms") == 1
    assert layer.work.names[-1] == "residual"


def test_every_kind_of_layer_has_a_name() -> None:
    bases = {"Attending", "Part"}
    kinds = {name for name in layers.__all__ if name not in bases and is_part(name)}
    assert kinds == set(CALLED)


def is_part(name: str) -> bool:
    kind = getattr(layers, name)
    return isinstance(kind, type) and issubclass(kind, layers.Part)
