r"""Eliminates the lookaround contexts of terminals: `/if\b/`, `/[?](?![a-z])/`, `/(?<!-)>/`. For `lexer="dynamic"`.

What such a terminal matches depends on the character before its text and on the character after it
(`Terminal.contexts`). The idea: between two lexemes only two things matter, the class of the last character and what
the last lexeme demands of the next character. These pairs (`Expectation`) are the states of a small automaton whose
letters are lexemes. The grammar is multiplied with that automaton: a nonterminal X becomes "X from state s to state
t". After a demand, a lexeme is restricted to texts that begin as demanded. The start and the end of the text count as a
character of their own.

In lark such a terminal sees the same, except that its own shortened matches see nothing. Ignored text is text here.

Cost: a rule is made once for each pair of states in which it occurs; most rules occur in one. Limits: one character of
context; `LIMIT` pairs (rule, state), so the grammar must be finite. Not for `lexer="greedy"`, where the longest match
would have to know what comes next.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from constrain.errors import LimitError
from constrain.languages.automata import shape, syntax
from constrain.languages.automata.parse.python import parse_python
from constrain.languages.automata.quotient import left_quotient, right_quotient
from constrain.languages.automata.syntax import ANY_TEXT, EMPTY, Node, Ranges
from constrain.languages.automata.unicode import intervals
from constrain.languages.cfg.rules import Grammar, LookaroundContext, Nonterminal, Symbol, Terminal
from constrain.languages.cfg.transform.analysis import empty_node
from constrain.languages.cfg.transform.regular import inline_ignored
from constrain.languages.cfg.transform.walk import alternatives_of

LIMIT = 20_000
ANYWHERE: Ranges = intervals.ANY


class Expectation(NamedTuple):
    """The state between two lexemes.

    Attributes:
        last: The class of the last character; -1 at the start of the text.
        after: The characters that may come next.
        may_end: The text may end here.
    """

    last: int
    after: Ranges = ANYWHERE
    may_end: bool = True


# --- reading a terminal -----------------------------------------------------------------------------------------------


def contexts_of(pattern: str, before: bool, after: bool) -> tuple[LookaroundContext, ...]:
    """The contexts of a terminal that is written as a regex. Raises RegexError.

    The regex with one character on either side describes a regular language. Its quotient by a character of each class
    is what the regex matches in that context.

    before, after: whether the regex looks at the character before, or after, its text.
    """
    around = parse_python(f"{'(?s:.)' if before else ''}(?:{pattern}){'(?s:.)' if after else ''}")
    classes = _classes(_character_sets(around))
    befores: dict[tuple[Ranges, bool, Node], tuple[Ranges, bool]] = {}  # (after, at end, texts): (before, at start)
    for side, at_start in [*((c, False) for c in classes), ((), True)] if before else [(ANYWHERE, True)]:
        at_end = _language(pattern, before and not at_start, False)
        if before and not at_start:
            at_end = left_quotient(at_end, _one(side))
        afters: dict[Node, tuple[Ranges, bool]] = {at_end: ((), True)} if after else {}
        for following in classes if after else ():
            node = right_quotient(_language(pattern, before and not at_start, True), _one(following))
            node = left_quotient(node, _one(side)) if before and not at_start else node
            ranges, may_end = afters.get(node, ((), False))
            afters[node] = intervals.union(ranges, following), may_end
        afters = afters or {at_end: (ANYWHERE, True)}
        for node, (ranges, may_end) in afters.items():
            sides, may_start = befores.get((ranges, may_end, node), ((), False))
            befores[ranges, may_end, node] = intervals.union(sides, side), may_start or at_start
    return tuple(
        LookaroundContext(side, at_start, ranges, may_end, node)
        for (ranges, may_end, node), (side, at_start) in befores.items()
        if not empty_node(node)
    )


def _language(pattern: str, before: bool, after: bool) -> Node:
    return parse_python(f"{'(?s:.)' if before else ''}(?:{pattern}){'(?s:.)' if after else ''}")


def _one(ranges: Ranges) -> str:
    return chr(ranges[0][0])


def representatives(node: Node, of: Ranges) -> list[str]:
    """One character of the set `of` from each class of characters that a regular language does not distinguish."""
    common = (intervals.common(characters, of) for characters in character_classes(node))
    return [_one(ranges) for ranges in common if ranges]


def character_classes(node: Node) -> list[Ranges]:
    """The classes of characters that a regular language does not distinguish."""
    return _classes(_character_sets(node))


def _character_sets(node: Node) -> Iterator[Ranges]:
    """The character sets in a syntax tree."""
    if isinstance(node, syntax.Chars):
        yield node.ranges
    elif isinstance(node, syntax.Literals):
        yield from (((ord(c), ord(c)),) for c in sorted({c for text in node.texts for c in text}))
    for part in node.args:
        if isinstance(part, Node):
            yield from _character_sets(part)


def _classes(sets: Iterator[Ranges]) -> list[Ranges]:
    """The coarsest partition of all characters that splits none of the sets."""
    classes = [ANYWHERE]
    for ranges in dict.fromkeys(sets):
        split = [part for old in classes for part in (intervals.common(old, ranges), intervals.subtract(old, ranges))]
        classes = [part for part in split if part]
    return classes


# --- the grammar ------------------------------------------------------------------------------------------------------


def eliminate_context(grammar: Grammar) -> Grammar:
    """An equivalent grammar without lookaround contexts and without ignored terminals. Raises LimitError."""
    return _Product(inline_ignored(grammar)).grammar()


class _Product:
    """The grammar multiplied with the automaton of expectations.

    Attributes:
        classes: The partition of characters that the contexts distinguish.
        moves: (terminal, state) -> what the terminal may be there, each with the state after it.
        outs: (nonterminal, state) -> the states that its texts can lead to.
        made: (nonterminal, from, to) -> the nonterminal of the product.
    """

    def __init__(self, grammar: Grammar) -> None:
        self.start = grammar.start
        sets = (context.before for terminal in terminals_of(grammar.start) for context in terminal.contexts)
        self.classes = _classes(iter([ranges for ranges in sets if ranges != ANYWHERE]))
        self.moves: dict[tuple[Terminal, Expectation], list[tuple[Terminal, Expectation]]] = {}
        self.outs: dict[tuple[Nonterminal, Expectation], dict[Expectation, None]] = {}
        self.made: dict[tuple[Nonterminal, Expectation, Expectation], Nonterminal] = {}

    def grammar(self) -> Grammar:
        """The start symbol from the start of the text to each state in which the text may end."""
        begin = Expectation(-1)
        self._reach(begin)
        ends = [state for state in self.outs[self.start, begin] if state.may_end]
        return Grammar(Nonterminal("start", lambda: [[self._nonterminal(self.start, begin, end)] for end in ends]))

    def _reach(self, begin: Expectation) -> None:
        """Compute `outs` for everything that is reached from the start: a least fixed point."""
        self.outs[self.start, begin] = {}
        changed = True
        while changed:
            changed = False
            for nonterminal, state in list(self.outs):
                outs = self.outs[nonterminal, state]
                n_outs, n_calls = len(outs), len(self.outs)
                for alternative in alternatives_of(nonterminal):
                    states = {state: None}
                    for symbol in alternative:
                        states = {after: None for before in states for after in self._states_after(symbol, before)}
                    outs |= states
                changed |= len(outs) > n_outs or len(self.outs) > n_calls
            if len(self.outs) > LIMIT:
                raise LimitError(
                    "terminals look at the text around them in too many places of the grammar",
                    fix="take the look-around from the edge of terminals, and say in the rules what may follow",
                )

    def _states_after(self, symbol: Symbol, state: Expectation) -> list[Expectation]:
        """The states after a symbol, as far as they are known."""
        if isinstance(symbol, Terminal):
            return [after for _, after in self._move(symbol, state)]
        return list(self.outs.setdefault((symbol, state), {}))

    def _move(self, terminal: Terminal, state: Expectation) -> list[tuple[Terminal, Expectation]]:
        """The restrictions of a terminal that may occur in a state, each with the state after it."""
        if (terminal, state) not in self.moves:
            self.moves[terminal, state] = list(self._moves(terminal, state))
        return self.moves[terminal, state]

    def _moves(self, terminal: Terminal, state: Expectation) -> Iterator[tuple[Terminal, Expectation]]:
        contexts = terminal.contexts or (LookaroundContext(ANYWHERE, True, ANYWHERE, True, terminal.node),)
        for context in contexts:
            if state.last < 0:
                applies = context.at_start
            else:
                applies = bool(intervals.common(self.classes[state.last], context.before))
            if not applies:
                continue
            node = _beginning(context.node, state.after)
            for last, part in self._by_last(node):
                if not empty_node(part):
                    after = Expectation(last, context.after, context.at_end)
                    yield replace(terminal, node=part, contexts=()), after

    def _by_last(self, node: Node) -> Iterator[tuple[int, Node]]:
        """Pairs (class of the last character, texts that end with it)."""
        possible = shape.first_characters(shape.mirror(node))
        last = [i for i, characters in enumerate(self.classes) if intervals.common(characters, possible)]
        for i in last:
            ending = syntax.concat(ANY_TEXT, syntax.chars(self.classes[i]))
            yield i, node if len(last) == 1 else syntax.intersect(node, ending)

    def _nonterminal(self, old: Nonterminal, begin: Expectation, end: Expectation) -> Nonterminal:
        if (old, begin, end) not in self.made:
            key = None if old.key is None else ("context", old.key, begin, end)
            self.made[old, begin, end] = Nonterminal(
                old.name, lambda: self._alternatives(old, begin, end), key, old.right_recursive
            )
        return self.made[old, begin, end]

    def _alternatives(self, old: Nonterminal, begin: Expectation, end: Expectation) -> Sequence[Sequence[Symbol]]:
        paths = [path for symbols in alternatives_of(old) for path in self._paths(tuple(symbols), begin, end)]
        return [list(path) for path in dict.fromkeys(paths)]

    def _paths(self, symbols: tuple[Symbol, ...], state: Expectation, end: Expectation) -> Iterator[tuple[Symbol, ...]]:
        """The sequences of product symbols that lead from one state to another."""
        if not symbols:
            yield from [()] if state == end else []
            return
        first, *others = symbols
        steps: list[tuple[Symbol, Expectation]]
        if isinstance(first, Terminal):
            steps = [*self._move(first, state)]
        else:
            steps = [(self._nonterminal(first, state, after), after) for after in self.outs.get((first, state), ())]
        for symbol, after in steps:
            for path in self._paths(tuple(others), after, end):
                yield symbol, *path


def _beginning(node: Node, wanted: Ranges) -> Node:
    """The texts of a language that begin with one of the wanted characters."""
    first = shape.first_characters(node)
    if not intervals.common(first, wanted):
        return EMPTY
    return (
        node
        if not intervals.subtract(first, wanted)
        else syntax.intersect(node, syntax.concat(syntax.chars(wanted), ANY_TEXT))
    )


def terminals_of(start: Nonterminal, *, nearest_first: bool = False) -> Iterator[Terminal]:
    """Every terminal that is reachable from a symbol. Raises LimitError if the grammar is too large or infinite."""
    seen: set[Symbol] = {start}
    waiting: list[Symbol] = [start]
    while waiting:
        symbol = waiting.pop(0 if nearest_first else -1)
        if isinstance(symbol, Terminal):
            yield symbol
            continue
        new = dict.fromkeys(s for alternative in alternatives_of(symbol) for s in alternative if s not in seen)
        seen |= new.keys()
        waiting += new
        if len(seen) > LIMIT:
            raise LimitError(
                "a terminal looks at the text around it, in a grammar with very many rules",
                fix="take the look-around from the edge of terminals, and say in the rules what may follow",
            )
