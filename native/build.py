"""Build the extension module of the kernels.

    python -m native.build                      # into the package, for this processor: what a checkout runs itself
    python -m native.build --out FOLDER         # into FOLDER, for all processors like this one
    python -m native.build --out FOLDER --platforms manylinux_2_17_aarch64,win_amd64    # into FOLDER/<platform>
    python -m native.build --out FOLDER --platforms all

Needs numba, Python's headers and a C compiler (`$CC`, else `cc`, else the package `ziglang`); for other platforms
(platforms.py) `ziglang`. Takes about 80 s of CPU time for kernels that were not lowered before, and 20 a platform.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import os
import re
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ["CONSTRAIN_KERNELS"] = "numba"  # decided when kernels are first imported
from constrain.kernels.compiler.progress import Line
from native import platforms
from native.platforms import Platform

SOURCE = Path(__file__).parent / "module.c"


class Build:
    """All kernels, lowered once, to be compiled for one platform after another. say: tells whoever waits."""

    def __init__(self, say: Callable[[str], None]) -> None:
        from native import program

        self.say = say
        self.lowered = program.build(lambda done, total: say(f"compiling kernels, once: {done} of {total}"))
        self.entries = [kernel for kernel in self.lowered.kernels if kernel.is_entry]
        self.symbols = [program.symbol_of(kernel) for kernel in self.entries]

    def library(self, out: Path, target: Platform, is_ours: bool = False) -> None:
        """Build the library of a platform. out: a folder. is_ours: this machine can run it, and tries."""
        from constrain import files
        from constrain.kernels.compiler import native
        from native import glue, optimise

        with tempfile.TemporaryDirectory() as folder:
            work = Path(folder)
            objects = []
            for level in target.levels:
                self.say(f"compiling {len(self.lowered.kernels)} kernels into one library: {target.triple}, {level}")
                path = work / f"{level}.o"
                path.write_bytes(optimise.emit(self.lowered.module, self.symbols, target.triple, level))
                objects.append(path)
            header = glue.write(self.entries, self.lowered.errors, target.levels, native.STAMP)
            (work / "kernels.h").write_text(header, encoding="utf-8")
            linked = _link(work, objects, target)
            if native.stamp() != native.STAMP:
                raise RuntimeError("the kernels were edited while they were compiled")
            if is_ours:
                _try(linked)
            out.mkdir(parents=True, exist_ok=True)
            with files.replacing(out / target.library, 0o755) as file:  # other processes may run the old one
                file.write(linked.read_bytes())


def _link(work: Path, objects: list[Path], target: Platform) -> Path:
    """Compile module.c with the kernels.h of a folder, and link it with the objects."""
    includes = [f"-I{path}" for path in (work, sysconfig.get_path("include"))]
    command: list[Any] = [*platforms.compiler(target), *platforms.WARNINGS, *target.flags, *includes, SOURCE, *objects]
    if target.flags is platforms.PE:
        names = sorted(set(re.findall(r"\b_?Py[A-Z]\w+", SOURCE.read_text() + (work / "kernels.h").read_text())))
        command.append(platforms.import_library(names, work))
    linked = work / target.library  # linkers leave files beside
    done = subprocess.run([*map(str, command), "-o", str(linked)], capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"the C compiler failed: {done.stderr.strip()}")
    return linked


def _try(library: Path) -> None:
    """Load the library. Raises ImportError."""
    spec = importlib.util.spec_from_file_location("_native", library)
    assert spec is not None and spec.loader is not None
    spec.loader.exec_module(importlib.util.module_from_spec(spec))


def build_here(line: Line) -> str:
    """Build the library of this checkout into the package, if it has none that fits. Returns why not, or nothing."""
    from constrain import files
    from constrain.kernels.compiler import native

    reason = platforms.missing()
    if not reason and not os.access(native.HOME, os.W_OK):
        reason = f"{native.HOME} is not to be written"
    if reason:
        return reason
    with files.only_one(native.HOME / "_native.lock", lambda: line.tell("another process compiles the kernels")):
        if not native.unfit():
            return ""
        try:
            Build(line.tell).library(native.HOME, platforms.this_processor(), is_ours=True)
        except Exception as error:
            if native.stamp() == native.STAMP:  # else it is not of these sources
                with contextlib.suppress(OSError):
                    native.FAILED.write_text(f"{native.STAMP}\n{error}", encoding="utf-8")
            return str(error) or repr(error)
    return ""


def main() -> None:
    """Read the options, and build."""
    parser = argparse.ArgumentParser(
        prog="native.build", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--out", type=Path)
    parser.add_argument("--platforms", help=f"all, or some of {', '.join(platforms.PLATFORMS)}")
    options = parser.parse_args()
    line = Line()
    if options.out is None:
        reason = build_here(line)
        sys.stdout.write(reason)
        if reason:
            sys.exit(1)
    elif options.platforms is None:
        Build(line.tell).library(options.out, platforms.this_machine(), is_ours=True)
    else:
        names = list(platforms.PLATFORMS) if options.platforms == "all" else options.platforms.split(",")
        build = Build(line.tell)
        for name in names:
            build.library(options.out / name, platforms.PLATFORMS[name])
    line.end()


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(130)  # who waits for it was interrupted, too
