"""Memory and threads: a tiny budget forgets in the middle of walks and changes nothing; threads share constraints."""

import gc
import os
import random
import sys
import threading
import time
import weakref

import numpy as np
import pytest
from engine_cases import mask_of

import constrain
import vocabularies
from constrain.languages.automata.memory import pages
from constrain.languages.constraints.base import Constraint
from constrain.languages.vocab.vocabulary import Vocabulary
from constrain.masks.engine import CompiledConstraint, Matcher, TokenAutomaton
from small_grammars import JSON

Walk = list[tuple[int, frozenset[int]]]  # the tokens taken, and the mask before each


def pseudo_vocabulary(size: int = 12_000) -> Vocabulary:
    """Random short tokens over few letters and JSON's signs: masks are wide, so that states take much memory."""
    rng = random.Random(1)
    texts = {"".join(rng.choices('abcdé{}[],:" 0123', k=rng.randint(1, 5))) for _ in range(size)}
    return Vocabulary([*map(str.encode, sorted(texts)), *(bytes([b]) for b in range(256)), None], [len(texts) + 256])


VOCABULARY = pseudo_vocabulary()


def constraints() -> list[Constraint]:
    """Constraints with many states each."""
    patterns = [
        f"[{'abcd'[:k]}]{{{n},{7 * n}}}({'abcdé'[k]}|[0-3 ]{{{k},{n}}}){{3,9}}" for k in (1, 2, 3) for n in (3, 5, 9)
    ]
    return [*map(constrain.regex, patterns), constrain.grammar(JSON)]


def walk(matcher: Matcher, rng: random.Random, steps: int) -> Walk:
    """Take random allowed tokens."""
    taken: Walk = []
    for _ in range(steps):
        mask = mask_of(matcher)
        tokens = sorted(mask - set(VOCABULARY.eos_ids))
        if not tokens:
            break
        token = rng.choice(tokens)
        taken.append((token, frozenset(mask)))
        assert matcher.advance(token)
    return taken


def all_walks(compiled: list[CompiledConstraint], seed: int, steps: int = 12) -> list[Walk]:
    """One walk a constraint, their steps interleaved by rolling back half-way and going on with a fork."""
    rng, matchers = random.Random(seed), [each.matcher() for each in compiled]
    for matcher in matchers:
        first = walk(matcher, rng, steps)
        matcher.rollback(len(first) // 2)
    return [walk(matcher.fork(), rng, steps) for matcher in reversed(matchers)]


def compile_all(automaton: TokenAutomaton) -> list[CompiledConstraint]:
    return [constrain.compile(constraint, VOCABULARY, automaton=automaton) for constraint in constraints()]


def test_a_tiny_budget_forgets_and_changes_nothing():
    tiny, large = TokenAutomaton(VOCABULARY, budget=0), TokenAutomaton(VOCABULARY)
    ours, theirs = compile_all(tiny), compile_all(large)
    for seed in range(6):
        assert all_walks(ours, seed) == all_walks(theirs, seed)
    assert tiny.epoch > 0
    assert large.epoch == 0


@pytest.fixture(params=[0, None], ids=["tiny budget", "default budget"])
def automaton(request):
    return TokenAutomaton(VOCABULARY) if request.param is None else TokenAutomaton(VOCABULARY, budget=request.param)


def test_matchers_live_on_after_a_flush(automaton):
    """Many matchers, each somewhere else; flushes between and within their steps, and in the middle of a batch."""
    rng = random.Random(0)
    matchers = [compiled.matcher() for compiled in compile_all(automaton) for _ in range(4)]
    for matcher in matchers:
        walk(matcher, rng, rng.randrange(8))
    expected = [(m.text, mask_of(m), m.is_accepting(), m.is_finished(), m.forced_bytes()) for m in matchers]
    for _ in range(2):
        epoch = automaton.epoch
        automaton.flush()
        assert automaton.epoch > epoch
        assert [(m.text, mask_of(m), m.is_accepting(), m.is_finished(), m.forced_bytes()) for m in matchers] == expected
    automaton.flush()
    out = np.zeros((len(matchers), VOCABULARY.words), np.uint32)
    constrain.fill_masks(matchers, out)
    for matcher, row, (_, mask, *_) in zip(matchers, out, expected, strict=True):
        assert mask_of(matcher) == mask
        assert np.flatnonzero(np.unpackbits(row.view(np.uint8), bitorder="little")).tolist() == sorted(mask)
    automaton.flush()
    fork = matchers[-1].fork()
    assert fork.state == matchers[-1].state
    matchers[-1].rollback(len(matchers[-1]._steps))
    assert mask_of(matchers[-1]) == mask_of(matchers[-1].compiled.matcher())
    assert fork.text == expected[-1][0]


def test_flushes_at_every_step_change_nothing():
    """Walks of random tokens, in an automaton that forgets all before each mask, and in one that never does."""
    forgetful, large = TokenAutomaton(VOCABULARY), TokenAutomaton(VOCABULARY)
    for ours, theirs in zip(compile_all(forgetful), compile_all(large), strict=True):
        rng, one, other = random.Random(2), ours.matcher(), theirs.matcher()
        for _ in range(8):
            forgetful.flush()
            assert mask_of(one) == mask_of(other)
            for token, _mask in walk(other, rng, 1):
                assert one.advance(token)
    assert large.epoch == 0


def test_constraints_have_two_automata_in_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    """The other one forgets what it has, and holds the next, when one is nearly full; masks are the same in both."""
    vocabulary = Vocabulary(VOCABULARY.tokens, VOCABULARY.eos_ids)
    pattern, token = constrain.regex("(a{2,9}b?){3,20}"), VOCABULARY.tokens.index(b"a")

    def begun(nearly: float) -> Matcher:
        with monkeypatch.context() as patch:
            patch.setattr("constrain.masks.engine.automaton.NEARLY", nearly)
            matcher = constrain.compile(pattern, vocabulary).matcher()
        assert matcher.advance_bytes(b"aabaaab")
        return matcher

    def go_on(matchers: list[Matcher]) -> None:
        rows = np.zeros((len(matchers), vocabulary.words), np.uint32)
        constrain.fill_masks(matchers, rows)
        assert rows.any()
        assert (rows == rows[0]).all()
        assert constrain.advance_all(matchers, [token] * len(matchers)).all()

    matchers = [begun(nearly) for nearly in (1.0, 1.0, 0.0, 1.0)]
    one, same, two, last = (matcher.compiled.automaton for matcher in matchers)
    assert one is same is not two is last
    go_on(matchers)
    assert (one.epoch, two.epoch) == (0, 0), "the texts under way were read again"
    assert begun(0.0).compiled.automaton is one
    assert (one.epoch, two.epoch) == (1, 0)
    go_on(matchers)  # those of the first are read again
    assert (one.epoch, two.epoch) == (1, 0)
    assert begun(0.0).compiled.automaton is two
    assert (one.epoch, two.epoch) == (1, 1)
    older = weakref.ref(one)
    del one, same, two, last, matchers
    gc.collect()
    assert older() is None
    assert begun(0.0).compiled.automaton.epoch == 0


def test_an_operation_larger_than_the_budget():
    """One text that needs more states than fit is read all the same. The memory is given back by the next flush."""
    automaton = TokenAutomaton(VOCABULARY, budget=0)
    sizes = [each.size for each in (automaton.memory.A, automaton.memory.H, automaton.memory.S)]
    compiled = constrain.compile(constrain.regex(r"a{300000}b"), VOCABULARY, automaton=automaton)
    matcher = compiled.matcher()
    assert matcher.advance_bytes(b"a" * 300_000)
    assert not matcher.advance_bytes(b"a")
    assert matcher.advance_bytes(b"b")
    assert matcher.is_finished()
    assert automaton.epoch > 0
    assert automaton.memory.A.size > 2 * sizes[0]
    with automaton.memory.lock:
        automaton.flush()
    assert [each.size for each in (automaton.memory.A, automaton.memory.H, automaton.memory.S)] == sizes
    assert constrain.compile(constrain.regex("ab?"), VOCABULARY, automaton=automaton).matcher().advance_bytes(b"ab")


def test_state_after_others_filled_the_memory():
    """`state` of a matcher whose states were forgotten, asked when the memory is nearly full again."""
    automaton = TokenAutomaton(VOCABULARY, budget=0)
    sleeper = constrain.compile(constrain.regex(r"(ab{0,9}c?){2000}"), VOCABULARY, automaton=automaton).matcher()
    assert sleeper.advance_bytes(b"abbc" * 1000)
    automaton.flush()
    other = constrain.compile(constrain.regex(r"a{500000}"), VOCABULARY, automaton=automaton).matcher()
    full = automaton.memory.budget_words - 40_000
    while automaton.epoch == 1 and automaton.memory.A[0] < full:
        assert other.advance_bytes(b"a" * 200)
    assert automaton.epoch == 1
    state = sleeper.state
    assert sleeper.advance(VOCABULARY.tokens.index(b"a"))
    assert sleeper.state != state


# --- threads ----------------------------------------------------------------------------------------------------------


def test_eight_threads_share_compiled_constraints(automaton):
    """Each thread's walks equal those of one thread alone."""
    seeds = range(8)
    alone = {seed: all_walks(compile_all(TokenAutomaton(VOCABULARY)), seed) for seed in seeds}
    compiled = compile_all(automaton)
    faults: list[str] = []

    def work(seed: int) -> None:
        try:
            if [all_walks(compiled, seed) for _ in range(2)] != [alone[seed]] * 2:
                faults.append(f"seed {seed}: another walk")
        except BaseException as error:
            faults.append(f"seed {seed}: {error!r}")

    threads = [threading.Thread(target=work, args=(seed,)) for seed in seeds]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert faults == []
    assert (automaton.epoch > 0) == (automaton.memory.budget_words < 1 << 22)


def test_a_batch_releases_the_gil() -> None:
    """A thread of plain Python goes on counting while calls fill cold masks.

    Nothing but a call that gives the GIL away lets the thread run: it is never taken from a thread that holds it, and
    the thread gives it back after each count. What numpy gives away around the kernel is worth a few counts a call.
    """
    vocabulary = vocabularies.sentencepiece32k()
    constraint = constrain.regex(r"([^x]{0,3}y|[^z]{2,9}w|\w{0,40}[0-9])*")
    texts = ["ab"[i & 1] * (i % 5) + "y" * (i // 5 % 5) + "w0é→"[i % 4] + "q" * (i % 40) for i in range(400)]
    out = np.zeros((len(texts), vocabulary.words), np.uint32)
    count, stop = [0], threading.Event()

    def counting() -> None:
        while not stop.is_set():
            count[0] += 1
            time.sleep(0)

    thread = threading.Thread(target=counting)
    interval = sys.getswitchinterval()
    sys.setswitchinterval(3600)
    thread.start()
    try:
        counted = calls = 0
        while counted < 1000 and calls < 100:  # on a busy machine the thread waits for its turn
            compiled = constrain.compile(constraint, vocabulary, automaton=TokenAutomaton(vocabulary))
            matchers = [compiled.matcher() for _ in texts]
            for matcher, text in zip(matchers, texts, strict=True):
                matcher.advance_bytes(text.encode())
            before = count[0]
            constrain.fill_masks(matchers, out)
            counted += count[0] - before
            calls += 1
    finally:
        sys.setswitchinterval(interval)
        stop.set()
        thread.join()
    assert counted >= 1000


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_what_a_child_writes_is_its_own() -> None:
    words = pages(1 << 12, at_once=1 << 10)
    assert not words.any()
    words[:] = 7
    child = os.fork()
    if child == 0:
        words[:] = 9
        os._exit(0)
    os.waitpid(child, 0)
    assert (words == 7).all()
