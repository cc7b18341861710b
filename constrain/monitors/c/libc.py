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
    names = {type_: CName("type", UNKNOWN) for type_ in types.split()}
    names |= {value: CName("value", UNKNOWN) for value in values.split()}
    names |= {macro: CName("macro", UNKNOWN) for macro in macros.split()}
    for entry in functions.split():
        function, _, count = entry.partition("/")
        arity = Arity(None, True) if count == "?" else Arity(int(count.rstrip("+")), count.endswith("+"))
        names[function] = CName("value", CType((arity,), None))
    return names
