"""Monitored languages as parts: masks against a reading by the definition, for every token id; and dead ends."""

from __future__ import annotations

import functools
import json
import pickle
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest
from part_reading import Choice, Many, Part, Quoted, Reading
from walks import lexemes_of, vocabulary_of

import constrain
from constrain.errors import GrammarError
from constrain.languages.cfg.transform.product import product
from constrain.monitors import Names, c, jinja, monitored, python, sql
from constrain.monitors.lexicon import LETTERS, LexemeRow, TableLexicon, spaces
from constrain.monitors.monitor import NAME, SPACE, WORD, names_of


class Language(NamedTuple):
    """A monitored language, with a text of it, and what the monitor refuses there instead of its end."""

    constraint: Any
    text: str
    begun: str
    refused: str


def _languages() -> dict[str, Language]:
    load = constrain.collection.load
    names = sql({"users": ["id", "name"], "orders": ["id", "total"]})
    return {
        "python": Language(
            monitored(load("python"), python(ahead="known")),
            'count = 1\nfor i in "ab":\n  print(count, i)\n',
            "count = 1\nprint(co",
            "x",
        ),
        "sql": Language(
            monitored(load("sql"), names),
            "select u.name, \"id\" from users u where id in (1, 'é')",
            "select u.id from users u where u.",
            "total",
        ),
        "c": Language(
            monitored(load("c"), c()),
            "int main(void) { int count = 0; count = count + 1; return count; }\n",
            "int main(void) { int count; return cou",
            "x",
        ),
        "jinja": Language(
            monitored(load("jinja"), jinja({"user": {"name": "Ada"}, "rows": [1]})),
            'Hi {{ user.name|upper }}\n{% for row in rows %}"{{ row }}"{% endfor %}',
            "{{ user.",
            "zip",
        ),
    }


LANGUAGES = _languages()
UNIQUE = constrain.json_schema({"type": "array", "items": {"enum": ["ab", "a", "b"]}, "uniqueItems": True})


LEXICON = TableLexicon(
    __name__, {SPACE: spaces(), NAME: LexemeRow(begins=LETTERS, inside=LETTERS, free=WORD)}, signs={}
)
ANY_JSON = 'start: "[" [item (", " item)*] "]"\nitem: "\\"" /[a-z]+/ "\\""'


@dataclass(frozen=True)
class WordsOf:
    """A monitor that knows some words."""

    words: tuple[str, ...]
    lexicon: Any = LEXICON

    def start(self) -> int:
        return 0

    def begin(self, state: int, kind: int, first: bytes) -> int:
        return state

    def advance(self, state: int, kind: int, text: bytes) -> int:
        return state

    def language(self, state: int) -> Names:
        return names_of(frozenset(self.words))

    def may_end(self, state: int) -> bool:
        return True


class Kind(NamedTuple):
    """A kind of part: the constraint, the same by definition, and how a text of the language stands in it."""

    constraint: Callable[[Any], Any]
    definition: Callable[[Any], tuple[Any, ...]]
    text: Callable[[str], str]


def as_string(text: str) -> str:
    return json.dumps(text)


KINDS = {
    "fence": Kind(
        lambda one: constrain.seq(constrain.regex("[a-z ]*"), "\n```x\n", one, "\n```", constrain.regex("[.!]?")),
        lambda one: (
            Part(constrain.regex("[a-z ]*")),
            b"\n```x\n",
            Part(one),
            b"\n```",
            Choice(((), (b".",), (b"!",))),
        ),
        lambda text: f"see this\n```x\n{text}\n```.",
    ),
    "after": Kind(
        lambda one: constrain.after("</t>", one),
        lambda one: (Part(constrain.tags.free_text(["</t>"])), b"</t>", Part(one)),
        lambda text: f"hm</t>{text}",
    ),
    "alt": Kind(
        lambda one: constrain.alt(constrain.seq("a:", one, "$"), constrain.seq("a", one), "none"),
        lambda one: (Choice(((b"a:", Part(one), b"$"), (b"a", Part(one)), (b"none",))),),
        lambda text: f"a:{text}$",
    ),
    "many": Kind(
        lambda one: constrain.many(constrain.seq("<", one, ">")),
        lambda one: (Many((b"<", Part(one), b">")),),
        lambda text: f"<{text}><{text}>",
    ),
    "string": Kind(
        lambda one: constrain.seq('{"text": ', constrain.json_string(one), "}"),
        lambda one: (b'{"text": ', Quoted(one), b"}"),
        lambda text: f'{{"text": {as_string(text)}}}',
    ),
    "beside": Kind(
        lambda one: constrain.seq(UNIQUE, ";", one, ";", UNIQUE),
        lambda one: (Part(UNIQUE), b";", Part(one), b";", Part(UNIQUE)),
        lambda text: f'["a"];{text};["b", "ab"]',
    ),
    "several": Kind(
        lambda one: constrain.seq(one, "|||", LANGUAGES["sql"].constraint, "|||", LANGUAGES["python"].constraint),
        lambda one: (
            Part(one),
            b"|||",
            Part(LANGUAGES["sql"].constraint),
            b"|||",
            Part(LANGUAGES["python"].constraint),
        ),
        lambda text: f"{text}|||select id from users|||x = 1\nx",
    ),
    "embedded": Kind(
        lambda one: constrain.grammar('start: "q " (@one "." | "-")*', grammars={"one": one}),
        lambda one: (b"q ", Many((Choice(((Part(one), b"."), (b"-",))),))),
        lambda text: f"q -{text}.-",
    ),
    "nested": Kind(
        lambda one: constrain.seq("(", constrain.seq("[", one, "]") | constrain.regex("[0-9]+"), ")"),
        lambda one: (b"(", Choice(((b"[", Part(one), b"]"), (Part(constrain.regex("[0-9]+")),))), b")"),
        lambda text: f"([{text}])",
    ),
}
OVER = [  # tokens that run over edges
    "\n```", "x\n", "\n```.", "x\nselect u", "</t>se", "a:se", "a:co", ">\n<", "}<", ")>", '"}', "\\n", '\\n"',
    '\\"id\\"', "\\", "\\u00", "e9'", '\\"}', ";[", '["a"];', '"];', "\n;[", "|||", "users|||x", "1|||", ".-", "}}",
    "])", "t}}", "= 1\n```", "count\n", "select ", "print(", "nt,", "user", ".name", " users u\n```", "'é", "\\ud83d",
    "\\ude00",
]  # fmt: skip


@functools.cache
def mixed() -> constrain.Vocabulary:
    """All bytes, and tokens that run over edges of parts and of names."""
    lexemes = lexemes_of([language.text for language in LANGUAGES.values()], "")
    return vocabulary_of([*OVER, *lexemes])


@functools.cache
def merged() -> constrain.Vocabulary:
    """The reference model's 3,072 tokens, which byte-pair merges have made."""
    return constrain.Vocabulary.from_huggingface(constrain.reference.load().tokenizer)


def row_of(matcher: Any) -> list[int]:
    row = np.zeros(matcher.compiled.vocabulary.words, np.uint32)
    matcher.fill_mask(row)
    return np.flatnonzero(np.unpackbits(row.view(np.uint8), bitorder="little")).tolist()


def by_definition(reading: Reading, vocabulary: constrain.Vocabulary) -> list[int]:
    """The tokens that may come next, read one by one along their common bytes."""
    known: dict[bytes, Reading] = {b"": reading}
    allowed = []
    for token, text in enumerate(vocabulary.tokens):
        for n in range(1, len(text or b"") + 1):
            if text[:n] not in known:
                before = known[text[: n - 1]]
                known[text[:n]] = before.after(text[n - 1 : n]) if before.goes_on else before
        if known[text].goes_on if text else token in vocabulary.eos_ids and reading.may_end:
            allowed.append(token)
    return allowed


def check_masks(kind: str, language: str, vocabulary: constrain.Vocabulary, places: int) -> None:
    """At places of a text, and behind one more token, a token id is allowed if and only if a reading goes on."""
    monitored_text, part = LANGUAGES[language], KINDS[kind]
    constraint = part.constraint(monitored_text.constraint)
    text = part.text(monitored_text.text).encode()
    compiled = constrain.compile(constraint, vocabulary)
    rng = random.Random(len(text))
    for place in [*sorted(rng.sample(range(len(text) + 1), places)), len(text)]:
        matcher = compiled.matcher()
        assert matcher.advance_bytes(text[:place]), text[:place]
        reading = Reading.of(part.definition(monitored_text.constraint)).after(text[:place])
        for _ in range(2):
            allowed = by_definition(reading, vocabulary)
            found = row_of(matcher)
            assert [vocabulary.tokens[t] for t in {*found} ^ {*allowed}] == [], matcher.text
            assert matcher.is_accepting() == reading.may_end
            longer = [t for t in allowed if len(vocabulary.tokens[t] or b"") > 1] or allowed
            token = rng.choice(longer)
            if vocabulary.tokens[token] is None:
                break
            assert matcher.advance(token)
            reading = reading.after(vocabulary.tokens[token] or b"")
    whole = compiled.matcher()
    assert whole.advance_bytes(text) and whole.is_accepting()
    assert constraint.accepts(text) and constraint.residual_fault(text.decode()) is None


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("kind", KINDS)
def test_masks_are_those_of_the_definition(kind: str, language: str) -> None:
    check_masks(kind, language, mixed(), 7)


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize(
    "kind", [kind if kind == "fence" else pytest.param(kind, marks=pytest.mark.slow) for kind in KINDS]
)
def test_masks_of_merged_tokens_are_those_of_the_definition(kind: str, language: str) -> None:
    """The same with the reference model's tokens."""
    check_masks(kind, language, merged(), 2)


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("kind", KINDS)
def test_what_was_refused_works(kind: str, language: str) -> None:
    """A name that the monitor refuses is refused in the part, and the text that has it is no member."""
    monitored_text, part = LANGUAGES[language], KINDS[kind]
    constraint = part.constraint(monitored_text.constraint)
    begin, _, _ = part.text("\0").replace("\\u0000", "\0").partition("\0")
    compiled = constrain.compile(constraint, constrain.Vocabulary.of_bytes())
    matcher = compiled.matcher()
    assert matcher.advance_bytes(
        (begin + monitored_text.begun).replace("\n", "\\n" if kind == "string" else "\n").encode()
    )
    assert not matcher.advance_bytes((monitored_text.refused + " ").encode()) or not matcher.mask().any()
    assert pickle.loads(pickle.dumps(matcher)).text == matcher.text
    wrong = part.text(monitored_text.begun + monitored_text.refused)
    assert not constraint.accepts(wrong) and constraint.residual_fault(wrong) is not None


# -- parts that are more than a sequence -------------------------------------------------------------------------------


class Product(constrain.Constraint):
    """The texts that a grammar and a regex have in common, whatever the lexer: what `&` takes from the rules."""

    def __init__(self, grammar: Any, other: Any) -> None:
        self.grammar, self.other = grammar, other

    def _build(self) -> Any:
        return product(self.grammar.as_dynamic(), self.other.node)


@functools.lru_cache(8)
def after(compiled: Any, text: bytes) -> Any:
    """The matcher after a text: forks of it read what may follow."""
    matcher = compiled.matcher()
    assert matcher.advance_bytes(text)
    return matcher


@functools.cache
def over() -> constrain.Vocabulary:
    return vocabulary_of(OVER)


def check_places(
    constraint: Any, text: str, goes_on: Callable[[bytes, bytes], bool], may_end: Callable[[bytes], bool]
) -> None:
    """At places of a text each byte and each token of `OVER` is allowed if and only if a text goes on so."""
    vocabulary = over()
    compiled = constrain.compile(constraint, vocabulary)
    data = text.encode()
    for place in [*range(0, len(data), 2 + len(data) // 6), len(data)]:
        matcher = compiled.matcher()
        assert matcher.advance_bytes(data[:place])
        found = row_of(matcher)
        for token, spelled in enumerate(vocabulary.tokens):
            wanted = may_end(data[:place]) if spelled is None else goes_on(data[:place], spelled)
            assert (token in found) == wanted == matcher.allows(token), (data[:place], spelled)


@pytest.mark.parametrize("language", ["sql", "c", "jinja"])
def test_intersections_are_those_of_rules_and_monitors(language: str) -> None:
    """A token is allowed by `&` if the monitored language goes on with it by itself, and the rules with the regex."""
    one, text, begun, refused = LANGUAGES[language]
    other = constrain.regex(r"(?s)[^*~]*")
    with constrain.Limits(seconds=60):  # a busy machine may take the two seconds of the default
        rules = constrain.compile(Product(constrain.collection.load(language), other), constrain.Vocabulary.of_bytes())
    alone = constrain.compile(one, constrain.Vocabulary.of_bytes())

    def goes_on(text: bytes, more: bytes) -> bool:
        return all(after(each, text).fork().advance_bytes(more) for each in (rules, alone))

    def may_end(text: bytes) -> bool:
        return alone.matcher(prefix=text).is_accepting() and rules.matcher(prefix=text).is_accepting()

    check_places(one & other, text, goes_on, may_end)
    assert (other & one).accepts(text) and not (one & other).accepts(text + "*")
    assert not (one & other).accepts(begun + refused)


def test_intersections_that_rules_cannot_decide_are_refused() -> None:
    """A layout, and parts in parts, are errors with their reasons; nothing is narrowed silently."""
    one = LANGUAGES["sql"].constraint
    with pytest.raises(GrammarError, match="whose rules depend on columns"):
        _ = LANGUAGES["python"].constraint & constrain.regex("a.*")
    with pytest.raises(GrammarError, match="cannot be intersected: its monitors, parts with lexers of their own"):
        _ = constrain.seq("a", one) & constrain.regex("a.*")
    with pytest.raises(GrammarError, match="cannot have several holes"):
        constrain.between(one, text="select a from b", holes=[(7, 8), (14, 15)])
    with pytest.raises(GrammarError, match="both are recursive"):
        _ = one & LANGUAGES["c"].constraint


BETWEEN = {
    "python": ("count = 1\nfor i in [1]:\n  print(", ")\n  count = i\n", "count, i", "print(x)", "counts"),
    "sql": ("select ", " from users where id = 1", "name, id", "total", "id, nosuch"),
    "c": ("int main(void) { int count = 0; ", " return count; }\n", "count = count + 1;", "x = 1;", "county;"),
    "jinja": ("{% for row in rows %}{{ ", " }}{% endfor %}", "row ~ user.name", "user.zip", "rot"),
}


@pytest.mark.parametrize("language", BETWEEN)
def test_a_middle_is_read_with_what_stands_before_it(language: str) -> None:
    """A token is allowed in a middle if the rules complete it, and the monitored language goes on behind the prefix."""
    one = LANGUAGES[language].constraint
    prefix, suffix, middle, *wrong = BETWEEN[language]
    rules = constrain.between(constrain.collection.load(language), prefix=prefix, suffix=suffix)
    compiled = constrain.compile(rules, constrain.Vocabulary.of_bytes())
    alone = constrain.compile(one, constrain.Vocabulary.of_bytes())

    def goes_on(text: bytes, more: bytes) -> bool:
        own, whole = after(compiled, text), after(alone, prefix.encode() + text)
        return own.fork().advance_bytes(more) and whole.fork().advance_bytes(more)

    def may_end(text: bytes) -> bool:
        return one.accepts(prefix.encode() + text + suffix.encode())

    between = constrain.between(one, prefix=prefix, suffix=suffix)
    check_places(between, middle, goes_on, may_end)
    assert between.accepts(middle) and not any(map(between.accepts, wrong))


def test_a_middle_around_a_part() -> None:
    """The guard of parts reads the prefix first, and the suffix where the middle may end."""
    one = LANGUAGES["sql"].constraint
    whole = constrain.seq("a: ", one, "$")
    middle = constrain.between(whole, prefix="a: select id, ", suffix="from users$")
    assert middle.accepts("name ") and not middle.accepts("total ") and not middle.accepts("nosuch ")
    matcher = constrain.compile(middle, constrain.Vocabulary.of_bytes()).matcher()
    assert matcher.advance_bytes(b"name ") and matcher.is_accepting() and not matcher.advance_bytes(b"$$")


def test_a_monitor_beside_items_that_differ() -> None:
    """Over a schema with unique items both guards are asked: an item must be new, and a name in it known."""
    words = WordsOf(("red", "green", "blue"))
    schema = {"type": "array", "items": {"type": "string", "pattern": "^[a-z]+$"}, "uniqueItems": True}
    both = monitored(constrain.json_schema(schema), words)
    alone = [constrain.compile(each, constrain.Vocabulary.of_bytes()) for each in
             (constrain.json_schema(schema), monitored(constrain.grammar(ANY_JSON), words))]  # fmt: skip
    check_places(
        both,
        '["red", "green"]',
        lambda text, more: all(after(compiled, text).fork().advance_bytes(more) for compiled in alone),
        lambda text: all(compiled.matcher(prefix=text).is_accepting() for compiled in alone),
    )
    assert both.accepts('["red", "blue"]') and not both.accepts('["red", "red"]') and not both.accepts('["rod"]')
    assert both.residual_fault('["red", "red"]') is not None and both.residual_fault('["rod"]') is not None
    part = constrain.seq("x", both, "y")
    assert part.accepts('x["blue"]y') and not part.accepts('x["blue", "blue"]y') and not part.accepts('x["bluer"]y')


def test_two_monitors_of_one_text() -> None:
    both = monitored(monitored(constrain.regex("[a-z]+"), WordsOf(("red", "green"))), WordsOf(("green", "blue")))
    assert both.accepts("green") and not both.accepts("red") and not both.accepts("blue")
    assert constrain.seq("(", both, ")").accepts("(green)") and not constrain.seq("(", both, ")").accepts("(red)")


# -- texts that share their names --------------------------------------------------------------------------------------


def test_cells_share_their_names() -> None:
    """A cell is read behind the ones before it: in each place what the monitor allows behind their texts, joined."""
    shared = monitored(constrain.collection.load("python"), python(ahead="known"), shared="\n")
    cells = constrain.many(constrain.seq("[", shared, "]"), low=1)
    alone = constrain.compile(LANGUAGES["python"].constraint, constrain.Vocabulary.of_bytes())
    text = "[count = 1][import math][print(count, math.pi)]"

    def readings(text: bytes) -> list[tuple[bytes, bytes]]:
        """The ways to read a text: (the cells that are whole, the one that has begun, or what stands between)."""
        ways = [(b"", b"")]
        for byte in text:
            before, ways = ways, []
            for whole, begun in before:
                if not begun:
                    ways += [(whole, b"[")] if byte == ord("[") else []
                    continue
                longer = begun + bytes([byte])
                if alone.matcher().advance_bytes(whole + longer[1:]):
                    ways.append((whole, longer))
                if byte == ord("]") and alone.matcher(prefix=whole + begun[1:]).is_accepting():
                    ways.append((whole + begun[1:] + b"\n", b""))
        return ways

    def may_end(text: bytes) -> bool:
        return any(whole and not begun for whole, begun in readings(text))

    check_places(cells, text, lambda text, more: bool(readings(text + more)), may_end)
    assert cells.accepts(text) and cells.residual_fault(text) is None
    assert not cells.accepts("[print(count)][count = 1]") and cells.accepts("[count = 1][count = 2][count]")
    assert not constrain.many(constrain.seq("[", LANGUAGES["python"].constraint, "]")).accepts("[count = 1][count]")


def test_scopes_of_ways_to_read_are_apart() -> None:
    """Names that one way to read a text binds are unknown in the others; statements of SQL and strings share too."""
    made = monitored(constrain.collection.load("sql"), sql({"users": ["id"]}), shared=";")
    log = constrain.many(constrain.json_string(made), separator="\n")
    assert log.accepts('"create table new (a, b)"\n"select a from new"') and not log.accepts('"select a from new"')
    text = constrain.regex("create table new [(]a[)]")
    assert constrain.seq("(", constrain.alt(text, made), ")", made).accepts("(create table new (a))select a from new")
    assert not constrain.seq("(", text, ")", made).accepts("(create table new (a))select a from new")
