"""Grammar rules as the parser takes them: terminals are regular languages, nonterminals are alternatives of symbols.

The idea: a nonterminal is asked for its alternatives only when a text first reaches it (`expand`). So a grammar may be
infinite (a JSON Schema with recursive references, an object that remembers the keys it has seen), and compiling costs
only what a generation visits. Equal nonterminals (`==`, `hash`) are one nonterminal to the engine: give equal keys to
equal languages, and lists loop back to states that exist already.

Limits: a list rule is best written left-recursive. Alternatives must be *productive*: each symbol of each alternative
derives some text, else a mask could lead into a dead end. transform/analysis.py removes unproductive alternatives of
grammar texts; the package schema tests emptiness before it offers one.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, NamedTuple, get_args

from constrain.errors import GrammarError
from constrain.languages.automata.syntax import Node, Ranges


class LookaroundContext(NamedTuple):
    """Lookaround context of a terminal: the texts that count between certain characters.

    Attributes:
        before: The characters that may stand directly before the text.
        at_start: The text may also stand at the very beginning.
        after: The characters that may stand directly after the text.
        at_end: The text may also stand at the very end.
        node: The texts that count there.
    """

    before: Ranges
    at_start: bool
    after: Ranges
    at_end: bool
    node: Node


@dataclass(slots=True)
class Terminal:
    """A regular language whose texts are the lexemes of a grammar. Treat as immutable.

    Attributes:
        node: The language; it may contain the empty text.
        name: For messages only; not part of the identity.
        priority: Under `lexer="greedy"` the terminal with the higher priority wins a tie.
        literal: The terminal is one fixed text. Literals win a tie of equal priority.
        excluding: Terminals whose texts do not count as texts of this one, although `node` may contain them. An
            undeclared key is "any JSON string, excluding the declared keys". This is cheaper than a difference of
            languages, because all such terminals share their states. Requirement: after each prefix of a text some
            continuation is not excluded; it holds when a finite language is excluded from one like "any JSON
            string". Under `lexer="greedy"` an excluded text competes for the longest match, and is no lexeme if it
            wins.
        ignored_after: The terminals to ignore after this one, until another terminal says otherwise; None: no change.
            Only for `lexer="greedy"`.
        contexts: If not empty, texts of `node` count only in these contexts. The engine knows no such terminals:
            `transform.contexts.eliminate_context` rewrites them.
    """

    node: Node
    name: str = field(default="", compare=False)
    priority: int = 0
    literal: bool = False
    excluding: frozenset[Terminal] = frozenset()
    ignored_after: tuple[Terminal, ...] | None = None
    contexts: tuple[LookaroundContext, ...] = ()

    _hash: int = field(init=False, repr=False, compare=False)  # needed for every occurrence of the terminal in a rule

    def __post_init__(self) -> None:
        identity = self.node, self.priority, self.literal, self.excluding, self.ignored_after, self.contexts
        self._hash = hash(identity)  # PERF: the class is not frozen, because that makes `__init__` three times slower

    def __hash__(self) -> int:
        return self._hash

    def __reduce__(self) -> tuple[Any, ...]:  # the hash is another one in the next process
        fields = (self.node, self.name, self.priority, self.literal, self.excluding, self.ignored_after, self.contexts)
        return Terminal, fields


class Plainest(NamedTuple):
    """The layout with the fewest separators, of all that a text may choose.

    Attributes:
        nonterminal: The one that stands for another one in that layout.
        indent: Bytes by which another layout indents each level, at most.
        depth: The levels that are indented, at most.
    """

    nonterminal: Nonterminal
    indent: int
    depth: int


class Nonterminal:
    """A named set of alternatives, each a sequence of symbols. An empty sequence is the empty text.

    Args:
        name: For messages.
        expand: Returns the alternatives. The engine calls it once, when a text first reaches the nonterminal, and
            again after it forgot its states. Subclasses may override the method instead.
        key: Nonterminals with equal keys derive the same language and are equal; None: equal to itself only.
        right_recursive: Some alternative ends, up to nullable symbols, in a symbol that leads back to this
            nonterminal. The parser follows such tails in constant space (Leo 1991).
        watched: While this nonterminal is still to come in a rule that was begun, the constraint's guard is asked.
        check: A condition that no rule can express, applied to a finished text of this nonterminal
            (transform/chart.py). Returns None if the text passes, else one sentence.
        shared: Other grammars may contain it too, so the engine keeps its records when this grammar is gone.

    Attributes:
        ahead: Whether the engine expands it, if it is right-recursive, together with the rule that ends in it.
        expansion: The alternatives, if somebody other than the engine asked for them (transform/walk.py).
    """

    ahead: ClassVar[bool] = True

    __slots__ = ("_expand", "check", "expansion", "key", "name", "right_recursive", "shared", "watched")

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
        """The alternatives of this nonterminal."""
        assert self._expand is not None, "a subclass without alternatives"
        return self._expand()

    def plainest(self) -> Plainest | None:
        """The plainest layout, where the text has not chosen one; None: there is no choice of layouts."""
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
KeywordCase = Literal["any", "one", "upper", "lower"]


def check_case(case: object) -> None:
    """Refuse what is no policy. Raises GrammarError."""
    if not isinstance(case, str) or case not in get_args(KeywordCase):
        raise GrammarError(
            f"unknown keyword case {case!r:.60}", fix="use keywords='any', 'one' (upper or lower), 'upper' or 'lower'"
        )


@dataclass(frozen=True)
class Grammar:
    """A context-free grammar.

    Attributes:
        start: The start symbol.
        ignore: Terminals that may stand between any two lexemes, before the first and after the last (`%ignore`).
        lexer: "dynamic": every segmentation into lexemes counts. "greedy": maximal munch, the longest lexeme that the
            parser admits.
        closing: At most one byte. A text is also a member if appending this byte makes it one.
        watched: The constraint's guard is asked from beginning to end, whatever nonterminals say.
    """

    start: Nonterminal
    ignore: tuple[Terminal, ...] = ()
    lexer: Lexer = "dynamic"
    closing: bytes = b""
    watched: bool = False
