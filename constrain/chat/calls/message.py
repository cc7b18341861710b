"""The parts of an assistant's turn, and the events of reading one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple


@dataclass(frozen=True)
class ToolCall:
    """A call of a tool.

    Attributes:
        name: The name of the tool.
        arguments: Its arguments: an instance of the model, or a dict; validated Python objects where the tool was a
            model or a callable.
        values: The arguments as JSON values.
        id: The id that the text gives to the call. Where it gives none, `generate` and `converse` make one
            ("call_" and 16 digits, other for each call, the same for the same seed); `ToolUse.read` leaves it "".
        place: Where the call begins and ends in the text, in characters; special tokens stand in it by their names.
        function: The callable or the model that the tool was made from; None if there is none.
    """

    name: str
    arguments: Any
    values: dict[str, Any]
    id: str = ""
    place: tuple[int, int] = (0, 0)
    function: Callable[..., Any] | None = None


@dataclass
class Message:
    """A turn of an assistant.

    Attributes:
        content: The text beside thoughts and calls.
        thinking: The thoughts; None if there are none.
        tool_calls: The calls, in order.
        fault: What is wrong with the text, if it cannot be read up to its end; else None.
    """

    content: str = ""
    thinking: str | None = None
    tool_calls: list[ToolCall] = field(default_factory=list)
    fault: str | None = None


class Thought(NamedTuple):
    """More text of the thoughts."""

    text: str


class Content(NamedTuple):
    """More text of the content."""

    text: str


class CallBegun(NamedTuple):
    """A call has begun, and its name is known. number: that of the call, from 0."""

    number: int
    name: str


class ArgumentsText(NamedTuple):
    """More text of the arguments of a call, as the model writes them."""

    number: int
    text: str


class CallEnded(NamedTuple):
    """A call is complete."""

    number: int
    call: ToolCall


Event = Thought | Content | CallBegun | ArgumentsText | CallEnded
