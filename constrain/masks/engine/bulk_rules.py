"""Packs the rules of an object by the keys so far (cfg/bulk_rules.py) as a message for kernels/parser/key_set_rules.py.

The idea: only values need symbols; the texts of keys are passed as they are, and the kernel spells them.

Cost: 15 µs a message and 1 µs a property, plus the kernel.
"""

from __future__ import annotations

from itertools import accumulate

from constrain.kernels.parser import key_set_rules
from constrain.kernels.records.key_sets import object_values
from constrain.kernels.records.messages import ANY_VALUE
from constrain.languages.automata.lower import lower
from constrain.languages.cfg.bulk_rules import KeySetRules
from constrain.limits import look
from constrain.masks.engine.compiled_rules import CompiledRules
from constrain.masks.engine.symbol_table import SymbolTable
from constrain.masks.engine.templates import NewValues, register, value_word, with_texts


def make_key_set_rules(symbols: SymbolTable, head: int, bulk: KeySetRules, rules: CompiledRules) -> None:
    """Make the rules of an object by the keys so far. head: the record of the nonterminal that it begins with."""
    n, new, texts = len(bulk.required), NewValues(), bulk.key_texts
    around = bulk.layouts(bulk.place)
    values = [value_word(symbols, key, bulk.value_symbols, new, rules) for key in bulk.value_keys]
    if ANY_VALUE in values:
        any_value = symbols.record(around.any_value, rules)
        values = [any_value if value == ANY_VALUE else value for value in values]
    words = [  # in the order of KEY_SET_MESSAGE (kernels/records/messages.py)
        bulk.low,
        -1 if bulk.high is None else bulk.high,
        bulk.in_order,
        n,
        len(bulk.other_keys),
        len(texts),
        symbols.place(bulk.layouts, around.inner),
        len(new),
    ]
    words += [symbols.number(bulk.name, rules), symbols.number("value", rules)]
    words.append(lower(symbols.store, bulk.any_key.node))
    for part in (around.comma, around.close_object, around.colon, around.behind):
        words += [len(part), *symbols.records(part, symbols.shared)]
    words += sorted(range(n), key=texts.__getitem__)
    if bulk.in_order:
        runs = [0, *accumulate(bulk.required)]  # how many required ones are before a key says in which run it is
        words += sorted(range(n), key=lambda i: (runs[i], texts[i]))
    words += bulk.required
    words += [-1 if key is None else symbols.records([key], rules)[0] for key in bulk.other_keys]
    words += values
    message = with_texts(symbols, words, [*texts[:n], *sorted(texts[n:])], bulk.plain_keys)
    look()
    rules.by_keys[bulk.key] = at = symbols.memory.call(key_set_rules.make_key_set_rules, head, message)
    register(new, object_values(at), rules)
