"""Matchers: forks, rollbacks, refusals and ends of text, against a matcher that reads all again from the start.

The configuration after a text does not depend on its cuts; `mask` gives the row that `fill_mask` writes, read-only.
"""

import random
from typing import Any

import numpy as np
import pytest
from engine_cases import allowed, mask_of, small_vocabulary
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

import constrain
import vocabularies
from constrain.errors import ConstrainError
from constrain.languages.vocab.vocabulary import Vocabulary
from constrain.masks.engine import CompiledConstraint, Matcher, TokenAutomaton, compile_bytewise
from constrain.masks.engine.known_states import MAX_ROWS
from handmade import Made
from small_grammars import JSON, STATEMENTS, random_grammar
from tables import table

TABLE = table("mask_words")

WORDS = TABLE["words"]
VOCABULARY = Vocabulary(
    [*(bytes([b]) for b in range(256)), *map(str.encode, WORDS), b"==", None, None, None], [277, 278]
)
EOS = 277


def compiled_json() -> CompiledConstraint:
    return constrain.compile(constrain.grammar(JSON), VOCABULARY)


def compiled_statements() -> CompiledConstraint:
    return constrain.compile(constrain.grammar(STATEMENTS, lexer="greedy"), VOCABULARY)


def replayed(compiled: CompiledConstraint, steps: list[int | bytes]) -> Matcher:
    """A new matcher that read these steps."""
    matcher = compiled.matcher()
    for step in steps:
        assert matcher.advance_bytes(step) if isinstance(step, bytes) else matcher.advance(step)
    return matcher


def assert_same(matcher: Matcher, other: Matcher) -> None:
    """Nothing that can be asked tells them apart."""
    assert matcher.state == other.state
    assert matcher.text == other.text
    assert matcher.is_accepting() == other.is_accepting()
    assert matcher.is_finished() == other.is_finished()
    assert mask_of(matcher) == mask_of(other)


@pytest.mark.parametrize("compiled", [compiled_json, compiled_statements], ids=["recursive", "greedy"])
def test_ten_thousand_operations(compiled):
    """A random walk of advances, refusals, rollbacks and forks; a matcher always equals one that read all again."""
    compiled, rng = compiled(), random.Random(3)
    alive: list[tuple[Matcher, list[int | bytes]]] = [(compiled.matcher(), [])]
    done = dict.fromkeys(["token", "bytes", "refused", "end", "back", "fork"], 0)
    for _ in range(10_000):
        number = rng.randrange(len(alive))
        matcher, steps = alive[number]
        choice = rng.choices(list(done), [40, 12, 12, 4, 12, 8])[0]
        done[choice] += 1
        mask = mask_of(matcher)
        if choice in ("token", "bytes") and (tokens := sorted(mask - set(VOCABULARY.eos_ids))):
            token = rng.choice([t for t in tokens if t >= 256] or tokens) if rng.randrange(2) else rng.choice(tokens)
            step = token if choice == "token" else VOCABULARY.tokens[token]
            assert matcher.advance(token) if choice == "token" else matcher.advance_bytes(step)
            steps.append(step)
        elif choice == "end":
            assert matcher.advance(EOS) == (EOS in mask)
            steps += [EOS] * (EOS in mask)
        elif choice == "refused":
            wrong = rng.choice(sorted(set(range(VOCABULARY.size)) - mask))
            assert not matcher.allows(wrong)
            assert not matcher.advance(wrong)
            assert not matcher.advance_bytes(rng.choice([b"\xff", b"\x00", b"1\x00", b"{\xff"]))
        elif choice == "back" or len(steps) > 40:
            n = rng.randint(0, len(steps))
            matcher.rollback(n)
            del steps[len(steps) - n :]
        elif choice == "fork":
            alive.append((matcher.fork(), steps.copy()))
            del alive[: len(alive) - 5]
        assert_same(matcher, replayed(compiled, steps))
    assert min(done.values()) > 200


class Walk(RuleBasedStateMachine):
    """The same as rules for hypothesis, which shortens what fails."""

    compiled = constrain.compile(
        constrain.grammar('start: ("a" | "ab" | "(" start ")")*'), small_vocabulary("ab()x", ["ab", "a(", "))"])
    )

    def __init__(self) -> None:
        super().__init__()
        self.matcher = self.compiled.matcher()
        self.steps: list[int | bytes] = []

    @rule(token=st.integers(0, compiled.vocabulary.size - 1))
    def advance(self, token):
        expected = token in mask_of(self.matcher)
        assert self.matcher.allows(token) == expected
        assert self.matcher.advance(token) == expected
        self.steps += [token] * expected

    @rule(text=st.text("ab()", max_size=3))
    def advance_bytes(self, text):
        fork = self.matcher.fork()
        expected = not fork.is_finished() and all(fork.advance_bytes(c.encode()) for c in text)
        if not self.matcher.is_finished():
            assert self.matcher.advance_bytes(text.encode()) == expected
            self.steps += [text.encode()] * expected

    @precondition(lambda self: self.steps)
    @rule(data=st.data())
    def rollback(self, data):
        n = data.draw(st.integers(1, len(self.steps)))
        self.matcher.rollback(n)
        del self.steps[-n:]

    @rule()
    def fork(self):
        before, self.matcher = self.matcher, self.matcher.fork()
        before.advance(0)
        before.rollback(len(before.text) and 1)

    @invariant()
    def same(self):
        assert_same(self.matcher, replayed(self.compiled, self.steps))


Walk.TestCase.settings = settings(max_examples=40, stateful_step_count=20, deadline=None)
test_stateful = Walk.TestCase


# --- ends of texts ----------------------------------------------------------------------------------------------------


def test_end_of_text():
    matcher = constrain.compile(constrain.regex("(ab)+"), VOCABULARY).matcher()
    assert not matcher.advance(EOS)
    assert matcher.advance_bytes(b"abab")
    assert matcher.is_accepting()
    assert not matcher.is_finished()
    assert set(VOCABULARY.eos_ids) <= mask_of(matcher)
    for eos in VOCABULARY.eos_ids:
        state = matcher.state
        assert matcher.allows(eos)
        assert matcher.advance(eos)
        assert matcher.is_finished()
        assert matcher.is_accepting()
        assert mask_of(matcher) == allowed(matcher) == set()
        assert (matcher.forced_tokens(), matcher.forced_bytes()) == ([], b"")
        assert not matcher.advance(eos)
        assert not matcher.advance(ord("a"))
        assert not matcher.advance_bytes(b"a")
        assert matcher.text == b"abab"
        assert matcher.state != state
        matcher.rollback(1)
        assert matcher.state == state
        assert not matcher.is_finished()
    assert matcher.advance(ord("a"))


def test_finished_when_nothing_but_the_end_can_follow():
    matcher = constrain.compile(constrain.choices(["ab", "abc"]), VOCABULARY).matcher()
    seen = []
    for byte in b"abc":
        seen.append((matcher.is_accepting(), matcher.is_finished()))
        assert matcher.advance(byte)
    assert seen == [(False, False), (False, False), (True, False)]
    assert matcher.is_finished()
    assert mask_of(matcher) == set(VOCABULARY.eos_ids)


def test_tokens_with_the_same_bytes_and_tokens_that_are_never_text():
    matcher = constrain.compile(constrain.grammar(STATEMENTS, lexer="greedy"), VOCABULARY).matcher()
    assert matcher.advance_bytes(b"if a")
    first, second = (i for i, token in enumerate(VOCABULARY.tokens) if token == b"==")
    assert {first, second} <= mask_of(matcher)
    fork = matcher.fork()
    assert matcher.advance(first)
    assert fork.advance(second)
    assert matcher.state == fork.state
    special = next(i for i, token in enumerate(VOCABULARY.tokens) if token is None and i not in VOCABULARY.eos_ids)
    assert not matcher.allows(special)
    assert not matcher.advance(special)


# --- forced -----------------------------------------------------------------------------------------------------------


def forced_by_definition(matcher: Matcher) -> tuple[list[int], bytes]:
    """Tokens while exactly one is allowed; bytes while exactly one may follow and the text is not valid yet."""
    fork, tokens, text = matcher.fork(), [], b""
    while len(mask := mask_of(fork)) == 1 and not mask & set(VOCABULARY.eos_ids):
        tokens += mask
        fork.advance(*mask)
    fork = matcher.fork()
    while (
        not fork.is_accepting()
        and len(following := [b for b in range(256) if fork.fork().advance_bytes(bytes([b]))]) == 1
    ):
        text += bytes(following)
        fork.advance_bytes(text[-1:])
    return tokens, text


@pytest.mark.parametrize(
    "text", ["", "l", "le", "let", "let a", "if a ", "if a t", "if a then le", "a(", "a(1)", "a(1);"]
)
@pytest.mark.parametrize("lexer", ["greedy", "dynamic"])
def test_forced_in_a_grammar(lexer, text):
    matcher = constrain.compile(constrain.grammar(STATEMENTS, lexer=lexer), VOCABULARY).matcher()
    assert matcher.advance_bytes(text.encode())
    assert (matcher.forced_tokens(), matcher.forced_bytes()) == forced_by_definition(matcher)


@pytest.mark.parametrize("text", ["", "r", "\x00", "é\x00", "\x00\x00"])
def test_forced_in_choices(text):
    constraint = constrain.choices(["red\x00\x01\x02", "r\x00\x01", "\x00\x00\x00", "é\x00\x01", "éx"])
    matcher = constrain.compile(constraint, VOCABULARY).matcher()
    assert matcher.advance_bytes(text.encode())
    found = matcher.forced_tokens(), matcher.forced_bytes()
    assert found == forced_by_definition(matcher)
    assert text != "\x00\x00" or found == ([0], b"\x00")


def test_endless_forced_bytes_stop():
    matcher = constrain.compile(constrain.regex(r"(\x00\x01){100000}"), VOCABULARY).matcher()
    assert 1000 < len(matcher.forced_bytes()) < 200_000
    assert matcher.text == b""
    matcher = constrain.compile(constrain.regex(r"(\x00\x01){300}"), VOCABULARY).matcher()
    assert matcher.forced_tokens() == [0, 1] * 300


# --- state ------------------------------------------------------------------------------------------------------------


def test_equal_states_mean_equal_futures():
    """On a finite language both ways round: over all viable prefixes, equal states iff equal sets of endings."""
    words = ["ab", "aab", "bab", "b", "cab", "cb", "abab"]
    compiled = constrain.compile(constrain.choices(words), VOCABULARY)
    by_state: dict[int, set[frozenset[str]]] = {}
    for prefix in {word[:n] for word in words for n in range(len(word) + 1)}:
        matcher = compiled.matcher()
        assert matcher.advance_bytes(prefix.encode())
        endings = frozenset(word[len(prefix) :] for word in words if word.startswith(prefix))
        by_state.setdefault(matcher.state, set()).add(endings)
    assert all(len(endings) == 1 for endings in by_state.values())
    assert len(by_state) == len(set.union(*by_state.values()))


def test_lists_lead_back_to_the_same_state():
    compiled, states = compiled_json(), set()
    for n in range(1, 30):
        matcher = compiled.matcher()
        assert matcher.advance_bytes(b"[" + b", ".join([b"1"] * n) + b", ")
        states.add(matcher.state)
    assert len(states) <= 2


# --- batches ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [1, 2, 17])
def test_a_batch_of_masks(n):
    matchers = [compiled_json().matcher() for _ in range(n)] + [compiled_statements().matcher()]
    for matcher, text in zip(matchers, ['[{"a', "[1", "{}", "[", '["'] * 4, strict=False):
        matcher.advance_bytes(text.encode())
    out = np.full((n + 1, VOCABULARY.words), 0xFFFFFFFF, np.uint32)
    constrain.fill_masks(matchers, out)
    expected = np.zeros_like(out)
    for matcher, row in zip(matchers, expected, strict=True):
        matcher.fill_mask(row)
    np.testing.assert_array_equal(out, expected)


def test_a_rollback_too_far_changes_nothing():
    matcher = compiled_json().matcher()
    assert matcher.advance_bytes(b"[1")
    state = matcher.state
    with pytest.raises(ConstrainError):
        matcher.rollback(2)
    with pytest.raises(ConstrainError):
        matcher.rollback(-1)
    assert matcher.state == state
    assert matcher.text == b"[1"


def test_a_tiny_vocabulary():
    """The example of the documentation: masks of `true | false` token by token."""
    vocabulary = vocabularies.tiny()
    matcher = constrain.compile(constrain.json_schema({"type": "boolean"}, whitespace="compact"), vocabulary).matcher()
    assert {vocabulary.tokens[i] for i in mask_of(matcher)} == {b"t", b"true", b"f", b"false"}


SOURCES: dict[str, tuple[Any, bytes]] = {
    "regex": (lambda: constrain.regex("[a-z]+[0-9]{2,4}"), b"abc12"),
    "grammar": (lambda: constrain.grammar(JSON), b'{"ab": [12, true]}'),
    "guarded": (lambda: constrain.json_schema({"type": "object"}, whitespace="compact"), b'{"a":1,"ab":{}}'),
    "unique": (lambda: constrain.json_schema({"type": "array", "uniqueItems": True}), b'["a", "ab", 1, 12]'),
    "checked": (lambda: constrain.json_schema({"type": "string", "format": "regex"}), b'"ab"'),
}


@pytest.mark.parametrize("name", SOURCES)
def test_it_is_what_fill_mask_writes(name: str) -> None:
    make, text = SOURCES[name]
    automaton = constrain.TokenAutomaton(vocabularies.tiny())
    compiled = constrain.compile(make(), vocabularies.tiny(), automaton=automaton)
    kept = []
    for _ in range(2):  # the second time from memory
        matcher = compiled.matcher()
        row = np.zeros(vocabularies.tiny().words, np.uint32)
        for i in range(len(text) + 1):
            matcher.fill_mask(row)
            mask = matcher.mask()
            assert mask.dtype == np.uint32 and (mask == row).all(), text[:i]
            with pytest.raises(ValueError, match="read-only"):
                mask[0] = 1
            kept.append((mask, row.copy()))
            assert matcher.advance_bytes(text[i : i + 1]) or i == len(text)
        automaton.flush()
    assert all((mask == row).all() for mask, row in kept)


def test_after_the_end_nothing_is_allowed() -> None:
    matcher = constrain.compile(constrain.choices(["ab"]), vocabularies.tiny()).matcher()
    assert matcher.advance_bytes(b"ab") and matcher.advance(270)
    assert not matcher.mask().any()


def test_equal_states_share_a_row_and_few_are_kept() -> None:
    automaton = constrain.TokenAutomaton(vocabularies.tiny())
    compiled = constrain.compile(constrain.regex("a{0,2000}"), vocabularies.tiny(), automaton=automaton)
    matcher = compiled.matcher()
    assert matcher.mask() is compiled.matcher().mask() is matcher.fork().mask()
    for _ in range(2 * MAX_ROWS):
        matcher.mask()
        assert matcher.advance_bytes(b"a")
    assert 0 < len(automaton.known.masks) <= MAX_ROWS


AB_VOCABULARY = small_vocabulary("ab", ["aa", "ab", "ba", "bb", "aba", "abb", "bab", "baab", "abab", "bbbb"])


@pytest.mark.parametrize("block", range(4))
def test_tokens_and_bytes_lead_to_the_same_configuration(block: int) -> None:
    """A token leaps over the configurations within it at first, and walks them when it meets the last one again."""
    automaton = TokenAutomaton(AB_VOCABULARY)
    rng = random.Random(block)
    leaps = 0
    for seed in range(block * 50, block * 50 + 50):
        grammar = random_grammar(random.Random(seed), "ab", "dynamic")
        compiled = compile_bytewise(Made(grammar), AB_VOCABULARY, automaton=automaton)
        for _ in range(6):
            by_tokens, text = compiled.matcher(), b""
            for _ in range(5):
                allowed = [t for t, token in enumerate(AB_VOCABULARY.tokens) if token and by_tokens.allows(t)]
                if not allowed:
                    break
                token = rng.choice(allowed)
                assert by_tokens.advance(token)
                text += AB_VOCABULARY.tokens[token] or b""
                by_bytes, again = compiled.matcher(), compiled.matcher()
                assert by_bytes.advance_bytes(text)
                assert all(again.advance_bytes(bytes([byte])) for byte in text)
                assert by_tokens.state == by_bytes.state == again.state, (seed, text)
                leaps += 1
    assert leaps > 300


@pytest.mark.parametrize("text", [b'{"a": [1, 2], "bc": "x y"}', b'{ "a" :[ 10,2 ]\n, "bc":"" }'])
def test_a_value_leads_to_one_configuration_however_it_is_cut(text: bytes) -> None:
    properties = {"a": {"type": "array", "items": {"type": "integer"}}, "bc": {"type": "string"}}
    schema = {"type": "object", "properties": properties, "required": ["a", "bc"], "additionalProperties": False}
    pieces = sorted({text[i:j] for i in range(len(text)) for j in range(i + 1, min(i + 8, len(text)) + 1)})
    vocabulary = constrain.Vocabulary([*pieces, None], eos_ids=[len(pieces)])
    compiled = compile_bytewise(constrain.json_schema(schema, spelling="any"), vocabulary)
    expected = []
    whole = compiled.matcher()
    for byte in text:
        assert whole.advance_bytes(bytes([byte]))
        expected.append(whole.state)
    rng = random.Random(5)
    for _ in range(60):
        matcher, at = compiled.matcher(), 0
        while at < len(text):
            size = rng.randrange(1, min(8, len(text) - at) + 1)
            assert matcher.advance(pieces.index(text[at : at + size]))
            at += size
            assert matcher.state == expected[at - 1]
