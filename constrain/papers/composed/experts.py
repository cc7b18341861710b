"""`ExpertContrast`: a mixture of experts against itself with other experts chosen (SCMoE).

Measured on a small mixture that was trained on sums (100 asked, temperature 0): does not pay there. The model has 98
right after 500 steps of training, against its second choices 98, 95 and 94 for β = 0.25, 0.5 and 1, at 1.5 times the
CPU time (record 2026-11-28-papers). No public mixture was small enough to be run.

Paper: Shi et al. 2024, "Unchosen experts can contribute too: unleashing MoE models' power by self-contrast" (arXiv
2405.14507). With p of the model as it routes, q of the same model where each router sends a token to the experts of
other ranks, β the weight and α the floor, as in the authors' program (DavidFanzz/SCMoE on GitHub):

    log p''(v) = (1 + β) log p(v) − β log q(v) + const      where p(v) ≥ α max p, else p''(v) = 0

State: none. Distribution: p'' at every place, which is a language model. A log-probability of −∞ counts as −100 in what
is taken away. Not confirmed: how their model weighs the other experts; here their shares of the router are scaled to
sum to what those of the chosen experts do. Cost: two forward passes and two caches a token; weights are shared.
Limits: models of transformers whose routers give logits, shares and numbers of experts, which is tried before use. A
token that a constraint needs may be below the floor: then nothing is left, a dead end.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from typing import Any

import torch

from constrain.errors import ConstrainError
from constrain.models.hf.model import HFModel
from constrain.papers.composed.core import FLOOR, Composed
from constrain.sampling.processors.core.processor import number


def with_ranks(model: Any, ranks: Sequence[int]) -> HFModel:
    """Make the model that sends every token to the experts of these ranks. It shares all weights.

    Args:
        model: Anything that `HFModel.of` takes, with routers of experts.
        ranks: Ranks by the router's logits; 0 is the first choice.

    Returns:
        The other model; `model` stays as it is.

    Raises:
        ConstrainError: There are no such routers, or not so many experts.

    Example:
        >>> import constrain
        >>> from constrain.papers.composed.experts import with_ranks
        >>> try:
        ...     with_ranks(constrain.reference.load(), [1])
        ... except constrain.ConstrainError as error:
        ...     print(error.message)
        the model has no routers of experts that are known
    """
    chosen = list(ranks)
    if not chosen or not all(isinstance(r, int) and not isinstance(r, bool) and r >= 0 for r in chosen):
        raise ConstrainError(f"ranks are numbers from 0, not {ranks!r:.60}", fix="ranks=[1]")
    if len(set(chosen)) < len(chosen):
        raise ConstrainError(f"a rank occurs twice in {ranks!r:.60}", fix="ranks=[0, 1]")
    handle = HFModel.of(model)
    tensors = [*handle.model.parameters(), *handle.model.buffers()]
    twin = copy.deepcopy(handle.model, {id(tensor): tensor for tensor in tensors})
    routers = [each for each in twin.modules() if _routes(each)]
    if not routers:
        raise ConstrainError("the model has no routers of experts that are known", fix="use a mixture of experts")
    for router in routers:
        if max(chosen) >= router.weight.shape[0]:
            raise ConstrainError(f"rank {max(chosen)} of {router.weight.shape[0]} experts", fix="ranks count from 0")
        router.register_forward_hook(lambda _, inputs, output: _of_ranks(output, chosen))
    return HFModel(twin, handle.tokenizer)


def _routes(module: torch.nn.Module) -> bool:
    """True if a module is a router whose choice is that of `_of_ranks` for its own ranks; tried on random states."""
    weight, count = getattr(module, "weight", None), getattr(module, "top_k", None)
    if not isinstance(weight, torch.nn.Parameter) or weight.dim() != 2 or not isinstance(count, int):
        return False
    generator = torch.Generator().manual_seed(0)
    states = torch.randn(8, weight.shape[1], generator=generator).to(weight.device, weight.dtype)
    try:
        with torch.no_grad():
            own = module(states)
    except (RuntimeError, TypeError, ValueError):
        return False
    if not (isinstance(own, tuple) and len(own) == 3 and own[1].shape == own[2].shape == (8, count)):
        return False
    if own[0].shape != (8, weight.shape[0]):
        return False
    again = _of_ranks(own, range(count))
    return torch.equal(again[2], own[2]) and torch.allclose(again[1], own[1], atol=1e-5)


def _of_ranks(output: tuple[torch.Tensor, ...], ranks: Sequence[int]) -> tuple[torch.Tensor, ...]:
    """(logits, shares, experts) of the experts of some ranks. Their shares sum to those of the experts chosen."""
    logits, shares, _ = output
    order = logits.sort(dim=-1, descending=True, stable=True).indices[:, list(ranks)]
    mass = logits.float().softmax(-1).gather(-1, order)
    scaled = mass / mass.sum(-1, keepdim=True) * shares.float().sum(-1, keepdim=True)
    return logits, scaled.to(shares.dtype), order


class ExpertContrast(Composed):
    """A mixture of experts against itself with other experts chosen.

    Args:
        model: what `HFModel.of` takes: a model of transformers with routers of experts.
        weak: ranks of the experts that the weak side uses; the default is the second choice alone.
        strong: ranks of the strong side; None: as the model routes.
        weight: β, how much the difference counts.
        floor: α, the least share of the likeliest token's probability that a token keeps mass with; 0: no bound. The
            authors' is 0.1; under a constraint it takes tokens away that the grammar may need.

    Raises:
        ConstrainError: an option is out of range, or the model has no such routers.

    Source:
        Shi et al. 2024, arXiv 2405.14507; the default weight is that of the authors' program.

    Example:
        >>> import torch, transformers, constrain
        >>> from constrain.papers.composed import ExpertContrast
        >>> reference = constrain.reference.load()
        >>> config = transformers.MixtralConfig(
        ...     vocab_size=reference.model.config.vocab_size, hidden_size=16, intermediate_size=16, num_hidden_layers=1,
        ...     num_attention_heads=2, num_key_value_heads=2, num_local_experts=4)
        >>> mixture = transformers.MixtralForCausalLM(config).eval()
        >>> model = ExpertContrast((mixture, reference.tokenizer))
        >>> constrain.generate(model, "A word: ", choices=["sun", "rain"], seed=1).finish_reason
        'stop'
    """

    paper = "Shi et al. 2024, arXiv 2405.14507"
    law = "p^(1 + β) / q^β of a mixture of experts and itself with other experts, renormalised"

    def __init__(
        self,
        model: Any,
        *,
        weak: Sequence[int] = (1,),
        strong: Sequence[int] | None = None,
        weight: float = 0.5,
        floor: float = 0.0,
    ) -> None:
        handle = HFModel.of(model)
        super().__init__([handle if strong is None else with_ranks(handle, strong), with_ranks(handle, weak)])
        self.weight, self.floor = number("weight", weight, 0, 100), number("floor", floor, 0, 1)

    def combine(self, log_probs: Sequence[torch.Tensor], state: Any) -> torch.Tensor:
        p, q = (log_p.clamp(min=FLOOR) for log_p in log_probs)
        refused = log_probs[0] == -torch.inf
        if self.floor:
            refused = refused | (log_probs[0] < log_probs[0].amax(-1, keepdim=True) + math.log(self.floor))
        return ((1 + self.weight) * p - self.weight * q).masked_fill(refused, -torch.inf)
