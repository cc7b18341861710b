"""The reading edition (`docs/reading.py`) as the oracle of tests: the library's trees and grammars in its terms.

It shares no line with what it judges. Members and prefixes are exact, but for prefixes under the greedy lexer: there
one may be alive that only a text continues in which another lexeme is longer. Slow: for small grammars, short texts.
"""

import sys
from collections.abc import Iterable, Iterator
from functools import lru_cache, partial, reduce
from itertools import product
from pathlib import Path

from constrain.languages.automata import syntax
from constrain.languages.automata.syntax import Node
from constrain.languages.cfg.rules import Grammar, Nonterminal, Symbol, Terminal

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "docs"))
import reading
from reading import Language, Regex

PLAIN = partial(reading.in_json, plain=True)


# --- in its terms -----------------------------------------------------------------------------------------------------


@lru_cache(50_000)  # parts are shared by many languages
def regex(node: Node, spelling: reading.Spelling = reading.utf8) -> Regex:
    """The language of a syntax tree."""
    parts = [regex(part, spelling) for part in node.args if isinstance(part, Node) and type(node) in JOINED]
    match node:
        case syntax.Chars():
            return spelling(node.ranges)
        case syntax.Literals():
            return reading.either(*(reading.text(text, spelling) for text in node.texts))
        case syntax.Repeat():
            return reading.repeat(parts[0], node.low, node.high)
        case syntax.Complement():
            return reading.both(reading.negation(parts[0]), reading.any_text(spelling))
        case syntax.Acyclic():
            return _acyclic(node, spelling)
        case syntax.JsonString():
            quote = reading.text('"')
            return reading.cat(quote, regex(node.node, PLAIN if node.plain else reading.in_json), quote)
    return JOINED[type(node)](*parts)


JOINED = {syntax.Concat: reading.cat, syntax.Alternate: reading.either, syntax.Intersect: reading.both}
JOINED |= dict.fromkeys((syntax.Repeat, syntax.Complement), reading.cat)


def _acyclic(node: syntax.Acyclic, spelling: reading.Spelling) -> Regex:
    states: list[Regex] = []
    for edges, accepting in zip(reversed(node.edges), reversed(node.accepting), strict=True):
        labels = [(node.labels[label], states[len(node.edges) - 1 - to]) for label, to in edges]
        paths = [
            reading.cat(reading.text(label, spelling) if isinstance(label, str) else regex(label, spelling), rest)
            for label, rest in labels
        ]
        states.append(reading.either(*paths, *([reading.EPSILON] if accepting else [])))
    return states[-1]


def grammar_of(grammar: Grammar) -> reading.Grammar:
    """A grammar, with all its rules, which must be finitely many."""
    rules: dict[Nonterminal, list[reading.Alternative]] = {}
    for rule, alternatives in rules_of(grammar).items():
        rules[rule] = [tuple(terminal_of(s) if isinstance(s, Terminal) else s for s in a) for a in alternatives]
    ignore = tuple(map(terminal_of, grammar.ignore))
    return reading.Grammar(rules, grammar.start, ignore, grammar.lexer == "greedy")


def rules_of(grammar: Grammar) -> dict[Nonterminal, list[tuple[Symbol, ...]]]:
    """The alternatives of all nonterminals that the start reaches."""
    rules: dict[Nonterminal, list[tuple[Symbol, ...]]] = {}
    waiting = [grammar.start]
    while waiting:
        rule = waiting.pop()
        if rule not in rules:
            rules[rule] = [tuple(alternative) for alternative in rule.expand()]
            waiting += [symbol for a in rules[rule] for symbol in a if isinstance(symbol, Nonterminal)]
    return rules


@lru_cache(10_000)
def terminal_of(terminal: Terminal) -> reading.Terminal:
    """A terminal."""
    excluding = frozenset(map(terminal_of, terminal.excluding))
    return reading.Terminal(regex(terminal.node), terminal.name, terminal.priority, terminal.literal, excluding)


@lru_cache(16)
def oracle(asked: Grammar | Node) -> Language:
    """The texts of a grammar or of a syntax tree, byte by byte."""
    return Language(regex(asked) if isinstance(asked, Node) else grammar_of(asked))


# --- questions --------------------------------------------------------------------------------------------------------


def rest(node: Node, text: str) -> Regex:
    """The language of what may follow a text."""
    return reduce(Regex.after, text.encode(), regex(node))


def matches(node: Node, text: str) -> bool:
    """True if the text is in the regular language."""
    return rest(node, text).nullable


def begins(node: Node, text: str) -> bool:
    """True if the text is a prefix of one in the regular language."""
    return rest(node, text).alive()


def members(node: Node, alphabet: Iterable[str], longest: int) -> set[str]:
    """All texts of the regular language up to a length over an alphabet."""
    found: set[str] = set()
    layer = {"": regex(node)}
    letters = {character: character.encode() for character in alphabet}
    for _ in range(longest + 1):
        found |= {text for text, after in layer.items() if after.nullable}
        steps = {t + c: reduce(Regex.after, letters[c], after) for t, after in layer.items() for c in letters}
        layer = {text: after for text, after in steps.items() if after is not reading.NOTHING}
    return found


def member(asked: Grammar, text: str) -> bool:
    """True if the text is valid under the grammar's own lexer."""
    return oracle(asked).member(text)


def viable(asked: Grammar, text: str) -> bool:
    """True if the text is a prefix of a member."""
    return oracle(asked).read(text.encode()) is not None


def language(asked: Grammar, alphabet: str, length: int) -> dict[str, tuple[bool, bool]]:
    """(is member, is viable) of every text up to a length; extensions of dead texts are left out."""
    asking, found = oracle(asked), {}
    layer = {"": asking.start()}
    for _ in range(length + 1):
        found |= {text: (asking.accepts(state), state is not None) for text, state in layer.items()}
        alive = {text: state for text, state in layer.items() if state is not None}
        layer = {t + c: reduce(asking.step, c.encode(), state) for t, state in alive.items() for c in alphabet}
    return found


def munched(asked: Grammar, text: str) -> list[set[reading.Terminal]] | None:
    """The terminals of each lexeme of a member under the greedy lexer, by its definition: the longest, from the left.

    None: the text is no member. No state of the byte-wise reading is asked.
    """
    asking, charts, found, rest = oracle(asked), {oracle(asked).parser.first}, [], text.encode()
    while rest:
        place = asking.begin(charts)
        lexemes, best, nothing, end = place.lexemes if place else (), [], 0, 0
        for length, byte in enumerate(rest, 1):
            lexemes = [lexeme.after(byte) for lexeme in lexemes]
            if ended := [each for each in lexemes if each.rest.nullable and not each.is_excluded()]:
                best, end = ended, length
            elif any(each.is_excluded() for each in lexemes):
                nothing = length
        if nothing > end or not best:
            return None
        best, rest = asking.winners(best), rest[end:]
        charts = asking.charts(best)
        found.append({lexeme.terminal for lexeme in best})
    return found if any(chart.accepts for chart in charts) else None


def texts(alphabet: str, length: int) -> Iterator[str]:
    """Every text up to a length, shortest first."""
    for n in range(length + 1):
        yield from map("".join, product(alphabet, repeat=n))
