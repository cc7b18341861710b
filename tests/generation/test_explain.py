"""`constrain.explain` and `Matcher.explain` name the layer that refuses a token, and refuse what the mask refuses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pydantic
import pytest

import constrain
from constrain.errors import ConstrainError
from constrain.generation.call import prepare
from constrain.generation.request.request import Request
from constrain.languages.guards.repeats import Repeats
from constrain.languages.vocab.bits import has_bit
from constrain.masks.completion.length_budget import LimitedMatcher
from constrain.masks.derived.forced import ForcedMatcher
from constrain.masks.engine.layers import written
from constrain.masks.engine.narrowed import engine_of
from constrain.masks.engine.regions.guard import RegionsGuard
from tables import table

pytestmark = pytest.mark.filterwarnings("ignore:no mask knows all")

ROWS = table("layers")["row"]
EVERY = 61  # so many tokens of the vocabulary are one that is asked for
PROMPT = "red tr"


class Checked(pydantic.BaseModel):
    even: int

    @pydantic.field_validator("even")
    @classmethod
    def _is_even(cls, value: int) -> int:
        if value % 2:
            raise ValueError("odd")
        return value


def sql() -> Any:
    users: Any = constrain.monitors.sql("CREATE TABLE users (id, name)")
    return constrain.monitors.monitored(constrain.collection.load("sql"), users)


MADE = {
    "monitor": lambda: {"constraint": sql()},
    "region": lambda: {"constraint": constrain.seq("say: ", sql())},
    "thoughts": lambda: {
        "constraint": constrain.after("</think>", constrain.regex("[0-9]+"), begin="<think>", max_tokens=1)
    },
    "characters": lambda: {
        "constraint": constrain.grammar('start: "(" start ")" | /[0-9]/') & constrain.regex(".{0,99}")
    },
    "check": lambda: {"type": Checked},
    "healed": lambda: {"choices": ["ue", "e"]},
}


@pytest.fixture(scope="module")
def reference() -> Any:
    return constrain.reference.load()


def options_of(row: dict[str, Any]) -> dict[str, Any]:
    """The options of `generate` of a row."""
    options = MADE[row["made"]]() if "made" in row else dict(row["options"])
    return options | ({"max_tokens": constrain.Length(64, row["least"])} if "least" in row else {})


@pytest.mark.parametrize("row", [row for row in ROWS if row["layer"] != "vocabulary"], ids=lambda row: row["layer"])
def test_the_layer_that_refuses_is_named(reference: Any, row: dict[str, Any]) -> None:
    ids = reference.tokenizer(row["following"])["input_ids"]
    end = reference.tokenizer.eos_token_id
    prompt: Any = constrain.Prompt(PROMPT, healing=True) if row.get("made") == "healed" else PROMPT
    options = options_of(row)
    following = end if row["following"] == "end" else ids[0] if row.get("token") else row["following"]
    refusal = constrain.explain(reference, prompt, following, after=row["after"], **options)
    assert refusal is not None
    assert (refusal.layer, row["because"] in (refusal.because or "")) == (row["layer"], True), refusal
    assert f"the {row['layer']}" in str(refusal) and refusal.allowed_count >= len(refusal.allowed)
    if "instead" in row:
        instead = end if row["instead"] == "end" else row["instead"]
        assert constrain.explain(reference, prompt, instead, after=row["after"], **options) is None


@pytest.mark.parametrize("row", [row for row in ROWS if row["layer"] != "vocabulary"], ids=lambda row: row["layer"])
def test_it_refuses_what_the_mask_refuses(reference: Any, row: dict[str, Any]) -> None:
    prompt: Any = constrain.Prompt(PROMPT, healing=True) if row.get("made") == "healed" else PROMPT
    run = prepare(reference, Request.of(prompt, {**options_of(row), "draft": False})).runs[0]
    matcher = run.matcher(0)
    tokens, refusal = written(matcher, run.begins[0] * bool(row["after"]) + row["after"].encode(), whole=True)
    assert refusal is None and all(map(matcher.advance, tokens))
    mask = np.zeros(run.vocabulary.words, np.uint32)
    matcher.fill_mask(mask)
    some = {*range(0, run.vocabulary.size, EVERY), *run.vocabulary.eos_ids}
    wrong = [token for token in sorted(some) if (matcher.explain(token) is None) != has_bit(mask, token)]
    assert wrong == [] and any(not has_bit(mask, token) for token in some)


def emptied(self: Any, row: np.ndarray) -> None:
    row[:] = 0


PLANTED = [  # (the layer, the class whose mask is made empty, its method, the mask that it writes)
    ("grammar", None, "", None),
    ("keys and items that differ", Repeats, "veto", lambda self, state, row: emptied(self, row)),
    (
        "region",
        RegionsGuard,
        "known_row",
        lambda self, state, key: np.zeros((self.automaton.layout.size + 31) // 32, "u4"),
    ),
    ("token budget", LimitedMatcher, "fill_mask", emptied),
    ("forced tokens", ForcedMatcher, "fill_mask", emptied),
]


@pytest.mark.parametrize("layer, kind, name, wrong", PLANTED, ids=[row[0] for row in PLANTED])
def test_a_wrong_mask_is_of_the_layer_that_made_it(
    reference: Any, monkeypatch: pytest.MonkeyPatch, layer: str, kind: Any, name: str, wrong: Any
) -> None:
    """The step allows the token, the mask of one layer does not: that layer is named, and that it is at fault."""
    options = {"schema": {"type": "array", "items": {"type": "string"}, "uniqueItems": True}, "max_tokens": 9}
    options = MADE["region"]() if layer == "region" else options | {"complete": layer == "token budget"}
    after = "say: select * from " if layer == "region" else '["ab", "a'
    options |= {"canonical": None if layer == "forced tokens" else False, "draft": False}
    matcher = prepare(reference, Request.of(PROMPT, options)).runs[0].matcher(0)
    tokens, _ = written(matcher, after.encode(), whole=True)
    assert all(map(matcher.advance, tokens))
    [token] = reference.tokenizer("u")["input_ids"]
    assert matcher.explain(token) is None
    if kind is None:  # of the kernels of this matcher
        engine = engine_of(matcher)
        assert engine is not None
        engine._kernels = engine._kernels._replace(fill_mask=lambda *_: 0, known_mask=lambda *_: -1)
    else:
        monkeypatch.setattr(kind, name, wrong)
    refusal = matcher.explain(token)
    assert refusal is not None and refusal.layer == layer and "at fault" in str(refusal.because), refusal


def test_tokens_that_lead_nowhere() -> None:
    """A vocabulary that has no token for what must follow: the tokens are refused, not the bytes."""
    [row] = [row for row in ROWS if row["layer"] == "vocabulary"]
    vocabulary = constrain.Vocabulary([b"\xc3", b"\xc3\xa9", b"a", None], eos_ids=[3])
    matcher = constrain.compile(constrain.regex("é|a"), vocabulary).matcher()
    refusal = matcher.explain(0)
    assert refusal is not None and (refusal.layer, row["because"] in str(refusal)) == ("vocabulary", True)
    assert refusal.allowed == {1: b"\xc3\xa9", 2: b"a"}
    refusal = matcher.explain("b")
    assert refusal is not None and (refusal.layer, refusal.expected) == ("grammar", "`a`, some characters beyond ASCII")


def test_ends_of_a_request() -> None:
    vocabulary = constrain.Vocabulary([b"a", b"b", None, None], eos_ids=[2])
    matcher = constrain.compile(constrain.regex("a"), vocabulary).matcher(eos_ids=[3])
    for token, layer in ((2, "end of the text"), (3, "grammar"), (0, None)):
        refusal = matcher.explain(token)
        assert (refusal and refusal.layer) == layer
    assert matcher.advance(0) and matcher.explain(3) is None and matcher.advance(3)
    refusal = matcher.explain(0)
    assert refusal is not None and refusal.layer == "end of the text" and refusal.allowed == {}


def test_what_cannot_be_explained(reference: Any) -> None:
    several: Any = ["a", "b"]
    for call, message in (
        (lambda: constrain.explain(reference, "a", "a"), "takes one prompt"),
        (lambda: constrain.explain(reference, several, "a", regex="a"), "takes one prompt"),
        (
            lambda: constrain.compile(constrain.regex("a"), constrain.Vocabulary.of_bytes()).matcher().explain(999),
            "999",
        ),
    ):
        with pytest.raises(ConstrainError, match=message):
            call()
