"""Keywords about single values: types, constants, numbers, strings (Validation 2020-12, sections 6.1 to 6.3 and 7)."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from typing import Any

from constrain.errors import ConstrainError, RegexError
from constrain.languages.automata.counts import MANY
from constrain.languages.automata.parse.ecma import parse_ecma
from constrain.languages.automata.syntax import Node
from constrain.languages.schema.formats.bounds import format_language
from constrain.languages.schema.formats.registry import CHECKED_LATER, FORMATS
from constrain.languages.schema.read.dialect import UNSTATED
from constrain.languages.schema.read.keywords_python import names_type
from constrain.languages.schema.read.reading import TYPES, SubschemaReading
from constrain.languages.schema.sets.digits import few_numbers, is_regular
from constrain.languages.schema.sets.formula import KnownSet
from constrain.languages.schema.sets.json_types import Json
from constrain.languages.schema.sets.numbers import NumberBox, Rational, exact, is_number
from constrain.languages.schema.sets.values import is_encodable, set_of_values
from constrain.limits import tick

NAMED_TYPES = TYPES | {"integer"}
ALONE = {name: frozenset({"number" if name == "integer" else name}) for name in NAMED_TYPES}


def type_(reading: SubschemaReading, value: Json) -> None:
    """One type or a list of types."""
    if type(value) is str and value in ALONE and not reading.site.dialect.nullable:  # PERF: nearly all
        reading.integer, reading.types = value == "integer", ALONE[value]
        return
    names = [value] if isinstance(value, str) else value
    if not isinstance(names, list) or not names or not all(isinstance(name, str) for name in names):
        raise reading.site.error("type is a name or a list of names", f"use {', '.join(sorted(NAMED_TYPES))}", "type")
    for name in names:
        if name not in NAMED_TYPES:
            fix = f"use {', '.join(sorted(NAMED_TYPES))}"
            raise reading.site.error(f"type {name!r} does not exist", fix, "type")
    reading.integer = "integer" in names and "number" not in names
    if reading.site.dialect.nullable and reading.raw.get("nullable") is True:
        names = [*names, "null"]
    reading.types = frozenset("number" if name == "integer" else name for name in names)


def enum(reading: SubschemaReading, value: Json) -> None:
    """One of the values."""
    if not isinstance(value, list):
        raise reading.site.error("enum is a list of values", 'write "enum": [...]', "enum")
    _constants(reading, value, "enum")


def const(reading: SubschemaReading, value: Json) -> None:
    """One value, and no other."""
    _constants(reading, [value], "const")


def _constants(reading: SubschemaReading, values: list[Any], keyword: str) -> None:
    """Add the set of these values."""
    for _ in values:
        tick()
    try:
        normal = set_of_values(values, reading.document.constant)
    except ConstrainError as error:
        raise reading.site.error(f"{keyword}: {error.message}", error.fix, keyword) from error
    except (ValueError, TypeError, AttributeError) as error:
        raise reading.site.error(
            f"{keyword} holds what is not a JSON value: {error}", "use JSON values", keyword
        ) from error
    reading.formulas.append(KnownSet(normal))


def check_text(reading: SubschemaReading, text: Json, keyword: str) -> str:
    """The value as a text. Raises SchemaError for other types and for lone surrogates, which UTF-8 cannot spell."""
    if not isinstance(text, str):
        raise reading.site.error(f"{keyword}: {text!r} is not a text", "use a text", keyword)
    if not text.isascii() and not is_encodable(text):
        fault = f"{keyword}: {text!r} holds half of a surrogate pair, which is no character"
        raise reading.site.error(fault, "write the whole pair", keyword)
    return text


# ------------------------------------------------------------------------------------------------------- numbers


def number_value(reading: SubschemaReading, keyword: str, value: Json) -> Rational:
    """The exact value of a numeric keyword. Raises SchemaError if it is not a number."""
    if not is_number(value):
        raise reading.site.error(f"{keyword} is a number, not {value!r}", f"write a number after {keyword}", keyword)
    try:
        return exact(value)
    except ConstrainError as error:
        raise reading.site.error(f"{keyword}: {error.message}", error.fix, keyword) from error
    except ValueError as error:
        raise reading.site.error(f"{keyword}: {error}", f"write a number after {keyword}", keyword) from error


def minimum(reading: SubschemaReading, value: Json) -> None:
    """The least number; excluded under draft 4's `exclusiveMinimum: true`."""
    strict = reading.raw.get("exclusiveMinimum") is True
    reading.numbers.append(NumberBox(low=number_value(reading, "minimum", value), low_open=strict))


def maximum(reading: SubschemaReading, value: Json) -> None:
    """The largest number; excluded under draft 4's `exclusiveMaximum: true`."""
    strict = reading.raw.get("exclusiveMaximum") is True
    reading.numbers.append(NumberBox(high=number_value(reading, "maximum", value), high_open=strict))


def _is_draft4_flag(reading: SubschemaReading, keyword: str, value: Json) -> bool:
    """True if the value is a boolean, as draft 4 has it. Later drafts have numbers; without `$schema` either may be."""
    dialect = reading.site.dialect
    if isinstance(value, bool) and (dialect.boolean_bounds or dialect is UNSTATED):
        return True
    if dialect.boolean_bounds:
        raise reading.site.error(
            f"{keyword} is true or false in draft 4, not {value!r}", "state a later $schema", keyword
        )
    return False


def exclusiveMinimum(reading: SubschemaReading, value: Json) -> None:
    """Numbers are greater than this."""
    if not _is_draft4_flag(reading, "exclusiveMinimum", value):
        reading.numbers.append(NumberBox(low=number_value(reading, "exclusiveMinimum", value), low_open=True))


def exclusiveMaximum(reading: SubschemaReading, value: Json) -> None:
    """Numbers are less than this."""
    if not _is_draft4_flag(reading, "exclusiveMaximum", value):
        reading.numbers.append(NumberBox(high=number_value(reading, "exclusiveMaximum", value), high_open=True))


def multipleOf(reading: SubschemaReading, value: Json) -> None:
    """Numbers are multiples of a positive number. The finished text is checked if there is no small automaton."""
    step = number_value(reading, "multipleOf", value)
    if step <= 0:
        raise reading.site.error(f"multipleOf is greater than 0, not {value}", "write a positive number", "multipleOf")
    box = NumberBox(multiple=step)
    beside = (("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum"))
    ends = [
        next(
            (number_value(reading, name, reading.raw[name]) for name in names if is_number(reading.raw.get(name))), None
        )
        for names in beside
    ]
    if not is_regular(box) and few_numbers(box._replace(low=ends[0], high=ends[1])) is None:
        note = f"multiples of {Fraction(step)} have no small automaton: checked when the value is complete"
        reading.document.residuals.append((reading.site, "multipleOf", note))
    reading.numbers.append(box)


# ------------------------------------------------------------------------------------------------------- strings


def count_value(reading: SubschemaReading, keyword: str, value: Json) -> int:
    """The value of a keyword that counts: a non-negative integer (1.0 is one). Raises SchemaError for others."""
    number = number_value(reading, keyword, value)
    if not isinstance(number, int) or number < 0:
        raise reading.site.error(f"{keyword} is a non-negative integer, not {value}", "write 0, 1, 2, ...", keyword)
    return min(number, MANY)


def minLength(reading: SubschemaReading, value: Json) -> None:
    """The least number of characters (code points)."""
    reading.length = (count_value(reading, "minLength", value), reading.length[1])


def maxLength(reading: SubschemaReading, value: Json) -> None:
    """The largest number of characters (code points)."""
    reading.length = (reading.length[0], count_value(reading, "maxLength", value))


def pattern(reading: SubschemaReading, value: Json) -> None:
    """An ECMA-262 pattern that is found somewhere in the text."""
    reading.texts.append(pattern_value(reading, "pattern", value))


def pattern_value(reading: SubschemaReading, keyword: str, value: Json) -> Node:
    """The language of texts in which a pattern is found. Raises SchemaError for malformed patterns."""
    if not isinstance(value, str):
        raise reading.site.error(f"{keyword} is a regular expression, not {value!r}", "write a text", keyword)
    try:
        return pattern_node(value)
    except RegexError as error:
        place = (error.place or "").replace("\n", "\n     ")
        raise reading.site.error(
            f"{keyword} {value!r}: {error.message}" + (f"\n     {place}" if place else ""), error.fix, keyword
        ) from error


def format_(reading: SubschemaReading, value: Json) -> None:
    """A known format is asserted, unless `formats="annotate"`, or `x-python` says more; others are annotations."""
    if not isinstance(value, str):
        raise reading.site.error(f"format is a name, not {value!r}", "write the name of a format", "format")
    if value not in FORMATS:
        reading.document.unknown.append((reading.site, "format"))
    elif reading.document.options.formats == "assert" and not names_type(reading.raw):
        reading.texts.append(format_language(value))
        if value in CHECKED_LATER:
            reading.document.residuals.append((reading.site, "format", CHECKED_LATER[value]))


@lru_cache(maxsize=8192)
def pattern_node(pattern: str) -> Node:
    """The texts in which a pattern is found (Validation 2020-12, section 6.3.3); remembered. Raises RegexError."""
    return parse_ecma(pattern)
