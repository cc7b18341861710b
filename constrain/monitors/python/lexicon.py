"""How Python's bytes make lexemes (https://docs.python.org/3/reference/lexical_analysis.html).

A line end and the indentation after it are one lexeme. An f-string is several: each piece up to `{` is one, and the
piece after `}` goes on where the string was (`Monitor.resumed`). Of a string only this is kept: its opening, a dot for
what it contains, and the last bytes if they may be the beginning of its end.
"""

from __future__ import annotations

import re

from constrain.monitors.monitor import (
    APOSTROPHE,
    BACKSLASH,
    BLANK,
    BRACE,
    COMMENT,
    EVERY,
    LINE,
    NAME,
    NEWLINE,
    NUMBER,
    OTHER,
    QUOTE,
    SIGN,
    SPACE,
    STRING,
    WORD,
)

PREFIXES = frozenset(b"r u b f t br rb fr rf tr rt".split())
SIGNS = frozenset(
    b"== != <= >= <> -> := += -= *= /= //= %= @= &= |= ^= >>= <<= **= ** // << >> .. ...".split()
)  # those of more than one byte
FIELD = b"{"  # at the end of a lexeme: an expression of an f-string begins
_LETTERS = frozenset(range(0x80, 0x100)) | frozenset(b"_abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
_DIGITS = frozenset(b"0123456789")
_IN_NAMES = _LETTERS | _DIGITS
_BLANKS = frozenset(b" \t\f")
_BREAKS = frozenset(b"\r\n")
_QUOTES = frozenset(b"'\"")
_OPENING = re.compile(rb"([A-Za-z]*)('''|\"\"\"|'|\")")
_NUMBER = re.compile(
    rb"0[xX][0-9a-fA-F_]*|0[bBoO][0-9_]*|(?:[0-9][0-9_]*\.?[0-9_]*|\.[0-9_]*)(?:[eE][+-]?[0-9_]*)?[jJ]?"
)
_ELSE = (b"el", b"els", b"else")


class PythonLexicon:
    """A `Lexicon`. Keywords are names."""

    def begin(self, byte: int) -> int:
        """See `Lexicon`."""
        if byte in _BLANKS:
            return SPACE
        if byte in _LETTERS:
            return NAME
        if byte in _BREAKS:
            return NEWLINE
        if byte in _DIGITS:
            return NUMBER
        if byte in _QUOTES:
            return STRING
        return COMMENT if byte in b"#\\" else SIGN

    def scan(self, kind: int, text: bytes, byte: int) -> int:
        """See `Lexicon`."""
        if kind == NAME:
            if byte in _IN_NAMES:
                return NAME
            return STRING if byte in _QUOTES and text.lower() in PREFIXES else -1
        if kind == SPACE:
            return SPACE if byte in _BLANKS else -1
        if kind == NEWLINE:
            return NEWLINE if byte in _BLANKS or byte in _BREAKS else -1
        if kind == STRING:
            return -1 if ends(text, byte) else STRING
        if kind == NUMBER:
            return NUMBER if _is_number(text + bytes((byte,))) else -1
        if kind == COMMENT:
            if text[:1] == b"#":
                return -1 if byte in _BREAKS else COMMENT
            return COMMENT if byte in _BREAKS and (text == b"\\" or (text == b"\\\r" and byte == ord("\n"))) else -1
        if kind == OTHER:  # a format
            return -1 if text.endswith(FIELD) or byte == ord("}") else OTHER
        if text == b"." and byte in _DIGITS:
            return NUMBER
        return SIGN if text + bytes((byte,)) in SIGNS else -1

    def keeps(self, kind: int) -> bool:
        """See `Lexicon`."""
        return kind in (NAME, SIGN)

    def short(self, kind: int, text: bytes) -> bytes:
        """See `Lexicon`."""
        if kind == STRING:
            return _short_string(text)
        if kind == NEWLINE:
            return b"\n" + text[max(text.rfind(b"\n"), text.rfind(b"\r")) + 1 :]
        if kind == COMMENT:
            return text[:1] if text[:1] == b"#" else text
        if kind == OTHER:
            return b":{" if text.endswith(FIELD) else b":."
        if kind == NUMBER:
            return text if text[-2:-1] in b"eEl" else re.sub(rb"[0-9_]{2,}", _two_digits, text)
        return b""

    def free(self, kind: int, text: bytes) -> int:
        """See `Lexicon`."""
        if kind == NAME:
            return 0 if len(text) <= 2 and any(prefix.startswith(text.lower()) for prefix in PREFIXES) else WORD
        if kind == STRING:
            return _free_in_string(text)
        if kind == COMMENT:
            return EVERY & ~LINE if text == b"#" else 0
        if kind == OTHER:
            return 0 if text.endswith(FIELD) else EVERY & ~BRACE
        return {SPACE: BLANK, NEWLINE: BLANK | LINE, NUMBER: WORD}.get(kind, 0)

    def folded(self, kind: int, text: bytes) -> bytes:
        """See `Lexicon`."""
        return text

    def is_open(self, kind: int, text: bytes) -> bool:
        """See `Lexicon`."""
        return kind == STRING and not is_whole(text)

    def is_decided(self, kind: int, text: bytes) -> bool:
        """See `Lexicon`. `==` and `:=` mean something else than `=` and `:`."""
        return kind != SIGN or text not in (b"=", b":")


def column(text: bytes) -> int:
    """The column of the text after a line end; tabs go up to the next multiple of 8."""
    at = 0
    for byte in text:
        at = at + 8 - at % 8 if byte == 9 else at + 1 if byte == 32 else 0
    return at


def opening(text: bytes) -> tuple[bytes, bytes, bytes]:
    """(prefix in lower case, quotes, what is kept of the rest) of a string."""
    match = _OPENING.match(text)
    assert match is not None, text
    return match[1].lower(), match[2], text[match.end() :]


def is_formatted(text: bytes) -> bool:
    """Whether a string is an f-string or a template."""
    return text[:1] not in b"'\"" and bool({*opening(text)[0]} & {*b"ft"})


def is_whole(text: bytes) -> bool:
    """Whether a string has ended."""
    _, quotes, rest = opening(text)
    return rest.endswith(quotes) if rest else False


def resumed(text: bytes) -> bytes:
    """The beginning of the piece of an f-string after an expression. text: of an earlier piece."""
    prefix, quotes, _ = opening(text)
    return prefix + quotes + b"."


def ends(text: bytes, byte: int) -> bool:
    """Whether a byte begins another lexeme than the string before it."""
    prefix, quotes, rest = opening(text)
    if rest == quotes and len(quotes) == 1:  # an empty string, or the opening of one in three quotes
        return byte != quotes[0]
    if rest.endswith(quotes):
        return True
    return rest.endswith(FIELD) and byte != ord("{") and bool({*prefix} & {*b"ft"})


def _short_string(text: bytes) -> bytes:
    """What is kept of a string of which all but the last byte was shortened."""
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
    prefix, quotes, rest = opening(text)
    if rest not in (b"", b"."):
        return 0
    taken = (APOSTROPHE if quotes[:1] == b"'" else QUOTE) | BACKSLASH
    return EVERY & ~(taken | BRACE if {*prefix} & {*b"ft"} else taken)


def _is_number(text: bytes) -> bool:
    """Whether a text may begin a number. `1else` is one lexeme: after `1e` only more bytes tell."""
    return _NUMBER.fullmatch(text) is not None or text.endswith(_ELSE)


def _two_digits(match: re.Match[bytes]) -> bytes:
    return match[0][:1] + match[0][-1:]
