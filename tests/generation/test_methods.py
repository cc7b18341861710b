"""`generate(method=...)`: laws of real models, weights, what is reported, and memories across calls."""

import math
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import constrain
from constrain import reference
from constrain.errors import ConstrainError
from constrain.generation import Generations
from constrain.generation.identity import key_of
from constrain.sampling import CARS, METHODS, Argmax, ASAp, Exact, Faithful, Memory, Rejection, diagnose
from toy_model import tiny_llama, tiny_mistral, tiny_tokenizer

PROMPT = '{"color": "'
COLORS = '(red|green|blue|yellow)"}'
ALL: Any = {"regex": COLORS, "canonical": False}  # many members, which tell laws apart: each text in each of its cuts
LEVEL = 1e-3  # of each chi-square test here, shared by Bonferroni


@pytest.fixture(scope="module")
def ref() -> reference.Reference:
    return reference.load()


@pytest.fixture(scope="module")
def truth(ref: reference.Reference) -> dict[tuple[int, ...], float]:
    """π of the reference model: p of every member, one forward each, no sampler involved."""
    table = constrain.generate(ref, PROMPT, **ALL, method=Argmax(texts=False), n=60)
    members = {tuple(g.tokens): g.logprob for g in table if g.finish_reason == "stop"}
    total = math.fsum(map(math.exp, members.values()))
    return {tokens: math.exp(log_p) / total for tokens, log_p in members.items()}


@pytest.mark.parametrize("name", sorted(set(METHODS) - {"rejection"}))
@pytest.mark.parametrize("truncation", [{"top_k": 1}, {"top_k": 3}, {"top_p": 0.3, "temperature": 1.5}])
def test_complete_outputs_are_complete_under_truncation(
    ref: reference.Reference, name: str, truncation: dict[str, Any]
) -> None:
    """Once no token that ends the text was among the likeliest, so the output was cut, of weight 0."""
    asked: Any = {"regex": "[xy]+z|q", "complete": True, "max_tokens": 6, "method": name, "seed": 1, **truncation}
    found = constrain.generate(ref, "x", **asked)
    assert found.finish_reason == "stop"
    assert len(found.tokens) <= 6
    assert found.log_weight > -math.inf


@pytest.mark.parametrize("name", ["cars", "faithful", "beam", "sir"])
def test_a_dead_end_of_truncation_says_so(ref: reference.Reference, name: str) -> None:
    found = constrain.generate(ref, "x", regex="zqé", method=name, top_k=1, top_p=0.5, max_tokens=9, seed=1)
    assert found.finish_reason == "dead_end"
    what = "token that may come next" if name == "sir" else "text that goes on from here"  # of all that were looked at
    assert found.fault == f"no {what} is left by top_k=1 and top_p=0.5"


@pytest.mark.parametrize("n", [1, 3, 7])
def test_rows_beyond_a_batch_end_where_nothing_has_mass(ref: reference.Reference, n: int) -> None:
    """The rows that wait for their first attempt while the others find that there is no member."""
    for method, expected in ((CARS(attempts=5, batch=3), "dead_end"), (Rejection(attempts=5, batch=3), "budget")):
        found: Any = constrain.generate(ref, "A: ", regex="zqé", method=method, top_k=1, n=n, seed=1)
        for each in [found] if n == 1 else found:
            assert (each.finish_reason, each.text, each.log_weight) == (expected, "", -math.inf)


def test_argmax_lists_all_tokenisations(ref: reference.Reference, truth: dict[Any, float]) -> None:
    vocabulary = constrain.Vocabulary.from_huggingface(ref.tokenizer)
    texts = Counter(vocabulary.to_bytes(tokens) for tokens in truth)
    assert set(texts) == {b'red"}', b'green"}', b'blue"}', b'yellow"}'}
    expected = 0
    for text in texts:  # the number of ways to cut it into tokens, times the ends
        ways = [1] + [0] * len(text)
        for end in range(1, len(text) + 1):
            cuts = [ways[start] * vocabulary.tokens.count(text[start:end]) for start in range(end)]
            ways[end] = sum(cuts)
        expected += ways[-1] * len(vocabulary.eos_ids)
    assert len(truth) == min(expected, 60)


def test_canonical_is_one_cut_of_each(ref: reference.Reference, truth: dict[Any, float]) -> None:
    """The distribution is that of all tokenisations, given that the tokenizer writes them."""
    table = constrain.generate(ref, PROMPT, regex=COLORS, method=Argmax(texts=False), n=len(truth), canonical=True)
    members = {tuple(g.tokens): g.logprob for g in table if g.finish_reason == "stop"}
    cuts = [tuple(ref.tokenizer(text)["input_ids"]) for text in ('red"}', 'green"}', 'blue"}', 'yellow"}')]
    assert sorted(members) == sorted(own for own in truth if own[:-1] in cuts)
    total = math.fsum(map(math.exp, members.values()))
    kept = math.fsum(truth[own] for own in members)
    for own, log_p in members.items():
        assert math.exp(log_p) / total == pytest.approx(truth[own] / kept, abs=1e-5)


@pytest.mark.parametrize(
    "method, n",
    [(Exact(), 600), (CARS(), 600), (Rejection(batch=64, attempts=4000), 20), ("faithful", 600)],
    ids=["exact", "cars", "rejection", "faithful"],
)
def test_exact_methods_draw_from_the_conditional(
    ref: reference.Reference, truth: dict[Any, float], method: Any, n: int
) -> None:
    """Chi-square, with cells of expected size below 5 pooled; TV inside the band of perfect draws."""
    outputs = constrain.generate(ref, PROMPT, **ALL, method=method, n=n, seed=3)
    assert {g.finish_reason for g in outputs} == {"stop"}
    assert {g.log_weight for g in outputs} == {0.0}
    counts = Counter(tuple(g.tokens) for g in outputs)
    cells = [x for x in truth if truth[x] * n >= 5]
    observed = np.array([counts[x] for x in cells] + [n - sum(counts[x] for x in cells)], float)
    expected = np.array([truth[x] * n for x in cells])
    expected = np.append(expected, n - expected.sum())
    keep = expected > 1e-9
    statistic = ((observed - expected)[keep] ** 2 / expected[keep]).sum()
    halves = torch.tensor([(keep.sum() - 1) / 2, statistic / 2], dtype=torch.float64)
    p_value = float(torch.special.gammaincc(halves[0], halves[1]))  # the tail of chi-square
    assert p_value > LEVEL / 4
    pi = np.array(list(truth.values()))
    perfect = np.random.default_rng(0).multinomial(n, pi / pi.sum(), size=5000) / n
    band = 0.5 * np.abs(perfect - pi).sum(axis=1)
    tv = 0.5 * math.fsum(abs(counts[x] / n - p) for x, p in truth.items())
    assert np.quantile(band, LEVEL / 8) <= tv <= np.quantile(band, 1 - LEVEL / 8)


def test_weights_bring_masked_decoding_home(ref: reference.Reference, truth: dict[Any, float]) -> None:
    outputs = constrain.generate(ref, PROMPT, **ALL, n=800, seed=1)
    assert isinstance(outputs, Generations)
    assert math.fsum(outputs.weights) == pytest.approx(1)
    weighted: Counter[tuple[int, ...]] = Counter()
    plain: Counter[tuple[int, ...]] = Counter()
    for g, weight in zip(outputs, outputs.weights, strict=True):
        weighted[tuple(g.tokens)] += weight  # type: ignore[assignment]
        plain[tuple(g.tokens)] += 1 / len(outputs)  # type: ignore[assignment]

    def tv(law: Any) -> float:
        return 0.5 * math.fsum(abs(law[x] - truth.get(x, 0.0)) for x in truth.keys() | law.keys())

    assert tv(weighted) < 0.05 < tv(plain)
    report = outputs.diagnostics
    assert 1 < outputs.ess < 800
    assert report.ess == outputs.ess
    table = constrain.generate(ref, PROMPT, **ALL, method="exact")
    assert report.log_evidence == pytest.approx(table.log_evidence, abs=0.05)
    assert table.evidence_bounds == (table.log_evidence, table.log_evidence)


@pytest.mark.parametrize("name", sorted(METHODS))
def test_every_method_by_name(ref: reference.Reference, name: str) -> None:
    g = constrain.generate(ref, PROMPT, choices=["red", "green"], method=name, seed=5, max_tokens=12)
    assert (g.text in ("red", "green")) == (g.finish_reason == "stop")
    assert g.finish_reason in ("stop", "budget", "dead_end", "length")
    assert g.stats.method.startswith("exact: " if name == "faithful" else name)
    assert g.stats.attempts >= 1
    assert g.stats.forwards >= 1
    again = constrain.generate(ref, PROMPT, choices=["red", "green"], method=name, seed=5, max_tokens=12)
    assert again.tokens == g.tokens
    streamed = constrain.generate(
        ref, PROMPT, choices=["red", "green"], method=name, seed=5, max_tokens=12, stream=True
    )
    assert "".join(streamed) == g.text == streamed.result.text


def test_the_population_behind_an_output(ref: reference.Reference) -> None:
    g = constrain.generate(ref, PROMPT, **ALL, method="sir", seed=1)
    assert len(g.population) == len(g.weights) > 1
    assert math.fsum(g.weights) == pytest.approx(1)
    assert g.text in {each.text for each in g.population}
    assert constrain.generate(ref, PROMPT, **ALL, seed=1).weights == [1.0]


@pytest.mark.parametrize("regex, is_far", [("[^q]*", False), ("(a|b|c|d){30}", True)])
def test_faithful_says_how_far_sir_is(ref: reference.Reference, regex: str, is_far: bool) -> None:
    method = Faithful(prefixes=0, attempts=0, pilot=16)
    g = constrain.generate(ref, PROMPT, regex=regex, method=method, seed=1, max_tokens=60)
    assert g.stats.method.startswith("sir of ")
    assert ("the law may be far away" in g.stats.method) == is_far
    assert (diagnose(g.population).ess < 4) == is_far


def test_a_class_is_no_method(ref: reference.Reference) -> None:
    with pytest.raises(ConstrainError) as caught:
        constrain.generate(ref, PROMPT, **ALL, method=CARS)
    assert str(caught.value) == "method is the class CARS, not a method\n  fix: make one: CARS()"


def test_a_memory_across_calls(ref: reference.Reference, tmp_path: Path) -> None:
    memory = Memory()
    given = {**ALL, "n": 30}
    first = constrain.generate(ref, PROMPT, method=CARS(memory=memory), seed=1, **given)
    later = constrain.generate(ref, PROMPT, method=CARS(memory=memory), seed=2, **given)
    assert sum(g.stats.attempts for g in later) < sum(g.stats.attempts for g in first) / 2
    assert len(memory) == 1
    memory.save(tmp_path / "memory")
    loaded = Memory.load(tmp_path / "memory")
    both = [constrain.generate(ref, PROMPT, method=ASAp(memory=known), seed=3, **given) for known in (memory, loaded)]
    assert [g.tokens for g in both[0]] == [g.tokens for g in both[1]]
    assert both[0][0].tv_bound == both[1][0].tv_bound < 0.5
    constrain.generate(ref, PROMPT, **ALL, temperature=0.5, method=CARS(memory=memory))
    constrain.generate(ref, PROMPT, choices=["a"], method=CARS(memory=memory))
    assert len(memory) == 3


def test_identities(ref: reference.Reference) -> None:
    vocabulary = constrain.Vocabulary.from_huggingface(ref.tokenizer)
    other = constrain.Vocabulary([b"a", None], [1])
    constraints = [
        constrain.regex("a+"),
        constrain.regex("a*"),
        constrain.choices(["a+"]),
        constrain.choices(["a", "b"]),
        constrain.choices(["b", "a"]),
        constrain.grammar('start: "a"+'),
        constrain.regex("a+") & constrain.regex("[ab]+"),
        constrain.regex("a+") | constrain.choices(["b"]),
        constrain.json_schema({"type": "object", "properties": {"a": {}, "b": {}}}),
        constrain.json_schema({"type": "object", "properties": {"b": {}, "a": {}}}),
        constrain.json_schema({"type": "boolean"}),
        constrain.json_schema({"type": "boolean"}, whitespace="compact"),
    ]
    keys = [key_of(constraint, vocabulary) for constraint in constraints]
    assert all(keys)
    assert len(set(keys)) == len(keys)
    assert key_of(constrain.regex("a+"), vocabulary) == keys[0]
    assert key_of(constrain.json_schema({"type": "boolean"}), vocabulary) == keys[10]
    assert key_of(constrain.regex("a+"), other) != keys[0]
    assert key_of(object(), vocabulary) == ""


@pytest.mark.parametrize("family", [tiny_llama, tiny_mistral])
def test_real_caches_under_methods_that_fork(family: Any) -> None:
    """log p of what a method returns is that of one plain forward over prompt and output."""
    tokenizer = tiny_tokenizer()
    model = family(tokenizer, seed=3)
    prompts = ["the red", '{"name": "', "é日本 00"]
    for method in (CARS(attempts=400), ASAp(batch=2, warmup=2), "exact", "argmax", "beam", "sir", "smc"):
        outputs = constrain.generate(
            model, prompts, tokenizer=tokenizer, regex="(red|green) ?(é|日)?", method=method, seed=1, max_tokens=8
        )
        for prompt, g in zip(prompts, outputs, strict=True):
            ids = tokenizer(prompt)["input_ids"]
            with torch.inference_mode():
                logits = model(torch.tensor([[*ids, *g.tokens]])).logits[0].log_softmax(-1)
            expected = sum(float(logits[len(ids) - 1 + i, token]) for i, token in enumerate(g.tokens))
            assert g.logprob == pytest.approx(expected, abs=1e-9)
