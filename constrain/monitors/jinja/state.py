"""The state of the monitor of Jinja, and what is open in it."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple, Union

from constrain.monitors.bound import Bound
from constrain.monitors.jinja.values import JinjaValue
from constrain.monitors.stacks import StackState

Blocks = Union[tuple["JinjaBlock", "Blocks"], None]  # noqa: UP007
Brackets = Union[tuple["JinjaBracket", "Brackets"], None]  # noqa: UP007
NOTHING: frozenset[str] = frozenset()


class JinjaBlock(NamedTuple):
    """A statement that is open until its end tag.

    Attributes:
        kind: The word that began it.
        names: The names that were visible before it.
        ended: Of "if": the names that are visible after the branches that were read; None: none was.
        whole: Of "if": whether it has an else.
        targets: Of "set": the names that its end binds.
        name: Of "block": its name.
        uses, later, runs_later: These fields of the state before it.
    """

    kind: str
    names: Bound
    ended: Bound | None = None
    whole: bool = False
    targets: tuple[str, ...] = ()
    name: str = ""
    uses: frozenset[str] = NOTHING
    later: frozenset[str] = NOTHING
    runs_later: bool = False


class JinjaBracket(NamedTuple):
    """A bracket that is open.

    Attributes:
        kind: "(", "[" or "{" of an operand; "call", "item", "filter call" after one; "targets"; "parameters".
        value: The value of the whole, as far as it is known; None in parentheses.
        plain, conditional: These fields of the state around it.
    """

    kind: str
    value: JinjaValue | None = None
    plain: bool = True
    conditional: bool = False


class _JinjaFields(NamedTuple):
    """The fields of `JinjaState`.

    Attributes:
        names: The names that are visible, with what is known of their values.
        top_names: Those at the top level: what blocks see.
        blocks, frames: The stacks of statements and brackets, the innermost first.
        at: The name of what may come next (monitor.py).
        tag: The word of the statement that is read; "": a variable's tag.
        held: The name or word whose meaning the next lexeme shows.
        value: The value of the operand that was read last; None: nothing is known of it.
        plain: Whether the expression is one operand so far.
        conditional: Whether an `else` may follow: there was an `if`.
        targets: The names that the statement binds at its end.
        is_given: Whether there was a `=` or an `in`.
        uses: Names used in the innermost macro or block that the template has to bind before it ends.
        later: Names that this scope, or one around it, has to bind.
        runs_later: Whether the text is inside of a macro or block.
    """

    names: Bound
    top_names: Bound
    blocks: Blocks = None
    frames: Brackets = None
    at: str = "text"
    tag: str = ""
    held: str = ""
    value: JinjaValue | None = None
    plain: bool = True
    conditional: bool = False
    targets: tuple[str, ...] = ()
    is_given: bool = False
    uses: frozenset[str] = NOTHING
    later: frozenset[str] = NOTHING
    runs_later: bool = False


class JinjaState(_JinjaFields, StackState[JinjaBracket]):
    """The state of a reading of a template, after whole lexemes."""

    __slots__ = ()
    saved = ("plain", "conditional")
    begun: ClassVar[dict[str, Any]] = {"value": None, "plain": True, "conditional": False}

    @property
    def block(self) -> JinjaBlock | None:
        """The innermost statement that is open."""
        return self.blocks[0] if self.blocks is not None else None

    def close(self) -> JinjaState | None:
        """The state after a closing bracket; None: no bracket is open."""
        if self.frames is None:
            return None
        bracket = self.frames[0]
        return self.pop(
            "operator", value=(self.value if self.plain else None) if bracket.kind == "(" else bracket.value
        )

    def text(self) -> JinjaState:
        """The state after a tag."""
        return self.fresh("text", tag="", targets=(), is_given=False)


def start(names: Bound) -> JinjaState:
    """The state before a template."""
    return JinjaState(names, names)
