"""The tokens of an output as they are shown: texts that can be read, probabilities, what was forced.

The idea: a token may be a part of a character. Its bytes are held back, and the token that completes the character
shows it; the others are shown as a dot.
"""

from __future__ import annotations

import codecs
import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from constrain.sampling.core.job import TokenRecord

PART = "·"  # a token that is a part of a character


class Alternative(NamedTuple):
    """A token that might have stood at a place.

    Attributes:
        text: Its bytes, as text.
        probability: What the model gave it.
        allowed: Whether the constraint allowed it; None: that is not known.
        token: Its id; -1: not known.
    """

    text: str
    probability: float
    allowed: bool | None = None
    token: int = -1


class ShownToken(NamedTuple):
    """A token of an output.

    Attributes:
        text: What is shown.
        token: Its id.
        probability: p(token | the tokens before it) of the model, without the constraint; None: not recorded.
        allowed: The model's mass on all tokens that the constraint allowed there; None: not recorded.
        forced: The constraint allowed nothing else.
        alternatives: The likeliest tokens at its place, if somebody asked the model for them.
    """

    text: str
    token: int
    probability: float | None = None
    allowed: float | None = None
    forced: bool = False
    alternatives: tuple[Alternative, ...] = ()

    @property
    def surprise(self) -> float:
        """Bits of surprise: -log2 p; 0 where p is not recorded."""
        return 0.0 if self.probability is None else -math.log2(max(self.probability, 1e-12))


def shown_tokens(pieces: Sequence[bytes], tokens: Sequence[int], trace: Sequence[TokenRecord]) -> list[ShownToken]:
    """The tokens of an output.

    Args:
        pieces: The bytes of each token; special tokens by their names.
        tokens: Their ids, as many.
        trace: What was recorded of each; of another length, it is left out.

    Returns:
        One entry for each token.

    Example:
        >>> [token.text for token in shown_tokens([b"n", b"\\xc3", b"\\xa9"], [1, 2, 3], [])]
        ['n', '·', 'é']
    """
    texts = readable(pieces)
    if len(trace) != len(tokens):
        return [ShownToken(text, token) for text, token in zip(texts, tokens, strict=True)]
    return [
        ShownToken(text, token, _probability(record.log_prob_raw), _probability(record.log_z), record.forced)
        for text, token, record in zip(texts, tokens, trace, strict=True)
    ]


def readable(pieces: Sequence[bytes]) -> Iterator[str]:
    """The text of each of some pieces in a row; `PART` for the beginnings of characters."""
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    for place, piece in enumerate(pieces):
        text = decoder.decode(piece, final=place == len(pieces) - 1)
        yield text or PART


def _probability(logarithm: float) -> float | None:
    """exp of a log-probability; None for what is no number."""
    return None if math.isnan(logarithm) else min(1.0, math.exp(logarithm))
