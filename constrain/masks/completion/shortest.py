"""The shortest text that completes a member, from any configuration.

    Shortest(automaton, rules).completion(c)      # bytes; None: no completion was found

The idea: the least text of each symbol is known (least.py), the least rest of a lexeme is read off its lexer state
(automata/least.py), and the least text after a rule on the parser's stack is found by relaxation (engine/inspect.py).
The least of all these ways is the completion. Since the order agrees with concatenation, the shortest completion after
its own first bytes is its rest.

Exact under `lexer="dynamic"`, for the grammar alone (a guard may object). Under maximal munch there are two candidates:
plain, and with ignored text after every lexeme. The engine reads them, and a candidate that it rejects does not count.
Where a text chooses its layout, the rules of the plainest one are read: its texts are the shortest.
Cost: once, the rules of the grammar; then Python, about 50 µs for each new configuration. Of a grammar with very many
or infinitely many rules, only the `ENOUGH` nearest ones are examined (`AT_ONCE`), and beyond these the `AROUND` nearest
ones of a symbol, and more if they derive no text; then the completion is an upper bound. LimitError if `LIMIT` rules
derive no text.
"""

from __future__ import annotations

from collections.abc import Container, Hashable, Iterable
from functools import cached_property

from constrain.errors import LimitError
from constrain.kernels.parser import configurations
from constrain.kernels.records import arena, view
from constrain.kernels.records.grammars import TERMINAL
from constrain.languages.automata import decide
from constrain.languages.automata.least import LeastTexts, by_characters, shortlex
from constrain.languages.automata.syntax import intersect, literal, token_sets, with_ids
from constrain.languages.cfg.bulk_rules import PlacedNonterminal
from constrain.languages.cfg.rules import Symbol, Terminal
from constrain.languages.cfg.transform.walk import RuleTable, nearest, plainest_of
from constrain.masks.completion.farthest import NOTHING, UNKNOWN, Bounds, MostTokens, SymbolLengths, farthest, rest_of
from constrain.masks.completion.least import Text, least_lexeme, least_texts
from constrain.masks.completion.spellings import NEVER, CharacterCounts, Spellings
from constrain.masks.engine import inspect
from constrain.masks.engine.automaton import TokenAutomaton
from constrain.masks.engine.compiled_rules import CompiledRules

ENOUGH = 5_000
AT_ONCE = 1_000  # the same under maximal munch: more have grammars with layouts, without end
AROUND = 250  # nonterminals that are examined first for a symbol beyond `ENOUGH`
LIMIT = 50_000  # nonterminals
SEARCHED = 20_000  # lexer states that one search for the end of a lexeme may visit

Tails = dict[tuple[int, int], list[tuple[int, tuple[int, int] | None]]]


def _least(one: Text, two: Text) -> Text:
    """The lesser text in shortlex order; None is greater than any text."""
    if one is None or two is None:
        return two if one is None else one
    if len(one) != len(two):  # PERF: half a million times for a mask in SQL
        return one if len(one) < len(two) else two
    return min(one, two)


def _fewest_characters(one: Text, two: Text) -> Text:
    """The lesser text in the order of characters."""
    return min((text for text in (one, two) if text is not None), key=by_characters, default=None)


class Shortest:
    """Shortest completions under one grammar. The caller of its methods holds the automaton's lock.

    spellings: what counts the length of texts, and orders them; None: tokens, and bytes.
    """

    def __init__(
        self, automaton: TokenAutomaton, rules: CompiledRules, spellings: Spellings | CharacterCounts | None = None
    ) -> None:
        """Raises LimitError if too many rules derive no text."""
        self.automaton, self.rules = automaton, rules
        self.spellings = Spellings.of(automaton.vocabulary) if spellings is None else spellings
        self.order = self.spellings.order
        self.lesser = _least if self.order is shortlex else _fewest_characters
        self.grammar = grammar = rules.grammar
        glues = [b""]
        if grammar.lexer == "greedy":
            blanks = {self.lexeme(terminal) for terminal in grammar.ignore} - {None, b""}
            if any(decide.shortest(intersect(terminal.node, literal(" "))) for terminal in grammar.ignore):
                blanks.add(b" ")  # of the shortest the one that tokens have in front of words
            glues += sorted(filter(None, blanks), key=lambda text: (len(text), text != b" ", text))[:1]
        self._found: Bounds = {}
        self.ways = [_Ways(self, glue) for glue in glues]
        for way in self.ways:
            way.learn(grammar.start)
        self._forget()

    @cached_property
    def _rules(self) -> RuleTable | None:
        """All nonterminals of the grammar; None: there are more than `ENOUGH`, or its lexer is greedy."""
        if self.grammar.lexer != "dynamic" or self.grammar.ignore or not self.is_least:
            return None
        return self.ways[0].table

    @cached_property
    def _placed(self) -> dict[tuple[Hashable, int], MostTokens]:
        """The bounds of the rules that stand at more places than one, in any layout; those of all rules are found."""
        if self._rules is not None:
            self._found |= farthest(self._rules, self.ways[0].least, self.spellings)
        placed = [(each.position, bound) for each, bound in self._found.items() if isinstance(each, PlacedNonterminal)]
        return {position[:2]: bound for position, bound in placed if position is not None}

    @property
    def is_read(self) -> bool:
        """True if all rules of the grammar are known."""
        return self._rules is not None

    @cached_property
    def is_watched(self) -> bool:
        """True if the guard may be asked about some text."""
        rules = self._rules
        return rules is None or self.grammar.watched or any(nonterminal.watched for nonterminal in rules)

    @cached_property
    def is_quiet(self) -> bool:
        """True if the guard allows the grammar's completion wherever it is not asked about the next token.

        So it is in JSON where no least text needs a part that is watched, other than the end of a container.
        """
        rules, least = self._rules, self.ways[0].least
        watched = [each for each in rules or () if each.watched]
        if rules is None or not all(each.shared or isinstance(each, PlacedNonterminal) for each in watched):
            return False
        ends = {
            each
            for each in watched
            if any(least.get(way[0]) == least.get(each) for way in rules[each] if len(way) == 1)
        }
        lengths = SymbolLengths(rules, least, {each: UNKNOWN for each in watched if each not in ends})
        lengths.count(self.spellings.fewest)
        return all(tokens < NEVER or each.watched for tokens, each in zip(lengths.tokens, rules, strict=False))

    def bound_of(self, symbol: Symbol) -> MostTokens:
        """The tokens that the texts of a symbol need at most; see farthest.py."""
        if isinstance(symbol, Terminal):
            text, rest = self.lexeme(symbol), rest_of(symbol, self.spellings.missing)
            return MostTokens(rest, rest, NEVER if text is None else self.spellings.fewest(text))
        placed = self._placed
        position = symbol.position if isinstance(symbol, PlacedNonterminal) and symbol not in self._found else None
        if position is not None and position[:2] in placed:
            self._found[symbol] = placed[position[:2]]
        if symbol not in self._found:
            way, is_whole, table = self.ways[0], self.is_read, RuleTable()
            if is_whole:
                way.learn(symbol)
                table, is_whole = nearest(symbol, ENOUGH, self._found, expand=plainest_of)
            self._found |= farthest(table, way.least, self.spellings, self._found) if is_whole else {symbol: UNKNOWN}
        return self._found[symbol]

    def most(self, configuration: int) -> int:
        """The tokens that complete the text, at most: n bytes later it needs n more than that, whatever they are."""
        if self.epoch != self.automaton.epoch:
            self._forget()
        if configuration not in self._mosts:
            self._mosts[configuration] = min(self.ways[0].most(configuration).nested, NEVER)
        return self._mosts[configuration]

    @property
    def is_least(self) -> bool:
        """True if all completions so far are the shortest: false where a grammar has more than `ENOUGH` rules."""
        return all(way.is_least for way in self.ways)

    def _forget(self) -> None:
        self.epoch = self.automaton.epoch
        self.names = inspect.SymbolNames(self.automaton, self.rules)
        self._known: dict[int, Text] = {}
        self._mosts: dict[int, int] = {}
        self.ends = LeastTexts(self.automaton.store, SEARCHED, self.order)
        self._alive: dict[int, frozenset[int]] = {}
        self._terminals: dict[int, list[tuple[int, int]]] = {}
        self.waiters = inspect.Waiters(self.automaton)
        for way in self.ways:
            way.forget()

    def lexeme(self, terminal: Terminal) -> Text:
        """The least text of a terminal, with marks of tokens as the automaton has them; None if it has none."""
        if self.automaton.layout.spans and token_sets(terminal.node):
            terminal = Terminal(with_ids(terminal.node, self.automaton.layout.spans), excluding=terminal.excluding)
        return least_lexeme(terminal, self.order)

    def completion(self, configuration: int) -> Text:
        """The shortest text that completes a member; b"" if the text is one; None if none was found."""
        if self.epoch != self.automaton.epoch:
            self._forget()
        if configuration not in self._known:
            self._known[configuration] = self._completion(configuration)
        return self._known[configuration]

    def _completion(self, configuration: int) -> Text:
        automaton = self.automaton
        if automaton.memory.call(configurations.accepts, configuration):
            return b""
        texts = [way.completion(configuration) for way in self.ways]
        if self.grammar.lexer == "dynamic":
            return texts[0]
        for way, text in zip(self.ways, texts, strict=True):  # maximal munch: the engine verifies the candidates
            for candidate in () if text is None else dict.fromkeys((text.removesuffix(way.glue), text)):
                state = inspect.after(automaton, configuration, candidate)
                if state != arena.NONE and automaton.memory.call(configurations.accepts, state):
                    return candidate
        return None

    def name(self, record: int) -> Symbol:
        """The symbol of a record."""
        if record not in self.names.names:
            self.names.names |= {self.automaton.symbols.terminal(each): each for each in self.grammar.ignore}
            if record not in self.names.read():  # a member behind others that no text has reached
                self.names.names |= inspect.symbols(self.automaton, self.rules, whole=True)
        return self.names.names[record]

    def terminals(self, parser: int) -> list[tuple[int, int]]:
        """(record, tag) of each terminal that a lexeme may become if it begins in a parser state."""
        if parser not in self._terminals:
            A = self.automaton.memory.A
            records = [symbol for symbol in self.waiters.symbols(parser) if arena.kind(A, symbol) == TERMINAL.KIND]
            self._terminals[parser] = [(record, TERMINAL.EXPRESSION(A, record)) for record in records]
        return self._terminals[parser]

    def alive(self, lexer: int) -> frozenset[int]:
        """The tags of the terminals that a lexeme in a lexer state may still become."""
        if lexer not in self._alive:
            self._alive[lexer] = view.terminals_within(self.automaton.memory.A, lexer)
        return self._alive[lexer]


class _Ways:
    """Completions built from the least texts of symbols. glue: a text after every lexeme."""

    def __init__(self, owner: Shortest, glue: bytes) -> None:
        self.owner, self.lesser = owner, owner.lesser
        self.least: dict[Symbol, bytes] = {}
        self.is_least = True
        self.table: RuleTable | None = None  # all rules of the grammar, if they were found at once
        self.glue = glue
        self.forget()

    def forget(self) -> None:
        """Clear all caches by record, because the records are new."""
        self.follows: dict[tuple[int, int], Text] = {}  # (rule, origin) -> text after the rule
        self._mosts: dict[tuple[int, int], MostTokens] = {}  # (rule, origin) -> bounds of what is behind the rule
        self._bounds: dict[int, MostTokens] = {}  # SUFFIX list -> its bounds
        self._ended: dict[tuple[int, int], Text] = {}  # (lexer state, terminal) -> rest of the lexeme
        self._closed: dict[int, Text] = {}  # parser state -> completion between two lexemes
        self._left: dict[tuple[int, int], Text] = {}  # (parser state, lexer state) -> completion inside a lexeme
        self._scanned: dict[tuple[int, int], Text] = {}  # (parser state, terminal) -> completion after the terminal
        self._texts: dict[int, bytes] = {0: b""}  # SUFFIX list -> text

    def completion(self, configuration: int) -> Text:
        """The least text that completes a member from a configuration."""
        best: Text = None
        lexemes = inspect.lexemes(self.owner.automaton, configuration)
        for lexeme in lexemes:
            if lexeme.fresh:
                after = self._between(lexeme.parser)
                ended = self.glue if len(lexemes) > 1 else b""  # keeps the previous lexeme from continuing
                best = self.lesser(best, None if after is None else ended + after)
            else:
                best = self.lesser(best, self._complete_lexeme(lexeme.parser, lexeme.lexer))
        return best

    def _between(self, parser: int) -> Text:
        """The least completion if no lexeme is open."""
        if parser not in self._closed:
            best: Text = None
            for rule, rest, origin in inspect.kernel_rows(self.owner.automaton, parser):
                best = self.lesser(best, self._complete_item(rule, rest, origin))
            self._closed[parser] = best
        return self._closed[parser]

    def _complete_lexeme(self, parser: int, lexer: int) -> Text:
        """The least completion if a lexeme is open that began in a parser state.

        PERF: only terminals that the lexeme may still become are examined: in SQL tens of items instead of thousands.
        """
        if (parser, lexer) in self._left:
            return self._left[parser, lexer]
        automaton = self.owner.automaton
        best: Text = None
        alive = self.owner.alive(lexer)
        for terminal, tag in self.owner.terminals(parser):
            end = self._end(lexer, terminal) if tag in alive else None
            after = None if end is None else self._behind(parser, terminal)
            best = self.lesser(best, end + after if end is not None and after is not None else None)
        for blank in inspect.ignored(automaton, parser):
            end = self._end(lexer, blank) if TERMINAL.EXPRESSION(automaton.memory.A, blank) in alive else None
            after = b"" if inspect.is_final(automaton, parser) else self._between(parser)
            best = self.lesser(best, end + after if end is not None and after is not None else None)
        self._left[parser, lexer] = best
        return best

    def _behind(self, parser: int, terminal: int) -> Text:
        """The least completion after a lexeme of a terminal that began in a parser state."""
        if (parser, terminal) not in self._scanned:
            best: Text = None
            for waiter in self.owner.waiters.of(parser, terminal):
                best = self.lesser(best, self._complete_item(*waiter))
            self._scanned[parser, terminal] = best
        return self._scanned[parser, terminal]

    def learn(self, symbol: Symbol) -> None:
        """Compute the least texts of a symbol and of the symbols that it leads to. Raises LimitError.

        PERF: in Python each deeper block has rules of its own, without end. Where not all rules were examined before,
        the nearest `AROUND` will do.
        """
        enough = min(ENOUGH, AT_ONCE) if self.owner.grammar.lexer == "greedy" else ENOUGH
        limit, complete = enough if self.is_least else min(AROUND, ENOUGH), False
        while symbol not in self.least:
            if complete or limit > LIMIT:
                raise LimitError(
                    f"how far a text is from its end cannot be told: {symbol.name} has no text within {LIMIT} rules",
                    fix="pass complete=False; with property_order='schema' there are fewer rules",
                )
            complete = self._examine(symbol, limit) or self._examine(symbol, limit, deep=True)
            if isinstance(symbol, Terminal):
                text = self.owner.lexeme(symbol) or b""
                self.least[symbol] = text + self.glue if text else b""
            limit *= 2

    def _examine(self, symbol: Symbol, limit: int, *, deep: bool = False) -> bool:
        """Compute the least texts of some rules around a symbol; True if no more will be found of it with this limit.

        deep: depth first. In any order, a text with n required properties ends n rules deep, among 2^n.
        """
        # What is known once is not asked again.
        table, complete = nearest(symbol, limit, self.least, deep=deep, expand=plainest_of)
        self.is_least &= complete
        if complete and not self.least:
            self.table = table
        for other, text in least_texts(table, self.glue, self.owner.lexeme, self.least, self.owner.order).items():
            self.least.setdefault(other, text)
        return complete or symbol in self.least

    def text_of(self, record: int) -> bytes:
        """The least text of a symbol by its record."""
        symbol = self.owner.name(record)
        if symbol not in self.least:
            self.learn(symbol)
        return self.least[symbol]

    def _end(self, lexer: int, terminal: int) -> Text:
        """The least text that completes an open lexeme to a text of a terminal."""
        if (lexer, terminal) not in self._ended:
            self._ended[lexer, terminal] = self._search_end(lexer, terminal)
        return self._ended[lexer, terminal]

    def _search_end(self, lexer: int, terminal: int) -> Text:
        A, store, ends = self.owner.automaton.memory.A, self.owner.automaton.store, self.owner.ends
        tag, excluded = TERMINAL.EXPRESSION(A, terminal), TERMINAL.EXCLUDED(A, terminal)
        others = frozenset(view.key_words(A, excluded).tolist() if excluded else ())

        def is_end(state: int) -> bool:
            tags = view.terminals_within(store.memory.A, state, ended=True)
            return tag in tags and not tags & others

        text = ends.of(lexer).get(tag)
        if text == b"" or (text and others and not is_end(store.run(lexer, text))):
            text = ends.search(lexer, is_end)
        return None if text is None else text + self.glue

    def _complete_item(self, rule: int, rest: int, origin: int) -> Text:
        """The least completion after an item: its symbols after the dot (`rest`), then the text after its rule."""
        following = self._follow(rule, origin) if origin else b""
        return None if following is None else self._text(rest) + following

    def _text(self, rest: int) -> bytes:
        """The least text of a SUFFIX list."""
        if rest not in self._texts:
            self._texts[rest] = b"".join(map(self.text_of, inspect.suffix(self.owner.automaton, rest)))
        return self._texts[rest]

    def _follow(self, rule: int, origin: int) -> Text:
        """The least completion after a rule that began in `origin`."""
        if (rule, origin) in self.follows:
            return self.follows[rule, origin]
        tails = self._tails(rule, origin, self.follows)
        least: dict[tuple[int, int], Text] = dict.fromkeys(tails)
        changed = True
        while changed:  # relaxation (Bellman-Ford), inner rules last
            changed = False
            for key in reversed(tails):
                best = least[key]
                for rest, after in tails[key]:
                    following = b"" if after is None else least[after] if after in least else self.follows[after]
                    best = self.lesser(best, None if following is None else self._text(rest) + following)
                if best != least[key]:
                    least[key], changed = best, True
        self.follows |= least
        return self.follows[rule, origin]

    def most(self, configuration: int) -> MostTokens:
        """The bounds of all ways to go on from a configuration."""
        automaton, waiters, most = self.owner.automaton, self.owner.waiters, NOTHING
        for lexeme in inspect.lexemes(automaton, configuration):
            if lexeme.fresh:
                most = most.or_else(self._most_of(map(tuple, inspect.kernel_rows(automaton, lexeme.parser))))
                continue
            alive = self.owner.alive(lexeme.lexer)
            for record, tag in self.owner.terminals(lexeme.parser):
                if tag in alive:
                    behind = self._most_of(waiters.of(lexeme.parser, record))
                    most = most.or_else(self.owner.bound_of(self.owner.name(record)).before(behind))
        return most

    def _most_of(self, items: Iterable[tuple[int, ...]]) -> MostTokens:
        """The bounds of what follows one of some items."""
        most = NOTHING
        for rule, rest, origin in items:
            most = most.or_else(self._bound(rest).before(self._most_behind(rule, origin) if origin else NOTHING))
        return most

    def _bound(self, rest: int) -> MostTokens:
        """The bounds of a SUFFIX list."""
        if rest not in self._bounds:
            bound = NOTHING
            for record in reversed(inspect.suffix(self.owner.automaton, rest)):
                own = self.owner.bound_of(self.owner.name(record))
                bound = MostTokens(own.whole, own.nested).before(bound)
            self._bounds[rest] = bound
        return self._bounds[rest]

    def _most_behind(self, rule: int, origin: int) -> MostTokens:
        """The bounds of what follows a rule that began in `origin`."""
        if (rule, origin) not in self._mosts:
            tails = self._tails(rule, origin, self._mosts)
            most = dict.fromkeys(tails, NOTHING)
            for _ in range(len(tails) + 1):  # longest paths (Bellman-Ford), inner rules last
                known = dict(most)
                for key in reversed(tails):
                    for rest, after in tails[key]:
                        behind = NOTHING if after is None else most[after] if after in most else self._mosts[after]
                        most[key] = most[key].or_else(self._bound(rest).before(behind))
                if most == known:
                    break
            else:
                most = dict.fromkeys(tails, MostTokens(NEVER, NEVER))
            self._mosts |= most
        return self._mosts[rule, origin]

    def _tails(self, rule: int, origin: int, known: Container[tuple[int, int]]) -> Tails:
        """The graph that is relaxed: (rule, origin) -> pairs (SUFFIX list, next (rule, origin) or None at the end)."""
        waiters = self.owner.waiters
        tails: Tails = {}
        pending = [(rule, origin)]
        while pending:
            key = pending.pop()
            if key in tails or key in known:
                continue
            tails[key] = []
            for outer, rest, begun in waiters.of(key[1], key[0]):
                after = (outer, begun) if begun else None
                tails[key].append((rest, after))
                pending += [after] if after else []
        return tails
