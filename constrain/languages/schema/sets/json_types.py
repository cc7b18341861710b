"""Type aliases of parsed JSON."""

from __future__ import annotations

from decimal import Decimal
from typing import Any, TypeAlias

Json: TypeAlias = dict[str, Any] | list[Any] | tuple[Any, ...] | str | int | float | Decimal | bool | None
"""A JSON value as Python has it; a schema that was given as text has `Decimal`s in place of floats."""

JsonObject: TypeAlias = dict[str, Any]
