"""The mode in which all kernels run, which is decided when the package is imported:

    native   machine code that was made when the package was built (native.py); numba is not imported
    numba    compiled on this machine when first needed, and kept in a cache (jit.py): a checkout, an edited kernel
    python   as the Python that it is written in: slow, for tests and debuggers

The choice: `python` with `NUMBA_DISABLE_JIT=1`, else what `CONSTRAIN_KERNELS` names, else `native` if the built library
is there and fits the sources, and `NUMBA_BOUNDSCHECK` is not set, else `numba`.
"""

from __future__ import annotations

import os

from constrain.kernels.compiler import native

MODES = ("native", "numba", "python")


def _mode() -> str:
    if _is_set("NUMBA_DISABLE_JIT"):
        return "python"
    asked = os.environ.get("CONSTRAIN_KERNELS", "")
    if asked:
        if asked not in MODES:
            raise ImportError(f"CONSTRAIN_KERNELS is one of {', '.join(MODES)}, not {asked!r}")
        if asked == "native" and native.LIBRARY is None:
            raise ImportError(f"CONSTRAIN_KERNELS=native, but {native.REASON}")
        return asked
    return "numba" if native.LIBRARY is None or _is_set("NUMBA_BOUNDSCHECK") else "native"


def _is_set(name: str) -> bool:
    return os.environ.get(name, "0") not in ("", "0")


MODE = _mode()
