"""Constraints that are nested deeply, at any depth of the caller's own stack: a mask, or an error that says so."""

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import constrain

VOCABULARY = constrain.Vocabulary.of_bytes()
GROUPS = 199  # what a pattern may have inside each other


def nested(count: int) -> str:
    return "[" * count + "]" * count


def all_of(count: int) -> str:
    return '{"allOf": [' * count + "{}" + ', {"not": {"const": 3}}]}' * count


CASES: dict[str, Callable[[], Any]] = {
    "optional groups": lambda: constrain.regex("(a" * GROUPS + ")?" * GROUPS),
    "stars of unions": lambda: constrain.regex("(a|b" * GROUPS + ")*" * GROUPS),
    "counted groups": lambda: constrain.regex("(?:a" * GROUPS + "){2,3}" * GROUPS),
    "unions": lambda: constrain.regex("(?:a|" * GROUPS + "b" + ")c" * GROUPS),
    "a pattern of a schema": lambda: constrain.json_schema({"pattern": "^" + "(a|b" * GROUPS + ")*" * GROUPS + "$"}),
    "a terminal": lambda: constrain.grammar("start: T\nT: /" + "(a|b" * GROUPS + ")*" * GROUPS + "/"),
    "groups of Lark": lambda: constrain.grammar("start: " + '("a" ' * 400 + ")?" * 400),
    "groups of GBNF": lambda: constrain.grammar("root ::= " + '("a" ' * 400 + ")?" * 400, format="gbnf"),
    "terminals of terminals": lambda: constrain.grammar(
        "start: T0\n" + "\n".join(f'T{i}: "a" T{i + 1}?' for i in range(500)) + '\nT500: "b"'
    ),
    "a bound": lambda: constrain.json_schema('{"type": "number", "minimum": 0.' + "3" * 3000 + "}"),
    "a whole bound": lambda: constrain.json_schema('{"type": "integer", "maximum": ' + "3" * 3000 + "}"),
    "a constant": lambda: constrain.json_schema('{"const": ' + nested(900) + "}"),
    "items": lambda: constrain.json_schema('{"items": ' * 900 + "{}" + "}" * 900),
    "all of": lambda: constrain.json_schema(all_of(300)),
    "a structural tag": lambda: constrain.tags.structural_tag(
        '{"type": "structural_tag", "format": '
        + '{"type": "sequence", "elements": [' * 300
        + '{"type": "any_text"}'
        + "]}" * 300
        + "}"
    ),
    "parts": lambda: many_unions(400),
}


def many_unions(count: int) -> Any:
    made = constrain.regex("a")
    for i in range(count):
        made = (made | constrain.regex("b" * i)) & constrain.regex("[ab]*")
    return made


def at_depth(depth: int, do: Callable[[], Any]) -> Any:
    return do() if not depth else at_depth(depth - 1, do)


def first_mask(make: Callable[[], Any]) -> str:
    """The name of what comes of it: a mask, or a kind of error."""
    try:
        matcher = constrain.compile(make(), VOCABULARY).matcher()
        matcher.fill_mask(np.zeros(9, np.uint32))
        matcher.advance_bytes(b"a[0.3")
    except constrain.ConstrainError as error:
        return error.message
    return "a mask"


@pytest.mark.parametrize("depth", [0, 300, 600])
@pytest.mark.parametrize("name", list(CASES))
def test_no_other_error(name: str, depth: int) -> None:
    re.purge()  # a pattern that was compiled before needs no stack
    found = at_depth(depth, lambda: first_mask(CASES[name]))
    assert found == "a mask" or "nested too deeply" in found or "takes more than" in found


def test_a_union_of_many_is_made_in_as_many_steps() -> None:
    """Each `|` once read all parts before."""
    made = constrain.regex("a1b+")
    for i in range(2, 1000):
        made = made | constrain.regex(f"a{i}b+")
    assert "reading" not in vars(made)
    matcher = constrain.compile(made, VOCABULARY).matcher()
    assert matcher.advance_bytes(b"a999bb") and matcher.is_accepting()
    assert not constrain.compile(made, VOCABULARY).matcher().advance_bytes(b"a1000b")


@pytest.mark.parametrize("name", list(CASES)[:6])
def test_two_that_are_equal_share_their_states(name: str) -> None:
    assert [first_mask(CASES[name]) for _ in range(2)] == ["a mask", "a mask"]
