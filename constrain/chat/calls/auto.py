"""Formats by name, and the format that a chat template names.

The idea: the chat template of a model has the delimiters of its format, since it writes earlier calls with them. A
format fits if the template has all of `Format.template` and none of `Format.template_without`; of several that fit, the
one whose texts are most. A template that no format fits and that has no word of tools, as SmolLM2's, gets Hermes'
format, in which a message says in words how to call (generation/request/tool_words.py).
"""

from __future__ import annotations

from difflib import get_close_matches
from typing import Any

from constrain.chat.calls.format import Format
from constrain.chat.calls.formats import FORMATS
from constrain.errors import ConstrainError

NAMES = {name: form for form in FORMATS.values() for name in (form.name, *form.aliases)}
IN_WORDS = "hermes"  # the format where the chat template has no place for tools
SHOWN = 8  # texts in messages
NAMING = f'name the format, as in tools=constrain.tools(functions, format="hermes"): {", ".join(sorted(NAMES))}'


def format_of(given: str | Format, tokenizer: Any = None) -> Format:
    """The format that is meant.

    Args:
        given: A `Format`, the name of one, or "auto": the one that the chat template of the tokenizer names; "hermes"
            if the template has no place for tools.
        tokenizer: A tokenizer with a `chat_template`, or the template as text; only for "auto".

    Returns:
        The format.

    Raises:
        ConstrainError: There is no such name, there is no chat template, or none or several formats fit it.

    Example:
        >>> format_of("hermes").name
        'qwen3'
        >>> format_of("auto", "{{ '<|tool_calls_section_begin|>' }}").name
        'kimi-k2'
    """
    if isinstance(given, Format):
        return given
    if isinstance(given, str) and given == "auto":
        return _fitting(template_of(tokenizer))
    if not isinstance(given, str) or given not in NAMES:
        near = get_close_matches(str(given), NAMES, 3, 0.5)
        fix = f"did you mean {', '.join(map(repr, near))}?" if near else f"use one of {', '.join(sorted(NAMES))}"
        raise ConstrainError(f"there is no format {given!r:.60}", place="format", fix=fix)
    return NAMES[given]


def has_tools(template: str) -> bool:
    """True if a chat template has a place for tools."""
    return "tool" in template


def template_of(tokenizer: Any) -> str:
    """The chat template of a tokenizer that is used with tools. Raises ConstrainError: there is none."""
    template = tokenizer if isinstance(tokenizer, str) else getattr(tokenizer, "chat_template", None)
    if isinstance(template, dict):  # several, by their names
        template = template.get("tool_use", template.get("default"))
    if not isinstance(template, str) or not template:
        what = "there is no tokenizer" if tokenizer is None else f"{type(tokenizer).__name__} has no chat template"
        raise ConstrainError(
            f"format='auto' reads the chat template, and {what}",
            place="format",
            fix=f"pass tokenizer=, or {NAMING}" if tokenizer is None else NAMING,
        )
    return template


def _fitting(template: str) -> Format:
    """The format that fits a chat template best."""
    fitting = [
        form
        for form in FORMATS.values()
        if all(text in template for text in form.template)
        and not any(text in template for text in form.template_without)
    ]
    best = max((sum(map(len, form.template)) for form in fitting), default=0)
    found = [form for form in fitting if sum(map(len, form.template)) == best]
    if len(found) == 1:
        return found[0]
    if not found and not has_tools(template):
        return NAMES[IN_WORDS]
    known = {text for form in FORMATS.values() for text in form.template if text in template}
    names = ", ".join(map(repr, sorted(known)[:SHOWN])) or "none of the texts of a format"
    several = " and ".join(repr(form.name) for form in found)
    raise ConstrainError(f"the chat template fits {several or 'no format'}: it has {names}", place="format", fix=NAMING)
