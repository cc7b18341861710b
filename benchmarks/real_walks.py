"""Random walks through the masks of real vocabularies: every one ends, and in a valid text.

Question: a walk takes any token that the mask allows, drawn without a model, and has to end within a number of tokens
(`complete`). Over schemas of the world and the vocabularies of real tokenizers, does one end dead, is a finished text
invalid under `jsonschema` and `jsonschema-rs`, does a mask say something else than `allows` and `advance`?

    python benchmarks/real_walks.py --vocab smollm2 --limit 300 --minutes 5
    python benchmarks/real_walks.py --vocab gemma3 --only Github_easy---o1.json     one schema again

Vocabularies: smollm2 (49k) and gemma3 (262k) from `make real`, llama3 (128k) from the folder of data, else Tekken's
tokens in its form (tests/vocabularies.py). Schemas are MaskBench's where its data are, else those of tests/data, in an
order drawn by the seed, and so are their options: order of properties, spelling, whitespace. Two walks for each. A text
that fails the check of finished texts (`report` names such places) is counted apart, and so are schemas that are
refused, or whose walks take more than `SECONDS` of CPU time (LimitError), and what the validators cannot judge. Half of
the tokens are drawn from those of one byte: nearly all others are words, and a string would never end by itself.
"""

from __future__ import annotations

import argparse
import collections
import json
import math
import random
import re
import sys
import time
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "languages" / "schema"))
import jsonschema_rs
import referencing
from schema_oracles import Python

import constrain
import schema_corpus
import vocabularies
from conftest import data_root
from constrain.masks.completion.length_budget import LengthBudget
from real_models import real_model

VOCABULARIES = {
    "smollm2": lambda: constrain.Vocabulary.from_huggingface(real_model("smollm2")),
    "llama3": vocabularies.llama3,
    "gemma3": lambda: constrain.Vocabulary.from_huggingface(real_model("gemma3-270m")),
}
OPTIONS: dict[str, tuple[Any, ...]] = {
    "property_order": ("schema", "any"),
    "spelling": ("plain", "any"),
    "whitespace": (None, "compact"),
}
SECONDS = 5.0  # of CPU time for a schema: the least text of some takes long to find
EXTRA = 60  # tokens of a walk beyond those that the shortest text takes


class Walks:
    """Walks over one vocabulary, and what they found."""

    def __init__(self, vocabulary: constrain.Vocabulary) -> None:
        self.vocabulary, self.automaton = vocabulary, constrain.TokenAutomaton(vocabulary)
        self.short = np.array([i for i, token in enumerate(vocabulary.tokens) if token and len(token) == 1])
        self.counts: collections.Counter[str] = collections.Counter()
        self.refused: collections.Counter[str] = collections.Counter()
        self.faults: list[dict[str, Any]] = []

    def schema(self, entry: schema_corpus.Entry, seed: int) -> None:
        """Walk twice through the masks of one schema."""
        rng = random.Random(f"{seed} {entry.name}")
        options = {name: rng.choice(values) for name, values in OPTIONS.items()}
        self.counts["schemas"] += 1
        try:
            with constrain.Limits(seconds=SECONDS):
                constraint = constrain.json_schema(entry.schema, **options)
                budget = LengthBudget(constrain.compile(constraint, self.vocabulary, automaton=self.automaton))
                least = budget.matcher().needs_allowed()
                for _ in range(2):
                    text = self.walk(budget.matcher(most=least + rng.randrange(EXTRA)), rng)
                    if fault := text if isinstance(text, str) else self.verdict(entry.schema, constraint, text):
                        self.note(entry, options, fault)
        except constrain.ConstrainError as error:
            self.refused[type(error).__name__] += 1
        except Exception as error:  # what is not promised
            self.note(entry, options, repr(error))

    def note(self, entry: schema_corpus.Entry, options: dict[str, Any], fault: str) -> None:
        """Record what is wrong."""
        self.faults.append({"file": entry.name, "options": options, "fault": fault})
        print(json.dumps(self.faults[-1]), file=sys.stderr, flush=True)

    def walk(self, matcher: Any, rng: random.Random) -> bytes | str:
        """The text of one walk, or what is wrong."""
        row = np.zeros(self.vocabulary.words, np.uint32)
        while not matcher.is_finished():
            matcher.fill_mask(row)
            bits = np.unpackbits(row.view(np.uint8), bitorder="little")[: self.vocabulary.size].astype(np.bool_)
            allowed = np.flatnonzero(bits)
            self.counts["masks"] += 1
            if not len(allowed):
                self.counts["dead ends"] += 1
                return f"a dead end after {matcher.inner.text!r}"
            probe = rng.randrange(self.vocabulary.size)
            if matcher.allows(probe) != bits[probe]:
                self.counts["contradictions"] += 1
                return f"the mask and `allows` differ on {probe} after {matcher.inner.text!r}"
            short = self.short[bits[self.short]]
            token = int(rng.choice(short if len(short) and rng.randrange(2) else allowed))
            if not matcher.advance(token):
                self.counts["contradictions"] += 1
                return f"the mask has {token}, which `advance` refuses after {matcher.inner.text!r}"
        self.counts["finished"] += 1
        return bytes(matcher.inner.text)

    def verdict(self, schema: Any, constraint: Any, text: bytes) -> str | None:
        """Judge a finished text: what is wrong with it, or None."""
        try:
            json.loads(text, object_pairs_hook=_unrepeated)
        except ValueError as error:
            return self.invalid(text, str(error))
        if constraint.residual_fault(text.decode()) is not None:
            self.counts["failed the check of finished texts"] += 1
            return None
        judges = [_python(schema, text.decode()), _rust(schema, text)] if _is_held(text) else [None, None]
        self.counts["not judged"] += judges == [None, None]
        return self.invalid(text, f"jsonschema and jsonschema-rs: {judges}") if False in judges else None

    def invalid(self, text: bytes, why: str) -> str:
        """Count an invalid text."""
        self.counts["invalid"] += 1
        return f"{why}: {text.decode(errors='replace')}"

    def line(self) -> str:
        """The counts, in a line."""
        shown = ("schemas", "masks", "finished", "invalid", "dead ends", "contradictions", "not judged")
        counts = [f"{self.counts[name]:,} {name}" for name in shown]
        counts += [f"{self.counts['failed the check of finished texts']} failed the check of finished texts"]
        return ", ".join([*counts, *(f"{count} {name}" for name, count in self.refused.items())])


def _unrepeated(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object. Raises ValueError where a key is repeated."""
    if len(dict(pairs)) < len(pairs):
        raise ValueError("a key is repeated")
    return dict(pairs)


def _python(schema: Any, text: str) -> bool | None:
    """The verdict of jsonschema; None: it does not read a reference, or a pattern is none of `re`."""
    try:
        return Python(schema)(text)
    except (re.error, referencing.exceptions.Unresolvable):
        return None


def _is_held(text: bytes) -> bool:
    """True if floats hold the numbers of a text as validators ask of them: no infinity, all digits of an integer."""
    held = []

    def read(number: str) -> None:
        value, exact = float(number), Decimal(number)
        held.append(math.isfinite(value) and (exact != exact.to_integral_value() or exact == Decimal(value)))

    json.loads(text, parse_float=read)
    return all(held)


def _rust(schema: Any, text: bytes) -> bool | None:
    """The verdict of jsonschema-rs; None: it does not read the schema."""
    try:
        return bool(jsonschema_rs.validator_for(schema, validate_formats=False).is_valid(json.loads(text)))
    except (ValueError, jsonschema_rs.ReferencingError):
        return None


def entries(options: argparse.Namespace) -> Iterator[schema_corpus.Entry]:
    """The schemas, in the order of the run."""
    root = data_root("maskbench-dev")
    paths = sorted((root / "maskbench-dev").glob("*.json")) if root else []
    found: list[Any] = paths or schema_corpus.ours()
    random.Random(options.seed).shuffle(found)
    for each in found:
        entry = schema_corpus.read(each) if paths else each
        if options.only in entry.name:
            yield entry


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--vocab", required=True, choices=VOCABULARIES)
    parser.add_argument("--limit", type=int, default=300, help="schemas")
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help="schemas whose name contains this")
    options = parser.parse_args()
    end = time.monotonic() + 60 * options.minutes
    walks = Walks(VOCABULARIES[options.vocab]())
    for number, entry in enumerate(entries(options)):
        if number == options.limit or time.monotonic() > end:
            break
        walks.schema(entry, options.seed)
    print(walks.line())
    return int(bool(walks.faults))


if __name__ == "__main__":
    sys.exit(main())
