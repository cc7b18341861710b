"""Machine code of the kernels that was made before this process began: an extension module, `_native`.

A wheel brings it. In a checkout it is built when the kernels are imported, if numba and a C compiler are there
(native/, at the top), and again when kernels were edited: then only those are compiled anew. It carries a stamp of the
sources that it was made of; one that does not fit is not used.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import os
import subprocess
import sys
import sysconfig
from collections.abc import Callable
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path
from types import ModuleType
from typing import Any

HOME = Path(__file__).resolve().parent
PACKAGE = HOME.parents[1]
CHECKOUT = PACKAGE.parent
FOLDERS = "kernels", "gaps/kernels", "papers/kernels"  # those of the core, and those that only a wing calls
FAILED = HOME / "_native.log"  # the stamp of sources that could not be built, and why

LIBRARY: ModuleType | None = None  # once it is loaded
REASON = "this installation has no compiled kernels"  # while it is not


def stamp() -> str:
    """A hash of all kernel sources."""
    digest = hashlib.sha256()
    for path in (path for folder in FOLDERS for path in sorted((PACKAGE / folder).rglob("*.py"))):
        text = path.read_bytes()
        digest.update(f"{path.relative_to(PACKAGE).as_posix()} {len(text)}\n".encode())
        digest.update(text)
    return digest.hexdigest()


STAMP = stamp()  # of the sources that this process is about to import


def name_of(function: Callable[..., Any], signature: str) -> str:
    """The name of a kernel in the library; one function may be declared with several signatures."""
    return f"{function.__module__}.{function.__name__}: {signature}"


def unfit() -> str:
    """The reason that the library is not of these sources; nothing if it is."""
    suffixes = [s for s in EXTENSION_SUFFIXES if s != ".abi3.so" or not sysconfig.get_config_var("Py_GIL_DISABLED")]
    for path in (HOME / f"_native{suffix}" for suffix in suffixes):  # a Python without a lock crashes with abi3
        with contextlib.suppress(FileNotFoundError):
            fits = STAMP.encode() in path.read_bytes()
            return "" if fits else "its kernels were edited after they were compiled"
    return "this installation has no compiled kernels"


def load_library() -> None:
    """Load the library, in a checkout once it is built: LIBRARY, or REASON."""
    global LIBRARY, REASON
    REASON = unfit()
    if REASON and (CHECKOUT / "native" / "module.c").is_file():
        REASON = _build() or unfit()
    if not REASON:
        try:
            LIBRARY = importlib.import_module(f"{__package__}._native")
        except ImportError as error:
            REASON = f"its compiled kernels: {error}"


def _build() -> str:
    """Have the library of a checkout built, in a process of its own. Returns why it cannot be, or nothing."""
    with contextlib.suppress(OSError):
        failed, _, reason = FAILED.read_text(encoding="utf-8").partition("\n")
        if failed == STAMP:
            return reason
    given = {k: v for k, v in os.environ.items() if not k.startswith("NUMBA_") or k == "NUMBA_CACHE_DIR"}
    given["PYTHONPATH"] = os.pathsep.join(filter(None, [str(CHECKOUT), os.environ.get("PYTHONPATH")]))
    command = [sys.executable, "-m", "native.build"]
    try:  # it tells on standard error how far it is, and on standard output why it fails
        done = subprocess.run(
            command, env=given, cwd=CHECKOUT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, encoding="utf-8",
            check=False,
        )  # fmt: skip
    except OSError as error:
        return str(error)
    return "" if done.returncode == 0 else done.stdout.strip() or f"compiling them ended with {done.returncode}"


def find(function: Callable[..., Any], signature: str) -> Any:
    """The machine code of a kernel, as a function."""
    return getattr(LIBRARY, name_of(function, signature))
