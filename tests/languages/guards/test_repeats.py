"""The guard against repeated keys and items: against `json` and plain comparison, at every cut of a text.

Masks and `allows` agree token by token, also in the middle of strings and escapes; forks do not see each other. Its
sets grow and are shared between their versions; its tables of a vocabulary hold what a look at each token says.
"""

from __future__ import annotations

import json
import random
import re
import threading
import time
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import constrain
import vocabularies
from constrain import Vocabulary
from constrain.languages.guards.json_reader import VALUE, JsonState, RepeatedName, read
from constrain.languages.guards.seen import Seen
from constrain.languages.guards.token_tables import TokenTables, without_space
from constrain.languages.vocab.joined import JoinedTokens
from tables import table

TABLE = table("repeated_members")

PIECES = (
    b'"a"', b'","', b'a"', b'":', b'":1,"', b"1,1", b"1,", b"],[", b"}, {", b"\\u0061", b"1]", b"true,", b"\xc3",
    b"\xa9", b'"a":1,"a":1}', b'"},{"a":', b'b","a"', b'"b"', b"[1,1", b"\n  ", b"e1", b"\\u00e", b'1"',
    b'"]', b'"]]', b'a"] ]', b'"],', b'"} ,"', b"]]", b"] ,", b']},"', b'b"}]',
    b'""', b' ",",', b'"a":', b',"a"', b'"a"]', b',"a"],[', b'":"a"', b'":"b",', b'a":"', b'\\",', b'\\""', b'"\\',
)  # fmt: skip
TOKENS = [bytes([i]) for i in range(128)] + list(PIECES)
VOCABULARY = constrain.Vocabulary([*TOKENS, None], eos_ids=[len(TOKENS)])
SCHEMAS: dict[str, Any] = {
    "anything": {},
    "open": {"properties": {"p": {}}},
    "distinct integers": {"items": {"type": "integer"}, "uniqueItems": True},
    "distinct in distinct": {
        "items": {"items": {"type": ["string", "boolean"]}, "uniqueItems": True},
        "uniqueItems": True,
    },
    "few values": {"items": {"type": "integer", "minimum": 0, "maximum": 12}, "uniqueItems": True},
    "some equal": {"type": "array", "not": {"uniqueItems": True}},
    "below objects": {"additionalProperties": {"type": "array", "uniqueItems": True}},
}


class Everywhere:
    """Every array has different items."""

    unique = True
    repeats = False

    def item(self, i: int) -> Everywhere:
        return self

    def member(self, name: str) -> Everywhere:
        return self


class Members(list):
    """An object as a list of pairs."""


def repeats(text: str) -> bool:
    """True if there is a repeated key or item anywhere."""
    found = []

    def key(value: Any) -> Any:
        """Equal keys, equal values; notes repetitions inside."""
        if isinstance(value, Members):
            found.append(len({name for name, _ in value}) < len(value))
            return "object", frozenset((name, key(item)) for name, item in value)
        if isinstance(value, list):
            keys = [key(item) for item in value]
            found.append(len(set(keys)) < len(keys))
            return "array", tuple(keys)
        return isinstance(value, bool), value

    key(json.loads(text, object_pairs_hook=Members))
    return any(found)


VALUES = st.recursive(
    st.sampled_from([0, 1, -1, 1.5, 10, True, False, None, "", "a", "b", "é", '"', "\\"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "b", '"']), inner, max_size=2),
    max_leaves=8,
)


@given(VALUES, st.booleans(), st.integers(0, 10**6))
def test_reader_finds_repetitions_however_the_text_is_cut(value: Any, ascii_only: bool, seed: int) -> None:
    text = json.dumps(value, ensure_ascii=ascii_only)
    data, rng = text.encode(), random.Random(seed)
    state, ours = JsonState(VALUE, None, b"", Everywhere()), False
    while data and not ours:
        cut = rng.randint(1, 4)
        try:
            state, data = read(state, data[:cut]), data[cut:]
        except RepeatedName:
            ours = True
    assert ours == repeats(text)


@pytest.mark.parametrize("name, text, member", TABLE["row"])
def test_members(name: str, text: str, member: bool) -> None:
    matcher = constrain.compile(constrain.json_schema(SCHEMAS[name], property_order="any"), VOCABULARY).matcher()
    assert (matcher.advance_bytes(text.encode()) and matcher.is_accepting()) == member


def allowed(matcher: constrain.Matcher) -> list[int]:
    row = np.zeros(VOCABULARY.words, np.uint32)
    matcher.fill_mask(row)
    batch = np.zeros((1, VOCABULARY.words), np.uint32)
    constrain.fill_masks([matcher], batch)
    assert (row == batch[0]).all()
    return [i for i in range(VOCABULARY.size) if row[i >> 5] >> (i & 31) & 1]


@pytest.mark.parametrize("name", SCHEMAS)
def test_masks_are_what_is_allowed(name: str) -> None:
    """Along random walks that like to repeat themselves; what is finished has no repetition."""
    compiled = constrain.compile(constrain.json_schema(SCHEMAS[name]), VOCABULARY)
    liked = [i for i, token in enumerate(TOKENS) if token in b'"ab{}[],:12truef\\u061e' or i >= 128]
    rng = random.Random(name)
    for _ in range(12):
        matcher = compiled.matcher()
        for _ in range(40):
            tokens = allowed(matcher)
            assert tokens == [i for i in range(VOCABULARY.size) if matcher.allows(i)]
            if matcher.is_accepting():
                assert '{"a"' not in matcher.text.decode() or not repeats_keys(matcher.text.decode())
            tokens = [i for i in tokens if i in liked] or [i for i in tokens if i < len(TOKENS)]
            if not tokens:
                break
            fork = matcher.fork()
            assert fork.advance(rng.choice(tokens))  # a step of the fork's own must not be seen by the other
            assert matcher.advance(rng.choice(tokens))
            if rng.random() < 0.2:
                matcher.rollback(rng.randint(0, 3) if len(matcher._steps) > 3 else 0)


@pytest.mark.parametrize("text", ['[{"a":1', '[{"a":1,"b":true', '[["x",{"a":{"a":2'])
def test_names_after_a_value_that_ends_with_them(text: str) -> None:
    """One token ends a number or a word and writes the next name; the mask knows it as `allows` does."""
    matcher = constrain.compile(constrain.json_schema(SCHEMAS["some equal"]), VOCABULARY).matcher()
    assert matcher.advance_bytes(text.encode())
    tokens = allowed(matcher)
    assert tokens == [i for i in range(VOCABULARY.size) if matcher.allows(i)]
    assert TOKENS.index(b',"a"') not in tokens


def test_a_name_behind_a_number() -> None:
    """A token may end a number and hold the next name."""
    for spelling in ("plain", "any"):
        schema = SCHEMAS["some equal"]
        matcher = constrain.compile(constrain.json_schema(schema, spelling=spelling), VOCABULARY).matcher()
        assert matcher.advance_bytes(b'["a",{"a":6')
        token = TOKENS.index(b',"a"')
        assert not matcher.allows(token) and token not in allowed(matcher)


def repeats_keys(text: str) -> bool:
    found = []
    json.loads(text, object_pairs_hook=lambda pairs: found.append(len(dict(pairs)) < len(pairs)))
    return any(found)


def test_what_was_missed_is_read_as_one_text_and_again_after_a_rollback() -> None:
    """The guard is first asked at "d", and then wherever a rollback leads: into the text that it read at once, too."""
    numbers = {"type": "integer"}
    schema = {"properties": {"a": numbers, "b": numbers, "c": numbers}, "additionalProperties": numbers}
    compiled = constrain.compile(constrain.json_schema(schema, whitespace="compact"), VOCABULARY)
    text = b'{"a":1,"b":2,"c":3,"d":4,"e":5'
    for back in range(len(text) + 1):
        matcher = compiled.matcher()
        assert all(matcher.advance_bytes(bytes([byte])) for byte in text)
        for key in (b"c", b"d", b"e"):
            assert not matcher.fork().advance_bytes(b',"' + key + b'"')
        matcher.rollback(back)
        fresh = compiled.matcher()
        assert fresh.advance_bytes(matcher.text) or not matcher.text
        assert allowed(matcher) == allowed(fresh)
        assert all(matcher.advance_bytes(bytes([byte])) for byte in text[len(text) - back :])
        assert not matcher.fork().advance_bytes(b',"d"')
        assert matcher.advance_bytes(b',"f":6}')


def test_states_differ_by_what_was_seen() -> None:
    compiled = constrain.compile(constrain.json_schema({"additionalProperties": {"type": "integer"}}), VOCABULARY)
    one, other = compiled.matcher(), compiled.matcher()
    one.advance_bytes(b'{"a":1,')
    other.advance_bytes(b'{"b":1,')
    assert one.state != other.state
    assert one.state == one.fork().state


def test_versions_of_a_set() -> None:
    empty = Seen()
    a = empty.add("a")
    ab, ac = a.add("b"), a.add("c")
    assert list(ab) == ["a", "b"] and list(ac) == ["a", "c"] and list(a) == ["a"]
    assert "b" in ab and "b" not in ac and "b" not in a and len(a.add("b")) == 2


class SlowLog(list):
    """A log during whose look at its length another thread has the time to come between."""

    def __len__(self) -> int:
        n = super().__len__()
        time.sleep(0.002)
        return n


def test_forks_of_several_threads_add_at_once() -> None:
    begun = Seen().add("first")
    begun._log = SlowLog(begun._log)
    found: dict[int, Seen] = {}
    ready = threading.Barrier(8)

    def work(k: int) -> None:
        ready.wait()
        found[k] = begun.add(f"value {k}").add("last")

    threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for k, seen in found.items():
        assert list(seen) == ["first", f"value {k}", "last"]
        assert [f"value {j}" in seen for j in range(8)] == [j == k for j in range(8)]
    assert list(begun) == ["first"]


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(0, 9))))
def test_versions_are_sets_of_their_own(steps: list[tuple[int, int]]) -> None:
    """Each step adds a value to some earlier version; a list beside each says what it holds."""
    versions = [(Seen(), [])]
    for which, value in steps:
        seen, held = versions[which % len(versions)]
        if value not in held:
            versions.append((seen.add(value), [*held, value]))
    for seen, held in versions:
        assert list(seen) == held
        assert len(seen) == len(held)
        assert [value in seen for value in range(10)] == [value in held for value in range(10)]
    for seen, held in versions:
        for other, also in versions:
            assert (seen == other) == (held == also)
            assert held != also or hash(seen) == hash(other)


ODD = [b"a", None, b"", b" ", b"\t\v t", b" 12", b"12 ", b"1e5", b"a", b" true", b"ru", b"\xff", b'\\"', b" \f7", b"],"]


@pytest.fixture(scope="module", params=["odd", "tiny", "llama3"])
def vocabulary(request: pytest.FixtureRequest) -> Vocabulary:
    return Vocabulary(ODD, eos_ids=[1]) if request.param == "odd" else getattr(vocabularies, request.param)()


def test_questions_about_bytes(vocabulary: Vocabulary) -> None:
    joined, tokens = JoinedTokens.of(vocabulary), [token or b"" for token in vocabulary.tokens]
    for some in (b" ", b"0123456789 ", b"truefalsn"):
        bare = [token.lstrip(some) for token in tokens]
        assert joined.first_but(some).tolist() == [rest[0] if rest else 256 for rest in bare]
        assert joined.within(some) == [i for i, rest in enumerate(bare) if tokens[i] and not rest]
        assert joined.holding(some) == [i for i, token in enumerate(tokens) if set(token) & set(some)]
    assert joined.first().tolist() == [token[0] if token else 256 for token in tokens]


def test_tables(vocabulary: Vocabulary) -> None:
    tables = TokenTables(vocabulary)
    tokens = [(i, token) for i, token in enumerate(vocabulary.tokens) if token]
    assert tables.ending_number.ids.tolist() == [i for i, token in tokens if re.match(rb"[\s,\]}]", token)]
    assert tables.words.ids.tolist() == [i for i, token in tokens if re.match(rb"\s*[tfn]", token)]
    words = {word[i:j] for word in (b"true", b"false", b"null") for i in range(5) for j in range(i, 6)}
    bare = [i for i, token in tokens if token.strip(b" \t\n\r") in words]
    assert {i: tables.outside.short[i] for i in bare} == {i: without_space(vocabulary.tokens[i] or b"") for i in bare}
    numeric = [i for i, token in tokens if re.fullmatch(rb"\s*[-+.\deE]+", token)]
    found = [*tables.agreeing(b"1e", {b"1"}), *tables.agreeing(b"", {None})]
    assert {i for each in found for i in each} == {*numeric}


def test_tokens_that_go_on_in_a_string(vocabulary: Vocabulary) -> None:
    tables = TokenTables(vocabulary)
    some = np.random.default_rng(0).permutation(vocabulary.size)[:500].tolist()
    for text in {vocabulary.tokens[i] for i in some} - {None}:
        assert text is not None
        spelled = [i for i, token in enumerate(vocabulary.tokens) if token == text and token]
        if not set(text) & set(b'\\"'):
            assert [i for i in tables.going_on(text) if b"\\" not in (vocabulary.tokens[i] or b"")] == spelled
    assert list(tables.going_on(b"no token has this text")) == []
