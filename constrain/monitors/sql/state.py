"""The state of the monitor of SQL: where a text stands."""

from __future__ import annotations

from typing import Any, NamedTuple

from constrain.monitors.sql.scopes import (
    Frame,
    Frames,
    nearest,
    replaced,
)

NO_WORDS: frozenset[str] = frozenset()


class Sql(NamedTuple):
    """Where a text stands.

    Attributes:
        frames: Queries and parentheses, the innermost first.
        at: What may come next.
        held: The parts of a name whose meaning is not known yet.
        extra: Words that may begin an operand, or a table, here.
        item: The result that is being read: None: nothing of it; a name: one column; "": more.
        quoted: A name in double quotes has begun, which is a text if there is no such column.
    """

    frames: Frames = None
    at: str = "start"
    held: tuple[str, ...] = ()
    extra: frozenset[str] = NO_WORDS
    item: str | None = None
    quoted: bool = False

    @property
    def top(self) -> Frame | None:
        """The innermost query or parenthesis."""
        return self.frames[0] if self.frames is not None else None

    def go(self, at: str, *extra: str, **changes: Any) -> Sql:
        """The state with something else to come."""
        return self._replace(at=at, extra=frozenset(extra), held=(), quoted=False)._replace(**changes)

    def push(self, frame: Frame, at: str, *extra: str) -> Sql:
        """The state inside a new frame."""
        return self.go(at, *extra, frames=(frame, self.frames))

    def pop(self, at: str) -> Sql:
        """The state outside the innermost frame."""
        assert self.frames is not None
        return self.go(at, frames=self.frames[1])

    def change(self, **changes: Any) -> Sql:
        """The state with something changed in the innermost query."""
        query = nearest(self.frames)
        assert query is not None
        return self._replace(frames=replaced(self.frames, query, query._replace(**changes)))


OPEN = Sql(at="open")
