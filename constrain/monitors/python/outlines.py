"""The outlines of modules: what their texts, or stubs of them, define, with annotations. Nothing is run for it.

The idea: objects show their attributes (values.py), but not their types. Those stand in the text of a module, or in
its stub: typeshed, where an installed package brings it. A class has type parameters, which its bases and members use;
`Definition` is a member with the types that stand for them.
"""

from __future__ import annotations

import ast
import importlib.util
import sys
import types
import typing
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from constrain.monitors.python.hints import ITSELF, NOTHING_KNOWN, Alias, declared, dotted, object_of
from constrain.monitors.python.modules import standard_module
from constrain.monitors.python.values import PythonValue, instance_of, value_of

BUNDLES = {"mypy": "typeshed/stdlib", "jedi": "third_party/typeshed/stdlib"}  # packages that bring typeshed
SPELLED = {"posix": "os", "nt": "os"}  # modules of which another one is the front
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
MOST = 2_000_000  # characters of a text that is read
DEEPEST = 12  # steps from a name to what it stands for


@lru_cache(maxsize=1)
def typeshed() -> Path | None:
    """The folder of the stubs of the standard library; None: no installed package brings them."""
    for package, folder in BUNDLES.items():
        spec = importlib.util.find_spec(package)
        if spec is not None and spec.origin is not None and (Path(spec.origin).parent / folder).is_dir():
            return Path(spec.origin).parent / folder
    return None


class Definition(NamedTuple):
    """A member of a class, or what a module defines.

    Attributes:
        nodes: Its definitions; more than one: overloads.
        outline: The module in which they stand.
        types: What the type parameters of the class stand for.
    """

    nodes: tuple[ast.AST, ...]
    outline: Outline
    types: Mapping[str, Any]

    def thing(self, name: str) -> Any:
        """The value that a dotted name stands for where the member is defined; None: it is not known."""
        return Alias(self.types[name]) if name in self.types else self.outline.thing(name)


class Outline:
    """The outline of a module.

    Args:
        name: The name of the module.
        tree: Its text.
        is_package: Whether it is a package.
        is_stub: Whether its text is a stub.

    Attributes:
        table: Names and their definitions.
        stars: The modules of which all names are imported.
    """

    def __init__(self, name: str, tree: ast.Module, is_package: bool, is_stub: bool) -> None:
        self.is_stub = is_stub
        self.name, self.package = name, name if is_package else name.rpartition(".")[0]
        self.table: dict[str, list[ast.AST]] = {}
        self.stars: list[str] = []
        for node in statements(tree.body):
            if isinstance(node, ast.ImportFrom) and node.names[0].name == "*":
                self.stars.append(self.imported(node))
            for defined in names_of(node):
                self.table.setdefault(defined, []).append(node)

    def imported(self, node: ast.ImportFrom) -> str:
        """The module that an import names."""
        before = self.package.split(".")
        above = before[: len(before) - node.level + 1] if node.level else []
        return ".".join([*above, *([node.module] if node.module else [])])

    def find(self, name: str, left: int = DEEPEST) -> Definition | None:
        """The definitions of a name, of the module that has them; None: they are not known."""
        nodes = self.table.get(name)
        if left and nodes is None:
            for star in self.stars:
                other = outline(star)
                found = None if other is None else other.find(name, left - 1)
                if found is not None:
                    return found
        if not nodes or not left:
            return None
        if isinstance(nodes[-1], ast.ImportFrom):
            other = outline(self.imported(nodes[-1]))
            original = next(each.name for each in nodes[-1].names if (each.asname or each.name) == name)
            return None if other is None else other.find(original, left - 1)
        return Definition(tuple(nodes), self, {})

    def thing(self, name: str, left: int = DEEPEST) -> Any:
        """The value of a class or module that a dotted name stands for, or an `Alias`; None: it is not known."""
        first, _, rest = name.partition(".")
        if not left:
            return None
        thing = self._first_thing(first, left)
        while rest and isinstance(thing, PythonValue):
            first, _, rest = rest.partition(".")
            obj = vars(thing.what.obj).get(first) if isinstance(thing.what.obj, types.ModuleType | type) else None
            thing = None if obj is None else value_of(obj)
        return None if rest else thing

    def _first_thing(self, name: str, left: int) -> Any:
        nodes = self.table.get(name)
        if nodes is None:
            found = self.find(name, left)
            if found is not None and found.outline is not self:
                return found.outline.thing(name, left - 1)
            return self._at_runtime("builtins", name) if found is None else None
        match nodes[-1]:
            case ast.ClassDef():
                return self._at_runtime(self.name, name) or self._in_front(name)
            case ast.Import(names=aliases):
                alias = next(each for each in aliases if names_of_alias(each) == name)
                found_module = module(alias.name if alias.asname else name)
                return None if found_module is None else value_of(found_module)
            case ast.ImportFrom() as node:
                return self._imported_thing(node, name, left)
            case ast.AnnAssign(value=value) if value is not None:
                return self._alias(value, left)
            case ast.Assign(value=value):
                return self._alias(value, left)
        return self._at_runtime(self.name, name)

    def _imported_thing(self, node: ast.ImportFrom, name: str, left: int) -> Any:
        """The value of a name that is imported from a module; None: it is not known."""
        where = self.imported(node)
        original = next(each.name for each in node.names if names_of_alias(each) == name)
        if where in ("typing", "typing_extensions") and original == "Self":
            return Alias(ITSELF)
        at_runtime = self._at_runtime(where, original) or (
            self._at_runtime("typing", original) if "typing" in where else None
        )
        if at_runtime is not None:
            return at_runtime
        other, submodule = outline(where), module(f"{where}.{original}")
        found = None if other is None else other.thing(original, left - 1)
        return value_of(submodule) if found is None and submodule is not None else found

    def _alias(self, value: ast.expr, left: int) -> Any:
        if isinstance(value, ast.Name | ast.Attribute):
            return self.thing(dotted(value), left - 1)
        if isinstance(value, ast.Subscript | ast.BinOp):
            return Alias(declared(value, lambda name: self.thing(name, left - 1)))
        return NOTHING_KNOWN

    def _at_runtime(self, where: str, name: str) -> PythonValue | None:
        found = module(where)
        obj = None if found is None else vars(found).get(name)
        return None if obj is None else value_of(obj)

    def _in_front(self, name: str) -> PythonValue | None:
        """A class that the module in front of this one has: `_io.TextIOWrapper` is of `io`."""
        return self._at_runtime(self.name.removeprefix("_"), name) if self.name.startswith("_") else None


def module(name: str) -> types.ModuleType | None:
    """A module that is looked at: of the standard library, or imported by the user's wish."""
    return standard_module(name) or sys.modules.get(name)


@lru_cache(maxsize=512)
def outline(name: str) -> Outline | None:
    """The outline of a module: of its stub, or else of its text; None: there is none, or it does not parse."""
    path = _path_of(name)
    if path is None or path.stat().st_size > MOST:
        return None
    try:
        tree = ast.parse(path.read_text(encoding="utf-8"))
    except (OSError, SyntaxError, ValueError, RecursionError):
        return None
    return Outline(name, tree, path.stem == "__init__", path.suffix == ".pyi")


def _path_of(name: str) -> Path | None:
    parts = name.split(".")
    stubs = typeshed()
    if stubs is not None and (parts[0] in sys.stdlib_module_names or parts[0] == "_typeshed"):
        for path in (stubs.joinpath(*parts).with_suffix(".pyi"), stubs.joinpath(*parts, "__init__.pyi")):
            if path.is_file():
                return path
    text = getattr(module(name), "__file__", None)
    return Path(text) if isinstance(text, str) and text.endswith(".py") else None


def statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements of a module or class: those behind `if` of this version and platform, and of `try`."""
    for node in body:
        if isinstance(node, ast.If):
            holds = _holds(node.test)
            if holds is not False:
                yield from statements(node.body)
            if holds is not True:
                yield from statements(node.orelse)
        elif isinstance(node, ast.Try):
            for handler in node.handlers:
                yield from statements(handler.body)
            yield from statements([*node.body, *node.orelse])
        else:
            yield node


def _holds(test: ast.expr) -> bool | None:
    """The truth of a condition on the version and the platform; None: it asks for something else."""
    if dotted(test).rpartition(".")[2] == "TYPE_CHECKING":
        return True
    match test:
        case ast.Compare(left=left, ops=[op], comparators=[right]) if dotted(left) in (
            "sys.version_info",
            "sys.platform",
        ):
            mine: Any = sys.version_info[:] if dotted(left) == "sys.version_info" else sys.platform
            try:
                other = ast.literal_eval(right)
                match op:
                    case ast.GtE():
                        return bool(mine >= other)
                    case ast.Lt():
                        return bool(mine < other)
                    case ast.Eq():
                        return bool(mine == other)
                    case ast.NotEq():
                        return bool(mine != other)
            except (ValueError, TypeError):
                return None
    return None


def names_of_alias(alias: ast.alias) -> str:
    """The name that an import binds."""
    return alias.asname or alias.name.partition(".")[0]


def names_of(node: ast.AST) -> Iterator[str]:
    """The names that a statement binds."""
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            yield node.name
        case ast.Import(names=aliases) | ast.ImportFrom(names=aliases):
            yield from map(names_of_alias, aliases)
        case ast.AnnAssign(target=ast.Name(id=name)):
            yield name
        case ast.Assign(targets=targets):
            yield from (target.id for target in targets if isinstance(target, ast.Name))


def class_found(cls: type, args: tuple[Any, ...] = ()) -> Definition | None:
    """The definition of a class, with types for its parameters; None: it is not known."""
    where = cls.__module__
    for name in (where, SPELLED.get(where, where.removeprefix("_"))):
        first, _, rest = cls.__qualname__.partition(".")
        text = outline(name)
        found = None if text is None else text.find(first)
        while found is not None and rest and isinstance(found.nodes[-1], ast.ClassDef):
            first, _, rest = rest.partition(".")
            inner = members(found.nodes[-1]).get(first)
            found = None if inner is None else found._replace(nodes=tuple(inner))
        if found is not None and isinstance(found.nodes[-1], ast.ClassDef):
            return found._replace(types=dict(zip(parameters_of(found), args, strict=False)))
    return None


def parameters_of(found: Definition) -> list[str]:
    """The names of the type parameters of a class."""
    node = found.nodes[-1]
    assert isinstance(node, ast.ClassDef)
    names: dict[str, None] = dict.fromkeys(each.name for each in getattr(node, "type_params", ()))
    for base in node.bases:
        if isinstance(base, ast.Subscript) and dotted(base.value).rpartition(".")[2] in ("Generic", "Protocol"):
            return [each.id for each in ast.walk(base.slice) if isinstance(each, ast.Name)]
    for base in node.bases:
        for each in ast.walk(base.slice) if isinstance(base, ast.Subscript) else ():
            if isinstance(each, ast.Name) and is_variable(found.outline.thing(each.id)):
                names[each.id] = None
    return list(names)


def is_variable(thing: Any) -> bool:
    """True if a name stands for a type variable, as far as that is known."""
    return thing == NOTHING_KNOWN or (isinstance(thing, PythonValue) and isinstance(thing.what.obj, typing.TypeVar))


@lru_cache(maxsize=4096)
def members(node: ast.ClassDef) -> dict[str, list[ast.AST]]:
    """The names that a class body binds, and what its methods store in `self` for the first time."""
    table: dict[str, list[ast.AST]] = {}
    for each in statements(node.body):
        for name in names_of(each):
            table.setdefault(name, []).append(each)
    for method in (each for each in node.body if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef)):
        for stored in ast.walk(method):
            if isinstance(stored, ast.AnnAssign | ast.Assign):
                target = stored.target if isinstance(stored, ast.AnnAssign) else stored.targets[0]
                if isinstance(target, ast.Attribute) and dotted(target.value) == "self":
                    kept = _Stored(stored, method) if isinstance(stored, ast.Assign) else stored
                    table.setdefault(target.attr, []).append(kept)
    return table


class _Stored(ast.AST):
    """A value that a method stores in `self`. It has the parameters of the method around it."""

    def __init__(self, node: ast.Assign, method: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        super().__init__()
        self.value = node.value
        arguments = method.args
        listed = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
        self.annotations = {each.arg: each.annotation for each in listed}


def member(cls: type, args: tuple[Any, ...], name: str) -> Definition | None:
    """The definitions of a member of a class or of its bases; None: they are not known."""
    found = class_found(cls, args)
    return None if found is None else _member(found, name, DEEPEST)


def _member(found: Definition, name: str, left: int) -> Definition | None:
    node = found.nodes[-1]
    if not isinstance(node, ast.ClassDef) or not left:
        return None
    nodes = members(node).get(name)
    if nodes:
        return found._replace(nodes=tuple(nodes))
    for above in _bases(found):
        inherited = _member(above, name, left - 1)
        if inherited is not None:
            return inherited
    return None


def _bases(found: Definition) -> Iterator[Definition]:
    """The definitions of the bases of a class, as far as they are known."""
    node = found.nodes[-1]
    assert isinstance(node, ast.ClassDef)
    for base in node.bases:
        value = declared(base, found.thing)
        cls = value.what.obj if isinstance(value, PythonValue) and value.role == "instance" else None
        above = class_found(cls, value.args) if isinstance(cls, type) else None
        if above is not None:
            yield above


@lru_cache(maxsize=4096)
def own_names(node: ast.AST) -> frozenset[str]:
    """The names that a class binds: in its body, and in any object in its methods."""
    assert isinstance(node, ast.ClassDef)
    stored = (each for each in ast.walk(node) if isinstance(each, ast.Attribute) and isinstance(each.ctx, ast.Store))
    return frozenset(members(node)).union(each.attr for each in stored)


def stored_value(node: ast.AST, found: Definition) -> Any:
    """The value of a member that an assignment gives; None: it is not known."""
    match node:
        case ast.AnnAssign(annotation=annotation):
            return declared(annotation, found.thing)
        case _Stored(value=ast.Constant(value=constant)) | ast.Assign(value=ast.Constant(value=constant)):
            return instance_of(type(constant), by_user=True)
        case _Stored(value=ast.Name(id=name), annotations=annotations) if annotations.get(name) is not None:
            return declared(annotations[name], found.thing)
        case _Stored(value=ast.Call(func=function)):
            thing = found.thing(dotted(function))
            is_class = isinstance(thing, PythonValue) and isinstance(thing.what.obj, type)
            return object_of(thing) if is_class else None
    return None
