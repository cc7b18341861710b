"""JSON values in schemas (`const`, `enum`) as sets.

Numbers are equal by value (1 and 1.0); booleans are not numbers; objects are equal whatever the order of their keys
(JSON Schema Core 2020-12, section 4.2.2), but are written in the order of the schema.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from constrain.errors import SchemaError
from constrain.languages.automata.syntax import ANY_TEXT, EMPTY, literals
from constrain.languages.schema.sets.algebra import FALSE, NOTHING, ArrayBox, Conj, NormalForm, ObjectBox
from constrain.languages.schema.sets.numbers import NumberBox, Rational, exact, is_number
from constrain.limits import tick


class ValueAtom(NamedTuple):
    """An atom that holds one JSON value."""

    value: Any


def value_key(value: Any) -> Any:
    """A hashable key of a JSON value: equal keys mean equal values, and the same order of keys in objects."""
    if value is None or isinstance(value, (bool, str)):
        return (type(value).__name__, value)
    if is_number(value):
        return ("number", exact(value))
    if isinstance(value, (list, tuple)):
        return ("array", tuple(map(value_key, value)))
    return ("object", tuple((key, value_key(item)) for key, item in value.items()))


def is_encodable(text: str) -> bool:
    """True if UTF-8 can spell the text; it cannot spell half of a surrogate pair."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _encodable(text: object) -> str:
    if not isinstance(text, str) or not is_encodable(text):
        raise SchemaError(f"{text!r} is not a text of whole characters", fix="write texts, with whole surrogate pairs")
    return text


def set_of_values(values: Iterable[Any], constant: Callable[[Any], Conj]) -> NormalForm:
    """The set of some values. `constant` returns the conjunction of each value inside an array or object.

    Numbers without a point are called integers: serializers write them so, whatever their type is called.
    """
    null, booleans, texts = False, set(), []
    integers: set[Rational] = set()
    points: set[Rational] = set()
    arrays: list[ArrayBox] = []
    objects: list[ObjectBox] = []
    for value in values:
        if value is None:
            null = True
        elif isinstance(value, bool):
            booleans.add(value)
        elif isinstance(value, str):
            texts.append(_encodable(value))
        elif is_number(value):
            (integers if isinstance(value, int) else points).add(exact(value))
        elif isinstance(value, (list, tuple)):
            tick(len(value))
            items = tuple(map(constant, value))
            arrays.append(ArrayBox(items, FALSE, len(items), len(items)))
        else:
            tick(len(value))
            named = tuple((_encodable(key), constant(item)) for key, item in value.items())
            objects.append(ObjectBox(named, tuple(value), ((ANY_TEXT, FALSE),)))
    return NOTHING._replace(
        null=null,
        booleans=frozenset(booleans),
        numbers=(
            *((NumberBox(points=frozenset(integers), steps=frozenset((1,))),) if integers else ()),
            *((NumberBox(points=frozenset(points - integers)),) if points - integers else ()),
        ),
        strings=literals(texts) if texts else EMPTY,
        arrays=tuple(arrays),
        objects=tuple(objects),
    )
