"""Values as plain data: what JSON has, and one line for people."""

from __future__ import annotations

import json
import math
from typing import Any

from pydantic_core import to_jsonable_python

from constrain.languages.automata.unicode.intervals import has_lone_surrogate


def jsonable(value: Any) -> Any:
    """A value as JSON has it: models and dataclasses by their fields, an Enum by its value, infinities as None."""
    return _finite(to_jsonable_python(value, serialize_unknown=True, bytes_mode="base64"))


def json_text(value: Any) -> str:
    """A value as JSON text, which is UTF-8: half a surrogate pair is written as an escape."""
    plain = jsonable(value)
    text = json.dumps(plain, ensure_ascii=False)
    return text if text.isascii() or not has_lone_surrogate(text) else json.dumps(plain)


def one_line(value: Any, most: int) -> str:
    """The repr of a value, in one line of at most so many characters."""
    shown = " ".join(repr(value).split())
    return shown if len(shown) <= most else shown[: most - 1] + "…"


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {name: _finite(inner) for name, inner in value.items()}
    return [_finite(inner) for inner in value] if isinstance(value, list) else value
