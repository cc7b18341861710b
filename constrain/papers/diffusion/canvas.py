"""A text of so many tokens, some of them open: what may stand at a position, and which tokens may be set together.

    canvas = Canvas(language, vocabulary, [None] * 16)
    canvas.allows({3: 17, 5: 80})       # may both be set?
    canvas.mask(4)                      # the tokens that may stand at position 4
    canvas.set({3: 17})

The text ends before the first EOS; all positions after it are EOS, too. A text may also take all positions.

The idea: each position has the arcs of the tokens that may stand there (token_classes.py), so one solution
(layered.py) marks the arcs that some filling uses, at all positions. Every answer takes into account how many tokens
fit between two that are set. Setting tokens only shrinks what is possible: arcs that are dead stay dead, and the next
solution does without them.

Cost: one solution each time that tokens are set, for the masks of all positions and all questions about one token. A
question about several tokens is a solution from the bottom up alone, and `largest` asks about log2 n of them for each
token that it leaves out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from constrain.errors import ConstrainError, GrammarError, UnsatisfiableError
from constrain.languages.vocab.vocabulary import Vocabulary
from constrain.masks.gaps.solution import GapLanguage, Solution
from constrain.papers.diffusion.layered import LayeredSolution
from constrain.papers.diffusion.token_classes import TokenClasses


class Canvas:
    """A text of tokens, some of them open.

    Args:
        language: The language of the text.
        vocabulary: The tokens; with an EOS if the text may be shorter than the canvas.
        tokens: The token at each position; None: open.
        classes: The classes of the tokens, if they are at hand.

    Attributes:
        tokens: The token at each position; None: open.

    Raises:
        ConstrainError: A token is no token of the vocabulary, or a special one; or something follows an EOS.
        UnsatisfiableError: No filling makes a member; the message names the stretch that contradicts, if any.
        LimitError: The canvas is too large.
        GrammarError: The grammar has a layout of lines and columns.
    """

    def __init__(
        self,
        language: GapLanguage,
        vocabulary: Vocabulary,
        tokens: Sequence[int | None],
        classes: TokenClasses | None = None,
    ) -> None:
        if language.closing:
            raise GrammarError(
                "a grammar with a layout of lines and columns cannot be filled by tokens in any order",
                fix="fill its holes from left to right: constrain.infill(...)",
            )
        self.language, self.vocabulary = language, vocabulary
        self.classes = classes or TokenClasses(language, vocabulary)
        self.tokens = list(tokens)
        self._eos = frozenset(vocabulary.eos_ids)
        self._check()
        every = np.arange(len(self.classes.kind))
        self._arcs = [every] * len(self.tokens)
        given = {position: token for position, token in enumerate(self.tokens) if token is not None}
        self._solution: LayeredSolution | None = None
        self._asked: tuple[Mapping[int, int], LayeredSolution] | None = None
        self._arcs = self._with(given)
        if self._solved.is_empty:
            raise self._contradiction()

    @property
    def open(self) -> list[int]:
        """The open positions."""
        return [position for position, token in enumerate(self.tokens) if token is None]

    @property
    def text(self) -> bytes:
        """The text of a canvas without open positions."""
        ids = [token for token in self.tokens if token is not None]
        assert len(ids) == len(self.tokens), "a canvas with open positions has no text"
        return self.vocabulary.to_bytes(token for token in ids if token not in self._eos)

    def allows(self, tokens: Mapping[int, int]) -> bool:
        """True if one filling has all these tokens at these open positions."""
        if not all(self.mask(position)[token] for position, token in tokens.items()):
            return False
        if len(tokens) < 2:
            return True
        solution = self._solve(tokens)
        self._asked = dict(tokens), solution
        return not solution.is_empty

    def set(self, tokens: Mapping[int, int]) -> None:
        """Set tokens at open positions; behind an EOS, all others. The caller knows that they are allowed together."""
        known = self._asked[1] if self._asked is not None and self._asked[0] == tokens else None
        self._arcs = self._solved.live_arcs()  # what is dead now stays dead
        for position, token in tokens.items():
            assert self.tokens[position] is None
            self.tokens[position] = token
        end = next((position for position, token in enumerate(self.tokens) if token in self._eos), len(self.tokens))
        for position in range(end, len(self.tokens)):
            self.tokens[position] = self.tokens[end]
        self._arcs = self._with(tokens)
        self._solution, self._asked = known, None

    def largest(self, proposals: Sequence[tuple[int, int]]) -> dict[int, int]:
        """Of proposals (position, token), in the order of preference, as many as are allowed together.

        A proposal is left out if it contradicts the ones before it that were taken. The longest run that is allowed is
        found by bisection, so that n proposals without a contradiction take one question.
        """
        taken: dict[int, int] = {}
        rest = [(position, token) for position, token in proposals if self.mask(position)[token]]
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

    def mask(self, position: int) -> NDArray[np.bool_]:
        """The tokens that may stand at an open position.

        Returns:
            bool[len(vocabulary)]: a token is allowed if and only if some filling of all open positions has it there.
        """
        assert self.tokens[position] is None
        if position not in self._solved.masks:
            allowed = self.classes.tokens(self._solved.live_arcs()[position])
            for eos in self._eos:
                allowed[eos] = self._solved.ends[0] <= position
            self._solved.masks[position] = allowed
        return self._solved.masks[position]

    # -- solutions -----------------------------------------------------------------------------------------------------

    @property
    def _solved(self) -> LayeredSolution:
        """The fillings of the canvas as it is."""
        if self._solution is None:
            self._solution = self._solve({})
        return self._solution

    def _with(self, tokens: Mapping[int, int]) -> list[NDArray[np.int64]]:
        """The arcs of each position, with tokens set."""
        arcs = list(self._arcs)
        for position, token in tokens.items():
            number = int(self.classes.of[token])
            own = self.classes.path(number) if number >= 0 else np.zeros(0, np.int64)
            arcs[position] = np.intersect1d(arcs[position], own, assume_unique=True)
        return arcs

    def _solve(self, tokens: Mapping[int, int]) -> LayeredSolution:
        """The fillings of the canvas with these tokens set too."""
        filled = [tokens.get(position, token) for position, token in enumerate(self.tokens)]
        last = next((i for i, token in enumerate(filled) if token in self._eos), len(filled))
        first = len(filled)
        while self._eos and first > 0 and (filled[first - 1] is None or filled[first - 1] in self._eos):
            first -= 1
        return LayeredSolution(self.language, self.classes, self._with(tokens), range(first, last + 1))

    # -- errors --------------------------------------------------------------------------------------------------------

    def _check(self) -> None:
        ended = -1
        for position, token in enumerate(self.tokens):
            if token is not None and not (isinstance(token, int) and 0 <= token < len(self.vocabulary)):
                raise ConstrainError(
                    f"position {position} has {token!r}, which is no token of a vocabulary of {len(self.vocabulary)}",
                    fix="give ids of tokens, and None for open positions",
                )
            if token in self._eos:
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

    def _contradiction(self) -> UnsatisfiableError:
        """The error for a canvas that no filling completes: the first token that cannot stand, or too few positions."""
        tokens = self.tokens
        fixed = [position for position, token in enumerate(tokens) if token is not None and token not in self._eos]

        def fits(count: int) -> bool:
            """True if the first `count` set tokens fit, with any text at open positions."""
            pattern = self.language.pattern()
            for position in range(fixed[count - 1] + 1 if count else 0):
                token = tokens[position]
                if token is None:
                    pattern.anything()
                else:
                    pattern.text(self.vocabulary.tokens[token] or b"")
            pattern.anything()
            return not Solution(self.language, pattern).is_empty

        if not fits(0):
            return UnsatisfiableError("no text is a member of the grammar", fix="relax the constraint")
        low, high = 0, len(fixed)
        if fits(high):
            fewest = self._fewest()
            need = "" if fewest is None else f"; the shortest text takes {fewest} bytes"
            return UnsatisfiableError(
                f"no text fits a canvas of {len(tokens)} tokens with {len(self.open)} open positions{need}",
                fix="make the canvas or its holes longer or shorter, or allow an EOS",
            )
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if fits(middle) else (low, middle)
        position = fixed[high - 1]
        shown = self.vocabulary.to_bytes([tokens[position]]).decode("utf-8", "replace")  # type: ignore[list-item]
        return UnsatisfiableError(
            f"no filling makes a member: {shown!r} cannot stand at position {position} after what is before it",
            fix="open that position, or correct what is set before it",
        )

    def _fewest(self) -> int | None:
        pattern = self.language.pattern()
        pattern.anything()
        arcs = Solution(self.language, pattern).shortest()
        return None if arcs is None else len(arcs)
