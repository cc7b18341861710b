"""Monitors as guards: masks against a grammar with the names written into its lexer; forks, drafts and batches."""

from __future__ import annotations

import pickle
import random
from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from rereading import check_rereading

import constrain
import vocabularies
from constrain.errors import ConstrainError, UnsatisfiableError
from constrain.monitors import Names, accepted_beginning, c, guard, jinja, monitored, names_at, python, reading, sql
from constrain.monitors.sql.lexicon import LEXICON
from work import counted

RULES = """
start: expr (" + " expr)* ";"
expr: NAME | NAME "(" [expr ("," " "? expr)*] ")" | NAME "." NAME | "'" /[a-z ]*/ "'" | "!" expr
"""
NAMES = ["a", "ab", "abc", "foo", "foobar", "the", "value", "valued", "x1", "i", "id", "user_id", "print", "é", "naïve"]
STRADDLING = [
    *(b"foo(", b"foo.bar(", b"a, b", b"a,b", b"obar;", b"abc(ab)", b" + the + va", b".id", b"lue);", b"bc + ", b"x1,"),
    *(b"foo(nosuch", b"nosuch(", b"!a.ab", b"'a' + ab", b"\xa9(", b"id;", b"va", b"lue", b"print(", b"foob", b"ed"),
]


@dataclass(frozen=True)
class Declared:
    """A monitor that knows some names."""

    names: Names = field(hash=False, compare=False)
    key: tuple[str, ...] = ()
    lexicon: Any = LEXICON

    def start(self) -> Hashable:
        return 0

    def begin(self, state: Hashable, kind: int, first: bytes) -> Hashable:
        return state

    def advance(self, state: Hashable, kind: int, text: bytes) -> Hashable:
        return state

    def language(self, state: Hashable) -> Names:
        return self.names

    def may_end(self, state: Hashable) -> bool:
        return True


def declared(*names: str) -> Declared:
    return Declared(Names(names), names)


def any_case(name: str) -> str:
    """A regex of a name whose ASCII letters may be in either case."""
    return "".join(f"[{c}{c.upper()}]" if c.isascii() and c.isalpha() else c for c in name)


def both(names: list[str], vocabulary: constrain.Vocabulary) -> tuple[Any, Any]:
    """The same language twice: under a monitor, and with the names as a terminal."""
    generic = constrain.grammar(RULES + r"NAME: /[A-Za-z_\u0080-\U0010ffff][A-Za-z_0-9\u0080-\U0010ffff]*/")
    spelled = constrain.grammar(RULES + f"NAME: /{'|'.join(map(any_case, names))}/")
    return (constrain.compile(monitored(generic, declared(*names)), vocabulary), constrain.compile(spelled, vocabulary))


@pytest.mark.parametrize(
    ("load", "places"), [(vocabularies.tiny, 40), pytest.param(vocabularies.llama3, 400, marks=pytest.mark.slow)]
)
def test_masks_are_those_of_names_in_the_lexer(load: Any, places: int) -> None:
    """Masks are those of names in the lexer, for every token of a vocabulary and tokens that run over a name's end."""
    known = load().tokens
    vocabulary = constrain.Vocabulary([*known, *STRADDLING, None], eos_ids=[len(known) + len(STRADDLING)])
    rng = random.Random(places)
    rows = np.zeros((2, vocabulary.words), np.uint32)
    straddling = 0
    for names in (NAMES, NAMES[3:8]):
        one, two = (compiled.matcher() for compiled in both(names, vocabulary))
        for _ in range(places // 2):
            one.fill_mask(rows[0])
            two.fill_mask(rows[1])
            differ = np.flatnonzero(np.unpackbits((rows[0] ^ rows[1]).view(np.uint8), bitorder="little"))
            assert [vocabulary.tokens[i] for i in differ] == [], two.text
            tokens = np.flatnonzero(np.unpackbits(rows[0].view(np.uint8), bitorder="little"))
            texts = [vocabulary.tokens[i] or b"" for i in tokens]
            straddling += sum(text in STRADDLING for text in texts)
            if one.is_finished() or rng.random() < 0.05:
                one, two = one.compiled.matcher(), two.compiled.matcher()
                continue
            token = int(rng.choice(tokens))
            assert one.advance(token) == two.advance(token)
    assert straddling > 0


QUOTED_PLACES = [
    *('select * from "invoices"', 'select * from "inv""x"', 'select "a b" from t where "a b"', "select `id`"),
    *("select * from [invoices] as", 'select * from t, "main"', 'select t."a b"', 'select * from "inv', "select [a b]"),
]


@pytest.mark.parametrize("text", QUOTED_PLACES)
def test_masks_after_quoted_names(text: str) -> None:
    """Behind a closing quote another name may stand, such as an alias; a token that is allowed is no dead end."""
    vocabulary = constrain.Vocabulary(
        [*(bytes([i]) for i in range(256)), b" t", b"id", b'""', b'x" ', b"ces", None], [261]
    )
    query = monitored(constrain.collection.load("sql"), sql({"invoices": ["id"], 'inv"x': ["id"], "t": ["a b", "id"]}))
    matcher = constrain.compile(query, vocabulary).matcher(prefix=text.encode())
    row = matcher.mask()
    if text.endswith('invoices"'):  # an alias may be any name
        assert matcher.allows(vocabulary.tokens.index(b" t"))
    for token in range(vocabulary.size):
        allowed = bool(row[token >> 5] >> (token & 31) & 1)
        assert allowed == matcher.allows(token), vocabulary.tokens[token]
        if allowed and vocabulary.tokens[token]:
            after = matcher.fork()
            assert after.advance(token)
            assert after.mask().any(), after.text


def test_a_quoted_text_that_is_no_name_is_not_closed() -> None:
    some, more = sql({"invoices": ["id"]}), sql({"invoices": ["id"], 'inv"x': ["id"]})
    assert accepted_beginning(some, 'select * from "Inv" t') == 'select * from "Inv'
    assert accepted_beginning(more, 'select * from "Inv" t') == 'select * from "Inv"'
    assert accepted_beginning(more, 'select * from "inv""x" t') == 'select * from "inv""x" t'


BEGUN = {
    "sql": (sql({"ab": ["abc", "true"], "abc": ["ab"]}), [b"select abc from ab where ", b"abc", b" in (select "]),
    "python": (python(), [b"import os\nab = [1]\n", b"if ab.", b"copy():\n  "]),
    "python, known": (python(ahead="known"), [b"abc = [1]\n", b"print(f'{abc", b"!r} {", b"abc."]),
    "c": (c(), [b"struct s { int ab; }", b" *a, b;\nint c(int ab", b", int abc) { return ", b"a->"]),
    "jinja": (
        jinja({"ab": {"abc": [1]}, "abc": int}),
        [b"{% for a in ab.abc %}", b"{{ a ~ ab", b".abc|", b"abs ~ ab."],
    ),
    "jinja, known": (jinja({"ab": str}, ahead="known"), [b"{% macro a(abc, b=1) %}", b"{{ ab is defined and ", b"a"]),
    "c, types": (c(), [b"#include <stdio.h>\ntypedef int ab;", b"\nab abc(ab a) { ", b"ab b = "]),
}


@pytest.mark.parametrize("case", BEGUN)
def test_a_matcher_equals_one_that_reads_again(case: str) -> None:
    """Fork, rollback, pickle, drafts, batches: wherever a matcher has been, its mask is that of a new one."""
    vocabulary = vocabularies.tiny()
    monitor, texts = BEGUN[case]
    compiled = constrain.compile(monitored(constrain.collection.load(case.partition(",")[0]), monitor), vocabulary)
    check_rereading(compiled, texts)


def test_a_text_ends_only_if_its_names_are_known() -> None:
    vocabulary = constrain.Vocabulary.of_bytes()
    query = monitored(constrain.collection.load("sql"), sql({"users": ["id"]}))
    matcher = constrain.compile(query, vocabulary).matcher()
    assert matcher.advance_bytes(b"select id")
    assert not matcher.is_accepting()
    assert query.residual_fault("select id") is not None
    assert matcher.advance_bytes(b" from users")
    assert matcher.is_accepting()
    assert query.residual_fault("select id from users") is None
    assert "after 'select id from users where no'" in str(query.residual_fault("select id from users where nosuch"))


@pytest.mark.parametrize(("empty", "allowed"), [("open", True), ("end", False)])
def test_a_language_without_names_is_a_policy(empty: Any, allowed: bool) -> None:
    generic = constrain.grammar(RULES + "NAME: /[a-z]+/")
    matcher = constrain.compile(monitored(generic, declared(), empty=empty), vocabularies.tiny()).matcher()
    assert matcher.advance_bytes(b"ab") is allowed


def test_a_language_without_names_is_an_error_where_the_user_says_so() -> None:
    generic = constrain.grammar(RULES + "NAME: /[a-z]+/")
    matcher = constrain.compile(monitored(generic, declared(), empty="error"), vocabularies.tiny()).matcher()
    with pytest.raises(UnsatisfiableError, match="knows none"):
        matcher.advance_bytes(b"ab")


def test_bad_arguments_are_named() -> None:
    grammar = constrain.collection.load("sql")
    monitor = sql({"users": ["id"]})
    with pytest.raises(ConstrainError, match="takes a constraint"):
        monitored("select", monitor)  # type: ignore[arg-type]
    with pytest.raises(ConstrainError, match="is no monitor: it has no lexicon"):
        monitored(grammar, object())  # type: ignore[arg-type]
    with pytest.raises(ConstrainError, match="empty="):
        monitored(grammar, monitor, empty="none")  # type: ignore[arg-type]
    with pytest.raises(ConstrainError, match="ahead="):
        sql({}, ahead="some")
    with pytest.raises(ConstrainError, match="not SQL"):
        sql("CREATE TABLE (")
    with pytest.raises(ConstrainError, match="lists of columns"):
        sql({"users": "id"})
    with pytest.raises(ConstrainError, match="takes CREATE statements"):
        sql(3)


def test_names_and_beginnings_can_be_asked_for() -> None:
    monitor = sql({"users": ["id", "name"], "orders": ["id", "user_id"]}, functions={"abs": 1})
    assert names_at(monitor, "select * from ") == ["main", "orders", "temp", "users"]
    assert names_at(monitor, "select ") is None
    assert accepted_beginning(monitor, "select id from users where user_id = 1") == "select id from users where user"
    with pytest.raises(ConstrainError, match="refuses"):
        names_at(monitor, "select * from nosuch where ")


def test_a_pickled_constraint_has_the_same_masks() -> None:
    vocabulary = vocabularies.tiny()
    constraint = monitored(constrain.collection.load("sql"), sql({"ab": ["abc"]}))
    copy = pickle.loads(pickle.dumps(constraint))
    assert copy.monitor == constraint.monitor
    one, two = (
        constrain.compile(each, vocabulary).matcher(prefix=b"select * from ab where ") for each in (constraint, copy)
    )
    assert np.array_equal(one.mask(), two.mask())


def test_places_that_are_met_again_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """With room for 200 places, a text that is read again and again keeps its own, and others go."""
    monkeypatch.setattr(reading, "MAX_STATES", 200)
    known, free = reading.MonitorReading(python()), reading.MonitorReading(python())
    often, made = b"a = 1\nprint(a)\n", {}  # all places that were kept once: an id is that of one object while it lives
    state = known.step(known.start(), often)
    for i in range(30):
        text = b"x%d = [%d]\nx%d.append(%d)\n" % (i, i, i, i)
        assert known.step(known.start(), text) == free.step(free.start(), text) is not None
        made |= {id(place): place for place in known._known.values()}
        assert known.step(known.start(), often) is state
        assert len(known._known) <= 100 and len(known._older) <= 100
    assert len(made) > 300


def test_masks_that_are_asked_for_again_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """With room for eight masks, the one of the beginning stays, which every text asks for; others go, and come back
    equal."""
    monkeypatch.setattr(guard, "MAX_KEPT", 8)
    monkeypatch.setattr(guard, "MAX_ROWS", 8)
    compiled = constrain.compile(
        monitored(constrain.collection.load("sql"), sql({"kept": ["abc"]})), vocabularies.tiny()
    )
    monitoring, judged = compiled.guard, []
    judge_tokens = monitoring._judge_tokens
    monkeypatch.setattr(monitoring, "_judge_tokens", lambda at, asked: judged.append(at) or judge_tokens(at, asked))
    oracle = {text: compiled.matcher(prefix=text).mask() for text in _BEGINNINGS}
    judged.clear()
    for text in [*_BEGINNINGS, *reversed(_BEGINNINGS)]:
        assert np.array_equal(compiled.matcher(prefix=text).mask(), oracle[text])
        compiled.matcher().mask()
    assert judged.count(monitoring.start()) == 1 < len(judged)
    assert len(monitoring._kept) == 8 == len(monitoring._remembered)


_BEGINNINGS = [b"select %c%c" % (letter, letter) for letter in b"abcdefghijklmnopq"]


def test_two_automata_keep_their_masks_apart() -> None:
    """A monitor remembers masks by configurations, and those of two automata have the same numbers."""
    vocabulary, known = constrain.Vocabulary.of_bytes(), python(ahead="known")
    firsts = []
    for word in ("import", "assert"):
        text = monitored(constrain.grammar(f'start: "{word}" " " NAME\nNAME: /[a-z]+/', lexer="greedy"), known)
        automaton = constrain.TokenAutomaton(vocabulary)
        mask = constrain.compile(text, vocabulary, automaton=automaton).matcher().mask()
        firsts.append(chr(np.flatnonzero(np.unpackbits(mask.view(np.uint8), bitorder="little"))[0]))
    assert firsts == ["i", "a"]


def test_a_whole_language_is_known_by_the_rules_near_its_start() -> None:
    """Python's rules for every column of indentation were expanded up to a limit: 5.5 million calls, now 74,000."""
    code = monitored(constrain.collection.load("python"), python())
    code.to_grammar()
    doubting, calls = counted(lambda: code.doubting)
    assert not doubting
    assert calls < 500_000
