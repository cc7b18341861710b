"""Granite's format: a special token, then a JSON array of all calls."""

from constrain.chat.calls.format import Format

FORMAT = Format(
    name="granite3",
    models="Granite 3.0 to 3.3",
    source="chat template of ibm-granite/granite-3.3-8b-instruct",
    trigger="<|tool_call|>",
    call='{"name": "$name", "arguments": $arguments}',
    begin="<|tool_call|>[",
    end="]",
    between=", ",
    thinking=None,
    tokens=("<|tool_call|>",),
    ends=("<|end_of_text|>",),
    template=("<|tool_call|>", "<|start_of_role|>"),
    aliases=("granite",),
)
