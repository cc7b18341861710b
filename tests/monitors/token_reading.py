"""A text read token by token, the longest ones that fit: each must be in the mask of its place."""

from __future__ import annotations

from typing import Any

import numpy as np

from constrain.languages.vocab.longest import longest_match


def read_by_token(compiled: Any, text: bytes) -> Any:
    """The matcher at the end of a text."""
    vocabulary, matcher = compiled.vocabulary, compiled.matcher()
    row = np.zeros(vocabulary.words, np.uint32)
    tokens = longest_match(vocabulary.tokens)(text)
    assert b"".join(vocabulary.tokens[token] for token in tokens) == text
    for token in tokens:
        matcher.fill_mask(row)
        assert row[token >> 5] >> (token & 31) & 1, matcher.text[-60:]
        assert matcher.advance(token)
    return matcher
