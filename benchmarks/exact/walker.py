"""An engine in its process, and what a score asks of it: masks along texts, a walk, the end of a text."""

from __future__ import annotations

import base64
import random
import time
import zlib
from typing import Any

import numpy as np

from masks.interface import CompileError, NothingFulfilsError, is_set
from masks.limits import TimeLimitError, time_limit
from masks.vocabularies import BenchVocabulary

LONGEST = 120  # tokens of the end of a text
CLOSING = (b"}", b"]", b'"', b":", b"e", b"l", b"u", b",")
STRUCTURE = frozenset(b'{}[]",:-0123456789 ')


def packed(row: np.ndarray) -> str:
    """A mask as text. row: uint32[W]."""
    return base64.b64encode(zlib.compress(row.tobytes(), 1)).decode()


def unpacked(text: str, size: int) -> np.ndarray:
    """The mask that `packed` wrote: bool[size]."""
    row = np.frombuffer(zlib.decompress(base64.b64decode(text)), np.uint8)
    return np.unpackbits(row, bitorder="little")[:size].astype(np.bool_)


class Walker:
    """An engine, and what it is asked."""

    def __init__(self, engine: Any, vocabulary: BenchVocabulary) -> None:
        """engine: of masks.engines."""
        self.engine = engine
        self.tokens, self.eos_id = vocabulary.tokens, vocabulary.eos_id
        self.plain = np.array([i for i, t in enumerate(self.tokens) if t and t.strip()])  # not blank
        of_structure = np.array([t is not None and STRUCTURE.issuperset(t) for t in self.tokens])
        self.structure = self.plain[of_structure[self.plain]]
        single = {t: i for i, t in reversed(list(enumerate(self.tokens))) if t and len(t) == 1}
        self.closing = [single[each] for each in CLOSING]
        self.single = [i for t, i in single.items() if t.strip()]

    def answer(self, request: dict[str, Any], limit: float) -> dict[str, Any]:
        """The answer to a request, with CPU seconds, or an error."""
        begin = time.process_time()
        kind, given = next(iter(request.items()))
        try:
            with time_limit(limit):
                found = getattr(self, kind)(given)
        except CompileError as error:
            found = {"error": "empty" if isinstance(error, NothingFulfilsError) else "compile", "message": str(error)}
        except TimeLimitError:
            found = {"error": "timeout", "message": f"over {limit:g} s"}
        except MemoryError:
            found = {"error": "memory", "message": "more memory than it may have"}
        except Exception as error:  # whatever an engine raises is a finding, not the end of the run
            found = {"error": "fault", "message": f"{type(error).__name__}: {error}"}
        return {**found, "seconds": time.process_time() - begin}

    def schema(self, schema: Any) -> dict[str, Any]:
        """Compile."""
        self.engine.compile(schema)
        self.engine.start()
        self.engine.mask()
        return {}

    def walks(self, walks: list[list[int]]) -> dict[str, Any]:
        """The masks before each token, as far as the engine goes, and the one behind them."""
        found = []
        for walk in walks:
            masks: list[str] = []
            self.engine.start()
            for token in [*walk, None]:
                self.engine.mask()
                masks.append(packed(self.engine.row))
                if token is None or not is_set(self.engine.row, token):
                    break
                if not self.engine.advance(token):
                    raise RuntimeError(f"the mask allows token {token}, but committing it fails")
            found.append(masks)
        return {"masks": found}

    def _allowed(self, some: Any) -> Any:
        bits = np.unpackbits(self.engine.row.view(np.uint8), bitorder="little")
        return some[bits[some] == 1]

    def adverse(self, given: list[Any]) -> dict[str, Any]:
        """A walk by the engine's own masks, drawn without a model."""
        seed, count = given
        rng, walk = random.Random(seed), list[int]()
        self.engine.start()
        for _ in range(count):
            self.engine.mask()
            every, structure = self._allowed(self.plain), self._allowed(self.structure)
            some = structure if len(structure) and rng.random() < 0.6 else every
            if not len(some):
                break
            walk.append(int(some[rng.randrange(len(some))]))
            if not self.engine.advance(walk[-1]):
                raise RuntimeError(f"the mask allows token {walk[-1]}, but committing it fails")
        return {"walk": walk}

    def finish(self, walk: list[int]) -> dict[str, Any]:
        """A text that begins so and ends soon: {"walk": its tokens}; None, where none was found."""
        rng = random.Random(len(walk))
        self.engine.start()
        for token in walk:
            self.engine.mask()
            if not is_set(self.engine.row, token) or not self.engine.advance(token):
                return {"walk": None}
        found = list(walk)
        while len(found) < len(walk) + LONGEST:
            self.engine.mask()
            if is_set(self.engine.row, self.eos_id):
                return {"walk": found}
            some = [i for i in self.closing if is_set(self.engine.row, i)][:1]
            some = some or [i for i in self.single if is_set(self.engine.row, i)] or self._allowed(self.plain).tolist()
            if not some or not self.engine.advance(token := int(rng.choice(some))):
                break
            found.append(token)
        return {"walk": None}
