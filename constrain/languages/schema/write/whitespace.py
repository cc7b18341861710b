"""Whitespace between the structural tokens of JSON (RFC 8259, section 2), by policy.

    indented  as serializers write it: none, a space, or a line end and an indentation that fits the depth
    compact   none
    bounded   what a person or a printer would write: spaces, at most two line ends, then an indentation; never an
      endless run
    any       all of it
    a layout  what a `JsonLayout` says (json_layout.py)

After the document there may be whitespace only under "any", so that otherwise a text ends with its value.

Under "indented" a line at depth d begins with d tabs or k d spaces, k up to MAX_UNIT. A container at depth d has
punctuation of its own: `,` with the whitespace behind it is one terminal, and so is `}` with the whitespace before it.
So a text cannot go on with whitespace, and a list has fewer symbols than under the other policies. No whitespace stands
before a comma. From MAX_DEPTH on there are no line ends, so that recursive schemas lead to finitely many states.
"""

from __future__ import annotations

from collections.abc import Hashable
from functools import lru_cache
from typing import NamedTuple

from constrain.errors import ConstrainError
from constrain.languages.automata.syntax import Node, alternate, chars, concat, literal, literals, optional, repeat
from constrain.languages.cfg.rules import Nonterminal, Symbol, Terminal
from constrain.languages.schema.write.json_layout import JsonLayout

MAX_INDENTATION = 100  # "bounded": spaces and tabs after the last line end
MAX_SPACES = 4  # "bounded": spaces and tabs on a line that go on with a token, or before a line end
MAX_UNIT = 4  # "indented": spaces for each level
MAX_DEPTH = 32  # "indented": levels that have lines of their own

POLICIES = ("indented", "bounded", "compact", "any")
Symbols = tuple[Symbol, ...]


class Separators(NamedTuple):
    """The symbols written around the keys and values of a container.

    open_object, open_array: its beginning. opening: what comes behind it, unless the container is empty. comma, colon:
    what separates values, and a key from its value. behind: what comes behind a value. close_object, close_array: its
    end. inner: the depth of the containers in it. is_bulky: an empty container ends like any other, with which bulk
    rules (cfg/bulk_rules.py) reckon.
    """

    open_object: Symbols
    open_array: Symbols
    opening: Symbols
    comma: Symbols
    colon: Symbols
    behind: Symbols
    close_object: Symbols
    close_array: Symbols
    inner: int
    is_bulky: bool = True

    def end_object(self, any_yet: bool) -> Symbols:
        """The end of an object. any_yet: it has members."""
        return self.close_object if any_yet or self.is_bulky else (CLOSE_OBJECT,)

    def end_array(self, any_yet: bool) -> Symbols:
        """The end of an array. any_yet: it has items."""
        return self.close_array if any_yet or self.is_bulky else (CLOSE_ARRAY,)


def punctuation(text: str) -> Terminal:
    """A fixed text of JSON."""
    return Terminal(literal(text), name=repr(text), literal=True)


OPEN_OBJECT, CLOSE_OBJECT, OPEN_ARRAY, CLOSE_ARRAY, COMMA, COLON = map(punctuation, "{}[],:")


Policy = str | JsonLayout


def check_policy(policy: Policy) -> None:
    """Raises ConstrainError for a policy that is not known."""
    if not isinstance(policy, JsonLayout) and policy not in POLICIES:
        raise ConstrainError(f"whitespace={policy!r} is not a policy", fix=f"use one of {', '.join(POLICIES)}")


@lru_cache(maxsize=256)
def layout(policy: Policy, depth: int) -> Separators:
    """The layout of containers at a depth, the same in every schema; depth: 0 unless lines have indentations."""
    check_policy(policy)
    if isinstance(policy, JsonLayout) and policy.is_fixed:
        return _dumped_separators(policy, depth)
    if isinstance(policy, JsonLayout):
        gap = space(policy)
        return Separators(
            open_object=(OPEN_OBJECT, *gap),
            open_array=(OPEN_ARRAY, *gap),
            opening=(),
            comma=(Terminal(policy.item, name="','"), *gap),
            colon=(*gap, Terminal(policy.key, name="':'"), *gap),
            behind=gap,
            close_object=(CLOSE_OBJECT,),
            close_array=(CLOSE_ARRAY,),
            inner=0,
        )
    if policy != "indented":
        gap = space(policy)
        return Separators(
            open_object=(OPEN_OBJECT, *gap),
            open_array=(OPEN_ARRAY, *gap),
            opening=(),
            comma=(COMMA, *gap),
            colon=(*gap, COLON, *gap),
            behind=gap,
            close_object=(CLOSE_OBJECT,),
            close_array=(CLOSE_ARRAY,),
            inner=0,
        )
    inside, outside = _line(depth + 1), _line(depth)
    blank = optional(literal(" "))
    return Separators(
        open_object=(OPEN_OBJECT,),
        open_array=(OPEN_ARRAY,),
        opening=_gap(inside, ("indented", depth + 1)),
        comma=(Terminal(concat(literal(","), optional(inside)), name="','"),),
        colon=(Terminal(concat(blank, literal(":"), blank), name="':'"),),
        behind=(),
        close_object=(Terminal(concat(optional(outside), literal("}")), name="'}'"),),
        close_array=(Terminal(concat(optional(outside), literal("]")), name="']'"),),
        inner=min(depth + 1, MAX_DEPTH),
    )


def _dumped_separators(policy: JsonLayout, depth: int) -> Separators:
    """The separators that json.dumps writes. Lines of any depth have their own rules."""
    has_lines = policy.indent is not None
    inside, outside = (literal("\n" + policy.unit * d if has_lines else "") for d in (depth + 1, depth))
    return Separators(
        open_object=(OPEN_OBJECT,),
        open_array=(OPEN_ARRAY,),
        opening=(Terminal(inside, name="line"),) if has_lines else (),
        comma=(Terminal(concat(policy.item, inside), name="','"),),
        colon=(Terminal(policy.key, name="':'"),),
        behind=(),
        close_object=(Terminal(concat(outside, literal("}")), name="'}'"),),
        close_array=(Terminal(concat(outside, literal("]")), name="']'"),),
        inner=depth + 1 if has_lines else 0,
        is_bulky=not has_lines,
    )


def _line(depth: int) -> Node:
    """A space, or a line end and the indentation of a depth."""
    if depth >= MAX_DEPTH:
        return literal(" ")
    indentations = [" " * (unit * depth) for unit in range(1, MAX_UNIT + 1)] + ["\t" * depth]
    return alternate(literal(" "), concat(optional(literal("\r")), literal("\n"), literals(indentations)))


@lru_cache(maxsize=64)
def space(policy: Policy) -> Symbols:
    """The whitespace before the document, and under most policies between two tokens: at most one terminal."""
    check_policy(policy)
    if isinstance(policy, JsonLayout):
        return () if policy.gap is None else _gap(policy.gap, (policy,))
    return () if policy == "compact" else _gap(_line(0) if policy == "indented" else _run(policy), (policy,))


def _gap(language: Node, key: tuple[Hashable, ...]) -> Symbols:
    """An optional terminal, the same in every schema."""
    terminal = Terminal(language, name="whitespace")
    return (Nonterminal("gap", lambda: [[terminal], []], key=("gap", *key), shared=True),)


def _run(policy: str) -> Node:
    """Whitespace that is not empty, under "bounded" and "any"."""
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
