"""Narrowed: a matcher around a matcher, which allows fewer tokens.

The idea: `generate` asks a stack of matchers. The engine's own is inside; each layer around it refuses some of the
tokens that the one inside allows: where text is forced, tokens that are not the tokenizer's own (masks/derived); tokens
after which the budget is too small (masks/completion); tokens that do not heal the prompt (generation/healing.py). A
layer says its mask (`fill_mask`), which token it reads (`advance`), and what it keeps for each token (`rollback`,
`fork`). Every other question is passed on to the matcher inside, here and nowhere else.

What concerns the grammar, and not the tokens that count, is asked of the engine's matcher: `engine_of`. A matcher of
another make has the methods of `constrain.sampling.core.job.TokenMatcher`, and no engine's matcher is inside of it.
Cost: a call of Python for each question that is passed on. Masks and tokens of a layer are its own methods, and pay
nothing.
"""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Iterable, Sequence
from typing import Any, ClassVar

import numpy as np

from constrain.languages.constraints.refusal import Refusal
from constrain.masks.engine.batch import fill_masks
from constrain.masks.engine.matcher import MAX_FORCED, Matcher
from constrain.masks.engine.rows import Row, Rows


class Narrowed:
    """A matcher that allows some of the tokens of another one. A subclass says which.

    Attributes:
        inner: The matcher that this one narrows: of the engine, narrowed itself, or of another make.
        layer: What refuses tokens here, as `explain` names it.
    """

    __slots__ = ("inner",)

    layer: ClassVar[str]

    def __init__(self, inner: Any) -> None:
        self.inner = inner

    # -- said by each layer --------------------------------------------------------------------------------------------

    def fill_mask(self, row: Row) -> None:
        """Write the mask of the tokens that may come next, as `Matcher.fill_mask` does."""
        raise NotImplementedError

    def advance(self, token_id: int) -> bool:
        """Read a token. Returns False, and stays where it is, if it may not come next."""
        raise NotImplementedError

    def fork(self) -> Any:
        """An independent matcher at the same place."""
        raise NotImplementedError

    def rollback(self, n_tokens: int) -> None:
        """Take back the last n tokens."""
        self.inner.rollback(n_tokens)

    def because(self, token_id: int) -> str:
        """Say in one sentence why this layer refuses a token that the one inside allows."""
        raise NotImplementedError

    def at_this_place(self) -> Any:
        """The matcher that decides about the next token: this one, or the one inside where this layer refuses none."""
        return self

    # -- follows from these --------------------------------------------------------------------------------------------

    def mask(self) -> Row:
        """uint32[words]: the mask of the tokens that may come next."""
        engine = engine_of(self)
        assert engine is not None, "of a matcher of another make the size of a mask is not known"
        row = np.zeros(engine.compiled.vocabulary.words, np.uint32)
        self.fill_mask(row)
        return row

    def allows(self, token_id: int) -> bool:
        """True if the token may come next."""
        if not self.advance(token_id):
            return False
        self.rollback(1)
        return True

    def advance_tokens(self, token_ids: Iterable[int]) -> int:
        """Read tokens up to the first that is not allowed. Returns how many were read."""
        return sum(1 for _ in itertools.takewhile(self.advance, token_ids))

    def explain(self, given: int | str | bytes) -> Refusal | None:
        """Say which layer refuses a token or a text, as `Matcher.explain`."""
        from constrain.masks.engine.layers import explained

        return explained(self, given)

    def refused_inside(self, token_id: int) -> Refusal | None:
        """The reason why a layer inside refuses a token; None: all of them allow it."""
        from constrain.masks.engine.layers import refusal_of

        return refusal_of(self.inner, token_id)

    # -- passed on -----------------------------------------------------------------------------------------------------

    @property
    def state(self) -> Hashable:
        """A hashable state: equal states allow the same continuations."""
        state: Hashable = self.inner.state
        return state

    @property
    def text(self) -> bytes:
        """The bytes that were read so far."""
        text: bytes = self.inner.text
        return text

    @property
    def ended(self) -> bool:
        """True if an id that ends the text was read."""
        ended: bool = self.inner.ended
        return ended

    @property
    def fault(self) -> str | None:
        """The fault that the constraint's check finds in the text so far; see `Matcher.fault`."""
        fault: str | None = self.inner.fault
        return fault

    def is_accepting(self) -> bool:
        """True if the text so far is in the language and may end here."""
        return bool(self.inner.is_accepting())

    def is_finished(self) -> bool:
        """True if an EOS was read, or an EOS can follow and nothing else."""
        return bool(self.inner.is_finished())

    def forced_tokens(self) -> list[int]:
        """The tokens that the constraint forces; not what only a layer around it forces."""
        return list(self.inner.forced_tokens())

    def forced_bytes(self, most: int = MAX_FORCED) -> bytes:
        """The bytes that must follow, as `Matcher.forced_bytes`."""
        return self.forced_end(most)[0]

    def forced_end(self, most: int = MAX_FORCED) -> tuple[bytes, bool]:
        """The bytes that must follow, and False where it is known that something follows them."""
        found: tuple[bytes, bool] = self.inner.forced_end(most)
        return found

    def forcing(self, *texts: Any) -> int:
        """Say what restricts the next token, as `Matcher.forcing` does."""
        return int(self.inner.forcing(*texts))


def fill_narrowed(matchers: Sequence[Any], out: Rows, rows: Sequence[int] | None = None) -> None:
    """Write the masks of a batch, as `fill_masks` does: in one call those where the engine's matcher decides."""
    numbers = range(len(matchers)) if rows is None else rows
    deciding = [each.at_this_place() if isinstance(each, Narrowed) else each for each in matchers]
    plain = [place for place, each in enumerate(deciding) if isinstance(each, Matcher)]
    fill_masks([deciding[place] for place in plain], out, rows=[numbers[place] for place in plain])
    for place in set(range(len(matchers))).difference(plain):
        matchers[place].fill_mask(out[numbers[place]])


def engine_of(matcher: Any) -> Matcher | None:
    """The engine's matcher inside of all layers; None for matchers of another make, or none."""
    while isinstance(matcher, Narrowed):
        matcher = matcher.inner
    return matcher if isinstance(matcher, Matcher) else None
