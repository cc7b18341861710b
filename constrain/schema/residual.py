"""The check of a finished text: what the grammar cannot remember — repeated keys, equal items, odd multiples.

Numbers are compared exactly: those of the text and those of the schema are integers and decimals, never floats.
Repeated keys are found while parsing; the other residues need the whole schema, and are left to the `jsonschema`
package, which is asked only for schemas that have such residues.
"""

from __future__ import annotations

import json
from decimal import Decimal, InvalidOperation
from functools import cached_property, lru_cache
from typing import Any

from constrain.errors import ConstrainError
from constrain.schema.dialect import Dialect
from constrain.schema.formats import CHECKED_LATER
from constrain.schema.numbers import exact


class _Repeated(Exception):
    """A key occurs twice in one object."""


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        raise _Repeated(next(name for name in names if names.count(name) > 1))
    return found


MAX_EXPONENT = 10_000  # of a number in a text: beyond it, comparing takes unreasonable time


def _decimal(text: str) -> Decimal:
    try:
        return Decimal(text)
    except InvalidOperation:
        raise ValueError(f"the exponent of {text[:40]} has too many digits") from None


def _moderate(text: str) -> Decimal:
    value = _decimal(text)
    if abs(value.adjusted()) > MAX_EXPONENT:
        raise ValueError(f"the exponent of {text[:40]} is beyond {MAX_EXPONENT}")
    return value


def _whole(text: str) -> int | Decimal:
    """A number with a fraction or an exponent; 1.0 is the integer 1 (Core 2020-12 section 4.2.1)."""
    value = _moderate(text)
    return int(value) if value == value.to_integral_value() else value


def read_exactly(text: str) -> Any:
    """Parse JSON with numbers as integers and decimals. Raises ValueError, `_Repeated`."""
    return json.loads(text, parse_float=_decimal, object_pairs_hook=_pairs)


class Check:
    """The check of finished texts under one schema.

    deep: the schema has residues besides repeated keys. formats: formats are asserted.
    """

    def __init__(self, schema: Any, dialect: Dialect, deep: bool, formats: bool, registry: Any) -> None:
        self.schema = schema
        self.dialect = dialect
        self.deep = deep
        self.formats = formats
        self.registry = registry

    def __call__(self, text: str) -> str | None:
        """None if the text passes, else one sentence."""
        read = _moderate if self.dialect.plain_integers else _whole
        try:
            value = json.loads(text, parse_float=read if self.deep else None, object_pairs_hook=_pairs)
        except _Repeated as repeated:
            return f"the key {str(repeated)!r} occurs twice in one object"
        except ValueError as error:
            return f"not JSON: {error}"
        if not self.deep:
            return None
        fault = next(self._validator.iter_errors(value), None)
        return None if fault is None else f"{fault.json_path}: {fault.message}"

    @cached_property
    def _validator(self) -> Any:
        options: dict[str, Any] = {} if self.registry is None else {"registry": self.registry}
        if self.formats:
            options["format_checker"] = _format_checker()
        return _validator(self.dialect.uri)(_with_decimals(self.schema), **options)


def _with_decimals(value: Any) -> Any:
    """A schema whose floats are the decimals that they print as, so that 0.3 equals 0.3."""
    if isinstance(value, float):
        return Decimal(repr(value))
    if isinstance(value, dict):
        return {key: _with_decimals(item) for key, item in value.items()}
    return [_with_decimals(item) for item in value] if isinstance(value, (list, tuple)) else value


@lru_cache(maxsize=8)
def _validator(uri: str) -> Any:
    """The validator class of a draft, with exact `multipleOf`."""
    try:
        import jsonschema
    except ImportError:
        raise ConstrainError(
            "this schema has keywords that are checked on the finished text, which needs the package jsonschema",
            fix="pip install jsonschema",
        ) from None
    base = jsonschema.validators.validator_for({"$schema": uri})
    return jsonschema.validators.extend(base, {"multipleOf": _multiple_of})


@lru_cache(maxsize=1)
def _format_checker() -> Any:
    import jsonschema

    known = jsonschema.FormatChecker.checkers  # idn-hostname needs the package idna
    return jsonschema.FormatChecker(sorted(CHECKED_LATER & known.keys()))


def _multiple_of(validator: Any, step: Any, value: Any, schema: Any) -> Any:
    import jsonschema

    if validator.is_type(value, "number") and exact(value) % exact(step) != 0:
        yield jsonschema.ValidationError(f"{value} is not a multiple of {step}")
