"""Patterns of a schema: ECMA-262 syntax, found anywhere in a string (Validation 2020-12, section 6.3.3)."""

from __future__ import annotations

from functools import lru_cache

from constrain.languages.automata.parse.ecma import parse_ecma
from constrain.languages.automata.syntax import Node


@lru_cache(maxsize=8192)
def pattern_node(pattern: str) -> Node:
    """The texts in which a pattern is found; remembered for each pattern. Raises RegexError."""
    return parse_ecma(pattern)
