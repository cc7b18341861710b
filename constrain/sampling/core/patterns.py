"""A pattern that no automaton reads, as a check: back-references, conditions on groups, recursion.

The package `regex` matches partially, so it says of a prefix whether a match may still come of it; `re` judges complete
texts only. Partial matching takes the end of a prefix for the end of the text at word boundaries and look-behind
(2026.11.19), so of patterns with these nothing is said before the end. Cost: a match for each text that is asked about,
by backtracking.
"""

from __future__ import annotations

import codecs
import importlib
import math
import re
from typing import Any

from constrain.errors import RegexError, span
from constrain.sampling.core.potentials import Potential

_JUDGES_ITS_END = re.compile(r"\\[bBmMGK]|\(\?<[=!]")  # what partial matching gets wrong


class PatternCheck(Potential):
    """Weight 1 for the texts that a pattern matches as a whole, made by `pattern_check`."""

    def __init__(self, compiled: Any, partial: bool) -> None:
        self.compiled, self.partial = compiled, partial

    @property
    def steers(self) -> bool:
        return self.partial

    def prefix(self, text: bytes) -> float:
        if not self.partial:
            return 0.0
        shown = codecs.getincrementaldecoder("utf-8")("replace").decode(text)
        return 0.0 if self.compiled.fullmatch(shown, partial=True) else -math.inf

    def complete(self, text: bytes) -> float:
        return 0.0 if self.compiled.fullmatch(text.decode("utf-8", "replace")) else -math.inf

    def __repr__(self) -> str:
        return f"pattern_check({self.compiled.pattern!r})"


def pattern_check(pattern: str) -> Potential:
    r"""A pattern of Python's that is not regular as a check: weight 1 for the texts that it matches as a whole, else 0.

    Where the package `regex` is installed, its syntax is read, and prefixes are judged too, but for patterns with `\b`
    or look-behind: what no match can begin with is refused at once. Else `re` judges complete texts. Give a wider
    pattern to the mask, and this as `check=`.

    Args:
        pattern: The pattern: with back-references, conditions on groups, recursion, anything.

    Returns:
        The potential, for `check=` of `SMC` and `AWRS`, and for `potential=` of any method that takes one.

    Raises:
        RegexError: The pattern cannot be read; with its place.

    Example:
        >>> from constrain.sampling import pattern_check
        >>> twice = pattern_check(r"(\w+) \1")
        >>> twice.completes([b"tick tick", b"tick tock"])
        [0.0, -inf]
    """
    if not isinstance(pattern, str):
        raise RegexError(f"a pattern is a str, not {type(pattern).__name__}: {pattern!r:.60}", fix="pass it as text")
    try:
        engine: Any = importlib.import_module("regex")
    except ImportError:
        engine = re
    try:
        return PatternCheck(engine.compile(pattern), engine is not re and not _JUDGES_ITS_END.search(pattern))
    except engine.error as fault:
        raise RegexError(str(fault.msg), place=span(pattern, min(fault.pos or 0, len(pattern)))) from None
