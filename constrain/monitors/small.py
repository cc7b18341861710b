"""Ends of texts under a monitor and a small grammar, which may not be able to write what the monitor says is owed.

The idea: behind each token of a mask an end is looked for that both allow (completion/monitored.py), and a token is
refused behind which none is found. So a mask never leads into a dead end. What may follow depends on the place alone,
that is the configuration and the state of the monitor: no search uses what another one has found.

Where any name may stand, all *fresh* names are alike, which are no word of the monitor, of its state or of what is
owed, nor may become one. So one search, for a name that nobody writes, answers for all tokens that lead to one
configuration; if the end that it finds has the name again, the grammar is asked about each of them with its own name.

Cost: a search for each kind of token, 0.1 to 3 ms each; nothing where the place is known. Limit: after `MOST` steps a
search gives up, and the token is refused, though it may have an end.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from constrain.languages.cfg.transform.contexts import terminals_of
from constrain.languages.guards import Before
from constrain.languages.vocab.bits import tokens_of
from constrain.lazily import Remembered
from constrain.masks.completion.least import least_lexeme
from constrain.masks.completion.monitored import REMEMBERED, MonitoredEnds
from constrain.masks.completion.tokens_to_end import TokensToEnd
from constrain.monitors.bound import Bound
from constrain.monitors.ends import DoubtedEnds
from constrain.monitors.monitor import NAME, Names
from constrain.monitors.offers import rests_of_names
from constrain.monitors.reading import WORDS, Inner, MonitorReading, State

MOST = 64  # steps of one search
FEW_NAMES = 48  # that such a search tries at a place, where SQL has hundreds of words
LAST = 2_000  # the same of one whose answer decides alone
FAR = 20_000  # the same at a place that has an end, as one was found from the place before
CONFIGURATIONS = 32  # whose numbers are remembered, a megabyte each
PLACES = 256  # of the monitor, whose words are remembered
FRESH = b"qzxqj"  # a name that nobody writes
LONGER = (b"q", b"qz", b"zq")  # with which a name that has begun may become one
_ESCAPED = re.escape(WORDS)
WORD = re.compile(rb"[A-Za-z_\x80-\xff][\w\x80-\xff]*")


class _SearchedGuard:
    """A monitor as a search for ends asks it. literals: words that the grammar writes."""

    def __init__(self, reading: MonitorReading, may_end: Callable[[Any], bool], literals: Iterable[bytes]) -> None:
        self._reading = reading
        self.step, self.may_end, self.owed = reading.step, may_end, reading.owed
        self._words: Remembered[Inner, list[bytes]] = Remembered(PLACES)
        self._beginnings: Remembered[Inner, frozenset[bytes]] = Remembered(PLACES)
        words = getattr(reading.monitor, "words", None)
        self._meant = _shortest_first(word.encode() for word in words or ())
        self.own_beginnings = None if words is None else _beginnings(chain(self._meant, literals))
        self._known = frozenset(name.encode() for name in getattr(reading.monitor, "known_names", ()))

    def names(self, state: State) -> list[bytes]:
        """The rests of the names that may stand next; where any may, all that matter to the monitor."""
        if self._reading.language(state) is not None:
            return rests_of_names(self._reading, state)
        begun = self._reading.lexicon.folded(NAME, state.text) if state.kind == NAME else b""
        rests = (
            word[len(begun) :] for words in (self.words(state), self._meant) for word in words if word.startswith(begun)
        )
        return [rest for rest in dict.fromkeys(rests) if rest]

    def spellings(self, name: bytes) -> list[bytes]:
        """A name, and the same in capitals, where its language does not tell them apart."""
        upper = name.upper()
        return [name] if upper == name or self._reading.lexicon.folded(NAME, b"A") != b"a" else [name, upper]

    def words(self, state: State) -> list[bytes]:
        """The names that matter to the monitor: its own, those of the text and of what is owed."""
        known = self._words.get(state.inner)
        if known is None:
            found = {
                word for text in texts_in(state.inner.value) for word in WORD.findall(text.encode(errors="ignore"))
            }
            known = self._words.keep(state.inner, _shortest_first(found.union(self._known)))
        return known

    def beginnings(self, state: State) -> frozenset[bytes]:
        """The beginnings of these names."""
        known = self._beginnings.get(state.inner)
        if known is None:
            known = self._beginnings.keep(state.inner, _beginnings(self.words(state)))
        return known


def _shortest_first(words: Iterable[bytes]) -> list[bytes]:
    return sorted(words, key=lambda word: (len(word), word))


def _beginnings(words: Iterable[bytes]) -> frozenset[bytes]:
    return frozenset(word[:n] for word in words for n in range(1, len(word) + 1))


class SearchedEnds(MonitoredEnds):
    """The ends of texts, each looked for by itself: the way is taken that gets on, and its text may be long."""

    def __init__(self, to_end: TokensToEnd, grammar: Any, guard: _SearchedGuard) -> None:
        super().__init__(to_end, grammar)
        self.guard: Any = guard
        self._by_itself: dict[tuple[int, Any, int], bytes | None] = {}

    def _missing(self, place: Any) -> int:
        return 3 * super()._missing(place) // 2

    def _stepped(self, place: Any, step: bytes, cost: int) -> Iterator[Any]:
        """The place after a step; where names have any case, in capitals if it may not stand else."""
        goes_on = place.state.kind == NAME and step[:1] in WORDS  # the rest of a name: a blank would end it
        for each in self.guard.spellings(step):
            after = self._after(place, each, cost)
            if after is None and not goes_on:
                after = self._after(place, b" " + each, cost)
            if after is not None:
                yield after
                return

    def completion(self, configuration: int, state: Any, most: int = MOST) -> bytes | None:
        if self._epoch != self.to_end.automaton.epoch or len(self._by_itself) > REMEMBERED:
            self._forget()
            self._by_itself = {}
        key = configuration, state, most
        if key not in self._by_itself:
            self.late_names = FEW_NAMES if most <= MOST else None
            self._by_itself[key] = self._search(*key)
        return self._by_itself[key]

    def _found(self, place: Any) -> None:
        return None


class SmallEnds:
    """Answers for one small grammar under a monitor.

    Args:
        reading: A reading of the monitor, whose states are soon forgotten.
        grammar: The grammar: a `GuardLookahead`.
        may_end: Tells if a text may end at a state.
        labels: Labels of tokens at a state (`Guard.labels`).
    """

    def __init__(
        self,
        reading: MonitorReading,
        grammar: Any,
        may_end: Callable[[Any], bool],
        labels: Callable[[State], NDArray[np.int64]],
    ) -> None:
        self._reading, self._grammar, self._labels = reading, grammar, labels
        texts = map(least_lexeme, terminals_of(grammar.rules.grammar.start))
        literals = [word for text in texts for word in WORD.findall(text or b"")]
        self._guard = _SearchedGuard(reading, may_end, literals)
        self._lexemes = DoubtedEnds(reading, grammar, may_end, grammar.tokens)
        self._numbers: Remembered[tuple[int, int], NDArray[np.int64]] = Remembered(CONFIGURATIONS)

    @cached_property
    def _search(self) -> SearchedEnds:
        """The search; made when it is asked for, as it needs tables of the vocabulary."""
        automaton = self._grammar.automaton
        to_end = TokensToEnd.of(automaton, self._grammar.rules, automaton.vocabulary)
        return SearchedEnds(to_end, self._grammar, self._guard)

    @cached_property
    def is_searched(self) -> bool:
        """True if a search finds a text at all: else none could be written: lexemes are asked about (ends.py)."""
        start = self._grammar.automaton.start(self._grammar.rules)
        return self._search.completion(start, self._reading.start(), LAST) is not None

    def doubts(self, state: Any) -> bool:
        """True: the grammar may lack what the monitor asks for, wherever a text stands."""
        return self.is_searched or self._lexemes.doubts(state)

    def lives(self, configuration: int, state: State, before: Before | None = None) -> bool:
        """True if an end was found that grammar and monitor allow. before: as of `GuardEnds`."""
        if not self.is_searched:
            return self._lexemes.lives(configuration, state)
        state = self._reading.adopted(state)
        if self._lives(configuration, state):
            return True
        if before is None:
            return self._search.completion(configuration, state, LAST) is not None
        return self._own_end(before.configuration, before.state).startswith(before.token)

    def _own_end(self, configuration: int, state: State) -> bytes:
        """The end that is found from a place before its tokens. It lies behind its first one, whatever is found there:
        a search may find from one place what it does not find from the next."""
        state = self._reading.adopted(state)
        found = self._search.completion(configuration, state, LAST)
        return found or self._search.completion(configuration, state, FAR) or b""

    def _lives(self, configuration: int, state: State) -> bool:
        if state.kind != NAME:
            return self._has_end(configuration, state)
        if state.names is not None:
            return self._lives_in_name(configuration, state, state.names)
        if self._is_fresh(state):
            end = self._fresh_end(configuration, state)
            return end is not None and self._takes(configuration, end, state.text)
        for more in LONGER:  # it may become a fresh name
            reached = self._grammar.follow(configuration, more)
            after = None if reached is None else self._reading.in_name(state, state.text + more)
            if reached is not None and after is not None and self._is_fresh(after) and self._lives(reached, after):
                return True
        return self._has_end(configuration, state)

    def _has_end(self, configuration: int, state: State) -> bool:
        return self._search.completion(configuration, state, MOST) is not None

    def _lives_in_name(self, configuration: int, state: State, names: Names) -> bool:
        """`_lives` in a name that must become a known one. PERF: the beginnings of a name share its search."""
        if names.prefixes or names.has(self._reading.lexicon.folded(NAME, state.text)):
            return self._has_end(configuration, state)
        for rest in chain.from_iterable(map(self._guard.spellings, self._guard.names(state))):
            reached, after = self._grammar.follow(configuration, rest), self._reading.step(state, rest)
            if reached is not None and after is not None and self._has_end(reached, after):
                return True
        return False

    def _fresh_end(self, configuration: int, state: State) -> tuple[bytes, bytes, re.Pattern[bytes]] | None:
        """The end behind the beginning of any fresh name: the text; the rest of the name; what finds it again."""
        begun = self._reading.in_name(state, FRESH)
        text = None if begun is None else self._search.completion(configuration, begun, MOST)
        if text is None:
            return None
        rest = text[: len(text) - len(text.lstrip(WORDS))]
        return text, rest, re.compile(rb"(?<![%b])%b(?![%b])" % (_ESCAPED, re.escape(FRESH + rest), _ESCAPED))

    def _takes(self, configuration: int, end: tuple[bytes, bytes, re.Pattern[bytes]], begun: bytes) -> bool:
        """True if the grammar takes an end behind the beginning of a fresh name, which may stand in it again."""
        text, rest, name = end
        own = name.sub(lambda _: begun + rest, text)
        if own == text:
            return True
        after = self._grammar.follow(configuration, own)
        return after is not None and self._grammar.accepts(after)

    def dead(self, configuration: int, state: State, row: NDArray[np.uint32]) -> list[int]:
        """The tokens of a mask behind which no end was found, and that do not begin the one of their own place."""
        if not self.is_searched:
            return self._lexemes.dead(configuration, state, row)
        found = self._all_dead(configuration, state, row)
        end = self._own_end(configuration, state) if found else b""
        return [token for token in found if not end.startswith(self._grammar.tokens[token])]

    def _all_dead(self, configuration: int, state: State, row: NDArray[np.uint32]) -> list[int]:
        """The tokens of a mask behind which no end was found."""
        found: list[int] = []
        state = self._reading.adopted(state)
        tokens = tokens_of(row)
        tokens = tokens[self._spelled[tokens]]
        if not len(tokens):
            return found
        reached, labels = self._reached(configuration)[tokens], self._labels(state)[tokens]
        order = np.lexsort((labels, reached))
        is_other = (np.diff(labels[order]) != 0) | (np.diff(reached[order]) != 0)
        for alike in np.split(order, np.flatnonzero(is_other) + 1):
            found += self._dead(configuration, state, tokens[alike].tolist(), int(labels[alike[0]]))
        return found

    def _reached(self, configuration: int) -> NDArray[np.int64]:
        """int64[V]: numbers for the configurations after tokens. PERF: many places of a text have one configuration."""
        key = self._grammar.epoch, configuration
        known = self._numbers.get(key)
        return self._numbers.keep(key, self._search.to_end.reached(configuration)) if known is None else known

    def _dead(self, configuration: int, state: State, alike: list[int], label: int) -> list[int]:
        """The dead ones of tokens after which the grammar is the same. label: theirs."""
        texts = self._grammar.tokens
        reached = self._grammar.follow(configuration, texts[alike[0]])
        after = self._reading.step(state, texts[alike[0]])
        if reached is None or after is None:
            return alike
        if label > 0 or after.kind != NAME:
            return [] if self._lives(reached, after) else alike
        before = texts[alike[0]].rstrip(WORDS)  # a word of any name goes on, or begins behind the same bytes
        special = set() if self._is_fresh(state) else self._special(before, state, after).intersection(alike)
        found = []
        for token in sorted(special):
            own = self._reading.step(state, texts[token])
            if own is None or not self._lives(reached, own):
                found.append(token)
        fresh = [token for token in alike if token not in special]
        if fresh:
            begun = state.text if state.kind == NAME and not before else b""
            end = self._fresh_end(reached, after)
            if end is None:
                found += fresh
            elif end[2].search(end[0]):
                found += [
                    token for token in fresh if not self._takes(reached, end, begun + texts[token][len(before) :])
                ]
        return found

    def _special(self, before: bytes, state: State, after: State) -> set[int]:
        """The tokens with a word, behind some bytes, that goes on with a name or begins one, and makes no fresh one."""
        begun = self._reading.lexicon.folded(NAME, state.text) if state.kind == NAME and not before else b""
        own = self._guard.own_beginnings
        if own is None:
            return set(range(len(self._spelled)))
        rests = [word[len(begun) :] for word in own | self._guard.beginnings(after) if word.startswith(begun)]
        return {token for rest in rests for token in self._folded.get(before + rest, ())}

    @cached_property
    def _spelled(self) -> NDArray[np.bool_]:
        """bool[V]: whether a token has a text."""
        return np.array([bool(text) for text in self._grammar.tokens], np.bool_)

    @cached_property
    def _folded(self) -> dict[bytes, list[int]]:
        """The tokens by their texts, as the language folds them."""
        found: dict[bytes, list[int]] = {}
        for token, text in enumerate(self._grammar.tokens):
            if text:
                found.setdefault(self._reading.lexicon.folded(NAME, text), []).append(token)
        return found

    def _is_fresh(self, state: State) -> bool:
        """True if a name has begun, of which any may stand, that no word of the monitor begins with."""
        if state.kind != NAME or state.names is not None:
            return False
        own, text = self._guard.own_beginnings, self._reading.lexicon.folded(NAME, state.text)
        return own is not None and text not in own and text not in self._guard.beginnings(state)


def texts_in(value: Any) -> Iterator[str]:
    """Give the texts that a state has inside."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, (Bound, dict)):
        yield from texts_in(tuple((value.table if isinstance(value, Bound) else value).items()))
    elif isinstance(value, (tuple, frozenset, list, set)):
        for each in value:
            yield from texts_in(each)
