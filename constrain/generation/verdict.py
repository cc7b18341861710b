"""The last word on an output: the value of a complete text, or what is wrong with it; why a dead end is one.

Most of a constraint is enforced by masks. Residual conditions (keys that repeat, values that must differ, validators of
a pydantic model) are asked of a whole text: `residual_fault(text)` → a sentence or None. A matcher asks them where the
text could end; here they are asked of texts that no matcher has ended, too. A constraint with values offers
`parse(text)`; the value of every other constraint is the text.

What a check refused and what a method weighs are two things. A text that a check refused is finished: sampling anew is
rejection by the check. Any other dead end is a place where no token was left, by the model, by truncation, by a guard,
by the method's own check: what a method's weights count as 0, and no output is sampled anew for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from constrain.languages.constraints.union import Union
from constrain.languages.guards.repeats import Repeats
from constrain.masks.derived.members import is_member
from constrain.masks.engine.narrowed import engine_of
from constrain.sampling.bitmask.apply import bitmask_words
from constrain.sampling.core.job import Sample


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


class Refused(NamedTuple):
    """The reason why an output is no member. by_check: a check refused its finished text, so it may be sampled anew."""

    fault: str
    by_check: bool = False


def refused_end(matcher: Any, sample: Sample, size: int, narrowed_by: Sequence[str]) -> Refused:
    """Say why a dead end is one.

    matcher: at the beginning. size: of the vocabulary. narrowed_by: what leaves out tokens that the mask has.
    """
    mask = np.zeros(bitmask_words(size), np.uint32)
    if all(map(matcher.advance, sample.tokens)):
        matcher.fill_mask(mask)
    engine = engine_of(matcher)
    if not mask.any() and matcher.is_finished():
        return Refused("the method's check or potential refuses the whole text")
    if mask.any():
        # A method that knows what follows ends where no text is left, others where no token is.
        knows = sample.tv_bound is not None or sample.evidence_bounds is not None
        what = "text that goes on from here" if knows else "token that may come next"
        by = " and ".join(narrowed_by)
        return Refused(f"no {what} is left by {by}" if by else f"the model gives no {what} any probability")
    if engine is None:
        return Refused("the constraint goes on with no token")
    if engine.fault is not None:
        return Refused(engine.fault, by_check=True)
    if not engine.vetoes_all():
        return Refused("no token of the vocabulary goes on from here")
    if isinstance(engine.compiled.guard, Repeats):
        return Refused("every continuation that is left repeats a key or an item")
    return Refused("every token that the grammar goes on with is refused by a monitor, a part of it or a rule's budget")
