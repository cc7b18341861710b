"""FollowedGuard: the guard of rules that are followed: budgets of tokens, and the temperature in force.

The idea: the text is read a second time, with marks around the texts of followed rules, in all ways (rule_states.py). A
token is vetoed if it leaves no rule configuration. A token counts for a rule if it has a byte of its text.

Cost: some microseconds a token for each rule configuration; the mask is that of the grammar until a budget is nearly
spent. Then tokens are read one by one, once for each rule state.
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
from constrain.languages.guards.repeats import GuardedText
from constrain.languages.vocab.bits import Row, clear_bits, has_bit, set_bits
from constrain.languages.vocab.marked import reads_text, spans_of
from constrain.languages.vocab.tables import PerVocabulary
from constrain.languages.vocab.utf8 import LONGEST, missing_bytes
from constrain.languages.vocab.vocabulary import Vocabulary
from constrain.masks.engine.automaton import TokenAutomaton
from constrain.masks.engine.followed.rule_states import NO_STATE, OpenRule, RuleStates, TrieLists

BUDGET = 64 << 20  # bytes of the automaton of marked texts, for each vocabulary
MAX_MASKS = 256
MAX_GUARDS = 16
FEW = 300  # tokens that are read one by one, without the trie


@dataclass(frozen=True, slots=True)
class FollowedState:
    """The state of the guard after whole tokens.

    Attributes:
        epoch: Of the number `rule_state`: all numbers change if memory runs out.
        rule_state: The rules that the text may be in.
        is_cut: A budget has dropped a rule configuration, which the grammar goes on with.
        inner: The state of the constraint's other guard.
        before: The state before the last step; None: this is the first one.
        step: The last step.
    """

    epoch: int
    rule_state: int
    is_cut: bool
    inner: Hashable
    before: FollowedState | None = field(compare=False)
    step: bytes = field(compare=False)


class FollowedGuard:
    """A `TokenGuard` around the constraint's other guard, which also vetoes tokens that leave no rule configuration.

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
        self.states = RuleStates(constraint.bracketed, self.rules, self.automaton)
        self.masks: dict[tuple[int, int, int], Row] = {}

    # -- states --------------------------------------------------------------------------------------------------------

    def _current(self, state: FollowedState) -> int:
        """The rule state of a state, read again if its number was forgotten. Called under the automaton's lock."""
        self.states.follow()
        if state.epoch == self.states.epoch:
            return state.rule_state
        steps: list[bytes] = []
        at: FollowedState | None = state
        while at is not None:
            steps.append(at.step)
            at = at.before
        rule_state = self.states.first()
        for step in reversed(steps[:-1]):
            rule_state = self.states.token(rule_state, step)[0]
        return rule_state

    def start(self) -> FollowedState:
        """The state before the first byte."""

        def make() -> FollowedState:
            self.states.follow()
            inner = self.inner.start() if self.inner is not None else None
            return FollowedState(self.states.epoch, self.states.first(), False, inner, None, b"")

        return self.automaton.attempt(make)

    def step(self, state: Hashable, text: bytes) -> FollowedState | None:
        """The state after more text, which counts as one token; None: it is vetoed."""
        return self._stepped(cast(FollowedState, state), text, -1)

    def step_token(self, state: Hashable, token: int) -> FollowedState | None:
        """The state after a token; None: it is vetoed."""
        return self._stepped(cast(FollowedState, state), self.tokens[token] or b"", token)

    def _stepped(self, state: FollowedState, text: bytes, token: int) -> FollowedState | None:
        """The state after a token; -1: after text. None: it is vetoed."""
        inner = state.inner
        if self.inner is not None:
            guard: Any = self.inner
            plain = b"" if text[:1] == bytes((MARK,)) else text
            by_token = token >= 0 and self.inner_by_token
            inner = guard.step_token(inner, token) if by_token else guard.step(inner, plain)
            if inner is None:
                return None

        def make() -> FollowedState | None:
            after, is_cut = self.states.token(self._current(state), text)
            if after == NO_STATE:
                return None
            return FollowedState(self.states.epoch, after, state.is_cut or is_cut, inner, state, text)

        return self.automaton.attempt(make)

    # -- masks ---------------------------------------------------------------------------------------------------------

    def veto(self, state: Hashable, row: Row) -> None:
        """Clear the bits of the tokens that leave no rule configuration, or that the other guard vetoes."""
        followed = cast(FollowedState, state)
        if self.inner is not None:
            self.inner.veto(followed.inner, row)
        if all(rule.max_tokens is None for rule in self.rules):
            return
        row = row[: (self.automaton.layout.size + 31) // 32]

        def narrow() -> None:
            rule_state = self._current(followed)
            if followed.is_cut or not self._is_loose(rule_state, 0):
                words = self._mask(rule_state, row)
            elif not self._is_loose(rule_state, 1):
                words = row.copy()
                self._read_each(rule_state, Halves.of(self.automaton.vocabulary).tokens, words)
            else:
                return
            set_bits(words, self.automaton.layout.eos_ids)  # the matcher decides on these
            row[:] &= words

        self.automaton.attempt(narrow)

    def inner_state(self, state: Hashable) -> Hashable:
        """The state of the constraint's other guard."""
        return cast(FollowedState, state).inner

    def reader(self, state: Hashable) -> GuardedText | None:
        """The JSON text under way of the other guard, and its reader; None: there is none."""
        return None if self.inner is None else self.inner.reader(self.inner_state(state))

    def _is_loose(self, rule_state: int, which: int) -> bool:
        """True if every rule can end with the tokens that are left after the next one.

        which: 0: if the next token ends with a character. 1: anyway.
        """
        ends = self.states.marked.ends
        begun = all(rule.max_tokens - 1 >= ends[i][which] for i, rule in enumerate(self.rules) if rule.max_tokens)
        opens = (rule for _, opens in self.states.sets[rule_state] for rule in opens)
        return begun and all(self.states.left(rule) - 1 >= ends[rule.rule][which] for rule in opens)

    def _read_each(self, rule_state: int, tokens: list[int], row: Row) -> None:
        """Clear those of some tokens of a mask that leave no rule configuration."""
        after = self.states.token
        asked = (token for token in tokens if has_bit(row, token))
        clear_bits(row, (token for token in asked if after(rule_state, self.tokens[token] or b"")[0] == NO_STATE))

    def _mask(self, rule_state: int, row: Row) -> Row:
        """The tokens of a mask that leave a rule configuration."""
        key = self.states.epoch, rule_state, hash(row.tobytes())
        words = self.masks.get(key)
        if words is None:
            known = self._without_marks(rule_state, len(row))
            left = np.flatnonzero(np.unpackbits((row & ~known).view(np.uint8), bitorder="little")).tolist()
            words = row.copy()
            if len(left) <= FEW:
                self._read_each(rule_state, left, words)
            else:
                words &= known
                twins = TrieLists.of(self.automaton.vocabulary).next_same
                for token in self.states.walk(rule_state):
                    while token >= 0:
                        if has_bit(row, token):
                            set_bits(words, (token,))
                        token = twins[token]
            if len(self.masks) >= MAX_MASKS:
                self.masks.clear()
            self.masks[key] = words
        return words.copy()

    def _without_marks(self, rule_state: int, size: int) -> Row:
        """The tokens that leave a rule configuration and have no mark inside, as far as the automaton tells."""
        allowed = np.zeros(size, np.uint32)
        words = np.zeros(size, np.uint32)
        ends = self.states.marked.ends
        for configuration, opens in self.states.sets[rule_state]:
            if min((self.states.left(rule) - 1 - ends[rule.rule][1] for rule in opens), default=0.0) >= 0:
                words[:] = 0
                self.automaton.memory.call(self.automaton.kernels.fill_mask, configuration, words)
                allowed |= words
        return allowed

    # -- what else is asked --------------------------------------------------------------------------------------------

    def may_end(self, state: Hashable) -> bool:
        """True if the text may end: some rule configuration is complete."""
        followed = cast(FollowedState, state)

        def ask() -> bool:
            return self.states.accepts(self._current(followed))

        return self.automaton.attempt(ask)

    def temperature(self, state: Hashable) -> float | None:
        """The highest temperature of the rules in which the next token may begin; None: none of them has one.

        Of rules inside of each other the innermost counts.
        """
        followed = cast(FollowedState, state)

        def ask() -> float | None:
            temperatures = [
                temperature
                for configuration, opens in self.states.sets[self._current(followed)]
                if opens
                and self.states.marked.goes_on(configuration)
                and all(self.states.left(rule) > 0 for rule in opens)
                for temperature in [self._innermost(opens)]
                if temperature is not None
            ]
            return max(temperatures, default=None)

        return self.automaton.attempt(ask)

    def _innermost(self, opens: tuple[OpenRule, ...]) -> float | None:
        """The temperature of the innermost open rule that has one."""
        temperatures = (self.rules[rule.rule].temperature for rule in reversed(opens))
        return next((temperature for temperature in temperatures if temperature is not None), None)


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
        self.guards: dict[Constraint, FollowedGuard] = {}


def followed_by(constraint: Constraint, vocabulary: Vocabulary, inner: Guard | None) -> FollowedGuard:
    """The guard of a constraint with followed rules; equal constraints without another guard share it."""
    guards = Automata.of(vocabulary).guards
    guard = guards.get(constraint) if inner is None else None
    if guard is None:
        guard = FollowedGuard(constraint, vocabulary, inner)
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
