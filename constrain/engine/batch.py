"""Batches of matchers: `fill_masks` and `advance_all`.

The idea: Python only collects the states of the matchers; kernels do the rest (kernels/masks). Masks are computed under
the automaton's lock. Rows are written without it, by as many threads as the caller allows; a flush waits for them
(readers.py). Matchers may belong to several automata of one vocabulary. Each automaton has its own lock, so new masks
are computed in parallel too: compile constraints with `automaton=` for two of them, and allow two threads.

Cost: under 1 µs a matcher whose mask is known. Guards, checks of finished texts and EOS tokens are handled matcher by
matcher, where there are any.
Limit: waking a thread takes longer than writing some hundred rows; below `WORTH_A_THREAD` bytes no thread is used.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from constrain.engine.matcher import _STATE, WATCH, Matcher, Row, _row
from constrain.errors import ConstrainError
from constrain.kernels.masks import batch, fill
from constrain.kernels.records import arena

if TYPE_CHECKING:
    from constrain.engine.automaton import TokenAutomaton

WORTH_A_THREAD = 1 << 22  # bytes of rows
MAX_THREADS = 64
Ids = NDArray[np.int64]


class _Group(NamedTuple):
    """The matchers of one automaton, and the indices of their rows."""

    automaton: TokenAutomaton
    matchers: Sequence[Matcher]
    places: Ids


def fill_masks(matchers: Sequence[Matcher], out: Row, *, threads: int = 1) -> None:
    """Write the masks of a batch: row i of `out` is the mask of `matchers[i]`. Releases the GIL while it computes.

    Args:
        matchers: B matchers of one vocabulary.
        out: uint32[B, >= ceil(V / 32)], C-contiguous and writable (int32 is accepted too); see `Matcher.fill_mask`.
        threads: The greatest number of threads, including the caller's, 1 to 64. Default 1.

    Raises:
        ConstrainError: `out` has another shape or dtype, or the matchers have different vocabularies.
        LimitError: A mask does not fit into the automaton's memory.

    Example:
        >>> import constrain, numpy as np
        >>> vocabulary = constrain.Vocabulary([b"a", b"b", None], eos_ids=[2])
        >>> compiled = constrain.compile(constrain.regex("ab?"), vocabulary)
        >>> matchers = [compiled.matcher(), compiled.matcher()]
        >>> constrain.advance_all(matchers[:1], [0]).tolist()
        [True]
        >>> out = np.zeros((2, vocabulary.words), np.uint32)
        >>> constrain.fill_masks(matchers, out)
        >>> [bin(word) for word in out[:, 0]]
        ['0b110', '0b1']
    """
    _check_matchers(matchers, "fill_masks([matcher], out)")
    _check_threads(threads)
    if not isinstance(out, np.ndarray) or out.ndim != 2 or len(out) != len(matchers):
        given = f"shape {out.shape}" if isinstance(out, np.ndarray) else type(out).__name__
        raise ConstrainError(f"{len(matchers)} matchers need a mask array with as many rows, not {given}")
    if not matchers:
        return
    if not out.flags.c_contiguous:
        raise ConstrainError("the mask array must be C-contiguous", fix="np.ascontiguousarray(out)")
    if len(matchers) == 1:  # PERF: 45 instead of 155 µs between two forwards of a model, when CPU caches are cold
        matchers[0].fill_mask(out[0])
        return
    groups = _groups(matchers, "fill_masks")
    _row(out[0], groups[0].automaton.size)
    rows = out.view(np.uint32)
    cold = [group for group in groups if not _fill(group, rows, threads, find=False)]
    shares = [cold[k::threads] for k in range(min(threads, len(cold)))]
    futures = [_workers().submit(_fill_all, share, rows) for share in shares[1:]]
    try:
        for share in shares[:1]:
            _fill_all(share, rows)
    finally:
        wait(futures)
    for future in futures:
        future.result()


def advance_all(matchers: Sequence[Matcher], token_ids: Sequence[int] | NDArray[np.integer]) -> NDArray[np.bool_]:
    """Advance a batch: `matchers[i]` reads `token_ids[i]`.

    Args:
        matchers: B matchers of one vocabulary, each only once.
        token_ids: B token ids, a list or an integer array.

    Returns:
        bool[B]: whether each token is allowed. A matcher whose token is not allowed is unchanged.

    Raises:
        ConstrainError: The number of ids differs, an id is not in the vocabulary, a matcher occurs twice, or the
            matchers have different vocabularies. Then no matcher has read anything.
        LimitError: A step does not fit into the automaton's memory.

    Example:
        >>> import constrain
        >>> vocabulary = constrain.Vocabulary([b"a", b"b", None], eos_ids=[2])
        >>> compiled = constrain.compile(constrain.regex("ab?"), vocabulary)
        >>> constrain.advance_all([compiled.matcher(), compiled.matcher()], [0, 1]).tolist()
        [True, False]
    """
    _check_matchers(matchers, "advance_all([matcher], [token_id])")
    tokens = np.asarray(token_ids)
    if tokens.shape != (len(matchers),) or (tokens.dtype.kind not in "iu" and len(matchers)):
        raise ConstrainError(f"{len(matchers)} matchers need as many token ids, not {tokens.dtype} {tokens.shape}")
    if len(set(map(id, matchers))) < len(matchers):
        raise ConstrainError("a matcher stands twice in one advance_all() call", fix="fork() it")
    taken = np.zeros(len(matchers), np.bool_)
    if not matchers:
        return taken
    groups = _groups(matchers, "advance_all")
    size = groups[0].automaton.size
    wrong = tokens[(tokens < 0) | (tokens >= size)]
    if wrong.size:
        raise ConstrainError(f"token id {wrong[0]} is outside the vocabulary of {size} tokens")
    for group in groups:
        _advance(group, tokens.astype(np.int64)[group.places], taken)
    return taken


def _advance(group: _Group, tokens: Ids, taken: NDArray[np.bool_]) -> None:
    automaton, matchers, places = group
    results = np.empty(len(matchers), np.int64)
    ends = np.zeros(len(matchers), np.bool_)
    for eos in automaton.eos_ids:
        ends |= tokens == eos

    def operation() -> None:
        states = np.array(_states(matchers, automaton.epoch), np.int64)
        states[ends] = 0
        automaton.call(batch.advance_all, states, tokens, results)
        for i, (matcher, token, state) in enumerate(zip(matchers, tokens.tolist(), results.tolist(), strict=True)):
            if arena.NONE < state < WATCH:
                matcher._states.append(state)
                matcher._steps.append(token)
                results[i] = -1

    automaton.attempt(operation)
    taken[places] = results == -1
    for i in np.flatnonzero(results >= WATCH).tolist():
        matcher, token = matchers[i], int(tokens[i])
        if matcher._is_clear(token, keep=True):
            matcher._states.append(int(results[i]) & _STATE)
            matcher._steps.append(token)
            taken[places[i]] = True
    for i in np.flatnonzero(ends).tolist():
        taken[places[i]] = matchers[i].advance(int(tokens[i]))  # it also runs the check of the finished text


def _fill_all(groups: list[_Group], rows: Row) -> None:
    for group in groups:
        _fill(group, rows, 1, find=True)


def _fill(group: _Group, rows: Row, threads: int, find: bool) -> bool:
    """Fill the rows of a group. If a mask is not known yet and `find` is False, fill no row and return False."""
    automaton, matchers, places = group
    states, records, flags = np.empty((3, len(matchers)), np.int64)

    def operation() -> bool:
        states[:] = _states(matchers, automaton.epoch)
        if automaton.call(batch.known_masks, states, records, flags):
            if not find:
                return False
            automaton.call(batch.find_masks, states, records)
        automaton.readers.enter()
        return True

    with automaton.lock:  # so that `words` is the arena that the operation has used
        if not automaton.attempt(operation):
            return False
        words = automaton.A
    try:
        _write(words, records, places, rows, threads)
    finally:
        automaton.readers.leave()
    always = [m.compiled.always_guarded for m in matchers]
    for i in range(len(matchers)) if any(always) else np.flatnonzero(flags).tolist():
        watched = always[i] or flags[i] & fill.IS_WATCHED
        if states[i] and (watched or matchers[i].compiled.constraint.residual):
            matchers[i]._narrow(rows[places[i]], int(flags[i]))
    return True


def _write(words: Any, records: Ids, places: Ids, rows: Row, threads: int) -> None:
    """Write the rows, with other threads if that is faster."""
    counter = np.zeros(2, np.int64)
    for _ in range(min(threads - 1, rows.nbytes // WORTH_A_THREAD)):
        _workers().submit(batch.write_masks, words, records, places, rows, counter)
    done = batch.write_masks(words, records, places, rows, counter)
    while done < len(records):  # another thread is still writing a row
        time.sleep(0)
        done = batch.written(counter)


# --- checks and groups ------------------------------------------------------------------------------------------------


def _check_matchers(matchers: Sequence[Matcher], example: str) -> None:
    if isinstance(matchers, Matcher) or not set(map(type, matchers)) <= {Matcher}:
        wrong = [matchers] if isinstance(matchers, Matcher) else [m for m in matchers if not isinstance(m, Matcher)]
        if wrong:
            message = f"{example.partition('(')[0]}() takes a list of matchers, not {wrong[0]!r:.60}"
            raise ConstrainError(message, fix=example)


def _check_threads(threads: int) -> None:
    if not isinstance(threads, int) or not 1 <= threads <= MAX_THREADS:
        raise ConstrainError(f"threads is a number from 1 to {MAX_THREADS}, not {threads!r}")


def _groups(matchers: Sequence[Matcher], caller: str) -> list[_Group]:
    """The matchers by automaton. Raises ConstrainError if their vocabularies differ."""
    automata = [m._automaton for m in matchers]
    distinct = dict.fromkeys(automata)
    if len(distinct) == 1:
        return [_Group(automata[0], matchers, np.arange(len(matchers)))]
    if len({m.compiled.vocabulary for m in matchers}) > 1:
        raise ConstrainError(f"the matchers of one {caller}() call must share a vocabulary")
    groups = []
    for automaton in distinct:
        places = [i for i, other in enumerate(automata) if other is automaton]
        groups.append(_Group(automaton, [matchers[i] for i in places], np.array(places)))
    return groups


def _states(matchers: Sequence[Matcher], epoch: int) -> list[int]:
    """The configuration of each matcher; 0 if it has read an EOS. The caller holds the lock."""
    for matcher in matchers:
        if matcher._epoch != epoch:
            matcher._follow()
    return [0 if m._finished else m._states[-1] for m in matchers]


# --- threads ----------------------------------------------------------------------------------------------------------

_pool: ThreadPoolExecutor | None = None
_pool_lock = threading.Lock()


def _workers() -> ThreadPoolExecutor:
    """The thread pool of the process, made at first use."""
    global _pool
    with _pool_lock:
        if _pool is None:
            _pool = ThreadPoolExecutor(MAX_THREADS, thread_name_prefix="constrain")
        return _pool


def _forget_workers() -> None:
    global _pool, _pool_lock
    _pool, _pool_lock = None, threading.Lock()


if hasattr(os, "register_at_fork"):  # a child process does not inherit threads
    os.register_at_fork(after_in_child=_forget_workers)
