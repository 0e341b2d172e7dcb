"""Small models of families that a published config does not show: sizes made up, rest default."""

ENTRIES = {
    "codegen": {
        "model_type": "codegen", "vocab_size": 320, "n_positions": 512, "n_embd": 64,
        "n_layer": 3, "n_head": 4, "rotary_dim": 8,
    },
    "gpt-neo": {
        "model_type": "gpt_neo", "vocab_size": 320, "max_position_embeddings": 512,
        "hidden_size": 64, "num_layers": 4, "attention_types": [[["global", "local"], 2]],
        "num_heads": 4, "window_size": 16,
    },
}  # fmt: skip
