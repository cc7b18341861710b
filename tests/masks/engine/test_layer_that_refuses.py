"""Explanations of where a text stands, in the words of its grammar."""

import pytest

import constrain
import vocabularies
from constrain.masks.engine import TokenAutomaton
from constrain.masks.engine.explain import Explanation, explain
from small_grammars import JSON, STATEMENTS

VALUES = ["STRING", "NUMBER", '"true"', '"false"', '"null"', '"{"', '"["']
CASES = [
    (JSON, "", Explanation(VALUES, [], [], [])),
    (JSON, "[1, ", Explanation(VALUES, [], ['array: "," • value'], ["array", "value", "start"])),
    (
        JSON,
        '{"a": [1',
        Explanation(
            ['","', '"]"'],
            ["NUMBER"],
            ["value: • NUMBER", 'array: value • ("," value)*'],
            ["array", "value", "pair", "object", "start"],
        ),
    ),
    (JSON, '{"a": "x', Explanation([], ["STRING"], ["value: • STRING"], ["pair", "object", "value", "start"])),
    (
        STATEMENTS,
        "if a == ",
        Explanation(["NAME", "NUMBER", '"("'], [], ["expression: … • expression"], ["expression", "start"]),
    ),
    ('start: "x"~3..5 "y"', "xx", Explanation(['"x"'], [], [], [])),
]


@pytest.mark.parametrize("text, prefix, expected", CASES, ids=[prefix for _, prefix, _ in CASES])
@pytest.mark.parametrize("lexer", ["dynamic", "greedy"])
def test_situations(text, prefix, expected, lexer):
    vocabulary = vocabularies.tiny()
    automaton = TokenAutomaton(vocabulary)  # what other texts have reached would hide rules that are not expanded here
    matcher = constrain.compile(constrain.grammar(text, lexer=lexer), vocabulary, automaton=automaton).matcher()
    assert matcher.advance_bytes(prefix.encode())
    found = explain(matcher)
    if "~" not in text:
        assert found == expected
    else:
        assert found.begin == expected.begin
        assert "•" in found.rules[0]


def test_terminals_are_those_that_the_text_can_go_on_with():
    """Each terminal that is named begins some text that may follow, and no other does."""
    constraint = constrain.grammar(JSON)
    leads = {"STRING": '"', "NUMBER": "1", '"true"': "t"} | {f'"{lead}"': lead for lead in "{}[],:"}
    for prefix in ("", "[", "[1", "[1 ", '{"a"', '{"a":1', '{"a":1,', "[]"):
        matcher = constrain.compile(constraint, vocabularies.tiny()).matcher()
        assert matcher.advance_bytes(prefix.encode())
        found = explain(matcher)
        for name, lead in leads.items():
            goes_on = name == "NUMBER" and "NUMBER" in found.go_on
            assert matcher.fork().advance_bytes(lead.encode()) == (name in found.begin or goes_on), (prefix, name)
