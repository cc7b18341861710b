"""Canonical tokens in engines: a request writes each text in the tokenizer's own cut, and nothing ends dead.

The oracle is a list of texts, and the tokenizer that cuts them. A text whose own cut has a token that ends it here
is written in another cut, if it can be.
"""

import functools
import json
import logging
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from tokenizers import Tokenizer

import constrain
from constrain.engines.requests.compiler import RequestCompiler
from constrain.engines.requests.options import EngineOptions
from constrain.engines.requests.request import RequestMatcher
from constrain.errors import ConstrainError
from constrain.papers.cuts.canonical import CanonicalCuts
from made_tokenizers import MADE

TEXTS = ["aa", "a", "'s", "''s", "a's a", "  a", " \n a", "11 1", "1", "!!", '"!', "s\n\n\na", "\n\n", "ss"]


class Held:
    """A tokenizer as engines hold it."""

    def __init__(self, name: str) -> None:
        self.backend_tokenizer: Tokenizer = MADE[name]()
        self.eos_token_id = self.backend_tokenizer.token_to_id("<end>")

    def ids(self, text: str) -> list[int]:
        ids: list[int] = self.backend_tokenizer.encode(text, add_special_tokens=False).ids
        return ids


@pytest.fixture(scope="module", params=list(MADE))
def held(request: pytest.FixtureRequest) -> Held:
    return Held(request.param)


@functools.cache
def compiler_of(held: Held, **options: Any) -> RequestCompiler:
    """The compiler of an engine with these options: as in an engine, one for all requests."""
    return RequestCompiler(held, held.backend_tokenizer.get_vocab_size() + 7, EngineOptions(**options), [])


def finished(compiled: Any, stops: tuple[int, ...]) -> list[list[int]]:
    """All sequences that a request may write before an end; fails at a dead end."""
    size, words = compiled.vocabulary.size, compiled.vocabulary.words
    found: list[list[int]] = []
    request = RequestMatcher(compiled, stops, logging.getLogger("tests"))
    ends = set(stops or compiled.vocabulary.eos_ids)

    def follow(tokens: list[int]) -> None:
        row = np.zeros(words, np.uint32)
        request.fill(row)
        assert not request.fault, (tokens, request.fault)
        for token in np.flatnonzero(np.unpackbits(row.view(np.uint8), bitorder="little")[:size]).tolist():
            assert request.read(token), (tokens, token)
            assert request.ended == (token in ends)
            if request.ended:
                found.append(tokens)
            else:
                follow([*tokens, token])
            request.rollback(1)

    follow([])
    return found


def written(compiler: RequestCompiler, found: list[list[int]]) -> list[str]:
    return sorted(compiler.vocabulary.to_bytes(tokens).decode() for tokens in found)


def test_a_request_writes_the_tokenizers_own_cut(held: Held) -> None:
    """With the ends of the vocabulary, and with others that are no text."""
    compiler = compiler_of(held, canonical=True)
    assert compiler.cuts == "canonical"
    compiled = compiler.compiled("choice", json.dumps(TEXTS))
    own = [held.ids(text) for text in TEXTS]
    for stops in ((), (compiler.vocabulary.size - 1,), (held.eos_token_id, compiler.vocabulary.size - 2)):
        found = finished(compiled, stops)
        assert written(compiler, found) == sorted(text for text in TEXTS for _ in {*stops} or "1")
        if written(compiler, own) == sorted(TEXTS):  # else it has no tokens for some characters
            assert {*map(tuple, found)} == {*map(tuple, own)}


def test_a_request_that_text_ends_writes_all_cuts(held: Held) -> None:
    """A text whose own cut has the token that ends the request can only be written in another one."""
    compiler = compiler_of(held, canonical=True)
    compiled = compiler.compiled("choice", json.dumps(TEXTS))
    stop = (held.ids("!!")[-1],)
    assert {*written(compiler, finished(compiled, stop))} == {*TEXTS}
    assert len(finished(compiled, stop)) > len(TEXTS)


def test_a_draft_is_cut_and_taken_back(held: Held) -> None:
    compiled = compiler_of(held).compiled("choice", '["a\'s a", "aa"]')
    matcher = compiled.matcher()
    own = held.ids("a's a")
    assert matcher.advance_tokens([*own, held.ids("1")[0]]) == len(own)
    assert matcher.is_accepting() and matcher.fork().is_accepting()
    states = []
    for _ in own:
        states.append(matcher.state)
        matcher.rollback(1)
    assert matcher.text == b"" and matcher.state == compiled.matcher().state
    for token, state in zip(own, reversed(states), strict=True):
        assert matcher.advance(token) and matcher.state == state


def test_who_asks_for_all_tokens_gets_them(held: Held) -> None:
    compiler = compiler_of(held, canonical=False)
    assert compiler.cuts == "all"
    assert isinstance(compiler.compiled("choice", '["aa"]'), constrain.masks.engine.CompiledConstraint)
    assert type(compiler_of(held, canonical=True).compiled("choice", '["aa"]')) is CanonicalCuts


def test_by_default_the_own_cut_is_written_where_text_is_forced(held: Held) -> None:
    """A text that is the only one has its own cut, but for twins of its last byte; several have theirs among others."""
    compiler = compiler_of(held)
    assert compiler.cuts == "forced"
    for text in TEXTS:
        found = finished(compiler.compiled("choice", json.dumps([text])), ())
        assert {*written(compiler, found)} == {text}
        if written(compiler, [held.ids(text)]) == [text]:  # else it has no tokens for some characters
            assert held.ids(text) in found and {len(tokens) for tokens in found} == {len(held.ids(text))}
    found = finished(compiler.compiled("choice", json.dumps(TEXTS)), ())
    own = [held.ids(text) for text in TEXTS]
    assert {*written(compiler, found)} == {*TEXTS}
    assert written(compiler, own) != sorted(TEXTS) or {*map(tuple, own)} <= {*map(tuple, found)}


def test_a_tokenizer_that_is_not_understood_is_said() -> None:
    from tokenizers import decoders, models

    unigram = Tokenizer(models.Unigram([("a", -1.0), ("b", -2.0), ("<end>", -3.0)], unk_id=0, byte_fallback=False))
    unigram.decoder = decoders.ByteFallback()
    unigram.add_special_tokens(["<end>"])
    held = SimpleNamespace(backend_tokenizer=unigram, eos_token_id=2)
    compiler = RequestCompiler(held, 3, EngineOptions())
    assert compiler.cuts == "all: this tokenizer has no merges"
    with pytest.raises(ConstrainError, match="canonical tokens are not possible: this tokenizer has no merges"):
        RequestCompiler(held, 3, EngineOptions(canonical=True))


def test_what_must_follow_has_its_own_cut(held: Held) -> None:
    """The text of a jump is read anew by the tokenizer: it writes the tokens that must follow."""
    compiler = compiler_of(held)
    for first, texts in (("", ["aa's !! 1", "aa's !! s"]), ("a", ["a\n\n  a1", "a\n\n  as"]), ("", ["  1!", "   1"])):
        matcher = compiler.compiled("choice", json.dumps(texts)).matcher()
        assert matcher.advance_tokens(held.ids(first)) == len(held.ids(first))
        jump = matcher.forced_text()
        assert all(text.encode().startswith(first.encode() + jump) for text in texts)
        after = held.ids(first + jump.decode())
        assert compiler.compiled("choice", json.dumps(texts)).matcher().advance_tokens(after) == len(after)
        assert all(held.ids(text)[: len(after)] == after for text in texts)
