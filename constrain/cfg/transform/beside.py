r"""Terminals that look at one character beside them: `/if\b/`, `/[?](?![a-z])/`, `/(?<!-)>/`. For `lexer="dynamic"`.

What such a terminal matches depends on the character before its text and on the one behind it (`Terminal.beside`). The
idea: read from left to right, all that counts at a place between two lexemes is the class of the last character, and
what the last lexeme demands of the next character. These are the states of a small automaton whose letters are
lexemes, and the grammar is multiplied with it: X from state s to state t. After a demand a lexeme begins with what was
demanded. The start of the text and its end count as a character of their own.

In lark, such a terminal sees the same (its own shortened matches excepted, which see nothing); ignored text is text.

Cost: a rule is made once for each pair of states in which it can stand, most of them in one. Limits: one character;
`LIMIT` pairs (rule, state), so no part of the grammar may be endless. Under `lexer="greedy"` the longest match would
have to know what comes next: not supported.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from constrain.automata import shape, syntax
from constrain.automata.parse.python import parse_python
from constrain.automata.quotient import left_quotient, right_quotient
from constrain.automata.syntax import ANY_TEXT, EMPTY, Node, Ranges
from constrain.automata.unicode import intervals
from constrain.cfg.rules import Context, Grammar, Nonterminal, Symbol, Terminal
from constrain.cfg.transform.analysis import empty_node
from constrain.cfg.transform.regular import spaced_out
from constrain.cfg.transform.walk import alternatives_of
from constrain.errors import LimitError

LIMIT = 20_000
ANYWHERE: Ranges = intervals.ANY


class Expectation(NamedTuple):
    """Between two lexemes. last: the class of the last character, -1 for the start of the text. after, may_end: what
    the next character has to be, and whether there may be none."""

    last: int
    after: Ranges = ANYWHERE
    may_end: bool = True


# --- reading a terminal -----------------------------------------------------------------------------------------------


def contexts_of(pattern: str, before: bool, after: bool) -> tuple[Context, ...]:
    """What a regex matches between which characters. before, after: does it look at those? Raises RegexError.

    Its texts with a character on either side are one regular language; cutting a character of each class off its ends
    leaves what the regex matches there.
    """
    around = parse_python(f"{'(?s:.)' if before else ''}(?:{pattern}){'(?s:.)' if after else ''}")
    classes = _classes(_character_sets(around))
    found: dict[tuple[Ranges, bool, Node], tuple[Ranges, bool]] = {}
    for side, at_start in [*((c, False) for c in classes), ((), True)] if before else [(ANYWHERE, True)]:
        at_end = _language(pattern, before and not at_start, False)
        if before and not at_start:
            at_end = left_quotient(at_end, _one(side))
        rows: dict[Node, tuple[Ranges, bool]] = {at_end: ((), True)} if after else {}
        for following in classes if after else ():
            node = right_quotient(_language(pattern, before and not at_start, True), _one(following))
            node = left_quotient(node, _one(side)) if before and not at_start else node
            known = rows.get(node, ((), False))
            rows[node] = intervals.union(known[0], following), known[1]
        rows = rows or {at_end: (ANYWHERE, True)}
        for node, (ranges, may_end) in rows.items():
            known = found.get((ranges, may_end, node), ((), False))
            found[ranges, may_end, node] = intervals.union(known[0], side), known[1] or at_start
    return tuple(
        Context(side, at_start, ranges, may_end, node)
        for (ranges, may_end, node), (side, at_start) in found.items()
        if not empty_node(node)
    )


def _language(pattern: str, before: bool, after: bool) -> Node:
    return parse_python(f"{'(?s:.)' if before else ''}(?:{pattern}){'(?s:.)' if after else ''}")


def _one(ranges: Ranges) -> str:
    return chr(ranges[0][0])


def representatives(node: Node, of: Ranges) -> list[str]:
    """One of these characters from each class of characters that a tree does not tell apart, if the class has any."""
    met = (intervals.common(each, of) for each in _classes(_character_sets(node)))
    return [_one(each) for each in met if each]


def _character_sets(node: Node) -> Iterator[Ranges]:
    """Every set of characters that a tree tells apart."""
    if isinstance(node, syntax.Chars):
        yield node.ranges
    elif isinstance(node, syntax.Literals):
        yield from (((ord(c), ord(c)),) for c in sorted({c for text in node.texts for c in text}))
    for part in node.args:
        if isinstance(part, Node):
            yield from _character_sets(part)


def _classes(sets: Iterator[Ranges]) -> list[Ranges]:
    """The coarsest partition of all characters that splits none of the sets."""
    found = [ANYWHERE]
    for each in dict.fromkeys(sets):
        split = [part for old in found for part in (intervals.common(old, each), _without(old, each))]
        found = [part for part in split if part]
    return found


def _without(a: Ranges, b: Ranges) -> Ranges:
    return intervals.common(a, intervals.negate(b))


# --- the grammar ------------------------------------------------------------------------------------------------------


def eliminate_context(grammar: Grammar) -> Grammar:
    """The same language without terminals that look beside them; nothing is ignored in it. Raises LimitError."""
    return _Product(spaced_out(grammar)).grammar()


class _Product:
    def __init__(self, grammar: Grammar) -> None:
        self.start = grammar.start
        sets = (row.before for terminal in terminals_of(grammar.start) for row in terminal.beside)
        self.classes = _classes(iter([each for each in sets if each != ANYWHERE]))
        self.moves: dict[tuple[Terminal, Expectation], list[tuple[Terminal, Expectation]]] = {}
        self.outs: dict[tuple[Nonterminal, Expectation], dict[Expectation, None]] = {}
        self.made: dict[tuple[Nonterminal, Expectation, Expectation], Nonterminal] = {}

    def grammar(self) -> Grammar:
        """The product."""
        begin = Expectation(-1)
        self._reach(begin)
        ends = [state for state in self.outs[self.start, begin] if state.may_end]
        return Grammar(Nonterminal("start", lambda: [[self._made(self.start, begin, end)] for end in ends]))

    def _reach(self, begin: Expectation) -> None:
        """The states that each rule can lead to from each state that it is met in: the least fixed point."""
        self.outs[self.start, begin] = {}
        changed = True
        while changed:
            changed = False
            for nonterminal, state in list(self.outs):
                found = self.outs[nonterminal, state]
                before, known = len(found), len(self.outs)
                for alternative in alternatives_of(nonterminal):
                    states = {state: None}
                    for symbol in alternative:
                        states = {after: None for each in states for after in self._after(symbol, each)}
                    found |= states
                changed |= len(found) > before or len(self.outs) > known
            if len(self.outs) > LIMIT:
                raise LimitError(
                    "terminals look at what stands beside them in too many places of the grammar",
                    fix="take the look-around from the edge of terminals, and say in the rules what may follow",
                )

    def _after(self, symbol: Symbol, state: Expectation) -> list[Expectation]:
        if isinstance(symbol, Terminal):
            return [after for _, after in self._move(symbol, state)]
        return list(self.outs.setdefault((symbol, state), {}))

    def _move(self, terminal: Terminal, state: Expectation) -> list[tuple[Terminal, Expectation]]:
        """What a terminal may be in a state, and the state after it."""
        if (terminal, state) not in self.moves:
            self.moves[terminal, state] = list(self._moves(terminal, state))
        return self.moves[terminal, state]

    def _moves(self, terminal: Terminal, state: Expectation) -> Iterator[tuple[Terminal, Expectation]]:
        rows = terminal.beside or (Context(ANYWHERE, True, ANYWHERE, True, terminal.node),)
        for row in rows:
            met = row.at_start if state.last < 0 else intervals.common(self.classes[state.last], row.before)
            if not met:
                continue
            node = _beginning(row.node, state.after)
            for last, part in self._by_last(node):
                if not empty_node(part):
                    yield replace(terminal, node=part, beside=()), Expectation(last, row.after, row.at_end)

    def _by_last(self, node: Node) -> Iterator[tuple[int, Node]]:
        """(class of the last character, the texts that end so)."""
        possible = shape.first_characters(shape.mirror(node))
        met = [i for i, each in enumerate(self.classes) if intervals.common(each, possible)]
        for i in met:
            ending = syntax.concat(ANY_TEXT, syntax.chars(self.classes[i]))
            yield i, node if len(met) == 1 else syntax.intersect(node, ending)

    def _made(self, old: Nonterminal, begin: Expectation, end: Expectation) -> Nonterminal:
        if (old, begin, end) not in self.made:
            key = None if old.key is None else ("beside", old.key, begin, end)
            self.made[old, begin, end] = Nonterminal(
                old.name, lambda: self._alternatives(old, begin, end), key, old.right_recursive
            )
        return self.made[old, begin, end]

    def _alternatives(self, old: Nonterminal, begin: Expectation, end: Expectation) -> Sequence[Sequence[Symbol]]:
        paths = [path for each in alternatives_of(old) for path in self._paths(tuple(each), begin, end)]
        return [list(path) for path in dict.fromkeys(paths)]

    def _paths(self, symbols: tuple[Symbol, ...], state: Expectation, end: Expectation) -> Iterator[tuple[Symbol, ...]]:
        """The ways from one state to another through some symbols."""
        if not symbols:
            yield from [()] if state == end else []
            return
        first, *others = symbols
        steps: list[tuple[Symbol, Expectation]]
        if isinstance(first, Terminal):
            steps = [*self._move(first, state)]
        else:
            steps = [(self._made(first, state, after), after) for after in self.outs.get((first, state), ())]
        for symbol, after in steps:
            for rest in self._paths(tuple(others), after, end):
                yield symbol, *rest


def _beginning(node: Node, wanted: Ranges) -> Node:
    """The texts that begin with one of these characters."""
    first = shape.first_characters(node)
    if not intervals.common(first, wanted):
        return EMPTY
    inside = not _without(first, wanted)
    return node if inside else syntax.intersect(node, syntax.concat(syntax.chars(wanted), ANY_TEXT))


def terminals_of(start: Nonterminal) -> Iterator[Terminal]:
    """Every terminal that a symbol leads to. Raises LimitError for a grammar without end."""
    seen: set[Symbol] = {start}
    stack: list[Symbol] = [start]
    while stack:
        symbol = stack.pop()
        if isinstance(symbol, Terminal):
            yield symbol
            continue
        new = dict.fromkeys(s for alternative in alternatives_of(symbol) for s in alternative if s not in seen)
        seen |= new.keys()
        stack += new
        if len(seen) > LIMIT:
            raise LimitError(
                "a terminal looks at what stands beside it, in a grammar with very many rules",
                fix="take the look-around from the edge of terminals, and say in the rules what may follow",
            )
