"""Policies that look back or around, each against a plain twin, and their settings."""

import math

import numpy as np
import pytest
from toy_diffusion import Hashed, characters

from constrain.errors import ConstrainError
from constrain.languages.constraints.regular import regex
from constrain.papers.diffusion.decode import denoise
from constrain.papers.diffusion.learned import Learned, fit_filter, known_steps, oracle_steps
from constrain.papers.diffusion.policies import Coherent, Credit, LocalLeap, Prophet, TopK

RNG = np.random.default_rng(0)


def rows(seed: int, count: int, sharpness: float = 2.0) -> np.ndarray:
    """Random distributions over five tokens."""
    logits = sharpness * np.random.default_rng(seed).standard_normal((count, 5))
    return np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)


def chosen(policy, chances: np.ndarray, positions: list[int], due: int = 1) -> list[int]:
    """The positions that a policy sets in a step."""
    scores = policy.scores(chances, np.array(positions), RNG)
    order = np.argsort(-scores, kind="stable")
    return [positions[i] for i in order[: policy.count(scores[order], due)]]


@pytest.mark.parametrize("seed", range(20))
def test_local_leap(seed):
    chances, positions = rows(seed, 12, 4.0), [0, 1, 2, 5, 6, 9, 10, 11, 20, 21, 30, 31]
    best = {p: row.max() for p, row in zip(positions, chances, strict=True)}
    anchors = [p for p in positions if best[p] >= 0.9]
    wanted = {p for p in positions if best[p] >= 0.75 and any(abs(p - a) <= 4 for a in anchors)}
    wanted = wanted or {max(positions, key=lambda p: best[p])}
    assert set(chosen(LocalLeap(), chances, positions)) == wanted


@pytest.mark.parametrize("seed", range(20))
def test_prophet(seed):
    """All positions where the mean gap is above what the stage asks for, else as many as are due."""
    policy, left = Prophet(), list(range(9))
    policy.begin()
    for step in range(4):
        chances = rows(100 * seed + step, len(left), sharpness=1 + 2 * step)
        gaps = [math.log(a) - math.log(b) for b, a in np.sort(chances, axis=1)[:, -2:]]
        done = 1 - len(left) / 9
        enough = 7.5 if done <= 1 / 3 else 5.0 if done <= 2 / 3 else 2.5
        now = chosen(policy, chances, left, due=2)
        if sum(gaps) / len(gaps) >= enough:
            assert sorted(now) == left
            return
        assert now == [left[i] for i in sorted(range(len(left)), key=lambda i: -gaps[i])[:2]]
        left = [p for p in left if p not in now]
    policy.begin()
    assert chosen(policy, rows(seed, 9, 0.1), list(range(9)), due=1) != list(range(9))


@pytest.mark.parametrize("seed", range(10))
def test_credit(seed):
    """Scores after some steps, against the formula with a table of all tokens."""
    policy, credit = Credit(0.8), np.zeros((6, 5))
    for step in range(4):
        chances = rows(10 * seed + step, 6)
        credit *= 0.65
        for i, row in enumerate(chances):
            credit[i, row.argmax()] += row.max() ** 0.5
        raised = chances * (1 + credit) ** 0.7
        wanted = (raised / raised.sum(axis=1, keepdims=True)).max(axis=1)
        scores = policy.scores(chances, np.arange(6), RNG)
        assert scores == pytest.approx(wanted)
        assert policy.count(np.sort(scores)[::-1], 1) == max(1, (wanted >= 0.8).sum())
    policy.begin()
    assert policy.scores(chances, np.arange(6), RNG) != pytest.approx(wanted)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("steps", [1, 3])
def test_coherent(seed, steps):
    """Entropy of the mean of the last predictions of each position, whichever are still open."""
    policy, seen, left = Coherent(steps, bound=0.8), {}, list(range(6))
    for step in range(4):
        chances = rows(10 * seed + step, len(left), 3.0)
        for place, row in zip(left, chances, strict=True):
            seen[place] = [*seen.get(place, []), row]
        means = [sum(seen[place][-steps:]) / len(seen[place][-steps:]) for place in left]
        scores = policy.scores(chances, np.array(left), RNG)
        assert scores == pytest.approx([float((mean * np.log(mean)).sum()) for mean in means])
        assert policy.fused(chances, np.array(left)) == pytest.approx(np.stack(means))
        assert policy.count(np.sort(scores)[::-1], 1) == max(1, sum(score >= -0.8 for score in scores))
        left.pop(seed % len(left))
    with pytest.raises(ConstrainError, match="steps is a number of predictions"):
        Coherent(0)


@pytest.mark.parametrize("temperature", [0.0, 0.7])
@pytest.mark.parametrize("make", [lambda: Coherent(3, 0.9), lambda: Credit(0.7, fuses=True)], ids=["ccd", "credit"])
@pytest.mark.parametrize("seed", range(4))
def test_tokens_are_drawn_from_what_is_fused(seed, make, temperature):
    """A whole decoder by its definition: without a constraint, each token by the fused distribution of its step."""
    model, twin, length = Hashed(characters("abc"), seed, 1.5), make(), 6
    drawn = lambda p: int(np.argmax(p > 0.3))  # noqa: E731
    found = denoise(model, None, length=length, policy=make(), temperature=temperature, draw=drawn)
    tokens = [model.mask_id] * length
    twin.begin()
    while model.mask_id in tokens:
        logits = model.logits(tokens).astype(float)
        logits[:, model.mask_id] = -np.inf
        places = np.array([i for i, token in enumerate(tokens) if token == model.mask_id])
        powers = np.exp((logits[places] - logits[places].max(axis=1, keepdims=True)) / (temperature or 1.0))
        chances = powers / powers.sum(axis=1, keepdims=True)
        scores = twin.scores(chances, places, RNG)
        order = np.argsort(-scores, kind="stable")
        fused = twin.fused(chances, places)
        for i in order[: twin.count(scores[order], 1)]:
            tokens[places[i]] = int(np.argmax(fused[i])) if temperature == 0 else drawn(fused[i])
        if 3 in tokens:  # the end: nothing else is put behind it
            end = tokens.index(3)
            tokens = [3 if i > end and token == model.mask_id else token for i, token in enumerate(tokens)]
    assert found.tokens == tokens
    with pytest.raises(ConstrainError, match="draws from another"):
        denoise(model, regex("[abc]*"), length=4, policy=make(), temperature=1.0, weigh=True)
    assert denoise(model, regex("(ab|c){2}"), length=5, policy=make(), temperature=temperature, seed=1).fault is None


def test_fused_credit():
    policy, credit = Credit(0.8, fuses=True), np.zeros((6, 5))
    for step in range(3):
        chances = rows(step, 6)
        policy.scores(chances, np.arange(6), RNG)
        credit *= 0.65
        credit[np.arange(6), chances.argmax(axis=1)] += chances.max(axis=1) ** 0.5
        raised = chances * (1 + credit) ** 0.7
        assert policy.fused(chances, np.arange(6)) == pytest.approx(raised / raised.sum(axis=1, keepdims=True))


def test_top_k():
    assert denoise(Hashed(characters("ab"), 1), regex("[ab]{8}"), length=8, policy=TopK(3)).steps == 3
    with pytest.raises(ConstrainError, match="k is a number of positions"):
        TopK(0)


def test_a_policy_forgets_the_text_before():
    """An object that is used for two texts does what a new one does."""
    model, policy = Hashed(characters("ab"), 4, 2.0), Credit(0.7)
    first = denoise(model, regex("[ab]*"), length=8, policy=policy).order
    assert denoise(model, regex("[ab]*"), length=8, policy=policy).order == first


def random_filter(seed: int, size: int = 4, hidden: int = 3) -> list[np.ndarray]:
    """Weights of a filter, as large as its answers are decided."""
    rng = np.random.default_rng(seed)
    return [3 * rng.standard_normal(shape) for shape in ((size, hidden), (hidden,), (hidden, size), (size,))]


@pytest.mark.parametrize("seed", range(20))
def test_learned(seed):
    """The positions that the filter takes for final, each block by itself, and the most confident one."""
    weights, chances, positions = random_filter(seed), rows(seed, 7), [0, 2, 3, 4, 6, 9, 10]
    best = {p: row.max() for p, row in zip(positions, chances, strict=True)}
    wanted = {max(positions, key=lambda p: best[p])}
    for position in positions:
        first = position - position % 4
        inputs = [best.get(place, 1.0) for place in range(first, first + 4)]
        hidden = [max(0.0, sum(c * weights[0][i, j] for i, c in enumerate(inputs)) + weights[1][j]) for j in range(3)]
        output = sum(h * weights[2][j, position % 4] for j, h in enumerate(hidden)) + weights[3][position % 4]
        if 1 / (1 + math.exp(-output)) > 0.6:
            wanted.add(position)
    assert set(chosen(Learned(weights, least=0.6), chances, positions)) == wanted


@pytest.mark.parametrize("block", [3, 6])
def test_the_oracle_goes_where_the_text_is(block):
    """Each step of extremely greedy parallel decoding, replayed: what is right is set, and ends in the text."""
    model = Hashed(characters("abc"), seed=3, sharpness=4.0)
    text, canvas = [0, 1, 2, 2, 1, 3], [model.mask_id] * 6
    for confidences, labels, known in oracle_steps(model, [0], text, block):
        start = next(i for i, token in enumerate(canvas) if token == model.mask_id) // block * block
        logits = model.logits([0, *canvas])[1:][start : start + block].astype(float)[:, :-1]
        powers = np.exp(logits - logits.max(axis=1, keepdims=True))
        best, proposed = (powers / powers.sum(axis=1, keepdims=True)).max(axis=1), logits.argmax(axis=1)
        assert known.tolist() == [token == model.mask_id for token in canvas[start : start + block]]
        assert confidences == pytest.approx(np.where(known, best, 1.0))
        right = [bool(k) and int(p) == text[start + i] for i, (k, p) in enumerate(zip(known, proposed, strict=True))]
        assert labels.astype(bool).tolist() == right
        if not any(right):
            right[int(np.where(known, best, -1).argmax())] = True
        for i in np.flatnonzero(right):
            canvas[start + i] = text[start + i]
    assert canvas == text


class Known(Hashed):
    """A model that knows a text, and is sure of it, but at some places, where it is as sure of something else."""

    def logits(self, tokens):
        found = np.zeros((len(tokens), len(self.vocabulary)), np.float32)
        for place in range(len(tokens)):
            wrong = place in (1, 2) and place and tokens[place - 1] == self.mask_id
            found[place, (place + wrong) % 3] = 3.0 - 0.1 * wrong
        return found


def test_a_filter_learns_what_is_final():
    """A proposal is wrong at a little less confidence: a threshold takes both or none, the trained filter one."""
    model = Known(characters("abc"))
    policy = fit_filter(known_steps(model, [[]], length=6), epochs=400)
    plain, learned = denoise(model, None, length=6), denoise(model, None, length=6, policy=policy)
    assert learned.tokens == plain.tokens
    assert learned.steps < plain.steps == 6


@pytest.mark.parametrize("weights", [[], [np.zeros((2, 3))] * 4])
def test_filters_of_other_shapes(weights):
    with pytest.raises(ConstrainError, match="two matrices and two biases"):
        Learned(weights)
