r"""The plain twin of the automata: membership, viability and emptiness of `Node` trees, written from the definitions.

The idea: Brzozowski's derivatives ("Derivatives of regular expressions", JACM 1964), one character at a time. The
derivative of a language by a character is what may follow it; a text is a member if the derivative by all its
characters contains the empty text. A JSON string is read spelling by spelling: the states `_Body`, `_Escape`,
`_Hex` are languages of the rest of a literal.

An oracle for tests: clear, not fast. Limits: fine for small trees; intersections and complements with large
counters explode.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator

from constrain.languages.automata.syntax import (
    EMPTY,
    EPSILON,
    MAX_CODE_POINT,
    Acyclic,
    Alternate,
    Chars,
    Complement,
    Concat,
    Intersect,
    JsonString,
    Literals,
    Node,
    Repeat,
    alternate,
    complement,
    concat,
    intersect,
    literals,
    repeat,
)
from patience import tick

# RFC 8259 section 7
SHORT_ESCAPES = {'"': '"', "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
HEX_DIGITS = "0123456789abcdefABCDEF"


class _Body(Node):
    """The rest of a JSON string literal whose remaining value is in the part. args: (node,)."""


class _Escape(Node):
    """The same after a backslash. args: (node,)."""


class _Hex(Node):
    r"""The same inside `\uXXXX`. args: (node, digits so far, the high surrogate before or None)."""


class _HighSurrogate(Node):
    r"""The same after a high surrogate; `\u` must follow. args: (node, high surrogate, backslash seen)."""


_SPELLING = (_Body, _Escape, _Hex, _HighSurrogate)


class NaiveRegex:
    """Questions about one language."""

    def __init__(self, node: Node) -> None:
        self.node = node
        self.representatives = _representatives(node)

    def matches(self, text: str) -> bool:
        """True if the text is valid."""
        return nullable(self.after(text))

    def viable(self, text: str) -> bool:
        """True if the text is a prefix of a valid one."""
        return not _is_empty(self.after(text), self.representatives)

    def empty(self) -> bool:
        """True if the language is empty."""
        return not self.viable("")

    def after(self, text: str) -> Node:
        """The language of what may follow a text."""
        node = self.node
        for character in text:
            node = derivative(node, character)
        return node


def nullable(node: Node) -> bool:
    """True if the language contains the empty text."""
    match node:
        case Literals():
            return "" in node.texts
        case Concat() | Intersect():
            return all(map(nullable, node.args))
        case Alternate():
            return any(map(nullable, node.args))
        case Repeat():
            return node.low == 0 or nullable(node.node)
        case Complement():
            return not nullable(node.args[0])
    return False


@functools.lru_cache(50_000)  # parts are shared by many languages
def derivative(node: Node, character: str) -> Node:
    """The texts that, put after the character, give a member."""
    match node:
        case Chars():
            return EPSILON if any(low <= ord(character) <= high for low, high in node.ranges) else EMPTY
        case Literals():
            return literals(text[1:] for text in node.texts if text.startswith(character))
        case Concat():
            first, rest = node.args[0], concat(*node.args[1:])
            through = [derivative(rest, character)] if nullable(first) else []
            return _either(concat(derivative(first, character), rest), *through)
        case Alternate():
            return _either(*(derivative(part, character) for part in node.args))
        case Repeat():
            high = None if node.high is None else node.high - 1
            return concat(derivative(node.node, character), repeat(node.node, max(0, node.low - 1), high))
        case Intersect():
            return _both(*(derivative(part, character) for part in node.args))
        case Complement():
            return complement(derivative(node.args[0], character))
        case Acyclic():
            return derivative(literals(_spelled_out(node)), character)
    return _spelling_derivative(node, character)


def _spelled_out(node: Acyclic) -> list[str]:
    """All texts of an automaton without cycles."""
    texts, paths = [], [("", 0)]
    while paths:
        text, state = paths.pop()
        texts += [text] if node.accepting[state] else []
        paths += [(text + node.labels[symbol], to) for symbol, to in node.edges[state]]
    return texts


def _spelling_derivative(node: Node, character: str) -> Node:
    """The derivative of a (rest of a) JSON string literal."""
    match node:
        case JsonString(args=(value, False)):  # plain spelling: tests/languages/schema/naive_schema.py
            return _Body(value) if character == '"' else EMPTY
        case _Body(args=(value,)):
            if character == '"':
                return EPSILON if nullable(value) else EMPTY
            if character == "\\":
                return _Escape(value)
            return _decoded(value, character) if character >= " " else EMPTY
        case _Escape(args=(value,)):
            if character in SHORT_ESCAPES:
                return _decoded(value, SHORT_ESCAPES[character])
            return _Hex(value, "", None) if character == "u" else EMPTY
        case _HighSurrogate(args=(value, high, False)):
            return _HighSurrogate(value, high, True) if character == "\\" else EMPTY
        case _HighSurrogate(args=(value, high, True)):
            return _Hex(value, "", high) if character == "u" else EMPTY
        case _Hex(args=(value, digits, high)):
            if character not in HEX_DIGITS:
                return EMPTY
            digits += character
            return _Hex(value, digits, high) if len(digits) < 4 else _unit(value, int(digits, 16), high)
    raise TypeError(f"not a language: {node!r}")


def _unit(value: Node, unit: int, high: int | None) -> Node:
    r"""After a whole `\uXXXX`: a character, or half of one."""
    if high is not None:
        if not 0xDC00 <= unit <= 0xDFFF:
            return EMPTY
        return _decoded(value, chr(0x10000 + (high - 0xD800) * 0x400 + (unit - 0xDC00)))
    if 0xD800 <= unit <= 0xDBFF:
        return _HighSurrogate(value, unit, False)
    return EMPTY if 0xDC00 <= unit <= 0xDFFF else _decoded(value, chr(unit))


def _decoded(value: Node, character: str) -> Node:
    rest = derivative(value, character)
    return EMPTY if rest == EMPTY else _Body(rest)


def _either(*parts: Node) -> Node:
    """A union in a fixed order, so that equal unions are equal trees and only finitely many derivatives differ."""
    union = alternate(*parts)
    return Alternate(*sorted(union.args, key=hash)) if isinstance(union, Alternate) else union


def _both(*parts: Node) -> Node:
    """An intersection in a fixed order; two values at the same place of their literals are intersected as values."""
    common = intersect(*parts)
    if not isinstance(common, Intersect):
        return common
    first = common.args[0]
    if isinstance(first, (*_SPELLING, JsonString)) and all(
        type(part) is type(first) and part.args[1:] == first.args[1:] for part in common.args
    ):
        return type(first)(_both(*(part.args[0] for part in common.args)), *first.args[1:])
    return Intersect(*sorted(common.args, key=hash))


def _is_empty(node: Node, representatives: list[str]) -> bool:
    """True if the language is empty."""
    match node:
        case Chars():
            return not node.ranges
        case Literals():
            return not node.texts
        case Alternate():
            return all(_is_empty(part, representatives) for part in node.args)
        case Concat():
            return any(_is_empty(part, representatives) for part in node.args)
        case Repeat():
            return node.low > 0 and _is_empty(node.node, representatives)
        case JsonString() | _Body():  # every value has a spelling
            return _is_empty(node.args[0], representatives)
        case _Escape() | _Hex() | _HighSurrogate():
            possible = _within(representatives, _still_spelled(node))
            return all(_is_empty(derivative(node.args[0], character), representatives) for character in possible)
    seen = {node}
    queue = [node]
    for state in queue:
        tick()
        if nullable(state):
            return False
        for character in representatives:
            following = derivative(state, character)
            if following not in seen and following != EMPTY:
                seen.add(following)
                queue.append(following)
    return True


def _still_spelled(node: Node) -> Iterator[tuple[int, int]]:
    r"""Ranges of the characters that an unfinished escape may still become."""
    if isinstance(node, _Escape):
        yield 0, MAX_CODE_POINT
        return
    high = node.args[1] if isinstance(node, _HighSurrogate) else node.args[2]
    digits = node.args[1] if isinstance(node, _Hex) else ""
    free = 16 ** (4 - len(digits))
    low_unit = int(digits or "0", 16) * free
    units = (low_unit, low_unit + free - 1)
    if high is None:
        yield units
        first, last = max(units[0], 0xD800), min(units[1], 0xDBFF)
        if first <= last:
            yield 0x10000 + (first - 0xD800) * 0x400, 0x10000 + (last - 0xD800) * 0x400 + 0x3FF
    else:
        first, last = max(units[0], 0xDC00), min(units[1], 0xDFFF)
        base = 0x10000 + (high - 0xD800) * 0x400
        if first <= last:
            yield base + first - 0xDC00, base + last - 0xDC00


def _within(representatives: list[str], ranges: Iterable[tuple[int, int]]) -> set[str]:
    """One character of every indistinguishable set that meets the ranges: their first, and all borders in them."""
    found = set()
    for low, high in ranges:
        low = 0xE000 if 0xD800 <= low <= 0xDFFF else low
        found |= {c for c in [chr(low), *representatives] if low <= ord(c) <= high}
    return found


def _representatives(node: Node) -> list[str]:
    """The first character of every run of characters that the tree cannot tell apart."""
    borders = {0, 0xE000}
    has_strings = False
    for part in _parts(node):
        if isinstance(part, Chars):
            borders |= {border for low, high in part.ranges for border in (low, high + 1)}
        elif isinstance(part, Literals):
            borders |= {border for text in part.texts for c in text for border in (ord(c), ord(c) + 1)}
        has_strings |= isinstance(part, JsonString)
    if has_strings:
        borders |= {border for c in '"\\/bfnrtu' + HEX_DIGITS for border in (ord(c), ord(c) + 1)} | {0x20, 0x10000}
    return [chr(border) for border in sorted(borders) if border <= MAX_CODE_POINT and not 0xD800 <= border < 0xE000]


def _parts(node: Node) -> Iterator[Node]:
    yield node
    for argument in node.args:
        if isinstance(argument, Node):
            yield from _parts(argument)


def members(node: Node, alphabet: Iterable[str], longest: int) -> set[str]:
    """All members up to a length over an alphabet."""
    found: set[str] = set()
    layer = {"": node}
    for _ in range(longest + 1):
        found |= {text for text, rest in layer.items() if nullable(rest)}
        steps = {text + c: derivative(rest, c) for text, rest in layer.items() for c in alphabet}
        layer = {text: rest for text, rest in steps.items() if rest != EMPTY}
    return found
