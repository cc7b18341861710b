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
from itertools import islice
from typing import Any

from constrain.errors import ConstrainError
from constrain.languages.vocab.longest import LongestTokens

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
    read = 0
    try:
        if text is None:
            text = compiled.constraint.likely_text(tokens * CHARACTERS).encode()
        by_longest = LongestTokens.of(compiled.vocabulary).read(compiled.matcher(), text)
        for _ in islice(by_longest, tokens):
            read += 1
            time.sleep(0)  # another thread may run: an engine's loop
    except (ConstrainError, RecursionError):  # a request that comes there is told of it
        pass
    return read
