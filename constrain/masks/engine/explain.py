"""Explains the position of a matcher in its grammar, with the grammar's own names, for error messages.

    explain(matcher)      # terminals that may begin or continue, dotted rules, the rules around them

The idea: the records of a configuration (inspect.py) have names. An incomplete rule is shown with a dot before the
symbols that are still to come. Helper rules of groups and repetitions are written out again.
Cost: visits all rules that were reached so far, once a call. Limits: the names of a schema's rules are generated. If
several alternatives end with the same symbols after the dot, the symbols before it are not shown.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from constrain.kernels.records import view
from constrain.kernels.records.grammars import TERMINAL
from constrain.languages.cfg.ebnf import is_helper, written_rule
from constrain.languages.cfg.rules import Nonterminal, Symbol, Terminal
from constrain.languages.cfg.transform.walk import alternatives_of
from constrain.masks.engine import inspect
from constrain.masks.engine.automaton import TokenAutomaton
from constrain.masks.engine.compiled_rules import CompiledRules
from constrain.masks.engine.inspect import Item
from constrain.masks.engine.matcher import Matcher

DEEPEST = 3  # nested groups that are written out


class Explanation(NamedTuple):
    """The position of a matcher in its grammar.

    Attributes:
        begin: The terminals that may come next.
        go_on: The terminals that the open lexeme may become.
        rules: The incomplete rules, with a dot.
        around: The names of the rules around them, innermost first.
    """

    begin: list[str]
    go_on: list[str]
    rules: list[str]
    around: list[str]


def explain(matcher: Matcher) -> Explanation:
    """The position of a matcher in its grammar."""
    compiled = matcher.compiled
    return matcher.locked(lambda configuration: _Explainer(compiled.automaton, compiled.rules).at(configuration))


class _Explainer:
    """Explains configurations of one grammar. names: record -> symbol, of the configuration that is explained."""

    def __init__(self, automaton: TokenAutomaton, rules: CompiledRules) -> None:
        self.automaton, self.rules = automaton, rules
        self.names: dict[int, Symbol] = {}

    def at(self, configuration: int) -> Explanation:
        """The explanation of a configuration."""
        begin: dict[str, None] = {}
        go_on: dict[str, None] = {}
        rules: dict[str, None] = {}
        around: dict[str, None] = {}
        lexemes = inspect.lexemes(self.automaton, configuration)
        self.names = inspect.symbols(self.automaton, self.rules)  # after lexemes, whose ends may expand more rules
        for lexeme in lexemes:
            live = view.terminals_within(self.automaton.memory.A, lexeme.lexer)
            for item in inspect.scanning(self.automaton, lexeme.parser):
                if TERMINAL.EXPRESSION(self.automaton.memory.A, item.rest[0]) in live:
                    (begin if lexeme.fresh else go_on)[shown(self.names[item.rest[0]])] = None
                    if not lexeme.fresh:
                        rules[self.dotted(item)] = None
            for item in inspect.kernel(self.automaton, lexeme.parser):
                if lexeme.fresh and item.origin:
                    rules[self.dotted(item)] = None
                around |= dict.fromkeys(self.path(item))
        return Explanation(list(begin), list(go_on), list(rules), list(around))

    def dotted(self, item: Item) -> str:
        """The rule of an item, with a dot before the symbols that are still to come."""
        rest = tuple(self.names[record] for record in item.rest)
        rule = self.names.get(item.rule)
        ends = self._ends(rule, rest) or [
            end for other in self.names.values() if other != rule for end in self._ends(other, rest)
        ]  # right recursion keeps only the outer rule: find the rule that ends so
        if len(ends) != 1:
            label = "start" if rule is None else base(rule)
            return f"{label}: … • {sequence(rest)}"
        [(owner, before)] = ends
        return f"{base(owner)}: {before + ' ' if before else ''}• {sequence(rest)}"

    @staticmethod
    def _ends(rule: Symbol | None, rest: tuple[Symbol, ...]) -> list[tuple[Symbol, str]]:
        """(rule, symbols before) for each alternative of a rule that ends with some symbols."""
        ends = []
        for alternative in alternatives_of(rule) if isinstance(rule, Nonterminal) else ():
            cut = len(alternative) - len(rest)
            if cut >= 0 and tuple(alternative[cut:]) == rest:
                helps = is_helper(rule.name)  # type: ignore[union-attr]
                before = [symbol for symbol in alternative[:cut] if not (helps and symbol is rule)]
                ends.append((rule, sequence(before)))
        return ends  # type: ignore[return-value]

    def path(self, item: Item) -> list[str]:
        """The names of the rules around an item, innermost first, on one path to the start rule."""
        names: list[str] = []
        seen = set()
        while item.origin and (item.rule, item.origin) not in seen:
            seen.add((item.rule, item.origin))
            names.append(base(self.names[item.rule]))
            waiting = inspect.waiting(self.automaton, item.origin, item.rule)
            waiting = [outer for outer in waiting if (outer.rule, outer.origin) not in seen]
            if not waiting:
                break
            item = min(waiting, key=lambda outer: outer.origin)
        return names


# --- symbols in the notation of the grammar ---------------------------------------------------------------------------


def base(symbol: Symbol) -> str:
    """The name of a rule; for a helper rule, the name of the rule that it was made for."""
    return written_rule(symbol.name)


def shown(symbol: Symbol, depth: int = 0) -> str:
    """A symbol in the notation of its grammar; a helper rule is shown as a group or repetition."""
    if isinstance(symbol, Terminal) or not is_helper(symbol.name) or "~" in symbol.name:
        return symbol.name or "(a lexeme)"
    if symbol.name.endswith("#"):  # a rule's alternatives without the recursive ones (`analysis.left_associative`)
        return base(symbol)
    if depth == DEEPEST:
        return "(…)"
    alternatives = [list(alternative) for alternative in alternatives_of(symbol)]
    repeated = [symbols[1:] for symbols in alternatives if symbols[:1] == [symbol]]
    parts = repeated or [symbols for symbols in alternatives if symbols]
    inner = " | ".join(sequence(part, depth + 1) for part in parts)
    if repeated:
        return f"({inner})" + ("*" if [] in alternatives else "+")
    return f"[{inner}]" if [] in alternatives else f"({inner})"


def sequence(symbols: Sequence[Symbol], depth: int = 0) -> str:
    """A sequence of symbols in the notation of the grammar."""
    return " ".join(shown(symbol, depth) for symbol in symbols)
