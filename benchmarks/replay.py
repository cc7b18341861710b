"""Replay: valid files, opened and set again in random orders; every step has to be accepted.

    python benchmarks/replay.py --files FOLDER ... [--grammars json c ...] [--texts 63] [--record DIR]
        [--whole] [--least 60] [--longest 4096 c=1500 ...] [--last 32] [--entire json=600 c=120 ...] [--steps 64]

The texts are files below `--files` by their extension, whole if they are valid and have at most `--longest` bytes, else
as much of their beginning as is one and ends with a line or a statement; then those of `grammars/*/accept`. With
`--whole` there are whole files only, and the record names the ones of this size that the grammar refuses. The folders
in `--files` (packages, say) take turns; names and hashes of their files are recorded (files.json).

A position is a byte. Each text is set in a random order, of which the `--last` positions are replayed: all others are
set when the canvas is made, and these one by one. Texts of a limited length (`--entire`, in bytes, by grammar) are
replayed from an entirely open canvas, too, in `--steps` steps of several positions each, all positions of a step in
one question. Four things are checked, and a fault of one is counted, not hidden:
    steps        each byte of the text, in random order, has to be allowed, and the finished canvas to be the text
    monotone     what a mask of an open position refuses stays refused (each `EVERY`-th step)
    masks        with everything else set, the mask has exactly the bytes with which the text is a member
    engine       with all before it set and any text behind it, a byte has the mask of the ordinary engine
The grammars are read with the dynamic lexer, as gaps read them (note 0022).
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import time
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import constrain
from constrain.languages.cfg.rules import Grammar
from constrain.languages.constraints.base import Constraint
from constrain.masks.derived.members import byte_matcher
from constrain.masks.gaps.pattern import Layer
from constrain.masks.gaps.projection import gap_language
from constrain.papers.diffusion.canvas import Canvas
from constrain.papers.diffusion.token_classes import TokenClasses

GRAMMARS = ["json", "xml", "toml", "csv", "sql", "c", "javascript", "java", "go", "graphql"]
EXTENSIONS = {
    "json": (".json",), "javascript": (".js", ".mjs"), "sql": (".sql",), "toml": (".toml",), "xml": (".xml",),
    "csv": (".csv",), "c": (".c", ".h"), "java": (".java",), "go": (".go",), "graphql": (".graphql",),
}  # fmt: skip
EVERY = 8
PLACES = 3  # of a text, where masks are compared with the engine
BYTES = constrain.Vocabulary.of_bytes()


@dataclass(frozen=True)
class Dynamic(Constraint):
    """A constraint under the dynamic lexer."""

    inner: Constraint

    def _build(self) -> Grammar:
        return self.inner.as_dynamic()


class Text(NamedTuple):
    """A text, what it is ("whole" file, "part" of one, "ours", or "refused"), and the name of its file."""

    content: bytes
    kind: str
    name: str


def texts(folder: Any, options: argparse.Namespace, longest: int, rng: random.Random) -> Iterator[Text]:
    """Yield different valid texts of limited lengths, and the whole files of that length that the grammar refuses."""
    seen: set[bytes] = set()
    for content, name in [*files(folder.name, options, longest, rng), *([] if options.whole else ours(folder, rng))]:
        text = longest_member(folder.constraint(), content, longest)
        if text in seen or (len(text) < (options.least if name else 4) and not options.whole):
            continue
        seen.add(text)
        if options.whole and text != content:
            yield Text(content, "refused", name)
        else:
            yield Text(text, "ours" if not name else "whole" if text == content else "part", name)


def files(name: str, options: argparse.Namespace, longest: int, rng: random.Random) -> Iterator[tuple[bytes, str]]:
    """Files of a language and their names; each folder directly below `--files` gives one in turn."""
    turns = []
    for folder in options.files:
        paths = sorted(path for end in EXTENSIONS[name] for path in folder.rglob("*" + end) if path.is_file())
        rng.shuffle(paths)
        given: dict[str, int] = {}
        for path in paths:
            package = path.relative_to(folder).parts[0]
            turns.append((given.setdefault(package, 0), package, path, path.relative_to(folder).as_posix()))
            given[package] += 1
    for _, _, path, shown_name in sorted(turns):
        size = path.stat().st_size
        if options.least <= size <= longest if options.whole else size < 100_000:
            yield path.read_bytes(), shown_name


def ours(folder: Any, rng: random.Random) -> list[tuple[bytes, str]]:
    """The texts of the accept folder, without names."""
    found = []
    for path in sorted((Path(folder.path) / "accept").iterdir()):
        content = path.read_bytes()
        found += content.splitlines() if path.suffix == ".lines" else [content]
    rng.shuffle(found)
    return [(content, "") for content in found]


def longest_member(constraint: Any, content: bytes, longest: int) -> bytes:
    """The longest beginning of a limited length that is a member, and ends with the file, a line or a statement."""
    matcher, found = byte_matcher(constraint), 0
    for end, byte in enumerate(content[:longest], 1):
        if not matcher.advance(byte):
            break
        if (end == len(content) or byte in b"\n;}") and matcher.is_accepting():
            found = end
    return content[:found]


def replay(language: Any, classes: Any, text: bytes, open_now: int, steps: int, seed: int, row: Any) -> None:
    """The last positions of one order of a text, in so many steps."""
    rng = random.Random(seed)
    order = rng.sample(range(len(text)), len(text))[-open_now:]
    tokens: list[int | None] = list(text)
    for position in order:
        tokens[position] = None
    begin = time.thread_time()
    canvas = Canvas(language, BYTES, tokens, classes)
    row["seconds of the first question"].append(time.thread_time() - begin)
    refused: dict[int, np.ndarray] = {}
    steps = min(steps, len(order))
    for number in range(steps):
        chosen = {position: text[position] for position in order[number::steps]}
        begin = time.thread_time()
        is_allowed = canvas.allows(chosen)
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
        canvas.set(chosen)
    row["texts changed"] += canvas.text != text


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


def from_left(language: Any, matcher: Any, text: bytes, rng: random.Random, row: dict[str, Any]) -> None:
    """At some bytes, with any text behind them, the engine's mask."""
    places = set(rng.sample(range(len(text)), min(PLACES, len(text))))
    words = [language.lexer.class_word(bytes([byte])) for byte in range(256)]
    distinct = list(dict.fromkeys(words))
    layer = Layer.trie(distinct)
    for at, byte in enumerate(text):
        if at in places:
            pattern = language.pattern()
            pattern.text(text[:at])
            ends = pattern.token(layer)
            pattern.anything()
            live = language.solve(pattern).live_arcs()
            alive = {distinct[number] for number, arcs in ends.items() if live[arcs].any()}
            row["engine asked"] += 1
            row["engine differs"] += any((words[each] in alive) != matcher.allows(each) for each in range(256))
        assert matcher.advance(byte)


def new_row() -> dict[str, Any]:
    """The counts of a grammar before its first text."""
    counts = ("texts", "steps", "steps refused", "not monotone", "texts changed", "too large")
    return {**dict.fromkeys(counts, 0), "sizes": [], "seconds": [], "seconds of the first question": []}


def run(
    name: str, options: argparse.Namespace, longest: int, entire: int, named: list[dict[str, Any]]
) -> Iterator[dict[str, Any]]:
    """The rows of a grammar, after each text: the last positions, and entire texts. Its files are added to `named`."""
    folder = constrain.collection.folder(name)
    constraint = Dynamic(folder.constraint())
    language = gap_language(constraint.to_grammar())
    classes = TokenClasses(language, BYTES)
    last, whole = new_row(), new_row()
    asked = ("masks asked", "masks wrong", "engine asked", "engine differs")
    last |= dict.fromkeys(("whole", "part", "ours", "refused", *asked), 0)
    for seed, (text, kind, file) in enumerate(texts(folder, options, longest, random.Random(5))):
        if last["texts"] == options.texts:
            break
        last[kind] += 1
        if file:
            digest = hashlib.sha256(text).hexdigest()[:16]
            named.append({"file": file, "is": kind, "bytes": len(text), "sha256 begins": digest})
        if kind == "refused":
            continue
        small = len(text) <= entire and whole["texts"] < options.entire_texts
        for row, count, steps in ((last, options.last, options.last), (whole, len(text), options.steps)):
            if row is last or small:
                row["texts"] += 1
                row["sizes"].append(len(text))
                try:
                    replay(language, classes, text, min(count, len(text)), steps, seed, row)
                except constrain.LimitError:
                    row["too large"] += 1
        rng = random.Random(seed)
        by_one(language, classes, byte_matcher(constraint), text, rng, last)
        from_left(language, byte_matcher(constraint), text, rng, last)
        yield {f"{name}, the last {options.last}": shown(last), f"{name}, entire": shown(whole)}


def shown(row: dict[str, Any]) -> dict[str, Any]:
    """A row with quartiles in place of lists."""
    found = dict(row)
    for key, factor in (("sizes", 1), ("seconds", 1e3), ("seconds of the first question", 1e3)):
        values = sorted(found.pop(key))
        name = "bytes" if key == "sizes" else key.replace("seconds", "ms")
        found[f"{name}: least, quartiles, most"] = [
            round(factor * values[part * (len(values) - 1) // 4], 0 if key == "sizes" else 1) for part in range(5)
        ] if values else []  # fmt: skip
        found[f"{name}: sum"] = round(factor * sum(values))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--grammars", nargs="+", default=GRAMMARS)
    parser.add_argument("--texts", type=int, default=63, help="of a grammar")
    parser.add_argument("--files", type=Path, nargs="+", default=[], help="folders with files, at any depth")
    parser.add_argument("--whole", action="store_true", help="whole files only")
    parser.add_argument("--least", type=int, default=60, help="bytes of a text of a file")
    parser.add_argument("--longest", nargs="+", default=["4096"], help="bytes of a text; grammar=bytes for one grammar")
    parser.add_argument("--last", type=int, default=32, help="positions at the end of the order")
    parser.add_argument("--entire", nargs="*", default=[], help="grammar=bytes: up to here, the whole order, too")
    parser.add_argument("--entire-texts", type=int, default=20, help="of a grammar")
    parser.add_argument("--steps", type=int, default=64, help="of a whole order")
    parser.add_argument("--record", type=Path, help="write the table as JSON into this folder")
    options = parser.parse_args()
    entire, longest = limits(options.entire, 0), limits(options.longest, 4096)
    table: dict[str, Any] = {}
    named: dict[str, list[dict[str, Any]]] = {}
    for name in options.grammars:
        rows: dict[str, Any] = {}
        for rows in run(name, options, longest[name], entire[name], named.setdefault(name, [])):  # noqa: B007 - the last
            pass
        table |= rows
        print(json.dumps(rows), flush=True)
        if options.record:
            options.record.mkdir(parents=True, exist_ok=True)
            (options.record / "replay.json").write_text(json.dumps(table, indent=1) + "\n", encoding="utf-8")
            (options.record / "files.json").write_text(one_a_line(named), encoding="utf-8")


def one_a_line(named: dict[str, list[dict[str, Any]]]) -> str:
    """JSON with a file on each line."""
    parts = [f"{json.dumps(name)}: [\n" + ",\n".join(map(json.dumps, rows)) + "\n]" for name, rows in named.items()]
    return "{" + ",\n".join(parts) + "}\n"


def limits(given: list[str], default: int) -> defaultdict[str, int]:
    """Sizes by grammar from `grammar=bytes`; bytes alone are the limit of all others."""
    sizes = [(name, int(size)) for name, _, size in (each.rpartition("=") for each in given)]
    others = next((size for name, size in sizes if not name), default)
    return defaultdict(lambda: others, sizes)


if __name__ == "__main__":
    main()
