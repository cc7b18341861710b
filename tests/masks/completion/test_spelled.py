"""Masks of vocabularies that cannot complete every text: exact in tokens, against all sequences of tokens."""

import json
import pickle
from functools import cache
from random import Random
from typing import Any

import numpy as np
import pytest

import constrain
from constrain import UnsatisfiableError, Vocabulary
from constrain.masks.completion.length_budget import LengthBudget
from constrain.masks.completion.writable import Writable

# Finite languages: their members by name, and a constraint of each kind that has exactly these.
MEMBERS = {
    "é": ["é", "a"],
    "éñ": ["é", "éa", "ñ", "éñ", "aé"],
    "kanji": ["日本", "日a", "本"],
    "prefixes": ["abc", "abab", "ca", "b"],
    "mixed": ["aéb", "abé", "ñé", "éb", "€a"],
    "quoted": ['"é"', '"ñ"', '"ab"', '"éé"'],
}
PIECES = [b"\xc3", b"\xa9", b"\xb1", b"a", b"b", b"ab", b"bc", b"c", "é".encode(), "ñ".encode(), "éa".encode(),
          b"\xa9a", b"a\xc3", b"\xb1\xc3", b"\xa9b", b"\xe6\x97", b"\xa5", b"\xe6", b"\x97\xa5", b"\x9c\xac",
          "日".encode(), b"\xac", b"\xe2\x82", b'"', b'"\xc3', b'\xa9"', b"\xaca"]  # fmt: skip


def _constraints(members: list[str]) -> list[Any]:
    rules = " | ".join(" ".join(json.dumps(letter, ensure_ascii=False) for letter in text) for text in members)
    return [constrain.choices(members), constrain.grammar(f"start: {rules}")]


def _vocabularies(n: int) -> list[Vocabulary]:
    random = Random(1)
    samples = [random.sample(PIECES, random.randint(6, 18)) for _ in range(n)]
    return [Vocabulary([*tokens, None], eos_ids=[len(tokens)]) for tokens in samples]


def _oracle(vocabulary: Vocabulary, members: list[str]) -> Any:
    """Tells whether a sequence of tokens after some bytes completes a member, by trying all of them."""
    texts = {text.encode() for text in members}

    @cache
    def completes(text: bytes) -> bool:
        begins = any(member.startswith(text) for member in texts)
        return begins and (text in texts or any(completes(text + token) for token in vocabulary.tokens if token))

    return completes


@pytest.mark.parametrize("name", MEMBERS)
@pytest.mark.parametrize("vocabulary", _vocabularies(25), ids=repr)
def test_masks_against_all_sequences_of_tokens(name: str, vocabulary: Vocabulary) -> None:
    compare(vocabulary, MEMBERS[name])


def compare(vocabulary: Vocabulary, members: list[str]) -> None:
    """Walk through all masks of the constraints that have these members."""
    completes = _oracle(vocabulary, members)
    for constraint in _constraints(members):
        try:
            compiled = constrain.compile(constraint, vocabulary)
        except UnsatisfiableError:
            assert not completes(b"")
            continue
        assert completes(b"")
        stack = [compiled.matcher()]
        while stack:
            matcher = stack.pop()
            allowed = _allowed(matcher, vocabulary)
            text = matcher.text
            expected = [i for i, token in enumerate(vocabulary.tokens) if token and completes(text + token)]
            assert allowed == expected + [vocabulary.size - 1] * (text.decode(errors="replace") in members), text
            for token in range(vocabulary.size - 1):
                twin = matcher.fork()
                assert matcher.allows(token) == twin.advance(token) == (token in allowed)
                if token in allowed:
                    stack.append(twin)


def _allowed(matcher: Any, vocabulary: Vocabulary) -> list[int]:
    row, twice = np.zeros((2, 1, vocabulary.words), np.uint32)
    matcher.fill_mask(row[0])
    constrain.fill_masks([matcher], twice)
    assert (row == twice).all() and (row[0] == matcher.mask()).all()
    return [token for token in range(vocabulary.size) if row[0, token >> 5] >> (token & 31) & 1]


BROKEN = Vocabulary([b"\xc3", "é".encode(), b"a", b"\xa9b", None], eos_ids=[4])


def test_every_way_through_the_engine() -> None:
    """Batches, drafts, bytes, pickles, other ends and budgets know what tokens cannot complete."""
    compiled = constrain.compile(constrain.regex("(é|a)+"), BROKEN)
    for matcher in (compiled.matcher(), pickle.loads(pickle.dumps(compiled.matcher())), compiled.matcher().fork()):
        assert [matcher.allows(token) for token in range(5)] == [False, True, True, False, False]
        assert not matcher.advance(0) and matcher.advance_bytes("é".encode()) and not matcher.allows(0)
    assert constrain.advance_all([compiled.matcher() for _ in range(5)], range(5)).tolist() == [
        False, True, True, False, False,
    ]  # fmt: skip
    rows = np.zeros((3, 1), np.uint32)
    assert constrain.fill_draft_masks(compiled.matcher(), [2, 0], rows) == 1
    assert rows[:, 0].tolist() == [0b00110, 0b10110, 0]
    other = compiled.matcher(eos_ids=[3])
    assert other.advance(2) and other.mask().tolist() == [0b01110]
    limited = LengthBudget(compiled).matcher(most=2)
    assert limited.allows(1) and not limited.allows(0) and limited.advance(1) and not limited.allows(2)


def test_a_grammar_without_end_is_searched_in_tokens() -> None:
    """Behind each "b" a bracket closes; the shortest text has an "é" that only a longer token writes."""
    tokens = [b"(", b")", b"\xc3", "é)".encode(), b"b", None]
    constraint = constrain.grammar('start: "(" inner ")"\ninner: "é" | "b" inner? | "(" inner ")"')
    matcher = constrain.compile(constraint, Vocabulary(tokens, eos_ids=[5])).matcher()
    assert matcher.mask().tolist() == [0b000001]
    assert matcher.advance(0) and matcher.mask().tolist() == [0b011001]
    assert matcher.advance(3) and matcher.mask().tolist() == [0b100000]


def test_budgets_find_what_tokens_write() -> None:
    """The shortest member has no tokens; the next one takes three and the end."""
    vocabulary = Vocabulary([b"\xc3", b"ab", b"c", b"d", None], eos_ids=[4])
    compiled = constrain.compile(constrain.choices(["é", "abcd", "abcdab"]), vocabulary)
    assert LengthBudget(compiled).matcher().needs() == 4
    with pytest.raises(constrain.ConstrainError, match="takes 4"):
        LengthBudget(compiled).matcher(most=3)


def test_what_can_be_completed_costs_nothing() -> None:
    letters = Vocabulary([b"n", b"o", b"no", None], eos_ids=[3])
    for vocabulary in (Vocabulary.of_bytes(), letters):
        assert not Writable.of(vocabulary).by_token
        assert type(constrain.compile(constrain.regex("(no)+"), vocabulary)) is constrain.CompiledConstraint


def test_what_no_tokens_write_is_refused() -> None:
    with pytest.raises(UnsatisfiableError, match="can write no text of this constraint") as caught:
        constrain.compile(constrain.regex("é+b"), Vocabulary([b"\xc3", b"\xa9\xc3", b"b", None], eos_ids=[3]))
    assert caught.value.fix
