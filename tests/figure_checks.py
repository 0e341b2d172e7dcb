"""What every figure must be, whatever it shows; each module of figures runs these on its own."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import combinations
from typing import Any
from xml.etree import ElementTree

import numpy as np

from costfigures import COLOURS, Figure
from costfigures.canvas import PAGE, RED

SVG = "{http://www.w3.org/2000/svg}"
Extent = tuple[float, ...]  #: left, top, right, bottom


def figures_of(module: Any) -> set[str]:
    """The functions of a module that draw a figure for its page."""
    found = {name: getattr(each, "__annotations__", {}) for name, each in vars(module).items()}
    return {
        name
        for name, kinds in found.items()
        if not name.startswith("_") and kinds.get("return") == "Figure"
    }


def check_described(figure: Figure) -> None:
    """One SVG with a short title and a longer text, which a screen reader is led to."""
    root = ElementTree.fromstring(figure.svg)
    assert root.get("role") == "img"
    title, alt = (root.find(SVG + tag) for tag in ("title", "desc"))
    assert (title.text, alt.text) == (figure.title, figure.alt)
    assert root.get("aria-labelledby").split() == [title.get("id"), alt.get("id")]
    assert len(figure.title) <= 90
    assert len(figure.alt) > 2 * len(figure.title)


def check_small_and_readable(figure: Figure) -> None:
    """Few bytes, and words as large as they should be."""
    assert len(figure.svg.encode()) < 62_000
    check_readable(figure)


def check_readable(figure: Figure) -> None:
    """Words of one size, 11 px or more on a page of 375, and at most 17."""
    width = float(re.search(r'width="([\d.]+)"', figure.svg)[1])
    sizes = re.findall(r"font(?:-size)?: ?(?:[a-z]+ )*([\d.]+)px", figure.svg)
    assert min(map(float, sizes)) * 367 / width >= 11  # a margin of 4 px on each side
    assert max(map(float, sizes)) * 528 / width <= 17


def check_colours(figure: Figure) -> None:
    """The colours of light and dark pages alone."""
    found = {colour.lower() for colour in re.findall(r"#[0-9a-fA-F]{6}\b", figure.svg)}
    paper, ink = "#ffffff", "#1f2328"  # the rectangle that dark pages clear, the default ink
    assert found <= {*COLOURS, RED, paper, ink}
    assert "black" not in figure.svg


def check_legends_beside_what_is_drawn(figure: Figure) -> None:
    """A legend among data has a frame, and nothing that a reader would look for lies behind it."""
    root = ElementTree.fromstring(figure.svg)
    words = list(_words(root, np.eye(3)))
    for axes in root.iter(SVG + "g"):
        paths = axes.findall("./*/*/" + SVG + "path")
        for left, top, right, bottom in filter(None, map(_frame, paths)):
            for x, y in _drawn(axes):
                behind = left < x < right and top < y < bottom
                assert not behind, f"a legend covers a place of {figure.title!r}"
            for text, (begin, above, end, below) in words:
                apart = end < left or begin > right or below < top or above > bottom
                inside = begin > left and end < right + 6  # here the font is wider than most
                assert apart or inside, f"a legend covers {text!r} in {figure.title!r}"


def _frame(path: ElementTree.Element) -> Extent | None:
    """Where the frame of a legend lies, which is filled with what the page is made of."""
    style = path.get("style", "")
    if f"fill: {PAGE}" not in style or f"stroke: {COLOURS[4]}" not in style:
        return None
    places = np.array(_places(path))
    return (*places.min(axis=0), *places.max(axis=0))


def _drawn(axes: ElementTree.Element) -> Iterator[tuple[float, float]]:
    """Markers and the corners of lines; those of a grid are pale."""
    for node in axes.iterfind(".//*[@clip-path]"):
        if node.tag == SVG + "path" and "stroke-opacity: 0.25" not in node.get("style", ""):
            yield from _places(node)
        for marker in node.iter(SVG + "use"):
            yield float(marker.get("x")), float(marker.get("y"))


def _places(path: ElementTree.Element) -> list[tuple[float, float]]:
    numbers = [float(number) for number in re.findall(r"-?[\d.]+", path.get("d"))]
    return list(zip(numbers[::2], numbers[1::2], strict=True))


def check_words_apart(figure: Figure) -> None:
    """No word on another and none beyond the edge, by the widths of a font wider than most."""
    width, height = (
        float(size) for size in re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', figure.svg).groups()
    )
    words = list(_words(ElementTree.fromstring(figure.svg), np.eye(3)))
    for text, (left, top, right, bottom) in words:
        inside = left > -1.5 and top > -1.5 and right < width + 1.5 and bottom < height + 1.5
        assert inside, f"{text!r} leaves the figure {figure.title!r}"
    for (text, one), (other, two) in combinations(words, 2):
        wide = min(one[2], two[2]) - max(one[0], two[0])
        high = min(one[3], two[3]) - max(one[1], two[1])
        assert wide < 1.5 or high < 1.5, f"{text!r} on {other!r} in {figure.title!r}"


def _words(node: ElementTree.Element, within: np.ndarray) -> Iterator[tuple[str, Extent]]:
    """Each run of text, and where it stands."""
    within = within @ _matrix(node.get("transform", ""))
    if node.tag == SVG + "text" and node.text and node.text.strip():
        yield node.text, _extent(node, within)
    for child in node:
        yield from _words(child, within)


def _matrix(transform: str) -> np.ndarray:
    whole = np.eye(3)
    for name, inside in re.findall(r"(\w+)\(([^)]*)\)", transform):
        numbers = [float(number) for number in re.split(r"[ ,]+", inside.strip())]
        part = np.eye(3)
        if name == "translate":
            part[:2, 2] = [*numbers, 0][:2]
        elif name == "scale":
            part[0, 0], part[1, 1] = numbers[0], numbers[-1]
        else:
            assert name == "rotate", name
            turn, *about = np.radians(numbers[0]), *numbers[1:]
            part[:2, :2] = [[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]]
            part[:2, 2] = np.array(about or [0, 0]) - part[:2, :2] @ (about or [0, 0])
        whole = whole @ part
    return whole


def _extent(node: ElementTree.Element, within: np.ndarray) -> Extent:
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    style = node.get("style", "")
    size = float(re.search(r"font(?:-size)?: ?(?:[a-z0-9]+ )*([\d.]+)px", style)[1])
    bold = re.search(r"font(?:-weight)?: ?(?:[a-z]+ )*(?:bold|700)", style)
    font = FontProperties(family="DejaVu Sans", size=size, weight="bold" if bold else "normal")
    wide, _, _ = text_to_path.get_text_width_height_descent(node.text.strip(), font, ismath=False)
    anchor = re.search(r"text-anchor: ?(\w+)", style)
    left = {"middle": -wide / 2, "end": -wide}.get(anchor[1] if anchor else "start", 0.0)
    x, y = float(node.get("x", 0)) + left, float(node.get("y", 0))
    # from the height of a small letter to the line that it stands on
    corners = [(x, y - 0.6 * size), (x + wide, y - 0.6 * size), (x, y), (x + wide, y)]
    across, down, _ = within @ np.array([(*corner, 1) for corner in corners]).T
    return across.min(), down.min(), across.max(), down.max()
