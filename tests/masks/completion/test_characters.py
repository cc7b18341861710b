"""A bound of characters beside a grammar: exact against the enumeration of its texts, alone and in other ones."""

from __future__ import annotations

import pickle
import random
import re
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import constrain
from constrain.languages.automata.decide import is_empty
from constrain.languages.automata.parse.python import parse_python
from constrain.languages.automata.shape import without_most
from constrain.languages.automata.syntax import ANY_CHAR, alternate, difference, intersect, repeat
from constrain.languages.constraints import intersection, parts
from constrain.languages.vocab.bits import tokens_of
from constrain.masks.completion.length_budget import LengthBudget
from constrain.masks.derived.stopping import stopped

TOKENS = [
    *(c.encode() for c in "abc()é€q+"),
    *(b"\xc3", b"\xa9", b"\xe2\x82", b"\xac", b"ab", b"((", b"))", "é€".encode(), b"a)", "bé".encode()),
]
EOS = len(TOKENS)
GRAMMARS: dict[str, dict[str, list[list[str]]]] = {
    "nested": {"s": [["(", "s", ")"], ["a"]]},
    "wide": {"s": [["x", "s"], []], "x": [["a"], ["é"], ["ab"], ["€"]]},
    "right": {"s": [["€", "s"], ["abc", "s"], ["q"]]},
    "left": {"s": [["s", "+", "t"], ["t"]], "t": [["(", "s", ")"], ["a"], ["é"]]},
    "even": {"s": [["a", "s", "a"], ["é", "s", "é"], ["€"]]},
    "middle": {"s": [["a", "s"], ["b", "t", "é"], ["q"]], "t": [["b", "t", "é"], []]},
    "bytes or characters": {"s": [["(", "x", ")"]], "x": [["ab"], ["€"], ["x", "x", "c"]]},
}
PATTERNS = [".{0,%d}", "a.{0,%d}", r"(.|\n){0,%d}", ".{2,%d}", "[^b]{0,%d}", r"(a|\(|€).{0,%d}", ".{0,%d}[)éa]"]


def texts_of(rules: dict[str, list[list[str]]], most: int) -> set[str]:
    """The texts of some rules with at most so many characters, as a least fixed point."""
    known: dict[str, set[str]] = {name: set() for name in rules}
    while True:
        before = sum(map(len, known.values()))
        for name, ways in rules.items():
            for way in ways:
                found = {""}
                for symbol in way:
                    found = {a + b for a in found for b in known.get(symbol, {symbol}) if len(a + b) <= most}
                known[name] |= found
        if sum(map(len, known.values())) == before:
            return known["s"]


def grammar_of(rules: dict[str, list[list[str]]]) -> constrain.Constraint:
    def shown(symbol: str) -> str:
        return symbol if symbol in rules else f'"{symbol}"'

    lines = [f"{name}: " + " | ".join(" ".join(map(shown, way)) for way in ways) for name, ways in rules.items()]
    return constrain.grammar("start: s\n" + "\n".join(lines))


@pytest.fixture(autouse=True)
def _always_a_guard(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small bounds, which a product would count, are counted by the guard, too."""
    monkeypatch.setattr(intersection, "COUNTED", -1)
    parts._parts.clear()


def bounded(name: str, pattern: str, most: int) -> tuple[constrain.Constraint, set[str]]:
    """A grammar with a pattern, and all of its texts."""
    rules = GRAMMARS[name]
    found = {text for text in texts_of(rules, most + 1) if re.fullmatch(pattern % most, text)}
    return grammar_of(rules) & constrain.regex(pattern % most), found


def assert_exact(constraint: constrain.Constraint, texts: set[str], most: int = 400) -> None:
    """Every mask, token and step of bytes is that of the texts, from each of the first places that tokens reach."""
    vocabulary = constrain.Vocabulary([*TOKENS, None], eos_ids=[EOS])
    members = {text.encode() for text in texts}
    begun = {text[:end] for text in members for end in range(len(text) + 1)}
    compiled = constrain.compile(constraint, vocabulary)
    queue = [compiled.matcher()]
    seen = {b""}
    for matcher in queue[:most]:
        text = matcher.text
        wanted = [token for token, spelled in enumerate(TOKENS) if text + spelled in begun]
        allowed = tokens_of(matcher.mask()).tolist()
        assert allowed == wanted + [EOS] * (text in members), (text, allowed, wanted)
        assert [token for token in range(EOS + 1) if matcher.allows(token)] == allowed
        for byte in (0x61, 0xC3, 0xE2, 0x28, 0x29):
            fork = matcher.fork()
            assert fork.advance_bytes(bytes([byte])) == (text + bytes([byte]) in begun), (text, byte)
        for token in wanted:
            after = text + TOKENS[token]
            if after not in seen and len(queue) < most:
                seen.add(after)
                queue.append(matcher.fork())
                assert queue[-1].advance(token)


def unsatisfiable(constraint: constrain.Constraint) -> bool:
    try:
        constraint.to_grammar()
    except constrain.UnsatisfiableError:
        return True
    return False


@pytest.mark.parametrize("name", GRAMMARS)
@pytest.mark.parametrize("pattern", PATTERNS)
def test_masks_are_those_of_all_texts(name: str, pattern: str) -> None:
    for most in (3, 4, 6):
        constraint, texts = bounded(name, pattern, most)
        assert unsatisfiable(constraint) == (not texts)
        if texts:
            assert constraint.most is not None, pattern  # type: ignore[attr-defined]
            assert_exact(constraint, texts, 60)
            assert all(map(constraint.accepts, texts))


@pytest.mark.parametrize("name", ["nested", "right", "middle", "bytes or characters"])
@pytest.mark.parametrize("pattern", PATTERNS[:3])
def test_in_other_constraints(name: str, pattern: str) -> None:
    """As a part of other constraints it is read apart; a stop sequence stands behind it."""
    own, texts = bounded(name, pattern, 5)
    if not texts:
        return
    others = ["ab", "q", "é"]
    assert_exact(constrain.seq("a", own, "b"), {f"a{text}b" for text in texts}, 80)
    assert_exact(own | constrain.choices(others), texts | set(others), 80)
    assert_exact(constrain.seq(constrain.regex("[ab]?"), own), {a + b for a, b in product(["", "a", "b"], texts)}, 80)
    assert_exact(
        constrain.alt(own, constrain.seq(own, "+", own)), texts | {f"{a}+{b}" for a in texts for b in texts}, 60
    )


@pytest.mark.parametrize("name", ["nested", "right", "middle"])
@pytest.mark.parametrize("stops", [["b"], ["é", "ab"], [")", ")q"], ["+"]])
def test_before_a_stop_sequence(name: str, stops: list[str]) -> None:
    own, texts = bounded(name, ".{0,%d}", 5)
    whole = {text + stop for text in texts for stop in ["", *stops]}
    first = {text for text in whole if all(text.find(stop) in (-1, len(text) - len(stop)) for stop in stops)}
    assert_exact(stopped(own, stops), first, 80)


def test_a_text_ends_within_a_budget_of_tokens_and_of_characters() -> None:
    vocabulary, draw = constrain.Vocabulary([*TOKENS, None], eos_ids=[EOS]), random.Random(0)
    for name, pattern in product(GRAMMARS, PATTERNS):
        constraint, texts = bounded(name, pattern, 6)
        if not texts:
            continue
        budget = LengthBudget(constrain.compile(constraint, vocabulary))
        for most in (9, 12):
            matcher = budget.matcher(0, most)
            while not matcher.ended:
                assert matcher.advance(draw.choice(tokens_of(matcher.mask()).tolist()))
            assert matcher.taken <= most
            assert matcher.text.decode() in texts


@pytest.mark.parametrize("schema", [{"type": "array", "items": {"enum": ["€", "ab", 1]}, "uniqueItems": True}, {}])
def test_schemas_with_guards_of_their_own(schema: dict[str, object]) -> None:
    constraint, draw = constrain.json_schema(schema) & constrain.regex(".{0,40}"), random.Random(0)
    compiled = constrain.compile(constraint, constrain.Vocabulary.of_bytes())
    for _ in range(10):
        matcher = compiled.matcher()
        while not matcher.ended:
            assert matcher.advance(draw.choice(tokens_of(matcher.mask()).tolist()))
        assert len(matcher.text.decode()) <= 40
        assert constraint.accepts(matcher.text)


def test_copies_batches_and_steps_back() -> None:
    constraint, _ = bounded("left", ".{0,%d}", 9)
    compiled = constrain.compile(constraint, constrain.Vocabulary([*TOKENS, None], eos_ids=[EOS]))
    matcher = compiled.matcher()
    assert matcher.advance_tokens([3, 3, 0, 8, 3]) == 5
    again = pickle.loads(pickle.dumps(matcher))
    assert again.mask().tolist() == matcher.mask().tolist()
    rows = np.zeros((3, compiled.vocabulary.words), np.uint32)
    constrain.fill_masks([matcher, again, compiled.matcher()], rows)
    assert rows[0].tolist() == rows[1].tolist() == matcher.mask().tolist() != rows[2].tolist()
    before = matcher.mask().tolist()
    assert matcher.advance(0)
    matcher.rollback(1)
    assert matcher.mask().tolist() == before


def test_long_bounds_are_no_states() -> None:
    """Bounds that a product cannot count; what remains undecided is an error with its place."""
    grammar = grammar_of(GRAMMARS["left"])
    for pattern in (".{0,80}", ".{0,100000}", "a.{0,500}", r"(?s).{2,3000}"):
        assert (grammar & constrain.regex(pattern)).most is not None  # type: ignore[attr-defined]
    for pattern in (".{0,40}a.{0,40}", r"(a|bc).{0,400}"):
        assert (grammar & constrain.regex(pattern))._regular == without_most(parse_python(pattern))[0]  # type: ignore[attr-defined]
    with pytest.raises(constrain.UnsatisfiableError, match="the shortest has 3"):
        (grammar_of({"s": [["(", "s", ")"], ["abc"]]}) & constrain.regex(".{0,2}")).to_grammar()


UNITS = st.sampled_from(["a", ".", "[ab]", "(ab|ba)", "(ab)", "(a?)", "(a|bc)", "é"])
COUNTS = st.tuples(st.integers(0, 3), st.integers(0, 4)).map(lambda pair: f"{{{pair[0]},{sum(pair)}}}")
PIECES = st.one_of(UNITS, st.tuples(UNITS, COUNTS).map("".join), st.just("b*"))
REGEXES = st.lists(st.lists(PIECES, min_size=1, max_size=3).map("".join), min_size=1, max_size=2).map("|".join)


@given(REGEXES)
def test_the_bound_and_the_rest_are_the_language(pattern: str) -> None:
    """By equality of automata: the language is what it is without the bound, and not longer."""
    node = parse_python(pattern)
    loose, most = without_most(node)
    whole = loose if most is None else intersect(loose, repeat(ANY_CHAR, 0, most))
    assert is_empty(alternate(difference(node, whole), difference(whole, node)))
