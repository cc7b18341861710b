"""Models read byte by byte, and fused: distributions from the definition, a sum over every way to cut a text."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import pytest
import torch
from sampling_cases import PROMPT, Case, conditional, exact, law_of, mass, weighted

import constrain
from constrain.errors import ConstrainError
from constrain.papers.composed import ByteFusion, ByteModel, Guided
from constrain.papers.composed.byte_model import END
from constrain.papers.composed.byte_model import PROMPT as MARK
from constrain.sampling import CARS, MCMC, SIR, SMC, Exact, Rejection, Sample, Settings, enumerate_draws, lcd
from constrain.sampling.core.sampler import drive
from toy_matcher import ToyConstraint, ToyVocabulary
from toy_model import TableModel, tiny_llama, tiny_tokenizer

TINY = 1e-10
BYTES = ToyVocabulary([*(bytes([byte]) for byte in range(256)), None], [END])
LANGUAGES = {
    "beginnings": ToyConstraint(BYTES, [b"a", b"ab", b"abc"]),
    "apart": ToyConstraint(BYTES, [b"abab", b"ba", b"cab"]),
    "the empty text too": ToyConstraint(BYTES, [b"", b"bb"]),
}
# tokens overlap, some are spelled alike, two end a text, one is no text; every byte is a token, or one is not
VOCABULARIES = [
    ToyVocabulary([b"a", b"b", b"c", b"ab", b"bc", b"abc", None], [6]),
    ToyVocabulary([b"b", b"a", b"ba", b"c", b"a", b"abab", None, None, b"ca"], [6]),
    ToyVocabulary([b"a", b"b", b"ab", b"ba", b"c", None, None], [5, 6]),
    ToyVocabulary([b"a", b"b", b"ca", b"cab", b"bb", None], [5]),
]


class Part(TableModel):
    """A table of logits over tokens, which `generate` would take as a model."""

    def __init__(self, vocabulary: ToyVocabulary, seed: int, spread: float) -> None:
        super().__init__(vocabulary.size + 1, seed, spread)
        self.vocabulary = vocabulary
        self.tokenizer = lambda text, add_special_tokens=True: {"input_ids": PROMPT}


class Cuts:
    """The distribution of a part's texts, from the definition."""

    def __init__(self, part: Part) -> None:
        self.part = part
        self.tokens = part.vocabulary.tokens
        self.begins = lru_cache(maxsize=None)(self._begins)
        self.ends = lru_cache(maxsize=None)(self._ends)

    def shares(self, written: tuple[int, ...]) -> np.ndarray:
        """p of the tokens that are text, and of ends."""
        p = np.exp(self.part.log_probs([*PROMPT, *written]))
        return p / sum(p[v] for v in range(len(self.tokens)) if self.tokens[v] or v in self.part.vocabulary.eos_ids)

    def _begins(self, text: bytes, written: tuple[int, ...] = ()) -> float:
        """That the text after some tokens begins so."""
        if not text:
            return 1.0
        p, total = self.shares(written), 0.0
        for number, token in enumerate(self.tokens):
            if token and token.startswith(text):
                total += float(p[number])
            elif token and text.startswith(token):
                total += float(p[number]) * self.begins(text[len(token) :], (*written, number))
        return total

    def _ends(self, text: bytes, written: tuple[int, ...] = ()) -> float:
        """That it is the text."""
        p = self.shares(written)
        if not text:
            return math.fsum(float(p[number]) for number in self.part.vocabulary.eos_ids)
        starts = [(v, token) for v, token in enumerate(self.tokens) if token and text.startswith(token)]
        return math.fsum(float(p[v]) * self.ends(text[len(token) :], (*written, v)) for v, token in starts)

    def next_bytes(self, text: bytes) -> np.ndarray:
        """float64[257] after a text; anything after one that has no mass."""
        if not self.begins(text):
            return np.full(END + 1, 1 / (END + 1))
        masses = [self.begins(text + bytes([byte])) if byte in b"abc" else 0.0 for byte in range(256)]
        return np.array([*masses, self.ends(text)]) / self.begins(text)


def product(laws: Sequence[np.ndarray], weights: Sequence[float], _: Any) -> np.ndarray:
    return np.prod([law**weight for law, weight in zip(laws, weights, strict=True)], axis=0)


def average(laws: Sequence[np.ndarray], weights: Sequence[float], _: Any) -> np.ndarray:
    return sum(weight * law for law, weight in zip(laws, weights, strict=True))


def mixture(laws: Sequence[np.ndarray], weights: Sequence[float], texts: Sequence[float]) -> np.ndarray:
    return average(laws, [weight * text for weight, text in zip(weights, texts, strict=True)], None)


WEIGHTS = [0.7, 0.3]
FORMULAS: dict[str, Any] = {"product": product, "average": average, "mixture": mixture}


@dataclass(frozen=True)
class ByteCase(Case):
    """A case whose model is read byte by byte. how: of two models; "": one, whose vocabulary `seed` says."""

    how: str = ""

    def __str__(self) -> str:
        return f"{self.how or 'one'}-{self.language}-{self.seed}"

    @property
    def constraint(self) -> ToyConstraint:
        return LANGUAGES[self.language]

    @cached_property
    def parts(self) -> list[Part]:
        count = 2 if self.how else 1
        several = [VOCABULARIES[(self.seed + number) % len(VOCABULARIES)] for number in range(count)]
        return [Part(each, 10 * self.seed + number, self.spread) for number, each in enumerate(several)]

    @cached_property
    def cuts(self) -> list[Cuts]:
        return [Cuts(part) for part in self.parts]

    @cached_property
    def model(self) -> Any:
        return self

    def log_probs(self, prefix: Sequence[int]) -> np.ndarray:
        text = bytes(prefix[len(PROMPT) :])
        laws = [cuts.next_bytes(text) for cuts in self.cuts]
        law = FORMULAS[self.how](laws, WEIGHTS, [cuts.begins(text) for cuts in self.cuts]) if self.how else laws[0]
        with np.errstate(divide="ignore"):
            return np.log(law / law.sum())

    def walk(self, method: Callable[[], Any]) -> list[tuple[float, Sample]]:
        one = ByteModel(self.parts[0], covers=None)
        model = ByteFusion(self.parts, WEIGHTS, how=self.how, covers=None) if self.how else one

        def run(draw: Any) -> Sample:
            job = self.job(draw, model=model, prompts=[[MARK]], token_bytes=BYTES.tokens)
            return drive(method(), job)[0]

        return list(enumerate_draws(run))


CASES = [
    ByteCase(language, seed, (1.0, 2.0, 4.0)[seed % 3], Settings(max_tokens=6), how)
    for how in ("", *FORMULAS)
    for language in LANGUAGES
    for seed in range(4)
]
EACH = pytest.mark.parametrize("case", CASES, ids=str)
METHODS: dict[str, Callable[[], Any]] = {
    "lcd": lambda: lcd,
    "sir": lambda: SIR(samples=2),
    "smc": lambda: SMC(particles=2),
    "exact": Exact,
    "cars": lambda: CARS(attempts=1),
    "rejection": lambda: Rejection(attempts=1),
    "mcmc": lambda: MCMC(steps=1, proposal="uniform"),
}


def check(case: ByteCase, method: str) -> None:
    truth = {x: log_p for x, log_p in exact(case).items() if log_p > -math.inf}
    found = case.walk(METHODS[method])
    p = {x: math.exp(log_p) for x, log_p in truth.items()}
    if method in ("lcd", "sir", "smc"):
        weights = {x: weight for x, weight in weighted(found).items() if weight > 0}
        assert weights == pytest.approx(p, rel=1e-8, abs=1e-14 * mass(truth))
    elif method != "mcmc":
        law = law_of(found)
        success = math.fsum(law.values())
        assert {x: q / success for x, q in law.items()} == pytest.approx(conditional(truth), abs=TINY)
    for _, sample in found:
        if sample.finish_reason == "stop":
            assert sample.log_prob == pytest.approx(truth[tuple(sample.tokens)], abs=1e-8)


@EACH
def test_masked_decoding(case: ByteCase) -> None:
    check(case, "lcd")


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("how", ["", *FORMULAS])
def test_every_method(method: str, how: str) -> None:
    """Sequences are forked, dropped and begun again, and their covers with them."""
    check(ByteCase("beginnings", 2, 1.5, Settings(max_tokens=4), how), method)


def rows_of(model: Any, texts: Sequence[bytes]) -> list[torch.Tensor]:
    """log p after every byte of some texts, which are one batch."""
    session, logits = model.start([[MARK]] * len(texts), [1] * len(texts))
    fed = session.feed([list(text) for text in texts], [len(text) for text in texts])
    return [torch.cat([one, two]).log_softmax(-1) for one, two in zip(logits, fed, strict=True)]


@pytest.mark.parametrize("covers", [1, 2, 3, None])
@pytest.mark.parametrize("seed", range(8))
def test_the_law_is_a_function_of_the_text(covers: int | None, seed: int) -> None:
    """However it is fed; it sums to one; with as many covers as there are, none is left out."""
    part = Part(VOCABULARIES[seed % 4], seed, 2.0)
    model = ByteModel(part, covers=covers)
    texts = [b"abab", b"ba", b"bba", b"abb"]
    together = rows_of(model, texts)
    for text, rows in zip(texts, together, strict=True):
        (alone,) = rows_of(model, [text])
        session, _ = model.start([[MARK, *text[:1]]], [1])
        steps = [session.fork([0]).feed([list(text[1 : 1 + n])], [1])[0] for n in range(1, len(text))]
        (at_once,) = model.start([[MARK, *text]], [len(text) + 1])[1]
        for found in (alone, at_once.log_softmax(-1)):
            assert torch.allclose(found.exp(), rows.exp(), atol=1e-12)
        assert torch.allclose(torch.cat(steps).log_softmax(-1).exp(), rows[2:].exp(), atol=1e-12)
        truth = np.stack([Cuts(part).next_bytes(text[:n]) for n in range(len(text) + 1)])
        if covers is None:
            assert rows.exp().numpy() == pytest.approx(truth, abs=TINY)
        else:  # what goes on from the end of a token has mass, and only what has
            assert not ((rows.exp().numpy() > 0) & (truth == 0)).any()


def test_a_text_without_mass() -> None:
    """After a text that no tokens spell the distribution is uniform, and the byte that led there had no mass."""
    model = ByteModel(Part(VOCABULARIES[0], 1, 1.0))
    (rows,) = rows_of(model, [b"axb"])
    assert rows[1][ord("x")] == -math.inf
    assert torch.allclose(rows[2:].exp(), torch.full((2, END + 1), 1 / (END + 1), dtype=torch.float64))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda part: ByteModel(part, covers=0), "covers must be"),
        (lambda part: ByteModel(part).start([[1, 2]], [1]), "reads prompts as texts"),
        (lambda part: ByteFusion([]), "takes a list of models"),
        (lambda part: ByteFusion(part), "takes a list of models"),
        (lambda part: ByteFusion([part], how="sum"), "there is no 'sum' of models"),
    ],
)
def test_what_is_refused(make: Callable[[Part], Any], message: str) -> None:
    with pytest.raises(ConstrainError, match=message):
        make(Part(VOCABULARIES[0], 1, 1.0))


def test_positions_of_the_model() -> None:
    part = Part(VOCABULARIES[0], 1, 1.0)
    part.context = 4
    with pytest.raises(ConstrainError, match="more than the 4 positions"):
        rows_of(ByteModel(part, covers=None), [b"ccc"])


def test_generate() -> None:
    """Models of transformers with different tokenizers; the distribution of one alone is that of `score`."""
    reference = constrain.reference.load()
    alone = ByteModel(reference, covers=None)
    g = constrain.generate(alone, "A word: ", choices=["no"], method="exact", seed=1)
    (score,) = constrain.score(reference, "A word: ", ["no"], tokenisations="all")
    assert g.log_evidence == pytest.approx(score.logprob, abs=1e-3)  # special tokens are left out, some 1e-4 of mass
    tokenizer = tiny_tokenizer()
    other = constrain.hf.HFModel.of(tiny_llama(tokenizer), tokenizer)
    prompts = ["A word: ", "Word: "]
    options: dict[str, Any] = {"regex": "[a-c]{2,4}", "seed": 3, "max_tokens": 6}
    fused = ByteFusion([reference, other], [0.5, 0.5], covers=4)
    together = constrain.generate(fused, prompts, method="smc", **options)
    assert [each.finish_reason for each in together] == ["stop", "stop"]
    assert together[0].text == constrain.generate(fused, prompts[0], method="smc", **options).text
    only_one = ByteFusion([reference, other], [1, 0], covers=4)
    same = constrain.generate(only_one, prompts[0], **options)
    assert same.text == constrain.generate(ByteModel(reference, covers=4), prompts[0], **options).text
    guided = Guided(ByteModel(reference), {"A word: ": "A number: "}, scale=1.5)
    assert constrain.generate(guided, "A word: ", **options).finish_reason == "stop"
    with pytest.raises(ConstrainError, match="no chat template"):
        constrain.generate(fused, [{"role": "user", "content": "Hi"}], **options)
