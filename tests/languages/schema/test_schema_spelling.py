"""Spelling: what serializers write is a member of every schema whose values it spells, and what they do not is none.

The table `tests/data/spelling_cases.toml` is asked of the plain recogniser and of the engine. Numbers are compared with
a definition in plain Python, on all short texts and on what programs print for doubles.
"""

import itertools
import json
import math
import random
import re
import struct
from decimal import Decimal
from fractions import Fraction
from functools import cache
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from naive_schema import recognises
from test_schema_numbers import DECIMALS, SCIENTIFIC, random_box, value

import constrain
from constrain.languages.automata import decide
from constrain.languages.automata.lower import SHORT_ESCAPES
from constrain.languages.automata.quotient import left_quotient
from constrain.languages.automata.syntax import ANY_TEXT, EMPTY, json_string, literals
from constrain.languages.schema.sets.digits import is_regular, number_node
from constrain.languages.schema.sets.numbers import NumberBox, has_numbers, holds
from constrain.languages.schema.sets.plain_numbers import plain_number_node
from constrain.languages.vocab.vocabulary import Vocabulary
from tables import table

CASES = table("spelling_cases")["case"]
BYTES = Vocabulary([bytes([byte]) for byte in range(256)] + [None], eos_ids=[256])


def accepts(constraint: constrain.Constraint, text: str) -> bool:
    """By the engine, byte by byte."""
    matcher = constrain.compile(constraint, BYTES).matcher()
    return matcher.advance_bytes(text.encode()) and matcher.is_accepting()


@pytest.mark.parametrize("spelling", ["plain", "any"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_table(case: dict[str, Any], spelling: Any) -> None:
    constraint = constrain.json_schema(case["schema"], spelling=spelling, **case.get("options", {}))
    grammar = constraint.to_grammar()
    for kind in ("plain", "any", "neither"):
        for text in case[kind]:
            expected = kind == "plain" or kind == spelling
            assert (recognises(grammar, text) and constraint.residual_fault(text) is None) == expected, (kind, text)
            assert accepts(constraint, text) == expected, (kind, text)


# --- serializers ------------------------------------------------------------------------------------------------------

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(1 - 10**21, 10**21 - 1),
    st.floats(allow_nan=False, allow_infinity=False),
    TEXTS,
)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4), max_leaves=12
)
LAYOUTS: list[dict[str, Any]] = [
    {},
    {"separators": (",", ":")},
    *({"indent": indent} for indent in (*range(1, 9), "\t")),
    {"indent": 2, "separators": (",", " : ")},
]


def schema_of(found: Any) -> dict[str, Any]:
    """A schema of which the value is an instance, with its keys in their order."""
    if isinstance(found, dict):
        parts = {key: schema_of(item) for key, item in found.items()}
        return {"type": "object", "properties": parts, "required": list(found), "additionalProperties": False}
    if isinstance(found, list):
        return {"type": "array", "prefixItems": [schema_of(item) for item in found], "items": False}
    if isinstance(found, bool) or found is None or isinstance(found, str):
        return {"const": found}
    return {"type": "integer" if isinstance(found, int) else "number"}


@settings(max_examples=60)
@given(VALUES, st.sampled_from(LAYOUTS), st.booleans(), st.booleans())
def test_what_python_dumps_is_accepted(found: Any, layout: dict[str, Any], ascii_only: bool, sort: bool) -> None:
    text = json.dumps(found, ensure_ascii=ascii_only, sort_keys=sort, **layout)
    read = json.loads(text)
    for schema in ({}, schema_of(read), {"const": read}):
        assert accepts(constrain.json_schema(schema), text), schema


@settings(max_examples=30)
@given(st.dictionaries(TEXTS, SCALARS, min_size=2, max_size=5), st.randoms(use_true_random=False))
def test_any_order_of_keys(found: dict[str, Any], choose: random.Random) -> None:
    keys = list(found)
    choose.shuffle(keys)
    text = json.dumps({key: found[key] for key in keys}, indent=2)
    assert accepts(constrain.json_schema(schema_of(found), property_order="any"), text)


# --- numbers ----------------------------------------------------------------------------------------------------------

NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(?:\.([0-9]+))?(?:[eE]([+-]?)([0-9]+))?")


def is_plain_number(text: str) -> bool:
    """The definition of note 0012, read as it stands."""
    found = NUMBER.fullmatch(text)
    if found is None:
        return False
    whole, fraction, sign, exponent = found.groups()
    if exponent is not None:
        zeros = len(exponent) - len(exponent.lstrip("0") or "0")
        one_digit = len(whole) == 1 and whole != "0" and len(fraction or "") <= 16
        size = abs(Fraction(Decimal(text))) if int(exponent) < 400 else Fraction(0)
        is_double = Fraction(Decimal("3e-324")) <= size <= Fraction(Decimal("1.7976931348623158e308"))
        return one_digit and zeros <= 2 and is_double and not (sign == "-" and int(exponent) == 0)
    if fraction is None:
        return len(whole) <= 21
    if whole != "0":
        return len(whole) + len(fraction) <= 17
    digits = fraction.lstrip("0")
    zeros = len(fraction) - len(digits)
    return zeros <= 7 and len(digits) <= 17 if digits else zeros <= 8


def is_plain_integer(text: str) -> bool:
    return re.fullmatch(r"0|-?[1-9][0-9]{0,20}", text) is not None


@cache
def numbers() -> tuple[Any, Any]:
    return plain_number_node(NumberBox()), plain_number_node(NumberBox(multiple=1))


def test_all_short_texts() -> None:
    number, integer = numbers()
    for length in range(1, 6):
        for letters in itertools.product("-+0159.e", repeat=length):
            text = "".join(letters)
            assert decide.matches(number, text) == is_plain_number(text), text
            assert decide.matches(integer, text) == is_plain_integer(text), text


def javascript(number: float) -> str:
    """`Number::toString` (ECMA-262, section 6.1.6.1.20)."""
    sign, digits, exponent = Decimal(repr(number)).normalize().as_tuple()
    assert isinstance(exponent, int)
    if number == 0:
        return "0"
    text, k = "".join(map(str, digits)), len(digits)
    n = exponent + k
    if k <= n <= 21:
        body = text + "0" * (n - k)
    elif 0 < n <= 21:
        body = f"{text[:n]}.{text[n:]}"
    elif -6 < n <= 0:
        body = "0." + "0" * -n + text
    else:
        body = f"{text[0]}{'.' + text[1:] if k > 1 else ''}e{'+' if n > 0 else '-'}{abs(n - 1)}"
    return "-" * sign + body


def java(number: float) -> str:
    """`Double.toString` of a recent JDK, which has the same digits."""
    sign, digits, exponent = Decimal(repr(number)).normalize().as_tuple()
    assert isinstance(exponent, int)
    n = exponent + len(digits)
    if number == 0 or 1e-3 <= abs(number) < 1e7:
        return repr(number)
    text = "".join(map(str, digits))
    return f"{'-' * sign}{text[0]}.{text[1:] or '0'}E{n - 1}"


PRINTERS = [repr, javascript, java, lambda number: f"{number:.17g}", lambda number: f"{number:.16e}"]


@pytest.mark.parametrize("seed", range(5))
def test_what_programs_print_for_a_double(seed: int) -> None:
    choose = random.Random(seed)
    found = [struct.unpack("<d", choose.randbytes(8))[0] for _ in range(400)]
    found += [choose.uniform(-1000, 1000) for _ in range(200)]
    found += [sign * 10.0**exponent for exponent in range(-323, 309, 7) for sign in (1, -1)]
    found += [round(choose.uniform(0, 100), places) for places in range(12) for _ in range(5)]
    found += [0.0, -0.0, 5e-324, 1.7976931348623157e308, 2.0**53, 1e21, 1e-6, 1e-7, 1e16, 123456789012345680000.0]
    number, _ = numbers()
    for each in filter(math.isfinite, found):
        for printer in PRINTERS[: 3 if 0 < abs(each) < 1e-300 else 5] if each else PRINTERS[:3]:
            text = printer(each)
            assert decide.matches(number, text), (printer, text)
            assert is_plain_number(text), text


@settings(max_examples=300)
@given(st.from_regex(r"\A-?(0|[1-9][0-9]{0,25})(\.[0-9]{1,25})?([eE][+-]?[0-9]{1,4})?\Z"))
def test_long_numbers(text: str) -> None:
    number, integer = numbers()
    assert decide.matches(number, text) == is_plain_number(text)
    assert decide.matches(integer, text) == is_plain_integer(text)
    assert not decide.matches(number, text) or math.isfinite(float(text))


@pytest.mark.parametrize("seed", range(40))
def test_sets_of_numbers(seed: int) -> None:
    """Under bounds and divisors: what is plain is a member, and of decimals all that are short enough are plain."""
    choose = random.Random(seed)
    box = random_box(choose)
    assert is_regular(box)
    plain, every = plain_number_node(box), number_node(box)
    integers = box.multiple is not None and Fraction(box.multiple).denominator == 1
    tails = [""] if box.multiple == 1 else ["", ".0"]
    for text in choose.sample(DECIMALS, 120):
        expected = holds(box, value(text))
        if integers:
            digits, point, zeros = text.partition(".")
            expected = expected and point + zeros in tails and digits != "-0"
        assert decide.matches(plain, text) == expected, (box, text)
    for text in SCIENTIFIC:
        assert not decide.matches(plain, text) or decide.matches(every, text), (box, text)
    assert decide.is_empty(plain) == (not has_numbers(box)), box


@settings(max_examples=150)
@given(
    st.sampled_from(["0", "1e-90", "3.14159265358979323846", "1e20", "1e100", "-1e400", "0.1", "-7", "1e-100"]),
    st.sampled_from(["1e-100", "1e-25", "1", "1e30", "1e-20"]),
    st.sampled_from([None, "1", "1e-30", "0.7", "1e50", "3"]),
    st.booleans(),
)
def test_a_set_that_has_numbers_has_plain_ones(low: str, size: str, step: str | None, is_open: bool) -> None:
    ends = Fraction(Decimal(low)), Fraction(Decimal(low)) + Fraction(Decimal(size))
    multiple = None if step is None else Fraction(Decimal(step))
    box = NumberBox(ends[0], is_open, ends[1], is_open, multiple)
    if is_regular(box):
        assert decide.is_empty(plain_number_node(box)) == (not has_numbers(box))


def test_a_float_is_finite() -> None:
    constraint = constrain.json_schema(float)
    assert accepts(constraint, "1.5e308") and not accepts(constraint, "1e309") and not accepts(constraint, "9" * 400)
    assert accepts(constrain.json_schema(float, spelling="any"), "1e999")


# --- strings ----------------------------------------------------------------------------------------------------------


def spellings(c: int) -> dict[str, bool]:
    """The spellings of a character, and which of them are plain."""
    needs = c < 0x20 or chr(c) in '"\\'
    numbered = c < 0x20 or c >= 0x7F
    found = {} if needs else {chr(c): True}
    if c in SHORT_ESCAPES:
        found["\\" + SHORT_ESCAPES[c]] = c != ord("/")
    units = struct.unpack(">" + "H" * (len(chr(c).encode("utf-16-be")) // 2), chr(c).encode("utf-16-be"))
    for form in ("04x", "04X"):
        found["".join(f"\\u{unit:{form}}" for unit in units)] = numbered
    return found


CHARACTERS = [*range(0x180), 0x7FF, 0x800, 0x2028, 0x4E2D, 0xD7FF, 0xE000, 0xFFFD, 0xFFFF, 0x10000, 0x1F600, 0x10FFFF]


@pytest.mark.parametrize("c", CHARACTERS)
def test_characters(c: int) -> None:
    some, one = json_string(ANY_TEXT, True), json_string(literals([chr(c), "x" + chr(c)]), True)
    for text, plain in spellings(c).items():
        for language in (some, one):
            assert decide.matches(language, f'"{text}"') == plain, text
            assert decide.matches(language, f'"x{text}"') == plain, text
            assert (left_quotient(language, f'"{text}"') != EMPTY) == plain, text
        assert decide.matches(json_string(ANY_TEXT), f'"{text}"')


# --- options ----------------------------------------------------------------------------------------------------------


def test_report() -> None:
    def notes(**options: Any) -> dict[str, str]:
        return {entry.keyword: entry.note for entry in constrain.json_schema({"type": "integer"}, **options).report}

    assert "17 significant digits" in notes()["(spelling)"] and notes()["type"] == ""
    assert "(spelling)" not in notes(spelling="any") and "1.0" in notes(spelling="any")["type"]


def test_default_of_whitespace() -> None:
    """Each spelling brings its own."""
    assert constrain.json_schema({}) == constrain.json_schema({}, spelling="plain", whitespace="consistent")
    assert constrain.json_schema({}, spelling="any") == constrain.json_schema({}, spelling="any", whitespace="bounded")
    assert constrain.json_schema({}) != constrain.json_schema({}, spelling="any")


def test_schemas_in_grammars_are_plain() -> None:
    constraint = constrain.grammar('start: "x" %json {"type": "integer"}')
    assert accepts(constraint, "x99") and not accepts(constraint, "x99.0")


def test_depth_is_bounded() -> None:
    """Deep values have no lines of their own, so recursion leads back to states that exist."""
    for depth in (1, 31, 32, 33, 60):
        indented = json.dumps(json.loads("[" * depth + "1" + "]" * depth), indent=1)
        assert accepts(constrain.json_schema({}), indented) == (depth <= 32)
        assert accepts(constrain.json_schema({}), "[" * depth + "]" * depth)
