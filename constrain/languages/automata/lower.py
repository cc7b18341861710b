"""Lowers syntax trees over characters to expressions over bytes.

A character is spelled as its UTF-8 bytes (RFC 3629), or, inside a `JsonString`, in every way that RFC 8259 section 7
allows: itself (if it needs no escape), a short escape, `\\uXXXX` with hex digits of either case, or a surrogate pair of
those. Plain spellings are what serializers write: a short escape or `\\u00XX` where section 7 asks for one, `\\uXXXX`
also for what is not ASCII (`ensure_ascii` in Python), and nothing else but the character
itself. The spellings form a prefix code, so concatenation, union, repetition and intersection of languages carry over
to their spellings; a complement is taken among all well-spelled texts.

Cost: one kernel call for each node, cached in the store; character sets are cached too.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from constrain.kernels.records import arena
from constrain.kernels.records.arena import HEADER
from constrain.kernels.records.expressions import ANY_CHARACTER, CHARACTER, EXPRESSION, UNIVERSAL
from constrain.languages.automata import syntax
from constrain.languages.automata.digits import Sequence, digit_sequences
from constrain.languages.automata.store import Store
from constrain.languages.automata.syntax import (
    Acyclic,
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
    parts_first,
)
from constrain.languages.automata.unicode import intervals
from constrain.limits import look, tick

SHORT_ESCAPES = {0x22: '"', 0x5C: "\\", 0x2F: "/", 0x08: "b", 0x0C: "f", 0x0A: "n", 0x0D: "r", 0x09: "t"}
PLAIN_ESCAPES = {c: s for c, s in SHORT_ESCAPES.items() if s != "/"}  # no serializer but PHP's escapes a slash
CHARACTERS_PER_LOOK = 1 << 16  # of a text; 2 to 4 ms
MUST_ESCAPE = ((0x00, 0x1F), (0x22, 0x22), (0x5C, 0x5C))  # RFC 8259, section 7
MAY_NUMBER = ((0x00, 0x1F), (0x7F, 0xD7FF), (0xE000, 0x10FFFF))  # plainly also `\uXXXX`: control and not ASCII


def lower(store: Store, node: Node) -> int:
    """The pruned expression of a tree; `arena.NONE` if its language is empty. Raises LimitError."""
    expression = store.lowered.get(node)
    if expression is None:
        if type(node) is JsonString and type(node.args[0]) is Literals:  # it has no empty parts to prune
            expression = _json_string(store, node, utf8)
        else:
            expression = store.prune(_lower_all(store, node))
        store.lowered.keep(node, expression)
    return expression


Spelling = Callable[[Store, Ranges], int]


def _lower_all(store: Store, node: Node) -> int:
    """Lower a tree; one that is deeper than Python's stack from its innermost parts outwards."""
    try:
        return _lower(store, node, utf8)
    except RecursionError:
        for part in parts_first(node):
            if isinstance(part, JsonString):
                for inner in parts_first(part.node):
                    _lower(store, inner, plain_json if part.plain else json)
            _lower(store, part, utf8)
        return _lower(store, node, utf8)


def _lower(store: Store, node: Node, spell: Spelling) -> int:
    key = (node, spell)
    expression = store.lowered.get(key)
    if expression is None:
        tick()
        expression = store.lowered.keep(key, _LOWER[type(node)](store, node, spell))
    return expression


def _chars(store: Store, node: Node, spell: Spelling) -> int:
    assert isinstance(node, Chars)
    e = spell(store, node.ranges)
    flags = CHARACTER | (ANY_CHARACTER if node == syntax.ANY_CHAR else 0)
    if e != arena.NONE:
        store.memory.A[e + EXPRESSION.FLAGS] |= flags | store.alphabet.covered_slices(node.ranges)
    return e


def _beginning(store: Store, node: Node, spell: Spelling) -> int:
    assert isinstance(node, Begun)
    sequences = (beginning(s) for low, high in node.ranges for s in utf8_sequences(low, high))
    return _sequences(store, tuple(dict.fromkeys(sequences)))


def _literals(store: Store, node: Node, spell: Spelling) -> int:
    assert isinstance(node, Literals)
    characters = _characters(store, "".join(node.texts), spell)
    starts = [0, *accumulate(map(len, node.texts))]
    if len(node.texts) == 1:
        return store.concat(characters)
    return store.trie(characters, starts)


def _characters(store: Store, text: str, spell: Spelling) -> list[int]:
    """The expressions of the characters of a text."""
    known = store.characters[spell]
    out: list[int] = []
    for start in range(0, len(text), CHARACTERS_PER_LOOK):
        if start:
            look()
        part = text[start : start + CHARACTERS_PER_LOOK]
        for c in set(part) - known.keys():
            _character(store, c, spell)
        out += map(known.__getitem__, part)
    return out


def _character(store: Store, c: str, spell: Spelling) -> int:
    expression = store.characters[spell].get(c)
    if expression is None:
        expression = store.characters[spell][c] = spell(store, ((ord(c), ord(c)),))
    return expression


def spelled(store: Store) -> list[int]:
    """The expressions of ASCII characters inside a JSON string, a quote around one, and those of ASCII characters in
    plain spelling (lexer/spelling.py)."""
    every, plain = ([_character(store, chr(c), spell) for c in range(128)] for spell in (json, plain_json))
    return [*every, _character(store, '"', utf8), *plain]


def _acyclic(store: Store, node: Node, spell: Spelling) -> int:
    """Built from the last state backwards: a state is a trie of its labels, each followed by its target."""
    assert isinstance(node, Acyclic)
    labels = [
        _characters(store, label, spell) if isinstance(label, str) else [_lower(store, label, spell)]
        for label in node.labels
    ]
    states = [arena.NONE] * len(node.edges)
    for q in reversed(range(len(states))):
        runs = [labels[label] + ([] if states[to] == arena.EPS else [states[to]]) for label, to in node.edges[q]]
        if node.accepting[q]:
            runs.append([])
        runs.sort()
        ends = list(accumulate(map(len, runs)))
        states[q] = store.trie([c for run in runs for c in run], [0, *ends]) if runs else arena.NONE
    return states[0]


def _concat(store: Store, node: Node, spell: Spelling) -> int:
    return store.concat([_lower(store, part, spell) for part in node.args])


def _alternate(store: Store, node: Node, spell: Spelling) -> int:
    return store.union([_lower(store, part, spell) for part in node.args])


def _repeat(store: Store, node: Node, spell: Spelling) -> int:
    assert isinstance(node, Repeat)
    e = store.repeat(_lower(store, node.node, spell), node.low, node.high)
    if node == syntax.ANY_TEXT:
        store.memory.A[e + EXPRESSION.FLAGS] |= UNIVERSAL
    return e


def _intersect(store: Store, node: Node, spell: Spelling) -> int:
    """With a positive part, complements need no restriction to well-spelled texts: the positive part implies it."""
    positive = [_lower(store, part, spell) for part in node.args if not isinstance(part, Complement)]
    negative = [store.complement(_lower(store, p.args[0], spell)) for p in node.args if isinstance(p, Complement)]
    return store.intersection((positive or [_lower(store, syntax.ANY_TEXT, spell)]) + negative)


def _complement(store: Store, node: Node, spell: Spelling) -> int:
    return _intersect(store, Intersect(node), spell)


def _json_string(store: Store, node: Node, spell: Spelling) -> int:
    assert isinstance(node, JsonString)
    quote = _character(store, '"', utf8)
    part, spell = node.node, plain_json if node.plain else json
    if type(part) is Literals and len(part.texts) == 1:  # one flat concatenation: its suffixes are the states to come
        return store.concat([quote, *_characters(store, part.texts[0], spell), quote])
    if (
        type(part) is Literals
        and store.memory.A[HEADER.SPELLED]
        and len(part.texts) > 1
        and all(map(str.isascii, part.texts))
    ):
        return store.strings(part.texts, node.plain)
    return store.concat([quote, _lower(store, part, spell), quote])


def _remainder(store: Store, node: Node, spell: Spelling) -> int:
    assert isinstance(node, Remainder)
    digits = store.lowered.get("digits")
    if digits is None:
        sets = [store.byte_set(_members(((byte, byte),))) for byte in b"0123456789."]
        digits = store.lowered.keep("digits", store.memory.region(sets))
    return store.remainder(node.args[0], digits)


def _tokens(store: Store, node: Node, spell: Spelling) -> int:
    assert isinstance(node, Tokens)
    return _sequences(store, store.alphabet.marks(node))


_LOWER: dict[type[Node], Callable[[Store, Node, Spelling], int]] = {
    Chars: _chars,
    Literals: _literals,
    Acyclic: _acyclic,
    Concat: _concat,
    Alternate: _alternate,
    Begun: _beginning,
    Repeat: _repeat,
    Intersect: _intersect,
    Complement: _complement,
    JsonString: _json_string,
    Remainder: _remainder,
    Tokens: _tokens,
}


# --- spellings --------------------------------------------------------------------------------------------------------


def utf8(store: Store, ranges: Ranges) -> int:
    """The expression of one character of a set, in UTF-8."""
    return _sequences(store, tuple(s for low, high in ranges for s in utf8_sequences(low, high)))


def json(store: Store, ranges: Ranges) -> int:
    """The expression of one character of a set, in every spelling of a JSON string."""
    return _json_character(store, ranges, SHORT_ESCAPES, ranges)


def plain_json(store: Store, ranges: Ranges) -> int:
    """The expression of one character of a set, in its plain spellings."""
    return _json_character(store, ranges, PLAIN_ESCAPES, intervals.common(ranges, MAY_NUMBER))


def _json_character(store: Store, ranges: Ranges, escapes: dict[int, str], numbered: Ranges) -> int:
    """One character of a set: itself, a short escape out of these, or, if it is in `numbered`, by its number."""
    raw = utf8(store, intervals.subtract(ranges, MUST_ESCAPE))
    short = [s for c, s in escapes.items() if any(low <= c <= high for low, high in ranges)]
    after = [_sequences(store, tuple(((ord(s), ord(s)),) for s in short))] if short else []
    basic = tuple(r for r in numbered if r[0] <= 0xFFFF)
    if basic:
        after.append(store.concat([_character(store, "u", utf8), _hex(store, basic)]))
    if numbered and numbered[-1][1] > 0xFFFF:
        after.append(_surrogate_pairs(store, numbered))
    if not after:
        return raw
    backslash = _character(store, "\\", utf8)
    return store.union([raw, store.concat([backslash, store.union(after)])])


def _surrogate_pairs(store: Store, ranges: Ranges) -> int:
    """`uD8xx\\uDCxx` (without the first backslash) for the characters above U+FFFF; RFC 8259, section 7."""
    seconds: dict[tuple[int, int], list[tuple[int, int]]] = {}  # by high surrogates
    for low, high in ranges:
        for first, second in pair_ranges(max(low, 0x10000) - 0x10000, high - 0x10000):
            seconds.setdefault(first, []).append(second)
    firsts: dict[Ranges, list[tuple[int, int]]] = {}  # low surrogates -> high surrogates before them
    for first, following in seconds.items():
        firsts.setdefault(tuple(following), []).append(first)
    u, backslash = _character(store, "u", utf8), _character(store, "\\", utf8)
    parts = [
        store.concat([u, _hex(store, tuple(high)), backslash, u, _hex(store, low)]) for low, high in firsts.items()
    ]
    return store.union(parts) if parts else arena.NONE


def pair_ranges(low: int, high: int) -> list[Sequence]:
    """Split a range of 20-bit numbers into products (high surrogates) x (low surrogates)."""
    out: list[Sequence] = []
    while low <= high:
        top = low >> 10
        if low & 0x3FF == 0 and high >> 10 > top:  # all complete rows at once
            last = (high + 1 >> 10) - 1
            out.append(((0xD800 + top, 0xD800 + last), (0xDC00, 0xDFFF)))
            low = (last + 1) << 10
        else:
            end = min(high, (top << 10) + 0x3FF)
            out.append(((0xD800 + top, 0xD800 + top), (0xDC00 + (low & 0x3FF), 0xDC00 + (end & 0x3FF))))
            low = end + 1
    return out


def _hex(store: Store, ranges: Ranges) -> int:
    """Four hex digits, in either case, of a number up to 0xFFFF in the ranges."""
    sequences = [s for low, high in ranges for s in digit_sequences(low, min(high, 0xFFFF), 4, 16)]
    return _sequences(store, tuple(sequences), _hex_members)


Members = Callable[[Ranges], NDArray[np.bool_]]


def _sequences(store: Store, sequences: tuple[Sequence, ...], members: Members | None = None) -> int:
    """The union of sequences of ranges; sequences with equal tails share them."""
    members = members or _members
    if not sequences:
        return arena.NONE
    if sequences == ((),):
        return arena.EPS
    expression = store.spellings.get((sequences, members))
    if expression is not None:
        return expression
    by_first: dict[tuple[int, int], list[Sequence]] = {}
    for sequence in sequences:
        by_first.setdefault(sequence[0], []).append(sequence[1:])
    by_rest: dict[tuple[Sequence, ...], list[tuple[int, int]]] = {}
    for first, rests in by_first.items():
        by_rest.setdefault(tuple(rests), []).append(first)
    parts = []
    for following, firsts in by_rest.items():
        head = _byte_set(store, tuple(firsts), members)
        parts.append(head if following == ((),) else store.concat([head, _sequences(store, following, members)]))
    return store.spellings.keep((sequences, members), parts[0] if len(parts) == 1 else store.union(parts))


def _byte_set(store: Store, ranges: Ranges, members: Members) -> int:
    expression = store.spellings.get((ranges, members))
    if expression is None:
        expression = store.spellings.keep((ranges, members), store.byte_set(members(ranges)))
    return expression


def _members(ranges: Ranges) -> NDArray[np.bool_]:
    """bool[256]: the bytes in the ranges."""
    out = np.zeros(256, np.bool_)
    for low, high in ranges:
        out[low : high + 1] = True
    return out


def _hex_members(ranges: Ranges) -> NDArray[np.bool_]:
    """bool[256]: the hex digits whose values are in the ranges."""
    digits = "".join("0123456789abcdef"[low : high + 1] for low, high in ranges)
    return _members(tuple((ord(c), ord(c)) for c in digits + digits.upper()))


_LENGTHS = ((0x00, 0x7F), (0x80, 0x7FF), (0x800, 0xFFFF), (0x10000, 0x10FFFF))  # RFC 3629, section 3


@lru_cache(maxsize=4096)
def utf8_sequences(low: int, high: int) -> tuple[Sequence, ...]:
    """The byte ranges of the UTF-8 of a range of code points, in order."""
    out: list[Sequence] = []
    for length, (first, last) in enumerate(_LENGTHS, start=1):
        start, end = max(low, first), min(high, last)
        if start <= end:
            lead = (0x00, 0xC0, 0xE0, 0xF0)[length - 1]
            for digits in digit_sequences(start, end, length, 64 if length > 1 else 128):
                (a, b), *rest = digits
                out.append(((lead + a, lead + b), *((0x80 + c, 0x80 + d) for c, d in rest)))
    return tuple(out)


def beginning(sequence: Sequence) -> Sequence:
    """A sequence of byte ranges without its last ranges that contain every possible byte at their place."""
    kept = len(sequence)
    while kept > 1 and sequence[kept - 1] == (_SECOND.get(sequence[0], (0x80, 0xBF)) if kept == 2 else (0x80, 0xBF)):
        kept -= 1
    return sequence[:kept]


_SECOND = {  # the possible second bytes after some first bytes: RFC 3629, section 4
    (0xE0, 0xE0): (0xA0, 0xBF),
    (0xED, 0xED): (0x80, 0x9F),
    (0xF0, 0xF0): (0x90, 0xBF),
    (0xF4, 0xF4): (0x80, 0x8F),
}
