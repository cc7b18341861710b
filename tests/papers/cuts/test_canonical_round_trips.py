"""Random outputs under canonical masks: the tokenizer cuts each text into just these tokens, and none ends dead."""

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import constrain
from constrain.languages.cuts import CanonicalTokens
from constrain.papers.cuts.canonical import CanonicalCuts
from made_tokenizers import LLAMA3, MADE
from real_models import real_model
from vocabularies import LLAMA3_SPECIAL, llama3_model

PERSON = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "maxLength": 20},
        "age": {"type": "integer"},
        "tags": {"type": "array", "items": {"enum": ["a", "as", "it's", "a  b"]}, "maxItems": 3},
        "at": {"type": "string", "format": "date"},
    },
    "required": ["name", "age", "tags"],
    "additionalProperties": False,
}
KINDS: dict[str, Callable[[], Any]] = {
    "json": lambda: constrain.json_schema(PERSON),
    "compact": lambda: constrain.json_schema(PERSON, whitespace="compact"),
    "indented": lambda: constrain.json_schema(PERSON, whitespace=constrain.schema.JsonLayout(indent=2)),
    "hermes": lambda: constrain.tools([_weather], format="hermes"),
    "sql": lambda: constrain.collection.load("sql"),
    "regex": lambda: constrain.regex(r"(it's|the 12 tests?!|[a-z]{1,4}  [0-9]{2,5}) \n+[a-z ]{0,12}[.!]"),
    "free": lambda: constrain.regex(r"(?s:[\x20-\x7e\n]{1,30})"),
}


def _weather(city: str, days: int) -> None:
    """The weather of a city."""


def _tiktoken() -> tuple[constrain.Vocabulary, CanonicalTokens, Callable[[str], list[int]]]:
    tiktoken = pytest.importorskip("tiktoken")
    from tiktoken.load import load_tiktoken_bpe

    ranks = load_tiktoken_bpe(str(llama3_model()))
    encoding = tiktoken.Encoding("llama3", pat_str=LLAMA3, mergeable_ranks=ranks, special_tokens=LLAMA3_SPECIAL)
    vocabulary = constrain.Vocabulary.from_tiktoken(encoding, eos_ids=[128001, 128009])
    return vocabulary, CanonicalTokens.of(encoding, vocabulary), encoding.encode_ordinary


def _made(name: str) -> tuple[constrain.Vocabulary, CanonicalTokens, Callable[[str], list[int]]]:
    if name in MADE:
        tokenizer, eos = MADE[name](), None
    else:
        from transformers import AutoTokenizer

        tokenizer = AutoTokenizer.from_pretrained(real_model(name)).backend_tokenizer
        eos = AutoTokenizer.from_pretrained(real_model(name)).eos_token_id
    eos = tokenizer.token_to_id("<end>") if eos is None else eos
    vocabulary = constrain.Vocabulary.from_huggingface(tokenizer, eos_ids=[eos])
    canonical = CanonicalTokens.of(tokenizer, vocabulary)
    return vocabulary, canonical, lambda text: tokenizer.encode(text, add_special_tokens=False).ids


def _closing(vocabulary: constrain.Vocabulary) -> NDArray[np.bool_]:
    """bool[size]: quotes, signs that close, and ends."""
    signs = (b'"', b"}", b"]", b";")
    return np.array(
        [t in vocabulary.eos_ids or (text or b"").strip()[:1] in signs for t, text in enumerate(vocabulary.tokens)]
    )


def _walk(constraint: CanonicalCuts, closing: NDArray[np.bool_], rng: random.Random) -> tuple[list[int], bool]:
    """A random output of up to 150 tokens, and whether it ended. Tokens that close are drawn more often."""
    matcher, tokens, ends = constraint.matcher(), [], constraint.vocabulary.eos_ids
    while len(tokens) < 150:
        allowed = np.flatnonzero(np.unpackbits(matcher.mask().view(np.uint8), bitorder="little"))
        assert allowed.size, (tokens, "a dead end")
        likely = allowed[closing[allowed]]
        token = int(rng.choice(likely if likely.size and rng.random() < 0.4 else allowed))
        assert matcher.advance(token)
        if token in ends:
            return tokens, True
        tokens.append(token)
    return tokens, False


@pytest.mark.slow
@pytest.mark.parametrize("tokenizer", [*MADE, "smollm2", "gemma3-270m", "llama3 ranks"])
def test_round_trips(tokenizer: str) -> None:
    vocabulary, canonical, encode = _tiktoken() if tokenizer == "llama3 ranks" else _made(tokenizer)
    rng, closing = random.Random(5), _closing(vocabulary)
    for kind, make in KINDS.items():
        constraint = CanonicalCuts(constrain.compile(make(), vocabulary), canonical)
        for _ in range(8 if tokenizer in MADE else 3):  # a walk with a real vocabulary takes seconds
            tokens, ended = _walk(constraint, closing, rng)
            text = vocabulary.to_bytes(tokens)
            strays = [place for place in constraint.strays(tokens) if ended or place < len(tokens)]
            assert not strays, (kind, text, strays)
            if ended:
                assert encode(text.decode()) == tokens, (kind, text)
