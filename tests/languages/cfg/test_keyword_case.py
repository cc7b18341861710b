"""Keywords in one case: nothing is accepted that the full grammar refuses, and texts in one case stay as they were."""

import random
from itertools import product

import pytest

import constrain
from constrain.errors import GrammarError

BYTES = constrain.Vocabulary.of_bytes()
NAMES = ("sql", "sql-common")
TEXTS = (
    "SELECT a FROM t WHERE b = 1;",
    "UPDATE t SET a = 'Select' WHERE b IS NOT NULL;",
    'DELETE FROM t WHERE "Key" = 2;',
    "INSERT INTO t (a, key) VALUES (1, 2);",
)
DYNAMIC = 'start: (KIND | "no"i /[a-z]/ | NOT)+\nKIND: "int"i | "in"i\nNOT: "x" ~"ab"i "y"'


def accepts(constraint: constrain.Constraint, text: str) -> bool:
    matcher = constrain.compile(constraint, BYTES).matcher()
    return matcher.advance_bytes(text.encode()) and matcher.is_accepting()


def mixed(text: str, chance: random.Random) -> str:
    return "".join(chance.choice((letter.lower(), letter.upper())) for letter in text)


@pytest.mark.parametrize("name", NAMES)
def test_texts_in_one_case_stay_and_no_text_is_new(name: str) -> None:
    full = constrain.collection.load(name)
    cases = {case: constrain.collection.load(name, keywords=case) for case in ("one", "upper", "lower")}
    chance = random.Random(1)
    for text in TEXTS:
        lower = text.lower()
        assert accepts(full, text) and accepts(cases["one"], text)
        assert accepts(full, lower) and accepts(cases["one"], lower)
        assert accepts(cases["lower"], lower) and not accepts(cases["upper"], lower)
        for _ in range(20):
            changed = mixed(text, chance)
            allowed = [case for case, constraint in cases.items() if accepts(constraint, changed)]
            assert not allowed or accepts(full, changed), changed


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("text", ["SeLECT ", "SELECT a FrOM ", "SELECT Select ", "SELECT CAsT(", "DELETE Fr"])
def test_a_mixed_keyword_is_no_prefix_and_becomes_no_name(name: str, text: str) -> None:
    matcher = constrain.compile(constrain.collection.load(name, keywords="one"), BYTES).matcher()
    assert not matcher.advance_bytes(text.encode())


def test_every_short_text_where_every_segmentation_counts() -> None:
    full = constrain.grammar(DYNAMIC)
    one, upper = (constrain.grammar(DYNAMIC, keywords=case) for case in ("one", "upper"))  # type: ignore[arg-type]
    for letters in product("iInNtToO", repeat=3):
        text = "".join(letters)
        assert accepts(one, text) == (text in ("int", "INT", "noi", "non", "not", "noo", "NOi", "NOn", "NOt", "NOo"))
        assert accepts(upper, text) == (text in ("INT", "NOi", "NOn", "NOt", "NOo"))
        assert accepts(full, text) or not accepts(one, text)
    for text in ("xaBy", "xABy", "xy", "xcdy"):  # what ~ excludes is excluded in every case
        assert accepts(one, text) == accepts(full, text) == (text.lower() != "xaby")


def test_a_case_that_a_letter_lacks() -> None:
    grammar = constrain.grammar('start: "stra\u00dfe"i', keywords="one")
    assert [accepts(grammar, text) for text in ("stra\u00dfe", "STRASSE", "Stra\u00dfe")] == [True, False, False]


@pytest.mark.parametrize("options", [{"keywords": "Upper"}, {"keywords": "one", "format": "gbnf"}])
def test_faults(options: dict[str, str]) -> None:
    with pytest.raises(GrammarError, match="keyword"):
        constrain.grammar('start: "a"i', **options)  # type: ignore[arg-type]
    with pytest.raises(GrammarError, match="greedy"):
        constrain.grammar('start: "a"i', lexer="greedy", keywords="one")
    with pytest.raises(GrammarError, match="unknown keyword case"):
        constrain.collection.load("sql", keywords="title")


@pytest.mark.parametrize("name", NAMES)
def test_generated_sql_is_one_statement(name: str) -> None:
    folder = constrain.collection.folder(name)
    constraint = folder.constraint(**folder.generation)
    assert accepts(constraint, "SELECT a FROM t;")
    assert accepts(constraint, "SELECT a -- b; c\nFROM t;")
    for behind in (" SELECT b FROM t;", "\n", " -- b"):
        assert not accepts(constraint, f"SELECT a FROM t;{behind}")
        assert accepts(folder.constraint(), f"SELECT a FROM t;{behind}")
