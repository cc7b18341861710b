"""The check of a finished text, for conditions that the grammar cannot remember: repeated keys and the residuals.

Repeated keys are found while parsing. The residuals (`Document.residuals`: equal items, odd multiples, some formats)
are decided on the value (`member.py`), only for schemas that have any. Numbers are integers and decimals, never floats.
"""

from __future__ import annotations

import json
from decimal import Decimal, InvalidOperation
from typing import Any

from constrain.schema.check.member import Membership
from constrain.schema.normalize.normalizer import Normalizer
from constrain.schema.sets.json_types import Json, JsonObject

PYTHONS_LIMIT = 640  # digits that `int` reads whatever sys.set_int_max_str_digits says
MAX_INTEGER = 50_000  # digits of an integer; so many take 0.1 s


class RepeatedKey(Exception):
    """A key occurs twice in one object."""


def _object(pairs: list[tuple[str, Any]]) -> JsonObject:
    """The object of some members. Raises `RepeatedKey`."""
    members = dict(pairs)
    if len(members) < len(pairs):
        names = [name for name, _ in pairs]
        raise RepeatedKey(next(name for name in names if names.count(name) > 1))
    return members


def _decimal(text: str) -> Decimal:
    try:
        return Decimal(text)
    except InvalidOperation:
        raise ValueError(f"the exponent of {text[:40]} has too many digits") from None


def _integer(text: str) -> int:
    """An integer of any number of digits up to `MAX_INTEGER`; Python's own limit is below what texts have."""
    if len(text) <= PYTHONS_LIMIT:
        return int(text)
    if len(text) > MAX_INTEGER:
        raise ValueError(f"the integer {text[:40]}... has more than {MAX_INTEGER} digits")
    return int(Decimal(text))


def read_exactly(text: str) -> Json:
    """Parse JSON with numbers as integers and decimals. Raises ValueError, `RepeatedKey`."""
    value: Json = json.loads(text, parse_float=_decimal, parse_int=_integer, object_pairs_hook=_object)
    return value


def check_text(text: str, normalizer: Normalizer) -> str | None:
    """None if the text passes, else one sentence."""
    has_residuals = bool(normalizer.document.residuals)
    try:
        parse_float = _decimal if has_residuals else None
        value = json.loads(text, parse_float=parse_float, parse_int=_integer, object_pairs_hook=_object)
    except RepeatedKey as repeated:
        return f"the key {str(repeated)!r} occurs twice in one object"
    except ValueError as error:
        return f"not JSON: {error}"
    if not has_residuals:
        return None
    root = normalizer.document.root
    membership = Membership(normalizer)
    return None if membership.is_member(value, root) else membership.explain(value, root)
