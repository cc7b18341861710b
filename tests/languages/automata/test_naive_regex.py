"""The oracle itself, against the definitions: every text over a small alphabet, every spelling of a JSON string."""

import itertools
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from constrain.languages.automata.parse.ecma import parse_ecma
from constrain.languages.automata.parse.python import parse_python
from constrain.languages.automata.syntax import (
    ANY_TEXT,
    EMPTY,
    complement,
    concat,
    difference,
    intersect,
    json_string,
    literal,
    literals,
)
from naive_regex import SHORT_ESCAPES, NaiveRegex, members

NODES = {
    "empty": EMPTY,
    "any": ANY_TEXT,
    "words": literals(["", "ab", "abb", "b"]),
    "star": parse_python("(ab|b)*a"),
    "both": intersect(parse_python("a*b*"), parse_python(".{2,3}")),
    "difference": difference(parse_python("[ab]{1,3}"), parse_python(".*bb.*")),
    "nothing in common": intersect(parse_python("a+"), parse_python("b+")),
    "late nothing": concat(parse_python("a+"), intersect(parse_python("ab*"), parse_python(".*bba"))),
    "complement": complement(parse_python("(?s)a.*")),
}


@pytest.mark.parametrize("name", NODES)
def test_viable_prefixes_are_those_of_members(name):
    """Every viable prefix here can be completed within four more characters."""
    regex = NaiveRegex(NODES[name])
    found = members(NODES[name], "abc", 7)
    for length in range(4):
        for letters in itertools.product("abc", repeat=length):
            text = "".join(letters)
            assert regex.matches(text) == (text in found)
            assert regex.viable(text) == any(member.startswith(text) for member in found)
    assert regex.empty() == (not found)


def spellings(character):
    """Every way RFC 8259 section 7 lets a character be written inside a string."""
    if character >= " " and character not in '"\\':
        yield character
    yield from (f"\\{short}" for short, meaning in SHORT_ESCAPES.items() if meaning == character)
    units = character.encode("utf-16-be").hex()
    units = [units[i : i + 4] for i in range(0, len(units), 4)]
    for cases in itertools.product(*({digit, digit.upper()} for digit in "".join(units))):
        digits = "".join(cases)
        yield "".join(f"\\u{digits[i : i + 4]}" for i in range(0, len(digits), 4))


@pytest.mark.parametrize(
    "character", ["a", '"', "\\", "/", "\n", "\x00", "\x7f", "é", "\ud7ff", "\ue000", "\uffff", "🐲", "\U0010ffff"]
)
def test_every_spelling(character):
    regex = NaiveRegex(json_string(literal(character)))
    for spelling in spellings(character):
        text = f'"{spelling}"'
        assert json.loads(text) == character
        assert regex.matches(text)
        assert all(regex.viable(text[:end]) for end in range(len(text)))
    assert not regex.matches(f'"{spelling * 2}"')


@pytest.mark.parametrize(
    "text", ['"', '"a', '"\\', '"\\u', '"\\uD', '"\\ud8', '"\\uD83d', '"\\ud83d\\', '"\\ud83d\\udC', '"\\u00']
)
def test_unfinished_strings_are_viable(text):
    assert NaiveRegex(json_string(ANY_TEXT)).viable(text)


@pytest.mark.parametrize(
    "text", ["a", '"\n', '"\\x', '"\\uG', '"\\udc', '"\\ud83dx', '"\\ud83d\\n', '"\\ud83d\\ue', '"a"b', '"\\uD800"']
)
def test_what_is_no_string_is_not_viable(text):
    assert not NaiveRegex(json_string(ANY_TEXT)).viable(text)


def test_viability_knows_the_value():
    regex = NaiveRegex(json_string(parse_ecma(r"^([a-c]|🐲)x$")))
    for text in ['"', '"a', '"b\\', '"\\u0', '"\\u006', '"\\ud83d', '"\\uD83D\\uDC3', '"\\ud83d\\udc32x', '"a\\u00']:
        assert regex.viable(text), text
    for text in ['"x', '"\\n', '"\\u1', '"\\u0064', '"\\ud83c', '"\\uD83D\\uDD', '"ax\\', '"a\\/', '"axx']:
        assert not regex.viable(text), text


def test_intersection_of_strings():
    both = intersect(json_string(parse_ecma("^a")), json_string(parse_ecma("b$")), complement(literal('"ab"')))
    regex = NaiveRegex(both)
    assert regex.matches('"\\u0061b"')
    assert not regex.matches('"ab"')
    assert not regex.empty()


@given(st.text(max_size=8), st.booleans(), st.sampled_from(["", "\\", '"', "\x1f", "u"]))
def test_strings_as_json(value, ascii_only, noise):
    text = json.dumps(value, ensure_ascii=ascii_only)
    text = text[:2] + noise + text[2:]
    try:
        decoded = json.loads(text)
        valid = isinstance(decoded, str) and not any(0xD800 <= ord(c) < 0xE000 for c in decoded)
    except ValueError:
        valid = False
    assert NaiveRegex(json_string(ANY_TEXT)).matches(text) == valid
    if valid:
        assert NaiveRegex(json_string(literal(decoded))).matches(text)
