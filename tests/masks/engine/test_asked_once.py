"""Constraints ask their parts once: a mask beside a thousand tools costs what it costs beside one."""

from __future__ import annotations

import pkgutil
from collections.abc import Callable, Iterator
from importlib import import_module
from types import CodeType

import numpy as np
import pytest

import constrain
from constrain.languages.constraints.base import Constraint
from constrain.lazily import lazily
from work import counted

QUESTIONS = {name for name, value in vars(Constraint).items() if isinstance(value, property | lazily)} - {"report"}
SCHEMA = {"type": "object", "properties": {"a": {"type": "array", "uniqueItems": True}}}


def _kinds(kind: type[Constraint]) -> Iterator[type[Constraint]]:
    yield kind
    for each in kind.__subclasses__():
        yield from _kinds(each)


def _names(code: CodeType) -> Iterator[str]:
    """The attributes and globals that a function names, in the functions inside it too."""
    yield from code.co_names
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from _names(inner)


def test_no_constraint_asks_its_parts_again() -> None:
    """A property that asks what may be asked of a part is computed once, in every kind of constraint."""
    for wing in ("languages", "masks", "chat", "monitors", "gaps"):
        folder = import_module(f"constrain.{wing}").__path__
        for module in pkgutil.walk_packages(folder, f"constrain.{wing}."):
            import_module(module.name)
    again = [
        f"{kind.__name__}.{name} asks for {', '.join(sorted(asked))}"
        for kind in _kinds(Constraint)
        for name, value in vars(kind).items()
        if name != "report" and isinstance(value, property) and kind.__module__.startswith("constrain.")
        if (asked := QUESTIONS.intersection(_names(value.fget.__code__)))
    ]
    assert again == []


def _tags(count: int) -> Constraint:
    pairs = [(f"<{i}>", constrain.json_schema(SCHEMA | {"title": str(i)})) for i in range(count)]
    tags = [constrain.tags.tag(begin, content, "</>") for begin, content in pairs]
    return constrain.tags.triggered_tags(["<"], tags)


def _tools(count: int) -> Constraint:
    return constrain.tools([{"name": f"f{i}", "parameters": SCHEMA} for i in range(count)], format="qwen3")


@pytest.mark.parametrize("make", [_tags, _tools])
def test_a_known_mask_beside_many_tools_is_the_work_of_one(make: Callable[[int], Constraint]) -> None:
    vocabulary = constrain.Vocabulary.of_bytes()
    works = []
    for count in (1, 60):
        matcher = constrain.compile(make(count), vocabulary).matcher()
        row = np.zeros((vocabulary.size + 31) // 32, np.uint32)
        matcher.advance_bytes(b"free text")
        matcher.fill_mask(row)
        one = (matcher.fill_mask, row), (matcher.mask,), (matcher.is_accepting,)
        asks = (*one, (constrain.fill_masks, [matcher], row[None]), (matcher.advance, ord("x")))
        works.append(sum(counted(*ask)[1] for ask in asks))
    assert works[1] <= works[0] + 2, works
