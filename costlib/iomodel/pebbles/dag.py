"""Calculations as directed acyclic graphs: the boards of the pebble game.

A vertex is one value. Its parents are the values it is computed from. A vertex without parents is
an input, a vertex without children is an output.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from costlib.units.numbers import size, sizes

__all__ = ["Dag"]


@dataclass(frozen=True, slots=True)
class Dag:
    """A calculation: for each vertex, the vertices it is computed from.

    Vertices are numbered so that parents come before their children. Left out: what is computed.
    The game only asks which values a value needs.

    >>> product = Dag(((), (), (0, 1)), ("a", "b", "a*b"))
    >>> product.inputs, product.outputs
    ((0, 1), (2,))
    """

    parents: tuple[tuple[int, ...], ...]
    names: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.names:
            object.__setattr__(self, "names", tuple(f"v{v}" for v in range(len(self.parents))))
        count = len(self.parents)
        if len(self.names) != count or len(set(self.names)) != count:
            raise ValueError(
                f"names must be {count} different names, got {len(self.names)}: {self.names}"
            )
        used = {parent for parents in self.parents for parent in parents}
        for vertex, parents in enumerate(self.parents):
            if len(set(parents)) != len(parents):
                raise ValueError(f"parents of vertex {vertex} must differ, got {parents}")
            if not all(0 <= parent < vertex for parent in parents):
                raise ValueError(
                    f"parents of vertex {vertex} must be vertices numbered before it, got {parents}"
                )
            if not parents and vertex not in used:
                raise ValueError(
                    f"vertex {vertex} has neither parents nor children: every vertex needs an edge"
                )

    @property
    def children(self) -> tuple[tuple[int, ...], ...]:
        """For each vertex, the vertices computed from it.

        >>> Dag.chain(3).children
        ((1,), (2,), ())
        """
        children: list[list[int]] = [[] for _ in self.parents]
        for vertex, parents in enumerate(self.parents):
            for parent in parents:
                children[parent].append(vertex)
        return tuple(map(tuple, children))

    @property
    def edges(self) -> tuple[tuple[int, int], ...]:
        """Every (parent, child), sorted.

        >>> Dag.chain(3).edges
        ((0, 1), (1, 2))
        """
        return tuple(sorted((p, v) for v, parents in enumerate(self.parents) for p in parents))

    @property
    def inputs(self) -> tuple[int, ...]:
        """The vertices without parents: in slow memory from the start.

        >>> Dag.tree(leaves=4).inputs
        (0, 1, 2, 3)
        """
        return tuple(v for v, parents in enumerate(self.parents) if not parents)

    @property
    def outputs(self) -> tuple[int, ...]:
        """The vertices without children: in slow memory at the end.

        >>> Dag.fft(points=2).outputs
        (2, 3)
        """
        return tuple(v for v, children in enumerate(self.children) if not children)

    @property
    def max_in_degree(self) -> int:
        """The most parents that any vertex has; a game needs one red pebble more.

        >>> Dag.pyramid(height=2).max_in_degree
        2
        """
        return max(map(len, self.parents))

    @property
    def compulsory(self) -> int:
        """I/O that no amount of fast memory avoids: inputs read plus outputs written.

        >>> Dag.matmul(m=2, k=2, n=2).compulsory
        12
        """
        return len(self.inputs) + len(self.outputs)

    def vertex(self, name: str) -> int:
        """The number of the vertex with this name.

        >>> Dag.matmul(m=1, k=2, n=1).vertex("B[1,0]")
        3
        """
        if name not in self.names:
            raise ValueError(f"name must be one of {', '.join(self.names)}, got {name!r}")
        return self.names.index(name)

    @classmethod
    def chain(cls, length: int) -> Dag:
        """A value updated step by step: length vertices in a line.

        >>> Dag.chain(3).parents
        ((), (0,), (1,))
        """
        length = size("length", length, least=2)
        return cls(((), *((v - 1,) for v in range(1, length))))

    @classmethod
    def tree(cls, leaves: int) -> Dag:
        """A balanced sum: a complete binary tree over a power of two of leaves.

        >>> Dag.tree(leaves=4).parents[4:]
        ((0, 1), (2, 3), (4, 5))
        """
        leaves = _power_of_two("leaves", leaves)
        inner = ((2 * i, 2 * i + 1) for i in range(leaves - 1))
        return cls((*((),) * leaves, *inner))

    @classmethod
    def grid(cls, rows: int, columns: int) -> Dag:
        """The diamond grid of dynamic programming: a cell needs the one above and the one before.

        >>> Dag.grid(rows=2, columns=2).parents
        ((), (0,), (0,), (1, 2))
        """
        rows, columns = sizes(rows=rows, columns=columns)
        return cls(
            tuple(
                ((row - 1) * columns + column,) * (row > 0)
                + (row * columns + column - 1,) * (column > 0)
                for row in range(rows)
                for column in range(columns)
            ),
            tuple(f"x[{row},{column}]" for row in range(rows) for column in range(columns)),
        )

    @classmethod
    def pyramid(cls, height: int) -> Dag:
        """Height + 1 inputs, and each row above joins neighbours of the row below.

        >>> Dag.pyramid(height=2).parents
        ((), (), (), (0, 1), (1, 2), (3, 4))
        """
        height = size("height", height)
        parents: list[tuple[int, ...]] = [()] * (height + 1)
        below = 0
        for width in range(height, 0, -1):
            parents += [(below + i, below + i + 1) for i in range(width)]
            below += width + 1
        return cls(tuple(parents))

    @classmethod
    def fft(cls, points: int) -> Dag:
        """The butterfly graph: log2(points) layers, each joining values a power of two apart.

        >>> Dag.fft(points=4).parents[4:8]
        ((0, 1), (0, 1), (2, 3), (2, 3))
        """
        points = _power_of_two("points", points)
        parents: list[tuple[int, ...]] = [()] * points
        for layer in range(points.bit_length() - 1):
            start = layer * points
            for i in range(points):
                pair = sorted((i, i ^ (1 << layer)))
                parents.append((start + pair[0], start + pair[1]))
        return cls(tuple(parents))

    @classmethod
    def matmul(cls, m: int, k: int, n: int, *, fma: bool = False) -> Dag:
        """The standard product of an m x k matrix A and a k x n matrix B.

        Product form: m*n*k products and m*n*(k-1) sums, each a vertex. FMA form: m*n*k fused
        multiply-adds, C[i,j,l] = C[i,j,l-1] + A[i,l]*B[l,j]. Left out: any other order of
        summation.

        >>> len(Dag.matmul(m=2, k=2, n=2).parents), len(Dag.matmul(m=2, k=2, n=2, fma=True).parents)
        (20, 16)
        """
        m, k, n = sizes(m=m, k=k, n=n)
        build = _Builder()
        a = build.matrix("A", m, k)
        b = build.matrix("B", k, n)
        for i in range(m):
            for j in range(n):
                column = [row[j] for row in b]
                build.dot(f"{i},{j}", a[i], column, names=("C", "P"), fma=fma)
        return build.dag()

    @classmethod
    def attention(cls, seq: int, head_dim: int, *, fma: bool = True) -> Dag:
        """Attention without scaling or maximum, softmax(Q K^T) V, on N = seq rows of d = head_dim.

        S is the score (a dot product), E its exponential, L the running row sum, O the running sum
        of E*V, Y = O/L the output. Left out: the row maximum that a stable softmax subtracts.

        >>> Dag.attention(seq=1, head_dim=1).names
        ('Q[0,0]', 'K[0,0]', 'V[0,0]', 'S[0,0,0]', 'E[0,0]', 'O[0,0,0]', 'Y[0,0]')
        """
        seq, head_dim = sizes(seq=seq, head_dim=head_dim)
        build = _Builder()
        q, k, v = (build.matrix(name, seq, head_dim) for name in "QKV")
        weights = [
            [
                build.add(f"E[{i},{j}]", build.dot(f"{i},{j}", q[i], k[j], ("S", "P"), fma))
                for j in range(seq)
            ]
            for i in range(seq)
        ]
        for i, row in enumerate(weights):
            total = row[0]
            for j in range(1, seq):
                total = build.add(f"L[{i},{j}]", total, row[j])
            for c in range(head_dim):
                column = [value[c] for value in v]
                result = build.dot(f"{i},{c}", row, column, ("O", "R"), fma)
                build.add(f"Y[{i},{c}]", result, total)
        return build.dag()


class _Builder:
    """Vertices collected one by one, each with a name."""

    def __init__(self) -> None:
        self.parents: list[tuple[int, ...]] = []
        self.names: list[str] = []

    def add(self, name: str, *parents: int) -> int:
        self.parents.append(tuple(sorted(parents)))
        self.names.append(name)
        return len(self.parents) - 1

    def matrix(self, name: str, rows: int, columns: int) -> list[list[int]]:
        return [[self.add(f"{name}[{i},{j}]") for j in range(columns)] for i in range(rows)]

    def dot(
        self,
        entry: str,
        left: Sequence[int],
        right: Sequence[int],
        names: tuple[str, str],
        fma: bool,
    ) -> int:
        """A dot product, term by term; names are those of the running sum and of a product."""
        total = self.add(f"{names[0]}[{entry},0]", left[0], right[0])
        for step in range(1, len(left)):
            label = f"{names[0]}[{entry},{step}]"
            if fma:
                total = self.add(label, left[step], right[step], total)
            else:
                product = self.add(f"{names[1]}[{entry},{step}]", left[step], right[step])
                total = self.add(label, total, product)
        return total

    def dag(self) -> Dag:
        return Dag(tuple(self.parents), tuple(self.names))


def _power_of_two(name: str, value: int) -> int:
    value = size(name, value, least=2)
    if value & (value - 1):
        raise ValueError(f"{name} must be a power of two, got {value}")
    return value
