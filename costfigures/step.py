"""Drawn diagrams of a training step: its products, and what lives from one pass to the other."""

from __future__ import annotations

from costfigures.canvas import ARRAYS, COLOURS, Figure
from costfigures.sketch import TINT, WIDTH, Lanes, Point, Sketch, sketch
from costlib.layers.matmul import matmul
from costlib.model.transformer import Transformer
from costlib.training import activations
from costlib.units.display import quantity
from costlib.units.numbers import sizes

# ------------------------------------------------------------------------------- products


def three_products(m: int = 6, k: int = 4, n: int = 3) -> Figure:
    """A product and the two of its backward pass, drawn to the scale of m, k and n.

    >>> three_products().title
    'One product forward, two backward, 144 FLOPs each'
    """
    m, k, n = sizes(m=m, k=k, n=n)
    shapes = [(m, k, n), (m, n, k), (k, m, n)]
    flops = [int(matmul(*shape).flops) for shape in shapes]
    assert len(set(flops)) == 1
    title = f"One product forward, two backward, {flops[0]:,} FLOPs each"
    alt = (
        f"Three products as rectangles. Forward: C, {m} by {n}, is A, {m} by {k}, times B, {k} by "
        f"{n}. Backward: the gradient of A is that of C times B transposed, and the gradient of B "
        f"is A transposed times that of C. Each is {flops[0]:,} FLOPs. Gradients are dashed. A and "
        "B have two frames where the backward pass reads them: until then they must be kept."
    )
    rows = (
        ("forward", ("C", n, m), ("A", k, m), ("B", n, k)),
        ("backward", ("A′", k, m), ("C′", n, m), ("Bᵀ", k, n)),
        ("backward", ("B′", n, k), ("Aᵀ", m, k), ("C′", n, m)),
    )
    unit = min(17.0, 290 / (2 * max(m, k, n) + max(k, n)), 72 / max(m, k, n))
    tall = unit * max(m, k, n) + 12
    with sketch(title, alt, height=3 * tall + 2) as drawing:
        for row, (when, *matrices) in enumerate(rows):
            middle = tall * row + tall / 2
            drawing.text((0, middle - 7), when, bold=True)
            drawing.text((0, middle + 8), f"{flops[row]:,} FLOPs")
            x = 78.0
            for (name, wide, high), sign in zip(matrices, ("=", "·", ""), strict=True):
                _matrix(drawing, (x, middle), (wide * unit, high * unit), name, row > 0)
                x += wide * unit
                drawing.text((x + 12, middle), sign, align="middle")
                x += 24
    return drawing.result


def _matrix(drawing: Sketch, place: Point, size: Point, name: str, is_backward: bool) -> None:
    """A rectangle around a height; what was kept since the forward pass has a second frame."""
    (x, middle), (wide, high) = place, size
    colour, corner = ARRAYS[name[0]], (x, middle - high / 2)
    is_gradient = "′" in name
    fill = "none" if is_gradient else colour + TINT
    drawing.box(corner, wide, high, fill=fill, edge=colour, line=1.4, dashed=is_gradient)
    if is_backward and not is_gradient:
        drawing.box((corner[0] + 3, corner[1] + 3), wide - 6, high - 6, edge=colour, line=1.4)
    drawing.text((x + wide / 2, middle), name, align="middle", bold=True)


# ------------------------------------------------------------------------------- lifetimes

_FORWARD, _BACKWARD, _AGAIN = COLOURS[0], COLOURS[1], COLOURS[3]


def lives(model: Transformer, seq: int, layers: int = 6) -> Figure:
    """From when to when each layer's activations live, kept or made again, and how much that is.

    The times of passes are their products: a backward pass takes two forward passes.
    """
    seq, layers = sizes(seq=seq, layers=layers)
    kept, again = (
        activations(model, 1, seq, recompute=policy).of_layers() / model.layers
        for policy in (None, "full")
    )
    once = activations(model, 1, seq, recompute="full").again()
    title = f"A layer keeps {quantity(kept, 'B', 3)} for the way back, or {quantity(again, 'B', 3)}"
    title += " and runs again"
    alt = (
        f"Two timelines of a step of {layers} layers, one a row: blocks forward, blocks backward, "
        f"which take twice as long, and bars between the two for what the layer holds. Above, "
        f"{quantity(kept, 'B', 3)} of each layer stay until the backward pass comes back, in "
        f"{3 * layers} units of time. Below, {quantity(again, 'B', 3)} stay, each layer runs again "
        f"just before its backward pass and holds {quantity(once, 'B', 3)} meanwhile, in "
        f"{4 * layers} units."
    )
    tall = 15.0 * layers + 30
    with sketch(title, alt, height=2 * tall + 20) as drawing:
        lanes, size = Lanes(drawing, 0, (WIDTH - 4) / (4 * layers)), 11.0 / float(max(kept, once))
        words = "all is kept", f"only inputs are kept: {(4 * layers) / (3 * layers) - 1:.0%} longer"
        for number, (name, is_again) in enumerate(zip(words, (False, True), strict=True)):
            top = number * tall
            drawing.text((0, top + 9), name, bold=True)
            holds = float(again if is_again else kept) * size, float(once) * size
            _passes(lanes, top + 20, layers, holds, is_again)
        colours = {"forward": _FORWARD, "again": _AGAIN, "backward": _BACKWARD, "held": COLOURS[4]}
        drawing.key((0, 2 * tall + 8), {name: of + "aa" for name, of in colours.items()}, 90)
    return drawing.result


def _passes(lanes: Lanes, top: float, layers: int, holds: Point, is_again: bool) -> None:
    """Each layer's row: forward, what waits, perhaps forward again, backward."""
    (stays, once), each = holds, 3 if is_again else 2
    for layer in range(layers):
        y = top + 15 * (layers - 1 - layer)
        back = layers + each * (layers - 1 - layer)
        held = [(layer, back + each, stays)] + ([(back, back + each, once)] if is_again else [])
        for begun, ended, thick in held:
            corner = (lanes.at(begun), y + 7 - thick / 2)
            wide = (ended - begun) * lanes.scale
            lanes.drawing.box(corner, wide, thick, fill=COLOURS[4] + "77", line=0)
        blocks = [(layer, 1, _FORWARD), (back + each - 2, 2, _BACKWARD)]
        blocks += [(back, 1, _AGAIN)] if is_again else []
        for begun, long, colour in blocks:
            look = {"fill": colour + "bb", "edge": colour}
            lanes.bar(y + 2.5, (begun, begun + long), high=9, line=0.7, **look)
