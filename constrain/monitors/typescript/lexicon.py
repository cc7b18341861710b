"""The lexicon of TypeScript (ECMA-262, section 12, without regular expressions).

A template is a string up to each `${`; the piece behind its `}` goes on where it was (`TypeScriptMonitor.resume`). The
text of a short string matters, since literals are types; of another one its quote and a zero byte stand for it.
"""

from __future__ import annotations

from constrain.monitors.lexicon import DECIMALS, DIGITS, LETTERS, LexemeRow, TableLexicon, classes_but, spaces
from constrain.monitors.monitor import COMMENT, NAME, NUMBER, SIGN, SPACE, STRING, WORD

SIGNS = b"=> == === != !== <= >= && || ?? ++ -- += -= *= /= %= .. ...".split()
MAY_GROW = (b"=", b"!", b"&", b"|", b"?", b"+", b"-", b"*", b"/", b"%", b".", b"..")
LONG = 32  # bytes of a string that is kept
CUT = b"\0"
_IN_NAMES = LETTERS | DIGITS | {ord("$")}


def is_whole(text: bytes) -> bool:
    """True if a string has ended, or a template has come to an expression."""
    if len(text) > 1 and text[-1:] == text[:1]:
        return True
    return text[:1] == b"`" and text.endswith(b"${")


def _short(text: bytes) -> bytes:
    """Cut a long string, or one with escapes, to what tells its end."""
    quote = text[:1]
    if len(text) <= LONG and b"\\" not in text and CUT not in text:
        return text
    if text[-2:-1] == b"\\":
        return quote + CUT
    if text.endswith(b"${") and quote == b"`":
        return quote + CUT + b"${"
    return quote + CUT + (text[-1:] if text[-1:] in (quote, b"\\", b"$") else b"")


def _free(text: bytes) -> int:
    """Give the classes of bytes that leave a string open."""
    if is_whole(text) or text.endswith((b"\\", b"$")):
        return 0
    return classes_but(b"\\" + text[:1] + (b"$" if text[:1] == b"`" else b""))


def _number_grows(text: bytes, byte: int) -> bool:
    """True if a byte goes on with a number: `1.` only with a digit."""
    if byte in DIGITS:
        return True
    if byte == ord("."):
        return not {*text} & {*b".eExXoObB"}
    if byte in b"+-":
        return text[-1:] in (b"e", b"E") and text[1:2] not in b"xX"
    return byte in _IN_NAMES and not text.endswith(b".")


def _comment_grows(text: bytes, byte: int) -> bool:
    """True if a byte belongs to a comment."""
    return byte not in b"\r\n" if text[:2] == b"//" else not (text.endswith(b"*/") and len(text) > 3)


def _short_comment(text: bytes) -> bytes:
    """Cut a comment to its opening and what may belong to its end."""
    if text[:2] == b"//" or len(text) < 3:
        return text[:2]
    return b"/*." + (b"*/" if text.endswith(b"*/") and len(text) > 3 else b"*" if text.endswith(b"*") else b"")


LEXICON = TableLexicon(
    __name__,
    {
        SPACE: spaces(),
        NAME: LexemeRow(begins=LETTERS | {ord("$")}, inside=_IN_NAMES, free=WORD),
        NUMBER: LexemeRow(begins=DIGITS, grows=_number_grows, free=lambda text: 0 if text.endswith(b".") else WORD),
        STRING: LexemeRow(
            begins=b"'\"`",
            grows=lambda text, byte: not is_whole(text),
            short=_short,
            free=_free,
            is_open=lambda text: not is_whole(text),
        ),
        COMMENT: LexemeRow(
            grows=_comment_grows,
            short=_short_comment,
            free=lambda text: {b"//": classes_but(b"\r\n"), b"/*.": classes_but(b"*")}.get(text, 0),
        ),
    },
    signs={**dict.fromkeys(SIGNS, SIGN), **DECIMALS, b"//": COMMENT, b"/*": COMMENT},
    undecided=MAY_GROW,
)
