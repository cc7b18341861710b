"""The mode in which all kernels run, which is decided when the package is imported:

    native   a library of machine code (native.py), of a wheel or built by a checkout; numba is not imported
    numba    compiled in this process when first needed, and kept in a cache (jit.py): where there is no such library
    python   as the Python that it is written in: slow, for tests and debuggers

The choice: `python` with `NUMBA_DISABLE_JIT=1`, else what `CONSTRAIN_KERNELS` names, else `numba` with
`NUMBA_BOUNDSCHECK=1`, else `native` if there is a library that fits the sources, or can be built, else `numba`.
"""

from __future__ import annotations

import os

from constrain.kernels.compiler import native

MODES = ("native", "numba", "python")


def _mode() -> str:
    if _is_set("NUMBA_DISABLE_JIT"):
        return "python"
    asked = os.environ.get("CONSTRAIN_KERNELS", "")
    if asked not in ("", *MODES):
        raise ImportError(f"CONSTRAIN_KERNELS is one of {', '.join(MODES)}, not {asked!r}")
    if asked == "native" or not (asked or _is_set("NUMBA_BOUNDSCHECK")):
        native.load_library()
        if asked and native.LIBRARY is None:
            raise ImportError(f"CONSTRAIN_KERNELS=native, but {native.REASON}")
    return asked or ("numba" if native.LIBRARY is None else "native")


def _is_set(name: str) -> bool:
    return os.environ.get(name, "0") not in ("", "0")


MODE = _mode()
