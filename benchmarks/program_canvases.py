"""Programs with a real vocabulary and many open positions: replayed, and denoised by a model that is often wrong.

    python benchmarks/program_canvases.py --vocabulary tokenizer.model --files sql=FILE c=FOLDER python=FILE cpp=FOLDER
        [--texts 20] [--open 32] [--longest 1200] [--first] [--seconds 600] [--record DIR]

Texts are files of a folder, or the rows of a file `*.jsonl`(.gz): `prompt` + `canonical_solution`, or all `accepted`.
Members that the language's own reader does not refuse, with enough tokens, are taken in a random order; where there are
fewer than asked for, they come again with other positions open, and the table has how many differ. Tokens: the longest
first. So many of them, drawn at random, are open.

Replay: the canvas knows nothing of what was there; the text's own tokens are set in random order. Where one is refused,
it counts, and the canvas's own token is set. Denoise: the logits of a model that prefers the text's token at 7 of 10
positions, and a random one elsewhere; two positions a step. Each finished text is read by the grammar and by the
language's own reader. CPU seconds.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import statistics
import sys
import time
from collections.abc import Iterator
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import numpy as np

import constrain
from constrain.papers.diffusion import denoise
from constrain.papers.diffusion.witnessed import WitnessedCanvas
from gaps import longest_first
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


def replay(canvas: WitnessedCanvas, tokens: list[int], order: list[int], row: dict[str, Any]) -> None:
    """Set the tokens that were there, in this order."""
    for position in order:
        if canvas.tokens[position] is not None:
            continue
        begin = time.thread_time()
        is_allowed = canvas.allows({position: tokens[position]})
        canvas.set({position: tokens[position] if is_allowed else canvas.filling[position]})
        row["seconds"].append(time.thread_time() - begin)
        row["refused"] += not is_allowed


def canvases(name: str, path: Path, vocabulary: Any, options: argparse.Namespace) -> Iterator[tuple[int, list[int]]]:
    """Yield numbers and texts of tokens; where there are too few texts, they come again."""
    numbers = {token: number for number, token in reversed(list(enumerate(vocabulary.tokens))) if token}
    found = [longest_first(text, numbers) for text in texts(name, path, options.longest, random.Random(4))]
    found = [tokens for tokens in found if len(tokens) >= options.open + 8]
    yield from enumerate(islice(cycle(found), options.texts), 1)


def run(name: str, path: Path, vocabulary: Any, options: argparse.Namespace) -> Iterator[list[dict[str, Any]]]:
    """Yield the rows of a language, replay and denoise, after each text."""
    folder = constrain.collection.folder(name)
    constraint, oracle = folder.constraint(), oracles.find(folder.settings["oracle"])
    rows = [
        {"canvases": 0, "texts": set(), "tokens": [], "no filling": 0, "valid": 0, "own reader": 0, "refused": 0,
         "seconds": [], "first": []} for _ in range(2)
    ]  # fmt: skip
    begun = time.thread_time()
    for seed, tokens in canvases(name, path, vocabulary, options):
        order = random.Random(seed).sample(range(len(tokens)), options.open)
        given = [None if position in set(order) else token for position, token in enumerate(tokens)]
        for row, is_replay in zip(rows, (True, False), strict=True):
            row["canvases"] += 1
            row["texts"].add(tuple(tokens))
            row["tokens"].append(len(tokens))
            begin = time.thread_time()
            try:
                if is_replay:
                    canvas = WitnessedCanvas(constraint, vocabulary, given)
                    row["first"].append(time.thread_time() - begin)
                    if options.first:
                        break
                    replay(canvas, tokens, order, row)
                    final = canvas.text
                else:
                    out = denoise(
                        OftenWrong(vocabulary, tokens, order, seed), constraint, tokens=given,
                        steps=options.open // 2, exact=False, seed=seed,
                    )  # fmt: skip
                    final = vocabulary.to_bytes([token for token in out.tokens if token not in vocabulary.eos_ids])
                    row["refused"] += out.refused
                    row["seconds"].append(out.constraint_seconds / out.steps)
            except constrain.LimitError:
                row["no filling"] += 1
                print(f"{name}: canvas {seed} has no first filling", file=sys.stderr)
                break
            row["valid"] += constraint.accepts(final)
            row["own reader"] += oracle(final) is not False
        yield [shown(row) for row in rows]
        if time.thread_time() - begun > options.seconds:
            break


def shown(row: dict[str, Any]) -> dict[str, Any]:
    """A row with medians in place of lists."""
    found = {**row, "texts": len(row["texts"])}
    for key in ("tokens", "seconds", "first"):
        values = found.pop(key)
        if values:
            found[f"{key}: median, mean, most"] = [
                round(float(value), 4) for value in (statistics.median(values), statistics.mean(values), max(values))
            ]
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--vocabulary", type=Path, required=True, help="a file of tiktoken's form")
    parser.add_argument("--files", nargs="+", required=True, help="grammar=path")
    parser.add_argument("--texts", type=int, default=20, help="of a language")
    parser.add_argument("--open", type=int, default=32)
    parser.add_argument("--longest", type=int, default=1200, help="bytes of a text")
    parser.add_argument("--first", action="store_true", help="ask for a first filling only")
    parser.add_argument("--seconds", type=float, default=600, help="CPU time after which a language gets no new text")
    parser.add_argument("--record", type=Path, help="write the table as JSON into this folder")
    options = parser.parse_args()
    special = {"<|mask|>": 128_000, "<|end|>": 128_001}
    vocabulary = constrain.Vocabulary.from_tiktoken(options.vocabulary, special_tokens=special, eos_ids=[128_001])
    table: dict[str, Any] = {}
    for name, _, path in (each.partition("=") for each in options.files):
        for rows in run(name, Path(path), vocabulary, options):
            table[f"{name}, replay"], table[f"{name}, denoise"] = rows
            if options.record:
                options.record.mkdir(parents=True, exist_ok=True)
                text = json.dumps(table, indent=1, ensure_ascii=False)
                (options.record / "canvases.json").write_text(text + "\n", encoding="utf-8")
        print(name, json.dumps(rows), flush=True)


if __name__ == "__main__":
    main()
