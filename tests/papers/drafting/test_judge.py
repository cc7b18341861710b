"""The judge by its definition, never an illegal token whatever its head says, and refused where weights are needed."""

import itertools
import math
import re
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import constrain
from constrain.errors import ConstrainError
from constrain.models.hf import HFModel
from constrain.papers import Heads, Judge
from constrain.papers.heads import JudgeHead
from constrain.sampling import enumerate_draws
from constrain.speculative import NONE, BuiltTree, Case, Drafter, DraftTree, Fixed, Model, Speculation
from toy_model import chain_reader, tiny_handle, tiny_llama, tiny_tokenizer
from tree_target import Table

handle = pytest.fixture(scope="module", name="handle")(tiny_handle)

SIZE = 4


class Said:
    """A head that says what it is told: logits by the first number of a hidden state."""

    def __call__(self, hidden: torch.Tensor) -> torch.Tensor:
        return hidden[:, 0]


class Always:
    """Every token is as harmless as can be, or as harmful."""

    def __init__(self, logit: float) -> None:
        self.logit = logit

    def __call__(self, hidden: torch.Tensor) -> torch.Tensor:
        return torch.full((len(hidden),), self.logit)


class Anything(Drafter):
    """Drafts tokens at random, illegal ones too, several at a place."""

    name = "anything"

    def __init__(self, size: int) -> None:
        self.size, self.rng = size, np.random.default_rng(0)

    def draft(self, context: Any, budget: Any) -> DraftTree:
        count = 12
        parents = np.array([self.rng.integers(-1, i) if i else -1 for i in range(count)], np.int32)
        tokens = self.rng.integers(0, self.size, count).astype(np.int32)
        return DraftTree(tokens, parents, -self.rng.random(count))


@pytest.mark.parametrize("seed", range(40))
def test_the_rule_by_its_definition(seed: int) -> None:
    """Two places: of each token that the target could draw, what is written in its place."""
    rng = np.random.default_rng(seed)
    probs = torch.from_numpy(rng.dirichlet(np.full(SIZE, 0.5), 5))
    probs[:, 3] = 0  # what the mask or truncation leaves out
    probs /= probs.sum(1, keepdim=True)
    tokens = np.array([*rng.permutation(SIZE)[:2], rng.integers(SIZE)], np.int32)
    tree = BuiltTree(
        tokens, np.array([-1, -1, 0], np.int32), -rng.random(3), read=np.ones(3, np.bool_),
        same=np.arange(3, dtype=np.int32), sources=np.zeros(3, np.int32), forced=np.full(4, NONE, np.int32),
        matchers=[None] * 4,
    )  # fmt: skip
    hidden = torch.from_numpy(rng.normal(size=(4, 1)) * 3)
    rule = Judge(Said(), sure=0.7)
    law: dict[tuple[int, ...], float] = defaultdict(float)
    for chance, verdict in enumerate_draws(lambda draw: rule.decide(Case(tree, Table(probs, draw), 0, hidden), draw)):
        law[(*(int(tokens[node]) for node in verdict.path), verdict.token)] += chance
    harmless = [float(hidden[node + 1, 0].sigmoid()) > 0.7 and tokens[node] != 3 for node in range(3)]

    def written(place: int, drawn: int) -> int | None:
        """The node that stands for a drawn token; None: the token itself."""
        children = [node for node in range(3) if tree.parents[node] == place - 1]
        same = [node for node in children if tokens[node] == drawn]
        kept = sorted((node for node in children if harmless[node]), key=lambda node: -tree.log_probs[node])
        return (same or kept or [None])[0]

    expected: dict[tuple[int, ...], float] = defaultdict(float)

    def walk(place: int, path: tuple[int, ...], chance: float) -> None:
        for drawn, share in enumerate(probs[place].tolist()):
            if share:
                node = written(place, drawn)
                if node is None:
                    expected[(*path, drawn)] += chance * share
                else:
                    walk(node + 1, (*path, int(tokens[node])), chance * share)

    walk(0, (), 1.0)
    assert law == pytest.approx(expected, abs=1e-12)


def judged(head: Any, drafters: Any, **options: Any) -> Speculation:
    return Speculation(drafters, verifier=Judge(head, **options), controller=Fixed(12, 6, 0.0), lossy=True)


@pytest.mark.parametrize("settings", [{"temperature": 0}, {"temperature": 1.0}, {"top_k": 2}, {"top_p": 0.5}], ids=str)
def test_never_an_illegal_token(handle: HFModel, settings: dict[str, Any]) -> None:
    """Drafts at random and a head that finds everything harmless: outputs are members all the same."""
    kept = 0
    for seed in range(6):
        draft = judged(Always(20.0), [Anything(handle.width), Model(handle, width=3)])
        found = constrain.generate(
            handle, "red", regex="([a-c]x?){8,20}", draft=draft, seed=seed, max_tokens=60, **settings
        )
        assert all(count.fault is None for count in found.stats.drafts.values())
        assert found.finish_reason == "stop"
        assert re.fullmatch("([a-c]x?){8,20}", found.text)
        assert math.isnan(found.log_weight)
        assert found.stats.method == "lcd with 'judge' drafts, which is lossy"
        assert all(record.log_prob_raw > -math.inf for record in found.trace or ())
        kept += draft.verifier.kept  # type: ignore[attr-defined]
    assert kept


@pytest.mark.parametrize("temperature", [0.0, 0.7])
def test_a_head_that_is_never_sure_changes_nothing(handle: HFModel, temperature: float) -> None:
    given = {"regex": "[a-f]{12,20}", "temperature": temperature, "n": 3, "seed": 4, "max_tokens": 30}
    plain = constrain.generate(handle, "red", **given)
    for head, sure in ((Always(-20.0), 0.5), (Always(20.0), 1.0)):  # a bound of 1 is never passed
        draft = judged(head, [Model(handle), Anything(handle.width)], sure=sure)
        found = constrain.generate(handle, "red", draft=draft, **given)
        assert [each.tokens for each in found] == [each.tokens for each in plain]
        assert draft.verifier.kept == 0  # type: ignore[attr-defined]
        assert sum(each.stats.forwards for each in found) < sum(each.stats.forwards for each in plain)


def test_the_head_reads_the_state_after_the_token(handle: HFModel) -> None:
    """The head judges the hidden state after the drafted token, as a forward pass of its own gives it."""
    seen: list[torch.Tensor] = []

    class Watching(Always):
        def __call__(self, hidden: torch.Tensor) -> torch.Tensor:
            seen.append(hidden.clone())
            return super().__call__(hidden)

    drafted: list[list[int]] = []

    class Wrong(Drafter):
        name = "wrong"

        def draft(self, context: Any, budget: Any) -> DraftTree:
            token = context.setting.encode(b"d")[0] if context.setting.encode else 0
            drafted.append([*context.tokens, token])
            return DraftTree(np.array([token], np.int32), np.array([-1], np.int32), np.zeros(1))

    draft = judged(Watching(-20.0), [Wrong()])
    found = constrain.generate(handle, "red", regex="[a-f]{12}", draft=draft, temperature=0)
    assert found.stats.drafts["wrong"].fault is None
    states = []
    for tokens in drafted:
        with torch.inference_mode():
            states.append(handle.model.model(input_ids=torch.tensor([tokens])).last_hidden_state[0, -1])
    assert seen
    for each in seen:
        assert min(float((each[0] - state).abs().max()) for state in states) < 1e-9


def test_what_needs_weights_refuses_it(handle: HFModel) -> None:
    with pytest.raises(ConstrainError, match="'judge' changes the law of the output\n  fix: pass lossy=True"):
        Speculation(["lookup"], verifier=Judge(Always(1.0)))
    for method in ("sir", "mcmc", "faithful"):
        with pytest.raises(ConstrainError, match="'judge' is lossy, and this method needs weights"):
            constrain.generate(
                handle, "red", regex="[a-f]{4}", draft=judged(Always(1.0), ["lookup"]), method=method, max_tokens=9
            )
    for method in ("smc", "rejection", "beam"):  # these choose tokens themselves
        with pytest.raises(ConstrainError):
            constrain.generate(
                handle, "red", regex="[a-f]{4}", draft=judged(Always(1.0), ["lookup"]), method=method, max_tokens=9
            )
    with pytest.raises(ConstrainError, match="sure"):
        Judge(Always(1.0), sure=1.5)


def test_models_and_drafters_that_tell_other_states() -> None:
    tokenizer = tiny_tokenizer()
    forgets = chain_reader()
    with pytest.raises(ConstrainError, match="tells no hidden states, which the verifier 'judge' reads"):
        constrain.generate(forgets, "red", regex="[a-f]{4}", draft=judged(Always(1.0), ["lookup"]), max_tokens=9)

    class Deep:
        reads = (0, 1)

    model = HFModel(tiny_llama(tokenizer), tokenizer)
    with pytest.raises(ConstrainError, match="want different hidden states"):
        constrain.generate(model, "red", regex="[a-f]{4}", draft=judged(Always(1.0), [Heads(Deep())]), max_tokens=9)  # type: ignore[arg-type]


def test_the_head_learns_and_a_file_keeps_it(tmp_path: Path) -> None:
    sys.path.insert(0, str(Path(__file__).parents[3] / "scripts"))
    from train_judge import ranked, train

    rng = torch.Generator().manual_seed(0)
    hidden = torch.randn(600, 5, generator=rng)
    harmless = (hidden[:, 1] > 1.2).float()  # rare
    head = JudgeHead(5)
    assert ranked(head(hidden).detach(), harmless) == 0.5
    train(head, hidden, harmless, epochs=300, rate=1e-2)
    with torch.no_grad():
        said = head(hidden).sigmoid()
    assert ranked(said, harmless) > 0.99
    assert float(said[harmless > 0].mean()) > 0.7 > 0.3 > float(said[harmless == 0].mean())
    head.save(tmp_path / "judge.safetensors")
    with torch.no_grad():
        assert torch.equal(JudgeHead.load(tmp_path / "judge.safetensors")(hidden).sigmoid(), said)
    with pytest.raises(ConstrainError, match="has no judge"):
        JudgeHead.load(tmp_path / "missing")


def test_ranks_by_hand() -> None:
    sys.path.insert(0, str(Path(__file__).parents[3] / "scripts"))
    from train_judge import ranked

    said, kinds = [0.9, 0.2, 0.5, 0.5], [1.0, 0.0, 1.0, 0.0]
    pairs = list(itertools.product([0.9, 0.5], [0.2, 0.5]))
    expected = sum(1.0 if a > b else 0.5 if a == b else 0.0 for a, b in pairs) / len(pairs)
    assert ranked(torch.tensor(said), torch.tensor(kinds)) == pytest.approx(expected)


@pytest.mark.slow
def test_labels_say_whether_the_answer_changes() -> None:
    """By definition, with the answer decided anew: a token is harmless where the value after it is the target's own."""
    sys.path.insert(0, str(Path(__file__).parents[3] / "scripts"))
    from train_judge import Writer, labels, state, tasks, wishes

    reference = constrain.reference.load()
    target, draft = (HFModel(each, reference.tokenizer) for each in (reference.model, reference.draft))
    writer = Writer(target, 80)
    found = 0
    for task in itertools.islice(tasks(target, 3), 4):
        answer = writer.go_on(task, [])
        own = labels(writer, draft, task, 1)
        if not own:
            continue
        place, token = wishes(draft, task, answer)[0]
        assert answer[place] != token
        other = writer.go_on(task, [*answer[:place], token])
        assert other[: place + 1] == [*answer[:place], token]
        assert own[0][1] == float(writer.value(other) == writer.value(answer))
        torch.testing.assert_close(own[0][0], state(target, [*task.prompt, *answer[:place], token]))
        found += 1
    assert found
