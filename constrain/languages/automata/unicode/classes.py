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
from collections.abc import Callable, Iterator
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
# The classes of POSIX in the C locale, which are those of Rust's regexes
POSIX: dict[str, Ranges] = {
    "alnum": ((0x30, 0x39), (0x41, 0x5A), (0x61, 0x7A)), "alpha": ((0x41, 0x5A), (0x61, 0x7A)), "ascii": ((0, 0x7F),),
    "blank": ((0x09, 0x09), (0x20, 0x20)), "cntrl": ((0, 0x1F), (0x7F, 0x7F)), "digit": ASCII_DIGIT,
    "graph": ((0x21, 0x7E),), "lower": ((0x61, 0x7A),), "print": ((0x20, 0x7E),),
    "punct": ((0x21, 0x2F), (0x3A, 0x40), (0x5B, 0x60), (0x7B, 0x7E)), "space": ASCII_SPACE,
    "upper": ((0x41, 0x5A),), "word": ASCII_WORD, "xdigit": ((0x30, 0x39), (0x41, 0x46), (0x61, 0x66)),
}  # fmt: skip
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


def _characters(end: int) -> str:
    return np.arange(end, dtype="<u4").tobytes().decode("utf-32-le", "surrogatepass")


@cache
def every_character() -> str:
    """The 0x110000 code points as one text, surrogates included."""
    return _characters(0x110000)


@cache
def python_class(letter: str) -> Ranges:
    r"""The characters that `\d`, `\s` or `\w` (letter "d", "s" or "w") matches in a Python `str` pattern.

    PERF: white space stands below U+4000: the first `\s` of a process took 16 ms among all characters.
    """
    runs = re.compile(rf"\{letter}+").finditer(_characters(0x4000) if letter == "s" else every_character())
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


@cache
def loose_property(expression: str, rust: bool = False) -> Ranges | None:
    r"""Characters of `\p{...}` as the `regex` package, or Rust, reads it. None: unknown.

    More than `unicode_property`: scripts by their name alone, `Is` before names; of `regex`, but not of Rust, also
    blocks, `In` before them, and POSIX's names.
    """
    key, separator, value = expression.replace(":", "=").partition("=")
    key, value = loose(key), loose(value)
    if separator and key in ("block", "blk") and not rust:
        return _block(value)
    if separator and value in ("yes", "y", "true", "t", "no", "n", "false", "f"):
        ranges = loose_property(key, rust)
        return ranges if ranges is None or value[0] in "yt" else intervals.negate(ranges)
    if separator:
        return unicode_property(f"{key}={value}")
    return next(filter(None, _meanings(key, rust)), None)


def _meanings(name: str, rust: bool) -> Iterator[Ranges | None]:
    """Yield what a loosely spelled name may mean; the first that is known counts."""
    yield category("LC") if name == "l&" else _category_loosely(name)
    yield _script(name)
    yield None if rust else _block(name)
    yield _binary(name)
    yield None if rust else posix_on_unicode(name)
    if name.startswith("is"):
        yield from _meanings(name[2:], rust)
    if name.startswith("in") and not rust:
        yield _block(name[2:])


def posix_on_unicode(name: str) -> Ranges | None:
    """A class of POSIX, on all of Unicode (UTS #18, annex C)."""
    alphabetic, decimal = _binary("alphabetic") or (), category("Nd") or ()
    if name == "alnum":
        return intervals.union(alphabetic, decimal)
    if name == "xdigit":
        return intervals.union(_binary("hexdigit") or (), decimal)
    if name == "posixpunct":
        return intervals.union(category("P") or (), intervals.subtract(category("S") or (), alphabetic))
    if name in ("posixdigit", "posixxdigit"):
        return POSIX[name[5:]]
    if name == "posixalnum":
        return intervals.union(alphabetic, ASCII_DIGIT)
    if name == "blank":
        return intervals.union(POSIX["blank"], category("Zs") or ())
    if name == "word":
        joiners = _binary("joincontrol") or ()
        return intervals.union(alphabetic, category("M") or (), decimal, category("Pc") or (), joiners)
    if name in ("graph", "print"):
        hidden = intervals.union(*(category(short) or () for short in ("Cc", "Cn")), _binary("whitespace") or ())
        blank = category("Zs") or () if name == "print" else ()
        return intervals.union(intervals.negate(hidden), blank)
    return None


def posix_class(name: str) -> Ranges | None:
    """Characters of `[:name:]` as the `regex` package reads it: on all of Unicode, but for digits. None: unknown."""
    short = loose(name)
    return loose_property(f"posix{short}" if short in ("alnum", "digit", "punct", "xdigit") else name)


def _block(name: str) -> Ranges | None:
    return _parse_spans(_tables()["blocks"].get(name))


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
