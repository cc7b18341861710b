"""Cases of the tests of trees on real networks: tiny networks of several families, and random trees."""

import random
from typing import Any

import numpy as np
import torch

from constrain.models.hf import HFModel

WIDTH = 300


def tiny(name: str, layers: int = 2) -> Any:
    """A random network of a family, with a vocabulary of 300; in float64."""
    import transformers as hf

    torch.manual_seed(len(name))
    shape = {
        "vocab_size": WIDTH, "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": layers,
        "num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 256, "initializer_range": 0.3,
        "bos_token_id": None, "eos_token_id": 7, "pad_token_id": None,
    }  # fmt: skip
    families = {
        "llama": lambda: hf.LlamaForCausalLM(hf.LlamaConfig(**shape)),
        "qwen2": lambda: hf.Qwen2ForCausalLM(hf.Qwen2Config(**shape)),
        "qwen3": lambda: hf.Qwen3ForCausalLM(hf.Qwen3Config(**shape, head_dim=8)),
        "mistral": lambda: hf.MistralForCausalLM(hf.MistralConfig(**shape, sliding_window=None)),
        "gemma": lambda: hf.GemmaForCausalLM(hf.GemmaConfig(**shape, head_dim=8)),
        "gpt2": lambda: hf.GPT2LMHeadModel(
            hf.GPT2Config(vocab_size=WIDTH, n_embd=32, n_layer=layers, n_head=2, n_positions=256, initializer_range=0.3)
        ),
        "windows": lambda: hf.MistralForCausalLM(hf.MistralConfig(**shape, sliding_window=4)),
        "gemma3": lambda: hf.Gemma3ForCausalLM(
            hf.Gemma3TextConfig(
                **shape, head_dim=8, sliding_window=4, layer_types=["sliding_attention", "full_attention"]
            )
        ),
        # Beside them, one that reads chains only.
        "bloom": lambda: hf.BloomForCausalLM(
            hf.BloomConfig(vocab_size=WIDTH, hidden_size=32, n_layer=2, n_head=4, initializer_range=0.3)
        ),
    }
    return families[name]().double().eval()


TREES = ["llama", "qwen2", "qwen3", "mistral", "gemma", "gpt2"]
WINDOWS = ["windows", "gemma3"]  # in all layers, and in every second one


def alone(handle: HFModel, ids: list[int]) -> torch.Tensor:
    """Logits after a sequence: no batch, no cache, no tree."""
    with torch.inference_mode():
        return handle.model(input_ids=torch.tensor([ids]), use_cache=False).logits[0, -1]


def random_tree(rng: random.Random, nodes: int, chain: bool) -> tuple[np.ndarray, np.ndarray]:
    parents = [i - 1 if chain else rng.randint(-1, i - 1) for i in range(nodes)]
    return np.array([rng.randrange(WIDTH) for _ in range(nodes)], np.int32), np.array(parents, np.int32)


def paths_to(tokens: np.ndarray, parents: np.ndarray) -> list[list[int]]:
    """The nodes on the way to each node."""
    paths: list[list[int]] = []
    for node, parent in enumerate(parents.tolist()):
        paths.append([*(paths[parent] if parent >= 0 else []), node])
    return paths
