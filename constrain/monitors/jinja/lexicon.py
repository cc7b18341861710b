"""How the bytes of a template make lexemes, as in the module `lexer` of jinja2.

What stands outside of tags is one lexeme up to the next tag, with what opens it: comments and raw blocks belong to
it. It is a STRING whose kept text is T, or R in a raw block, and the bytes that may become something else: `T{`. The
monitor says where it begins (`resumed`). Of other strings and of numbers only what `scan` needs is kept.
"""

from __future__ import annotations

import re

from constrain.monitors.monitor import (
    APOSTROPHE,
    BACKSLASH,
    BLANK,
    BRACE,
    EVERY,
    LINE,
    NAME,
    NUMBER,
    PUNCTUATION,
    QUOTE,
    SIGN,
    SPACE,
    STRING,
    WORD,
)

TEXT, RAW = b"T", b"R"
OPENED = (b"T{{", b"T{%")  # may go on with a sign that strips white space
SIGNS = frozenset(b"== != <= >= ** // %}".split())  # those of more than one byte
UNDECIDED = frozenset(sign[:1] for sign in SIGNS)
_SPACES = frozenset(b" \t\n\r\f\v")
_DIGITS = frozenset(b"0123456789")
_LETTERS = frozenset(range(0x80, 0x100)) | frozenset(b"_abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
_IN_NAMES = _LETTERS | _DIGITS
_QUOTES = frozenset(b"'\"")
_ENDRAW_BEGUN = re.compile(rb"R\{(?:%(?:[-+]?\s*(?:e|en|end|endr|endra|endraw(?:\s*(?:[-+]?%?))?)?)?)?")
_ENDRAW = re.compile(rb"R\{%[-+]?\s*endraw\s*[-+]?%\}")


class JinjaLexicon:
    """A `Lexicon`."""

    def begin(self, byte: int) -> int:
        """See `Lexicon`."""
        if byte in _SPACES:
            return SPACE
        if byte in _LETTERS:
            return NAME
        if byte in _DIGITS:
            return NUMBER
        return STRING if byte in _QUOTES else SIGN

    def scan(self, kind: int, text: bytes, byte: int) -> int:
        """See `Lexicon`."""
        if kind == NAME:
            return NAME if byte in _IN_NAMES else -1
        if kind == SPACE:
            return SPACE if byte in _SPACES else -1
        if kind == NUMBER:
            return NUMBER if _short_number(text + bytes((byte,))) else -1
        if kind == STRING:
            if text[:1] in (TEXT, RAW):
                goes_on = byte in b"-+" if text in OPENED else len(text) < 4 or text[:2] != b"T{" or text[2:3] == b"#"
            else:
                goes_on = not _is_whole(text)
            return STRING if goes_on else -1
        return SIGN if text + bytes((byte,)) in SIGNS else -1

    def keeps(self, kind: int) -> bool:
        """See `Lexicon`."""
        return kind in (NAME, SIGN)

    def short(self, kind: int, text: bytes) -> bytes:
        """See `Lexicon`."""
        if kind == NUMBER:
            return _short_number(text)
        if kind != STRING:
            return b""
        if text[:1] == TEXT:
            return _short_text(text[:-1], text[-1:])
        return _short_raw(text) if text[:1] == RAW else _short_string(text)

    def free(self, kind: int, text: bytes) -> int:
        """See `Lexicon`."""
        if kind == STRING:
            if text in (TEXT, RAW):
                return EVERY & ~BRACE
            if text[:1] in (TEXT, RAW):
                return EVERY & ~PUNCTUATION if text == b"T{#" else 0
            if _is_whole(text) or text.endswith(b"\\"):
                return 0
            return EVERY & ~(BACKSLASH | (APOSTROPHE if text[:1] == b"'" else QUOTE))
        return {NAME: WORD, SPACE: BLANK | LINE}.get(kind, 0)

    def folded(self, kind: int, text: bytes) -> bytes:
        """See `Lexicon`."""
        return text

    def is_open(self, kind: int, text: bytes) -> bool:
        """See `Lexicon`."""
        if kind != STRING:
            return False
        return text not in (TEXT, b"T{") if text[:1] in (TEXT, RAW) else not _is_whole(text)

    def is_decided(self, kind: int, text: bytes) -> bool:
        """See `Lexicon`."""
        return kind != SIGN or text not in UNDECIDED


def _short_number(text: bytes) -> bytes:
    """What is kept of a number: `0`, `0.`, `0.0`, `0e`, `0e0`, or `0x`; b"": the last byte is none of it."""
    before, byte = text[:-1], text[-1:]
    if before in (b"", b"0") and byte in b".eE":
        return b"0" + byte.lower()
    if before == b"0" and byte in b"xXbBoO":
        return b"0x"
    if before == b"0x":
        return before if byte[0] in _IN_NAMES else b""
    if before == b"0.0" and byte in b"eE":
        return b"0e"
    if before == b"0e" and byte in b"+-":
        return b"0e0"
    if byte[0] not in _DIGITS and byte != b"_":
        return b""
    return {b"0.": b"0.0", b"0e": b"0e0"}.get(before, before or b"0")


def _is_whole(text: bytes) -> bool:
    """Whether a string has ended."""
    return len(text) > 1 and text[-1:] == text[:1]


def _short_string(text: bytes) -> bytes:
    """What is kept of a string of which all but the last byte was shortened: a quote, and what it may end with."""
    if len(text) == 1 or text[-2:-1] == b"\\":
        return text[:1]
    return text[:1] + (text[-1:] if text[-1] == text[0] or text[-1:] == b"\\" else b"")


def _short_text(before: bytes, byte: bytes) -> bytes:
    """What is kept of the text outside of tags with one more byte."""
    if before == b"T{#":
        return b"T{##" if byte == b"#" else before
    if before == b"T{##":
        return TEXT if byte == b"}" else before if byte == b"#" else b"T{#"
    if before == b"T{" and byte in b"{%#":
        return before + byte
    if before in OPENED:
        return before + b"-"
    return b"T{" if byte == b"{" else TEXT


def _short_raw(text: bytes) -> bytes:
    """What is kept of a raw block: what may become its end, after which it is text."""
    if _ENDRAW.fullmatch(text):
        return TEXT
    if _ENDRAW_BEGUN.fullmatch(text):
        return re.sub(rb"\s+", b" ", text)
    return b"R{" if text.endswith(b"{") else RAW
