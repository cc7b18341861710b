"""The lexicon of C (ISO/IEC 9899:2018, section 6.4). A line that begins with `#` is one lexeme: OTHER.

Keywords are names. Of a string or comment its opening is kept, and the last byte where that may begin its end.
"""

from __future__ import annotations

from constrain.monitors.lexicon import (
    DECIMALS,
    DIGITS,
    LETTERS,
    STRINGS,
    LexemeRow,
    TableLexicon,
    classes_but,
    short_string,
    spaces,
)
from constrain.monitors.monitor import COMMENT, NAME, NUMBER, OTHER, SIGN, SPACE, STRING, WORD

PREFIXES = frozenset({b"L", b"u", b"U", b"u8"})  # before a quote they belong to the string
SIGNS = b"-> ++ -- << >> <= >= == != && || += -= *= /= %= &= ^= |= <<= >>= .. ...".split()
COMMENTS = dict.fromkeys((b"//", b"/*", b"\\\n", b"\\\r"), COMMENT)  # they begin as signs
UNIVERSAL = dict.fromkeys((b"\\u", b"\\U"), NAME)  # names of characters that begin a name
_LETTERS = LETTERS | {ord("$")}
_IN_NAMES = _LETTERS | DIGITS


def _directive_grows(text: bytes, byte: int) -> bool:
    """True if a byte belongs to the line of a directive, which a backslash continues."""
    return byte != ord("\n") or text.endswith((b"\\", b"\\\r"))


def _comment_grows(text: bytes, byte: int) -> bool:
    """True if a byte belongs to a comment; `\\` and a line end count as one."""
    if text[:1] == b"\\":
        return byte == ord("\n") and text == b"\\\r"
    return _directive_grows(text, byte) if text[:2] == b"//" else not (text.endswith(b"*/") and len(text) > 3)


def _short_comment(text: bytes) -> bytes:
    """Cut a comment to its opening and what may belong to its end."""
    if text[:1] == b"\\" or len(text) < 3:
        return text
    if text[:2] == b"//":
        return b"//" + (b"\\\r" if text.endswith(b"\\\r") else b"\\" if text.endswith(b"\\") else b"")
    return b"/*." + (
        b"*/" if text.endswith(b"*/") and len(text) > 3 else b"*" if text.endswith(b"*") and len(text) > 2 else b""
    )


LEXICON = TableLexicon(
    __name__,
    {
        SPACE: spaces(),
        NAME: LexemeRow(begins=_LETTERS, inside=_IN_NAMES, free=WORD),
        NUMBER: LexemeRow(
            begins=DIGITS,
            inside=_IN_NAMES | {ord(".")},
            grows=lambda text, byte: byte in b"+-" and text[-1] in b"eEpP",
            short=lambda text: b"0" + (text[-1:] if text[-1] in b"eEpP" else b""),
            free=WORD,
        ),
        STRING: STRINGS._replace(short=lambda text: short_string(text.lstrip(b"LuU8"))),
        COMMENT: LexemeRow(
            grows=_comment_grows,
            short=_short_comment,
            free=lambda text: {b"//": classes_but(b"\n\\"), b"/*.": classes_but(b"*")}.get(text, 0),
        ),
        OTHER: LexemeRow(begins=b"#", grows=_directive_grows, free=classes_but(b"\n\\")),
    },
    signs={**dict.fromkeys(SIGNS, SIGN), **DECIMALS, **COMMENTS, **UNIVERSAL},
    undecided=(b"-", b".", b"/", b"..", b"\\"),  # they may become what is judged in another way
    prefixes=PREFIXES,
)
