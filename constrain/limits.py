"""Limits on what reading a constraint may cost: seconds, memory, and whether the request is still wanted.

The idea: reading has corners that grow exponentially: the algebra of schemas, intersections of patterns, terminals made
of terminals. Whatever may take long calls `tick`, which counts steps and looks at the clock every few. Limits are
those of the thread, inside a `with`, so no reader passes them on; the strictest of several that are nested counts.

Kernels look at the clock themselves (kernels/records/arena.py): after 25 ms they ask here for their deadline. Masks and
steps have the limits of the thread too, inside a `with`; else those of their automaton.

Cost: 0.1 µs a tick, 2 µs a look. Where limits have `cancelled`, a thread asks it while a kernel runs that takes long.
"""

from __future__ import annotations

import math
import os
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import Any

from constrain.errors import ConstrainError, LimitError

LONGEST = 1e15  # seconds, MB or steps; more is no limit, and too large for a clock
STEPS_PER_LOOK = 64  # between two looks at the clock
SECONDS_PER_QUESTION = 0.01  # between two calls of `cancelled` while a kernel runs
LOOKS_PER_MEASUREMENT = 32  # looks at the clock between two at the memory, which cost 20 µs
FEWER = "write fewer overlapping combinations (allOf, oneOf, not)"  # what helps a schema
SMALLER = "write a smaller one"  # what helps anything else


@dataclass(frozen=True)
class Limits:
    """The limits on reading a constraint: for `json_schema(..., limits=...)`, `validate(limits)`, or as a context.

    As a context they hold for masks and steps of matchers too; `TokenAutomaton(limits=...)` says what holds outside.

    May be used again, and by several threads: each use starts anew.

    Attributes:
        seconds: CPU time of the thread in seconds; None: no limit. So a busy machine refuses nothing that an idle one
            takes.
        megabytes: Growth of the process's resident memory in MB (10^6 bytes), where /proc/self/statm tells it; None: no
            limit.
        steps: The number of steps of reading, the same on every machine; None: no limit.
        cancelled: A function that is called every few milliseconds, by any thread; when it returns True, reading ends
            with a LimitError. `generate` asks it before each forward.

    Raises:
        ConstrainError: A limit is no number, or negative, or `cancelled` is no function.

    Example:
        >>> import constrain
        >>> from constrain.languages.schema import Limits
        >>> constrain.json_schema({"type": "integer"}, limits=Limits(seconds=1.0))
        json_schema({"type": "integer"})
        >>> with Limits(seconds=1.0):
        ...     constrain.regex("[a-z]+") & constrain.regex("(?s:.{3})")
        regex('[a-z]+') & regex('(?s:.{3})')
    """

    seconds: float | None = 2.0
    megabytes: float | None = 1024.0
    cancelled: Callable[[], bool] | None = None
    steps: int | None = None

    def __post_init__(self) -> None:
        for name in ("seconds", "megabytes", "steps"):
            value = getattr(self, name)
            is_number = isinstance(value, int | float) and not isinstance(value, bool)
            if value is not None and not (is_number and (0 <= value <= LONGEST or value == math.inf)):
                raise ConstrainError(
                    f"{name} is no limit: {value!r:.60}",
                    place=f"Limits({name}=...)",
                    fix="pass a number, 0 or more, or None",
                )
        if self.cancelled is not None and not callable(self.cancelled):
            raise ConstrainError(
                f"cancelled is no function: {self.cancelled!r:.60}",
                place="Limits(cancelled=...)",
                fix="pass a function without arguments, or None",
            )

    def reading(self, what: str, fix: str = SMALLER) -> AbstractContextManager[None]:
        """Limit what is read inside.

        Args:
            what: What is read, for messages: "the schema".
            fix: What makes it cheaper.
        """
        return _Use(self, f"reading {what}", fix)

    def of(self, what: str, fix: str = SMALLER) -> AbstractContextManager[None]:
        """Limit what is done inside. what: what is done, for messages; fix: what makes it cheaper."""
        return _Use(self, what, fix)

    def __enter__(self) -> Limits:
        _enter(replace(self), "reading the constraint", SMALLER, self)
        return self

    def __exit__(self, *error: object) -> None:
        _leave(self)


class _Use:
    """A use of limits as a context, which lives as long as the body of its `with`.

    PERF: two for each schema, of 1 µs; a generator takes 3.
    """

    __slots__ = ("__weakref__", "fix", "limits", "what")

    def __init__(self, limits: Limits, what: str, fix: str) -> None:
        self.limits, self.what, self.fix = limits, what, fix

    def __enter__(self) -> None:
        _enter(self.limits, self.what, self.fix, self)

    def __exit__(self, *error: object) -> None:
        _leave(self)


class _Running:
    """One use of limits. An exception between two lines, of a signal say, may come before the use is ended: then it
    holds no longer than its owner lives, which is freed with the body of the `with`."""

    __slots__ = ("asking", "end", "fix", "limits", "looks", "max_resident", "outer", "owner", "steps", "what")

    def __init__(self, limits: Limits, what: str, fix: str, outer: _Running | None, owner: object) -> None:
        self.limits, self.what, self.fix, self.outer, self.owner = limits, what, fix, outer, weakref.ref(owner)
        self.end = float("inf") if limits.seconds is None else time.thread_time() + limits.seconds
        self.max_resident = 0.0  # known from the first look on
        self.steps = self.looks = 0
        self.asking: _Asking | None = None

    def look(self) -> None:
        """Raise LimitError if a limit is reached, of this use or of one outside."""
        if self.owner() is not None:
            self._look()
        if self.outer is not None:
            self.outer.look()

    def was_cancelled(self) -> LimitError:
        """The error for what is not wanted any more."""
        return LimitError(f"{self.what} was cancelled", fix="ask again")

    def _look(self) -> None:
        limits = self.limits
        if limits.cancelled is not None and limits.cancelled():
            raise self.was_cancelled()
        if time.thread_time() > self.end:
            raise LimitError(
                f"{self.what} takes more than {limits.seconds:g} seconds",
                fix=f"{self.fix}, or pass limits=Limits(seconds=...)",
            )
        self.looks += 1
        if limits.steps is not None and self.looks * STEPS_PER_LOOK > limits.steps:
            raise LimitError(f"{self.what} takes more than {limits.steps} steps", fix=self.fix)
        if limits.megabytes is not None and self.looks % LOOKS_PER_MEASUREMENT == 1:
            if self.looks == 1:
                self.max_resident = resident_megabytes() + limits.megabytes
            elif resident_megabytes() > self.max_resident:
                raise LimitError(
                    f"{self.what} takes more than {limits.megabytes:g} MB of memory",
                    fix=f"{self.fix}, or pass limits=Limits(megabytes=...)",
                )


DEFAULT, UNTIMED, UNLIMITED = Limits(), Limits(seconds=None), Limits(seconds=None, megabytes=None)
_running: ContextVar[_Running | None] = ContextVar("constrain_limits", default=None)


def _innermost() -> _Running | None:
    """The innermost use that has not ended."""
    running = _running.get()
    while running is not None and running.owner() is None:
        running = running.outer
    return running


def _enter(limits: Limits, what: str, fix: str, owner: object) -> None:
    """Begin a use; it is a step of the one outside."""
    outer = _running.get()
    if outer is not None:
        tick()
        outer = _innermost()
    _running.set(_Running(limits, what, fix, outer, owner))


def _leave(owner: object) -> None:
    """End the innermost use, if it is this owner's; its steps count outside, too."""
    running = _running.get()
    if running is None or running.owner() is not owner:
        running = _innermost()
        if running is None or running.owner() is not owner:  # it was interrupted before it began
            return
    if running.asking is not None:
        running.asking.is_over.set()
    if running.outer is not None:
        running.outer.steps += running.steps + running.looks * STEPS_PER_LOOK
    _running.set(running.outer)


def tick(steps: int = 1) -> None:
    """Count some steps of reading. Raises LimitError when a limit is reached."""
    running = _running.get()
    if running is not None:
        running.steps += steps
        if running.steps >= STEPS_PER_LOOK:
            running.steps = 0
            running.look()


def look() -> None:
    """Ask the limits now: between steps that take milliseconds each. Raises LimitError when a limit is reached."""
    running = _innermost()
    if running is not None:
        running.look()


def check_cancelled() -> None:
    """Ask `cancelled` alone: for work whose time is not bounded, a model's. Raises LimitError."""
    running = _innermost()
    while running is not None:
        if running.owner() is not None and running.limits.cancelled is not None and running.limits.cancelled():
            raise running.was_cancelled()
        running = running.outer


class _Asking(threading.Thread):
    """Asks `cancelled` while kernels run, which cannot, and stops them. It ends with the use of the limits."""

    def __init__(self, cancelled: Callable[[], bool], owner: Callable[[], object]) -> None:
        super().__init__(name="constrain-cancelled", daemon=True)
        self.cancelled, self.owner, self.is_over = cancelled, owner, threading.Event()
        self.stops: dict[Any, None] = {}  # functions that stop the kernels of a store
        self.start()

    def run(self) -> None:
        while not self.is_over.wait(SECONDS_PER_QUESTION) and self.owner() is not None:
            if self.cancelled():
                for stop in list(self.stops):
                    stop()


def deadline(begun: float, limits: Limits, what: str, stop: Callable[[], None]) -> float:
    """Until when a kernel may go on that has run for a while, in CPU time of the thread; infinity: without an end.

    Args:
        begun: When it began.
        limits: What holds if the thread has no limits.
        what: What it makes, for messages.
        stop: Stops the kernel; for another thread, if limits are cancelled.

    Raises:
        LimitError: It may not.
    """
    running = _innermost()
    if running is None:
        running = _Running(limits, what, SMALLER, None, limits)
        running.end += begun - time.thread_time()
        running.look()
        return running.end
    running.look()
    end = running.end
    outer: _Running | None = running
    while outer is not None:
        end = min(end, outer.end)
        if outer.limits.cancelled is not None:
            if outer.asking is None:
                outer.asking = _Asking(outer.limits.cancelled, outer.owner)
            outer.asking.stops[stop] = None
        outer = outer.outer
    return end


class limits_at:
    """Give a LimitError from inside that names no place this one. PERF: a generator takes 3 µs, thrice a schema."""

    __slots__ = ("place",)

    def __init__(self, place: Callable[[], str]) -> None:
        self.place = place

    def __enter__(self) -> None: ...

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: object) -> None:
        if isinstance(error, LimitError) and error.place is None:
            raise LimitError(error.message, place=self.place(), fix=error.fix) from None


@contextmanager
def within_stack(what: str, fix: str = "use fewer levels") -> Iterator[None]:
    """Raise a LimitError where what is done inside is deeper than Python's stack. what: what is read, for messages."""
    try:
        yield
    except RecursionError:
        raise LimitError(f"{what} is nested too deeply", fix=fix) from None


def default_limits() -> Limits:
    """The limits of a reader that is given none: those of the thread if it has some, else the default ones."""
    return UNLIMITED if limited() else DEFAULT


def limited() -> bool:
    """True if limits hold here."""
    return _innermost() is not None


def resident_megabytes() -> float:
    """The resident memory of this process in MB; 0 where it cannot be known."""
    try:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6
    except (OSError, ValueError, IndexError):
        return 0.0
