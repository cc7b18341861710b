"""Arguments of `generate` that shape the language or the length of an output: checked, and put into the constraint."""

from __future__ import annotations

from typing import Any, NamedTuple

from constrain.errors import ConstrainError
from constrain.languages.constraints.base import Constraint


class LengthLimits(NamedTuple):
    """least: tokens, EOS included, that an output has where it can go on. complete: it is complete within its
    budget."""

    least: int
    complete: bool


def check_limits(min_tokens: Any, max_tokens: int, complete: Any, healing: bool) -> LengthLimits | None:
    """The limits, None where there are none. Raises ConstrainError naming the argument and its value."""
    if not isinstance(min_tokens, int) or isinstance(min_tokens, bool) or min_tokens < 0:
        raise ConstrainError(f"min_tokens must be an int of at least 0, not {min_tokens!r}")
    if min_tokens > max_tokens:
        raise ConstrainError(
            f"min_tokens ({min_tokens}) is greater than max_tokens ({max_tokens})", fix="lower one or raise the other"
        )
    if not isinstance(complete, bool):
        raise ConstrainError(f"complete must be True or False, not {complete!r}")
    if healing and (complete or min_tokens):
        raise ConstrainError("healing=True does not go with complete or min_tokens", fix="leave one of them out")
    return LengthLimits(min_tokens, complete) if complete or min_tokens else None


def between_texts(constraint: Any, prompt: Any, prefix: Any, suffix: Any) -> Any:
    """The constraint of what stands between the texts. Raises ConstrainError, and what `between` raises."""
    if prefix is None and suffix is None:
        return constraint
    if constraint is None:
        raise ConstrainError("prefix and suffix need a constraint: without one, any text fits between them")
    if prefix is None:
        if not isinstance(prompt, str):
            raise ConstrainError(
                "suffix needs the text before the output, and the prompt is not one str",
                fix='give it as prefix=, or prefix="" if the output begins the text',
            )
        prefix = prompt
    from constrain.masks.derived.between import between

    return between(_uncompiled(constraint, "prefix and suffix"), prefix=prefix, suffix="" if suffix is None else suffix)


def ending_at(constraint: Any, stop: Any) -> Any:
    """The constraint whose texts end at the first stop sequence. Raises ConstrainError, and what `stopped` raises."""
    from constrain.masks.derived.stopping import stopped

    return stopped(_uncompiled(constraint, "stop"), stop)


def _uncompiled(constraint: Any, what: str) -> Constraint:
    inner = getattr(constraint, "constraint", constraint)
    if not isinstance(inner, Constraint):
        raise ConstrainError(f"{what} cannot change a constraint of another make", fix="pass a constraint")
    return inner
