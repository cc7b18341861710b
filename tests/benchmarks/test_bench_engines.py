"""Every engine through its adapter: the same small cases, so that a wrong verdict is the engine's and not ours."""

import contextlib
import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from constrain.errors import ConstrainError
from masks import engines
from masks.interface import CompileError, NothingFulfilsError, Settings, is_set
from masks.limits import TimeLimitError, time_limit
from masks.measure import CLOCKS, measure
from masks.verdicts import accepts, judge
from masks.vocabularies import load

BYTES = load("bytes", Path())
OBJECT = {
    "type": "object",
    "properties": {"a": {"type": "integer"}, "b": {"enum": ["x", "yz"]}},
    "required": ["a", "b"],
    "additionalProperties": False,
}


@cache
def engine(name: str, any_order: bool = False) -> Any:
    """An engine over single bytes; a skip where another's package is missing."""
    if fault := engines.missing(name):
        assert name != "constrain", fault
        pytest.skip(fault)
    return engines.make(name, BYTES, Settings(any_order=any_order, formats="annotate"))


ASKING_FOR_MERGES = ["constrain-canonical", *engines.SERVED]
OF_BYTES = [name for name in engines.ENGINE_NAMES if name not in ASKING_FOR_MERGES]


@pytest.mark.parametrize("name", OF_BYTES)
@pytest.mark.parametrize(
    "value, valid",
    [
        ({"a": 12, "b": "yz"}, True),
        ({"a": -3, "b": "x"}, True),
        ({"a": 12, "b": "z"}, False),
        ({"a": 1.5, "b": "x"}, False),
        ({"a": 12}, False),
        ([], False),
        ({"a": 1, "b": "x", "c": 1}, False),
    ],
)
def test_verdicts(name: str, value: Any, valid: bool) -> None:
    judged = judge(engine(name), BYTES, OBJECT, [json.dumps(value)], 20)
    assert judged == {"accepted": [valid], "error": None, "message": None}


@pytest.mark.parametrize("name", OF_BYTES)
def test_a_text_must_be_allowed_to_end(name: str) -> None:
    tested = engine(name)
    tested.compile({"enum": ["x", "xy"]})
    assert [accepts(tested, BYTES, text) for text in ('"x"', '"xy"', '"x', '"', "")] == [
        True,
        True,
        False,
        False,
        False,
    ]


@pytest.mark.parametrize("name", OF_BYTES)
def test_masks_hold_one_bit_for_each_token(name: str) -> None:
    tested = engine(name)
    tested.compile({"type": "boolean"})
    tested.start()
    tested.mask()
    allowed = [token for token in range(257) if is_set(tested.row, token)]
    assert {ord("t"), ord("f")} <= set(allowed) <= {*b"tf \n\r\t"}
    assert tested.advance(ord("t"))
    tested.mask()
    assert [token for token in range(257) if is_set(tested.row, token)] == [ord("r")]
    assert not np.any(tested.row[8:] >> 1)  # nothing beyond the vocabulary


@pytest.mark.parametrize("name", ["constrain", "xgrammar", "lm-format-enforcer"])
def test_any_order(name: str) -> None:
    tested = engine(name, any_order=True)
    tested.compile(OBJECT)
    assert accepts(tested, BYTES, '{"b": "x", "a": 1}')


@pytest.mark.parametrize("name", ["constrain", "llguidance", "xgrammar"])
def test_a_schema_that_nothing_fulfils_is_a_verdict(name: str) -> None:
    with pytest.raises(NothingFulfilsError):
        engine(name).compile(False)
    assert judge(engine(name), BYTES, False, ["1", "{}"], 20)["accepted"] == [False, False]


@pytest.mark.parametrize(
    "name, schema",
    [
        ("constrain", {"type": "string", "pattern": "("}),
        ("llguidance", {"not": {"type": "string"}}),
        ("xgrammar", {"type": "integer", "minimum": 0.5}),
        ("outlines-core", {"not": {"type": "string"}}),
        ("lm-format-enforcer", {"type": "nonsense"}),
    ],
)
def test_a_refused_schema_is_a_compile_error(name: str, schema: Any) -> None:
    with pytest.raises(CompileError):
        engine(name).compile(schema)


def test_constrain_checks_finished_texts() -> None:
    """Keys that repeat are found by the check of the finished text, or earlier."""
    tested = engine("constrain")
    tested.compile({"type": "object"})
    assert not accepts(tested, BYTES, '{"k": 1, "k": 2}')


@pytest.mark.parametrize("name", OF_BYTES)
def test_a_maskbench_record(name: str, tmp_path: Path) -> None:
    """The measurement itself runs on every engine, on a file of two instances."""
    path = tmp_path / "case.json"
    tests = [{"data": {"a": 1, "b": "x"}, "valid": True}, {"data": {"a": "1"}, "valid": False}]
    path.write_text(json.dumps({"schema": OBJECT, "tests": tests}))
    record = measure(engine(name), BYTES, path, CLOCKS["wall"], 20)
    assert (record["error"], record["valid_ok"], record["invalid_ok"]) == (None, 1, 1)
    assert record["compile_us"] > 0 and record["first_mask_us"] > 0
    assert len(record["tbm_us"]) == len('{"a": 1, "b": "x"}') + len('{"a": "')


@pytest.mark.parametrize("name", OF_BYTES)
def test_an_engine_that_forgets_answers_alike(name: str) -> None:
    tested = engine(name)
    for _ in range(2):
        tested.compile(OBJECT)
        assert accepts(tested, BYTES, '{"a": 1, "b": "x"}') and not accepts(tested, BYTES, '{"a": "1"}')
        tested.forget()
    if name == "constrain":
        assert tested.automaton is not tested.compiled.automaton


@pytest.mark.parametrize("name", ASKING_FOR_MERGES)
def test_the_tokenizers_own_cut_asks_for_a_tokenizer(name: str) -> None:
    with pytest.raises((ConstrainError, AttributeError, TypeError)):
        engines.make(name, BYTES).compile(OBJECT)


def test_an_engine_that_is_no_engine() -> None:
    with pytest.raises(ValueError, match="no engine abacus; there are constrain, generate, "):
        engines.missing("abacus")


def test_a_time_limit_is_heard_even_by_code_that_catches_every_exception() -> None:
    def deaf() -> None:
        with time_limit(0.05):
            while True:
                with contextlib.suppress(Exception):
                    sum(range(1000))

    with pytest.raises(TimeLimitError):
        deaf()
