"""Train a head that tells which drafted tokens are harmless (Judge Decoding), with labels that nobody wrote.

    python scripts/train_judge.py --out build/judge.safetensors

1. Tasks with a check: facts as text, to be written as JSON under a schema (`reference_model/schemas.py`). The answer is
   the JSON value; how it is spaced, and in which order keys come, is not part of it.
2. Labels as AutoJudge makes them (Garipov et al. 2025, arXiv 2504.20039, section 3.1): along the target's own answer at
   temperature 0, the first token that the draft model would have written otherwise is put in, and the target goes on
   from there. Is the value still that of the target's own answer, the token is harmless and stays; if not, it is taken
   back. Then the next. All under the mask.
3. One linear layer on the target's hidden state after the token learns the label (cross-entropy, harmful ones weighted
   by how rare they are).
4. On tasks that were not trained on: `match` beside `Judge` at several bounds: tokens per forward, answers equal to the
   target's own, and equal to the right one.

Prints one JSON line a report. Cost: a generation for each label, some minutes of one core in all.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch.nn import functional as F

sys.path.insert(0, str(Path(__file__).resolve().parent))

from reference_model import schemas

import constrain
from constrain.models.hf import HFModel
from constrain.models.hf.hidden import watched
from constrain.papers import Judge
from constrain.papers.heads import JudgeHead
from constrain.sampling import Job, Settings, TorchDraw
from constrain.sampling.core.sampler import drive
from constrain.speculative import Fixed, Model, Speculation


class Task(NamedTuple):
    """prompt: token ids. value: the right answer."""

    prompt: list[int]
    constraint: Any
    value: Any


def tasks(handle: HFModel, seed: int) -> Iterator[Task]:
    """Endless: objects whose scalars are given as text."""
    rng = random.Random(seed)
    while True:
        shape, draw = schemas.schema(rng)
        value = draw(rng)
        scalars = isinstance(value, dict) and all(isinstance(x, (str, int, float)) for x in value.values())
        if not scalars or not 2 <= len(value) <= 6 or len(json.dumps(value)) > 200:
            continue
        text = f"Text: {schemas.facts(rng, value)}\n{schemas.prompt(json.dumps(shape))}"
        constraint = constrain.compile(constrain.json_schema(shape), handle.vocabulary)
        yield Task(handle.tokenizer(text)["input_ids"], constraint, value)


class Writer:
    """The target at temperature 0 under a task's constraint, from any beginning of its answer."""

    def __init__(self, handle: HFModel, tokens: int) -> None:
        self.handle, self.tokens = handle, tokens

    def go_on(self, task: Task, begun: list[int]) -> list[int]:
        """The whole answer, EOS included if it ended."""
        matcher = task.constraint.matcher()
        for token in begun:
            assert matcher.advance(token)
        vocabulary, settings = self.handle.vocabulary, Settings(max_tokens=self.tokens - len(begun), temperature=0.0)
        job = Job(
            self.handle, [[*task.prompt, *begun]], [matcher], vocabulary.size, vocabulary.eos_ids, settings,
            TorchDraw(0), [0],
        )  # fmt: skip
        (sample,) = drive(Speculation(["lookup", "words"]), job)
        return [*begun, *sample.tokens]

    def value(self, answer: list[int]) -> Any:
        """The JSON value; an object that equals nothing where the answer was cut."""
        if answer[-1] not in self.handle.vocabulary.eos_ids:
            return object()
        pieces = [self.handle.vocabulary.tokens[token] or b"" for token in answer[:-1]]
        return json.loads(b"".join(pieces))


@torch.inference_mode()
def wishes(handle: HFModel, task: Task, answer: list[int]) -> list[tuple[int, int]]:
    """(place, token) wherever a model would write another token than the answer has, under the mask."""
    logits = handle.model(input_ids=torch.tensor([[*task.prompt, *answer]])).logits[0, len(task.prompt) - 1 : -1]
    matcher, found = task.constraint.matcher(), []
    row = np.zeros((1, handle.vocabulary.words), np.uint32)
    for place, token in enumerate(answer):
        matcher.fill_mask(row[0])
        allowed = np.unpackbits(row.view(np.uint8), bitorder="little")[: logits.shape[1]].astype(bool)
        best = int(logits[place].masked_fill(~torch.from_numpy(allowed), -torch.inf).argmax())
        if best != token and token not in handle.vocabulary.eos_ids and best not in handle.vocabulary.eos_ids:
            found.append((place, best))
        if not matcher.advance(token):
            break
    return found


@torch.inference_mode()
def state(handle: HFModel, tokens: list[int]) -> torch.Tensor:
    """float[H]: what the head reads after a text."""
    with watched(handle, True) as seen:
        handle.model(input_ids=torch.tensor([tokens]), logits_to_keep=1)
    return seen[0][0, -1].clone()


def labels(writer: Writer, draft: HFModel, task: Task, most: int) -> list[tuple[torch.Tensor, float]]:
    """(hidden state after a token of the draft model, whether it was harmless), along one answer; `most` at most."""
    answer = writer.go_on(task, [])
    if answer[-1] not in writer.handle.vocabulary.eos_ids:
        return []
    own, begin, found = writer.value(answer), 0, []
    while len(found) < most:
        place, token = next((each for each in wishes(draft, task, answer) if each[0] >= begin), (-1, -1))
        if place < 0:
            break
        other = writer.go_on(task, [*answer[:place], token])
        harmless = writer.value(other) == own
        found.append((state(writer.handle, [*task.prompt, *other[: place + 1]]), float(harmless)))
        answer, begin = (other if harmless else answer), place + 1
    return found


def train(head: JudgeHead, hidden: torch.Tensor, harmless: torch.Tensor, epochs: int, rate: float) -> None:
    """Adam on all labels at once; both kinds weigh as much."""
    rare = (1 - harmless).sum().clamp(min=1)
    weights = torch.where(harmless > 0, len(harmless) / harmless.sum().clamp(min=1), len(harmless) / rare) / 2
    adam = torch.optim.Adam(head.parameters(), lr=rate, weight_decay=1e-3)
    for _ in range(epochs):
        loss = F.binary_cross_entropy_with_logits(head(hidden), harmless, weights)
        adam.zero_grad()
        loss.backward()
        adam.step()
    head.eval()


def ranked(said: torch.Tensor, harmless: torch.Tensor) -> float:
    """The chance that a harmless token is held for more harmless than a harmful one (area under the curve)."""
    good, bad = said[harmless > 0], said[harmless == 0]
    if not len(good) or not len(bad):
        return float("nan")
    wins = (good[:, None] > bad[None, :]).double() + 0.5 * (good[:, None] == bad[None, :]).double()
    return float(wins.mean())


def measure(writer: Writer, draft: HFModel, head: JudgeHead, some: list[Task]) -> None:
    """`match` and `Judge` on the same tasks, drafts of the draft model."""
    own = [writer.value(writer.go_on(task, [])) for task in some]
    for sure in (None, 0.99, 0.9, 0.5):
        rule = "match" if sure is None else Judge(head, sure=sure)
        speculation = Speculation([Model(draft)], verifier=rule, controller=Fixed(6, 6, 0.0), lossy=sure is not None)
        sums = dict.fromkeys(("tokens", "forwards", "as_the_target", "right", "ended"), 0)
        begin = time.thread_time()
        for task, plain in zip(some, own, strict=True):
            vocabulary, settings = writer.handle.vocabulary, Settings(max_tokens=writer.tokens, temperature=0.0)
            job = Job(
                writer.handle, [task.prompt], [task.constraint.matcher()], vocabulary.size, vocabulary.eos_ids,
                settings, TorchDraw(0), [0],
            )  # fmt: skip
            (sample,) = drive(speculation, job)
            matcher = task.constraint.matcher()
            assert all(matcher.advance(token) for token in sample.tokens if token not in vocabulary.eos_ids), "illegal"
            value = writer.value(sample.tokens)
            figures = (len(sample.tokens), sample.forwards, value == plain, value == task.value,
                       sample.finish_reason == "stop")  # fmt: skip
            sums = {name: total + new for (name, total), new in zip(sums.items(), figures, strict=True)}
        report(
            rule="match" if sure is None else f"judge, {sure}", outputs=len(some),
            **sums, kept=getattr(rule, "kept", 0),
            tokens_per_forward=round(sums["tokens"] / sums["forwards"], 3),
            ms_per_token=round(1000 * (time.thread_time() - begin) / sums["tokens"], 2),
        )  # fmt: skip


def report(**what: Any) -> None:
    print(json.dumps(what), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="file for the head")
    parser.add_argument("--tasks", type=int, default=120, help="to train on; as many again / 4 to test the head")
    parser.add_argument("--labels", type=int, default=12, help="of a task at most")
    parser.add_argument("--measured", type=int, default=40, help="tasks to measure with")
    parser.add_argument("--tokens", type=int, default=120, help="of an answer at most")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(options.seed)
    reference = constrain.reference.load()
    target, draft = (HFModel(each, reference.tokenizer) for each in (reference.model, reference.draft))
    writer, source, start = Writer(target, options.tokens), tasks(target, options.seed), time.thread_time()
    lessons = [labels(writer, draft, next(source), options.labels) for _ in range(options.tasks + options.tasks // 4)]
    known = [each for lesson in lessons[: options.tasks] for each in lesson]
    tested = [each for lesson in lessons[options.tasks :] for each in lesson]
    hidden, harmless = torch.stack([h for h, _ in known]), torch.tensor([label for _, label in known])
    report(tasks=options.tasks, ended=sum(map(bool, lessons)), labels=len(known), harmless=int(harmless.sum()),
           minutes=round((time.thread_time() - start) / 60, 2))  # fmt: skip
    start, head = time.thread_time(), JudgeHead(hidden.shape[1])
    train(head, hidden, harmless, epochs=400, rate=1e-2)
    with torch.no_grad():
        held = torch.tensor([label for _, label in tested])
        said = head(torch.stack([h for h, _ in tested])).sigmoid()
        report(minutes_of_training=round((time.thread_time() - start) / 60, 2), held_out=len(tested),
               area_on_training=round(ranked(head(hidden), harmless), 3), area_held_out=round(ranked(said, held), 3),
               **{f"kept_at_{sure}": [int(((said > sure) & (held == kind)).sum()) for kind in (1, 0)]
                  for sure in (0.99, 0.9, 0.5)},
               of=[int((held == kind).sum()) for kind in (1, 0)])  # fmt: skip
    options.out.parent.mkdir(parents=True, exist_ok=True)
    head.save(options.out)
    measure(writer, draft, JudgeHead.load(options.out), [next(source) for _ in range(options.measured)])


if __name__ == "__main__":
    main()
