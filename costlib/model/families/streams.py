"""Several residual streams in place of one: what a layer does around its parts.

With hyper-connections each part reads a mixture of streams, and adds to each of them in a measure
of its own. With attention over blocks it reads a mixture of what earlier layers began with.
"""

from __future__ import annotations

from costlib.layers import PerToken, elementwise, linear_step, normalisation
from costlib.layers.matmul import product_flops
from costlib.model.families.config import Config


def streams(c: Config, *, combined: bool = True) -> tuple[PerToken, ...]:
    """Around both parts of a layer; ``combined``: the streams are mixed with one another too."""
    count, d, rounds = c.count("hc_mult", 4), c.d_model, c.count("hc_sinkhorn_iters", 20)
    mixes, wide = count * (2 + count) if combined else 2 * count, count * d
    scales = 3 if combined else 2
    small = (4 * rounds + 4) * count**2 if combined else 4 * mixes
    once = (
        normalisation("hc.norm", wide, "plain_norm"),
        *linear_step("hc.mix", wide, mixes),
        # rows and columns of a small matrix are divided by their sums, again and again
        PerToken("hc.sinkhorn", small, mixes, mixes, weights=mixes + scales),
        elementwise("hc.collapse", 2 * wide, "residual", reads=wide, writes=d),
        *((_combined(count, wide),) if combined else ()),
        elementwise("hc.expand", 2 * wide, "residual", reads=wide + d, writes=wide),
    )
    return tuple(step * 2 for step in once)


def _combined(count: int, wide: int) -> PerToken:
    return PerToken("hc.combine", product_flops(1, count, wide), wide, wide, is_matmul=True)


def streams_head(c: Config) -> tuple[PerToken, ...]:
    """The streams become one before the last norm."""
    count, d = c.count("hc_mult", 4), c.d_model
    return (
        normalisation("hc_head.norm", count * d, "plain_norm"),
        *linear_step("hc_head.mix", count * d, count),
        PerToken("hc_head.scale", 2 * count, weights=count + 1),
        elementwise("hc_head.collapse", 2 * count * d, "residual", reads=count * d, writes=d),
    )


def streams_mean(c: Config) -> tuple[PerToken, ...]:
    """The streams become one, each counting alike."""
    wide = c.count("hc_mult", 4) * c.d_model
    return (elementwise("hc_head.mean", wide, "residual", writes=c.d_model),)


def low_rank_streams(c: Config, *, adds: bool = True) -> tuple[PerToken, ...]:
    """Weights of streams by two narrow projections, and, if it ``adds``, of a part's output."""
    count, d, rank = c.count("hc_count", 4), c.d_model, c.count("hc_lowrank", 320)
    wide = count * d
    inject = (*linear_step("hc.inject", wide, count),) if adds else ()
    expand = elementwise("hc.expand", 2 * wide, "residual", reads=wide + d, writes=wide)
    return (
        normalisation("hc.norm", wide, "rms_norm"),
        *linear_step("hc.down", wide, rank),
        *linear_step("hc.up", rank, wide),
        elementwise("hc.collapse", 2 * wide, "residual", reads=2 * wide, writes=d),
        *inject,
        *((expand,) if adds else ()),
    )


def over_blocks(
    c: Config, name: str, blocks: int, *, queries: int = 1, norm: str = "plain_norm"
) -> tuple[PerToken, ...]:
    """Attention of learned queries to what some earlier layers began with, and to the residual
    stream as it is: a part may read any of them. With no layer before there is nothing to choose.
    """
    d, sources = c.d_model, blocks + 1 if blocks else 0
    weights, met = queries * d, queries * sources
    normed = normalisation(f"{name}.norm", sources * d, norm, d)
    flops = 2 * product_flops(1, d, met)
    chosen = PerToken(name, flops, sources * d, weights, weights=weights, is_matmul=True)
    return (normed, chosen, elementwise(f"{name}.softmax", met, "softmax"))


def begun(i: int, each: int) -> int:
    """Blocks of ``each`` layers that have begun before layer i."""
    return -(-i // each)
