"""Patterns of the world: real schemas and the official suite are read, or refused for a reason that is named here.

`interegular` is an independent oracle of random ones: intersection, complement and emptiness. It shares no line with
the store: its automata are tables over an alphabet with a symbol for "anything else", so that complements are over all
texts there too. Patterns keep to what both read alike: ASCII letters, classes, counters.
"""

import functools
import json
import random
import re
from collections import Counter
from itertools import product

import interegular
import pytest
from interegular.fsm import FSM

from conftest import data_path
from constrain.errors import ConstrainError
from constrain.languages.automata.decide import is_empty, matches, shortest
from constrain.languages.automata.parse.ecma import parse_ecma
from constrain.languages.automata.parse.python import parse_python
from constrain.languages.automata.syntax import complement, difference, intersect
from schema_corpus import corpora, sample

# pattern of MaskBench's development files -> why it is refused
REFUSED = {r"^\s*<([A-Za-z]+).+?(\/>|\/\1>)\s*$": "a backreference is not regular: it needs memory of the text"}


def patterns_of(schema, found):
    """Collect `pattern` and the keys of `patternProperties`, wherever they are."""
    if isinstance(schema, dict):
        found.update(value for key, value in schema.items() if key == "pattern" and isinstance(value, str))
        keyed = schema.get("patternProperties")
        found.update(keyed if isinstance(keyed, dict) else ())
        for value in schema.values():
            patterns_of(value, found)
    elif isinstance(schema, list):
        for value in schema:
            patterns_of(value, found)


def refusals(patterns):
    found = {}
    for pattern in patterns:
        try:
            parse_ecma(pattern)
        except ConstrainError as fault:
            found[pattern] = fault.message
    return found


@corpora
def test_real_schemas(corpus):
    found = set()
    for entry in sample(corpus):
        patterns_of(entry.schema, found)
    assert len(found) > {"ours": 20, "maskbench": 1500}[corpus]
    assert refusals(found) == (REFUSED if corpus == "maskbench" else {})


@pytest.mark.parametrize("draft", ["draft4", "draft6", "draft7", "draft2019-09", "draft2020-12"])
def test_official_suite(draft):
    found = set()
    for path in data_path("json-schema-test-suite", "tests", draft).rglob("*.json"):
        for group in json.loads(path.read_bytes()):
            patterns_of(group["schema"], found)
    assert found
    assert refusals(found) == {}


parse = functools.partial(parse_python, flags=re.ASCII)  # for interegular, a digit is one of ten
TEXTS = ["".join(letters) for n in range(4) for letters in product("abx", repeat=n)]
CLASSES = ["a", "b", "c", "[ab]", "[^a]", "[^bc]", "[a-c]", "[b-z0-9]", r"\d", r"\w"]
COUNTS = ["*", "+", "?", "{2}", "{0,2}", "{1,3}", "{2,}"]


def pattern(choose: random.Random, depth: int = 3) -> str:
    """A pattern of the syntax that both read."""
    kind = choose.random()
    if depth == 0 or kind < 0.25:
        return choose.choice(CLASSES)
    if kind < 0.5:
        return pattern(choose, depth - 1) + pattern(choose, depth - 1)
    if kind < 0.7:
        return f"({pattern(choose, depth - 1)}|{pattern(choose, depth - 1)})"
    return f"({pattern(choose, depth - 1)}){choose.choice(COUNTS)}"


def automaton(text: str) -> FSM:
    return interegular.parse_pattern(text).to_fsm()


def length_of_shortest(fsm: FSM) -> int | None:
    """Letters of a shortest member, by the levels of a search; None if there is no member."""
    level, seen, length = {fsm.initial}, {fsm.initial}, 0
    while level:
        if level & fsm.finals:
            return length
        level = {after for state in level for after in fsm.map.get(state, {}).values()} - seen
        seen |= level
        length += 1
    return None


@pytest.mark.parametrize("seed", range(12))
def test_boolean_operations(seed: int) -> None:
    """Emptiness and shortest text of the intersection and the difference of two languages."""
    verdicts: Counter[bool] = Counter()
    for number in range(25):
        choose = random.Random(f"{seed} {number}")
        one, other = pattern(choose), pattern(choose)
        node, another = parse(one), parse(other)
        fsm, second = automaton(one), automaton(other)
        for ours, theirs in [
            (intersect(node, another), fsm & second),
            (difference(node, another), fsm - second),
            (intersect(complement(node), another), fsm.everythingbut() & second),
            (complement(difference(complement(node), another)), (fsm.everythingbut() - second).everythingbut()),
        ]:
            found, expected = shortest(ours), length_of_shortest(theirs)
            assert (None if found is None else len(found)) == expected, (one, other, found)
            assert is_empty(ours) == theirs.empty() == (expected is None), (one, other)
            assert found is None or theirs.accepts(found), (one, other, found)
            verdicts[expected is None] += 1
    assert min(verdicts[True], verdicts[False]) >= 10  # of 100


@pytest.mark.parametrize("seed", range(6))
def test_members(seed: int) -> None:
    """Every text of up to three letters, one of which no pattern names."""
    members = 0
    for number in range(10):
        text = pattern(random.Random(f"members {seed} {number}"))
        node, fsm = parse(text), automaton(text)
        found = [each for each in TEXTS if matches(node, each)]
        assert found == [each for each in TEXTS if fsm.accepts(each)], text
        members += len(found)
    assert members > 20
