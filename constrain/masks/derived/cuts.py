"""A compiled constraint of which not all tokens count that spell its texts, by the cuts of the tokenizer.

The idea: the constraint's own matcher says what the text may be, and a state of the canonical tokens
(`constrain.languages.cuts`) which tokens write it as the tokenizer does. Which tokens count is said by a subclass:
`ForcedCuts` (forced.py) where the text is forced, `CanonicalCuts` (papers/cuts) everywhere.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from typing import Any, ClassVar

import numpy as np
from typing_extensions import Self

from constrain.languages.constraints.base import constraint_of
from constrain.languages.cuts.added import Begun
from constrain.languages.cuts.canonical import CanonicalTokens, CutState
from constrain.languages.vocab.longest import LongestTokens
from constrain.lazily import Remembered, lazily
from constrain.masks.engine.compiled import CompiledConstraint
from constrain.masks.engine.narrowed import Narrowed, engine_of
from constrain.masks.engine.rows import Row

ENDINGS = 8  # sets of ids that end a text, other than the vocabulary's, whose masks are remembered for a constraint


class CompiledCuts:
    """A compiled constraint, of which not all tokens count. Use it as `constraint=`.

    eos_ids: the ids that end a text; None: the vocabulary's
    """

    identity: ClassVar[str]  # of what counts, in keys and in what is said of it

    def __init__(self, compiled: Any, canonical: CanonicalTokens, eos_ids: tuple[int, ...] | None = None) -> None:
        self.compiled = compiled
        self.canonical = canonical
        self.vocabulary = compiled.vocabulary
        self.constraint = constraint_of(compiled)
        self.eos_ids = self.vocabulary.eos_ids if eos_ids is None else eos_ids
        # Checks of whole texts, and guards that are always asked, tell texts apart that have one state.
        self.checks = self.constraint is not None and self.constraint.residual
        self.guards = isinstance(compiled, CompiledConstraint) and compiled.always_guarded

    @lazily
    def _ended_by(self) -> Remembered[tuple[int, ...], Self]:
        return Remembered(ENDINGS)

    @classmethod
    def of(cls, compiled: Any, canonical: CanonicalTokens) -> Self:
        """The one of a compiled constraint, which keeps it: its masks are known in the next call, too."""
        known: Self | None = compiled.derived.get((cls, canonical))
        return known or compiled.derived.setdefault((cls, canonical), cls(compiled, canonical))

    def matcher(self, inner: Any = None, *, eos_ids: Iterable[int] | None = None) -> Any:
        """A matcher at the beginning of the text.

        inner: a matcher of the constraint there, in another shape. eos_ids: the ids that end this text, instead of the
        vocabulary's. If one of them is text, it is a matcher of the constraint itself: a text whose own cut has that
        token can only be written in another one.
        """
        ends = self.eos_ids if eos_ids is None else tuple(sorted(set(eos_ids)))
        if ends == self.eos_ids:
            return self.make_matcher(self.compiled.matcher() if inner is None else inner)
        inner = self.compiled.matcher(eos_ids=ends)
        return inner if any(self.vocabulary.tokens[end] for end in ends) else self._ending(ends).matcher(inner)

    def make_matcher(self, inner: Any) -> CutsMatcher:
        """A matcher at the beginning of the text. inner: that of the constraint."""
        raise NotImplementedError

    def _ending(self, eos_ids: tuple[int, ...]) -> Self:
        """These masks for texts that other ids end."""
        known = self._ended_by.get(eos_ids) or type(self)(self.compiled, self.canonical, eos_ids)
        return self._ended_by.keep(eos_ids, known)

    def key(self, inner: Any, state: CutState | Begun) -> tuple[Any, ...]:
        """A key for what may follow: of a matcher of the constraint, and of the canonical tokens."""
        if not self.checks and not self.guards:
            return inner.state, state
        engine = engine_of(inner)
        return inner.state, state, inner.is_accepting(), engine and self.guards and engine.guard_state()

    def masked(self, inner: Any) -> Row:
        """The mask of the constraint itself."""
        row = np.zeros(self.vocabulary.words, np.uint32)
        inner.fill_mask(row)
        return row

    def strays(self, tokens: Sequence[int]) -> list[int]:
        """The places of a sequence at which the tokenizer writes another token; its length where it may not end."""
        return self.canonical.strays(tokens)


class CutsMatcher(Narrowed):
    """One sequence under a `CompiledCuts`. A subclass says `cut`, `mask`, `only`, `fill_mask`, `advance` and `fork`.

    states: those of the canonical tokens, before each token and after the last
    """

    __slots__ = ("constraint", "states")

    def __init__(self, constraint: Any, inner: Any, states: list[Any]) -> None:
        super().__init__(inner)
        self.constraint = constraint
        self.states = states

    @property
    def state(self) -> tuple[Any, CutState]:
        """Equal states allow the same continuations."""
        return self.inner.state, self.cut()

    def cut(self) -> CutState:
        """The state of the canonical tokens."""
        raise NotImplementedError

    def only(self) -> int:
        """The one token that may come next; negative where there are more or none."""
        raise NotImplementedError

    def read_text(self, text: bytes, most: int = 1 << 16) -> list[int]:
        """Read tokens that spell a text, at each place the longest that may come next (`LongestTokens.read`)."""
        return [*itertools.islice(LongestTokens.of(self.constraint.vocabulary).read(self, text), most)]

    def forced_tokens(self) -> list[int]:
        """The tokens that must follow: one is allowed at each position, and it is no EOS."""
        forced: list[int] = []
        try:
            while (only := self.only()) >= 0 and only not in self.constraint.eos_ids:
                if not self.advance(only):
                    break
                forced.append(only)
        finally:
            if forced:
                self.rollback(len(forced))
        return forced

    def longest_forced(self) -> int:
        """The longest token that may come next of the bytes that must follow; -1: there is none."""
        read = self.fork().read_text(self.inner.forced_bytes(), 1)
        return read[0] if read else -1

    def forced_text(self) -> bytes:
        """The bytes of the tokens that must follow, up to the last place where the text so far has its own cut."""
        canonical, state = self.constraint.canonical, self.cut()
        text = settled = b""
        for token in self.forced_tokens():
            state, text = canonical.step(state, token), text + (self.constraint.vocabulary.tokens[token] or b"")
            settled = text if canonical.may_end(state) else settled
        return settled

    def rollback(self, n_tokens: int) -> None:
        """Take back the last n tokens."""
        self.inner.rollback(n_tokens)
        del self.states[len(self.states) - n_tokens :]
