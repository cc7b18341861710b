"""LLVM to object code, for each level of a kind of processor.

All kernels are optimised as one program: those that Python calls stay visible, and the rest is inlined, specialised or
dropped as the optimiser sees fit. What numba passes for each array and no kernel reads goes, too.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from llvmlite import binding as llvm

LIBC = {"memcpy", "memmove", "memset"}
CLOCK = {"clock_gettime": "thread_time"}  # what kernels call on the machine that builds, and what module.c has


def emit(module: Any, entries: Iterable[str], triple: str, level: str) -> bytes:
    """An object file of the module. entries: the functions that stay visible, under the names of `entry_name`."""
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    target = llvm.Target.from_triple(triple).create_target_machine(cpu=level, opt=3, reloc="pic", codemodel="default")
    copy = _for_target(module, triple, str(target.target_data))
    for name, ours in CLOCK.items():
        if any(function.name == name for function in copy.functions):
            copy.get_function(name).name = ours
    for item in [*copy.functions, *copy.global_variables]:
        if not item.is_declaration:
            item.linkage = "internal"
    for number, name in enumerate(entries):
        function = copy.get_function(name)
        function.linkage, function.visibility = "external", "hidden"
        function.name = entry_name(number, level)
    tuning = llvm.create_pipeline_tuning_options(speed_level=3)
    tuning.loop_vectorization = True  # as numba does
    tuning.slp_vectorization = False
    passes = llvm.create_pass_builder(target, tuning)
    passes.getModulePassManager().run(copy, passes)
    absent = {f.name for f in copy.functions if f.is_declaration and not f.name.startswith("llvm.")}
    absent -= LIBC | set(CLOCK.values())
    if absent:
        raise RuntimeError(f"kernels call what is not part of them: {', '.join(sorted(absent))}")
    return target.emit_object(copy)


def entry_name(number: int, level: str) -> str:
    """The symbol of an entry."""
    return f"kernel_{number}_{level.replace('-', '_')}"


def _for_target(module: Any, triple: str, layout: str) -> Any:
    """A copy of a module that was made for this machine, for another one with words of the same size."""
    copy = module.clone()
    copy.triple, copy.data_layout = triple, layout
    return copy
