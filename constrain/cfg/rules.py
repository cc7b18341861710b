"""Rules: what a parser knows of a language. Terminals are regular languages, nonterminals are alternatives of symbols.

The idea: a nonterminal is asked for its alternatives only when a text first reaches it (`expand`), so that a grammar
may be endless — a JSON Schema with recursive references, an object that remembers the keys it has seen — and compiling
costs what a generation visits. Nonterminals that are equal (`==`, `hash`) are one nonterminal to the engine: give
equal keys to equal languages and lists loop back to states that exist already.

Limits: a list rule is best written left-recursive. Alternatives must be *productive*: each symbol of each alternative
derives some text (`analysis` sees to it for grammar texts, the emptiness test for schemas), else a mask could lead
into a dead end.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from constrain.automata.syntax import Node, Ranges


class Context(NamedTuple):
    """Texts (`node`) that count where the character before them is in `before` (at_start: or there is none) and the one
    behind them is in `after` (at_end: or there is none)."""

    before: Ranges
    at_start: bool
    after: Ranges
    at_end: bool
    node: Node


@dataclass(slots=True)
class Terminal:
    """A lexeme: a regular language of texts (UTF-8 when spelled). Not to be changed.

    node: the language; may contain the empty text.
    name: for messages only; not part of its identity.
    priority, literal: which terminal wins under `lexer="greedy"` — higher priority, then literals before regexes.
    excluding: terminals whose texts do not count as this one, though `node` may contain them: an additional key is
    "any JSON
      string, excluding the declared ones". Cheaper than a difference of languages, since all such terminals share their
      states. No prefix of a text may run out of all continuations but excluded ones: give finite languages to exclude
      from one without such prefixes ("any JSON string"). Under `lexer="greedy"` what is excluded competes for the
      longest match, and counts as nothing when it wins (`words`).
    after: the terminals that are ignored from here on, until a terminal says otherwise; None: no change. For
      `lexer="greedy"` only.
    beside: where only some texts of `node` count, by the characters beside them; the engine knows no such terminals,
      `beside.settled` makes others of them.
    """

    node: Node
    name: str = field(default="", compare=False)
    priority: int = 0
    literal: bool = False
    excluding: frozenset[Terminal] = frozenset()
    after: tuple[Terminal, ...] | None = None
    beside: tuple[Context, ...] = ()

    _hash: int = field(init=False, repr=False, compare=False)  # asked for at every place where the terminal stands

    def __post_init__(self) -> None:
        identity = self.node, self.priority, self.literal, self.excluding, self.after, self.beside
        self._hash = hash(identity)  # PERF: of a frozen class, `__init__` takes three times as long

    def __hash__(self) -> int:
        return self._hash

    def __reduce__(self) -> tuple[Any, ...]:  # the hash is another one in the next process
        context = (self.node, self.name, self.priority, self.literal, self.excluding, self.after, self.beside)
        return Terminal, context


Part = tuple[Hashable, ...]


class Values(NamedTuple):
    """Where the values of a list come from: value(part) is a symbol, and if it is a nonterminal of this grammar alone,
    prefix + part is its `key`."""

    prefix: Part
    value: Callable[[Any], Symbol]


class Punctuation:
    """What stands in every list of pairs; compared by identity.

    any_key: any key at all. separator, close, between, behind: see `ObjectRules`; each literal or nullable.
    """

    def __init__(
        self,
        any_key: Terminal,
        separator: Sequence[Symbol],
        close: Sequence[Symbol],
        between: Sequence[Symbol],
        behind: Sequence[Symbol],
    ) -> None:
        self.any_key = any_key
        self.lists = separator, close, between, behind


class ObjectRules(NamedTuple):
    """Nonterminals of a list of n pairs in a fixed order, and of others behind them, many at once:

        first      -> close | member(0)
        member(i)  -> key(i) between value(i) behind next(i + 1) | member(i + 1)    (the latter unless must[i])
        next(i)    -> close | separator member(i)                                    (the former if none of must[i:])
        member(n)  -> any other key between value(n) behind next(n + 1)
        next(n + 1) -> close | separator member'(n)        member'(n): the same as member(n); both are watched

    key: says which chain it is (`Nonterminal.place`). texts: key(i) is the JSON string of texts[i], in every spelling;
      those behind the n are of keys that must not come.
    parts: value(i) is what `values` make of parts[i]; one more if there are other keys (`rest`).
    begins: the nonterminal whose chain it is is `first`; else it is member(0).
    beyond: member(n) if it is no place of this chain; None: nothing else comes there. open: something must come there.
    """

    key: Hashable
    name: str
    begins: bool
    texts: Sequence[str]
    parts: Sequence[Part]
    values: Values
    must: Sequence[bool]
    rest: bool
    beyond: Nonterminal | None
    open: bool
    punctuation: Punctuation


class ListRules(NamedTuple):
    """Nonterminals of a list of equals, both at once:

        first -> close | value behind next       (the former if it may be `empty`)
        next  -> close | separator value behind next

    key, name: see `ObjectRules`. The value is what `values` make of `part`.
    """

    key: Hashable
    name: str
    part: Part
    values: Values
    empty: bool
    separator: Sequence[Symbol]
    close: Sequence[Symbol]
    behind: Sequence[Symbol]


class Nonterminal:
    """A named set of alternatives, each a sequence of symbols. An empty sequence is the empty text.

    expand: called at most once per engine, when a text first reaches the nonterminal, and again after the engine
      forgot its states. Subclasses may define it as a method.
    key: equal keys, equal language; None: equal to itself only.
    right_recursive: some alternative ends (up to nullable symbols) in a symbol that leads back here; such tails are
      parsed in constant space (`analysis` finds them).
    watched: while it is still to come in a rule that was begun, the constraint's guard has to be asked (`guards`).
    check: what no rule can say of a text of it: None if all is well, else one sentence. Asked of a finished text
      (`finished`).
    shared: other grammars may have it too, so that the engine keeps what it knows of it when this one is gone.
    expansion: the alternatives, once somebody outside the engine asked for them (`walk`).
    chain: the same as `expand`, together with those of the places behind it, for an engine that makes them at once;
      None: there is no such chain.
    place: (key of a chain, number) if it is one of its places: next(i + 1) has number i, member(i) n + i, next(n + 1)
      2 n + 1 and member'(n) 2 n + 2; the next of a repetition has number 0. Asked of nonterminals that are `chained`.
    """

    __slots__ = ("_expand", "check", "expansion", "key", "name", "right_recursive", "shared", "watched")
    chained = False  # whether there may be a chain or a place

    def __init__(
        self,
        name: str,
        expand: Callable[[], Sequence[Sequence[Symbol]]] | None = None,
        key: Hashable = None,
        right_recursive: bool = False,
        watched: bool = False,
        check: Callable[[str], str | None] | None = None,
        shared: bool = False,
    ) -> None:
        self.name = name
        self._expand = expand
        self.key = key
        self.right_recursive = right_recursive
        self.watched = watched
        self.check = check
        self.expansion: Sequence[Sequence[Symbol]] | None = None
        self.shared = shared

    def expand(self) -> Sequence[Sequence[Symbol]]:
        """The alternatives."""
        assert self._expand is not None, "a subclass without alternatives"
        return self._expand()

    def chain(self) -> ObjectRules | ListRules | None:
        """See above."""
        return None

    @property
    def place(self) -> tuple[Hashable, int] | None:
        """See above."""
        return None

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return isinstance(other, Nonterminal) and self.key is not None and self.key == other.key

    def __hash__(self) -> int:
        return id(self) if self.key is None else hash(self.key)

    def __repr__(self) -> str:
        return f"Nonterminal({self.name!r})"


Symbol = Terminal | Nonterminal
Lexer = Literal["dynamic", "greedy"]


@dataclass(frozen=True)
class Grammar:
    """A start symbol with all that it reaches.

    ignore: terminals that may stand between any two lexemes, before the first and after the last (Lark's `%ignore`).
    lexer: "dynamic" — every segmentation into lexemes counts; "greedy" — the longest lexeme that the parser admits.
    closing: at most one byte; a text is a member too if it is one with this byte at its end.
    watched: the constraint's guard has to be asked from beginning to end, whatever nonterminals say.
    """

    start: Nonterminal
    ignore: tuple[Terminal, ...] = ()
    lexer: Lexer = "dynamic"
    closing: bytes = b""
    watched: bool = False
