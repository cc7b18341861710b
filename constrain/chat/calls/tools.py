"""`constrain.tools`: an assistant's turn that may call tools, as a constraint, and what reads such a turn back.

    turn = constrain.tools([weather, search], format="qwen3")
    g = constrain.generate(model, messages, constraint=turn)
    g.tool_calls, g.thinking, g.content

The idea: one format (format.py) gives the language (language.py) and the reader (reading.py). `ToolUse` is the language
with its reader; what a compiled constraint asks goes to the language. Conditions on values that are written as elements
are asked of the turn that was read.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, get_args

from constrain.chat.calls.auto import format_of
from constrain.chat.calls.format import Format
from constrain.chat.calls.functions import Function, functions_of
from constrain.chat.calls.language import Arguments, Wanted, arguments_by_name, language
from constrain.chat.calls.message import Message
from constrain.chat.calls.reading import Reader
from constrain.chat.calls.texts import checked_texts
from constrain.chat.tags.elements import Elements
from constrain.errors import ConstrainError
from constrain.languages.automata.marks import with_names
from constrain.languages.automata.syntax import Node, Ranges, Tokens
from constrain.languages.cfg.rules import Grammar
from constrain.languages.constraints.around import Around
from constrain.languages.constraints.base import Constraint
from constrain.languages.constraints.report import ReportLine, checked_later
from constrain.languages.schema import JsonSchema
from constrain.languages.schema.api import Undeclared, check_option
from constrain.languages.vocab.vocabulary import Vocabulary
from constrain.lazily import lazily
from constrain.limits import default_limits

CHOICES = ("auto", "required", "none")
THINKING = ("optional", "required", "none", "open")
PIECE = 1 << 12  # characters that the reader is given at once


@dataclass(frozen=True, repr=False)
class ToolUse(Around):
    """A turn of an assistant that may call tools. Made by `tools`.

    Attributes:
        language: Its texts.
        format: The format.
        functions: The tools.
        arguments: The arguments of the tools that may be called, as the format writes them.
        opened: The prompt has begun the thoughts.
        wanted: The parts that a turn may have, as `tools` was told.
    """

    language: Constraint
    format: Format = field(compare=False)
    functions: tuple[Function, ...] = field(compare=False)
    arguments: Arguments = field(compare=False)
    opened: bool = False
    wanted: Wanted = field(default=Wanted(), compare=False)

    @property
    def ends_in_time(self) -> bool:
        """True if each turn has a call. A limit would end free text anywhere, as if it were whole."""
        return self.wanted.must_call

    def read(self, text: str, ids: Callable[[int], str] | None = None) -> Message:
        """Read a turn.

        Args:
            text: The turn; special tokens stand in it by their names (`Vocabulary.to_bytes(tokens, names=True)`).
            ids: Gives a call its id, by its number from 0, where the text gives none.

        Returns:
            Content, thoughts and calls. A text that is cut off or malformed gives what could be read, and a `fault`.

        Example:
            >>> import constrain
            >>> turn = constrain.tools([{"name": "f", "parameters": {"type": "object"}}], format="qwen3")
            >>> turn.read('<tool_call>\\n{"name": "f", "arguments": {}}\\n</tool_call>').tool_calls[0].name
            'f'
        """
        reader = self.reader(ids)
        for at in range(0, len(text), PIECE):
            reader.feed(text[at : at + PIECE])
        return reader.close()

    def read_tokens(self, tokens: Iterable[int], vocabulary: Vocabulary) -> Message:
        """Read a turn of tokens.

        Args:
            tokens: Token ids. Tokens that end a text are left out.
            vocabulary: Their vocabulary.

        Returns:
            As `read`.
        """
        kept = [token for token in tokens if token not in vocabulary.eos_ids]
        return self.read(vocabulary.to_bytes(kept, names=True).decode("utf-8", "replace"))

    def reader(self, ids: Callable[[int], str] | None = None) -> Reader:
        """A reader at the beginning of a turn, for texts that come in pieces. ids: As in `read`."""
        return Reader(self.format, self.functions, opened=self.opened, ids=ids)

    @property
    def schemas(self) -> list[dict[str, Any]]:
        """The tools as OpenAI's JSON, for chat templates and requests."""
        return [function.json for function in self.functions]

    # -- the language --------------------------------------------------------------------------------------------------

    @property
    def inner(self) -> Constraint:  # type: ignore[override]
        return self.language

    def to_grammar(self) -> Grammar:
        return self.language.to_grammar()

    @lazily
    def node(self) -> Node | None:
        return self.language.node

    @lazily
    def counts_tokens(self) -> bool:
        return self.language.counts_tokens

    @property
    def report(self) -> list[ReportLine]:
        """The lines of the tools' arguments; their pointers name the tool, as errors do."""
        found = []
        for name, each in self.arguments.items():
            lines = checked_later(each.report) if each.guarded and not self.guarded else each.report
            found += [line._replace(pointer=f"the tool {name!r}, {line.pointer}") for line in lines]
        return found

    @lazily
    def _read_later(self) -> dict[str, JsonSchema]:
        """The schemas of arguments with conditions that their elements do not show."""
        found = ((name, each) for name, each in self.arguments.items() if isinstance(each, Elements))
        return {name: each.whole for name, each in found if each.left}

    @lazily
    def residual(self) -> bool:
        return self.language.residual or bool(self._read_later)

    def residual_fault(self, text: str) -> str | None:
        return self.language.residual_fault(text) or self._arguments_fault(text)

    def residual_fault_marked(self, text: bytes, spans: Mapping[Tokens, Ranges]) -> str | None:
        return self.language.residual_fault_marked(text, spans) or self._arguments_fault(with_names(text, spans))

    def _arguments_fault(self, text: str) -> str | None:
        """The fault of the arguments in a turn, by conditions that their elements do not show."""
        faults = (
            self._read_later[call.name].residual_fault(json.dumps(call.values))
            for call in (self.read(text).tool_calls if self._read_later else ())
            if call.name in self._read_later
        )
        return next(filter(None, faults), None)

    def __repr__(self) -> str:
        names = ", ".join(function.name for function in self.functions)
        return f"tools([{names}], format={self.format.name!r})"


def tools(
    functions: Sequence[Any],
    format: str | Format = "auto",  # noqa: A002  (the public name)
    *,
    choice: str = "auto",
    parallel: bool = True,
    thinking: str = "optional",
    thinking_tokens: int | None = None,
    tokenizer: Any = None,
    undeclared: Undeclared = "avoid",
    texts: Mapping[str, Mapping[str, Constraint]] | None = None,
    max_calls: int | None = None,
) -> ToolUse:
    """An assistant's turn that may call tools, in the format of a model.

    Args:
        functions: The tools: pydantic models, callables with annotations, OpenAI's tool JSON, the JSON of the Model
            Context Protocol (`inputSchema`), or `Function`s.
        format: The name of a format (`constrain.calls.FORMATS`), a `Format`, or "auto": the one that the chat template
            of `tokenizer` names.
        choice: "auto": text, calls, or text and then calls. "required": calls. "none": text. Or the name of a tool: a
            call of it.
        parallel: There may be several calls, where the format has a way to write them.
        thinking: Thoughts before everything else. "optional"; "required"; "none"; "open": the prompt has begun them.
            Nothing in a format without thoughts.
        thinking_tokens: The greatest number of tokens of the thoughts, after which they are closed (`constrain.after`).
        tokenizer: A tokenizer, for "auto"; or a tokenizer or a `Vocabulary` that says which delimiters
            are special tokens. Default: as in the models of the format.
        undeclared: "avoid": arguments and what is in them have declared properties only, unless a schema says otherwise
            or declares nothing; "allow" and "refuse": as in `json_schema`. `"properties": {}` of a tool declares that
            it has no arguments.
        texts: The constraints on string arguments, by the names of the tool and of the argument, in formats that write
            arguments as JSON: `{"run": {"query": constrain.monitors.monitored(...)}}`. The tool's arguments then have
            declared properties only, in the order of the schema.
        max_calls: The greatest number of calls in a turn; None: no bound. Without one a small model may write the same
            call until its tokens are over.

    Returns:
        A constraint with `read`, which turns a text back into content, thoughts and calls.

    Raises:
        ConstrainError: There is no such format, choice or tool; a tool is none or two have one name; the format cannot
            spell a name, or has no thoughts that could be required.
        SchemaError: A schema of arguments is faulty, is not that of an object, or cannot be written in the format.

    Example:
        >>> import constrain
        >>> def weather(city: str, days: int = 1) -> str:
        ...     '''Tell the weather.'''
        >>> turn = constrain.tools([weather], format="qwen3")
        >>> text = '<tool_call>\\n{"name": "weather", "arguments": {"city": "Bern"}}\\n</tool_call>'
        >>> matcher = constrain.compile(turn, constrain.Vocabulary.of_bytes()).matcher()
        >>> matcher.advance_bytes(text.encode()), matcher.is_accepting()
        (True, True)
        >>> [call] = turn.read(text).tool_calls
        >>> call.name, call.arguments
        ('weather', {'city': 'Bern', 'days': 1})
    """
    form = format_of(format, tokenizer)
    if tokenizer is not None and not isinstance(tokenizer, str):
        form = _with_tokens_of(form, tokenizer)
    found = functions_of(functions)
    for function in found:
        if not re.fullmatch(form.names, function.name):
            raise ConstrainError(
                f"the format {form.name!r} cannot spell the name {function.name!r}",
                place=f"tools[{found.index(function)}].name",
                fix=f"use a name of the characters {form.names}",
            )
    called = found
    if not isinstance(choice, str):
        raise ConstrainError(f"choice is a str, not {choice!r:.60}", place="choice", fix=", ".join(map(repr, CHOICES)))
    if not isinstance(parallel, bool):
        raise ConstrainError(f"parallel must be True or False, not {parallel!r:.60}", place="parallel")
    if max_calls is not None and (not isinstance(max_calls, int) or isinstance(max_calls, bool) or max_calls < 1):
        raise ConstrainError(
            f"max_calls is an int of at least 1, not {max_calls!r:.60}", place="max_calls", fix='choice="none" has none'
        )
    if choice not in CHOICES:
        called = tuple(function for function in found if function.name == choice)
        if not called:
            raise ConstrainError(
                f"there is no tool {choice!r} to choose; the tools are {', '.join(f.name for f in found)}",
                place="choice",
                fix=f"name one of them, or {', '.join(map(repr, CHOICES))}",
            )
    _check_thinking(form, thinking, thinking_tokens)
    check_option(undeclared, get_args(Undeclared), "undeclared")
    checked_texts(texts, found)
    wanted = Wanted(choice, parallel, thinking, thinking_tokens, undeclared, texts or {}, max_calls)
    opened = thinking == "open"
    with default_limits().reading("the tools", "offer fewer tools"):
        arguments = arguments_by_name(form, called, wanted)
        return ToolUse(language(form, arguments, wanted), form, found, arguments, opened, wanted)


def _check_thinking(form: Format, thinking: str, budget: int | None) -> None:
    if not isinstance(thinking, str) or thinking not in THINKING:
        raise ConstrainError(
            f"thinking is {', '.join(map(repr, THINKING))}, not {thinking!r:.60}", place="thinking", fix='"optional"'
        )
    if form.thinking is None and (thinking in ("required", "open") or budget is not None):
        raise ConstrainError(
            f"the format {form.name!r} has no thoughts", place="thinking", fix='thinking="none", or another format'
        )
    if thinking == "none" and budget is not None:
        raise ConstrainError("thinking='none' has no budget", place="thinking_tokens", fix="leave it out")


def _with_tokens_of(form: Format, tokenizer: Any) -> Format:
    """The format with the special tokens that a vocabulary has."""
    vocabulary = tokenizer if isinstance(tokenizer, Vocabulary) else Vocabulary.from_huggingface(tokenizer)
    texts = [form.trigger, form.call, form.begin, form.end, form.between or "", *form.answer, *(form.preamble or ())]
    texts += form.thinking or ()
    special = [name for name, token in vocabulary.names.items() if vocabulary.tokens[token] is None]
    named = [
        name
        for name in special
        if any(name in text for text in texts) and vocabulary.names[name] not in vocabulary.eos_ids
    ]
    return replace(form, tokens=tuple(named))
