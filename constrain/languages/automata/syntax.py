"""Syntax trees of regular languages over *characters* (Unicode code points, no surrogates).

The idea: a terminal, a `pattern`, a string with a length and a number in a range are all one kind of tree, closed under
`&`, `|`, complement and counted repetition. Nothing is expanded here: `a{0,100000}` is one node, and an automaton
state is made only when a text reaches it (lower.py, kernels/lexer/expressions.py).

`JsonString(n)` is the language of JSON string literals, quotes included, whose *decoded* value is in `n`. Every
spelling of every character counts (`a`, `\\u0061`), or only the plain ones, so a language of values needs no knowledge
of escapes.

Build trees with the functions below (`concat`, `alternate`, ...), which keep them small, not with the classes.
Cost: linear in the size of the tree. Trees are immutable and hashable (the hash is computed once).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from constrain.languages.automata.counts import within_counts

MAX_CODE_POINT = 0x10FFFF
SURROGATES = (0xD800, 0xDFFF)
Ranges = tuple[tuple[int, int], ...]  # inclusive, sorted, disjoint, not adjacent, without surrogates


class Node:
    """A regular language of texts, compared by structure. Build trees with the functions below.

    PERF: what is asked again and again of a tree is kept in it: hash, weight (cfg/transform/fold.py; 0: not known), and
    whether there are tokens (None: not known).
    """

    __slots__ = ("_hash", "args", "has_tokens", "weight")

    def __init__(self, *args: Any) -> None:
        self.args: tuple[Any, ...] = args
        self.weight = 0
        self.has_tokens: bool | None = None
        self._hash = hash((type(self).__name__, args))

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, Node) or self._hash != other._hash or type(self) is not type(other):
            return False
        try:
            return self.args == other.args
        except RecursionError:
            return _equal(self, other)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), self.args  # the hash is another one in the next process

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(map(repr, self.args))})"


def _equal(one: Node, other: Node) -> bool:
    """True if two trees are equal that are deeper than Python's stack."""
    pairs = [(one, other)]
    while pairs:
        a, b = pairs.pop()
        if a._hash != b._hash or type(a) is not type(b) or len(a.args) != len(b.args):
            return False
        for part, same in zip(a.args, b.args, strict=True):
            if isinstance(part, Node) and isinstance(same, Node):
                if part is not same:
                    pairs.append((part, same))
            elif part != same:
                return False
    return True


class Chars(Node):
    """One character of a set. args: (ranges,). An empty set is the empty language."""

    __slots__ = ()

    @property
    def ranges(self) -> Ranges:
        return self.args[0]


class Literals(Node):
    """One of finitely many texts. args: (texts,), sorted and distinct; `Literals(("",))` is the empty text."""

    __slots__ = ()

    @property
    def texts(self) -> tuple[str, ...]:
        return self.args[0]


class Concat(Node):
    """The concatenation of the parts. args: the parts, at least two."""

    __slots__ = ()


class Alternate(Node):
    """The union of the parts. args: the parts, at least two."""

    __slots__ = ()


class Repeat(Node):
    """`low` to `high` copies of a part (`high` None: unbounded). args: (node, low, high)."""

    __slots__ = ()

    @property
    def node(self) -> Node:
        return self.args[0]

    @property
    def low(self) -> int:
        return self.args[1]

    @property
    def high(self) -> int | None:
        return self.args[2]


class Intersect(Node):
    """The intersection of the parts. args: the parts, at least two."""

    __slots__ = ()


class Complement(Node):
    """The complement of the part among all texts of characters. args: (node,)."""

    __slots__ = ()


class Remainder(Node):
    """Digit strings whose number is a multiple of `divisor`; decimal points are skipped. args: (divisor,)."""

    __slots__ = ()


class Acyclic(Node):
    """The language of an acyclic automaton with labelled edges, maybe with very many states.

    args: (labels, edges, accepting). A label is a text that is not empty, or one character of a set (`Chars`).
    edges[q]: distinct pairs (index of a label, target) with target > q; a text may have several paths. accepting[q]:
    whether a text may end in q. State 0 is the start. Every state except the start leads to an accepting one.
    """

    @property
    def labels(self) -> tuple[str | Chars, ...]:
        return self.args[0]

    @property
    def edges(self) -> tuple[tuple[tuple[int, int], ...], ...]:
        return self.args[1]

    @property
    def accepting(self) -> tuple[bool, ...]:
        return self.args[2]

    def __repr__(self) -> str:
        return f"Acyclic({len(self.edges)} states)"


class Begun(Node):
    """The shortest byte prefixes, in UTF-8, that only characters of a set have. args: (ranges,).

    That is all of an ASCII character, and one byte or more of any other. A language of bytes, not of characters: it
    lets a lexeme end as soon as the next character is known to be in the set (grammar_text/words.py).
    """

    __slots__ = ()

    @property
    def ranges(self) -> Ranges:
        return self.args[0]


class Tokens(Node):
    """One token of a set, read as one symbol. args: (members, negated). Not a language of characters.

    members: names (str), and inclusive ranges of ids (pairs of int), in any order. negated: any other token, but none
    that ends a text. What a name means, the vocabulary says (vocab/marked.py).
    """

    __slots__ = ()

    @property
    def members(self) -> tuple[str | tuple[int, int], ...]:
        return self.args[0]

    @property
    def negated(self) -> bool:
        return self.args[1]


class JsonString(Node):
    """The JSON string literals, quotes included, whose decoded value is in the part. args: (node, plain). Never nested.

    plain: escapes stand only where RFC 8259 asks for them, and for characters that are not ASCII (lower.py).
    """

    __slots__ = ()

    @property
    def node(self) -> Node:
        return self.args[0]

    @property
    def plain(self) -> bool:
        return self.args[1]


EMPTY = Chars(())  # the empty language
EPSILON = Literals(("",))  # the language of the empty text
ANY_CHAR = Chars(((0, 0xD7FF), (0xE000, MAX_CODE_POINT)))


def chars(ranges: Iterable[tuple[int, int]]) -> Node:
    """One character of the union of inclusive code point ranges, in any order; surrogates are dropped."""
    merged: list[tuple[int, int]] = []
    pairs = sorted(ranges)
    for low, high in pairs:
        if low > high or high >= SURROGATES[0]:
            pairs = sorted(_without_surrogates(pairs))
            break
    for low, high in pairs:
        if merged and low <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(merged[-1][1], high))
        else:
            merged.append((low, high))
    return Chars(tuple(merged))


def _without_surrogates(ranges: Iterable[tuple[int, int]]) -> Iterable[tuple[int, int]]:
    for low, high in ranges:
        if low <= high:
            if low < SURROGATES[0]:
                yield low, min(high, SURROGATES[0] - 1)
            if high > SURROGATES[1]:
                yield max(low, SURROGATES[1] + 1), high


def literal(text: str) -> Node:
    """The language of one text."""
    return Literals((text,))


def literals(texts: Iterable[str]) -> Node:
    """The language of finitely many texts."""
    distinct = tuple(sorted(set(texts)))
    return Literals(distinct) if distinct else EMPTY


def concat(*parts: Node) -> Node:
    """The concatenation of the parts; without parts it is the empty text."""
    flat: list[Node] = []
    for part in parts:  # PERF: comparisons with EMPTY and EPSILON take twice the time
        kind = type(part)
        if kind is Concat:
            flat += part.args
        elif kind is Chars and not part.args[0]:
            return EMPTY
        elif kind is not Literals or part.args[0] != ("",):
            flat.append(part)
    return Concat(*flat) if len(flat) > 1 else flat[0] if flat else EPSILON


def alternate(*parts: Node) -> Node:
    """The union of the parts; character sets and literals are merged."""
    flat: dict[Node, None] = {}
    ranges: list[tuple[int, int]] = []
    texts: set[str] = set()
    stack = list(reversed(parts))
    while stack:
        part = stack.pop()
        if isinstance(part, Alternate):
            stack += reversed(part.args)
        elif isinstance(part, Chars):
            ranges += part.ranges
        elif isinstance(part, Literals):
            texts.update(part.texts)
        else:
            flat[part] = None
    merged = [*flat, *([chars(ranges)] if ranges else []), *([literals(texts)] if texts else [])]
    return Alternate(*merged) if len(merged) > 1 else merged[0] if merged else EMPTY


def repeat(node: Node, low: int = 0, high: int | None = None) -> Node:
    """`low` to `high` copies of a node; `high=None` is unbounded. Raises LimitError if `low` is beyond `MAX_COUNT`."""
    if high is not None and high < low:
        return EMPTY
    if high == 0 or node == EPSILON:
        return EPSILON
    if node == EMPTY:
        return EPSILON if low == 0 else EMPTY
    return node if low == high == 1 else Repeat(node, *within_counts(low, high))


def optional(node: Node) -> Node:
    """The node or the empty text."""
    return repeat(node, 0, 1)


def intersect(*parts: Node) -> Node:
    """The intersection of the parts."""
    flat: dict[Node, None] = {}
    for part in parts:
        for inner in part.args if isinstance(part, Intersect) else (part,):
            if inner == EMPTY:
                return EMPTY
            if inner != ANY_TEXT:
                flat[inner] = None
    distinct = list(flat)
    return Intersect(*distinct) if len(distinct) > 1 else distinct[0] if distinct else ANY_TEXT


def complement(node: Node) -> Node:
    """The texts of characters that are not in the node. Not defined on trees that contain `JsonString`."""
    if isinstance(node, Complement):
        return node.args[0]
    return ANY_TEXT if node == EMPTY else EMPTY if node == ANY_TEXT else Complement(node)


def difference(node: Node, other: Node) -> Node:
    """The texts of the first language that are not in the second."""
    return intersect(node, complement(other))


def json_string(node: Node, plain: bool = False) -> Node:
    """The JSON string literals (quotes included) whose decoded value is in the node, in every spelling or the plain
    ones."""
    return EMPTY if node == EMPTY else JsonString(node, plain)


def with_ids(node: Node, spans: Mapping[Tokens, Ranges]) -> Node:
    """The tree with the sets of tokens as ranges of ids."""
    if isinstance(node, Tokens):
        return Tokens(spans[node], False)
    if not token_sets(node):
        return node
    return type(node)(*(with_ids(part, spans) if isinstance(part, Node) else part for part in node.args))


def shown_tokens(node: Tokens) -> str:
    """A set of tokens in the notation of grammars: its name, or `<[128010,5-7]>`, `<[^...]>`."""
    members = [member if isinstance(member, str) else _span(*member) for member in node.members]
    if len(members) == 1 and not node.negated and isinstance(node.members[0], str):
        return members[0]
    return f"<[{'^' if node.negated else ''}{','.join(members)}]>"


def _span(low: int, high: int) -> str:
    return str(low) if low == high else f"{low}-{high}"


def parts_first(node: Node) -> list[Node]:
    """The parts of a tree and the tree itself, each behind its own parts; one that occurs often occurs once."""
    found: dict[Node, None] = {}
    stack = [(node, False)]
    while stack:
        top, is_open = stack.pop()
        if is_open:
            found[top] = None
        elif top not in found:
            stack.append((top, True))
            stack += [(part, False) for part in top.args if isinstance(part, Node)]
    return list(found)


def token_sets(node: Node) -> list[Tokens]:
    """The sets of tokens in a tree, in order."""
    found: dict[Tokens, None] = {}
    met: dict[Node, None] = {}  # PERF: trees share their parts, and those without tokens are known from then on
    stack = [node]
    while stack:
        top = stack.pop()
        if isinstance(top, Tokens):
            found[top] = None
        elif top.has_tokens is not False and top not in met:
            met[top] = None
            stack += [part for part in reversed(top.args) if isinstance(part, Node)]
    for part in met if not found else ():
        part.has_tokens = False
    return list(found)


ANY_TEXT = Repeat(ANY_CHAR, 0, None)
