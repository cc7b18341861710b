"""A text of so many tokens, some of them open: what may stand at a position, and which tokens may be set together.

    canvas = Canvas(language, vocabulary, [None] * 16)
    canvas.allows({3: 17, 5: 80})       # may both be set?
    canvas.mask(4)                      # the tokens that may stand at position 4
    canvas.set({3: 17})

The text ends before the first EOS; all positions after it are EOS, too. A text may also take all positions.

The idea: the pattern of a canvas (pattern.py) has a layer of tokens for each open position. So every answer takes into
account how many tokens fit between two that are set. Setting tokens only shrinks what is possible: tokens that were
refused at a position stay refused.

Cost: one solution (solution.py) for each question; `largest` asks about log2 n for each token that it leaves out.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from constrain.errors import ConstrainError, UnsatisfiableError
from constrain.gaps.pattern import Layer, Pattern, Word
from constrain.gaps.solution import GapLanguage, Solution
from constrain.vocab.vocabulary import Vocabulary


class TokenLayers:
    """The tokens of a vocabulary by their class words, for one grammar.

    Attributes:
        words: The distinct class words that some terminal may contain.
        members: The tokens of each word.
        merged: The layer of an open position.
        trie: The layer of a position whose tokens are asked for.
    """

    def __init__(self, language: GapLanguage, vocabulary: Vocabulary) -> None:
        lexer = language.lexer
        alive: NDArray[np.bool_] = np.logical_or.reduce(lexer.moves.reshape(-1, lexer.n_classes) >= 0, axis=0)
        members: defaultdict[Word, list[int]] = defaultdict(list)
        for token, text in enumerate(vocabulary.tokens):
            if text and alive[lexer.classes[list(text)]].all():
                members[lexer.class_word(text)].append(token)
        self.words: list[Word] = sorted(members)
        self.members: list[list[int]] = [members[word] for word in self.words]
        self.merged, self.trie = Layer.merged(self.words), Layer.trie(self.words)


class Canvas:
    """A text of tokens, some of them open.

    Args:
        language: The language of the text.
        vocabulary: The tokens; with an EOS if the text may be shorter than the canvas.
        tokens: The token at each position; None: open.
        layers: The tokens by class words, if they are at hand.

    Attributes:
        tokens: The token at each position; None: open.

    Raises:
        ConstrainError: A token is no token of the vocabulary, or a special one; or something follows an EOS.
        UnsatisfiableError: No filling makes a member; the message names the stretch that contradicts, if any.
        LimitError: The canvas is too large.
    """

    def __init__(
        self,
        language: GapLanguage,
        vocabulary: Vocabulary,
        tokens: Sequence[int | None],
        layers: TokenLayers | None = None,
    ) -> None:
        self.language, self.vocabulary = language, vocabulary
        self.layers = layers or TokenLayers(language, vocabulary)
        self.tokens = list(tokens)
        self._eos = frozenset(vocabulary.eos_ids)
        self._check()
        if self._solve({}) is None:
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
        """Whether some filling has these tokens at these open positions, all together."""
        return self._solve(tokens) is not None

    def set(self, tokens: Mapping[int, int]) -> None:
        """Set tokens at open positions. The caller knows that they are allowed together."""
        for position, token in tokens.items():
            assert self.tokens[position] is None
            self.tokens[position] = token

    def largest(self, proposals: Sequence[tuple[int, int]]) -> dict[int, int]:
        """Of proposals (position, token), in the order of preference, as many as are allowed together.

        A proposal is left out if it contradicts the ones before it that were taken. The longest run that is allowed is
        found by bisection, so that n proposals without a contradiction take one question.
        """
        taken: dict[int, int] = {}
        rest = list(proposals)
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
        allowed = np.zeros(len(self.vocabulary), np.bool_)
        pattern, ends, words = self._pattern({}, position)
        if ends:
            pattern.frontier = ends
            live = Solution(self.language, pattern).live_arcs()
            for word, arcs in words.items():
                if live[arcs].any():
                    allowed[self.layers.members[word]] = True
        for eos in self.vocabulary.eos_ids:
            allowed[eos] = self.allows({position: eos})
            if not allowed[eos]:
                break
        return allowed

    # -- patterns ------------------------------------------------------------------------------------------------------

    def _pattern(self, tokens: Mapping[int, int], asked: int = -1) -> tuple[Pattern, list[int], dict[int, list[int]]]:
        """(the pattern, the nodes where the text may end, the arcs that end each word at the asked position)."""
        filled = [tokens.get(position, token) for position, token in enumerate(self.tokens)]
        last = next((i for i, token in enumerate(filled) if token in self._eos), len(filled))
        first = len(filled)
        while self._eos and first > 0 and (filled[first - 1] is None or filled[first - 1] in self._eos):
            first -= 1
        first = max(first, asked + 1)
        pattern = self.language.pattern()
        ends: list[int] = []
        words: dict[int, list[int]] = {}
        for position in range(last + 1):
            if position >= first:
                ends += pattern.frontier
            if position == last:
                break
            token = filled[position]
            if token is not None:
                pattern.text(self.vocabulary.tokens[token] or b"")
            elif position == asked:
                words = pattern.token(self.layers.trie)
            else:
                pattern.token(self.layers.merged)
        return pattern, ends, words

    def _solve(self, tokens: Mapping[int, int]) -> Solution | None:
        """What fits with these tokens, or None if nothing does."""
        pattern, ends, _ = self._pattern(tokens)
        if not ends:
            return None
        pattern.frontier = ends
        solution = Solution(self.language, pattern)
        return None if solution.is_empty else solution

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
            """Whether the first tokens that are set fit, with any text in place of open positions."""
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
