"""Packs bulk rules of JSON objects and arrays (cfg/bulk_rules.py) as messages for kernels/parser/object_rules.py.

The idea: only values need symbols; the texts of keys are passed as they are, and the kernel spells them. A value that
is no terminal and has no record yet gets one behind the records of the rules, and is expanded later.

Cost: 15 µs a message and 1 µs a property, plus the kernel.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from itertools import accumulate

from constrain.kernels.parser import key_set_rules, object_rules
from constrain.kernels.records.key_sets import object_values
from constrain.kernels.records.messages import nonterminal_at
from constrain.languages.automata.lower import lower
from constrain.languages.automata.memory import Int32
from constrain.languages.automata.store import packed
from constrain.languages.automata.syntax import json_string, literal
from constrain.languages.cfg.bulk_rules import (
    ArrayRules,
    KeySetRules,
    ObjectPunctuation,
    ObjectRules,
    ValueKey,
    ValueSymbols,
)
from constrain.languages.cfg.rules import Nonterminal, Terminal
from constrain.limits import look, tick
from constrain.masks.engine.compiled_rules import CompiledRules
from constrain.masks.engine.symbol_table import SymbolTable

Fresh = dict[Hashable, tuple[int, Nonterminal]]  # values without a record yet, with their numbers, by key


def make_bulk_rules(
    symbols: SymbolTable, head: int, bulk: ObjectRules | KeySetRules | ArrayRules, rules: CompiledRules
) -> list[int]:
    """Make all nonterminals of bulk rules. head: the record of the nonterminal that they were asked of.

    Returns the unexpanded nonterminals in the left corner of `head`.
    """
    if isinstance(bulk, ArrayRules):
        return _array(symbols, head, bulk, rules)
    if isinstance(bulk, KeySetRules):
        return _key_set(symbols, head, bulk, rules)
    return _object(symbols, head, bulk, rules)


def _object(symbols: SymbolTable, head: int, bulk: ObjectRules, rules: CompiledRules) -> list[int]:
    fresh: Fresh = {}
    values = [_value(symbols, key, bulk.value_symbols, fresh, rules) for key in bulk.value_keys]
    next_member = 0 if bulk.next_member is None else symbols.nonterminal(bulk.next_member, rules)
    words = [  # in the order of OBJECT_MESSAGE (kernels/records/messages.py)
        next_member,
        len(bulk.required),
        bulk.allows_other_keys,
        len(bulk.key_texts),
        len(fresh),
    ]
    words += [symbols.number(bulk.name, rules), symbols.number("value", rules)]
    words += _punctuation(symbols, bulk.punctuation)
    words += bulk.required
    words += values
    message = _with_texts(symbols, words, bulk.key_texts, bulk.punctuation.plain_keys)
    first = symbols.memory.call(object_rules.make_object_rules, head, message)
    rules.bulk[bulk.key] = first
    _register(fresh, nonterminal_at(first, 2 * len(bulk.required) + 3 * bulk.allows_other_keys), rules)
    return [next_member] if next_member in rules.waiting and not any(bulk.required) else []


def _key_set(symbols: SymbolTable, head: int, bulk: KeySetRules, rules: CompiledRules) -> list[int]:
    n, fresh, texts = len(bulk.required), Fresh(), bulk.key_texts
    values = [_value(symbols, key, bulk.value_symbols, fresh, rules) for key in bulk.value_keys]
    words = [  # in the order of KEY_SET_MESSAGE (kernels/records/messages.py)
        bulk.low,
        -1 if bulk.high is None else bulk.high,
        bulk.in_order,
        n,
        len(bulk.other_keys),
        len(texts),
        len(fresh),
    ]
    words += [symbols.number(bulk.name, rules), symbols.number("value", rules)]
    words += _punctuation(symbols, bulk.punctuation)
    words += sorted(range(n), key=texts.__getitem__)
    if bulk.in_order:
        runs = [0, *accumulate(bulk.required)]  # how many required ones are before a key says in which run it is
        words += sorted(range(n), key=lambda i: (runs[i], texts[i]))
    words += bulk.required
    words += [-1 if key is None else symbols.records([key], rules)[0] for key in bulk.other_keys]
    words += values
    message = _with_texts(symbols, words, [*texts[:n], *sorted(texts[n:])], bulk.punctuation.plain_keys)
    look()
    rules.bulk[bulk.key] = at = symbols.memory.call(key_set_rules.make_key_set_rules, head, message)
    _register(fresh, object_values(at), rules)
    return []


def _with_texts(symbols: SymbolTable, words: list[int], texts: Sequence[str], plain: bool) -> Int32:
    """A kernel's message: `words`, the length of each text, the characters of all texts.

    A text that is not ASCII is lowered, and its expression is sent negated. plain: texts are spelled plainly.
    """
    characters = "".join(texts)
    if characters.isascii():
        words += map(len, texts)
    else:
        for text in texts:
            words.append(len(text) if text.isascii() else -lower(symbols.store, json_string(literal(text), plain)))
        characters = "".join(filter(str.isascii, texts))
    return packed(words, characters, plain)


def _array(symbols: SymbolTable, head: int, bulk: ArrayRules, rules: CompiledRules) -> list[int]:
    fresh: Fresh = {}
    value = _value(symbols, bulk.value_key, bulk.value_symbols, fresh, rules)
    # In the order of ARRAY_MESSAGE (kernels/records/messages.py).
    words = [len(fresh), symbols.number(bulk.name, rules), symbols.number("value", rules)]
    for part in (bulk.separator, bulk.close, bulk.after_value):
        words.append(len(part))
        words += symbols.records(part, rules)
    words.append(value)
    following = symbols.memory.call(object_rules.make_array_rules, head, packed(words, ""))
    rules.bulk[bulk.key] = following
    _register(fresh, nonterminal_at(following, 1), rules)
    value = nonterminal_at(following, 1) if fresh else value
    return [value] if symbols.waits(value, rules) else []


def _value(symbols: SymbolTable, value_key: ValueKey, values: ValueSymbols, fresh: Fresh, rules: CompiledRules) -> int:
    """The record of a value; -1 - k for the k-th value without a record."""
    tick()
    key = values.prefix + value_key
    cached = rules.records.get(key)
    if cached is not None:
        return cached
    if key in fresh:
        return -1 - fresh[key][0]
    symbol = values.symbol(value_key)
    if isinstance(symbol, Terminal) or symbol.shared:
        record = rules.records[key] = symbols.records([symbol], rules)[0]
        return record
    fresh[key] = len(fresh), symbol
    return -len(fresh)


def _register(fresh: Fresh, first: int, rules: CompiledRules) -> None:
    """Register the records of new values, which begin with `first`."""
    for key, (number, value) in fresh.items():
        symbol = rules.records[key] = nonterminal_at(first, number)
        rules.waiting[symbol] = value


def _punctuation(symbols: SymbolTable, punctuation: ObjectPunctuation) -> list[int]:
    """The words of a message for the punctuation."""
    words = symbols.punctuation.get(punctuation)
    if words is None:
        words = [lower(symbols.store, punctuation.any_key.node)]
        for part in punctuation.lists:
            words.append(len(part))
            words += symbols.records(part, symbols.shared)
        symbols.punctuation[punctuation] = words
    return words
