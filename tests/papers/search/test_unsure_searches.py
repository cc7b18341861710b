"""Searches that do more where the model is unsure, or whose tokens must be unlike the text: against plain twins."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import product
from typing import Any

import numpy as np
import pytest
import torch
from sampling_cases import LIMITS, PROMPT, Case, Tokens, no_draw

import constrain
from constrain.errors import ConstrainError
from constrain.papers import Cautious, Contrastive, Pausing
from constrain.papers.search.threshold import KnownPlace, _Known, fit_threshold, known_places, logistic
from constrain.sampling import Settings, TorchDraw, enumerate_draws
from constrain.sampling.core.sampler import drive
from constrain.sampling.processors import MinP
from toy_model import tiny_llama, tiny_tokenizer
from tree_target import TreeTable, TreeTableSession

LANGUAGES = ("skewed", "dyck", "ambiguous", "twins", "forced chain", "optional tail", "one member", "cut", "dead end")


def models(seeds: int, languages: Sequence[str] = LANGUAGES) -> list[Case]:
    return [
        Case(language, seed, (1.0, 3.0)[seed % 2], Settings(max_tokens=LIMITS.get(language, 9)))
        for language in languages
        for seed in range(seeds)
    ]


class Twin:
    """The distribution of the next token under the mask, from the table and the language."""

    def __init__(self, case: Case) -> None:
        self.case, self.vocabulary = case, case.constraint.vocabulary

    def ended(self, ids: Tokens) -> bool:
        return bool(ids) and (ids[-1] in self.vocabulary.eos_ids or len(ids) == self.case.settings.max_tokens)

    def complete(self, ids: Tokens) -> bool:
        return bool(ids) and ids[-1] in self.vocabulary.eos_ids

    def law(self, ids: Tokens) -> dict[int, float]:
        """p of each token that may come; at the last place of a budget only ends."""
        matcher = self.case.constraint.matcher()
        assert all(matcher.advance(token) for token in ids)
        last = len(ids) == self.case.settings.max_tokens - 1
        allowed = [v for v in matcher.allowed() if not last or v in self.vocabulary.eos_ids]
        p = np.exp(self.case.model.log_probs([*PROMPT, *ids]))
        total = math.fsum(p[v] for v in allowed)
        return {v: float(p[v] / total) for v in allowed}

    def entropy(self, ids: Tokens) -> float:
        return -math.fsum(p * math.log(p) for p in self.law(ids).values())


# --- cautious ---------------------------------------------------------------------------------------------------------


class CautiousTwin(Twin):
    """The distribution of the whole decoder, from all the ways in which all trials may turn out."""

    def __init__(self, case: Case, most: int, low: float, high: float, marks: bytes, alone: bool = False) -> None:
        super().__init__(case)
        self.most, self.low, self.high, self.marks, self.alone = most, low, high, marks, alone

    def outputs(self, ids: Tokens = ()) -> Iterator[tuple[float, Tokens]]:
        if self.ended(ids) or not self.law(ids):
            yield 1.0, ids
            return
        share = min(1.0, max(0.0, (self.entropy(ids) - self.low) / (self.high - self.low)))
        count = int(1 + (self.most - 1) * share)
        trials = list(self.trials(ids)) if count > 1 else [(p, (*ids, v), 0.0) for v, p in self.law(ids).items()]
        for several in product(trials, repeat=count):
            chance = math.prod(p for p, _, _ in several)
            best = min(several, key=lambda each: each[2])
            for p, output in self.outputs(best[1]):
                yield chance * p, output

    def trials(
        self, ids: Tokens, begun: int | None = None, surprise: float = 0.0
    ) -> Iterator[tuple[float, Tokens, float]]:
        """(probability, what it wrote, mean −log p)"""
        begun = len(ids) if begun is None else begun
        law = {} if self.ended(ids) else self.law(ids)
        written = ids[begun:]
        last = (self.vocabulary.tokens[written[-1]] or b"") if written else b""
        marked = any(byte in self.marks for byte in last) and not (self.alone and len(last) > 1)
        if self.ended(ids) or marked:
            yield 1.0, ids, surprise / len(written)
        elif not law:  # a dead end
            yield 1.0, ids, math.inf
        else:
            for token, p in law.items():
                for chance, output, mean in self.trials((*ids, token), begun, surprise - math.log(p)):
                    yield p * chance, output, mean


def law_of(case: Case, method: Any) -> dict[Tokens, float]:
    """The probability of each output of a method, from all of its draws."""
    law: dict[Tokens, float] = {}

    def run(draw: Any) -> Any:
        return drive(method, case.job(draw, token_bytes=case.constraint.vocabulary.tokens))[0]

    for chance, sample in enumerate_draws(run):
        law[tuple(sample.tokens)] = law.get(tuple(sample.tokens), 0.0) + chance
    return law


def summed(outputs: Iterable[tuple[float, Tokens]], least: float = 0.0) -> dict[Tokens, float]:
    """The probability of each output of a twin, which may have one several times. least: less is rounding."""
    law: dict[Tokens, float] = {}
    for chance, output in outputs:
        law[output] = law.get(output, 0.0) + chance
    return {output: chance for output, chance in law.items() if chance >= least}


# three trials are for languages of few texts: all ways in which all trials turn out are walked
@pytest.mark.parametrize(
    ("case", "most"),
    [(case, most) for most in (1, 2) for case in models(3, ("dyck", "forced chain", "one member"))]
    + [(case, 3) for case in models(6, ("forced chain", "optional tail"))],
    ids=str,
)
def test_the_law_of_cautious_decoding(case: Case, most: int) -> None:
    marks = b"(b"
    method = Cautious(trials=most, low=0.1, high=0.7, boundary=lambda _, new: any(byte in marks for byte in new))
    expected = summed(CautiousTwin(case, most, 0.1, 0.7, marks).outputs())
    assert law_of(case, method) == pytest.approx(expected, abs=1e-10)


@pytest.mark.parametrize("case", models(3, ("dyck",)), ids=str)
def test_trials_end_at_marks_alone(case: Case) -> None:
    """The authors' rule: a token that is a mark ends a trial, and one that only holds a mark does not."""
    expected = summed(CautiousTwin(case, 2, 0.1, 0.7, b")", alone=True).outputs())
    method = Cautious(trials=2, low=0.1, high=0.7, boundary="mark")
    assert law_of(case, method) == pytest.approx(expected, abs=1e-10)
    ends, holds = (Cautious(boundary=name).boundary for name in ("mark", "punctuation"))
    for new, alone, held in ((b",", True, True), (b'",', False, True), (b"\n", True, True), (b"a", False, False)):
        assert (ends(lambda: None, b"x", new), holds(lambda: None, b"x", new)) == (alone, held)


def test_how_many_trials() -> None:
    method = Cautious(trials=10, low=0.01, high=1.5)
    assert [method.count(nats) for nats in (0.0, 0.01, 0.2, 0.755, 1.4, 1.5, 4.0)] == [1, 1, 2, 5, 9, 10, 10]


def test_cautious_decoding_generates() -> None:
    model = constrain.reference.load()
    options: dict[str, Any] = {"regex": "[a-z]{2,4}(, [a-z]{2,4}){2}", "seed": 3, "max_tokens": 20}
    g = constrain.generate(model, "Names: ", method=Cautious(trials=3), **options)
    assert g.finish_reason == "stop"
    assert g.stats.method.startswith("cautious: ")
    again = constrain.generate(model, ["Names: ", "A: "], method=Cautious(trials=3), **options)
    assert again[0].text == g.text
    by_rule = constrain.generate(
        model,
        "",
        grammar='start: WORD ("," WORD)*\nWORD: /[a-z]{2}/',
        method=Cautious(boundary="lexeme"),
        seed=1,
        max_tokens=8,
    )
    assert by_rule.finish_reason == "stop"
    with pytest.raises(ConstrainError, match="temperature 0"):
        constrain.generate(model, "Names: ", method=Cautious(), temperature=0, **options)


# --- pausing ----------------------------------------------------------------------------------------------------------


def paused(twin: Twin, threshold: float, ahead: int, top: int) -> Tokens | None:
    """The output; None where it runs into a dead end or the end of its budget."""

    def greedy(ids: Tokens) -> int:
        return min(twin.law(ids), key=lambda v: (-twin.law(ids)[v], v))

    def mean(ids: Tokens, token: int) -> float:
        logs, text = [math.log(twin.law(ids)[token])], (*ids, token)
        while not twin.ended(text) and len(logs) <= ahead:
            if not twin.law(text):
                return -math.inf
            following = greedy(text)
            logs.append(math.log(twin.law(text)[following]))
            text = (*text, following)
        return math.fsum(logs) / len(logs)

    ids: Tokens = ()
    while not twin.ended(ids):
        law = twin.law(ids)
        if not law:
            return None
        token = greedy(ids)
        if twin.entropy(ids) >= threshold:
            token = max(sorted(law, key=lambda v: (-law[v], v))[:top], key=lambda v: mean(ids, v))
        ids = (*ids, token)
    return ids if twin.complete(ids) else None


@pytest.mark.parametrize("case", models(8), ids=str)
@pytest.mark.parametrize(("threshold", "ahead", "top"), [(0.0, 2, 3), (0.4, 5, 2), (0.4, 0, 3), (9.0, 5, 3)])
def test_pausing(case: Case, threshold: float, ahead: int, top: int) -> None:
    method = Pausing(threshold=threshold, ahead=ahead, top=top)
    (sample,) = drive(method, case.job(no_draw, token_bytes=case.constraint.vocabulary.tokens))
    expected = paused(Twin(case), threshold, ahead, top)
    assert (tuple(sample.tokens) if sample.finish_reason == "stop" else None) == expected


@pytest.mark.parametrize("case", models(2, ("skewed", "ambiguous", "optional tail")), ids=str)
def test_places_of_a_known_text(case: Case) -> None:
    """Entropy and the likeliest token along a text, from the table and the language."""
    twin = Twin(case)
    ids: Tokens = ()
    while not twin.ended(ids) and twin.law(ids):
        ids = (*ids, max(twin.law(ids)))
    walk = _Known(ids)
    drive(walk, case.job(no_draw, token_bytes=case.constraint.vocabulary.tokens))
    laws = [(twin.law(ids[:n]), twin.entropy(ids[:n]), ids[n]) for n in range(len(ids))]
    expected = [(nats, law[token] == max(law.values())) for law, nats, token in laws if len(law) > 1]
    assert [nats for nats, _ in walk.found] == pytest.approx([nats for nats, _ in expected])
    assert [right for _, right in walk.found] == [right for _, right in expected]


def test_a_threshold_is_learned() -> None:
    """The logistic regression is at its optimum; the threshold is the best of a hundred on the places held back."""
    rng = np.random.default_rng(2)
    nats = rng.gamma(1.0, 0.8, 400)
    right = rng.random(400) < 1 / (1 + np.exp(3 * (nats - 1)))
    slope, offset = logistic(nats[:, None], right.astype(float))

    def objective(a: float, b: float) -> float:
        return (
            -math.fsum(math.log1p(math.exp(-(2 * r - 1) * (a * x + b))) for x, r in zip(nats, right, strict=True))
            - a * a / 2
        )

    best = objective(slope, offset)
    assert all(objective(slope + a, offset + b) < best for a, b in product((-1e-3, 0, 1e-3), repeat=2) if a or b)
    places = [KnownPlace(float(x), bool(r)) for x, r in zip(nats, right, strict=True)]
    found = fit_threshold(places)
    assert found == fit_threshold(places)
    hits = {bound: sum((p.nats < bound) == p.right for p in places) for bound in [found, *np.arange(0, 4, 0.05)]}
    assert hits[found] > 0.95 * max(hits.values())
    for few in ([], [KnownPlace(0.5, True)] * 9, [KnownPlace(i / 9, i > 4) for i in range(90)]):
        with pytest.raises(ConstrainError, match=r"learned from places|does not tell"):
            fit_threshold(few)


def test_a_threshold_for_a_model() -> None:
    model = constrain.reference.load()
    places = [
        place
        for text in ('{"name": "Ann", "age": 31}', '{"name": "Bob", "age": 7}', '{"name": "Eve", "age": 52}')
        for place in known_places(model, "A person: ", text, regex=r'\{"name": "[A-Za-z]+", "age": [0-9]+\}')
    ]
    assert len(places) > 9
    g = constrain.generate(model, "A date: ", regex="[0-9]{4}", method=Pausing(threshold=fit_threshold(places)))
    assert g.finish_reason == "stop"
    with pytest.raises(ConstrainError, match="refuses the known text"):
        known_places(model, "A date: ", "x", regex="[0-9]{4}")


# --- contrastive ------------------------------------------------------------------------------------------------------


def direction(prefix: Sequence[int]) -> np.ndarray:
    """A hidden state of length 1, drawn once for every prefix; equal last tokens are alike."""
    own = np.random.default_rng([3, prefix[-1] + 1]).normal(size=3)
    all_of_it = np.random.default_rng([5, *(token + 1 for token in prefix)]).normal(size=3)
    return (own + all_of_it) / np.linalg.norm(own + all_of_it)


class HiddenTable(TreeTable):
    def open(self, rows: int) -> HiddenSession:
        return HiddenSession(self, rows)


class HiddenSession(TreeTableSession):
    keep_hidden = False

    def forward(self, chunks: Any, keep: Any, tokens: Any, parents: Any) -> list[torch.Tensor]:
        assert self.keep_hidden
        found = super().forward(chunks, keep, tokens, parents)
        row, nodes, before = self.rows[0], tokens[0].tolist(), parents[0].tolist()
        prefixes = [row[: len(row) - i] for i in range(keep[0] - 1, -1, -1)]
        for token, parent in zip(nodes, before, strict=True):
            prefixes.append([*prefixes[parent + keep[0]], token])
        self.hidden = [torch.tensor(np.stack([2.0 * direction(prefix) for prefix in prefixes]))]
        return found


def contrastive(twin: Twin, alpha: float, top: int) -> Tokens | None:
    ids: Tokens = ()
    while not twin.ended(ids):
        law = twin.law(ids)
        if not law:
            return None
        text = [*PROMPT, *ids]
        before = [direction(text[:n]) for n in range(1, len(text) + 1)]

        def value(token: int, law: Any = law, text: Any = text, before: Any = before) -> float:
            likeness = max(float(direction([*text, token]) @ each) for each in before)
            return (1 - alpha) * law[token] - alpha * likeness

        ids = (*ids, max(sorted(law, key=lambda v: (-law[v], v))[:top], key=value))
    return ids if twin.complete(ids) else None


@pytest.mark.parametrize("case", models(8), ids=str)
@pytest.mark.parametrize(("alpha", "top"), [(0.0, 3), (0.6, 3), (0.9, 2), (1.0, 9)])
def test_contrastive_search(case: Case, alpha: float, top: int) -> None:
    model = HiddenTable(case.model.width, case.seed, case.spread)
    (sample,) = drive(Contrastive(alpha=alpha, top=top), case.job(no_draw, model=model))
    expected = contrastive(Twin(case), alpha, top)
    assert (tuple(sample.tokens) if sample.finish_reason == "stop" else None) == expected


@torch.inference_mode()
def test_contrastive_search_of_transformers_models() -> None:
    """Hidden states are what the model says of the whole text, read at once."""
    tokenizer = tiny_tokenizer()
    model = tiny_llama(tokenizer)
    texts = ["ab", "ba", "bab", "abba", "bb"]
    g = constrain.generate(
        model, "a b", tokenizer=tokenizer, choices=texts, method=Contrastive(alpha=0.5, top=3), max_tokens=9
    )
    assert g.finish_reason == "stop"
    prompt, written = tokenizer("a b")["input_ids"], list(g.tokens)
    matcher = constrain.compile(
        constrain.choices(texts), constrain.hf.HFModel.of(model, tokenizer).vocabulary
    ).matcher()
    for place, token in enumerate(written):
        text = [*prompt, *written[:place]]
        output = model(torch.tensor([text]), output_hidden_states=True)
        p = output.logits[0, -1].masked_fill(~allowed_of(matcher, output.logits.shape[-1]), -torch.inf).softmax(-1)
        before = output.hidden_states[-1][0]
        values = {}
        for candidate in p.sort(descending=True, stable=True).indices[:3].tolist():
            if p[candidate] > 0:
                last = model(torch.tensor([[*text, candidate]]), output_hidden_states=True).hidden_states[-1][0, -1:]
                likeness = float(torch.cosine_similarity(last, before).max())
                values[candidate] = 0.5 * float(p[candidate]) - 0.5 * likeness
        assert max(values, key=values.__getitem__) == token
        assert matcher.advance(token)


def allowed_of(matcher: Any, width: int) -> torch.Tensor:
    return torch.tensor([token < matcher.compiled.vocabulary.size and matcher.allows(token) for token in range(width)])


def test_contrastive_search_needs_hidden_states() -> None:
    with pytest.raises(ConstrainError, match="tells its hidden states"):
        constrain.generate(constrain.reference.load(), "A: ", regex="a+", method=Contrastive(), draft="lookup")


def test_contrastive_search_of_processed_logits() -> None:
    """A processor that leaves the likeliest token only leaves one candidate, the greedy one."""
    model, options = constrain.reference.load(), {"regex": "[a-z]{8}", "draft": False}
    found = constrain.generate(model, "A: ", method=Contrastive(), processors=[MinP(1.0)], **options)
    assert found.text == constrain.generate(model, "A: ", temperature=0, **options).text


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Contrastive(alpha=2), "alpha must be"),
        (lambda: Contrastive(top=0), "top must be"),
        (lambda: Cautious(trials=0), "trials must be"),
        (lambda: Cautious(low=2.0), "high must be above low"),
        (lambda: Cautious(boundary="sentence"), "there is no boundary"),
        (lambda: Pausing(threshold=-1), "threshold must be"),
        (lambda: Pausing(ahead=-1), "ahead must be"),
    ],
)
def test_options(make: Any, message: str) -> None:
    with pytest.raises(ConstrainError, match=message):
        make()


def test_punctuation_ends_a_trial() -> None:
    """A token that holds a mark ends it, by default."""
    case = Case("dyck", 1)
    tokens = case.constraint.vocabulary.tokens
    (sample,) = drive(Cautious(trials=2, low=0.0, high=0.1), case.job(TorchDraw(1), token_bytes=tokens))
    assert sample.finish_reason == "stop"
