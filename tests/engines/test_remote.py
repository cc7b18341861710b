"""`constrain.remote` against an imitation of a server: what is sent, checked, told back, refused, by kind of server."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pydantic
import pytest

import constrain
from constrain import ConstrainError
from constrain.sampling import SIR, Retried
from openai_server import MODELS, Answer, Spoken, speaking
from page_blocks import ran

openai = pytest.importorskip("openai", reason="openai is not installed: pip install 'constrain-lm[remote]'")

GBNF = 'root ::= "a" | "b"'
SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
CLOSED = {**SCHEMA, "additionalProperties": False}
ASK = [{"role": "user", "content": "Weather in Bern?"}]


class Person(pydantic.BaseModel):
    name: str
    age: int = pydantic.Field(ge=0, le=150)


def weather(city: str, days: int = 1) -> str:
    """Tell the weather."""
    return f"sun in {city} for {days} days"


def as_format(schema: Any, **more: Any) -> dict[str, Any]:
    """A schema as `response_format`."""
    named = {"name": "answer", "schema": schema, **more}
    return {"response_format": {"type": "json_schema", "json_schema": named}}


def in_object(schema: Any) -> dict[str, Any]:
    """The schema of an object that packs a value."""
    return {"type": "object", "properties": {"answer": schema}, "required": ["answer"], "additionalProperties": False}


def plainly(url: str, **options: Any) -> Any:
    """A model whose client does not try again by itself."""
    return constrain.remote(client=openai.OpenAI(base_url=url, api_key="none", max_retries=0), **options)


# -- what is sent ------------------------------------------------------------------------------------------------------

TABLES = "CREATE TABLE t (a INT)"
STRING = {"type": "string"}
PACKED = as_format(in_object({**STRING, "enum": ["a", "b"]}))
FORMS: list[tuple[str, dict[str, Any], str, dict[str, Any]]] = [
    *((kind, {"schema": SCHEMA}, '{"n": 1}', as_format(CLOSED)) for kind in ("vllm", "sglang", "llama.cpp", "ollama")),
    ("vllm", {"schema": {"type": "integer"}}, "1", as_format({"type": "integer"})),
    ("other", {"schema": {"type": "integer"}}, '{"answer": 1}', as_format(in_object({"type": "integer"}))),
    ("vllm", {"choices": ["a", "b"]}, "a", {"structured_outputs": {"choice": ["a", "b"]}}),
    ("vllm", {"regex": "a|b"}, "a", {"structured_outputs": {"regex": "a|b"}}),
    ("vllm", {"grammar": 'start: "a"'}, "a", {"structured_outputs": {"grammar": 'start: "a"'}}),
    ("vllm", {"grammar": GBNF}, "a", {"structured_outputs": {"grammar": GBNF}}),
    ("sglang", {"regex": "a|b"}, "a", {"regex": "a|b"}),
    ("sglang", {"grammar": GBNF}, "a", {"ebnf": GBNF}),
    ("llama.cpp", {"grammar": GBNF}, "a", {"grammar": GBNF}),
    *((kind, {"choices": ["a", "b"]}, '{"answer": "a"}', PACKED) for kind in ("sglang", "llama.cpp", "other")),
    ("ollama", {"regex": "a|b"}, '{"answer": "a"}', as_format(in_object({**STRING, "pattern": "^(?:a|b)$"}))),
    ("vllm", {}, "anything", {}),
    ("vllm", {"stop": "."}, "anything", {"stop": ["."]}),
]  # fmt: skip


@pytest.mark.parametrize("kind, asked, answer, fields", FORMS)
def test_the_form_that_a_server_takes(kind: str, asked: Any, answer: str, fields: Any) -> None:
    with speaking(answer, kind=kind) as server:
        output = constrain.generate(constrain.remote(server.url), "Say it.", **asked, seed=1)
    [body] = server.bodies
    shared = {"model", "messages", "max_tokens", "temperature", "seed", "top_p", "top_k", "min_p", "repetition_penalty"}
    assert {name: value for name, value in body.items() if name not in shared} == fields
    assert output.finish_reason == "stop" and output.text in (answer, "a", "1")
    assert body["messages"] == [{"role": "user", "content": "Say it."}]


@pytest.mark.parametrize("required, strict", [(["n"], True), ([], False)])
def test_openai_is_asked_for_its_strict_mode_where_the_schema_is_in_its_subset(required: Any, strict: bool) -> None:
    schema = {**CLOSED, "required": required}
    with speaking('{"n": 1}', kind="openai") as server:
        model = constrain.remote(server.url, "it", server="openai")
        constrain.generate(model, "Say it.", schema=schema, max_tokens=9)
        loose = [line for line in model.report(schema=schema) if "strict subset" in line.note]
    [body] = server.bodies
    assert {**as_format(schema, strict=strict), "max_completion_tokens": 9}.items() <= body.items()
    assert "max_tokens" not in body and bool(loose) is not strict


@pytest.mark.parametrize("kind", MODELS)
def test_what_shapes_the_distribution_is_said_or_in_the_report(kind: str) -> None:
    """A server's own cuts are turned off where nothing is said, as `generate` has none."""
    with speaking("a", kind=kind) as server:
        model = constrain.remote(server.url)
        constrain.generate(model, "Say it.", temperature=0.5, seed=3)
        constrain.generate(model, "Say it.", top_p=0.5, seed=3)
        first, second = server.bodies
        own = [line.note for line in model.report() if line.keyword == "(defaults)"]
    assert (first["temperature"], first["seed"], second["top_p"]) == (0.5, 3, 0.5)
    off = {"vllm": -1, "sglang": -1, "llama.cpp": 0}
    assert first.get("top_k") == off.get(kind) and bool(own) == (kind not in off)


def test_a_schema_is_told_in_words_where_it_is_asked_for_or_cannot_be_sent() -> None:
    with speaking('{"n": 1}') as server:
        constrain.generate(constrain.remote(server.url), constrain.Prompt("Say it.", describe=True), schema=SCHEMA)
    with speaking('```json\n{"n": 1}\n```') as other:
        output = constrain.generate(constrain.remote(other.url, server="unconstrained"), "Say it.", schema=SCHEMA)
    words = constrain.describe(SCHEMA)
    for body in (*server.bodies, *other.bodies):
        assert body["messages"] == [{"role": "system", "content": words}, {"role": "user", "content": "Say it."}]
    assert output.value == {"n": 1} and output.text == '{"n": 1}' and "response_format" not in other.bodies[0]


def test_more_fields_and_no_key_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    with speaking("a") as server:
        constrain.generate(constrain.remote(server.url, extra={"priority": 3}), "Say it.")
        assert server.bodies[0]["priority"] == 3 and server.keys == ["Bearer none"]
        with pytest.raises(ConstrainError, match="extra has 'seed'"):
            constrain.generate(constrain.remote(server.url, extra={"seed": 3}), "Say it.")


# -- what comes back ---------------------------------------------------------------------------------------------------


def test_a_typed_value_however_it_is_written() -> None:
    """Layout, escapes and order are the server's; a layout that is asked for is checked."""
    written = '{ "age":36,\n"name": "Ad\\u00e9" }'
    with speaking(written) as server:
        model = constrain.remote(server.url, retries=0)
        output = constrain.generate(model, "Who?", type=Person)
        compact = constrain.json_schema(Person, whitespace="compact", undeclared="avoid")
        other = constrain.generate(model, "Who?", constraint=compact)
    assert output.unwrap() == Person(name="Adé", age=36) and output.text == written
    assert other.finish_reason == "dead_end" and other.fault and "is not allowed here" in other.fault
    assert (output.stats.tokens, output.stats.method, output.tokens) == (7, "vllm: response_format", [])
    assert repr(output).endswith("(stop, 7 tokens) value=Person(name='Adé', age=36)>")
    assert output.to_dict()["logprob"] is None


WRONG = [
    ('{"name": "Ada", "age": 360}', "less than or equal to 150"),
    ('{"name": "Ada"}', "Field required"),
    ('{"name": "Ada", "age": 36, "born": 1815}', 'breaks "properties"'),
    ('{"name": "Ada", "age": 36', "ends too early"),
    ("She is 36.", "is not allowed here"),
    ("", "ends too early"),
]


@pytest.mark.parametrize("wrong, reason", WRONG)
@pytest.mark.parametrize("temperature", [0, 1])
def test_a_retry_tells_the_reason(wrong: str, reason: str, temperature: float) -> None:
    with speaking(wrong, wrong, '{"name": "Ada", "age": 36}') as server:
        output = constrain.generate(constrain.remote(server.url), "Who?", type=Person, temperature=temperature)
    assert output.unwrap().age == 36 and (output.stats.retries, output.stats.attempts) == (2, 3)
    roles = [[message["role"] for message in body["messages"]] for body in server.bodies]
    assert roles == [["user", *["assistant", "user"] * attempt] for attempt in range(3)]
    *_, said, told = server.bodies[1]["messages"]
    assert said["content"] == (wrong or "(nothing)") and reason in told["content"]


@pytest.mark.parametrize("method, times", [("lcd", 3), (Retried(0), 1), (Retried(4), 5)])
def test_a_server_that_never_fulfils_the_schema(method: Any, times: int) -> None:
    with speaking(WRONG[0][0]) as server:
        output = constrain.generate(constrain.remote(server.url), "Who?", type=Person, method=method)
    assert len(server.bodies) == times and output.finish_reason == "dead_end" and output.value is None
    with pytest.raises(constrain.IncompleteError, match="less than or equal to 150"):
        output.unwrap()


ENDS = [
    (Answer('{"name": "A', finish="length"), "length", None),
    (Answer("", refusal="I cannot."), "dead_end", "the model declines: I cannot."),
    (Answer("", finish="content_filter"), "dead_end", "the server withholds the text"),
]


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("answer, reason, fault", ENDS)
def test_what_is_cut_off_or_declined_is_not_asked_for_again(
    answer: Answer, reason: str, fault: str | None, stream: bool
) -> None:
    with speaking(answer) as server:
        found: Any = constrain.generate(constrain.remote(server.url), "Who?", type=Person, stream=stream)
        output = found.result if stream else found
    assert (output.finish_reason, output.fault, output.value) == (reason, fault, None) and len(server.bodies) == 1


def test_an_object_that_should_pack_a_text_and_does_not() -> None:
    with speaking('{"colour": "red"}', '{"answer": "blue"}', '{"answer": "red"}', kind="ollama") as server:
        output = constrain.generate(constrain.remote(server.url), "Which?", choices=["red", "green"])
    assert output.value == "red" and "no member 'answer'" in server.bodies[1]["messages"][-1]["content"]


def test_lists_of_prompts_and_several_outputs_share_the_server() -> None:
    def named(body: dict[str, Any]) -> Answer:
        return Answer(json.dumps({"name": body["messages"][0]["content"], "age": 3}))

    with speaking(named) as server:
        model = constrain.remote(server.url)
        groups = constrain.generate(model, ["Ada", "Emmy"], type=Person, n=3, seed=5)
        answers = constrain.map(model, ["Ada", "Emmy", "Hypatia"], type=Person, progress=False, batch=2)
    assert [[each.unwrap().name for each in group] for group in groups] == [["Ada"] * 3, ["Emmy"] * 3]
    assert groups[0].weights == pytest.approx([1 / 3] * 3) and groups[0].log_evidence is None
    assert sorted(body["seed"] for body in server.bodies[:6]) == list(range(5, 11))
    assert [answer.value.name for answer in answers] == ["Ada", "Emmy", "Hypatia"]
    assert answers[0].confidence == {} and answers.errors == [] and server.asked_for_models == 1


# -- streams, tasks ----------------------------------------------------------------------------------------------------


def test_a_stream_of_partial_values() -> None:
    with speaking('{"age": 36, "name": "Ada Lovelace"}') as server:
        model = constrain.remote(server.url)
        stream = constrain.generate(model, "Who?", type=Person, stream=True)
        ages = [partial.age for partial in stream.partials()]
        texts = list(constrain.generate(model, "Who?", type=Person, stream=True))
    assert ages[0] is None and ages[-1] == 36 and stream.result.unwrap().name == "Ada Lovelace"
    assert len(texts) > 5 and "".join(texts) == stream.result.text and stream.result.stats.tokens == 7
    assert server.bodies[0]["stream_options"] == {"include_usage": True}


def test_a_stream_that_fails_its_check_ends_as_one() -> None:
    with speaking(WRONG[0][0]) as server:
        stream = constrain.generate(constrain.remote(server.url), "Who?", type=Person, stream=True)
        assert "".join(stream) == WRONG[0][0] and stream.result.finish_reason == "dead_end" and len(server.bodies) == 1


def test_a_stream_of_a_packed_text_comes_whole() -> None:
    with speaking('{"answer": "red"}', kind="ollama") as server:
        stream = constrain.generate(constrain.remote(server.url), "Which?", choices=["red"], stream=True)
        assert list(stream) == ["red"] and stream.result.value == "red"
    with pytest.raises(ConstrainError, match="no tokens to colour"):
        stream.show()


def test_tasks_are_under_way_at_the_same_time() -> None:
    """No answer comes before all have asked."""
    import threading

    together = threading.Barrier(4, timeout=60)

    def held(body: dict[str, Any]) -> Answer:
        return Answer(json.dumps({"name": body["messages"][0]["content"], "age": 3}))

    async def ask(server: Spoken) -> tuple[list[str], list[str]]:
        model = constrain.remote(server.url, "it", server="vllm", at_once=4)
        outputs = await asyncio.gather(*(constrain.agenerate(model, f"n{i}", type=Person) for i in range(4)))
        stream = constrain.astream(model, "n4", type=Person)
        pieces = [piece async for piece in stream]
        return [output.unwrap().name for output in outputs], [(await stream.result()).unwrap().name, "".join(pieces)]

    with speaking(held, before=lambda body: together.wait() if not body.get("stream") else None) as server:
        names, streamed = asyncio.run(ask(server))
    assert names == ["n0", "n1", "n2", "n3"] and streamed == ["n4", '{"name": "n4", "age": 3}']


# -- tools -------------------------------------------------------------------------------------------------------------

CALL = Answer(calls=[("a1", "weather", '{"days":2,"city":"Bern"}')], finish="tool_calls", thoughts="Hm.")


def test_a_conversation_with_tools() -> None:
    with speaking(CALL, "Sunny.") as server:
        chat = constrain.converse(constrain.remote(server.url), ASK, [weather])
    first, second = server.bodies
    assert chat.finished and chat.content == "Sunny." and chat.turns[0].thinking == "Hm."
    assert first["tools"][0]["function"]["parameters"]["additionalProperties"] is False
    assert first["tool_choice"] == "auto"
    _, said, result = second["messages"]
    assert json.loads(said["tool_calls"][0]["function"]["arguments"]) == {"days": 2, "city": "Bern"}
    assert said["tool_calls"][0]["id"] == result["tool_call_id"] == "a1" and "reasoning_content" not in said
    assert result["content"] == "sun in Bern for 2 days"


MISUSED = [
    ("auto", Answer(calls=[("a1", "wether", "{}")]), "there is no tool 'wether'"),
    ("auto", Answer(calls=[("a1", "weather", '{"city": 3}')]), "the arguments of 'weather'"),
    ("auto", Answer(calls=[("a1", "weather", '{"city": "Bern", "mood": 1}')]), "Extra inputs"),
    ("auto", Answer(calls=[("a1", "weather", '{"city": "Be')]), "the text ends here"),
    ("required", Answer("Sunny."), "there must be a call"),
    ("weather", Answer("Sunny."), "there must be a call"),
    ("none", CALL, "there is no tool 'weather' to call; there is none"),
]


@pytest.mark.parametrize("choice, answer, reason", MISUSED)
def test_calls_are_checked_and_asked_for_again(choice: str, answer: Answer, reason: str) -> None:
    last = Answer("Sunny.") if choice == "none" else CALL
    with speaking(answer, last) as server:
        turn = constrain.generate(constrain.remote(server.url), ASK, tools=[weather], tool_choice=choice)
    assert turn.finish_reason == "stop" and reason in server.bodies[1]["messages"][-1]["content"]
    assert [call.arguments for call in turn.tool_calls] == ([] if choice == "none" else [{"city": "Bern", "days": 2}])


@pytest.mark.parametrize("door", ["tools", "constraint"])
def test_a_turn_of_constrain_tools(door: str) -> None:
    """Whatever its format is: the server writes in its model's own."""
    turn: Any = {door: constrain.tools([weather], format="mistral", choice="weather", parallel=False)}
    twice = Answer(calls=[*CALL.calls, *CALL.calls])
    with speaking(twice, CALL) as server:
        output = constrain.generate(constrain.remote(server.url), ASK, **turn)
    first, second = server.bodies
    assert first["tool_choice"] == {"type": "function", "function": {"name": "weather"}}
    assert first["parallel_tool_calls"] is False and "there may be 1 calls" in second["messages"][-1]["content"]
    assert [call.values for call in output.tool_calls] == [{"days": 2, "city": "Bern"}]


def test_a_stream_of_events_is_the_turn() -> None:
    two = Answer("Well", [*CALL.calls, ("", "weather", '{"city":"Rome"}')], "tool_calls", thoughts="Hm.")
    with speaking(two) as server:
        stream = constrain.generate(constrain.remote(server.url), ASK, tools=[weather], stream=True, seed=1)
        events = list(stream.events())
    ended = [event.call for event in events if isinstance(event, constrain.calls.CallEnded)]
    assert ended == stream.result.tool_calls and stream.result.finish_reason == "stop"
    assert [call.values for call in ended] == [{"days": 2, "city": "Bern"}, {"city": "Rome"}]
    assert ended[0].id == "a1" and ended[1].id.startswith("call_")
    assert (stream.result.content, stream.result.thinking) == ("Well", "Hm.")


# -- faults ------------------------------------------------------------------------------------------------------------

FAULTS = [
    (Answer("no such field", status=400), "the server answers 400", "no such field"),
    (Answer("no key", status=401), "the server answers 401", "api_key="),
    (Answer("The model `it` does not exist.", status=404), "the server answers 404", "its models are itt, other"),
    (Answer("slow down", status=429), "the server answers 429", "at_once=1"),
    (Answer("broken", status=500), "the server answers 500", "broken"),
    (Answer('{"name": "Ada"', cut=True), "the connection to the server fails", "start it"),
    (Answer(raw="<html>Hello</html>"), "cannot be read", "Hello"),
    (Answer(raw="{not json"), "cannot be read", "check the address"),
    (Answer(raw='{"object": "error"}'), "cannot be read", "no chat completion"),
]


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("answer, said, more", FAULTS)
def test_faults_of_a_server_are_sentences(answer: Answer, said: str, more: str, stream: bool) -> None:
    def ask(url: str) -> Any:
        found: Any = constrain.generate(plainly(url, model="it"), "Who?", type=Person, stream=stream)
        return found.result if stream else found

    with speaking(answer, names=["itt", "other"]) as server, pytest.raises(ConstrainError, match=said) as caught:
        ask(server.url)
    assert (more in str(caught.value) or (stream and answer.raw)) and str(caught.value).count("fix:") == 1


def test_a_fault_is_kept_with_its_row() -> None:
    def moody(body: dict[str, Any]) -> Answer:
        return Answer("broken", status=500) if body["messages"][0]["content"] == "b" else Answer('{"n": 1}')

    with speaking(moody) as server:
        answers = constrain.map(plainly(server.url), ["a", "b", "c"], schema=SCHEMA, progress=False)
    assert [answer.value for answer in answers] == [{"n": 1}, None, {"n": 1}]
    assert answers[1].error and "the server answers 500" in answers[1].error


def test_no_server_and_no_model() -> None:
    with speaking("a", names=["one", "two"]) as server, pytest.raises(ConstrainError, match="name one: one, two"):
        constrain.generate(constrain.remote(server.url), "Who?")
    with pytest.raises(ConstrainError, match="the connection to the server fails"):
        constrain.generate(plainly(server.url), "Who?")
    with speaking("a", kind=None) as silent:
        assert constrain.generate(constrain.remote(silent.url, "it"), "Who?").stats.method == "compatible: free text"


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"method": "smc"}, "method"),
    ({"method": SIR()}, "method"),
    ({"draft": "lookup"}, "draft"),
    ({"processors": constrain.processors.MinP(0.1)}, "processors"),
    ({"tokenizer": print}, "tokenizer"),
    ({"canonical": True}, "canonical"),
    ({"complete": True, "regex": "a"}, "complete"),
    ({"max_tokens": constrain.Length(9, at_least=3)}, "at_least"),
    ({"top_k": 3}, "top_k"),
    ({"grammar": 'start: "a"'}, "constraint"),
    ({"constraint": constrain.regex("a") | constrain.json_schema(SCHEMA)}, "constraint"),
    ({"constraint": constrain.token(3)}, "constraint"),
    (
        {"constraint": constrain.monitors.monitored(constrain.regex("[a-z ]+"), constrain.monitors.sql(TABLES))},
        "constraint",
    ),
    ({"tools": constrain.tools([weather], format="qwen3", thinking="none")}, "tools"),
    ({"regex": "a+", "stop": "b"}, "stop"),
    ({"prompt": [1, 2, 3]}, "prompt"),
    ({"prompt": constrain.Prompt("a", healing=True), "regex": "a"}, "healing"),
    ({"prompt": constrain.Prompt("a", suffix="b"), "regex": "a+b"}, "prefix and suffix"),
    ({"prompt": {"input_ids": [[1]]}}, "images"),
    ({"schema": {"type": "array", "items": {"$ref": "#"}}}, "schema"),
]


@pytest.mark.parametrize("options, place", REFUSED)
def test_nothing_is_accepted_and_ignored(options: dict[str, Any], place: str) -> None:
    """Options that a server cannot serve are errors with a fix, before anything is asked for."""
    given = {"prompt": "Who?", **options}
    with speaking("a", kind="other") as server, pytest.raises(ConstrainError) as caught:
        constrain.generate(constrain.remote(server.url), **given)
    assert caught.value.place == place and caught.value.fix and not server.bodies


@pytest.mark.parametrize(
    "door",
    [
        lambda model: constrain.score(model, "Who?", ["a", "b"]),
        lambda model: constrain.explain(model, "Who?", "a", regex="b"),
        lambda model: constrain.generation.make_job(model, "Who?", regex="a"),
    ],
)
def test_what_asks_for_logits_says_that_there_are_none(door: Callable[[Any], Any]) -> None:
    with pytest.raises(ConstrainError, match="needs the logits of a model, and remote"):
        door(constrain.remote("http://127.0.0.1:9/v1", "it"))


def test_arguments() -> None:
    with pytest.raises(ConstrainError, match="did you mean 'vllm'"):
        constrain.remote("http://127.0.0.1:9/v1", server="vlm")
    with pytest.raises(ConstrainError, match="leave out url"):
        constrain.remote("http://127.0.0.1:9/v1", client=openai.OpenAI(api_key="none"))


def test_the_report_says_what_is_trusted_and_what_is_checked() -> None:
    with speaking("a") as server:
        lines = constrain.remote(server.url).report(schema=SCHEMA)
    said = {line.keyword: line.status for line in lines}
    assert said["response_format"] == "trusted" and said["required"] == said["type"] == "residual"
    assert "enforced" not in said.values() and next(line for line in lines if "temperature" in line.keyword)


def test_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    made = constrain.remote
    calls = [("a1", "weather", '{"city": "Bern"}')]

    def answer(body: dict[str, Any]) -> Answer:
        if "tools" in body and len(body["messages"]) == 1:
            return Answer(calls=calls, finish="tool_calls")
        return Answer("Sunny.") if "tools" in body else Answer('{"name": "Ada", "age": 36}')

    with speaking(answer) as server:
        monkeypatch.setattr(constrain, "remote", lambda url: made(server.url))
        names = ran("docs/howto/remote.md", 2)[-1]
    assert names["person"].age == 36 and len(names["answers"].values) == 2 and names["lines"]
    assert names["chat"].finished and names["chat"].messages[2]["content"] == "sun in Bern"
