"""The middleware that adds proofs: which answers it changes, and how. `make serve-test` runs it beside a server, too.

Requests are read by vLLM's own classes; the application that answers is made here.
"""

import json
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("vllm", reason="vLLM is not installed: `make serve-test` runs these tests")

import jsonschema
from starlette.applications import Starlette
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.testclient import TestClient

from constrain.engines.requests.options import EngineOptions
from constrain.engines.requests.proof import request_proof
from constrain.engines.vllm.proofs import Proofs
from constrain.reports.proof import SCHEMA

CHAT, PLAIN = "/v1/chat/completions", "/v1/completions"
ASKED = {"type": "object", "properties": {"n": {"type": "integer"}, "to": {"type": "string", "format": "iri"}}}
FORMAT = {"type": "json_schema", "json_schema": {"name": "it", "schema": ASKED}}
TOOLS = [{"type": "function", "function": {"name": "add", "parameters": {"type": "object", "properties": {}}}}]
NAMING = {
    "format": {"type": "tag", "begin": {"type": "token", "token": 3}, "content": {"type": "any_text"}, "end": "b"}
}


def answer_of(*texts: str | None, path: str = CHAT, reason: str = "stop") -> dict[str, Any]:
    """An answer as vLLM's, as far as it matters."""
    choices = [
        {"index": number, "finish_reason": reason}
        | ({"message": {"content": text}} if path == CHAT else {"text": text})
        for number, text in enumerate(texts)
    ]
    return {"id": "it", "choices": choices, "ü": 1.5}


def sent(path: str, request: dict[str, Any], answer: Response, config: Any = None) -> Any:
    """The answer that a client gets, where the engine gives this one."""

    async def served(_: Any) -> Response:
        return answer

    async def read(request: Any) -> Response:
        await request.body()
        return await served(request)

    app = Starlette(routes=[Route(path, read, methods=["POST"])])
    app.state.vllm_config = config or SimpleNamespace(
        additional_config={"constrain": {}}, structured_outputs_config=SimpleNamespace(backend="auto")
    )
    app.add_middleware(Proofs)
    asked = {"model": "it", **({"messages": [{"role": "user", "content": "?"}]} if path == CHAT else {"prompt": "?"})}
    return TestClient(app).post(path, json={**asked, **request})


@pytest.mark.parametrize(
    "path, request_, kind, text, written, reason, passed",
    [
        (CHAT, {"response_format": FORMAT}, "json", json.dumps(ASKED), '{"n": 7}', "stop", True),
        (CHAT, {"response_format": FORMAT}, "json", json.dumps(ASKED), '{"n": 7', "length", False),
        (CHAT, {"response_format": FORMAT}, "json", json.dumps(ASKED), '{"n": "7"}', "stop", False),
        (CHAT, {"response_format": {"type": "json_object"}}, "json_object", "", '{"ü": "\U0001f600"}', "stop", True),
        (CHAT, {"structured_outputs": {"regex": "[0-9]+"}}, "regex", "[0-9]+", "12", "stop", True),
        (CHAT, {"structured_outputs": {"choice": ["a", "b"]}}, "choice", '["a", "b"]', "c", "stop", False),
        (
            CHAT, {"response_format": FORMAT, "tools": TOOLS, "tool_choice": "none"}, "json", json.dumps(ASKED), "{}",
            "stop", True,
        ),
        (PLAIN, {"structured_outputs": {"json": ASKED}}, "json", json.dumps(ASKED), '{"to": "a:b"}', "stop", True),
    ],
)  # fmt: skip
def test_each_choice_has_the_proof_of_its_text(
    path: str, request_: dict[str, Any], kind: str, text: str, written: str, reason: str, passed: bool
) -> None:
    plain = answer_of(written, None if path == CHAT else written, path=path, reason=reason)
    got = sent(path, request_, JSONResponse(plain, headers={"x-own": "kept"}))
    proof = got.json()["choices"][0].pop("proof")
    jsonschema.validate(proof, SCHEMA)
    assert proof == request_proof(kind, text, EngineOptions(), written, reason)
    assert proof["passed"] == passed
    answer = got.json()
    assert [("proof" in choice) for choice in answer["choices"]] == [True, path == PLAIN]  # a choice without a text
    for choice in answer["choices"]:
        choice.pop("proof", None)
    assert answer == plain and got.headers["x-own"] == "kept"


UNCHANGED: dict[str, tuple[str, dict[str, Any], Response]] = {
    "no constraint": (CHAT, {}, JSONResponse(answer_of("12"))),
    "calls of tools": (CHAT, {"tools": TOOLS, "tool_choice": "required"}, JSONResponse(answer_of("12"))),
    "tools beside a format": (CHAT, {"tools": TOOLS, "response_format": FORMAT}, JSONResponse(answer_of("{}"))),
    "echo": (PLAIN, {"structured_outputs": {"regex": "1"}, "echo": True}, JSONResponse(answer_of("?1", path=PLAIN))),
    "tokens": (CHAT, {"structured_outputs": {"structural_tag": json.dumps(NAMING)}}, JSONResponse(answer_of("ab"))),
    "another path": ("/v1/models", {"structured_outputs": {"regex": "1"}}, JSONResponse(answer_of("1"))),
    "an error": (CHAT, {"response_format": FORMAT}, JSONResponse({"error": "no"}, status_code=400)),
    "no answer of vLLM's": (CHAT, {"response_format": FORMAT}, JSONResponse(["other"])),
}


@pytest.mark.parametrize("case", UNCHANGED)
def test_other_answers_are_as_they_were(case: str) -> None:
    path, request, answer = UNCHANGED[case]
    got = sent(path, request, answer)
    assert got.content == answer.body and got.status_code == answer.status_code


def test_a_stream_is_passed_on() -> None:
    lines = ["data: {}\n\n", "data: [DONE]\n\n"]
    answer = StreamingResponse(iter(lines), media_type="text/event-stream")
    assert sent(CHAT, {"response_format": FORMAT, "stream": True}, answer).text == "".join(lines)


def test_an_engine_that_does_not_ask_has_no_proofs(caplog: pytest.LogCaptureFixture) -> None:
    other = SimpleNamespace(additional_config={})
    answer = JSONResponse(answer_of("{}"))
    assert sent(CHAT, {"response_format": FORMAT}, answer, other).content == answer.body
    assert "does not ask for constrain" in caplog.text
