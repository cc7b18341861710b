"""Options that shape the language of an output: put into its constraint."""

from __future__ import annotations

from typing import Any

from constrain.errors import ConstrainError
from constrain.generation.request.prompts import Prompt
from constrain.languages.constraints.base import Constraint, constraint_of


def texts_around(prompt: Prompt) -> tuple[str, str] | None:
    """(prefix, suffix) of an output that stands between texts; None: it does not. Raises ConstrainError."""
    if not prompt.is_between:
        return None
    prefix = prompt.content if prompt.prefix is None else prompt.prefix
    if prompt.prefix is None and not isinstance(prefix, str):
        raise ConstrainError(
            "suffix needs the text before the output, and the content of the prompt is not one str",
            fix='give it as prefix=, or prefix="" if the output begins the text',
        )
    texts = {"prefix": prefix, "suffix": "" if prompt.suffix is None else prompt.suffix}
    for name, text in texts.items():
        if not isinstance(text, str):
            raise ConstrainError(f"{name} is a str, not {type(text).__name__}: {text!r:.60}", fix="decode it")
    return texts["prefix"], texts["suffix"]


def between_texts(constraint: Any, prefix: str, suffix: str) -> Constraint:
    """The constraint of what stands between two texts. Raises ConstrainError, and what `between` raises."""
    if constraint is None:
        raise ConstrainError("prefix and suffix need a constraint: without one, any text fits between them")
    from constrain.masks.derived.between import between

    return between(_uncompiled(constraint, "prefix and suffix"), prefix=prefix, suffix=suffix)


def ending_at(constraint: Any, stop: Any) -> Any:
    """The constraint whose texts end at the first stop sequence. Raises ConstrainError, and what `stopped` raises."""
    from constrain.masks.derived.stopping import stopped

    return stopped(_uncompiled(constraint, "stop"), stop)


def _uncompiled(constraint: Any, what: str) -> Constraint:
    inner = constraint_of(constraint)
    if inner is None:
        raise ConstrainError(f"{what} cannot change a constraint of another make", fix="pass a constraint")
    return inner
