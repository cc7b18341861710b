"""The rules by which function calls are judged, beside the checker of the package `bfcl-eval`, and by a table."""

import importlib
import random
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from tables import table
from tasks import calls

TABLE = table("called_values")

CATEGORIES = ("simple_python", "multiple", "live_simple", "live_multiple")
PARAMETERS = {
    "number": {"type": "integer"},
    "share": {"type": "float"},
    "text": {"type": "string"},
    "flag": {"type": "boolean"},
    "texts": {"type": "array", "items": {"type": "string"}},
    "object": {"type": "dict"},
    "objects": {"type": "array", "items": {"type": "dict"}},
}


@pytest.mark.parametrize("key, value, accepted, right", TABLE["row"])
def test_a_value(key: str, value: Any, accepted: list[Any], right: bool) -> None:
    assert calls.fits(value, PARAMETERS[key], accepted) is right


@pytest.mark.parametrize(
    "name, arguments, right, parts",
    [
        ("area", {"base": 10}, True, (2, 2)),
        ("area", {"base": 10, "unit": "m"}, True, (2, 2)),
        ("area", {"base": 9}, False, (1, 2)),
        ("area", {"base": 10, "c": 1}, False, (2, 2)),
        ("area", {"unit": "m"}, False, (1, 2)),
        ("volume", {"base": 10}, False, (0, 2)),
    ],
)
def test_a_call(name: str, arguments: dict[str, Any], right: bool, parts: tuple[int, int]) -> None:
    """A call is right if its name is, and each argument, and none is missing or added."""
    parameters = {"base": {"type": "float"}, "unit": {"type": "string"}, "c": {"type": "integer"}}
    function = {"name": "area", "parameters": {"type": "dict", "properties": parameters, "required": ["base"]}}
    accepted = {"area": {"base": [10], "unit": ["", "m"]}}
    score = calls.score([function], {"name": name, "arguments": arguments}, accepted)
    assert (score.right, score.parts) == (right, parts) and bool(score.why) is not right


@pytest.fixture(scope="module")
def package() -> Iterator[Any]:
    """The checker of the package; what it imports beside is large, and serves to run models."""
    pytest.importorskip("bfcl_eval", reason="pip install --no-deps bfcl-eval==2026.3.23")
    settings = ModuleType("bfcl_eval.constants.model_config")
    settings.MODEL_CONFIG_MAPPING = {"none": SimpleNamespace(underscore_to_dot=False)}  # type: ignore[attr-defined]
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, settings.__name__, settings)
        yield importlib.import_module("bfcl_eval.eval_checker.ast_eval.ast_checker")


def questions(package: Any) -> Iterator[tuple[dict[str, Any], dict[str, Any], str]]:
    """(row, accepted call, category) of the package's data."""
    folder = Path(package.__file__).parents[2] / "data"
    for category in CATEGORIES:
        for row, accepted in calls.rows(folder, category):
            yield row, accepted, category


def called(accepted: dict[str, Any], turn: int) -> dict[str, Any]:
    """The call with one of the accepted values of each parameter."""
    ((name, answers),) = accepted.items()
    return {"name": name, "arguments": chosen(answers, turn)}


def chosen(answers: dict[str, Any], turn: int) -> dict[str, Any]:
    """One of the accepted values of each key; "" leaves it out. Some objects have values instead of lists of them."""
    lists = {key: each if isinstance(each, list) else [each] for key, each in answers.items()}
    picked = {key: each[turn % len(each)] for key, each in lists.items() if each}
    return {key: inner(each, turn) for key, each in picked.items() if each != ""}


def inner(value: Any, turn: int) -> Any:
    """A value; the fields of an object are accepted values in turn."""
    if isinstance(value, dict):
        return chosen(value, turn)
    return [inner(each, turn) for each in value] if isinstance(value, list) else value


def agree(package: Any, row: dict[str, Any], call: dict[str, Any], accepted: dict[str, Any], category: str) -> bool:
    """The verdict on a call, which both share. A call at which the package's checker fails is wrong."""
    language = importlib.import_module("bfcl_eval.constants.enums").Language.PYTHON
    said = [{call["name"]: call["arguments"]}]
    try:
        theirs = package.ast_checker(row["function"], said, [accepted], language, category, "none")["valid"]
    except (AttributeError, TypeError):
        theirs = False
    assert calls.score(row["function"], call, accepted).right is theirs, (row["id"], call, accepted)
    return bool(theirs)


def test_accepted_calls_as_the_package_says(package: Any) -> None:
    """All accepted values of all questions, in turn; the package refuses a few of its own answers, and so do we."""
    said = Counter(
        agree(package, row, called(accepted, turn), accepted, category)
        for row, accepted, category in questions(package)
        for turn in range(max((len(each) for each in next(iter(accepted.values())).values()), default=1))
    )
    assert said[True] > 3_000 and said[False] < 30


CHANGES: list[Callable[[Any, random.Random], Any]] = [
    lambda value, rng: str(value),
    lambda value, rng: value + 1 if isinstance(value, (int, float)) else f"{value}x",
    lambda value, rng: float(value) if type(value) is int else 3,
    lambda value, rng: value.upper().replace(" ", "-") if isinstance(value, str) else [value],
    lambda value, rng: value[::-1] if isinstance(value, (str, list)) else not value,
    lambda value, rng: [*value, *value[:1]] if isinstance(value, list) else {},
    lambda value, rng: {**value, "more": 1} if isinstance(value, dict) else [],
    lambda value, rng: dict(list(value.items())[1:]) if isinstance(value, dict) else None,
]


def corrupted(call: dict[str, Any], parameters: list[str], rng: random.Random) -> dict[str, Any]:
    """A call with one change: a value, a missing argument, one more, or another name."""
    arguments = dict(call["arguments"])
    kind = rng.randrange(8)
    if kind == 0 or not arguments:
        return {"name": call["name"] + "_", "arguments": arguments}
    key = rng.choice(sorted(arguments))
    if kind == 1:
        del arguments[key]
    elif kind == 2:
        arguments[rng.choice([*parameters, "more"])] = rng.choice([0, "", "a", [], True])
    elif kind == 3 and isinstance(arguments[key], list) and arguments[key]:
        arguments[key] = [rng.choice(CHANGES)(each, rng) for each in arguments[key]]
    else:
        arguments[key] = rng.choice(CHANGES)(arguments[key], rng)
    return {"name": call["name"], "arguments": arguments}


def test_corrupted_calls_as_the_package_says(package: Any) -> None:
    """2,000 corrupted calls, some of which stay right."""
    rng, rows = random.Random(5), list(questions(package))
    said = Counter()
    for row, accepted, category in rng.choices(rows, k=2_000):
        ((name, _),) = accepted.items()
        parameters = next(each["parameters"]["properties"] for each in row["function"] if each["name"] == name)
        call = corrupted(called(accepted, rng.randrange(3)), sorted(parameters), rng)
        said[agree(package, row, call, accepted, category)] += 1
    assert said[True] > 50 and said[False] > 1_000
