"""Arguments of `generate` that may be lists with an entry for each prompt: the constraint and `max_tokens`.

A list of texts is one set of choices; `choices` has an entry for each prompt where its entries are lists or Enums.
Faults of an entry are located: `regex[2]`, and the place in it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from enum import EnumMeta
from typing import Any, NamedTuple

from constrain.errors import ConstrainError
from constrain.generation.request.arguments import CONSTRAINTS, the_constraint
from constrain.generation.request.prompts import ParsedPrompts


class Entries(NamedTuple):
    """An argument's value for each prompt.

    name: of the argument. values: one for each prompt. listed: they were given one by one.
    """

    name: str
    values: list[Any]
    listed: bool

    @classmethod
    def of(cls, name: str, value: Any, prompts: ParsedPrompts) -> Entries:
        """Of an argument. Raises ConstrainError: the list has not as many entries as there are prompts."""
        if not _is_listed(name, value):
            return cls(name, [value] * len(prompts.each), False)
        if prompts.single or len(value) != len(prompts.each):
            asked = "one prompt" if prompts.single else f"a list of {len(prompts.each)} prompts"
            raise ConstrainError(
                f"{name} is a list of {len(value)}, and there is {asked}",
                place=name,
                fix="give one for all prompts, or a list with one for each of a list of prompts",
            )
        return cls(name, list(value), True)

    def each(self, function: Callable[..., Any], beside: Sequence[Any] | None = None) -> Entries:
        """The results of a function of each value, of equal ones once. Raises what it raises, with the entry's place.

        beside: a second argument of the function for each prompt, hashable.
        """
        made: dict[Any, Any] = {}
        values = []
        for place, value in enumerate(self.values):
            others = () if beside is None else (beside[place],)
            key = (value if isinstance(value, str) else id(value), *others)
            if key not in made:
                with self._at(place):
                    made[key] = function(value, *others)
            values.append(made[key])
        return self._replace(values=values)

    @contextmanager
    def _at(self, place: int) -> Iterator[None]:
        """Say which entry is at fault."""
        try:
            yield
        except ConstrainError as error:
            if not self.listed or type(error).__init__ is not ConstrainError.__init__:
                raise
            where = f"{self.name}[{place}]" if not error.place else f"{self.name}[{place}], {error.place}"
            raise type(error)(error.message, place=where, fix=error.fix) from error


def _is_listed(name: str, value: Any) -> bool:
    if not isinstance(value, (list, tuple)):
        return False
    if name != "choices":
        return True
    sets = [each is None or isinstance(each, list | tuple | EnumMeta) for each in value]
    return bool(sets) and all(sets)


def constraints_of(given: Mapping[str, Any], prompts: ParsedPrompts) -> Entries:
    """The constraint of each prompt, as `the_constraint` reads it; None where there is none.

    Raises ConstrainError: several arguments name one, or what the reader of an entry raises.
    """
    named = [name for name in (*CONSTRAINTS, "tools") if given[name] is not None]
    if len(named) != 1 or named[0] == "tools":
        return Entries("constraint", [the_constraint({name: given[name] for name in named})] * len(prompts.each), False)
    (name,) = named
    return Entries.of(name, given[name], prompts).each(lambda value: the_constraint({name: value}))
