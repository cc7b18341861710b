"""Rows of canonical tokens beside the steps of their automaton, and loose bytes beside the tokenizer itself."""

import functools
import itertools
import random

import numpy as np
import pytest
from tokenizers import Tokenizer

import constrain
from constrain.languages.cuts import CanonicalTokens
from constrain.languages.cuts.canonical import DEAD
from constrain.papers.cuts.rows import CanonicalRows
from made_tokenizers import MADE

ALPHABET = ["a", "'", "s", " ", "\n", "1", "!", '"', "é"]


@pytest.fixture(scope="module", params=list(MADE))
def both(request: pytest.FixtureRequest) -> tuple[Tokenizer, CanonicalTokens, CanonicalRows]:
    tokenizer = MADE[request.param]()
    vocabulary = constrain.Vocabulary.from_huggingface(tokenizer, eos_ids=[tokenizer.token_to_id("<end>")])
    canonical = CanonicalTokens.of(tokenizer, vocabulary)
    return tokenizer, canonical, CanonicalRows.of(canonical, vocabulary)


def test_rows_are_the_steps(both: tuple[Tokenizer, CanonicalTokens, CanonicalRows]) -> None:
    """A row has the tokens whose step is not dead: the kernel beside the plain form."""
    _, canonical, rows = both
    rng = random.Random(3)
    for _ in range(60):
        state = canonical.start
        for _ in range(rng.randrange(6)):
            row = rows.row(state)
            allowed = np.flatnonzero(np.unpackbits(row.view(np.uint8), bitorder="little"))
            expected = [t for t in range(len(canonical.tokens)) if canonical.step(state, t) != DEAD]
            assert allowed.tolist() == expected
            near = [t for t in expected if canonical.tokens[t] and max(canonical.tokens[t]) < 128] or expected
            state = canonical.step(state, rng.choice(near))


def test_loose_bytes_join_nothing(both: tuple[Tokenizer, CanonicalTokens, CanonicalRows]) -> None:
    tokenizer, canonical, rows = both
    rng = random.Random(4)
    rests = ["", *map("".join, itertools.chain(ALPHABET, itertools.product(ALPHABET, repeat=2)))]
    found = 0
    for text in rng.sample([*map("".join, itertools.product(ALPHABET, repeat=3))], 120):
        own = tokenizer.encode(text, add_special_tokens=False).ids
        if b"".join(canonical.tokens[token] or b"" for token in own) != text.encode():
            continue
        bits = rows.loose(functools.reduce(canonical.step, own, canonical.start))
        for character in ALPHABET:
            first = character.encode()[0]
            if bits[first >> 5] >> (first & 31) & 1:
                found += 1
                for rest in rests:
                    after = tokenizer.encode(text + character + rest, add_special_tokens=False).ids
                    assert after[: len(own)] == own, (text, character + rest)
    assert found > 50
