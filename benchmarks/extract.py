"""Extractive question answering on generated documents: exact-extract beside greedy decoding.

Questions: (1) how often does the model answer rightly, by greedy decoding as it is, by greedy decoding among the spans
of the document, and by the likeliest span (exact-extract); (2) how often is greedy's span the likeliest one, proven;
(3) what does it cost a model if spans may not begin with a blank; (4) how many forwards does the proof take; (5) how
do these change when the model is trained on a few questions, which is the paper's own experiment (Castel et al. 2021).

    python benchmarks/extract.py --out benchmarks/record/<date>-extract

Documents are six facts of random names and values in three forms: a JSON object, lines of "key: value", and English
sentences, with one question each, and one worked example before it. An answer is right if it is the value that the
document was made with. Every span is compared with the document, and its log-probability with `constrain.score` of the
same tokens. Training is on other questions of all forms, each once, three a step. Clock: CPU time of this thread.
Bias: one small model that was not made to answer questions, and values from short lists: what is measured is decoding,
not reading.
"""

from __future__ import annotations

import argparse
import copy
import json
import random
import re
import time
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

import torch

import constrain
from constrain.papers import Spans, extract

KEYS = {
    "name": ["Ada", "Boris", "Chen", "Dora", "Emil", "Freya", "Hugo", "Ines"],
    "city": ["Turin", "Oslo", "Lima", "Quito", "Genoa", "Porto", "Leeds"],
    "color": ["red", "green", "blue", "dark red", "light blue", "white"],
    "unit": ["metre", "second", "gram", "volt", "square metre"],
    "status": ["open", "closed", "in progress", "on hold"],
    "owner": ["Smith", "de Vries", "Okafor", "Tanaka", "van Dyk"],
}
SENTENCES = {
    "name": "The name is {}.",
    "city": "The city is {}.",
    "color": "The color is {}.",
    "unit": "The unit is {}.",
    "status": "The status is {}.",
    "owner": "The owner is {}.",
}


class Question(NamedTuple):
    """document: what is asked about. prompt: with the document in it. answer: the right one.

    blank, end: of the form, as `extract` takes them.
    """

    document: str
    prompt: str
    answer: str
    blank: bool
    end: str


FORMS = ("json", "lines", "sentences")


def questions(form: str, count: int, seed: int) -> list[Question]:
    """Questions of one of the `FORMS`."""
    rng = random.Random(f"{form} {seed}")
    made = []
    for _ in range(count):
        shown, (document, asked, answer) = _asked(form, rng), _asked(form, rng)
        example = f"{shown[0]}\n{shown[1]}{'' if form == 'json' else ' '}{shown[2]}"
        example += {"json": '"}', "lines": "\n", "sentences": ".\n"}[form]
        prompt = f"{example}\n{document}\n{asked}"
        made.append(Question(document, prompt, answer, form != "json", {"json": '"', "lines": "\n"}.get(form, ".")))
    return made


def _asked(form: str, rng: random.Random) -> tuple[str, str, str]:
    """(a document, the beginning of an answer, what follows)"""
    facts = {key: rng.choice(values) for key, values in KEYS.items()}
    order = rng.sample(sorted(facts), len(facts))
    key = rng.choice(order)
    if form == "json":
        return json.dumps({each: facts[each] for each in order}), f'{{"{key}": "', facts[key]
    if form == "lines":
        return "\n".join(f"{each}: {facts[each]}" for each in order), f"{key}:", facts[key]
    return " ".join(SENTENCES[each].format(facts[each]) for each in order), f"The {key} is", facts[key]


def timed(run: Any) -> tuple[Any, float]:
    """(what it returns, seconds of CPU time)"""
    start = time.thread_time()
    return run(), time.thread_time() - start


def ask(model: Any, question: Question, most: int) -> dict[str, Any]:
    """The answer of each way of decoding. Raises AssertionError if a span is none, or scored wrongly."""
    document, prompt = question.document, question.prompt
    free = constrain.generate(model, prompt, temperature=0, max_tokens=most).text
    free = re.split(re.escape(question.end), free, maxsplit=1)[0]

    def spans(blank: bool) -> Spans:
        return extract(model, prompt, document, max_tokens=most, blank=blank, end=question.end)

    exact, seconds = timed(lambda: spans(question.blank))
    for span in (exact.best, exact.greedy):
        assert span.text in document and document[span.begin : span.end] == span.text
        (score,) = constrain.score(model, prompt, [list(span.tokens)], end=False)
        assert span.logprob <= score.logprob + 1e-4, (span, score)  # the end of the answer comes on top
    row = {
        "answer": question.answer,
        "free": free.strip() == question.answer,
        "free_is_span": free.strip() in document,
        "greedy": exact.greedy.text == question.answer,
        "exact": exact.best.text == question.answer,
        "greedy_is_best": exact.greedy_is_best,
        "lost": exact.best.logprob - exact.greedy.logprob,
        "forwards": exact.forwards,
        "read": exact.read,
        "starts": exact.starts,
        "seconds": seconds,
    }
    if question.blank:
        without = spans(False)
        row["without_blank"] = without.best.text == question.answer
        row["blank_nats"] = exact.best.logprob - without.best.logprob
    return row


def trained(steps: int, seed: int) -> Any:
    """The reference model after so many questions of each form, drawn with another seed; the loss is of answers."""
    model = copy.deepcopy(constrain.reference.load())  # the loaded one is kept for others
    optimizer = torch.optim.AdamW(model.model.parameters(), lr=3e-4)
    forms = [questions(form, max(1, steps), seed + 1) for form in FORMS]
    torch.manual_seed(seed)
    model.model.train()
    for group in list(zip(*forms, strict=True))[:steps]:
        loss = torch.zeros(())
        for question in group:
            text = question.prompt + (" " if question.blank else "") + question.answer + question.end
            before = len(model.tokenizer(question.prompt)["input_ids"])
            ids = torch.tensor([model.tokenizer(text)["input_ids"]])
            loss = (
                loss
                + model.model(input_ids=ids, labels=ids.masked_fill(torch.arange(ids.shape[1]) < before, -100)).loss
            )
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model.model.eval()
    return model


def table(rows: dict[str, list[dict[str, Any]]]) -> str:
    """The answers as a table in Markdown."""
    lines = [
        "| questions trained on, form | right: greedy, free | right: greedy among spans | right: exact-extract "
        "| free greedy is a span | greedy's span is the likeliest | likeliest less greedy's, nats "
        "| without a blank: right | and nats lost | first tokens read, of | forwards | CPU ms |",
        "|---|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for form, found in rows.items():

        def share(name: str, found: list[dict[str, Any]] = found) -> str:
            return f"{fmean(row[name] for row in found):.3f}" if name in found[0] else "–"

        lines.append(
            f"| {form} | {share('free')} | {share('greedy')} | {share('exact')} | {share('free_is_span')} "
            f"| {share('greedy_is_best')} | {share('lost')} | {share('without_blank')} | {share('blank_nats')} "
            f"| {fmean(r['read'] for r in found):.1f}, {fmean(r['starts'] for r in found):.1f} "
            f"| {fmean(r['forwards'] for r in found):.2f} | {1000 * fmean(r['seconds'] for r in found):.0f} |"
        )
    return "\n".join(lines)


def main() -> None:
    """Ask all questions, print the table, keep the rows."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=60, help="questions of each form")
    parser.add_argument("--most", type=int, default=8, help="tokens of a span")
    parser.add_argument("--train", type=int, nargs="*", default=[0, 32, 128, 512], help="questions of each form")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, help="folder for the record")
    given = parser.parse_args()
    rows = {}
    for steps in given.train:
        model = trained(steps, given.seed)
        for form in FORMS:
            asked = questions(form, given.count, given.seed)
            rows[f"{steps} of each, {form}"] = [ask(model, question, given.most) for question in asked]
    text = table(rows)
    print(text)
    if given.out:
        given.out.mkdir(parents=True, exist_ok=True)
        (given.out / "README.md").write_text(
            f"# Exact-extract on generated documents\n\n    python benchmarks/extract.py --count {given.count} "
            f"--most {given.most} "
            f"--train {' '.join(map(str, given.train))} --seed {given.seed}\n\n{text}\n",
            encoding="utf-8",
        )
        with (given.out / "rows.jsonl").open("w", encoding="utf-8") as file:
            for form, found in rows.items():
                file.writelines(json.dumps({"form": form, **row}) + "\n" for row in found)


if __name__ == "__main__":
    main()
