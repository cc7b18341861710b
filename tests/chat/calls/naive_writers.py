"""Turns written as the chat templates of the models write them: templates of our own, one for each format.

The variables: content, thinking (None: none), calls, a list of objects with name, arguments and id. The constraint and
the reader know nothing of these templates.
"""

from __future__ import annotations

import json
from typing import Any

import jinja2

_ENVIRONMENT = jinja2.Environment(trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=False)
_ENVIRONMENT.filters["json"] = lambda value: json.dumps(value, ensure_ascii=False)
_ENVIRONMENT.filters["raw"] = lambda value: value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)

_THINK = "{% if thinking is not none %}<think>\n{{ thinking }}\n</think>\n\n{% endif %}"
_HERMES_CALL = '<tool_call>\n{"name": "{{ c.name }}", "arguments": {{ c.arguments | json }}}\n</tool_call>'
_OBJECT = '{"name": "{{ c.name }}", "arguments": {{ c.arguments | json }}}'
_LIST = "{% for c in calls %}" + _OBJECT + "{% if not loop.last %}, {% endif %}{% endfor %}"
_AFTER_CONTENT = "{{ content }}{% if content and calls %}{{ '\n' }}{% endif %}"
_DEEPSEEK_THINK = "{% if thinking is not none %}<think>\n{{ thinking }}\n</think>\n\n{% endif %}"

WRITERS = {
    "qwen3": _THINK + _AFTER_CONTENT + "{% for c in calls %}{{ '' if loop.first else '\n' }}" + _HERMES_CALL
    + "{% endfor %}",
    "exaone4": _THINK + _AFTER_CONTENT + "{% for c in calls %}<tool_call>" + _OBJECT
    + "</tool_call>{{ '' if loop.last else '\n' }}{% endfor %}",
    "qwen3-coder": _THINK + _AFTER_CONTENT + "{% for c in calls %}{{ '' if loop.first else '\n' }}"
    "<tool_call>\n<function={{ c.name }}>\n"
    "{% for key, value in c.arguments.items() %}<parameter={{ key }}>\n{{ value | raw }}{{ '\n' }}</parameter>"
    "{{ '\n' }}{% endfor %}</function>\n</tool_call>{% endfor %}",
    "llama3": "{{ content }}{% for c in calls %}"
    '{"name": "{{ c.name }}", "parameters": {{ c.arguments | json }}}{% endfor %}',
    "deepseek-v3": _DEEPSEEK_THINK + "{{ content }}{% if calls %}<｜tool▁calls▁begin｜>{% for c in calls %}"
    "{{ '' if loop.first else '\n' }}<｜tool▁call▁begin｜>function<｜tool▁sep｜>{{ c.name }}{{ '\n' }}```json{{ '\n' }}"
    "{{ c.arguments | json }}{{ '\n' }}```<｜tool▁call▁end｜>{% endfor %}<｜tool▁calls▁end｜>{% endif %}",
    "deepseek-v3.1": _DEEPSEEK_THINK + "{{ content }}{% if calls %}<｜tool▁calls▁begin｜>{% for c in calls %}"
    "<｜tool▁call▁begin｜>{{ c.name }}<｜tool▁sep｜>{{ c.arguments | json }}<｜tool▁call▁end｜>{% endfor %}"
    "<｜tool▁calls▁end｜>{% endif %}",
    "harmony": "{% if thinking is not none %}<|channel|>analysis<|message|>{{ thinking }}<|end|><|start|>assistant"
    "{% endif %}{% if calls %}{% if content %}<|channel|>commentary<|message|>{{ content }}<|end|><|start|>assistant"
    "{% endif %}<|channel|>commentary to=functions.{{ calls[0].name }} <|constrain|>json<|message|>"
    "{{ calls[0].arguments | json }}{% else %}<|channel|>final<|message|>{{ content }}{% endif %}",
    "kimi-k2": "{% if thinking is not none %}<think>{{ thinking }}</think>{% endif %}{{ content }}{% if calls %}"
    "<|tool_calls_section_begin|>{% for c in calls %}<|tool_call_begin|>{{ c.id }}<|tool_call_argument_begin|>"
    "{{ c.arguments | json }}<|tool_call_end|>{% endfor %}<|tool_calls_section_end|>{% endif %}",
    "minimax-m2": _THINK + "{{ content }}{% if calls %}{{ '\n' if content else '' }}<minimax:tool_call>\n"
    '{% for c in calls %}<invoke name="{{ c.name }}">{{ "\n" }}{% for key, value in c.arguments.items() %}'
    '<parameter name="{{ key }}">{{ value | raw }}</parameter>{{ "\n" }}{% endfor %}</invoke>{{ "\n" }}{% endfor %}'
    "</minimax:tool_call>{% endif %}",
    "glm-4.5": "{% if thinking is not none %}<think>{{ thinking }}</think>\n{% endif %}" + _AFTER_CONTENT
    + "{% for c in calls %}{{ '' if loop.first else '\n' }}<tool_call>{{ c.name }}{{ '\n' }}"
    "{% for key, value in c.arguments.items() %}<arg_key>{{ key }}</arg_key>{{ '\n' }}<arg_value>{{ value | raw }}"
    "</arg_value>{{ '\n' }}{% endfor %}</tool_call>{% endfor %}",
    "mistral": "{{ content }}{% if calls %}[TOOL_CALLS] [{% for c in calls %}"
    '{"name": "{{ c.name }}", "arguments": {{ c.arguments | json }}, "id": "{{ c.id }}"}'
    "{% if not loop.last %}, {% endif %}{% endfor %}]{% endif %}",
    "mistral-v13": "{% if thinking is not none %}[THINK]{{ thinking }}[/THINK]{% endif %}{{ content }}"
    "{% for c in calls %}[TOOL_CALLS]{{ c.name }}[ARGS]{{ c.arguments | json }}{% endfor %}",
    "cohere": "{% if thinking is not none %}<|START_THINKING|>{{ thinking }}<|END_THINKING|>{% endif %}{% if calls %}"
    "<|START_ACTION|>[\n{% for c in calls %}"
    '{{ "    " }}{"tool_call_id": "{{ c.id }}", "tool_name": "{{ c.name }}", "parameters": {{ c.arguments | json }}}'
    "{{ '\n' if loop.last else ',\n' }}{% endfor %}]<|END_ACTION|>{% else %}"
    "<|START_RESPONSE|>{{ content }}<|END_RESPONSE|>{% endif %}",
    "granite3": "{{ content }}{% if calls %}<|tool_call|>[" + _LIST + "]{% endif %}",
    "phi4-mini": "{{ content }}{% if calls %}functools[" + _LIST + "]{% endif %}",
}  # fmt: skip

ONE_CALL = {"llama3", "harmony"}  # formats without parallel calls
NO_THOUGHTS = {"llama3", "mistral", "granite3", "phi4-mini"}
CONTENT_OR_CALLS = {"llama3", "cohere"}
IDS = {"kimi-k2": "functions.{name}:{index}", "mistral": "a{index:08d}", "cohere": "{index}"}


def write(name: str, content: str, thinking: str | None, calls: list[dict[str, Any]]) -> str:
    """The turn in a format. calls: with "name", "arguments" and "id"."""
    return _ENVIRONMENT.from_string(WRITERS[name]).render(content=content, thinking=thinking, calls=calls)
