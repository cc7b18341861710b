"""Write the reference model as a GGUF file, which llama.cpp reads.

    python scripts/write_gguf.py reference.gguf

Needs the package `gguf`. GGUF names tensors in its own way, and turns the rows of queries and keys so that the two
halves that a rotation mixes stand side by side, as llama.cpp's own converter does (`permute`). The tokenizer is
byte-level BPE that cuts digits one by one, which llama.cpp calls "smollm".
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import gguf
import numpy as np

import constrain

NAMES = {
    "model.embed_tokens.weight": "token_embd.weight",
    "model.norm.weight": "output_norm.weight",
    "self_attn.q_proj.weight": "attn_q.weight",
    "self_attn.k_proj.weight": "attn_k.weight",
    "self_attn.v_proj.weight": "attn_v.weight",
    "self_attn.o_proj.weight": "attn_output.weight",
    "mlp.gate_proj.weight": "ffn_gate.weight",
    "mlp.up_proj.weight": "ffn_up.weight",
    "mlp.down_proj.weight": "ffn_down.weight",
    "input_layernorm.weight": "attn_norm.weight",
    "post_attention_layernorm.weight": "ffn_norm.weight",
}


def write_reference(path: Path) -> None:
    """Write the file."""
    loaded = constrain.reference.load()
    writer = gguf.GGUFWriter(path, "llama")
    write_settings(writer, loaded.model.config)
    write_tokenizer(writer, loaded.tokenizer)
    for name, tensor in loaded.model.state_dict().items():
        if name != "lm_head.weight":  # the same as the embeddings
            writer.add_tensor(gguf_name(name), turned(name, tensor.float().numpy(), loaded.model.config))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def write_settings(writer: gguf.GGUFWriter, config: Any) -> None:
    """The numbers of a Llama."""
    writer.add_name("constrain reference model")
    writer.add_context_length(config.max_position_embeddings)
    writer.add_embedding_length(config.hidden_size)
    writer.add_block_count(config.num_hidden_layers)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_head_count(config.num_attention_heads)
    writer.add_head_count_kv(config.num_key_value_heads)
    writer.add_rope_dimension_count(config.head_dim)
    writer.add_rope_freq_base(config.rope_parameters["rope_theta"])
    writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    writer.add_vocab_size(config.vocab_size)


def write_tokenizer(writer: gguf.GGUFWriter, tokenizer: Any) -> None:
    """Tokens, merges and special tokens."""
    content = json.loads(tokenizer.backend_tokenizer.to_str())
    tokens = sorted(content["model"]["vocab"], key=content["model"]["vocab"].__getitem__)
    special = {token["content"] for token in content["added_tokens"]}
    kinds = [gguf.TokenType.CONTROL if token in special else gguf.TokenType.NORMAL for token in tokens]
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("smollm")
    writer.add_token_list(tokens)
    writer.add_token_types(kinds)
    writer.add_token_merges([" ".join(merge) for merge in content["model"]["merges"]])
    writer.add_eos_token_id(tokenizer.eos_token_id)
    writer.add_bos_token_id(tokenizer.eos_token_id)
    writer.add_add_bos_token(False)
    if tokenizer.chat_template:
        writer.add_chat_template(tokenizer.chat_template)


def gguf_name(name: str) -> str:
    """The name of a tensor in GGUF."""
    if name in NAMES:
        return NAMES[name]
    layer, _, rest = name.removeprefix("model.layers.").partition(".")
    return f"blk.{layer}.{NAMES[rest]}"


def turned(name: str, weight: np.ndarray, config: Any) -> np.ndarray:
    """A tensor as llama.cpp stores it."""
    heads = {"q_proj": config.num_attention_heads, "k_proj": config.num_key_value_heads}
    for part, number in heads.items():
        if f".{part}." in name:
            return weight.reshape(number, 2, -1, weight.shape[1]).swapaxes(1, 2).reshape(weight.shape)
    return weight


if __name__ == "__main__":
    write_reference(Path(sys.argv[1]))
