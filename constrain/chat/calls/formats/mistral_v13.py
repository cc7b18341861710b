"""Mistral's second format: a special token, a name, another token and a JSON object for each call."""

from constrain.chat.calls.format import Format

FORMAT = Format(
    name="mistral-v13",
    models="Devstral, Magistral, Mistral Medium 3 and later (tokenizers v13 and v15)",
    source="mistral-common 1.13.1, mistral_common/tokens/tokenizers/instruct.py",
    trigger="[TOOL_CALLS]",
    call="[TOOL_CALLS]$name[ARGS]$arguments",
    thinking=("[THINK]", "[/THINK]"),
    tokens=("[TOOL_CALLS]", "[ARGS]", "[THINK]", "[/THINK]"),
    ends=("</s>",),
    template=("[TOOL_CALLS]", "[ARGS]"),
    template_without=("[CALL_ID]",),
    aliases=("devstral", "magistral"),
)
