"""RuleStates: the rules that a text may be in, for every way to read it with marks around the texts of followed rules.

The idea: a second grammar has a mark where the text of a followed rule begins, and one where it ends (marked.py). A
*rule configuration* is a configuration of that grammar, with the rules that are open and the tokens that each of them
has had. A mark may be read wherever one is possible, so a text has several rule configurations; a *rule state* is the
set of them, as a number. A rule configuration is dropped where a rule would have more tokens than its budget, or cannot
end with the tokens that are left.

Everything here is called under the automaton's lock, and every number is forgotten when the automaton forgets its own.
Cost: dictionaries; some microseconds for each byte that is new.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from constrain.errors import GrammarError, LimitError
from constrain.kernels.records import arena
from constrain.languages.cfg.followed import FollowedRule, bracket
from constrain.languages.cfg.rules import Grammar, Nonterminal, Terminal
from constrain.languages.vocab.tables import PerVocabulary
from constrain.languages.vocab.vocabulary import Vocabulary
from constrain.masks.engine.automaton import TokenAutomaton
from constrain.masks.engine.compiled_rules import CompiledRules
from constrain.masks.engine.followed.marked import SEARCHED, MarkedAutomaton

MAX_CONFIGURATIONS = 1000  # of one text
MAX_STATES = 100_000  # that are remembered
NO_STATE = -1


class OpenRule(NamedTuple):
    """A rule that a text is in.

    Attributes:
        rule: Its number.
        used: The tokens that it has had; 0 where it has no budget.
        counted: The token that is being read is one of them.
    """

    rule: int
    used: int = 0
    counted: bool = False


RuleConfiguration = tuple[int, tuple[OpenRule, ...]]  # (configuration of the marked grammar, open rules)


class RuleStates:
    """The rule states of one marked grammar.

    Args:
        grammar: The grammar with marks.
        rules: The followed rules, in the order of their marks.
        automaton: The automaton of marked texts. It knows the marks (`VocabularyLayout.mention`).

    Raises:
        GrammarError: A rule cannot end within its budget.

    Attributes:
        marked: The automaton of the marked grammar.
        epoch: How often all numbers were forgotten.
        sets: The rule configurations of each rule state.
    """

    def __init__(self, grammar: Grammar, rules: tuple[FollowedRule, ...], automaton: TokenAutomaton) -> None:
        self.rules = rules
        self.automaton = automaton
        self.marked = MarkedAutomaton(automaton, grammar, rules)
        self.epoch = self._known_epoch = -1
        self._forget()
        for i in range(len(rules)):
            self._check_budget(i)

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
            opened = self.marked.first_of(i, alone)
            by_bytes = self.marked.bytes_to_end(opened, i, most) <= most
            return by_bytes or self._ends_by_tokens((opened, (OpenRule(i),)), 0, most)

        if not self.automaton.attempt(ends):
            message = f"max_tokens={most} is too small: the rule has no text of so few tokens"
            raise GrammarError(message, place=rule.place, fix="raise it")

    def _forget(self) -> None:
        """Forget everything that depends on the automaton's numbers."""
        self.epoch += 1
        self._known_epoch = self.automaton.epoch
        self.marked.forget()
        self.sets: list[tuple[RuleConfiguration, ...]] = []
        self._numbers: dict[tuple[RuleConfiguration, ...], int] = {}
        # (rule state, byte) -> (rule state, whether a budget dropped a rule configuration); and at the end of a token
        self._after_byte: dict[int, tuple[int, bool]] = {}
        self._after_token: dict[int, tuple[int, bool]] = {}

    def follow(self) -> None:
        """Forget what the automaton has forgotten. Called under its lock."""
        if self._known_epoch != self.automaton.epoch or len(self.sets) > MAX_STATES:
            self._forget()

    def first(self) -> int:
        """The rule state before the first byte."""
        return self._number(self._closed({(self.marked.first(), ()): None}))

    def token(self, state: int, text: bytes) -> tuple[int, bool]:
        """(rule state after a token, whether a budget dropped a rule configuration); NO_STATE: none is left."""
        is_cut = False
        for byte in text:
            state, cut = self._byte(state, byte)
            is_cut |= cut
            if state == NO_STATE:
                return NO_STATE, is_cut
        state, cut = self._end_of_token(state)
        return state, is_cut or cut

    def _byte(self, state: int, byte: int) -> tuple[int, bool]:
        """`token` for one byte of a token."""
        key = state << 8 | byte
        known = self._after_byte.get(key)
        if known is None:
            after: dict[RuleConfiguration, None] = {}
            is_cut = False
            for configuration, opens in self.sets[state]:
                target = self.marked.step(configuration, byte)
                if target == arena.NONE:
                    continue
                counted = tuple(map(self._counted, opens))
                if any(self.left(rule) < 0 for rule in counted):
                    is_cut = True
                else:
                    after[target, counted] = None
            known = self._after_byte[key] = self._number(self._closed(after)), is_cut
        return known

    def _counted(self, rule: OpenRule) -> OpenRule:
        """An open rule after a byte of its text."""
        if rule.counted or self.rules[rule.rule].max_tokens is None:
            return rule
        return OpenRule(rule.rule, rule.used + 1, True)

    def left(self, rule: OpenRule) -> float:
        """The tokens that an open rule may still have."""
        most = self.rules[rule.rule].max_tokens
        return math.inf if most is None else most - rule.used

    def _end_of_token(self, state: int) -> tuple[int, bool]:
        """`token` for the end of a token: rules must be able to end with the tokens that are left."""
        known = self._after_token.get(state)
        if known is None:
            kept: dict[RuleConfiguration, None] = {}
            is_cut = False
            for configuration, opens in self.sets[state]:
                if all(self._can_end((configuration, opens), depth) for depth in range(len(opens))):
                    kept[configuration, opens] = None
                else:
                    is_cut = True
            known = self._after_token[state] = self._between(kept), is_cut
        return known

    def _between(self, rule_configurations: dict[RuleConfiguration, None]) -> int:
        """The rule state of some rule configurations between two tokens."""
        return self._number(
            {(configuration, tuple(rule._replace(counted=False) for rule in opens)): None
             for configuration, opens in rule_configurations}
        )  # fmt: skip

    def _can_end(self, rule_configuration: RuleConfiguration, depth: int) -> bool:
        """True if an open rule of a rule configuration can end with the tokens that are left."""
        configuration, opens = rule_configuration
        rule = opens[depth]
        left = self.left(rule)
        if left >= self.marked.ends[rule.rule][1] or rule.used == 0:
            return True
        return self.marked.bytes_to_end(configuration, rule.rule, int(left)) <= left or self._ends_by_tokens(
            rule_configuration, depth, int(left)
        )

    def _closed(self, rule_configurations: dict[RuleConfiguration, None]) -> dict[RuleConfiguration, None]:
        """The closure of rule configurations over marks."""
        queue = list(rule_configurations)
        for configuration, opens in queue:  # it grows
            for rule, begins, target in self.marked.marks_at(configuration):
                if not begins:
                    assert opens and opens[-1].rule == rule, "marks are nested like rules"
                after = target, ((*opens, OpenRule(rule)) if begins else opens[:-1])
                if after not in rule_configurations:
                    if len(queue) == MAX_CONFIGURATIONS:
                        raise LimitError(
                            f"a text can be read in more than {MAX_CONFIGURATIONS} ways with respect to followed rules",
                            place=self.rules[rule].place,
                            fix="make the grammar less ambiguous",
                        )
                    rule_configurations[after] = None
                    queue.append(after)
        return rule_configurations

    def _number(self, rule_configurations: dict[RuleConfiguration, None]) -> int:
        """The rule state of some rule configurations; NO_STATE for none.

        Of equal configurations it keeps the one with the fewest tokens used.
        """
        if not rule_configurations:
            return NO_STATE
        best: dict[tuple[int, tuple[int, ...]], RuleConfiguration] = {}
        for configuration, opens in rule_configurations:  # at most one open rule has a budget
            key = configuration, tuple(rule.rule for rule in opens)
            if key not in best or opens < best[key][1]:
                best[key] = configuration, opens
        members = tuple(sorted(best.values()))
        number = self._numbers.get(members)
        if number is None:
            number = self._numbers[members] = len(self.sets)
            self.sets.append(members)
        return number

    def _ends_by_tokens(self, rule_configuration: RuleConfiguration, depth: int, most: int) -> bool:
        """True if at most so many tokens end an open rule; the last one may run over its end."""
        layer = {self._between({rule_configuration: None})}
        seen: set[int] = set()
        for tokens in range(1, most + 1):
            after: set[int] = set()
            for state in layer:
                for target in self.walk(state, ended=False).values():
                    if any(self._has_left(rule_configuration, depth, tokens, opens) for _, opens in self.sets[target]):
                        return True
                    after.add(self._between(dict.fromkeys(self.sets[target])))
            layer = after - seen
            seen |= layer
            if len(seen) > SEARCHED:
                rule = self.rules[rule_configuration[1][depth].rule]
                message = f"whether the rule can end within max_tokens={rule.max_tokens} takes too long to find out"
                raise LimitError(message, place=rule.place, fix="raise max_tokens, or let the rule end earlier")
        return False

    @staticmethod
    def _has_left(rule_configuration: RuleConfiguration, depth: int, tokens: int, opens: tuple[OpenRule, ...]) -> bool:
        """True if rules that are open after some more tokens lack the one at a depth of a rule configuration."""
        rule = rule_configuration[1][depth]
        return len(opens) <= depth or (opens[depth].rule, opens[depth].used) != (rule.rule, rule.used + tokens)

    def walk(self, state: int, ended: bool = True) -> dict[int, int]:
        """token -> rule state after it, of the tokens that leave one; of equal tokens the lowest.

        ended: rules must be able to end with the tokens that are left.
        """
        trie = TrieLists.of(self.automaton.vocabulary)
        stack = [state] * (trie.depths + 1)
        targets: dict[int, int] = {}
        i = 0
        while i < len(trie.byte):
            after, _ = self._byte(stack[trie.depth[i] - 1], trie.byte[i])
            if after == NO_STATE:
                i = trie.end[i]
                continue
            stack[trie.depth[i]] = after
            if trie.token[i] >= 0:
                target = self._end_of_token(after)[0] if ended else after
                if target != NO_STATE:
                    targets[trie.token[i]] = target
            i += 1
        return targets

    def accepts(self, state: int) -> bool:
        """True if the text may end: some rule configuration is complete."""
        return any(self.marked.accepts(configuration) for configuration, opens in self.sets[state] if not opens)


class TrieLists(PerVocabulary):
    """The trie of a vocabulary as lists, whose items Python reads faster than those of arrays."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        trie = vocabulary.trie
        self.byte, self.depth, self.end = trie.byte.tolist(), trie.depth.tolist(), trie.end.tolist()
        self.token, self.next_same = trie.token.tolist(), trie.next_same.tolist()
        self.depths = trie.max_depth
