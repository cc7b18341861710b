"""Accessors (accessors.py) are replaced by their expressions in a kernel, in numba's intermediate representation."""

from __future__ import annotations

import functools
import itertools
from typing import Any

from numba.core import compiler, ir, ir_utils

from constrain.kernels.compiler.accessors import RecordLayout

_numbers = itertools.count()


def expand(func_ir: Any) -> None:
    """Replace the calls of accessors and the fields of layouts in a function, in place."""
    for block in func_ir.blocks.values():
        body = []
        for statement in block.body:
            value = statement.value if isinstance(statement, ir.Assign) else None
            if isinstance(value, ir.Global) and (hasattr(value.value, "accessor") or _is_layout(value.value)):
                statement = ir.Assign(ir.Const(0, statement.loc), statement.target, statement.loc)  # not used any more
            elif isinstance(value, ir.Expr) and value.op == "getattr":
                layout = _global(func_ir, value.value)
                if _is_layout(layout):
                    constant = ir.Const(int(getattr(layout, value.attr)), statement.loc)
                    statement = ir.Assign(constant, statement.target, statement.loc)
            elif isinstance(value, ir.FreeVar) and isinstance(value.value, int):  # the offset of a field
                statement = ir.Assign(ir.Const(int(value.value), statement.loc), statement.target, statement.loc)
            elif isinstance(value, ir.Expr) and value.op == "call":
                function = _accessor(func_ir, value.func)
                if function is not None:
                    body += _copy(_template(function), value, block.scope, statement)
                    continue
            body.append(statement)
        block.body = body
    func_ir._definitions = ir_utils.build_definitions(func_ir.blocks)


def _is_layout(value: Any) -> bool:
    return isinstance(value, type) and issubclass(value, RecordLayout)


def _accessor(func_ir: Any, variable: Any) -> Any:
    """The function of an accessor that a variable holds, a global or a field of a layout; else None."""
    definition = ir_utils.guard(ir_utils.get_definition, func_ir, variable)
    if (
        isinstance(definition, ir.Expr)
        and definition.op == "getattr"
        and _is_layout(_global(func_ir, definition.value))
    ):
        return getattr(_global(func_ir, definition.value), definition.attr).accessor
    return getattr(_global(func_ir, variable), "accessor", None)


def _global(func_ir: Any, variable: Any) -> Any:
    """The value of a variable that holds a global, else None."""
    definition = ir_utils.guard(ir_utils.get_definition, func_ir, variable)
    return definition.value if isinstance(definition, ir.Global) else None


@functools.cache
def _template(function: Any) -> list[Any]:
    """The statements of an accessor, its own accessors expanded."""
    func_ir = compiler.run_frontend(function)
    expand(func_ir)
    (block,) = func_ir.blocks.values()
    return list(block.body)


def _copy(template: list[Any], call: Any, scope: Any, statement: Any) -> list[Any]:
    """The statements of an accessor with the arguments of a call, whose target gets the result."""
    loc, number = statement.loc, next(_numbers)
    names: dict[str, Any] = {}

    def renamed(value: Any) -> Any:
        if isinstance(value, ir.Var):
            if value.name not in names:
                names[value.name] = scope.get_or_define(f"$accessor{number}.{value.name.lstrip('$')}", loc)
            return names[value.name]
        if isinstance(value, ir.Expr):
            return ir.Expr(value.op, loc, **{key: renamed(each) for key, each in value._kws.items()})
        if isinstance(value, (list, tuple)):
            return type(value)(renamed(each) for each in value)
        return value

    body: list[Any] = []
    for each in template:
        if isinstance(each, ir.Return):
            body.append(ir.Assign(renamed(each.value), statement.target, loc))
        elif isinstance(each, ir.SetItem):
            body.append(ir.SetItem(renamed(each.target), renamed(each.index), renamed(each.value), loc))
        elif isinstance(each.value, ir.Arg):
            names[each.target.name] = call.args[each.value.index]
        else:
            body.append(ir.Assign(renamed(each.value), renamed(each.target), loc))
    return body
