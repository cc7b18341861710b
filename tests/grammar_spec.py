"""The grammars that are legal after each transform: a row for each, and a way to check all while they are read.

    written rules -> to_table -> without_unproductive -> [fold -> to_table] -> left_associative -> Grammar
    Grammar       -> inline_ignored -> [eliminate_context | product | ReversedGrammar] -> Grammar

A row is a function of a transform's arguments and of what it returned; it raises AssertionError where a transform that
comes later could not rely on the result. `checked` puts the rows around the transforms, wherever they are called from.
"""

import functools
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from constrain.languages.automata.syntax import EPSILON
from constrain.languages.cfg import ebnf
from constrain.languages.cfg.ebnf import Choice, Counted, Leaf, Part, Ref, Repeated, Sequence, is_helper
from constrain.languages.cfg.rules import Grammar, Terminal
from constrain.languages.cfg.transform import analysis, contexts, fold, indentation, product, regular, walk
from constrain.languages.grammar_text import text

MOST = 300  # nonterminals of a lazy grammar that are looked at


def rules_are_legal(rules: Any, *, defined: Iterable[str] = ()) -> None:
    """Each reference names a rule, and each count can be met."""
    names = {*rules, *defined}
    stack = [*rules.values()]
    while stack:
        match stack.pop():
            case Ref(name):
                assert name in names, name
            case Sequence(parts) | Choice(parts):
                stack += parts
            case Repeated(part, low, high):
                assert low >= 0 and (high is None or low <= high), (low, high)
                stack.append(part)
            case other:
                assert isinstance(other, Leaf | Part), other


def table_is_legal(table: ebnf.Table) -> None:
    """The alternatives of a rule are distinct; a symbol is a rule of the table, a terminal, a part or a count."""
    for name, alternatives in table.items():
        assert len({*alternatives}) == len(alternatives), name
        for symbol in (symbol for alternative in alternatives for symbol in alternative):
            if isinstance(symbol, Counted):
                assert 0 <= symbol.low <= symbol.high and symbol.high >= 2, (name, symbol)
                symbol = symbol.symbol
            assert not isinstance(symbol, Counted), f"{name}: a count of a count"
            if isinstance(symbol, Terminal):
                assert symbol.node != EPSILON, f"{name}: the empty text is no symbol"
            else:
                assert isinstance(symbol, Part) or symbol in table, (name, symbol)


def grammar_is_legal(grammar: Grammar) -> None:
    """Each nonterminal near the start derives a text, and each that ends in itself is flagged."""
    table, complete = walk.nearest(grammar.start, MOST)
    if not complete:
        return  # what its rules derive may lie beyond
    assert walk.without_unproductive(grammar.start, MOST) is not None, "no text"
    fine = {symbol for symbol in table if walk.without_unproductive(symbol, MOST) is not None}
    assert fine == {*table}, f"no text: { ({*table} - fine) }"
    nullables = walk.nullable_nonterminals(table)
    ends: dict[str, set[str]] = {}
    number = {symbol: str(index) for index, symbol in enumerate(table)}
    for symbol, alternatives in table.items():
        ends[number[symbol]] = set()
        for alternative in alternatives:
            for last in reversed(alternative):
                if last in number:
                    ends[number[symbol]].add(number[last])
                if not walk.is_nullable(last, nullables):
                    break
    tails = analysis.on_cycles(ends)
    unflagged = [symbol for symbol in table if number[symbol] in tails and not symbol.right_recursive]
    assert not unflagged, f"not flagged as right-recursive: {unflagged}"


def no_contexts(grammar: Grammar) -> None:
    """Nothing is ignored, and no terminal looks around."""
    assert not grammar.ignore
    table, _ = walk.nearest(grammar.start, MOST)
    for symbol in (symbol for each in table.values() for alternative in each for symbol in alternative):
        assert not (isinstance(symbol, Terminal) and symbol.contexts), symbol


def _to_table(made: Any, rules: Any) -> None:
    rules_are_legal(rules)
    table_is_legal(made)
    assert [name for name in made if not is_helper(name)] == [*rules], "a rule that is written stays a rule"


def _without_unproductive(made: Any, table: Any) -> None:
    table_is_legal(made)
    assert analysis.productive_rules(made) == {*made}
    assert {*made} <= {*table}


def _fold(made: Any, rules: Any, *_: Any, **kept: Any) -> None:
    rules_are_legal(made)
    assert [*made] == [*rules]


def _left_associative(made: Any, table: Any) -> None:
    table_is_legal(made)
    for name, alternatives in made.items():
        assert not any(len(a) > 1 and a[0] == a[-1] == name for a in alternatives), f"{name} is ambiguous"


def _lexed(made: Any, *_: Any) -> None:
    grammar_is_legal(made)


def _no_ignored(made: Any, grammar: Any) -> None:
    assert not made.ignore and made.lexer == "dynamic"
    grammar_is_legal(made)


def _no_context(made: Any, grammar: Any) -> None:
    no_contexts(made)
    grammar_is_legal(made)


def _intersection(made: Any, grammar: Any, *_: Any) -> None:
    assert not made.ignore and made.lexer == "dynamic" and made.watched == grammar.watched
    grammar_is_legal(made)


SPEC: dict[Any, Callable[..., None]] = {
    ebnf.to_table: _to_table,
    analysis.without_unproductive: _without_unproductive,
    fold.fold: _fold,
    analysis.left_associative: _left_associative,
    indentation.apply_layout: _lexed,
    regular.inline_ignored: _no_ignored,
    contexts.eliminate_context: _no_context,
    product.product: _intersection,
}


@contextmanager
def checked() -> Iterator[Counter[str]]:
    """Inside, each call of a transform is checked by its row. Yields how often each was."""
    counts: Counter[str] = Counter()

    def around(transform: Any) -> Any:
        @functools.wraps(transform)
        def call(*given: Any, **named: Any) -> Any:
            made = transform(*given, **named)
            SPEC[transform](made, *given, **named)
            counts[transform.__name__] += 1
            return made

        return call

    text._read_text.cache_clear()  # so that what was read before is read again
    calls = {transform: around(transform) for transform in SPEC}
    _swap(calls)
    try:
        yield counts
    finally:
        _swap({call: transform for transform, call in calls.items()})  # also in modules that were imported inside


def _swap(others: dict[Any, Any]) -> None:
    """Put other functions in the place of some, in each module of the library that has them."""
    for module in [each for name, each in sys.modules.items() if name.startswith("constrain.")]:
        for function, other in others.items():
            if vars(module).get(function.__name__) is function:
                setattr(module, function.__name__, other)
