"""The check of a finished text some parts of which have checks of their own (`Nonterminal.check`).

The idea: an Earley parser over the whole text, in plain Python; a nonterminal with a check is completed over a span
only if the check passes there. So a text passes exactly if *some* derivation of it passes everywhere, however
ambiguous the grammar is.

Source: Earley, "An efficient context-free parsing algorithm" (1970); nullable rules as in Aycock and Horspool,
"Practical Earley parsing" (2002): what was completed where it began is remembered there.
Cost: tens of microseconds a byte for grammars like JSON's, cubic at worst; asked only of texts that the automaton
accepts. Limit: for `lexer="dynamic"` with nothing ignored, which is how parts are put together (`parts`).
"""

from __future__ import annotations

from collections.abc import Sequence

from constrain.automata.decide import ends
from constrain.cfg.rules import Grammar, Nonterminal, Symbol, Terminal

Item = tuple[Nonterminal, Sequence[Symbol], int, int]  # left-hand side, alternative, dot, origin


def check_finished(grammar: Grammar, text: str) -> str | None:
    """None if some derivation of the text passes all checks, else one sentence: of a check, or that there is none."""
    assert grammar.lexer == "dynamic" and not grammar.ignore
    parser = _Parser(text.encode())
    if parser.derives(grammar.start):
        return None
    return parser.fault or "the text is not a member"


class _Parser:
    """items[i]: the items after i bytes, in order; known[i]: the same, to be asked. waiting[i]: those that wait for a
    nonterminal. done[i]: (nonterminal, origin) completed there. fault: of the first check that failed."""

    def __init__(self, text: bytes) -> None:
        self.text = text
        n = len(text) + 1
        self.items: list[list[Item]] = [[] for _ in range(n)]
        self.known: list[set[tuple[Nonterminal, int, int, int]]] = [set() for _ in range(n)]
        self.waiting: list[dict[Nonterminal, list[Item]]] = [{} for _ in range(n)]
        self.done: list[set[tuple[Nonterminal, int]]] = [set() for _ in range(n)]
        self.fault: str | None = None

    def derives(self, start: Nonterminal) -> bool:
        self.predict(start, 0)
        for position in range(len(self.text) + 1):
            self.visit(position)
        return (start, 0) in self.done[-1]

    def predict(self, nonterminal: Nonterminal, position: int) -> None:
        if nonterminal.expansion is None:
            nonterminal.expansion = nonterminal.expand()
        for alternative in nonterminal.expansion:
            self.add((nonterminal, alternative, 0, position), position)

    def add(self, item: Item, position: int) -> None:
        key = item[0], id(item[1]), item[2], item[3]
        if key not in self.known[position]:
            self.known[position].add(key)
            self.items[position].append(item)

    def visit(self, position: int) -> None:
        """Predict, complete and scan what is at a position; the list of its items grows meanwhile."""
        waiting, done = self.waiting[position], self.done[position]
        scanned: dict[Terminal, list[int]] = {}
        for item in self.items[position]:
            left, alternative, dot, origin = item
            if dot == len(alternative):
                if (left, origin) not in done and self.passes(left, origin, position):
                    done.add((left, origin))
                    for r, a, d, o in tuple(self.waiting[origin][left]) if left in self.waiting[origin] else ():
                        self.add((r, a, d + 1, o), position)
                continue
            symbol = alternative[dot]
            if isinstance(symbol, Terminal):
                if symbol not in scanned:
                    scanned[symbol] = self.ends(symbol, position)
                for end in scanned[symbol]:
                    self.add((left, alternative, dot + 1, origin), end)
                continue
            if symbol not in waiting:
                waiting[symbol] = []
                self.predict(symbol, position)
            waiting[symbol].append(item)
            if (symbol, position) in done:
                self.add((left, alternative, dot + 1, origin), position)

    def passes(self, nonterminal: Nonterminal, begin: int, end: int) -> bool:
        if nonterminal.check is None:
            return True
        try:
            fault = nonterminal.check(self.text[begin:end].decode())
        except UnicodeDecodeError:  # the span begins or ends within a character
            return False
        self.fault = self.fault or fault
        return fault is None

    def ends(self, terminal: Terminal, begin: int) -> list[int]:
        """Where a lexeme of the terminal that begins here may end."""
        found = ends(terminal.node, self.text, begin)
        excluded = {end for each in terminal.excluding for end in ends(each.node, self.text, begin)}
        return [end for end in found if end not in excluded]
