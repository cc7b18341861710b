"""The interface through which a benchmark uses an engine, the same for all engines.

    compile(schema)      what a request pays first, of a schema, its text, or a `Form`; raises CompileError
    start()              begin an instance
    mask()               fill `row`, uint32[ceil(V / 32)], low bit first, 1 = allowed
    advance(token)       False where the engine refuses
    at_end()             after the last token: does the engine let the text end here?
    check(text)          what the engine does with a finished text before it returns it; False where it is thrown away
    forget()             begin anew, as if no schema had been met before; nothing, where a schema teaches nothing
    version, row         the version of the package; the mask

An adapter does what the engine's documentation tells a server to do, with the engine's defaults, on one thread.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

import numpy as np

WARM_UP = {
    "type": "object",
    "properties": {
        "a": {"type": "string", "maxLength": 9},
        "b": {"type": "array", "items": {"type": "number", "minimum": 0}},
    },
    "required": ["a"],
}


class CompileError(Exception):
    """The engine refused the schema; the message is the engine's."""


class NothingFulfilsError(CompileError):
    """The engine refused the schema because, it says, no value fulfils it: a verdict on every instance."""


class NoFormError(CompileError):
    """The engine cannot be asked for this kind of constraint."""


@dataclass
class Form:
    """A constraint that is no schema with the engine's settings.

    kind: "json", "regex", "lark", "ebnf" (GBNF, too) or "structural_tag". text: of this kind, for other engines; parsed
    JSON for "json" and tags.
    ours: the constraint of this library. options: of xgrammar's reader of schemas, in place of the adapter's.
    """

    kind: str
    text: Any
    ours: Callable[[], Any]
    options: dict[str, Any] = field(default_factory=dict)


@dataclass
class Settings:
    """The settings of an engine.

    any_order: properties in any order, where the engine offers it (constrain, xgrammar; lm-format-enforcer always).
    formats: "assert" or "annotate", where the engine offers it (constrain).
    registry: a `referencing.Registry` of remote schemas, where the engine takes one (constrain).
    spelling: "plain" or "any", where the engine offers it (constrain).
    """

    any_order: bool = False
    formats: Literal["assert", "annotate"] = "assert"
    registry: Any = None
    spelling: Literal["plain", "any"] = "plain"


class Engine(Protocol):
    """An adapter; the module says what each method does."""

    version: str
    row: np.ndarray
    eos_id: int

    def compile(self, schema: Any) -> None: ...
    def start(self) -> None: ...
    def mask(self) -> None: ...
    def advance(self, token: int) -> bool: ...
    def forget(self) -> None: ...

    def at_end(self) -> bool:
        self.mask()
        return is_set(self.row, self.eos_id)

    def check(self, text: str) -> bool:
        return True


def is_set(row: np.ndarray, token: int) -> bool:
    """Is the bit of this token set? row: uint32[W]."""
    return bool(int(row[token >> 5]) >> (token & 31) & 1)
