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

With --dereferences only packages are read, under `types="values"` and under `types="declared"`, and the names after a
dot are counted: at how many the monitor knows which names may stand there ("known at the dot"), and at how many more
the class that is being read must bind the name before it ends ("owed by the class"). Annotated code are functions with
an annotation for each parameter. Looked at are the modules of the package and all that its files import, as far as they
can be imported. A file is read up to its first refusal; "ignored" are refusals in lines with an `ignore` comment for a
type checker.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import importlib.util
import io
import json
import pkgutil
import sys
import sysconfig
import time
import warnings
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import constrain
from masks.records import machine, open_folder, write_run
from masks.summary import table

sys.path.insert(0, str(Path(__file__).parent.parent / "tests" / "monitors"))
from lexeme_reading import first_refusal


def parse() -> argparse.Namespace:
    """The options."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--packages", nargs="*", default=[], help="installed packages to read after the library")
    parser.add_argument("--every", type=int, default=1, help="read each n-th file (default: 1)")
    parser.add_argument("--tokens", type=int, default=0, help="read each n-th file by token too; 0: none (default)")
    parser.add_argument("--types", default="values", choices=["values", "declared"], help="of the monitor")
    parser.add_argument("--dereferences", action="store_true", help="count the names after a dot that are judged")
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


def modules_of(package: str) -> list[str]:
    """The modules of a package, and all that its files import, as far as they can be imported."""
    found = importlib.import_module(package)
    names = {package: None} | {each.name: None for each in pkgutil.walk_packages(found.__path__, package + ".")}
    for path, _ in texts(Path(str(found.__file__)).parent, 1):
        with contextlib.suppress(SyntaxError, ValueError):
            for node in ast.walk(ast.parse(path.read_bytes())):
                if isinstance(node, ast.Import):
                    names |= {each.name: None for each in node.names}
                elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                    names[node.module] = None
    kept = []
    for name in names:
        if name.partition(".")[0] in sys.stdlib_module_names or name.endswith("__main__"):
            continue
        with contextlib.suppress(Exception), contextlib.redirect_stdout(io.StringIO()):
            importlib.import_module(name)
            kept.append(name)
    return kept


def annotated_lines(text: bytes) -> set[int]:
    """The lines of the functions that have an annotation for each parameter."""
    lines: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            given = node.args
            listed = [*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg]
            taken = [each for each in listed if each is not None and each.arg not in ("self", "cls")]
            if all(each.annotation for each in taken) and (taken or node.returns):
                lines.update(range(node.lineno, (node.end_lineno or 0) + 1))
    return lines


def count_places(monitor: Any, text: bytes, count: Counter[str]) -> int | None:
    """Count the names after a dot of a file, and give the place of its first refusal; None: it is accepted."""
    places: list[tuple[int, str]] = []

    def watch(at: int, state: Any, names: Any, _: bytes) -> None:
        if state.at == "dot":
            owed = monitor.puts_off(state, monitor.resolved(state, state.value))
            places.append((text.count(b"\n", 0, at) + 1, "known" if names is not None else "owed" if owed else "open"))

    refused = first_refusal(monitor, text, watch=watch)
    lines = annotated_lines(text)
    for line, verdict in places:
        count[verdict] += 1
        count["annotated " + verdict] += line in lines
    return refused


def dereferences(options: argparse.Namespace) -> tuple[list[dict[str, Any]], str]:
    """(a row for each refusal, the table) of the packages."""
    rows, lines = [], []
    for name, folder in [*folders(options.packages)][1:]:
        modules = modules_of(name)
        for types in ("values", "declared"):
            count: Counter[str] = Counter()
            for path, text in texts(folder, options.every):
                if text is None:
                    continue
                package = ".".join(path.relative_to(folder.parent).parts[:-1])
                monitor = constrain.monitors.python(modules=modules, types=types, package=package)
                place = count_places(monitor, text, count)
                count["files"] += 1
                if place is not None:
                    shown = text[place : text.find(b"\n", text.find(b"\n", place) + 1)].decode()
                    is_ignored = "ignore" in shown
                    count["ignored" if is_ignored else "refused"] += 1
                    line = text.count(b"\n", 0, place) + 1
                    file = str(path.relative_to(folder))
                    rows.append({"in": name, "types": types, "file": file, "line": line, "text": shown})
            lines.append([name, types, str(count["files"]), *_shares(count, ""), *_shares(count, "annotated "),
                          str(count["refused"]), str(count["ignored"])])  # fmt: skip
            print(*lines[-1], flush=True)
    heads = ["package", "types", "files", "places", "known at the dot", "owed by the class", "in annotated code",
             "known at the dot", "owed by the class", "refused", "ignored"]  # fmt: skip
    return rows, table(heads, lines)


def _shares(count: Counter[str], prefix: str) -> list[str]:
    total = sum(count[prefix + verdict] for verdict in ("known", "owed", "open"))
    return [str(total), *(f"{count[prefix + verdict] / max(total, 1):.0%}" for verdict in ("known", "owed"))]


def main() -> int:
    """Run, and print a row for each refusal."""
    options = parse()
    if options.dereferences:
        rows, shown = dereferences(options)
        print(shown)
        if options.out:
            command = f"python benchmarks/monitor_python.py {' '.join(sys.argv[1:])}"
            write_run(options.out, {"command": command, **machine()}, rows, shown)
        return 0
    monitor = constrain.monitors.python(types=options.types)
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
            place = first_refusal(monitor, text)
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
