"""Cohere's format: special tokens around thoughts, a JSON array of calls, and the response."""

from constrain.chat.calls.format import Format

FORMAT = Format(
    name="cohere",
    models="Command R7B, Command A",
    source="chat template of CohereForAI/c4ai-command-r7b-12-2024 (tool_use)",
    trigger="<|START_ACTION|>",
    call='    {"tool_call_id": "$index", "tool_name": "$name", "parameters": $arguments}',
    begin="<|START_ACTION|>[\n",
    end="\n]<|END_ACTION|>",
    between=",\n",
    thinking=("<|START_THINKING|>", "<|END_THINKING|>"),
    preamble=None,
    answer=("<|START_RESPONSE|>", "<|END_RESPONSE|>"),
    id="$index",
    fields={"index": "(?:0|[1-9][0-9]{0,3})"},
    tokens=(
        "<|START_THINKING|>",
        "<|END_THINKING|>",
        "<|START_ACTION|>",
        "<|END_ACTION|>",
        "<|START_RESPONSE|>",
        "<|END_RESPONSE|>",
    ),
    ends=("<|END_OF_TURN_TOKEN|>",),
    template=("<|START_ACTION|>", "tool_call_id"),
    aliases=("command-r7b", "command-a"),
)
