"""Look-ahead by kernels and in plain Python: the same masks along random texts, for each kind of tokenizer."""

import random
from functools import cache
from typing import Any

import numpy as np
import pytest

import constrain
from constrain.languages.cuts import CanonicalTokens
from constrain.papers.cuts import canonical as everywhere
from constrain.papers.cuts import lookahead
from constrain.papers.cuts.canonical import CanonicalCuts
from made_tokenizers import MADE

PERSON = {
    "type": "object",
    "properties": {"a": {"type": "string", "maxLength": 3}, "as": {"type": "integer"}, "s": {"enum": ["!", "a's"]}},
    "required": ["a"],
}
LANGUAGES: dict[str, Any] = {
    "string": constrain.json_schema({"type": "string"}),
    "object": constrain.json_schema(PERSON),
    "open object": constrain.json_schema({"type": "object", "properties": {"as": {}}}, undeclared="allow"),
    "date": constrain.json_schema({"type": "string", "format": "date"}),
    "pattern": constrain.regex(r"(a|'s| )*(1{1,4}|!+\n)?"),
    "words": constrain.choices(["a s", "a  s", "'sa", "11a", "é!", "s\n a"]),
}


@cache
def made(kind: str) -> tuple[Any, constrain.Vocabulary]:
    tokenizer = MADE[kind]()
    return tokenizer, constrain.Vocabulary.from_huggingface(tokenizer, eos_ids=[tokenizer.token_to_id("<end>")])


@pytest.mark.parametrize("kind", list(MADE))
@pytest.mark.parametrize("name", list(LANGUAGES))
@pytest.mark.parametrize("many", [lookahead.MANY, 60, 2], ids=["alone", "by reference", "by blanks"])
def test_kernels_and_python_give_the_same_masks(
    kind: str, name: str, many: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """many: from so many tokens on they are compared with those of another lexer state, or asked for blanks first."""
    monkeypatch.setattr(lookahead, "MANY", many)
    monkeypatch.setattr(lookahead, "FEW", 0)
    tokenizer, vocabulary = made(kind)
    compiled = constrain.compile(LANGUAGES[name], vocabulary)
    compiled.matcher()._automaton.known.kept.clear()  # nothing of other tests
    kernels = CanonicalCuts(compiled, CanonicalTokens.of(tokenizer, vocabulary))
    python = CanonicalCuts(compiled, CanonicalTokens.of(tokenizer, vocabulary))
    rng = random.Random(f"{kind} {name}")
    monkeypatch.setattr(everywhere, "FEW", vocabulary.size)
    for _ in range(6):
        by_kernels, by_python = kernels.matcher(), python.matcher()
        for _ in range(12):
            row = by_kernels.mask()
            with monkeypatch.context() as patch:
                patch.setattr(everywhere, "look_ahead", lambda *_: None)
                assert np.array_equal(row, by_python.mask()), by_kernels.text
            allowed = [token for token in range(vocabulary.size) if by_kernels.allows(token)]
            token = rng.choice(allowed)
            if token in vocabulary.eos_ids:
                break
            assert by_kernels.advance(token) and by_python.advance(token)
