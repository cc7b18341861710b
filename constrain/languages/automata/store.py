"""Store: builds the expressions of regular languages in an arena, with a cache of lowered syntax trees.

A store without a vocabulary serves the decisions on languages (decide.py); each automaton of the engine has one too.
"""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from constrain.kernels.lexer import derivatives, expressions, spelling, unions
from constrain.kernels.records import arena, view
from constrain.kernels.records.expressions import ALT, AND, EXPRESSION, SPELLED, is_nullable
from constrain.languages.automata.marks import mark_ranges
from constrain.languages.automata.memory import BOTTOM, ArenaMemory, Int32, watch_forks, words_of
from constrain.languages.automata.syntax import Ranges, Tokens
from constrain.lazily import Remembered

MAX_LOWERED = 4096  # cached syntax trees; the arena finds records again without them, and trees cost the collector


class Alphabet:
    """The vocabulary of a store, as far as expressions depend on it. This one has no tokens."""

    def covered_slices(self, ranges: Ranges) -> int:
        """The flags of the vocabulary's slices whose characters are all in the ranges."""
        return 0

    def marks(self, node: Tokens) -> tuple[tuple[tuple[int, int], ...], ...]:
        """The sequences of byte ranges that stand for the tokens of a set.

        Without a vocabulary ids are known, and each name and each negated set is taken for a token of its own.
        """
        if node.negated or any(isinstance(member, str) for member in node.members):
            return (tuple((byte, byte) for byte in b"\xff" + repr(node).encode() + b"\xff"),)
        return mark_ranges(node.members)


class Store:
    """The expressions of one arena. The caller of its methods holds the memory's lock; all raise Flush, LimitError.

    Args:
        memory: The arena; None: one of its own, with these arguments.
        alphabet: Of the vocabulary.

    Attributes:
        lowered: Syntax tree -> expression (lower.py).
        spellings: Part of a character set -> expression (lower.py).
        characters: Spelling -> character -> expression (lower.py).
    """

    def __init__(self, memory: ArenaMemory | None = None, alphabet: Alphabet | None = None, **sizes: Any) -> None:
        if memory is None:
            memory = ArenaMemory(**sizes)
            watch_forks(self)
        self.memory = memory
        self.alphabet = Alphabet() if alphabet is None else alphabet
        self.reset()

    def reset(self) -> None:
        """Make the arena empty, and forget its expressions."""
        self.memory.clear()
        self.lowered: Remembered[Hashable, int] = Remembered(MAX_LOWERED)
        self.spellings: Remembered[Hashable, int] = Remembered(MAX_LOWERED)
        self.characters: defaultdict[Any, dict[str, int]] = defaultdict(dict)

    def after_fork(self) -> None:
        """Forget what may be half made, in a child process."""
        if self.memory.renew_lock():
            self.reset()

    def byte_set(self, members: NDArray[np.bool_]) -> int:
        """The expression of one byte of a set. members: bool[256]."""
        return self.memory.call_on(np.packbits(members, bitorder="little").view(np.int32), expressions.byte_set)

    def concat(self, parts: list[int]) -> int:
        """The concatenation of expressions."""
        return self.memory.call_plain(expressions.concat, np.array(parts, np.int32))

    def union(self, parts: list[int]) -> int:
        """The union of expressions."""
        return self.memory.call_on(self._flat(parts, ALT.KIND), unions.alt, BOTTOM)

    def intersection(self, parts: list[int]) -> int:
        """The intersection of expressions."""
        return self.memory.call_on(self._flat(parts, AND.KIND), expressions.both, BOTTOM)

    def _flat(self, parts: list[int], what: int) -> list[int]:
        """The parts, with those of kind `what` replaced by their own parts."""
        flat: list[int] = []
        for e in parts:
            if arena.kind(self.memory.A, e) == what:
                flat += view.key_words(self.memory.A, e).tolist()
            else:
                flat.append(e)
        return flat

    def complement(self, e: int) -> int:
        """The complement of an expression among all byte strings."""
        return self.memory.call_plain(expressions.negate, e)

    def repeat(self, e: int, low: int, high: int | None) -> int:
        """`low` to `high` copies of an expression; `high` None: unbounded."""
        return self.memory.call_plain(expressions.rep, e, low, -1 if high is None else high)

    def trie(self, characters: list[int], starts: list[int]) -> int:
        """The union of distinct, sorted literals; literal i concatenates `characters[starts[i] : starts[i + 1]]`."""
        table = BOTTOM + len(characters)
        words = characters + [BOTTOM + start for start in starts]
        return self.memory.call_on(words, unions.literal_trie, table, 0, len(starts) - 1, 0)

    def strings(self, texts: Sequence[str], plain: bool) -> int:
        """The union of the JSON strings of ASCII texts: at least two, distinct and sorted. Needs HEADER.SPELLED."""
        return self.memory.call(spelling.any_string, packed([len(texts), *map(len, texts)], "".join(texts), plain))

    def remainder(self, divisor: int, digits: int) -> int:
        """Digit strings of multiples of a divisor. digits: a region of the byte sets of the digits and the point."""
        return self.memory.call_plain(expressions.remainder, divisor, 0, digits)

    def prune(self, e: int) -> int:
        """An equal expression without empty parts; `arena.NONE` if its language is empty. Raises LimitError."""
        return self.memory.call(derivatives.prune, e, 1)

    def run(self, e: int, text: bytes) -> int:
        """The state after a text; `arena.NONE` if no text of the language begins with it. e: a pruned expression."""
        return self.memory.call(derivatives.run, words_of(text), e)

    def successors(self, e: int) -> list[tuple[int, int]]:
        """(least byte, state after it) for each class of bytes that a text can begin with. e: a pruned expression."""
        least, states = self._steps(e)
        pairs = zip(least.tolist(), states.tolist(), strict=True)
        return [pair for pair in pairs if pair[1] != arena.NONE]

    def row(self, e: int) -> list[int]:
        """The state after each of the 256 bytes; `arena.NONE` if no text begins with it. e: a pruned expression."""
        _, states = self._steps(e)
        A = self.memory.A
        after: list[int] = states[view.key_words(A, int(A[e + EXPRESSION.PARTITION])).view(np.uint8)].tolist()
        return after

    def _steps(self, e: int) -> tuple[Int32, Int32]:
        self.memory.call(derivatives.step_by_all, e)
        return view.steps_of(self.memory.A, e)

    def is_nullable(self, e: int) -> bool:
        """True if an expression's language contains the empty text."""
        return bool(is_nullable(self.memory.A, e))


def packed(words: list[int], text: str, plain: bool = False) -> Int32:
    """A message for a kernel: words, then the code points of a text. plain: the text is spelled plainly."""
    message = array("i", words)
    message.frombytes(text.encode("utf-32-le"))
    out = np.frombuffer(message, np.int32)
    if plain:
        out[len(words) :] += SPELLED.PLAIN
    return out
