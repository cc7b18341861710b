"""`lcd` against the definition: its whole decision tree is walked, so distributions and weights are exact, not
sampled."""

import math

import numpy as np
import pytest
from sampling_cases import LETTERS, PROMPT, TWINS, WORDS, dyck, members, no_draw

from constrain.sampling import Draw, Job, Sample, Settings, TorchDraw, enumerate_draws, lcd
from toy_matcher import ToyConstraint, ToyVocabulary
from toy_model import TableModel

TINY = 1e-12


def run(job: Job) -> list[Sample]:
    generator = lcd(job)
    streamed: list[list[int]] = [[] for _ in job.prompts]
    while True:
        try:
            row, tokens = next(generator)
        except StopIteration as stop:
            samples: list[Sample] = stop.value
            break
        streamed[row] += tokens
    assert [sample.tokens for sample in samples] == streamed
    return samples


def job_for(model: TableModel, constraint: ToyConstraint, draw: Draw, rows: int = 1, **settings: object) -> Job:
    vocabulary = constraint.vocabulary
    return Job(
        model=model,
        prompts=[PROMPT] * rows,
        matchers=[constraint.matcher() for _ in range(rows)],
        size=vocabulary.size,
        eos_ids=vocabulary.eos_ids,
        settings=Settings(**settings),  # type: ignore[arg-type]
        draw=draw,
        streams=range(rows),
    )


def law(
    model: TableModel, constraint: ToyConstraint, **settings: object
) -> dict[tuple[int, ...], tuple[float, Sample]]:
    """Every output of one row with its exact probability; the same output by two ways would show as a clash."""
    outputs = {}
    for probability, (sample,) in enumerate_draws(lambda draw: run(job_for(model, constraint, draw, **settings))):
        assert tuple(sample.tokens) not in outputs
        outputs[tuple(sample.tokens)] = (probability, sample)
    return outputs


BITS = ToyVocabulary([b"0", b"1", b"00", b"11", None], [4])
BRACKETS = ToyVocabulary([b"(", b")", b"()", b")(", None], [4])
LANGUAGES = {
    "booleans": ToyConstraint(WORDS, [b"true", b"false"]),
    "skewed": ToyConstraint(BITS, [b"00000", *(b"1" + f"{i:04b}".encode() for i in range(16))]),
    "twins": ToyConstraint(TWINS, [b"ab", b"aab", b"b", b"ba"]),
    "one member": ToyConstraint(WORDS, [b"true"]),
    "only the empty text": ToyConstraint(WORDS, [b""]),
    "one forced path": ToyConstraint(LETTERS, [b"abcabc"]),
    "optional tail": ToyConstraint(LETTERS, [b"a", b"abc", b"cb"]),
    "dyck": ToyConstraint(BRACKETS, is_prefix=lambda t: dyck(t, 6)[0], is_member=lambda t: dyck(t, 6)[1]),
}


@pytest.mark.parametrize("name", LANGUAGES)
@pytest.mark.parametrize("seed", range(26))
def test_every_output_is_properly_weighted(name: str, seed: int) -> None:
    """208 models, every fourth of them sharp, so that valid masses below 1e-5 are common."""
    constraint = LANGUAGES[name]
    spread, extra = ((1.0, 0), (3.0, 3), (30.0, 0), (2.0, 1))[seed % 4]
    model = TableModel(constraint.vocabulary.size + extra, seed, spread)  # some models are wider than the vocabulary
    exact = members(model, constraint)
    outputs = law(model, constraint)
    assert outputs.keys() == exact.keys()
    assert math.fsum(q for q, _ in outputs.values()) == pytest.approx(1, abs=TINY)
    for tokens, (q, sample) in outputs.items():
        assert sample.finish_reason == "stop"
        assert sample.log_prob == pytest.approx(exact[tokens], rel=TINY, abs=TINY)
        assert math.log(q) + sample.log_weight == pytest.approx(exact[tokens], rel=TINY, abs=TINY)
    evidence = math.fsum(q * math.exp(sample.log_weight) for q, sample in outputs.values())
    assert evidence == pytest.approx(math.fsum(map(math.exp, exact.values())), rel=1e-10, abs=TINY)


@pytest.mark.parametrize("name", LANGUAGES)
def test_the_trace_adds_up(name: str) -> None:
    constraint = LANGUAGES[name]
    model = TableModel(constraint.vocabulary.size, seed=5)
    for q, sample in law(model, constraint).values():
        trace = sample.trace
        assert [record.token for record in trace] == sample.tokens
        assert math.fsum(record.log_prob_raw for record in trace) == pytest.approx(sample.log_prob, abs=TINY)
        assert math.fsum(record.log_z for record in trace) == pytest.approx(sample.log_weight, abs=TINY)
        assert math.fsum(record.log_prob_sampled for record in trace) == pytest.approx(math.log(q), abs=TINY)
        assert all(record.log_prob_raw == record.log_z for record in trace if record.forced)


@pytest.mark.parametrize("temperature", [0.25, 0.7, 2.0])
def test_temperature_shapes_the_model(temperature: float) -> None:
    constraint = LANGUAGES["twins"]
    cold, plain = TableModel(6, seed=3), TableModel(6, seed=3)
    for prefix, (_, sample) in law(plain, constraint, temperature=temperature).items():
        cold.fixed = {p: logits / temperature for p, logits in plain.fixed.items()}
        assert sample.log_prob == pytest.approx(members(cold, constraint)[prefix], rel=TINY)


@pytest.mark.parametrize("settings", [{"top_k": 1}, {"top_k": 2}, {"top_p": 0.6}, {"top_k": 3, "top_p": 0.9}])
@pytest.mark.parametrize("name", ["skewed", "twins", "dyck"])
def test_truncation_is_part_of_q_and_weighted(name: str, settings: dict[str, float]) -> None:
    constraint = LANGUAGES[name]
    model = TableModel(constraint.vocabulary.size, seed=8)
    exact = members(model, constraint)
    outputs = law(model, constraint, **settings)
    assert outputs.keys() < exact.keys()
    assert math.fsum(q for q, _ in outputs.values()) == pytest.approx(1, abs=TINY)
    for tokens, (q, sample) in outputs.items():
        assert math.log(q) + sample.log_weight == pytest.approx(exact[tokens], abs=1e-11)


@pytest.mark.parametrize("limit", [1, 2, 3, 4, 5])
def test_a_length_limit_keeps_the_members_that_fit(limit: int) -> None:
    constraint = LANGUAGES["skewed"]
    model = TableModel(constraint.vocabulary.size, seed=4)
    exact = members(model, constraint, limit)
    outputs = law(model, constraint, max_tokens=limit)
    stopped = {tokens: (q, s) for tokens, (q, s) in outputs.items() if s.finish_reason == "stop"}
    assert stopped.keys() == exact.keys()
    for tokens, (q, sample) in stopped.items():
        assert math.log(q) + sample.log_weight == pytest.approx(exact[tokens], abs=TINY)
    for tokens, (_, sample) in outputs.items():
        assert sample.finish_reason in ("stop", "length")
        assert len(tokens) <= limit
        assert (tokens[-1] in constraint.vocabulary.eos_ids) == (sample.finish_reason == "stop")


def test_the_context_limits_too() -> None:
    constraint = LANGUAGES["skewed"]
    model = TableModel(constraint.vocabulary.size, seed=4)
    model.context = len(PROMPT) + 2
    for tokens, (_, sample) in law(model, constraint).items():
        assert sample.finish_reason == "length"
        assert len(tokens) == 2


def test_a_dead_end_has_no_weight() -> None:
    vocabulary = ToyVocabulary([b"a", b"b", None], [2])
    # An engine that promises too much: "b" leads nowhere.
    constraint = ToyConstraint(vocabulary, is_prefix=lambda t: t in (b"", b"a", b"b"), is_member=lambda t: t == b"a")
    model = TableModel(3, seed=1)
    outputs = law(model, constraint)
    assert {tokens: sample.finish_reason for tokens, (_, sample) in outputs.items()} == {
        (0, 2): "stop",
        (1,): "dead_end",
    }
    assert outputs[1,][1].log_weight == -math.inf
    exact = math.fsum(map(math.exp, members(model, constraint).values()))
    assert math.fsum(q * math.exp(s.log_weight) for q, s in outputs.values()) == pytest.approx(exact, abs=TINY)


@pytest.mark.parametrize("name, dead, expected", [("booleans", 4, ()), ("one forced path", 1, (0,))])
def test_tokens_without_mass_are_a_dead_end(name: str, dead: int, expected: tuple[int, ...]) -> None:
    """The model rules out (-inf) what the constraint asks for: where tokens are drawn, and where they are forced."""
    constraint = LANGUAGES[name]
    model = TableModel(constraint.vocabulary.size, seed=1)
    for prefix in ([*PROMPT], [*PROMPT, 0]):
        model.logits(prefix)[[dead, *((0, 1) if name == "booleans" else ())]] = -math.inf
    ((tokens, (q, sample)),) = law(model, constraint).items()
    assert (tokens, q, sample.finish_reason, sample.log_weight) == (expected, 1.0, "dead_end", -math.inf)
    assert len(sample.trace) == len(tokens)


def test_greedy_is_the_likeliest_allowed_token() -> None:
    constraint = LANGUAGES["skewed"]
    for seed in range(20):
        model = TableModel(constraint.vocabulary.size, seed)
        (sample,) = run(job_for(model, constraint, no_draw, temperature=0))
        matcher, log_weight = constraint.matcher(), 0.0
        for token in sample.tokens:
            log_probs = model.log_probs([*PROMPT, *matcher.ids])
            allowed = matcher.allowed()
            assert token == max(allowed, key=lambda i: (log_probs[i], -i))
            log_weight += math.log(math.fsum(math.exp(log_probs[i]) for i in allowed))
            assert matcher.advance(token)
        assert sample.finish_reason == "stop"
        assert sample.log_weight == pytest.approx(log_weight, abs=TINY)


def test_rows_are_independent() -> None:
    constraint = LANGUAGES["booleans"]
    model = TableModel(constraint.vocabulary.size, seed=2)
    single = {tokens: q for tokens, (q, _) in law(model, constraint).items()}
    joint: dict[tuple[tuple[int, ...], ...], float] = {}
    for probability, samples in enumerate_draws(lambda draw: run(job_for(model, constraint, draw, rows=2))):
        key = tuple(tuple(sample.tokens) for sample in samples)
        joint[key] = joint.get(key, 0.0) + probability
    assert len(joint) == len(single) ** 2
    for (left, right), probability in joint.items():
        assert probability == pytest.approx(single[left] * single[right], abs=TINY)


def test_a_row_does_not_depend_on_its_batch() -> None:
    constraint = LANGUAGES["dyck"]
    model = TableModel(constraint.vocabulary.size, seed=2, spread=0.3)
    batch = run(job_for(model, constraint, TorchDraw(11), rows=8))
    for row, expected in enumerate(batch):
        job = job_for(model, constraint, TorchDraw(11))
        job.streams = [row]
        trace = run(job)[0].trace  # the same numbers up to rounding
        assert [record.token for record in trace] == [record.token for record in expected.trace]
        np.testing.assert_allclose(np.array(trace), np.array(expected.trace), atol=TINY)
    assert len({tuple(sample.tokens) for sample in batch}) > 1


@pytest.mark.parametrize("rows", [1, 5])
def test_models_that_cannot_grow_ragged_give_the_same_law(rows: int) -> None:
    constraint = LANGUAGES["optional tail"]
    ragged = run(job_for(TableModel(4, seed=6), constraint, TorchDraw(3), rows=rows))
    level = run(job_for(TableModel(4, seed=6, ragged=False), constraint, TorchDraw(3), rows=rows))
    assert [s.log_prob for s in level] == pytest.approx([s.log_prob for s in ragged], abs=TINY)
    assert [s.log_weight for s in level] == pytest.approx([s.log_weight for s in ragged], abs=TINY)


def test_forced_tokens_cost_no_forwards() -> None:
    constraint = LANGUAGES["one forced path"]
    model = TableModel(4, seed=6)
    samples = run(job_for(model, constraint, no_draw, rows=3))
    assert model.forwards == 1
    for sample in samples:
        assert sample.tokens == [0, 1, 2, 0, 1, 2, 3]
        assert all(record.forced for record in sample.trace)
        assert (sample.forwards, sample.masks) == (1, 0)


def test_without_a_constraint_the_model_is_sampled_as_it_is() -> None:
    model = TableModel(3, seed=1)

    def plain(draw: Draw) -> list[Sample]:
        return run(Job(model, [PROMPT], None, 3, [2], Settings(max_tokens=3), draw, [0]))

    total = 0.0
    for probability, (sample,) in enumerate_draws(plain):
        total += probability
        assert sample.log_weight == pytest.approx(0, abs=TINY)
        assert sample.log_prob == pytest.approx(math.log(probability), abs=TINY)
        assert (sample.finish_reason == "stop") == (sample.tokens[-1] == 2)
    assert total == pytest.approx(1, abs=TINY)
