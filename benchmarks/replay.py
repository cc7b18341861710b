"""Replay: texts that are members, opened entirely and set again in random orders. Is every step accepted?

    python benchmarks/replay.py [--grammars json c ...] [--texts 63] [--longest 60] [--files FOLDER ...]
        [--vocabulary tokenizer.model] [--record DIR]

The texts are parts of files below `--files`, one a file, by their extension; then those of `grammars/*/accept`. A part
begins with a random line (in JSON: it is a random array or object), is of a limited length, ends with a line or a
statement, and is a member; nine places of a file are tried. A position is a byte;
with `--vocabulary`, also JSON by tokens of tiktoken's form.
Four things are checked, and a fault of one is counted, not hidden:
    steps        each byte of the text, in random order, has to be allowed, and the finished canvas to be the text
    monotone     what a mask of an open position refuses stays refused (each `EVERY`-th step)
    masks        with everything else set, the mask has exactly the bytes with which the text is a member
    engine       with all before it set and any text behind it, a byte has the mask of the ordinary engine
The grammars are read with the dynamic lexer, as gaps read them (note 0022).
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import constrain
from constrain.cfg.rules import Grammar
from constrain.constraints.base import Constraint
from constrain.derived.members import byte_matcher, is_member
from constrain.gaps.canvas import Canvas
from constrain.gaps.pattern import Layer
from constrain.gaps.projection import gap_language
from constrain.gaps.token_classes import TokenClasses

GRAMMARS = ["json", "toml", "xml", "csv", "sql", "c", "javascript", "java", "go", "graphql"]
EXTENSIONS = {
    "json": (".json",), "javascript": (".js",), "sql": (".sql",), "toml": (".toml",), "xml": (".xml",),
    "csv": (".csv",), "c": (".c", ".h"), "java": (".java",), "go": (".go",), "graphql": (".graphql",),
}  # fmt: skip
EVERY = 8
TRIED = 6  # beginnings of one file
BYTES = constrain.Vocabulary.of_bytes()


@dataclass(frozen=True)
class Dynamic(Constraint):
    """A constraint under the dynamic lexer."""

    inner: Constraint

    def _build(self) -> Grammar:
        return self.inner.as_dynamic()


def texts(folder: Any, files: list[Path], longest: int, rng: random.Random) -> Iterator[tuple[str, bool]]:
    """Different members of a limited length, and whether they are of `files`."""
    found = []
    for path in sorted((Path(folder.path) / "accept").iterdir()):
        content = path.read_bytes()
        found += content.splitlines() if path.suffix == ".lines" else [content]
    rng.shuffle(found)
    seen: set[str] = set()
    others = contents(files, EXTENSIONS.get(folder.name, ()), rng)
    for content, is_file in [*((each, True) for each in others), *((each, False) for each in found)]:
        for whole in parts(content, longest, rng) if is_file else [content.decode("utf-8", "replace")]:
            ends = [end for end in range(4, min(len(whole), longest) + 1) if may_end(whole, end)]
            text = next((whole[:end] for end in reversed(ends[-TRIED:]) if is_sound(folder, whole[:end], longest)), "")
            if text and text not in seen:
                seen.add(text)
                yield text, is_file
                break


def is_sound(folder: Any, text: str, longest: int) -> bool:
    """Whether a text is a member of a limited length."""
    return len(text.encode()) <= longest and "\ufffd" not in text and is_member(folder.constraint(), text)


def parts(content: bytes, longest: int, rng: random.Random) -> list[str]:
    """The text of a file from some of its lines on, and from its beginning on; the values of a JSON file."""
    text = content.decode("utf-8", "replace")
    try:
        values = list(inner(json.loads(text)))
        return [json.dumps(value) for value in rng.sample(values, min(len(values), 8))]
    except ValueError:
        lines = text.splitlines(keepends=True)
    starts = [*rng.sample(range(len(lines)), min(len(lines), 8)), 0]
    return ["".join(lines[start : start + longest])[: 4 * longest] for start in starts]


def inner(value: Any) -> Iterator[Any]:
    """The arrays and objects of a value."""
    if isinstance(value, dict | list):
        yield value
        for each in value.values() if isinstance(value, dict) else value:
            yield from inner(each)


def contents(folders: list[Path], extensions: tuple[str, ...], rng: random.Random) -> list[bytes]:
    """The files below folders with one of the extensions, in random order; at most 600, none of them large."""
    paths = sorted(path for files in folders for each in extensions for path in files.rglob("*" + each))
    rng.shuffle(paths)
    return [path.read_bytes() for path in paths[:600] if path.is_file() and path.stat().st_size < 100_000]


def may_end(text: str, end: int) -> bool:
    """Whether a text may be cut there: at its end, behind a line or a statement."""
    return end == len(text) or text[end - 1] in "\n;}"


def replay(language: Any, classes: Any, vocabulary: Any, wanted: list[int], seed: int, row: dict[str, Any]) -> None:
    """One text in one order."""
    rng = random.Random(seed)
    canvas = Canvas(language, vocabulary, [None] * len(wanted), classes)
    refused: dict[int, np.ndarray] = {}
    for number, position in enumerate(rng.sample(range(len(wanted)), len(wanted))):
        begin = time.thread_time()
        is_allowed = canvas.allows({position: wanted[position]})
        row["seconds"].append(time.thread_time() - begin)
        row["steps"] += 1
        row["steps refused"] += not is_allowed
        if not is_allowed:
            return
        if number % EVERY == 0:
            for place in canvas.open:
                now = ~canvas.mask(place)
                row["not monotone"] += bool((refused.get(place, False) & ~now).any())
                refused[place] = now
        canvas.set({position: wanted[position]})
    row["texts changed"] += canvas.tokens != wanted


def by_one(language: Any, classes: Any, matcher: Any, text: bytes, rng: random.Random, row: dict[str, Any]) -> None:
    """With everything else set, a position has exactly the bytes with which the text is a member."""
    position = rng.randrange(len(text))
    tokens: list[int | None] = list(text)
    tokens[position] = None
    mask = Canvas(language, BYTES, tokens, classes).mask(position)
    for byte in {*rng.sample(range(32, 127), 12), text[position]}:
        whole = text[:position] + bytes([byte]) + text[position + 1 :]
        again = matcher.fork()
        row["masks asked"] += 1
        row["masks wrong"] += bool(mask[byte]) != bool(again.advance_bytes(whole) and again.is_accepting())


def from_left(language: Any, matcher: Any, text: bytes, row: dict[str, Any]) -> None:
    """At each `EVERY`-th byte, with any text behind it, the engine's mask."""
    words = [language.lexer.class_word(bytes([byte])) for byte in range(256)]
    distinct = list(dict.fromkeys(words))
    layer = Layer.trie(distinct)
    for at, byte in enumerate(text):
        if at % EVERY == 0:
            pattern = language.pattern()
            pattern.text(text[:at])
            ends = pattern.token(layer)
            pattern.anything()
            live = language.solve(pattern).live_arcs()
            alive = {distinct[number] for number, arcs in ends.items() if live[arcs].any()}
            row["engine asked"] += 1
            row["engine differs"] += any((words[each] in alive) != matcher.allows(each) for each in range(256))
        assert matcher.advance(byte)


def run(name: str, count: int, longest: int, files: list[Path], vocabulary: Any) -> dict[str, Any]:
    """The row of a grammar."""
    folder = constrain.collection.folder(name)
    constraint = Dynamic(folder.constraint())
    language = gap_language(constraint.to_grammar())
    classes, classes_of_bytes = TokenClasses(language, vocabulary), TokenClasses(language, BYTES)
    row: dict[str, Any] = dict.fromkeys(
        [
            "texts",
            "of files",
            "bytes",
            "steps",
            "steps refused",
            "not monotone",
            "texts changed",
            "masks asked",
            "masks wrong",
        ],
        0,
    )
    row |= {"engine asked": 0, "engine differs": 0, "seconds": []}
    for seed, (text, is_file) in enumerate(texts(folder, files, longest, random.Random(5))):
        if seed == count:
            break
        content = text.encode()
        row["texts"] += 1
        row["of files"] += is_file
        row["bytes"] += len(content)
        replay(language, classes, vocabulary, cut(content, vocabulary), seed, row)
        if seed % 3 == 0:
            by_one(language, classes_of_bytes, byte_matcher(constraint), content, random.Random(seed), row)
            from_left(language, byte_matcher(constraint), content, row)
    seconds = row.pop("seconds")
    row["a step, ms, median and max"] = [round(1e3 * statistics.median(seconds), 2), round(1e3 * max(seconds), 1)]
    return row


def cut(text: bytes, vocabulary: Any) -> list[int]:
    """Tokens of a text, the longest first."""
    if vocabulary is BYTES:
        return list(text)
    numbers = {token: number for number, token in reversed(list(enumerate(vocabulary.tokens))) if token}
    found, at = [], 0
    while at < len(text):
        size = next(size for size in range(min(16, len(text) - at), 0, -1) if text[at : at + size] in numbers)
        found.append(numbers[text[at : at + size]])
        at += size
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--grammars", nargs="+", default=GRAMMARS)
    parser.add_argument("--texts", type=int, default=63)
    parser.add_argument("--files", type=Path, nargs="+", default=[], help="folders with files, at any depth")
    parser.add_argument("--longest", type=int, default=60)
    parser.add_argument("--vocabulary", type=Path, help="a file of tiktoken's form")
    parser.add_argument("--record", type=Path, help="write the table as JSON into this folder")
    options = parser.parse_args()
    table: dict[str, Any] = {}
    rows = [(name, BYTES, name) for name in options.grammars]
    if options.vocabulary:
        large = constrain.Vocabulary.from_tiktoken(
            options.vocabulary, special_tokens={"<|end|>": 128001}, eos_ids=[128001]
        )
        rows.append(("json", large, "json, by tokens"))
    for name, vocabulary, key in rows:
        table[key] = run(name, options.texts, options.longest, options.files, vocabulary)
        print(key, json.dumps(table[key]), flush=True)
        if options.record:
            options.record.mkdir(parents=True, exist_ok=True)
            (options.record / "replay.json").write_text(json.dumps(table, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
