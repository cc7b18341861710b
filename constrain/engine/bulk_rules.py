"""Packs bulk rules of JSON objects and arrays (cfg/bulk_rules.py) as messages for kernels/parser/object_rules.py.

The idea: only values need symbols; the texts of keys are passed as they are, and the kernel spells them. A value that
is no terminal and has no record yet gets one behind the records of the rules, and is expanded later.

Cost: 15 µs a message and 1 µs a property, plus the kernel.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING

from constrain.automata.lower import lower
from constrain.automata.store import packed
from constrain.automata.syntax import json_string, literal
from constrain.cfg.bulk_rules import ArrayRules, ObjectPunctuation, ObjectRules, ValueKey, ValueSymbols
from constrain.cfg.rules import Nonterminal, Terminal
from constrain.kernels.parser import object_rules
from constrain.kernels.records.messages import nonterminal_at

if TYPE_CHECKING:
    from constrain.engine.automaton import TokenAutomaton
    from constrain.engine.compiled_rules import CompiledRules

Fresh = dict[Hashable, Nonterminal]  # values without a record yet, by key


def make_bulk_rules(
    automaton: TokenAutomaton, head: int, bulk: ObjectRules | ArrayRules, rules: CompiledRules
) -> list[int]:
    """Make all nonterminals of bulk rules. head: the record of the nonterminal that they were asked of.

    Returns the unexpanded nonterminals in the left corner of `head`.
    """
    if isinstance(bulk, ArrayRules):
        return _array(automaton, head, bulk, rules)
    return _object(automaton, head, bulk, rules)


def _object(automaton: TokenAutomaton, head: int, bulk: ObjectRules, rules: CompiledRules) -> list[int]:
    fresh: Fresh = {}
    values = [_value(automaton, key, bulk.value_symbols, fresh, rules) for key in bulk.value_keys]
    next_member = 0 if bulk.next_member is None else automaton.nonterminal(bulk.next_member, rules)
    words = [  # in the order of OBJECT_MESSAGE (kernels/records/messages.py)
        next_member,
        not bulk.must_continue,
        bulk.includes_first,
        len(bulk.required),
        bulk.allows_other_keys,
        len(bulk.key_texts),
        len(fresh),
    ]
    words += [automaton.number(bulk.name, rules), automaton.number("value", rules)]
    words += _punctuation(automaton, bulk.punctuation)
    words += bulk.required
    words += values
    text, plain = "".join(bulk.key_texts), bulk.punctuation.plain_keys
    if text.isascii():
        words += map(len, bulk.key_texts)
    else:
        for each in bulk.key_texts:
            words.append(len(each) if each.isascii() else -lower(automaton, json_string(literal(each), plain)))
        text = "".join(filter(str.isascii, bulk.key_texts))
    first = automaton.call(object_rules.make_object_rules, head, packed(words, text, plain))
    rules.bulk[bulk.key] = first
    _register(fresh, nonterminal_at(first, 2 * len(bulk.required) + 3 * bulk.allows_other_keys), rules)
    return [next_member] if next_member in rules.waiting and not any(bulk.required) else []


def _array(automaton: TokenAutomaton, head: int, bulk: ArrayRules, rules: CompiledRules) -> list[int]:
    fresh: Fresh = {}
    value = _value(automaton, bulk.value_key, bulk.value_symbols, fresh, rules)
    # In the order of ARRAY_MESSAGE (kernels/records/messages.py).
    words = [bulk.may_be_empty, len(fresh), automaton.number(bulk.name, rules), automaton.number("value", rules)]
    for symbols in (bulk.opening, bulk.separator, bulk.close, bulk.after_value):
        words.append(len(symbols))
        words += automaton.records(symbols, rules)
    words.append(value)
    following = automaton.call(object_rules.make_array_rules, head, packed(words, ""))
    rules.bulk[bulk.key] = following
    _register(fresh, nonterminal_at(following, 1), rules)
    value = nonterminal_at(following, 1) if fresh else value
    return [value] if automaton.waits(value, rules) else []


def _value(
    automaton: TokenAutomaton, value_key: ValueKey, values: ValueSymbols, fresh: Fresh, rules: CompiledRules
) -> int:
    """The record of a value; -1 - k for the k-th value without a record."""
    key = values.prefix + value_key
    cached = rules.records.get(key)
    if cached is not None:
        return cached
    if key in fresh:
        return -1 - list(fresh).index(key)
    symbol = values.symbol(value_key)
    if isinstance(symbol, Terminal) or symbol.shared:
        record = rules.records[key] = automaton.records([symbol], rules)[0]
        return record
    fresh[key] = symbol
    return -len(fresh)


def _register(fresh: Fresh, first: int, rules: CompiledRules) -> None:
    """Register the records of new values, which begin with `first`."""
    for record, (key, value) in enumerate(fresh.items()):
        symbol = rules.records[key] = nonterminal_at(first, record)
        rules.waiting[symbol] = value


def _punctuation(automaton: TokenAutomaton, punctuation: ObjectPunctuation) -> list[int]:
    """The words of a message for the punctuation."""
    words = automaton.punctuation.get(punctuation)
    if words is None:
        words = [lower(automaton, punctuation.any_key.node)]
        for symbols in punctuation.lists:
            words.append(len(symbols))
            words += automaton.records(symbols, automaton.shared)
        automaton.punctuation[punctuation] = words
    return words
