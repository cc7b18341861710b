"""GLM's format: the name, then an element for each key and one for each value."""

from constrain.chat.calls.format import Format
from constrain.chat.tags.parameters import Style

FORMAT = Format(
    name="glm-4.5",
    models="GLM-4.5, GLM-4.6",
    source="chat template of zai-org/GLM-4.6",
    trigger="<tool_call>",
    call="<tool_call>$name\n$arguments</tool_call>",
    between="\n",
    before="\n",
    thinking=("\n<think>", "</think>"),
    parameters=Style(
        "<arg_key>{name}</arg_key>{space}<arg_value>", "<arg_key>{name}</arg_key>{space}<arg_value>", "</arg_value>"
    ),
    ends=("<|user|>", "<|observation|>"),
    template=("<tool_call>", "<arg_key>", "<arg_value>"),
    aliases=("glm", "glm-4.6"),
)
