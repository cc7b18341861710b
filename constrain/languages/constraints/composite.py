"""The base class of constraints that are made of rules with other constraints as parts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from constrain.languages.automata.syntax import Node, Ranges, Tokens, token_sets
from constrain.languages.cfg.build import GrammarReading
from constrain.languages.cfg.ebnf import Part, Sequence, parts_of, terminals_of
from constrain.languages.cfg.followed import FollowedRule
from constrain.languages.cfg.rules import Grammar
from constrain.languages.cfg.transform.fold import to_node
from constrain.languages.constraints.base import Constraint
from constrain.languages.constraints.parts import Branch, branches, guard_apart, guard_of, is_prefix_free
from constrain.languages.guards import Guard
from constrain.languages.vocab.vocabulary import Vocabulary
from constrain.lazily import later, lazily

_chart = later("constrain.languages.cfg.transform.chart")


class Composite(Constraint):
    """Base class of constraints that are made of rules, which may have other constraints as parts (`parts.py`).

    Subclasses define `reading`.
    """

    composite = True

    @property
    def reading(self) -> GrammarReading:
        """The rules as read."""
        raise NotImplementedError

    def _build(self) -> Grammar:
        grammar = self.reading.grammar
        return replace(grammar, watched=True) if self.outlined else grammar

    @lazily
    def members(self) -> tuple[Constraint, ...]:
        """The parts that are constraints of their own, and not regular."""
        return parts_of(self.reading.rules.values())

    @lazily
    def outlined(self) -> bool:
        """True if some part is read apart."""
        return any(part.read_apart for part in self.members)

    @lazily
    def captured(self) -> bool:
        return bool(self.reading.captures) or any(part.captured for part in self.members)

    def capture_spans(self, text: bytes, spans: Mapping[Tokens, Ranges]) -> list[tuple[str, int, int]]:
        from constrain.languages.cfg.transform.captures import capture_spans

        plain = dict(spans)  # the places of tokens are those in the whole text
        return capture_spans(self.reading, text, spans, lambda part, inner: part.capture_spans(inner, plain))

    @lazily
    def token_sets(self) -> tuple[Tokens, ...]:
        found: dict[Tokens, None] = {}
        for part in self.members:
            found |= dict.fromkeys(part.token_sets)
        for node in dict.fromkeys(terminal.node for terminal in terminals_of(self.reading.rules.values())):
            found |= dict.fromkeys(token_sets(node))
        return tuple(found)

    @lazily
    def followed(self) -> tuple[FollowedRule, ...]:
        return tuple(self.reading.followed.values())

    @lazily
    def bracketed(self) -> Grammar | None:
        return self.reading.bracketed

    @lazily
    def counts_tokens(self) -> bool:
        return bool(self.reading.followed)

    @lazily
    def _branches(self) -> list[Branch] | None:
        guarded = any(part.guarded for part in self.members)
        return branches(self.reading.rules, self.reading.start) if guarded else None

    @lazily
    def _guarded_tail(self) -> tuple[Node, Constraint] | None:
        """(regular language, guarded part after it) if the text tells where it begins: no member begins another."""
        whole = self.reading.rules.get(self.reading.start)
        if self._branches is not None or not isinstance(whole, Sequence) or not whole.parts:
            return None
        if not isinstance(whole.parts[-1], Part):
            return None
        part = whole.parts[-1].constraint
        before = to_node({"before": Sequence(whole.parts[:-1])}, "before") if part.guarded else None
        return (before, part) if before is not None and is_prefix_free(before) else None

    @lazily
    def residual(self) -> bool:
        """True if some part has a check, or has a guard and may begin at a place that no fixed text determines."""
        return any(part.residual or (part.guarded and not self.guarded) for part in self.members)

    @lazily
    def guarded(self) -> bool:
        """True if the text determines where each guarded part begins."""
        return self.outlined or self._branches is not None or self._guarded_tail is not None

    def guard(self, vocabulary: Vocabulary) -> Guard | None:
        """The guard that follows the text into the part where it leads."""
        if self.outlined:
            return guard_apart(self, vocabulary)
        if self._branches is not None:
            return guard_of(self._branches, vocabulary)
        if self._guarded_tail is None:
            return None
        from constrain.languages.guards.prefixed import Prefixed

        before, part = self._guarded_tail
        guard = part.guard(vocabulary)
        return None if guard is None else Prefixed([(before, guard)], vocabulary)

    def residual_fault(self, text: str) -> str | None:
        """None if some derivation of the text passes the checks of all its parts, else one sentence."""
        if self.outlined and not self.residual and not self.token_sets:  # the guard knows all texts, and is faster
            return self.part_fault(text)
        return _chart.check_finished(self.to_grammar(), text) if self._checked else None

    def residual_fault_marked(self, text: bytes, spans: Mapping[Tokens, Ranges]) -> str | None:
        return _chart.check_finished(self.to_grammar(), text, spans) if self._checked else None

    @lazily
    def _checked(self) -> bool:
        """True if a finished text may have a fault."""
        return self.outlined or any(part.residual or part.guarded for part in self.members)
