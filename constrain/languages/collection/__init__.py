"""The collection: grammars of well-known languages, each measured against a parser of that language.

takes: a name ("json", "sql"), or a folder of your own that is laid out in the same way (`folder`)
gives: a `Constraint`; the folder's settings and the places of its examples
start reading at: folder.py

The folders are in `grammars/` at the top of a checkout, and are copied into the package when a wheel is built.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from constrain.errors import GrammarError, did_you_mean
from constrain.languages.collection.folder import SETTINGS, GrammarFolder, read_folder

if TYPE_CHECKING:
    from constrain.languages.constraints.base import Constraint

__all__ = ["GrammarFolder", "folder", "load", "names", "read_folder"]

_INSTALLED = Path(__file__).resolve().parent / "data"
_CHECKOUT = Path(__file__).resolve().parents[3] / "grammars"


def _home() -> Path:
    return _INSTALLED if _INSTALLED.is_dir() else _CHECKOUT


def names() -> list[str]:
    """List the grammars of the collection.

    Returns:
        Their names, sorted.

    Example:
        >>> "json" in names()
        True
    """
    return sorted(path.parent.name for path in _home().glob(f"*/{SETTINGS}"))


def folder(name: str) -> GrammarFolder:
    """Find the folder of a grammar: its text, settings and examples.

    Args:
        name: The grammar's name, one of `names()`.

    Returns:
        The folder; nothing in it is read but its settings.

    Raises:
        GrammarError: There is no grammar of that name.

    Example:
        >>> import constrain
        >>> constrain.collection.folder("json").description
        'JSON (RFC 8259)'
    """
    known = names()
    if name not in known:
        raise GrammarError(
            f"there is no grammar {name!r} in the collection; there are {', '.join(known)}",
            fix=did_you_mean(
                name, known, "for a grammar of your own use constrain.grammar(text), or collection.read_folder(path)"
            ),
        )
    return read_folder(_home() / name)


def load(name: str, **options: Any) -> Constraint:
    """Read a grammar of the collection, by its settings.

    Args:
        name: The grammar's name, one of `names()`.
        **options: Options of `constrain.grammar` that replace the settings: `start`, `lexer`, `layout`.

    Returns:
        A constraint.

    Raises:
        GrammarError: There is no grammar of that name.

    Example:
        >>> import constrain
        >>> constrain.collection.load("json").lexer
        'dynamic'
    """
    return folder(name).constraint(**options)
