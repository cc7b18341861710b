"""Check that the docstrings of public names are complete, and that every docstring says plainly what a thing is.

    python scripts/check_docstrings.py            names what is missing; exit code 1 if anything is
    python scripts/check_docstrings.py PATH …     the rules of prose, for these files and folders only

The rules are mechanical. A name in the `__all__` of a public module that is a function or a class has a docstring with

    summary     a first line
    Args        if it has parameters; for a class those of `__init__`, and `Attributes` does as well
    Returns     if it is a function that returns something (or Yields)
    Raises      if its body has a `raise`, or calls one of `CHECKERS`
    Example     lines with `>>>`, or a fenced block

In the package, tests, scripts and benchmarks no docstring ends its first line or its last with a question mark, begins
with a word of `RELATIVE` ("What is kept …", "Its …": say what the thing does or is), is only a reference ("See `X`."),
or has a phrase of `PHRASES`. In the package none has a word of `WORDS`, for which docs/glossary.md has another.
"""

from __future__ import annotations

import ast
import dataclasses
import importlib
import inspect
import re
import sys
import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
MODULES = (
    "constrain",
    "constrain.sampling",
    "constrain.speculative",
    "constrain.hf",
    "constrain.processors",
    "constrain.answers",
    "constrain.composed",
    "constrain.schema",
    "constrain.collection",
    "constrain.reference",
)
CHECKERS = ("check_count", "check_share", "check_scheme", "checked_size", "log_total_of", "named", "check_kind")
PHRASES = ("see above", "those that")
RELATIVE = re.compile(r"(What|Where|How|Whether|Which|When|Who|Whose|Why|It|Its|They|Their|Those|Likewise)\b")
REFERENCE = re.compile(r"See `[^`]*`(, [\w `.]+)?\.?(\s|$)")
WORDS = {  # the glossary's replacements; a word in backticks is a name, not prose
    re.compile(r"\blaws?\b", re.IGNORECASE): "distribution",
    re.compile(r"\bmembers? of (the|a|its|some) (language|constraint|grammar|schema)\b"): "valid, in the language",
    re.compile(r"\bsituations?\b", re.IGNORECASE): "state, or what it is of",
    re.compile(r"\brooms?\b(?! (for|left|in the arena|to))", re.IGNORECASE): "package",
}
IGNORED = ("NotImplementedError", "StopIteration", "AssertionError")  # raised, but no part of a contract


def main() -> int:
    given = [Path(each).resolve() for each in sys.argv[1:]]
    faults = sorted(bad_phrases(given) if given else {*missing_parts(), *bad_phrases()})
    print("\n".join(f"missing: {fault}" for fault in faults) or "docstrings: nothing is missing")
    return bool(faults)


def missing_parts() -> Iterator[str]:
    """`module.name: part` for each part that a public name's docstring lacks."""
    seen: set[int] = set()
    for module_name in MODULES:
        module = importlib.import_module(module_name)
        for name in module.__all__:
            value = getattr(module, name)
            if id(value) in seen or not (inspect.isclass(value) or inspect.isroutine(value)):
                continue
            seen.add(id(value))
            for part in lacking(value):
                yield f"{module_name}.{name}: {part}"


def lacking(value: Any) -> list[str]:
    """The parts that the docstring of a function or class lacks."""
    doc = docstring(value)
    if not doc.strip():
        return ["summary"]
    body = source(value.__init__ if inspect.isclass(value) else value)
    needed = {"Example": (">>>", "```")}
    if inspect.isclass(value):
        if dataclasses.is_dataclass(value) or hasattr(value, "_fields"):
            needed["Attributes"] = ("Attributes:",)
        elif parameters(value.__init__):
            needed["Args"] = ("Args:", "Attributes:")
    else:
        if parameters(value):
            needed["Args"] = ("Args:",)
        if inspect.signature(value).return_annotation not in ("None", None, inspect.Signature.empty):
            needed["Returns"] = ("Returns:", "Yields:")
    if body is not None and raises(body):
        needed["Raises"] = ("Raises:",)
    return [part for part, signs in needed.items() if not any(sign in doc for sign in signs)]


def docstring(value: Any) -> str:
    """The docstring itself, not an inherited one; of a class with that of its `__init__`."""
    own = value.__dict__.get("__doc__") if inspect.isclass(value) else value.__doc__
    if dataclasses.is_dataclass(value) and own and own.startswith(f"{value.__name__}("):
        own = ""  # dataclasses write a signature where there is no docstring
    made = value.__dict__.get("__init__") if inspect.isclass(value) else None
    return inspect.cleandoc(own or "") + "\n" + inspect.cleandoc(getattr(made, "__doc__", None) or "")


def parameters(function: Any) -> list[str]:
    try:
        names = list(inspect.signature(function).parameters)
    except (TypeError, ValueError):  # a function of C
        return []
    return [name for name in names if name not in ("self", "cls", "args", "kwargs")]


def source(function: Any) -> ast.AST | None:
    """The syntax tree of a function of the package; None where there is none, as for `__init__` of a dataclass."""
    try:
        file = inspect.getsourcefile(function)
        if file is None or ROOT not in Path(file).resolve().parents:
            return None
        return ast.parse(textwrap.dedent(inspect.getsource(function)))
    except (OSError, TypeError):
        return None


def raises(body: ast.AST) -> bool:
    for node in ast.walk(body):
        if isinstance(node, ast.Raise) and not any(name in ast.dump(node) for name in IGNORED):
            return True
        if isinstance(node, ast.Call):
            called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if called in CHECKERS:
                return True
    return False


def bad_phrases(places: Sequence[Path] = ()) -> Iterator[str]:
    """`file:line: name: what` for each docstring that breaks a rule of prose. places: files and folders; none: all."""
    for place in places or [ROOT / folder for folder in ("constrain", "tests", "scripts", "benchmarks")]:
        for path in sorted(place.rglob("*.py")) if place.is_dir() else [place]:
            of_the_package = (ROOT / "constrain") in path.parents
            for node, doc in docstrings(path.read_text(encoding="utf-8")):
                where = f"{path.relative_to(ROOT).as_posix()}:{getattr(node, 'lineno', 1)}: "
                where += getattr(node, "name", "the module")
                yield from (f"{where}: {fault}" for fault in faults_of(doc, of_the_package))


def docstrings(source: str) -> Iterator[tuple[ast.AST, str]]:
    """The documented nodes of a module, each with its docstring."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            doc = ast.get_docstring(node)
            if doc:
                yield node, doc


def faults_of(doc: str, of_the_package: bool = True) -> Iterator[str]:
    """The rules of prose that a docstring breaks."""
    first = doc.splitlines()[0]
    if first.endswith("?") or doc.rstrip().endswith("?"):
        yield "a statement instead of a question"
    if RELATIVE.match(first):
        yield f"a first line that says what the thing does or is, without {first.split()[0]!r}"
    if REFERENCE.match(first):
        yield "a sentence instead of a reference, or no docstring"
    plain = " ".join(re.sub(r"`[^`]*`|^ +.*$", "", doc, flags=re.MULTILINE).lower().split())
    yield from (f"another word for {phrase!r}" for phrase in PHRASES if phrase in plain)
    if of_the_package:
        prose = re.sub(r"`[^`]*`", "", doc)
        for word, better in WORDS.items():
            found = word.search(prose)
            if found:
                yield f"{found[0]!r}: {better}"


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    sys.exit(main())
