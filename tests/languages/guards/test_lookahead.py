"""Beginnings that can only become what was seen are refused: the guards look ahead.

The oracle enumerates texts in plain Python: all candidates of a small schema, of which `jsonschema` and a strict reader
keep the members. A beginning is allowed exactly if some member begins so. Larger languages are walked at random: no
walk may end in a dead end. Forks, rollbacks and masks of many-byte tokens agree with replays.
"""

import json
import random
import re
from collections.abc import Callable, Iterable, Iterator
from itertools import product
from typing import Any, NamedTuple

import jsonschema
import numpy as np
import pytest

import constrain
from constrain import tags
from constrain.languages.guards.json_reader import key_of_scalar, unescaped
from constrain.languages.guards.rivals import canonical, may_become
from constrain.masks.completion.length_budget import LengthBudget
from constrain.masks.engine.lookahead import GuardLookahead
from work import counted

BYTES = constrain.Vocabulary.of_bytes()
COMPACT: dict[str, Any] = {"whitespace": "compact"}


def strict(text: str) -> Any:
    """A JSON value; ValueError if a key repeats."""

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if len({name for name, _ in pairs}) < len(pairs):
            raise ValueError(pairs)
        return dict(pairs)

    return json.loads(text, object_pairs_hook=unique)


def is_member(schema: Any, text: str) -> bool:
    try:
        return jsonschema.Draft202012Validator(schema).is_valid(strict(text))
    except ValueError:
        return False


# --- exact: all texts -------------------------------------------------------------------------------------------------


def spelled(alphabet: str, most: int) -> list[str]:
    """All texts over an alphabet up to a length."""
    return ["".join(each) for n in range(1, most + 1) for each in product(alphabet, repeat=n)]


def arrays(items: Iterable[str], most: int) -> Iterator[str]:
    """The arrays of at most so many items."""
    items = list(items)
    return (f"[{','.join(each)}]" for n in range(most + 1) for each in product(items, repeat=n))


def of(schema: Any, texts: Iterable[str]) -> list[str]:
    """The members among some texts."""
    return [text for text in texts if is_member(schema, text)]


def written(schema: Any, texts: Iterable[str]) -> list[str]:
    """The texts that a schema allows alone, in any spelling: no array is around them, so no guard looks ahead."""
    compiled = constrain.compile(constrain.json_schema(schema, **COMPACT, spelling="any"), BYTES)
    matchers = [(text, compiled.matcher()) for text in texts]
    return [text for text, matcher in matchers if matcher.advance_bytes(text.encode()) and matcher.is_accepting()]


def letters(*texts: str) -> list[str]:
    """All spellings of strings of ASCII letters: each as it is, or escaped."""

    def ways(c: str) -> set[str]:
        return {c, f"\\u00{ord(c):02x}", f"\\u00{ord(c):02X}"}

    return [f'"{"".join(each)}"' for text in texts for each in product(*map(ways, text))]


def unique(items: Any, **more: Any) -> Any:
    return {"type": "array", "items": items, "uniqueItems": True, **more}


def objects(names: Iterable[str], most: int) -> Iterator[str]:
    """The objects of at most so many members, names that repeat too; each value is null."""
    members = [f"{name}:null" for name in names]
    return (f"{{{','.join(each)}}}" for n in range(most + 1) for each in product(members, repeat=n))


def keyed(names: Any, **more: Any) -> Any:
    """Objects of any names of a schema, by default with null as values."""
    return {"type": "object", "propertyNames": names, "additionalProperties": {"type": "null"}, **more}


class Exact(NamedTuple):
    """A schema with a language that can be enumerated.

    Attributes:
        schema, options: Of `json_schema`.
        candidates: Texts, all members among them whose beginnings are compared.
        alphabet: The bytes after which beginnings are compared.
        within: How long scalars are at most in beginnings that are compared, where the candidates lack longer ones.
    """

    schema: Any
    candidates: Callable[[], Iterable[str]]
    options: dict[str, Any] = {}
    alphabet: str = ""
    within: int = 99


INTEGERS = unique({"type": "integer"}, maxItems=2)
FLAG = {"type": "object", "properties": {"a": {"type": "boolean"}}, "additionalProperties": False}
FLAGS = ["{}", '{"a":true}', '{"a":false}']
LETTER = {"type": "object", "properties": {"k": {"pattern": "^[ab]$", "type": "string"}}, "required": ["k"]}
LETTER["additionalProperties"] = False
INNER = unique({"type": "array", "items": FLAG, "maxItems": 1}, minItems=2, maxItems=2)
COMPARED = 150  # beginnings of a case
EXACT: dict[str, Exact] = {
    "integers": Exact(
        INTEGERS,
        lambda: arrays([*(t for t in spelled("01", 2) if t != "00" and t != "01"), "-1", "-10"], 2),
        {},
        "01-,]",
        1,
    ),
    "integers in any spelling": Exact(
        INTEGERS,
        lambda: arrays(written({"type": "integer"}, [*spelled("01.e", 4), "1.1e1", "1.0e1", "0.1e1"]), 2),
        {"spelling": "any"},
        "01.e,]",
        1,
    ),
    "numbers": Exact(
        unique({"type": "number"}, maxItems=2),
        lambda: arrays(["0", "1", "10", "11", "0.1", "0.11", "0.01", "0.001", "1.1", "1.01", "1.11", "10.1"], 2),
        {},
        "01.,]",
        1,
    ),
    "few integers, nearly all needed": Exact(
        unique({"type": "integer", "minimum": 9, "maximum": 11}, minItems=2), lambda: arrays(["9", "10", "11"], 3)
    ),
    "objects with a flag": Exact(unique(FLAG), lambda: arrays(FLAGS, 3)),
    "objects with a flag, all needed": Exact(unique(FLAG, minItems=3), lambda: arrays(FLAGS, 3)),
    "objects with a letter": Exact(
        unique(LETTER, minItems=1),
        lambda: arrays([f"{{{k}:{text}}}" for k in letters("k") for text in letters("a", "b")], 2),
        {"spelling": "any"},
    ),
    "arrays of flags": Exact(
        unique(unique({"type": "boolean"}, maxItems=1)), lambda: arrays(arrays(["true", "false"], 1), 3)
    ),
    "arrays of objects": Exact(
        unique({"type": "array", "items": FLAG, "maxItems": 1}, maxItems=3), lambda: arrays(arrays(FLAGS, 1), 3)
    ),
    "unique in unique": Exact(
        unique(INNER, maxItems=2),
        lambda: arrays((text for text in arrays(arrays(FLAGS, 1), 2) if is_member(INNER, text)), 2),
        {},
        "[]{},",
    ),
    "names of digits": Exact(
        keyed({"pattern": "^(0|1[01]*)$"}, maxProperties=2),
        lambda: objects((f'"{t}"' for t in spelled("01", 4)), 2),
        {},
        '01",:n}',
        4,
    ),
    "names of a bounded length": Exact(
        keyed({"pattern": "^[ab]*$", "maxLength": 3}, minProperties=3, maxProperties=3),
        lambda: objects((f'"{t}"' for t in ["", *spelled("ab", 3)]), 3),
    ),
    "names by patterns": Exact(
        {
            "type": "object",
            "patternProperties": {"^x[ab]*c?$": {"type": "null"}, "^y$": {"type": "null"}},
            "additionalProperties": False,
            "maxProperties": 2,
        },
        lambda: objects((f'"{t}"' for t in ("y", *("x" + t for t in ["", *spelled("abc", 3)]))), 2),
        {},
        'xyabc",:n}',
        4,
    ),
}


def longest_scalar(text: str) -> int:
    """The length of the longest part of a text between brackets, commas and colons."""
    return max(map(len, re.split(r"[\[\]{},:]", text)))


@pytest.mark.parametrize("name", EXACT)
def test_a_beginning_is_allowed_exactly_if_it_can_be_completed(name: str) -> None:
    case = EXACT[name]
    members = set(of(case.schema, case.candidates()))
    assert members
    following: dict[str, set[str]] = {}
    for text in members:
        for i in range(len(text)):
            following.setdefault(text[:i], set()).add(text[i])
    compiled = constrain.compile(constrain.json_schema(case.schema, **COMPACT, **case.options), BYTES)
    row = np.zeros(BYTES.words, np.uint32)
    begun = [text for text in sorted(following) if longest_scalar(text) <= case.within]
    assert len(begun) > 5
    for text in random.Random(name).sample(begun, min(len(begun), COMPARED)):
        after = following[text]
        matcher = compiled.matcher()
        assert not text or matcher.advance_bytes(text.encode()), text
        matcher.fill_mask(row)
        allowed = {chr(byte) for byte in range(256) if row[byte >> 5] >> (byte & 31) & 1}
        allowed = {c for c in allowed if not case.alphabet or c in case.alphabet}
        after = {c for c in after if not case.alphabet or c in case.alphabet}
        assert allowed == after, (text, allowed ^ after)
        assert matcher.is_accepting() == (text in members)


# --- larger: no walk ends in a dead end -------------------------------------------------------------------------------

ARGUMENTS = {
    "type": "object",
    "properties": {"flags": unique({"enum": ["a", "b", "c"]}, minItems=1, maxItems=2)},
    "required": ["flags"],
    "additionalProperties": {"type": "integer", "minimum": 0, "maximum": 2},
    "maxProperties": 2,
}
CALL = {
    "type": "object",
    "properties": {"name": {"enum": ["set", "get"]}, "arguments": ARGUMENTS},
    "required": ["name", "arguments"],
    "additionalProperties": False,
}
CODE = {"type": "string", "pattern": "^[ab]{1,2}c?$"}
PAIRS = keyed({"pattern": "^[ab]*$", "maxLength": 3}, minProperties=2, maxProperties=2)
WALKED: dict[str, tuple[Any, dict[str, Any]]] = {
    "integers": (unique({"type": "integer"}, minItems=3), {}),
    "bounded integers": (unique({"type": "integer", "minimum": -3, "maximum": 12}, minItems=14), {}),
    "integers, spelled": (unique({"type": "integer", "minimum": 95, "maximum": 104}, minItems=6), {"spelling": "any"}),
    "multiples": (unique({"type": "number", "multipleOf": 0.5, "minimum": 0, "maximum": 4}, minItems=7), {}),
    "calls": (unique(CALL, minItems=3), {}),
    "calls in any order": (unique(CALL, minItems=2), {"property_order": "any"}),
    "codes": (unique({"type": "object", "properties": {"c": CODE}, "required": ["c"]}, minItems=3), {}),
    "only codes": (unique(CODE, minItems=9), {"spelling": "any"}),
    "words": (unique({"type": ["boolean", "null", "array"], "maxItems": 1, "items": {"type": "null"}}, minItems=5), {}),
    "pretty": (unique(FLAG, minItems=3), {"whitespace": "any"}),
    "names of digits": (keyed({"pattern": "^(0|1[01]*|x)$"}, minProperties=6), {}),
    "names of a letter": (keyed({"maxLength": 1}, minProperties=9, additionalProperties={"type": "integer"}), {}),
    "names, spelled": (keyed({"pattern": "^(x|[ab]{7})$"}, minProperties=4), {"spelling": "any"}),
    "names in items": (unique(PAIRS, minItems=3), {}),
}  # fmt: skip
PIECES = (
    b"0,", b"00", b"1,1", b",0", b"0]", b'"a', b'",', b'","', b'"}', b'"}]', b'{"', b"},{", b'"a":', b"},", b'a"',
    b"\\u0061", b"\\u00", b"61", b'":', b'":null,"', b"]]", b"],[", b"],", b", ", b" ", b"\n  ", b"true", b"tr",
    b"ue", b"1]", b'{"name":"set","arguments":{"flags":["', b'"]}}', b'"]}},', b"-0", b"0.", b".0", b"e0",
)  # fmt: skip
TOKENS = [bytes([byte]) for byte in range(128)] + list(PIECES)
VOCABULARY = constrain.Vocabulary([*TOKENS, None], eos_ids=[len(TOKENS)])
LIKED = set(b'"abxyz{}[],:0159-truefalsn') | set(range(128, len(TOKENS)))


WALKS = 4  # of each schema


def mask(matcher: constrain.Matcher) -> list[int]:
    row = np.zeros(VOCABULARY.words, np.uint32)
    matcher.fill_mask(row)
    return [i for i in range(VOCABULARY.size) if row[i >> 5] >> (i & 31) & 1]


def walk(compiled: Any, rng: random.Random, most: int, closely: float = 0) -> constrain.Matcher:
    """A random text; it repeats itself where it can. closely: how often masks are compared with `allows`."""
    matcher = compiled.matcher()
    for _ in range(most):
        tokens = mask(matcher)
        assert tokens, f"a dead end: {matcher.text!r}"
        if rng.random() < closely:
            assert tokens == [i for i in range(VOCABULARY.size) if matcher.allows(i)], matcher.text
        if matcher.is_accepting() and rng.random() < 0.1:
            break
        tokens = [i for i in tokens if i in LIKED] or [i for i in tokens if i < len(TOKENS)]
        if not tokens:
            assert matcher.is_accepting()
            break
        assert matcher.advance(rng.choice(tokens))
    return matcher


@pytest.mark.parametrize("name", WALKED)
def test_no_walk_ends_in_a_dead_end(name: str) -> None:
    schema, options = WALKED[name]
    compiled = constrain.compile(constrain.json_schema(schema, **{**COMPACT, **options}), VOCABULARY)
    rng = random.Random(name)
    for _ in range(WALKS):
        matcher = walk(compiled, rng, 60, closely=0.15)
        if matcher.is_accepting():
            assert is_member(schema, matcher.text.decode())


OPEN: dict[str, Any] = {
    "closed objects": unique(
        {
            "type": "object",
            "properties": {"n": {"type": "integer"}, "s": {"type": "string"}, "k": {"enum": ["a", "b"]}},
            "required": ["k"],
            "additionalProperties": False,
        }
    ),
    "open objects": unique({"type": "object", "properties": {"a": {"type": "boolean"}}}),
    "anything": unique({}),
    "numbers and lists": unique({"type": ["number", "array"], "items": {"enum": [0, 1]}, "maxItems": 2}),
    "lists in objects": unique(
        {
            "type": "object",
            "properties": {"l": unique({"enum": ["a", "b"]}), "m": {"type": "string", "pattern": "^a*$"}},
            "required": ["l", "m"],
            "additionalProperties": False,
        }
    ),
    "bounded strings": unique({"type": "string", "pattern": "^[ab]+x?$", "maxLength": 3}),
    "names of digits": keyed({"pattern": "^(0|1[01]*|x)$"}),
    "names of a bounded length": keyed({"maxLength": 3}, additionalProperties={"type": "string"}),
    "many integers": unique({"type": "integer"}),
    "some integers": unique({"type": "integer", "maximum": 99, "minimum": 0}),
    "many strings": unique({"type": "string", "maxLength": 8}),
    "many codes": unique({"type": "array", "items": {"type": "string", "pattern": "^[ab]{33}$"}, "maxItems": 1}),
}


@pytest.mark.parametrize("name", OPEN)
def test_what_is_settled_without_values_is_what_the_search_says(name: str) -> None:
    """Masks with and without what guards/unbounded.py knows, and what is remembered of a place, are equal."""
    constraint = constrain.json_schema(OPEN[name], **COMPACT)
    compiled, slow = (constrain.compile(constraint, VOCABULARY) for _ in range(2))
    assert compiled is not slow and slow.lookahead is not None
    slow.lookahead = Searching(slow.automaton, slow.rules, slow.guard, VOCABULARY.tokens)
    rng = random.Random(name)
    for _ in range(WALKS):
        matcher, other = compiled.matcher(), slow.matcher()
        for _ in range(40):
            tokens = mask(matcher)
            assert tokens == mask(other), matcher.text
            assert tokens, matcher.text
            liked = [i for i in tokens if i in LIKED] or [i for i in tokens if i < len(TOKENS)]
            if not liked:
                break
            token = rng.choice(liked)
            assert matcher.advance(token) and other.advance(token)


class Searching(GuardLookahead):
    """Looks ahead by searches alone, and remembers nothing."""

    def _is_unbounded(self, configuration: int, item: Any) -> bool:
        return False

    def moving(self, configuration: int, state: Any, row: Any) -> list[list[int]]:
        self._forget()
        return [[i] for i in range(VOCABULARY.size - 1) if row[i >> 5] >> (i & 31) & 1]


@pytest.mark.parametrize("name", ["many integers", "many strings"])
def test_the_work_for_an_item_does_not_grow_with_their_number(name: str) -> None:
    shown = "{}," if name == "many integers" else '"{}",'
    matcher = constrain.compile(constrain.json_schema(OPEN[name], **COMPACT), BYTES).matcher()
    assert matcher.advance_bytes(b"[")
    counts = []
    for start in range(100, 400, 100):
        text = "".join(map(shown.format, range(start, start + 100))).encode()
        read, count = counted(matcher.advance_tokens, text)
        assert read == len(text)
        counts.append(count)
    assert counts[2] < 1.2 * counts[1], counts


def test_what_may_repeat_a_number_is_tried_once() -> None:
    matcher = constrain.compile(constrain.json_schema(OPEN["many integers"], **COMPACT), VOCABULARY).matcher()
    assert matcher.advance_bytes(b"[10,15,59,1,")
    row = np.zeros(VOCABULARY.words, np.uint32)
    matcher.fill_mask(row)
    reading = matcher.compiled.guard.reader(matcher.guard_state())  # type: ignore[union-attr]
    tokens = [token for alike in reading.guard.suspects(reading.here, row) for token in alike]
    assert {b"1", b"5"} <= {VOCABULARY.tokens[token] for token in tokens} and len(set(tokens)) == len(tokens)


CALLS = {
    "tags": lambda: tags.separated([tags.tag("<c>", constrain.json_schema(unique(FLAG, minItems=2)), "</c>")], "\n"),
    "free text": lambda: constrain.triggered([("<c>", constrain.json_schema(unique(FLAG, minItems=2)), "</c>")]),
    "after thoughts": lambda: constrain.after("</t>", constrain.json_schema(INTEGERS), max_tokens=2),
    "a prefix": lambda: constrain.regex("x+:") + constrain.json_schema(INTEGERS),
}  # fmt: skip
BEGUN = {
    "tags": (b'<c>[{},{"a":true},{"a":', b"f"),
    "free text": (b'ab<c>[{"a":true},{}', b',]'),
    "after thoughts": (b"ab</t>[0,", b"-123456789"),
    "a prefix": (b"xx:[7,0,", None),
}  # fmt: skip


@pytest.mark.parametrize("name", ["tags", "free text", "after thoughts"])
def test_in_parts_of_a_text(name: str) -> None:
    """A part of a text looks ahead as it does alone."""
    matcher = constrain.compile(CALLS[name](), BYTES).matcher()
    begun, after = BEGUN[name]
    assert matcher.advance_tokens(begun) == len(begun)
    row = np.zeros(BYTES.words, np.uint32)
    matcher.fill_mask(row)
    allowed = {byte for byte in range(256) if row[byte >> 5] >> (byte & 31) & 1}
    assert allowed - set(b" \n\t\r") == set(after)
    assert allowed == {byte for byte in range(256) if matcher.allows(byte)}


def test_forks_rollbacks_and_drafts_equal_replays() -> None:
    schema, options = WALKED["calls"]
    compiled = constrain.compile(constrain.json_schema(schema, **{**COMPACT, **options}), VOCABULARY)
    rng = random.Random(7)
    for _ in range(4):
        matcher = walk(compiled, rng, 60)
        steps = list(matcher._steps)
        back = rng.randint(0, len(steps))
        fork = matcher.fork()
        fork.rollback(back)
        replayed = compiled.matcher(prefix=steps[: len(steps) - back])
        assert mask(fork) == mask(replayed)
        draft = steps[len(steps) - back :][:8]
        rows = np.zeros((len(draft) + 1, VOCABULARY.words), np.uint32)
        assert constrain.fill_draft_masks(fork, draft, rows) == len(draft)
        for row, token in zip(rows, [*draft, None], strict=True):
            assert [i for i in range(VOCABULARY.size) if row[i >> 5] >> (i & 31) & 1] == mask(replayed)
            assert token is None or replayed.advance(token)


def test_a_flush_while_looking_ahead_changes_nothing() -> None:
    """The automaton has so little memory that it forgets its states again and again."""
    constraint = constrain.json_schema(WALKED["calls"][0], **COMPACT)
    small = constrain.TokenAutomaton(VOCABULARY, budget=1)
    matcher = constrain.compile(constraint, VOCABULARY, automaton=small).matcher()
    other = constrain.compile(constraint, VOCABULARY).matcher()
    rng = random.Random(3)
    for _ in range(40):
        tokens = mask(other)
        if rng.random() < 0.2:
            small.flush()
        assert mask(matcher) == tokens
        token = rng.choice([i for i in tokens if i in LIKED] or tokens)
        if rng.random() < 0.2:
            small.flush()
        assert matcher.advance(token) == other.advance(token) is True
        if other.ended:
            break


# --- budgets ----------------------------------------------------------------------------------------------------------

BUDGETS: dict[str, Any] = {
    "integers": unique({"type": "integer"}, minItems=3),
    "twelve integers": unique({"type": "integer"}, minItems=12),
    "numbers": unique({"type": "number"}, minItems=2),
    "objects with a flag": unique(FLAG, minItems=2),
    "all objects with a flag": unique(FLAG, minItems=3),
    "objects with a number": unique(
        {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"], "additionalProperties": False}
    ),
    "calls": unique(CALL, minItems=2),
    "unique in unique": unique(INNER, maxItems=2),
}


@pytest.mark.parametrize("name", BUDGETS)
@pytest.mark.parametrize("spare", [0, 1, 5])
def test_every_text_is_closed_in_time_and_differs(name: str, spare: int) -> None:
    """Walks that repeat themselves where they can, with so many tokens more than the shortest text needs."""
    schema = BUDGETS[name]
    compiled = constrain.compile(constrain.json_schema(schema, **COMPACT), VOCABULARY)
    budget = LengthBudget(compiled)
    most = budget.matcher().needs_allowed() + spare
    rng = random.Random(f"{name} {spare}")
    for _ in range(WALKS // 2):
        matcher = budget.matcher(most=most)
        while not matcher.is_finished():
            tokens = mask(matcher)
            assert tokens, matcher.inner.text
            if rng.random() < 0.2:
                assert tokens == [i for i in range(VOCABULARY.size) if matcher.allows(i)], matcher.inner.text
            liked = [i for i in tokens if i in LIKED] or tokens
            assert matcher.advance(rng.choice(liked))
        assert matcher.taken <= most
        assert is_member(schema, matcher.inner.text.decode())


def test_the_shortest_text_that_differs_is_the_least_of_all() -> None:
    """Against all texts, in bytes."""
    for schema, candidates in (
        (unique(FLAG, minItems=3), arrays(FLAGS, 3)),
        (unique({"type": "integer"}, minItems=3), arrays(["0", "1", "2", "10"], 3)),
        (INNER, arrays(arrays(FLAGS, 1), 2)),
    ):
        compiled = constrain.compile(constrain.json_schema(schema, **COMPACT), BYTES)
        least = min(len(text) for text in of(schema, candidates))
        assert LengthBudget(compiled).matcher().needs_allowed() == least + 1


# --- beginnings of scalars --------------------------------------------------------------------------------------------


def test_a_number_agrees_with_all_values_that_it_may_become() -> None:
    texts = of({}, spelled("01.-e", 5))
    for text in texts:
        key = key_of_scalar(text.encode())
        for i in range(1, len(text) + 1):
            assert may_become(text[:i].encode(), key), (text[:i], key)
    assert not may_become(b"2", key_of_scalar(b"1")) and not may_become(b"-1", key_of_scalar(b"1"))
    assert not may_become(b"11", key_of_scalar(b"1")) and not may_become(b"tr", key_of_scalar(b"1"))


def test_beginnings_that_are_one_lead_to_the_same_values() -> None:
    """Equal canonical beginnings and the same rest: equal values, or both differ from the rival."""
    rivals = [key_of_scalar(text) for text in (b"0", b"1", b"1.1", b"-1", b"10")]
    begun: dict[Any, list[str]] = {}
    for text in spelled("01.-e", 4):
        begun.setdefault(canonical(text.encode(), rivals), []).append(text)
    rests = ["", "0", "1", "e0", "e1", ".1", "01", "10"]
    for texts in begun.values():
        for rest in rests:
            found = set()
            for text in texts:
                if is_member({}, text + rest):
                    key = key_of_scalar((text + rest).encode())
                    found.add(key if key in rivals else None)
            assert len(found) <= 1, (texts, rest, found)


@pytest.mark.parametrize(
    "raw, bytes_, cut",
    [
        (b"ab", b"ab", b""),
        (b"a\\u0061", b"aa", b""),
        (b"a\\u006", b"a", b"\\u006"),
        (b"a\\", b"a", b"\\"),
        (b"a\\\\", b"a\\", b""),
        (b"a\\\\\\", b"a\\", b"\\"),
        (b"\\ud83d\\ude0", b"", b"\\ud83d\\ude0"),
        (b"\\ud83d\\ude00", "😀".encode(), b""),
        (b"\\ud83d", b"", b"\\ud83d"),
        (b"\\n\xc3", b"\n\xc3", b""),
    ],
)
def test_beginnings_of_strings(raw: bytes, bytes_: bytes, cut: bytes) -> None:
    assert unescaped(raw) == (bytes_, cut)
