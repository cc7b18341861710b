"""The lexicon of every monitor: a table with one row for each kind of lexeme, read by one mechanism.

    LEXICON = TableLexicon(
        __name__,
        {
            SPACE: spaces(),
            NAME: Row(begins=LETTERS, inside=LETTERS | DIGITS, free=WORD),
            NUMBER: Row(begins=DIGITS, inside=DIGITS, short=lambda text: b""),
        },
        signs={b"==": SIGN},
    )

A byte that begins no row's lexeme begins a SIGN. The last part is for languages whose strings escape quotes with a
backslash.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping
from functools import lru_cache
from importlib import import_module
from typing import Any, NamedTuple

from constrain.monitors.monitor import BLANK, CLASSES, EVERY, LINE, NAME, NUMBER, SIGN, STRING

DIGITS = frozenset(b"0123456789")
LETTERS = frozenset(range(0x80, 0x100)) | frozenset(b"_abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
QUOTES = b"'\""
DECIMALS = {b".%d" % digit: NUMBER for digit in range(10)}  # they begin as signs


class LexemeRow(NamedTuple):
    """One kind of lexeme of a language. The functions take the text of a lexeme, cut by `short`.

    Attributes:
        begins: The bytes that begin a lexeme.
        inside: The bytes that go on with any lexeme.
        grows: Tells for another byte if it goes on with a lexeme; None: no other byte does.
        short: Cuts a text to what the other functions need of it; None: the text matters, and is kept.
        free: The classes of bytes that leave a lexeme as it is (`Lexicon.free`), or a function that gives them.
        is_open: Tells if a lexeme must go on; None: none must.
        folded: Gives the name that a lexeme spells.
    """

    begins: Container[int] = b""
    inside: Container[int] = b""
    grows: Callable[[bytes, int], bool] | None = None
    short: Callable[[bytes], bytes] | None = None
    free: int | Callable[[bytes], int] = 0
    is_open: Callable[[bytes], bool] | None = None
    folded: Callable[[bytes], bytes] = bytes


class TableLexicon:
    """A `Lexicon` that reads a table.

    Args:
        module: The module whose `LEXICON` it is: a pickle names it.
        rows: Kind -> its row.
        signs: Text of more than one byte that begins as a sign -> the kind that it has.
        undecided: Signs that may still become something that is judged in another way.
        prefixes: Names that become a STRING with one of the quotes.
        quotes: These quotes.
    """

    def __init__(
        self,
        module: str,
        rows: Mapping[int, LexemeRow],
        signs: Mapping[bytes, int],
        undecided: Iterable[bytes] = (),
        prefixes: Iterable[bytes] = (),
        quotes: bytes = QUOTES,
    ) -> None:
        self.module = module
        self._rows = {SIGN: LexemeRow(), **rows}
        self._kinds = [next((kind for kind, row in rows.items() if byte in row.begins), SIGN) for byte in range(256)]
        self._signs, self._undecided, self._quotes = dict(signs), frozenset(undecided), quotes
        self._begun_signs = {sign[:n] for sign in self._signs for n in range(1, len(sign))}
        self._prefixes = frozenset(prefixes)
        self._in_prefixes = {prefix[:n] for prefix in self._prefixes for n in range(1, len(prefix) + 1)}

    def begin(self, byte: int) -> int:
        """Give the kind of a lexeme that begins with a byte."""
        return self._kinds[byte]

    def scan(self, kind: int, text: bytes, byte: int) -> int:
        """Give the kind of a lexeme with one more byte; -1: the byte begins another lexeme."""
        if kind == SIGN:
            return self._signs.get(text + bytes((byte,)), -1)
        row = self._rows[kind]
        if byte in row.inside or (row.grows is not None and row.grows(text, byte)):
            return kind
        return STRING if kind == NAME and byte in self._quotes and text in self._prefixes else -1

    def keeps(self, kind: int) -> bool:
        """True if the text of a lexeme matters."""
        return self._rows[kind].short is None

    def short(self, kind: int, text: bytes) -> bytes:
        """Cut the text of a lexeme to what the table needs of it."""
        cut = self._rows[kind].short
        return text if cut is None else cut(text)

    def free(self, kind: int, text: bytes) -> int:
        """Give the classes of bytes that leave a lexeme as it is."""
        if kind == NAME and text in self._in_prefixes:
            return 0
        free = self._rows[kind].free
        return free if isinstance(free, int) else free(text)

    def folded(self, kind: int, text: bytes) -> bytes:
        """Give the name that a lexeme spells so far."""
        return self._rows[kind].folded(text)

    def is_open(self, kind: int, text: bytes) -> bool:
        """True if a lexeme must go on."""
        is_open = self._rows[kind].is_open
        return is_open is not None and is_open(text)

    def is_decided(self, kind: int, text: bytes) -> bool:
        """True if the kind of a lexeme is certain."""
        return kind != SIGN or text not in self._undecided

    def is_whole_sign(self, text: bytes) -> bool:
        """True if no byte goes on with a sign."""
        return text not in self._begun_signs

    def __reduce__(self) -> tuple[Any, ...]:
        return _lexicon, (self.module,)


def _lexicon(module: str) -> TableLexicon:
    lexicon: TableLexicon = import_module(module).LEXICON
    return lexicon


@lru_cache(maxsize=64)
def classes_but(characters: bytes) -> int:
    """Give the classes of all bytes but these."""
    return EVERY & ~sum({CLASSES[byte] for byte in characters})


def spaces(characters: bytes = b" \t\n\r\f\v", free: int = BLANK | LINE) -> LexemeRow:
    """Make the row of white space."""
    return LexemeRow(begins=characters, inside=characters, short=lambda text: b"", free=free)


# -- strings with escapes ----------------------------------------------------------------------------------------------


def is_whole(text: bytes) -> bool:
    """True if a string has ended."""
    return len(text) > 1 and text[-1:] == text[:1]


def short_string(text: bytes) -> bytes:
    """Cut a string to its quote and the last byte, where that closes it or escapes the next one."""
    if len(text) == 1 or text[-2:-1] == b"\\":
        return text[:1]
    return text[:1] + (text[-1:] if text[-1] == text[0] or text[-1:] == b"\\" else b"")


def free_in_string(text: bytes) -> int:
    """Give the classes of bytes that leave a string as it is."""
    return 0 if is_whole(text) or text.endswith(b"\\") else classes_but(b"\\" + text[:1])


STRINGS = LexemeRow(
    begins=QUOTES,
    grows=lambda text, byte: not is_whole(text),
    short=short_string,
    free=free_in_string,
    is_open=lambda text: not is_whole(text),
)
