"""The stacks of states of monitors, as nested pairs, and the steps between states."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, Generic, TypeVar

F = TypeVar("F")
T = TypeVar("T")
S = TypeVar("S", bound="StackState[Any]")


class StackState(Generic[F]):
    """The steps of a state that has a stack of open parts. A language's state has it as a base, beside a named tuple.

    Attributes:
        frames: The parts, the innermost first.
        scopes: The scopes of names, where a language has such a stack.
        saved: The fields that a part keeps while it is open: `push` stores them in it, `pop` takes them back.
        reset: The fields that each step sets anew, and their values.
        begun: The fields that the beginning of an expression sets anew, and their values.
    """

    __slots__ = ()
    saved: ClassVar[tuple[str, ...]] = ()
    reset: ClassVar[dict[str, Any]] = {"held": ""}
    begun: ClassVar[dict[str, Any]] = {}
    frames: Any
    scopes: Any

    @property
    def top(self) -> F | None:
        """The innermost part; None: none is open."""
        return None if self.frames is None else self.frames[0]

    @property
    def frame(self) -> F:
        """The innermost part, where one is open."""
        assert self.frames is not None
        frame: F = self.frames[0]
        return frame

    @property
    def kind(self) -> str:
        """The kind of the innermost part, or ""."""
        return "" if self.frames is None else self.frames[0].kind

    def swap(self: S, frame: Any) -> S:
        """The state with another innermost part."""
        return replace_fields(self, {"frames": (frame, self.frames[1])})

    @property
    def scope(self) -> Any:
        """The innermost scope."""
        return self.scopes[0]

    def go(self: S, at: str, **changes: Any) -> S:
        """The state with something else to come."""
        return replace_fields(self, {**self.reset, "at": at, **changes})

    def fresh(self: S, at: str, **changes: Any) -> S:
        """The state at the beginning of an expression."""
        return self.go(at, **{**self.begun, **changes})

    def push(self: S, frame: Any, at: str, **changes: Any) -> S:
        """The state inside a new part."""
        frame = replace_fields(frame, {field: getattr(self, field) for field in self.saved})
        return self.fresh(at, frames=(frame, self.frames), **changes)

    def pop(self: S, at: str, **changes: Any) -> S:
        """The state outside the innermost part."""
        frame, frames = self.frames
        saved = {field: getattr(frame, field) for field in self.saved}
        return self.go(at, **{"frames": frames, **saved, **changes})

    def change(self: S, **changes: Any) -> S:
        """The state with something changed in the innermost part."""
        return self.swap(replace_fields(self.frames[0], changes))

    def change_scope(self: S, **changes: Any) -> S:
        """The state with something changed in the innermost scope."""
        scope, scopes = self.scopes
        return replace_fields(self, {"scopes": (replace_fields(scope, changes), scopes)})

    @property
    def outermost_scope(self) -> Any:
        """The outermost scope: a file or a module."""
        return [*elements(self.scopes)][-1]

    def change_outermost_scope(self: S, **changes: Any) -> S:
        """The state with something changed in the outermost scope."""
        *_, (index, scope) = enumerate(elements(self.scopes))
        return replace_fields(self, {"scopes": replace_element(self.scopes, index, replace_fields(scope, changes))})


def replace_fields(record: T, changes: Mapping[str, Any]) -> T:
    """Give a named tuple with other values of some fields. PERF: three times as fast as `_replace`."""
    fields: Any = record
    values = [*fields]
    for field, value in changes.items():
        values[fields._fields.index(field)] = value
    made: T = fields._make(values)
    return made


def elements(stack: Any) -> Iterator[Any]:
    """Give the elements of a stack, the innermost first."""
    while stack is not None:
        top, stack = stack
        yield top


def replace_element(stack: Any, index: int, new: Any) -> Any:
    """Give a stack with another element at an index; 0: the innermost."""
    top, rest = stack
    return (new, rest) if index == 0 else (top, replace_element(rest, index - 1, new))
