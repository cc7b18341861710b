"""Python that a model writes, with and without a monitor of names.

Question: of the scripts that a model writes after a comment, how many parse, how many use a name that nothing binds, an
attribute that a module does not have, or arguments that a function does not take: unconstrained, under the grammar,
likewise with lines that are written again (IterGen) where these judges find a fault, with a monitor, and with AWRS and
SMC under the monitor? And of the attributes in real files, how many does the model
continue as the file does, with and without the names that the monitor knows?

    python benchmarks/code_python.py --outputs 16 --tokens 60 --places 80 --out benchmarks/record/code-python

Outputs are cut at their last line break, and lines at the end that are an unfinished statement are dropped (three at
most). They are judged by CPython, without the prompt: `ast.parse`, `symtable` for names that no scope binds (builtins
apart), `getattr` on imported modules of the standard library, `inspect.signature(...).bind` for calls. A text under
`ahead="known"` with an undefined name makes the run fail.
Attributes: places in files of installed packages that the model was not trained on, at which the monitor knows the
names; the model's most probable identifier is compared with the file's, and with the names that exist (MGD's two
measures, for an identifier). Every place counts. Bias: the reference model is tiny (docs/reference-model.md) and knows
little Python; another one (--model) may have read the files; under --types values the names are those of modules.
"""

from __future__ import annotations

import argparse
import ast
import builtins
import collections
import importlib
import importlib.util
import inspect
import json
import random
import re
import symtable
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

import constrain
from constrain.generation.handles import handle_of
from constrain.monitors.monitor import SIGN
from constrain.monitors.reading import MonitorReading
from constrain.papers import Retrying
from masks.records import machine, open_folder

PROMPTS = [
    "# Reads a file and counts its words\nimport os\n",
    "# The sum of the squares of a list\n",
    "# Parses JSON and prints a field\nimport json\n",
    "# A queue with a maximum size\nclass Queue:\n    def __init__(self, size):\n        self.size = size\n",
    "# Measures how long a function takes\nimport time\n",
]
IMPLICIT = {"__name__", "__file__", "__doc__", "__builtins__", "__spec__", "__package__", "__loader__", "__path__"}
BEFORE = 1200  # characters of a file before an attribute


def parse() -> argparse.Namespace:
    """The options."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--model", help="a folder of transformers (default: the reference model)")
    parser.add_argument("--outputs", type=int, default=8, help="for each prompt and arm (default: 8); 0: no scripts")
    parser.add_argument("--arms", nargs="*", help="some of the arms of scripts (default: all)")
    parser.add_argument("--tokens", type=int, default=60, help="limit of tokens of one (default: 60)")
    parser.add_argument("--places", type=int, default=60, help="attributes in files (default: 60)")
    parser.add_argument("--types", default="values", choices=["values", "declared"], help="of the monitor, for these")
    parser.add_argument("--packages", nargs="*", default=["jinja2", "huggingface_hub", "networkx"])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, help="folder for a record")
    return parser.parse_args()


def arms() -> dict[str, tuple[Any, Any]]:
    """(constraint, method) by the name of the arm."""
    grammar = constrain.collection.load("python")
    made = {ahead: constrain.monitors.monitored(grammar, constrain.monitors.python(ahead=ahead, imports="installed"))
            for ahead in ("any", "known")}  # fmt: skip
    return {
        "unconstrained": (constrain.regex("(?s:.*)"), "lcd"),
        "grammar": (grammar, "lcd"),
        "grammar, retried": (grammar, Retrying(is_sound, tries=10)),
        "monitor, any": (made["any"], "lcd"),
        "monitor, known": (made["known"], "lcd"),
        "monitor, known, awrs": (made["known"], "awrs"),
        "monitor, known, smc": (made["known"], "smc"),
    }


def finished(text: str, is_whole: bool) -> str | None:
    """The text without an unfinished end; None: it does not parse without three lines at its end either."""
    lines = text.splitlines(keepends=True)
    if not is_whole and lines and not lines[-1].endswith("\n"):
        lines.pop()
    for drop in range(4):
        kept = "".join(lines[: len(lines) - drop] if drop else lines)
        try:
            ast.parse(kept)
        except (SyntaxError, ValueError):
            continue
        return kept
    return None


def is_sound(text: str) -> bool:
    """True if the whole statements of a text have no name, attribute or call that is wrong."""
    kept = finished(text, is_whole=False)
    return kept is None or not (undefined(kept) or missing(kept) or miscalled(kept))


def undefined(text: str) -> set[str]:
    """Names that no scope binds, by CPython's own analysis of scopes."""
    module = symtable.symtable(text, "text", "exec")
    bound = {s.get_name() for s in module.get_symbols() if s.is_assigned() or s.is_imported()}
    bound |= IMPLICIT | set(dir(builtins))
    found: set[str] = set()

    def visit(table: Any, is_module: bool) -> None:
        for symbol in table.get_symbols():
            if symbol.is_declared_global() and symbol.is_assigned():
                bound.add(symbol.get_name())
        for symbol in table.get_symbols():
            if symbol.is_referenced() and (is_module or symbol.is_global()) and not symbol.is_namespace():
                found.add(symbol.get_name())
            if symbol.is_namespace() and is_module:
                bound.add(symbol.get_name())
        for child in table.get_children():
            visit(child, False)

    visit(module, True)
    return found - bound


def imported(tree: ast.Module) -> dict[str, Any]:
    """The modules of the standard library that a text imports, by name."""
    modules = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name in sys.stdlib_module_names:
                    modules[alias.asname or alias.name] = importlib.import_module(alias.name)
    return modules


def miscalled(text: str) -> set[str]:
    """Calls of builtins and of functions of imported modules with arguments that these do not take.

    Left out are names that the text binds itself, and what `inspect` does not tell.
    """
    tree = ast.parse(text)
    modules, found = imported(tree), set()
    bound = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load)}
    bound |= {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or any(isinstance(argument, ast.Starred) for argument in node.args):
            continue
        called = node.func
        if isinstance(called, ast.Name) and called.id not in bound | set(modules):
            function = getattr(builtins, called.id, None)
        elif isinstance(called, ast.Attribute) and isinstance(called.value, ast.Name) and called.value.id not in bound:
            function = getattr(modules.get(called.value.id), called.attr, None)
        else:
            continue
        try:
            signature = inspect.signature(function)  # type: ignore[arg-type]
        except (TypeError, ValueError):
            continue
        try:
            signature.bind(*node.args, **{keyword.arg: 0 for keyword in node.keywords if keyword.arg})
        except TypeError:
            if all(keyword.arg for keyword in node.keywords):
                found.add(ast.unparse(called))
    return found


def missing(text: str) -> set[str]:
    """Attributes of imported modules of the standard library that these do not have."""
    tree = ast.parse(text)
    modules = imported(tree)
    return {
        f"{node.value.id}.{node.attr}"
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in modules
        and isinstance(node.ctx, ast.Load) and not hasattr(modules[node.value.id], node.attr)
    }  # fmt: skip


def scripts(model: Any, options: argparse.Namespace) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Counts by arm, and a record of each output."""
    counts: dict[str, Any] = {}
    records = []
    for arm, (constraint, method) in arms().items():
        if options.arms and arm not in options.arms:
            continue
        count, begin = collections.Counter(), time.process_time()
        for i, prompt in enumerate(PROMPTS):
            outputs = constrain.generate(
                model, prompt, constraint=constraint, n=options.outputs, max_tokens=options.tokens, method=method,
                temperature=1.0, seed=options.seed + i,
            )  # fmt: skip
            for output in outputs if options.outputs > 1 else [outputs]:
                text = finished(output.text, output.finish_reason == "stop")
                count["texts"] += 1
                count[output.finish_reason] += 1
                names = sorted(undefined(text)) if text is not None else []
                attributes = sorted(missing(text)) if text is not None else []
                count["parse"] += text is not None
                count["with undefined names"] += bool(names)
                count["undefined names"] += len(names)
                count["with missing attributes"] += bool(attributes)
                calls = sorted(miscalled(text)) if text is not None else []
                count["with wrong calls"] += bool(calls)
                count["parse, all names known"] += text is not None and not (names or attributes or calls)
                count["statements"] += 0 if text is None else len(ast.parse(text).body)
                found = {"undefined": names, "missing": attributes, "miscalled": calls}
                records.append({"arm": arm, "prompt": i, "text": output.text, "end": output.finish_reason, "kept": text,
                                **found})  # fmt: skip
        counts[arm] = {**count, "seconds": round(time.process_time() - begin, 1)}
        print(arm, counts[arm], flush=True)
    return counts, records


class Attribute(NamedTuple):
    """A place in a file at which a monitor knows the names: the text before it, the file's name, and all that exist."""

    before: str
    name: str
    names: list[str]


def places(packages: list[str], many: int, seed: int, types: str) -> tuple[list[Attribute], collections.Counter[str]]:
    """Places in files of packages, at most six of a file; and how many were looked at. types: of the monitor."""
    rng, monitor = random.Random(seed), constrain.monitors.python(types=types)
    found: list[Attribute] = []
    count: collections.Counter[str] = collections.Counter()
    files = []
    for package in packages:
        spec = importlib.util.find_spec(package)
        assert spec is not None
        assert spec.origin is not None
        files += [p for p in sorted(Path(spec.origin).parent.rglob("*.py")) if 500 < p.stat().st_size < 12_000]
    rng.shuffle(files)
    for path in files:
        text = path.read_text(encoding="utf-8")
        dots = list(re.finditer(r"(?<=[A-Za-z_)\]]\.)[A-Za-z_]\w*", text))
        reading, at = MonitorReading(monitor), 0
        here: Any = reading.start()
        known = []
        for match in dots:
            here, at = reading.step(here, text[at : match.start()].encode()), match.start()
            assert here is not None, f"{path}: refused before {text[at : at + 40]!r}"
            names = reading.language(here)
            count["dots"] += 1
            if here.kind != SIGN or not names:  # a dot in a comment or a string is none
                continue
            count["dots with known names"] += 1
            listed = names.listed()
            count["the file's name is known"] += match[0] in listed
            known.append(Attribute(text[:at][-BEFORE:], match[0], listed))
        found += rng.sample(known, min(len(known), 6))
        if len(found) >= many:
            break
    return found[:many], count


def identifiers(model: Any, options: argparse.Namespace) -> tuple[dict[str, int], list[dict[str, Any]]]:
    """Count how often the most probable identifier is the file's."""
    found, count = places(options.packages, options.places, options.seed, options.types)
    records = []
    for before, name, names in found:
        said = {}
        for arm, head in (("any identifier", r"[A-Za-z_]\w*"), ("names that exist", "|".join(map(re.escape, names)))):
            output = constrain.generate(
                model, before, regex=f"({head})[^\\w](?s:.*)", max_tokens=12, temperature=0
            )  # fmt: skip
            matched = re.match(r"\w+", output.text)
            said[arm] = matched[0] if matched else ""
            count[arm] += said[arm] == name
            count[f"{arm}: exists"] += said[arm] in names
        count["places"] += 1
        records.append({"before": before[-60:], "name": name, "known": len(names), **said})
    print(dict(count), flush=True)
    return dict(count), records


def main() -> int:
    """Run; 1 if a text under ahead="known" has an undefined name."""
    options = parse()
    model = handle_of(options.model) if options.model else constrain.reference.load()
    matched, attributes = identifiers(model, options)
    counts, outputs = scripts(model, options) if options.outputs else ({}, [])
    if options.out:
        command = f"python benchmarks/code_python.py {' '.join(sys.argv[1:])}"
        open_folder(options.out, {"command": command, **machine()}, resume=False)
        for name, rows in (("outputs", outputs), ("attributes", attributes)):
            lines = (json.dumps(row, ensure_ascii=False) for row in rows)
            (options.out / f"{name}.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
        summary = {"scripts": counts, "attributes": matched}
        (options.out / "summary.json").write_text(json.dumps(summary, indent=1) + "\n")
    return int(any(counts[arm]["with undefined names"] for arm in counts if "known" in arm))


if __name__ == "__main__":
    sys.exit(main())
