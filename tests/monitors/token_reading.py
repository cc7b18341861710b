"""Texts read token by token, the longest ones that fit, and random texts: masks are what each token may do."""

import random
from collections.abc import Callable, Collection, Iterable
from typing import Any

import numpy as np

import constrain
import vocabularies
from constrain.languages.vocab.bits import tokens_of
from constrain.languages.vocab.longest import longest_match
from constrain.monitors import monitored


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


def with_tokens(more: list[bytes]) -> constrain.Vocabulary:
    """The tokens of a small vocabulary, and some that straddle lexemes."""
    known = vocabularies.tiny().tokens
    return constrain.Vocabulary([*known, *more, None], eos_ids=[len(known) + len(more)])


def check_masks(
    language: str, monitor: Any, more: list[bytes], starts: Iterable[bytes], steps: int, share: float = 0,
    at_members: Callable[[str], object] = id, refused_starts: Collection[bytes] = (),
) -> None:  # fmt: skip
    """Walk on from each start: every token of a vocabulary at every place of random texts.

    The mask is what each token by itself may do, nothing that the grammar alone refuses, and never empty; a token that
    is allowed is no dead end. share: how often a token of several bytes is drawn. refused_starts: may not be read.
    """
    vocabulary, grammar = with_tokens(more), constrain.collection.load(language)
    compiled, alone = constrain.compile(monitored(grammar, monitor), vocabulary), constrain.compile(grammar, vocabulary)
    row, other = np.zeros((2, vocabulary.words), np.uint32)
    rng, refused = random.Random(steps), 0
    for start in starts:
        matcher, free = compiled.matcher(), alone.matcher()
        if not matcher.advance_bytes(start):
            assert start in refused_starts, start
            continue
        assert free.advance_bytes(start)
        for _ in range(steps):
            matcher.fill_mask(row)
            free.fill_mask(other)
            single = [token for token in range(vocabulary.size) if matcher.allows(token)]
            assert single and tokens_of(row).tolist() == single, matcher.text
            assert not (row & ~other).any()
            refused += len(tokens_of(other & ~row))
            texts = [token for token in single if vocabulary.tokens[token]]
            if not texts:
                break
            long = [token for token in texts if len(vocabulary.tokens[token] or b"") > 1] if share else []
            token = rng.choice(long if long and rng.random() < share else texts)
            assert matcher.advance(token) and free.advance(token)
            if matcher.is_accepting():
                at_members(matcher.text)
    assert refused > 100
