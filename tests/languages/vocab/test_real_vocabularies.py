"""Real vocabularies: what a tokenizer makes of a text spells that text, byte for byte; special tokens spell nothing."""

from collections.abc import Callable
from typing import Any

import pytest

import vocabularies
from constrain.errors import VocabularyError
from constrain.languages.vocab.vocabulary import Vocabulary
from tables import table
from work import counted

LLAMA3_PATTERN = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+"
    r"|\s+(?!\S)|\s+"
)
TEXTS = {row["name"]: row["text"] for row in table("vocab_texts")["text"]}

texts = pytest.mark.parametrize("text", [pytest.param(text, id=name) for name, text in TEXTS.items()])
Encode = Callable[[str], list[int]]


@pytest.fixture(scope="module")
def llama3_encoding() -> Any:
    tiktoken = pytest.importorskip("tiktoken")
    from tiktoken.load import load_tiktoken_bpe

    return tiktoken.Encoding(
        "llama3",
        pat_str=LLAMA3_PATTERN,
        mergeable_ranks=load_tiktoken_bpe(str(vocabularies.llama3_model())),
        special_tokens=vocabularies.LLAMA3_SPECIAL,
    )


@pytest.fixture(scope="module")
def llama3_fast() -> Any:
    """Llama 3 as a fast tokenizer, as transformers converts it."""
    transformers = pytest.importorskip("transformers")
    pytest.importorskip("tiktoken")
    from transformers.convert_slow_tokenizer import TikTokenConverter

    special = sorted(vocabularies.LLAMA3_SPECIAL, key=vocabularies.LLAMA3_SPECIAL.__getitem__)
    converter = TikTokenConverter(
        str(vocabularies.llama3_model()), pattern=LLAMA3_PATTERN, extra_special_tokens=special
    )
    return transformers.PreTrainedTokenizerFast(tokenizer_object=converter.converted(), eos_token="<|end_of_text|>")


@pytest.fixture(scope="module")
def tekkenizer() -> Any:
    path = vocabularies.mistral_data("tekken_240911.json")
    from mistral_common.tokens.tokenizers.tekken import Tekkenizer

    return Tekkenizer.from_file(path)


@pytest.fixture(scope="module")
def processor() -> Any:
    sentencepiece = pytest.importorskip("sentencepiece")
    return sentencepiece.SentencePieceProcessor(model_file=str(vocabularies.mistral_data("tokenizer.model.v1")))


@texts
def test_llama3_tokens_spell_the_text(llama3_encoding: Any, text: str) -> None:
    assert vocabularies.llama3().to_bytes(llama3_encoding.encode_ordinary(text)) == text.encode()


@texts
def test_tekken_tokens_spell_the_text(tekkenizer: Any, text: str) -> None:
    assert vocabularies.tekken().to_bytes(tekkenizer.encode(text, bos=True, eos=True)) == text.encode()


@texts
def test_sentencepiece_tokens_spell_the_text(processor: Any, text: str) -> None:
    """SentencePiece puts a space before each text (add_dummy_prefix), spelled as part of the first token."""
    token_ids = processor.encode(text, add_bos=True, add_eos=True)
    assert vocabularies.sentencepiece32k().to_bytes(token_ids) == b" " + text.replace("▁", " ").encode()


@texts
def test_the_converted_llama3_tokens_spell_the_text(llama3_fast: Any, text: str) -> None:
    vocabulary = Vocabulary.from_huggingface(llama3_fast)
    if "<|eot_id|>" in text:  # the fast tokenizer reads special tokens in a text as such: they spell nothing
        text = text.replace("<|eot_id|>", "")
    assert vocabulary.to_bytes(llama3_fast(text, add_special_tokens=False).input_ids) == text.encode()


def test_the_readers_of_llama3_agree(llama3_encoding: Any, llama3_fast: Any) -> None:
    from_file = vocabularies.llama3()
    assert len(from_file) == 128256
    from_encoding = Vocabulary.from_tiktoken(llama3_encoding, eos_ids=[128001, 128009])
    converted = Vocabulary.from_huggingface(llama3_fast, eos_ids=[128001, 128009])
    assert from_encoding.tokens == from_file.tokens
    assert converted.tokens == from_file.tokens
    assert {each.key for each in (from_file, from_encoding, converted)} == {from_file.key}
    assert Vocabulary.from_huggingface(llama3_fast).eos_ids == (128001,)


def test_special_tokens_of_llama3_are_never_text() -> None:
    vocabulary = vocabularies.llama3()
    assert {i for i, token in enumerate(vocabulary.tokens) if token is None} == set(range(128000, 128256))
    assert vocabulary.trie.token.max() < 128000


def test_special_tokens_of_tekken_are_never_text(tekkenizer: Any) -> None:
    vocabulary = vocabularies.tekken()
    assert len(vocabulary) == tekkenizer.n_words == 131072
    assert {i for i, token in enumerate(vocabulary.tokens) if token is None} == set(range(1000))
    assert vocabulary.tokens[1000:] == [tekkenizer.id_to_byte_piece(i) for i in range(1000, 131072)]
    assert vocabulary.trie.token[vocabulary.trie.token >= 0].min() == 1000


def test_special_tokens_of_sentencepiece_are_never_text(processor: Any) -> None:
    vocabulary = vocabularies.sentencepiece32k()
    assert len(vocabulary) == 32000
    assert vocabulary.eos_ids == (2,)
    assert {i for i, token in enumerate(vocabulary.tokens) if token is None} == {0, 1, 2}
    assert [vocabulary.tokens[3 + byte] for byte in range(256)] == [bytes([byte]) for byte in range(256)]
    both = vocabulary.tokens.index(b"A", 3 + 256)  # a piece, and a fallback byte: two ids with the same bytes
    assert vocabulary.trie.next_same[3 + ord("A")] == both


def test_control_pieces_of_a_newer_sentencepiece_are_never_text() -> None:
    pytest.importorskip("sentencepiece")
    vocabulary = Vocabulary.from_sentencepiece(vocabularies.mistral_data("mistral_instruct_tokenizer_240323.model.v3"))
    assert vocabulary.size == 32768
    assert vocabulary.tokens[:751] == [None] * 751  # <unk>, <s>, </s> and 748 control pieces such as [INST]
    assert vocabulary.tokens[770] == b"[REFERENCE_DOC_0]"  # "user defined": text that is never split
    assert vocabulary.tokens[771:1027] == [bytes([byte]) for byte in range(256)]
    assert None not in vocabulary.tokens[771:]


def test_tokenizers_of_transformers_that_wrap_mistral_common() -> None:
    transformers = pytest.importorskip("transformers")
    wrapper = getattr(transformers, "MistralCommonBackend", None)
    if wrapper is None:
        pytest.skip("this version of transformers does not wrap mistral-common")
    tokenizer = wrapper(vocabularies.mistral_data("tekken_240911.json"))
    assert Vocabulary.from_huggingface(tokenizer, eos_ids=[2, 11]).key == vocabularies.tekken().key
    assert Vocabulary.from_huggingface(tokenizer).eos_ids == (2,)
    with pytest.raises(VocabularyError, match=r"'\[INST\]' cannot be treated as text"):
        Vocabulary.from_huggingface(tokenizer, text_tokens=["[INST]"])


def test_trie_and_slices_are_built_in_linear_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """Five calls for a token, about a second for 131,072; nodes of the trie are made by arrays."""
    monkeypatch.setenv("CONSTRAIN_CACHE", "")
    vocabulary = vocabularies.fresh("tekken")
    sizes, work = counted(lambda: (len(vocabulary.trie), len(vocabulary.slices)))
    assert min(sizes) > 0 and sizes[0] > 131072
    assert work < 8 * vocabulary.size


@pytest.mark.parametrize("name", ["llama3", "tekken", "sentencepiece32k"])
def test_every_byte_can_be_spelled(name: str) -> None:
    vocabulary = getattr(vocabularies, name)()
    assert {bytes([byte]) for byte in range(256)} <= set(vocabulary.tokens)
