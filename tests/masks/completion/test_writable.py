"""The texts of a constraint that a vocabulary can write: tables, and all texts of small grammars as the oracle."""

import string
from itertools import product
from typing import Any

import pytest

import constrain
from constrain import UnsatisfiableError, Vocabulary
from constrain.errors import GrammarError
from constrain.masks import engine
from constrain.masks.completion.writable import refuse_unwritable, written
from toy_handle import PIECES, ToyHandle
from toy_model import TableModel

LETTERS = [letter.encode() for letter in '{}[]":, ' + string.ascii_lowercase + string.digits]
WITHOUT_BYTES = Vocabulary([*LETTERS, b"ab", None], eos_ids=[len(LETTERS) + 1])
WITH_ESCAPES = Vocabulary([*LETTERS, b"\\", None], eos_ids=[len(LETTERS) + 1])
AB_AND_MORE = Vocabulary([*(letter.encode() for letter in "abcnowvexz"), b"ab", b"ow", None], eos_ids=[12])
AB = Vocabulary([b"a", b"b", "äb".encode(), None], eos_ids=[3])

WRITABLE = [
    constrain.choices(["é", "yes"]),
    constrain.regex("[a-zé]{3}"),
    constrain.regex("né*"),
    constrain.json_schema({"type": "object", "properties": {"é": {}, "a": {"type": "string"}}}),
    constrain.grammar('start: "a" start "b" | "É"? "ab"'),
    constrain.grammar('start: "x" <|é|> "y"'),  # a token without bytes
]
UNWRITABLE = [
    (constrain.choices(["né", "é"]), "'é', the shortest, needs 'é'"),
    (constrain.regex("[a-z]+É[0-9]"), "'aÉ0', the shortest, needs 'É'"),
    (constrain.regex("[A-F]+"), "'A', the shortest, needs 'A'"),
    (constrain.json_schema({"enum": ["É", "Ü"]}), "needs 'É'"),
    (
        constrain.json_schema({"type": "object", "properties": {"ü": {"type": "null"}}, "required": ["ü"]}),
        """'{"ü":null}', the shortest, needs 'ü'""",
    ),
    (constrain.grammar('start: "a" start "b" | "É"'), "'É', the shortest, needs 'É'"),
    (constrain.choices(["\U0001f388", "a\x00"]), "needs"),
]


@pytest.mark.parametrize("constraint", WRITABLE, ids=repr)
def test_what_can_be_written_is_taken(constraint: Any) -> None:
    refuse_unwritable(constraint, WITHOUT_BYTES)


@pytest.mark.parametrize("constraint, message", UNWRITABLE, ids=[repr(row[0]) for row in UNWRITABLE])
def test_what_cannot_be_written_is_refused(constraint: Any, message: str) -> None:
    with pytest.raises(UnsatisfiableError) as caught:
        refuse_unwritable(constraint, WITHOUT_BYTES)
    assert message in str(caught.value) and "fix:" in str(caught.value)


def test_an_escape_may_write_it() -> None:
    constraint = constrain.json_schema({"enum": ["É", "Ü"]})
    refuse_unwritable(constraint, WITH_ESCAPES)  # "\\u00c9"
    matcher = constrain.compile(constraint, WITH_ESCAPES).matcher()
    assert matcher.advance_bytes(b'"\\u00c9"')


@pytest.mark.parametrize("constraint", [row[0] for row in UNWRITABLE], ids=repr)
def test_bytes_write_everything(constraint: Any) -> None:
    refuse_unwritable(constraint, Vocabulary.of_bytes())


@pytest.mark.parametrize("pattern", ["{}", "a{}", "{}b", "{}{}", "a|{}", "({})?b", "({}|a)+", "a{}|b{}"])
@pytest.mark.parametrize("parts", list(product(["a", "b", "ä", "c", "äb", "bä"], repeat=2)), ids=repr)
def test_against_all_texts(pattern: str, parts: tuple[str, str]) -> None:
    """Refused exactly if no text of up to five characters is written by the characters of tokens."""
    constraint = constrain.regex(pattern.format(*parts))
    matcher = constrain.compile(constraint, Vocabulary.of_bytes()).matcher()
    texts = ("".join(text) for size in range(6) for text in product("abä", repeat=size))
    can = any(_takes(matcher.fork(), text) for text in texts)
    try:
        refuse_unwritable(constraint, AB)
    except UnsatisfiableError:
        assert not can
    else:
        assert can


ABC = Vocabulary([b"a", b"b", b"c", b"ab", b"ca", b"cab", None], eos_ids=[6])
LANGUAGES: list[Any] = [
    *(
        "(ab|aé|cü)+c?|bäb",
        "a(b|é)c?",
        "aé|aéb|ab",
        "(a|b)*é|c",
        "a{1,3}é|aab",
        "((a|bé)c){2}",
        "ab*(éa|c)?",
        "[^é]{2}é|cc",
    ),
    constrain.choices(["abé", "aba", "é", "ca"]),
    constrain.grammar('start: "a" start "b" | "c" | "a" "é" | "b" start "ü"'),
    constrain.grammar('start: item+\nitem: A "c" | "b" E\nA: /a[bé]/\nE: "é" | "ü" | "a"'),
    constrain.grammar('start: "a" tail | "b"\ntail: "é" | tail "é"'),
    constrain.regex("[a-cé]{2}") & constrain.regex("(a|é|c|ü)+b?"),
    constrain.seq("a", constrain.alt("é", "b"), constrain.many(constrain.alt("ca", "cé"), high=2)),
    constrain.choices(["aéc", "acb"]) | constrain.grammar('start: "c" start "é" | "a"'),
]


@pytest.mark.parametrize("language", LANGUAGES, ids=repr)
def test_masks_allow_what_can_be_completed_in_tokens(language: Any) -> None:
    """Every sequence of tokens of up to three characters, beside all members of up to seven."""
    constraint = constrain.regex(language) if isinstance(language, str) else language
    every = constrain.compile(constraint, Vocabulary.of_bytes()).matcher()
    members = {
        text for size in range(8) for text in map("".join, product("abc", repeat=size)) if _takes(every.fork(), text)
    }
    beginnings = {text[:end] for text in members for end in range(len(text) + 1)}
    compiled = constrain.compile(written(constraint, ABC), ABC)

    def walk(matcher: Any, text: str, left: int) -> None:
        for token, piece in enumerate(ABC.tokens):
            if piece is None:
                assert matcher.allows(token) == (text in members), text
            elif len(text) + len(piece) <= 3:
                after = text + piece.decode()
                assert matcher.allows(token) == (after in beginnings), after
                if left and after in beginnings:
                    twin = matcher.fork()
                    assert twin.advance(token)
                    walk(twin, after, left - 1)

    walk(compiled.matcher(), "", 3)


def test_what_has_no_dead_end_stays_as_it_is() -> None:
    for constraint in (
        constrain.regex("[^x]+"),
        constrain.json_schema({"type": "object"}, whitespace="compact"),
        constrain.json_schema({"type": "array", "items": {"type": "string", "maxLength": 20}}, whitespace="compact"),
        constrain.grammar('start: "a" start "b" | "c"'),
    ):
        assert written(constraint, WITHOUT_BYTES) is constraint
    assert written(constrain.regex("né|no"), Vocabulary.of_bytes()) == constrain.regex("né|no")


def test_values_and_checks_stay() -> None:
    """A schema that is cut keeps its values, its guard and its check."""
    schema = {"type": "array", "uniqueItems": True, "items": {"enum": ["né", "no", "a"]}, "minItems": 2}
    constraint = constrain.json_schema(schema)
    part = written(constraint, WITHOUT_BYTES)
    assert part is not constraint
    assert part.parse('["no","a"]') == ["no", "a"]  # type: ignore[attr-defined]
    matcher = constrain.compile(part, WITHOUT_BYTES).matcher()
    assert matcher.advance_bytes(b'["no","') and b'a"]'.startswith(matcher.forced_bytes())


def test_a_greedy_grammar_that_can_end_dead_is_refused() -> None:
    grammar = constrain.grammar("start: NAME+\nNAME: /a[éü]|b/", lexer="greedy")
    with pytest.raises(GrammarError, match="cannot write all of NAME") as caught:
        written(grammar, WITHOUT_BYTES)
    assert caught.value.place == "NAME" and caught.value.fix
    fine = constrain.grammar("start: NAME+\nNAME: /[a-zé]/", lexer="greedy")
    assert written(fine, WITHOUT_BYTES) is fine


DEAD = [("(ab|aÉ|cé)+x?|zÜz", 1000), ('"n(aïve|ow|é)"', 100)]


@pytest.mark.parametrize(("pattern", "before"), DEAD)
@pytest.mark.parametrize("outputs", [100, pytest.param(2000, marks=pytest.mark.slow)])
def test_no_output_ends_dead(pattern: str, before: int, outputs: int) -> None:
    """before: at least so many of 2,000 outputs did, and do if the constraint is compiled as it stands."""
    tokens = [*LETTERS, b"ab", None]
    model = _table_of(tokens, WITHOUT_BYTES)

    def dead(constraint: Any) -> int:
        found = constrain.generate(model, [0], constraint=constraint, n=outputs, max_tokens=60, seed=1)
        return sum(output.finish_reason == "dead_end" for output in found)

    constraint = constrain.regex(pattern)
    assert dead(constraint) == dead(constrain.compile(constraint, WITHOUT_BYTES)) == 0
    assert dead(engine.compile_bytewise(constraint, WITHOUT_BYTES)) >= before * outputs // 2000 * 8 // 10


@pytest.mark.parametrize("pattern", ["(ab|aÉ|cé)+x?|zÜz", "n(aïve|ow|é)", "[a-zé]{1,2}É?a|b"])
def test_a_mask_allows_what_tokens_can_complete(pattern: str) -> None:
    """By a search over tokens: allowed exactly if some tokens lead on to a member."""
    compiled = constrain.compile(constrain.regex(pattern), AB_AND_MORE)
    whole = constrain.compile(constrain.regex(pattern), Vocabulary.of_bytes())

    def completes(text: bytes, left: int) -> bool:
        matcher = whole.matcher()
        if not matcher.advance_bytes(text):
            return False
        return matcher.is_accepting() or (
            left > 0 and any(completes(text + token, left - 1) for token in AB_AND_MORE.tokens if token)
        )

    stack: list[tuple[bytes, Any]] = [(b"", compiled.matcher())]
    while stack:
        text, matcher = stack.pop()
        for number, token in enumerate(AB_AND_MORE.tokens[:-1]):
            assert matcher.allows(number) == completes(text + (token or b""), 4)
            if matcher.allows(number) and len(text) < 4:
                twin = matcher.fork()
                assert twin.advance(number)
                stack.append((text + (token or b""), twin))


def test_compiling_refuses_what_no_tokens_write() -> None:
    with pytest.raises(UnsatisfiableError, match="can write no text of this constraint"):
        constrain.compile(constrain.choices(["né", "é"]), WITHOUT_BYTES)


def _table_of(tokens: Any, vocabulary: Vocabulary) -> Any:
    model = TableModel(len(tokens), 1)
    model.vocabulary, model.tokenizer = vocabulary, ToyHandle.tokenizer  # type: ignore[attr-defined]
    return model


def _takes(matcher: Any, text: str) -> bool:
    return matcher.advance_bytes(text.encode()) and matcher.is_accepting()


def test_generate_refuses_before_the_model_is_asked() -> None:
    model = ToyHandle(len(PIECES), 1, 1.0)
    with pytest.raises(UnsatisfiableError, match="the tokens of the vocabulary can write no text"):
        constrain.generate(model, "a", choices=["né"], max_tokens=4)
    assert constrain.generate(model, "a", choices=["né", "ab"], max_tokens=20, complete=True, seed=1).text == "ab"
