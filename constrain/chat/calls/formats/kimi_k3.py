"""Kimi K3's format: elements of three special tokens around thoughts, the response, calls and arguments."""

from constrain.chat.calls.format import Format
from constrain.chat.tags.parameters import STYLES

FORMAT = Format(
    name="kimi-k3",
    models="Kimi K3",
    source="llama-cpp-python 0.3.36, vendor/llama.cpp/models/templates/Kimi-K3.jinja",
    trigger="<|open|>tools<|sep|>",
    call='<|open|>call tool="$name" index="$index"<|sep|>$arguments<|close|>call<|sep|>',
    begin="<|open|>tools<|sep|>",
    end="<|close|>tools<|sep|>",
    thinking=("<|open|>think<|sep|>", "<|close|>think<|sep|>"),
    preamble=("<|open|>response<|sep|>", "<|close|>response<|sep|>"),
    answer=("<|open|>response<|sep|>", "<|close|>response<|sep|>"),
    tail="<|close|>message<|sep|>",
    parameters=STYLES["kimi-k3"],
    fields={"index": "[1-9][0-9]{0,3}"},
    tokens=("<|open|>", "<|close|>", "<|sep|>"),
    ends=("<|end_of_msg|>",),
    template=("<|open|>", "<|close|>", "<|sep|>"),
)
