"""The last word on a complete text: its value, or what is wrong with it that no mask could prevent.

A mask enforces all but residual keywords (keys that repeat, values that must differ). A constraint that has any offers
`check(text)` → a sentence or None. A constraint with values offers `parse(text)`, which may object too: a pydantic
model has validators of its own.
"""

from __future__ import annotations

from typing import Any

from constrain.constraints.union import Union
from constrain.derived.members import is_member


def verdict(constraint: Any, text: str) -> tuple[Any, str | None]:
    """(value, fault) of a member text: the parsed value, or None without `parse`; what is wrong with it, or None."""
    if isinstance(constraint, Union):
        faults = []
        for part in constraint.parts:
            if is_member(part, text):
                value, fault = verdict(part, text)
                if fault is None:
                    return value, None
                faults.append(fault)
        return None, "; ".join(faults)
    if hasattr(constraint, "check") and (fault := constraint.check(text)) is not None:
        return None, fault
    try:
        return (constraint.parse(text) if hasattr(constraint, "parse") else None), None
    except ValueError as error:  # pydantic's ValidationError is one
        return None, str(error)
