"""Experts of other ranks beside a plain mixture: each token's expert is computed from the weights by hand."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest
import torch
from torch.nn.functional import linear, silu

import architectures
import constrain
from constrain.errors import ConstrainError
from constrain.models.hf import HFModel
from constrain.papers.composed import ExpertContrast
from constrain.papers.composed.experts import with_ranks
from toy_model import tiny_tokenizer

TEXT = [3, 1, 4, 1, 5, 9, 2, 6]


def block_by_hand(block: Any, states: torch.Tensor, ranks: Sequence[int]) -> torch.Tensor:
    """The output of a block of Mixtral or OLMoE for float[T, D]: a sum over the experts of some ranks."""
    logits = linear(states, block.gate.weight)
    shares = logits.softmax(-1)
    rows = []
    for state, share in zip(states, shares, strict=True):
        order = share.argsort(descending=True)
        chosen = order[list(ranks)]
        usual = share[order[: block.gate.top_k]].sum() if not getattr(block.gate, "norm_topk_prob", True) else 1.0
        total = torch.zeros_like(state)
        for expert in chosen.tolist():
            gate, up = linear(state, block.experts.gate_up_proj[expert]).chunk(2)
            total += (
                share[expert] / share[chosen].sum() * usual * linear(silu(gate) * up, block.experts.down_proj[expert])
            )
        rows.append(total)
    return torch.stack(rows)


def mixture(name: str) -> HFModel:
    return HFModel(architectures.build(name, 300, 0), tiny_tokenizer())


def blocks_of(model: Any) -> list[Any]:
    return [layer.mlp for layer in model.model.layers]


@pytest.mark.parametrize("name", ["mixtral", "olmoe", "qwen3_moe"])
@pytest.mark.parametrize("ranks", [[1], [0], [2, 3], [0, 1]])
def test_experts_of_other_ranks(name: str, ranks: list[int]) -> None:
    handle = mixture(name)
    model, twin = handle.model, with_ranks(handle, ranks).model
    states = torch.randn(5, model.config.hidden_size, generator=torch.Generator().manual_seed(1))
    with torch.no_grad():
        for block, other in zip(blocks_of(model), blocks_of(twin), strict=True):
            expected = block_by_hand(block, states, ranks)
            assert torch.allclose(other(states[None])[0], expected, atol=1e-4)
            assert other.experts.down_proj is block.experts.down_proj
        before, after = (each(torch.tensor([TEXT])).logits for each in (model, twin))
    assert torch.allclose(before, after, atol=1e-4) == (ranks == [0, 1])


@pytest.mark.parametrize("strong", [None, [0, 2]])
def test_the_contrast_of_a_mixture(strong: list[int] | None) -> None:
    """The scores of a session, token by token, beside whole texts read by both twins."""
    handle = mixture("mixtral")
    model = ExpertContrast(handle, weak=[1], strong=strong, weight=0.7)
    strong_model = handle if strong is None else with_ranks(handle, strong)
    session, (first,) = model.start([TEXT[:3]], [1])
    scores = [first[-1], *(session.feed([[token]], [1])[0][-1] for token in TEXT[3:])]
    with torch.no_grad():
        p, q = (
            each.model(torch.tensor([TEXT])).logits[0, 2:].double().log_softmax(-1)
            for each in (strong_model, with_ranks(handle, [1]))
        )
    assert torch.allclose(torch.stack(scores).log_softmax(-1), (1.7 * p - 0.7 * q).log_softmax(-1), atol=1e-4)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ExpertContrast(constrain.reference.load()), "the model has no routers of experts that are known"),
        (lambda: with_ranks(constrain.reference.load(), []), "ranks are numbers from 0, not []"),
        (lambda: with_ranks(constrain.reference.load(), [-1]), "ranks are numbers from 0, not [-1]"),
        (lambda: with_ranks(constrain.reference.load(), [1, 1]), "a rank occurs twice in [1, 1]"),
        (lambda: with_ranks(mixture("olmoe"), [4]), "rank 4 of 4 experts"),
    ],
)
def test_faults(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(ConstrainError) as caught:
        make()
    assert caught.value.message == message
