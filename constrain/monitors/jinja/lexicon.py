"""The lexicon of templates, as in the module `lexer` of jinja2.

The text outside of tags is one lexeme, a STRING, up to the next tag and with the sign that opens it; comments and raw
blocks belong to it. T is kept of it, or R in a raw block, and the bytes that may become something else: `T{`. The
monitor tells where it begins (`resume`).
"""

from __future__ import annotations

import re

from constrain.monitors.lexicon import (
    DIGITS,
    LETTERS,
    QUOTES,
    LexemeRow,
    TableLexicon,
    classes_but,
    free_in_string,
    is_whole,
    short_string,
    spaces,
)
from constrain.monitors.monitor import NAME, NUMBER, SIGN, SPACE, STRING, WORD

TEXT, RAW = b"T", b"R"
OPENED = (b"T{{", b"T{%")  # may go on with a sign that strips white space
SIGNS = b"== != <= >= ** // %}".split()
_IN_NAMES = LETTERS | DIGITS
_ENDRAW_BEGUN = re.compile(rb"R\{(?:%(?:[-+]?\s*(?:e|en|end|endr|endra|endraw(?:\s*(?:[-+]?%?))?)?)?)?")
_ENDRAW = re.compile(rb"R\{%[-+]?\s*endraw\s*[-+]?%\}")


def _short_number(text: bytes) -> bytes:
    """Cut a number to `0`, `0.`, `0.0`, `0e`, `0e0`, or `0x`; b"": the last byte does not belong to it."""
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
    if byte[0] not in DIGITS and byte != b"_":
        return b""
    return {b"0.": b"0.0", b"0e": b"0e0"}.get(before, before or b"0")


def _string_grows(text: bytes, byte: int) -> bool:
    """True if a byte goes on with a string, or with the text outside of tags."""
    if text[:1] not in (TEXT, RAW):
        return not is_whole(text)
    return byte in b"-+" if text in OPENED else len(text) < 4 or text[:2] != b"T{" or text[2:3] == b"#"


def _is_open(text: bytes) -> bool:
    """True if a string, a comment, a raw block or a tag has begun and not ended."""
    return text not in (TEXT, b"T{") if text[:1] in (TEXT, RAW) else not is_whole(text)


def _free_in_string(text: bytes) -> int:
    """Give the classes of bytes that leave a string, or the text outside of tags, as it is."""
    if text in (TEXT, RAW):
        return classes_but(b"{}")
    if text[:1] in (TEXT, RAW):
        return classes_but(b"#") if text == b"T{#" else 0
    return free_in_string(text)


def _short_string(text: bytes) -> bytes:
    """Cut a string, or the text outside of tags."""
    if text[:1] == TEXT:
        return _short_text(text[:-1], text[-1:])
    return _short_raw(text) if text[:1] == RAW else short_string(text)


def _short_text(before: bytes, byte: bytes) -> bytes:
    """Cut the text outside of tags, which was cut before its last byte."""
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
    """Cut a raw block to `R` and the suffix that may still become `{% endraw %}`; to `T` once it has."""
    if _ENDRAW.fullmatch(text):
        return TEXT
    if _ENDRAW_BEGUN.fullmatch(text):
        return re.sub(rb"\s+", b" ", text)
    return b"R{" if text.endswith(b"{") else RAW


LEXICON = TableLexicon(
    __name__,
    {
        SPACE: spaces(b" \t\n\r\f\v\x1c\x1d\x1e\x1f"),
        NAME: LexemeRow(begins=LETTERS, inside=_IN_NAMES, free=WORD),
        NUMBER: LexemeRow(
            begins=DIGITS, grows=lambda text, byte: bool(_short_number(text + bytes((byte,)))), short=_short_number
        ),
        STRING: LexemeRow(
            begins=QUOTES, grows=_string_grows, short=_short_string, free=_free_in_string, is_open=_is_open
        ),
    },
    signs=dict.fromkeys(SIGNS, SIGN),
    undecided={sign[:1] for sign in SIGNS},
)
