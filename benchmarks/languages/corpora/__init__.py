"""Texts to measure grammars on: files of this machine with the suffix of the grammar, then texts that rules write.

`<grammar>.toml` has the rules (writing.py); `files`: more patterns of names, `without`: what no file may have in it,
`split`: what stands between the texts of a file, `known`: more texts, `gaps`: what a blank of a written text may
become, `cases`: its words in either case. A module of the grammar's name has `texts(random, limit)` in place of files.
Where all of these are too few, the examples of the grammar follow.

Whether a text is a member is for the oracle to say (`gather`); a text of which the oracle thinks otherwise is counted,
and left out. Nothing is downloaded and nothing is kept.
"""

from __future__ import annotations

import importlib
import os
import re
import sys
from collections.abc import Iterator
from fnmatch import fnmatch
from functools import cache
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any

from constrain.cli.grammar_examples import read_examples
from constrain.languages.collection import GrammarFolder
from languages.corpora.writing import Writer, read_table
from languages.oracles import Oracle

LARGEST = 100_000  # bytes; longer texts are left out, so that a run looks at many
HERE = Path(__file__).parent
# Where files are looked for; and in the folders that $CONSTRAIN_CORPORA lists.
ROOTS = (str(HERE.parents[2] / "grammars"), "/usr", "/opt", sys.prefix)

Text = tuple[str, bytes]


def gather(
    folder: GrammarFolder, oracle: Oracle | None, *, corpus: Path | None, seed: int, limit: int
) -> tuple[list[Text], int]:
    """(texts that are members by the oracle, number of texts that it refused).

    corpus: a folder of texts to take instead; those with the suffix that the grammar's settings name.
    """
    random = Random(seed)
    found = _of_folder(corpus, folder.settings.get("suffix", "")) if corpus else _texts(folder, random, limit)
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


def _texts(folder: GrammarFolder, random: Random, limit: int) -> Iterator[Text]:
    """Files, half of the texts where rules write the others; what is known; what is written, more than is wanted."""
    path, code = (HERE / f"{folder.name}{suffix}" for suffix in (".toml", ".py"))
    table = read_table(path) if path.exists() else {}
    rules = table.get("rules")
    found = _of_module(folder.name, random, limit) if code.exists() else _of_files(folder, table, random)
    yield from islice(found, limit // 2 if rules else None)
    for known in table.get("known", ()):
        yield known, known.encode()
    writer = Writer(rules, random) if rules else None
    for index in range(2 * limit if writer else 0):
        yield f"written {index}", _spread(writer.text(), table, random).encode()
    for example in read_examples(folder.path / "accept", True):
        yield example.name, example.text


def _of_module(name: str, random: Random, limit: int) -> Iterator[Text]:
    yield from importlib.import_module(f"languages.corpora.{name}").texts(random, limit)


def _of_files(folder: GrammarFolder, table: dict[str, Any], random: Random) -> Iterator[Text]:
    suffix = folder.settings.get("suffix") if folder.settings.get("oracle") else None  # who tells
    patterns = ([f"*{suffix}"] if suffix else []) + table.get("files", [])
    for path in (path for pattern in patterns for path in files(pattern, random)):
        text = path.read_bytes().removeprefix(b"\xef\xbb\xbf")
        if "without" in table and table["without"].encode() in text:
            continue
        parts = text.split(table["split"].encode())[:20] if "split" in table else [text]
        yield from ((path.as_posix(), part.strip() if len(parts) > 1 else part) for part in parts)


def _spread(text: str, table: dict[str, Any], random: Random) -> str:
    """A written text, its words in either case and its blanks as the table says."""
    words = text.split(" ") if "gaps" in table else [text]
    if table.get("cases"):
        words = [word.upper() if re.fullmatch("[A-Za-z]+", word) and random.random() < 0.5 else word for word in words]
    return words[0] + "".join(random.choice(table["gaps"]) + word for word in words[1:])


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
