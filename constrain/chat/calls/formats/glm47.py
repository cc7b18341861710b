"""GLM's second format: the name, then an element for each key and one for each value, without line ends."""

from constrain.chat.calls.format import Format
from constrain.chat.tags.parameters import STYLES

FORMAT = Format(
    name="glm-4.7",
    models="GLM-4.7, GLM-5, GLM-5.3",
    source="llama-cpp-python 0.3.36, vendor/llama.cpp/models/templates/GLM-4.7-Flash.jinja",
    trigger="<tool_call>",
    call="<tool_call>$name$arguments</tool_call>",
    parameters=STYLES["glm"],
    ends=("<|user|>", "<|observation|>"),
    template=("<tool_call>{function-name}<arg_key>", "<arg_value>"),
    aliases=("glm-5",),
)
