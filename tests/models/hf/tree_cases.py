"""Cases of the tests of trees on real networks: tiny networks of several families, random trees, a random walk."""

import random
from typing import Any

import numpy as np
import torch

from constrain.device.fixed_session import FixedSession
from constrain.models.hf import HFModel
from constrain.models.hf.session import HFSession
from constrain.models.hf.tree import HFTreeSession

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
        return handle.model(input_ids=torch.tensor([ids], device=handle.model.device), use_cache=False).logits[0, -1]


def random_tree(rng: random.Random, nodes: int, chain: bool) -> tuple[np.ndarray, np.ndarray]:
    parents = [i - 1 if chain else rng.randint(-1, i - 1) for i in range(nodes)]
    return np.array([rng.randrange(WIDTH) for _ in range(nodes)], np.int32), np.array(parents, np.int32)


def paths_to(tokens: np.ndarray, parents: np.ndarray) -> list[list[int]]:
    """The nodes on the way to each node."""
    paths: list[list[int]] = []
    for node, parent in enumerate(parents.tolist()):
        paths.append([*(paths[parent] if parent >= 0 else []), node])
    return paths


def walk(handle: HFModel, seed: int, steps: int, tolerance: float, chain: bool = False) -> Any:
    """Random trees and paths for a batch whose rows are dropped, permuted and forked; every logit is checked."""
    rng = random.Random(seed)
    rows: list[list[int]] = [[] for _ in range(3)]
    session = handle.open(len(rows))
    for step in range(steps):
        chunks = [[rng.randrange(WIDTH) for _ in range(rng.randint(1, 6 if step == 0 else 3))] for _ in rows]
        keep = [rng.randint(1, len(chunk)) for chunk in chunks]
        trees = [random_tree(rng, rng.randint(0, 6), chain or rng.random() < 0.2) for _ in rows]
        logits = session.forward(chunks, keep, [tokens for tokens, _ in trees], [parents for _, parents in trees])
        assert len(session.forwards) == len(rows)
        taken = []
        for i, (chunk, kept, (tokens, parents)) in enumerate(zip(chunks, keep, trees, strict=True)):
            rows[i] = [*rows[i], *chunk]
            paths = paths_to(tokens, parents)
            prefixes = [rows[i][: len(rows[i]) - back] for back in range(kept - 1, -1, -1)]
            prefixes += [[*rows[i], *tokens[path].tolist()] for path in paths]
            assert logits[i].shape == (len(prefixes), handle.width)
            for found, prefix in zip(logits[i], prefixes, strict=True):
                expected = alone(handle, prefix)
                assert float((found - expected).abs().max()) < tolerance * max(1.0, float(expected.abs().max()))
            taken.append(rng.choice([[], *paths]))
            rows[i] += tokens[taken[-1]].tolist()
        session.commit(taken)
        check_cache(handle, session, rows)
        if rng.random() < 0.4:
            order = [rng.randrange(len(rows)) for _ in range(rng.randint(1, 4))]
            session.select(order)
            rows = [list(rows[i]) for i in order]
    return session


def check_cache(handle: HFModel, session: Any, rows: list[list[int]]) -> None:
    """Check that a row's cache has the keys and values of its tokens, in order, as if read one by one."""
    if not isinstance(session, HFTreeSession):
        return
    if isinstance(session, FixedSession) and not session.left:
        session = session.fork(range(len(rows)))
        session.leave()
    assert session.slots.lengths.tolist() == [len(row) for row in rows]
    for i, row in enumerate(rows[:2]):
        plain = HFSession(handle, 1)
        plain.feed([row], [1])
        real = session.slots.attention[i].bool()
        for layer, other in zip(session.cache.layers, plain.cache.layers, strict=True):
            for name in ("keys", "values"):
                held = getattr(layer, name)[i]
                if hasattr(layer, "stems"):
                    held = torch.cat([getattr(layer, f"stem_{name}")[layer.stems[i]], held], dim=-2)
                wanted = getattr(other, name)[0]  # of a layer with a window the last ones
                torch.testing.assert_close(held[:, real][:, -wanted.shape[1] :], wanted, rtol=1e-5, atol=1e-5)
