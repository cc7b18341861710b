"""Cost: reading is linear however lists are written, states repeat, and hostile patterns neither hang nor explode.

Work is counted: records that are made, steps (a byte in a configuration) that are not known already, nodes of the trie
that a mask looks at, calls of functions. A step that is known is one look-up.
"""

import json
import random

import pytest
from engine_cases import mask_of

import constrain
import vocabularies
from constrain.kernels.records.arena import HEADER
from constrain.languages.automata.decide import matches
from constrain.masks.engine import TokenAutomaton
from small_grammars import JSON
from work import counted

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


def work_so_far(compiled) -> tuple[int, int]:
    """Records and steps that the automaton has made."""
    return int(compiled.automaton.memory.A[HEADER.RECORDS]), int(compiled.automaton.memory.A[HEADER.STEPS_MADE])


def read(compiled, text: bytes) -> tuple[int, int]:
    """Records and steps that it takes to read the text in chunks, all of it valid."""
    matcher, before = compiled.matcher(), work_so_far(compiled)
    for at in range(0, len(text), CHUNK):
        assert matcher.advance_bytes(text[at : at + CHUNK])
    assert matcher.is_accepting()
    records, steps = work_so_far(compiled)
    return records - before[0], steps - before[1]


def compile_alone(grammar: str, **options):
    vocabulary = vocabularies.tiny()
    return constrain.compile(constrain.grammar(grammar, **options), vocabulary, automaton=TokenAutomaton(vocabulary))


@pytest.mark.parametrize("lexer", ["dynamic", "greedy"])
def test_right_recursion_costs_no_more_than_left(lexer):
    left, right = compile_alone(LEFT, lexer=lexer), compile_alone(RIGHT, lexer=lexer)
    for ours, theirs in zip(read(right, TEXT), read(left, TEXT), strict=True):
        assert ours < 1.2 * theirs + 20
    assert read(right, TEXT) == read(left, TEXT) == (0, 0)


@pytest.mark.parametrize("grammar", [LEFT, RIGHT, JSON], ids=["left", "right", "starred"])
def test_a_long_text_takes_no_more_steps_than_a_short_one(grammar):
    compiled = compile_alone(grammar)
    records, steps = read(compiled, json_text(10 << 10))
    more_records, more_steps = read(compiled, TEXT)
    assert more_records < 0.05 * records + 20
    assert more_steps < 0.05 * steps + 20


@pytest.mark.parametrize("grammar", [LEFT, RIGHT, JSON], ids=["left", "right", "starred"])
def test_a_long_text_needs_no_more_states_than_a_short_one(grammar):
    compiled = compile_alone(grammar)
    matcher = compiled.matcher()
    half = TEXT.index(b"{", len(TEXT) // 2)
    assert matcher.advance_bytes(TEXT[:half])
    records = int(compiled.automaton.memory.A[HEADER.RECORDS])
    assert matcher.advance_bytes(TEXT[half:])
    assert compiled.automaton.memory.A[HEADER.RECORDS] < 1.05 * records + 20
    assert records < 20_000


def test_nesting_is_linear():
    """Deep brackets make new states, a fixed number a level."""
    compiled = compile_alone(RIGHT)
    counts = []
    for depth in (500, 1000, 2000):
        matcher = compiled.matcher()
        assert matcher.advance_bytes(b"[" * depth + b"1" + b"]" * depth)
        assert matcher.is_accepting()
        counts.append(int(compiled.automaton.memory.A[HEADER.RECORDS]))
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
    compiled, work = counted(constrain.compile, constrain.regex(pattern), vocabulary, automaton=automaton)
    assert work < 5000
    for text in members + others:
        matcher, (records, steps) = compiled.matcher(), work_so_far(compiled)
        member = matcher.advance_bytes(text.encode()) and matcher.is_accepting()
        assert work_so_far(compiled)[0] - records <= 10 * len(text) + 200
        assert work_so_far(compiled)[1] - steps <= 3 * len(text) + 10
        assert member == (text in members), text[:50]
        assert len(text) > 10_000 or matches(compiled.constraint.node, text) == member
    nodes = automaton.memory.A[HEADER.NODES_VISITED]
    mask_of(compiled.matcher())
    assert automaton.memory.A[HEADER.NODES_VISITED] - nodes <= 2 * len(vocabulary.trie)


def test_a_hundred_thousand_choices():
    options = [f"{n * 7919 % 1_000_003:06d}{'abcdé'[n % 5]}" for n in range(100_000)]
    vocabulary = vocabularies.tiny()
    automaton = TokenAutomaton(vocabulary)
    compiled, work = counted(lambda: constrain.compile(constrain.choices(options), vocabulary, automaton=automaton))
    assert work < 50 * len(options)
    for option in options[::9973]:
        matcher = compiled.matcher()
        assert matcher.advance_bytes(option.encode())
        assert matcher.is_finished()
        assert not compiled.matcher().advance_bytes(option.encode()[:6] + b"f")
