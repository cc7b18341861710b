"""Tools for chat templates that have no place for them, as SmolLM2's: a system message describes them.

The calls are then in the format of Hermes (`qwen3` of `calls/formats/`), which `format="auto"` chooses for such a
template. Messages with calls and results are written as that format has them, since the template would leave them out.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from constrain.chat.calls.auto import IN_WORDS, NAMES, has_tools, template_of
from constrain.chat.calls.tools import ToolUse
from constrain.generation.request.described import has_system, placed

TOOL_WORDS = """You can call functions. Each is described by a line of JSON:
{tools}
To call one, write its name and its arguments as JSON between two tags, each on a line of its own:
<tool_call>
{{"name": "the function's name", "arguments": {{"an argument's name": "its value"}}}}
</tool_call>"""
"""What the system message says; `{tools}` are the tools as OpenAI's JSON."""


def with_tools(messages: Sequence[Any], tools: ToolUse, tokenizer: Any) -> list[Any] | None:
    """Messages that tell the model its tools; None: the chat template does, or the calls are in another format."""
    if tools.format.name != NAMES[IN_WORDS].name or has_tools(template_of(tokenizer)):
        return None
    lines = "\n".join(json.dumps(tool, ensure_ascii=False) for tool in tools.schemas)
    written = [_written(message) for message in messages]
    return list(placed(written, TOOL_WORDS.format(tools=lines), lambda: has_system(tokenizer)))


def _written(message: Any) -> Any:
    """A message with its calls, or the result of one, as text."""
    if message["role"] == "tool":
        return {"role": "user", "content": f"<tool_response>\n{message.get('content')}\n</tool_response>"}
    calls = message.get("tool_calls")
    if not calls:
        return message
    texts = [message["content"]] if message.get("content") else []
    for call in calls:
        function = call.get("function", call)
        given = function["arguments"]
        arguments = given if isinstance(given, str) else json.dumps(given, ensure_ascii=False)
        texts.append(f'<tool_call>\n{{"name": {json.dumps(function["name"])}, "arguments": {arguments}}}\n</tool_call>')
    return {"role": message["role"], "content": "\n".join(texts)}
