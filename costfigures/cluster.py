"""Drawn diagrams of many devices: a ring at work, and a mesh folded over the nodes of a cluster."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from costfigures.canvas import COLOURS, Figure
from costfigures.sketch import WIDTH, Lanes, Point, Sketch, sketch
from costlib.model.catalog import Node
from costlib.model.transformer import Transformer
from costlib.parallel import ALGORITHMS, Machine, two_tier_sent
from costlib.units.display import quantity

# ------------------------------------------------------------------------------------ a ring

_PART, _APART = 12.0, 17.0  #: the side of a part, and the gap that an arrow crosses
_SHADES = ("22", "44", "66", "88")

_Round = tuple[Any, dict[int, int]]  #: terms by device and part; which part each device sent


def ring_rounds() -> Figure:
    """Every round of a ring all-reduce of four devices, from what the counted machine's held.

    >>> ring_rounds().title
    'Ring: 3 rounds add up, 3 pass on, and each device sends 1.5 times its tensor'
    """
    devices = 4
    rounds = _followed(devices)
    half = len(rounds) // 2
    sent = sum(len(parts) for _, parts in rounds) / devices**2
    title = f"Ring: {half} rounds add up, {half} pass on, "
    title += f"and each device sends {sent:g} times its tensor"
    alt = (
        f"{devices} devices at the corners of a square hold {devices} parts each, squares with the "
        f"number of devices added up in them, if more than its own. In each of {half} rounds every "
        f"device sends one part along an arrow to the next, which adds its own: after them "
        f"each holds one part with all {devices}. In {half} more rounds these go round, and in the "
        f"end every square says {devices}. Parts sent: "
        + "; ".join(
            f"round {n}: " + ", ".join(f"device {d} part {p}" for d, p in sorted(parts.items()))
            for n, (_, parts) in enumerate(rounds)
            if n
        )
        + "."
    )
    wide, tall = WIDTH / 3, 96.0
    with sketch(title, alt, height=3 * tall - 6) as drawing:
        for number, (terms, parts) in enumerate(rounds):
            row, column = (0, 0) if not number else divmod(number + 2, 3)
            corner = (column * wide, row * tall)
            name = f"round {number}" if number else "at first"
            drawing.text((corner[0] + 54, corner[1] + 8), name, align="middle", bold=True)
            _ring(drawing, (corner[0], corner[1] + 18), terms, parts)
        words = (
            "A strip is a device, and its squares\nare parts of its tensor. A number says\n"
            "how many devices are added up in a\npart after the round, if several are.\n"
            "Framed parts go along the arrows."
        )
        drawing.text((wide + 6, 50), words)
    return drawing.result


def _followed(devices: int) -> list[_Round]:
    """For each round: terms in every device's parts before it sends, and which part it sends.

    Device r's value of part j is one bit of its own, so that a sum tells what was added up.
    """
    machine = Machine(devices, keep=True)
    bits = 1 << np.arange(devices**2).reshape(devices, devices)  # [part, device]
    machine.run(ALGORITHMS["ring all-reduce"].program, list(bits.T))
    terms = np.ones((devices, devices), int)  # [device, part]
    rounds: list[_Round] = [(terms.copy(), {})]
    for messages in machine.messages:
        sent = {}
        for (sender, receiver), payload in messages.items():
            total = int(np.ravel(payload)[0])
            part = (total.bit_length() - 1) // devices
            count = total.bit_count()
            terms[receiver, part] = count if count == devices else count + 1
            sent[sender] = part
        rounds.append((terms.copy(), sent))
    return rounds


def _ring(drawing: Sketch, corner: Point, terms: Any, sent: dict[int, int]) -> None:
    """Four strips of parts at the corners of a square, and arrows from each sender to the next."""
    devices = len(terms)
    strip, (left, top) = devices * _PART, corner
    across, down = strip + 14.0, _PART + _APART + 6
    places = [(left, top), (left + across, top), (left + across, top + down), (left, top + down)]
    for device, (x, y) in enumerate(places):
        for count in range(1, devices + 1):
            colour = COLOURS[2] if count == devices else COLOURS[0]
            cells = [(0, part) for part in range(devices) if terms[device, part] == count]
            drawing.fill((x, y), cells, _PART, colour + _SHADES[count - 1])
        words = {(0, part): count for part, count in enumerate(terms[device]) if count > 1}
        drawing.grid((x, y), 1, devices, _PART, COLOURS[0], [], line=0.5, words=words)
    for device, part in sent.items():  # above all squares
        x, y = places[device]
        place = (x + part * _PART + 1, y + 1)
        drawing.box(place, _PART - 2, _PART - 2, edge=COLOURS[1], line=2)
    middle, low = top + _PART / 2, top + down
    ends: tuple[tuple[Point, Point], ...] = (
        ((left + strip + 1, middle), (left + across - 1, middle)),
        ((left + across + strip / 2, top + _PART + 2), (left + across + strip / 2, low - 2)),
        ((left + across - 1, middle + down), (left + strip + 1, middle + down)),
        ((left + strip / 2, low - 2), (left + strip / 2, top + _PART + 2)),
    )
    for device in sent:
        start, end = ends[device]
        drawing.arrow(start, end, colour=COLOURS[1])


# ------------------------------------------------------------------------------------ experts

_SIDE, _ACROSS = 9.0, 8  #: of a token's square, and how many stand side by side


def experts(devices: int = 4, tokens: int = 32, seed: int = 3) -> Figure:
    """Tokens before and after the all-to-all that takes them to experts, drawn at even odds.

    ``tokens`` counts a token once for each of its experts.

    >>> experts().title
    'The fullest device has 1.28 times a fair share of tokens'
    """
    drawn = np.random.default_rng(seed).multinomial(tokens, [1 / devices] * devices, size=devices)
    shares = drawn.sum(axis=0) / tokens
    title = f"The fullest device has {shares.max():.2f} times a fair share of tokens"
    told = "; ".join(
        f"device {number} gets {', '.join(map(str, drawn[:, number]))}: {share:.2f} of its share"
        for number, share in enumerate(shares)
    )
    alt = (
        f"{devices} devices in a row, above each a block of {tokens} squares in its colour, one "
        "for each expert of a token. Lines lead from every block to every device below, as thick "
        f"as the tokens that take them, dashed where they stay. There {told}."
    )
    step, rows = WIDTH / devices, tokens / _ACROSS
    below = 84 + rows * _SIDE
    with sketch(title, alt, height=below + (rows * shares.max() + 1) * _SIDE + 26) as drawing:
        for number in range(devices):
            left = number * step + (step - _ACROSS * _SIDE) / 2
            drawing.text((left, 10), f"device {number}", bold=True)
            _tokens(drawing, (left, 20), [(number, tokens)])
            for other, count in enumerate(drawn[number]):
                ends = (left + 36, 22 + rows * _SIDE), ((other + 0.5) * step, below - 2)
                look: dict[str, Any] = {"colour": COLOURS[number], "width": count / 5}
                drawing.line(*ends, dashed=number == other, **look)
            _tokens(drawing, (left, below), list(enumerate(drawn[:, number])))
            place = (left, below + (rows * shares.max() + 1) * _SIDE + 14)
            drawing.text(place, f"{shares[number]:.2f} shares", bold=shares[number] == shares.max())
        drawing.line((0, below + rows * _SIDE), (WIDTH, below + rows * _SIDE), dashed=True)
    return drawing.result


def _tokens(drawing: Sketch, corner: Point, parts: list[tuple[int, int]]) -> None:
    """Squares in rows: for each device its number of them, in its colour."""
    begun = 0
    for device, count in parts:
        cells = [divmod(number, _ACROSS) for number in range(begun, begun + count)]
        drawing.fill(corner, cells, _SIDE, COLOURS[device] + "bb")
        begun += count
    full, left = divmod(begun, _ACROSS)
    drawing.cells(corner, full, _ACROSS, _SIDE, line=0.3)
    if left:
        drawing.cells((corner[0], corner[1] + full * _SIDE), 1, left, _SIDE, line=0.3)


# ---------------------------------------------------------------------- behind the backward pass


def hidden(
    model: Transformer, node: Node, nodes: int, tokens: Sequence[int], groups: int = 8
) -> Figure:
    """The backward pass group by group of layers, and their gradients under way meanwhile.

    One timeline for each number of tokens a device has. Gradients are in 16 bits, and summed by
    tiers: in the node, between nodes, in the node.
    """
    every = [_backward(model, node, nodes, each, groups) for each in tokens]
    late = [sent[-1][1] - done[-1][1] for done, sent in every]
    title = "; ".join(
        f"{each:,} tokens: {quantity(more, 's', 2)} of waiting"
        for each, more in zip(tokens, late, strict=True)
    )
    names = [
        f"{each:,} tokens: {quantity(done[-1][1], 's', 3)} backward, "
        f"{groups} · {quantity(sent[0][1] - sent[0][0], 's', 3)} of messages"
        for each, (done, sent) in zip(tokens, every, strict=True)
    ]
    alt = (
        f"Timelines of the backward pass of {model.params() / 1e9:.2g} billion parameters on "
        f"{nodes} nodes of {node.devices}, a lane for {groups} groups of layers, last first, and "
        f"one for the sums of their gradients, each of which begins when its group is done and the "
        f"links are free. "
        f"{'; '.join(names)}; waiting after the pass: "
        + ", ".join(quantity(more, "s", 2) for more in late)
        + "."
    )
    with sketch(title, alt, height=66.0 * len(every) - 4) as drawing:
        for row, (name, (done, sent)) in enumerate(zip(names, every, strict=True)):
            top = 66.0 * row
            lanes = Lanes(drawing, 66, (WIDTH - 68) / max(done[-1][1], sent[-1][1]))
            drawing.text((0, top + 9), name)
            for lane, (what, spans) in enumerate((("backward", done), ("gradients", sent))):
                drawing.text((60, top + 26.5 + 17 * lane), what, align="right")
                for number, span in enumerate(spans):
                    words = str(groups - number)
                    lanes.bar(top + 19 + 17 * lane, span, words, colour=COLOURS[lane])
    return drawing.result


_Spans = list[Point]


def _backward(
    model: Transformer, node: Node, nodes: int, tokens: int, groups: int
) -> tuple[_Spans, _Spans]:
    """When each group's backward pass runs, and when its gradients are under way."""
    params = float(model.params()) / groups
    each = 4 * params * tokens / float(node.device.compute_rate())
    tiers = two_tier_sent("all_reduce", 2 * params, node=node.devices, nodes=nodes)
    # pieces of a value are inside a node while others are across: the slower tier counts
    wires = max(
        float(tiers[0]) / float(node.link or np.inf),
        float(tiers[1]) / float(node.network or np.inf),
    )
    done = [(number * each, (number + 1) * each) for number in range(groups)]
    sent: _Spans = []
    for _, ended in done:
        begun = max(ended, sent[-1][1] if sent else 0.0)
        sent.append((begun, begun + wires))
    return done, sent


# ------------------------------------------------------------------------------------ a mesh

_DEVICE = 17.0


def folded(planned: Any) -> Figure:
    """A plan's mesh on the nodes of its cluster: who shares a sequence, a stage, and the gradients.

    Of `Plan.on`. What each axis sends is the plan's own ledger's, for its first stage.
    """
    plan, cluster = planned.plan, planned.cluster
    each = cluster.node.devices
    sizes = {axis: int(getattr(plan, axis)) for axis in plan.order if axis != "expert"}
    if math.prod(sizes.values()) != cluster.devices:
        raise ValueError(f"planned must fill its {cluster.devices} devices, got {plan.devices}")
    used = {axis: size for axis, size in sizes.items() if size > 1}
    told = [_axis_told(planned, axis, size) for axis, size in used.items()]
    inside = [a for a in used if planned.mesh.axes[a].across == 1]
    beyond = [a for a in used if a not in inside]
    title = f"Inside a node: {' and '.join(inside) or 'nothing'}; across nodes: "
    title += " and ".join(beyond) or "nothing"
    shared = "sequence" if sizes["context"] > 1 else "product"
    alt = (
        f"{cluster.nodes} nodes of {each} devices. Devices of one colour are one stage; a frame "
        f"is around devices that share each {shared}, numbered inside it; a line with dots joins "
        f"the nodes that hold copies of the first device's weights. {'; '.join(told)}."
    )
    rows = 2 if each % 2 == 0 and each > 4 else 1
    wide = each // rows * _DEVICE + 8
    columns = max(1, int((WIDTH + 4) // (wide + 8)))
    tall = rows * _DEVICE + 8
    below = math.ceil(cluster.nodes / columns) * (tall + 9) + 4
    with sketch(title, alt, height=below + 16 * len(told) + 2) as drawing:
        corners = [
            (n % columns * (wide + 8) + 2, n // columns * (tall + 9) + 5)
            for n in range(cluster.nodes)
        ]
        for node, corner in enumerate(corners):
            drawing.box(corner, wide, tall, edge=COLOURS[4], line=1.2)
            _node(drawing, corner, node, (rows, each), sizes, numbered=node < columns)
        _same(drawing, corners, each, sizes)
        for number, words in enumerate(told):
            drawing.text((0, below + 8 + 16 * number), words)
    return drawing.result


def _axis_told(planned: Any, axis: str, size: int) -> str:
    tiers = planned.mesh.axes[axis]
    sent = quantity(planned.ledger(0).over(axis).bytes_sent(), "B", 3)
    where = "inside a node" if tiers.across == 1 else f"across {int(tiers.across)} nodes"
    return f"{axis} {size}, {where}: {sent} sent in a step"


def _coordinates(devices: Any, sizes: dict[str, int]) -> dict[str, Any]:
    """Where devices are on every axis, the first innermost.

    >>> {axis: int(at) for axis, at in _coordinates(13, {"tensor": 4, "data": 16}).items()}
    {'tensor': 1, 'data': 3}
    """
    places = np.unravel_index(devices, list(sizes.values()), order="F")
    return dict(zip(sizes, places, strict=True))


def _node(
    drawing: Sketch,
    corner: Point,
    node: int,
    shape: Point,
    sizes: dict[str, int],
    *,
    numbered: bool,
) -> None:
    """The devices of a node, and a frame around those that share each product or sequence."""
    rows, each = map(int, shape)
    across, inner = each // rows, (corner[0] + 4, corner[1] + 4)
    at = _coordinates(node * each + np.arange(each), sizes)
    slots = [divmod(slot, across) for slot in range(each)]
    for stage in set(at["pipeline"].tolist()):
        cells = [slot for slot, own in zip(slots, at["pipeline"], strict=True) if own == stage]
        drawing.fill(inner, cells, _DEVICE, COLOURS[stage % 7] + "66")
    place = at["tensor"] + sizes["tensor"] * at["context"] + 1
    words = dict(zip(slots, place, strict=True)) if numbered else {}
    drawing.grid(inner, rows, across, _DEVICE, COLOURS[0], [], line=0.3, words=words)
    if (together := min(sizes["tensor"] * sizes["context"], across)) > 1:
        for row, column in slots[::together]:
            start = inner[0] + column * _DEVICE, inner[1] + row * _DEVICE
            drawing.box(start, together * _DEVICE, _DEVICE, line=1.4)


def _same(drawing: Sketch, corners: Sequence[Point], each: int, sizes: dict[str, int]) -> None:
    """A line along the nodes that have a copy of the first device's weights, with a dot at each."""
    at = _coordinates(np.arange(len(corners) * each), sizes)
    others = [place for axis, place in at.items() if axis not in ("data", "context")]
    copies = np.flatnonzero(np.sum(others, axis=0) == 0) // each
    points = [(corners[node][0] + 4 + _DEVICE / 2, corners[node][1]) for node in copies.tolist()]
    look: dict[str, Any] = {"colour": COLOURS[2], "width": 2.2}
    for one, other in pairwise(points):
        if one[1] == other[1]:
            drawing.line(one, other, **look)
        else:  # from a row of nodes to the next, at the left edge
            left = corners[0][0]
            first = (points[0][0], one[1])
            drawing.line(first, (left, one[1]), (left, other[1]), other, **look)
    for x, y in dict.fromkeys(points):
        drawing.box((x - 3.5, y - 3.5), 7, 7, fill=COLOURS[2], edge=COLOURS[2])
