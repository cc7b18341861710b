"""Gemma 4's format: a call in special tokens, its arguments in braces, strings between special tokens."""

from constrain.chat.calls.format import Format
from constrain.chat.tags.elements import NESTED

FORMAT = Format(
    name="gemma4",
    models="Gemma 4",
    source="llama-cpp-python 0.3.36, vendor/llama.cpp/models/templates/google-gemma-4-31B-it.jinja",
    trigger="<|tool_call>",
    call="<|tool_call>call:$name{$arguments}<tool_call|>",
    thinking=("<|channel>thought\n", "<channel|>"),
    parameters=NESTED["gemma4"],
    order="any",
    tokens=("<|tool_call>", "<tool_call|>", '<|"|>', "<|channel>", "<channel|>"),
    ends=("<turn|>", "<|tool_response>"),
    template=("<|tool_call>", '<|"|>'),
)
