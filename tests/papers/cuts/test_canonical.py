"""Masks of canonical tokens: all texts of a language are left, each in the tokenizer's cut, and nothing ends dead."""

from typing import Any

import pytest
from tokenizers import Tokenizer

import constrain
from constrain.languages.cuts import CanonicalTokens
from constrain.papers.cuts.canonical import CanonicalCuts, CanonicalMatcher
from made_tokenizers import MADE

# A constraint, and all of its texts.
LANGUAGES: dict[str, tuple[Any, list[str]]] = {
    "choices": (
        texts := ["aa", "a", "'s", "''s", "a's a", "  a", " \n a", "11 1", "1", "!!", '"!', "s\n\n\na", "\n\n", "ss"],
        texts,
    ),
    "one": (["aa aas"], ["aa aas"]),
    "regex": ('"(a|aa|ss)?", ?"!"', [f'"{word}",{blank}"!"' for word in ("", "a", "aa", "ss") for blank in ("", " ")]),
    "schema": (
        {"type": "object", "properties": {"a": {"enum": ["a", "as", None]}, "as": {"const": "!"}}, "required": ["a"]},
        [f'{{"a":{a}{rest}}}' for a in ('"a"', '"as"', "null") for rest in ("", ',"as":"!"')],
    ),
}


@pytest.fixture(scope="module", params=list(MADE))
def both(request: pytest.FixtureRequest) -> tuple[Tokenizer, constrain.Vocabulary, CanonicalTokens]:
    tokenizer = MADE[request.param]()
    vocabulary = constrain.Vocabulary.from_huggingface(tokenizer, eos_ids=[tokenizer.token_to_id("<end>")])
    return tokenizer, vocabulary, CanonicalTokens.of(tokenizer, vocabulary)


def _compiled(language: Any, vocabulary: constrain.Vocabulary) -> Any:
    if isinstance(language, list):
        constraint = constrain.choices(language)
    elif isinstance(language, str):
        constraint = constrain.regex(language)
    else:
        constraint = constrain.json_schema(language, whitespace="compact", undeclared="refuse")
    return constrain.compile(constraint, vocabulary)


def _finished(matcher: CanonicalMatcher, tokens: list[int], eos: int) -> list[list[int]]:
    """All complete sequences under the masks. Fails where nothing may follow a sequence."""
    size = matcher.constraint.vocabulary.size
    allowed = [token for token in range(size) if matcher.allows(token)]
    assert allowed, tokens
    found = []
    for token in allowed:
        if token == eos:
            found.append(tokens)
            continue
        assert matcher.advance(token)
        found += _finished(matcher, [*tokens, token], eos)
        matcher.rollback(1)
    return found


@pytest.mark.parametrize("name", list(LANGUAGES))
def test_each_text_in_its_own_cut(both: tuple[Tokenizer, constrain.Vocabulary, CanonicalTokens], name: str) -> None:
    tokenizer, vocabulary, canonical = both
    (eos,) = vocabulary.eos_ids
    language, texts = LANGUAGES[name]
    compiled = _compiled(language, vocabulary)
    constraint = CanonicalCuts(compiled, canonical)
    found = _finished(constraint.matcher(), [], eos)
    own = [tokenizer.encode(text, add_special_tokens=False).ids for text in texts]
    if all(vocabulary.to_bytes(cut) == text.encode() for cut, text in zip(own, texts, strict=True)):
        assert sorted(found) == sorted(own)
    assert {vocabulary.to_bytes(tokens).decode() for tokens in found} == set(texts)
    assert all(constraint.strays(tokens) == [] for tokens in found)
