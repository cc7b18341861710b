"""`Format`: how a model writes an assistant's turn with calls of tools, as data.

The idea: one template of a call, with `$name`, `$arguments` and named fields, and the delimiters around everything. The
constraint (language.py), the reader (reading.py) and the choice by chat template (auto.py) all use the same data, so
that they cannot drift apart. A format is a row in formats/.

A turn is: thoughts, then an answer; or thoughts, then a preamble, then calls. Where the answer has no delimiters, calls
begin with `trigger`, which no content contains.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

from constrain.chat.tags.elements import NestedStyle, split_tokens
from constrain.chat.tags.parameters import Style

NAME, ARGUMENTS = "name", "arguments"
NAMES = r"[A-Za-z0-9_./-]+"
_FIELD = re.compile(r"\$([a-z]+)")


@dataclass(frozen=True)
class Format:
    """A format. Texts may hold names of special tokens; `tokens` says which.

    Attributes:
        name: Its name.
        models: The models that use it.
        source: Where it is described.
        trigger: The text or token with which calls begin.
        call: A call: `$name`, `$arguments`, and `$` with a name of `fields`.
        begin: What stands before the first call; may have fields.
        end: What stands after the last one.
        between: What stands between two calls; None: there is one call at most.
        before: What stands between content and calls.
        preamble: What stands around content before calls; None: there is no content before calls.
        answer: What stands around content without calls.
        others: Other ways in which such models write a call.
        tail: What ends every turn, behind the answer or the calls.
        instead: Calls stand instead of content, and content does not begin with `trigger`.
        thinking: What stands around thoughts; None: there are none.
        unthought: What may stand in place of thoughts.
        order: The order of arguments: "schema", or "any" where models have an order of their own.
        parameters: How arguments are written as elements; None: as JSON.
        fields: The languages of further fields, as patterns. The value of one is its first group, if it has a group.
        id: The id of a call, made of its fields; "": it has none.
        names: The names that it can spell, as a pattern.
        tokens: The names of the special tokens in all these texts.
        ends: What may end the turn, and is no part of it.
        template: What the chat template of such a model has.
        template_without: What it has not.
        aliases: Other names.
    """

    name: str
    models: str
    source: str
    trigger: str
    call: str
    begin: str = ""
    end: str = ""
    between: str | None = ""
    before: str = ""
    preamble: tuple[str, str] | None = ("", "")
    answer: tuple[str, str] = ("", "")
    others: tuple[str, ...] = ()
    tail: str = ""
    instead: bool = False
    thinking: tuple[str, str] | None = ("<think>", "</think>")
    unthought: str = ""
    order: Literal["schema", "any"] = "schema"
    parameters: Style | NestedStyle | None = None
    fields: Mapping[str, str] = field(default_factory=dict)
    id: str = ""
    names: str = NAMES
    tokens: tuple[str, ...] = ()
    ends: tuple[str, ...] = ()
    template: tuple[str, ...] = ()
    template_without: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()

    @property
    def delimited(self) -> bool:
        """True if content stands between delimiters, so that no text stands outside of them."""
        return bool(self.answer[0])

    def pieces(self, template: str) -> Iterator[tuple[str, bool]]:
        """The pieces of a template: (a text, False), or (the name of a field, True)."""
        for i, piece in enumerate(_FIELD.split(template)):
            if piece:
                yield piece, i % 2 == 1

    def split(self, text: str) -> list[tuple[str, bool]]:
        """A text as pairs (piece, whether it is the name of a special token)."""
        return list(split_tokens(text, self.tokens))
