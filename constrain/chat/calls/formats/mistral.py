"""Mistral's first format: a special token, then a JSON array of all calls."""

from constrain.chat.calls.format import Format

FORMAT = Format(
    name="mistral",
    models="Mistral 7B v0.3, Mixtral 8x22B, Mistral Nemo, Mistral Large 2407 (tokenizers v3 to v7)",
    source="https://docs.mistral.ai; chat template of mistralai/Mistral-7B-Instruct-v0.3",
    trigger="[TOOL_CALLS]",
    call='{"name": "$name", "arguments": $arguments$more}',
    begin="[TOOL_CALLS]$space[",
    end="]",
    between=", ",
    id="$more",
    thinking=None,
    fields={"space": " ?", "more": r'(?:, "id": "([a-zA-Z0-9]{9})")?'},
    tokens=("[TOOL_CALLS]",),
    ends=("</s>",),
    template=("[TOOL_CALLS]",),
    template_without=("[ARGS]",),
    aliases=("mistral-v3",),
)
