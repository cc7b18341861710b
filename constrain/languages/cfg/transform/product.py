"""The intersection of a context-free grammar with a regular language, as a lazy grammar.

The idea (Bar-Hillel, Perles and Shamir, "On formal properties of simple phrase structure grammars", 1961): a symbol of
the product is a triple (p, X, Q), the texts of X that lead the automaton of the regular language from state p to one of
the states Q. A rule X → Y Z becomes (p, X, Q) → (p, Y, {m}) (m, Z, Q) for every intermediate state m. Triples without
any text would lead masks into dead ends. So the states that the texts of X lead to from p (`ends`) are computed first,
as a least fixed point over all pairs (p, X) that are reached from the start.

For a terminal, (p, T, Q) is T ∩ (texts that lead from p to Q). Where that syntax tree would be too large, it becomes
rules with one character each. A symbol stays as it is if the automaton neither stops nor distinguishes its texts.

Exact for `lexer="dynamic"`. Under maximal munch the longest lexeme would be sought among the restricted terminals,
which is another language: GrammarError. Cost: rules × states² in the worst case, in Python; LimitError beyond `LIMIT`.
"""

from __future__ import annotations

from collections.abc import Sequence

from constrain.errors import LimitError, UnsatisfiableError
from constrain.languages.automata.paths import Language, Paths
from constrain.languages.automata.quotient import spelled
from constrain.languages.automata.syntax import ANY_TEXT, Node, alternate, chars, difference, intersect
from constrain.languages.cfg.rules import Grammar, Nonterminal, Symbol, Terminal
from constrain.languages.cfg.transform.regular import inline_ignored
from constrain.languages.cfg.transform.walk import alternatives_of
from constrain.limits import tick

LIMIT = 200_000  # items
FIX = (
    "bound a length by max_tokens= with complete=True, ask another regex by check=, or write it into the grammar; else "
    "pass limits=Limits(seconds=...)"
)

States = frozenset[int]
Call = tuple[Nonterminal, int]  # a nonterminal, the state before its texts
Item = tuple[Nonterminal, int, int, int]  # a call, the number of an alternative, the dot in it


def product(grammar: Grammar, node: Node, most: int | None = None) -> Grammar:
    """The texts of a grammar (`lexer="dynamic"`) that are in a regular language. most: items; None: `LIMIT`.

    Raises UnsatisfiableError if there are none, LimitError if the product is too large.
    """
    plain = inline_ignored(grammar)
    if node == ANY_TEXT:
        return plain
    made = _Product(Paths(node), LIMIT if most is None else most)
    if made.paths.is_empty:
        raise UnsatisfiableError("no text fulfils the regular side of an intersection", fix="relax one of its parts")
    try:
        made.solve(plain.start, 0)
    except LimitError as error:
        raise LimitError(error.message, place="an intersection of a grammar and a regular language", fix=FIX) from None
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
    """The symbols of the product of a grammar with an automaton (`paths`)."""

    def __init__(self, paths: Paths, most: int) -> None:
        self.paths, self.most = paths, most
        self._terminal_ends: dict[tuple[Terminal, int], tuple[States, bool]] = {}
        self._languages: dict[Terminal, Language] = {}
        self._ends: dict[Call, set[int]] = {}
        self._waiting: dict[Call, set[Item]] = {}
        self._reached: dict[Item, set[int]] = {}
        self._made: dict[object, Symbol] = {}
        self._sequence_ends: dict[tuple[tuple[Symbol, ...], int], States] = {}
        self._stopped: set[Call] = set()  # calls with a text that the automaton rejects on the way

    # -- where texts lead ----------------------------------------------------------------------------------------------

    def ends(self, symbol: Symbol, state: int) -> States:
        """The states that the texts of a symbol lead to from a state."""
        if isinstance(symbol, Terminal):
            return self._lexeme_ends(symbol, state)[0]
        return frozenset(self._ends.get((symbol, state), ()))

    def _lexeme_ends(self, terminal: Terminal, state: int) -> tuple[States, bool]:
        """The states that a terminal's texts lead to, and whether the automaton rejects none of them on the way."""
        key = (terminal, state)
        if key not in self._terminal_ends:
            if terminal not in self._languages:
                self._languages[terminal] = Language(_plain(terminal))
            self._terminal_ends[key] = self.paths.ends(state, self._languages[terminal])
        return self._terminal_ends[key]

    def solve(self, start: Nonterminal, state: int) -> None:
        """Compute `ends` for everything that is reached from a call: a least fixed point."""
        work: list[tuple[Item, set[int]]] = []
        self._call((start, state), work)
        while work:
            tick()
            item, states = work.pop()
            nonterminal, begin, number, dot = item
            states = states - self._reached.setdefault(item, set())
            if not states:
                continue
            self._reached[item] |= states
            alternative = alternatives_of(nonterminal)[number]
            if dot == len(alternative):
                call = (nonterminal, begin)
                new = states - self._ends[call]
                self._ends[call] |= new
                work += [(_advanced(waiting), new) for waiting in self._waiting[call] if new]
                continue
            after = self._states_after(item, alternative[dot], states, work)
            if after:
                work.append((_advanced(item), after))
            if len(self._reached) > self.most:
                raise LimitError(f"it needs more than {self.most} rules")
        self._propagate_stops()

    def _states_after(
        self, item: Item, symbol: Symbol, states: set[int], work: list[tuple[Item, set[int]]]
    ) -> set[int]:
        """The states after the symbol behind an item's dot, as far as they are known."""
        after: set[int] = set()
        for state in states:
            if isinstance(symbol, Terminal):
                ends, complete = self._lexeme_ends(symbol, state)
                after |= ends
                if not complete:
                    self._stopped.add(item[:2])
            else:
                self._call((symbol, state), work)
                self._waiting[symbol, state].add(item)
                after |= self._ends[symbol, state]
        return after

    def _call(self, call: Call, work: list[tuple[Item, set[int]]]) -> None:
        if call not in self._ends:
            self._ends[call], self._waiting[call] = set(), set()
            nonterminal, state = call
            work += [((nonterminal, state, i, 0), {state}) for i in range(len(alternatives_of(nonterminal)))]

    def _propagate_stops(self) -> None:
        """Add every call that waits for a stopped call to the stopped calls."""
        pending = list(self._stopped)
        while pending:
            for nonterminal, begin, _, _ in self._waiting[pending.pop()]:
                if (nonterminal, begin) not in self._stopped:
                    self._stopped.add((nonterminal, begin))
                    pending.append((nonterminal, begin))

    def _ends_of(self, symbols: tuple[Symbol, ...], state: int) -> States:
        """The states that the texts of a sequence of symbols lead to from a state."""
        if not symbols:
            return frozenset([state])
        key = (symbols, state)
        if key not in self._sequence_ends:
            ends = (self._ends_of(symbols[1:], m) for m in self.ends(symbols[0], state))
            self._sequence_ends[key] = frozenset().union(*ends)
        return self._sequence_ends[key]

    # -- triples -------------------------------------------------------------------------------------------------------

    def symbol(self, symbol: Symbol, state: int, targets: States) -> Symbol:
        """The triple (state, symbol, targets) as a symbol. Some text must lead to a target."""
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
        between = [m for m in sorted(self.ends(first, state)) if self._ends_of(others, m) & targets]
        return [[self.symbol(first, state, frozenset([m])), self._rest(others, m, targets)] for m in between]

    def _rest(self, symbols: tuple[Symbol, ...], state: int, targets: States) -> Symbol:
        """One symbol for the remaining symbols of an alternative."""
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
        """The texts of a terminal that lead from a state to one of the targets."""
        tree = self.paths.between(state, targets)
        if tree is not None:
            return Terminal(intersect(_plain(terminal), tree), terminal.name)
        return self._by_characters(terminal, state, targets)

    def _by_characters(self, terminal: Terminal, state: int, targets: States) -> Nonterminal:
        """The product as right-linear rules, with a nonterminal for each pair of states (of terminal, of automaton)."""
        language, paths = self._languages[terminal], self.paths
        edges: dict[tuple[int, int], list[tuple[Terminal, tuple[int, int]]]] = {}
        before: dict[tuple[int, int], list[tuple[int, int]]] = {}
        stack = [(0, state)]
        while stack:
            tick(8)
            pair = stack.pop()
            if pair in edges:
                continue
            edges[pair] = []
            for characters, lexeme_state in language.steps(pair[0]):
                for others, path_state in paths.steps(pair[1]):
                    both = intersect_characters(characters, others)
                    if both is not None:
                        target = (lexeme_state, path_state)
                        edges[pair].append((Terminal(both, terminal.name), target))
                        before.setdefault(target, []).append(pair)
                        stack.append(target)
        accepting = {pair for pair in edges if pair[1] in targets and language.accepts(pair[0])}
        alive, stack = set(accepting), list(accepting)
        while stack:
            for pair in before.get(stack.pop(), ()):
                if pair not in alive:
                    alive.add(pair)
                    stack.append(pair)
        made: dict[tuple[int, int], Nonterminal] = {}

        def expand(pair: tuple[int, int]) -> Sequence[Sequence[Symbol]]:
            longer: list[list[Symbol]] = [[symbol, rule(after)] for symbol, after in edges[pair] if after in alive]
            return [[], *longer] if pair in accepting else longer

        def rule(pair: tuple[int, int]) -> Nonterminal:
            if pair not in made:
                made[pair] = Nonterminal(terminal.name, lambda: expand(pair), right_recursive=True)
            return made[pair]

        return rule((0, state))


def intersect_characters(one: Node, two: Node) -> Node | None:
    """The common characters of two character sets; None if there are none."""
    ranges = [(max(a, c), min(b, d)) for a, b in one.args[0] for c, d in two.args[0] if max(a, c) <= min(b, d)]
    return chars(ranges) if ranges else None


def _advanced(item: Item) -> Item:
    return (*item[:3], item[3] + 1)


def _plain(terminal: Terminal) -> Node:
    """The language of a terminal without the texts that it excludes."""
    if not terminal.excluding:
        return terminal.node
    return difference(spelled(terminal.node), alternate(*(spelled(other.node) for other in terminal.excluding)))
