"""Reading a turn: a text in a model's format → content, thoughts and calls, in one go or piece by piece.

    reader = Reader(format, functions)
    for piece in pieces:
        for event in reader.feed(piece): ...
    message = reader.close()

The idea: a machine over the text that is not read yet. A state reads what it knows, and waits where more text could
decide otherwise: text that may begin a delimiter is held back. Calls are read as the format's template has them, with
any white space where the template has some and around JSON. So what the constraint allows is read back as it was meant,
and texts of models that ran without a constraint are read too.

Cost: linear in the text. Limit: special tokens stand in the text by their names (`Vocabulary.to_bytes(names=True)`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from typing import Any

from constrain.chat.calls.format import ARGUMENTS, NAME, Format
from constrain.chat.calls.functions import Function
from constrain.chat.calls.message import ArgumentsText, CallBegun, CallEnded, Content, Event, Message, Thought, ToolCall
from constrain.chat.calls.nested import reading_of
from constrain.chat.calls.values import JsonEnd, held

SHOWN = 30  # characters of the text in faults
FIELD_MOST = 64  # characters that a field may have
State = Callable[[], bool]  # reads what it can; False: it waits for more text


class Malformed(Exception):
    """The text does not go on as the format does."""


class Reader:
    """Reads one turn.

    Args:
        form: The format.
        functions: The tools; calls of others are read too, and their arguments are not validated.
        opened: The prompt has begun the thoughts.
        ids: Gives a call its id, by its number from 0, where the text gives none.

    Attributes:
        message: What was read so far.
        text: The text that is not read yet.
        at: The number of characters that were read.
    """

    def __init__(
        self,
        form: Format,
        functions: Sequence[Function] = (),
        *,
        opened: bool = False,
        ids: Callable[[int], str] | None = None,
    ) -> None:
        self.format = form
        self.ids = ids
        self.functions = {function.name: function for function in functions}
        self.message = Message()
        self.text = ""
        self.at = 0
        self._events: list[Event] = []
        self._closing = False
        self._state: State = self._begin
        self._names = re.compile(form.names)
        self._items: list[tuple[str, str]] = []
        self._content: list[str] = []
        self._thoughts: list[str] = []
        self._close = ""
        self._name, self._start = "", 0
        self._found: dict[str, str] = {}
        self._values: Any = {}
        self._pieces: list[str] = []
        if opened and form.thinking is not None:
            self._enter_thoughts()

    # -- pieces --------------------------------------------------------------------------------------------------------

    def feed(self, text: str) -> list[Event]:
        """Read more text.

        Args:
            text: The text that follows. It may end anywhere.

        Returns:
            What has become known by it.
        """
        self.text += text
        self._run()
        events, self._events = self._events, []
        return events

    def rest(self) -> list[Event]:
        """The events that the end of the text makes known: nothing follows what was fed."""
        self.close()
        events, self._events = self._events, []
        return events

    def close(self) -> Message:
        """The turn, when there is no more text.

        Returns:
            The message. Its `fault` says where the text ends too early or is not as the format has it.
        """
        self._closing = True
        for end in self.format.ends:
            self.text = self.text.removesuffix(end)
        self._run()
        if self.message.fault is not None:
            self.message.fault += f": {self.text[:SHOWN]!r}"
        elif self._state not in (self._begin, self._plain, self._delimited, self._further):
            self._fault("the text ends here")
        self.message.content = self._trimmed("".join(self._content))
        if self._thoughts or self.message.thinking is not None:
            self.message.thinking = "".join(self._thoughts).strip("\n")
        return self.message

    def _trimmed(self, content: str) -> str:
        if self.format.delimited:
            return content
        content = content.strip("\n") if self.message.thinking is not None or self._thoughts else content
        return content.rstrip("\n") if self.message.tool_calls else content

    def _run(self) -> None:
        if self.message.fault is not None:
            return
        try:
            while self._state():
                pass
        except Malformed as problem:
            self._fault(str(problem))
        except RecursionError:
            self._fault(f"the arguments of {self._name!r} are nested too deeply to be read")

    def _fault(self, problem: str) -> None:
        self.message.fault = f"{problem}, at character {self.at}"

    def _take(self, count: int) -> str:
        taken, self.text = self.text[:count], self.text[count:]
        self.at += count
        return taken

    def _skip_space(self) -> None:
        self._take(len(self.text) - len(self.text.lstrip()))

    def _meets(self, expected: str) -> bool | None:
        """True if the text goes on with another one; None: it may."""
        if self.text.startswith(expected):
            return True
        return None if expected.startswith(self.text) and not self._closing else False

    # -- thoughts and content ------------------------------------------------------------------------------------------

    def _begin(self) -> bool:
        """At the beginning, or after a marked part: find out which part follows."""
        form = self.format
        parts: list[tuple[str, State]] = []
        if form.thinking is not None and self.message.thinking is None:
            parts.append((form.thinking[0], self._enter_thoughts))
        if form.delimited:
            parts.append((form.answer[0], lambda: self._enter_delimited(form.answer[1])))
            if form.preamble is not None:
                preamble = form.preamble
                parts.append((preamble[0], lambda: self._enter_delimited(preamble[1])))
        parts += [(text, lambda: True) for text in (form.tail, form.unthought) if text]
        calls = [form.trigger, *(other.partition("$")[0].lstrip() for other in form.others)]
        parts += [(text, self._enter_calls) for text in calls]
        blank = len(self.text) - len(self.text.lstrip())
        undecided = False
        for opening, enter in parts:
            rest, opening = self.text[blank:], opening.lstrip()
            if rest.startswith(opening):
                self._take(blank)
                if opening in calls:
                    return self._enter_calls()
                self._take(len(opening))
                return enter()
            undecided = undecided or opening.startswith(rest)
        undecided = undecided or any(end.startswith(self.text[blank:]) for end in form.ends)
        if undecided and not self._closing:
            return False
        if form.delimited and self.text.strip():
            raise Malformed("the text begins with none of the delimiters of the format")
        self._state = self._plain
        return bool(self.text)

    def _enter_thoughts(self) -> bool:
        assert self.format.thinking is not None
        self.message.thinking = ""
        self._close = self.format.thinking[1]
        self._state = self._thinking
        return True

    def _thinking(self) -> bool:
        return self._until(self._close, self._begin, self._add_thought)

    def _enter_delimited(self, close: str) -> bool:
        self._close = close
        self._state = self._delimited
        return True

    def _delimited(self) -> bool:
        return self._until(self._close, self._begin, self._add_content)

    def _plain(self) -> bool:
        if self.format.instead:
            return self._until("", self._plain, self._add_content)
        return self._until(self.format.trigger, self._enter_calls, self._add_content, keep=True)

    def _add_thought(self, text: str) -> Event:
        self._thoughts.append(text)
        return Thought(text)

    def _add_content(self, text: str) -> Event:
        self._content.append(text)
        return Content(text)

    def _until(self, close: str, then: State, make: Callable[[str], Event], keep: bool = False) -> bool:
        """Read text up to a delimiter. keep: leave it."""
        end = self.text.find(close) if close else -1
        if end >= 0:
            if end:
                self._events.append(make(self._take(end)))
            if not keep:
                self._take(len(close))
            self._state = then
            return True
        taken = len(self.text) - self._held_back(close)
        if taken:
            self._events.append(make(self._take(taken)))
        return False

    def _held_back(self, close: str) -> int:
        """The length of the end of the text that may begin a delimiter, or end the turn."""
        if self._closing:
            return 0
        over = [len(end) if self.text.endswith(end) else held(self.text, end) for end in self.format.ends]
        return max(held(self.text, close), *over)

    # -- calls ---------------------------------------------------------------------------------------------------------

    def _enter_calls(self) -> bool:
        self._items = _items(self.format, self.format.begin)
        self._then: State = self._call
        self._state = self._template
        return True

    def _call(self) -> bool:
        """A call begins here."""
        self._skip_space()
        if not self.text and not self._closing:
            return False
        self._start, self._name, self._found = self.at, "", {}
        self._values = {}
        ways = (self.format.call, *self.format.others)
        begun = (one for one in ways if self.text.startswith(one.partition("$")[0].lstrip()))
        self._items = _items(self.format, next(begun, self.format.call))
        self._then = self._ended
        self._state = self._template
        return True

    def _template(self) -> bool:
        """Read the next item of the template."""
        if not self._items:
            self._state = self._then
            return True
        kind, value = self._items[0]
        done = {"space": self._space, "text": self._literal, "field": self._field}[kind](value)
        if done:
            del self._items[0]
        return done or self._state != self._template

    def _space(self, value: str) -> bool:
        self._skip_space()
        return bool(self.text) or self._closing

    def _literal(self, value: str) -> bool:
        meets = self._meets(value)
        if meets is None:
            return False
        if not meets:
            cut = self._closing and value.startswith(self.text)
            raise Malformed("the text ends here" if cut else f"{value!r} is expected")
        self._take(len(value))
        return True

    def _field(self, name: str) -> bool:
        if name == ARGUMENTS:
            self._begin_arguments()
            return False
        pattern = self._names if name == NAME else re.compile(self.format.fields[name])
        found = pattern.match(self.text)
        end = found.end() if found else 0
        following = next((value for kind, value in self._items[1:] if kind == "text"), "")
        goes_on = self.text[end:].lstrip().startswith(following) if following else True
        if not self._closing and not (found and goes_on and end < len(self.text)) and len(self.text) < FIELD_MOST:
            return False
        if found is None:
            raise Malformed(f"the {name} of a call is expected")
        self._take(end)
        value = (found[1] if pattern.groups else found[0]) or ""
        if name == NAME:
            self._name = value
            self._events.append(CallBegun(len(self.message.tool_calls), value))
        else:
            self._found[name] = value
        return True

    def _begin_arguments(self) -> None:
        del self._items[0]
        if self.format.parameters is None:
            self._end, self._pieces = JsonEnd(), []
            self._state = self._json
        else:
            self._reading = reading_of(self.format.parameters, self.functions.get(self._name))
            self._state = self._elements

    def _json(self) -> bool:
        count = self._end.feed(self.text)
        taken = self._take(len(self.text) if count < 0 else count)
        self._pieces.append(taken)
        if taken:
            self._events.append(ArgumentsText(len(self.message.tool_calls), taken))
        if count < 0:
            return False
        try:
            self._values = json.loads("".join(self._pieces))
        except ValueError as error:
            raise Malformed(f"the arguments of {self._name!r} are no JSON: {error}") from None
        if not isinstance(self._values, dict):
            raise Malformed(f"the arguments of {self._name!r} are no object")
        self._state = self._template
        return True

    def _elements(self) -> bool:
        """The reader of arguments that are written as elements."""
        blank = 0 if self._reading.inside else len(self.text) - len(self.text.lstrip())
        rest = self.text[blank:]
        if not self._reading.inside:
            following = next((value for kind, value in self._items if kind == "text"), "")
            if rest.startswith(following):
                self._values = self._reading.values
                self._state = self._template
                return True
            if following.startswith(rest) and not self._closing:
                return False
        inside = self._reading.inside
        try:
            count = self._reading.feed(rest)
        except ValueError as error:
            raise Malformed(f"the arguments of {self._name!r}: {error}") from None
        if count:
            self._events.append(ArgumentsText(len(self.message.tool_calls), self._take(blank + count)))
        if self._reading.problem:
            raise Malformed(f"the arguments of {self._name!r}: {self._reading.problem}")
        moved = count > 0 or self._reading.inside != inside
        if self._closing and not moved:
            raise Malformed(f"the arguments of {self._name!r} end early")
        return moved

    def _ended(self) -> bool:
        """A call is complete."""
        function = self.functions.get(self._name)
        arguments: Any = self._values
        if function is not None:
            try:
                arguments = function.validated(self._values)
            except ValueError as error:  # pydantic's ValidationError is one
                raise Malformed(f"the arguments of {self._name!r} are not valid: {error}") from None
        named = self.format.id
        for field, value in self._found.items():
            named = named.replace(f"${field}", value)
        named = named.replace(f"${NAME}", self._name)
        number = len(self.message.tool_calls)
        if not named and self.ids is not None:
            named = self.ids(number)
        target = function.target if function is not None else None
        call = ToolCall(self._name, arguments, self._values, named, (self._start, self.at), target)
        self._events.append(CallEnded(number, call))
        self.message.tool_calls.append(call)
        self._state = self._further
        return True

    def _further(self) -> bool:
        """After a call: another one, the end of the calls, or neither."""
        form = self.format
        rest = self.text.lstrip()
        if not rest and not self._closing:
            return False
        end, between = form.end.strip(), (form.between or "").strip()
        first = next(value for kind, value in _items(form, form.call) if kind == "text")
        if end and rest.startswith(end):
            self._skip_space()
            self._items, self._then = _items(form, form.end), self._after_calls
            self._state = self._template
            return True
        opening = between or first
        if form.between is not None and rest.startswith(opening):
            self._skip_space()
            self._take(len(between))
            self._state = self._call
            return True
        if not self._closing and any(text.startswith(rest) for text in (end, opening)):
            return False
        if end or rest:
            if end:
                raise Malformed(f"{end!r} or another call is expected")
            return self._after_calls()
        return False

    def _after_calls(self) -> bool:
        """Behind the last call."""
        self._state = self._plain if not self.format.delimited else self._begin
        self._skip_space()
        return bool(self.text)


def _items(form: Format, template: str) -> list[tuple[str, str]]:
    """The items of a template: ("text", a text without white space), ("space", ""), ("field", a name)."""
    items: list[tuple[str, str]] = []
    for piece, is_field in form.pieces(template):
        if is_field:
            items.append(("field", piece))
            if piece == ARGUMENTS:
                items.append(("space", ""))
            continue
        for text, is_token in form.split(piece):
            around = [("space", "")] if is_token else []
            parts = re.split(r"(\s+)", text)
            items += around
            items += [("space", "") if i % 2 else ("text", part) for i, part in enumerate(parts) if part]
            items += around
    while items and items[-1][0] == "space":  # what ends a template does not wait for more
        items.pop()
    return items
