"""Interrupts between any two calls: afterwards every mask is what it would have been, and nothing hangs.

A profile function raises KeyboardInterrupt at the n-th call that the library makes, as a signal, a lack of memory or a
timeout may. Then the matchers that were interrupted go on, and new ones are made on the same automaton. All of their
masks are compared with those of an automaton that nobody interrupted. CONSTRAIN_INTERRUPTS says how many calls of each
scenario are tried, and how many signals (10000: every call, for an hour and a half).
"""

import contextlib
import os
import signal
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import constrain
import vocabularies
from constrain.limits import limited
from interrupter import Interrupter

VOCABULARY = vocabularies.tiny()
TRIED = os.environ.get("CONSTRAIN_INTERRUPTS", 0)
PATIENCE = 600  # seconds, after which a test hangs
SCHEMA = {
    "type": "object",
    "properties": {
        "a": {"type": "array", "items": {"enum": ["x", 1, None]}, "uniqueItems": True},
        "b": {"minLength": 2},
    },
    "required": ["a"],
    "propertyNames": {"maxLength": 3},
}
WORDS = 'start: (W | "if" W)+\nW: /[a-z]+/\n%ignore / +/'
TEXTS: dict[str, tuple[Callable[[], Any], bytes]] = {
    "schema": (lambda: constrain.json_schema(SCHEMA), b'{"a": [1, "x"], "b": "true", "c": 2}'),
    "any order": (lambda: constrain.json_schema(SCHEMA, property_order="any"), b'{"b":1.5,"a":[],"k":{"l":[{}]}}'),
    "regex": (lambda: constrain.regex("(ab?c{2,4}){3}|[^a]+"), b"abccaccccabcc"),
    "greedy": (lambda: constrain.grammar(WORDS, lexer="greedy"), b"if ab iff x"),
    "recursive": (lambda: constrain.grammar('start: "(" start? ")" start? | /[0-9]+/'), b"((1)2)(()3)4"),
    "triggered": (lambda: constrain.triggered([("<n>", constrain.regex("[0-9]+"), "</n>")]), b"ab<n>12</n>c"),
}


def masks_of(matcher: Any, text: bytes) -> list[bytes]:
    """The masks along a text, and at its end, in both ways."""
    rows = []
    for place in range(len(text) + 1):
        row = np.zeros(VOCABULARY.words, np.uint32)
        matcher.fill_mask(row)
        assert matcher.mask().tobytes() == row.tobytes()
        rows.append(row.tobytes())
        if place < len(text):
            assert matcher.advance(text[place])
    return rows


def one_by_one(name: str, automaton: Any, matchers: list[Any]) -> None:
    make, text = TEXTS[name]
    matchers.append(constrain.compile(make(), VOCABULARY, automaton=automaton).matcher())
    masks_of(matchers[0], text)
    matchers[0].rollback(len(text) // 2)
    masks_of(matchers[0].fork(), text[len(text) - len(text) // 2 :])


def in_batches(name: str, automaton: Any, matchers: list[Any]) -> None:
    make, text = TEXTS[name]
    compiled = constrain.compile(make(), VOCABULARY, automaton=automaton)
    matchers += [compiled.matcher() for _ in range(3)]
    rows = np.zeros((3, VOCABULARY.words), np.uint32)
    for byte in text:
        constrain.fill_masks(matchers, rows)
        constrain.advance_all(matchers, [byte] * 3)


def with_flushes(name: str, automaton: Any, matchers: list[Any]) -> None:
    make, text = TEXTS[name]
    matchers.append(constrain.compile(make(), VOCABULARY, automaton=automaton).matcher())
    for place, byte in enumerate(text):
        if place % 5 == 3:
            with automaton.memory.lock:
                automaton.flush()
        matchers[0].mask()
        matchers[0].forced_bytes()
        matchers[0].advance_tokens([byte], atomic=True)


WAYS = {"one by one": one_by_one, "in batches": in_batches, "with flushes": with_flushes}


@pytest.fixture(autouse=True)
def _no_hang() -> Iterator[None]:
    """A hang ends the test; one that tries many places sets the alarm anew at each."""

    def end(*_: Any) -> None:
        raise TimeoutError("it hangs")

    before = signal.signal(signal.SIGALRM, end)
    signal.alarm(PATIENCE)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize("places", [8, pytest.param(15, marks=pytest.mark.slow)])
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", TEXTS)
def test_interrupts_change_nothing(name: str, way: str, places: int) -> None:
    make, text = TEXTS[name]
    expected = masks_of(constrain.compile(make(), VOCABULARY).matcher(), text)
    count, empty = Interrupter(0), constrain.TokenAutomaton(VOCABULARY, budget=0)
    with count.active():
        WAYS[way](name, empty, [])
    step = max(1, count.calls // (int(TRIED) or places))
    automaton = constrain.TokenAutomaton(VOCABULARY, budget=0)
    for number, at in enumerate(range(1, count.calls + 1, step)):
        signal.alarm(PATIENCE)
        for forgets in (True,) if number % 2 else (False, True):  # one that knows all makes fewer calls
            if forgets:
                with automaton.memory.lock:
                    automaton.flush()
            matchers: list[Any] = []
            interrupter = Interrupter(at)
            with interrupter.active():
                WAYS[way](name, automaton, matchers)
            if interrupter.calls >= at:
                break
        for matcher in matchers:
            read = matcher.text
            assert text.startswith(read)
            assert masks_of(matcher, text[len(read) :]) == expected[len(read) :], at
        assert masks_of(constrain.compile(make(), VOCABULARY, automaton=automaton).matcher(), text) == expected, at


@pytest.mark.parametrize("name", TEXTS)
def test_a_signal_in_a_busy_loop(name: str) -> None:
    """Real signals, at any place: whatever was read is what counts."""
    make, text = TEXTS[name]
    expected = masks_of(constrain.compile(make(), VOCABULARY).matcher(), text)
    automaton = constrain.TokenAutomaton(VOCABULARY, budget=0)

    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGVTALRM, interrupt)
    random = np.random.default_rng(0)
    interrupted = 0
    try:
        while interrupted < (int(TRIED) or 6):
            signal.alarm(PATIENCE)
            matcher = None
            try:
                signal.setitimer(signal.ITIMER_VIRTUAL, float(random.uniform(1e-4, 2e-2)))
                with automaton.memory.lock:
                    automaton.flush()
                matcher = constrain.compile(make(), VOCABULARY, automaton=automaton).matcher()
                for byte in text:
                    matcher.mask()
                    matcher.advance(byte)
                signal.setitimer(signal.ITIMER_VIRTUAL, 0)
            except KeyboardInterrupt:
                interrupted += 1
            if matcher is not None:
                read = matcher.text
                assert text.startswith(read)
                assert masks_of(matcher, text[len(read) :]) == expected[len(read) :]
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_fork_while_a_thread_makes_states() -> None:
    make, text = TEXTS["schema"]
    expected = masks_of(constrain.compile(make(), VOCABULARY).matcher(), text)
    automaton = constrain.TokenAutomaton(VOCABULARY)
    compiled = constrain.compile(make(), VOCABULARY, automaton=automaton)
    held, done = threading.Event(), threading.Event()

    def hold() -> None:
        with automaton.memory.lock:
            held.set()
            done.wait()

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait()
    child = os.fork()
    if child == 0:  # no assertion leaves this block: the child must not run pytest's code
        code = 1
        with contextlib.suppress(BaseException):
            signal.alarm(300)
            code = 0 if masks_of(compiled.matcher(), text) == expected else 2
        os._exit(code)
    done.set()
    thread.join()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert masks_of(compiled.matcher(), text) == expected


def test_limits_end_with_what_they_limit() -> None:
    """An exception at any call of a reader leaves no limit behind that holds for what is read next."""
    count = Interrupter(0)

    def read() -> None:
        with constrain.Limits(seconds=60):
            constrain.json_schema({"enum": [1, 2]}).validate()

    read()
    with count.active():
        read()
    for at in range(1, count.calls + 1):
        with Interrupter(at).active():
            read()
        assert not limited(), at
