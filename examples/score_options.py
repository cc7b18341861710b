"""Sixteen answers scored in one forward: a classifier without sampling.

python examples/score_options.py [MODEL]
"""

from __future__ import annotations

import sys

import constrain

LABELS = [f"{mood} {topic}" for mood in ("good", "bad", "mixed", "no") for topic in ("news", "review", "mail", "code")]


def main(model: object = None) -> list[tuple[str, float]]:
    """The labels with their shares, the likeliest first."""
    model = model or constrain.reference.load()
    scores = constrain.score(model, "I loved this film. Label: ", LABELS)
    assert scores.forwards == 1 and abs(sum(scores.shares) - 1) < 1e-9
    return sorted(zip(LABELS, scores.shares, strict=True), key=lambda pair: -pair[1])


if __name__ == "__main__":
    for label, share in main(*sys.argv[1:])[:5]:
        print(f"{share:.3f}  {label}")
