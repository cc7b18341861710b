"""Do 20,000 draws of each method follow the law that it states, with processors and validators? A check from outside.

The model is a random table of logits over eight tokens; the language are integers with a validator of pydantic. The law
is computed here from the definitions, by listing all token sequences: no line is shared with what is measured. Methods
that are exact: Pearson's χ² of how often each member is drawn. Weighted ones: the means of weight · 1[member]
against p(member), by Hotelling's T². The third target are the tokens that a tokenizer itself writes: the law is that of
the members whose text it encodes into just them.

    python benchmarks/draw_laws.py --out benchmarks/record/<date>-laws

A p-value below 1e-4 is a fault, and ends the run with 1; so does a test of tests: draws of masked decoding must fail as
draws of the conditional law. Clock: CPU time. Bias: small tables; what goes wrong in long texts only is not seen.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import torch
from pydantic import AfterValidator, Field
from tokenizers import Tokenizer
from tokenizers.models import BPE

import constrain
from constrain.generation import make_job
from constrain.sampling import AWRS, CARS, SIR, SMC, ASAp, Exact, Rejection, TorchDraw, canonical, lcd
from constrain.sampling.core.sampler import drive
from constrain.sampling.processors import Counts, MinP, Processor, processed

PIECES = [b"1", b"2", b"3", b"12", b"23", b"1", None, None]  # two ids for "1"; 6 ends, 7 is no text
END, PROMPT, MOST = 6, [0, 1], 4
PRESENCE, FREQUENCY, BASE = 0.6, 0.3, 0.05


def odd_sum(value: int) -> int:
    if sum(map(int, str(value))) % 2 == 0:
        raise ValueError("the digits have an even sum")
    return value


TYPES: dict[str, Any] = {
    "integers": Annotated[int, Field(ge=1, le=33)],
    "with a validator": Annotated[int, Field(ge=1, le=33), AfterValidator(odd_sum)],
}


class Table:
    """A language model: logits of a prefix from a hash of it."""

    width, context, ragged = len(PIECES), None, True
    vocabulary = constrain.Vocabulary(PIECES, eos_ids=[END])

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.known: dict[tuple[int, ...], np.ndarray] = {}

    def tokenizer(self, text: str, add_special_tokens: bool = True) -> dict[str, list[int]]:
        return {"input_ids": PROMPT}

    def logits(self, prefix: Sequence[int]) -> np.ndarray:
        key = tuple(prefix)
        if key not in self.known:
            rng = np.random.default_rng([self.seed, *(token + 1 for token in key)])
            self.known[key] = rng.normal(scale=1.2, size=self.width)
        return self.known[key]

    def start(self, prefixes: Any, keep: Any) -> Any:
        session = TableSession(self, [[] for _ in prefixes])
        return session, session.feed(prefixes, keep)


class TableSession:
    def __init__(self, model: Table, rows: list[list[int]]) -> None:
        self.model, self.rows = model, rows

    def feed(self, chunks: Any, keep: Any) -> list[torch.Tensor]:
        found = []
        for row, chunk, kept in zip(self.rows, chunks, keep, strict=True):
            row += chunk
            ends = range(len(row) - kept + 1, len(row) + 1)
            found.append(torch.tensor(np.stack([self.model.logits(row[:end]) for end in ends])))
        return found

    def select(self, rows: Any) -> None:
        self.rows = [list(self.rows[row]) for row in rows]

    def fork(self, rows: Any) -> TableSession:
        return TableSession(self.model, [list(self.rows[row]) for row in rows])


def law(model: Table, validated: bool, ruled: bool) -> dict[tuple[int, ...], float]:
    """p of every member of at most MOST tokens, from the definitions."""
    texts = {str(number) for number in range(1, 34)}
    fine = {text for text in texts if not validated or sum(map(int, text)) % 2}
    found: dict[tuple[int, ...], float] = {}

    def shares(output: tuple[int, ...], allowed: list[int]) -> np.ndarray:
        raw = model.logits([*PROMPT, *output])
        p = np.exp(raw - raw.max())
        p /= p.sum()
        if not ruled or len(allowed) <= 1:
            return p
        scores = raw[allowed].copy()
        for place, token in enumerate(allowed):
            count = 0 if token == END else output.count(token)  # ends are structural
            scores[place] -= FREQUENCY * count + PRESENCE * (count > 0)
        q = np.exp(scores - scores.max())
        q[q < BASE * q.max()] = 0
        mass = p[allowed].sum()
        p = p.copy()
        p[allowed] = mass * q / q.sum()
        return p

    def walk(output: tuple[int, ...], text: str, log_p: float) -> None:
        if len(output) == MOST:
            return
        going = [
            t for t, piece in enumerate(PIECES) if piece and any(m.startswith(text + piece.decode()) for m in texts)
        ]
        allowed = sorted([*going, END] if text in fine else going)
        if not allowed:
            return
        p = shares(output, allowed)
        for token in allowed:
            if p[token] > 0 and token == END:
                found[(*output, END)] = log_p + math.log(p[END])
            elif p[token] > 0:
                walk((*output, token), text + PIECES[token].decode(), log_p + math.log(p[token]))  # type: ignore[union-attr]

    walk((), "", 0.0)
    return {output: math.exp(log_p) for output, log_p in found.items()}


def tokenizer() -> Tokenizer:
    """Byte-pair encoding with the first five of PIECES: 123 is 1, 23; the second id for 1 is never written."""
    return Tokenizer(BPE({"1": 0, "2": 1, "3": 2, "12": 3, "23": 4}, [("2", "3"), ("1", "2")]))


def own_cuts(members: dict[tuple[int, ...], float]) -> dict[tuple[int, ...], float]:
    """The members that the tokenizer would write so."""
    encode = tokenizer().encode
    texts = {output: b"".join(PIECES[token] or b"" for token in output).decode() for output in members}
    return {output: p for output, p in members.items() if (*encode(texts[output]).ids, END) == output}


METHODS: dict[str, tuple[Any, bool]] = {  # (made anew for each batch, exact)
    "exact": (Exact, True),
    "rejection": (lambda: Rejection(attempts=200), True),
    "cars": (lambda: CARS(attempts=200), True),
    "lcd": (lambda: lcd, False),
    "sir": (lambda: SIR(samples=4), False),
    "smc": (lambda: SMC(particles=4, ess_threshold=1), False),
    "awrs": (AWRS, False),
    "asap": (ASAp, False),
}


def drawn(
    model: Table, given: dict[str, Any], rules: list[Processor], method: Any, draws: int, batch: int
) -> list[Any]:
    samples: list[Any] = []
    for start in range(0, draws, batch):
        job = make_job(model, "", **given, n=min(batch, draws - start), max_tokens=MOST, seed=start)
        job.draw = TorchDraw(1_000_003 + start)
        samples += drive(method(), processed(job, rules) if rules else job)
    return samples


def exactly(samples: list[Any], target: dict[tuple[int, ...], float]) -> tuple[float, int]:
    """(p-value of χ², draws that count). Members that are expected fewer than five times are one class."""
    counts = Counter(tuple(sample.tokens) for sample in samples if sample.finish_reason == "stop")
    if counts.keys() - target.keys():
        return 0.0, sum(counts.values())
    number, total = sum(counts.values()), sum(target.values())
    expected = {output: number * p / total for output, p in target.items()}
    rare = {output for output, times in expected.items() if times < 5}
    classes = [(counts[output], times) for output, times in expected.items() if output not in rare]
    if rare:
        classes.append((sum(counts[output] for output in rare), sum(expected[output] for output in rare)))
    statistic = sum((seen - times) ** 2 / times for seen, times in classes)
    return chi_square(statistic, len(classes) - 1), number


def by_weight(samples: list[Any], target: dict[tuple[int, ...], float]) -> tuple[float, int]:
    """(p-value of the means of weight · 1[member], draws): Hotelling's T², which is χ² for so many draws."""
    number = len(samples)
    column = {output: place for place, output in enumerate(target)}
    weights = np.zeros((number, len(target)))
    for row, sample in enumerate(samples):
        if sample.finish_reason == "stop":
            if tuple(sample.tokens) not in column:
                return 0.0, number
            weights[row, column[tuple(sample.tokens)]] = math.exp(sample.log_weight)
    often = np.count_nonzero(weights, axis=0) >= 20  # a normal law of the mean needs some
    apart = weights[:, often].mean(axis=0) - np.array(list(target.values()))[often]
    covariance = np.atleast_2d(np.cov(weights[:, often], rowvar=False))
    scale = np.sqrt(np.diag(covariance))
    values, vectors = np.linalg.eigh(covariance / np.outer(scale, scale))
    along = vectors.T @ (apart / scale)
    certain = values < 1e-9 * values.max()  # a sum that has the same value in every draw: then it has to be right
    if (np.abs(along[certain]) > 1e-7).any():
        return 0.0, number
    statistic = number * float((along[~certain] ** 2 / values[~certain]).sum())
    return chi_square(statistic, int((~certain).sum())), number


def chi_square(statistic: float, freedom: int) -> float:
    """The probability of so much or more."""
    halves = torch.tensor([freedom, statistic], dtype=torch.float64) / 2
    return float(torch.special.gammaincc(*halves))


def keep(options: argparse.Namespace, lines: list[str]) -> None:
    """Write the record so far."""
    if options.out:
        options.out.mkdir(parents=True, exist_ok=True)
        command = "python benchmarks/draw_laws.py " + " ".join(sys.argv[1:])
        (options.out / f"{options.name}.md").write_text("\n".join([command, "", *lines, ""]), encoding="utf-8")


def main(arguments: list[str] | None = None) -> int:
    """Print the table, keep the record."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--draws", type=int, default=20_000, help="of each method and setting")
    parser.add_argument("--batch", type=int, default=2_000, help="outputs of one job")
    parser.add_argument("--methods", nargs="*", default=list(METHODS), help="only these")
    parser.add_argument("--out", type=Path, help="folder for the record")
    parser.add_argument("--name", default="draws", help="of the record's file")
    options = parser.parse_args(arguments)
    torch.set_num_threads(1)
    rules: list[Processor] = [Counts(presence=PRESENCE, frequency=FREQUENCY), MinP(BASE)]
    lines = [
        "| language | processors | method | members | draws | p-value | CPU s |",
        "|---|---|---|---:|---:|---:|---:|",
    ]
    print(*lines, sep="\n", flush=True)
    least, refuted = 1.0, 0.0
    settings = [(language, {"type": kind}, ruled) for language, kind in TYPES.items() for ruled in (False, True)]
    integers = constrain.compile(
        constrain.json_schema({"type": "integer", "minimum": 1, "maximum": 33}), Table.vocabulary
    )
    settings.append(("integers, own cuts", {"constraint": canonical(integers, tokenizer())}, False))
    for language, given, ruled in reversed(settings):
        seed = int(language != "with a validator")
        target = law(Table(seed), language == "with a validator", ruled)
        target = own_cuts(target) if language.endswith("own cuts") else target
        for name in options.methods:
            make, exact = METHODS[name]
            start = time.process_time()
            samples = drawn(Table(seed), given, rules if ruled else [], make, options.draws, options.batch)
            p_value, number = (exactly if exact else by_weight)(samples, target)
            if name == "lcd":
                refuted = max(refuted, exactly(samples, target)[0])
            least = min(least, p_value)
            lines.append(
                f"| {language} | {'counts, min-p' if ruled else 'none'} | {name} | {len(target)} | {number} | "
                f"{p_value:.3g} | {time.process_time() - start:.0f} |"
            )
            print(lines[-1], flush=True)
            keep(options, lines)
    lines += [
        "",
        f"Least p-value: {least:.3g}. Masked decoding as draws of the conditional law: at most {refuted:.3g}.",
    ]
    print(lines[-1])
    keep(options, lines)
    return int(least < 1e-4 or ("lcd" in options.methods and refuted > 1e-4))


if __name__ == "__main__":
    sys.exit(main())
