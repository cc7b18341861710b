"""One request inside an engine: its matcher, the ids that end it, and its fault if it has one.

The idea: engines ask for the mask of the next token, tell which tokens were sampled, try drafts and take them back.
All of it is a verb of a matcher. What differs are the ids that end a text: a request may have its own. They are offered
exactly where the text is complete, and are refused elsewhere. Tokens after an end are taken as they come.

A request is followed in the engine's only loop, where an exception ends the engine. So a fault of one request (a limit,
a dead end) ends that request: its row allows everything, and the next token is refused, which the engine reports as an
error of the request.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from constrain.engines.requests.image import ImageCursor
from constrain.engines.requests.images import Compiled, Resumed, Served, served_of
from constrain.errors import ConstrainError
from constrain.masks.completion.length_budget import BudgetError, LengthBudget
from constrain.masks.derived.cuts import CompiledCuts

Rows = NDArray[np.uint32]
ALL = np.uint32(0xFFFFFFFF)


class RequestMatcher:
    """The constraint of one request, at the end of what was sampled so far. A fault of it is kept, not raised.

    Args:
        compiled: The compiled constraint, shared with other requests; or its image, while it is compiled beside.
        stop_ids: The ids that end this request's text; none: those of the vocabulary.
        logger: Where faults are reported.

    Attributes:
        here (Matcher | CutsMatcher | ImageCursor): What was read, without the tokens after an end.
        fault: Why the request cannot go on; empty: it can.
    """

    __slots__ = (
        "_after", "_allowed", "_begun", "_budget", "_ends", "_is_limited", "_logger", "_left", "_served", "_stops",
        "_tokens", "compiled", "fault", "here",
    )  # fmt: skip

    def __init__(self, compiled: Compiled | Resumed, stop_ids: Iterable[int], logger: logging.Logger) -> None:
        vocabulary = compiled.vocabulary
        stops = tuple(sorted({i for i in stop_ids if 0 <= i < vocabulary.size}))
        self.compiled = compiled
        self._stops = stops if stops and stops != vocabulary.eos_ids else None  # None: as the vocabulary has them
        self._ends = vocabulary.eos_ids
        self._tokens: list[int] = []  # of the text, and its end
        self._served: Served | None = None  # remembers it for the next start of the engine
        self._logger = logger
        self._budget: LengthBudget | None = None
        self._left: Callable[[], int] | None = None
        self._begun: list[int] = []  # tokens of the text before the first that is sampled
        self._allowed = 0  # a word of the last row in which a token was allowed
        self.reset()

    def reset(self) -> None:
        """Begin anew."""
        compiled = self.compiled
        self._tokens.clear()
        self.here: Any
        if isinstance(compiled, Resumed) and self._stops is None:
            self.here, self._served = ImageCursor(compiled.image), None
        else:
            self.here, self._served = compiled.matcher(eos_ids=self._stops), served_of(compiled)
        self._after, self.fault = 0, ""  # tokens after the end
        self._is_limited = self._left is None
        for token in self._begun:
            self.must_read(token)

    def go_on(self, begun: list[int]) -> None:
        """Begin behind some tokens of the text, which the prompt has. Tokens that are not allowed are a fault."""
        self._begun = begun
        self.reset()

    def end_in_time(self, left: Callable[[], int]) -> None:
        """Keep the text within the tokens that a request has left when its first token is asked for.

        Args:
            left: How many there are, the end included; asked then, since thoughts before the text take some.

        Raises:
            ConstrainError: The text has ends of its own, or no end is known, or so many tokens are too few even now.
        """
        if self._stops is not None:
            raise ConstrainError(
                f"with complete a text ends with the model's own ids, not with {list(self._stops)}",
                place="stop_token_ids",
                fix="leave stop_token_ids out, or start the engine without complete",
            )
        own = self.compiled.settled() if isinstance(self.compiled, Resumed) else self.compiled
        compiled = own.compiled if isinstance(own, CompiledCuts) else own
        known = compiled.derived.get(LengthBudget)
        self._budget = known or compiled.derived.setdefault(LengthBudget, LengthBudget(compiled))
        self._budget.matcher(most=left())
        self._left, self._is_limited = left, False

    def _limit(self) -> None:
        """Begin the text under the limit, at its first token."""
        assert self._budget is not None and self._left is not None
        self._is_limited = True
        try:
            limited = self._budget.matcher(most=self._left())
        except BudgetError as error:
            self._logger.warning("constrain: thoughts took the tokens of the text, which will be cut: %s", error)
            return
        self.matcher = self.compiled.matcher(limited) if isinstance(self.compiled, CompiledCuts) else limited

    @property
    def matcher(self) -> Any:
        """The matcher of the compiled constraint, which goes on where an image was read so far. Raises what compiling
        it raises."""
        given = self.compiled
        if isinstance(given, Resumed) and isinstance(self.here, ImageCursor):
            compiled = given.settled()
            matcher = compiled.matcher()
            for token in self._tokens:
                if not matcher.advance(token):
                    raise ConstrainError(f"the image of the request allowed token {token}, and its constraint does not")
            self.here, self._served = matcher, served_of(compiled)
        return self.here

    @matcher.setter
    def matcher(self, matcher: Any) -> None:
        self.here = matcher

    @property
    def ended(self) -> bool:
        """True if an id that ends the text was read."""
        ended: bool = self.here.ended
        return ended

    def read(self, token: int) -> bool:
        """Read a token. False: it is not allowed, or the request has a fault."""
        if self.fault:
            return False
        try:
            if not self._is_limited:
                self._limit()
            taken = self.here.advance(token)
            if taken is None:  # the image does not know
                taken = self.matcher.advance(token)
            if taken:
                self._tokens.append(token)
                if token in self._ends and self._served is not None and self._stops is None:
                    self._served.note(self._tokens)
                return True
        except Exception as error:
            if not self.ended:
                self.catch(error)
        if not self.ended:  # PERF: asked where a token was refused, as all are behind an end
            return False
        self._after += 1
        return True

    def must_read(self, token: int) -> bool:
        """Read a token that was sampled: if it is not allowed, that is the fault of the request."""
        if self.read(token):
            return True
        self.fault = self.fault or f"token {token} is not allowed after {self.here.text[-40:]!r}"
        return False

    def rollback(self, n_tokens: int) -> None:
        """Take back the last tokens that were read."""
        after = min(self._after, n_tokens)
        self._after -= after
        if after < n_tokens:
            self.here.rollback(n_tokens - after)
            del self._tokens[after - n_tokens :]

    def fill(self, row: Rows) -> None:
        """Write the mask of the next token, uint32[>= ceil(V / 32)]."""
        if self.fault:
            row[:] = ALL
            return
        try:
            if not self._is_limited:
                self._limit()
            self.here.fill_mask(row)
            self.check(row)
        except Exception as error:
            self.catch(error)
            row[:] = ALL

    def check(self, row: Rows) -> None:
        """Let a mask that was filled, and allows nothing, allow everything, as behind an end; else it is a dead end."""
        if self._allowed < len(row) and row[self._allowed]:  # PERF: most often; `argmax` reads the whole row
            return
        self._allowed = int(row.argmax())
        if not row[self._allowed]:
            if not self.ended:
                self.fault = f"no token is allowed after {self.here.text[-40:]!r}: a dead end"
            row[:] = ALL

    def catch(self, error: Exception) -> None:
        """A fault of this request, or of ours, ends the request and not the engine."""
        self.fault = self.fault or str(error)
        if isinstance(error, ConstrainError):
            self._logger.error("constrain: a request ends: %s", error)
        else:
            self._logger.error("constrain: a request ends by a fault of the backend; please report it", exc_info=error)
