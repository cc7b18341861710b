"""The tables by which kernels look ahead: what bytes do after a token (papers/kernels/lookahead.py).

Rows of tokens and of states of the pieces are made when a kernel has missed them. Cost: 3 µs a row of a token.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from constrain.kernels.cuts.tables import MISSES, REFUSED, UNSURE
from constrain.kernels.records.schema import pack
from constrain.languages.cuts.canonical import CanonicalTokens, CutPlace
from constrain.languages.vocab.bits import Row, tokens_of
from constrain.languages.vocab.joined import JoinedTokens
from constrain.papers.cuts.conflicts import Conflicts
from constrain.papers.kernels.lookahead import follow_bytes, let_blanks_follow
from constrain.papers.kernels.records import AFTER_TOKEN, AHEAD, CUT_AHEAD, FOLLOWED
from constrain.papers.kernels.tokens_at import cut_rows

Ints = NDArray[np.int32]


class Verdicts(NamedTuple):
    """The tokens that have no canonical completion, and those of which that is not known."""

    refused: Ints
    unsure: Ints


class FollowTables:
    """The tables of a tokenizer. They grow up to 72 bytes a token.

    Args:
        canonical: Its canonical sequences.
        conflicts: The tokens that may not follow each.
        joined: The bytes of its tokens.
        classes: int32[V], the class of each token.
        apart: int32[8 C], for each class the bytes that follow its tokens in no token, a bitmap.
        becoming: By the text of a token, the bytes behind it in a piece that is a token as a whole.
    """

    def __init__(
        self, canonical: CanonicalTokens, conflicts: Conflicts, joined: JoinedTokens, classes: Ints, apart: Ints,
        becoming: Mapping[bytes, Sequence[int]],
    ) -> None:  # fmt: skip
        self._pieces, self._merges, self._texts = canonical.pieces, canonical.merges, canonical.tokens
        self._conflicts, self._becoming, self._first = conflicts, becoming, joined.first()
        self._alone = canonical.merges.alone()
        others = list(canonical.added_tokens.texts.tokens.values())  # which may follow at any place
        begins = np.concatenate([self._first[tokens_of(self._alone)], self._first[others]])
        self._totals = np.bincount(begins, minlength=257).astype(np.int32)
        strict = apart.copy()
        strict.reshape(-1, 8)[128:] = 0  # a token may end within a character, or in a blank
        count = len(self._first)
        unknown = np.zeros(count, np.int32)
        unknown[tokens_of(canonical.unknown)] = 1
        columns = {"STARTS": joined.starts, "BYTES": joined.text.astype(np.int32), "UNKNOWN": unknown, "TOKENS": count}
        rows = np.zeros(count, np.int32)
        self.table = pack(FOLLOWED, **columns, CLASS=classes, ROW=rows, APART=apart, STRICT=strict)[0]
        self._end = len(self.table)
        self._before_blanks: dict[CutPlace, Row] = {}
        self._lock = threading.Lock()

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
        refused, unsure = [tokens[:0]], [tokens[:0]]
        while True:
            question = _question(tokens, place)
            question[AHEAD.GUARDED], question[AHEAD.BEFORE + CUT_AHEAD.TEXT] = guarded, text
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

    def before_blanks(self, place: CutPlace, cut: Row) -> Row:
        """The tokens after which a blank joins no token.

        Args:
            place: The place before them.
            cut: The tokens that the tokenizer may write there.
        """
        known = self._before_blanks.get(place)
        if known is None:
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
                conflicts = self._conflicts.row(token)
                follow_bytes(conflicts, self._alone, self._first, self._totals, np.zeros(257, np.int32), row)
                for byte in self._becoming.get(self._texts[token] or b"", ()):
                    row.view(np.uint32)[AFTER_TOKEN.JOINING + (byte >> 5)] |= np.uint32(1 << (byte & 31))
                table[table[FOLLOWED.ROW] + token] = end
                end += AFTER_TOKEN.WORDS
            self.table, self._end = table, end


def _question(tokens: NDArray[np.integer], place: CutPlace) -> Ints:
    """A question (AHEAD) about some tokens at a place."""
    question = np.zeros(AHEAD.TOKENS + 2 * len(tokens), np.int32)
    question[AHEAD.COUNT] = len(tokens)
    question[AHEAD.BEFORE + CUT_AHEAD.PIECES : AHEAD.BEFORE + CUT_AHEAD.OWED + 1] = place
    question[AHEAD.BEFORE + CUT_AHEAD.LAST] = -1
    question[AHEAD.TOKENS : AHEAD.TOKENS + len(tokens)] = tokens
    return question
