"""`constrain.generate` with vLLM itself: weights against exact values, laws by sampling, and what is refused.

The engine runs the reference model, whose weights transformers has too: the exact values come from there. `make
serve-test` runs these tests, by the V1 model runner and again, with `VLLM_USE_V2_MODEL_RUNNER=1`, by V2.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
import torch

pytest.importorskip("vllm", reason="vLLM is not installed: `make serve-test` runs these tests")
os.environ.setdefault("VLLM_CPU_KVCACHE_SPACE", "1")
os.environ.setdefault("HF_HUB_OFFLINE", "1")

from interpreted import IS_V2
from vllm import LLM
from weighted_laws import distance, estimate, exact_law, noise_band, weighted

import constrain
from constrain import ConstrainError, reference
from constrain.engines.vllm.model import VLLMModel
from constrain.generation.request.arguments import CONSTRAINTS as KINDS
from constrain.generation.request.arguments import the_constraint
from constrain.models.hf import HFModel
from constrain.sampling import AWRS, SIR, SMC, predicate

PROMPT = '{"color": "'
TEXTS = ['red"}', 'green"}', 'blue"}', 'orange"}', 'rex"}']  # 1.3 % of the model's mass; masked decoding is 0.36 away
ROUNDING = 2e-3  # of a sum of log-probabilities in float32, between two libraries
SAMPLES = 128 if IS_V2 else 512  # the interpreter is slow


SETTINGS: dict[str, Any] = {
    "enforce_eager": True, "max_model_len": 256, "dtype": "float32", "max_logprobs": -1, "max_num_seqs": 64,
    "additional_config": {"constrain": {"canonical": False}}, "block_size": 32, "max_num_batched_tokens": 8192,
}  # fmt: skip


@contextmanager
def started(**settings: Any) -> Iterator[LLM]:
    engine = LLM(str(reference.path()), **SETTINGS, **settings)
    yield engine
    engine.llm_engine.engine_core.shutdown()


@pytest.fixture(scope="module")
def llm() -> Iterator[LLM]:
    with started(disable_log_stats=True) as engine:
        yield engine


@pytest.fixture(scope="module")
def drafting() -> Iterator[LLM]:
    """An engine that copies drafts from the text so far."""
    copies = {"method": "ngram", "num_speculative_tokens": 4, "prompt_lookup_max": 3, "prompt_lookup_min": 1}
    with started(speculative_config=copies, disable_log_stats=False) as engine:
        yield engine


@pytest.fixture(scope="module")
def read() -> Any:
    model = reference.load().model

    @torch.inference_mode()
    def forward(texts: list[list[int]]) -> torch.Tensor:
        return model(torch.tensor(texts)).logits

    return forward


def prompt_ids(prompt: str = PROMPT) -> list[int]:
    return list(reference.load().tokenizer(prompt)["input_ids"])


def scores(read: Any, tokens: list[int], temperature: float = 1.0, prompt: str = PROMPT) -> list[float]:
    """log p of each token of an output, by transformers."""
    ids = prompt_ids(prompt)
    rows = (read([[*ids, *tokens]])[0].double() / temperature).log_softmax(-1)
    return [float(rows[len(ids) - 1 + place, token]) for place, token in enumerate(tokens)]


def masses(
    read: Any, constraint: Any, tokens: list[int], temperature: float = 1.0, prompt: str = PROMPT
) -> list[float]:
    """log Z before each token, by transformers and a matcher."""
    vocabulary = HFModel.of(reference.load()).vocabulary
    matcher = constrain.compile(constraint, vocabulary).matcher()
    ids = prompt_ids(prompt)
    rows = (read([[*ids, *tokens]])[0].double() / temperature).log_softmax(-1)
    found = []
    for place, token in enumerate(tokens):
        mask = np.zeros(vocabulary.words, np.uint32)
        matcher.fill_mask(mask)
        allowed = np.flatnonzero(np.unpackbits(mask.view(np.uint8), bitorder="little"))
        found.append(float(rows[len(ids) - 1 + place, allowed.tolist()].logsumexp(0)))
        assert matcher.advance(token)
    return found


CONSTRAINTS: list[dict[str, Any]] = [
    {"choices": TEXTS},
    {"regex": "[a-z]{1,12}"},
    {"schema": {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}},
    {"grammar": 'start: "<" WORD ">"\nWORD: /[a-z]{1,5}/'},
    {"type": list[bool]},
]


@pytest.mark.parametrize("given", CONSTRAINTS, ids=[next(iter(each)) for each in CONSTRAINTS])
@pytest.mark.parametrize("temperature", [1.0, 0.6, 0.0])
def test_numbers_of_masked_decoding(llm: LLM, read: Any, given: dict[str, Any], temperature: float) -> None:
    """log p, log Z and the weight of each token equal the ones under transformers."""
    constraint = the_constraint({name: given.get(name) for name in KINDS})
    outputs = constrain.generate(llm, PROMPT, n=4, seed=3, max_tokens=16, temperature=temperature, **given)
    shape = temperature or 1.0
    for output in outputs:
        expected = scores(read, output.tokens, shape)
        allowed = masses(read, constraint, output.tokens, shape)
        assert [each.log_prob_raw for each in output.trace] == pytest.approx(expected, abs=ROUNDING)
        assert [each.log_z for each in output.trace] == pytest.approx(allowed, abs=ROUNDING)
        assert output.logprob == pytest.approx(sum(expected), abs=ROUNDING)
        assert output.log_weight == pytest.approx(sum(allowed) if temperature else 0.0, abs=ROUNDING)
        assert output.finish_reason in ("stop", "length") and output.stats.method == "lcd"


def test_the_runner_that_runs_records(llm: LLM) -> None:
    assert llm.llm_engine.vllm_config.use_v2_model_runner == IS_V2 and VLLMModel.of(llm).records_all


def test_rescoring_gives_the_same_numbers(llm: LLM) -> None:
    recorded = constrain.generate(llm, PROMPT, regex="[a-z]{1,12}", n=8, seed=5, max_tokens=12)
    rescored = constrain.generate(VLLMModel(llm, rescore=True), PROMPT, regex="[a-z]{1,12}", n=8, seed=5, max_tokens=12)
    assert len({len(output.tokens) for output in recorded}) > 1
    for one, other in zip(recorded, rescored, strict=True):
        assert one.tokens == other.tokens
        assert other.log_weight == pytest.approx(one.log_weight, abs=ROUNDING)
        assert [each.log_z for each in other.trace] == pytest.approx([each.log_z for each in one.trace], abs=ROUNDING)


@pytest.mark.skipif(not IS_V2, reason="the V1 model runner records one token a step")
@pytest.mark.parametrize("temperature", [1.0, 0.6, 0.0])
def test_numbers_of_drafted_tokens(drafting: LLM, read: Any, temperature: float) -> None:
    """The numbers are those of plain masked decoding, whether a draft was taken, refused in its middle, or absent."""
    prompt = '["red", "green", "blue", "red", "green", "blue", "red", '
    constraint, shape = constrain.regex('("(red|green|blue)", ){2,6}'), temperature or 1.0
    before = taken_drafts(drafting)
    given = {"constraint": constraint, "n": 6, "seed": 3, "max_tokens": 24, "temperature": temperature}
    outputs = constrain.generate(drafting, prompt, **given)
    drafted, accepted = (now - then for now, then in zip(taken_drafts(drafting), before, strict=True))
    assert accepted > 0 and (accepted < drafted or not temperature)
    for output in outputs:
        expected = scores(read, output.tokens, shape, prompt)
        allowed = masses(read, constraint, output.tokens, shape, prompt)
        assert [each.log_prob_raw for each in output.trace] == pytest.approx(expected, abs=ROUNDING)
        assert [each.log_z for each in output.trace] == pytest.approx(allowed, abs=ROUNDING)


def taken_drafts(llm: LLM) -> tuple[int, int]:
    """The drafted tokens of an engine so far, and the accepted ones."""
    names = [f"vllm:spec_decode_num_{name}" for name in ("draft_tokens", "accepted_tokens")]
    drafted, accepted = (sum(each.value for each in llm.get_metrics() if each.name == name) for name in names)
    return drafted, accepted


METHODS: dict[str, Any] = {
    "lcd": "lcd",
    "sir": SIR(samples=4),
    "smc": SMC(particles=4, ess_threshold=0.9),
    "awrs": AWRS(),
    "awrs, checked": AWRS(predicate(lambda text: not text.startswith("rex"), on="prefix")),
    "cars": "cars",
}


LAWS = [*((name, False) for name in METHODS), ("lcd", True), ("sir", True)]


@pytest.mark.parametrize("method, rescore", LAWS)
def test_weighted_answers_have_the_exact_law(llm: LLM, read: Any, method: str, rescore: bool) -> None:
    """The distance of weighted outputs to the exact law is noise, and that of masked decoding is not."""
    vocabulary = HFModel.of(reference.load()).vocabulary
    texts = [text for text in TEXTS if not text.startswith("rex")] if method == "awrs, checked" else TEXTS
    pi, q, mass = exact_law(prompt_ids(), texts, vocabulary.tokens, vocabulary.eos_ids[0], read)
    assert len(vocabulary.eos_ids) == 1
    model = VLLMModel(llm, rescore=True) if rescore else llm
    outputs = constrain.generate(
        model, PROMPT, choices=TEXTS, method=METHODS[method], n=SAMPLES, seed=11, max_tokens=10, canonical=False
    )
    found, weights = weighted(outputs)
    band = noise_band(found, weights)
    far = distance(estimate(found, weights), pi)
    print(f"{method}: TV {far:.4f}, band {band:.4f}, masked decoding {distance(q, pi):.4f}, mass {mass:.3g}")
    assert far <= band < distance(q, pi)
    if method != "cars":  # whose weights are 1
        spread = weights.std() / np.sqrt(len(weights))
        assert abs(weights.mean() - mass) <= 4 * spread + 1e-6


def test_methods_token_by_token_give_the_texts_of_transformers(llm: LLM) -> None:
    handle = VLLMModel(llm)
    handle.options = None  # as of an engine with another backend
    for method, arguments in (("smc", {}), ("lcd", {"top_k": 3}), ("lcd", {"stop": "}"}), ("lcd", {"complete": True})):
        given = {"prompt": PROMPT, "choices": TEXTS, "method": method, "seed": 7, "n": 4, "max_tokens": 10, **arguments}
        ours, theirs = constrain.generate(handle, **given), constrain.generate(reference.load(), **given)
        assert [each.text for each in ours] == [each.text for each in theirs], (method, arguments)
        assert [each.log_weight for each in ours] == pytest.approx([each.log_weight for each in theirs], abs=ROUNDING)


def test_a_seed_repeats_an_output_whatever_its_batch(llm: LLM) -> None:
    given = {"regex": "[a-z]{1,12}", "max_tokens": 10}
    many = constrain.generate(llm, PROMPT, n=6, seed=2, **given)
    again = constrain.generate(llm, PROMPT, n=6, seed=2, **given)
    one = constrain.generate(llm, PROMPT, seed=2, **given)
    assert [each.text for each in many] == [each.text for each in again] and many[0].text == one.text
    assert len({each.text for each in many}) > 1


def test_a_stream(llm: LLM) -> None:
    stream = constrain.generate(llm, PROMPT, choices=TEXTS, stream=True, seed=1)
    assert "".join(stream) == stream.result.text


def test_values_are_checked(llm: LLM) -> None:
    """A residual keyword is checked on the finished text, and a failure is sampled anew by the engine."""
    output = constrain.generate(llm, "Number: ", schema={"type": "integer", "minimum": 10, "maximum": 30}, seed=1)
    assert output.finish_reason == "stop" and 10 <= output.value <= 30


def test_drafts_are_refused(llm: LLM) -> None:
    with pytest.raises(ConstrainError, match="drafts need a model of transformers"):
        constrain.generate(llm, PROMPT, choices=TEXTS, draft="auto")


def test_an_engine_that_keeps_probabilities_to_itself(llm: LLM, monkeypatch: pytest.MonkeyPatch) -> None:
    """Methods without rows of probabilities work; the others tell how to start the engine."""
    model = llm.llm_engine.vllm_config.model_config
    monkeypatch.setattr(model, "max_logprobs", 20)
    assert constrain.generate(llm, PROMPT, choices=TEXTS, seed=1).text in TEXTS
    assert constrain.generate(llm, PROMPT, choices=TEXTS, method="smc", seed=1).text in TEXTS
    with pytest.raises(ConstrainError, match=r"probabilities of all 3072 tokens(?s:.*)max_logprobs=-1"):
        constrain.generate(llm, PROMPT, choices=TEXTS, method="cars", seed=1)


def test_an_engine_with_another_backend_goes_token_by_token(llm: LLM, monkeypatch: pytest.MonkeyPatch) -> None:
    given = {"prompt": PROMPT, "choices": TEXTS, "seed": 4, "n": 4}
    handle = VLLMModel(llm)
    handle.options = None
    ours, theirs = constrain.generate(handle, **given), constrain.generate(reference.load(), **given)
    assert [each.text for each in ours] == [each.text for each in theirs]


def test_other_requests_of_the_engine_are_as_they_were(llm: LLM) -> None:
    from vllm import SamplingParams

    [output] = llm.generate([PROMPT], SamplingParams(max_tokens=3, logprobs=1, temperature=0.0), use_tqdm=False)
    first = output.outputs[0].logprobs[0]
    assert output.outputs[0].token_ids[0] in first and all(token >= 0 for token in first)


def test_an_engine_by_name(llm: LLM, monkeypatch: pytest.MonkeyPatch) -> None:
    """The engine is started once, so that every method works."""
    started: list[tuple[str, dict[str, Any]]] = []

    def start(name: str, **settings: Any) -> LLM:
        started.append((name, settings))
        return llm

    monkeypatch.setattr("vllm.LLM", start)
    for method in ("lcd", "smc"):
        assert constrain.generate("vllm:some/model", PROMPT, choices=TEXTS, method=method, seed=1).text in TEXTS
    assert started == [("some/model", {"additional_config": {"constrain": {}}, "max_logprobs": -1})]


def test_a_name_that_does_not_exist() -> None:
    with pytest.raises(ConstrainError, match="vLLM cannot load the model 'no/such/folder'"):
        constrain.generate("vllm:no/such/folder", PROMPT, choices=TEXTS)
