"""Machine code of the kernels that was made when the package was built.

The build (native/, at the top of a checkout) compiles every kernel for some levels of a kind of processor into one
extension module, `_native`, which lies beside this file; here it is found. It carries a stamp of the sources that it
was made of. If they were edited since, it is not used.
"""

from __future__ import annotations

import hashlib
import sysconfig
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

PACKAGE = Path(__file__).resolve().parents[2]
FOLDERS = "kernels", "gaps/kernels", "papers/kernels"  # those of the core, and those that only a wing calls


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


def _find() -> tuple[ModuleType | None, str]:
    """The library, or None and the reason."""
    if sysconfig.get_config_var("Py_GIL_DISABLED") and list(Path(__file__).parent.glob("_native.abi3.*")):
        return None, "its compiled kernels are for Pythons with a lock"  # a free-threaded one would crash
    try:
        from constrain.kernels.compiler import _native  # type: ignore[attr-defined]
    except ImportError as error:
        absent = not list(Path(__file__).parent.glob("_native*"))
        return None, "this installation has no compiled kernels" if absent else f"its compiled kernels: {error}"
    if _native.STAMP != STAMP:
        return None, "its kernels were edited after they were compiled"
    return _native, ""


LIBRARY, REASON = _find()


def find(function: Callable[..., Any], signature: str) -> Any:
    """The machine code of a kernel, as a function."""
    return getattr(LIBRARY, name_of(function, signature))
