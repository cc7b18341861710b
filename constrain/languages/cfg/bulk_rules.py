"""Rules of JSON values that the engine makes without `Nonterminal.expand`: by their place, or by the keys so far.

The idea: what is written around values depends on the place where they stand, and nothing else does. So a value, an
object or an array is described once, and the engine makes its rules at each place that a text reaches, in a kernel
(engine/templates.py). Objects of many keys, or whose keys come in any order, have a description for each place
(engine/bulk_rules.py). `Nonterminal.expand` still gives the same alternatives one by one; tests compare.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any, ClassVar, NamedTuple

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


class PlaceSymbols(NamedTuple):
    """The symbols around the values in a container at a place.

    Attributes:
        comma: Separates values.
        colon: Separates a key from its value.
        behind: Comes behind a value.
        close_object, close_array: The end.
        empty_object, empty_array: A container without values.
        objects, arrays: How a container with values may begin: (symbols, its place).
        inner: The place of the values in it.
        any_value: Any value in the container, where that is known.
    """

    comma: tuple[Symbol, ...]
    colon: tuple[Symbol, ...]
    behind: tuple[Symbol, ...]
    close_object: tuple[Symbol, ...]
    close_array: tuple[Symbol, ...]
    empty_object: tuple[Symbol, ...]
    empty_array: tuple[Symbol, ...]
    objects: Sequence[tuple[tuple[Symbol, ...], int]]
    arrays: Sequence[tuple[tuple[Symbol, ...], int]]
    inner: int
    any_value: Any = None


Layouts = Callable[[int], PlaceSymbols]  # what is written at the place of a number; compared by identity


class ObjectRules(NamedTuple):
    """The rules of an object with n properties in a fixed order, then undeclared properties.

        member(i)   -> key(i) colon value(i) behind next(i + 1) | member(i + 1)
        next(i)     -> close | comma member(i)
        member(n)   -> other_key colon value(n) behind next(n + 1)
        next(n + 1) -> close | comma member'(n)

    `member(i)` has its second alternative unless property i is required. `next(i)` has its first alternative if no
    property from i on is required. `member'(n)` derives the same as `member(n)`, and both it and `next(n + 1)` are
    watched: an undeclared key must not come twice. `next(i + 1)` has the number i in the family, `member(i)` n + i,
    `next(n + 1)` 2n + 1, `member'(n)` 2n + 2.

    Attributes:
        name: The name of the nonterminals, for messages.
        key_texts: `key(i)` is the JSON string `key_texts[i]`. Texts after the first n are keys that
            must not occur.
        value_keys: `value(i)` is the symbol of `value_keys[i]`; one more if undeclared properties are allowed.
        value_symbols: Makes the symbols of values.
        required: Whether property i must occur.
        allows_other_keys: Undeclared properties may follow.
        next_member: `member(n)` where it is not one of these rules; None: no member follows the n properties.
        any_key: The terminal of any key.
        plain_keys: Whether listed keys are spelled plainly.
    """

    name: str
    key_texts: Sequence[str]
    value_keys: Sequence[ValueKey]
    value_symbols: ValueSymbols
    required: Sequence[bool]
    allows_other_keys: bool
    next_member: PlacedNonterminal | None
    any_key: Terminal
    plain_keys: bool


class KeySetRules(NamedTuple):
    """The rules of an object with n declared properties, and perhaps undeclared ones, by what was written.

        first     -> member(s)
        member(s) -> key(i) after_key value(i) after_value next(s')         for each property i that is not in s
                   | other_key(c) after_key value(c) after_value next(s')   for each class c of undeclared keys
        next(s)   -> close | separator member(s)

    `KeysSoFar` s are the set of the properties so far, the number of all so far as far as it matters, and whether one
    was undeclared. `next(s)` has its first alternative if every required property is in s and there are
    at least `low` properties. A property may come if the required ones still fit into `high` properties after it.
    After an undeclared key, `next(s)` and `member(s)` are watched: it must not come twice.

    In order, s is the number of properties that were passed, and whether one was undeclared: properties up to the next
    required one may come, and undeclared ones if none is required any more; after these, no declared one.

    Attributes:
        key: Identifies these rules in `PlacedNonterminal.keys_so_far`.
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
        any_key: The terminal of any key.
        plain_keys: Whether listed keys are spelled plainly.
        place: The number of the place.
        layouts: Says what is written at a place.
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
    any_key: Terminal
    plain_keys: bool
    place: int
    layouts: Layouts


class KeysSoFar(NamedTuple):
    """The keys of an object so far, as `KeySetRules` distinguish them.

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
    """The rules of an array whose items all fulfil the same schema. `next` has the number 1 in the family.

        first -> value behind next
        next  -> close | comma value behind next

    Attributes:
        name: The name of the nonterminals, for messages.
        value_key: Names the items.
        value_symbols: Makes the symbol of the items.
        is_watched: Whether the guard watches the items.
    """

    name: str
    value_key: ValueKey
    value_symbols: ValueSymbols
    is_watched: bool


class ContainerRules(NamedTuple):
    """Objects or arrays that a value may be.

    Attributes:
        is_object: Whether they are objects.
        may_be_empty: Whether one of them is empty.
        first: What comes behind the opening of the others, at any place; None: there are no others.
    """

    is_object: bool
    may_be_empty: bool
    first: PlacedNonterminal | None


class ValueRules(NamedTuple):
    """The alternatives of a value.

    Attributes:
        terminals: Those of one terminal.
        containers: Those that are objects and arrays.
    """

    terminals: Sequence[Terminal]
    containers: Sequence[ContainerRules]


class SameRules(NamedTuple):
    """The rules of a nonterminal that derives what another one derives.

    Attributes:
        other: That nonterminal, which is described no earlier.
    """

    other: PlacedNonterminal


class Position(NamedTuple):
    """The position of a nonterminal that differs from others in its place only.

    Attributes:
        family: Names these nonterminals, and those that are described with them.
        number: Its number among the latter.
        place: The number of the place.
        layouts: Says what is written at a place.
    """

    family: Hashable
    number: int
    place: int
    layouts: Layouts


class PlacedNonterminal(Nonterminal):
    """A nonterminal inside a JSON value, whose rules the engine may make from a description of all places.

    Attributes:
        is_value: Whether it stands inside of the container whose rules name it.
        is_late: Whether it is described when a text first reaches one of its family; else when something names one.
    """

    is_value: ClassVar[bool] = False
    is_late: ClassVar[bool] = False

    __slots__ = ()

    @property
    def position(self) -> Position | None:
        """The position of a nonterminal among its rules; None: it stands for itself alone."""
        return None

    def at(self, place: int) -> Nonterminal:
        """The nonterminal that stands for it at another place."""
        raise NotImplementedError

    def description(self) -> ValueRules | SameRules | ObjectRules | ArrayRules | None:
        """The rules of its family; None: they are made place by place."""
        return None

    def key_set_rules(self) -> KeySetRules | None:
        """The rules of the whole object that begins with this nonterminal, by the keys so far; None: it has others."""
        return None

    @property
    def keys_so_far(self) -> tuple[Hashable, KeysSoFar] | None:
        """(key of the rules by keys that contain this nonterminal, its keys so far), or None."""
        return None
