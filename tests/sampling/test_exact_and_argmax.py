"""`exact`, `argmax` and `beam` against the list of all members."""

import math
from dataclasses import replace
from typing import Any

import pytest
from sampling_cases import Case, cases, conditional, exact, law_of, mass, no_draw, outcomes

from constrain.errors import LimitError
from constrain.papers.search.argmax import Argmax
from constrain.papers.search.beam import Beam
from constrain.sampling import Settings, TorchDraw
from constrain.sampling.core.sampler import drive
from constrain.sampling.methods.exact import Exact

TINY = 1e-10
MODELS = cases(20)


@pytest.mark.parametrize("case", MODELS, ids=str)
def test_exact_is_the_conditional(case: Case) -> None:
    truth = exact(case)
    found = [(q, sample) for q, (sample,) in outcomes(case, lambda: Exact(batch=1 + case.seed % 4))]
    assert law_of(found) == pytest.approx(conditional(truth), abs=TINY)
    for _, sample in found:
        assert sample.log_prob == pytest.approx(truth[tuple(sample.tokens)], abs=1e-9)
        assert sample.log_evidence == pytest.approx(math.log(mass(truth)), abs=1e-9)
        assert (sample.log_weight, sample.tv_bound) == (0, 0)
        assert [record.token for record in sample.trace] == sample.tokens


@pytest.mark.parametrize("case", MODELS, ids=str)
def test_argmax_is_the_best_and_the_next_ones(case: Case) -> None:
    truth = exact(case)
    best = sorted(truth, key=lambda x: (-truth[x], x))
    rows = 1 + case.seed % 4
    samples = drive(Argmax(batch=1 + case.seed % 3), case.job(no_draw, rows))
    assert [tuple(sample.tokens) for sample in samples if sample.finish_reason == "stop"] == best[:rows]
    assert [sample.finish_reason for sample in samples[len(best) :]] == ["dead_end"] * (rows - len(best))
    assert all(sample.tv_bound == 0 for sample in samples)
    assert [sample.log_prob for sample in samples[: len(best)]] == pytest.approx([truth[x] for x in best[:rows]])


@pytest.mark.parametrize("case", [case for case in MODELS if case.language in ("ambiguous", "twins", "dyck")], ids=str)
@pytest.mark.parametrize("method", [Argmax, Beam])
def test_each_text_comes_once(method: Any, case: Case) -> None:
    """By the likeliest token sequence that spells it; all sequences, if that is asked for."""
    truth, vocabulary = exact(case), case.constraint.vocabulary
    best: dict[bytes, tuple[int, ...]] = {}
    for x in sorted(truth, key=lambda x: (-truth[x], x)):
        best.setdefault(vocabulary.to_bytes(x), x)
    assert len(best) < len(truth)
    job = case.job(no_draw, len(best) + 2, token_bytes=vocabulary.tokens)
    options = {"width": 1000} if method is Beam else {}
    samples = drive(method(**options), job)
    assert [tuple(sample.tokens) for sample in samples[: len(best)]] == list(best.values())
    assert [sample.finish_reason for sample in samples[len(best) :]] == ["dead_end"] * 2
    assert {sample.tv_bound for sample in samples} == {0}
    every = drive(method(texts=False, **options), case.job(no_draw, len(truth), token_bytes=vocabulary.tokens))
    assert {tuple(sample.tokens) for sample in every} == truth.keys()


@pytest.mark.parametrize("case", MODELS, ids=str)
def test_a_beam_that_says_so_has_the_best(case: Case) -> None:
    truth = exact(case)
    proven = 0
    for width in (1, 2, 5, 100):
        (sample,) = drive(Beam(width=width), case.job(no_draw))
        if sample.tv_bound == 0:
            proven += 1
            assert tuple(sample.tokens) == min(truth, key=lambda x: (-truth[x], x))
        elif sample.finish_reason == "stop":
            assert sample.log_prob == pytest.approx(truth[tuple(sample.tokens)])
        else:
            assert sample.finish_reason == "budget"
    assert proven


def test_the_limit_is_an_error_for_exact_and_a_label_for_argmax() -> None:
    case = Case("skewed", 1)
    with pytest.raises(LimitError) as caught:
        drive(Exact(limit=10), case.job(TorchDraw(0)))
    assert str(caught.value) == (
        "the language has more than 10 prefixes within 9 tokens\n"
        "  at prompt of output 0\n"
        '  fix: raise limit=, lower max_tokens, or use a method that needs no table: "cars", "sir"'
    )
    ends = set()
    for seed in range(8):
        (sample,) = drive(Argmax(limit=1, batch=1), Case("skewed", seed, 0.5).job(no_draw))
        ends.add((sample.finish_reason, sample.tv_bound, sample.log_weight))
    assert ends == {("budget", None, -math.inf), ("stop", None, 0.0)}


def test_prompts_have_tables_of_their_own() -> None:
    case = Case("optional tail", 4)
    prompts = [[0, 1], [2], [0, 1]]
    job = case.job(TorchDraw(1), 3, prompts=prompts)
    for sample, prompt in zip(drive(Exact(), job), prompts, strict=True):
        truth = exact(case, prompt)
        assert sample.log_evidence == pytest.approx(math.log(mass(truth)))
        assert sample.log_prob == pytest.approx(truth[tuple(sample.tokens)])
    ranked = [sorted(exact(case, prompt).values(), reverse=True) for prompt in prompts]
    samples = drive(Argmax(), case.job(no_draw, 3, prompts=prompts))
    assert [s.log_prob for s in samples] == pytest.approx([ranked[0][0], ranked[1][0], ranked[0][1]])


@pytest.mark.parametrize(
    "settings", [{"temperature": 0.5}, {"top_k": 2}, {"top_p": 0.7}, {"temperature": 2, "top_k": 3}]
)
@pytest.mark.parametrize("language", ["skewed", "ambiguous", "cut"])
def test_the_target_is_the_shaped_model(language: str, settings: dict[str, float]) -> None:
    """Temperature, then top-k, then top-p, on the model's own distribution; then the condition."""
    for seed in range(4):
        plain = Case(language, seed, settings=Settings(max_tokens=4 if language == "cut" else 9))
        twin = Case(language, seed, settings=plain.settings)
        for prefix in {(*[0, 1], *x[:i]) for x in exact(plain) for i in range(len(x))}:
            twin.model.fixed[prefix] = shaped_by_hand(plain.model.logits(prefix), **settings)
        truth = {x: p for x, p in exact(twin).items() if p > -math.inf}
        case = replace(plain, settings=replace(plain.settings, **settings))
        found = [(q, sample) for q, (sample,) in outcomes(case, Exact)]
        if truth:
            assert law_of(found) == pytest.approx(conditional(truth), abs=TINY)
        else:
            assert [(s.finish_reason, s.log_evidence) for _, s in found] == [("dead_end", -math.inf)]


def shaped_by_hand(logits, temperature=1.0, top_k=None, top_p=None):  # type: ignore[no-untyped-def]
    import numpy as np

    p = np.exp(logits / temperature - (logits / temperature).max())
    p /= p.sum()
    if top_k is not None:
        p[np.argsort(-p)[top_k:]] = 0
        p /= p.sum()
    if top_p is not None:
        order = np.argsort(-p)
        kept = int(np.searchsorted(np.cumsum(p[order]), top_p)) + 1
        p[order[kept:]] = 0
    with np.errstate(divide="ignore"):
        return np.log(p / p.sum())
