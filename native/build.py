"""Build the extension module of the kernels.

    python -m native.build                      # into the package, for this machine: a checkout that starts at once
    python -m native.build --out FOLDER --platforms manylinux_2_17_aarch64,win_amd64    # into FOLDER/<platform>
    python -m native.build --out FOLDER --platforms all

Needs numba, Python's headers and a C compiler (`$CC`, else `cc`); for other platforms (platforms.py) the package
`ziglang`. Takes about a minute of CPU time a platform. An edited kernel makes the library unfit, and it is
not used.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import time
from pathlib import Path
from typing import Any

from native import platforms
from native.platforms import Platform

ROOT = Path(__file__).resolve().parent.parent
HOME = "constrain/kernels/compiler"  # where the library belongs
SOURCE = Path(__file__).parent / "module.c"


class Build:
    """All kernels, lowered once, to be compiled for one platform after another."""

    def __init__(self) -> None:
        from native import lower

        self.begin = time.perf_counter()
        self.lowered = lower.lower()
        self.entries = [kernel for kernel in self.lowered.kernels if kernel.is_entry]
        self.symbols = [lower.symbol_of(kernel) for kernel in self.entries]
        self.say(f"lowered {len(self.lowered.kernels)} kernels")

    def library(self, out: Path, target: Platform) -> Path:
        """Build the library of a platform. out: a folder. Returns the library's path."""
        from constrain.kernels.compiler import native
        from native import glue, optimise

        with tempfile.TemporaryDirectory() as folder:
            work = Path(folder)
            objects = []
            for level in target.levels:
                path = work / f"{level}.o"
                path.write_bytes(optimise.emit(self.lowered.module, self.symbols, target.triple, level))
                objects.append(path)
                self.say(f"compiled them for {target.triple}, {level}: {path.stat().st_size >> 10} KiB")
            header = glue.write(self.entries, self.lowered.errors, target.levels, native.stamp())
            (work / "kernels.h").write_text(header, encoding="utf-8")
            library = out / target.library
            out.mkdir(parents=True, exist_ok=True)
            _link(work, objects, target, library)
        self.say(f"{library}: {library.stat().st_size >> 10} KiB")
        return library

    def say(self, text: str) -> None:
        """Write a line for whoever waits."""
        sys.stderr.write(f"native.build: {text} ({time.perf_counter() - self.begin:.0f} s)\n")


def _link(work: Path, objects: list[Path], target: Platform, library: Path) -> None:
    """Compile module.c with the kernels.h of a folder, and link it with the objects."""
    includes = [f"-I{path}" for path in (work, sysconfig.get_path("include"))]
    command: list[Any] = [*platforms.compiler(target), *platforms.WARNINGS, *target.flags, *includes, SOURCE, *objects]
    if target.flags is platforms.PE:
        names = sorted(set(re.findall(r"\b_?Py[A-Z]\w+", SOURCE.read_text() + (work / "kernels.h").read_text())))
        command.append(platforms.import_library(names, work))
    linked = work / library.name
    subprocess.run([*map(str, command), "-o", str(linked)], check=True)
    shutil.copy(linked, library)  # linkers leave files beside


def main() -> None:
    """Read the options, and build."""
    parser = argparse.ArgumentParser(
        prog="native.build", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--out", type=Path, default=ROOT / HOME)
    parser.add_argument("--platforms", help=f"all, or some of {', '.join(platforms.PLATFORMS)}")
    options = parser.parse_args()
    build = Build()
    if options.platforms is None:
        build.library(options.out, platforms.this_machine())
        return
    names = list(platforms.PLATFORMS) if options.platforms == "all" else options.platforms.split(",")
    for name in names:
        build.library(options.out / name, platforms.PLATFORMS[name])


if __name__ == "__main__":
    os.environ["CONSTRAIN_KERNELS"] = "numba"
    main()
