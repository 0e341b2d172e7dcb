"""A matrix product whose matrices lie cut over devices: what each must send, and what it computes.

C = A·B with A of m by k, B of k by n, C of m by n, each whole on every device or cut along one of
its letters into as many equal slices as there are devices. Devices can

- multiply what they hold, if both agree on k: C comes out cut where A or B was, or, if both are cut
  along k, as one partial sum a device;
- take their own slice of a matrix that is whole, which costs nothing;
- gather a matrix that is cut (all-gather);
- add up partial sums, for everyone (all-reduce) or each device its slice (reduce-scatter);
- cut a result along its other letter (all-to-all).

`ways` lists every sequence of these that leads from one layout to another, with FLOPs and elements
sent by each device; `product` runs one on the counted machine. A along m and B along n is the case
that no local product serves: one of them has to be gathered.

Left out: meshes of several axes (apply it axis by axis), and products cut into steps that overlap
with their messages.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from costlib.layers.matmul import matmul
from costlib.parallel.collectives import (
    pairwise_all_to_all,
    ring_all_gather,
    ring_all_reduce,
    ring_reduce_scatter,
)
from costlib.parallel.machine import Machine, Program
from costlib.units.messages import PHASES
from costlib.units.numbers import choose, divides, exact_div, size

__all__ = ["Layout", "Way", "cheapest", "gradients", "product", "ways"]

Cut = str | None  # the letter that a matrix is cut along, or None if it is whole everywhere


@dataclass(frozen=True, slots=True)
class Layout:
    """How the two factors and the product lie: each a letter, or None for whole on every device.

    >>> Layout(a="m", b=None, c="m")
    Layout(a='m', b=None, c='m')
    >>> Layout(a="n")
    Traceback (most recent call last):
        ...
    ValueError: a must be 'm' or 'k' or None, got 'n'
    """

    a: Cut = None
    b: Cut = None
    c: Cut = None

    def __post_init__(self) -> None:
        for name, letters in {"a": "mk", "b": "kn", "c": "mn"}.items():
            choose(name, getattr(self, name), (*letters, None))


@dataclass(frozen=True, slots=True)
class Way:
    """One way through a layout: collectives in order, and what each device computes and sends."""

    gathers: tuple[str, ...]  #: of "a" and "b", before the product
    cuts: tuple[Cut, Cut]  #: of A and B when they are multiplied
    then: str | None  #: the collective after it
    flops: Any
    sent: Any


def ways(layout: Layout, *, m: Any, k: Any, n: Any, devices: Any) -> list[Way]:
    """Every way, the least FLOPs first, then the least sent.

    >>> for way in ways(Layout("m", "n", "m"), m=8, k=4, n=6, devices=2)[:3]:
    ...     print(way.gathers, way.then, way.flops, way.sent)
    ('b',) None 192 12
    ('a',) all_to_all 192 28
    ('a', 'b') None 192 28
    """
    size("devices", devices)
    sizes = {"m": m, "k": k, "n": n}
    for name, length in sizes.items():
        if not divides(devices, length):
            raise ValueError(f"devices must divide {name}={length}, got {devices}")
    found = [_priced(way, sizes, devices) for way in _ways(layout)]
    return sorted(found, key=lambda way: (way.flops, way.sent))


def cheapest(layout: Layout, *, m: Any, k: Any, n: Any, devices: Any) -> Way:
    """The first of `ways`.

    >>> cheapest(Layout("k", "k", None), m=8, k=4, n=6, devices=2).then
    'all_reduce'
    """
    return ways(layout, m=m, k=k, n=n, devices=devices)[0]


def _ways(layout: Layout) -> Iterator[tuple[tuple[str, ...], Cut, Cut, str | None]]:
    """What may be gathered, how the factors lie then, and the collective that ends it."""
    for gathers in ((), ("a",), ("b",), ("a", "b")):
        cuts = {"a": layout.a, "b": layout.b}
        if any(cuts[which] is None for which in gathers):
            continue
        held = {which: None if which in gathers else cut for which, cut in cuts.items()}
        for a in _slices(held["a"], "mk"):
            for b in _slices(held["b"], "kn"):
                ending = _ending(a, b, layout.c)
                if ending != "no way":
                    yield gathers, a, b, ending


def _slices(cut: Cut, letters: str) -> tuple[Cut, ...]:
    """A matrix that is whole can be taken as any slice of it."""
    return (None, *letters) if cut is None else (cut,)


def _ending(a: Cut, b: Cut, wanted: Cut) -> str | None:
    """The collective that turns the local product into the wanted layout."""
    if "k" in (a, b):
        if a != b:
            return "no way"
        return "all_reduce" if wanted is None else "reduce_scatter"
    if a == "m" and b == "n":
        return "no way"
    made = a or b
    if made == wanted:
        return None
    if made is None:
        return "no way"  # a slice of what everyone has: some other way computes only that slice
    return "all_gather" if wanted is None else "all_to_all"


def _priced(way: Any, sizes: dict[str, Any], devices: Any) -> Way:
    gathers, a, b, then = way
    m, k, n = sizes["m"], sizes["k"], sizes["n"]
    others = devices - 1
    sent = 0
    for which in gathers:
        whole = m * k if which == "a" else k * n
        sent += others * exact_div(whole, devices)
    if then == "all_to_all":  # each device's slice of C, cut into as many pieces again
        sent += others * exact_div(exact_div(m * n, devices), devices)
    elif then:
        sent += PHASES[then] * others * exact_div(m * n, devices)
    cut = a or b
    local = {**sizes, **({cut: exact_div(sizes[cut], devices)} if cut else {})}
    flops = matmul(local["m"], local["k"], local["n"]).flops
    return Way(gathers, (a, b), then, flops, sent)


# -------------------------------------------------------------------------- on the machine


def product(machine: Machine, layout: Layout, way: Way, A: Any, B: Any) -> list[Any]:
    """What each device ends with: its slice of A·B, or all of it.

    >>> machine, layout = Machine(2), Layout("k", "k", None)
    >>> way = cheapest(layout, m=2, k=4, n=2, devices=2)
    >>> A, B = np.arange(8).reshape(2, 4), np.ones((4, 2), int)
    >>> product(machine, layout, way, A, B)[1].tolist(), machine.busiest == way.sent
    ([[6, 6], [22, 22]], True)
    """
    held = [
        (
            _slice(A, layout.a, "mk", rank, machine.devices),
            _slice(B, layout.b, "kn", rank, machine.devices),
        )
        for rank in range(machine.devices)
    ]
    return machine.run(_on_device, held, layout=layout, way=way)


def _on_device(rank: int, devices: int, value: Any, layout: Layout, way: Way) -> Program:
    matrices, letters = dict(zip("ab", value, strict=True)), {"a": "mk", "b": "kn"}
    cuts = {"a": layout.a, "b": layout.b}
    for which in way.gathers:
        axis = letters[which].index(cuts[which] or "")
        matrices[which] = yield from _gathered(rank, devices, matrices[which], axis)
        cuts[which] = None
    for which, wanted in zip("ab", way.cuts, strict=True):
        if cuts[which] is None:
            matrices[which] = _slice(matrices[which], wanted, letters[which], rank, devices)
    local = matrices["a"] @ matrices["b"]
    return (yield from _ended(rank, devices, local, way, layout.c))


def _ended(rank: int, devices: int, local: Any, way: Way, wanted: Cut) -> Program:
    if way.then == "all_reduce":
        return (yield from ring_all_reduce(rank, devices, local))
    if way.then == "all_gather":
        made = way.cuts[0] or way.cuts[1] or ""
        return (yield from _gathered(rank, devices, local, "mn".index(made)))
    if way.then is None:
        return local
    axis = "mn".index(wanted or "")
    pieces = np.split(local, devices, axis)
    flat = np.concatenate([piece.ravel() for piece in pieces])
    if way.then == "reduce_scatter":
        part = yield from ring_reduce_scatter(rank, devices, flat)
        return part.reshape(pieces[0].shape)
    found = yield from pairwise_all_to_all(rank, devices, flat)
    return np.concatenate([p.reshape(pieces[0].shape) for p in np.split(found, devices)], 1 - axis)


def _gathered(rank: int, devices: int, mine: Any, axis: int) -> Program:
    """The whole matrix from everybody's slice."""
    flat = yield from ring_all_gather(rank, devices, mine.ravel())
    return np.concatenate([part.reshape(mine.shape) for part in np.split(flat, devices)], axis)


def _slice(matrix: Any, cut: Cut, letters: str, rank: int, devices: int) -> Any:
    """A device's slice of a matrix; all of it where it is not cut."""
    if cut is None:
        return matrix
    return np.split(matrix, devices, letters.index(cut))[rank]


def gradients(layout: Layout) -> tuple[Layout, Layout]:
    """The backward products of a layout, dA = dC·Bᵀ and dB = Aᵀ·dC, as layouts of their own.

    In dA the letters m, k, n stand for what were m, n, k; in dB for what were k, m, n.

    >>> to_a, to_b = gradients(Layout(a=None, b="n", c="n"))  # a weight cut by columns
    >>> to_a  # the gradient of what came in is a sum over devices
    Layout(a='k', b='k', c=None)
    >>> to_b  # that of the weight is already where it belongs
    Layout(a=None, b='n', c='n')
    """
    to_a = {"m": "m", "n": "k", "k": "n", None: None}
    to_b = {"k": "m", "m": "k", "n": "n", None: None}
    return (
        Layout(to_a[layout.c], to_a[layout.b], to_a[layout.a]),
        Layout(to_b[layout.a], to_b[layout.c], to_b[layout.b]),
    )
