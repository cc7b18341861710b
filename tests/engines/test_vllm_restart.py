"""vLLM started again: the next engine serves from the images of the one before, and from no others.

The engine runs in this process, so that it can be asked what it has compiled. `make serve-test` runs these tests.
"""

import json
import logging
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from engine_model import write_model

pytest.importorskip("vllm", reason="vLLM is not installed: `make serve-test` runs these tests")
os.environ.setdefault("VLLM_CPU_KVCACHE_SPACE", "1")
os.environ.setdefault("HF_HUB_OFFLINE", "1")

from vllm import LLM, SamplingParams
from vllm.entrypoints.openai.chat_completion.protocol import ChatCompletionToolsParam
from vllm.sampling_params import StructuredOutputsParams
from vllm.tool_parsers.structural_tag_registry import get_model_structural_tag
from vllm.tool_parsers.utils import get_json_schema_from_tools

from constrain.cli import warmup
from constrain.engines.requests import compiler as compilers
from constrain.engines.requests import constraints
from constrain.engines.requests.image import ImageCursor
from constrain.engines.requests.images import Resumed
from constrain.engines.vllm.backend import VLLMBackend
from constrain.languages.vocab import disk_cache

SCHEMA = {
    "type": "object",
    "properties": {"a": {"type": "integer", "minimum": 0, "maximum": 99}, "when": {"type": "string", "format": "date"}},
    "required": ["a", "when"],
}
TOOLS = [
    {"type": "function", "function": {"name": f"tool_{number}", "strict": True, "parameters": {
        "type": "object", "properties": {"of": {"enum": [f"sky {number}", "sea"]}, "on": {"type": "boolean"}},
        "required": ["of", "on"]}}}
    for number in range(100)
]  # fmt: skip
ASKED = [ChatCompletionToolsParam.model_validate(tool) for tool in TOOLS]


def required_call() -> str:
    """The tag that vLLM makes of `tool_choice="required"` for a model that writes calls as Hermes."""
    tag = get_model_structural_tag("hermes", ASKED, "required", reasoning=False)
    assert tag is not None
    tag.format.stop_after_first = True  # type: ignore[union-attr]  # a random model would call for ever
    return json.dumps(tag.model_dump())


REQUESTS: list[dict[str, Any]] = [
    {"structural_tag": required_call()}, {"json": SCHEMA}, {"regex": "(sky|sea)-[0-9]{3}"}, {"choice": ["red", "blue"]},
]  # fmt: skip
Start = Callable[..., LLM]


@pytest.fixture
def start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Start]:
    """A function that starts an engine, and ends the one before it."""
    monkeypatch.setenv("VLLM_ENABLE_V1_MULTIPROCESSING", "0")
    monkeypatch.setenv("CONSTRAIN_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(disk_cache, "WORTHWHILE", 0)  # the vocabulary is small
    folder = write_model(tmp_path / "model")
    running: list[LLM] = []

    def end() -> None:
        for llm in running:
            backend_of(llm)._beside.shutdown()  # what it writes is written
            llm.llm_engine.engine_core.shutdown()
        running.clear()

    def run(model: Path = folder, **options: Any) -> LLM:
        end()
        running.append(
            LLM(
                str(model), load_format="dummy", dtype="float32", enforce_eager=True, max_model_len=256, block_size=32,
                num_gpu_blocks_override=24, seed=0, additional_config={"constrain": options},
            )
        )  # fmt: skip
        return running[-1]

    yield run
    end()


def backend_of(llm: LLM) -> VLLMBackend:
    backend = llm.llm_engine.engine_core.engine_core.scheduler.structured_output_manager.backend
    assert isinstance(backend, VLLMBackend)
    return backend


def write(llm: LLM) -> list[str]:
    params = [
        SamplingParams(max_tokens=120, temperature=0.0, structured_outputs=StructuredOutputsParams(**each))
        for each in REQUESTS
    ]
    outputs = [result.outputs[0] for result in llm.generate(["A thing: "] * len(params), params, use_tqdm=False)]
    assert all(output.finish_reason == "stop" for output in outputs), [output.text for output in outputs]
    return [output.text for output in outputs]


def resumed(llm: LLM) -> list[bool]:
    """Of the constraints that an engine has served, in their order, whether each came from an image."""
    return [isinstance(each, Resumed) for each in backend_of(llm).compiled.results.values()]


def images_in(tmp_path: Path) -> list[Path]:
    return sorted((tmp_path / "cache").glob("states-*.bin"))


def test_an_engine_serves_from_what_the_one_before_has_kept(
    start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = write(start(images=0))
    first = start(keep_served=True)
    assert write(first) == write(first) == expected and not any(resumed(first))
    second = start(keep_served=True)  # the first one has ended, and its images are written
    assert len(images_in(tmp_path)) == len(REQUESTS)
    followed, read = [], []
    make, original = VLLMBackend.compile_grammar, constraints.constraint_of

    def followed_by(*arguments: Any, **named: Any) -> Any:
        followed.append(make(*arguments, **named))
        return followed[-1]

    monkeypatch.setattr(VLLMBackend, "compile_grammar", followed_by)

    def reading(*given: Any) -> Any:
        read.append(given)
        return original(*given)

    monkeypatch.setattr(constraints, "constraint_of", reading)
    assert write(second) == expected
    assert resumed(second) == [True] * len(REQUESTS) and not read  # nor has the front end read one
    assert all(isinstance(each.here, ImageCursor) for each in followed) and len(followed) == len(REQUESTS)


@pytest.mark.parametrize("kind", ["damaged", "of another tokenizer", "of other options"])
def test_an_image_that_does_not_fit_is_not_used(
    kind: str, start: Start, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    first = start(keep_served=True)
    expected = write(first)
    assert write(first) == expected
    start(images=0)  # ends the first one
    assert len(images_in(tmp_path)) == len(REQUESTS)
    caplog.set_level(logging.INFO, "constrain")
    if kind == "damaged":
        for path in images_in(tmp_path):
            data = bytearray(path.read_bytes())
            data[-1] ^= 1
            path.write_bytes(data)
        other = start()
    elif kind == "of another tokenizer":
        folder = write_model(tmp_path / "another model")
        tokenizer = json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))
        tokenizer["added_tokens"][-1]["normalized"] = True
        (folder / "tokenizer.json").write_text(json.dumps(tokenizer), encoding="utf-8")
        other = start(folder)
    else:
        other = start(whitespace="compact")
    texts = write(other)
    assert not any(resumed(other))
    assert texts == expected or kind == "of other options"
    assert ("ignored the cache file" in caplog.text) == (kind == "damaged")


def test_warming_up_writes_what_the_first_engine_finds(
    start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A schema is looked for as vLLM writes it, and tools as vLLM asks for a call where the tool parser has no
    structural tag of its own."""
    tools = get_json_schema_from_tools("required", ASKED)
    assert tools == warmup.called(TOOLS)
    folder = write_model(tmp_path / "warm")
    warmup.keep(str(folder), [json.dumps(SCHEMA), json.dumps(tools)], {})
    assert len(images_in(tmp_path)) == 2
    monkeypatch.setattr(compilers, "constraint_of", compilers.constraint_of.__wrapped__)
    llm = start(folder)
    assert backend_of(llm).images.load() == 2
    for asked in (SCHEMA, tools):
        params = SamplingParams(max_tokens=3, structured_outputs=StructuredOutputsParams(json=asked))
        llm.generate(["A thing: "], params, use_tqdm=False)
    assert resumed(llm) == [True, True]
