"""The tiny model with a chat template that names a format of tool calls."""

from __future__ import annotations

import copy
from types import SimpleNamespace
from typing import Any

import pytest

TEMPLATE = (  # marks of Hermes' format; a call's arguments are read as an object
    "{% if tools %}Tools: {% for t in tools %}{{ t['function']['name'] }} {% endfor %}{% endif %}"
    "{% for m in messages %}<|im_start|>{{ m['role'] }}: {{ m['content'] }}{% for c in m.get('tool_calls', []) %}"
    "<tool_call>{% for k, v in c['function']['arguments'].items() %}'arguments': {{ k }} {{ v | tojson }}{% endfor %}"
    "</tool_call>{% endfor %}<|im_end|>{% endfor %}"
)


@pytest.fixture
def chat(model: Any, tokenizer: Any) -> Any:
    """The model and its tokenizer, as `generate` takes them."""
    own = copy.deepcopy(tokenizer)
    own.chat_template = TEMPLATE
    return SimpleNamespace(model=model, tokenizer=own)
