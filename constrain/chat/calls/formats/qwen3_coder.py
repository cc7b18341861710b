"""Qwen3-Coder's format: a tag for the function and one for each parameter."""

from constrain.chat.calls.format import Format
from constrain.chat.tags.parameters import Style

FORMAT = Format(
    name="qwen3-coder",
    models="Qwen3-Coder, Qwen 3.5, Qwen 3.6",
    source="chat template of Qwen/Qwen3-Coder-30B-A3B-Instruct",
    trigger="<tool_call>",
    call="<tool_call>\n<function=$name>\n$arguments</function>\n</tool_call>",
    between="\n",
    before="\n",
    parameters=Style("<parameter={name}>\n", "<parameter={name}>\n", "\n</parameter>", ("None", "False", "True")),
    ends=("<|im_end|>",),
    template=("<tool_call>", "<function=", "<parameter="),
    aliases=("qwen3.5",),
)
