r"""Quotients and the reversal of regular languages, as rewritings of syntax trees.

    left_quotient(L, v)  = {w : v w in L}          right_quotient(L, v) = {w : w v in L}
    right_quotient_by(L, M) = {w : w v in L for some v in M}

The idea: Brzozowski's derivative ("Derivatives of regular expressions", JACM 1964) rewrites a syntax tree, and so does
reversal; a right quotient is the reversal of a left one. No automaton is built. `JsonString(n)` is first written out
(`spelled`): the characters of `n` in all their spellings (RFC 8259, section 7). The spellings form a prefix code, so
concatenation and repetition carry over, and so do intersection and complement among well-spelled texts.

Cost: one derivative for each character, cached. The functions of syntax.py normalise trees, so few are distinct.
Limit: LimitError for `Remainder`, whose tree cannot represent a remainder other than 0.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from constrain.errors import LimitError
from constrain.languages.automata import syntax
from constrain.languages.automata.digits import digit_sequences
from constrain.languages.automata.lower import MAY_NUMBER, MUST_ESCAPE, PLAIN_ESCAPES, SHORT_ESCAPES, pair_ranges
from constrain.languages.automata.shape import mirror, nullable
from constrain.languages.automata.syntax import (
    Alternate,
    Begun,
    Chars,
    Complement,
    Concat,
    Intersect,
    JsonString,
    Literals,
    Node,
    Ranges,
    Remainder,
    Repeat,
    Tokens,
)
from constrain.languages.automata.unicode import intervals

REMEMBERED = 1 << 16
MAX_PAIRS = 1000  # of derivatives in `right_quotient_by`


def left_quotient(node: Node, text: str) -> Node:
    """The texts that may follow the text: {w : text w in node}. Raises LimitError."""
    for character in text:
        if node == syntax.EMPTY:
            break
        node = _derivative(node, ord(character))
    return node


def right_quotient(node: Node, text: str) -> Node:
    """The texts that may precede the text: {w : w text in node}. Raises LimitError."""
    return reverse(left_quotient(reverse(node), text[::-1])) if text else node


def right_quotient_by(node: Node, ends: Node) -> Node:
    """The texts that some end may follow: {w : w v in node for some v in ends}. Raises LimitError.

    The idea: read both languages from their ends at once; wherever an end is complete, what is left of the node counts.
    """
    start = reverse(node), reverse(ends)
    seen, queue = {start}, [start]
    beginnings: dict[Node, None] = {}
    for reversed_node, reversed_ends in queue:  # it grows
        if nullable(reversed_ends):
            beginnings[reversed_node] = None
        for c in _representatives(reversed_node, reversed_ends):
            derivatives = _derivative(reversed_node, c), _derivative(reversed_ends, c)
            if syntax.EMPTY in derivatives or derivatives in seen:
                continue
            if len(seen) == MAX_PAIRS:
                message = f"what stands before these ends needs more than {MAX_PAIRS} states to find out"
                raise LimitError(message, fix="use a simpler end, such as a few fixed texts")
            seen.add(derivatives)
            queue.append(derivatives)
    return reverse(syntax.alternate(*beginnings)) if beginnings else syntax.EMPTY


def _representatives(*nodes: Node) -> list[int]:
    """One character of each class that the trees do not tell apart."""
    edges = {0}
    stack = list(nodes)
    while stack:
        top = stack.pop()
        if isinstance(top, Chars):
            edges |= {edge for low, high in top.ranges for edge in (low, high + 1)}
        elif isinstance(top, Literals):
            edges |= {edge for text in top.texts for c in text for edge in (ord(c), ord(c) + 1)}
        else:
            stack += [part for part in top.args if isinstance(part, Node)]
    return sorted(edge for edge in edges if edge <= syntax.MAX_CODE_POINT and not 0xD800 <= edge < 0xE000)


@lru_cache(maxsize=REMEMBERED)
def reverse(node: Node) -> Node:
    """The reversal of the language, character by character. Raises LimitError."""
    plain = spelled(node)
    if _divides(plain):
        raise _cannot_cut()
    return mirror(plain)


@lru_cache(maxsize=REMEMBERED)
def _divides(node: Node) -> bool:
    """True if a tree contains a `Remainder`."""
    return isinstance(node, Remainder) or any(_divides(part) for part in node.args if isinstance(part, Node))


@lru_cache(maxsize=REMEMBERED)
def _derivative(node: Node, c: int) -> Node:
    """The derivative by a character."""
    if isinstance(node, Chars):
        return syntax.EPSILON if any(low <= c <= high for low, high in node.ranges) else syntax.EMPTY
    if isinstance(node, Literals):
        return syntax.literals(text[1:] for text in node.texts if text and ord(text[0]) == c)
    if isinstance(node, Concat):
        first, rest = node.args[0], syntax.concat(*node.args[1:])
        longer = syntax.concat(_derivative(first, c), rest)
        return syntax.alternate(longer, _derivative(rest, c)) if nullable(first) else longer
    if isinstance(node, Repeat):
        fewer = syntax.repeat(node.node, max(node.low - 1, 0), None if node.high is None else node.high - 1)
        return syntax.concat(_derivative(node.node, c), fewer)
    if isinstance(node, JsonString):
        return _derivative(spelled(node), c)
    if isinstance(node, Begun | Tokens):
        return syntax.EMPTY
    if isinstance(node, Remainder):
        raise _cannot_cut()
    return _rebuilt(node, lambda part: _derivative(part, c))


def _rebuilt(node: Node, change: Callable[[Node], Node]) -> Node:
    """The node with a function applied to its parts. The function must distribute over boolean operations."""
    if isinstance(node, Chars):
        return node
    if isinstance(node, Repeat):
        return syntax.repeat(change(node.node), node.low, node.high)
    if isinstance(node, Complement):
        return syntax.complement(change(spelled(node.args[0])))
    build = syntax.intersect if isinstance(node, Intersect) else syntax.alternate
    assert isinstance(node, Intersect | Alternate)
    return build(*map(change, node.args))


def _cannot_cut() -> LimitError:
    return LimitError(
        "a number that must be a multiple of another cannot be cut in two, or read from its end",
        fix="leave multipleOf out, or let the whole value be generated",
    )


# --- JSON strings -----------------------------------------------------------------------------------------------------


@lru_cache(maxsize=REMEMBERED)
def spelled(node: Node) -> Node:
    """An equal language without `JsonString`: every spelling of every character is written out."""
    if isinstance(node, JsonString):
        quote = syntax.literal('"')
        return syntax.concat(quote, _body(node.node, node.plain), quote)
    if isinstance(node, Concat):
        return syntax.concat(*map(spelled, node.args))
    if isinstance(node, Chars | Literals | Remainder | Tokens):
        return node
    if isinstance(node, Begun):  # a language of bytes: no text of characters is in it
        return syntax.EMPTY
    return _rebuilt(node, spelled)


@lru_cache(maxsize=REMEMBERED)
def _body(node: Node, plain: bool) -> Node:
    """The spellings of a language of decoded characters."""
    if isinstance(node, Chars):
        return _spellings(node.ranges, plain)
    if isinstance(node, Literals):
        texts = (syntax.concat(*(_spellings(((ord(c), ord(c)),), plain) for c in text)) for text in node.texts)
        return syntax.alternate(*texts)
    if isinstance(node, Concat):
        return syntax.concat(*(_body(part, plain) for part in node.args))
    if isinstance(node, Complement):
        return syntax.difference(_body(syntax.ANY_TEXT, plain), _body(node.args[0], plain))
    if isinstance(node, Remainder):
        raise _cannot_cut()
    return _rebuilt(node, lambda part: _body(part, plain))


@lru_cache(maxsize=4096)
def _spellings(ranges: Ranges, plain: bool) -> Node:
    """One character of a set: itself, a short escape, four hex digits, or a surrogate pair of those."""
    itself = Chars(intervals.subtract(ranges, MUST_ESCAPE))
    escapes = PLAIN_ESCAPES if plain else SHORT_ESCAPES
    numbers = intervals.common(ranges, MAY_NUMBER) if plain else ranges
    short = [s for c, s in escapes.items() if any(low <= c <= high for low, high in ranges)]
    basic = [_hex4(low, min(high, 0xFFFF)) for low, high in numbers if low <= 0xFFFF]
    pairs = [
        syntax.concat(_hex4(*first), syntax.literal("\\u"), _hex4(*second))
        for low, high in numbers
        for first, second in pair_ranges(max(low, 0x10000) - 0x10000, high - 0x10000)
    ]
    numbered = syntax.concat(syntax.literal("u"), syntax.alternate(*basic, *pairs))
    escaped = syntax.concat(syntax.literal("\\"), syntax.alternate(syntax.literals(short), numbered))
    return syntax.alternate(itself, escaped)


@lru_cache(maxsize=4096)
def _hex4(low: int, high: int) -> Node:
    """Four hex digits, in either case, of a number in a range."""
    digits = "0123456789abcdef"
    return syntax.alternate(
        *(
            syntax.concat(
                *(
                    syntax.chars((ord(c), ord(c)) for d in digits[a : b + 1] for c in (d, d.upper()))
                    for a, b in sequence
                )
            )
            for sequence in digit_sequences(low, high, 4, 16)
        )
    )
