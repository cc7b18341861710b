"""Whitespace between the structural tokens of JSON (RFC 8259, section 2), by policy.

    compact   none
    bounded   what a person or a printer would write: spaces, at most two line ends, then an indentation; never an
      endless run any       all of it

Under "bounded" and "any" there may be whitespace before the document; after it only under "any", so that otherwise a
text ends with its value.
"""

from __future__ import annotations

from functools import lru_cache

from constrain.automata.syntax import Node, alternate, chars, concat, literal, optional, repeat
from constrain.cfg.rules import Nonterminal, Symbol, Terminal
from constrain.errors import ConstrainError

MAX_INDENTATION = 100  # spaces and tabs after the last line end
MAX_SPACES = 4  # spaces and tabs on a line that go on with a token, or before a line end

POLICIES = ("bounded", "compact", "any")


def _language(policy: str) -> Node:
    blank = chars([(0x20, 0x20), (0x09, 0x09)])
    if policy == "any":
        return repeat(alternate(blank, chars([(0x0A, 0x0A), (0x0D, 0x0D)])), 1)
    line_end = concat(optional(literal("\r")), literal("\n"))
    broken = concat(
        repeat(blank, 0, MAX_SPACES),
        line_end,
        optional(concat(repeat(blank, 0, MAX_SPACES), line_end)),
        repeat(blank, 0, MAX_INDENTATION),
    )
    return alternate(repeat(blank, 1, MAX_SPACES), broken)


@lru_cache(maxsize=8)
def space(policy: str) -> tuple[Symbol, ...]:
    """What stands between two tokens: nothing, or one optional terminal, the same in every schema."""
    if policy == "compact":
        return ()
    if policy not in POLICIES:
        raise ConstrainError(f"whitespace={policy!r} is not a policy", fix=f"use one of {', '.join(POLICIES)}")
    terminal = Terminal(_language(policy), name="whitespace")
    return (Nonterminal("gap", lambda: [[terminal], []], key=("gap", policy), shared=True),)
