"""Objects and arrays whose rules are made at once: chains and repetitions as words for kernels/object_rules.py.

The idea: of what a chain says only the values need symbols; texts of keys are handed over as they are. A value that is
met for the first time, and is no terminal, gets a record behind the places, and waits for its alternatives.

Cost: 15 µs a chain and 1 µs a pair, beside the kernel.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING

from constrain.automata.lower import lower
from constrain.automata.store import packed
from constrain.automata.syntax import json_string, literal
from constrain.cfg.rules import ListRules, Nonterminal, ObjectRules, Part, Punctuation, Terminal, Values
from constrain.kernels.parser import object_rules

if TYPE_CHECKING:
    from constrain.engine.automaton import CompiledRules, TokenAutomaton

Fresh = dict[Hashable, Nonterminal]  # values without a record, by key


def make_places(
    automaton: TokenAutomaton, head: int, chain: ObjectRules | ListRules, rules: CompiledRules
) -> list[int]:
    """Make the nonterminals of a chain that begins with the record `head`. Gives those without alternatives that its
    first nonterminal begins with."""
    if isinstance(chain, ListRules):
        return _repetition(automaton, head, chain, rules)
    return _chain(automaton, head, chain, rules)


def _chain(automaton: TokenAutomaton, head: int, chain: ObjectRules, rules: CompiledRules) -> list[int]:
    fresh: Fresh = {}
    values = [_value(automaton, part, chain.values, fresh, rules) for part in chain.parts]
    beyond = 0 if chain.beyond is None else automaton.nonterminal(chain.beyond, rules)
    words = [beyond, not chain.open, chain.begins, len(chain.must), chain.rest, len(chain.texts), len(fresh)]
    words += [automaton.number(chain.name, rules), automaton.number("value", rules)]
    words += _marks(automaton, chain.punctuation)
    words += chain.must
    words += values
    text = "".join(chain.texts)
    if text.isascii():
        words += map(len, chain.texts)
    else:
        words += [len(t) if t.isascii() else -lower(automaton, json_string(literal(t))) for t in chain.texts]
        text = "".join(filter(str.isascii, chain.texts))
    places = automaton.call(object_rules.make_chain, head, packed(words, text))
    rules.chains[chain.key] = places
    _wait(fresh, places + (2 * len(chain.must) + 3 * chain.rest) * object_rules.PLACE, rules)
    return [beyond] if beyond in rules.waiting and not any(chain.must) else []


def _repetition(automaton: TokenAutomaton, head: int, repetition: ListRules, rules: CompiledRules) -> list[int]:
    fresh: Fresh = {}
    value = _value(automaton, repetition.part, repetition.values, fresh, rules)
    words = [repetition.empty, len(fresh), automaton.number(repetition.name, rules), automaton.number("value", rules)]
    for symbols in (repetition.separator, repetition.close, repetition.behind):
        words.append(len(symbols))
        words += automaton.records(symbols, rules)
    words.append(value)
    following = automaton.call(object_rules.make_repetition, head, packed(words, ""))
    rules.chains[repetition.key] = following
    _wait(fresh, following + object_rules.PLACE, rules)
    value = following + object_rules.PLACE if fresh else value
    return [value] if automaton.waits(value, rules) else []


def _value(automaton: TokenAutomaton, part: Part, values: Values, fresh: Fresh, rules: CompiledRules) -> int:
    """The record of a value, or -1 - k: it is the k-th of those that are new."""
    key = values.prefix + part
    known = rules.records.get(key)
    if known is not None:
        return known
    if key in fresh:
        return -1 - list(fresh).index(key)
    symbol = values.value(part)
    if isinstance(symbol, Terminal) or symbol.shared:
        record = rules.records[key] = automaton.records([symbol], rules)[0]
        return record
    fresh[key] = symbol
    return -len(fresh)


def _wait(fresh: Fresh, first: int, rules: CompiledRules) -> None:
    """Note the records of new values, of which this is the first."""
    for record, (key, value) in enumerate(fresh.items()):
        rules.records[key] = first + record * object_rules.PLACE
        rules.waiting[first + record * object_rules.PLACE] = value


def _marks(automaton: TokenAutomaton, punctuation: Punctuation) -> list[int]:
    """The words of a chain that say what its punctuation is."""
    known = automaton.punctuation.get(punctuation)
    if known is None:
        known = [lower(automaton, punctuation.any_key.node)]
        for symbols in punctuation.lists:
            known.append(len(symbols))
            known += automaton.records(symbols, automaton.shared)
        automaton.punctuation[punctuation] = known
    return known
