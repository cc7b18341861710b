"""Choose the reader of the texts of a constraint."""

from __future__ import annotations

import inspect
from typing import Any

from constrain.chat.streaming.json_values import JsonValues
from constrain.chat.streaming.typed import TypedValues
from constrain.errors import ConstrainError
from constrain.languages.schema import JsonSchema


def reader_of(constraint: Any) -> JsonValues:
    """A reader of the JSON texts of a constraint. Raises ConstrainError: its texts are no JSON."""
    if not isinstance(constraint, JsonSchema):
        raise ConstrainError(
            f"the text is no JSON that could be read while it is written: {constraint!r:.80}",
            fix="pass schema= or type=; the pieces of the text come by iterating over the stream",
        )
    return JsonValues()


def typed_of(constraint: JsonSchema) -> TypedValues[Any] | None:
    """The reader that fills an instance of the type of a schema; None: it was made from no type, or a function."""
    if constraint.parse_with is None or inspect.isroutine(constraint.given):
        return None
    return TypedValues(constraint.given)
