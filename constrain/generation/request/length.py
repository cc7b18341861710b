"""`Length`: the tokens of an output at most and at least; `generate` takes it as `max_tokens`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from constrain.errors import ConstrainError
from constrain.sampling.core.sampler import check_count


@dataclass(frozen=True)
class Length:
    """The length of an output in tokens, EOS counted: `generate(max_tokens=Length(40, at_least=10))`.

    Attributes:
        at_most: tokens at most; fewer where the model's context ends.
        at_least: tokens at least, where the constraint lets a text go on.

    Raises:
        ConstrainError: a number is out of range, or `at_least` is greater than `at_most`.

    Example:
        >>> import constrain
        >>> length = constrain.Length(9, at_least=3)
        >>> g = constrain.generate(constrain.reference.load(), "Letters: ", regex="[a-c]*", max_tokens=length, seed=1)
        >>> 3 <= len(g.tokens) <= 9
        True
    """

    at_most: int = 512
    at_least: int = 0

    def __post_init__(self) -> None:
        check_count("at_most", self.at_most)
        check_count("at_least", self.at_least, 0)
        if self.at_least > self.at_most:
            raise ConstrainError(
                f"at_least ({self.at_least}) is greater than at_most ({self.at_most})",
                fix="lower one or raise the other",
            )


def length_of(max_tokens: Any) -> Length:
    """The length that a value of `max_tokens` means. Raises ConstrainError."""
    if isinstance(max_tokens, Length):
        return max_tokens
    return Length(check_count("max_tokens", max_tokens))
