"""The collection: grammars of well-known languages, each measured against a parser of that language.

takes: a name ("json", "sql"), or a folder of your own that is laid out in the same way (`folder`)
gives: a `Constraint`; the folder's examples, and those on which a constraint is wrong (`examples`)
used by: cli, benchmarks/grammars.py
start reading at: folder.py

    >>> import constrain
    >>> constrain.compile(constrain.collection.load("json"), vocabulary)      # doctest: +SKIP

The folders stand in `grammars/` at the top of a checkout, and are copied into the package when a wheel is built.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from constrain.collection.folder import SETTINGS, GrammarFolder, read_folder
from constrain.errors import GrammarError

if TYPE_CHECKING:
    from constrain.constraints.base import Constraint

__all__ = ["GrammarFolder", "folder", "load", "names", "read_folder"]

_INSTALLED = Path(__file__).resolve().parent / "data"
_CHECKOUT = Path(__file__).resolve().parents[2] / "grammars"


def _home() -> Path:
    return _INSTALLED if _INSTALLED.is_dir() else _CHECKOUT


def names() -> list[str]:
    """The names of the collection, sorted."""
    return sorted(path.parent.name for path in _home().glob(f"*/{SETTINGS}"))


def folder(name: str) -> GrammarFolder:
    """A grammar of the collection with what is said about it. Raises GrammarError: there is none of that name."""
    known = names()
    if name not in known:
        raise GrammarError(
            f"there is no grammar {name!r} in the collection; there are {', '.join(known)}",
            fix="for a grammar of your own use constrain.grammar(text), or constrain.collection.read_folder(path)",
        )
    return read_folder(_home() / name)


def load(name: str, **options: Any) -> Constraint:
    """A grammar of the collection, as its settings say.

    options: `start` and `lexer`, as `constrain.grammar` takes them, where the settings shall not count.
    Raises GrammarError: there is no grammar of that name.
    """
    return folder(name).constraint(**options)
