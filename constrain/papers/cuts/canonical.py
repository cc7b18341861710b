"""Masks of the tokens that the tokenizer itself would write: a compiled constraint, of which only those count.

The idea: a mask is that of the constraint, less the tokens that no canonical sequence goes on with
(`constrain.languages.cuts`), less those after which the constraint leaves no canonical completion. The last needs a
look-ahead: after `{` a schema may ask for `"`, and the tokenizer writes `{"` as one token. A token is kept as soon as
one byte may follow that joins no token before it, or the text may end; else its continuations are tried. What a token
leads to does not depend on the token before it, so kernels answer once for each state of the constraint and of the
pieces (papers/kernels/lookahead.py); what they leave open is tried here, token by token. Where the masks of a place
have one token, it is forced, so what is forced in bytes needs no forward.

Distribution: p conditioned on "a text of the language, and the tokens are as the tokenizer cuts it". Where the
language leaves only other writings (choices that begin in a token, a text that spells a special token), all tokens of
the constraint are allowed at that place, and `strays` finds it.

Does not pay: 82 of 100 calls end and 35 are right, of the default 91 and 39 (docs/how-good.md).

Cost: a look-up a token where the place is known; at a new place some 0.1 ms, most of it in Python (note 0040). Limit:
nothing is looked at after `DEPTH` tokens, where a completion counts as found. Where the language leaves nothing in the
end, the same rule allows all.
"""

from __future__ import annotations

import itertools
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from constrain.errors import VocabularyError
from constrain.kernels.cuts.steps import NO_TOKEN, only_token
from constrain.languages.cuts.added import Begun
from constrain.languages.cuts.canonical import DEAD, CanonicalTokens, CutState, canonical_tokens
from constrain.languages.vocab.bits import has_bit, has_bits, set_bits, tokens_of
from constrain.masks.derived.cuts import CompiledCuts, CutsMatcher
from constrain.masks.engine.matcher import Matcher
from constrain.masks.engine.rows import Row
from constrain.papers.cuts.following import Verdicts
from constrain.papers.cuts.lookahead import look_ahead, settle
from constrain.papers.cuts.rows import CanonicalRows
from constrain.papers.kernels.tokens_at import drop_tokens

FEW = 64  # tokens of a mask that are all looked ahead from, where kernels do not do it
DEPTH = 6  # tokens ahead
MOST = 1 << 16  # answers of the look-ahead that are remembered
NO, YES, GRANTED = 0, 1, 2

_numbers = itertools.count()


class CutMask(NamedTuple):
    """A mask. only: its one token, negative where there are more or none. stray: no canonical token was left."""

    row: Row
    only: int
    stray: bool


class CanonicalCuts(CompiledCuts):
    """A compiled constraint, of which only canonical tokens count. Use it as `constraint=`."""

    identity = "canonical"

    def __init__(self, compiled: Any, canonical: CanonicalTokens, eos_ids: tuple[int, ...] | None = None) -> None:
        super().__init__(compiled, canonical, eos_ids)
        self.rows = CanonicalRows.of(canonical, self.vocabulary)
        self.eos_row = np.zeros(self.vocabulary.words, np.uint32)
        set_bits(self.eos_row, self.eos_ids)
        self._number = next(_numbers)  # among the constraints whose places are remembered together
        self._viable: dict[Any, int] = {}

    def make_matcher(self, inner: Any) -> CanonicalMatcher:
        return CanonicalMatcher(self, inner, [self.canonical.start])

    def key(self, inner: Any, state: CutState | Begun) -> tuple[Any, ...]:
        return self._number, *super().key(inner, state)

    def place(self, inner: Any, state: CutState) -> CutMask:
        """The mask at a place: where a matcher of the constraint stands, and a state of the canonical tokens."""
        key = self.key(inner, state)
        known: CutMask | None = self.rows.places.get(key)
        if known is None:
            known = self.make_place(inner, state)
            known.row.flags.writeable = False
            self.rows.places.keep(key, known)
        return known

    def make_place(self, inner: Any, state: CutState) -> CutMask:
        """The mask at a place that is not remembered."""
        row = self.masked(inner)
        if state == DEAD:
            return CutMask(row, only_token(row), True)
        narrowed = row.copy()
        joined = self.rows.narrow(state, narrowed)
        for unlinked, some in self._parts(state, joined):
            refused = self._refused(inner, unlinked, row)
            drop_tokens(narrowed, refused if some is None else refused[has_bits(some, refused)])
        only = only_token(narrowed)
        if only != NO_TOKEN:
            return CutMask(narrowed, only, False)
        only = only_token(row)
        return CutMask(row, only, only != NO_TOKEN)

    def _parts(self, state: CutState, joined: bool) -> list[tuple[CutState, Row | None]]:
        """The states without the token before by which to look ahead from tokens, and which these are, if not all.

        joined: there are some before which a border has to come.
        """
        unlinked = self.canonical.unlinked(state)
        if not joined:
            return [(unlinked, None)]
        row = self.rows.joined(state)
        return [(unlinked, ~row), (self.canonical.unlinked(state, joined=True), row)]

    def _refused(self, inner: Any, state: CutState, row: Row) -> NDArray[np.int32]:
        """The tokens of a mask after which no canonical completion is left. state: nothing joins the token before."""
        key = self.key(inner, state)
        known: NDArray[np.int32] | None = self.rows.refused.get(key)
        if known is None:
            refused, unsure = self._asked(inner, state, row)
            after = {token: self._after(inner, state, token, DEPTH) for token in unsure.tolist()}
            place = self.canonical.place(state)
            granted = [token for token, viable in after.items() if viable == GRANTED]
            if granted and place is not None:
                settle(inner, granted, place)
            known = np.append(refused, np.array([token for token in after if after[token] == NO], np.int32))
            self.rows.refused.keep(key, known)
        return known

    def _asked(self, inner: Any, state: CutState, row: Row) -> Verdicts:
        """The tokens of a mask after which no canonical completion is left, and those of which kernels do not know."""
        cut = self.rows.row(state)
        row = row & cut & ~self.eos_row
        place = self.canonical.place(state)
        guarded = self.checks or self.guards
        known = None if place is None else look_ahead(inner, row, cut, self.rows.following, place, guarded)
        if known is not None:
            return known
        unsure = tokens_of(row) if _count(row) <= FEW else ()
        return Verdicts(np.zeros(0, np.int32), np.array(unsure, np.int32))

    def _after(self, inner: Any, state: CutState, token: int, depth: int) -> int:
        """NO, YES or GRANTED, after one more token."""
        inner.advance(token)
        try:
            return self._is_viable(inner, self.canonical.step(state, token), depth)
        finally:
            inner.rollback(1)

    def _is_viable(self, inner: Any, state: CutState, depth: int) -> int:
        """NO, YES, or GRANTED, since nothing is looked at further on: there is a canonical completion from here."""
        if state == DEAD:
            return NO
        if inner.is_accepting() and self.canonical.may_end(state):
            return YES
        if isinstance(inner, Matcher) and inner.any_byte(self.rows.loose(state)):
            return YES
        if depth == 0:
            return GRANTED
        key = self.key(inner, state)
        known = self._viable.get(key)
        if known is None:
            known = self._goes_on(inner, state, depth - 1)
            if len(self._viable) > MOST:
                self._viable.clear()
            self._viable[key] = known
        return known

    def _goes_on(self, inner: Any, state: CutState, depth: int) -> int:
        """The number that `_is_viable` gives, by the tokens that may come next."""
        row = self.masked(inner) & ~self.eos_row
        joined = self.rows.narrow(state, row)
        doubtful = []
        for unlinked, part in self._parts(state, joined):
            some = row if part is None else row & part
            refused, unsure = self._asked(inner, unlinked, some)
            drop_tokens(some, refused)
            drop_tokens(some, unsure)
            if some.any():
                return YES
            doubtful += [(unlinked, token) for token in unsure.tolist()]
        answers = (self._after(inner, unlinked, token, depth) for unlinked, token in doubtful)
        return next(filter(None, answers), NO)


def canonical(compiled: Any, tokenizer: Any) -> CanonicalCuts:
    """A compiled constraint of which only canonical tokens count: the tokenizer itself writes them for the text.

    `generate`, the processors and the backends do this by themselves; the function is for loops of your own.

    Args:
        compiled: of `constrain.compile`.
        tokenizer: of transformers, or a `tokenizers.Tokenizer`, that the constraint's vocabulary was made of.

    Returns:
        What `generate(constraint=...)` and `ConstraintProcessor` take.

    Raises:
        VocabularyError: the tokenizer cuts texts in a way that is not understood exactly.

    Source:
        Vieira et al. 2025, "Language models over canonical byte-pair encodings".

    Example:
        >>> import constrain
        >>> from constrain.sampling import canonical
        >>> ref = constrain.reference.load()
        >>> vocabulary = constrain.Vocabulary.from_huggingface(ref.tokenizer)
        >>> compiled = constrain.compile(constrain.regex("red|green"), vocabulary)
        >>> g = constrain.generate(ref, "A colour: ", constraint=canonical(compiled, ref.tokenizer), seed=1)
        >>> g.tokens[:-1] == ref.tokenizer(g.text)["input_ids"]
        True
    """
    tokens = canonical_tokens(tokenizer, compiled.vocabulary)
    if isinstance(tokens, str):
        raise VocabularyError(tokens, fix="decode over all tokens that spell a text: leave canonical out")
    return CanonicalCuts.of(compiled, tokens)


class CanonicalMatcher(CutsMatcher):
    """One sequence under a `CanonicalCuts`."""

    __slots__ = ()

    layer = "canonical tokens"
    constraint: CanonicalCuts
    states: list[CutState]

    def cut(self) -> CutState:
        return self.states[-1]

    def _here(self) -> CutMask:
        return self.constraint.place(self.inner, self.cut())

    def only(self) -> int:
        return self._here().only

    def mask(self) -> Row:
        return self._here().row

    def fill_mask(self, row: Row) -> None:
        known = self._here().row
        words = row.view(np.uint32)
        words[: len(known)] = known
        words[len(known) :] = 0

    def allows(self, token_id: int) -> bool:
        """True if the mask allows the token."""
        return has_bit(self._here().row, token_id)

    def advance(self, token_id: int) -> bool:
        place = self._here()
        if not has_bit(place.row, token_id) or not self.inner.advance(token_id):
            return False
        go_on = self.constraint.canonical.stray if place.stray else self.constraint.canonical.after
        self.states.append(go_on(self.states[-1], token_id))
        return True

    def is_accepting(self) -> bool:
        """The text is a member, and its tokens are canonical, or no canonical ones can follow."""
        return bool(self.inner.is_accepting()) and bool((self._here().row & self.constraint.eos_row).any())

    def is_finished(self) -> bool:
        if self.ended:
            return True
        row, ends = self._here().row, self.constraint.eos_row
        return bool((row & ends).any()) and not (row & ~ends).any()

    def because(self, token_id: int) -> str:
        return "the tokenizer itself would not write it at this place of the text"

    def fork(self) -> CanonicalMatcher:
        return CanonicalMatcher(self.constraint, self.inner.fork(), list(self.states))


def _count(row: Row) -> int:
    """The number of tokens of a row, and more than `FEW` where there are more."""
    words = row[row != 0]
    return len(words) if len(words) > FEW else int(np.unpackbits(words.view(np.uint8)).sum())
