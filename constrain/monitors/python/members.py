"""Attributes and signatures of values: of objects that are looked at, and of what the text defines.

The idea: an attribute may be stored from anywhere: by another function, from outside the class, under a name that is
computed. So an object of a class of the text has what its class and its bases bind, what methods store in `self`, and
every attribute that the text has stored in an object whose class is not known. Where code runs later, more may be
stored before it does: under `ahead="any"` nothing is refused there, so `self` is judged under "known" alone.
"""

from __future__ import annotations

import abc
import dataclasses
import functools
import inspect
from functools import lru_cache
from typing import Any

from constrain.monitors.python.definitions import (
    Attribute,
    Class,
    Instance,
    Method,
    PythonFunction,
    Self,
    bound_signature,
    signature_of,
)
from constrain.monitors.python.naming import PythonNames
from constrain.monitors.python.scopes import PythonScope
from constrain.monitors.python.state import PythonState
from constrain.monitors.python.values import (
    PythonCall,
    PythonValue,
    Signature,
    attribute,
    attributes,
    call_result,
    instance_of,
    signature,
    value_of,
)
from constrain.monitors.stacks import elements, replace_element


class _Plain:
    pass


OF_INSTANCES = frozenset(dir(_Plain()))
OF_CLASSES = OF_INSTANCES | frozenset(dir(type))
COMPUTES = frozenset({"__getattr__", "__getattribute__", "__slots__", "__mro_entries__"})  # in the body of a class
# Stored attributes that change the attributes or signatures of objects. "*": one under a computed name.
CHANGES = frozenset({"*", "__class__", "__bases__", "__defaults__", "__kwdefaults__", "__code__", "__dict__",
                     "__getattr__", "__getattribute__"})  # fmt: skip
CALLED_OTHERWISE = CHANGES | {"__init__", "__new__"}
METACLASSES = (type, abc.ABCMeta)
KEEPS_CLASS = (dataclasses.dataclass, functools.total_ordering)  # decorators that leave a class its attributes
KEEPS_SELF = (property, functools.cached_property, abc.abstractmethod)  # those after which `self` is an instance
OF_DATACLASSES = frozenset({"__dataclass_fields__", "__dataclass_params__", "__match_args__", "__replace__"})


class PythonMembers(PythonNames):
    """The attributes and calls of values."""

    def attributes_at(self, state: PythonState, value: Any) -> frozenset[str] | None:
        """The attributes of a value; None: they are not known."""
        if isinstance(value, PythonValue):
            return attributes(value, self.strict)
        cls = self._class_at(state, value)
        stored = state.outermost_scope.stored
        if cls is None or stored & CHANGES or (not self.strict and self.may_bind_later(state)):
            return None
        return _attributes(cls, isinstance(value, Class) or (isinstance(value, Self) and value.is_class), stored)

    def attribute_at(self, state: PythonState, value: Any, name: str) -> Any:
        """The value of an attribute of a value; None: it is not known."""
        if value is None:
            return None
        if isinstance(value, PythonValue):
            return attribute(value, name)
        cls, stored = self._class_at(state, value), state.outermost_scope.stored
        if cls is None or name in stored or stored & CHANGES or (not self.strict and self.may_bind_later(state)):
            return None
        member = _class_attribute(cls, name, isinstance(value, Class))
        if isinstance(member, PythonFunction) and not isinstance(value, Class):
            bound = None if isinstance(value, Self) and value.is_class else bound_signature(member.signature)
            return None if bound is None else Method(bound)
        return member

    def call_at(self, state: PythonState, value: Any) -> PythonCall:
        """A call of a value."""
        if isinstance(value, PythonValue):
            return PythonCall(signature(value), call_result(value))
        if state.outermost_scope.stored & CALLED_OTHERWISE:
            return PythonCall()
        if isinstance(value, PythonFunction | Method):
            return PythonCall(value.signature)
        if not isinstance(value, Class) or (not self.strict and self.may_bind_later(state)):
            return PythonCall()
        return PythonCall(_constructor(value), Instance(value) if _is_made_plainly(value) else None)

    def store(self, state: PythonState, stored: Attribute) -> PythonState:
        """The state after an attribute is stored."""
        scopes = [*elements(state.scopes)]
        index = len(scopes) - 1 - (0 if stored.depth is None else stored.depth)
        scope = scopes[index]
        if stored.depth is None:
            names = {stored.name}
            if _is_private(stored.name):  # as others see it
                names |= {_mangle(outer.name, stored.name) for outer in scopes if outer.kind == "class"}
            if names <= scope.stored:
                return state
            scope = scope._replace(stored=scope.stored | names)
        else:
            scope = scope._replace(fields=scope.fields | {stored.name})
        return state._replace(scopes=replace_element(state.scopes, index, scope))

    def first_argument(self, state: PythonState) -> Self | None:
        """The first argument of the function that is being defined; None: nothing is known of it."""
        is_method = state.scope.kind == "class" and state.params and state.params[0] in ("self", "cls")
        if not self.strict or not is_method:
            return None
        depth = sum(1 for _ in elements(state.scopes)) - 1
        if state.params[0] == "cls":
            return Self(depth, True) if state.decorators == (value_of(classmethod),) else None
        return Self(depth, False) if _are_known(state.decorators, KEEPS_SELF) else None

    def class_scope(self, state: PythonState, name: str, call: PythonCall | None, is_open: bool) -> PythonScope:
        """The scope of a class of which the head was read."""
        bases: tuple[Any, ...] | None = () if call is None else call.values
        if (call is not None and (call.named or call.unpacked)) or not all(map(_is_base, bases or ())):
            bases = None
        if not _are_known(state.decorators, KEEPS_CLASS):
            bases = None
        fields = OF_DATACLASSES if state.decorators else frozenset()
        return PythonScope(
            "class", open=is_open, name=name, bases=bases, fields=fields, decorated=bool(state.decorators)
        )

    def make_class(self, scope: PythonScope) -> Class:
        """The class whose body was read in a scope."""
        return Class(scope.name, scope.bound, scope.bases, scope.fields, scope.decorated, self.strict)

    def make_function(self, state: PythonState) -> PythonFunction | None:
        """The function that is defined here; None: a decorator may have changed it."""
        return None if state.decorators else PythonFunction(signature_of(state.params), self.strict)

    def _class_at(self, state: PythonState, value: Any) -> Class | None:
        if isinstance(value, Self):
            return self.make_class([*elements(state.scopes)][-1 - value.depth])
        return value.of if isinstance(value, Instance) else value if isinstance(value, Class) else None


def _is_private(name: str) -> bool:
    return name.startswith("__") and not name.endswith("__")


def _mangle(cls: str, name: str) -> str:
    """A private name of a class as others see it (language reference, section 6.2.1)."""
    return f"_{cls.lstrip('_')}{name}"


def _are_known(decorators: tuple[Any, ...], known: tuple[Any, ...]) -> bool:
    """True if decorators are among known ones."""
    return all(isinstance(one, PythonValue) and one.role == "object" and one.what.obj in known for one in decorators)


def _is_base(value: Any) -> bool:
    """True if the members of a base class are known."""
    if isinstance(value, Class):
        return value.bases is not None
    if not isinstance(value, PythonValue) or value.role != "object" or not isinstance(value.what.obj, type):
        return False
    return type(value.what.obj) in METACLASSES and not issubclass(value.what.obj, type)


@lru_cache(maxsize=4096)
def _attributes(cls: Class, is_class: bool, stored: frozenset[str]) -> frozenset[str] | None:
    """The attributes of a class of the text, or of its instances; None: they are not known."""
    if cls.bases is None or not COMPUTES.isdisjoint(cls.bound.table):
        return None
    mine = {*cls.bound.table, *cls.fields}
    names = stored | mine | {_mangle(cls.name, name) for name in mine if _is_private(name)}
    for base in cls.bases:
        theirs = (
            _attributes(base, is_class, frozenset())
            if isinstance(base, Class)
            else attributes(instance_of(base.what.obj, by_user=True))
        )
        if theirs is None:
            return None
        names |= theirs
    return names | (OF_CLASSES if is_class else OF_INSTANCES)


def _class_attribute(cls: Class, name: str, is_class: bool) -> Any:
    """The value of an attribute of a class, or of its instances; None: it is not known."""
    if cls.bases is None or name in cls.fields or not COMPUTES.isdisjoint(cls.bound.table):
        return None
    if name in cls.bound.table:
        value = cls.bound.table[name]
        return value if isinstance(value, PythonFunction | Class) else None
    if len(cls.bases) != 1:
        return None
    (base,) = cls.bases
    if isinstance(base, Class):
        return _class_attribute(base, name, is_class)
    return attribute(value_of(base.what.obj) if is_class else instance_of(base.what.obj), name)


def _constructor(cls: Class) -> Signature | None:
    """The signature of a class of the text; None: it is not known."""
    if cls.is_decorated or not _is_made_plainly(cls):
        return None
    assert cls.bases is not None
    if "__init__" in cls.bound.table:
        made = cls.bound.table["__init__"]
        return bound_signature(made.signature) if isinstance(made, PythonFunction) else None
    if not cls.bases:
        return signature_of(())
    (base, *others) = cls.bases
    return _constructor(base) if not others and isinstance(base, Class) else None


def _is_made_plainly(cls: Class) -> bool:
    """True if calling a class makes an instance of it: none of its bases has a `__new__` that Python shows."""
    if cls.bases is None or "__new__" in cls.bound.table:
        return False
    return all(
        _is_made_plainly(base)
        if isinstance(base, Class)
        else not isinstance(inspect.getattr_static(base.what.obj, "__new__"), staticmethod)
        for base in cls.bases
    )
