"""DeepSeek's first format: special tokens around a kind, a name and a fenced JSON object."""

from constrain.chat.calls.format import Format

FORMAT = Format(
    name="deepseek-v3",
    models="DeepSeek-V3 and DeepSeek-R1, with the 0324 and 0528 editions",
    source="chat template of deepseek-ai/DeepSeek-R1",
    trigger="<｜tool▁calls▁begin｜>",
    call="<｜tool▁call▁begin｜>function<｜tool▁sep｜>$name\n```json\n$arguments\n```<｜tool▁call▁end｜>",
    begin="<｜tool▁calls▁begin｜>",
    end="<｜tool▁calls▁end｜>",
    between="\n",
    tokens=(
        "<｜tool▁calls▁begin｜>",
        "<｜tool▁call▁begin｜>",
        "<｜tool▁sep｜>",
        "<｜tool▁call▁end｜>",
        "<｜tool▁calls▁end｜>",
    ),
    ends=("<｜end▁of▁sentence｜>",),
    template=("<｜tool▁calls▁begin｜>", "<｜tool▁sep｜>", "```json"),
    aliases=("deepseek-r1", "deepseek"),
)
