"""Drafts of later steps: the same output as without, in fewer calls of the model."""

from collections.abc import Sequence

import numpy as np
import pytest
from toy_diffusion import Hashed, characters

from constrain.errors import ConstrainError
from constrain.languages.constraints.regular import regex
from constrain.languages.grammar_text.text import grammar
from constrain.papers.diffusion.decode import denoise
from constrain.papers.diffusion.drafts import DraftReader
from constrain.papers.diffusion.policies import POLICIES

LETTERS = characters("ab()")
NESTED = grammar('start: ("a" | "b" | "(" start ")")+')


class Steady:
    """Each position has logits of its own that the context moves a little: what is likely mostly stays so."""

    def __init__(self, seed: int, moved: float) -> None:
        self.vocabulary, self.mask_id, self.moved = LETTERS, len(LETTERS) - 1, moved
        self.inner, self.own, self.sizes = Hashed(LETTERS, seed, 1.0), Hashed(LETTERS, seed + 1, 3.0), []

    def logits(self, tokens: Sequence[int]) -> np.ndarray:
        self.sizes.append(1)
        return self._of(tokens)

    def logits_many(self, texts: Sequence[Sequence[int]]) -> np.ndarray:
        self.sizes.append(len(texts))
        return np.array([self._of(text) for text in texts])

    def _of(self, tokens: Sequence[int]) -> np.ndarray:
        return self.own.logits([0] * len(tokens)) + self.moved * self.inner.logits(tokens)


@pytest.mark.parametrize("policy", sorted(POLICIES))
@pytest.mark.parametrize("temperature", [0.0, 0.7])
def test_the_same_output(policy, temperature):
    for seed, constraint in enumerate([None, regex("[ab]{3,}"), NESTED]):
        settings = {
            "length": 10, "policy": policy, "temperature": temperature, "seed": seed, "block": 6, "prompt": [0, 1],
        }  # fmt: skip
        alone = denoise(Steady(seed, 1.0), constraint, **settings)
        model = Steady(seed, 1.0)
        drafted = denoise(model, constraint, drafts=3, **settings)
        assert (drafted.tokens, drafted.order, drafted.steps) == (alone.tokens, alone.order, alone.steps)
        assert drafted.calls == len(model.sizes) <= alone.calls == alone.steps and max(model.sizes) <= 4


@pytest.mark.parametrize(("count", "calls"), [(0, 12), (1, 7), (3, 4), (11, 2)])
def test_calls(count, calls):
    """If the context changes nothing, all drafts come true: the first step, then one call for each 1 + drafts steps."""
    model = Steady(3, 0.0)
    out = denoise(model, regex("[ab]{12}"), length=12, drafts=count)
    assert (out.steps, out.calls) == (12, calls) and len(model.sizes) == calls


def test_drafts_know_the_constraint():
    """A model that prefers what is refused: drafts of what may stand there come true all the same."""
    model = Steady(0, 0.0)
    model._of = lambda tokens: np.tile([0.0, 1.0, 8.0, 9.0, 7.0, 0.0], (len(tokens), 1)).astype(np.float32)
    out = denoise(model, regex("[ab]{12}"), length=12, drafts=3)
    assert (out.text, out.calls) == ("b" * 12, 4)


def test_a_draft_ends_with_its_eos():
    """The likeliest token is EOS everywhere: one step sets all, and drafts of it are texts as a step makes them."""
    eos = LETTERS.eos_ids[0]
    reader = DraftReader(Steady(0, 0.0), [], 2, frozenset([eos]))
    reader.expect([(1, 0), (2, eos)], 1)
    reader.logits([5, 5, 5, 5])
    assert set(reader._known) == {(5, 5, 5, 5), (5, 0, 5, 5), (5, 0, eos, eos)}


def test_refused():
    with pytest.raises(ConstrainError, match="reads several texts in one call"):
        denoise(Hashed(LETTERS), regex("[ab]*"), length=4, drafts=2)
    with pytest.raises(ConstrainError, match="drafts is a number from 0"):
        denoise(Steady(0, 0.0), regex("[ab]*"), length=4, drafts=-1)
