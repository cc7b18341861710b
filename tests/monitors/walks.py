"""Random walks under a constraint that look for dead ends: positions where no token may come and the text may not end.

Tokens are lexemes of the language and single bytes, so that nothing can be spelled in no way. A lexeme is drawn where
one may come; towards the end of a walk those are preferred that close what is open.
"""

import random
import re
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

import constrain


def vocabulary_of(lexemes: Iterable[str]) -> constrain.Vocabulary:
    """All bytes, then the lexemes of more than one byte, then an EOS."""
    longer = [text.encode() for text in dict.fromkeys(lexemes) if len(text.encode()) > 1]
    tokens = [*(bytes([byte]) for byte in range(256)), *longer, None]
    return constrain.Vocabulary(tokens, eos_ids=[len(tokens) - 1])


def lexemes_of(texts: Iterable[str], words: str) -> list[str]:
    """The words and signs of texts, and other words: each as it is, and behind a blank."""
    found = [*words.split(), *(lexeme for text in texts for lexeme in re.findall(r"\w+|[^\w\s]+|\n *", text))]
    return sorted({*found, *(f" {lexeme}" for lexeme in found if lexeme[0] != "\n")})


def dead_end(
    compiled: Any, seed: int, *, closing: Sequence[str], signs: str = "", steps: int = 120, mixed: bool = False
) -> bytes | None:
    """The text of a walk that ran into a dead end; None: it ended, or was as long as `steps` tokens.

    closing: Lexemes that are preferred once a third of the steps is done. signs: Single characters that are lexemes.
    mixed: Bytes are drawn half of the time where lexemes may come.
    """
    vocabulary, matcher, rng = compiled.vocabulary, compiled.matcher(), random.Random(seed)
    row, eos = np.zeros(vocabulary.words, np.uint32), vocabulary.size - 1
    single = {ord(sign) for sign in signs}
    ends = {text.encode() for text in closing}
    for step in range(steps):
        matcher.fill_mask(row)
        allowed = np.flatnonzero(np.unpackbits(row.view(np.uint8), bitorder="little")[: vocabulary.size]).tolist()
        if not allowed:
            return bytes(matcher.text)
        if allowed[-1] == eos:
            if len(allowed) == 1 or step > steps // 3 or rng.random() < 0.1:
                return None
            allowed.pop()
        lexemes = [token for token in allowed if token > 255 or token in single]
        if step > steps // 3:
            lexemes = [token for token in lexemes if vocabulary.tokens[token] in ends] or lexemes
        if mixed and rng.random() < 0.5:
            lexemes = allowed
        assert matcher.advance(rng.choice(lexemes or allowed)), matcher.text
    return None
