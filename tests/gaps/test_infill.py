"""Several holes filled by the reference model, the grammar of the first against enumeration, and replayed members.

Texts that are members are opened and set again in random orders; masks from left to right stand beside the engine's.
"""

import random
import re

import numpy as np
import pytest
from naive_gaps import ANY, fillings, grammar_of, members, random_rules

import constrain
from constrain import collection
from constrain.errors import ConstrainError, UnsatisfiableError
from constrain.gaps.pattern import Layer
from constrain.gaps.projection import first_gap, gap_language
from constrain.gaps.solution import GapLanguage, Solution
from constrain.languages.automata.parse.python import parse_python
from constrain.languages.cfg.rules import Grammar, Nonterminal, Terminal
from constrain.languages.grammar_text.text import grammar
from constrain.languages.vocab.vocabulary import Vocabulary
from constrain.masks.derived.members import byte_matcher, is_member
from constrain.papers.diffusion.canvas import Canvas
from constrain.papers.diffusion.token_classes import TokenClasses
from reading_oracle import member, texts
from small_grammars import JSON, STATEMENTS

LISTS = constrain.grammar('start: "[" [start ("," start)*] "]" | /[0-9]+/')
TEXT = "[1,_,[2,_],[_,3]]"
HOLES = [(at, at + 1) for at, letter in enumerate(TEXT) if letter == "_"]


@pytest.fixture(scope="module")
def ref():
    return constrain.reference.load()


def test_every_hole_is_filled(ref):
    """The fixed text stays where it is, and the whole is a member, whatever the seed."""
    for seed in range(2):
        filled = constrain.infill(ref, LISTS, text=TEXT, holes=HOLES, max_tokens=24, seed=seed)
        assert filled.finish_reason == "stop" and is_member(LISTS, filled.text)
        one, two, three = filled.fillings
        assert filled.text == f"[1,{one},[2,{two}],[{three},3]]"


def test_the_prompt_sees_what_comes_later(ref):
    seen = []

    def prompt(before: str, after: str) -> str:
        seen.append((before, after))
        return after + before

    filled = constrain.infill(ref, LISTS, text="[_,[_]]", holes=[(1, 2), (4, 5)], max_tokens=24, seed=1, prompt=prompt)
    assert seen[-2:] == [("[", ",[]]"), (f"[{filled.fillings[0]},[", "]]")]


def test_refused(ref):
    with pytest.raises(ConstrainError, match="attempts is a number from 1"):
        constrain.infill(ref, LISTS, text=TEXT, holes=HOLES, attempts=0)
    with pytest.raises(ConstrainError, match="holes 0 and 1 touch"):
        constrain.infill(ref, LISTS, text="__", holes=[(0, 1), (1, 2)])
    with pytest.raises(ConstrainError, match="too small"):
        constrain.infill(ref, LISTS, text="[[[[[[_", holes=[(6, 7)], max_tokens=2)
    with pytest.raises(UnsatisfiableError, match="none contains"):
        constrain.infill(ref, LISTS, text="[_]x,[_]", holes=[(1, 2), (6, 7)])


LONGEST = 7


@pytest.mark.parametrize("seed", range(90))
def test_the_first_gap(seed):
    """A text is of the grammar if and only if some filling of the other gaps makes a member."""
    rng = random.Random(seed)
    rules = random_rules(rng)
    known = members(rules, LONGEST)
    before = "".join(rng.choices("ab", k=rng.choice([0, 0, 1, 2])))
    after = ["".join(rng.choices("ab", k=rng.randint(1, 2))) for _ in range(rng.randint(1, 2))]
    if rng.random() < 0.3:
        after.append("")
    rest = [part for text in after for part in (text, ANY)][:-1]
    wanted = {w for w in texts("ab", 3) if known & fillings([before, w, *rest], LONGEST)}
    try:
        grammar = first_gap(grammar_of(rules), before, after)
    except UnsatisfiableError:
        assert not known & fillings([before, ANY, *rest], LONGEST)
        return
    for w in texts("ab", 3):
        if w in wanted:
            assert member(grammar, w), (rules, before, after, w)
        elif member(grammar, w):  # then the whole is too long for the first enumeration
            assert shortest_length(grammar_of(rules), [before, w, *rest]) > LONGEST, (rules, before, after, w)


@pytest.mark.parametrize("pattern", ["x(ab|ba|aab)*y?", "(a|b(a|b(a|ba)b)a)+", "[ab]*(aab|ba)[ab]b", "(a[ab]{2}b|bb)*"])
@pytest.mark.parametrize(("before", "after"), [("", "b"), ("a", ""), ("ab", "ab"), ("x", "aab"), ("b", "b")])
def test_a_gap_within_a_lexeme(pattern, before, after):
    """The states of a terminal are the same in its table and where it is cut."""
    terminal = Terminal(parse_python(pattern), "terminal")
    wanted = {w for w in texts("ab", 6) if re.fullmatch(pattern, before + w + after)}
    try:
        grammar = first_gap(Grammar(Nonterminal("start", lambda: [[terminal]])), before, [after])
    except UnsatisfiableError:
        assert not wanted
        return
    assert {w for w in texts("ab", 6) if member(grammar, w)} == wanted


def shortest_length(grammar: Grammar, parts: list[str]) -> int:
    """The length of a text that fits; there has to be one. test_solution.py tests `shortest`."""
    language = GapLanguage(grammar)
    pattern = language.pattern()
    for part in parts:
        if part == ANY:
            pattern.anything()
        else:
            pattern.text(part.encode())
    arcs = language.solve(pattern).shortest()
    assert arcs is not None
    return len(arcs)


def test_the_stretch_that_contradicts():
    """The error names the least stretch that no filling completes, and draws its place."""
    rules = {"S": [("A", "b", "S"), ("a",)], "A": [("a+",)]}  # every b stands between two a
    with pytest.raises(UnsatisfiableError) as raised:
        first_gap(grammar_of(rules), "", ["aba", "abba", "a"])
    assert "'bb'" in raised.value.message
    assert "column 2" in str(raised.value)
    with pytest.raises(UnsatisfiableError) as raised:
        first_gap(grammar_of(rules), "", ["aa", "b"])
    assert "'b' and then ends" in raised.value.message
    with pytest.raises(UnsatisfiableError) as raised:
        first_gap(grammar_of(rules), "ba", ["a"])
    assert "begins with 'b'" in raised.value.message


TEXTS = {
    "json": ['{"a": [1, -2.5e3, true], "b\\n": {}}', '[[], "x", null]'],
    "arithmetic": ["(1 + 2) * 3 - 4 / (5)", "-(-7)"],
    "sql": ["SELECT a, b FROM t WHERE a > 1 AND b = 'x'"],
    "c": ["int f(int a) { return a + 1; }"],
    "javascript": ["let a = [1, 2].map(x => x + 1);"],
    "smiles": ["CC(=O)Oc1ccccc1C(=O)O"],
    "graphql": ["{ user(id: 4) { name, age } }"],
    "csv": ["a,b\n1,2\n"],
}
BYTES = Vocabulary.of_bytes()


def replay(name: str, text: str, seed: int, every: int) -> None:
    """Every token of the text is accepted, in random order; one that the canvas refused stays refused."""
    constraint = collection.load(name)
    assert byte_matcher(constraint).advance_bytes(text.encode()), text
    language = gap_language(constraint.as_dynamic())
    rng = random.Random(seed)
    wanted = list(text.encode())
    canvas = Canvas(language, BYTES, [None] * len(wanted), _classes(language))
    order = rng.sample(range(len(wanted)), len(wanted))
    refused: dict[int, np.ndarray] = {}
    for number, position in enumerate(order):
        assert canvas.allows({position: wanted[position]}), (text, order[: number + 1])
        if number % every == 0:
            mask = canvas.mask(position)
            assert mask[wanted[position]]
            others = order[number + 1 : number + 2]
            for place in others:
                seen = ~canvas.mask(place)
                assert not (refused.get(place, False) & ~seen).any(), "what was refused is allowed again"
                refused[place] = seen
        canvas.set({position: wanted[position]})
    assert canvas.text.decode() == text


_made: dict[GapLanguage, TokenClasses] = {}  # by identity


def _classes(language: GapLanguage) -> TokenClasses:
    if language not in _made:
        _made[language] = TokenClasses(language, BYTES)
    return _made[language]


@pytest.mark.parametrize("name", ["json", "arithmetic", "smiles", "csv"])
def test_replay(name):
    for number, text in enumerate(TEXTS[name]):
        replay(name, text, number, every=6)


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(TEXTS))
def test_replay_in_more_orders(name):
    for number, text in enumerate(TEXTS[name]):
        replay(name, text, 10 + number, every=8)


@pytest.mark.parametrize(
    ("text", "members"),
    [(JSON, ['{"a": [1, -2.5], "b": {}}', " [true]"]), (STATEMENTS, ["let ab = 1.5 + (x); if a then f(1);"])],
)
def test_from_left_to_right(text, members):
    """With all before it set and any text behind it, a position has the mask of the engine."""
    constraint = grammar(text)
    language = GapLanguage(constraint.as_dynamic())
    words = [language.lexer.class_word(bytes([byte])) for byte in range(256)]
    distinct = list(dict.fromkeys(words))
    for read in members:
        matcher = byte_matcher(constraint)
        for at, byte in enumerate(read.encode()):
            pattern = language.pattern()
            pattern.text(read.encode()[:at])
            ends = pattern.token(Layer.trie(distinct))
            pattern.anything()
            live = Solution(language, pattern).live_arcs()
            alive = {distinct[number] for number, arcs in ends.items() if live[arcs].any()}
            allowed = {byte for byte in range(256) if words[byte] in alive}
            assert allowed == {token for token in range(256) if matcher.allows(token)}, read[:at]
            assert matcher.advance(byte)
