"""Hugging Face tokenizers, small ones built here: every kind that is read, every kind that is refused."""

import gc
import json
import weakref
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import vocabularies
from constrain.errors import VocabularyError
from constrain.languages.vocab.huggingface import byte_characters
from constrain.languages.vocab.vocabulary import Vocabulary

tokenizers = pytest.importorskip("tokenizers")
transformers = pytest.importorskip("transformers")

from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers  # noqa: E402

CORPUS = [
    "def main(): return None",
    "Größe, naïve café",
    "Ελληνικά и кириллица",
    "日本語 한국어",
    "a  b   c    d\n\n\tx",
] * 3
FIX = "use a tokenizer with byte-level BPE, SentencePiece or tiktoken tokens, or build Vocabulary(tokens, eos_ids)"
texts = st.text(max_size=30) | st.text("aé▁ <0x4>\n日😀", max_size=12)


def byte_level() -> Tokenizer:
    """Byte-level BPE with 400 pieces, `<|end|>` and `<|tool|>` (special), `<think>` and `→ é` (added text)."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=400, initial_alphabet=alphabet, show_progress=False)
    tokenizer.train_from_iterator(CORPUS, trainer)
    tokenizer.add_special_tokens(["<|end|>", "<|tool|>"])
    tokenizer.add_tokens(["<think>", "→ é"])
    return tokenizer


def byte_fallback(model: str = "BPE", decoder: str = "sequence") -> Tokenizer:
    """SentencePiece-like: `<unk>`, `</s>`, the 256 byte pieces, then text pieces with `▁`, among them `A` and `▁▁`."""
    pieces = ["<unk>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256)), "▁", "A", "a", "b", "▁a", "▁▁", "é", "日"]
    if model == "BPE":
        merges = [("▁", "a"), ("▁", "▁")]
        vocabulary = {piece: i for i, piece in enumerate(pieces)}
        tokenizer = Tokenizer(models.BPE(vocabulary, merges, unk_token="<unk>", byte_fallback=True))
    else:
        scored = [(piece, -float(i > 257)) for i, piece in enumerate([*pieces, "a"])]  # Unigram may have a piece twice
        tokenizer = Tokenizer(models.Unigram(scored, 0, True))
    if decoder == "sequence":
        tokenizer.normalizer = normalizers.Replace(" ", "▁")
        steps = [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
        tokenizer.decoder = decoders.Sequence(steps)
    else:
        tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="never")
        tokenizer.decoder = decoders.Metaspace(prepend_scheme="never") if decoder == "metaspace" else None
    tokenizer.add_special_tokens(["</s>"])
    return tokenizer


def wrapped(tokenizer: Tokenizer, **options: Any) -> Any:
    return transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, **options)


@pytest.fixture(scope="module")
def bpe() -> tuple[Tokenizer, Vocabulary]:
    tokenizer = byte_level()
    return tokenizer, Vocabulary.from_huggingface(tokenizer, eos_ids=tokenizer.token_to_id("<|end|>"))


# --- byte-level BPE ---------------------------------------------------------------------------------------------------


@given(text=texts)
def test_byte_level_tokens_spell_the_text(bpe: tuple[Tokenizer, Vocabulary], text: str) -> None:
    tokenizer, vocabulary = bpe
    assert vocabulary.to_bytes(tokenizer.encode(text).ids) == text.encode()


def test_byte_level_added_tokens(bpe: tuple[Tokenizer, Vocabulary]) -> None:
    tokenizer, vocabulary = bpe
    spelled = {
        name: vocabulary.tokens[tokenizer.token_to_id(name)] for name in ("<|end|>", "<|tool|>", "<think>", "→ é")
    }
    assert spelled == {"<|end|>": None, "<|tool|>": None, "<think>": b"<think>", "→ é": "→ é".encode()}
    text = "<think>é→ é</think>"
    assert vocabulary.to_bytes(tokenizer.encode(text).ids) == text.encode()


def test_an_added_token_that_is_a_piece_is_the_piece() -> None:
    """`é` is how byte-level BPE spells the byte 0xE9; declared as an added token, it still stands for that byte."""
    tokenizer = byte_level()
    token_id = tokenizer.token_to_id("é")
    tokenizer.add_tokens(["é"])
    assert Vocabulary.from_huggingface(tokenizer, eos_ids=[0]).tokens[token_id] == b"\xe9"


def test_a_byte_level_piece_with_another_character_is_text() -> None:
    """As `tokenizers` decodes it."""
    tokenizer = Tokenizer(models.BPE({"a": 0, "Ġ日": 1, "Ġ": 2}, []))
    tokenizer.decoder = decoders.ByteLevel()
    vocabulary = Vocabulary.from_huggingface(tokenizer, eos_ids=[2])
    assert vocabulary.tokens == [b"a", "Ġ日".encode(), None]
    assert tokenizer.decode([1]) == "Ġ日"


def test_byte_characters_are_those_of_tokenizers() -> None:
    assert sorted(byte_characters().values()) == list(range(256))
    assert set(byte_characters()) == set(pre_tokenizers.ByteLevel.alphabet())
    assert [byte_characters()[character] for character in "AĠĊé"] == [0x41, 0x20, 0x0A, 0xE9]


def test_without_a_decoder_the_pre_tokenizer_tells() -> None:
    tokenizer = byte_level()
    expected = Vocabulary.from_huggingface(tokenizer, eos_ids=[0]).tokens
    tokenizer.decoder = None
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Digits(), tokenizer.pre_tokenizer])
    assert Vocabulary.from_huggingface(tokenizer, eos_ids=[0]).tokens == expected


# --- SentencePiece-like -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("decoder", ["sequence", "metaspace"])
@given(text=texts)
@settings(max_examples=50)
def test_byte_fallback_tokens_spell_the_text(decoder: str, text: str) -> None:
    tokenizer = byte_fallback(decoder=decoder)
    vocabulary = Vocabulary.from_huggingface(tokenizer, eos_ids=[1])
    assert vocabulary.to_bytes(tokenizer.encode(text).ids) == text.replace("▁", " ").encode()


@pytest.mark.parametrize("decoder", ["sequence", "metaspace"])
@pytest.mark.parametrize("model", ["BPE", "Unigram"])
def test_byte_fallback_pieces(model: str, decoder: str) -> None:
    vocabulary = Vocabulary.from_huggingface(byte_fallback(model, decoder), eos_ids=[1])
    assert vocabulary.tokens[:2] == [None, None]  # <unk> and </s>
    assert vocabulary.tokens[2:258] == [bytes([byte]) for byte in range(256)]
    assert vocabulary.tokens[258:266] == [b" ", b"A", b"a", b"b", b" a", b"  ", "é".encode(), "日".encode()]
    assert vocabulary.trie.next_same[2 + ord("A")] == 259
    if model == "Unigram":
        assert vocabulary.tokens[266] == b"a"
        same = vocabulary.trie.next_same
        assert (same[2 + ord("a")], same[260], same[266]) == (260, 266, -1)


def test_metaspace_without_a_decoder() -> None:
    tokens = Vocabulary.from_huggingface(byte_fallback(decoder="none"), eos_ids=[1]).tokens
    assert tokens == Vocabulary.from_huggingface(byte_fallback(), eos_ids=[1]).tokens


def test_without_byte_fallback_such_pieces_are_text() -> None:
    tokenizer = Tokenizer(models.BPE({"<0x41>": 0, "▁a": 1, "</s>": 2}, []))
    tokenizer.decoder = decoders.Metaspace()
    assert Vocabulary.from_huggingface(tokenizer, eos_ids=[2]).tokens == [b"<0x41>", b" a", None]


def test_added_runs_of_spaces_are_pieces() -> None:
    """Gemma declares `▁▁` as an added token; the model knows it as two spaces."""
    tokenizer = byte_fallback()
    tokenizer.add_tokens([AddedToken("▁▁", normalized=False), AddedToken("<tool>", normalized=False)])
    tokens = Vocabulary.from_huggingface(tokenizer, eos_ids=[1]).tokens
    assert tokens[263] == b"  "
    assert tokens[-1] == b"<tool>"


def test_the_converted_sentencepiece_model_agrees_with_the_model() -> None:
    """32,000 tokens: the fast tokenizer that transformers makes of it, and the plain model."""
    path = str(vocabularies.mistral_data("tokenizer.model.v1"))
    extractor = pytest.importorskip("transformers.convert_slow_tokenizer").SentencePieceExtractor(path)
    try:
        extracted = extractor.extract(None)
        tokenizer = transformers.LlamaTokenizer(vocab=extracted["vocab"], merges=extracted["merges"])
    except (TypeError, KeyError):
        pytest.skip("this version of transformers converts in another way")
    assert Vocabulary.from_huggingface(tokenizer).key == vocabularies.sentencepiece32k().key


def test_a_tokenizer_that_holds_a_sentencepiece_model() -> None:
    module = pytest.importorskip("transformers.tokenization_utils_sentencepiece")
    pytest.importorskip("sentencepiece")
    path = str(vocabularies.mistral_data("tokenizer.model.v1"))
    tokenizer = module.SentencePieceBackend(vocab_file=path, unk_token="<unk>", bos_token="<s>", eos_token="</s>")
    assert Vocabulary.from_huggingface(tokenizer).key == vocabularies.sentencepiece32k().key
    tokenizer.add_tokens(["<think>"])
    tokenizer.add_tokens(["<|tool|>"], special_tokens=True)
    assert Vocabulary.from_huggingface(tokenizer).tokens[32000:] == [b"<think>", None]


# --- refused ----------------------------------------------------------------------------------------------------------


def with_decoder(model: Any, decoder: Any) -> Tokenizer:
    tokenizer = Tokenizer(model)
    tokenizer.decoder = decoder
    return tokenizer


WORD_PIECE = "a WordPiece token has no bytes of its own: decoding puts spaces between words that no token contains"
UNKNOWN = "the tokens of this tokenizer do not each stand for bytes"
PLAIN = {"a": 0, "[UNK]": 1}
NO_FUSE = decoders.Sequence([decoders.ByteFallback(), decoders.Strip(" ", 1, 0)])
REFUSED = {
    "WordPiece": (with_decoder(models.WordPiece(PLAIN, unk_token="[UNK]"), decoders.WordPiece()), WORD_PIECE),
    "WordPiece, none": (with_decoder(models.WordPiece(PLAIN, unk_token="[UNK]"), None), WORD_PIECE),
    "WordLevel, none": (with_decoder(models.WordLevel(PLAIN, unk_token="[UNK]"), None), UNKNOWN),
    "BPE, none": (with_decoder(models.BPE(PLAIN, []), None), UNKNOWN),
    "BPE, BPEDecoder": (with_decoder(models.BPE(PLAIN, []), decoders.BPEDecoder()), UNKNOWN),
    "BPE, ByteFallback + Strip": (with_decoder(models.BPE(PLAIN, []), NO_FUSE), UNKNOWN),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_refused(kind: str) -> None:
    tokenizer, message = REFUSED[kind]
    model, _, decoder = kind.partition(", ")
    with pytest.raises(VocabularyError) as raised:
        Vocabulary.from_huggingface(tokenizer, eos_ids=[0])
    assert str(raised.value) == f"{message}\n  at model {model}, decoder {decoder or 'WordPiece'}\n  fix: {FIX}"


def test_objects_that_are_no_tokenizers() -> None:
    with pytest.raises(VocabularyError) as raised:
        Vocabulary.from_huggingface(object())
    message = "the tokens of object cannot be read: it has neither a fast backend nor a SentencePiece model"
    assert str(raised.value) == f"{message}\n  fix: {FIX}"


# --- sizes, end of text, special tokens -------------------------------------------------------------------------------


def test_padded_size() -> None:
    tokenizer = wrapped(byte_level(), eos_token="<|end|>")
    length = len(tokenizer)
    vocabulary = Vocabulary.from_huggingface(tokenizer, size=length + 100)
    assert vocabulary.size == length + 100
    assert vocabulary.tokens[length:] == [None] * 100
    assert Vocabulary.from_huggingface(tokenizer, size=length).size == length
    with pytest.raises(
        VocabularyError, match=rf"size \({length - 1}\) is less than the tokenizer's {length} token ids"
    ):
        Vocabulary.from_huggingface(tokenizer, size=length - 1)


def test_end_of_text_ids() -> None:
    tokenizer = byte_level()
    end, tool = map(tokenizer.token_to_id, ["<|end|>", "<|tool|>"])
    with pytest.raises(VocabularyError, match="no end-of-text id"):
        Vocabulary.from_huggingface(wrapped(tokenizer))
    fast = wrapped(tokenizer, eos_token="<|end|>")
    assert Vocabulary.from_huggingface(fast).eos_ids == (end,)
    assert Vocabulary.from_huggingface(fast, eos_ids=[tool]).eos_ids == (tool,)
    assert Vocabulary.from_huggingface(fast, eos_ids=[tool, end]).eos_ids == (end, tool)
    padded = Vocabulary.from_huggingface(fast, eos_ids=[len(fast) + 1], size=len(fast) + 2)  # beyond the tokenizer
    assert padded.eos_ids == (len(fast) + 1,)


def test_end_of_text_ids_of_the_generation_config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tokenizer = byte_level()
    end, tool = map(tokenizer.token_to_id, ["<|end|>", "<|tool|>"])
    wrapped(tokenizer, eos_token="<|end|>").save_pretrained(tmp_path)
    (tmp_path / "generation_config.json").write_text(json.dumps({"eos_token_id": [end, tool]}))
    monkeypatch.chdir(tmp_path)  # where a tokenizer without a name must not look
    assert Vocabulary.from_huggingface(wrapped(tokenizer, eos_token="<|end|>")).eos_ids == (end,)
    loaded = transformers.PreTrainedTokenizerFast.from_pretrained(tmp_path)
    assert Vocabulary.from_huggingface(loaded).eos_ids == (end, tool)
    assert Vocabulary.from_huggingface(str(tmp_path)).eos_ids == (end, tool)
    assert Vocabulary.from_huggingface(tmp_path, eos_ids=tool).eos_ids == (tool,)


def test_special_tokens_that_are_named() -> None:
    fast = wrapped(byte_level(), eos_token="<|end|>")
    tool = fast.convert_tokens_to_ids("<|tool|>")
    assert Vocabulary.from_huggingface(fast).tokens[tool] is None
    assert Vocabulary.from_huggingface(fast, text_tokens=["<|tool|>"]).tokens[tool] == b"<|tool|>"
    with pytest.raises(
        VocabularyError, match=r"the tokenizer has no special token '<tool>'\n  fix: name special tokens"
    ):
        Vocabulary.from_huggingface(fast, text_tokens=["<|tool|>", "<tool>"])


def test_tokens_declared_special_only_to_transformers() -> None:
    """A padding token that is an ordinary piece: transformers drops it from decoded texts, so it is never text."""
    tokenizer = byte_level()
    fast = wrapped(tokenizer, eos_token="<|end|>", pad_token="!")
    assert Vocabulary.from_huggingface(fast).tokens[tokenizer.token_to_id("!")] is None


# --- remembering ------------------------------------------------------------------------------------------------------


def test_remembered_with_the_tokenizer_object() -> None:
    fast = wrapped(byte_level(), eos_token="<|end|>")
    vocabulary = Vocabulary.from_huggingface(fast)
    assert Vocabulary.from_huggingface(fast) is vocabulary
    assert Vocabulary.from_huggingface(fast, size=1000) is not vocabulary
    assert Vocabulary.from_huggingface(fast, size=1000) is Vocabulary.from_huggingface(fast, size=1000)
    fast.add_tokens(["<more>"])
    assert Vocabulary.from_huggingface(fast).tokens[-1] == b"<more>"


@pytest.mark.usefixtures("young_heap")
def test_forgotten_with_the_tokenizer_object() -> None:
    fast = wrapped(byte_level(), eos_token="<|end|>")
    alive = weakref.ref(Vocabulary.from_huggingface(fast))
    assert alive() is not None
    del fast
    gc.collect()
    assert alive() is None
