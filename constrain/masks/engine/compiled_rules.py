"""Compiled rules: the grammar of one constraint with the arena records of its nonterminals.

The idea: nonterminals get records when a text first reaches them. The table belongs to the constraint, not to the
automaton, so it is freed with the constraint; the arena keeps the records until the next flush.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Hashable

import numpy as np

from constrain.kernels.parser import key_set_rules
from constrain.languages.automata.lower import lower
from constrain.languages.automata.store import Store
from constrain.languages.cfg.bulk_rules import PlacedNonterminal
from constrain.languages.cfg.rules import Grammar, Nonterminal
from constrain.languages.constraints.base import Constraint
from constrain.lazily import Remembered
from constrain.limits import default_limits, limits_at

REMEMBERED = 64  # constraints that were compiled more than once, whose grammars are kept alive
MAX_ASKED = 4096  # constraints that are remembered as compiled once


class CompiledRules:
    """A grammar with the records of the nonterminals that texts have reached.

    Attributes:
        grammar: The grammar.
        epoch: The automaton's epoch in which the records are valid.
        records: Nonterminal, by its key or by itself -> record.
        waiting: Record -> nonterminal that is not expanded yet.
        numbers: Name of nonterminals -> their number in records.
        templates: Family of nonterminals that differ in their place -> the first of their templates; of values that are
            not made by place the word that stands for them in messages.
        sources: Template without alternatives -> a nonterminal of it, at any place.
        by_keys: Key of an object whose rules are made by the keys so far -> its KEY_SET_RULES region.
        reference: A weak reference to this object.
    """

    __slots__ = (
        "__weakref__", "by_keys", "epoch", "grammar", "numbers", "records", "reference", "sources", "templates",
        "waiting",
    )  # fmt: skip

    def __init__(self, grammar: Grammar, epoch: int) -> None:
        self.grammar = grammar
        self.reference = weakref.ref(self)
        self._begin(epoch)

    def follow(self, epoch: int) -> None:
        """Forget the records if they belong to another epoch."""
        if self.epoch != epoch:
            self._begin(epoch)

    def _begin(self, epoch: int) -> None:
        self.epoch = epoch
        self.records: dict[Hashable, int] = {}
        self.waiting: dict[int, Nonterminal] = {}
        self.numbers: dict[str, int] = {}
        self.templates: dict[Hashable, int] = {}
        self.sources: dict[int, PlacedNonterminal] = {}
        self.by_keys: dict[Hashable, int] = {}


def record_by_keys(store: Store, nonterminal: PlacedNonterminal, rules: CompiledRules) -> int | None:
    """The record of a nonterminal whose rules are made by the keys so far, else None."""
    so_far = nonterminal.keys_so_far
    first = rules.by_keys.get(so_far[0]) if so_far else None
    if not first or not so_far:
        return None
    written, size, is_open, is_member = so_far[1]
    keys = [lower(store, terminal.node) for terminal in written]  # in the order of WRITTEN_KEYS_MESSAGE
    key_set = store.memory.call(key_set_rules.key_set_of, first, np.array([size, is_open, *keys], np.int32))
    return store.memory.call(key_set_rules.place_of, key_set, is_member)


class GrammarCache:
    """The compiled rules of the constraints of one automaton, shared by equal constraints. Thread-safe.

    Rules live as long as they are used. Those of a constraint that is compiled a second time are kept longer: most
    constraints never return, and keeping them would cost the garbage collector more than making them again.
    """

    def __init__(self) -> None:
        self.renew_lock()
        self.forget()

    def renew_lock(self) -> None:
        """Make the lock of the tables anew, in a child process. It is never held while anything is computed."""
        self._lock = threading.Lock()

    def forget(self) -> None:
        """Forget all rules, whose records are those of one epoch."""
        self._rules: weakref.WeakValueDictionary[Constraint, CompiledRules] = weakref.WeakValueDictionary()
        self._asked: Remembered[int, None] = Remembered(MAX_ASKED)  # hashes of constraints that were compiled
        self._kept: Remembered[Constraint, CompiledRules] = Remembered(REMEMBERED)

    def rules_of(self, constraint: Constraint) -> CompiledRules:
        """The compiled rules of a constraint. Equal constraints share them, so a repeated request finds its states.

        Raises what the constraint raises.
        """
        with self._lock:
            number = hash(constraint)
            is_known = number in self._asked
            rules = self._rules.get(constraint) if is_known else None
        if rules is None:
            with limits_at(constraint._shown), default_limits().reading("the constraint"):
                made = CompiledRules(constraint.to_grammar(), -1)  # without a lock: others go on meanwhile
            with self._lock:
                rules = self._rules.setdefault(constraint, made)
        with self._lock:
            if is_known:
                # The first of equal ones, of which others may know something.
                self._kept.keep(constraint, self._kept.get(constraint, rules))
            else:
                self._asked.keep(number, None)
            return rules
