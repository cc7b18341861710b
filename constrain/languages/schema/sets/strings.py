"""Sets of strings: regular languages of decoded texts, and the few questions that the algebra asks of them."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from itertools import pairwise, product

from constrain.languages.automata import decide
from constrain.languages.automata.shape import first_text
from constrain.languages.automata.syntax import (
    ANY_TEXT,
    Alternate,
    Chars,
    Complement,
    Concat,
    Intersect,
    Literals,
    Node,
    Repeat,
    complement,
    intersect,
    literals,
)
from constrain.languages.schema.formats.bounds import at_most, for_text

MAX_FINITE = 64  # a key language of at most so many texts is turned into names


def meet_strings(a: Node, b: Node) -> Node:
    """Texts in both languages; a finite one is filtered at once."""
    if a == ANY_TEXT or a == b:
        return b
    if b == ANY_TEXT:
        return a
    if isinstance(a, Literals) and isinstance(b, Literals):
        return literals(set(a.texts) & set(b.texts))
    if isinstance(b, Literals):
        a, b = b, a
    if isinstance(a, Literals):
        return literals(text for text in a.texts if matches(b, text))
    return _intersection(a, b)


@lru_cache(maxsize=4096)
def _intersection(a: Node, b: Node) -> Node:
    return intersect(a, b)


@lru_cache(maxsize=65536)
def matches(node: Node, text: str) -> bool:
    """True if the text is in the language. PERF: unions, complements and lists need no automaton."""
    if isinstance(node, Complement):
        return not matches(node.args[0], text)
    if isinstance(node, Literals):
        return text in node.texts
    if isinstance(node, Alternate | Intersect):
        return (any if isinstance(node, Alternate) else all)(matches(part, text) for part in node.args)
    return node == ANY_TEXT or decide.matches(for_text(node, text), text)


def is_void(node: Node) -> bool:
    """True if the language is empty. Where a format is left open in it (`formats/bounds.py`), False is a guess."""
    return decide.is_empty(at_most(node))


def begin_apart(a: Node, b: Node) -> bool:
    """True if the trees show that no text is in both languages, since their texts begin differently."""
    left, right = first_text(a), first_text(b)
    return not (left.startswith(right) or right.startswith(left))


def all_begin_apart(nodes: Iterable[Node]) -> bool:
    """`begin_apart` of each two: in order, a text with which another one begins stands right before such a one."""
    texts = sorted(map(first_text, nodes))
    return not any(right.startswith(left) for left, right in pairwise(texts))


@lru_cache(maxsize=1024)
def plainly_some(node: Node) -> bool:
    """True if the tree shows, without an automaton, that the language is not empty."""
    if isinstance(node, Literals):
        return bool(node.texts)
    if isinstance(node, Chars):
        return bool(node.ranges)
    if isinstance(node, Repeat):
        return node.low == 0 or plainly_some(node.node)
    if isinstance(node, Concat):
        return all(map(plainly_some, node.args))
    return isinstance(node, Alternate) and any(map(plainly_some, node.args))


@lru_cache(maxsize=4096)
def without(language: Node, texts: tuple[str, ...]) -> Node:
    """The language less finitely many texts."""
    if isinstance(language, Literals):
        return literals(set(language.texts) - set(texts))
    found = [text for text in texts if matches(language, text)]
    return intersect(language, complement(literals(found))) if found else language


@lru_cache(maxsize=4096)
def finite_texts(node: Node) -> tuple[str, ...] | None:
    """The texts of a small finite language, if its tree shows that it is one; else None."""
    if isinstance(node, Literals):
        return node.texts if len(node.texts) <= MAX_FINITE else None
    if isinstance(node, Chars):
        size = sum(high - low + 1 for low, high in node.ranges)
        return tuple(chr(c) for low, high in node.ranges for c in range(low, high + 1)) if size <= MAX_FINITE else None
    if isinstance(node, Alternate):
        parts = [finite_texts(part) for part in node.args]
        if any(part is None for part in parts):
            return None
        return _few({text for part in parts for text in part or ()})
    if isinstance(node, Concat):
        return _product([finite_texts(part) for part in node.args])
    if isinstance(node, Repeat) and node.high is not None and node.high <= MAX_FINITE:
        texts_of_one = finite_texts(node.node)
        if texts_of_one is None or (len(texts_of_one) > 1 and node.high > 6):
            return None
        counts = [_product([texts_of_one] * count) for count in range(node.low, node.high + 1)]
        return (
            None if any(count is None for count in counts) else _few({text for count in counts for text in count or ()})
        )
    if isinstance(node, Intersect):
        known = next((texts for part in node.args if (texts := finite_texts(part)) is not None), None)
        return None if known is None else tuple(text for text in known if matches(node, text))
    return None


def _product(parts: list[tuple[str, ...] | None]) -> tuple[str, ...] | None:
    size = 1
    for part in parts:
        size *= MAX_FINITE + 1 if part is None else len(part)
        if size > MAX_FINITE:
            return None
    return _few({"".join(texts) for texts in product(*(part or () for part in parts))})


def _few(texts: set[str]) -> tuple[str, ...] | None:
    return tuple(sorted(texts)) if len(texts) <= MAX_FINITE else None
