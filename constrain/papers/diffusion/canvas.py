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

from constrain.errors import GrammarError
from constrain.gaps.solution import GapLanguage
from constrain.languages.vocab.vocabulary import Vocabulary
from constrain.papers.diffusion.layered import LayeredSolution
from constrain.papers.diffusion.positions import Positions, contradiction, no_room
from constrain.papers.diffusion.token_classes import TokenClasses


class Canvas(Positions):
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
                fix="denoise(..., exact=False), or fill its holes from left to right: constrain.infill(...)",
            )
        super().__init__(vocabulary, tokens)
        self.language, self.classes = language, classes or TokenClasses(language, vocabulary)
        every = np.arange(len(self.classes.kind))
        self._arcs = [every] * len(self.tokens)
        given = {position: token for position, token in enumerate(self.tokens) if token is not None}
        self._solution: LayeredSolution | None = None
        self._asked: tuple[Mapping[int, int], LayeredSolution] | None = None
        self._arcs = self._with(given)
        if self._solved.is_empty:
            raise contradiction(language, self) or no_room(language, self)

    def allows(self, tokens: Mapping[int, int]) -> bool:
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
        self._place(tokens)
        self._arcs = self._with(tokens)
        self._solution, self._asked = known, None

    def mask(self, position: int) -> NDArray[np.bool_]:
        """The tokens that may stand at an open position.

        Returns:
            bool[len(vocabulary)]: a token is allowed if and only if some filling of all open positions has it there.
        """
        assert self.tokens[position] is None
        if position not in self._solved.masks:
            allowed = self.classes.tokens(self._solved.live_arcs()[position])
            for eos in self.eos:
                allowed[eos] = self._solved.ends[0] <= position
            self._solved.masks[position] = allowed
        return self._solved.masks[position]

    def _may_stand(self, position: int, token: int) -> bool:
        return bool(self.mask(position)[token])

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
        return LayeredSolution(self.language, self.classes, self._with(tokens), self.ends(tokens))
