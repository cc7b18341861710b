"""MiniMax M2's format: an element for each call, and one for each parameter."""

from constrain.chat.calls.format import Format
from constrain.chat.tags.parameters import Style

FORMAT = Format(
    name="minimax-m2",
    models="MiniMax-M2, MiniMax-M2.5",
    source="chat template of MiniMaxAI/MiniMax-M2",
    trigger="<minimax:tool_call>",
    call='<invoke name="$name">\n$arguments</invoke>\n',
    begin="<minimax:tool_call>\n",
    end="</minimax:tool_call>",
    before="\n",
    parameters=Style('<parameter name="{name}">', '<parameter name="{name}">', "</parameter>"),
    ends=("[e~[",),
    template=("<minimax:tool_call>", "<invoke name="),
    aliases=("minimax",),
)
