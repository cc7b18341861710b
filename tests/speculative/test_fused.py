"""Fused rules against their eager twins: equal verdicts for equal uniform numbers, and the distribution by enumeration.

Kernels run by Triton's interpreter on the CPU, in a process of its own (`test_the_interpreter_runs_these`), or compiled
on a GPU. The twins' own distributions are enumerated in test_verifiers.py.
"""

import itertools
import math
import os
import subprocess
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sampling_cases import cases
from speculative_cases import context_of
from test_decode import branching
from test_verifiers import SIZE, World, distance, said, setting

from conftest import NIGHT, in_tiers
from constrain.device.graphs import USES, Kept
from constrain.errors import ConstrainError
from constrain.sampling import AWRS, MCMC, SIR, SMC, Job, Sample, Settings, TorchDraw, enumerate_draws, lcd
from constrain.sampling.core import step as steps
from constrain.sampling.core.sampler import drive
from constrain.sampling.core.step import by_kernels, step
from constrain.sampling.fused.batch import RULES, FusedOptions, FusedStep, Penalties
from constrain.sampling.processors import Counts, MinP, Repetition, StepContext
from constrain.speculative import BuiltTree, Case, DraftBudget, Fixed, Speculation, TreeBuilder, Verdict
from constrain.speculative.fused import Fused, FusedMatch, most_draws, packed, verdicts_of
from constrain.speculative.masks import TreeMasks
from constrain.speculative.rows import TargetRows
from constrain.speculative.tree import NONE
from constrain.speculative.verifiers import VERIFIERS, verifier_named
from constrain.speculative.verifiers.match import Match
from toy_model import TableModel
from tree_target import Drawn, Given, Oracle
from triton_interpreter import skip_where_numpy_is_too_new

INTERPRETED = os.environ.get("TRITON_INTERPRET") == "1"
COMPILED = torch.cuda.is_available() and not INTERPRETED
DEVICE = torch.device("cuda" if COMPILED else "cpu")
ON_KERNELS = pytest.mark.skipif(
    not (INTERPRETED or COMPILED), reason="no GPU; test_the_interpreter_runs_these starts them with TRITON_INTERPRET=1"
)
if INTERPRETED:  # PERF: it patches triton.language anew at each call of a function by another: two thirds of its time
    import triton.language as tl
    from triton.runtime import interpreter

    patch = interpreter._patch_lang

    def patch_once(fn: Any) -> Any:
        languages = [each for each in fn.__globals__.values() if each is tl or each is tl.core]
        done = languages and not any(tl.core.is_builtin(each.load) for each in languages)
        return interpreter._LangPatchScope() if done else patch(fn)

    interpreter._patch_lang = patch_once
SHAPES = {"chain": [(1, 1), (1, 3)], "with": [(2, 1), (3, 1), (2, 2)], "without": [(2, 1), (3, 1), (2, 2)]}
TARGETS = [
    Settings(), Settings(temperature=0.7), Settings(temperature=0.0), Settings(top_k=3), Settings(top_p=0.6),
    Settings(temperature=1.4, top_k=4, top_p=0.7),
]  # fmt: skip


class NoModel:
    """Nothing is asked of it: the logits are there."""

    width, ragged, context = 0, True, None

    def start(self, prefixes: Any, keep: Any) -> Any:
        raise NotImplementedError


def built(seed: int, rule: str, size: int, nodes: int = 9) -> BuiltTree:
    """A tree of drawn and given nodes, as a rule's drafts are built; some forced places, some nodes without space."""
    rng = np.random.default_rng([seed, 21])
    draws = verifier_named(rule).draws
    shapes = SHAPES.get(draws) or list(itertools.chain(*SHAPES.values()))
    width, depth = shapes[int(rng.integers(len(shapes)))]
    context = context_of(None, left=int(rng.choice([2, 9])), prompt=[])
    context = replace(context, setting=replace(context.setting, size=size, eos_ids=[2], draw=TorchDraw(seed)))
    drafts: list[Any] = [Drawn(seed, width, depth, replacement=draws == "with")]
    if rng.random() < 0.6:
        drafts.insert(int(rng.integers(2)), Given(seed, 4))
    budget = DraftBudget(nodes, 9)
    tree = TreeBuilder().build(context, [each.draft(context, budget) for each in drafts], budget, draws=draws)
    forced = np.where(rng.random(len(tree) + 1) < 0.15, rng.integers(0, size, len(tree) + 1), NONE).astype(np.int32)
    return replace(tree, forced=forced)


class Problem:
    """Several trees with random logits and masks."""

    def __init__(self, seed: int, rule: str, settings: Settings, size: int = 5, width: int = 7, trees: int = 3) -> None:
        rng = np.random.default_rng([seed, 22])
        self.settings, self.size = settings, size
        self.trees = [built(100 * seed + i, rule, size) for i in range(trees)]
        self.logits = [
            torch.tensor(rng.normal(size=(int(tree.read.sum()) + 1, width)) * rng.choice([0.5, 2, 8]))
            .float().masked_fill_(torch.tensor(rng.random((int(tree.read.sum()) + 1, width)) < 0.1), -torch.inf)
            for tree in self.trees
        ]  # fmt: skip
        for logits in self.logits:
            logits[:, 0].clamp_(min=-3.0)
        self.bitmask = rng.integers(0, 2**32, (4, -(-size // 32)), dtype=np.uint32) | np.uint32(seed % 4 != 0)
        self.masks = [rng.integers(-1, 4, len(tree) + 1, dtype=np.int32) for tree in self.trees]

    def cases(self, seed: int) -> tuple[list[Case], TorchDraw]:
        draw = TorchDraw(seed)
        job = Job(NoModel(), [], None, self.size, (), self.settings, draw, [])
        found = []
        for stream, (tree, logits, rows) in enumerate(zip(self.trees, self.logits, self.masks, strict=True)):
            masks = TreeMasks(job, tree, Sample(), self.bitmask[0])
            masks.bitmask, masks.rows, masks.complete = self.bitmask, rows, True
            target = TargetRows(
                masks, logits.to(DEVICE), settings=self.settings, draw=draw, stream=stream, size=self.size
            )
            found.append(Case(tree, target, stream))
        return found, draw

    def step(self, options: FusedOptions, rule: str, uniform: Any = None) -> FusedStep:
        """As the kernels see it."""
        uniform = np.zeros((len(self.trees), 1)) if uniform is None else uniform
        return packed(self.trees, self.masks, RULES[rule], [options], uniform, self.bitmask, DEVICE)


def entries_of(out: Any, trees: int) -> np.ndarray:
    found: np.ndarray = out.entries.cpu().numpy()[:trees]
    return found


def numbers(case: Case, verdict: Verdict) -> list[float]:
    """The numbers recorded of every token of a verdict."""
    if verdict.numbers:
        return [each for own in verdict.numbers[: None if verdict.token != NONE else -1] for each in own]
    rows: Any = case.rows
    tokens = [*(int(case.tree.tokens[node]) for node in verdict.path), verdict.token]
    places = [0, *(node + 1 for node in verdict.path)]
    return [each for at in zip(places, tokens, strict=True) if at[1] != NONE for each in rows.numbers(*at)]


def agree(problem: Problem, rule: str, seed: int) -> int:
    """Verdicts, numbers and used draws of the kernels are those of the eager rule; how many nodes were taken."""
    (ours, our_draw), (theirs, their_draw) = problem.cases(seed), problem.cases(seed)
    mine = Fused(rule, kernels=True).verify(ours, our_draw)
    expected = verifier_named(rule).verify(theirs, their_draw)
    for case, twin, found, right in zip(ours, theirs, mine, expected, strict=True):
        assert found == right, (rule, seed, problem.settings)
        assert numbers(case, found) == pytest.approx(numbers(twin, right), abs=2e-5, rel=1e-5)
        assert our_draw.peek(case.stream, 1) == their_draw.peek(case.stream, 1)
    return sum(len(each.path) for each in mine)


@ON_KERNELS
@in_tiers(3, 3, 10)
@pytest.mark.parametrize("rule", sorted(RULES))
def test_kernels_are_the_eager_rules(rule: str, seeds: range) -> None:
    """Each rule with three of the targets by day, which are others for the next rule, and with all at night."""
    assert RULES.keys() == VERIFIERS.keys()
    shift = sorted(RULES).index(rule)
    taken = sum(agree(Problem(seed, rule, TARGETS[(seed + shift) % len(TARGETS)]), rule, seed) for seed in seeds)
    assert taken > 0  # paths were followed


@ON_KERNELS
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_several_chunks_and_other_dtypes(dtype: torch.dtype) -> None:
    """Rows longer than a chunk; a rejected draft is taken out of all of them."""
    for rule in ("match", "recursive-without"):
        problem = Problem(3, rule, Settings(temperature=0.8), size=5_001, width=5_003, trees=1)
        problem.trees = [replace(tree, forced=np.full_like(tree.forced, NONE)) for tree in problem.trees]
        problem.logits = [each.to(dtype) for each in problem.logits]
        for seed in range(2):
            agree(problem, rule, seed)


# --- without drafts ---------------------------------------------------------------------------------------------------


@ON_KERNELS
@in_tiers(1, 1, 2)
@pytest.mark.parametrize("settings", TARGETS, ids=str)
@pytest.mark.parametrize("masked", [True, False])
def test_steps_without_drafts_are_those_of_the_library(settings: Settings, masked: bool, seeds: range) -> None:
    """Tokens, numbers, dead ends and draws that are used, for one row and for several."""
    for rows, seed in itertools.product((1, 3, 9), seeds):
        problem = Problem(100 * rows + seed, "match", settings, size=40, width=43, trees=rows)
        logits = torch.cat([each[:1] for each in problem.logits])
        words = np.concatenate([problem.bitmask] * 3)[:rows] * np.uint32(seed % 2 or rows != 3)
        mask = words if masked else None
        ours, theirs = TorchDraw(seed), TorchDraw(seed)
        given: dict[str, Any] = {"settings": settings, "streams": [7 + i for i in range(rows)], "size": 40}
        found = by_kernels(logits.to(DEVICE), mask, draw=ours, **given)
        expected = step(logits, mask, draw=theirs, **given)
        assert found is not None and found.token.tolist() == expected.token.tolist()
        for name in ("log_prob_raw", "log_prob_sampled", "log_z"):
            torch.testing.assert_close(getattr(found, name), getattr(expected, name), atol=2e-5, rtol=1e-5)
        assert all(ours.peek(stream, 1) == theirs.peek(stream, 1) for stream in given["streams"])


@ON_KERNELS
def test_steps_that_kernels_leave() -> None:
    """Float64, an enumerated draw, a stream that draws twice, and rows that are no logits."""
    logits = torch.zeros((2, 5), device=DEVICE)
    given: dict[str, Any] = {"settings": Settings(), "draw": TorchDraw(1), "streams": [0, 1], "size": 5}
    assert by_kernels(logits, None, **given) is not None
    assert by_kernels(logits.double(), None, **given) is None
    assert by_kernels(logits, None, **{**given, "draw": lambda *_: None}) is None
    assert by_kernels(logits, None, **{**given, "streams": [1, 1]}) is None
    assert by_kernels(logits[:0], None, **{**given, "streams": []}) is None
    assert by_kernels(logits * math.nan, None, **given) is None


# --- the law at a place -----------------------------------------------------------------------------------------------


def stated(problem: Problem, step: FusedStep) -> list[list[torch.Tensor]]:
    """By tree and place, the probabilities that the kernels' four numbers stand for."""
    from constrain.device import run

    logits = torch.cat(problem.logits).to(DEVICE)
    found = run.laws_of(run.scores_of(logits, step.bitmask, problem.size), step, chunk=32)
    count, _, places = step.trees.numbers.shape
    law, only = found.law.view(count, places, 4).cpu(), found.only.view(count, places).tolist()
    laws, row = [], 0
    for i, (tree, rows) in enumerate(zip(problem.trees, problem.masks, strict=True)):
        laws.append([])
        for place in np.flatnonzero(tree.logits_rows != NONE).tolist():
            x = logits[row].cpu().float()
            row += 1
            _, kept, _, least = law[i, place].tolist()
            allowed = allowed_by(problem, rows[place], len(x))
            p = (x / float(step.trees.reals[i, 0] or 1) - kept).double().exp() * (allowed & (x >= least))
            one_hot = torch.nn.functional.one_hot(torch.tensor(max(0, only[i][place])), len(x)).double()
            laws[-1].append(one_hot if only[i][place] >= 0 else p * (only[i][place] == NONE))
    return laws


def allowed_by(problem: Problem, row: int, width: int) -> torch.Tensor:
    if row == NONE:
        return torch.ones(width, dtype=torch.bool)
    bits = np.unpackbits(problem.bitmask[row].view(np.uint8), bitorder="little")[: problem.size]
    return torch.from_numpy(np.pad(bits, (0, width - problem.size))).bool()


@ON_KERNELS
@pytest.mark.parametrize(
    "ties, part",
    [(False, 0), (True, 1), pytest.param(False, 1, marks=NIGHT), pytest.param(True, 0, marks=NIGHT)],
)
def test_filters_are_those_of_the_library(ties: bool, part: int) -> None:
    """The kept tokens are equal, and their shares up to rounding; each tree has options of its own."""
    options = [(1.0, 0, 1.0), (1.0, 5, 1.0), (0.5, 0, 0.71), (1.7, 9, 0.83), (1.0, 500, 0.999), (1.0, 1, 0.1)][part::2]
    problem = Problem(31 + ties, "match", Settings(), size=60, width=67, trees=3)
    if ties:  # few different scores
        problem.logits = [each.round() for each in problem.logits]
    own = [FusedOptions(*each) for each in options]
    found = stated(
        problem, packed(problem.trees, problem.masks, RULES["match"], own, np.zeros((3, 1)), problem.bitmask, DEVICE)
    )
    for i, (temperature, top_k, top_p) in enumerate(options):
        settings = Settings(temperature=temperature, top_k=top_k or None, top_p=None if top_p == 1 else top_p)
        problem.settings = settings
        rows: Any = problem.cases(0)[0][i].rows
        read = np.flatnonzero(problem.trees[i].logits_rows != NONE).tolist()
        for place, law in zip(read, found[i], strict=True):
            expected = rows.probabilities(place)
            expected = torch.zeros_like(law) if expected is None else expected.cpu().double()
            assert torch.equal(law > 0, expected > 0), (settings, place)
            torch.testing.assert_close(law, expected, atol=2e-6, rtol=1e-5)


@ON_KERNELS
def test_ties_are_equal_scores_here_and_equal_probabilities_there() -> None:
    """The one difference of the filters: two scores whose probabilities are one float32."""
    problem = Problem(0, "match", Settings(top_k=1), size=3, width=3, trees=1)
    problem.trees = [replace(built(5, "match", 3, nodes=0), forced=np.array([NONE], np.int32))]
    problem.masks, problem.logits = [np.array([NONE], np.int32)], [torch.tensor([[1e-3, 1e-3 + 2e-10, -1.0]])]
    assert problem.logits[0][0, 0] != problem.logits[0][0, 1]
    ((law,),) = stated(problem, problem.step(FusedOptions(top_k=1), "match"))
    (case,), _ = problem.cases(0)
    assert (law > 0).tolist() == [False, True, False]
    assert (case.rows.probabilities(0) > 0).tolist() == [True, True, False]  # type: ignore[operator]


# --- processors: penalties and min-p ----------------------------------------------------------------------------------


def processed(logits: torch.Tensor, allowed: torch.Tensor, processors: Any, context: StepContext) -> torch.Tensor:
    """The logits of p'', by the definition in constrain/sampling/processors/core/model.py."""
    if int(allowed.sum()) < 2:
        return logits
    log_p = logits.double().log_softmax(-1)
    scores = logits.masked_fill(~allowed, -torch.inf)
    for each in processors:
        scores = each(scores, context).masked_fill(~allowed, -torch.inf)
    return torch.where(allowed, scores.double().log_softmax(-1) + log_p[allowed].logsumexp(-1), log_p)


@ON_KERNELS
@pytest.mark.parametrize("temperature", [0.0, 0.6, 1.0])
def test_penalties_and_min_p_are_the_processors(temperature: float) -> None:
    """Verdicts and numbers are those of an eager rule on the processed logits; then temperature, top-k and top-p."""
    from constrain.device import run

    problem = Problem(41, "recursive-without", Settings(temperature=temperature, top_k=6, top_p=0.9), 12, 14, 4)
    options = FusedOptions(temperature, 6, 0.9, 0.05)
    seen = (1, 3, 3, 3, 7, 13)
    processors = [Repetition(1.4, structural=True), Counts(presence=0.3, frequency=0.2, structural=True), MinP(0.05)]
    context = StepContext((5,), seen, 14)
    terms = {token: (0.0, 1.4, -(0.3 + 0.2 * seen.count(token))) for token in seen} | {5: (0.0, 1.4, 0.0)}
    places, values, changed_logits, row = [], [], [], 0
    step = problem.step(options, "recursive-without", None)
    for i, (tree, rows, logits) in enumerate(zip(problem.trees, problem.masks, problem.logits, strict=True)):
        changed_logits.append([])
        for place in np.flatnonzero(tree.logits_rows != NONE).tolist():
            given = logits[len(changed_logits[-1])]
            allowed = allowed_by(problem, rows[place], len(given))
            free = tree.forced[place] == NONE
            changed_logits[-1].append(processed(given, allowed, processors, context) if free else given.double())
            if free:
                places += [[i * step.trees.numbers.shape[2] + place, token] for token in terms]
                values += list(terms.values())
            row += 1
    listed = Penalties(torch.tensor(places, dtype=torch.int32).to(DEVICE), torch.tensor(values).to(DEVICE))
    problem_eager = Problem(41, "recursive-without", problem.settings, 12, 14, 4)
    problem_eager.logits = [torch.stack(each) for each in changed_logits]
    theirs, draw = problem_eager.cases(3)
    uniform = draw.peeks(
        [each.stream for each in theirs], [most_draws(each.tree, RULES["recursive-without"]) for each in theirs]
    )
    step = problem.step(options, "recursive-without", uniform)._replace(penalties=listed, processed=True)
    scores = run.scores_of(torch.cat(problem.logits).to(DEVICE), step.bitmask, problem.size)
    out = run.verdicts(scores, step, RULES["recursive-without"])
    expected = verifier_named("recursive-without").verify(theirs, draw)
    for case, found, right in zip(theirs, verdicts_of(entries_of(out, len(theirs)))[0], expected, strict=True):
        assert found == right
        assert numbers(case, found) == pytest.approx(numbers(case, right), abs=5e-5)


# --- the law of a verdict ---------------------------------------------------------------------------------------------


def outcomes(rule: str, world: World, trees: list[tuple[float, BuiltTree]]) -> list[tuple[float, tuple[int, ...]]]:
    """(probability, tokens) of every way in which the walks of the kernels can decide on trees of some probability.

    A walk says of each uniform number that it used between which bounds any other would have decided alike: the share
    of this outcome, and where the next one begins.
    """
    from constrain.device import run

    found = []
    pending = [(chance, tree, list[float]()) for chance, tree in trees]
    while pending:
        drafted, most = [tree for _, tree, _ in pending], max(len(given) for *_, given in pending)
        masks = [np.full(len(tree) + 1, NONE) for tree in drafted]
        uniform = np.array([given + [0.0] * (most - len(given)) for *_, given in pending])
        logits = torch.tensor(np.concatenate([table_logits(world, tree) for _, tree, _ in pending])).float()
        step = packed(drafted, masks, RULES[rule], [FusedOptions()], uniform, None, DEVICE)
        out = run.verdicts(run.scores_of(logits.to(DEVICE), step.bitmask, SIZE), step, RULES[rule], spans=True)
        (verdicts, used, _), spans, left = verdicts_of(entries_of(out, len(drafted))), out.spans.tolist(), []
        for (chance, tree, given), verdict, count, bounds in zip(pending, verdicts, used, spans, strict=False):
            numbers_used = [*given, *[0.0] * (count - len(given))]
            for k in range(max(0, len(given) - 1), count):  # what is before has its share in `chance`
                low, high = bounds[k]
                if high < 1 - 1e-6:  # sums of chunks are float32
                    left.append((chance, tree, [*numbers_used[:k], high + 1e-12]))
                chance *= high - low
            found.append((chance, said(tree, verdict)))
        pending = left
    return found


def table_logits(world: World, tree: BuiltTree) -> np.ndarray:
    """The target at the places that were read, by its table; one more logit than the vocabulary has."""
    prefixes = [[int(tree.tokens[node]) for node in tree.path(place)] for place in range(len(tree) + 1)]
    law = [[*world.target(prefixes[place]), 0.0] for place in np.flatnonzero(tree.logits_rows != NONE)]
    with np.errstate(divide="ignore"):
        return np.log(np.array(law))


@ON_KERNELS
@in_tiers(1, 1, 2)
@pytest.mark.parametrize("rule", sorted(RULES))
def test_the_law_of_the_kernels_is_the_target(rule: str, seeds: range) -> None:
    """Every draw of draft and walk: what is emitted, completed by the target, has the target's distribution."""
    for seed in seeds:
        draws = verifier_named(rule).draws
        width, depth = {"chain": (1, 2), "with": (2, 1), "without": (2, 2 - seed)}.get(draws, (1, 1))
        drafts: list[Any] = [Drawn(seed, width, depth, replacement=draws == "with", spine=True), Given(seed, 2)]
        context = replace(context_of(None, left=9, prompt=[]), setting=setting())

        def drafted(draw: Any, drafts: Any = drafts, context: Any = context, draws: str = draws) -> BuiltTree:
            here = replace(context, setting=replace(context.setting, draw=draw))
            return TreeBuilder().build(
                here, [each.draft(here, DraftBudget(9, 9)) for each in drafts], DraftBudget(9, 9), draws=draws
            )

        world = World(seed)
        assert distance(world, outcomes(rule, world, list(enumerate_draws(drafted))), 9) < 5e-6


# --- on a GPU ---------------------------------------------------------------------------------------------------------


@pytest.mark.skipif(INTERPRETED, reason="the interpreter compiles nothing")
@pytest.mark.parametrize("rule", ["laws", "match", "k-seq", "traversal", "recursive"])
def test_kernels_compile_for_a_gpu(rule: str) -> None:
    pytest.importorskip("triton")
    import compile_kernels

    from constrain.device.run import CHUNK

    code = compile_kernels.law_kernels() if rule == "laws" else [compile_kernels.walk_kernel(RULES[rule])]
    assert all(each["cubin"].startswith(b"\x7fELF") for each in code)
    if rule == "laws":  # one exponential a logit, by each of 128 threads
        assert 128 * code[0]["ptx"].count("ex2.approx") == CHUNK
    assert {RULES[name] for name in ("match", "k-seq", "traversal", "recursive")} == set(RULES.values())


@ON_KERNELS
def test_buffers_of_a_bucket_are_used_again() -> None:
    """Steps of one bucket, copied into the same tensors one after the other, give the results of fresh tensors."""
    from constrain.device import run

    rule = RULES["recursive"]
    problems = [Problem(seed, "recursive", Settings()) for seed in range(12)]
    uniform = np.random.default_rng(6).random((3, 64))
    steps = [
        each.step(FusedOptions(), "recursive", uniform[:, : max(most_draws(tree, rule) for tree in each.trees)])
        for each in problems
    ]
    logits = [[rows.to(DEVICE) for rows in each.logits] for each in problems]
    buckets = [run.Bucket.of(*each, rule, problems[0].size) for each in zip(logits, steps, strict=True)]
    bucket = max(buckets, key=buckets.count)
    same = [i for i, each in enumerate(buckets) if each == bucket][:3]
    assert len(same) > 1
    buffers = run.Buffers(logits[same[0]], steps[same[0]], problems[0].size)
    for i in same:
        buffers.fill(logits[i], steps[i])
        plain = run.scores_of(torch.cat(logits[i]), steps[i].bitmask, problems[i].size)
        found, expected = (
            run.verdicts(*each, rule).entries for each in ((buffers.scores, buffers.step), (plain, steps[i]))
        )
        assert torch.equal(found, expected)


@pytest.mark.parametrize(
    ("shares", "kept"),
    [([0.4] * 3, [1, 2]), ([0.1] * 9, list(range(9))), ([0.5, 0.2, 2.0, 0.2], [0, 1, 3]), ([1.0, 1.0], [1])],
)
def test_graphs_are_kept_by_their_bytes(shares: list[float], kept: list[int]) -> None:
    """The ones used last that fit; what never fits drives nothing out."""
    graphs: Kept[int, str] = Kept(100)
    for number, share in enumerate(shares):
        found = graphs.get(number, int(share * 100), lambda: "made")
        assert found == ("made" if share <= 1 else None)
    assert list(graphs.held) == kept
    graphs.get(kept[0], 1, lambda: "made again")
    assert list(graphs.held) == [*kept[1:], kept[0]] and graphs.held[kept[0]][0] == "made"


def test_a_graph_is_captured_at_its_third_use() -> None:
    graphs: Kept[str, int] = Kept(100, USES)
    made: list[str] = []

    def make(key: str) -> int:
        made.append(key)
        return len(made)

    assert [graphs.get(key, 1, partial(make, key)) for key in "aabaab"] == [None, None, None, 1, 1, None]
    assert made == ["a"]


def test_the_bytes_of_a_bucket() -> None:
    pytest.importorskip("triton")
    from constrain.device import run

    step = Problem(7, "recursive", Settings()).step(FusedOptions(), "recursive")
    logits = [torch.zeros((3, 100)), torch.zeros((6, 100))]
    sizes = [run.room_for(9) * 400, run.room_for(4) * 4, run.room_for(len(step.drafts.probs)) * step.drafts.width * 4]
    assert run.bytes_of(logits, step) == sum(sizes)


@pytest.mark.skipif(not COMPILED, reason="a CUDA graph needs a GPU")
@pytest.mark.parametrize("rule", sorted(RULES))
def test_graphs_give_the_verdicts_of_launches(rule: str) -> None:
    fused, plain = Fused(rule, kernels=True), Fused(rule, kernels=True, graphs=False)
    for seed in range(6):
        problem = Problem(7, rule, TARGETS[seed % 2])
        one, other = (each.verify(*problem.cases(seed)) for each in (fused, plain))
        assert one == other
    assert fused.steps.captured.held


@ON_KERNELS
def test_slots_that_move() -> None:
    """The path as indices among the nodes that were read: what keys and values are gathered by."""
    from constrain.device import run

    problem = Problem(8, "match", Settings())
    step = problem.step(FusedOptions(), "match", np.random.default_rng(5).random((3, 1)))
    scores = run.scores_of(torch.cat(problem.logits).to(DEVICE), step.bitmask, problem.size)
    out = run.verdicts(scores, step, RULES["match"])
    for tree, found, moved in zip(problem.trees, verdicts_of(entries_of(out, 3))[0], out.moved.tolist(), strict=False):
        rows = [int(tree.logits_rows[node + 1]) - 1 for node in found.path]
        assert moved == [*rows, *[NONE] * (len(moved) - len(rows))]


# --- whole decoders ---------------------------------------------------------------------------------------------------


@pytest.mark.skipif(not INTERPRETED, reason="test_the_interpreter_runs_these starts them with TRITON_INTERPRET=1")
@pytest.mark.parametrize("settings", [{}, {"temperature": 0.0}, {"temperature": 0.6, "top_k": 2}], ids=str)
def test_decoding_by_kernels(settings: dict[str, Any]) -> None:
    """Whole outputs are those of `lcd` for the same seeds; fewer forward passes."""
    saved = 0
    for seed, case in enumerate(cases(1, (1.0,))[:2]):
        given = Settings(max_tokens=case.settings.max_tokens, **settings)
        (plain,) = drive(lcd, branching(case.job(TorchDraw(seed), settings=given)))
        drafts = [Oracle(plain.tokens if seed else [*plain.tokens[:2], 0])]
        method = Speculation(drafts, verifier=FusedMatch(kernels=True), controller=Fixed(nodes=6, depth=6))
        (fast,) = drive(method, branching(case.job(TorchDraw(seed), settings=given)))
        assert fast.tokens == plain.tokens
        assert fast.log_prob == pytest.approx(plain.log_prob, abs=1e-4)
        assert fast.log_weight == pytest.approx(plain.log_weight, abs=1e-4)
        saved += plain.forwards - fast.forwards
    assert saved > 0


@ON_KERNELS
@pytest.mark.parametrize("rule", ["match", "token"])
@pytest.mark.parametrize("method", [lcd, SIR(samples=2), MCMC(steps=1)], ids=["lcd", "sir", "mcmc"])
def test_methods_that_verify_by_kernels(method: Any, rule: str) -> None:
    """Kernels are run, under `sir` and `mcmc` too, and outputs are those of the eager rule for the same seed."""
    ran, outputs = 0, []
    for verifier in (Fused(rule, kernels=True, graphs=False), verifier_named(rule)):
        job = branching(cases(1, (1.0,))[0].job(TorchDraw(3)))
        drafts = Speculation([Drawn(3, 1, 1)], verifier=verifier, controller=Fixed(nodes=2, depth=1))
        (sample,) = drive(drafts if method is lcd else method, replace(job, grow=drafts.complete))
        outputs.append(sample)
        ran += verifier.steps.run if isinstance(verifier, Fused) else 0
    assert ran > 0
    assert outputs[0].tokens == outputs[1].tokens
    assert outputs[0].log_weight == pytest.approx(outputs[1].log_weight, abs=1e-4)


@ON_KERNELS
@pytest.mark.parametrize("method", [lcd, SIR(samples=2), SMC(particles=2), AWRS()], ids=["lcd", "sir", "smc", "awrs"])
def test_methods_that_step_by_kernels(method: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Kernels choose each token where a device has them, also of `awrs` without a check, with the outputs of torch."""
    case, chosen, outputs = cases(1, (1.0,))[0], [], []

    def counted(*given: Any, **named: Any) -> Any:
        chosen.append(by_kernels(*given, **named))
        return chosen[-1]

    monkeypatch.setattr(steps, "by_kernels", counted)
    for has_kernels in (True, False):
        monkeypatch.setattr(steps, "runs_on", lambda device, has_kernels=has_kernels: has_kernels)
        (sample,) = drive(method, case.job(TorchDraw(3), model=TableModel(case.model.width, dtype=torch.float32)))
        outputs.append(sample)
    assert chosen
    assert None not in chosen
    assert outputs[0].tokens == outputs[1].tokens
    assert outputs[0].log_weight == pytest.approx(outputs[1].log_weight, abs=1e-4)


@ON_KERNELS
def test_faulty_rows_are_named_by_the_eager_rule() -> None:
    problem = Problem(9, "match", Settings())
    for number in (math.nan, math.inf):
        problem.logits[1][:, 3] = number
        with pytest.raises(ConstrainError, match="the model's logits contain"):
            Fused("match", kernels=True).verify(*problem.cases(0))


@pytest.mark.skipif(INTERPRETED, reason="is running")
@pytest.mark.parametrize("tier", ["not nightly", pytest.param("nightly", marks=NIGHT)])
def test_the_interpreter_runs_these(tier: str) -> None:
    """Triton reads TRITON_INTERPRET when it is imported, so a process of its own."""
    pytest.importorskip("triton", reason="no triton: the kernels were not run")
    environment = {**os.environ, "TRITON_INTERPRET": "1"}
    command = [sys.executable, "-m", "pytest", "-v", "-p", "no:cacheprovider", "-m", tier, str(Path(__file__))]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    skip_where_numpy_is_too_new(done.stdout)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-2000:]
    assert " passed" in done.stdout


# --- without kernels --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rule", sorted(RULES))
def test_without_a_gpu_the_eager_rule_verifies(rule: str) -> None:
    problem = Problem(2, rule, Settings())
    fused, eager = Fused(rule, kernels=False), verifier_named(rule)
    assert fused.verify(*problem.cases(4)) == eager.verify(*problem.cases(4))
    assert (fused.name, fused.draws) == (f"fused-{rule}", eager.draws)


def test_rules_that_are_not_fused() -> None:
    with pytest.raises(ConstrainError, match="the rule 'typical' is not fused\n  fix: choose one of: block, "):
        Fused("typical")
    with pytest.raises(ConstrainError, match="there is no verifier 'guess'"):
        Fused("guess")
    assert isinstance(FusedMatch().otherwise, Match)


def test_peeking_does_not_change_what_is_drawn() -> None:
    law = torch.full((1, 1000), 1e-3)
    plain, peeked = TorchDraw(5), TorchDraw(5)
    expected = [int(plain(law, [7])) for _ in range(66)]
    found = []
    for used in (0, 2, 41, 1):
        assert len(peeked.peek(7, 53)) == 53
        found += [int(1000 * number) for number in peeked.peek(7, used)]
        peeked.skip(7, used)
    found += [int(peeked(law, [7])) for _ in range(22)]
    assert found == expected
