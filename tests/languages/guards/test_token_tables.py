"""The tables that guards make of a vocabulary at once hold what a look at each token says."""

from __future__ import annotations

import re

import numpy as np
import pytest

import vocabularies
from constrain import Vocabulary
from constrain.languages.guards.token_tables import TokenTables, without_space
from constrain.languages.vocab.joined import JoinedTokens

ODD = [b"a", None, b"", b" ", b"\t\v t", b" 12", b"12 ", b"1e5", b"a", b" true", b"ru", b"\xff", b'\\"', b" \f7", b"],"]


@pytest.fixture(scope="module", params=["odd", "tiny", "llama3"])
def vocabulary(request: pytest.FixtureRequest) -> Vocabulary:
    return Vocabulary(ODD, eos_ids=[1]) if request.param == "odd" else getattr(vocabularies, request.param)()


def test_questions_about_bytes(vocabulary: Vocabulary) -> None:
    joined, tokens = JoinedTokens.of(vocabulary), [token or b"" for token in vocabulary.tokens]
    for some in (b" ", b"0123456789 ", b"truefalsn"):
        bare = [token.lstrip(some) for token in tokens]
        assert joined.first_but(some).tolist() == [rest[0] if rest else 256 for rest in bare]
        assert joined.within(some) == [i for i, rest in enumerate(bare) if tokens[i] and not rest]
        assert joined.holding(some) == [i for i, token in enumerate(tokens) if set(token) & set(some)]
    assert joined.first().tolist() == [token[0] if token else 256 for token in tokens]


def test_tables(vocabulary: Vocabulary) -> None:
    tables = TokenTables(vocabulary)
    tokens = [(i, token) for i, token in enumerate(vocabulary.tokens) if token]
    assert tables.ending_number.ids.tolist() == [i for i, token in tokens if re.match(rb"[\s,\]}]", token)]
    assert tables.words.ids.tolist() == [i for i, token in tokens if re.match(rb"\s*[tfn]", token)]
    words = {word[i:j] for word in (b"true", b"false", b"null") for i in range(5) for j in range(i, 6)}
    bare = [i for i, token in tokens if token.strip(b" \t\n\r") in words]
    assert {i: tables.outside.short[i] for i in bare} == {i: without_space(vocabulary.tokens[i] or b"") for i in bare}
    numeric = [i for i, token in tokens if re.fullmatch(rb"\s*[-+.\deE]+", token)]
    found = [*tables.agreeing(b"1e", {b"1"}), *tables.agreeing(b"", {None})]
    assert {i for each in found for i in each} == {*numeric}


def test_tokens_that_go_on_in_a_string(vocabulary: Vocabulary) -> None:
    tables = TokenTables(vocabulary)
    some = np.random.default_rng(0).permutation(vocabulary.size)[:500].tolist()
    for text in {vocabulary.tokens[i] for i in some} - {None}:
        assert text is not None
        spelled = [i for i, token in enumerate(vocabulary.tokens) if token == text and token]
        if not set(text) & set(b'\\"'):
            assert [i for i in tables.going_on(text) if b"\\" not in (vocabulary.tokens[i] or b"")] == spelled
    assert list(tables.going_on(b"no token has this text")) == []
