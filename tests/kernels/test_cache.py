"""Numba's disk cache: found again by the next process, and thrown away when any kernel file is edited.

A package with the same `kernel` decorator and two small kernel files; `second.twice` calls `first.amount` in the other
file, which is where numba alone would go on using the old code (numba issue 1833).
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from constrain import kernels

FIRST = """
from constrain.kernels import kernel

@kernel("i(arena, i)")
def amount(A, n):
    return A[n] + 5
"""
SECOND = """
from constrain.kernels import kernel, recursion
from constrain.kernels.first import amount

@kernel("i(arena, i)")
def twice(A, n):
    return 2 * amount(A, n)

again = recursion(lambda: total, 2)

@kernel("i(arena, i)")
def total(A, n):
    return A[n] + again(A, n - 1) if n >= 0 else 0
"""
ASK = """
import numpy as np
from constrain import kernels
from constrain.kernels import second
from constrain.kernels.compiler import declare
cached = kernels.is_cached()
kernels.load(everything=True)
hits = sum(sum(dispatcher.stats.cache_hits.values()) for dispatcher, _ in declare._kernels)
print(int(cached), hits, second.twice(np.arange(10, dtype=np.int32), 3), second.total(np.arange(10, dtype=np.int32), 4))
"""


@pytest.fixture
def ask(tmp_path):
    """Run the small package in a new process: (is it cached, kernels read from the cache, results of its kernels)."""
    package = tmp_path / "constrain" / "kernels"
    package.mkdir(parents=True)
    (package.parent / "__init__.py").touch()
    shutil.copy(kernels.__file__, package)
    shutil.copytree(Path(kernels.__file__).parent / "compiler", package / "compiler")
    (package / "second.py").write_text(SECOND)

    def run(first: str) -> list[int]:
        (package / "first.py").write_text(first)
        environment = {**os.environ, "PYTHONPATH": str(tmp_path), "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
        done = subprocess.run(
            [sys.executable, "-c", ASK], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr[-3000:]
        return [int(word) for word in done.stdout.split()]

    return run


def test_the_cache_is_used_and_notices_an_edit_in_another_file(ask):
    assert ask(FIRST) == [0, 0, 16, 10]
    assert ask(FIRST) == [1, 3, 16, 10]
    assert ask(FIRST.replace("+ 5", "+ 6"))[1:] == [0, 18, 10]
    assert ask(FIRST.replace("+ 5", "+ 6")) == [1, 3, 18, 10]
