"""Lint for grammar texts: likely mistakes, as sentences for the author.

    for finding in lint(constraint): print(finding.kind, finding.message)

In order: the findings of reading (rules out of reach, rules that derive nothing, neighbours that can never meet under
`lexer="greedy"`), terminals that are never used, rules that derive themselves with nothing added, terminals that are
shadowed by others, and, if no rule derives itself, one ambiguous form.

Cost: the search for ambiguity takes up to `seconds`; shadowed terminals cost one test of inclusion for each pair.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from constrain.errors import LimitError
from constrain.languages.automata import syntax
from constrain.languages.automata.quotient import spelled
from constrain.languages.cfg.ebnf import is_helper, to_nonterminals, to_table, written_rule
from constrain.languages.cfg.rules import Grammar, Nonterminal, Terminal
from constrain.languages.cfg.transform import analysis
from constrain.languages.cfg.transform.analysis import empty_node
from constrain.languages.cfg.transform.walk import Alternatives, reachable
from constrain.languages.grammar_text.text import GrammarText
from constrain.reports.ambiguity import Ambiguity, find_ambiguity, loops

MAX_RULES = 10_000  # helper rules count too
MAX_COMPARED = 300  # terminals of a grammar up to which they are compared
_TERMINAL = re.compile(r"^([_A-Z][_A-Z0-9]*)(?:\.-?\d+)?\s*:", re.MULTILINE)
_COMMENT = re.compile(r"^\s*(//|#).*$", re.MULTILINE)


class Finding(NamedTuple):
    """A likely mistake in a grammar.

    Attributes:
        kind: "reading", "unused", "loop", "shadowed" or "ambiguous".
        message: One sentence.
        ambiguity: The proof, for the kind "ambiguous".
    """

    kind: str
    message: str
    ambiguity: Ambiguity | None = None


def lint(constraint: GrammarText, *, seconds: float = 5.0) -> list[Finding]:
    """List the likely mistakes in a grammar text; `seconds` limits the search for ambiguity.

    Raises:
        GrammarError, UnsatisfiableError: The grammar cannot be read.
        LimitError: It has more than 10,000 rules.
    """
    grammar = constraint.to_grammar()
    table = reachable(as_written(constraint), MAX_RULES)
    if table is None:
        raise LimitError(f"the grammar has more than {MAX_RULES} rules", fix="lint its parts")
    findings = [Finding("reading", message) for message in constraint.findings]
    if constraint.format == "lark":
        findings += [Finding("unused", f"terminal {name} is never used") for name in unused_terminals(constraint.text)]
    findings += [Finding("loop", message) for message in _loops(table)]
    if grammar.lexer == "greedy":
        findings += [Finding("shadowed", message) for message in shadowed(grammar, table)]
    endless = any(finding.kind == "loop" for finding in findings)  # everything would be ambiguous
    ambiguity = None if endless else find_ambiguity(table, seconds=seconds)
    if ambiguity is not None:
        name = written_rule(ambiguity.rule.name)
        form = " ".join(symbol.name for symbol in ambiguity.form) or "the empty text"
        message = f"rule {name} reads {form} in two ways: {ambiguity.trees[0]} and {ambiguity.trees[1]}"
        findings.append(Finding("ambiguous", message, ambiguity))
    return findings


def as_written(constraint: GrammarText) -> Nonterminal:
    """The start symbol of the rules as they are in the text; the engine's rules are rewritten (`left_associative`)."""
    reading = constraint.reading
    table = analysis.without_unproductive(to_table(reading.rules))
    if constraint.layout is not None or any(terminal.contexts for terminal in analysis.terminals(table)):
        return reading.grammar.start
    return to_nonterminals(table, reading.start, analysis.right_recursive_rules(table))


def unused_terminals(text: str) -> list[str]:
    """The terminals of a Lark text that only their own definitions name."""
    plain = _COMMENT.sub("", text)
    names = list(dict.fromkeys(_TERMINAL.findall(plain)))
    return [name for name in names if len(re.findall(rf"(?<![A-Z0-9_]){name}(?![A-Z0-9_])", plain)) == 1]


def _loops(table: dict[Nonterminal, Alternatives]) -> list[str]:
    names = dict.fromkeys(nonterminal.name for nonterminal in loops(table))
    messages = []
    for name in names:
        if is_helper(name):
            owner = written_rule(name)
            messages.append(f"rule {owner} repeats something that may be nothing: a text has endlessly many readings")
        else:
            messages.append(f"rule {name} derives itself with nothing added: a text has endlessly many readings")
    return list(dict.fromkeys(messages))


def shadowed(grammar: Grammar, table: dict[Nonterminal, Alternatives]) -> list[str]:
    """Messages about terminals that lose every tie: all of their texts are texts of a terminal that ranks higher."""
    symbols = (symbol for alternatives in table.values() for alternative in alternatives for symbol in alternative)
    terminals = list(dict.fromkeys(symbol for symbol in symbols if isinstance(symbol, Terminal)))
    terminals += [terminal for terminal in grammar.ignore if terminal not in terminals]
    if len(terminals) > MAX_COMPARED:
        return []
    pairs = ((one, other) for one in terminals for other in terminals)
    return [
        f"terminal {one.name} is never chosen where {other.name} may come too: "
        "each of its texts is one of that, which ranks higher"
        for one, other in pairs
        if (other.priority, other.literal) > (one.priority, one.literal) and _contains(other, one)
    ]


def _contains(large: Terminal, small: Terminal) -> bool:
    """True if every text of the small terminal is one of the large terminal."""
    return empty_node(syntax.difference(spelled(small.node), spelled(large.node)))
