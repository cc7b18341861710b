"""Potentials: what they are asked, what they may answer, products, and the how-to page as a test."""

import importlib.util
import math
import re
from collections.abc import Sequence

import pytest

import constrain
from constrain.errors import ConstrainError
from constrain.sampling.core.patterns import pattern_check
from constrain.sampling.core.potentials import AskedPotential, Potential, PotentialProduct, automaton, predicate
from page_blocks import ran

INF = math.inf


class Table(Potential):
    """Given weights; what is asked is noted."""

    def __init__(self, weights: dict[bytes, float]) -> None:
        self.weights = weights
        self.asked: list[list[bytes]] = []

    def completes(self, texts: Sequence[bytes]) -> list[float]:
        self.asked.append(list(texts))
        return [self.weights[text] for text in texts]

    prefixes = completes


def test_the_default_says_nothing_of_prefixes() -> None:
    class Only(Potential):
        def complete(self, text: bytes) -> float:
            return -float(len(text))

    only = Only()
    assert (only.prefix(b"ab"), only.prefixes([b"a", b"b"])) == (0.0, [0.0, 0.0])
    assert (only.complete(b"ab"), only.completes([b"", b"abc"])) == (-2.0, [0.0, -3.0])
    assert not only.steers
    assert Table({}).steers
    with pytest.raises(NotImplementedError, match="Potential does not say what a complete text weighs"):
        Potential().complete(b"")


def test_a_product_asks_the_second_only_what_the_first_allows() -> None:
    first = Table({b"a": -1.0, b"b": -INF, b"c": 2.0})
    second = Table({b"a": 0.5, b"c": -INF})
    third = Table({b"a": 10.0})
    product = first * second * third
    assert isinstance(product, PotentialProduct)
    assert len(product.factors) == 3
    assert product.completes([b"a", b"b", b"c"]) == [9.5, -INF, -INF]
    assert [*first.asked, *second.asked, *third.asked] == [[b"a", b"b", b"c"], [b"a", b"c"], [b"a"]]
    assert product.prefix(b"a") == 9.5
    assert product.complete(b"b") == -INF
    assert len(third.asked) == 2
    assert (predicate(bool) * first).steers
    assert not (predicate(bool) * predicate(bool)).steers
    with pytest.raises(TypeError):
        first * 2  # type: ignore[operator]


def test_a_predicate_sees_whole_characters() -> None:
    seen: list[str] = []
    potential = predicate(lambda text: seen.append(text) is None and "x" not in text, on="prefix")
    snow = "a☃".encode()
    assert potential.prefixes([snow[:1], snow[:2], snow[:3], snow, snow + b"x"]) == [0.0, 0.0, 0.0, 0.0, -INF]
    assert seen == ["a", "a", "a", "a☃", "a☃x"]
    assert potential.complete(snow) == 0.0
    assert predicate(lambda text: text == b"\xff", as_text=False).complete(b"\xff") == 0.0


def test_a_predicate_over_complete_texts_is_not_asked_about_prefixes() -> None:
    asked = AskedPotential(predicate(lambda text: 1 / 0))  # type: ignore[arg-type,return-value]
    assert asked.prefixes([b"a", b"b"], [0, 0]) == [0.0, 0.0]
    assert not asked.evaluations


def test_answers_are_remembered_and_counted_by_row() -> None:
    table = Table({b"a": 1.0, b"b": -INF, b"c": 0.0})
    asked = AskedPotential(table)
    assert asked.completes([b"a", b"b", b"a"], [0, 1, 2]) == [1.0, -INF, 1.0]
    assert asked.completes([b"c", b"a"], [2, 2]) == [0.0, 1.0]
    assert table.asked == [[b"a", b"b"], [b"c"]]
    assert dict(asked.evaluations) == {0: 1, 1: 1, 2: 1}
    assert asked.prefixes([b"a"], [3]) == [1.0]  # a prefix is another question
    assert asked.evaluations[3] == 1


@pytest.mark.parametrize("value", [INF, math.nan, "much", None, 1j])
def test_what_is_no_log_weight_is_refused(value: object) -> None:
    with pytest.raises(ConstrainError) as caught:
        AskedPotential(Table({b"ok": 0.0, b"text": value})).completes([b"ok", b"text"], [0, 0])  # type: ignore[dict-item]
    assert f"gave {value!r}, which is no log weight" in caught.value.message
    assert caught.value.place == "complete text 'text'"


def test_a_potential_that_raises_is_named_with_the_text() -> None:
    with pytest.raises(ConstrainError) as caught:
        AskedPotential(predicate(lambda text: 1 / 0)).completes([b"a" * 200], [0])  # type: ignore[arg-type,return-value]
    assert str(caught.value).startswith("the potential predicate(<lambda>) failed: ZeroDivisionError: division by zero")
    assert caught.value.place == f"complete text '…{'a' * 100}'"
    assert isinstance(caught.value.__cause__, ZeroDivisionError)


def test_as_many_answers_as_questions() -> None:
    class Short(Potential):
        def completes(self, texts: Sequence[bytes]) -> list[float]:
            return [0.0]

    with pytest.raises(ConstrainError, match="gave 1 weights for 2 texts"):
        AskedPotential(Short()).completes([b"a", b"b"], [0, 0])


def test_hard_potentials_say_yes_or_no() -> None:
    assert AskedPotential(predicate(lambda text: text == "a"), hard=True).completes([b"a", b"b"], [0, 0]) == [0.0, -INF]
    with pytest.raises(ConstrainError, match=r"a check says 0 \(valid\) or -inf\n  at complete text 'a'"):
        AskedPotential(Table({b"a": -0.5}), hard=True).completes([b"a"], [0])


def test_bad_arguments() -> None:
    with pytest.raises(ConstrainError, match="takes a function from text to bool, not str"):
        predicate("true")  # type: ignore[arg-type]
    with pytest.raises(ConstrainError, match='on must be "complete" or "prefix", not \'both\''):
        predicate(bool, on="both")
    with pytest.raises(ConstrainError, match=r"takes a compiled constraint, not dict\n  fix: constrain.compile"):
        automaton({})
    with pytest.raises(ConstrainError, match="wrap a function"):
        AskedPotential(bool)  # type: ignore[arg-type]


def test_a_constraint_as_a_potential() -> None:
    vocabulary = constrain.Vocabulary([bytes([i]) for i in range(256)] + [None], [256])
    potential = automaton(constrain.compile(constrain.regex("(ab)+c?"), vocabulary))
    texts = ["", "a", "ab", "abc", "abab", "abcd", "abcda", "b", "ba", "ababc"]
    encoded = [text.encode() for text in texts]
    for order in (encoded, encoded[::-1]):  # whatever was asked before
        assert [text for text in order if potential.prefix(text) == 0] == [
            text for text in order if re.fullmatch(rb"(ab)*a?|(ab)+c?", text)
        ]
        assert [t for t in order if potential.complete(t) == 0] == [t for t in order if re.fullmatch(rb"(ab)+c?", t)]
    assert repr(potential * predicate(bool)).startswith("automaton(CompiledConstraint(")


def test_the_how_to_page_runs() -> None:
    ran("docs/howto/potentials.md", 7)


def test_a_pattern_that_is_not_regular() -> None:
    """Complete texts are judged by the pattern; prefixes by the package `regex`, where it can."""
    twice = pattern_check(r"(é|\w\w)-\1")
    texts = ["é-é", "ab-ab", "ab-ba", "ab", ""]
    assert twice.completes([text.encode() for text in texts]) == [0.0, 0.0, -INF, -INF, -INF]
    beginnings = [b"ab-a", b"\xc3", b"ab-", b"-", b"ab-b"]
    steered = importlib.util.find_spec("regex") is not None
    assert twice.steers == steered
    assert twice.prefixes(beginnings) == [0.0, 0.0, 0.0, *([-INF] * 2 if steered else [0.0] * 2)]
    assert not pattern_check(r"(\w)\1\b").steers and not pattern_check(r"(\w)(?<=a)\1").steers
    with pytest.raises(constrain.RegexError, match="line 1, column"):
        pattern_check("(a")
    with pytest.raises(constrain.RegexError, match="is a str"):
        pattern_check(re.compile("a"))  # type: ignore[arg-type]
