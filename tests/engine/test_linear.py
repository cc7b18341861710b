"""Cost: reading is linear however lists are written, states repeat, and hostile patterns neither hang nor explode.

Times are CPU seconds of this thread, so that other processes do not count.
"""

from __future__ import annotations

import json
import random
import time

import pytest
from engine_cases import mask_of

import constrain
import vocabularies
from constrain.automata.decide import matches
from constrain.engine import TokenAutomaton
from constrain.kernels.records import arena
from small_grammars import JSON

RULES = r"""
start: value
value: object | array | STRING | NUMBER | "true" | "false" | "null"
object: "{" "}" | "{" pairs "}"
array: "[" "]" | "[" values "]"
pair: STRING ":" value
STRING: /"([^"\\\x00-\x1f]|\\["\\\/bfnrt]|\\u[0-9a-fA-F]{4})*"/
NUMBER: /-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?/
%ignore /[ \t\n]+/
"""
LEFT = RULES + 'pairs: pair | pairs "," pair\nvalues: value | values "," value\n'
RIGHT = RULES + 'pairs: pair | pair "," pairs\nvalues: value | value "," values\n'
CHUNK = 4096


def json_text(size: int) -> bytes:
    """One list of about `size` bytes, some of it nested."""
    rng, parts, length = random.Random(5), [], 0
    while length < size:
        record = {
            "id": rng.randrange(10**6),
            "name": "é" * rng.randrange(4),
            "tags": ["a", "b\n"][: rng.randrange(3)],
            "at": [[0.5], {}],
        }
        parts.append(json.dumps(record, ensure_ascii=False))
        length += len(parts[-1]) + 2
    return ("[" + ", ".join(parts) + "]").encode()


TEXT = json_text(1 << 20)


def read(compiled, text: bytes) -> float:
    """Seconds to read the text in chunks, all of it a member."""
    matcher = compiled.matcher()
    start = time.thread_time()
    for at in range(0, len(text), CHUNK):
        assert matcher.advance_bytes(text[at : at + CHUNK])
    seconds = time.thread_time() - start
    assert matcher.is_accepting()
    return seconds


def best(compiled, text: bytes) -> float:
    return min(read(compiled, text) for _ in range(3))


def compile_alone(grammar: str, **options):
    vocabulary = vocabularies.tiny()
    return constrain.compile(constrain.grammar(grammar, **options), vocabulary, automaton=TokenAutomaton(vocabulary))


@pytest.mark.parametrize("lexer", ["dynamic", "greedy"])
def test_right_recursion_costs_no_more_than_left(lexer):
    left, right = compile_alone(LEFT, lexer=lexer), compile_alone(RIGHT, lexer=lexer)
    cold = read(left, TEXT), read(right, TEXT)
    assert cold[1] < 2 * cold[0] + 0.3
    assert best(right, TEXT) < 2 * best(left, TEXT) + 0.05


@pytest.mark.parametrize("grammar", [LEFT, RIGHT, JSON], ids=["left", "right", "starred"])
def test_time_a_byte_is_flat(grammar):
    short = json_text(10 << 10)
    compiled = compile_alone(grammar)
    a_byte = min(best(compiled, short) for _ in range(5)) / len(short)
    assert best(compiled, TEXT) / len(TEXT) < 2 * a_byte + 50e-9


@pytest.mark.parametrize("grammar", [LEFT, RIGHT, JSON], ids=["left", "right", "starred"])
def test_a_long_text_needs_no_more_states_than_a_short_one(grammar):
    compiled = compile_alone(grammar)
    matcher = compiled.matcher()
    half = TEXT.index(b"{", len(TEXT) // 2)
    assert matcher.advance_bytes(TEXT[:half])
    records = int(compiled.automaton.A[arena.RECORDS])
    assert matcher.advance_bytes(TEXT[half:])
    assert compiled.automaton.A[arena.RECORDS] < 1.05 * records + 20
    assert records < 20_000


def test_nesting_is_linear():
    """Deep brackets make new states, a fixed number a level."""
    compiled = compile_alone(RIGHT)
    counts = []
    for depth in (500, 1000, 2000):
        matcher = compiled.matcher()
        assert matcher.advance_bytes(b"[" * depth + b"1" + b"]" * depth)
        assert matcher.is_accepting()
        counts.append(int(compiled.automaton.A[arena.RECORDS]))
    assert counts[2] - counts[1] < 2.2 * (counts[1] - counts[0])


HOSTILE = {  # pattern: (members, others)
    "(a?){500}a{500}": (["a" * 500, "a" * 1000, "a" * 777], ["a" * 499, "a" * 1001, "b"]),
    ".{0,100000}": (["", "é" * 999, "x" * 100_000], ["x" * 100_001, "\n"]),
    "(x+x+)+y": (["xxy", "x" * 3000 + "y"], ["x" * 3000, "xy", "x" * 3000 + "z"]),
    "(.*a){20}": (["a" * 20, "ba" * 30], ["a" * 19, "ab" * 30]),
    "((a*)*)*b": (["b", "a" * 3000 + "b"], ["a" * 3000, "ba"]),
    "([a-z]{1,100}-){1,100}": (["ab-" * 100, "a" * 100 + "-"], ["ab-" * 101, "a" * 101 + "-"]),
}


@pytest.mark.parametrize("pattern", HOSTILE)
def test_hostile_patterns(pattern):
    members, others = HOSTILE[pattern]
    vocabulary = vocabularies.tiny()
    automaton = TokenAutomaton(vocabulary)
    start = time.thread_time()
    compiled = constrain.compile(constrain.regex(pattern), vocabulary, automaton=automaton)
    assert time.thread_time() - start < 0.5  # milliseconds on a quiet machine
    for text in members + others:
        matcher = compiled.matcher()
        start = time.thread_time()
        member = matcher.advance_bytes(text.encode()) and matcher.is_accepting()
        assert time.thread_time() - start < 1 + 50e-6 * len(text)
        assert member == (text in members), text[:50]
        assert len(text) > 10_000 or matches(compiled.constraint.node, text) == member
    start = time.thread_time()
    mask_of(compiled.matcher())
    assert time.thread_time() - start < 1


def test_a_hundred_thousand_choices():
    options = [f"{n * 7919 % 1_000_003:06d}{'abcdé'[n % 5]}" for n in range(100_000)]
    start = time.thread_time()
    vocabulary = vocabularies.tiny()
    compiled = constrain.compile(constrain.choices(options), vocabulary, automaton=TokenAutomaton(vocabulary))
    assert time.thread_time() - start < 4  # 2 s on a quiet machine
    for option in options[::9973]:
        matcher = compiled.matcher()
        assert matcher.advance_bytes(option.encode())
        assert matcher.is_finished()
        assert not compiled.matcher().advance_bytes(option.encode()[:6] + b"f")
