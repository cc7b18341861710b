"""Real Python files under the monitor of Python: the refused ones, with reasons.

Question: does `constrain.monitors.python()` accept every file of CPython's standard library, its tests included, and of
installed packages, from the first lexeme to the end? What does it refuse?

    python benchmarks/monitor_python.py --packages jinja2 networkx pydantic --out benchmarks/record/monitor-python

Files that `ast.parse` of this interpreter does not read as UTF-8 are left out, and counted. Each refusal is a row: the
place, what is refused, and the line. A file may be refused for a good reason: a name that nothing binds. Those are
judged by reading them; the record says so of each. Read is lexeme by lexeme, without masks; that bytes and lexemes give
equal verdicts is tested in tests/monitors. With --tokens N, each N-th file is read token by token too, under the
grammar and the monitor, with the vocabulary of the reference model: the token that stands in the file must be in its
mask. Bias: the files are those of one machine, an interpreter and its packages; rules for what is open were found on
the standard library, the packages were read afterwards.
"""

from __future__ import annotations

import argparse
import ast
import importlib.util
import json
import sys
import sysconfig
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import constrain
from masks.records import machine, open_folder

sys.path.insert(0, str(Path(__file__).parent.parent / "tests" / "monitors"))
from lexeme_reading import refused


def parse() -> argparse.Namespace:
    """The options."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--packages", nargs="*", default=[], help="installed packages to read after the library")
    parser.add_argument("--every", type=int, default=1, help="read each n-th file (default: 1)")
    parser.add_argument("--tokens", type=int, default=0, help="read each n-th file by token too; 0: none (default)")
    parser.add_argument("--out", type=Path, help="folder for a record")
    return parser.parse_args()


def folders(packages: list[str]) -> Iterator[tuple[str, Path]]:
    """(name, folder) of what is read."""
    yield "standard library", Path(sysconfig.get_path("stdlib"))
    for name in packages:
        spec = importlib.util.find_spec(name)
        if spec is None or spec.origin is None:
            raise SystemExit(f"{name} is not installed")
        yield name, Path(spec.origin).parent


def texts(folder: Path, every: int) -> Iterator[tuple[Path, bytes | None]]:
    """(file, its text; None: this interpreter does not read it as UTF-8)."""
    files = [p for p in sorted(folder.rglob("*.py")) if "site-packages" not in p.relative_to(folder).parts]
    for path in files[::every]:
        text = path.read_bytes()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                ast.parse(text.decode())
        except (SyntaxError, ValueError, RecursionError):
            yield path, None
            continue
        yield path, None if text.startswith(b"\xef\xbb\xbf") else text


def by_token(compiled: Any, ids: dict[bytes, int], text: bytes) -> int | None:
    """The first offset whose token is not in its mask; the text's length if it may not end; None if it is accepted."""
    tokens = compiled.vocabulary.tokens
    row = np.zeros(compiled.vocabulary.words, np.uint32)
    matcher, at = compiled.matcher(), 0
    while at < len(text):
        token = next(ids[text[at : at + n]] for n in range(24, 0, -1) if text[at : at + n] in ids)
        matcher.fill_mask(row)
        if not row[token >> 5] >> (token & 31) & 1 or not matcher.advance(token):
            return at
        at += len(tokens[token])
    return None if matcher.is_accepting() else len(text)


def main() -> int:
    """Run, and print a row for each refusal."""
    options = parse()
    monitor = constrain.monitors.python()
    vocabulary = constrain.Vocabulary.from_huggingface(constrain.reference.load().tokenizer)
    code = constrain.monitors.monitored(constrain.collection.load("python"), monitor)
    compiled = constrain.compile(code, vocabulary)
    ids = {text: token for token, text in enumerate(vocabulary.tokens) if text}
    rows, sums = [], {}
    for name, folder in folders(options.packages):
        count = {
            "files": 0,
            "bytes": 0,
            "not read": 0,
            "refused": 0,
            "by token": 0,
            "refused by token": 0,
            "seconds": 0.0,
        }
        begin = time.process_time()
        for i, (path, text) in enumerate(texts(folder, options.every)):
            if text is None:
                count["not read"] += 1
                continue
            count["files"] += 1
            count["bytes"] += len(text)
            place = refused(monitor, text)
            if options.tokens and i % options.tokens == 0 and len(text) < 20_000:
                count["by token"] += 1
                token_place = by_token(compiled, ids, text)
                count["refused by token"] += token_place is not None
            if place is not None:
                count["refused"] += 1
                line = text.count(b"\n", 0, place) + 1
                shown = text[max(0, place - 60) : place + 30].decode(errors="replace")
                rows.append({"in": name, "file": str(path.relative_to(folder)), "line": line, "text": shown,
                             "at": "end" if place == len(text) else "place"})  # fmt: skip
                print(json.dumps(rows[-1]), flush=True)
        count["seconds"] = round(time.process_time() - begin, 1)
        sums[name] = count
        print(name, count, flush=True)
    if options.out:
        command = f"python benchmarks/monitor_python.py {' '.join(sys.argv[1:])}"
        open_folder(options.out, {"command": command, **machine()}, resume=False)
        (options.out / "refused.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        (options.out / "summary.json").write_text(json.dumps(sums, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
