"""The sequences of tokens that a tokenizer itself writes, as an automaton over tokens.

The idea: a tokenizer first takes out its added tokens, cuts what is left into pieces (pieces.py) and merges within each
piece (merges.py). So a sequence is canonical if and only if every border of a piece is an end of a token, and within a
piece no two neighbours would have been joined in another way. Whether a place is a border may depend on what follows;
a state remembers the ends of tokens at places that are still open, and which of them have to become borders, since the
tokens around them would else have been joined.

Cost: a step some 0.2 µs where it is known, some microseconds else.
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
from constrain.errors import VocabularyError
from constrain.kernels.cuts.tables import BEGINS, TOKEN_TEXTS
from constrain.kernels.records.schema import pack
from constrain.languages.cuts.added import AddedTexts, AddedTokens, Begun, taken_out
from constrain.languages.cuts.firsts import FirstTokens
from constrain.languages.cuts.merges import Merges
from constrain.languages.cuts.pieces import Pieces
from constrain.languages.cuts.sentence_pieces import read_pieces
from constrain.languages.cuts.spellings import AddedSpellings
from constrain.languages.vocab.bits import Row, clear_bits, has_bits, set_bits, tokens_of
from constrain.languages.vocab.joined import JoinedTokens
from constrain.languages.vocab.readers import Ranked
from constrain.languages.vocab.vocabulary import Vocabulary
from constrain.lazily import Remembered

NONE = -1  # no token: what comes next begins a piece
MANY = 1 << 16  # steps of tokens that are remembered (43 MB)
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


class CutPlace(NamedTuple):
    """A state of the canonical tokens, as far as kernels know it: what stays undecided of the tokens before."""

    pieces: int
    ends: int
    owed: int


class CanonicalTokens:
    """The canonical sequences of a tokenizer. Threads may share it.

    What it remembers is bounded, however many texts are read: `MANY` steps, and the first tokens of texts (firsts.py).

    Attributes:
        start: The state before a sequence.
        alone, whole, added, specials: uint32[words], the tokens that merging makes of their own text; that are written
            where a piece is their text; that are taken out of a text; that have no bytes.
        none: uint32[words], no token.
        outside: uint32[words], those of `alone` that need no other token to write a character.
        unknown: uint32[words], the tokens of which the tables of kernels do not say what follows.
        firsts: The first tokens of texts that must follow.
        spellings: The tokens that may spell added ones.
        kept: What others keep of these sequences, by its type.

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
        self.byte_tokens = frozenset(tokens_of(merges.byte_tokens).tolist())
        self.added_tokens = AddedTokens(vocabulary, added)
        self.added = self.added_tokens.row
        self.spellings = AddedSpellings(vocabulary, self.added_tokens)
        self._all_taken_out = taken_out or {}
        joined = JoinedTokens.of(vocabulary)
        first = joined.first()
        self.specials = np.zeros(self.words, np.uint32)
        set_bits(self.specials, np.flatnonzero(first == 256))
        self.alone = merges.alone() & ~self.added_tokens.broken
        self.whole = merges.whole & ~self.added_tokens.broken
        self._kinds = _kinds(self.alone, self.whole, self.specials, self.added)
        self.outside = self.alone.copy()
        clear_bits(self.outside, [t for t in self.byte_tokens if self.partial(b"", t, self.tokens[t] or b"") is None])
        self.unknown = self.specials | self.added | self.added_tokens.broken
        parts = [t for t in self.byte_tokens if first[t] >= 0x80]
        is_unknown = np.zeros(len(self.tokens), np.int32)
        is_unknown[[*self.added_tokens.begun]] = BEGINS
        is_unknown[[*tokens_of(self.unknown), *parts]] = 1
        set_bits(self.unknown, [*self.added_tokens.begun, *parts])
        self._is_unknown = is_unknown.astype(np.uint8).tobytes()
        texts = {"STARTS": joined.starts, "BYTES": joined.text.astype(np.int32), "UNKNOWN": is_unknown}
        self._texts = pack(TOKEN_TEXTS, **texts)[0]
        self._written = self.outside | self.whole
        self._after: Remembered[tuple[int, int, int, int], tuple[int, int, int, int]] = Remembered(MANY)
        self._steps: Remembered[tuple[Any, ...], CutState] = Remembered(MANY)
        self.none = np.zeros(vocabulary.words, np.uint32)
        self.none.flags.writeable = False
        self.kept: dict[Any, Any] = {}
        self.start = CutState(NONE, pieces.start, 0, 0)
        self.firsts = FirstTokens(self, vocabulary.trie)

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
            known = self._steps.keep(key, self._step(state, token))
        return known

    def _step(self, state: CutState, token: int) -> CutState:
        kind = self._kinds[token]
        if state == DEAD or kind == UNWRITTEN:
            return DEAD
        if kind == SPECIAL:
            return self.start if self.may_end(state) else DEAD
        begun = self.added_tokens.after(state.begun, token)
        if begun is None:
            return DEAD
        if kind == ADDED:
            return self.start._replace(begun=begun) if self.may_end(state) else DEAD
        after = self._read(state, token, whole=kind == WHOLE)
        return after._replace(begun=begun) if begun and after != DEAD else after

    def _read(self, before: CutState, token: int, *, whole: bool) -> CutState:
        """The state after a token with bytes that is no added one: the plain form of the kernel `step_cut`."""
        text = self.tokens[token] or b""
        partial = self.partial(before.partial, token, text)
        if partial is None:
            return DEAD
        joined = before.last != NONE and (whole or not self.merges.together(before.last, token))
        key = before.pieces, before.ends | 1, before.owed | int(joined), token
        after = self._after.get(key)
        if after is None:
            after = self._after.keep(key, self._settled(*key[:3], text, whole))
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

    def partial(self, partial: bytes, token: int, text: bytes) -> bytes | None:
        """The bytes of an unfinished character after a token; None where the character has a token of its own."""
        if token not in self.byte_tokens:
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
        """The tables of kernels that read tokens: of the pieces, of texts, of merges; the tokens that it writes."""
        return self.pieces.packed(), self._texts, *self.merges.tables, self._written

    def is_unknown(self, token: int) -> bool:
        """True if the tables do not say enough of what follows a token."""
        return token != NONE and self._is_unknown[token] != 0

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
        begun = self.added_tokens.after(state.begun, token)
        begun = self.added_tokens.begun.get(token, ()) if begun is None else begun
        return CutState(token, pieces, int(self.pieces.open[pieces]), 0, begun=begun)

    def after(self, state: CutState, token: int) -> CutState:
        """The state after a token, canonical or not."""
        after = self.step(state, token)
        return self.stray(state, token) if after == DEAD else after

    def among(self, state: CutState, tokens: NDArray[np.int64]) -> Iterator[int]:
        """The ones of some tokens, which begin with the same byte, after which a sequence may still be canonical."""
        if tokens.size and state.last != NONE:
            byte = (self.tokens[tokens[0]] or b"")[:1]
            if not self._settled(state.pieces, state.ends | 1, state.owed | 1, byte, False)[0]:  # no border before them
                may_follow = self.merges.all_together(state.last, tokens.astype(np.int32))
                tokens = tokens[may_follow | has_bits(self.added, tokens)]
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


def canonical_tokens(tokenizer: Any, vocabulary: Vocabulary) -> CanonicalTokens | str:
    """The canonical sequences of a tokenizer, made once for a vocabulary, or why they are not known.

    tokenizer: None: what the vocabulary was read from
    """
    source = vocabulary.tokenizer if tokenizer is None else tokenizer
    if source is None:
        return "the vocabulary does not say which tokenizer it is of"
    source = getattr(source, "backend_tokenizer", source)
    of, known = vocabulary.kept.get(CanonicalTokens, (None, None))
    if of is not source:
        try:
            known = CanonicalTokens.of(source, vocabulary)
        except VocabularyError as error:
            known = error.message
        if source is vocabulary.tokenizer or not isinstance(known, str):
            vocabulary.kept[CanonicalTokens] = source, known
    return known


def _kinds(alone: Row, whole: Row, specials: Row, added: Row) -> bytes:
    """By token, how a tokenizer writes it."""
    kinds = np.full(32 * alone.size, UNWRITTEN, np.uint8)
    for kind, row in ((WHOLE, whole), (ALONE, alone), (ADDED, added), (SPECIAL, specials)):
        kinds[tokens_of(row)] = kind
    return kinds.tobytes()


def _character_length(byte: int) -> int:
    """Bytes of a UTF-8 character that begins with a byte; 0 where none does."""
    return 1 if byte < 0x80 else 2 if 0xC2 <= byte < 0xE0 else 3 if 0xE0 <= byte < 0xF0 else 4 * (0xF0 <= byte < 0xF5)
