"""Where a text stands in its grammar, in the grammar's own words: for messages and for people who write grammars.

    situation(matcher)      # terminals that may begin, terminals that may go on, dotted rules, the rules around them

The idea: the records behind a configuration (anatomy.py) have names. A rule in progress is shown with a dot before what
is still to come; groups and repetitions, which are helper rules, are written out again.
Cost: the rules that were reached so far are looked at once a call. Limits: what a schema expands to has names of its
own making; where several alternatives end in what is still to come, what was read of them is not shown.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from constrain.cfg.ebnf import is_helper, written_rule
from constrain.cfg.rules import Nonterminal, Symbol, Terminal
from constrain.cfg.transform.walk import alternatives_of
from constrain.engine import inspect as anatomy
from constrain.engine.automaton import CompiledRules, TokenAutomaton
from constrain.engine.inspect import Item
from constrain.engine.matcher import Matcher
from constrain.kernels.records import view
from constrain.kernels.records.grammars import terminal_expression

DEEPEST = 3  # groups within groups that are written out


class Explanation(NamedTuple):
    """begin: terminals that may come next. go_on: terminals that a lexeme in progress may become.

    rules: dotted rules in progress. around: the named rules that these are in, innermost first.
    """

    begin: list[str]
    go_on: list[str]
    rules: list[str]
    around: list[str]


def explain(matcher: Matcher) -> Explanation:
    """The situation of a matcher of a grammar."""
    automaton = matcher._automaton

    def ask() -> Explanation:
        matcher._follow()
        return _Look(automaton, matcher.compiled.rules).at(matcher._states[-1])

    found: Explanation = automaton.attempt(ask)
    return found


class _Look:
    def __init__(self, automaton: TokenAutomaton, rules: CompiledRules) -> None:
        self.automaton = automaton
        self.names = anatomy.symbols(automaton, rules)

    def at(self, configuration: int) -> Explanation:
        begin: dict[str, None] = {}
        go_on: dict[str, None] = {}
        rules: dict[str, None] = {}
        around: dict[str, None] = {}
        for lexeme in anatomy.lexemes(self.automaton, configuration):
            live = view.terminals_within(self.automaton.A, lexeme.lexer)
            for item in anatomy.scanning(self.automaton, lexeme.parser):
                if terminal_expression(self.automaton.A, item.rest[0]) in live:
                    (begin if lexeme.fresh else go_on)[shown(self.names[item.rest[0]])] = None
                    if not lexeme.fresh:
                        rules[self.dotted(item)] = None
            for item in anatomy.kernel(self.automaton, lexeme.parser):
                if lexeme.fresh and item.origin:
                    rules[self.dotted(item)] = None
                around |= dict.fromkeys(self.path(item))
        return Explanation(list(begin), list(go_on), list(rules), list(around))

    def dotted(self, item: Item) -> str:
        """A rule with a dot before what is still to come."""
        rest = tuple(self.names[record] for record in item.rest)
        rule = self.names.get(item.rule)
        ends = self._ends(rule, rest) or [
            end for other in self.names.values() if other != rule for end in self._ends(other, rest)
        ]  # of a tail call, the rule that was called
        if len(ends) != 1:
            label = "start" if rule is None else base(rule)
            return f"{label}: … • {sequence(rest)}"
        [(owner, before)] = ends
        return f"{base(owner)}: {before + ' ' if before else ''}• {sequence(rest)}"

    @staticmethod
    def _ends(rule: Symbol | None, rest: tuple[Symbol, ...]) -> list[tuple[Symbol, str]]:
        """(rule, what stands before) of its alternatives that end in some symbols."""
        found = []
        for alternative in alternatives_of(rule) if isinstance(rule, Nonterminal) else ():
            cut = len(alternative) - len(rest)
            if cut >= 0 and tuple(alternative[cut:]) == rest:
                helps = is_helper(rule.name)  # type: ignore[union-attr]
                before = [each for each in alternative[:cut] if not (helps and each is rule)]
                found.append((rule, sequence(before)))
        return found  # type: ignore[return-value]

    def path(self, item: Item) -> list[str]:
        """The named rules around an item, innermost first, on one way to the top."""
        found: list[str] = []
        seen = set()
        while item.origin and (item.rule, item.origin) not in seen:
            seen.add((item.rule, item.origin))
            found.append(base(self.names[item.rule]))
            waiting = [each for each in anatomy.waiting(self.automaton, item.origin) if each.rest[0] == item.rule]
            waiting = [each for each in waiting if (each.rule, each.origin) not in seen]
            if not waiting:
                break
            item = min(waiting, key=lambda each: each.origin)
        return found


# --- symbols as a person wrote them -----------------------------------------------------------------------------------


def base(symbol: Symbol) -> str:
    """The name of a rule; of a helper rule, that of the rule it was made for."""
    return written_rule(symbol.name)


def shown(symbol: Symbol, depth: int = 0) -> str:
    """A symbol in the words of its grammar; a helper rule as the group or repetition that it stands for."""
    if isinstance(symbol, Terminal) or not is_helper(symbol.name) or "~" in symbol.name:
        return symbol.name or "(a lexeme)"
    if symbol.name.endswith("#"):  # the rule itself, but for what repeats it (`analysis.left_associative`)
        return base(symbol)
    if depth == DEEPEST:
        return "(…)"
    alternatives = [list(alternative) for alternative in alternatives_of(symbol)]
    repeated = [each[1:] for each in alternatives if each[:1] == [symbol]]
    parts = repeated or [each for each in alternatives if each]
    inner = " | ".join(sequence(part, depth + 1) for part in parts)
    if repeated:
        return f"({inner})" + ("*" if [] in alternatives else "+")
    return f"[{inner}]" if [] in alternatives else f"({inner})"


def sequence(symbols: Sequence[Symbol], depth: int = 0) -> str:
    """Symbols, one after the other."""
    return " ".join(shown(symbol, depth) for symbol in symbols)
