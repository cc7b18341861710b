"""DeepSeek's fourth format: a block of elements, one for each call, and one for each parameter, which says its type."""

from constrain.chat.calls.format import Format
from constrain.chat.tags.parameters import STYLES

FORMAT = Format(
    name="deepseek-v4",
    models="DeepSeek-V4",
    source="llama-cpp-python 0.3.36, vendor/llama.cpp/models/templates/deepseek-ai-DeepSeek-V4.jinja",
    trigger="<｜DSML｜tool_calls>",
    call='<｜DSML｜invoke name="$name">\n$arguments</｜DSML｜invoke>',
    begin="<｜DSML｜tool_calls>\n",
    end="\n</｜DSML｜tool_calls>",
    between="\n",
    before="\n\n",
    parameters=STYLES["deepseek"],
    ends=("<｜end▁of▁sentence｜>",),
    template=("｜DSML｜", "tool_calls>"),
)
