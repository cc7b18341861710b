"""Calls as Python writes them, in a list: the turn is nothing else."""

from constrain.chat.calls.format import Format
from constrain.chat.tags.elements import NESTED

FORMAT = Format(
    name="pythonic",
    models="Llama 4; Gemma 3, with a prompt that asks for it",
    source="vllm-project/vllm, examples/tool_chat_template_llama4_pythonic.jinja",
    trigger="[",
    call="$name($arguments)",
    begin="[",
    end="]",
    between=", ",
    instead=True,
    thinking=None,
    parameters=NESTED["pythonic"],
    names="[A-Za-z_][A-Za-z0-9_]*",
    ends=("<|eot|>", "<|eom|>", "<end_of_turn>"),
    template=("[func_name1(",),
    aliases=("llama4", "gemma3"),
)
