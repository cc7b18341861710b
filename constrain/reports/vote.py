"""Votes: the answers of several outputs with their shares, each output counting by its weight.

Self-consistency samples several answers and takes the most frequent one (Wang et al. 2023, arXiv 2203.11171,
section 2). Outputs of weighted methods count by their weights, so a share is an estimate of the probability of the
answer under the model conditioned on the constraint: Σ w 1[answer] / Σ w. Answers are compared as values (`{"a": 1}`
and `{ "a": 1.0 }` are one answer), and outputs without a value by their texts.

Complexity-based voting lets only the outputs with the longest reasoning vote (Fu et al. 2023, arXiv 2210.00720, section
3): `vote(complexity=steps, keep=k)`. That is a distribution of its own: shares are then those among the kept outputs.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from constrain.errors import ConstrainError
from constrain.reports.display.html import shares_html
from constrain.sampling.core.sampler import check_count
from constrain.sampling.measure.diagnostics import normalised

if TYPE_CHECKING:
    from constrain.generation.result import Generation


@dataclass(frozen=True)
class Vote:
    """The answers of several outputs, from the greatest share to the least.

    Attributes:
        answers: Each answer once: what `key` gave for the first output that has it.
        shares: The share of each; they sum to 1.
        voters: The outputs with each answer.

    Example:
        >>> import constrain
        >>> model = constrain.reference.load()
        >>> vote = constrain.generate(model, "A colour: ", choices=["red", "green"], n=8, seed=1).vote()
        >>> vote.answer in ("red", "green"), sum(map(len, vote.voters))
        (True, 8)
    """

    answers: list[Any]
    shares: list[float]
    voters: list[list[Generation[Any]]] = field(repr=False)

    @property
    def answer(self) -> Any:
        """The answer with the greatest share; of equals the one that came first."""
        return self.answers[0]

    @property
    def share(self) -> float:
        """The share of the winning answer."""
        return self.shares[0]

    def __iter__(self) -> Iterator[tuple[Any, float]]:
        return iter(zip(self.answers, self.shares, strict=True))

    def _repr_html_(self) -> str:
        rows = [(answer if isinstance(answer, str) else repr(answer), share) for answer, share in self]
        return shares_html(rows, f"{len(rows)} answers of {sum(map(len, self.voters))} outputs with their shares")


def count_votes(
    outputs: Sequence[Generation[Any]],
    key: Callable[[Generation[Any]], Any] | None,
    complexity: Callable[[Generation[Any]], float] | None,
    keep: int | None,
) -> Vote:
    """Count the outputs' answers by weight, as `Generations.vote` documents."""
    if (complexity is None) != (keep is None):
        raise ConstrainError("complexity and keep go together", fix="vote(complexity=function, keep=5)")
    voters = [output for output in outputs if output.finish_reason == "stop" and output.log_weight > -math.inf]
    if complexity is not None:
        voters = sorted(voters, key=lambda output: -complexity(output))[: check_count("keep", keep)]
    if not voters:
        raise ConstrainError("no output is complete, so that there is nothing to vote on", fix="raise n or max_tokens")
    groups: dict[Any, tuple[Any, list[Any], list[float]]] = {}
    for output, weight in zip(voters, normalised([output.log_weight for output in voters]), strict=True):
        answer = (output.text if output.value is None else output.value) if key is None else key(output)
        _, members, weights = groups.setdefault(comparable(answer), (answer, [], []))
        members.append(output)
        weights.append(weight)
    ranked = sorted(groups.values(), key=lambda group: -math.fsum(group[2]))
    return Vote([a for a, _, _ in ranked], [math.fsum(w) for _, _, w in ranked], [m for _, m, _ in ranked])


def comparable(answer: Any) -> Any:
    """Something hashable that is equal for equal answers."""
    dumped = answer.model_dump() if hasattr(answer, "model_dump") else answer
    try:
        hash(dumped)
    except TypeError:
        return json.dumps(_plain(dumped), sort_keys=True, default=repr)
    return isinstance(dumped, bool), dumped  # True is no 1


def _plain(value: Any) -> Any:
    """JSON numbers as their values, so that 1 and 1.0 are the same."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, dict):
        return {str(name): _plain(inner) for name, inner in value.items()}
    return [_plain(inner) for inner in value] if isinstance(value, (list, tuple)) else value
