"""Tools in a chat: `tools=`, OpenAI's shapes, events of a turn, and the loop that runs calls."""

from __future__ import annotations

import asyncio
import json
from types import SimpleNamespace
from typing import Any

import pydantic
import pytest

import constrain
from constrain.chat.calls import ArgumentsText, CallBegun, CallEnded, Content, Thought
from constrain.chat.calls.auto import NAMING

ASK: list[dict[str, Any]] = [{"role": "user", "content": "2?"}]


def double(number: bool) -> str:
    """Answer."""
    return f"not {number}"


class Search(pydantic.BaseModel):
    wide: bool


def options(**more: Any) -> dict[str, Any]:
    return {"seed": 1, "max_tokens": 160, "complete": True, **more}


def test_calls_are_required_and_read_back(chat: Any) -> None:
    g = constrain.generate(chat, ASK, tools=[double, Search], tool_choice="required", **options())
    assert g.finish_reason == "stop" and g.tool_calls
    for call in g.tool_calls:
        if call.name == "double":
            assert isinstance(call.arguments["number"], bool)
        else:
            assert isinstance(call.arguments, Search)
    named = {"type": "function", "function": {"name": "Search"}}
    g = constrain.generate(chat, ASK, tools=[double, Search], tool_choice=named, **options())
    assert {call.name for call in g.tool_calls} == {"Search"}
    g = constrain.generate(chat, ASK, tools=[double], tool_choice="none", **options(max_tokens=20))
    assert not g.tool_calls and g.content == g.text.strip("\n")


def test_the_template_is_told_the_tools(chat: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []
    render = chat.tokenizer.apply_chat_template

    def noted(messages: Any, **given: Any) -> Any:
        seen.append(given.get("tools"))
        return render(messages, **given)

    monkeypatch.setattr(chat.tokenizer, "apply_chat_template", noted)
    constrain.generate(chat, ASK, tools=[double], **options())
    turn = constrain.tools([double], format="qwen3", choice="required", parallel=False)
    constrain.generate(chat, ASK, constraint=turn, **options())
    constrain.generate(chat, ASK, regex="a", **options())
    told = [{"type": "function", "function": {"name": "double", **seen[0][0]["function"]}}]
    assert seen == [told, told, None] and told[0]["function"]["description"] == "Answer."


SEVEN = {"type": "json_schema", "json_schema": {"name": "a", "schema": {"const": 7}, "strict": False}}
ONE = {"type": "object", "properties": {"a": {"type": "null"}}, "required": ["a"], "additionalProperties": False}
STRICT = {"type": "json_schema", "json_schema": {"name": "a", "schema": ONE, "strict": True}}
TAG = {"type": "structural_tag", "format": {"type": "const_string", "value": "ab"}}


def test_response_format(chat: Any) -> None:
    assert constrain.generate(chat, "", response_format=SEVEN, **options()).value == 7
    assert constrain.generate(chat, "", response_format=STRICT, **options()).value == {"a": None}
    assert isinstance(constrain.generate(chat, "", response_format={"type": "json_object"}, **options()).value, dict)
    assert constrain.generate(chat, "", response_format=TAG, **options()).text == "ab"


def test_response_format_text_is_no_constraint(chat: Any) -> None:
    g = constrain.generate(chat, "", response_format={"type": "text"}, seed=1, max_tokens=5)
    assert g.text == constrain.generate(chat, "", seed=1, max_tokens=5).text


@pytest.mark.parametrize(
    "given, message",
    [
        ({"response_format": {"type": "xml"}}, "no response_format"),
        ({"response_format": "json"}, "no response_format"),
        ({"response_format": {"type": "json_schema"}}, "no schema"),
        ({"response_format": {"type": "json_schema", "json_schema": {"schema": {}, "size": 1}}}, "no 'size' here"),
        ({"response_format": {"type": "json_object", "schema": {}}}, "no 'schema' here"),
        (
            {"response_format": {"type": "json_object"}, "regex": "a"},
            "takes one constraint, not 2: regex, response_format",
        ),
        ({"tools": [double], "regex": "a"}, "takes one constraint, not 2: regex, tools"),
        ({"tools": [double], "tool_choice": "triple"}, "no tool_choice 'triple'"),
        ({"tools": [double], "tool_choice": {"function": {}}}, "no tool_choice None"),
        ({"tool_choice": "required"}, "tool_choice needs tools"),
        (
            {"tools": constrain.tools([double], format="qwen3"), "tool_choice": "required"},
            "has its own choice\n  at tool_choice\n  fix: constrain.tools.functions, choice='required'.",
        ),
        ({"tools": constrain.tools([double], format="qwen3"), "tool_choice": "triple"}, "no tool_choice 'triple'"),
        ({"response_format": [1]}, "response_format is a list of 1"),
        ({"response_format": 3}, "no response_format 3"),
        ({"tools": [double], "stop": "a"}, "stop has no meaning beside tools"),
        ({"tools": [1]}, "tools"),
    ],
)
def test_bad_input(chat: Any, given: Any, message: str) -> None:
    with pytest.raises(constrain.ConstrainError, match=message):
        constrain.generate(chat, "", **given)


def test_a_model_without_a_template_needs_a_format(model: Any, tokenizer: Any) -> None:
    bare = SimpleNamespace(model=model, tokenizer=tokenizer)
    with pytest.raises(constrain.ConstrainError, match="has no chat template") as caught:
        constrain.generate(bare, "", tools=[double])
    assert caught.value.fix == NAMING and "pass tokenizer=" not in NAMING and "hermes, kimi" in NAMING
    turn = constrain.tools([double], format="hermes", choice="required", parallel=False)  # what the fix says
    g = constrain.generate(bare, "", tools=turn, **options())
    assert [call.name for call in g.tool_calls] == ["double"]


def test_a_class_as_response_format(chat: Any) -> None:
    found = constrain.generate(chat, "", response_format=Search, **options()).unwrap()
    assert isinstance(found, Search)


def test_every_call_has_an_id_of_its_own(chat: Any) -> None:
    turn = constrain.tools([double], format="qwen3", choice="required", tokenizer=chat.tokenizer)
    talk, again, other = (
        constrain.converse(chat, ASK, turn, rounds=2, **options(seed=seed, max_tokens=90)) for seed in (1, 1, 2)
    )
    asked = [call["id"] for message in talk.messages for call in message.get("tool_calls", ())]
    told = [message["tool_call_id"] for message in talk.messages if message["role"] == "tool"]
    assert asked == told and len(set(asked)) == len(asked) >= 2
    assert all(len(each) == 21 and each.startswith("call_") for each in asked)
    assert [call.id for each in again.turns for call in each.tool_calls] == asked
    assert not {call.id for each in other.turns for call in each.tool_calls} & set(asked)
    outputs = constrain.generate(chat, ASK, tools=turn, n=3, **options())
    ids = [call.id for g in outputs for call in g.tool_calls]
    assert len(set(ids)) == len(ids) >= 3


def put_together(events: list[Any]) -> tuple[str, str, list[tuple[str, str, Any]]]:
    """(content, thoughts, (name, text of the arguments, the call) of each call)."""
    content = "".join(event.text for event in events if isinstance(event, Content))
    thoughts = "".join(event.text for event in events if isinstance(event, Thought))
    calls = []
    for i, begun in enumerate(event for event in events if isinstance(event, CallBegun)):
        assert begun.number == i
        text = "".join(event.text for event in events if isinstance(event, ArgumentsText) and event.number == i)
        [ended] = [event.call for event in events if isinstance(event, CallEnded) and event.number == i]
        calls.append((begun.name, text, ended))
    return content, thoughts, calls


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("form", ["qwen3", "llama3", "qwen3-coder", "mistral"])
def test_events_add_up_to_the_turn(chat: Any, form: str, seed: int) -> None:
    turn = constrain.tools([double, Search], format=form, choice="required", tokenizer=chat.tokenizer)
    stream = constrain.generate(chat, "", constraint=turn, stream=True, **options(seed=seed))
    events = list(stream.events())
    content, thoughts, calls = put_together(events)
    g = stream.result
    assert [call for *_, call in calls] == g.tool_calls and g.tool_calls
    assert content.strip() == g.content.strip() and thoughts.strip() == (g.thinking or "").strip()
    assert [name for name, *_ in calls] == [call.name for call in g.tool_calls]

    async def read() -> list[Any]:
        other = constrain.astream(chat, "", constraint=turn, **options(seed=seed))
        return [event async for event in other.events()]

    assert asyncio.run(read()) == events


def test_events_need_tools_and_a_stream_that_has_not_begun(chat: Any) -> None:
    with pytest.raises(constrain.ConstrainError, match="no calls that could be read"):
        constrain.generate(chat, "", regex="ab", stream=True).events()
    turn = constrain.tools([double], format="qwen3", choice="required")
    stream = constrain.generate(chat, "", constraint=turn, stream=True, **options())
    next(stream)
    with pytest.raises(constrain.ConstrainError, match="has begun"):
        stream.events()


def test_the_loop_runs_calls_until_the_rounds_are_over(chat: Any) -> None:
    turn = constrain.tools([double], format="qwen3", choice="required", parallel=False)
    talk = constrain.converse(chat, ASK, turn, rounds=2, **options())
    assert not talk.finished and len(talk.turns) == 2
    assert [message["role"] for message in talk.messages] == ["user", *["assistant", "tool"] * 2]
    for asked, told in zip(talk.messages[1::2], talk.messages[2::2], strict=True):
        [call] = asked["tool_calls"]
        assert told["content"] == f"not {call['function']['arguments']['number']}"
        assert told["tool_call_id"] == call["id"]
    assert ASK == [{"role": "user", "content": "2?"}]  # untouched


def test_the_loop_ends_with_an_answer(chat: Any) -> None:
    talk = constrain.converse(chat, ASK, [double], tool_choice="none", **options(max_tokens=12))
    assert talk.finished and len(talk.turns) == 1 and talk.content == talk.turns[0].content
    talk = constrain.converse(chat, ASK, [double], tool_choice="none", seed=1, max_tokens=1)
    same = constrain.converse(chat, constrain.Prompt(ASK), [double], tool_choice="none", seed=1, max_tokens=1)
    assert same.messages == talk.messages
    assert not talk.finished and talk.turns[0].finish_reason == "length"


def test_exceptions_of_tools(chat: Any) -> None:
    def fails(number: bool) -> None:
        """Fail."""
        raise OSError("no net")

    turn = constrain.tools([fails], format="qwen3", choice="required", parallel=False)
    with pytest.raises(OSError, match="no net"):
        constrain.converse(chat, ASK, turn, rounds=1, **options())
    talk = constrain.converse(chat, ASK, turn, rounds=1, on_error="tell", **options())
    assert json.loads(talk.messages[-1]["content"]) == {"error": "OSError: no net"}


def test_other_tools_need_a_runner(chat: Any) -> None:
    with pytest.raises(constrain.ConstrainError, match="'Search' cannot be run"):
        constrain.converse(chat, ASK, [Search], **options())
    turn = constrain.tools([Search], format="qwen3", choice="required", parallel=False)
    talk = constrain.converse(chat, ASK, turn, rounds=1, run=lambda call, _: call.arguments, **options())
    assert json.loads(talk.messages[-1]["content"]) in ({"wide": True}, {"wide": False})


def _circle() -> list[Any]:
    inside: list[Any] = []
    inside.append(inside)
    return inside


def _deep() -> list[Any]:
    inside: list[Any] = []
    for _ in range(100_000):
        inside = [inside]
    return inside


class Shy:
    """Has no text."""

    def __str__(self) -> str:
        raise RuntimeError("not now")


RESULTS: dict[str, tuple[Any, str]] = {
    "keys that are tuples": (lambda: {(1, 2): 3}, "\"the result of the tool 'gives' is no JSON: TypeError"),
    "a circle": (_circle, "is no JSON: ValueError: Circular reference"),
    "nested deeply": (_deep, "is no JSON: RecursionError"),
    "no text": (Shy, "is no JSON: RuntimeError: not now"),
    "half a surrogate in JSON": (lambda: ["\ud800"], '["\\\\ud800"]'),
    "half a surrogate": (lambda: "a\ud800", "a\\\\ud800"),
    "an error with half of one": (lambda: (_ for _ in ()).throw(OSError("\udcff")), "OSError: \\\\udcff"),
    "a set": (lambda: {1}, '"{1}"'),
    "bytes": (lambda: b"\xff", "xff"),
}


@pytest.mark.parametrize("kind", RESULTS)
def test_odd_results_are_told(kind: str, chat: Any) -> None:
    """A result that JSON cannot hold is told to the model as an error, or raised with the tool's name."""
    make, said = RESULTS[kind]

    def gives(number: bool) -> Any:
        """Give."""
        made = make()
        return next(made) if hasattr(made, "throw") else made

    turn = constrain.tools([gives], format="qwen3", choice="required", parallel=False)
    talk = constrain.converse(chat, ASK, turn, rounds=1, on_error="tell", **options())
    assert said.replace("\\\\", "\\") in talk.messages[2]["content"]
    if "is no JSON" in said:
        with pytest.raises(constrain.ConstrainError, match="the result of the tool 'gives' is no JSON") as caught:
            constrain.converse(chat, ASK, turn, rounds=1, **options())
        assert caught.value.place == "gives()"


@pytest.mark.parametrize(
    "messages, more, said",
    [
        ("hello", {}, "begins with chat messages, not with 'hello'\n  at messages"),
        (["hello"], {}, "neither text, chat messages nor token ids"),
        ([1, 2], {}, "begins with chat messages"),
        ([], {}, "begins with chat messages"),
        (5, {}, "neither text, chat messages"),
        ([{"role": "user"}, "hello"], {}, "a mixed list"),
        ([{"content": "hello"}], {}, "without a role"),
        ([{"role": "user", "content": 5}], {}, "neither a text nor a list of parts: 5\n  at message 0.content"),
        ([{"role": "user", "content": ["a", 5]}], {}, "list of parts: 5\n  at message 0.content.1."),
        ([{"role": "user", "content": [{"type": "text", "text": 5}]}], {}, "at message 0.content.0."),
        ([{"role": "user", "content": {"text": "a"}}], {}, "at message 0.content"),
        ([{"role": "user", "content": "a\ud800"}], {}, "lone surrogate: .*\n  at message 0.content"),
        ([{"role": "user", "content": [{"type": "image_url", "image_url": {}}]}], {}, "a part of type 'image_url'"),
        (ASK, {"seed": "a"}, "seed must be an int or None, not 'a'"),
        (ASK, {"seed": 1.5}, "seed must be an int or None"),
    ],
    ids=str,
)
def test_odd_messages(messages: Any, more: Any, said: str, chat: Any) -> None:
    with pytest.raises(constrain.ConstrainError, match=said):
        constrain.converse(chat, messages, [double], **options(**more))


def test_parts_of_text_are_joined(chat: Any) -> None:
    """A template that joins texts reads a list of parts, as OpenAI's interface has them, as one text."""
    parts = [{"role": "user", "content": [{"type": "text", "text": "2"}, {"type": "text", "text": "?"}]}]
    joined = [{"role": "user", "content": "2\n?"}]
    assert (
        constrain.generate(chat, parts, regex="a+", **options()).text
        == constrain.generate(chat, joined, regex="a+", **options()).text
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(chat.tokenizer, "chat_template", "{{ raise_exception('roles') }}")
        with pytest.raises(constrain.ConstrainError, match=r"the chat template cannot write the prompt: .*roles"):
            constrain.generate(chat, parts, regex="a+", **options())


CALL = '<tool_call>\n{"name": "double", "arguments": {"number": %s}}\n</tool_call>'


@pytest.mark.parametrize(
    "texts, reasons, ran, finish_reason",
    [
        ([[CALL % "true", CALL % "true", CALL[:30]]], ["length"], ["true"], "length"),
        ([[CALL % "true", CALL % "false", CALL % "true"]], ["dead_end"], ["true", "false"], "dead_end"),
        ([[CALL % "true"]], ["stop"], ["true"], "tool_calls"),
        ([[CALL % "true", CALL[:9]], ["Done."]], ["length", "stop"], ["true"], "stop"),
        ([[CALL % "true"], [CALL % "true"], ["Do"]], ["stop", "stop", "length"], ["true", "true"], "length"),
        ([[CALL[:30]]], ["length"], [], "length"),
    ],
)
def test_whole_calls_of_a_cut_turn_are_run(
    texts: list[list[str]], reasons: list[str], ran: list[str], finish_reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each turn runs its whole calls, equal ones once, and every call is answered."""
    turn = constrain.tools([double], format="qwen3", thinking="none")
    given = []
    for number, (parts, reason) in enumerate(zip(texts, reasons, strict=True)):
        message = turn.read("\n".join(parts), lambda place, number=number: f"call {number} {place}")
        given.append(SimpleNamespace(**vars(message), finish_reason=reason))
    turns = iter(given)
    monkeypatch.setattr("constrain.generation.chat.generate", lambda *_, **__: next(turns))
    seen: list[str] = []
    talk = constrain.converse(
        SimpleNamespace(),
        ASK,
        turn,
        rounds=len(texts),
        run=lambda call, _: seen.append(json.dumps(call.values["number"])),
    )
    assert (seen, talk.finish_reason, talk.finished) == (ran, finish_reason, finish_reason == "stop")
    asked = [call["id"] for message in talk.messages for call in message.get("tool_calls", ())]
    told = [message["tool_call_id"] for message in talk.messages if message["role"] == "tool"]
    assert asked == told == [call.id for each in given for call in each.tool_calls]


def test_a_greatest_number_of_calls(chat: Any) -> None:
    text = '<tool_call>\n{"name": "double", "arguments": {"number": true}}\n</tool_call>'
    for most, accepted in ((None, 9), (1, 1), (2, 2), (3, 3)):
        turn = constrain.tools([double], format="qwen3", choice="required", max_calls=most)
        found = [count for count in range(1, 10) if turn.accepts("\n".join([text] * count))]
        assert found == list(range(1, accepted + 1))
    for wrong in (0, -1, True, "2", 1.5):
        with pytest.raises(constrain.ConstrainError, match="max_calls is an int of at least 1"):
            constrain.tools([double], format="qwen3", max_calls=wrong)  # type: ignore[arg-type]


def test_arguments_that_are_nested_deeply_are_a_fault() -> None:
    turn = constrain.tools([{"name": "f", "parameters": {"type": "object", "properties": {"a": {}}}}], format="qwen3")
    for levels, read in ((400, True), (1500, False), (100_000, False)):
        nested = "[" * levels + "]" * levels
        message = turn.read(f'<tool_call>\n{{"name": "f", "arguments": {{"a": {nested}}}}}\n</tool_call>')
        assert (len(message.tool_calls) == 1) == read
        assert read or "are nested too deeply to be read" in str(message.fault)
