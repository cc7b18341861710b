"""The texts that give a program of TypeScript the values and members that must still come."""

from __future__ import annotations

from constrain.monitors.monitor import SIGN
from constrain.monitors.typescript.naming import TsLexeme
from constrain.monitors.typescript.state import TypeScriptState
from constrain.monitors.typescript.statements import Statements

LITERALS = ("0", '""', "[]", "!0")
ANYTHING = 'JSON.parse("")'  # of the type any
OPERANDS = frozenset({"operand", "argument", "element", "test", "step", "result of return", "arrow body"})
CHANGES = ('+""', "===0", ".length", f"&&{ANYTHING}")  # a value becomes one of another type


def owed(monitor: Statements, state: TypeScriptState) -> list[str]:
    """Give texts that are of any type where an operand stands, name the members that lack, or leave a function.

    Args:
        monitor: The monitor.
        state: Its state after the text.

    Returns:
        Texts, of which some may be refused.
    """
    if state.at == "statement":
        return ["throw 0;"] if "return" in monitor.statement_words(monitor.settled(state)) else []
    if state.at == "class member":
        return ["constructor(){throw 0;}"]
    if state.at == "property":
        return _members(monitor, state)
    if state.at == "property name":
        return [f":{ANYTHING}"]
    if state.at != "operator":
        return [*LITERALS, ANYTHING] if state.at in OPERANDS else []
    after = monitor.read(state, TsLexeme(SIGN, sign=",")) if state.kind == "property" else None
    behind = [] if after is None or after.at != "property" else _members(monitor, after)
    behind += [ANYTHING] if state.kind == "argument" else []
    return [*(f",{each}" for each in behind), *CHANGES]


def _members(monitor: Statements, state: TypeScriptState) -> list[str]:
    """The text of the members of an object that are expected and not there."""
    names = monitor.expected_names(state)
    return [",".join(f"{name}:{ANYTHING}" for name in sorted(names))] if names else []
