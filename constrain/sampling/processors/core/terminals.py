"""The kinds of terminals that are open at a matcher's state: fixed texts, choices among few, or free text.

    fixed     one text but for blanks and spellings: punctuation, keywords, keys
    choice    finitely many listed texts: an enumeration
    text      everything else: strings, numbers, identifiers

Cost: the terminals of a grammar are looked through when one is met for the first time; then a look-up by place.
"""

from __future__ import annotations

import weakref
from typing import Any

from constrain.kernels.records import view
from constrain.kernels.records.grammars import TERMINAL
from constrain.languages.automata.syntax import Alternate, Concat, JsonString, Literals, Node, Repeat
from constrain.languages.cfg.rules import Terminal
from constrain.masks.engine import Matcher, inspect

_known: weakref.WeakKeyDictionary[Any, _Kinds] = weakref.WeakKeyDictionary()


def terminal_kinds(matcher: Matcher) -> frozenset[str]:
    """The kinds of the terminals that are open or may begin at a matcher's place.

    Args:
        matcher: of the engine; it is not moved.

    Returns:
        Some of "fixed", "choice" and "text"; see the module `constrain.sampling.processors.core.terminals`.

    Example:
        >>> import constrain
        >>> from constrain.sampling.processors import terminal_kinds
        >>> schema = constrain.json_schema({"type": "object", "required": ["a"], "additionalProperties": False,
        ...                                 "properties": {"a": {"type": "string"}}})
        >>> matcher = constrain.compile(schema, constrain.Vocabulary.of_bytes()).matcher()
        >>> matcher.advance_bytes(b'{"a'), sorted(terminal_kinds(matcher))
        (True, ['fixed'])
        >>> matcher.advance_bytes(b'": "b'), sorted(terminal_kinds(matcher))
        (True, ['text'])
    """
    compiled = matcher.compiled
    kinds = _known.get(compiled)
    if kinds is None:
        kinds = _known[compiled] = _Kinds(compiled.automaton, compiled.rules)
    return matcher.locked(kinds.at)


class _Kinds:
    """Terminals by the record of their expression, and places that were looked up; valid in one epoch."""

    def __init__(self, automaton: Any, rules: Any) -> None:
        self.automaton, self.rules = automaton, rules
        self.epoch = -1
        self.terminals: dict[int, Terminal] = {}
        self.places: dict[int, frozenset[str]] = {}

    def at(self, configuration: int) -> frozenset[str]:
        if self.epoch != self.automaton.epoch:
            self.epoch, self.terminals, self.places = self.automaton.epoch, {}, {}
        if configuration not in self.places:
            live: set[int] = set()
            for lexeme in inspect.lexemes(self.automaton, configuration):
                live |= view.terminals_within(self.automaton.memory.A, lexeme.lexer)
            if live - self.terminals.keys():
                for record, symbol in inspect.symbols(self.automaton, self.rules).items():
                    if isinstance(symbol, Terminal):
                        self.terminals[int(TERMINAL.EXPRESSION(self.automaton.memory.A, record))] = symbol
            found = [self.terminals[each] for each in live if each in self.terminals]
            kinds = frozenset(map(kind_of, found)) or frozenset(["fixed"])  # nothing but the end may come
            if live - self.terminals.keys():
                kinds |= {"text"}
            self.places[configuration] = kinds
        return self.places[configuration]


def kind_of(terminal: Terminal) -> str:
    """The kind of a terminal; see the module's header.

    Example:
        >>> from constrain.languages.automata.syntax import Literals
        >>> from constrain.languages.cfg.rules import Terminal
        >>> kind_of(Terminal(Literals(("if",)), literal=True)), kind_of(Terminal(Literals(("a", "b"))))
        ('fixed', 'choice')
    """
    if terminal.literal or _is_fixed(terminal.node):
        return "fixed"
    node = terminal.node.node if isinstance(terminal.node, JsonString) else terminal.node
    return "choice" if isinstance(node, Literals) else "text"


def _is_fixed(node: Node) -> bool:
    """One text, blanks aside."""
    if _is_blank(node):
        return True
    if isinstance(node, Literals):
        return len(node.texts) == 1
    if isinstance(node, JsonString):
        return _is_fixed(node.node)
    return isinstance(node, Concat) and all(map(_is_fixed, node.args))


def _is_blank(node: Node) -> bool:
    """Nothing but blanks."""
    if isinstance(node, Literals):
        return all(not text.strip() for text in node.texts)
    if isinstance(node, Repeat):
        return _is_blank(node.node)
    return isinstance(node, (Concat, Alternate)) and all(map(_is_blank, node.args))
