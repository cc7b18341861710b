"""Rehearsal: read a likely text once, so that the masks that a request asks for first are known.

The idea: the masks of a schema that was never met cost what its rules, its lexers' states and its walks over the
vocabulary cost, some hundred times as much as known ones, and they come together: all requests of a batch begin at
once. Most of a text is not the model's choice, though: braces, names, the beginnings of values. One made-up instance
(`Constraint.likely_text`), read where the schema is compiled, visits these places beforehand.
The masks are the same with it and without it: only when they are made differs.

Cost: a first mask at each token, all told a few milliseconds; the interpreter's lock is given away between two tokens,
so that a loop beside it waits for one token's work at most.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from constrain.errors import ConstrainError
from constrain.languages.vocab.bits import has_bit
from constrain.languages.vocab.longest import LongestTokens
from constrain.masks.engine.rows import Row

TOKENS = 40
CHARACTERS = 5  # of a token, at most, in the mean


def rehearse(compiled: Any, text: bytes | None = None, *, tokens: int = TOKENS) -> int:
    """Make the masks that a text needs.

    Args:
        compiled: A compiled constraint, or one whose forced texts are cut as a tokenizer cuts them.
        text: A member, or the beginning of one; None: a likely one, where the constraint knows it.
        tokens: How many tokens are read at most.

    Returns:
        How many were read. A guess that is refused ends it, as does a limit.

    Example:
        >>> import constrain
        >>> from constrain.masks.completion.rehearsal import rehearse
        >>> schema = constrain.json_schema({"properties": {"age": {"type": "integer"}}, "type": "object"})
        >>> rehearse(constrain.compile(schema, constrain.Vocabulary.of_bytes()), tokens=9)
        9
    """
    try:
        if text is None:
            text = compiled.constraint.likely_text(tokens * CHARACTERS).encode()
        return _read(compiled, text, tokens)
    except (ConstrainError, RecursionError):  # a request that comes there is told of it
        return 0


def _read(compiled: Any, text: bytes, tokens: int) -> int:
    by_text = LongestTokens.of(compiled.vocabulary)
    row = np.zeros(compiled.vocabulary.words, np.uint32)
    matcher = compiled.matcher()
    at = 0
    for read in range(tokens):
        matcher.fill_mask(row)
        token = _longest(by_text, text[at : at + by_text.longest], row)
        if token < 0 or not matcher.advance(token):
            return read
        at += len(compiled.vocabulary.tokens[token])
        time.sleep(0)  # another thread may run: an engine's loop
    return tokens


def _longest(by_text: LongestTokens, text: bytes, row: Row) -> int:
    """The longest allowed token that a text begins with; -1: there is none."""
    for end in range(len(text), 0, -1):
        token = by_text.ids.get(text[:end], -1)
        if token >= 0 and has_bit(row, token):
            return token
    return -1
