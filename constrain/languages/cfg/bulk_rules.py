"""Rules of JSON objects and arrays in bulk: all nonterminals of one object or array, described by one table.

The idea: most objects list their properties in a fixed order, and most arrays repeat one item. The rules of such a
container follow one pattern, so the engine can build all of them in one kernel call (engine/bulk_rules.py) instead of
expanding nonterminals one by one. `Nonterminal.expand` still gives the same alternatives one by one; a test compares.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any, NamedTuple

from constrain.languages.cfg.rules import Nonterminal, Symbol, Terminal

ValueKey = tuple[Hashable, ...]


class ValueSymbols(NamedTuple):
    """Names values by keys and makes their symbols on demand.

    Attributes:
        prefix: `prefix + value_key` is the `Nonterminal.key` of a value that is not shared between grammars.
        symbol: Makes the symbol of a value from its key.
    """

    prefix: ValueKey
    symbol: Callable[[Any], Symbol]


class ObjectPunctuation:
    """The symbols that all objects of one whitespace policy have in common. Compared by identity.

    Attributes:
        any_key: The terminal of any key.
        plain_keys: Whether listed keys are spelled plainly.
        lists: The sequences separator, close, after_key and after_value of `ObjectRules`.
    """

    def __init__(
        self,
        any_key: Terminal,
        plain_keys: bool,
        separator: Sequence[Symbol],
        close: Sequence[Symbol],
        after_key: Sequence[Symbol],
        after_value: Sequence[Symbol],
    ) -> None:
        self.any_key = any_key
        self.plain_keys = plain_keys
        self.lists = separator, close, after_key, after_value


class ObjectRules(NamedTuple):
    """The rules of an object with n properties in a fixed order, then undeclared properties.

        first       -> member(0)
        member(i)   -> key(i) after_key value(i) after_value next(i + 1) | member(i + 1)
        next(i)     -> close | separator member(i)
        member(n)   -> other_key after_key value(n) after_value next(n + 1)
        next(n + 1) -> close | separator member'(n)

    `member(i)` has its second alternative unless property i is required. `next(i)` has its first alternative if no
    property from i on is required. `member'(n)` derives the same as `member(n)`, and both it and `next(n + 1)` are
    watched: an undeclared key must not come twice.

    Attributes:
        key: Identifies these rules in `BulkNonterminal.bulk_position`.
        name: The name of the nonterminals, for messages.
        key_texts: `key(i)` is the JSON string `key_texts[i]`. Texts after the first n are keys that
            must not occur.
        value_keys: `value(i)` is the symbol of `value_keys[i]`; one more if undeclared properties are allowed.
        value_symbols: Makes the symbols of values.
        required: Whether property i must occur.
        allows_other_keys: Undeclared properties may follow.
        next_member: `member(n)` where it is not one of these rules; None: no member follows the n properties.
        punctuation: Brackets, separators and whitespace.
    """

    key: Hashable
    name: str
    key_texts: Sequence[str]
    value_keys: Sequence[ValueKey]
    value_symbols: ValueSymbols
    required: Sequence[bool]
    allows_other_keys: bool
    next_member: Nonterminal | None
    punctuation: ObjectPunctuation


class KeySetRules(NamedTuple):
    """The rules of an object with n declared properties, and perhaps undeclared ones, by what was written.

        first     -> member(s)
        member(s) -> key(i) after_key value(i) after_value next(s')         for each property i that is not in s
                   | other_key(c) after_key value(c) after_value next(s')   for each class c of undeclared keys
        next(s)   -> close | separator member(s)

    A situation s is the set of the properties so far, the number of all so far as far as it matters, and whether one
    was undeclared. `next(s)` has its first alternative if every required property is in s and there are
    at least `low` properties. A property may come if the required ones still fit into `high` properties after it.
    After an undeclared key, `next(s)` and `member(s)` are watched: it must not come twice.

    In order, s is the number of properties that were passed, and whether one was undeclared: properties up to the next
    required one may come, and undeclared ones if none is required any more; after these, no declared one.

    Attributes:
        key: Identifies these rules in `BulkNonterminal.bulk_position`.
        name: The name of the nonterminals, for messages.
        key_texts: `key(i)` is the JSON string `key_texts[i]`. Texts after the first n are keys that
            must not occur.
        value_keys: `value(i)` is the symbol of `value_keys[i]`; then those of the classes.
        value_symbols: Makes the symbols of values.
        required: Whether property i must occur.
        other_keys: The terminal of each class of undeclared keys; None: any key but `key_texts`.
        in_order: Whether properties come in their order.
        low: The least number of properties if it matters, else 0; 0 in order.
        high: The largest number of properties, or None; None in order.
        punctuation: Brackets, separators and whitespace.
    """

    key: Hashable
    name: str
    key_texts: Sequence[str]
    value_keys: Sequence[ValueKey]
    value_symbols: ValueSymbols
    required: Sequence[bool]
    in_order: bool
    other_keys: Sequence[Terminal | None]
    low: int
    high: int | None
    punctuation: ObjectPunctuation


class Situation(NamedTuple):
    """A situation of `KeySetRules`.

    Attributes:
        written: In any order, the terminals of the declared keys so far.
        size: In any order, the number of properties so far, as far as it matters; else of all that were passed.
        is_open: Whether an undeclared key was written.
        is_member: The nonterminal is `member(s)`; else it is `next(s)`.
    """

    written: Sequence[Terminal]
    size: int
    is_open: bool
    is_member: bool


class ArrayRules(NamedTuple):
    """The rules of an array whose items all fulfil the same schema.

        first -> value after_value next
        next  -> close | separator value after_value next

    Attributes:
        key: Identifies these rules in `BulkNonterminal.bulk_position`.
        name: The name of the nonterminals, for messages.
        value_key: Names the items.
        value_symbols: Makes the symbol of the items.
        separator, close, after_value: Symbols, as in `ObjectPunctuation`.
    """

    key: Hashable
    name: str
    value_key: ValueKey
    value_symbols: ValueSymbols
    separator: Sequence[Symbol]
    close: Sequence[Symbol]
    after_value: Sequence[Symbol]


class BulkNonterminal(Nonterminal):
    """A nonterminal inside a JSON object or array, whose rules the engine may make in bulk."""

    __slots__ = ()

    def bulk_rules(self) -> ObjectRules | KeySetRules | ArrayRules | None:
        """The rules of the whole container that begins with this nonterminal; None: expand it by itself."""
        raise NotImplementedError

    @property
    def bulk_position(self) -> tuple[Hashable, int | Situation] | None:
        """(key of the bulk rules that contain this nonterminal, its index or situation among them), or None.

        The indices: `next(i + 1)` has i, `member(i)` has n + i, `next(n + 1)` has 2n + 1, `member'(n)` has 2n + 2.
        The `next` of an array has 0.
        """
        raise NotImplementedError
