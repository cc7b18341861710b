"""Every method of the table reports failures as outputs that say so, or as errors with their place."""

import math
from typing import Any

import pytest
import torch
from sampling_cases import PROMPT, Case, exact, mass
from tiny_cases import Tiny, membership

from constrain.errors import ConstrainError
from constrain.sampling import AWRS, CARS, METHODS, Argmax, ASAp, Beam, Exact, Faithful, Rejection, Settings, TorchDraw
from constrain.sampling.core.sampler import drive
from toy_model import TableModel

SAMPLING = sorted(METHODS.keys() - {"lcd", "argmax", "beam"})
ALL = sorted(METHODS)


@pytest.mark.parametrize("name", ALL)
def test_no_rows_no_samples(name: str) -> None:
    assert drive(METHODS[name], Case("skewed", 0).job(TorchDraw(0), 0)) == []


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("bad, what", [(math.nan, "NaN"), (math.inf, r"\+inf"), (None, "nothing but -inf")])
def test_logits_that_are_no_logits_are_located(name: str, bad: float | None, what: str) -> None:
    case = Case("one member", 0)
    for prefix in ([*PROMPT, 0], [*PROMPT, 0, 1]):
        logits = case.model.logits(prefix)
        logits[:] = -math.inf if bad is None else logits
        logits[1] = -math.inf if bad is None else bad
    case.model.logits(PROMPT)[0] += 40  # so that methods that are free to leave the language do not
    with pytest.raises(ConstrainError, match=rf"the model's logits contain {what}(.*\n)*  at output \d+, token \d"):
        drive(METHODS[name], case.job(TorchDraw(0)))


@pytest.mark.parametrize("name", ALL)
def test_a_language_without_mass_is_a_clear_result(name: str) -> None:
    case = Case("one member", 0)
    case.model.logits([*PROMPT, 0])[1] = -math.inf  # "ab" cannot be
    for sample in drive(METHODS[name], case.job(TorchDraw(0), 2)):
        assert sample.finish_reason in ("dead_end", "budget")
        assert sample.log_weight == -math.inf
        assert sample.log_evidence in (-math.inf, None)


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("language, text", [("one member", b"abc"), ("only the empty text", b"")])
def test_one_member(name: str, language: str, text: bytes) -> None:
    case = Case(language, 3, spread=0.5)
    vocabulary = case.constraint.vocabulary
    for sample in drive(METHODS[name], case.job(TorchDraw(1), 3)):
        if name not in ("argmax", "beam"):  # these give each member once
            assert sample.finish_reason == "stop"
        if sample.finish_reason == "stop":
            assert vocabulary.to_bytes(sample.tokens) == text


@pytest.mark.parametrize("name", ALL)
def test_no_room_for_any_member(name: str) -> None:
    case = Case("one member", 3, settings=Settings(max_tokens=3))  # EOS would be the fourth
    for sample in drive(METHODS[name], case.job(TorchDraw(1), 2)):
        assert sample.finish_reason in ("length", "dead_end", "budget")
        assert len(sample.tokens) <= 3
        assert name == "lcd" or sample.log_weight == -math.inf


@pytest.mark.parametrize("name", ALL)
def test_a_prompt_that_fills_the_context(name: str) -> None:
    case = Case("one member", 3)
    case.model.context = len(PROMPT)
    for sample in drive(METHODS[name], case.job(TorchDraw(1), 2)):
        assert sample.tokens == []
        assert sample.finish_reason != "stop"


@pytest.mark.parametrize("name", SAMPLING)
def test_temperature_0_leaves_nothing_to_sample(name: str) -> None:
    with pytest.raises(ConstrainError, match="temperature 0 leaves nothing to sample") as caught:
        drive(METHODS[name], Case("skewed", 0, settings=Settings(temperature=0)).job(TorchDraw(0)))
    assert "argmax" in str(caught.value)


def test_greedy_methods_take_temperature_0_for_1() -> None:
    for name in ("argmax", "beam"):
        cold, warm = (Case("skewed", 1, settings=Settings(temperature=t)) for t in (0.0, 1.0))
        found = [drive(METHODS[name], case.job(TorchDraw(0)))[0] for case in (cold, warm)]
        assert found[0] == found[1]


def test_used_up_attempts_are_labelled() -> None:
    case = Case("one member", 5, spread=6.0)
    for method in (Rejection(attempts=3), CARS(attempts=1)):
        samples = drive(method, case.job(TorchDraw(0), 4))
        failed = [sample for sample in samples if sample.finish_reason == "budget"]
        assert failed
        for sample in failed:
            assert sample.log_weight == -math.inf
            assert sample.attempts == (3 if isinstance(method, Rejection) else 1)
            assert (sample.accepted, sample.tv_bound) == (0, None)
            matcher = case.constraint.matcher()
            assert all(matcher.advance(token) for token in sample.tokens)  # a prefix of a member all the same


@pytest.mark.parametrize(
    "method, options, message",
    [
        (Rejection, {"attempts": 0}, "attempts must be an int of at least 1, not 0"),
        (Rejection, {"batch": 2.5}, "batch must be an int of at least 1, not 2.5"),
        (CARS, {"attempts": True}, "attempts must be an int of at least 1, not True"),
        (ASAp, {"warmup": -1}, "warmup must be an int of at least 0, not -1"),
        (ASAp, {"tolerance": 1.5}, "tolerance must be a number from 0 to 1, not 1.5"),
        (ASAp, {"batch": None}, "batch must be an int of at least 1, not None"),
        (Exact, {"limit": "all"}, "limit must be an int of at least 1, not 'all'"),
        (Argmax, {"batch": 0}, "batch must be an int of at least 1, not 0"),
        (Beam, {"width": 0}, "width must be an int of at least 1, not 0"),
        (Faithful, {"attempts": -1}, "attempts must be an int of at least 0, not -1"),
        (Faithful, {"pilot": 0}, "pilot must be an int of at least 1, not 0"),
    ],
)
def test_bad_options(method: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ConstrainError) as caught:
        method(**options)
    assert str(caught.value) == message


@pytest.mark.parametrize("name", [*ALL, "awrs with a check"])
def test_half_precision_is_widened(name: str) -> None:
    """log p of an output is that of the model to far more digits than bfloat16 has, and so are weights and masses."""
    case = Tiny("branching", 1)
    vars(case)["model"] = TableModel(3, 1, dtype=torch.bfloat16)
    law = exact(case)
    method = METHODS.get(name) or AWRS(membership(case))
    drawn = [
        drive(method, case.job(TorchDraw(seed), token_bytes=case.constraint.vocabulary.tokens)) for seed in range(9)
    ]
    members = [sample for (sample,) in drawn if sample.finish_reason == "stop"]
    assert members
    for sample in members:
        assert sample.log_prob == pytest.approx(law[tuple(sample.tokens)], abs=1e-5)
        if name == "exact":
            assert sample.log_evidence == pytest.approx(math.log(mass(law)), abs=1e-5)
        if name == "asap":  # the first draw is that of masked decoding
            assert sample.log_weight == pytest.approx(math.fsum(each.log_z for each in sample.trace), abs=1e-5)
