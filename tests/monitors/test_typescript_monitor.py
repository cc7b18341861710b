"""The monitor of TypeScript: what its compiler accepts is accepted, and what breaks a type is refused in time."""

import pickle
import random
import re
from functools import cache
from typing import Any

import numpy as np
import pytest
from lexeme_reading import end_of, first_refusal
from token_reading import check_masks
from typescript_drawing import changes, program
from typescript_programs import ACCEPTED
from walks import lexemes_of, vocabulary_of

import constrain
from conftest import in_tiers
from constrain.errors import ConstrainError
from constrain.languages.vocab.bits import tokens_of
from constrain.monitors import accepted_beginning, monitored, names_at, typescript
from constrain.monitors.typescript.library import LIBRARY
from languages import tsc
from tables import filled, table

TABLE = table("monitors_typescript")

MONITOR = typescript()
WITH_COMPILER = pytest.mark.skipif(not tsc.is_there(), reason="needs node and the package typescript (NODE_PATH)")
POINT = "interface Point { x: number; label?: string }\n"
SHAPE = 'type Shape = { kind: "circle"; r: number } | { kind: "square"; side: number };\n'

# (beginning that is accepted, rest in which the refusal is)
REFUSED = filled(TABLE["refused"], POINT=POINT, SHAPE=SHAPE)


def refusal(text: str) -> str:
    """The part of a text that the monitor accepts."""
    return accepted_beginning(MONITOR, text)


@pytest.mark.parametrize(("before", "rest"), REFUSED)
def test_what_breaks_a_type_is_refused_in_its_statement(before: str, rest: str) -> None:
    text = before + rest
    accepted = refusal(text)
    assert accepted.startswith(before)
    assert len(accepted) < len(text)


@WITH_COMPILER
def test_the_compiler_refuses_the_same() -> None:
    found = tsc.faults([before + rest for before, rest in REFUSED])
    assert [pair for pair, faults in zip(REFUSED, found, strict=True) if not faults] == []


@pytest.mark.parametrize("text", ACCEPTED)
def test_programs_of_all_parts_of_the_subset_are_accepted(text: str) -> None:
    assert refusal(text) == text
    assert first_refusal(MONITOR, text.encode()) is None
    assert end_of(MONITOR, text.encode()).at == "statement"
    matcher = bytewise().matcher()
    assert matcher.advance_bytes(text.encode())
    assert matcher.is_accepting()


@WITH_COMPILER
def test_the_compiler_accepts_these_programs() -> None:
    assert [faults for faults in tsc.faults(ACCEPTED) if faults] == []


@cache
def bytewise() -> Any:
    """The grammar under the monitor, with bytes for tokens."""
    return constrain.compile(
        monitored(constrain.collection.load("typescript"), MONITOR), constrain.Vocabulary.of_bytes()
    )


def is_stricter(text: bytes, at: int) -> bool:
    """True if the monitor says that it refuses so: a name before its declaration, or a class as a condition."""
    name = re.search(rb"\w+$", text[:at] + re.match(rb"\w*", text[at:])[0])  # type: ignore[index]
    is_later = name and re.search(rb"\b(?:function|class|interface|type|const|let) " + name[0] + rb"\b", text[at:])
    return bool(is_later) or bool(re.search(rb"\bC\d+ ?$", text[:at]))


@WITH_COMPILER
@pytest.mark.parametrize("many", [60, pytest.param(1200, marks=pytest.mark.slow)])
def test_drawn_programs_and_changes_of_them_are_judged_as_by_the_compiler(many: int) -> None:
    drawn = [program(seed) for seed in range(many)]
    good = [text for text, faults in zip(drawn, tsc.faults(drawn), strict=True) if not faults]
    assert len(good) > many * 0.8
    assert [text for text in good if first_refusal(MONITOR, text.encode()) is not None] == []
    made = [next(changes(text, seed)) for seed, text in enumerate(good)]
    refused = broken = 0
    for (text, _), faults in zip(made, tsc.faults([text for text, _ in made]), strict=True):
        at = first_refusal(MONITOR, text.encode())
        broken += bool(faults)
        refused += bool(faults) and at is not None
        assert faults or at is None or is_stricter(text.encode(), at), text
    assert refused >= 0.95 * broken
    assert broken > many / 4


STRADDLING = [
    *(b"x.", b".x", b"x;", b" = ", b"(x", b"x)", b", ", b"f(", b") {", b"}\n", b"return ", b"${", b"}`", b"`a"),
    *(b": number", b"number;", b"===", b"=== ", b"!x", b"++;", b"+=", b'"a"', b"'", b"// a\n", b"/*", b"*/"),
    *(b".length", b".r;", b" && ", b"|| ", b"?? ", b"x => ", b"new ", b"new Map", b"<string", b"[0]", b"1.5"),
]  # fmt: skip
STARTS = [
    "", "const x = 1; const y = x", POINT + "function f(p: Point, x: number): number { return p.",
    SHAPE + 'function f(s: Shape): number { if (s.kind === "circle") { return s.', "const xs = [1, 2].map(",
    "class A { private r: number = 1; f(x: string): number { return this.", 'const t = `a${"x".', "let x = 1; x ",
    POINT + "const p: Point = { ", "function f<T>(x: T[]): T { return x[",
]  # fmt: skip


@pytest.mark.parametrize("steps", [3, pytest.param(20, marks=pytest.mark.slow)])
def test_a_mask_is_what_each_token_may_do(steps: int) -> None:
    check_masks("typescript", MONITOR, STRADDLING, map(str.encode, STARTS), steps)


@cache
def lexical() -> Any:
    """The grammar under the monitor, with lexemes for tokens."""
    words = (
        "const let function if else while for of return throw class interface type new true null typeof instanceof x"
    )
    vocabulary = vocabulary_of([*lexemes_of(ACCEPTED[:4], words), " => ", "${", "}`", "'a'"])
    return constrain.compile(monitored(constrain.collection.load("typescript"), MONITOR), vocabulary)


@in_tiers(40, 160, 700)
def test_walks_reach_no_dead_end(seeds: range) -> None:
    """Each step takes the first of all lexemes, in a random order, that may stand there; else any byte."""
    compiled = lexical()
    lexemes = range(256, compiled.vocabulary.size - 1)
    row = np.zeros(compiled.vocabulary.words, np.uint32)
    for seed in seeds:
        rng, matcher = random.Random(seed), compiled.matcher()
        text = rng.choice(ACCEPTED).encode()
        assert matcher.advance_bytes(text[: rng.randrange(len(text))])
        for _ in range(25):
            if not any(matcher.advance(token) for token in rng.sample(lexemes, len(lexemes))):
                matcher.fill_mask(row)
                allowed = tokens_of(row).tolist()
                assert allowed, matcher.text
                assert matcher.advance(rng.choice(allowed)) or matcher.is_accepting()


@WITH_COMPILER
def test_the_library_has_the_names_of_the_compiler() -> None:
    """Each member of an interface of the library is one of the compiler's, and none is missing."""
    state = MONITOR.start()
    for name in ("String", "Number", "Array", "Map", "Set", "Math", "Error", "Date"):
        members = {each for each in state.types.table[name].members.table if each != "()"}
        value = {"Array": "Array<number>", "Map": "Map<string, number>", "Set": "Set<string>"}.get(name, name)
        programs = [f"export const f = (x: {value}) => x.{each};" for each in sorted(members)]
        assert not any(tsc.faults(programs)), name
        listed = " | ".join(f'"{each}"' for each in sorted(members))
        left = f"type Left = Exclude<keyof {value} & string, {listed}>;"
        check = "export const check: [Left] extends [never] ? true : Left = true;"
        assert [fault.message for fault in tsc.faults([f"{left} {check}"])[0]] == [], name
    assert "Promise" not in LIBRARY.text


def test_declarations_of_your_own_are_read() -> None:
    monitor = typescript("interface Page { title: string } declare const page: Page;")
    assert accepted_beginning(monitor, "page.title.trim(); page.name;") == "page.title.trim(); page."
    assert monitor == pickle.loads(pickle.dumps(monitor)) != MONITOR
    with pytest.raises(ConstrainError, match="the declarations cannot be read"):
        typescript("declare const page: Page;")


def test_names_can_be_asked_for() -> None:
    assert names_at(MONITOR, SHAPE + 'function f(s: Shape): void { if (s.kind === "circle") { s.') == [
        "hasOwnProperty", "isPrototypeOf", "kind", "propertyIsEnumerable", "r", "toLocaleString", "toString", "valueOf",
    ]  # fmt: skip
    assert names_at(MONITOR, POINT + "const p: Point = { ") == ["label", "x"]
    assert {"Point", "number", "Map"} <= set(names_at(MONITOR, POINT + "const p: ") or ())
