"""Chapter 3: the kinds of layer that models of today are made of.

A layer is a list of parts. A part that mixes tokens (attention, a scan, a convolution) or works on
each alone (a feed-forward layer, a mixture of experts) says three things about itself:

- the steps that treat all tokens alike, before and after the mixing: a table of `PerToken`;
- the ops that mix tokens, for a pass over new tokens that follow cached ones;
- what it keeps for later tokens: `Cache`, a number of elements for each token, or a state that
never grows.

A `Block` is a number of layers with the same parts, and a model is blocks in a given order. Every
number can be an int, an array or a symbol, as everywhere.
"""

from costlib.layers.attention_kinds import (
    ConvolvedAttention,
    DifferentialAttention,
    RoutedAttention,
    ValueMaskedAttention,
)
from costlib.layers.by_tokens import Attending
from costlib.layers.compressed import CompressedAttention
from costlib.layers.encoder import Encoder, WhereSeen
from costlib.layers.feed import Mixture, Mlp
from costlib.layers.grouped_attention import Attention
from costlib.layers.indexer import Indexer
from costlib.layers.latent import Latent
from costlib.layers.parts import (
    Block,
    Cache,
    Part,
    Pass,
    PerToken,
    elementwise,
    linear_step,
    normalisation,
)
from costlib.layers.scans import (
    RGLRU,
    ChannelConvolution,
    DeltaRule,
    LightningAttention,
    Mamba,
    Mamba2,
    ShortConvolution,
    TimeMix,
)

__all__ = [
    "Attending",
    "Attention",
    "Block",
    "Cache",
    "ChannelConvolution",
    "ConvolvedAttention",
    "CompressedAttention",
    "DeltaRule",
    "DifferentialAttention",
    "Encoder",
    "Indexer",
    "Latent",
    "LightningAttention",
    "Mamba",
    "Mamba2",
    "Mixture",
    "Mlp",
    "Part",
    "Pass",
    "PerToken",
    "RGLRU",
    "RoutedAttention",
    "ShortConvolution",
    "TimeMix",
    "ValueMaskedAttention",
    "WhereSeen",
    "elementwise",
    "linear_step",
    "normalisation",
]
