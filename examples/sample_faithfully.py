"""What a constraint does to the distribution, and how weights mend it.

    python examples/sample_faithfully.py [MODEL]

`score` gives the exact law of four options. Masked decoding draws from another one; its weights correct for that.
"""

from __future__ import annotations

import sys
from collections import Counter

import constrain

PROMPT = "A colour: "
COLOURS = ["red", "green", "blue", "black"]


def main(model: object = None) -> dict[str, list[float]]:
    """The shares of the options: exact, as masked decoding draws them, and with its weights."""
    model = model or constrain.reference.load()
    exact = constrain.score(model, PROMPT, COLOURS, tokenisations="all").shares
    drawn = constrain.generate(model, PROMPT, choices=COLOURS, n=400, seed=1)
    counts = Counter(output.text for output in drawn)
    masked = [counts[colour] / len(drawn) for colour in COLOURS]
    by_text = dict.fromkeys(COLOURS, 0.0)
    for output, weight in zip(drawn, drawn.weights, strict=True):
        by_text[output.text] += weight
    weighted = list(by_text.values())
    far, near = (sum(abs(a - b) for a, b in zip(exact, shares, strict=True)) / 2 for shares in (masked, weighted))
    print(f"distance from the exact law: masked {far:.3f}, weighted {near:.3f}")
    assert near < far
    return {"exact": exact, "masked": masked, "weighted": weighted}


if __name__ == "__main__":
    for name, shares in main(*sys.argv[1:]).items():
        print(f"{name:9}", *(f"{colour} {share:.3f}" for colour, share in zip(COLOURS, shares, strict=True)))
