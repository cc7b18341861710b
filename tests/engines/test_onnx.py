"""onnxruntime-genai itself, where it is installed: the reference model has the texts that it has under transformers.

`make local-test` runs it. The model is written by the library's own model builder.
"""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from local_models import PROMPT, SCHEMA, SETTINGS, check_logits, texts

import constrain
from constrain import ConstrainError

og = pytest.importorskip("onnxruntime_genai", reason="onnxruntime-genai is not installed: make local-test installs it")


@pytest.fixture(scope="module")
def reference() -> Any:
    return constrain.reference.load()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    written = tmp_path_factory.mktemp("onnx")
    options = ["-i", str(constrain.reference.path()), "-o", str(written), "-p", "fp32", "-e", "cpu"]
    command = [sys.executable, "-m", "onnxruntime_genai.models.builder", *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return written


@pytest.fixture(scope="module")
def onnx_model(folder: Path, reference: Any) -> dict[str, Any]:
    return {"model": og.Model(str(folder)), "tokenizer": reference.tokenizer}


@pytest.mark.parametrize("setting", SETTINGS)
def test_texts_are_those_of_transformers(setting: str, onnx_model: dict[str, Any], reference: Any) -> None:
    arguments = {"prompt": PROMPT, "schema": SCHEMA, **SETTINGS[setting]}
    ours = constrain.generate(**onnx_model, **arguments)
    assert texts(ours) == texts(constrain.generate(reference, **arguments))


def test_logits_are_those_of_transformers(onnx_model: dict[str, Any], reference: Any) -> None:
    from constrain.engines.onnx import ONNXModel

    check_logits(ONNXModel(**onnx_model), reference)


def test_drafts_and_missing_tokenizers_are_refused(onnx_model: dict[str, Any]) -> None:
    with pytest.raises(ConstrainError, match="drafts need a model of transformers"):
        constrain.generate(**onnx_model, prompt=PROMPT, schema=SCHEMA, draft="auto")
    with pytest.raises(ConstrainError, match="comes without the bytes of its tokens"):
        constrain.generate(onnx_model["model"], PROMPT, schema=SCHEMA)


def own_loop(model: Any, ids: list[int], mask: Any, **options: Any) -> list[int]:
    params = og.GeneratorParams(model)
    params.set_search_options(max_length=200, **options)
    generator = og.Generator(model, params)
    generator.append_tokens(ids)
    while not generator.is_done():
        mask(generator)
        generator.generate_next_token()
    return [int(token) for token in generator.get_sequence(0)[len(ids) :]]


def test_the_loop_of_onnxruntime(onnx_model: dict[str, Any], reference: Any) -> None:
    from constrain.engines.onnx import ONNXMask, ONNXModel

    compiled = constrain.compile(constrain.json_schema(SCHEMA), ONNXModel(**onnx_model).vocabulary)
    mask, ids = ONNXMask(compiled), reference.tokenizer(PROMPT)["input_ids"]
    greedy = constrain.generate(reference, PROMPT, schema=SCHEMA, temperature=0)
    for _ in range(2):
        written = own_loop(onnx_model["model"], ids, mask)
        assert reference.tokenizer.decode(written, skip_special_tokens=True) == greedy.text
    for seed in range(3):  # sampled, from a model that is pushed hard
        options = {"do_sample": True, "top_k": 50, "temperature": 3.0, "random_seed": seed}
        matcher = compiled.matcher(prefix=own_loop(onnx_model["model"], ids, mask, **options))
        assert matcher.is_accepting()  # the loop does not keep the id that ends a text


def test_several_sequences_are_refused(onnx_model: dict[str, Any]) -> None:
    from constrain.engines.onnx import ONNXMask, ONNXModel

    mask = ONNXMask(constrain.compile(constrain.regex("a"), ONNXModel(**onnx_model).vocabulary))
    with pytest.raises(ConstrainError, match="has 2 sequences, and this mask is for one"):
        own_loop(onnx_model["model"], [5, 6], mask, batch_size=2)
