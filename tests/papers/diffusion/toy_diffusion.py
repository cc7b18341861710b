"""Masked-diffusion models made for tests: one that hashes its context, one that prefers what is wrong."""

import hashlib
from collections.abc import Callable, Sequence

import numpy as np

from constrain.languages.vocab.vocabulary import Vocabulary


def characters(text: str) -> Vocabulary:
    """One token for each character, then EOS, then the mask."""
    return Vocabulary([*(letter.encode() for letter in text), None, None], [len(text)])


class Hashed:
    """Logits are a function of the context, the position and a seed; peaked, so that orders differ by policy."""

    def __init__(self, vocabulary: Vocabulary, seed: int = 0, sharpness: float = 3.0) -> None:
        self.vocabulary, self.mask_id = vocabulary, len(vocabulary) - 1
        self.seed, self.sharpness, self.forwards = seed, sharpness, 0

    def logits(self, tokens: Sequence[int]) -> np.ndarray:
        self.forwards += 1
        digest = hashlib.sha256(repr((self.seed, list(tokens))).encode()).digest()
        rng = np.random.default_rng(int.from_bytes(digest[:8], "little"))
        return (self.sharpness * rng.standard_normal((len(tokens), len(self.vocabulary)))).astype(np.float32)


class Adversary(Hashed):
    """Prefers by far, at each position, the tokens that make a text wrong."""

    def __init__(self, vocabulary: Vocabulary, likes: Callable[[bytes | None], float], seed: int = 0) -> None:
        super().__init__(vocabulary, seed)
        self.likes = np.array([likes(text) for text in vocabulary.tokens])

    def logits(self, tokens: Sequence[int]) -> np.ndarray:
        return (super().logits(tokens) + 1e4 * self.likes).astype(np.float32)
