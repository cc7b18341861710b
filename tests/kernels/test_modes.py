"""The kernels in four modes: the library of a checkout, that of a wheel, as plain Python, and compiled by numba in the
process, with bounds checks. All answer the same."""

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
@pytest.mark.nightly
def test_bounds_checked(compiled, request):
    """`NUMBA_BOUNDSCHECK=1`: no kernel reads or writes outside an array. Numba compiles all kernels, once: at night, as
    the plain Python above raises the same errors, and wraps negative indices as these do."""
    cache = getattr(request.config, "cache", None)
    folder = cache.mkdir("numba-boundscheck") if cache else Path(request.getfixturevalue("tmp_path"))
    assert answers(NUMBA_BOUNDSCHECK="1", NUMBA_CACHE_DIR=str(folder)) == compiled


SIGNATURES = """
import kernel_probe
from constrain import kernels
from constrain.kernels.compiler import jit
kernel_probe.answers()
kernels.load()
ready = [kernel for kernel in jit.declared if kernel.name in jit._ready]
assert len(ready) > 100
many = {k.name: len(k.dispatcher.signatures) for k in ready if len(k.dispatcher.signatures) != 1}
assert many == {}, many
"""


@pytest.mark.slow
@pytest.mark.nightly
def test_every_kernel_has_one_signature(request):
    """Numba compiles a kernel anew for every mix of argument types; here each has its declared one."""
    cache = getattr(request.config, "cache", None)
    folder = cache.mkdir("numba-boundscheck") if cache else Path(request.getfixturevalue("tmp_path"))
    path = os.pathsep.join([str(Path(kernel_probe.__file__).parent), str(Path(kernels.__file__).parents[2])])
    given = {**os.environ, "NUMBA_BOUNDSCHECK": "1", "NUMBA_CACHE_DIR": str(folder), "PYTHONPATH": path}
    subprocess.run([sys.executable, "-c", SIGNATURES], env=given, check=True)


@pytest.mark.slow
@pytest.mark.skipif(shutil.which(os.environ.get("CC", "cc")) is None, reason="needs a C compiler")
def test_compiled_when_the_package_was_built(compiled, tmp_path, tmp_path_factory, repository):
    """The library of a wheel, for each level of processors."""
    shutil.unpack_archive(wheel(tmp_path_factory, repository, "1"), tmp_path, "zip")
    assert answers(tmp_path, CONSTRAIN_KERNELS="native") == compiled


DECLARED = """
from constrain import kernels
from constrain.kernels.compiler import native
from constrain.kernels.compiler import jit
kernels.declare_all()
order = {kernel.dispatcher: number for number, kernel in enumerate(jit.declared)}
named = [(d, d.py_func.__globals__.get(name)) for d in order for name in d.py_func.__code__.co_names]
calls = [(d, called) for d, called in named if isinstance(called, type(d)) and called in order]
assert len(calls) > 100
late = [(d.__name__, called.__name__) for d, called in calls if order[called] >= order[d]]
assert late == [], late
"""


def test_every_kernel_stands_before_its_callers() -> None:
    """Else numba, compiling the caller, compiles it too, for the types at hand (seen only when the cache is empty)."""
    subprocess.run([sys.executable, "-c", DECLARED], env={**os.environ, "CONSTRAIN_KERNELS": "numba"}, check=True)


def test_kernels_of_another_type_are_refused():
    """Nothing compiles after `load`: an argument of another type is an error, not a second kernel."""
    kernels.load()
    wrong = np.zeros(3, np.int64)
    with pytest.raises(TypeError, match=r"No matching definition|argument 1 of accepts"):
        configurations.accepts(wrong, wrong, wrong, 0)


@pytest.mark.parametrize("wing, door", [("gaps", "gaps.solution"), ("papers", "papers.cuts.canonical")])
def test_who_does_not_ask_for_a_wing_does_not_pay_for_its_kernels(wing: str, door: str) -> None:
    """Kernels of a wing are declared, and so compiled by `load`, once a module that calls them is imported."""
    code = f"""
import sys
import constrain.masks.engine, constrain.masks.derived.wanted_cuts
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
