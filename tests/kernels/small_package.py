"""A package with the real `kernel` decorator and two small kernel files, and processes that ask it.

`second.twice` calls `first.amount` in the other file, which is where numba alone would go on using the old code (numba
issue 1833).
"""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from constrain import kernels

FIRST = """
from constrain.kernels import kernel

class Full(Exception):
    pass

@kernel("i(arena, i)")
def amount(A, n):
    if n < 0:
        raise Full()
    return A[n] + 5
"""
SECOND = """
from constrain.kernels import atomic_add, kernel, recursion
from constrain.kernels.first import amount

add = atomic_add()

@kernel("i(arena, i)", entry=True)
def twice(A, n):
    return 2 * amount(A, n)

again = recursion(lambda: total, 2)

@kernel("i(arena, i)", entry=True)
def total(A, n):
    return A[n] + again(A, n - 1) if n >= 0 else 0

@kernel("i(ids, i)", entry=True)
def wait(counter, value):
    while add(counter, 0, 0) != value:
        pass
    return max(counter[0], value)

@kernel("void(rows, i, row)", entry=True)
def copy(rows, i, row):
    for k in range(row.size):
        rows[i][k] = row[k]
"""
ASK = """
import json, sys
import numpy as np
from constrain import kernels
from constrain.kernels import first, second
from constrain.kernels.compiler import declare
was_ready = kernels.is_ready()
BEFORE
kernels.load()
A = np.arange(10, dtype=np.int32)
results = [second.twice(A, 3), second.total(A, 4)]
compiled = sorted(k.dispatcher.__name__ for k in declare.jit.declared if k.dispatcher.stats.cache_misses) \
    if kernels.MODE == "numba" else []
print(json.dumps({"mode": kernels.MODE, "was_ready": was_ready, "compiled": compiled, "results": results,
                  "numba": "numba" in sys.modules}))
"""
ALL = ["amount", "copy", "total", "twice", "wait"]
RESULTS = [16, 10]


class SmallPackage:
    """The package in a folder, and its cache."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.cache = folder / "cache"
        self.kernels = folder / "constrain" / "kernels"
        source = Path(kernels.__file__).parent
        ignored = shutil.ignore_patterns("__pycache__", "_native*")
        shutil.copytree(source / "compiler", self.kernels / "compiler", ignore=ignored)
        (self.kernels.parent / "__init__.py").touch()
        shutil.copy(source.parent / "files.py", self.kernels.parent)
        shutil.copy(source / "__init__.py", self.kernels)
        (self.kernels / "second.py").write_text(SECOND)
        self.write_first(FIRST)

    def write_first(self, text: str) -> None:
        """Edit the file that the other one calls."""
        (self.kernels / "first.py").write_text(text)

    def begin(self, before: str = "", limit: Callable[[], Any] | None = None, **environment: str) -> Any:
        """A process that asks. before: what it runs before it loads. limit: called in it, before all else."""
        given = {name: value for name, value in os.environ.items() if name not in ("CONSTRAIN_KERNELS",)}
        given |= {"PYTHONPATH": str(self.folder), "NUMBA_CACHE_DIR": str(self.cache), **environment}
        return subprocess.Popen(
            [sys.executable, "-c", ASK.replace("BEFORE", before)],
            cwd=self.folder, env=given, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=limit,
        )  # fmt: skip

    def end(self, process: Any) -> dict[str, Any]:
        """The results of a process, and under "stderr" its standard error."""
        out, err = process.communicate(timeout=300)
        assert process.returncode == 0, err[-3000:]
        return {**json.loads(out.splitlines()[-1]), "stderr": err}

    def ask(self, before: str = "", limit: Callable[[], Any] | None = None, **environment: str) -> dict[str, Any]:
        """The results of a process that is begun and ended here."""
        return self.end(self.begin(before, limit, **environment))
