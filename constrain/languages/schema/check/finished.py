"""The check of a finished text, for conditions that the grammar cannot remember: repeated keys and the residuals.

Repeated keys are found while parsing. The residuals (`Document.residuals`: equal items, odd multiples, some formats)
are decided on the value (`member.py`), only for schemas that have any. Numbers are integers and decimals, never floats.
"""

from __future__ import annotations

import json
from decimal import Decimal, InvalidOperation
from typing import Any

from constrain.errors import LimitError
from constrain.languages.schema.check.member import Membership
from constrain.languages.schema.normalize.normalizer import Normalizer
from constrain.languages.schema.sets.json_types import Json, JsonObject

MAX_DIGITS = 4000  # of an integer; Python reads up to 4,300
SHALLOW = "ask for fewer levels: references that lead back to themselves allow any number"


class RepeatedKey(Exception):
    """A key occurs twice in one object."""


def _object(pairs: list[tuple[str, Any]]) -> JsonObject:
    """The object of some members. Raises `RepeatedKey`."""
    members = dict(pairs)
    if len(members) < len(pairs):
        names = [name for name, _ in pairs]
        raise RepeatedKey(next(name for name in names if names.count(name) > 1))
    return members


def decimal_of(text: str) -> Decimal:
    """A number, exactly. Raises ValueError: its exponent has too many digits."""
    try:
        return Decimal(text)
    except InvalidOperation:
        raise ValueError(f"the exponent of {text[:40]} has too many digits") from None


def integer_of(text: str) -> Any:
    """An integer; one of many digits as a decimal, since Python reads no more than 4,300 as an integer."""
    return int(text) if len(text) <= MAX_DIGITS else Decimal(text)


def read_exactly(text: str) -> Json:
    """Parse JSON with numbers as integers and decimals. Raises ValueError, `RepeatedKey`."""
    value: Json = json.loads(text, parse_int=integer_of, parse_float=decimal_of, object_pairs_hook=_object)
    return value


def check_text(text: str, normalizer: Normalizer) -> str | None:
    """None if the text passes, else one sentence."""
    has_residuals = bool(normalizer.document.residuals)
    integer = integer_of if len(text) > MAX_DIGITS else None
    number = decimal_of if has_residuals else None
    try:
        value = json.loads(text, parse_int=integer, parse_float=number, object_pairs_hook=_object)
    except RepeatedKey as repeated:
        return f"the key {str(repeated)!r} occurs twice in one object"
    except RecursionError:
        raise LimitError("the text is nested too deeply to be checked", fix=SHALLOW) from None
    except ValueError as error:
        return f"not JSON: {error}"
    if not has_residuals:
        return None
    root = normalizer.document.root
    membership = Membership(normalizer)
    return None if membership.is_member(value, root) else membership.explain(value, root)
