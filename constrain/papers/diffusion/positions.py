"""Positions of a text of so many tokens, some of them open; what canvases of either kind share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from constrain.errors import ConstrainError, UnsatisfiableError
from constrain.gaps.solution import GapLanguage, Solution
from constrain.languages.vocab.vocabulary import Vocabulary


class Positions:
    """A text of tokens, some of them open. Subclasses say which tokens may be set.

    Args:
        vocabulary: The tokens.
        tokens: The token at each position; None: open.

    Attributes:
        eos: The tokens that end a text.

    Raises:
        ConstrainError: A token is no token of the vocabulary, or a special one; or something follows an EOS.
    """

    def __init__(self, vocabulary: Vocabulary, tokens: Sequence[int | None]) -> None:
        self.vocabulary, self.tokens = vocabulary, list(tokens)
        self.eos = frozenset(vocabulary.eos_ids)
        self._check()

    @property
    def open(self) -> list[int]:
        """The open positions."""
        return [position for position, token in enumerate(self.tokens) if token is None]

    @property
    def text(self) -> bytes:
        """The text of a canvas without open positions."""
        ids = [token for token in self.tokens if token is not None]
        assert len(ids) == len(self.tokens), "a canvas with open positions has no text"
        return self.vocabulary.to_bytes(token for token in ids if token not in self.eos)

    def allows(self, tokens: Mapping[int, int]) -> bool:
        """True if one filling has all these tokens at these open positions."""
        raise NotImplementedError

    def largest(self, proposals: Sequence[tuple[int, int]]) -> dict[int, int]:
        """Of proposals (position, token), in the order of preference, as many as are allowed together.

        A proposal is left out if it contradicts the ones before it that were taken. The longest run that is allowed is
        found by bisection, so that n proposals without a contradiction take one question.
        """
        taken: dict[int, int] = {}
        rest = [(position, token) for position, token in proposals if self._may_stand(position, token)]
        while rest:
            if self.allows({**taken, **dict(rest)}):
                return {**taken, **dict(rest)}
            low, high = 0, len(rest)  # `low` of them are allowed, `high` are not
            while high - low > 1:
                middle = (low + high) // 2
                low, high = (middle, high) if self.allows({**taken, **dict(rest[:middle])}) else (low, middle)
            taken.update(rest[:low])
            rest = rest[high:]
        return taken

    def ends(self, tokens: Mapping[int, int]) -> range:
        """The positions before which the text may end, once these tokens are set too."""
        filled = [tokens.get(position, token) for position, token in enumerate(self.tokens)]
        last = next((i for i, token in enumerate(filled) if token in self.eos), len(filled))
        first = len(filled)
        while self.eos and first > 0 and (filled[first - 1] is None or filled[first - 1] in self.eos):
            first -= 1
        return range(first, last + 1)

    def _may_stand(self, position: int, token: int) -> bool:
        """False if it is known that a token cannot stand at an open position."""
        return True

    def _place(self, tokens: Mapping[int, int]) -> None:
        """Set tokens at open positions; behind an EOS, all others."""
        for position, token in tokens.items():
            assert self.tokens[position] is None
            self.tokens[position] = token
        end = next((position for position, token in enumerate(self.tokens) if token in self.eos), len(self.tokens))
        for position in range(end, len(self.tokens)):
            self.tokens[position] = self.tokens[end]

    def _check(self) -> None:
        ended = -1
        for position, token in enumerate(self.tokens):
            if token is not None and not (isinstance(token, int) and 0 <= token < len(self.vocabulary)):
                raise ConstrainError(
                    f"position {position} has {token!r}, which is no token of a vocabulary of {len(self.vocabulary)}",
                    fix="give ids of tokens, and None for open positions",
                )
            if token in self.eos:
                ended = position if ended < 0 else ended
            elif token is not None and self.vocabulary.tokens[token] is None:
                name = self.vocabulary.names_by_id.get(token, f"token {token}")
                raise ConstrainError(
                    f"position {position} has the special token {name!r}, which has no text",
                    fix="leave the position open (None), or set a token with a text",
                )
            elif token is not None and ended >= 0:
                raise ConstrainError(
                    f"position {position} has a token, but the text ended with an EOS at position {ended}",
                    fix="set EOS at the end only",
                )


def no_room(language: GapLanguage, canvas: Positions) -> UnsatisfiableError:
    """The error for a canvas whose set tokens fit, and that no filling completes: it has too few positions."""
    fewest = _fewest(language)
    need = "" if fewest is None else f"; the shortest text takes {fewest} bytes"
    return UnsatisfiableError(
        f"no text fits a canvas of {len(canvas.tokens)} tokens with {len(canvas.open)} open positions{need}",
        fix="make the canvas or its holes longer or shorter, or allow an EOS",
    )


def contradiction(language: GapLanguage, canvas: Positions) -> UnsatisfiableError | None:
    """The error for a canvas whose set tokens do not fit, whatever is between them: the first that cannot stand."""
    tokens, eos, vocabulary = canvas.tokens, canvas.eos, canvas.vocabulary
    fixed = [position for position, token in enumerate(tokens) if token is not None and token not in eos]

    def fits(count: int) -> bool:
        """True if the first `count` set tokens fit, with any text at open positions."""
        pattern = language.pattern()
        for position in range(fixed[count - 1] + 1 if count else 0):
            token = tokens[position]
            if token is None:
                pattern.anything()
            else:
                pattern.text(vocabulary.tokens[token] or b"")
        pattern.anything()
        return not Solution(language, pattern).is_empty

    if not fits(0):
        return UnsatisfiableError("no text is a member of the grammar", fix="relax the constraint")
    low, high = 0, len(fixed)
    if fits(high):
        return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    position = fixed[high - 1]
    shown = vocabulary.to_bytes([tokens[position]]).decode("utf-8", "replace")  # type: ignore[list-item]
    return UnsatisfiableError(
        f"no filling makes a member: {shown!r} cannot stand at position {position} after what is before it",
        fix="open that position, or correct what is set before it",
    )


def _fewest(language: GapLanguage) -> int | None:
    pattern = language.pattern()
    pattern.anything()
    arcs = Solution(language, pattern).shortest()
    return None if arcs is None else len(arcs)
