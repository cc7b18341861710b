"""The operations on tokens, also where a token with bytes may be read as one token too ("any token but these").

The idea: such a token t is two tokens to the kernels, t with its bytes and `offset + t` with its mark
(vocab/marked.py). Reading t is reading either: the configuration after it has the lexemes of both. Its bit in a mask is
set if either is.

Cost: each step runs two kernels from Python, some microseconds; a mask is folded from one of twice the width. Limit:
`lexer="dynamic"`, whose configurations are sets.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from constrain.kernels.masks import fill
from constrain.kernels.parser import advance, configurations, forced
from constrain.kernels.records import arena
from constrain.kernels.records.configurations import CONFIG, PAIR, config_pairs
from constrain.kernels.records.stack import STACK, push
from constrain.languages.automata.memory import BOTTOM, Int32
from constrain.masks.engine.arena_image import VocabularyLayout


class TokenKernels(NamedTuple):
    """The operations on the tokens of a vocabulary: kernels, or what stands for them where tokens are read in two ways.

    Attributes:
        step: (A, H, S, configuration, token) -> state after the token, with the bit `advance.WATCH`.
        known_step: (A, epoch, configuration, token) -> the same without the lock; 0: not known yet.
        fill_mask: (A, H, S, configuration, row) -> flags; writes the mask.
        known_mask: (A, epoch, configuration, row) -> the same without the lock; -1: not known yet.
        forced_token: (A, H, S, configuration) -> the only token that may come next; -1: there are more or none.
        known_forced: (A, epoch, configuration) -> if two bytes or more must follow, without the lock; 0: not known yet.
    """

    step: Callable[..., int]
    known_step: Callable[..., int]
    fill_mask: Callable[..., int]
    known_mask: Callable[..., int]
    forced_token: Callable[..., int]
    known_forced: Callable[..., int]


def token_kernels(layout: VocabularyLayout) -> TokenKernels:
    """The operations on the tokens of a vocabulary. Kernels must be loaded."""
    # PERF: entry points skip numba's dispatch on argument types: 0.1 µs a token
    step, known_step, known_forced = map(_entry_point, (advance.advance, advance.known_step, forced.known_forced))
    if layout.offset:
        two = _TwoWays(layout.offset)
        return TokenKernels(two.step, two.known_step, two.fill_mask, two.known_mask, two.forced_token, known_forced)
    return TokenKernels(step, known_step, fill.fill_mask, fill.known_mask, fill.forced_token, known_forced)


def _entry_point(kernel: Any) -> Callable[..., int]:
    """The entry point of a compiled kernel; the caller passes the right types."""
    overloads = getattr(kernel, "overloads", None)
    return next(iter(overloads.values())).entry_point if overloads else kernel


class _TwoWays:
    """The operations, called like the kernels that they stand for."""

    def __init__(self, offset: int) -> None:
        self.offset = offset

    def step(self, A: Int32, H: Int32, S: Int32, c: int, token: int) -> int:
        """The state after a token that is read as text, as one token, or both: `advance.advance` twice."""
        as_text = advance.advance(A, H, S, c, token)
        S[STACK.TOP] = BOTTOM
        as_token = advance.advance(A, H, S, c, self.offset + token)
        S[STACK.TOP] = BOTTOM
        if arena.NONE in (as_text, as_token) or as_text == as_token:
            return max(as_text, as_token)  # NONE is the least
        return unite(A, H, S, as_text & advance.STATE, as_token & advance.STATE) | (as_text | as_token) & advance.WATCH

    def known_step(self, A: Int32, epoch: int, c: int, token: int) -> int:
        """0: no step is remembered."""
        return 0

    def fill_mask(self, A: Int32, H: Int32, S: Int32, c: int, row: NDArray[np.uint32]) -> int:
        """Write the mask of tokens that are allowed in either way: `fill.fill_mask`, folded."""
        words = self.offset // 32
        both = np.zeros(2 * words, np.uint32)
        flags: int = fill.fill_mask(A, H, S, c, both)
        row[:words] = both[:words] | both[words:]
        row[words:] = 0
        return flags

    def known_mask(self, A: Int32, epoch: int, c: int, row: NDArray[np.uint32]) -> int:
        """-1: no mask is remembered."""
        return -1

    def forced_token(self, A: Int32, H: Int32, S: Int32, c: int) -> int:
        """The only token that is allowed, in either way, or -1."""
        row = np.zeros(self.offset // 32, np.uint32)
        self.fill_mask(A, H, S, c, row)
        (allowed,) = np.nonzero(np.unpackbits(row.view(np.uint8), bitorder="little"))
        return int(allowed[0]) if len(allowed) == 1 else -1


def unite(A: Int32, H: Int32, S: Int32, c: int, d: int) -> int:
    """The configuration with the lexemes of both, under the dynamic lexer. A reference to kernels in Python."""
    pairs = set()
    for configuration in (c, d):
        words = A[config_pairs(configuration) : arena.key_end(A, configuration)].tolist()
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
