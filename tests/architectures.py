"""Tiny random networks of the families of causal language models in transformers, and how each is read.

A row of `FAMILIES` is the type of a configuration and what is said to it beside `SHAPE`.
"""

from typing import Any

import torch

SHAPE: dict[str, Any] = {
    "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4,
    "num_key_value_heads": 2, "max_position_embeddings": 256, "initializer_range": 0.2, "bos_token_id": None,
    "pad_token_id": None, "tie_word_embeddings": False,
}  # fmt: skip
OLD = {"n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 256, "initializer_range": 0.2}  # as GPT-2's says it
EXPERTS = {"num_local_experts": 4, "num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 24}
WINDOW = {"sliding_window": 4, "layer_types": ["sliding_attention", "full_attention"]}
MLA = {"q_lora_rank": 16, "kv_lora_rank": 16, "qk_rope_head_dim": 8, "qk_nope_head_dim": 8, "v_head_dim": 8}
MIXED = {"num_hidden_layers": 4}
STATE = {
    "mamba_d_state": 8, "mamba_d_conv": 4, "mamba_expand": 2, "mamba_n_heads": 8, "mamba_d_head": 8,
    "mamba_n_groups": 1, "mamba_chunk_size": 4, "mamba_dt_rank": 4, "use_mamba_kernels": False,
}  # fmt: skip
DELTA = {
    "linear_num_key_heads": 2, "linear_num_value_heads": 4, "linear_key_head_dim": 8, "linear_value_head_dim": 8,
    "linear_conv_kernel_dim": 4, "layer_types": ["linear_attention", "full_attention"],
}  # fmt: skip

FAMILIES: dict[str, dict[str, Any]] = {
    # keys and values of every token
    "llama": {},
    "qwen2": {},
    "qwen3": {"head_dim": 8},
    "qwen3_moe": {**EXPERTS, "head_dim": 8},
    "mixtral": EXPERTS,
    "gemma": {"head_dim": 8},
    "phi": {},
    "phi3": {},
    "gpt2": OLD,
    "gpt_neox": {},
    "gptj": {**OLD, "rotary_dim": 4},
    "codegen": {**OLD, "rotary_dim": 4},
    "opt": {"ffn_dim": 48, "word_embed_proj_dim": 32, "init_std": 0.2},
    "biogpt": {},
    "bloom": {"n_layer": 2, "n_head": 4},
    "falcon": {"alibi": False},
    "mpt": {"d_model": 32, "n_heads": 4, "n_layers": 2, "max_seq_len": 256},
    "stablelm": {},
    "olmo2": {},
    "olmoe": EXPERTS,
    "cohere": {},
    "granite": {},
    "granitemoe": EXPERTS,
    "starcoder2": {},
    "gpt_bigcode": OLD,
    "deepseek_v2": {**MLA, "n_routed_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 24, "n_group": 1,
                    "topk_group": 1, "num_key_value_heads": 4, "head_dim": 8, "first_k_dense_replace": 1},
    "deepseek_v3": {**MLA, "n_routed_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 24, "n_group": 1,
                    "topk_group": 1, "num_key_value_heads": 4, "head_dim": 8, "first_k_dense_replace": 1},
    "minicpm3": {**MLA, "num_key_value_heads": 4, "head_dim": 16},
    "glm4": {"head_dim": 8},
    "nemotron": {},
    "smollm3": {},
    "helium": {"head_dim": 8},
    "ernie4_5": {},
    "seed_oss": {"head_dim": 8},
    "persimmon": {},
    "diffllama": {},
    "xglm": {"d_model": 32, "ffn_dim": 48, "num_layers": 2, "attention_heads": 4, "init_std": 0.2},
    "jetmoe": {**EXPERTS, "kv_channels": 8, "num_key_value_heads": 2, "num_attention_heads": 4},
    # decoders made of encoders
    "bert": {"is_decoder": True},
    "roberta": {"is_decoder": True, "pad_token_id": 1},
    "bart": {"d_model": 32, "decoder_layers": 2, "decoder_attention_heads": 4, "decoder_ffn_dim": 48, "init_std": 0.2},
    # windows
    "mistral": {"sliding_window": 4},
    "gemma2": {"head_dim": 8, **WINDOW},
    "gemma3_text": {"head_dim": 8, **WINDOW},
    "gemma3n_text": {"head_dim": 8, **WINDOW, "num_kv_shared_layers": 0, "vocab_size_per_layer_input": 300,
                     "hidden_size_per_layer_input": 8, "laurel_rank": 4, "activation_sparsity_pattern": [0.0, 0.0]},
    "cohere2": WINDOW,
    "gpt_oss": {**EXPERTS, **WINDOW, "head_dim": 8, "num_local_experts": 4},
    "olmo3": WINDOW,
    "exaone4": WINDOW,
    "llama4_text": {**EXPERTS, "head_dim": 8, "attention_chunk_size": 4, "intermediate_size_mlp": 48,
                    "layer_types": ["chunked_attention", "full_attention"], "moe_layers": [1]},
    "gpt_neo": {"hidden_size": 32, "num_layers": 2, "num_heads": 4, "attention_types": [[["global", "local"], 1]],
                "window_size": 4},
    "modernbert-decoder": {"pad_token_id": 0, "bos_token_id": 1, "local_attention": 4, **WINDOW},
    # recurrent states
    "mamba": {"state_size": 8},
    "falcon_mamba": {"state_size": 8},
    "mamba2": {"state_size": 8, "head_dim": 16, "num_heads": 4, "n_groups": 1, "chunk_size": 4},
    "rwkv": {"attention_hidden_size": 32, "context_length": 256},
    "xlstm": {"hidden_size": 128, "embedding_dim": 128, "num_blocks": 2, "num_heads": 4, "chunk_size": 4},
    # both
    "recurrent_gemma": {"lru_width": 32, "attention_window_size": 8, "num_hidden_layers": 3, "head_dim": 8,
                        "block_types": ["recurrent", "recurrent", "attention"]},
    "jamba": {**MIXED, **STATE, "num_experts": 4, "num_experts_per_tok": 2, "attn_layer_period": 2,
              "attn_layer_offset": 1, "expert_layer_period": 2, "expert_layer_offset": 1},
    "bamba": {**MIXED, **STATE, "attn_layer_indices": [1, 3], "attn_rotary_emb": 4},
    "zamba": {**MIXED, **STATE, "attention_head_dim": 16, "attention_hidden_size": 64, "n_mamba_heads": 2,
              "layers_block_type": ["mamba", "hybrid", "mamba", "hybrid"]},
    "zamba2": {**MIXED, **STATE, "attention_head_dim": 16, "n_mamba_heads": 8, "mamba_headdim": 8, "mamba_ngroups": 1,
               "chunk_size": 4, "num_mem_blocks": 1, "layers_block_type": ["mamba", "hybrid", "mamba", "hybrid"],
               "use_shared_attention_adapter": False},
    "falcon_h1": {**STATE, "mamba_d_ssm": 64, "head_dim": 8},
    "granitemoehybrid": {**MIXED, **STATE, **EXPERTS, "shared_intermediate_size": 24,
                         "layer_types": ["mamba", "attention", "mamba", "attention"]},
    "nemotron_h": {**STATE, "head_dim": 8, "mamba_num_heads": 8, "mamba_head_dim": 8, "ssm_state_size": 8,
                   "n_groups": 1, "chunk_size": 4, "layers_block_type": ["mamba", "attention", "mlp", "mamba"]},
    "lfm2": {"conv_L_cache": 3, "block_ff_dim": 48, "layer_types": ["conv", "full_attention"]},
    "qwen3_next": {**DELTA, **EXPERTS, "head_dim": 8, "shared_expert_intermediate_size": 24},
    "minimax": {**EXPERTS, "head_dim": 8, "layer_types": ["linear_attention", "full_attention"], "block_size": 4},
    "olmo_hybrid": DELTA,
    "kimi_linear": {**DELTA, **MLA, **EXPERTS, "head_dim": 8, "num_key_value_heads": 4, "linear_head_dim": 8,
                    "linear_num_heads": 4},
    # nothing to remember
    "openai-gpt": {"n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 256},
    "ctrl": {"n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 256, "dff": 48},
}  # fmt: skip

BART = {
    "d_model": 32, "encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 4, "decoder_attention_heads": 4,
    "encoder_ffn_dim": 48, "decoder_ffn_dim": 48, "init_std": 0.2, "decoder_start_token_id": 2, "pad_token_id": 0,
    "forced_eos_token_id": None, "max_position_embeddings": 256,
}  # fmt: skip
T5 = {
    "d_model": 32, "d_kv": 8, "d_ff": 48, "num_layers": 2, "num_heads": 4, "decoder_start_token_id": 0,
    "tie_word_embeddings": False,
}  # fmt: skip
PART = {  # an encoder or a decoder of T5Gemma
    **SHAPE, "head_dim": 8, "vocab_size": 300, "bos_token_id": 2, "pad_token_id": 0, "cross_attention_hidden_size": 32,
    "initializer_range": 0.02,
}  # fmt: skip
ENCODING: dict[str, dict[str, Any]] = {  # encoder-decoders; SHAPE is not said to them
    "t5": T5,
    "mt5": T5,
    "umt5": T5,
    "longt5": T5,
    "switch_transformers": {**T5, "num_experts": 4, "num_sparse_encoder_layers": 1, "num_sparse_decoder_layers": 1},
    "t5gemma": {"encoder": {**PART, **WINDOW}, "decoder": {**PART, **WINDOW}, "decoder_start_token_id": 2},
    "bart": BART,
    "mbart": BART,
    "marian": BART,
    "pegasus": BART,
    "blenderbot": BART,
    "m2m_100": BART,
    "nllb-moe": {**BART, "num_experts": 4},
    "plbart": BART,
    "led": {**BART, "attention_window": 4, "max_encoder_position_embeddings": 256,
            "max_decoder_position_embeddings": 256},
    "bigbird_pegasus": {**BART, "attention_type": "original_full"},
}  # fmt: skip
ENCODING_OFTEN = {"bart"}  # the others are tested with the slow tests

OFTEN = {  # those that differ most; the others are tested with the slow tests
    "llama", "qwen3", "qwen3_moe", "mixtral", "gemma", "phi", "gpt2", "gpt_neox", "gptj", "opt", "bloom", "falcon",
    "mpt", "stablelm", "cohere", "starcoder2", "gpt_bigcode", "deepseek_v3", "mistral", "gemma2", "gemma3_text",
    "gpt_oss", "llama4_text", "gpt_neo", "bert", "bart", "mamba", "mamba2", "rwkv", "xlstm", "recurrent_gemma",
    "jamba", "bamba", "zamba2", "falcon_h1", "lfm2", "qwen3_next", "minimax", "openai-gpt",
}  # fmt: skip


def spread(model: Any) -> Any:
    """The model with no matrix near zero: some families begin so, and nothing would depend on a text."""
    for parameter in model.parameters():
        if parameter.dim() > 1 and float(parameter.detach().std()) < 0.05:
            torch.nn.init.normal_(parameter, std=0.2)
    return model


def build(name: str, width: int, end: int, seed: int = 0) -> Any:
    """A random network of a family; width: of the vocabulary. end: the id of the end of a text."""
    import transformers

    torch.manual_seed(seed)
    config = transformers.AutoConfig.for_model(
        name, **{**SHAPE, "vocab_size": width, "eos_token_id": end, **FAMILIES[name]}
    )
    return spread(transformers.AutoModelForCausalLM.from_config(config).eval())


def build_encoding(name: str, width: int, end: int, seed: int = 0) -> Any:
    """As `build`, of `ENCODING`."""
    import transformers

    torch.manual_seed(seed)
    config = transformers.AutoConfig.for_model(name, **{"vocab_size": width, "eos_token_id": end, **ENCODING[name]})
    return spread(transformers.AutoModelForSeq2SeqLM.from_config(config).eval())


def missing(name: str) -> str | None:
    """The reason why a family is absent; None if it is not."""
    from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES

    return None if name in MODEL_FOR_CAUSAL_LM_MAPPING_NAMES else "the installed transformers does not have it"


def row_of(handle: Any) -> str:
    """The row of docs/models.md: what the model remembers, how a batch is read, how drafts are."""
    reading = handle.reading
    if reading.argument is None:
        memory = "nothing"
    elif reading.axes:
        memory = "states"
    else:
        memory = "keys and values" if handle.may_be_ragged else "keys and values, of a window in some layers"
    if not reading.batched:
        batch = "each row alone"
    elif not reading.padded or reading.argument is None:
        batch = "rows of one length together"
    else:
        batch = "of any lengths" if reading.ragged else "padded"
    drafts = "trees" if handle.branching else "chains"
    steps = "" if reading.chunks else ", token by token"
    return f"| {type(handle.model).__name__} | {memory} | {batch} | {drafts}{steps} |"
