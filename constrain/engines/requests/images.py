"""Images: what an engine's constraints met, on disk, so that after a restart the first masks wait for no compiling.

The idea: a file is named by a hash of all that its masks depend on: the text of the constraint, the options, the
vocabulary, the tokenizer that cuts texts, and the code. It is written whole or not at all, mapped where it is read, so
that several processes share its pages, and has a digest of the name and the content: what is torn, damaged, of another
constraint, tokenizer, version or machine is ignored, with a line in the log, and written anew. A file that others may
have written is not opened (constrain/files.py). Without a folder for caches, or where nothing can be written, there are
no images, and requests are compiled as ever.

    8 bytes FORMAT · 32 bytes digest of what follows · 32 bytes key · int64[2] numbers of nodes n and of rows k
    int32[6, n] nodes · uint32[k, words] rows

Written: by `constrain warmup`; and, if the engine's option `keep_served` asks for it, since it puts what users wrote
on a disk, texts of constraints that are served for the second, fourth and eighth time, by a thread beside the loop.
Kept: the last ones that were written or used, up to a bound in bytes.
"""

from __future__ import annotations

import hashlib
import logging
import os
import sys
import time
import unicodedata
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from threading import Event
from typing import Any

import numpy as np

from constrain import files
from constrain.engines.requests.image import Cut, Image, Nodes
from constrain.engines.requests.options import EngineOptions
from constrain.languages.vocab import disk_cache
from constrain.languages.vocab.huggingface import backend_of, model_key
from constrain.languages.vocab.vocabulary import Vocabulary
from constrain.lazily import Remembered
from constrain.masks.derived.cuts import CompiledCuts
from constrain.masks.engine.compiled import CompiledConstraint

FORMAT = b"states 1"
DIGEST, NAMED, COUNTS, BEGIN = 8, 40, 72, 88  # where they begin
SETTLED = 2_000_000_000  # ns after which a folder's time says whether it has changed; the coarsest clocks tick each 2 s
USED = 4096  # images whose files are not marked again as used
PACKAGE = Path(__file__).resolve().parents[2]
TEXTS, TOKENS = 8, 1024  # texts that are remembered, tokens of each
TIMES = 2, 4, 8  # requests after which an image is written
Compiled = CompiledConstraint | CompiledCuts

_log = logging.getLogger(__name__)


class Images:
    """The images of one engine.

    Args:
        vocabulary: That of its masks, with the tokenizer that it was read from.
        options: How its constraints are read, and the megabytes of images that are kept.
        cut: As `Image` has it.

    Attributes:
        folder: Where they are; None: there are none.
    """

    def __init__(self, vocabulary: Vocabulary, options: EngineOptions, cut: Cut | None = None) -> None:
        self.folder = disk_cache.folder() if vocabulary.size >= disk_cache.WORTHWHILE else None
        self._vocabulary, self._cut, self._most = vocabulary, cut, options.images << 20
        self._known: Remembered[str, Image] = Remembered(self._most, lambda _, image: image.rows.nbytes + BEGIN)
        self._used: Remembered[str, None] = Remembered(USED)
        self._there: tuple[int, frozenset[str]] = 0, frozenset()  # when the folder last changed, our files in it
        code, cuts = code_key(), tokenizer_key(vocabulary)
        if not options.images or options.complete or code is None or cuts is None:
            self.folder = None
        read_as = replace(options, keep_served=False)
        self._own = f"{code} {sys.byteorder} {unicodedata.unidata_version} {vocabulary.key} {cuts} {read_as}"
        self._name = f"states-{hashlib.sha256(self._own.encode()).hexdigest()[:16]}"

    def key(self, kind: str, text: str) -> str:
        """A hash of all that the masks of a request depend on."""
        return hashlib.sha256(f"{self._own}\n{kind}\n{text}".encode("utf-8", "surrogatepass")).hexdigest()

    def get(self, kind: str, text: str) -> Image | None:
        """The image of a request; None: there is none."""
        there = self._names()
        if not there and not self._known:  # PERF: most engines, and a hash of each request
            return None
        key = self.key(kind, text)
        if key not in self._known and self._path(key).name in there:
            self._read(self._path(key), key)
        image = self._known.get(key)
        if image is not None and key not in self._used:
            self._used.keep(key, None)
            with suppress(OSError):
                os.utime(self._path(key))
        return image

    def load(self) -> int:
        """Read what was used last, up to the bound. Returns how many there are."""
        left = self._most
        for path, size in self._files(f"{self._name}-*.bin"):
            left -= size
            if left >= 0:
                self._read(path)
        return len(self._known)

    def write(self, kind: str, text: str, image: Image) -> bool:
        """Write an image, if that is possible; files that were used longest ago go. Returns whether it was."""
        if self.folder is None:
            return False
        key = self.key(kind, text)
        path = self._path(key)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with files.replacing(path) as file:
                file.write(_packed(image, key))
            self._known.pop(key, None)  # the next one to ask for it maps the file
            left = self._most
            for each, size in self._files("states-*.bin"):
                left -= size
                if left < 0 and each != path:
                    files.remove(each)
        except OSError as error:
            _log.info("could not write the cache file %s: %s", path, error)
            return False
        return True

    def _names(self) -> frozenset[str]:
        """The names of our files, listed anew where the folder has changed: other processes write there, too."""
        if self.folder is None:
            return frozenset()
        try:
            changed = os.stat(self.folder).st_mtime_ns
        except OSError:
            return frozenset()
        if changed != self._there[0]:
            is_settled = time.time_ns() - changed > SETTLED  # else another change may have the same time
            listed = frozenset(path.name for path in self.folder.glob(f"{self._name}-*.bin"))
            self._there = changed if is_settled else 0, listed
        return self._there[1]

    def _path(self, key: str) -> Path:
        assert self.folder is not None
        return self.folder / f"{self._name}-{key[:32]}.bin"

    def _files(self, pattern: str) -> list[tuple[Path, int]]:
        """Files and their sizes, the last used ones first."""
        found = []
        for path in [] if self.folder is None else self.folder.glob(pattern):
            with suppress(OSError):
                status = path.lstat()
                found.append((status.st_mtime_ns, path, status.st_size))
        return [(path, size) for _, path, size in sorted(found, reverse=True)]

    def _read(self, path: Path, key: str | None = None) -> None:
        """Map a file. key: the one that it has to have; None: any."""
        try:
            content = files.map_own(path)
            found, image = _unpacked(content, self._vocabulary, self._cut)
            disk_cache.require(key in (None, found), "another key")
            self._known.keep(found, image)
        except FileNotFoundError:
            return
        except Exception as error:  # a damaged file may have any content
            _log.info("ignored the cache file %s: %s", path, error)


def _packed(image: Image, key: str) -> bytes:
    """The content of a file."""
    nodes = np.stack(image.nodes).astype(np.int32)
    counts = np.array([nodes.shape[1], len(image.rows)], np.int64)
    rest = bytes.fromhex(key) + counts.tobytes() + nodes.tobytes() + image.rows.tobytes()
    return FORMAT + hashlib.sha256(rest).digest() + rest


def _unpacked(content: memoryview, vocabulary: Vocabulary, cut: Cut | None) -> tuple[str, Image]:
    """(key, image) of a file's content, which the image goes on to use. Raises ValueError."""
    disk_cache.require(content[:DIGEST] == FORMAT, "another format")
    disk_cache.require(hashlib.sha256(content[NAMED:]).digest() == content[DIGEST:NAMED], "another digest")
    n, k = np.frombuffer(content[COUNTS:BEGIN], np.int64).tolist()
    nodes = np.frombuffer(content[BEGIN : BEGIN + 24 * n], np.int32).reshape(6, n)
    rows = np.frombuffer(content[BEGIN + 24 * n :], np.uint32).reshape(k, vocabulary.words)
    return content[NAMED:COUNTS].hex(), Image(Nodes(*nodes), rows, vocabulary, cut)


# --- what an image depends on -----------------------------------------------------------------------------------------


@lru_cache(1)
def code_key() -> str | None:
    """A hash of the sources that masks depend on; None: they are not there."""
    folders = [PACKAGE / name for name in ("kernels", "languages", "masks", "chat", "engines/requests")]
    sources = [str(path) for folder in folders for path in sorted(folder.rglob("*.py"))]
    return disk_cache.kind_of("states", *sources)


def tokenizer_key(vocabulary: Vocabulary) -> str | None:
    """A hash of the tokenizer that a vocabulary was read from, as far as it cuts texts; "": there is none; None: it is
    of a kind that is not read here."""
    if vocabulary.tokenizer is None:
        return ""
    backend = backend_of(vocabulary.tokenizer)
    if backend is None or not hasattr(backend, "get_added_tokens_decoder"):
        return None
    digest = hashlib.sha256((vocabulary.model_key or model_key(backend)).encode())
    for part in (backend.normalizer, backend.pre_tokenizer, backend.decoder):
        digest.update(b"|" if part is None else part.__getstate__())
    for token_id, token in sorted(backend.get_added_tokens_decoder().items()):
        digest.update(f"{token_id} {token!r}".encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


# --- the texts of requests --------------------------------------------------------------------------------------------


class Served:
    """The texts of requests of one constraint, which become its image. Made by a `RequestCompiler`.

    Args:
        write: Writes the image of texts, in another thread.
    """

    def __init__(self, write: Callable[[list[Sequence[int]]], object]) -> None:
        self._write = write
        self._texts: deque[tuple[int, ...]] = deque(maxlen=TEXTS)
        self._count = 0

    def note(self, tokens: Sequence[int]) -> None:
        """Remember the text of a request that has ended."""
        self._count += 1
        if self._count <= TIMES[-1]:
            self._texts.append(tuple(tokens[:TOKENS]))
        if self._count in TIMES:
            self._write([*self._texts])


def served_of(compiled: Any) -> Served | None:
    """The memory of the texts of a compiled constraint; None: it has none."""
    inner = compiled.compiled if isinstance(compiled, CompiledCuts) else compiled
    found: Served | None = inner.derived.get(Served) if isinstance(inner, CompiledConstraint) else None
    return found


class Resumed:
    """A constraint whose image is there, while it is compiled beside the loop.

    Args:
        image: Its image.
        beside: What compiles it.
        make: Compiles it here, where that has not begun.
        is_wanted: Is set where somebody waits for it.

    What is asked of it as of a compiled constraint, it asks that one, and waits for it.
    """

    def __init__(self, image: Image, beside: Future[Compiled], make: Callable[[], Compiled], is_wanted: Event) -> None:
        self.image, self._beside, self._make, self._is_wanted = image, beside, make, is_wanted
        self.vocabulary = image.vocabulary
        self._made: Compiled | None = None

    def settled(self) -> Compiled:
        """The compiled constraint. Raises what compiling it raises."""
        if self._made is None:
            self._is_wanted.set()
            self._made = self._make() if self._beside.cancel() else self._beside.result()
        return self._made

    def __getattr__(self, name: str) -> Any:
        return getattr(self.settled(), name)
