"""Whole words: compared with a lexer that cuts words with `re`, on every short text, and with the plain greedy twin."""

from __future__ import annotations

import re
from itertools import product

import pytest

import constrain
from constrain.errors import GrammarError
from constrain.grammar.source import GrammarText
from constrain.grammar.words import WholeWords
from naive_grammar import member

GRAMMAR = r"""
start: "in" NAME | "int" NUMBER | NAME NAME | NAME "=" NUMBER "in" NAME
NAME: /(?!(?:in|int)\b)[it][int1]*/
NUMBER: /1+(e1+)?/
%ignore " "
"""
WORD = "[int1e]"
BYTES = constrain.Vocabulary([*(bytes([i]) for i in range(256)), None], eos_ids=[256])


def whole(text: str = GRAMMAR, characters: str = WORD) -> WholeWords:
    source = constrain.grammar(text, lexer="greedy")
    assert isinstance(source, GrammarText)
    return WholeWords(source, characters)


def by_hand(text: str) -> bool:
    """Membership in GRAMMAR: words are cut first, and then looked at."""
    kinds = ""
    for word in re.findall(r"[int1e]+|=| +|.", text):
        if word in ("in", "int", "="):
            kinds += {"in": "I", "int": "T", "=": "="}[word]
        elif re.fullmatch("1+(e1+)?", word):
            kinds += "1"
        elif re.fullmatch("[it][int1]*", word):
            kinds += "n"
        elif not word.isspace():
            return False
    return kinds in ("In", "T1", "nn", "n=1In")


TEXTS = ["".join(letters) for length in range(7) for letters in product("int1 ", repeat=length)]
LONGER = ["t=1 in i", "t=1in i", "t=1e1 in i", "t=1e in i", "t=1 ini", "t=1 in int", "t=1 in in", "t=1i in i"]
LONGER += ["t =11 in ti"]


def test_every_short_text() -> None:
    compiled = constrain.compile(whole(), BYTES)
    twin = whole().to_grammar()
    members = {text for text in [*TEXTS, *LONGER] if by_hand(text)}
    assert len(members) > 500
    for text in [*TEXTS, *LONGER]:
        matcher = compiled.matcher()
        assert (matcher.advance_bytes(text.encode()) and matcher.is_accepting()) == (text in members), text
        if len(text) < 5 or text in LONGER:
            assert member(twin, text) == (text in members), text


def test_a_prefix_is_viable_iff_it_can_go_on() -> None:
    """Every member of GRAMMAR that is cut short can be one again within six more characters."""
    compiled = constrain.compile(whole(), BYTES)
    tails = ["", " i", "i", "1", " 1", "i i", "t i", "=1 in i", "1 in i", " in i", "in i", "n i", "t 1", "1i i"]
    tails += [" =1 in i"]
    for text in TEXTS:
        if len(text) < 5:
            assert compiled.matcher().advance_bytes(text.encode()) == any(by_hand(text + tail) for tail in tails), text


@pytest.mark.parametrize("text", ["i=1ini", "t=11int", "t=1ini1"])
def test_without_whole_words_they_fall_apart(text: str) -> None:
    for source, expected in ((constrain.grammar(GRAMMAR, lexer="greedy"), True), (whole(), False)):
        matcher = constrain.compile(source, BYTES).matcher()
        assert (matcher.advance_bytes(text.encode()) and matcher.is_accepting()) == expected


def test_masks_do_not_lead_into_the_middle_of_a_word() -> None:
    vocabulary = constrain.Vocabulary([b"in", b" i", b"i", b"int", b"=", b"n", None], eos_ids=[6])
    matcher = constrain.compile(whole(), vocabulary).matcher()
    matcher.advance_bytes(b"t=1 ")
    assert [matcher.allows(token) for token in range(6)] == [True, True, True, False, False, False]
    matcher.advance_bytes(b"in")
    assert [matcher.allows(token) for token in range(6)] == [False, True, False, False, False, False]


def test_faults() -> None:
    dynamic = constrain.grammar(GRAMMAR)
    assert isinstance(dynamic, GrammarText)
    with pytest.raises(GrammarError, match="whole words need lexer='greedy'"):
        WholeWords(dynamic, WORD)
    with pytest.raises(GrammarError, match="is not a class of characters"):
        whole(characters="ab")


def test_equal_sources_share_their_grammar() -> None:
    assert whole() == whole()
    assert whole().to_grammar() is whole().to_grammar()
    assert whole(characters="[int1]").to_grammar() is not whole().to_grammar()
