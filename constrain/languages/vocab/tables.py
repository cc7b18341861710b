"""Tables derived from the tokens of a vocabulary, made once for each vocabulary and freed with it.

    class Levels(PerVocabulary): ...     # Levels(vocabulary) computes the table
    Levels.of(vocabulary)                # always the same object

Limit: a table must not refer to its vocabulary, or neither is ever freed.
"""

from __future__ import annotations

import weakref
from typing import Any, TypeVar

from constrain.languages.vocab.vocabulary import Vocabulary

Table = TypeVar("Table", bound="PerVocabulary")

_tables: weakref.WeakKeyDictionary[Vocabulary, dict[type, Any]] = weakref.WeakKeyDictionary()


class PerVocabulary:
    """Base class of tables with one instance for each vocabulary."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        raise NotImplementedError

    @classmethod
    def of(cls: type[Table], vocabulary: Vocabulary) -> Table:
        """The table of a vocabulary, made at its first use."""
        tables = _tables.setdefault(vocabulary, {})
        if cls not in tables:
            tables[cls] = cls(vocabulary)
        table: Table = tables[cls]
        return table
