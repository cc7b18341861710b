"""Rules with a budget of tokens or a temperature: masks against a definition on all short sequences of tokens."""

import itertools
import pickle
import re
from functools import cache
from typing import NamedTuple

import numpy as np
import pytest

import constrain
import vocabularies
from constrain.errors import GrammarError
from tables import table

TABLE = table("followed_rules")


def vocabulary_of(*texts: bytes) -> constrain.Vocabulary:
    return constrain.Vocabulary([*texts, None], eos_ids=[len(texts)])


LINES = vocabulary_of(b"a", b"b", b"ab", b"b\n", b"\na", b"\n")
HALVES = vocabulary_of(b"a", b"b", b"ab", b"\xc3", b"\xa9", b"\xa9a")
LETTERS = vocabulary_of(b"a", b"b", b"ab", b"bb", b"aab")


class Case(NamedTuple):
    """A grammar whose language is a choice of sequences of parts: (regex, budget or None, temperature or None)."""

    grammar: str
    ways: list[list[tuple[str, int | None, float | None]]]
    vocabulary: constrain.Vocabulary = LINES


CASES = {
    "up to a line's end": Case(
        'start: x "\\n" y\nx[max_tokens=2]: /[ab]*/\ny[max_tokens=1, temperature=0.5]: /a*/',
        [[("[ab]*", 2, None), ("\n", None, None), ("a*", 1, 0.5)]],
    ),
    "an end that may be part of the rule": Case(
        'start: x "b" y\nx[max_tokens=2]: /(?s:.*)/\ny: /a*/',
        [[("(?s:.*)", 2, None), ("b", None, None), ("a*", None, None)]],
        vocabulary_of(b"a", b"b", b"ab", b"bba", b"\n"),
    ),
    "the whole text, characters of two bytes": Case(
        "start: x\nx[max_tokens=2]: /[aé]*/", [[("[aé]*", 2, None)]], HALVES
    ),
    "what must still come": Case(
        'start: "a"? x "a"?\nx[max_tokens=3, temperature=2]: "ab"? "b"? "é"',
        [[("a?", None, None), ("(ab)?b?é", 3, 2.0), ("a?", None, None)]],
        HALVES,
    ),
    "one of two rules": Case(
        'start: x | y "b"\nx[max_tokens=1, temperature=0.3]: /a*/\ny[temperature=0.6]: /a*b/',
        [[("a*", 1, 0.3)], [("a*b", None, 0.6), ("b", None, None)]],
        LETTERS,
    ),
    "a list of budgets": Case(
        "start: x x?\nx[max_tokens=1]: /[ab]+/",
        [[("[ab]+", 1, None)], [("[ab]+", 1, None), ("[ab]+", 1, None)]],
        LETTERS,
    ),
    "a lazy rule": Case(
        'start: x y\nx[lazy, max_tokens=2]: /[ab]*\\n/\ny: "a"*',
        [[("[ab]*?\n", 2, None), ("a*", None, None)]],
    ),
    "a rule that refers to itself at its end": Case(
        'start: x "\\n"\nx[max_tokens=2]: s\ns: "a" s | "b" | "ab" "a"? s',
        [[("(a|aba?)*b", 2, None), ("\n", None, None)]],
    ),
    "an inner temperature": Case(
        'start: x "\\n"\nx[temperature=0.5]: "a"* y\ny[temperature=0.25, max_tokens=1]: "b"*',
        [[("a*", None, 0.5), ("b*", 1, 0.25), ("\n", None, None)]],
    ),
    "tokens that run over the end": Case(
        'start: x "\\n" "a"*\nx[max_tokens=2]: "abb" | "ab"',
        [[("abb|ab", 2, None), ("\n", None, None), ("a*", None, None)]],
        vocabulary_of(b"ab", b"ba", b"b\n", b"\na", b"abb"),  # few single bytes
    ),
}  # fmt: skip


@cache
def readings(name: str, text: str) -> list[list[tuple[int, int, int | None, float | None]]]:
    """All ways to divide a text into the parts: (begin, end, budget, temperature) in characters."""
    found = []
    for way in CASES[name].ways:
        for cuts in itertools.combinations_with_replacement(range(len(text) + 1), len(way) - 1):
            edges = [0, *cuts, len(text)]
            spans = list(itertools.pairwise(edges))
            if all(re.fullmatch(part[0], text[a:b]) for (a, b), part in zip(spans, way, strict=True)):
                found.append([(a, b, part[1], part[2]) for (a, b), part in zip(spans, way, strict=True)])
    return found


def kept(name: str, tokens: tuple[int, ...]) -> list[list[tuple[int, int, float | None]]]:
    """The readings of a sequence in which no part has more tokens than its budget: (begin, end, temperature)."""
    pieces = [CASES[name].vocabulary.tokens[token] or b"" for token in tokens]
    try:
        text = b"".join(pieces).decode()
    except UnicodeDecodeError:
        return []
    ends = np.cumsum([len(piece) for piece in pieces]).tolist()
    at = [len(text[:i].encode()) for i in range(len(text) + 1)]
    found = []
    for reading in readings(name, text):
        spans = [(at[a], at[b], budget, temperature) for a, b, budget, temperature in reading]
        counts = [
            sum(end - len(piece) < b and a < end for piece, end in zip(pieces, ends, strict=True))
            for a, b, _, _ in spans
        ]
        if all(budget is None or n <= budget for n, (_, _, budget, _) in zip(counts, spans, strict=True)):
            found.append([(a, b, temperature) for a, b, _, temperature in spans])
    return found


LONGEST, COMPARED = 5, 2


@pytest.mark.parametrize("name", CASES)
def test_masks_and_temperatures_are_those_of_the_definition(name: str) -> None:
    case = CASES[name]
    vocabulary = case.vocabulary
    ids = [token for token, text in enumerate(vocabulary.tokens) if text]
    compiled = constrain.compile(constrain.grammar(case.grammar), vocabulary)
    (eos,) = vocabulary.eos_ids
    members = {
        tokens: found
        for n in range(LONGEST + 1)
        for tokens in itertools.product(ids, repeat=n)
        if (found := kept(name, tokens))
    }
    following: dict[tuple[int, ...], set[int]] = {}
    drawn: dict[tuple[int, ...], set[float]] = {}
    for tokens, found in members.items():
        following.setdefault(tokens, set()).add(eos)
        for n, token in enumerate(tokens):
            following.setdefault(tokens[:n], set()).add(token)
            at = len(b"".join(vocabulary.tokens[one] or b"" for one in tokens[:n]))
            inside = {t for reading in found for a, b, t in reading if a <= at < b and t is not None}
            drawn.setdefault(tokens[:n], set()).update(inside)
    assert members
    for tokens in sorted(following, key=len):
        if len(tokens) > COMPARED:
            continue
        matcher = compiled.matcher()
        assert matcher.advance_tokens(tokens) == len(tokens), tokens
        row = np.flatnonzero(np.unpackbits(matcher.mask().view(np.uint8), bitorder="little")).tolist()
        assert {*row} == following[tokens], tokens
        assert {token for token in [*ids, eos] if matcher.allows(token)} == following[tokens], tokens
        assert matcher.temperature == max(drawn.get(tokens, set()), default=None), tokens
        fork = pickle.loads(pickle.dumps(matcher))
        assert fork.mask().tolist() == matcher.mask().tolist()


def test_readings_are_found_again_after_states_were_forgotten() -> None:
    case = CASES["an end that may be part of the rule"]
    matcher = constrain.compile(constrain.grammar(case.grammar), case.vocabulary).matcher()
    matcher.advance_tokens([0, 1])
    row = matcher.mask().tolist()
    automaton = matcher.compiled.followed.automaton
    with automaton.memory.lock:
        automaton.flush()
    assert matcher.mask().tolist() == row and matcher.advance(1) and matcher.advance(0) and not matcher.advance(1)
    matcher.rollback(2)
    assert matcher.mask().tolist() == row


def test_a_large_vocabulary_is_as_a_small_one() -> None:
    vocabulary = vocabularies.tiny()
    compiled = constrain.compile(constrain.grammar('start: "A: " x "B: " y\nx[max_tokens=3]: /(?s:.*)/\ny: /[a-z]*/'),
                                 vocabulary)  # fmt: skip
    for prefix in (b"A: ", b"A: w", b"A: wo", b"A: wor", b"A: worB", b"A: woB: x"):
        matcher = compiled.matcher()
        for byte in prefix:
            assert matcher.advance(vocabulary.tokens.index(bytes([byte]))), prefix
        row = np.unpackbits(matcher.mask().view(np.uint8), bitorder="little")
        for token in range(vocabulary.size):
            assert bool(row[token]) == matcher.allows(token), (prefix, vocabulary.tokens[token])


FAULTS = TABLE["faults"]


@pytest.mark.parametrize(("text", "message"), FAULTS)
def test_faults_are_located(text: str, message: str) -> None:
    with pytest.raises(GrammarError, match=re.escape(message)) as caught:
        constrain.compile(constrain.grammar(text), LINES)
    assert caught.value.place is not None and "^" in caught.value.place and caught.value.fix


def test_followed_rules_stand_alone_and_need_every_way_to_cut() -> None:
    one = constrain.grammar("start: x\nx[max_tokens=3]: /a*/")
    warm = constrain.grammar("start: x\nx[temperature=0.5]: /a*/")
    for combine in (
        lambda: constrain.seq("x", one),
        lambda: one | constrain.regex("b"),
        lambda: constrain.regex("a") & warm,
        lambda: constrain.between(warm, prefix="a"),
        lambda: constrain.grammar('start: "b" @x', grammars={"x": one}),
    ):
        with pytest.raises(GrammarError, match="stands alone"):
            combine()
    with pytest.raises(GrammarError, match="are not read under lexer='greedy'"):
        constrain.grammar("start: x\nx[max_tokens=3]: /a*/", lexer="greedy")


def test_a_part_with_a_guard_keeps_it() -> None:
    schema = '%json {"type": "array", "items": {"type": "integer"}, "uniqueItems": true}'
    constraint = constrain.grammar(f"start: y x\nx[max_tokens=2]: /[a-z]*/\ny: {schema}")
    matcher = constrain.compile(constraint, constrain.Vocabulary.of_bytes()).matcher()
    assert matcher.advance_tokens(b"[1, 2, 1]ab") == 8  # the guard vetoes the end of an array that repeats an item
    assert matcher.advance_tokens(b"0]abc") == 4 and matcher.is_accepting()
