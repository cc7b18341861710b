"""OpenAI's harmony: messages on channels. A call is a message to a function on the commentary channel."""

from constrain.chat.calls.format import Format

FORMAT = Format(
    name="harmony",
    models="gpt-oss",
    source="openai/harmony, docs/format.md; the chat template writes the recipient before the channel",
    trigger="<|channel|>commentary to=",
    call="<|channel|>commentary to=functions.$name <|constrain|>json<|message|>$arguments",
    others=(
        "<|channel|>commentary to=functions.$name<|constrain|>json<|message|>$arguments",
        " to=functions.$name<|channel|>commentary json<|message|>$arguments",
    ),
    between=None,
    thinking=("<|channel|>analysis<|message|>", "<|end|><|start|>assistant"),
    preamble=("<|channel|>commentary<|message|>", "<|end|><|start|>assistant"),
    answer=("<|channel|>final<|message|>", ""),
    tokens=("<|channel|>", "<|message|>", "<|constrain|>", "<|end|>", "<|start|>"),
    ends=("<|call|>", "<|return|>"),
    template=("<|channel|>commentary", "functions."),
    aliases=("gpt-oss",),
)
