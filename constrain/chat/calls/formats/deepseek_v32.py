"""DeepSeek's third format: a block of elements, one for each call, and one for each parameter, which says its type."""

from constrain.chat.calls.format import Format
from constrain.chat.tags.parameters import STYLES

FORMAT = Format(
    name="deepseek-v3.2",
    models="DeepSeek-V3.2",
    source="llama-cpp-python 0.3.36, vendor/llama.cpp/models/templates/deepseek-ai-DeepSeek-V3.2.jinja",
    trigger="<｜DSML｜function_calls>",
    call='<｜DSML｜invoke name="$name">\n$arguments</｜DSML｜invoke>',
    begin="<｜DSML｜function_calls>\n",
    end="\n</｜DSML｜function_calls>",
    between="\n",
    before="\n\n",
    parameters=STYLES["deepseek"],
    ends=("<｜end▁of▁sentence｜>",),
    template=("｜DSML｜", "function_calls>"),
)
