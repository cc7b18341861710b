"""The lazy token automaton: one arena for each vocabulary, shared by all constraints that are compiled for it.

The idea: kernels answer every question with `step(state, byte)` on integers (kernels/parser). The automaton puts the
vocabulary into the arena, makes records of symbols when a text first reaches them, and bounds the memory. Over budget
it forgets everything (`flush`, as RE2's lazy DFA does) and `epoch` goes up; each matcher computes its state again from
the tokens that it has read. New constraints have two automata in turn (`of`), so that mostly old texts are read again.
Equal constraints share their grammar, and all constraints share lexer states, masks and equal nonterminals.

Cost: 31 MB for a vocabulary of 128k tokens, then what texts visit. Limit: `budget` bytes (default 256 MiB) of records,
a sixteenth of it for their hash table, 512 masks and 32 MiB of look-aheads; other objects of Python were a twentieth of
the records. A single operation that does not fit into an empty arena may exceed it.
"""

from __future__ import annotations

import itertools
import threading
import weakref
from collections.abc import Callable
from contextlib import nullcontext, suppress
from typing import Any, Literal, TypeVar, get_args

from constrain.errors import ConstrainError, LimitError
from constrain.kernels.records.arena import HEADER
from constrain.languages.automata.memory import ArenaMemory, Flush, watch_forks
from constrain.languages.automata.store import Store
from constrain.languages.vocab.marked import Marked
from constrain.languages.vocab.vocabulary import Vocabulary
from constrain.limits import Limits, limited
from constrain.masks.engine.arena_image import VocabularyLayout
from constrain.masks.engine.compiled_rules import CompiledRules, GrammarCache
from constrain.masks.engine.expansion import expand_stopping, start_configuration
from constrain.masks.engine.known_states import KnownStates
from constrain.masks.engine.readers import ReaderCount
from constrain.masks.engine.symbol_table import SymbolTable
from constrain.masks.engine.tokenwise import token_kernels

DEFAULT_BUDGET = 256 << 20
MOST_BUDGET = 1 << 40
NEARLY = 0.75  # of the budget
MASK_LIMITS = Limits(seconds=2.0, megabytes=None)  # of a mask or a step; its memory is that of the automaton

Result = TypeVar("Result")
Mentioned = Literal["none", "special", "every"]  # the tokens that constraints may mention

_lock = threading.Lock()
_numbers = itertools.count()


class AllOrNothing:
    """A context in which states are made: if it is left by an interrupt, all states are forgotten before the next.

    A signal, MemoryError or a timeout's exception may come between any two lines of Python, and what is half made is
    never looked at again.
    """

    __slots__ = ("automaton",)

    def __init__(self, automaton: TokenAutomaton) -> None:
        self.automaton = automaton

    def __enter__(self) -> None: ...

    def __exit__(self, kind: type[BaseException] | None, error: object, traceback: object) -> None:
        if kind is not None and not issubclass(kind, (ConstrainError, Flush)):
            self.automaton.interrupted()


class TokenAutomaton:
    """The states of all constraints that are compiled for one vocabulary. Thread-safe.

    Most programs never need it: `compile` uses one that a vocabulary's constraints share. Make one to set a memory
    budget, or to compute masks of several constraints in parallel threads (`fill_masks`).

    Args:
        vocabulary: The bytes of every token id.
        budget: The bytes of memory for states, default 256 MiB; at least 1 MiB beyond the vocabulary's own tables. Over
            budget the automaton forgets all states, and matchers compute theirs again when they are next used.

        limits: What a mask or a step of a matcher may cost, where the thread has no limits: 2 s of CPU time by
            default. Beyond it is a LimitError, and the matcher is as it was.
        tokens: Which tokens the constraints may mention (`constrain.token`): none by default; "special" those without
            bytes; "every" all, and then each step costs more.

    Attributes:
        number (int): The automaton's own in this process. Two automata number their configurations alike.
        epoch (int): How often the automaton has forgotten its states.

    The other methods and the parts are the interface for the engine's own modules. They may change without notice.

    Example:
        >>> import constrain
        >>> vocabulary = constrain.Vocabulary.of_bytes()
        >>> automaton = constrain.TokenAutomaton(vocabulary, budget=16 << 20)
        >>> matcher = constrain.compile(constrain.regex("ab*"), vocabulary, automaton=automaton).matcher()
        >>> matcher.advance_bytes(b"abb"), matcher.is_accepting(), automaton.epoch
        (True, True, 0)
    """

    @classmethod
    def of(cls, vocabulary: Vocabulary, tokens: Mentioned = "none") -> TokenAutomaton:
        """The automaton that new constraints on a vocabulary share by default, with the default budget.

        There are two at most. Once it is nearly full, the other one takes its place, and forgets what is older; so no
        text under way in the newer one is read again.
        """
        with _lock:
            if tokens != "none":
                vocabulary = Marked.of_vocabulary(vocabulary, tokens == "every")
            newer: TokenAutomaton | None
            newer, older = vocabulary.kept.get(TokenAutomaton, (None, None))
            if newer is None or newer.nearly_full:
                renewed: TokenAutomaton | None = older and older()  # freed, once nobody has constraints of it
                if renewed is None:
                    renewed = cls(vocabulary)
                else:
                    renewed.outlived = True
                vocabulary.kept[TokenAutomaton] = renewed, newer and weakref.ref(newer)
                return renewed
            return newer

    # The parts, for the engine's own modules: `memory` (the arena), `store` (expressions in it), `layout` (the
    # vocabulary in it), `kernels` (operations on tokens), `grammars` (rules of constraints), `symbols` (their records,
    # of this epoch), `known` (masks and numbers of states, of this epoch), `readers` (threads without the lock),
    # `outlived` (what it holds is older than what the other shared automaton holds, and will be forgotten).

    def __init__(
        self,
        vocabulary: Vocabulary,
        budget: int = DEFAULT_BUDGET,
        *,
        tokens: Mentioned = "none",
        limits: Limits = MASK_LIMITS,
    ) -> None:
        _check(vocabulary, budget, tokens, limits)
        if tokens != "none":
            vocabulary = Marked.of_vocabulary(vocabulary, tokens == "every")
        self.vocabulary = vocabulary  # marked if constraints may mention tokens
        self.layout = layout = VocabularyLayout.of(vocabulary)
        self._options = budget, limits
        budget = max(budget, 4 * layout.words.size + (1 << 20))
        # The whole budget is allocated at once: untouched pages cost nothing, and nothing is copied to grow.
        # PERF: growing H at a million records would take 40 ms in the middle of a mask. A record has 40 words in A.
        words, slots = budget // 4, 1 << (budget // 4 // 16).bit_length() - 1
        at_once = min(words, layout.words.size + layout.words.size // 2)
        self.memory = ArenaMemory(words, slots, budget, expander=self, at_once=at_once, limits=limits, one_by_one=False)
        self.kernels = token_kernels(layout)
        self.grammars = GrammarCache()
        self.readers = ReaderCount()
        self.number, self.epoch = next(_numbers), 0
        self.outlived = self._is_operating = False
        self.kept: dict[type, Any] = {}  # of later stages, freed with this
        self.store = Store(self.memory, layout)
        self._begin_epoch()
        watch_forks(self)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle what it was made with: the other one computes its states again."""
        return _made, (self.vocabulary, *self._options)

    def __copy__(self) -> TokenAutomaton:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> TokenAutomaton:
        return self  # made to be shared, as compiled constraints

    def after_fork(self) -> None:
        """Make the locks anew, in a child process, and forget what may be half made."""
        self.grammars.renew_lock()
        self.readers = ReaderCount()  # none of the parent goes on
        self._is_operating = False
        if self.memory.renew_lock():
            self.interrupted()

    @property
    def nearly_full(self) -> bool:
        """True if new constraints should have another automaton: the rest is for the texts under way."""
        fixed = self.layout.words.size
        return (
            not self.outlived and int(self.memory.A[HEADER.TOP]) - fixed > (self.memory.budget_words - fixed) * NEARLY
        )

    def _begin_epoch(self) -> None:
        """Put the vocabulary into an empty arena. From then on it is read without the lock."""
        self.symbols = SymbolTable(self.store, self.epoch)
        self.known = KnownStates(self.epoch)
        self.grammars.forget()
        self.layout.copy_into(self.store)
        self.memory.A[HEADER.EPOCH] = self.epoch + 1

    def flush(self) -> None:
        """Forget all states. Matchers compute theirs again when they are next used. The caller holds the lock."""
        self.memory.A[HEADER.EPOCH] = 0  # from here on nobody reads without the lock
        self.readers.wait()
        self.epoch += 1
        self.outlived = False
        self.store.reset()
        self._begin_epoch()

    def interrupted(self) -> None:
        """Forget all states before the next is made, since one may be half made."""
        self.memory.A[HEADER.EPOCH] = 0  # nothing is read without the lock, and `attempt` flushes
        self.epoch += 1  # matchers look again

    def attempt(self, operation: Callable[[], Result]) -> Result:
        """Run an operation under the lock. If memory runs out: flush, and run it again beyond the budget."""
        memory = self.memory
        with memory.lock:
            is_inner = self._is_operating
            if not memory.A[HEADER.EPOCH] or (self.outlived and not is_inner):
                self.flush()
            memory.begin()
            try:
                self._is_operating = True
                with AllOrNothing(self):
                    return self._operate(operation)
            except RecursionError:
                raise LimitError("a rule is nested too deeply", fix="use fewer levels, or a larger stack") from None
            finally:
                self._is_operating = is_inner

    def _operate(self, operation: Callable[[], Result]) -> Result:
        try:
            return operation()
        except Flush:
            self.flush()
            self.memory.may_exceed = True
            try:
                return operation()
            finally:
                self.memory.may_exceed = False

    def satisfy(self, stop: Exception) -> None:
        """Do what a stopped kernel needs; a lack of memory is left to `attempt`."""
        with suppress(Flush), AllOrNothing(self):
            self.memory.serve(stop)

    def expand(self) -> None:
        """Expand the nonterminals that stopped a kernel, and the ones that it will need next."""
        with nullcontext() if limited() else self.memory.limits.of("expanding rules"):
            expand_stopping(self.symbols)

    def start(self, rules: CompiledRules) -> int:
        """The configuration before the first byte of a text in some rules. The caller holds the lock."""
        rules.follow(self.epoch)
        return start_configuration(self.symbols, rules)


def _check(vocabulary: Any, budget: Any, tokens: Any, limits: Any) -> None:
    """Check the arguments of a TokenAutomaton. Raises ConstrainError."""
    wanted = [
        ("vocabulary", vocabulary, isinstance(vocabulary, Vocabulary), "pass a constrain.Vocabulary"),
        ("budget", budget, isinstance(budget, int) and 0 <= budget < MOST_BUDGET, "pass a number of bytes: 64 << 20"),
        ("tokens", tokens, isinstance(tokens, str) and tokens in get_args(Mentioned), "use one of "
         + ", ".join(map(repr, get_args(Mentioned)))),
        ("limits", limits, isinstance(limits, Limits), "pass constrain.Limits(seconds=...)"),
    ]  # fmt: skip
    for name, value, is_right, fix in wanted:
        if not is_right:
            raise ConstrainError(f"{name} of an automaton is {value!r:.60}", place=f"TokenAutomaton({name}=)", fix=fix)


def _made(vocabulary: Vocabulary, budget: int, limits: Limits) -> TokenAutomaton:
    return TokenAutomaton(vocabulary, budget, limits=limits)
