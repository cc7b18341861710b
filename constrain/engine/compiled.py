"""A constraint made ready for a vocabulary. Compiling is lazy: it costs the start of the grammar, the rest when
visited."""

from __future__ import annotations

from typing import Any

from constrain.constraints.base import Constraint
from constrain.engine.automaton import TokenAutomaton
from constrain.engine.matcher import Matcher
from constrain.errors import ConstrainError, UnsatisfiableError
from constrain.kernels.records import arena
from constrain.vocab.vocabulary import Vocabulary


class CompiledConstraint:
    """A constraint compiled for a vocabulary; immutable, shared between threads and requests.

    constraint, vocabulary: what it was compiled from. guard: what is asked where the grammar says so; most have none.
    report: one entry for each keyword of a schema — enforced, annotation or residual; empty for other constraints.
    """

    def __init__(self, constraint: Constraint, vocabulary: Vocabulary, automaton: TokenAutomaton) -> None:
        self.constraint = constraint
        self.vocabulary = vocabulary
        self.automaton = automaton
        self.rules = automaton.rules_of(constraint)
        self.guard = constraint.guard(vocabulary)
        self.always_guarded = self.guard is not None and self.guard.always
        self.known_start = (-1, 0)  # (epoch, configuration) as it was last found
        if automaton.attempt(self.start) == arena.NONE:
            raise UnsatisfiableError("no text fulfils the constraint", place=repr(constraint))

    @property
    def report(self) -> list[Any]:
        return self.constraint.report

    def start(self) -> int:
        """The configuration before the first byte, in the automaton's present epoch. The caller holds the lock."""
        epoch, configuration = self.known_start
        if epoch != self.automaton.epoch:
            configuration = self.automaton.start(self.rules)
            self.known_start = (self.automaton.epoch, configuration)
        return configuration

    def matcher(self) -> Matcher:
        """A matcher at the beginning of the text."""
        return Matcher(self)

    def __reduce__(self) -> tuple[Any, ...]:
        """By constraint and vocabulary. Its states are made again, in the automaton that the vocabulary shares."""
        return compile, (self.constraint, self.vocabulary)

    def __copy__(self) -> CompiledConstraint:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> CompiledConstraint:
        return self  # immutable, and made to be shared

    def __repr__(self) -> str:
        return f"CompiledConstraint({self.constraint!r}, {self.vocabulary!r})"


def compile(  # noqa: A001
    constraint: Constraint, vocabulary: Vocabulary, *, automaton: TokenAutomaton | None = None
) -> CompiledConstraint:
    """Compile a constraint for a vocabulary.

    automaton: where states are kept; by default the one shared by all constraints on the vocabulary (256 MiB at most).
        Give `TokenAutomaton(vocabulary, budget=...)` for a budget of its own.

    Raises UnsatisfiableError if no text fulfils the constraint, LimitError, and what the constraint raises.
    """
    if not isinstance(constraint, Constraint):
        raise ConstrainError(
            f"compile() takes a constraint, not {type(constraint).__name__}",
            fix="wrap it: constrain.json_schema(...), .regex(...), .grammar(...) or .choices([...])",
        )
    if not isinstance(vocabulary, Vocabulary):
        raise ConstrainError(
            f"compile() takes a Vocabulary, not {type(vocabulary).__name__}",
            fix="use constrain.Vocabulary.from_huggingface(tokenizer)",
        )
    return CompiledConstraint(constraint, vocabulary, automaton or TokenAutomaton.of(vocabulary))
