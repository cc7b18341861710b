"""One arena a vocabulary: every constraint compiled for it shares lexer states, inside sets and equal nonterminals.

The idea: `step(state, byte)` on integers answers everything (kernels/configurations.py); this room lays out the trie
in the arena, turns symbols into records when a text first reaches them, and keeps memory bounded: over budget it
forgets everything (`flush`, as RE2's lazy DFA does), `epoch` goes up, and each matcher finds its place again from its
own bytes.

Cost: 5 MB for a vocabulary of 128k tokens, then what is visited. Limit: `budget` bytes (default 256 MiB); a single
operation that does not fit into an empty arena may exceed it.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Hashable, Sequence
from typing import Any

from constrain.automata.lower import lower
from constrain.automata.store import MAX_WORDS, Flush, Int32, Store
from constrain.automata.syntax import Ranges
from constrain.engine.layout import layout
from constrain.engine.readers import Readers
from constrain.errors import LimitError
from constrain.grammar.rules import Grammar, Nonterminal, Symbol, Terminal
from constrain.grammar.source import Source
from constrain.kernels import arena, configurations, earley, expressions
from constrain.vocab.vocabulary import Vocabulary

DEFAULT_BUDGET = 256 << 20
MAX_RANK = 1 << 20
REMEMBERED = 64  # sources whose grammars are kept for equal sources to come

_lock = threading.Lock()
_automata: weakref.WeakKeyDictionary[Vocabulary, TokenAutomaton] = weakref.WeakKeyDictionary()


class TokenAutomaton(Store):
    """The automaton of everything that is compiled for one vocabulary."""

    @classmethod
    def of(cls, vocabulary: Vocabulary) -> TokenAutomaton:
        """The one shared automaton of a vocabulary, with the default budget."""
        with _lock:
            known = _automata.get(vocabulary)
            if known is None:
                known = _automata[vocabulary] = cls(vocabulary)
            return known

    def __init__(self, vocabulary: Vocabulary, budget: int = DEFAULT_BUDGET) -> None:
        self.eos_ids = vocabulary.eos_ids
        self.size = vocabulary.size
        self.epoch = 0
        self.readers = Readers()
        self._slices = [piece.ranges for piece in vocabulary.slices]
        self._layout = layout(vocabulary)
        size = self._layout.words.size
        budget = max(budget, 4 * size + (1 << 20))
        # all of the budget at once: pages that are never written cost nothing, and the arena need not be copied to grow
        super().__init__(words=budget // 4, budget=budget)

    def reset(self) -> None:
        super().reset()
        self._symbols: dict[Hashable, int] = {}
        self._names: list[str] = []  # of nonterminals, by the number in their records
        self._waiting: dict[int, weakref.ref[Nonterminal]] = {}  # records without alternatives: who can tell them
        self._watched: set[int] = set()  # records of nonterminals
        self._watched_states: dict[tuple[int, Hashable], int] = {}
        self._grammars: dict[Source, Grammar] = {}
        base = self.call(_region, self._layout.words.size)
        self.A[base : base + self._layout.words.size] = self._layout.words
        for word, offset in self._layout.header.items():
            self.A[word] = base + offset
        for word in self._layout.pointers:
            self.A[base + word] += base
        self.A[arena.N_NODES], self.A[arena.DEPTH] = self._layout.nodes, self._layout.depth
        self.A[arena.N_TOKENS], self.A[arena.N_EOS] = self.size, len(self.eos_ids)
        self.A[arena.N_SLICES] = len(self._slices)

    def covered_slices(self, ranges: Ranges) -> int:
        flags = 0
        for j, characters in enumerate(self._slices):
            if all(any(a <= low and high <= b for a, b in ranges) for low, high in characters):
                flags |= 1 << (expressions.FIRST_SLICE + j)
        return flags

    def flush(self) -> None:
        """Forget every state; matchers rebuild theirs when they are next asked. The caller holds the lock."""
        self.readers.wait()
        self.epoch += 1
        self.reset()

    def attempt(self, operation: Callable[[], Any]) -> Any:
        """Run an operation under the lock. If memory runs out: flush, and run it again with leave to exceed the
        budget."""
        with self.lock:
            try:
                return operation()
            except Flush:
                self.flush()
                self.may_exceed = True
                try:
                    return operation()
                finally:
                    self.may_exceed = False

    def watched_state(self, configuration: int, guarded: Hashable) -> int:
        """A number for a configuration with the state of a guard beside it; no configuration has it."""
        known = self._watched_states
        return known.setdefault((configuration, guarded), MAX_WORDS + len(known))

    def grammar_of(self, source: Source) -> Grammar:
        """The grammar of a source; equal sources get the same one, so that a repeated request finds its states made.

        Raises what the source raises.
        """
        with self.lock:
            known = self._grammars.pop(source, None) or source.to_grammar()
            self._grammars[source] = known  # the latest is last
            if len(self._grammars) > REMEMBERED:
                del self._grammars[next(iter(self._grammars))]
            return known

    def start(self, grammar: Grammar) -> int:
        """The configuration before the first byte. The caller holds the lock."""
        whole = self._nonterminal(_WHOLE)
        suffix = self._suffix(self.symbol(grammar.start), 0)
        return self.call(configurations.start_configuration, self._grammar(grammar), whole, suffix)

    def _grammar(self, grammar: Grammar) -> int:
        """Grammars with the same ignored terminals, lexer and closing share one record."""
        key = (grammar.ignore, grammar.lexer, grammar.closing)
        known: int | None = self.lowered.get(key)
        if known is None:
            known = self.call(_intern1, arena.GRAMMAR, len(self.lowered))
            ignored = [self._terminal(t) for t in grammar.ignore]
            self.A[known + earley.IGNORED] = self._list([t for t in ignored if t])
            self.A[known + earley.GREEDY] = grammar.lexer == "greedy"
            self.A[known + earley.CLOSING] = grammar.closing[0] + 1 if grammar.closing else 0
            self.lowered[key] = known
        return known

    # -- symbols -> records --------------------------------------------------------------------------------------------

    def symbol(self, symbol: Symbol) -> int:
        """The record of a symbol; 0 if its language is empty. A terminal that contains the empty text becomes
        optional."""
        if isinstance(symbol, Nonterminal):
            return self._nonterminal(symbol)
        known = self._symbols.get(symbol)
        if known is None:
            known = self._terminal(symbol)
            expression = lower(self, symbol.node)
            if self.is_nullable(expression):
                terminal, known = known, self._nonterminal(Nonterminal(symbol.name, list))
                alternatives = [0] if expression == arena.EPS else [self._suffix(terminal, 0), 0]
                self.A[known + earley.ALTERNATIVES] = self._list(alternatives)
                del self._waiting[known]
            self._symbols[symbol] = known
        return known

    def _terminal(self, terminal: Terminal) -> int:
        expression = lower(self, terminal.node)
        if expression == arena.NONE:
            return 0
        excluded = 0
        if terminal.excluding:
            excluded = self._with_stack(
                sorted({lower(self, t.node) for t in terminal.excluding}), _intern_list, arena.TAGSET, 8
            )
        if not -MAX_RANK < terminal.priority < MAX_RANK:
            raise LimitError(f"terminal {terminal.name}: the priority {terminal.priority} is not within ±{MAX_RANK}")
        after = 0
        if terminal.after is not None:
            after = self._grammar(Grammar(_WHOLE, terminal.after, "greedy"))
        rank = 2 * terminal.priority + terminal.literal
        return self._with_stack([expression, excluded, rank, after], _intern_list, arena.TERMINAL, 8)

    def _nonterminal(self, nonterminal: Nonterminal) -> int:
        """The record of a nonterminal. A reference to it is kept only until its alternatives are known, and a weak one,
        so that what nobody compiles any more can be freed (`Nonterminal.expansion`)."""
        identity = nonterminal if nonterminal.key is None else nonterminal.key
        known = self._symbols.get(identity)
        if known is None:
            known = self.call(_intern1, arena.NONTERMINAL, len(self._names))
            self._names.append(nonterminal.name)
            self.A[known + earley.RIGHT_RECURSIVE] = nonterminal.right_recursive
            if nonterminal.watched:
                self._watched.add(known)
            self._symbols[identity] = known
        if self.A[known + earley.ALTERNATIVES] == 0:
            waiting = self._waiting.get(known)
            if waiting is None or waiting() is None:
                self._waiting[known] = weakref.ref(nonterminal)
        return known

    def _suffix(self, symbol: int, following: int) -> int:
        suffix: int = self.call(_intern2, arena.SUFFIX, symbol, following)
        if symbol in self._watched or (following and self.A[following + earley.HOLDS_WATCHED]):
            self.A[suffix + earley.HOLDS_WATCHED] = 1
        return suffix

    def _list(self, items: Sequence[int]) -> int:
        """A region [n, items...]."""
        at = self.call(_region, 1 + len(items))
        self.A[at] = len(items)
        self.A[at + 1 : at + 1 + len(items)] = items
        return at

    def expand(self) -> None:
        """Give the pending nonterminals their alternatives, and those with which these begin: they are asked for next.

        PERF: each round of asking starts the kernel again; a block of a layout at a new column took five.
        """
        pending = self.pending()
        for record in pending:
            if self.A[record + earley.ALTERNATIVES] != 0:
                continue
            nonterminal = self._waiting[record]()
            if nonterminal is None:  # it was another grammar's, which is gone: begin again from those that are there
                raise Flush
            if nonterminal.expansion is None:
                nonterminal.expansion = nonterminal.expand()
            suffixes: dict[int, None] = {}
            for alternative in nonterminal.expansion:
                symbols = [self.symbol(symbol) for symbol in alternative]
                if 0 in symbols:
                    continue  # a terminal without any text: the alternative derives nothing
                suffix = 0
                for symbol in reversed(symbols):
                    suffix = self._suffix(symbol, suffix)
                suffixes[suffix] = None
                if symbols and symbols[0] in self._waiting:
                    pending.append(symbols[0])
            self.A[record + earley.ALTERNATIVES] = self._list(list(suffixes))
            del self._waiting[record]


_WHOLE = Nonterminal("(whole text)", list)  # the left-hand side of the item that waits for a grammar's start symbol


# kernels that take no scratch, with the arguments that `Store.call` passes
def _region(A: Int32, H: Int32, S: Int32, n: int) -> int:
    return arena.region(A, n)


def _intern1(A: Int32, H: Int32, S: Int32, kind: int, a: int) -> int:
    return arena.intern1(A, H, kind, a)


def _intern2(A: Int32, H: Int32, S: Int32, kind: int, a: int, b: int) -> int:
    return arena.intern2(A, H, kind, a, b)


def _intern_list(A: Int32, H: Int32, S: Int32, kind: int, start: int) -> int:
    return arena.intern_list(A, H, S, kind, start)
