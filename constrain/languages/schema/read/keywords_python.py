"""`x-python`: the string is the text of a value of a Python type. No keyword of the specification.

    {"x-python": {"type": "date", "ge": "2020-01-01"}}             dates from then on
    {"x-python": {"later": ["the function check of Order"]}}       what is only asked of a finished text

`read/types.py` writes it where pydantic's schema says less than the type. It is a language of strings like that of
`pattern` (`formats/python.py`), so it goes with `minLength`, `not` and all others, and a mask enforces it.
"""

from __future__ import annotations

from typing import Any

from constrain.errors import RegexError
from constrain.languages.automata.syntax import EMPTY, Node
from constrain.languages.schema.read.reading import SubschemaReading
from constrain.languages.schema.sets.json_types import Json, JsonObject

MAX_STRINGS = 2  # of JSON in a string of JSON in a string of JSON
_DEPTH = "(strings)"


def names_type(raw: JsonObject) -> bool:
    """True if a schema says which Python type a string is a text of, so that its `format` is no more than a name."""
    known = raw.get("x-python")
    return isinstance(known, dict) and "type" in known


def xPython(reading: SubschemaReading, value: Json) -> None:
    """A type of Python and its bounds, and what nobody knows before a text is finished."""

    def fault(message: str, fix: str) -> Exception:
        return reading.site.error(f"x-python: {message}", fix, "x-python")

    options: Any = value
    if not isinstance(options, dict):
        raise fault(f"{value!r:.60} names no type", 'write {"type": "date"}')
    later = options.get("later", [])
    if not isinstance(later, list) or not all(isinstance(each, str) for each in later):
        raise fault(f"later is a list of texts, not {later!r:.60}", "leave it out")
    if later:
        note = f"checked when the text is finished: {', '.join(later)}"
        reading.document.residuals.append((reading.site, "x-python", note))
    given = {name: option for name, option in options.items() if name != "later"}
    if not given:
        return
    if given == {"type": "Json"}:
        reading.texts.append(_json_texts(reading))
        return
    from constrain.languages.schema.formats.python import TYPES, language_of

    if given.get("type") not in TYPES:
        raise fault(f"there is no type {given.get('type')!r:.60}", f"use {', '.join(TYPES)}")
    try:
        reading.texts.append(language_of(given))
    except RegexError as error:
        raise fault(error.message, error.fix or "write another pattern") from error
    except (ValueError, TypeError, ArithmeticError) as error:
        raise fault(str(error), "write bounds as pydantic writes them") from None


def _json_texts(reading: SubschemaReading) -> Node:
    """The texts of `contentSchema`. Raises SchemaError, LimitError."""
    from constrain.languages.schema.api import json_schema
    from constrain.languages.schema.write.json_layout import JsonLayout
    from constrain.languages.schema.write.regular import regular

    root = reading.document.root_site.raw
    depth = root.get(_DEPTH, 0) if isinstance(root, dict) else 0
    if depth >= MAX_STRINGS:
        return EMPTY
    defined = {"$defs": root["$defs"]} if isinstance(root, dict) and "$defs" in root else {}
    content = {**defined, _DEPTH: depth + 1, "allOf": [reading.raw.get("contentSchema", {})]}
    layout = JsonLayout(item_separator=", ?", key_separator=": ?")
    inner = json_schema(content, whitespace=layout, undeclared="avoid")
    reading.document.residuals += [(reading.site, "x-python", note) for _, note in inner.untold]
    return regular(inner.to_grammar().start)
