"""Small models of many families: sizes made up, no two alike, the rest as the class has it."""

from typing import Any

BASE = {
    "vocab_size": 320,
    "hidden_size": 64,
    "intermediate_size": 112,
    "num_hidden_layers": 4,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 512,
    "pad_token_id": 0,
}
OLD = {"vocab_size": 320, "n_positions": 512, "n_embd": 64, "n_layer": 3, "n_head": 4}
LATENT = {
    "num_key_value_heads": 4,
    "kv_lora_rank": 32,
    "q_lora_rank": 40,
    "qk_nope_head_dim": 16,
    "qk_rope_head_dim": 8,
    "v_head_dim": 20,
}
ALIKE = {"num_key_value_heads": ...}  # as many heads of keys as of queries
INDEX = {"index_n_heads": 3, "index_head_dim": 24, "index_topk": 8}
ROUTED = {"n_routed_experts": 8, "num_experts_per_tok": 2, "moe_intermediate_size": 40}
GROUPS = {"n_group": 1, "topk_group": 1}
EXPERTS = {"num_experts": 8, "num_experts_per_tok": 2, "moe_intermediate_size": 40}
SHARED = {"shared_expert_intermediate_size": 36}
DELTA = {  # linear attention by the gated delta rule
    "linear_conv_kernel_dim": 4,
    "linear_key_head_dim": 16,
    "linear_value_head_dim": 12,
    "linear_num_key_heads": 2,
    "linear_num_value_heads": 4,
}
TRANSLATOR = {
    "vocab_size": 320,
    "d_model": 64,
    "encoder_layers": 2,
    "decoder_layers": 3,
    "encoder_ffn_dim": 112,
    "decoder_ffn_dim": 96,
    "encoder_attention_heads": 4,
    "decoder_attention_heads": 8,
    "max_position_embeddings": 256,
    "pad_token_id": 0,
}
T5 = {
    "vocab_size": 320,
    "d_model": 64,
    "d_kv": 12,
    "d_ff": 112,
    "num_layers": 2,
    "num_decoder_layers": 3,
    "num_heads": 4,
}


def decoder(kind: str, *parts: dict[str, Any], **sizes: Any) -> dict[str, Any]:
    """A decoder of the usual spelling, with the fields of `parts` and of its own.

    A field given as `...` is left out: its code does not read it.
    """
    made = {"model_type": kind, **BASE}
    for part in (*parts, sizes):
        made |= part
    return {name: value for name, value in made.items() if value is not ...}


def layers(pattern: str) -> list[str]:
    """Layer types by their initials: full, sliding, linear, indexed."""
    words = {"f": "full", "s": "sliding", "l": "linear", "i": "indexed"}
    return [f"{words[letter]}_attention" for letter in pattern]


def mixtures(pattern: str) -> list[str]:
    """Feed-forward types by their initials: dense, sparse."""
    return [{"d": "dense", "s": "sparse"}[letter] for letter in pattern]


def wrapper(kind: str, text: dict[str, Any], **more: Any) -> dict[str, Any]:
    """A language model inside one that also sees or hears."""
    return {"model_type": kind, "text_config": text, **more}


ENTRIES: dict[str, dict[str, Any]] = {
    # decoders of the plain kind
    "bitnet": decoder("bitnet"),
    "biogpt": decoder("biogpt", ALIKE),
    "codegen": {"model_type": "codegen", **OLD, "rotary_dim": 8},
    "cohere-bias": decoder("cohere", attention_bias=True),
    "ctrl": {"model_type": "ctrl", **OLD, "dff": 112},
    "diffllama": decoder("diffllama", head_dim=24),
    "gemma": decoder("gemma", head_dim=24),
    "glm4": decoder("glm4", head_dim=24),
    "gpt-neo": {
        "model_type": "gpt_neo",
        "vocab_size": 320,
        "max_position_embeddings": 512,
        "hidden_size": 64,
        "num_layers": 4,
        "attention_types": [[["global", "local"], 2]],
        "num_heads": 4,
        "window_size": 16,
    },
    "gpt-neox": decoder("gpt_neox", ALIKE),
    "gpt-neox-japanese": decoder("gpt_neox_japanese", ALIKE, intermediate_size=...),
    "gptj-inner": {"model_type": "gptj", **OLD, "rotary_dim": 8, "n_inner": 112},
    "gpt-neox-serial": decoder(
        "gpt_neox", ALIKE, use_parallel_residual=False, tie_word_embeddings=True
    ),
    "glm4-unbiased": decoder("glm4", head_dim=16, attention_bias=False),
    "helium": decoder("helium", head_dim=16),
    "hyperclovax": decoder("hyperclovax", head_dim=24),
    "internlm3": decoder("internlm3", head_dim=24),
    "iquestcoder": decoder("iquestcoder", head_dim=24),
    "jais2": decoder("jais2", head_dim=24),
    "mistral": decoder("mistral", head_dim=24, sliding_window=16),
    "mistral-full": decoder("mistral", head_dim=20, sliding_window=None),
    "openai-gpt": {"model_type": "openai-gpt", **OLD},
    "persimmon": decoder("persimmon", ALIKE),
    "phi-biased": decoder("phi", qk_layernorm=True),
    "xglm": {
        "model_type": "xglm",
        "vocab_size": 320,
        "max_position_embeddings": 512,
        "d_model": 64,
        "ffn_dim": 112,
        "num_layers": 3,
        "attention_heads": 4,
    },
    # windows in some layers
    "cwm": decoder("cwm", head_dim=24, sliding_window=16, layer_types=layers("fssf")),
    "granite-swa": decoder("granite_swa", sliding_window=16, layer_types=layers("fssf")),
    "modernbert-decoder": decoder(
        *("modernbert-decoder", ALIKE),
        local_attention=32,
        layer_types=layers("fssf"),
        cls_token_id=1,
    ),
    "olmo3": decoder("olmo3", sliding_window=16, layer_types=layers("sssf")),
    "vaultgemma": decoder("vaultgemma", head_dim=24, sliding_window=16),
    # mixtures of experts
    "beam": decoder(
        *("beam", EXPERTS, GROUPS),
        head_dim=24,
        sliding_window=16,
        layer_types=layers("sssf"),
        mlp_layer_types=mixtures("ddss"),
    ),
    "cohere2-moe": decoder(
        "cohere2_moe",
        num_experts=8,
        num_experts_per_tok=2,
        num_shared_experts=1,
        head_dim=24,
        sliding_window=16,
        layer_types=layers("sssf"),
        mlp_layer_types=mixtures("dsss"),
        prefix_dense_intermediate_size=80,
    ),
    "dbrx": {
        "model_type": "dbrx",
        "vocab_size": 320,
        "d_model": 64,
        "n_heads": 4,
        "n_layers": 3,
        "max_seq_len": 512,
        "attn_config": {"kv_n_heads": 2, "clip_qkv": 8, "rope_theta": 10000.0},
        "ffn_config": {
            "ffn_hidden_size": 40,
            "hidden_size": 64,
            "moe_num_experts": 6,
            "moe_top_k": 2,
        },
    },
    "doge": decoder("doge", keep_window_size=64),
    "flint": decoder(
        *("flint", EXPERTS, SHARED),
        head_dim=24,
        sliding_window=16,
        layer_types=layers("ffss"),
        mlp_only_layers=[0],
    ),
    "granitemoe-swa": decoder(
        "granitemoe_swa",
        num_local_experts=6,
        num_experts_per_tok=2,
        shared_intermediate_size=48,
        sliding_window=16,
        layer_types=layers("fssf"),
    ),
    "kolibri1": decoder(
        *("kolibri1", SHARED),
        intermediate_size=...,
        num_local_experts=8,
        num_experts_per_tok=2,
        moe_intermediate_size=40,
        head_dim=24,
        sliding_window=16,
        layer_types=layers("sssf"),
    ),
    "laguna": decoder(
        *("laguna", EXPERTS, SHARED),
        head_dim=24,
        sliding_window=16,
        layer_types=layers("fssf"),
        mlp_layer_types=mixtures("dsss"),
        num_attention_heads_per_layer=[4, 6, 6, 4],
    ),
    "laguna-ungated": decoder(
        *("laguna", EXPERTS, SHARED),
        head_dim=20,
        gating=False,
        sliding_window=24,
        layer_types=layers("ffsf"),
        mlp_layer_types=mixtures("ssss"),
        num_attention_heads_per_layer=[4, 4, 6, 4],
    ),
    "mellum": decoder(
        "mellum",
        num_local_experts=8,
        num_experts_per_tok=2,
        moe_intermediate_size=40,
        head_dim=24,
        sliding_window=16,
        layer_types=layers("fssf"),
        mlp_layer_types=mixtures("dsss"),
    ),
    # latent attention, with and without an indexer
    "axk1": decoder("axk1", LATENT, ROUTED, GROUPS, mlp_layer_types=mixtures("dsss")),
    "axk2": decoder(
        *("axk2", LATENT, ROUTED, INDEX),
        mlp_layer_types=mixtures("dsss"),
        layer_types=layers("iiii"),
        gated_norm_rank=6,
    ),
    "dots3-note-text": decoder(
        *("dots3_note_text", LATENT, ROUTED, GROUPS, INDEX),
        mlp_layer_types=mixtures("dsss"),
        layer_types=layers("issi"),
        sliding_window=16,
        head_dim=24,
        shared_experts_intermediate_size=36,
        per_layer_config={},
    ),
    "hy-v4": decoder(
        *("hy_v4", LATENT, ROUTED, GROUPS, INDEX),
        mlp_layer_types=mixtures("dsss"),
        layer_types=layers("iiii"),
        indexer_types=["full", "full", "shared", "shared"],
    ),
    "longcat-flash": {
        **{k: v for k, v in BASE.items() if k not in ("num_hidden_layers", "intermediate_size")},
        **LATENT,
        "model_type": "longcat_flash",
        "head_dim": 8,
        "num_layers": 2,
        "ffn_hidden_size": 112,
        "expert_ffn_hidden_size": 40,
        "n_routed_experts": 8,
        "zero_expert_num": 0,
        "moe_topk": 3,
    },
    # layers that keep a state
    "jamba": decoder(
        "jamba",
        num_hidden_layers=6,
        num_experts=4,
        num_experts_per_tok=2,
        attn_layer_period=3,
        attn_layer_offset=1,
        mamba_d_state=12,
        mamba_dt_rank=10,
        use_mamba_kernels=False,
    ),
    "kimi-linear-full-first": decoder(
        *("kimi_linear", LATENT),
        q_lora_rank=40,
        moe_intermediate_size=40,
        num_experts=6,
        num_experts_per_token=3,
        num_shared_experts=2,
        linear_head_dim=16,
        linear_num_heads=3,
        linear_conv_kernel_dim=3,
        layer_types=layers("flfl"),
        mlp_layer_types=mixtures("ddss"),
    ),
    "kimi-linear": decoder(
        *("kimi_linear", LATENT),
        q_lora_rank=None,
        moe_intermediate_size=40,
        num_experts=8,
        num_experts_per_token=2,
        linear_head_dim=12,
        linear_num_heads=4,
        layer_types=layers("lllf"),
        mlp_layer_types=mixtures("dsss"),
    ),
    "mamba": {
        "model_type": "mamba",
        "vocab_size": 320,
        "hidden_size": 64,
        "state_size": 12,
        "num_hidden_layers": 3,
        "time_step_rank": 10,
    },
    "qwen3-5-text": decoder(
        "qwen3_5_text", DELTA, head_dim=24, layer_types=layers("lllf"), tie_word_embeddings=True
    ),
    "qwen3-next": decoder(
        *("qwen3_next", EXPERTS, SHARED, DELTA), head_dim=24, layer_types=layers("lllf")
    ),
    "qwen3-next-mixed": decoder(
        *("qwen3_next", EXPERTS, SHARED, DELTA),
        head_dim=20,
        layer_types=layers("lflf"),
        mlp_only_layers=[1],
        linear_conv_kernel_dim=3,
    ),
    "rwkv": {
        "model_type": "rwkv",
        "vocab_size": 320,
        "context_length": 512,
        "hidden_size": 64,
        "attention_hidden_size": 64,
        "intermediate_size": 112,
        "num_hidden_layers": 3,
    },
    "zamba": decoder(
        "zamba",
        num_hidden_layers=6,
        attention_hidden_size=128,
        attention_head_dim=32,
        num_key_value_heads=4,
        n_mamba_heads=2,
        mamba_d_state=12,
        mamba_dt_rank=10,
        attn_layer_period=3,
        attn_layer_offset=2,
        use_mamba_kernels=False,
    ),
    # short convolutions, several streams, loops
    "hrm-text": decoder("hrm_text", ALIKE, num_hidden_layers=2, head_dim=16),
    "inkling-text": decoder(
        *("inkling_text", ROUTED),
        head_dim=24,
        swa_num_attention_heads=4,
        swa_num_key_value_heads=4,
        swa_head_dim=20,
        sliding_window_size=16,
        d_rel=6,
        rel_extent=32,
        layer_types=["hybrid_sliding", "hybrid_sliding", "hybrid_sliding", "hybrid"],
        mlp_layer_types=mixtures("dsss"),
    ),
    "inkling2-text": decoder(
        *("inkling2_text", ROUTED),
        unpadded_vocab_size=316,
        head_dim=24,
        swa_num_attention_heads=4,
        swa_num_key_value_heads=4,
        swa_head_dim=20,
        sliding_window_size=16,
        d_rel=6,
        rel_extent=32,
        layer_types=["hybrid_sliding", "hybrid_sliding", "hybrid_sliding", "hybrid"],
        n_layers_per_attn_res_block=2,
    ),
    "qwen4-exp-text": decoder(
        *("qwen4_exp_text", EXPERTS, SHARED, DELTA),
        intermediate_size=...,
        head_dim=24,
        layer_types=layers("llli"),
        hc_lowrank=10,
        indexer_n_heads=4,
        indexer_kv_heads=1,
        indexer_head_dim=24,
        indexer_budget=64,
        indexer_compress_ratio=4,
    ),
    # a language model among towers
    "cohere2-vision": wrapper("cohere2_vision", decoder("cohere2", head_dim=24, sliding_window=16)),
    "ernie4-5-vl-moe": wrapper(
        "ernie4_5_vl_moe",
        decoder(
            "ernie4_5_vl_moe_text",
            rope_parameters={"mrope_section": [3, 3, 2], "rope_theta": 10000.0},
            moe_num_experts=8,
            moe_k=2,
            moe_intermediate_size=[40, 24],
            moe_num_shared_experts=1,
            mlp_layer_types=mixtures("dsss"),
        ),
    ),
    "exaone4-5": wrapper(
        "exaone4_5", decoder("exaone4", head_dim=24, sliding_window=16, layer_types=layers("sssf"))
    ),
    "glm4v": wrapper("glm4v", decoder("glm4v_text", rope_parameters={"mrope_section": [2, 3, 3]})),
    "glm4v-moe": wrapper(
        "glm4v_moe",
        decoder(
            *("glm4v_moe_text", ROUTED, GROUPS),
            first_k_dense_replace=1,
            rope_parameters={"mrope_section": [1, 1, 2], "partial_rotary_factor": 0.5},
        ),
    ),
    "glm-ocr": wrapper(
        "glm_ocr", decoder("glm_ocr_text", rope_parameters={"mrope_section": [2, 3, 3]})
    ),
    "lfm2-vl": wrapper(
        "lfm2_vl", decoder("lfm2", layer_types=["conv", "conv", "full_attention", "conv"])
    ),
    "muse-glimmer": wrapper(
        "muse_glimmer", decoder("muse_glimmer_text", head_dim=24, sliding_window=16)
    ),
    "qwen2-audio": wrapper("qwen2_audio", decoder("qwen2")),
    "voxtral": wrapper("voxtral", decoder("llama")),
    "glm5-next": wrapper(
        "glm5_next",
        decoder(
            *("glm5_next_text", LATENT, ROUTED, GROUPS, INDEX),
            qk_rope_head_dim=0,
            index_topk=32,
            linear_head_dim=12,
            linear_num_heads=4,
            mlp_layer_types=mixtures("dsss"),
            layer_types=layers("llli"),
        ),
    ),
    "internvl": wrapper("internvl", decoder("qwen2")),
    "kimi-k25": wrapper(
        "kimi_k25", decoder("deepseek_v3", LATENT, ROUTED, GROUPS, first_k_dense_replace=1)
    ),
    "llava": wrapper("llava", decoder("llama")),
    "mistral-large4": wrapper(
        "mistral_large4",
        decoder("mistral_large4_text", LATENT, ROUTED, GROUPS, INDEX, q_lora_rank=...),
    ),
    "mllama": wrapper("mllama", decoder("mllama_text_model", cross_attention_layers=[1])),
    "muse-spark": wrapper(
        "muse_spark",
        decoder(
            "muse_spark_text",
            head_dim=24,
            sliding_window=16,
            moe_hidden_size=48,
            num_local_experts=8,
            num_experts_per_tok=2,
            moe_intermediate_size=40,
        ),
        audio_config={"out_hidden_size": 64},
        vision_config={"out_hidden_size": 64},
    ),
    "paligemma": wrapper("paligemma", decoder("gemma", head_dim=24)),
    "qwen2-vl": wrapper(
        "qwen2_vl", decoder("qwen2_vl_text", rope_parameters={"mrope_section": [2, 3, 3]})
    ),
    "qwen3-5": wrapper(
        "qwen3_5", decoder("qwen3_5_text", DELTA, head_dim=24, layer_types=layers("lllf"))
    ),
    "smolvlm": wrapper("smolvlm", decoder("llama")),
    # encoders, and encoders with decoders
    "electra": decoder("electra", ALIKE, embedding_size=40),
    "xlm-roberta": decoder("xlm-roberta", ALIKE),
    "m2m-100": {"model_type": "m2m_100", **TRANSLATOR},
    "marian": {"model_type": "marian", **TRANSLATOR, "decoder_vocab_size": 320},
    "mbart": {"model_type": "mbart", **TRANSLATOR},
    "pegasus": {"model_type": "pegasus", **TRANSLATOR},
    "mt5": {"model_type": "mt5", **T5},
    "umt5": {"model_type": "umt5", **T5},
}
