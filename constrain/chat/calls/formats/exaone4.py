"""EXAONE's format: a JSON object between two tags on one line for each call."""

from constrain.chat.calls.format import Format

FORMAT = Format(
    name="exaone4",
    models="EXAONE 4.0",
    source="chat template of LGAI-EXAONE/EXAONE-4.0-32B",
    trigger="<tool_call>",
    call='<tool_call>{"name": "$name", "arguments": $arguments}</tool_call>',
    between="\n",
    before="\n",
    ends=("[|endofturn|]",),
    template=("<tool_call>", "[|assistant|]"),
    aliases=("exaone",),
)
