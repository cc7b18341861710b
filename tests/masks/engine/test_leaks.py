"""Requests that come and go leave nothing behind, and many threads on one constraint see the same masks."""

import gc
import hashlib
import os
import random
import threading
import weakref
from pathlib import Path

import numpy as np
import pytest

import constrain
import vocabularies
from constrain.masks.completion.length_budget import LengthBudget
from constrain.masks.engine import CompiledConstraint, TokenAutomaton

SCHEMA = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "maxLength": 30},
        "tags": {"type": "array", "items": {"type": "string"}, "uniqueItems": True},
        "more": {"type": "object", "additionalProperties": {"type": "number"}},
    },
    "required": ["name"],
    "additionalProperties": False,
}
TEXTS = [
    b'{"name": "ab\\u00e9 abc", "tags": ["ab", "x", "abc"]',
    b'{"name": "", "more": {"ab": 12, "abc": 1e9, "a',
    b'{"name":"true"}',
]


def resident() -> int:
    """Bytes of this process that are in memory."""
    statm = Path("/proc/self/statm")
    if not statm.exists():
        pytest.skip("no /proc here: nobody says how much memory the process has")
    return int(statm.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.usefixtures("young_heap")
def test_a_vocabulary_is_freed() -> None:
    """With the automaton that its constraints share, its tables, counts of tokens to an end and canonical tokens."""
    ref = constrain.reference.load()
    read = constrain.Vocabulary.from_huggingface(ref.tokenizer)
    vocabulary = constrain.Vocabulary(read.tokens, read.eos_ids, tokenizer=read.tokenizer)
    compiled = constrain.compile(constrain.json_schema(SCHEMA), vocabulary)
    assert TokenAutomaton.of(vocabulary) is compiled.automaton
    kept = weakref.ref(vocabulary), weakref.ref(compiled.automaton)
    canonical = constrain.sampling.canonical(compiled, read.tokenizer).matcher()
    assert canonical.forced_tokens() == []
    assert LengthBudget(compiled).matcher(most=200).forced_tokens() == []
    del compiled, canonical, vocabulary
    gc.collect()
    assert [ref() for ref in kept] == [None, None]


@pytest.mark.usefixtures("young_heap")
def test_ten_thousand_matchers_leave_nothing() -> None:
    """Made, stepped, forked, asked and dropped; with a guard, whose states grow too. The resident set stays."""
    vocabulary = vocabularies.tiny()
    compiled = constrain.compile(constrain.json_schema(SCHEMA), vocabulary, automaton=TokenAutomaton(vocabulary))
    row = np.zeros(vocabulary.words, np.uint32)

    def requests(n: int) -> None:
        for i in range(n):
            matcher = compiled.matcher()
            assert matcher.advance_bytes(TEXTS[i % 3][: 9 + i % 20])
            fork = matcher.fork()
            fork.fill_mask(row)
            matcher.rollback(1)

    requests(2000)
    gc.collect()
    before = resident()
    requests(10_000)
    gc.collect()
    assert resident() - before < 4 << 20


def test_a_dropped_matcher_is_freed_at_once() -> None:
    """Nothing refers back to a matcher: no cycle, so nothing waits for the garbage collector."""
    vocabulary = vocabularies.tiny()
    compiled = constrain.compile(constrain.json_schema(SCHEMA), vocabulary)
    freed: list[str] = []

    class Note:
        pass

    gc.disable()
    try:
        note = Note()
        weakref.finalize(note, freed.append, "freed")
        matchers = [compiled.matcher() for _ in range(3)]
        matchers[0]._guarded.append(note)  # lives as long as the matcher
        del note
        constrain.fill_masks(matchers, np.zeros((3, vocabulary.words), np.uint32))
        constrain.advance_all(matchers, [ord("{")] * 3)
        assert freed == []
        del matchers
        assert freed == ["freed"]
    finally:
        gc.enable()


def masks_of(compiled: CompiledConstraint, seed: int) -> str:
    """A digest of the masks along random cuts of the texts, single and in batches."""
    rng = random.Random(seed)
    digest = hashlib.blake2b(digest_size=16)
    words = compiled.vocabulary.words
    for _ in range(3):
        matchers = [compiled.matcher() for _ in TEXTS]
        cuts = [rng.randrange(len(text)) for text in TEXTS]
        for at in range(max(cuts)):
            live = [k for k, cut in enumerate(cuts) if at < cut]
            assert constrain.advance_all([matchers[k] for k in live], [TEXTS[k][at] for k in live]).all()
            rows = np.zeros((len(TEXTS), words), np.uint32)
            if rng.random() < 0.5:
                constrain.fill_masks(matchers, rows, threads=1 + at % 2)
            else:
                for matcher, row in zip(matchers, rows, strict=True):
                    matcher.fill_mask(row)
            digest.update(rows.tobytes())
    return digest.hexdigest()


def test_twenty_four_threads_on_one_constraint() -> None:
    """The threads begin together on a constraint that nobody has asked anything yet."""
    vocabulary = vocabularies.tiny()

    def fresh() -> CompiledConstraint:
        return constrain.compile(constrain.json_schema(SCHEMA), vocabulary, automaton=TokenAutomaton(vocabulary))

    seeds = range(24)
    alone = fresh()
    expected = {seed: masks_of(alone, seed) for seed in seeds}
    assert len(set(expected.values())) > 20
    shared, found = fresh(), {}
    ready = threading.Barrier(len(seeds))

    def work(seed: int) -> None:
        ready.wait()
        found[seed] = masks_of(shared, seed)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in seeds]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == expected
