"""Batches say what single calls say: masks and steps, whoever is finished, guarded, checked, forgotten or elsewhere."""

import random
import threading
import time

import numpy as np
import pytest

import constrain
import vocabularies
from constrain.errors import ConstrainError
from constrain.kernels.masks import batch as kernels
from constrain.languages.vocab.bits import tokens_of
from constrain.masks.engine import Matcher, TokenAutomaton
from constrain.masks.engine import batch as batches
from constrain.masks.engine.readers import ReaderCount
from small_grammars import JSON

VOCABULARY = vocabularies.tiny()
EOS = VOCABULARY.eos_ids[0]
SOURCES = [
    constrain.json_schema({"type": "array", "items": {"type": "string"}, "uniqueItems": True}),  # watched
    constrain.json_schema({"type": "object", "additionalProperties": {"type": "boolean"}}),  # watched
    constrain.json_schema({"type": "integer", "multipleOf": 1009}),  # checked when complete
    constrain.json_schema({"type": "object", "properties": {"ab": {"type": "integer"}}, "additionalProperties": False}),
    constrain.regex(r"(ab|abc|é){0,40}1?"),
    constrain.grammar(JSON),
    constrain.choices(["true", "truer", ""]),
]
TEXTS = [b'["ab", "a', b'{"ab": true, "', b"1009", b'{"ab": 12', b"ababc", b'{"ab": [null, ', b"true"]


def matchers_of(automata: list[TokenAutomaton], seed: int, n: int) -> list[Matcher]:
    """Matchers of all constraints, at random places of their texts; some finished."""
    rng = random.Random(seed)
    made = []
    for k in range(n):
        which = rng.randrange(len(SOURCES))
        compiled = constrain.compile(SOURCES[which], VOCABULARY, automaton=automata[k % len(automata)])
        matcher = compiled.matcher()
        text = TEXTS[which]
        for byte in text[: rng.randrange(len(text) + 1)]:
            assert matcher.advance(byte)
        if rng.random() < 0.3:
            matcher.advance(EOS)
        made.append(matcher)
    return made


def single_masks(matchers: list[Matcher]) -> np.ndarray:
    rows = np.full((len(matchers), VOCABULARY.words + 1), 0xA5A5A5A5, np.uint32)
    for matcher, row in zip(matchers, rows, strict=True):
        matcher.fill_mask(row)
    return rows


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("n_automata", [1, 3])
@pytest.mark.parametrize("woken", [False, True], ids=["as it pays", "always woken"])
def test_masks_of_a_batch(threads: int, n_automata: int, woken: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Cold and warm, one automaton and several, and with every thread woken for the smallest batch."""
    if woken:
        monkeypatch.setattr(batches, "WORTH_A_THREAD", 1)
    for seed in range(3):
        expected = single_masks(matchers_of([TokenAutomaton(VOCABULARY)], seed, 70))
        matchers = matchers_of([TokenAutomaton(VOCABULARY) for _ in range(n_automata)], seed, 70)
        for _ in range(2):
            rows = np.full_like(expected, 0x5A5A5A5A)
            constrain.fill_masks(matchers, rows, threads=threads)
            assert np.array_equal(rows, expected)
        for automaton in {matcher._automaton for matcher in matchers}:
            automaton.flush()
        rows = np.full_like(expected, 0x5A5A5A5A).view(np.int32)
        constrain.fill_masks(matchers, rows, threads=threads)
        assert np.array_equal(rows.view(np.uint32), expected)
    assert any(matcher.is_finished() for matcher in matchers)


def test_a_batch_larger_than_the_budget() -> None:
    """States are forgotten between batches, and in the middle of them, while other threads write rows."""
    rng = random.Random(3)
    texts = ["".join(rng.choices("ab", k=rng.randrange(300))).encode() for _ in range(60)]
    constraint = constrain.regex(r"[ab]*a[ab]{150}")  # a state for each set of places where an a stood

    def matchers(automaton: TokenAutomaton) -> list[Matcher]:
        made = [constrain.compile(constraint, VOCABULARY, automaton=automaton).matcher() for _ in texts]
        assert all(matcher.advance_bytes(text) for matcher, text in zip(made, texts, strict=True))
        return made

    expected = single_masks(matchers(TokenAutomaton(VOCABULARY)))
    tiny = TokenAutomaton(VOCABULARY, budget=0)
    batch = matchers(tiny)
    faults = []

    def work(seed: int) -> None:
        rng = random.Random(seed)
        for _ in range(2):
            some = sorted(rng.sample(range(len(batch)), 20))
            forks = [batch[i].fork() for i in some]
            rows = np.zeros((len(some), expected.shape[1]), np.uint32)
            constrain.fill_masks(forks, rows, threads=2)
            if not np.array_equal(rows, expected[some]):
                faults.append(seed)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert faults == []
    assert tiny.epoch > 0


@pytest.mark.parametrize("n_automata", [1, 2])
def test_steps_of_a_batch(n_automata: int) -> None:
    """Random tokens, allowed and not: the answers and the texts of single matchers."""
    for seed in range(4):
        automata = [TokenAutomaton(VOCABULARY) for _ in range(n_automata)]
        batch, alone = matchers_of(automata, seed, 40), matchers_of(automata, seed, 40)
        rng = random.Random(seed)
        read = 0
        for _ in range(25):
            tokens = []
            for matcher in alone:
                likely = tokens_of(matcher.mask()).tolist()
                tokens.append(rng.choice(likely) if likely and rng.random() < 0.8 else rng.randrange(VOCABULARY.size))
            taken = constrain.advance_all(batch, np.array(tokens) if rng.random() < 0.5 else tokens)
            assert taken.dtype == np.bool_
            assert taken.tolist() == [m.advance(token) for m, token in zip(alone, tokens, strict=True)]
            assert [(m.text, m.is_accepting(), m.is_finished()) for m in batch] == [
                (m.text, m.is_accepting(), m.is_finished()) for m in alone
            ]
            read += int(taken.sum())
            if rng.random() < 0.2:
                automata[0].flush()
        assert read > 200
        for matcher in batch:
            matcher.rollback(len(matcher._steps))
            assert matcher.text == b""


def test_a_guard_has_its_say() -> None:
    """A key that repeats is refused by a batch too, and the mask before it says so."""
    compiled = constrain.compile(SOURCES[1], VOCABULARY)
    batch = [compiled.matcher() for _ in range(2)]
    assert all(matcher.advance_bytes(b'{"ab":true,"a') for matcher in batch)
    rows = np.zeros((2, VOCABULARY.words), np.uint32)
    assert constrain.advance_all(batch, [ord("b"), ord("x")]).all()
    constrain.fill_masks(batch, rows)
    assert [bool(row[1] >> 2 & 1) for row in rows] == [False, True]  # the quote
    assert constrain.advance_all(batch, [ord('"')] * 2).tolist() == [False, True]


def test_empty_batches() -> None:
    constrain.fill_masks([], np.zeros((0, VOCABULARY.words), np.uint32))
    assert constrain.advance_all([], []).shape == (0,)


WRONG = {
    "as many ids": (lambda m: constrain.advance_all([m], [1, 2]), "1 matchers need as many token ids"),
    "integers": (lambda m: constrain.advance_all([m], [1.0]), "1 matchers need as many token ids"),
    "range": (lambda m: constrain.advance_all([m, m.fork()], [1, 271]), "token id 271 is outside the vocabulary"),
    "negative": (lambda m: constrain.advance_all([m], [-1]), "token id -1 is outside the vocabulary"),
    "twice": (lambda m: constrain.advance_all([m, m], [1, 1]), "stands twice"),
    "no list": (lambda m: constrain.advance_all(m, [1]), r"advance_all\(\) takes a list of matchers"),
    "threads": (
        lambda m: constrain.fill_masks([m], np.zeros((1, 9), np.uint32), threads=0),
        "threads is a number from 1 to 64, not 0",
    ),
    "vocabularies": (
        lambda m: constrain.advance_all(
            [m, constrain.compile(SOURCES[4], vocabularies.fresh("tiny")).matcher()], [1] * 2
        ),
        "must share a vocabulary",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_bad_calls_change_nothing(name: str) -> None:
    matcher = constrain.compile(SOURCES[5], VOCABULARY).matcher()
    call, message = WRONG[name]
    with pytest.raises(ConstrainError, match=message):
        call(matcher)
    assert matcher.text == b""


# --- threads ----------------------------------------------------------------------------------------------------------


def test_every_row_is_taken_once() -> None:
    counter = np.zeros(2, np.int64)
    automaton = TokenAutomaton(VOCABULARY)
    matcher = constrain.compile(SOURCES[5], VOCABULARY, automaton=automaton).matcher()
    matcher.fill_mask(np.zeros(VOCABULARY.words, np.uint32))
    n = 20_000
    records, flags, states = np.zeros((3, n), np.int64)
    states[:] = matcher._states[-1]
    assert kernels.known_masks(automaton.memory.A, automaton.epoch, states, records, flags) == 1
    rows = np.zeros((n, VOCABULARY.words), np.uint32)
    threads = [
        threading.Thread(target=kernels.write_masks, args=(automaton.memory.A, records, np.arange(n), rows, counter))
        for _ in range(6)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert counter.tolist() == [n + len(threads), n]
    assert (rows == single_masks([matcher])[0, :-1]).all()


def test_forgetting_waits_for_readers() -> None:
    readers = ReaderCount()
    readers.enter()
    readers.enter()
    passed = threading.Event()
    thread = threading.Thread(target=lambda: (readers.wait(), passed.set()))
    thread.start()
    readers.leave()
    time.sleep(0.02)
    assert not passed.is_set()
    readers.leave()
    thread.join(60)
    assert passed.is_set()


def test_workers_of_a_forked_process() -> None:
    """A child has none of its parent's threads; it makes its own."""
    first = batches._workers()
    batches._forget_workers()
    assert batches._workers() is not first
    assert batches._workers().submit(sum, [1, 2]).result(60) == 3
    first.shutdown()
