"""Chats: `tools=` and `response_format=` as OpenAI's interface has them, and a loop that runs the tools.

    generate(model, messages, tools=[weather])             →  g.tool_calls, g.content
    converse(model, messages, tools=[weather, search])     →  calls, runs and answers until a turn has no call

The tools' format is the one that the model's chat template names, and the template gets the tools. Another format, or a
model without a template: `tools=constrain.tools(functions, format=...)`.

Sources: OpenAI, "Chat completions" (`tools`, `tool_choice`, `response_format`); transformers, "Tool use" (messages).
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from constrain.chat.calls.functions import Function, functions_of
from constrain.chat.calls.message import ToolCall
from constrain.chat.calls.tools import ToolUse
from constrain.errors import ConstrainError
from constrain.generation.front import generate
from constrain.generation.request.prompts import Prompt
from constrain.generation.request.request import arguments_of
from constrain.generation.request.signature import ModelLike, Sampling
from constrain.generation.result import Generation
from constrain.sampling.core.sampler import check_count

if TYPE_CHECKING:
    from typing_extensions import Unpack

ROUNDS = 8


@dataclass
class Conversation:
    """Turns of an assistant and its tools. Made by `converse`.

    Attributes:
        messages: All messages: the given ones, the assistant's turns, the tools' results.
        turns: The generation of each turn.
        finished: Whether the last turn is an answer: it is complete, and calls no tool.

    Example:
        >>> Conversation([{"role": "user", "content": "Hello"}]).finished
        False
    """

    messages: list[dict[str, Any]]
    turns: list[Generation[Any]] = field(default_factory=list)
    finished: bool = False

    @property
    def content(self) -> str:
        """The text of the last turn, without thoughts and calls."""
        return self.turns[-1].content if self.turns else ""


def converse(
    model: ModelLike,
    messages: Sequence[Mapping[str, Any]] | Prompt,
    tools: Sequence[Any] | ToolUse,
    *,
    rounds: int = ROUNDS,
    tool_choice: Any = "auto",
    on_error: str = "raise",
    run: Callable[[ToolCall, Function], Any] | None = None,
    **options: Unpack[Sampling],
) -> Conversation:
    """Let a model call tools until it answers: generate a turn, run its calls, tell the results, go on.

    Args:
        model: As in `generate`.
        messages: The chat so far; or a `Prompt` with it, which holds for each turn.
        tools: Callables with annotations; other tools need `run`. Or what `constrain.tools` returned.
        rounds: The greatest number of turns.
        tool_choice: As in `generate`, for the first turn; after it "auto".
        on_error: What an exception of a tool does: "raise", or "tell": its sentence is the result that the model reads.
        run: Runs a call of a function and returns its result; None: the callable with the call's arguments.
        options: Other arguments of `generate`. Turn k samples with `seed` + k.

    Returns:
        The conversation. It is not `finished` if a turn was cut off, or calls tools when `rounds` are over.

    Raises:
        ConstrainError: What `generate` raises; a tool is no callable and there is no `run`.

    Example:
        >>> import constrain
        >>> def double(number: int) -> int:
        ...     '''Double a number.'''
        ...     return 2 * number
        >>> model = constrain.reference.load()
        >>> turn = constrain.tools([double], format="qwen3", choice="required", parallel=False)
        >>> ask = [{"role": "user", "content": "Twice 2?"}]
        >>> chat = constrain.converse(model, ask, turn, rounds=1, seed=1, complete=True)
        >>> [message["role"] for message in chat.messages], chat.finished
        (['user', 'assistant', 'tool'], False)
    """
    check_count("rounds", rounds)
    arguments_of(options, "converse", ("n", "stream"))
    if on_error not in ("raise", "tell"):
        raise ConstrainError(f"on_error is 'raise' or 'tell', not {on_error!r:.60}")
    functions = {f.name: f for f in (tools.functions if isinstance(tools, ToolUse) else functions_of(tools))}
    for function in functions.values():
        if run is None and (function.target is None or inspect.isclass(function.target)):
            raise ConstrainError(
                f"the tool {function.name!r} cannot be run: it is no callable",
                fix="pass a function, or run=, which runs a call",
            )
    prompt = messages if isinstance(messages, Prompt) else Prompt(messages)
    conversation = Conversation([dict(message) for message in prompt.content])
    seed = options.pop("seed", None)
    for number in range(rounds):
        asked = _asked(tools, tool_choice if number == 0 else "auto")
        given: dict[str, Any] = {**options, **asked, "seed": None if seed is None else seed + number}
        turn = generate(model, replace(prompt, content=conversation.messages), **given)
        conversation.turns.append(turn)
        conversation.messages.append(message_of(turn))
        if turn.finish_reason != "stop" or not turn.tool_calls:
            conversation.finished = turn.finish_reason == "stop"
            break
        for call in turn.tool_calls:
            result = _run(call, functions[call.name], run, on_error)
            told = {"role": "tool", "tool_call_id": call.id, "name": call.name, "content": result}
            conversation.messages.append(told)
    return conversation


def _asked(given: Sequence[Any] | ToolUse, choice: Any) -> dict[str, Any]:
    if isinstance(given, ToolUse):
        return {"constraint": given}
    return {"tools": given, "tool_choice": choice}


def _run(call: ToolCall, function: Function, run: Callable[[ToolCall, Function], Any] | None, on_error: str) -> str:
    """The result of a call as text: a str as it is, anything else as JSON."""
    try:
        if run is not None:
            result = run(call, function)
        else:
            assert function.target is not None
            result = function.target(**call.arguments)
    except Exception as error:
        if on_error == "raise":
            raise
        result = {"error": f"{type(error).__name__}: {error}"}
    return result if isinstance(result, str) else json.dumps(result, ensure_ascii=False, default=_plain)


def _plain(value: Any) -> Any:
    """A value that json does not know: a pydantic model as its fields, anything else as text."""
    return value.model_dump(mode="json") if hasattr(value, "model_dump") else str(value)


def message_of(turn: Generation[Any]) -> dict[str, Any]:
    """An assistant's turn as a message of a chat.

    Args:
        turn: A generation.

    Returns:
        "role", "content", and "tool_calls" if there are any, their arguments as JSON objects, which is what chat
        templates read.
    """
    message: dict[str, Any] = {"role": "assistant", "content": turn.content}
    if turn.thinking is not None:
        message["reasoning_content"] = turn.thinking
    if turn.tool_calls:
        message["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.values}}
            for call in turn.tool_calls
        ]
    return message
