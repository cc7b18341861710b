"""The tables by which kernels look ahead: what bytes do after a token (kernels/cuts/lookahead.py).

Rows of tokens and of states of the pieces are made when a kernel has missed them. Cost: 3 µs a row of a token.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from constrain.kernels.cuts.lookahead import follow_bytes, let_blanks_follow
from constrain.kernels.cuts.rows import cut_rows
from constrain.kernels.cuts.tables import AFTER_TOKEN, AFTER_TOKENS, AHEAD, ASK, CUT, MISSES, REFUSED, UNSURE
from constrain.kernels.records.schema import pack
from constrain.languages.cuts.merges import Merges
from constrain.languages.cuts.pieces import Pieces
from constrain.languages.vocab.bits import Row, tokens_of

Ints = NDArray[np.int32]


class Verdicts(NamedTuple):
    """The tokens that have no canonical completion, and those of which that is not known."""

    refused: Ints
    unsure: Ints


class CutPlace(NamedTuple):
    """A state of the canonical tokens, as far as kernels know it: what stays undecided of the tokens before."""

    pieces: int
    ends: int
    owed: int


class FollowTables:
    """The tables of a tokenizer.

    Args:
        pieces, merges: Of the tokenizer.
        classes: Called when a kernel first looks ahead. Gives int32[V], the class of each token, and int32[8 C], for
            each class the bytes that follow its tokens in no token, a bitmap.
        first: int32[V], the first byte of each token, 256 of those without bytes.
        starts, text: int32[V + 1], where each token begins in the bytes of all, and these.
        becoming: By token, the bytes behind it in a piece that is a token as a whole.
        unknown: The tokens that the tables say nothing of.
        others: Tokens that may follow at any place.
    """

    def __init__(
        self, pieces: Pieces, merges: Merges, *, classes: Callable[[], tuple[Ints, Ints]], first: Ints, starts: Ints,
        text: Ints, becoming: Callable[[int], Sequence[int]], unknown: Ints, others: Sequence[int],
    ) -> None:  # fmt: skip
        self._pieces, self._merges = pieces, merges
        self._first, self._becoming = first, becoming
        self._alone = merges.alone()
        begins = np.concatenate([first[tokens_of(self._alone)], first[list(others)]])
        self._totals = np.bincount(begins, minlength=257).astype(np.int32)
        self._rows = np.zeros(len(first), np.int32)
        self._rows[unknown] = ASK
        self._tokens = {"STARTS": starts, "BYTES": text}
        self._classes: Callable[[], tuple[Ints, Ints]] | None = classes
        self.table = self._packed(np.zeros(0, np.int32), np.zeros(0, np.int32))
        self._end = len(self.table)
        self._before_blanks: dict[CutPlace, Row] = {}
        self._lock = threading.Lock()

    def _packed(self, classes: Ints, apart: Ints) -> Ints:
        """The table without rows of tokens."""
        strict = apart.copy()
        strict.reshape(-1, 8)[128:] = 0  # a token may end within a character, or in a blank
        count = len(self._rows)
        columns = {"CLASS": classes, "ROW": self._rows, "TOKENS": count, **self._tokens}
        return pack(AFTER_TOKENS, **columns, APART=apart, STRICT=strict)[0]

    def _classify(self) -> None:
        """Put the classes of tokens into the table, which only looking ahead asks for."""
        classes = self._classes
        if classes is not None:
            table = self._packed(*classes())
            with self._lock:
                if self._classes is not None:
                    self.table, self._end, self._classes = table, len(table), None

    def ask(
        self, kernel: Callable[..., int], text: int, place: CutPlace, tokens: Ints, *, guarded: bool = False
    ) -> Verdicts:
        """Put a question (AHEAD) to a kernel that takes (P, F, T, M, slots, Q), until no table is missing.

        Args:
            kernel: Answers it, and returns of how many tokens a table was missing.
            text: The configuration before the tokens.
            place: The place before them.
            tokens: The tokens.
            guarded: Not all texts that the grammar accepts are valid.
        """
        self._classify()
        refused, unsure = [tokens[:0]], [tokens[:0]]
        while True:
            question = _question(tokens, place)
            question[AHEAD.GUARDED], question[AHEAD.BEFORE + CUT.TEXT] = guarded, text
            unknown = kernel(self._pieces.packed(), self.table, *self._merges.tables, question)
            kinds = question[AHEAD.TOKENS + len(tokens) :]
            refused.append(tokens[kinds == REFUSED])
            unsure.append(tokens[kinds == UNSURE])
            if not unknown:
                return Verdicts(np.concatenate(refused), np.concatenate(unsure))
            if question[AHEAD.EXPAND]:
                self._pieces.expand(int(question[AHEAD.EXPAND]))
            self._make(question[AHEAD.ROWS : AHEAD.ROWS + question[AHEAD.MISSING]].tolist())
            tokens = tokens[kinds == MISSES]

    def is_unknown(self, token: int) -> bool:
        """True if the tables say nothing of what follows a token."""
        return bool(self.table[self.table[AFTER_TOKENS.ROW] + token] == ASK)

    def before_blanks(self, place: CutPlace, cut: Row) -> Row:
        """The tokens after which a blank joins no token.

        Args:
            place: The place before them.
            cut: The tokens that the tokenizer may write there.
        """
        known = self._before_blanks.get(place)
        if known is None:
            self._classify()
            question, known = _question(tokens_of(cut), place), np.zeros_like(cut)
            rows = self._merges.tables[0]
            while let_blanks_follow(self._pieces.packed(), self.table, rows, question, known) == MISSES:
                self._pieces.expand(int(question[AHEAD.EXPAND]))
            self._before_blanks[place] = known
        return known

    def fronts(self, place: CutPlace) -> Row:
        """uint32[3 * words], three masks: the tokens before which is a border, is none, or may be one.

        Args:
            place: The place before them.
        """
        question, rows = _question(np.zeros(0, np.int32), place), np.zeros(3 * len(self._alone), np.uint32)
        while cut_rows(self.table, self._pieces.packed(), question, rows) == MISSES:
            self._pieces.expand(int(question[AHEAD.EXPAND]))
        return rows

    def _make(self, tokens: list[int]) -> None:
        """Make the AFTER_TOKEN rows of tokens."""
        with self._lock:
            table, end = self.table, self._end
            if end + AFTER_TOKEN.WORDS * len(tokens) > len(table):
                table = np.concatenate([table, np.zeros(AFTER_TOKEN.WORDS * len(tokens) + len(table) // 4, np.int32)])
            for token in dict.fromkeys(tokens):
                row = table[end : end + AFTER_TOKEN.WORDS]
                conflicts = self._merges.conflicts(token)
                follow_bytes(conflicts, self._alone, self._first, self._totals, np.zeros(257, np.int32), row)
                for byte in self._becoming(token):
                    row.view(np.uint32)[AFTER_TOKEN.JOINING + (byte >> 5)] |= np.uint32(1 << (byte & 31))
                table[table[AFTER_TOKENS.ROW] + token] = end
                end += AFTER_TOKEN.WORDS
            self.table, self._end = table, end


def _question(tokens: NDArray[np.integer], place: CutPlace) -> Ints:
    """A question (AHEAD) about some tokens at a place."""
    question = np.zeros(AHEAD.TOKENS + 2 * len(tokens), np.int32)
    question[AHEAD.COUNT] = len(tokens)
    question[AHEAD.BEFORE + CUT.PIECES : AHEAD.BEFORE + CUT.OWED + 1] = place
    question[AHEAD.BEFORE + CUT.LAST] = -1
    question[AHEAD.TOKENS : AHEAD.TOKENS + len(tokens)] = tokens
    return question
