"""One kernel to LLVM: a function of plain arguments that returns a code.

Numba compiles a kernel down to LLVM as it always does, and is then kept from going on. Two things differ from what it
does for a process of its own: kernels call each other by name, so that the optimiser sees them all at once
(program.py); and a kernel that raises returns a number instead of the address of a Python object.

    int32 kernel(result *, arguments...)    0, or the value of a variable that is named after the exception
    an array is its words: meminfo, parent (both null), items, bytes an item, data, shape..., strides...

Private parts of numba are used: pyproject.toml pins the versions with which a wheel is built. Lowering changes numba
for the whole process, which does nothing else.
"""

from __future__ import annotations

import json
from typing import Any

from llvmlite import ir
from numba.core import callconv, codegen, compiler, cpu, sigutils
from numba.core.compiler_lock import global_compiler_lock
from numba.core.registry import cpu_target

from constrain.kernels.compiler import jit, linking, pipeline

linking.never_copied = True  # before any kernel is declared
ERROR = "error "  # how the names of those variables begin; what follows is JSON: module, name, message or null
CODE = ir.IntType(32)


def lower(kernel: jit.Kernel, context: Context) -> bytes:
    """The bitcode of a kernel, under its name: all it needs of numba's own functions, such as `min`, is in it."""
    flags = compiler.Flags()
    flags.no_compile = flags.no_cpython_wrapper = flags.no_cfunc_wrapper = True
    flags.error_model = "numpy"
    arguments, result = sigutils.normalize_signature(kernel.signature)
    library = context.codegen().create_library(kernel.name)
    with global_compiler_lock:
        done = compiler.compile_extra(
            cpu_target.typing_context, context, kernel.dispatcher.py_func, arguments, result, flags, {}, library,
            pipeline.Compiler,
        )  # fmt: skip
    module = library._final_module
    _link_helpers(module, library, set())
    for each in [*module.functions, *module.global_variables]:
        if not each.is_declaration:
            each.linkage = "internal"  # two processes give one name to two things
    function = module.get_function(done.fndesc.llvm_func_name)
    function.linkage, function.name = "external", kernel.name
    return bytes(module.as_bitcode())


def _link_helpers(whole: Any, library: Any, known: set[Any]) -> None:
    for helper in library._linking_libraries:
        if helper not in known:
            known.add(helper)
            whole.link_in(helper._final_module, preserve=True)
            _link_helpers(whole, helper, known)


class _Convention(callconv.MinimalCallConv):
    """The convention that is described above."""

    def return_user_exc(
        self, builder: Any, exc: Any, exc_args: Any = None, loc: Any = None, func_name: str | None = None
    ) -> None:
        name = ERROR + json.dumps([exc.__module__, exc.__qualname__, str(exc_args[0]) if exc_args else None])
        known = builder.module.globals.get(name)
        self._return_errcode_raw(builder, builder.load(known or ir.GlobalVariable(builder.module, CODE, name)))


class _Library(codegen.AOTCodeLibrary):
    """The LLVM of one function as it was emitted, and what else it needs."""

    def _optimize_functions(self, ll_module: Any) -> None:
        pass

    def add_linking_library(self, library: Any) -> None:
        self._linking_libraries.append(library)

    def finalize(self) -> None:
        pass

    def _ensure_finalized(self) -> None:
        pass

    def get_pointer_to_function(self, name: str) -> int:
        return 1  # nobody calls it


class _Codegen(codegen.AOTCPUCodegen):
    _library_class = _Library

    def set_env(self, env_name: str, env: Any) -> None:
        pass


class Context(cpu.CPUContext):
    """Numba's target for code that runs without numba; it takes the place of numba's own, for helpers such as `min`."""

    def __init__(self) -> None:
        cpu_target.target_context.refresh()  # numba's runtime is made for numba's own target, and left unused
        super().__init__(cpu_target.typing_context)
        cpu_target.typing_context.refresh()
        self.refresh()
        cpu_target._toplevel_target_context = self

    def init(self) -> None:
        super().init()
        self._internal_codegen = _Codegen("kernels")
        self.aot_mode = True

    @property
    def call_conv(self) -> Any:
        return _Convention(self)

    def post_lowering(self, mod: Any, library: Any) -> None:
        pass

    def create_cpython_wrapper(self, *_arguments: Any, **_options: Any) -> None:
        pass

    def create_cfunc_wrapper(self, *_arguments: Any, **_options: Any) -> None:
        pass
