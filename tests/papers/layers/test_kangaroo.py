"""Kangaroo: drafts are what the adapter was trained to say, every distribution is kept, and unsure drafts end."""

from typing import Any

import pytest
import torch
from speculative_cases import distribution_of

import constrain
from constrain.errors import ConstrainError
from constrain.models.hf import HFModel
from constrain.models.hf.hidden import watched
from constrain.papers.heads import KangarooAdapter
from constrain.papers.layers.kangaroo import Kangaroo
from constrain.sampling import lcd
from constrain.speculative import Fixed, Speculation
from toy_model import tiny_llama, tiny_mistral, tiny_tokenizer


def made(exit_layer: int = 1, **options: Any) -> tuple[HFModel, Kangaroo]:
    tokenizer = tiny_tokenizer()
    handle = HFModel(tiny_llama(tokenizer, num_hidden_layers=3), tokenizer)
    torch.manual_seed(1)
    adapter = KangarooAdapter(handle, exit_layer=exit_layer)
    for each in adapter.parameters():
        torch.nn.init.normal_(each, std=0.3)
    return handle, Kangaroo(handle, adapter.eval(), **options)


class Kept(Kangaroo):
    """Keeps every draft, with the text before it."""

    def _grow(self, contexts: Any, budgets: Any) -> Any:
        trees = super()._grow(contexts, budgets)
        self.kept += [(list(context.tokens), tree) for context, tree in zip(contexts, trees, strict=True)]
        return trees

    kept: list[Any]


@pytest.mark.parametrize("exit_layer", [1, 2])
def test_what_trains_is_what_drafts(exit_layer: int) -> None:
    """Stated distributions, of batches with other drafters beside, are the adapter's on the whole text read at once."""
    handle, drafter = made(exit_layer)
    drafter = Kept(handle, drafter.adapter, least=0.0, depth=4)
    drafter.kept = []
    draft = Speculation([drafter, "lookup"], verifier="token", controller=Fixed(8, 4, 0.0))
    constrain.generate(handle, ["red", "green 00"], regex="[a-f]{9,14}", draft=draft, max_tokens=20, seed=1)
    drafts = [(text, tree) for text, tree in drafter.kept if len(tree.tokens) > 1]
    assert len(drafts) > 4
    assert drafter.shared
    for text, tree in drafts:
        tokens = torch.tensor([*text, *tree.tokens.tolist(), 0])
        with torch.inference_mode(), watched(handle, drafter.adapter.reads) as seen:
            handle.model(input_ids=tokens[None])
            logits = drafter.adapter.unrolled(seen[0][0], tokens)[0]  # row t: after t + 2 tokens
        for place, probs in enumerate(tree.draft_probs):
            row = logits[len(text) + place - 2, : len(probs)].masked_fill(probs == 0, -torch.inf)
            torch.testing.assert_close(probs.to(row), row.softmax(-1), atol=1e-6, rtol=1e-6)


@pytest.mark.parametrize("rule", ["match", "token"])
def test_the_distribution_is_kept(rule: str) -> None:
    """Every way in which draws of draft and rule can turn out, of a real model over two letters."""
    handle, drafter = made(least=0.0)
    prompt = handle.tokenizer("red")["input_ids"]

    def distribution(method: Any) -> dict[tuple[int, ...], float]:
        return distribution_of(method, handle, prompt, "[ab]{1,2}", 3)

    found = distribution(Speculation([drafter], verifier=rule, controller=Fixed(2, 2, 0.0)))
    assert found == pytest.approx(distribution(lcd), abs=1e-9)
    assert drafter.shared


@pytest.mark.parametrize("method", ["lcd", "smc", "beam"])
def test_outputs_are_those_without_drafts(method: str) -> None:
    handle, drafter = made(exit_layer=2, least=0.1)
    for seed in range(3):
        given = {"regex": "[a-f]{6,10}", "method": method, "seed": seed, "max_tokens": 14}
        found, plain = (constrain.generate(handle, ["red", "a"], draft=each, **given) for each in ([drafter], False))
        assert [each.tokens for each in found] == [each.tokens for each in plain]
        assert all(each.stats.drafts["exit"].fault is None for each in found)


def test_drafts_end_where_it_is_not_sure() -> None:
    """With a bound the drafts are beginnings of those without; with the bound one there is none."""
    handle, plain = made()
    given: dict[str, Any] = {"regex": "[a-f]{12}", "temperature": 0, "max_tokens": 14, "canonical": False}
    drafted = []
    for least in (0.0, 0.3, 1.0):
        draft = Speculation([Kangaroo(handle, plain.adapter, least=least)], controller=Fixed(8, 6, 0.0))
        count = constrain.generate(handle, "red", draft=draft, **given).stats.drafts["exit"]
        assert count.fault is None
        drafted.append(count.drafted)
    assert drafted[0] > drafted[1] > drafted[2]


def test_what_cannot_be_done() -> None:
    handle, drafter = made()
    with pytest.raises(ConstrainError, match="an exit is behind 1 to 2 layers, not 3"):
        KangarooAdapter(handle, exit_layer=3)
    with pytest.raises(ConstrainError, match="least"):
        Kangaroo(handle, drafter.adapter, least=2)
    window = HFModel(tiny_mistral(handle.tokenizer), handle.tokenizer)
    with pytest.raises(ConstrainError, match="cannot be cut behind its first layers"):
        Kangaroo(window, KangarooAdapter(window, exit_layer=1))
