"""Mistral's second format: a special token, a name, another token and a JSON object for each call."""

from constrain.chat.calls.format import Format

FORMAT = Format(
    name="mistral-v13",
    models="Devstral, Magistral, Mistral Medium 3 and later (tokenizer v13)",
    source="https://docs.mistral.ai; https://github.com/mistralai/mistral-common",
    trigger="[TOOL_CALLS]",
    call="[TOOL_CALLS]$name[ARGS]$arguments",
    thinking=("[THINK]", "[/THINK]"),
    tokens=("[TOOL_CALLS]", "[ARGS]", "[THINK]", "[/THINK]"),
    ends=("</s>",),
    template=("[TOOL_CALLS]", "[ARGS]"),
    aliases=("devstral", "magistral"),
)
