"""Denoising under a constraint: every output is a member, the distribution is the one that is named, and what is
refused."""

import json
import math
from collections import defaultdict
from itertools import product

import numpy as np
import pytest
from toy_diffusion import Adversary, Hashed, characters

from constrain import collection
from constrain.errors import ConstrainError, UnsatisfiableError
from constrain.languages.constraints.regular import regex
from constrain.languages.grammar_text.text import grammar
from constrain.languages.vocab.vocabulary import Vocabulary
from constrain.masks.derived.members import is_member
from constrain.papers.diffusion.decode import denoise
from constrain.papers.diffusion.dingo import likeliest_member
from constrain.papers.diffusion.models import from_transformers
from constrain.papers.diffusion.policies import POLICIES, Threshold
from small_grammars import JSON

LETTERS = characters('{}[]":, 0123456789.-+eEtrufalsn\\\n')
LISTS = grammar('start: "[" [start ("," start)*] "]" | /[0-9]/')


@pytest.mark.parametrize("policy", sorted(POLICIES))
@pytest.mark.parametrize("steps", [None, 4])
def test_json_by_every_policy(policy, steps):
    """A model without a notion of JSON writes JSON, with one and with many tokens a step."""
    constraint = grammar(JSON)
    for seed in range(3):
        out = denoise(Hashed(LETTERS, seed), constraint, length=14, policy=policy, steps=steps, seed=seed)
        json.loads(out.text)
        assert is_member(constraint, out.text) and out.fault is None
        assert sorted(p for step in out.order for p in step)[: len(out.text)] == list(range(len(out.text)))


@pytest.mark.parametrize("policy", ["confidence", "credit"])
def test_the_array_of_the_model_is_left_as_it_was(policy):
    """A model may give the same array again and again: it is read, and not written to."""
    rows = np.random.default_rng(1).standard_normal((6, len(LETTERS)))
    model, before = Hashed(LETTERS, 1), rows.copy()
    model.logits = lambda tokens: rows
    assert is_member(LISTS, denoise(model, LISTS, length=6, policy=policy).text)
    assert np.array_equal(rows, before)


@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_adversaries(temperature):
    """Models that prefer by far what is wrong: closing brackets, an EOS at once, never an EOS, special tokens."""
    likes = [
        lambda text: text == b"]",
        lambda text: text is None,
        lambda text: text is not None,
        lambda text: text == b",",
    ]
    vocabulary = characters("[],12")
    for seed, like in enumerate(likes):
        model = Adversary(vocabulary, like, seed)
        for block in (None, 3):
            out = denoise(model, LISTS, length=9, temperature=temperature, steps=3, block=block, seed=seed)
            assert is_member(LISTS, out.text), out
            assert model.mask_id not in out.tokens


def test_arithmetic_and_holes():
    """Fixed tokens stay; the holes between them take exactly as many tokens as they have."""
    constraint = collection.load("arithmetic")
    vocabulary = characters("0123456789+-*/() ")
    ids = {letter: i for i, letter in enumerate("0123456789+-*/() ")}
    tokens = [None, ids["*"], None, None, ids["("], None, None, None, ids[")"], None]
    for seed in range(5):
        out = denoise(Hashed(vocabulary, seed), constraint, tokens=tokens, seed=seed, temperature=1.0)
        assert is_member(constraint, out.text), out.text
        assert all(given in (None, token) for given, token in zip(tokens, out.tokens, strict=True))


class Script:
    """Draws what it is told to, then the first possible number; remembers what else was possible."""

    def __init__(self, told: list[int]) -> None:
        self.told, self.made, self.chance, self.others = told, [], 1.0, []

    def __call__(self, p: np.ndarray) -> int:
        possible = np.flatnonzero(p).tolist()
        at = len(self.made)
        chosen = self.told[at] if at < len(self.told) else possible[0]
        if at >= len(self.told):
            self.others += [[*self.made, other] for other in possible[1:]]
        self.made.append(chosen)
        self.chance *= float(p[chosen])
        return chosen


def law(model: Hashed, constraint, weigh: bool, policy: str) -> dict[str, float]:
    """The probability of each text, times its weight: every sequence of draws is run."""
    found: defaultdict[str, float] = defaultdict(float)
    pending: list[list[int]] = [[]]
    while pending:
        script = Script(pending.pop())
        out = denoise(model, constraint, length=3, temperature=1.0, draw=script, weigh=weigh, policy=policy, seed=0)
        end = out.tokens.index(2) if 2 in out.tokens else 3
        text = out.text if set(out.tokens[end:]) <= {2} else "something behind an EOS"
        found[text] += script.chance * (math.exp(out.log_weight) if out.log_weight is not None else 1.0)
        pending += script.others
    return found


@pytest.mark.parametrize("policy", ["confidence", "entropy", "margin", "leftmost", "prophet", "credit"])
def test_the_law(policy):
    """Weighted outputs follow the distribution of the model without a constraint, given that the text is a member."""
    model = Hashed(characters("ab"), seed=5, sharpness=1.0)
    constraint = regex("a|ab?a|bb")
    free = law(model, None, False, policy)
    assert sum(free.values()) == pytest.approx(1)
    weighted = law(model, constraint, True, policy)
    members = {text: chance for text, chance in free.items() if is_member(constraint, text)}
    assert set(weighted) == set(members) and len(members) >= 4
    for text, chance in members.items():
        assert weighted[text] == pytest.approx(chance), text
    plain = law(model, constraint, False, policy)
    assert sum(plain.values()) == pytest.approx(1)
    total = sum(members.values())
    assert any(abs(plain[text] - members[text] / total) > 1e-3 for text in members)  # so the weights are needed


@pytest.mark.parametrize("seed", range(20))
def test_the_most_probable_member(seed):
    """Viterbi against all sequences of tokens."""
    rng = np.random.default_rng(seed)
    vocabulary = Vocabulary([b"a", b"b", b"ab", b"c", None], [4])
    pattern = ["(ab)*c?", "a+b", "[ab]{2,4}", "(a|bc)*", "ab|c"][seed % 5]
    scores = np.log(rng.dirichlet(np.ones(5), size=3))
    scores[:, 4] += 0.0 if seed % 2 else -np.inf  # without an EOS, all three tokens are text
    language = regex(pattern)
    best, found = -math.inf, None
    for tokens in product(range(5), repeat=3):
        end = next((i for i, token in enumerate(tokens) if token == 4), 3)
        if any(token != 4 for token in tokens[end:]):
            continue
        text = b"".join(vocabulary.tokens[token] for token in tokens[:end]).decode()
        score = sum(scores[i, token] for i, token in enumerate(tokens))
        if is_member(language, text) and score > best:
            best, found = score, list(tokens)
    if found is None:
        with pytest.raises(UnsatisfiableError):
            likeliest_member(language.node, vocabulary, scores)
    else:
        assert likeliest_member(language.node, vocabulary, scores) == found


def test_viterbi_proposals():
    """With `viterbi` each step sets tokens of the most probable member, and the result is one."""
    date = regex(r"20[0-9][0-9]-(0[1-9]|1[0-2])")
    for seed in range(5):
        out = denoise(Hashed(characters("0123456789-"), seed), date, length=7, viterbi=True, steps=3)
        assert is_member(date, out.text) and out.steps == 3 and out.masks == 0


def test_the_threshold():
    """A sure model is done in one step; a doubtful one sets one token a step."""
    sure, doubtful = Hashed(characters("ab"), 1, 100.0), Hashed(characters("ab"), 1, 0.01)
    anything = regex("[ab]*")
    assert denoise(sure, anything, length=8, policy=Threshold(0.9)).steps <= 2
    assert denoise(doubtful, regex("[ab]{8}"), length=8, policy=Threshold(0.9)).steps == 8


MODEL = Hashed(characters("ab"))


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"length": 0}, "length is a number of tokens from 1"),
        ({"tokens": []}, "a text has at least one position"),
        ({"tokens": [None, 3]}, "position 1 has the mask token"),
        ({"tokens": [None], "length": 2}, "length is 2, but there are 1 tokens"),
        ({"length": 2, "policy": "wildest"}, "there is no policy 'wildest'"),
        ({"length": 2, "steps": 0}, "steps is a number from 1"),
        ({"length": 2, "temperature": -1}, "temperature is a number from 0"),
        ({"length": 2, "weigh": True}, "weigh=True takes a constraint, a temperature above 0"),
        ({"length": 2, "viterbi": True, "temperature": 1.0}, "viterbi=True takes a regular language"),
        ({"length": 1}, "no text fits a canvas of 1 tokens with 1 open positions; the shortest text takes 2 bytes"),
        ({"tokens": [1, None, None]}, "'b' cannot stand at position 0"),
    ],
)
def test_refused_before_any_forward(given, says):
    MODEL.forwards = 0
    with pytest.raises(ConstrainError) as raised:
        denoise(MODEL, regex("ab+"), **given)
    assert says in raised.value.message
    assert MODEL.forwards == 0


def test_models_without_a_mask_token():
    class Ordinary:
        mask_id = mask_token_id = None

    with pytest.raises(ConstrainError, match="no mask token"):
        from_transformers(Ordinary(), Ordinary())
    with pytest.raises(ConstrainError, match="no mask token"):
        denoise(Ordinary(), regex("a"), length=1)


def test_a_scaffold_is_set_before_the_first_forward():
    """Forced tokens are set when the model is first asked; the others stay its choice."""
    text = '{"kind":"x","ok":true}'
    constraint = regex(r'\{"kind":"[xy]","ok":(true|null)\}')
    vocabulary = characters("".join(sorted(set(text + "ynul"))))
    texts = set()
    for seed in range(40):
        model, seen = Hashed(vocabulary, seed, 0.5), []
        ask = model.logits
        model.logits = lambda tokens, ask=ask, seen=seen: (seen.append(list(tokens)), ask(tokens))[1]  # type: ignore[method-assign]
        out = denoise(model, constraint, length=len(text), scaffold=True, temperature=1.0, seed=seed)
        texts.add(out.text)
        shown = "".join("_" if t == model.mask_id else (vocabulary.tokens[t] or b"").decode() for t in seen[0])
        assert shown == '{"kind":"_","ok":____}'
        assert out.forced >= len(text) - 2 and out.steps == model.forwards == 2
    assert texts == {f'{{"kind":"{a}","ok":{b}}}' for a in "xy" for b in ("true", "null")}
    with pytest.raises(ConstrainError, match="scaffold=True"):
        denoise(model, constraint, length=len(text), scaffold=True, weigh=True, temperature=1.0)
