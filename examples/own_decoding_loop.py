"""Masks in a decoding loop of your own: numpy and a vocabulary, no torch and no transformers.

    python examples/own_decoding_loop.py

The "model" draws tokens at random. Whatever it prefers, the text is a member.
"""

from __future__ import annotations

import json
import random

import numpy as np

import constrain

SCHEMA = {"type": "array", "items": {"enum": ["a", "b", 1, None]}, "minItems": 1, "maxItems": 4}
WORDS = [bytes([byte]) for byte in range(256)] + [b'", "', b"null", b'["', b'"]', b", "]


def main(seed: int = 1) -> list[object]:
    """A random member of the schema."""
    vocabulary = constrain.Vocabulary([*WORDS, None], eos_ids=[len(WORDS)])
    compiled = constrain.compile(constrain.json_schema(SCHEMA), vocabulary)  # shared by all requests and threads
    matcher = compiled.matcher()  # one sequence
    row = np.zeros(vocabulary.words, np.uint32)
    rng = random.Random(seed)
    while not matcher.is_finished():
        matcher.fill_mask(row)
        allowed = np.flatnonzero(np.unpackbits(row.view(np.uint8), bitorder="little"))
        assert matcher.advance(int(rng.choice(allowed)))
    return json.loads(matcher.text)


if __name__ == "__main__":
    print(*(main(seed) for seed in range(5)), sep="\n")
