"""Store: owns an arena, grows it when a kernel fills it, and builds expressions in it.

A store without a vocabulary serves the decisions on languages (decide.py); the engine's stores contain one.
Thread-safe: kernels change the arena, so every call holds the store's lock; kernels release the GIL while they run.

Limit: `budget` bytes. A store over budget raises `Flush`, and the engine clears the arena and reads again; without a
budget the limit is an error.
"""

from __future__ import annotations

import mmap
import os
import threading
import time
import weakref
from array import array
from collections import defaultdict
from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from constrain import kernels
from constrain.errors import LimitError
from constrain.kernels.gaps import derivations, layers, least, lexemes  # noqa: F401  (all are declared for `load`)
from constrain.kernels.lexer import derivatives, expressions, spelling, unions
from constrain.kernels.masks import batch, fill, logits  # noqa: F401  (all are declared for `load`)
from constrain.kernels.parser import items, key_set_rules, object_rules  # noqa: F401  (all are declared for `load`)
from constrain.kernels.records import arena, stack, view
from constrain.kernels.records.arena import HEADER
from constrain.kernels.records.expressions import ALT, AND, EXPRESSION, SPELLED, init, is_nullable
from constrain.kernels.records.stack import STACK
from constrain.languages.automata.marks import mark_ranges
from constrain.languages.automata.syntax import Ranges, Tokens
from constrain.limits import STEPS_PER_LOOK, Limits, deadline, look, tick

Int32 = NDArray[np.int32]
MAX_WORDS = 1 << 30
MAX_LOWERED = 4096  # cached syntax trees; the arena finds records again without them, and trees cost the collector


STOPS = (
    arena.ArenaFull,
    arena.HashFull,
    arena.OutOfTime,
    stack.ScratchFull,
    items.Unexpanded,
    derivatives.SearchLimit,
)
SCRATCH = 1 << 18  # words of the scratch stack at first
FIRST_LOOK = 25  # ms of CPU time after which a kernel asks for its deadline
WORDS_PER_LOOK = 1 << 21  # of memory that is touched; 1 to 4 ms
BOTTOM = STACK.WORDS  # of the scratch stack; its top when a kernel is called


class Flush(Exception):
    """The arena is over its budget."""


def pages(words: int, at_once: int = 0) -> Int32:
    """int32[words], zero. The first `at_once` words are touched now, in huge pages if the system has them.

    PERF: numpy requests huge pages for everything. They make walks faster, but the mask that first writes to one pays
    for clearing 2 MiB: up to 5 ms, against about 2 µs for a page of 4 KiB (note 0005).
    """
    if hasattr(mmap, "MAP_PRIVATE"):  # a child of this process must not write to the same memory
        memory = mmap.mmap(-1, 4 * words, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    else:
        memory = mmap.mmap(-1, 4 * words)
    if at_once and hasattr(mmap, "MADV_HUGEPAGE"):
        memory.madvise(mmap.MADV_HUGEPAGE, 0, 4 * at_once)
    array = np.frombuffer(memory, np.int32)
    for at in range(0, at_once, WORDS_PER_LOOK):
        look()
        array[at : min(at + WORDS_PER_LOOK, at_once) : mmap.PAGESIZE // 4] = 0
    return array


class Store:
    """An arena A, its hash table H and scratch stack S (int32 arrays), with a cache of lowered syntax trees.

    Args:
        words: The initial size of A.
        slots: The initial size of H, a power of two.
        budget: The bytes of A at which `Flush` is raised instead of growing; None: grow up to 4 GiB.
        at_once: The words of A to touch now (`pages`).
    """

    limits = Limits(seconds=None, megabytes=None)  # of kernels, where the thread has none
    one_by_one = True  # each call is an operation; those of the engine are made of many
    begun: float | None = None  # when the operation began, in CPU time of the thread, once a kernel has asked

    def __init__(self, words: int = 1 << 16, slots: int = 1 << 14, budget: int | None = None, at_once: int = 0) -> None:
        kernels.load()
        self.lock = threading.RLock()
        _stores.add(self)
        self.budget_words = min(MAX_WORDS, budget // 4) if budget is not None else MAX_WORDS
        self.may_exceed = False  # set while an operation runs that does not fit into an empty arena
        self._sizes = words, slots, at_once
        self._allocate()
        self.reset()

    def _allocate(self) -> None:
        """Make the arrays, as large as they are at first."""
        words, slots, at_once = self._sizes
        self.A: Int32 = pages(words, at_once)
        self.H: Int32 = np.zeros(slots, np.int32)
        self.S: Int32 = np.zeros(SCRATCH, np.int32)

    def after_fork(self) -> None:
        """In a child process: end what a thread was doing that only the parent has."""
        if self.lock.acquire(blocking=False):
            self.lock.release()
        else:
            self.lock = threading.RLock()
            self.interrupted()

    def interrupted(self) -> None:
        """Forget what may be half made; the engine overrides this."""
        self.reset()

    def reset(self) -> None:
        """Make an empty arena. What was larger than at first, for one large constraint, is given back."""
        words, slots, _ = self._sizes
        if self.A.size > words or self.H.size > slots or self.S.size > SCRATCH:
            self._allocate()
        self.H[:] = 0
        self.lowered: dict[Hashable, int] = {}
        self.spellings: dict[Hashable, int] = {}  # cache of parts of character sets (lower.py)
        self.characters: defaultdict[Any, dict[str, int]] = defaultdict(dict)  # cache by spelling (lower.py)
        init(self.A, self.H)
        expressions.init_expressions(self.A, self.H)
        self.A[HEADER.ALLOWED] = FIRST_LOOK
        self.A[HEADER.UNEXPANDED] = arena.region(self.A, items.MAX_UNEXPANDED)
        self.search_limit = int(self.A[HEADER.SEARCH_LIMIT])  # where a search ends; the header says where it pauses

    def call(self, function: Callable[..., int], *args: Any) -> int:
        """Run a kernel (A, H, S, *args); whenever it stops, `serve` it and call it again. The caller holds the lock.

        Raises Flush, LimitError.
        """
        if self.one_by_one:
            self.begin()
        while True:
            self.S[STACK.TOP] = BOTTOM
            try:
                return function(self.A, self.H, self.S, *args)
            except STOPS as stop:
                self.serve(stop)

    def serve(self, stop: Exception) -> None:
        """Do what a kernel needs that has stopped: grow an array or expand nonterminals. The caller holds the lock.

        Raises Flush, LimitError.
        """
        match stop:
            case arena.ArenaFull():
                tick(STEPS_PER_LOOK)
                self._grow()
            case arena.OutOfTime():
                self._allow()
            case arena.HashFull():
                larger = np.zeros(self.H.size * 2, np.int32)
                arena.move_hash(self.A, self.H, larger)
                self.H = larger
            case stack.ScratchFull():
                self.S = np.zeros(self.S.size * 2, np.int32)
            case items.Unexpanded():
                self.expand()
            case _:
                limit = int(self.A[HEADER.SEARCH_LIMIT])
                if limit < self.search_limit:  # what was found stays known, so that searching again is cheap
                    tick(STEPS_PER_LOOK)
                    self.A[HEADER.SEARCH_LIMIT] = min(limit + max(limit // 4, 1), self.search_limit)
                    return
                raise LimitError(
                    f"deciding whether an intersection or complement is empty needs more than {limit} states",
                    fix="simplify the pattern, or lower its counted repetitions",
                ) from None

    def _allow(self) -> None:
        """Let a kernel go on that has come to its deadline, which is at first after a short time, then at the end of
        all limits. Raises LimitError."""
        now = time.thread_time()
        self.A[HEADER.STOPPED] = 0
        if self.begun is None:
            self.begun = now - FIRST_LOOK / 1000
        end = min(deadline(self.begun, self.limits, "a mask or a step", self.stop), now + 1e6)
        self.A[HEADER.DEADLINE] = int(end * 1000) + 1

    def begin(self) -> None:
        """Begin an operation: the time of kernels counts from here. The caller holds the lock."""
        self.begun = None
        self.A[HEADER.DEADLINE] = 0

    def stop(self) -> None:
        """Let the kernel that is running ask whether it may go on. For other threads."""
        self.A[HEADER.STOPPED] = 1

    def _grow(self) -> None:
        need = int(self.A[HEADER.TOP]) + int(self.A[HEADER.NEED])
        words = min(max(self.A.size * 2, need + need // 4), MAX_WORDS)
        if words > self.budget_words and not self.may_exceed:
            words = self.budget_words
        if words < need:
            if self.budget_words < MAX_WORDS and not self.may_exceed:
                raise Flush
            raise LimitError(f"the automaton needs more than {MAX_WORDS * 4 >> 30} GiB")
        larger = pages(words)
        top = int(self.A[HEADER.TOP])
        larger[:top] = self.A[:top]
        self.A = larger

    def expand(self) -> None:
        """Expand the nonterminals that a kernel waits for; the engine overrides this."""
        raise NotImplementedError

    def pending(self) -> list[int]:
        """The nonterminals that a kernel waits for; clears the list."""
        waiting = sorted(set(view.unexpanded(self.A).tolist()))
        self.A[HEADER.N_UNEXPANDED] = 0
        return waiting

    def covered_slices(self, ranges: Ranges) -> int:
        """The flags of the vocabulary's slices whose characters are all in the ranges; the engine overrides this."""
        return 0

    def marks(self, node: Tokens) -> tuple[tuple[tuple[int, int], ...], ...]:
        """The sequences of byte ranges that stand for the tokens of a set.

        A store without a vocabulary knows ids; it takes each name, and each negated set, for a token of its own.
        """
        if node.negated or any(isinstance(member, str) for member in node.members):
            return (tuple((byte, byte) for byte in b"\xff" + repr(node).encode() + b"\xff"),)
        return mark_ranges(node.members)

    # -- expressions ---------------------------------------------------------------------------------------------------

    def _with_stack(self, words: list[int] | Int32, function: Callable[..., int], *args: Any) -> int:
        """Call a kernel that takes its operands from the scratch stack, from BOTTOM on."""

        def place(A: Int32, H: Int32, S: Int32, *rest: Any) -> int:
            end = BOTTOM + len(words)
            if end > stack.stack_end(S):
                raise stack.ScratchFull
            S[BOTTOM:end] = words
            S[STACK.TOP] = end
            return function(A, H, S, *rest)

        return self.call(place, *args)

    def byte_set(self, members: NDArray[np.bool_]) -> int:
        """The expression of one byte of a set. members: bool[256]."""
        return self._with_stack(np.packbits(members, bitorder="little").view(np.int32), expressions.byte_set)

    def concat(self, parts: list[int]) -> int:
        """The concatenation of expressions."""
        return self.call(_concat, np.array(parts, np.int32))

    def union(self, parts: list[int]) -> int:
        """The union of expressions."""
        return self._with_stack(self._flat(parts, ALT.KIND), unions.alt, BOTTOM)

    def intersection(self, parts: list[int]) -> int:
        """The intersection of expressions."""
        return self._with_stack(self._flat(parts, AND.KIND), expressions.both, BOTTOM)

    def _flat(self, parts: list[int], what: int) -> list[int]:
        """The parts, with those of kind `what` replaced by their own parts."""
        flat: list[int] = []
        for e in parts:
            if arena.kind(self.A, e) == what:
                flat += view.key_words(self.A, e).tolist()
            else:
                flat.append(e)
        return flat

    def complement(self, e: int) -> int:
        """The complement of an expression among all byte strings."""
        return self.call(_negate, e)

    def repeat(self, e: int, low: int, high: int | None) -> int:
        """`low` to `high` copies of an expression; `high` None: unbounded."""
        return self.call(_rep, e, low, -1 if high is None else high)

    def trie(self, characters: list[int], starts: list[int]) -> int:
        """The union of distinct, sorted literals; literal i concatenates `characters[starts[i] : starts[i + 1]]`."""
        table = BOTTOM + len(characters)
        words = characters + [BOTTOM + start for start in starts]
        return self._with_stack(words, unions.literal_trie, table, 0, len(starts) - 1, 0)

    def strings(self, texts: Sequence[str], plain: bool) -> int:
        """The union of the JSON strings of ASCII texts: at least two, distinct and sorted. Needs HEADER.SPELLED."""
        return self.call(spelling.any_string, packed([len(texts), *map(len, texts)], "".join(texts), plain))

    def region(self, words: Sequence[int] | Int32) -> int:
        """The offset of a new region with these words."""
        at = self.call(_region, len(words))
        self.A[at : at + len(words)] = words
        return at

    def remainder(self, divisor: int, digits: int) -> int:
        """Digit strings of multiples of a divisor. digits: a region of the byte sets of the digits and the point."""
        return self.call(_remainder, divisor, digits)

    def prune(self, e: int) -> int:
        """An equal expression without empty parts; `arena.NONE` if its language is empty. Raises LimitError."""
        return self.call(derivatives.prune, e, 1)

    def run(self, e: int, text: bytes) -> int:
        """The state after a text; `arena.NONE` if no member begins with it. e: a pruned expression."""
        return self.call(derivatives.run, np.frombuffer(text, np.uint8).astype(np.int32), e)

    def successors(self, e: int) -> list[int]:
        """The state after each of the 256 bytes; `arena.NONE` if no member begins so. e: a pruned expression."""
        self.call(_prepare, e)
        after = [
            self.call(derivatives.run, np.array([byte], np.int32), e) for byte in view.least_bytes(self.A, e).tolist()
        ]
        classes = view.key_words(self.A, int(self.A[e + EXPRESSION.PARTITION])).view(np.uint8)
        return [after[number] for number in classes.tolist()]

    def is_nullable(self, e: int) -> bool:
        """True if an expression's language contains the empty text."""
        return bool(is_nullable(self.A, e))


_stores: weakref.WeakSet[Store] = weakref.WeakSet()


def _after_fork() -> None:
    for store in list(_stores):
        store.after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def keep(table: dict[Hashable, int], key: Hashable, e: int) -> int:
    """Cache an expression in `lowered` or `spellings`, and return it."""
    if len(table) >= MAX_LOWERED:
        table.clear()
    table[key] = e
    return e


def packed(words: list[int], text: str, plain: bool = False) -> Int32:
    """A message for a kernel: words, then the code points of a text. plain: the text is spelled plainly."""
    message = array("i", words)
    message.frombytes(text.encode("utf-32-le"))
    out = np.frombuffer(message, np.int32)
    if plain:
        out[len(words) :] += SPELLED.PLAIN
    return out


def _region(A: Int32, H: Int32, S: Int32, n: int) -> int:
    return arena.region(A, n)


def _prepare(A: Int32, H: Int32, S: Int32, e: int) -> int:
    derivatives.prepare(A, H, S, e, EXPRESSION.ROW)
    return e


def _concat(A: Int32, H: Int32, S: Int32, parts: Int32) -> int:
    return expressions.concat(A, H, parts)


def _remainder(A: Int32, H: Int32, S: Int32, divisor: int, digits: int) -> int:
    return expressions.remainder(A, H, divisor, 0, digits)


def _negate(A: Int32, H: Int32, S: Int32, e: int) -> int:
    return expressions.negate(A, H, e)


def _rep(A: Int32, H: Int32, S: Int32, e: int, low: int, high: int) -> int:
    return expressions.rep(A, H, e, low, high)
