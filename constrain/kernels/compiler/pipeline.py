"""Numba's compiler with two more passes: accessors are expanded, and indices are never negative.

Python's `A[-1]` is the last element, so numba adds the length to an index that may be negative: a comparison, an
addition and a choice before each access, all in the way of the load. Nearly every index here is loaded from the arena
itself, where the compiler cannot know that it is no less than zero. The second pass tells it: each index of an element
is taken as unsigned. The first pass is described in accessors.py.
"""

from __future__ import annotations

from typing import Any

from numba.core import ir, types
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import FunctionPass, register_pass
from numba.core.typed_passes import NoPythonSupportedFeatureValidation
from numba.core.typing import signature
from numba.core.untyped_passes import IRProcessing

from constrain.kernels.compiler.expansion import expand


@register_pass(mutates_CFG=False, analysis_only=False)
class _Accessors(FunctionPass):
    _name = "constrain_accessors"

    def __init__(self) -> None:
        super().__init__()

    def run_pass(self, state: Any) -> bool:
        expand(state.func_ir)
        return True


@register_pass(mutates_CFG=False, analysis_only=False)
class _Unsigned(FunctionPass):
    _name = "constrain_unsigned_indices"

    def __init__(self) -> None:
        super().__init__()

    def run_pass(self, state: Any) -> bool:
        calls = state.calltypes
        for block in state.func_ir.blocks.values():
            for statement in block.body:
                if isinstance(statement, ir.SetItem):
                    calls[statement] = _unsigned(calls.pop(statement))
                elif isinstance(statement, ir.Assign) and isinstance(statement.value, ir.Expr):
                    if statement.value.op == "getitem":
                        calls[statement.value] = _unsigned(calls.pop(statement.value))
        return True


def _unsigned(call: Any) -> Any:
    array, index, *rest = call.args
    if isinstance(array, types.Array) and isinstance(index, types.Integer):
        return signature(call.return_type, array, types.uint64, *rest)
    return call


class Compiler(CompilerBase):
    """Numba's compiler, with these passes."""

    def define_pipelines(self) -> list[Any]:
        """Numba's own pipeline; accessors are expanded before types are inferred, indices changed afterwards."""
        manager = DefaultPassBuilder.define_nopython_pipeline(self.state)
        manager.add_pass_after(_Accessors, IRProcessing)
        manager.add_pass_after(_Unsigned, NoPythonSupportedFeatureValidation)
        manager.finalize()
        return [manager]
