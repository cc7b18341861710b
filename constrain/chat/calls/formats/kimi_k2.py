"""Kimi K2's format: special tokens around an id, which has the name, and a JSON object."""

from constrain.chat.calls.format import Format

FORMAT = Format(
    name="kimi-k2",
    models="Kimi K2, Kimi K2 Thinking, Kimi K2.5",
    source="chat template of moonshotai/Kimi-K2-Thinking",
    trigger="<|tool_calls_section_begin|>",
    call="<|tool_call_begin|>functions.$name:$index<|tool_call_argument_begin|>$arguments<|tool_call_end|>",
    id="functions.$name:$index",
    begin="<|tool_calls_section_begin|>",
    end="<|tool_calls_section_end|>",
    fields={"index": "(?:0|[1-9][0-9]{0,3})"},
    tokens=(
        "<|tool_calls_section_begin|>",
        "<|tool_call_begin|>",
        "<|tool_call_argument_begin|>",
        "<|tool_call_end|>",
        "<|tool_calls_section_end|>",
    ),
    ends=("<|im_end|>",),
    template=("<|tool_calls_section_begin|>",),
    aliases=("kimi", "kimi-k2.5"),
)
