"""SymbolTable: finds or makes the arena records of grammar symbols.

The idea: a terminal has one record in the arena, shared by all constraints; a nonterminal has one for each grammar that
it belongs to, unless it is shared (`Nonterminal.shared`).
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence

import numpy as np

from constrain.errors import LimitError
from constrain.kernels.parser import placed
from constrain.kernels.parser import rules as kernel_rules
from constrain.kernels.records import arena
from constrain.kernels.records.expressions import TAGSET
from constrain.kernels.records.grammars import GRAMMAR, NONTERMINAL, PLACED, TEMPLATE, TERMINAL, TEXT_PLACE
from constrain.languages.automata.lower import lower
from constrain.languages.automata.memory import BOTTOM
from constrain.languages.automata.store import Store
from constrain.languages.cfg.bulk_rules import Layouts, PlacedNonterminal
from constrain.languages.cfg.rules import Grammar, Nonterminal, Symbol, Terminal
from constrain.lazily import Remembered
from constrain.masks.engine.compiled_rules import CompiledRules, record_by_keys
from constrain.masks.engine.templates import template_of

MAX_RANK = 1 << 20
MAX_TERMINALS = 4096  # cached records of terminals; others are looked up in the arena
MAX_AT_HAND = 256  # cached records of symbols that occur in many rules
WHOLE = Nonterminal("(whole text)", list)  # the augmented start symbol: S' in S' -> start


class SymbolTable:
    """The records of symbols in one epoch of an automaton; a new table is made after each flush.

    Attributes:
        store: Holds the expressions of terminals.
        memory: Holds the records.
        shared: The rules of shared nonterminals.
        nullable: Records of nonterminals that are known to have an empty alternative.
        layouts: The functions that say what is written at places, by the number in their records.
    """

    def __init__(self, store: Store, epoch: int) -> None:
        self.store = store
        self.memory = store.memory
        self.shared = CompiledRules(Grammar(WHOLE), epoch)
        self.nullable: set[int] = set()
        self.layouts: list[Layouts] = []
        self._places: dict[tuple[Layouts, int], int] = {}  # their records
        self._settings: dict[tuple[object, ...], int] = {}  # records of grammars
        self._terminals: Remembered[Terminal, int] = Remembered(MAX_TERMINALS)
        self._optionals: dict[int, int] = {}  # record of a terminal -> record of the nonterminal "it or nothing"
        self._at_hand: dict[int, tuple[int, Symbol]] = {}  # by id(symbol): symbols of many rules, such as commas
        self._names: list[str] = []  # names of nonterminals, by the number in their records
        self._owners: list[weakref.ref[CompiledRules]] = []  # their rules, likewise

    def settings(self, grammar: Grammar) -> int:
        """The record of a grammar's settings: ignored terminals, lexer, closing byte, and whether it is watched."""
        key = (grammar.ignore, grammar.lexer, grammar.closing, grammar.watched)
        record = self._settings.get(key)
        if record is None:
            record = self.memory.call_plain(arena.intern1, GRAMMAR.KIND, len(self._settings))
            ignored = [terminal for t in grammar.ignore if (terminal := self.terminal(t))]
            region = self.memory.region([len(ignored), *ignored])
            A = self.memory.A  # now: the calls may have moved it
            A[record + GRAMMAR.IGNORED] = region
            A[record + GRAMMAR.GREEDY] = grammar.lexer == "greedy"
            A[record + GRAMMAR.CLOSING] = grammar.closing[0] + 1 if grammar.closing else 0
            A[record + GRAMMAR.WATCHED] = grammar.watched
            self._settings[key] = record
        return record

    def record(self, symbol: Symbol, rules: CompiledRules) -> int:
        """The record of a symbol in some rules; 0 if its language is empty.

        A terminal that contains the empty text becomes a nonterminal with an empty alternative.
        """
        if isinstance(symbol, Nonterminal):
            record = self.nonterminal(symbol, rules)
            return self._hold(symbol, record) if symbol.shared else record
        record = self._terminals.get(symbol, -1)
        if record < 0:
            record = self.terminal(symbol)
            expression = lower(self.store, symbol.node)
            if self.store.is_nullable(expression):
                record = self._optional(symbol.name, 0 if expression == arena.EPS else record)
            self._terminals.keep(symbol, record)
        return self._hold(symbol, record) if symbol.literal else record

    def records(self, symbols: Sequence[Symbol], rules: CompiledRules) -> list[int]:
        """The records of a sequence of symbols in some rules. PERF: most are cached."""
        at_hand, terminals = self._at_hand, self._terminals
        return [
            cached[0]
            if (cached := at_hand.get(id(symbol)))
            else (type(symbol) is Terminal and terminals.get(symbol)) or self.record(symbol, rules)
            for symbol in symbols
        ]

    def _optional(self, name: str, terminal: int) -> int:
        """The record of a nonterminal that derives a terminal or nothing. terminal: its record; 0: only nothing."""
        record = self._optionals.get(terminal)
        if record is None:
            record = self._optionals[terminal] = self._new(name, self.shared, False, False)
            self.set_alternatives(record, [1, terminal, 0] if terminal else [0])
            self.nullable.add(record)
        return record

    def _hold(self, symbol: Symbol, record: int) -> int:
        """Cache the record of a symbol that occurs in many rules. Returns the record."""
        if len(self._at_hand) < MAX_AT_HAND:
            self._at_hand[id(symbol)] = record, symbol
        return record

    def terminal(self, terminal: Terminal) -> int:
        """The record of a terminal, without its empty text; 0 if its language is empty. Raises LimitError."""
        expression = lower(self.store, terminal.node)
        if expression == arena.NONE:
            return 0
        excluded = 0
        if terminal.excluding:
            tags = sorted({lower(self.store, t.node) for t in terminal.excluding})
            excluded = self.memory.call_on(tags, arena.intern_list, TAGSET.KIND, BOTTOM)
        if not -MAX_RANK < terminal.priority < MAX_RANK:
            raise LimitError(f"terminal {terminal.name}: the priority {terminal.priority} is not within ±{MAX_RANK}")
        after = 0
        if terminal.ignored_after is not None:
            after = self.settings(Grammar(WHOLE, terminal.ignored_after, "greedy"))
        rank = 2 * terminal.priority + terminal.literal
        return self.memory.call_plain(arena.intern4, TERMINAL.KIND, expression, excluded, rank, after)

    def nonterminal(self, nonterminal: Nonterminal, rules: CompiledRules) -> int:
        """The record of a nonterminal in some rules."""
        if nonterminal.shared:
            rules = self.shared
        identity = nonterminal if nonterminal.key is None else nonterminal.key
        record = rules.records.get(identity)
        if record is None and isinstance(nonterminal, PlacedNonterminal):
            record = record_by_keys(self.store, nonterminal, rules) or self._placed(nonterminal, rules)
        if record is None:
            record = self._new(nonterminal.name, rules, nonterminal.right_recursive, nonterminal.watched)
            rules.records[identity] = record
            rules.waiting[record] = nonterminal
        return record

    def _placed(self, nonterminal: PlacedNonterminal, rules: CompiledRules) -> int | None:
        """The record of a nonterminal whose template is known at all places; None if it stands for itself alone."""
        position = nonterminal.position
        if position is None:
            return None
        template = template_of(self, nonterminal, position, rules)
        place = self.place(position.layouts, position.place)
        return self.memory.call_plain(placed.placed, template, place)

    def place(self, layouts: Layouts, number: int) -> int:
        """The record of a place. layouts: what is written at the places with such numbers."""
        record = self._places.get((layouts, number))
        if record is None:
            if layouts not in self.layouts:
                self.layouts.append(layouts)
            record = self.memory.call_plain(arena.intern2, TEXT_PLACE.KIND, self.layouts.index(layouts), number)
            self._places[layouts, number] = record
        return record

    def _new(self, name: str, rules: CompiledRules, right_recursive: bool, watched: bool) -> int:
        """A new record for a nonterminal."""
        number = self.number(name, rules)
        return self.memory.call(lambda A, H, S: kernel_rules.nonterminal(A, number, right_recursive, watched))

    def set_alternatives(self, nonterminal: int, words: list[int]) -> None:
        """Write the alternatives of a nonterminal: for each the number of its symbols, and their records."""
        self.memory.call_plain(kernel_rules.set_alternatives, nonterminal, np.array(words, np.int32))

    def number(self, name: str, rules: CompiledRules) -> int:
        """A number for nonterminals of some rules with a common name, for their records."""
        number = rules.numbers.get(name)
        if number is None:
            number = rules.numbers[name] = len(self._names)
            self._names.append(name)
            self._owners.append(rules.reference)
        return number

    def name_of(self, nonterminal: int) -> str:
        """The name of a nonterminal, from its record."""
        return self._names[self.memory.A[nonterminal + NONTERMINAL.NUMBER]]

    def rules_with(self, nonterminal: int) -> CompiledRules | None:
        """The rules of a nonterminal, from its record; None: their constraint was freed."""
        return self._owners[self.memory.A[nonterminal + NONTERMINAL.NUMBER]]()

    def waits(self, record: int, rules: CompiledRules) -> bool:
        """True if a nonterminal of some rules is not expanded yet, and no kernel can do it."""
        if record in rules.waiting or record in self.shared.waiting:
            return True
        A = self.memory.A
        at = A[record + NONTERMINAL.PLACED]
        if not at or A[record + NONTERMINAL.ALTERNATIVES]:
            return False
        return not TEMPLATE.ALTERNATIVES(A, PLACED.TEMPLATE(A, at))
