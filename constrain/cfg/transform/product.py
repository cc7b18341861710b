"""The intersection of a context-free grammar with a regular language, as a grammar that is made as it is reached.

The idea (Bar-Hillel, Perles and Shamir, "On formal properties of simple phrase structure grammars", 1961): a symbol of
the product is (p, X, Q): the texts of X that lead the automaton of the regular side from the state p to one of the
states Q. A rule X → Y Z becomes (p, X, Q) → (p, Y, {m}) (m, Z, Q) for every m on the way. Only triples with a text
may be offered, or masks would lead into dead ends: which states the texts of X can lead to from p (`ends`) is a least
fixed point, computed for those (p, X) that are reached from the start, with bit sets of states.

A terminal meets the automaton inside: (p, T, Q) is T ∩ (texts that lead from p to Q). Where that tree would be too
large it becomes rules with one character each. A symbol none of whose texts the automaton stops or tells apart stays
as it is.

Exact for `lexer="dynamic"`. Under maximal munch the longest lexeme would be sought among the cut terminals, which is
another language: GrammarError. Cost: rules × states² in the worst case, in Python; LimitError beyond `LIMIT` triples.
"""

from __future__ import annotations

from collections.abc import Sequence

from constrain.automata.paths import Language, Paths
from constrain.automata.quotient import spelled
from constrain.automata.syntax import Node, alternate, chars, difference, intersect
from constrain.cfg.rules import Grammar, Nonterminal, Symbol, Terminal
from constrain.cfg.transform.regular import spaced_out
from constrain.cfg.transform.walk import alternatives_of
from constrain.errors import LimitError, UnsatisfiableError

LIMIT = 200_000  # pairs (state, nonterminal), and dots in their rules

States = frozenset[int]
Call = tuple[Nonterminal, int]  # texts of a nonterminal, from a state
Dot = tuple[Nonterminal, int, int, int]  # a call, an alternative, how many of its symbols were read


def product(grammar: Grammar, node: Node) -> Grammar:
    """The texts of a grammar (`lexer="dynamic"`) that are in a regular language.

    Raises UnsatisfiableError if there are none, LimitError.
    """
    plain = spaced_out(grammar)
    made = _Product(Paths(node))
    if made.paths.is_empty:
        raise UnsatisfiableError("no text fulfils the regular side of an intersection", fix="relax one of its parts")
    made.solve(plain.start, 0)
    accepted = made.ends(plain.start, 0) & made.paths.accepting
    if not accepted:
        raise UnsatisfiableError(
            "no text of the grammar is in the regular language that it is intersected with",
            fix="relax one of its parts",
        )
    start = made.symbol(plain.start, 0, accepted)
    whole = start if isinstance(start, Nonterminal) else Nonterminal("start", lambda: [[start]])
    return Grammar(whole, watched=grammar.watched)


class _Product:
    def __init__(self, paths: Paths) -> None:
        self.paths = paths
        self._terminal_ends: dict[tuple[Terminal, int], tuple[States, bool]] = {}
        self._languages: dict[Terminal, Language] = {}
        self._ends: dict[Call, set[int]] = {}
        self._waiting: dict[Call, set[Dot]] = {}
        self._reached: dict[Dot, set[int]] = {}
        self._made: dict[object, Symbol] = {}
        self._sequence_ends: dict[tuple[tuple[Symbol, ...], int], States] = {}
        self._stopped: set[Call] = set()  # calls some of whose texts the automaton stops

    # -- where texts lead ----------------------------------------------------------------------------------------------

    def ends(self, symbol: Symbol, state: int) -> States:
        """The states that the texts of a symbol lead to from a state."""
        if isinstance(symbol, Terminal):
            return self._lexeme_ends(symbol, state)[0]
        return frozenset(self._ends.get((symbol, state), ()))

    def _lexeme_ends(self, terminal: Terminal, state: int) -> tuple[States, bool]:
        key = (terminal, state)
        if key not in self._terminal_ends:
            if terminal not in self._languages:
                self._languages[terminal] = Language(_plain(terminal))
            self._terminal_ends[key] = self.paths.ends(state, self._languages[terminal])
        return self._terminal_ends[key]

    def solve(self, start: Nonterminal, state: int) -> None:
        """The least fixed point of `ends` for everything that is reached from a call."""
        work: list[tuple[Dot, set[int]]] = []
        self._call((start, state), work)
        while work:
            dot, fresh = work.pop()
            nonterminal, begin, which, read = dot
            fresh = fresh - self._reached.setdefault(dot, set())
            if not fresh:
                continue
            self._reached[dot] |= fresh
            alternative = alternatives_of(nonterminal)[which]
            if read == len(alternative):
                call = (nonterminal, begin)
                new = fresh - self._ends[call]
                self._ends[call] |= new
                work += [(_next(waiting), new) for waiting in self._waiting[call] if new]
                continue
            symbol = alternative[read]
            after: set[int] = set()
            for m in fresh:
                if isinstance(symbol, Terminal):
                    found, complete = self._lexeme_ends(symbol, m)
                    after |= found
                    if not complete:
                        self._stopped.add((nonterminal, begin))
                else:
                    self._call((symbol, m), work)
                    self._waiting[symbol, m].add(dot)
                    after |= self._ends[symbol, m]
            if after:
                work.append((_next(dot), after))
            if len(self._reached) > LIMIT:
                raise LimitError(
                    f"an intersection of a grammar and a regular language needs more than {LIMIT} rules",
                    fix="simplify the regular side, or write the restriction into the grammar",
                )
        self._spread_stops()

    def _call(self, call: Call, work: list[tuple[Dot, set[int]]]) -> None:
        if call not in self._ends:
            self._ends[call], self._waiting[call] = set(), set()
            nonterminal, state = call
            work += [((nonterminal, state, i, 0), {state}) for i in range(len(alternatives_of(nonterminal)))]

    def _spread_stops(self) -> None:
        """Who calls a call that may be stopped may be stopped."""
        pending = list(self._stopped)
        while pending:
            for nonterminal, begin, _, _ in self._waiting[pending.pop()]:
                if (nonterminal, begin) not in self._stopped:
                    self._stopped.add((nonterminal, begin))
                    pending.append((nonterminal, begin))

    def _ends_of(self, symbols: tuple[Symbol, ...], state: int) -> States:
        """The same of a sequence."""
        if not symbols:
            return frozenset([state])
        key = (symbols, state)
        if key not in self._sequence_ends:
            found = (self._ends_of(symbols[1:], m) for m in self.ends(symbols[0], state))
            self._sequence_ends[key] = frozenset().union(*found)
        return self._sequence_ends[key]

    # -- triples -------------------------------------------------------------------------------------------------------

    def symbol(self, symbol: Symbol, state: int, targets: States) -> Symbol:
        """The texts of a symbol that lead from a state to one of the targets; there are some."""
        ends = self.ends(symbol, state)
        targets &= ends
        key = (symbol, state, targets)
        if key not in self._made:
            if isinstance(symbol, Terminal):
                free = self._lexeme_ends(symbol, state)[1]
                self._made[key] = symbol if free and targets == ends else self._cut(symbol, state, targets)
            elif targets == ends and (symbol, state) not in self._stopped:
                self._made[key] = symbol
            else:
                self._made[key] = self._triple(symbol, state, targets)
        return self._made[key]

    def _triple(self, symbol: Nonterminal, state: int, targets: States) -> Nonterminal:
        def expand() -> Sequence[Sequence[Symbol]]:
            return [
                sequence
                for alternative in alternatives_of(symbol)
                for sequence in self._sequences(tuple(alternative), state, targets)
            ]

        return Nonterminal(symbol.name, expand, right_recursive=symbol.right_recursive, watched=symbol.watched)

    def _sequences(self, symbols: tuple[Symbol, ...], state: int, targets: States) -> list[list[Symbol]]:
        if not symbols:
            return [[]] if state in targets else []
        if len(symbols) == 1:
            return [[self.symbol(symbols[0], state, targets)]] if self.ends(symbols[0], state) & targets else []
        first, others = symbols[0], symbols[1:]
        on_the_way = [m for m in sorted(self.ends(first, state)) if self._ends_of(others, m) & targets]
        return [[self.symbol(first, state, frozenset([m])), self._rest(others, m, targets)] for m in on_the_way]

    def _rest(self, symbols: tuple[Symbol, ...], state: int, targets: States) -> Symbol:
        """The symbols that are still to come in an alternative."""
        if len(symbols) == 1:
            return self.symbol(symbols[0], state, targets)
        key = (symbols, state, targets & self._ends_of(symbols, state))
        if key not in self._made:
            self._made[key] = Nonterminal(
                f"rest with {symbols[0].name}",
                lambda: self._sequences(symbols, state, targets),
                right_recursive=True,
                watched=any(isinstance(symbol, Nonterminal) and symbol.watched for symbol in symbols),
            )
        return self._made[key]

    # -- terminals -----------------------------------------------------------------------------------------------------

    def _cut(self, terminal: Terminal, state: int, targets: States) -> Symbol:
        tree = self.paths.between(state, targets)
        if tree is not None:
            return Terminal(intersect(_plain(terminal), tree), terminal.name)
        return self._by_characters(terminal, state, targets)

    def _by_characters(self, terminal: Terminal, state: int, targets: States) -> Nonterminal:
        """The same with one rule for each pair of states: where it stands in the terminal, and in the automaton."""
        theirs, ours = self._languages[terminal], self.paths
        edges: dict[tuple[int, int], list[tuple[Terminal, tuple[int, int]]]] = {}
        before: dict[tuple[int, int], list[tuple[int, int]]] = {}
        stack = [(0, state)]
        while stack:
            pair = stack.pop()
            if pair in edges:
                continue
            edges[pair] = []
            for one, after in theirs.steps(pair[0]):
                for two, place in ours.steps(pair[1]):
                    both = intersect_characters(one, two)
                    if both is not None:
                        edges[pair].append((Terminal(both, terminal.name), (after, place)))
                        before.setdefault((after, place), []).append(pair)
                        stack.append((after, place))
        last = {pair for pair in edges if pair[1] in targets and theirs.accepts(pair[0])}
        alive, stack = set(last), list(last)
        while stack:
            for pair in before.get(stack.pop(), ()):
                if pair not in alive:
                    alive.add(pair)
                    stack.append(pair)
        made: dict[tuple[int, int], Nonterminal] = {}

        def expand(pair: tuple[int, int]) -> Sequence[Sequence[Symbol]]:
            longer: list[list[Symbol]] = [[one, rule(after)] for one, after in edges[pair] if after in alive]
            return [[], *longer] if pair in last else longer

        def rule(pair: tuple[int, int]) -> Nonterminal:
            if pair not in made:
                made[pair] = Nonterminal(terminal.name, lambda: expand(pair), right_recursive=True)
            return made[pair]

        return rule((0, state))


def intersect_characters(one: Node, two: Node) -> Node | None:
    """The characters of two sets that both have; None if there are none."""
    ranges = [(max(a, c), min(b, d)) for a, b in one.args[0] for c, d in two.args[0] if max(a, c) <= min(b, d)]
    return chars(ranges) if ranges else None


def _next(dot: Dot) -> Dot:
    return (*dot[:3], dot[3] + 1)


def _plain(terminal: Terminal) -> Node:
    """The language of a terminal, with what it excludes taken out."""
    if not terminal.excluding:
        return terminal.node
    return difference(spelled(terminal.node), alternate(*(spelled(each.node) for each in terminal.excluding)))
