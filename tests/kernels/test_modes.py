"""The kernels in four modes: compiled by numba, compiled when the package was built, as plain Python, and compiled with
bounds checks. All answer the same."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import kernel_probe
import numpy as np
import pytest

from constrain import kernels
from constrain.kernels.compiler import native
from constrain.kernels.parser import configurations
from constrain.languages.automata import store  # noqa: F401  (declares every kernel)
from wheels import wheel

numba_only = pytest.mark.skipif(kernels.MODE != "numba", reason="the kernels of this process are not numba's")


def answers(package: Path = Path(kernels.__file__).parents[2], **environment: str) -> dict[str, list[object]]:
    """The results of the probe in a process of its own. package: the folder that the package is in."""
    path = os.pathsep.join([str(package), *filter(None, [os.environ.get("PYTHONPATH")])])
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


@pytest.mark.slow
@pytest.mark.skipif(shutil.which(os.environ.get("CC", "cc")) is None, reason="needs a C compiler")
def test_compiled_when_the_package_was_built(compiled, tmp_path, tmp_path_factory, repository):
    """The library of this checkout if it has one, else that of a wheel that is built here, in a minute of CPU time."""
    package = repository
    if native.LIBRARY is None:
        package = tmp_path
        shutil.unpack_archive(wheel(tmp_path_factory, repository, "1"), package, "zip")
    assert answers(package, CONSTRAIN_KERNELS="native") == compiled


@numba_only
def test_every_kernel_has_one_signature(compiled):
    """Numba compiles a kernel anew for every mix of argument types; here each has its declared one.

    Kernels that only kernels call may not be ready: a test that calls one has it and its callees compiled for itself.
    """
    from constrain.kernels.compiler import jit

    kernels.load()
    ready = [kernel for kernel in jit.declared if kernel.name in jit._ready]
    assert len(ready) > 100
    assert {k.name: len(k.dispatcher.signatures) for k in ready if len(k.dispatcher.signatures) != 1} == {}


@numba_only
def test_every_kernel_stands_before_its_callers():
    """Else compiling the caller compiles it too, for the types at hand (seen only when the cache is empty)."""
    from constrain.kernels.compiler import jit

    order = {kernel.dispatcher: number for number, kernel in enumerate(jit.declared)}
    named = [(d, d.py_func.__globals__.get(name)) for d in order for name in d.py_func.__code__.co_names]
    calls = [(d, called) for d, called in named if isinstance(called, type(d)) and called in order]
    assert len(calls) > 100
    assert [(d.__name__, called.__name__) for d, called in calls if order[called] >= order[d]] == []


def test_kernels_of_another_type_are_refused():
    """Nothing compiles after `load`: an argument of another type is an error, not a second kernel."""
    kernels.load()
    wrong = np.zeros(3, np.int64)
    with pytest.raises(TypeError, match=r"No matching definition|argument 1 of accepts"):
        configurations.accepts(wrong, wrong, wrong, 0)


@pytest.mark.parametrize("wing, door", [("gaps", "gaps.solution"), ("papers", "papers.cuts.canonical")])
def test_who_does_not_ask_for_a_wing_does_not_pay_for_its_kernels(wing: str, door: str) -> None:
    """They are declared, and so compiled by `load`, once a module of the wing is imported that calls them."""
    code = f"""
import sys
import constrain.masks.engine, constrain.masks.derived.narrowed
assert not [name for name in sys.modules if name.startswith("constrain.{wing}")]
import constrain.{door}
assert [name for name in sys.modules if name.startswith("constrain.{wing}.kernels.")]
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_every_folder_of_kernels_is_known(repository: Path) -> None:
    """Kernels of a folder that the compiler does not know are not in a wheel, nor warmed."""
    package = repository / "constrain"
    found = {path.relative_to(package).as_posix() for path in package.rglob("kernels") if path.is_dir()}
    assert found == {*native.FOLDERS}
