"""The state of the monitor of SQL."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

from constrain.monitors.sql.scopes import Frames, Paren, Query, innermost_query, replace_query
from constrain.monitors.stacks import StackState, replace_fields

NO_WORDS: frozenset[str] = frozenset()


class _SqlFields(NamedTuple):
    """The fields of `SqlState`.

    Attributes:
        frames: Queries and parentheses, the innermost first.
        at: The name of what may come next (monitor.py).
        held: The parts of a name whose meaning the next lexeme shows.
        extra: Words that may begin an operand, or a table, state.
        item: The result that is being read: None: nothing so far; a name: one column; "": an expression.
        quoted: A name in double quotes has begun, which is a text if there is no such column.
    """

    frames: Frames = None
    at: str = "start"
    held: tuple[str, ...] = ()
    extra: frozenset[str] = NO_WORDS
    item: str | None = None
    quoted: bool = False


class SqlState(_SqlFields, StackState[Query | Paren]):
    """The state of a reading of SQL, after whole lexemes. Its steps also take words that may begin what comes."""

    __slots__ = ()
    reset: ClassVar[dict[str, Any]] = {"held": (), "quoted": False}

    @property
    def query(self) -> Query:
        """The innermost query, where there is one."""
        query = innermost_query(self.frames)
        assert query is not None
        return query

    def go(self, at: str, *extra: str, **changes: Any) -> SqlState:
        """The state with something else to come."""
        return replace_fields(self, {**self.reset, "extra": frozenset(extra), "at": at, **changes})

    def push(self, frame: Any, at: str, *extra: str, **changes: Any) -> SqlState:
        """The state inside a new part."""
        return self.go(at, *extra, frames=(frame, self.frames), **changes)

    def change(self, **changes: Any) -> SqlState:
        """The state with something changed in the innermost query."""
        return self.change_query(self.query, **changes)

    def change_query(self, query: Query, **changes: Any) -> SqlState:
        """The state with something changed in one of its queries."""
        return self._replace(frames=replace_query(self.frames, query, query._replace(**changes)))


OPEN = SqlState(at="open")
