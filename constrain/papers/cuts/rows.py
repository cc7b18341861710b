"""The tokens that may follow in a canonical sequence, as rows of bits, and the bytes that join nothing before them.

Cost: a row is three bitmaps of the state of the pieces (made once for each) and one of the last token.
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from constrain import kernels
from constrain.languages.cuts.added import Begun
from constrain.languages.cuts.canonical import DEAD, NONE, CanonicalTokens, CutPlace, CutState
from constrain.languages.vocab.bits import Row, clear_bits, has_bit, set_bits, tokens_of
from constrain.languages.vocab.joined import JoinedTokens
from constrain.languages.vocab.vocabulary import Vocabulary
from constrain.lazily import EACH, Remembered
from constrain.papers.cuts.conflicts import Conflicts
from constrain.papers.cuts.following import FollowTables
from constrain.papers.kernels.lookahead import follow_bytes
from constrain.papers.kernels.records import AFTER_TOKEN
from constrain.papers.kernels.tokens_at import narrow_row

Ints = NDArray[np.int32]

BLANKS = b"\t\n\x0b\x0c\r \x85\xa0\x80"  # last bytes of characters that are blanks
MOST_BLANKS = 4096  # tokens that end in a blank whose following bytes are found beforehand
MANY = 1 << 16  # bytes that leave a state as it is (10 MB) that are remembered
MEMORY = 64 << 20  # bytes of rows that are remembered


class CanonicalRows:
    """The rows of a tokenizer's canonical sequences. Threads may share it.

    What it remembers is bounded, however many texts are read: `MEMORY` bytes of rows, as much again by the conflicts.

    Args:
        canonical: The canonical sequences.
        vocabulary: The vocabulary of their tokens.

    Attributes:
        conflicts: The tokens that may not follow each token.
        following: The tables by which kernels look ahead.
        places: What constraints remember of the masks of their places, all together `MEMORY` bytes.
        refused: The tokens that they refuse since no completion is left, all together a quarter of that.
    """

    def __init__(self, canonical: CanonicalTokens, vocabulary: Vocabulary) -> None:
        kernels.load()  # those of this wing
        self._canonical = weakref.proxy(canonical)  # which keeps this
        joined = JoinedTokens.of(vocabulary)
        self._first = joined.first()
        self._nothing = np.zeros(canonical.words, np.uint32)
        ending = canonical.specials | canonical.added
        self._ending_words = np.flatnonzero(ending)
        self._ending = ending[self._ending_words]
        self._becoming = _becoming([canonical.tokens[token] or b"" for token in tokens_of(canonical.whole).tolist()])
        self._rows: Remembered[CutState | CutPlace, Row] = Remembered(MEMORY, _bytes_of)
        self.places: Remembered[Any, Any] = Remembered(MEMORY, lambda key, mask: _bytes_of(key, mask.row))
        self.refused: Remembered[Any, Ints] = Remembered(MEMORY // 4, _bytes_of)
        self._loose: Remembered[CutState, Ints] = Remembered(MANY)
        self.conflicts = Conflicts(canonical.merges)
        classes, apart = self._apart_by_class(joined)
        self.following = FollowTables(canonical, self.conflicts, joined, classes, apart, self._becoming)

    @classmethod
    def of(cls, canonical: CanonicalTokens, vocabulary: Vocabulary) -> CanonicalRows:
        """The rows of some canonical sequences, which keep them."""
        known: CanonicalRows = canonical.kept.get(cls) or canonical.kept.setdefault(cls, cls(canonical, vocabulary))
        return known

    def row(self, state: CutState) -> Row:
        """uint32[words], read-only: the tokens after which a sequence may still be canonical.

        Tokens without bytes are in it where the text may end.
        """
        known = self._rows.get(state)
        if known is None:
            known = np.full(self._nothing.size, 0xFFFFFFFF, np.uint32)
            self.narrow(state, known)
            known.flags.writeable = False
            self._rows.keep(state, known)
        return known

    def narrow(self, state: CutState, row: Row) -> bool:
        """Keep those tokens of a mask that are in `row(state)`. Returns whether some of them are `joined`."""
        if state == DEAD:
            row[:] = 0
            return False
        tokens = self._canonical
        kept = row[self._ending_words] & self._ending if tokens.may_end(state) else None
        alone, whole = tokens.alone if state.partial else tokens.outside, tokens.whole
        conflicts = self.conflicts.row(state.last) if state.last != NONE else self._nothing
        if state.last == NONE:
            alone, whole = alone | whole, self._nothing
        joined = narrow_row(self._before(state.pieces, state.ends, state.owed), conflicts, alone, whole, row)
        if state.partial:
            self._keep_bytes(row, state.partial)
        if kept is not None:
            row[self._ending_words] |= kept
        if state.begun:
            clear_bits(row, self._completing(state.begun, row))
        return bool(joined)

    def joined(self, state: CutState) -> Row:
        """uint32[words], those tokens of `row` before which a border still has to come, as they would join."""
        opened = self._before(state.pieces, state.ends, state.owed)[2 * self._nothing.size :]
        return opened & (self.conflicts.row(state.last) | self._canonical.whole)

    def _keep_bytes(self, row: Row, partial: bytes) -> None:
        """Keep the byte tokens that go on with a character, if it has no token of its own."""
        tokens = self._canonical
        kept = [token for token in tokens.byte_tokens if has_bit(row, token)]
        row[:] = 0
        set_bits(row, [t for t in kept if tokens.partial(partial, t, tokens.tokens[t] or b"") is not None])

    def _completing(self, begun: Begun, row: Row) -> list[int]:
        """The tokens of a row that complete what was begun of added tokens."""
        added = self._canonical.added_tokens
        longer = [part + bytes([byte]) for part in begun for byte in range(256)]
        bytes_after = [text[-1] for text in longer if text in added.texts.beginnings or text in added.texts.tokens]
        some = tokens_of(row)
        some = some[np.isin(self._first[some], bytes_after)]
        return [token for token in some.tolist() if added.after(begun, token) is None]

    def _before(self, pieces: int, ends: int, owed: int) -> Row:
        """The tokens before which is a border, is none, or may be one: three masks."""
        place = CutPlace(pieces, ends, owed)
        known = self._rows.get(place)
        if known is None:
            known = self.following.fronts(place)
            self._rows.keep(place, known)
        return known

    def _apart_by_class(self, joined: JoinedTokens) -> tuple[Ints, Ints]:
        """The class of each token, and for each class the bytes that may be told at once to leave it as it is.

        A token's class is its last byte, and those bytes follow that one in no token. But what follows a blank may
        still put a border before it, so tokens that end in one have classes of their own.
        """
        tokens, starts, ends = self._canonical, joined.starts, joined.starts[1:] - 1
        classes = np.where(ends >= starts[:-1], joined.text[ends], 0).astype(np.int32)
        tables = [_apart(joined)]
        if tokens.pieces.open[tokens.pieces.step(tokens.pieces.start, ord(" "))]:
            blank = np.flatnonzero(np.isin(classes, list(BLANKS)) & (ends >= starts[:-1]))
            for number, token in enumerate(blank.tolist()):
                state = tokens.step(tokens.start, token) if number < MOST_BLANKS else DEAD
                classes[token] = 256 + number
                tables.append(np.zeros(8, np.int32) if state == DEAD else self.loose(state))
        return classes, np.concatenate(tables)

    def loose(self, state: CutState) -> Ints:
        """int32[8], a bitmap of bytes: whatever begins with one of them leaves the tokens so far as they are.

        So a text that goes on with such a byte has a canonical sequence that begins with the one so far.
        """
        known = self._loose.get(state)
        if known is None:
            known = self._loose.keep(state, self._loose_bytes(state))
        return known

    def _loose_bytes(self, now: CutState) -> Ints:
        loose = np.zeros(256, bool)
        if now.partial or now.begun:
            return np.packbits(loose, bitorder="little").view(np.int32)
        tokens, pieces = self._canonical, self._canonical.pieces
        if pieces.next[now.pieces].min() < 0:
            pieces.expand(now.pieces)
        after, borders = pieces.next[now.pieces], pieces.ended[now.pieces]
        opened = pieces.open[after]
        ends, owed = (now.ends | 1) << 1, now.owed << 1
        safe = (after > 0) & (borders & ~(ends | 1) == 0) & (owed & ~borders == 0) & (opened & ~(ends | 1) == 0)
        if now.last == NONE:
            loose = safe
        else:
            conflicts, counts = self.conflicts.row(now.last), np.zeros(257, np.int32)
            unread = np.zeros(AFTER_TOKEN.WORDS, np.int32)
            follow_bytes(conflicts, tokens.alone, self._first, counts, counts, unread)
            counts[self._becoming.get(tokens.tokens[now.last] or b"", [])] = 1
            loose = safe & ((borders >> 1 & 1 == 1) | (counts[:256] == 0))
        return np.packbits(loose, bitorder="little").view(np.int32)


def _bytes_of(_: Any, row: Ints | Row) -> int:
    return EACH + row.nbytes


def _becoming(texts: Sequence[bytes]) -> dict[bytes, list[int]]:
    """By a text within some texts, the bytes that follow it there: a piece that ends with it may become one of them."""
    found: dict[bytes, set[int]] = {}
    for text in texts:
        for end in range(1, len(text)):
            for start in range(end):
                found.setdefault(text[start:end], set()).add(text[end])
    return {text: sorted(following) for text, following in found.items()}


def _apart(joined: JoinedTokens) -> Ints:
    """int32[256 * 8], for each byte a bitmap of the bytes that follow it in no token."""
    text, starts = joined.text, joined.starts
    inside = np.ones(len(text), bool)
    inside[starts[1:][starts[1:] > starts[:-1]] - 1] = False  # last bytes
    first = np.flatnonzero(inside)
    apart = np.ones((256, 256), bool)
    apart[text[first], text[first + 1]] = False
    return np.packbits(apart, axis=1, bitorder="little").view(np.int32).reshape(-1)
