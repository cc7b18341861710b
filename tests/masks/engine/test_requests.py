"""Serving engines' calls to a matcher: ends of a request, a prefix, several tokens at once, drafts, scattered rows."""

import copy
import pickle
from itertools import product
from typing import Any

import numpy as np
import pytest
import torch

import constrain
import vocabularies
from constrain import ConstrainError

VOCABULARY = vocabularies.tiny()
WORDS = VOCABULARY.words
(EOS,) = VOCABULARY.eos_ids[:1]
LANGUAGES = {
    "regex": constrain.regex("a(b|aa)*"),
    "greedy": constrain.grammar("start: W+\nW: /a+/ | /b/", lexer="greedy"),
    "schema": constrain.json_schema({"type": "array", "items": {"enum": ["a", "b", 1]}, "uniqueItems": True}),
}


def compiled(name: str = "regex") -> Any:
    return constrain.compile(LANGUAGES[name], VOCABULARY)


def row_of(matcher: constrain.Matcher) -> np.ndarray:
    row = np.zeros(WORDS, np.uint32)
    matcher.fill_mask(row)
    assert (row == matcher.mask()).all()
    return row


def allowed(row: np.ndarray) -> set[int]:
    return {token for token in range(VOCABULARY.size) if row[token >> 5] >> (token & 31) & 1}


def walks(name: str, length: int = 4, most: int = 60) -> list[list[int]]:
    """Token sequences that the language allows, shortest first."""
    found, queue = [], [[]]
    while queue and len(found) < most:
        path = queue.pop(0)
        matcher = compiled(name).matcher(prefix=path)
        found.append(path)
        if len(path) < length:
            queue += [[*path, token] for token in sorted(allowed(row_of(matcher)) - set(VOCABULARY.eos_ids))][:5]
    return found


# --- ends of a request ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", LANGUAGES)
def test_own_ends_are_allowed_where_the_vocabularys_would_be(name: str) -> None:
    text_token = next(token for token, content in enumerate(VOCABULARY.tokens) if content == b"b")
    for ends in ((), (text_token,), (text_token, EOS)):
        for path in walks(name):
            if text_token in path:
                continue
            usual, own = compiled(name).matcher(prefix=path), compiled(name).matcher(prefix=path, eos_ids=ends)
            expected = allowed(row_of(usual)) - set(VOCABULARY.eos_ids) - set(ends)
            expected |= set(ends) if usual.is_accepting() else set()
            assert allowed(row_of(own)) == expected
            assert {token for token in range(VOCABULARY.size) if own.allows(token)} == expected
            rows = np.zeros((2, WORDS), np.uint32)
            constrain.fill_masks([usual, own], rows)
            assert allowed(rows[1]) == expected
            assert (rows[0] == row_of(usual)).all()


@pytest.mark.parametrize("together", [False, True])
def test_own_ends_end(together: bool) -> None:
    matcher = compiled().matcher(eos_ids=[3], prefix=byte_tokens(b"ab"))
    for copied in (matcher, matcher.fork(), copy.copy(matcher), pickle.loads(pickle.dumps(matcher))):
        assert not copied.ended
        taken = constrain.advance_all([copied], [3]).tolist() == [True] if together else copied.advance(3)
        assert taken and copied.ended and copied.is_finished()
        assert copied.text == b"ab"
        assert not allowed(row_of(copied))
        assert copied.forced_tokens() == []
        copied.rollback(1)
        assert not copied.ended
        assert not copied.advance(EOS)


def byte_tokens(text: bytes) -> list[int]:
    """The tokens of single bytes."""
    return [VOCABULARY.tokens.index(bytes([byte])) for byte in text]


def test_finished_is_not_ended() -> None:
    matcher = constrain.compile(constrain.regex("ab"), VOCABULARY).matcher(prefix=byte_tokens(b"ab"))
    assert matcher.is_finished() and not matcher.ended
    assert matcher.advance(EOS) and matcher.ended


# --- several tokens ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", LANGUAGES)
def test_tokens_at_once_are_tokens_one_by_one(name: str) -> None:
    for path in walks(name, 3, 20):
        begun = compiled(name).matcher(prefix=path)
        for more in product(range(0, VOCABULARY.size, 7), range(0, VOCABULARY.size, 13)):
            one, many, whole = (begun.fork() for _ in range(3))
            expected = 0
            while expected < 2 and one.advance(more[expected]):
                expected += 1
            assert many.advance_tokens(more) == expected
            assert whole.advance_tokens(np.array(more), atomic=True) == (2 if expected == 2 else 0)
            assert many.text == one.text
            assert whole.text == (one.text if expected == 2 else one.text[: len(compiled_text(name, path))])


def compiled_text(name: str, path: list[int]) -> bytes:
    return compiled(name).matcher(prefix=path).text


def test_a_wrong_id_among_several() -> None:
    a = byte_tokens(b"a")[0]
    for atomic, text in ((False, b"a"), (True, b"")):
        matcher = compiled().matcher()
        with pytest.raises(ConstrainError, match="token id 999 is outside the vocabulary"):
            matcher.advance_tokens([a, 999], atomic=atomic)
        assert matcher.text == text


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: compiled().matcher(eos_ids=[10_000]), r"eos_ids \[10000\] are not all in the vocabulary"),
        (lambda: compiled().matcher(prefix=byte_tokens(b"ax")), r"token \d+ of the prefix is not"),
        (lambda: constrain.fill_draft_masks(compiled().matcher(), [1, 2], np.zeros((2, WORDS), np.uint32)), "3 rows"),
        (
            lambda: constrain.fill_draft_masks(
                compiled().matcher(), [1, 2], np.zeros((3, WORDS), np.uint32), parents=[0, 0]
            ),
            "place in the draft of a token before",
        ),
        (
            lambda: constrain.fill_masks([compiled().matcher()], np.zeros((3, WORDS), np.uint32), rows=[3]),
            "from 0 to 2",
        ),
        (
            lambda: constrain.fill_masks([compiled().matcher()] * 2, np.zeros((3, WORDS), np.uint32), rows=[1, 1]),
            "are different",
        ),
        (
            lambda: constrain.fill_masks([compiled().matcher()], np.zeros((3, WORDS), np.uint32), rows=[0.5]),
            "1 matchers need as many row numbers",
        ),
    ],
)
def test_bad_calls(call: Any, message: str) -> None:
    with pytest.raises(ConstrainError, match=message):
        call()


# --- rows of a draft --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", LANGUAGES)
@pytest.mark.parametrize("seed", range(6))
def test_rows_of_a_tree_are_masks_of_its_paths(name: str, seed: int) -> None:
    random = np.random.default_rng(seed)
    start = walks(name, 3, 20)[seed]
    tokens = [token for path in walks(name) for token in path] + list(range(VOCABULARY.size))
    draft = random.choice(tokens, 14).tolist()
    chain = seed % 2 == 0
    parents = list(range(-1, 13)) if chain else [int(random.integers(-1, i)) if i else -1 for i in range(14)]
    rows = np.full((15, WORDS), 7, np.uint32)
    matcher = compiled(name).matcher(prefix=start)
    number = constrain.fill_draft_masks(matcher, draft, rows, parents=None if chain else parents)
    assert matcher.text == compiled_text(name, start)
    found = 0
    for i in range(14):
        path, place = [draft[i]], parents[i]
        while place >= 0:
            path.insert(0, draft[place])
            place = parents[place]
        reader = compiled(name).matcher(prefix=start)
        is_allowed = reader.advance_tokens(path) == len(path)
        found += is_allowed
        assert (rows[1 + i] == (row_of(reader) if is_allowed else 0)).all()
    assert number == found


# --- rows -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["uint32", "int32", "tensor"])
def test_scattered_rows(kind: str) -> None:
    matchers = [compiled(name).matcher(prefix=path) for name in LANGUAGES for path in walks(name, 2, 5)]
    places = np.random.default_rng(1).permutation(40)[: len(matchers)]
    if kind == "tensor":
        out: Any = torch.full((40, WORDS), 5, dtype=torch.int32, pin_memory=torch.cuda.is_available())
        rows = out.numpy()
    else:
        out = rows = np.full((40, WORDS), 5, np.int32 if kind == "int32" else np.uint32)
    constrain.fill_masks(matchers, out, rows=places.tolist())
    for matcher, place in zip(matchers, places, strict=True):
        assert (rows[place].view(np.uint32) == row_of(matcher)).all()
    assert (np.delete(rows, places, 0) == 5).all()


def test_a_row_of_a_tensor() -> None:
    matcher = compiled().matcher()
    rows = torch.zeros((2, WORDS), dtype=torch.int32)
    matcher.fill_mask(rows[1])
    assert (rows[1].numpy().view(np.uint32) == row_of(matcher)).all()
    with pytest.raises(ConstrainError, match="this tensor is on meta"):
        matcher.fill_mask(torch.zeros(WORDS, dtype=torch.int32, device="meta"))
