"""GrammarCache: the compiled rules of constraints, shared by equal constraints.

Rules live as long as they are used. Those of a constraint that is compiled a second time are kept longer: most
constraints never return, and keeping them would cost the garbage collector more than making them again.
"""

from __future__ import annotations

import threading
import weakref

from constrain.languages.constraints.base import Constraint
from constrain.limits import default_limits
from constrain.masks.engine.compiled_rules import CompiledRules

REMEMBERED = 64  # constraints that were compiled more than once, whose grammars are kept alive
MAX_ASKED = 4096  # constraints that are remembered as compiled once


class GrammarCache:
    """The compiled rules of the constraints of one automaton. Thread-safe."""

    def __init__(self) -> None:
        self.renew_lock()
        self.forget()

    def renew_lock(self) -> None:
        """Make the lock of the tables anew, in a child process. It is never held while anything is computed."""
        self._lock = threading.Lock()

    def forget(self) -> None:
        """Forget all rules, whose records are those of one epoch."""
        self._rules: weakref.WeakValueDictionary[Constraint, CompiledRules] = weakref.WeakValueDictionary()
        self._asked: set[int] = set()  # hashes of constraints that were compiled
        self._kept: dict[Constraint, CompiledRules] = {}  # the latest is last

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
                self._kept.pop(constraint, None)
                self._kept[constraint] = rules
                if len(self._kept) > REMEMBERED:
                    del self._kept[next(iter(self._kept))]
            else:
                if len(self._asked) >= MAX_ASKED:
                    self._asked.clear()
                self._asked.add(hash(constraint))
            return rules
