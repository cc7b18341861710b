"""The parsers that verdicts are compared with, by the names that `settings.json` uses.

An oracle is a function from the bytes of a text to a verdict: True, a member; False, not one; None, refused for a
reason that the grammar's README names as beyond a grammar (keys that repeat, say), so that no comparison is made.
A text that is not UTF-8 is no member of any language here.

Oracles from packages are imported when they are asked for; `find` raises MissingError, which says what to install.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable

Oracle = Callable[[bytes], bool | None]


class MissingError(Exception):
    """The package of an oracle is not installed."""


def find(name: str) -> Oracle:
    """The oracle of this name. Raises MissingError, ValueError for a name that is none."""
    module, _, function = HOMES.get(name, "").partition(":")
    try:
        if module:
            oracle: Oracle = getattr(importlib.import_module(module), function)
            return oracle
        if name.startswith(TREE_SITTER):
            from languages import tree_sitter

            return tree_sitter.oracle(name.removeprefix(TREE_SITTER))
    except ImportError as error:
        raise MissingError(f"the oracle {name} needs a package that is not installed: {error}") from None
    raise ValueError(f"there is no oracle {name!r}; there are {', '.join(HOMES)} and {TREE_SITTER}LANGUAGE")


TREE_SITTER = "tree-sitter-"
HOMES = {  # name -> module:function; a module's imports are the packages that its oracles need
    "json": "languages.oracles:json",
}


def decoded(text: bytes) -> str | None:
    """The text, or None where it is not UTF-8."""
    try:
        return text.decode("utf-8")
    except UnicodeDecodeError:
        return None


def json(text: bytes) -> bool:
    """RFC 8259, by the standard library; its extension NaN and Infinity is not counted."""
    from json import JSONDecoder

    def refuse(constant: str) -> None:
        raise ValueError(constant)

    shown = decoded(text)
    if shown is None or shown.startswith("\ufeff"):
        return False
    try:
        JSONDecoder(parse_constant=refuse, parse_int=str).decode(shown)
    except ValueError:
        return False
    return True
