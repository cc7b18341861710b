"""`MultiPrompt`: a class for a text, from the scores and hidden states after several prompts (MPD).

Measured on SmolLM2 (40 sentences about films, good or bad): one prompt is right 36, 23 and 37 times, three calibrated
38 times, transport 38 and 39 times with two and eight examples of each class. Pays where it is not known which prompt
is good, at the cost of all of them (record 2026-11-28-papers).

Paper: Cheng et al. 2024, "Multi-prompting decoder helps better language understanding", arXiv 2406.06279. The model is
asked with P prompts about a text, and not changed; two readers of what it says are added up:

    calibrated scores   mean over prompts and label words of log p(word | prompt, text) − log p(word | prompt, no text)
    transport           the P hidden states, projected to few numbers, against P prototypes of each class: the cost of
                        carrying the one set to the other, by Sinkhorn's iteration, with 1 − cosine for a pair. Matrix
                        and prototypes learn from a few examples, by the cross-entropy of minus these costs

Class shares are softmax(λ · calibrated − cost / τ). Theirs are prompts of masked models, and their λ, τ and sizes are
theirs; here a label word counts by its first token, logarithms are averaged, and the numbers are ours.
`composed.MixtureOfPrompts` is another thing: one model for texts, after several prompts.

Distribution: none is sampled. Cost: P forward passes of a prompt for a text, and once without one; fitting costs no
pass beyond those of the examples. Limit: models of transformers; words of two classes differ in their first token.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import torch
from torch.nn import functional as F

from constrain.errors import ConstrainError
from constrain.generation.request.prompts import tokenize
from constrain.models.hf.hidden import watched
from constrain.models.hf.model import HFModel
from constrain.reports.answers.score import cut
from constrain.sampling.core.sampler import check_count
from constrain.sampling.processors.core.processor import number

BLUR = 0.05  # of Sinkhorn's iteration: how far a plan is from the cheapest
ROUNDS = 100  # of it
HEAT = 0.1  # τ


class AfterPrompts(NamedTuple):
    """The answer of the model about a text. hidden: float[P, H]. scores: float[P, K], mean log p of a class' words."""

    hidden: torch.Tensor
    scores: torch.Tensor


class MultiPrompt:
    """A classifier of what a model says after several prompts; see the module `constrain.papers.answers.multi_prompt`.

    Args:
        model: Anything that `HFModel.of` takes.
        prompts: Texts with "{}" where the text belongs; each ends where a label word is due.
        classes: {class: its label words}.
        size: Numbers that a hidden state is projected to.
        weight: λ, what calibrated scores count beside transport.
        tokenizer: For a model that comes without one.

    Attributes:
        bare: What the model says without a text, by prompt and class.

    Raises:
        ConstrainError: A prompt has no place for the text, there are no two classes, a word has no token, or words of
            two classes begin with the same one.

    Source:
        Cheng et al. 2024, arXiv 2406.06279.

    Example:
        >>> import constrain
        >>> from constrain.papers.answers.multi_prompt import MultiPrompt
        >>> prompts = ["{} is a ", "Q: {}? A: a "]
        >>> reader = MultiPrompt(constrain.reference.load(), prompts, {"colour": ["red"], "size": ["long"]})
        >>> reader.fit([("blue", "colour"), ("small", "size")], steps=20)
        >>> sorted(reader.shares("green")), round(sum(reader.shares("green").values()), 6)
        (['colour', 'size'], 1.0)
    """

    def __init__(
        self,
        model: Any,
        prompts: Sequence[str],
        classes: Mapping[str, Sequence[str]],
        *,
        size: int = 32,
        weight: float = 1.0,
        tokenizer: Any = None,
    ) -> None:
        self.handle = HFModel.of(model, tokenizer)
        lacking = next((prompt for prompt in prompts if "{}" not in prompt), None)
        if lacking is not None or not prompts:
            raise ConstrainError(f"a prompt has no place for the text: {lacking!r:.80}", fix='write "{}" there')
        if len(classes) < 2:
            raise ConstrainError(f"there are {len(classes)} classes", fix="{'good': ['great'], 'bad': ['terrible']}")
        self.prompts, self.classes = list(prompts), list(classes)
        self.words = [self._first(name, words) for name, words in classes.items()]
        known: dict[int, str] = {}
        for name, tokens in zip(classes, self.words, strict=True):
            for token in tokens:
                if known.setdefault(token, name) != name:
                    raise ConstrainError(f"words of {known[token]!r:.40} and {name!r:.40} begin with the same token")
        self.size, self.weight = check_count("size", size), number("weight", weight, 0, 1000)
        self.bare = self.said("").scores
        self._fitted: tuple[torch.Tensor, torch.Tensor] | None = None

    def _first(self, name: str, words: Sequence[str]) -> list[int]:
        tokens = [cut(self.handle, word, place)[:1] for place, word in enumerate(words)]
        if not tokens or not all(tokens):
            raise ConstrainError(f"class {name!r:.40} has no label word, or an empty one")
        return [token for (token,) in tokens]

    @torch.inference_mode()
    def said(self, text: str) -> AfterPrompts:
        """One forward pass for each prompt."""
        hidden, scores = [], []
        for prompt in self.prompts:
            with watched(self.handle, True) as seen:
                ids = tokenize(self.handle.tokenizer, prompt.replace("{}", text), special=True)
                logs = self.handle.start([ids], [1])[1][0][-1].float().log_softmax(-1)
            hidden.append(seen[-1][0, -1].float())
            scores.append(torch.stack([logs[words].mean() for words in self.words]))
        return AfterPrompts(torch.stack(hidden), torch.stack(scores))

    def fit(self, examples: Sequence[tuple[str, str]], *, steps: int = 100, rate: float = 0.01, seed: int = 0) -> None:
        """Learn the projection and the prototypes. examples: (text, class), of every class at least one."""
        missing = sorted(set(self.classes) ^ {name for _, name in examples})
        if missing:
            raise ConstrainError(f"examples and classes differ: {missing[0]!r:.40}", fix="give examples of every class")
        hidden = torch.stack([self.said(text).hidden for text, _ in examples]).clone()  # no longer of inference mode
        answers = torch.tensor([self.classes.index(name) for _, name in examples])
        drawn = torch.Generator().manual_seed(seed)
        width = hidden.shape[-1]
        matrix = (torch.randn(width, self.size, generator=drawn) / width**0.5).requires_grad_()
        means = torch.stack([(hidden @ matrix)[answers == k].mean(0) for k in range(len(self.classes))])
        prototypes = means.detach().clone().requires_grad_()  # [K, P, size]
        optimiser = torch.optim.Adam([matrix, prototypes], lr=number("rate", rate, 0, 10))
        for _ in range(check_count("steps", steps, 0)):
            optimiser.zero_grad()
            F.cross_entropy(-self._costs(hidden, matrix, prototypes) / HEAT, answers).backward()
            optimiser.step()
        self._fitted = matrix.detach(), prototypes.detach()

    def _costs(self, hidden: torch.Tensor, matrix: torch.Tensor, prototypes: torch.Tensor) -> torch.Tensor:
        """float[..., K]: of carrying hidden states float[..., P, H] to the prototypes of each class."""
        own = F.normalize(hidden @ matrix, dim=-1)[..., None, :, :]
        cost = 1 - own @ F.normalize(prototypes, dim=-1).transpose(-1, -2)  # [..., K, P, P]
        return (transport(cost.detach()) * cost).sum((-1, -2))

    def costs(self, said: AfterPrompts) -> torch.Tensor:
        """float[K]: of transport to each class; all 0 before anything was fitted."""
        return torch.zeros(len(self.classes)) if self._fitted is None else self._costs(said.hidden, *self._fitted)

    def calibrated(self, said: AfterPrompts) -> torch.Tensor:
        """float[K]: mean scores over prompts, less those without a text."""
        return (said.scores - self.bare).mean(0)

    def logits(self, said: AfterPrompts) -> torch.Tensor:
        """float[K]: both readers, added up."""
        return self.weight * self.calibrated(said) - self.costs(said) / HEAT

    def shares(self, text: str) -> dict[str, float]:
        """The share of each class; by calibrated scores alone before anything was fitted."""
        return dict(zip(self.classes, self.logits(self.said(text)).softmax(-1).tolist(), strict=True))


def transport(cost: torch.Tensor) -> torch.Tensor:
    """float[..., P, P]: how much of each row goes to each column, 1 / P from and to each, cheaply for all together
    (Sinkhorn's iteration: Cuturi 2013, arXiv 1306.0895)."""
    share = -torch.log(torch.tensor(float(cost.shape[-1])))
    rows, columns = torch.zeros_like(cost[..., 0]), torch.zeros_like(cost[..., 0, :])
    for _ in range(ROUNDS):
        rows = share - (columns[..., None, :] - cost / BLUR).logsumexp(-1)
        columns = share - (rows[..., None] - cost / BLUR).logsumexp(-2)
    return (rows[..., None] + columns[..., None, :] - cost / BLUR).exp()
