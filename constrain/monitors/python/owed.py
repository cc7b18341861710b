"""The texts that bind the names of Python which a text has put off."""

from __future__ import annotations

from constrain.monitors.python.state import PythonState
from constrain.monitors.stacks import elements


def owed(state: PythonState) -> list[str]:
    """Give texts that bind names which were used before they are bound.

    Args:
        state: The state of the monitor after the text, with no name held.

    Returns:
        The `for` of a comprehension, `=` behind what it binds, the attributes of the class that is open, and the names
        of the module in lines of their own; none where nothing was put off.
    """
    found = []
    for frame in elements(state.frames):
        if frame.able and frame.uses:
            names = sorted(use for use in frame.uses if isinstance(use, str))
            found.append(f" for {','.join(names)} in[]" if names else " for _ in[]")
            break
    if state.frames is None and state.uses:
        found.append("=0")
    scopes = [*elements(state.scopes)]
    columns = [block.column for block in elements(state.blocks) if block.head == "class"]
    missing = {name for scope in scopes for name in scope.pending - scope.bound.table.keys()}
    lines = "".join(f"\n{name}=0" for name in sorted(missing))
    if state.frames is None and lines:
        found.append(lines)
    enclosing = next((scope for scope in scopes if scope.kind == "class"), None)
    if enclosing is not None and enclosing.owed and columns and columns[0] > 0:
        found.append("".join(f"\n{' ' * columns[0]}{name}=0" for name in sorted(enclosing.owed)) + lines)
    return found
