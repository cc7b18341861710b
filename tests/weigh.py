"""Weigh the house: lines of each package, of tests, benchmarks and scripts, and what two jobs load.

    python tests/weigh.py                        the rows of tests/data/sizes.toml that differ from the tree
    python tests/weigh.py --write                lower every number that fell
    python tests/weigh.py --write --because …    also add a row `[[rise]]` of the numbers that rose; the text says what
                                                 the lines do, and what they replaced

A row of the table `least` has the fewest lines that a place has had since: all lines, lines of code (no docstrings,
comments or empty lines), lines of docstrings. The limit of a place is its least and the sum of its rises.
"""

from __future__ import annotations

import argparse
import ast
import io
import json
import sys
import tokenize
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = "constrain"
TABLE = ROOT / "tests" / "data" / "sizes.toml"
BESIDE = ("tests", "benchmarks", "scripts", "native")  # folders beside the package that are weighed as a whole
REACHES = {  # the public doors of two jobs, by the modules that they stand in
    "reach of generate": ("constrain.generation",),
    "reach of masks": (
        "constrain.languages.constraints.regular",
        "constrain.languages.grammar_text.text",
        "constrain.languages.schema",
        "constrain.masks.completion.compiling",
        "constrain.masks.derived.forced",
    ),
}
APART = {"cli", "device", "engines", "gaps", "monitors", "papers", "reports"}  # wings that load when somebody asks
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
EMPTY = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}


class Weight(NamedTuple):
    """Lines of Python: all, those with code, and those of docstrings."""

    lines: int = 0
    code: int = 0
    docstrings: int = 0

    def __add__(self, other: tuple[int, ...]) -> Weight:  # type: ignore[override]
        """The sum, number by number."""
        return Weight(*(mine + its for mine, its in zip(self, other, strict=True)))


def weigh(source: str) -> Weight:
    """The weight of one file."""
    docstrings: set[int] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, DOCUMENTED) and ast.get_docstring(node, clean=False) is not None:
            docstrings.update(range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1))
    code: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in EMPTY:
            code.update(range(token.start[0], token.end[0] + 1))
    return Weight(source.count("\n"), len(code - docstrings), len(docstrings))


def module_name(path: Path, root: Path) -> str:
    """The dotted name of a file below `root`; a folder's name for its `__init__.py`."""
    parts = path.relative_to(root).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports(path: Path, root: Path, nodes: Iterator[ast.AST] | None = None) -> list[tuple[int, str]]:
    """(line, module) of each import of the package in a file, or among `nodes` of it.

    `from constrain import x` is `constrain.x` if that is a module.
    """
    name = module_name(path, root)
    found = []
    for node in nodes or ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found += [(node.lineno, alias.name) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                package = name.split(".") if path.name == "__init__.py" else name.split(".")[:-1]
                base = ".".join([*package[: len(package) - node.level + 1], *base.split(".")]).rstrip(".")
            for alias in node.names:
                inner = root.joinpath(*base.split("."), alias.name)
                is_module = inner.is_dir() or inner.with_suffix(".py").exists()
                found.append((node.lineno, f"{base}.{alias.name}" if is_module else base))
    return [(line, module) for line, module in found if module.split(".")[0] == PACKAGE]


def _run_at_import(node: ast.AST) -> Iterator[ast.AST]:
    """All nodes that run when a module is imported: none inside functions, none for type checkers only."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            continue
        if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
            for other in child.orelse:
                yield from _run_at_import(other)
            continue
        yield child
        yield from _run_at_import(child)


def reach(starts: Iterable[str], root: Path = ROOT) -> dict[str, Path]:
    """The modules that an import of some loads, by name, with the packages around them."""
    found: dict[str, Path] = {}
    waiting = [*starts]
    while waiting:
        name = waiting.pop()
        for parent in (".".join(name.split(".")[: i + 1]) for i in range(name.count(".") + 1)):
            folder = root.joinpath(*parent.split("."))
            path = folder / "__init__.py" if folder.is_dir() else folder.with_suffix(".py")
            if parent not in found and path.exists():
                found[parent] = path
                tree = ast.parse(path.read_text(encoding="utf-8"))
                waiting += [module for _, module in imports(path, root, _run_at_import(tree))]
    return found


@lru_cache(maxsize=1)  # PERF: half a million tokens are read
def places(root: Path = ROOT) -> dict[str, Weight]:
    """The weight of each place of the table: packages, folders beside the package, sums, reaches."""
    weights: dict[str, Weight] = {}

    def put(place: str, weight: Weight) -> None:
        weights[place] = weights.get(place, Weight()) + weight

    each = {path: weigh(path.read_text(encoding="utf-8")) for path in sorted((root / PACKAGE).rglob("*.py"))}
    for path, weight in each.items():
        parts = path.relative_to(root / PACKAGE).parts[:-1]
        put("/".join([PACKAGE, *parts[:2]]), weight)
        put("all", weight)
        if not parts or parts[0] not in APART:
            put("core", weight)
    for folder in BESIDE:
        for path in sorted((root / folder).rglob("*.py")):
            if "record" not in path.parts:
                put(folder, weigh(path.read_text(encoding="utf-8")))
    for place, starts in REACHES.items():
        for path in reach(starts, root).values():
            put(place, each[path])
    return weights


class Table(NamedTuple):
    """The table of sizes: the least weight of each place, and the rises since."""

    least: dict[str, Weight]
    rises: list[dict[str, Any]]

    def limit(self, place: str) -> Weight:
        """The most that a place may weigh: nothing, if the table has no row of it."""
        risen = [Weight(*row[place]) for row in self.rises if place in row]
        return sum(risen, self.least.get(place, Weight()))


def read_table(path: Path = TABLE) -> Table:
    """The table as the file has it."""
    rows = tomllib.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    return Table({place: Weight(*row) for place, row in rows.get("least", {}).items()}, rows.get("rise", []))


def heavier(table: Table, weights: dict[str, Weight]) -> dict[str, Weight]:
    """By how much each place that is too heavy is: its weight without its limit, where one of the three is more."""
    over = {place: weight + tuple(-n for n in table.limit(place)) for place, weight in weights.items()}
    return {place: weight for place, weight in over.items() if max(weight) > 0}


def written(table: Table, weights: dict[str, Weight], because: str = "") -> Table:
    """The table after a change: what fell is lowered, and its rises go, or what fell of them; what rose has a row."""
    over = heavier(table, weights)
    new = {place: list(over[place]) for place in sorted(over) if place in table.least and because}
    least, fell = {}, set(table.least) - set(weights)
    for place, weight in sorted(weights.items()):
        least[place] = table.least.get(place, weight)
        if all(now <= known for now, known in zip(weight, least[place], strict=True)):
            least[place] = weight
            fell.add(place)
    rises = [
        {key: by for key, by in row.items() if key not in fell} for row in [*table.rises, {"because": because, **new}]
    ]
    for place, weight in weights.items():
        latest = next((row for row in reversed(rises) if place in row), None)
        left = weight + tuple(-n for n in Table(least, rises).limit(place))
        if latest is not None and max(left) <= 0:  # less of it is left of what rose
            latest[place] = list(Weight(*latest[place]) + tuple(left))
    return Table(least, [row for row in rises if len(row) > 1])


HEAD = """\
# What the house weighs: lines of Python, of them lines of code, of them lines of docstrings.
#
# A change may lower a number (`python tests/weigh.py --write`), or raise it by a row `[[rise]]` that says what the
# lines do and what they replaced. "core" is all but the wings that are apart. A reach is
# what an import loads, inner imports left out.
"""


def text_of(table: Table) -> str:
    """The file."""
    out = [HEAD, "[least] # lines, code, docstrings\n"]
    out += [f"{json.dumps(place)} = {list(weight)}\n" for place, weight in table.least.items()]
    for row in table.rises:
        out += ["\n[[rise]]\n", *(f"{json.dumps(k)} = {json.dumps(v, ensure_ascii=False)}\n" for k, v in row.items())]
    return "".join(out)


def main() -> int:
    """Print what differs, and write the table if asked to."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--because", default="", help="what the new lines do, and what they replaced")
    options = parser.parse_args()
    table, weights = read_table(), places()
    for place, weight in sorted(weights.items()):
        if weight != table.limit(place):
            print(f"{place:40} {tuple(table.limit(place))} → {tuple(weight)}")
    if options.write:
        table = written(table, weights, options.because)
        TABLE.write_text(text_of(table), encoding="utf-8")
    over = heavier(table, weights)
    if over:
        print(f"heavier than the table says, without a reason: {', '.join(sorted(over))}")
    return 1 if over else 0


if __name__ == "__main__":
    raise SystemExit(main())
