"""The shortest text that completes a member, from any configuration.

    Shortest(automaton, rules).completion(c)      # bytes; None: nothing that was found completes it

The idea: texts under *shortlex* order (shorter first, then byte by byte) are a semiring: the least text of a sequence
is the sequence of least texts. So least texts of nonterminals are found as shortest derivations (Knuth, "A
generalization of Dijkstra's algorithm", 1977), of lexers by breadth-first search, and what follows a rule on the
parser's stack by relaxation (engine/inspect.py); the least of all ways out of a configuration is its completion.
Since the order agrees with concatenation, a completion goes on as the completion of what follows: after its first
bytes, the shortest completion is the rest.

Exact under `lexer="dynamic"`, for the grammar alone (a guard may object). Under maximal munch the candidates — plain,
and with ignored text after every lexeme — are tried by the engine, and one that it does not accept does not count.
Cost: once, the rules of the grammar; then Python, some 50 µs for each new configuration. Of a grammar with very many
rules, or endlessly many, those nearest to what is asked for are looked at, `ENOUGH` of them, more only where these have
no end: then a completion is a bound, and another one may be shorter. LimitError where `LIMIT` rules have no end.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from functools import lru_cache

import numpy as np

from constrain.automata import decide
from constrain.automata.quotient import spelled
from constrain.automata.shape import nullable
from constrain.automata.syntax import alternate, difference
from constrain.cfg.rules import Nonterminal, Symbol, Terminal
from constrain.cfg.transform.walk import Alternatives, nearest
from constrain.engine import inspect as anatomy
from constrain.engine.automaton import CompiledRules, TokenAutomaton
from constrain.errors import LimitError
from constrain.kernels.lexer import derivatives
from constrain.kernels.parser import configurations
from constrain.kernels.records import arena, view
from constrain.kernels.records.expressions import EXPRESSION
from constrain.kernels.records.grammars import TERMINAL, terminal_excluded, terminal_expression

ENOUGH = 5_000
LIMIT = 50_000  # nonterminals
SEARCHED = 20_000  # states of a lexer that one search for the end of a lexeme may visit

Text = bytes | None
Tails = dict[tuple[int, int], list[tuple[bytes, tuple[int, int] | None]]]


def _least(one: Text, two: Text) -> Text:
    if one is None or two is None:
        return two if one is None else one
    if len(one) != len(two):  # PERF: half a million times for a mask in SQL
        return one if len(one) < len(two) else two
    return min(one, two)


def least_texts(table: dict[Nonterminal, Alternatives], glue: bytes = b"") -> dict[Symbol, bytes]:
    """The least text of every symbol of a grammar; glue: written after every lexeme.

    Knuth's algorithm: symbols are settled from short to long; an alternative counts when all of its symbols are
    settled.
    """
    settled: dict[Symbol, bytes] = {}
    users: dict[Symbol, list[tuple[Nonterminal, int]]] = {}
    missing: dict[tuple[Nonterminal, int], int] = {}
    heap: list[tuple[int, bytes, int, Symbol]] = []
    serial = 0

    def offer(symbol: Symbol, text: bytes) -> None:
        nonlocal serial
        serial += 1
        heapq.heappush(heap, (len(text), text, serial, symbol))

    for nonterminal, alternatives in table.items():
        for i, alternative in enumerate(alternatives):
            distinct = set(alternative)
            missing[nonterminal, i] = len(distinct)
            for symbol in distinct:
                if isinstance(symbol, Terminal) and symbol not in users:
                    text = least_lexeme(symbol)
                    if text is not None:
                        offer(symbol, text + glue if text else b"")
                users.setdefault(symbol, []).append((nonterminal, i))
            if not distinct:
                offer(nonterminal, b"")
    while heap:
        _, text, _, symbol = heapq.heappop(heap)
        if symbol in settled:
            continue
        settled[symbol] = text
        for nonterminal, i in users.get(symbol, ()):
            missing[nonterminal, i] -= 1
            if not missing[nonterminal, i] and nonterminal not in settled:
                offer(nonterminal, b"".join(settled[each] for each in table[nonterminal][i]))
    return settled


@lru_cache(maxsize=1 << 14)
def least_lexeme(terminal: Terminal) -> Text:
    """The least text of a terminal; None if it has none."""
    node = terminal.node
    if nullable(node):
        return b""
    if terminal.excluding:
        node = difference(spelled(node), alternate(*(spelled(each.node) for each in terminal.excluding)))
    found = decide.shortest(node)
    return None if found is None else found.encode()


class Shortest:
    """Completions in one automaton under one grammar; the caller of its methods holds the automaton's lock."""

    def __init__(self, automaton: TokenAutomaton, rules: CompiledRules) -> None:
        """Raises LimitError for a grammar of too many rules."""
        self.automaton, self.rules = automaton, rules
        self.grammar = grammar = rules.grammar
        glues = [b""]
        if grammar.lexer == "greedy":
            blanks = (least_lexeme(each) for each in grammar.ignore)
            glues += sorted({text for text in blanks if text}, key=lambda text: (len(text), text))[:1]
        self.ways = [_Ways(self, glue) for glue in glues]
        for way in self.ways:
            way.learn(grammar.start)
        self._forget()

    def _forget(self) -> None:
        self.epoch = self.automaton.epoch
        self.names: dict[int, Symbol] = {}
        self._known: dict[int, Text] = {}
        self._lexers: dict[int, _Search] = {}
        self._alive: dict[int, frozenset[int]] = {}
        self._terminals: dict[int, list[tuple[int, int]]] = {}
        self.waiters = anatomy.Waiters(self.automaton)
        for way in self.ways:
            way.forget()

    def completion(self, configuration: int) -> Text:
        """The shortest text that completes a member from here; b"" if the text is one."""
        if self.epoch != self.automaton.epoch:
            self._forget()
        if configuration not in self._known:
            self._known[configuration] = self._completion(configuration)
        return self._known[configuration]

    def _completion(self, configuration: int) -> Text:
        automaton = self.automaton
        if automaton.call(configurations.accepts, configuration):
            return b""
        found = [way.completion(configuration) for way in self.ways]
        if self.grammar.lexer == "dynamic":
            return found[0]
        for way, text in zip(self.ways, found, strict=True):  # under maximal munch: what the engine takes
            for tried in () if text is None else dict.fromkeys((text.removesuffix(way.glue), text)):
                state = anatomy.after(automaton, configuration, tried)
                if state != arena.NONE and automaton.call(configurations.accepts, state):
                    return tried
        return None

    def name(self, record: int) -> Symbol:
        """The symbol behind a record."""
        if record not in self.names:
            self.names = anatomy.symbols(self.automaton, self.rules)
            self.names |= {self.automaton._terminal(each): each for each in self.grammar.ignore}
        return self.names[record]

    def terminals(self, parser: int) -> list[tuple[int, int]]:
        """(record, tag) of the terminals that a lexeme may be that begins in a parser state."""
        if parser not in self._terminals:
            A = self.automaton.A
            found = [each for each in self.waiters.symbols(parser) if arena.kind(A, each) == TERMINAL.KIND]
            self._terminals[parser] = [(each, terminal_expression(A, each)) for each in found]
        return self._terminals[parser]

    def alive(self, lexer: int) -> frozenset[int]:
        """The tags of the terminals that a lexeme in this state of the lexer may still be."""
        if lexer not in self._alive:
            self._alive[lexer] = view.terminals_within(self.automaton.A, lexer)
        return self._alive[lexer]

    def ends(self, lexer: int) -> Iterator[tuple[bytes, frozenset[int]]]:
        """(text, terminals that a lexeme ends as after it) from a state of the lexer, least texts first."""
        if lexer not in self._lexers:
            self._lexers[lexer] = _Search(self.automaton, lexer)
        return self._lexers[lexer].ends()


class _Ways:
    """Ways out of configurations, by the least texts of symbols. glue: written after every lexeme."""

    def __init__(self, owner: Shortest, glue: bytes) -> None:
        self.owner = owner
        self.least: dict[Symbol, bytes] = {}
        self.glue = glue
        self.forget()

    def forget(self) -> None:
        """The records have new numbers."""
        self.follows: dict[tuple[int, int], Text] = {}
        self._ended: dict[tuple[int, int], Text] = {}  # (state of the lexer, terminal): the rest of the lexeme
        self._closed: dict[int, Text] = {}  # parser state: what follows between two lexemes
        self._left: dict[tuple[int, int], Text] = {}  # (parser state, state of the lexer): what follows in a lexeme
        self._scanned: dict[tuple[int, int], Text] = {}  # (parser state, terminal): what follows it there
        self._texts: dict[int, bytes] = {0: b""}  # of SUFFIX lists

    def completion(self, configuration: int) -> Text:
        best: Text = None
        lexemes = anatomy.lexemes(self.owner.automaton, configuration)
        for lexeme in lexemes:
            if lexeme.fresh:
                after = self._between(lexeme.parser)
                ended = self.glue if len(lexemes) > 1 else b""  # the lexeme before must not go on
                best = _least(best, None if after is None else ended + after)
            else:
                best = _least(best, self._inside(lexeme.parser, lexeme.lexer))
        return best

    def _between(self, parser: int) -> Text:
        """The least text that follows where no lexeme is in progress."""
        if parser not in self._closed:
            best: Text = None
            for rule, rest, origin in anatomy.kernel_rows(self.owner.automaton, parser):
                best = _least(best, self._after(rule, rest, origin))
            self._closed[parser] = best
        return self._closed[parser]

    def _inside(self, parser: int, lexer: int) -> Text:
        """The least text that ends a lexeme that began in a parser state, and what follows it.

        PERF: only terminals that the lexeme may still be are looked at: of thousands of items in SQL, tens.
        """
        if (parser, lexer) in self._left:
            return self._left[parser, lexer]
        automaton = self.owner.automaton
        best: Text = None
        alive = self.owner.alive(lexer)
        for terminal, tag in self.owner.terminals(parser):
            end = self._end(lexer, terminal) if tag in alive else None
            after = None if end is None else self._behind(parser, terminal)
            best = _least(best, end + after if end is not None and after is not None else None)
        for blank in anatomy.ignored(automaton, parser):
            end = self._end(lexer, blank) if terminal_expression(automaton.A, blank) in alive else None
            after = b"" if anatomy.is_final(automaton, parser) else self._between(parser)
            best = _least(best, end + after if end is not None and after is not None else None)
        self._left[parser, lexer] = best
        return best

    def _behind(self, parser: int, terminal: int) -> Text:
        """The least text that follows a lexeme of a terminal that began in a parser state."""
        if (parser, terminal) not in self._scanned:
            best: Text = None
            for waiter in self.owner.waiters.of(parser, terminal):
                best = _least(best, self._after(*waiter))
            self._scanned[parser, terminal] = best
        return self._scanned[parser, terminal]

    def learn(self, symbol: Symbol) -> None:
        """Find the least text of a symbol, and of what it leads to. Raises LimitError."""
        limit, complete = ENOUGH, False
        while symbol not in self.least:
            if complete or limit > LIMIT:
                raise LimitError(
                    f"how far a text is from its end cannot be told: {symbol.name} has no text within {LIMIT} rules",
                    fix="leave out complete=True; with property_order='schema' there are fewer rules",
                )
            table, complete = nearest(symbol, limit)
            for each, text in least_texts(table, self.glue).items():
                known = self.least.get(each)
                self.least[each] = text if known is None else min(known, text, key=lambda t: (len(t), t))
            if isinstance(symbol, Terminal):
                text = least_lexeme(symbol) or b""
                self.least[symbol] = text + self.glue if text else b""
            limit *= 2

    def text_of(self, record: int) -> bytes:
        """The least text of a symbol."""
        symbol = self.owner.name(record)
        if symbol not in self.least:
            self.learn(symbol)
        return self.least[symbol]

    def _end(self, lexer: int, terminal: int) -> Text:
        """The least text that ends a lexeme in progress as this terminal."""
        if (lexer, terminal) not in self._ended:
            self._ended[lexer, terminal] = self._search_end(lexer, terminal)
        return self._ended[lexer, terminal]

    def _search_end(self, lexer: int, terminal: int) -> Text:
        A = self.owner.automaton.A
        tag, excluded = terminal_expression(A, terminal), terminal_excluded(A, terminal)
        others: frozenset[int] = frozenset()
        if excluded:
            others = frozenset(view.key_words(A, excluded).tolist())
        for text, tags in self.owner.ends(lexer):
            if tag in tags and not tags & others:
                return text + self.glue
        return None

    def _after(self, rule: int, rest: int, origin: int) -> Text:
        """What a rule that was begun in `origin` still needs, a SUFFIX list, and then its followers."""
        following = self._follow(rule, origin) if origin else b""
        return None if following is None else self._text(rest) + following

    def _text(self, rest: int) -> bytes:
        """The least text of a SUFFIX list."""
        if rest not in self._texts:
            self._texts[rest] = b"".join(map(self.text_of, anatomy.suffix(self.owner.automaton, rest)))
        return self._texts[rest]

    def _follow(self, rule: int, origin: int) -> Text:
        """The least text that follows a rule that was begun in `origin`."""
        if (rule, origin) in self.follows:
            return self.follows[rule, origin]
        tails = self._tails(rule, origin)
        found: dict[tuple[int, int], Text] = dict.fromkeys(tails)
        changed = True
        while changed:  # relaxation, inner rules last
            changed = False
            for key in reversed(tails):
                best = found[key]
                for text, after in tails[key]:
                    following = b"" if after is None else found[after] if after in found else self.follows[after]
                    best = _least(best, None if following is None else text + following)
                if best != found[key]:
                    found[key], changed = best, True
        self.follows |= found
        return self.follows[rule, origin]

    def _tails(self, rule: int, origin: int) -> Tails:
        """What can be asked for on the way: of each rule with its origin, (a text, what follows after it)."""
        waiters = self.owner.waiters
        tails: Tails = {}
        pending = [(rule, origin)]
        while pending:
            key = pending.pop()
            if key in tails or key in self.follows:
                continue
            tails[key] = []
            for outer, rest, begun in waiters.of(key[1], key[0]):
                after = (outer, begun) if begun else None
                tails[key].append((self._text(rest), after))
                pending += [after] if after else []
        return tails


class _Search:
    """Breadth-first search from a state of the lexer, as far as it was asked for."""

    def __init__(self, automaton: TokenAutomaton, lexer: int) -> None:
        self.automaton = automaton
        self.found: list[tuple[bytes, frozenset[int]]] = []
        self._run = self._walk(lexer)

    def ends(self) -> Iterator[tuple[bytes, frozenset[int]]]:
        """What was found, then what is found now."""
        i = 0
        while True:
            while i < len(self.found):
                yield self.found[i]
                i += 1
            new = next(self._run, None)
            if new is None:
                return
            self.found.append(new)

    def _walk(self, lexer: int) -> Iterator[tuple[bytes, frozenset[int]]]:
        seen = {lexer}
        level = [(b"", lexer)]
        seen_ends: set[frozenset[int]] = set()
        while level and len(seen) < SEARCHED:
            following: list[tuple[bytes, int]] = []
            for text, state in level:
                for byte, successor in self._successors(state):
                    if successor not in seen:
                        seen.add(successor)
                        longer = text + bytes([byte])
                        following.append((longer, successor))
                        tags = view.terminals_within(self.automaton.A, successor, ended=True)
                        if tags and tags not in seen_ends:
                            seen_ends.add(tags)
                            yield longer, tags
            level = following

    def _successors(self, state: int) -> list[tuple[int, int]]:
        """(least byte, state) for every class of bytes that goes on, by byte."""
        automaton = self.automaton
        automaton.call(_prepare, state)
        least = sorted(view.least_bytes(automaton.A, state).tolist())
        pairs = [(byte, automaton.call(derivatives.run, np.array([byte], np.int32), state)) for byte in least]
        return [(byte, successor) for byte, successor in pairs if successor != arena.NONE]


def _prepare(A, H, S, e):  # type: ignore[no-untyped-def]
    derivatives.prepare(A, H, S, e, EXPRESSION.ROW)
    return e
