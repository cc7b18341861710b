"""Laws of `generate` by the definition: every way the draws of a call can go, beside a plain law of a small language.

`law` sums over the texts of a language in plain Python, with the truncations that docs/sampling.md names. `check` walks
a whole call, and compares: laws, weights, evidence, and that nothing is sampled anew. Whatever lies between `generate`
and a method is walked with it.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

import numpy as np

import constrain
from constrain.sampling import (
    AWRS,
    CARS,
    MCMC,
    SIR,
    SMC,
    Argmax,
    ASAp,
    Beam,
    Exact,
    Faithful,
    Rejection,
    enumerate_draws,
    lcd,
)
from toy_model import TableModel

Tokens = tuple[int, ...]
Found = list[tuple[float, Any]]  # (probability, output) of every way the draws can turn out
PROMPT = [0]
CLOSE = 1e-12
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
MADE = {**WEIGHTED, **CONDITIONED, **SEARCHES, "mcmc": lambda: MCMC(steps=1)}


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
        """Masks allow a text."""
        return self.need(text) < math.inf or any(each.startswith(text) for each in self.dead)

    def need(self, text: bytes) -> float:
        """The tokens that complete a text, its end counted."""
        if text in self.texts:
            return 1
        if not any(each.startswith(text) for each in self.texts):
            return math.inf
        return 1 + min((self.need(text + piece) for piece in self.pieces if piece), default=math.inf)


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
        if complete and not masked_first:
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


def walked(model: Toy, method: Callable[[], Any], **asked: Any) -> Found:
    """Every way in which a call of `generate` can end. method: makes a new one for each."""
    given = {"canonical": False, "max_tokens": 9, "seed": 0, **asked}

    def run(draw: Any) -> Any:
        with patch("constrain.generation.run.TorchDraw", lambda seed: draw):
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


def check(language: Language, model: Toy, name: str, asked: dict[str, Any]) -> Found:
    """Judge every way in which a call of `generate` by a method of `MADE` can end; see `weigh`, `draw` and `search`."""
    exact = law(language, model, asked, masked_first=name == "lcd")
    found = walked(model, MADE[name], **asked)
    mass = math.fsum(exact.values())
    near(math.fsum(probability for probability, _ in found), 1)
    assert {output.stats.retries for _, output in found} == {0}  # unless `Retried` says so, or a check refuses
    judge = weigh if name in WEIGHTED else draw if name in CONDITIONED else search if name in SEARCHES else walk
    judge(found, exact, mass)
    return found


def weigh(found: Found, exact: dict[Tokens, float], mass: float) -> None:
    """E[w · 1(output = x)] = p(x), and the mean of w and of the evidence is Z: what failed counts 0, and once."""
    same(summed(found, lambda output: math.exp(output.log_weight)), exact)
    near(evidence(found), mass)


def draw(found: Found, exact: dict[Tokens, float], mass: float) -> None:
    """P(output = x | it is complete) = p(x) / Z, without weights; bounds hold Z, and it is known where they meet."""
    sums = summed(found, lambda output: 1.0)
    share = math.fsum(sums.values())
    same({each: sums[each] / share for each in sums}, {each: exact[each] / mass for each in exact})
    for _, output in found:
        assert output.log_weight == (0 if output.finish_reason == "stop" else -math.inf)
        low, high = map(math.exp, output.evidence_bounds or (-math.inf, 0))
        assert low - CLOSE <= mass <= high + CLOSE
        if low == high:
            near(math.exp(output.log_evidence), mass)


def search(found: Found, exact: dict[Tokens, float], mass: float) -> None:
    """The output is the likeliest member, if there is one."""
    ((_, output),) = found
    assert (output.finish_reason == "stop") == bool(exact)
    if exact:
        near(math.exp(output.logprob), max(exact.values()))
        near(exact[tuple(output.tokens)], max(exact.values()))


def walk(found: Found, exact: dict[Tokens, float], mass: float) -> None:
    """A chain's evidence is that of independent draws; its states are members, of no weight."""
    near(evidence(found), mass)
    assert summed(found, lambda output: 1.0).keys() == exact.keys()
    assert {output.log_weight for _, output in found} <= {0.0, -math.inf}


def same(one: dict[Tokens, float], other: dict[Tokens, float]) -> None:
    """The numbers of two laws are equal but for rounding."""
    assert one.keys() == other.keys(), (one, other)
    assert all(abs(one[key] - other[key]) < CLOSE for key in one), (one, other)


def near(one: float, other: float) -> None:
    assert abs(one - other) < CLOSE, (one, other)


def chi_square_of_orders(found: Iterable[tuple[int, ...]], weights: Sequence[float]) -> float:
    """The statistic of orders of all items as draws without replacement, of n! − 1 degrees of freedom.

    Raises AssertionError: what was found is no order of all items.
    """
    counts = Counter(found)
    draws, statistic = counts.total(), 0.0
    for order in itertools.permutations(range(len(weights))):
        left, p = math.fsum(weights), 1.0
        for i in order:
            p *= weights[i] / left
            left -= weights[i]
        statistic += (counts.pop(order, 0) - draws * p) ** 2 / (draws * p)
    assert not counts
    return statistic
