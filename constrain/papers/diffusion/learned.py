"""`Learned`: a small network says which proposals of a masked-diffusion model are final (Learn2PD).

Measured on the trained model of 32 characters (n = 12): at 7.8 calls a text 3 of 12 JSON texts are right, with
`Threshold(0.7)` 5 at 8.4 and with `Threshold(0.5)` none at 7.1: a filter of confidences says little that a lower
threshold does not, and does not pay there (record 2026-11-28-papers).

Paper: Bao et al. 2025, "Learning to Parallel Decode" (arXiv 2509.25188; code ims-kdks/Learning-to-Parallel-Decoding,
commit 342293c). The oracle of "extremely greedy parallel" decoding sets a proposal as soon as it is the token of the
final text. A filter f, two layers on the confidences of a block, is trained to tell that (binary cross-entropy):

    set position i    where sigmoid(f(c)_i) > least, and the most confident position in any case

`known_steps` has the model write texts one token a step, and replays the oracle on them; `fit_filter` trains f. Here a
position that is set has confidence 1 (there it is what the model says of it now), and its label is not learned from.
Their end-of-text prediction, which cuts the canvas behind a proposed end, is what `denoise` does with an end that is
set: positions behind it are set in the same step.

Distribution: none is stated, as of any policy that sets several tokens a step.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from constrain.errors import ConstrainError
from constrain.languages.constraints.base import Constraint
from constrain.papers.diffusion.decode import denoise
from constrain.papers.diffusion.models import MaskedDiffusion
from constrain.papers.diffusion.policies import Confidence, Rows

Step = tuple[Rows, Rows, NDArray[np.bool_]]  # of a block: confidences, whether each proposal is final, which are open


class Learned(Confidence):
    """By confidence, the proposals that a trained filter takes for final, at least one; see `fit_filter`.

    Args:
        weights: (inputs to hidden [n, h], bias [h], hidden to outputs [h, n], bias [n]) for blocks of n positions.
        least: the probability of being final that is enough. Default 0.9.

    Raises:
        ConstrainError: shapes do not fit, or `least` is not between 0 and 1.
    """

    def __init__(self, weights: Sequence[Rows], *, least: float = 0.9) -> None:
        self.weights = [np.asarray(each, dtype=np.float64) for each in weights]
        shapes = [each.shape for each in self.weights]
        size, hidden = shapes[0] if shapes and len(shapes[0]) == 2 else (0, 0)
        if shapes != [(size, hidden), (hidden,), (hidden, size), (size,)]:
            raise ConstrainError(f"weights of a filter are two matrices and two biases, not {shapes!r:.80}")
        if not 0 < least <= 1:
            raise ConstrainError(f"a threshold is a probability, not {least!r:.60}", fix="Learned(weights, least=0.9)")
        self.block, self.least = size, least

    def scores(self, probabilities: Rows, positions: NDArray[np.int64], rng: np.random.Generator) -> Rows:
        """Confidence of each position, plus 2 where it is to be set in this step."""
        best = probabilities.max(axis=1)
        chosen = np.zeros(len(positions), dtype=bool)
        chosen[int(best.argmax())] = True
        for block in np.unique(positions // self.block):
            here = positions // self.block == block
            confidences = np.ones(self.block)
            confidences[positions[here] % self.block] = best[here]
            chosen[here] |= self.final(confidences)[positions[here] % self.block] > self.least
        return np.asarray(best + 2 * chosen)

    def final(self, confidences: Rows) -> Rows:
        """The probability that each proposal of a block is final, float64[n]."""
        into, first, out, second = self.weights
        return np.asarray(1 / (1 + np.exp(-(np.maximum(confidences @ into + first, 0) @ out + second))))

    def count(self, sorted_scores: Rows, due: int) -> int:
        """All positions that are chosen, however many are due."""
        return max(1, int((sorted_scores >= 2).sum()))


def oracle_steps(model: MaskedDiffusion, prompt: Sequence[int], tokens: Sequence[int], block: int) -> list[Step]:
    """The steps of extremely greedy parallel decoding toward a text.

    Positions whose proposal is the text's token are set; where none is, the most confident one is given it.
    """
    found, canvas, final = list[Step](), np.full(len(tokens), model.mask_id), np.asarray(tokens)
    for start in range(0, len(final), block):
        here = slice(start, min(start + block, len(final)))
        while (open_now := canvas[here] == model.mask_id).any():
            logits = np.asarray(model.logits([*prompt, *canvas.tolist()])[len(prompt) :][here], dtype=np.float64)
            logits[:, model.mask_id] = -np.inf
            powers = np.exp(logits - logits.max(axis=1, keepdims=True))
            best = powers.max(axis=1) / powers.sum(axis=1)
            right = (logits.argmax(axis=1) == final[here]) & open_now
            confidences, labels, known = np.ones(block), np.zeros(block), np.zeros(block, dtype=bool)
            confidences[: len(best)], labels[: len(best)] = np.where(open_now, best, 1.0), right
            known[: len(best)] = open_now
            found.append((confidences, labels, known))
            if not right.any():
                right[int(np.where(open_now, best, -1.0).argmax())] = True
            canvas[here][right] = final[here][right]
    return found


def known_steps(
    model: MaskedDiffusion,
    prompts: Sequence[Sequence[int]],
    *,
    length: int,
    constraint: Constraint | None = None,
    block: int | None = None,
    first_seed: int = 0,
    **options: Any,
) -> list[Step]:
    """The oracle's steps toward texts that a model writes one token a step.

    Args:
        model: the model.
        prompts: token ids before each text.
        length: of the texts.
        constraint: on the texts.
        block: positions that are decoded together. Default: `length`.
        first_seed: of the first text; each has the next.
        options: others of `denoise`, such as `temperature`.

    Returns:
        The steps, for `fit_filter`.
    """
    size, steps = block or length, list[Step]()
    for number, prompt in enumerate(prompts):
        out = denoise(model, constraint, prompt=prompt, length=length, block=size, seed=first_seed + number, **options)
        steps += oracle_steps(model, prompt, out.tokens, size)
    return steps


def fit_filter(steps: Sequence[Step], *, hidden: int | None = None, epochs: int = 2000, least: float = 0.9) -> Learned:
    """Train a filter.

    Args:
        steps: of `known_steps`.
        hidden: units between the layers. Default: as many as a block has positions, as the authors have it.
        epochs: passes over all steps.
        least: of the policy.

    Returns:
        The policy.
    """
    import torch

    confidences, labels, known = (
        torch.tensor(np.stack(part), dtype=torch.float32) for part in zip(*steps, strict=True)
    )
    size = confidences.shape[1]
    inner = hidden or size
    generator = torch.Generator().manual_seed(0)
    weights = [
        ((torch.rand(shape, generator=generator) * 2 - 1) * inputs**-0.5).requires_grad_()
        for shape, inputs in (((size, inner), size), ((inner,), size), ((inner, size), inner), ((size,), inner))
    ]
    optimizer = torch.optim.AdamW(weights, lr=0.003)
    for _ in range(epochs):
        logits = torch.relu(confidences @ weights[0] + weights[1]) @ weights[2] + weights[3]
        loss = torch.nn.functional.binary_cross_entropy_with_logits(logits, labels, known)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return Learned([each.detach().numpy() for each in weights], least=least)
