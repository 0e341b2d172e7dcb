"""Varun Suresh, 2025: a transformer's FLOPs and memory, one new token with a KV cache.

d width, h heads, L layers, V vocabulary; a product is (m×n)·(n×p).

Wrong as published, and right here beside it: the final layer is 2·d·V, not 2·d²·V; a query meets
every cached key, not one; grouped KV heads make the cache smaller; 101 TFLOP/s is a sparse rate.
In its general case the text also swaps the counts of additions and multiplications.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from costlib.model.transformer import Transformer
from costlib.sources.op_groups import ELEMENTWISE, FEED_FORWARD, PROJECTIONS
from costlib.units.ledger import Elements, Ledger, Op
from costlib.units.numbers import Number, exact_div, sizes
from costlib.units.precision import Precision

__all__ = [
    "PUBLISHED",
    "REASONS",
    "RTX_3060_AS_PUBLISHED",
    "Published",
    "attention",
    "corrected_attention",
    "corrected_forward",
    "corrected_kv_bytes",
    "exact_product",
    "forward",
    "kv_bytes",
    "product",
    "sides",
]

REASONS = {
    "flops": (
        ("final layer: d²·V instead of d·V", "(final layer|unembedding) flops"),
        ("output projection: nothing", "(output projection|o_proj) flops"),
        ("q, k, v: full width instead of the real KV heads", f"(q, k, v|{PROJECTIONS}) flops"),
        ("16·d² instead of the real feed-forward layer", f"(ffn|{FEED_FORWARD}) flops"),
        ("attention to the cached tokens, left out", "(scores|softmax|values) flops"),
        ("norms, biases, rotary, activations and residuals, left out", f"{ELEMENTWISE} flops"),
    )
}


@dataclass(frozen=True, slots=True)
class Published:
    """A row of the table: TFLOPs and GB as printed, and the shape they come from."""

    name: str
    L: int
    d: int
    V: int
    teraflops: str
    gigabytes: str
    heads: int
    kv_heads: int
    cut_off: tuple[str, ...] = ()  # the columns whose last digit is cut off, not rounded


#: FLOPs a token and the cache of 1000 tokens, as printed; heads are not in the source.
PUBLISHED = (
    Published("GPT-2 XL", 48, 1600, 50257, "0.260", "0.307", 25, 25),
    Published("Llama 3.1 8B", 32, 4096, 128000, "4.307", "0.524", 32, 8, ("teraflops",)),
    Published("Llama 3.1 405B", 126, 16384, 128000, "69.53", "8.25", 128, 8, ("gigabytes",)),
)

#: FLOP/s in fp16 as published: NVIDIA's figure with sparsity; the dense rate is half.
RTX_3060_AS_PUBLISHED = 101 * 10**12


def exact_product(m: Number, n: Number, p: Number) -> Any:
    """(2n − 1)·m·p: each of m·p outputs takes n multiplications and n − 1 additions.

    >>> exact_product(2, 3, 4), product(2, 3, 4)
    (40, 48)
    """
    m, n, p = sizes(m=m, n=n, p=p)
    return (2 * n - 1) * m * p


def product(m: Number, n: Number, p: Number) -> Any:
    """2·m·n·p, the approximation used from there on.

    >>> product(1, 4096, 128000)  # the final layer of Llama 3.1 8B
    1048576000
    """
    m, n, p = sizes(m=m, n=n, p=p)
    return 2 * m * n * p


def forward(L: Number, d: Number, V: Number) -> Ledger:
    """As published, 24·d²·L + 2·d²·V a token: the last term is wrong.

    >>> forward(32, 4096, 128000).flops  # printed as 4.307 T
    4307852197888
    """
    L, d, V = sizes(L=L, d=d, V=V)
    return _blocks(L, d) + Op("final layer", 2 * d**2 * V, is_matmul=True)


def corrected_forward(L: Number, d: Number, V: Number) -> Ledger:
    """24·d²·L + 2·d·V: the final layer is a vector times a d×V matrix.

    >>> corrected_forward(32, 4096, 128000).flops
    13933477888
    """
    L, d, V = sizes(L=L, d=d, V=V)
    return _blocks(L, d) + Op("final layer", 2 * d * V, is_matmul=True)


def attention(d: Number, h: Number) -> Ledger:
    """As published, 4·d + 2·d·h a layer: one key only, and v of full width for each head.

    >>> attention(4096, 32).flops
    278528
    """
    d, h = sizes(d=d, h=h)
    return Ledger(
        (
            Op("scores", 2 * d, is_matmul=True),
            Op("softmax", 2 * d),
            Op("values", 2 * d * h, is_matmul=True),
        )
    )


def corrected_attention(d: Number, T: Number) -> Ledger:
    """4·d·T a layer: each head meets T keys of width d/h, and T values (no softmax).

    >>> corrected_attention(4096, 1000).flops
    16384000
    """
    d, T = sizes(d=d, T=T)
    return Ledger(tuple(Op(name, 2 * d * T, is_matmul=True) for name in ("scores", "values")))


def kv_bytes(L: Number, d: Number, tokens: Number = 1) -> Any:
    """As published, 4·L·d bytes a token: K and V of full width, 2 bytes each.

    >>> kv_bytes(126, 16384, 1000)
    8257536000
    """
    L, d, tokens = sizes(L=L, d=d, tokens=tokens)
    return 4 * L * d * tokens


def corrected_kv_bytes(
    L: Number, d: Number, heads: Number, kv_heads: Number, tokens: Number = 1
) -> Any:
    """4·L·d·kv_heads/heads bytes a token: 16 times less for Llama 3.1 405B.

    >>> corrected_kv_bytes(126, 16384, 128, 8, 1000)
    516096000
    """
    heads, kv_heads = sizes(heads=heads, kv_heads=kv_heads)
    return exact_div(kv_bytes(L, d, tokens) * kv_heads, heads)


def sides(model: Transformer, T: Number) -> tuple[Ledger, Ledger, Precision]:
    """The source and the model's ledger, decoding one token against T cached.

    >>> model = Transformer(layers=32, d_model=4096, heads=32, d_ff=14336, vocab=128000, kv_heads=8)
    >>> published, ledger, _ = sides(model, T=1)
    >>> published.flops // ledger.flops
    286
    """
    published = forward(model.layers, model.d_model, model.vocab)
    return published, model.decode(1, T, scores="materialised"), Precision()


def _blocks(L: Number, d: Number) -> Ledger:
    weights = {"q, k, v": 3, "output projection": 1, "ffn": 8}
    return Ledger(
        tuple(
            Op(name, 2 * matrices * d**2 * L, Elements(weights=matrices * d**2 * L), is_matmul=True)
            for name, matrices in weights.items()
        )
    )
