"""llama-cpp-python itself, where it is installed: the reference model as a GGUF file is the one of transformers.

`make local-test` runs it. Tokens, bytes of tokens, logits and texts are compared.
"""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest
from local_models import PROMPT, SCHEMA, SETTINGS, check_logits, texts

import constrain
import vocabularies
from constrain import ConstrainError

llama_cpp = pytest.importorskip("llama_cpp", reason="llama-cpp-python is not installed: make local-test installs it")

TEXTS = [
    PROMPT, "", " ", "  two  spaces\n\n\tand\r\n tabs ", "SELECT name FROM t WHERE x >= 1234567 AND y = 'it''s';",
    "don't we'll I'm they've   e\u0301 naïve Ω≈ç 東京 🦊👩‍👩‍👧 \u200b\ufeff", "<|user|>\nHi<|assistant|>\n",
    '{"a": [1, 2.5e-3, true, null], "b\\u00e9": "\\n"}',
]  # fmt: skip


@pytest.fixture(scope="module")
def reference() -> Any:
    return constrain.reference.load()


@pytest.fixture(scope="module")
def gguf(repository: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("gguf") / "reference.gguf"
    runpy.run_path(str(repository / "scripts" / "write_gguf.py"))["write_reference"](path)
    return path


def load(path: Path, n_ctx: int = 512, **options: Any) -> Any:
    """The model. Its keys and values are of 32 bits, as those of transformers, and not of 16."""
    exact = {"type_k": llama_cpp.GGML_TYPE_F32, "type_v": llama_cpp.GGML_TYPE_F32}
    return llama_cpp.Llama(str(path), n_ctx=n_ctx, verbose=False, **exact, **options)


@pytest.fixture(scope="module")
def llama(gguf: Path) -> Any:
    return load(gguf)


# --- as a model of generate -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", TEXTS)
def test_tokens_are_those_of_transformers(text: str, llama: Any, reference: Any) -> None:
    from constrain.engines.llama import LlamaTokenizer

    assert LlamaTokenizer(llama)(text)["input_ids"] == reference.tokenizer(text)["input_ids"]


def test_bytes_of_tokens_are_those_of_transformers(llama: Any, reference: Any) -> None:
    from constrain.engines.llama import vocabulary_of

    expected, read = constrain.Vocabulary.from_huggingface(reference.tokenizer), vocabulary_of(llama)
    assert read.tokens == expected.tokens
    assert (read.eos_ids, read.names) == (expected.eos_ids, expected.names)
    assert vocabulary_of(llama) is read


def test_bytes_of_sentencepiece_tokens(tmp_path: Path) -> None:
    """Byte tokens, spaces that are written as ▁, control tokens: as the SentencePiece model has them."""
    from constrain.engines.llama import vocabulary_of

    sentencepiece = pytest.importorskip("sentencepiece", reason="sentencepiece is not installed")
    model = vocabularies.mistral_data("tokenizer.model.v1")
    pieces = sentencepiece.SentencePieceProcessor(model_file=str(model))
    write_sentencepiece(pieces, tmp_path / "vocabulary.gguf")
    read = vocabulary_of(llama_cpp.Llama(str(tmp_path / "vocabulary.gguf"), vocab_only=True, verbose=False))
    expected = constrain.Vocabulary.from_sentencepiece(pieces)
    assert read.size == expected.size == 32_000
    assert read.tokens == expected.tokens
    assert read.eos_ids == expected.eos_ids
    assert read.tokens[pieces.piece_to_id("<0x0A>")] == b"\n"


def write_sentencepiece(pieces: Any, path: Path) -> None:
    """A GGUF file with a vocabulary, and without a model."""
    import gguf

    def kind(token: int) -> gguf.TokenType:
        if pieces.is_unknown(token):
            return gguf.TokenType.UNKNOWN
        if pieces.is_control(token):
            return gguf.TokenType.CONTROL
        return gguf.TokenType.BYTE if pieces.is_byte(token) else gguf.TokenType.NORMAL

    ids = range(pieces.vocab_size())
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_context_length(64)
    writer.add_embedding_length(64)
    writer.add_block_count(1)
    writer.add_feed_forward_length(64)
    writer.add_head_count(1)
    writer.add_layer_norm_rms_eps(1e-6)
    writer.add_rope_dimension_count(64)
    writer.add_vocab_size(len(ids))
    writer.add_tokenizer_model("llama")
    writer.add_token_list([pieces.id_to_piece(token) for token in ids])
    writer.add_token_scores([pieces.get_score(token) for token in ids])
    writer.add_token_types([kind(token) for token in ids])
    writer.add_bos_token_id(pieces.bos_id())
    writer.add_eos_token_id(pieces.eos_id())
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


@pytest.mark.parametrize("setting", SETTINGS)
def test_texts_are_those_of_transformers(setting: str, llama: Any, reference: Any) -> None:
    arguments = {"prompt": PROMPT, "schema": SCHEMA, **SETTINGS[setting]}
    assert texts(constrain.generate(llama, **arguments)) == texts(constrain.generate(reference, **arguments))


def test_a_chat(llama: Any, reference: Any) -> None:
    arguments = {"prompt": [{"role": "user", "content": "A person"}], "schema": SCHEMA, "temperature": 0}
    assert texts(constrain.generate(llama, **arguments)) == texts(constrain.generate(reference, **arguments))


def test_a_chat_with_tools_reads_as_under_transformers(llama: Any, reference: Any) -> None:
    from constrain.engines.llama import LlamaTokenizer

    template = (
        "{% if tools %}{{ tools | tojson }}{% endif %}{% for m in messages %}<|user|>{{ m['content'] }}{% endfor %}"
    )
    tokenizer = LlamaTokenizer(llama)
    tokenizer.chat_template = template
    how: dict[str, Any] = {"tokenize": False, "add_generation_prompt": True}
    for tools in (None, [{"type": "function", "function": {"name": "add", "parameters": {"type": "object"}}}]):
        for messages in ([{"role": "user", "content": "Hi"}], [{"role": "user", "content": "é <|eos|>"}]):
            expected = reference.tokenizer.apply_chat_template(messages, tools=tools, chat_template=template, **how)
            assert tokenizer.apply_chat_template(messages, tools=tools, **how) == expected


@pytest.mark.parametrize("options", [{}, {"logits_all": True}, {"n_batch": 4}], ids=["", "all logits", "small batches"])
def test_logits_are_those_of_transformers(options: dict[str, Any], gguf: Path, reference: Any) -> None:
    from constrain.engines.llama import LlamaModel

    check_logits(LlamaModel(load(gguf, **options)), reference)


def test_a_text_ends_where_the_context_ends(gguf: Path) -> None:
    """Also where llama.cpp rounds the number of positions up, which llama-cpp-python has no room for."""
    small = load(gguf, n_ctx=100)
    output = constrain.generate(small, "A number: ", regex="[0-9]{300}", max_tokens=200, seed=1)
    assert output.finish_reason == "length"
    assert len(output.tokens) + len(small.tokenize(b"A number: ", add_bos=False)) == 100
    with pytest.raises(ConstrainError, match="no room for an output"):
        constrain.generate(small, "word " * 80, regex="[0-9]{3}")


def test_drafts_are_refused(llama: Any) -> None:
    with pytest.raises(ConstrainError, match="drafts need a model of transformers"):
        constrain.generate(llama, PROMPT, schema=SCHEMA, draft="auto")


# --- in its own loop --------------------------------------------------------------------------------------------------


def processor(llama: Any, constraint: Any) -> Any:
    from constrain.engines.llama import LlamaProcessor, vocabulary_of

    return LlamaProcessor(llama, constrain.compile(constraint, vocabulary_of(llama)))


def arguments_of(it: Any) -> dict[str, Any]:
    return {
        "logits_processor": llama_cpp.LogitsProcessorList([it]),
        "stopping_criteria": llama_cpp.StoppingCriteriaList([it.stop]),
        "max_tokens": 100,
    }


def test_the_loop_of_llama_cpp(llama: Any, reference: Any) -> None:
    it = processor(llama, constrain.json_schema(SCHEMA))
    expected = constrain.generate(reference, PROMPT, schema=SCHEMA, temperature=0).text
    for _ in range(2):
        [choice] = llama(PROMPT, temperature=0, **arguments_of(it))["choices"]
        assert (choice["text"], choice["finish_reason"]) == (expected, "stop")
    hard = {"temperature": 3.0, "top_k": 0, "top_p": 1.0, "min_p": 0.0}
    for seed in range(4):  # sampled, from a model that is pushed hard
        [choice] = llama(PROMPT, **hard, seed=seed, **arguments_of(it))["choices"]
        assert choice["finish_reason"] == "stop"
        jsonschema.validate(constrain.json_schema(SCHEMA).parse(choice["text"]), SCHEMA)


def test_a_chat_in_its_loop(llama: Any) -> None:
    it = processor(llama, constrain.choices(["yes", "no"]))
    answer = llama.create_chat_completion(
        [{"role": "user", "content": "Well?"}], logits_processor=llama_cpp.LogitsProcessorList([it])
    )
    assert answer["choices"][0]["message"]["content"] in ("yes", "no")
    assert it.fault is None


def test_a_stream(llama: Any) -> None:
    it = processor(llama, constrain.regex("[0-9]{3}-[a-z]{2}"))
    pieces = [piece["choices"][0]["text"] for piece in llama(PROMPT, stream=True, **arguments_of(it))]
    assert constrain.regex("[0-9]{3}-[a-z]{2}").residual_fault("".join(pieces)) is None
    assert len("".join(pieces)) == 6


class Unmask:
    """A later processor that brings masked tokens back."""

    def __call__(self, input_ids: Any, scores: Any) -> Any:
        return np.zeros_like(scores) - np.arange(len(scores)) % 7


def test_a_fault_ends_the_text_and_is_raised(llama: Any) -> None:
    it = processor(llama, constrain.regex("[0-9]{30}"))
    arguments = arguments_of(it)
    arguments["logits_processor"] = llama_cpp.LogitsProcessorList([it, Unmask()])
    with pytest.raises(ConstrainError, match="which the constraint does not allow"):
        llama(PROMPT, temperature=0, **arguments)
    assert it.fault is not None
    del arguments["stopping_criteria"]
    llama(PROMPT, temperature=0, **{**arguments, "max_tokens": 3})
    assert it.fault is not None
    [choice] = llama(PROMPT, **arguments_of(it))["choices"]
    assert it.fault is None and choice["text"].isdigit() and len(choice["text"]) == 30


def test_a_draft_model_is_refused(gguf: Path) -> None:
    from llama_cpp.llama_speculative import LlamaPromptLookupDecoding

    with pytest.raises(ConstrainError, match="does not tell a logits processor which tokens are drafts"):
        processor(load(gguf, draft_model=LlamaPromptLookupDecoding()), constrain.regex("a"))
