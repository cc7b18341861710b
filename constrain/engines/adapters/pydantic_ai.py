"""Pydantic AI: a model for agents whose outputs and tool calls are constrained.

    agent = Agent(ConstrainModel(model), output_type=Person)
    agent.run_sync("Who wrote it?").output      →  a Person, at the first attempt

The idea: the tools of an agent, and the tools that stand for its output types, are `constrain.tools`; an output schema
in native mode is `constrain.json_schema`. An output that was cut off is an error, so an agent never retries for it.
Limits: requests are not streamed. In native mode an agent has no tools of its own: tool mode has both.

Versions tested: pydantic-ai-slim 2.68.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from constrain.chat.calls import Function, tools
from constrain.errors import ConstrainError
from constrain.extras import require
from constrain.generation import Generation, Prompt, agenerate
from constrain.generation.handles import TextWriter

require("pydantic-ai", "constrain.engines.adapters.pydantic_ai")

from pydantic_ai import messages as parts
from pydantic_ai.exceptions import UnexpectedModelBehavior
from pydantic_ai.models import Model
from pydantic_ai.usage import RequestUsage

SETTINGS = {"max_tokens": "max_tokens", "temperature": "temperature", "top_p": "top_p", "top_k": "top_k",
            "seed": "seed", "stop_sequences": "stop"}  # fmt: skip


class ConstrainModel(Model):
    """A local model as a model of Pydantic AI.

    Args:
        model: The model, as `constrain.generate` takes it. Its tokenizer has a chat template.
        options: Other arguments of `generate`, and of a `Prompt`; the settings of a request go before them.
        tool_options: Arguments of `constrain.tools`, such as `format` and `tokenizer`, where the chat template does not
            name the format.
        settings: Settings of Pydantic AI for all requests.
        profile: What differs from the profile of the adapter.

    Raises:
        MissingExtraError: pydantic-ai-slim is not installed.

    `Agent(ConstrainModel(model), output_type=Person)`; docs/howto/adapters.md has more.
    """

    def __init__(
        self,
        model: Any,
        *,
        options: Mapping[str, Any] | None = None,
        tool_options: Mapping[str, Any] | None = None,
        settings: Any = None,
        profile: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(settings=settings, profile={"supports_json_schema_output": True, **(profile or {})})
        self._model = model
        self._options = dict(options or {})
        self._tool_options = dict(tool_options or {})

    @property
    def model_name(self) -> str:
        """The name of the model, or of its class."""
        return self._model if isinstance(self._model, str) else type(self._model).__name__

    @property
    def system(self) -> str:
        """The name of the system that runs the model."""
        return "constrain"

    async def request(self, messages: list[Any], model_settings: Any, model_request_parameters: Any) -> Any:
        """Generate one turn. See `pydantic_ai.models.Model`.

        Raises:
            ConstrainError: What `generate` raises, and what a local model is not given here.
            UnexpectedModelBehavior: A value or a call was demanded, and the output was cut off.
        """
        settings, asked = self.prepare_request(model_settings, model_request_parameters)
        settings = settings or {}
        options = {**self._options, **{ours: settings[name] for name, ours in SETTINGS.items() if name in settings}}
        constraint = self._constraint(asked, settings)
        prompt = Prompt.of(chat_of(messages, asked.instruction_parts), options)
        turn = await agenerate(self._model, prompt, **options, **constraint)
        demanded = "schema" in constraint or not asked.allow_text_output
        if turn.finish_reason != "stop" and demanded:
            raise UnexpectedModelBehavior(
                f"the output is not complete: finish_reason is {turn.finish_reason!r}; raise max_tokens, or give "
                "options={'complete': True}",
                turn.text,
            )
        return self._response(turn)

    def _constraint(self, asked: Any, settings: Mapping[str, Any]) -> dict[str, Any]:
        """The constraint of a request, as an argument of `generate`."""
        choice = settings.get("tool_choice") or "auto"
        functions, outputs = list(asked.function_tools), list(asked.output_tools)
        if choice == "none":
            functions = []
        elif choice == "required":
            outputs = []
        elif choice != "auto":
            raise ConstrainError(
                f"there is no tool_choice {choice!r:.60} here",
                place="tool_choice",
                fix="use 'auto', 'none', 'required'",
            )
        if asked.output_object is not None:
            if functions:
                raise ConstrainError(
                    "an agent with tools has no native output here: a turn is calls, or text of a schema",
                    place="output_type",
                    fix="use ToolOutput(...), which is the default",
                )
            return {"schema": asked.output_object.json_schema}
        offered = [Function(t.name, t.parameters_json_schema, t.description or "") for t in functions + outputs]
        if not offered:
            return {}
        named = "auto" if asked.allow_text_output and choice != "required" else "required"
        given = {"tokenizer": getattr(self._model, "tokenizer", None), **self._tool_options}
        if isinstance(self._model, TextWriter):
            given.setdefault("format", self._model.format)
        parallel = settings.get("parallel_tool_calls")
        if parallel is not None:
            given["parallel"] = parallel
        if given["tokenizer"] is None and "format" not in given:
            return {"tools": offered, "tool_choice": named}
        return {"constraint": tools(offered, choice=named, **given)}

    def _response(self, turn: Generation[Any]) -> Any:
        found: list[Any] = [] if turn.thinking is None else [parts.ThinkingPart(content=turn.thinking)]
        if turn.content.strip() or not turn.tool_calls:
            found.append(parts.TextPart(content=turn.content))
        calls = turn.tool_calls
        found += [parts.ToolCallPart(tool_name=call.name, args=call.values, tool_call_id=call.id) for call in calls]
        reason = {"stop": "tool_call" if turn.tool_calls else "stop", "length": "length"}.get(turn.finish_reason)
        usage = RequestUsage(output_tokens=turn.stats.tokens)
        return parts.ModelResponse(
            parts=found, usage=usage, model_name=self.model_name, finish_reason=reason or "error",
            provider_name=self.system,
        )  # fmt: skip


def chat_of(messages: Sequence[Any], instructions: Sequence[Any] | None = None) -> list[dict[str, Any]]:
    """Messages of Pydantic AI as messages that chat templates read.

    Args:
        messages: Requests and responses.
        instructions: The instructions of the agent, which come first.

    Returns:
        Dicts with "role" and "content"; calls have their arguments as objects.

    Raises:
        ConstrainError: A part has content other than text; with its place.
    """
    chat: list[dict[str, Any]] = [{"role": "system", "content": part.content} for part in instructions or ()]
    for place, message in enumerate(messages):
        if isinstance(message, parts.ModelResponse):
            chat.append(_said(message, place))
        else:
            chat += [_told(part, f"messages[{place}].parts[{i}]") for i, part in enumerate(message.parts)]
    return chat


def _said(message: Any, place: int) -> dict[str, Any]:
    """A turn of the assistant."""
    said: dict[str, Any] = {"role": "assistant", "content": ""}
    for i, part in enumerate(message.parts):
        if isinstance(part, parts.TextPart):
            said["content"] += part.content
        elif isinstance(part, parts.ThinkingPart):
            said["reasoning_content"] = said.get("reasoning_content", "") + part.content
        elif isinstance(part, parts.ToolCallPart):
            function = {"name": part.tool_name, "arguments": part.args_as_dict()}
            said.setdefault("tool_calls", []).append(
                {"id": part.tool_call_id, "type": "function", "function": function}
            )
        else:
            raise _no_text(part, f"messages[{place}].parts[{i}]")
    return said


def _told(part: Any, place: str) -> dict[str, Any]:
    """A part of a request."""
    if isinstance(part, parts.SystemPromptPart):
        return {"role": "system", "content": part.content}
    if isinstance(part, parts.ToolReturnPart):
        result = part.model_response_str()
        return {"role": "tool", "tool_call_id": part.tool_call_id, "name": part.tool_name, "content": result}
    if isinstance(part, parts.UserPromptPart):
        content = [part.content] if isinstance(part.content, str) else part.content
        if all(isinstance(text, str) for text in content):
            return {"role": "user", "content": "\n".join(content)}
    raise _no_text(part, place)


def _no_text(part: Any, place: str) -> ConstrainError:
    return ConstrainError(
        f"{type(part).__name__} is not text, and local models are given nothing else here",
        place=place,
        fix="pass text, or call constrain.generate with what the model takes",
    )
