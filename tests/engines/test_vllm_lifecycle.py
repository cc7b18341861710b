"""Engines of vLLM in one process: two at once, one that does not ask for the backend, one after another; a tokenizer.

The examples run as they stand. `make serve-test` runs these tests.
"""

import json
import os
import re
import runpy
import string
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from engine_model import write_model

pytest.importorskip("vllm", reason="vLLM is not installed: `make serve-test` runs these tests")
os.environ.setdefault("VLLM_CPU_KVCACHE_SPACE", "1")
os.environ.setdefault("HF_HUB_OFFLINE", "1")

import jsonschema
from tokenizers import Tokenizer, decoders, pre_tokenizers
from tokenizers.models import BPE
from vllm import LLM, SamplingParams
from vllm.exceptions import VLLMValidationError
from vllm.sampling_params import StructuredOutputsParams

from constrain.engines.vllm import register

SCHEMA = {
    "type": "object",
    "properties": {
        "a": {"type": "integer", "minimum": 0, "maximum": 99},
        "b": {"type": "array", "items": {"enum": [1, 2]}, "maxItems": 3},
    },
    "required": ["a", "b"],
    "additionalProperties": False,
}
Start = Callable[..., LLM]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """A function that starts engines; the running ones end with the test."""
    running: list[LLM] = []

    def run(folder: Path | None = None, **settings: Any) -> LLM:
        given = {"additional_config": {"constrain": {}}, **settings}
        running.append(
            LLM(
                str(folder or write_model(tmp_path / f"model {len(running)}")), load_format="dummy", dtype="float32",
                enforce_eager=True, max_model_len=256, block_size=32, num_gpu_blocks_override=24, **given,
            )
        )  # fmt: skip
        return running[-1]

    yield run
    for engine in running:
        engine.llm_engine.engine_core.shutdown()


def texts(llm: LLM, n: int = 4, **constraint: Any) -> list[str]:
    params = SamplingParams(max_tokens=120, n=n, seed=5, structured_outputs=StructuredOutputsParams(**constraint))
    outputs = llm.generate(["A thing: "], params, use_tqdm=False)[0].outputs
    assert all(output.finish_reason == "stop" for output in outputs)
    return [output.text for output in outputs]


def test_two_engines_with_options_of_their_own(start: Start) -> None:
    """Each reads constraints as its own options say, whichever was asked last."""
    register()
    compact = start(additional_config={"constrain": {"whitespace": "compact", "seconds": 5}})
    usual = start()
    for _ in range(2):
        for text in texts(compact, json=SCHEMA):
            assert text == json.dumps(json.loads(text), separators=(",", ":"))
            jsonschema.validate(json.loads(text), SCHEMA)
        written = texts(usual, 8, json=SCHEMA)
        for text in written:
            jsonschema.validate(json.loads(text), SCHEMA)
        assert any(character in string.whitespace for text in written for character in text)


def test_an_engine_beside_that_does_not_ask(start: Start) -> None:
    register()
    ours = start()
    other = start(additional_config={}, structured_outputs_config={"backend": "xgrammar"})
    assert texts(other, choice=["yes", "no"])[0] in ("yes", "no")
    with pytest.raises(VLLMValidationError, match="Invalid grammar specification"):  # vLLM's own words, not ours
        texts(other, grammar='start: "a" | %%')
    assert set(texts(ours, grammar='start: "yes" | "no"')) <= {"yes", "no"}


def test_an_engine_after_another(start: Start) -> None:
    """A process ends its engine and starts it anew: nothing of the first is in the way."""
    first = start()
    before = texts(first, json=SCHEMA)
    first.llm_engine.engine_core.shutdown()
    second = start()
    assert texts(second, json=SCHEMA) == before
    assert texts(second, regex="[0-9]{3}")[0].isdigit()


LETTERS = [*string.ascii_letters, *string.digits, *'{}[]":,._-']


def write_model_without_byte_fallback(folder: Path) -> Path:
    """Tokens are characters, and there is none for bytes that are no character of `LETTERS`."""
    pieces = ["<unk>", "<|eos|>", "<|pad|>", "<|system|>", "<|user|>", "<|assistant|>", "▁", *LETTERS, "▁a", "ab", "ñb"]
    vocabulary = {piece: i for i, piece in enumerate(pieces)}
    tokenizer = Tokenizer(BPE(vocabulary, [("▁", "a"), ("a", "b")], unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="never")
    tokenizer.decoder = decoders.Metaspace(prepend_scheme="never")
    written = write_model(folder, vocab_size=128, eos_token_id=1)  # padded: 128 logits
    tokenizer.save(str(written / "tokenizer.json"))
    return written


def test_a_tokenizer_without_byte_fallback(start: Start, tmp_path: Path) -> None:
    """Texts that its tokens can write are written; others are refused, or end where that shows late."""
    llm = start(write_model_without_byte_fallback(tmp_path / "characters"))
    for text in texts(llm, json=SCHEMA):
        jsonschema.validate(json.loads(text), SCHEMA)
    assert set(texts(llm, choice=["é", "yes"])) == {"yes"}
    with pytest.raises(VLLMValidationError, match=r"can write no text of this constraint: 'né', .* needs 'é'"):
        texts(llm, choice=["né"])
    params = SamplingParams(max_tokens=9, structured_outputs=StructuredOutputsParams(choice=["nña"]))
    [output] = llm.generate(["A thing: "], params, use_tqdm=False)[0].outputs
    assert output.finish_reason == "error", output
    assert texts(llm, choice=["alive"])[0] == "alive"


def lines_of(script: Path) -> list[Any]:
    """The JSON lines that an example prints."""
    assert script.read_text(encoding="utf-8").count("\n") <= 60
    environment = {**os.environ, "VLLM_CPU_KVCACHE_SPACE": "1", "HF_HUB_OFFLINE": "1"}
    done = subprocess.run([sys.executable, str(script)], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


def test_the_example(repository: Path) -> None:
    script = repository / "examples" / "vllm_offline.py"
    person, date, total, refused = lines_of(script)
    jsonschema.validate(json.loads(person["text"]), runpy.run_path(str(script))["PERSON"])
    assert re.fullmatch(r"20\d\d-\d\d-\d\d", date["text"])
    assert re.fullmatch(r"[1-9]\d?(\+[1-9]\d?){1,3}", total["text"])
    assert refused["refused"].startswith("SchemaError: minimum") and "at $.properties.age" in refused["refused"]


def test_the_example_with_weights(repository: Path) -> None:
    """Masked decoding writes orange one time in eight; the model, given that it writes a colour, every second time."""
    lcd, smc = lines_of(repository / "examples" / "vllm_weights.py")
    assert lcd["method"] == "lcd" and smc["method"] == "smc"
    for shares in (lcd["weighted"], lcd["as drawn"], smc["weighted"]):
        assert sum(shares.values()) == pytest.approx(1)
    assert lcd["as drawn"]['orange"}'] < 0.3 < lcd["weighted"]['orange"}']
    assert smc["weighted"]['orange"}'] > 0.3
