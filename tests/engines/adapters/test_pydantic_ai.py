"""Pydantic AI itself, where it is installed: agents of the tiny model, which writes at random, need no retry."""

from __future__ import annotations

import asyncio
from typing import Any

import pydantic
import pytest

import constrain
from constrain import ConstrainError

pytest.importorskip("pydantic_ai", reason="pydantic-ai-slim is not installed: make local-test installs it")

from pydantic_ai import Agent, ImageUrl, NativeOutput, PromptedOutput, ToolOutput
from pydantic_ai.exceptions import UnexpectedModelBehavior
from pydantic_ai.messages import ModelRequest, ToolCallPart, ToolReturnPart, UserPromptPart
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.tools import ToolDefinition

from constrain.engines.adapters.pydantic_ai import ConstrainModel, chat_of


class Person(pydantic.BaseModel):
    name: str = pydantic.Field(pattern="^[A-Z][a-z]{1,5}$")
    age: int = pydantic.Field(ge=0, le=120)


def flag(number: bool) -> str:
    """Answer."""
    return str(number)


def local(chat: Any, seed: int = 1, **more: Any) -> ConstrainModel:
    return ConstrainModel(chat, options={"seed": seed, "max_tokens": 160, "complete": True, **more})


def untold(kind: Any) -> Any:
    """The mode "prompted" without the schema in the prompt, for which the tiny model's context is too short."""
    return PromptedOutput(kind, template=False)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("mode", [None, ToolOutput, NativeOutput, untold])
def test_outputs_need_no_retry(chat: Any, mode: Any, seed: int) -> None:
    agent = Agent(local(chat, seed), output_type=Person if mode is None else mode(Person), retries=0)
    run = agent.run_sync("Who?")
    assert isinstance(run.output, Person) and run.usage.requests == 1


def test_one_of_several_types(chat: Any) -> None:
    found = {type(Agent(local(chat, seed), output_type=[Person, bool]).run_sync("?").output) for seed in range(6)}
    assert found == {Person, bool}


def test_calls_and_what_follows_their_results(chat: Any) -> None:
    schema = {"type": "object", "properties": {"number": {"type": "boolean"}}, "required": ["number"]}
    tool = ToolDefinition(name="double", parameters_json_schema=schema)
    asked = ModelRequestParameters(function_tools=[tool], allow_text_output=False)
    options, tool_options = {"seed": 1, "max_tokens": 80, "complete": True}, {"thinking": "none", "parallel": False}
    short = ConstrainModel(chat, options=options, tool_options=tool_options)  # two turns fit the context
    messages: list[Any] = [ModelRequest([UserPromptPart("2?")])]
    for _ in range(2):
        said = asyncio.run(short.request(messages, None, asked))
        calls = [part for part in said.parts if isinstance(part, ToolCallPart)]
        assert calls and said.finish_reason == "tool_call"
        assert all(call.tool_name == "double" and isinstance(call.args_as_dict()["number"], bool) for call in calls)
        told = [ToolReturnPart("double", "not", tool_call_id=call.tool_call_id) for call in calls]
        messages += [said, ModelRequest(told)]
    roles = [message["role"] for message in chat_of(messages)]
    assert roles[:3] == ["user", "assistant", "tool"]


def test_text_where_calls_are_not_wanted(chat: Any) -> None:
    agent = Agent(local(chat), output_type=str, tools=[flag], retries=0, instructions="Be brief.")
    said = agent.run_sync("2?", model_settings={"tool_choice": "none", "max_tokens": 12})
    assert isinstance(said.output, str) and said.usage.requests == 1
    between = Agent(local(chat, regex="x[ab]{3}y", prefix="x", suffix="y"), output_type=str)
    assert set(between.run_sync("2?").output) <= set("ab")


def test_what_is_cut_off_is_an_error(chat: Any) -> None:
    for mode in (ToolOutput, NativeOutput):
        agent = Agent(local(chat, complete=False, max_tokens=3), output_type=mode(Person))
        with pytest.raises(UnexpectedModelBehavior, match="finish_reason is 'length'"):
            agent.run_sync("Who?")


def test_native_output_beside_tools_is_refused(chat: Any) -> None:
    agent = Agent(local(chat), output_type=NativeOutput(Person), tools=[flag])
    with pytest.raises(ConstrainError, match="no native output here"):
        agent.run_sync("Who?")


def test_images_are_refused(chat: Any) -> None:
    with pytest.raises(ConstrainError, match="is not text"):
        Agent(local(chat)).run_sync(["Who?", ImageUrl(url="https://example.org/a.png")])


def test_a_model_behind_a_server() -> None:
    """An agent with a tool and an output type, over a server."""
    pytest.importorskip("openai", reason="openai is not installed: pip install 'constrain-lm[remote]'")
    from openai_server import Answer, speaking

    def add(a: int, b: int) -> int:
        """Add."""
        return a + b

    first = Answer(calls=[("a1", "add", '{"a": 1, "b": 2}')], finish="tool_calls")
    last = Answer(calls=[("a2", "final_result", '{"response": 3}')], finish="tool_calls")
    with speaking(first, last) as server:
        agent = Agent(ConstrainModel(constrain.remote(server.url)), output_type=int, tools=[add])
        assert agent.run_sync("Add.").output == 3
    assert server.bodies[1]["messages"][-1]["content"] == "3"
