"""Pieces: where a tokenizer cuts a text before its model sees it, known while bytes arrive.

The idea: a pre-tokenizer is a row of stages, most of them a regex (pre_tokenizers.py). Their automata over characters
(piece_stages.py) become one over bytes here, in tables that kernels read; a row is filled when a text reaches it.

Positions are counted in bytes back from the end of what was read: bit k of a mask is the place k bytes before the end.
A byte settles some positions as borders (`ended`, each once), leaves some undecided (`open`), and all others are no
borders. The end of a text is always one.

Cost: 15 ms to make, and 20 to 500 ms once a process for the sets of a regex; a row 0.04 ms, up to 3. A megabyte of
prose and code reaches 60 to 110 rows. A row takes 2 kB, made for ten times as many states.
Limit: a state in which more than `LIMIT` bytes are undecided is `DEAD` (27 blanks after a line feed, Llama 3's regex).
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from constrain.errors import VocabularyError
from constrain.kernels.cuts.tables import BORDERS
from constrain.kernels.records.schema import pack
from constrain.languages.cuts.piece_regex import compile_pieces, parse_pieces
from constrain.languages.cuts.piece_sets import CHARACTER, symbols, utf8_rows
from constrain.languages.cuts.piece_stages import DEAD, LIMIT, Following, Interned, RegexStage, Stage
from constrain.languages.cuts.pre_tokenizers import GPT2, Cut, read_normalizer, read_pre_tokenizer, state_of

__all__ = ["DEAD", "GPT2", "LIMIT", "Pieces"]


class Pieces:
    """An automaton over bytes that knows the borders of a tokenizer's pieces.

    Args:
        cuts: The stages, in order.
        prepends: See the attribute.
        form: See the attribute.
        blank_as: The character that the stages see for a blank.

    Attributes:
        start: The state at the beginning of a text.
        next, ended, open: int32 tables: `next[state, byte]` (−1: `expand` the state first), the mask of the borders
            that the byte settles, and the mask `open[state]` of positions that are undecided. `expand` and `step` may
            put larger tables in their place.
        prepends: The tokenizer writes a blank before a text (that begins with none): it is read as part of the text.
        form: "NFC": the tokenizer brings texts to this form first; the pieces are those of texts that are in it.

    Raises:
        VocabularyError: Something that the stages do is not understood.

    Example:
        >>> from constrain.languages.cuts.pieces import GPT2, Pieces
        >>> pieces, borders = Pieces.of_regex(GPT2, "tokenizers"), []
        >>> state, text = pieces.start, b"it's 10"
        >>> for at, byte in enumerate(text, 1):
        ...     borders += [at - k for k in range(8) if pieces.borders(state, byte) >> k & 1]
        ...     state = pieces.step(state, byte)
        >>> borders, bin(pieces.open[state]), bin(pieces.finish(state))
        ([2, 4], '0b1', '0b1')
    """

    start = 1

    def __init__(
        self, cuts: Sequence[Cut], *, prepends: bool = False, form: str | None = None, blank_as: str = " "
    ) -> None:
        self.prepends, self.form = prepends, form
        sets: dict[tuple[str, str], int] = {}
        programs = [compile_pieces(cut.tree, sets) for cut in cuts or [Cut(None)]]
        self._symbols = symbols(sets, ord(blank_as))
        self._whole: Stage | None = None
        for cut, program in zip(cuts or [Cut(None)], programs, strict=True):
            stage = RegexStage(program, self._symbols, glued=cut.glued, total=cut.total)
            self._whole = stage if self._whole is None else Following(self._whole, stage, self._symbols)
        self._rows = utf8_rows(self._symbols.of)
        self._states = Interned()
        self._lock = threading.Lock()
        self.next = np.full((64, 256), -1, dtype=np.int32)
        self.ended = np.zeros((64, 256), dtype=np.int32)
        self.open = np.zeros(64, dtype=np.int32)
        self._finish = np.zeros(64, dtype=np.int32)
        self._packed: NDArray[np.int32] | None = None
        self.next[DEAD] = DEAD
        self._state(1, (0, 0))

    @classmethod
    def of(cls, tokenizer: Any) -> Pieces:
        """The pieces of a fast tokenizer of transformers, or a `tokenizers.Tokenizer`.

        Args:
            tokenizer: The tokenizer.

        Raises:
            VocabularyError: Its normalizer changes texts, or a part of its pre-tokenizer is not understood.
        """
        backend = getattr(tokenizer, "backend_tokenizer", tokenizer)
        if not hasattr(backend, "pre_tokenizer"):
            raise VocabularyError(f"the pieces of {type(tokenizer).__name__} are not known: it has no fast backend")
        prepends, form, blank_as = read_normalizer(state_of(backend.normalizer))
        cuts, also_prepends = read_pre_tokenizer(state_of(backend.pre_tokenizer), True)
        return cls(cuts, prepends=prepends or also_prepends, form=form, blank_as=blank_as)

    @classmethod
    def of_regex(cls, pattern: str, engine: str = "tiktoken") -> Pieces:
        """The pieces that one regex makes.

        Args:
            pattern: The regex, in the syntax of the engine.
            engine: "tiktoken" (what does not match is dropped: refused), or "tokenizers" (it is a piece).

        Raises:
            VocabularyError: A part of it is not understood.
        """
        return cls([Cut(parse_pieces(pattern, engine), total=engine == "tiktoken")])

    def step(self, state: int, byte: int) -> int:
        """The state after a byte.

        Args:
            state: The state before it.
            byte: The byte.
        """
        if self.next[state, byte] < 0:
            self.expand(state)
        return int(self.next[state, byte])

    def borders(self, state: int, byte: int) -> int:
        """The mask of the positions that a byte settles as borders.

        Args:
            state: The state before it.
            byte: The byte; position 0 is after it.
        """
        self.step(state, byte)
        return int(self.ended[state, byte])

    def finish(self, state: int) -> int:
        """The mask of the positions that become borders if the text ends; 0 inside a character.

        Args:
            state: The state at the end.
        """
        return int(self._finish[state])

    def packed(self) -> NDArray[np.int32]:
        """The tables as one array, as kernels take them (`BORDERS`); a new one after `expand`."""
        packed = self._packed
        if packed is None:
            with self._lock:
                packed, _ = pack(
                    BORDERS,
                    NEXT=self.next.reshape(-1),
                    ENDED=self.ended.reshape(-1),
                    OPEN=self.open,
                    FINISH=self._finish,
                )
                self._packed = packed
        return packed

    def expand(self, state: int) -> None:
        """Fill the rows of a state.

        Args:
            state: A state that `step` or `next` gave.
        """
        assert self._whole is not None
        with self._lock:
            if self.next[state, 0] >= 0:
                return
            whole, (depth, row) = self._states.values[state]
            targets, masks = np.zeros(256, dtype=np.int32), np.zeros(256, dtype=np.int32)
            made: dict[int, tuple[int, int]] = {-1: (DEAD, 0)}
            for byte, below in enumerate(self._rows[depth][row]):
                if below not in made:
                    if below < CHARACTER:
                        made[below] = (self._state(whole, (below >> 20, below & 0xFFFFF)), 0)
                    else:
                        after, settled = self._whole.read(whole, below - CHARACTER)
                        found = self._state(after, (0, 0))
                        made[below] = (found, settled if found else 0)
                targets[byte], masks[byte] = made[below]
            self.ended[state] = masks
            self.next[state] = targets  # last: readers without the lock look here first
            self._packed = None

    def _state(self, whole: int, row: tuple[int, int]) -> int:
        """The number of a state, with its undecided positions; DEAD if they are too many."""
        assert self._whole is not None
        undecided = self._whole.open(whole) << row[0]
        if whole == DEAD or undecided >> LIMIT + row[0] + 1:
            return DEAD
        state = self._states.number((whole, row))
        if state >= len(self.open):
            self.next = np.concatenate([self.next, np.full_like(self.next, -1)])
            self.ended = np.concatenate([self.ended, np.zeros_like(self.ended)])
            self.open = np.concatenate([self.open, np.zeros_like(self.open)])
            self._finish = np.concatenate([self._finish, np.zeros_like(self._finish)])
        self.open[state] = undecided
        self._finish[state] = self._whole.finish(whole) if row == (0, 0) else 0
        return state
