"""Names that are bound, with what is known of their values. They are a part of the states of monitors."""

from __future__ import annotations

from typing import Any


class Bound:
    """Names and what is known of their values. Each has its hash, so that it is computed once.

    Attributes:
        table: name -> its value, or what the text defines; None: its value is not known.
    """

    __slots__ = ("_hash", "table")

    def __init__(self, table: dict[str, Any], known_hash: int | None = None) -> None:
        self.table = table
        self._hash = known_hash if known_hash is not None else 0
        if known_hash is None:
            for pair in table.items():
                self._hash ^= hash(pair)

    def add(self, name: str, value: Any) -> Bound:
        """Give these names and one more, or another value of one."""
        table = self.table
        new = hash((name, value))
        if name in table:
            old = table[name]
            if old == value:
                return self
            new ^= hash((name, old))
        return Bound({**table, name: value}, self._hash ^ new)

    def forget_changes(self, before: Bound, keeps_new: bool = False) -> Bound:
        """Give these names without the values that they have got since then: a block may not have run.

        keeps_new: whether definitions and imports of names that were not bound then stay.
        """
        after = self
        if before is not self:
            for name, value in self.table.items():
                if value is not None and before.table.get(name) != value:
                    if not (keeps_new and value.lasts and name not in before.table):
                        after = after.add(name, None)
        return after

    def keep_lasting(self) -> Bound:
        """Give these names without values that another assignment may change: those of definitions and imports stay."""
        after = self
        for name, value in self.table.items():
            if value is not None and not value.lasts:
                after = after.add(name, None)
        return after

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Bound) and self._hash == other._hash and self.table == other.table)


EMPTY = Bound({})
