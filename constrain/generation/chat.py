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
from constrain.generation.request.arguments import check_request
from constrain.generation.request.prompts import Prompt, parse_prompts
from constrain.generation.request.request import arguments_of
from constrain.generation.request.signature import ModelLike, Sampling
from constrain.generation.result import Generation
from constrain.languages.automata.unicode.intervals import has_lone_surrogate
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
        finish_reason: Why it ended: "stop": it is answered. "tool_calls": the rounds are over. Else that of the last
            turn, which was cut off ("length", "dead_end"); its whole calls were run all the same.

    Example:
        >>> Conversation([{"role": "user", "content": "Hello"}]).finished
        False
    """

    messages: list[dict[str, Any]]
    turns: list[Generation[Any]] = field(default_factory=list)
    finished: bool = False

    @property
    def finish_reason(self) -> str:
        cut = self.turns[-1].finish_reason if self.turns else "stop"
        return "tool_calls" if cut == "stop" and not self.finished else cut

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
        The conversation. It is not `finished` if a turn was cut off before a call was whole, or calls tools when
        `rounds` are over. Of a turn that was cut off the whole calls are run; equal calls of a turn are run once.

    Raises:
        ConstrainError: What `generate` raises; a tool is no callable and there is no `run`; a result is no JSON.

    Example:
        >>> import constrain
        >>> def double(number: int) -> int:
        ...     '''Double a number.'''
        ...     return 2 * number
        >>> model = constrain.reference.load()
        >>> turn = constrain.tools([double], format="qwen3", choice="required", parallel=False)
        >>> ask = [{"role": "user", "content": "Twice 2?"}]
        >>> chat = constrain.converse(model, ask, turn, rounds=1, seed=1, complete=True)
        >>> [message["role"] for message in chat.messages], chat.finish_reason
        (['user', 'assistant', 'tool'], 'tool_calls')
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
    conversation = Conversation([dict(message) for message in _messages(prompt)])
    seed = options.pop("seed", None)
    check_request(1, seed, False)
    for number in range(rounds):
        asked = _asked(tools, tool_choice if number == 0 else "auto")
        given: dict[str, Any] = {**options, **asked, "seed": None if seed is None else seed + number}
        turn = generate(model, replace(prompt, content=conversation.messages), **given)
        conversation.turns.append(turn)
        conversation.messages.append(message_of(turn))
        if not turn.tool_calls:
            conversation.finished = turn.finish_reason == "stop"
            break
        results: dict[tuple[str, str], str] = {}
        for call in turn.tool_calls:
            same = call.name, json.dumps(call.values, sort_keys=True)
            if same not in results:
                results[same] = _run(call, functions[call.name], run, on_error)
            told = {"role": "tool", "tool_call_id": call.id, "name": call.name, "content": results[same]}
            conversation.messages.append(told)
    return conversation


def _messages(prompt: Prompt) -> Sequence[Mapping[str, Any]]:
    """The messages of a chat. Raises ConstrainError: they are none."""
    parsed = parse_prompts(prompt, plain=False)
    (found, *_) = parsed.each
    if not parsed.single or not isinstance(found, list) or not found or not isinstance(found[0], Mapping):
        raise ConstrainError(
            f"a conversation begins with chat messages, not with {prompt.content!r:.60}",
            place="messages",
            fix='pass [{"role": "user", "content": "..."}]',
        )
    return found


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
    try:
        return _text_of(result)
    except Exception as error:  # what a result is made of may raise anything
        said = f"the result of the tool {call.name!r} is no JSON: {type(error).__name__}: {error!s:.200}"
        if on_error == "raise":
            raise ConstrainError(
                said, place=f"{call.name}()", fix='return a text or what json.dumps writes, or pass on_error="tell"'
            ) from error
        return _text_of({"error": said})


def _text_of(result: Any) -> str:
    """A result as text: a str as it is, anything else as JSON; half a surrogate pair as its escape."""
    text = result if isinstance(result, str) else json.dumps(result, ensure_ascii=False, default=_plain)
    if not has_lone_surrogate(text):
        return text
    return text.encode("utf-8", "backslashreplace").decode()


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
