"""The parsers that verdicts are compared with, by the names that `settings.json` uses.

An oracle is a function from the bytes of a text to a verdict: True, a member; False, not one; None, refused for a
reason that the grammar's README names as beyond a grammar (keys that repeat, say), so that no comparison is made.
A text that is not UTF-8 is no member of any language here.

`find` raises MissingError where a package or a program is not installed.
"""

from __future__ import annotations

import importlib
import os
import shutil
import warnings
from collections.abc import Callable
from functools import wraps

Oracle = Callable[[bytes], bool | None]


class MissingError(Exception):
    """The package or program of an oracle is not installed."""


def find(name: str) -> Oracle:
    """The oracle of this name. Raises MissingError, ValueError for a name that is none."""
    module, _, function = HOMES.get(name, "").partition(":")
    package, program = PACKAGES.get(name), PROGRAMS.get(name)
    try:
        if package:
            importlib.import_module(package)
        if program and shutil.which(program) is None:
            raise ImportError(program)
        if module:
            oracle: Oracle = getattr(importlib.import_module(module), function)
            return oracle
        if name.startswith(TREE_SITTER):
            return _tree_sitter(name.removeprefix(TREE_SITTER))
    except ImportError as error:
        raise MissingError(f"the oracle {name} needs what is not installed: {error}") from None
    raise ValueError(f"there is no oracle {name!r}; there are {', '.join(HOMES)} and {TREE_SITTER}LANGUAGE")


TREE_SITTER = "tree-sitter-"
HOMES = {  # name -> module:function
    "arithmetic": "languages.oracles:arithmetic",
    "csv": "languages.oracles:csv",
    "expat": "languages.readers:expat",
    "gbnf": "languages.readers:gbnf",
    "gcc": "languages.compilers:gcc",
    "gofmt": "languages.compilers:gofmt",
    "gxx": "languages.compilers:gxx",
    "graphql-core": "languages.oracles:graphql",
    "javac": "languages.compilers:javac",
    "jinja2": "languages.oracles:jinja",
    "json": "languages.oracles:json",
    "json5": "languages.oracles:json5",
    "lark": "languages.readers:lark",
    "markdown-it-table": "languages.readers:table",
    "node": "languages.compilers:node",
    "partialsmiles": "languages.smiles_oracle:smiles",
    "python": "languages.oracles:python",
    "pyyaml-flow": "languages.yaml_oracle:flow",
    "re": "languages.readers:pattern",
    "sqlite": "languages.sqlite:sqlite",
    "sqlite-and-postgresql": "languages.sqlite:both",
    "tomllib": "languages.oracles:tomllib",
}
PACKAGES = {  # that an oracle needs; the `re` with possessive quantifiers is as old as tomllib
    "graphql-core": "graphql", "jinja2": "jinja2", "json5": "json5", "lark": "lark", "markdown-it-table": "markdown_it",
    "re": "tomllib", "sqlite-and-postgresql": "pglast", "tomllib": "tomllib",
}  # fmt: skip
GOFMT = os.environ.get("GOFMT", "gofmt")  # where it is not on the path
PROGRAMS = {"gcc": "gcc", "gofmt": GOFMT, "gxx": "g++", "javac": "javac", "node": "node"}


def of_text(read: Callable[[str], bool | None]) -> Oracle:
    """The oracle that asks `read` about texts, and refuses what is not UTF-8."""

    @wraps(read)
    def oracle(text: bytes) -> bool | None:
        try:
            shown = text.decode("utf-8")
        except UnicodeDecodeError:
            return False
        return read(shown)

    return oracle


def _tree_sitter(language: str) -> Oracle:
    """The parser of a language: a text is a member if its tree has no error and no node that had to be made up.

    Packages: tree-sitter, and tree-sitter-LANGUAGE. Limit: its grammars are written for editors, and take somewhat more
    than the language; where that shows, the grammar's README says so.
    """
    import tree_sitter

    package = importlib.import_module(f"tree_sitter_{language.replace('-', '_')}")
    parser = tree_sitter.Parser(tree_sitter.Language(package.language()))
    return of_text(lambda shown: not parser.parse(shown.encode()).root_node.has_error)


Faults = type[BaseException] | tuple[type[BaseException], ...]


def _reads(read: Callable[[], object], faults: Faults, beyond: Faults = ()) -> bool | None:
    """The verdict of a reader that raises for a text that it does not take. beyond: raised where it has no verdict."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            read()
    except beyond:
        return None
    except faults:
        return False
    return True


@of_text
def json(shown: str) -> bool | None:
    """RFC 8259, by the standard library; its extension NaN and Infinity is not counted."""
    from json import JSONDecoder

    def refuse(constant: str) -> None:
        raise ValueError(constant)

    if shown.startswith("\ufeff"):
        return False
    return _reads(lambda: JSONDecoder(parse_constant=refuse, parse_int=str).decode(shown), ValueError)


@of_text
def python(shown: str) -> bool | None:
    """The parser of the interpreter that runs this (`ast.parse`). None: nested too deeply for it."""
    import ast

    faults = SyntaxError, ValueError  # the second: a null byte
    return _reads(lambda: ast.parse(shown), faults, (RecursionError, MemoryError))


@of_text
def tomllib(shown: str) -> bool | None:
    """TOML 1.0.0, by the standard library (3.11 and later). None: a key or a table that is defined twice."""
    from tomllib import TOMLDecodeError, loads

    try:
        loads(shown)
    except TOMLDecodeError as error:
        return None if str(error).startswith(_DEFINED_TWICE) else False
    except RecursionError:
        return None
    return True


_DEFINED_TWICE = ("Cannot declare", "Cannot overwrite", "Cannot mutate", "Cannot redefine", "Duplicate inline")


@of_text
def json5(shown: str) -> bool | None:
    """JSON5 1.0.0, by the package json5."""
    from json5 import loads

    return _reads(lambda: loads(shown), (ValueError, RecursionError))


@of_text
def arithmetic(shown: str) -> bool:
    """Python's expressions of numbers, + - * / // % **, signs and parentheses on one line, by the standard library."""
    import ast

    if not set(shown) <= _ARITHMETIC:
        return False
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            nodes = list(ast.walk(ast.parse(shown.strip(" \t"), mode="eval")))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    kinds = (ast.Expression, ast.BinOp, ast.UnaryOp, ast.Constant, ast.Add, ast.Sub, ast.Mult, ast.Div)
    kinds += (ast.FloorDiv, ast.Mod, ast.Pow, ast.UAdd, ast.USub)
    return all(isinstance(n, kinds) for n in nodes) and all(
        type(n.value) in (int, float) for n in nodes if isinstance(n, ast.Constant)
    )


_ARITHMETIC = frozenset("0123456789abcdefABCDEFxXoObB_.eE+-*/%() \t")


@of_text
def csv(shown: str) -> bool:
    """RFC 4180 with tabs, characters beyond ASCII and lines that end with LF: quoted fields by the standard library's
    reader in strict mode; that a field without quotes has none inside, which it does not look at, is seen to here."""
    from csv import Error, reader

    if any((c < " " and c not in "\t\r\n") or c == "\x7f" for c in shown):
        return False
    lines = shown.replace("\r\n", "\n")
    try:
        list(reader(lines.split("\n"), strict=True))  # also says which quotes are open at the end
    except Error:
        return False
    inside = False  # of a quoted field
    for before, character in zip("\n" + lines, lines, strict=False):
        if character == '"':
            if not inside and before not in ',\n"':
                return False
            inside = not inside
        elif character == "\r" and not inside:
            return False
    return True


@of_text
def graphql(shown: str) -> bool | None:
    """GraphQL, by the package graphql-core."""
    from graphql import GraphQLSyntaxError, parse

    return _reads(lambda: parse(shown, no_location=True, allow_empty_selection_sets=False), GraphQLSyntaxError)


@of_text
def jinja(shown: str) -> bool | None:
    """Templates of Jinja, by the package jinja2. None: nested too deeply for it."""
    from jinja2 import Environment, TemplateSyntaxError

    return _reads(lambda: Environment().parse(shown), TemplateSyntaxError, RecursionError)
