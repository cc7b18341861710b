"""The reading edition (docs/reading.py): against definitions written out, and equal to the library where both can read.

Small random grammars and regular languages are compared text for text, mask for mask, in test_exact.py.
"""

from __future__ import annotations

import itertools
import json
import math
import random
import re
import sys
import tomllib
from functools import reduce

import fixed_sample
import numpy as np
import pytest
from engine_cases import mask_of, small_vocabulary
from hypothesis import given
from hypothesis import strategies as st
from test_lcd import law

import constrain
from constrain.languages.automata import syntax
from constrain.languages.automata.parse.ecma import parse_ecma
from constrain.languages.automata.parse.python import parse_python
from constrain.languages.automata.syntax import ANY_TEXT, complement, difference, intersect, json_string, literal
from constrain.languages.cfg.rules import Grammar, Nonterminal, Terminal
from page_blocks import module_at
from reading_oracle import begins, language, matches, member, members, munched, oracle, reading, rules_of, texts
from small_grammars import random_grammar
from toy_model import TableModel


def test_the_page_runs_and_the_edition_stays_short(repository):
    outputs = module_at(repository / "scripts" / "page_outputs.py")
    page = (repository / "docs" / "reading.md").read_text(encoding="utf-8")
    assert outputs.rewritten(page, "reading.md")[0] == page
    source = (repository / "docs" / "reading.py").read_text(encoding="utf-8")
    assert source.count("\n") <= 800
    imported = {re.split(r"[ .]", line)[1] for line in re.findall("^(?:from|import) .*", source, re.M)}
    assert imported <= sys.stdlib_module_names


# --- regular languages ------------------------------------------------------------------------------------------------

NODES = {
    "empty": syntax.EMPTY,
    "any": ANY_TEXT,
    "words": syntax.literals(["", "ab", "abb", "b"]),
    "star": parse_python("(ab|b)*a"),
    "both": intersect(parse_python("a*b*"), parse_python(".{2,3}")),
    "difference": difference(parse_python("[ab]{1,3}"), parse_python(".*bb.*")),
    "nothing in common": intersect(parse_python("a+"), parse_python("b+")),
    "late nothing": syntax.concat(parse_python("a+"), intersect(parse_python("ab*"), parse_python(".*bba"))),
    "complement": complement(parse_python("(?s)a.*")),
}


@pytest.mark.parametrize("name", NODES)
def test_viable_prefixes_are_those_of_members(name):
    """Every viable prefix here can be completed within four more characters."""
    found = members(NODES[name], "abc", 7)
    for text in texts("abc", 3):
        assert matches(NODES[name], text) == (text in found)
        assert begins(NODES[name], text) == any(each.startswith(text) for each in found)


def test_beginnings_of_characters():
    """UTF-8 is that of Python's encoder, cut at every byte."""
    codes = itertools.chain(range(0x80, 0xD800, 0x2F), range(0xE000, 0x110000, 0x3F1))
    known = {chr(code).encode()[:n] for code in codes for n in range(1, 4)}
    for text in {bytes(each) for each in itertools.product(range(256), repeat=2)} | known:
        try:
            text.decode()
            begun = True
        except UnicodeDecodeError as error:
            begun = error.reason == "unexpected end of data"
        assert (reduce(reading.Regex.after, text, reading.any_text()) is not reading.NOTHING) == begun, text


COUNTS = ["*", "+", "?", "{2}", "{1,}", "{0,2}", "*?"]
PATTERNS = st.recursive(
    st.sampled_from(["a", "b", "é", ".", "[ab]", "[^a]", r"\w", r"\d", r"\n", ""]),
    lambda inner: st.one_of(
        st.tuples(inner, inner).map("".join),
        st.tuples(inner, inner).map(lambda pair: f"({pair[0]}|{pair[1]})"),
        st.tuples(inner, st.sampled_from(COUNTS)).map(lambda pair: f"(?:{pair[0]}){pair[1]}"),
    ),
    max_leaves=6,
)
SHORT = list(texts("abé\n", 3))


@given(PATTERNS, st.sampled_from(["", "(?s)"]), st.sampled_from(["", "(?=.*b)", "(?!a)", "a(?!b|é)"]))
def test_patterns_match_what_re_matches(pattern, flags, ahead):
    asked, compiled = reading.Language(reading.pattern(flags + ahead + pattern)), re.compile(flags + ahead + pattern)
    assert [text for text in SHORT if asked.member(text)] == [text for text in SHORT if compiled.fullmatch(text)]


@pytest.mark.parametrize("pattern", [r"(a)\1", r"\bword", "a(?<=b)", "(?P<name>a)", "x(?=y)*", "(a(?=b))", "*", "a$b"])
def test_patterns_that_are_refused(pattern):
    with pytest.raises(ValueError, match="not understood"):
        reading.pattern(pattern)


def spellings(character):
    """Every way RFC 8259 section 7 lets a character be written inside a string."""
    if character >= " " and character not in '"\\':
        yield character
    yield from (f"\\{short}" for short, meaning in reading.SHORT.items() if meaning == character)
    units = character.encode("utf-16-be").hex()
    units = [units[i : i + 4] for i in range(0, len(units), 4)]
    for cases in itertools.product(*({digit, digit.upper()} for digit in "".join(units))):
        digits = "".join(cases)
        yield "".join(f"\\u{digits[i : i + 4]}" for i in range(0, len(digits), 4))


@pytest.mark.parametrize("character", [*'a"\\/\n\x00\x7fé\ud7ff\ue000\uffff🐲\U0010ffff'])
def test_every_spelling(character):
    node = json_string(literal(character))
    for spelling in spellings(character):
        text = f'"{spelling}"'
        assert json.loads(text) == character
        assert matches(node, text)
        assert all(begins(node, text[:end]) for end in range(len(text)))
    assert not matches(node, f'"{spelling * 2}"')


LETTERS, ANY = json_string(parse_ecma(r"^([a-c]|🐲)x$")), json_string(ANY_TEXT)
BEGUN = [
    *((ANY, text) for text in ['"', '"a', '"\\', '"\\u', '"\\uD', '"\\ud8', '"\\uD83d', '"\\ud83d\\', '"\\ud83d\\udC']),
    *((LETTERS, text) for text in ['"', '"a', '"b\\', '"\\u0', '"\\u006', '"\\ud83d', '"\\uD83D\\uDC3', '"a\\u00']),
]
NOT_BEGUN = [
    *((ANY, text) for text in ["a", '"\n', '"\\x', '"\\uG', '"\\udc', '"\\ud83dx', '"\\ud83d\\n', '"\\ud83d\\ue']),
    *((ANY, text) for text in ['"a"b', '"\\uD800"']),
    *((LETTERS, text) for text in ['"x', '"\\n', '"\\u1', '"\\u0064', '"\\ud83c', '"\\uD83D\\uDD', '"ax\\', '"axx']),
]


def test_unfinished_strings():
    assert [text for node, text in BEGUN if not begins(node, text)] == []
    assert [text for node, text in NOT_BEGUN if begins(node, text)] == []
    both = intersect(json_string(parse_ecma("^a")), json_string(parse_ecma("b$")), complement(literal('"ab"')))
    assert matches(both, '"\\u0061b"') and not matches(both, '"ab"')


@given(st.text(max_size=8), st.booleans(), st.sampled_from(["", "\\", '"', "\x1f", "u"]))
def test_strings_as_json(value, ascii_only, noise):
    text = json.dumps(value, ensure_ascii=ascii_only)
    text = text[:2] + noise + text[2:]
    try:
        decoded = json.loads(text)
        valid = isinstance(decoded, str) and not any(0xD800 <= ord(c) < 0xE000 for c in decoded)
    except ValueError:
        valid = False
    assert matches(ANY, text) == valid
    if valid:
        assert matches(json_string(literal(decoded)), text)


# --- grammars ---------------------------------------------------------------------------------------------------------

LENGTH = 4


def derived(made: Grammar, alphabet: str) -> set[str]:
    """The members up to LENGTH under the dynamic lexer, as the least fixed point of the rules over sets of texts.

    Every lexeme carries the ignored texts that follow it; those before the first are added at the end.
    """
    short = list(texts(alphabet, LENGTH))

    def joined(parts):
        found = {""}
        for part in parts:
            found = {a + b for a in found for b in part if len(a + b) <= LENGTH}
        return found

    blanks = {""}
    blank = {t for t in short if any(matches(each.node, t) for each in made.ignore)} | {""}
    while (more := joined([blanks, blank])) != blanks:
        blanks = more
    rules = rules_of(made)
    known = {symbol: set() for symbol in rules}
    for terminal in {s for alternatives in rules.values() for a in alternatives for s in a if isinstance(s, Terminal)}:
        own = {t for t in short if matches(terminal.node, t)}
        known[terminal] = joined([own - {""}, blanks]) | (own & {""})
    before = None
    while before != (before := {rule: len(known[rule]) for rule in rules}):
        for rule, alternatives in rules.items():
            known[rule] |= {text for a in alternatives for text in joined([known[symbol] for symbol in a])}
    return joined([blanks, known[made.start]])


@pytest.mark.parametrize("seed", range(120))
def test_membership_is_derivability(seed):
    made = random_grammar(random.Random(seed), "ab")
    assert {text for text, (is_member, _) in language(made, "ab", LENGTH).items() if is_member} == derived(made, "ab")


@pytest.mark.parametrize("seed", range(60))
def test_viable_prefixes_of_grammars(seed):
    """Every prefix of a member is viable, and above every viable text a member is found."""
    made = random_grammar(random.Random(seed), "ab")
    found = language(made, "ab", 6)
    alive = {text for text, (_, is_viable) in found.items() if is_viable}
    assert {text[:end] for text, (is_member, _) in found.items() if is_member for end in range(len(text) + 1)} <= alive
    assert all(has_member_above(oracle(made), text) for text in alive if len(text) < 4)


def has_member_above(asked: reading.Language, text: str, most: int = 300) -> bool:
    """True if a member is among the first viable continuations, shortest first."""
    queue = [asked.read(text.encode())]
    for state in queue:
        if asked.accepts(state):
            return True
        if len(queue) < most:
            queue += [after for byte in b"ab" if (after := asked.step(state, byte)) is not None]
    return False


def test_the_random_grammars_are_of_every_kind():
    made = [random_grammar(random.Random(seed), "ab") for seed in range(200)]
    sizes = [sum(is_member for is_member, _ in language(each, "ab", 4).values()) for each in made]
    assert sum(bool(each.ignore) for each in made) > 30
    assert sum(each.start.right_recursive for each in made) > 30
    assert sum(size > 3 for size in sizes) > 80


@pytest.mark.parametrize("seed", range(80))
def test_the_longest_lexeme_wins(seed):
    """Greedy membership is what cutting from the left says; and here, though not always, it is a part of dynamic."""
    dynamic = random_grammar(random.Random(seed), "ab")
    greedy = Grammar(dynamic.start, dynamic.ignore, "greedy")
    found = {text for text, (is_member, _) in language(greedy, "ab", 5).items() if is_member}
    assert found == {text for text in texts("ab", 5) if munched(greedy, text) is not None}
    assert found <= {text for text, (is_member, _) in language(dynamic, "ab", 5).items() if is_member}


def test_greedy_takes_more():
    made = constrain.grammar('start: A "b"\nA: /a+b?/', lexer="greedy").to_grammar()
    assert [text for text in texts("ab", 3) if member(made, text)] == ["abb"]


@pytest.mark.parametrize("lexer", ["dynamic", "greedy"])
def test_a_terminal_that_excludes_texts(lexer):
    word = Terminal(
        syntax.repeat(syntax.chars([(97, 98)]), 1), "word", excluding=frozenset({Terminal(syntax.literal("ab"))})
    )
    made = Grammar(Nonterminal("start", lambda: [[word]]), (), lexer)
    verdicts = language(made, "ab", 2)
    assert {text for text, (is_member, _) in verdicts.items() if is_member} == {"a", "b", "aa", "ba", "bb"}
    assert verdicts["ab"] == (False, True)


@pytest.mark.parametrize("source", ["start: A ~ 3\nA: /a/", "start: <a>", 'start: "a" -> x'])
def test_grammars_that_are_refused(source):
    with pytest.raises(ValueError, match="not understood"):
        reading.grammar(source)


# --- the fixed sample -------------------------------------------------------------------------------------------------

with (fixed_sample.DATA / "mask_sample.toml").open("rb") as file:
    ROWS = {row["name"]: row for row in tomllib.load(file)["case"]}
READ = {
    "regex": lambda row: reading.pattern(row["regex"]),
    "choices": lambda row: reading.either(*map(reading.text, row["choices"])),
    "lark": lambda row: reading.grammar(row["lark"], row.get("options", {}).get("lexer") == "greedy"),
}
TEXTS = [name for name, row in ROWS.items() if READ.keys() & row.keys()]
SCHEMAS = [  # the others have keywords, or open objects, that the edition refuses
    "boolean or null", "integers in a range", "free string", "short string", "long string", "pattern",
    "searched pattern with a length", "words counted", "enum of strings", "enum of mixed values", "constant object",
    "closed object", "closed object, compact", "closed object, any order", "optional properties",
    "array of limited length", "tuple", "tree", "any of scalars", "a tool call",
]  # fmt: skip


class Follower:
    """The edition, asked as a matcher is."""

    def __init__(self, asked: reading.Language, tree: reading.Vocabulary, vocabulary: constrain.Vocabulary) -> None:
        self.asked, self.tree, self.vocabulary = asked, tree, vocabulary
        self.compiled, self.state = self, asked.start()

    def matcher(self) -> Follower:
        return Follower(self.asked, self.tree, self.vocabulary)

    def advance(self, token: int) -> bool:
        state = self.state
        for byte in self.tree.tokens[token] or b"":
            state = self.asked.step(state, byte)
        self.state = state or self.state
        return state is not None

    def mask(self) -> set[int]:
        return reading.mask(self.asked, self.state, self.tree)

    def fill_mask(self, row: np.ndarray) -> None:
        bits = np.zeros(32 * len(row), np.uint8)
        bits[list(self.mask())] = 1
        row[:] = np.packbits(bits, bitorder="little").view(np.uint32)


@pytest.fixture(scope="module")
def sampled(request):
    """(its name, a vocabulary of the sample, the same for the edition, a splitter of texts)."""
    vocabulary = fixed_sample.SAMPLES[request.param][0]()
    tree = reading.Vocabulary(vocabulary.tokens, vocabulary.eos_ids)
    return request.param, vocabulary, tree, fixed_sample.splitter(vocabulary)


BOTH = pytest.mark.parametrize("sampled", ["reference", pytest.param("spm32k", marks=pytest.mark.slow)], indirect=True)


@BOTH
@pytest.mark.parametrize("name", TEXTS)
def test_masks_have_the_digests_of_the_fixed_sample(sampled, name):
    vocabulary_name, vocabulary, tree, split = sampled
    row = ROWS[name]
    wanted = {text: d for (v, case, text), d in fixed_sample.read_digests().items() if (v, case) == (sampled[0], name)}
    (kind,) = READ.keys() & row.keys()
    follower = Follower(reading.Language(READ[kind](row)), tree, vocabulary)
    read = enumerate(split(text.encode()) for text in row["texts"])
    found = {str(i): fixed_sample.digest_of_text(follower.matcher(), tokens) for i, tokens in read}
    found["walk"] = fixed_sample.digest_of_walk(follower, f"{vocabulary_name} {name}")
    assert found == wanted


@pytest.mark.parametrize("sampled", ["reference"], indirect=True)
@pytest.mark.parametrize("whitespace", [False, True])
@pytest.mark.parametrize("plain", [False, True])
@pytest.mark.parametrize("name", SCHEMAS)
def test_masks_of_schemas(sampled, name, plain, whitespace):
    """At every place of the sample's texts. The edition spells numbers in one way, which is the only one compared."""
    source = ROWS[name]["schema"]
    if "number" in source if plain else re.search("integer|enum|const", source):
        return
    _, vocabulary, tree, split = sampled
    options = {"spelling": "plain" if plain else "any", "whitespace": "any" if whitespace else "compact"}
    compiled = constrain.compile(constrain.json_schema(source, **options), vocabulary)
    follower = Follower(reading.Language(reading.schema(json.loads(source), plain, whitespace)), tree, vocabulary)
    for text in ROWS[name]["texts"]:
        tokens = split((text if whitespace else text.replace(": ", ":").replace(", ", ",")).encode())
        matcher, at = compiled.matcher(), follower.matcher()
        for token in [*tokens, None]:
            assert at.mask() == mask_of(matcher), matcher
            if token is None or not matcher.advance(token):
                break
            assert at.advance(token)


REFUSED = [{"type": "object"}, {"not": {}}, {"type": "integer", "multipleOf": 7}, {"minimum": 1, "type": "string"}]


@pytest.mark.parametrize("schema", [True, {"type": "string", "format": "date"}, *REFUSED])
def test_schemas_that_are_refused(schema):
    with pytest.raises(ValueError, match="not understood"):
        reading.schema(schema)


# --- masked decoding --------------------------------------------------------------------------------------------------


class Script:
    """Chances that go one way; `others`: the ways that were not taken after its end."""

    def __init__(self, path: tuple[int, ...]) -> None:
        self.path, self.taken, self.others, self.probability = path, (), [], 1.0

    def choices(self, values, weights):
        new = len(self.taken) >= len(self.path)
        at = 0 if new else self.path[len(self.taken)]
        self.others += [(*self.taken, other) for other in range(1, len(values)) if new]
        self.taken = (*self.taken, at)
        self.probability *= weights[at] / math.fsum(weights)
        return [values[at]]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("pattern", ["a(b|ab)?", "(ab|b){1,2}", "a*", "b"])
def test_weights_are_those_of_the_library(pattern, seed):
    """Every way to draw a text: its probability and its weight, and that both together are the model's probability."""
    vocabulary = small_vocabulary("ab", ["ab", "bb"])
    model, asked = TableModel(vocabulary.size, seed, spread=1.0), reading.Language(reading.pattern(pattern))
    tree = reading.Vocabulary(vocabulary.tokens, vocabulary.eos_ids)
    found, paths = {}, [()]
    for path in paths:
        script = Script(path)
        tokens, log_weight = reading.decode(lambda ids: model.log_probs([0, 1, *ids]), asked, tree, script, 4)
        found[tokens] = script.probability, log_weight
        paths += script.others
    wanted = law(model, constrain.compile(constrain.regex(pattern), vocabulary), max_tokens=4)
    assert found.keys() == wanted.keys()
    for tokens, (probability, log_weight) in found.items():
        assert math.isclose(probability, wanted[tokens][0], rel_tol=1e-9)
        if tokens[-1] in vocabulary.eos_ids:
            assert log_weight == pytest.approx(wanted[tokens][1].log_weight)
            log_p = sum(model.log_probs([0, 1, *tokens[:i]])[token] for i, token in enumerate(tokens))
            assert math.log(probability) + log_weight == pytest.approx(log_p)
        else:
            assert len(tokens) == 4 and log_weight == -math.inf
