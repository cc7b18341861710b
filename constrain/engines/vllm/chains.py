"""The chain of drafted tokens of one request: at each place the surest guess, as long as the chain is likely enough.

The idea: a drafted token costs a position of the next forward, and saves a forward of its row if it is taken. So each
guess has an estimate, and a chain ends where the product falls below `WORTH`. In the order in which they are asked:

    forced    the token that alone is allowed; where all tokens count: the bytes that must follow, tokenised
    prior     the token that most requests of the constraint had in this state
    end       the longest token of bytes that must follow, at their end, where it may be joined with what comes next
    copies    what followed the last tokens before: in the prompt, the constraint's text, the output
              (`speculative.drafters.lookup`), of several the first that is allowed

Estimates are counted from what requests went on with, by kind; those of copies by the length of the match, and for
tokens after a copied one by themselves.
Cost: tens of microseconds a row.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Any

from constrain.masks.engine.matcher import Matcher
from constrain.speculative.drafters.lookup import CopyIndex
from constrain.speculative.drafters.tables import DraftTable
from constrain.speculative.drafters.tally import Tally

WORTH = 0.3  # the chance of a chain from which on its last token is worth a position
SURE = 0.5  # the share of a state's most frequent token above which the prior names it
SEEN = 2  # how often a state must have been seen for that
SHORTEST, LONGEST, COPIES = 1, 4, 3  # tokens that must agree for a copy; copies that are looked at
FADE = 0.99  # what an observation is worth after each later one
FORCED, END, LATER = "forced", "end", "later"  # kinds of guesses; the first copied token's is the length of the match
ESTIMATES: dict[Hashable, float] = {FORCED: 0.97, END: 0.6, 1: 0.3, 2: 0.5, 3: 0.6, 4: 0.7, LATER: 0.8}


COPIED = frozenset({LATER, *range(SHORTEST, LONGEST + 1)})


class ConstraintPrior:
    """Counts of the tokens that requests of one constraint wrote in each of its states.

    Attributes:
        compiled: The constraint.
        hint: Its text as token ids: keys and values worth copying.
        counts: State → how often each token came next.
        ends: State → the longest token of the bytes that must follow; -1: there is none.
    """

    def __init__(self, compiled: Any, hint: list[int]) -> None:
        self.compiled = compiled
        self.hint = hint
        self.counts: DraftTable[Counter[int]] = DraftTable()
        self.ends: DraftTable[int] = DraftTable()

    def count(self, state: Hashable, token: int) -> None:
        seen = self.counts.get(state)
        if seen is None:
            seen = Counter()
            self.counts.keep(state, seen)
        seen[token] += 1

    def guess(self, state: Hashable) -> tuple[int, float] | None:
        """The token that most requests had in a state, with its share, if it is a safe guess."""
        seen = self.counts.get(state)
        if not seen:
            return None
        [(token, times)] = seen.most_common(1)
        total = seen.total()
        return (token, times / (total + 1)) if total >= SEEN and times > SURE * total else None

    def end(self, matcher: Any) -> int:
        """The longest token of the bytes that must follow a matcher of canonical tokens; -1: there is none."""
        state = matcher.state
        known = self.ends.get(state)
        if known is None:
            known = matcher.longest_forced()
            self.ends.keep(state, known)
        return known


class Draft:
    """One request: what was written, and where its constraint stands.

    Args:
        prior: The request's constraint, with its counts; None: it has none.
        encode: Bytes → token ids, where all tokens count.
        begin: How many of the tokens come before the constrained text: the prompt, and thoughts.
        stop_ids: The ids that end the text; none: the vocabulary's.
        tally: How often guesses came true, in all requests.
    """

    def __init__(
        self,
        prior: ConstraintPrior | None,
        encode: Callable[[bytes], Sequence[int]],
        begin: int,
        stop_ids: Sequence[int] = (),
        tally: Tally | None = None,
    ) -> None:
        self.prior = prior
        self.encode = encode
        self.read = begin
        self.tally = tally or Tally(FADE)
        self.matcher: Any = None
        self.index = CopyIndex(SHORTEST, LONGEST, COPIES)
        self._tried: tuple[int, list[tuple[Hashable, int]]] = 0, []  # where the last chain began; its guesses by kind
        if prior is not None:
            self.matcher = prior.compiled.matcher(eos_ids=stop_ids or None)
            self.index.add_text(prior.hint)
        self.index.begin()

    def extend(self, tokens: list[int]) -> bool:
        """Read what is new of a request's tokens. False: its text has ended, or left the constraint."""
        self.index.extend(tokens)
        self._judge(tokens)
        matcher, prior = self.matcher, self.prior
        if matcher is None or prior is None:
            return True
        new, self.read = tokens[self.read :], len(tokens)
        for token in new:
            state = matcher.state
            if not matcher.advance(token):
                return False
            prior.count(state, token)
        return not matcher.ended

    def _judge(self, tokens: list[int]) -> None:
        """Count which guesses of the last chain came true, up to the first that did not."""
        begin, tried = self._tried
        for (kind, guess), token in zip(tried, tokens[begin:], strict=False):
            if kind is not None:
                self.tally.count(kind, guess == token)
            if guess != token:
                break
        self._tried = 0, []

    def propose(self, tokens: list[int], length: int) -> list[int]:
        """Up to `length` tokens that may follow."""
        tried: list[tuple[Hashable, int]] = []
        chain: list[int] = []
        chance = 1.0
        while len(chain) < length:
            before = len(chain)
            copies = bool(tried) and tried[-1][0] in COPIED
            for kind, token, share in self._guesses([*tokens[-LONGEST:], *chain], copies):
                if chance * share < WORTH or len(chain) == length:
                    break
                if self.matcher is not None and not self.matcher.advance(token):
                    if kind in COPIED:
                        continue
                    break
                chance *= share
                chain.append(token)
                tried.append((kind, token))
                if kind != FORCED:
                    break
            if len(chain) == before:
                break
        if self.matcher is not None:
            self.matcher.rollback(len(chain))
        self._tried = len(tokens), tried
        return chain

    def _guesses(self, tail: list[int], copies: bool) -> Iterator[tuple[Hashable, int, float]]:
        """Guesses with their kinds and estimates: a run of forced tokens, or else one token, or some instead of it.

        copies: the token before is a copied one
        """
        if self.matcher is not None and self.prior is not None:
            run = self._forced(self.matcher)
            if run:
                yield from ((FORCED, token, self.tally.estimate(FORCED, ESTIMATES[FORCED])) for token in run)
                return
            likely = self.prior.guess(self.matcher.state)
            if likely is not None:
                yield None, *likely
                return
            end = -1 if isinstance(self.matcher, Matcher) else self.prior.end(self.matcher)
            if end >= 0:
                yield END, end, self.tally.estimate(END, ESTIMATES[END])
                return
        for length, path in self.index.continuations(tail, 1):
            kind = LATER if copies else length
            yield kind, path[0], self.tally.estimate(kind, ESTIMATES[kind])

    def _forced(self, matcher: Any) -> Sequence[int]:
        """The tokens that must follow. Where all tokens count, none alone must: the bytes must, and they are cut."""
        if not isinstance(matcher, Matcher):
            must_follow: list[int] = matcher.forced_tokens()
            return must_follow
        forced = matcher.forced_bytes()
        return self.encode(forced) if forced else ()
