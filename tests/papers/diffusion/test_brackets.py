"""`Brackets`: what texts leave open, and how many brackets are missing, in code that has comments and strings."""

import pytest

import constrain
from constrain.gaps.projection import gap_language
from constrain.languages.vocab.vocabulary import Vocabulary
from constrain.masks.engine.compiled import compile_bytewise
from constrain.papers.diffusion.brackets import CODE, Brackets, within

BLOCK, LINE = (True, True, True, True), (True, False, True, True)
DOUBLE, SINGLE = (True, False, False, True), (True, False, True, False)


@pytest.fixture(scope="module")
def brackets():
    return {name: Brackets(gap_language(grammar_of(name))) for name in ("c", "sql")}


def grammar_of(name):
    return constrain.collection.folder(name).constraint().laid_out_like([""]).as_dynamic()


@pytest.mark.parametrize(
    ("language", "before", "text", "begins", "opened", "missing"),
    [
        ("c", b"", b"f(a[0", CODE, b"([", 2),
        ("c", b"([", b"]; }", CODE, b"(", 2),
        ("c", b"", b"a]) { } (", CODE, b"(", 3),
        ("c", b"({[", b"} )", CODE, b"", 1),  # one that closes is missing
        ("c", b"({", b") { }", CODE, b"", 1),
        ("c", b"{", b"/* ( */ '[' \"}\" // )\n}", CODE, b"", 0),
        ("c", b"", b"i--; f(", CODE, b"(", 1),  # no comment in C
        ("sql", b"", b"-- f(\n(", CODE, b"(", 1),
        ("c", b"{", b") ( */ }", BLOCK, b"", 0),
        ("c", b"{", b") ( \n }", LINE, b"", 0),
        ("c", b"(", b'( " )', DOUBLE, b"", 0),
        ("c", b"(", b"\"(' )", SINGLE, b"", 0),
        ("c", b"(", b"no end )", BLOCK, b"(", 1),
    ],
)
def test_brackets(brackets, language, before, text, begins, opened, missing):
    assert brackets[language].opened(before, text, begins) == opened
    assert brackets[language].missing(before, text, begins) == missing


@pytest.mark.parametrize(
    ("language", "text", "begins"),
    [
        ("c", b"", CODE),
        ("c", b"int f() {", CODE),
        ("c", b"int a = ", CODE),  # a string may begin
        ("c", b"/* a", BLOCK),
        ("c", b"// a", LINE),
        ("c", b'char *a = "b', DOUBLE),
        ("c", b"char a = 'b' + '", SINGLE),
        ("sql", b"SELECT a -- b", LINE),
        ("python", b'"""a', BLOCK),
        ("python", b"a = 1  # b", LINE),
    ],
)
def test_what_a_text_ends_in(language, text, begins):
    vocabulary = Vocabulary([b"a", None], [1])
    matcher = compile_bytewise(constrain.collection.folder(language).constraint(), vocabulary).matcher()
    assert matcher.advance_bytes(text)
    state = matcher.state
    assert within(matcher) == begins
    assert matcher.state == state
