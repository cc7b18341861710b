"""Lines that begin with `#` (section 6.10): which headers are included, and macros.

A macro is replaced wherever its name stands. One whose text is a number, or stands between parentheses, is an operand.
Any other may be anything: where it is used the rest of the text is not read.
"""

from __future__ import annotations

import re

from constrain.monitors.c.libc import header
from constrain.monitors.c.state import OPEN, CState
from constrain.monitors.c.types import UNKNOWN, CName
from constrain.monitors.c.words import KEYWORDS

_DIRECTIVE = re.compile(r"#\s*([a-z_]*|\d+)\s*(.*)", re.DOTALL)
_INCLUDE = re.compile(r"<([^>\n]+)>\s*")
_DEFINE = re.compile(r"([A-Za-z_$][\w$]*)(\([^()]*\))?(.*)", re.DOTALL)
_LITERAL = re.compile(r"""[-+]?\.?\d[\w.]*|'(?:\\.|[^'\\])+'|"(?:\\.|[^"\\])*\"""")
_COMMENT = re.compile(r"/\*.*?\*/|//.*", re.DOTALL)
_QUOTED = re.compile(r"""'(?:\\.|[^'\\])+'|"(?:\\.|[^"\\])*\"""")
NEUTRAL = frozenset({"", "pragma", "error", "warning", "line", "ident"})


def read_directive(state: CState, text: str) -> CState:
    """The state after a line that begins with `#`."""
    match = _DIRECTIVE.match(_COMMENT.sub(" ", re.sub(r"\\\r?\n", " ", text)))
    if match is None or "/*" in match[2]:
        return OPEN
    word, rest = match[1], match[2].strip()
    if word in NEUTRAL or word.isdigit():
        return OPEN if "macro" in rest else state
    if word == "include":
        return _include(state, rest)
    return _define(state, rest) if word == "define" else OPEN


def _include(state: CState, rest: str) -> CState:
    match = _INCLUDE.fullmatch(rest)
    known = None if match is None else header(match[1])
    if known is None:
        return OPEN
    names = state.outermost_scope.names
    for name, entry in known.items():
        if name not in names.table:
            names = names.add(name, entry)
    return state.change_outermost_scope(names=names)


def _define(state: CState, rest: str) -> CState:
    match = _DEFINE.match(rest)
    if match is None or match[1] in KEYWORDS or match[1].startswith("_"):
        return OPEN  # it changes the language, or what headers have
    name, arguments, body = match[1], match[2], match[3].strip()
    is_operand = _is_between_parentheses(body) and "{" not in body  # else there may be labels in it
    if not (_LITERAL.fullmatch(body) if arguments is None else False) and not is_operand:
        return state._replace(opens=state.opens | {name})
    entry = CName("value" if arguments is None else "macro", UNKNOWN)
    return state.change_outermost_scope(names=state.outermost_scope.names.add(name, entry))


def _is_between_parentheses(body: str) -> bool:
    """True if a text begins with the parenthesis that its end closes."""
    depth, body = 0, _QUOTED.sub("0", body)
    for index, character in enumerate(body):
        depth += (character == "(") - (character == ")")
        if depth <= 0:
            return index == len(body) - 1 and character == ")"
    return False
