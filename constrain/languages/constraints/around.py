"""`Around`: the base class of constraints with some of the texts of another one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from constrain.languages.automata.syntax import Ranges, Tokens
from constrain.languages.constraints.base import Constraint
from constrain.languages.guards import Guard
from constrain.languages.vocab.vocabulary import Vocabulary
from constrain.lazily import lazily


class Around(Constraint):
    """A constraint around another one, `inner`: what it does not say of its texts is as that one says it."""

    inner: Constraint

    @property
    def members(self) -> tuple[Constraint, ...]:
        return (self.inner,)

    @lazily
    def outlined(self) -> bool:
        return self.inner.outlined

    @lazily
    def monitored(self) -> bool:
        return self.inner.monitored

    @lazily
    def token_sets(self) -> tuple[Tokens, ...]:
        return self.inner.token_sets

    @lazily
    def residual(self) -> bool:
        return self.inner.residual

    def residual_fault(self, text: str) -> str | None:
        return self.inner.residual_fault(text)

    @lazily
    def guarded(self) -> bool:
        return self.inner.guarded

    def guard(self, vocabulary: Vocabulary) -> Guard | None:
        return self.inner.guard(vocabulary)

    @lazily
    def captured(self) -> bool:
        return self.inner.captured

    def capture_spans(self, text: bytes, spans: Mapping[Tokens, Ranges]) -> list[tuple[str, int, int]]:
        return self.inner.capture_spans(text, spans)

    @lazily
    def valued(self) -> bool:
        return self.inner.valued

    def parse(self, text: str) -> Any:
        """The value of the text by the other constraint."""
        return self.inner.parse(text)
