"""One arena a vocabulary: every constraint compiled for it shares lexer states, inside sets and equal nonterminals.

The idea: `step(state, byte)` on integers answers everything (kernels/parser); this room lays out the trie
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
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from constrain.automata.lower import lower, spelled
from constrain.automata.store import BOTTOM, MAX_WORDS, Flush, Int32, Store
from constrain.automata.syntax import Ranges
from constrain.cfg.bulk_rules import BulkNonterminal, ObjectPunctuation
from constrain.cfg.rules import Grammar, Nonterminal, Symbol, Terminal
from constrain.constraints.base import Constraint
from constrain.engine.arena_image import arena_image, whole_class
from constrain.engine.bulk_rules import make_bulk_rules
from constrain.engine.readers import ReaderCount
from constrain.errors import LimitError
from constrain.kernels.parser import advance, configurations
from constrain.kernels.parser import rules as rules_of
from constrain.kernels.records import arena
from constrain.kernels.records.arena import HEADER
from constrain.kernels.records.configurations import CONFIG, config_pair, pair_parser
from constrain.kernels.records.expressions import FIRST_SLICE, TAGSET
from constrain.kernels.records.grammars import GRAMMAR, NONTERMINAL, TERMINAL
from constrain.kernels.records.messages import nonterminal_at
from constrain.kernels.records.parser_states import PARSER
from constrain.vocab.vocabulary import Vocabulary

DEFAULT_BUDGET = 256 << 20
MAX_RANK = 1 << 20
REMEMBERED = 64  # constraints that were asked for again: their grammars are kept for equal constraints to come
MAX_ASKED = 4096  # constraints that are known to have been asked for
MAX_TERMINALS = 4096  # that are kept at hand; the record of any other is found again
MAX_AT_HAND = 256
MAX_ROWS = 512  # masks that are kept whole, for `Matcher.mask`
TAILS = 8  # rests of lists, of those that an expansion begins, that are made with it
AHEAD = 3  # fixed lexemes that expansions go beyond: a mask needs what follows them too

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
        self.readers = ReaderCount()
        self._slices = [whole_class(piece) for piece in vocabulary.slices]
        self._layout = arena_image(vocabulary)
        size = self._layout.words.size
        budget = max(budget, 4 * size + (1 << 20))
        # All of the budget at once: pages that are never written cost nothing, and nothing is copied to grow.
        # PERF: to grow H at a million records takes 40 ms, in the middle of some mask. A holds a record in 40 words.
        slots = 1 << (budget // 4 // 16).bit_length() - 1
        super().__init__(words=budget // 4, slots=slots, budget=budget, at_once=min(budget // 4, size + size // 2))
        # PERF: without a look at the types of its arguments, which are always the same: 0.1 µs a token
        self.step = _compiled(advance.advance)
        self.known_step = _compiled(advance.known_step)

    def reset(self) -> None:
        super().reset()
        self._settings: dict[Hashable, int] = {}  # records of grammars
        self._terminals: dict[Terminal, int] = {}
        self._optionals: dict[int, int] = {}  # records of terminals -> of what may be one or nothing
        self._at_hand: dict[int, tuple[int, Symbol]] = {}  # by id(symbol): what stands in many rules, such as commas
        self._names: list[str] = []  # of nonterminals, by the number in their records
        self._owners: list[weakref.ref[CompiledRules]] = []  # likewise
        self.punctuation: dict[ObjectPunctuation, list[int]] = {}  # its words in messages (bulk_rules.py)
        self._nullable: set[int] = set()  # records of nonterminals with an empty alternative, as far as they are known
        self.shared = CompiledRules(_NO_GRAMMAR, self.epoch)
        self._watched_states: dict[tuple[int, Hashable], int] = {}
        self._grammars: weakref.WeakValueDictionary[Constraint, CompiledRules] = weakref.WeakValueDictionary()
        self._asked: set[int] = set()  # hashes of constraints
        self._kept: dict[Constraint, CompiledRules] = {}  # the latest is last
        self.rows: dict[int, tuple[NDArray[np.uint32], int]] = {}  # by configuration: mask, what `fill_mask` said of it
        base = self.region(self._layout.words)
        for word, offset in self._layout.header.items():
            self.A[word] = base + offset
        for word in self._layout.pointers:
            self.A[base + word] += base
        self.A[HEADER.N_NODES], self.A[HEADER.DEPTH] = self._layout.nodes, self._layout.depth
        self.A[HEADER.N_TOKENS], self.A[HEADER.N_EOS] = self.size, len(self.eos_ids)
        self.A[HEADER.N_SLICES] = len(self._slices)
        self.A[HEADER.SPELLED] = self.region(spelled(self))

    def covered_slices(self, ranges: Ranges) -> int:
        flags = 0
        for j, characters in enumerate(self._slices):
            if all(any(a <= low and high <= b for a, b in ranges) for low, high in characters):
                flags |= 1 << (FIRST_SLICE + j)
        return flags

    def flush(self) -> None:
        """Forget every state; matchers rebuild theirs when they are next asked. The caller holds the lock."""
        self.readers.wait()
        self.epoch += 1
        self.reset()

    def satisfy(self, stop: Exception) -> None:
        """`serve`, but for a lack of memory: that is left to `attempt`."""
        with suppress(Flush):
            self.serve(stop)

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

    def keep_row(self, epoch: int, configuration: int, row: NDArray[np.uint32], found: int) -> None:
        """Remember a mask, which nobody will change any more."""
        with self.lock:
            if epoch == self.epoch:
                if len(self.rows) >= MAX_ROWS:
                    self.rows.clear()
                self.rows[configuration] = row, found

    def rules_of(self, constraint: Constraint) -> CompiledRules:
        """The rules of a constraint; equal constraints get the same ones, so that a repeated request finds its states
        made.

        They live as long as somebody uses them; those of a constraint that is asked for again are kept beyond that.
        Most constraints never come again, and keeping them would cost the collector of garbage more than they cost to
        make. Raises what the constraint raises.
        """
        with self.lock:
            known = self._grammars.get(constraint)
            if known is None:
                known = self._grammars[constraint] = CompiledRules(constraint.to_grammar(), self.epoch)
            if hash(constraint) in self._asked:
                self._kept.pop(constraint, None)
                self._kept[constraint] = known
                if len(self._kept) > REMEMBERED:
                    del self._kept[next(iter(self._kept))]
            else:
                if len(self._asked) >= MAX_ASKED:
                    self._asked.clear()
                self._asked.add(hash(constraint))
            return known

    def start(self, rules: CompiledRules) -> int:
        """The configuration before the first byte. The caller holds the lock."""
        rules.follow(self.epoch)
        whole = self.nonterminal(_WHOLE, self.shared)
        start = self.symbol(rules.grammar.start, rules)
        queue = [start]
        while queue:  # what the kernel will ask for: each time that it stops to ask costs more than making it
            queue += self._expand(queue.pop(), [], [])
        suffix = self.call(_suffix_of, start, 0)
        first = self.call(configurations.start_configuration, self._grammar(rules.grammar), whole, suffix)
        if rules.grammar.watched:  # and with the parser state that the whole text begins in, all that come after it
            self.A[first + CONFIG.WATCHED] = 2
            self.A[pair_parser(self.A, config_pair(first, 0)) + PARSER.WATCHED] = 2
        return first

    def _grammar(self, grammar: Grammar) -> int:
        """Grammars with the same ignored terminals, lexer and closing share one record."""
        key = (grammar.ignore, grammar.lexer, grammar.closing)
        known = self._settings.get(key)
        if known is None:
            known = self.call(_intern1, GRAMMAR.KIND, len(self._settings))
            ignored = [self._terminal(t) for t in grammar.ignore]
            self.A[known + GRAMMAR.IGNORED] = self._list([t for t in ignored if t])
            self.A[known + GRAMMAR.GREEDY] = grammar.lexer == "greedy"
            self.A[known + GRAMMAR.CLOSING] = grammar.closing[0] + 1 if grammar.closing else 0
            self._settings[key] = known
        return known

    # -- symbols -> records --------------------------------------------------------------------------------------------

    def symbol(self, symbol: Symbol, rules: CompiledRules) -> int:
        """The record of a symbol; 0 if its language is empty. A terminal that contains the empty text becomes
        optional. rules: those that it stands in."""
        if isinstance(symbol, Nonterminal):
            record = self.nonterminal(symbol, rules)
            return self._hold(symbol, record) if symbol.shared else record
        known = self._terminals.get(symbol)
        if known is None:
            known = self._terminal(symbol)
            expression = lower(self, symbol.node)
            if self.is_nullable(expression):
                known = self._optional(symbol.name, 0 if expression == arena.EPS else known)
            if len(self._terminals) >= MAX_TERMINALS:
                self._terminals.clear()
            self._terminals[symbol] = known
        return self._hold(symbol, known) if symbol.literal else known

    def _optional(self, name: str, terminal: int) -> int:
        """The record of a nonterminal that is a terminal or nothing (terminal = 0: nothing at all)."""
        known = self._optionals.get(terminal)
        if known is None:
            known = self._optionals[terminal] = self._new(name, self.shared, False, False)
            lexeme = [1, terminal, 0] if terminal else [0]
            self.call(_set_alternatives, known, np.array(lexeme, np.int32))
            self._nullable.add(known)
        return known

    def _hold(self, symbol: Symbol, record: int) -> int:
        """Keep a symbol at hand that stands in many rules. Returns its record."""
        if len(self._at_hand) < MAX_AT_HAND:
            self._at_hand[id(symbol)] = record, symbol
        return record

    def _terminal(self, terminal: Terminal) -> int:
        expression = lower(self, terminal.node)
        if expression == arena.NONE:
            return 0
        excluded = 0
        if terminal.excluding:
            excluded = self._with_stack(
                sorted({lower(self, t.node) for t in terminal.excluding}), _intern_list, TAGSET.KIND, BOTTOM
            )
        if not -MAX_RANK < terminal.priority < MAX_RANK:
            raise LimitError(f"terminal {terminal.name}: the priority {terminal.priority} is not within ±{MAX_RANK}")
        after = 0
        if terminal.ignored_after is not None:
            after = self._grammar(Grammar(_WHOLE, terminal.ignored_after, "greedy"))
        rank = 2 * terminal.priority + terminal.literal
        return self.call(_intern4, TERMINAL.KIND, expression, excluded, rank, after)

    def nonterminal(self, nonterminal: Nonterminal, rules: CompiledRules) -> int:
        """The record of a nonterminal."""
        if nonterminal.shared:
            rules = self.shared
        identity = nonterminal if nonterminal.key is None else nonterminal.key
        known = rules.records.get(identity)
        if known is None and isinstance(nonterminal, BulkNonterminal):
            known = rules.bulk_record(nonterminal)
        if known is None:
            known = self._new(nonterminal.name, rules, nonterminal.right_recursive, nonterminal.watched)
            rules.records[identity] = known
            rules.waiting[known] = nonterminal
        return known

    def _new(self, name: str, rules: CompiledRules, right_recursive: bool, watched: bool) -> int:
        """A record for a nonterminal."""
        return self.call(_new_nonterminal, self.number(name, rules), right_recursive, watched)

    def number(self, name: str, rules: CompiledRules) -> int:
        """A number for nonterminals of this name, of these rules."""
        self._names.append(name)
        self._owners.append(rules.reference)
        return len(self._names) - 1

    def _list(self, items: Sequence[int]) -> int:
        """A region [n, items...]."""
        return self.region([len(items), *items])

    def expand(self) -> None:
        """Give the nonterminals that kernels asked for their alternatives, and those that they will ask for next."""
        tails: list[int] = []
        self._expand_ahead(self.pending(), AHEAD, tails)
        self._expand_ahead(tails[:TAILS], 1, [])

    def _expand_ahead(self, queue: list[int], lexemes: int, tails: list[int]) -> None:
        """Give nonterminals their alternatives, and those that they lead to before so many fixed lexemes. Adds to
        `tails` the rest of lists that were begun."""
        for _ in range(lexemes):
            following: list[int] = []
            while queue:
                queue += self._expand(queue.pop(), following, tails)
            queue = following

    def _expand(self, record: int, beyond: list[int], tails: list[int]) -> list[int]:
        """Give a nonterminal its alternatives. Gives those without that it begins with; adds to `beyond` those that its
        first lexemes lead to, to `tails` those that its alternatives end with."""
        rules = self._owners[self.A[record + NONTERMINAL.NUMBER]]()
        if rules is None:  # nobody can follow it any more; what is there begins again
            raise Flush
        nonterminal = rules.waiting.get(record)
        if nonterminal is None:
            return []
        if isinstance(nonterminal, BulkNonterminal):
            bulk = nonterminal.bulk_rules()
            if bulk is not None:
                begins = make_bulk_rules(self, record, bulk, rules)
                del rules.waiting[record]
                return begins
        words: list[int] = []
        begins = []
        greedy = rules.grammar.lexer == "greedy"
        for alternative in nonterminal.expand():
            records = self.records(alternative, rules)
            if 0 in records:
                continue  # a terminal without any text: the alternative derives nothing
            words.append(len(records))
            words += records
            if not records:
                self._nullable.add(record)
            into = begins
            for symbol, each in zip(alternative, records, strict=True):
                if isinstance(symbol, Nonterminal):
                    if self.waits(each, rules):
                        into.append(each)
                    if each not in self._nullable:
                        break
                elif symbol.literal:
                    into = beyond
                else:
                    break
            # PERF: under the greedy lexer the tails are blocks, at hundreds of columns: 0.2 s where one opens
            if records and not greedy and isinstance(symbol := alternative[-1], Nonterminal) and symbol.right_recursive:
                tails.append(records[-1])
        self.call(_set_alternatives, record, np.array(words, np.int32))
        del rules.waiting[record]
        return begins

    def waits(self, record: int, rules: CompiledRules) -> bool:
        """Whether a nonterminal of these rules has no alternatives yet."""
        return record in rules.waiting or record in self.shared.waiting

    def records(self, symbols: Sequence[Symbol], rules: CompiledRules) -> list[int]:
        """The records of symbols that stand in these rules. PERF: most are known."""
        at_hand, terminals = self._at_hand, self._terminals
        return [
            held[0]
            if (held := at_hand.get(id(each)))
            else (type(each) is Terminal and terminals.get(each)) or self.symbol(each, rules)
            for each in symbols
        ]


class CompiledRules:
    """A grammar with the records of its nonterminals, as far as a text has reached them.

    records: by key, or by themselves where they have none. waiting: those whose alternatives were not asked for yet.
    bulk: the first record of all bulk rules, by their key. All go with the grammar, so that what nobody compiles any
    more is freed; the arena keeps its records till the next flush.
    """

    __slots__ = ("__weakref__", "bulk", "epoch", "grammar", "records", "reference", "waiting")

    def __init__(self, grammar: Grammar, epoch: int) -> None:
        self.grammar = grammar
        self.reference = weakref.ref(self)
        self.epoch = epoch
        self.records: dict[Hashable, int] = {}
        self.waiting: dict[int, Nonterminal] = {}
        self.bulk: dict[Hashable, int] = {}

    def bulk_record(self, nonterminal: BulkNonterminal) -> int | None:
        """The record of a nonterminal that was made in bulk; None if it was not."""
        position = nonterminal.bulk_position
        first = self.bulk.get(position[0]) if position else None
        return nonterminal_at(first, position[1]) if first and position else None

    def follow(self, epoch: int) -> None:
        """Forget the records if they are those of another epoch."""
        if self.epoch != epoch:
            self.records, self.waiting, self.bulk, self.epoch = {}, {}, {}, epoch


_WHOLE = Nonterminal("(whole text)", list)  # the left-hand side of the item that waits for a grammar's start symbol
_NO_GRAMMAR = Grammar(_WHOLE)


def _compiled(kernel: Any) -> Callable[..., int]:
    """What a kernel was compiled to; the caller sees to the types of the arguments. Kernels must be loaded."""
    overloads = getattr(kernel, "overloads", None)
    return next(iter(overloads.values())).entry_point if overloads else kernel


# kernels that take no scratch, with the arguments that `Store.call` passes
def _intern1(A: Int32, H: Int32, S: Int32, kind: int, a: int) -> int:
    return arena.intern1(A, H, kind, a)


def _intern_list(A: Int32, H: Int32, S: Int32, kind: int, start: int) -> int:
    return arena.intern_list(A, H, S, kind, start)


def _intern4(A: Int32, H: Int32, S: Int32, kind: int, a: int, b: int, c: int, d: int) -> int:
    return arena.intern4(A, H, kind, a, b, c, d)


def _new_nonterminal(A: Int32, H: Int32, S: Int32, number: int, right_recursive: bool, watched: bool) -> int:
    return rules_of.nonterminal(A, number, right_recursive, watched)


def _suffix_of(A: Int32, H: Int32, S: Int32, symbol: int, following: int) -> int:
    return rules_of.suffix_of(A, H, symbol, following)


def _set_alternatives(A: Int32, H: Int32, S: Int32, symbol: int, words: Int32) -> int:
    return rules_of.set_alternatives(A, H, symbol, words)
