"""Llama's format: the turn is one JSON object."""

from constrain.chat.calls.format import Format

FORMAT = Format(
    name="llama3",
    models="Llama 3.1, 3.2 and 3.3",
    source="chat template of meta-llama/Llama-3.1-8B-Instruct",
    trigger="{",
    call='{"name": "$name", "parameters": $arguments}',
    between=None,
    instead=True,
    thinking=None,
    ends=("<|eot_id|>", "<|eom_id|>"),
    template=("<|start_header_id|>", "parameters"),
    aliases=("llama3.1", "llama"),
)
