"""Limits on reading: inputs that grow exponentially, or are huge, end at a look at the clock, whatever they are.

The clock of these tests is a count of looks, so that they say the same on each machine: a reader that does not look
runs on, until the guard of CPU time ends the test.
"""

import contextlib
import copy
import pickle
import re
import signal
import threading
from collections.abc import Callable, Iterator

import numpy as np
import pytest

import constrain
from constrain import LimitError, Limits
from constrain.languages.automata.lower import lower
from constrain.languages.automata.parse.python import parse_python
from constrain.languages.automata.syntax import literal
from constrain.limits import limited, tick
from toy_handle import PIECES, ToyHandle
from work import Looks, unlooked

LOOKS = 12  # after which the limit is reached
GUARD = 60.0  # seconds of CPU time, which no row comes near


def letters(n: int) -> list[str]:
    return [f"{chr(97 + i % 26)}{i}" for i in range(n)]


def schema(**keywords: object) -> Callable[[], object]:
    return lambda: constrain.json_schema(keywords)


ENDLESS: dict[str, Callable[[], object]] = {
    "overlapping patternProperties": schema(patternProperties={f"^.*{c}.*$": {"const": c} for c in letters(10)}),
    "disjoint patternProperties": schema(patternProperties={f"^k{i}_.*$": {"const": i} for i in range(300)}),
    "intersected patterns": schema(type="string", maxLength=20, allOf=[{"pattern": f"^.*{c}.*$"} for c in letters(30)]),
    "contains, many": schema(allOf=[{"contains": {"const": i}, "maxContains": 40} for i in range(7)]),
    "unions times unions": schema(
        allOf=[{"oneOf": [{"required": [c]}, {"required": [c + "x"]}]} for c in letters(20)]
    ),
    "a schema in a schema's place": lambda: constrain.seq("x", ENDLESS["overlapping patternProperties"]()),  # type: ignore[arg-type]
    "regexes intersected": lambda: (
        constrain.compile(
            constrain.regex("|".join(f"(?s:.*{c}.*)" for c in letters(9)))
            & constrain.regex("(?s:" + "".join(f"(?=.*{c}.*)" for c in letters(26)) + ".*)"),
            constrain.Vocabulary.of_bytes(),
        )
    ),
    "a long regex": lambda: constrain.regex("(a|b)[c-e]" * 2_000),
    "many Lark rules": lambda: constrain.grammar(
        "start: r0\n" + "\n".join(f'r{i}: "x" r{i + 1} | "y"' for i in range(20_000)) + '\nr20000: "z"'
    ),
    "many GBNF rules": lambda: constrain.grammar(
        "root ::= r0\n" + "\n".join(f'r{i} ::= "x" r{i + 1} | "y"' for i in range(20_000)) + '\nr20000 ::= "z"',
        format="gbnf",
    ),
    "many EBNF rules": lambda: constrain.grammar(
        "root ::= r0\n" + "\n".join(f'r{i} ::= "x" r{i + 1} | "y"' for i in range(20_000)) + '\nr20000 ::= "z"',
        format="ebnf",
    ),
    "many rules in Python": lambda: constrain.rules(
        {f"r{i}": constrain.alt(constrain.seq(chr(97 + i % 26), constrain.ref(f"r{(i + 1) % 3000}")), "y")
         for i in range(3000)}
    ),
    "a grammar and a regex": lambda: (
        constrain.grammar('start: start "a".."z" start | "(" start ")" | "x"')
        & constrain.regex("[a-mx()]{0,400}[a-z()]{0,400}")
    ).to_grammar(),
}  # fmt: skip


@pytest.fixture
def guard() -> Iterator[None]:
    """Fails the test when it has taken too much CPU time; only in the main thread."""

    def stop(number: int, frame: object) -> None:
        pytest.fail(f"no limit was reached in {GUARD:g} seconds of CPU time")

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, GUARD)
    yield
    signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    signal.signal(signal.SIGVTALRM, before)


@pytest.mark.usefixtures("guard")
@pytest.mark.parametrize("name", ENDLESS)
def test_reading_ends_at_a_look(name: str) -> None:
    looks = Looks(LOOKS)
    with pytest.raises(LimitError, match="was cancelled"), Limits(None, None, looks):
        ENDLESS[name]()
    assert looks.count > LOOKS
    assert not limited()


def names(n: int) -> list[str]:
    return [f"n{i}" for i in range(n)]


def objects(n: int, **more: object) -> dict[str, object]:
    return {"type": "object", "properties": {name: {"type": "integer"} for name in names(n)}, **more}


def rules(n: int, line: str) -> str:
    return " | ".join(names(n)) + "\n" + "\n".join(line.format(name) for name in names(n))


TEXT = constrain.regex("a")
SIZED: dict[str, Callable[[int], object]] = {  # what users make of any size, as a schema, or what makes a constraint
    "enum of integers": lambda n: {"enum": list(range(n))},
    "enum of numbers": lambda n: {"enum": [i + 0.5 for i in range(n)]},
    "enum of texts": lambda n: {"enum": names(n)},
    "enum of arrays": lambda n: {"enum": [[i, str(i)] for i in range(n)]},
    "const": lambda n: {"const": list(range(n))},
    "all but": lambda n: {"type": "integer", "allOf": [{"not": {"const": i}} for i in range(n)]},
    "properties": objects,
    "required": lambda n: objects(n, required=names(n)),
    "properties of all": lambda n: {"allOf": [objects(1, properties={name: {}}) for name in names(n)]},
    "anyOf": lambda n: {"anyOf": [{"const": name} for name in names(n)]},
    "anyOf of objects": lambda n: {"anyOf": [objects(0, required=[name]) for name in names(n // 10)]},
    "oneOf": lambda n: {"oneOf": [{"const": name} for name in names(n)]},
    "prefixItems": lambda n: {"prefixItems": [{"type": "integer"}] * n, "items": False},
    "dependentRequired": lambda n: {"dependentRequired": {name: ["a"] for name in names(n)}},
    "patternProperties": lambda n: {"patternProperties": {f"^{name}$": {} for name in names(n // 10)}},
    "not": lambda n: {"allOf": [{"not": {"required": [name]}} for name in names(n // 10)]},
    "$defs": lambda n: {"$defs": objects(n)["properties"], "$ref": "#/$defs/n1"},
    "a pattern": lambda n: {"pattern": "^" + "a?" * n + "$"},
    "an annotation": lambda n: {"type": "integer", "description": "x" * n, "examples": list(range(n))},
    "unknown keywords": lambda n: {"type": "integer", **objects(2 * n)["properties"]},  # type: ignore[dict-item]
    "a document": lambda n: {"type": "string", "x-span": " ".join(names(n))},
    "choices": lambda n: constrain.choices(names(n)),
    "alternatives of a regex": lambda n: constrain.regex("|".join(names(n))),
    "a class of a regex": lambda n: constrain.regex("[" + "".join(chr(0x4E00 + 2 * i) for i in range(n)) + "]"),
    "a sequence of a regex": lambda n: constrain.regex("[ab]c" * n),
    "seq": lambda n: constrain.seq(*names(n)),
    "alt": lambda n: constrain.alt(*names(n)),
    "tools": lambda n: constrain.tools(
        [{"name": each, "inputSchema": objects(2)} for each in names(n // 4)], format="qwen3"
    ),
    "Lark": lambda n: constrain.grammar("start: " + rules(n, '{0}: "{0}"')),
    "GBNF": lambda n: constrain.grammar("root ::= " + rules(n, '{0} ::= "{0}"')),
    "rules": lambda n: constrain.rules({"start": constrain.ref("n1"), **dict.fromkeys(names(n), "a")}),
    "substring": lambda n: constrain.substring(" ".join(names(n))),
    "triggered": lambda n: constrain.triggered([(f"<{name}>", TEXT, "") for name in names(2 * n)]),
    "dispatch": lambda n: constrain.tags.dispatch([(f"<{name}>", TEXT) for name in names(2 * n)]),
}
SIZE, STEPS = 240, 200_000
LINES = 100  # that may run for each part of an input before the limits are asked


@pytest.mark.parametrize("name", SIZED)
def test_the_limits_are_asked_however_large_an_input_is(name: str) -> None:
    """Between two looks work is linear, with a small factor: a loop without a `tick` over pairs or products is not."""

    def read(n: int) -> None:
        with contextlib.suppress(LimitError), Limits(None, None, steps=STEPS):
            made = SIZED[name](n)
            constraint = made if isinstance(made, constrain.Constraint) else constrain.json_schema(made)
            constraint.to_grammar()

    read(40)  # what is made once
    lines, where = unlooked(lambda: read(SIZE))
    assert lines <= LINES * SIZE, where


def test_a_limit_of_a_schema_names_its_place() -> None:
    for name in ("overlapping patternProperties", "disjoint patternProperties", "intersected patterns"):
        with pytest.raises(LimitError) as caught, Limits(None, None, Looks(LOOKS)):
            ENDLESS[name]()
        assert caught.value.place is not None and caught.value.place.startswith("$"), name


def test_terminals_of_terminals() -> None:
    """lark writes them out and does not look: their size is bounded, whichever way they are ordered."""
    lines = ["start: A30", 'A0: "a"', *(f"A{i + 1}: A{i} A{i}" for i in range(30))]
    for text in ("\n".join(lines), "\n".join([lines[0], *reversed(lines[1:])])):
        with pytest.raises(LimitError, match="parts, with its references written out") as caught:
            constrain.grammar(text)
        assert caught.value.place is not None and "A30" not in caught.value.message
    assert constrain.grammar("\n".join([*lines[1:9], "start: A7"])).node is not None


def test_blank_lines() -> None:
    """lark's pattern for them takes the square of their number, in one call."""
    assert constrain.grammar('start: "a"' + "\n" * 500 + '| "b"').accepts("b")
    with pytest.raises(LimitError, match="more than 500 line ends in a row"):
        constrain.grammar('start: "a"' + "\r\n" * 100_000 + '| "b"')


COMMON: dict[str, Callable[[], constrain.Constraint]] = {
    "schema": lambda: constrain.json_schema({"properties": {"a": {"type": "integer", "minimum": 3}}}),
    "regex": lambda: constrain.regex(r"(?=.*x)[a-z]{1,20}"),
    "choices": lambda: constrain.choices(["yes", "no"]),
    "Lark": lambda: constrain.grammar('start: "(" start ")" | /[a-z]+/'),
    "GBNF": lambda: constrain.grammar('root ::= "a" root | "b"', format="gbnf"),
    "combinators": lambda: constrain.seq("Answer: ", constrain.choices(["a", "b"])),
    "intersection": lambda: constrain.regex("[a-z]+") & constrain.regex("(?s:.{3})"),
    "substring": lambda: constrain.substring("some text"),
}


@pytest.mark.parametrize("name", COMMON)
def test_common_constraints_are_valid_under_small_limits(name: str) -> None:
    looks = Looks(100)
    with Limits(None, 64, looks):
        COMMON[name]().validate(Limits(None, 64, looks))
    assert looks.count < 20


def patterns(last: str) -> dict[str, object]:
    return {"properties": {f"k{i}": {"pattern": f"^a{{{i},29}}{last}$", "minLength": i} for i in range(20)}}


PLACED: dict[str, tuple[Callable[[], constrain.Constraint], str]] = {  # and what the places say
    "schema": (lambda: constrain.json_schema(patterns("one")), r"\$|json_schema"),
    "in a part": (
        lambda: constrain.seq("x ", constrain.json_schema(patterns("two"))),
        r"\$|json_schema|seq|(the|2) part",
    ),
    "regex": (lambda: constrain.regex("(a|b)[c-e]" * 200), r"line 1, column |regex"),
    "choices": (lambda: constrain.choices(names(2_000)), "choice |choices"),
    "GBNF": (lambda: constrain.grammar("root ::= " + '"c" ' * 400, format="gbnf"), "line 1, column |grammar"),
    "Lark": (lambda: constrain.grammar("start: " + '"a" b ' * 200 + "\nb: /[ab]c/"), "rule start|rule b|grammar"),
    "product": (
        lambda: constrain.grammar('start: "(" start ")" | /[a-z]+/') & constrain.regex("[a-m(]{0,40}[a-z)]{0,40}"),
        "an intersection|grammar",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", PLACED)
def test_limits_name_what_was_read(name: str) -> None:
    make, places = PLACED[name]
    vocabulary = constrain.Vocabulary.of_bytes()
    automaton, seen = constrain.TokenAutomaton(vocabulary), list[LimitError]()
    for steps in (0, 64, 128, 256, 640, 1280, 2560, 10**6):
        try:
            with Limits(steps=steps):
                constrain.compile(make(), vocabulary, automaton=automaton)
        except LimitError as error:
            seen.append(error)
    assert seen
    assert [error for error in seen if re.match(places, error.place or "") is None] == []


def test_validate_raises_what_compiling_would() -> None:
    with pytest.raises(constrain.UnsatisfiableError):
        (constrain.regex("a+") & constrain.regex("b+")).validate()
    with pytest.raises(constrain.GrammarError, match="has no definition"):
        constrain.seq("a", constrain.ref("nowhere")).validate()


def test_the_strictest_of_nested_limits_counts() -> None:
    def spend() -> None:
        for _ in range(10_000):
            tick()

    with pytest.raises(LimitError, match="cancelled"), Limits(None, None, Looks(3)), Limits(None, None):
        spend()
    with pytest.raises(LimitError, match="cancelled"), Limits(None, None), Limits(None, None, Looks(3)):
        spend()
    with pytest.raises(LimitError, match="the constraint takes more than 0 seconds"), Limits(0.0, None):
        spend()
    spend()  # no limit is left


def test_many_small_uses_count_outside() -> None:
    def read() -> None:
        for i in range(1000):
            constrain.json_schema({"properties": {f"p{i}": {"enum": [i]}}})

    with pytest.raises(LimitError, match="cancelled"), Limits(None, None, Looks(3)):
        read()


def test_texts_are_followed_after_the_limits_are_over() -> None:
    looks = Looks(10**9)
    items = {
        f"p{i}": {"type": "object", "minProperties": 1, "propertyNames": {"pattern": f"^a{i}"}} for i in range(300)
    }
    constraint = constrain.json_schema({"properties": items}, limits=Limits(None, None, looks))
    before = looks.count
    matcher = constrain.compile(constraint, constrain.Vocabulary.of_bytes()).matcher()
    assert matcher.advance_bytes(("{" + ", ".join(f'"p{i}": {{"a{i}": 1}}' for i in range(200))).encode())
    assert looks.count == before


def test_limits_are_values_of_a_thread() -> None:
    limits = Limits(1.0)
    assert pickle.loads(pickle.dumps(limits)) == limits == copy.copy(limits)
    seen = []
    with limits:
        thread = threading.Thread(target=lambda: seen.append(limited()))
        thread.start()
        thread.join()
        assert limited()
    assert seen == [False] and not limited()


# --- masks and steps --------------------------------------------------------------------------------------------------


LETTERS = parse_python("x(?:" + "".join(f"(?=.*{c})" for c in "abcdefghijklmnopqrst") + "[a-t]{0,19})|y")


def searching(limits: Limits) -> None:
    """All of 20 letters in a text of 19: a search of a million states finds that there is none."""
    automaton = constrain.TokenAutomaton(constrain.Vocabulary.of_bytes(), limits=limits)
    automaton.attempt(lambda: lower(automaton.store, LETTERS))


def test_a_step_ends_at_the_limits_of_its_automaton() -> None:
    with pytest.raises(LimitError, match=r"a mask or a step takes more than 0\.05 seconds"):
        searching(Limits(0.05))


@pytest.mark.usefixtures("guard")
def test_a_step_ends_at_the_limits_of_the_thread() -> None:
    with pytest.raises(LimitError, match=r"takes more than 0\.05 seconds"), Limits(0.05):
        searching(Limits(None))


@pytest.mark.usefixtures("guard")
def test_a_kernel_is_cancelled_from_another_thread() -> None:
    threads = []

    def cancelled() -> bool:
        threads.append(threading.current_thread().name)
        return threads.count("constrain-cancelled") > 2

    with pytest.raises(LimitError, match="was cancelled"), Limits(None, None, cancelled):
        searching(Limits(None))


def test_a_limit_leaves_the_matcher_as_it_was() -> None:
    """The place is the text so far; with more time the same matcher goes on."""
    vocabulary = constrain.Vocabulary.of_bytes()
    automaton = constrain.TokenAutomaton(vocabulary, limits=Limits(0.0))
    pairs = "|".join(f"(?=.*{c})(?=.*{d})[a-i]{{0,12}}" for c in "abc" for d in "defghi")
    compiled = constrain.compile(constrain.regex(f"x:(?:{pairs})") | constrain.choices(["y"]), vocabulary,
                                 automaton=automaton)  # fmt: skip
    matcher, row = compiled.matcher(), np.zeros(9, np.uint32)
    places = []
    for byte in b"x:abcdefghi":
        for _ in range(50):
            try:
                matcher.fill_mask(row)
                assert matcher.advance(byte)
                break
            except LimitError as error:
                places.append((matcher.text, error.place))
    assert all(place is not None and repr(text) in place for text, place in places)
    assert matcher.text == b"x:abcdefghi" and matcher.is_accepting()


# --- cancelled between the steps of longer work -----------------------------------------------------------------------


def test_a_new_vocabulary_is_cancelled() -> None:
    """The layout of a vocabulary and the memory of its states are made in parts, with a look before each."""
    tokens = constrain.Vocabulary.of_bytes().tokens
    looks = Looks(10**9)
    with Limits(None, None, looks):
        constrain.TokenAutomaton(constrain.Vocabulary(tokens, [256]))
    assert looks.count >= 4
    for last in range(1, looks.count):
        with pytest.raises(LimitError, match="was cancelled"), Limits(None, None, Looks(last)):
            constrain.TokenAutomaton(constrain.Vocabulary(tokens, [256]))


def test_a_long_text_is_cancelled_in_its_middle() -> None:
    automaton = constrain.TokenAutomaton(constrain.Vocabulary.of_bytes())
    looks = Looks(10**9)
    with Limits(None, None, looks):
        automaton.attempt(lambda: lower(automaton.store, literal("ab" * 200_000)))
    assert looks.count >= 6


@pytest.mark.parametrize("method", ["lcd", "smc", "awrs", "beam"])
def test_generation_is_cancelled_between_forwards(method: str) -> None:
    """Also where no mask is new: the second call knows them all."""
    model = ToyHandle(len(PIECES), 1, 1.0)

    def generate(looks: Looks) -> object:
        with Limits(None, None, looks):
            return constrain.generate(model, "a", regex="[ab]{30}", method=method, max_tokens=40, seed=1)

    everything = Looks(10**9)
    generate(everything)
    assert everything.count > 20
    with pytest.raises(LimitError, match="was cancelled"):
        generate(Looks(everything.count // 2))


def test_guards_and_checks_have_the_limits_of_the_thread() -> None:
    """The matcher stays as it was: without limits it goes on."""
    schema = {
        "type": "array",
        "uniqueItems": True,
        "items": {"type": "array", "items": {"enum": [1, 2]}},
        "minItems": 1,
    }
    text = "[" + ", ".join(str([1 + (i >> k & 1) for k in range(9)]) for i in range(400)) + "]"
    constraint = constrain.json_schema(schema)
    matcher = constrain.compile(constraint, constrain.Vocabulary.of_bytes()).matcher()
    assert matcher.advance_bytes(text[:-2].encode()) and matcher.advance_bytes(b"]")
    before = matcher.mask().copy()
    matcher.rollback(1)

    def go_on() -> None:
        for _ in range(100):
            matcher.mask()
            assert matcher.advance_bytes(b"]")
            matcher.rollback(1)

    with pytest.raises(LimitError, match="was cancelled"), Limits(None, None, Looks(1)):
        go_on()
    assert matcher.advance_bytes(b"]") and (matcher.mask() == before).all()
    with pytest.raises(LimitError, match="was cancelled"), Limits(None, None, Looks(1)):
        constraint.residual_fault(text)
    assert constraint.residual_fault(text) is None


@pytest.mark.parametrize(
    "make",
    [
        lambda: constrain.seq(*["ab"] * 30_000).to_grammar(),
        lambda: constrain.alt(*map(str, range(30_000))).to_grammar(),
        lambda: constrain.choices(map(str, range(30_000))),
        lambda: constrain.json_schema({"enum": list(range(30_000))}, limits=Limits(steps=10_000)).to_grammar(),
        lambda: constrain.tools([{"name": f"t{i}"} for i in range(3_000)], format="qwen3"),
    ],
    ids=["seq", "alt", "choices", "enum", "tools"],
)
def test_what_a_user_may_make_long_looks_at_limits(make: Callable[[], object]) -> None:
    """A limit of steps ends it: whatever loops over what is given counts them."""
    with pytest.raises(constrain.LimitError), constrain.Limits(steps=10_000):
        make()


def test_messages_have_a_bound() -> None:
    for make in (
        lambda: constrain.json_schema({"$ref": "#/" + "a" * 1_000_000}),
        lambda: constrain.regex("(" * 3 + "a" * 1_000_000),
        lambda: constrain.json_schema({"type": "a" * 1_000_000}),
        lambda: constrain.json_schema({"type": "object", "properties": {"b" * 1_000_000: {"type": "x"}}}),
    ):
        with pytest.raises(constrain.ConstrainError) as caught:
            make()
        assert len(str(caught.value)) < 10_000
