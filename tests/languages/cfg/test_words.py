"""Whole words: compared with a lexer that cuts words with `re`, on every short text, and with the plain greedy twin."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import product
from random import Random

import numpy as np
import pytest

import constrain
from constrain.errors import GrammarError
from constrain.languages.automata import decide, syntax
from constrain.languages.automata.parse.python import parse_python
from constrain.languages.cfg.rules import Grammar
from constrain.languages.constraints.base import Constraint
from constrain.languages.grammar_text.text import GrammarText
from constrain.languages.grammar_text.words import WholeWords
from reading_oracle import member

GRAMMAR = r"""
start: "in" NAME | "int" NUMBER | NAME NAME | NAME "=" NUMBER "in" NAME
NAME: /(?!(?:in|int)\b)[it][int1]*/
NUMBER: /1+(e1+)?/
%ignore " "
"""
WORD = "[int1e]"
BYTES = constrain.Vocabulary([*(bytes([i]) for i in range(256)), None], eos_ids=[256])


def greedy_text(text: str) -> GrammarText:
    constraint = constrain.grammar(text, lexer="greedy")
    assert isinstance(constraint, GrammarText)
    return constraint


def whole(text: str = GRAMMAR, characters: str = WORD) -> WholeWords:
    return WholeWords(greedy_text(text), characters)


@dataclass(frozen=True)
class Dynamic(Constraint):
    """A constraint for a grammar."""

    made: Grammar

    def to_grammar(self) -> Grammar:
        return self.made


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
    for constraint, expected in ((constrain.grammar(GRAMMAR, lexer="greedy"), True), (whole(), False)):
        matcher = constrain.compile(constraint, BYTES).matcher()
        assert (matcher.advance_bytes(text.encode()) and matcher.is_accepting()) == expected


def test_where_every_cut_counts_words_are_whole_too() -> None:
    """`as_dynamic` has the same members here: only words could be cut in another way."""
    compiled = constrain.compile(Dynamic(whole().as_dynamic()), BYTES)
    for text in [*TEXTS, *LONGER]:
        matcher = compiled.matcher()
        assert (matcher.advance_bytes(text.encode()) and matcher.is_accepting()) == by_hand(text), text


def test_no_word_follows_what_counts_as_one() -> None:
    """A number that ends in a dot, as in SQL."""
    text = greedy_text('start: NUMBER "n" "i"\nNUMBER: /1+([.]1*)?/\n%ignore " "')
    constraint = WholeWords(text, "[in1]", as_words=("NUMBER",))
    compiled = [constrain.compile(each, BYTES) for each in (constraint, Dynamic(constraint.as_dynamic()))]
    members = 0
    for length in range(7):
        for whole_text in map("".join, product("1.in ", repeat=length)):
            expected = re.fullmatch(r" *1+([.]1*)? +n +i *", whole_text) is not None
            members += expected
            matchers = [each.matcher() for each in compiled]
            found = [matcher.advance_bytes(whole_text.encode()) and matcher.is_accepting() for matcher in matchers]
            assert found == [expected, expected], whole_text
    assert members == 7


COMMENTS = r"""
start: NAME+
NAME: /[a-z]+/ | /'[a-z]*'/
%ignore /[ ]+/
%ignore /#([^!]*!)?|#[^!]*/
"""


def test_what_is_ignored_without_end_is_the_last() -> None:
    """A comment from # to ! and one that misses its !: the greedy lexer never ends that before the end of the text."""
    constraint = WholeWords(greedy_text(COMMENTS), "[a-z]")
    compiled = constrain.compile(Dynamic(constraint.as_dynamic()), BYTES)
    twin = constraint.to_grammar()
    for length in range(6):
        for text in map("".join, product("a' #!", repeat=length)):
            words, cut, comment = text.partition("#")
            expected = member(twin, text)
            matcher = compiled.matcher()
            found = matcher.advance_bytes(text.encode()) and matcher.is_accepting()
            assert found or not expected, text
            if cut and "!" not in comment:
                closed = compiled.matcher()
                assert found == (closed.advance_bytes(words.encode()) and closed.is_accepting()), text


LINES = {  # ! ends a line
    "comments": r"%ignore /[ !]+/ %ignore /#[^!]*/",
    "directives at the beginning of a line": r"%ignore /[ ]+/ %ignore /!( *#[^!]*)?/",
    "both": r"%ignore /[ ]+/ %ignore /!( *#[^!]*)?/ %ignore /##[^!]*/",
    "a line that goes on": r"%ignore /[ !]+/ %ignore /#([^!']|'(.|\n))*/",
    "the first line is a lexeme": r"FIRST: /#[^!]*/ %ignore /[ ]+/ %ignore /!( *#[^!]*)?/",
}


@pytest.mark.parametrize("name", LINES)
def test_a_comment_goes_on_to_the_end_of_its_line(name: str) -> None:
    """No lexeme follows one that it would be a part of, as under maximal munch: there are no other cuts here."""
    first = "[FIRST] " if "FIRST" in LINES[name] else ""
    text = f"start: {first}NAME+\nNAME: /[a-z]+/ | /'[a-z]/\n" + LINES[name].replace(" %", "\n%")
    constraint = WholeWords(greedy_text(text), "[a-z]")
    compiled = constrain.compile(Dynamic(constraint.as_dynamic()), BYTES)
    twin = constrain.compile(constraint, BYTES)
    members = 0
    for length in range(7):
        for whole_text in map("".join, product("a #!'", repeat=length)):
            found = []
            for each in (compiled, twin):
                matcher = each.matcher()
                found.append(matcher.advance_bytes(whole_text.encode()) and matcher.is_accepting())
            assert found[0] == found[1], whole_text
            members += found[0]
    assert members > 300


def test_letters_beyond_ascii() -> None:
    """To Python's flag i the Kelvin sign is a k, and the dotted capital I an i."""
    text = greedy_text('start: "kin"i | "\u212a" "a"')
    for ascii_keywords, expected in ((False, [True] * 4), (True, [True, False, False, True])):
        compiled = constrain.compile(WholeWords(text, "[a-z]", (), ascii_keywords), BYTES)
        found = []
        for word in ("KiN", "\u212ain", "k\u0130n", "\u212aa"):
            matcher = compiled.matcher()
            found.append(matcher.advance_bytes(word.encode()) and matcher.is_accepting())
        assert found == expected


def test_masks_do_not_lead_into_the_middle_of_a_word() -> None:
    vocabulary = constrain.Vocabulary([b"in", b" i", b"i", b"int", b"=", b"n", None], eos_ids=[6])
    matcher = constrain.masks.engine.compile_bytewise(
        whole(), vocabulary
    ).matcher()  # in bytes: these tokens write no number
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


FOLDERS = [name for name in constrain.collection.names() if "words" in constrain.collection.folder(name).settings]
BEFORE = {  # texts after which no letter can follow directly, in each language
    "c": ["int a = 5", "int f(void"],
    "cpp": ["int a = 5", "int f(void"],
    "go": ["package a\nvar b = 5", "package a\nfunc f(a int) { retur"],
    "java": ["class A { int b = 5", "public", "class A { void f() { return 1"],
    "javascript": ["x = 5", "if", "a = b instanceof"],
    "jinja": ["{{ 5", "{% if", "{% for x in", "{{ a i"],
    "python": ["x = 5", "if a: pass\nelse", "x = a i", "for x in"],
    "sql": ["select 1 limit 5", "select a from b where", "select 0x1"],
    "sql-common": ["select 1 limit 5", "select a from t where", "select 0.1"],
    "typescript": ["const x = 5", "if", "let a: string | und", "function f(a: number): numb"],
}


def test_each_language_of_words_has_its_texts() -> None:
    """A new language of the collection gets its row here, which the test below reads in `make test-all` only."""
    assert sorted(BEFORE) == sorted(FOLDERS)


@pytest.mark.parametrize("name", FOLDERS)
def test_no_dead_end_inside_a_character(name: str) -> None:
    """Whatever byte is allowed, something is allowed after it."""
    compiled = constrain.compile(constrain.collection.load(name), BYTES)
    row = np.zeros(BYTES.words, np.uint32)
    for text in BEFORE[name]:
        matcher = compiled.matcher()
        assert matcher.advance_bytes(text.encode())
        stack, seen = [matcher], {matcher.state}
        while stack:
            matcher = stack.pop()
            matcher.fill_mask(row)
            allowed = np.flatnonzero(np.unpackbits(row.view(np.uint8), bitorder="little")).tolist()
            assert allowed, matcher.text
            for byte in allowed:
                if 0x80 <= byte <= 0xFF:  # go on to the end of the character
                    after = matcher.fork()
                    assert after.advance(byte)
                    if after.state not in seen and len(after.text.decode(errors="ignore")) == len(text):
                        seen.add(after.state)
                        stack.append(after)


SETS = ["\\u0080-\\U0010ffff", "\\u00a1-\\u167f\\u1681-\\u1fff", "éê", "\\u07ff\\u0800", "\\ud7ff\\ue000"]
SETS += ["a-z\\U00010000-\\U0010ffff", "\\u00c0-\\u00ff", "\\u1000-\\u1fff"]


@pytest.mark.parametrize("characters", SETS)
def test_the_least_beginnings_of_a_set(characters: str) -> None:
    """A character is in the set iff one of its beginnings is among them, and none of another character is."""
    node = parse_python(f"[{characters}]")
    assert isinstance(node, syntax.Chars)
    inside, rng = re.compile(f"[{characters}]"), Random(1)
    near = [c + d for low, high in node.ranges for c in (low, high) for d in (-64, -1, 0, 1, 64)]
    points = [c for c in [*near, *rng.sample(range(0x110000), 3000)] if 0 <= c < 0x110000 and not 0xD800 <= c < 0xE000]
    for character in map(chr, points):
        spelled = character.encode()
        ended = [end for end in range(1, 5) if end in decide.ends(syntax.Begun(node.ranges), spelled, 0)]
        assert bool(ended) == bool(inside.fullmatch(character)), character
        assert len(ended) < 2


@pytest.mark.parametrize(
    ("low", "high", "least"),
    [
        (0xC0, 0xFF, b"\xc3"),
        (0x1000, 0x1FFF, b"\xe1"),
        (0xD000, 0xD7FF, b"\xed"),  # surrogates would follow
        (0x800, 0xFFF, b"\xe0"),
        (0x10000, 0x10FFFF, b"\xf4"),
        (0x2000, 0x203F, b"\xe2\x80"),
        (0xE9, 0xE9, "é".encode()),
        (0x61, 0x7A, b"b"),
    ],
)
def test_a_beginning_is_as_short_as_it_can_be(low: int, high: int, least: bytes) -> None:
    assert decide.ends(syntax.Begun(((low, high),)), least + b"\x80", 0) == [len(least)]
