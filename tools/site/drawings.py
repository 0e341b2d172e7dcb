"""Figures in few bytes and elements, looking the same: a chapter has up to twenty.

- paths say how far each place lies from the last one, a level or upright line says one number, and
  circles, of which a hatch of dots has hundreds, are two arcs and not eight curves;
- no group, name or turn that changes nothing, no face, which the site's style sheet sets;
- no style sheet of the figure's own, which would hold for all of the page, and attributes in place
  of styles, which a browser reads when it first draws the figure;
- the digits of a power in one face: in the site's own only some are raised.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

#: A figure as Matplotlib wrote it; a brief one lacks the name of the language.
FIGURE = re.compile(r'<svg class="costlib-figure[^>]*? xmlns=.*?</svg>', re.DOTALL)
PATH = re.compile(r'(?<= d=")[^"]*')
STYLE = re.compile(r' style="([^"]*)"')
NAME = re.compile(r' id="([^"]*)"')
GROUP = re.compile(r"(<g\b[^>]*>|</g>)")
DEFINED = re.compile(r"\s*<defs>(.*?)</defs>", re.DOTALL)
STEP = re.compile(r"([A-Za-z])([^A-Za-z]*)")
NUMBER = re.compile(r"-?(?:\d+\.?\d*|\.\d+)")
ROUND = re.compile(r"M [^A-Zz]+(?:C [^A-Zz]+){8}z")
RAISED = re.compile(r"([⁻⁰¹²³⁴-⁹]+)(?=[^<>]*</text>)")
POWER = r'<tspan style="font-family:system-ui,sans-serif">\1</tspan>'
WITHOUT = (
    (r'<style type="text/css">.*?</style>', ""),
    (r' xmlns(?::xlink)?="[^"]*"', ""),
    (r' transform="rotate\(-?0 [^"]*"', ""),
    ("xlink:href", "href"),
    (r"<g[^>]*/>", ""),
    (r'<path [^>]*style="fill: none"/>', ""),  # which draws nothing
)


def brief(svg: str) -> str:
    """A figure in fewer bytes.

    >>> brief("<text>10²⁰ FLOPs</text>")
    '<text>10<tspan style="font-family:system-ui,sans-serif">²⁰</tspan> FLOPs</text>'
    """
    for what, instead in WITHOUT:
        svg = re.sub(what, instead, svg, flags=re.DOTALL)
    svg = PATH.sub(lambda d: path(d[0]), svg)
    svg = RAISED.sub(POWER, STYLE.sub(lambda style: plain(style[1]), svg))
    svg = without_names(svg)
    svg = "".join(without_groups(GROUP.split(svg)))
    defined = "".join(DEFINED.findall(svg))
    svg = DEFINED.sub("", svg).replace("</svg>", f"<defs>{defined}</defs></svg>")
    return re.sub(r">\s+<", "><", svg)


def path(long: str) -> str:
    """A path by its steps, in hundredths; the first place is where it is.

    >>> path("M 10 20 L 10.5 20 L 10.5 18 L 0 0.25 z M 10 21 L 10 22")
    'M10 20h.5v-2l-10.5-17.75zm0 1v1'
    """
    written: list[str] = []
    here = begin = (0, 0)
    for command, rest in STEP.findall(ROUND.sub(arcs, long)):
        if command == "z":
            written.append("z")
            here = begin
            continue
        numbers = [round(100 * float(number)) for number in rest.split()]
        shape = 5 if command == "A" else 0  # radii and the like are no places
        steps = numbers[:shape]
        steps += [number - here[at % 2] for at, number in enumerate(numbers[shape:])]
        here = (numbers[-2], numbers[-1])
        begin = here if command == "M" else begin
        if not written:
            written.append("M" + joined(numbers))
        elif command == "L" and 0 in steps:
            written.append(f"v{joined(steps[1:])}" if steps[1] else f"h{joined(steps[:1])}")
        else:
            written.append(command.lower() + joined(steps))
    return "".join(written)


def joined(hundredths: list[int]) -> str:
    """Numbers with no more between them than it takes to tell them apart.

    >>> joined([50, -25, 100])
    '.5-.25 1'
    """
    texts = [f"{number / 100:.2f}".rstrip("0").rstrip(".") for number in hundredths]
    texts = [re.sub(r"^(-?)0\.", r"\1.", text) for text in texts]
    return re.sub(" -", "-", " ".join(texts))


def arcs(curves: re.Match[str]) -> str:
    """Eight curves around a middle as two arcs, if that is what they are."""
    numbers = [float(number) for number in NUMBER.findall(curves[0])]
    (x, top), (side, level), (_, bottom), (other, _) = (
        numbers[at : at + 2] for at in (0, 12, 24, 36)
    )
    radius = abs(top - bottom) / 2
    rounded = max(abs(abs(side - x) - radius), abs(abs(other - x) - radius)) < 0.02
    if not rounded or abs(level - (top + bottom) / 2) > 0.02:
        return curves[0]
    arc = f"A {radius:.2f} {radius:.2f} 0 0 0 {x}"
    return f"M {x} {top} {arc} {bottom} {arc} {top} z"


def plain(style: str) -> str:
    """What a style says, without its face, as attributes.

    >>> plain("font-size: 11px; font-family: 'Source Sans 3'; text-anchor: middle")
    ' font-size="11px" text-anchor="middle"'
    """
    said = [each.split(": ", 1) for each in style.strip("; ").split("; ")]
    return "".join(f' {name}="{value}"' for name, value in said if name != "font-family")


def without_names(svg: str) -> str:
    """The figure without ids that nothing in it refers to."""
    used = set(re.findall(r"#([\w-]+)", svg))
    used |= set(" ".join(re.findall(r'aria-labelledby="([^"]*)"', svg)).split())
    return NAME.sub(lambda name: name[0] if name[1] in used else "", svg)


def without_groups(parts: list[str]) -> Iterator[str]:
    """What a figure is made of, but for groups that say nothing of what they hold."""
    kept: list[bool] = []
    for part in parts:
        if part.startswith("<g"):
            kept.append(part != "<g>")
        if part not in ("<g>", "</g>") or (part == "</g>" and kept.pop()):
            yield part


def strokes(short: str) -> Iterator[tuple[str, list[tuple[float, float]]]]:
    """Each stroke of a path that `path` wrote, as a path of its own, and places around all of it.

    >>> next(strokes("M10 20h.5v-2"))
    ('M10 20h.5v-2', [(10.0, 20.0), (10.5, 20.0), (10.5, 18.0)])
    >>> [stroke for stroke, _ in strokes("M10 20h.5v-2zm1 0h3")]
    ['M10 20h.5v-2z', 'M11 20h3']
    """
    x = y = 0.0
    for stroke in re.findall(r"[Mm][^Mm]+", short):
        places: list[tuple[float, float]] = []
        for command, said in STEP.findall(stroke):
            numbers = [float(number) for number in NUMBER.findall(said)]
            if command == "a":
                radius, numbers = numbers[0], numbers[5:]
                level = y + numbers[1] / 2
                places += [(x - radius, level - radius), (x + radius, level + radius)]
            numbers = {"h": [*numbers, 0.0], "v": [0.0, *numbers]}.get(command, numbers)
            near = [(x + dx, y + dy) for dx, dy in zip(numbers[::2], numbers[1::2], strict=True)]
            places += near
            x, y = near[-1] if near else places[0]
        yield f"M{places[0][0]:g} {places[0][1]:g}{STEP.sub('', stroke, count=1)}", places
