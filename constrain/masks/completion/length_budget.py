"""Matchers with a length budget: at least and at most so many tokens, and complete when the last token is written.

    limited = LengthBudget(compiled).matcher(least=0, most=64)

The idea: a token is allowed only if the text can still be completed with the remaining tokens (tokens_to_end.py). So
the last tokens of a budget close brackets instead of opening more. The bound is inductive: if it holds, it holds again
after the next token of the shortest completion. So a text that could be completed at the start is complete at the end.
It is an upper bound on the tokens needed: near the end of a budget a token may be refused although a completion with
more bytes but fewer tokens would fit.

`least`: an EOS is refused before this number of tokens, EOS included, as long as another token is allowed.

Where keys or items must differ, the completion must please the guard, too (guarded.py). In the last `NEAR` tokens that
the text can spare, tokens are tried: those after which a key or an item may still repeat another one, and one of those
others that lead to the same state of the grammar. The completion that was found last is kept: its next token is
allowed.

As long as more tokens are left than any text of the grammar needs (farthest.py), nothing is asked: the masks are those
of the matcher inside. Else a text is asked what it needs at its place, whichever way it goes on, and then not again
until the bytes that were read since may have used up the rest.

Exact for the grammar; if a check of the finished text objects, the text may still be truncated, or, rarely, if a guard
does. Cost: nothing as long as nothing is asked, but for the rules of the grammar, once; then the engine's mask, plus
`TokensToEnd.after` for each new configuration.

Where monitors say which names there are, and where a text may end (monitored.py, parts.py), each place has its
completion. As long as `SURE` tokens more are left, and more than that to what the guard has added to the grammar's
completion before, nothing is looked for. Else one is looked for after each kind of token, at most `TRIED` of them, and
a token is refused behind which none was found in time. So what is allowed has an end, but not all that has one is
allowed.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from contextlib import nullcontext
from typing import Any

import numpy as np
from numpy.typing import NDArray

from constrain.errors import ConstrainError
from constrain.languages.automata.marks import LENGTH, without_marks
from constrain.languages.guards.repeats import GuardedText
from constrain.languages.vocab.bits import has_bit, set_bits, tokens_of
from constrain.languages.vocab.tables import PerVocabulary
from constrain.languages.vocab.vocabulary import Vocabulary
from constrain.limits import limited
from constrain.masks.completion.farthest import UNKNOWN as UNBOUNDED
from constrain.masks.completion.guarded import End, GuardedEnds, end_of
from constrain.masks.completion.monitored import FEW, SURE, MonitoredEnds
from constrain.masks.completion.parts import OUTER, BoundedParts, PartsEnds, ends_of
from constrain.masks.completion.spellings import NEVER, Spellings
from constrain.masks.completion.tokens_to_end import UNKNOWN, Counts, TokensToEnd
from constrain.masks.engine.compiled import CompiledConstraint
from constrain.masks.engine.matcher import Matcher
from constrain.masks.engine.narrowed import Narrowed

NEAR = 32  # tokens that are left beyond those that the text needs
TRIED = 200  # tokens of a mask, under a monitor, for which a completion is looked for: others are refused
PATIENCE = 4_000  # tokens at which a guard is looked at, before a place is asked, whose rules are read first: PERF
LATER = 256  # bytes and tokens after which it is asked again for how long a text is not near its end
FAR = 4  # a text is not near its end if this many times the grammar's tokens are left, and twice `NEAR`: PERF


class Costs(PerVocabulary):
    """The bytes of each token, with those of its mark, and itself: what it uses of the bytes and tokens to be read."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.used = [1 + (len(token) if token else LENGTH) for token in vocabulary.tokens]


class BudgetError(ConstrainError):
    """The shortest text of a constraint needs more tokens than the budget has."""


class LengthBudget:
    """The common data of the limited matchers of one compiled constraint.

    Args:
        compiled: The constraint.
        complete: Restrict masks to tokens after which the text can be completed in time; else only `least` applies.

    Raises:
        LimitError: No text of the grammar was found (`Shortest`), or not within the limits of the thread, else of the
            automaton.
    """

    def __init__(self, compiled: CompiledConstraint, *, complete: bool = True) -> None:
        self.compiled = compiled
        automaton, self.to_end = compiled.automaton, None
        self.guarded: GuardedEnds | MonitoredEnds | PartsEnds | BoundedParts | None = None
        if complete:
            make = lambda: TokensToEnd.of(automaton, compiled.rules, automaton.vocabulary)  # noqa: E731
            with nullcontext() if limited() else automaton.memory.limits.of("looking for the shortest text"):
                self.to_end = automaton.attempt(make)
            self.guarded = self._ends_of(self.to_end)
        self.first_end: dict[int, bytes | End] = {}  # that of the beginning, once it is known
        self.monitored = isinstance(self.guarded, (MonitoredEnds, PartsEnds, BoundedParts))
        self.sure = OUTER if isinstance(self.guarded, (PartsEnds, BoundedParts)) else SURE
        self.farthest = UNBOUNDED if self.to_end is None or self.monitored else self.to_end.farthest
        # The guard has no say where the engine does not ask it.
        is_repeats = isinstance(self.guarded, GuardedEnds) and not compiled.always_guarded
        self.is_quiet = is_repeats and self.to_end is not None and self.to_end.shortest.is_quiet
        self.patience = PATIENCE
        self.is_bounded = min(self.farthest.most, self.farthest.nested) < NEVER
        # How far an end is at most is known by place, too.
        self.asks_places = self.to_end is not None and not self.monitored and self.to_end.shortest.is_read
        self.costs = Costs.of(compiled.vocabulary).used
        self.eos = np.zeros(compiled.vocabulary.words, np.uint32)
        set_bits(self.eos, compiled.vocabulary.eos_ids)

    def _ends_of(self, to_end: TokensToEnd) -> GuardedEnds | MonitoredEnds | PartsEnds | BoundedParts | None:
        """The search for completions; None: those of the grammar are allowed, for the guard is asked nowhere."""
        ends = ends_of(self.compiled, to_end)
        if isinstance(ends, GuardedEnds) and not (self.compiled.always_guarded or to_end.shortest.is_watched):
            return None
        return ends

    def spare(self, left: int, need: int, longest: int, times: int) -> int:
        """The bytes and tokens that may be read before a token may be refused; none if it is not positive.

        left: the tokens that are left. need: the tokens that any text now needs at most; each byte that is read may add
        one. longest: what the next token may add before it is read. times: nor may a text be near its end, which is so
        many times what it needs; 1: the grammar alone counts.
        """
        spare = left - 1 - need - longest  # an EOS comes behind
        return spare if times == 1 else min(spare, (left - times * (need + 2) - 2 * NEAR) // times + 1)

    def matcher(self, least: int = 0, most: int = NEVER) -> LimitedMatcher:
        """A matcher at the beginning of a text of `least` to `most` tokens, EOS included.

        Raises BudgetError if the shortest text needs more than `most` tokens, ConstrainError if none was found.
        """
        limited = LimitedMatcher(self, self.compiled.matcher(), least, most)
        if self.guarded is None and limited.is_far():
            return limited
        limited.known_ends |= self.first_end
        need = limited.needs_allowed()
        if need > most:
            raise self._too_small(need, most)
        self.first_end = dict(limited.known_ends)
        return limited

    def _too_small(self, need: int, most: int) -> ConstrainError:
        alternative = "pass complete=False"
        if need >= UNKNOWN:
            return ConstrainError(
                "no completion was found that the vocabulary can spell, so the text cannot be closed in time",
                fix=alternative,
            )
        text = self.shortest()
        shown = text if len(text) <= 60 else text[:57] + "..."
        return BudgetError(
            f"a budget of {most} tokens is too small: the shortest text, {shown!r}, takes {need}, EOS counted",
            place="max_tokens",
            fix=f"set max_tokens to {need} or more, or {alternative}",
        )

    def shortest(self) -> str:
        """The shortest text of the constraint; "" where none was found. Needs `complete`."""

        def ask() -> bytes:
            assert self.to_end is not None
            start = self.compiled.start()
            if self.guarded is not None:
                return self.guarded.completion(start, self.guarded.guard.start()) or b""
            return self.to_end.shortest.completion(start) or b""

        text: bytes = self.compiled.automaton.attempt(ask)
        return without_marks(text).decode()


class LimitedMatcher(Narrowed):
    """A matcher with a length budget.

    Attributes:
        budget: Shared with other matchers of the same constraint.
        inner: The matcher without the budget.
        least: The least number of tokens, EOS included.
        most: The greatest number of tokens, EOS included.
        tokens: What was read.
        used: Its bytes, with marks, and tokens.
    """

    layer = "token budget"
    inner: Matcher

    def __init__(self, budget: LengthBudget, inner: Matcher, least: int, most: int) -> None:
        super().__init__(inner)
        self.budget = budget
        self.least = least
        self.most = most
        self.tokens: list[int] = []
        self.used = 0
        self._costs = budget.costs
        self._far = 0  # no token is refused as long as fewer are used
        self._fits = 0  # the grammar refuses none as long as fewer are used
        self._later = 0  # a text is found to be near its end as long as fewer are used: PERF
        self._asked = -1  # tokens taken where it was asked last what the text needs
        self._near: tuple[int, int, NDArray[np.uint32]] | None = None  # (state, taken, mask) near the end
        # Tokens taken -> the completion that was found then, or its text.
        self.known_ends: dict[int, bytes | End] = {}

    @property
    def state(self) -> Hashable:
        """A hashable state: equal states allow the same continuations, whatever was taken of whichever budget."""
        return self.inner.state, self.left, max(self.least - self.taken, 0), self.known_ends.get(self.taken)

    @property
    def left(self) -> int:
        """The number of tokens that may still be written, EOS included."""
        return self.most - len(self.tokens)

    @property
    def taken(self) -> int:
        """The number of tokens so far."""
        return len(self.tokens)

    def is_far(self) -> bool:
        """True if more tokens are left than any text needs, whatever comes next: nothing is refused here."""
        if self.used >= self._far and self.taken + 1 >= self.least:
            spare = self._spare(1) if self.budget.guarded is None else self._spare_of_guard()
            if spare:  # else a text that is taken back would be far
                self._far = self.used + spare
        return self.used < self._far

    def _spare_of_guard(self) -> int:
        """The bytes and tokens that may be read before a text may be near its end, at least."""
        is_quiet = self._is_quiet()
        if not is_quiet or self.used >= self._later:
            if spare := self._spare(FAR, asks=not is_quiet or self.budget.patience <= 0):
                return spare
            self._later = self.used + LATER
        self.budget.patience -= is_quiet
        return int(is_quiet or (self.used < self._fits and self.left >= FAR * self.needs() + 2 * NEAR))

    def _is_quiet(self) -> bool:
        """True if the grammar refuses no token here, and the guard is not asked."""
        if self.used >= self._fits:
            self._fits = self.used + self._spare(1) - NEAR
        return self.used < self._fits and self.budget.is_quiet and not self.inner.is_watched()

    def fits_grammar(self) -> bool:
        """True if more tokens are left than the grammar needs after any token."""
        return self.used < self._fits or self._spare(1) > 0

    def _spare(self, times: int, asks: bool = True) -> int:
        """The bytes and tokens that may be read before a token may be refused, at least (`LengthBudget.spare`).

        asks: what the text needs at its place, where the bound of all texts does not do.
        """
        budget, to_end, taken = self.budget, self.budget.to_end, len(self.tokens)
        if to_end is None:
            return NEVER
        left, spare = self.most - taken, 0
        if budget.is_bounded:
            spare = budget.spare(left, budget.farthest.most, 0, times)
            if spare <= 0:  # by the bytes that were read
                spare = budget.spare(left, budget.farthest.nested + self.used - taken, to_end.longest, times)
        if spare <= 0 and asks and budget.asks_places:
            self._asked, most = taken, self._to_end("most")
            spare = budget.spare(left, most, to_end.longest, times) if most < NEVER else 0
        return max(spare, 0)

    def at_this_place(self) -> Any:
        # PERF: most often the first or second
        return self.inner if self.used < self._far or self._is_in_time() or self.is_far() else self

    def _is_in_time(self) -> bool:
        """True if it is known already that no token is too long here."""
        budget, taken = self.budget, len(self.tokens)
        if budget.to_end is None or budget.guarded is not None or taken + 1 < self.least:
            return False
        return budget.to_end.known["latest"].get(self.inner.place, NEVER) < self.most - taken

    def needs(self) -> int:
        """The tokens with which the grammar completes the text, EOS included; 0 with complete=False."""
        return 0 if self.budget.to_end is None else self._to_end("needs")

    def _to_end(self, question: str) -> int:
        """The answer of a method of `TokensToEnd` for this place. PERF: what is known needs no lock."""
        to_end, inner = self.budget.to_end, self.inner
        assert to_end is not None
        answer = to_end.known[question].get(inner.place)
        if answer is None:
            answer = inner.locked(getattr(to_end, question))
            to_end.known[question][inner.place] = answer
        return answer

    def needs_allowed(self) -> int:
        """The tokens with which the grammar completes the text and the guard allows it; 0 with complete=False."""
        return self.needs() if self.budget.guarded is None else self._end().tokens

    def _end(self) -> End:
        """The completion that the guard allows: what is left of the one that was found before, or a new one."""
        end = self.known_ends.get(self.taken)
        if end is None:
            end = self.known_ends[self.taken] = self._new_end()
        elif isinstance(end, bytes):
            assert self.budget.to_end is not None
            end = self.known_ends[self.taken] = end_of(end, self.budget.to_end)
        return end

    def _new_end(self, brief: bool = False) -> End:
        """A new completion. brief: of the many that are looked for, one for each token."""
        guarded = self.budget.guarded
        assert guarded is not None
        _, state = self._reading()
        few = (FEW,) if brief and isinstance(guarded, MonitoredEnds) else ()
        end: End = self.inner.locked(lambda configuration: guarded.end(configuration, state, *few))
        return end

    def fill_mask(self, row: NDArray[np.uint32]) -> None:
        if self.at_this_place() is self.inner:
            self.inner.fill_mask(row)
            return
        if self._is_near():
            row.view(np.uint32)[: len(self.budget.eos)] = self._near_mask()
        elif self.fits_grammar() or self._to_end("latest") < self.left:
            self.inner.fill_mask(row)
        else:
            self._write_in_time(row, self.left)
        words = row.view(np.uint32)[: len(self.budget.eos)]
        if self.taken + 1 < self.least and (words & ~self.budget.eos).any():
            words &= ~self.budget.eos

    def _reading(self) -> tuple[GuardedText | None, Hashable]:
        """(the JSON text under way, the state of the constraint's own guard)."""
        state = self.budget.compiled.inner_state(self.inner.guard_state())
        assert self.budget.guarded is not None
        return self.budget.guarded.guard.reader(state), state

    def _is_near(self) -> bool:
        """True if the guard may veto the grammar's completions, and few tokens more are left than the text needs."""
        if self.budget.guarded is None or self.inner.ended:
            return False
        if self.budget.monitored:
            need = self.needs_allowed()
            sure = need + self.budget.sure if need < UNKNOWN else self.needs() + NEAR
            return self.left <= sure or self._is_cramped()
        if self.left >= FAR * self.needs() + 2 * NEAR:
            return False
        return self.left < self.needs_allowed() + NEAR

    def _is_cramped(self) -> bool:
        """True if few characters more are left than the completion has, under a bound of characters."""
        ends = self.budget.guarded
        return isinstance(ends, BoundedParts) and ends.spare(self._reading()[1], self._end().text) < NEAR

    def _near_mask(self) -> NDArray[np.uint32]:
        """uint32[ceil(V / 32)]: the mask near the end, where the guard's objections count."""
        if self._near is not None and self._near[:2] == (self.inner.state, self.taken):
            return self._near[2]
        row = np.zeros(len(self.budget.eos), np.uint32)
        self._write_in_time(row, self.left)
        late = np.zeros(32 * len(row), np.bool_)
        if self.budget.monitored:
            late[self._late_under_monitor(row)] = True
        else:
            for alike in self._alike(row):
                late[alike] = not self._leaves_time(int(alike[0]))
        in_time = row & ~np.packbits(late, bitorder="little").view(np.uint32)
        if self.needs_allowed() <= self.left:
            set_bits(in_time, self._first_of_end())
        if not self.budget.monitored or in_time.any():  # else nothing was found: rather late than dead
            row = in_time
        self._near = self.inner.state, self.taken, row
        return row

    def _alike(self, row: NDArray[np.uint32]) -> Iterator[NDArray[np.int64]]:
        """The tokens of text in a mask, those together after which the same text is missing."""
        to_end, (reading, _) = self.budget.to_end, self._reading()
        assert to_end is not None
        reached = self.inner.locked(to_end.reached)
        remaining = np.unpackbits((row & ~self.budget.eos).view(np.uint8), bitorder="little").astype(np.bool_)
        groups: list[Sequence[int]] = []
        if reading is not None:
            guard, state = reading
            groups = [*guard.suspects(state, row, names=True), *guard.moving(state, row)]
        for group in [*map(np.array, groups), np.arange(len(remaining))]:
            group = group[remaining[group]]
            remaining[group] = False
            for number in np.unique(reached[group]):
                yield group[reached[group] == number]

    def _late_under_monitor(self, row: NDArray[np.uint32]) -> list[int]:
        """The tokens of text in a mask behind which no completion in time was found.

        Of many that are names the first, the longest and the last are tried, and the others if these differ: a name
        that is known may leave less to write than one that is not.
        """
        late: list[int] = []
        tokens, left = self.budget.compiled.vocabulary.tokens, TRIED
        for alike in self._under_monitor(row):
            longest = max(alike.tolist(), key=lambda token: len(tokens[token] or b""))
            ends = {int(alike[0]), longest, int(alike[-1])}
            are_in_time = left >= len(ends) and all(map(self._leaves_time, ends))
            left -= len(ends)
            if not are_in_time:
                tried = alike[: max(left, 0)].tolist() if len(alike) > 1 else []
                left -= len(tried)
                in_time = set(filter(self._leaves_time, tried))
                late += [token for token in alike.tolist() if token not in in_time]
        return late

    def _under_monitor(self, row: NDArray[np.uint32]) -> list[NDArray[np.int64]]:
        """The tokens of text in a mask that may need more than is left, those together that leave the same to write.

        First come those after which the grammar needs the fewest.
        """
        to_end, ends, state = self.budget.to_end, self.budget.guarded, self._reading()[1]
        assert to_end is not None and ends is not None and not isinstance(ends, GuardedEnds)
        tokens = tokens_of(row & ~self.budget.eos)
        counts = self.inner.locked(to_end.after)[tokens].astype(np.int64)
        reached = self.inner.locked(to_end.reached)[tokens]
        added = self.needs_allowed() - self.needs()  # what the guard adds to the grammar's completion
        labels, sure = (each[tokens] for each in ends.labels(state))
        is_open = (counts + added + sure >= self.left) | self._is_cramped()
        tokens, keys = tokens[is_open], np.stack([counts, reached, labels])[:, is_open]
        if not len(tokens):
            return []
        _, numbers = np.unique(keys, axis=1, return_inverse=True)
        order = np.argsort(numbers.reshape(-1), kind="stable")
        return np.split(tokens[order], np.flatnonzero(np.diff(numbers.reshape(-1)[order])) + 1)

    def _leaves_time(self, token: int) -> bool:
        """True if the guard allows a completion in time after a token."""
        if not self.inner.advance(token):
            return False
        end = self._new_end(brief=True)
        self.inner.rollback(1)
        return end.tokens < self.left

    def _first_of_end(self) -> list[int]:
        """The first token of the completion; none if it is not a token of text."""
        guarded, text = self.budget.guarded, self._end().text
        assert guarded is not None
        spellings = Spellings.of(self.budget.compiled.automaton.vocabulary)
        if not text or spellings.fewest(text) >= NEVER:
            return []
        token = spellings.first(text)
        return [token] if token < self.budget.compiled.vocabulary.size and self.inner.allows(token) else []

    def _write_in_time(self, row: NDArray[np.uint32], left: int) -> None:
        """Write the mask of the tokens after which the grammar needs fewer than `left` tokens."""
        to_end = self.budget.to_end
        assert to_end is not None
        self.inner.write_mask(row, lambda configuration: self._in_time(to_end.after(configuration), left))

    def _in_time(self, counts: Counts, left: int) -> NDArray[np.uint32]:
        """uint32[ceil(V / 32)]: the tokens after which fewer than `left` tokens complete the text."""
        words = np.zeros(len(self.budget.eos), np.uint32)
        bits = np.packbits(counts < left, bitorder="little")
        words.view(np.uint8)[: len(bits)] = bits
        return words

    def advance(self, token_id: int) -> bool:
        is_free = self.at_this_place() is self.inner
        if not (self.inner.advance(token_id) if is_free else self._advance_near(token_id)):
            return False
        if len(self.tokens) in self.known_ends:
            self._keep_end(token_id)
        self.tokens.append(token_id)
        self.used += self._costs[token_id]
        return True

    def _advance_near(self, token_id: int) -> bool:
        """Read a token by the matcher inside, where some tokens may be refused."""
        ends = token_id in self.budget.compiled.vocabulary.eos_ids
        near = not ends and self._is_near()
        inside = 0 <= token_id < self.budget.compiled.vocabulary.size
        if near and inside and not has_bit(self._near_mask(), token_id):
            return False
        is_in_time = ends or near or self.fits_grammar()
        if (ends and not self.is_accepting()) or not self.inner.advance(token_id):
            return False
        if not is_in_time and self.needs() >= self.left:
            self.inner.rollback(1)
            return False
        return True

    def _keep_end(self, token: int) -> None:
        """Remember what a token leaves of the completion. So one stays known, though a new one may take more tokens."""
        now, spelled = self.known_ends[self.taken], self.budget.compiled.vocabulary.tokens[token]
        text = now.text if isinstance(now, End) else now
        if spelled and text.startswith(spelled):
            self.known_ends[self.taken + 1] = text[len(spelled) :]

    def is_accepting(self) -> bool:
        """True if an EOS may come: the text is a member, and it is long enough or no other token is allowed."""
        return self.inner.is_accepting() and (self.taken + 1 >= self.least or not self._can_go_on())

    def because(self, token_id: int) -> str:
        if token_id in self.budget.compiled.vocabulary.eos_ids:
            return (
                f"at least {self.least} tokens are asked for, the end counted, and it would be number {self.taken + 1}"
            )
        to_end = self.budget.to_end
        need = 0 if to_end is None else int(self.inner.locked(to_end.after)[token_id])
        if need < self.left:
            return f"{self.left} tokens are left, and no completion that the guard allows was found in time behind it"
        return f"{self.left} tokens are left, and behind it the text needs {need} more, the end counted"

    def _can_go_on(self) -> bool:
        row = np.zeros(self.budget.compiled.vocabulary.words, np.uint32)
        self.fill_mask(row)
        return bool((row & ~self.budget.eos).any())

    def rollback(self, n_tokens: int) -> None:
        self.inner.rollback(n_tokens)
        taken = self.taken - n_tokens
        self.used -= sum(map(self._costs.__getitem__, self.tokens[taken:]))
        del self.tokens[taken:]
        if self.taken < max(self._asked, self.least - 1):
            self._far, self._fits, self._asked = 0, 0, -1
        self.known_ends = {taken: end for taken, end in self.known_ends.items() if taken <= self.taken}

    def fork(self) -> LimitedMatcher:
        copy = LimitedMatcher.__new__(LimitedMatcher)
        copy.__dict__.update(self.__dict__)
        copy.inner, copy.tokens, copy.known_ends = self.inner.fork(), self.tokens.copy(), self.known_ends.copy()
        return copy
