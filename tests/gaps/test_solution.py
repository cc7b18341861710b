"""Gaps against enumeration: emptiness, masks and shortest fillings of random grammars and patterns."""

import random
from itertools import pairwise

import pytest
from naive_gaps import ANY, Part, fillings, grammar_of, least_free, members, random_parts, random_rules

from constrain.gaps.pattern import Layer, Pattern
from constrain.gaps.solution import GapLanguage

LONGEST = 7
QUICK, ALL = 150, 2000


def build(language: GapLanguage, parts: list[Part], at: int | None = None) -> tuple[Pattern, dict[int, list[int]]]:
    """The pattern of the parts; at: the number of a part that is one token, and the arcs that end its words."""
    pattern, ends = language.pattern(), {}
    for number, part in enumerate(parts):
        if part == ANY:
            pattern.anything()
        elif isinstance(part, str):
            pattern.text(part.encode())
        else:
            words = [language.lexer.class_word(token.encode()) for token in part[0]]
            if number == at:
                ends = pattern.token(Layer.trie(list(dict.fromkeys(words))))
            else:
                pattern.tokens(Layer.merged(words), *part[1:])
    return pattern, ends


def word_of(pattern: Pattern, arcs: list[int]) -> tuple[int, ...]:
    """The classes along arcs, which have to be a path."""
    assert all(pattern.arcs[one][2] == pattern.arcs[two][0] for one, two in pairwise(arcs))
    return tuple(pattern.arcs[arc][1] for arc in arcs)


def one_pair(seed: int) -> None:
    rng = random.Random(seed)
    rules = random_rules(rng)
    language = GapLanguage(grammar_of(rules))
    known = members(rules, LONGEST)
    finite = rng.random() < 0.5
    parts = random_parts(rng, finite)
    fitting = known & fillings(parts, LONGEST)
    pattern, _ = build(language, parts)
    solution = language.solve(pattern)
    if fitting:
        assert not solution.is_empty, (rules, parts, fitting)
    if not solution.is_empty:
        arcs = solution.shortest()
        word = word_of(pattern, arcs)
        cost = sum(pattern.arcs[arc][3] for arc in arcs)
        longer = len(word) > LONGEST  # then enumerate as far as that
        same = fitting if not longer else members(rules, len(word)) & fillings(parts, len(word))
        same = {text for text in same if language.lexer.class_word(text.encode()) == word}
        assert same, (rules, parts, word)  # bytes of a class are lexed alike: one of the texts has to fit
        assert cost == min(least_free(parts, text) for text in same)
        assert all(cost <= least_free(parts, other) for other in fitting), (rules, parts, word)
    else:
        assert not solution.live_arcs().any()
    position(rng, language, known, parts, finite)


def position(rng: random.Random, language: GapLanguage, known: set[str], parts: list[Part], finite: bool) -> None:
    """The tokens that may stand at one open position."""
    at = rng.randrange(len(parts) + 1)
    tokens = tuple(rng.sample(["a", "b", "ab", "ba", "aab"], 4))
    parts = [*parts[:at], (tokens, 1, 1), *parts[at:]]
    words = list(dict.fromkeys(language.lexer.class_word(token.encode()) for token in tokens))
    pattern, ends = build(language, parts, at)
    solution = language.solve(pattern)
    live = solution.live_arcs()
    allowed = {
        token
        for token in tokens
        if any(live[arc] for arc in ends[words.index(language.lexer.class_word(token.encode()))])
    }
    for token in tokens:
        fixed = [*parts[:at], token, *parts[at + 1 :]]
        if known & fillings(fixed, LONGEST):
            assert token in allowed, (parts, at, token)
        elif token in allowed:  # then there is a text, and it is too long for the enumeration
            filled, _ = build(language, fixed)
            arcs = language.solve(filled).shortest()
            assert arcs is not None
            assert len(word_of(filled, arcs)) > LONGEST, (parts, at, token)


@pytest.mark.parametrize("seed", range(QUICK))
def test_random_pairs(seed):
    one_pair(seed)


@pytest.mark.slow
def test_all_random_pairs():
    for seed in range(QUICK, ALL):
        one_pair(seed)
