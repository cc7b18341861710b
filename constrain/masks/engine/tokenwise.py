"""Automata of vocabularies in which a token with bytes may also be read as one token ("any token but these").

The idea: the token t is two tokens to the kernels, t with its bytes and `offset + t` with its mark (vocab/marked.py).
Reading t is reading either: the configuration after it has the lexemes of both. Its bit in a mask is set if either is.

Cost: each step runs two kernels from Python, some microseconds; a mask is folded from one of twice the width. Limit:
`lexer="dynamic"`, whose configurations are sets.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from constrain.kernels.masks import fill
from constrain.kernels.parser import advance, configurations
from constrain.kernels.records import arena
from constrain.kernels.records.configurations import CONFIG, PAIR, config_pairs
from constrain.kernels.records.stack import STACK, push
from constrain.languages.automata.store import BOTTOM, Int32

if TYPE_CHECKING:
    from constrain.masks.engine.automaton import TokenAutomaton


def install(automaton: TokenAutomaton) -> None:
    """Give an automaton the operations on tokens that may be read in two ways."""
    two = _TwoWays(automaton.offset, automaton.size)
    automaton.step, automaton.known_step = two.step, two.known_step
    automaton.fill_mask, automaton.known_mask, automaton.forced_token = two.fill_mask, two.known_mask, two.forced_token


class _TwoWays:
    """The operations, called like the kernels that they stand for."""

    def __init__(self, offset: int, size: int) -> None:
        self.offset = offset
        self.size = size

    def step(self, A: Int32, H: Int32, S: Int32, c: int, token: int) -> int:
        """See `advance.advance`."""
        as_text = advance.advance(A, H, S, c, token)
        S[STACK.TOP] = BOTTOM
        as_token = advance.advance(A, H, S, c, self.offset + token)
        S[STACK.TOP] = BOTTOM
        if arena.NONE in (as_text, as_token) or as_text == as_token:
            return max(as_text, as_token)  # NONE is the least
        return unite(A, H, S, as_text & advance.STATE, as_token & advance.STATE) | (as_text | as_token) & advance.WATCH

    def known_step(self, A: Int32, epoch: int, c: int, token: int) -> int:
        """See `advance.known_step`: not known."""
        return 0

    def fill_mask(self, A: Int32, H: Int32, S: Int32, c: int, row: NDArray[np.uint32]) -> int:
        """See `fill.fill_mask`."""
        words = self.offset // 32
        both = np.zeros(2 * words, np.uint32)
        flags: int = fill.fill_mask(A, H, S, c, both)
        row[:words] = both[:words] | both[words:]
        row[words:] = 0
        return flags

    def known_mask(self, A: Int32, epoch: int, c: int, row: NDArray[np.uint32]) -> int:
        """See `fill.known_mask`: not known."""
        return -1

    def forced_token(self, A: Int32, H: Int32, S: Int32, c: int) -> int:
        """See `fill.forced_token`."""
        row = np.zeros(self.offset // 32, np.uint32)
        self.fill_mask(A, H, S, c, row)
        (allowed,) = np.nonzero(np.unpackbits(row.view(np.uint8), bitorder="little"))
        return int(allowed[0]) if len(allowed) == 1 else -1


def unite(A: Int32, H: Int32, S: Int32, c: int, d: int) -> int:
    """The configuration with the lexemes of both, under the dynamic lexer. A reference to kernels in Python."""
    pairs = set()
    for each in (c, d):
        words = A[config_pairs(each) : arena.key_end(A, each)].tolist()
        pairs |= {tuple(words[i : i + PAIR.WORDS]) for i in range(0, len(words), PAIR.WORDS)}
    start = int(S[STACK.TOP])
    push(S, A[c + CONFIG.GRAMMAR])
    for pair in sorted(pairs):
        for word in pair:
            push(S, word)
    united: int = arena.intern_list(A, H, S, CONFIG.KIND, start)
    if A[united + CONFIG.WATCHED] == 0:
        configurations.note_watching(A, united)
    return united
