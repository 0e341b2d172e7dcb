"""What a plan says: how many devices each axis of its mesh has, and how each axis is used."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from costlib.parallel.work import CONTEXT_BY
from costlib.training import Recipe, recipe_of
from costlib.training.activations import POLICIES
from costlib.units.numbers import choose, size

__all__ = ["ORDER", "Degrees"]

#: Axes of a mesh from the innermost, whose neighbours share a node, to the outermost.
ORDER = ("tensor", "context", "expert", "pipeline", "data")


@dataclass(frozen=True, slots=True, kw_only=True)
class Degrees:
    """The fields of a `costlib.parallel.Plan`, which says what each of them means.

    >>> Degrees(tensor=8, data=16).devices
    128
    """

    tensor: Any = 1
    context: Any = 1
    expert: Any = 1
    pipeline: int = 1
    data: Any = 1
    zero: Any = 0
    shard: Any = None
    sequence: bool = False
    whole_experts: bool = False
    microbatch: Any = 1
    chunks: int = 1
    schedule: str = "1f1b"
    recompute: str | None = None
    recipe: Recipe | str | None = None
    context_by: str = "ring"
    imbalance: Any = 1
    nodes_per_token: Any = None
    order: tuple[str, ...] = ORDER

    def __post_init__(self) -> None:
        for name in ("tensor", "context", "expert", "pipeline", "data", "microbatch", "chunks"):
            object.__setattr__(self, name, size(name, getattr(self, name)))
        for name in ("shard", "nodes_per_token"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, size(name, getattr(self, name)))
        if not np.all(np.isin(self.zero, (0, 1, 2, 3))):
            raise ValueError(f"zero must be 0, 1, 2 or 3, got {self.zero!r:.200}")
        choose("schedule", self.schedule, ("1f1b", "gpipe", "interleaved"))
        choose("recompute", self.recompute, POLICIES)
        choose("context_by", self.context_by, CONTEXT_BY)
        for name in ("sequence", "whole_experts"):
            if not isinstance(getattr(self, name), (bool, np.bool_)):
                text = f"{name} must be True or False, got {getattr(self, name)!r}"
                raise TypeError(text)
        recipe_of(self.recipe)
        if sorted(self.order) != sorted(ORDER) or self.order[:2] != ORDER[:2]:
            text = f"order must have {', '.join(ORDER)}, tensor and context first"
            raise ValueError(f"{text}, got {self.order!r:.200}")
        if not np.all(np.asarray(self.imbalance) >= 1):
            raise ValueError(f"imbalance must be at least 1, got {self.imbalance!r}")

    @property
    def devices(self) -> Any:
        """How many it is for."""
        return self.tensor * self.context * self.pipeline * self.data

    @property
    def ordered(self) -> str:
        """The order of a pipeline's passes: chunks make 1F1B interleaved."""
        return "interleaved" if self.chunks > 1 and self.schedule == "1f1b" else self.schedule

    def with_(self, **changes: Any) -> Any:
        """The same plan with some of it changed.

        >>> Degrees(tensor=8).with_(data=2).devices
        16
        """
        return replace(self, **changes)
