"""The rules that a text may be in: all ways to read a text with marks around the texts of followed rules.

The idea: a second grammar has a mark where the text of a followed rule begins, and one where it ends (cfg/followed.py).
A *reading* is a configuration of that grammar, with the rules that are open and the tokens that each of them has had. A
mark may be read wherever one is possible, so a text has several readings; a *situation* is the set of them, as a
number. A reading ends where a rule would have more tokens than its budget, or cannot end with the tokens that are left.

Everything here is called under the automaton's lock, and every number is forgotten when the automaton forgets its own.
Cost: dictionaries; some microseconds for each byte that is new.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from constrain.errors import GrammarError, LimitError
from constrain.kernels.parser import advance, configurations
from constrain.kernels.records import arena
from constrain.languages.automata.decide import shared_store
from constrain.languages.automata.lower import lower
from constrain.languages.automata.marks import MARK, mark
from constrain.languages.automata.syntax import Node
from constrain.languages.cfg.followed import FollowedRule, bracket, most_to_end
from constrain.languages.cfg.rules import Grammar, Nonterminal, Terminal
from constrain.languages.vocab.tables import PerVocabulary
from constrain.languages.vocab.utf8 import FOLLOWING
from constrain.languages.vocab.vocabulary import Vocabulary
from constrain.masks.engine.automaton import TokenAutomaton
from constrain.masks.engine.compiled_rules import CompiledRules

MAX_READINGS = 1000  # of one text
MAX_SITUATIONS = 100_000  # that are remembered
SEARCHED = 2000  # states in which the end of a rule is sought
TEXT = {*range(0xC0), *range(0xC2, 0xF5)}  # the bytes of UTF-8
STATE = advance.STATE
Bytes = NDArray[np.int32]


class Open(NamedTuple):
    """A rule that a text is in.

    Attributes:
        rule: Its number.
        used: The tokens that it has had; 0 where it has no budget.
        counted: The token that is being read is one of them.
    """

    rule: int
    used: int = 0
    counted: bool = False


Reading = tuple[int, tuple[Open, ...]]  # a configuration of the marked grammar, the rules that the text is in


class Situations:
    """The situations of one marked grammar.

    Args:
        grammar: The grammar with marks.
        rules: The followed rules, in the order of their marks.
        automaton: The automaton of marked texts. It knows the marks (`mention`).

    Raises:
        GrammarError: A rule cannot end within its budget.

    Attributes:
        epoch: How often all numbers were forgotten.
        sets: The readings of each situation.
        ends: For each rule upper bounds of the bytes that end its text: (at the end of a character, anywhere).
    """

    def __init__(self, grammar: Grammar, rules: tuple[FollowedRule, ...], automaton: TokenAutomaton) -> None:
        self.rules = rules
        self.automaton = automaton
        self.compiled = CompiledRules(grammar, -1)
        self.marks = [(i, opens, _words(mark(bracket(i, opens)[1]))) for i in range(len(rules))
                      for opens in (True, False)]  # fmt: skip
        self.bytes = {text[0] for text in automaton.vocabulary.tokens if text and len(text) == 1}
        self.ends = [self._ends_of(rule) for rule in rules]
        self.epoch = self.known_epoch = -1
        self._forget()
        for i in range(len(rules)):
            self._check_budget(i)

    def _ends_of(self, rule: FollowedRule) -> tuple[float, float]:
        """Upper bounds of the bytes that end a rule's text: (at the end of a character, anywhere)."""
        if rule.body is None:
            return 0, 0
        if not self.bytes >= TEXT:
            return math.inf, math.inf
        rest = most_to_end(rule.body)[1]
        rest = _searched_end(rule.body) if rest == math.inf else rest
        return rest, rest + FOLLOWING

    def _check_budget(self, i: int) -> None:
        """Raise GrammarError for a rule that cannot end within its budget."""
        rule = self.rules[i]
        if rule.max_tokens is None or rule.body is None:
            return
        most = rule.max_tokens
        symbols = [Terminal(bracket(i, True)[0], "first"), Terminal(rule.body, "body"), Terminal(bracket(i, False)[0])]
        alone = CompiledRules(Grammar(Nonterminal("start", lambda: [symbols])), -1)

        def ends() -> bool:
            self.follow()
            opened = self._after(self.automaton.start(alone), self.marks[2 * i][2])
            by_bytes = self._bytes_to_end(opened, i, most) <= most
            return by_bytes or self._ends_by_tokens((opened, (Open(i),)), 0, most)

        if not self.automaton.attempt(ends):
            message = f"max_tokens={most} is too small: the rule has no text of so few tokens"
            raise GrammarError(message, place=rule.place, fix="raise it")

    def _forget(self) -> None:
        """Forget everything that depends on the automaton's numbers."""
        self.epoch += 1
        self.known_epoch = self.automaton.epoch
        self.sets: list[tuple[Reading, ...]] = []
        self.ids: dict[tuple[Reading, ...], int] = {}
        self.steps: dict[tuple[int, int], int] = {}  # (configuration, byte) -> configuration
        self.opened: dict[int, list[tuple[int, bool, int]]] = {}  # configuration -> marks that it may read
        self.read: dict[int, tuple[int, bool]] = {}  # (situation, byte) -> (situation, is_cut); -1: none is left
        self.whole: dict[int, tuple[int, bool]] = {}  # the same at the end of a token
        self.to_end: dict[tuple[int, int], float] = {}
        self.going: dict[int, bool] = {}

    def follow(self) -> None:
        """Forget what the automaton has forgotten. Called under its lock."""
        if self.known_epoch != self.automaton.epoch or len(self.sets) > MAX_SITUATIONS:
            self._forget()

    def first(self) -> int:
        """The situation before the first byte."""
        return self._number(self._closed({(self.automaton.start(self.compiled), ()): None}))

    def token(self, situation: int, text: bytes) -> tuple[int, bool]:
        """(situation after a token, whether a budget ended a reading); -1: no reading is left."""
        is_cut = False
        for byte in text:
            situation, cut = self._byte(situation, byte)
            is_cut |= cut
            if situation < 0:
                return -1, is_cut
        situation, cut = self._end_of_token(situation)
        return situation, is_cut or cut

    def _byte(self, situation: int, byte: int) -> tuple[int, bool]:
        """`token` for one byte of a token."""
        key = situation << 8 | byte
        known = self.read.get(key)
        if known is None:
            after: dict[Reading, None] = {}
            is_cut = False
            for configuration, opens in self.sets[situation]:
                target = self._step(configuration, byte)
                if target == arena.NONE:
                    continue
                counted = tuple(map(self._counted, opens))
                if any(self.left(one) < 0 for one in counted):
                    is_cut = True
                else:
                    after[target, counted] = None
            known = self.read[key] = self._number(self._closed(after)), is_cut
        return known

    def _counted(self, one: Open) -> Open:
        """An open rule after a byte of its text."""
        if one.counted or self.rules[one.rule].max_tokens is None:
            return one
        return Open(one.rule, one.used + 1, True)

    def left(self, one: Open) -> float:
        """The tokens that an open rule may still have."""
        most = self.rules[one.rule].max_tokens
        return math.inf if most is None else most - one.used

    def _end_of_token(self, situation: int) -> tuple[int, bool]:
        """`token` for the end of a token: rules must be able to end with the tokens that are left."""
        known = self.whole.get(situation)
        if known is None:
            kept: dict[Reading, None] = {}
            is_cut = False
            for configuration, opens in self.sets[situation]:
                if all(self._can_end((configuration, opens), place) for place in range(len(opens))):
                    kept[configuration, opens] = None
                else:
                    is_cut = True
            known = self.whole[situation] = self._between(kept), is_cut
        return known

    def _between(self, readings: dict[Reading, None]) -> int:
        """The number of a set of readings between two tokens."""
        return self._number(
            {(configuration, tuple(one._replace(counted=False) for one in opens)): None
             for configuration, opens in readings}
        )  # fmt: skip

    def _can_end(self, reading: Reading, place: int) -> bool:
        """Whether an open rule of a reading can end with the tokens that are left."""
        configuration, opens = reading
        one = opens[place]
        left = self.left(one)
        if left >= self.ends[one.rule][1] or one.used == 0:
            return True
        return self._bytes_to_end(configuration, one.rule, int(left)) <= left or self._ends_by_tokens(
            reading, place, int(left)
        )

    def _closed(self, readings: dict[Reading, None]) -> dict[Reading, None]:
        """The readings, and those with marks read. Of equal ones the one whose rule has had the fewest tokens."""
        queue = list(readings)
        for configuration, opens in queue:  # it grows
            for rule, begins, target in self._marks_at(configuration):
                if not begins:
                    assert opens and opens[-1].rule == rule, "marks are nested like rules"
                reading = target, ((*opens, Open(rule)) if begins else opens[:-1])
                if reading not in readings:
                    if len(queue) == MAX_READINGS:
                        message = f"a text can be read in more than {MAX_READINGS} ways with respect to followed rules"
                        raise LimitError(message, place=self.rules[rule].place, fix="make the grammar less ambiguous")
                    readings[reading] = None
                    queue.append(reading)
        return readings

    def _number(self, readings: dict[Reading, None]) -> int:
        """The number of a set of readings; -1 for none."""
        if not readings:
            return -1
        best: dict[tuple[int, tuple[int, ...]], Reading] = {}
        for reading in readings:  # at most one open rule has a budget
            key = reading[0], tuple(one.rule for one in reading[1])
            if key not in best or reading[1] < best[key][1]:
                best[key] = reading
        key_of = tuple(sorted(best.values()))
        number = self.ids.get(key_of)
        if number is None:
            number = self.ids[key_of] = len(self.sets)
            self.sets.append(key_of)
        return number

    # -- the automaton of marked texts ---------------------------------------------------------------------------------

    def _step(self, configuration: int, byte: int) -> int:
        target = self.steps.get((configuration, byte))
        if target is None:
            target = self.steps[configuration, byte] = self._after(configuration, np.array([byte], np.int32))
        return target

    def _after(self, configuration: int, text: Bytes) -> int:
        return self.automaton.memory.call(advance.advance_bytes, configuration, text) & STATE

    def _marks_at(self, configuration: int) -> list[tuple[int, bool, int]]:
        """The marks that may come next: (rule, whether it begins, configuration after the mark)."""
        found = self.opened.get(configuration)
        if found is None:
            found = []
            if self._step(configuration, MARK) != arena.NONE:
                after = ((rule, begins, self._after(configuration, words)) for rule, begins, words in self.marks)
                found = [(rule, begins, target) for rule, begins, target in after if target != arena.NONE]
            self.opened[configuration] = found
        return found

    def _bytes_to_end(self, configuration: int, rule: int, most: int) -> float:
        """The single bytes that are needed to end a rule, if at most `most` are; math.inf: more."""
        known = self.to_end.get((configuration, rule))
        if known is None:
            known = self._search(configuration, rule, most)
            if known <= most:
                self.to_end[configuration, rule] = known
        return known

    def _search(self, configuration: int, rule: int, most: int) -> float:
        """The bytes from a configuration to one where the rule may end, breadth first; math.inf: more than `most`."""
        layer, seen = {configuration: None}, {configuration}
        for steps in range(most + 1):
            layer = self._with_inner_marks(layer, rule)
            if any(at == rule and not begins for one in layer for at, begins, _ in self._marks_at(one)):
                return steps
            targets = (self._step(one, byte) for one in layer for byte in self.bytes)
            layer = {target: None for target in targets if target != arena.NONE and target not in seen}
            seen |= layer.keys()
            if not layer or len(seen) > SEARCHED:
                break
        return math.inf

    def _with_inner_marks(self, layer: dict[int, None], rule: int) -> dict[int, None]:
        """Configurations with marks of other rules read, which may stand inside of the rule."""
        queue = list(layer)
        for one in queue:
            for at, _, target in self._marks_at(one):
                if at != rule and target not in layer:
                    layer[target] = None
                    queue.append(target)
        return layer

    def _ends_by_tokens(self, reading: Reading, place: int, most: int) -> bool:
        """Whether at most so many tokens end an open rule of a reading; the last one may run over its end."""
        layer = {self._between({reading: None})}
        seen: set[int] = set()
        for tokens in range(1, most + 1):
            after: set[int] = set()
            for situation in layer:
                for target in self.walk(situation, ended=False).values():
                    if any(self._has_left(reading, place, tokens, opens) for _, opens in self.sets[target]):
                        return True
                    after.add(self._between(dict.fromkeys(self.sets[target])))
            layer = after - seen
            seen |= layer
            if len(seen) > SEARCHED:
                rule = self.rules[reading[1][place].rule]
                message = f"whether the rule can end within max_tokens={rule.max_tokens} takes too long to find out"
                raise LimitError(message, place=rule.place, fix="raise max_tokens, or let the rule end earlier")
        return False

    @staticmethod
    def _has_left(reading: Reading, place: int, tokens: int, opens: tuple[Open, ...]) -> bool:
        """Whether rules that are open after some more tokens lack the one at a place of a reading."""
        one = reading[1][place]
        return len(opens) <= place or (opens[place].rule, opens[place].used) != (one.rule, one.used + tokens)

    def walk(self, situation: int, ended: bool = True) -> dict[int, int]:
        """token -> situation after it, of the tokens that leave a reading; of equal tokens the lowest.

        ended: rules must be able to end with the tokens that are left.
        """
        trie = Walk.of(self.automaton.vocabulary)
        stack = [situation] * (trie.depths + 1)
        found: dict[int, int] = {}
        i = 0
        while i < len(trie.byte):
            after, _ = self._byte(stack[trie.depth[i] - 1], trie.byte[i])
            if after < 0:
                i = trie.end[i]
                continue
            stack[trie.depth[i]] = after
            if trie.token[i] >= 0:
                target = self._end_of_token(after)[0] if ended else after
                if target >= 0:
                    found[trie.token[i]] = target
            i += 1
        return found

    def goes_on(self, configuration: int) -> bool:
        """Whether a byte or a token may come next, before any mark."""
        known = self.going.get(configuration)
        if known is None:
            known = any(self._step(configuration, byte) != arena.NONE for byte in range(MARK))
            if not known:
                words = np.zeros((self.automaton.layout.size + 31) // 32, np.uint32)
                self.automaton.memory.call(self.automaton.kernels.fill_mask, configuration, words)
                known = bool(words.any())
            self.going[configuration] = known
        return known

    def accepts(self, situation: int) -> bool:
        """Whether the text may end: some reading is complete."""
        readings = self.sets[situation]
        return any(self.automaton.memory.call(configurations.accepts, one) for one, opens in readings if not opens)


class Walk(PerVocabulary):
    """The trie of a vocabulary as lists, whose items Python reads faster than those of arrays."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        trie = vocabulary.trie
        self.byte, self.depth, self.end = trie.byte.tolist(), trie.depth.tolist(), trie.end.tolist()
        self.token, self.next_same = trie.token.tolist(), trie.next_same.tolist()
        self.depths = trie.max_depth


def _words(text: bytes) -> Bytes:
    return np.frombuffer(text, np.uint8).astype(np.int32)


def _searched_end(node: Node) -> float:
    """The most bytes that end a begun text of a language, by a search of its states; math.inf: too many states."""
    store = shared_store()
    with store.memory.lock:
        start = lower(store, node)
        back: dict[int, set[int]] = {start: set()}
        queue = [start]
        for state in queue:
            for byte in range(0xF8):
                target = store.run(state, bytes((byte,)))
                if target == arena.NONE:
                    continue
                if target not in back:
                    if len(back) == SEARCHED // 8:
                        return math.inf
                    back[target] = set()
                    queue.append(target)
                back[target].add(state)
        distance = {state: 0 for state in back if store.is_nullable(state)}
        layer = list(distance)
        for state in layer:
            for source in back[state]:
                if source not in distance:
                    distance[source] = distance[state] + 1
                    layer.append(source)
        return max(distance.values(), default=math.inf)
