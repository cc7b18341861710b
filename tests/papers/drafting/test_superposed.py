"""Superposed drafts: by their definition on whole texts of embeddings, and no output depends on them."""

from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
import torch
from speculative_cases import context_of

import constrain
from constrain.errors import ConstrainError
from constrain.papers.drafting.superposed import Superposed, followers_of
from constrain.sampling import Settings
from constrain.speculative import DraftBudget, Fixed, Speculation
from toy_model import tiny_handle

handle = pytest.fixture(scope="module", name="handle")(tiny_handle)


@pytest.mark.parametrize("trust", [0.0, 0.5])
@pytest.mark.parametrize("width", [1, 2, 3])
def test_drafts_are_those_of_mixed_embeddings(handle: Any, width: int, trust: float) -> None:
    """The model read anew for each token, on embeddings given as numbers; n-grams counted by hand."""
    text = [5, 6, 7, 5, 6, 8, 5, 6]
    setting = replace(context_of(None).setting, size=handle.width, settings=Settings(temperature=0.7), eos_ids=[0])
    context = replace(context_of(None, text[1:], prompt=text[:1]), setting=setting)
    tree = Superposed(handle, width=width, trust=trust).draft(context, DraftBudget(20, 4))
    found = {tuple(int(tree.tokens[i]) for i in tree.path(node + 1)) for node in range(len(tree))}
    embed = handle.model.get_input_embeddings().weight.detach()
    read = embed[torch.tensor(text)]
    paths: list[tuple[list[int], float]] = [([], 0.0)]
    for step in range(4):
        if step:
            shares = torch.tensor([rank for _, rank in paths]).softmax(0).to(embed)
            mixture = sum(share * embed[path[-1]] for share, (path, _) in zip(shares, paths, strict=True))
            read = torch.cat([read, mixture[None]])  # type: ignore[index]
        with torch.no_grad():
            law = (handle.model(inputs_embeds=read[None]).logits[0, -1] / 0.7).softmax(-1)
        grown = []
        for path, rank in paths:
            counts = torch.ones_like(law)
            for length in (3, 2, 1):
                ending = [*text, *path][-length:]
                after = [text[i + length] for i in range(len(text) - length) if text[i : i + length] == ending]
                if after:
                    for token in after:
                        counts[token] += 1
                    break
            weights = (1 - trust) * law.log() + trust * (counts / counts.sum()).log()
            weights[0] = -torch.inf
            grown += [([*path, int(token)], rank + float(weights[token])) for token in weights.argsort()[-width:]]
        paths = sorted(grown, key=lambda each: -each[1])[:width]
    assert found == {tuple(path[:length]) for path, _ in paths for length in (1, 2, 3, 4)}


def test_followers() -> None:
    found = followers_of([1, 2, 1, 2, 3])
    assert {ending: dict(counts) for ending, counts in found.items()} == {
        (1,): {2: 2}, (2,): {1: 1, 3: 1}, (1, 2): {1: 1, 3: 1}, (2, 1): {2: 1}, (1, 2, 1): {2: 1}, (2, 1, 2): {3: 1},
    }  # fmt: skip
    assert all(len(one) <= 3 for one, _ in pairwise(found))


@pytest.mark.parametrize("method", ["lcd", "smc"])
@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_they_change_no_output(handle: Any, method: str, temperature: float) -> None:
    for seed in range(3):
        given = {"regex": "[a-f]{6,12}", "method": method, "seed": seed, "max_tokens": 14}
        given |= {"temperature": temperature} if method == "lcd" else {}
        drafts = (Speculation([Superposed(handle, width=2)], controller=Fixed(8, 4, 0.0)), False)
        found, plain = (constrain.generate(handle, ["red", "a"], draft=draft, **given) for draft in drafts)
        assert [each.tokens for each in found] == [each.tokens for each in plain]
        assert all(each.stats.drafts["superposed"].fault is None for each in found)
        assert sum(each.stats.drafts["superposed"].accepted for each in found) > 0


@pytest.mark.parametrize("options", [{"width": 0}, {"depth": 0}, {"trust": 1.5}])
def test_options(handle: Any, options: dict[str, Any]) -> None:
    with pytest.raises(ConstrainError, match=next(iter(options))):
        Superposed(handle, **options)
