"""The state of the monitor of Python."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

from constrain.monitors.python.scopes import NOTHING, Blocks, Frames, PythonBlock, PythonFrame, Scopes
from constrain.monitors.python.values import PythonCall
from constrain.monitors.stacks import StackState


class _PythonFields(NamedTuple):
    """The fields of `PythonState`.

    Attributes:
        scopes, blocks, frames: The stacks (scopes.py).
        at: The name of what may come next (monitor.py).
        column: The column of the line that begins; None: inside a line.
        head: The word that the statement began with; "": it is an expression or an assignment.
        held: The name whose meaning the next lexeme shows; of an import, with its dots.
        value: The value of the operand that was read last; None: it is not known.
        binding: Whether names are bound state, not used: after `for` and `as`.
        targets: Whether what was read of the statement may be what `=` binds.
        uses: Names and attributes at such places.
        binds: Names and attributes that the statement binds when it ends.
        target: The name that the statement begins with, or the single one that its value is bound to.
        plain: Whether what was read since the last `=` is one operand.
        lazy: Whether an annotation is read.
        doubt: Whether the statement asks where it runs, or expects a fault.
        after: Whether the block that has just ended was in doubt.
        params: The parameters of the function that is defined (`PythonFrame.listed`); the call of the bases of a class;
            the module of an import.
        defined: The name of the function or class that is defined.
        decorators: The values of the decorators before a definition.
        source: What the name after `as` is bound to.
        spelled: The annotation that is being read, or that the statement has.
        hints: Parameters, with types as far as they are declared; the names that `for` binds, and if they
            are new; "async".
    """

    scopes: Scopes
    blocks: Blocks = None
    frames: Frames = None
    at: str = "start"
    column: int | None = 0
    head: str = ""
    held: str = ""
    value: Any = None
    binding: bool = False
    targets: bool = False
    uses: frozenset[Any] = NOTHING
    binds: frozenset[Any] = NOTHING
    target: str = ""
    plain: bool = False
    lazy: bool = False
    doubt: bool = False
    after: bool = False
    params: Any = ()
    defined: str = ""
    decorators: tuple[Any, ...] = ()
    source: Any = None
    spelled: str = ""
    hints: tuple[tuple[str, Any], ...] = ()


class PythonState(_PythonFields, StackState[PythonFrame]):
    """The state of a reading of Python, after whole lexemes."""

    __slots__ = ()
    saved = ("binding", "targets", "plain")
    reset: ClassVar[dict[str, Any]] = {"held": "", "value": None, "source": None}
    begun: ClassVar[dict[str, Any]] = {"plain": True}

    @property
    def call(self) -> PythonCall | None:
        """The call of the innermost part; None: it is none."""
        return None if self.frames is None else self.frames[0].call

    @property
    def block(self) -> PythonBlock | None:
        """The innermost block; None: the text is outside of blocks."""
        return None if self.blocks is None else self.blocks[0]

    def change_block(self, **changes: Any) -> PythonState:
        """The state with something changed in the innermost block."""
        assert self.blocks is not None
        return self._replace(blocks=(self.blocks[0]._replace(**changes), self.blocks[1]))
