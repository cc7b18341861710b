"""Compiled constraints: a constraint together with a vocabulary, shared by all matchers.

Compiling is lazy: it expands the start of the grammar, and the rest when texts reach it.
"""

from __future__ import annotations

import operator
from collections.abc import Hashable, Iterable
from typing import TYPE_CHECKING, Any, SupportsIndex, cast

from constrain.errors import ConstrainError, GrammarError, UnsatisfiableError, VocabularyError
from constrain.kernels.records import arena
from constrain.languages.automata.syntax import shown_tokens
from constrain.languages.constraints.base import Constraint
from constrain.languages.constraints.report import ReportLine
from constrain.languages.vocab.marked import Marked, reads_text, spans_of
from constrain.languages.vocab.vocabulary import Vocabulary
from constrain.limits import limits_at
from constrain.masks.engine.automaton import Mentioned, TokenAutomaton
from constrain.masks.engine.lookahead import GuardLookahead
from constrain.masks.engine.matcher import Matcher

if TYPE_CHECKING:
    from constrain.masks.engine.regions import RegionsGuard


class CompiledConstraint:
    """A constraint compiled for a vocabulary. Made by `compile`. Immutable; share it between threads and requests.

    It can be pickled: the constraint and the vocabulary are stored, and states are computed again.

    Raises:
        UnsatisfiableError: No text fulfils the constraint.

    Attributes:
        constraint (Constraint): The constraint.
        vocabulary (Vocabulary): The vocabulary.
        automaton (TokenAutomaton): Holds the states; shared with other compiled constraints.

    Example:
        >>> import constrain
        >>> compiled = constrain.compile(constrain.regex("[0-9]+"), constrain.Vocabulary.of_bytes())
        >>> one, two = compiled.matcher(), compiled.matcher()
        >>> one.advance(ord("7")), two.advance(ord("x"))
        (True, False)
    """

    # For the engine's own modules: `rules` (the grammar with its records), `guard` (or None), `lookahead` (for the
    # constraint's own guard), `always_guarded`, `by_token` (whether the guard reads tokens), `ending` (the guard, if it
    # has a say in ends), `remembering` (if it remembers masks), `followed` (the guard of rules that are followed),
    # `known_start` ((epoch, configuration) of the start as last computed), `start`, `derived` (what was made of it, by
    # what it was made with).

    def __init__(self, constraint: Constraint, vocabulary: Vocabulary, automaton: TokenAutomaton) -> None:
        self.constraint = constraint
        self.vocabulary = vocabulary
        self.automaton = automaton
        if constraint.token_sets:
            automaton.layout.mention({node: spans_of(node, vocabulary) for node in constraint.token_sets})
        self.rules = automaton.grammars.rules_of(constraint)
        self.guard = constraint.guard(vocabulary)
        self.lookahead = None
        if self.guard is not None:
            self.lookahead = GuardLookahead(automaton, self.rules, self.guard, vocabulary.tokens)
        self.followed: RegionsGuard | None = None
        if constraint.followed:
            from constrain.languages.guards.product import Product
            from constrain.masks.engine.regions.counted import guard_of_rules

            self.followed = guard_of_rules(constraint, vocabulary)
            self.guard = self.followed if self.guard is None else Product(self.guard, self.followed)
        guard = self.guard
        self.always_guarded = guard is not None and guard.always
        self.by_token = guard is not None and guard.by_token
        self.ending = guard if guard is not None and guard.ending else None
        self.remembering = guard if guard is not None and guard.remembers and not constraint.residual else None
        self.known_start = (-1, 0)
        self.derived: dict[Hashable, Any] = {}
        with limits_at(constraint._shown):
            start = automaton.attempt(self.start)
        if start == arena.NONE:
            raise UnsatisfiableError("no text fulfils the constraint", place=repr(constraint))

    @property
    def report(self) -> list[ReportLine]:
        """One entry for each keyword of a schema: enforced, annotation or residual; else mostly empty."""
        return self.constraint.report

    def start(self) -> int:
        """The configuration before the first byte, in the automaton's current epoch. The caller holds the lock."""
        epoch, configuration = self.known_start
        if epoch != self.automaton.epoch:
            configuration = self.automaton.start(self.rules)
            self.known_start = (self.automaton.epoch, configuration)
        return configuration

    def inner_state(self, state: Hashable) -> Hashable:
        """The state of the constraint's own guard, inside of the state of `guard`."""
        return state if self.followed is None or self.lookahead is None else cast("tuple[Hashable, Hashable]", state)[0]

    def matcher(
        self, *, eos_ids: Iterable[SupportsIndex] | None = None, prefix: Iterable[SupportsIndex] = ()
    ) -> Matcher:
        """A new matcher at the beginning of a text. Cost: under 1 µs.

        Args:
            eos_ids: The tokens that end the text, instead of the vocabulary's: a request's stop tokens. They are
                allowed if and only if the text is complete, and stand for no text.
            prefix: Tokens that the matcher reads first, as after a request was moved to another engine.

        Returns:
            The matcher. The tokens of `prefix` are steps that `rollback` can undo.

        Raises:
            ConstrainError: An id is not in the vocabulary, or a token of the prefix is not allowed.
            LimitError: A step does not fit into the automaton's memory.

        Example:
            >>> import constrain
            >>> compiled = constrain.compile(constrain.regex("[a-y]+"), constrain.Vocabulary.of_bytes())
            >>> matcher = compiled.matcher(eos_ids=[ord("z")], prefix=b"ab")
            >>> matcher.advance(ord("z")), matcher.ended, matcher.text
            (True, True, b'ab')
        """
        if eos_ids is None and isinstance(prefix, tuple) and not prefix:  # PERF: one for each request
            return self.make_matcher()
        size = self.vocabulary.size
        ends = None if eos_ids is None else tuple(operator.index(token) for token in eos_ids)
        if ends is not None and not all(0 <= token < size for token in ends):
            raise ConstrainError(f"eos_ids {list(ends)} are not all in the vocabulary of {size} tokens")
        matcher, tokens = self.make_matcher(ends), list(prefix)
        read = matcher.advance_tokens(tokens)
        if read < len(tokens):
            raise ConstrainError(f"token {tokens[read]!r} of the prefix is not allowed", place=f"prefix[{read}]")
        return matcher

    def make_matcher(self, eos_ids: tuple[int, ...] | None = None) -> Matcher:
        """A matcher at the beginning of a text. eos_ids: the ids that end it, instead of the vocabulary's."""
        return Matcher(self, eos_ids)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the constraint and the vocabulary. States are computed again, in the vocabulary's shared automaton."""
        return compile_bytewise, (self.constraint, self.vocabulary)

    def __copy__(self) -> CompiledConstraint:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> CompiledConstraint:
        return self  # immutable, and made to be shared

    def __repr__(self) -> str:
        return f"CompiledConstraint({self.constraint!r}, {self.vocabulary!r})"


def compile_bytewise(
    constraint: Constraint, vocabulary: Vocabulary, *, automaton: TokenAutomaton | None = None
) -> CompiledConstraint:
    """Compile a constraint as it stands: masks are exact in bytes, whether or not tokens can write the rest of a text.

    `constrain.compile` first leaves out the texts that the tokens cannot write.

    Args:
        constraint: The constraint.
        vocabulary: The bytes of every token id.
        automaton: Holds the states. Default: one of the two that all constraints on the vocabulary share in turn, with
            256 MiB at most each. Pass `TokenAutomaton(vocabulary, budget=...)` for a budget of its own.

    Returns:
        The compiled constraint.

    Raises:
        ConstrainError: What `constrain.compile` raises.

    Example:
        >>> import constrain
        >>> from constrain.masks.engine import compile_bytewise
        >>> digits = constrain.Vocabulary([b"a", b"1", None], eos_ids=[2])
        >>> compile_bytewise(constrain.regex("ab|1"), digits).matcher().allows(0)  # no token writes "b"
        True
        >>> constrain.compile(constrain.regex("ab|1"), digits).matcher().allows(0)
        False
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
    with limits_at(constraint._shown):
        tokens = mentioned(constraint, vocabulary)
    if automaton is not None and not isinstance(automaton, TokenAutomaton):
        raise ConstrainError(
            f"automaton is {automaton!r:.60}", place="automaton", fix="pass a constrain.TokenAutomaton, or leave it out"
        )
    if automaton is None:
        automaton = TokenAutomaton.of(vocabulary, tokens)
    elif tokens != "none" and not (
        automaton.layout.offset if tokens == "every" else isinstance(automaton.vocabulary, Marked)
    ):
        raise ConstrainError(
            "the automaton does not know the tokens that the constraint mentions",
            place=repr(constraint),
            fix=f"make it with tokens={tokens!r}: TokenAutomaton(vocabulary, tokens={tokens!r})",
        )
    return CompiledConstraint(constraint, vocabulary, automaton)


def mentioned(constraint: Constraint, vocabulary: Vocabulary) -> Mentioned:
    """Tell which tokens a constraint mentions, and check them: they can be wrong in one vocabulary and not in another.

    Args:
        constraint: The constraint.
        vocabulary: Gives names and ids of tokens their meaning.

    Returns:
        "none", "special" (tokens without bytes) or "every".

    Raises:
        VocabularyError: The vocabulary lacks a token, or a token ends the text.
        GrammarError: A token with text is mentioned under `lexer="greedy"`.
    """
    tokens: Mentioned = "none"
    for node in constraint.token_sets:
        try:
            spans = spans_of(node, vocabulary)
        except VocabularyError as error:
            raise VocabularyError(
                error.message, place=f"{shown_tokens(node)} in {constraint!r}", fix=error.fix
            ) from None
        if tokens != "every":
            tokens = "every" if reads_text(spans, vocabulary) else "special"
    if tokens == "every" and constraint.to_grammar().lexer == "greedy":
        raise GrammarError(
            "a set of tokens that has tokens with text cannot stand under lexer='greedy'",
            place=repr(constraint),
            fix="use lexer='dynamic', or write the text of these tokens",
        )
    return tokens
