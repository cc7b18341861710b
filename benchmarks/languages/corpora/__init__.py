"""Texts to measure grammars on: one module a grammar, named as the grammar is (`-` becomes `_`).

A module has one function

    texts(random: Random, limit: int) -> Iterator[tuple[str, bytes]]

which gives at most about `limit` (name, text) pairs: texts that are found on this machine, whatever it has, and then
texts that a generator writes. Whether a text is a member is for the oracle to say (`gather`); a text of which the
oracle thinks otherwise is counted, and left out. Nothing is downloaded and nothing is kept.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Iterator
from fnmatch import fnmatch
from functools import cache
from pathlib import Path
from random import Random

from constrain.cli.grammar_examples import read_examples
from constrain.languages.collection import GrammarFolder
from languages.oracles import Oracle

LARGEST = 100_000  # bytes; longer texts are left out, so that a run looks at many
ROOTS = ("/usr", "/opt", sys.prefix)  # where files are looked for; and in the folders that $CONSTRAIN_CORPORA lists

Text = tuple[str, bytes]


def gather(
    folder: GrammarFolder, oracle: Oracle | None, *, corpus: Path | None, seed: int, limit: int
) -> tuple[list[Text], int]:
    """(texts that are members by the oracle, number of texts that it refused).

    corpus: a folder of texts to take instead; those with the suffix that the grammar's settings name.
    """
    random = Random(seed)
    found = _of_folder(corpus, folder.settings.get("suffix", "")) if corpus else _of_module(folder, random, limit)
    kept: list[Text] = []
    refused = 0
    for name, text in found:
        if len(kept) >= limit:
            break
        if not 0 < len(text) <= LARGEST:
            continue
        if oracle is None or oracle(text):
            kept.append((_short(name), text))
        else:
            refused += 1
    return kept, refused


def _short(name: str) -> str:
    """A file's name without the place where this machine keeps it."""
    return "/".join(name.split("/")[-3:]) if name.startswith("/") else name


def _of_folder(corpus: Path, suffix: str) -> Iterator[Text]:
    for path in sorted(corpus.rglob(f"*{suffix}")):
        if path.is_file():
            yield path.relative_to(corpus).as_posix(), path.read_bytes()


def _of_module(folder: GrammarFolder, random: Random, limit: int) -> Iterator[Text]:
    name = f"languages.corpora.{folder.name.replace('-', '_')}"
    try:
        module = importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name:
            raise
        for example in read_examples(folder.path / "accept", True):  # a grammar without a corpus has its examples
            yield example.name, example.text
        return
    yield from module.texts(random, limit)


def files(pattern: str, random: Random) -> list[Path]:
    """The files of this machine whose name fits the pattern, shuffled."""
    found = [Path(path) for path in _machine() if fnmatch(os.path.basename(path), pattern)]
    random.shuffle(found)
    return found


@cache
def _machine() -> list[str]:
    """All files below `ROOTS` and the given folders, each once, sorted."""
    found = set()
    given = os.environ.get("CONSTRAIN_CORPORA", "").split(os.pathsep)
    for root in (*ROOTS, *filter(None, given)):
        for folder, _, names in os.walk(root):
            found.update(os.path.realpath(os.path.join(folder, name)) for name in names)
    return sorted(path for path in found if os.path.isfile(path))
