"""Laws of texts by enumeration, and whether weighted outputs agree with them.

The oracle reads every way of writing every text in tokens, with the model alone: no matcher, no mask, no sampler.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

LogProbs = Callable[[list[list[int]]], torch.Tensor]  # equally long texts -> float[B, length, W], after each token


def spellings(text: bytes, tokens: Sequence[bytes | None]) -> list[list[int]]:
    """All sequences of token ids that spell a text."""
    ids: dict[bytes, list[int]] = defaultdict(list)
    for token, piece in enumerate(tokens):
        if piece:
            ids[piece].append(token)
    found: list[list[list[int]]] = [[[]]]  # by length of the text so far
    for end in range(1, len(text) + 1):
        found.append(
            [[*before, token] for begin in range(end) for token in ids[text[begin:end]] for before in found[begin]]
        )
    return found[len(text)]


def exact_law(
    prompt: list[int],
    texts: Sequence[str],
    tokens: Sequence[bytes | None],
    eos: int,
    read: LogProbs,
    cut: Callable[[str], list[int]] | None = None,
) -> tuple[dict[str, float], dict[str, float], float]:
    """The laws of some texts, each ended by `eos`.

    Args:
        prompt, texts, tokens, eos, read: The prompt, the texts, the bytes of each token, its end, the model.
        cut: A text's only tokens that count; None: all that spell it do.

    Returns:
        π, the model conditioned on the texts; q, masked decoding; the mass of the texts.
    """
    log_p: dict[tuple[int, ...], float] = {}
    members = {
        (*ids, eos): text for text in texts for ids in ([cut(text)] if cut else spellings(text.encode(), tokens))
    }
    following: dict[tuple[int, ...], set[int]] = defaultdict(set)
    for ids in members:
        for place, token in enumerate(ids):
            following[ids[:place]].add(token)
    rows = {prefix: read([[*prompt, *prefix]])[0, -1].double().log_softmax(-1) for prefix in following}
    p, q = defaultdict(float), defaultdict(float)
    for ids, text in members.items():
        steps = [(rows[ids[:place]], following[ids[:place]], token) for place, token in enumerate(ids)]
        log_p[ids] = sum(float(row[token]) for row, _, token in steps)
        log_z = sum(float(row[sorted(allowed)].logsumexp(0)) for row, allowed, _ in steps)
        p[text] += math.exp(log_p[ids])
        q[text] += math.exp(log_p[ids] - log_z)
    mass = math.fsum(p.values())
    return {text: value / mass for text, value in p.items()}, dict(q), mass


def distance(one: dict[str, float], other: dict[str, float]) -> float:
    """Total variation."""
    return 0.5 * sum(abs(one.get(text, 0.0) - other.get(text, 0.0)) for text in {*one, *other})


def estimate(texts: Sequence[str], weights: np.ndarray) -> dict[str, float]:
    """The law that weighted texts speak of."""
    total = weights.sum()
    return {text: float(weights[[each == text for each in texts]].sum() / total) for text in {*texts}}


def noise_band(texts: Sequence[str], weights: np.ndarray, share: float = 0.999, rounds: int = 2000) -> float:
    """The `share`-quantile of the distance between such an estimate and its own distribution, by the bootstrap."""
    names = sorted({*texts})
    places = np.array([names.index(text) for text in texts])
    whole = np.bincount(places, weights, len(names)) / weights.sum()
    random = np.random.default_rng(0)
    distances = []
    for _ in range(rounds):
        drawn = random.integers(0, len(texts), len(texts))
        again = np.bincount(places[drawn], weights[drawn], len(names))
        distances.append(0.5 * np.abs(again / again.sum() - whole).sum())
    return float(np.quantile(distances, share))


def weighted(outputs: Sequence[Any]) -> tuple[list[str], np.ndarray]:
    """Texts and weights of complete outputs; others weigh nothing."""
    weights = [math.exp(each.log_weight) if each.finish_reason == "stop" else 0.0 for each in outputs]
    return [each.text for each in outputs], np.array(weights)
