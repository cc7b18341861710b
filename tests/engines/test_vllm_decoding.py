"""`constrain.generate` over an engine that has vLLM's outside (vllm_parts.py): the laws, and which way a request goes.

test_vllm_faithful.py has the same with vLLM itself.
"""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Annotated, Any

import numpy as np
import pydantic
import pytest
import torch
from finite_language import EOS, MEMBERS, TOKENS
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from vllm_parts import ToyLLM, handle_of_toy, install
from weighted_laws import distance, estimate, exact_law, noise_band, weighted

import constrain
from constrain import ConstrainError
from constrain.engines.vllm import particles
from constrain.engines.vllm.masked import EngineDecoding, StructuredOutput, TokenNumbers, take
from constrain.generation import make_job
from constrain.sampling import AWRS, MCMC, SIR, SMC, Job, Particle, Settings, TorchDraw, predicate

PATTERN = "|".join(MEMBERS)
PROMPT = [6]
SAMPLES = 512
CHANCES = np.random.default_rng(5).dirichlet(np.full(len(TOKENS), 0.6), len(TOKENS))


@pytest.fixture(autouse=True)
def parameters(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch)


def toy(**settings: Any) -> ToyLLM:
    return ToyLLM(CHANCES.tolist(), **settings)


def law(temperature: float = 1.0) -> tuple[dict[str, float], dict[str, float], float]:
    llm = toy()

    def read(texts: list[list[int]]) -> torch.Tensor:
        return torch.stack(
            [torch.stack([llm.row(text[: i + 1], temperature) for i in range(len(text))]) for text in texts]
        )

    return exact_law(PROMPT, MEMBERS, TOKENS, EOS, read)


LAWS: list[tuple[str, Any, dict[str, Any], float]] = [
    ("recorded", "lcd", {}, 1.0),
    ("recorded", "lcd", {}, 0.6),
    ("recorded", SIR(samples=4), {}, 1.0),
    ("recorded", SIR(samples=4), {}, 0.6),
    ("rescored", "lcd", {"rescore": True}, 1.0),
    ("rescored", SIR(samples=4), {"rescore": True}, 1.0),
    ("particles", SMC(particles=4), {}, 1.0),
    ("particles", SMC(particles=4, ess_threshold=1.0), {}, 0.6),
    ("particles", SMC(particles=3, ess_threshold=1.0, resampling="residual"), {}, 1.0),
    ("particles", "awrs", {}, 0.6),
    ("token by token", SMC(particles=4), {"rescore": True}, 1.0),
    ("token by token", SMC(particles=4, resampling="optimal"), {}, 1.0),
    ("token by token", "cars", {}, 1.0),
]


@pytest.mark.parametrize("way, method, settings, temperature", LAWS, ids=[str(i) for i in range(len(LAWS))])
def test_weighted_answers_have_the_exact_law(
    way: str, method: Any, settings: dict[str, Any], temperature: float
) -> None:
    pi, q, mass = law(temperature)
    outputs = constrain.generate(
        handle_of_toy(toy(), **settings), PROMPT, regex=PATTERN, method=method, n=SAMPLES, seed=1, max_tokens=8,
        temperature=temperature,
    )  # fmt: skip
    texts, weights = weighted(outputs)
    band = noise_band(texts, weights)
    assert distance(estimate(texts, weights), pi) <= band < distance(q, pi), (band, distance(q, pi))
    if weights.std() > 0:  # the weights of exact methods and chains are 1
        assert abs(weights.mean() - mass) <= 4 * weights.std() / math.sqrt(SAMPLES)


def joining() -> constrain.Vocabulary:
    """The finite vocabulary, of a tokenizer that joins "a" and "b"."""
    names = {(token or b"<%d>" % i).decode(): i for i, token in enumerate(TOKENS)}
    tokenizer = Tokenizer(models.BPE(names, [("a", "b")]))
    tokenizer.pre_tokenizer, tokenizer.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    return constrain.Vocabulary(TOKENS, [EOS], tokenizer=tokenizer)


@pytest.mark.parametrize("option", [True, False])
@pytest.mark.parametrize("asked", [None, True, False])
@pytest.mark.parametrize("method", ["lcd", SMC(particles=4)], ids=["whole", "token by token"])
def test_the_law_of_canonical_tokens(option: bool | None, asked: bool | None, method: Any) -> None:
    """The engine decodes as its options say, so a call that asks for something else goes token by token."""
    vocabulary = joining()
    llm = toy(vocabulary=vocabulary, options={"canonical": option})
    is_canonical = option if asked is None else asked

    def read(texts: list[list[int]]) -> torch.Tensor:
        return torch.stack([torch.stack([llm.row(text[: i + 1]) for i in range(len(text))]) for text in texts])

    def cut(text: str) -> list[int]:
        ids: list[int] = vocabulary.tokenizer.encode(text).ids
        return ids

    pi, _, mass = exact_law(PROMPT, MEMBERS, TOKENS, EOS, read, cut if is_canonical else None)
    outputs = constrain.generate(
        handle_of_toy(llm), PROMPT, regex=PATTERN, method=method, n=SAMPLES, seed=2, max_tokens=8, canonical=asked
    )
    assert {output.stats.cuts for output in outputs} == {"canonical" if is_canonical else "all"}
    assert {output.stats.strays for output in outputs} == {0}
    texts, weights = weighted(outputs)
    assert distance(estimate(texts, weights), pi) <= noise_band(texts, weights)
    assert abs(weights.mean() - mass) <= 4 * weights.std() / math.sqrt(SAMPLES)


@pytest.mark.parametrize("method", [SIR(samples=1), SMC(particles=3, ess_threshold=1.0)], ids=["sir", "smc"])
def test_a_budget_cuts_outputs_and_weights_stay_right(method: Any) -> None:
    """Outputs that do not fit have no weight; outputs that fit keep their probability."""
    pi, _, mass = law()
    outputs = constrain.generate(
        handle_of_toy(toy()), PROMPT, regex=PATTERN, method=method, n=2000, seed=2, max_tokens=2
    )
    texts, weights = weighted(outputs)
    assert {output.finish_reason for output in outputs} == {"stop", "length"}
    # one token and EOS: "b", and "ab" in one token
    row, after = toy().row(PROMPT), [toy().row([*PROMPT, token])[EOS] for token in (1, 2)]
    fits = math.exp(row[1] + after[0]) + math.exp(row[2] + after[1])
    assert fits < mass * (pi["b"] + pi["ab"])
    assert abs(weights.mean() - fits) <= 4 * weights.std() / math.sqrt(len(weights))
    assert {text for text, weight in zip(texts, weights, strict=True) if weight} <= {"b", "ab"}


def even(age: int) -> int:
    if age % 2:
        raise ValueError(f"{age} is odd")
    return age


@pytest.mark.parametrize("text, reason", [(b"4", "stop"), (b"3", "dead_end")])
def test_what_a_validator_refuses_is_a_dead_end(text: bytes, reason: str) -> None:
    """The engine has the schema of a type alone; its text is checked where it ends."""
    kind = Annotated[int, pydantic.AfterValidator(even)]
    vocabulary = constrain.Vocabulary.of_bytes()
    compiled = constrain.compile(constrain.json_schema(kind), vocabulary)
    tokens = [*text, vocabulary.eos_ids[0]]
    job = Job(
        model=SimpleNamespace(context=None), prompts=[[1]], matchers=[compiled.matcher()], size=vocabulary.size,
        eos_ids=vocabulary.eos_ids, settings=Settings(max_tokens=9), draw=TorchDraw(1), streams=[0],
    )  # fmt: skip
    particle = Particle(job, 0)
    take(job, particle, SimpleNamespace(token_ids=tokens), TokenNumbers([-0.5, -0.5], [-0.1, -0.1]), 1.0)
    assert particle.sample.finish_reason == reason
    assert particle.sample.log_weight == (-0.2 if reason == "stop" else -math.inf)


def test_recorded_and_rescored_weights_are_the_same() -> None:
    one, other = (
        constrain.generate(handle_of_toy(toy(), rescore=rescore), PROMPT, regex=PATTERN, n=20, seed=3)
        for rescore in (False, True)
    )
    assert [each.tokens for each in one] == [each.tokens for each in other]
    for each, again in zip(one, other, strict=True):
        assert again.log_weight == pytest.approx(each.log_weight, abs=1e-5)
        assert again.logprob == pytest.approx(each.logprob, abs=1e-5)


@pytest.mark.parametrize("rescore", [False, True])
def test_the_forwards_of_a_row(rescore: bool) -> None:
    """One a token, but the prompt's once for all sequences of a row; and one to read an output again."""
    model = handle_of_toy(toy(), rescore=rescore)
    job = make_job(model, PROMPT, regex=PATTERN, n=2, seed=3, max_tokens=8)
    drawn = [Particle(job, row) for row in (0, 1, 0, 0)]
    EngineDecoding(model, StructuredOutput("regex", PATTERN)).grow(job, drawn)
    tokens = [len(particle.sample.tokens) for particle in drawn]
    counted = [particle.sample.forwards - rescore for particle in drawn]
    assert counted == [tokens[0], tokens[1], tokens[2] - 1, tokens[3] - 1]


WAYS: list[tuple[dict[str, Any], dict[str, Any], bool]] = [
    ({}, {}, True),
    ({}, {"temperature": 0.5}, True),
    ({"records": False}, {}, True),  # read again
    ({"records": False}, {"temperature": 0.5}, False),
    ({"backend": False}, {}, False),
    ({}, {"top_k": 2}, False),
    ({}, {"top_p": 0.9}, False),
    ({}, {"stop": "c"}, False),
    ({}, {"complete": True}, False),
    ({}, {"max_tokens": constrain.Length(8, at_least=2)}, False),
    ({}, {"method": "smc"}, True),
    ({}, {"method": SMC(resampling="optimal")}, False),  # children
    ({}, {"method": SMC(boundary="lexeme")}, False),
    ({}, {"method": AWRS(predicate(bool))}, False),
    ({"records": False}, {"method": "smc"}, False),
    ({"options": {"complete": True}}, {"method": "smc"}, False),
    ({}, {"method": "sir"}, True),
    ({}, {"method": MCMC()}, True),
    ({}, {"method": MCMC(proposal="uniform")}, False),  # it keeps beginnings
]


@pytest.mark.parametrize("engine, arguments, whole", WAYS, ids=[str(i) for i in range(len(WAYS))])
def test_which_way_a_request_goes(engine: dict[str, Any], arguments: dict[str, Any], whole: bool) -> None:
    """Whole outputs are requests with the constraint; other ways never say it to the engine."""
    llm = toy(**engine)
    said: list[bool] = []
    answer = llm.answer
    llm.answer = lambda prompt, how: said.append(bool(how.structured_outputs)) or answer(prompt, how)  # type: ignore[method-assign,func-returns-value]
    output = constrain.generate(handle_of_toy(llm), PROMPT, regex=PATTERN, **{"seed": 1, "max_tokens": 8, **arguments})
    assert output.finish_reason == "stop" and any(said) is whole


def test_particles_are_repeatable_and_end_their_requests() -> None:
    """The best particles are forked, the others taken back, and nothing runs on."""
    engines = [toy(), toy()]
    one, other = (
        constrain.generate(
            handle_of_toy(llm), PROMPT, regex=PATTERN, method=SMC(particles=6, ess_threshold=0.9), n=20, seed=4,
            max_tokens=8,
        )
        for llm in engines
    )  # fmt: skip
    assert [(each.tokens, each.log_weight) for each in one] == [(each.tokens, each.log_weight) for each in other]
    engine = engines[0].llm_engine
    assert engine.aborted > 0 and engines[0].asked > 20 * 6 and not engine.running
    for output in one:
        assert len(output.population) == 6 and output.stats.forwards >= 6
        assert {each.finish_reason for each in output.population} <= {"stop", "length"}


def test_requests_end_with_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """Requests of an engine are taken back when the call ends early."""
    llm = toy()
    monkeypatch.setattr(particles, "take_token", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        constrain.generate(handle_of_toy(llm), PROMPT, regex=PATTERN, method="smc", seed=4, max_tokens=8)
    assert llm.asked > 10 and not llm.llm_engine.running


def test_equal_prefixes_are_one_request() -> None:
    llm = toy()
    handle = handle_of_toy(llm, rescore=True)
    constrain.generate(handle, PROMPT, regex=PATTERN, method=SMC(particles=50), seed=1, max_tokens=8)
    prefixes = 1 + 6 + 5  # more than there are: a text of at most three letters over four tokens has few beginnings
    assert llm.asked <= prefixes


def test_an_engine_that_keeps_probabilities_to_itself() -> None:
    llm = toy()
    llm.llm_engine.vllm_config.model_config.max_logprobs = 5
    handle = handle_of_toy(llm)
    assert constrain.generate(handle, PROMPT, regex=PATTERN, seed=1).text in MEMBERS
    with pytest.raises(ConstrainError, match="gives out 5"):
        constrain.generate(handle, PROMPT, regex=PATTERN, method="cars", seed=1)


@pytest.mark.parametrize(
    "name, value, message",
    [("runner_type", "pooling", "started to pooling"), ("skip_tokenizer_init", True, "has no tokenizer")],
)
def test_engines_that_are_refused(name: str, value: Any, message: str) -> None:
    llm = toy()
    setattr(llm.llm_engine.vllm_config.model_config, name, value)
    with pytest.raises(ConstrainError, match=message):
        handle_of_toy(llm)
