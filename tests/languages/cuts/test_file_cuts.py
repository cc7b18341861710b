"""Files of Tekken and of SentencePiece know their own cut: beside the libraries themselves."""

import base64
import io
import json
import random
from pathlib import Path
from typing import Any

import pytest

import vocabularies
from constrain import Vocabulary
from constrain.languages.cuts import canonical_tokens
from constrain.languages.cuts.pieces import GPT2

PARTS = ["a", "as", " a", "'s", "  ", "\n", "11", "!!", "é", "日", "<call>", "the test"]
TEXT = ["it's a test: the 's and 12 345", "the end, it ends 's tests! aaaa aa as as", "é é as'é 11 11 !! !!"]


def texts(count: int) -> list[str]:
    rng = random.Random(1)
    return ["".join(rng.choices(PARTS, k=rng.randint(1, 7))) for _ in range(count)]


def sentence_pieces(source: Any) -> tuple[Vocabulary, Any]:
    """The vocabulary of a model, and its own cut behind "x": a model writes a blank before a text."""
    sentencepiece = pytest.importorskip("sentencepiece")
    processor = sentencepiece.SentencePieceProcessor(**source)
    return Vocabulary.from_sentencepiece(processor), lambda text: (" x" + text, processor.encode("x" + text))


def trained(**options: Any) -> dict[str, bytes]:
    """A small model of SentencePiece."""
    sentencepiece = pytest.importorskip("sentencepiece")
    written = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(TEXT * 9), model_writer=written, vocab_size=340, byte_fallback=True,
        hard_vocab_limit=False, minloglevel=2,
        **{
            "model_type": "bpe", "normalization_rule_name": "identity", "remove_extra_whitespaces": False,
            "user_defined_symbols": ["<call>", "\n\n"], **options,
        },
    )  # fmt: skip
    return {"model_proto": written.getvalue()}


def check(vocabulary: Vocabulary, own: Any) -> None:
    """All cuts of the library are canonical, and after each token of one all that it may go on with is told apart."""
    canonical = canonical_tokens(None, vocabulary)
    assert not isinstance(canonical, str), canonical
    compared = 0
    for text in texts(300):
        whole, tokens = own(text)
        if vocabulary.to_bytes(tokens) != whole.encode():
            continue
        compared += 1
        assert canonical.strays(tokens) == [], text
        parts = [[token] for token in tokens]
        at = random.Random(text).randrange(len(tokens))
        spelled = [i for i, token in enumerate(vocabulary.tokens) if token and len(token) == 1]
        by_byte = {vocabulary.tokens[i]: i for i in reversed(spelled)}
        parts[at] = [by_byte[bytes([b])] for b in vocabulary.tokens[tokens[at]] or b"" if bytes([b]) in by_byte]
        other = [token for part in parts for token in part]
        if vocabulary.to_bytes(other) == whole.encode() and other != tokens:
            assert canonical.strays(other), text
    assert compared > 200


def test_a_made_sentencepiece_model() -> None:
    check(*sentence_pieces(trained()))


@pytest.mark.parametrize(
    "options", [{"model_type": "unigram"}, {"normalization_rule_name": "nmt_nfkc"}, {"remove_extra_whitespaces": True}]
)
def test_what_is_not_understood_is_named(options: dict[str, Any]) -> None:
    said = canonical_tokens(None, sentence_pieces(trained(**options))[0])
    assert isinstance(said, str) and "how this SentencePiece model cuts texts is not understood" in said


def test_a_made_tekken_file(tmp_path: Path) -> None:
    tiktoken = pytest.importorskip("tiktoken")
    parts = [bytes([byte]) for byte in range(256)] + [b"as", b" a", b"th", b"the", b"'s", b"11", b"!!", b"  ", b" as"]
    vocab = [
        {"rank": i, "token_bytes": base64.b64encode(part).decode(), "token_str": None} for i, part in enumerate(parts)
    ]
    config = {"pattern": GPT2, "default_vocab_size": len(parts) + 3, "default_num_special_tokens": 3}
    path = tmp_path / "tekken.json"
    path.write_text(json.dumps({"config": config, "vocab": vocab}))
    encoding = tiktoken.Encoding(
        "made", pat_str=GPT2, mergeable_ranks={part: i for i, part in enumerate(parts)}, special_tokens={}
    )
    check(Vocabulary.from_tekken(path), lambda text: (text, [i + 3 for i in encoding.encode_ordinary(text)]))


@pytest.mark.parametrize("file", ["tokenizer.model.v1", "mistral_instruct_tokenizer_241114.model.v7"])
def test_models_of_mistral(file: str) -> None:
    check(*sentence_pieces({"model_file": str(vocabularies.mistral_data(file))}))


def test_tekken_of_mistral() -> None:
    tekken = pytest.importorskip("mistral_common.tokens.tokenizers.tekken")
    path = vocabularies.mistral_data("tekken_240911.json")
    tokenizer = tekken.Tekkenizer.from_file(str(path))
    check(Vocabulary.from_tekken(path), lambda text: (text, tokenizer.encode(text, bos=False, eos=False)))
