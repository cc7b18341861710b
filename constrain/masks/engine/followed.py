"""The guard of rules that are followed: budgets of tokens, and the temperature in force.

The idea: the text is read a second time, with marks around the texts of followed rules, in all ways (situations.py). A
token is vetoed if it leaves no reading. A token counts for a rule if it has a byte of its text.

Cost: some microseconds a token for each reading; the mask is that of the grammar until a budget is nearly spent. Then
tokens are read one by one, once for each situation.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np

from constrain.errors import ConstrainError, GrammarError
from constrain.languages.automata.marks import MARK
from constrain.languages.cfg.followed import FollowedRule, bracket
from constrain.languages.constraints.base import Constraint
from constrain.languages.guards import Guard
from constrain.languages.guards.repeats import Reading
from constrain.languages.vocab.bits import Row, clear_bits, has_bit, set_bits
from constrain.languages.vocab.marked import reads_text, spans_of
from constrain.languages.vocab.tables import PerVocabulary
from constrain.languages.vocab.utf8 import LONGEST, missing_bytes
from constrain.languages.vocab.vocabulary import Vocabulary
from constrain.masks.engine.automaton import TokenAutomaton
from constrain.masks.engine.situations import Open, Situations, Walk

BUDGET = 64 << 20  # bytes of the automaton of marked texts, for each vocabulary
MAX_MASKS = 256
MAX_GUARDS = 16
FEW = 300  # tokens that are read one by one, without the trie


@dataclass(frozen=True, slots=True)
class FollowedState:
    """The state of the guard after whole tokens.

    Attributes:
        epoch: When `situation` was a number: all numbers change if memory runs out.
        situation: The number of the set of readings.
        is_cut: A budget has ended a reading, which the grammar goes on with.
        inner: The state of the constraint's other guard.
        before: The state before the last step; None: this is the first one.
        step: The last step.
    """

    epoch: int
    situation: int
    is_cut: bool
    inner: Hashable
    before: FollowedState | None = field(compare=False)
    step: bytes = field(compare=False)


class Followed:
    """A `TokenGuard`.

    Args:
        constraint: A constraint with followed rules.
        vocabulary: The vocabulary.
        inner: The constraint's other guard; None if it has none.

    Raises:
        GrammarError: A rule cannot end within its budget, or the constraint mentions tokens that have text.
    """

    def __init__(self, constraint: Constraint, vocabulary: Vocabulary, inner: Guard | None) -> None:
        self.inner = inner
        self.inner_by_token = hasattr(inner, "step_token")
        self.always = inner is not None and inner.always
        self.rules = constraint.followed
        self.automaton = Automata.of(vocabulary).automaton
        self.tokens = self.automaton.vocabulary.tokens
        spans = {node: spans_of(node, vocabulary) for node in constraint.token_sets}
        if any(reads_text(span, vocabulary) for span in spans.values()):
            message = "a set of tokens that has tokens with text cannot stand beside max_tokens or temperature"
            raise GrammarError(message, place=self.rules[0].place, fix="write the text of these tokens")
        for i in range(len(self.rules)):
            for opens in (True, False):
                node, token = bracket(i, opens)
                spans[node] = ((token, token),)
        self.automaton.layout.mention(spans)
        assert constraint.bracketed is not None
        self.situations = Situations(constraint.bracketed, self.rules, self.automaton)
        self.masks: dict[tuple[int, int, int], Row] = {}

    # -- states --------------------------------------------------------------------------------------------------------

    def _current(self, state: FollowedState) -> int:
        """The situation of a state, read again if its number was forgotten. Called under the automaton's lock."""
        self.situations.follow()
        if state.epoch == self.situations.epoch:
            return state.situation
        steps: list[bytes] = []
        at: FollowedState | None = state
        while at is not None:
            steps.append(at.step)
            at = at.before
        situation = self.situations.first()
        for step in reversed(steps[:-1]):
            situation = self.situations.token(situation, step)[0]
        return situation

    def start(self) -> FollowedState:
        """The state before the first byte."""

        def make() -> FollowedState:
            self.situations.follow()
            inner = self.inner.start() if self.inner is not None else None
            return FollowedState(self.situations.epoch, self.situations.first(), False, inner, None, b"")

        return self.automaton.attempt(make)

    def step(self, state: Hashable, text: bytes) -> FollowedState | None:
        """See `Guard`; the text counts as one token."""
        return self._stepped(cast(FollowedState, state), text, -1)

    def step_token(self, state: Hashable, token: int) -> FollowedState | None:
        """See `TokenGuard`."""
        return self._stepped(cast(FollowedState, state), self.tokens[token] or b"", token)

    def _stepped(self, here: FollowedState, text: bytes, token: int) -> FollowedState | None:
        inner = here.inner
        if self.inner is not None:
            guard: Any = self.inner
            plain = b"" if text[:1] == bytes((MARK,)) else text
            by_token = token >= 0 and self.inner_by_token
            inner = guard.step_token(inner, token) if by_token else guard.step(inner, plain)
            if inner is None:
                return None

        def make() -> FollowedState | None:
            situation, is_cut = self.situations.token(self._current(here), text)
            return None if situation < 0 else FollowedState(
                self.situations.epoch, situation, here.is_cut or is_cut, inner, here, text
            )  # fmt: skip

        return self.automaton.attempt(make)

    # -- masks ---------------------------------------------------------------------------------------------------------

    def veto(self, state: Hashable, row: Row) -> None:
        """See `Guard`."""
        here = cast(FollowedState, state)
        if self.inner is not None:
            self.inner.veto(here.inner, row)
        if all(rule.max_tokens is None for rule in self.rules):
            return
        row = row[: (self.automaton.layout.size + 31) // 32]

        def narrow() -> None:
            situation = self._current(here)
            if here.is_cut or not self._is_loose(situation, 0):
                words = self._mask(situation, row)
            elif not self._is_loose(situation, 1):
                words = row.copy()
                self._read_each(situation, Halves.of(self.automaton.vocabulary).tokens, words)
            else:
                return
            set_bits(words, self.automaton.layout.eos_ids)  # the matcher decides on these
            row[:] &= words

        self.automaton.attempt(narrow)

    def inner_state(self, state: Hashable) -> Hashable:
        """The state of the constraint's other guard."""
        return cast(FollowedState, state).inner

    def reader(self, state: Hashable) -> Reading | None:
        """See `Guard`."""
        return None if self.inner is None else self.inner.reader(self.inner_state(state))

    def _is_loose(self, situation: int, which: int) -> bool:
        """Whether every rule can end with the tokens that are left after the next one.

        which: 0: if the next token ends with a character. 1: anyway.
        """
        most = [
            (rule.max_tokens, self.situations.ends[i][which]) for i, rule in enumerate(self.rules) if rule.max_tokens
        ]
        begun = all(tokens - 1 >= end for tokens, end in most)
        opens = (one for _, opens in self.situations.sets[situation] for one in opens)
        return begun and all(self.situations.left(one) - 1 >= self.situations.ends[one.rule][which] for one in opens)

    def _read_each(self, situation: int, tokens: list[int], row: Row) -> None:
        """Clear those of some tokens of a mask that leave no reading."""
        after = self.situations.token
        asked = (token for token in tokens if has_bit(row, token))
        clear_bits(row, (token for token in asked if after(situation, self.tokens[token] or b"")[0] < 0))

    def _mask(self, situation: int, row: Row) -> Row:
        """The tokens of a mask that leave a reading."""
        key = self.situations.epoch, situation, hash(row.tobytes())
        words = self.masks.get(key)
        if words is None:
            known = self._without_marks(situation, len(row))
            left = np.flatnonzero(np.unpackbits((row & ~known).view(np.uint8), bitorder="little")).tolist()
            words = row.copy()
            if len(left) <= FEW:
                self._read_each(situation, left, words)
            else:
                words &= known
                twins = Walk.of(self.automaton.vocabulary).next_same
                for token in self.situations.walk(situation):
                    while token >= 0:
                        if has_bit(row, token):
                            set_bits(words, (token,))
                        token = twins[token]
            if len(self.masks) >= MAX_MASKS:
                self.masks.clear()
            self.masks[key] = words
        return words.copy()

    def _without_marks(self, situation: int, size: int) -> Row:
        """Tokens that leave a reading without a mark inside of the token, as far as the automaton tells."""
        found = np.zeros(size, np.uint32)
        words = np.zeros(size, np.uint32)
        for configuration, opens in self.situations.sets[situation]:
            left = min(
                (self.situations.left(one) - 1 - self.situations.ends[one.rule][1] for one in opens), default=0.0
            )
            if left >= 0:
                words[:] = 0
                self.automaton.memory.call(self.automaton.kernels.fill_mask, configuration, words)
                found |= words
        return found

    # -- what else is asked --------------------------------------------------------------------------------------------

    def may_end(self, state: Hashable) -> bool:
        """Whether the text may end: some reading is complete."""
        here = cast(FollowedState, state)

        def ask() -> bool:
            return self.situations.accepts(self._current(here))

        return self.automaton.attempt(ask)

    def temperature(self, state: Hashable) -> float | None:
        """The highest temperature of the rules in which the next token may begin; None: none of them has one.

        Of rules inside of each other the innermost counts.
        """
        here = cast(FollowedState, state)

        def ask() -> float | None:
            found = [
                temperature
                for configuration, opens in self.situations.sets[self._current(here)]
                if opens
                and self.situations.goes_on(configuration)
                and all(self.situations.left(one) > 0 for one in opens)
                for temperature in [self._innermost(opens)]
                if temperature is not None
            ]
            return max(found, default=None)

        return self.automaton.attempt(ask)

    def _innermost(self, opens: tuple[Open, ...]) -> float | None:
        given = (self.rules[one.rule].temperature for one in reversed(opens))
        return next((temperature for temperature in given if temperature is not None), None)


def tempered_rule(compiled: Any) -> FollowedRule | None:
    """The first rule of a compiled constraint that asks for a temperature; None: none does."""
    followed = getattr(getattr(compiled, "constraint", None), "followed", ())
    return next((rule for rule in followed if rule.temperature is not None), None)


def refuse_tempered(compiled: Any, who: str) -> None:
    """Raise ConstrainError if rules ask for a temperature. who: what cannot draw by it."""
    rule = tempered_rule(compiled)
    if rule is not None:
        raise ConstrainError(
            f"{who} draws at one temperature, and a rule of the grammar asks for another one",
            place=rule.place,
            fix="leave temperature= out of the grammar, or use constrain.generate",
        )


class Automata(PerVocabulary):
    """The automaton of marked texts of a vocabulary: the one of the engine has none; the latest guards."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.automaton = TokenAutomaton(vocabulary, BUDGET, tokens="special")
        self.guards: dict[Constraint, Followed] = {}


def followed_by(constraint: Constraint, vocabulary: Vocabulary, inner: Guard | None) -> Followed:
    """The guard of a constraint with followed rules; equal constraints without another guard share it."""
    guards = Automata.of(vocabulary).guards
    guard = guards.get(constraint) if inner is None else None
    if guard is None:
        guard = Followed(constraint, vocabulary, inner)
        if inner is None:
            if len(guards) >= MAX_GUARDS:
                guards.clear()
            guards[constraint] = guard
    return guard


class Halves(PerVocabulary):
    """The tokens that end inside of a character."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        texts = ((token, text) for token, text in enumerate(vocabulary.tokens) if text and text[0] != MARK)
        self.tokens = [token for token, text in texts if missing_bytes(LONGEST, text)]
