"""Compare the confidence of fields with whether they are right.

    make real
    python benchmarks/confidence.py --model build/real/smollm2 --chat --out DIR

A real model extracts records from 60 texts (tasks/extraction.py), at temperature 0. Each field of each answer has a
confidence, `g.confidence("/age").probability`, and is right or wrong. Answer: how often fields of each range of
confidence are right, and the chance that a right field has more confidence than a wrong one (the area under the ROC
curve; 0.5 is no use), over all fields and for each field by itself.

Bias: one small model and short texts. Values that are shown in the texts are mostly copied.
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from masks.records import machine, write_run
from masks.summary import table

RANGES = (0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0)


class Field(NamedTuple):
    """A field of an answer."""

    task: str
    name: str
    confidence: float
    right: bool


def area(fields: Sequence[Field]) -> float | None:
    """The chance that a right field has more confidence than a wrong one, ties half; None: all are right, or wrong."""
    right = [each.confidence for each in fields if each.right]
    wrong = [each.confidence for each in fields if not each.right]
    if not right or not wrong:
        return None
    return sum((a > b) + 0.5 * (a == b) for a in right for b in wrong) / (len(right) * len(wrong))


def extracted(model: Path, chat: bool, count: int) -> Iterable[Field]:
    """The fields of all answers."""
    import torch

    import constrain
    from constrain.models.hf import HFModel
    from tasks import extraction

    torch.set_num_threads(1)
    handle = HFModel.of(str(model))
    for task in list(extraction.tasks())[:count]:
        g = constrain.generate(
            handle, task.prompt(chat), schema=task.schema, temperature=0, max_tokens=task.tokens, seed=0
        )
        if g.finish_reason == "stop":
            said = task.judge(g.value).why.split("; ")
            for name in g.value:
                is_right = not any(each.startswith(f"{name} is ") for each in said)
                yield Field(task.name, name, g.confidence(f"/{name}").probability, is_right)


def summary(fields: Sequence[Field]) -> str:
    """Two tables: by range of confidence, and by field."""
    rows = []
    for low, high in pairwise(RANGES):
        own = [each for each in fields if low <= each.confidence < high or high == each.confidence == 1.0]
        mean = sum(each.confidence for each in own) / len(own) if own else 0.0
        rows.append([f"{low}–{high}", str(len(own)), f"{mean:.2f}", _share(own)])
    by_name: defaultdict[str, list[Field]] = defaultdict(list)
    for each in fields:
        by_name[each.name].append(each)
    named = [[name, str(len(own)), _share(own), _area(own)] for name, own in by_name.items()]
    named.append(["all", str(len(fields)), _share(fields), _area(fields)])
    return "\n\n".join(
        [
            table(["confidence", "fields", "mean", "right"], rows),
            table(["field", "fields", "right", "area"], named),
        ]
    )


def _share(fields: Sequence[Field]) -> str:
    return f"{sum(each.right for each in fields) / len(fields):.2f}" if fields else "–"


def _area(fields: Sequence[Field]) -> str:
    found = area(fields)
    return "–" if found is None else f"{found:.2f}"


def main() -> None:
    """Ask, and write what came out."""
    parser = argparse.ArgumentParser(
        prog="confidence", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", type=Path, required=True, help="a folder that `make real` made")
    parser.add_argument("--chat", action="store_true", help="prompts are messages")
    parser.add_argument("--count", type=int, default=60, help="texts")
    parser.add_argument("--out", type=Path, help="folder for the record and the summary")
    options = parser.parse_args()
    fields = list(extracted(options.model, options.chat, options.count))
    found = summary(fields)
    print(found)
    if options.out is not None:
        settings: dict[str, Any] = {"command": sys.argv, **machine()}
        write_run(options.out, settings, (each._asdict() for each in fields), found + "\n")


if __name__ == "__main__":
    main()
