"""Constraints ask their parts once, and compiling and following them reads no socket and hardly a file."""

import pkgutil
import subprocess
import sys
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


PROGRAM = r"""
import sys
import constrain

vocabulary = constrain.Vocabulary.of_bytes()
HOSTILE = '{"$ref": "file:///etc/passwd"}', '{"$ref": "http://example.com/schema"}'


def everything(letter):
    for constraint in (
        constrain.json_schema({"properties": {letter: {"format": "uri", "pattern": letter}}, "uniqueItems": True}),
        constrain.json_schema({"$schema": "https://json-schema.org/draft/2020-12/schema", "enum": [letter]}),
        constrain.regex(letter + r"\w+"),
        constrain.regex(letter + r"\p{L}", dialect="ecma"),
        constrain.grammar(f'start: "{letter}" INT\n%import common.INT'),
        constrain.grammar(f'root ::= "{letter}"', format="gbnf"),
        constrain.triggered("<t>", constrain.regex(letter), "</t>"),
    ):
        matcher = constrain.compile(constraint, vocabulary).matcher()
        matcher.mask()
        matcher.advance(matcher.forced_bytes()[0] if matcher.forced_bytes() else 0)
        matcher.mask()
    for text in HOSTILE:
        try:
            constrain.json_schema(text)
        except constrain.SchemaError:
            continue
        raise AssertionError(text)
    try:
        constrain.grammar("start: x\n%import .x.x")
    except constrain.GrammarError:
        return
    raise AssertionError


everything("a")  # modules are imported, tables and kernels are read
seen = []
sys.addaudithook(lambda event, arguments: seen.append((event, arguments)) if watching else None)
watching = True
everything("b")
watching = False
touched = [
    (event, arguments[:2]) for event, arguments in seen
    if event.split(".")[0] in ("socket", "subprocess", "urllib", "ftplib", "http")
    or event == "open" and arguments[0] != "/proc/self/statm" and "lark/grammars" not in str(arguments[0])
]
assert seen
print(touched)
"""


def test_constraints_read_no_file_and_no_socket() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.strip() == "[]"
