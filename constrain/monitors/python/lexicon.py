"""The lexicon of Python (https://docs.python.org/3/reference/lexical_analysis.html). Keywords are names.

A line end and the indentation after it are one lexeme. An f-string is several: each piece up to `{` is one, and the
piece after `}` goes on where the string was (`PythonMonitor.resume`). Of a string only this is kept: its opening, a
dot for what it contains, and the last bytes if they may be the beginning of its end.
"""

from __future__ import annotations

import re
from itertools import product

from constrain.monitors.lexicon import DECIMALS, DIGITS, LETTERS, QUOTES, LexemeRow, TableLexicon, classes_but, spaces
from constrain.monitors.monitor import (
    BLANK,
    COMMENT,
    LINE,
    NAME,
    NEWLINE,
    NUMBER,
    OTHER,
    QUOTED,
    SIGN,
    SPACE,
    STRING,
    WORD,
)

PREFIXES = frozenset(b"r u b f t br rb fr rf tr rt".split())
SIGNS = b"== != <= >= <> -> := += -= *= /= //= %= @= &= |= ^= >>= <<= **= ** // << >> .. ...".split()
FIELD = b"{"  # at the end of a lexeme: an expression of an f-string begins
_BLANKS = b" \t\f"
_BREAKS = b"\r\n"
_OPENING = re.compile(rb"([A-Za-z]*)('''|\"\"\"|'|\")")
_NUMBER = re.compile(
    rb"0[xX][0-9a-fA-F_]*|0[bBoO][0-9_]*|(?:[0-9][0-9_]*\.?[0-9_]*|\.[0-9_]*)(?:[eE][+-]?[0-9_]*)?[jJ]?"
)
_ELSE = (b"el", b"els", b"else")


def column(text: bytes) -> int:
    """Give the column of the text after a line end; tabs go up to the next multiple of 8."""
    at = 0
    for byte in text:
        at = at + 8 - at % 8 if byte == 9 else at + 1 if byte == 32 else 0
    return at


def opening(text: bytes) -> tuple[bytes, bytes, bytes]:
    """Split a string into its prefix in lower case, its quotes, and the rest."""
    match = _OPENING.match(text)
    assert match is not None, text
    return match[1].lower(), match[2], text[match.end() :]


def is_formatted(text: bytes) -> bool:
    """True if a string is an f-string or a template."""
    return text[:1] not in b"'\"" and bool({*opening(text)[0]} & {*b"ft"})


def is_whole(text: bytes) -> bool:
    """True if a string has ended."""
    _, quotes, rest = opening(text)
    return rest.endswith(quotes) if rest else False


def next_piece(text: bytes) -> bytes:
    """Give the beginning of the piece of an f-string after an expression. text: an earlier piece."""
    prefix, quotes, _ = opening(text)
    return prefix + quotes + b"."


def ends(text: bytes, byte: int) -> bool:
    """True if a byte begins another lexeme than the string before it."""
    prefix, quotes, rest = opening(text)
    if rest == quotes and len(quotes) == 1:  # an empty string, or the opening of one in three quotes
        return byte != quotes[0]
    if rest.endswith(quotes):
        return True
    return rest.endswith(FIELD) and byte != ord("{") and bool({*prefix} & {*b"ft"})


def _short_string(text: bytes) -> bytes:
    """Cut a string that was cut before its last byte."""
    prefix, quotes, rest = opening(text)
    opened = prefix + quotes
    quote, last, before = quotes[:1], rest[-1:], rest[:-1]
    if not rest:
        return opened
    if before.endswith(b"\\"):
        formatted = {*prefix} & {*b"ft"}
        if formatted and last == FIELD:
            return opened + b".{"
        return opened + (b".\\N" if formatted and last == b"N" and b"r" not in prefix[:2] else b".")
    if before.endswith(b"\\N") or (before.endswith(FIELD) and last == FIELD):
        return opened + b"."
    if last == quote:
        ended = len(before) - len(before.rstrip(quote))
        return opened + (b"." if before[: len(before) - ended] or len(quotes) == 3 else b"") + quote * (ended + 1)
    if last == b"\\" or (last == FIELD and {*prefix} & {*b"ft"}):
        return opened + b"." + last
    return opened + b"."


def _free_in_string(text: bytes) -> int:
    """Give the classes of bytes that leave a string as it is."""
    prefix, quotes, rest = opening(text)
    if rest not in (b"", b"."):
        return 0
    return classes_but(b"\\" + quotes[:1] + (b"{" if {*prefix} & {*b"ft"} else b""))


def _number_grows(text: bytes, byte: int) -> bool:
    """True if a byte may go on with a number. `1else` is one lexeme: after `1e` only more bytes tell."""
    text += bytes((byte,))
    return _NUMBER.fullmatch(text) is not None or text.endswith(_ELSE)


def _annotation_grows(text: bytes, byte: int) -> bool:
    """True if a byte goes on with a string that is an annotation. `""` is its end: none is in three quotes."""
    if not text:
        return byte in QUOTES
    return (len(text) == 1 or text[-1:] != text[:1]) and byte not in _BREAKS


def _comment_grows(text: bytes, byte: int) -> bool:
    """True if a byte goes on with a comment, or with a backslash and a line end."""
    if text[:1] == b"#":
        return byte not in _BREAKS
    return byte in _BREAKS and (text == b"\\" or (text == b"\\\r" and byte == ord("\n")))


LEXICON = TableLexicon(
    __name__,
    {
        SPACE: spaces(_BLANKS, BLANK),
        NAME: LexemeRow(begins=LETTERS, inside=LETTERS | DIGITS, free=WORD),
        NEWLINE: LexemeRow(
            begins=_BREAKS,
            inside=_BLANKS + _BREAKS,
            short=lambda text: b"\n" + text[max(text.rfind(b"\n"), text.rfind(b"\r")) + 1 :],
            free=BLANK | LINE,
        ),
        NUMBER: LexemeRow(
            begins=DIGITS,
            grows=_number_grows,
            short=lambda text: text if text[-2:-1] in b"eEl" else re.sub(rb"([0-9_])[0-9_]*([0-9_])", rb"\1\2", text),
            free=WORD,
        ),
        STRING: LexemeRow(
            begins=QUOTES,
            grows=lambda text, byte: not ends(text, byte),
            short=_short_string,
            free=_free_in_string,
            is_open=lambda text: not is_whole(text),
        ),
        QUOTED: LexemeRow(  # a string that is an annotation: its text matters
            grows=_annotation_grows,
            is_open=lambda text: not is_whole(text),
        ),
        COMMENT: LexemeRow(
            begins=b"#\\",
            grows=_comment_grows,
            short=lambda text: text[:1] if text[:1] == b"#" else text,
            free=lambda text: classes_but(b"\n") if text == b"#" else 0,
        ),
        OTHER: LexemeRow(  # the format of a field
            grows=lambda text, byte: not text.endswith(FIELD) and byte != ord("}"),
            short=lambda text: b":{" if text.endswith(FIELD) else b":.",
            free=lambda text: 0 if text.endswith(FIELD) else classes_but(b"{}"),
        ),
    },
    signs={**dict.fromkeys(SIGNS, SIGN), **DECIMALS},
    undecided=(b"=", b":"),  # `==` and `:=` mean something else
    prefixes={bytes(letters) for prefix in PREFIXES for letters in product(*zip(prefix, prefix.upper(), strict=True))},
)
