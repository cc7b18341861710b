"""Unions of parts that differ in counters only: the language that `re` reads, and few parts."""

import itertools
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import constrain
from constrain.kernels.records.arena import HEADER
from constrain.languages.automata import decide
from constrain.languages.automata.counts import MANY, MAX_COUNT, read_count
from constrain.languages.automata.parse.python import parse_python
from constrain.languages.automata.syntax import ANY_CHAR, EPSILON, Repeat, repeat
from tables import table

TABLE = table("counted_unions")

PATTERNS = TABLE["pattern"]
TEXTS = ["".join(letters) for n in range(8) for letters in itertools.product("ab", repeat=n)]


@pytest.mark.parametrize("pattern", PATTERNS)
def test_the_language_is_that_of_re(pattern: str) -> None:
    node, wanted = parse_python(pattern), re.compile(pattern)
    assert [text for text in TEXTS if decide.matches(node, text)] == [text for text in TEXTS if wanted.fullmatch(text)]


def counted(part: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    bounds = st.tuples(st.integers(0, 3), st.integers(0, 3)).map(lambda b: f"{{{min(b)},{max(*b, 1)}}}")
    return st.one_of(
        st.builds("({}){}".format, part, bounds),
        st.builds("{}{}".format, part, part),
        st.builds("({}|{})".format, part, part),
    )


@settings(max_examples=25)
@given(st.recursive(st.sampled_from(["a", "b", ".", "a{2,3}", "b{0,2}", ".{1,2}"]), counted, max_leaves=5))
def test_random_counters(pattern: str) -> None:
    node, wanted = parse_python(pattern), re.compile(pattern)
    for text in TEXTS[:: 1 + len(TEXTS) // 90]:
        assert decide.matches(node, text) == bool(wanted.fullmatch(text)), (pattern, text)


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        (r"(.{1,63}\.){1,127}", "ab.cd." * 30),
        (r"(.{1,100}){1,100}", "a" * 200),
        (r"(.{1,5000}){1,5000}", "a" * 200),
        (r"(.{1,40}){20,100}", "a" * 200),
        (r"(a?){500}a{500}", "a" * 200),
        (r"((.{1,9}-){1,9};){1,9}", "ab-c-;" * 6),
    ],
)
def test_states_stay_small(pattern: str, text: str) -> None:
    """Words of the arena a byte: where all pairs of counts were kept, they grow with the text, to thousands."""
    matcher = constrain.compile(constrain.regex(pattern), constrain.Vocabulary.of_bytes()).matcher()
    automaton = matcher._automaton
    half = len(text) // 2
    assert all(matcher.advance(byte) for byte in text[:half].encode())
    begin = int(automaton.memory.A[HEADER.TOP])
    assert all(matcher.advance(byte) for byte in text[half:].encode())
    assert (int(automaton.memory.A[HEADER.TOP]) - begin) / half < 1500


def test_counts_beyond_words() -> None:
    assert repeat(ANY_CHAR, 0, 2**32 + 2) == repeat(ANY_CHAR, 0, 2**63) == repeat(ANY_CHAR, 0, None)
    assert repeat(EPSILON, 2**64, 2**64) == EPSILON
    kept = repeat(ANY_CHAR, 0, MAX_COUNT)
    assert isinstance(kept, Repeat) and kept.high == MAX_COUNT
    with pytest.raises(constrain.LimitError, match="a repetition of at least 1000000000000000000"):
        repeat(ANY_CHAR, 2**63, None)
    assert read_count("0" * 40 + "7") == 7 and read_count("9" * 18) == 10**18 - 1 and read_count("1" * 5000) == MANY


@pytest.mark.parametrize("count", ["2147483648", "4294967298", "9223372036854775808", "1" + "0" * 5000])
def test_large_counts_of_texts(count: str) -> None:
    """An upper bound that no text reaches is none, in each kind of constraint; a lower bound is an error with a fix."""
    texts = {
        "gbnf": lambda low, high: constrain.grammar(f'root ::= "a"{{{low},{high}}}', format="gbnf"),
        "lark": lambda low, high: constrain.grammar(f'start: A\nA: "a"~{low}..{high}'),
    }
    if len(count) < 4000:
        texts["schema"] = lambda low, high: constrain.json_schema(
            {"type": "string", "minLength": int(low), "maxLength": int(high)}
        )
    vocabulary = constrain.Vocabulary.of_bytes()
    for name, make in texts.items():
        text = b'"aaaaa"' if name == "schema" else b"aaaaa"
        matcher = constrain.compile(make("2", count), vocabulary).matcher()
        assert all(matcher.advance(byte) for byte in text) and matcher.is_accepting(), name
        with pytest.raises(constrain.LimitError, match="a repetition of at least"):
            constrain.compile(make(count, count), vocabulary).matcher().advance(text[0])
