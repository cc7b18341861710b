"""Whitespace between the structural tokens of JSON (RFC 8259, section 2), by policy.

    consistent  one layout a text, as serializers write it: the first separators choose it, all others follow
    compact     none
    bounded     what a person or a printer would write: spaces, at most two line ends, then an indentation; never an
      endless run
    any         all of it
    a layout    what a `JsonLayout` says (json_layout.py)

There is no whitespace before or after the document but under "bounded" (before) and "any" (both).

A *place* says how a container is written: the index of its style (`STYLES`), and its depth, which matters to lines.
Containers at one place share rules. Under "consistent" the outermost container has place 0: no style is chosen yet. It
begins with what each style writes behind its bracket, and what follows is at the place of that style. So a style costs
next to nothing until a text may have chosen it, and once it is chosen all keys and punctuation are forced.

Within lines, a list may stand on one line. From MAX_DEPTH on there are no line ends, so that recursive schemas lead to
finitely many states.
"""

from __future__ import annotations

from collections.abc import Hashable
from functools import lru_cache
from typing import NamedTuple

from constrain.errors import ConstrainError
from constrain.languages.automata.syntax import EPSILON, Node, alternate, chars, concat, literal, optional, repeat
from constrain.languages.cfg.bulk_rules import PlaceSymbols
from constrain.languages.cfg.rules import Nonterminal, Symbol, Terminal
from constrain.languages.schema.write.json_layout import JsonLayout

MAX_INDENTATION = 100  # "bounded": spaces and tabs after the last line end
MAX_SPACES = 4  # "bounded": spaces and tabs on a line that go on with a token, or before a line end
MAX_DEPTH = 32  # "consistent": levels that have lines of their own
MAX_UNIT = 8  # "consistent": spaces for each level

POLICIES = ("consistent", "bounded", "compact", "any")
Symbols = tuple[Symbol, ...]
Alternatives = list[list[Symbol]]
Policy = str | JsonLayout


class LayoutStyle(NamedTuple):
    """One way to write containers.

    Attributes:
        unit: The indentation of one level; None: one line.
        comma: What separates values on one line; the text before a line end.
        colon: What separates a key from its value.
        brace: What stands inside the braces of an object on one line.
    """

    unit: str | None
    comma: str
    colon: str
    brace: str = ""


COMPACT, SPACED, BRACED = LayoutStyle(None, ",", ":"), LayoutStyle(None, ", ", ": "), LayoutStyle(None, ", ", ": ", " ")
INDENTED = [LayoutStyle(" " * size, ",", ": ") for size in range(1, MAX_UNIT + 1)]
TABBED, WIDE = LayoutStyle("\t", ",", ": "), LayoutStyle("  ", ",", " : ")  # WIDE: Jackson, Swift
STYLES = [None, COMPACT, SPACED, BRACED, *INDENTED, TABBED, WIDE]  # at 0: none is chosen
_DEPTHS = 1 << 20  # a place is the index of a style times this, and a depth


Opening = tuple[Symbols, int]  # what is written before the first key or value of a container, and its place


def punctuation(text: str) -> Terminal:
    """A fixed text of JSON."""
    return Terminal(literal(text), name=repr(text), literal=True)


OPEN_OBJECT, CLOSE_OBJECT, OPEN_ARRAY, CLOSE_ARRAY = map(punctuation, "{}[]")


def check_policy(policy: Policy) -> None:
    """Raises ConstrainError for a policy that is not known."""
    if not isinstance(policy, JsonLayout) and policy not in POLICIES:
        raise ConstrainError(f"whitespace={policy!r} is not a policy", fix=f"use one of {', '.join(POLICIES)}")


@lru_cache(maxsize=1024)
def layout(policy: Policy, place: int) -> PlaceSymbols:
    """The layout of containers at a place, the same in every schema. Place 0 is that of the outermost container.

    At a place without a style only empty containers, and how the others may begin, have a meaning.
    """
    check_policy(policy)
    if policy == "consistent":
        style, depth = divmod(place, _DEPTHS)
        return _styled(style, depth) if style else _undecided()
    if isinstance(policy, JsonLayout) and policy.is_fixed:
        return _dumped(policy, place)
    gap = space(policy)
    item, key = (policy.item, policy.key) if isinstance(policy, JsonLayout) else (literal(","), literal(":"))
    return _separators(
        place,
        empty=gap,
        first=gap,
        comma=(Terminal(item, name="','"), *gap),
        colon=(*gap, Terminal(key, name="':'"), *gap),
        behind=gap,
    )


def _separators(
    place: int,
    empty: Symbols,
    first: Symbols,
    comma: Symbols,
    colon: Symbols,
    behind: Symbols = (),
    close: Node = EPSILON,
    inner: int | None = None,
) -> PlaceSymbols:
    """The separators of a place that objects and arrays share. close: what is written before a closing bracket."""
    close_object, close_array = (Terminal(concat(close, literal(end)), name=repr(end), literal=True) for end in "}]")
    return PlaceSymbols(
        empty_object=(OPEN_OBJECT, *empty, CLOSE_OBJECT),
        empty_array=(OPEN_ARRAY, *empty, CLOSE_ARRAY),
        objects=(((OPEN_OBJECT, *first), place),),
        arrays=(((OPEN_ARRAY, *first), place),),
        comma=comma,
        colon=colon,
        behind=behind,
        close_object=(close_object,),
        close_array=(close_array,),
        inner=place if inner is None else inner,
    )


def _dumped(policy: JsonLayout, depth: int) -> PlaceSymbols:
    """The separators that json.dumps writes. Lines of any depth have their own rules."""
    has_lines = policy.indent is not None
    inside, outside = (literal("\n" + policy.unit * d if has_lines else "") for d in (depth + 1, depth))
    return _separators(
        depth,
        empty=(),
        first=(Terminal(inside, name="line", literal=True),) if has_lines else (),
        comma=(Terminal(concat(policy.item, inside), name="','", literal=True),),
        colon=(Terminal(policy.key, name="':'", literal=True),),
        close=outside,
        inner=depth + 1 if has_lines else 0,
    )


def _styled(number: int, depth: int) -> PlaceSymbols:
    """The separators of a style of "consistent" at a depth."""
    style, place = STYLES[number], number * _DEPTHS + depth
    assert style is not None
    if style.unit is None:
        around = _separators(place, (), (), (punctuation(style.comma),), (punctuation(style.colon),))
        if not style.brace:
            return around
        brace = punctuation(style.brace)
        spaced = (((OPEN_OBJECT, brace), place),)
        return around._replace(objects=spaced, close_object=(punctuation(style.brace + "}"),))
    inside, outside = ("\n" + style.unit * d for d in (depth + 1, depth))
    deeper = place + 1 if depth + 1 < MAX_DEPTH else _place(SPACED)
    around = _separators(
        place,
        empty=(),
        first=(punctuation(inside),),
        comma=(punctuation(style.comma + inside),),
        colon=(punctuation(style.colon),),
        close=literal(outside),
        inner=deeper,
    )
    around = around._replace(arrays=(*around.arrays, ((OPEN_ARRAY,), _place(SPACED))))
    return around._replace(empty_object=_empty("{", "}"), empty_array=_empty("[", "]")) if style is WIDE else around


def _place(style: LayoutStyle, depth: int = 0) -> int:
    return STYLES.index(style) * _DEPTHS + depth


def _undecided() -> PlaceSymbols:
    """The separators of the outermost container, whose first ones choose a style."""
    one_line: list[Opening] = [((), _place(style)) for style in (COMPACT, SPACED)]
    # Not `literal`: else the engine expands what comes behind them before a text is there (engine/expansion.py).
    space, tab, brace = (Terminal(literal(text), name="line") for text in ("\n ", "\n\t", " "))
    units = [(style, style.unit or "") for style in (*INDENTED, WIDE)]
    lines: list[Opening] = [
        ((space, *([punctuation(unit[1:])] if unit[1:] else [])), _place(style)) for style, unit in units
    ]
    lines.append(((tab,), _place(TABBED)))
    braced: Opening = ((brace,), _place(BRACED))
    return _separators(0, (), (), (), ())._replace(
        objects=[((OPEN_OBJECT, *symbols), place) for symbols, place in (*one_line, braced, *lines)],
        arrays=[((OPEN_ARRAY, *symbols), place) for symbols, place in (*one_line, *lines)],
        empty_object=_empty("{", "}"),
        empty_array=_empty("[", "]"),
    )


def plainest(policy: Policy, place: int) -> int | None:
    """The place of the style with the fewest separators, where none is chosen yet; None: one is chosen."""
    return _place(COMPACT) if policy == "consistent" and place == 0 else None


def _empty(bracket: str, end: str) -> Symbols:
    """An empty container; Jackson writes a blank in it."""
    return punctuation(bracket), Terminal(concat(optional(literal(" ")), literal(end)), name=repr(end), literal=True)


@lru_cache(maxsize=64)
def space(policy: Policy) -> Symbols:
    """The whitespace between two tokens under a policy without styles: at most one terminal."""
    check_policy(policy)
    if isinstance(policy, JsonLayout):
        return () if policy.gap is None else _gap(policy.gap, (policy,))
    return () if policy in ("compact", "consistent") else _gap(_run(policy), (policy,))


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
