"""The drafter without vLLM: what it proposes is legal, what is forced is proposed, and requests teach each other."""

import random
from types import SimpleNamespace
from typing import Any

import pytest

import constrain
from constrain.engines.vllm import drafter as drafter_module
from constrain.engines.vllm.chains import ESTIMATES, FADE, WORTH, ConstraintPrior, Draft
from constrain.engines.vllm.drafter import ConstraintDrafter
from constrain.languages.vocab.longest import longest_match
from constrain.sampling import canonical
from constrain.speculative.drafters.tally import Tally
from made_tokenizers import MADE

pytest.importorskip("torch", reason="drafters need torch")

TOKENS = [bytes([b]) for b in range(256)] + [b'{"', b'":', b'", "', b"name", b"colour", b"red", b"blue", b' "']
EOS = len(TOKENS)
VOCABULARY = constrain.Vocabulary([*TOKENS, None], eos_ids=[EOS])
ENCODE = longest_match(VOCABULARY.tokens)
SCHEMA = {
    "type": "object",
    "properties": {"name": {"type": "string", "pattern": "^[a-z]{1,4}$"}, "colour": {"enum": ["red", "blue"]}},
    "required": ["name", "colour"],
    "additionalProperties": False,
}


def prior_of(constraint: Any, hint: str = "") -> ConstraintPrior:
    return ConstraintPrior(constrain.compile(constraint, VOCABULARY), ENCODE(hint.encode()))


def ids(text: str) -> list[int]:
    return ENCODE(text.encode())


def test_bytes_that_must_follow_are_proposed() -> None:
    prompt = ids("A thing: ")
    draft = Draft(prior_of(constrain.json_schema(SCHEMA, whitespace="compact")), ENCODE, len(prompt))
    assert draft.extend(prompt)
    chain = draft.propose(prompt, 8)
    assert VOCABULARY.to_bytes(chain) == b'{"name":"'
    assert draft.matcher is not None and draft.matcher.text == b""


def test_what_stands_in_the_prompt_is_copied() -> None:
    prompt = ids("abcdefgh abc")
    draft = Draft(None, ENCODE, len(prompt))
    assert draft.extend(prompt)
    assert VOCABULARY.to_bytes(draft.propose(prompt, 4)) == b"defg"


def test_a_copy_is_cut_where_it_leaves_the_constraint() -> None:
    prompt = ids("abcdefgh ")
    draft = Draft(prior_of(constrain.regex("[a-e]*")), ENCODE, len(prompt))
    tokens = prompt + ids("abc")
    assert draft.extend(tokens)
    assert VOCABULARY.to_bytes(draft.propose(tokens, 6)) == b"de"


def test_requests_of_one_constraint_teach_each_other() -> None:
    prior = prior_of(constrain.regex("(red|blue)[0-9]{2}"))
    for _ in range(3):
        draft = Draft(prior, ENCODE, 0)
        assert draft.extend(ids("red")) and draft.extend(ids("red") + ids("7"))
        assert not draft.extend([*ids("red77"), EOS])
    draft = Draft(prior, ENCODE, 0)
    assert draft.extend([])
    assert VOCABULARY.to_bytes(draft.propose([], 9)) == b"red77"


def test_what_alone_is_allowed_is_proposed_in_its_own_cut() -> None:
    """Canonical tokens: what must follow comes in the tokenizer's cut, then the longest token of bytes that must."""
    tokenizer, prior = canonical_prior(constrain.choices(["aa's !! 11", "aa's !! 1"]))
    draft = Draft(prior, ENCODE, 0)
    assert draft.extend([])
    one, other = (tokenizer.encode(text, add_special_tokens=False).ids for text in ("aa's !! 11", "aa's !! 1"))
    chain = draft.propose([], 8)
    assert len(chain) >= 4 and chain in (one[: len(chain)], other[: len(chain)])
    assert draft.propose([], 2) == one[:2] == other[:2]


def test_guesses_that_do_not_come_true_are_not_made() -> None:
    """Each time a copy says "d", and the text goes on with "x"."""
    tally, prompt, lengths = Tally(FADE), ids("abcd abc"), []
    for _ in range(12):
        draft = Draft(None, ENCODE, 0, (), tally)
        assert draft.extend(prompt)
        lengths.append(len(draft.propose(prompt, 4)))
        assert draft.extend(prompt + ids("x"))
    assert lengths[0] == 4 and lengths[-1] == 0 and lengths == sorted(lengths, reverse=True)
    assert tally.estimate(3, ESTIMATES[3]) < WORTH and tally.estimate(2, ESTIMATES[2]) == ESTIMATES[2]


def canonical_prior(constraint: Any) -> tuple[Any, ConstraintPrior]:
    """A small tokenizer, and the constraint over its canonical tokens."""
    tokenizer = MADE["gpt2"]()
    vocabulary = constrain.Vocabulary.from_huggingface(tokenizer, eos_ids=[tokenizer.token_to_id("<end>")])
    return tokenizer, ConstraintPrior(canonical(constrain.compile(constraint, vocabulary), tokenizer), [])


@pytest.mark.parametrize("own_cuts", [True, False], ids=["canonical", "all"])
@pytest.mark.parametrize("seed", range(20))
def test_every_chain_is_legal_and_leaves_the_request_where_it_was(seed: int, own_cuts: bool) -> None:
    """Random walks through random masks: a chain is read by a fresh matcher, at every place."""
    rng = random.Random(seed)
    constraint = rng.choice([constrain.json_schema(SCHEMA), constrain.regex("(ab|ba){2,9}c?"), constrain.regex("x*y")])
    prior = canonical_prior(constraint)[1] if own_cuts else prior_of(constraint, '{"name": "abab", "colour": "red"}')
    vocabulary = prior.compiled.vocabulary
    matcher = prior.compiled.matcher()
    draft, tokens = Draft(prior, ENCODE, 0), []
    for _ in range(30):
        assert draft.extend(tokens)
        room = rng.randrange(1, 9)
        chain = draft.propose(tokens, room)
        assert len(chain) <= room
        other = prior.compiled.matcher()
        assert other.advance_tokens([*tokens, *chain]) == len(tokens) + len(chain)
        assert draft.matcher is not None and draft.matcher.state == matcher.state
        allowed = [token for token in range(vocabulary.size) if matcher.allows(token)]
        step = rng.choice(allowed)
        if step in vocabulary.eos_ids:
            assert not draft.extend([*tokens, step])
            return
        assert matcher.advance(step)
        tokens = [*tokens, step]


class Runner:
    """The part of vLLM's model runner that the drafter reads; it asks from a method, as vLLM does."""

    def __init__(self, drafter: Any, requests: dict[str, Any]) -> None:
        self.drafter = drafter
        self.requests = requests
        self.input_batch = SimpleNamespace(req_ids=list(requests))

    def ask(self, sampled: list[list[int]], rows: list[list[int]]) -> Any:
        import numpy as np

        tokens = np.zeros((len(rows), 64), np.int32)
        for i, row in enumerate(rows):
            tokens[i, : len(row)] = row
        return self.drafter.propose(sampled, np.array([len(row) for row in rows]), tokens, slot_mappings=None)


def drafter() -> ConstraintDrafter:
    made = ConstraintDrafter.__new__(ConstraintDrafter)
    made.length, made.most, made.reasoner = 4, 64, None
    made.encode, made.drafts = ENCODE, {}
    made.compiler = SimpleNamespace(vocabulary=VOCABULARY)  # type: ignore[assignment]
    made.tally = Tally(FADE)
    return made


def request(prompt: list[int]) -> Any:
    params = SimpleNamespace(structured_outputs=None, all_stop_token_ids=set())
    return SimpleNamespace(prompt_token_ids=prompt, sampling_params=params)


def test_rows_belong_to_requests() -> None:
    """Rows change places and leave; a row without a new token gets no draft."""
    one, two = ids("abcd abc"), ids("xyzw xyz")
    asked = drafter()
    runner = Runner(asked, {"1": request(one), "2": request(two)})
    assert runner.ask([[1], [1]], [one, two]) == [ids("d abc")[:4], ids("w xyz")[:4]]
    runner.input_batch.req_ids = ["2", "1"]
    assert runner.ask([[1], []], [two, one]) == [ids("w xyz")[:4], []]
    runner.input_batch.req_ids = ["2"]
    assert len(runner.ask([[1]], [two])) == 1
    assert set(asked.drafts) == {"2"}


def test_a_fault_costs_drafts_and_no_request() -> None:
    asked = drafter()
    broken = SimpleNamespace(prompt_token_ids=None, sampling_params=None)
    runner = Runner(asked, {"1": broken, "2": request(ids("abcd abc"))})
    assert runner.ask([[1], [1]], [ids("ab"), ids("abcd abc")]) == [[], ids("d abc")[:4]]
    assert asked.drafts["1"] is None


def test_without_a_runner_nothing_is_drafted_and_the_log_says_so_once(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    monkeypatch.setattr(drafter_module.logger, "warning", said.append)  # an engine may have set its loggers up
    asked = drafter()
    assert [asked.propose([[1]], [1], [[1]]) for _ in range(2)] == [[[]], [[]]]
    assert said == ["constrain: nothing is drafted: the model runner that asks was not found"]
