"""Programs with a real vocabulary and many open positions: replayed, and denoised by a model that is often wrong.

    python benchmarks/program_canvases.py --vocabulary tokenizer.model --files sql=FILE c=FOLDER python=FILE cpp=FOLDER
        [--texts 20] [--skip 0] [--open 32] [--longest 1200] [--first] [--seconds 600] [--record DIR]

Texts are files of a folder, or the rows of a file `*.jsonl`(.gz): `prompt` + `canonical_solution`, or all `accepted`.
Members that the language's own reader does not refuse, with enough tokens, are taken in a random order; where there are
fewer than asked for, they come again with other positions open, and the table has how many differ. Tokens: the longest
first. So many of them, drawn at random, are open.

Replay: the canvas knows nothing of what was there; the text's own tokens are set in random order. Where one is refused,
it counts, and the canvas's own token is set. Denoise: the logits of a model that prefers the text's token at 7 of 10
positions, and a random one elsewhere; two positions a step. Each finished text is read by the grammar and by the
language's own reader (True, no verdict, False). CPU seconds. A text that one of them refuses is in its row.

Runs that skip other canvases may append to one record; each prints the figures of all rows that are there.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import random
import statistics
import time
from collections.abc import Iterator
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import numpy as np

import constrain
from constrain.papers.diffusion import denoise
from constrain.papers.diffusion.witnessed import WitnessedCanvas
from languages import oracles

RIGHT = 0.7  # the share of positions at which the model prefers the token that was there


def texts(name: str, path: Path, longest: int, rng: random.Random) -> Iterator[bytes]:
    """Yield texts of a language that the grammar and the language's own reader accept."""
    folder = constrain.collection.folder(name)
    constraint, oracle = folder.constraint(), oracles.find(folder.settings["oracle"])
    if path.is_dir():
        found = [file.read_bytes() for file in sorted(path.rglob("*" + folder.settings["suffix"]))]
    else:
        data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
        rows = [json.loads(line) for line in data.splitlines()]
        found = [
            text.encode() for row in rows for text in row.get("accepted") or [row["prompt"] + row["canonical_solution"]]
        ]
    found = list(dict.fromkeys(found))
    rng.shuffle(found)
    for text in found:
        if len(text) <= longest and constraint.accepts(text) and oracle(text) is not False:
            yield text


def longest_first(text: bytes, numbers: dict[bytes, int]) -> list[int]:
    """Tokens of a text, the longest first."""
    found, at = [], 0
    while at < len(text):
        size = next(size for size in range(min(24, len(text) - at), 0, -1) if text[at : at + size] in numbers)
        found.append(numbers[text[at : at + size]])
        at += size
    return found


class OftenWrong:
    """A model that prefers the token that was there at some open positions, and a random one at others."""

    def __init__(self, vocabulary: Any, tokens: list[int], order: list[int], seed: int) -> None:
        self.vocabulary, self.mask_id = vocabulary, 128_000
        rng = np.random.default_rng(seed)
        self.rows = np.zeros((len(tokens), len(vocabulary)), np.float32)
        for position in order:
            self.rows[position] = rng.standard_normal(len(vocabulary))
            if rng.random() < RIGHT:
                self.rows[position, tokens[position]] = 9 + rng.random()
        self.rows[:, vocabulary.eos_ids] = -9

    def logits(self, tokens: list[int]) -> np.ndarray:
        return self.rows


def canvases(name: str, path: Path, vocabulary: Any, options: argparse.Namespace) -> Iterator[tuple[int, list[int]]]:
    """Yield numbers and texts of tokens; where there are too few texts, they come again."""
    numbers = {token: number for number, token in reversed(list(enumerate(vocabulary.tokens))) if token}
    found = [longest_first(text, numbers) for text in texts(name, path, options.longest, random.Random(4))]
    found = [tokens for tokens in found if len(tokens) >= options.open + 8]
    yield from islice(enumerate(cycle(found), 1), options.skip, options.skip + options.texts)


def replay(canvas: WitnessedCanvas, tokens: list[int], order: list[int]) -> dict[str, Any]:
    """Set the tokens that were there, in this order."""
    seconds, refused = [], 0
    for position in order:
        if canvas.tokens[position] is not None:
            continue
        begin = time.thread_time()
        is_allowed = canvas.allows({position: tokens[position]})
        canvas.set({position: tokens[position] if is_allowed else canvas.filling[position]})
        seconds.append(time.thread_time() - begin)
        refused += not is_allowed
    return {"final": canvas.text, "refused": refused, "seconds": seconds}


def denoised(
    constraint: Any, vocabulary: Any, tokens: list[int], order: list[int], given: list[int | None], seed: int
) -> dict[str, Any]:
    """Denoise with a model that is often wrong."""
    out = denoise(
        OftenWrong(vocabulary, tokens, order, seed), constraint, tokens=given,
        steps=len(order) // 2, exact=False, seed=seed,
    )  # fmt: skip
    final = vocabulary.to_bytes([token for token in out.tokens if token not in vocabulary.eos_ids])
    return {"final": final, "refused": out.refused, "seconds": [out.constraint_seconds / out.steps]}


def run(name: str, path: Path, vocabulary: Any, options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Yield a row for each canvas of a language, replayed and denoised."""
    folder = constrain.collection.folder(name)
    constraint, oracle = folder.constraint(), oracles.find(folder.settings["oracle"])
    begun = time.thread_time()
    for seed, tokens in canvases(name, path, vocabulary, options):
        if time.thread_time() - begun > options.seconds:
            break
        order = random.Random(seed).sample(range(len(tokens)), options.open)
        given = [None if position in set(order) else token for position, token in enumerate(tokens)]
        text = b"".join(vocabulary.tokens[token] for token in tokens)
        row = {"language": name, "canvas": seed, "text": hashlib.sha256(text).hexdigest()[:12], "tokens": len(tokens)}
        begin = time.thread_time()
        try:
            canvas = WitnessedCanvas(constraint, vocabulary, given)
            row["first"] = time.thread_time() - begin
            if not options.first:
                row["replay"] = replay(canvas, tokens, order)
                row["denoise"] = denoised(constraint, vocabulary, tokens, order, given, seed)
        except constrain.LimitError as error:
            row["limit"] = str(error)
        for kind in {"replay", "denoise"} & row.keys():
            final = row[kind].pop("final")
            row[kind] |= {"valid": constraint.accepts(final), "own reader": oracle(final)}
            if not row[kind]["valid"] or row[kind]["own reader"] is False:
                row[kind]["final"] = final.decode("utf-8", "replace")
        yield row


def summary(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """The figures of a language; of times: median, mean, most."""
    found: dict[str, Any] = {
        "canvases": len(rows),
        "texts": len({row["text"] for row in rows}),
        "tokens": _figures([row["tokens"] for row in rows]),
        "no first filling": sum("first" not in row for row in rows),
        "first filling": _figures([row["first"] for row in rows if "first" in row]),
    }
    for kind in ("replay", "denoise"):
        done = [row[kind] for row in rows if kind in row]
        found[kind] = {
            "finished": len(done),
            "valid": sum(one["valid"] for one in done),
            "own reader": [sum(one["own reader"] is verdict for one in done) for verdict in (True, None, False)],
            "refused": sum(one["refused"] for one in done),
            "set": sum(len(one["seconds"]) for one in done),
            "a step": _figures([second for one in done for second in one["seconds"]]),
        }
    return found


def _figures(values: list[float]) -> list[float]:
    found = (statistics.median(values), statistics.mean(values), max(values)) if values else ()
    return [round(float(value), 4) for value in found]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--vocabulary", type=Path, required=True, help="a file of tiktoken's form")
    parser.add_argument("--files", nargs="+", required=True, help="grammar=path")
    parser.add_argument("--texts", type=int, default=20, help="of a language")
    parser.add_argument("--skip", type=int, default=0, help="canvases before the first one, which another run takes")
    parser.add_argument("--open", type=int, default=32)
    parser.add_argument("--longest", type=int, default=1200, help="bytes of a text")
    parser.add_argument("--first", action="store_true", help="ask for a first filling only")
    parser.add_argument("--seconds", type=float, default=600, help="CPU time after which a language gets no new text")
    parser.add_argument("--record", type=Path, help="append a row for each canvas to files of this folder")
    options = parser.parse_args()
    special = {"<|mask|>": 128_000, "<|end|>": 128_001}
    vocabulary = constrain.Vocabulary.from_tiktoken(options.vocabulary, special_tokens=special, eos_ids=[128_001])
    for name, _, path in (each.partition("=") for each in options.files):
        rows = []
        for row in run(name, Path(path), vocabulary, options):
            rows.append(row)
            if options.record:
                options.record.mkdir(parents=True, exist_ok=True)
                with (options.record / f"{name}.jsonl").open("a", encoding="utf-8") as file:
                    file.write(json.dumps(row, ensure_ascii=False) + "\n")
        if options.record:
            lines = (options.record / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
            rows = [json.loads(line) for line in lines]
        print(name, json.dumps(summary(rows), indent=1), flush=True)


if __name__ == "__main__":
    main()
