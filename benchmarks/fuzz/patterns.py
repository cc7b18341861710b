"""Regexes: Python's against `re`, ECMAScript's against a translation for `re`, operations against `interegular`.

Each pattern is asked in two ways: the syntax tree by the derivatives of `docs/reading.py` (Python's only), and the
compiled constraint by the engine.
"""

from __future__ import annotations

import itertools
import random
import re
from collections import Counter
from typing import Any

from hypothesis import strategies as st
from pattern_strategies import (
    POSSESSIVE,
    QUANTIFIERS,
    REGEX_GROUPS,
    SET_ATOMS,
    TEXTS,
    anchors,
    compare,
    flag_sets,
    patterns,
    plain_atoms,
)
from test_pattern_corpora import automaton, length_of_shortest, parse, pattern

import constrain
from constrain.languages.automata.decide import is_empty, shortest
from constrain.languages.automata.syntax import complement, difference, intersect
from fuzz import Target

BYTES = constrain.Vocabulary([*(bytes([byte]) for byte in range(256)), None], [256])
GROUPS = ["(", "(?:", "(?P<n>", "(?i:", "(?s-i:", "(?m:", "(?=", "(?!", "(?<=", "(?<!", "(?>"]


def members(constraint: constrain.Constraint, texts: list[str]) -> set[str]:
    """The texts that the engine takes."""
    try:
        compiled = constrain.compile(constraint, BYTES)
    except constrain.UnsatisfiableError:
        return set()
    found = set()
    for text in texts:
        matcher = compiled.matcher()
        if matcher.advance_bytes(text.encode()) and matcher.is_accepting():
            found.add(text)
    return found


def check_python(case: Any) -> None:
    """`re.fullmatch` (or that of `regex`), the derivatives and the engine have the same members."""
    compiled = compare(case["pattern"], case["flags"], Counter())
    if compiled is not None and (isinstance(compiled, re.Pattern) or not case["flags"]):
        try:
            ours = members(constrain.regex(compiled if isinstance(compiled, re.Pattern) else case["pattern"]), TEXTS)
        except constrain.LimitError:
            return
        assert ours == {text for text in TEXTS if compiled.fullmatch(text)}


PYTHON = st.fixed_dictionaries(
    {"pattern": patterns(st.one_of(plain_atoms, anchors), GROUPS, QUANTIFIERS + POSSESSIVE), "flags": flag_sets}
)

PACKAGE = st.fixed_dictionaries(
    {
        "pattern": patterns(
            st.one_of(plain_atoms, st.sampled_from(SET_ATOMS)), [*GROUPS, *REGEX_GROUPS], QUANTIFIERS + POSSESSIVE
        ),
        "flags": flag_sets,
    }
)

# --- ECMAScript: a pattern and what it means, in Python's syntax ------------------------------------------------------

LINE_ENDS = r"\n\r\u2028\u2029"
ATOMS = [
    ("a", "a"), ("b", "b"), (".", f"[^{LINE_ENDS}]"), (r"\d", "[0-9]"), (r"\w", "[A-Za-z0-9_]"),
    (r"\W", "[^A-Za-z0-9_]"), ("[^]", r"[\s\S]"), ("[]", "(?!)"), ("[ab]", "[ab]"), ("[^a]", "[^a]"),
    (r"\cJ", r"\n"), (r"\u{61}", "a"), (r"\u0062", "b"), (r"\x61", "a"), (r"[\d\-b]", "[0-9\\-b]"), ("é", "é"),
    (r"\n", r"\n"), (r"\/", "/"), (r"\0", r"\x00"), ("1", "1"), ("^", r"\A"), ("$", r"\Z"), ("", ""),
    (r"\b", r"(?:(?<![A-Za-z0-9_])(?=[A-Za-z0-9_])|(?<=[A-Za-z0-9_])(?![A-Za-z0-9_]))"),
]  # fmt: skip
ECMA_GROUPS = [("(?:", "(?:"), ("(", "("), ("(?=", "(?="), ("(?!", "(?!"), ("(?<=", "(?<="), ("(?<!", "(?<!")]
ECMA_COUNTS = ["*", "+", "?", "{2}", "{1,2}", "{0,1}", "{2,}", "*?", "+?", "??"]
ECMA_TEXTS = ["".join(text) for n in range(4) for text in itertools.product("ab1\né", repeat=n)]


def _extended(inner: st.SearchStrategy[tuple[str, str]]) -> st.SearchStrategy[tuple[str, str]]:
    pairs = st.tuples(inner, inner)
    return st.one_of(
        pairs.map(lambda p: (p[0][0] + p[1][0], p[0][1] + p[1][1])),
        pairs.map(lambda p: (f"(?:{p[0][0]}|{p[1][0]})", f"(?:{p[0][1]}|{p[1][1]})")),
        st.tuples(inner, st.sampled_from(ECMA_COUNTS)).map(lambda p: (f"(?:{p[0][0]}){p[1]}", f"(?:{p[0][1]}){p[1]}")),
        st.tuples(st.sampled_from(ECMA_GROUPS), inner).map(lambda p: (f"{p[0][0]}{p[1][0]})", f"{p[0][1]}{p[1][1]})")),
    )


ECMA = st.recursive(st.sampled_from(ATOMS), _extended, max_leaves=8).map(list)


def check_ecma(case: Any) -> None:
    """The engine takes what `re` takes by the translation."""
    pattern, meaning = case
    try:
        meant = re.compile(meaning)
    except re.error:  # look-behind of several widths, which Python lacks
        return
    try:
        ours = members(constrain.regex(pattern, dialect="ecma"), ECMA_TEXTS)
    except (constrain.RegexError, constrain.LimitError):
        return
    assert ours == {text for text in ECMA_TEXTS if meant.fullmatch(text)}


# --- operations -------------------------------------------------------------------------------------------------------


def check_operations(case: Any) -> None:
    """Intersections and differences are as empty, and their shortest members as short, as those of `interegular`."""
    one, other = case
    node, another, fsm, second = parse(one), parse(other), automaton(one), automaton(other)
    for ours, theirs in [
        (intersect(node, another), fsm & second),
        (difference(node, another), fsm - second),
        (intersect(complement(node), another), fsm.everythingbut() & second),
    ]:
        found, expected = shortest(ours), length_of_shortest(theirs)
        assert (None if found is None else len(found)) == expected
        assert is_empty(ours) == (expected is None)
        assert found is None or theirs.accepts(found)


def _pair(rng: random.Random) -> list[str]:
    return [pattern(rng), pattern(rng)]


TARGETS = [
    Target("python-regex", PYTHON, check_python, 150),
    Target("package-regex", PACKAGE, check_python, 150),
    Target("ecma-regex", ECMA, check_ecma, 300),
    Target("regex-operations", st.randoms(use_true_random=False).map(_pair), check_operations, 150),
]
