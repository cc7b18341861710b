"""Several holes in a text, filled in order: the wholes that parse, and the cost of filling.

    python benchmarks/holes.py [--texts 10] [--longest 160] [--languages json ...] [--files FOLDER] [--record DIR]
        [--seed 0]

Whole texts: the ones of `grammars/*/accept` of a limited length, in turn with real files below `--files`, where there
are any; for Python the functions and classes, with their blocks, of modules of the standard library, for JSON valid
instances of MaskBench. All are accepted by the language's own parser, if it is on this machine. From each, one, two or
three random pieces of at most 12 characters are taken out, and the embedded reference model fills them with
`constrain.infill`. Every text is an attempt and counts, whatever became of it. Answers are checked by the own parser
(`languages/oracles.py`); where it has no verdict (what is refused is beyond syntax, such as a type that is not
declared), by the engine under the grammar as it is, maximal munch included; these are counted apart, and recorded.
"""

from __future__ import annotations

import argparse
import ast
import json
import random
import re
import statistics
import sysconfig
import time
from collections.abc import Iterator
from itertools import chain, islice, pairwise, zip_longest
from pathlib import Path
from typing import Any

import constrain
from constrain.masks.derived.members import is_member
from languages import oracles
from masks.records import data_folder

PIECE, TOKENS = 12, 32
DIRECTIVE = re.compile(rb"^[ \t\f\v]*#(?!#)([^\n\\]|\\(\r?\n|.))*", re.M)


def texts(folder: Any, oracle: Any, longest: int, files: list[Path], rng: random.Random) -> Iterator[str]:
    """Members of a limited length that the language's parser accepts, in random order."""
    found = {"python": definitions, "json": instances}.get(folder.name, lambda longest: [])(longest)
    for path in sorted((Path(folder.path) / "accept").iterdir()) if not found else ():
        content = path.read_bytes()
        found += content.splitlines() if path.suffix == ".lines" else [content]
    rng.shuffle(found)
    for each in chain.from_iterable(zip_longest(real(folder, longest, files, rng), found)):
        text = (each or b"").decode("utf-8", "replace")
        if 12 <= len(text) <= longest and "\ufffd" not in text and is_member(folder.constraint(), text):
            if oracle is None or oracle(text.encode()):
                yield text


def real(folder: Any, longest: int, files: list[Path], rng: random.Random) -> Iterator[bytes]:
    """Files of the language, of a limited length."""
    suffix = folder.settings.get("suffix", "")
    paths = sorted(path for each in files if suffix for path in each.rglob("*" + suffix) if path.is_file())
    rng.shuffle(paths)
    return (path.read_bytes() for path in paths if 40 <= path.stat().st_size <= longest)


def definitions(longest: int) -> list[bytes]:
    """Functions and classes of the standard library, of a limited length."""
    found = []
    for path in sorted(Path(sysconfig.get_path("stdlib")).glob("*.py")):
        content = path.read_text(encoding="utf-8", errors="replace")
        for node in ast.parse(content).body:
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                segment = (ast.get_source_segment(content, node) or "") + "\n"
                found += [segment.encode()] if len(segment) <= longest else []
    return found


def instances(longest: int) -> list[bytes]:
    """Valid instances of MaskBench, of a limited length."""
    found = []
    for path in sorted(data_folder(None, "maskbench-dev").iterdir()):
        for test in json.loads(path.read_text(encoding="utf-8"))["tests"]:
            text = json.dumps(test["data"])
            found += [text.encode()] if test["valid"] and 40 <= len(text) <= longest else []
    return found


def cut(text: str, holes: int, rng: random.Random) -> list[tuple[int, int]]:
    """Random stretches that neither overlap nor touch."""
    while True:
        starts = sorted(rng.randrange(len(text)) for _ in range(holes))
        found = [(start, min(len(text), start + 1 + rng.randrange(PIECE))) for start in starts]
        if all(one[1] < two[0] for one, two in pairwise(found)):
            return found


def verdict_of(oracle: Any, name: str, whole: bytes) -> bool | None:
    """The verdict of the language's parser; in C, without directives if need be, as the grammar skips them."""
    found: bool | None = oracle(whole)
    if name == "c" and not found:
        again: bool | None = oracle(DIRECTIVE.sub(lambda line: b"\n" * line[0].count(b"\n"), whole))
        found = again if found is None or again else found
    return found


def run(name: str, holes: int, options: argparse.Namespace, model: Any, rng: random.Random) -> dict[str, Any]:
    """The row of a language and a number of holes."""
    folder = constrain.collection.folder(name)
    oracle = oracles.find(folder.settings.get("oracle", "")) if folder.settings.get("oracle") else None
    constraint = folder.constraint()
    ended: dict[str, int] = {}
    seconds, again, by_engine, faults = [], 0, [], []
    members = texts(folder, oracle, options.longest, options.files, rng)
    for number, text in enumerate(islice(members, options.texts)):
        stretches, begin = cut(text, holes, rng), time.thread_time()
        try:
            filled = constrain.infill(model, constraint, text=text, holes=stretches, max_tokens=TOKENS, seed=number)
            verdict = filled.finish_reason
            again += filled.attempts - 1
            if verdict == "stop":
                parses = verdict_of(oracle, name, filled.text.encode()) if oracle else None
                by_engine += [filled.text] if parses is None else []
                verdict = "parses" if (is_member(constraint, filled.text) if parses is None else parses) else "refused"
                if verdict == "refused":
                    faults.append({"text": text, "holes": stretches, "whole": filled.text})
        except Exception as error:  # it counts, and the record names it
            verdict = type(error).__name__
            faults.append({"text": text, "holes": stretches, "error": str(error)[:300]})
        ended[verdict] = ended.get(verdict, 0) + 1
        seconds.append(time.thread_time() - begin)
    return {
        "attempts": len(seconds),
        "wholes that parse": ended.get("parses", 0),
        "of these read by the engine, for want of a verdict": len(by_engine),
        "ended": ended,
        "begun anew": again,
        "oracle": "its own parser" if oracle else "the engine",
        "CPU seconds, median and max": [round(statistics.median(seconds), 2), round(max(seconds), 2)]
        if seconds
        else [],
        "faults": faults,
        "without a verdict": by_engine,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--texts", type=int, default=10)
    parser.add_argument("--longest", type=int, default=160)
    parser.add_argument("--files", type=Path, nargs="+", default=[], help="folders with files, at any depth")
    parser.add_argument("--languages", nargs="+", default=["json", "sql", "python", "c", "java", "javascript"])
    parser.add_argument("--seed", type=int, default=0, help="of the texts and holes")
    parser.add_argument("--record", type=Path, help="write the table as JSON into this folder")
    options = parser.parse_args()
    model = constrain.reference.load()
    table: dict[str, Any] = {}
    for name in options.languages:
        for holes in (1, 2, 3):
            row = run(name, holes, options, model, random.Random(holes + 100 * options.seed))
            table[f"{name}, {holes} holes"] = row
            print(
                name,
                holes,
                json.dumps({key: row[key] for key in row if key not in ("faults", "without a verdict")}),
                flush=True,
            )
            if options.record:
                options.record.mkdir(parents=True, exist_ok=True)
                content = json.dumps(table, indent=1, ensure_ascii=False)
                (options.record / "holes.json").write_text(content + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
