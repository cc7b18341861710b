"""Describes the values, objects and arrays of a schema as templates, of which a kernel makes rules (parser/placed.py).

The idea: a template says all about a nonterminal but its place. Objects and arrays are described when something first
names them, and values when a text first reaches one, at whatever place. What no template can say, such as an array with
counts, has one without alternatives: then each of its nonterminals is expanded by itself (expansion.py).

Cost: 15 µs a description and 1 µs a property, plus the kernel.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING

from constrain.kernels.parser import object_rules
from constrain.kernels.records.grammars import LAYOUT, PLACED, TEMPLATE, TEXT_PLACE, template_at
from constrain.kernels.records.messages import ANY_VALUE, NEW_VALUE
from constrain.languages.automata.lower import lower
from constrain.languages.automata.memory import Int32
from constrain.languages.automata.store import packed
from constrain.languages.automata.syntax import json_string, literal
from constrain.languages.cfg.bulk_rules import (
    ArrayRules,
    ObjectRules,
    PlacedNonterminal,
    PlaceSymbols,
    Position,
    SameRules,
    ValueKey,
    ValueRules,
    ValueSymbols,
)
from constrain.languages.cfg.rules import Nonterminal, Symbol, Terminal
from constrain.limits import tick
from constrain.masks.engine.compiled_rules import CompiledRules

if TYPE_CHECKING:
    from constrain.masks.engine.symbol_table import SymbolTable

NewValues = dict[Hashable, tuple[int, PlacedNonterminal]]  # values without a template yet, with their numbers
LISTS = ("comma", "colon", "behind", "close_object", "close_array", "empty_object", "empty_array")


def template_of(symbols: SymbolTable, nonterminal: PlacedNonterminal, position: Position, rules: CompiledRules) -> int:
    """The template of a nonterminal, described unless it is a value."""
    first = rules.templates.get(position.family)
    if first is None:
        described = None if nonterminal.is_late else nonterminal.description()
        if isinstance(described, ObjectRules):
            first = _object(symbols, described, rules)
        elif isinstance(described, ArrayRules):
            first = _array(symbols, described, rules)
        else:
            first = _new(symbols, nonterminal, rules)
        rules.templates[position.family] = first
    return template_at(first, position.number)


def _new(symbols: SymbolTable, nonterminal: PlacedNonterminal, rules: CompiledRules) -> int:
    """A template without alternatives."""
    number = symbols.number(nonterminal.name, rules)
    template = symbols.memory.call(lambda A, H, S: object_rules.new_templates(A, 1, number, nonterminal.is_value))
    A = symbols.memory.A
    A[template + TEMPLATE.RIGHT_RECURSIVE] = nonterminal.right_recursive
    A[template + TEMPLATE.IS_WATCHED] = nonterminal.watched
    rules.sources[template] = nonterminal
    return template


def resolve(symbols: SymbolTable, placed: int, rules: CompiledRules, ahead: bool) -> Nonterminal | None:
    """Say what a kernel needs to make the rules of a PLACED record. Returns the nonterminal if no template says it.

    ahead: describe the objects that a value may be, too.
    """
    A = symbols.memory.A
    place, template = PLACED.TEXT_PLACE(A, placed), PLACED.TEMPLATE(A, placed)
    if not TEXT_PLACE.LAYOUT(A, place):
        _lay_out(symbols, place)
    if TEMPLATE.ALTERNATIVES(symbols.memory.A, template):
        return None
    source = rules.sources[template]
    if _describe(symbols, template, source, rules, ahead):
        return None
    return source.at(TEXT_PLACE.NUMBER(symbols.memory.A, place))


def _describe(
    symbols: SymbolTable, template: int, source: PlacedNonterminal, rules: CompiledRules, ahead: bool
) -> bool:
    """Give a template its alternatives. Returns whether one can say them."""
    described = source.description() if source.is_late else None
    if isinstance(described, SameRules):
        position = described.other.position
        assert position is not None
        words = [1, template_of(symbols, described.other, position, rules)]
    elif isinstance(described, ValueRules):
        words = _value(symbols, described, rules, ahead)
    else:
        return False
    message = packed(words, "")
    symbols.memory.call(lambda A, H, S: object_rules.describe_template(A, template, message))
    del rules.sources[template]
    return True


def _value(symbols: SymbolTable, described: ValueRules, rules: CompiledRules, ahead: bool) -> list[int]:
    """The words of the alternatives of a value."""
    words: list[int] = []
    for record in symbols.records(described.terminals, rules):
        if record:
            words += (1, record)
    for container in described.containers:
        first = container.first
        if container.may_be_empty:
            words += (1, -LAYOUT.EMPTY_OBJECT if container.is_object else -LAYOUT.EMPTY_ARRAY)
        position = first and first.position
        if first and position:
            begun = -LAYOUT.OBJECTS if container.is_object else -LAYOUT.ARRAYS
            template = template_of(symbols, first, position, rules)
            words += (2, begun, template)
            if ahead and first.is_late and not TEMPLATE.ALTERNATIVES(symbols.memory.A, template):
                _describe(symbols, template, first, rules, ahead)
    return words


def _object(symbols: SymbolTable, described: ObjectRules, rules: CompiledRules) -> int:
    """The first template of an object."""
    new: NewValues = {}
    values = [value_word(symbols, key, described.value_symbols, new, rules) for key in described.value_keys]
    beyond = described.next_member
    position = beyond and beyond.position
    words = [  # in the order of OBJECT_MESSAGE (kernels/records/messages.py)
        template_of(symbols, beyond, position, rules) if beyond and position else 0,
        len(described.required),
        described.allows_other_keys,
        len(described.key_texts),
        len(new),
        symbols.number(described.name, rules),
        symbols.number("value", rules),
        lower(symbols.store, described.any_key.node),
        *described.required,
        *values,
    ]
    message = with_texts(symbols, words, described.key_texts, described.plain_keys)
    first = symbols.memory.call(object_rules.make_object_templates, message)
    register(new, template_at(first, 2 * len(described.required) + 3 * described.allows_other_keys), rules)
    return first


def _array(symbols: SymbolTable, described: ArrayRules, rules: CompiledRules) -> int:
    """The first template of an array."""
    new: NewValues = {}
    value = value_word(symbols, described.value_key, described.value_symbols, new, rules)
    # In the order of ARRAY_MESSAGE (kernels/records/messages.py).
    words = [symbols.number(described.name, rules), symbols.number("value", rules), described.is_watched, value]
    message = packed(words, "")
    first = symbols.memory.call(lambda A, H, S: object_rules.make_array_templates(A, message))
    register(new, template_at(first, 2), rules)
    return first


def value_word(symbols: SymbolTable, key: ValueKey, values: ValueSymbols, new: NewValues, rules: CompiledRules) -> int:
    """The word of a message for a value; it is added to `new` if it has no template yet."""
    tick()
    family = values.prefix + key
    word = rules.templates.get(family)
    if word is not None:
        return word
    if family in new:
        return NEW_VALUE - new[family][0]
    symbol = values.symbol(key)
    if isinstance(symbol, PlacedNonterminal):
        new[family] = len(new), symbol
        return NEW_VALUE + 1 - len(new)
    word = symbols.records([symbol], rules)[0] if isinstance(symbol, Terminal) else ANY_VALUE
    rules.templates[family] = word
    return word


def register(new: NewValues, first: int, rules: CompiledRules) -> None:
    """Register the templates of new values, which begin with `first`."""
    for family, (number, value) in new.items():
        template = rules.templates[family] = template_at(first, number)
        rules.sources[template] = value


def with_texts(symbols: SymbolTable, words: list[int], texts: Sequence[str], plain: bool) -> Int32:
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


def _lay_out(symbols: SymbolTable, place: int) -> None:
    """Write what is written at a place into the arena."""
    A = symbols.memory.A
    layouts = symbols.layouts[TEXT_PLACE.LAYOUTS(A, place)]
    around: PlaceSymbols = layouts(TEXT_PLACE.NUMBER(A, place))
    lists: dict[str, Sequence[Symbol]] = {name: getattr(around, name) for name in LISTS}
    lists["any"] = (around.any_value,)
    written: dict[str, list[int]] = {name: _symbols(symbols, part) for name, part in lists.items()}
    openings = {"objects": around.objects, "arrays": around.arrays}
    begun = {
        name: [(symbols.place(layouts, at), _symbols(symbols, part)) for part, at in ways]
        for name, ways in openings.items()
    }
    inner = symbols.place(layouts, around.inner)
    size = LAYOUT.WORDS + sum(map(len, written.values()))
    size += sum(1 + sum(2 + len(part) for _, part in ways) for ways in begun.values())
    at = symbols.memory.region([0] * size)
    words = [0] * LAYOUT.WORDS
    words[LAYOUT.INNER] = inner
    for name, part in written.items():
        words[LAYOUT.FIELDS[name.upper()]] = at + len(words)
        words += part
    for name, ways in begun.items():
        words[LAYOUT.FIELDS[name.upper()]] = at + len(words)
        behind = len(words) + 1 + 2 * len(ways)
        words.append(len(ways))
        for record, part in ways:
            words += (record, at + behind)
            behind += len(part)
        for _, part in ways:
            words += part
    A = symbols.memory.A
    A[at : at + size] = words
    A[place + TEXT_PLACE.LAYOUT] = at


def _symbols(symbols: SymbolTable, part: Sequence[Symbol]) -> list[int]:
    """The SYMBOLS of a list."""
    return [len(part), *symbols.records(part, symbols.shared)]
