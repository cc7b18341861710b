"""Further inputs of a model (a text for its encoder), named by ids inside of token sequences.

The idea: samplers, memories and drafters know sequences of token ids, and nothing else. A prompt with a source — the
text that an encoder reads — begins with two ids beyond every vocabulary, which spell a hash of the source. So equal
sequences are equal targets everywhere, and only sessions of models look up what the ids stand for.
Limit: 60 bits of the hash: 1e-9 that two of 40,000 sources have one name.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence

from constrain.errors import ConstrainError

BITS = 30  # of each id
BEYOND = 1 << BITS  # ids from here on name sources; below int32's end
LENGTH = 2  # ids that name a source


class Sources:
    """The sources of a call, by name."""

    def __init__(self) -> None:
        self.known: dict[tuple[int, ...], tuple[int, ...]] = {}

    def name(self, ids: Iterable[int]) -> list[int]:
        """The ids that stand for a text; it is known from now on."""
        text = tuple(ids)
        digest = int.from_bytes(hashlib.sha256(repr(text).encode()).digest()[:8], "little")
        name = [BEYOND + (digest >> (BITS * place)) % BEYOND for place in range(LENGTH)]
        self.known[tuple(name)] = text
        return name

    def split(self, sequence: Sequence[int]) -> tuple[tuple[int, ...], list[int]]:
        """(the name of the source, the tokens after it). Raises ConstrainError: there is none, or an unknown one."""
        name = tuple(sequence[:LENGTH])
        if name not in self.known:
            raise ConstrainError(
                "an encoder-decoder model is asked to go on without a text for its encoder",
                fix="call constrain.generate, or begin with what HFModel.begun returned",
            )
        return name, list(sequence[LENGTH:])


def tokens_of(sequence: Sequence[int]) -> Sequence[int]:
    """A sequence without the name of its source, as the decoder reads it."""
    return sequence[LENGTH:] if sequence and sequence[0] >= BEYOND else sequence
