"""Function calls: questions of the Berkeley Function Calling Leaderboard, judged by the rules of its AST checker.

The data are the folder `bfcl_eval/data` of the wheel `bfcl-eval`: `simple_python`, `multiple` and `live_simple` in
turn, each fourth row. The rules, in the words of its documentation: the function is the expected one; required
parameters are there, and no others than the accepted ones; a value has the type of the parameter (an integer may stand
for a float), or that of the accepted values; texts are equal but for capitals, quotation marks and the signs
` ,./-_*^`; lists and objects are equal by their parts; a parameter may be absent if "" is accepted.
`tests/benchmarks/test_bench_tasks.py` compares them with the package's own checker.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tasks.task import JsonTask, Score

CATEGORIES = ("simple_python", "multiple", "live_simple")
JSON_TYPES = {"dict": "object", "float": "number", "tuple": "array", "any": "string"}
PYTHON_TYPES = {
    "string": str, "integer": int, "float": float, "boolean": bool, "array": list, "tuple": list, "dict": dict,
    "any": str,
}  # fmt: skip
IGNORED = re.compile(r"[ ,./\-_*^]")
TOLD = 'Answer with one call of a function, as JSON: {"name": its name, "arguments": {its arguments}}.'


def tasks(folder: Path, step: int = 4) -> Iterator[JsonTask]:
    """Each fourth row of the categories, in turn, behind one worked example. folder: `bfcl_eval/data`."""
    row, accepted = rows(folder, CATEGORIES[0])[1]
    shots = ((asked(row), json.dumps(first_answer(accepted))),)
    tables = [rows(folder, category)[::step] for category in CATEGORIES]
    for place in range(max(map(len, tables))):
        for row, accepted in (table[place] for table in tables if place < len(table)):
            schemas = [call_schema(each) for each in functions_of(row)]

            def judge(value: Any, row: Any = row, accepted: Any = accepted) -> Score:
                return score(row["function"], value, accepted)

            wanted = schemas[0] if len(schemas) == 1 else {"anyOf": schemas}
            yield JsonTask(f"calls {row['id']}", TOLD, asked(row), judge, shots, wanted=wanted)


def functions_of(row: dict[str, Any]) -> list[dict[str, Any]]:
    """The functions of a row, their parameters as JSON Schema."""
    return [{**each, "parameters": json_types(each["parameters"])} for each in row["function"]]


def asked(row: dict[str, Any]) -> str:
    """The question of a row, and its functions."""
    return f"Functions: {json.dumps(functions_of(row))}\n\n{row['question'][0][-1]['content']}"


def first_answer(accepted: dict[str, Any]) -> dict[str, Any]:
    """The call with the first accepted value of each parameter, without optional ones that are absent."""
    ((name, answers),) = accepted.items()
    return {"name": name, "arguments": {key: each[0] for key, each in answers.items() if each[0] != ""}}


def rows(folder: Path, category: str) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """(row, accepted call) of a category."""
    asked, answers = (
        [json.loads(line) for line in (folder / place / f"BFCL_v4_{category}.json").read_text("utf-8").splitlines()]
        for place in (".", "possible_answer")
    )
    return [(row, answer["ground_truth"][0]) for row, answer in zip(asked, answers, strict=True)]


def call_schema(function: dict[str, Any]) -> dict[str, Any]:
    """The schema of a call."""
    properties = {"name": {"const": function["name"]}, "arguments": function["parameters"]}
    told = {"description": function["description"]}
    return {**told, "type": "object", "properties": properties, "required": ["name", "arguments"]}


def json_types(schema: Any) -> Any:
    """A schema of BFCL with the types of JSON Schema."""
    if isinstance(schema, list):
        return [json_types(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    made = {key: json_types(each) for key, each in schema.items() if key != "optional"}
    if isinstance(made.get("type"), str):
        made["type"] = JSON_TYPES.get(made["type"], made["type"])
    return made


def score(functions: list[dict[str, Any]], call: Any, accepted: dict[str, Any]) -> Score:
    """The score of {"name": …, "arguments": …}. accepted: {name: {parameter: accepted values}}."""
    ((name, answers),) = accepted.items()
    parameters = next(each["parameters"] for each in functions if each["name"] == name)
    if call["name"] != name:
        return Score(False, f"the function is {name}", (0, len(answers)))
    given, faults = call["arguments"], []
    faults += [f"{key} is required" for key in parameters.get("required", []) if key not in given]
    faults += [f"{key} is not wanted" for key in given if key not in answers or key not in parameters["properties"]]
    faults += [f"{key} is missing" for key, each in answers.items() if key not in given and "" not in each]
    wrong = [
        f"{key} is one of {answers[key]!r:.80}" for key, value in given.items()
        if key in answers and key in parameters["properties"]
        and not fits(value, parameters["properties"][key], answers[key])
    ]  # fmt: skip
    good = sum(key in given or "" in each for key, each in answers.items()) - len(wrong)
    return Score(not faults and not wrong, "; ".join(faults + wrong), (max(good, 0), len(answers)))


def fits(value: Any, parameter: dict[str, Any], accepted: list[Any]) -> bool:
    """A value of a parameter is accepted."""
    kind = PYTHON_TYPES[parameter["type"]]
    of = PYTHON_TYPES[parameter["items"]["type"]] if parameter["type"] in ("array", "tuple") else None
    if parameter["type"] == "float" and type(value) is int:
        value = float(value)
    said = kind_of(accepted)
    if type(value) is not kind:
        return said is type(value) and value in accepted
    if of is not None and not any(not isinstance(each, list) or all_of(value, of, each) for each in accepted):
        return False
    if said not in (None, kind):  # the name of a variable, or an integer for a float
        return value in accepted
    if kind is dict:
        return any(isinstance(each, dict) and same_object(value, each) for each in accepted)
    if of is dict:
        return any(same_objects(value, each) for each in accepted)
    if kind is list:
        return [plain(each) for each in value] in [[plain(part) for part in each] for each in accepted]
    if kind is str:
        return plain(value) in [plain(each) for each in accepted if isinstance(each, str)]
    return value in accepted


def kind_of(accepted: list[Any]) -> type | None:
    """The type of the first accepted value that is one; "" stands for an absent one."""
    return next((type(each) for each in accepted if each != ""), None)


def all_of(value: list[Any], of: type, accepted: list[Any]) -> bool:
    """All parts have a type, or that of the accepted parts."""
    return all(type(each) in (of, kind_of(accepted)) for each in value)


def plain(value: Any) -> Any:
    """A text as it is compared."""
    return IGNORED.sub("", value).lower().replace("'", '"') if isinstance(value, str) else value


def same_object(value: dict[str, Any], accepted: dict[str, Any]) -> bool:
    """Every key is accepted with its value, and none is missing that must be there."""
    there = all(key in accepted and plain(each) in map(plain, accepted[key]) for key, each in value.items())
    return there and all(key in value or "" in each for key, each in accepted.items())


def same_objects(value: list[Any], accepted: Any) -> bool:
    """The objects of a list, one by one."""
    return len(value) == len(accepted) and all(
        isinstance(each, dict) and isinstance(other, dict) and same_object(each, other)
        for each, other in zip(value, accepted, strict=True)
    )
