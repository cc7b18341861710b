"""vLLM itself with the backend "constrain": one engine in this process's care, a tiny random Llama.

`make serve-test` runs these tests in an environment of their own. Outputs are checked by other libraries: jsonschema,
re, lark. The engine has room for few tokens, so that it preempts requests and takes them up again.
"""

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from engine_model import END_OF_THOUGHT, write_model

pytest.importorskip("vllm", reason="vLLM is not installed: `make serve-test` runs these tests")
os.environ.setdefault("VLLM_CPU_KVCACHE_SPACE", "1")
os.environ.setdefault("HF_HUB_OFFLINE", "1")

import jsonschema
import lark
from tokenizers import Tokenizer
from tokenizers.models import WordPiece
from vllm import LLM, SamplingParams
from vllm.exceptions import VLLMValidationError
from vllm.sampling_params import StructuredOutputsParams
from vllm.v1.engine.input_processor import InputProcessor
from vllm.v1.structured_output import StructuredOutputManager

import constrain
from constrain.engines.requests.interfaces import Interface
from constrain.engines.vllm import register
from constrain.engines.vllm.versions import INTERFACE

SCHEMAS = [
    {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"enum": ["x", "y"]}}, "required": ["a", "b"],
     "additionalProperties": False},
    {"type": "array", "items": {"enum": [1, 22, 333]}, "minItems": 1, "maxItems": 4, "uniqueItems": True},
    {"anyOf": [{"type": "null"}, {"type": "string", "pattern": "^[a-c]{1,3}$"}, {"type": "integer", "multipleOf": 7}]},
    {"type": "object", "properties": {"when": {"type": "string", "format": "date"}}, "required": ["when"],
     "maxProperties": 1},
]  # fmt: skip
SUMS = 'start: term ("+" term)*\nterm: NUMBER | "(" start ")"\nNUMBER: /[0-9]+/'


@pytest.fixture(scope="module")
def llm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LLM]:
    engine = LLM(
        str(write_model(tmp_path_factory.mktemp("model"))), load_format="dummy", enforce_eager=True, max_model_len=256,
        dtype="float32", additional_config={"constrain": {}}, block_size=32, num_gpu_blocks_override=24,
        enable_prefix_caching=True, disable_log_stats=False, max_num_seqs=32,
    )  # fmt: skip
    yield engine
    engine.llm_engine.engine_core.shutdown()


def ask(**constraint: Any) -> StructuredOutputsParams:
    return StructuredOutputsParams(**constraint)


def generate(llm: LLM, constraint: StructuredOutputsParams | None, **sampling: Any) -> list[Any]:
    """The outputs of one request."""
    params = SamplingParams(**{"max_tokens": 160, **sampling}, structured_outputs=constraint)
    return llm.generate(["A thing: "], params, use_tqdm=False)[0].outputs


def is_prefix(text: str, constraint: Any) -> bool:
    matcher = constrain.compile(constraint, constrain.Vocabulary.of_bytes()).matcher()
    return matcher.advance_bytes(text.encode())


KINDS: list[tuple[dict[str, Any], Any]] = [
    *(({"json": schema}, lambda text, s=schema: jsonschema.validate(json.loads(text), s)) for schema in SCHEMAS),
    ({"json": json.dumps(SCHEMAS[0])}, lambda text: jsonschema.validate(json.loads(text), SCHEMAS[0])),
    ({"regex": "[0-9]{3}-[a-z]{2}"}, lambda text: re.fullmatch("[0-9]{3}-[a-z]{2}", text).group()),  # type: ignore[union-attr]
    ({"choice": ["red", "green", "blue"]}, ["red", "green", "blue"].index),
    ({"grammar": 'start: "<" WORD ">"\nWORD: /[a-z]{1,5}/'}, re.compile("<[a-z]{1,5}>").fullmatch),
    ({"grammar": 'root ::= "x" [0-9]{2} | "y"'}, lambda text: re.fullmatch("x[0-9]{2}|y", text).group()),  # type: ignore[union-attr]
]


@pytest.mark.parametrize("kind", range(len(KINDS)))
def test_outputs_are_members(llm: LLM, kind: int) -> None:
    constraint, check = KINDS[kind]
    outputs = generate(llm, ask(**constraint), n=6, seed=kind, logprobs=2)
    for output in outputs:
        assert output.finish_reason == "stop"
        assert check(output.text) is not False
        assert all(step[token].logprob > -1e9 for token, step in zip(output.token_ids, output.logprobs, strict=True))


def test_a_text_that_was_cut_is_a_prefix(llm: LLM) -> None:
    constraint = constrain.json_schema({"type": "object"})
    outputs = generate(llm, ask(json_object=True), n=8, seed=5, max_tokens=12)
    assert any(output.finish_reason == "length" for output in outputs)
    assert all(is_prefix(output.text, constraint) for output in outputs)


def test_a_recursive_grammar(llm: LLM) -> None:
    parser = lark.Lark(SUMS)
    outputs = generate(llm, ask(grammar=SUMS), n=8, seed=2, logit_bias={END_OF_THOUGHT: -5.0})
    complete = [output.text for output in outputs if output.finish_reason == "stop"]
    assert complete
    for text in complete:
        parser.parse(text)
    assert all(is_prefix(output.text, constrain.grammar(SUMS)) for output in outputs)


def test_stop_ids_end_a_text_where_it_is_complete(llm: LLM) -> None:
    """Ids of special tokens, and of a text token: masked until then, by vLLM's contract."""
    dash = llm.get_tokenizer().encode("-")[0]
    for stops in ([5], [dash], [5, dash]):
        for output in generate(llm, ask(regex="[ab]{5}"), n=8, seed=4, stop_token_ids=stops):
            assert output.finish_reason == "stop"
            assert re.fullmatch("[ab]{5}-?", output.text), output.text


def test_ignore_eos_goes_on_after_the_end(llm: LLM) -> None:
    [output] = generate(llm, ask(choice=["yes"]), ignore_eos=True, max_tokens=12, seed=1)
    assert output.finish_reason == "length" and len(output.token_ids) == 12
    assert output.text.startswith("yes")


def test_min_tokens_keep_a_text_open(llm: LLM) -> None:
    for output in generate(llm, ask(regex="[0-9]{1,40}"), n=4, seed=3, min_tokens=8):
        assert len(output.token_ids) >= 8 and re.fullmatch("[0-9]{1,40}", output.text)


def test_greedy(llm: LLM) -> None:
    one, two = (generate(llm, ask(json=SCHEMAS[0]), temperature=0.0)[0].text for _ in range(2))
    assert one == two
    jsonschema.validate(json.loads(one), SCHEMAS[0])


def test_stop_strings(llm: LLM) -> None:
    for output in generate(llm, ask(json=SCHEMAS[0]), n=4, seed=9, stop=[","], include_stop_str_in_output=True):
        assert output.text.endswith(",") and output.stop_reason == ","


def test_other_requests_are_as_they_were(llm: LLM) -> None:
    outputs = generate(llm, None, n=2, seed=1, max_tokens=20)
    assert all(len(output.token_ids) <= 20 for output in outputs)
    mixed = llm.generate(
        ["a", "b"],
        [SamplingParams(max_tokens=9), SamplingParams(structured_outputs=ask(choice=["no"]))],
        use_tqdm=False,
    )
    assert mixed[1].outputs[0].text == "no"


def preemptions(llm: LLM) -> int:
    return sum(metric.value for metric in llm.get_metrics() if metric.name == "vllm:num_preemptions")


def test_preempted_requests_go_on_where_they_were(llm: LLM) -> None:
    """32 requests of different schemas in room for eight."""
    before = preemptions(llm)
    schemas = [
        {
            "type": "array",
            "items": {"type": "object", "properties": {f"key {i}": {"type": "integer"}}, "required": [f"key {i}"],
                      "additionalProperties": False},
            "minItems": 5, "maxItems": 6,
        }
        for i in range(32)
    ]  # fmt: skip
    params = [
        SamplingParams(max_tokens=220, seed=i, structured_outputs=ask(json=schema)) for i, schema in enumerate(schemas)
    ]
    results = llm.generate(["Things: "] * len(schemas), params, use_tqdm=False)
    finished = 0
    for schema, result in zip(schemas, results, strict=True):
        [output] = result.outputs
        if output.finish_reason == "stop":
            jsonschema.validate(json.loads(output.text), schema)
            finished += 1
        else:
            assert output.finish_reason == "length" and is_prefix(output.text, constrain.json_schema(schema))
    assert finished > 20
    assert preemptions(llm) > before


def tag_from(token: str | int) -> str:
    """A structural tag that begins with a token."""
    tag = {"type": "tag", "begin": {"type": "token", "token": token}, "content": {"type": "regex", "pattern": "a"}}
    return json.dumps({"format": {**tag, "end": "b"}})


def test_a_tag_that_begins_with_a_token(llm: LLM) -> None:
    """The mask offers the token that the vocabulary has, and the text after it."""
    [output] = generate(llm, ask(structural_tag=tag_from("<|user|>")), skip_special_tokens=False)
    assert output.text == "<|user|>ab" and output.token_ids[0] == 3


BAD: list[tuple[dict[str, Any], str]] = [
    ({"json": {"type": "text"}}, "SchemaError: type 'text' does not exist\n  at $"),
    ({"json": '{"type": }'}, "ConstrainError: the schema is not JSON: Expecting value\n  at line 1, column 10"),
    ({"json": {"type": "string", "minLength": 5, "maxLength": 2}}, "UnsatisfiableError: minLength (5) is greater"),
    ({"regex": "a(b"}, "RegexError: missing ), unterminated subpattern\n  at line 1, column 2"),
    ({"regex": r"(a)\1"}, "RegexError: a backreference is not regular"),
    ({"choice": []}, "UnsatisfiableError: choices needs at least one option"),
    ({"grammar": "start: a"}, "GrammarError: a is used but not defined\n  at line 1, column 8"),
    ({"structural_tag": "{"}, "ConstrainError: the structural tag is not JSON"),
    ({"structural_tag": '{"format": {"type": "any_text", "max_tokens": 1}}'}, "at structural_tag.format.max_tokens"),
    (
        {"structural_tag": tag_from("<|tool|>")},
        "VocabularyError: the vocabulary has no token '<|tool|>'\n  at <|tool|>",
    ),
    ({"structural_tag": tag_from(99_999)}, "VocabularyError: the token id 99999 is outside the vocabulary"),
    ({"structural_tag": tag_from("<|eos|>")}, "VocabularyError: the token '<|eos|>' ends the text in this vocabulary"),
    ({"grammar": 'start: <|tool|> "a"'}, "VocabularyError: the vocabulary has no token '<|tool|>'"),
    ({"json_object": False}, "ConstrainError: json_object is true or left out"),
    ({"json": {}, "disable_any_whitespace": True}, "ConstrainError: disable_any_whitespace is not supported"),
    ({"json": {}, "regex": "a"}, "You can only use one kind"),
]


@pytest.mark.parametrize("constraint, message", BAD, ids=[str(i) for i in range(len(BAD))])
def test_a_faulty_request_is_refused_with_its_place(llm: LLM, constraint: dict[str, Any], message: str) -> None:
    with pytest.raises(VLLMValidationError) as caught:
        generate(llm, ask(**constraint))
    assert message in str(caught.value)
    assert generate(llm, ask(choice=["alive"]))[0].text == "alive"


def test_registering_again_changes_nothing() -> None:
    register()
    before = (InputProcessor.__init__, InputProcessor._validate_params, StructuredOutputManager.__init__)
    register()
    assert (InputProcessor.__init__, InputProcessor._validate_params, StructuredOutputManager.__init__) == before


def test_this_version_has_what_is_relied_upon() -> None:
    import vllm

    assert INTERFACE.differences() == []
    assert INTERFACE.check(vllm.__version__, []) is None


def test_names_that_are_gone_are_found() -> None:
    manager = "vllm.v1.structured_output:StructuredOutputManager"
    signatures = {f"{manager}.gone": ("self",), f"{manager}.__init__": ("self", "x")}
    found = Interface("vLLM", (), signatures, {}).differences()
    assert len(found) == 2
    assert "StructuredOutputManager.gone takes nothing: it is gone, not (self)" in found[0].text


ASKED = {"additional_config": {"constrain": {}}}


@pytest.mark.parametrize(
    "settings, message",
    [
        ({"additional_config": {"constrain": {"second": 1}}}, "there is no option 'second'"),
        ({"additional_config": {"constrain": {"spelling": "loud"}}}, "spelling='loud' is not an option"),
        (
            {**ASKED, "structured_outputs_config": {"backend": "xgrammar"}},
            "asks for the backend constrain, and structured_outputs_config for 'xgrammar'",
        ),
    ],
)
def test_an_engine_that_cannot_serve_does_not_start(tmp_path: Path, settings: dict[str, Any], message: str) -> None:
    with pytest.raises(constrain.ConstrainError, match=message):
        LLM(str(write_model(tmp_path)), load_format="dummy", enforce_eager=True, max_model_len=64, **settings)


def test_a_tokenizer_whose_tokens_have_no_bytes_is_refused_at_the_start(tmp_path: Path) -> None:
    folder = write_model(tmp_path, vocab_size=64)
    words = ["[UNK]", "<|eos|>", "<|pad|>", "<|system|>", "<|user|>", "<|assistant|>", "ab", "##c"]
    tokenizer = Tokenizer(WordPiece({word: i for i, word in enumerate(words)}, unk_token="[UNK]"))
    tokenizer.save(str(folder / "tokenizer.json"))
    with pytest.raises(constrain.VocabularyError, match="a WordPiece token has no bytes of its own"):
        LLM(str(folder), load_format="dummy", enforce_eager=True, max_model_len=64, **ASKED)


def test_a_version_that_does_not_fit_is_refused_at_the_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gone = "vllm.v1.structured_output:StructuredOutputManager.gone"
    monkeypatch.setitem(INTERFACE.signatures, gone, ("self",))
    with pytest.raises(constrain.ConstrainError, match=r"does not fit vLLM .*: 1 names differ"):
        LLM(str(write_model(tmp_path)), load_format="dummy", enforce_eager=True, max_model_len=64, **ASKED)


def test_texts_end_within_max_tokens(tmp_path: Path) -> None:
    """An engine with `complete`: each answer ends and is valid; a limit that no text can keep is an error."""
    register()
    engine = LLM(
        str(write_model(tmp_path)), load_format="dummy", enforce_eager=True, max_model_len=256, dtype="float32",
        additional_config={"constrain": {"complete": True}}, block_size=32, num_gpu_blocks_override=24, max_num_seqs=32,
    )  # fmt: skip
    try:
        lengths = set()
        for schema in ({"type": "object"}, *SCHEMAS):
            for most in (24, 40):
                for output in generate(engine, ask(json=schema), n=6, seed=most, max_tokens=most):
                    assert output.finish_reason == "stop"
                    jsonschema.validate(json.loads(output.text), schema)
                    lengths.add(len(output.token_ids))
        assert max(lengths) >= 23
        (output,) = generate(engine, ask(json=SCHEMAS[0]), max_tokens=3)
        assert output.finish_reason == "error"
    finally:
        engine.llm_engine.engine_core.shutdown()
