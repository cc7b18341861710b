"""Spans of documents: exact against all spans of random texts, linear in size, work counted on a document of 100 kB."""

import random

import numpy as np
import pytest

import constrain
import vocabularies
from constrain import Limits, json_schema, regex, seq, substring
from constrain.errors import GrammarError, LimitError, UnsatisfiableError
from constrain.kernels.records.arena import HEADER
from constrain.languages.automata.decide import matches
from constrain.languages.constraints import inexact
from constrain.languages.constraints.substring import suffix_automaton
from constrain.masks.engine import TokenAutomaton
from reading_oracle import texts
from work import counted


def all_spans(pieces: list[str]) -> set[str]:
    return {"".join(pieces[i:j]) for i in range(len(pieces)) for j in range(i + 1, len(pieces) + 1)}


@pytest.mark.parametrize("seed", range(40))
def test_characters(seed):
    rng = random.Random(seed)
    document = "".join(rng.choices("abé", k=rng.randint(1, 14)))
    node, spans = substring(document, "char").node, all_spans(list(document))
    for text in [*texts("abé", 4), *spans]:
        assert matches(node, text) == (text in spans), (document, text)


@pytest.mark.parametrize("seed", range(40))
def test_words(seed):
    rng = random.Random(seed)
    words = rng.choices(["a", "ab", "b", "ba", "é"], k=rng.randint(1, 9))
    blanks = rng.choices([" ", "\n", "  "], k=len(words) - 1)
    pieces = [piece for pair in zip(words, [*blanks, ""], strict=True) for piece in pair]
    spans = {"".join(pieces[i : j + 1]) for i in range(0, len(pieces), 2) for j in range(i, len(pieces), 2)}
    document = " " + "".join(pieces) + "\n"
    tried = [*texts("ab ", 5), *spans, *(span + " " for span in spans), *(span[:-1] for span in spans)]
    for constraint, members in (
        (substring(document), spans | {" " + span for span in spans}),
        (substring(document, blank=False), spans),
    ):
        for text in tried:
            assert matches(constraint.node, text) == (text in members), (pieces, text)
            if text in members:
                assert constraint.parse(text) == text.removeprefix(" ")


def test_a_blank_that_is_of_the_span_stays():
    document = " a b"
    assert substring(document, "char").parse(" a") == " a"
    both = substring(document, "char", blank=True)
    assert (both.parse(" a"), both.parse("  a"), both.parse("b")) == (" a", " a", "b")
    assert repr(both) == "substring(' a b', 'char', blank=True)"
    assert repr(substring("a", blank=False)) == "substring('a', 'word', blank=False)"
    assert substring("a", blank=False) != substring("a") == substring("a", blank=True)


@pytest.mark.parametrize("seed", range(40))
def test_chunks(seed):
    rng = random.Random(seed)
    chunks = rng.choices(["a", "ab", "b", "aba"], k=rng.randint(1, 8))  # one may begin like another
    node, spans = substring(chunks, "chunk").node, all_spans(chunks)
    for text in [*texts("ab", 6), *spans]:
        assert matches(node, text) == (text in spans), (chunks, text)


@pytest.mark.parametrize(
    "granularity, document, wanted",
    [
        ("line", " one\n  two \n\nthree", ["one", "two", "three", "one\n  two", "two \n\nthree"]),
        ("sentence", 'A b. "C!" d? E.g. f\n \nG', ["A b.", '"C!"', "d?", "E.g.", "f", "G", 'A b. "C!" d?', "f\n \nG"]),
    ],
)
def test_lines_and_sentences(granularity, document, wanted):
    constraint = substring(document, granularity, blank=False)
    assert [constraint.accepts(text) for text in wanted] == [True] * len(wanted)
    cut = [text[:-1] for text in wanted if len(text) > 1] + [text + " " for text in wanted]
    assert not any(map(constraint.accepts, cut))


def hamming(one: str, other: str) -> int:
    return sum(map(str.__ne__, one, other)) if len(one) == len(other) else len(one) + len(other)


def edits(one: str, other: str) -> int:
    """The textbook's table, row by row (Wagner and Fischer 1974)."""
    row = list(range(len(other) + 1))
    for i, a in enumerate(one):
        above, row[0] = row[0], i + 1
        for j, b in enumerate(other):
            above, row[j + 1] = row[j + 1], min(row[j] + 1, row[j + 1] + 1, above + (a != b))
    return row[-1]


@pytest.mark.parametrize("seed", range(24))
def test_errors(seed):
    """All texts of a few letters, beside their distances from all spans."""
    rng = random.Random(seed)
    granularity, errors = ("char", "word", "chunk")[seed % 3], 1 + seed % 2
    distance, measure = (("edit", edits), ("hamming", hamming))[seed // 2 % 2]
    pieces = ["".join(rng.choices("aé", k=rng.randint(1, 3))) for _ in range(rng.randint(1, 3))]
    document = {"char": "".join(pieces), "word": " ".join(pieces), "chunk": pieces}[granularity]
    spans = {
        "char": lambda: all_spans(list("".join(pieces))),
        "word": lambda: {" ".join(pieces[i:j]) for i in range(len(pieces)) for j in range(i + 1, len(pieces) + 1)},
        "chunk": lambda: all_spans(pieces),
    }[granularity]()
    constraint = substring(document, granularity, blank=False, errors=errors, distance=distance)
    for text in texts("aé ", 5):
        near = text != "" and any(measure(text, span) <= errors for span in spans)
        assert matches(constraint.node, text) == near, (document, errors, distance, text)
        assert not near or constraint.parse(text) == text


def test_a_blank_before_a_misquoted_span():
    constraint = substring("Paris", errors=1)
    assert repr(constraint) == "substring('Paris', 'word', errors=1, distance='edit')"
    assert [constraint.accepts(text) for text in ("Pari", " Parus", "  Paris", "  Pari")] == [True, True, True, False]
    assert [constraint.parse(text) for text in (" Paris", " Parus", "  Paris")] == ["Paris", "Parus", " Paris"]
    assert constraint != substring("Paris") and constraint != substring("Paris", errors=1, distance="hamming")


def test_too_many_errors(monkeypatch):
    monkeypatch.setattr(inexact, "MOST", 100)
    assert substring("to be", errors=1).accepts("to b")
    with pytest.raises(LimitError, match="spans with 3 errors take more than 100 edges of an automaton"):
        constrain.compile(substring("to be or not to be", errors=3), vocabularies.tiny())


def test_prefixes_are_what_can_be_continued():
    document = "the cat and the cart"
    compiled = constrain.compile(substring(document), vocabularies.tiny())
    for text, alive, accepted in [
        ("", True, False),
        (" ", True, False),
        ("  ", False, False),
        (" the cart", True, True),
        ("the ca", True, False),
        ("the cat", True, True),
        ("the cat ", True, False),
        ("the cart ", False, False),
        ("he", False, False),
        ("cat and the cart", True, True),
        ("and cat", False, False),
    ]:
        matcher = compiled.matcher()
        assert matcher.advance_bytes(text.encode()) == alive, text
        assert (alive and matcher.is_accepting()) == accepted, text
    assert compiled.matcher().forced_bytes() == b""
    matcher = compiled.matcher()
    matcher.advance_bytes(b"and ")
    assert matcher.forced_bytes() == b"the"


def test_the_automaton_is_linear():
    """At most 2n - 1 states and 3n - 4 edges (Blumer et al. 1985), also where spans repeat most."""
    for document in ("a" * 999, "ab" * 500, "a" * 500 + "b" * 500, "".join(random.Random(1).choices("ab", k=1000))):
        edges, _ = suffix_automaton([ord(c) for c in document])
        assert len(edges) <= 2 * len(document) - 1
        assert sum(map(len, edges)) <= 3 * len(document) - 4


def words_of(size: int) -> str:
    rng = random.Random(9)
    words = ["".join(rng.choices("etaoinshrdlu", k=rng.randint(1, 9))) for _ in range(3000)]
    text = " ".join(rng.choices(words, k=size // 5))
    return text[:size]


@pytest.mark.parametrize("granularity, limit", [("word", 25), ("char", 80)])
def test_a_document_of_100_kb(granularity, limit):
    """limit: calls for a character of the document."""
    document = words_of(100_000)
    vocabulary = vocabularies.tiny()
    automaton = TokenAutomaton(vocabulary, limits=Limits(seconds=60))  # counting calls takes time
    row = np.zeros(vocabulary.words, np.uint32)

    def first_mask() -> constrain.CompiledConstraint:
        compiled = constrain.compile(substring(document, granularity), vocabulary, automaton=automaton)
        compiled.matcher().fill_mask(row)
        return compiled

    compiled, work = counted(first_mask)
    assert work < limit * len(document)
    assert automaton.memory.A[HEADER.RECORDS] < 5 * len(document)
    begin = document.index(" ", 40_000) + 1
    quote = document[begin : document.index(" ", begin + 5_000)]
    matcher = compiled.matcher()
    assert matcher.advance_bytes(quote.encode())
    assert matcher.is_accepting()
    assert automaton.memory.A[HEADER.STEPS_MADE] <= len(quote)  # one a letter
    assert not matcher.advance_bytes(b"#")


@pytest.mark.parametrize("granularity", ["word", "char"])
def test_a_long_document_and_a_length(granularity):
    """The document is as deep as its words, deeper than the stack of calls."""
    numbers = " ".join(map(str, range(20_000)))
    compiled = constrain.compile(substring(numbers, granularity) & regex(r"[\s\S]{1,40}"), vocabularies.tiny())
    row = np.zeros(compiled.vocabulary.words, np.uint32)
    matcher = compiled.matcher()
    assert matcher.advance_bytes(b"31 32 33 34 3")
    matcher.fill_mask(row)
    assert not matcher.advance_bytes(b"6")
    assert matcher.advance_bytes(b"5 36 37 38 39 40 41 42 43")
    assert matcher.is_accepting()
    assert not matcher.advance_bytes(b" 44")


def test_it_is_a_part_like_any_other():
    document = "to be or not to be"
    quoted = seq('"', substring(document), '"')
    assert quoted.node is not None
    assert matches(quoted.node, '"or not"')
    assert matches((substring(document, "char") & regex("[a-z]{2,}")).node, "not")
    assert not matches((substring(document, "char") & regex("[a-z]{2,}")).node, "o")
    answer = seq("Quote: ", substring(document), "\n", json_schema({"type": "boolean"}))
    matcher = constrain.compile(answer, vocabularies.tiny()).matcher()
    assert matcher.advance_bytes(b"Quote: not to be\ntrue")
    assert matcher.is_accepting()


def test_equal_documents_are_equal():
    assert substring("a b") == substring(" a b ")
    assert substring("ab", "char") == substring(["a", "b"], "chunk")
    assert substring("a b", "char") != substring("a b")
    assert repr(substring("a" * 99)) == "substring('" + "a" * 36 + "..., 'word')"


@pytest.mark.parametrize(
    "make, error, message",
    [
        (lambda: substring("a", "letter"), GrammarError, "unknown granularity 'letter'"),
        (lambda: substring(["a"]), GrammarError, "takes a str, not list: ['a']"),
        (lambda: substring("a", "chunk"), GrammarError, "takes a list of texts, not str: 'a'"),
        (lambda: substring(["a", ""], "chunk"), GrammarError, "chunk 1 is not a text: ''"),
        (lambda: substring(["a", 3], "chunk"), GrammarError, "chunk 1 is not a text: 3"),
        (lambda: substring("a\udc00", "char"), GrammarError, "a lone surrogate in the text"),
        (lambda: substring("a", blank="no"), GrammarError, "blank must be True or False, not 'no'"),
        (lambda: substring("a", errors=-1), GrammarError, "errors must be 0, 1, 2, ..., not -1"),
        (lambda: substring("a", errors=True), GrammarError, "errors must be 0, 1, 2, ..., not True"),
        (lambda: substring("a", errors=1, distance="l2"), GrammarError, "unknown distance 'l2'"),
        (lambda: substring(" \n"), UnsatisfiableError, "there is nothing to quote"),
        (lambda: substring([], "chunk"), UnsatisfiableError, "there is nothing to quote"),
    ],
)
def test_faults(make, error, message):
    with pytest.raises(error) as caught:
        make()
    assert message in str(caught.value)
    assert caught.value.fix
