"""Phi-4-mini's format: a word, then a JSON array of all calls."""

from constrain.chat.calls.format import Format

FORMAT = Format(
    name="phi4-mini",
    models="Phi-4-mini",
    source="microsoft/Phi-4-mini-instruct, as served by vLLM (tool_chat_template_phi4_mini.jinja)",
    trigger="functools[",
    call='{"name": "$name", "arguments": $arguments}',
    begin="functools[",
    end="]",
    between=", ",
    thinking=None,
    ends=("<|end|>",),
    template=("functools[",),
    aliases=("phi4",),
)
