"""`Superposed`: several drafts from one pass of a model, which reads the mean of their last tokens' embeddings.

Measured on the embedded pair (temperature 0, n = 12): does not pay. 2.10 tokens a forward pass with two or four paths,
a chain 2.09, two paths that are each read 2.30, no drafts 1.41; 2.3 times the CPU time of no drafts (record
2026-11-28-heads).

Paper: Shen et al. 2024, "Superposed decoding: multiple generations from a single autoregressive inference pass", arXiv
2405.18400. Of k drafts the embeddings of the last tokens are mixed in proportion to the drafts' chances and read as one
token; what the model says there is taken for each of them, weighed against n-grams of that draft (p^(1−α) · n^α), and
of the k² continuations the best k stay. As a way to decode it has no distribution, and the mixture is of no state of a
grammar; as a drafter it needs neither: each draft is masked by its own matcher, and what verifies keeps the
distribution. Left out: their n-gram models of a large corpus; n-grams are of the text so far, with one added to each
count.

Cost: a forward pass of the model for each token of all drafts together, of one row. Limit: a model of transformers with
the target's token ids.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

import torch

from constrain.models.hf.hidden import changed_output
from constrain.models.hf.model import HFModel
from constrain.models.hf.session import FILL
from constrain.sampling.core.sampler import check_count, check_share
from constrain.speculative.build import advanced
from constrain.speculative.drafter import Context, DraftBudget, Drafter
from constrain.speculative.drafters.model import shaped_probs
from constrain.speculative.tree import EMPTY, DraftTree, given_paths

REACH = 3  # tokens that an n-gram is conditioned on, at most

Followers = dict[tuple[int, ...], Counter[int]]  # by ending, how often each token came after it


class _Path(NamedTuple):
    """One of the drafts. rank: log of its weight among them. log_probs: of the model, by token."""

    tokens: tuple[int, ...]
    log_probs: tuple[float, ...]
    rank: float
    matcher: Any


class Superposed(Drafter):
    """Several drafts from one pass over mixed embeddings; see the module `constrain.papers.drafting.superposed`.

    Args:
        model: with the target's token ids: a draft model, or the target itself; anything that `HFModel.of` takes.
        width: drafts.
        depth: tokens of a draft, at most.
        trust: the share α of n-grams of the text, in [0, 1].

    Raises:
        ConstrainError: an option is out of range.

    Source:
        Shen et al. 2024, arXiv 2405.18400.

    Example:
        >>> import constrain
        >>> from constrain.models.hf import HFModel
        >>> from constrain.papers.drafting.superposed import Superposed
        >>> ref = constrain.reference.load()
        >>> draft = Superposed(HFModel(ref.draft, ref.tokenizer))
        >>> g = constrain.generate(ref, "A list: ", regex="[a-z]{9}", draft=draft, temperature=0)
        >>> g.stats.drafts["superposed"].drafted > 0
        True
    """

    name = "superposed"

    def __init__(self, model: Any, *, width: int = 3, depth: int = 6, trust: float = 0.3) -> None:
        self.model = HFModel.of(model)
        self.width, self.depth = check_count("width", width), check_count("depth", depth)
        self.trust = check_share("trust", trust)

    @torch.inference_mode()
    def draft(self, context: Context, budget: DraftBudget) -> DraftTree:
        """The drafts that stay to the end, as paths."""
        most = min(self.depth, budget.depth, budget.nodes, context.left - 1)
        if most < 1:
            return EMPTY
        session, logits = self._read(context)
        followers = followers_of(context.tokens)
        paths = [_Path((), (), 0.0, context.matcher)]
        for step in range(most):
            if step:
                logits = self._mixed(session, paths)
            grown = [after for path in paths for after in self._after(context, path, logits, followers)]
            if not grown:
                break
            paths = sorted(grown, key=lambda path: -path.rank)[: self.width]
        return given_paths([p.tokens for p in paths], [p.log_probs for p in paths]) if paths[0].tokens else EMPTY

    def _read(self, context: Context) -> tuple[Any, torch.Tensor]:
        """A session of one's own that has read the text, and the logits after it."""
        text = list(context.tokens)
        session, length = context.memo.get(self, (None, 0))
        if session is None:
            session, logits = self.model.start([text], [1])
        else:
            session = session.fork([0])  # a sequence that was forked may go on from the other one
            logits = session.feed([text[length:]], [1])
        context.memo[self] = session, len(text)
        return session.fork([0]), logits[0][-1]

    def _mixed(self, session: Any, paths: Sequence[_Path]) -> torch.Tensor:
        """Logits after one more token, which is the mixture of the last ones."""
        embedding = self.model.model.get_input_embeddings()
        tokens = torch.tensor([path.tokens[-1] for path in paths], device=self.model.model.device)
        known = embedding(tokens)
        weights = torch.tensor([path.rank for path in paths], device=known.device).softmax(0).to(known)
        mixture = weights @ known
        with changed_output(embedding, mixture.expand_as):
            found: torch.Tensor = session.feed([[FILL]], [1])[0][-1]
        return found

    def _after(self, context: Context, path: _Path, logits: torch.Tensor, followers: Followers) -> list[_Path]:
        """The best continuations of a draft by one token, legal ones that do not end the text."""
        probs = shaped_probs(context.setting, path.matcher, logits)
        if probs is None:
            return []
        probs = probs.clone()
        probs[list(context.setting.eos_ids)] = 0.0
        counts = _counted(followers, [*context.tokens[-REACH:], *path.tokens])
        share = torch.ones_like(probs)
        for token, count in counts.items():
            share[token] += count
        weights = (1 - self.trust) * probs.log() + self.trust * (share / share.sum()).log()
        found = []
        for token in weights.topk(min(self.width, len(weights))).indices.tolist():
            matcher = None if path.matcher is None else advanced(path.matcher, token)
            if float(probs[token]) > 0 and (matcher is not None or path.matcher is None):
                log_prob = min(0.0, math.log(float(probs[token])))
                rank = path.rank + float(weights[token])
                found.append(_Path((*path.tokens, token), (*path.log_probs, log_prob), rank, matcher))
        return found


def followers_of(text: Sequence[int]) -> Followers:
    """Counts of the tokens after each ending of up to `REACH` tokens."""
    found: Followers = {}
    for place in range(1, len(text)):
        for length in range(1, min(REACH, place) + 1):
            found.setdefault(tuple(text[place - length : place]), Counter())[text[place]] += 1
    return found


def _counted(followers: Followers, text: Sequence[int]) -> Counter[int]:
    """Counts after the longest ending of a text that was seen."""
    for length in range(min(REACH, len(text)), 0, -1):
        if (counts := followers.get(tuple(text[-length:]))) is not None:
            return counts
    return Counter()
