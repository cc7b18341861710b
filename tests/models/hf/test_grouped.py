"""Attention of one new token by groups of heads: by definition, in sessions, and nowhere else."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import torch
from torch.nn.functional import scaled_dot_product_attention

from architectures import build
from constrain.models.hf import HFModel, grouped

ASKED = {"query": (2, 6, 1, 8), "key": (2, 3, 5, 8), "mask": None, "options": {"scaling": 0.3, "sliding_window": 4}}
OTHERS: dict[str, dict[str, Any]] = {
    "two tokens": {"query": (2, 6, 2, 8)},
    "a head has keys of its own": {"key": (2, 6, 5, 8)},
    "something is hidden": {"mask": torch.ones(2, 1, 1, 5, dtype=torch.bool)},
    "a bias": {"options": {"position_bias": torch.zeros(1, 6, 1, 5)}},
    "weights are dropped": {"options": {"dropout": 0.1}},
    "scores are capped": {"options": {"softcap": 30.0}},
    "weights are asked for": {"options": {"output_attentions": True}},
}


def taken(**changes: Any) -> bool:
    """Attention of these shapes is one by groups."""
    given: dict[str, Any] = {**ASKED, **changes}
    return grouped.applies(torch.zeros(given["query"]), torch.zeros(given["key"]), given["mask"], given["options"])


@pytest.mark.parametrize("other", OTHERS)
def test_it_applies_to_one_token_that_sees_everything(other: str) -> None:
    assert taken()
    assert not taken(**OTHERS[other])


@pytest.mark.parametrize("heads", [1, 2, 3])
@pytest.mark.parametrize("scaling", [None, 0.3])
def test_groups_have_the_attention_of_their_heads(heads: int, scaling: float | None) -> None:
    """By definition, in doubles: values may be of another size than keys."""
    generator = torch.Generator().manual_seed(heads)
    query, key, value = (
        torch.randn(2, count, length, size, generator=generator, dtype=torch.float64)
        for count, length, size in ((6, 1, 8), (heads, 5, 8), (heads, 5, 4))
    )
    doubled = [each.repeat_interleave(6 // heads, 1) for each in (key, value)]
    expected = scaled_dot_product_attention(query, *doubled, scale=scaling).transpose(1, 2)
    torch.testing.assert_close(grouped.of_groups(query, key, value, scaling), expected, atol=1e-12, rtol=0)


@pytest.fixture
def taken_in(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The rows of each attention by groups."""
    found: list[int] = []
    plain = grouped.of_groups

    def counted(query: torch.Tensor, *given: Any) -> torch.Tensor:
        found.append(len(query))
        return plain(query, *given)

    monkeypatch.setattr(grouped, "of_groups", counted)
    return found


@pytest.mark.parametrize("family", ["llama", "qwen3", "gemma3_text"])
def test_sessions_have_the_logits_of_the_model(family: str, taken_in: list[int]) -> None:
    """Rows that grow by a token each; the model itself, beside it and in another thread, reads as it did."""
    handle = HFModel(build(family, 40, 39).double().eval(), None)
    texts = [[3, 1, 4, 1, 5, 9], [3, 1, 4, 1, 5, 8]]
    session, _ = handle.start([text[:4] for text in texts], [1, 1])
    assert not taken_in
    steps = [session.feed([[text[i]] for text in texts], [1, 1]) for i in (4, 5)]
    assert set(taken_in) == {2}
    taken_by_steps = len(taken_in)

    @torch.inference_mode()
    def own() -> Any:
        cache = handle.model(input_ids=torch.tensor(texts)[:, :5], use_cache=True)
        name = handle.memory
        after = handle.model(input_ids=torch.tensor(texts)[:, 5:], **{name: getattr(cache, name)})
        return torch.stack([cache.logits[:, -1], after.logits[:, -1]])

    with grouped.grouped(), ThreadPoolExecutor(1) as pool:
        expected = pool.submit(own).result()
    torch.testing.assert_close(own(), expected, atol=0, rtol=0)
    assert len(taken_in) == taken_by_steps
    found = torch.stack([torch.cat(rows) for rows in steps])
    torch.testing.assert_close(found, expected, atol=1e-12, rtol=0)
