"""Tool calls: turns of an assistant in the formats of models, as constraints, and their texts read back.

takes: tools (pydantic models, callables, JSON), the name of a format
gives: constraints (`tools`), messages with typed calls (`Message`, `ToolCall`)
start reading at: format.py, then language.py and reading.py
"""

from constrain.chat.calls.auto import format_of
from constrain.chat.calls.format import Format
from constrain.chat.calls.formats import FORMATS
from constrain.chat.calls.functions import Function, functions_of
from constrain.chat.calls.message import ArgumentsText, CallBegun, CallEnded, Content, Event, Message, Thought, ToolCall
from constrain.chat.calls.reading import Reader
from constrain.chat.calls.tools import ToolUse, tools

__all__ = [
    "FORMATS",
    "ArgumentsText",
    "CallBegun",
    "CallEnded",
    "Content",
    "Event",
    "Format",
    "Function",
    "Message",
    "Reader",
    "Thought",
    "ToolCall",
    "ToolUse",
    "format_of",
    "functions_of",
    "tools",
]
