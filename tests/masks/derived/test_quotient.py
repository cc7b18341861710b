"""Texts between two texts: every small case against all texts, and lexemes that run over both junctions."""

import json
import random
import re
from itertools import product

import numpy as np
import pytest

import vocabularies
from constrain.errors import ConstrainError, LimitError, UnsatisfiableError
from constrain.languages.automata import quotient, syntax
from constrain.languages.automata.decide import matches
from constrain.languages.automata.parse.python import parse_python
from constrain.languages.constraints.regular import choices, regex
from constrain.languages.grammar_text.text import grammar
from constrain.languages.schema import json_schema
from constrain.masks.derived.between import between
from constrain.masks.derived.members import byte_matcher, is_member
from constrain.masks.engine import compile_bytewise
from handmade import Made
from reading_oracle import language, texts
from small_grammars import JSON, STATEMENTS, random_grammar, random_node

LONGEST = 5  # characters of a whole text


def _middles(members: set[str], prefix: str, suffix: str) -> set[str]:
    """The texts that may stand between, read off the list of all texts of the language."""
    least = len(prefix) + len(suffix)
    return {
        text[len(prefix) : len(text) - len(suffix)]
        for text in members
        if len(text) >= least and text.startswith(prefix) and text.endswith(suffix)
    }


@pytest.mark.parametrize("seed", range(40))
def test_every_cut_of_every_short_text(seed):
    """Random grammars over two letters: all prefixes and suffixes up to two letters, all middles."""
    made = random_grammar(random.Random(seed))
    members = {text for text, (is_one, _) in language(made, "ab", LONGEST).items() if is_one}
    for prefix, suffix in product(texts("ab", 2), texts("ab", 2)):
        expected = _middles(members, prefix, suffix)
        longest = LONGEST - len(prefix) - len(suffix)
        if not (prefix or suffix):
            continue
        try:
            constraint = between(Made(made), prefix=prefix, suffix=suffix)
        except UnsatisfiableError:
            assert not expected, (prefix, suffix)
            continue
        for text in texts("ab", longest):
            matcher = byte_matcher(constraint)
            alive = matcher.advance_bytes(text.encode())
            assert (alive and matcher.is_accepting()) == (text in expected), (prefix, text, suffix)
            if any(each.startswith(text) for each in expected):
                assert alive


@pytest.mark.parametrize("seed", range(20))
def test_what_is_left_has_no_dead_ends(seed):
    """A prefix that the engine allows has a completion, by the plain parser on the grammar that was written out."""
    made = random_grammar(random.Random(1000 + seed))
    for prefix, suffix in (("a", ""), ("", "b"), ("b", "a"), ("ab", "ba")):
        try:
            constraint = between(Made(made), prefix=prefix, suffix=suffix)
        except UnsatisfiableError:
            continue
        verdicts = language(constraint.to_grammar(), "ab", 3)
        for text, (is_one, viable) in verdicts.items():
            matcher = byte_matcher(constraint)
            assert matcher.advance_bytes(text.encode()) == viable
            assert not viable or matcher.is_accepting() == is_one


@pytest.mark.parametrize("seed", range(150))
def test_quotients_of_regular_languages(seed):
    node = random_node(random.Random(seed), "ab", 3)
    members = {text for text in texts("ab", 5) if matches(node, text)}
    assert {text for text in texts("ab", 5) if matches(quotient.reverse(node), text[::-1])} == members
    for text in texts("ab", 2):
        left, right = quotient.left_quotient(node, text), quotient.right_quotient(node, text)
        assert {t for t in texts("ab", 3) if matches(left, t)} == {t for t in texts("ab", 3) if text + t in members}
        assert {t for t in texts("ab", 3) if matches(right, t)} == {t for t in texts("ab", 3) if t + text in members}


@pytest.mark.parametrize(
    "pattern", ["(a|b)*abb(a|b){3}", '(?:[^"\\\\]|\\\\.)*', "(?!.*aa)[ab]{2,9}", "[ab]{0,1000}", "(a{2,4}b?){3,}"]
)
def test_trees_of_quotients_stay_small(pattern):
    """Read one letter after the other, a language has few different rests."""
    node = parse_python(pattern)
    rng = random.Random(1)
    seen = set()
    for _ in range(200):
        node = quotient.left_quotient(node, rng.choice("ab"))
        seen.add(node)
        if node == syntax.EMPTY:
            break
    assert max(len(repr(each)) for each in seen) < 2000
    assert len(seen) <= 201


SPELLINGS = ['"', "\\", "u", "0", "6", "1", "a", "n", "D", "8", "3", "C", "E", "é", "😀", "/"]


@pytest.mark.parametrize("value", [r"[a-c]+", r"(?s:.{2})", r"a?\n", r"😀|é", r"(?!a).*"])
def test_json_strings_written_out(value):
    """`spelled` is the language that the engine lowers `JsonString` to; cut anywhere, even inside an escape."""
    node = syntax.json_string(parse_python(value))
    plain = quotient.spelled(node)
    rng = random.Random(0)
    tried = [
        '"abc"', r'"\u0061"', r'"\u0061b"', r'"\n"', r'"a\n"', r'"\u000A"', '"😀"', r'"\ud83d\uDE00"', r'"\u00e9"',
        '"é"', r'"\ud83d"', '"a', r'"\x61"', '""', r'"\/\""', r'"\\\\"',
    ]  # fmt: skip
    tried += ['"' + "".join(rng.choices(SPELLINGS, k=rng.randrange(6))) + '"' for _ in range(300)]
    assert any(matches(node, text) for text in tried)
    for text in tried:
        is_one = matches(node, text)
        assert matches(plain, text) == is_one, text
        for cut in range(len(text) + 1):
            assert matches(quotient.right_quotient(node, text[cut:]), text[:cut]) == is_one, (text, cut)
            assert matches(quotient.left_quotient(node, text[:cut]), text[cut:]) == is_one, (text, cut)


@pytest.mark.parametrize(
    "text, constraint",
    [
        ('{"a b": [1.5e3, {"": "\\u0041\\"y"}], "z": []}', grammar(JSON)),
        ("if a == 1 + b then let x = (1.5 + f);", grammar(STATEMENTS)),
        ("if a == 1 + b then let x = (1.5 + f);", grammar(STATEMENTS, lexer="greedy")),
        ("aaaabbb", grammar('start: "a" start? "b"? ')),
        ("xxxxx", grammar('start: "x"~3..100000')),
        ("2024-02-28", regex(r"\d{4}-\d\d-\d\d")),
        ("green", choices(["red", "green", "grün"])),
    ],
    ids=lambda value: value[:12] if isinstance(value, str) else None,
)
def test_every_cut_of_a_text(text, constraint):
    """Cut out every piece: it fits between what is left, and a whole is a member exactly if its middle is."""
    for start in range(len(text) + 1):
        for end in range(start, len(text) + 1, 2 if start % 2 else 1):
            if start == 0 and end == len(text):
                continue
            rest = between(constraint, prefix=text[:start], suffix=text[end:])
            for middle in {text[start:end], "", text[start:end] + " ", "a", '"', "}", "1"}:
                assert is_member(rest, middle) == is_member(constraint, text[:start] + middle + text[end:]), (
                    start,
                    end,
                )


SCHEMA = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "maxLength": 8},
        "tags": {"type": "array", "items": {"enum": ["red", "green"]}, "uniqueItems": True},
        "n": {"type": "integer", "minimum": 3},
    },
    "required": ["name", "n"],
}


@pytest.mark.parametrize(
    ("spelling", "text"),
    [
        ("any", '{"name": "a\\u0062c", "tags": ["red", "green"], "n": 17, "x": [null]}'),
        ("plain", '{"name": "a\\u00e9c", "tags": ["red", "green"], "n": 17, "x": [null]}'),
        ("plain", '{"name":"é😀","n":3}'),
    ],
)
def test_every_cut_of_an_instance(spelling, text):
    constraint = json_schema(SCHEMA, spelling=spelling)
    for start in range(len(text) + 1):
        for end in range(start, len(text) + 1, 5):
            if (start, end) != (0, len(text)):
                rest = between(constraint, prefix=text[:start], suffix=text[end:])
                for middle in {text[start:end], "", "0", "e", '"', ","}:
                    whole = text[:start] + middle + text[end:]
                    assert is_member(rest, middle) == is_member(constraint, whole), (start, end, middle)


def test_terminals_that_are_found_again(monkeypatch):
    """The engine keeps few terminals at hand; one that may be empty, as the rest of a lexeme, stays the same symbol."""
    monkeypatch.setattr("constrain.masks.engine.symbol_table.MAX_TERMINALS", 1)
    constraint = grammar(STATEMENTS)
    for prefix, middle in (("let a", "b=c;b(c+"), ("let a=b;c", "d(c+"), ("if a the", "n b(c+")):
        assert is_member(between(constraint, prefix=prefix, suffix="c+de);f(g);"), middle)


def test_the_value_is_that_of_the_whole():
    rest = between(json_schema({"type": "array", "items": {"type": "integer"}}), prefix="[1,", suffix="3]")
    assert rest.parse("2,1") == [1, 2, 13]
    assert between(regex("a*"), prefix="a").parse("a") == "a"
    assert between(regex("a"), prefix="") == regex("a")


def test_repeated_keys_are_checked_on_the_whole():
    rest = between(json_schema({"type": "object"}), prefix='{"a": 1, ', suffix=', "b": 2}')
    assert rest.residual
    assert is_member(rest, '"c": 0')
    assert not is_member(rest, '"a": 0')
    assert not is_member(rest, '"b": 0')
    assert any(entry.status == "residual" for entry in rest.report)


TRIED = ["", ' "', ' "a', ' "c": 1, "', ' "c": 1, "c', ', "red', ', "a": "a', ', "red"', ", 1, 1", ', ["red']
TRIED += ['": 0, "a', '": 0, "bc": ["b', '": 0, "bc": ["b", "b']


@pytest.mark.parametrize("suffix", ["", "}", ', "z": 0}', "]}"])
@pytest.mark.parametrize("prefix", ['{"a": 1, "b', '{"a": 1,', '{"tags": ["red"', '{"a": {"b": 0},'])
def test_masks_veto_what_repeats(prefix, suffix):
    """Keys and items that the prefix has, and those of the middle; masks and single tokens agree."""
    constraint = json_schema({"type": "object", "properties": {"tags": {"type": "array", "uniqueItems": True}}})
    rest = between(constraint, prefix=prefix, suffix=suffix)
    vocabulary = vocabularies.tiny()
    compiled = compile_bytewise(rest, vocabulary)
    plain = compile_bytewise(Made(rest.to_grammar()), vocabulary)
    vetoed = []
    for text in TRIED:
        matcher, free = compiled.matcher(), plain.matcher()
        if not matcher.advance_bytes(text.encode()):
            continue
        assert free.advance_bytes(text.encode())
        rows = np.zeros((2, vocabulary.words), np.uint32)
        matcher.fill_mask(rows[0])
        free.fill_mask(rows[1])
        bits = np.unpackbits(rows.view(np.uint8), axis=1, bitorder="little")[:, : vocabulary.size]
        assert [matcher.allows(token) for token in range(vocabulary.size)] == bits[0].astype(bool).tolist()
        for token in np.flatnonzero(bits[1] > bits[0]).tolist():
            after = free.fork()
            assert token in vocabulary.eos_ids or after.advance(token)
            whole = prefix + after.text.decode(errors="replace")
            vetoed.append(whole)
            assert "�" in whole or token in vocabulary.eos_ids or repeats_inside(whole), whole
    assert vetoed


def repeats_inside(text: str) -> bool:
    """True if a text that may miss its end has an object with two equal keys, or an array with two equal items."""
    found = []

    def pairs(members):
        keys = [key for key, _ in members]
        found.extend(key for key in keys if keys.count(key) > 1)
        return dict(members)

    for end in ("", "0", '"', '":0', ":0"):
        for brackets in ("", "}", "]}", "}}", "]]}", "}]}"):
            try:
                value = json.loads(text + end + brackets, object_pairs_hook=pairs)
            except ValueError:
                continue
            tags = [json.dumps(each) for each in value.get("tags", ())]
            return bool(found) or len(tags) > len(set(tags))
    return False


def test_a_prefix_that_repeats():
    rest = between(json_schema({"type": "object"}), prefix='{"a": 1, "a": ')
    with pytest.raises(UnsatisfiableError, match="occurs twice"):
        compile_bytewise(rest, vocabularies.tiny())


def test_what_cannot_be_cut_and_what_does_not_fit():
    arithmetic = grammar('start: NUM ("+" NUM)*\nNUM: /[0-9]+/')
    with pytest.raises(UnsatisfiableError, match=r"(?s)suffix.*'\+' is.*line 1, column 2\n +1\+\+4\n +\^"):
        between(arithmetic, suffix="1++4")
    with pytest.raises(UnsatisfiableError, match=r"(?s)begins with the prefix.*line 2, column 1"):
        between(grammar('start: "a" "\\n" "b"'), prefix="a\nc")
    with pytest.raises(LimitError, match="multiple"):
        between(json_schema({"type": "integer", "multipleOf": 7}), suffix="1")
    with pytest.raises(ConstrainError, match="surrogate"):
        between(arithmetic, suffix="\ud800")
    with pytest.raises(ConstrainError, match="takes a constraint"):
        between("start: A", suffix="a")
    with pytest.raises(ConstrainError, match="is a str"):
        between(arithmetic, suffix=b"a")
    assert re.match(r"between\(grammar\(.*suffix='\+4'\)", repr(between(arithmetic, suffix="+4")))
