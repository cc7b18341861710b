"""A canvas that always knows one whole text: tokens are set only with a text of the language that has them.

    canvas = WitnessedCanvas(constraint, vocabulary, [None] * 32)
    canvas.allows({3: 17, 5: 80})       # True: `canvas` has seen a member with both
    canvas.set({3: 17})
    canvas.filling                      # a member with all that is set

For programs and real vocabularies, where exact masks (canvas.py) are out of reach, and for languages with a layout.

Promised: the text is a member at the end, and so is `filling` at every time; each was checked whole, by the ordinary
matcher, with maximal munch, columns and what else is decided on a finished text. Some token may always be set: that of
`filling`. Not promised: that every token is allowed that some text has. A token is refused if no text was found with
it, and texts are looked for among few (candidates.py).

The idea: check, and repair where the check fails. First the tokens are put into the known text: names replace names, so
most proposals are answered by reading one text. Else a filling is searched for with a chart in which set tokens are
bytes and open positions have some hundred candidates, few of them first (`Candidates.levels`); what is found is read by
the matcher, since the chart follows the dynamic lexer. Where that has no first filling, one is walked to (walks.py).

Cost: reading one text; a search takes as much as a canvas of bytes, walks 1 to 30 s.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from constrain.errors import LimitError
from constrain.gaps.projection import gap_language
from constrain.languages.cfg.rules import Grammar
from constrain.languages.constraints.base import Constraint
from constrain.languages.vocab.vocabulary import Vocabulary
from constrain.masks.derived.members import byte_matcher
from constrain.papers.diffusion.candidates import Candidates
from constrain.papers.diffusion.filling import cheapest_filling
from constrain.papers.diffusion.layered import LayeredSolution
from constrain.papers.diffusion.positions import Positions, contradiction
from constrain.papers.diffusion.walks import Walks

COLUMNS = "\n    x\n        x\n"  # where the set text shows none, blocks are looked for at these
MOST_ROWS = 8_000_000  # symbols times positions of a chart; a larger one takes many seconds
TRIES = 2  # fillings of one chart that are read
WALKS = ((8, 0), *((32, seed) for seed in range(6)))  # states of a beam, and the variation: some 1 and 5 s each


class WitnessedCanvas(Positions):
    """A text of tokens, some of them open, and one filling.

    Args:
        constraint: The language of the text.
        vocabulary: The tokens; with an EOS if the text may be shorter than the canvas.
        tokens: The token at each position; None: open.
        filling: A token for each position that makes a member, if one is known. Default: one is searched for.

    Attributes:
        filling: A token for each position; with them the text is a member.
        found: How many questions were answered by the known text, by a search, and not at all.

    Raises:
        ConstrainError: A token is no token of the vocabulary, or a special one; or something follows an EOS.
        UnsatisfiableError: No filling makes a member; the message names the stretch that contradicts, if any.
        LimitError: No filling was found.
    """

    def __init__(
        self,
        constraint: Constraint,
        vocabulary: Vocabulary,
        tokens: Sequence[int | None],
        filling: Sequence[int] | None = None,
    ) -> None:
        super().__init__(vocabulary, tokens)
        self.constraint, self._matcher = constraint, byte_matcher(constraint)
        self.found = {"known": 0, "search": 0, "none": 0}
        self._like = [*self._set_texts(), COLUMNS]
        self._asked: tuple[Mapping[int, int], list[int]] | None = None
        given = list(filling) if filling is not None else None
        if (
            given is None
            or any(t not in (None, g) for t, g in zip(self.tokens, given, strict=True))
            or not self._reads(given)
        ):
            given = self._search({})
        if given is None:
            language = gap_language(constraint.laid_out_like(self._like).as_dynamic())
            raise (None if language.closing else contradiction(language, self)) or self._nothing_found()
        self.filling: list[int] = given

    def allows(self, tokens: Mapping[int, int]) -> bool:
        """True if a filling with all these tokens at these open positions is known, or found. False: none was found."""
        if self._asked is None or self._asked[0] != tokens:
            filling, how = self._in_known(tokens), "known"
            if filling is None:
                filling, how = self._search(tokens), "search"
            self.found[how if filling else "none"] += 1
            if filling is None:
                return False
            self._asked = dict(tokens), filling
        return True

    def set(self, tokens: Mapping[int, int]) -> None:
        """Set tokens at open positions; behind an EOS, all others. The caller knows that they are allowed together."""
        is_allowed = self.allows(tokens)
        assert is_allowed and self._asked is not None
        self.filling, self._asked = self._asked[1], None
        self._place(tokens)

    # -- the known text ------------------------------------------------------------------------------------------------

    def _in_known(self, tokens: Mapping[int, int]) -> list[int] | None:
        """The known filling with other tokens at some positions, if it is a member."""
        filling = [tokens.get(position, token) for position, token in enumerate(self.filling)]
        end = next((position for position in sorted(tokens) if tokens[position] in self.eos), len(filling))
        filling[end:] = filling[end : end + 1] * (len(filling) - end)
        is_kept = all(token in (None, filling[position]) for position, token in enumerate(self.tokens))
        is_kept = is_kept and all(filling[position] == token for position, token in tokens.items())
        return filling if is_kept and self._reads(filling) else None

    def _reads(self, filling: Sequence[int]) -> bool:
        """True if a filling is a member."""
        end = next((position for position, token in enumerate(filling) if token in self.eos), len(filling))
        if any(token not in self.eos for token in filling[end:]):
            return False
        parts = [self.vocabulary.tokens[token] for token in filling[:end]]
        if any(part is None for part in parts):
            return False
        text, matcher = b"".join(part or b"" for part in parts), self._matcher.fork()
        if not (matcher.advance_bytes(text) and matcher.is_accepting()):
            return False
        return self.constraint.residual_fault(text.decode("utf-8", "replace")) is None

    # -- the search for another ----------------------------------------------------------------------------------------

    def _search(self, tokens: Mapping[int, int]) -> list[int] | None:
        """A filling with these tokens, if one is found."""
        filled = [tokens.get(position, token) for position, token in enumerate(self.tokens)]
        ends = self.ends(tokens)
        if not ends or any(token is not None and token not in self.eos for token in filled[ends[-1] :]):
            return None
        walked = () if tokens else self._walked(filled, ends)  # they take long: for the first filling only
        fillings = chain(self._charted(filled, ends), walked)
        return next((filling for filling in fillings if self._reads(filling)), None)

    def _charted(self, filled: list[int | None], ends: range) -> Iterator[list[int]]:
        """Fillings of candidates, at more and more places."""
        candidates = _candidates(self.constraint.laid_out_like(self._like).as_dynamic(), self.vocabulary)
        for arcs in candidates.levels:
            yield from self._fillings(candidates, dict.fromkeys(self.open, arcs), filled, ends)

    def _walked(self, filled: list[int | None], ends: range) -> Iterator[list[int]]:
        """Fillings that are walks, or of tokens that may stand behind some walk."""
        walks = _walks(self.constraint, self.constraint.laid_out_like(self._like).as_dynamic(), self.vocabulary)
        for width, seed in WALKS:
            found, may_stand = walks.walk(filled, ends, width, seed)
            if found is not None:
                yield [*found, *(self._eos_at(filled, position) for position in range(len(found), len(filled)))]
            arcs = {position: walks.few(may_stand.get(position, [])) for position in self.open}
            yield from self._fillings(walks.candidates, arcs, filled, ends)

    def _fillings(
        self, candidates: Candidates, opened: Mapping[int, NDArray[np.int64]], filled: list[int | None], ends: range
    ) -> Iterator[list[int]]:
        """Some fillings of candidates in which open positions have these arcs; none if the chart is too large."""
        arcs: list[NDArray[np.int64]] = []
        seams, open_layers = [], []
        for position, token in enumerate(filled[: ends[-1]]):
            seams.append(len(arcs))
            if token is None:
                open_layers.append(len(arcs))
                arcs.append(opened[position])
            else:
                arcs += [candidates.of_byte(byte) for byte in self.vocabulary.tokens[token] or b""]
        seams.append(len(arcs))
        last = [seams[end] for end in ends]
        for byte in candidates.language.closing:
            arcs.append(candidates.of_byte(byte))
            last.append(len(arcs))
        is_open = np.zeros(len(arcs), np.bool_)
        is_open[open_layers] = True
        try:
            solution = LayeredSolution(candidates.language, candidates.classes, arcs, last, MOST_ROWS)
        except LimitError:
            return
        for seed in range(0 if solution.is_empty else TRIES):
            taken, end = cheapest_filling(solution, is_open, seed)
            yield [
                self._eos_at(filled, position) if position >= ends[-1] or seams[position] >= end
                else token if token is not None else candidates.ending_with(taken[seams[position]])[0]
                for position, token in enumerate(filled)
            ]  # fmt: skip

    def _eos_at(self, filled: list[int | None], position: int) -> int:
        """The EOS of a position behind the text."""
        token = filled[position]
        return min(self.eos) if token is None else token

    def _set_texts(self) -> list[str]:
        """The stretches of text that are set."""
        found = [b""]
        for token in self.tokens:
            if token is None:
                found.append(b"")
            else:
                found[-1] += self.vocabulary.tokens[token] or b""
        return [text.decode("utf-8", "replace") for text in found]

    def _nothing_found(self) -> LimitError:
        return LimitError(
            f"no filling was found for a canvas of {len(self.tokens)} tokens with {len(self.open)} open positions",
            fix="pass a filling that is known, or make the canvas or its holes longer or shorter",
        )


@lru_cache(maxsize=8)
def _candidates(grammar: Grammar, vocabulary: Vocabulary) -> Candidates:
    return Candidates(gap_language(grammar), vocabulary)


@lru_cache(maxsize=2)
def _walks(constraint: Constraint, grammar: Grammar, vocabulary: Vocabulary) -> Walks:
    return Walks(constraint, gap_language(grammar), vocabulary)
