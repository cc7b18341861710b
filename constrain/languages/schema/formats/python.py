"""The texts that a type of Python has in JSON: `x-python` of a schema, which `read/types.py` writes.

The idea: a type knows its language. `language_of({"type": "Decimal", "ge": "0.5", "decimal_places": 2})` is the
language of the strings that pydantic reads as such a value; every text of it is read, and it holds every text that
pydantic writes, but for what `NARROWED_TYPES` says. `TYPES` is the table.

Cost: a language is made when a schema is read, in microseconds to a few milliseconds, and kept.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from datetime import date, datetime, time
from fractions import Fraction
from functools import lru_cache
from math import ceil, floor
from typing import Any
from zoneinfo import available_timezones

from constrain.languages.automata.parse.ecma import parse_ecma
from constrain.languages.automata.parse.python import parse_python
from constrain.languages.automata.parse.rust import parse_rust
from constrain.languages.automata.syntax import (
    ANY_CHAR,
    ANY_TEXT,
    EMPTY,
    Acyclic,
    Chars,
    Node,
    Ranges,
    alternate,
    chars,
    complement,
    concat,
    intersect,
    literal,
    literals,
    repeat,
)
from constrain.languages.automata.unicode import intervals
from constrain.languages.automata.unicode.classes import every_character, unicode_property
from constrain.languages.schema.formats import python_net, python_time
from constrain.languages.schema.formats.net import ipv4
from constrain.languages.schema.sets.digits import number_node
from constrain.languages.schema.sets.numbers import NumberBox, exact, holds

Options = dict[str, Any]
MAX_BYTES = 4096  # of a limit on bytes that is counted exactly
_DENOMINATORS = 100  # of fractions within bounds
_FINE = 10**15

NARROWED_TYPES = {
    "datetime": "six digits of a second; under a bound with an offset, less than a day from it Z or an offset of "
    "quarters of an hour",
    "time": "six digits of a second; under a bound with an offset, Z or an offset of quarters of an hour",
    "timedelta": "ISO 8601; under bounds as pydantic writes it",
    "Decimal": "under a limit of digits or multiple_of without an exponent",
    "Fraction": f"under bounds with denominators up to {_DENOMINATORS}",
    "Url": "hosts in Punycode and characters that pydantic escapes are not written",
    "EmailStr": "the domain has ASCII letters, digits and hyphens",
    "NameEmail": "the domain has ASCII letters, digits and hyphens",
    "Base64": "padded; of texts those of ASCII",
    "IPv6Network": "no IPv4 address inside",
}


@lru_cache(maxsize=1024)
def _language(text: str) -> Node:
    options = json.loads(text)
    return TYPES[options.pop("type")](options)


def language_of(options: Options) -> Node:
    """The language of a value of `x-python`. Raises KeyError for a type that is not known, ValueError, RegexError."""
    return _language(json.dumps(options, sort_keys=True))


def bounds(options: Options, read: Callable[[str], Any]) -> Options:
    """The bounds among the options, as values of Python."""
    return {kind: read(options[kind]) for kind in ("ge", "gt", "le", "lt") if kind in options}


# ------------------------------------------------------------------------------------------------------- numbers


def _box(options: Options, **more: Any) -> NumberBox:
    """The numbers within bounds."""
    given = {kind: exact(Fraction(value)) for kind, value in bounds(options, str).items()}
    low, low_open = max(((given[each], each == "gt") for each in ("ge", "gt") if each in given), default=(None, False))
    high, high_open = min(
        ((given[each], each == "lt") for each in ("le", "lt") if each in given),
        default=(None, False),
        key=lambda pair: (pair[0], not pair[1]),
    )
    return NumberBox(low=low, low_open=low_open, high=high, high_open=high_open, **more)


def _integer(options: Options) -> Node:
    """A key that is an integer, in one spelling: of two keys with one value Python keeps one, and counts one less."""
    node = number_node(_box(options, multiple=exact(options.get("multiple_of", 1)), plain=True))
    return intersect(node, parse_ecma("0|-?[1-9][0-9]*", whole=True))


def _one_spelling(tail: str) -> str:
    """Decimals of 15 digits, each in one spelling. tail: what stands behind integers, as ".0"."""
    tail = re.escape(tail)
    return rf"0{tail}|-?(?:[1-9][0-9]{{0,7}}(?:{tail}|\.[0-9]{{0,6}}[1-9])|0\.[0-9]{{0,6}}[1-9])"


def _decimal(options: Options) -> Node:
    step = options.get("multiple_of")
    box = _box(options, multiple=None if step is None else exact(Fraction(str(step))))
    node = number_node(box)
    if "integral" in options:  # no two are one double
        return intersect(node, parse_ecma(_one_spelling(options["integral"]), whole=True))
    most, places = options.get("max_digits"), options.get("decimal_places")
    if most is not None or places is not None:
        node = intersect(node, parse_ecma(digits_pattern(most, places), whole=True))
    else:
        if holds(box, 0):
            node = alternate(node, parse_ecma("-?0E[+-][0-9]+", whole=True))
        node = intersect(node, parse_ecma(r"-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]{1,4})?", whole=True))
    return alternate(node, literals(["NaN", "Infinity", "-Infinity"])) if options.get("allow_inf_nan") else node


def digits_pattern(most: int | None, places: int | None) -> str:
    """Decimals of at most so many digits and digits behind the point, as Python's `decimal` counts them."""
    if most is None:
        return rf"-?[0-9]+(?:\.[0-9]{{0,{places}}}0*)?"
    pairs = [(most - places, places)] if places is not None else [(k, most - k) for k in range(most + 1)]
    shapes = []
    for whole, behind in pairs:
        if whole <= 0:  # a zero has one digit before the point
            shapes.append(rf"0\.(?=0*[1-9])[0-9]{{0,{behind}}}0*")
        else:
            shapes.append(rf"(?:0|[1-9][0-9]{{0,{whole - 1}}})(?:\.[0-9]{{0,{behind}}}0*)?")
    return f"-?(?:{'|'.join(shapes)})"


def _fraction(options: Options) -> Node:
    box = _box(options)
    if box.low is None and box.high is None:
        return parse_ecma(r"-?[0-9]+(?:/0*[1-9][0-9]*|\.[0-9]+)?", whole=True)
    # The decimals of a bound that has infinitely many begin a little inside.
    low = None if box.low is None else exact(Fraction(ceil(box.low * _FINE), _FINE))
    high = None if box.high is None else exact(Fraction(floor(box.high * _FINE), _FINE))
    inside = NumberBox(low, box.low_open and low == box.low, high, box.high_open and high == box.high)
    parts = [number_node(inside)] if low is None or high is None or low <= high else []
    for below in range(2, _DENOMINATORS + 1):
        low, high = (None if end is None else exact(Fraction(end) * below) for end in (box.low, box.high))
        parts.append(concat(_between(low, high, box), literal(f"/{below}")))
    return alternate(*parts)


def _between(low: Any, high: Any, box: NumberBox) -> Node:
    """Integers between two ends."""
    first = None if low is None else floor(low) + 1 if box.low_open else ceil(low)
    last = None if high is None else ceil(high) - 1 if box.high_open else floor(high)
    if first is not None and last is not None and first > last:
        return EMPTY
    return number_node(NumberBox(low=first, high=last, multiple=1, plain=True))


_FLOAT = r"(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,2})?"
_WORDS = "|inf|NaN|nan"


def _complex(options: Options) -> Node:
    words = _WORDS if options.get("allow_inf_nan", True) else ""
    one = f"(?:{_FLOAT}{words})"
    bare = f"(?:[+-]?{one}|[+-]?{one}?j|[+-]?{one}[+-]{one}?j)"
    return parse_ecma(rf"{bare}|\({bare}\)", whole=True)


# ------------------------------------------------------------------------------------------------- texts and bytes

_WIDTHS = (((0, 0x7F),), ((0x80, 0x7FF),), ((0x800, 0xD7FF), (0xE000, 0xFFFF)), ((0x10000, 0x10FFFF),))
_UNITS = "b|[kmgtpe](?:i?b(?:it)?)?|bit"


def _bytes(options: Options) -> Node:
    """Texts of so many bytes in UTF-8."""
    encoding = options.get("encoding")
    low, high = options.get("min_length", 0), options.get("max_length")
    if encoding is not None:
        pattern = f"(?:[0-9a-fA-F]{{2}}){_times(low, high)}" if encoding == "hex" else _base64_of(low, high)
        return parse_ecma(pattern, whole=True)
    fewer = complement(_at_most_bytes(low - 1)) if low else ANY_TEXT
    return fewer if high is None else intersect(fewer, _at_most_bytes(high))


def _at_most_bytes(count: int) -> Node:
    if count > MAX_BYTES:
        return repeat(ANY_CHAR, 0, count // len(_WIDTHS))
    labels = tuple(chars(ranges) for ranges in _WIDTHS)
    edges = tuple(
        tuple((width, at + width + 1) for width in range(len(_WIDTHS)) if at + width + 1 <= count)
        for at in range(count + 1)
    )
    return Acyclic(labels, edges, (True,) * (count + 1))


def _base64_of(low: int, high: int | None, some: str = r"[A-Za-z0-9_\-]") -> str:
    """Base64 of so many bytes, with padding; unused bits are zero."""
    tails = "", f"{some}[AQgw]==", f"{some}{{2}}[AEIMQUYcgkosw048]="
    return "|".join(
        f"(?:{some}{{4}}){_times(max(-(-(low - more) // 3), 0), None if high is None else (high - more) // 3)}{tail}"
        for more, tail in enumerate(tails)
        if high is None or (more <= high and -(-(low - more) // 3) <= (high - more) // 3)
    )


def _times(low: int, high: int | None) -> str:
    return f"{{{low},{'' if high is None else high}}}"


def _base64(options: Options) -> Node:
    """Base64, with padding; if ascii, that of ASCII: the first bit of each byte is zero."""
    some = r"[A-Za-z0-9_\-]" if options.get("url") else "[A-Za-z0-9+/]"
    if "min_length" in options or "max_length" in options:
        low, high = options.pop("min_length", 0), options.pop("max_length", None)
        return intersect(parse_ecma(_base64_of(low, high, some), whole=True), _base64(options))
    if not options.get("ascii"):
        return parse_ecma(f"(?:{some}{{4}})*(?:{some}{{2}}==|{some}{{3}}=)?", whole=True)
    one, two = "[A-Za-f][A-HQ-Xg-nw-z0-3]", "[ABEFIJMNQRUVYZcdghklopstwx014589]"
    return parse_ecma(f"(?:{one}{two}{some})*(?:[A-Za-f][AQgw]==|{one}[AEIMQUYcgkosw048]=)?", whole=True)


def _byte_size(options: Options) -> Node:
    return parse_ecma(rf"(?i:[0-9]{{1,30}}(?:\.[0-9]{{1,15}})?(?: ?(?:{_UNITS}))?)", whole=True)


def _string(options: Options) -> Node:
    """A text with conditions that JSON Schema has no keyword for."""
    parts: list[Node] = []
    if "pattern" in options:
        parts.append(_pattern(options["pattern"], options.get("engine", "rust"), options.get("flags", 0)))
    if options.get("ascii_only"):
        parts.append(repeat(chars([(0, 0x7F)])))
    if options.get("stripped"):
        space = unicode_property("White_Space") or ()
        ink = Chars(intervals.negate(space))
        parts.append(alternate(literal(""), ink, concat(ink, ANY_TEXT, ink)))
    parts += [
        predicate(each) if each in PREDICATES else complement(predicate(each[4:])) for each in options.get("is", ())
    ]
    return intersect(*parts)


def _pattern(pattern: str, engine: str, flags: int) -> Node:
    return parse_rust(pattern) if engine == "rust" else parse_python(pattern, flags=flags, anywhere=True)


PREDICATES = ("isdigit", "isdecimal", "isnumeric", "isalpha", "isalnum", "isspace", "isascii", "isprintable", "islower",
              "isupper")  # fmt: skip


@lru_cache(maxsize=len(PREDICATES))
def predicate(name: str) -> Node:
    """The texts of which a method of `str` says yes."""
    if name in ("islower", "isupper"):
        titles = intervals.subtract(_which("istitle"), _which("isupper"))
        others = _which("isupper" if name == "islower" else "islower")
        free = repeat(Chars(intervals.negate(intervals.union(titles, others))))
        return concat(free, Chars(_which(name)), free)
    return repeat(Chars(_which(name)), 0 if name in ("isascii", "isprintable") else 1)


def _which(method: str) -> Ranges:
    """The characters of which a method of `str` says yes."""
    return intervals.union((ord(each), ord(each)) for each in filter(getattr(str, method), every_character()))


# --------------------------------------------------------------------------------------------------- the table

_CARDS = "4(?:[0-9]{12}|[0-9]{15}|[0-9]{18})|5[1-5][0-9]{14}|3[47][0-9]{13}|(?!4|5[1-5]|3[47])[0-9]{12,19}"


def _payment_card(options: Options) -> Node:
    """Numbers of payment cards: the length of their brand, and Luhn's check digit (ISO/IEC 7812-1, annex B)."""
    return intersect(parse_ecma(_CARDS, whole=True), alternate(*map(_luhn, range(12, 20))))


def _luhn(length: int) -> Node:
    """A number of digits that passes Luhn's check: a sum that is a multiple of ten, every other digit counted twice."""
    numbers = {(0, 0): 0}  # the place of each state: (digits so far, their sum modulo ten)
    edges = []
    for place in range(length):
        for total in range(10) if place else (0,):
            moves = []
            for digit in range(10):
                counted = sum(divmod(2 * digit, 10)) if (length - place) % 2 == 0 else digit
                after = place + 1, (total + counted) % 10
                if place + 1 < length or after[1] == 0:
                    moves.append((digit, numbers.setdefault(after, 1 + 10 * place + after[1])))
            edges.append(tuple(moves))
    return Acyclic(tuple("0123456789"), (*edges, ()), (False,) * len(edges) + (True,))


def _uuid(options: Options) -> Node:
    version = options.get("version")
    middle = "H{4}-H{4}" if version is None else f"{version}H{{3}}-[89abAB]H{{3}}"
    return parse_ecma(f"H{{8}}-H{{4}}-{middle}-H{{12}}".replace("H", "[0-9a-fA-F]"), whole=True)


def _any_of(*makers: Callable[[], Node]) -> Callable[[Options], Node]:
    return lambda options: alternate(*(make() for make in makers))


def _url(options: Options) -> Node:
    schemes = options.get("schemes")
    return python_net.url(
        None if schemes is None else tuple(sorted(schemes)),
        **{name: bool(options.get(name)) for name in ("hosts", "empty_host", "hierarchical", "default_port")},
    )


TYPES: dict[str, Callable[[Options], Node]] = {
    "date": lambda options: python_time.dates(bounds(options, date.fromisoformat)),
    "time": lambda options: python_time.times(bounds(options, time.fromisoformat), options.get("zone")),
    "datetime": lambda options: python_time.datetimes(bounds(options, datetime.fromisoformat), options.get("zone")),
    "timedelta": lambda options: python_time.timedeltas(bounds(options, python_time.timedelta_of)),
    "int": _integer,
    "Decimal": _decimal,
    "Fraction": _fraction,
    "complex": _complex,
    "str": _string,
    "bytes": _bytes,
    "Base64": _base64,
    "ByteSize": _byte_size,
    "PaymentCardNumber": _payment_card,
    "UUID": _uuid,
    "IPv6Address": _any_of(python_net.ipv6_address),
    "IPv4Interface": _any_of(lambda: python_net.interface(True)),
    "IPv6Interface": _any_of(lambda: python_net.interface(False)),
    "IPv4Network": _any_of(python_net.ipv4_network),
    "IPv6Network": _any_of(python_net.ipv6_network),
    "IPvAnyAddress": _any_of(ipv4, python_net.ipv6_address),
    "IPvAnyInterface": _any_of(lambda: python_net.interface(True), lambda: python_net.interface(False)),
    "IPvAnyNetwork": _any_of(python_net.ipv4_network, python_net.ipv6_network),
    "ZoneInfo": lambda options: literals(available_timezones()),
    "EmailStr": _any_of(python_net.email),
    "NameEmail": _any_of(python_net.name_email),
    "Url": _url,
}
"""Name → the function that makes the language of its options."""
