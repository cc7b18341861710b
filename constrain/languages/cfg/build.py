"""Makes a `Grammar` from a reader's rules: the checks and rewrites that all grammar formats share.

In order: lower the rules to a table; drop unproductive alternatives; refuse an unproductive start rule; drop
unreachable rules; find right-recursive rules; find terminals that cannot meet under `lexer="greedy"`.
`GrammarReading.findings` names whatever was dropped or is doubtful.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from constrain.errors import UnsatisfiableError
from constrain.languages.automata.syntax import Node
from constrain.languages.cfg.ebnf import AnyOrder, Expression, Table, to_nonterminals, to_table
from constrain.languages.cfg.followed import FollowedRule, bracketed, checked
from constrain.languages.cfg.layout import Layout
from constrain.languages.cfg.rules import Grammar, Lexer, Terminal
from constrain.languages.cfg.transform import analysis
from constrain.languages.cfg.transform.fold import fold, reachable

MAX_SEARCHED = 1_000_000  # rules times terminals; in larger grammars pairs of terminals are not examined


@dataclass(frozen=True)
class CaptureRule:
    """A rule with captures: the parts of its texts that a matcher reports.

    Attributes:
        name: The name of what is captured; None: nothing but the suffix.
        body: The texts before the suffix.
        suffix: The suffix, which is not captured; None: there is none.
        suffix_name: The name under which the suffix is captured.
    """

    name: str | None
    body: Node | None = None
    suffix: Node | None = None
    suffix_name: str | None = None


@dataclass(frozen=True)
class GrammarReading:
    """The result of reading a grammar text.

    Attributes:
        grammar: For the engine.
        rules: The rules as written, for rewrites such as `fold`.
        start: The name of the start rule.
        findings: Sentences about what was dropped or is doubtful.
        captures: What is captured of rules (transform/captures.py), by their names.
        followed: The rules whose tokens matter, by their names.
        bracketed: The grammar with marks around the texts of these rules; None if there are none.
    """

    grammar: Grammar
    rules: Mapping[str, Expression]
    start: str
    findings: tuple[str, ...]
    captures: Mapping[str, CaptureRule] = field(default_factory=dict)
    followed: Mapping[str, FollowedRule] = field(default_factory=dict)
    bracketed: Grammar | None = None


def with_followed(
    reading: GrammarReading,
    followed: Mapping[str, FollowedRule],
    make: Callable[[Mapping[str, Expression]], GrammarReading],
) -> GrammarReading:
    """The reading of a grammar some of whose rules are followed. make: reads the rules with marks.

    Raises GrammarError: `checked`.
    """
    reached = reachable(reading.rules, reading.start)
    followed = {name: rule for name, rule in followed.items() if name in reached}
    if not followed:
        return reading
    followed = checked(reading.rules, followed)
    grammar = replace(reading.grammar, watched=True)
    marked = make(bracketed(reading.rules, followed)).grammar
    return replace(reading, grammar=grammar, followed=followed, bracketed=marked)


def build(
    rules: Mapping[str, Expression],
    start: str,
    *,
    ignore: tuple[Terminal, ...] = (),
    lexer: Lexer = "dynamic",
    folded: bool = False,
    place: Callable[[str], str | None],
    layout: Layout | None = None,
    any_order: Mapping[str, AnyOrder] = MappingProxyType({}),
) -> GrammarReading:
    """Check the rules and make the grammar.

    Args:
        rules: The rules by name; every `Ref` names one of them.
        start: The name of the start rule.
        ignore: Terminals that are ignored between lexemes.
        lexer: See `Grammar`.
        folded: Make single terminals of regular pieces; `fold` says when that keeps the language.
        place: Draws the place where a rule is defined, for errors.
        layout: The meaning of lines and columns. Its declared terminals have definitions in `rules`
            (`LarkRules.reading_with_layout`).
        any_order: What rules mean that are written in one of several orders.

    Returns:
        The grammar with its rules and findings.

    Raises:
        UnsatisfiableError: No text is a member.
    """
    written = to_table(rules)
    table = analysis.without_unproductive(written)
    if start not in table:
        raise UnsatisfiableError(
            f"the start rule {start!r} derives no text: {_culprit(written, table, start)}",
            place=place(start),
            fix="give the rule an alternative that ends the recursion",
        )
    reached = reachable(rules, start)
    findings = _unproductive(written, table, rules)
    findings += [f"rule {name} is not reachable from {start}" for name in rules if name not in reached]
    if folded:
        kept_apart = frozenset(any_order).union(*((*each.items, *each.others) for each in any_order.values()))
        table = analysis.without_unproductive(to_table(fold(rules, kept=kept_apart)))
    kept = analysis.reachable_rules(table, start)
    table = analysis.left_associative({name: table[name] for name in table if name in kept})
    ignore = tuple(terminal for terminal in ignore if not analysis.empty_node(terminal.node))
    if lexer == "greedy":
        findings += _about_lexing(table, ignore, () if layout is None else layout.declared)
    right_recursive = analysis.right_recursive_rules(table)
    if layout is not None:
        from constrain.languages.cfg.transform.indentation import apply_layout

        grammar = apply_layout(table, start, layout, ignore, right_recursive, place)
    else:
        grammar = Grammar(to_nonterminals(table, start, right_recursive, any_order), ignore, lexer)
    return GrammarReading(grammar, rules, start, tuple(findings))


def _about_lexing(table: Table, ignore: tuple[Terminal, ...], declared: Sequence[str]) -> list[str]:
    """Sentences about terminals that `lexer="greedy"` makes impossible.

    declared: terminals of a layout, which the layout rewrites and which are therefore skipped.
    """
    lost = [
        f"{lower.name} is not taken under lexer='greedy' where {higher.name} may stand: both have the same texts"
        for higher, lower in analysis.outranked(table, ignore)
        if not {higher.name, lower.name} & {*declared}
    ]
    if len(table) * len(analysis.terminals(table)) > MAX_SEARCHED:
        return [*lost, "whether terminals can follow each other under lexer='greedy' was not examined: too many rules"]
    return [
        f"{b.name} can never directly follow {a.name} under lexer='greedy': the longest {a.name} runs into it"
        for a, b in analysis.swallowed_pairs(table, ignore)
        if not {a.name, b.name} & {*declared}
    ] + lost


def _culprit(written: Table, table: Table, start: str) -> str:
    """The sentence that says why the start rule derives no text."""
    names = [name for name in analysis.reachable_rules(written, start) if name not in table and "#" not in name]
    if names == [start]:
        return "every alternative contains the rule itself, or a terminal that matches nothing"
    return f"its alternatives all need one of {', '.join(sorted(names))}, and each of these needs another of them"


def _unproductive(written: Table, table: Table, rules: Mapping[str, Expression]) -> list[str]:
    dropped = [name for name in rules if name not in table]
    reduced = [name for name in rules if name in table and len(table[name]) < len(written[name])]
    return [f"rule {name} derives no text; alternatives that use it were dropped" for name in dropped] + [
        f"rule {name}: an alternative that derives no text was dropped" for name in reduced
    ]
