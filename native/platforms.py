"""The platforms that have wheels with compiled kernels, and how each is compiled for.

A platform is named by its tag in a wheel's name (PEP 425, PEP 600, PEP 656). All are made on one machine: LLVM makes
code for each, and `zig cc` of the package `ziglang`, which has the headers of all of them, compiles module.c and links.
Levels of processors: x86-64 psABI, section 3.1.1; the lowest first.
"""

from __future__ import annotations

import importlib.util
import platform
import shlex
import shutil
import subprocess
import sys
import sysconfig
from os import environ
from pathlib import Path
from typing import NamedTuple

X86 = ("x86-64-v2", "x86-64-v3")
V3 = ("avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe")  # what v3 adds to v2
ARM = ("generic",)
OWN_LEVELS = {"x86_64": X86, "aarch64": ARM}
WARNINGS = ("-O2", "-std=gnu99", "-Wall", "-Wno-unused-function")
ELF = ("-shared", "-fPIC", "-fvisibility=hidden", "-Wl,-z,noexecstack", "-s")
MUSL = (*ELF, "-dynamic")  # else zig links its own musl into it
MACH_O = ("-shared", "-fPIC", "-fvisibility=hidden", "-Wl,-undefined,dynamic_lookup,-install_name,_native.abi3.so")
PE = ("-shared", "-fvisibility=hidden", "-include", str(Path(__file__).parent / "windows.h"))
DATA = ("PyExc_", "_Py_NoneStruct")  # names of objects, not functions
IN_MACROS = ("PyModule_Create2", "_Py_Dealloc", "_Py_NoneStruct")


class Platform(NamedTuple):
    """A platform.

    Attributes:
        triple: As LLVM names it.
        target: As zig names it; "": this machine, whose own compiler is used.
        levels: The kinds of processors for which kernels are compiled, of which one is chosen when they are loaded.
        flags: Of the compiler and the linker.
        library: The name of the extension module.
    """

    triple: str
    target: str
    levels: tuple[str, ...]
    flags: tuple[str, ...] = ELF
    library: str = "_native.abi3.so"


PLATFORMS = {
    "manylinux_2_17_x86_64": Platform("x86_64-unknown-linux-gnu", "x86_64-linux-gnu.2.17", X86),
    "manylinux_2_17_aarch64": Platform("aarch64-unknown-linux-gnu", "aarch64-linux-gnu.2.17", ARM),
    "musllinux_1_2_x86_64": Platform("x86_64-unknown-linux-musl", "x86_64-linux-musl", X86, MUSL),
    "musllinux_1_2_aarch64": Platform("aarch64-unknown-linux-musl", "aarch64-linux-musl", ARM, MUSL),
    "macosx_11_0_arm64": Platform("arm64-apple-macosx11.0.0", "aarch64-macos.11.0", ("apple-m1",), MACH_O),
    "macosx_10_13_x86_64": Platform("x86_64-apple-macosx10.13.0", "x86_64-macos.10.13", X86, MACH_O),
    "win_amd64": Platform("x86_64-pc-windows-gnu", "x86_64-windows-gnu", X86, PE, "_native.pyd"),
}


def missing() -> str:
    """Why the kernels cannot be compiled for this machine, or nothing."""
    if sys.platform != "linux" or platform.python_implementation() != "CPython" or platform.machine() not in OWN_LEVELS:
        return "this was tried on Linux, x86-64 or aarch64, and CPython alone"
    if shutil.which(_own_compiler()[0]) is None and importlib.util.find_spec("ziglang") is None:
        return "there is no C compiler (CC)"
    if not (Path(sysconfig.get_path("include")) / "Python.h").exists():
        return "there are no headers of Python"
    absent = [name for name in ("numba", "numpy") if importlib.util.find_spec(name) is None]
    return f"{absent[0]} is not installed" if absent else ""


def this_machine() -> Platform:
    """The machine that builds, with its own compiler, else zig. A library for a free-threaded Python has its name."""
    machine = platform.machine()
    suffix = sysconfig.get_config_var("EXT_SUFFIX") if sysconfig.get_config_var("Py_GIL_DISABLED") else ".abi3.so"
    own = Platform(f"{machine}-unknown-linux-gnu", "", OWN_LEVELS[machine], library=f"_native{suffix}")
    if shutil.which(_own_compiler()[0]) is not None:
        return own
    libc = "manylinux_2_17" if platform.libc_ver()[0] == "glibc" else "musllinux_1_2"
    zig = PLATFORMS[f"{libc}_{machine}"]
    return own._replace(target=zig.target, flags=zig.flags)


def this_processor() -> Platform:
    """This machine, and of its levels the best that this processor has."""
    from llvmlite import binding as llvm

    machine = this_machine()
    features = llvm.get_host_cpu_features()
    best = machine.levels[-1 if machine.levels != X86 or all(features.get(name) for name in V3) else 0]
    return machine._replace(levels=(best,))


def compiler(target: Platform) -> list[str]:
    """The command of the C compiler: `$CC` or `cc` for this machine, else zig's."""
    if not target.target:
        return _own_compiler()
    if importlib.util.find_spec("ziglang") is None:
        raise SystemExit("native.build: other platforms need zig\n  fix: pip install ziglang")
    return [sys.executable, "-m", "ziglang", "cc", "-target", target.target]


def _own_compiler() -> list[str]:
    return shlex.split(environ.get("CC", "cc"))


def import_library(names: list[str], folder: Path) -> Path:
    """python3.dll as Windows' linker sees it. names: what module.c uses of the stable ABI, its macros apart"""
    definition, library = folder / "python3.def", folder / "python3.lib"
    exports = [f"    {name}{' DATA' if name.startswith(DATA) else ''}\n" for name in [*names, *IN_MACROS]]
    definition.write_text("LIBRARY python3.dll\nEXPORTS\n" + "".join(exports))
    zig = [sys.executable, "-m", "ziglang", "dlltool", "-m", "i386:x86-64"]
    subprocess.run([*zig, "-d", str(definition), "-l", str(library)], check=True)
    return library
