"""Masks with the own cut of forced texts: by plain rules, at every place of small languages."""

from os.path import commonprefix
from typing import Any

import numpy as np
import pytest
from tokenizers import AddedToken, Tokenizer
from tokenizers.models import BPE

import constrain
from added_oracle import spelling
from constrain.languages.cuts import CanonicalTokens
from constrain.languages.vocab.bits import tokens_of
from constrain.masks.completion.length_budget import LengthBudget
from constrain.masks.derived import forced
from constrain.masks.derived.forced import ForcedCuts
from made_tokenizers import MADE

LANGUAGES = [
    ["aa", "a", "'s", "''s", "a's a", "  a", "11 1", "!!", '"!', "ss"],
    ["aa aas"],
    ['{"a":"a"}', '{"a":"as"}', '{"a":"as","as":"!"}', '{"a":null}'],
    ['"a" "a"', '"a" "aas"', '"s" !'],
]


@pytest.fixture(scope="module", params=list(MADE))
def both(request: pytest.FixtureRequest) -> tuple[Tokenizer, constrain.Vocabulary]:
    tokenizer = MADE[request.param]()
    return tokenizer, constrain.Vocabulary.from_huggingface(tokenizer, eos_ids=[tokenizer.token_to_id("<end>")])


def forced_text(texts: list[bytes], before: bytes) -> bytes:
    """The bytes that must follow a text."""
    rests = [text[len(before) :] for text in texts if text.startswith(before)]
    return commonprefix(rests)  # noqa: RUF071


def test_masks_of_open_places_are_read_only(both: tuple[Tokenizer, constrain.Vocabulary]) -> None:
    tokenizer, vocabulary = both
    compiled = constrain.compile(constrain.choices(["a", "s"]), vocabulary)
    matcher = ForcedCuts.of(compiled, CanonicalTokens.of(tokenizer, vocabulary)).matcher()
    assert matcher.is_open() and not matcher.mask().flags.writeable


@pytest.mark.parametrize("language", LANGUAGES, ids=lambda language: language[0])
def test_every_place(both: tuple[Tokenizer, constrain.Vocabulary], language: list[str]) -> None:
    """All tokens where less than two bytes are forced; the one of the own cuts where they agree on it."""
    tokenizer, vocabulary = both
    compiled = constrain.compile(constrain.choices(language), vocabulary)
    matcher = ForcedCuts.of(compiled, CanonicalTokens.of(tokenizer, vocabulary)).matcher()
    plain: Any = compiled.matcher()
    texts = [text.encode() for text in language]
    own = [tokenizer.encode(text, add_special_tokens=False).ids for text in language]
    own = [
        [*ids, *vocabulary.eos_ids] for ids, text in zip(own, texts, strict=True) if vocabulary.to_bytes(ids) == text
    ]
    found: list[list[int]] = []

    def follow(tokens: list[int]) -> None:
        allowed = [token for token in range(vocabulary.size) if matcher.allows(token)]
        every = [token for token in range(vocabulary.size) if plain.allows(token)]
        assert allowed and {*allowed} <= {*every}
        nexts = {ids[len(tokens)] for ids in own if ids[: len(tokens)] == tokens}
        if len(forced_text(texts, vocabulary.to_bytes(tokens))) < 2:
            assert allowed == every
        elif len(nexts) == 1 and len(own) == len(texts):
            assert allowed == [*nexts]
        for token in allowed:
            if token in vocabulary.eos_ids:
                found.append(tokens)
                continue
            assert matcher.advance(token) and plain.advance(token)
            follow([*tokens, token])
            matcher.rollback(1)
            plain.rollback(1)

    follow([])
    assert {vocabulary.to_bytes(tokens) for tokens in found} == {*texts}
    assert {tuple(ids[:-1]) for ids in own} <= {*map(tuple, found)}


@pytest.mark.parametrize("language", LANGUAGES, ids=lambda language: language[0])
def test_within_a_budget(both: tuple[Tokenizer, constrain.Vocabulary], language: list[str]) -> None:
    """Under each budget every way ends in time, with tokens of the budget's masks; under a large one masks are the
    same as without."""
    tokenizer, vocabulary = both
    compiled = constrain.compile(constrain.choices(language), vocabulary)
    cuts = ForcedCuts.of(compiled, CanonicalTokens.of(tokenizer, vocabulary))
    budget = LengthBudget(compiled)
    shortest = budget.matcher().needs()

    def follow(matcher: Any, limited: Any, unlimited: Any | None, left: int) -> None:
        allowed = [token for token in range(vocabulary.size) if matcher.allows(token)]
        assert allowed and left > 0
        assert all(map(limited.allows, allowed))
        assert unlimited is None or allowed == [token for token in range(vocabulary.size) if unlimited.allows(token)]
        for token in allowed:
            if token not in vocabulary.eos_ids:
                followed = [each for each in (matcher, limited, unlimited) if each is not None]
                assert all(each.advance(token) for each in followed)
                follow(matcher, limited, unlimited, left - 1)
                for each in followed:
                    each.rollback(1)

    for most in (shortest, shortest + 1, shortest + 3):
        follow(cuts.matcher(budget.matcher(most=most)), budget.matcher(most=most), None, most)
    follow(cuts.matcher(budget.matcher(most=50)), budget.matcher(most=50), cuts.matcher(), 50)


def test_few_places_are_remembered(
    both: tuple[Tokenizer, constrain.Vocabulary], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With room for two places the masks are the same, in rows of either type and longer ones, and after each fork."""
    tokenizer, vocabulary = both
    compiled = constrain.compile(constrain.choices(['{"a":"a"}', '{"a":"as","as":"!"}']), vocabulary)
    canonical = CanonicalTokens.of(tokenizer, vocabulary)
    endless = ForcedCuts(compiled, canonical).matcher()
    monkeypatch.setattr(forced, "MANY", 2)
    constraint = ForcedCuts(compiled, canonical)
    for chosen in (min, max):
        matcher, beside = constraint.matcher(), endless.fork()
        while not beside.is_finished():
            expected = beside.mask()
            for row in (np.ones(len(expected), np.int32), np.ones(len(expected) + 3, np.uint32)):
                matcher.fill_mask(row)
                assert row[: len(expected)].view(np.uint32).tolist() == expected.tolist()
                assert not row[len(expected) :].any()
            token = chosen(tokens_of(expected).tolist())
            matcher = matcher.fork()
            assert matcher.advance(token) and beside.advance(token)
            assert len(constraint._places) <= 2


def test_behind_a_token_that_the_tokenizer_would_not_cut() -> None:
    """Bytes that must follow there have a cut of their own: "bc" and not "b" behind "a", where "abc" is one token."""
    merges = [("b", "c"), ("a", "b"), ("a", "bc")]
    tokenizer = Tokenizer(BPE({"a": 0, "b": 1, "c": 2, "!": 3, "bc": 4, "ab": 5, "abc": 6}, merges))
    vocabulary = constrain.Vocabulary([b"a", b"b", b"c", b"!", b"bc", b"ab", b"abc", None], eos_ids=[7])
    assert tokenizer.encode("abc!").ids == [6, 3] and tokenizer.encode("bc!").ids == [4, 3]
    compiled = constrain.compile(constrain.choices(["abc!", "b!"]), vocabulary)
    matcher = ForcedCuts.of(compiled, CanonicalTokens.of(tokenizer, vocabulary)).matcher()
    assert [token for token in range(8) if matcher.allows(token)] == [0, 1, 5, 6]  # the text is open
    assert matcher.advance(0)
    assert [token for token in range(8) if matcher.allows(token)] == [4]
    assert matcher.advance(4)
    matcher.rollback(2)
    assert matcher.advance(5)  # nor would it cut "ab" there
    assert [token for token in range(8) if matcher.allows(token)] == [2]


MERGES = [("s", "<"), ("t", ">"), ("t>", "a"), (">", "a"), ("<", "t"), ("s<", "t"), ("c", ">")]
ADDED = ["<t>", "<tc>", "</t>", "</tc>", "aac"]
BEGUN = [
    ["<t>a", "<tc>a"],
    ["<t>a", "<tc>c", "</t>"],
    ["a<t>", "a</t>", "a"],
    ["<t>a", "<tc>a", "<x"],
    ["<t>a", "<ta"],
    ["</t>", "</tc>a", "</tc>c"],
    ["<", "<t>", "<tc>"],
    ["<t><tc>", "<tc><t>", "<t></t>"],
    ["<<t>a", "<<tc>"],
    ["aa", "aac", "a<aa"],
    ["s<t>", "sx", "xs<t>"],
    ["s<t>", "s<t", "s<"],
    ["<t>a", "<t>s", "<tca", "<tsa"],
    ["s<t>a", "s<tsa", "s<tas", "ss<t>a"],
    ["<t><t>", "<t>s", "s<t>s<tc>"],
    ["x<t>a", "x<taa", "x<tx", "x<", "ca"],
    [f"{begin}<t{letter}a" for begin in ("", "s") for letter in "><tcas"],
    [f"s<t{letter}{end}" for letter in "><tcas" for end in ("a", "s")] + ["x"],
]
"""Texts in which added tokens begin where others may begin as well; in the last two `>` is one of some letters."""


@pytest.mark.parametrize("language", BEGUN, ids=lambda language: "|".join(language))
def test_no_token_takes_part_of_an_added_text(language: list[str]) -> None:
    """Refused is what completes one that is told from other texts, or begins one that must then be completed, over the
    border of another text too; but never all tokens. Each text can be written, and in its own cut."""
    letters = {letter: i for i, letter in enumerate("<>/tcasx")}
    words = {one + other: len(letters) + i for i, (one, other) in enumerate(MERGES)}
    tokenizer = Tokenizer(BPE({**letters, **words}, MERGES))
    tokenizer.add_tokens([AddedToken(text, normalized=False) for text in ADDED])
    names = sorted(tokenizer.get_vocab(), key=tokenizer.get_vocab().__getitem__)
    vocabulary = constrain.Vocabulary([*map(str.encode, names), None], eos_ids=[len(names)])
    compiled = constrain.compile(constrain.choices(language), vocabulary)
    matcher = ForcedCuts.of(compiled, CanonicalTokens.of(tokenizer, vocabulary)).matcher()
    plain, texts, found = compiled.matcher(), [text.encode() for text in language], set[tuple[int, ...]]()

    def follow(read: list[tuple[int, bytes]]) -> None:
        allowed, every = tokens_of(matcher.mask()).tolist(), tokens_of(plain.mask()).tolist()
        assert allowed and allowed == [token for token in range(vocabulary.size) if matcher.allows(token)]
        if len(forced_text(texts, b"".join(text for _, text in read))) < 2:
            nexts = [(token, vocabulary.tokens[token] or b"") for token in every]
            kept = [token for token, text in nexts if not spelling(tokenizer, texts, read, (token, text))]
            assert allowed == (kept or every), read
            for token in {*every}.difference(allowed):
                refusal = matcher.explain(token)
                assert refusal and refusal.layer == "forced tokens" and "added token" in refusal.because
        for token in allowed:
            if token in vocabulary.eos_ids:
                found.add(tuple(token for token, _ in read))
                continue
            assert matcher.advance(token) and plain.advance(token)
            follow([*read, (token, vocabulary.tokens[token] or b"")])
            matcher.rollback(1)
            plain.rollback(1)

    follow([])
    assert {vocabulary.to_bytes(tokens) for tokens in found} == {*texts}
    assert {tuple(tokenizer.encode(text).ids) for text in language} <= found


LONG = "information about the international organisation"


@pytest.mark.parametrize(
    "options",
    [
        {"schema": {"const": LONG}},
        {"schema": {"const": LONG}, "stop": "zzz"},
        {"schema": {"type": "array", "prefixItems": [{"const": LONG}, {"type": "integer"}], "uniqueItems": True}},
        {"grammar": f'start: "<" word ">" "{LONG}"\nword[max_tokens=2]: /[a-z]+/'},
    ],
    ids=["plain", "stop", "guard", "budget of a rule"],
)
def test_a_long_text_is_cut_as_its_tokenizer_cuts_it(options: dict[str, Any]) -> None:
    """Whatever else is asked for: where letters must follow that one token alone writes, it is that token."""
    model = constrain.reference.load()
    own = model.tokenizer.encode(LONG, add_special_tokens=False)
    for seed in range(3):
        g = constrain.generate(model, "A person: ", seed=seed, **options)
        found = [list(g.tokens[at : at + len(own) - 1]) for at in range(len(g.tokens))]
        assert LONG not in g.text or own[1:] in found, (g.text, g.tokens)
