"""Values that monitors keep in their states: names that are bound, and stacks as nested pairs, the innermost first."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any


class Bound:
    """Names and what is known of their values. Each has its hash, so that it is computed once.

    Attributes:
        table: name -> `Value`, or what the text defines (definitions.py); None: its value is not known.
    """

    __slots__ = ("_hash", "table")

    def __init__(self, table: dict[str, Any], known_hash: int | None = None) -> None:
        self.table = table
        self._hash = known_hash if known_hash is not None else 0
        if known_hash is None:
            for pair in table.items():
                self._hash ^= hash(pair)

    def plus(self, name: str, value: Any) -> Bound:
        """With one name more, or another value."""
        table = self.table
        new = hash((name, value))
        if name in table:
            old = table[name]
            if old == value:
                return self
            new ^= hash((name, old))
        return Bound({**table, name: value}, self._hash ^ new)

    def since(self, before: Bound) -> Bound:
        """Without the values that names have got since then: they have them only if a block was run."""
        after = self
        if before is not self:
            for name, value in self.table.items():
                if value is not None and before.table.get(name) != value:
                    after = after.plus(name, None)
        return after

    def lasting(self) -> Bound:
        """Without values that another assignment may change: those of what is defined or imported are left."""
        after = self
        for name, value in self.table.items():
            if value is not None and not value.lasts:
                after = after.plus(name, None)
        return after

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Bound) and self._hash == other._hash and self.table == other.table)


EMPTY = Bound({})


def each(stack: Any) -> Iterator[Any]:
    """The elements of a stack, the innermost first."""
    while stack is not None:
        top, stack = stack
        yield top


def replaced(stack: Any, place: int, new: Any) -> Any:
    """A stack with another element at a place; 0: the innermost."""
    top, rest = stack
    return (new, rest) if place == 0 else (top, replaced(rest, place - 1, new))
