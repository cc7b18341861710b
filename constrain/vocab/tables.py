"""What somebody has to know of the tokens of a vocabulary, made once for each vocabulary and gone with it.

    class Levels(PerVocabulary): ...     # Levels(vocabulary) makes them
    Levels.of(vocabulary)                # the same ones for everybody

Limit: a table must not refer to its vocabulary, or neither is ever freed.
"""

from __future__ import annotations

import weakref
from typing import Any, TypeVar

from constrain.vocab.vocabulary import Vocabulary

Table = TypeVar("Table", bound="PerVocabulary")

_tables: weakref.WeakKeyDictionary[Vocabulary, dict[type, Any]] = weakref.WeakKeyDictionary()


class PerVocabulary:
    """A table with one instance a vocabulary."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        raise NotImplementedError

    @classmethod
    def of(cls: type[Table], vocabulary: Vocabulary) -> Table:
        """The table of a vocabulary, made when it is first asked for."""
        tables = _tables.setdefault(vocabulary, {})
        if cls not in tables:
            tables[cls] = cls(vocabulary)
        found: Table = tables[cls]
        return found
