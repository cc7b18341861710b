"""`Delayed`: keys and values of tokens that were set are kept from step to step of diffusion (dKV-Cache).

Measured on the model of `scripts/train_diffusion.py` (32 texts, one token a step): all read again every four calls, a
third fewer positions are read and 30 texts stay what they are, 31 are right; every eight calls 12 stay, 25 are right.
A small model's time hardly depends on positions (1.55 CPU seconds for 1.71): does not pay there (record
2026-11-28-papers).

Paper: Ma, Yu, Fang and Wang 2025, "dKV-Cache: the cache for diffusion language models", arXiv 2505.15781, its variant
Decode. Attention that sees all positions changes every key and value with each token that is set, so none is exact for
long; those of a masked position change most, when its token is set, and little after. So a position is read as long as
it is masked and in `delay` calls more, the first with its token; from then on its keys and values are those of the last
of these, and every `refresh` calls all positions are read. Their other variant, Greedy, reads a window around the
position that is set next, which `denoise` does not know before it has the logits.

Distribution: of tokens, that of a model whose logits depend on how the text came about; with `refresh=1` of the model
itself. Every text is a member, as of any model. Cost: positions that are read, instead of all of them; keys and values
of one text. Limit: a model that says how it reads some positions (`PlacesReader`: the one of
`scripts/train_diffusion.py`), one text at a time, so no `drafts`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from constrain.papers.diffusion.models import MaskedDiffusion
from constrain.sampling.core.sampler import check_count


class PlacesReader(MaskedDiffusion, Protocol):
    """A masked-diffusion model that reads some positions of a text, and remembers the others."""

    def logits_at(self, tokens: Sequence[int], places: Sequence[int], memory: dict[Any, Any]) -> NDArray[np.float32]:
        """The logits at some positions of a text: float32[len(places), len(vocabulary)].

        memory: Keys and values of all positions, where they were last read; those of the places are made anew, and the
            others are taken as they are. Empty: all positions are asked for.
        """


class Delayed:
    """A masked-diffusion model with a memory; see the module `constrain.papers.diffusion.delayed`.

    Args:
        model: The model.
        refresh: After how many calls all positions are read again; 1: at every call.
        delay: Calls in which a position is read after its token was set.

    Attributes:
        calls, places: How often it was called, and positions that were read for that.

    Raises:
        ConstrainError: An option is no int of at least 1.

    Example:
        >>> import numpy as np
        >>> import constrain
        >>> from constrain.papers.diffusion import denoise
        >>> from constrain.papers.diffusion.delayed import Delayed
        >>> class Indifferent:
        ...     vocabulary = constrain.Vocabulary([b"a", b"b", b"-", None, None], eos_ids=[3])
        ...     mask_id = 4
        ...     def logits_at(self, tokens, places, memory):
        ...         return np.zeros((len(places), 5), np.float32)
        >>> model = Delayed(Indifferent())
        >>> denoise(model, constrain.regex("a-b|b-a"), tokens=[None, None, 0], seed=1).text
        'b-a'
        >>> model.calls, model.places
        (2, 5)
    """

    def __init__(self, model: PlacesReader, *, refresh: int = 8, delay: int = 1) -> None:
        self.model, self.vocabulary, self.mask_id = model, model.vocabulary, model.mask_id
        self.refresh, self.delay = check_count("refresh", refresh), check_count("delay", delay)
        self.calls = self.places = 0
        self._text: list[int] = []

    def logits(self, tokens: Sequence[int]) -> NDArray[np.float32]:
        """The logits at each position; where one was not read, those of the last time."""
        text = list(tokens)
        if not self._goes_on(text):
            self._memory: dict[Any, Any] = {}
            self._ages = [0] * len(text)
            self._since = 0
        whole = self._since % self.refresh == 0
        read = [i for i, token in enumerate(text) if whole or token == self.mask_id or self._ages[i] < self.delay]
        found = self.model.logits_at(text, read, self._memory)
        if whole:
            self._rows = found.copy()
        else:
            self._rows[read] = found
        for i in read:
            self._ages[i] += text[i] != self.mask_id
        self._text, self._since = text, self._since + 1
        self.calls, self.places = self.calls + 1, self.places + len(read)
        return self._rows.copy()

    def _goes_on(self, text: list[int]) -> bool:
        """True if a text is the last one with more tokens set."""
        pairs = zip(self._text, text, strict=False)
        return len(text) == len(self._text) and text != self._text and all(a in (b, self.mask_id) for a, b in pairs)
