r"""Terminals that look beside them (`\b`, `(?!x)` at an edge): on every short text as Python's `re` in place says."""

import random
import re
from functools import cache
from itertools import product

import pytest

import constrain
from constrain.languages.cfg.readers.regex_shape import parse_tree
from constrain.masks.derived.members import is_member
from constrain.reports.lint import lint

CASES = {  # name: (rules, terminals, ignored, alphabet, length)
    "keywords": ({"start": ["IF NAME", "NAME"]}, {"IF": r"if\b", "NAME": r"[if]+\b"}, " ", "if ", 6),
    "both sides": ({"start": ["A", "B", "start A", "start B"]}, {"A": r"a(?!b)", "B": r"(?<!a)b|ca"}, None, "abc", 6),
    "words": (
        {"start": ["O start C", "words"], "words": ["W", "words W"]},
        {"O": r"\(", "C": r"\)", "W": r"\b[a1]+\b|\."},
        " ",
        "a.( )",
        6,
    ),
    "numbers": ({"start": ["N", "start N"]}, {"N": r"0(?![0-9])|[1-9][0-9]*(?=[^0-9])|-"}, None, "01-", 7),
    "ignored": ({"start": ["A", "start A"]}, {"A": r"a"}, r"-(?!-)|=\b", "a-=", 7),
    "inside": ({"start": ["A B", "B B"]}, {"A": r"a\B", "B": r"\Bb+|a"}, None, "ab", 8),
    "optional": (
        {"start": ["A rest B"], "rest": ["", "rest C"]},
        {"A": r"a+(?!a)", "B": r"(?<!c)b", "C": r"c(?=[bc])|a"},
        None,
        "abc",
        6,
    ),
    "a look-ahead in front": ({"start": ["N", "N S N"]}, {"N": r"(?!1;)\d", "S": "[;1]"}, None, "12;", 4),
    "one in front, that agrees": ({"start": ["B T", "B"]}, {"B": "(?=ab)a", "T": "[ab]+"}, None, "ab", 5),
    "one in front of many": ({"start": ["B T", "T"]}, {"B": "(?!ab)[ab]+", "T": "b|ca"}, None, "abc", 5),
    "one in a repetition": ({"start": ["B", "B T"]}, {"B": "(?:(?!ab)[ab])+", "T": "b|ca"}, None, "abc", 5),
    "case": ({"start": ["A N"]}, {"A": r"(?i:or(?![a-z]))", "N": r"[a-z ]+"}, None, "orOX ", 5),
}


def lark_text(rules, terminals, ignored) -> str:
    lines = [f"{name}: {' | '.join(alternatives)}" for name, alternatives in rules.items()]
    lines += [f"{name}: /{regex}/" for name, regex in terminals.items()]
    return "\n".join(lines + ([f"%ignore /{ignored}/"] if ignored else []))


def member(rules, terminals, ignored, text: str) -> bool:
    """By trying all cuts; a terminal matches where its regex does, the whole text around it."""

    @cache
    def matches(regex: str, i: int, j: int) -> bool:
        return j > i and re.compile(f"(?:{regex})(?=(?s:.{{{len(text) - j}}})\\Z)").match(text, i) is not None

    @cache
    def blank(i: int, j: int) -> bool:
        return i == j or (ignored and any(matches(ignored, i, k) and blank(k, j) for k in range(i + 1, j + 1)))

    pending = {}

    def derives(symbol: str, i: int, j: int) -> bool:
        """Lexemes are followed by what is ignored."""
        if symbol in terminals:
            return any(matches(terminals[symbol], i, k) and blank(k, j) for k in range(i + 1, j + 1))
        key = symbol, i, j
        if key not in pending:
            pending[key] = False  # left recursion adds a lexeme, so a derivation of itself adds nothing
            pending[key] = any(spans(tuple(alternative.split()), i, j) for alternative in rules[symbol])
        return pending[key]

    def spans(symbols: tuple[str, ...], i: int, j: int) -> bool:
        if not symbols:
            return i == j
        last = symbols[-1]
        return any(derives(last, k, j) and spans(symbols[:-1], i, k) for k in range(i, j + 1))

    return any(blank(0, k) and derives("start", k, len(text)) for k in range(len(text) + 1))


@pytest.mark.parametrize("name", CASES)
def test_every_short_text(name: str) -> None:
    rules, terminals, ignored, alphabet, length = CASES[name]
    compiled = constrain.compile(
        constrain.grammar(lark_text(rules, terminals, ignored)), constrain.Vocabulary.of_bytes()
    )
    texts = ["".join(letters) for n in range(length + 1) for letters in product(alphabet, repeat=n)]
    members = {text for text in texts if member(rules, terminals, ignored, text)}
    beginnings = {text[:end] for text in members for end in range(len(text) + 1)}
    assert 2 < len(members) < len(texts) / 2
    for text in texts:
        matcher = compiled.matcher()
        allowed = matcher.advance_bytes(text.encode())
        assert (allowed and matcher.is_accepting()) == (text in members), text
        assert allowed >= (text in beginnings), text
        assert not allowed or 2 * len(text) + 1 > length or text in beginnings, text


def random_case(rng: random.Random) -> tuple[dict, dict, str | None]:
    """Rules, terminals with look-around at any place, and what is ignored, over a, b and a hyphen."""
    pieces = ["a", "b", "[ab]", "a+", "[ab]+", "a?", "-"]
    ahead = ["(?!ab)", "(?=ab)", "(?!b)", "(?=a|-)", "(?![ab]-)", "(?!a|b-)", "(?!abb)"]
    around = [*ahead, "(?<!a)", "(?<=b)", r"\b", r"\B"]

    def terminal() -> str:  # of no empty text, which lark refuses
        parts = [rng.choice(pieces) for _ in range(rng.randint(1, 2))]
        for _ in range(rng.randint(0, 2)):
            parts.insert(rng.randint(0, len(parts)), rng.choice(around))
        text = "".join(parts) if rng.random() < 0.8 else f"{''.join(parts)}|{rng.choice(pieces[:5])}"
        return text if parse_tree(text).getwidth()[0] else terminal()

    def alternative() -> str:
        return " ".join(rng.choice(["A", "B", "C", "rest"]) for _ in range(rng.randint(1, 3)))

    rules = {"start": [alternative(), alternative()], "rest": [rng.choice(["", "C", "B A", "rest B"]), "A"]}
    return rules, {name: terminal() for name in "ABC"}, rng.choice([None, None, "-", "-(?!-)"])


def check_random_case(seed: int, length: int = 3) -> bool:
    """Every short text, as `re` in place says, or a refusal of what sees too far. Returns whether it is read."""
    rules, terminals, ignored = random_case(random.Random(seed))
    try:
        constraint = constrain.grammar(lark_text(rules, terminals, ignored))
        compiled = constrain.compile(constraint, constrain.Vocabulary.of_bytes())
    except constrain.UnsatisfiableError:
        compiled = None
    except (constrain.GrammarError, constrain.LimitError):
        return False
    for text in ("".join(letters) for n in range(length + 1) for letters in product("ab-", repeat=n)):
        matcher = compiled.matcher() if compiled else None
        ours = matcher is not None and matcher.advance_bytes(text.encode()) and matcher.is_accepting()
        assert ours == member(rules, terminals, ignored, text), (rules, terminals, ignored, text)
    return True


def test_random_terminals_that_look_around() -> None:
    assert sum(map(check_random_case, range(15))) > 4


def test_an_operator_that_is_none_where_a_name_follows() -> None:
    """As in lark's grammar of itself."""
    text = "start: rule+\nrule: MODIFIER? NAME OP\nMODIFIER: /[?!](?=[a-z])/\nNAME: /[a-z]+/\nOP: /[+*]|[?](?![a-z])/"
    constraint = constrain.grammar(text)
    assert [is_member(constraint, each) for each in ("a?", "?a?", "a?b*", "?a??b+")] == [True, True, False, True]


def test_a_part_of_another_grammar_sees_its_own_text() -> None:
    inner = constrain.grammar("start: /if\\b/")
    constraint = constrain.seq(inner, constrain.choices(["x", ""]))
    assert is_member(constraint, "ifx")
    either = inner | constrain.grammar('start: "a"')
    assert is_member(either, "if") and is_member(either, "a") and not is_member(either, "ifx")


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("start: A B\nA: /a(?!bc)/\nB: /b/", {}, "cannot look further than one character around it"),
        ("start: A B\nA: /a$/\nB: /b/", {}, "cannot look further than one character around it"),
        ("start: A B\nA: /a*?b\\b/\nB: /b/", {}, "is lazy, and cannot look at the text around it"),
        ("start: A B\nA: /a\\b/\nB: /b/", {"lexer": "greedy"}, "at its edge\\) under lexer='greedy'"),
        ('start: A %json {"type": "integer"}\nA: /a\\b/', {}, "in a grammar with embedded constraints"),
    ],
)
def test_what_is_not_read_is_an_error_with_its_place(text: str, options: dict, message: str) -> None:
    with pytest.raises(constrain.GrammarError, match=message) as caught:
        constrain.grammar(text, **options)
    assert caught.value.place and "line 2" in caught.value.place


def test_lint_sees_contexts() -> None:
    """One reading: what could be A is B where a b follows."""
    constraint = constrain.grammar('start: (A | B) "b"\nA: /a(?!b)/\nB: /a(?=b)/')
    assert [finding for finding in lint(constraint) if finding.kind == "ambiguous"] == []
    assert is_member(constraint, "ab")
