"""Monitors never lead into a dead end: random walks, with tokens that are lexemes and bytes, and with bytes alone."""

import random
from functools import cache
from keyword import kwlist
from typing import Any

import numpy as np
import pytest
from monitored_texts import CASES
from walks import dead_end, lexemes_of, vocabulary_of

import constrain
from conftest import in_tiers
from constrain.languages.vocab.bits import tokens_of
from constrain.monitors import SqlMonitor, c, jinja, monitored, python, sql
from tables import table

TABLE = table("monitors_dead_ends")

CATALOGUE = {"country": ["name", "code"], "lake": ["name", "country_code", "depth"], "pub": ["pid", "title", "year"]}
TYPED = {
    "country": {"name": "text", "code": "integer"},
    "lake": {"name": "text", "country_code": "integer", "depth": "double precision"},
    "pub": {"pid": "integer", "title": "boolean", "year": "date"},
}
INDEXED = "CREATE TABLE lake (name); CREATE TABLE pub (pid); CREATE INDEX by_pid ON pub (pid);"
TAKING = {"count": -1, "sum": 1, "max": 1, "min": 1, "coalesce": -2, "abs": 1, "round": [1, 2], "substr": [2, 3]}
WORDS = """
SELECT FROM WHERE GROUP BY ORDER HAVING LIMIT JOIN ON AS AND OR NOT IN IS NULL LIKE BETWEEN UNION ALL INTERSECT EXCEPT
DISTINCT CASE WHEN THEN ELSE END INSERT INTO VALUES UPDATE SET DELETE WITH EXISTS ASC DESC LEFT INNER USING CAST
INDEXED INTEGER OFFSET COUNT SUM MAX MIN COALESCE ABS ROUND SUBSTR REPLACE IFNULL OVER PARTITION FILTER
""".split()
NAMES = [*CATALOGUE, *dict.fromkeys(column for columns in CATALOGUE.values() for column in columns), "zz", "t1"]
SIGNS = ",().=<>+-*; \n1"
LEXEMES = [*(f" {word}" for word in [*WORDS, *NAMES]), *NAMES, " (", " =", ", ", " 1", " 'x'", "'x'"]
CLOSING = [")", " END", " FROM", " lake", " 1", " 'x'", " BY"]


# language: words, lexemes that close what is open, single characters that are lexemes
LANGUAGES = {
    "python": (
        " ".join(kwlist) + " match case type zz print len self sum",
        [")", "]", "}", "\n", "1", ":", "}'"],
        "()[]{}:,.=+-*@; \n1",
    ),
    "c": (
        "auto break case char const continue default do double else enum extern for goto if inline int long restrict "
        "return short sizeof static struct switch typedef union unsigned void volatile while typeof x zz NULL size_t",
        [")", "]", "}", ";", "1"],
        "(){}[];,.=+-*/&|!~?:<> \n1",
    ),
    "jinja": (
        "if elif else endif for endfor in set endset with endwith filter endfilter macro endmacro call endcall block "
        "endblock extends include import from as print raw not and or is recursive scoped loop caller range x zz {{ {%",
        ["}}", "%}", ")", "]", "}", "1", " endif", " endfor", "{%", " endmacro", " endblock"],
        "()[]{},.|~+-*=:1 \na",
    ),
}
JOINED = ["\n    ", "\n        ", "f'{", "}'", " 'a'", "lambda x:", " for x in ", "#include <stdio.h>\n", " goto zz;"]


@cache
def compiled(language: str, ahead: str) -> Any:
    """The monitor of a language, with lexemes for tokens."""
    if language.startswith("sql"):
        monitor = sql(INDEXED) if ahead == "indexes" else sql(CATALOGUE, ahead="known" if ahead == "known" else "any")
        monitor = sql(TYPED, types="postgresql", functions=TAKING) if ahead == "types" else monitor
        lexemes = LEXEMES
    else:
        monitor, texts = CASES["c" if language == "c" else f"{language}, {ahead}"][1:]
        lexemes = [*lexemes_of(texts, LANGUAGES[language][0]), *JOINED]
    return constrain.compile(monitored(constrain.collection.load(language), monitor), vocabulary_of(lexemes))


@pytest.mark.parametrize("ahead", ["any", "known", "types", "indexes"])
@in_tiers(60, 180, 500)
def test_walks_of_sql_reach_no_dead_end(ahead: str, seeds: range) -> None:
    found = [dead_end(compiled("sql", ahead), seed, closing=CLOSING, signs=SIGNS) for seed in seeds]
    assert [text for text in found if text is not None] == []


@pytest.mark.parametrize(
    ("language", "ahead"),
    [
        ("python", "any"),
        ("python", "known"),
        ("c", "any"),
        ("jinja", "any"),
        ("jinja", "known"),
        ("sql-common", "any"),
        ("sql-common", "types"),
    ],
)
@in_tiers(6, 24, 70)
def test_walks_of_other_languages_reach_no_dead_end(language: str, ahead: str, seeds: range) -> None:
    _, closing, signs = LANGUAGES.get(language, ("", CLOSING, SIGNS))
    found = [dead_end(compiled(language, ahead), seed, closing=closing, signs=signs) for seed in seeds]
    assert [text for text in found if text is not None] == []


@pytest.mark.parametrize("case", CASES)
@in_tiers(6, 30, 100)
def test_walks_by_bytes_from_the_middle_of_texts_reach_no_dead_end(case: str, seeds: range) -> None:
    """All bytes that may stand there are drawn alike: signs and keywords as often as names."""
    language, monitor, texts = CASES[case]
    code = constrain.compile(monitored(constrain.collection.load(language), monitor), constrain.Vocabulary.of_bytes())
    row = np.zeros(code.vocabulary.words, np.uint32)
    for seed in seeds:
        rng = random.Random(f"{case} {seed}")
        text, matcher = rng.choice(texts).encode(), code.matcher()
        assert matcher.advance_bytes(text[: rng.randrange(len(text))])
        for _ in range(30):
            matcher.fill_mask(row)
            allowed = tokens_of(row).tolist()
            if not allowed:
                break
            assert matcher.advance(rng.choice(allowed))
        assert allowed or matcher.is_accepting(), matcher.text


# (language, ahead, text, what must be refused behind it): a dead end of old lay behind each
DEAD_ENDS = TABLE["dead_ends"]
# (language, ahead, text, what must be allowed behind it)
OPEN = TABLE["open"]


@pytest.mark.parametrize("language, ahead, text, behind", [*DEAD_ENDS, *OPEN])
def test_what_may_stand_behind(language: str, ahead: str, text: str, behind: str) -> None:
    matcher = compiled(language, ahead).matcher()
    assert matcher.advance_bytes(text.encode())
    assert matcher.advance_bytes(behind.encode()) is ([language, ahead, text, behind] in OPEN)


def test_a_name_that_needs_quotes_is_none_without_them() -> None:
    query = monitored(constrain.collection.load("sql"), sql({"t": ["zz name"]}, ahead="known"))
    matcher = constrain.compile(query, constrain.Vocabulary.of_bytes()).matcher()
    assert matcher.advance_bytes(b"SELECT 1 + ")
    assert not matcher.advance_bytes(b"zz")
    assert matcher.advance_bytes(b'"zz name" FROM t')


def test_a_keyword_may_end_a_text() -> None:
    """Nothing may follow it, and it has the grammar's capitals."""
    grammar = constrain.grammar('start: "SELECT " ("NULL" | "CAST(" | NAME)\nNAME: /[a-z]+/')
    query = monitored(grammar, sql({"t": ["a"]}, ahead="known", functions=[]))
    matcher = constrain.compile(query, constrain.Vocabulary.of_bytes()).matcher()
    assert matcher.advance_bytes(b"SELECT ")
    assert matcher.advance_bytes(b"N")
    assert matcher.advance_bytes(b"ULL")
    assert matcher.is_accepting()


def test_a_monitor_is_fitted_to_a_dialect() -> None:
    fitted = [monitored(constrain.collection.load(name), sql(CATALOGUE)).monitor for name in ("sql", "sql-common")]
    assert all(isinstance(each, SqlMonitor) for each in fitted)
    assert [each.lacks for each in fitted] == [{"target alias"}, {"bare alias", "target alias", "or", "all"}]
    assert fitted[0] != fitted[1]


N = "\nN: /[a-z]{1,3}/"
# Small grammars that cannot write what is owed: of 40 walks by bytes 6 to 38 were dead.
SMALL = {
    "sql": (
        lambda: sql({"t": ["id", "ab"], "u": ["x", "id"]}),
        'start: "select " N " from " N " where " N "=" /[0-9]/',
    ),
    "sql, alias": (lambda: sql({"t": ["id"]}), 'start: "select " N " from " N " as " N (" where " N "=" /[0-9]/)?'),
    "sql, known": (
        lambda: sql({"t": ["id", "ab"], "u": ["x", "id"]}, ahead="known"),
        'start: "select " N " from " N " where " N "=" /[0-9]/',
    ),
    "python, for": (python, 'start: "for " N " in " N ":\\n    " N "=" N'),
    "python, def": (lambda: python(ahead="known"), 'start: "def " N "(" N "): return " N "(" N ")"'),
    "python, with": (python, 'start: "with " N " as " N ":\\n    " N "." N "()"'),
    "c": (c, 'start: "int " N "() { " N " = " N "; }"'),
    "jinja": (lambda: jinja({"x": 1}), 'start: "{{ " N "(" N ") }}"'),
}


def small(name: str) -> tuple[Any, Any]:
    make, text = SMALL[name]
    return monitored(constrain.grammar(text + N), make()), vocabulary_of(["id", "in", " x"])


@pytest.mark.parametrize("name", SMALL)
@in_tiers(4, 12, 40)
def test_small_grammars_reach_no_dead_end(name: str, seeds: range) -> None:
    query, vocabulary = small(name)
    code = constrain.compile(query, vocabulary)
    assert [text for seed in seeds if (text := dead_end(code, seed, closing=[], mixed=True)) is not None] == []


def test_a_mask_depends_on_no_search_before_it() -> None:
    query, vocabulary = small("sql, alias")
    codes = [constrain.compile(query, vocabulary, automaton=constrain.TokenAutomaton(vocabulary)) for _ in range(2)]
    rows = np.zeros((2, vocabulary.words), np.uint32)
    for text in (b"select ab from t as ab", b"select "):
        codes[0].matcher().advance_bytes(text)  # searched in one of both alone
    for text in (b"select ", b"select i", b"select ab from t as "):
        for code, row in zip(codes, rows, strict=True):
            matcher = code.matcher()
            matcher.advance_bytes(text)
            matcher.fill_mask(row)
        assert (rows[0] == rows[1]).all(), text


def test_searches_for_ends_look_at_the_limits() -> None:
    """A mask may ask for hundreds of them."""
    query, vocabulary = small("sql")
    matcher = constrain.compile(query, vocabulary).matcher()
    matcher.advance_bytes(b"select ")
    with constrain.Limits(steps=1_000), pytest.raises(constrain.LimitError):
        matcher.fill_mask(np.zeros(vocabulary.words, np.uint32))


def test_the_report_says_that_ends_are_searched() -> None:
    assert "a search finds an end" in str(small("sql")[0].report)


@pytest.mark.parametrize(("names", "found"), [('"id" | "x" | "zz"', False), ("/[b-s]/", False), ("/[a-z]{1,3}/", True)])
def test_the_report_says_where_no_end_was_found(names: str, found: bool) -> None:
    """No name of two of the grammars is a table."""
    query = monitored(constrain.grammar(f'start: "select " N " from " N\nN: {names}'), sql({"t": ["id"]}))
    assert ("no end was found" in str(query.report)) is not found


# Tokens whose end one place of a search finds, and the next one does not, or finds late.
AT_THE_BOUND = [
    ("sql", 'start: s ("; " s)~1..2\ns: "update " N " set " N "=" N "(" N ")"\nN: /[a-z]+/', {"t": ["a"], "u": ["x"]}),
    ("sql", 'start: s ("; " s)~1..2\ns: "select " N "." N " from " N " " N " join " N " on " N "." N " = " N "." N\n'
            "N: /[a-z]/", {"t": ["a"]}),
    ("python", 'start: "class " N ":\\n    def " N "(self):\\n        return self." N\nN: /[a-z]{1,3}/', None),
]  # fmt: skip


@pytest.mark.parametrize(("language", "text", "names"), AT_THE_BOUND)
@in_tiers(2, 6, 20)
def test_masks_and_steps_agree_where_searches_are_bounded(language: str, text: str, names: Any, seeds: range) -> None:
    monitor: Any = python(ahead="known") if names is None else sql(names, functions=["sum"])
    vocabulary = vocabulary_of(["select ", "self", " from"])
    code = constrain.compile(monitored(constrain.grammar(text), monitor), vocabulary)
    row = np.zeros(vocabulary.words, np.uint32)
    for seed in seeds:
        rng, matcher = random.Random(seed), code.matcher()
        while not matcher.ended:
            matcher.fill_mask(row)
            allowed = tokens_of(row).tolist()
            refused = rng.sample(sorted(set(range(vocabulary.size)).difference(allowed)), 5)
            assert not any(map(matcher.advance, refused)), matcher.text
            for token in (*refused, *rng.sample(allowed, min(len(allowed), 3))):  # a token's bytes are what it is
                spelled = vocabulary.tokens[token]
                assert spelled is None or matcher.fork().advance_bytes(spelled) == (token in allowed), spelled
            assert matcher.advance(rng.choice(allowed)), matcher.text


# Grammars of one's own, which lack most of SQL, and the catalogue.
OWN = {
    'start: "select " /[a-z_]{1,6}/ " from t"': {"t": ["id", "name"]},
    'start: "select " /[abc]{1,2}/ " from t"': {"t": ["a", "b", "ab"]},
    'start: "select " /[a-z]{1,4}/ " from t"': {"t": ["id", "customer"]},
    'start: "select count(" /[a-z]+/ ") from t"': {"t": ["id", "name"]},
    'start: "SELECT " /[A-Za-z]+/ " FROM " /[a-z]+/ " WHERE " /[a-z]+/ "=" /[0-9]/': {"users": ["id", "customer"]},
    'start: "select " COL ("," COL)~0..1 " from " COL\nCOL: /[a-z]{1,4}/': {"t": ["id", "name"], "long_name": ["id"]},
}


@pytest.mark.parametrize("text", OWN)
def test_grammars_of_ones_own_reach_no_dead_end(text: str) -> None:
    """The grammar says what stands behind a name: of SQL's functions and words it has few."""
    query = monitored(constrain.grammar(text), sql(OWN[text], ahead="known"))
    code = constrain.compile(query, vocabulary_of(["select ", " from", "count", "name", " t"]))
    assert [found for seed in range(12) if (found := dead_end(code, seed, closing=[])) is not None] == []
    assert constrain.compile(query, constrain.Vocabulary.of_bytes()).matcher().forced_bytes() != b""
