"""Wheels of this checkout, each built once in a run of the tests: its workers share a folder."""

import fcntl
import os
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from constrain.kernels.compiler import native as kernels


def shared_folder(factory: pytest.TempPathFactory) -> Path:
    """A folder of this run that all its workers have."""
    own = factory.getbasetemp()
    return own.parent if "PYTEST_XDIST_WORKER" in os.environ else own


def wheel(factory: pytest.TempPathFactory, repository: Path, native: str) -> Path:
    """A wheel, or a skip. native: "1", its kernels are compiled, for minutes; "0", it has none; "", it has the library
    of this checkout, if there is one."""
    pytest.importorskip("hatchling", reason="hatchling is not installed, and a wheel is to be built")
    home = shared_folder(factory) / f"wheel-{native}"
    home.mkdir(exist_ok=True)
    with (home / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (home / "said").exists():
            command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(home)]
            environment = {**os.environ, "CONSTRAIN_NATIVE": native or "0"}
            if not native and kernels.LIBRARY is not None:
                named = home / re.sub(r"\W", "_", sysconfig.get_platform())  # a folder has the platform's name
                named.mkdir()
                environment["CONSTRAIN_LIBRARY"] = shutil.copy(kernels.LIBRARY.__file__, named)
            done = subprocess.run(command, cwd=repository, env=environment, capture_output=True, text=True, check=False)
            (home / "said").write_text(done.stderr, encoding="utf-8")
    said = (home / "said").read_text(encoding="utf-8")
    if "kernels cannot be compiled" in said:
        pytest.skip("there is no compiler for the kernels")
    found = list(home.glob("*.whl"))
    assert len(found) == 1, said[-3000:]
    return found[0]
