"""Hermes' format, which Qwen took over: a JSON object between two tags for each call."""

from constrain.chat.calls.format import Format

FORMAT = Format(
    name="qwen3",
    models="Qwen 2.5, Qwen 3, Hermes 2 Pro and 3",
    source="chat template of Qwen/Qwen3-8B; https://github.com/NousResearch/Hermes-Function-Calling",
    trigger="<tool_call>",
    call='<tool_call>\n{"name": "$name", "arguments": $arguments}\n</tool_call>',
    between="\n",
    before="\n",
    ends=("<|im_end|>",),
    template=("<tool_call>", "arguments", "<|im_start|>"),
    template_without=("<function=", "<arg_key>"),
    aliases=("hermes", "qwen2.5"),
)
