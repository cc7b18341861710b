"""`constrain.between`: what may stand between two texts, so that the whole is a member. For filling in the middle.

    middle = constrain.between(constraint, prefix="[1, ", suffix="]}")
    constrain.generate(model, prompt, constraint=middle)

The idea: the two texts are taken off the language (quotient.py), and what is left is a constraint like any other: masks
are exact, lexemes may run over both junctions, and the length of the texts does not enter its cost.

The guard of the constraint (repeated keys and items) reads the prefix first, and then vetoes as it does elsewhere. What
masks do not tell is checked on the whole text before a result is returned: residues of a schema, what the suffix
repeats, and maximal munch (`lexer="greedy"`): masks then allow what some way to cut the text into terminals allows,
where words are whole if the constraint says so (grammar_text/words.py).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from constrain.automata import quotient as regular
from constrain.automata.syntax import Node
from constrain.cfg.rules import Grammar, Nonterminal
from constrain.cfg.transform.analysis import empty_node
from constrain.constraints.base import Constraint
from constrain.constraints.report import Entry
from constrain.derived.members import is_member
from constrain.derived.quotient import left_quotient, right_quotient
from constrain.errors import ConstrainError
from constrain.guards import Guard
from constrain.guards.prefixed import AfterPrefix
from constrain.vocab.vocabulary import Vocabulary


@dataclass(frozen=True)
class Between(Constraint):
    """Texts w such that prefix + w + suffix is a member of `inner`; make one with `between`."""

    inner: Constraint
    prefix: str
    suffix: str

    @cached_property
    def node(self) -> Node | None:
        """The language, if that of the inner constraint is known to be regular."""
        whole = self.inner.node
        if whole is None:
            return None
        return regular.right_quotient(regular.left_quotient(whole, self.prefix), self.suffix)

    def _build(self) -> Grammar:
        if self.node is not None and not empty_node(self.node):
            return super()._build()
        rest = self.inner.as_dynamic()  # also for a regular language that is empty: to name the place
        rest = left_quotient(rest, self.prefix) if self.prefix else rest
        rest = right_quotient(rest, self.suffix) if self.suffix else rest
        if not self.inner.guarded:
            return rest
        # What is left of a rule does not say where it is watched. The start is not right-recursive: it is begun once.
        return Grammar(Nonterminal("start", lambda: [[rest.start]]), watched=True)

    @property
    def _is_greedy(self) -> bool:
        return self.inner.node is None and self.inner.to_grammar().lexer == "greedy"

    @property
    def residual(self) -> bool:
        """Whether a finished text counts only if it passes `check`."""
        return self.inner.residual or self.inner.guarded or self._is_greedy

    @property
    def guarded(self) -> bool:
        """Whether the inner constraint has a guard."""
        return self.inner.guarded

    def guard(self, vocabulary: Vocabulary) -> Guard | None:
        """The guard of the inner constraint, which has read the prefix."""
        guard = self.inner.guard(vocabulary)
        return guard if guard is None or not self.prefix else AfterPrefix(guard, self.prefix.encode())

    def check(self, text: str) -> str | None:
        """What is wrong with the whole, the two texts included."""
        whole = self.prefix + text + self.suffix
        if self._is_greedy and not is_member(self.inner, whole):
            return "with the prefix and the suffix around it, the longest terminals do not make a member"
        return self.inner.check(whole)

    @property
    def report(self) -> list[Any]:
        """The entries of the inner constraint, and what is checked afterwards."""
        found = list(self.inner.report)
        if self._is_greedy:
            found.append(Entry("(lexer)", "$", "residual", "longest terminals are checked on the whole text"))
        if self.inner.guarded:
            found.append(Entry("(guard)", "$", "residual", "what the suffix repeats is checked on the whole text"))
        return found

    def __getattr__(self, name: str) -> Any:
        if name == "parse":  # only where the inner constraint has values: the value of the whole
            parse = self.inner.parse  # type: ignore[attr-defined]
            return lambda text: parse(self.prefix + text + self.suffix)
        raise AttributeError(name)

    def __repr__(self) -> str:
        return f"between({self.inner!r}, prefix={_shown(self.prefix)}, suffix={_shown(self.suffix)})"


def between(constraint: Constraint, *, prefix: str = "", suffix: str = "") -> Constraint:
    """The texts w such that prefix + w + suffix is a member of the constraint.

    Raises UnsatisfiableError if no member begins with the prefix, ends with the suffix, or fits between them, with the
    place; LimitError for what cannot be cut (numbers under `multipleOf`).
    """
    if not isinstance(constraint, Constraint):
        raise ConstrainError(
            f"between() takes a constraint, not {type(constraint).__name__}",
            fix="wrap it: constrain.json_schema(...), .regex(...), .grammar(...) or .choices([...])",
        )
    for name, text in (("prefix", prefix), ("suffix", suffix)):
        if not isinstance(text, str):
            raise ConstrainError(f"{name} is a str, not {type(text).__name__}: {text!r:.60}", fix="decode it")
        if any("\ud800" <= character <= "\udfff" for character in text):
            raise ConstrainError(f"{name} has a lone surrogate: {text!r:.60}", fix="it is not text: remove it")
    if not prefix and not suffix:
        return constraint
    found = Between(constraint, prefix, suffix)
    found.to_grammar()  # read now: a fault belongs to this line, not to a later one
    return found


def _shown(text: str) -> str:
    return repr(text) if len(text) <= 30 else repr(text[:30])[:-1] + "...'"
