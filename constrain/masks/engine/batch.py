"""Batches of matchers: `fill_masks` and `advance_all`.

The idea: Python only collects the states of the matchers; kernels do the rest (kernels/masks). Masks are computed under
the automaton's lock; known ones are looked up without it. Rows are written without it, by as many threads as the caller
allows; a flush waits for them (readers.py). Matchers may belong to several automata of one vocabulary, each with a lock
of its own: then new masks are made by several threads too, which brings little, since rules are expanded in Python
(note 0013).

Cost: under 1 µs a matcher whose mask is known. Guards, checks of finished texts and EOS tokens are handled matcher by
matcher, where there are any.
Limit: waking a thread takes longer than writing some hundred rows; below `WORTH_A_THREAD` bytes no thread is used.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from constrain.errors import ConstrainError
from constrain.kernels.masks import batch, fill
from constrain.kernels.records import arena
from constrain.masks.engine.automaton import TokenAutomaton
from constrain.masks.engine.matcher import WATCH, Matcher
from constrain.masks.engine.rows import Row, Rows, checked_row, shared_array

WORTH_A_THREAD = 1 << 22  # bytes of rows
MAX_THREADS = 64
Ids = NDArray[np.int64]


class _Group(NamedTuple):
    """The matchers of one automaton, and the numbers of their rows."""

    automaton: TokenAutomaton
    matchers: Sequence[Matcher]
    numbers: Ids


def fill_masks(
    matchers: Sequence[Matcher], out: Rows, *, rows: Sequence[int] | NDArray[np.integer] | None = None, threads: int = 1
) -> None:
    """Write the masks of a batch: row i of `out` is the mask of `matchers[i]`. Known masks need no lock.

    Args:
        matchers: B matchers of one vocabulary.
        out: uint32[N, >= ceil(V / 32)], C-contiguous and writable, int32 too: an array, or a tensor of torch in the
            memory of the CPU. See `Matcher.fill_mask`.
        rows: B different row numbers: `matchers[i]` is written to `out[rows[i]]`, and other rows stay as they are.
            Default: B rows, in order, and N = B.
        threads: The greatest number of threads, including the caller's, 1 to 64. Default 1. New masks are made in
            parallel where the matchers belong to several automata.

    Raises:
        ConstrainError: `out` or `rows` has another shape or dtype, or the matchers have different vocabularies.
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
    if not isinstance(threads, int) or not 1 <= threads <= MAX_THREADS:
        raise ConstrainError(f"threads is a number from 1 to {MAX_THREADS}, not {threads!r}")
    out = shared_array(out)
    numbers = _row_numbers(rows, len(matchers), out)
    if not matchers:
        return
    if not out.flags.c_contiguous:
        raise ConstrainError("the mask array must be C-contiguous", fix="np.ascontiguousarray(out)")
    if len(matchers) == 1:  # PERF: 45 instead of 155 µs between two forwards of a model, when CPU caches are cold
        matchers[0].fill_mask(out[numbers[0]])
        return
    groups = _groups(matchers, numbers, "fill_masks")
    checked_row(out[0], groups[0].automaton.layout.size)
    words = out.view(np.uint32)
    cold = [group for group in groups if not _fill_known(group, words, threads)]
    left = iter(cold)  # each thread takes the next group
    futures = [_workers().submit(_fill_all, left, words) for _ in range(min(threads, len(cold)) - 1)]
    try:
        _fill_all(left, words)
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
    groups = _groups(matchers, np.arange(len(matchers)), "advance_all")
    size = groups[0].automaton.layout.size
    wrong = tokens[(tokens < 0) | (tokens >= size)]
    if wrong.size:
        raise ConstrainError(f"token id {wrong[0]} is outside the vocabulary of {size} tokens")
    for group in groups:
        _advance(group, tokens.astype(np.int64)[group.numbers], taken)
    return taken


def _advance(group: _Group, tokens: Ids, taken: NDArray[np.bool_]) -> None:
    automaton, matchers, numbers = group
    if automaton.layout.offset:  # the batch's kernels read each token in one way only (tokenwise.py)
        taken[numbers] = [matcher.advance(token) for matcher, token in zip(matchers, tokens.tolist(), strict=True)]
        return
    results = np.empty(len(matchers), np.int64)
    ends = np.zeros(len(matchers), np.bool_)
    for eos in automaton.layout.eos_ids:
        ends |= tokens == eos
    if {id(m._eos_ids) for m in matchers} != {id(automaton.layout.eos_ids)}:
        ends = np.array([token in m._eos_ids for m, token in zip(matchers, tokens.tolist(), strict=True)])
    if not _step_known(group, tokens, ends, results):

        def operation() -> None:
            _follow(matchers, automaton.epoch)
            states = np.array(_states(matchers), np.int64)
            states[ends] = 0
            automaton.memory.call(batch.advance_all, states, tokens, results)
            _note_steps(matchers, tokens, results)

        automaton.attempt(operation)
    taken[numbers] = (results > arena.NONE) & (results < WATCH)
    for i in np.flatnonzero(results >= WATCH).tolist():
        taken[numbers[i]] = matchers[i].advance(int(tokens[i]))
    for i in np.flatnonzero(ends).tolist():
        taken[numbers[i]] = matchers[i].advance(int(tokens[i]))  # it also runs the check of the finished text


def _step_known(group: _Group, tokens: Ids, ends: NDArray[np.bool_], results: Ids) -> bool:
    """Advance a group without the lock. If a step is not known yet, take none and return False."""
    automaton, matchers, _ = group
    epoch = automaton.epoch
    if {m._epoch for m in matchers} != {epoch}:
        return False
    states = np.array(_states(matchers), np.int64)
    states[ends] = 0
    if batch.known_steps(automaton.memory.A, epoch, states, tokens, results):
        return False
    _note_steps(matchers, tokens, results)
    return True


def _note_steps(matchers: Sequence[Matcher], tokens: Ids, results: Ids) -> None:
    """Note the steps that are allowed, unless a guard decides."""
    for matcher, token, state in zip(matchers, tokens.tolist(), results.tolist(), strict=True):
        if arena.NONE < state < WATCH:
            matcher.take(token, state)


def _fill_all(groups: Iterator[_Group], rows: Row) -> None:
    for group in groups:
        _fill(group, rows)


def _fill_known(group: _Group, rows: Row, threads: int) -> bool:
    """Fill the rows of a group without the lock. If a mask is not known yet, fill no row and return False."""
    automaton, matchers, numbers = group
    if automaton.layout.offset:
        return False
    epoch = automaton.epoch
    if {m._epoch for m in matchers} != {epoch}:
        return False
    states, flags = np.array(_states(matchers), np.int64), np.empty(len(matchers), np.int64)
    if rows.nbytes < WORTH_A_THREAD:
        is_known = batch.write_known_masks(automaton.memory.A, epoch, states, numbers, rows, flags)
    else:
        is_known = _write_in_parallel(automaton, epoch, states, numbers, rows, flags, threads)
    if is_known:
        _narrow_all(group, rows, states, flags)
    return bool(is_known)


def _fill(group: _Group, rows: Row) -> None:
    """Fill the rows of a group."""
    automaton, matchers, numbers = group
    if automaton.layout.offset:
        for matcher, number in zip(matchers, numbers.tolist(), strict=True):
            matcher.fill_mask(rows[number])
        return
    states, flags = np.empty((2, len(matchers)), np.int64)

    def operation() -> None:
        _follow(matchers, automaton.epoch)
        states[:] = _states(matchers)
        automaton.memory.call(batch.find_masks, states)
        batch.write_known_masks(automaton.memory.A, automaton.epoch, states, numbers, rows, flags)

    automaton.attempt(operation)
    _narrow_all(group, rows, states, flags)


def _narrow_all(group: _Group, rows: Row, states: Ids, flags: Ids) -> None:
    """Let guards and checks remove tokens from the rows of a group. flags: what `fill_mask` returns."""
    _, matchers, numbers = group
    always = [m._always_narrowed for m in matchers]
    for i in range(len(matchers)) if any(always) else np.flatnonzero(flags).tolist():
        watched = always[i] or flags[i] & fill.IS_WATCHED
        if states[i] and (watched or matchers[i].compiled.constraint.residual):
            matchers[i].narrow(rows[numbers[i]], int(flags[i]))


def _write_in_parallel(
    automaton: TokenAutomaton, epoch: int, states: Ids, numbers: Ids, rows: Row, flags: Ids, threads: int
) -> bool:
    """`write_known_masks` by several threads, which let others run Python: a flush waits for them."""
    records = np.empty(len(states), np.int64)
    automaton.readers.enter()  # first: a flush waits for the readers that it finds
    try:
        words = automaton.memory.A
        if not batch.known_masks(words, epoch, states, records, flags):
            return False
        _write(words, records, numbers, rows, threads)
    finally:
        automaton.readers.leave()
    return True


def _write(words: Any, records: Ids, numbers: Ids, rows: Row, threads: int) -> None:
    """Write the rows, with other threads where there are enough rows."""
    counter = np.zeros(2, np.int64)
    for _ in range(min(threads - 1, rows.nbytes // WORTH_A_THREAD)):
        _workers().submit(batch.write_masks, words, records, numbers, rows, counter)
    done = batch.write_masks(words, records, numbers, rows, counter)
    while done < len(records):  # another thread is still writing a row
        time.sleep(0)
        done = batch.written(counter)


# --- checks and groups ------------------------------------------------------------------------------------------------


def _check_matchers(matchers: Sequence[Matcher], example: str) -> None:
    is_list = isinstance(matchers, Sequence)
    if not is_list or not set(map(type, matchers)) <= {Matcher}:
        wrong = [m for m in matchers if not isinstance(m, Matcher)] if is_list else [matchers]
        if wrong:
            message = f"{example.partition('(')[0]}() takes a list of matchers, not {wrong[0]!r:.60}"
            raise ConstrainError(message, fix=example)


def _row_numbers(rows: Any, n: int, out: Any) -> Ids:
    """The rows of `out` that n matchers are written to. Raises ConstrainError."""
    if not isinstance(out, np.ndarray) or out.ndim != 2 or (rows is None and len(out) != n):
        kind = f"shape {out.shape}" if isinstance(out, np.ndarray) else type(out).__name__
        raise ConstrainError(f"{n} matchers need a mask array with as many rows, not {kind}")
    if rows is None:
        return np.arange(n)
    numbers = np.asarray(rows)
    if numbers.shape != (n,) or (n and numbers.dtype.kind not in "iu"):
        raise ConstrainError(f"{n} matchers need as many row numbers, not {numbers.dtype} {numbers.shape}")
    if n and not (numbers.min() >= 0 and numbers.max() < len(out) and np.unique(numbers).size == n):
        raise ConstrainError(f"row numbers are different and from 0 to {len(out) - 1}, not {numbers.tolist()!r:.60}")
    return numbers.astype(np.int64)


def _groups(matchers: Sequence[Matcher], numbers: Ids, caller: str) -> list[_Group]:
    """The matchers by automaton, with their rows. Raises ConstrainError if their vocabularies differ."""
    automata = [m._automaton for m in matchers]
    distinct = dict.fromkeys(automata)
    if len(distinct) == 1:
        return [_Group(automata[0], matchers, numbers)]
    if len({m.compiled.vocabulary for m in matchers}) > 1:
        raise ConstrainError(f"the matchers of one {caller}() call must share a vocabulary")
    groups = []
    for automaton in distinct:
        mine = [i for i, other in enumerate(automata) if other is automaton]
        groups.append(_Group(automaton, [matchers[i] for i in mine], numbers[mine]))
    return groups


def _follow(matchers: Sequence[Matcher], epoch: int) -> None:
    """Compute the states of matchers again that are of another epoch. The caller holds the lock."""
    for matcher in matchers:
        if matcher._epoch != epoch:
            matcher._follow()


def _states(matchers: Sequence[Matcher]) -> list[int]:
    """The configuration of each matcher; 0 if it has read an EOS."""
    return [0 if m._end == len(m._steps) else m._states[len(m._steps)] for m in matchers]


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
