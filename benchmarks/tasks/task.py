"""A task: a question, a constraint on its answer, and how an answer is read and judged.

Each kind of answer has a class. `read` finds the answer in a text: where nothing constrained the text it looks kindly,
past words before and behind, for a valid one; `fault` says why an answer is not valid; `score` whether it is right.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from jsonschema import Draft202012Validator

import constrain


class Score(NamedTuple):
    """right; why not, ""; how many of how many parts are right."""

    right: bool
    why: str = ""
    parts: tuple[int, int] = (0, 0)


@dataclass(frozen=True)
class Task:
    """name: its kind, a blank, its row. told: what the system message says. shots: questions with their answers.

    judge: of a valid answer. tokens: the most that an answer may take.
    goes_on: more may stand behind an answer, so it is read in the same way whether or not the text has ended.
    """

    name: str
    told: str
    question: str
    judge: Callable[[Any], Score]
    shots: tuple[tuple[str, str], ...] = ()
    tokens: int = 96
    form: ClassVar[str] = ""
    again: ClassVar[str] = "Answer again, with nothing else."
    goes_on: ClassVar[bool] = False

    @property
    def kind(self) -> str:
        """The first word of the name."""
        return self.name.split()[0]

    def prompt(self, chat: bool, more: Sequence[dict[str, str]] = ()) -> Any:
        """The prompt, as messages or as a text. more: messages after the question."""
        turns = [("user", self.question), *((each["role"], each["content"]) for each in more)]
        shown = [turn for asked, answer in self.shots for turn in (("user", asked), ("assistant", answer))]
        if chat:
            told = [("system", self.told)] if self.told else []
            return [{"role": role, "content": content} for role, content in (*told, *shown, *turns)]
        lines = [f"{'Question' if role == 'user' else 'Answer'}: {content}" for role, content in (*shown, *turns)]
        return "\n\n".join([*([self.told] if self.told else []), *lines, "Answer:"])

    def read(self, text: str, free: bool) -> Any:
        """The answer in a finished text, or in a free one however it ends; None: there is none."""
        raise NotImplementedError

    def fault(self, value: Any) -> str | None:
        """The reason that an answer is not valid; None: it is."""
        raise NotImplementedError


@dataclass(frozen=True)
class JsonTask(Task):
    """The answer is JSON. wanted: a schema, or a model class."""

    wanted: Any = None
    form: ClassVar[str] = "json"
    again: ClassVar[str] = "Answer again, with JSON only."

    @property
    def schema(self) -> Any:
        """The JSON Schema of what is wanted."""
        return self.wanted.model_json_schema() if isinstance(self.wanted, type) else self.wanted

    @property
    def closed(self) -> Any:
        """The schema with declared properties only, which engines get that do not close objects by themselves."""
        return constrain.json_schema(self.schema, undeclared="refuse").schema

    def read(self, text: str, free: bool) -> Any:
        if not free:
            return json.loads(text)
        found = list(values(text, {"integer": "-0123456789", "array": "["}.get(self.schema.get("type"), "{")))
        return next((value for value in found if self.fault(value) is None), found[0] if found else None)

    def fault(self, value: Any) -> str | None:
        error = next(iter(Draft202012Validator(self.closed).iter_errors(value)), None)
        if error is not None:
            return f"{error.json_path}: {error.message}"
        if isinstance(self.wanted, type):
            try:
                self.wanted.model_validate_json(json.dumps(value))
            except ValueError as refused:
                return " ".join(str(refused).split())
        return None


def values(text: str, begins: str) -> Iterator[Any]:
    """The JSON values in a text, one behind the other. begins: the characters that they may begin with."""
    place = 0
    while place < len(text):
        if text[place] in begins:
            try:
                value, place = json.JSONDecoder().raw_decode(text, place)
            except (ValueError, RecursionError):
                place += 1
            else:
                yield value
        else:
            place += 1


@dataclass(frozen=True)
class ChoiceTask(Task):
    """The answer is one of some texts."""

    choices: tuple[str, ...] = ()
    form: ClassVar[str] = "choice"

    def read(self, text: str, free: bool) -> Any:
        if not free or text.strip() in self.choices:
            return text.strip()
        longest_first = sorted(self.choices, key=len, reverse=True)
        words = "|".join(re.escape(each) for each in longest_first)
        found = re.search(rf"(?<!\w)({words})(?!\w)", text) or re.search(
            rf"(?<!\w)({words})(?!\w)", text, re.IGNORECASE
        )
        return None if found is None else next(each for each in longest_first if each.lower() == found[1].lower())

    def fault(self, value: Any) -> str | None:
        return None if value in self.choices else f"{value!r} is no choice"


def exactly(answer: Any) -> Callable[[Any], Score]:
    """The judge that takes one answer."""
    return lambda value: Score(value == answer, "" if value == answer else f"not {answer!r}")
