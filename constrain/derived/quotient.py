"""What may follow a text, and what may come before one, as a grammar again.

    left_quotient(G, v)  = {w : v w in L(G)}        right_quotient(G, v) = {w : w v in L(G)}

The idea: the engine reads the text; what it stands in then is a finite description of all that may follow
(engine/inspect.py). Written out, it is a grammar whose new rules are the rules in progress, one for each place on the
parser's stack:

    start → (rest of the lexeme in progress) symbols to come  Follow(rule, origin)
    Follow(rule, origin) → symbols to come  Follow(rule', origin')      for each item in `origin` that waits for `rule`

and all others are the grammar's own. The lexeme in progress is the terminal's left quotient by what was read of it
(automata/quotient.py), so a lexeme may run over the junction. For a right quotient the text is read backwards by the
backward grammar; the new rules are then turned around, so that they begin with the whole text and predict what fits:

    Beginning(rule, origin) → symbols before  Beginning(rule', origin')     for each rule that is begun inside `rule`

Places with equal rules are one place: a long text leaves few.

Exact for `lexer="dynamic"`. Cost: the engine's, which is linear in the text for most grammars; then some µs for each
place on the stack. The length of the text does not enter the grammar that results.
Limit: GrammarError for grammars with a layout of lines and columns.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

from constrain.automata import quotient
from constrain.automata.decide import is_empty
from constrain.automata.syntax import Node, alternate, complement, intersect
from constrain.cfg.rules import Grammar, Nonterminal, Symbol, Terminal
from constrain.cfg.transform.regular import inline_ignored
from constrain.cfg.transform.reversal import ReversedGrammar
from constrain.derived.members import byte_automaton
from constrain.engine import inspect as anatomy
from constrain.engine.automaton import CompiledRules
from constrain.engine.inspect import Item
from constrain.errors import GrammarError, UnsatisfiableError, span
from constrain.kernels.records import arena
from constrain.kernels.records.parser_states import parser_lexer

Follow = tuple[int, int]  # (rule, the parser state where it was begun)
Tail = tuple[tuple[Symbol, ...], Follow | None]  # symbols to come, then what follows; None: the end of the text
Places = dict[Follow, list[Tail]]  # rules: some symbols, then by the rules of another place
START: Follow = (0, 0)  # in `Places`: the whole


def left_quotient(grammar: Grammar, text: str) -> Grammar:
    """What may follow the text. Raises UnsatisfiableError, with the place, if no member begins with it."""
    plain = _plain(grammar)
    reading = _Reading(plain, text, lambda symbol: symbol, quotient.left_quotient)
    if reading.read < len(text):
        raise UnsatisfiableError(
            f"no text of the language begins with the prefix: {text[reading.read]!r} is not allowed there",
            place=span(text, reading.read),
            fix="correct the prefix, or leave out what comes before the constrained part",
        )
    return reading.grammar(backwards=False)


def right_quotient(grammar: Grammar, text: str) -> Grammar:
    """What may come before the text. Raises UnsatisfiableError, with the place, if no member ends with it."""
    backwards = _backwards(_plain(grammar))
    reading = _Reading(
        backwards.grammar, text[::-1], backwards.original, lambda node, v: quotient.right_quotient(node, v[::-1])
    )
    if reading.read < len(text):
        at = len(text) - 1 - reading.read
        raise UnsatisfiableError(
            f"no text of the language ends with the suffix: read from its end, {text[at]!r} is not allowed there",
            place=span(text, at),
            fix="correct the suffix, or leave out what comes after the constrained part",
        )
    return reading.grammar(backwards=True)


@lru_cache(maxsize=16)
def _plain(grammar: Grammar) -> Grammar:
    if getattr(grammar, "closing", b""):  # what is ignored, and where a block ends, depends on what stands before
        raise GrammarError(
            "a grammar with a layout of lines and columns cannot be cut: its rules depend on the text before",
            fix="constrain the whole text, or use a grammar without a layout for the piece",
        )
    return inline_ignored(Grammar(grammar.start, grammar.ignore))


@lru_cache(maxsize=16)
def _backwards(grammar: Grammar) -> ReversedGrammar:
    return ReversedGrammar(grammar)


@dataclass
class _Reading:
    """A grammar after a text.

    original: the symbol to write for a symbol of the grammar. cut: (language of a terminal, what was read of it) ->
    the language of the rest. read: characters that were read; fewer than there are if no member begins so.
    starts: (rest of a lexeme or None, symbols, follow) of everything that may come now. tails: of each follow.
    """

    constraint: Grammar
    text: str
    original: Callable[[Symbol], Symbol]
    cut: Callable[[Node, str], Node]

    def __post_init__(self) -> None:
        self.automaton = byte_automaton()
        self.automaton.attempt(self._run)

    def _run(self) -> None:
        """All of it, under the lock: numbers of states are good until the automaton forgets."""
        self.starts: list[tuple[Terminal | None, Tail]] = []
        self.tails: dict[Follow, list[Tail]] = {}
        rules = CompiledRules(self.constraint, self.automaton.epoch)
        self.states = [self.automaton.start(rules)]
        for character in self.text:
            state = anatomy.after(self.automaton, self.states[-1], character.encode())
            if state == arena.NONE:
                break
            self.states.append(state)
        self.read = len(self.states) - 1
        if self.read == len(self.text):
            self.names = anatomy.symbols(self.automaton, rules)
            self._collect_starts()
            self._collect_tails()

    def _collect_starts(self) -> None:
        for lexeme in anatomy.lexemes(self.automaton, self.states[-1]):
            if lexeme.fresh:
                if anatomy.is_final(self.automaton, lexeme.parser):
                    self.starts.append((None, ((), None)))
                self.starts += [(None, self._tail(item)) for item in anatomy.kernel(self.automaton, lexeme.parser)]
                continue
            begun = self._begun(lexeme.parser, lexeme.lexer)
            for item in anatomy.scanning(self.automaton, lexeme.parser):
                terminal = self.names[item.rest[0]]
                assert isinstance(terminal, Terminal)
                rest = self._rest(terminal, begun)
                if rest is not None:
                    self.starts.append((rest, self._tail(item._replace(rest=item.rest[1:]))))

    def _begun(self, parser: int, lexer: int) -> str:
        """What was read of a lexeme in progress that began in this parser state; of several, any that the lexer does
        not tell apart."""
        begin = parser_lexer(self.automaton.A, parser)
        for i in range(len(self.text) - 1, -1, -1):
            if any(each.parser == parser and each.fresh for each in anatomy.lexemes(self.automaton, self.states[i])):
                if self.automaton.run(begin, self.text[i:].encode()) == lexer:
                    return self.text[i:]
        raise AssertionError("a lexeme in progress has begun somewhere")

    def _rest(self, terminal: Terminal, begun: str) -> Terminal | None:
        """A terminal of which something was read already; None if it cannot go on so."""
        original = self.original(terminal)
        assert isinstance(original, Terminal)
        node = self.cut(original.node, begun)
        excluded = {self.cut(each.node, begun) for each in original.excluding}
        excluded = {each for each in excluded if not is_empty(each)}
        if is_empty(intersect(node, complement(alternate(*excluded))) if excluded else node):
            return None
        return Terminal(node, original.name, excluding=frozenset(Terminal(each) for each in excluded))

    def _tail(self, item: Item) -> Tail:
        symbols = tuple(self.original(self.names[record]) for record in item.rest)
        return symbols, (item.rule, item.origin) if item.origin else None

    def _collect_tails(self) -> None:
        pending = [follow for _, (_, follow) in self.starts]
        while pending:
            follow = pending.pop()
            if follow is None or follow in self.tails:
                continue
            rule, origin = follow
            items = anatomy.waiting(self.automaton, origin, rule)
            self.tails[follow] = [self._tail(item._replace(rest=item.rest[1:])) for item in items]
            pending += [each for _, each in self.tails[follow]]

    def grammar(self, *, backwards: bool) -> Grammar:
        """What may follow (or, read backwards, come before)."""
        rules = _merged(self._before() if backwards else self._behind())
        part = "beginning of" if backwards else "after"
        made: dict[Follow, Nonterminal] = {}

        def nonterminal(place: Follow) -> Nonterminal:
            if place not in made:
                name = "start" if place == START else f"{part} {self.names[place[0]].name}"
                made[place] = Nonterminal(name, lambda: alternatives(place), right_recursive=True)
            return made[place]

        def alternatives(place: Follow) -> list[list[Symbol]]:
            return [[*symbols, *([] if after is None else [nonterminal(after)])] for symbols, after in rules[place]]

        return Grammar(nonterminal(START))

    def _behind(self) -> Places:
        """Rules for what is still to come: what misses of a rule, then what follows it."""
        starts: list[Tail] = [
            ((*([first] if first else []), *symbols), follow) for first, (symbols, follow) in self.starts
        ]
        return {START: starts, **self.tails}

    def _before(self) -> Places:
        """Rules for what came before, of rules whose ends were read: from the whole text down to where the text begins.

        Read backwards, a rule leads to the one around it. Written so, a parser would have to keep every place in mind
        where the text could begin; turned around, it is in those that fit to what it has read.
        """
        rules: Places = {START: [], **{follow: [] for follow in self.tails}}
        for follow, tails in self.tails.items():
            for symbols, around in tails:
                rules[around or START].append((symbols[::-1], follow))
        for first, (symbols, around) in self.starts:
            rules[around or START].append(((*symbols[::-1], *([first] if first else [])), None))
        return rules


def _merged(rules: Places) -> Places:
    """The same with one place for all that have equal rules, up to the names of places: the coarsest such partition."""
    number: dict[tuple[Symbol, ...], int] = {}
    numbered = {
        place: [(number.setdefault(symbols, len(number)), after) for symbols, after in alternatives]
        for place, alternatives in rules.items()
    }
    classes: dict[Follow | None, int] = {None: -1, **dict.fromkeys(rules, 0)}
    count = 1
    while True:
        shapes: dict[object, int] = {}
        finer: dict[Follow | None, int] = {None: -1}
        for place, alternatives in numbered.items():
            shape = classes[place], frozenset((symbols, classes[after]) for symbols, after in alternatives)
            finer[place] = shapes.setdefault(shape, len(shapes))
        if len(shapes) == count:
            break
        classes, count = finer, len(shapes)
    first: dict[int, Follow] = {}
    for place in rules:  # START is the first
        first.setdefault(classes[place], place)
    return {
        place: list(dict.fromkeys((symbols, after and first[classes[after]]) for symbols, after in rules[place]))
        for place in first.values()
    }
