"""Attributes and signatures of values: of objects that are looked at, and of what the text defines.

The idea: an attribute may be stored from anywhere: by another function, from outside the class, under a name that is
computed. So an object of a class of the text has what its class and its bases bind, what methods store in `self`, and
every attribute that the text has stored in an object whose class is not known. Where code runs later, more may be
stored before it does: under `ahead="any"` nothing is refused there, so `self` is judged under "known" alone.
"""

from __future__ import annotations

import abc
import dataclasses
import enum
import functools
import inspect
import typing
from functools import lru_cache
from typing import Any

from constrain.monitors.python.declared import ASYNC, PythonTypes, of_class
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
from constrain.monitors.python.hints import (
    ABSENT,
    Declared,
    TypeUnion,
    is_object,
    object_of,
    one_of,
    only,
    parsed,
    present,
)
from constrain.monitors.python.naming import kept_types
from constrain.monitors.python.scopes import NOTHING, PythonScope
from constrain.monitors.python.state import PythonState
from constrain.monitors.python.typed import (
    has_stubs,
    is_module,
    itself,
    module_attributes,
    of_library,
    says_guard,
    typed_attribute,
    typed_attributes,
    typed_result,
)
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
METACLASSES = (type, abc.ABCMeta, enum.EnumMeta, type(typing.Protocol))
KEEPS_CLASS = (dataclasses.dataclass, functools.total_ordering)  # decorators that leave a class its attributes
KEEPS_SELF = (property, functools.cached_property, abc.abstractmethod)  # those after which `self` is an instance
OF_CLASS = frozenset({"__new__", "__init_subclass__", "__class_getitem__"})  # methods whose first argument is the class
NAMED_TUPLE = value_of(typing.NamedTuple)
OF_NAMED_TUPLES = frozenset({"_asdict", "_field_defaults", "_fields", "_make", "_replace"})
OF_DATACLASSES = frozenset({"__dataclass_fields__", "__dataclass_params__", "__match_args__", "__replace__"})


class PythonMembers(PythonTypes):
    """The attributes and calls of values."""

    def attributes_at(self, state: PythonState, value: Any) -> frozenset[str] | None:
        """The attributes of a value; None: they are not known."""
        if self.declares:
            value = self.resolved(state, value)
            if isinstance(value, TypeUnion):
                return self._attributes_of_all(state, present(value))
        if isinstance(value, PythonValue):
            if value == ABSENT:
                return None
            if self.declares and value.role == "instance":
                return typed_attributes(value)
            if (self.declares or state.lazy) and is_module(value):
                return module_attributes(value.what.obj, self.strict)
            return attributes(value, self.strict)
        cls = self._class_at(state, value)
        stored = state.outermost_scope.stored
        if cls is None or stored & CHANGES or self._may_change(state):
            return None
        if isinstance(value, Self) and not self.strict:
            return None  # what the class binds later counts too: `owe`
        return _attributes(cls, isinstance(value, Class) or (isinstance(value, Self) and value.is_class), stored)

    def judges(self, state: PythonState, value: Any) -> bool:
        """True if the attributes of a value count at a state."""
        if value is None:
            return False
        is_future = "annotations" in state.outermost_scope.bound.table  # by `from __future__ import`: not evaluated
        if state.lazy and is_future and not self.strict and not has_stubs():
            return False
        if not self.declares or (isinstance(value, PythonValue) and is_module(value)):
            return not self.asks_where(state) if self.declares and not of_library(value) else not self.doubts(state)
        if not isinstance(value, Self) and self._may_be_element(state):
            return False
        return not (isinstance(value, PythonValue | TypeUnion) and of_library(value) and self.asks_where(state))

    def _may_be_element(self, state: PythonState) -> bool:
        """True if the `for` of a comprehension may still bind the names that stand before it."""
        return any(frame.able and frame.generates and not frame.comprehends for frame in elements(state.frames))

    def _attributes_of_all(self, state: PythonState, values: tuple[Any, ...]) -> frozenset[str] | None:
        """The attributes that one of some values has; None: they are not known."""
        names: frozenset[str] = NOTHING
        for value in values:
            theirs = self.attributes_at(state, value)
            if theirs is None:
                return None
            names |= theirs
        return names if values else None

    def attribute_at(self, state: PythonState, value: Any, name: str) -> Any:
        """The value of an attribute of a value; None: it is not known."""
        if self.declares:
            value = self.resolved(state, value)
            if self.is_loose(state, name):
                return None
        if value is None:
            return None
        if isinstance(value, TypeUnion):
            options = present(value)
            having = [each for each in options if name in (self.attributes_at(state, each) or (name,))]
            return (
                self.attribute_at(state, having[0], name)
                if len(having) == 1
                else one_of(*(self._object_attribute(state, each, name) for each in having))
            )
        if isinstance(value, PythonValue):
            return typed_attribute(value, name) if self.declares else attribute(value, name)
        cls, stored = self._class_at(state, value), state.outermost_scope.stored
        if cls is None or name in stored or stored & CHANGES or self._may_change(state):
            return None
        is_class = isinstance(value, Class) or (isinstance(value, Self) and value.is_class)
        if self.declares:
            return self._declared_attribute(state, value, cls, name, is_class)
        member = _class_attribute(cls, name, isinstance(value, Class))
        if isinstance(member, PythonFunction) and not isinstance(value, Class):
            bound = None if is_class else bound_signature(member.signature)
            return None if bound is None else Method(bound)
        return member

    def _object_attribute(self, state: PythonState, value: Any, name: str) -> Any:
        """The value of an attribute, if it is an object and no method."""
        found = self.attribute_at(state, value, name)
        return found if is_object(found) else None

    def _declared_attribute(self, state: PythonState, value: Any, cls: Class, name: str, is_class: bool) -> Any:
        """The value of an attribute of a class of the text, or of its objects, by the types that are declared."""
        member = self.resolved(state, _declared_member(cls, name, is_class))
        receiver = object_of(value) if is_class else value
        if not isinstance(member, PythonFunction):
            return itself(member, receiver)
        result = itself(member.result, receiver)
        if member.kind == "property":
            return None if is_class else result
        if member.kind == "any" or member.kind == "static" or (is_class and not member.kind):
            return member._replace(result=result)
        bound = bound_signature(member.signature)
        return None if bound is None else Method(bound, result=result, kind=member.kind)

    def owe(self, state: PythonState, value: Any, name: str) -> PythonState:
        """The state after an attribute of an object was used whose class is still being read, and must bind it."""
        value = only(self.resolved(state, value)) if self.declares else None
        if not self.puts_off(state, value) or self.is_loose(state, name):
            return state
        scopes = [*elements(state.scopes)]
        scope = scopes[-1 - value.depth]
        if name in scope.bound.table or name in scope.fields or name in scope.owed:
            return state
        scope = scope._replace(owed=scope.owed | {name})
        return state._replace(scopes=replace_element(state.scopes, len(scopes) - 1 - value.depth, scope))

    def puts_off(self, state: PythonState, value: Any) -> bool:
        """True if attributes of a value may be bound until its class ends, and must be."""
        if not isinstance(value, Self) or self.strict:
            return False
        scope = [*elements(state.scopes)][-1 - value.depth]
        return scope.bases is not None and (COMPUTES - {"__slots__"}).isdisjoint(scope.bound.table)

    def lacks(self, state: PythonState, scope: PythonScope) -> bool:
        """True if a class that ends lacks an attribute that its methods use."""
        stored = state.outermost_scope.stored
        if not scope.owed or stored & CHANGES:
            return False
        cls = self.make_class(scope)
        names, others = _attributes(cls, False, stored), _attributes(cls, True, stored)
        return names is not None and others is not None and not scope.owed <= names | others

    def _may_change(self, state: PythonState) -> bool:
        """True if classes of the text may get other attributes before the code at a state runs."""
        return not self.strict and not self.declares and self.may_bind_later(state)

    def call_at(self, state: PythonState, value: Any) -> PythonCall:
        """A call of a value."""
        call = self._call_at(state, self.resolved(state, value) if self.declares else value)
        is_method = isinstance(value, Method) or (isinstance(value, PythonValue) and value.role == "method")
        return call._replace(signature=None) if self.declares and is_method and self._may_be_element(state) else call

    def _call_at(self, state: PythonState, value: Any) -> PythonCall:
        if isinstance(value, PythonValue):
            return PythonCall(signature(value), None if self.declares else call_result(value), of=value)
        if isinstance(value, Self):
            return PythonCall(result=Self(value.depth, False)) if value.is_class else PythonCall()
        is_changed = bool(state.outermost_scope.stored & CALLED_OTHERWISE)
        if isinstance(value, PythonFunction | Method):
            is_plain = not is_changed and (isinstance(value, Method) or value.kind != "any")
            return PythonCall(value.signature if is_plain else None, value.result, of=value if self.declares else None)
        if not isinstance(value, Class) or self._may_change(state):
            return PythonCall()
        made = Instance(value) if self.declares or (not is_changed and _is_made_plainly(value)) else None
        return PythonCall(None if is_changed else _constructor(value), made)

    def result_at(self, state: PythonState, call: PythonCall) -> Any:
        """The value of the result of a call that was read."""
        if not self.declares or call.result is not None or not isinstance(call.of, PythonValue):
            return self.resolved(state, call.result) if self.declares else call.result
        given = PythonCall(by_position=call.by_position, named=call.named, unpacked=call.unpacked, values=call.values)
        return typed_result(call.of, given)

    def store(self, state: PythonState, stored: Attribute, value: Any = None) -> PythonState:
        """The state after an attribute is stored. value: A `Declared` that was stated for it, or what it has now."""
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
            if isinstance(value, Declared):
                kept = scope.declared.add(stored.name, value._replace(of=of_class(value.of, scope)))
            else:
                kept = kept_types(scope, stored.name, of_class(value, scope)) if self.declares else scope.declared
            scope = scope._replace(fields=scope.fields | {stored.name}, declared=kept)
        return state._replace(scopes=replace_element(state.scopes, index, scope))

    def first_argument(self, state: PythonState) -> Self | None:
        """The first argument of the function that is being defined; None: nothing is known of it."""
        is_method = state.scope.kind == "class" and state.params and state.params[0] in ("self", "cls")
        if not (self.strict or self.declares) or not is_method:
            return None
        depth = sum(1 for _ in elements(state.scopes)) - 1
        if self.declares and not self.strict:
            if state.params[0] == "self":
                return None if value_of(staticmethod) in state.decorators else Self(depth, False)
            is_class = value_of(classmethod) in state.decorators or state.defined in OF_CLASS
            return Self(depth, True) if is_class else None  # in a metaclass it is an instance
        if state.params[0] == "cls":
            return Self(depth, True) if state.decorators == (value_of(classmethod),) else None
        return Self(depth, False) if _are_known(state.decorators, KEEPS_SELF) else None

    def class_scope(self, state: PythonState, name: str, call: PythonCall | None, is_open: bool) -> PythonScope:
        """The scope of a class of which the head was read."""
        bases: tuple[Any, ...] | None = () if call is None else call.values
        if (call is not None and (call.named or call.unpacked)) or not all(map(_is_base, bases or ())):
            bases = None
        if not self.declares and not _are_known(state.decorators, KEEPS_CLASS):
            bases = None
        fields = OF_DATACLASSES if state.decorators else frozenset()
        if bases is not None and NAMED_TUPLE in bases:
            bases, fields = tuple(value_of(tuple) if base == NAMED_TUPLE else base for base in bases), OF_NAMED_TUPLES
        return PythonScope(
            "class", open=is_open, name=name, bases=bases, fields=fields, decorated=bool(state.decorators)
        )

    def make_class(self, scope: PythonScope) -> Class:
        """The class whose body was read in a scope."""
        lasts = self.strict or self.declares
        kept = scope.declared if self.declares else None
        return Class(scope.name, scope.bound, scope.bases, scope.fields, scope.decorated, lasts, kept)

    def make_function(self, state: PythonState) -> PythonFunction | None:
        """The function that is defined here; None: a decorator may have changed it."""
        if not self.declares:
            return None if state.decorators else PythonFunction(signature_of(state.params), self.strict)
        result, kinds = self.hint(state), {_kind(one) for one in state.decorators} - {""}
        if ASYNC in state.hints:
            result = None
        if says_guard(parsed(state.spelled)):
            return PythonFunction(signature_of(state.params), True, kind="guard" if not kinds else "any")
        kind = "" if not kinds else kinds.pop() if len(kinds) == 1 else "any"
        return PythonFunction(signature_of(state.params), True, result if kind != "any" else None, kind)

    def _class_at(self, state: PythonState, value: Any) -> Class | None:
        if isinstance(value, Self):
            return self.make_class([*elements(state.scopes)][-1 - value.depth])
        return value.of if isinstance(value, Instance) else value if isinstance(value, Class) else None


def _kind(decorator: Any) -> str:
    """The kind of a function, by a decorator (`PythonFunction.kind`)."""
    obj = decorator.what.obj if isinstance(decorator, PythonValue) and decorator.role == "object" else None
    if obj in (abc.abstractmethod, typing.final, typing.overload):
        return ""
    if obj is staticmethod or obj is classmethod:
        return "static" if obj is staticmethod else "class"
    return "property" if obj in (property, functools.cached_property) else "any"


def _declared_member(cls: Class, name: str, is_class: bool) -> Any:
    """The value of an attribute of a class, or of its instances, by the types that are declared."""
    kept = None if cls.declared is None else cls.declared.table.get(name)
    value = cls.bound.table.get(name)
    if kept is not None:
        is_member = any(
            isinstance(base, PythonValue) and issubclass(base.what.obj, enum.Enum) for base in cls.bases or ()
        )
        return Instance(cls) if is_member and not kept.is_stated else kept.of
    if name in cls.bound.table or name in cls.fields:
        return value if isinstance(value, PythonFunction | Class) else None
    for base in cls.bases or ():
        if isinstance(base, Class):
            if name in (_attributes(base, is_class, NOTHING) or (name,)):
                return _declared_member(base, name, is_class)
        else:
            found = typed_attributes(instance_of(base.what.obj, by_user=True))
            if found is None or name in found:
                return typed_attribute(
                    value_of(base.what.obj) if is_class else instance_of(base.what.obj, by_user=True), name
                )
    return None


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
    if value == NAMED_TUPLE:
        return True
    if not isinstance(value, PythonValue) or value.role != "object" or not isinstance(value.what.obj, type):
        return False
    return type(value.what.obj) in METACLASSES and not issubclass(value.what.obj, type)


@lru_cache(maxsize=4096)
def _attributes(cls: Class, is_class: bool, stored: frozenset[str]) -> frozenset[str] | None:
    """The attributes of a class of the text, or of its instances; None: they are not known."""
    computes = COMPUTES if cls.declared is None else COMPUTES - {"__slots__"}
    if cls.bases is None or not computes.isdisjoint(cls.bound.table):
        return None
    mine = {*cls.bound.table, *cls.fields}
    names = stored | mine | {_mangle(cls.name, name) for name in mine if _is_private(name)}
    for base in cls.bases:
        theirs = (
            _attributes(base, is_class, frozenset())
            if isinstance(base, Class)
            else typed_attributes(instance_of(base.what.obj, by_user=True))
        )
        if theirs is None:
            return None
        names |= theirs
        if is_class and isinstance(base, PythonValue):
            names |= frozenset(dir(type(base.what.obj)))
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
