"""The lexicon of SQL (https://sqlite.org/syntax/comment-syntax.html, https://sqlite.org/lang_keywords.html).

Names and keywords are one, and are folded to lower case as SQLite does: ASCII only. Where only names may stand, what is
in single quotes is one too: it goes on with an empty QUOTED (`SqlMonitor.resume`).
"""

from __future__ import annotations

from constrain.monitors.lexicon import DECIMALS, DIGITS, LETTERS, LexemeRow, TableLexicon, classes_but, spaces
from constrain.monitors.monitor import COMMENT, NAME, NUMBER, OTHER, QUOTED, SPACE, STRING, WORD

_IN_NAMES = LETTERS | DIGITS | {ord("$")}


def _is_within(text: bytes) -> bool:
    """True if a quoted text goes on: its last quote is not the closing one, as far as it was read."""
    if text[:1] in (b"x", b"X"):
        text = text[1:]
    if text[:1] == b"[":
        return not text.endswith(b"]")
    return text.count(text[:1]) % 2 == 1


def _in_quotes(text: bytes, byte: int) -> bool:
    """True if a byte goes on with a quoted text: it is inside, or a quote that doubles the last one."""
    if _is_within(text):
        return True
    quote = text[1] if text[:1] in (b"x", b"X") else text[0]
    return quote != ord("[") and byte == quote


def _is_whole(text: bytes) -> bool:
    """True if a comment has ended."""
    if text[:1] == b"-":
        return text.endswith(b"\n")
    return len(text) >= 4 and text.endswith(b"*/")


def _unquote(text: bytes) -> bytes:
    """Give the name that a quoted text spells so far."""
    inside = text[1:] if _is_within(text) else text[1:-1]
    if text[:1] != b"[":
        inside = inside.replace(text[:1] * 2, text[:1])
    return inside.lower()


def _short_comment(text: bytes) -> bytes:
    """Cut a comment to its opening and what may belong to its end."""
    if text[:1] == b"-":
        return b"--\n" if text.endswith(b"\n") else b"--"
    if _is_whole(text):
        return b"/**/"
    return text if len(text) == 2 else b"/**" if text.endswith(b"*") else b"/*x"


def _in_parameter(text: bytes, byte: int) -> bool:
    """True if a byte goes on with a parameter: `?` has digits, the others a name and something in parentheses."""
    if text == b"?":
        return byte in DIGITS
    return byte not in b" \t\n\f\r" if text == b"(" else byte in _IN_NAMES or byte in b":("


def _short_parameter(text: bytes) -> bytes:
    """Cut a parameter to its `?`, or the parenthesis that is open."""
    if text[:1] == b"?":
        return b"?"
    return b"(" if text[-1:] == b"(" or (text[:1] == b"(" and text[-1:] != b")") else b""


LEXICON = TableLexicon(
    __name__,
    {
        SPACE: spaces(b" \t\n\f\r"),
        NAME: LexemeRow(begins=LETTERS, inside=_IN_NAMES, free=WORD, folded=bytes.lower),
        NUMBER: LexemeRow(begins=DIGITS, inside=LETTERS | DIGITS | {ord(".")}, short=lambda text: b"", free=WORD),
        STRING: LexemeRow(
            begins=b"'",
            grows=_in_quotes,
            short=lambda text: b"'" if _is_within(text) else b"''",
            free=lambda text: classes_but(b"'") if _is_within(text) else 0,
            is_open=_is_within,
        ),
        QUOTED: LexemeRow(
            begins=b'"`[',
            grows=lambda text, byte: _in_quotes(text, byte) if text else byte == ord("'"),
            free=lambda text: classes_but(b"]" if text[:1] == b"[" else text[:1]) if _is_within(text) else 0,
            is_open=_is_within,
            folded=_unquote,
        ),
        OTHER: LexemeRow(
            begins=b"?:@$#",
            grows=_in_parameter,
            short=_short_parameter,
            free=lambda text: 0 if text == b"?" else WORD,
            is_open=lambda text: text == b"(",
        ),
        COMMENT: LexemeRow(
            grows=lambda text, byte: not _is_whole(text),
            short=_short_comment,
            free=lambda text: 0 if _is_whole(text) else classes_but(b"\n" if text[:1] == b"-" else b"*"),
        ),
    },
    signs={**DECIMALS, b"--": COMMENT, b"/*": COMMENT},
    undecided=(b"-", b"/"),
    prefixes=(b"x", b"X"),
    quotes=b"'",
)
