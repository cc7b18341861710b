"""Turns written as the chat templates of the models write them: templates of our own, one for each format.

The variables: content, thinking (None: none), calls, a list of objects with name, arguments and id. The constraint and
the reader know nothing of these templates.
"""

import functools
import json
from typing import Any

import jinja2


def kind(value: Any) -> str:
    """The type of a JSON value, in the words of Kimi K3."""
    if value is None or isinstance(value, bool):
        return "null" if value is None else "boolean"
    return {str: "string", int: "number", float: "number", list: "array", dict: "object"}[type(value)]


def braces(value: Any) -> str:
    """A value as Gemma 4 writes it: strings between special tokens, names without quotes."""
    if isinstance(value, str):
        return f'<|"|>{value}<|"|>'
    if isinstance(value, list):
        return f"[{','.join(map(braces, value))}]"
    if isinstance(value, dict):
        return "{" + ",".join(f"{name}:{braces(one)}" for name, one in value.items()) + "}"
    return json.dumps(value)


def python(value: Any) -> str:
    """A value as a literal of Python, strings in double quotes."""
    if isinstance(value, list):
        return f"[{', '.join(map(python, value))}]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{python(name)}: {python(one)}" for name, one in value.items()) + "}"
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str) else repr(value)


def elements(value: Any) -> str:
    """A value as MiniMax M3 writes it: elements for properties and items."""
    mark = "]<]minimax[>["
    if isinstance(value, dict):
        return "".join(f"{mark}<{name}>{elements(one)}{mark}</{name}>" for name, one in value.items())
    if isinstance(value, list):
        return "".join(f"{mark}<item>{elements(one)}{mark}</item>" for one in value)
    return value if isinstance(value, str) else json.dumps(value)


_ENVIRONMENT = jinja2.Environment(trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=False)
_ENVIRONMENT.filters["json"] = lambda value: json.dumps(value, ensure_ascii=False)
_ENVIRONMENT.filters["raw"] = lambda value: value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
_ENVIRONMENT.filters |= {"kind": kind, "braces": braces, "python": python, "elements": elements}

_THINK = "{% if thinking is not none %}<think>\n{{ thinking }}\n</think>\n\n{% endif %}"
_HERMES_CALL = '<tool_call>\n{"name": "{{ c.name }}", "arguments": {{ c.arguments | json }}}\n</tool_call>'
_OBJECT = '{"name": "{{ c.name }}", "arguments": {{ c.arguments | json }}}'
_LIST = "{% for c in calls %}" + _OBJECT + "{% if not loop.last %}, {% endif %}{% endfor %}"
_AFTER_CONTENT = "{{ content }}{% if content and calls %}{{ '\n' }}{% endif %}"
_DSML = (
    '{{ "\n" }}<｜DSML｜SPACEinvoke name="{{ c.name }}">{{ "\n" }}{% for key, value in c.arguments.items() %}'
    "{{ '' if loop.first else '\n' }}<｜DSML｜SPACEparameter name=\"{{ key }}\" "
    "string=\"{{ 'true' if value is string else 'false' }}\">{{ value | raw }}</｜DSML｜SPACEparameter>{% endfor %}"
    '{{ "\n" }}</｜DSML｜SPACEinvoke>'
)
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
    **{
        name: "{% if thinking is not none %}<think>{{ thinking }}</think>{% endif %}{{ content }}{% if calls %}"
        f'{{{{ "\n\n" }}}}<｜DSML｜{block}>{{% for c in calls %}}{_DSML.replace("SPACE", space)}{{% endfor %}}'
        f'{{{{ "\n" }}}}</｜DSML｜{block}>{{% endif %}}'
        for name, block, space in [
            ("deepseek-v3.2", "function_calls", ""),
            ("deepseek-v4", "tool_calls", ""),
            ("deepseek-v4.1", " calls", " "),
        ]
    },
    "harmony": "{% if thinking is not none %}<|channel|>analysis<|message|>{{ thinking }}<|end|><|start|>assistant"
    "{% endif %}{% if calls %}{% if content %}<|channel|>commentary<|message|>{{ content }}<|end|><|start|>assistant"
    "{% endif %}<|channel|>commentary to=functions.{{ calls[0].name }} <|constrain|>json<|message|>"
    "{{ calls[0].arguments | json }}{% else %}<|channel|>final<|message|>{{ content }}{% endif %}",
    "kimi-k2": "{% if thinking is not none %}<think>{{ thinking }}</think>{% endif %}{{ content }}{% if calls %}"
    "<|tool_calls_section_begin|>{% for c in calls %}<|tool_call_begin|>{{ c.id }}<|tool_call_argument_begin|>"
    "{{ c.arguments | json }}<|tool_call_end|>{% endfor %}<|tool_calls_section_end|>{% endif %}",
    "kimi-k3": "{% if thinking is not none %}<|open|>think<|sep|>{{ thinking }}<|close|>think<|sep|>{% endif %}"
    "<|open|>response<|sep|>{{ content }}<|close|>response<|sep|>{% if calls %}<|open|>tools<|sep|>{% for c in calls %}"
    '<|open|>call tool="{{ c.name }}" index="{{ loop.index }}"<|sep|>{% for key, value in c.arguments.items() %}'
    '<|open|>argument key="{{ key }}" type="{{ value | kind }}"<|sep|>{{ value | raw }}<|close|>argument<|sep|>'
    "{% endfor %}<|close|>call<|sep|>{% endfor %}<|close|>tools<|sep|>{% endif %}<|close|>message<|sep|>",
    "minimax-m3": "{% if thinking is not none %}<mm:think>{{ thinking }}</mm:think>{% endif %}{{ content }}"
    "{% if calls %}{{ '\n' if content else '' }}]<]minimax[>[<tool_call>{{ '\n' }}{% for c in calls %}"
    ']<]minimax[>[<invoke name="{{ c.name }}">{{ c.arguments | elements }}]<]minimax[>[</invoke>{{ "\n" }}{% endfor %}'
    "]<]minimax[>[</tool_call>{% endif %}",
    "gemma4": "{% if thinking is not none %}<|channel>thought\n{{ thinking }}<channel|>{% endif %}{{ content }}"
    "{% for c in calls %}<|tool_call>call:{{ c.name }}{{ c.arguments | braces }}<tool_call|>{% endfor %}",
    "pythonic": "{{ content }}{% if calls %}[{% for c in calls %}{{ c.name }}("
    "{% for key, value in c.arguments.items() %}{{ key }}={{ value | python }}{{ '' if loop.last else ', ' }}"
    "{% endfor %}){{ '' if loop.last else ', ' }}"
    "{% endfor %}]{% endif %}",
    "minimax-m2": _THINK + "{{ content }}{% if calls %}{{ '\n' if content else '' }}<minimax:tool_call>\n"
    '{% for c in calls %}<invoke name="{{ c.name }}">{{ "\n" }}{% for key, value in c.arguments.items() %}'
    '<parameter name="{{ key }}">{{ value | raw }}</parameter>{{ "\n" }}{% endfor %}</invoke>{{ "\n" }}{% endfor %}'
    "</minimax:tool_call>{% endif %}",
    "glm-4.5": "{% if thinking is not none %}{{ '\n' }}<think>{{ thinking }}</think>\n{% endif %}" + _AFTER_CONTENT
    + "{% for c in calls %}{{ '' if loop.first else '\n' }}<tool_call>{{ c.name }}{{ '\n' }}"
    "{% for key, value in c.arguments.items() %}<arg_key>{{ key }}</arg_key>{{ '\n' }}<arg_value>{{ value | raw }}"
    "</arg_value>{{ '\n' }}{% endfor %}</tool_call>{% endfor %}",
    "mistral": "{{ content }}{% if calls %}[TOOL_CALLS] [{% for c in calls %}"
    '{"name": "{{ c.name }}", "arguments": {{ c.arguments | json }}, "id": "{{ c.id }}"}'
    "{% if not loop.last %}, {% endif %}{% endfor %}]{% endif %}",
    "glm-4.7": "{% if thinking is not none %}<think>{{ thinking }}</think>{% endif %}{{ content }}{% for c in calls %}"
    "<tool_call>{{ c.name }}{% for key, value in c.arguments.items() %}<arg_key>{{ key }}</arg_key>"
    "<arg_value>{{ value | raw }}</arg_value>{% endfor %}</tool_call>{% endfor %}",
    "mistral-v11": "{{ content }}{% for c in calls %}[TOOL_CALLS]{{ c.name }}[CALL_ID]{{ c.id }}[ARGS]"
    "{{ c.arguments | json }}{% endfor %}",
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

IDENTIFIERS = {"pythonic"}  # formats whose names are identifiers
ONE_CALL = {"llama3", "harmony"}  # formats without parallel calls
NO_THOUGHTS = {"llama3", "mistral", "mistral-v11", "granite3", "phi4-mini", "pythonic"}
CONTENT_OR_CALLS = {"llama3", "cohere", "pythonic"}
IDS = {
    "kimi-k2": "functions.{name}:{index}",
    "mistral": "a{index:08d}",
    "mistral-v11": "a{index:08d}",
    "cohere": "{index}",
}


@functools.cache
def _template(name: str) -> jinja2.Template:
    return _ENVIRONMENT.from_string(WRITERS[name])


def write(name: str, content: str, thinking: str | None, calls: list[dict[str, Any]]) -> str:
    """The turn in a format. calls: with "name", "arguments" and "id"."""
    return _template(name).render(content=content, thinking=thinking, calls=calls)
