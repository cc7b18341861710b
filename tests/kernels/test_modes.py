"""The kernels in three modes: compiled, as plain Python, and compiled with bounds checks. All answer the same."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import kernel_probe
import pytest

from constrain import kernels
from constrain.kernels.compiler import declare
from constrain.kernels.lexer import expressions  # noqa: F401  (declare every kernel)
from constrain.kernels.masks import fill  # noqa: F401  (declare every kernel)
from constrain.kernels.parser import configurations, earley  # noqa: F401  (declare every kernel)


def answers(**environment: str) -> dict[str, list[object]]:
    """What the probe finds in a process of its own."""
    path = os.pathsep.join([*filter(None, [os.environ.get("PYTHONPATH")]), str(Path(kernels.__file__).parents[2])])
    done = subprocess.run(
        [sys.executable, kernel_probe.__file__],
        env={**os.environ, "PYTHONPATH": path, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def compiled():
    return kernel_probe.answers()


def test_the_probe_says_something(compiled):
    """A token of each constraint, so that the comparisons below are not of nothing with nothing."""
    assert all(
        any(ids for key, (_, ids, *_) in compiled.items() if key.startswith(name))
        for name in kernel_probe.constraints()
    )
    assert {alive for alive, *_ in compiled.values()} == {True}
    assert {member for _, _, member, _ in compiled.values()} == {True, False}


def test_plain_python(compiled):
    """`NUMBA_DISABLE_JIT=1`: what the kernels say as Python, where integers never wrap and numpy warns of overflow."""
    assert answers(NUMBA_DISABLE_JIT="1") == compiled


@pytest.mark.slow
def test_bounds_checked(compiled, request):
    """`NUMBA_BOUNDSCHECK=1`: no kernel reads or writes outside an array. Compiles all kernels once, about 40 s."""
    cache = getattr(request.config, "cache", None)
    folder = cache.mkdir("numba-boundscheck") if cache else Path(request.getfixturevalue("tmp_path"))
    assert answers(NUMBA_BOUNDSCHECK="1", NUMBA_CACHE_DIR=str(folder)) == compiled


def test_every_kernel_has_one_signature(compiled):
    """Numba compiles a kernel anew for every mix of argument types; here each has its declared one."""
    assert len(declare._kernels) > 40
    kernels.load(everything=True)
    assert {dispatcher.__name__: len(dispatcher.signatures) for dispatcher, _ in declare._kernels} == {
        dispatcher.__name__: 1 for dispatcher, _ in declare._kernels
    }


def test_every_kernel_stands_before_its_callers():
    """Else compiling the caller compiles it too, for the types at hand (seen only when the cache is empty)."""
    order = {dispatcher: number for number, (dispatcher, _) in enumerate(declare._kernels)}
    named = [(d, d.py_func.__globals__.get(name)) for d, _ in declare._kernels for name in d.py_func.__code__.co_names]
    calls = [(d, called) for d, called in named if isinstance(called, type(d)) and called in order]
    assert len(calls) > 100
    assert [(d.__name__, called.__name__) for d, called in calls if order[called] >= order[d]] == []


def test_kernels_of_another_type_are_refused():
    """Nothing compiles after `load`: an argument of another type is an error, not a second kernel."""
    import numpy as np

    kernels.load()
    wrong = np.zeros(3, np.int64)
    with pytest.raises(TypeError, match="No matching definition"):
        configurations.accepts(wrong, wrong, wrong, 0)
