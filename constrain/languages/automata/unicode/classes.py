r"""Character classes: `\d`, `\w`, `\s` and `\p{...}` as `Ranges`.

The idea: Python's classes are computed with Python's `re`, by scanning a text of all code points, so they are exact in
every version of Python. General categories come from `unicodedata`. Scripts and binary properties, which Python lacks,
come from tables.json (written by scripts/make_unicode_tables.py, for the Unicode version of the `regex` package).

Cost: a class is computed at its first use, in 10 to 90 ms, and kept.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable
from functools import cache
from itertools import groupby
from pathlib import Path

import numpy as np

from constrain.languages.automata.syntax import Ranges
from constrain.languages.automata.unicode import intervals

TABLES = Path(__file__).with_name("tables.json")

ASCII_DIGIT: Ranges = ((0x30, 0x39),)
ASCII_WORD: Ranges = ((0x30, 0x39), (0x41, 0x5A), (0x5F, 0x5F), (0x61, 0x7A))
ASCII_SPACE: Ranges = ((0x09, 0x0D), (0x20, 0x20))
NEWLINE: Ranges = ((0x0A, 0x0A),)
# ECMA-262 section 12.3, LineTerminator, and 12.2, WhiteSpace (which also has every character of category Zs)
ECMA_LINE_END: Ranges = ((0x0A, 0x0A), (0x0D, 0x0D), (0x2028, 0x2029))
ECMA_BLANK: Ranges = ((0x09, 0x09), (0x0B, 0x0C), (0x20, 0x20), (0xA0, 0xA0), (0xFEFF, 0xFEFF))

# Long names of general categories (Unicode PropertyValueAliases.txt, gc), loosely spelled.
CATEGORY_NAMES = {
    "other": "C", "control": "Cc", "cntrl": "Cc", "format": "Cf", "unassigned": "Cn", "privateuse": "Co",
    "surrogate": "Cs", "letter": "L", "casedletter": "LC", "lowercaseletter": "Ll", "modifierletter": "Lm",
    "otherletter": "Lo", "titlecaseletter": "Lt", "uppercaseletter": "Lu", "mark": "M", "combiningmark": "M",
    "spacingmark": "Mc", "enclosingmark": "Me", "nonspacingmark": "Mn", "number": "N", "decimalnumber": "Nd",
    "digit": "Nd", "letternumber": "Nl", "othernumber": "No", "punctuation": "P", "punct": "P",
    "connectorpunctuation": "Pc", "dashpunctuation": "Pd", "closepunctuation": "Pe", "finalpunctuation": "Pf",
    "initialpunctuation": "Pi", "otherpunctuation": "Po", "openpunctuation": "Ps", "symbol": "S", "currencysymbol":
    "Sc", "modifiersymbol": "Sk", "mathsymbol": "Sm", "othersymbol": "So", "separator": "Z", "lineseparator": "Zl",
    "paragraphseparator": "Zp", "spaceseparator": "Zs", }  # fmt: skip


@cache
def every_character() -> str:
    """The 0x110000 code points as one text, surrogates included."""
    return np.arange(0x110000, dtype="<u4").tobytes().decode("utf-32-le", "surrogatepass")


@cache
def python_class(letter: str) -> Ranges:
    r"""The characters that `\d`, `\s` or `\w` (letter "d", "s" or "w") matches in a Python `str` pattern."""
    runs = re.compile(rf"\{letter}+").finditer(every_character())
    return intervals.union((match.start(), match.end() - 1) for match in runs)


@cache
def ecma_space() -> Ranges:
    r"""The characters that `\s` matches in ECMA-262 (section 22.2.2.9, CharacterClassEscape :: s)."""
    blank = [
        (c, c) for low, high in python_class("s") for c in range(low, high + 1) if unicodedata.category(chr(c)) == "Zs"
    ]
    return intervals.union(ECMA_BLANK, ECMA_LINE_END, blank)


@cache
def _categories() -> dict[str, Ranges]:
    """Two-letter general category -> characters, as `unicodedata` of this Python has them."""
    pairs: dict[str, list[tuple[int, int]]] = {}
    start = 0
    for name, run in groupby(every_character(), unicodedata.category):
        end = start + sum(1 for _ in run)
        pairs.setdefault(name, []).append((start, end - 1))
        start = end
    return {name: intervals.union(ranges) for name, ranges in pairs.items()}


@cache
def category(name: str) -> Ranges | None:
    """The characters of a general category by short name: `Lu`, `L` (all that begin with L), `LC`. None: unknown."""
    if name == "LC":
        return intervals.union(*(_categories()[cased] for cased in ("Lu", "Ll", "Lt")))
    parts = [ranges for short, ranges in _categories().items() if short == name or short[0] == name]
    return intervals.union(*parts) if parts else None


def loose(name: str) -> str:
    """A property name without case, spaces, hyphens and underscores, for comparison (UAX #44, rule LM3)."""
    return name.replace("_", "").replace("-", "").replace(" ", "").casefold()


@cache
def unicode_property(expression: str) -> Ranges | None:
    r"""Characters of `\p{...}`: `Lu`, `Letter`, `gc=Lu`, `Script=Greek`, `scx=Grek`, `Alphabetic`. None: unknown."""
    key, equals, value = expression.partition("=")
    name = loose(value if equals else key)
    if not equals:
        return _category_loosely(name) or _binary(name)
    kinds: dict[str, Callable[[str], Ranges | None]] = {
        "generalcategory": _category_loosely, "gc": _category_loosely, "script": _script, "sc": _script,
        "scriptextensions": _script_extensions, "scx": _script_extensions,
    }  # fmt: skip
    kind = kinds.get(loose(key))
    return kind(name) if kind else None


def _category_loosely(name: str) -> Ranges | None:
    return category(CATEGORY_NAMES.get(name) or (name.upper() if name == "lc" else name.capitalize()))


def _binary(name: str) -> Ranges | None:
    if name == "any":
        return intervals.ANY
    if name == "ascii":
        return ((0, 0x7F),)
    if name == "assigned":
        return intervals.negate(category("Cn") or ())
    return _parse_spans(_tables()["binary"].get(_tables()["binary_aliases"].get(name, name)))


def _script(name: str) -> Ranges | None:
    return _parse_spans(_tables()["scripts"].get(_tables()["script_aliases"].get(name, name)))


def _script_extensions(name: str) -> Ranges | None:
    full = _tables()["script_aliases"].get(name, name)
    return _parse_spans(_tables()["script_extensions"].get(full)) or _script(full)


@cache
def _tables() -> dict[str, dict[str, str]]:
    """The code points of scripts and binary properties as hexadecimal ranges, `41-5a 5f`; and their aliases."""
    tables: dict[str, dict[str, str]] = json.loads(TABLES.read_text(encoding="utf-8"))
    return tables


def _parse_spans(spans: str | None) -> Ranges | None:
    if spans is None:
        return None
    ends = (span.partition("-") for span in spans.split())
    return intervals.union((int(low, 16), int(high or low, 16)) for low, _, high in ends)
