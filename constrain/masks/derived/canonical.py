"""Masks of the tokens that the tokenizer itself would write: a compiled constraint, of which only those count.

The idea: a mask is that of the constraint, less the tokens that no canonical sequence goes on with
(`constrain.languages.cuts`), less those after which the constraint leaves no canonical completion. The last needs a
look ahead: after `{` a schema may ask for `"`, and the tokenizer writes `{"` as one token. A token is kept as soon as
one byte may follow that joins no token before it, or the text may end; else its continuations are tried, token by
token, up to the next such byte. Where the masks of a place have one token, it is forced, so what is forced in bytes
needs no forward.

Distribution: p conditioned on "a text of the language, and the tokens are as the tokenizer cuts it". Where the
language leaves only other writings (choices that begin in a token, a text that spells a special token), all tokens of
the constraint are allowed at that place, and `strays` finds it.

Cost: a look-up a token where the place is known. A new place costs a bitmask row of the last token and a look ahead for
the tokens that may end a lexeme. Limit: a place with more than `FEW` tokens counts as one that goes on, and nothing
is looked at after `DEPTH` tokens. Where the language
leaves nothing in the end, the same rule allows all.
"""

from __future__ import annotations

import weakref
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from constrain.errors import VocabularyError
from constrain.languages.cuts.canonical import DEAD, CanonicalTokens
from constrain.languages.vocab.bits import clear_bits, has_bit, set_bits, tokens_of
from constrain.languages.vocab.vocabulary import Vocabulary
from constrain.masks.engine.matcher import engine_of
from constrain.masks.engine.rows import Row

FEW = 64  # tokens of a mask that are all looked ahead from
DEPTH = 12  # tokens ahead
NO, YES, GRANTED = 0, 1, 2
MEMORY = 32 << 20  # bytes of masks that are remembered

_known: weakref.WeakKeyDictionary[Vocabulary, CanonicalTokens | str] = weakref.WeakKeyDictionary()


class _Place(NamedTuple):
    """A mask. only: its one token, -1 where there are more or none. stray: no canonical token was left."""

    row: Row
    only: int
    stray: bool


class CanonicalConstraint:
    """A compiled constraint, of which only canonical tokens count. Use it as `constraint=`."""

    identity = "canonical"

    def __init__(self, compiled: Any, canonical: CanonicalTokens) -> None:
        self.compiled = compiled
        self.canonical = canonical
        self.vocabulary = compiled.vocabulary
        self.constraint = getattr(compiled, "constraint", None)
        self.eos_row = np.zeros(self.vocabulary.words, np.uint32)
        set_bits(self.eos_row, self.vocabulary.eos_ids)
        self.places: OrderedDict[Any, _Place] = OrderedDict()
        self._kept = max(16, MEMORY // (4 * self.vocabulary.words))
        self._viable: dict[Any, int] = {}
        # Checks of whole texts, and guards that are always asked, tell texts apart that have one state.
        self.checks = bool(getattr(self.constraint, "residual", None))
        self.guards = bool(getattr(compiled, "always_guarded", False))

    @classmethod
    def of(cls, compiled: Any, canonical: CanonicalTokens) -> CanonicalConstraint:
        """The one of a compiled constraint, which keeps it: its masks are known in the next call, too."""
        known: CanonicalConstraint | None = compiled.derived.get(canonical)
        return known or compiled.derived.setdefault(canonical, cls(compiled, canonical))

    def matcher(self, inner: Any = None) -> CanonicalMatcher:
        """A matcher at the beginning of the text. inner: a matcher of the constraint there, in another shape."""
        return CanonicalMatcher(self, self.compiled.matcher() if inner is None else inner, [self.canonical.start])

    def key(self, inner: Any, state: int) -> Any:
        """A key for what may follow: of a matcher of the constraint, and a state of the canonical tokens."""
        if not self.checks and not self.guards:
            return inner.state, state
        engine = engine_of(inner)
        return inner.state, state, inner.is_accepting(), engine and self.guards and engine.guard_state()

    def place(self, key: Any, inner: Any, state: int) -> _Place:
        """The mask at a place: key tells the constraint's state and that of the canonical tokens."""
        place = self._place(inner, state)
        place.row.flags.writeable = False
        self.places[key] = place
        if len(self.places) > self._kept:
            self.places.popitem(last=False)
        return place

    def _place(self, inner: Any, state: int) -> _Place:
        row = self._masked(inner)
        if state == DEAD:
            return _Place(row, _only(row), True)
        narrowed = row & self.canonical.row(state)
        if not self.canonical.may_end(state):
            narrowed &= ~self.eos_row
        granted = []
        for token in self._doubtful(inner, state, narrowed):
            inner.advance(token)
            viable = self._is_viable(inner, self.canonical.step(state, token), DEPTH)
            inner.rollback(1)
            if viable == NO:
                clear_bits(narrowed, (token,))
            elif viable == GRANTED:
                granted.append(token)
        if granted and hasattr(inner, "dispel_doubts"):
            inner.dispel_doubts(granted, self.canonical.apart_after(state))
        if narrowed.any():
            return _Place(narrowed, _only(narrowed), False)
        return _Place(row, _only(row), bool(row.any()))

    def _masked(self, inner: Any) -> Row:
        row = np.zeros(self.vocabulary.words, np.uint32)
        inner.fill_mask(row)
        return row

    def _doubtful(self, inner: Any, state: int, row: Row) -> list[int]:
        """The allowed tokens after which the constraint may leave few bytes."""
        row = row & ~self.eos_row
        doubtful = getattr(inner, "doubtful_tokens", None)
        if doubtful is not None:
            found: list[int] = doubtful(row, self.canonical.classes, self.canonical.apart_after(state))
            return found
        return tokens_of(row).tolist() if _count(row) <= FEW else []

    def _is_viable(self, inner: Any, state: int, depth: int) -> int:
        """NO, YES, or GRANTED, since so much may follow: the constraint has a canonical completion from here."""
        canonical = self.canonical
        if state == DEAD:
            return NO
        if inner.is_accepting() and canonical.may_end(state):
            return YES
        any_byte = getattr(inner, "any_byte", None)
        if any_byte is not None and any_byte(canonical.loose(state)):
            return YES
        if depth == 0:
            return YES
        key = self.key(inner, state)
        known = self._viable.get(key)
        if known is None:
            known = self._goes_on(inner, state, depth)
            if len(self._viable) > 1 << 16:
                self._viable.clear()
            self._viable[key] = known
        return known

    def _goes_on(self, inner: Any, state: int, depth: int) -> int:
        """NO or YES: one of the next tokens has a canonical completion; where there are many, it is GRANTED."""
        row = self._masked(inner) & self.canonical.row(state) & ~self.eos_row
        if _count(row) > FEW:
            return GRANTED
        texts = self.vocabulary.tokens
        for token in sorted(tokens_of(row).tolist(), key=lambda token: -len(texts[token] or b"")):
            inner.advance(token)
            viable = self._is_viable(inner, self.canonical.step(state, token), depth - 1)
            inner.rollback(1)
            if viable:
                return viable
        return NO

    def strays(self, tokens: Sequence[int]) -> list[int]:
        """The places of a sequence at which the tokenizer writes another token; its length where it may not end."""
        return self.canonical.strays(tokens)


def canonical(compiled: Any, tokenizer: Any) -> CanonicalConstraint:
    """A compiled constraint of which only canonical tokens count: the tokenizer itself writes them for the text.

    `generate` does this by itself; the function is for other loops, such as those of transformers.

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
    return CanonicalConstraint.of(compiled, tokens)


def canonical_tokens(tokenizer: Any, vocabulary: Vocabulary) -> CanonicalTokens | str:
    """The canonical sequences of a tokenizer, made once for a vocabulary, or why they are not known."""
    known = _known.get(vocabulary)
    if known is None:
        try:
            known = CanonicalTokens.of(tokenizer, vocabulary)
        except VocabularyError as error:
            known = error.message
        _known[vocabulary] = known
    return known


class CanonicalMatcher:
    """One sequence under a `CanonicalConstraint`; the part of a matcher that samplers use.

    states: those of the canonical tokens, before each token and after the last
    """

    __slots__ = ("constraint", "inner", "states")

    def __init__(self, constraint: CanonicalConstraint, inner: Any, states: list[int]) -> None:
        self.constraint = constraint
        self.inner = inner
        self.states = states

    @property
    def state(self) -> tuple[Any, int]:
        """Equal states allow the same continuations."""
        return self.inner.state, self.states[-1]

    @property
    def text(self) -> bytes:
        """The bytes that were read so far."""
        text: bytes = self.inner.text
        return text

    def _here(self) -> _Place:
        constraint = self.constraint
        key = constraint.key(self.inner, self.states[-1])
        known = constraint.places.get(key)
        return constraint.place(key, self.inner, self.states[-1]) if known is None else known

    def fill_mask(self, row: Row) -> None:
        """Write the mask of the tokens that may come next, as `Matcher.fill_mask` does."""
        known = self._here().row
        words = row.view(np.uint32)
        words[: len(known)] = known
        words[len(known) :] = 0

    def mask(self) -> Row:
        """uint32[words], read-only: the mask of the tokens that may come next."""
        return self._here().row

    def allows(self, token_id: int) -> bool:
        """True if the mask allows the token."""
        return has_bit(self._here().row, token_id)

    def advance(self, token_id: int) -> bool:
        """Read a token. Returns False, and stays where it is, if it may not come next."""
        place = self._here()
        if not has_bit(place.row, token_id) or not self.inner.advance(token_id):
            return False
        canonical, state = self.constraint.canonical, self.states[-1]
        after = DEAD if place.stray else canonical.step(state, token_id)
        self.states.append(canonical.stray(state, token_id) if after == DEAD else after)
        return True

    def forced_tokens(self) -> list[int]:
        """The tokens that must follow: one is allowed at each position, and it is no EOS."""
        forced: list[int] = []
        try:
            while (only := self._here().only) >= 0 and only not in self.constraint.vocabulary.eos_ids:
                if not self.advance(only):
                    break
                forced.append(only)
        finally:
            self.rollback(len(forced))
        return forced

    def is_accepting(self) -> bool:
        """The text is a member, and its tokens are canonical, or no canonical ones can follow."""
        return bool(self.inner.is_accepting()) and bool((self._here().row & self.constraint.eos_row).any())

    def is_finished(self) -> bool:
        """EOS was read, or nothing but EOS can follow."""
        if getattr(self.inner, "ended", False):
            return True
        row, ends = self._here().row, self.constraint.eos_row
        return bool((row & ends).any()) and not (row & ~ends).any()

    def rollback(self, n_tokens: int) -> None:
        """Take back the last n tokens."""
        self.inner.rollback(n_tokens)
        del self.states[len(self.states) - n_tokens :]

    def fork(self) -> CanonicalMatcher:
        """An independent matcher at the same place."""
        return CanonicalMatcher(self.constraint, self.inner.fork(), list(self.states))


def _count(row: Row) -> int:
    """The number of tokens of a row, and more than `FEW` where there are more."""
    words = row[row != 0]
    return len(words) if len(words) > FEW else int(np.unpackbits(words.view(np.uint8)).sum())


def _only(row: Row) -> int:
    """The one token of a row, or -1."""
    words = np.flatnonzero(row)
    if len(words) != 1:
        return -1
    word = int(row[words[0]])
    return int(words[0]) * 32 + word.bit_length() - 1 if word & (word - 1) == 0 else -1
