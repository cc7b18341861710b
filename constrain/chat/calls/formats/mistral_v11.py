"""Mistral's format with ids: a special token, a name, an id and a JSON object for each call."""

from constrain.chat.calls.format import Format

FORMAT = Format(
    name="mistral-v11",
    models="models with Mistral's tokenizer v11",
    source="llama-cpp-python 0.3.36, vendor/llama.cpp/models/templates/Mistral-Small-3.2-24B-Instruct-2506.jinja",
    trigger="[TOOL_CALLS]",
    call="[TOOL_CALLS]$name[CALL_ID]$number[ARGS]$arguments",
    id="$number",
    thinking=None,
    fields={"number": "[a-zA-Z0-9]{9}"},
    tokens=("[TOOL_CALLS]", "[CALL_ID]", "[ARGS]"),
    ends=("</s>",),
    template=("[TOOL_CALLS]", "[CALL_ID]", "[ARGS]"),
)
