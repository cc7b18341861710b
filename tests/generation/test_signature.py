"""The signature of `generate`: one list of options, told to people, to checkers and to every other door."""

from __future__ import annotations

import inspect
import re
import sys
from typing import Any

import pytest
from typing_extensions import get_overloads

import constrain
from constrain.errors import ConstrainError
from constrain.generation import make_job
from constrain.generation.front import generate
from constrain.generation.request.request import MOVED, Request
from constrain.generation.request.signature import DEFAULTS, AnyOptions, Options

MOST = 25  # parameters: whether a token has to be one that the tokenizer writes is a choice of the target, as method


def test_the_options_have_types_and_defaults() -> None:
    parameters = inspect.signature(constrain.generate).parameters
    assert list(parameters) == ["model", "prompt", *DEFAULTS] and len(parameters) <= MOST
    assert {name: each.default for name, each in list(parameters.items())[2:]} == DEFAULTS
    assert set(AnyOptions.__annotations__) | {"n", "stream"} == set(DEFAULTS)
    assert set(AnyOptions.__annotations__) == {*Options.__annotations__, "type"}  # which overloads have beside it


def test_the_docstring_tells_every_parameter() -> None:
    told = [line.split(":")[0].strip() for line in str(generate.__doc__).splitlines() if line.startswith("        ")]
    assert set(inspect.signature(generate).parameters) <= set(told)


@pytest.mark.skipif(sys.version_info < (3, 11), reason="Python 3.10 keeps no overloads")
def test_overloads_are_few() -> None:
    assert len(get_overloads(generate)) == 9


@pytest.mark.parametrize("name", sorted(MOVED))
def test_an_option_that_moved_says_where(name: str) -> None:
    with pytest.raises(ConstrainError, match=f"generate has no argument '{name}'") as caught:
        generate("no/such-model", "x", **{name: 1})
    assert caught.value.place == name and caught.value.fix == MOVED[name]


def test_hints_name_what_exists() -> None:
    named = [name for fix in MOVED.values() for name in re.findall(r"constrain(?:\.\w+)+", fix)]
    assert "constrain.processors.Repetition" in named
    for name in named:
        first, *rest = name.split(".")
        found: Any = {"constrain": constrain}[first]
        for attribute in rest:
            found = getattr(found, attribute)
    asked = {name for fix in MOVED.values() for name in re.findall(r"\b([a-z_]+)=", fix)}
    assert {"max_tokens", "temperature", "processors", "n", "stop", "draft", "stream", "type"} <= asked & set(DEFAULTS)


def door(name: str) -> Any:
    doors = {"make_job": make_job, "map": lambda model, prompt, **given: constrain.map(model, [prompt], **given)}
    return doors.get(name) or getattr(constrain, name)


@pytest.mark.parametrize(
    "name, option",
    [("make_job", "method"), ("map", "n"), ("astream", "n"), ("astream", "stream"), ("converse", "stream")],
)
def test_a_door_refuses_what_it_does_not_take(name: str, option: str) -> None:
    arguments: list[Any] = [[]] if name == "converse" else []
    with pytest.raises(ConstrainError, match=f"{name} has no argument '{option}'\n.*\n  fix: leave it out"):
        door(name)("no/such-model", "x", *arguments, **{option: DEFAULTS[option]})


def test_a_request_is_what_was_asked_for() -> None:
    request = Request.of(
        ["a", constrain.Prompt("b", healing=True)], {"regex": "x+", "max_tokens": [3, 9], "n": 2, "top_k": 4}
    )
    assert (request.outputs, request.heals, request.sees, request.limited) == (4, True, False, False)
    assert [length.at_most for length in request.lengths] == [3, 9]
    assert (request.settings.max_tokens, request.settings.top_k) == (9, 4)
    with pytest.raises(AttributeError):
        request.n = 3  # type: ignore[misc]
