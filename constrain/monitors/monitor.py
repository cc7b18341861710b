"""The interface of a monitor: it reads lexemes, and says which names may stand next.

    class Declared:                                       # a monitor of a language with declarations
        lexicon = WORDS
        def start(self): return frozenset()
        def begin(self, state, kind, first): return state
        def advance(self, state, kind, text): return state | {text} if kind == NAME else state
        def language(self, state): return Names(state) if state else None
        def may_end(self, state): return True

The idea: states are values, and all methods are pure functions. So a text may be read twice, in pieces, from any state:
forks, rollbacks and beams cost nothing. A reading (reading.py) cuts bytes into lexemes and calls the methods.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Hashable, Iterable
from functools import lru_cache
from typing import Protocol, TypeVar

S = TypeVar("S", bound=Hashable)  # the states of a monitor
SPACE, NAME, QUOTED, STRING, NUMBER, SIGN, COMMENT, OTHER, NEWLINE = range(9)  # kinds of lexemes
END = -1  # the kind that `begin` is called with at the end of a text

# Classes of bytes, as flags: `Lexicon.free` says which of them change nothing in a lexeme.
WORD, BLANK, LINE, APOSTROPHE, QUOTE, BACKSLASH, BRACE, PUNCTUATION = (1 << i for i in range(8))
EVERY = 255


def class_of(byte: int) -> int:
    """Give the class of a byte."""
    if byte >= 0x80 or chr(byte).isalnum() or byte == ord("_"):
        return WORD
    classes = {" ": BLANK, "\t": BLANK, "\n": LINE, "\r": LINE, "'": APOSTROPHE, '"': QUOTE, "\\": BACKSLASH}
    return classes.get(chr(byte), BRACE if chr(byte) in "{}" else PUNCTUATION)


CLASSES = tuple(map(class_of, range(256)))


class Names:
    """A finite set of names that may stand at a position of a text, and the words that may stand there too.

    Args:
        names: The names, as the lexicon folds them (`Lexicon.folded`).
        words: Keywords that the grammar may admit there. They need no quotes, and cannot be quoted.
        bare: The names that need no quotes; None: all of them.
        keywords: Words, some of the names among them, of which the grammar decides if they may be names there.
        prefixes: Prefixes of names: all names with one of them may stand too.

    Attributes:
        is_empty: Whether there are no names. Words do not count.
    """

    __slots__ = ("_all", "_certain", "_doubted", "_quoted", "_with", "is_empty", "prefixes")

    def __init__(
        self,
        names: Iterable[str],
        words: Iterable[str] = (),
        bare: Iterable[str] | None = None,
        keywords: frozenset[str] = frozenset(),
        prefixes: Iterable[str] = (),
    ) -> None:
        self.prefixes = tuple(prefix.encode() for prefix in prefixes)
        quoted = set(names)
        self.is_empty = not quoted and not self.prefixes
        self._with: dict[frozenset[str], Names] = {}
        self._doubted: Names | None = None
        self._quoted = sorted(name.encode() for name in quoted)
        unquoted = quoted if bare is None else set(bare)
        self._certain = sorted(name.encode() for name in unquoted - keywords)
        self._all = sorted(name.encode() for name in unquoted.union(words))

    def begins(self, text: bytes, *, quoted: bool = False) -> bool:
        """True if a name begins with a text."""
        return self._begins(self._quoted if quoted else self._all, text)

    def begins_keyword(self, text: bytes) -> bool:
        """True if only keywords begin with a text: the grammar decides which of them may stand."""
        return not self._begins(self._certain, text) and self._begins(self._all, text)

    def _begins(self, table: list[bytes], text: bytes) -> bool:
        i = bisect_left(table, text)
        return (i < len(table) and table[i].startswith(text)) or (bool(self.prefixes) and self.may_begin(text))

    def may_begin(self, text: bytes) -> bool:
        """True if a text begins with one of the prefixes, or may become one."""
        return any(text.startswith(prefix) or prefix.startswith(text) for prefix in self.prefixes)

    def has(self, text: bytes, *, quoted: bool = False) -> bool:
        """True if a text is a name."""
        table = self._quoted if quoted else self._all
        i = bisect_left(table, text)
        return (i < len(table) and table[i] == text) or (bool(self.prefixes) and text.startswith(self.prefixes))

    def with_names(self, names: frozenset[str]) -> Names:
        """Give these names and others. Remembered."""
        known = self._with.get(names)
        if known is None:
            known = self._with[names] = Names(())
            added = {name.encode() for name in names}
            known._all, known._certain, known._quoted = (
                sorted(added.union(table)) for table in (self._all, self._certain, self._quoted)
            )
            known.prefixes = self.prefixes
            known.is_empty = not known._quoted and not known.prefixes
        return known

    def doubted(self) -> Names:
        """Give the same names, of all of which the grammar decides. Remembered."""
        if self._doubted is None:
            self._doubted = self.with_names(frozenset())
            self._doubted._certain = []
        return self._doubted

    def rests(self, text: bytes, *, quoted: bool = False, certain: bool = False) -> list[bytes]:
        """Give the rests of the names that begin with a text, of those without quotes or of all (`quoted`).

        certain: without keywords, and quotes.
        """
        table = self._quoted if quoted else self._certain if certain else self._all
        i = first = bisect_left(table, text)
        while i < len(table) and table[i].startswith(text):
            i += 1
        return [name[len(text) :] for name in table[first:i]]

    def listed(self) -> list[str]:
        """Give the names and words, sorted."""
        return sorted(name.decode() for name in {*self._quoted, *self._all})


@lru_cache(maxsize=4096)
def names_of(names: frozenset[str]) -> Names:
    """Give some names. Remembered, as what is found out of `Names` is kept by their identity."""
    return Names(names)


class Lexicon(Protocol):
    """The interface of lexers: bytes become lexemes. A language has one, made of a table (lexicon.py)."""

    def begin(self, byte: int) -> int:
        """Give the kind of a lexeme that begins with a byte."""

    def scan(self, kind: int, text: bytes, byte: int) -> int:
        """Give the kind of the lexeme `text` with one more byte; -1: the byte begins another lexeme."""

    def keeps(self, kind: int) -> bool:
        """True if the text of a lexeme matters; else it is cut to what `scan` needs (`short`)."""

    def short(self, kind: int, text: bytes) -> bytes:
        """Cut the text of a lexeme to what `scan` needs."""

    def free(self, kind: int, text: bytes) -> int:
        """Give the classes of bytes that leave a lexeme what it is: flags."""

    def folded(self, kind: int, text: bytes) -> bytes:
        """Give the name that a NAME or QUOTED lexeme, which may be incomplete, spells so far.

        Of a NAME it is the same text in one case: folding keeps the number of bytes, and each byte by itself.
        """

    def is_open(self, kind: int, text: bytes) -> bool:
        """True if a lexeme must go on: a text may not end in it."""

    def is_decided(self, kind: int, text: bytes) -> bool:
        """True if the kind of a lexeme is certain: `/` may still begin a comment."""

    def is_whole_sign(self, text: bytes) -> bool:
        """True if no byte goes on with a sign."""


class Monitor(Protocol[S]):
    """The interface of monitors; the module shows one.

    Where strings hold expressions, `resume(state)` gives the kind and text of a lexeme that goes on, as `f"` after the
    `}` of `f"{a} b"`, or None. Where a text puts off what must come before its end, `owed(state)` gives texts that
    settle it: budgets of tokens try them. `words`, if there are some, are all names that mean something to it: of the
    others one search for an end answers for all, under a small grammar (small.py); else each has its own.

    Attributes:
        lexicon: The lexicon of the language.
    """

    lexicon: Lexicon

    def start(self) -> S:
        """Give the state before the first lexeme."""

    def begin(self, state: S, kind: int, first: bytes) -> S | None:
        """Give the state when a lexeme begins, of which only the kind and the first byte are known; None: it may not.

        kind: `END` at the end of the text. Space and comments are not reported. All names begin alike, whatever their
            first byte.
        first: Its first byte; of a sign all bytes that are known.
        """

    def advance(self, state: S, kind: int, text: bytes) -> S | None:
        """Give the state after a lexeme; None: it may not stand there."""

    def language(self, state: S) -> Names | None:
        """Give the names that the lexeme which has begun may be (`begin` comes first); None: any."""

    def may_end(self, state: S) -> bool:
        """True if the text may end, after `begin` with `END`."""
