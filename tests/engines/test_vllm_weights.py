"""The numbers of the samplers from vLLM's record of an output. No engine: tensors, and objects shaped as vLLM's."""

import enum
import math
from types import SimpleNamespace
from typing import Any, Literal

import pytest
import torch
from finite_language import EOS, VOCABULARY

import constrain
from constrain import ConstrainError
from constrain.engines.requests.options import EngineOptions
from constrain.engines.vllm.masked import (
    TokenNumbers,
    per_token,
    recorded,
    records_of,
    request_of,
    seed_of,
    take,
    temperature_of,
)  # fmt: skip
from constrain.engines.vllm.recording import NO_ID, ROW, WEIGHTS, asks_for, row_of
from constrain.engines.vllm.runners import BeforeMask, log_totals, numbers_of
from constrain.languages.constraints.regular import choices
from constrain.sampling.core.draw import TorchDraw, enumerate_draws
from constrain.sampling.core.job import Job, Settings
from constrain.sampling.core.particles import Particle
from constrain.sampling.core.shape import ShapedModel

LOGITS = [[0.5, -1.0, 2.0, 0.0], [3.0, 3.0, -2.0, 1.0], [-50.0, 0.0, 0.0, 60.0]]
ALLOWED = [{0, 2}, {1, 2, 3}, {0}]
TOKENS = [2, 3, 0]


@pytest.mark.parametrize("temperature", [None, 1.0, 0.5, 2.0])
def test_numbers_of_tokens(temperature: float | None) -> None:
    logits, temperatures = torch.tensor(LOGITS), None if temperature is None else torch.full((3,), temperature)
    temperature = temperature or 1.0
    masked = torch.full_like(logits, -math.inf)
    for row, allowed in enumerate(ALLOWED):
        masked[row, list(allowed)] = logits[row, list(allowed)]
    before = BeforeMask([0, 1, 2], temperatures, log_totals(logits, temperatures))
    log_p, log_z = numbers_of(before, masked, torch.tensor(TOKENS))
    for row, (numbers, allowed, token) in enumerate(zip(LOGITS, ALLOWED, TOKENS, strict=True)):
        total = math.fsum(math.exp(each / temperature) for each in numbers)
        kept = math.fsum(math.exp(numbers[each] / temperature) for each in allowed)
        assert log_p[row].item() == pytest.approx(numbers[token] / temperature - math.log(total), abs=2e-5)
        assert log_z[row].item() == pytest.approx(math.log(kept / total), abs=2e-5)


def test_rows_stand_in_the_order_of_ids() -> None:
    assert row_of([2, 0, 1], [-3.0, -1.0, -2.0]).tolist() == [-1.0, -2.0, -3.0]


ASKS: list[tuple[dict[str, Any], bool]] = [
    ({}, True),
    ({"extra_args": None}, False),
    ({"extra_args": {}}, False),
    ({"extra_args": {"constrain": ROW}}, False),
    ({"flat_logprobs": False}, False),  # as all requests over HTTP
    ({"detokenize": True}, False),
]


@pytest.mark.parametrize("changes, asks", ASKS)
def test_who_may_ask_for_weights(changes: dict[str, Any], asks: bool) -> None:
    given = {"extra_args": {"constrain": WEIGHTS}, "flat_logprobs": True, "detokenize": False}
    assert asks_for(SimpleNamespace(**{**given, **changes}), WEIGHTS) is asks


class Shade(enum.Enum):
    RED = "red"
    BLUE = "blue"


PLAIN = EngineOptions()
REQUESTS: list[tuple[Any, EngineOptions, str | None]] = [
    (constrain.regex("a|b"), PLAIN, "regex"),
    (choices(["a", "b"]), PLAIN, "choice"),
    (choices(Shade), PLAIN, "choice"),
    (constrain.json_schema({"type": "integer"}), PLAIN, "json"),
    (constrain.json_schema(Literal[1, 2]), PLAIN, "json"),
    (constrain.json_schema({"type": "integer"}, whitespace="any"), PLAIN, None),  # the engine reads it otherwise
    (constrain.json_schema({"type": "integer"}, whitespace="any"), EngineOptions(whitespace="any"), "json"),
    (constrain.grammar('start: "a"+'), PLAIN, "grammar"),
    (constrain.grammar('root ::= "a"+', format="gbnf"), PLAIN, None),  # `::=` is EBNF to the engine
    (constrain.grammar('begin: "a"+', start="begin"), PLAIN, None),
    (constrain.regex("a" * 50), EngineOptions(characters=10), None),  # over the engine's limit
    (constrain.regex("a") | constrain.regex("b"), PLAIN, None),
    (None, PLAIN, None),
]


@pytest.mark.parametrize("constraint, options, kind", REQUESTS, ids=[str(i) for i in range(len(REQUESTS))])
def test_what_a_request_can_say(constraint: Any, options: EngineOptions, kind: str | None) -> None:
    asked = request_of(constraint, options)
    assert (None if asked is None else asked.kind) == kind


def flat(rows: list[list[tuple[int, float]]]) -> SimpleNamespace:
    """As vLLM's `FlatLogprobs`: (id, log-probability) for each position."""
    starts, ends, ids, values = [], [], [], []
    for row in rows:
        starts.append(len(ids))
        ids += [token for token, _ in row]
        values += [value for _, value in row]
        ends.append(len(ids))
    return SimpleNamespace(start_indices=starts, end_indices=ends, token_ids=ids, logprobs=values)


def test_columns() -> None:
    given = flat([[], [(7, -1.0), (3, -2.0)], [(8, -3.0)]])  # vLLM has nothing for the first token of a prompt
    assert per_token(given, 0) == [-1.0, -3.0] and per_token(given, 1) == [-2.0]


def test_numbers_that_were_not_recorded_are_an_error() -> None:
    kept = SimpleNamespace(logprobs=flat([[(0, -1.0), (NO_ID, -0.5)]]))
    assert recorded(kept) == TokenNumbers([-1.0], [-0.5])
    with pytest.raises(ConstrainError, match="does not record weights"):
        recorded(SimpleNamespace(logprobs=flat([[(0, -1.0), (NO_ID, -0.5)], [(1, -1.0), (2, -0.5)]])))


@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_records(temperature: float) -> None:
    records = records_of([1, EOS], TokenNumbers([-2.0, -0.25], [-0.5, 1e-7]), temperature)
    assert [record.log_prob_raw for record in records] == [-2.0, -0.25]
    assert [record.log_z for record in records] == [-0.5, 0.0]  # rounding makes no mass above 1
    assert [record.log_prob_sampled for record in records] == ([0.0, 0.0] if temperature == 0 else [-1.5, -0.25])


def job_of(draw: Any = None, model: Any = None, **settings: Any) -> Job:
    compiled = constrain.compile(constrain.regex("ab|abc|b|bc|aaa"), VOCABULARY)
    model = SimpleNamespace(context=None, width=VOCABULARY.size, ragged=True) if model is None else model
    return Job(
        model=model, prompts=[[0]], matchers=[compiled.matcher()], size=VOCABULARY.size, eos_ids=[EOS],
        settings=Settings(**settings), draw=TorchDraw(1) if draw is None else draw, streams=[3],
    )  # fmt: skip


def taken(ids: list[int], max_tokens: int = 8) -> Any:
    job = job_of(max_tokens=max_tokens)
    particle = Particle(job, 0)
    take(job, particle, SimpleNamespace(token_ids=ids), TokenNumbers([-1.0] * len(ids), [-0.25] * len(ids)), 1.0)
    return particle.sample


OUTPUTS: list[tuple[list[int], int, str, float]] = [
    ([2, 3, EOS], 8, "stop", -0.75),
    ([2, 3], 2, "length", -0.5),
    ([2], 8, "dead_end", -math.inf),  # the engine gave up
    ([], 8, "dead_end", -math.inf),
]


@pytest.mark.parametrize("ids, max_tokens, reason, log_weight", OUTPUTS)
def test_outputs(ids: list[int], max_tokens: int, reason: str, log_weight: float) -> None:
    sample = taken(ids, max_tokens)
    assert (sample.tokens, sample.finish_reason, sample.log_weight) == (ids, reason, log_weight)
    assert sample.log_prob == -len(ids) and sample.masks == len(ids)


def test_what_the_constraint_does_not_allow_is_an_error() -> None:
    with pytest.raises(ConstrainError, match="output 0, token 1: id 2"):
        taken([2, 2])


def test_seeds_come_from_the_stream() -> None:
    job = job_of()
    first, second = (seed_of(job, Particle(job, 0)) for _ in range(2))
    assert first != second and 0 <= first < 2**53
    again = job_of()
    assert seed_of(again, Particle(again, 0)) == first


def test_a_draw_that_is_not_random_is_refused() -> None:
    with pytest.raises(ConstrainError, match="vLLM draws by itself"):
        list(enumerate_draws(lambda draw: seed_of(job_of(draw), Particle(job_of(), 0))))


def test_the_temperature_of_a_shaped_model() -> None:
    assert temperature_of(job_of(temperature=0.5)) == 0.5
    inner = SimpleNamespace(context=None, width=VOCABULARY.size, ragged=True)
    assert temperature_of(job_of(model=ShapedModel(inner, Settings(temperature=0.25)))) == 0.25
