"""`smc` that is compared where drafts end, by enumeration: under each rule every text is properly weighted."""

import math
from collections.abc import Callable
from dataclasses import replace
from itertools import product
from typing import Any

import pytest
import torch
from matrix_cases import PROMPT, handle
from sampling_cases import Case, cases, exact, weighted
from speculative_cases import branching
from tiny_cases import LETTERS, Taste, Tiny, membership, tiny_cases

import constrain
from constrain.errors import ConstrainError
from constrain.papers import Weighed
from constrain.sampling import MCMC, SIR, SMC, Faithful, Job, Sample, Settings, TokenRejection, TorchDraw
from constrain.sampling.core.draw import enumerate_draws
from constrain.sampling.core.potentials import predicate
from constrain.sampling.core.sampler import drive
from constrain.sampling.methods.smc import AWRS
from constrain.speculative import (
    Context,
    DraftBudget,
    Drafter,
    DraftTree,
    Fixed,
    LegalWords,
    Model,
    Speculation,
    given_paths,
    verifier_named,
)
from toy_matcher import ToyConstraint
from tree_target import Drawn, Given, TreeTable

TINY = 1e-10
Drafts = Callable[[], Speculation] | None


def _drawing(rule: Any, seed: int, depth: int = 1, **given: Any) -> Speculation:
    """Tokens drawn as a rule wants it, from a distribution that misses some; others are given beside them."""
    verifier = verifier_named(rule) if isinstance(rule, str) else rule
    width, replacement = (1 if verifier.draws == "chain" else 2), verifier.draws == "with"
    drafter = Drawn(seed, width, depth, replacement=replacement, **given)
    return Speculation([drafter, Given(seed, 2)], verifier=verifier, controller=Fixed(width * depth, depth))


DRAFTS: dict[str, Callable[[int], Drafts]] = {
    "none": lambda seed: None,
    "match": lambda seed: lambda: Speculation([Given(seed, 4), LegalWords()], controller=Fixed(6, 3)),
    "token": lambda seed: lambda: _drawing("token", seed),
    "block": lambda seed: lambda: _drawing("block", seed),
    "recursive": lambda seed: lambda: _drawing("recursive", seed),
    "traversal": lambda seed: lambda: _drawing("traversal", seed),
    "weighed": lambda seed: lambda: _drawing(Weighed((0.1, 0.5, 1.0)[seed % 3]), seed),
    "weighed, unmasked": lambda seed: lambda: _drawing(Weighed(0.2), seed, masked=False),
}


def drafted(job: Job, drafts: Drafts, trees: bool = True) -> Job:
    """The job as `generate` makes it: what matches is read ahead, other rules choose."""
    job = branching(job) if trees else job
    if drafts is None:
        return job
    made = drafts()
    return replace(made.ahead(job), grow=None if made.matches else made.complete)


def check(
    case: Case, method: Any, drafts: Drafts, target: dict[tuple[int, ...], float], trees: bool = True, **changes: Any
) -> list[Sample]:
    """The probabilities add up, every text is properly weighted, and the evidence has the right mean."""

    def run(draw: Any) -> Sample:
        job = case.job(draw, token_bytes=case.constraint.vocabulary.tokens, **changes)
        return drive(method, drafted(job, drafts, trees))[0]

    found = list(enumerate_draws(run))
    assert math.fsum(q for q, _ in found) == pytest.approx(1, abs=TINY)
    rounding = 1e-12 * math.fsum(target.values())  # a share of 1e-15 is lost where draws are compared with sums
    assert weighted(found) == pytest.approx(target, rel=1e-9, abs=rounding)
    evidence = math.fsum(q * math.exp(sample.log_evidence or 0) for q, sample in found)
    assert evidence == pytest.approx(math.fsum(target.values()), rel=1e-9)
    for _, sample in found:
        assert (sample.log_weight == -math.inf) == (sample.finish_reason != "stop")
        assert all(each.finish_reason == "stop" for each in sample.population if each.log_weight > -math.inf)
        assert {count.fault for count in sample.drafts.values()} <= {None}
    return [sample for _, sample in found]


def law(case: Case) -> dict[tuple[int, ...], float]:
    """p of each member."""
    return {tokens: math.exp(log) for tokens, log in exact(case).items()}


def many(case: Tiny, name: str) -> None:
    """A case under its own combination of options; a soft potential in two of three."""
    taste = None if case.seed % 3 == 0 else Taste(case, case.seed)
    method = SMC(
        particles=1 if case.language == "branching" and name not in ("none", "match") else 2,
        ess_threshold=(1.0, 0.7)[case.seed % 2], boundary="draft", potential=taste, twist=case.seed % 4 != 3,
        resampling=("multinomial", "stratified", "systematic", "residual")[case.seed % 4],
    )  # fmt: skip
    check(case, method, DRAFTS[name](case.seed), taste.target() if taste else law(case), trees=case.seed % 2 == 0)


@pytest.mark.parametrize("name", DRAFTS)
@pytest.mark.parametrize("case", tiny_cases(2, first=1), ids=str)
def test_every_text_is_properly_weighted(case: Tiny, name: str) -> None:
    """14 models under each rule."""
    if name in ("recursive", "traversal"):
        case = replace(case, seed=2 * case.seed)  # siblings need a target that reads trees
    many(case, name)


@pytest.mark.slow
@pytest.mark.parametrize("name", DRAFTS)
@pytest.mark.parametrize("seed", range(3, 20))
def test_many_models(seed: int, name: str) -> None:
    """119 models under each rule."""
    for case in tiny_cases(1, first=2 * seed if name in ("recursive", "traversal") else seed):
        many(case, name)


@pytest.mark.parametrize("case", [case for case in cases(1) if case.language not in ("skewed", "cut")], ids=str)
def test_languages_of_all_kinds(case: Case) -> None:
    """Dyck words, dead ends, forced chains, several segmentations, twin ids, in blocks of two drawn tokens."""
    case = replace(case, settings=Settings(max_tokens={"dyck": 5, "twins": 3}.get(case.language, 9)))
    taste = Taste(case, case.seed)
    method = SMC(particles=1, boundary="draft", potential=taste)
    check(case, method, lambda: _drawing(Weighed(), case.seed, depth=2), taste.target())
    check(case, SMC(particles=2, ess_threshold=1, boundary="draft"), DRAFTS["match"](case.seed), law(case))


@pytest.mark.parametrize("language, limit", [("cut", 1), ("cut", 2), ("forced chain", 2), ("forced chain", 4)])
@pytest.mark.parametrize("name", ["none", "match", "weighed"])
def test_what_does_not_fit_has_no_weight(language: str, limit: int, name: str) -> None:
    case = Case(language, 1, settings=Settings(max_tokens=limit))
    found = check(case, SMC(particles=2, ess_threshold=1, boundary="draft"), DRAFTS[name](1), law(case))
    if not exact(case):
        assert {(sample.finish_reason, sample.log_evidence) for sample in found} == {("length", -math.inf)}


@pytest.mark.parametrize("name", ["none", "match", "token", "weighed"])
def test_a_check_is_asked_about_blocks(name: str) -> None:
    """Without a mask; and after one, where the check refuses what is forced, or everything."""
    case = Tiny("two", 3, 1.5, Settings(max_tokens=3))
    method = SMC(particles=1, boundary="draft", check=membership(case), potential=Taste(case))
    check(case, method, DRAFTS[name](3), Taste(case).target(), matchers=None)
    forced = Case("forced chain", 2)
    for refused, truth in [("bc", {t: p for t, p in law(forced).items() if t[0] != 1}), ("", {})]:
        late = predicate(lambda text, refused=refused: not text.startswith(refused), on="prefix")
        method = SMC(particles=2, check=late, ess_threshold=1, boundary="draft")
        found = check(forced, method, DRAFTS[name](2), truth)
        assert {sample.finish_reason for sample in found} <= {"stop", "dead_end"}
        assert all(sample.evaluations > 0 for sample in found)


@pytest.mark.parametrize("rule", ["token", "weighed"])
def test_samples_without_resampling(rule: str) -> None:
    """`sir` counts the weights of drafts, too."""
    for case in tiny_cases(1):
        check(case, SIR(samples=2), DRAFTS[rule](case.seed), law(case))


def test_a_weight_is_bounded_by_the_share_of_the_target() -> None:
    """p / q̃ ≤ Z / ε, whatever is drafted; where the target draws all, q̃ is the masked target."""
    for own in (0.25, 1.0):
        for case in tiny_cases(2):
            for sample in check(case, SIR(samples=1), lambda own=own: _drawing(Weighed(own), 3), law(case)):
                for record in sample.trace:
                    ratio = record.log_prob_raw - record.log_prob_sampled
                    assert ratio <= record.log_z - math.log(own) + 1e-9
                    assert own < 1 or ratio == pytest.approx(record.log_z, abs=1e-9)


@pytest.mark.parametrize("name", ["none", "match", "token", "weighed"])
def test_rows_are_independent(name: str) -> None:
    """Rows of a batch say what they say alone; their counts are their own."""
    case, method = Case("dyck", 4, 1.0), SMC(particles=3, ess_threshold=1, boundary="draft")
    tokens = {"token_bytes": case.constraint.vocabulary.tokens}
    prompts = [[0, 1], [0], [1, 1, 0]]
    batch = drive(method, drafted(case.job(TorchDraw(4), 3, prompts=prompts, **tokens), DRAFTS[name](3)))
    for row, prompt in enumerate(prompts):
        job = drafted(case.job(TorchDraw(4), prompts=[prompt], streams=[row], **tokens), DRAFTS[name](3))
        (alone,) = drive(method, job)
        assert (alone.tokens, len(alone.population)) == (batch[row].tokens, 3)
        assert alone.log_weight == pytest.approx(batch[row].log_weight, abs=1e-9)
        assert (alone.forwards, alone.masks) == (batch[row].forwards, batch[row].masks)
        assert alone.forwards > 0 < alone.masks


class Ahead(Drafter):
    """All texts of two letters, but of one letter behind a text that is "a": later, some are known where others end."""

    name = "ahead"

    def draft(self, context: Context, budget: DraftBudget) -> DraftTree:
        written = list(context.tokens[context.prompt :])
        return given_paths(product((0, 1), repeat=1 if written == [0] else 2), log_probs=-0.1)


def test_nobody_waits() -> None:
    """A forward pass for the particle that needs most, not for each place where one needs it."""
    nine = ToyConstraint(LETTERS, is_prefix=lambda text: len(text) <= 9, is_member=lambda text: len(text) == 9)
    passes = {"token": 0, "draft": 0}
    for seed, boundary in product(range(4), passes):
        model = TreeTable(3, seed, 0.3)
        job = Job(model, [[0, 1]], [nine.matcher()], 3, [2], Settings(max_tokens=10), TorchDraw(seed), [0])
        speculation = Speculation([Ahead()], controller=Fixed(6, 2, least=0))
        drive(SMC(particles=6, boundary=boundary), speculation.ahead(job))
        passes[boundary] += model.forwards
    assert passes["draft"] <= 4 * (1 + 4)
    assert passes["token"] > 4 * (1 + 5)


# --- real models, and `generate` --------------------------------------------------------------------------------------

PATTERN = "(red|green|name|age|0){1,6}"


@pytest.mark.parametrize("rule", ["match", "token", "weighed"])
@torch.no_grad()
def test_forks_of_a_real_model_keep_their_own_past(rule: str) -> None:
    """After many resamplings, every particle's log p is what the model says of its tokens in one forward pass."""
    target = handle()
    draft = Speculation([Model(handle(1)), "words"], verifier=rule, controller=Fixed(6, 3))
    outputs = constrain.generate(
        target, [PROMPT, "red"], regex=PATTERN, draft=draft, max_tokens=14, seed=2,
        method=SMC(particles=5, ess_threshold=1, boundary="draft"),
    )  # fmt: skip
    for output, prompt in zip(outputs, [PROMPT, "red"], strict=True):
        ids = target.tokenizer(prompt)["input_ids"]
        assert len(output.population) == 5
        assert sum(count.drafted for count in output.stats.drafts.values()) > 0
        for each in output.population:
            logits = target.model(torch.tensor([[*ids, *each.tokens]])).logits[0, len(ids) - 1 : -1]
            log_probs = logits.log_softmax(-1)[range(len(each.tokens)), each.tokens]
            assert log_probs.sum().item() == pytest.approx(each.logprob, abs=1e-6)


def test_methods_that_count_weights() -> None:
    """Others refuse a verifier that weighs, before a model is loaded; so does its own loop."""
    draft = Speculation(["ngram"], verifier="weighed")
    given = {"regex": "red|green", "seed": 1, "draft": draft}
    for method, message in [
        ("lcd", "'weighed' draws by drafts and weighs, and the method 'lcd' does not"),
        (MCMC(steps=1), "draws by drafts and weighs, and the method 'mcmc' does not"),
        ("smc", "'weighed' chooses tokens itself, and so does the method 'smc'"),
        (AWRS(), "chooses tokens itself, and so does the method 'awrs'"),
    ]:
        with pytest.raises(ConstrainError, match=message):
            constrain.generate("no model", PROMPT, method=method, **given)
    with pytest.raises(ConstrainError, match="draws by drafts and weighs"):
        drive(draft, Case("dyck", 1).job(TorchDraw(1)))
    for method in (SIR(samples=2), Faithful(prefixes=0, attempts=0, pilot=2), SMC(particles=2, boundary="draft")):
        assert constrain.generate(handle(), PROMPT, method=method, **given).log_weight <= 0


def test_bad_options() -> None:
    for options, message in [
        ({"children": 2}, "children are chosen among at each token"),
        ({"resampling": "optimal"}, "children are chosen among at each token"),
        ({"rejection": TokenRejection(), "check": predicate(bool)}, "rejection asks a check at each token"),
    ]:
        with pytest.raises(ConstrainError, match=message):
            SMC(boundary="draft", **options)
    for own, message in [(0, "texts that no drafter draws would be missed"), (1.5, "own must be a number from 0 to 1")]:
        with pytest.raises(ConstrainError, match=message):
            Weighed(own)
    with pytest.raises(ConstrainError, match="temperature 0 leaves nothing to sample"):
        drive(SMC(boundary="draft"), Tiny("two", 1, settings=Settings(temperature=0)).job(TorchDraw(0)))
