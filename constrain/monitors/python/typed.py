"""Attributes, results and elements of objects whose type is declared, by the outlines of their modules.

Without an outline, or where an annotation is missing, they are not known (None), as in values.py.
"""

from __future__ import annotations

import abc
import ast
import contextlib
import enum
import inspect
import sys
import types
import typing
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from constrain.monitors.python.definitions import Class, Method, PythonFunction, signature_of
from constrain.monitors.python.hints import (
    ABSENT,
    GUARDS,
    ITSELF,
    NOTHING_KNOWN,
    TypeUnion,
    declared,
    dotted,
    element,
    is_object,
    object_of,
    one_of,
)
from constrain.monitors.python.outlines import (
    FUNCTIONS,
    SPELLED,
    Definition,
    class_found,
    is_variable,
    member,
    members,
    outline,
    own_names,
    parameters_of,
    stored_value,
    typeshed,
)
from constrain.monitors.python.values import (
    PythonCall,
    PythonValue,
    attribute,
    attributes,
    fields_of,
    instance_of,
    is_dynamic,
    value_of,
)

UNBOUNDED = (types.ModuleType, types.FunctionType, types.SimpleNamespace, type)  # they may have any attributes
PROPERTIES = frozenset({"property", "cached_property", "abstractproperty", "DynamicClassAttribute"})
PLAIN = frozenset({"abstractmethod", "classmethod", "deprecated", "final", "overload", "override", "staticmethod",
                   "type_check_only", "wraps", "lru_cache", "cache"})  # fmt: skip
CONCRETE = frozenset({"builtins", "re", "pathlib", "datetime", "decimal", "fractions"})  # no protocols among theirs
PLAIN_METACLASSES = (type, abc.ABCMeta, enum.EnumMeta, type(typing.Protocol))


def names_of_decorators(node: ast.AST) -> Iterator[str]:
    """The last names of the decorators of a function."""
    for each in getattr(node, "decorator_list", ()):
        yield dotted(each.func if isinstance(each, ast.Call) else each).rpartition(".")[2]


@lru_cache(maxsize=4096)
def typed_attributes(value: PythonValue) -> frozenset[str] | None:
    """The attributes of an object by its class, and by the texts or stubs of its bases; None: they are not known."""
    cls = value.what.obj
    if cls in UNBOUNDED or is_dynamic(cls):
        return None
    names = frozenset(dir(cls)) | (fields_of(cls) or frozenset())
    for base in cls.__mro__[:-1]:
        found = class_found(base)
        if found is not None:
            names |= own_names(found.nodes[-1])
        elif base.__dictoffset__ and base.__module__ != "builtins":
            return None
    return None if "__getattr__" in names else names


@lru_cache(maxsize=8192)
def typed_attribute(value: PythonValue, name: str) -> Any:
    """The value of an attribute of a value; None: it is not known."""
    obj = value.what.obj
    if isinstance(obj, types.ModuleType):
        return _of_module(obj, name)
    if value.role == "method" or (typed_attributes if value.role == "instance" else attributes)(value) is None:
        return None
    is_class = value.role == "object" and isinstance(obj, type)
    cls = obj if is_class or value.role == "instance" else type(obj)
    owner = value if value.role == "instance" else instance_of(cls, by_user=True)
    if is_class and issubclass(cls, enum.Enum) and name in cls.__members__:
        return owner
    found = member(cls, owner.args, name)
    if found is not None and not isinstance(found.nodes[0], FUNCTIONS):
        if isinstance(found.nodes[0], ast.ClassDef):
            return attribute(value, name)
        return itself(one_of(*(stored_value(node, found) for node in found.nodes)), owner)
    if found is not None and PROPERTIES.intersection(names_of_decorators(found.nodes[0])):
        return None if is_class else itself(_returned(found._replace(nodes=found.nodes[:1]), PythonCall()), owner)
    known = attribute(value, name, True)
    if known is None or known.role == "instance":
        return None
    return known._replace(args=(owner, name)) if isinstance(known.what.obj, _CALLABLE) else known


_CALLABLE = (types.FunctionType, types.BuiltinFunctionType, types.MethodDescriptorType, types.WrapperDescriptorType,
             types.ClassMethodDescriptorType)  # fmt: skip


@lru_cache(maxsize=512)
def module_attributes(module: types.ModuleType, this_platform: bool) -> frozenset[str] | None:
    """The attributes of a module, and the names that its text defines for type checkers; None: they are not known."""
    names, text = attributes(value_of(module), this_platform), outline(module.__name__)
    return names if names is None or text is None else names.union(text.table)


def _of_module(module: types.ModuleType, name: str) -> Any:
    obj = vars(module).get(name)
    if obj is None or isinstance(obj, (types.ModuleType, type, *_CALLABLE)) or callable(obj):
        return None if obj is None else value_of(obj)
    text = outline(module.__name__)
    found = None if text is None else text.find(name)
    if found is not None and isinstance(found.nodes[-1], ast.AnnAssign) and found.nodes[-1].value is None:
        return declared(found.nodes[-1].annotation, found.thing)
    return instance_of(type(obj), by_user=True) if type(obj).__module__ not in ("typing", "types") else value_of(obj)


def itself(value: Any, owner: Any) -> Any:
    """A result with its owner where `Self` stands."""
    if value == ITSELF:
        return owner
    if isinstance(value, TypeUnion):
        return one_of(*(itself(each, owner) for each in value.options))
    if isinstance(value, PythonValue) and value.role == "instance" and value.args:
        return value._replace(args=tuple(itself(each, owner) for each in value.args))
    return value


@lru_cache(maxsize=8192)
def typed_result(value: PythonValue, call: PythonCall) -> Any:
    """The value of the result of a call that was read; None: it is not known."""
    obj = value.what.obj
    if value.role == "object" and isinstance(obj, type):
        return _made(obj, call)
    if obj is typing.cast:
        return object_of(call.values[0]) if call.values else None
    if value.role == "instance":
        called = typed_attribute(value, "__call__")
        return None if called is None else typed_result(called, call)
    found = _definition(value)
    if found is None or getattr(obj, "__name__", "") == "__new__":
        return None
    result = itself(_returned(found, call), value.args[0] if value.args else None)
    return result if is_object(result) else None


def _made(cls: type, call: PythonCall) -> Any:
    """The object that a class makes."""
    if type(cls) not in PLAIN_METACLASSES or cls in (type, object, super):
        return None
    plain = instance_of(cls, by_user=True)
    found = class_found(cls)
    if found is None:
        return plain
    made = member(cls, (), "__new__") if "__new__" in members(_class_node(found)) else member(cls, (), "__init__")
    if made is None or not isinstance(made.nodes[-1], FUNCTIONS):
        return plain
    values = (None, *call.values)
    bound: dict[str, Any] = {}
    for node in _chosen(made, call._replace(by_position=call.by_position + 1, values=values))[:1]:
        _infer_all(node, made, values, bound)
        said = declared(node.returns, made._replace(types={**bound, **made.types}).thing)
        if isinstance(said, PythonValue) and said.key == plain.key and said.args:
            return said
    args = tuple(bound.get(name) for name in parameters_of(found))
    return plain._replace(args=args) if any(each is not None for each in args) else plain


def _class_node(found: Definition) -> ast.ClassDef:
    node = found.nodes[-1]
    assert isinstance(node, ast.ClassDef)
    return node


def _definition(value: PythonValue) -> Definition | None:
    """The definition of a function."""
    if value.args:
        owner, name = value.args
        return member(owner.what.obj, owner.args, name)
    obj = value.what.obj
    name, where = getattr(obj, "__qualname__", ""), getattr(obj, "__module__", None)
    if not isinstance(where, str) or "." in name or not name:
        return None
    for module in (where, SPELLED.get(where, where.removeprefix("_")), "builtins"):
        text = outline(module)
        found = None if text is None else text.find(name)
        if found is not None and isinstance(found.nodes[-1], FUNCTIONS):
            return found
    return None


def _chosen(found: Definition, call: PythonCall) -> list[Any]:
    """The definitions that a call may mean: overloads that take as many arguments."""
    nodes = [node for node in found.nodes if isinstance(node, FUNCTIONS)]
    overloads = [node for node in nodes if "overload" in names_of_decorators(node)]
    fitting = [node for node in overloads if _takes(node, call)]
    return [node for node in fitting if not _clashes(node, found, call.values)] or fitting if overloads else nodes[-1:]


def _clashes(node: Any, found: Definition, values: tuple[Any, ...]) -> bool:
    """True if the class of an argument is certainly not the one of its parameter."""
    placed = [*node.args.posonlyargs, *node.args.args]
    for parameter, value in zip(placed, values, strict=False):
        given = value.what.obj if isinstance(value, PythonValue) and value.role == "instance" else None
        if given is None or parameter.annotation is None:
            continue
        taken = declared(parameter.annotation, found.thing)
        if isinstance(taken, PythonValue) and taken.role == "instance" and taken.what.obj.__module__ in CONCRETE:
            if not issubclass(given, taken.what.obj) and taken.what.obj not in (float, complex):
                return True
    return False


def _takes(node: Any, call: PythonCall) -> bool:
    arguments = node.args
    placed = [*arguments.posonlyargs, *arguments.args]
    names = [each.arg for each in placed]
    without = len(placed) - len(arguments.defaults)
    listed = [name + "=" * (i >= without) for i, name in enumerate(names)]
    if arguments.posonlyargs:
        listed.insert(len(arguments.posonlyargs), "/")
    listed += ["*" + arguments.vararg.arg] if arguments.vararg else ["*"] if arguments.kwonlyargs else []
    pairs = zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    listed += [each.arg + "=" * (default is not None) for each, default in pairs]
    listed += ["**" + arguments.kwarg.arg] if arguments.kwarg else []
    signature = signature_of(listed)
    if call.unpacked:
        return True
    fits = signature.keywords is None or call.named <= signature.keywords
    return fits and PythonCall(signature, by_position=call.by_position, named=call.named).is_valid


def _returned(found: Definition, call: PythonCall) -> Any:
    """The value of what a function returns."""
    is_method = bool(found.types) or _is_method(found)
    given = call._replace(by_position=call.by_position + is_method, values=(None,) * is_method + call.values)
    nodes = _chosen(found, given)
    results = []
    for node in nodes:
        bound: dict[str, Any] = {}
        _infer_all(node, found, given.values, bound)
        within = found._replace(types={**bound, **found.types}) if bound else found
        others = set(names_of_decorators(node)) - PLAIN - PROPERTIES
        result = declared(node.returns, within.thing)
        if isinstance(node, ast.AsyncFunctionDef) or others - {"contextmanager"}:
            result = None
        elif others:
            result = _manager(element(result))
        results.append(result)
    return one_of(*results) if results else None


def _is_method(found: Definition) -> bool:
    arguments = getattr(found.nodes[-1], "args", None)
    placed = [*arguments.posonlyargs, *arguments.args] if arguments is not None else []
    return bool(placed) and placed[0].arg in ("self", "cls")


def _manager(entered: Any) -> Any:
    return instance_of(contextlib._GeneratorContextManager, by_user=True, args=(entered,))


def _infer_all(node: Any, found: Definition, values: tuple[Any, ...], bound: dict[str, Any]) -> None:
    """Find what type variables stand for, from the values of the arguments by position."""
    placed = [*node.args.posonlyargs, *node.args.args]
    for i, value in enumerate(values):
        parameter = placed[i] if i < len(placed) else node.args.vararg
        if parameter is not None and parameter.annotation is not None and value is not None:
            _infer(parameter.annotation, value, found, bound)


def _infer(annotation: ast.expr, value: Any, found: Definition, bound: dict[str, Any]) -> None:
    match annotation:
        case ast.Name(id=name) if name not in found.types and is_variable(found.outline.thing(name)):
            bound[name] = value if name not in bound else one_of(bound[name], value)
        case ast.Subscript(value=form, slice=inner):
            first = inner.elts[0] if isinstance(inner, ast.Tuple) else inner
            name = dotted(form).rpartition(".")[2]
            if name in ("type", "Type"):
                _infer_known(first, object_of(value), found, bound)
            elif name in ("Iterable", "Iterator", "Sequence", "Collection", "list", "set", "Reversible"):
                _infer_known(first, iterated(value), found, bound)
            elif name in ("dict", "Mapping", "SupportsKeysAndGetItem", "Awaitable") and isinstance(value, PythonValue):
                given = inner.elts if isinstance(inner, ast.Tuple) else [inner]
                for each, arg in zip(given, value.args, strict=False):
                    _infer_known(each, arg, found, bound)


def _infer_known(annotation: ast.expr, value: Any, found: Definition, bound: dict[str, Any]) -> None:
    if value is not None and value is not ...:
        _infer(annotation, value, found, bound)


def _special(value: Any, name: str, call: PythonCall) -> Any:
    """The result of a method that the language calls."""
    if not isinstance(value, PythonValue) or value.role != "instance":
        return None
    method = typed_attribute(value, name)
    is_method = isinstance(method, PythonValue) and method.role == "method"
    return typed_result(method, call) if is_method else None


@lru_cache(maxsize=4096)
def iterated(value: Any) -> Any:
    """The value of what a value gives to `for`; None: it is not known."""
    if isinstance(value, TypeUnion):
        return one_of(*(iterated(each) for each in value.options if each != ABSENT))
    known = element(value)
    if known is not None or not isinstance(value, PythonValue):
        return known
    iterator = _special(value, "__iter__", PythonCall())
    if iterator is None:
        return None
    return element(iterator) or _special(iterator, "__next__", PythonCall())


@lru_cache(maxsize=4096)
def entered(value: Any) -> Any:
    """The value that `with … as` binds; None: it is not known."""
    return _special(value, "__enter__", PythonCall())


@lru_cache(maxsize=4096)
def item(value: Any, is_slice: bool) -> Any:
    """The value of `value[…]`; None: it is not known."""
    if isinstance(value, TypeUnion):
        return one_of(*(item(each, is_slice) for each in value.options if each != ABSENT))
    if not isinstance(value, PythonValue) or value.role != "instance":
        return None
    if value.what.obj in (str, bytes, list, tuple) and is_slice:
        return value
    if value.what.obj in (tuple, list):
        return element(value)
    method = typed_attribute(value, "__getitem__")
    if not isinstance(method, PythonValue) or not method.args:
        return None
    found = _definition(method)
    if found is None:
        return None
    kept = tuple(node for node in found.nodes if _is_for_slices(node) == is_slice) or found.nodes
    return itself(_returned(found._replace(nodes=kept), PythonCall(by_position=1)), value)


@lru_cache(maxsize=4096)
def is_guard(value: Any) -> bool:
    """True if a function narrows the type of its first argument."""
    if value == NOTHING_KNOWN or isinstance(value, PythonFunction | Method):
        return value == NOTHING_KNOWN or value.kind == "guard"
    found = _definition(value) if isinstance(value, PythonValue) and value.role != "instance" else None
    return found is not None and any(says_guard(getattr(node, "returns", None)) for node in found.nodes)


def says_guard(node: Any) -> bool:
    """True if an annotation is the one of a function that narrows a type."""
    return isinstance(node, ast.Subscript) and dotted(node.value).rpartition(".")[2] in GUARDS


def _is_for_slices(node: Any) -> bool:
    arguments = getattr(node, "args", None)
    placed = [] if arguments is None else [*arguments.posonlyargs, *arguments.args]
    annotation = placed[1].annotation if len(placed) > 1 else None
    return "slice" in (dotted(each) for each in ast.walk(annotation)) if annotation is not None else False


def class_with_arguments(value: Any) -> Any:
    """The value of `value[…]` where that is a class with type arguments; None: it is none."""
    if isinstance(value, Class):
        return value
    is_class = isinstance(value, PythonValue) and value.role == "object" and isinstance(value.what.obj, type)
    return value if is_class and not isinstance(value.what.obj, enum.EnumMeta) else None


def parts(value: Any, count: int) -> tuple[Any, ...]:
    """The values of the names that a value is unpacked to."""
    if isinstance(value, PythonValue) and value.what.obj is tuple and value.role == "instance":
        if len(value.args) == count and ... not in value.args:
            return value.args
    return (iterated(value),) * count


def of_library(value: Any) -> bool:
    """True if a value may be of a class of the standard library: it may have more attributes in other versions."""
    if isinstance(value, TypeUnion):
        return any(map(of_library, value.options))
    obj = value.what.obj if isinstance(value, PythonValue) else None
    module = (obj.__name__ if inspect.ismodule(obj) else getattr(obj, "__module__", None)) or "builtins"
    return module != "builtins" and module.partition(".")[0] in sys.stdlib_module_names


def has_stubs() -> bool:
    """True if the stubs of the standard library are there."""
    return typeshed() is not None


def is_module(value: Any) -> bool:
    """True if a value is a module."""
    return isinstance(value, PythonValue) and inspect.ismodule(value.what.obj)
