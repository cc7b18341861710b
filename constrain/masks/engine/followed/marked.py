"""MarkedAutomaton: steps of a grammar with marks around the texts of followed rules (cfg/followed.py).

Everything here is called under the automaton's lock, and every number is forgotten when the automaton forgets its own.
Cost: dictionaries; some microseconds for each byte that is new.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from constrain.kernels.parser import advance, configurations
from constrain.kernels.records import arena
from constrain.languages.automata.decide import shared_store
from constrain.languages.automata.lower import lower
from constrain.languages.automata.marks import MARK, mark
from constrain.languages.automata.memory import words_of
from constrain.languages.automata.syntax import Node
from constrain.languages.cfg.followed import FollowedRule, bracket, most_to_end
from constrain.languages.cfg.rules import Grammar
from constrain.languages.vocab.utf8 import FOLLOWING
from constrain.masks.engine.automaton import TokenAutomaton
from constrain.masks.engine.compiled_rules import CompiledRules

SEARCHED = 2000  # states in which the end of a rule is sought
TEXT = {*range(0xC0), *range(0xC2, 0xF5)}  # the bytes of UTF-8


class MarkedAutomaton:
    """The configurations of one grammar with marks.

    Args:
        automaton: The automaton of marked texts. It knows the marks (`VocabularyLayout.mention`).
        grammar: The grammar with marks.
        rules: The followed rules, in the order of their marks.

    Attributes:
        ends: For each rule upper bounds of the bytes that end its text: (at the end of a character, anywhere).
    """

    def __init__(self, automaton: TokenAutomaton, grammar: Grammar, rules: tuple[FollowedRule, ...]) -> None:
        self.automaton = automaton
        self._compiled = CompiledRules(grammar, -1)
        self._marks = [(i, opens, words_of(mark(bracket(i, opens)[1]))) for i in range(len(rules))
                       for opens in (True, False)]  # fmt: skip
        self._bytes = {text[0] for text in automaton.vocabulary.tokens if text and len(text) == 1}
        self.ends = [self._ends_of(rule) for rule in rules]
        self.forget()

    def _ends_of(self, rule: FollowedRule) -> tuple[float, float]:
        """Upper bounds of the bytes that end a rule's text: (at the end of a character, anywhere)."""
        if rule.body is None:
            return 0, 0
        if not self._bytes >= TEXT:
            return math.inf, math.inf
        rest = most_to_end(rule.body)[1]
        rest = _searched_end(rule.body) if rest == math.inf else rest
        return rest, rest + FOLLOWING

    def forget(self) -> None:
        """Forget everything that depends on the automaton's numbers."""
        self._steps: dict[tuple[int, int], int] = {}  # (configuration, byte) -> configuration
        self._opened: dict[int, list[tuple[int, bool, int]]] = {}  # configuration -> marks that it may read
        self._to_end: dict[tuple[int, int], float] = {}
        self._going: dict[int, bool] = {}

    def first(self) -> int:
        """The configuration before the first byte."""
        return self.automaton.start(self._compiled)

    def first_of(self, i: int, alone: CompiledRules) -> int:
        """The configuration behind the first mark of a grammar that has one rule alone. i: its number."""
        return self._after(self.automaton.start(alone), self._marks[2 * i][2])

    def step(self, configuration: int, byte: int) -> int:
        """The configuration after a byte; `arena.NONE` if it is not allowed."""
        target = self._steps.get((configuration, byte))
        if target is None:
            target = self._steps[configuration, byte] = self._after(configuration, np.array([byte], np.int32))
        return target

    def _after(self, configuration: int, text: NDArray[np.int32]) -> int:
        return self.automaton.memory.call(advance.advance_bytes, configuration, text) & advance.STATE

    def marks_at(self, configuration: int) -> list[tuple[int, bool, int]]:
        """The marks that may come next: (rule, whether it begins, configuration after the mark)."""
        marks = self._opened.get(configuration)
        if marks is None:
            marks = []
            if self.step(configuration, MARK) != arena.NONE:
                after = ((rule, begins, self._after(configuration, words)) for rule, begins, words in self._marks)
                marks = [(rule, begins, target) for rule, begins, target in after if target != arena.NONE]
            self._opened[configuration] = marks
        return marks

    def goes_on(self, configuration: int) -> bool:
        """True if a byte or a token may come next, before any mark."""
        known = self._going.get(configuration)
        if known is None:
            known = any(self.step(configuration, byte) != arena.NONE for byte in range(MARK))
            if not known:
                words = np.zeros((self.automaton.layout.size + 31) // 32, np.uint32)
                self.automaton.memory.call(self.automaton.kernels.fill_mask, configuration, words)
                known = bool(words.any())
            self._going[configuration] = known
        return known

    def accepts(self, configuration: int) -> bool:
        """True if the text may end."""
        return bool(self.automaton.memory.call(configurations.accepts, configuration))

    def bytes_to_end(self, configuration: int, rule: int, most: int) -> float:
        """The single bytes that are needed to end a rule, if at most `most` are; math.inf: more."""
        known = self._to_end.get((configuration, rule))
        if known is None:
            known = self._search(configuration, rule, most)
            if known <= most:
                self._to_end[configuration, rule] = known
        return known

    def _search(self, configuration: int, rule: int, most: int) -> float:
        """The bytes from a configuration to one where the rule may end, breadth first; math.inf: more than `most`."""
        layer, seen = {configuration: None}, {configuration}
        for steps in range(most + 1):
            layer = self._with_inner_marks(layer, rule)
            if any(at == rule and not begins for one in layer for at, begins, _ in self.marks_at(one)):
                return steps
            targets = (self.step(one, byte) for one in layer for byte in self._bytes)
            layer = {target: None for target in targets if target != arena.NONE and target not in seen}
            seen |= layer.keys()
            if not layer or len(seen) > SEARCHED:
                break
        return math.inf

    def _with_inner_marks(self, layer: dict[int, None], rule: int) -> dict[int, None]:
        """Configurations with marks of other rules read, which may stand inside of the rule."""
        queue = list(layer)
        for configuration in queue:
            for at, _, target in self.marks_at(configuration):
                if at != rule and target not in layer:
                    layer[target] = None
                    queue.append(target)
        return layer


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
