"""The answers of `map`: what each input got, on one screen, and as a frame."""

from __future__ import annotations

import json
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from itertools import islice
from typing import Any, Generic, overload

from constrain.errors import ConstrainError
from constrain.extras import require
from constrain.generation.plain import json_text, one_line
from constrain.generation.request.signature import T
from constrain.reports.display.html import table_html

SHOWN = 10  # answers that are printed


@dataclass(frozen=True)
class Answer(Generic[T]):
    """The output of one input, or its error.

    Attributes:
        index: The place of the input, from 0.
        text: The output; None if there was an error.
        value: As in `Generation`.
        finish_reason: As in `Generation`; "error" if there was one.
        logprob: As in `Generation`.
        log_weight: As in `Generation`.
        fault: What a residual check said, if it failed.
        error: What went wrong with this input: kind and message.
        confidence: Of a complete JSON object, how sure the model was of each member (`Generation.confidence`).

    Example:
        >>> import constrain
        >>> (answer,) = constrain.map(constrain.reference.load(), ["Yes? "], choices=["yes", "no"])
        >>> answer.index, answer.finish_reason, answer.error
        (0, 'stop', None)
    """

    index: int
    text: str | None = None
    value: T | None = None
    finish_reason: str = "error"
    logprob: float | None = None
    log_weight: float | None = None
    fault: str | None = None
    error: str | None = None
    confidence: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True, repr=False)
class Answers(Sequence[Answer[T]]):
    """The answers of `map`, in the order of the inputs.

    Attributes:
        inputs: As they were given.
        answers: One for each.

    Example:
        >>> import constrain
        >>> found = constrain.map(constrain.reference.load(), ["A: ", "B: "], choices=["yes", "no"], seed=1)
        >>> len(found), found.errors
        (2, [])
    """

    inputs: Any
    answers: list[Answer[T]]

    @overload
    def __getitem__(self, place: int) -> Answer[T]: ...
    @overload
    def __getitem__(self, place: slice) -> list[Answer[T]]: ...
    def __getitem__(self, place: Any) -> Any:
        return self.answers[place]

    def __len__(self) -> int:
        return len(self.answers)

    def __repr__(self) -> str:
        rows = [f"  {index}  {reason}  {shown}" for index, reason, shown in self._shown()]
        return "\n".join([f"<{self._said()}>", *rows, *(["  …"] if len(self) > SHOWN else [])])

    def _repr_html_(self) -> str:
        return table_html(self._shown(), self._said())

    def _said(self) -> str:
        counts = Counter(answer.finish_reason for answer in self.answers)
        return ", ".join([f"{len(self)} Answers", *(f"{count} {reason}" for reason, count in counts.most_common())])

    def _shown(self) -> list[tuple[str, str, str]]:
        """Of the first ones: the place, how it ended, and the value, the text, or what went wrong."""
        shown = []
        for answer in self.answers[:SHOWN]:
            value = answer.text if answer.value is None else answer.value
            said = answer.error if answer.error is not None else one_line(value, 80)
            shown.append((str(answer.index), answer.finish_reason, str(said)))
        return shown

    @property
    def values(self) -> list[T | None]:
        """The value of each; None where there is none."""
        return [answer.value for answer in self.answers]

    @property
    def errors(self) -> list[Answer[T]]:
        """The documents without an output."""
        return [answer for answer in self.answers if answer.error is not None]

    def frame(self, spread: bool = False) -> Any:
        """A frame: the columns of the input, and those of the answers after them.

        A column of the input whose name is also one of an answer, such as `text`, is renamed to `input_` and its name,
        and a warning says so.

        Args:
            spread: Give each field of the values a column of its own, `value.age`, `value.address.city`, in place of
                `value`, lists as JSON has them; and one for its confidence, `confidence.age`, if any is known. Where a
                value has no such field, or there is none, the cell is None.

        Returns:
            A frame of polars if the inputs were one, else one of pandas.

        Raises:
            MissingExtraError: pandas is not installed.
            ConstrainError: `spread`, and a value has no fields.

        Example:
            >>> import constrain
            >>> person = {"enum": [{"name": "Ada", "age": 36}]}
            >>> answers = constrain.map(constrain.reference.load(), ["Who? "], schema=person)
            >>> list(answers.frame(spread=True).columns)[:4]
            ['input', 'text', 'value.name', 'value.age']
        """
        columns: dict[str, list[Any]] = {}
        for name in (each.name for each in fields(Answer) if each.name not in ("index", "confidence")):
            column = [getattr(answer, name) for answer in self.answers]
            columns |= _fields_of(column) if spread and name == "value" else {name: column}
        if spread:
            columns |= _fields_of([answer.confidence for answer in self.answers], "confidence")
        if is_frame(self.inputs, "polars"):
            import polars

            frame = self.inputs.rename(_renamed(self.inputs.columns, columns))
            own = {name: polars.Series(name, _plain(column), strict=False) for name, column in columns.items()}
            return frame.with_columns(**own)
        require("frames", "a frame")
        import pandas

        frame = self.inputs if is_frame(self.inputs, "pandas") else pandas.DataFrame(_as_rows(self.inputs, self))
        frame = frame.rename(columns=_renamed(frame.columns, columns))
        return frame.assign(**{name: pandas.Series(column, index=frame.index) for name, column in columns.items()})


def is_frame(inputs: Any, library: str) -> bool:
    return type(inputs).__name__ == "DataFrame" and type(inputs).__module__.split(".")[0] == library


def rows_of(inputs: Any) -> Iterable[Any]:
    """The inputs one by one; rows of frames as mappings."""
    if is_frame(inputs, "pandas"):
        return inputs.to_dict("records")
    if is_frame(inputs, "polars"):
        return inputs.iter_rows(named=True)
    if isinstance(inputs, (str, bytes, Mapping)) or not isinstance(inputs, Iterable):
        raise ConstrainError(
            f"inputs must be several prompts or rows, not {type(inputs).__name__}", fix="call generate for one prompt"
        )
    return inputs


def _as_rows(inputs: Any, answers: Sequence[Answer]) -> list[Mapping[str, Any]]:
    rows = list(islice(rows_of(inputs), len(answers)))
    return [row if isinstance(row, Mapping) else {"input": row} for row in rows]


def _fields_of(values: Sequence[Any], column: str = "value") -> dict[str, list[Any]]:
    """A column for each field of some values, and of what is in it. Raises ConstrainError: a value has no fields."""
    for value in values:
        if value is not None and _named(value) is None:
            raise ConstrainError(
                f"spread needs values with fields, not {value!r:.60}", place="spread", fix="leave it out: .frame()"
            )
    rows = [dict(_leaves(value, column)) for value in values]
    names = dict.fromkeys(name for row in rows for name in row)
    found = {name: [row.get(name) for row in rows] for name in names}
    within = {name[:place] for name in names for place, letter in enumerate(name) if letter == "."}
    return {
        name: cells for name, cells in found.items() if name not in within or any(each is not None for each in cells)
    }


def _leaves(value: Any, name: str) -> Iterator[tuple[str, Any]]:
    """The values that have no fields of their own, by their path; lists as JSON has them."""
    inner = _named(value)
    if inner:
        for key, each in inner.items():
            yield from _leaves(each, f"{name}.{key}")
    else:
        yield name, json.loads(json_text(value)) if isinstance(value, list) else value


def _named(value: Any) -> Mapping[str, Any] | None:
    """The fields of a value by name: of a model, a dataclass or an object of JSON; None: it has none."""
    if isinstance(value, Mapping):
        return value
    if is_dataclass(value):
        return {each.name: getattr(value, each.name) for each in fields(value)}
    return dict(value) if hasattr(type(value), "model_fields") else None


def _renamed(names: Iterable[str], columns: Mapping[str, Any]) -> dict[str, str]:
    """New names of the columns of an input whose names are those of answers; a warning says so."""
    found = {name: f"input_{name}" for name in names if name in columns}
    if found:
        said = ", ".join(f"{name!r} becomes {new!r}" for name, new in found.items())
        warnings.warn(f"columns of the input have names of answers: in the frame {said}", stacklevel=3)
    return found


def _plain(column: list[Any]) -> list[Any]:
    """Values that polars can hold: JSON."""
    return [json.loads(json_text(value)) for value in column]
