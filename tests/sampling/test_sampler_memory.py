"""`Memory`: what is learnt is kept, told apart by target, bounded, and the same after a trip to the disk."""

import copy
import math
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sampling_cases import Case, cases, conditional, exact, law_of, mass, outcomes, weighted

from constrain.errors import ConstrainError
from constrain.sampling import CARS, ASAp, Memory, Settings, TorchDraw
from constrain.sampling.core.sampler import drive


def learnt(case: Case, draws: int, **options: Any) -> Memory:
    memory = Memory(**options)
    for i in range(draws):
        drive(ASAp(memory=memory), case.job(TorchDraw(case.seed + 100 * i), 2))
    return memory


@pytest.mark.parametrize("case", cases(3), ids=str)
def test_a_reloaded_memory_gives_identical_laws(case: Case, tmp_path: Path) -> None:
    memory = learnt(case, 3)
    memory.save(tmp_path / "memory.npz")
    loaded = Memory.load(tmp_path / "memory.npz")
    assert (len(loaded), loaded.nodes) == (len(memory), memory.nodes)
    for method in (CARS, ASAp):
        options = {"attempts": 1} if method is CARS else {}
        laws = []
        for known in (memory, loaded):
            found = outcomes(case, lambda: method(memory=copy.deepcopy(known), **options))  # noqa: B023
            laws.append([(q, s.tokens, s.log_weight, s.trace, s.evidence_bounds) for q, (s,) in found])
        assert laws[0] == laws[1]
    # And it learns on as the other would have.
    for known in (memory, loaded):
        drive(CARS(memory=known, attempts=3), case.job(TorchDraw(9), 2))
    bounds = [known.trie(case.job(TorchDraw(0)), 0).bounds for known in (memory, loaded)]
    assert bounds[0] == bounds[1]


@pytest.mark.parametrize("nodes", [2, 3, 5, 9])
@pytest.mark.parametrize("language", ["skewed", "ambiguous", "twins", "dead end"])
def test_a_full_memory_stays_exact(language: str, nodes: int) -> None:
    for seed in range(4):
        case = Case(language, seed, 1.5)
        truth = exact(case)
        memory = learnt(case, 6, max_nodes=nodes)
        assert memory.nodes <= nodes
        assert memory.nodes == nodes or language == "dead end"
        found = [(q, s) for q, (s,) in outcomes(case, lambda: CARS(memory=copy.deepcopy(memory), attempts=1))]  # noqa: B023
        law = law_of(found)
        success = math.fsum(law.values())
        assert {x: q / success for x, q in law.items()} == pytest.approx(conditional(truth), abs=1e-10)
        _, theta = memory.trie(case.job(TorchDraw(0)), 0).bounds
        assert success * math.exp(theta) == pytest.approx(mass(truth), rel=1e-9)
        found = [(q, s) for q, (s,) in outcomes(case, lambda: ASAp(memory=copy.deepcopy(memory)))]  # noqa: B023
        assert weighted(found) == pytest.approx({x: math.exp(p) for x, p in truth.items()}, rel=1e-9)


@pytest.mark.parametrize("language", ["optional tail", "cut"])
def test_everything_seen_is_everything_known(language: str) -> None:
    """Once all members were drawn the bounds meet, and CARS never fails; what is too long is known to be no member."""
    case = Case(language, 1, 0.5, Settings(max_tokens=3 if language == "cut" else 9))
    memory = Memory()
    drive(CARS(memory=memory), case.job(TorchDraw(1), 80))
    seen, theta = memory.trie(case.job(TorchDraw(0)), 0).bounds
    assert seen == pytest.approx(theta, abs=1e-12)
    assert seen == pytest.approx(math.log(mass(exact(case))), abs=1e-12)
    samples = drive(CARS(memory=memory, attempts=1), case.job(TorchDraw(2), 40))
    assert {sample.finish_reason for sample in samples} == {"stop"}
    (sample,) = drive(ASAp(memory=memory), case.job(TorchDraw(2)))
    assert sample.tv_bound == pytest.approx(0, abs=1e-12)


def test_targets_are_told_apart() -> None:
    case, memory = Case("skewed", 0), Memory()
    job = case.job(TorchDraw(0))
    settings = job.settings
    targets = [
        job,
        replace(job, prompts=[[0]]),
        replace(job, row_keys=["particular"]),
        replace(job, constraint_key="other"),
        replace(job, settings=replace(settings, temperature=0.5)),
        replace(job, settings=replace(settings, top_k=3)),
        replace(job, settings=replace(settings, top_p=0.5)),
        replace(job, settings=replace(settings, max_tokens=8)),
    ]
    tries = [memory.trie(target, 0) for target in targets]
    assert len({id(trie) for trie in tries}) == len(tries) == len(memory)
    assert memory.trie(case.job(TorchDraw(5)), 0) is tries[0]


def test_the_oldest_target_is_forgotten_first() -> None:
    case, memory = Case("skewed", 0), Memory(max_targets=2)
    jobs = [case.job(TorchDraw(0), constraint_key=key) for key in "abc"]
    first, second = memory.trie(jobs[0], 0), memory.trie(jobs[1], 0)
    assert memory.trie(jobs[0], 0) is first
    memory.trie(jobs[2], 0)
    assert memory.trie(jobs[0], 0) is first
    assert memory.trie(jobs[1], 0) is not second
    assert len(memory) == 2


def test_a_constraint_without_a_key_is_an_error() -> None:
    with pytest.raises(ConstrainError) as caught:
        drive(CARS(memory=Memory()), Case("skewed", 0).job(TorchDraw(0), constraint_key=""))
    assert str(caught.value) == (
        "a Memory must know which constraint it remembers, and this job does not say\n"
        "  fix: set Job.constraint_key to something that tells this constraint, on this vocabulary, from others"
    )


def test_files_that_are_no_memories(tmp_path: Path) -> None:
    good, path = tmp_path / "good.npz", tmp_path / "bad.npz"
    learnt(Case("skewed", 0), 2).save(good)
    with np.load(good) as file:
        arrays = dict(file)
    cyclic = {**arrays, "0.parent": arrays["0.parent"] + 1}
    short = {**arrays, "0.token": arrays["0.token"][:-1]}
    old = {**arrays, "header": np.frombuffer(b'{"format": "constrain memory 0"}', np.uint8)}
    pickled = {**arrays, "0.token": np.array([{}, 1], object)}
    bare = {name: array for name, array in arrays.items() if name != "0.log_p"}
    nan = {**arrays, "0.log_rest": arrays["0.log_rest"] * np.nan}
    for damaged in (cyclic, short, old, pickled, bare, nan, {}):
        np.savez(path, **damaged)
        with pytest.raises(ConstrainError, match="is no saved memory: "):
            Memory.load(path)
    for content in (b"", b"not a zip", good.read_bytes()[:200]):
        path.write_bytes(content)
        with pytest.raises(ConstrainError, match="is no saved memory: "):
            Memory.load(path)
    with pytest.raises(FileNotFoundError):
        Memory.load(tmp_path / "nothing.npz")
    assert zipfile.is_zipfile(good)
    assert sorted(each.name for each in tmp_path.iterdir()) == ["bad.npz", "good.npz"]


@pytest.mark.parametrize("options", [{"max_nodes": 1}, {"max_targets": 0}, {"max_nodes": "many"}])
def test_bad_options(options: dict[str, Any]) -> None:
    with pytest.raises(ConstrainError, match="must be an int of at least"):
        Memory(**options)
