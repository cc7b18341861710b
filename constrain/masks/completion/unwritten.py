"""Constraints that name a character which a vocabulary cannot write.

The idea: byte-level vocabularies of a trained tokenizer often lack the bytes that their texts never had: some control
characters, and 0xF1 and 0xF2, with which characters of planes begin that Unicode has not assigned. Such a character
matters to a mask only if some place of the language allows it and no other. Character classes, categories, formats and
JSON treat it like its neighbours, so a constraint has to name it, or an end of a range beside it, as a character or by
an escape. If none does, each text with such characters has a twin without them, and masks that are exact in bytes are
exact in tokens.

Cost: one search for escapes over all texts of the constraint, once for each constraint. What is not understood counts
as naming. Reference: masks that ask for the end by tokens (tests/masks/completion/test_unwritten.py).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from functools import lru_cache
from typing import Any

from constrain.languages.automata.syntax import MAX_CODE_POINT, Chars, Node, Ranges
from constrain.languages.automata.unicode.intervals import contains, union
from constrain.languages.constraints.base import Constraint

HALVES = range(0xD800, 0xDC00)  # the first half of a character that is escaped in two
# PERF: one class of first characters is searched for ten times as fast as alternatives that each begin with one
NAMES = r"""[\\#%{near}](?:
    (?<=[{near}]) | (?:(?<=\\)[xuU]\{{?|(?<=[#%])x)(?P<hexadecimal>[0-9A-Fa-f]+)
    | (?<=\\)(?:(?:o\{{)?(?P<octal>[0-7]{{1,3}})|c(?P<control>.)|N) | (?<=%)import\s+\.
)"""
PLAIN = (int, float, type(None), type)
_ENCODER = json.JSONEncoder(ensure_ascii=False)


def unwritten_ranges(missing: Iterable[int]) -> Ranges:
    """The characters whose encoding begins with some bytes.

    Args:
        missing: Bytes that begin a character, one of ASCII or the first of several.
    """
    return union(*([span] for span in map(_beginning_with, missing)))


def _beginning_with(byte: int) -> tuple[int, int]:
    if byte < 0x80:
        return byte, byte
    for first, bits, low in ((0xF0, 18, 0x10000), (0xE0, 12, 0x800), (0xC0, 6, 0x80)):
        if byte >= first:
            start = (byte - first) << bits
            return max(start, low), min(start + (1 << bits) - 1, MAX_CODE_POINT)
    raise ValueError(f"byte {byte:#x} begins no character")


def names_any(description: Any, unwritten: Ranges) -> bool:
    """True if a text in a constraint, or in what it is made of, names an unwritten character or a neighbour of one.

    Args:
        description: A constraint, or a part of one.
        unwritten: The characters that cannot be written.

    Example:
        >>> import constrain
        >>> from constrain.masks.completion.unwritten import names_any
        >>> [names_any(constrain.regex(pattern), ((4, 4),)) for pattern in (r"[^\\x00-\\x1f]", r"a\\x04", "[^a]")]
        [False, True, False]
    """
    near, names = _neighbourhood(unwritten)
    texts: list[str] = []
    pending = [description]
    met: dict[int, Any] = {}  # keeps what it names, so that nothing else gets its id
    while pending:  # PERF: a schema has hundreds of short texts, and one search over all takes a tenth of the time
        value = pending.pop()
        if id(value) in met:  # PERF: the arguments of 217 tools share their parts, and have 50 times as many paths
            continue
        met[id(value)] = value
        if isinstance(value, str):
            texts.append(value)
        elif isinstance(value, PLAIN):
            pass
        elif isinstance(value, Constraint) and is_dataclass(value):
            pending += value.made_of
        elif isinstance(value, (dict, list)) and (text := _json(value)):  # PERF: a schema, in a tenth of the time
            texts.append(text)
        elif isinstance(value, (dict, Mapping)):
            pending += value
            pending += value.values()
        elif isinstance(value, (list, tuple, set, frozenset)):
            pending += value
        elif isinstance(value, bytes):
            texts.append(value.decode("latin-1"))
        elif isinstance(value, Chars):
            if any(contains(near, end) for span in value.ranges for end in _ends(span)):
                return True
        elif isinstance(value, Node):
            pending += value.args
        elif is_dataclass(value):
            pending += [getattr(value, each.name) for each in fields(value) if each.compare]
        else:
            return True
    text = " ".join(texts)  # where an escape goes on into the next text, that counts as naming
    return any(_is_near(found, near) for found in names.finditer(text))


def _json(value: Any) -> str:
    """A JSON value as text, which has its characters, as themselves or by escapes; "" where it is none."""
    try:
        return _ENCODER.encode(value)
    except (TypeError, ValueError, RecursionError):
        return ""


def _ends(span: tuple[int, int]) -> list[int]:
    """The ends of a range that tell characters apart: nothing lies beyond the first and the last character of all."""
    low, high = span
    return [low] * (low > 0) + [high] * (high < MAX_CODE_POINT)


@lru_cache(maxsize=8)
def _neighbourhood(unwritten: Ranges) -> tuple[Ranges, re.Pattern[str]]:
    """The characters that count as naming, and what finds them and escapes in a text."""
    near = union((max(low - 1, 0), min(high + 1, MAX_CODE_POINT)) for low, high in unwritten)
    spans = "".join(f"{re.escape(chr(low))}-{re.escape(chr(high))}" for low, high in near)
    return near, re.compile(NAMES.format(near=spans), re.DOTALL | re.VERBOSE)


def _is_near(found: re.Match[str], near: Ranges) -> bool:
    """True for a character, and for an escape that stands for one, however many of its digits belong to it."""
    if digits := found["hexadecimal"]:
        readings = [int(digits[:length], 16) for length in (2, 4, 6, 8, len(digits))]
    elif digits := found["octal"]:
        readings = [int(digits[:length], 8) for length in (1, 2, 3)]
    elif control := found["control"]:
        readings = [ord(control) & 31, ord(control)]
    else:
        return True
    return any(reading in HALVES or contains(near, reading) for reading in readings)
