"""The canonical-only target: the distribution that is sampled."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pytest
from sampling_cases import PROMPT, Tokens, law_of, weighted
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers

import constrain
from constrain import reference
from constrain.errors import ConstrainError, VocabularyError
from constrain.generation import make_job
from constrain.sampling import (
    AWRS,
    CARS,
    MCMC,
    SIR,
    SMC,
    ASAp,
    Draw,
    Exact,
    Job,
    Memory,
    Rejection,
    Sample,
    Settings,
    canonical,
    enumerate_draws,
    lcd,
)
from constrain.sampling.core.sampler import drive
from constrain.speculative import Fixed, LegalWords, Lookup, Speculation
from toy_model import cuts, tiny_llama, tiny_tokenizer
from tree_target import Given, TreeTable

TINY = 1e-9


@pytest.fixture(params=["whole", "pieces"])
def tokenizer(request: Any) -> Any:
    tokenizer = tiny_tokenizer()
    if request.param == "pieces":  # words, as GPT-2 cuts them
        from tokenizers import pre_tokenizers

        tokenizer.backend_tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    return tokenizer


def test_the_law(tokenizer: Any) -> None:
    """p over canonical sequences only, renormalised: by `exact`, `cars`, and weights of `lcd`."""
    import torch

    model = tiny_llama(tokenizer, seed=3)
    vocabulary = constrain.hf.HFModel(model, tokenizer).vocabulary
    texts = ["true", "red", "re", "00", "re d"]
    constraint = canonical(constrain.compile(constrain.choices(texts), vocabulary), tokenizer)
    prompt = tokenizer("the ")["input_ids"]
    log_p = {}
    for text in texts:
        own = [*tokenizer(text, add_special_tokens=False)["input_ids"], *vocabulary.eos_ids]
        with torch.inference_mode():
            logits = model(torch.tensor([[*prompt, *own]])).logits[0].log_softmax(-1)
        log_p[text] = math.fsum(float(logits[len(prompt) - 1 + i, token]) for i, token in enumerate(own))
    g = constrain.generate(model, "the ", tokenizer=tokenizer, constraint=constraint, method="exact", seed=1)
    total = math.fsum(map(math.exp, log_p.values()))
    assert g.log_evidence == pytest.approx(math.log(total), abs=1e-9)
    best = constrain.generate(model, "the ", tokenizer=tokenizer, constraint=constraint, method="argmax", n=6)
    assert [each.text for each in best[:5]] == sorted(texts, key=lambda text: -log_p[text])
    assert best[5].finish_reason == "dead_end"
    outputs = constrain.generate(model, "the ", tokenizer=tokenizer, constraint=constraint, n=600, seed=1)
    for text in texts:
        weight = math.fsum(w for each, w in zip(outputs, outputs.weights, strict=True) if each.text == text)
        assert weight == pytest.approx(math.exp(log_p[text]) / total, abs=0.1)
    memory = Memory()
    for compiled, own_cuts in ((constraint, None), (constraint.compiled, None), (constraint.compiled, False)):
        constrain.generate(
            model, "the ", tokenizer=tokenizer, constraint=compiled, method=CARS(memory=memory, attempts=5),
            max_tokens=8, canonical=own_cuts,
        )  # fmt: skip
    assert len(memory) == 3  # three targets: canonical tokens, canonical ones where text is forced (the default), all


def test_the_reference_model_prefers_its_own_cut() -> None:
    ref = reference.load()
    vocabulary = constrain.Vocabulary.from_huggingface(ref.tokenizer)
    constraint = canonical(constrain.compile(constrain.regex('(red|green|blue)"'), vocabulary), ref.tokenizer)
    all_cuts = constrain.generate(ref, '{"color": "', regex='(red|green|blue)"', method="exact")
    own_cut = constrain.generate(ref, '{"color": "', constraint=constraint, method="exact")
    assert own_cut.log_evidence == pytest.approx(all_cuts.log_evidence, abs=0.1)


def test_a_blank_before_a_text_is_of_the_prompt(tokenizer: Any) -> None:
    """A tokenizer that puts a blank before texts puts it before the prompt: an output has none."""
    tokenizer.backend_tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
    compiled = constrain.compile(constrain.choices(["a", " a"]), constrain.Vocabulary.from_huggingface(tokenizer))
    matcher = canonical(compiled, tokenizer).matcher()
    one, blank = (tokenizer.convert_tokens_to_ids(each) for each in ("a", "Ġa"))
    assert matcher.allows(one)
    assert matcher.allows(blank)
    assert not matcher.allows(tokenizer.convert_tokens_to_ids("Ġ"))


@pytest.mark.parametrize(
    "change, words",
    [
        (lambda backend: setattr(backend, "model", unigram(backend)), "this tokenizer has no merges"),
        (
            lambda backend: setattr(backend, "pre_tokenizer", pre_tokenizers.Split(Regex("a"), "removed")),
            '"behavior": "Removed"',
        ),
        (lambda backend: backend.add_tokens([AddedToken("red", lstrip=True)]), "takes blanks or words around it along"),
    ],
    ids=["unigram", "removed", "blanks"],
)
def test_tokenizers_that_are_not_understood(change: Callable[[Any], Any], words: str) -> None:
    """`canonical` refuses them; `generate` counts all tokens, and says why."""
    tokenizer = tiny_tokenizer()
    change(tokenizer.backend_tokenizer)
    vocabulary = constrain.Vocabulary.from_huggingface(tokenizer)
    compiled = constrain.compile(constrain.regex("a+"), vocabulary)
    with pytest.raises(VocabularyError, match=re.escape(words)):
        canonical(compiled, tokenizer)
    g = constrain.generate(tiny_llama(tokenizer), "a", tokenizer=tokenizer, regex="a{2}", seed=1)
    assert g.finish_reason == "stop"
    assert g.stats.cuts.startswith("all: ")
    assert words in g.stats.cuts
    with pytest.raises(ConstrainError, match="canonical=True is not possible") as caught:
        constrain.generate(tiny_llama(tokenizer), "a", tokenizer=tokenizer, regex="a{2}", canonical=True)
    assert caught.value.place == "canonical"
    assert words in str(caught.value)


def unigram(backend: Any) -> Any:
    """A model of the same tokens by other means."""
    by_id = sorted(backend.get_vocab(with_added_tokens=False).items(), key=lambda item: item[1])
    return models.Unigram([(piece, -1.0 - len(piece)) for piece, _ in by_id])


def test_forks_and_rollback() -> None:
    tokenizer = tiny_tokenizer()
    job = make_job(
        tiny_llama(tokenizer), "a", tokenizer=tokenizer,
        constraint=canonical(
            constrain.compile(constrain.choices(["true", "tree"]), constrain.Vocabulary.from_huggingface(tokenizer)),
            tokenizer,
        ),
    )  # fmt: skip
    assert job.constraint_key.endswith("canonical")
    assert job.matchers is not None
    matcher = job.matchers[0]
    own = tokenizer("true")["input_ids"]
    for token in own:
        assert matcher.advance(token)
    twin = matcher.fork()
    assert twin.state == matcher.state
    assert matcher.is_accepting()
    assert matcher.is_finished()
    assert matcher.forced_tokens() == []
    matcher.rollback(len(own))
    assert not matcher.is_accepting()
    assert twin.is_accepting()
    assert twin.advance(tokenizer.eos_token_id)
    assert twin.is_finished()
    assert not twin.advance(own[0])


# --- every method, by enumeration -------------------------------------------------------------------------------------


@cache
def merging() -> tuple[Any, constrain.Vocabulary]:
    """A tokenizer of three tokens, a, b and ab, and its vocabulary, which has an end."""
    tokenizer = Tokenizer(models.BPE({"a": 0, "b": 1, "ab": 2}, [("a", "b")]))
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer, constrain.Vocabulary.from_huggingface(tokenizer, eos_ids=[3], size=4)


LANGUAGES = {
    "forced": ["aab"],  # after a only ab is canonical: b would be joined to it
    "two": ["ab", "b"],
    "looks ahead": ["abb", "aab"],  # `a` is kept since another a may follow, and refused before b
    "empty too": ["", "a"],
}
METHODS: dict[str, Callable[[], Any]] = {
    "exact": Exact,
    "lcd": lambda: lcd,
    "rejection": lambda: Rejection(attempts=2),
    "cars": lambda: CARS(attempts=2),
    "asap": lambda: ASAp(warmup=1),
    "smc": lambda: SMC(particles=2, ess_threshold=1),
    "awrs": AWRS,
    "sir": lambda: SIR(samples=2),
    "mcmc": lambda: MCMC(steps=1),
}
EXACT = {"exact", "rejection", "cars"}


@dataclass(frozen=True)
class Cut:
    """Texts, a model of three tokens that merge, and which tokens count."""

    texts: tuple[str, ...]
    seed: int
    own_cuts: bool

    @property
    def model(self) -> TreeTable:
        return TreeTable(4, self.seed, 1.5)

    def truth(self) -> dict[Tokens, float]:
        """p of every sequence that counts, by its definition."""
        tokenizer, vocabulary = merging()
        model, found = self.model, {}
        for text in self.texts:
            own = tokenizer.encode(text).ids
            for cut in cuts(vocabulary.tokens, text.encode()):
                if cut == own or not self.own_cuts:
                    tokens = (*cut, 3)
                    log_p = [model.log_probs([*PROMPT, *tokens[:i]])[token] for i, token in enumerate(tokens)]
                    found[tokens] = float(np.exp(math.fsum(log_p)))
        return found

    def job(self, draw: Draw, drafted: bool, rows: int = 1) -> Job:
        tokenizer, vocabulary = merging()
        compiled = constrain.compile(constrain.choices(list(self.texts)), vocabulary)
        constraint = canonical(compiled, tokenizer) if self.own_cuts else compiled
        job = Job(
            model=self.model, prompts=[PROMPT] * rows, matchers=[constraint.matcher() for _ in range(rows)], size=4,
            eos_ids=vocabulary.eos_ids, settings=Settings(max_tokens=6), draw=draw, streams=range(rows),
            constraint_key="texts", token_bytes=vocabulary.tokens,
        )  # fmt: skip
        return Speculation([LegalWords(), Lookup(), Given(3, 4)], controller=Fixed(6, 3)).ahead(job) if drafted else job


def ended(found: list[tuple[float, Sample]]) -> dict[Any, float]:
    """The probability of every output with its weight and evidence."""
    law: dict[Any, float] = {}
    for q, sample in found:
        numbers = (round(sample.log_prob, 9), round(sample.log_weight, 9), round(sample.log_evidence or 0.0, 9))
        key = tuple(sample.tokens), sample.finish_reason, *numbers, sample.attempts
        law[key] = law.get(key, 0.0) + q
    return law


@pytest.mark.parametrize("own_cuts", [True, False], ids=["canonical", "all"])
@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("method", METHODS)
def test_the_law_of_every_method(method: str, language: str, own_cuts: bool) -> None:
    """Outputs, weights and evidence are of p given "a text of the language, in a cut that counts", drafts or none."""
    case = Cut(tuple(LANGUAGES[language]), list(METHODS).index(method), own_cuts)
    truth = case.truth()
    assert (len(truth) == len(case.texts)) == (own_cuts or language == "empty too")
    plain, drafted = (
        list(enumerate_draws(lambda draw: drive(METHODS[method](), case.job(draw, drafts))[0]))  # noqa: B023
        for drafts in (False, True)
    )
    total = math.fsum(truth.values())
    for found in (plain, drafted):
        assert math.fsum(q for q, _ in found) == pytest.approx(1, abs=TINY)
        if method in EXACT:
            law = law_of(found)
            success = math.fsum(law.values())
            expected = {tokens: p / total for tokens, p in truth.items()}
            assert {tokens: q / success for tokens, q in law.items()} == pytest.approx(expected, abs=TINY)
        elif method != "mcmc":  # which only comes close, the closer the more steps it makes
            assert weighted(found) == pytest.approx(truth, rel=TINY, abs=TINY * total)
        if method == "exact":
            assert [each.log_evidence for _, each in found] == pytest.approx([math.log(total)] * len(found), abs=TINY)
        elif method in ("smc", "sir", "awrs"):
            evidence = math.fsum(q * math.exp(-math.inf if e is None else e) for q, e in evidences(found))
            assert evidence == pytest.approx(total, rel=TINY)
    assert ended(drafted) == pytest.approx(ended(plain), abs=TINY)


def evidences(found: list[tuple[float, Sample]]) -> list[tuple[float, float | None]]:
    return [(q, sample.log_evidence) for q, sample in found]
