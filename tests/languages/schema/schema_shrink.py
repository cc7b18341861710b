"""Make a failing pair of schema and value small: drop one thing after the other while the fault stays.

The idea: greedy. A candidate is the JSON with one key or item left out, with a part replaced by what stands inside it,
or by something plainer; the first candidate that still fails is taken, until none does. Cost: some hundred trials.
"""

import time
from collections.abc import Callable, Iterator
from typing import Any

KEPT = ("$schema",)


def smaller(value: Any) -> Iterator[Any]:
    """The JSON values that are one step smaller, large steps first."""
    if isinstance(value, dict):
        for key in value:
            if key not in KEPT:
                yield {name: inner for name, inner in value.items() if name != key}
        yield from (inner for key, inner in value.items() if isinstance(inner, dict) and "$schema" not in value)
        for key, inner in value.items():
            if key not in KEPT:
                yield from ({**value, key: each} for each in smaller(inner))
    elif isinstance(value, list):
        for i in range(len(value)):
            yield value[:i] + value[i + 1 :]
        yield from (inner for inner in value if isinstance(inner, (dict, list)))
        for i, inner in enumerate(value):
            yield from ([*value[:i], each, *value[i + 1 :]] for each in smaller(inner))
    elif isinstance(value, str) and value and not value.startswith(("#", "http", "tree", "root")):
        yield value[1:]
    elif isinstance(value, (int, float)) and not isinstance(value, bool) and value not in (0, 1):
        yield from (0, 1)
    if isinstance(value, dict) and value and "$schema" not in value:
        yield from (True, {})


def shrink(
    schema: dict[str, Any], value: Any, fails: Callable[[Any, Any], bool], seconds: float = 20.0
) -> tuple[dict[str, Any], Any]:
    """A small pair that still fails, found within about so many seconds."""
    end = time.monotonic() + seconds

    def still(a: Any, b: Any) -> bool:
        try:
            return time.monotonic() < end and fails(a, b)
        except Exception:  # a candidate that some validator cannot read is no candidate
            return False

    while True:
        found = next((each for each in smaller(schema) if still(each, value)), None)
        if found is not None:
            schema = found
            continue
        found = next((each for each in smaller(value) if still(schema, each)), _NONE)
        if found is _NONE:
            return schema, value
        value = found


_NONE = object()
