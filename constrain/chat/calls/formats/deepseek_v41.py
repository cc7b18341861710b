"""DeepSeek's fifth format: a block of elements, one for each call, and one for each parameter, which says its type."""

from constrain.chat.calls.format import Format
from constrain.chat.tags.parameters import STYLES

FORMAT = Format(
    name="deepseek-v4.1",
    models="DeepSeek-V4.1",
    source="vllm 0.32.0, vllm/tokenizers/deepseek_v41_encoding.py",
    trigger="<｜DSML｜ calls>",
    call='<｜DSML｜ invoke name="$name">\n$arguments</｜DSML｜ invoke>',
    begin="<｜DSML｜ calls>\n",
    end="\n</｜DSML｜ calls>",
    between="\n",
    before="\n\n",
    parameters=STYLES["deepseek-v4.1"],
    ends=("<｜end▁of▁sentence｜>",),
    template=("｜DSML｜", " calls>"),
)
