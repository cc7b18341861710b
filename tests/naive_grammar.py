"""Plain, slow, obviously correct deciders for `Grammar`s: the oracle for readers and engine. Small alphabets, short
texts.

**Dynamic.** A text is a member iff it can be cut into texts of terminals that the rules derive in this order, with
texts of ignored terminals between any two of them, before the first and after the last. A terminal that contains the
empty text may match nothing; it then stands for nothing, and otherwise for a non-empty text.

**Greedy.** The text is cut from left to right, without a second thought. Where a lexeme starts, the candidates are
the terminals that the parser admits after the lexemes so far, and the ignored ones. The longest non-empty text that
any candidate matches here is the lexeme (the truly longest: an attempt that runs on and fails falls back to the last
end it passed, also at the end of the text). What a candidate excludes competes for the longest
match, as nothing. Of the candidates that match exactly this text, those with the highest priority win; of these, if any
is a literal, the literals; whatever is tied now counts together, each as one reading.
If no candidate matches, or the parser cannot go on, the text is no member: a longest match is never reconsidered. As
in dynamic, a terminal that contains the empty text may also be skipped.

A prefix is *viable* iff some continuation makes it a member. In dynamic this is decided exactly (`Earley.is_viable`),
in greedy only within a number of characters (`viable_greedy`).

Legend: an item is (rule, alternative, dot, origin); a chart is the set of items at one position; E is the Earley parser
(Earley 1970), with completion repeated until nothing changes, so that empty rules need no special case.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import lru_cache
from itertools import product

from constrain.languages.automata import syntax
from constrain.languages.automata.syntax import Node
from constrain.languages.cfg.rules import Grammar, Nonterminal, Symbol, Terminal
from naive_regex import NaiveRegex, nullable
from patience import tick

Item = tuple[Nonterminal, tuple[Symbol, ...], int, int]
Chart = frozenset[Item]


@lru_cache(maxsize=100_000)
def matches(node: Node, text: str) -> bool:
    """True if the text is in the regular language."""
    return NaiveRegex(node).matches(text)


@lru_cache(maxsize=100_000)
def begins(node: Node, text: str) -> bool:
    """True if the text is a prefix of one in the regular language."""
    return NaiveRegex(node).viable(text)


# --- context-free languages ---


class Earley:
    """The rules of a grammar, expanded, trimmed to productive alternatives; charts are computed from charts."""

    def __init__(self, grammar: Grammar) -> None:
        self.ignore = tuple(terminal for terminal in grammar.ignore if begins(terminal.node, ""))
        self.start = grammar.start
        self.table = _productive(_expanded(grammar.start))

    def initial(self) -> Chart:
        """The chart before the first lexeme."""
        return self.close({(self.start, a, 0, 0) for a in self.table.get(self.start, ())}, [], 0)

    def close(self, items: set[Item], charts: list[Chart], position: int) -> Chart:
        """Predict and complete until nothing changes. charts: those of the positions before."""
        while True:
            new: set[Item] = set()
            tick()
            for rule, alternative, dot, origin in items:
                if dot == len(alternative):
                    parents = items if origin == position else charts[origin]
                    new |= {(r, a, d + 1, o) for r, a, d, o in parents if d < len(a) and a[d] == rule}
                    continue
                symbol = alternative[dot]
                if isinstance(symbol, Terminal):
                    if nullable(symbol.node):
                        new.add((rule, alternative, dot + 1, origin))
                else:
                    new |= {(symbol, a, 0, position) for a in self.table[symbol]}
            if new <= items:
                return frozenset(items)
            items = items | new

    def accepts(self, chart: Chart) -> bool:
        """True if the start symbol is complete in a chart."""
        return any(rule == self.start and dot == len(a) and origin == 0 for rule, a, dot, origin in chart)

    @staticmethod
    def admitted(chart: Chart) -> set[Terminal]:
        """The terminals awaited."""
        return {a[dot] for _, a, dot, _ in chart if dot < len(a) and isinstance(a[dot], Terminal)}  # type: ignore[misc]

    @staticmethod
    def scanned(chart: Chart, winners: set[Terminal]) -> set[Item]:
        """The items moved over a lexeme that is read as any of these terminals."""
        return {(r, a, d + 1, o) for r, a, d, o in chart if d < len(a) and a[d] in winners}

    # Dynamic: one chart for each character of the text.

    def extend(self, text: str, charts: list[Chart]) -> list[Chart]:
        """charts[i] is the chart after text[:i], for all but the last character; adds the one after the whole text."""
        items: set[Item] = set()
        end = len(text)
        for begin in range(end):
            chart, lexeme = charts[begin], text[begin:end]
            items |= self.scanned(chart, {t for t in self.admitted(chart) if _in(t, lexeme)})
            if any(_in(blank, lexeme) for blank in self.ignore):
                items |= chart
        return [*charts, self.close(items, charts, end)]

    def is_viable(self, text: str, charts: list[Chart]) -> bool:
        """Does some continuation make the text a member? charts[i]: after text[:i]; all alternatives are productive."""
        if charts[-1]:
            return True
        for begin, chart in enumerate(charts[:-1]):
            candidates = [*self.admitted(chart), *(self.ignore if chart else ())]
            if any(begins(terminal.node, text[begin:]) for terminal in candidates):
                return True
        return False

    # Greedy: one chart for each lexeme.

    def member_greedy(self, text: str) -> bool:
        """Membership, lexing as the module says."""
        charts, position = [self.initial()], 0
        while position < len(text):
            chart = charts[-1]
            candidates = self.admitted(chart) | set(self.ignore)
            ends = {t: _longest(t, text, position) for t in candidates}
            end = max(ends.values(), default=position)
            excluded = max((_longest(x, text, position) for t in candidates for x in t.excluding), default=position)
            if end == position or excluded > end:
                return False
            tied = {t for t in candidates if ends[t] == end}
            tied = {t for t in tied if t.priority == max(each.priority for each in tied)}
            tied = {t for t in tied if t.literal} or tied
            items = self.scanned(chart, tied) | (set(chart) if tied & set(self.ignore) else set())
            charts.append(self.close(items, charts, len(charts)))
            if not charts[-1]:
                return False
            position = end
        return self.accepts(charts[-1])


def _expanded(start: Nonterminal) -> dict[Nonterminal, list[tuple[Symbol, ...]]]:
    table: dict[Nonterminal, list[tuple[Symbol, ...]]] = {}
    stack = [start]
    while stack:
        rule = stack.pop()
        if rule not in table:
            table[rule] = [tuple(alternative) for alternative in rule.expand()]
            stack += [symbol for a in table[rule] for symbol in a if isinstance(symbol, Nonterminal)]
    return table


def _productive(
    table: dict[Nonterminal, list[tuple[Symbol, ...]]],
) -> dict[Nonterminal, list[tuple[Symbol, ...]]]:
    good: set[Nonterminal] = set()

    def derives(symbol: Symbol) -> bool:
        return symbol in good if isinstance(symbol, Nonterminal) else begins(symbol.node, "")

    while new := {r for r, alternatives in table.items() if any(all(map(derives, a)) for a in alternatives)} - good:
        good |= new
    return {rule: [a for a in table[rule] if all(map(derives, a))] for rule in table}


def _in(terminal: Terminal, text: str) -> bool:
    return matches(terminal.node, text) and not any(_in(each, text) for each in terminal.excluding)


def _longest(terminal: Terminal, text: str, begin: int) -> int:
    return max((end for end in range(begin + 1, len(text) + 1) if _in(terminal, text[begin:end])), default=begin)


# --- questions ---


def member(grammar: Grammar, text: str) -> bool:
    """True if the text is valid under the grammar's own lexer."""
    earley = Earley(grammar)
    if grammar.lexer == "greedy":
        return earley.member_greedy(text)
    return earley.accepts(charts_of(earley, text)[-1])


def viable(grammar: Grammar, text: str) -> bool:
    """Does some continuation (of any characters) make the text a member? For lexer="dynamic"; exact."""
    assert grammar.lexer == "dynamic"
    earley = Earley(grammar)
    return earley.is_viable(text, charts_of(earley, text))


def viable_greedy(grammar: Grammar, text: str, alphabet: str, more: int) -> bool:
    """Does some continuation of at most `more` characters of the alphabet make the text a member? For
    lexer="greedy"."""
    assert grammar.lexer == "greedy"
    earley = Earley(grammar)
    return any(
        earley.member_greedy(text + "".join(rest)) for n in range(more + 1) for rest in product(alphabet, repeat=n)
    )


def charts_of(earley: Earley, text: str) -> list[Chart]:
    """The charts after every prefix of the text. For lexer="dynamic"."""
    charts = [earley.initial()]
    for end in range(1, len(text) + 1):
        charts = earley.extend(text[:end], charts)
    return charts


def language(grammar: Grammar, alphabet: str, length: int) -> dict[str, tuple[bool, bool]]:
    """(is member, is viable) of every text up to a length. For lexer="dynamic"; extensions of dead texts are left
    out."""
    assert grammar.lexer == "dynamic"
    earley = Earley(grammar)
    found: dict[str, tuple[bool, bool]] = {}

    def visit(text: str, charts: list[Chart]) -> None:
        alive = earley.is_viable(text, charts)
        found[text] = earley.accepts(charts[-1]), alive
        if alive and len(text) < length:
            for character in alphabet:
                visit(text + character, earley.extend(text + character, charts))

    visit("", [earley.initial()])
    return found


def members_greedy(grammar: Grammar, alphabet: str, length: int) -> set[str]:
    """The members up to a length. For lexer="greedy"."""
    earley = Earley(grammar)
    return {text for text in texts(alphabet, length) if earley.member_greedy(text)}


def texts(alphabet: str, length: int) -> Iterator[str]:
    """Every text up to a length, shortest first."""
    for n in range(length + 1):
        yield from map("".join, product(alphabet, repeat=n))


# --- random grammars ---


def random_node(rng: random.Random, alphabet: str, depth: int = 2) -> Node:
    """A small regular language; may contain the empty text, is never empty."""
    kind = rng.randrange(7) if depth else rng.randrange(3)
    if kind == 0:
        return syntax.literal("".join(rng.choices(alphabet, k=rng.choice([1, 1, 2, 3]))))
    if kind == 1:
        return syntax.literal(rng.choice(alphabet))
    if kind == 2:
        return syntax.chars((ord(c), ord(c)) for c in rng.sample(alphabet, rng.randint(1, len(alphabet))))
    inner = random_node(rng, alphabet, depth - 1)
    if kind == 3:
        low = rng.randrange(2)
        return syntax.repeat(inner, low, rng.choice([None, None, low + 1, low + 2]))
    other = random_node(rng, alphabet, depth - 1)
    return syntax.alternate(inner, other) if kind == 4 else syntax.concat(inner, other)


def random_grammar(rng: random.Random, alphabet: str = "ab", lexer: str = "dynamic") -> Grammar:
    """A small grammar with a non-empty language: recursion on both sides and in the middle, nullable rules,
    overlapping terminals, in one of three an ignored terminal, in one of three a nullable terminal. Every alternative
    is productive.
    """
    while True:
        grammar = _any_grammar(rng, alphabet, lexer)
        if grammar is not None:
            return grammar


def _any_grammar(rng: random.Random, alphabet: str, lexer: str) -> Grammar | None:
    nullables = rng.randrange(3) == 0
    terminals = []
    for index in range(rng.randint(2, 4)):
        node = random_node(rng, alphabet)
        if nullables or not nullable(node):
            literal = isinstance(node, syntax.Literals) and len(node.texts) == 1 and rng.randrange(4) > 0
            terminals.append(Terminal(node, f"T{index}", rng.choice([0, 0, 0, 1, -1]), literal))
    if not terminals:
        return None
    rules = [f"r{index}" for index in range(rng.randint(1, 3))]
    shapes = {rule: [_shape(rng, rules, len(terminals)) for _ in range(rng.randint(1, 3))] for rule in rules}
    grammar = _make(shapes, terminals, right_recursive=False)
    earley = _productive(_expanded(grammar))
    if not earley[grammar]:
        return None
    names = {rule.name for rule, alternatives in earley.items() if alternatives}
    kept = {r: [a for a in shapes[r] if all(isinstance(s, int) or s in names for s in a)] for r in rules}
    ignore = ()
    if rng.randrange(3) == 0:
        node = random_node(rng, alphabet, 1)
        ignore = () if nullable(node) else (Terminal(node, "BLANK", rng.choice([0, 0, 1])),)  # type: ignore[assignment]
    return Grammar(_make(kept, terminals, right_recursive=True), ignore, lexer)  # type: ignore[arg-type]


def _shape(rng: random.Random, rules: list[str], terminals: int) -> tuple[str | int, ...]:
    length = rng.choice([0, 1, 1, 2, 2, 2, 3, 3])
    return tuple(rng.choice(rules) if rng.randrange(5) < 2 else rng.randrange(terminals) for _ in range(length))


def _make(
    shapes: dict[str, list[tuple[str | int, ...]]], terminals: list[Terminal], *, right_recursive: bool
) -> Nonterminal:
    """Nonterminals for the shapes (a name is a rule, a number a terminal); the first rule is the start."""
    from constrain.languages.cfg.ebnf import to_nonterminals
    from constrain.languages.cfg.transform.analysis import right_recursive_rules

    table = {
        rule: tuple(dict.fromkeys(tuple(terminals[s] if isinstance(s, int) else s for s in a) for a in alternatives))
        for rule, alternatives in shapes.items()
    }
    flagged = right_recursive_rules(table) if right_recursive else frozenset()
    return to_nonterminals(table, next(iter(table)), flagged)
