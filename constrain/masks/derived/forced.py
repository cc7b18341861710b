"""Masks with the tokenizer's own cut where the text is forced, and all tokens where the model has a choice.

The idea: where the constraint says which bytes follow, the model chooses nothing but how they are cut, and a cut that
it never saw misleads it (`<tool_call>` as `< t oo l`); there the token is the canonical one, and needs no forward.
Where the text is open a cut is part of the choice: a model that ends a string writes `"}` and then `}`, though its
tokenizer joins all three, and if only the joined token counts, the string goes on (note 0041).

Distribution: p conditioned on "a text of the language, and where one token alone is canonical for bytes that must
follow, it is that token".

Cost: a look-up more than the constraint's own matcher, which answers where the text is open. How its tokens change what
is canonical is computed when the next forced text is met.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from constrain.kernels.cuts.rows import only_token
from constrain.languages.cuts.canonical import CutState
from constrain.languages.cuts.forced import NO_TOKENS, Firsts
from constrain.languages.vocab.bits import has_bit, has_bits, set_bits
from constrain.masks.derived.canonical import CanonicalConstraint, CanonicalMatcher, CutMask
from constrain.masks.engine import fill_masks
from constrain.masks.engine.rows import Row

LEAST = 2  # bytes: one alone is one token, or one of the twins that a vocabulary with byte tokens has
MOST = 16  # bytes by which the first token is decided
MANY = 1 << 16  # places of which is known what is forced
NONE_FIRST = Firsts([], NO_TOKENS)


class Forced(NamedTuple):
    """Bytes that must follow, at most `MOST`; none where they are fewer than two: the place is open.

    is_end: nothing may follow them
    """

    text: bytes
    is_end: bool


OPEN = Forced(b"", False)


class ForcedConstraint(CanonicalConstraint):
    """A compiled constraint whose forced texts are cut as the tokenizer cuts them. Use it as `constraint=`."""

    identity = "forced"

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self._forced: dict[Any, Forced] = {}

    def make_matcher(self, inner: Any) -> ForcedMatcher:
        return ForcedMatcher(self, inner, [self.canonical.start])

    def forced(self, inner: Any) -> Forced:
        """The bytes that must follow. inner: a matcher of the constraint"""
        key = self._key(inner)
        known = self._forced.get(key)
        if known is None:
            known = _forced(inner)
            self._note(key, known)
        return known

    def follows(self, inner: Any, before: Forced, token: int) -> None:
        """Note what is forced after a token of a forced text. inner: a matcher that has read it"""
        length = len(self.vocabulary.tokens[token] or b"")
        if length <= len(before.text) < MOST:
            text = before.text[length:]
            self._note(self._key(inner), Forced(text, before.is_end) if len(text) >= LEAST else OPEN)

    def _note(self, key: Any, forced: Forced) -> None:
        if len(self._forced) > MANY:
            self._forced.clear()
        self._forced[key] = forced

    def _key(self, inner: Any) -> Any:
        return self.key(inner, self.canonical.start) if self.checks or self.guards else inner.state

    def make_place(self, inner: Any, state: CutState) -> CutMask:
        """The mask at a place that is not remembered.

        A token that goes on beyond the forced text is a choice of the model, if it may come next.
        """
        text, is_end = self.forced(inner)
        within, beyond = self.canonical.forced.firsts(state, text, is_end=is_end) if text else NONE_FIRST
        if len(within) == 1 and not beyond.size and inner.allows(within[0]):
            row = np.zeros(self.vocabulary.words, np.uint32)
            set_bits(row, within)
            return CutMask(row, within[0], False)
        row = self.masked(inner)
        firsts = [token for token in within if has_bit(row, token)] + beyond[has_bits(row, beyond)].tolist()
        if len(firsts) == 1:
            row[:] = 0
            set_bits(row, firsts)
        return CutMask(row, only_token(row), False)


def _forced(inner: Any) -> Forced:
    text = inner.forced_bytes(MOST) if hasattr(inner, "forced_bytes") else b""
    if len(text) < LEAST:
        return OPEN
    after = inner.fork()
    return Forced(text, after.advance_bytes(text) and after.is_accepting() and after.is_finished())


class ForcedMatcher(CanonicalMatcher):
    """One sequence under a `ForcedConstraint`.

    unread: the last tokens, which `states` does not know yet. is_here_open: what `is_open` said, if it was asked
    """

    __slots__ = ("is_here_open", "unread")
    constraint: ForcedConstraint

    def __init__(self, constraint: ForcedConstraint, inner: Any, states: list[CutState]) -> None:
        super().__init__(constraint, inner, states)
        self.unread: list[int] = []
        self.is_here_open: bool | None = None

    def is_open(self) -> bool:
        """True where the masks are those of the constraint's own matcher."""
        known = self.is_here_open
        if known is None:
            known = self.is_here_open = not self.constraint.forced(self.inner).text
        return known

    def cut(self) -> CutState:
        for token in self.unread:
            self.states.append(self.constraint.canonical.after(self.states[-1], token))
        self.unread.clear()
        return self.states[-1]

    def fill_mask(self, row: Row) -> None:
        if self.is_here_open or self.is_open():
            self.inner.fill_mask(row)
        else:
            super().fill_mask(row)

    def allows(self, token_id: int) -> bool:
        return bool(self.inner.allows(token_id)) if self.is_open() else super().allows(token_id)

    def advance(self, token_id: int) -> bool:
        is_read: bool
        if self.is_open():
            is_read = self.inner.advance(token_id)
            if is_read:
                self.unread.append(token_id)
        else:
            forced = self.constraint.forced(self.inner)
            is_read = super().advance(token_id)
            if is_read:
                self.constraint.follows(self.inner, forced, token_id)
        if is_read:
            self.is_here_open = None
        return is_read

    def is_accepting(self) -> bool:
        return bool(self.inner.is_accepting())

    def is_finished(self) -> bool:
        return bool(self.inner.is_finished())

    def rollback(self, n_tokens: int) -> None:
        self.inner.rollback(n_tokens)
        self.is_here_open = None
        known = max(n_tokens - len(self.unread), 0)  # of `states`
        del self.unread[len(self.unread) - (n_tokens - known) :]
        del self.states[len(self.states) - known :]

    def fork(self) -> ForcedMatcher:
        copy = ForcedMatcher(self.constraint, self.inner.fork(), list(self.states))
        copy.unread, copy.is_here_open = list(self.unread), self.is_here_open
        return copy


def fill_forced(matchers: Sequence[ForcedMatcher], out: np.ndarray) -> None:
    """The masks of a batch, those of open places in one call; out as for `fill_masks`, a row a matcher."""
    rows = [number for number, matcher in enumerate(matchers) if matcher.is_open()]
    fill_masks([matchers[row].inner for row in rows], out, rows=rows)
    for number in set(range(len(matchers))).difference(rows):
        matchers[number].fill_mask(out[number])
