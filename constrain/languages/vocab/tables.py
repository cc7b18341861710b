"""Tables derived from the tokens of a vocabulary, made once for each vocabulary and freed with it.

    class Levels(PerVocabulary): ...     # Levels(vocabulary) computes the table
    Levels.of(vocabulary)                # always the same object

They are among what the vocabulary keeps (`Vocabulary.kept`).
"""

from __future__ import annotations

from typing import TypeVar

from constrain.languages.vocab.vocabulary import Vocabulary

Table = TypeVar("Table", bound="PerVocabulary")


class PerVocabulary:
    """Base class of tables with one instance for each vocabulary."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        raise NotImplementedError

    @classmethod
    def of(cls: type[Table], vocabulary: Vocabulary) -> Table:
        """The table of a vocabulary, made at its first use."""
        if cls not in vocabulary.kept:
            vocabulary.kept[cls] = cls(vocabulary)
        table: Table = vocabulary.kept[cls]
        return table
