"""Tell the characters that the constraint forced from the ones that the model chose, for colours of `constrain
generate`.

A character is forced where, after the text before it, nothing else could follow. This is asked of bytes, not of tokens:
`{"name": ` is forced even if it can be cut into tokens in many ways.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import Any


class ForcedText:
    """Reads one text, piece by piece.

    Args:
        constraint: The constraint that the text obeys.
    """

    def __init__(self, constraint: Any) -> None:
        import constrain

        self._matcher: Any = constrain.compile(constraint, constrain.Vocabulary.of_bytes()).matcher()
        self._ahead = b""  # what must follow

    def split(self, piece: str) -> Iterator[tuple[str, bool]]:
        """Parts of the piece, each with whether it was forced."""
        for is_forced, pairs in groupby([(self._read(c), c) for c in piece], key=lambda pair: pair[0]):
            yield "".join(character for _, character in pairs), is_forced

    def _read(self, character: str) -> bool:
        """Read a character; whether it was forced. What is no beginning of a member was not."""
        data = character.encode("utf-8", "replace")
        if self._matcher is None:
            return False
        self._ahead = self._ahead or self._matcher.forced_bytes()
        is_forced = self._ahead.startswith(data)
        self._ahead = self._ahead[len(data) :] if is_forced else b""
        if not self._matcher.advance_bytes(data):
            self._matcher = None
        return is_forced
