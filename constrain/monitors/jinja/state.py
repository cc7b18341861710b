"""The state of the monitor of Jinja: where a template stands."""

from __future__ import annotations

from typing import Any, NamedTuple, Union

from constrain.monitors.jinja.values import Value
from constrain.monitors.stacks import Bound

Blocks = Union[tuple["Block", "Blocks"], None]  # noqa: UP007
Brackets = Union[tuple["Bracket", "Brackets"], None]  # noqa: UP007
NOTHING: frozenset[str] = frozenset()


class Block(NamedTuple):
    """A statement that is open until its end tag.

    Attributes:
        kind: The word that began it.
        names: What was visible before it.
        ended: Of "if": what is visible after the branches that were read; None: none was.
        whole: Of "if": whether it has an else.
        targets: Of "set": the names that its end binds.
        name: Of "block": its name.
        uses, later, runs_later: What these were before it (`J`).
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


class Bracket(NamedTuple):
    """A bracket that is open.

    Attributes:
        kind: "(", "[" or "{" of an operand; "call", "item", "filter call" after one; "targets"; "parameters".
        value: What is known of the value of the whole, but for that of an operand in parentheses.
        plain, conditional: What these were outside (`J`).
    """

    kind: str
    value: Value | None = None
    plain: bool = True
    conditional: bool = False


class J(NamedTuple):
    """Where a template stands.

    Attributes:
        names: The names that are visible, with what is known of their values.
        top: Those at the top level: what blocks see.
        blocks, brackets: The stacks, the innermost first.
        at: What may come next (monitor.py).
        tag: The word of the statement that is read; "": a variable's tag.
        held: The name or word whose meaning the next lexeme shows.
        value: What is known of the operand that was read last.
        plain: Whether the expression is one operand so far.
        conditional: Whether an `else` may follow: there was an `if`.
        targets: The names that the statement binds at its end.
        given: Of "for" and "set": what is known of the value that its target gets.
        is_given: Whether there was a `=` or an `in`.
        uses: Names used in the innermost macro or block that the template has to bind before it ends.
        later: Names that this scope, or one around it, has to bind.
        runs_later: Whether the text is inside of a macro or block.
    """

    names: Bound
    top: Bound
    blocks: Blocks = None
    brackets: Brackets = None
    at: str = "text"
    tag: str = ""
    held: str = ""
    value: Value | None = None
    plain: bool = True
    conditional: bool = False
    targets: tuple[str, ...] = ()
    given: Value | None = None
    is_given: bool = False
    uses: frozenset[str] = NOTHING
    later: frozenset[str] = NOTHING
    runs_later: bool = False

    @property
    def bracket(self) -> str:
        """The kind of the innermost bracket, or ""."""
        return self.brackets[0].kind if self.brackets is not None else ""

    @property
    def block(self) -> Block | None:
        """The innermost statement that is open."""
        return self.blocks[0] if self.blocks is not None else None

    def go(self, at: str, **changes: Any) -> J:
        """The state with something else to come."""
        return self._replace(**{"at": at, "held": "", **changes})

    def fresh(self, at: str = "operand", **changes: Any) -> J:
        """The state at the beginning of an expression."""
        return self.go(at, **{"value": None, "plain": True, "conditional": False, **changes})

    def push(self, kind: str, at: str, value: Value | None = None) -> J:
        """The state inside of a bracket."""
        bracket = Bracket(kind, value, self.plain, self.conditional)
        return self.fresh(at, brackets=(bracket, self.brackets))

    def pop(self) -> J | None:
        """The state after a closing bracket; None: no bracket is open."""
        if self.brackets is None:
            return None
        top, brackets = self.brackets
        value = (self.value if self.plain else None) if top.kind == "(" else top.value
        return self.go("operator", brackets=brackets, value=value, plain=top.plain, conditional=top.conditional)

    def text(self) -> J:
        """The state after a tag."""
        return self.fresh("text", tag="", targets=(), given=None, is_given=False)


def start(names: Bound) -> J:
    """The state before a template."""
    return J(names, names)
