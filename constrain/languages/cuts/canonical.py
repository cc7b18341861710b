"""The sequences of tokens that a tokenizer itself writes, as an automaton over tokens.

The idea: a tokenizer first takes out its added tokens, cuts what is left into pieces (pieces.py) and merges within each
piece (merges.py). So a sequence is canonical if and only if every border of a piece is an end of a token, and within a
piece no two neighbours would have been joined in another way. Whether a place is a border may depend on what follows;
a state remembers the ends of tokens at places that are still open, and which of them have to become borders, since the
tokens around them would else have been joined.

Cost: a bitmask row is three bitmaps of the state of the pieces (made once for each) and one of the last token.
Limits: a piece that is a token as a whole, though no merges make it (`ignore_merges`), counts as canonical in its
merged form too. The beginning of a sequence is the beginning of a text, without a blank that the tokenizer would put
before it. A text that spells a special token has no canonical sequence; states do not tell, `strays` does.

Source: Vieira et al. 2025, "Language models over canonical byte-pair encodings"; Berglund and van der Merwe 2023,
"Formalizing BPE tokenization".
"""

from __future__ import annotations

import bisect
import itertools
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from constrain import kernels
from constrain.kernels.cuts.lookahead import follow_bytes
from constrain.kernels.cuts.rows import narrow_row
from constrain.kernels.cuts.tables import AFTER_TOKEN
from constrain.languages.cuts.added import AddedTexts, AddedTokens, Begun, taken_out
from constrain.languages.cuts.following import CutPlace, FollowTables
from constrain.languages.cuts.forced import ForcedCuts
from constrain.languages.cuts.merges import Merges
from constrain.languages.cuts.pieces import Pieces
from constrain.languages.cuts.remembered import Remembered
from constrain.languages.cuts.sentence_pieces import read_pieces
from constrain.languages.vocab.bits import clear_bits, has_bit, has_bits, set_bits, tokens_of
from constrain.languages.vocab.joined import JoinedTokens
from constrain.languages.vocab.readers import Ranked
from constrain.languages.vocab.vocabulary import Vocabulary

Row = NDArray[np.uint32]

NONE = -1  # no token: what comes next begins a piece
BLANKS = b"\t\n\x0b\x0c\r \x85\xa0\x80"  # last bytes of characters that are blanks
MOST_BLANKS = 4096  # tokens that end in a blank whose following bytes are found beforehand
MANY = 1 << 16  # steps of tokens that are remembered (43 MB), and bytes that leave a state as it is (10 MB)
MEMORY = 64 << 20  # bytes of rows that are remembered
UNWRITTEN, ALONE, WHOLE, ADDED, SPECIAL = range(5)  # how a tokenizer writes a token


class CutState(NamedTuple):
    """After a sequence. It holds all that counts, so nothing is kept of states but what can be computed again.

    last: the token before, NONE at the beginning of a piece. pieces: the state of the pieces
    ends: the open places at which a token ends, bit k: k bytes back. owed: which of them have to become borders
    partial: bytes of a character that is written by tokens of one byte. begun: of added tokens (added.py)
    """

    last: int
    pieces: int
    ends: int
    owed: int
    partial: bytes = b""
    begun: Begun = ()


DEAD = CutState(NONE, 0, 0, 0)
"""After a sequence that is not canonical."""


class CanonicalTokens:
    """The canonical sequences of a tokenizer. Threads may share it.

    What it remembers is bounded, however many texts are read: `MEMORY` bytes of rows, as much again by the merges, and
    `MANY` steps; its tables for kernels (following.py) grow up to 72 bytes a token.

    Attributes:
        start: The state before a sequence.
        places: What constraints remember of the masks of their places, all together `MEMORY` bytes.
        first_bytes: int32[V], the first byte of each token, 256 where it has none.
        forced: The cuts of texts that must follow.
        refused: The tokens that they refuse since no completion is left, all together a quarter of that.

    Example:
        >>> import constrain
        >>> from constrain.languages.cuts import CanonicalTokens
        >>> tokenizer = constrain.reference.load().tokenizer
        >>> vocabulary = constrain.Vocabulary.from_huggingface(tokenizer)
        >>> canonical = CanonicalTokens.of(tokenizer, vocabulary)
        >>> canonical.strays(tokenizer("A word, and another")["input_ids"])
        []
    """

    def __init__(
        self,
        vocabulary: Vocabulary,
        pieces: Pieces,
        merges: Merges,
        added: Sequence[int] = (),
        taken_out: Mapping[bytes, int] | None = None,
    ) -> None:
        """added: tokens with bytes that are taken out of a text before it is cut into pieces.

        taken_out: all texts that are taken out, those of special tokens, too.
        """
        kernels.load()
        self.tokens, self.words = vocabulary.tokens, vocabulary.words  # not the vocabulary, which may keep this
        self.pieces = pieces
        self.merges = merges
        self._byte_tokens = frozenset(tokens_of(merges.byte_tokens).tolist())
        joined = JoinedTokens.of(vocabulary)
        self.added = AddedTokens(vocabulary, added)
        self._all_taken_out = taken_out or {}
        self.first_bytes = joined.first()
        self._specials = np.zeros(self.words, np.uint32)
        set_bits(self._specials, np.flatnonzero(self.first_bytes == 256))
        self._alone = merges.alone() & ~self.added.broken
        self._whole = merges.whole & ~self.added.broken
        self._kinds = _kinds(self._alone, self._whole, self._specials, self.added.row)
        self._outside = self._alone.copy()  # less those that are written only within a character, if at all
        clear_bits(
            self._outside, [t for t in self._byte_tokens if self._partial(b"", t, self.tokens[t] or b"") is None]
        )
        self._written = self._outside | self._whole
        self._nothing = np.zeros(self.words, np.uint32)
        ending = self._specials | self.added.row
        self._ending_words = np.flatnonzero(ending)
        self._ending = ending[self._ending_words]
        self._becoming = _becoming([self.tokens[token] or b"" for token in tokens_of(self._whole).tolist()])
        self._rows = Remembered[Row](MEMORY)
        self.places = Remembered[Any](MEMORY)
        self.refused = Remembered[Any](MEMORY // 4)
        self._after: dict[tuple[int, int, int, int], tuple[int, int, int, int]] = {}
        self._steps: dict[tuple[Any, ...], CutState] = {}
        self._loose: dict[CutState, NDArray[np.int32]] = {}
        self.start = CutState(NONE, pieces.start, 0, 0)
        self.forced = ForcedCuts(self, vocabulary.trie)
        self.following = self._following(joined)

    @classmethod
    def of(cls, tokenizer: Any, vocabulary: Vocabulary) -> CanonicalTokens:
        """The canonical sequences of a tokenizer of byte-pair encodings.

        Args:
            tokenizer: Of transformers, a `tokenizers.Tokenizer`, a `tiktoken.Encoding`, a
                `sentencepiece.SentencePieceProcessor`, or the `Ranked` tokens of a Tekken file.
            vocabulary: Its vocabulary, which may be longer than the tokenizer's.

        Raises:
            VocabularyError: The tokenizer cuts in a way that is not understood exactly; the message says which.
        """
        backend = getattr(tokenizer, "backend_tokenizer", tokenizer)
        if hasattr(backend, "_mergeable_ranks"):
            backend = Ranked(backend._pat_str, backend._mergeable_ranks)
        if isinstance(backend, Ranked):
            pieces = Pieces.of_regex(backend.pattern, "tiktoken")
            return cls(vocabulary, pieces, Merges.of_ranks(backend.ranks, vocabulary))
        if hasattr(backend, "serialized_model_proto"):
            scored = read_pieces(backend)
            return cls(vocabulary, Pieces([]), Merges.of_pieces(scored, vocabulary), scored.defined)
        return cls(vocabulary, Pieces.of(backend), Merges.of(backend, vocabulary), *taken_out(backend, vocabulary))

    # -- states --------------------------------------------------------------------------------------------------------

    def step(self, state: CutState, token: int) -> CutState:
        """The state after a token; DEAD where no canonical sequence goes on so. A token without bytes begins anew."""
        key = (*state, token)  # PERF: not of a state, which the garbage collector would look at
        known = self._steps.get(key)
        if known is None:
            if len(self._steps) > MANY:
                self._steps.clear()
            known = self._steps[key] = self._step(state, token)
        return known

    def _step(self, state: CutState, token: int) -> CutState:
        kind = self._kinds[token]
        if state == DEAD or kind == UNWRITTEN:
            return DEAD
        if kind == SPECIAL:
            return self.start if self.may_end(state) else DEAD
        begun = self.added.after(state.begun, token)
        if begun is None:
            return DEAD
        if kind == ADDED:
            return self.start._replace(begun=begun) if self.may_end(state) else DEAD
        after = self._read(state, token, whole=kind == WHOLE)
        return after._replace(begun=begun) if begun and after != DEAD else after

    def _read(self, before: CutState, token: int, *, whole: bool) -> CutState:
        """The state after a token with bytes that is no added one: the plain form of the kernel `step_cut`."""
        text = self.tokens[token] or b""
        partial = self._partial(before.partial, token, text)
        if partial is None:
            return DEAD
        joined = before.last != NONE and (whole or not self.merges.together(before.last, token))
        key = before.pieces, before.ends | 1, before.owed | int(joined), token
        after = self._after.get(key)
        if after is None:
            if len(self._after) > MANY:
                self._after.clear()
            after = self._after[key] = self._settled(*key[:3], text, whole)
        pieces, ends, owed, border = after
        return CutState(NONE if border else token, pieces, ends, owed, partial) if pieces else DEAD

    def _settled(self, pieces: int, ends: int, owed: int, text: bytes, whole: bool) -> tuple[int, int, int, int]:
        """(state of the pieces, ends, owed) after a token, and whether its end is a border; zeros where it is wrong."""
        border = 0
        for i, byte in enumerate(text):
            pieces, borders, opened = self._byte(pieces, byte)
            ends, owed = ends << 1 | (i == len(text) - 1), owed << 1
            if not pieces or borders & ~ends or owed & ~(borders | opened):
                return 0, 0, 0, 0
            ends, owed, border = ends & opened, owed & opened, borders & 1
        if whole and not border:
            if not ends & 1:
                return 0, 0, 0, 0
            owed |= 1
        return pieces, ends, owed, border

    def _byte(self, pieces: int, byte: int) -> tuple[int, int, int]:
        """(the next state of the pieces, the borders that the byte settles, the places that are open)"""
        after = self.pieces.step(pieces, byte)
        return after, int(self.pieces.ended[pieces, byte]), int(self.pieces.open[after])

    def _partial(self, partial: bytes, token: int, text: bytes) -> bytes | None:
        """The bytes of an unfinished character of byte tokens; None where the character has a token of its own."""
        if token not in self._byte_tokens:
            return None if partial else b""
        whole = partial + text
        length = _character_length(whole[0])
        if length == 0 or any(byte >> 6 != 2 for byte in whole[1:]):
            return None
        if len(whole) < length:
            return whole
        return None if self.merges.has_character(whole) else b""

    def place(self, state: CutState) -> CutPlace | None:
        """The state for kernels, without the token before; None where they do not know enough of it."""
        if state.partial or state.begun or state == DEAD:
            return None
        return CutPlace(state.pieces, state.ends, state.owed)

    def tables(self) -> tuple[NDArray[Any], ...]:
        """The tables of kernels that read tokens: of the pieces, what follows tokens, the merges; tokens it writes."""
        return self.pieces.packed(), self.following.table, *self.merges.tables, self._written

    def is_unknown(self, token: int) -> bool:
        """True if the tables do not say enough of what follows a token."""
        return token != NONE and self.following.is_unknown(token)

    def unlinked(self, state: CutState, *, joined: bool = False) -> CutState:
        """The state without the token before it, equal for many states: what follows joins it only if `joined`, and a
        border has to come between them."""
        return state._replace(last=NONE, owed=state.owed | joined)

    def may_end(self, state: CutState) -> bool:
        """True if the sequence is canonical when nothing follows."""
        if state == DEAD:
            return False
        borders = self.pieces.finish(state.pieces)
        return not state.partial and not borders & ~(state.ends | 1) and not state.owed & ~(borders | 1)

    def stray(self, state: CutState, token: int) -> CutState:
        """The state after a token that is not canonical there: what follows is canonical from it on."""
        text = self.tokens[token]
        if not text:
            return self.start
        pieces = state.pieces or self.pieces.start
        for byte in text:
            pieces = self.pieces.step(pieces, byte) or self.pieces.start
        return CutState(token, pieces, int(self.pieces.open[pieces]), 0, begun=self.added.begun.get(token, ()))

    def after(self, state: CutState, token: int) -> CutState:
        """The state after a token, canonical or not."""
        after = self.step(state, token)
        return self.stray(state, token) if after == DEAD else after

    def among(self, state: CutState, tokens: NDArray[np.int64]) -> Iterator[int]:
        """The ones of some tokens, which begin with the same byte, after which a sequence may still be canonical."""
        if tokens.size and state.last != NONE:
            byte = (self.tokens[tokens[0]] or b"")[:1]
            if not self._settled(state.pieces, state.ends | 1, state.owed | 1, byte, False)[0]:  # no border before them
                tokens = tokens[~has_bits(self.merges.conflicts(state.last) & ~self.added.row, tokens)]
        return (token for token in tokens.tolist() if self.step(state, token) != DEAD)

    def strays(self, tokens: Sequence[int]) -> list[int]:
        """The places of a sequence at which the tokenizer writes another token, for an ended text."""
        found, state = [], self.start
        for place, token in enumerate(tokens):
            after = self.step(state, token)
            if after == DEAD:
                found.append(place)
                after = self.stray(state, token)
            state = after
        found += [] if self.may_end(state) else [len(tokens)]
        return sorted({*found, *self._special(tokens)})

    @cached_property
    def _taken_out(self) -> AddedTexts:
        return AddedTexts(self._all_taken_out)

    def _special(self, tokens: Sequence[int]) -> Iterator[int]:
        """The places of tokens that complete the text of a special one."""
        ends = [*itertools.accumulate(len(self.tokens[token] or b"\xff") for token in tokens)]  # ff is in no text
        text = b"".join(self.tokens[token] or b"\xff" for token in tokens)
        for start, end in self._taken_out.within(text):
            if not self.tokens[self._taken_out.tokens[text[start:end]]]:
                yield bisect.bisect_left(ends, end)

    # -- rows ----------------------------------------------------------------------------------------------------------

    def row(self, state: CutState) -> Row:
        """uint32[words], read-only: the tokens after which a sequence may still be canonical.

        Tokens without bytes are in it where the text may end.
        """
        known = self._rows.get(state)
        if known is None:
            known = np.full(self.words, 0xFFFFFFFF, np.uint32)
            self.narrow(state, known)
            known.flags.writeable = False
            self._rows.keep(state, known, known.nbytes)
        return known

    def narrow(self, state: CutState, row: Row) -> bool:
        """Keep those tokens of a mask that are in `row(state)`. Returns whether some of them are `joined`."""
        if state == DEAD:
            row[:] = 0
            return False
        kept = row[self._ending_words] & self._ending if self.may_end(state) else None
        alone, whole = self._alone if state.partial else self._outside, self._whole
        conflicts = self.merges.conflicts(state.last) if state.last != NONE else self._nothing
        if state.last == NONE:
            alone, whole = alone | whole, self._nothing
        joined = narrow_row(self._before(state.pieces, state.ends, state.owed), conflicts, alone, whole, row)
        if state.partial:
            self._keep_bytes(row, state.partial)
        if kept is not None:
            row[self._ending_words] |= kept
        if state.begun:
            clear_bits(row, self.added.completing(state.begun, row))
        return bool(joined)

    def joined(self, state: CutState) -> Row:
        """uint32[words], those tokens of `row` before which a border still has to come, as they would join."""
        opened = self._before(state.pieces, state.ends, state.owed)[2 * self.words :]
        return opened & (self.merges.conflicts(state.last) | self._whole)

    def _keep_bytes(self, row: Row, partial: bytes) -> None:
        """Keep the byte tokens that go on with a character, if it has no token of its own."""
        kept = [token for token in self._byte_tokens if has_bit(row, token)]
        row[:] = 0
        set_bits(row, [t for t in kept if self._partial(partial, t, self.tokens[t] or b"") is not None])

    def _before(self, pieces: int, ends: int, owed: int) -> Row:
        """The tokens before which is a border, is none, or may be one: three masks."""
        place = CutPlace(pieces, ends, owed)
        known = self._rows.get(place)
        if known is None:
            known = self.following.fronts(place)
            self._rows.keep(place, known, known.nbytes)
        return known

    def _following(self, joined: JoinedTokens) -> FollowTables:
        """The tables by which kernels look ahead."""
        text, starts = joined.text.astype(np.int32), joined.starts
        unknown = self._specials | self.added.row | self.added.broken
        set_bits(unknown, [token for token in self._byte_tokens if self.first_bytes[token] >= 0x80])
        set_bits(unknown, self.added.begun)
        return FollowTables(
            self.pieces, self.merges, classes=lambda: self._apart_by_class(text, starts), first=self.first_bytes,
            starts=starts, text=text, becoming=lambda token: self._becoming.get(self.tokens[token] or b"", ()),
            unknown=tokens_of(unknown).astype(np.int32), others=list(self.added.texts.tokens.values()),
        )  # fmt: skip

    def _apart_by_class(
        self, text: NDArray[np.int32], starts: NDArray[np.int32]
    ) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """The class of each token, and for each class the bytes that may be told at once to leave it as it is.

        A token's class is its last byte, and those bytes follow that one in no token. But what follows a blank may
        still put a border before it, so tokens that end in one have classes of their own.
        """
        ends = starts[1:] - 1
        classes = np.where(ends >= starts[:-1], text[ends], 0).astype(np.int32)
        tables = [_apart(text, starts)]
        if self.pieces.open[self.pieces.step(self.pieces.start, ord(" "))]:
            blank = np.flatnonzero(np.isin(classes, list(BLANKS)) & (ends >= starts[:-1]))
            for number, token in enumerate(blank.tolist()):
                state = self.step(self.start, token) if number < MOST_BLANKS else DEAD
                classes[token] = 256 + number
                tables.append(np.zeros(8, np.int32) if state == DEAD else self.loose(state))
        return classes, np.concatenate(tables)

    def loose(self, state: CutState) -> NDArray[np.int32]:
        """int32[8], a bitmap of bytes: whatever begins with one of them leaves the tokens so far as they are.

        So a text that goes on with such a byte has a canonical sequence that begins with the one so far.
        """
        known = self._loose.get(state)
        if known is None:
            if len(self._loose) > MANY:
                self._loose.clear()
            known = self._loose[state] = self._loose_bytes(state)
        return known

    def _loose_bytes(self, now: CutState) -> NDArray[np.int32]:
        loose = np.zeros(256, bool)
        if now.partial or now.begun:
            return np.packbits(loose, bitorder="little").view(np.int32)
        pieces = self.pieces
        if pieces.next[now.pieces].min() < 0:
            pieces.expand(now.pieces)
        after, borders = pieces.next[now.pieces], pieces.ended[now.pieces]
        opened = pieces.open[after]
        ends, owed = (now.ends | 1) << 1, now.owed << 1
        safe = (after > 0) & (borders & ~(ends | 1) == 0) & (owed & ~borders == 0) & (opened & ~(ends | 1) == 0)
        if now.last == NONE:
            loose = safe
        else:
            conflicts, counts = self.merges.conflicts(now.last), np.zeros(257, np.int32)
            follow_bytes(
                conflicts, self._alone, self.first_bytes, counts, counts, np.zeros(AFTER_TOKEN.WORDS, np.int32)
            )
            counts[self._becoming.get(self.tokens[now.last] or b"", [])] = 1
            loose = safe & ((borders >> 1 & 1 == 1) | (counts[:256] == 0))
        return np.packbits(loose, bitorder="little").view(np.int32)


def _kinds(alone: Row, whole: Row, specials: Row, added: Row) -> bytes:
    """By token, how a tokenizer writes it."""
    kinds = np.full(32 * alone.size, UNWRITTEN, np.uint8)
    for kind, row in ((WHOLE, whole), (ALONE, alone), (ADDED, added), (SPECIAL, specials)):
        kinds[tokens_of(row)] = kind
    return kinds.tobytes()


def _becoming(texts: Sequence[bytes]) -> dict[bytes, list[int]]:
    """By a text within some texts, the bytes that follow it there: a piece that ends with it may become one of them."""
    found: dict[bytes, set[int]] = {}
    for text in texts:
        for end in range(1, len(text)):
            for start in range(end):
                found.setdefault(text[start:end], set()).add(text[end])
    return {text: sorted(following) for text, following in found.items()}


def _apart(text: NDArray[np.int32], starts: NDArray[np.int32]) -> NDArray[np.int32]:
    """int32[256 * 8], for each byte a bitmap of the bytes that follow it in no token."""
    inside = np.ones(len(text), bool)
    inside[starts[1:][starts[1:] > starts[:-1]] - 1] = False  # last bytes
    first = np.flatnonzero(inside)
    apart = np.ones((256, 256), bool)
    apart[text[first], text[first + 1]] = False
    return np.packbits(apart, axis=1, bitorder="little").view(np.int32).reshape(-1)


def _character_length(byte: int) -> int:
    """Bytes of a UTF-8 character that begins with a byte; 0 where none does."""
    return 1 if byte < 0x80 else 2 if 0xC2 <= byte < 0xE0 else 3 if 0xE0 <= byte < 0xF0 else 4 * (0xF0 <= byte < 0xF5)
