"""Masks under the greedy lexer, against the bytes of each token read one by one, on tries of some size.

`lexer_lists.py` takes over what a part of a union (LARGE nodes), or of a list (FEW_NODES), does in large subtrees.
These vocabularies hold all texts of an alphabet up to a length, so that the trie has large subtrees at every depth, and
one that is the hub.
"""

import random
from itertools import product

import numpy as np
import pytest
from engine_cases import allowed, mask_of, small_vocabulary

import constrain
from constrain.kernels.masks.greedy import blocks, greedy_mask, lexer_lists
from constrain.kernels.records import arena, view
from constrain.kernels.records.arena import HEADER
from constrain.kernels.records.configurations import LEXER_LIST
from constrain.kernels.records.expressions import ALT
from constrain.languages.grammar_text.words import WholeWords
from constrain.masks.engine import compile_bytewise
from handmade import Made
from layout_cases import SUBSET
from small_grammars import STATEMENTS, random_grammar


def all_texts(alphabet: str, length: int) -> constrain.Vocabulary:
    return small_vocabulary(
        alphabet, ["".join(text) for n in range(2, length + 1) for text in product(alphabet, repeat=n)]
    )


def check_masks(constraint, vocabulary, rng: random.Random, texts: int, steps: int) -> int:
    """Compare along random texts; the number of masks."""
    compiled = compile_bytewise(constraint, vocabulary)  # its letters are not all that the grammar names
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


@pytest.mark.parametrize(("length", "grammars", "at_least"), [(7, 120, 500), (11, 25, 60)])
def test_random_grammars(length, grammars, at_least):
    rng, vocabulary, masks = random.Random(11), all_texts("ab", length), 0
    sizes = sorted(vocabulary.trie.end - np.arange(len(vocabulary.trie)))
    assert sizes[-4] > greedy_mask.FEW
    assert (sizes[-2] > blocks.FEW_NODES) == (length == 11)
    for _ in range(grammars):
        try:
            masks += check_masks(Made(random_grammar(rng, "ab", "greedy")), vocabulary, rng, 2, 8)
        except constrain.UnsatisfiableError:
            continue
    assert masks > at_least


@pytest.mark.parametrize(
    ("constraint", "alphabet"),
    [
        (constrain.grammar(SUBSET, layout={}), "aif(): \n#"),
        (constrain.grammar(STATEMENTS, lexer="greedy"), "letif =+1.(;"),
        (constrain.grammar('start: (A | ".." | "." | N)*\nA: /[ab]+/\nN: /1+(\\.1+)?(e1+)?/', lexer="greedy"), "ab1.e"),
    ],
)
def test_languages(constraint, alphabet):
    vocabulary = all_texts(alphabet, 4 if len(alphabet) < 6 else 3)
    assert check_masks(constraint, vocabulary, random.Random(3), 12, 14) > 40


def test_what_a_terminal_excludes_competes():
    """A word that goes on drops what began after a shorter match, and nothing else comes of it."""
    word = constrain.grammar(
        'start: ("if" NAME | NAME "in" NAME)+\nNAME: /(?!(if|in)$)[a-z]+/\n%ignore " "', lexer="greedy"
    )
    vocabulary = all_texts("ifn a", 4)
    assert check_masks(WholeWords(word, "[a-z]"), vocabulary, random.Random(2), 12, 10) > 40


WORDS = """
start: (statement ";")*
statement: "aq" NAME | NAME "=" value | "qaz" value "az" value | NAME "aq" | SIGN "=" value
value: NAME | "az" | NUMBER | value "-" value | "(" value ")" | DASHED ";" | "q" "=="
NAME: /(?!(aq|az|qaz)$)[a-z]+/
DASHED: /z(a|-=)*/
SIGN: /=?-a?/
NUMBER: /a=?q/
"""


def test_what_a_reference_does_is_taken_over():
    """Unions of names with keywords, operators and words that look like both, on a trie where names are a reference."""
    vocabulary = all_texts("aqz-=", 6)
    assert len(vocabulary.trie) > 1.25 * lexer_lists.LARGE  # a fifth of it is the hub
    constraint = constrain.grammar(WORDS, lexer="greedy")
    assert check_masks(constraint, vocabulary, random.Random(8), 3, 8) > 15
    automaton = compile_bytewise(constraint, vocabulary).automaton
    lexers = {lexer for lexer, *others in _roots(automaton) if not others}
    parts = {part for lexer in lexers if _kind(automaton, lexer) == ALT.KIND for part in _key(automaton, lexer)}
    assert parts & lexers  # one was walked for the unions that it is a part of


def _roots(automaton):
    """The lists of lexer states of which it is known what they take from the trie's root on."""
    records = automaton.memory.H[automaton.memory.H != 0].tolist()
    found = [r for r in records if _kind(automaton, r) == LEXER_LIST.KIND and automaton.memory.A[r + LEXER_LIST.TABLE]]
    return [key[1:] for key in (_key(automaton, r) for r in found) if key[0] == 0]


def _kind(automaton, record):
    return arena.kind(automaton.memory.A, record)


def _key(automaton, record):
    return view.key_words(automaton.memory.A, record).tolist()


def test_forks_of_forks_are_met_once():
    """Of a run of backslashes any may begin an escape or stand alone; ways to read the run are many, places are few."""
    constraint = constrain.grammar(
        "start: (TEXT | BACKSLASH? FIELD)*\nTEXT: /([^\\\\{]|\\\\[^{])+/\nBACKSLASH: /\\\\/\nFIELD: /\\{[a-z]}/",
        lexer="greedy",
    )
    vocabulary = small_vocabulary("a\\{}", ["\\" * n for n in range(2, 60)])
    automaton = constrain.TokenAutomaton(vocabulary)
    matcher = constrain.compile(constraint, vocabulary, automaton=automaton).matcher()
    for text in (b"", b"a", b"\\"):
        assert matcher.advance_bytes(text)
        assert mask_of(matcher) == allowed(matcher)
    assert automaton.memory.A[HEADER.WHOLE_WALKS] + automaton.memory.A[HEADER.TABLES_MADE] < 1000


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
        before = int(automaton.memory.A[HEADER.TABLES_MADE])
        mask_of(matcher)
        return int(automaton.memory.A[HEADER.TABLES_MADE]) - before

    assert insides(b"a(") > 0
    assert insides(b"a(a(") > 0  # between brackets
    assert insides(b"a(") == 0
    assert insides(b"a(a(a(") == 0


def test_grammars_share_what_lexers_say():
    vocabulary, walked = all_texts("ab", 7), []
    automaton = constrain.TokenAutomaton(vocabulary)
    for text in ("start: A B\nA: /a+/\nB: /b/", "start: x B\nx: A\nA: /a+/\nB: /b/"):
        before = int(automaton.memory.A[HEADER.TABLES_MADE])
        mask_of(constrain.compile(constrain.grammar(text, lexer="greedy"), vocabulary, automaton=automaton).matcher())
        walked.append(int(automaton.memory.A[HEADER.TABLES_MADE]) - before)
    assert walked[0] > 0
    assert walked[1] == 0


def test_a_run_of_lexemes_that_change_nothing_is_one_place():
    """After the second sign, and after a blank, the parser is where it was: no place for each of them."""
    constraint = constrain.grammar(
        'start: SIGN* NAME | "(" start ")"\nSIGN: /-/\nNAME: /a+/\n%ignore " "', lexer="greedy"
    )
    vocabulary = small_vocabulary("-a ()", [text * n for n in range(2, 60) for text in ("-", " ", "- ", "-a")])
    automaton = constrain.TokenAutomaton(vocabulary)
    matcher = constrain.compile(constraint, vocabulary, automaton=automaton).matcher()
    for text in (b"", b"-", b" ", b"-", b"a"):
        assert matcher.advance_bytes(text)
        assert mask_of(matcher) == allowed(matcher)
    assert automaton.memory.A[HEADER.WHOLE_WALKS] + automaton.memory.A[HEADER.TABLES_MADE] < 40
    walked = []
    for depth in (1, 2, 3):
        before = int(automaton.memory.A[HEADER.TABLES_MADE])
        matcher = constrain.compile(constraint, vocabulary, automaton=automaton).matcher()
        for text in (b"(" * depth, b"-", b" ", b"-", b"a"):
            assert matcher.advance_bytes(text)
            assert mask_of(matcher) == allowed(matcher)
        walked.append(int(automaton.memory.A[HEADER.TABLES_MADE]) - before)
    assert walked[0] > 0
    assert walked[1:] == [0, 0]  # the parser states are new, what their lexer states say is known


def test_many_lexemes_in_progress_that_change_nothing():
    """More lexemes at once than a walk keeps: what ends then is left to the parser."""
    constraint = constrain.grammar("start: (A | B)*\nA: /a(a{20}b)?/\nB: /b/", lexer="greedy")
    vocabulary = small_vocabulary("ab", ["bb" + "a" * n + "b" * k for n in range(30) for k in range(3)])
    assert check_masks(constraint, vocabulary, random.Random(5), 6, 12) > 40
