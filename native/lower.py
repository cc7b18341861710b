"""Kernels to LLVM: one module, in which each kernel is a function of plain arguments that returns a code.

Numba compiles a kernel down to LLVM as it always does, and is then kept from going on. Two things differ from what it
does for a process of its own: kernels call each other by name, so that the optimiser sees them all at once; and a
kernel that raises returns a number instead of the address of a Python object.

    int32 kernel(result *, arguments...)    0, or 1 + the place of the exception in `Lowered.errors`
    an array is its words: meminfo, parent (both null), items, bytes an item, data, shape..., strides...

Private parts of numba are used: pyproject.toml pins the versions with which a wheel is built. Lowering changes numba
for the whole process, which does nothing else.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from llvmlite import binding as llvm
from numba.core import callconv, codegen, compiler, cpu, sigutils
from numba.core.compiler_lock import global_compiler_lock
from numba.core.registry import cpu_target

from constrain.kernels.compiler import linking, pipeline

linking.never_copied = True
import constrain.kernels  # noqa: E402  (declares kernels, which looks at `never_copied`)
from constrain.kernels.compiler import jit  # noqa: E402

Error = tuple[type[BaseException], tuple[Any, ...]]  # what is raised: a class and its arguments


class Lowered(NamedTuple):
    """module: of all kernels, by their names (`jit.Kernel.name`). errors: what codes mean, from 1 on."""

    module: Any
    kernels: list[jit.Kernel]
    errors: list[Error]


def lower() -> Lowered:
    """All kernels of the package."""
    constrain.kernels.declare_all()
    context = _Context()
    whole = llvm.parse_assembly("")
    helpers: set[Any] = set()
    for kernel in jit.declared:
        library, name = _lower(kernel, context)
        module = library._final_module
        function = module.get_function(name)
        function.name = symbol_of(kernel)
        if kernel.is_inline:
            function.add_function_attribute("alwaysinline")
        if kernel.is_apart:
            function.add_function_attribute("noinline")
            function.add_function_attribute("cold")
        whole.link_in(module)
        _link_helpers(whole, library, helpers)
    return Lowered(whole, list(jit.declared), context.errors)


def symbol_of(kernel: jit.Kernel) -> str:
    """The name of a kernel's function. Others call it by its module and name, unless several have that name."""
    alike = [k for k in jit.declared if linking.symbol_name(k.dispatcher) == linking.symbol_name(kernel.dispatcher)]
    return linking.symbol_name(kernel.dispatcher) if len(alike) == 1 else kernel.name


def _lower(kernel: jit.Kernel, context: _Context) -> tuple[Any, str]:
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
    return library, done.fndesc.llvm_func_name


def _link_helpers(whole: Any, library: Any, known: set[Any]) -> None:
    """Link what kernels need of numba's own functions, such as `min`."""
    for helper in library._linking_libraries:
        if helper not in known:
            known.add(helper)
            for function in helper._final_module.functions:
                if not function.is_declaration:
                    function.linkage = "linkonce_odr"
            whole.link_in(helper._final_module, preserve=True)
            _link_helpers(whole, helper, known)


class _Convention(callconv.MinimalCallConv):
    """The convention that is described above."""

    def return_user_exc(
        self, builder: Any, exc: Any, exc_args: Any = None, loc: Any = None, func_name: str | None = None
    ) -> None:
        error = exc, exc_args or ()
        if error not in self.context.errors:
            self.context.errors.append(error)
        self._return_errcode_raw(builder, 1 + self.context.errors.index(error))


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


class _Context(cpu.CPUContext):
    """Numba's target for code that runs without numba; it takes the place of numba's own, for helpers such as `min`."""

    def __init__(self) -> None:
        cpu_target.target_context.refresh()  # numba's runtime is made for numba's own target, and left unused
        self.errors: list[Error] = []
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
