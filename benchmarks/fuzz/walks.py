"""Walks of matchers through masks: tokens, rollback, forks, batches, flushes under a tiny budget, exceptions, threads.

All walks of a process share one automaton with the smallest budget, so what one leaves behind the next one meets. The
twin is an automaton that nobody touches: after each operation a fresh matcher reads the same text there, and the two
masks are compared. At its end a walk is compared with the plain oracle too, where one exists, and then read again by
four threads at once.
"""

from __future__ import annotations

import json
import pickle
import threading
from typing import Any

import numpy as np
from engine_cases import allowed, mask_of
from hypothesis import strategies as st
from schema_strategies import DRAFTS, SchemaMaker, Seeded

import constrain
import vocabularies
from differential_grammars.random_texts import gbnf_grammar, lark_grammar
from fuzz import Target
from fuzz.patterns import ECMA, PYTHON
from interrupter import Interrupter
from patience import OutOfPatienceError, patience
from reading_oracle import oracle, reading

VOCABULARY = vocabularies.tiny()
TREE = reading.Vocabulary(VOCABULARY.tokens, VOCABULARY.eos_ids)
SHARED = constrain.TokenAutomaton(VOCABULARY, budget=0)
LONGEST = 400  # bytes of a text
PATIENCE = 10.0  # CPU seconds that the plain oracle may take for a mask
MATCHERS = 4


def constraint_of(case: Any) -> constrain.Constraint:
    """The constraint that a case names."""
    kind, text = case["kind"], case["text"]
    if kind == "schema":
        return constrain.json_schema(text, **case["options"])
    if kind == "lark":
        return constrain.grammar(text, lexer=case["options"].get("lexer", "dynamic"))
    if kind == "gbnf":
        return constrain.grammar(text, format="gbnf")
    return constrain.regex(text, dialect=kind)


class Walk:
    """The state of one walk: matchers, and what each has read."""

    def __init__(self, constraint: constrain.Constraint) -> None:
        self.constraint = constraint
        self.compiled = constrain.compile(constraint, VOCABULARY, automaton=SHARED)
        self.twin = constrain.compile(constraint, VOCABULARY, automaton=constrain.TokenAutomaton(VOCABULARY))
        self.matchers = [self.compiled.matcher()]
        self.read: list[list[int]] = [[]]

    def expected(self, which: int) -> set[int]:
        """The mask by the twin."""
        fresh = self.twin.matcher()
        assert fresh.advance_tokens(self.read[which]) == len(self.read[which])
        return mask_of(fresh)

    def compare(self) -> None:
        """All matchers have read what they should, and have the masks of their twins."""
        for which, matcher in enumerate(self.matchers):
            text = b"".join(VOCABULARY.tokens[token] or b"" for token in self.read[which])
            assert matcher.text == text
            assert mask_of(matcher) == self.expected(which), text

    def step(self, kind: int, which: int, number: int) -> None:
        """One operation on one matcher."""
        which %= len(self.matchers)
        matcher, read = self.matchers[which], self.read[which]
        long = len(matcher.text) > LONGEST
        if kind < 8 and not long:  # a token of the mask
            mask = sorted(mask_of(matcher) - set(VOCABULARY.eos_ids))
            if mask:
                token = mask[number % len(mask)]
                assert matcher.advance(token)
                read.append(token)
        elif kind == 8:  # any token
            token = number % 256
            taken = token in self.expected(which) and not long
            if not long:
                assert matcher.advance(token) == taken
            if taken:
                read.append(token)
        elif kind == 9:
            back = number % (len(read) + 1)
            matcher.rollback(back)
            del read[len(read) - back :]
        elif kind == 10 and len(self.matchers) < MATCHERS:
            self.matchers.append(matcher.fork())
            self.read.append(read.copy())
        elif kind == 11:
            with SHARED.memory.lock:
                SHARED.flush()
        elif kind == 12:
            self.interrupt(which, number)
        elif kind == 13:
            rows = np.zeros((len(self.matchers), VOCABULARY.words), np.uint32)
            constrain.fill_masks(self.matchers, rows)
            for row, each in zip(rows, self.matchers, strict=True):
                assert row.tobytes() == each.mask().tobytes()
        elif kind == 14:
            self.matchers[which] = pickle.loads(pickle.dumps(matcher.fork())) if not read else matcher.fork()
        else:
            forced = matcher.forced_bytes()
            probe = matcher.fork()
            assert probe.advance_bytes(forced) or not forced

    def interrupt(self, which: int, at: int) -> None:
        """An exception at some call of a step; then the step was taken, or it was not."""
        matcher, read = self.matchers[which], self.read[which]
        mask = sorted(mask_of(matcher) - set(VOCABULARY.eos_ids))
        before = len(matcher.text)
        with Interrupter(1 + at % 3000).active():
            if at % 3 == 0:
                with SHARED.memory.lock:
                    SHARED.flush()
            constrain.compile(self.constraint, VOCABULARY, automaton=SHARED)
            matcher.mask()
            if mask and before < LONGEST:
                matcher.advance(mask[at % len(mask)])
        if len(matcher.text) > before:
            read.append(mask[at % len(mask)])

    def end(self, case: Any) -> bool:
        """Check once, at the end, `allows`, the oracle and threads; True if the oracle had no verdict in time."""
        undecided = False
        matcher = self.matchers[0]
        mask = mask_of(matcher)
        assert mask == allowed(matcher)
        if case["kind"] != "schema" and len(matcher.text) < 12:
            regular = case["kind"] in ("python", "ecma")
            try:
                with patience(PATIENCE):
                    asking = oracle(self.constraint.node if regular else self.constraint.to_grammar())  # type: ignore[attr-defined]
                    assert mask == reading.mask(asking, asking.read(matcher.text), TREE)
            except OutOfPatienceError:
                undecided = True
        if case["threads"]:
            self.threads()
        return undecided

    def threads(self) -> None:
        """The text again, by four threads, of which one forgets all now and then."""
        read = self.read[0]
        expected = []
        fresh = self.twin.matcher()
        for token in [*read, None]:
            expected.append(mask_of(fresh))
            if token is not None:
                assert fresh.advance(token)
        found: list[Any] = []

        def run(number: int) -> None:
            try:
                matcher = constrain.compile(self.constraint, VOCABULARY, automaton=SHARED).matcher()
                masks = [mask_of(matcher)]
                for place, token in enumerate(read):
                    if number == 0 and place % 3 == 1:
                        with SHARED.memory.lock:
                            SHARED.flush()
                    assert matcher.advance(token)
                    masks.append(mask_of(matcher))
                found.append(masks)
            except BaseException as error:
                found.append(error)

        threads = [threading.Thread(target=run, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for masks in found:
            if isinstance(masks, BaseException):
                raise masks
            assert masks == expected


def check(case: Any) -> bool:
    """A walk whose masks are the twin's after each operation. Whether the plain oracle gave up on its last one."""
    try:
        walk = Walk(constraint_of(case))
    except (constrain.RegexError, constrain.SchemaError, constrain.LimitError, constrain.UnsatisfiableError):
        return False
    try:
        for kind, which, number in case["steps"]:
            walk.step(kind, which, number)
            walk.compare()
        return walk.end(case)
    except constrain.LimitError:
        return False


def _schema(number: int) -> dict[str, Any]:
    draft = list(DRAFTS)[number % len(DRAFTS)]
    schema = SchemaMaker(Seeded(f"walk {number}"), DRAFTS[draft], 8).document()
    options = {
        "property_order": ("schema", "any")[number // 7 % 2],
        "spelling": ("plain", "any")[number // 14 % 2],
    }
    return {"kind": "schema", "text": json.loads(json.dumps(schema)), "options": options}


def _text(kind: str, **options: Any) -> Any:
    return lambda text: {"kind": kind, "text": text, "options": options}


_RANDOM = st.randoms(use_true_random=False)
CONSTRAINTS = st.one_of(
    st.integers(0, 2**48).map(_schema),
    PYTHON.map(lambda case: case["pattern"]).map(_text("python")),
    ECMA.map(lambda pair: pair[0]).map(_text("ecma")),
    _RANDOM.map(lark_grammar).map(_text("lark")),
    _RANDOM.map(lark_grammar).map(_text("lark", lexer="greedy")),
    _RANDOM.map(gbnf_grammar).map(_text("gbnf")),
)
STEPS = st.lists(st.tuples(st.integers(0, 15), st.integers(0, MATCHERS - 1), st.integers(0, 2**20)), max_size=30)
CASES = st.tuples(CONSTRAINTS, STEPS, st.integers(0, 7)).map(
    lambda drawn: {**drawn[0], "steps": [list(step) for step in drawn[1]], "threads": drawn[2] == 7}
)

TARGETS = [Target("walks", CASES, check, 150)]
