"""Left and right quotients of a grammar by a text, as grammars.

    left_quotient(G, v)  = {w : v w in L(G)}        right_quotient(G, v) = {w : w v in L(G)}

The idea: the engine reads the text. The Earley set that it reaches is a finite description of all continuations
(engine/inspect.py). Written out, it is a grammar with one new nonterminal Follow(rule, origin) for each incomplete rule
and the set where it began; all other rules are the grammar's own:

    start → (rest of the open lexeme) symbols after the dot  Follow(rule, origin)
    Follow(rule, origin) → symbols after the dot  Follow(rule', origin')    for each item in `origin` waiting for `rule`

The rest of the open lexeme is the terminal's left quotient by the part that was read (automata/quotient.py), so a
lexeme may run over the junction. For a right quotient, the reversed grammar reads the mirrored text. The new rules are
then inverted, so that they begin with the whole text and the parser predicts only what fits:

    Beginning(rule, origin) → symbols before the dot  Beginning(rule', origin')     for each rule begun inside `rule`

Follow nonterminals with equal rules are merged, so a long text leaves few.

Exact for `lexer="dynamic"`. Cost: reading the text, linear for most grammars; then a few µs for each Follow. The size
of the result does not depend on the length of the text.
Limit: GrammarError for grammars with a layout of lines and columns.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

from constrain.errors import GrammarError, UnsatisfiableError, span
from constrain.kernels.records import arena
from constrain.kernels.records.parser_states import PARSER
from constrain.languages.automata import quotient
from constrain.languages.automata.decide import is_empty
from constrain.languages.automata.syntax import Node, alternate, complement, intersect
from constrain.languages.cfg.rules import Grammar, Nonterminal, Symbol, Terminal
from constrain.languages.cfg.transform.regular import inline_ignored
from constrain.languages.cfg.transform.reversal import ReversedGrammar
from constrain.masks.derived.members import byte_automaton
from constrain.masks.engine import inspect
from constrain.masks.engine.compiled_rules import CompiledRules
from constrain.masks.engine.inspect import Item

Follow = tuple[int, int]  # (record of a rule, the parser state where it began)
Tail = tuple[tuple[Symbol, ...], Follow | None]  # symbols, then a Follow; None: the end of the text
Rules = dict[Follow, list[Tail]]  # the alternatives of each Follow
START: Follow = (0, 0)  # in `Rules`: the start symbol


def left_quotient(grammar: Grammar, text: str) -> Grammar:
    """The texts that may follow a text. Raises UnsatisfiableError, with the place, if no member begins with it."""
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
    """The texts that may precede a text. Raises UnsatisfiableError, with the place, if no member ends with it."""
    mirrored = _reversed(_plain(grammar))
    reading = _Reading(
        mirrored.grammar, text[::-1], mirrored.original, lambda node, v: quotient.right_quotient(node, v[::-1])
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
    """An equivalent grammar without ignored terminals. Raises GrammarError for a layout."""
    if grammar.closing:  # with a layout, ignored text and the ends of blocks depend on the text before
        raise GrammarError(
            "a grammar with a layout of lines and columns cannot be cut: its rules depend on the text before",
            fix="constrain the whole text, or use a grammar without a layout for the piece",
        )
    return inline_ignored(Grammar(grammar.start, grammar.ignore))


@lru_cache(maxsize=16)
def _reversed(grammar: Grammar) -> ReversedGrammar:
    return ReversedGrammar(grammar)


@dataclass
class _Reading:
    """A grammar that has read a text.

    Attributes:
        source: The grammar.
        text: The text.
        original: The symbol to write for a symbol of the grammar.
        cut: (language of a terminal, the part that was read) -> the language of its rest.
        read: The number of characters that were read; less than all if no member begins with the text.
        starts: (rest of the open lexeme or None, tail) for every possible continuation.
        tails: The tails of each Follow.
    """

    source: Grammar
    text: str
    original: Callable[[Symbol], Symbol]
    cut: Callable[[Node, str], Node]

    def __post_init__(self) -> None:
        self.automaton = byte_automaton()
        self.automaton.attempt(self._run)

    def _run(self) -> None:
        """Read the text and collect the rules, under the lock: a flush would make the states invalid."""
        self.starts: list[tuple[Terminal | None, Tail]] = []
        self.tails: dict[Follow, list[Tail]] = {}
        rules = CompiledRules(self.source, self.automaton.epoch)
        self.states = [self.automaton.start(rules)]
        for character in self.text:
            state = inspect.after(self.automaton, self.states[-1], character.encode())
            if state == arena.NONE:
                break
            self.states.append(state)
        self.read = len(self.states) - 1
        if self.read == len(self.text):
            self.names = inspect.symbols(self.automaton, rules)
            self._collect_starts()
            self._collect_tails()

    def _collect_starts(self) -> None:
        for lexeme in inspect.lexemes(self.automaton, self.states[-1]):
            if lexeme.fresh:
                if inspect.is_final(self.automaton, lexeme.parser):
                    self.starts.append((None, ((), None)))
                self.starts += [(None, self._tail(item)) for item in inspect.kernel(self.automaton, lexeme.parser)]
                continue
            begun = self._open_text(lexeme.parser, lexeme.lexer)
            for item in inspect.scanning(self.automaton, lexeme.parser):
                terminal = self.names[item.rest[0]]
                assert isinstance(terminal, Terminal)
                rest = self._rest(terminal, begun)
                if rest is not None:
                    self.starts.append((rest, self._tail(item._replace(rest=item.rest[1:]))))

    def _open_text(self, parser: int, lexer: int) -> str:
        """The part that was read of an open lexeme that began in this parser state.

        If there are several, any of them serves: the lexer state does not distinguish them.
        """
        begin = PARSER.LEXER(self.automaton.memory.A, parser)
        for i in range(len(self.text) - 1, -1, -1):
            lexemes = inspect.lexemes(self.automaton, self.states[i])
            if any(lexeme.parser == parser and lexeme.fresh for lexeme in lexemes):
                if self.automaton.store.run(begin, self.text[i:].encode()) == lexer:
                    return self.text[i:]
        raise AssertionError("a lexeme in progress has begun somewhere")

    def _rest(self, terminal: Terminal, begun: str) -> Terminal | None:
        """The rest of a terminal after its first part was read; None if no text of it begins with that part."""
        original = self.original(terminal)
        assert isinstance(original, Terminal)
        node = self.cut(original.node, begun)
        excluded = {self.cut(other.node, begun) for other in original.excluding}
        excluded = {language for language in excluded if not is_empty(language)}
        if is_empty(intersect(node, complement(alternate(*excluded))) if excluded else node):
            return None
        return Terminal(node, original.name, excluding=frozenset(Terminal(language) for language in excluded))

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
            items = inspect.waiting(self.automaton, origin, rule)
            self.tails[follow] = [self._tail(item._replace(rest=item.rest[1:])) for item in items]
            pending += [following for _, following in self.tails[follow]]

    def grammar(self, *, backwards: bool) -> Grammar:
        """The grammar of the continuations; backwards: of the texts that may come before."""
        rules = _merged(self._prefix_rules() if backwards else self._behind())
        part = "beginning of" if backwards else "after"
        made: dict[Follow, Nonterminal] = {}

        def nonterminal(follow: Follow) -> Nonterminal:
            if follow not in made:
                name = "start" if follow == START else f"{part} {self.names[follow[0]].name}"
                made[follow] = Nonterminal(name, lambda: alternatives(follow), right_recursive=True)
            return made[follow]

        def alternatives(follow: Follow) -> list[list[Symbol]]:
            return [[*symbols, *([] if after is None else [nonterminal(after)])] for symbols, after in rules[follow]]

        return Grammar(nonterminal(START))

    def _behind(self) -> Rules:
        """The rules of the continuations: the symbols after each dot, then the Follow of the completed rule."""
        starts: list[Tail] = [
            ((*([first] if first else []), *symbols), follow) for first, (symbols, follow) in self.starts
        ]
        return {START: starts, **self.tails}

    def _prefix_rules(self) -> Rules:
        """The rules of the texts before, from the whole text down to the junction.

        Read backwards, a rule leads to the rule around it. In that direction a parser would have to predict every
        possible beginning of the text; inverted, it predicts only the beginnings that fit what it has read.
        """
        rules: Rules = {START: [], **{follow: [] for follow in self.tails}}
        for follow, tails in self.tails.items():
            for symbols, around in tails:
                rules[around or START].append((symbols[::-1], follow))
        for first, (symbols, around) in self.starts:
            rules[around or START].append(((*symbols[::-1], *([first] if first else [])), None))
        return rules


def _merged(rules: Rules) -> Rules:
    """The rules with equal nonterminals merged: the coarsest partition that the alternatives respect (bisimulation)."""
    number: dict[tuple[Symbol, ...], int] = {}
    numbered = {
        follow: [(number.setdefault(symbols, len(number)), after) for symbols, after in alternatives]
        for follow, alternatives in rules.items()
    }
    classes: dict[Follow | None, int] = {None: -1, **dict.fromkeys(rules, 0)}
    count = 1
    while True:
        shapes: dict[object, int] = {}
        finer: dict[Follow | None, int] = {None: -1}
        for follow, alternatives in numbered.items():
            shape = classes[follow], frozenset((symbols, classes[after]) for symbols, after in alternatives)
            finer[follow] = shapes.setdefault(shape, len(shapes))
        if len(shapes) == count:
            break
        classes, count = finer, len(shapes)
    first: dict[int, Follow] = {}
    for follow in rules:  # START is the first
        first.setdefault(classes[follow], follow)
    return {
        follow: list(dict.fromkeys((symbols, after and first[classes[after]]) for symbols, after in rules[follow]))
        for follow in first.values()
    }
