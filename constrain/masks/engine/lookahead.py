"""Looks ahead where a guard may veto everything that the grammar leaves.

The idea: a guard has a doubt only while a value can still become one that must not come again (`rivals.doubt`). Nearly
always that is settled without the values: from here the value can become any number of ones (guards/unbounded.py). Else
the search follows the grammar's bytes and the guard together, depth first, and stops at the first text after which the
guard has no doubt: then the grammar's promise of a completion holds. It ends without one after it has seen all states
in doubt, which are few: equal states (one configuration, one key of the guard) are visited once, so that the many
spellings of one value are one way.

Which tokens of a mask move to another value or member and may be in doubt there depends on the configuration and on the
conditions of the open containers alone, so it is remembered, as are the answers of searches.

Cost: about 5 µs for each byte that is tried; a way out is mostly found within ten. Limit: after `MOST` bytes the search
gives up, and the text counts as one that can be completed. Then it may still run into a dead end.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from constrain.kernels.parser import advance, configurations
from constrain.kernels.records import arena, view
from constrain.kernels.records.configurations import CONFIG
from constrain.languages.automata.marks import MARK
from constrain.languages.automata.memory import words_of
from constrain.languages.guards import Before, Guard
from constrain.languages.guards.repeats import GuardedText
from constrain.languages.guards.rivals import conditions, doubt, item_in_question
from constrain.languages.guards.unbounded import Unbounded, Ways, place_of
from constrain.languages.vocab.bits import clear_bits
from constrain.masks.engine.automaton import TokenAutomaton
from constrain.masks.engine.compiled_rules import CompiledRules
from constrain.masks.engine.rows import Row

Locked = Callable[[Callable[[int], Any]], Any]
MOST = 2_000  # bytes that one search tries
# What is tried first: what ends a value, then what begins one. Spellings that bring nothing new come last.
FIRST, LAST = b'"]}:0123456789', b",\\\n \t\r"
ORDER = np.array([*FIRST, *sorted(set(range(256)) - set(FIRST + LAST)), *LAST], np.uint8)
WORDS = [np.array([byte], np.int32) for byte in range(256)]
UNKNOWN = -1
REMEMBERED = 1 << 13  # states and answers; beyond, all are forgotten


class GuardLookahead:
    """Answers for one compiled constraint. Called under the automaton's lock and `attempt`."""

    def __init__(
        self, automaton: TokenAutomaton, rules: CompiledRules, guard: Guard, tokens: Sequence[bytes | None]
    ) -> None:
        self.automaton = automaton
        self.rules = rules
        self.guard = guard
        self.greedy = rules.grammar.lexer == "greedy"  # by maximal munch
        self.tokens = tokens
        self.ends = guard.ends(self)
        self._epoch = -1  # most constraints never ask
        self._known_ways: dict[int, list[list[Any]]] = {}  # configuration -> [bytes, configuration after one] each

    @property
    def epoch(self) -> int:
        """The number that changes when configurations lose their meaning."""
        return self.automaton.epoch

    def follow(self, configuration: int, text: bytes) -> int | None:
        """The configuration after a text; None: the grammar does not go on with it."""
        if not text:
            return configuration
        reached = self.automaton.memory.call(advance.advance_bytes, configuration, _words(text)) & advance.STATE
        return None if reached == arena.NONE else reached

    def takes(self, configuration: int, bits: NDArray[np.int32]) -> bool:
        """True if the grammar goes on with one of the bytes of a bitmap, int32[8]."""
        return bool(self.automaton.memory.call(advance.any_byte, configuration, bits))

    def accepts(self, configuration: int) -> bool:
        """True if a text may end at a configuration."""
        return bool(self.automaton.memory.call(configurations.accepts, configuration))

    def doubts(self, state: Hashable) -> bool:
        """True if the guard may veto all that the grammar leaves at a state."""
        return (self.ends is not None and self.ends.doubts(state)) or doubted(self.guard, state) is not None

    def _forget(self) -> None:
        self._epoch = self.automaton.epoch
        self._known_ways = {}
        self._lives: dict[tuple[int, Hashable], bool] = {}
        self._moving: dict[Hashable, list[Sequence[int]]] = {}
        self._unbounded = Unbounded(self.ways)

    def _follow(self) -> None:
        """Forget what belongs to another epoch, or takes much memory."""
        if self._epoch == self.automaton.epoch:
            if len(self._lives) + len(self._moving) + len(self._unbounded.known) <= REMEMBERED:
                return
        self._forget()

    def lives(self, reached: Callable[[], int], state: Hashable, before: Before | None = None) -> bool:
        """True if a text has a completion that the guard allows.

        reached: Computes the grammar's state after the text, which is not dead. state: that of the guard.
        before: The place before the text's last token, whose mask has the same answer.
        """
        if self.ends is not None and not self.ends.lives(reached(), state, before):
            return False
        item = self._item(state)
        if item is None:
            return True
        self._follow()
        configuration = reached()
        if self._is_unbounded(configuration, item):
            return True
        key = self._doubt(state)
        if key is None:
            return True
        known = self._lives.get((configuration, key))
        if known is None:
            known = self._search(configuration, state, key)
            self._lives[configuration, key] = known
        return known

    def _item(self, state: Hashable) -> tuple[GuardedText, int] | None:
        """The item that may run out, as the text around it and the number of containers open in it; None: no item."""
        reading = doubted(self.guard, state)
        item = None if reading is None else item_in_question(reading.here)
        return None if reading is None or item is None else (reading, item)

    def _doubt(self, state: Hashable) -> Hashable | None:
        """None: the guard cannot veto everything that the grammar leaves.

        Else a key: of states with equal keys, in one state of the grammar, either all have a completion or none.
        """
        reading = doubted(self.guard, state)
        key = None if reading is None else doubt(reading.here)
        if reading is None or key is None:
            return None
        return reading.guard, key, state if self.ends is not None else None  # another guard looks at the text too

    def _is_unbounded(self, configuration: int, item: tuple[GuardedText, int]) -> bool:
        """True if an item can still become any number of values."""
        reading, inside = item
        item_place = place_of(configuration, reading.here, inside)
        return item_place is not None and item_place in self._unbounded

    def moving(self, configuration: int, state: Hashable, row: Row) -> Iterable[Sequence[int]]:
        """The tokens that may leave no completion since they move to another value, those together that behave alike.

        row: The tokens that the grammar allows, the ones that the guard vetoes too.
        """
        reading = doubted(self.guard, state)
        if reading is None:
            return ()
        self._follow()
        value = reading.here
        key = (configuration, value.mode, reading.guard, conditions(value))
        if key not in self._moving:
            groups = reading.guard.moving(value, row)
            self._moving[key] = [alike for alike in groups if not self._is_settled(configuration, state, alike[0])]
        return self._moving[key]

    def narrow(
        self, guard: Guard, state: Hashable, inner: Hashable, row: Row, locked: Locked, is_clear: Callable[[int], bool]
    ) -> None:
        """Remove the tokens from a mask that a guard vetoes, and those after which it vetoes all that may follow.

        guard: The lookahead's, or one around it; `state` is its state, `inner` that of the lookahead's.
        row: The tokens that the grammar allows; changed in place.
        locked: Runs an operation on the configuration.
        is_clear: Tells of a token if the guard allows it, and some text after it.
        """
        reading = doubted(guard, state)
        moving: Iterable[Sequence[int]] = ()
        if reading is not None and reading.here.stack is not None:
            moving = locked(lambda configuration: self.moving(configuration, inner, row))
        guard.veto(state, row)
        if reading is not None:
            moving = chain(moving, reading.guard.suspects(reading.here, row))
        for alike in moving:
            if not is_clear(alike[0]):
                clear_bits(row, alike)
        ends = self.ends
        if ends is not None:
            clear_bits(row, locked(lambda configuration: ends.dead(configuration, inner, row)))

    def _is_settled(self, configuration: int, state: Hashable, token: int) -> bool:
        """True if a token leaves a completion for certain, whatever the values."""
        after = self.guard.step(state, self.tokens[token] or b"")
        if after is None:
            return False
        item = self._item(after)
        if item is None:
            return True
        reached = self.automaton.memory.call(self.automaton.kernels.step, configuration, token) & advance.STATE
        return reached != arena.NONE and self._is_unbounded(reached, item)

    def _search(self, configuration: int, state: Hashable, key: Hashable) -> bool:
        visited = {(configuration, key)}
        tried = 0
        ways = [self._steps(configuration, state)]
        while ways:
            for after, reached in ways[-1]:
                tried += 1
                key = None if reached is None or tried > MOST else self._doubt(reached)
                if key is None:
                    return True
                if (after, key) not in visited:
                    visited.add((after, key))
                    ways.append(self._steps(after, reached))
                    break
            else:
                ways.pop()
        return False

    def _steps(self, configuration: int, state: Hashable) -> Iterator[tuple[int, Hashable | None]]:
        """The configurations and guard's states after one byte that both allow; None: behind a special token."""
        for alike, after in self.ways(configuration):
            for byte in alike:
                reached = self.guard.step(state, bytes((byte,)))
                if byte == MARK:
                    yield after, None
                elif reached is not None:
                    yield after, reached

    def ways(self, configuration: int) -> Ways:
        """The bytes that the grammar allows, in the order in which they are tried. PERF: read only as far as asked."""
        known = self._known_ways.get(configuration)
        if known is None:
            known = self._known_ways[configuration] = [[alike, UNKNOWN] for alike in self._classes(configuration)]
        for way in known:
            alike, after = way
            if after == UNKNOWN:
                after = way[1] = self._step(configuration, alike[0])
            if after != arena.NONE:
                yield alike, after

    def _classes(self, configuration: int) -> list[bytes]:
        """The bytes that a configuration does not tell apart, in the order in which they are tried."""
        self._step(configuration, 0)  # a configuration has classes once a byte was read
        classes = view.byte_classes(self.automaton.memory.A, configuration)[ORDER]
        alike = _equal(classes)
        if self.greedy:  # a byte that ends a lexeme is read by the whole configuration
            for members in alike:
                self._step(configuration, members[0])
            whole = int(self.automaton.memory.A[configuration + CONFIG.WHOLE])
            if whole:
                self._step(whole, 0)
                alike = _equal(classes * np.int32(256) + view.byte_classes(self.automaton.memory.A, whole)[ORDER])
        return alike

    def _step(self, configuration: int, byte: int) -> int:
        """The configuration after a byte, or `arena.NONE`."""
        return self.automaton.memory.call(advance.advance_bytes, configuration, WORDS[byte]) & advance.STATE


@lru_cache(maxsize=4096)
def _words(text: bytes) -> NDArray[np.int32]:
    """`words_of` a text that is tried again and again."""
    return words_of(text)


def _equal(classes: NDArray[Any]) -> list[bytes]:
    """The bytes of each class. classes: of the bytes of ORDER."""
    _, first = np.unique(classes, return_index=True)
    return [ORDER[classes == classes[i]].tobytes() for i in sorted(first.tolist())]


def doubted(guard: Guard, state: Hashable) -> GuardedText | None:
    """The JSON text under way in which a value may run out; None: there is none, so some end stays open."""
    reading = guard.reader(state)
    return reading if reading is not None and reading.runs_out else None
