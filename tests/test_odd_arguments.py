"""Odd values for each argument of each public function: an answer, a ConstrainError that says something, or a TypeError
for what has the wrong type; never any other exception."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import constrain
from toy_handle import PIECES, Cutter, ToyHandle

BYTES = constrain.Vocabulary.of_bytes()
A = constrain.regex("a+")
COMPILED = constrain.compile(A, BYTES)


class Falls:
    """Compares with nothing, and has no length."""

    def __eq__(self, other: object) -> bool:
        return NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return "Falls()"


ODD: dict[str, Callable[[], Any]] = {
    "None": lambda: None, "True": lambda: True, "-1": lambda: -1, "0": lambda: 0, "2**70": lambda: 2**70,
    "10**400": lambda: 10**400, "no decimal": lambda: Decimal("nan"), "no path": lambda: Path("a\0b"),
    "a schema with odd names": lambda: {"$defs": {1: {}, "\ud800": {}}},
    "nan": lambda: float("nan"), "inf": lambda: float("inf"), "0.5": lambda: 0.5, "1j": lambda: 1j,
    "no text": lambda: "", "text": lambda: "a", "a surrogate": lambda: "\ud800", "NUL": lambda: "\x00",
    "a bracket": lambda: "(", "bytes": lambda: b"a", "bytearray": lambda: bytearray(b"\xff"), "[]": list,
    "[None]": lambda: [None], "[[]]": lambda: [[]], "a tuple": lambda: (1, "a"), "{}": dict, "a dict": lambda: {1: 2},
    "a set": lambda: {1}, "a range": lambda: range(3), "a class": lambda: int,
    "a function": lambda: lambda: 1, "a scalar array": lambda: np.array(1),
    "an array": lambda: np.arange(3), "texts": lambda: np.array(["a", "b"]), "an empty array": lambda: np.zeros((0, 2)),
    "an int of numpy": lambda: np.int64(3), "an object": object, "no comparison": Falls, "a constraint": lambda: A,
    "a compiled constraint": lambda: COMPILED, "an error": lambda: ValueError("x"), "a module": lambda: np,
}  # fmt: skip


class Reads(Cutter):
    """Cuts any text: what is no piece is left out."""

    def __call__(self, text: str, add_special_tokens: bool = True) -> dict[str, list[int]]:
        return super().__call__("".join(letter for letter in text if letter in "ab"), add_special_tokens)


def _model() -> Any:
    model = ToyHandle(len(PIECES), 1, 1.0)
    model.tokenizer = Reads()
    return model


def _add(a: int, b: int) -> int:
    """Add."""
    return a + b


# Arguments that are right, by name: each is replaced by each odd value, the others stay. `...`: the positional ones.
RIGHT: dict[str, Callable[[], dict[str, Any]]] = {
    "Layout": lambda: {"newline": "N", "indent": "I", "dedent": "D", "open": ("(",), "close": (")",),
                       "verbatim": (), "tab": 8, "columns": None},
    "Length": lambda: {"at_most": 4, "at_least": 0},
    "Limits": lambda: {"seconds": 1.0, "megabytes": 100.0, "cancelled": None, "steps": None},
    "Prompt": lambda: {"content": "a", "images": None, "healing": False, "describe": False, "prefix": None,
                       "suffix": None},
    "TokenAutomaton": lambda: {"vocabulary": BYTES, "budget": 1, "tokens": "none", "limits": constrain.Limits()},
    "Vocabulary": lambda: {"tokens": [b"a", None], "eos_ids": [1], "names": None, "tokenizer": None},
    "advance_all": lambda: {"matchers": [COMPILED.matcher()], "token_ids": [97]},
    "after": lambda: {"trigger": "b", "constraint": A, "begin": "", "optional": False, "max_tokens": None},
    "alt": lambda: {"...": "a"},
    "between": lambda: {"constraint": A, "prefix": "a", "suffix": "a", "text": None, "holes": ()},
    "choices": lambda: {"options": ["a"]},
    "compile": lambda: {"constraint": A, "vocabulary": BYTES, "automaton": None, "rehearse": False},
    "describe": lambda: {"wanted": A},
    "fill_draft_masks": lambda: {"matcher": COMPILED.matcher(), "draft": [97],
                                 "out": np.zeros((2, BYTES.words), np.uint32), "parents": None},
    "fill_masks": lambda: {"matchers": [COMPILED.matcher()], "out": np.zeros((1, BYTES.words), np.uint32),
                           "rows": None, "threads": 1},
    "generate": lambda: {"model": _model(), "prompt": "a", "schema": None, "regex": "a", "grammar": None,
                         "choices": None, "type": None, "constraint": None, "response_format": None, "tools": None,
                         "tool_choice": "auto", "tokenizer": None, "canonical": None, "method": "lcd", "n": 1,
                         "max_tokens": 4, "temperature": 1.0, "top_k": None, "top_p": None, "seed": 1, "draft": None,
                         "processors": None, "stream": False, "stop": None, "complete": False},
    "grammar": lambda: {"text": 'start: "a"', "format": "lark", "start": None, "lexer": None, "base": None,
                        "layout": None, "grammars": None, "keywords": "any"},
    "infill": lambda: {"model": _model(), "constraint": A, "text": "aaa", "holes": [(1, 2)], "prompt": None,
                       "max_tokens": 4, "attempts": 2, "seed": 1},
    "json_schema": lambda: {"schema": {"type": "integer"}, "spelling": "plain", "whitespace": None,
                            "property_order": "schema", "undeclared": "allow", "formats": "assert", "registry": None,
                            "dialect": None, "documents": None, "limits": None},
    "many": lambda: {"part": "a", "separator": None, "low": 0, "high": None},
    "map": lambda: {"model": _model(), "inputs": ["a"], "prompt": None, "batch": 2, "out": None, "progress": False,
                    "workers": 1, "regex": "a", "max_tokens": 4},
    "compare": lambda: {"model": _model(), "prompt": "a", "methods": ["lcd"], "budgets": [9], "repeats": 1, "batch": 1,
                        "truth": None, "limit": 100, "choices": ["a", "b"]},
    "json_string": lambda: {"constraint": A},
    "optional": lambda: {"part": "a"},
    "progress": lambda: {"always": False},
    "ref": lambda: {"name": "a"},
    "regex": lambda: {"pattern": "a", "dialect": "python"},
    "rules": lambda: {"definitions": {"start": "a"}, "start": "start"},
    "score": lambda: {"model": _model(), "prompt": "a", "choices": ["a", "b"], "tokenizer": None,
                      "tokenisations": "canonical", "end": True, "temperature": 1.0},
    "seq": lambda: {"...": "a"},
    "substring": lambda: {"text": "a b", "granularity": "word", "blank": None, "errors": 0, "distance": "edit"},
    "token": lambda: {"...": "x", "but": None},
    "tools": lambda: {"functions": [_add], "format": "hermes", "choice": "auto", "parallel": True,
                      "thinking": "optional", "thinking_tokens": None, "tokenizer": None, "undeclared": "avoid",
                      "texts": {"_add": {}}, "max_calls": None},
    "trace": lambda: {"model": _model(), "prompt": "a", "output": "a", "top": 2, "tokenizer": None,
                      "temperature": 1.0},
    "triggered": lambda: {"start": "<", "inner": A, "stop": ">", "least": 0, "most": None},
    "remote": lambda: {
        "url": "http://localhost:1/v1", "model": "m", "server": "vllm", "api_key": "k", "retries": 1, "at_once": 1,
        "extra": {}, "client": None,
    },
}  # fmt: skip
METHODS: dict[str, tuple[Callable[[], Any], dict[str, Any]]] = {
    "CompiledConstraint.matcher": (lambda: COMPILED, {"eos_ids": None, "prefix": []}),
    "Constraint.accepts": (lambda: A, {"text": "a"}),
    "Constraint.explain": (lambda: A, {"text": "a"}),
    "Constraint.validate": (lambda: A, {"limits": None}),
    "Matcher.advance": (COMPILED.matcher, {"token_id": 97}),
    "Matcher.advance_bytes": (COMPILED.matcher, {"text": b"a"}),
    "Matcher.advance_tokens": (COMPILED.matcher, {"token_ids": [97], "atomic": False}),
    "Matcher.allows": (COMPILED.matcher, {"token_id": 97}),
    "Matcher.fill_mask": (COMPILED.matcher, {"row": np.zeros(BYTES.words, np.uint32)}),
    "Matcher.forced_bytes": (COMPILED.matcher, {"most": 4}),
    "Matcher.rollback": (COMPILED.matcher, {"n_tokens": 0}),
    "Vocabulary.to_bytes": (lambda: BYTES, {"token_ids": [97]}),
}
# Made by the library, or walked elsewhere; what a user may call of them stands in METHODS.
OTHERS = {
    "AsyncStream", "CompiledConstraint", "Constraint", "Conversation", "Generation", "Generations", "Matcher", "Stats",
    "Stream",
    "agenerate", "astream", "converse", "explain",  # take the options of `generate`
    "apply_bitmask_",  # tests/sampling/bitmask
}  # fmt: skip

# What is right, and not for a test: so many outputs or tries; models of that name; a function that raises by itself.
UNSUITED = {
    ("n", "2**70"), ("n", "10**400"), ("attempts", "2**70"), ("repeats", "2**70"), ("repeats", "10**400"),
    ("model", "text"), ("model", "a bracket"), ("prompt", "a class"),
}  # fmt: skip

CASES = [(name, argument) for name, right in RIGHT.items() for argument in right()]
CASES += [(name, argument) for name, (_, right) in METHODS.items() for argument in right]


def test_every_public_function_is_walked() -> None:
    errors = {name for name in constrain.__all__ if name.endswith("Error")}
    assert set(constrain.__all__) == set(RIGHT) | OTHERS | errors
    for name, right in RIGHT.items():
        kinds = inspect.signature(getattr(constrain, name)).parameters.values()
        wanted = {each.name for each in kinds if each.kind not in (each.VAR_POSITIONAL, each.VAR_KEYWORD)}
        assert wanted <= set(right()), name


@pytest.mark.parametrize(("name", "argument"), CASES)
def test_odd_values(name: str, argument: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # some values name files
    faults = []
    for shown, odd in ODD.items():
        if (argument, shown) not in UNSUITED and (fault := fault_of(name, {argument: odd()})):
            faults.append(f"{shown}: {fault}")
    assert not faults, f"{name}({argument}=)\n" + "\n".join(faults)


def fault_of(name: str, odd: dict[str, Any]) -> str | None:
    """Call a function: what is wrong with how it takes these arguments, or None."""
    try:
        with constrain.Limits(seconds=5):
            _call(name, odd)
    except constrain.ConstrainError as error:
        return None if error.message else "an error without a message"
    except TypeError:
        pass
    except Exception as error:  # what is not promised
        return f"{type(error).__name__}: {error}"
    return None


def _call(name: str, odd: dict[str, Any]) -> None:
    if name in METHODS:
        make, right = METHODS[name]
        function = getattr(make(), name.partition(".")[2])
    else:
        function, right = getattr(constrain, name), RIGHT[name]()
    arguments = {**right, **odd}
    if name == "generate" and {"schema", "grammar", "choices", "type", "constraint", "response_format"} & odd.keys():
        arguments["regex"] = odd.get("regex")
    positional = [arguments.pop("...")] if "..." in arguments else []
    made = function(*positional, **arguments)
    if isinstance(made, constrain.Constraint) and name != "compile":
        constrain.compile(made, BYTES).matcher().mask()
