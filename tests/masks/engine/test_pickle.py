"""Pickles and copies: by constraint, vocabulary and text, into this process and the next."""

from __future__ import annotations

import copy
import os
import pickle
import subprocess
import sys
from dataclasses import dataclass
from typing import Literal, TypedDict

import numpy as np
import pydantic
import pytest

import constrain
from constrain.errors import ConstrainError

VOCABULARY = constrain.Vocabulary([bytes([i]) for i in range(256)] + [b"ab", b'{"', b'":', None], [259])


class Person(pydantic.BaseModel):
    name: str
    age: int


@dataclass
class Point:
    x: int


class Keys(TypedDict):
    k: bool


OBJECT = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"], "additionalProperties": False}
CONSTRAINTS = {
    "regex": (constrain.regex(r"a+b?"), "aa"),
    "choices": (constrain.choices(["ab", "b"]), "a"),
    "schema": (constrain.json_schema(OBJECT), '{"a'),
    "options": (constrain.json_schema(OBJECT, whitespace="compact", property_order="any"), '{"a'),
    "model": (constrain.json_schema(Person), '{"name'),
    "dataclass": (constrain.json_schema(Point), '{"x'),
    "typed dict": (constrain.json_schema(Keys), '{"k'),
    "lark": (constrain.grammar('start: "a" start | "b"'), "aa"),
    "embedded": (constrain.grammar('start: "a" %json {"type": "array"}'), "a["),
    "layout": (
        constrain.grammar(
            'start: line+\nline: "a" NL [IN line+ OUT]\n%declare NL IN OUT',
            layout=constrain.Layout(newline="NL", indent="IN", dedent="OUT"),
        ),
        "a\n",
    ),
    "union": (constrain.regex("a") | constrain.json_schema(OBJECT), '{"a'),
    "intersection": (constrain.grammar('start: "a" start | "b"') & constrain.regex("a{2}b"), "aa"),
    "combinators": (constrain.seq("a", constrain.json_schema({"type": "array"}), constrain.many("b")), "a["),
    "rules": (constrain.rules({"s": constrain.alt("a", constrain.seq("(", constrain.ref("s"), ")"))}), "(("),
    "substring": (constrain.substring("to be or not to be"), "to"),
    "between": (constrain.between(constrain.json_schema({"type": "array"}), prefix="[1", suffix="]"), ","),
    "triggered": (constrain.triggered("<t>", constrain.regex("a+"), "</t>"), "x<t>a"),
    "after": (constrain.after("</think>", constrain.regex("a+")), "x</think>a"),
}


def mask(matcher: constrain.Matcher) -> bytes:
    row = np.zeros(VOCABULARY.words, np.uint32)
    matcher.fill_mask(row)
    return row.tobytes()


@pytest.mark.parametrize("name", CONSTRAINTS)
def test_a_copy_is_equal_and_goes_on_alike(name: str) -> None:
    constraint, text = CONSTRAINTS[name]
    again = pickle.loads(pickle.dumps(constraint))
    assert again == constraint and hash(again) == hash(constraint)
    assert copy.deepcopy(constraint) == constraint
    compiled = constrain.compile(constraint, VOCABULARY)
    restored = pickle.loads(pickle.dumps(compiled))
    assert restored.constraint == constraint and restored.vocabulary.key == VOCABULARY.key
    matcher = compiled.matcher()
    assert matcher.advance_bytes(text.encode())
    for other in (pickle.loads(pickle.dumps(matcher)), copy.deepcopy(matcher), copy.copy(matcher)):
        assert mask(other) == mask(matcher)
        other.rollback(1)
        assert mask(other) == mask(compiled.matcher())


def test_the_next_process_reads_them_under_another_hash() -> None:
    """Hashes of strings differ between processes: nothing that was stored may depend on them."""
    matchers = []
    for constraint, text in CONSTRAINTS.values():
        matcher = constrain.compile(constraint, VOCABULARY).matcher()
        assert matcher.advance_bytes(text.encode())
        matchers.append(matcher)
    probe = (
        "import sys, pickle, test_pickle\n"
        "matchers = pickle.loads(sys.stdin.buffer.read())\n"
        "assert len({m.compiled.vocabulary for m in matchers}) == 1\n"
        "for m, (constraint, _) in zip(matchers, test_pickle.CONSTRAINTS.values(), strict=True):\n"
        "    assert m.compiled.constraint == constraint, constraint\n"
        "sys.stdout.buffer.write(b''.join(map(test_pickle.mask, matchers)))"
    )
    path = os.pathsep.join([os.path.dirname(__file__), *sys.path])
    env = {**os.environ, "PYTHONHASHSEED": "7", "PYTHONPATH": path}
    done = subprocess.run([sys.executable, "-c", probe], input=pickle.dumps(matchers), capture_output=True, env=env)
    assert done.returncode == 0, done.stderr.decode()
    assert done.stdout == b"".join(map(mask, matchers))


def test_values_of_a_model_are_instances_again() -> None:
    again = pickle.loads(pickle.dumps(CONSTRAINTS["model"][0]))
    assert again.parse('{"name": "Ada", "age": 36}') == Person(name="Ada", age=36)


def test_a_finished_matcher_stays_finished() -> None:
    matcher = constrain.compile(constrain.regex("a"), VOCABULARY).matcher()
    assert matcher.advance(97) and matcher.advance(259)
    assert pickle.loads(pickle.dumps(matcher)).is_finished()


def test_vocabularies_become_one_again() -> None:
    first, second = (pickle.loads(pickle.dumps(VOCABULARY)) for _ in range(2))
    assert first is second is VOCABULARY


def test_a_copy_stands_in_a_batch_with_its_original() -> None:
    matcher = constrain.compile(constrain.regex("ab*"), VOCABULARY).matcher()
    assert matcher.advance(97)
    rows = np.zeros((2, VOCABULARY.words), np.uint32)
    constrain.fill_masks([matcher, pickle.loads(pickle.dumps(matcher))], rows)
    assert rows[0].any() and (rows[0] == rows[1]).all()


def test_steps_that_are_not_allowed_any_more_are_an_error() -> None:
    from constrain.masks.engine.matcher import reread

    with pytest.raises(ConstrainError, match="not allowed any more"):
        reread(constrain.compile(constrain.regex("a"), VOCABULARY), [98], None)


@pytest.mark.parametrize("tokens", ["none", "special", "every"])
def test_an_automaton_is_made_again_from_its_vocabulary(tokens: Literal["none", "special", "every"]) -> None:
    """A copy of it is itself; one that was pickled has no states, and the same masks."""
    automaton = constrain.TokenAutomaton(VOCABULARY, budget=16 << 20, tokens=tokens)
    assert copy.copy(automaton) is automaton and copy.deepcopy([automaton])[0] is automaton
    again = pickle.loads(pickle.dumps(automaton))
    assert again is not automaton and again.vocabulary.tokens == automaton.vocabulary.tokens
    masks = [
        constrain.compile(constrain.regex("[a-c]+"), VOCABULARY, automaton=made).matcher().mask()
        for made in (automaton, again)
    ]
    assert (masks[0] == masks[1]).all() and masks[0].any()
