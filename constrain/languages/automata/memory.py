"""ArenaMemory: owns the arrays of an arena, calls kernels on them, and gives a kernel what it lacks when it stops.

Thread-safe: kernels change the arena, so every call holds the lock; kernels release the GIL while they run.

Limit: `budget` bytes. A memory over budget raises `Flush`, and the engine clears the arena and reads again; without a
budget the limit is an error.
"""

from __future__ import annotations

import mmap
import os
import sys
import threading
import time
import weakref
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from constrain import kernels
from constrain.errors import LimitError
from constrain.kernels.lexer import derivatives, expressions
from constrain.kernels.masks import batch, fill, logits  # noqa: F401  (all are declared for `load`)
from constrain.kernels.parser import items, key_set_rules, object_rules  # noqa: F401  (all are declared for `load`)
from constrain.kernels.records import arena, stack
from constrain.kernels.records.arena import HEADER
from constrain.kernels.records.expressions import init
from constrain.kernels.records.stack import STACK
from constrain.limits import STEPS_PER_LOOK, UNLIMITED, Limits, deadline, look, tick

Int32 = NDArray[np.int32]
MAX_WORDS = 1 << 30
STOPS = (arena.ArenaFull, arena.HashFull, arena.OutOfTime, stack.ScratchFull, items.Unexpanded, derivatives.SearchLimit)
SCRATCH = 1 << 18  # words of the scratch stack at first
FIRST_LOOK = 25  # ms of CPU time after which a kernel asks for its deadline
WORDS_PER_LOOK = 1 << 21  # of memory that is touched; 1 to 4 ms
BOTTOM = STACK.WORDS  # of the scratch stack; its top when a kernel is called


class Flush(Exception):
    """The arena is over its budget."""


class Expander(Protocol):
    """The automaton whose nonterminals are in the arena."""

    def expand(self) -> None:
        """Expand the nonterminals that a kernel waits for."""


def has_gil() -> bool:
    """True if one thread at a time runs Python: false in free-threaded builds (PEP 703)."""
    return getattr(sys, "_is_gil_enabled", lambda: True)()


def words_of(text: bytes) -> Int32:
    """The bytes of a text, one a word, as kernels take them."""
    return np.frombuffer(text, np.uint8).astype(np.int32)


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


class ArenaMemory:
    """An arena A, its hash table H and scratch stack S (int32 arrays), with the lock under which kernels are called.

    Args:
        words: The initial size of A.
        slots: The initial size of H, a power of two.
        budget: The bytes of A at which `Flush` is raised instead of growing; None: grow up to 4 GiB.
        at_once: The words of A to touch now (`pages`).
        limits: Of an operation, where the thread has no limits.
        one_by_one: Each call is an operation; else operations are made of many calls, and `begin` begins one.
        expander: Expands nonterminals; None: there are none. Only a weak reference is kept: so the arrays are freed at
            once with the automaton.

    Attributes:
        budget_words: The words of A that may be exceeded by nothing but one operation.
        may_exceed: Set while an operation runs that does not fit into an empty arena.
        search_limit: The states at which a search ends; the header says where it pauses.
    """

    def __init__(
        self, words: int = 1 << 16, slots: int = 1 << 14, budget: int | None = None, *, at_once: int = 0,
        limits: Limits = UNLIMITED, one_by_one: bool = True, expander: Expander | None = None,
    ) -> None:  # fmt: skip
        kernels.load()
        self.lock = threading.RLock()
        self.limits = limits
        self.may_exceed = False
        self._expander = (lambda: None) if expander is None else weakref.ref(expander)
        self.budget_words = min(MAX_WORDS, budget // 4) if budget is not None else MAX_WORDS
        self._sizes = words, slots, at_once
        self._one_by_one = one_by_one
        self._begun: float | None = None  # in CPU time of the thread, once a kernel has asked
        self._allocate()

    def _allocate(self) -> None:
        """Make the arrays, as large as they are at first."""
        words, slots, at_once = self._sizes
        self.A: Int32 = pages(words, at_once)
        self.H: Int32 = np.zeros(slots, np.int32)
        self.S: Int32 = np.zeros(SCRATCH, np.int32)

    def clear(self) -> None:
        """Make the arena empty. What was larger than at first, for one large constraint, is given back.

        Without an interpreter's lock other threads may be reading what is known: they read the old array to the end.
        """
        words, slots, _ = self._sizes
        if not has_gil() or self.A.size > words or self.H.size > slots or self.S.size > SCRATCH:
            self._allocate()
        self.H[:] = 0
        init(self.A, self.H)
        expressions.init_expressions(self.A, self.H)
        self.A[HEADER.ALLOWED] = FIRST_LOOK
        self.A[HEADER.UNEXPANDED] = arena.region(self.A, items.MAX_UNEXPANDED)
        self.search_limit = int(self.A[HEADER.SEARCH_LIMIT])

    def renew_lock(self) -> bool:
        """In a child process: end what a thread was doing that only the parent has. Returns whether there was one."""
        if self.lock.acquire(blocking=False):
            self.lock.release()
            return False
        self.lock = threading.RLock()
        return True

    # -- calls ---------------------------------------------------------------------------------------------------------

    def call(self, function: Callable[..., int], *args: Any) -> int:
        """Run a kernel (A, H, S, *args); whenever it stops, `serve` it and call it again. The caller holds the lock.

        Raises Flush, LimitError.
        """
        if self._one_by_one:
            self.begin()
        while True:
            self.S[STACK.TOP] = BOTTOM
            try:
                return function(self.A, self.H, self.S, *args)
            except STOPS as stop:
                self.serve(stop)

    def call_plain(self, function: Callable[..., int], *args: Any) -> int:
        """`call` a kernel (A, H, *args), which needs no scratch stack."""
        if self._one_by_one:
            self.begin()
        while True:
            try:
                return function(self.A, self.H, *args)
            except STOPS as stop:
                self.serve(stop)

    def call_on(self, words: Sequence[int] | Int32, function: Callable[..., int], *args: Any) -> int:
        """`call` a kernel that takes operands from the scratch stack, from BOTTOM on."""

        def push_and_call(A: Int32, H: Int32, S: Int32, *rest: Any) -> int:
            end = BOTTOM + len(words)
            if end > stack.stack_end(S):
                raise stack.ScratchFull
            S[BOTTOM:end] = words
            S[STACK.TOP] = end
            return function(A, H, S, *rest)

        return self.call(push_and_call, *args)

    def region(self, words: Sequence[int] | Int32) -> int:
        """The offset of a new region with these words."""
        at = self.call(lambda A, H, S: arena.region(A, len(words)))
        self.A[at : at + len(words)] = words
        return at

    def begin(self) -> None:
        """Begin an operation: the time of kernels counts from here. The caller holds the lock."""
        self._begun = None
        self.A[HEADER.DEADLINE] = 0

    def stop(self) -> None:
        """Let the kernel that is running ask whether it may go on. For other threads."""
        self.A[HEADER.STOPPED] = 1

    # -- stopped kernels -----------------------------------------------------------------------------------------------

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
                expander = self._expander()
                assert expander is not None  # it makes the call
                expander.expand()
            case _:
                self._search_on()

    def _search_on(self) -> None:
        """Let a search go on that pauses, up to the limit. Raises LimitError."""
        limit = int(self.A[HEADER.SEARCH_LIMIT])
        if limit >= self.search_limit:
            raise LimitError(
                f"deciding whether an intersection or complement is empty needs more than {limit} states",
                fix="simplify the pattern, or lower its counted repetitions",
            ) from None
        tick(STEPS_PER_LOOK)  # the states that were found stay known, so that searching again is cheap
        self.A[HEADER.SEARCH_LIMIT] = min(limit + max(limit // 4, 1), self.search_limit)

    def _allow(self) -> None:
        """Let a kernel go on that has come to its deadline, which is at first after a short time, then at the end of
        all limits. Raises LimitError."""
        now = time.thread_time()
        self.A[HEADER.STOPPED] = 0
        if self._begun is None:
            self._begun = now - FIRST_LOOK / 1000
        end = min(deadline(self._begun, self.limits, "a mask or a step", self.stop), now + 1e6)
        self.A[HEADER.DEADLINE] = int(end * 1000) + 1

    def _grow(self) -> None:
        """Move A to a larger array. Raises Flush, LimitError."""
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


# --- processes that fork ----------------------------------------------------------------------------------------------


_with_locks: weakref.WeakSet[Any] = weakref.WeakSet()


def watch_forks(owner: Any) -> None:
    """Call `owner.after_fork()` in child processes while the owner lives: a thread may hold its locks."""
    _with_locks.add(owner)


def _after_fork() -> None:
    for owner in list(_with_locks):
        owner.after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
