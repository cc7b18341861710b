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
from constrain.kernels.records.messages import nonterminal_at
from constrain.languages.automata.lower import lower
from constrain.languages.automata.store import Store
from constrain.languages.cfg.bulk_rules import BulkNonterminal
from constrain.languages.cfg.rules import Grammar, Nonterminal
from constrain.languages.constraints.base import Constraint
from constrain.lazily import Remembered
from constrain.limits import default_limits

REMEMBERED = 64  # constraints that were compiled more than once, whose grammars are kept alive
MAX_ASKED = 4096  # constraints that are remembered as compiled once


class CompiledRules:
    """A grammar with the records of the nonterminals that texts have reached.

    Attributes:
        grammar: The grammar.
        epoch: The automaton's epoch in which the records are valid.
        records: Nonterminal, by its key or by itself -> record.
        waiting: Record -> nonterminal that is not expanded yet.
        bulk: Key of bulk rules -> their first record; of an object with key sets -> its KEY_SET_RULES region.
        reference: A weak reference to this object.
    """

    __slots__ = ("__weakref__", "bulk", "epoch", "grammar", "records", "reference", "waiting")

    def __init__(self, grammar: Grammar, epoch: int) -> None:
        self.grammar = grammar
        self.reference = weakref.ref(self)
        self.epoch = epoch
        self.records: dict[Hashable, int] = {}
        self.waiting: dict[int, Nonterminal] = {}
        self.bulk: dict[Hashable, int] = {}

    def follow(self, epoch: int) -> None:
        """Forget the records if they belong to another epoch."""
        if self.epoch != epoch:
            self.records, self.waiting, self.bulk, self.epoch = {}, {}, {}, epoch


def bulk_record(store: Store, nonterminal: BulkNonterminal, rules: CompiledRules) -> int | None:
    """The record of a nonterminal whose rules were made in bulk, else None."""
    position = nonterminal.bulk_position
    first = rules.bulk.get(position[0]) if position else None
    if not first or not position:
        return None
    if isinstance(position[1], int):
        return nonterminal_at(first, position[1])
    written, size, is_open, is_member = position[1]
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
            rules = self._rules.get(constraint)
        if rules is None:
            with default_limits().reading("the constraint"):
                made = CompiledRules(constraint.to_grammar(), -1)  # without a lock: others go on meanwhile
            with self._lock:
                rules = self._rules.setdefault(constraint, made)
        with self._lock:
            if hash(constraint) in self._asked:
                # The first of equal ones, of which others may know something.
                self._kept.keep(constraint, self._kept.get(constraint, rules))
            else:
                self._asked.keep(hash(constraint), None)
            return rules
