"""Laws, weights and evidence of what `generate` returns, by every way the draws can go: they are what methods promise.

Methods are tested below `generate` in tests/sampling. What lies between may still bend them: outputs that are sampled
anew, settings that processors take over, checks. So whole calls are walked here, and compared with an oracle of its
own: plain Python over the texts of a language, with the truncations that docs/sampling.md names.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import pydantic
import pytest

import constrain
from constrain.generation.request.request import Request
from constrain.monitors import monitored
from constrain.monitors.monitor import Names
from constrain.monitors.sql.lexicon import LEXICON
from constrain.sampling import (
    AWRS,
    CARS,
    MCMC,
    METHODS,
    SIR,
    SMC,
    Argmax,
    ASAp,
    Beam,
    Exact,
    Faithful,
    Rejection,
    Retried,
    enumerate_draws,
    lcd,
    predicate,
)
from constrain.sampling.processors import MinP
from toy_model import TableModel

Tokens = tuple[int, ...]
Found = list[tuple[float, Any]]  # (probability, output) of every way the draws can turn out
PROMPT = [0]
WEIGHTED: dict[str, Callable[[], Any]] = {
    "lcd": lambda: lcd,
    "sir": lambda: SIR(samples=2),
    "smc": lambda: SMC(particles=2, ess_threshold=0.9),
    "awrs": AWRS,
    "asap": ASAp,
}
CONDITIONED: dict[str, Callable[[], Any]] = {
    "exact": Exact,
    "cars": lambda: CARS(attempts=2, batch=1),
    "rejection": lambda: Rejection(attempts=1),
    "faithful": Faithful,
}
SEARCHES: dict[str, Callable[[], Any]] = {"beam": Beam, "argmax": Argmax}


@dataclass(frozen=True)
class Language:
    """A constraint as options of `generate`, and all of its texts.

    dead: beginnings that masks allow although no text begins so. seed: of a model that truncation leads into dead ends.
    """

    options: dict[str, Any]
    pieces: tuple[bytes | None, ...]
    texts: frozenset[bytes]
    dead: frozenset[bytes] = frozenset()
    seed: int = 0

    def lives(self, text: bytes) -> bool:
        return any(each.startswith(text) for each in self.texts | self.dead)

    def need(self, text: bytes) -> float:
        """The tokens that complete a text, its end counted."""
        if text in self.texts:
            return 1
        longer = [text + piece for piece in self.pieces if piece and self.lives(text + piece)]
        return 1 + min(map(self.need, longer), default=math.inf)


class Toy(TableModel):
    """Random logits over the pieces of a language, in float64, as `generate` takes a model; it rather likes the texts.

    The last piece ends a text.
    """

    tokenizer = None

    def __init__(self, language: Language, seed: int) -> None:
        super().__init__(len(language.pieces), seed, spread=1.0)
        self.language = language
        self.vocabulary = constrain.Vocabulary(language.pieces, [len(language.pieces) - 1])

    def logits(self, prefix: Sequence[int]) -> np.ndarray:
        if tuple(prefix) not in self.fixed:
            text = b"".join(self.language.pieces[token] or b"" for token in prefix[len(PROMPT) :])
            goes_on = [self.language.lives(text + piece) if piece else text in self.language.texts
                       for piece in self.language.pieces]  # fmt: skip
            self.fixed[tuple(prefix)] = super().logits(prefix) + np.where(goes_on, 1.5, 0)
        return self.fixed[tuple(prefix)]


class Known:
    """A monitor that knows two names."""

    lexicon = LEXICON

    def start(self) -> tuple[bytes, ...]:
        return ()

    def begin(self, state: tuple[bytes, ...], kind: int, first: bytes) -> tuple[bytes, ...]:
        return state

    def advance(self, state: tuple[bytes, ...], kind: int, text: bytes) -> tuple[bytes, ...]:
        return (*state, text)

    def language(self, state: tuple[bytes, ...]) -> Names:
        return Names(["a", "cab"])

    def may_end(self, state: tuple[bytes, ...]) -> bool:
        return True


KEYS = constrain.json_schema(
    {
        "type": "object",
        "propertyNames": {"minLength": 1, "maxLength": 1},
        "additionalProperties": {"const": 1},
        "minProperties": 1,
        "maxProperties": 2,
    },
    whitespace="compact",
)
LANGUAGES = {
    "choices": Language(
        {"choices": ["a", "b", "ab"]}, (b"a", b"b", b"ab", b"c", None), frozenset([b"a", b"b", b"ab"]), seed=7
    ),
    # The only key is used, and another one may begin: the guard vetoes all that follows.
    "guarded": Language(
        {"constraint": KEYS},
        (b'{"', b"a", b'":1', b',"', b'":1}', None),
        frozenset([b'{"a":1}']),
        frozenset([b'{"a":1,"']),
        seed=4,
    ),
    # The monitor takes `ca` for the beginning of a name that is longer than the grammar's.
    "monitored": Language(
        {"constraint": monitored(constrain.regex("[abc]{1,2};"), Known())},
        (b"a", b"b", b"c", b";", None),
        frozenset([b"a;"]),
        frozenset([b"ca"]),
        seed=3,
    ),
    "stopped": Language(
        {"regex": "a{0,2}", "stop": "b"},
        (b"a", b"b", b"ab", None),
        frozenset([b"", b"a", b"aa", b"b", b"ab", b"aab"]),
        seed=3,
    ),
}
TRUNCATIONS: dict[str, dict[str, Any]] = {
    "none": {},
    "top-k": {"top_k": 2},
    "top-p": {"top_p": 0.6},
    "all three": {"temperature": 0.7, "top_k": 3, "top_p": 0.8},
    "min-p": {"processors": [MinP(0.5)]},
    "short": {"max_tokens": 3, "top_k": 3},
    "complete": {"complete": True, "max_tokens": 5, "top_k": 2},
}


# -- the oracle --------------------------------------------------------------------------------------------------------


def kept(shares: np.ndarray, top_k: int | None = None, top_p: float | None = None, **_: Any) -> np.ndarray:
    """Top-k, then top-p, renormalised; ties stay whole."""
    if top_k is not None and top_k < len(shares):
        shares = np.where(shares >= np.sort(shares)[-top_k], shares, 0)
        shares = shares / shares.sum()
    if top_p is not None:
        ordered = np.sort(shares)[::-1]
        least = ordered[(np.cumsum(ordered) - ordered < top_p).sum() - 1]
        shares = np.where(shares >= least, shares, 0)
        shares = shares / shares.sum()
    return shares


def shared_out(shares: np.ndarray, allowed: list[int], rule: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    """The mass of what is allowed, as a rule shares it out; what is not keeps its own."""
    if len(allowed) < 2:
        return shares
    shares, mass = shares.copy(), shares[allowed].sum()
    wanted = rule(shares[allowed] / mass) > 0
    own = np.where(wanted, shares[allowed], 0)
    shares[allowed] = mass * own / own.sum()
    return shares


def heated(shares: np.ndarray, temperature: float) -> np.ndarray:
    hot = shares ** (1 / temperature)
    return hot / hot.sum()


def law(language: Language, model: Toy, asked: dict[str, Any], masked_first: bool) -> dict[Tokens, float]:
    """p(x) of every member x that a method can write. masked_first: it truncates what the mask has left, as "lcd"."""
    end, longest = len(language.pieces) - 1, asked.get("max_tokens", 9)
    temperature, complete = asked.get("temperature", 1.0), asked.get("complete", False)
    found: dict[Tokens, float] = {}

    def walk(ids: Tokens, text: bytes, mass: float) -> None:
        if len(ids) == longest or mass == 0:
            return
        left = longest - len(ids)
        allowed = [
            token
            for token, piece in enumerate(language.pieces)
            if (text in language.texts if piece is None else language.lives(text + piece))
            and (piece is None or not complete or language.need(text + piece) < left)
        ]
        shares = np.exp(model.log_probs([*PROMPT, *ids]))
        if "processors" in asked:
            shares = shared_out(shares, allowed, lambda own: own * (own >= 0.5 * own.max()))
        elif complete and not masked_first:
            shares = shared_out(shares, allowed, lambda own: kept(heated(own, temperature), **asked))
        shares = heated(shares, temperature)
        if masked_first:
            own = shares[allowed]
            left_over = kept(own / own.sum(), **asked) if own.sum() else own
            allowed = [token for token, share in zip(allowed, left_over, strict=True) if share > 0]
        elif not complete:
            shares = kept(shares, **asked)
        for token in allowed:
            if token == end:
                found[(*ids, end)] = mass * shares[end]
            else:
                walk((*ids, token), text + (language.pieces[token] or b""), mass * shares[token])

    walk((), b"", 1.0)
    return {tokens: mass for tokens, mass in found.items() if mass > 0}


# -- the calls ---------------------------------------------------------------------------------------------------------


def walked(monkeypatch: pytest.MonkeyPatch, model: Toy, method: Callable[[], Any], **asked: Any) -> Found:
    """Every way in which a call of `generate` can end. method: makes a new one for each."""

    def run(draw: Any) -> Any:
        monkeypatch.setattr("constrain.generation.run.TorchDraw", lambda seed: draw)
        given = {"canonical": False, "max_tokens": 9, "seed": 0, **asked}
        return constrain.generate(model, [PROMPT], method=method(), **given)[0]  # type: ignore[arg-type]

    return list(enumerate_draws(run))


def summed(found: Found, weight: Callable[[Any], float]) -> dict[Tokens, float]:
    """E[weight · 1(output = x)] of every complete output x."""
    sums: dict[Tokens, float] = {}
    for probability, output in found:
        if output.finish_reason == "stop":
            sums[tuple(output.tokens)] = sums.get(tuple(output.tokens), 0.0) + probability * weight(output)
    return sums


def evidence(found: Found) -> float:
    """E[exp(log_evidence)]."""
    return math.fsum(probability * math.exp(output.log_evidence) for probability, output in found)


CASES = [
    pytest.param(name, truncation, id=f"{name}-{truncation}")
    for name in LANGUAGES
    for truncation in TRUNCATIONS
    if truncation != "complete" or not LANGUAGES[name].dead
]


def given(name: str, truncation: str) -> tuple[Language, Toy, dict[str, Any]]:
    language = LANGUAGES[name]
    return language, Toy(language, language.seed), {**language.options, **TRUNCATIONS[truncation]}


@pytest.mark.parametrize("method", WEIGHTED)
@pytest.mark.parametrize(("name", "truncation"), CASES)
def test_weights_are_proper(monkeypatch: pytest.MonkeyPatch, name: str, truncation: str, method: str) -> None:
    """E[w · 1(output = x)] = p(x), and the mean of w and of the evidence is Z: what failed counts 0, and once."""
    language, model, asked = given(name, truncation)
    exact = law(language, model, asked, masked_first=method == "lcd")
    found = walked(monkeypatch, model, WEIGHTED[method], **asked)
    assert math.fsum(probability for probability, _ in found) == pytest.approx(1, abs=1e-12)
    assert summed(found, lambda output: math.exp(output.log_weight)) == pytest.approx(exact, abs=1e-12)
    assert evidence(found) == pytest.approx(math.fsum(exact.values()), abs=1e-12)
    assert {output.stats.retries for _, output in found} == {0}
    began = {"sir": 2, "smc": 2}.get(method, 1)
    assert {output.stats.attempts for _, output in found} <= {began}


@pytest.mark.parametrize("method", CONDITIONED)
@pytest.mark.parametrize(("name", "truncation"), CASES)
def test_laws_are_the_target(monkeypatch: pytest.MonkeyPatch, name: str, truncation: str, method: str) -> None:
    language, model, asked = given(name, truncation)
    exact = law(language, model, asked, masked_first=False)
    found = walked(monkeypatch, model, CONDITIONED[method], **asked)
    sums, mass = summed(found, lambda output: 1.0), math.fsum(exact.values())
    share = math.fsum(sums.values())
    assert {tokens: each / share for tokens, each in sums.items()} == pytest.approx(
        {tokens: each / mass for tokens, each in exact.items()}, abs=1e-12
    )
    assert {output.stats.retries for _, output in found} == {0}
    for _, output in found:
        assert output.log_weight == (0 if output.finish_reason == "stop" else -math.inf)
        if output.evidence_bounds is not None:
            low, high = output.evidence_bounds
            assert low - 1e-12 <= math.log(mass) <= high + 1e-12 if mass else low == -math.inf
        if method in ("exact", "faithful"):
            assert math.exp(output.log_evidence) == pytest.approx(mass, abs=1e-12)


@pytest.mark.parametrize(("name", "truncation"), CASES)
def test_a_chain_stays_in_the_target(monkeypatch: pytest.MonkeyPatch, name: str, truncation: str) -> None:
    """Its evidence is that of independent draws; its states are members, of no weight."""
    language, model, asked = given(name, truncation)
    exact = law(language, model, asked, masked_first=False)
    found = walked(monkeypatch, model, lambda: MCMC(steps=1), **asked)
    assert evidence(found) == pytest.approx(math.fsum(exact.values()), abs=1e-12)
    assert summed(found, lambda output: 1.0).keys() == exact.keys()
    assert {(output.log_weight, output.stats.retries) for _, output in found} <= {(0.0, 0), (-math.inf, 0)}


@pytest.mark.parametrize("method", SEARCHES)
@pytest.mark.parametrize(("name", "truncation"), CASES)
def test_searches_find_the_likeliest(monkeypatch: pytest.MonkeyPatch, name: str, truncation: str, method: str) -> None:
    language, model, asked = given(name, truncation)
    exact = law(language, model, asked, masked_first=False)
    ((_, output),) = walked(monkeypatch, model, SEARCHES[method], **asked)
    assert (output.finish_reason == "stop") == bool(exact)
    if exact:
        assert tuple(output.tokens) == max(exact, key=exact.__getitem__)
        assert math.exp(output.logprob) == pytest.approx(max(exact.values()), abs=1e-12)
    assert output.stats.retries == 0


def test_every_method_is_here() -> None:
    assert set(METHODS) >= {*WEIGHTED, *CONDITIONED, *SEARCHES, "mcmc"}
    assert {name for name in METHODS if "-" not in name} <= {*WEIGHTED, *CONDITIONED, *SEARCHES, "mcmc"}


# -- dead ends ---------------------------------------------------------------------------------------------------------


VETO = "every token that the grammar goes on with is refused by a monitor, a part of it or a rule's budget"
REASONS = {  # of dead ends, by language and truncation
    ("choices", "top-k"): {"no token that may come next is left by top_k=2"},
    ("choices", "top-p"): {"no token that may come next is left by top_p=0.6"},
    ("guarded", "none"): {"every continuation that is left repeats a key or an item"},
    ("guarded", "top-k"): {"no token that may come next is left by top_k=2"},
    ("guarded", "min-p"): {"every continuation that is left repeats a key or an item"},
    ("guarded", "short"): set(),
    ("monitored", "none"): {VETO},
    ("monitored", "all three"): {VETO},
    ("stopped", "top-k"): {"no token that may come next is left by top_k=2"},
    ("stopped", "complete"): set(),
}  # fmt: skip


@pytest.mark.parametrize("method", ["awrs", "sir", "smc"])
@pytest.mark.parametrize(("name", "truncation"), REASONS)
def test_the_reason_of_a_dead_end_is_its_own(
    monkeypatch: pytest.MonkeyPatch, name: str, truncation: str, method: str
) -> None:
    _, model, asked = given(name, truncation)
    found = walked(monkeypatch, model, WEIGHTED[method], **asked)
    told = {output.fault for _, output in found if output.finish_reason == "dead_end"}
    assert told == REASONS[name, truncation]
    assert not any(output.fault for _, output in found if output.finish_reason != "dead_end")


# -- checks ------------------------------------------------------------------------------------------------------------


def _odd(number: int) -> int:
    if number % 2 == 0:
        raise ValueError(f"{number} is even")
    return number


DIGITS = Language({}, (b"1", b"2", b"3", b"4", None), frozenset([b"1", b"3"]), frozenset([b"2", b"4"]), seed=1)
ODD = constrain.json_schema(
    Annotated[int, pydantic.Field(ge=1, le=4), pydantic.AfterValidator(_odd)], whitespace="compact"
)


@pytest.mark.parametrize("truncation", ["none", "top-k", "top-p", "min-p"])
@pytest.mark.parametrize("method", WEIGHTED)
def test_a_validator_counts_as_0(monkeypatch: pytest.MonkeyPatch, method: str, truncation: str) -> None:
    """A text that a check in Python refuses is sampled anew by "lcd", or if `Retried` says so: ratios stay, no more."""
    model, asked = Toy(DIGITS, DIGITS.seed), TRUNCATIONS[truncation]
    exact = law(DIGITS, model, asked, masked_first=method == "lcd")
    strict = walked(monkeypatch, model, lambda: Retried(0, WEIGHTED[method]()), constraint=ODD, **asked)
    assert summed(strict, lambda output: math.exp(output.log_weight)) == pytest.approx(exact, abs=1e-12)
    assert evidence(strict) == pytest.approx(math.fsum(exact.values()), abs=1e-12)

    refused = math.fsum(share for share, output in strict if "is even" in (output.fault or ""))
    retried = walked(monkeypatch, model, lambda: Retried(1, WEIGHTED[method]()), constraint=ODD, **asked)
    scaled = {tokens: mass * (1 + refused) for tokens, mass in exact.items()}
    assert summed(retried, lambda output: math.exp(output.log_weight)) == pytest.approx(scaled, abs=1e-12)
    for _, output in retried:
        assert (output.log_evidence is None) == (output.stats.retries > 0)
        if output.stats.retries == 0:
            assert output.fault is None or "is even" not in output.fault


@pytest.mark.parametrize("method", [*WEIGHTED, *CONDITIONED, "mcmc"])
def test_only_methods_that_do_not_weigh_what_fails_are_retried(monkeypatch: pytest.MonkeyPatch, method: str) -> None:
    """As they are given; "lcd" is what users get who ask for no weights."""
    made = {**WEIGHTED, **CONDITIONED, "mcmc": lambda: MCMC(steps=1)}[method]
    asked = Request.of("", {"regex": "a", "method": made()})
    assert asked.retries == (0 if method in ("sir", "smc", "awrs", "asap", "faithful") else 8)


def is_odd(text: str) -> bool:
    return text in ("", "1", "3")


CHECKED: dict[str, Callable[[], Any]] = {
    "awrs": lambda: AWRS(predicate(is_odd, on="prefix")),
    "smc": lambda: SMC(particles=2, check=predicate(is_odd, on="prefix")),
    "smc, at the end": lambda: SMC(particles=2, potential=predicate(is_odd)),
    "sir": lambda: SIR(samples=2, potential=predicate(is_odd)),
}


@pytest.mark.parametrize("truncation", ["none", "top-k", "all three"])
@pytest.mark.parametrize("method", CHECKED)
def test_a_methods_own_check_counts_as_0(monkeypatch: pytest.MonkeyPatch, method: str, truncation: str) -> None:
    model, asked = Toy(DIGITS, DIGITS.seed), TRUNCATIONS[truncation]
    exact = law(DIGITS, model, asked, masked_first=False)
    found = walked(monkeypatch, model, CHECKED[method], choices=["1", "2", "3", "4"], **asked)
    assert summed(found, lambda output: math.exp(output.log_weight)) == pytest.approx(exact, abs=1e-12)
    assert evidence(found) == pytest.approx(math.fsum(exact.values()), abs=1e-12)
    assert {output.stats.retries for _, output in found} == {0}
    told = {output.fault for _, output in found if output.finish_reason == "dead_end"}
    assert all("check" in fault or "potential" in fault or "top_k" in fault for fault in told), told


# -- batches -----------------------------------------------------------------------------------------------------------


def test_a_batch_costs_what_its_outputs_cost() -> None:
    """Once each dead end of truncation was sampled anew, up to eight times, and the whole batch had no evidence."""
    _, model, asked = given("choices", "top-k")
    exact = law(LANGUAGES["choices"], model, asked, masked_first=False)
    outputs = constrain.generate(model, [PROMPT], method="awrs", n=400, seed=1, canonical=False, **asked)[0]
    dead = [output for output in outputs if output.finish_reason == "dead_end"]
    assert 40 < len(dead) < 360
    assert sum(output.stats.retries for output in outputs) == 0
    assert all(output.log_evidence == output.log_weight for output in outputs)
    masses = np.exp([output.log_weight for output in outputs])
    error = masses.std() / math.sqrt(len(masses))
    assert abs(masses.mean() - math.fsum(exact.values())) < 5 * error
    assert math.exp(outputs.diagnostics.log_evidence) == pytest.approx(masses.mean())
    assert max(output.stats.forwards for output in outputs) <= 3
