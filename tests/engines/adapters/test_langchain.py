"""LangChain itself, where it is installed: values and calls of the tiny model, which writes at random."""

from __future__ import annotations

import asyncio
import json
import re
from typing import Annotated, Any

import pydantic
import pytest
from typing_extensions import TypedDict

import constrain
from constrain import ConstrainError

pytest.importorskip("langchain_core", reason="langchain-core is not installed: make local-test installs it")

from langchain_core.exceptions import OutputParserException
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.tools import tool

from constrain.engines.adapters.langchain import ChatConstrain, chat_of

SEEDS = range(4)


class Person(pydantic.BaseModel):
    """A person."""

    name: str = pydantic.Field(pattern="^[A-Z][a-z]{1,5}$")
    age: int = pydantic.Field(ge=0, le=120)
    tags: list[bool] = pydantic.Field(max_length=2)


class Pair(TypedDict):
    """Two flags."""

    left: bool
    right: Annotated[int, pydantic.Field(ge=3, le=5)]


NUMBER = {
    "title": "number",
    "description": "A number.",
    "type": "object",
    "properties": {"value": {"type": "integer", "minimum": 10, "maximum": 99}},
    "required": ["value"],
    "additionalProperties": False,
}
FUNCTION = {"name": "number", "description": "A number.", "parameters": {k: NUMBER[k] for k in list(NUMBER)[2:]}}


@tool
def double(number: bool) -> str:
    """Answer."""
    return f"not {number}"


def chat_model(chat: Any, seed: int = 1, **more: Any) -> ChatConstrain:
    own = {key: more.pop(key) for key in ("tool_options",) if key in more}
    return ChatConstrain(model=chat, options={"seed": seed, "max_tokens": 160, "complete": True, **more}, **own)


def is_number(value: Any) -> bool:
    return isinstance(value, dict) and list(value) == ["value"] and 10 <= value["value"] <= 99


def is_pair(value: Any) -> bool:
    return isinstance(value, dict) and isinstance(value["left"], bool) and value["right"] in (3, 4, 5)


def bare(message: AIMessage) -> list[tuple[str, Any]]:
    """The calls without their ids, which are new each time."""
    return [(call["name"], call["args"]) for call in message.tool_calls]


VALUES = {
    "model": (Person, lambda value: isinstance(value, Person)),
    "typed dict": (Pair, is_pair),
    "schema": (NUMBER, is_number),
    "function": (FUNCTION, is_number),
    "tool": ({"type": "function", "function": FUNCTION}, is_number),
}


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("method", ["json_schema", "json_mode", "function_calling"])
@pytest.mark.parametrize("kind", VALUES)
def test_structured_outputs(chat: Any, kind: str, method: str, seed: int) -> None:
    schema, holds = VALUES[kind]
    structured = chat_model(chat, seed).with_structured_output(schema, method=method)
    value = structured.invoke("Who?")
    assert holds(value)
    assert asyncio.run(structured.ainvoke("Who?")) == value


def test_a_structured_output_is_that_of_generate(chat: Any) -> None:
    ours = constrain.generate(
        chat, [{"role": "user", "content": "Who?"}], type=Person, seed=1, max_tokens=160, complete=True
    )
    assert chat_model(chat).with_structured_output(Person).invoke("Who?") == ours.value
    given = chat_model(chat).with_structured_output(Person, include_raw=True).invoke("Who?")
    assert given["parsed"] == ours.value and given["parsing_error"] is None
    assert given["raw"].content == ours.text and given["raw"].response_metadata["finish_reason"] == "stop"


@pytest.mark.parametrize("kind", VALUES)
@pytest.mark.parametrize("method", ["json_schema", "function_calling"])
def test_streamed_values_end_in_the_value(chat: Any, kind: str, method: str) -> None:
    schema, holds = VALUES[kind]
    structured = chat_model(chat).with_structured_output(schema, method=method)
    values = list(structured.stream("Who?"))
    assert holds(values[-1]) and values[-1] == structured.invoke("Who?")

    async def read() -> list[Any]:
        return [value async for value in structured.astream("Who?")]

    assert asyncio.run(read()) == values


@pytest.mark.parametrize("schema", [Person, NUMBER])
def test_what_is_cut_off_is_no_value(chat: Any, schema: Any) -> None:
    model = ChatConstrain(model=chat, options={"seed": 1, "max_tokens": 3})
    with pytest.raises(OutputParserException, match="finish_reason is 'length'"):
        model.with_structured_output(schema).invoke("Who?")
    with pytest.raises(OutputParserException, match="finish_reason is 'length'"):
        list(model.with_structured_output(schema).stream("Who?"))
    given = model.with_structured_output(schema, include_raw=True).invoke("Who?")
    assert given["parsed"] is None and isinstance(given["parsing_error"], OutputParserException)


@pytest.mark.parametrize(
    "choice, names",
    [
        ("any", {"double", "Person"}),
        (True, {"double", "Person"}),
        ("required", {"double", "Person"}),
        ("Person", {"Person"}),
        ({"type": "function", "function": {"name": "double"}}, {"double"}),
    ],
)
@pytest.mark.parametrize("tool_options", [{}, {"format": "mistral", "parallel": False}])
def test_tool_calls(chat: Any, choice: Any, names: set[str], tool_options: dict[str, Any]) -> None:
    seen = set()
    for seed in SEEDS:
        model = chat_model(chat, seed, tool_options=tool_options).bind_tools([double, Person], tool_choice=choice)
        message = model.invoke("2?")
        assert message.tool_calls and not message.invalid_tool_calls
        for call in message.tool_calls:
            seen.add(call["name"])
            assert call["id"]
            if call["name"] == "double":
                assert double.invoke(call).content == f"not {call['args']['number']}"
            else:
                Person.model_validate(call["args"])
        whole = None
        for chunk in model.stream("2?"):
            whole = chunk if whole is None else whole + chunk
        assert whole is not None and not whole.invalid_tool_calls
        assert bare(whole) == bare(message)
    assert seen <= names and (len(names) > 1 or seen == names)


def test_no_calls(chat: Any) -> None:
    for choice in ("none", "auto", None, False):
        message = chat_model(chat, max_tokens=12).bind_tools([double], tool_choice=choice).invoke("2?")
        assert choice != "none" or not message.tool_calls
        assert message.response_metadata["finish_reason"] == "stop"
    one = chat_model(chat).bind_tools([double], tool_choice="any", parallel_tool_calls=False).invoke("2?")
    assert len(one.tool_calls) == 1


def test_a_call_that_is_cut_off_is_no_call(chat: Any) -> None:
    cut = ChatConstrain(model=chat, options={"seed": 1, "max_tokens": 24}, tool_options={"thinking": "none"})
    model = cut.bind_tools([Person], tool_choice="any", complete=False)
    message = model.invoke("2?")
    assert not message.tool_calls and message.response_metadata["finish_reason"] == "length"
    assert not any(chunk.tool_call_chunks for chunk in model.stream("2?"))


def test_text(chat: Any) -> None:
    model = ChatConstrain(model=chat, options={"seed": 1, "max_tokens": 8})
    message = model.invoke("Hello")
    pieces = list(model.stream("Hello"))
    assert "".join(piece.content for piece in pieces) == message.content
    assert pieces[-1].response_metadata["finish_reason"] == message.response_metadata["finish_reason"]
    assert model.bind(regex="[ab]{3}").invoke("Hello").content.strip("ab") == ""
    assert "c" not in model.invoke("Hello", stop=["c"]).content
    assert model.bind(seed=2).invoke("Hello").content != message.content  # what is bound goes first
    between = model.bind(regex="x[ab]{3}y", prefix="x", suffix="y")  # of the prompt
    assert re.fullmatch("[ab]{3}", between.invoke("Hello").content)


def test_messages_are_those_of_chat_templates() -> None:
    calls = [{"name": "double", "args": {"number": True}, "id": "a1"}]
    messages = [SystemMessage("Be brief."), HumanMessage("2?"), AIMessage("", tool_calls=calls)]
    chat = chat_of([*messages, ToolMessage("not True", tool_call_id="a1")])
    assert [message["role"] for message in chat] == ["system", "user", "assistant", "tool"]
    assert chat[2]["tool_calls"][0]["function"] == {"name": "double", "arguments": {"number": True}}
    assert chat[3] == {"role": "tool", "tool_call_id": "a1", "content": "not True"}


def test_a_turn_after_a_result(chat: Any) -> None:
    model = chat_model(chat).bind_tools([double], tool_choice="any", parallel_tool_calls=False)
    asked = [HumanMessage("2?")]
    message = model.invoke(asked)
    [call] = message.tool_calls
    again = model.invoke([*asked, message, double.invoke(call)])
    assert again.tool_calls


def test_bad_input(chat: Any) -> None:
    with pytest.raises(ConstrainError, match="no method 'xml'"):
        chat_model(chat).with_structured_output(Person, method="xml")
    with pytest.raises(ConstrainError, match="content other than text") as caught:
        chat_model(chat).invoke([HumanMessage([{"type": "image_url", "image_url": {"url": "data:image/png;base64,"}}])])
    assert caught.value.place is not None and caught.value.place.startswith("messages[0].content")
    with pytest.raises(ConstrainError, match="takes one constraint, not 2"):
        chat_model(chat).bind_tools([double]).bind(regex="a").invoke("2?")
    with pytest.raises(constrain.SchemaError):
        chat_model(chat).with_structured_output({"type": "text"}).invoke("2?")


def test_what_it_tells_of_itself(chat: Any) -> None:
    model = chat_model(chat)
    assert model._llm_type == "constrain" and "model" not in json.loads(model.model_dump_json())


def test_a_model_behind_a_server() -> None:
    """Calls and values are those of `constrain.remote`; whether calls may be several is told to the server."""
    pytest.importorskip("openai", reason="openai is not installed: pip install 'constrain-lm[remote]'")
    from openai_server import Answer, speaking

    call = Answer(calls=[("a1", "double", '{"number": true}')], finish="tool_calls")
    with speaking('{"left": true, "right": 4}', call) as server:
        chat = ChatConstrain(model=constrain.remote(server.url))
        assert chat.with_structured_output(Pair).invoke("Two?") == {"left": True, "right": 4}
        message = chat.bind_tools([double], tool_choice="any", parallel_tool_calls=False).invoke("Twice?")
    assert message.tool_calls == [{"name": "double", "args": {"number": True}, "id": "a1", "type": "tool_call"}]
    assert server.bodies[1]["tool_choice"] == "required" and server.bodies[1]["parallel_tool_calls"] is False
