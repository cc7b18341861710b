"""Masks where counters are far from their ends, near them, and at them: the tokens that `advance` takes.

`advance` knows the counters as they are; masks are shared by all positions from which no token reaches an end
(kernels/lexer/counters.py).
"""

import itertools

import numpy as np
import pytest

import constrain
from constrain.masks.engine import Matcher, TokenAutomaton

LETTERS = [bytes([byte]) for byte in range(256)]
PIECES = [b"ab", b" a", b"a b", b"a b ", b"ab ab", b" a a a", b"a a a a ", b"    ", b"aaaaaa", b"a.a", b".a."]
PIECES += [b'a"', b'a b"', b" \\n", b"\\u0020", b"\\u0061b", "é".encode(), "é a é".encode(), b'"', b'","']
VOCABULARY = constrain.Vocabulary([*LETTERS, *PIECES, b""], eos_ids=[len(LETTERS) + len(PIECES)])
WORDS = "^(?:\\S+\\s+){0,%d}\\S+$"
PATTERNS = [
    WORDS % 6, WORDS % 12, f"^$|({WORDS % 9})", "^(?:[a-z]{1,3}\\.){2,9}[a-z]{2,4}$", "^(?:a|a b){3,14}$",
    "^[a b]{0,24}é?$", "^(?:ab){0,30}$", "^(?:a{5}){0,12}$", "^[^b]+b", "^[ab ]*(?:b[a-z ]{14}c)?$",
    "^(?:(?:a ?){2,5}b){0,9}$",
]  # fmt: skip
RANGES = [(0, None), (0, 20), (0, 45), (1, 40), (9, 28)]
STEPS = [b"a", b"ab", b"a b", b" a", b"a b ", b"a.a", b"aaaaaa", b"\\u0061b", b"b", b" "]


def allowed(matcher: Matcher) -> np.ndarray:
    """bool[tokens]: true for a token that `advance` takes."""
    return np.array([matcher.fork().advance(token) for token in range(VOCABULARY.size)])


def bits(matcher: Matcher) -> np.ndarray:
    return np.unpackbits(matcher.mask().view(np.uint8), bitorder="little")[: VOCABULARY.size].astype(bool)


@pytest.mark.parametrize("lengths", RANGES, ids=str)
@pytest.mark.parametrize("pattern", PATTERNS)
def test_masks_are_what_advance_takes(pattern: str, lengths: tuple[int, int | None]) -> None:
    schema = {"type": "string", "pattern": pattern, "minLength": lengths[0]}
    if lengths[1] is not None:
        schema["maxLength"] = lengths[1]
    automaton = TokenAutomaton(VOCABULARY)
    start = constrain.compile(constrain.json_schema(schema), VOCABULARY, automaton=automaton).matcher()
    assert start.advance_bytes(b'"')
    for first, second in itertools.product(range(len(STEPS)), repeat=2):
        matcher = start.fork()
        for step in itertools.islice(itertools.cycle([STEPS[first], STEPS[second]]), 40):
            assert (bits(matcher) == allowed(matcher)).all(), matcher.text
            if not matcher.advance_bytes(step):
                break
