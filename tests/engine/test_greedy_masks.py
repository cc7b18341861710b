"""Masks under the greedy lexer, against the bytes of each token read one by one, on tries of some size.

`kernels/greedy.py` walks small subtrees (SMALL nodes) with configurations. These vocabularies hold all texts of an
alphabet up to a length, so that the trie has large subtrees at every depth, and one that is the hub.
"""

from __future__ import annotations

import random
from itertools import product

import numpy as np
import pytest
from engine_cases import Made, allowed, mask_of, small_vocabulary

import constrain
from constrain.grammar.words import WholeWords
from constrain.kernels import arena, greedy
from layout_cases import SUBSET
from naive_grammar import random_grammar
from small_grammars import STATEMENTS


def all_texts(alphabet: str, length: int) -> constrain.Vocabulary:
    return small_vocabulary(
        alphabet, ["".join(text) for n in range(2, length + 1) for text in product(alphabet, repeat=n)]
    )


def check_masks(source, vocabulary, rng: random.Random, texts: int, steps: int) -> int:
    """Compare along random texts; the number of masks."""
    compiled = constrain.compile(source, vocabulary)
    masks = 0
    for _ in range(texts):
        matcher = compiled.matcher()
        for _ in range(steps):
            found = mask_of(matcher)
            assert found == allowed(matcher), matcher.text
            masks += 1
            choices = [token for token in found if vocabulary.tokens[token]]
            if not choices:
                break
            shortest = min(len(vocabulary.tokens[token]) for token in choices)
            short = [token for token in choices if len(vocabulary.tokens[token]) == shortest]
            matcher.advance(rng.choice(short if rng.random() < 0.5 else choices))
    return masks


def test_random_grammars():
    rng, vocabulary, masks = random.Random(11), all_texts("ab", 7), 0
    sizes = vocabulary.trie.end - np.arange(len(vocabulary.trie))
    assert sorted(sizes)[-4] > greedy.SMALL
    for _ in range(120):
        try:
            masks += check_masks(Made(random_grammar(rng, "ab", "greedy")), vocabulary, rng, 2, 8)
        except constrain.UnsatisfiableError:
            continue
    assert masks > 500


@pytest.mark.parametrize(
    ("source", "alphabet"),
    [
        (constrain.grammar(SUBSET, layout={}), "aif(): \n#"),
        (constrain.grammar(STATEMENTS, lexer="greedy"), "letif =+1.(;"),
        (constrain.grammar('start: (A | ".." | "." | N)*\nA: /[ab]+/\nN: /1+(\\.1+)?(e1+)?/', lexer="greedy"), "ab1.e"),
    ],
)
def test_languages(source, alphabet):
    vocabulary = all_texts(alphabet, 4 if len(alphabet) < 6 else 3)
    assert check_masks(source, vocabulary, random.Random(3), 12, 14) > 40


def test_what_a_terminal_excludes_competes():
    """A word that goes on drops what began after a shorter match, and nothing else comes of it."""
    word = constrain.grammar(
        'start: ("if" NAME | NAME "in" NAME)+\nNAME: /(?!(if|in)$)[a-z]+/\n%ignore " "', lexer="greedy"
    )
    vocabulary = all_texts("ifn a", 4)
    assert check_masks(WholeWords(word, "[a-z]"), vocabulary, random.Random(2), 12, 10) > 40


def test_masks_by_hand():
    """`1..2` is `1`, `..`, `2`: the point may be the number's or not."""
    rule = constrain.grammar('start: N ".." N\nN: /1+(\\.1+)?/', lexer="greedy")
    vocabulary = small_vocabulary("1.", ["1.", "1..", "1.1", ".1", "..1", "1..1", "1.1.", "11", ".."])
    matcher = constrain.compile(rule, vocabulary).matcher()
    assert {vocabulary.tokens[token] for token in mask_of(matcher)} == {
        b"1",
        b"1.",
        b"1..",
        b"1.1",
        b"1..1",
        b"1.1.",
        b"11",
    }
    assert matcher.advance_bytes(b"1.")
    assert {vocabulary.tokens[token] for token in mask_of(matcher)} == {
        b".",
        b"1",
        b"1.",
        b"1..",
        b".1",
        b"1..1",
        b"11",
    }


def test_lists_of_lexers_are_remembered():
    """The second time in a place like one before, the trie is not walked from the root again."""
    vocabulary = all_texts("aif(): \n#", 3)
    compiled = constrain.compile(
        constrain.grammar(SUBSET, layout={}), vocabulary, automaton=constrain.TokenAutomaton(vocabulary)
    )
    matcher = compiled.matcher()
    automaton = compiled.automaton

    def insides(text: bytes) -> int:
        assert matcher.advance_bytes(text)
        before = int(automaton.A[arena.N_INSIDE])
        mask_of(matcher)
        return int(automaton.A[arena.N_INSIDE]) - before

    assert insides(b"a(") > 0
    assert insides(b"a(a(") > 0  # between brackets
    assert insides(b"a(") == 0
    assert insides(b"a(a(a(") == 0


def test_grammars_share_what_lexers_say():
    vocabulary, walked = all_texts("ab", 7), []
    automaton = constrain.TokenAutomaton(vocabulary)
    for text in ("start: A B\nA: /a+/\nB: /b/", "start: x B\nx: A\nA: /a+/\nB: /b/"):
        before = int(automaton.A[arena.N_INSIDE])
        mask_of(constrain.compile(constrain.grammar(text, lexer="greedy"), vocabulary, automaton=automaton).matcher())
        walked.append(int(automaton.A[arena.N_INSIDE]) - before)
    assert walked[0] > 0
    assert walked[1] == 0
