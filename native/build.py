"""Build the extension module of the kernels.

    python -m native.build                      # into the package, for this machine: a checkout that starts at once
    python -m native.build --out FOLDER --machine aarch64

Needs numba, numpy's headers, Python's headers and a C compiler (`$CC`, else `cc`); for another machine a compiler that
makes code for it. Takes about a minute of CPU time. An edited kernel makes the library unfit, and it is not used.
"""

from __future__ import annotations

import argparse
import os
import platform
import shlex
import subprocess
import sys
import sysconfig
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
NAME = "_native.abi3.so"
HOME = "constrain/kernels/compiler"  # where the library belongs


def build(out: Path, machine: str) -> Path:
    """Build the library. out: a folder. Returns the library's path."""
    import numpy

    from constrain.kernels.compiler import native
    from native import glue, lower, optimise

    begin = time.perf_counter()
    levels = optimise.LEVELS[machine]
    lowered = lower.lower()
    entries = [kernel for kernel in lowered.kernels if kernel.is_entry]
    symbols = [lower.symbol_of(kernel) for kernel in entries]
    say(f"lowered {len(lowered.kernels)} kernels ({time.perf_counter() - begin:.0f} s)")
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        objects = []
        for level in levels:
            path = work / f"{level}.o"
            path.write_bytes(optimise.emit(lowered.module, symbols, f"{machine}-unknown-linux-gnu", level))
            objects.append(path)
            say(f"compiled them for {level}: {path.stat().st_size >> 10} KiB ({time.perf_counter() - begin:.0f} s)")
        (work / "kernels.h").write_text(glue.write(entries, lowered.errors, levels, native.stamp()), encoding="utf-8")
        library = out / NAME
        out.mkdir(parents=True, exist_ok=True)
        includes = [f"-I{path}" for path in (work, sysconfig.get_path("include"), numpy.get_include())]
        command = [*shlex.split(os.environ.get("CC", "cc")), "-O2", "-std=gnu99", "-Wall", "-Wno-unused-function"]
        command += ["-shared", "-fPIC", "-fvisibility=hidden", "-Wl,-z,noexecstack", *includes]
        command += [str(Path(__file__).parent / "module.c"), *map(str, objects), "-o", str(library)]
        subprocess.run(command, check=True)
    say(f"{library}: {library.stat().st_size >> 10} KiB ({time.perf_counter() - begin:.0f} s)")
    return library


def say(text: str) -> None:
    """A line for whoever waits."""
    sys.stderr.write(f"native.build: {text}\n")


def main() -> None:
    """Read the options, and build."""
    parser = argparse.ArgumentParser(
        prog="native.build", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--out", type=Path, default=ROOT / HOME)
    parser.add_argument("--machine", default=platform.machine())
    options = parser.parse_args()
    build(options.out, options.machine)


if __name__ == "__main__":
    os.environ["CONSTRAIN_KERNELS"] = "numba"
    main()
