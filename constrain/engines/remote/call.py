"""A request of `generate` that a server runs: what is sent, what comes back, what is asked for again.

The idea: an answer becomes one text, in which thoughts and calls of tools stand as in a format of our own, so that the
readers of local models read it, whole or in pieces. The text is checked by the whole constraint. A schema counts by its
values: layout, escapes and the order of properties are the server's, unless the constraint asks for others than the
defaults. An answer that a check refuses is told back with the reason, so a retry is another question, and has sense at
temperature 0, too. What was cut off, withheld or declined is not asked for again.

Cost: a request for each attempt; the outputs of a call are under way at the same time.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
import secrets
from collections.abc import Callable, Generator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from constrain.chat import is_tool_use
from constrain.chat.calls.functions import functions_of
from constrain.chat.calls.language import Wanted as Parts
from constrain.chat.calls.language import arguments_of
from constrain.chat.calls.message import Message
from constrain.chat.calls.tools import CHOICES, ToolUse, tools
from constrain.chat.describe import describe
from constrain.engines.remote.servers import Sent, Server, sent_of
from constrain.errors import ConstrainError
from constrain.generation.call import Call
from constrain.generation.handles import TextWriter
from constrain.generation.request.described import is_described, placed
from constrain.generation.request.openai_shapes import choice_of
from constrain.generation.request.request import ANYTHING, Request
from constrain.generation.result import Generation, Stats, Stream
from constrain.generation.verdict import verdict
from constrain.languages.constraints.base import Constraint, constraint_of
from constrain.languages.constraints.report import ReportLine
from constrain.languages.schema import JsonSchema
from constrain.languages.schema.read.document import ReadOptions
from constrain.masks.derived.stopping import Stopped
from constrain.sampling.core.job import Clock, Watcher
from constrain.sampling.core.sampler import traits_of
from constrain.sampling.methods.lcd import lcd

if TYPE_CHECKING:
    from constrain.engines.remote.model import Remote

FORMAT = TextWriter.format
MOST = 2_000  # characters of a reason that a model is told
_ANY = {"whitespace": "any", "spelling": "any", "property_order": "any"}
_FENCE = re.compile(r"\s*```\w*\n(.*)\n```\s*", re.DOTALL)
AGAIN = "That is not a valid answer: {}\nAnswer again, with the whole answer and nothing else."


@dataclass(frozen=True)
class SentConstraint:
    """A constraint, as it is sent and as it is checked; constraint: None: any text.

    arguments: of a turn with tools, the constraint of the arguments of each tool that may be called.
    """

    constraint: Constraint | None
    sent: Sent
    arguments: Mapping[str, JsonSchema] | None = None

    def unpacked(self, text: str) -> str:
        """The text without what is around it: an object, or a fence, where nothing forbids that. Raises ValueError."""
        fenced = _FENCE.fullmatch(text) if isinstance(self.constraint, JsonSchema) and not self.sent.said else None
        return self.sent.unpacked(text) if fenced is None else fenced[1]

    def judged(self, text: str, message: Message | None) -> tuple[Any, str | None]:
        """(value, fault) of a finished text."""
        if is_tool_use(self.constraint) and message is not None:
            fault = message.fault or self._misused(message, self.constraint.wanted)
            return (None if fault else text), fault
        if self.constraint is None:
            return text, None
        refusal = as_read(self.constraint).explain(text)
        if refusal is not None:
            return None, refusal.because or str(refusal)
        return verdict(self.constraint, text)

    def _misused(self, message: Message, asked: Parts) -> str | None:
        """The fault of the calls of a turn; None: they are as they were asked for."""
        allowed, calls = self.arguments or {}, message.tool_calls
        if not calls and asked.must_call:
            return "there must be a call of a tool"
        most = 1 if not asked.parallel else asked.most
        if most is not None and len(calls) > most:
            return f"there may be {most} calls of tools, and there are {len(calls)}"
        for call in calls:
            if call.name not in allowed:
                return f"there is no tool {call.name!r} to call; there is {', '.join(allowed) or 'none'}"
            refusal = as_read(allowed[call.name]).explain(json.dumps(call.values))
            if refusal is not None:
                return f"the arguments of {call.name}: {refusal.because or refusal}"
        return None


def as_read(constraint: Constraint) -> Constraint:
    """A constraint as it checks the text of a server: of a schema, values count, and not how they are written."""
    if not isinstance(constraint, JsonSchema):
        return constraint
    asked, usual = constraint.options._asdict(), ReadOptions()._asdict()
    loose: dict[str, Any] = {name: word for name, word in _ANY.items() if asked[name] == usual[name]}
    return replace(constraint, options=constraint.options._replace(**loose))


# An output, and the messages that ask for it again, if a check refuses it.
Ended: TypeAlias = "tuple[Generation[Any], list[dict[str, Any]] | None]"


class RemoteRow(NamedTuple):
    """An output to be asked for. number: of the output in the call."""

    number: int
    messages: list[dict[str, Any]]
    wanted: SentConstraint
    body: dict[str, Any]


class Written:
    """An answer while it is written: `text` grows by deltas, or by a message, which is one delta.

    tools: thoughts and calls stand in the text, as `FORMAT` has them.
    """

    def __init__(self, tools: bool) -> None:
        self.tools = tools
        self.text = self.thoughts = self.refusal = self.finish = self.stop = ""
        self.ids: list[str] = []
        self.tokens = 0
        self._open = self._arguments = ""  # what closes the part that is being written; the arguments so far

    def add(self, choices: Sequence[dict[str, Any]], usage: dict[str, Any]) -> str:
        """Take a chunk, or a whole answer. Returns the new piece of the text."""
        self.tokens = usage.get("completion_tokens") or self.tokens
        before = len(self.text)
        for choice in choices[:1]:
            delta = choice.get("delta") or choice.get("message") or {}
            self._thought(delta.get("reasoning_content") or delta.get("reasoning") or "")
            if delta.get("content"):
                self._close()
                self.text += delta["content"]
            self.refusal += delta.get("refusal") or ""
            for place, call in enumerate(delta.get("tool_calls") or ()):
                self._call(call.get("index", place), call)
            self.finish = choice.get("finish_reason") or self.finish
            self.stop = choice.get("stop_reason") or self.stop
            if self.finish:
                self._close()
        return self.text[before:]

    def _thought(self, text: str) -> None:
        self.thoughts += text
        if text and self.tools:
            if self._open != "</think>":
                self._close()
                self.text += "<think>"
                self._open = "</think>"
            self.text += text

    def _call(self, place: int, call: dict[str, Any]) -> None:
        function = call.get("function") or {}
        if place >= len(self.ids):
            self._close()
            self.ids.append(call.get("id") or "")
            gap = "\n" if self.text else ""
            self.text += f'{gap}<tool_call>\n{{"name": "{function.get("name")}", "arguments": '
            self._open, self._arguments = "}\n</tool_call>", ""
        given = function.get("arguments") or ""
        piece = given if isinstance(given, str) else json.dumps(given)
        self._arguments += piece
        self.text += piece

    def _close(self) -> None:
        """End the thoughts or the call that is being written."""
        if self._open.startswith("}") and not self._arguments.strip():
            self.text += "{}"
        self.text += self._open
        self._open = ""


class RemoteCall(Call):
    """A request with the server that runs it."""

    def __init__(self, model: Remote, request: Request, clock: Clock) -> None:
        super().__init__(request, [])
        self.model, self.clock, self.watcher = model, clock, Watcher()
        self.facts, self._ask = model.facts, model.client.chat.completions.create
        _refuse(request, self.facts.server)
        self.seed = secrets.randbits(31) if request.seed is None else request.seed
        self.rows = self._rows()

    def watch(self, watcher: Watcher) -> None:
        self.watcher = self.clock.watcher = watcher

    # -- what is sent --------------------------------------------------------------------------------------------------

    def _rows(self) -> list[RemoteRow]:
        request, rows = self.request, list[RemoteRow]()
        if request.tools is None:
            wanted = request.constraints.each(self._wanted).values
        else:
            given, choice = request.tools
            is_turn = isinstance(given, ToolUse)
            turn = given if is_turn else tools(given, FORMAT, choice=choice_of(choice, functions_of(given)))
            wanted = [self._turn(turn)] * len(request.prompts.each)
        for place, (content, each) in enumerate(zip(request.prompts.each, wanted, strict=True)):
            messages = messages_of(content, request.prompts.name(place))
            words = request.prompts.described[place] if request.prompts.described else ""
            if not words and not self.facts.server.schemas and is_described(each.constraint):
                words = describe(each.constraint)
            if words:
                with_words: Any = placed(messages, words, lambda: True)
                messages = list(with_words)
            for _ in range(request.n):
                rows.append(RemoteRow(len(rows), messages, each, self._body(each, place, len(rows))))
        return rows

    def _wanted(self, given: Any) -> SentConstraint:
        """A constraint as it is sent. Raises ConstrainError: it cannot be."""
        constraint = constraint_of(given)
        if given is not None and constraint is None:
            raise ConstrainError("a constraint of another make cannot be sent", place="constraint", fix="pass a schema")
        if isinstance(constraint, Stopped):
            if constraint.inner != ANYTHING:
                raise ConstrainError(
                    "a server that ends at stop does not tell whether the text before it is whole",
                    place="stop",
                    fix="leave stop out: the constraint ends the text",
                )
            return SentConstraint(None, Sent({"stop": list(constraint.stops)}, "stop"))
        if is_tool_use(constraint):
            return self._turn(constraint)
        if constraint is not None and (constraint.token_sets or constraint.counts_tokens or constraint.followed):
            said = f"{constraint!r:.60} depends on tokens, and a server gives texts"
            raise ConstrainError(said, place="constraint", fix="load the model in this process")
        return SentConstraint(constraint, sent_of(constraint, self.facts.server))

    def _turn(self, turn: ToolUse) -> SentConstraint:
        """Tools as they are sent, their schemas closed as they are checked; the text is in a format of ours."""
        asked = turn.wanted
        if asked.texts or asked.thinking != "optional" or asked.thinking_tokens is not None:
            fix = "leave out texts= and thinking=; extra= has fields of the server's own"
            raise ConstrainError("a server thinks and writes arguments by its own rules", place="tools", fix=fix)
        choice, functions = asked.choice, turn.functions
        turn = tools(functions, FORMAT, choice=choice, undeclared=asked.undeclared)
        arguments = {function.name: arguments_of(function, asked.undeclared) for function in functions}
        listed = [replace(function, parameters=arguments[function.name].schema).json for function in functions]
        fields: dict[str, Any] = {"tools": listed}
        if self.facts.server.chooses:
            fields["tool_choice"] = choice if choice in CHOICES else {"type": "function", "function": {"name": choice}}
            fields |= {} if asked.parallel else {"parallel_tool_calls": False}
        may = [] if choice == "none" else list(arguments) if choice in CHOICES else [choice]
        allowed = {name: arguments[name] for name in may}
        return SentConstraint(replace(turn, wanted=asked), Sent(fields, "tools"), allowed)

    def _body(self, wanted: SentConstraint, place: int, number: int) -> dict[str, Any]:
        """The fields of a request beside its messages. Raises ConstrainError: `extra` has one of them."""
        settings, server = self.request.settings, self.facts.server
        given = {"top_p": settings.top_p, "top_k": settings.top_k}
        body: dict[str, Any] = {
            server.most: self.request.lengths[place].at_most,
            "temperature": settings.temperature,
            "seed": (self.seed + number) % 2**31,
            **server.off,
            **{name: value for name, value in given.items() if value is not None},
            **wanted.sent.fields,
        }
        twice = sorted(body.keys() & self.model.extra.keys())
        if twice:
            raise ConstrainError(f"extra has {twice[0]!r}, which is written already", place="extra", fix="leave it out")
        return {**body, **self.model.extra}

    # -- what comes back -----------------------------------------------------------------------------------------------

    def steps(self) -> Generator[None, None, list[Generation[Any]]]:
        """Ask for all rows at the same time, and again where a check refuses an answer. Yields after each round."""
        outputs: dict[int, Generation[Any]] = {}
        pending, retries = self.rows, self.request.retries
        for attempt in range(1 + (self.model.retries if retries is None else retries)):
            found = self._round(pending, attempt)
            failed = []
            for row, (output, again) in zip(pending, found, strict=True):
                outputs[row.number] = output
                if again is None:
                    self.watcher.ended(row.number)
                else:
                    failed.append(row._replace(messages=again))
            pending = failed
            yield
            if not pending:
                break
        for row in pending:
            self.watcher.ended(row.number)
        self.clock.stop()
        return [outputs[row.number] for row in self.rows]

    def _round(self, rows: Sequence[RemoteRow], attempt: int) -> list[Ended]:
        """Ask for some rows at the same time."""
        with self.clock.stage("model"):
            if len(rows) == 1:
                return [self._answered(rows[0], attempt)]
            with ThreadPoolExecutor(min(len(rows), self.model.at_once)) as pool:
                return list(pool.map(partial(self._answered, attempt=attempt), rows))

    def _answered(self, row: RemoteRow, attempt: int) -> Ended:
        written = Written(is_tool_use(row.wanted.constraint))
        with self.model.asking():
            written.add(*_plain(self._ask(messages=row.messages, model=self.facts.name, extra_body=row.body)))
        return self._finished(row, written, attempt)

    def stream(self) -> Stream[Any]:
        """The pieces of the only row."""
        (row,) = self.rows
        written = Written(is_tool_use(row.wanted.constraint))
        return Stream(lambda _: self._pieces(row, written), row.wanted.constraint, None, self._ids(row, written))

    def _pieces(self, row: RemoteRow, written: Written) -> Generator[str, None, Generation[Any]]:
        """The text as it comes; what an object packs comes at the end, unpacked."""
        body = {**row.body, "stream_options": {"include_usage": True}}
        packed = row.wanted.sent.packed is not None
        with (
            self.model.asking(),
            self._ask(messages=row.messages, model=self.facts.name, stream=True, extra_body=body) as chunks,
        ):
            for chunk in chunks:
                if (piece := written.add(*_plain(chunk))) and not packed:
                    yield piece
            if not written.finish:
                raise ValueError("the stream ends before the answer does")
        output, _ = self._finished(row, written, 0)
        if packed and output.text:
            yield output.text
        self.clock.stop()
        return output

    def _finished(self, row: RemoteRow, written: Written, attempt: int) -> Ended:
        stats = Stats(tokens=written.tokens, retries=attempt, attempts=1 + attempt, seed=self.seed)
        stats.method = f"{self.facts.server.name}: {row.wanted.sent.said or 'free text'}"
        stats.cuts = "all: the server chooses tokens"
        stats.stop, stats.seconds = str(written.stop), self.clock.seconds
        text, message = written.text, None
        if is_tool_use(row.wanted.constraint):
            message = row.wanted.constraint.read(text, self._ids(row, written))
        elif written.thoughts:
            message = Message(text, written.thoughts)
        output: Generation[Any] = Generation(text, [], None, math.nan, 0.0, "stop", stats, message=message)
        output.report = self._report(row)
        if written.refusal or written.finish == "content_filter":
            declined = f"the model declines: {written.refusal}" if written.refusal else "the server withholds the text"
            return replace(output, finish_reason="dead_end", log_weight=-math.inf, fault=declined), None
        if written.finish == "length":
            return replace(output, finish_reason="length"), None
        try:
            output.text = row.wanted.unpacked(text)
            output.value, output.fault = row.wanted.judged(output.text, message)
        except (ValueError, RecursionError) as error:
            output.fault = f"the answer is not of the form that was asked for: {error!s:.200}"
        if output.fault is None:
            captures = [] if row.wanted.constraint is None else row.wanted.constraint.captures(output.text)
            return replace(output, captures=captures), None
        reason = AGAIN.format(output.fault[:MOST])
        again = [{"role": "assistant", "content": text or "(nothing)"}, {"role": "user", "content": reason}]
        return replace(output, finish_reason="dead_end", log_weight=-math.inf), [*row.messages, *again]

    def _ids(self, row: RemoteRow, written: Written) -> Callable[[int], str]:
        """The ids of calls, by their numbers: the server's, or one of ours."""

        def named(number: int) -> str:
            own = written.ids[number] if number < len(written.ids) else ""
            return own or f"call_{hashlib.sha256(f'{self.seed} {row.number} {number}'.encode()).hexdigest()[:16]}"

        return named

    def report(self) -> list[ReportLine]:
        """Tell what of the only row is left to the server, and what is checked."""
        (row,) = self.rows
        return self._report(row)

    def _report(self, row: RemoteRow) -> list[ReportLine]:
        wanted, server = row.wanted, self.facts.server
        lines = list[ReportLine]()
        if wanted.sent.said:
            told = f"{server.name} writes what it reads of it; the finished text is checked here"
            told += "; the schema is outside of its strict subset" * wanted.sent.loose
            lines.append(ReportLine(wanted.sent.said, "request", "trusted", told))
        elif wanted.constraint is not None:
            lines.append(ReportLine("(constraint)", "request", "residual", "the server is not told"))
        if wanted.arguments is None and wanted.constraint is not None:
            checked = {"enforced": "residual"}
            lines += [each._replace(status=checked.get(each.status, each.status)) for each in wanted.constraint.report]
        named = ", ".join(name for name in row.body if name not in wanted.sent.fields)
        lines.append(ReportLine(named, "request", "trusted", "nothing here sees what becomes of it"))
        return [*lines, ReportLine("(defaults)", "request", "trusted", server.stays)] if server.stays else lines


def _plain(answer: Any) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """(choices, usage) of an answer or a chunk, as plain data. Raises ValueError: it is none of the protocol."""
    found = {} if isinstance(answer, str) else answer.model_dump(warnings=False)
    if not isinstance(found.get("choices"), list):
        raise ValueError(f"no chat completion, but {answer!r:.120}")
    return found["choices"], found.get("usage") or {}


def messages_of(content: Any, name: str) -> list[dict[str, Any]]:
    """A prompt as messages of OpenAI's protocol: calls have their arguments as text. Raises ConstrainError."""
    if isinstance(content, str):
        return [{"role": "user", "content": content}]
    if isinstance(content, Mapping) or not isinstance(content[0], Mapping):
        raise ConstrainError(
            f"{name} is made of tokens, and a server reads texts", place="prompt", fix="pass a text or chat messages"
        )
    found = []
    for message in content:
        kept = {key: value for key, value in message.items() if key != "reasoning_content"}
        if kept.get("tool_calls"):
            kept["tool_calls"] = [_call_of(call) for call in kept["tool_calls"]]
        found.append(kept)
    return found


def _call_of(call: Mapping[str, Any]) -> dict[str, Any]:
    function = dict(call.get("function", call))
    if not isinstance(function["arguments"], str):
        function["arguments"] = json.dumps(function["arguments"], ensure_ascii=False)
    named = {name: function[name] for name in ("name", "arguments")}
    return {"id": call.get("id", ""), "type": "function", "function": named}


def _refuse(request: Request, server: Server) -> None:
    """Refuse what a server cannot do. Raises ConstrainError with what to do instead."""
    here = "load the model in this process"
    prompts = request.prompts.given
    refused = {
        f"method={traits_of(request.method).name!r}": (request.method is not lcd, f"leave it out, or {here}"),
        "draft": (request.draft not in (None, False), "leave it out: drafts are an option of the server itself"),
        "processors": (bool(request.processors), f"leave them out, or {here}"),
        "tokenizer": (request.tokenizer is not None, "leave it out: the server has its own"),
        "canonical=True": (request.canonical is True, f"leave it out, or {here}"),
        "complete=True": (bool(request.complete), "leave it out, and raise max_tokens: what is cut off is 'length'"),
        "at_least": (any(length.at_least for length in request.lengths), "say in the prompt how long the text is"),
        "top_k": (request.settings.top_k is not None and not server.top_k, f"use top_p, or {here}"),
        "healing": (request.heals, f"leave it out, or {here}"),
        "prefix and suffix": (any(prompt.is_between for prompt in prompts), f"leave them out, or {here}"),
        "images": (request.sees, 'pass messages with parts: {"type": "image_url", "image_url": {"url": ...}}'),
    }
    for name, (is_asked, fix) in refused.items():
        if is_asked:
            raise ConstrainError(
                f"a server of the kind {server.name!r} gives texts and no logits, so {name} cannot be had",
                place=name.partition("=")[0],
                fix=fix,
            )
