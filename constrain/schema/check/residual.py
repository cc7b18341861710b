"""The check of a finished text: what the grammar cannot remember — repeated keys, equal items, odd multiples.

Repeated keys are found while parsing. The other residuals are asked of the value (`member.py`), and only for schemas
that have any. Numbers are integers and decimals, never floats.
"""

from __future__ import annotations

import json
from decimal import Decimal, InvalidOperation
from typing import Any

from constrain.schema.check.member import Membership
from constrain.schema.normalize.normalizer import Normalizer


class _Repeated(Exception):
    """A key occurs twice in one object."""


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        raise _Repeated(next(name for name in names if names.count(name) > 1))
    return found


def _decimal(text: str) -> Decimal:
    try:
        return Decimal(text)
    except InvalidOperation:
        raise ValueError(f"the exponent of {text[:40]} has too many digits") from None


def read_exactly(text: str) -> Any:
    """Parse JSON with numbers as integers and decimals. Raises ValueError, `_Repeated`."""
    return json.loads(text, parse_float=_decimal, object_pairs_hook=_pairs)


def check_text(text: str, normalizer: Normalizer) -> str | None:
    """None if the text passes, else one sentence."""
    deep = bool(normalizer.document.residuals)
    try:
        value = json.loads(text, parse_float=_decimal if deep else None, object_pairs_hook=_pairs)
    except _Repeated as repeated:
        return f"the key {str(repeated)!r} occurs twice in one object"
    except ValueError as error:
        return f"not JSON: {error}"
    root = normalizer.document.root
    if not deep:
        return None
    asked = Membership(normalizer)
    return None if asked.member(value, root) else asked.fault(value, root)
