"""How SQL's bytes make lexemes (https://sqlite.org/syntax/comment-syntax.html, https://sqlite.org/lang_keywords.html)."""

from __future__ import annotations

from constrain.monitors.monitor import (
    APOSTROPHE,
    BLANK,
    COMMENT,
    EVERY,
    LINE,
    NAME,
    NUMBER,
    OTHER,
    PUNCTUATION,
    QUOTE,
    QUOTED,
    SIGN,
    SPACE,
    STRING,
    WORD,
)

_SPACES = frozenset(b" \t\n\f\r")
_LETTERS = frozenset(range(0x80, 0x100)) | frozenset(b"_abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
_DIGITS = frozenset(b"0123456789")
_IN_NAMES = _LETTERS | _DIGITS | frozenset(b"$")
_IN_NUMBERS = _LETTERS | _DIGITS | frozenset(b".")
_CLOSING = {ord('"'): ord('"'), ord("`"): ord("`"), ord("["): ord("]")}
_VARIABLES = frozenset(b"?:@$#")
_DASH, _SLASH, _STAR, _DOT, _APOSTROPHE, _NEWLINE = b"-/*.'\n"


class SqlLexicon:
    """A `Lexicon`. Names and keywords are one, and are folded to lower case as SQLite does: ASCII only."""

    def begin(self, byte: int) -> int:
        """See `Lexicon`."""
        if byte in _SPACES:
            return SPACE
        if byte in _LETTERS:
            return NAME
        if byte in _DIGITS:
            return NUMBER
        if byte == _APOSTROPHE:
            return STRING
        if byte in _CLOSING:
            return QUOTED
        return OTHER if byte in _VARIABLES else SIGN

    def scan(self, kind: int, text: bytes, byte: int) -> int:
        """See `Lexicon`."""
        if kind == NAME:
            if byte in _IN_NAMES:
                return NAME
            return STRING if byte == _APOSTROPHE and text in (b"x", b"X") else -1
        if kind == SPACE:
            return SPACE if byte in _SPACES else -1
        if kind == QUOTED and not text:  # where only names may stand, these are names too (`SqlMonitor.resumed`)
            return QUOTED if byte == _APOSTROPHE else -1
        if kind in (STRING, QUOTED):
            return kind if _in_quotes(text, byte) else -1
        if kind == NUMBER:
            return NUMBER if byte in _IN_NUMBERS else -1
        if kind == OTHER:
            return OTHER if byte in _IN_NAMES or byte == ord(":") else -1
        if kind == COMMENT:
            return -1 if _is_whole(text) else COMMENT
        if text == b"." and byte in _DIGITS:
            return NUMBER
        return COMMENT if (text == b"-" and byte == _DASH) or (text == b"/" and byte == _STAR) else -1

    def keeps(self, kind: int) -> bool:
        """See `Lexicon`."""
        return kind in (NAME, QUOTED, SIGN)

    def short(self, kind: int, text: bytes) -> bytes:
        """See `Lexicon`."""
        if kind == STRING:
            return b"'" if _is_within(text) else b"''"
        if kind != COMMENT:
            return b""
        if text[:1] == b"-":
            return b"--\n" if text.endswith(b"\n") else b"--"
        if _is_whole(text):
            return b"/**/"
        return text if len(text) == 2 else b"/**" if text.endswith(b"*") else b"/*x"

    def free(self, kind: int, text: bytes) -> int:
        """See `Lexicon`."""
        if kind == NAME:
            return 0 if text in (b"x", b"X") else WORD
        if kind == STRING:
            return EVERY & ~APOSTROPHE if _is_within(text) else 0
        if kind == QUOTED and _is_within(text):
            return EVERY & ~{b'"': QUOTE, b"'": APOSTROPHE}.get(text[:1], PUNCTUATION)
        if kind == COMMENT and not _is_whole(text):
            return EVERY & ~(LINE if text[:1] == b"-" else PUNCTUATION)
        if kind in (NUMBER, OTHER):
            return WORD
        return BLANK | LINE if kind == SPACE else 0

    def folded(self, kind: int, text: bytes) -> bytes:
        """See `Lexicon`."""
        if kind == NAME:
            return text.lower()
        inside = text[1:] if _is_within(text) else text[1:-1]
        if text[:1] != b"[":
            inside = inside.replace(text[:1] * 2, text[:1])
        return inside.lower()

    def is_open(self, kind: int, text: bytes) -> bool:
        """See `Lexicon`."""
        return kind in (STRING, QUOTED) and _is_within(text)

    def is_decided(self, kind: int, text: bytes) -> bool:
        """See `Lexicon`."""
        return kind != SIGN or text not in (b"-", b"/")


def _is_within(text: bytes) -> bool:
    """Whether a quoted text goes on: its last quote is not the closing one, as far as it was read."""
    if text[:1] in (b"x", b"X"):
        text = text[1:]
    if text[:1] == b"[":
        return not text.endswith(b"]")
    return text.count(text[:1]) % 2 == 1


def _in_quotes(text: bytes, byte: int) -> bool:
    """Whether a byte goes on with a quoted text: it is inside, or a quote that doubles the last one."""
    if _is_within(text):
        return True
    quote = text[1] if text[:1] in (b"x", b"X") else text[0]
    return quote != ord("[") and byte == quote


def _is_whole(text: bytes) -> bool:
    """Whether a comment has ended."""
    if text[:1] == b"-":
        return text.endswith(b"\n")
    return len(text) >= 4 and text.endswith(b"*/")
