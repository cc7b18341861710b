"""The last word on a complete text: its value, or what is wrong with it that no mask could prevent.

A mask enforces all but residual keywords (keys that repeat, values that must differ). A constraint that has any offers
`check(text)` → a sentence or None. A constraint with values offers `parse(text)`, which may object too: a pydantic
model has validators of its own.
"""

from __future__ import annotations

from typing import Any

from constrain.constraints.union import Union


def verdict(constraint: Any, text: str, vocabulary: Any) -> tuple[Any, str | None]:
    """(value, fault) of a member text: the parsed value, None where the constraint has no values; a sentence, or None.

    vocabulary: of the constraint; to find out which part of a union the text belongs to.
    """
    if isinstance(constraint, Union):
        faults = []
        for part in constraint.parts:
            if _is_member(part, text, vocabulary):
                value, fault = verdict(part, text, vocabulary)
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


def _is_member(constraint: Any, text: str, vocabulary: Any) -> bool:
    from constrain.engine import compile as compile_source

    matcher = compile_source(constraint, vocabulary).matcher()
    return matcher.advance_bytes(text.encode()) and matcher.is_accepting()
