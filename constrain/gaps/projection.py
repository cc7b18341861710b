"""What may stand in the first of several gaps, as a grammar of its own.

    first_gap(grammar, ["b", "d"])      # {w : w b x d y is a member, for some texts x and y}

The idea: an item (A, p, q) says that A derives a text between two positions. The pattern begins with the gap, whose
node is position 0, and only items from there contribute to its text: (A, 0, 0) is A itself, with all its texts; an item
behind the gap is nothing; (A, 0, q) begins in the gap and ends behind it. So a rule A -> B C becomes
[A, q] -> B [C, q], and [A, q] -> [B, m] where C derives what is left from m to q. A terminal from the gap to q is a
right quotient: its texts that lead to a state from which the rest of the pattern is read.

The engine reads the result like any grammar, with exact masks for any vocabulary. The rules are made when a text
reaches them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache

import numpy as np

from constrain.automata.paths import Paths
from constrain.cfg.rules import Grammar, Nonterminal, Symbol, Terminal
from constrain.errors import UnsatisfiableError, span
from constrain.gaps.pattern import Pattern
from constrain.gaps.rules import language_of
from constrain.gaps.solution import GapLanguage, Solution
from constrain.kernels.gaps.lexemes import ACCEPTING

FREE = 0  # the node of the gap, and its position


@lru_cache(maxsize=16)
def gap_language(grammar: Grammar) -> GapLanguage:
    """The tables of a grammar, kept for the next text. Raises GrammarError, LimitError."""
    return GapLanguage(grammar)


def first_gap(grammar: Grammar, after: Sequence[str]) -> Grammar:
    """The texts of a gap at the beginning, with other gaps between the texts after it.

    Args:
        grammar: Read with the dynamic lexer.
        after: The fixed texts behind the gap; between any two of them is another gap.

    Raises:
        UnsatisfiableError: No filling of all gaps makes a member; with the place of the stretch that contradicts.
        GrammarError: The grammar has a layout of lines and columns.
        LimitError: The grammar or the texts are too large.
    """
    language = gap_language(grammar)
    solution = language.solve(_pattern(language, after))
    if solution.is_empty:
        raise contradiction(language, after)
    return _Projection(solution).grammar()


def _pattern(language: GapLanguage, after: Sequence[str]) -> Pattern:
    pattern = language.pattern()
    pattern.anything()
    for number, text in enumerate(after):
        if number:
            pattern.anything()
        pattern.text(text.encode())
    return pattern


def contradiction(language: GapLanguage, after: Sequence[str]) -> UnsatisfiableError:
    """The error for texts that no filling of the gaps completes, with the least stretch that contradicts.

    If a text cannot be completed, no longer text can. So the end of the stretch is found by bisection, with a gap
    behind it, and then its beginning, with a gap before it.
    """
    letters = [(number, at) for number, text in enumerate(after) for at in range(len(text))]

    def fits(begin: int, end: int) -> bool:
        pieces = [""] * len(after)
        for number, at in letters[begin:end]:
            pieces[number] += after[number][at]
        return not language.solve(_pattern(language, [*pieces, ""])).is_empty

    low, high = 0, len(letters)
    if fits(0, high):  # then the end of the text contradicts: no gap behind it
        end, behind = high, " and then ends"
        begin = _last(0, high, lambda at: not _ends(language, after, letters[at:]))
    else:
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if fits(0, middle) else (low, middle)
        end, behind = high, ""
        begin = _last(0, end, lambda at: not fits(at, end))
    number, at = letters[begin] if begin < len(letters) else (len(after) - 1, len(after[-1]))
    last_number, last_at = letters[end - 1] if end else (number, at)
    stretch = after[number][at : last_at + 1] if last_number == number else after[number][at:]
    through = "" if last_number == number else f" with {after[last_number][: last_at + 1]!r:.40} behind a hole"
    return UnsatisfiableError(
        f"no filling of the holes makes a member: none contains {stretch!r:.60}{through}{behind}",
        place=span(after[number], at, max(1, len(stretch))) if after[number] else None,
        fix="correct the text there, or make a hole of it",
    )


def _ends(language: GapLanguage, after: Sequence[str], letters: list[tuple[int, int]]) -> bool:
    pieces = [""] * len(after)
    for number, at in letters:
        pieces[number] += after[number][at]
    return not language.solve(_pattern(language, pieces)).is_empty


def _last(low: int, high: int, holds: Callable[[int], bool]) -> int:
    """The greatest number from `low` to `high` for which a condition holds that holds for `low`, then for none."""
    while high - low > 0:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if holds(middle) else (low, middle - 1)
    return low


class _Projection:
    """The symbols [A, q] of a solution whose pattern begins with a gap."""

    def __init__(self, solution: Solution) -> None:
        self.of = solution
        self.n = len(solution.positions)
        assert solution.place[FREE] == 0
        self._made: dict[tuple[int, int], Symbol] = {}
        self._ends: dict[int, dict[int, set[int]]] = {}
        self._paths: dict[int, Paths] = {}

    def grammar(self) -> Grammar:
        """The grammar of the gap's texts."""
        tops = [self.symbol(self.of.rules.start, end) for end in self.of.tops]
        return Grammar(Nonterminal("start", lambda: [[top] for top in tops]))

    def symbol(self, symbol: int, end: int) -> Symbol:
        """[A, q]; a grammar's own symbol if the text ends in the gap."""
        if end == 0:
            return self._whole(symbol)
        if (symbol, end) not in self._made:
            if symbol < len(self.of.rules.languages):
                self._made[symbol, end] = self._cut(symbol, end)
            else:
                name = f"{self.of.rules.names[symbol]} up to {end}"
                self._made[symbol, end] = Nonterminal(
                    name, lambda: self._alternatives(symbol, end), right_recursive=True
                )
        return self._made[symbol, end]

    def _whole(self, symbol: int) -> Symbol:
        original = self.of.rules.originals[symbol]
        if not isinstance(original, tuple):
            assert isinstance(original, Terminal | Nonterminal)
            return original
        if (symbol, 0) not in self._made:
            rest: list[Symbol] = list(original)
            self._made[symbol, 0] = Nonterminal(self.of.rules.names[symbol], lambda: [rest], right_recursive=True)
        return self._made[symbol, 0]

    def _alternatives(self, symbol: int, end: int) -> list[list[Symbol]]:
        rules, of = self.of.rules, self.of
        found: dict[tuple[Symbol, ...], None] = {}
        lists = rules.by_parent
        for rule in lists.items[lists.first[symbol] : lists.first[symbol + 1]].tolist():
            left, right = int(rules.left[rule]), int(rules.right[rule])
            if right < 0:
                if of.has(left, 0, end):
                    found[(self.symbol(left, end),)] = None
                continue
            if of.has(left, 0, 0) and of.has(right, 0, end):
                found[(self._whole(left), self.symbol(right, end))] = None
            for middle in range(1, self.n):
                if of.has(left, 0, middle) and of.has(right, middle, end):
                    found[(self.symbol(left, middle),)] = None
        return [list(each) for each in found]

    # -- terminals -----------------------------------------------------------------------------------------------------

    def _cut(self, terminal: int, end: int) -> Symbol:
        """The texts w of a terminal such that w and the pattern up to a position behind the gap make a lexeme."""
        if terminal not in self._ends:
            self._ends[terminal] = self._states(terminal)
        original = self.of.rules.originals[terminal]
        assert isinstance(original, Terminal)
        paths = self._paths.setdefault(terminal, Paths(language_of(original)))
        targets = self._ends[terminal][end]
        tree = paths.between(0, targets)
        if tree is not None:
            return Terminal(tree, original.name)
        return _by_characters(paths, frozenset(targets), original.name)

    def _states(self, terminal: int) -> dict[int, set[int]]:
        """For each position, the states of a terminal at the end of the gap from which the pattern leads there."""
        of, lexer, nodes = self.of, self.of.lexer, self.of.pattern.nodes
        first = int(lexer.starts[terminal])
        found: dict[int, set[int]] = {}
        for s in np.flatnonzero(lexer.owners == terminal).tolist():
            seen = {(s, FREE)}
            stack = [(s, FREE)]
            while stack:
                state, node = stack.pop()
                for arc in range(int(of.first[node]), int(of.first[node + 1])):
                    target = int(of.to[arc])
                    after = int(lexer.moves[state * lexer.n_classes + int(of.by[arc])])
                    if after < 0 or target == FREE or (after, target) in seen:
                        continue
                    if of.number[after * nodes + target] < 0:
                        continue
                    seen.add((after, target))
                    stack.append((after, target))
                    if lexer.kinds[after] == ACCEPTING and of.place[target] >= 0:
                        found.setdefault(int(of.place[target]), set()).add(max(0, s - first - 1))
        return found


def _by_characters(paths: Paths, targets: frozenset[int], name: str) -> Nonterminal:
    """The texts that lead to one of the states, as rules of one character each."""
    before: dict[int, set[int]] = {}
    states = [0]
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

    return rule(0)
