"""MiniMax M3's format: elements whose names are the parameters', nested for objects and arrays."""

from constrain.chat.calls.format import Format
from constrain.chat.tags.elements import NESTED

FORMAT = Format(
    name="minimax-m3",
    models="MiniMax-M3",
    source="llama-cpp-python 0.3.36, vendor/llama.cpp/models/templates/MiniMax-M3.jinja",
    trigger="]<]minimax[>[<tool_call>",
    call=']<]minimax[>[<invoke name="$name">$arguments]<]minimax[>[</invoke>\n',
    begin="]<]minimax[>[<tool_call>\n",
    end="]<]minimax[>[</tool_call>",
    thinking=("<mm:think>", "</mm:think>"),
    unthought="</mm:think>",
    parameters=NESTED["minimax-m3"],
    ends=("[e~[",),
    template=("]<]minimax[>[",),
)
