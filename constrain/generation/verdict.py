"""The last word on a complete text: its value, or what is wrong with it.

Most of a constraint is enforced by masks. Residual conditions (keys that repeat, values that must differ, validators of
a pydantic model) are asked of a whole text: `residual_fault(text)` → a sentence or None. A matcher asks them where the
text could end; here they are asked of texts that no matcher has ended, too. A constraint with values offers
`parse(text)`; the value of every other constraint is the text.
"""

from __future__ import annotations

from typing import Any

from constrain.languages.constraints.union import Union
from constrain.masks.derived.members import is_member


def verdict(constraint: Any, text: str, named: str | None = None) -> tuple[Any, str | None]:
    """(value, fault) of a member text: the parsed value, or the text without `parse`; what is wrong with it, or None.

    named: The text with special tokens by their names, if the constraint mentions tokens. The text alone is no member
    then; that it passes the check is what the matcher said when it ended.
    """
    if isinstance(constraint, Union):
        faults = []
        for part in constraint.parts:
            if is_member(part, text):
                value, fault = verdict(part, text)
                if fault is None:
                    return value, None
                faults.append(fault)
        return None, "; ".join(faults)
    if (
        named is None
        and hasattr(constraint, "residual_fault")
        and (fault := constraint.residual_fault(text)) is not None
    ):
        return None, fault
    try:
        return (constraint.parse(text if named is None else named) if hasattr(constraint, "parse") else text), None
    except ValueError as error:  # pydantic's ValidationError is one
        return None, str(error)
