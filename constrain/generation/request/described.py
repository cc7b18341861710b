"""Prompts that tell the model its schema: `Prompt(content, describe=True)`.

The place: a system message, joined to one that is there. A chat template that refuses or drops system messages, which
is tried, gets the words before the first message of the user; a text begins with them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from constrain.errors import ConstrainError
from constrain.generation.request.entries import Entries
from constrain.generation.request.prompts import Parsed, ParsedPrompts
from constrain.languages.constraints.base import constraint_of
from constrain.languages.constraints.regular import Choices
from constrain.languages.schema import JsonSchema
from constrain.models.hf.model import HFModel

SYSTEM = ("system", "developer")


def descriptions_of(prompts: ParsedPrompts, constraints: Entries) -> Sequence[str]:
    """The description of the constraint of each prompt that asks for it, else ""; () where none does.

    constraints: as they were given, without texts around them. Raises ConstrainError: there is no schema, or no place.
    """
    if not any(prompt.describe for prompt in prompts.given):
        return ()
    from constrain.chat.describe import describe

    for place, (content, prompt) in enumerate(zip(prompts.each, prompts.given, strict=True)):
        if prompt.describe and not _has_place(content):
            raise ConstrainError(
                "describe needs a prompt of text or chat messages, not of token ids",
                place=prompts.name(place),
                fix="put constrain.describe(schema) into the text before it becomes token ids",
            )

    def described(given: Any, wanted: bool) -> str:
        constraint = constraint_of(given)
        if wanted and not is_described(constraint):
            raise ConstrainError(
                "describe needs a schema or choices, and the constraint has none",
                place="describe",
                fix="give schema=, type= or choices=, or say in the prompt what is wanted",
            )
        return describe(constraint) if wanted else ""

    return constraints.each(described, [prompt.describe for prompt in prompts.given]).values


def is_described(constraint: Any) -> bool:
    """True if there are words for a constraint: it has a schema, or is one of some texts."""
    return isinstance(constraint, JsonSchema | Choices)


def _has_place(content: Parsed) -> bool:
    """True if a prompt is a text or a list of chat messages."""
    return isinstance(content, str) or (not isinstance(content, Mapping) and isinstance(content[0], Mapping))


def placed(content: Any, words: str, has_system: Callable[[], bool]) -> Parsed:
    """A text or chat messages with some words of ours. has_system: tells whether there may be a system message."""
    if isinstance(content, str):
        return f"{words}\n\n{content}"
    first = content[0]
    if first["role"] in SYSTEM:
        return [{**first, "content": _joined(first.get("content"), words, behind=True)}, *content[1:]]
    if has_system():
        return [{"role": "system", "content": words}, *content]
    place = next((i for i, message in enumerate(content) if message["role"] == "user"), None)
    if place is None:
        return [{"role": "user", "content": words}, *content]
    message = content[place]
    joined = {**message, "content": _joined(message.get("content"), words, behind=False)}
    return [*content[:place], joined, *content[place + 1 :]]


def _joined(content: Any, words: str, *, behind: bool) -> Any:
    """The content of a message, a text or parts, with other words behind or before it."""
    if not content:
        return words
    if isinstance(content, str):
        return f"{content}\n\n{words}" if behind else f"{words}\n\n{content}"
    part = [{"type": "text", "text": words}]
    return [*content, *part] if behind else [*part, *content]


def writes_system(handle: Any) -> bool:
    """The chat template of a handle's processor or tokenizer writes a system message where there is one."""
    reader = handle.processor if isinstance(handle, HFModel) else None
    return has_system(reader if getattr(reader, "chat_template", None) else handle.tokenizer)


def has_system(tokenizer: Any) -> bool:
    """The chat template writes a system message where there is one."""
    mark = "words of a system"
    messages = [{"role": "system", "content": mark}, {"role": "user", "content": "-"}]
    try:
        return mark in tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
    except Exception:  # templates raise what they like
        return False
