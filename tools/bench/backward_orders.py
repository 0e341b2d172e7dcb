"""Search the orders of attention's backward pass: ``python -m tools.bench.backward_orders``.

A plan is a sequence of passes over all pairs. In each pass the rows of some matrices stay in blocks
and those of the other side pass by; or the tile of a single product stays. Every pass is tried:
which of the three gradients it sums, which side stays, whether it computes the weights P and the
gradients dS of the scores or reads them, and whether it writes them. The cheapest plan is a
shortest path over what is done and what is stored.

The cost is the leading order in units of N², with x = d/√M: rows that stay times rows that pass,
x² each (a gradient that passes is read and written), and 1 for each entry of an N×N matrix that is
read or written. Left out: terms of lower order, masks, and rows cut where several products share a
pass.
"""

from __future__ import annotations

import heapq
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, combinations, product

GRADIENTS = ("dQ", "dK", "dV")
ROWS = {"Q", "dO", "dQ"}
#: What a product into each gradient is made of, beside the gradient itself.
FACTORS = {"dQ": ("dS", "K"), "dK": ("dS", "Q"), "dV": ("P", "dO")}


@dataclass(frozen=True)
class Pass:
    """One pass over all pairs: matrices by side, N×N matrices read and written, what it leaves."""

    text: str
    stay: int  #: matrices whose rows stay
    passing: int  #: matrices whose rows pass, a gradient twice
    squares: int  #: N×N matrices that are read or written
    needs: frozenset[str]
    leaves: frozenset[str]
    tile: bool = False  #: a single product by tiles, with x² cut at the widths that pay

    def cost(self, x: float) -> float:
        """Entries moved, in units of N²."""
        if not self.tile:
            return self.stay * self.passing * x * x + self.squares
        if self.needs:  # a gradient's tile stays, one N×N matrix passes k times
            return min(k + x * x / k for k in range(1, 2 + int(4 * x)))
        return min(x * x, 2 * x) + self.squares


def subsets(names: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """All subsets, the empty one first."""
    return chain.from_iterable(combinations(names, count) for count in range(len(names) + 1))


def passes() -> list[Pass]:
    """Every pass that does something."""
    found = []
    for gradients, side, weights, change, stores in product(
        subsets(GRADIENTS),
        ("rows", "columns"),
        ("none", "computed", "read"),
        ("none", "computed", "read"),
        subsets(("P", "dS")),
    ):
        made = {"P": weights, "dS": change}
        uses = {FACTORS[gradient][0] for gradient in gradients} | set(stores)
        if change == "computed":
            uses.add("P")
        if any((made[name] == "none") == (name in uses) for name in made):
            continue  # something is missing, or made for nothing
        if any(made[name] != "computed" for name in stores) or not (gradients or stores):
            continue
        matrices = {FACTORS[gradient][1] for gradient in gradients}
        matrices |= {"Q", "K"} if weights == "computed" else set()
        matrices |= {"dO", "V"} if change == "computed" else set()
        own = {name: (name in ROWS) == (side == "rows") for name in matrices | set(gradients)}
        read = [name for name in made if made[name] == "read"]
        found.append(
            Pass(
                text=f"{' '.join(gradients) or '–'}, {side} stay"
                + "".join(f", {name} read" for name in read)
                + "".join(f", {name} written" for name in stores),
                stay=sum(own.values()),
                passing=sum(2 if name in gradients else 1 for name in own if not own[name]),
                squares=len(read) + len(stores),
                needs=frozenset(read),
                leaves=frozenset(gradients) | frozenset(stores),
            )
        )
    for gradient, (square, _) in FACTORS.items():
        needs = frozenset({square})
        text = f"{gradient}, its tile stays, {square} read"
        found.append(Pass(text, 1, 1, 1, needs, frozenset({gradient}), tile=True))
    for text, squares, needs in (("P", 1, ()), ("dS, P read", 2, ("P",))):
        leaves = frozenset({text.split(",")[0]})
        found.append(Pass(f"{text}, one product, written", 1, 1, squares, frozenset(needs), leaves))
        square = Pass(f"{text}, by tiles, written", 1, 1, squares, frozenset(needs), leaves)
        found.append(SquareTiles(**vars(square)))
    return found


@dataclass(frozen=True)
class SquareTiles(Pass):
    """A single product whose square tile stays while slices of both factors pass: 2x."""

    def cost(self, x: float) -> float:
        """Entries moved, in units of N²."""
        return 2 * x + self.squares


def cheapest(x: float, *, storing: bool = True) -> tuple[float, list[str]]:
    """The cheapest plan: its leading cost in units of N², and its passes.

    >>> cost, plan = cheapest(0.01)
    >>> round(cost / 0.01**2, 6), len(plan)
    (14.0, 2)
    """
    moves = [each for each in passes() if storing or not ({"P", "dS"} & (each.needs | each.leaves))]
    start: frozenset[str] = frozenset()
    known = {start: 0.0}
    waiting: list[tuple[float, int, frozenset[str], list[str]]] = [(0.0, 0, start, [])]
    tie = 0
    while waiting:
        cost, _, done, plan = heapq.heappop(waiting)
        if done >= set(GRADIENTS):
            return cost, plan
        if cost > known[done]:
            continue
        for move in moves:
            after = done | move.leaves
            total = cost + move.cost(x)
            if move.needs <= done and total < known.get(after, float("inf")):
                known[after] = total
                tie += 1
                heapq.heappush(waiting, (total, tie, after, [*plan, move.text]))
    raise AssertionError("two passes are always possible")


def main() -> None:
    """The cheapest plan for each M, and what each split of the gradients costs without storing."""
    print(f"{len(passes())} passes; leading cost in units of N², x = d/√M")
    for share in (64, 16, 4, 3, 2.5, 2, 1.5, 1, 0.75, 0.5, 0.25, 0.125, 1 / 16):
        x = share**-0.5
        cost, plan = cheapest(x)
        without, _ = cheapest(x, storing=False)
        print(f"M = {share:g} d²: {cost:.3f} = {cost / x**2:.2f} x² (nothing stored {without:.2f})")
        for step in plan:
            print(f"    {step}")
    print("\nOne pass that computes everything, nothing stored: constants of x²")
    for move in passes():
        if move.squares == 0 and not move.tile:
            print(f"    {move.stay * move.passing:3}  {move.text}")


if __name__ == "__main__":
    sys.exit(main())
