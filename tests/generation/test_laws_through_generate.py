"""Laws, weights and evidence of what `generate` returns, by every way the draws can go: they are what methods promise.

Methods are tested below `generate` in tests/sampling. What lies between may still bend them: outputs that are sampled
anew, settings that processors take over, checks. The oracle: tests/naive_laws.py.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Annotated, Any

import numpy as np
import pydantic
import pytest

import constrain
from constrain.generation.request.request import Request
from constrain.monitors import monitored
from constrain.monitors.monitor import Names
from constrain.monitors.sql.lexicon import LEXICON
from constrain.sampling import AWRS, METHODS, SIR, SMC, Retried, predicate
from constrain.sampling.methods.retried import retries_by_default
from constrain.sampling.processors import MinP
from naive_laws import MADE, PROMPT, WEIGHTED, Language, Toy, check, evidence, law, summed, walked


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
OTHERS = "".join(f'| "~{i}" ' for i in range(60))  # texts that no token begins
LANGUAGES = {
    "choices": Language(
        {"choices": ["a", "b", "ab"]}, (b"a", b"b", b"ab", b"c", None), frozenset([b"a", b"b", b"ab"]), seed=7
    ),
    # By default "lcd" ends these in time: its proposal, and not what it weighs.
    "schema": Language(
        {"schema": {"enum": [1, 11, 111, 11111]}},
        (b"1", b"11", None),
        frozenset([b"1", b"11", b"111", b"11111"]),
        seed=5,
    ),
    # The only key is used, and another one may begin: the guard vetoes all that follows. The text may be cut off.
    "guarded": Language(
        {"constraint": KEYS, "complete": False},
        (b'{"', b"a", b'":1', b',"', b'":1}', None),
        frozenset([b'{"a":1}']),
        frozenset([b'{"a":1,"']),
        seed=4,
    ),
    # The monitor takes `ca` for the beginning of a name that is longer than the grammar's, which is too large to be
    # asked about all names.
    "monitored": Language(
        {"constraint": monitored(constrain.grammar(f"start: /[abc]{{1,2}};/ {OTHERS}"), Known())},
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
LANGUAGES["choices, stopped"] = Language(
    {"choices": ["a", "b", "ab"], "stop": "#"},
    (b"a", b"b", b"ab", b"#", None),
    frozenset([b"a", b"b", b"ab", b"a#", b"b#", b"ab#"]),
    seed=7,
)
# The guard vetoes the second `a`, before a stop sequence as without one.
LANGUAGES["guarded, stopped"] = Language(
    {"constraint": KEYS, "complete": False, "stop": "#"},
    (b'{"', b"a", b'":1', b',"a', b'":1}', b"#", None),
    frozenset([b'{"a":1}', b'{"a":1}#']),
    frozenset([b'{"a":1']),
    seed=4,
)
TRUNCATIONS: dict[str, dict[str, Any]] = {
    "none": {},
    "top-k": {"top_k": 2},
    "top-p": {"top_p": 0.6},
    "all three": {"temperature": 0.7, "top_k": 3, "top_p": 0.8},
    "min-p": {"processors": [MinP(0.5)]},
    "short": {"max_tokens": 3, "top_k": 3},
    "complete": {"complete": True, "max_tokens": 5, "top_k": 2},
}


CASES = [
    pytest.param(name, truncation, id=f"{name}-{truncation}")
    for name in LANGUAGES
    for truncation in TRUNCATIONS
    if truncation != "complete" or not LANGUAGES[name].dead
]


def given(name: str, truncation: str) -> tuple[Language, Toy, dict[str, Any]]:
    language = LANGUAGES[name]
    return language, Toy(language, language.seed), {**language.options, **TRUNCATIONS[truncation]}


@pytest.mark.parametrize("method", MADE)
@pytest.mark.parametrize(("name", "truncation"), CASES)
def test_methods_keep_their_promises(name: str, truncation: str, method: str) -> None:
    language, model, asked = given(name, truncation)
    found = check(language, model, method, asked)
    if method in WEIGHTED:
        assert {output.stats.attempts for _, output in found} <= {2 if method in ("sir", "smc") else 1}


def test_every_method_is_here() -> None:
    assert {name for name in METHODS if "-" not in name} == {*MADE}


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
def test_the_reason_of_a_dead_end_is_its_own(name: str, truncation: str, method: str) -> None:
    _, model, asked = given(name, truncation)
    found = walked(model, WEIGHTED[method], **asked)
    told = {output.fault for _, output in found if output.finish_reason == "dead_end"}
    assert told == REASONS[name, truncation]
    assert not any(output.fault for _, output in found if output.finish_reason != "dead_end")


# -- checks ------------------------------------------------------------------------------------------------------------


def _odd(number: int) -> int:
    if number % 2 == 0:
        raise ValueError(f"{number} is even")
    return number


DIGITS = {
    "ended": Language({}, (b"1", b"2", b"3", b"4", None), frozenset([b"1", b"3"]), frozenset([b"2", b"4"]), seed=1),
    "stopped": Language(
        {"stop": "#"},
        (b"1", b"2", b"3", b"#", None),
        frozenset([b"1", b"3", b"1#", b"3#"]),
        frozenset([b"2#"]),
        seed=1,
    ),
}
ODD = constrain.json_schema(
    Annotated[int, pydantic.Field(ge=1, le=4), pydantic.AfterValidator(_odd)], whitespace="compact"
)


@pytest.mark.parametrize("digits", DIGITS)
@pytest.mark.parametrize("truncation", ["none", "top-k", "top-p", "min-p"])
@pytest.mark.parametrize("method", WEIGHTED)
def test_a_validator_counts_as_0(method: str, truncation: str, digits: str) -> None:
    """A text that a check in Python refuses is sampled anew by "lcd", or if `Retried` says so: ratios stay, no more."""
    language, asked = DIGITS[digits], {**DIGITS[digits].options, **TRUNCATIONS[truncation]}
    model = Toy(language, language.seed)
    exact = law(language, model, asked, masked_first=method == "lcd")
    strict = walked(model, lambda: Retried(0, WEIGHTED[method]()), constraint=ODD, **asked)
    assert summed(strict, lambda output: math.exp(output.log_weight)) == pytest.approx(exact, abs=1e-12)
    assert evidence(strict) == pytest.approx(math.fsum(exact.values()), abs=1e-12)

    refused = math.fsum(share for share, output in strict if "is even" in (output.fault or ""))
    retried = walked(model, lambda: Retried(1, WEIGHTED[method]()), constraint=ODD, **asked)
    scaled = {tokens: mass * (1 + refused) for tokens, mass in exact.items()}
    assert summed(retried, lambda output: math.exp(output.log_weight)) == pytest.approx(scaled, abs=1e-12)
    for _, output in retried:
        assert (output.log_evidence is None) == (output.stats.retries > 0)
        if output.stats.retries == 0:
            assert output.fault is None or "is even" not in output.fault


@pytest.mark.parametrize("method", [*MADE])
def test_only_methods_that_do_not_weigh_what_fails_are_retried(method: str) -> None:
    """As they are given; "lcd" is what users get who ask for no weights."""
    asked = Request.of("", {"regex": "a", "method": MADE[method]()})
    weighs = method in ("sir", "smc", "awrs", "asap", "faithful", "beam", "argmax")
    assert asked.retries is None and retries_by_default(asked.method, 1.0) == (0 if weighs else 8)


def is_odd(text: str) -> bool:
    return text.removesuffix("#") in ("", "1", "3")


CHECKED: dict[str, Callable[[], Any]] = {
    "awrs": lambda: AWRS(predicate(is_odd, on="prefix")),
    "smc": lambda: SMC(particles=2, check=predicate(is_odd, on="prefix")),
    "smc, at the end": lambda: SMC(particles=2, potential=predicate(is_odd)),
    "sir": lambda: SIR(samples=2, potential=predicate(is_odd)),
}


@pytest.mark.parametrize("digits", DIGITS)
@pytest.mark.parametrize("truncation", ["none", "top-k", "top-p", "min-p", "all three"])
@pytest.mark.parametrize("method", CHECKED)
def test_a_methods_own_check_counts_as_0(method: str, truncation: str, digits: str) -> None:
    language, asked = DIGITS[digits], {**DIGITS[digits].options, **TRUNCATIONS[truncation]}
    model = Toy(language, language.seed)
    exact = law(language, model, asked, masked_first=False)
    found = walked(model, CHECKED[method], choices=["1", "2", "3", "4"], **asked)
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


def test_a_model_without_a_tokenizer_reads_ids() -> None:
    language, model, asked = given("choices", "none")
    with pytest.raises(constrain.ConstrainError, match="the prompt is a text, and the model has no tokenizer"):
        constrain.generate(model, "red", **asked)
    assert constrain.generate(model, [PROMPT], seed=1, canonical=False, **asked)[0].text.encode() in language.texts
