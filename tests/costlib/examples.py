"""Models that several tests begin with."""

from costlib.model.transformer import Transformer

#: Llama 2 7B by its sizes.
LLAMA_2_7B = Transformer(layers=32, d_model=4096, heads=32, d_ff=11008, vocab=32000)
