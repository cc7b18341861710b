"""vLLM with our drafter, and with its own: greedy texts are those of plain decoding, and drafts obey the backend.

The model is the reference model: its texts mean something, so drafts are taken. `make serve-test` runs these tests, by
the V1 model runner and again, with `VLLM_USE_V2_MODEL_RUNNER=1`, by V2.
"""

import json
import os
from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("vllm", reason="vLLM is not installed: `make serve-test` runs these tests")
os.environ.setdefault("VLLM_CPU_KVCACHE_SPACE", "1")
os.environ.setdefault("HF_HUB_OFFLINE", "1")

import jsonschema
from interpreted import IS_V2
from vllm import LLM, SamplingParams
from vllm.platforms.cpu import CpuPlatform
from vllm.sampling_params import StructuredOutputsParams
from vllm.v1.structured_output import StructuredOutputManager

from constrain import reference

SCHEMAS = [
    {"type": "object", "properties": {"name": {"type": "string", "maxLength": 12}, "age": {"type": "integer"},
     "favourite colour": {"enum": ["red", "green"]}}, "required": ["name", "age", "favourite colour"],
     "additionalProperties": False},
    {"type": "array", "items": {"type": "object", "properties": {"identifier": {"type": "integer", "maximum": 99},
     "description": {"enum": ["short", "long"]}}, "required": ["identifier", "description"],
     "additionalProperties": False}, "minItems": 2, "maxItems": 3},
]  # fmt: skip
DRAFTER = {
    "method": "ngram_gpu" if IS_V2 else "custom_class",
    "model": "constrain.engines.vllm.drafter.ConstraintDrafter",
    "num_speculative_tokens": 6,
}
NGRAMS = {
    "method": "ngram",
    "num_speculative_tokens": 5,
    "prompt_lookup_max": 3,
    "prompt_lookup_min": 1,
}
LIKE = ['{"name": "Ada", "age": 36}', '{"identifier": 7, "description": "short"}', "2026-12-01, 2026-12", "red, green"]
OTHERS: list[dict[str, Any]] = [
    {"json": {"type": "object", "additionalProperties": {"type": "integer", "maximum": 99}, "maxProperties": 3}},
    {"regex": "20[0-9]{2}-[01][0-9](, 20[0-9]{2}-[01][0-9]){2}"},
    {"choice": ["red, green and blue", "red, green and red", "green"]},
]


@pytest.fixture(scope="module", autouse=IS_V2)
def asynchronous() -> Iterator[None]:
    """A platform of CPUs lets no scheduler run ahead of its workers; here it does, as on a GPU."""
    check = CpuPlatform.check_and_update_config

    def and_ahead(_: Any, vllm_config: Any) -> None:
        check(vllm_config)
        vllm_config.scheduler_config.async_scheduling = True

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(CpuPlatform, "check_and_update_config", classmethod(and_ahead))
        yield


def engine(**settings: Any) -> LLM:
    return LLM(
        str(reference.path()), dtype="float32", enforce_eager=True, max_model_len=512, max_num_seqs=8,
        additional_config={"constrain": {}}, disable_log_stats=False, **{"async_scheduling": IS_V2, **settings},
    )  # fmt: skip


def write(llm: LLM, **sampling: Any) -> list[list[Any]]:
    """The outputs for each schema, and for a request without one."""
    asked = [StructuredOutputsParams(json=schema) for schema in SCHEMAS]
    params = [SamplingParams(max_tokens=150, structured_outputs=one, **sampling) for one in [*asked, *asked, None]]
    return [result.outputs for result in llm.generate(["As JSON: "] * len(params), params, use_tqdm=False)]


@pytest.fixture(scope="module")
def plain() -> Iterator[LLM]:
    llm = engine()
    yield llm
    llm.llm_engine.engine_core.shutdown()


@pytest.fixture(scope="module")
def drafting(plain: LLM) -> Iterator[LLM]:
    """A second engine of this process, beside the first."""
    llm = engine(speculative_config=DRAFTER)
    yield llm
    llm.llm_engine.engine_core.shutdown()


def counted(llm: LLM, name: str) -> int:
    return sum(metric.value for metric in llm.get_metrics() if metric.name == f"vllm:spec_decode_num_{name}")


def test_greedy_texts_are_those_of_plain_decoding_in_fewer_steps(drafting: LLM, plain: LLM) -> None:
    expected, texts = ([outputs[0].text for outputs in write(llm, temperature=0.0)] for llm in (plain, drafting))
    assert texts == expected
    drafted, accepted = counted(drafting, "draft_tokens"), counted(drafting, "accepted_tokens")
    assert drafted >= accepted > 50
    for text, schema in zip(texts, SCHEMAS * 2, strict=False):
        jsonschema.validate(json.loads(text), schema)


@pytest.mark.skipif(not IS_V2, reason="the V1 model runner drafts while the scheduler waits")
def test_the_second_runner_has_the_drafter_and_asynchronous_scheduling(drafting: LLM) -> None:
    assert drafting.llm_engine.vllm_config.scheduler_config.async_scheduling
    names = drafting.collective_rpc(lambda worker: type(worker.model_runner.speculator).__name__)
    assert names == ["ConstraintSpeculator"]


@pytest.mark.skipif(IS_V2, reason="of the V1 model runner")
def test_the_first_runner_refuses_the_method_of_the_second() -> None:
    with pytest.raises(Exception, match=r"speculative_config\.method"):
        engine(speculative_config={**DRAFTER, "method": "ngram_gpu"})


def test_sampled_texts_are_members(drafting: LLM) -> None:
    results = write(drafting, temperature=1.0, seed=3, n=3)
    for outputs, schema in zip(results, SCHEMAS * 2, strict=False):
        for output in outputs:
            if output.finish_reason == "stop":
                jsonschema.validate(json.loads(output.text), schema)
    assert sum(output.finish_reason == "stop" for outputs in results[:4] for output in outputs) > 6


@pytest.mark.skipif(IS_V2, reason="was not run by the interpreter: 50 texts take it long")
def test_drafts_of_ngrams_change_no_text(plain: LLM, monkeypatch: pytest.MonkeyPatch) -> None:
    """50 requests of five constraints, eight at a time; vLLM asks the backend which drafts may be verified."""
    asked = [*({"json": schema} for schema in SCHEMAS), *OTHERS]
    prompts = [f"{like}\n{number}. As JSON: " for number in range(3) for like in LIKE][:10]
    drafted = kept = 0
    validate = StructuredOutputManager.validate_tokens

    def counting(self: Any, request: Any, tokens: list[int]) -> list[int]:
        nonlocal drafted, kept
        valid = validate(self, request, tokens)
        drafted, kept = drafted + len(tokens), kept + len(valid)
        return valid

    monkeypatch.setattr(StructuredOutputManager, "validate_tokens", counting)
    monkeypatch.setenv("VLLM_ENABLE_V1_MULTIPROCESSING", "0")
    by_ngrams = engine(speculative_config=NGRAMS)
    try:
        texts = []
        for llm in (plain, by_ngrams):
            params = [
                SamplingParams(max_tokens=80, temperature=0.0, structured_outputs=StructuredOutputsParams(**each))
                for each in asked for _ in prompts
            ]  # fmt: skip
            results = llm.generate(prompts * len(asked), params, use_tqdm=False)
            texts.append([result.outputs[0].text for result in results])
        assert texts[1] == texts[0] and len(texts[0]) == 50
        accepted = counted(by_ngrams, "accepted_tokens")
        assert 50 < accepted <= kept < drafted  # some are refused by the constraint, before the model reads them
    finally:
        by_ngrams.llm_engine.engine_core.shutdown()
