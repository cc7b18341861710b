"""`smc` by enumeration: whatever is resampled when, and whatever steers, every text is properly weighted."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from sampling_cases import Case, cases, exact, job_of, mass, walk, weighted
from tiny_cases import Taste, Tiny, bare, membership, tiny_cases

import constrain
from constrain.errors import ConstrainError
from constrain.sampling import Job, Sample, Settings, TorchDraw, enumerate_draws
from constrain.sampling.core.boundaries import boundary_of
from constrain.sampling.core.potentials import Potential, predicate
from constrain.sampling.core.sampler import drive
from constrain.sampling.core.shape import shaped
from constrain.sampling.methods.awrs import TokenRejection
from constrain.sampling.methods.exact import MemberTable
from constrain.sampling.methods.smc import SMC
from toy_model import TableModel, tiny_llama, tiny_tokenizer

TINY = 1e-10
SCHEMES = ["multinomial", "stratified", "systematic", "residual", "optimal"]


def check(found: list[tuple[float, Sample]], target: dict[tuple[int, ...], float], particles: int) -> None:
    """The probabilities add up, every text is properly weighted, and the evidence has the right mean."""
    assert math.fsum(q for q, _ in found) == pytest.approx(1, abs=TINY)
    assert weighted(found) == pytest.approx(target, rel=1e-9, abs=1e-300)
    evidence = math.fsum(q * math.exp(sample.log_evidence or 0) for q, sample in found)
    assert evidence == pytest.approx(math.fsum(target.values()), rel=1e-9, abs=1e-300)
    for _, sample in found:
        assert len(sample.population) <= particles == sample.attempts
        assert sample.accepted == sum(each.log_weight > -math.inf for each in sample.population)
        assert (sample.log_weight == -math.inf) == (sample.finish_reason != "stop")
        assert all(each.finish_reason == "stop" for each in sample.population if each.log_weight > -math.inf)


@pytest.mark.parametrize("case", tiny_cases(30), ids=str)
def test_every_text_is_properly_weighted(case: Tiny) -> None:
    """210 models, each under its own combination of options; a soft potential in two of three."""
    seed = case.seed
    taste = None if seed % 3 == 0 else Taste(case, seed)
    particles = 1 if case.language == "branching" and seed % 5 == 4 else 2  # "optimal" doubles them: a large tree
    method = SMC(
        particles=particles,
        ess_threshold=(1.0, 0.7)[seed % 2],
        resampling=SCHEMES[seed % 5],
        potential=taste,
        twist=seed % 4 != 3,
        boundary=("token", "line", lambda text, new: len(text + new) % 2 == 0)[seed % 7 % 3],
    )
    found = walk(case, method)
    check(found, taste.target() if taste else {t: math.exp(p) for t, p in exact(case).items()}, particles)


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("language, seed", [("two", 1), ("segmentations", 2), ("empty too", 3)])
def test_three_particles(scheme: str, language: str, seed: int) -> None:
    case = Tiny(language, seed, 1.5, Settings(max_tokens=3))
    method = SMC(particles=3, ess_threshold=1, resampling=scheme, children=1)
    check(walk(case, method), {t: math.exp(p) for t, p in exact(case).items()}, 3)


@pytest.mark.parametrize(
    "case, children",
    [*((case, 2) for case in tiny_cases(2) if case.language != "branching"), (Tiny("segmentations", 5), 3)],
)
def test_choosing_among_children(case: Tiny, children: int) -> None:
    taste = Taste(case, case.seed)
    method = SMC(particles=2, resampling="optimal", potential=taste, children=children)
    check(walk(case, method), taste.target(), 2)


@pytest.mark.parametrize("case", [case for case in cases(3) if case.language not in ("skewed", "cut")], ids=str)
def test_languages_of_all_kinds(case: Case) -> None:
    """Dyck words, dead ends, forced chains, several segmentations, twin ids; the weights of prefixes steer."""
    case = replace(case, settings=Settings(max_tokens=5)) if case.language == "dyck" else case
    taste = Taste(case, case.seed)
    check(walk(case, SMC(particles=1, potential=taste)), taste.target(), 1)


@pytest.mark.parametrize(
    "language, limit", [("cut", 1), ("cut", 2), ("cut", 3), ("forced chain", 2), ("forced chain", 4)]
)
def test_what_does_not_fit_has_no_weight(language: str, limit: int) -> None:
    """Neither what is cut off in the middle of choices, nor in the middle of what is forced."""
    case = Case(language, 1, settings=Settings(max_tokens=limit))
    found = walk(case, SMC(particles=2, ess_threshold=1))
    check(found, {t: math.exp(p) for t, p in exact(case).items()}, 2)
    if limit < 3 and not exact(case):
        assert {(s.finish_reason, s.log_evidence) for _, s in found} == {("length", -math.inf)}


@pytest.mark.parametrize("case", tiny_cases(3), ids=str)
@pytest.mark.parametrize("rejection", [TokenRejection(), TokenRejection(head=2), TokenRejection(looks=2, max_checks=2)])
def test_particles_under_a_check(case: Tiny, rejection: TokenRejection) -> None:
    """A mask that knows nothing, a check that knows the language, and a taste on top."""
    taste = Taste(case, case.seed)
    method = SMC(particles=1, potential=taste, check=membership(case), rejection=rejection)
    found = list(enumerate_draws(lambda draw: drive(method, bare(case, draw))[0]))
    check(found, taste.target(), 1)


@pytest.mark.parametrize("seed", range(6))
def test_a_check_after_the_mask(seed: int) -> None:
    case = Case("forced chain", seed)
    no_b_first = predicate(lambda text: not text.startswith("b"), on="prefix")
    found = walk(case, SMC(particles=2, check=no_b_first, ess_threshold=1))
    assert {sample.finish_reason for _, sample in found} <= {"stop", "dead_end"}
    truth = {t: math.exp(p) for t, p in exact(case).items() if t[0] != 1}
    check(found, truth, 2)
    late = predicate(lambda text: not text.startswith("bc"), on="prefix")  # refuses what the constraint forces
    check(walk(case, SMC(particles=2, check=late, ess_threshold=1)), truth, 2)


def test_truncation_is_part_of_the_target() -> None:
    case = Tiny("two", 5, settings=Settings(max_tokens=3, temperature=0.5, top_p=0.8))
    one = weighted(walk(case, SMC(particles=1)))
    assert weighted(walk(case, SMC(particles=2, ess_threshold=1))) == pytest.approx(one, rel=TINY)
    assert math.fsum(one.values()) < 1


def test_rows_are_independent() -> None:
    case = Tiny("two", 2, 1.0, Settings(max_tokens=3))
    method = SMC(particles=2, ess_threshold=1)
    single: dict[tuple[Any, ...], float] = {}
    for q, sample in walk(case, method):
        key = (*sample.tokens, round(sample.log_weight, 9))
        single[key] = single.get(key, 0.0) + q
    joint: dict[tuple[Any, ...], float] = {}
    for q, samples in enumerate_draws(lambda draw: drive(method, job_of(case, draw, rows=2))):
        key = tuple((*sample.tokens, round(sample.log_weight, 9)) for sample in samples)
        joint[key] = joint.get(key, 0.0) + q
    assert joint == pytest.approx({(a, b): p * q for a, p in single.items() for b, q in single.items()}, abs=TINY)
    batch = drive(method, job_of(case, TorchDraw(4), rows=3))
    for row in range(3):
        (alone,) = drive(method, job_of(case, TorchDraw(4), streams=[row]))
        assert (alone.tokens, alone.log_weight) == (batch[row].tokens, batch[row].log_weight)


# --- what can go wrong ------------------------------------------------------------------------------------------------


class Fails(Potential):
    def __init__(self, value: Any) -> None:
        self.value = value

    def complete(self, text: bytes) -> float:
        if isinstance(self.value, Exception):
            raise self.value
        return self.value  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    "value, message",
    [
        (RuntimeError("no database"), r"failed: RuntimeError: no database\n  at complete text 'ab?'"),
        (math.inf, "gave inf, which is no log weight"),
        (math.nan, "gave nan"),
        ("yes", "gave 'yes'"),
        (None, "gave None"),
    ],
)
def test_a_potential_that_fails_is_named(value: Any, message: str) -> None:
    with pytest.raises(ConstrainError, match=message):
        drive(SMC(potential=Fails(value)), job_of(Tiny("two", 1), TorchDraw(0)))


def test_all_particles_dead() -> None:
    case = Tiny("two", 1)
    for method in (SMC(potential=Fails(-math.inf)), SMC(check=Fails(-math.inf))):
        (sample,) = drive(method, job_of(case, TorchDraw(0)))
        assert (sample.log_weight, sample.log_evidence, sample.accepted) == (-math.inf, -math.inf, 0)
        assert sample.finish_reason == "dead_end"
        assert sample.evaluations > 0


def test_one_dead_particle_is_not_a_dead_run() -> None:
    case = Case("dead end", 2)
    found = walk(case, SMC(particles=2, ess_threshold=1))
    assert {s.finish_reason for _, s in found} == {"stop", "dead_end"}
    check(found, {t: math.exp(p) for t, p in exact(case).items()}, 2)


def test_a_model_that_gives_a_particle_nothing() -> None:
    """-inf for all that may follow "a": particles there die, the others go on; NaN is a fault."""
    case = Tiny("two", 1)
    model = TableModel(3, seed=1)
    model.logits([0, 1, 0])[1] = -math.inf
    found = walk(case, SMC(particles=2, ess_threshold=1), model=model)
    assert math.fsum(q for q, _ in found) == pytest.approx(1)
    assert {tuple(s.tokens) for _, s in found if s.log_weight > -math.inf} == {(1, 2)}
    expected = math.exp(model.log_probs([0, 1])[1] + model.log_probs([0, 1, 1])[2])
    assert math.fsum(weighted(found).values()) == pytest.approx(expected, rel=1e-9)
    model.logits([0, 1])[0] = math.nan
    with pytest.raises(ConstrainError, match="NaN"):
        walk(case, SMC(particles=2), model=model)


def test_a_single_member_and_the_empty_text_need_no_draw_of_tokens() -> None:
    for language, tokens in [("forced", [1, 0, 2]), ("only the empty text", [2])]:
        case = Tiny(language, 3, settings=Settings(max_tokens=4))
        found = walk(case, SMC(particles=4, ess_threshold=1))
        assert {tuple(sample.tokens) for _, sample in found} == {tuple(tokens)}
        assert found[0][1].log_evidence == pytest.approx(math.log(mass(exact(case))))
        assert found[0][1].forwards == 1


def test_bad_options() -> None:
    for options, message in [
        ({"particles": 0}, "particles must be an int of at least 1, not 0"),
        ({"ess_threshold": 1.5}, "ess_threshold must be a number from 0 to 1"),
        ({"resampling": "none"}, "no resampling 'none'"),
        ({"children": 0}, "children must be"),
        ({"boundary": "page"}, "no boundary 'page'"),
        ({"potential": len}, "wrap a function: constrain.sampling.predicate"),
        ({"check": "x"}, "a potential is an instance of"),
    ]:
        with pytest.raises(ConstrainError, match=message):
            SMC(**options)
    with pytest.raises(ConstrainError, match="need the bytes of tokens"):
        drive(SMC(potential=Fails(0.0)), Tiny("two", 1).job(TorchDraw(0)))
    with pytest.raises(ConstrainError, match="temperature 0 leaves nothing to sample"):
        drive(SMC(), Tiny("two", 1, settings=Settings(temperature=0)).job(TorchDraw(0)))


# --- boundaries, and real models --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "boundary, places",
    [
        ("lexeme", [3, 4, 5, 8, 10, 11, 13, 15]),
        ("rule:stmt", [10, 15]),
        ("token", list(range(1, 16))),
        ("line", []),
        (lambda text, new: new == b";", [10, 15]),
    ],
)
def test_where_units_end(boundary: Any, places: list[int]) -> None:
    vocabulary = constrain.Vocabulary([bytes([i]) for i in range(256)] + [None], [256])
    constraint = constrain.grammar(
        'start: stmt+\nstmt: NAME "=" NUM ("+" NUM)* ";"\nNAME: /[a-z]+/\nNUM: /[0-9]+/\n%ignore " "'
    )
    matcher = constrain.compile(constraint, vocabulary).matcher()
    passes, found = boundary_of(boundary), []
    for i, byte in enumerate(b"ab = 12+3; c=4;"):
        if passes(matcher.fork, matcher.text, bytes([byte])):
            found.append(i + 1)
        assert matcher.advance(byte)
    assert found == places


def test_units_of_the_grammar_need_a_compiled_constraint() -> None:
    with pytest.raises(ConstrainError, match=r"boundary 'lexeme' needs a constraint .* constrain.compile"):
        drive(SMC(boundary="lexeme"), job_of(Tiny("two", 1), TorchDraw(0)))


def job_of_a_real_model(pattern: str, prompts: list[str], seed: int, settings: Settings) -> Job:
    from constrain.models.hf.model import HFModel

    tokenizer = tiny_tokenizer()
    handle = HFModel(tiny_llama(tokenizer), tokenizer)
    compiled = constrain.compile(constrain.regex(pattern), handle.vocabulary)
    return Job(
        model=handle,
        prompts=[tokenizer(prompt)["input_ids"] for prompt in prompts],
        matchers=[compiled.matcher() for _ in prompts],
        size=handle.vocabulary.size,
        eos_ids=handle.vocabulary.eos_ids,
        settings=settings,
        draw=TorchDraw(seed),
        streams=range(len(prompts)),
        token_bytes=handle.vocabulary.tokens,
    )


@pytest.mark.parametrize("boundary", ["token", "lexeme"])
@torch.no_grad()
def test_forks_of_a_real_model_keep_their_own_past(boundary: str) -> None:
    """After many resamplings, every particle's log p is what the model says of its tokens in one forward pass."""
    job = job_of_a_real_model("(true|false|null|[0-9]){1,5}", ["red ", "the green"], 1, Settings(max_tokens=24))
    samples = drive(SMC(particles=6, ess_threshold=1, boundary=boundary), job)
    for prompt, sample in zip(job.prompts, samples, strict=True):
        assert len(sample.population) == 6
        for each in sample.population:
            logits = job.model.model(torch.tensor([[*prompt, *each.tokens]])).logits[0, len(prompt) - 1 : -1]  # type: ignore[attr-defined]
            log_probs = logits.log_softmax(-1)[range(len(each.tokens)), each.tokens]
            assert log_probs.sum().item() == pytest.approx(each.log_prob, abs=1e-6)


def test_a_real_model_is_estimated_without_bias() -> None:
    """E[w 1(x)] = p(x) within the noise of 500 outputs, for each text and each way to spell it in tokens."""
    rows = 500
    job = job_of_a_real_model("true|null|00|[a-c]", ["the "] * rows, 7, Settings(max_tokens=5, temperature=4.0))
    table = MemberTable(shaped(job), 0, limit=1000, batch=64)
    samples = drive(SMC(particles=3, ess_threshold=1, resampling="stratified"), job)
    drawn = [(tuple(sample.tokens), math.exp(sample.log_weight - table.log_mass)) for sample in samples]
    assert len(table.members) == 13
    for member in table.members:
        p = math.exp(member.log_prob - table.log_mass)
        found = np.array([weight if tokens == tuple(member.tokens) else 0.0 for tokens, weight in drawn])
        if p * rows > 5:  # else too rare for the normal distribution
            assert abs(found.mean() - p) < 4.5 * found.std() / math.sqrt(rows)
    weights = np.array([weight for _, weight in drawn])
    assert abs(weights.mean() - 1) < 4.5 * weights.std() / math.sqrt(rows)
