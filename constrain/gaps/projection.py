"""The texts that may stand in the first of several gaps, as a grammar of its own.

    first_gap(grammar, "a", ["b", "d"])      # {w : a w b x d y is valid, for some texts x and y}

The idea: an item (A, p, q) says that A derives a text between two positions. What an item contributes to the text of
the gap is known from where p and q are. An item before the gap or behind it contributes nothing; one from the gap to
the gap is A itself, with all its texts; any other reaches over an edge of the gap, and becomes a nonterminal [A, p, q].
A rule A -> B C becomes [A, p, q] -> [B, p, m] [C, m, q] for each m between. A terminal over an edge is a quotient: the
texts between the states that the text before the gap leads to and those from which the text behind it is read.

The engine reads the result like any grammar, with exact masks for any vocabulary. The rules are made when a text
reaches them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache, partial

import numpy as np

from constrain.errors import UnsatisfiableError, span
from constrain.gaps.kernels.lexemes import ACCEPTING
from constrain.gaps.pattern import Pattern
from constrain.gaps.rules import language_of
from constrain.gaps.solution import GapLanguage, Solution
from constrain.languages.automata.paths import Paths
from constrain.languages.automata.syntax import Node
from constrain.languages.cfg.rules import Grammar, Nonterminal, Symbol, Terminal


@lru_cache(maxsize=16)
def gap_language(grammar: Grammar) -> GapLanguage:
    """The tables of a grammar, kept for the next text. Raises GrammarError, LimitError."""
    return GapLanguage(grammar)


def first_gap(grammar: Grammar, before: str, after: Sequence[str]) -> Grammar:
    """The texts of a gap between fixed texts, with other gaps between the texts after it.

    Args:
        grammar: Read with the dynamic lexer.
        before: The text before the gap.
        after: The fixed texts behind the gap; between any two of them is another gap.

    Raises:
        UnsatisfiableError: No filling of all gaps makes a member; with the place of the stretch that contradicts.
        GrammarError: The grammar has a layout whose columns are not given.
        LimitError: The grammar or the texts are too large.
    """
    language = gap_language(grammar)
    pattern = language.pattern()
    pattern.text(before.encode())
    free = pattern.anything()
    solution = language.solve(_append_texts(language, pattern, after))
    if solution.is_empty:
        raise contradiction(language, before, after)
    return _Projection(solution, free).grammar()


def _append_texts(language: GapLanguage, pattern: Pattern, texts: Sequence[str]) -> Pattern:
    """The pattern with texts behind it up to its end, and a gap between any two of them."""
    for number, text in enumerate(texts):
        if number:
            pattern.anything()
        pattern.text(text.encode())
    pattern.perhaps(language.closing)
    return pattern


def contradiction(language: GapLanguage, before: str, after: Sequence[str]) -> UnsatisfiableError:
    """The error for texts that no filling of the gaps completes, with the least stretch that contradicts.

    If a text cannot be completed, no longer text can. So the end of the stretch is found by bisection, with a gap
    behind it, and then its beginning, with a gap before it.
    """
    texts = [before, *after]
    letters = [(number, at) for number, text in enumerate(texts) for at in range(len(text))]

    def fits(begin: int, end: int, begun: bool = True, ended: bool = False) -> bool:
        """True if some text has these letters. begun, ended: it begins with the first one, it ends with the last."""
        pieces = [""] * len(texts)
        for number, at in letters[begin:end]:
            pieces[number] += texts[number][at]
        pieces = [*([] if begun and begin == 0 else [""]), *pieces, *([] if ended else [""])]
        return not language.solve(_append_texts(language, language.pattern(), pieces)).is_empty

    low, high, ended = 0, len(letters), False
    if fits(0, high):  # then the end of the text contradicts: no gap behind it
        end, ended = high, True
    else:
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if fits(0, middle) else (low, middle)
        end = high
    begin = _last(0, end, lambda at: not fits(at, end, ended=ended))
    number, at = letters[begin] if begin < len(letters) else (len(texts) - 1, len(texts[-1]))
    last_number, last_at = letters[end - 1] if end else (number, at)
    stretch = texts[number][at : last_at + 1] if last_number == number else texts[number][at:]
    through = "" if last_number == number else f" with {texts[last_number][: last_at + 1]!r:.40} behind a hole"
    verb = "begins with" if begin == 0 and fits(0, end, begun=False, ended=ended) else "contains"
    return UnsatisfiableError(
        f"no filling of the holes makes a member: none {verb} {stretch!r:.60}{through}{' and then ends' * ended}",
        place=span(texts[number], at, max(1, len(stretch))) if texts[number] else None,
        fix="correct the text there, or make a hole of it",
    )


def _last(low: int, high: int, holds: Callable[[int], bool]) -> int:
    """The greatest number from `low` to `high` for which a condition holds that holds for `low`, then for none."""
    while high - low > 0:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if holds(middle) else (low, middle - 1)
    return low


class _Projection:
    """The symbols [A, p, q] of a solution.

    Args:
        solution: What fits a pattern.
        free: The node of the gap whose texts are wanted.
    """

    def __init__(self, solution: Solution, free: int) -> None:
        self.of, self.free = solution, free
        nodes = solution.positions
        self.before = int(np.searchsorted(nodes, free))  # how many positions are before the gap
        self.behind = int(np.searchsorted(nodes, free, side="right"))  # the first position behind it
        self._made: dict[tuple[int, int, int], Symbol] = {}
        self._before: dict[int, dict[int, frozenset[int]]] = {}
        self._out: dict[int, list[tuple[int, int]]] = {}

    def grammar(self) -> Grammar:
        """The grammar of the gap's texts."""
        begin = int(self.of.place[0])
        tops = [self.symbols(self.of.rules.start, begin, end) for end in self.of.tops]
        return Grammar(Nonterminal("start", lambda: [list(top) for top in tops]))

    def symbols(self, symbol: int, begin: int, end: int) -> tuple[Symbol, ...]:
        """The symbols that a symbol from one position to another contributes to the text of the gap."""
        if end < self.before or begin >= self.behind:
            return ()
        if self.before <= begin and end < self.behind:
            return (self._whole(symbol),)
        key = symbol, begin, end
        if key not in self._made:
            if symbol < len(self.of.rules.languages):
                self._made[key] = self._cut(symbol, begin, end)
            else:
                name = f"{self.of.rules.names[symbol]} from {begin} to {end}"
                self._made[key] = Nonterminal(name, partial(self._alternatives, *key), right_recursive=True)
        return (self._made[key],)

    def _whole(self, symbol: int) -> Symbol:
        original = self.of.rules.originals[symbol]
        if not isinstance(original, tuple):
            assert isinstance(original, Terminal | Nonterminal)
            return original
        key = symbol, self.before, self.before
        if key not in self._made:
            rest: list[Symbol] = list(original)
            self._made[key] = Nonterminal(self.of.rules.names[symbol], lambda: [rest], right_recursive=True)
        return self._made[key]

    def _alternatives(self, symbol: int, begin: int, end: int) -> list[list[Symbol]]:
        rules, of = self.of.rules, self.of
        found: dict[tuple[Symbol, ...], None] = {}
        lists = rules.by_parent
        for rule in lists.items[lists.first[symbol] : lists.first[symbol + 1]].tolist():
            left, right = int(rules.left[rule]), int(rules.right[rule])
            if right < 0:
                if of.has(left, begin, end):
                    found[self.symbols(left, begin, end)] = None
                continue
            for middle in of.chart.ends(left, begin):
                if begin <= middle <= end and of.has(right, middle, end):
                    found[(*self.symbols(left, begin, middle), *self.symbols(right, middle, end))] = None
        found.pop((self._made[symbol, begin, end],), None)  # A -> A says nothing
        return [list(each) for each in found]

    # -- terminals -----------------------------------------------------------------------------------------------------

    def _cut(self, terminal: int, begin: int, end: int) -> Symbol:
        """The part in the gap of the lexemes of a terminal that lead from one position to another."""
        original = self.of.rules.originals[terminal]
        assert isinstance(original, Terminal)
        paths = paths_of(language_of(original))
        first = self._state_after(terminal, begin)
        last = paths.accepting if end < self.behind else self._states_before(terminal)[end]
        tree = paths.between(first, last)
        return Terminal(tree, original.name) if tree is not None else _by_characters(paths, first, last, original.name)

    def _state_after(self, terminal: int, begin: int) -> int:
        """The state of a terminal at the beginning of the gap, if the lexeme began at a position; 0 for its first."""
        of, lexer = self.of, self.of.lexer
        first, node = int(lexer.starts[terminal]), int(of.positions[begin])
        state = first
        while node != self.free:  # fixed text: one arc leads on
            arc = int(of.first[node])
            state, node = int(lexer.moves[state * lexer.n_classes + int(of.by[arc])]), int(of.to[arc])
        return max(0, state - first - 1)

    def _states_before(self, terminal: int) -> dict[int, frozenset[int]]:
        """For each position behind the gap, the states at the end of the gap from which the pattern leads there."""
        if terminal in self._before:
            return self._before[terminal]
        of, lexer, nodes = self.of, self.of.lexer, self.of.pattern.nodes
        first = int(lexer.starts[terminal])
        found: dict[int, set[int]] = {}
        for s in np.flatnonzero(lexer.owners == terminal).tolist():
            seen = {(s, self.free)}
            stack = [(s, self.free)]
            while stack:
                state, node = stack.pop()
                for by, target in self._arcs(node):
                    after = int(lexer.moves[state * lexer.n_classes + by])
                    if after < 0 or (after, target) in seen or of.number[after * nodes + target] < 0:
                        continue
                    seen.add((after, target))
                    stack.append((after, target))
                    if lexer.kinds[after] == ACCEPTING and of.place[target] >= 0:
                        found.setdefault(int(of.place[target]), set()).add(max(0, s - first - 1))
        self._before[terminal] = {place: frozenset(states) for place, states in found.items()}
        return self._before[terminal]

    def _arcs(self, node: int) -> list[tuple[int, int]]:
        """(class, target) of the arcs from a node, but the ones that stay in the gap."""
        if node not in self._out:
            of = self.of
            part = slice(int(of.first[node]), int(of.first[node + 1]))
            pairs = zip(of.by[part].tolist(), of.to[part].tolist(), strict=True)
            self._out[node] = [pair for pair in pairs if pair[1] != self.free]
        return self._out[node]


@lru_cache(maxsize=512)
def paths_of(node: Node) -> Paths:
    """The automaton of a terminal, its states numbered as in `LexerTable`."""
    paths = Paths(node)
    paths.explore()
    return paths


def _by_characters(paths: Paths, start: int, targets: frozenset[int], name: str) -> Nonterminal:
    """The texts that lead from a state to one of the others, as rules of one character each."""
    before: dict[int, set[int]] = {}
    states = [start]
    for state in states:  # it grows
        for _, after in paths.steps(state):
            if after not in before:
                before[after] = set()
                states.append(after)
            before[after].add(state)
    alive = set(targets)
    stack = list(targets)
    while stack:
        for state in before.get(stack.pop(), ()):
            if state not in alive:
                alive.add(state)
                stack.append(state)
    made: dict[int, Nonterminal] = {}

    def expand(state: int) -> list[list[Symbol]]:
        longer: list[list[Symbol]] = [
            [Terminal(characters, name), rule(after)] for characters, after in paths.steps(state) if after in alive
        ]
        return [[], *longer] if state in targets else longer

    def rule(state: int) -> Nonterminal:
        if state not in made:
            made[state] = Nonterminal(name, lambda: expand(state), right_recursive=True)
        return made[state]

    return rule(start)
