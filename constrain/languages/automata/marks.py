"""Marks: how a language of bytes spells a token that is not text.

A mark is the byte 0xFF, which no UTF-8 text has (RFC 3629, section 3), and the token's id in three digits to the base
128. All marks have four bytes, so none begins another, and no text begins or continues one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from constrain.errors import LimitError
from constrain.languages.automata.digits import Sequence, digit_sequences

MARK = 0xFF
DIGITS, BASE = 3, 128
LENGTH = 1 + DIGITS  # bytes of a mark
MOST = BASE**DIGITS  # ids; the largest vocabularies have a quarter of a million
_MARKS = re.compile(rb"\xff[\x00-\x7f]{3}")


def mark(token_id: int) -> bytes:
    """The mark of a token. Raises LimitError for an id of 2,097,152 or more."""
    if token_id >= MOST:
        raise LimitError(f"token id {token_id} has no mark: ids go up to {MOST - 1}")
    return bytes((MARK, token_id >> 14, token_id >> 7 & 127, token_id & 127))


def token_of(marked: bytes) -> int:
    """The id of the token of a mark."""
    return marked[1] << 14 | marked[2] << 7 | marked[3]


def mark_ranges(ids: Iterable[Any]) -> tuple[Sequence, ...]:
    """The marks of inclusive ranges of ids, as sequences of byte ranges."""
    return tuple(((MARK, MARK), *digits) for low, high in ids for digits in digit_sequences(low, high, DIGITS, BASE))


class ReadTokens(dict[Any, Any]):
    """The ids of sets of tokens, for a text whose tokens are known: those with bytes may be read as tokens too.

    Attributes:
        places: Bytes from the beginning of such a token to the end of the text -> (its id, the number of its bytes).
    """

    def __init__(self, spans: Mapping[Any, Any], places: Mapping[int, tuple[int, int]]) -> None:
        super().__init__(spans)
        self.places = places


def without_marks(text: bytes) -> bytes:
    """A text without the marks in it."""
    return _MARKS.sub(b"", text)


def with_names(text: bytes, spans: Mapping[Any, Any]) -> str:
    """A text whose marks are replaced by the tokens' names, as far as sets of one token tell them."""
    names = {ids[0][0]: node.members[0] for node, ids in spans.items() if len(node.members) == 1 and len(ids) == 1}
    return _MARKS.sub(lambda found: str(names.get(token_of(found[0]), "")).encode(), text).decode()
