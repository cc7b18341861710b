"""One engine: its vocabulary, and the compiled constraints of its requests.

The idea: what is dear is done when the engine starts. The vocabulary is read, the kernels are loaded (where they are
not compiled yet, that takes a minute once), and common constraints are followed (warm.py), so that no request pays for
what many of them need. Equal constraints are compiled once. A new schema is rehearsed in a thread of its own while the
model reads the prompt (masks/completion/rehearsal.py); where many wait, the rest goes without. A constraint whose image
is there (images.py) is compiled in short steps with long pauses while nobody waits for it: the engine's loop and the
operations of a model need the interpreter, and without the pauses the first token comes when all is compiled.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from itertools import islice
from threading import BoundedSemaphore, Event
from typing import Any

from constrain.engines.requests.constraints import constraint_of, writable
from constrain.engines.requests.image import image_of
from constrain.engines.requests.images import Compiled, Images, Resumed, Served
from constrain.engines.requests.options import EngineOptions
from constrain.engines.requests.vocabulary import vocabulary_of
from constrain.engines.requests.warm import warm_up
from constrain.errors import ConstrainError
from constrain.languages.constraints.base import refuse_tempered
from constrain.languages.cuts import CanonicalTokens, canonical_tokens
from constrain.languages.cuts.canonical import CutState
from constrain.languages.schema.recent import Recent
from constrain.languages.vocab.longest import LongestTokens
from constrain.limits import UNLIMITED
from constrain.masks.completion.rehearsal import CHARACTERS, rehearse
from constrain.masks.completion.spelled import spelled
from constrain.masks.derived.wanted_cuts import ALL, kind_of
from constrain.masks.engine.compiled import CompiledConstraint, compile_bytewise

PAUSES, LONGEST = 9, 0.05  # of what nobody waits for: a pause takes so many times as long as its step; seconds at most
WAITING = 16  # schemas that are rehearsed or wait for it; a request that has begun needs it less


class RequestCompiler:
    """Compiles the constraints of one engine's requests. Threads may share it.

    Args:
        tokenizer: The engine's tokenizer.
        vocab_size: V, the width of the model's logits.
        options: How constraints are read.
        eos_ids: Further ids that end a text, as the model's configuration says.
        resumes: Whether a constraint whose image is there is `Resumed`.

    Raises:
        VocabularyError: The tokens have no bytes of their own, or no id ends a text.
        ConstrainError: Canonical tokens are asked for, and not possible.

    Attributes:
        vocabulary (Vocabulary): The bytes of the tokens.
        cuts (str): "forced": where the text is forced, tokens that the tokenizer itself would write; "canonical": these
            everywhere; or "all", and why.
        compiled: (kind, text) → a compiled constraint, as `constraint_of` reads them; the last ones are kept.
        images (Images): Constraints on disk: of `constrain warmup`, and of what was served (`keep_served`).
    """

    def __init__(
        self, tokenizer: Any, vocab_size: int, options: EngineOptions, eos_ids: Iterable[int] = (), *,
        resumes: bool = True,
    ) -> None:  # fmt: skip
        self.options = options
        self.vocabulary = vocabulary_of(tokenizer, vocab_size, eos_ids)
        self.compiled = Recent(self._compile, options.cached)
        tokens = ALL if options.canonical is False else canonical_tokens(tokenizer, self.vocabulary)
        self._canonical = tokens if isinstance(tokens, CanonicalTokens) else None
        self._kind = kind_of(options.canonical)
        self.cuts = self._kind.identity if self._canonical else ALL if tokens == ALL else f"{ALL}: {tokens}"
        if options.canonical and self._canonical is None:
            raise ConstrainError(
                f"canonical tokens are not possible: {tokens}", place="the option canonical", fix="leave it out"
            )
        self.images = Images(self.vocabulary, options if resumes else replace(options, images=0), self._cut)
        self.images.load()
        warm_up(self.vocabulary, options, self._narrowed)
        self._beside = ThreadPoolExecutor(1, "constrain-rehearsal")  # its thread starts with the first new schema
        self._waiting = BoundedSemaphore(WAITING)
        self._resuming = ThreadPoolExecutor(1, "constrain-resuming")  # with the first image
        self._is_closed = Event()

    def close(self) -> None:
        """Begin, and go on with, no constraint that nobody waits for: the engine ends."""
        self._is_closed.set()
        self._resuming.shutdown(wait=False, cancel_futures=True)

    def _compile(self, kind: str, text: str) -> Compiled | Resumed:
        make = partial(self._make, kind, text)
        image = self.images.get(kind, text)
        if image is None:
            return make()
        is_wanted = Event()
        return Resumed(image, self._resuming.submit(self._gently, make, is_wanted), make, is_wanted)

    def _gently(self, make: Callable[[], Compiled], is_wanted: Event) -> Compiled:
        """Call a function, which pauses at each look at its limits until its result is wanted."""
        begun = time.perf_counter()

        def pause() -> bool:
            nonlocal begun
            is_wanted.wait(min(PAUSES * (time.perf_counter() - begun), LONGEST))
            begun = time.perf_counter()
            return self._is_closed.is_set()

        with replace(UNLIMITED, cancelled=pause):
            return make()

    def _make(self, kind: str, text: str) -> Compiled:
        constraint = constraint_of(kind, text, self.options)
        bytewise = compile_bytewise(writable(constraint, self.vocabulary, self.options), self.vocabulary)
        compiled = spelled(bytewise, text if kind == "json" else None)
        refuse_tempered(compiled, "the engine")
        made = self._narrowed(compiled)
        if self.options.rehearse and self._waiting.acquire(blocking=False):
            rehearsal = self._beside.submit(rehearse, made, tokens=self.options.rehearse)
            rehearsal.add_done_callback(lambda _: self._waiting.release())
        if self.images.folder is not None and self.options.keep_served:
            compiled.derived[Served] = Served(lambda texts: self._beside.submit(self.keep, kind, text, texts, made))
        return made

    def keep(self, kind: str, text: str, texts: Iterable[Sequence[int]] = (), made: Compiled | None = None) -> bool:
        """Write the image of a constraint: of some texts, of a likely one, and of what was kept before.

        Args:
            kind, text: As `constraint_of` reads them.
            texts: The tokens of each.
            made: It, compiled.

        Returns:
            Whether it was written. One that names tokens has none: what a token is read as does not follow from bytes.

        Raises:
            ConstrainError: The constraint is faulty.
        """
        compiled, known = self._make(kind, text) if made is None else made, self.images.get(kind, text)
        if compiled.constraint is None or compiled.constraint.token_sets:
            return False
        kept = [] if known is None else known.texts()
        return self.images.write(kind, text, image_of(compiled, [*texts, self._likely(compiled), *kept], self._cut))

    def _likely(self, compiled: Any) -> list[int]:
        """The tokens of a likely text, as a rehearsal reads them."""
        tokens = self.options.rehearse
        text = compiled.constraint.likely_text(tokens * CHARACTERS).encode()
        return [*islice(LongestTokens.of(self.vocabulary).read(compiled.matcher(), text), tokens)]

    def _cut(self, tokens: list[int]) -> CutState | None:
        """The cut of a text; None: cuts do not count."""
        canonical = self._canonical
        return None if canonical is None else canonical.firsts.after(canonical.start, tokens)

    def _narrowed(self, compiled: CompiledConstraint) -> Compiled:
        return compiled if self._canonical is None else self._kind.of(compiled, self._canonical)
