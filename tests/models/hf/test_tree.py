"""Trees on real networks: whatever the tree, the batch and the paths that are kept, logits are those of the path alone.

Tiny random networks of several families. In float64 the bound is 1e-9, in float32 1e-5 of the largest logit.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from tree_cases import TREES, WINDOWS, alone, check_cache, tiny, walk

from constrain.models.hf import HFModel
from constrain.models.hf.tree import HFTreeSession
from toy_model import tiny_gpt2, tiny_llama, tiny_mistral, tiny_tokenizer


@pytest.fixture(scope="module")
def models() -> dict[str, HFModel]:
    return {name: HFModel(tiny(name), None) for name in [*TREES, *WINDOWS, "bloom"]}


@pytest.mark.parametrize("name", [*TREES, *WINDOWS])
def test_logits_of_a_tree_are_those_of_its_paths(models: dict[str, HFModel], name: str) -> None:
    assert models[name].branching
    for seed in range(2):
        walk(models[name], seed, 6, 1e-9)


@pytest.mark.parametrize("name", [*TREES, *WINDOWS])
@pytest.mark.parametrize("attention", ["eager", "sdpa"])
def test_in_single_precision(name: str, attention: str) -> None:
    model = tiny(name).float()
    model.set_attn_implementation(attention)
    handle = HFModel(model, None)
    assert handle.branching
    walk(handle, 3, 3, 1e-5)


def test_positions_that_count_slots_are_no_good_for_trees(models: dict[str, HFModel]) -> None:
    assert not models["bloom"].branching


def test_a_model_that_misreads_trees_is_found_out() -> None:
    """Masks of four dimensions are taken, and not heeded."""
    model = tiny("llama")
    inner = model.forward

    def forward(input_ids: Any = None, attention_mask: Any = None, **given: Any) -> Any:
        if attention_mask is not None and attention_mask.ndim == 4:
            attention_mask = torch.ones(attention_mask.shape[0], attention_mask.shape[-1])
        return inner(input_ids=input_ids, attention_mask=attention_mask, **given)

    forward.__signature__ = __import__("inspect").signature(inner)  # type: ignore[attr-defined]
    model.forward = forward
    assert not HFModel(model, None).branching


def test_a_model_that_refuses_trees_is_found_out() -> None:
    model = tiny("llama")
    inner = model.forward

    def forward(input_ids: Any = None, attention_mask: Any = None, position_ids: Any = None, **given: Any) -> Any:
        if attention_mask is not None and attention_mask.ndim == 4:
            raise ValueError("no such masks")
        return inner(input_ids=input_ids, attention_mask=attention_mask, position_ids=position_ids, **given)

    model.forward = forward
    handle = HFModel(model, None)
    assert not handle.branching
    walk(handle, 1, 3, 1e-9, chain=True)


def test_what_is_kept_is_what_the_forward_made(models: dict[str, HFModel]) -> None:
    """Gathering changes no bit, and forgets the rest."""
    session = models["llama"].open(2)
    assert isinstance(session, HFTreeSession)
    tokens = np.array([5, 6, 7, 8], np.int32)
    parents = np.array([-1, -1, 0, 2], np.int32)
    session.forward([[1, 2, 3], [4]], [1, 1], [tokens, tokens[:2]], [parents, parents[:2]])
    before = [(layer.keys.clone(), layer.values.clone()) for layer in session.cache.layers]
    session.commit([[0, 2, 3], [1]])
    slots = [[0, 1, 2, 3, 5, 6], [4, 6]]  # of 7: a chunk of 3 and 4 nodes; padding, a chunk of 1 and 2 nodes
    assert session.slots.attention.tolist() == [[1] * 6, [0, 0, 0, 0, 1, 1]]
    for layer, old in zip(session.cache.layers, before, strict=True):
        for states, past in zip((layer.keys, layer.values), old, strict=True):
            for row, picked in enumerate(slots):
                assert torch.equal(states[row][:, states.shape[-2] - len(picked) :], past[row][:, picked])


def test_holes_are_squeezed_out(models: dict[str, HFModel]) -> None:
    """One row keeps eight tokens a step, the other one: they take turns, and the cache stays about as long as they."""
    handle = models["llama"]
    tokens, chain = np.arange(7, dtype=np.int32), np.arange(-1, 6, dtype=np.int32)
    prompt = list(range(9))
    for forked in (False, True):
        session = handle.open(2)
        session.forward([prompt, prompt], [1, 1], [tokens[:0]] * 2, [chain[:0]] * 2)
        session.commit([[], []])
        if forked:
            session.select([0, 0])
        rows = [list(prompt), list(prompt)]
        for step in range(24):
            session.forward([[9], [9]], [1, 1], [tokens, tokens], [chain, chain])
            paths = [list(range(7)), []] if step % 2 else [[], list(range(7))]
            session.commit(paths)
            rows = [[*row, 9, *tokens[path].tolist()] for row, path in zip(rows, paths, strict=True)]
            assert isinstance(session, HFTreeSession)
            assert session.slots.attention.shape[1] <= 1.25 * max(map(len, rows)) + 64 + 8
        check_cache(handle, session, rows)
        (logits, _) = session.forward([[1], [2]], [1, 1], [tokens[:0]] * 2, [chain[:0]] * 2)
        torch.testing.assert_close(logits[0], alone(handle, [*rows[0], 1]), rtol=1e-9, atol=1e-9)


def test_sessions_that_fork_keep_what_they_share(models: dict[str, HFModel]) -> None:
    """Committing writes in place: never into what another row or session holds."""
    handle = models["qwen2"]
    tokens, parents = np.array([3, 4, 5], np.int32), np.array([-1, -1, 1], np.int32)
    session = handle.open(1)
    session.forward([[1, 2]], [1], [tokens], [parents])
    session.commit([[1, 2]])
    session.select([0, 0, 0])
    for _ in range(2):
        session.forward([[6], [7], [8]], [1] * 3, [tokens] * 3, [parents] * 3)
        session.commit([[1], [], [0]])
    rows = [[1, 2, 4, 5, 6, 4, 6, 4], [1, 2, 4, 5, 7, 7], [1, 2, 4, 5, 8, 3, 8, 3]]
    logits = session.forward([[9]] * 3, [1] * 3, [tokens[:0]] * 3, [parents[:0]] * 3)
    for row, found in zip(rows, logits, strict=True):
        torch.testing.assert_close(found[0], alone(handle, [*row, 9]), rtol=1e-9, atol=1e-9)


def test_the_models_of_other_tests() -> None:
    tokenizer = tiny_tokenizer()
    branching = [HFModel(make(tokenizer), tokenizer).branching for make in (tiny_llama, tiny_gpt2, tiny_mistral)]
    assert branching == [True, True, True]
