"""Processors' knowledge of the grammar: structural tokens, kinds of terminals, repeated rules; and refusals."""

import math
from dataclasses import replace
from typing import Any

import naive_processors
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import constrain
from constrain.errors import ConstrainError
from constrain.masks.engine import fill_masks
from constrain.sampling import CARS, Job, Memory, Settings, TorchDraw, lcd
from constrain.sampling.core.sampler import drive
from constrain.sampling.processors import (
    Counts,
    Foreign,
    GrammarRepetition,
    Processor,
    Repetition,
    StepContext,
    processed,
)
from constrain.sampling.processors.core.run import separable
from constrain.sampling.processors.core.terminals import terminal_kinds
from constrain.sampling.processors.penalties.grammar import repeats
from toy_model import TableModel

BYTES = constrain.Vocabulary.of_bytes()
SCHEMA = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "tag": {"enum": ["red", "green"]}, "n": {"type": "integer"}},
    "required": ["name", "tag"],
}


def job_of(constraint: Any, *, model: Any = None, prompts: Any = ((1, 2),), **changes: Any) -> Job:
    """A job over single bytes."""
    compiled = constrain.compile(constraint, BYTES)
    job = Job(
        model=model or TableModel(BYTES.size, 1),
        prompts=[list(prompt) for prompt in prompts],
        matchers=[compiled.matcher() for _ in prompts],
        size=BYTES.size,
        eos_ids=BYTES.eos_ids,
        settings=Settings(max_tokens=40),
        draw=TorchDraw(1),
        streams=range(len(prompts)),
        fill_masks=fill_masks,
        token_bytes=BYTES.tokens,
    )
    return replace(job, **changes)


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        (b"", {"fixed"}),
        (b'{"', {"fixed"}),
        (b'{"name": ', {"text"}),
        (b'{"name": "Bo', {"text"}),
        (b'{"name": "Bob"', {"fixed"}),
        (b'{"name": "Bob", "tag": "', {"choice"}),
        (b'{"name": "Bob", "tag": "red"', {"fixed"}),
        (b'{"name": "Bob", "tag": "red", "n": 1', {"text", "fixed"}),
    ],
)
def test_kinds_of_terminals(text: bytes, kinds: set[str]) -> None:
    matcher = constrain.compile(constrain.json_schema(SCHEMA), BYTES).matcher()
    assert matcher.advance_bytes(text)
    assert terminal_kinds(matcher) == kinds
    assert StepContext((), (), BYTES.size, matcher=matcher, token_bytes=BYTES.tokens).structural.all() == (
        kinds == {"fixed"}
    )


def test_keywords_of_a_grammar_are_fixed_and_names_are_text() -> None:
    grammar = constrain.grammar('start: ("if" | "in") " " NAME\nNAME: /[a-z]+/')
    matcher = constrain.compile(grammar, BYTES).matcher()
    assert terminal_kinds(matcher) == {"fixed"}
    assert matcher.advance_bytes(b"if ")
    assert terminal_kinds(matcher) == {"text"}


@pytest.mark.parametrize("rule", [Repetition(3.0), Counts(frequency=2.0, presence=1.0)], ids=["repetition", "counts"])
def test_penalties_spare_what_the_grammar_needs(rule: Processor) -> None:
    """Inside a string letters are penalised and quotes are not; in keys nothing is."""
    compiled = constrain.compile(constrain.json_schema(SCHEMA), BYTES)
    scores = torch.linspace(1, 2, BYTES.size, dtype=torch.float64)
    for text, spared in [(b'{"name": "aa', set(b'{": ')), (b'{"', set(range(BYTES.size)))]:
        matcher = compiled.matcher()
        assert matcher.advance_bytes(text)
        context = StepContext((), tuple(text), BYTES.size, matcher=matcher, token_bytes=BYTES.tokens)
        changed = set((rule(scores, context) != scores).nonzero().flatten().tolist())
        assert changed == set(text) - spared
        all_of_them = replace(context, matcher=None)  # without a constraint nothing is structural
        assert set((rule(scores, all_of_them) != scores).nonzero().flatten().tolist()) == set(text)


@given(st.lists(st.integers(0, 2), max_size=14))
def test_repeats(places: list[int]) -> None:
    assert repeats(tuple(places)) == naive_processors.repeats(places)


LIST = constrain.grammar('start: "[" N ("," N)* "]"\nN: /[0-9]/')


@pytest.mark.parametrize("text", [b"[1", b"[1,2", b"[1,2,3", b"[1,2,3,4", b"[5,5,5,5,5", b"[1,"])
def test_rpg_by_its_formula(text: bytes) -> None:
    """λ^Count. The places: the start, after "[", the first number, another number, after a comma, after "]"."""
    model = processed(job_of(LIST), [GrammarRepetition(0.5)]).model
    (logits,) = model.start([[1, 2, *text]], [1])[1]
    raw = torch.tensor(model.model.logits([1, 2, *text])).log_softmax(-1)
    kind = {ord("["): "[", ord(","): ",", ord("]"): "]"}
    before = ["start", "[", "first", *(kind.get(byte, "N") for byte in text[2:])]
    matcher = constrain.compile(LIST, BYTES).matcher()
    assert matcher.advance_bytes(text)
    allowed = [token for token in range(BYTES.size) if matcher.allows(token)]
    counted = {t: naive_processors.repeats([*before, kind.get(t, "N")]) for t in allowed}
    law = naive_processors.shares({t: float(raw[t]) + math.log(0.5) * counted[t] for t in allowed})
    mass = raw[allowed].exp().sum()
    for token in range(BYTES.size):
        expected = law[token] * mass if token in law else raw[token].exp()
        assert float(logits[0, token].exp()) == pytest.approx(float(expected), abs=1e-12)


def test_rpg_ends_a_loop() -> None:
    """A model that likes to go on with the list: its chance to do so falls with every item."""
    model = TableModel(BYTES.size, 1, spread=0.0)
    job = job_of(LIST, model=model, settings=Settings(max_tokens=80))

    def items(rules: list[Processor]) -> float:
        found = []
        for seed in range(8):
            (sample,) = drive(lcd, replace(processed(job, rules) if rules else job, draw=TorchDraw(seed)))
            found.append(sample.tokens.count(ord(",")))
        return sum(found) / len(found)

    model.fixed = _Likes(BYTES.size)  # type: ignore[assignment]
    assert items([]) > 20
    assert items([GrammarRepetition(0.5)]) < 8


class _Likes(dict):
    """Logits that prefer a comma by 4, after any text."""

    def __init__(self, width: int) -> None:
        super().__init__()
        import numpy as np

        self.logits = np.zeros(width)
        self.logits[ord(",")] = 4

    def __contains__(self, key: object) -> bool:
        return True

    def __getitem__(self, key: object) -> Any:
        return self.logits


def test_rpg_needs_a_grammar() -> None:
    with pytest.raises(ConstrainError, match="no constraint of this library"):
        processed(replace(job_of(LIST), matchers=None), [GrammarRepetition()]).model.start([[1, 2]], [1])


def test_rows_that_texts_cannot_tell_apart_run_apart() -> None:
    job = job_of(LIST, prompts=[(1, 2), (1, 2), (1, 2, ord("[")), (3,)])
    assert separable(job) == [[0, 1, 3], [2]]
    assert separable(replace(job, row_keys=["a", "b", "a", "a"])) == [[0, 3], [1], [2]]
    with pytest.raises(ConstrainError, match="begins another"):
        processed(job, [Counts(presence=1)])


def test_prompts_that_begin_each_other_give_what_they_give_alone() -> None:
    model = constrain.reference.load()
    prompts = ["x = ", "x = [1", "x = [1"]
    options: dict[str, Any] = {"constraint": LIST, "processors": [GrammarRepetition(0.5)], "seed": 4, "max_tokens": 30}
    together = constrain.generate(model, prompts, **options)
    parts = [constrain.generate(model, list(each), **options) for each in (prompts[:1], prompts[1:])]
    assert together[0].text == parts[0][0].text
    alone = constrain.generate(model, prompts[0], **options)
    assert alone.text == together[0].text
    assert any(each.finish_reason == "stop" for each in together)


class Counter:
    """Forgets nothing: the second call differs from the first."""

    calls = 0

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        self.calls += 1
        return scores - self.calls * torch.arange(scores.shape[1])


class UnbatchedClassifierFreeGuidanceLogitsProcessor:
    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        raise AssertionError


def fails(input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
    raise KeyError("nothing here")


def no_numbers(input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
    return scores * torch.nan


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([Repetition(1.1), Repetition], r"the class Repetition is no processor[\s\S]*processors\[1\]"),
        ("repetition", "is no processor"),
        ([Counter()], r"gave two answers for one text[\s\S]*output 0, token 0"),
        ([UnbatchedClassifierFreeGuidanceLogitsProcessor()], "keeps something between its calls"),
        ([fails], r"fails failed: KeyError: 'nothing here'[\s\S]*output 0, token 0"),
        ([no_numbers], r"no scores \(NaN or \+inf\)[\s\S]*output 0, token 0"),
        ([lambda ids, scores: scores[0]], r"gave no scores of shape \(1, 3072\)"),
    ],
)
def test_what_is_refused(given: Any, message: str) -> None:
    with pytest.raises(ConstrainError, match=message):
        constrain.generate(constrain.reference.load(), "x", regex="[a-z]{3}", processors=given, seed=1)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: Repetition(0),
        lambda: Counts(presence=math.nan),
        lambda: GrammarRepetition(1.5),
        lambda: GrammarRepetition(candidates=0),
        lambda: constrain.processors.MinP(True),
        lambda: constrain.processors.Typical(0),
        lambda: constrain.processors.Mirostat(-1),
    ],
)
def test_options_out_of_range(wrong: Any) -> None:
    with pytest.raises(ConstrainError, match="must be"):
        wrong()


def test_memories_tell_processors_apart() -> None:
    model, memory = constrain.reference.load(), Memory()
    for rules in ([], [Repetition(1.5)], [Repetition(2.0)], [Repetition(1.5)]):
        constrain.generate(model, "x", choices=["a", "b"], method=CARS(memory=memory), processors=rules, seed=1)
    assert len(memory) == 3
    with pytest.raises(ConstrainError, match="cannot tell the processor"):
        constrain.generate(
            model, "x", choices=["a", "b"], method=CARS(memory=memory), processors=[Foreign(lambda i, s: s)], seed=1
        )


def test_processors_of_transformers_as_they_are() -> None:
    """Greedy decoding without a constraint writes what `model.generate` writes with the same processors."""
    from transformers import NoRepeatNGramLogitsProcessor, RepetitionPenaltyLogitsProcessor

    reference = constrain.reference.load()
    rules = [RepetitionPenaltyLogitsProcessor(1.3), NoRepeatNGramLogitsProcessor(2)]
    ids = reference.tokenizer("The list: ", return_tensors="pt").input_ids
    theirs = reference.model.generate(ids, logits_processor=rules, do_sample=False, max_new_tokens=24)
    ours = constrain.generate(reference, "The list: ", temperature=0, max_tokens=24, processors=rules)
    assert ours.tokens == theirs[0, ids.shape[1] :].tolist()
    own = constrain.generate(
        reference, "The list: ", temperature=0, max_tokens=24, processors=[Repetition(1.3), rules[1]]
    )
    assert own.tokens == ours.tokens


def test_streams_and_drafts_say_the_same() -> None:
    model = constrain.reference.load()
    options: dict[str, Any] = {"schema": SCHEMA, "seed": 3, "max_tokens": 60, "processors": [Repetition(1.2)]}
    plain = constrain.generate(model, "A person: ", **options)
    assert "".join(constrain.generate(model, "A person: ", stream=True, **options)) == plain.text
    assert constrain.generate(model, "A person: ", draft="auto", **options).text == plain.text
    assert constrain.generate(model, "A person: ", complete=True, **options).finish_reason == "stop"
