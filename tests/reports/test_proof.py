"""The proof of an answer: an object of its own schema, with what the report says and the mass that was recorded.

The oracle of `refused` is `Generation.confidence`, which finds a part's tokens by itself; that of the schema is
jsonschema.
"""

import json
import math
from typing import Any

import jsonschema
import pytest

import constrain
from constrain.engines.requests.options import EngineOptions
from constrain.engines.requests.proof import request_proof
from constrain.languages.constraints.report import ReportLine
from constrain.reports import SCHEMA, proof_of

VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)
OBJECT = {
    "title": "a thing",
    "type": "object",
    "properties": {
        "a/b": {"enum": ["é", "~"]},
        "n": {"type": "integer"},
        "xs": {"type": "array", "items": {"type": "object", "properties": {"x": {"enum": [1, 2]}}, "required": ["x"]}},
    },
    "required": ["a/b", "n", "xs"],
}
CALLS: dict[str, dict[str, Any]] = {
    "an object": {"schema": OBJECT, "max_tokens": 80},
    "open objects": {"constraint": constrain.json_schema(OBJECT, undeclared="allow"), "max_tokens": 120},
    "an object that is cut off": {"schema": OBJECT, "max_tokens": 4, "complete": False},
    "a number": {"schema": {"type": "integer"}},
    "a pattern": {"regex": "[0-9]{3}"},
    "nothing": {"max_tokens": 3},
    "particles": {"schema": OBJECT, "max_tokens": 60, "method": "smc"},
    "the best one": {"regex": "[0-9]{3}", "temperature": 0},
}


@pytest.fixture(scope="module")
def model() -> Any:
    return constrain.reference.load()


def leaves(value: Any, pointer: str = "") -> list[str]:
    if isinstance(value, dict) and value:
        named = [(name.replace("~", "~0").replace("/", "~1"), inner) for name, inner in value.items()]
    elif isinstance(value, list) and value:
        named = [(str(number), inner) for number, inner in enumerate(value)]
    else:
        return [pointer]
    return [leaf for name, inner in named for leaf in leaves(inner, f"{pointer}/{name}")]


def test_the_schema_is_one() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    assert json.loads(json.dumps(SCHEMA)) == SCHEMA


@pytest.mark.parametrize("name", CALLS)
def test_outputs_carry_their_proof(model: Any, name: str) -> None:
    output = constrain.generate(model, "A thing: ", seed=5, **CALLS[name])
    proof = json.loads(json.dumps(output.to_dict()["proof"], allow_nan=False))
    VALIDATOR.validate(proof)
    assert proof["passed"] == (output.finish_reason == "stop")
    assert proof["ended"] == {"reason": output.finish_reason, "fault": output.fault}
    weight = output.log_weight if math.isfinite(output.log_weight) else None
    assert (proof["weight"]["method"], proof["weight"]["log_weight"]) == (output.stats.method, weight)
    whole = -math.expm1(sum(record.log_z for record in output.trace))
    assert proof["refused"]["whole"] == pytest.approx(max(whole, 0.0), abs=1e-9)
    fields = proof["refused"]["fields"]
    if not {"schema", "constraint"} & set(CALLS[name]) or output.finish_reason != "stop":
        return
    assert list(fields) == leaves(output.value)
    for pointer, mass in fields.items():
        assert mass == pytest.approx(-math.expm1(output.confidence(pointer).log_allowed), abs=1e-9)


def test_what_was_closed_is_told_apart(model: Any) -> None:
    closed, as_written = (
        constrain.generate(
            model, "", constraint=constrain.json_schema(OBJECT, undeclared=way), max_tokens=120, seed=1
        ).proof
        for way in ("avoid", "allow")
    )
    assert {line["pointer"] for line in closed["closed"]} == {"$", "$.properties.xs.items"}
    assert as_written["closed"] == []
    assert {"keyword": "title", "pointer": "$"} in closed["annotation"]


def test_each_line_stands_where_its_status_says() -> None:
    report = [
        ReportLine("type", "$", "enforced"),
        ReportLine("format", "$.a", "residual", "checked when it is complete"),
        ReportLine("(undeclared items)", "$.b", "enforced", "closed"),
        ReportLine("(undeclared properties)", "$.c", "annotation", "stays open"),
        ReportLine("temperature", "request", "trusted"),
    ]
    proof = proof_of(report, "{", "dead_end", fault="it is no date", weight=("lcd", "all", -1.0, -math.inf))
    VALIDATOR.validate(proof)
    assert {kind: [line["pointer"] for line in proof[kind]] for kind in ("enforced", "residual", "closed")} == {
        "enforced": ["$"], "residual": ["$.a"], "closed": ["$.b"],
    }  # fmt: skip
    assert [line["pointer"] for line in proof["annotation"] + proof["trusted"]] == ["$.c", "request"]
    assert proof["residual"][0]["note"] == "checked when it is complete" and "note" not in proof["enforced"][0]
    assert not proof["passed"] and proof["weight"]["log_weight"] is None


@pytest.mark.parametrize(
    "written, finish, passed, fault",
    [
        ('{"d": "a:b"}', "stop", True, None),
        ('{"d": "a:b"', "length", False, None),
        ('{"d": 1}', "stop", False, "the text is not in the language of the request"),
    ],
)
def test_an_answer_of_an_engine_is_proved_by_its_request(
    written: str, finish: str, passed: bool, fault: str | None
) -> None:
    schema = json.dumps({"type": "object", "properties": {"d": {"type": "string", "format": "uri"}}})
    proof = request_proof("json", schema, EngineOptions(), written, finish)
    VALIDATOR.validate(proof)
    assert (proof["passed"], proof["ended"]["fault"]) == (passed, fault)
    assert proof["closed"] and proof["weight"]["log_weight"] is None and proof["refused"]["whole"] is None


@pytest.mark.parametrize("text", ["", "{", "[1,", '{"a": 1} x', "a", '{"a": 1}}', "[" * 100_000])
def test_a_text_that_is_no_json_has_no_fields(text: str) -> None:
    from constrain.sampling.core.job import TokenRecord

    record = TokenRecord(0, -1.0, -1.0, math.log(0.25))
    proof = proof_of([], text, "length", pieces=[text.encode()], trace=[record])
    assert proof["refused"]["fields"] == {} and proof["refused"]["whole"] == pytest.approx(0.75)


@pytest.mark.parametrize(
    "change",
    [{"version": 2}, {"passed": None}, {"enforced": [{"keyword": "type"}]}, {"refused": {"whole": 1.5, "fields": {}}}],
)
def test_the_schema_refuses_what_is_no_proof(change: dict[str, Any]) -> None:
    proof = proof_of([ReportLine("type", "$", "enforced")], "1", "stop")
    VALIDATOR.validate(proof)
    assert not VALIDATOR.is_valid({**proof, **change})
    assert not VALIDATOR.is_valid({name: value for name, value in proof.items() if name != next(iter(change))})
