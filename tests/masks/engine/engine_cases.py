"""Helpers of the engine's tests: masks as sets, small vocabularies."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from constrain.languages.vocab.vocabulary import Vocabulary
from constrain.masks.engine import Matcher


def ids_of(row: np.ndarray) -> set[int]:
    """The ids whose bits are set in a mask row."""
    return set(np.flatnonzero(np.unpackbits(row.view(np.uint8), bitorder="little")).tolist())


def mask_of(matcher: Matcher) -> set[int]:
    """The mask as a set of ids; the row is full of rubbish before, and longer than needed."""
    vocabulary = matcher.compiled.vocabulary
    row = np.full(vocabulary.words + 1, 0xA5A5A5A5, np.uint32)
    matcher.fill_mask(row)
    return ids_of(row)


def allowed(matcher: Matcher) -> set[int]:
    """The ids that `allows` says yes to, one by one."""
    return set(filter(matcher.allows, range(matcher.compiled.vocabulary.size)))


def small_vocabulary(alphabet: str, longer: Iterable[str], eos: int = 1) -> Vocabulary:
    """Single characters, longer tokens, the first longer one once more, a special token, then ids that end a text."""
    texts = [*alphabet, *longer]
    tokens: list[Any] = [*(text.encode() for text in texts), texts[len(alphabet)].encode(), None, *[None] * eos]
    return Vocabulary(tokens, range(len(tokens) - eos, len(tokens)))
