"""The headers of the C library that are known, with the meanings of their names."""

from __future__ import annotations

from functools import lru_cache

from constrain.monitors.c.libc_names import HEADERS
from constrain.monitors.c.types import UNKNOWN, Arity, CName, CType


@lru_cache(maxsize=64)
def header(name: str) -> dict[str, CName] | None:
    """The names that a header declares; None: it is not known. The types of values and results are not known."""
    if name not in HEADERS:
        return None
    types, values, macros, functions = HEADERS[name]
    found = {one: CName("type", UNKNOWN) for one in types.split()}
    found |= {one: CName("value", UNKNOWN) for one in values.split()}
    found |= {one: CName("macro", UNKNOWN) for one in macros.split()}
    for function in functions.split():
        one, _, count = function.partition("/")
        arity = Arity(None, True) if count == "?" else Arity(int(count.rstrip("+")), count.endswith("+"))
        found[one] = CName("value", CType((arity,), None))
    return found
