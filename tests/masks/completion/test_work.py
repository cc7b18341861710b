"""The work of filling in the middle of SQL, in counts of rules, steps and configurations: none of them explodes."""

import numpy as np
import pytest

import constrain
import vocabularies
from constrain.kernels.records.arena import HEADER
from constrain.languages.cfg.layout import Column, indentation
from constrain.languages.cfg.transform.walk import reachable
from constrain.masks.completion.least import least_lexeme
from constrain.masks.completion.length_budget import LengthBudget
from constrain.masks.derived.members import is_member
from constrain.masks.engine import TokenAutomaton, compile_bytewise, inspect
from work import counted

PREFIX = "CREATE VIEW accounts AS\n  SELECT rolname AS usename,\n    a.oid AS usesysid,\n    rolcreatedb"
MIDDLE = " AS usecreatedb,\n rolsuper "
SUFFIX = (
    " AS usesuper,\n    passwd,\n    max(until) AS valuntil,\n    setconfig FROM auth a LEFT JOIN s ON (a.oid = s.id);"
)
MOST = {
    "nonterminals": 1_100, "alternatives": 4_000, "items at the start": 260, "steps": 8_200, "configurations": 2_500,
    "completions": 2_000,
}  # fmt: skip


@pytest.fixture(scope="module")
def sql():
    return constrain.collection.load("sql")


def work_of_a_cut(constraint, vocabulary) -> dict[str, int]:
    """The work of one cut, with one mask at each position between the tokens of MIDDLE."""
    compiled = compile_bytewise(constraint, vocabulary, automaton=TokenAutomaton(vocabulary))
    automaton = compiled.automaton
    closing = LengthBudget(compiled)
    matcher = closing.matcher(most=64)
    row = np.zeros(vocabulary.words, np.uint32)
    by_text = {token: i for i, token in reversed(list(enumerate(vocabulary.tokens))) if token}
    at = 0
    text = MIDDLE.encode()
    while at < len(text):
        matcher.fill_mask(row)
        end = next(end for end in range(len(text), at, -1) if text[at:end] in by_text)
        token = by_text[text[at:end]]
        assert row[token >> 5] >> (token & 31) & 1, text[at:end]
        assert matcher.advance(token)
        at = end
    assert matcher.is_accepting()
    start = inspect.lexemes(automaton, compiled.start())[0].parser
    waiters = inspect.Waiters(automaton)
    rules = reachable(constraint.to_grammar().start, 100_000)
    assert rules is not None
    return {
        "nonterminals": len(rules),
        "alternatives": sum(map(len, rules.values())),
        "items at the start": sum(len(waiters.of(start, symbol)) for symbol in waiters.symbols(start)),
        "steps": int(automaton.memory.A[HEADER.STEPS_MADE]),
        "configurations": len(closing.to_end.walk.configurations),
        "completions": len(closing.to_end._needs),
    }


def test_work_of_a_cut(sql):
    """The bounds leave half as much again as is needed. With rules of a suffix that lead from the junction outwards
    there would be thousands of items at the start; with words that may be cut anywhere, eight times as many steps."""
    vocabulary = vocabularies.sentencepiece32k()
    work = work_of_a_cut(constrain.between(sql, prefix=PREFIX, suffix=SUFFIX), vocabulary)
    assert {name: count for name, count in work.items() if count > MOST[name]} == {}


def test_a_longer_suffix_is_no_more_work(sql):
    """Columns that come later do not matter: places with equal rules are one place."""
    counts = []
    for n in (3, 30):
        suffix = SUFFIX.replace(" passwd", " passwd, c" * n)
        rules = reachable(constrain.between(sql, prefix=PREFIX, suffix=suffix).to_grammar().start, 100_000)
        counts.append((len(rules), sum(map(len, rules.values()))))
    assert counts[0] == counts[1]


def test_words_are_not_cut(sql):
    """A name may go on over the junction, and no keyword is found inside a name."""
    rest = constrain.between(sql, prefix="select a fro", suffix="ere b = 1")
    for middle, expected in {"m t wh": True, "m twh": False, "m t h": False, "m t where c, h": False}.items():
        assert is_member(rest, middle) == expected, middle
    row = np.zeros(vocabularies.tiny().words, np.uint32)
    vocabulary = vocabularies.tiny()
    matcher = constrain.compile(constrain.between(sql, prefix="select", suffix=" from t"), vocabulary).matcher()
    matcher.fill_mask(row)
    allowed = bytes(np.flatnonzero(np.unpackbits(row.view(np.uint8), bitorder="little")[:128]).tolist())
    assert not any(chr(byte).isalnum() for byte in allowed)


@pytest.mark.parametrize(("column", "characters"), [(72, 9), (80, 24), (88, 40)])
def test_the_least_text_of_a_deep_indentation_is_found_at_once(column, characters):
    """Tabs and spaces reach it in 10^6 to 10^20 ways, with some hundred columns in between."""
    text, calls = counted(least_lexeme.__wrapped__, indentation(Column(column, characters), 8))
    here = Column()
    for byte in text:
        here = here.after_tab(8) if byte == ord("\t") else here.after_space()
    assert here == (column, characters)
    assert calls < 100_000
