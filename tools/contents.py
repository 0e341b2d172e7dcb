"""The table of contents: the one list of pages, from which everything else is made.

A chapter is one line here. `make sync` writes `_toc.yml`, the front page's list and the list of
addresses from it, `make book` the pages of the API reference, and the tests read it too.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Chapter:
    """A page of the book's road: what it asks, the modules of costlib that answer, and the name of
    the figure that stands for it on the front page.
    """

    name: str
    asks: str
    modules: tuple[str, ...]
    figure: str


@dataclass(frozen=True, slots=True)
class Part:
    """A heading of the contents and what stands below it; chapters are numbered, pages are not."""

    caption: str
    chapters: tuple[Chapter, ...] = ()
    pages: tuple[str, ...] = ()


PARTS = (
    Part(
        "One device",
        chapters=(
            Chapter(
                "matmul",
                "how much work is a matrix product, and when does moving its bytes take longer "
                "than the arithmetic?",
                ("layers.matmul", "units.tally"),
                figure="fig-one-output",
            ),
            Chapter(
                "attention",
                "what does it cost to compare each token with the others, and from what prompt "
                "length do these comparisons take more FLOPs than the products with the weight "
                "matrices?",
                ("layers.attention",),
                figure="fig-attention-one-query",
            ),
            Chapter(
                "transformer",
                "where are a model's parameters, and where are its FLOPs spent?",
                (
                    *("model.transformer", "model.sizes", "model.table", "layers"),
                    *("model.layer_by_layer", "model.families", "model.checkpoint"),
                ),
                figure="fig-transformer-matrices",
            ),
            Chapter(
                "kvcache",
                "what does it cost to keep the keys and values of earlier tokens, and at what "
                "context length does reading them take longer than reading the weights?",
                ("model.kvcache", "model.engines"),
                figure="fig-kvcache-phases",
            ),
            Chapter(
                "roofline",
                "given the datasheet of a device, what is the shortest possible time of an "
                "operation, and what limits it?",
                (
                    "units.device",
                    *(f"timing.{name}" for name in ("roofline", "limits", "waves", "sweeps")),
                    "units.messages",
                ),
                figure="fig-roofline-journey",
            ),
        ),
    ),
    Part(
        "Memory traffic of attention",
        chapters=(
            Chapter(
                "iomodel",
                "how many matrix entries must travel between memory and chip to compute attention, "
                "and how does that depend on the order of the loops in the program?",
                (
                    "iomodel.letters",
                    "iomodel.memory",
                    "iomodel.algorithms",
                    *(f"iomodel.counting.{name}" for name in ("heads", "counts", "block_sizes")),
                    "iomodel.counting.coverage",
                ),
                figure="fig-iomodel-order",
            ),
            Chapter(
                "lowerbounds",
                "how many matrix entries must at least be moved, whatever the order of the "
                "computation, and how close does FlashAttention, a widely used program, come to "
                "this lower bound?",
                (
                    "iomodel.pebbles",
                    *(f"iomodel.counting.{name}" for name in ("bounds", "bounds_backward")),
                    "iomodel.counting.compression",
                ),
                figure="fig-lowerbounds-segment",
            ),
        ),
    ),
    Part(
        "Beyond one device",
        chapters=(
            Chapter(
                "training",
                "what does a training run compute, how much memory does it need, and what will it "
                "cost?",
                ("training",),
                figure="fig-training-lives",
            ),
            Chapter(
                "parallel",
                "how should a model be divided over devices, and when do the links between them "
                "become the limit?",
                ("parallel", "measured.collectives"),
                figure="fig-parallel-experts",
            ),
        ),
    ),
    Part(
        "Serving",
        chapters=(
            Chapter(
                "serving",
                "given a target for latency, how many users can you serve, with how many machines, "
                "and at what price?",
                ("serving",),
                figure="fig-serving-refilled",
            ),
            Chapter(
                "serving_faster",
                "which techniques serve more users within the same targets, and where does each of "
                "them pay?",
                (),
                figure="fig-faster-drafts",
            ),
            Chapter(
                "agents",
                "what do the growing prompts of an agent cost, and what does a step of "
                "reinforcement learning cost?",
                (),
                figure="fig-agents-waves",
            ),
        ),
    ),
    Part(
        "How far to trust the numbers",
        chapters=(
            Chapter(
                "sources",
                "why do five public documents disagree about what a transformer costs, and how "
                "does one list of operations (a ledger) explain each difference?",
                ("sources",),
                figure="fig-sources-notes-decode",
            ),
            Chapter(
                "measured",
                "how far from a measured time is the time that we compute from a datasheet, and "
                "why?",
                (
                    "measured.calibration",
                    "measured.published",
                    "measured.plan_rows",
                    "measured.plans",
                    "measured.runs",
                    "measured.heard",
                    "measured.gpus",
                    "measured.starts",
                    "measured.logs",
                    "measured.tables",
                    "measured.served",
                    "measured.serving_facts",
                    "measured.timing",
                ),
                figure="fig-measured-waves",
            ),
        ),
    ),
    Part(
        "Tools",
        pages=("explore_calculator", "explorers"),
    ),
    Part(
        "Look it up",
        pages=(
            "io_bounds",
            "latent",
            "sweeps",
            "notation",
            "glossary",
            "models",
            "your_model",
            "devices",
            "bibliography",
            "tested",
            "instructors",
            "api/index",
        ),
    ),
)

CHAPTERS = tuple(chapter for part in PARTS for chapter in part.chapters)
#: Explorers by what they are about: the gallery has them all, with their pictures.
EXPLORERS = {
    "One device": ("token_film", "users", "memory", "step", "prefill"),
    "A server": ("serving_film", "frontier", "speculative"),
    "Traffic between memory and chip": ("io", "film", "pebbles"),
    "Many devices": ("mesh", "budget"),
}
#: Pages that calculate with what the reader has: on the front page they follow the chapters. Their
#: own figure stands for them, or one of a chapter that says less.
CALCULATORS = {
    "explore_calculator": None,
    "explore_step": ("roofline", "fig-roofline-roofs"),
    "explore_memory": None,
    "explore_mesh": None,
    "explore_frontier": None,
    "explore_budget": None,
}
#: The pages of the API reference, in reading order, and the modules that each describes.
REFERENCE = {
    "vocabulary": (
        *("units.numbers", "units.precision", "units.ledger", "units.unfolded", "units.display"),
    ),
    **{chapter.name: chapter.modules for chapter in CHAPTERS if chapter.modules},
    "catalog": ("model.catalog",),
    "command": ("command",),
}
#: Pages that stand below another one in the side bar.
BELOW = {
    "explorers": tuple(f"explore_{name}" for names in EXPLORERS.values() for name in names),
    "api/index": tuple(f"api/{name}" for name in REFERENCE),
}
#: Titles of those that no chapter gives.
REFERENCE_TITLES = {"vocabulary": "Sizes, ops and ledgers", "catalog": "Models and devices"}
REFERENCE_TITLES |= {"command": "In a terminal"}


def pages() -> tuple[str, ...]:
    """Every page in reading order, relative to book/ and without its ending.

    >>> pages()[:3], pages()[-1]
    (('index', 'matmul', 'attention'), 'api/command')
    """
    listed = [name for part in PARTS for name in (*(c.name for c in part.chapters), *part.pages)]
    return ("index", *(each for name in listed for each in (name, *BELOW.get(name, ()))))
