"""Attributes of values, and how they are called: those of objects that are looked at, and of what the text defines.

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
    Function,
    Instance,
    Method,
    Self,
    bound_signature,
    signature_of,
)
from constrain.monitors.python.naming import Naming, module_of
from constrain.monitors.python.scopes import Scope
from constrain.monitors.python.state import Py
from constrain.monitors.python.values import (
    Call,
    Signature,
    Value,
    attribute,
    attributes,
    called,
    instance_of,
    signature,
    value_of,
)
from constrain.monitors.stacks import each, replaced


class _Plain:
    pass


OF_INSTANCES = frozenset(dir(_Plain()))
OF_CLASSES = OF_INSTANCES | frozenset(dir(type))
COMPUTES = frozenset({"__getattr__", "__getattribute__", "__slots__", "__mro_entries__"})  # in the body of a class
# Stored attributes that change what objects have or how they are called. "*": one under a computed name.
CHANGES = frozenset({"*", "__class__", "__bases__", "__defaults__", "__kwdefaults__", "__code__", "__dict__",
                     "__getattr__", "__getattribute__"})  # fmt: skip
CALLED_OTHERWISE = CHANGES | {"__init__", "__new__"}
METACLASSES = (type, abc.ABCMeta)
KEEPS_CLASS = (dataclasses.dataclass, functools.total_ordering)  # decorators that leave a class its attributes
KEEPS_SELF = (property, functools.cached_property, abc.abstractmethod)  # those after which `self` is an instance
OF_DATACLASSES = frozenset({"__dataclass_fields__", "__dataclass_params__", "__match_args__", "__replace__"})


class Members(Naming):
    """What values have."""

    def attributes_at(self, here: Py, value: Any) -> frozenset[str] | None:
        """The attributes of a value; None: they are not known."""
        if isinstance(value, Value):
            return attributes(value, self.strict)
        cls = self._class_at(here, value)
        stored = module_of(here).stored
        if cls is None or stored & CHANGES or (not self.strict and self.later(here)):
            return None
        return _attributes(cls, isinstance(value, Class) or (isinstance(value, Self) and value.is_class), stored)

    def attribute_at(self, here: Py, value: Any, name: str) -> Any:
        """What is known of an attribute of a value."""
        if value is None:
            return None
        if isinstance(value, Value):
            return attribute(value, name)
        cls, stored = self._class_at(here, value), module_of(here).stored
        if cls is None or name in stored or stored & CHANGES or (not self.strict and self.later(here)):
            return None
        found = _found(cls, name, isinstance(value, Class))
        if isinstance(found, Function) and not isinstance(value, Class):
            bound = None if isinstance(value, Self) and value.is_class else bound_signature(found.signature)
            return None if bound is None else Method(bound)
        return found

    def call_at(self, here: Py, value: Any) -> Call:
        """A call of a value."""
        if isinstance(value, Value):
            return Call(signature(value), called(value))
        if module_of(here).stored & CALLED_OTHERWISE:
            return Call()
        if isinstance(value, Function | Method):
            return Call(value.signature)
        if not isinstance(value, Class) or (not self.strict and self.later(here)):
            return Call()
        return Call(_constructor(value), Instance(value) if _is_made_plainly(value) else None)

    def stored(self, here: Py, given: Attribute) -> Py:
        """The state after an attribute is stored."""
        scopes = [*each(here.scopes)]
        place = len(scopes) - 1 - (0 if given.depth is None else given.depth)
        scope = scopes[place]
        if given.depth is None:
            names = {given.name}
            if _is_private(given.name):  # as others see it
                names |= {_mangled(one.name, given.name) for one in scopes if one.kind == "class"}
            if names <= scope.stored:
                return here
            scope = scope._replace(stored=scope.stored | names)
        else:
            scope = scope._replace(fields=scope.fields | {given.name})
        return here._replace(scopes=replaced(here.scopes, place, scope))

    def first_argument(self, here: Py) -> Self | None:
        """What is known of the first argument of the function that is defined here."""
        assert here.scopes is not None
        if (
            not self.strict
            or here.scopes[0].kind != "class"
            or not here.params
            or here.params[0] not in ("self", "cls")
        ):
            return None
        depth = sum(1 for _ in each(here.scopes)) - 1
        if here.params[0] == "cls":
            is_method = here.decorators == (value_of(classmethod),)
            return Self(depth, True) if is_method else None
        return Self(depth, False) if _are(here.decorators, KEEPS_SELF) else None

    def class_scope(self, here: Py, name: str, call: Call | None, is_open: bool) -> Scope:
        """The scope of a class of which the head was read."""
        bases: tuple[Any, ...] | None = () if call is None else call.values
        if (call is not None and (call.named or call.unpacked)) or not all(map(_is_base, bases or ())):
            bases = None
        if not _are(here.decorators, KEEPS_CLASS):
            bases = None
        fields = OF_DATACLASSES if here.decorators else frozenset()
        return Scope("class", open=is_open, name=name, bases=bases, fields=fields, decorated=bool(here.decorators))

    def class_of(self, scope: Scope) -> Class:
        """The class whose body was read in a scope."""
        return Class(scope.name, scope.bound, scope.bases, scope.fields, scope.decorated, self.strict)

    def function_of(self, here: Py) -> Function | None:
        """The function that is defined here; None: a decorator may have changed it."""
        return None if here.decorators else Function(signature_of(here.params), self.strict)

    def _class_at(self, here: Py, value: Any) -> Class | None:
        if isinstance(value, Self):
            return self.class_of([*each(here.scopes)][-1 - value.depth])
        return value.of if isinstance(value, Instance) else value if isinstance(value, Class) else None


def _is_private(name: str) -> bool:
    return name.startswith("__") and not name.endswith("__")


def _mangled(cls: str, name: str) -> str:
    """A private name of a class as others see it (language reference, section 6.2.1)."""
    return f"_{cls.lstrip('_')}{name}"


def _are(decorators: tuple[Any, ...], known: tuple[Any, ...]) -> bool:
    """Whether decorators are among known ones."""
    return all(isinstance(one, Value) and one.role == "object" and one.what.obj in known for one in decorators)


def _is_base(value: Any) -> bool:
    """Whether the members of a base class are known."""
    if isinstance(value, Class):
        return value.bases is not None
    if not isinstance(value, Value) or value.role != "object" or not isinstance(value.what.obj, type):
        return False
    return type(value.what.obj) in METACLASSES and not issubclass(value.what.obj, type)


@lru_cache(maxsize=4096)
def _attributes(cls: Class, is_class: bool, stored: frozenset[str]) -> frozenset[str] | None:
    """The attributes of a class of the text, or of its instances; None: they are not known."""
    if cls.bases is None or not COMPUTES.isdisjoint(cls.bound.table):
        return None
    mine = {*cls.bound.table, *cls.fields}
    names = stored | mine | {_mangled(cls.name, name) for name in mine if _is_private(name)}
    for base in cls.bases:
        theirs = (
            _attributes(base, is_class, frozenset())
            if isinstance(base, Class)
            else attributes(instance_of(base.what.obj, given=True))
        )
        if theirs is None:
            return None
        names |= theirs
    return names | (OF_CLASSES if is_class else OF_INSTANCES)


def _found(cls: Class, name: str, is_class: bool) -> Any:
    """What is known of the value of an attribute of a class, or of its instances."""
    if cls.bases is None or name in cls.fields or not COMPUTES.isdisjoint(cls.bound.table):
        return None
    if name in cls.bound.table:
        found = cls.bound.table[name]
        return found if isinstance(found, Function | Class) else None
    if len(cls.bases) != 1:
        return None
    (base,) = cls.bases
    if isinstance(base, Class):
        return _found(base, name, is_class)
    return attribute(value_of(base.what.obj) if is_class else instance_of(base.what.obj), name)


def _constructor(cls: Class) -> Signature | None:
    """How a class of the text is called; None: it is not known."""
    if cls.is_decorated or not _is_made_plainly(cls):
        return None
    assert cls.bases is not None
    if "__init__" in cls.bound.table:
        made = cls.bound.table["__init__"]
        return bound_signature(made.signature) if isinstance(made, Function) else None
    if not cls.bases:
        return signature_of(())
    (base, *others) = cls.bases
    return _constructor(base) if not others and isinstance(base, Class) else None


def _is_made_plainly(cls: Class) -> bool:
    """Whether calling a class makes an instance of it: none of its bases has a `__new__` that Python shows."""
    if cls.bases is None or "__new__" in cls.bound.table:
        return False
    return all(
        _is_made_plainly(base)
        if isinstance(base, Class)
        else not isinstance(inspect.getattr_static(base.what.obj, "__new__"), staticmethod)
        for base in cls.bases
    )
