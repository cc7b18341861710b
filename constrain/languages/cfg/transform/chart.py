"""An Earley parser of one finished text, in plain Python: which nonterminals derive which spans.

Source: Earley, "An efficient context-free parsing algorithm" (1970). Nullable rules as in Aycock and Horspool,
"Practical Earley parsing" (2002): a nonterminal that was completed where it began is remembered there.
Cost: tens of microseconds a byte for grammars like JSON's, cubic at worst. It runs only on texts that the automaton
accepts. Limit: for `lexer="dynamic"` without ignored terminals, which is how constraints/parts.py composes grammars.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from constrain.languages.automata.decide import ends
from constrain.languages.automata.marks import ReadTokens, without_marks
from constrain.languages.automata.syntax import Ranges, Tokens, with_ids
from constrain.languages.cfg.rules import Grammar, Nonterminal, Symbol, Terminal
from constrain.limits import tick

Item = tuple[Nonterminal, Sequence[Symbol], int, int]  # left-hand side, alternative, dot, origin


class TextChart:
    """An Earley parser of one text.

    A nonterminal with a check (`Nonterminal.check`) is completed over a span only if the span passes.

    Attributes:
        items: `items[i]` are the items after i bytes, in the order in which they were added.
        known: The same items as sets.
        waiting: `waiting[i]` are the items after i bytes that wait for a nonterminal.
        done: `done[i]` are the pairs (nonterminal, origin) completed after i bytes, with their order.
        lexemes: `lexemes[i]` are the origins of the lexemes that end after i bytes, by terminal.
        fault: The sentence of the first check that failed.
    """

    def __init__(self, text: bytes, spans: Mapping[Tokens, Ranges]) -> None:
        self.text = text
        self.spans = spans
        n = len(text) + 1
        self.items: list[list[Item]] = [[] for _ in range(n)]
        self.known: list[set[tuple[Nonterminal, int, int, int]]] = [set() for _ in range(n)]
        self.waiting: list[dict[Nonterminal, list[Item]]] = [{} for _ in range(n)]
        self.done: list[dict[tuple[Nonterminal, int], int]] = [{} for _ in range(n)]
        self.lexemes: list[dict[Terminal, list[int]]] = [{} for _ in range(n)]
        self.fault: str | None = None

    def derives(self, start: Nonterminal) -> bool:
        """True if the start symbol derives the text and all checks pass."""
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
        """Predict, complete and scan at a position. The list of its items grows meanwhile."""
        waiting, done = self.waiting[position], self.done[position]
        scanned: dict[Terminal, list[int]] = {}
        for item in self.items[position]:
            tick()
            rule, alternative, dot, origin = item
            if dot == len(alternative):
                if (rule, origin) not in done and self.passes(rule, origin, position):
                    done[rule, origin] = len(done)
                    for r, a, d, o in tuple(self.waiting[origin][rule]) if rule in self.waiting[origin] else ():
                        self.add((r, a, d + 1, o), position)
                continue
            symbol = alternative[dot]
            if isinstance(symbol, Terminal):
                if symbol not in scanned:
                    scanned[symbol] = self.ends(symbol, position)
                    for end in scanned[symbol]:
                        self.lexemes[end].setdefault(symbol, []).append(position)
                for end in scanned[symbol]:
                    self.add((rule, alternative, dot + 1, origin), end)
                continue
            if symbol not in waiting:
                waiting[symbol] = []
                self.predict(symbol, position)
            waiting[symbol].append(item)
            if (symbol, position) in done:
                self.add((rule, alternative, dot + 1, origin), position)

    def passes(self, nonterminal: Nonterminal, begin: int, end: int) -> bool:
        if nonterminal.check is None:
            return True
        try:
            fault = nonterminal.check(without_marks(self.text[begin:end]).decode())
        except UnicodeDecodeError:  # the span begins or ends within a character
            return False
        self.fault = self.fault or fault
        return fault is None

    def ends(self, terminal: Terminal, begin: int) -> list[int]:
        """The ends of the lexemes of a terminal that begin at a position."""
        excluded = {end for other in terminal.excluding for end in ends(other.node, self.text, begin)}
        node = with_ids(terminal.node, self.spans) if self.spans else terminal.node
        found = [end for end in ends(node, self.text, begin) if end not in excluded]
        if isinstance(terminal.node, Tokens) and isinstance(self.spans, ReadTokens):
            token, length = self.spans.places.get(len(self.text) - begin, (-1, 0))
            if any(low <= token <= high for low, high in self.spans[terminal.node]):
                found.append(begin + length)
        return found


def check_finished(grammar: Grammar, text: str | bytes, spans: Mapping[Tokens, Ranges] | None = None) -> str | None:
    """None if some derivation of a text passes all checks of its parts (`Nonterminal.check`), however ambiguous the
    grammar is; else one sentence that says why not.

    text: As bytes it is UTF-8, with marks (automata/marks.py) of tokens that are no text. spans: the ids of the sets
    of tokens.
    """
    assert grammar.lexer == "dynamic" and not grammar.ignore
    chart = TextChart(text.encode() if isinstance(text, str) else text, spans or {})
    if chart.derives(grammar.start):
        return None
    return chart.fault or "the text is not a member"
