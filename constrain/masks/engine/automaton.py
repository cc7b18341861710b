"""The lazy token automaton: one arena for each vocabulary, shared by all constraints that are compiled for it.

The idea: kernels answer every question with `step(state, byte)` on integers (kernels/parser). This module lays out the
trie in the arena, makes records of symbols when a text first reaches them, and bounds the memory. Over budget it
forgets everything (`flush`, as RE2's lazy DFA does) and `epoch` goes up; each matcher computes its state again from the
tokens that it has read. Equal constraints share their grammar, and all constraints share lexer states, masks and equal
nonterminals.

Cost: 5 MB for a vocabulary of 128k tokens, then what texts visit. Limit: `budget` bytes (default 256 MiB); a single
operation that does not fit into an empty arena may exceed it.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Hashable, Sequence
from contextlib import nullcontext, suppress
from typing import Any, Literal, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from constrain.errors import ConstrainError, LimitError
from constrain.kernels.masks import fill
from constrain.kernels.parser import advance, configurations, key_sets
from constrain.kernels.parser import rules as rules_of
from constrain.kernels.records import arena, view
from constrain.kernels.records.arena import HEADER
from constrain.kernels.records.configurations import CONFIG, config_pair, pair_parser
from constrain.kernels.records.expressions import FIRST_SLICE, TAGSET
from constrain.kernels.records.grammars import GRAMMAR, NONTERMINAL, TERMINAL
from constrain.kernels.records.parser_states import PARSER
from constrain.languages.automata.digits import Sequence as Digits
from constrain.languages.automata.lower import lower, spelled
from constrain.languages.automata.marks import mark_ranges
from constrain.languages.automata.store import BOTTOM, MAX_WORDS, Flush, Int32, Store
from constrain.languages.automata.syntax import Ranges, Tokens
from constrain.languages.cfg.bulk_rules import BulkNonterminal, ObjectPunctuation
from constrain.languages.cfg.rules import Grammar, Nonterminal, Symbol, Terminal
from constrain.languages.constraints.base import Constraint
from constrain.languages.vocab.marked import Marked, Spans
from constrain.languages.vocab.vocabulary import Vocabulary
from constrain.limits import Limits, default_limits, limited, tick
from constrain.masks.engine import tokenwise
from constrain.masks.engine.arena_image import arena_image, whole_class
from constrain.masks.engine.bulk_rules import bulk_record, make_bulk_rules
from constrain.masks.engine.compiled_rules import CompiledRules
from constrain.masks.engine.readers import ReaderCount

DEFAULT_BUDGET = 256 << 20
MASK_LIMITS = Limits(seconds=2.0, megabytes=None)  # of a mask or a step; its memory is that of the automaton
MAX_RANK = 1 << 20
REMEMBERED = 64  # constraints that were compiled more than once, whose grammars are kept alive
MAX_ASKED = 4096  # constraints that are remembered as compiled once
MAX_TERMINALS = 4096  # cached records of terminals; others are looked up in the arena
MAX_AT_HAND = 256  # cached records of symbols that occur in many rules
MAX_ROWS = 512  # complete masks that are kept for `Matcher.mask`
TAILS = 8  # right-recursive last symbols that are expanded together with their rules
MANY_AHEAD = 32  # nonterminals that are not expanded before they are needed
AHEAD = 3  # literal terminals that expansion looks beyond: a mask needs the symbols after them too

Result = TypeVar("Result")
Mentioned = Literal["none", "special", "every"]  # the tokens that constraints may mention

_lock = threading.Lock()
_automata: weakref.WeakKeyDictionary[Vocabulary, TokenAutomaton] = weakref.WeakKeyDictionary()


class _Unexpanded(NamedTuple):
    """The unexpanded nonterminals that a rule leads to.

    Attributes:
        first: In its left corner: at the beginning of alternatives, leading nullable symbols skipped.
        beyond: After literal terminals at the beginning of alternatives.
        tails: Right-recursive nonterminals at the end of alternatives.
    """

    first: list[int]
    beyond: list[int]
    tails: list[int]


class AllOrNothing:
    """A context in which states are made: if it is left by an interrupt, all states are forgotten before the next.

    A signal, MemoryError or a timeout's exception may come between any two lines of Python, and what is half made is
    never looked at again.
    """

    __slots__ = ("automaton",)

    def __init__(self, automaton: TokenAutomaton) -> None:
        self.automaton = automaton

    def __enter__(self) -> None: ...

    def __exit__(self, kind: type[BaseException] | None, error: object, place: object) -> None:
        if kind is not None and not issubclass(kind, (ConstrainError, Flush)):
            self.automaton.interrupted()


class TokenAutomaton(Store):
    """The states of all constraints that are compiled for one vocabulary. Thread-safe.

    Most programs never need it: `compile` uses the automaton that a vocabulary's constraints share. Make one to set a
    memory budget, or to compute masks of several constraints in parallel threads (`fill_masks`).

    Args:
        vocabulary: The bytes of every token id.
        budget: The bytes of memory for states, default 256 MiB; at least 1 MiB beyond the vocabulary's own tables. Over
            budget the automaton forgets all states, and matchers compute theirs again when they are next used.

        limits: What a mask or a step of a matcher may cost, where the thread has no limits: 2 s of CPU time by
            default. Beyond it is a LimitError, and the matcher is as it was.
        tokens: Which tokens the constraints may mention (`constrain.token`): none by default; "special" those without
            bytes; "every" all, and then each step costs more.

    Attributes:
        epoch (int): How often the automaton has forgotten its states.

    The other methods are the interface for the engine's own modules. They may change without notice.

    Example:
        >>> import constrain
        >>> vocabulary = constrain.Vocabulary.of_bytes()
        >>> automaton = constrain.TokenAutomaton(vocabulary, budget=16 << 20)
        >>> matcher = constrain.compile(constrain.regex("ab*"), vocabulary, automaton=automaton).matcher()
        >>> matcher.advance_bytes(b"abb"), matcher.is_accepting(), automaton.epoch
        (True, True, 0)
    """

    one_by_one = False

    @classmethod
    def of(cls, vocabulary: Vocabulary, tokens: Mentioned = "none") -> TokenAutomaton:
        """The automaton that all constraints on a vocabulary share by default, with the default budget."""
        with _lock:
            if tokens != "none":
                vocabulary = Marked.of_vocabulary(vocabulary, tokens == "every")
            automaton = _automata.get(vocabulary)
            if automaton is None:
                automaton = _automata[vocabulary] = cls(vocabulary)
            return automaton

    def __init__(
        self,
        vocabulary: Vocabulary,
        budget: int = DEFAULT_BUDGET,
        *,
        tokens: Mentioned = "none",
        limits: Limits = MASK_LIMITS,
    ) -> None:
        if tokens != "none":
            vocabulary = Marked.of_vocabulary(vocabulary, tokens == "every")
        self.limits = limits
        self.vocabulary = vocabulary  # what the trie has; marked if constraints may mention tokens
        self.eos_ids = vocabulary.eos_ids
        self.size = vocabulary.width if isinstance(vocabulary, Marked) else vocabulary.size
        self.offset = vocabulary.offset if isinstance(vocabulary, Marked) else 0
        self.spans: dict[Tokens, Spans] = {}  # the ids of the sets of tokens that constraints mention
        self.epoch = 0
        self.readers = ReaderCount()
        self._slices = [whole_class(piece) for piece in vocabulary.slices]
        self._layout = arena_image(vocabulary)
        self._registry = threading.Lock()  # of the tables of constraints; never held while anything is computed
        size = self._layout.words.size
        budget = max(budget, 4 * size + (1 << 20))
        # The whole budget is allocated at once: untouched pages cost nothing, and nothing is copied to grow.
        # PERF: growing H at a million records would take 40 ms in the middle of a mask. A record has 40 words in A.
        slots = 1 << (budget // 4 // 16).bit_length() - 1
        super().__init__(words=budget // 4, slots=slots, budget=budget, at_once=min(budget // 4, size + size // 2))
        # PERF: entry points skip numba's dispatch on argument types: 0.1 µs a token
        self.step = _compiled(advance.advance)
        self.known_step = _compiled(advance.known_step)
        self.fill_mask, self.known_mask, self.forced_token = fill.fill_mask, fill.known_mask, fill.forced_token
        if self.offset:
            tokenwise.install(self)

    def reset(self) -> None:
        """Make an empty arena that contains the vocabulary only."""
        super().reset()
        self._settings: dict[Hashable, int] = {}  # records of grammars
        self._terminals: dict[Terminal, int] = {}
        self._optionals: dict[int, int] = {}  # record of a terminal -> record of the nonterminal "it or nothing"
        self._at_hand: dict[int, tuple[int, Symbol]] = {}  # by id(symbol): symbols of many rules, such as commas
        self._names: list[str] = []  # names of nonterminals, by the number in their records
        self._owners: list[weakref.ref[CompiledRules]] = []  # their rules, likewise
        self.punctuation: dict[ObjectPunctuation, list[int]] = {}  # its words in messages (bulk_rules.py)
        self._nullable: set[int] = set()  # records of nonterminals that are known to have an empty alternative
        self.shared = CompiledRules(_NO_GRAMMAR, self.epoch)
        self._watched_states: dict[tuple[int, Hashable], int] = {}
        self._grammars: weakref.WeakValueDictionary[Constraint, CompiledRules] = weakref.WeakValueDictionary()
        self._asked: set[int] = set()  # hashes of constraints that were compiled
        self._kept: dict[Constraint, CompiledRules] = {}  # the latest is last
        self.rows: dict[int, tuple[int, NDArray[np.uint32], int]] = {}  # configuration -> (epoch, mask, its flags)
        base = self.region(self._layout.words)
        for word, offset in self._layout.header.items():
            self.A[word] = base + offset
        for word in self._layout.pointers:
            self.A[base + word] += base
        self.A[HEADER.N_NODES], self.A[HEADER.DEPTH] = self._layout.nodes, self._layout.depth
        self.A[HEADER.N_TOKENS], self.A[HEADER.N_EOS] = self.vocabulary.size, len(self.eos_ids)
        self.A[HEADER.N_SLICES] = len(self._slices)
        self.A[HEADER.SPELLED] = self.region(spelled(self))
        self.A[HEADER.EPOCH] = self.epoch + 1

    def covered_slices(self, ranges: Ranges) -> int:
        """The flags of the slices whose characters are all in the ranges."""
        flags = 0
        for j, characters in enumerate(self._slices):
            if all(any(a <= low and high <= b for a, b in ranges) for low, high in characters):
                flags |= 1 << (FIRST_SLICE + j)
        return flags

    def mention(self, spans: dict[Tokens, Spans]) -> None:
        """Note which tokens the sets of a constraint are, before its grammar is read."""
        self.spans |= spans

    def marks(self, node: Tokens) -> tuple[Digits, ...]:
        """See `Store.marks`."""
        return mark_ranges(self.spans[node])

    def flush(self) -> None:
        """Forget all states. Matchers compute theirs again when they are next used. The caller holds the lock."""
        self.A[HEADER.EPOCH] = 0  # from here on nobody reads without the lock
        self.readers.wait()
        self.epoch += 1
        self.reset()

    def satisfy(self, stop: Exception) -> None:
        """Do what a stopped kernel needs, as `serve`; a lack of memory is left to `attempt`."""
        with suppress(Flush), AllOrNothing(self):
            self.serve(stop)

    def attempt(self, operation: Callable[[], Result]) -> Result:
        """Run an operation under the lock. If memory runs out: flush, and run it again beyond the budget."""
        with self.lock:
            if not self.A[HEADER.EPOCH]:
                self.flush()
            self.begin()
            with AllOrNothing(self):
                try:
                    return operation()
                except Flush:
                    self.flush()
                    self.may_exceed = True
                    try:
                        return operation()
                    finally:
                        self.may_exceed = False

    def interrupted(self) -> None:
        """Forget all states before the next is made, since one may be half made."""
        self.A[HEADER.EPOCH] = 0  # nothing is read without the lock, and `attempt` flushes
        self.epoch += 1  # matchers look again

    def after_fork(self) -> None:
        """See `Store.after_fork`."""
        self._registry = threading.Lock()
        self.readers = ReaderCount()
        super().after_fork()

    def watched_state(self, configuration: int, guarded: Hashable) -> int:
        """A number for a pair (configuration, state of the guard), different from all configurations."""
        numbers = self._watched_states
        return numbers.setdefault((configuration, guarded), MAX_WORDS + len(numbers))

    def keep_row(self, epoch: int, configuration: int, row: NDArray[np.uint32], flags: int) -> None:
        """Keep a mask that will not be changed any more, with the flags of `fill_mask`."""
        with self.lock:
            if epoch == self.epoch:
                if len(self.rows) >= MAX_ROWS:
                    self.rows.clear()
                self.rows[configuration] = epoch, row, flags

    def rules_of(self, constraint: Constraint) -> CompiledRules:
        """The compiled rules of a constraint. Equal constraints share them, so a repeated request finds its states.

        Rules live as long as they are used. Those of a constraint that is compiled a second time are kept longer. Most
        constraints never return, and keeping them would cost the garbage collector more than making them again.
        Raises what the constraint raises.
        """
        with self._registry:
            rules = self._grammars.get(constraint)
        if rules is None:
            with default_limits().reading("the constraint"):
                made = CompiledRules(constraint.to_grammar(), self.epoch)  # without a lock: others go on meanwhile
            with self._registry:
                rules = self._grammars.setdefault(constraint, made)
        with self._registry:
            if hash(constraint) in self._asked:
                self._kept.pop(constraint, None)
                self._kept[constraint] = rules
                if len(self._kept) > REMEMBERED:
                    del self._kept[next(iter(self._kept))]
            else:
                if len(self._asked) >= MAX_ASKED:
                    self._asked.clear()
                self._asked.add(hash(constraint))
            return rules

    def start(self, rules: CompiledRules) -> int:
        """The configuration before the first byte. The caller holds the lock."""
        rules.follow(self.epoch)
        whole = self.nonterminal(_WHOLE, self.shared)
        start = self.symbol(rules.grammar.start, rules)
        queue = [start]
        while queue:  # the kernel needs these; to expand them costs less than to stop the kernel for each
            queue += self._expand(queue.pop()).first
        suffix = self.call(_suffix_of, start, 0)
        first = self.call(configurations.start_configuration, self._grammar(rules.grammar), whole, suffix)
        if rules.grammar.watched:  # all later configurations inherit it from the parser state of the start
            self.A[first + CONFIG.WATCHED] = 2
            self.A[pair_parser(self.A, config_pair(first, 0)) + PARSER.WATCHED] = 2
        return first

    def _grammar(self, grammar: Grammar) -> int:
        """The record of a grammar's settings: ignored terminals, lexer and closing byte."""
        key = (grammar.ignore, grammar.lexer, grammar.closing)
        record = self._settings.get(key)
        if record is None:
            record = self.call(_intern1, GRAMMAR.KIND, len(self._settings))
            ignored = [self.terminal(t) for t in grammar.ignore]
            self.A[record + GRAMMAR.IGNORED] = self._list([t for t in ignored if t])
            self.A[record + GRAMMAR.GREEDY] = grammar.lexer == "greedy"
            self.A[record + GRAMMAR.CLOSING] = grammar.closing[0] + 1 if grammar.closing else 0
            self._settings[key] = record
        return record

    # -- symbols -> records --------------------------------------------------------------------------------------------

    def symbol(self, symbol: Symbol, rules: CompiledRules) -> int:
        """The record of a symbol in some rules; 0 if its language is empty.

        A terminal that contains the empty text becomes a nonterminal with an empty alternative.
        """
        if isinstance(symbol, Nonterminal):
            record = self.nonterminal(symbol, rules)
            return self._hold(symbol, record) if symbol.shared else record
        record = self._terminals.get(symbol, -1)
        if record < 0:
            record = self.terminal(symbol)
            expression = lower(self, symbol.node)
            if self.is_nullable(expression):
                record = self._optional(symbol.name, 0 if expression == arena.EPS else record)
            if len(self._terminals) >= MAX_TERMINALS:
                self._terminals.clear()
            self._terminals[symbol] = record
        return self._hold(symbol, record) if symbol.literal else record

    def _optional(self, name: str, terminal: int) -> int:
        """The record of a nonterminal that derives a terminal or nothing. terminal: its record; 0: only nothing."""
        record = self._optionals.get(terminal)
        if record is None:
            record = self._optionals[terminal] = self._new(name, self.shared, False, False)
            alternatives = [1, terminal, 0] if terminal else [0]
            self.call(_set_alternatives, record, np.array(alternatives, np.int32))
            self._nullable.add(record)
        return record

    def _hold(self, symbol: Symbol, record: int) -> int:
        """Cache the record of a symbol that occurs in many rules. Returns the record."""
        if len(self._at_hand) < MAX_AT_HAND:
            self._at_hand[id(symbol)] = record, symbol
        return record

    def terminal(self, terminal: Terminal) -> int:
        """The record of a terminal, without its empty text; 0 if its language is empty. Raises LimitError."""
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
        """The record of a nonterminal in some rules."""
        if nonterminal.shared:
            rules = self.shared
        identity = nonterminal if nonterminal.key is None else nonterminal.key
        record = rules.records.get(identity)
        if record is None and isinstance(nonterminal, BulkNonterminal):
            record = bulk_record(self, nonterminal, rules)
        if record is None:
            record = self._new(nonterminal.name, rules, nonterminal.right_recursive, nonterminal.watched)
            rules.records[identity] = record
            rules.waiting[record] = nonterminal
        return record

    def _new(self, name: str, rules: CompiledRules, right_recursive: bool, watched: bool) -> int:
        """A new record for a nonterminal."""
        return self.call(_new_nonterminal, self.number(name, rules), right_recursive, watched)

    def number(self, name: str, rules: CompiledRules) -> int:
        """A number for nonterminals of some rules with a common name, for their records."""
        self._names.append(name)
        self._owners.append(rules.reference)
        return len(self._names) - 1

    def name_of(self, nonterminal: int) -> str:
        """The name of a nonterminal, from its record."""
        return self._names[self.A[nonterminal + NONTERMINAL.NUMBER]]

    def _list(self, items: Sequence[int]) -> int:
        """A region [n, items...]."""
        return self.region([len(items), *items])

    def expand(self) -> None:
        """Expand the nonterminals that stopped a kernel, and the ones it will need next."""
        with nullcontext() if limited() else self.limits.of("expanding rules"):
            tails = self._expand_ahead(self.pending(), AHEAD)
            self._expand_ahead(tails[:TAILS], 1)

    def _expand_ahead(self, queue: list[int], lexemes: int) -> list[int]:
        """Expand nonterminals, and what they lead to before `lexemes` literal terminals. Returns the tails."""
        tails: list[int] = []
        for _ in range(lexemes):
            following: list[int] = []
            while queue:
                unexpanded = self._expand(queue.pop())
                queue += unexpanded.first
                following += unexpanded.beyond
                tails += unexpanded.tails
            if len(following) > MANY_AHEAD:  # each may be as many again, and a token reaches few of them
                break
            queue = following
        return tails

    def _expand(self, record: int) -> _Unexpanded:
        """Expand a nonterminal. Returns the unexpanded nonterminals that it leads to."""
        rules = self._owners[self.A[record + NONTERMINAL.NUMBER]]()
        if rules is None:  # its constraint was freed, so no matcher can reach it: clear the arena
            raise Flush
        unexpanded = _Unexpanded([], [], [])
        nonterminal = rules.waiting.get(record)
        if nonterminal is None:
            return unexpanded
        bulk = nonterminal.bulk_rules() if isinstance(nonterminal, BulkNonterminal) else None
        if bulk is not None:
            unexpanded.first.extend(make_bulk_rules(self, record, bulk, rules))
        else:
            self._expand_one(record, nonterminal, rules, unexpanded)
        del rules.waiting[record]
        return unexpanded

    def _expand_one(self, record: int, nonterminal: Nonterminal, rules: CompiledRules, unexpanded: _Unexpanded) -> None:
        words: list[int] = []
        greedy = rules.grammar.lexer == "greedy"
        for alternative in nonterminal.expand():
            tick()
            records = self.records(alternative, rules)
            if 0 in records:
                continue  # a terminal with an empty language: the alternative is unproductive
            words.append(len(records))
            words += records
            if not records:
                self._nullable.add(record)
            reached = unexpanded.first
            for symbol, symbol_record in zip(alternative, records, strict=True):
                if isinstance(symbol, Nonterminal):
                    if self.waits(symbol_record, rules):
                        reached.append(symbol_record)
                    if symbol_record not in self._nullable:
                        break
                elif symbol.literal:
                    reached = unexpanded.beyond
                else:
                    break
            # PERF: under the greedy lexer the tails are blocks, at hundreds of columns: 0.2 s where one opens
            last = alternative[-1] if records and not greedy else None
            if isinstance(last, Nonterminal) and last.right_recursive and last.ahead:
                unexpanded.tails.append(records[-1])
        self.call(_set_alternatives, record, np.array(words, np.int32))

    def members(self, keys: int) -> list[int]:
        """The SUFFIX lists of the members that a KEY_SET record stands for: a key and what comes behind it."""
        suffixes = []
        for key in sorted(view.terminals_within(self.A, self.call(key_sets.trie_of_keys, keys))):
            rest = self.call(key_sets.take, keys, key)
            suffixes.append(self.call(_suffix_of, self.call(_intern4, TERMINAL.KIND, key, 0, 0, 0), rest))
        return suffixes

    def waits(self, record: int, rules: CompiledRules) -> bool:
        """Whether a nonterminal of some rules is not expanded yet."""
        return record in rules.waiting or record in self.shared.waiting

    def records(self, symbols: Sequence[Symbol], rules: CompiledRules) -> list[int]:
        """The records of a sequence of symbols in some rules. PERF: most are cached."""
        at_hand, terminals = self._at_hand, self._terminals
        return [
            cached[0]
            if (cached := at_hand.get(id(symbol)))
            else (type(symbol) is Terminal and terminals.get(symbol)) or self.symbol(symbol, rules)
            for symbol in symbols
        ]


_WHOLE = Nonterminal("(whole text)", list)  # the augmented start symbol: S' in S' -> start
_NO_GRAMMAR = Grammar(_WHOLE)


def _compiled(kernel: Any) -> Callable[..., int]:
    """The entry point of a compiled kernel; the caller passes the right types. Kernels must be loaded."""
    overloads = getattr(kernel, "overloads", None)
    return next(iter(overloads.values())).entry_point if overloads else kernel


# Kernels without scratch, with the arguments that `Store.call` passes.
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
