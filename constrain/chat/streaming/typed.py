"""An instance of a Python type that fills while its JSON is being written.

The idea: it follows the changes of `JsonValues`. A pydantic model is there as soon as its object has begun: a field is
set, validated, once its value is finished, and does not change after that. Lists grow likewise, item by item. A value
of any other type comes when it is finished.

    class Person: name: str; born: date; friends: list["Person"]

    {"name": "Ada", "born": "18   →  Person(name="Ada", born=None, friends=None), model_fields_set == {"name"}

A model has validators that are functions of its class: those of a field, and of the whole. They run when its object is
finished, and fields that have one come then, too. A value that its type refuses stays None; the whole is judged at its
end. A finished model, or list, is made anew from its whole text, so it is another object than the one that grew.

Cost: linear in the text; a value is validated once by itself, and once with each model and list around it.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterable, Sequence
from functools import cached_property
from types import NoneType, UnionType
from typing import Annotated, Any, Generic, TypeVar, Union, get_args, get_origin

from constrain.chat.streaming.json_values import Change, JsonValues
from constrain.errors import ConstrainError
from constrain.languages.schema import JsonSchema

T = TypeVar("T")
NOTHING = object()  # no value yet


class Type:
    """A type of Python: how a finished value is validated, and what is known of its parts.

    Attributes:
        model: The pydantic model; None: another type.
        fields: Name in JSON -> (attribute, type) of the fields that are set one by one.
        item: The type of the items of a list; None: it is no list.
    """

    def __init__(self, annotation: Any) -> None:
        import pydantic

        self._annotation = annotation
        bare = _without_none(annotation)
        is_model = isinstance(bare, type) and issubclass(bare, pydantic.BaseModel)
        is_root = is_model and issubclass(bare, pydantic.RootModel)
        self.model: Any = bare if is_model and not is_root else None
        is_list = get_origin(bare) in (list, Sequence)
        self._item = get_args(bare)[0] if is_list and get_args(bare) else None

    @cached_property
    def _adapter(self) -> Any:
        import pydantic

        given = self._annotation
        return given if isinstance(given, pydantic.TypeAdapter) else pydantic.TypeAdapter(given)

    @cached_property
    def item(self) -> Type | None:
        return None if self._item is None else Type(self._item)

    @cached_property
    def fields(self) -> dict[str, tuple[str, Type]]:
        if self.model is None:
            return {}
        decorated = self.model.__pydantic_decorators__
        late = {name for each in decorated.field_validators.values() for name in each.info.fields}
        late |= {name for each in decorated.validators.values() for name in each.info.fields}
        if "*" in late or any(each.info.mode == "before" for each in decorated.model_validators.values()):
            return {}
        found: dict[str, tuple[str, Type]] = {}
        for name, field in self.model.model_fields.items():
            if name not in late:
                one = Type(Annotated[(field.annotation, *field.metadata)] if field.metadata else field.annotation)
                known = [field.validation_alias] if isinstance(field.validation_alias, str) else []
                found |= dict.fromkeys([*known, *([] if field.alias else [name])], (name, one))
        return found

    def validated(self, value: Any) -> Any:
        """The instance that a JSON value stands for; NOTHING: the type refuses it."""
        try:
            return self._adapter.validate_json(json.dumps(value))
        except ValueError:
            return NOTHING

    def begun(self, container: Any) -> Any:
        """The value to show while a container is open; NOTHING if it is delivered only when complete."""
        if isinstance(container, list):
            return NOTHING if self.item is None else []
        if not self.fields:
            return NOTHING
        instance = self.model.model_construct(_fields_set=set())
        for name in self.model.model_fields:
            instance.__dict__[name] = None
        return instance

    def part(self, step: str | int) -> Type | None:
        """The type of a part; None: it does not come by itself."""
        if isinstance(step, int):
            return self.item
        return self.fields[step][1] if step in self.fields else None


class TypedValues(Generic[T]):
    """An instance of a type, as far as its JSON text goes.

    Args:
        given: The type: a pydantic model, a list of models, or any other that pydantic knows; or a TypeAdapter.

    Attributes:
        value: The instance so far: a model with the finished fields, the others None; None before it has begun.

    Example:
        >>> import pydantic
        >>> from constrain.chat.streaming import JsonValues, TypedValues
        >>> class Person(pydantic.BaseModel):
        ...     name: str
        ...     age: int
        >>> values, typed = JsonValues(), TypedValues(Person)
        >>> typed.follow(values.read('{"name": "Ada", "age": 3'))
        >>> typed.value, typed.value.model_fields_set
        (Person(name='Ada', age=None), {'name'})
    """

    def __init__(self, given: type[T] | Any) -> None:
        self._type = Type(given)
        self.value: T | None = None
        self._open: list[tuple[Type, Any]] = []  # containers that grow
        self._skipped = 0  # the number of steps of the container that comes as a whole; 0: there is none

    def follow(self, changes: Iterable[Change]) -> None:
        """Take over changes of the JSON text, in their order."""
        for change in changes:
            depth = len(change.path)
            if self._skipped:
                if change.final and depth < self._skipped:
                    self._skipped = 0
                    self._set(change.path, self._type_at(change.path), change.value)
            elif change.final:
                if isinstance(change.value, (dict, list)):
                    self._open.pop()
                self._set(change.path, self._type_at(change.path), change.value)
            elif not change.added:
                self._begin(change)

    def _begin(self, change: Change) -> None:
        """Begin a container."""
        kind = self._type_at(change.path)
        instance = NOTHING if kind is None else kind.begun(change.value)
        if kind is None or instance is NOTHING:
            self._skipped = len(change.path) + 1
        else:
            self._attach(change.path, instance, final=False)
            self._open.append((kind, instance))

    def _type_at(self, path: Sequence[str | int]) -> Type | None:
        return self._open[-1][0].part(path[-1]) if path else self._type

    def _set(self, path: Sequence[str | int], kind: Type | None, value: Any) -> None:
        """Set a finished value."""
        made = NOTHING if kind is None else kind.validated(value)
        if made is not NOTHING:
            self._attach(path, made, final=True)

    def _attach(self, path: Sequence[str | int], value: Any, final: bool) -> None:
        """Put a value where it belongs."""
        if not path:
            self.value = value
            return
        kind, container = self._open[-1]
        if isinstance(step := path[-1], int):
            if step < len(container):
                container[step] = value
            else:
                container.append(value)
        else:
            name = kind.fields[step][0]
            container.__dict__[name] = value
            if final:
                container.__pydantic_fields_set__.add(name)


def _without_none(annotation: Any) -> Any:
    """The type itself, of one that may also be None, or is annotated."""
    if get_origin(annotation) is Annotated:
        return _without_none(get_args(annotation)[0])
    if get_origin(annotation) in (Union, UnionType):
        others = [part for part in get_args(annotation) if part is not NoneType]
        return _without_none(others[0]) if len(others) == 1 else annotation
    return annotation


def reader_of(constraint: Any) -> JsonValues:
    """A reader of the JSON texts of a constraint. Raises ConstrainError: its texts are no JSON."""
    if not isinstance(constraint, JsonSchema):
        raise ConstrainError(
            f"the text is no JSON that could be read while it is written: {constraint!r:.80}",
            fix="pass schema= or type=; the pieces of the text come by iterating over the stream",
        )
    return JsonValues()


def typed_of(constraint: JsonSchema) -> TypedValues[Any] | None:
    """The reader that fills an instance of the type of a schema; None: it was made from no type, or a function."""
    if constraint.parse_with is None or inspect.isroutine(constraint.given):
        return None
    return TypedValues(constraint.given)
