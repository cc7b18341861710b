"""Threads that share automata find the masks that one thread alone finds, while others compile, forget and expand."""

import json
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import constrain
import schema_corpus
import vocabularies
from constrain.kernels.records.arena import HEADER
from constrain.languages.automata import memory

VOCABULARY = vocabularies.tiny()
INSTANCES = [
    (entry.schema, next(test["data"] for test in entry.tests if test["valid"]))
    for entry in schema_corpus.sample("ours", 0, 13)
    if any(test["valid"] for test in entry.tests)
]
TEXTS: list[tuple[constrain.Constraint, bytes]] = [
    *((constrain.json_schema(schema, property_order="any"), json.dumps(data).encode()) for schema, data in INSTANCES),
    (constrain.regex("(a|b)*abb(a|b){3}"), b"abbabbabbabb"),
    (constrain.grammar("start: W+\nW: /[a-z]+/\n%ignore / +/", lexer="greedy"), b"ab  c ab abc"),
]


def masks_of(constraint: Any, text: bytes, automaton: Any, more: Callable[[], None] = lambda: None) -> list[bytes]:
    """The masks along a text, a byte a step."""
    matcher = constrain.compile(constraint, VOCABULARY, automaton=automaton).matcher()
    row, rows = np.zeros(VOCABULARY.words, np.uint32), []
    for byte in text:
        matcher.fill_mask(row)
        rows.append(row.tobytes())
        assert matcher.mask().tobytes() == row.tobytes()
        assert matcher.advance(byte), (text, byte)
        more()
    return rows


@pytest.fixture(scope="module")
def expected() -> list[list[bytes]]:
    automaton = constrain.TokenAutomaton(VOCABULARY)
    return [masks_of(constraint, text, automaton) for constraint, text in TEXTS]


@pytest.mark.parametrize("budget", [64 << 20, 0], ids=["one", "forgets"])
def test_masks_of_eight_threads_are_those_of_one(budget: int, expected: list[list[bytes]]) -> None:
    automaton = constrain.TokenAutomaton(VOCABULARY, budget=budget)
    stopped = threading.Event()

    def forget() -> None:
        """Forget everything, at least once and again and again, beside the readers."""
        while True:
            with automaton.memory.lock:
                automaton.flush()
            if stopped.wait(0.2):
                return

    def work(seed: int) -> None:
        order = np.random.default_rng(seed).permutation(len(TEXTS))
        for index in order.tolist():
            assert masks_of(*TEXTS[index], automaton) == expected[index], TEXTS[index]

    forgetting = threading.Thread(target=forget)
    forgetting.start()
    try:
        with ThreadPoolExecutor(8) as pool:
            for result in [pool.submit(work, seed) for seed in range(8)]:
                result.result()
    finally:
        stopped.set()
        forgetting.join()
    assert automaton.epoch > 0


def test_batches_of_threads_are_masks_of_one(expected: list[list[bytes]]) -> None:
    automata = [constrain.TokenAutomaton(VOCABULARY) for _ in range(3)]

    def work(seed: int) -> None:
        random = np.random.default_rng(seed)
        places = random.permutation(len(TEXTS)).tolist()
        compiled = [constrain.compile(TEXTS[place][0], VOCABULARY, automaton=automata[place % 3]) for place in places]
        matchers = [each.matcher() for each in compiled]
        out = np.zeros((len(places), VOCABULARY.words), np.uint32)
        for step in range(min(len(text) for _, text in TEXTS)):
            constrain.fill_masks(matchers, out, threads=2)
            for row, place in zip(out, places, strict=True):
                assert row.tobytes() == expected[place][step]
            assert constrain.advance_all(matchers, [TEXTS[place][1][step] for place in places]).all()

    with ThreadPoolExecutor(6) as pool:
        for result in [pool.submit(work, seed) for seed in range(6)]:
            result.result()


def test_an_interrupted_flush_is_done_again(monkeypatch: pytest.MonkeyPatch, expected: list[list[bytes]]) -> None:
    """Wherever it was interrupted, matchers find their masks again; until then nothing is read without the lock."""
    constraint, text = TEXTS[0]
    automaton = constrain.TokenAutomaton(VOCABULARY)
    compiled = constrain.compile(constraint, VOCABULARY, automaton=automaton)
    regions = automaton.memory.region
    for calls_left in range(2):
        matcher = compiled.matcher(prefix=text[:4])
        left = [calls_left]

        def region(words: Any, left: list[int] = left) -> int:
            if not left[0]:
                raise KeyboardInterrupt
            left[0] -= 1
            return regions(words)

        monkeypatch.setattr(automaton.memory, "region", region)
        with pytest.raises(KeyboardInterrupt), automaton.memory.lock:
            automaton.flush()
        monkeypatch.undo()
        assert automaton.memory.A[HEADER.EPOCH] == 0
        assert matcher.mask().tobytes() == expected[0][4]
        assert masks_of(constraint, text, automaton) == expected[0]
        assert automaton.memory.A[HEADER.EPOCH] == automaton.epoch + 1


def test_without_the_interpreters_lock_a_flush_leaves_readers_their_array(monkeypatch: pytest.MonkeyPatch) -> None:
    """A thread that has begun to read goes on beside the flush: no word that it may read changes, but the epoch."""
    automaton = constrain.TokenAutomaton(VOCABULARY)
    masks_of(*TEXTS[0], automaton)
    monkeypatch.setattr(memory, "has_gil", lambda: False)
    read = automaton.memory.A
    before = read.copy()
    with automaton.memory.lock:
        automaton.flush()
    assert automaton.memory.A is not read
    assert np.flatnonzero(read != before).tolist() == [HEADER.EPOCH]
