"""DeepSeek's second format: special tokens around a name and a JSON object."""

from constrain.chat.calls.format import Format

FORMAT = Format(
    name="deepseek-v3.1",
    models="DeepSeek-V3.1",
    source="chat template of deepseek-ai/DeepSeek-V3.1",
    trigger="<｜tool▁calls▁begin｜>",
    call="<｜tool▁call▁begin｜>$name<｜tool▁sep｜>$arguments<｜tool▁call▁end｜>",
    begin="<｜tool▁calls▁begin｜>",
    end="<｜tool▁calls▁end｜>",
    tokens=(
        "<｜tool▁calls▁begin｜>",
        "<｜tool▁call▁begin｜>",
        "<｜tool▁sep｜>",
        "<｜tool▁call▁end｜>",
        "<｜tool▁calls▁end｜>",
    ),
    ends=("<｜end▁of▁sentence｜>",),
    template=("<｜tool▁calls▁begin｜>", "<｜tool▁sep｜>"),
    template_without=("```json",),
)
