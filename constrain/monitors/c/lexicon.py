"""How the bytes of C make lexemes (ISO/IEC 9899:2018, section 6.4). A line that begins with `#` is one lexeme: OTHER.

Keywords are names. Of strings and comments only this is kept: how they began, and what the last byte may be the
beginning of.
"""

from __future__ import annotations

from constrain.monitors.monitor import (
    APOSTROPHE,
    BACKSLASH,
    BLANK,
    COMMENT,
    EVERY,
    LINE,
    NAME,
    NUMBER,
    OTHER,
    PUNCTUATION,
    QUOTE,
    SIGN,
    SPACE,
    STRING,
    WORD,
)

PREFIXES = frozenset({b"L", b"u", b"U", b"u8"})  # before a quote they belong to the string
SIGNS = frozenset(
    b"-> ++ -- << >> <= >= == != && || += -= *= /= %= &= ^= |= <<= >>= .. ...".split()
)  # those of more than one byte
UNDECIDED = frozenset({b"-", b".", b"/", b".."})  # may still become what is judged in another way
_SPACES = frozenset(b" \t\n\r\f\v")
_DIGITS = frozenset(b"0123456789")
_LETTERS = frozenset(range(0x80, 0x100)) | frozenset(b"_$abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
_IN_NAMES = _LETTERS | _DIGITS
_QUOTES = frozenset(b"'\"")
_BREAKS = frozenset(b"\r\n")


class CLexicon:
    """A `Lexicon`."""

    def begin(self, byte: int) -> int:
        """See `Lexicon`."""
        if byte in _SPACES:
            return SPACE
        if byte in _LETTERS:
            return NAME
        if byte in _DIGITS:
            return NUMBER
        if byte in _QUOTES:
            return STRING
        return {ord("#"): OTHER, ord("\\"): COMMENT}.get(byte, SIGN)

    def scan(self, kind: int, text: bytes, byte: int) -> int:
        """See `Lexicon`."""
        if kind == NAME:
            if byte in _IN_NAMES:
                return NAME
            return STRING if byte in _QUOTES and text in PREFIXES else -1
        if kind == SPACE:
            return SPACE if byte in _SPACES else -1
        if kind == NUMBER:
            return NUMBER if byte in _IN_NAMES or byte == ord(".") or (byte in b"+-" and text[-1] in b"eEpP") else -1
        if kind == STRING:
            return -1 if _is_whole(text) else STRING
        if kind == COMMENT:
            return _scan_comment(text, byte)
        if kind == OTHER:
            return -1 if byte == ord("\n") and not text.endswith((b"\\", b"\\\r")) else OTHER
        if text == b"/" and byte in b"/*":
            return COMMENT
        if text == b"." and byte in _DIGITS:
            return NUMBER
        return SIGN if text + bytes((byte,)) in SIGNS else -1

    def keeps(self, kind: int) -> bool:
        """See `Lexicon`."""
        return kind in (NAME, SIGN, OTHER)

    def short(self, kind: int, text: bytes) -> bytes:
        """See `Lexicon`."""
        if kind == NUMBER:
            return b"0" + (text[-1:] if text[-1] in b"eEpP" else b"")
        if kind == STRING:
            return _short_string(text)
        if kind == COMMENT:
            return _short_comment(text)
        return b""

    def free(self, kind: int, text: bytes) -> int:
        """See `Lexicon`."""
        if kind == NAME:
            return 0 if text in PREFIXES else WORD
        if kind == STRING:
            if _is_whole(text) or text.endswith(b"\\"):
                return 0
            return EVERY & ~(BACKSLASH | (APOSTROPHE if text[:1] == b"'" else QUOTE))
        if kind == COMMENT:
            return {b"//": EVERY & ~(LINE | BACKSLASH), b"/*.": EVERY & ~PUNCTUATION}.get(text, 0)
        return {SPACE: BLANK | LINE, NUMBER: WORD, OTHER: EVERY & ~(LINE | BACKSLASH)}.get(kind, 0)

    def folded(self, kind: int, text: bytes) -> bytes:
        """See `Lexicon`."""
        return text

    def is_open(self, kind: int, text: bytes) -> bool:
        """See `Lexicon`."""
        return kind == STRING and not _is_whole(text)

    def is_decided(self, kind: int, text: bytes) -> bool:
        """See `Lexicon`."""
        return kind != SIGN or text not in UNDECIDED


def _is_whole(text: bytes) -> bool:
    """Whether a string, of which the prefix was cut, has ended."""
    return len(text) > 1 and text[-1:] == text[:1]


def _short_string(text: bytes) -> bytes:
    """What is kept of a string of which all but the last byte was shortened: a quote, and what it may end with."""
    text = text.lstrip(b"LuU8")
    if len(text) == 1 or text[-2:-1] == b"\\":
        return text[:1]
    return text[:1] + (text[-1:] if text[-1] == text[0] or text[-1:] == b"\\" else b"")


def _scan_comment(text: bytes, byte: int) -> int:
    if text[:1] == b"\\":  # a line goes on
        return COMMENT if byte in _BREAKS and text in (b"\\", b"\\\r") and text[-1:] != b"\n" else -1
    if text[:2] == b"//":
        return -1 if byte == ord("\n") and not text.endswith((b"\\", b"\\\r")) else COMMENT
    return -1 if text.endswith(b"*/") and len(text) > 3 else COMMENT


def _short_comment(text: bytes) -> bytes:
    if text[:1] == b"\\" or len(text) < 3:
        return text
    if text[:2] == b"//":
        return b"//" + (b"\\\r" if text.endswith(b"\\\r") else b"\\" if text.endswith(b"\\") else b"")
    return b"/*." + (
        b"*/" if text.endswith(b"*/") and len(text) > 3 else b"*" if text.endswith(b"*") and len(text) > 2 else b""
    )
