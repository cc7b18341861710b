"""A finite language over a few tokens. The oracle is the list of its texts: which ids may follow a sequence of ids."""

import numpy as np

import constrain

TOKENS = [b"a", b"b", b"ab", b"c", None, None, b"x"]
EOS, SPECIAL = 4, 5
VOCABULARY = constrain.Vocabulary(TOKENS, eos_ids=[EOS])
MEMBERS = ["ab", "abc", "b", "bc", "a" * 3]


def oracle(ids: tuple[int, ...], stops: tuple[int, ...] = ()) -> set[int] | None:
    """The ids that may follow; None: the ids were not allowed, or ended before their end."""
    ends = {stop for stop in stops if stop < len(TOKENS)} or {EOS}
    text = b""
    for token in ids:
        piece = TOKENS[token]
        if token in ends or piece is None:
            return None
        text += piece
        if not any(member.encode().startswith(text) for member in MEMBERS):
            return None
    after = {
        token
        for token, piece in enumerate(TOKENS)
        if piece is not None and token not in ends and any(m.encode().startswith(text + piece) for m in MEMBERS)
    }
    return after | (ends if text.decode() in MEMBERS else set())


class Failing:
    """A matcher at a limit."""

    text = b"so far"
    ended = False

    def __init__(self, error: Exception) -> None:
        self.error = error

    def fill_mask(self, row: np.ndarray) -> None:
        raise self.error

    def advance(self, token: int) -> bool:
        raise self.error

    def rollback(self, n: int) -> None:
        pass
