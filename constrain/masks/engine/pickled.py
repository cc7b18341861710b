"""How a pickled matcher comes back: it reads its steps again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from constrain.errors import ConstrainError

if TYPE_CHECKING:
    from constrain.masks.engine.compiled import CompiledConstraint
    from constrain.masks.engine.matcher import Matcher


def reread(compiled: CompiledConstraint, steps: list[int | bytes], eos_ids: tuple[int, ...] | None) -> Matcher:
    """Rebuild a matcher from a pickle."""
    from constrain.masks.engine.matcher import Matcher

    matcher = Matcher(compiled, eos_ids)
    for step in steps:
        taken = matcher.advance_bytes(step) if isinstance(step, bytes) else matcher.advance(step)
        if not taken:
            raise ConstrainError(
                f"step {step!r} of a pickled matcher is not allowed any more", fix="use equal versions of constrain"
            )
    return matcher
